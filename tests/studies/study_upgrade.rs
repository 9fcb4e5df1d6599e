//! A study of several experiments with real drivers: begun with little time, then gone on with.

use crate::fake_support::{code, flat, pid, send, stdout};
use crate::study_support::study_lab;
use crate::support::{said, wait_until};
use nix::sys::signal::Signal;
use std::fs;
use studies::StudyTable;
use studies::frame::{CellSelector, StudyCell};

const PARTS: [&str; 7] =
    ["versions", "concern", "reverse", "growing", "connections", "wire", "unwaited"];
/// Both versions, each with both write concerns.
const CONCERNS: usize = 4;

#[test]
fn a_line_of_versions_is_measured_in_parts_and_gone_on_with() {
    let test = "study_upgrade/a_line_of_versions_is_measured_in_parts_and_gone_on_with";
    let drivers = ["python@4.10.1", "python@4.20.0"];
    let Some(lab) = study_lab(test, &drivers) else { return };
    let words = ["study", "driver-upgrade", "--scale", "0.002", "--rounds", "2", "--seed", "7"];
    // The server that accepts few connections has enough for both versions' four threads.
    let small = ["--set=threads=4", "--set=warmup=0.1"];
    let arms = ["-d", drivers[0], "-d", drivers[1]];
    let asked = [&words[..], &small, &arms].concat();
    let output = lab.run([&asked[..], &["--budget", "6s", "--out", "out", "--details"]].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(lab.path("out/versions").exists() && !lab.path("out/reverse").exists());
    let told = flat(&stdout(&output));
    assert!(told.contains("reverse is left out: it takes about "), "{told}");
    assert!(told.contains(" of the budget of 6 s are left"), "{told}");
    let again = lab.run([&asked[..], &["--out", "out"]].concat());
    assert_eq!(code(&again), 2, "nothing is written over: {}", said(&again));

    // Cut in the middle of a part, and before the record of another one.
    let mut child = lab.start(["resume", "out"]);
    let concern = lab.path("out/concern/runs.jsonl");
    let lines = || fs::read_to_string(&concern).unwrap_or_default();
    wait_until("a round of the second part", || lines().lines().count() >= CONCERNS);
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert!(done.stdout.contains("Since which version is it slow?"), "{}", done.stdout);
    let first_round: Vec<String> = lines().lines().take(CONCERNS).map(str::to_owned).collect();
    let mut child = lab.start(["resume", "out"]);
    wait_until("the third part", || lab.path("out/reverse").exists());
    send(pid(&child), Signal::SIGKILL);
    assert_eq!(lab.finish(&mut child).code, -1);
    lab.assert_nothing_runs();

    let output = lab.run(["resume", "out"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(lines().lines().take(CONCERNS).collect::<Vec<_>>(), first_round, "byte for byte");
    for part in PARTS {
        assert!(lab.path(&format!("out/{part}/experiment.json")).exists(), "{part}");
    }
    let json = stdout(&lab.run(["report", "out", "--format", "json"]));
    let table: StudyTable = serde_json::from_str(&json).expect("a table");
    let of = |names: [&str; 4]| -> Vec<&StudyCell> {
        let selector = CellSelector::of(names);
        table.cells.iter().filter(|it| selector.has(it) && !it.original).collect()
    };
    let median = |names| of(names).first().and_then(|it| it.value).map(|it| it.median);
    for part in PARTS {
        let arms: Vec<&str> = of([part, "both", "", "reads"]).iter().map(|it| &*it.arm).collect();
        assert_eq!(arms.len(), if part == "concern" { CONCERNS } else { 2 }, "{part}");
        for arm in arms {
            // A phase of both has one rate, and its reads may miss.
            let count = |metric| median([part, "both", arm, metric]).expect(metric);
            let apart = median([part, "create", arm, "planned_ms"]).is_some();
            assert!(count("failed") == 0.0 && count("reads") > 0.0, "{part}, {arm}");
            assert!(part == "unwaited" || apart && count("reads_missed") == 0.0, "{part}, {arm}");
        }
    }
    let last = ["versions", "reverse", "growing", "connections", "wire"];
    let ratios = of(["", "both", "", "over_first"]);
    let of_parts = ratios.iter().filter(|it| last.contains(&&*it.part) && it.value.is_some());
    assert_eq!(of_parts.count(), last.len(), "{ratios:?}");
    for factor in ["default_first", "default_last", "driver_unanswered", "driver_answered"] {
        assert!(median(["concern", "both", "", factor]).is_some(), "{factor}");
    }
    // The original's two files.
    let lines = |name: &str| {
        let text = fs::read_to_string(lab.path("out").join(name)).expect(name);
        let rows = text.lines().map(|row| row.split('\t').map(str::to_owned).collect());
        rows.collect::<Vec<Vec<String>>>()
    };
    let (times, details) = (lines("times"), lines("details"));
    assert_eq!((times.len(), details.len()), (3, 3), "a head and two versions");
    assert_eq!((times[0][1].as_str(), times[1][0].as_str()), ("total_ms", "python@4.10.1"));
    for column in ["threads_begun/s", "connections_opened/s", "insert", "query", "netIn", "conn"] {
        let at = details[0].iter().position(|it| it == column).expect(column);
        assert!(details[1..].iter().all(|row| row[at] != "n/a"), "{column}: {details:?}");
    }
    let page = fs::read_to_string(lab.path("out/report.html")).expect("a page");
    assert!(page.contains("An upgrade of the driver"));
    let text = flat(&stdout(&lab.run(["report", "out", "--format", "md"])));
    assert!(text.contains("How much is the default write concern"), "{text}");
    assert!(text.contains("; reads 160."), "{text}");
    // A part that compares is a separate experiment; another goes on with its study alone.
    let output = lab.run(["report", "out/versions"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let output = lab.run(["resume", "out/reverse"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    lab.assert_nothing_runs();

    let eject = ["--eject", "mine", "--server", "embedded@6.0", "--order", "given"];
    let output = lab.run([&asked[..], &eject].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let script = fs::read_to_string(lab.path("mine/study.sh")).expect("commands");
    let runs = script.lines().filter(|it| it.starts_with("mongodyno run "));
    assert_eq!(runs.count(), PARTS.len(), "{script}");
    let asked = "--order given --seed 7 --server embedded@6.0 --out out/versions";
    assert!(script.contains(asked), "{script}");
    assert!(
        lab.path("mine/growing.yaml").exists() && lab.path("mine/driver-upgrade.yaml").exists()
    );
}
