//! The record of a phase whose documents are messages (SPEC section 8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantiles::Quantiles;
use stats::curve::Curve;

/// Counts and times of the messages of one phase of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Broker {
    /// Inserts that the producers' driver reported as done.
    pub sent: u64,
    /// Messages that the consumer had, each counted once.
    pub received: u64,
    /// Sent and never received.
    pub lost: u64,
    /// Received once more.
    pub duplicates: u64,
    /// Received, though the producer's driver reported no success.
    pub unclaimed: u64,
    /// Messages that came after one of the same producer with a higher number.
    pub out_of_order_per_producer: u64,
    /// Messages that came after one that was made later, of any producer.
    pub out_of_order: u64,
    /// From the moment the program made a message to the moment the consumer had it.
    pub latency: Quantiles,
    /// The latency's course over the messages in the order in which they were made.
    pub curve: Curve,
    /// From the moment a message was intended: bursts and rates, else None.
    pub since_intended: Option<Quantiles>,
    /// The course over the messages in the order in which they were intended. In a burst all are
    /// intended at once: there in the order in which they arrived.
    pub curve_since_intended: Option<Curve>,
    /// Messages made a second, from the first to the last.
    pub issue_rate_per_s: Option<f64>,
    /// Messages received a second, from the first to the last.
    pub receive_rate_per_s: Option<f64>,
    /// Where the time passed; only in rounds through the tap.
    pub parts: Option<Parts>,
    /// The process that read them.
    pub consumer: ConsumerRun,
}

/// Work and troubles of the consumer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsumerRun {
    /// Cursors it opened: one, and one more for each that died.
    pub cursors: u64,
    /// Times that its position had been overwritten when it opened a new cursor.
    pub positions_lost: u64,
    /// Messages that were acknowledged and not yet received when the last one was acknowledged.
    pub behind: u64,
    /// It could not keep up: `behind` is more than a consumer in step ever has.
    pub saturated: bool,
    /// It ended before the core's marker or the last message: idle, given up, out of time.
    pub cut_short: bool,
    /// The largest difference of its clock to the core's, us.
    pub clock_within_us: Option<f64>,
    /// CPU during its turn, ns.
    pub cpu_ns: u64,
    /// Resident set when it was in position, bytes.
    pub rss_armed_bytes: u64,
    /// Peak resident set, bytes.
    pub rss_peak_bytes: u64,
    /// Resident set after its end, bytes.
    #[serde(default)]
    pub rss_held_bytes: Option<u64>,
    /// The raw samples under the folder; None when the disk budget was used up.
    pub samples: Option<String>,
}

/// Where the time of the messages passed, by tap and samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parts {
    /// Messages whose commands were found in the tap's record.
    pub matched: u64,
    /// Messages whose commands were not.
    pub unmatched: u64,
    /// Before the program called the driver, waiting for its turn in a burst included.
    pub program: Part,
    /// In the driver, until the last byte of its request was at the tap.
    pub driver: Part,
    /// In the tap and on its link.
    pub wire: Part,
    /// In the server, until the first byte of the reply that brings it to the consumer.
    pub server: Part,
    /// From there to the program's hands.
    pub consumer: Part,
}

impl Parts {
    /// By name, in the order in which a message passes them.
    pub fn named(&self) -> [(&'static str, Part); 5] {
        [
            ("program", self.program),
            ("driver", self.driver),
            ("wire", self.wire),
            ("server", self.server),
            ("consumer", self.consumer),
        ]
    }
}

/// One part of the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Median, us.
    pub p50_us: f64,
    /// Median over the first tenth of the messages, us.
    pub first_us: f64,
    /// Median over the last tenth, us.
    pub last_us: f64,
}

impl Part {
    /// Growth of the part over the run.
    pub fn grown_us(&self) -> f64 {
        self.last_us - self.first_us
    }
}
