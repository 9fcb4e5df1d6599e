//! Cells of the messages of each arm in each phase, over its rounds past the tap, and of the parts
//! of their way in the round through it.

use super::rows::in_phase;
use crate::frame::{Cells, Spread, StudyCell};
use crate::outcome::Made;
use record::broker::Broker;
use record::records::{PhaseRun, Run};
use stats::curve::{Class, Curve};
use stats::gates::GateId;
use stats::overload::predicted_slope_us;

/// The unit of `curve`, whose values by round are places in [`CLASSES`].
const CLASS_UNIT: &str = "class: 0 flat, 1 linear, 2 logarithmic, 3 growing, 4 unclear";
/// `growing` is growth by neither a line nor a logarithm.
const CLASSES: [&str; 5] = ["flat", "linear", "logarithmic", "growing", "unclear"];
pub const FLAT: usize = 0;
pub const POOL_OPTION: &str = "maxPoolSize";

/// Before the metrics of the curve from the moment a message was intended, in the order intended.
pub const SINCE_INTENDED: &str = "since_intended_";

/// In one round.
type Counted<'a> = (&'a PhaseRun, &'a Broker);
type MessageReading = fn(&PhaseRun, &Broker) -> Option<f64>;
type CurveReading = fn(&Curve) -> Option<f64>;

/// Names, units and readings. The value of a count is its sum over the rounds.
static METRICS: [(&str, &str, MessageReading); 20] = [
    ("latency_p50_us", "us", |_, it| it.latency.p50_us),
    ("latency_p90_us", "us", |_, it| it.latency.p90_us),
    ("slope_predicted_us", "us", |_, it| {
        Some(predicted_slope_us(it.receive_rate_per_s?, it.issue_rate_per_s))
    }),
    ("made_per_s", "per_s", |_, it| it.issue_rate_per_s),
    ("received_per_s", "per_s", |_, it| it.receive_rate_per_s),
    ("sent", "count", |_, it| Some(it.sent as f64)),
    ("received", "count", |_, it| Some(it.received as f64)),
    ("lost", "count", |_, it| Some(it.lost as f64)),
    ("duplicates", "count", |_, it| Some(it.duplicates as f64)),
    ("unclaimed", "count", |_, it| Some(it.unclaimed as f64)),
    ("out_of_order", "count", |_, it| Some(it.out_of_order as f64)),
    ("out_of_order_per_producer", "count", |_, it| Some(it.out_of_order_per_producer as f64)),
    ("out_of_order_percent", "percent", |_, it| {
        Some(100.0 * it.out_of_order as f64 / it.received.max(1) as f64)
    }),
    ("saturated", "count", |_, it| Some(f64::from(u8::from(it.consumer.saturated)))),
    ("cursors_reopened", "count", |_, it| Some(it.consumer.cursors.saturating_sub(1) as f64)),
    ("positions_lost", "count", |_, it| Some(it.consumer.positions_lost as f64)),
    ("producer_cpu_us", "us", |phase, it| us_each(phase.cpu_ns, it.sent)),
    ("consumer_cpu_us", "us", |_, it| us_each(it.consumer.cpu_ns, it.received)),
    ("producer_peak_bytes", "bytes", |phase, _| Some(phase.rss_peak_bytes as f64)),
    ("consumer_peak_bytes", "bytes", |_, it| Some(it.consumer.rss_peak_bytes as f64)),
];

/// Figures of the curve of a round, with the ends of their intervals.
static CURVE_METRICS: [(&str, &str, CurveReading); 6] = [
    ("curve", CLASS_UNIT, |it| Some(class(it) as f64)),
    ("slope_us", "us", |it| Some(it.slope_us_per_message?.estimate)),
    ("growth_us", "us", |it| Some(it.growth_us?.estimate)),
    ("growth_low_us", "us", |it| Some(it.growth_us?.low)),
    ("growth_high_us", "us", |it| Some(it.growth_us?.high)),
    ("threshold_us", "us", |it| Some(it.threshold_us)),
];

