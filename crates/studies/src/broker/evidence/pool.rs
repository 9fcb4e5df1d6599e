//! The same driver with another pool, or as several processes.

use std::collections::BTreeMap;

use super::{BURST, Course, classes, course, evidence, list, over, phase};
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
    let (mut ended, mut stays, mut open) = (0, 0, Vec::new());
    for group in groups.values_mut().filter(|group| group.len() > 1) {
        group.sort_by_key(|(value, _)| *value);
        let (first, last) = (group[0].1, group[group.len() - 1].1);
        match (course(&first.curves), course(&last.curves)) {
            (Some(Course::Grows), Some(Course::Flat)) => ended += 1,
            (Some(Course::Grows), Some(Course::Grows)) => stays += 1,
            (Some(Course::Grows), Some(Course::Mixed)) => open.push(last.arm.as_str()),
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
    let (shown, first) = match (ended, stays) {
        (0, 0) => {
            (Shown::NotShown, format!("No two arms that differ in {option} alone both grow."))
        }
        (0, _) if open.is_empty() => {
            (Shown::Refuted, format!("It grows with every value of {option}."))
        }
        (0, 1) => (Shown::Refuted, format!("With the largest {option} one driver still grows.")),
        (0, _) => {
            (Shown::Refuted, format!("With the largest {option} {stays} drivers still grow."))
        }
        (_, 0) => (Shown::Shown, format!("With the largest {option} it does not grow.")),
        _ => {
            (Shown::NotShown, format!("The largest {option} ends it for some and not for others."))
        }
    };
    let first = match &open[..] {
        [] => first,
        open => format!("{first} It is open for {}.", list(open.iter().copied())),
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
