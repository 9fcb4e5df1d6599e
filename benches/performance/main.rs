//! The figures mongodyno promises of itself, measured on this machine: `docs/performance.md`.
//!
//! `cargo bench --bench performance -- [FIGURE…] [--long] [--adapter NAME]… [--keep]`
#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

#[path = "../../tests/support/browser.rs"]
mod browser;
#[path = "../../tests/support/npm.rs"]
mod npm;

mod adapter_memory;
mod answers;
mod broker_memory;
mod build;
mod canned;
mod core_memory;
mod disturb;
mod drain;
mod holds;
mod injection;
mod live;
mod loads;
mod loops;
mod operating;
mod page;
mod raw;
mod recording;
mod servers;
mod stand;
mod support;
mod tap;
mod turns;
mod turns_and_runs;

use std::process::ExitCode;

use support::{Bench, Outcome};

/// A figure: its name on the command line, and its measurement.
type Figure = (&'static str, fn(&Bench) -> Outcome);

/// In the order of `docs/performance.md`.
const FIGURES: [Figure; 17] = [
    ("build", build::run),
    ("drain", drain::run),
    ("core-memory", core_memory::run),
    ("broker-memory", broker_memory::run),
    ("turns", turns::run),
    ("injection", injection::run),
    ("recording", recording::run),
    ("adapter-memory", adapter_memory::run),
    ("canned", canned::run),
    ("holds", holds::run),
    ("loops", loops::run),
    ("loads", loads::run),
    ("tap", tap::run),
    ("operating", operating::run),
    ("answers", answers::run),
    ("live", live::run),
    ("page", page::run),
];

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    words.retain(|word| word != "--bench"); // cargo's own
    if words.first().is_some_and(|word| word == drain::CHILD) {
        return drain::child(&words[1..]);
    }
    if words.first().is_some_and(|word| word == canned::CHILD) {
        return canned::child(&words[1..]);
    }
    if words.first().is_some_and(|word| word == core_memory::CHILD) {
        return core_memory::child();
    }
    if words.first().is_some_and(|word| word == disturb::CHILD) {
        return disturb::child();
    }
    let names = FIGURES.map(|(name, _)| name);
    let (bench, chosen) = match Bench::parse(&words, &names) {
        Ok(parsed) => parsed,
        Err(problem) => {
            eprintln!("error: {problem}\nfigures: {}", names.join(", "));
            return ExitCode::from(2);
        }
    };
    println!("{}", bench.heading());
    let mut summary = Vec::new();
    for (name, figure) in FIGURES {
        if chosen.is_empty() || chosen.contains(&name.to_owned()) {
            println!("\n## {name}\n");
            summary.push((name, figure(&bench)));
        }
    }
    println!("\n## summary\n");
    let mut failed = false;
    for (name, outcome) in &summary {
        match outcome {
            Ok(reached) => println!("{name}: {}", if *reached { "reached" } else { "NOT reached" }),
            Err(problem) => println!("{name}: failed: {problem}"),
        }
        failed |= outcome.is_err();
    }
    bench.clear();
    // A figure that is missed is printed, not failed: times depend on the machine and its load.
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
