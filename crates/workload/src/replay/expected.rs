//! The sums that the right answers of a phase come to ("Answers are read", SPEC section 4).

use super::population::Population;
use super::schedule::{Record, Schedule};
use super::selected_documents::{Meaning, meaning};
use crate::operations::{
    AnswerSource, about, answers_nothing, changes_documents, inserted_by_command, returned,
};
use crate::plan::{
    Collection, Expectable, Operation, OperationKind, Phase, Plan, Stamp, StampForm, StampSource,
    Template,
};

/// Keys of one range that are looked up one by one, where documents have gaps between them.
const LOOKED_UP_MAX: u64 = 100_000;

/// Totals of the right answers; None where the core cannot know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Sum of `totals.documents`.
    pub documents: Option<u64>,
    /// Sum of `totals.sum`.
    pub sum: Option<u64>,
}

impl Expected {
    fn and(self, more: Self) -> Self {
        let add = |(a, b)| a + b;
        Self {
            documents: self.documents.zip(more.documents).map(add),
            sum: self.sum.zip(more.sum).map(add),
        }
    }
}

/// One operation that was answered rightly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// Slice of the schedule: the worker's number in its process; 0 in a shared queue.
    pub slice: u32,
    /// The sample's index.
    pub index: u64,
    /// The sample's operation.
    pub operation: u8,
}

/// Adds up what the right answers of a phase must come to.
pub struct Expectation {
    /// By operation.
    rules: Vec<AnswerRule>,
    total: Expected,
}

impl Expectation {
    /// None where the answers depend on the order in which workers write.
    pub fn new(plan: &Plan, number: usize) -> Option<Self> {
        let phase = &plan.phases[number];
        let alone = phase.operations.len() == 1;
        let known = |made: &Operation| {
            alone && (about(made.kind).deletes() || made.expect == Some(Expectable::Duplicate))
        };
        let changes = |made: &Operation| changes_documents(made) && !known(made);
        if phase.operations.iter().any(changes) && phase.sequence.is_empty() {
            return None;
        }
        let (plan, numbers) = plan.unrolled(number);
        let operations = numbers.flat_map(|number| {
            plan.phases[number].operations.iter().map(move |made| (number, made))
        });
        let rules = operations.map(|(number, made)| rule(&plan, number, made)).collect();
        Some(Self { rules, total: Expected { documents: Some(0), sum: Some(0) } })
    }

    /// Adds an operation of the process whose schedule this is.
    pub fn add(&mut self, schedule: &Schedule, answered: Answered) {
        let rule = self.rules.get(usize::from(answered.operation));
        let record = schedule.record(answered.slice, answered.index);
        let add = match (rule, record) {
            (Some(AnswerRule::Parts), Some((record, _))) => {
                let parts = schedule.parts(record).iter();
                parts.fold(NOTHING, |sum, part| match self.rules.get(usize::from(part.operation)) {
                    Some(rule) => sum.and(rule.to(part)),
                    None => UNKNOWN,
                })
            }
            (Some(rule), Some((record, _))) => rule.to(record),
            _ => UNKNOWN,
        };
        self.total = self.total.and(add);
    }

    pub fn total(&self) -> Expected {
        self.total
    }
}

/// Whether the core checks the answers of each operation of a phase: those that are documents by
/// the phase's total, of which one that is unknown leaves none, and inserts of a command by the
/// receipt.
pub fn checked(plan: &Plan, number: usize) -> Vec<bool> {
    let operations = &plan.phases[number].operations;
    let unknown =
        |made: &Expectation| made.rules.iter().any(|it| matches!(it, AnswerRule::Unknown));
    let known = Expectation::new(plan, number).is_some_and(|made| !unknown(&made));
    let check = |made: &Operation| match about(made.kind).answers {
        AnswerSource::Nothing => true,
        AnswerSource::Unread if answers_nothing(made) => true,
        AnswerSource::Unread => operations.len() == 1 && inserted_by_command(made).is_some(),
        AnswerSource::ByParts
        | AnswerSource::ByFilter
        | AnswerSource::Deleted
        | AnswerSource::All
        | AnswerSource::ByStages
        | AnswerSource::Unknown => known,
    };
    operations.iter().map(check).collect()
}

const NOTHING: Expected = Expected { documents: Some(0), sum: Some(0) };
const UNKNOWN: Expected = Expected { documents: None, sum: None };

