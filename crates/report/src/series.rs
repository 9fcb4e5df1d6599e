//! Clients and server over time, tidy as [`csv`](super::csv): a row per reading and metric, the
//! unit in the metric's name.

use std::io::{self, Write};

use super::formats::{Format, Joint, Report};
use base::text::csv_cell;
use record::records::{ClientSample, ServerSample};

pub const FORMAT: Format = Format {
    name: "series",
    about: "One row per reading of clients and server, as CSV",
    experiments: Some((render, joint)),
    study: None,
};

const HEAD: [&str; 9] = [
    "schema_version",
    "experiment_id",
    "at_ns",
    "round",
    "phase",
    "of",
    "is_consumer",
    "metric",
    "value",
];

/// `of` of a row that is no arm's.
const SERVER: &str = "server";

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let analysis = report.analysis;
    let version = analysis.schema_version.to_string();
    let mut table = ::csv::Writer::from_writer(out);
    table.write_record(HEAD)?;
    let mut rows = |at: (u64, u32, &str), of: &str, consumer: bool, read: &[(String, String)]| {
        let (at_ns, round, phase) = (at.0.to_string(), at.1.to_string(), csv_cell(at.2));
        for (metric, value) in read {
            table.write_record([
                &version,
                &csv_cell(&analysis.id),
                &at_ns,
                &round,
                &phase,
                &csv_cell(of),
                &consumer.to_string(),
                &csv_cell(metric),
                value,
            ])?;
        }
        io::Result::Ok(())
    };
    for it in &report.series.clients {
        rows((it.at_ns, it.round, &it.phase), &it.arm, it.consumer, &of_client(it))?;
    }
    for it in &report.series.server {
        rows((it.at_ns, it.round, &it.phase), SERVER, false, &of_server(it))?;
    }
    table.flush()
}

/// One table of several experiments, whose first column names them.
fn joint(joint: &Joint<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = ::csv::Writer::from_writer(out);
    table.write_record(["experiment"].iter().chain(&HEAD))?;
    for (name, report) in joint.named() {
        let mut text = Vec::new();
        render(report, &mut text)?;
        for row in ::csv::Reader::from_reader(&text[..]).records() {
            let row = row?;
            table.write_record([csv_cell(&name).as_str()].into_iter().chain(&row))?;
        }
    }
    table.flush()
}

/// Without what is not known.
fn of_client(it: &ClientSample) -> Vec<(String, String)> {
    let values = [
        ("processes_count", Some(u64::from(it.processes))),
        ("rss_bytes", Some(it.rss_bytes)),
        ("cpu_ns", Some(it.cpu_ns)),
        ("threads_count", Some(it.threads)),
        ("connections_count", it.connections),
    ];
    values
        .iter()
        .filter_map(|(name, value)| Some(((*name).to_owned(), value.as_ref()?.to_string())))
        .collect()
}

/// By the server's own names.
fn of_server(it: &ServerSample) -> Vec<(String, String)> {
    let counters = it.values.iter().map(|(name, value)| (name.clone(), value.to_string()));
    let shares = it.shares.iter().map(|(name, share)| (name.clone(), share.to_string()));
    counters.chain(shares).collect()
}
