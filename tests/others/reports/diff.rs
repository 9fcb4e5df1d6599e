//! `mongodyno diff`: two stored experiments, and no verdict.

use serde_json::Value;

use crate::fake_support::{Lab, code, noop, stderr, stdout};
use crate::support::said;

/// An experiment of one driver alone.
fn made(lab: &Lab, driver: &str, out: &str) {
    let noop = noop();
    let words = ["run", &noop, "--server", "none", "--rounds", "3", "-d", driver, "--out", out];
    let output = lab.run(words);
    assert_eq!(code(&output), 0, "{}", said(&output));
}

#[test]
fn two_experiments_stand_side_by_side_without_a_verdict() {
    let lab = Lab::even_and_slow();
    made(&lab, "even", "one");
    made(&lab, "even@1.0.0", "two");
    made(&lab, "slow", "three");
    let text = stdout(&lab.run(["diff", "one", "two"]));
    assert!(text.contains("even@1.0.0") && text.contains("10,000 (10,000 to 10,000)"), "{text}");
    assert!(text.contains("Not interleaved: the two were measured at different times"), "{text}");
    assert!(!text.contains("SLOWER") && !text.contains("SAME"), "{text}");
    let answer = stdout(&lab.run(["diff", "one", "two", "--json"]));
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["rows"][0]["change_percent"], 0.0, "{answer}");
    assert_eq!(answer["conditions"].as_array().map(Vec::len), Some(0), "{answer}");
    let nothing = lab.run(["diff", "one", "three"]);
    assert_eq!(code(&nothing), 2, "{}", said(&nothing));
    assert!(stderr(&nothing).contains("have no phase and no driver in common"));
}
