//! Which phases an arm takes part in: by what its adapter declares, never by lists of adapters.

use adapter::protocol::{AdapterPacing, Capabilities, Hello};
use workload::plan::{Operation, OperationKind, Phase, Plan};
use workload::schedule::split;

/// An arm's part in an experiment.
#[derive(Debug, Clone)]
pub struct ArmPlan {
    /// The plan with the arm's numbers of processes, and of workers in each.
    pub plan: Plan,
    /// By phase: why it takes no part in it.
    pub missing: Vec<Option<String>>,
}

impl ArmPlan {
    /// So many processes as the phases need that it takes part in.
    pub fn processes(&self) -> u32 {
        let taken = self.plan.phases.iter().zip(&self.missing).filter(|(_, it)| it.is_none());
        taken.map(|(phase, _)| phase.processes).max().unwrap_or(1)
    }

    /// The most workers of a process in any phase.
    pub fn workers(&self) -> u32 {
        self.plan.phases.iter().map(|phase| phase.workers).max().unwrap_or(1)
    }
}

/// `own` is the arm's own number of processes.
pub fn part(hello: &Hello, plan: &Plan, own: Option<u32>) -> ArmPlan {
    let mut plan = plan.with_processes(own);
    let clients = plan.clients;
    let fit = |phase: &mut Phase| match split(phase, None, hello.capabilities.concurrency.max) {
        Ok(workers) => {
            phase.processes = workers.len() as u32;
            phase.workers = workers.first().map_or(phase.workers, |it| it.count);
            let missing = missing(hello, phase, clients.count(phase.workers));
            missing.map(|missing| format!("its adapter has no {missing}"))
        }
        Err(reason) => Some(format!("its adapter {reason}")),
    };
    let mut missing: Vec<Option<String>> = plan.phases.iter_mut().map(fit).collect();
    for number in 0..plan.phases.len() {
        let begins = plan.story(number).start;
        // Without what these left there is nothing to go on with.
        let lost = |earlier: &usize| {
            missing[*earlier].is_some() && (*earlier == begins || plan.phases[*earlier].writes)
        };
        if missing[number].is_none()
            && let Some(earlier) = (begins..number).find(lost)
        {
            let reason = format!("it goes on from {}, which is not", plan.phases[earlier].name);
            missing[number] = Some(reason);
        }
    }
    ArmPlan { plan, missing }
}

/// One word of an adapter's capabilities.
struct Ability<'a> {
    /// List among the capabilities.
    list: fn(&Capabilities) -> &[String],
    word: &'a str,
    /// For people.
    said: String,
}

/// The first ability that a phase needs and the adapter does not declare.
pub fn missing(hello: &Hello, phase: &Phase, clients: u32) -> Option<String> {
    let declared = &hello.capabilities;
    let is_missing = |it: &Ability<'_>| !(it.list)(declared).iter().any(|word| word == it.word);
    abilities(phase, clients).find(is_missing).map(|it| it.said)
}

/// The first ability that a phase needs and that is among those that a driver lacks.
pub fn lacked(lacks: &[String], phase: &Phase, clients: u32) -> Option<String> {
    let is_lacked = |it: &Ability<'_>| lacks.iter().any(|word| word == it.word);
    abilities(phase, clients).find(is_lacked).map(|it| it.said)
}

fn abilities(phase: &Phase, clients: u32) -> impl Iterator<Item = Ability<'_>> {
    let extra = |word, said: &str| Ability { list: |it| &it.extras, word, said: said.to_owned() };
    let several = (clients > 1).then(|| extra("clients", "several clients"));
    let word = AdapterPacing::from(phase.pacing).word();
    let pacing = Ability { list: |it| &it.pacing, word, said: format!("{word} pacing") };
    let made = phase.operations.iter().flat_map(move |made| {
        let word = made.kind.name();
        let kind = Ability { list: |it| &it.operations, word, said: format!("operation {word}") };
        let shape = made.shape.as_deref().map(|word| Ability {
            list: |it| &it.shapes,
            word,
            said: format!("shape {word}"),
        });
        let extras = extras(made).map(move |word| extra(word, word));
        std::iter::once(kind).chain(shape).chain(extras)
    });
    several.into_iter().chain([pacing]).chain(made)
}

