//! The gates on wrong work (G1, G2, G3, G8 and the clock; section 3.4). The gates on noise are in
//! `disturbed` (G4) and `bias` (G5, G6, G7, G9).
//!
//! Each is a pure function of numbers measured elsewhere. A failed gate makes the comparison NOT
//! COMPARABLE and is named there; a warning is shown beside the verdict.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::littles_law::LittlesLawResult;
use format::fixed;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum GateId {
    /// Errors, receipts and result checksums.
    #[serde(rename = "G1")]
    Errors,
    /// Little's law over the samples.
    #[serde(rename = "G2")]
    LittlesLaw,
    /// The open-loop schedule was kept.
    #[serde(rename = "G3")]
    OfferedRate,
    /// The machine was ours and its clock fit.
    #[serde(rename = "G4")]
    Machine,
    /// No drift within the runs.
    #[serde(rename = "G5")]
    Steadiness,
    /// No effect of the position within a round.
    #[serde(rename = "G6")]
    Order,
    /// The A/A arm shows no difference.
    #[serde(rename = "G7")]
    SameVersion,
    /// Both arms ran under the same conditions.
    #[serde(rename = "G8")]
    Conditions,
    /// Idle arms were idle.
    #[serde(rename = "G9")]
    IdleCpu,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result", content = "reason")]
pub enum GateOutcome {
    /// Holds, or does not apply.
    Pass,
    /// Shown beside the verdict.
    Warn(String),
    /// NOT COMPARABLE, with this reason.
    Fail(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    pub gate: GateId,
    pub outcome: GateOutcome,
}

impl GateId {
    /// Returns the number in the methodology, `G1` to `G9`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Errors => "G1",
            Self::LittlesLaw => "G2",
            Self::OfferedRate => "G3",
            Self::Machine => "G4",
            Self::Steadiness => "G5",
            Self::Order => "G6",
            Self::SameVersion => "G7",
            Self::Conditions => "G8",
            Self::IdleCpu => "G9",
        }
    }

    fn pass(self) -> GateResult {
        GateResult { gate: self, outcome: GateOutcome::Pass }
    }

    fn warn(self, reason: String) -> GateResult {
        GateResult { gate: self, outcome: GateOutcome::Warn(reason) }
    }

    fn fail(self, reason: String) -> GateResult {
        GateResult { gate: self, outcome: GateOutcome::Fail(reason) }
    }

    /// The first reason that applies, failures before warnings.
    fn first(self, failures: &[(bool, String)], warnings: &[(bool, String)]) -> GateResult {
        let applying = |list: &[(bool, String)]| {
            list.iter().find(|(applies, _)| *applies).map(|(_, reason)| reason.clone())
        };
        match (applying(failures), applying(warnings)) {
            (Some(reason), _) => self.fail(reason),
            (None, Some(reason)) => self.warn(reason),
            (None, None) => self.pass(),
        }
    }
}

/// Returns the reasons of failed gates, as `compare` takes them.
pub fn failures(checked: &[GateResult]) -> Vec<String> {
    let reason = |checked: &GateResult| match &checked.outcome {
        GateOutcome::Fail(reason) => Some(reason.clone()),
        GateOutcome::Pass | GateOutcome::Warn(_) => None,
    };
    checked.iter().filter_map(reason).collect()
}

/// Counts of one run, for G1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunCounts {
    /// Operations by their samples, failed ones included.
    pub operations: u64,
    pub errors: u64,
    /// Operations that the server counted (the receipt), where it can count them.
    pub received: Option<u64>,
    /// Checksum of the results, if the workload has one.
    pub checksum: Option<u64>,
}

/// G1: errors, or the gap of samples and receipts, above 0.1 % of the operations; different
/// checksums.
///
/// Samples are compared with receipts of the same arm ("counts differ" of section 3.4). Two arms of
/// different speed never do the same number of operations in a timed window.
pub fn errors(name_a: &str, a: &RunCounts, name_b: &str, b: &RunCounts) -> GateResult {
    let mut reasons = Vec::new();
    for (name, run) in [(name_a, a), (name_b, b)] {
        let limit = run.operations as f64 / 1_000.0;
        let (operations, errors) = (run.operations, run.errors);
        let reason = format!("{name} failed in {errors} of {operations} operations");
        reasons.push((errors as f64 > limit, reason));
        let received = run.received.unwrap_or(operations);
        let reason = format!("{name} claims {operations} operations, {received} were counted");
        reasons.push((received.abs_diff(operations) as f64 > limit, reason));
        reasons.push((operations == 0, format!("{name} completed no operation")));
    }
    let checksums = a.checksum.zip(b.checksum);
    let reason = format!("{name_a} and {name_b} returned different results");
    reasons.push((checksums.is_some_and(|(a, b)| a != b), reason));
    GateId::Errors.first(&reasons, &[])
}

/// What samples may claim, for G2.
#[derive(Debug, Clone, Copy, Default)]
pub struct Possible<'a> {
    /// The first sample that cannot be, in words.
    pub fault: Option<&'a str>,
    /// The workers, or the window; None where nothing bounds what is in flight.
    pub most_in_flight: Option<u64>,
}

