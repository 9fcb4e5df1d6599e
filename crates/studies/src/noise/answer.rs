//! The tables in sentences.

use super::scatter::Told;
use super::types::{NoiseAnalysis, PhaseNoise};
use crate::evidence::{Evidence, Shown};
use format::{figure, fixed, threshold, time};
use record::records::Experiment;
use stats::looks::LookPlan;

/// Arms of a run of two drivers.
const ARMS: f64 = 3.0;

/// Every finding; those of the phases first.
pub fn all(experiment: &Experiment, analysis: &NoiseAnalysis) -> Vec<Evidence> {
    let mut evidence: Vec<Evidence> =
        analysis.phases.iter().map(|phase| told(phase, analysis.arm_round_s)).collect();
    for sentence in evidence.iter_mut().flat_map(|it| &mut it.sentences) {
        experiment.settings.order.remark(sentence);
    }
    evidence.push(machine(experiment, analysis));
    evidence.push(Evidence {
        id: "hint".to_owned(),
        question: "Would anything help?".to_owned(),
        shown: Shown::Shown,
        sentences: vec![hint(experiment, analysis)],
    });
    evidence
}

fn told(phase: &PhaseNoise, arm_round_s: Option<f64>) -> Evidence {
    let question = format!("{}: which differences are told apart here?", phase.phase);
    let id = format!("told-{}", phase.phase);
    let Some(all) = &phase.all else {
        let few = "Too few rounds have both copies of a driver.".to_owned();
        return Evidence { id, question, shown: Shown::NotShown, sentences: vec![few] };
    };
    let each: Vec<String> = all
        .told
        .iter()
        .map(|it| {
            let minutes = arm_round_s.map(|s| f64::from(it.rounds) * ARMS * s / 60.0);
            let minutes =
                minutes.map_or(String::new(), |it| format!(" ({} minutes)", fixed(it, 0)));
            format!("{} % in {} rounds{minutes}", threshold(it.percent), it.rounds)
        })
        .collect();
    let range = |it: &Told| {
        let percent = threshold(it.percent);
        format!("{percent} % takes {} to {} rounds", it.rounds_low, it.rounds_high)
    };
    let ranges: Vec<String> = all.told.iter().map(range).collect();
    let mut sentences = vec![
        format!(
            "On this machine two drivers are told apart that differ by {}. The {} rounds of the \
             quick form tell {} % apart.",
            each.join(", by "),
            LookPlan::quick().first_rounds(),
            figure(all.quick_percent),
        ),
        format!(
            "Two copies of one driver scatter by {} % from round to round (95 % interval {} to {} \
             %, {} degrees of freedom, {} s measured a round): by that interval {}.",
            figure(all.percent.estimate),
            figure(all.percent.low),
            figure(all.percent.high),
            all.degrees,
            format::optional(phase.measured_s),
            ranges.join(", "),
        ),
    ];
    let drivers = phase.rows.iter();
    let mut drivers: Vec<(f64, &str)> =
        drivers.filter_map(|it| Some((it.scatter.as_ref()?.percent.estimate, &*it.arm))).collect();
    drivers.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let [(least, steady), .., (most, rough)] = drivers[..] {
        let (least, most) = (figure(least), figure(most));
        sentences
            .push(format!("{steady} scatters least, by {least} %, {rough} most, by {most} %."));
    }
    Evidence { id, question, shown: Shown::Shown, sentences }
}

fn machine(experiment: &Experiment, analysis: &NoiseAnalysis) -> Evidence {
    let (count, rounds) = (analysis.disturbed.len(), analysis.rounds);
    let fate = if analysis.counts_disturbed { "count, as the rule here" } else { "are left out" };
    let mut sentences = vec![match &analysis.disturbance {
        None => format!("Nothing else disturbed any of the {rounds} rounds."),
        Some(words) => {
            format!("Something else disturbed {count} of {rounds} rounds ({words}); they {fate}.")
        }
    }];
    if let Some(awake) = &experiment.machine.keep_awake {
        let kept = if awake.used { "kept awake" } else { "left to halt" };
        let trips = awake.round_trip_us.zip(awake.round_trip_awake_us);
        let trips = trips.map_or(String::new(), |(halting, kept)| {
            let (halting, kept) = (time(halting), time(kept));
            format!("; a message to another thread and back takes {halting}, kept awake {kept}")
        });
        sentences.push(format!("Cores were {kept} during turns: {}{trips}.", awake.reason));
    }
    Evidence {
        id: "machine".to_owned(),
        question: "Is this machine quiet?".to_owned(),
        shown: if count == 0 { Shown::Shown } else { Shown::Refuted },
        sentences,
    }
}

/// One thing to do.
fn hint(experiment: &Experiment, analysis: &NoiseAnalysis) -> String {
    if let Some(words) = analysis.disturbance.as_ref().filter(|_| analysis.counts_disturbed) {
        return format!("Stop other programs here, or take a quieter machine: {words}.");
    }
    if !experiment.settings.keep_awake {
        return "Leave --no-keep-awake away: cores that halt wake up late.".to_owned();
    }
    let last = LookPlan::standard().looks().last().map_or(0, |look| look.rounds);
    let asked = analysis.phases.iter().filter_map(|phase| phase.all.as_ref()?.told.first());
    match asked.max_by_key(|told| told.rounds) {
        Some(told) if told.rounds > last => format!(
            "`run` stops after {last} rounds; for {} % give it --rounds {}, or take a machine with \
             cores to spare.",
            threshold(told.percent),
            told.rounds
        ),
        _ => "More rounds: to tell half the difference apart takes four times as many.".to_owned(),
    }
}
