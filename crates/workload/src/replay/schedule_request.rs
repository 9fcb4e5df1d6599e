//! Which schedule is asked for: a phase, and the workers of one process.

use crate::plan::Phase;

/// Processes that a phase is split over, at most.
const PROCESSES_MAX: u32 = 64;

/// Which schedule is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScheduleRequest {
    pub phase: usize,
    pub workers: Workers,
    /// Number of the round (or of the warm-up): other numbers give other keys.
    pub round: u64,
    /// Seconds measured, where the phase is not limited by operations.
    pub seconds: f64,
}

/// Which of the phase's workers one process has; all of them are `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workers {
    pub first: u32,
    pub count: u32,
    pub of: u32,
}

impl Workers {
    /// All of a phase's in one process.
    pub fn all(of: u32) -> Self {
        Self { first: 0, count: of, of }
    }

    /// Number of the process, and of all processes: each has equally many workers.
    pub fn process(self) -> (u64, u64) {
        (u64::from(self.first / self.count), u64::from(self.of / self.count))
    }
}

/// Splits a phase's workers over processes, equally many for each. Err: why the arm takes no part.
pub fn split(
    phase: &Phase,
    own_processes: Option<u32>,
    max: Option<u32>,
) -> Result<Vec<Workers>, String> {
    let of = phase.workers * own_processes.unwrap_or(phase.processes);
    let fits = |count: &u32| phase.workers.is_multiple_of(*count);
    let most = max.unwrap_or(phase.workers).clamp(1, phase.workers);
    let count = (1..=most).rev().find(fits).unwrap_or(1);
    let processes = of / count;
    if count < phase.workers && processes > PROCESSES_MAX {
        let worker = if most == 1 { "worker" } else { "workers" };
        return Err(format!(
            "takes {most} {worker} a process: {of} workers need {processes} processes, at most \
             {PROCESSES_MAX}"
        ));
    }
    Ok((0..processes).map(|process| Workers { first: process * count, count, of }).collect())
}
