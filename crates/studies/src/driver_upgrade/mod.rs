//! One program through a line of versions of a driver.

mod analysis;
mod answer;
#[cfg(test)]
mod tests;
mod types;

use std::io::Write;

pub use analysis::analyse;
pub use types::{PartRows, Ratio, Row, UpgradeAnalysis};

use crate::definition::{Asked, Definition};
use crate::evidence::Evidence;
use crate::study::{Flag, Outcome, Part, Plan, Study};
use crate::table::{cell, csv};
use base::error::{Error, Result};
use figures::{MISSING, TimeUnit, count, optional};
use report::drawing::Drawing;
use report::history;
use report::study::{Column, PhaseView, Table, TableRow, View};
use schemars::{Schema, schema_for};
use serde_json::{Value, to_value};
use stats::descriptive::OverRounds;

/// Phases.
const CREATE: &str = "create";
const READ: &str = "read";
/// A phase, and the experiment that it is in alone.
const UNWAITED: &str = "unwaited";
/// Experiments.
const VERSIONS: &str = "versions";
const ACKNOWLEDGED: &str = "acknowledged";
const REVERSE: &str = "reverse";
const GROWING: &str = "growing";
const CONNECTIONS: &str = "connections";
const WIRE: &str = "wire";
const API: &str = "api";

const TOTAL: &str = "total";
const THREADS: u64 = 100;
const QUICK_WARMUP_S: &str = "0.3";
/// mongodyno itself and the drivers' monitors take some connections.
const CONNECTIONS_MIN: u64 = 30;

/// Since which version is a driver slow, and why?
#[derive(Debug)]
pub struct DriverUpgradeStudy;

impl Study for DriverUpgradeStudy {
    fn name(&self) -> &'static str {
        "driver-upgrade"
    }

    fn definition(&self) -> Definition {
        Definition::read(include_str!("../../../../studies/driver-upgrade/study.toml"))
    }

    fn flags(&self) -> &'static [Flag] {
        &[Flag {
            name: TOTAL,
            value: "N",
            help: "N creations and N reads by all threads together, instead of each by each",
        }]
    }

    fn plan(&self, asked: &Asked) -> Result<Plan> {
        let definition = self.definition();
        let (_, each) = definition.scale(asked)?;
        let threads = asked.sets.get("threads").and_then(|it| it.parse().ok()).unwrap_or(THREADS);
        let operations = match asked.flags.get(TOTAL) {
            None => each * threads,
            Some(total) => total.parse().ok().filter(|it| *it > 0).ok_or_else(|| {
                Error::usage(format!("--total {total} is no count"), "write --total 10000")
            })?,
        };
        let rounds = asked.rounds.or(definition.rounds).expect("its definition has them");
        let arms = definition.drivers(asked);
        let warmup = asked.quick.then(|| ("warmup", QUICK_WARMUP_S.to_owned()));
        let part = |name: &str, workload: &str, arms: &[String], more: &[&str], compares: bool| {
            let own = [("operations", operations.to_string())].into_iter().chain(warmup.clone());
            let part = Part::new(name, workload, own, arms, rounds, asked).with(more.to_vec());
            Part { compares, ..part }
        };
        let ends = ends(&arms);
        let usual = |name: &str, arms: &[String], more: &[&str], compares: bool| {
            let words = [&["--phase", CREATE, "--phase", READ], more].concat();
            part(name, "driver-upgrade", arms, &words, compares)
        };
        let answered = ["--option", "w=1"];
        // Fewer than the threads: some have to wait.
        let connections = (threads * 6 / 10).max(CONNECTIONS_MIN).to_string();
        let mut parts = vec![
            usual(VERSIONS, &arms, &[], true),
            usual(ACKNOWLEDGED, &arms, &answered, true),
            usual(REVERSE, &ends, &["--order", "reverse"], false),
            part(GROWING, "growing", &arms, &["--order", "given"], false),
            usual(CONNECTIONS, &ends, &["--server-connections", &connections], false),
            usual(WIRE, &ends, &["--tap"], true),
            part(UNWAITED, "driver-upgrade", &ends, &["--phase", UNWAITED], false),
        ];
        // Only a mongod that we start is told to accept few.
        let absorber = asked.server.as_deref().is_some_and(|it| it.starts_with("absorber"));
        if asked.by_uri || absorber {
            parts.retain(|it| it.name != CONNECTIONS);
        }
        // The last of the ten builds has both.
        if let Some(newest) = arms.last().filter(|_| asked.drivers.is_empty()) {
            let both = ["server", "client"].map(|api| format!("{newest}/api={api}"));
            parts.push(usual(API, &both, &answered, false));
        }
        Ok(Plan::Parts(parts))
    }

    fn schema(&self) -> Schema {
        schema_for!(UpgradeAnalysis)
    }

    fn analysis(&self, made: &Outcome<'_>) -> Value {
        to_value(analyse(made)).expect("analyses serialise")
    }

    fn view(&self, made: &Outcome<'_>) -> View {
        let analysis = analyse(made);
        let view = made.view(self.definition());
        View {
            evidence: analysis.evidence.iter().map(Evidence::view).collect(),
            phases: analysis.parts.iter().map(part_view).collect(),
            warnings: view.warnings.iter().chain(&analysis.notes).cloned().collect(),
            ..view
        }
    }

    /// The line of each driver with four versions or more.
    fn drawings(&self, made: &Outcome<'_>, phase: &str) -> Result<Vec<Drawing>> {
        let Some(made) = made.part(VERSIONS).filter(|_| phase == VERSIONS) else {
            return Ok(Vec::new());
        };
        Ok(history::charts(&judge::analyse(made.folder, made.experiment)?.analysis))
    }

    /// The original's file `times`: a row a version and experiment.
    fn csv(&self, made: &Outcome<'_>, out: &mut dyn Write) -> Result<Vec<String>> {
        times(&analyse(made).parts, out)
    }
}

