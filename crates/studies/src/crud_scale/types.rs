use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cells::Series;
use crate::evidence::Evidence;
use stats::descriptive::{Interval, OverRounds};
use stats::growth::Growth;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CrudScaleAnalysis {
    /// Every figure, by part, driver and operation.
    pub rates: Vec<Rate>,
    /// Of each cost with the number of documents.
    pub growth: Vec<Growing>,
    /// Of each rate with the number of threads.
    pub scaling: Vec<Scaling>,
    /// Searches right behind one-way inserts.
    pub unwaited: Vec<Unwaited>,
    /// The findings of 2010, one by one, and what was asked beyond them.
    pub evidence: Vec<Evidence>,
    /// Failures.
    pub notes: Vec<String>,
}

/// One operation of one driver in one part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    pub part: String,
    pub series: Series,
    /// Millions of documents at scale 1.
    pub millions: u32,
    /// Documents in the collection.
    pub documents: u64,
    pub threads: u32,
    /// Driver.
    pub arm: String,
    pub operation: String,
    /// Operations a second of the wall clock.
    pub per_s: Option<OverRounds>,
    /// Operations a second of the threads' times, as the original reckoned.
    pub per_thread_s: Option<OverRounds>,
    /// The original's, with its own number of documents; None where it is not known.
    pub per_s_2010: Option<f64>,
    /// `per_s` of each round, in order; None where the run does not count.
    pub rounds: Vec<Option<f64>>,
    /// Reasons of runs that do not count.
    pub lost: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Growing {
    pub series: Series,
    /// Driver.
    pub arm: String,
    /// As in the rates; `scan`: a search by value less one by key.
    pub operation: String,
    /// None with too few sizes or rounds.
    pub growth: Option<Growth>,
    /// The exponent of the original's figures; None where fewer than three are known.
    pub exponent_2010: Option<f64>,
}

/// The law of scaling, acknowledged, by threads; None with too few threads or rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaling {
    /// Driver.
    pub arm: String,
    pub operation: String,
    /// Contention.
    pub alpha: Interval,
    /// Coherency.
    pub beta: Interval,
    /// Operations a second of one thread.
    pub gamma: Interval,
    /// Threads that bring 90 % of the highest rate.
    pub knee: Interval,
    /// Threads beyond which the rate falls, where that was measured.
    pub peak: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unwaited {
    /// Driver.
    pub arm: String,
    /// Searches of all rounds.
    pub searches: u64,
    /// Of them, those that did not find their document.
    pub missed: u64,
    /// Mean time of a search by `_id` right behind one-way inserts, us.
    pub search_us: Option<OverRounds>,
    /// The same once the server has worked off the inserts, us.
    pub waited_search_us: Option<OverRounds>,
}
