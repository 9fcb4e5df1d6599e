//! Between two versions of a driver its own share grew, and the server's did not (methodology 8.3).

use super::case::{Case, DiagnosisInput};
use crate::analysis::changed::{self, DRIVER_PERCENT, PairedChange};
use crate::analysis::types::Finding;
use format::{self, figure, time};
use record::records::Tap;

pub const NAME: &str = "driver-share";

/// The first arm of each adapter against its other versions.
pub fn rule(_: &DiagnosisInput<'_>, cases: &[Case<'_>]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let same = |other: &&Case<'_>| other.arm.adapter == case.arm.adapter;
        if let Some(first) = cases[..at].iter().find(same)
            && first.arm.version != case.arm.version
        {
            found.extend(grew(first, case).or_else(|| grew(case, first)));
        }
    }
    found
}

/// Whether the driver's share is larger in `b` than in `a`.
fn grew(a: &Case<'_>, b: &Case<'_>) -> Option<Finding> {
    let driver = change(a, b, |tap| tap.driver_us_per_op)?;
    let server = change(a, b, |tap| Some(tap.server_us_per_op))?;
    if driver.low <= DRIVER_PERCENT || server.low > DRIVER_PERCENT {
        return None;
    }
    let of = |case: &Case<'_>, pick: fn(&Tap) -> Option<f64>| case.tap(pick);
    let both = |pick: fn(&Tap) -> Option<f64>| Some((of(a, pick)?, of(b, pick)?));
    let (driver_a, driver_b) = both(|tap| tap.driver_us_per_op)?;
    let (server_a, server_b) = both(|tap| Some(tap.server_us_per_op))?;
    let (out_a, out_b) = both(|tap| Some(tap.bytes_out_per_op))?;
    let (in_a, in_b) = both(|tap| Some(tap.bytes_in_per_op))?;
    let (trips_a, trips_b) = both(|tap| Some(tap.round_trips_per_op))?;
    let sentence = format!(
        "DRIVER SHARE GREW: {} spends {} per op in the driver, {} {}: {} with {} confidence, {} \
         paired rounds. Server and wire take {} and {}. Per op {} sends {} bytes and gets {} in \
         {} round trips, {} sends {} and gets {} in {}.",
        b.arm.id,
        time(driver_b),
        a.arm.id,
        time(driver_a),
        format::change(Some(driver.estimate), Some(driver.low), Some(driver.high))?,
        format::level(driver.level),
        driver.rounds,
        time(server_b),
        time(server_a),
        b.arm.id,
        figure(out_b),
        figure(in_b),
        figure(trips_b),
        a.arm.id,
        figure(out_a),
        figure(in_a),
        figure(trips_a),
    );
    let numbers = [
        ("driver_us_per_op", driver_b),
        ("driver_other_us_per_op", driver_a),
        ("driver_change_percent", driver.estimate),
        ("driver_change_low_percent", driver.low),
        ("driver_change_high_percent", driver.high),
        ("server_us_per_op", server_b),
        ("server_other_us_per_op", server_a),
        ("bytes_out_per_op", out_b),
        ("bytes_out_other_per_op", out_a),
        ("bytes_in_per_op", in_b),
        ("bytes_in_other_per_op", in_a),
        ("round_trips_per_op", trips_b),
        ("round_trips_other_per_op", trips_a),
    ];
    Some(b.finding(NAME, sentence, &numbers))
}

fn change(a: &Case<'_>, b: &Case<'_>, pick: impl Fn(&Tap) -> Option<f64>) -> Option<PairedChange> {
    changed::change(&a.valid, &b.valid, |run| pick(run.tap.as_ref()?))
}
