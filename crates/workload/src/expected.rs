//! The sums that the right answers of a phase come to ("Answers are read", SPEC section 4).

use super::meaning::{Meaning, meaning};
use super::operations::{Answers, about};
use super::plan::{Collection, KeySource, Operation, Phase, Plan, StampSource};
use super::schedule::Schedule;

/// Totals of the right answers; None where the core cannot know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Sum of `totals.documents`.
    pub documents: Option<u64>,
    /// Sum of `totals.sum`.
    pub sum: Option<u64>,
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
    rules: Vec<Rule>,
    total: Expected,
}

impl Expectation {
    pub fn new(plan: &Plan, phase: &Phase) -> Self {
        let rules = phase.operations.iter().map(|made| rule(plan, made)).collect();
        Self { rules, total: Expected { documents: Some(0), sum: Some(0) } }
    }

    /// Adds an operation of the process whose schedule this is.
    pub fn add(&mut self, schedule: &Schedule, answered: Answered) {
        let rule = self.rules.get(usize::from(answered.operation));
        let record = schedule.record(answered.slice, answered.index);
        let add = match (rule, record) {
            (Some(rule), Some((record, _))) => rule.to(record.key),
            _ => Expected { documents: None, sum: None },
        };
        self.total.documents = self.total.documents.zip(add.documents).map(|(a, b)| a + b);
        self.total.sum = self.total.sum.zip(add.sum).map(|(a, b)| a + b);
    }

    pub fn total(&self) -> Expected {
        self.total
    }
}

/// How an operation's answer follows from its key.
enum Rule {
    /// It adds nothing.
    Nothing,
    /// It cannot be known.
    Unknown,
    /// One document.
    One { sum_add: Option<i64> },
    /// The documents of a range, cut at `loaded` and at a limit.
    Range { length: u64, loaded: u64, limit: u64, sum_add: Option<i64> },
}

fn rule(plan: &Plan, made: &Operation) -> Rule {
    match about(made.kind).answers {
        Answers::ByFilter => {}
        Answers::Unknown => return Rule::Unknown,
        Answers::Nothing => return Rule::Nothing,
    }
    let Some(collection) = plan.collection(made).filter(|it| it.capped.is_none()) else {
        return Rule::Unknown;
    };
    if made.key != KeySource::Schedule {
        return Rule::Unknown;
    }
    let sum_add = sum_add(made, collection);
    let limit = made.limit.filter(|limit| *limit > 0).map_or(u64::MAX, |limit| limit as u64);
    match meaning(made, collection) {
        Meaning::One => Rule::One { sum_add },
        Meaning::Range(length) => Rule::Range { length, loaded: collection.loaded, limit, sum_add },
        Meaning::Other => Rule::Unknown,
    }
}

/// The number added to the key in the summed field; None where nothing is summed.
fn sum_add(made: &Operation, collection: &Collection) -> Option<i64> {
    let field = made.sum_field.as_ref()?;
    let is_it = |stamp: &&super::plan::Stamp| {
        stamp.from == StampSource::Key && stamp.path.len() == 1 && stamp.path[0] == *field
    };
    collection.stamps.iter().find(is_it).map(|stamp| stamp.add)
}

impl Rule {
    fn to(&self, key: u64) -> Expected {
        let value = |key: u64, add: i64| key.checked_add_signed(add);
        match self {
            Self::Nothing => Expected { documents: Some(0), sum: Some(0) },
            Self::Unknown => Expected { documents: None, sum: None },
            Self::One { sum_add } => {
                let sum = sum_add.map_or(Some(0), |add| value(key, add));
                Expected { documents: Some(1), sum }
            }
            Self::Range { length, loaded, limit, sum_add } => {
                let found = (*length).min(loaded.saturating_sub(key));
                let documents = Some(found.min(*limit));
                if sum_add.is_some() && found > *limit {
                    // Which of them the server picks is not said.
                    return Expected { documents, sum: None };
                }
                let sum = match sum_add {
                    None => Some(0),
                    Some(_) if found == 0 => Some(0),
                    Some(add) => {
                        value(key, *add).map(|first| found * first + found * (found - 1) / 2)
                    }
                };
                Expected { documents, sum }
            }
        }
    }
}