/// G2: samples that cannot be, N̄ and X R̄ apart by more than 2 %, more in flight than the workers
/// can have, or samples of another clock.
pub fn littles_law(
    name: &str,
    little: Option<&LittlesLawResult>,
    claims: &Possible<'_>,
) -> GateResult {
    let gate = GateId::LittlesLaw;
    if let Some(fault) = claims.fault {
        return gate.fail(format!("{name} writes samples that cannot be: {fault}"));
    }
    let Some(little) = little else {
        return gate.warn(format!("{name}: no samples, Little's law was not checked"));
    };
    let Some(percent) = little.discrepancy_percent() else {
        return gate.fail(format!("{name}: no sample lies in its measured time"));
    };
    let reason = format!(
        "{name}: {} operations in flight but rate x time is {} (Little's law, {} %)",
        fixed(little.in_flight, 3),
        fixed(little.rate_times_time, 3),
        fixed(percent, 1)
    );
    let clocks = format!(
        "{name}: {} of {} samples lie outside the measured time",
        little.outside, little.samples
    );
    let many_outside = little.outside as f64 > 0.02 * little.samples as f64;
    let most = claims.most_in_flight.unwrap_or(u64::MAX);
    let too_many = format!(
        "{name}: {} operations in flight, where at most {most} can be",
        fixed(little.in_flight, 3)
    );
    let many = little.in_flight > 1.02 * most as f64;
    gate.first(&[(percent > 2.0, reason), (many, too_many), (many_outside, clocks)], &[])
}

/// An open-loop run, for G3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenLoopRun {
    /// By the schedule.
    pub offered_per_second: f64,
    pub achieved_per_second: f64,
    /// Operations given up.
    pub dropped: u64,
    /// Mean share of the workers that were busy.
    pub busy_fraction: f64,
    /// None with too few samples for any quantile.
    pub lag: Option<Lag>,
}

/// How late the starts of an open loop are while a worker is free to keep them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lag {
    /// The highest quantile for which the run has samples enough, such as `p99`.
    pub quantile: &'static str,
    /// Lateness behind the intended start, or behind the worker's last end where that is later, us.
    pub own_us: f64,
    /// Response time at the same quantile, us.
    pub response_us: f64,
}

/// From this share on, operations wait for a worker.
pub const WORKERS_BUSY: f64 = 0.9;

/// G3: the schedule was not kept, by achieved rate, drops or the adapter's own timers.
pub fn offered_rate(name: &str, run: &OpenLoopRun) -> GateResult {
    let because = |what: String| format!("{name} is generator-limited: {what}");
    let (achieved, offered) = (run.achieved_per_second, run.offered_per_second);
    let workers = if run.busy_fraction >= WORKERS_BUSY {
        "all its workers are busy"
    } else {
        "although workers are free"
    };
    let rates = [achieved, offered].map(format::figure).join(" of ");
    let rate = because(format!("{rates} operations/s achieved, {workers}"));
    let dropped = because(format!("{} operations dropped", run.dropped));
    let mut failures = vec![(achieved < 0.99 * offered, rate), (run.dropped > 0, dropped)];
    if let Some(Lag { quantile, own_us, response_us }) = run.lag {
        let own = format::time(own_us);
        let late = because(format!("its own timers are late by {own} ({quantile})"));
        failures.push((own_us > (0.1 * response_us).max(2_000.0), late));
    }
    GateId::OfferedRate.first(&failures, &[])
}

/// The system's clock source: one that is slow or not monotonic measures wrongly.
///
/// Section 3.4 says "tsc/monotonic". The clocks of virtual machines and of ARM pass too: they are
/// monotonic and read without a system call. `hpet`, `acpi_pm` and `jiffies` do not pass; an empty
/// name, where the system names none, does.
pub fn clock_source(name: &str) -> GateResult {
    const CLOCKS: [&str; 6] =
        ["tsc", "monotonic", "kvm-clock", "xen", "hyperv_clocksource_tsc_page", "arch_sys_counter"];
    let unfit = !name.is_empty() && !CLOCKS.contains(&name);
    GateId::Machine.first(&[(unfit, format!("the clock source is {name}"))], &[])
}

/// G8: conditions (server version, data set hash, options, TLS, compression, pool size, runtime)
/// that differ between the arms.
///
/// `follows_from_axis` names those that follow from the declared axis: driver, version, and their
/// defaults. They are listed as a warning and not gated.
pub fn conditions(
    a: &BTreeMap<String, String>,
    b: &BTreeMap<String, String>,
    follows_from_axis: &BTreeSet<String>,
) -> GateResult {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let value = |of: &BTreeMap<String, String>, key: &str| {
        of.get(key).cloned().unwrap_or_else(|| "unknown".to_owned())
    };
    let (mut gated, mut listed) = (Vec::new(), Vec::new());
    for key in keys.into_iter().filter(|key| a.get(*key) != b.get(*key)) {
        let difference = format!("{key} {} against {}", value(a, key), value(b, key));
        if follows_from_axis.contains(key) { &mut listed } else { &mut gated }.push(difference);
    }
    GateId::Conditions.first(
        &[(!gated.is_empty(), format!("the arms differ in {}", gated.join(", ")))],
        &[(!listed.is_empty(), format!("defaults differ: {}", listed.join(", ")))],
    )
}
