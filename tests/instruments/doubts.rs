//! What a part's own report says against it, beside the answers that are made of the part.

use crate::diagnosis_support::Bench;
use studies::doubts::{Basis, Doubts, said};

const ARMS: [&str; 3] = ["a@1", "a@1 (A/A)", "a@2"];

/// Whether an answer that is made of `a@1` and `a@2` is void, and what is said beside it.
fn weighed(bench: &Bench) -> (bool, Vec<String>) {
    let doubts = [Doubts::of("versions", &bench.experiment, &bench.runs, true)];
    let basis = vec![Basis { part: "versions", arms: Some(vec!["a@1", "a@2"]) }];
    said(&doubts, basis, true)
}

/// Six rounds whose figures scatter by half a percent.
fn quiet() -> Bench {
    let mut bench = Bench::new(&ARMS);
    for (number, arm) in (0_u32..).zip(ARMS) {
        bench.each(arm, |round, run| {
            run.throughput *= 1.0 + 0.005 * f64::from((round * 7 + number * 5) % 11) / 11.0;
        });
    }
    bench
}

#[test]
fn a_part_without_doubts_says_nothing() {
    assert_eq!(weighed(&quiet()), (false, Vec::new()));
}

#[test]
fn a_void_part_voids_its_answers() {
    let mut bench = quiet();
    bench.each("a@1 (A/A)", |_, run| run.throughput *= 1.5);
    let (is_void, sentences) = weighed(&bench);
    assert!(is_void);
    let void = &sentences[0];
    assert!(
        void.starts_with("Void: versions: work, a@2: NOT COMPARABLE: too much to be "),
        "{void}"
    );
    assert!(
        sentences[1].starts_with("In doubt: versions: two copies of one version (A/A) differ by ")
    );
}

#[test]
fn copies_that_lie_far_apart_are_a_doubt() {
    let mut bench = quiet();
    bench.each("a@1 (A/A)", |round, run| run.throughput *= if round % 2 == 0 { 1.3 } else { 0.8 });
    let (is_void, sentences) = weighed(&bench);
    assert!(!is_void);
    let doubt = &sentences[0];
    let expected =
        "In doubt: versions: two copies of one version (A/A) differ by -23 to +25 % in work";
    assert!(doubt.starts_with(expected), "{doubt}");
}

#[test]
fn other_processes_lost_runs_and_a_cut_are_doubts() {
    let mut bench = quiet();
    for run in bench.runs.iter_mut().filter(|run| run.round <= 3) {
        run.machine_noise.foreign_fraction = 0.05;
    }
    bench.round("a@2", 6, |run| run.receipt.agrees = false);
    bench.experiment.ended = None;
    let (is_void, sentences) = weighed(&bench);
    assert!(!is_void);
    for expected in [
        "it was cut short after 6 rounds",
        "other processes worked in 3 of 6 rounds",
        "1 of 18 runs are not compared, the first because a@2 claims",
    ] {
        assert!(sentences[0].contains(expected), "{expected}: {sentences:?}");
    }
}

#[test]
fn one_round_answers_nothing() {
    let mut bench = quiet();
    bench.runs.retain(|run| run.round == 1);
    let (is_void, sentences) = weighed(&bench);
    assert_eq!((is_void, &*sentences[0]), (true, "Void: versions: one round shows nothing."));
}
