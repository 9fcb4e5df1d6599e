//! One turn: its samples, counted.

/// A worker with so many failures in a row gives the phase up: the server is gone.
pub const ERRORS_CONSECUTIVE_MAX: u32 = 10;

/// One turn of an arm, or of one of its processes: by its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turned {
    pub began_ns: u64,
    /// End of the last operation.
    pub ended_ns: u64,
    pub operations: u64,
    pub completed_by_deadline: u64,
    /// Operations that were not right.
    pub errors: u64,
    pub exhausted: bool,
    pub gave_up: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct ArmTurn {
    /// The turns of the arm's processes, merged.
    pub turned: Turned,
    pub until_ns: u64,
    pub cpu_ns: u64,
}

impl ArmTurn {
    /// Operations and nanoseconds that throughput is made of (methodology 2.7 c). With one worker a
    /// turn's time runs to the last end. With more, operations completed by the deadline count over
    /// the turn's length: after it fewer workers run than were asked for.
    pub fn counted(&self, one_worker: bool) -> (u64, u64) {
        let turned = self.turned;
        if one_worker || turned.exhausted || turned.gave_up || turned.completed_by_deadline == 0 {
            (turned.operations, turned.ended_ns.saturating_sub(turned.began_ns))
        } else {
            (turned.completed_by_deadline, self.until_ns.saturating_sub(turned.began_ns))
        }
    }

    /// Operations a second, by [`Self::counted`].
    pub fn rate(&self, one_worker: bool) -> f64 {
        let (operations, ns) = self.counted(one_worker);
        operations as f64 * 1e9 / ns.max(1) as f64
    }
}
