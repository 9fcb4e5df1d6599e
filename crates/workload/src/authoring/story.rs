//! Whether each phase finds the documents that it works on: those of its collections, and those
//! that the phases before it in its story left there.

use super::checking::Check;
use super::located::{At, Location};
use super::sent::written;
use super::sequence::{check_ranges, stretches};
use super::yaml;
use crate::operations::{about, inserts};
use crate::plan::{
    Collection, Count, KeyChoice, Limit, Operation, OperationKind, Phase, Plan, StampForm,
    StampSource,
};
use crate::replay::population::Population;
use crate::replay::schedule_length::{fits_one_lap, has_one_lap};
use crate::replay::selected_documents::{Meaning, meaning};

/// Arms that hand a collection on work one after the other, in all phases.
pub fn keep_whole_runs(phases: &mut [Phase], collections: &[Collection]) {
    let Some(kept) = collections.iter().find(|it| it.kept) else { return };
    for phase in phases.iter_mut().filter(|phase| phase.whole_run_reason.is_none()) {
        phase.whole_run_reason = Some(format!("`{}` is kept from arm to arm", kept.name));
    }
}

/// One phase that cannot take turns makes all of its story whole runs.
pub fn spread_whole_runs(phases: &mut [Phase]) {
    let continues =
        |number: usize, phases: &[Phase]| phases.get(number).is_some_and(|phase| phase.continues);
    let mut first = 0;
    for next in 1..=phases.len() {
        if continues(next, phases) {
            continue;
        }
        let story = &mut phases[first..next];
        let reason = story
            .iter()
            .find_map(|phase| Some((phase.name.clone(), phase.whole_run_reason.clone()?)));
        if let Some((name, reason)) = reason {
            for phase in story.iter_mut().filter(|phase| phase.whole_run_reason.is_none()) {
                phase.whole_run_reason = Some(format!("`{name}` of its story: {reason}"));
            }
        }
        first = next;
    }
}

/// Looks at the phases of a plan, each of which is right by itself.
pub fn check_plan(check: &mut Check<'_>, plan: &Plan) {
    check_run(check, plan);
    if plan.kept().is_some() && check.problems.is_empty() {
        // The second arm finds what the first one left.
        check_run(check, &Plan { runs_before: 1, ..plan.clone() });
    }
}

fn check_run(check: &mut Check<'_>, plan: &Plan) {
    let loaded = check.loaded;
    for (number, given) in loaded.file.phases.value.iter().enumerate() {
        continues_something(check, plan, number, given);
        let (plan, numbers) = plan.unrolled(number);
        let stretches = stretches(given);
        for (number, given) in numbers.clone().zip(&stretches) {
            let phase = &plan.phases[number];
            dealt_keys(check, phase, given);
            drops_once(check, phase, given);
            for made in &phase.operations {
                joins_documents(check, &plan, (number, made), given);
                if let Some(collection) = plan.collection(made) {
                    let site = Site { plan: &plan, number, made, collection };
                    site.check(check, given);
                }
            }
        }
        check_ranges(check, &plan, numbers, &stretches);
    }
}

fn continues_something(
    check: &mut Check<'_>,
    plan: &Plan,
    number: usize,
    given: &At<yaml::PhaseYaml>,
) {
    let Some(continues) = given.value.continues.as_ref().filter(|it| it.value) else { return };
    let Some(before) = number.checked_sub(1).map(|before| &plan.phases[before]) else {
        let message = "the first phase cannot continue another";
        check.wrong(continues.place, message, "leave out `continues`");
        return;
    };
    if before.processes != plan.phases[number].processes {
        let message =
            format!("it continues in the processes of `{}`, whose number is another", before.name);
        let hint = format!("write `processes: {}`, as there", before.processes);
        check.wrong(continues.place, message, hint);
    }
}

