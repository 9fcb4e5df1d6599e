//! The answer, as far as its parts are shown.

use super::evidence;
use crate::broker::types::{Evidence, Shown};

/// Findings under the answer, each with its clause.
const PARTS: [(&str, &str); 5] = [
    ("awaited", "a program that awaits each insert has nothing waiting, and no driver grows"),
    ("burst", "a program that issues everything at once makes every driver grow"),
    ("keeps_pace", "what grows is made faster than it is received"),
    ("slope", "each message then waits 1/capacity - 1/issue rate longer than the one before it"),
    ("where", "and it waits in the part named below"),
];

/// None where nothing was asked.
pub fn rule(findings: &[Evidence]) -> Option<Evidence> {
    let of = |id: &str| findings.iter().find(|it| it.id == id);
    let asked: Vec<_> = PARTS.iter().filter_map(|(id, clause)| Some((of(id)?, *clause))).collect();
    if asked.is_empty() {
        return None;
    }
    let holds: Vec<&str> = asked
        .iter()
        .filter(|(finding, _)| finding.shown == Shown::Shown)
        .map(|(_, clause)| *clause)
        .collect();
    let fails: Vec<&str> = asked
        .iter()
        .filter(|(finding, _)| finding.shown != Shown::Shown)
        .map(|(finding, _)| finding.question.as_str())
        .collect();
    let rests =
        ["awaited", "burst"].iter().all(|id| of(id).is_some_and(|it| it.shown == Shown::Shown));
    let shown = if rests { Shown::Shown } else { Shown::NotShown };
    let mut sentences = Vec::new();
    if rests {
        sentences.push(
            "The growth is a queue, and the program makes it: it goes with the pacing, not with \
             the driver."
                .to_owned(),
        );
    } else {
        sentences.push("Not shown: the pacing alone does not explain the growth here.".to_owned());
    }
    if !holds.is_empty() {
        sentences.push(format!("Shown: {}.", holds.join("; ")));
    }
    if !fails.is_empty() {
        sentences.push(format!("Not shown: {}", fails.join(" ")));
    }
    let question = "Why does latency grow with the count for some and not for others?";
    Some(evidence("answer", question, shown, sentences))
}
