//! What a scan leaves to be confirmed.

use super::search_experiment::Entry;
use judge::analysis::types::SinceRow;

/// Versions on both sides of a step, and the one that took it back.
pub struct Pair {
    pub before: usize,
    pub after: usize,
    pub mended: Option<usize>,
    /// False: neighbours that are compared because no search could.
    pub is_found: bool,
}

/// The steps of the series, and neighbours that no series holds, in the order of the versions.
pub fn pairs(rows: &[&SinceRow], entries: &[Entry]) -> Vec<Pair> {
    // A series names its versions as drivers do.
    let place = |row: &SinceRow, version: &String| {
        let mut own = entries.iter().filter(|it| it.label() == row.adapter);
        own.find(|it| it.arm.version == *version).map(|it| it.at)
    };
    let mut pairs = Vec::new();
    let mut series: Vec<Vec<Option<usize>>> = Vec::new();
    for row in rows {
        series.push(row.versions.iter().map(|version| place(row, version)).collect());
        pairs.extend(row.changes.iter().filter_map(|it| {
            let mended = it.mended_at.as_ref().and_then(|version| place(row, version));
            let (before, after) = (place(row, &it.before)?, place(row, &it.after)?);
            Some(Pair { before, after, mended, is_found: true })
        }));
    }
    for near in entries.windows(2) {
        let (before, after) = (near[0].at, near[1].at);
        let is_of = |at: usize| series.iter().position(|row| row.contains(&Some(at)));
        if is_of(before).is_none() || is_of(before) != is_of(after) {
            pairs.push(Pair { before, after, mended: None, is_found: false });
        }
    }
    pairs.sort_by_key(|it| it.after);
    pairs
}