/// Keys that are not dealt in turn are dealt among so many.
fn dealt_keys(check: &mut Check<'_>, phase: &Phase, given: &At<yaml::PhaseYaml>) {
    let inserting = phase.operations.iter().any(|made| about(made.kind).inserts());
    let Some(keys) = given.value.keys.as_ref().filter(|_| inserting) else { return };
    let counted = matches!(phase.limit, Limit::Operations { .. }) && phase.operations.len() == 1;
    let hint = "end the phase by `operations:` or `documents:`, with one operation in it";
    match phase.keys {
        KeyChoice::Contiguous { .. } if !counted => {
            let message = "the range of a worker's new keys has no length";
            check.wrong(keys.place, message, hint);
        }
        KeyChoice::Hashed if !counted => {
            let message = "`keys: hashed` needs the number of new keys";
            check.wrong(keys.place, message, hint);
        }
        KeyChoice::Hashed if !has_one_lap(phase) => {
            let message = "so many new keys are not scattered over a whole schedule";
            check.wrong(keys.place, message, "fewer operations, or insert_many with a `batch:`");
        }
        _ => {}
    }
}

fn drops_once(check: &mut Check<'_>, phase: &Phase, given: &At<yaml::PhaseYaml>) {
    let drops = phase.operations.iter().any(|made| made.kind == OperationKind::Drop);
    let once = matches!(phase.limit, Limit::Operations { count: 1, .. });
    if drops && !(once && phase.operations.len() == 1) {
        let hint = "move the drop to a separate phase with `operations: 1`";
        check.wrong(place_of(given), "a collection is dropped once", hint);
    }
    let alike = |made: &Operation| made.filter.as_ref().is_some_and(|it| it.stamps.is_empty());
    let all = |made: &Operation| made.kind == OperationKind::DeleteMany && alike(made);
    if phase.operations.iter().any(all) && !once {
        let place = given.value.filter.as_ref().map_or(place_of(given), |filter| filter.place);
        let message = "the first operation deletes all documents of this filter";
        let hint = "add `operations: 1`, or put a `{$stamp: key}` into the filter";
        check.wrong(place, message, hint);
    }
}

/// A collection that a pipeline reads beside the one that it begins with.
fn joins_documents(
    check: &mut Check<'_>,
    plan: &Plan,
    (number, made): (usize, &Operation),
    given: &At<yaml::PhaseYaml>,
) {
    let mentions = made.pipeline.iter().flat_map(|template| &template.mentions);
    for mention in mentions.filter(|mention| !mention.writes) {
        let name = &mention.collection;
        let Some(collection) = plan.collections.iter().find(|it| it.name == *name) else {
            continue;
        };
        let population = Population::before(plan, number, collection);
        if population.is_known() && population.is_empty() {
            let own = given.value.pipeline.as_ref();
            let place = own.map_or(place_of(given), |tree| written(tree, &mention.path[1..]).place);
            let message = format!("the pipeline reads `{name}`, which has no documents");
            check.wrong(place, message, format!("give `{name}` some `documents:`"));
        }
    }
}

/// One operation of a phase, and its collection.
struct Site<'a> {
    plan: &'a Plan,
    number: usize,
    made: &'a Operation,
    collection: &'a Collection,
}

