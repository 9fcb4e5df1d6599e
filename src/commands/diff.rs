//! `mongodyno diff DIR DIR`: two stored experiments side by side. It gives no verdict: they were
//! measured at different times, and no interval can separate a driver from the machine then.

use serde::Serialize;

use crate::cli::DiffArgs;
use base::error::{Error, Result};
use judge::analyse;
use judge::analysis::types::{Analysis, Metric, ResultRow};
use record::folder::Folder;

const NO_VERDICT: &str = "Not interleaved: the two were measured at different times, and what \
    changed may be the machine. Run both in one experiment for a verdict.";

/// One arm and operation that both have.
#[derive(Serialize)]
struct DiffRow {
    phase: String,
    operation: String,
    arm_a: String,
    arm_b: String,
    /// Operations a second: median of the rounds, lowest, highest.
    throughput_a: Rates,
    throughput_b: Rates,
    /// Change of time per operation, by the medians; + is slower.
    change_percent: f64,
}

#[derive(Clone, Copy, Serialize)]
struct Rates {
    median: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct Answer {
    a: String,
    b: String,
    rows: Vec<DiffRow>,
    /// Conditions that are not the same: name, in A, in B.
    conditions: Vec<[String; 3]>,
    caution: &'static str,
}

pub fn run(args: &DiffArgs) -> Result<()> {
    let read = |path| {
        let (folder, experiment) = Folder::open(path)?;
        Ok::<_, Error>(analyse(&folder, &experiment)?.analysis)
    };
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let answer = Answer {
        a: a.experiment.clone(),
        b: b.experiment.clone(),
        rows: rows(&a, &b),
        conditions: conditions(&a, &b),
        caution: NO_VERDICT,
    };
    if answer.rows.is_empty() {
        return Err(Error::usage(
            "the two experiments have no phase and no driver in common",
            "`mongodyno report DIR` shows what each of them has",
        ));
    }
    super::print(&if args.json {
        serde_json::to_string_pretty(&answer).expect("answers serialise") + "\n"
    } else {
        text(&answer)
    })
}

/// The same arm; else the one arm of its adapter, where each has one.
fn partner<'a>(row: &ResultRow, a: &Analysis, b: &'a Analysis) -> Option<&'a str> {
    let adapter = &a.arms.iter().find(|arm| arm.id == row.arm && !arm.is_aa)?.adapter;
    if let Some(same) = b.arms.iter().find(|arm| arm.id == row.arm) {
        return Some(&same.id);
    }
    let own =
        |of: &'_ Analysis| of.arms.iter().filter(|it| it.adapter == *adapter && !it.is_aa).count();
    let other = b.arms.iter().find(|it| it.adapter == *adapter && !it.is_aa)?;
    (own(a) == 1 && own(b) == 1).then_some(&other.id)
}

fn rows(a: &Analysis, b: &Analysis) -> Vec<DiffRow> {
    let row = |of_a: &ResultRow| {
        let arm_b = partner(of_a, a, b)?;
        let of_b = b.results.iter().find(|it| {
            it.arm == arm_b && (&it.phase, &it.operation) == (&of_a.phase, &of_a.operation)
        })?;
        let (throughput_a, throughput_b) = (rates(of_a)?, rates(of_b)?);
        Some(DiffRow {
            phase: of_a.phase.clone(),
            operation: of_a.operation.clone(),
            arm_a: of_a.arm.clone(),
            arm_b: arm_b.to_owned(),
            throughput_a,
            throughput_b,
            change_percent: 100.0 * (throughput_a.median / throughput_b.median - 1.0),
        })
    };
    a.results.iter().filter_map(row).collect()
}

fn rates(row: &ResultRow) -> Option<Rates> {
    let rounds = || row.throughput_by_round.iter().flatten().copied();
    let median = row.get(Metric::Throughput).filter(|it| *it > 0.0)?;
    Some(Rates {
        median,
        low: rounds().fold(median, f64::min),
        high: rounds().fold(median, f64::max),
    })
}

fn conditions(a: &Analysis, b: &Analysis) -> Vec<[String; 3]> {
    let of = |it: &Analysis| {
        [
            ("workload", it.workload.clone()),
            ("server", format!("{} {}", it.server.kind.word(), it.server.version)),
            ("processor", format!("{}, {} cores", it.machine.cpu, it.machine.cores)),
            ("kernel", it.machine.kernel.clone()),
            ("form", if it.quick { "quick" } else { "whole" }.to_owned()),
        ]
    };
    let both = of(a).into_iter().zip(of(b));
    let differ = both.filter(|((_, a), (_, b))| a != b);
    differ.map(|((name, a), (_, b))| [name.to_owned(), a, b]).collect()
}

fn text(answer: &Answer) -> String {
    let mut table = super::PlainTable::default();
    table.add_row(["phase", "A", "ops/s (lowest to highest)", "B", "ops/s", "time per op"]);
    let shown =
        |it: Rates| format::with_interval(it.median, Some((it.low, it.high)), format::figure);
    for row in &answer.rows {
        let mut phase = row.phase.clone();
        if row.operation != row.phase {
            phase = format!("{phase}, {}", row.operation);
        }
        let change = format!("{} %", format::signed(row.change_percent, 1));
        let (a, b) = (shown(row.throughput_a), shown(row.throughput_b));
        table.add_row([phase, row.arm_a.clone(), a, row.arm_b.clone(), b, change]);
    }
    let line = |[name, a, b]: &[String; 3]| {
        base::say::clean(&format!("the {name} differs: {a}; {b}")) + "\n"
    };
    let conditions: Vec<String> = answer.conditions.iter().map(line).collect();
    let conditions = conditions.concat();
    format!("A  {}\nB  {}\n\n{table}\n\n{conditions}\n{}\n", answer.a, answer.b, answer.caution)
}
