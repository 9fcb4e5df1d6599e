//! Small and large documents: what writing them costs, what it holds in memory, what is stored.

mod analysis;
mod answers;
mod by_size;
mod memory;
mod picture;
mod runs;
mod stored;
#[cfg(test)]
mod tests;
pub mod types;
mod view;

pub use analysis::analyse;

use std::collections::BTreeMap;
use std::io::Write;

use crate::definition::{Asked, Definition};
use crate::study::{Flag, Outcome, Part, Plan, Study};
use base::error::{Error, Result};
use base::units::parse_bytes;
use report::drawing::Drawing;
use report::study::View;
use schemars::{Schema, schema_for};
use serde_json::{Value, to_value};
use workload::builtin;

/// Small documents for each large one: 1,000,000 and 25,000.
const SMALL_PER_LARGE: u64 = 40;
const CLIENT_MEMORY: &str = "client-memory";
const CLIENT_MEMORY_USUAL: &str = "1GiB";
const CLIENT_MEMORY_QUICK: &str = "256MiB";
/// Bytes of a large document's BSON.
const LARGE_BYTES: f64 = 100_059.0;
/// Shares of the limited memory that one insertMany takes as BSON. The whole of it is refused
/// before it begins.
const STEPS: [f64; 5] = [1.0 / 16.0, 1.0 / 8.0, 0.25, 0.5, 0.9];

/// More documents of one kind compress no better: 100 MB.
const STORED_LARGE_MAX: u64 = 1_000;

/// Why does writing cost what it costs?
#[derive(Debug)]
pub struct WriteCostStudy;

/// One experiment: its name, its workload, the parameters that the scale sets, further words.
struct Experiment {
    name: &'static str,
    workload: &'static str,
    sets: Vec<(String, u64)>,
    words: Vec<String>,
    rounds: u32,
    drivers: Vec<String>,
}

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

    fn plan(&self, asked: &Asked) -> Result<Plan> {
        let definition = self.definition();
        let (_, small) = definition.scale(asked)?;
        let experiments = experiments(&definition, asked, small)?;
        Ok(Plan::Parts(experiments.into_iter().map(|it| it.part(asked)).collect()))
    }

    fn schema(&self) -> Schema {
        schema_for!(types::WriteCostAnalysis)
    }

    fn analysis(&self, made: &Outcome<'_>) -> Value {
        to_value(analyse(made)).expect("analyses serialise")
    }

    fn view(&self, made: &Outcome<'_>) -> View {
        view::view(made, self.definition(), &analyse(made))
    }

    fn drawings(&self, made: &Outcome<'_>, phase: &str) -> Result<Vec<Drawing>> {
        let Some((what, of)) = view::line_of(phase) else { return Ok(Vec::new()) };
        let by_size = made.part("by-size").map(by_size::lines).unwrap_or_default();
        let lines: Vec<(&str, &types::Line)> =
            by_size.iter().map(|it| (it.arm.as_str(), of(it))).collect();
        Ok(picture::by_size(what, &lines).into_iter().collect())
    }

    /// A row a driver and figure.
    fn csv(&self, made: &Outcome<'_>, out: &mut dyn Write) -> Result<Vec<String>> {
        view::csv(&analyse(made), out)
    }
}

/// A star: sizes, bytes and memory are swept each with the others at one value.
fn experiments(definition: &Definition, asked: &Asked, small: u64) -> Result<Vec<Experiment>> {
    let rounds = definition.rounds(asked, small);
    let large = small / SMALL_PER_LARGE;
    let arms = definition.arms(&asked.drivers);
    let drivers: Vec<String> = arms.into_iter().map(|arm| arm.driver).collect();
    let usual = if asked.quick { CLIENT_MEMORY_QUICK } else { CLIENT_MEMORY_USUAL };
    let memory = asked.flags.get(CLIENT_MEMORY).map_or(usual, String::as_str);
    let memory_bytes = parse_bytes(memory)
        .map_err(|it| Error::usage(format!("--{CLIENT_MEMORY} {memory}: {it}"), "such as 1GiB"))?;
    let set = |name: &str, value: u64| (name.to_owned(), value);
    let documents = |name: &'static str, count: u64| Experiment {
        name,
        workload: "write-cost",
        sets: vec![
            set("documents", count),
            set("reads", count.min(1_000)),
            set("range", (count / 10).clamp(1, 100)),
        ],
        words: vec!["--set".to_owned(), format!("document={name}")],
        rounds,
        drivers: drivers.clone(),
    };
    let steps = STEPS.iter().enumerate().map(|(at, share)| {
        let count = memory_bytes as f64 * share / LARGE_BYTES;
        set(&format!("step_{}", at + 1), (count as u64).max(1))
    });
    Ok(vec![
        documents("small", small),
        documents("large", large),
        Experiment {
            name: "by-size",
            workload: "write-sizes",
            sets: vec![set("documents", (large / 2).clamp(100, 1_000))],
            words: Vec::new(),
            rounds,
            drivers: drivers.clone(),
        },
        // What is stored follows from the documents, not from who sends them: one round is enough.
        Experiment {
            name: "stored",
            workload: "write-stored",
            sets: vec![
                set("small_documents", small),
                set("documents", large.min(STORED_LARGE_MAX)),
            ],
            words: Vec::new(),
            rounds: 1,
            drivers: drivers.clone(),
        },
        // One client at a time: the memory of all of them may be more than the machine's. A client
        // dies alike in every round.
        Experiment {
            name: "memory",
            workload: "write-memory",
            sets: steps.collect(),
            words: ["--client-memory", memory, "--interleave", "runs"].map(str::to_owned).to_vec(),
            rounds: rounds.min(2),
            drivers,
        },
    ])
}

impl Experiment {
    /// `--set` of the user wins over the scale's.
    fn part(self, asked: &Asked) -> Part {
        let parameters = builtin::parameters(self.workload);
        let own = self.sets.iter().map(|(name, value)| (name.clone(), value.to_string()));
        let mut sets: BTreeMap<String, String> = own.collect();
        let theirs = asked.sets.iter().filter(|(name, _)| parameters.contains(name));
        sets.extend(theirs.map(|(name, value)| (name.clone(), value.clone())));
        let sets = sets.iter().flat_map(|(name, it)| ["--set".to_owned(), format!("{name}={it}")]);
        let drivers = self.drivers.iter().flat_map(|it| ["-d".to_owned(), it.clone()]);
        let rounds = ["--rounds".to_owned(), self.rounds.to_string()];
        let words = std::iter::once(self.workload.to_owned()).chain(self.words);
        Part {
            name: self.name.to_owned(),
            words: words.chain(sets).chain(drivers).chain(rounds).collect(),
            compares: false,
            needs: None,
        }
    }
}
