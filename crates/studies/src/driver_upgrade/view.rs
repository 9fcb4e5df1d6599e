//! Its tables, for people and as CSV.

use std::io::Write;

use super::types::{PartRows, Row};
use super::{CONCERN, GROWING, REVERSE, UNWAITED, VERSIONS, WIRE};
use crate::table::{cell, csv};
use base::error::Result;
use format::{MISSING, TimeUnit, count, fixed, optional};
use report::study::{Column, PhaseView, Table, TableRow};
use stats::descriptive::OverRounds;

pub fn times(parts: &[PartRows], out: &mut dyn Write) -> Result<Vec<String>> {
    let head = [
        "experiment",
        "driver",
        "total_ms",
        "create_ms",
        "arriving_ms",
        "read_ms",
        "over_first",
        "create_p50_us",
        "create_p99_us",
        "read_p50_us",
        "read_p99_us",
        "operations",
        "reads",
        "reads_missed",
        "failed",
        "connections_peak",
        "threads_peak",
        "connections_per_s",
        "connections_ended_per_s",
        "threads_begun_per_s",
        "threads_ended_per_s",
        "in_bytes_per_s",
        "out_bytes_per_s",
        "create_in_bytes_per_s",
        "create_out_bytes_per_s",
        "read_in_bytes_per_s",
        "read_out_bytes_per_s",
        "in_bytes_per_op",
        "out_bytes_per_op",
        "cpu_us_per_op",
        "original_ms",
        "original_over_first",
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
                over(&row.arriving_ms),
                over(&row.read_ms),
                over(&row.over_first),
                cell(row.create_p50_us),
                cell(row.create_p99_us),
                cell(row.read_p50_us),
                cell(row.read_p99_us),
                row.operations.to_string(),
                row.reads.to_string(),
                row.reads_missed.to_string(),
                row.failed.to_string(),
                cell(row.connections_peak),
                cell(row.threads_peak),
                cell(row.connections_per_s),
                cell(row.connections_ended_per_s),
                cell(row.threads_begun_per_s),
                cell(row.threads_ended_per_s),
                cell(row.in_per_s),
                cell(row.out_per_s),
                cell(row.create_in_per_s),
                cell(row.create_out_per_s),
                cell(row.read_in_per_s),
                cell(row.read_out_per_s),
                cell(row.in_per_op),
                cell(row.out_per_op),
                cell(row.cpu_us_per_op),
                cell(row.original_ms),
                cell(row.original_over_first),
            ]);
        }
    }
    csv(out, &head, lines)
}

fn about(part: &str) -> &'static str {
    match part {
        VERSIONS => "Every version at its defaults.",
        CONCERN => {
            "The first and the last version with unanswered and with answered writes: how much is \
             the default, how much the driver?"
        }
        REVERSE => "The first and the last version, the last one first.",
        GROWING => "In a collection that keeps what the arms before wrote.",
        UNWAITED => "Unanswered creations; each thread reads at once what it has created.",
        WIRE => "The first and the last version through the tap: where does the time go?",
        _ => "More threads than the server accepts connections.",
    }
}

/// A column, and its cell of a row.
type Shown = (Column, fn(&Row) -> String);

fn columns() -> Vec<Shown> {
    let page = |name, unit| Column::figures(name, unit).page_only();
    vec![
        (Column::figures("total", "ms"), |row| over(row.total_ms.as_ref())),
        (Column::words("interval").page_only(), |row| {
            row.total_ms.as_ref().map_or(MISSING.to_owned(), |it| {
                format!("{} to {}", format::figure(it.median.low), format::figure(it.median.high))
            })
        }),
        (Column::figures("create", "ms"), |row| over(row.create_ms.as_ref())),
        (Column::figures("arriving", "ms"), |row| over(row.arriving_ms.as_ref())),
        (Column::figures("read", "ms"), |row| over(row.read_ms.as_ref())),
        (Column::figures("of the first", "times"), |row| times_of(row.over_first.as_ref())),
        (page("2014", "ms"), |row| row.original_ms.map_or(String::new(), |it| count(it as u64))),
        (Column::figures("2014", "times"), |row| {
            row.original_over_first.map_or(String::new(), |it| fixed(it, 2))
        }),
        (page("create p50", "ms"), |row| ms(row.create_p50_us)),
        (page("create p99", "ms"), |row| ms(row.create_p99_us)),
        (page("read p50", "ms"), |row| ms(row.read_p50_us)),
        (page("read p99", "ms"), |row| ms(row.read_p99_us)),
        (page("reads", "all rounds"), |row| count(row.reads)),
        (Column::figures("missed", "reads"), |row| count(row.reads_missed)),
        (Column::figures("failed", ""), |row| count(row.failed)),
        (page("connections", "peak"), |row| whole(row.connections_peak)),
        (page("threads", "peak"), |row| whole(row.threads_peak)),
        (page("opened", "connections a second"), |row| optional(row.connections_per_s)),
        (page("ended", "connections a second"), |row| optional(row.connections_ended_per_s)),
        (page("begun", "threads a second"), |row| optional(row.threads_begun_per_s)),
        (page("ended", "threads a second"), |row| optional(row.threads_ended_per_s)),
        (Column::figures("net in", "MB/s"), |row| mega(row.in_per_s)),
        (Column::figures("net out", "MB/s"), |row| mega(row.out_per_s)),
        (page("create in", "MB/s"), |row| mega(row.create_in_per_s)),
        (page("create out", "MB/s"), |row| mega(row.create_out_per_s)),
        (page("read in", "MB/s"), |row| mega(row.read_in_per_s)),
        (page("read out", "MB/s"), |row| mega(row.read_out_per_s)),
        (page("in", "bytes an operation"), |row| optional(row.in_per_op)),
        (page("out", "bytes an operation"), |row| optional(row.out_per_op)),
        (page("CPU", "µs an operation"), |row| optional(row.cpu_us_per_op)),
    ]
}

fn over(of: Option<&OverRounds>) -> String {
    optional(of.map(|it| it.median.estimate))
}

fn times_of(of: Option<&OverRounds>) -> String {
    of.map_or(MISSING.to_owned(), |it| fixed(it.median.estimate, 2))
}

fn mega(bytes: Option<f64>) -> String {
    optional(bytes.map(|it| it / 1e6))
}

fn ms(us: Option<f64>) -> String {
    TimeUnit::Milliseconds.figure(us)
}

fn whole(of: Option<u64>) -> String {
    of.map_or(MISSING.to_owned(), count)
}

pub fn part(part: &PartRows) -> PhaseView {
    let (columns, cells): (Vec<_>, Vec<_>) = columns().into_iter().unzip();
    let row = |row: &Row| {
        let cells = cells.iter().map(|cell| cell(row)).collect();
        TableRow { arm: row.arm.clone(), cells }
    };
    let (operations, threads) = (count(part.operations), count(part.threads));
    let what = match part.part.as_str() {
        UNWAITED => format!("{operations} creations and reads"),
        _ => format!("{operations} creations and {operations} reads"),
    };
    let arriving = match part.part.as_str() {
        UNWAITED => "",
        _ => " The total holds the time until unanswered creations have arrived; then reads begin.",
    };
    PhaseView {
        name: part.part.clone(),
        about: format!("{} {what} by {threads} threads together.", about(&part.part)),
        table: Table {
            caption: format!("Medians over the rounds.{arriving}"),
            columns,
            rows: part.rows.iter().map(row).collect(),
        },
        figures: Vec::new(),
    }
}
