//! For people: a stop-watch table a part.

use super::answer::names_percent;
use super::parts::{BY_HOSTS, BY_NAMES, BY_SHARDS, about};
use super::spread::TENTHS;
use super::types::{BulkLoadAnalysis, Load};
use crate::definition::Definition;
use crate::evidence::Evidence;
use crate::study::Outcome;
use format::{MISSING, change, count, figure};
use report::study::{Column, PhaseView, Table, TableRow, View};
use stats::descriptive::OverRounds;

pub fn view(made: &Outcome<'_>, definition: Definition, analysis: BulkLoadAnalysis) -> View {
    let of_part = |name| [Some(part(name, &analysis.loads)), over_time(name, &analysis.loads)];
    let parts = made.made.iter().flat_map(|it| of_part(it.part)).flatten().collect();
    let mut view = made.view(definition);
    view.evidence = analysis.evidence.iter().map(Evidence::view).collect();
    view.phases = parts;
    view.warnings.extend(analysis.notes);
    view
}

fn part(name: &str, all: &[Load]) -> PhaseView {
    let loads: Vec<&Load> = all.iter().filter(|it| it.part == name).collect();
    let of_names = name == BY_NAMES;
    let last_tenth = Column::figures("last tenth", "% of rate");
    let mut columns = vec![
        Column::words("load"),
        Column::figures("documents", "").page_only(),
        Column::figures("time", "ms"),
        Column::figures("share", "%"),
        Column::figures("rate", "documents/s"),
        Column::words("interval").page_only(),
        Column::figures("data", "MB/s"),
        // A terminal has no room for it beside three more.
        if of_names { last_tenth.page_only() } else { last_tenth },
    ];
    if of_names {
        columns.extend([
            Column::figures("names", "%"),
            Column::figures("received", "bytes/document"),
            Column::figures("stored", "bytes/document"),
        ]);
    }
    let of_hosts = name == BY_HOSTS;
    if of_hosts {
        columns.push(Column::figures("at once", "hosts").page_only());
    }
    let is_spread = [BY_HOSTS, BY_SHARDS].contains(&name);
    if is_spread {
        columns.push(Column::words("documents of each"));
        columns.push(Column::figures("busiest in a second", "%").page_only());
    }
    let rows = loads.iter().map(|load| {
        let mut cells = cells(load, &loads);
        if of_names {
            let bytes = [load.wire_bytes, load.stored_bytes].map(median);
            cells.push(optional(names_percent(load)));
            cells.extend(bytes.map(optional));
        }
        if of_hosts {
            cells.push(optional(median(load.hosts_at_once)));
        }
        if is_spread {
            let each: Vec<String> = load.by_host.iter().map(|it| count(*it)).collect();
            cells.push(each.join(" / "));
            cells.push(optional(load.busiest_percent));
        }
        TableRow { arm: load.arm.clone(), cells }
    });
    PhaseView {
        name: name.to_owned(),
        about: about(name).to_owned(),
        table: Table {
            caption: "Time of a load and its share of the driver's whole table; documents a \
                      second; the rate of the last tenth against the first."
                .to_owned(),
            columns,
            rows: rows.collect(),
        },
        figures: Vec::new(),
    }
}

/// A row a host or shard; None where no load tells.
fn over_time(name: &str, all: &[Load]) -> Option<PhaseView> {
    let mut columns = vec![Column::words("load"), Column::figures("host", "")];
    // A terminal has room for four.
    columns.extend((1..=TENTHS).map(|tenth| {
        let column = Column::figures(&format!("tenth {tenth}"), "");
        if tenth % 3 == 1 { column } else { column.page_only() }
    }));
    let row = |load: &Load, host: usize| {
        let shares = load.hosts_over_time.iter().map(|it| optional(it.get(host).copied()));
        let cells = [load.phase.clone(), (host + 1).to_string()].into_iter().chain(shares);
        TableRow { arm: load.arm.clone(), cells: cells.collect() }
    };
    let told = all.iter().filter(|it| it.part == name && !it.hosts_over_time.is_empty());
    let rows = told.flat_map(|load| (0..load.by_host.len()).map(move |host| row(load, host)));
    let rows: Vec<TableRow> = rows.collect();
    (!rows.is_empty()).then(|| PhaseView {
        name: format!("{name} over time"),
        about: "Which of them has the documents, as the load goes on.".to_owned(),
        table: Table {
            caption:
                "Share of each in the documents of each tenth of the load's time, percent, in \
                      the last round that counts."
                    .to_owned(),
            columns,
            rows,
        },
        figures: Vec::new(),
    })
}

fn cells(load: &Load, table: &[&Load]) -> Vec<String> {
    let of_arm = table.iter().filter(|it| it.arm == load.arm);
    let whole_ms: f64 = of_arm.filter_map(|it| median(it.took_ms)).sum();
    let took_ms = median(load.took_ms);
    let rate = median(load.documents_per_s);
    let tenth = load.last_tenth_percent.map(|it| it.median);
    let tenth = tenth.and_then(|it| change(Some(it.estimate), Some(it.low), Some(it.high)));
    vec![
        load.phase.clone(),
        count(load.documents),
        optional(took_ms),
        optional(took_ms.map(|it| 100.0 * it / whole_ms)),
        optional(rate),
        load.documents_per_s.map_or_else(
            || MISSING.to_owned(),
            |it| format!("{} to {}", figure(it.median.low), figure(it.median.high)),
        ),
        optional(rate.map(|it| it * load.document_bytes / 1e6)),
        tenth.unwrap_or_else(|| MISSING.to_owned()),
    ]
}

fn median(values: Option<OverRounds>) -> Option<f64> {
    Some(values?.median.estimate)
}

fn optional(value: Option<f64>) -> String {
    format::optional(value)
}
