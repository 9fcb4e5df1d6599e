//! The two files that the original's program left: `times` has the total of each version, `details`
//! the rates at which its threads and connections came and went, and the columns of mongostat.

use super::{BOTH, VERSIONS};
use crate::frame::{Cells, StudyCell};

/// Headings and metrics. Those of mongostat have its names; all rates are means over both phases.
const DETAILS: [(&str, &str); 14] = [
    ("threads_begun/s", "threads_begun_per_s"),
    ("threads_ended/s", "threads_ended_per_s"),
    ("connections_opened/s", "connections_per_s"),
    ("connections_ended/s", "connections_ended_per_s"),
    ("threads_peak", "threads_peak"),
    ("conn", "connections_peak"),
    ("insert", "insert_per_s"),
    ("query", "query_per_s"),
    ("update", "update_per_s"),
    ("delete", "delete_per_s"),
    ("getmore", "getmore_per_s"),
    ("command", "command_per_s"),
    ("netIn", "in_bytes_per_s"),
    ("netOut", "out_bytes_per_s"),
];
/// What the driver of a version takes in all, and what it took in 2014.
const TOTAL: &str = "arrived_ms";

/// Names and contents; none where no version was measured.
pub fn all(cells: &Cells) -> Vec<(&'static str, String)> {
    let is_total = |it: &&StudyCell| it.part == VERSIONS && it.phase == BOTH && it.metric == TOTAL;
    let totals = || cells.all.iter().filter(is_total);
    let versions: Vec<&StudyCell> = totals().filter(|it| !it.original).collect();
    if versions.is_empty() {
        return Vec::new();
    }
    let figure = |cell: Option<&StudyCell>| {
        let value = cell.and_then(|it| it.value).map(|it| it.median);
        value.map_or_else(|| format::MISSING.to_owned(), format::figure)
    };
    let times = versions.iter().map(|it| {
        let original = totals().find(|known| known.original && known.arm == it.arm);
        [it.arm.clone(), figure(Some(it)), figure(original)].join("\t")
    });
    let details = versions.iter().map(|it| {
        let own = DETAILS.map(|(_, metric)| figure(cells.at([VERSIONS, BOTH, &it.arm, metric])));
        [&[it.arm.clone()][..], &own].concat().join("\t")
    });
    let file = |headings: &[&str], rows: Vec<String>| {
        [vec![headings.join("\t")], rows].concat().join("\n") + "\n"
    };
    let headings = DETAILS.map(|(heading, _)| heading);
    vec![
        ("times", file(&["version", "total_ms", "total_ms_2014"], times.collect())),
        ("details", file(&[&["version"][..], &headings].concat(), details.collect())),
    ]
}
