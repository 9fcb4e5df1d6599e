//! The gates at and around their limits, and Little's law on synthetic samples.
#![allow(clippy::float_cmp, clippy::unreadable_literal, clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};

use stats::gates::{
    GateId, GateOutcome, GateResult, Lag, OpenLoopRun, Possible, RunCounts, clock_source,
    conditions, errors, failures, littles_law, offered_rate,
};
use stats::littles_law::{LittlesLaw, LittlesLawResult, Stretch};

#[track_caller]
fn fails(checked: &GateResult, gate: GateId, why: &str) {
    assert_eq!(checked, &GateResult { gate, outcome: GateOutcome::Fail(why.to_owned()) });
}

#[track_caller]
fn warns(checked: &GateResult, why: &str) {
    assert_eq!(checked.outcome, GateOutcome::Warn(why.to_owned()));
}

#[track_caller]
fn passes(checked: &GateResult) {
    assert_eq!(checked.outcome, GateOutcome::Pass);
}

#[test]
fn g1_errors_receipts_and_checksums() {
    let fine =
        RunCounts { operations: 10_000, errors: 10, received: Some(9_990), checksum: Some(1) };
    let check = |b: RunCounts| errors("A", &fine, "B", &b);
    passes(&check(fine));
    passes(&check(RunCounts { received: None, checksum: None, ..fine }));
    let failed = check(RunCounts { errors: 11, ..fine });
    fails(&failed, GateId::Errors, "B failed in 11 of 10000 operations");
    let missing = check(RunCounts { received: Some(9_989), ..fine });
    fails(&missing, GateId::Errors, "B claims 10000 operations, 9989 were counted");
    let other = check(RunCounts { checksum: Some(2), ..fine });
    fails(&other, GateId::Errors, "A and B returned different results");
    fails(&check(RunCounts::default()), GateId::Errors, "B completed no operation");
    assert_eq!(failures(&[failed, check(fine)]), ["B failed in 11 of 10000 operations"]);
}

const CLAIMS: Possible<'_> = Possible { fault: None, most_in_flight: Some(4) };

#[test]
fn g2_limits() {
    let found = |rate_times_time, outside| LittlesLawResult {
        in_flight: 4.0,
        rate_times_time,
        samples: 1_000,
        outside,
    };
    passes(&littles_law("A", Some(&found(4.079, 20)), &CLAIMS));
    fails(
        &littles_law("A", Some(&found(4.1, 0)), &CLAIMS),
        GateId::LittlesLaw,
        "A: 4.000 operations in flight but rate x time is 4.100 (Little's law, 2.5 %)",
    );
    fails(
        &littles_law("A", Some(&found(4.0, 21)), &CLAIMS),
        GateId::LittlesLaw,
        "A: 21 of 1000 samples lie outside the measured time",
    );
    let empty = LittlesLawResult { in_flight: 0.0, rate_times_time: 0.0, samples: 0, outside: 0 };
    let none = littles_law("A", Some(&empty), &CLAIMS);
    fails(&none, GateId::LittlesLaw, "A: no sample lies in its measured time");
    warns(&littles_law("A", None, &CLAIMS), "A: no samples, Little's law was not checked");
    // Samples written twice keep the identity.
    let twice = LittlesLawResult { in_flight: 4.081, ..found(4.081, 0) };
    fails(
        &littles_law("A", Some(&twice), &CLAIMS),
        GateId::LittlesLaw,
        "A: 4.081 operations in flight, where at most 4 can be",
    );
    passes(&littles_law("A", Some(&LittlesLawResult { in_flight: 4.08, ..twice }), &CLAIMS));
    passes(&littles_law("A", Some(&twice), &Possible::default()));
    let fault = Possible { fault: Some("operation 1 of worker 0"), ..CLAIMS };
    fails(
        &littles_law("A", Some(&found(4.0, 0)), &fault),
        GateId::LittlesLaw,
        "A writes samples that cannot be: operation 1 of worker 0",
    );
}

#[test]
fn g3_open_loop() {
    let lag = |quantile, own_us, response_us| Some(Lag { quantile, own_us, response_us });
    let kept = OpenLoopRun {
        offered_per_second: 1_000.0,
        achieved_per_second: 990.0,
        dropped: 0,
        busy_fraction: 0.3,
        lag: lag("p99", 2_000.0, 5_000.0),
    };
    let check = |run: OpenLoopRun| offered_rate("B", &run);
    passes(&check(kept));
    passes(&check(OpenLoopRun { lag: lag("p99", 9_000.0, 100_000.0), ..kept }));
    passes(&check(OpenLoopRun { lag: None, ..kept }));
    let slow = OpenLoopRun { achieved_per_second: 980.0, ..kept };
    let why = "B is generator-limited: 980 of 1,000 operations/s achieved";
    let free = format!("{why}, although workers are free");
    fails(&check(slow), GateId::OfferedRate, &free);
    let busy = check(OpenLoopRun { busy_fraction: 0.95, ..slow });
    fails(&busy, GateId::OfferedRate, &format!("{why}, all its workers are busy"));
    let dropped = check(OpenLoopRun { dropped: 1, ..kept });
    fails(&dropped, GateId::OfferedRate, "B is generator-limited: 1 operations dropped");
    let late = check(OpenLoopRun { lag: lag("p90", 2_500.0, 5_000.0), ..kept });
    let why = "B is generator-limited: its own timers are late by 2.50 ms (p90)";
    fails(&late, GateId::OfferedRate, why);
}