/// How an operation's answer follows from its record.
enum AnswerRule {
    /// It adds nothing.
    Nothing,
    /// What its parts add.
    Parts,
    /// The documents that are there already.
    Duplicates,
    /// It cannot be known.
    Unknown,
    /// It adds so many documents each time.
    Each(u64),
    Of(Box<SelectedDocuments>),
}

/// The documents that a filter selects among those of a collection.
struct SelectedDocuments {
    meaning: Meaning,
    population: Population,
    /// In which order they come.
    order: KeyOrder,
    /// Documents that are passed over first.
    skip: u64,
    /// Documents of one answer at most.
    most: u64,
    /// What is then made of them.
    pipeline: Option<Template>,
    /// Added to the key in the summed field; None where nothing is summed.
    sum_add: Option<i64>,
}

/// An order of documents, as their keys have it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyOrder {
    Ascending,
    Descending,
    Unknown,
}

fn rule(plan: &Plan, number: usize, made: &Operation) -> AnswerRule {
    let phase = &plan.phases[number];
    match made.expect {
        Some(Expectable::Missing) => return AnswerRule::Nothing,
        Some(Expectable::Duplicate) => return AnswerRule::Duplicates,
        None => {}
    }
    match about(made.kind).answers {
        _ if is_unanswered(made) => return AnswerRule::Unknown,
        AnswerSource::ByFilter
        | AnswerSource::Deleted
        | AnswerSource::All
        | AnswerSource::ByStages => {}
        AnswerSource::ByParts => return AnswerRule::Parts,
        AnswerSource::Unknown => return AnswerRule::Unknown,
        AnswerSource::Nothing | AnswerSource::Unread => return AnswerRule::Nothing,
    }
    let stays = |it: &&Collection| it.capped.is_none() && it.view.is_none();
    let Some(collection) = plan.collection(made).filter(stays) else {
        return AnswerRule::Unknown;
    };
    let population = Population::before(plan, number, collection);
    let of = &made.collection;
    if about(made.kind).answers == AnswerSource::Deleted {
        let documents = population.deleted_at_once(made, collection);
        return documents.map_or(AnswerRule::Unknown, AnswerRule::Each);
    }
    let changes = phase
        .operations
        .iter()
        .any(|other| changes_documents(other) && other.collections().any(|it| it == of));
    let meaning = match about(made.kind).answers {
        AnswerSource::All => Meaning::All,
        _ => meaning(made, collection),
    };
    let counts_all = meaning == Meaning::All && changes;
    let found = population.is_dense()
        || match meaning {
            Meaning::One | Meaning::All => true,
            Meaning::Range(length) => length <= LOOKED_UP_MAX,
            Meaning::From | Meaning::Other => false,
        };
    if !population.is_known() || meaning == Meaning::Other || counts_all || !found {
        return AnswerRule::Unknown;
    }
    // Whether it can be known does not depend on their number.
    if made.pipeline.as_ref().is_some_and(|it| returned(it, 0).is_none()) {
        return AnswerRule::Unknown;
    }
    let foreign = || plan.phases.iter().any(|phase| has_foreign_documents(plan, phase, collection));
    let key_stamp = |field: &str| collection.stamps.iter().find(|it| is_of_key(it, field));
    // Values made of the key are all different.
    let values = made.field.as_deref().is_some_and(|field| key_stamp(field).is_none() || foreign());
    let sum_add = sum_add(made, collection);
    if values || sum_add.is_some() && foreign() {
        return AnswerRule::Unknown;
    }
    let order = match order(made, collection) {
        order if order == KeyOrder::Unknown || !foreign() => order,
        _ => KeyOrder::Unknown,
    };
    let one = matches!(
        made.kind,
        OperationKind::FindOne | OperationKind::FindOneAndUpdate | OperationKind::ReadModifyWrite
    );
    let (skip, pipeline) = (made.skip.unwrap_or(0).into(), made.pipeline.clone());
    let most = if one { 1 } else { u64::MAX };
    let selected = SelectedDocuments { meaning, population, order, skip, most, pipeline, sum_add };
    AnswerRule::Of(Box::new(selected))
}

/// A write whose answer no adapter waits for.
fn is_unanswered(made: &Operation) -> bool {
    let concern = made.write_concern.as_ref();
    about(made.kind).answers != AnswerSource::Nothing
        && concern.is_some_and(|concern| concern["w"] == 0)
}

