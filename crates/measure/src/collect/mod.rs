//! Collectors of a phase's samples. Each file is read once, and each sample goes to all collectors.
//! Memory does not grow with the number of operations, with two exceptions: joined messages (48
//! bytes each) and calls to match with the tap's commands (16 bytes each).

mod answers;
mod claims;
mod counts;
mod drift;
mod intervals;
mod lateness;
mod queue;
pub mod tail;
#[cfg(test)]
pub mod test_support;

use std::path::PathBuf;

pub use answers::{GivenAnswers, RightAnswers};
pub use lateness::Lateness;

use crate::measured::MeasuredPhase;
use crate::turn::ArmTurn;
use base::error::Result;
use counts::Counts;
use drift::TurnDrift;
use intervals::Intervals;
use queue::Extent;
use record::messages::Sent;
use record::samples::Sample;
use stats::littles_law::{LittlesLaw, Stretch};
use tail::each;
use tap::tap_summary::CallSpan;
use workload::expected::Expected;
use workload::plan::Phase;

/// All results of one pass over the samples of one phase of one run.
pub struct Collected {
    pub expected: Expected,
    /// By operation.
    pub given: Vec<Option<GivenAnswers>>,
    pub counts: Counts,
    pub drift: TurnDrift,
    pub intervals: Intervals,
    pub law: LittlesLaw,
    pub lateness: Option<Lateness>,
    pub extent: Option<Extent>,
    pub sent: Option<Sent>,
    /// Through the tap; empty where `sent` has the same times.
    pub calls: Vec<CallSpan>,
}

/// Reads the samples of a phase, one file a process.
pub async fn read(
    files: &[PathBuf],
    phase: &Phase,
    measured: &MeasuredPhase,
    mut answers: RightAnswers<'_>,
    tapped: bool,
) -> Result<Collected> {
    let turns = &measured.turns;
    let stretch =
        |it: &ArmTurn| Stretch { start_ns: it.turned.began_ns, end_ns: it.turned.ended_ns };
    let mut counts = Counts::new(phase);
    let mut drift = TurnDrift::new(phase.operations.len(), turns);
    let mut intervals = Intervals::new(phase, turns);
    let mut law = LittlesLaw::over(turns.iter().map(stretch).collect());
    let mut lateness = Lateness::of(phase);
    let mut extent = Extent::of(phase);
    let mut sent = measured.read.is_some().then(Sent::default);
    let mut calls = Vec::new();
    let keeps_calls = tapped && sent.is_none();
    let take = |process: u32, sample: &Sample| {
        answers.take(process, sample)?;
        law.add(sample.start_ns, sample.end_ns());
        if let Some(extent) = &mut extent {
            extent.take(sample);
        }
        if let Some(sent) = &mut sent {
            sent.take(sample);
        }
        if keeps_calls {
            calls.push(CallSpan::of(sample));
        }
        if usize::from(sample.operation) >= phase.operations.len() {
            // An unknown operation. It is missing from the counts, which G1 holds against the
            // turns.
            return Ok(());
        }
        counts.take(sample);
        let own_lag_ns = lateness.as_mut().map(|it| it.take(sample));
        if sample.outcome == 0 {
            drift.take(sample);
            intervals.take(sample, own_lag_ns);
        }
        Ok(())
    };
    each(files, &measured.claimed, take).await?;
    let (expected, given) = (answers.expected(), answers.given());
    Ok(Collected { expected, given, counts, drift, intervals, law, lateness, extent, sent, calls })
}
