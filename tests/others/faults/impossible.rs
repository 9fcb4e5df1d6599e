//! Samples and answers that no adapter can have are its own fault: named, and never a figure.

use std::fs;

use crate::fake_support::{Lab, QUICK, code, flat, pid, send, stderr, stdout, wait_until};
use crate::support::said;
use nix::sys::signal::Signal;

/// One round of an arm that is right, and of one with this fault.
fn beside(fault: &str) -> (Lab, std::process::Output) {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    lab.fake("liar", &[QUICK, "op_ns=100000", "at=turn", &format!("fault={fault}")]);
    let output = lab.experiment(&["even", "liar"], &["--rounds", "1"]);
    assert_eq!(code(&output), 6, "{}", said(&output));
    (lab, output)
}

#[test]
fn samples_that_cannot_be_void_their_arm() {
    let outside = "operation 0 of worker 0 lies outside of its turn";
    let faults = [
        ("twice", "operation 0 of worker 0 begins before its last one has ended"),
        ("backwards", outside),
        ("holes", "137438953472 samples of a turn of"),
    ];
    for (fault, expected) in faults {
        let (lab, output) = beside(fault);
        let expected = format!("liar@1.0.0 writes samples that cannot be: {expected}");
        assert!(flat(&stdout(&output)).contains(&expected), "{expected}: {}", said(&output));
        for run in lab.runs() {
            assert!(run["failed"].is_null(), "{run:#}");
            let gates = &run["phases"][0]["gates"];
            let voids = gates.as_array().is_some_and(|gates| {
                gates.iter().any(|gate| gate["id"] == "G2" && gate["fails"] == true)
            });
            assert_eq!(voids, run["arm"] == "liar@1.0.0", "{fault}: {run:#}");
            // What its calibration claims is no figure either.
            assert_eq!(run["noop_ns"].is_null(), run["arm"] == "liar@1.0.0", "{run:#}");
        }
        lab.assert_nothing_runs();
    }
}

#[test]
fn answers_that_cannot_be_lose_their_arm() {
    let faults = [
        ("at=turn", "ahead", "the adapter's clock read"),
        ("at=end", "huge", "(an integer is not below 2^53)"),
    ];
    for (at, fault, expected) in faults {
        let lab = Lab::new();
        lab.fake("even", &[QUICK, "op_ns=100000"]);
        lab.fake("liar", &[QUICK, "op_ns=100000", at, &format!("fault={fault}")]);
        let output = lab.experiment(&["even", "liar"], &["--rounds", "1"]);
        assert_eq!(code(&output), 6, "{}", said(&output));
        let told = flat(&stderr(&output));
        assert!(told.contains("liar@1.0.0 is lost in this round"), "{}", said(&output));
        assert!(told.contains(expected), "{expected}: {}", said(&output));
    }
}

#[test]
fn a_turn_that_never_ends_is_told_and_ctrl_c_ends_it_once() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK, "op_ns=100000"]);
    lab.fake("driven", &[QUICK, "op_ns=100000", "at=turn", "fault=endless"]);
    let mut child = lab.start(lab.words(&["even", "driven"], &["--rounds", "1"]));
    let told = || fs::read_to_string(lab.path("stderr")).expect("a file");
    wait_until("it is told", || told().contains("driven@1.0.0 has not answered `turn` for"));
    assert!(told().contains("ms of CPU time meanwhile"), "{}", told());
    send(pid(&child), Signal::SIGINT);
    assert_eq!(lab.finish(&mut child).code, 130, "{}", told());
    lab.assert_nothing_runs();
}
