//! Tables for people, and the same as CSV.

use std::io::Write;

use super::types::{BySize, Documents, Line, Memory, Stored, Value, Way, WriteCostAnalysis};
use crate::definition::Definition;
use crate::evidence::Evidence;
use crate::study::Outcome;
use crate::table;
use base::error::Result;
use format::{MISSING, bytes, count, figure, signed_figure};
use report::study::{Column, PhaseView, Table, TableRow, View};

/// Writing or reading.
type OfSize = fn(&BySize) -> &Line;

/// Ways of writing, and of reading, by the phases' names.
const WRITES: [(&str, &str); 8] = [
    ("one_by_one", "one by one"),
    ("batch_10", "by 10"),
    ("batch_100", "by 100"),
    ("batch_1000", "by 1,000"),
    ("all_at_once", "all at once"),
    ("lazy", "lazy"),
    ("mapped_one_by_one", "mapped, one by one"),
    ("mapped_all_at_once", "mapped, at once"),
];
const READS: [(&str, &str); 6] = [
    ("read_by_id", "by _id"),
    ("read_range", "a range"),
    ("full_scan", "full scan"),
    ("count_metadata", "count, metadata"),
    ("count_scan", "count, scan"),
    ("drop", "drop"),
];
/// Tables of lines: name, activity, which line.
const LINES: [(&str, &str, OfSize); 2] = [
    ("by size: writing", "writing", |it| &it.write),
    ("by size: reading", "reading", |it| &it.read),
];
/// The phases whose memory answers a question.
const MEMORY: [(&str, &str); 2] = [("one_by_one", "one by one"), ("all_at_once", "at once")];

pub fn view(made: &Outcome<'_>, definition: Definition, analysis: &WriteCostAnalysis) -> View {
    let each = analysis.documents.iter();
    let mut phases: Vec<PhaseView> =
        each.flat_map(|it| [ways(it, true), ways(it, false), memory(it)]).collect();
    if !analysis.by_size.is_empty() {
        phases.extend(LINES.map(|(name, _, of)| lines(name, &analysis.by_size, of)));
    }
    phases.extend((!analysis.stored.is_empty()).then(|| stored(&analysis.stored)));
    phases.extend((!analysis.memory.is_empty()).then(|| limited(&analysis.memory)));
    let view = made.view(definition);
    View {
        evidence: analysis.evidence.iter().map(Evidence::view).collect(),
        phases,
        warnings: [view.warnings.clone(), analysis.notes.clone()].concat(),
        ..view
    }
}

/// The activity and the line of a table.
pub fn line_of(name: &str) -> Option<(&'static str, OfSize)> {
    LINES.iter().find(|(known, ..)| *known == name).map(|(_, what, of)| (*what, *of))
}

fn ways(documents: &Documents, writes: bool) -> PhaseView {
    let shown = if writes { &WRITES[..] } else { &READS[..] };
    let (what, per) = if writes { ("writing", "document") } else { ("reading", "call") };
    let columns = shown.iter().map(|(_, name)| Column::figures(name, "µs")).collect();
    let rows = documents.rows.iter().map(|row| {
        let cell = |(phase, _): &(&str, &str)| cell(row.way(phase), |way| way.time_us);
        TableRow { arm: row.arm.clone(), cells: shown.iter().map(cell).collect() }
    });
    PhaseView {
        name: format!("{}: {what}", documents.name),
        about: format!(
            "{} documents of {} bytes.",
            count(documents.count),
            count(documents.bytes as u64)
        ),
        table: Table {
            caption: format!(
                "Time per {per}: the median over the rounds, and its interval where there is one."
            ),
            columns,
            rows: rows.collect(),
        },
        figures: Vec::new(),
    }
}

fn cell(way: Option<&Way>, of: impl Fn(&Way) -> Option<Value>) -> String {
    match way {
        Some(Way { not_measured: Some(_), .. }) => "not measured".to_owned(),
        way => way.and_then(of).map_or_else(|| MISSING.to_owned(), |it| interval(it, figure)),
    }
}

/// `151 (149 to 158)`; the level stands in the sentences.
fn interval(value: Value, text: impl Fn(f64) -> String) -> String {
    let median = text(value.median);
    value.over.map_or(median.clone(), |it| {
        format!("{median} ({} to {})", text(it.median.low), text(it.median.high))
    })
}

