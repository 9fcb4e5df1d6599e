//! The columns of a phase's table, the same in the terminal, in Markdown and on the page.

use serde::Serialize;

use base::say::clean;
use format::{self, TimeUnit};
use judge::analysis::types::{Metric, ResultRow};

/// A column of a phase's table.
#[derive(Debug, Clone, Serialize)]
pub struct ResultColumn {
    pub name: &'static str,
    /// Column head in a terminal, `{}` where the unit is.
    #[serde(skip)]
    pub head: &'static str,
    /// Empty where it has none.
    pub unit: &'static str,
    pub content: ColumnContent,
    #[serde(skip)]
    times: Option<TimeUnit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnContent {
    Operation,
    /// The change of time per operation against the baseline.
    Change,
    #[serde(untagged)]
    Value(Metric),
}

impl ResultColumn {
    fn new(name: &'static str, head: &'static str, content: ColumnContent) -> Self {
        Self { name, head, unit: "", content, times: None }
    }

    /// Whether its cells are of the whole phase, and not of one operation.
    pub fn is_of_phase(&self) -> bool {
        match self.content {
            ColumnContent::Operation => false,
            ColumnContent::Change => true,
            ColumnContent::Value(metric) => !metric.is_of_operation(),
        }
    }

    /// Whether it is one of times of an operation.
    pub fn is_time(&self) -> bool {
        self.times.is_some() && !self.is_of_phase()
    }

    pub fn text(&self, result: &ResultRow) -> String {
        let ColumnContent::Value(metric) = self.content else { return clean(&result.operation) };
        let value = result.get(metric);
        match (self.times, metric) {
            (Some(unit), _) => unit.figure(value),
            (_, Metric::RssPeak) => format::mebibytes(value.map(|bytes| bytes as u64)),
            (_, Metric::Errors | Metric::Operations) => format::count(result.values.count(metric)),
            _ => format::optional(value),
        }
    }
}

/// The columns of a phase that has these results.
pub fn columns(results: &[&ResultRow], is_mix: bool, has_documents: bool) -> Vec<ResultColumn> {
    use ColumnContent::{Change, Operation, Value};
    let timed = |columns: &[(&'static str, &'static str, Metric)]| -> Vec<ResultColumn> {
        let values = |row: &&ResultRow| -> Vec<f64> {
            columns.iter().filter_map(|(.., metric)| row.get(*metric)).collect()
        };
        let unit = TimeUnit::fitting(results.iter().flat_map(values));
        let column = |(name, head, metric): &(&'static str, &'static str, Metric)| ResultColumn {
            unit: unit.label(),
            times: Some(unit),
            ..ResultColumn::new(name, head, Value(*metric))
        };
        columns.iter().map(column).collect()
    };
    let new = ResultColumn::new;
    let mut columns = Vec::new();
    if is_mix {
        columns.push(new("operation", "operation", Operation));
    }
    columns.push(new("ops/s", "ops/s", Value(Metric::Throughput)));
    columns.push(new("time/op vs base, + is slower", "vs base\n% time/op", Change));
    let mut times = vec![
        ("p50", "p50\n{}", Metric::P50),
        ("p90", "p90\n{}", Metric::P90),
        ("p99", "p99\n{}", Metric::P99),
        ("p99.9", "p99.9\n{}", Metric::P999),
    ];
    if results.iter().any(|row| row.get(Metric::ResponseP50).is_some()) {
        times.push(("response p50", "resp.\np50", Metric::ResponseP50));
        times.push(("response p99", "resp.\np99", Metric::ResponseP99));
    }
    columns.extend(timed(&times));
    if has_documents {
        columns.push(new("documents/op", "docs\n/op", Value(Metric::DocumentsPerOp)));
    }
    columns.extend(timed(&[("CPU/op", "CPU/op\n{}", Metric::CpuPerOp)]));
    let memory = new("peak RSS", "peak\nRSS {}", Value(Metric::RssPeak));
    columns.push(ResultColumn { unit: "MiB", ..memory });
    columns.push(new("operations", "", Value(Metric::Operations)));
    columns.push(new("errors", "errors", Value(Metric::Errors)));
    if results.iter().any(|row| row.get(Metric::Retries).is_some()) {
        columns.push(new("retries of transactions", "retries", Value(Metric::Retries)));
    }
    columns
}
