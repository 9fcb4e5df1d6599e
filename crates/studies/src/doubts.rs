//! Doubts of a study's parts. A part that its own report calls void answers nothing; what that
//! report doubts is said beside every answer that is made of the part.

use std::collections::BTreeMap;

use judge::analysis::compare::{Compared, compare_all};
use judge::analysis::rounds::Rounds;
use judge::analysis::rows;
use judge::analysis::types::{ComparisonRow, Metric};
use record::records::{Ended, Experiment, Gap, Run};
use stats::disturbed::{self, ForeignLoad};
use stats::verdict::Verdict;

use crate::outcome::Outcome;

/// Runs that an answer is made of.
pub struct Basis<'a> {
    pub part: &'a str,
    /// Arms that it holds against each other; empty: all of them. None: none, each has an answer of
    /// its own, and its failures are one.
    pub arms: Option<Vec<&'a str>>,
}

/// Judgement of one part by its own report.
pub struct Doubts {
    part: String,
    rounds: usize,
    /// Comparisons that are void: the arm, and the sentence with its phase.
    void: Vec<(String, String)>,
    /// Arms that are compared with the baseline, in each phase.
    compared: usize,
    /// Reasons to doubt what is not void, and their details.
    reasons: Vec<(String, String)>,
    /// Phases with void runs.
    lost: Vec<String>,
    /// What is said of rounds in which the machine was busy: a reason or a caution.
    busy: Option<String>,
    /// Cautions of its report.
    pub cautions: Vec<String>,
    /// By phase the farthest that two copies of one version lie apart, percent.
    noise: Vec<(String, f64)>,
}

impl Doubts {
    /// Arms are held against each other in a part with an A/A arm, and in every part of a study
    /// that `compares`.
    pub fn of(part: &str, experiment: &Experiment, runs: &[Run], compares: bool) -> Self {
        let rounds = Rounds::new(experiment, runs);
        let judged = compares || !experiment.settings.conduct.figures_only;
        let (mut found, mut cautions) = (Vec::new(), Vec::new());
        if judged {
            let Compared { rows, warnings, .. } = compare_all(experiment, &rounds);
            (found, cautions) = (rows, warnings);
            found.retain(|row| row.metric == Metric::Throughput);
        }
        let mut doubts = Vec::new();
        if experiment.ended != Some(Ended::Completed) {
            let after = format!("it was cut short after {}", rounds_text(rounds.count()));
            doubts.push((after, String::new()));
        }
        let of_busy = busy(runs, judged.then_some(&rounds));
        let busy = of_busy.as_ref().map(|(said, _, _)| said.clone());
        match of_busy {
            Some((said, words, true)) => doubts.push((said, words)),
            Some((said, words, false)) => cautions.push(said + &words),
            None => {}
        }
        if let Some((count, what)) = rounds.restless() {
            let of = rounds.compared().len();
            let said = format!("other processes worked in {count} of {of} rounds");
            doubts.push((said, format!(": {what}")));
        }
        let (twins, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|row| row.is_aa);
        let noise: Vec<(String, f64)> = twins.iter().filter_map(noise).collect();
        doubts.extend(twins.iter().filter_map(apart).map(|it| (it, String::new())));
        let void = others.iter().filter(|row| row.verdict == Verdict::NotComparable);
        let void = void.map(|row| {
            let said = format!("{}, {}: {}", row.phase, row.arm, row.sentence);
            (row.arm.clone(), said)
        });
        Self {
            part: part.to_owned(),
            rounds: rounds.count(),
            void: void.collect(),
            compared: others.len(),
            reasons: doubts,
            lost: rows::void_runs(experiment, &rounds),
            busy,
            cautions,
            noise,
        }
    }

    /// For a study that judges disturbed rounds itself.
    pub fn forget_busy(&mut self) {
        let Some(busy) = self.busy.take() else { return };
        self.reasons.retain(|(said, _)| *said != busy);
        self.cautions.retain(|said| !said.starts_with(&busy));
    }

