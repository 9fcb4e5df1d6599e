use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::evidence::{Evidence, Shown};
use record::broker::Parts;
use stats::curve::Class;
use stats::descriptive::{Interval, OverRounds};

/// The study's tables and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BrokerAnalysis {
    /// Phases in order.
    pub phases: Vec<PhaseAnalysis>,
    /// The answer, a finding at a time.
    pub evidence: Vec<Evidence>,
    /// Failures, and remarks on the figures.
    pub notes: Vec<String>,
}

/// One way of issuing messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseAnalysis {
    pub phase: String,
    /// How messages are issued, in words.
    pub pacing: String,
    /// Whether messages are intended at times of their own.
    pub open: bool,
    /// Arms in order.
    pub rows: Vec<Row>,
}

/// One arm in one phase, over its rounds past the tap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    pub arm: String,
    /// The phase issues as the original program did.
    pub original: bool,
    /// With the reason.
    pub lost_rounds: Vec<LostRound>,
    /// The curve of each round: latency from made to received, in the order made.
    pub curves: Vec<RoundCurve>,
    /// The same from the moment a message was intended; empty in closed loops.
    pub curves_since_intended: Vec<RoundCurve>,
    /// Median latency, us.
    pub latency_p50_us: Option<OverRounds>,
    /// Its 90th percentile, us.
    pub latency_p90_us: Option<OverRounds>,
    /// Slope of latency, us a message.
    pub slope_us: Option<OverRounds>,
    /// Slope of one saturated queue: 1/capacity - 1/issue rate, us a message.
    pub slope_predicted_us: Option<OverRounds>,
    /// Messages received a second.
    pub received_per_s: Option<OverRounds>,
    /// Messages made a second.
    pub made_per_s: Option<OverRounds>,
    /// Inserts reported as done, over all rounds.
    pub sent: u64,
    /// Messages received, over all rounds.
    pub received: u64,
    /// Messages lost, over all rounds.
    pub lost: u64,
    /// Messages received once more, over all rounds.
    pub duplicates: u64,
    /// Messages that came after a later one of the same producer.
    pub out_of_order_per_producer: u64,
    /// Messages that came after one made later.
    pub out_of_order: u64,
    /// Rounds in which the consumer could not keep up.
    pub saturated_rounds: u32,
    /// Cursors that died and were opened again.
    pub cursors_reopened: u64,
    /// Times the consumer's position had been overwritten.
    pub positions_lost: u64,
    /// CPU of the producers, us a message.
    pub producer_cpu_us: Option<OverRounds>,
    /// CPU of the consumer, us a message.
    pub consumer_cpu_us: Option<OverRounds>,
    /// Peak resident set of the producers, bytes.
    pub producer_rss_bytes: Option<OverRounds>,
    /// Peak resident set of the consumer, bytes.
    pub consumer_rss_bytes: Option<OverRounds>,
    /// Where the time passed, in the round through the tap.
    pub parts: Option<Parts>,
    /// Median latency in that round, us: less `latency_p50_us` it is the tap's cost.
    pub tapped_p50_us: Option<f64>,
}

/// A round without result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostRound {
    pub round: u32,
    pub reason: String,
}

/// One round's curve in short; the whole stands in the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundCurve {
    pub round: u32,
    pub class: Class,
    /// Why.
    pub reason: String,
    /// Growth of latency over the run, us; None with too few messages.
    pub growth_us: Option<Interval>,
    /// Slope, us a message.
    pub slope_us: Option<f64>,
    /// Growth that would be worth a word, us.
    pub threshold_us: f64,
    /// Messages made a second.
    pub made_per_s: Option<f64>,
    /// Messages received a second.
    pub received_per_s: Option<f64>,
    /// Median latency from made to received, us.
    pub latency_p50_us: Option<f64>,
}

impl RoundCurve {
    /// Whether latency grew by more than is worth a word, whatever the shape.
    pub fn grows(&self) -> bool {
        self.growth_us.is_some_and(|growth| growth.low > self.threshold_us)
    }
}

/// Names of classes and their rounds, the most frequent first; empty without rounds. `growing` is
/// growth by neither a line nor a logarithm.
pub fn tally(curves: &[RoundCurve]) -> Vec<(&'static str, usize)> {
    let name = |curve: &RoundCurve| match curve.class {
        Class::Flat => "flat",
        Class::Linear => "linear",
        Class::Logarithmic => "logarithmic",
        Class::Unclear if curve.grows() => "growing",
        Class::Unclear => "unclear",
    };
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for curve in curves {
        match counts.iter_mut().find(|(known, _)| *known == name(curve)) {
            Some((_, count)) => *count += 1,
            None => counts.push((name(curve), 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}
