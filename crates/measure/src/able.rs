//! Which phases an arm takes part in: by what its adapter declares, never by lists of adapters.

use adapter::messages::{Hello, Pacing};
use workload::plan::{Kind, Operation, Phase, Plan};
use workload::schedule::split;

/// An arm's part in an experiment.
#[derive(Debug, Clone)]
pub struct Part {
    /// With the arm's own numbers of processes, and of workers in each.
    pub plan: Plan,
    /// By phase: what it lacks, so that it takes no part in it.
    pub missing: Vec<Option<String>>,
}

impl Part {
    /// So many processes as the phases need that it takes part in.
    pub fn processes(&self) -> u32 {
        let taken = self.plan.phases.iter().zip(&self.missing).filter(|(_, it)| it.is_none());
        taken.map(|(phase, _)| phase.processes).max().unwrap_or(1)
    }
}

/// `own` is the arm's own number of processes.
pub fn part(hello: &Hello, plan: &Plan, own: Option<u32>, clients: usize) -> Part {
    let mut plan = plan.with_processes(own);
    let fit = |phase: &mut Phase| match split(phase, None, hello.capabilities.concurrency.max) {
        Ok(workers) => {
            phase.processes = workers.len() as u32;
            phase.workers = workers.first().map_or(phase.workers, |it| it.count);
            missing(hello, phase, clients)
        }
        Err(reason) => Some(reason),
    };
    let missing = plan.phases.iter_mut().map(fit).collect();
    Part { plan, missing }
}

/// The first ability that a phase needs and the adapter does not declare.
pub fn missing(hello: &Hello, phase: &Phase, clients: usize) -> Option<String> {
    let declared = &hello.capabilities;
    let lacks = |known: &[String], word: &str, what: &str| {
        (!known.iter().any(|it| it == word)).then(|| format!("{what}{word}"))
    };
    if clients > 1
        && let Some(missing) = lacks(&declared.extras, "clients", "several ")
    {
        return Some(missing);
    }
    let pacing = Pacing::from(phase.pacing).word();
    let pacing = lacks(&declared.pacing, pacing, "the pacing ");
    pacing.or_else(|| {
        phase.operations.iter().find_map(|made| {
            let kind = lacks(&declared.operations, made.kind.name(), "the operation ");
            let shape = || lacks(&declared.shapes, made.shape.as_deref()?, "the shape ");
            let extra = || extras(made).find_map(|it| lacks(&declared.extras, it, ""));
            kind.or_else(shape).or_else(extra)
        })
    })
}

/// Words of `extras` that an operation needs.
fn extras(made: &Operation) -> impl Iterator<Item = &'static str> {
    let unacknowledged = made.write_concern.as_ref().is_some_and(|it| it["w"] == 0);
    let concerns = [
        (made.write_concern.is_some() && !unacknowledged, "write_concern"),
        (made.read_concern.is_some(), "read_concern"),
        (made.read_preference.is_some(), "read_preference"),
    ];
    let on_command = made.kind == Kind::Command && concerns.iter().any(|(given, _)| *given);
    let of_collection = made.kind != Kind::Command;
    let concerns = concerns.into_iter().filter(move |(given, _)| *given && of_collection);
    concerns.map(|(_, word)| word).chain(
        [
            (on_command, "command_concerns"),
            (unacknowledged, "unacknowledged"),
            (made.lazy == Some(true), "lazy_insert"),
        ]
        .into_iter()
        .filter_map(|(needed, word)| needed.then_some(word)),
    )
}