#[test]
fn a_clock_that_is_slow_is_no_clock() {
    for fine in ["tsc", "kvm-clock", "arch_sys_counter", ""] {
        passes(&clock_source(fine));
    }
    fails(&clock_source("hpet"), GateId::Machine, "the clock source is hpet");
}

#[test]
fn g8_conditions() {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    let a = map(&[("server", "6.0.5"), ("pool size", "100"), ("tls", "no")]);
    let axis = BTreeSet::from(["pool size".to_owned()]);
    passes(&conditions(&a, &a, &axis));
    let pool = map(&[("server", "6.0.5"), ("pool size", "5"), ("tls", "no")]);
    warns(&conditions(&a, &pool, &axis), "defaults differ: pool size 100 against 5");
    let why = "the arms differ in pool size 100 against 5";
    fails(&conditions(&a, &pool, &BTreeSet::new()), GateId::Conditions, why);
    let other = map(&[("server", "4.4.2"), ("pool size", "5")]);
    let why = "the arms differ in server 6.0.5 against 4.4.2, tls no against unknown";
    fails(&conditions(&a, &other, &axis), GateId::Conditions, why);
}

const TURN_NS: u64 = 50_000_000;

/// Sixty turns of 50 ms, 100 ms apart, and the operations of `workers` closed loops in them: 0.6 to
/// 1.8 ms each; the last of each worker ends after its turn.
fn turns(workers: u64) -> (Vec<Stretch>, Vec<(u64, u64)>) {
    let mut stretches = Vec::new();
    let mut samples = Vec::new();
    let mut state = 12_345_u64;
    for turn in 0..60 {
        let start_ns = 1_000_000_000 + turn * 2 * TURN_NS;
        stretches.push(Stretch { start_ns, end_ns: start_ns + TURN_NS });
        for _ in 0..workers {
            let mut at = start_ns;
            while at < start_ns + TURN_NS {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let end = at + 600_000 + (state >> 33) % 1_200_000;
                samples.push((at, end));
                at = end + 1_000;
            }
        }
    }
    (stretches, samples)
}

/// Little's law over samples in memory.
pub fn little(
    samples: impl IntoIterator<Item = (u64, u64)>,
    stretches: &[Stretch],
    claimed: Option<u64>,
) -> Option<LittlesLawResult> {
    let mut law = LittlesLaw::over(stretches.to_vec());
    samples.into_iter().for_each(|(start_ns, end_ns)| law.add(start_ns, end_ns));
    law.check(claimed)
}

#[test]
fn littles_law_holds_over_turns() {
    for workers in [1, 4, 16] {
        let (stretches, samples) = turns(workers);
        let claimed = Some(samples.len() as u64);
        let found = little(samples.iter().copied(), &stretches, claimed).unwrap();
        assert!((found.in_flight / workers as f64 - 1.0).abs() < 0.002, "{found:?}");
        assert!(found.discrepancy_percent().unwrap() < 0.5, "{found:?}");
        assert_eq!((found.samples, found.outside), (samples.len() as u64, 0));
    }
    // A window that cuts operations off at both ends, and one operation longer than the window.
    let window = [Stretch { start_ns: 10, end_ns: 1_000_010 }];
    let cut = (0..1_000).map(|i| (i * 1_000, i * 1_000 + 1_000));
    assert!(little(cut, &window, None).unwrap().discrepancy_percent().unwrap() < 0.1);
    let long = little([(0, 4_000_000)], &window, None).unwrap();
    assert!((long.in_flight - 1.0).abs() < 1e-12 && long.discrepancy_percent().unwrap() < 1e-9);
}

#[test]
fn littles_law_shows_lost_samples_and_foreign_clocks() {
    let (stretches, samples) = turns(4);
    let claimed = Some(samples.len() as u64);
    let check = |samples: &mut dyn Iterator<Item = (u64, u64)>, claimed| {
        littles_law("A", little(samples, &stretches, claimed).as_ref(), &CLAIMS).outcome
    };
    assert_eq!(check(&mut samples.iter().copied(), claimed), GateOutcome::Pass);
    let mut kept = samples.iter().copied().enumerate().filter(|(i, _)| i % 20 != 0).map(|(_, s)| s);
    assert!(
        matches!(check(&mut kept, claimed), GateOutcome::Fail(why) if why.contains("Little's law"))
    );
    // A clock 30 ms ahead, or counting from another start.
    let mut ahead = samples.iter().map(|(start, end)| (start + 30_000_000, end + 30_000_000));
    assert!(matches!(check(&mut ahead, claimed), GateOutcome::Fail(_)));
    let mut other = samples.iter().map(|(start, end)| (start + (1 << 60), end + (1 << 60)));
    assert!(matches!(check(&mut other, claimed), GateOutcome::Fail(_)));
    // Ends read from another clock than starts: everything ends before it begins.
    let mut backwards = samples.iter().map(|(start, end)| (*end, *start));
    assert!(matches!(check(&mut backwards, claimed), GateOutcome::Fail(_)));
    assert!(little(samples, &[], None).is_none());
}
