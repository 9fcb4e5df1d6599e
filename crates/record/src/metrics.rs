//! The one table of metrics: what is read from a phase of a run, in which unit, how the values of
//! several rounds become one, and whether arms are compared by it. Comparisons, gates, CSV, JSON
//! and every report use it. A new statistic is its field in a record and its line here.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::records::{OperationRun, PhaseRun, Quantiles};
use stats::threshold::Quantity;

/// The unit of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUnit {
    OperationsPerSecond,
    Microseconds,
    Nanoseconds,
    Bytes,
    Count,
}

impl MetricUnit {
    /// A value with its unit: `8,105 ops/s`, `812 µs`, `1.50 KiB`.
    pub fn words(self, value: f64) -> String {
        match self {
            Self::OperationsPerSecond => format!("{} ops/s", format::figure(value)),
            Self::Microseconds => format::time(value),
            Self::Nanoseconds => format::time(value / 1e3),
            Self::Bytes => format::bytes(value.round() as u64),
            Self::Count => format::figure(value),
        }
    }

    /// For the axis of a chart and the head of a column; empty for a count.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::OperationsPerSecond => "ops/s",
            Self::Microseconds => "µs",
            Self::Nanoseconds => "ns",
            Self::Bytes => "B",
            Self::Count => "",
        }
    }
}

/// How the values of several rounds become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregation {
    Median,
    /// The largest. The values are whole numbers.
    Maximum,
    /// The sum of those that are known. The values are whole numbers.
    Sum,
    /// The same, and 0 where no round was measured.
    Count,
    /// The sum, where the value of every round is known. The values are whole numbers.
    WholeSum,
}

impl Aggregation {
    /// `values` are those of the rounds, None where a round has none.
    pub fn of(self, values: &[Option<f64>]) -> Option<f64> {
        let known = || values.iter().flatten().copied();
        match self {
            Self::Median => stats::descriptive::median(&known().collect::<Vec<_>>()),
            Self::Maximum => known().reduce(f64::max),
            Self::Sum => known().reduce(|sum, more| sum + more),
            Self::Count => Some(known().sum()),
            Self::WholeSum => values.iter().copied().sum(),
        }
    }
}

/// Which times of an operation a quantile is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimesOf {
    /// Service times. Comparisons take response times in their place where a phase has them.
    Service,
    /// From the intended start, in open loops.
    Response,
    /// Lateness of the adapter's own timers, in open loops.
    Timer,
}

impl TimesOf {
    /// Behind the name of the operation in the tags of the interval histograms.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Service => "",
            Self::Response => "-response",
            Self::Timer => "-timer",
        }
    }
}

type Quantile = fn(&Quantiles) -> Option<f64>;

/// Where the values of a metric come from.
#[derive(Debug, Clone, Copy)]
pub enum MetricSource {
    /// A quantile of an operation: by round it is compared, and reports show that of all rounds
    /// together.
    Times(TimesOf, Quantile),
    /// A value of the whole phase. The flag says whether the server's counters are ours alone.
    Phase(Aggregation, fn(&PhaseRun, bool) -> Option<f64>),
    /// A value of an operation.
    Operation(Aggregation, fn(&OperationRun) -> Option<f64>),
    /// It follows from the plan and the totals of the answers, which the judge reads.
    Answers,
}
use Aggregation::{Count, Maximum, Median, Sum, WholeSum};
use MetricSource::{Answers, Operation, Phase, Times};
use TimesOf::{Response, Service, Timer};

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub struct MetricDefinition {
    /// What it is, for the schema.
    pub(crate) about: &'static str,
    /// The name in JSON, with the unit last where it has one.
    pub name: &'static str,
    /// The name in comparisons, in gates, and for `--metric`.
    pub word: &'static str,
    /// The name for people.
    pub label: &'static str,
    /// The name in CSV; None where CSV leaves it out.
    pub column: Option<&'static str>,
    pub unit: MetricUnit,
    pub source: MetricSource,
    /// The direction that is better, and the floor of the comparison; None: it is not compared.
    pub quantity: Option<Quantity>,
}

const fn metric(name: &'static str, unit: MetricUnit, source: MetricSource) -> MetricDefinition {
    let (word, label, column) = (name, name, Some(name));
    MetricDefinition { about: "", name, word, label, column, unit, source, quantity: None }
}

const fn us(name: &'static str, times: TimesOf, quantile: Quantile) -> MetricDefinition {
    metric(name, MetricUnit::Microseconds, Times(times, quantile))
}

const fn bytes(name: &'static str, source: MetricSource) -> MetricDefinition {
    metric(name, MetricUnit::Bytes, source)
}

