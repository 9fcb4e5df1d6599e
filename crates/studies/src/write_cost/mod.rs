//! Small and large documents: what writing them costs, what it holds in memory, what is stored.

mod cost_lines;
mod memory_limits;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::definition::{Asked, Definition};
use crate::frame::Cells;
use crate::outcome::Outcome;
use crate::study::{self, Flag, Study};
use base::error::{Error, Result};
use base::units::parse_bytes;
use record::request::Request;
use record::study_folder::StudyPart;
use stats::threshold::Interleave;
use workload::builtin;

/// Small documents for each large one: 1,000,000 and 25,000.
const SMALL_PER_LARGE: u64 = 40;
/// Large documents of somewhat more than 256 MiB: with fewer, a heap that grows is not told from a
/// client that holds what it inserted.
const LARGE_MIN: u64 = 2_700;
/// Ways to write and read large documents that a question or a figure of the original is about.
/// Batches would take as long again and answer nothing that the small ones do not.
const LARGE_WAYS: [&str; 10] = [
    "one_by_one",
    "count_metadata",
    "count_scan",
    "read_by_id",
    "read_range",
    "full_scan",
    "drop",
    "all_at_once",
    "mapped_one_by_one",
    "one_by_one_tenth",
];
/// Sizes of write-sizes that are read as well: a line needs no more.
const READ_BYTES: [u32; 5] = [1_000, 10_000, 40_000, 100_000, 200_000];
const CLIENT_MEMORY: &str = "client-memory";
const CLIENT_MEMORY_USUAL: &str = "1GiB";
const CLIENT_MEMORY_QUICK: &str = "256MiB";
/// Bytes of a large document's BSON.
const LARGE_BYTES: f64 = 100_059.0;
/// Shares of the limited memory that one insertMany takes as BSON, by the parameters of the
/// workload. The whole of it is refused before it begins.
const STEPS: [(&str, f64); 5] = [
    ("step_1", 1.0 / 16.0),
    ("step_2", 1.0 / 8.0),
    ("step_3", 0.25),
    ("step_4", 0.5),
    ("step_5", 0.9),
];

/// More documents of one kind compress no better: 100 MB.
const STORED_LARGE_MAX: u64 = 1_000;

/// Why does writing cost what it costs?
#[derive(Debug)]
pub struct WriteCostStudy;

impl Study for WriteCostStudy {
    fn name(&self) -> &'static str {
        "write-cost"
    }

    fn definition(&self) -> Definition {
        Definition::read(include_str!("../../../../studies/write-cost/study.toml"))
    }

    fn flags(&self) -> &'static [Flag] {
        &[Flag {
            name: CLIENT_MEMORY,
            value: "SIZE",
            help: "Memory of a client whose insertMany grows until it dies [default: 1GiB, quick \
                   256MiB]",
        }]
    }

    fn plan(&self, asked: &Asked) -> Result<Vec<StudyPart>> {
        let definition = self.definition();
        let (_, small) = definition.scale(asked)?;
        parts(&definition, asked, small)
    }

    fn own_cells(&self, made: &Outcome<'_>, cells: &mut Cells) {
        cost_lines::push(cells);
        if let Some(stored) = made.part("stored") {
            memory_limits::push_deflate(stored, cells);
        }
        if let Some(memory) = made.part("memory") {
            memory_limits::push_memory(memory, cells);
        }
    }

    /// A death of memory is a result, and said as one.
    fn own_notes(&self, made: &Outcome<'_>, notes: &mut Vec<String>) {
        let runs = made.part("memory").into_iter().flat_map(|it| it.runs);
        let deaths: Vec<&str> =
            runs.filter(|it| it.death.is_some()).filter_map(|it| it.failed.as_deref()).collect();
        notes.retain(|note| !deaths.iter().any(|death| note.ends_with(*death)));
    }
}

/// A star: sizes, bytes and memory are swept each with the others at one value.
fn parts(definition: &Definition, asked: &Asked, small: u64) -> Result<Vec<StudyPart>> {
    let rounds = definition.rounds(asked, small);
    let least = if asked.request.quick { 0 } else { LARGE_MIN };
    let large = (small / SMALL_PER_LARGE).max(least);
    let drivers = definition.drivers(asked);
    let usual = if asked.request.quick { CLIENT_MEMORY_QUICK } else { CLIENT_MEMORY_USUAL };
    let memory = asked.flags.get(CLIENT_MEMORY).map_or(usual, String::as_str);
    let memory_bytes = parse_bytes(memory)
        .map_err(|it| Error::usage(format!("--{CLIENT_MEMORY} {memory}: {it}"), "such as 1GiB"))?;
    let set = |name: &'static str, value: u64| (name, value.to_string());
    let part = |name: &str, workload: &str, own: Vec<(&str, String)>, rounds: u32| {
        study::part(name, workload, own, &drivers, rounds, asked)
    };
    let documents = |name: &str, count: u64| {
        let own = vec![
            ("document", name.to_owned()),
            set("documents", count),
            set("tenth", (count / 10).max(1)),
            set("reads", count.min(1_000)),
            set("range", (count / 10).clamp(1, 100)),
        ];
        part(name, "write-cost", own, rounds)
    };
    let steps = STEPS.map(|(name, share)| {
        set(name, ((memory_bytes as f64 * share / LARGE_BYTES) as u64).max(1))
    });
    let by_size = set("documents", (large / 4).clamp(100, 1_000));
    let only = |phases: Vec<String>| move |request: &mut Request| request.phases = phases;
    let sizes = builtin::open("write-sizes", &BTreeMap::new(), 0)?.plan.phases.into_iter();
    let sizes = sizes.map(|phase| phase.name);
    let read = READ_BYTES.map(|bytes| format!("read_{bytes}"));
    let sizes = sizes.filter(|name| name.starts_with("write_") || read.contains(name));
    let stored = [set("small_documents", small), set("documents", large.min(STORED_LARGE_MAX))];
    // One client at a time: the memory of all of them may be more than the machine's.
    let alone = |request: &mut Request| {
        request.client_memory_bytes = Some(memory_bytes);
        request.interleave = Some(Interleave::Runs);
    };
    Ok(vec![
        documents("small", small),
        documents("large", large).with(only(LARGE_WAYS.map(str::to_owned).to_vec())),
        part("by-size", "write-sizes", vec![by_size], rounds).with(only(sizes.collect())),
        // What is stored follows from the documents, not from who sends them: one round is enough.
        part("stored", "write-stored", stored.into(), 1),
        // A client dies alike in every round.
        part("memory", "write-memory", steps.into(), rounds.min(2)).with(alone),
    ])
}
