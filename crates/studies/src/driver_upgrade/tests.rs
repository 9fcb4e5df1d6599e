//! The study's plan, and its rules on made-up ratios.

use super::answer::all;
use super::types::{Correlation, Ratio, UpgradeAnalysis};
use super::*;
use crate::evidence::Shown;
use stats::descriptive::Interval;
use std::collections::BTreeMap;

fn parts(asked: &Asked) -> Vec<Part> {
    match DriverUpgradeStudy.plan(asked).expect("a plan") {
        Plan::Parts(parts) => parts,
        Plan::One(_) => unreachable!("it has several"),
    }
}

fn drivers(names: &[&str]) -> Vec<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn one_part_has_every_version_and_the_others_the_ends_of_each_line() {
    let asked = Asked { drivers: drivers(&["a@1", "a@2", "a@3", "b@7"]), ..Asked::default() };
    let parts = parts(&asked);
    let arms = |part: &Part| part.words.iter().filter(|it| it.contains('@')).cloned().collect();
    let of: Vec<Vec<String>> = parts.iter().map(arms).collect();
    assert_eq!(of[0], ["a@1", "a@2", "a@3", "b@7"]);
    assert!(of[1..].iter().all(|it| it == &["a@1", "a@3", "b@7"]), "{of:?}");
    assert_eq!(parts.iter().filter(|part| part.compares).count(), 1);
}

#[test]
fn each_thread_or_all_together() {
    let each = Asked { scale: Some(1.0), ..Asked::default() };
    assert!(parts(&each)[0].words.contains(&"operations=1000000".to_owned()));
    let flags = BTreeMap::from([(TOTAL, "10000".to_owned())]);
    let total = Asked { flags, ..Asked::default() };
    assert!(parts(&total)[0].words.contains(&"operations=10000".to_owned()));
    let flags = BTreeMap::from([(TOTAL, "many".to_owned())]);
    assert!(DriverUpgradeStudy.plan(&Asked { flags, ..Asked::default() }).is_err());
}

fn over(estimate: f64, low: f64, high: f64) -> OverRounds {
    OverRounds { rounds: 6, median: Interval { estimate, low, high }, level: 0.97 }
}

fn ratio(part: &str, of: OverRounds) -> Ratio {
    Ratio {
        part: part.to_owned(),
        adapter: "a".to_owned(),
        first: "a@1".to_owned(),
        last: "a@3".to_owned(),
        create: Some(of),
        total: Some(of),
    }
}

fn found(ratios: Vec<Ratio>, rho: Option<Interval>, id: &str) -> Evidence {
    let correlation = Correlation {
        adapter: "a".to_owned(),
        of: "traffic".to_owned(),
        with: "time".to_owned(),
        versions: 10,
        rho,
    };
    let analysis = UpgradeAnalysis {
        parts: Vec::new(),
        ratios,
        correlations: vec![correlation],
        evidence: Vec::new(),
        notes: Vec::new(),
    };
    let none = Outcome { made: Vec::new(), left_out: BTreeMap::new(), folder: String::new() };
    all(&none, &analysis).into_iter().find(|it| it.id == id).expect(id)
}

#[test]
fn the_default_and_the_driver_are_told_apart() {
    let ratios =
        vec![ratio(VERSIONS, over(2.04, 1.98, 2.11)), ratio(ACKNOWLEDGED, over(1.085, 1.05, 1.12))];
    let it = found(ratios, None, "concern");
    assert_eq!(it.shown, Shown::Shown);
    assert!(it.sentences[0].contains("a factor of 1.88 is the default"), "{it:?}");
    assert_eq!(
        found(vec![ratio(VERSIONS, over(2.0, 1.9, 2.1))], None, "concern").shown,
        Shown::NotShown
    );
}

#[test]
fn only_intervals_that_lie_apart_show_an_influence() {
    let with = |part: &str, of| {
        found(vec![ratio(VERSIONS, over(2.0, 1.98, 2.02)), ratio(part, of)], None, "order").shown
    };
    assert_eq!(with(REVERSE, over(1.5, 1.45, 1.55)), Shown::Shown);
    assert_eq!(with(REVERSE, over(2.01, 1.99, 2.04)), Shown::Refuted);
    assert_eq!(with(REVERSE, over(2.2, 1.5, 2.9)), Shown::NotShown);
}

#[test]
fn traffic_is_said_to_fall_only_where_the_interval_says_so() {
    let rho = |low, high| {
        found(
            Vec::new(),
            Some(Interval { estimate: f64::midpoint(low, high), low, high }),
            "traffic",
        )
        .shown
    };
    assert_eq!(rho(-0.99, -0.6), Shown::Shown);
    assert_eq!(rho(-0.9, 0.2), Shown::NotShown);
    assert_eq!(rho(0.3, 0.9), Shown::Refuted);
    assert_eq!(found(Vec::new(), None, "traffic").shown, Shown::NotShown);
}
