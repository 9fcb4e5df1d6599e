//! Which part of the way waits: the round through the tap.

use std::collections::BTreeMap;

use super::{BURST, Course, evidence, list, phase, with_course};
use crate::broker::types::{Evidence, PhaseAnalysis, Row, Shown};
use format::time;
use record::broker::{Part, Parts};

/// One part has so much of the growth, or none is named.
const SHARE_MIN: f64 = 0.8;

pub fn rule(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    let rows = &phase(phases, BURST)?.rows;
    let growing = with_course(rows, Course::Grows, |row| &row.curves);
    let growing: Vec<(&Row, &Parts)> =
        growing.into_iter().filter_map(|row| Some((row, row.parts.as_ref()?))).collect();
    if growing.is_empty() {
        return None;
    }
    let mut by_part: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut sentences = Vec::new();
    let mut shared = 0;
    for (row, parts) in &growing {
        let thresholds = row.curves.iter().map(|curve| curve.threshold_us);
        let Some((name, part, share)) = largest(parts, thresholds.fold(f64::INFINITY, f64::min))
        else {
            sentences.push(format!("{}: through the tap it did not grow.", row.arm));
            continue;
        };
        sentences.push(format!(
            "{}: {} % of the growth is in the {name}, where a message of the first tenth spends \
             {} and one of the last {}.",
            row.arm,
            format::fixed(share * 100.0, 0),
            time(part.first_us),
            time(part.last_us)
        ));
        if share >= SHARE_MIN {
            by_part.entry(name).or_default().push(&row.arm);
        } else {
            shared += 1;
        }
    }
    let question = "Where do the messages wait?";
    let mut said: Vec<String> = by_part
        .iter()
        .map(|(part, arms)| format!("in the {part} for {}", list(arms.iter().copied())))
        .collect();
    let shown = if said.is_empty() { Shown::NotShown } else { Shown::Shown };
    if shared > 0 {
        said.push(format!("in no single part for {shared}"));
    }
    sentences.insert(
        0,
        match &said[..] {
            [] => "Through the tap nothing grew.".to_owned(),
            said => format!("Once made, what grows waits {}.", said.join("; ")),
        },
    );
    if by_part.contains_key("server") {
        sentences.push(
            "The server's part includes the sockets before it: a driver that writes at \
             once, whatever is under way, leaves its queue there."
                .to_owned(),
        );
    }
    Some(evidence("where", question, shown, sentences))
}

/// The part that grew most, and its share of all growth; None where all together grew by no more
/// than `threshold_us`, which is no growth in the other rounds either. The program's part is left
/// out. In a burst it is the wait to be made, and latency begins after it.
fn largest(parts: &Parts, threshold_us: f64) -> Option<(&'static str, Part, f64)> {
    let after = || parts.named().into_iter().filter(|(name, _)| *name != "program");
    let grown: f64 = after().map(|(_, part)| part.grown_us().max(0.0)).sum();
    let most = |a: &(&str, Part), b: &(&str, Part)| a.1.grown_us().total_cmp(&b.1.grown_us());
    let (name, part) = after().max_by(most)?;
    (grown > threshold_us).then(|| (name, part, part.grown_us() / grown))
}