/// What all drivers share: the server's cache, and the phase in which its disk was the busiest.
fn around(documents: &Documents) -> String {
    let caches = documents.phases.iter().filter_map(|it| it.cache_bytes);
    let Some((least, most)) = caches.clone().min().zip(caches.max()) else {
        return "No phase was long enough for a reading of the server.".to_owned();
    };
    let busy = documents.phases.iter().filter_map(|it| Some((it.disk_busy_percent?, &it.phase)));
    let busiest = busy
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map_or_else(String::new, |(percent, phase)| {
            format!("; its disk was busy {} % at most, in {phase}", figure(percent))
        });
    format!("The server's cache held {} to {}{busiest}.", bytes(least), bytes(most))
}

fn memory(documents: &Documents) -> PhaseView {
    let mut columns = Vec::new();
    for (_, name) in MEMORY {
        let of = |what: &str| Column::figures(&format!("{name}: {what}"), "");
        columns.extend(["before", "peak", "held", "collections"].map(of));
    }
    let optional = |it: Option<u64>| it.map_or_else(|| MISSING.to_owned(), bytes);
    let rows = documents.rows.iter().map(|row| TableRow {
        arm: row.arm.clone(),
        cells: MEMORY
            .iter()
            .flat_map(|(phase, _)| {
                let way = row.way(phase).cloned().unwrap_or_default();
                let collections = format::optional(way.collections);
                let sizes = [way.armed_bytes, way.peak_bytes, way.held_bytes].map(optional);
                sizes.into_iter().chain([collections])
            })
            .collect(),
    });
    PhaseView {
        name: format!("{}: memory", documents.name),
        about: around(documents),
        table: Table {
            caption: "Resident memory of the client's processes, and collections of garbage in a \
                      round where the runtime tells: medians."
                .to_owned(),
            columns,
            rows: rows.collect(),
        },
        figures: Vec::new(),
    }
}

fn lines(name: &str, by_size: &[BySize], of: OfSize) -> PhaseView {
    let columns = vec![
        Column::figures("fixed", "µs"),
        Column::figures("each 1,000 bytes", "µs"),
        Column::figures("farthest size", "bytes"),
        Column::figures("off the line", "%"),
        Column::figures("step at 85,000 bytes", "%"),
    ];
    let optional = |value: Option<Value>, text: fn(f64) -> String| {
        value.map_or_else(|| MISSING.to_owned(), |it| interval(it, text))
    };
    let row = |it: &BySize| {
        let line = of(it);
        let cells = vec![
            optional(line.fixed_us, figure),
            optional(line.kilobyte_us, figure),
            line.misfit_bytes.map_or_else(|| MISSING.to_owned(), count),
            line.misfit_percent.map_or_else(|| MISSING.to_owned(), signed_figure),
            optional(line.step_percent, signed_figure),
        ];
        TableRow { arm: it.arm.clone(), cells }
    };
    PhaseView {
        name: name.to_owned(),
        about: "Documents from 1,000 to 200,000 bytes, one by one.".to_owned(),
        table: Table {
            caption: "The line through time against size; the size that lies farthest from it; \
                      extra time from 85,000 bytes on, against the sizes just below."
                .to_owned(),
            columns,
            rows: by_size.iter().map(row).collect(),
        },
        figures: Vec::new(),
    }
}

fn stored(stored: &[Stored]) -> PhaseView {
    let names = ["objects", "data", "average", "storage", "index", "compression", "DEFLATE alone"];
    let ratio = |it: Option<f64>| {
        it.map_or_else(|| MISSING.to_owned(), |ratio| format!("{} to 1", figure(ratio)))
    };
    let row = |it: &Stored| TableRow {
        arm: it.name.clone(),
        cells: vec![
            count(it.documents),
            bytes(it.data_bytes),
            bytes(it.average_bytes),
            bytes(it.storage_bytes),
            bytes(it.index_bytes),
            ratio(it.ratio),
            ratio(it.compressible),
        ],
    };
    // One machine's report, whose year and machine its text does not tell.
    let original = TableRow {
        arm: "the original, large".to_owned(),
        cells: ["1,000,000", "100 GB", "100,000 B", "8.22 GB", "n/a", "12.2 to 1", "n/a"]
            .map(str::to_owned)
            .to_vec(),
    };
    PhaseView {
        name: "stored".to_owned(),
        about: "Documents on the server after a checkpoint, by the compressibility of their bytes."
            .to_owned(),
        table: Table {
            caption:
                "By collStats. DEFLATE is applied to the documents alone, in pieces of 32 KiB. \
                      The original's machine and year are not known here."
                    .to_owned(),
            columns: names.map(|name| Column::figures(name, "")).to_vec(),
            rows: stored.iter().map(row).chain([original]).collect(),
        },
        figures: Vec::new(),
    }
}

