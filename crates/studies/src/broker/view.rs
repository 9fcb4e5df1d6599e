//! The study's content for every format, from its analysis and its records.

use super::facts;
use crate::broker::types::{BrokerAnalysis, Evidence, PhaseAnalysis, RoundCurve, Row, tally};
use crate::definition::Definition;
use crate::study::{Made, Outcome};
use format::{self, MISSING, time};
use report::study::{Column, PhaseView, Table, TableRow, View};
use stats::descriptive::OverRounds;
use workload::plan::Phase;

/// The study without its pictures.
pub fn view(made: &Outcome<'_>, definition: Definition, analysis: &BrokerAnalysis) -> View {
    let Made { experiment, runs, .. } = *made.only();
    let phase = |analysed: &PhaseAnalysis| {
        let planned = experiment.plan.phases.iter().find(|it| it.name == analysed.phase);
        PhaseView {
            name: analysed.phase.clone(),
            about: planned.map_or(String::new(), |it| words(it, analysed)),
            table: table(analysed),
            figures: Vec::new(),
        }
    };
    View {
        evidence: analysis.evidence.iter().map(Evidence::view).collect(),
        warnings: analysis.notes.clone(),
        phases: analysis.phases.iter().map(phase).collect(),
        lost: facts::lost(experiment, runs),
        ..made.view(definition)
    }
}

fn words(phase: &Phase, analysed: &PhaseAnalysis) -> String {
    let originals = analysed.rows.iter().filter(|row| row.original);
    let originals: Vec<&str> = originals.map(|row| row.arm.as_str()).collect();
    let so = match &originals[..] {
        [] => String::new(),
        some => format!(" The programs of 2014 did so: {}.", some.join(", ")),
    };
    facts::pacing(phase) + &so
}

fn table(phase: &PhaseAnalysis) -> Table {
    let page = |name, unit| Column::figures(name, unit).page_only();
    let mut columns = vec![Column::figures("p50", ""), page("p90", ""), Column::words("curve")];
    if phase.open {
        columns.push(Column::words("since issued").page_only());
    }
    columns.extend([
        Column::figures("slope", "µs a message"),
        page("predicted", "µs a message"),
        page("made", "messages a second"),
        Column::figures("received", "messages a second"),
        page("lost", ""),
        page("out of order", "%"),
        page("CPU", "µs"),
        page("RSS", "MiB"),
        page("consumer CPU", "µs"),
        page("consumer RSS", "MiB"),
    ]);
    let row = |row: &Row| TableRow { arm: row.arm.clone(), cells: cells(row, phase.open) };
    Table {
        caption: "Latency from made to received. Medians over the rounds; slope and CPU for \
                  each message."
            .to_owned(),
        columns,
        rows: phase.rows.iter().map(row).collect(),
    }
}

fn cells(row: &Row, open: bool) -> Vec<String> {
    let median = |it: Option<OverRounds>| it.map(|it| it.median.estimate);
    let time = |it| median(it).map_or(MISSING.to_owned(), time);
    let figure = |it| median(it).map_or(MISSING.to_owned(), format::signed_figure);
    let mebibytes = |it| format::mebibytes(median(it).map(|bytes| bytes as u64));
    let mut cells = vec![time(row.latency_p50_us), time(row.latency_p90_us), curves(&row.curves)];
    if open {
        cells.push(curves(&row.curves_since_intended));
    }
    let disorder = 100.0 * row.out_of_order as f64 / row.received.max(1) as f64;
    cells.extend([
        slope(median(row.slope_us)),
        slope(median(row.slope_predicted_us)),
        figure(row.made_per_s),
        figure(row.received_per_s),
        format::count(row.lost),
        format::figure(disorder),
        figure(row.producer_cpu_us),
        mebibytes(row.producer_rss_bytes),
        figure(row.consumer_cpu_us),
        mebibytes(row.consumer_rss_bytes),
    ]);
    cells
}

/// Hundredths of a microsecond: less is nothing over any run.
fn slope(us: Option<f64>) -> String {
    us.map_or(MISSING.to_owned(), |us| {
        let decimals = if us.abs() >= 100.0 { 0 } else { 2 };
        format::fixed(us, decimals)
    })
}

/// `linear 5/5`, or the classes by rounds: `linear 3, flat 2`.
fn curves(curves: &[RoundCurve]) -> String {
    match &tally(curves)[..] {
        [] => MISSING.to_owned(),
        [(name, all)] => format!("{name} {all}/{all}"),
        several => {
            let each = several.iter().map(|(name, count)| format!("{name} {count}"));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}
