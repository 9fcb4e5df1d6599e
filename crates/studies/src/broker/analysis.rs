use crate::broker::evidence;
use crate::broker::types::{BrokerAnalysis, LostRound, PhaseAnalysis, RoundCurve, Row};
use crate::doubts::{self, Doubts};
use format::time;
use record::records::{Broker, Experiment, PhaseRun, Run};
use stats::curve::Curve;
use stats::descriptive::{OverRounds, over_rounds};
use stats::gates::GateId;
use stats::overload::predicted_slope_us;
use workload::plan::{Pacing, Phase};

/// The study's tables and its answer, from its runs.
pub fn analyse(experiment: &Experiment, runs: &[Run]) -> BrokerAnalysis {
    let phases: Vec<PhaseAnalysis> = experiment
        .plan
        .phases
        .iter()
        .filter(|phase| phase.consumer)
        .map(|phase| phase_analysis(experiment, runs, phase))
        .collect();
    let mut evidence = evidence::all(&phases);
    for answer in evidence.iter_mut().filter_map(|it| it.sentences.first_mut()) {
        experiment.settings.order.remark(answer);
    }
    let doubts = [Doubts::of("", experiment, runs, false)];
    doubts::weigh(&doubts, &mut evidence, |_| Vec::new());
    let mut notes = notes(experiment, runs);
    notes.extend(doubts[0].notes());
    BrokerAnalysis { phases, evidence, notes }
}

fn phase_analysis(experiment: &Experiment, runs: &[Run], phase: &Phase) -> PhaseAnalysis {
    let rows = experiment.arms.iter().filter_map(|arm| {
        let own: Vec<&Run> = runs.iter().filter(|run| run.arm == arm.id).collect();
        let original = arm.share.original.as_ref() == Some(&phase.name);
        row(&arm.id, original, &own, phase)
    });
    PhaseAnalysis {
        phase: phase.name.clone(),
        pacing: pacing(phase),
        open: matches!(phase.pacing, Pacing::Rate { .. } | Pacing::Burst {}),
        rows: rows.collect(),
    }
}

/// Why the messages of a phase tell nothing of its driver: with many failed inserts the others are
/// no fair sample.
fn failed_inserts(phase: &PhaseRun) -> Option<&str> {
    let gate = phase.gates.iter().find(|gate| gate.fails && gate.id == GateId::Errors)?;
    Some(&gate.reason)
}

