//! What every format of the study shows, of its analysis and its records.

use super::facts;
use super::page::{Column, EvidenceView, PhaseView, Table, TableRow, View};
use figures::{self, MISSING, time};
use judge::study::broker::types::{
    BrokerAnalysis, Evidence, PhaseAnalysis, RoundCurve, Row, Shown, tally,
};
use record::records::{Experiment, Run};
use stats::descriptive::OverRounds;
use workload::plan::Phase;

/// The study without its pictures; `folder` is how a user calls its folder.
#[must_use]
pub fn view(
    experiment: &Experiment,
    runs: &[Run],
    analysis: &BrokerAnalysis,
    folder: &str,
) -> View {
    let phase = |analysed: &PhaseAnalysis| {
        let planned = experiment.plan.phases.iter().find(|it| it.name == analysed.phase);
        PhaseView {
            name: analysed.phase.clone(),
            pacing: planned.map_or(String::new(), |it| words(it, analysed)),
            table: table(analysed),
            figures: Vec::new(),
        }
    };
    let unavailable = experiment.unavailable.iter();
    View {
        title: "A capped collection as message broker".to_owned(),
        question: "Producers insert into a capped collection, and one consumer reads along with a \
                   tailable cursor. In 2014 the latency of each message grew with the count for \
                   some drivers and stayed constant for others; why?"
            .to_owned(),
        command: experiment.command.join(" "),
        again: format!("mongodyno report {folder}"),
        facts: facts::facts(experiment, runs),
        evidence: analysis.evidence.iter().map(evidence).collect(),
        warnings: analysis.notes.clone(),
        phases: analysis.phases.iter().map(phase).collect(),
        arms: facts::arms(experiment, runs),
        unavailable: unavailable
            .map(|it| [it.adapter.clone(), it.reason.clone(), it.hint.clone()])
            .collect(),
        lost: facts::lost(experiment, runs),
        notes: READING.map(str::to_owned).to_vec(),
    }
}

/// How to read it.
const READING: [&str; 5] = [
    "Latency is from the moment the program made a message to the moment the consumer's program \
     had it. Figures are medians over the iterations past the tap.",
    "A curve is flat, linear or logarithmic only where the others are excluded by the rule of \
     docs/methodology.md, section 8.7; else it is unclear.",
    "The slope predicted is that of one queue, 1/capacity - 1/issue rate: what each message waits \
     longer than the one before it, where messages are made faster than they are received.",
    "The last iteration goes through the tap and tells where the time passed; its latencies hold \
     the tap's own cost and stand in no other figure.",
    "CPU and memory are those of the producers' processes and of the consumer's, while messages \
     were under way.",
];

fn words(phase: &Phase, analysed: &PhaseAnalysis) -> String {
    let originals = analysed.rows.iter().filter(|row| row.original);
    let originals: Vec<&str> = originals.map(|row| row.arm.as_str()).collect();
    let so = match &originals[..] {
        [] => String::new(),
        some => format!(" The programs of 2014 did so: {}.", some.join(", ")),
    };
    facts::pacing(phase) + &so
}

fn evidence(it: &Evidence) -> EvidenceView {
    let mark = match it.shown {
        Shown::Shown => "",
        Shown::Refuted => "No. ",
        Shown::NotShown => "Not shown. ",
    };
    let mut sentences = it.sentences.clone();
    if let Some(first) = sentences.first_mut().filter(|first| !first.starts_with("Not shown")) {
        first.insert_str(0, mark);
    }
    let shown = it.shown != Shown::NotShown;
    EvidenceView { heading: it.question.clone(), sentences, shown }
}

fn table(phase: &PhaseAnalysis) -> Table {
    let mut columns =
        vec![Column::figures("p50", ""), Column::figures("p90", ""), Column::words("curve")];
    if phase.open {
        columns.push(Column::words("since issued"));
    }
    columns.extend([
        Column::figures("slope", "µs a message"),
        Column::figures("predicted", "µs a message"),
        Column::figures("made", "messages a second"),
        Column::figures("received", "messages a second"),
        Column::figures("lost", ""),
        Column::figures("out of order", "%"),
        Column::figures("CPU", "µs"),
        Column::figures("RSS", "MiB"),
        Column::figures("consumer CPU", "µs"),
        Column::figures("consumer RSS", "MiB"),
    ]);
    let row = |row: &Row| TableRow { arm: row.arm.clone(), cells: cells(row, phase.open) };
    Table {
        caption: "Latency from made to received. Medians over the iterations; slope and CPU for \
                  each message."
            .to_owned(),
        columns,
        rows: phase.rows.iter().map(row).collect(),
    }
}

fn cells(row: &Row, open: bool) -> Vec<String> {
    let median = |it: Option<OverRounds>| it.map(|it| it.median.estimate);
    let time = |it| median(it).map_or(MISSING.to_owned(), time);
    let figure = |it| median(it).map_or(MISSING.to_owned(), figures::signed_figure);
    let mebibytes = |it| figures::mebibytes(median(it).map(|bytes| bytes as u64));
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
        figures::count(row.lost),
        figures::figure(disorder),
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
        figures::fixed(us, decimals)
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
