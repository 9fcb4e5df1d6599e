//! The environments in the cache: listed, and removed when no one needs them.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::fake_support::{Lab, QUICK, code, pid, send, stderr, stdout, wait_until};
use crate::support::said;
use nix::sys::signal::Signal;

fn installed(lab: &Lab, driver: &str) -> String {
    let output = lab.run(["adapters", "install", driver]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    stdout(&output).trim().to_owned()
}

/// The rows of `environments list` without their sizes.
fn listed(lab: &Lab) -> Vec<String> {
    let output = lab.run(["environments", "list"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let size = regex_lite::Regex::new("[0-9.]+ ([KM]i)?B").expect("a pattern");
    let text = stdout(&output);
    let rows = text.lines().skip(1).map(|line| size.replace_all(line, "SIZE").into_owned());
    rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn pruned(lab: &Lab, more: &[&str]) -> String {
    let output = lab.run([&["environments", "prune"], more].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    stdout(&output)
}

/// Another file, and so another environment.
fn change(lab: &Lab, adapter: &str) {
    lab.write(&format!("adapters/{adapter}/dialect.txt"), "better");
}

const OPTIONS: &str = "options.kind = 'x'\n[[generations]]\nversions = '.'\n\
                       options.kind = { default = 'a', match = '.', wants = 'any' }\n\
                       [[needs]]\nrun = ['echo', 'Toolchain 7']\nmatch = '7'\nwants = 'seven'\n\
                       install_hint = 'x'\n";

#[test]
fn environments_are_listed_and_those_of_no_adapter_are_removed() {
    let lab = Lab::new();
    for name in ["even", "other"] {
        lab.fake(name, &[QUICK]);
    }
    lab.rewrite("even", |text| text.to_owned() + "install = [['touch', '{kind}']]\n" + OPTIONS);
    let former = installed(&lab, "even");
    change(&lab, "even");
    let current = [installed(&lab, "even"), installed(&lab, "even/kind=b")];
    let gone = installed(&lab, "other");
    fs::remove_dir_all(lab.path("adapters/other")).expect("it is there");
    let mut rows = listed(&lab);
    rows.sort();
    let expected = [
        "4 environments, SIZE",
        "even:fake-driver 1.0.0 kind=a Toolchain 7 SIZE today current",
        "even:fake-driver 1.0.0 kind=a Toolchain 7 SIZE today outdated",
        "even:fake-driver 1.0.0 kind=b Toolchain 7 SIZE today current",
        "other:fake-driver 1.0.0 SIZE today outdated",
    ];
    assert_eq!(rows, expected);

    let told = pruned(&lab, &["-n"]);
    assert!(told.contains("\n2 of 4 environments would be removed, "), "{told}");
    assert_eq!(listed(&lab).len(), 5);
    let told = pruned(&lab, &[]);
    assert!(told.contains("\n2 of 4 environments removed, "), "{told}");
    for folder in [&former, &gone] {
        assert!(!fs::exists(folder).expect("a folder"), "{folder}");
        assert!(!fs::exists(format!("{folder}.lock")).expect("a folder"), "{folder}");
    }
    assert!(!lab.path("home/adapters/other").exists());
    assert_eq!([installed(&lab, "even"), installed(&lab, "even/kind=b")], current);
    assert_eq!(pruned(&lab, &[]), "0 of 2 environments removed, 0 B\n");
}

#[test]
fn one_whose_toolchain_is_missing_stays() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.rewrite("even", |text| text.to_owned() + OPTIONS);
    installed(&lab, "even");
    lab.rewrite("even", |text| text.replace("'echo', 'Toolchain 7'", "'no-such-toolchain'"));
    let row = "even:fake-driver 1.0.0 kind=a Toolchain 7 SIZE today its toolchain is missing";
    assert_eq!(listed(&lab)[0], row);
    assert_eq!(pruned(&lab, &[]), "0 of 1 environments removed, 0 B\n");
}

fn unused_for(folder: &Path, days: u64) {
    let file = File::options().append(true).open(folder.join(".ready")).expect("a file");
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    file.set_modified(then).expect("it is ours");
}

#[test]
fn those_that_were_not_used_for_long_are_removed_on_request() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let folders = ["even@1.0.0", "even@1.1.0"].map(|driver| installed(&lab, driver));
    for folder in &folders {
        unused_for(Path::new(folder), 31);
    }
    // The use of the environment is noted.
    installed(&lab, "even@1.1.0");
    let rows = listed(&lab);
    assert!(rows[0].ends_with("31 days ago current"), "{rows:?}");
    assert!(rows[1].ends_with("today current"), "{rows:?}");
    assert!(pruned(&lab, &["--older-than", "32d"]).starts_with("0 of 2 "));
    assert!(pruned(&lab, &["--older-than", "30d"]).contains("\n1 of 2 environments removed, "));
    assert!(!fs::exists(&folders[0]).expect("a folder"));
    assert!(fs::exists(&folders[1]).expect("a folder"));
}

#[test]
fn one_that_is_in_use_stays() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let begun = lab.path("begun");
    let test = format!("touch '{}'; exec sleep 606", begun.display());
    lab.rewrite("even", |text| format!("test = ['sh', '-c', \"{test}\"]\n{text}"));
    let folder = installed(&lab, "even");
    let mut user = lab.start(["adapters", "test", "even"]);
    wait_until("it is used", || begun.exists());
    change(&lab, "even");
    for more in [&["-n"][..], &[]] {
        let told = pruned(&lab, more);
        assert!(told.contains("outdated, in use, "), "{told}");
        assert!(told.contains(" left: it is in use\n0 of 1 environments "), "{told}");
    }
    send(pid(&user), Signal::SIGKILL);
    user.wait().expect("ends");
    lab.assert_nothing_runs();
    assert!(pruned(&lab, &[]).contains("\n1 of 1 environments removed, "));
    assert!(!fs::exists(folder).expect("a folder"));
}

#[test]
fn half_of_one_is_kept_for_who_goes_on() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.rewrite("even", |text| format!("{text}install = [['false']]\n"));
    assert_eq!(code(&lab.run(["adapters", "install", "even"])), 5);
    let rows = listed(&lab);
    assert!(rows[0].ends_with("today half built"), "{rows:?}");
    assert_eq!(pruned(&lab, &[]), "0 of 1 environments removed, 0 B\n");
    change(&lab, "even");
    assert!(pruned(&lab, &[]).contains("\n1 of 1 environments removed, "));
}

#[test]
fn an_empty_cache_has_none() {
    let lab = Lab::new();
    assert_eq!(listed(&lab), ["0 environments, SIZE"]);
    let output = lab.run(["environments", "prune", "--older-than", "30"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(stderr(&output).contains("is not a time such as"), "{}", said(&output));
}
