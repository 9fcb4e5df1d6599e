//! Results of a phase before its samples are read.

use std::path::PathBuf;
use std::time::Duration;

use crate::admin::MongodCounters;
use crate::clients::Peak;
pub use crate::collect::tail::Claimed;
use crate::turn::ArmTurn;
use adapter::protocol::PhaseEnd;
use record::broker::ConsumerRun;

pub struct MeasuredPhase {
    pub arm: usize,
    pub turns: Vec<ArmTurn>,
    /// Operations a second, by turn.
    pub rates: Vec<f64>,
    /// Place of each turn within its lap, from 0.
    pub positions: Vec<u32>,
    pub turn_length: Duration,
    /// CPU of the other arms during its turns, ns.
    pub idle_cpu_ns: u64,
    /// The arm's own CPU time during the others' turns, ns.
    pub waiting_cpu_ns: u64,
    /// After its turns, until the server had its unanswered writes; None where it answered all.
    pub arriving: Option<Duration>,
    /// Server counters over its turns.
    pub counters: MongodCounters,
    /// Cost of making one document, ns.
    pub document_ns: Option<f64>,
    /// Operations a second in each second of the warm-up.
    pub warmup_throughput: Vec<f64>,
    pub ended: Option<PhaseEnd>,
    pub claimed: Claimed,
    pub rss_armed_bytes: u64,
    pub rss_peak_bytes: u64,
    /// After its end.
    pub rss_held_bytes: u64,
    /// None where it was never read.
    pub peak: Option<Peak>,
    /// Collection sizes before and after.
    pub sizes: MongodCounters,
    /// The collection that this arm alone wrote.
    pub written: Option<String>,
    /// Documents in it after the phase and its drain.
    pub documents_after: Option<i64>,
    pub read: Option<Read>,
}

impl MeasuredPhase {
    pub fn new(arm: usize) -> Self {
        Self {
            arm,
            turns: Vec::new(),
            rates: Vec::new(),
            positions: Vec::new(),
            turn_length: Duration::ZERO,
            idle_cpu_ns: 0,
            waiting_cpu_ns: 0,
            arriving: None,
            counters: MongodCounters::new(),
            document_ns: None,
            warmup_throughput: Vec::new(),
            ended: None,
            claimed: Claimed::default(),
            rss_armed_bytes: 0,
            rss_peak_bytes: 0,
            rss_held_bytes: 0,
            peak: None,
            sizes: MongodCounters::new(),
            written: None,
            documents_after: None,
            read: None,
        }
    }
}

/// A consumer's part in one phase of one arm.
#[derive(Debug)]
pub struct Read {
    pub turn: ArmTurn,
    pub ended: PhaseEnd,
    pub samples: PathBuf,
    pub claimed: Claimed,
    /// Resident set in position, bytes.
    pub rss_armed_bytes: u64,
    pub rss_peak_bytes: u64,
    /// After its end.
    pub rss_held_bytes: u64,
    /// Largest difference between its clock and the core's, us.
    pub clock_within_us: Option<f64>,
}

impl Read {
    /// The record without the figures that need its messages.
    pub fn record(&self) -> ConsumerRun {
        let consumed = self.ended.consumer.unwrap_or_default();
        ConsumerRun {
            cursors: consumed.cursors,
            positions_lost: consumed.positions_lost,
            cut_short: !self.turn.turned.exhausted,
            clock_within_us: self.clock_within_us,
            cpu_ns: self.turn.cpu_ns,
            rss_armed_bytes: self.rss_armed_bytes,
            rss_peak_bytes: self.rss_peak_bytes,
            rss_held_bytes: Some(self.rss_held_bytes),
            ..ConsumerRun::default()
        }
    }
}
