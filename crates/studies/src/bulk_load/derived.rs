//! Cells that follow from others, and whether a rate falls.

use std::collections::BTreeMap;

use super::parts::{BY_COUNT, BY_HOSTS, BY_NAMES, BY_SHARDS, OVER_CACHE, OVER_MEMORY};
use super::tenths::PARTS;
use crate::frame::{CellSelector, Cells, EvidenceRow, QuestionSheet, StudyAnswer, StudyCell};
use stats::changes::{ChangePoint, splits, steps};
use stats::ratio::percent;

/// Half the rate is a cliff; less is a slope.
const CLIFF: f64 = std::f64::consts::LN_2;
const SEED: u64 = 1;
/// Level of an interval that decides, where it is not that of a question.
const SURE: f64 = 0.9;
/// Fields of the documents of the workload bulk-names, beside `_id`.
const NAMED_FIELDS: u32 = 19;
const ID_NAME: u32 = 3;

/// Adds them to the cells that were read.
pub fn push(cells: &mut Cells) {
    push_shares(cells);
    push_names(cells);
    push_counts(cells);
    push_by_hand(cells);
    for part in [OVER_CACHE, OVER_MEMORY] {
        push_cliffs(cells, part);
    }
}

/// Names of the cells of one metric of a part, and their medians.
fn each(cells: &Cells, part: &str, metric: &str) -> Vec<([String; 3], f64)> {
    let of = CellSelector::of([part, "", "", metric]);
    let found = cells.select(&of).into_iter();
    let names = |it: &StudyCell| [it.part.clone(), it.phase.clone(), it.arm.clone()];
    found.filter_map(|it| Some((names(it), it.value?.median))).collect()
}

/// Adds shares of the driver's whole table, as a stop-watch prints it.
fn push_shares(cells: &mut Cells) {
    let times = each(cells, "", "measured_ms");
    let mut whole: BTreeMap<[&str; 2], f64> = BTreeMap::new();
    for ([part, _, arm], took_ms) in &times {
        *whole.entry([part, arm]).or_default() += took_ms;
    }
    for ([part, phase, arm], took_ms) in &times {
        let share = 100.0 * took_ms / whole[&[&**part, &**arm]];
        cells.push_plain([part, phase, arm, "share_percent"], "percent", Some(share));
    }
}

/// Share of a document's bytes that are names.
fn push_names(cells: &mut Cells) {
    for ([part, phase, arm], bytes) in each(cells, BY_NAMES, "document_bytes") {
        let Some(Ok(length)) = phase.strip_prefix("names_").map(str::parse::<u32>) else {
            continue;
        };
        let share = 100.0 * f64::from(NAMED_FIELDS * length + ID_NAME) / bytes;
        cells.push_plain([&part, &phase, &arm, "names_percent"], "percent", Some(share));
    }
}

/// The largest load of a driver against its smallest, by round.
fn push_counts(cells: &mut Cells) {
    let sizes = each(cells, BY_COUNT, "documents");
    let size = |(_, documents): &&([String; 3], f64)| *documents as u64;
    let ends = sizes.iter().min_by_key(size).zip(sizes.iter().max_by_key(size));
    let Some((([_, small, _], few), ([_, large, _], many))) = ends else { return };
    for arm in cells.arms().into_iter().map(str::to_owned).collect::<Vec<_>>() {
        let rates = |phase| cells.at([BY_COUNT, phase, &arm, "documents_per_s"]);
        let Some((base, of)) = rates(small).zip(rates(large)).filter(|_| few < many) else {
            continue;
        };
        let pairs = of.by_round.iter().zip(&base.by_round);
        let change = pairs.map(|(of, base)| Some(100.0 * ((*of)? / (*base)? - 1.0))).collect();
        cells.push([BY_COUNT, large, &arm, "rate_change_percent"], "change_percent", change);
        let smallest = [BY_COUNT, large, &arm, "smallest_documents"];
        cells.push_plain(smallest, "count", Some(*few));
    }
}

