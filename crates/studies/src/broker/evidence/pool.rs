//! The same driver with another pool, or as several processes.

use std::collections::BTreeMap;

use super::{BURST, Course, classes, course, evidence, over, phase};
use crate::broker::types::{Evidence, PhaseAnalysis, Row, Shown};

/// Pool sizes: does a larger one end the growth?
pub fn pools(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    let question = "Does a larger pool of connections end the growth?";
    varied(phases, "pool", "maxPoolSize", question)
}

/// Several processes: does that end the growth?
pub fn processes(phases: &[PhaseAnalysis]) -> Option<Evidence> {
    varied(phases, "processes", "processes", "Do several processes end the growth?")
}

/// Compares arms that differ in one option alone.
fn varied(phases: &[PhaseAnalysis], id: &str, option: &str, question: &str) -> Option<Evidence> {
    let rows = &phase(phases, BURST)?.rows;
    let mut groups: BTreeMap<String, Vec<(u32, &Row)>> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.curves.is_empty()) {
        let (rest, value) = without(&row.arm, option);
        groups.entry(rest).or_default().push((value, row));
    }
    let mut sentences = Vec::new();
    let (mut ended, mut stays, mut open) = (0, 0, 0);
    for group in groups.values_mut().filter(|group| group.len() > 1) {
        group.sort_by_key(|(value, _)| *value);
        let (first, last) = (group[0].1, group[group.len() - 1].1);
        match (course(&first.curves), course(&last.curves)) {
            (Some(Course::Grows), Some(Course::Flat)) => ended += 1,
            (Some(Course::Grows), Some(Course::Grows)) => stays += 1,
            (Some(Course::Grows), Some(Course::Mixed)) => open += 1,
            _ => {}
        }
        let each = group.iter().map(|(_, row)| {
            let slope = over(row.slope_us);
            format!("{}: {}, {slope} us a message", row.arm, classes(&row.curves))
        });
        sentences.push(format!("{}.", each.collect::<Vec<_>>().join("; ")));
    }
    if sentences.is_empty() {
        return None;
    }
    let total = ended + stays + open;
    let (shown, first) = if total == 0 {
        (Shown::NotShown, format!("No arm with the smallest {option} grows."))
    } else if ended == total {
        (Shown::Shown, format!("With the largest {option} it does not grow."))
    } else if ended == 0 && stays > 0 {
        let first = format!("With the largest {option} it still grows for {stays} of {total}.");
        (Shown::Refuted, first)
    } else {
        (Shown::NotShown, format!("With the largest {option} it ends for {ended} of {total}."))
    };
    sentences.insert(0, first);
    Some(evidence(id, question, shown, sentences))
}

/// An arm's name without an option, and the option's value; 0 where it has its default.
fn without(arm: &str, option: &str) -> (String, u32) {
    let key = format!("{option}=");
    let mut value = 0;
    let kept = arm.split('/').filter(|segment| match segment.strip_prefix(&key) {
        Some(text) => {
            value = text.parse().unwrap_or(0);
            false
        }
        None => true,
    });
    let kept: Vec<&str> = kept.collect();
    (kept.join("/"), value)
}