    /// Everything that is wrong with the part, for the study's notes.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let void = self.void.iter().map(|(_, said)| said.clone());
        let doubts = self.reasons.iter().map(|(said, details)| format!("{said}{details}"));
        let others = self.lost.iter().chain(&self.cautions).cloned();
        void.chain(doubts)
            .chain(others)
            .map(|it| format!("{}.", it.strip_suffix('.').unwrap_or(&it)))
    }

    /// The farthest that two copies of one version lie apart in a phase, percent; None where no
    /// interval says it.
    pub fn noise_percent(&self, phase: &str) -> Option<f64> {
        self.noise.iter().find(|(name, _)| name == phase).map(|(_, percent)| *percent)
    }

    pub fn is_of(&self, part: &str) -> bool {
        self.part == part
    }

    /// Why runs of these arms answer nothing.
    fn voids(&self, arms: Option<&[&str]>) -> Vec<String> {
        let named = |arm: &str| arms.is_some_and(|arms| arms.contains(&arm));
        let void = self.void.iter().filter(|(arm, _)| named(arm)).map(|(_, said)| said.clone());
        let mut why: Vec<String> = void.collect();
        let all = arms.is_some_and(<[_]>::is_empty) && self.void.len() == self.compared;
        why.extend(
            self.void.first().filter(|_| all).map(|(_, said)| format!("every arm, as {said}")),
        );
        if self.rounds < 2 {
            why.push(format!("{} shows nothing", rounds_text(self.rounds)));
        }
        why
    }

    /// Why they are doubted.
    fn doubts(&self, arms: Option<&[&str]>) -> Vec<String> {
        let mut why: Vec<String> = self.reasons.iter().map(|(said, _)| said.clone()).collect();
        let some = self.void.len() < self.compared && arms.is_some_and(<[_]>::is_empty);
        if some && !self.void.is_empty() {
            let (void, of) = (self.void.len(), self.compared);
            why.push(format!("{void} of {of} comparisons are NOT COMPARABLE"));
        }
        if arms.is_some() {
            why.extend(self.lost.iter().cloned());
        }
        why
    }
}

/// The doubts of all parts that were made.
pub fn of_parts(outcome: &Outcome<'_>, compares: bool) -> Vec<Doubts> {
    let made = outcome.made.iter();
    made.map(|it| Doubts::of(it.part, it.experiment, it.runs, compares)).collect()
}

/// Notes on the experiments of a study and their doubts, after the names of the parts.
pub fn notes_of_parts(outcome: &Outcome<'_>, doubts: &[Doubts]) -> Vec<String> {
    // An arm that is broken is broken in every part: that is said once.
    let mut by_note: Vec<(String, Vec<&str>)> = Vec::new();
    for (made, doubts) in outcome.made.iter().zip(doubts) {
        let own = facts(made.experiment, made.runs).into_iter();
        for note in own.chain(doubts.notes()) {
            match by_note.iter_mut().find(|(known, _)| *known == note) {
                Some((_, parts)) => parts.push(made.part),
                None => by_note.push((note, vec![made.part])),
            }
        }
    }
    let text = |(note, parts): (String, Vec<&str>)| match parts.join(", ") {
        // The one experiment of a study by an earlier version.
        parts if parts.is_empty() => note,
        parts => format!("{parts}: {note}"),
    };
    by_note.into_iter().map(text).collect()
}

/// Facts on any experiment of a study that a reader needs beside its tables.
fn facts(experiment: &Experiment, runs: &[Run]) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(experiment.settings.conduct.order().caution().map(str::to_owned));
    for it in &experiment.unavailable {
        notes.push(format!("{} is left out: {}; {}.", it.adapter, it.reason, it.hint));
    }
    notes.extend(experiment.gaps.iter().map(Gap::sentence));
    let other_link = experiment.link.iter().filter(|it| !it.check.ok);
    notes.extend(other_link.map(|it| it.check.sentence.clone()));
    notes.extend(judge::analysis::rows::errors(experiment, runs));
    for arm in &experiment.arms {
        // An arm that is broken is broken in every round: that is said once.
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for run in runs.iter().filter(|run| run.arm == arm.id) {
            let Some(reason) = run.failed.as_deref() else { continue };
            let round = run.round.to_string();
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, rounds)) => rounds.push(round),
                None => reasons.push((reason, vec![round])),
            }
        }
        notes.extend(reasons.into_iter().map(|(reason, rounds)| {
            let which = if rounds.len() == 1 { "round" } else { "rounds" };
            format!("{} is lost in {which} {}: {reason}", arm.id, rounds.join(", "))
        }));
    }
    notes
}

