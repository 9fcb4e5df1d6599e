//! How often the difference of two differences is told where there is one, and where there is none:
//! the figures of section 3.7 of the methodology.

use crate::world::Noise;
use stats::across_servers::{OnServer, across};
use stats::comparison::Comparison;
use stats::rank::hodges_lehmann;
use stats::ratio::percent;
use stats::threshold::Quantity;
use stats::verdict::Verdict;

const EXPERIMENTS: u32 = 1000;
const ROUNDS: usize = 10;
const ALPHA: f64 = 0.01;

/// Ten rounds of one server: ln(B/A) about `percent`, t with 4 degrees of freedom.
fn on<'a>(noise: &mut Noise, server: &'a str, around: f64, scatter: f64) -> OnServer<'a> {
    let centre = (around / 100.0_f64).ln_1p();
    let ratios: Vec<f64> = (0..ROUNDS).map(|_| centre + scatter * noise.t4()).collect();
    let found = hodges_lehmann(&ratios, ALPHA).expect("values");
    OnServer {
        server,
        ratios: ratios.into_iter().map(Some).collect(),
        found: [found.estimate, found.low, found.high].map(|it| Some(percent(it))),
        threshold_percent: 2.0,
        floor_percent: 2.0,
        bias_percent: 0.0,
        alpha: ALPHA,
        unjudged: None,
        busy: None,
    }
}

/// Shares in percent: beyond the threshold, an interval without 0, the same.
fn rates(leads: [f64; 2], scatters: [f64; 2]) -> [f64; 3] {
    let mut noise = Noise::new(14);
    let mut counts = [0_u32; 3];
    for _ in 0..EXPERIMENTS {
        let sides = [0, 1].map(|it| on(&mut noise, ["4.4", "6.0"][it], leads[it], scatters[it]));
        let Comparison { verdict, direction_only, .. } =
            across(["A", "B"], Quantity::Throughput, [&sides[0], &sides[1]], false);
        let differs = verdict == Verdict::Differs;
        counts[0] += u32::from(differs && !direction_only);
        counts[1] += u32::from(differs);
        counts[2] += u32::from(verdict == Verdict::Same);
    }
    counts.map(|it| 100.0 * f64::from(it) / f64::from(EXPERIMENTS))
}

#[test]
fn a_lead_that_is_the_same_is_seldom_called_another() {
    // Equal scatter, and one server that is three times as restless as the other.
    for scatters in [[0.01, 0.01], [0.03, 0.01], [0.01, 0.03], [0.03, 0.03]] {
        let [beyond, without_zero, _] = rates([-12.0, -12.0], scatters);
        // A level of 99 % misses in 1 %; the standard error of a thousand is 0.3.
        assert!(without_zero <= 1.9 && beyond <= 0.5, "{scatters:?}: {beyond} {without_zero}");
    }
    let [_, _, same] = rates([-12.0, -12.0], [0.01, 0.01]);
    assert!(same >= 60.0, "{same}");
}

#[test]
fn a_lead_that_shrinks_by_eight_percent_is_told() {
    let [beyond, _, same] = rates([-12.0, -4.0], [0.02, 0.02]);
    assert!(beyond >= 95.0 && same < 0.1, "{beyond} {same}");
    let [_, without_zero, same] = rates([-12.0, -4.0], [0.04, 0.04]);
    assert!(without_zero >= 60.0 && same < 0.1, "{without_zero} {same}");
}
