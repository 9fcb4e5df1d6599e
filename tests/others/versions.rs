//! Versions as arms: what each generation of them needs, and the driver that the machine has.

use std::fs;

use crate::fake_support::{Lab, QUICK, code, stderr, stdout};
use crate::support::said;

/// An adapter with these generations. Its driver reports the version that was asked for.
fn versioned(lab: &Lab, name: &str, generations: &str) {
    lab.fake(name, &[QUICK, "op_ns=100000", "version={version}"]);
    lab.rewrite(name, |text| format!("{text}{generations}"));
}

fn installed(lab: &Lab, driver: &str) -> String {
    let output = lab.run(["adapters", "install", driver]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    stdout(&output).trim().to_owned()
}

const OLD_NEEDS: &str = r"
[[generations]]
versions = '^1\.'
[[generations]]
versions = '^0\.'
[[generations.needs]]
run = ['no-such-toolchain']
match = '.'
wants = 'Ancient 1'
install_hint = 'dig for it'
";

#[test]
fn a_missing_toolchain_disables_its_generation_alone() {
    let lab = Lab::new();
    versioned(&lab, "two", OLD_NEEDS);
    let listed = stdout(&lab.run(["adapters", "list", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let row = listed.as_array().expect("rows").iter().find(|row| row["name"] == "two");
    assert_eq!(row.expect("a row")["state"], "can run it");
    installed(&lab, "two");
    let output = lab.run(["adapters", "install", "two@0.9"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    let expected = "error: two needs Ancient 1 (`no-such-toolchain` not found)\nhint: dig for it\n";
    assert!(stderr(&output).ends_with(expected), "{}", said(&output));
}

#[test]
fn a_toolchain_is_probed_once_for_many_versions() {
    let lab = Lab::new();
    let needs = format!(
        "[[needs]]\nrun = ['sh', '-c', 'echo 7; echo x >>{}']\nmatch = '7'\n\
         wants = 'seven'\ninstall_hint = 'x'\n",
        lab.path("probes").display()
    );
    versioned(&lab, "many", &needs);
    let output = lab.experiment(&["many@1", "many@2", "many@3"], &["--rounds", "1"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(fs::read_to_string(lab.path("probes")).expect("probes"), "x\n");
}

/// The machine has the version in the file `has`; commands would look for a registry.
fn of_the_machine(lab: &Lab) {
    let has = lab.path("has").display().to_string();
    lab.fake("own", &[QUICK, "op_ns=100000", &format!("version=$(cat {has})")]);
    lab.rewrite("own", |text| {
        let text =
            text.replace(&format!("'version=$(cat {has})'"), &format!("version=$(cat {has})"));
        format!(
            "{text}install = [['false']]\ninstall_version = [['false']]\n\
             [[generations]]\nversions = '^(system|1\\.)'\n\
             [[generations.needs]]\nrun = ['cat', '{has}']\nmatch = '^[0-9.]+'\n\
             wants = 'the driver'\ninstall_hint = 'x'\n"
        )
    });
}

#[test]
fn the_machines_driver_is_named_by_the_version_it_tells() {
    let lab = Lab::new();
    of_the_machine(&lab);
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    lab.write("has", "2.5.1\n");
    let output = lab.experiment(&["own@system", "even"], &["--rounds", "1"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let arm = &lab.record()["arms"][0];
    assert_eq!((&arm["id"], &arm["version"]), (&"own@system-2.5.1".into(), &"2.5.1".into()));
    assert!(stdout(&output).contains("own@system-2.5.1"), "{}", said(&output));

    // Asked for by that name it is the same arm, as long as it is the same driver.
    let before = installed(&lab, "own@system");
    assert_eq!(installed(&lab, "own@system-2.5.1"), before);
    lab.write("has", "2.6.0\n");
    assert_ne!(installed(&lab, "own@system"), before);
    let output = lab.run(["adapters", "install", "own@system-2.5.1"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    let expected = "error: own@system-2.5.1: the machine's driver is 2.6.0, not 2.5.1\n\
                    hint: ask for own@system-2.6.0\n";
    assert!(stderr(&output).ends_with(expected), "{}", said(&output));
    // Where a registry has it, its commands are used.
    assert_eq!(code(&lab.run(["adapters", "install", "own@1.0.0"])), 5);
}

#[test]
fn who_cannot_take_the_machines_driver_says_so() {
    let lab = Lab::new();
    lab.fake("even", &[]);
    let output = lab.run(["adapters", "install", "even@system"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    let expected = "error: even cannot take the fake-driver that a machine has\n\
                    hint: name a version: even@1.0.0\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn a_default_may_be_the_machines_driver() {
    let lab = Lab::new();
    lab.fake("own", &[QUICK, "op_ns=100000", "version=3.1"]);
    lab.rewrite("own", |text| {
        let text = text.replace("default = \"1.0.0\"", "default = \"system\"");
        format!("{text}install = [['touch', 'built']]\n")
    });
    let output = lab.experiment(&["own"], &["--rounds", "1"]);
    assert_eq!(lab.record()["arms"][0]["id"], "own@system-3.1", "{}", said(&output));
    assert!(fs::exists(format!("{}/built", installed(&lab, "own"))).expect("a folder"));
}