fn limited(memory: &[Memory]) -> PhaseView {
    let optional =
        |it: Option<u64>, text: fn(u64) -> String| it.map_or_else(|| MISSING.to_owned(), text);
    let row = |it: &Memory| TableRow {
        arm: it.arm.clone(),
        cells: vec![
            bytes(it.limit_bytes),
            optional(it.fits_documents, count),
            optional(it.fits_bytes, bytes),
            optional(it.peak_bytes, bytes),
            optional(it.fails_documents, count),
        ],
    };
    let names = ["limit", "fits", "its BSON", "peak", "does not fit"];
    PhaseView {
        name: "memory of the client".to_owned(),
        about: "One insertMany of ever more large documents.".to_owned(),
        table: Table {
            caption:
                "Documents of one call that fitted in every round, and of the next larger one."
                    .to_owned(),
            columns: names.map(|name| Column::figures(name, "")).to_vec(),
            rows: memory.iter().map(row).collect(),
        },
        figures: Vec::new(),
    }
}

/// A row a driver and figure.
pub fn csv(analysis: &WriteCostAnalysis, out: &mut dyn Write) -> Result<Vec<String>> {
    let head = ["driver", "part", "figure", "unit", "median", "low", "high", "level"];
    let mut lines = Vec::new();
    let mut write = |arm: &str, part: &str, name: &str, unit: &str, value: Option<Value>| {
        let Some(value) = value else { return };
        let ends = value.over.map(|it| [it.median.low, it.median.high, it.level]);
        let ends = ends.map_or([const { String::new() }; 3], |it| it.map(|it| it.to_string()));
        let mut line = vec![arm.to_owned(), part.to_owned(), name.to_owned(), unit.to_owned()];
        line.push(value.median.to_string());
        line.extend(ends);
        lines.push(line);
    };
    let plain = |median: f64| Some(Value { median, over: None });
    let whole = |it: Option<u64>| plain(it? as f64);
    for documents in &analysis.documents {
        for row in &documents.rows {
            for way in &row.ways {
                let mut of = |unit: &str, value: Option<Value>| {
                    write(&row.arm, &documents.name, &way.phase, unit, value);
                };
                of("us", way.time_us);
                of("total_ms", way.total_ms);
                of("armed_bytes", whole(way.armed_bytes));
                of("peak_bytes", whole(way.peak_bytes));
                of("held_bytes", whole(way.held_bytes));
                of("held_share", way.held_share);
                of("collections", way.collections.and_then(plain));
            }
        }
    }
    for it in &analysis.by_size {
        for (name, line) in [("write", &it.write), ("read", &it.read)] {
            write(&it.arm, "by-size", name, "fixed_us", line.fixed_us);
            write(&it.arm, "by-size", name, "kilobyte_us", line.kilobyte_us);
            write(&it.arm, "by-size", name, "misfit_bytes", whole(line.misfit_bytes));
            write(&it.arm, "by-size", name, "misfit_percent", line.misfit_percent.and_then(plain));
            write(&it.arm, "by-size", name, "step_percent", line.step_percent);
            for point in &line.points {
                let name = format!("{name}_{}", point.data_bytes);
                write(&it.arm, "by-size", &name, "us", point.time_us);
                let collections = point.collections.and_then(plain);
                write(&it.arm, "by-size", &name, "collections_per_1000", collections);
            }
        }
    }
    for it in &analysis.stored {
        let mut of = |unit: &str, value: Option<Value>| {
            write("server", "stored", &it.name, unit, value);
        };
        of("documents", whole(Some(it.documents)));
        of("data_bytes", whole(Some(it.data_bytes)));
        of("average_bytes", whole(Some(it.average_bytes)));
        of("storage_bytes", whole(Some(it.storage_bytes)));
        of("index_bytes", whole(Some(it.index_bytes)));
        of("data_by_storage", it.ratio.and_then(plain));
        of("data_by_deflate", it.compressible.and_then(plain));
    }
    for it in &analysis.memory {
        let mut of = |unit: &str, value: Option<u64>| {
            write(&it.arm, "memory", "insert_many", unit, whole(value));
        };
        of("limit_bytes", Some(it.limit_bytes));
        of("fits_documents", it.fits_documents);
        of("fits_bytes", it.fits_bytes);
        of("peak_bytes", it.peak_bytes);
        of("fails_documents", it.fails_documents);
    }
    table::csv(out, &head, lines)
}
