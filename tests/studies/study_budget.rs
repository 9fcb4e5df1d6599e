//! What a study leaves out or refuses before its first part begins: plans, for which nothing runs.

use crate::fake_support::{Lab, code, flat, stderr, stdout};
use crate::support::{mongodyno, said, skip};
use std::fs;
use std::process::Command;
use studies::Study as _;
use studies::driver_upgrade::DriverUpgradeStudy;

/// A study of seven parts, of 80 operations each: the time goes for starts and for set-ups.
const WORDS: [&str; 12] = [
    "study",
    "driver-upgrade",
    "--plan",
    "--scale=0.002",
    "--set=threads=4",
    "--set=warmup=0.5",
    "--rounds=2",
    "--seed=7",
    "-d",
    "even",
    "-d",
    "slow",
];

fn planned(lab: &Lab, more: &[&str]) -> String {
    let output = lab.run([&WORDS[..], more].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    flat(&stdout(&output))
}

fn refused(lab: &Lab, words: &[&str]) -> String {
    let output = lab.run(words);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert_eq!(stdout(&output), "");
    stderr(&output)
}

#[test]
fn a_budget_leaves_out_the_parts_that_it_has_no_time_for() {
    let lab = Lab::even_and_slow();
    let whole = planned(&lab, &[]);
    assert!(!whole.contains("left out"), "{whole}");
    for row in [
        "versions 3 2 2 about 6 s",
        "concern 4 2 2 about 7 s",
        "reverse 2 2 2 about 4 s",
        "growing 2 2 2 about 4 s",
        "connections 2 2 2 about 4 s",
        "wire 4 2 2 about 7 s",
        "unwaited 2 1 2 about 4 s",
        "about 35 s in all: 7 of 7 parts",
    ] {
        assert!(whole.contains(row), "{row}: {whole}");
    }
    assert_eq!(planned(&lab, &["--budget", "1min"]), whole);
    let some = planned(&lab, &["--budget", "10s"]);
    for row in [
        "versions 3 2 2 about 6 s",
        "concern 4 2 2 left out: it takes about 7 s, and 4 s of the budget of 10 s are left",
        "reverse 2 2 2 about 4 s",
        "wire 4 2 2 left out: it takes about 7 s, and 1 s of the budget of 10 s are left",
        "about 9 s in all: 2 of 7 parts",
    ] {
        assert!(some.contains(row), "{row}: {some}");
    }
    assert!(!lab.path("mongodyno-results").exists(), "a plan leaves no folder");
}

#[test]
fn a_budget_too_small_for_the_first_part_is_refused() {
    let lab = Lab::even_and_slow();
    let told = refused(&lab, &[&WORDS[..], &["--budget", "1ms"]].concat());
    let expected = "error: versions takes about 6 s, --budget is 0 s\n\
                    hint: give --budget 6s, or a smaller --scale\n";
    assert!(told.contains(expected), "{told}");
    let enough = planned(&lab, &["--budget", "6s"]);
    assert!(enough.contains("in all: 1 of 7 parts"), "{enough}");
}

#[test]
fn a_study_of_one_part_is_planned_or_refused_too() {
    let lab = Lab::even_and_slow();
    let words = ["study", "noise", "-d", "even", "--quick", "--plan"];
    let output = lab.run(words);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let plan = flat(&stdout(&output));
    assert!(plan.contains("copies 2 2 4 about ") && plan.contains(": 1 of 1 parts"), "{plan}");
    let told = refused(&lab, &[&words[..], &["--budget", "1s"]].concat());
    assert!(told.contains("error: copies takes about "), "{told}");
    assert!(told.contains(", --budget is 1 s\nhint: give --budget "), "{told}");
}

#[test]
fn drivers_in_whose_place_others_stand_are_named_with_the_reason() {
    let words = ["study", "driver-upgrade", "--plan", "--scale=0.002", "--rounds=2"];
    let mut command = mongodyno(words);
    let output = command.env("CSHARP_DRIVERS", "/no/such/folder").output().expect("it runs");
    let told = stderr(&output);
    let expected = "csharp@1.6.1.4678/runtime=mono/from=folder and 9 more: left out, ";
    assert!(told.contains(expected), "{}", said(&output));
    assert!(told.contains(". In their place: node@2.2.36, "), "{}", said(&output));
}

#[test]
fn an_ejected_study_has_the_arms_that_it_would_run() {
    let test = "study_budget/an_ejected_study_has_the_arms_that_it_would_run";
    if Command::new("mcs").arg("--version").output().is_err() {
        return skip(test, "there is no Mono");
    }
    let lab = Lab::new();
    for version in DriverUpgradeStudy.definition().arms {
        let version = version.driver.split(['@', '/']).nth(1).map(str::to_owned);
        let folder = lab.path("drivers").join(version.expect("a version"));
        fs::create_dir_all(&folder).expect("room");
        fs::write(folder.join("MongoDB.Driver.dll"), "").expect("room");
    }
    let mine = lab.path("mine");
    let words = ["study", "driver-upgrade", "--eject", mine.to_str().expect("text")];
    let mut command = mongodyno(words);
    let output = command.env("CSHARP_DRIVERS", lab.path("drivers")).output().expect("it runs");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let script = fs::read_to_string(mine.join("study.sh")).expect("commands");
    assert!(script.contains("-d csharp@1.6.1.4678/runtime=mono/from=folder "), "{script}");
    assert!(script.contains("/from=folder/api=client/w=1"), "{script}");
    assert!(!script.contains("node@"), "{script}");
}