/// Time of an even load through a mongos against that of the same driver and threads on hosts. The
/// parts share no rounds.
fn push_by_hand(cells: &mut Cells) {
    for ([part, phase, arm], _) in each(cells, BY_SHARDS, "documents_per_s") {
        let Some(("hashed" | "split", threads)) = phase.split_once('_') else { continue };
        let rate = |part: &str, phase: &str| {
            let rate = cells.at([part, phase, &arm, "documents_per_s"])?.value;
            rate.filter(|rate| rate.sure(SURE).is_some())
        };
        let by_hand = rate(BY_HOSTS, &format!("threads_{threads}"));
        let both = by_hand.zip(rate(&part, &phase));
        let Some(times) = both.and_then(|(by_hand, through)| by_hand.to(&through)) else {
            continue;
        };
        cells.push_spread([&part, &phase, &arm, "times_by_hand"], "times", Some(times));
    }
}

/// Steps to half the rate or less, and where the first one is.
fn push_cliffs(cells: &mut Cells, part: &str) {
    for ([_, phase, arm], room_bytes) in each(cells, part, "room_bytes") {
        let of = CellSelector::of([part, &format!("{phase}, *"), &arm, "course_per_s"]);
        let course = cells.select(&of);
        let rounds = course.iter().map(|it| it.by_round.len()).min().unwrap_or(0);
        let costs =
            |round: usize| course.iter().map(|it| Some(-it.by_round[round]?.ln())).collect();
        let costs: Vec<Vec<f64>> = (0..rounds).filter_map(costs).collect();
        let found = steps(&costs, &splits(&costs, CLIFF, SEED), CLIFF);
        let found: Vec<ChangePoint> =
            found.into_iter().filter(|it| it.change.estimate > 0.0).collect();
        let at = |metric| [part, &*phase, &*arm, metric];
        let bytes_name =
            if phase.starts_with("index") { "stored_index_bytes" } else { "document_bytes" };
        let (bytes, documents) = (cells.median(at(bytes_name)), cells.median(at("documents")));
        cells.push_plain(at("course_rounds"), "count", Some(costs.len() as f64));
        cells.push_plain(at("cliffs"), "count", Some(found.len() as f64));
        let Some((first, documents)) = found.first().zip(documents) else { continue };
        let before = documents * first.at as f64 / PARTS as f64;
        let bytes = bytes.map(|bytes| bytes * before);
        let slower = percent(-first.change.estimate);
        cells.push_plain(at("cliff_documents"), "count", Some(before));
        cells.push_plain(at("cliff_bytes"), "bytes", bytes);
        cells.push_plain(at("cliff_room"), "times", bytes.map(|bytes| bytes / room_bytes));
        cells.push_plain(at("cliff_change_percent"), "change_percent", Some(slower));
        cells.push_plain(at("cliff_p"), "", Some(first.p_value));
    }
}

/// Rows of a question whether rates fall: no as well where all change by less than anybody would
/// act on, which is the band of `no`.
pub fn falls(question: &QuestionSheet, cells: &Cells) -> Vec<EvidenceRow> {
    let found: Vec<(&StudyCell, (f64, f64))> = cells
        .select(&question.of)
        .into_iter()
        .filter_map(|it| it.value.map(|value| (it, value.sure(question.level))))
        .map(|(it, ends)| (it, ends.unwrap_or((f64::NEG_INFINITY, f64::INFINITY))))
        .collect();
    let answer = |(_, (low, high)): &(&StudyCell, (f64, f64))| match () {
        () if *high < 0.0 => StudyAnswer::Yes,
        () if *low > 0.0 => StudyAnswer::No,
        () => StudyAnswer::NotShown,
    };
    let holds =
        found.iter().all(|(_, (low, high))| question.no.is_some_and(|no| no.holds(*low, *high)));
    let open = StudyAnswer::agreed(found.iter().map(answer)) == StudyAnswer::NotShown;
    let row = |it: &(&StudyCell, (f64, f64))| {
        let answer = if open && holds { StudyAnswer::No } else { answer(it) };
        EvidenceRow::of(it.0, answer, question.words_beside(it.0, cells).join("; "))
    };
    found.iter().map(row).collect()
}
