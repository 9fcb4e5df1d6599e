//! What arms did in a phase, before their samples are read.

use std::path::PathBuf;
use std::time::Duration;

use crate::admin::Counters;
use crate::arm::Turn;
use adapter::messages::Ended;
use record::broker::ConsumerRun;

/// What one arm did in one phase.
pub struct Measured {
    /// Index of the arm in the experiment.
    pub arm: usize,
    /// Turns in order.
    pub turns: Vec<Turn>,
    /// Operations a second in each of them.
    pub rates: Vec<f64>,
    /// Place of each of them within its lap, from 0.
    pub positions: Vec<u32>,
    /// Length asked of each turn.
    pub turn_length: Duration,
    /// CPU of the other arms during its turns, ns.
    pub idle_cpu_ns: u64,
    /// Server counters over its turns.
    pub counters: Counters,
    /// Making one document, ns.
    pub document_ns: Option<f64>,
    /// Operations a second in each second of the warm-up.
    pub warmup_throughput: Vec<f64>,
    /// Totals, once the phase has ended.
    pub ended: Option<Ended>,
    /// Resident set when armed, bytes.
    pub rss_armed_bytes: u64,
    /// Peak resident set, bytes.
    pub rss_peak_bytes: u64,
    /// Collection sizes before and after.
    pub sizes: Counters,
    /// Collection that this arm wrote.
    pub written: Option<String>,
    /// Documents in it after the phase and its drain.
    pub documents_after: Option<i64>,
    /// What the consumer did, in a phase that has one.
    pub read: Option<Read>,
}

impl Measured {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(arm: usize) -> Self {
        Self {
            arm,
            turns: Vec::new(),
            rates: Vec::new(),
            positions: Vec::new(),
            turn_length: Duration::ZERO,
            idle_cpu_ns: 0,
            counters: Counters::new(),
            document_ns: None,
            warmup_throughput: Vec::new(),
            ended: None,
            rss_armed_bytes: 0,
            rss_peak_bytes: 0,
            sizes: Counters::new(),
            written: None,
            documents_after: None,
            read: None,
        }
    }
}

/// What a consumer did in one phase of one arm.
#[derive(Debug)]
pub struct Read {
    /// Its turn.
    pub turn: Turn,
    /// Its totals.
    pub ended: Ended,
    /// Its samples.
    pub samples: PathBuf,
    /// Resident set when it was in position, bytes.
    pub rss_armed_bytes: u64,
    /// Peak resident set, bytes.
    pub rss_peak_bytes: u64,
    /// Its clock agrees with the core's within so much, us.
    pub clock_within_us: Option<f64>,
}

impl Read {
    /// The record, but for what only its messages tell.
    #[must_use]
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
            ..ConsumerRun::default()
        }
    }
}