pub fn push(made: &Made<'_>, cells: &mut Cells) {
    let direct = made.runs.iter().filter(|run| !run.tapped);
    let mut rounds: Vec<u32> = direct.map(|run| run.round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    for phase in made.experiment.plan.phases.iter().filter(|phase| phase.consumer) {
        for arm in &made.experiment.arms {
            let runs: Vec<&Run> = made.runs.iter().filter(|run| run.arm == arm.id).collect();
            let of = [made.part, &phase.name, &arm.id];
            if !push_arm(of, &rounds, &runs, cells) {
                continue;
            }
            if arm.share.original.as_ref() == Some(&phase.name) {
                let [part, phase, arm] = of;
                let cell = cells.push_plain([part, phase, arm, "as_original"], "count", Some(1.0));
                cell.note = Some("as in 2014".to_owned());
            }
            // A pool that was asked for is no default.
            if !arm.options.contains_key(POOL_OPTION) {
                let pool = arm.resolved.get("max_pool_size").and_then(serde_json::Value::as_f64);
                let [part, phase, arm] = of;
                cells.push_plain([part, phase, arm, "pool_default"], "count", pool);
            }
        }
    }
}

/// Adds the cells of one part, phase and arm; false where the arm has no part in the phase.
fn push_arm(of: [&str; 3], rounds: &[u32], runs: &[&Run], cells: &mut Cells) -> bool {
    let [part, phase, arm] = of;
    let lost: Vec<String> = runs.iter().filter_map(|run| lost(run, phase)).collect();
    let of_round = |round: &u32| {
        let run = runs.iter().find(|run| !run.tapped && run.round == *round);
        run.and_then(|run| counted(run, phase))
    };
    let each: Vec<Option<Counted<'_>>> = rounds.iter().map(of_round).collect();
    if lost.is_empty() && each.iter().all(Option::is_none) {
        return false;
    }
    for (metric, unit, read) in METRICS {
        let by_round = each.iter().map(|it| it.and_then(|(phase, it)| read(phase, it))).collect();
        let cell = push_metric([part, phase, arm, metric], unit, by_round, cells);
        if metric == "sent" && !lost.is_empty() {
            cell.note = Some(lost.join("; "));
        }
    }
    let made = each.iter().map(|it| Some(&it.as_ref()?.1.curve)).collect::<Vec<_>>();
    let intended = each.iter().map(|it| it.as_ref()?.1.curve_since_intended.as_ref()).collect();
    for (since, curves) in [("", made), (SINCE_INTENDED, intended)] {
        if curves.iter().any(Option::is_some) {
            push_curves(of, since, rounds, &curves, cells);
        }
    }
    let tapped = runs.iter().filter(|run| run.tapped).find_map(|run| counted(run, phase));
    if let Some((_, broker)) = tapped {
        push_tapped(of, broker, cells);
    }
    true
}

fn push_metric<'a>(
    at: [&str; 4],
    unit: &str,
    by_round: Vec<Option<f64>>,
    cells: &'a mut Cells,
) -> &'a mut StudyCell {
    let sum = by_round.iter().flatten().sum();
    let is_count = unit == "count" && by_round.iter().any(Option::is_some);
    let cell = cells.push(at, unit, by_round);
    if is_count {
        cell.value = Some(Spread::plain(sum));
    }
    cell
}

/// The classes by round have their count as note, the growths the reasons of rounds that are not
/// flat.
pub fn push_curves(
    [part, phase, arm]: [&str; 3],
    since: &str,
    rounds: &[u32],
    curves: &[Option<&Curve>],
    cells: &mut Cells,
) {
    for (name, unit, read) in CURVE_METRICS {
        let by_round: Vec<Option<f64>> = curves.iter().map(|it| read((*it)?)).collect();
        let metric = format!("{since}{name}");
        let cell = cells.push([part, phase, arm, &metric], unit, by_round);
        if name == "curve" {
            // A middle of names is none.
            cell.value = None;
            cell.note = Some(tally_text(&cell.by_round));
        } else if name == "growth_us" {
            let each = rounds.iter().zip(curves).filter_map(|(round, it)| Some((round, (*it)?)));
            let not_flat = each.filter(|(_, it)| it.class != Class::Flat);
            let reasons = not_flat.map(|(round, it)| format!("round {round}: {}", it.reason));
            let reasons: Vec<String> = reasons.collect();
            cell.note = (!reasons.is_empty()).then(|| reasons.join("; "));
        }
    }
}

fn push_tapped([part, phase, arm]: [&str; 3], broker: &Broker, cells: &mut Cells) {
    let mut push = |metric: &str, unit: &str, value: Option<f64>| {
        cells.push_plain([part, phase, arm, metric], unit, value);
    };
    push("tapped_p50_us", "us", broker.latency.p50_us);
    let Some(parts) = &broker.parts else { return };
    push("parts_matched", "count", Some(parts.matched as f64));
    push("parts_unmatched", "count", Some(parts.unmatched as f64));
    for (name, it) in parts.named() {
        push(&format!("{name}_p50_us"), "us", Some(it.p50_us));
        push(&format!("{name}_first_us"), "us", Some(it.first_us));
        push(&format!("{name}_last_us"), "us", Some(it.last_us));
    }
}

/// A run whose messages count.
fn counted<'a>(run: &'a Run, phase: &str) -> Option<Counted<'a>> {
    let phase = in_phase(run, phase).filter(|it| failed_inserts(it).is_none())?;
    Some((phase, phase.broker.as_ref()?))
}

/// `round 3: …`, why a run has no messages that count.
fn lost(run: &Run, phase: &str) -> Option<String> {
    let reason = match in_phase(run, phase).filter(|it| it.broker.is_some()) {
        Some(phase) => failed_inserts(phase),
        None => run.failed.as_deref(),
    };
    reason.map(|reason| format!("round {}: {reason}", run.round))
}

/// Why the messages of a phase do not describe its driver: with many failed inserts the others are
/// no fair sample.
pub fn failed_inserts(phase: &PhaseRun) -> Option<&str> {
    let gate = phase.gates.iter().find(|gate| gate.fails && gate.id == GateId::Errors)?;
    Some(&gate.reason)
}

fn us_each(ns: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| ns as f64 / 1e3 / count as f64)
}

fn class(curve: &Curve) -> usize {
    let grows = curve.growth_us.is_some_and(|growth| growth.low > curve.threshold_us);
    match curve.class {
        Class::Flat => 0,
        Class::Linear => 1,
        Class::Logarithmic => 2,
        Class::Unclear if grows => 3,
        Class::Unclear => 4,
    }
}

/// `linear 5/5`, or the classes by rounds, the most frequent first: `linear 3, flat 2`.
fn tally_text(classes: &[Option<f64>]) -> String {
    let count = |class: usize| classes.iter().flatten().filter(|it| **it as usize == class).count();
    let counts = CLASSES.iter().enumerate().map(|(class, name)| (*name, count(class)));
    let mut counts: Vec<(&str, usize)> = counts.filter(|(_, count)| *count > 0).collect();
    if let [(name, all)] = counts[..] {
        return format!("{name} {all}/{all}");
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}
