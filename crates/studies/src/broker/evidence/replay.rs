//! Messages issued as the original programs did: is the puzzle there?

use super::{Course, classes, course, evidence, growth, names};
use crate::broker::types::{Evidence, PhaseAnalysis, Row, Shown};

pub fn rule(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    let originals: Vec<(&PhaseAnalysis, &Row)> = phases
        .iter()
        .flat_map(|phase| phase.rows.iter().map(move |row| (phase, row)))
        .filter(|(_, row)| row.original && !row.curves.is_empty())
        .collect();
    if originals.is_empty() {
        return None;
    }
    let of = |wanted: Course| -> Vec<&Row> {
        let rows = originals.iter().filter(|(_, row)| course(&row.curves) == Some(wanted));
        rows.map(|(_, row)| *row).collect()
    };
    let (grow, flat, mixed) = (of(Course::Grows), of(Course::Flat), of(Course::Mixed));
    let mut said = Vec::new();
    if !grow.is_empty() {
        said.push(format!("latency grows with the count for {}", names(&grow)));
    }
    if !mixed.is_empty() {
        said.push(format!("not every time for {}", names(&mixed)));
    }
    if !flat.is_empty() {
        said.push(format!("and stays constant for {}", names(&flat)));
    }
    let mut sentences = vec![format!("Issued as the programs of 2014 did, {}.", said.join(", "))];
    sentences.extend(originals.iter().map(|(phase, row)| {
        let grown = growth(&row.curves);
        format!("{} ({}): {}; {grown}.", row.arm, phase.pacing, classes(&row.curves))
    }));
    let shown = match (grow.len() + mixed.len(), flat.len()) {
        (0, _) => Shown::Refuted,
        (_, 0) => Shown::NotShown,
        _ => Shown::Shown,
    };
    Some(evidence(
        "replay",
        "Does latency grow as it did in 2014, for some and not for others?",
        shown,
        sentences,
    ))
}