impl Site<'_> {
    fn check(&self, check: &mut Check<'_>, given: &At<yaml::PhaseYaml>) {
        let place = place_of(given);
        let population = Population::before(self.plan, self.number, self.collection);
        let (name, collection) = (&self.made.name, &self.collection.name);
        let inserting = about(self.made.kind).inserts();
        let mut stamps = self.made.templates().flat_map(|template| &template.stamps);
        let keyed = stamps.any(|stamp| {
            stamp.from == StampSource::Key
                || matches!(stamp.form, StampForm::Guid | StampForm::GuidString)
        });
        if (keyed || inserting) && !population.is_known() {
            let message =
                format!("the documents of `{collection}` are not known when `{name}` begins");
            let hint = "give the phases before it one operation that inserts or deletes, and an \
                        end by `operations:` or `documents:` alone";
            check.wrong(place, message, hint);
            return;
        }
        let upserts = self.made.upsert == Some(true);
        if keyed && population.is_empty() && !upserts && self.made.expect.is_none() {
            let message = format!("`{name}` looks for documents that `{collection}` does not have");
            check.wrong(place, message, "insert them in a phase before, or load `documents:`");
        }
        if let Meaning::Range(range) = meaning(self.made, self.collection)
            && range > population.len()
        {
            let documents = population.len();
            let place = given.value.range.as_ref().map_or(place, |at| at.place);
            let message = format!("a range of {range} of {documents} keys");
            check.wrong(place, message, format!("from 1 to {}", documents.max(1)));
        }
        if let (OperationKind::DeleteMany, Meaning::Range(_)) =
            (self.made.kind, meaning(self.made, self.collection))
            && !population.is_dense()
        {
            let message =
                format!("`{name}` deletes ranges of keys, which have gaps in `{collection}`");
            let hint = "use loaded documents, of which at most the first ones were deleted before";
            check.wrong(place, message, hint);
        }
        self.check_shape(check, place);
        if inserting {
            let keys = &given.value;
            let counted = keys.operations.as_ref().or(keys.documents.as_ref());
            let place = counted.map_or(place, |at| at.place);
            self.check_inserted(check, place, population.next_key());
        }
    }

    /// Keys of inserted documents must fit where they go.
    fn check_inserted(&self, check: &mut Check<'_>, place: Location, first: u64) {
        let phase = &self.plan.phases[self.number];
        let Limit::Operations { count, .. } = phase.limit else { return };
        if let Some(Count::Rest { batch, .. }) = self.made.count
            && !fits_one_lap(phase, count)
        {
            let message = format!("{count} batches of {batch} documents do not fit a schedule");
            check.wrong(place, message, "make `batch:` larger");
        }
        let largest = first + count.saturating_mul(inserts(self.made));
        let digits = largest.to_string().len();
        let narrow = |stamp: &&crate::plan::Stamp| {
            let int = stamp.form == StampForm::Int32 && largest > i32::MAX as u64;
            let short = stamp.width.is_some_and(|width| digits > width as usize);
            stamp.from == StampSource::Key && (int || short)
        };
        let mut stamps = self.made.documents.iter().flat_map(|documents| &documents.stamps);
        if let Some(stamp) = stamps.find(narrow) {
            let path = stamp.path.join(".");
            let int = stamp.form == StampForm::Int32;
            let (what, way) = if int { ("int", "a long") } else { ("text", "wider") };
            let message = format!("{largest} keys do not fit the {what} `{path}`");
            check.wrong(place, message, format!("make `{path}` {way}"));
        }
    }

    /// A class is stamped in its own fields.
    fn check_shape(&self, check: &mut Check<'_>, place: Location) {
        let (Some(shape), Some(documents)) = (&self.made.shape, &self.made.documents) else {
            return;
        };
        let Some(fields) = check.loaded.file.shapes.get(shape) else { return };
        let known = |stamp: &&crate::plan::Stamp| {
            stamp.path.len() == 1 && fields.value.get(&stamp.path[0]).is_some()
        };
        if let Some(stamp) = documents.stamps.iter().find(|stamp| !known(stamp)) {
            let path = stamp.path.join(".");
            let message = format!("the shape `{shape}` has no field `{path}`, which is stamped");
            check.wrong(place, message, format!("add `{path}:` with its type to the shape"));
        }
    }
}

/// Where a phase says what it does.
fn place_of(given: &At<yaml::PhaseYaml>) -> Location {
    let keys = &given.value;
    let operation = keys.operation.as_ref().map(|at| at.place);
    operation.or(keys.mix.as_ref().map(|at| at.place)).unwrap_or(given.place)
}