/// None where the arm has no part in the phase.
fn row(arm: &str, original: bool, runs: &[&Run], phase: &Phase) -> Option<Row> {
    let of_phase = |run: &&Run| -> Option<PhaseRun> {
        run.phases.iter().find(|it| it.phase == phase.name).cloned()
    };
    let measured: Vec<(u32, PhaseRun, Broker)> = runs
        .iter()
        .filter(|run| !run.tapped)
        .filter_map(|run| {
            let phase = of_phase(run)?;
            let broker = phase.broker.clone().filter(|_| failed_inserts(&phase).is_none())?;
            Some((run.round, phase, broker))
        })
        .collect();
    let lost = |run: &&Run| match of_phase(run).filter(|it| it.broker.is_some()) {
        Some(phase) => failed_inserts(&phase).map(str::to_owned),
        None => run.failed.clone(),
    };
    let lost_rounds: Vec<LostRound> = runs
        .iter()
        .filter_map(|run| Some(LostRound { round: run.round, reason: lost(run)? }))
        .collect();
    if measured.is_empty() && lost_rounds.is_empty() {
        return None;
    }
    let tapped = runs.iter().filter(|run| run.tapped).filter_map(of_phase);
    let tapped = tapped.filter(|phase| failed_inserts(phase).is_none()).find_map(|it| it.broker);
    let over = |value: &dyn Fn(&PhaseRun, &Broker) -> Option<f64>| -> Option<OverRounds> {
        let values: Vec<f64> =
            measured.iter().filter_map(|(_, phase, broker)| value(phase, broker)).collect();
        over_rounds(&values)
    };
    let sum = |value: &dyn Fn(&Broker) -> u64| measured.iter().map(|(_, _, it)| value(it)).sum();
    let us_each = |ns: u64, count: u64| (count > 0).then(|| ns as f64 / 1e3 / count as f64);
    let curves = |of: &dyn Fn(&Broker) -> Option<&Curve>| -> Vec<RoundCurve> {
        let each = measured.iter();
        each.filter_map(|(round, _, broker)| Some(round_curve(*round, of(broker)?, broker)))
            .collect()
    };
    Some(Row {
        arm: arm.to_owned(),
        original,
        lost_rounds,
        curves: curves(&|it| Some(&it.curve)),
        curves_since_intended: curves(&|it| it.curve_since_intended.as_ref()),
        latency_p50_us: over(&|_, it| it.latency.p50_us),
        latency_p90_us: over(&|_, it| it.latency.p90_us),
        slope_us: over(&|_, it| Some(it.curve.slope_us_per_message?.estimate)),
        slope_predicted_us: over(&|_, it| {
            Some(predicted_slope_us(it.receive_rate_per_s?, it.issue_rate_per_s))
        }),
        received_per_s: over(&|_, it| it.receive_rate_per_s),
        made_per_s: over(&|_, it| it.issue_rate_per_s),
        sent: sum(&|it| it.sent),
        received: sum(&|it| it.received),
        lost: sum(&|it| it.lost),
        duplicates: sum(&|it| it.duplicates),
        out_of_order_per_producer: sum(&|it| it.out_of_order_per_producer),
        out_of_order: sum(&|it| it.out_of_order),
        saturated_rounds: measured.iter().filter(|(_, _, it)| it.consumer.saturated).count() as u32,
        cursors_reopened: sum(&|it| it.consumer.cursors.saturating_sub(1)),
        positions_lost: sum(&|it| it.consumer.positions_lost),
        producer_cpu_us: over(&|phase, it| us_each(phase.cpu_ns, it.sent)),
        consumer_cpu_us: over(&|_, it| us_each(it.consumer.cpu_ns, it.received)),
        producer_rss_bytes: over(&|phase, _| Some(phase.rss_peak_bytes as f64)),
        consumer_rss_bytes: over(&|_, it| Some(it.consumer.rss_peak_bytes as f64)),
        tapped_p50_us: tapped.as_ref().and_then(|it| it.latency.p50_us),
        parts: tapped.and_then(|it| it.parts),
    })
}

fn round_curve(round: u32, curve: &Curve, broker: &Broker) -> RoundCurve {
    RoundCurve {
        round,
        class: curve.class,
        reason: curve.reason.clone(),
        growth_us: curve.growth_us,
        slope_us: curve.slope_us_per_message.map(|it| it.estimate),
        threshold_us: curve.threshold_us,
        made_per_s: broker.issue_rate_per_s,
        received_per_s: broker.receive_rate_per_s,
        latency_p50_us: broker.latency.p50_us,
    }
}

fn pacing(phase: &Phase) -> String {
    match phase.pacing {
        Pacing::Awaited { think_ns: 0 } => "each insert awaits the one before it".to_owned(),
        Pacing::Awaited { think_ns } => format!(
            "each insert awaits the one before it, and {} more",
            time(think_ns as f64 / 1e3)
        ),
        Pacing::Window { size } => format!("{size} inserts in flight"),
        Pacing::Rate { per_second, .. } => format!("{per_second} inserts a second, when due"),
        Pacing::Burst {} => "all inserts at once".to_owned(),
    }
}

/// Facts that a reader needs beside the tables.
fn notes(experiment: &Experiment, runs: &[Run]) -> Vec<String> {
    let mut notes = crate::evidence::notes(experiment, runs);
    for run in runs {
        for phase in &run.phases {
            notes.extend(failed_inserts(phase).map(|reason| {
                format!("{}, round {}: {reason}; it does not count", phase.phase, run.round)
            }));
        }
    }
    notes
}