/// Words of `extras` that an operation needs.
fn extras(made: &Operation) -> impl Iterator<Item = &'static str> {
    let concerns = [
        (made.write_concern.is_some(), "write_concern"),
        (made.read_concern.is_some(), "read_concern"),
        (made.read_preference.is_some(), "read_preference"),
    ];
    let is_command = made.kind == OperationKind::Command;
    let on_command = is_command && concerns.iter().any(|(given, _)| *given);
    let others = [
        (on_command, "command_concerns"),
        (made.write_concern.as_ref().is_some_and(|it| it["w"] == 0), "unacknowledged"),
        (made.ordered == Some(false), "unordered"),
        (made.lazy == Some(true), "lazy_insert"),
        (made.sort.is_some(), "sort"),
        (made.hint.is_some(), "hint"),
        (made.collation.is_some(), "collation"),
        (made.max_time_ms.is_some(), "max_time"),
        (made.expect.is_some(), "expect"),
    ];
    let concerns = concerns.into_iter().filter(move |_| !is_command);
    concerns.chain(others).filter_map(|(needed, word)| needed.then_some(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::test_support::{phase, phases};
    use serde_json::json;

    fn hello(capabilities: &serde_json::Value) -> Hello {
        serde_json::from_value(json!({
            "protocol": 2, "adapter": "x",
            "driver": {"name": "x", "version": "1", "native": null},
            "runtime": {"name": "x", "version": "1"},
            "clock": {"source": "x", "resolution_ns": 1.0},
            "capabilities": capabilities,
        }))
        .expect("a hello")
    }

    #[test]
    fn what_is_not_declared_is_named() {
        let able = hello(&json!({
            "operations": ["find_one"], "pacing": ["awaited"], "extras": ["write_concern"],
            "concurrency": {"kind": "threads"},
        }));
        let plain = phase("workers: 2", 1);
        assert_eq!(missing(&able, &plain, 1), None);
        assert_eq!(missing(&able, &plain, 2).as_deref(), Some("several clients"));
        let said = |keys: &str| missing(&able, &phase(keys, 1), 1);
        assert_eq!(said("think: 1ms").as_deref(), Some("think pacing"));
        assert_eq!(said("window: 3").as_deref(), Some("window pacing"));
        let with = |change: fn(&mut Operation)| {
            let mut phase = phase("workers: 2", 1);
            change(&mut phase.operations[0]);
            missing(&able, &phase, 1)
        };
        assert_eq!(with(|it| it.kind = OperationKind::Count).as_deref(), Some("operation count"));
        assert_eq!(with(|it| it.write_concern = Some(json!({"w": 1}))), None);
        let unanswered = with(|it| it.write_concern = Some(json!({"w": 0})));
        assert_eq!(unanswered.as_deref(), Some("unacknowledged"));
        assert_eq!(with(|it| it.ordered = Some(false)).as_deref(), Some("unordered"));
        let shaped = with(|it| it.shape = Some("Item".to_owned()));
        assert_eq!(shaped.as_deref(), Some("shape Item"));
    }

    #[test]
    fn nothing_goes_on_from_a_phase_that_was_not_measured() {
        let able = hello(&json!({
            "operations": ["find_one", "insert_one", "count"], "pacing": ["awaited"],
            "concurrency": {"kind": "threads"},
        }));
        let lacks = |story: &str| {
            let missing = part(&able, &phases(story).plan, None).missing;
            missing.iter().map(Option::is_some).collect::<Vec<_>>()
        };
        let insert = "{operation: insert_one, operations: 3}";
        let delete = "{operation: delete_one, keys: sequential, operations: 3, continues: true}";
        let estimate = "{operation: estimated_count, operations: 1, continues: true}";
        let find = "{operation: find_one, operations: 3, continues: true}";
        let count = "{operation: count, operations: 1}";
        let story = [insert, delete, find, count].join(", ");
        assert_eq!(lacks(&story), [false, true, true, false], "what delete_one left is not there");
        let story = [insert, estimate, find].join(", ");
        assert_eq!(lacks(&story), [false, true, false], "a count changes nothing");
    }
}