const fn count(name: &'static str, source: MetricSource) -> MetricDefinition {
    metric(name, MetricUnit::Count, source)
}

impl MetricDefinition {
    const fn compared(self, word: &'static str, label: &'static str, quantity: Quantity) -> Self {
        Self { word, label, quantity: Some(quantity), ..self }
    }

    const fn column(self, column: &'static str) -> Self {
        Self { column: Some(column), ..self }
    }

    const fn without_column(self) -> Self {
        Self { column: None, ..self }
    }
}

macro_rules! table {
    ($($(#[doc = $doc:literal])+ $metric:ident = $definition:expr;)+) => {
        /// A metric of a phase or of an operation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Metric { $($(#[doc = $doc])+ $metric,)+ }

        impl Metric {
            /// Every metric, in the order of JSON and CSV.
            pub const ALL: &[Self] = &[$(Self::$metric),+];
        }

        const TABLE: &[MetricDefinition] =
            &[$(MetricDefinition { about: concat!($($doc, "\n"),+), ..$definition }),+];
    };
}

table! {
    /// Operations a second: median of the rounds (of the whole phase).
    Throughput = metric(
        "throughput", MetricUnit::OperationsPerSecond, Phase(Median, |run, _| Some(run.throughput)),
    )
    .compared("throughput", "throughput", Quantity::Throughput).column("throughput_ops_per_s");
    /// Service time quantiles of all rounds together, us; None where too few samples.
    P50 = us("p50_us", Service, |of| of.p50_us).compared("p50", "p50", Quantity::P50);
    /// p90, us.
    P90 = us("p90_us", Service, |of| of.p90_us).compared("p90", "p90", Quantity::P90);
    /// p99, us.
    P99 = us("p99_us", Service, |of| of.p99_us).compared("p99", "p99", Quantity::P99);
    /// p99.9, us.
    P999 = us("p999_us", Service, |of| of.p999_us).compared("p999", "p99.9", Quantity::P999);
    /// Response time p50 (open loop), us.
    ResponseP50 = us("response_p50_us", Response, |of| of.p50_us);
    /// Response time p99 (open loop), us.
    ResponseP99 = us("response_p99_us", Response, |of| of.p99_us);
    /// Lateness of the adapter's own timers (open loop), p50, us.
    TimerP50 = us("timer_p50_us", Timer, |of| of.p50_us).without_column();
    /// The same, p99.
    TimerP99 = us("timer_p99_us", Timer, |of| of.p99_us).without_column();
    /// From the making of a message to its reading, the median of the rounds, us; None where no
    /// consumer reads.
    MessageP50 = metric(
        "message_p50_us", MetricUnit::Microseconds,
        Phase(Median, |run, _| run.broker.as_ref()?.latency.p50_us),
    )
    .without_column();
    /// The same at p99.
    MessageP99 = metric(
        "message_p99_us", MetricUnit::Microseconds,
        Phase(Median, |run, _| run.broker.as_ref()?.latency.p99_us),
    )
    .without_column();
    /// Making one document, median of the rounds, ns; None where none is made.
    DocumentNs = metric(
        "document_ns", MetricUnit::Nanoseconds, Phase(Median, |run, _| run.document_ns),
    )
    .without_column();
    /// Client CPU per operation, median of the rounds, us.
    CpuPerOp = metric(
        "cpu_us_per_op", MetricUnit::Microseconds, Phase(Median, |run, _| Some(run.cpu_us_per_op)),
    )
    .compared("cpu_per_op", "CPU per op", Quantity::CpuPerOperation);
    /// On the wire per operation, both directions; by the tap, else by the server's counters.
    BytesPerOp = bytes("bytes_per_op", Phase(Median, PhaseRun::bytes_per_op))
        .compared("bytes_per_op", "bytes per op", Quantity::WireBytes);
    /// Largest peak resident set, bytes.
    RssPeak = bytes("rss_peak_bytes", Phase(Maximum, |run, _| positive(run.rss_peak_bytes)))
        .compared("rss_peak", "peak memory", Quantity::PeakMemory);
    /// Largest resident set after the phase, bytes.
    RssHeld = bytes("rss_held_bytes", Phase(Maximum, |run, _| whole(run.rss_held_bytes)));
    /// Most threads at once, in any round.
    ThreadsPeak = count("threads_peak", Phase(Maximum, |run, _| whole(run.threads_peak)))
        .column("threads_peak_count");
    /// Most open connections at once, in any round.
    ConnectionsPeak = count(
        "connections_peak", Phase(Maximum, |run, _| whole(run.connections_peak)),
    )
    .column("connections_peak_count");
    /// Garbage collections in all rounds, where the runtime counts them.
    GcCount = count("gc_count", Phase(Sum, |run, _| whole(run.gc_count)));
    /// Their time, ns.
    GcNs = metric("gc_ns", MetricUnit::Nanoseconds, Phase(Sum, |run, _| whole(run.gc_ns)));
    /// Operations measured in all rounds.
    Operations = count("operations", Operation(Count, |of| whole(Some(of.count))))
        .column("operations_count");
    /// Failed operations in all rounds.
    Errors = count("errors", Operation(Count, |of| whole(Some(of.failed + of.wrong))))
        .column("errors_count");
    /// Attempts of the phase's transactions beyond the first of each, in all rounds; None without
    /// transactions.
    Retries = count("retries", Phase(Sum, |run, _| whole(run.retries))).column("retries_count");
    /// Documents that a right answer brings, the median of the rounds; of several finds in a mix
    /// their mean together. None where it brings none, or where the totals do not show it.
    DocumentsPerOp = count("documents_per_op", Answers);
    /// BSON bytes of the documents written or read in the phase; None where they are not known.
    DocumentBytes = bytes("document_bytes", Phase(WholeSum, |run, _| whole(run.document_bytes)));
}

fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// A resident set of 0 was not read.
fn positive(value: u64) -> Option<f64> {
    whole(Some(value)).filter(|value| *value > 0.0)
}

impl Metric {
    pub fn definition(self) -> &'static MetricDefinition {
        &TABLE[self as usize]
    }

    /// The name in comparisons, in gates, and for `--metric`.
    pub fn word(self) -> &'static str {
        self.definition().word
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|metric| metric.word() == word)
    }

    /// The metrics that arms are compared by.
    pub fn compared() -> impl Iterator<Item = (Self, Quantity)> {
        Self::ALL.iter().filter_map(|metric| Some((*metric, metric.definition().quantity?)))
    }

    pub fn unit(self) -> MetricUnit {
        self.definition().unit
    }

    /// Whether it is counted in bytes.
    pub fn is_size(self) -> bool {
        self.unit() == MetricUnit::Bytes
    }

    /// Whether arms have more or less of it, and are not slower or faster.
    pub fn is_amount(self) -> bool {
        let quantity = self.definition().quantity;
        quantity.is_none_or(|it| it != Quantity::Throughput && !it.limited_by_timer())
    }

    /// Whether it is of one operation, and not of the whole phase.
    pub fn is_of_operation(self) -> bool {
        !matches!(self.definition().source, Phase(..))
    }

    /// The quantile that it is, where it is one of times.
    pub fn quantile(self, of: &Quantiles) -> Option<f64> {
        let Times(_, quantile) = self.definition().source else { return None };
        quantile(of)
    }

    /// The value of one run. `counted` says whether the server's counters are ours alone.
    ///
    /// Open loops are judged by response time: a service time is then that from the intended start.
    pub fn value(self, run: &PhaseRun, operation: &str, counted: bool) -> Option<f64> {
        let own = || run.by_operation.iter().find(|it| it.operation == operation);
        match self.definition().source {
            Phase(_, value) => value(run, counted),
            Operation(_, value) => value(own()?),
            Times(Service, quantile) => {
                let own = own()?;
                quantile(own.response.as_ref().unwrap_or(&own.service))
            }
            Times(Response, quantile) => quantile(own()?.response.as_ref()?),
            Times(Timer, quantile) => quantile(&run.open_loop.as_ref()?.own_lag?),
            Answers => None,
        }
    }

    /// The quantile of response times that replaces it in an open loop.
    pub(crate) fn in_open_loop(self) -> Option<Self> {
        match self {
            Self::P50 => Some(Self::ResponseP50),
            Self::P99 => Some(Self::ResponseP99),
            _ => None,
        }
    }

    pub(crate) fn aggregation(self) -> Aggregation {
        match self.definition().source {
            Phase(aggregation, _) | Operation(aggregation, _) => aggregation,
            Times(..) | Answers => Median,
        }
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<str>::deserialize(deserializer)?;
        Self::named(&word)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&word), &"the word of a metric"))
    }
}

impl JsonSchema for Metric {
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Self::compared().map(|(metric, _)| metric.word()).collect();
        json_schema!({
            "type": "string",
            "enum": words,
            "description": "A metric that arms are compared by.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_metrics_share_a_name() {
        for name in [
            |of: &MetricDefinition| Some(of.name),
            |of: &MetricDefinition| Some(of.word),
            |of: &MetricDefinition| of.column,
        ] {
            let mut names: Vec<&str> = TABLE.iter().filter_map(name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all);
        }
    }
}