fn times(parts: &[PartRows], out: &mut dyn Write) -> Result<Vec<String>> {
    let head = [
        "experiment",
        "driver",
        "total_ms",
        "create_ms",
        "read_ms",
        "create_p50_us",
        "create_p99_us",
        "read_p50_us",
        "read_p99_us",
        "reads",
        "reads_missed",
        "failed",
        "connections_peak",
        "threads_peak",
        "connections_per_s",
        "in_bytes_per_s",
        "out_bytes_per_s",
        "in_bytes_per_op",
        "out_bytes_per_op",
        "cpu_us_per_op",
        "original_ms",
    ];
    let over = |it: &Option<OverRounds>| cell(it.as_ref().map(|it| it.median.estimate));
    let mut lines = Vec::new();
    for part in parts {
        for row in &part.rows {
            lines.push(vec![
                part.part.clone(),
                row.arm.clone(),
                over(&row.total_ms),
                over(&row.create_ms),
                over(&row.read_ms),
                cell(row.create_p50_us),
                cell(row.create_p99_us),
                cell(row.read_p50_us),
                cell(row.read_p99_us),
                row.reads.to_string(),
                row.reads_missed.to_string(),
                row.failed.to_string(),
                cell(row.connections_peak),
                cell(row.threads_peak),
                cell(row.connections_per_s),
                cell(row.in_per_s),
                cell(row.out_per_s),
                cell(row.in_per_op),
                cell(row.out_per_op),
                cell(row.cpu_us_per_op),
                cell(row.original_ms),
            ]);
        }
    }
    csv(out, &head, lines)
}

/// The first and the last version of each driver.
fn ends(arms: &[String]) -> Vec<String> {
    let name = |arm: &str| arm.split(['@', ':', '/']).next().unwrap_or_default().to_owned();
    let mut ends: Vec<String> = Vec::new();
    for of_driver in arms.chunk_by(|a, b| name(a) == name(b)) {
        ends.extend(of_driver.first().cloned());
        ends.extend(of_driver.last().filter(|_| of_driver.len() > 1).cloned());
    }
    ends
}

fn about(part: &str) -> &'static str {
    match part {
        VERSIONS => "Every version at its defaults.",
        ACKNOWLEDGED => "Every version with w:1: is it the default?",
        API => "The newest version by its old API and by its new one, both with w:1.",
        REVERSE => "The first and the last version, the last one first.",
        GROWING => "Creations alone, in a collection that keeps what the arms before wrote.",
        UNWAITED => "Unanswered creations; each thread reads at once what it has created.",
        WIRE => "The first and the last version through the tap: where does the time go?",
        _ => "More threads than the server accepts connections.",
    }
}

fn part_view(part: &PartRows) -> PhaseView {
    let page = |name, unit| Column::figures(name, unit).page_only();
    let columns = vec![
        Column::figures("total", "ms"),
        Column::words("interval").page_only(),
        Column::figures("create", "ms"),
        Column::figures("read", "ms"),
        Column::figures("2014", "ms"),
        page("create p50", "ms"),
        page("create p99", "ms"),
        page("read p50", "ms"),
        page("read p99", "ms"),
        page("reads", "all rounds"),
        Column::figures("missed", "reads"),
        Column::figures("failed", ""),
        page("connections", "peak"),
        page("threads", "peak"),
        page("opened", "connections a second"),
        Column::figures("net in", "MB/s"),
        Column::figures("net out", "MB/s"),
        page("in", "bytes an operation"),
        page("out", "bytes an operation"),
        page("CPU", "µs an operation"),
    ];
    let over = |it: &Option<OverRounds>| optional(it.as_ref().map(|it| it.median.estimate));
    let row = |row: &Row| {
        let interval = row.total_ms.as_ref().map_or(MISSING.to_owned(), |it| {
            format!("{} to {}", figures::figure(it.median.low), figures::figure(it.median.high))
        });
        let mega = |it: Option<f64>| optional(it.map(|it| it / 1e6));
        let ms = |it: Option<f64>| TimeUnit::Milliseconds.figure(it);
        let whole = |it: Option<u64>| it.map_or(MISSING.to_owned(), count);
        let cells = vec![
            over(&row.total_ms),
            interval,
            over(&row.create_ms),
            over(&row.read_ms),
            row.original_ms.map_or(String::new(), |it| count(it as u64)),
            ms(row.create_p50_us),
            ms(row.create_p99_us),
            ms(row.read_p50_us),
            ms(row.read_p99_us),
            count(row.reads),
            count(row.reads_missed),
            count(row.failed),
            whole(row.connections_peak),
            whole(row.threads_peak),
            optional(row.connections_per_s),
            mega(row.in_per_s),
            mega(row.out_per_s),
            optional(row.in_per_op),
            optional(row.out_per_op),
            optional(row.cpu_us_per_op),
        ];
        TableRow { arm: row.arm.clone(), cells }
    };
    PhaseView {
        name: part.part.clone(),
        about: about(&part.part).to_owned(),
        table: Table {
            caption: "All creations and reads of a version; the total of 2014 stands beside it. \
                      But for `unwaited`, reads begin once unanswered writes have arrived: none \
                      misses unless writes fail."
                .to_owned(),
            columns,
            rows: part.rows.iter().map(row).collect(),
        },
        figures: Vec::new(),
    }
}
