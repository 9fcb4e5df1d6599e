//! Searches right behind one-way inserts, and the same once the server has worked them off.

use super::{SAME, SURE};
use crate::frame::{CellSelector, Cells, EvidenceRow, Spread, StudyAnswer, StudyCell};
use crate::outcome::{Made, Outcome};
use record::records::PhaseRun;

pub const PART: &str = "unwaited-1m";
const PHASE: &str = "unwaited";

pub fn push(outcome: &Outcome<'_>, cells: &mut Cells) {
    let Some(made) = outcome.part(PART) else { return };
    for arm in &made.experiment.arms {
        let runs = phase_runs(made, &arm.id, PHASE);
        if runs.is_empty() {
            continue;
        }
        let searches: u64 = runs.iter().filter_map(|run| run.answers.documents_expected).sum();
        let found: u64 = runs.iter().map(|run| run.answers.documents).sum();
        let waited = outcome.part("one-way-1m");
        let waited = waited.map_or(Vec::new(), |made| phase_runs(made, &arm.id, "search_id"));
        let at = |metric| [PART, PHASE, &arm.id, metric];
        cells.push_plain(at("searches"), "count", Some(searches as f64));
        let missed = searches.saturating_sub(found);
        cells.push_plain(at("missed"), "count", Some(missed as f64));
        let search = Spread::over(&means_us(&runs, "search_id"));
        cells.push_spread(at("search_us"), "us", search);
        let waited = Spread::over(&means_us(&waited, "find_one"));
        cells.push_spread(at("waited_search_us"), "us", waited);
        let times = search.zip(waited).and_then(|(search, waited)| search.to(&waited));
        cells.push_spread(at("wait_times"), "times", times);
    }
}

/// Runs, those of wrong answers included: a search that misses is the question here.
fn phase_runs<'a>(made: &Made<'a>, arm: &str, phase: &str) -> Vec<&'a PhaseRun> {
    let runs = made.runs.iter().filter(|run| run.arm == arm && run.failed.is_none());
    runs.flat_map(|run| &run.phases).filter(|run| run.phase == phase).collect()
}

fn means_us(runs: &[&PhaseRun], operation: &str) -> Vec<f64> {
    let of = |run: &&PhaseRun| {
        Some(run.by_operation.iter().find(|it| it.operation == operation)?.service.mean_us)
    };
    runs.iter().filter_map(of).collect()
}

/// One document that is missed, or searches that take longer.
pub fn rows(cells: &Cells) -> Vec<EvidenceRow> {
    let of = CellSelector::of([PART, PHASE, "", "wait_times"]);
    let row = |cell: &StudyCell| {
        let count = |metric| cells.median([PART, PHASE, &cell.arm, metric]).unwrap_or(0.0);
        let (missed, searches) = (count("missed"), count("searches"));
        let answer = match cell.value?.sure(SURE) {
            _ if missed > 0.0 => StudyAnswer::Yes,
            Some((low, _)) if low > SAME => StudyAnswer::Yes,
            Some((_, high)) if high <= SAME => StudyAnswer::No,
            _ => StudyAnswer::NotShown,
        };
        let [missed, searches] = [missed, searches].map(|it| format::count(it as u64));
        let words = format!("{missed} of {searches} searches missed their document");
        Some(EvidenceRow::of(cell, answer, words))
    };
    cells.select(&of).into_iter().filter_map(row).collect()
}
