//! Conclusions of studies: a question, whether the figures answer it, and with which figures.

use record::records::{Experiment, Gap, Run};
use report::study::EvidenceView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Stable name.
    pub id: String,
    pub question: String,
    /// Whether the figures show it.
    pub shown: Shown,
    /// With the figures; the first one is the answer.
    pub sentences: Vec<String>,
}

/// State of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The figures show it.
    Shown,
    /// The figures show that it is not so.
    Refuted,
    /// Neither.
    NotShown,
}

impl Evidence {
    pub fn view(&self) -> EvidenceView {
        let mark = match self.shown {
            Shown::Shown => "",
            Shown::Refuted => "No. ",
            Shown::NotShown => "Not shown. ",
        };
        let mut sentences = self.sentences.clone();
        if let Some(first) = sentences.first_mut().filter(|it| !it.starts_with("Not shown")) {
            first.insert_str(0, mark);
        }
        let shown = self.shown != Shown::NotShown;
        EvidenceView { heading: self.question.clone(), sentences, shown }
    }
}

/// Facts on any experiment of a study that a reader needs beside its tables.
pub fn notes(experiment: &Experiment, runs: &[Run]) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(experiment.settings.order.caution().map(str::to_owned));
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