/// Whether an answer that is made of these runs is void, and why it is void or in doubt. No
/// `basis`: the runs of all parts. One that claims nothing is not in doubt.
pub fn said<'a>(
    doubts: &'a [Doubts],
    mut basis: Vec<Basis<'a>>,
    claims: bool,
) -> (bool, Vec<String>) {
    let all = basis.is_empty();
    if all {
        basis.extend(doubts.iter().map(|it| Basis { part: &it.part, arms: Some(Vec::new()) }));
    }
    let (mut void, mut doubted) = (Vec::new(), Vec::new());
    for Basis { part, arms } in &basis {
        let Some(own) = doubts.iter().find(|it| it.part == *part) else { continue };
        void.extend(own.voids(arms.as_deref()).into_iter().map(|why| (*part, why)));
        doubted.extend(own.doubts(arms.as_deref()).into_iter().map(|why| (*part, why)));
    }
    // One void part among many leaves the others.
    if all && !basis.iter().all(|it| void.iter().any(|(part, _)| *part == it.part)) {
        doubted.splice(0..0, std::mem::take(&mut void));
    }
    if !claims {
        doubted.clear();
    }
    let is_void = !void.is_empty();
    let said = [("Void", joined(void)), ("In doubt", joined(doubted))];
    let said = said.into_iter().filter(|(_, why)| !why.is_empty());
    (is_void, said.map(|(word, why)| format!("{word}: {why}.")).collect())
}

/// `versions: it was cut short after one round, …; concern: …`.
fn joined(reasons: Vec<(&str, String)>) -> String {
    let mut by_part: Vec<(&str, Vec<String>)> = Vec::new();
    for (part, why) in reasons {
        let why = why.strip_suffix('.').map_or(why.clone(), str::to_owned);
        match by_part.iter_mut().find(|(known, _)| *known == part) {
            Some((_, all)) => all.push(why),
            None => by_part.push((part, vec![why])),
        }
    }
    let words = by_part.iter().map(|(part, why)| {
        let why = why.join(", ");
        if part.is_empty() { why } else { format!("{part}: {why}") }
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Rounds in which other processes or the hypervisor took the cores, and whether they count; None
/// where there are none. Only a part that is judged leaves them out.
fn busy(runs: &[Run], judged: Option<&Rounds<'_>>) -> Option<(String, String, bool)> {
    let mut around: BTreeMap<u32, ForeignLoad<'_>> = BTreeMap::new();
    for run in runs {
        around.entry(run.round).or_insert_with(|| run.machine_noise.around());
    }
    let rounds = around.len();
    let busy: Vec<_> = around.into_values().filter(ForeignLoad::is_disturbed).collect();
    let count = judged.is_none_or(|it| it.compared().len() == it.count());
    let which = if count { "count" } else { "do not count" };
    let of = busy.len();
    let said = format!("the machine was busy in {of} of {rounds} rounds, which {which}");
    (of > 0).then(|| (said, format!(": {}", disturbed::words(&busy)), count))
}

/// The farther end of the interval of an A/A comparison.
fn noise(row: &ComparisonRow) -> Option<(String, f64)> {
    let (low, high) = (row.low_percent?, row.high_percent?);
    Some((row.phase.clone(), low.abs().max(high.abs())))
}

/// Two copies of one version that lie farther apart than a difference that would be told.
fn apart(row: &ComparisonRow) -> Option<String> {
    let (low, high) = (row.low_percent?, row.high_percent?);
    let within = low.abs().max(high.abs()) <= row.threshold_percent;
    (!within).then(|| {
        format!(
            "two copies of one version (A/A) differ by {} to {} % in {}",
            format::signed(low, 0),
            format::signed(high, 0),
            row.phase
        )
    })
}

fn rounds_text(rounds: usize) -> String {
    match rounds {
        0 => "no round".to_owned(),
        1 => "one round".to_owned(),
        some => format!("{some} rounds"),
    }
}