/// The order that a sort makes, where its first field grows with the key.
fn order(made: &Operation, collection: &Collection) -> KeyOrder {
    let Some((field, way)) = made.sort.as_ref().and_then(|sort| sort.document.iter().next()) else {
        return KeyOrder::Unknown;
    };
    let grows = |stamp: &&Stamp| {
        let unordered = match stamp.form {
            StampForm::Guid | StampForm::GuidString => true,
            StampForm::String => stamp.width.is_none(),
            _ => false,
        };
        is_of_key(stamp, field) && !unordered
    };
    match collection.stamps.iter().find(grows) {
        None => KeyOrder::Unknown,
        Some(_) if way.as_i32() == Some(1) => KeyOrder::Ascending,
        Some(_) => KeyOrder::Descending,
    }
}

fn is_of_key(stamp: &Stamp, field: &str) -> bool {
    stamp.from == StampSource::Key && stamp.path.join(".") == field
}

/// Whether a phase puts documents of another collection's form into this one.
fn has_foreign_documents(plan: &Plan, phase: &Phase, collection: &Collection) -> bool {
    let mut into = phase.operations.iter().filter(|made| made.collection == collection.name);
    into.any(|made| plan.pool(phase, made).is_some_and(|from| from.name != collection.name))
}

fn sum_add(made: &Operation, collection: &Collection) -> Option<i64> {
    let field = made.sum_field.as_ref()?;
    let is_it = |stamp: &&crate::plan::Stamp| {
        stamp.from == StampSource::Key && stamp.path.len() == 1 && stamp.path[0] == *field
    };
    collection.stamps.iter().find(is_it).map(|stamp| stamp.add)
}

impl AnswerRule {
    fn to(&self, record: &Record) -> Expected {
        match self {
            Self::Nothing => NOTHING,
            Self::Each(documents) => Expected { documents: Some(*documents), sum: Some(0) },
            Self::Duplicates => {
                Expected { documents: Some(record.duplicates.into()), sum: Some(0) }
            }
            // Where a record moves on, its last lap is the adapter's to say.
            Self::Of(_) if record.advances => UNKNOWN,
            Self::Of(documents) => documents.to(record),
            Self::Parts | Self::Unknown => UNKNOWN,
        }
    }
}

impl SelectedDocuments {
    fn to(&self, record: &Record) -> Expected {
        let limit = if record.count == 0 { self.most } else { record.count.into() };
        let key = record.key;
        let dense = self.population.is_dense();
        let (keys, gaps) = match self.meaning {
            Meaning::One if self.skip > 0 => return self.of_keys(0, Some(0)),
            Meaning::One => return self.of_keys(1, Some(u128::from(key))),
            _ if dense => {
                let end = self.population.next_key_loaded();
                let first = end - self.population.len();
                match self.meaning {
                    Meaning::Range(length) => (key.max(first)..(key + length).min(end), false),
                    Meaning::From => (key.max(first)..end, false),
                    _ => (first..end, false),
                }
            }
            Meaning::Range(length) => (key..key + length, true),
            _ => {
                let rest = self.population.len().saturating_sub(self.skip);
                return self.of_keys(rest.min(limit), None);
            }
        };
        let there = || keys.clone().filter(|key| self.population.contains(*key));
        let found = if gaps { there().count() as u64 } else { keys.end.saturating_sub(keys.start) };
        let taken = found.saturating_sub(self.skip).min(limit);
        let first = match self.order {
            KeyOrder::Ascending => self.skip,
            KeyOrder::Descending => found.saturating_sub(self.skip + taken),
            // Which of them the server picks is not said.
            KeyOrder::Unknown if taken < found => return self.of_keys(taken, None),
            KeyOrder::Unknown => 0,
        };
        let sum = if gaps {
            there().skip(first as usize).take(taken as usize).map(u128::from).sum()
        } else {
            let (first, number) = (u128::from(keys.start + first), u128::from(taken));
            number * first + number * number.saturating_sub(1) / 2
        };
        self.of_keys(taken, Some(sum))
    }

    /// So many documents, whose keys have this sum.
    fn of_keys(&self, documents: u64, keys: Option<u128>) -> Expected {
        let sum = match self.sum_add {
            None => Some(0),
            Some(add) => keys.and_then(|keys| {
                let keys = i128::try_from(keys).ok()?;
                u64::try_from(keys + i128::from(add) * i128::from(documents)).ok()
            }),
        };
        let documents = match &self.pipeline {
            Some(pipeline) => returned(pipeline, documents),
            None => Some(documents),
        };
        Expected { documents, sum }
    }
}
