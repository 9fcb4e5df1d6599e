//! The search for documents that pass a filter: by `_id`, through an index, or by a scan.

use std::ops::Bound;

use wire::raw::{Value, fields, kind};

use super::fault::{CAPPED_POSITION_LOST, Fallible, Fault};
use super::filter::{ComparisonOperator, Filter, Test};
use super::index::OrderedIndex;
use super::key_encoding::{Key, after_prefix, key_of, rank};
use super::sort_order::SortOrder;
use super::stored_collection::{Data, StoredDocument};

#[derive(Debug, Clone)]
pub enum Selector {
    /// One `_id`, encoded.
    Id(Key),
    Filter(Filter),
}

impl Selector {
    /// `{_id: value}`, by far the most frequent filter, is read without an allocation.
    pub fn parse(filter: &[u8]) -> Fallible<Self> {
        let mut all = fields(filter);
        if let (Some(field), None) = (all.next(), all.next())
            && field.name == b"_id"
            && !matches!(field.value.kind, kind::DOCUMENT | kind::REGEX)
            && is_plain(field.value.kind)
        {
            return Ok(Self::Id(key_of(field.value)));
        }
        Filter::parse(filter).map(Self::Filter)
    }
}

#[derive(Debug)]
enum AccessPath {
    Id(Key),
    /// All documents, in the order of insertion.
    Scan,
    /// Ranges of an index, ascending.
    Index {
        place: usize,
        ranges: Vec<KeyRange>,
    },
}

/// Keys from the first (included) to the last (excluded; None: to the end).
type KeyRange = (Key, Option<Key>);

/// Place where a walk continues.
#[derive(Debug, Clone)]
enum Position {
    Start,
    After(u64),
    /// In one of the ranges, counted in the direction of the walk; `last` is None at its beginning.
    InRange {
        at: usize,
        last: Option<Key>,
    },
    End,
}

/// Decision of a visitor about a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkStep {
    /// Taken; the next one.
    Go,
    /// Taken; enough for now.
    Pause,
    /// Not taken: the next walk begins with it.
    Leave,
}

/// A walk through the documents that pass a filter; it can pause, and continue after changes.
#[derive(Debug)]
pub struct DocumentWalk {
    way: AccessPath,
    reverse: bool,
    position: Position,
    /// Filter of the documents; None if the access path finds exactly the right ones.
    filter: Option<Filter>,
    /// Whether the walk is in the order that was asked for.
    pub ordered: bool,
    /// Whether the collection's oldest records vanish.
    capped: bool,
}

impl DocumentWalk {
    pub fn new(data: &Data, wanted: Selector, order: &SortOrder, capped: bool) -> Self {
        let mut walk = Self {
            way: AccessPath::Scan,
            reverse: matches!(order, SortOrder::Natural { reverse: true }),
            position: Position::Start,
            filter: None,
            ordered: !matches!(order, SortOrder::By(_)),
            capped,
        };
        let filter = match wanted {
            Selector::Filter(filter) => filter,
            Selector::Id(key) => {
                walk.way = AccessPath::Id(key);
                walk.ordered = true;
                return walk;
            }
        };
        if !matches!(order, SortOrder::Natural { .. }) {
            walk.choose(data, &filter, order);
        }
        walk.filter = (!filter.0.is_empty()).then_some(filter);
        walk
    }

    /// Only the first field of an index counts. Values are worth more than a range, and a range
    /// more than an order alone.
    fn choose(&mut self, data: &Data, filter: &Filter, order: &SortOrder) {
        let mut best: Option<(u32, usize, Vec<KeyRange>)> = None;
        for (place, index) in data.indexes.iter().enumerate() {
            let (worth, ranges) = ranges(index, filter);
            let worth = worth + u32::from(direction(index, order).is_some());
            if worth > 0 && best.as_ref().is_none_or(|(other, ..)| worth > *other) {
                best = Some((worth, place, ranges));
            }
        }
        let Some((_, place, ranges)) = best else { return };
        let index = &data.indexes[place];
        if let Some(descends) = direction(index, order) {
            self.ordered = true;
            self.reverse = descends;
        }
        self.way = AccessPath::Index { place, ranges };
    }

    /// Visits documents until the visitor pauses. True: there are no more.
    pub fn run(
        &mut self,
        data: &Data,
        visit: &mut dyn FnMut(u64, &StoredDocument) -> WalkStep,
    ) -> Fallible<bool> {
        match &self.way {
            AccessPath::Id(key) => {
                if matches!(self.position, Position::Start) {
                    let record = data.indexes[0].entries.get(key);
                    let found = record.and_then(|it| Some((*it, data.records.get(it)?)));
                    if let Some((record, document)) = found
                        && visit(record, document) == WalkStep::Leave
                    {
                        return Ok(false);
                    }
                    self.position = Position::End;
                }
                Ok(true)
            }
            AccessPath::Scan => self.scan(data, visit),
            AccessPath::Index { place, .. } => {
                let place = *place;
                Ok(self.through_index(data, place, visit))
            }
        }
    }

    fn passes(&self, document: &StoredDocument) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(document.bytes()))
    }

    /// Walks through all records. After the end, a walk continues from there when it is run again:
    /// tailable cursors need this.
    fn scan(
        &mut self,
        data: &Data,
        visit: &mut dyn FnMut(u64, &StoredDocument) -> WalkStep,
    ) -> Fallible<bool> {
        let mut bounds = (Bound::Unbounded, Bound::Unbounded);
        if let Position::After(last) = self.position {
            if self.capped && !data.records.contains_key(&last) {
                let message = "the cursor's position in the capped collection was overwritten";
                return Err(Fault::new(CAPPED_POSITION_LOST, message));
            }
            if self.reverse {
                bounds.1 = Bound::Excluded(last);
            } else {
                bounds.0 = Bound::Excluded(last);
            }
        }
        let mut records = data.records.range(bounds);
        let reverse = self.reverse;
        while let Some((&record, document)) =
            if reverse { records.next_back() } else { records.next() }
        {
            let step = if self.passes(document) { visit(record, document) } else { WalkStep::Go };
            if step == WalkStep::Leave {
                return Ok(false);
            }
            self.position = Position::After(record);
            if step == WalkStep::Pause {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn through_index(
        &mut self,
        data: &Data,
        place: usize,
        visit: &mut dyn FnMut(u64, &StoredDocument) -> WalkStep,
    ) -> bool {
        let AccessPath::Index { ranges, .. } = &self.way else { return true };
        let (first, resumed) = match &self.position {
            Position::Start | Position::After(_) => (0, None),
            Position::InRange { at, last } => (*at, last.clone()),
            Position::End => return true,
        };
        for at in first..ranges.len() {
            let (from, to) = &ranges[if self.reverse { ranges.len() - 1 - at } else { at }];
            let mut last = resumed.as_ref().filter(|_| at == first);
            let mut bounds = (
                Bound::Included(from.as_slice()),
                to.as_ref().map_or(Bound::Unbounded, |to| Bound::Excluded(to.as_slice())),
            );
            if let Some(last) = last {
                let side = if self.reverse { &mut bounds.1 } else { &mut bounds.0 };
                *side = Bound::Excluded(last.as_slice());
            }
            let mut entries = data.indexes[place].entries.range::<[u8], _>(bounds);
            while let Some((key, &record)) =
                if self.reverse { entries.next_back() } else { entries.next() }
            {
                let document = data.records.get(&record);
                let step = match document.filter(|document| self.passes(document)) {
                    Some(document) => visit(record, document),
                    None => WalkStep::Go,
                };
                if step == WalkStep::Leave {
                    self.position = Position::InRange { at, last: last.cloned() };
                    return false;
                }
                last = Some(key);
                if step == WalkStep::Pause {
                    self.position = Position::InRange { at, last: last.cloned() };
                    return false;
                }
            }
        }
        self.position = Position::End;
        true
    }
}

/// Equal values have equal keys, and array elements or missing fields cannot equal them.
fn is_plain(kind: u8) -> bool {
    !matches!(kind, kind::NULL | kind::UNDEFINED | kind::ARRAY)
}

/// Whether a walk through the index has the order; true: backwards.
fn direction(index: &OrderedIndex, order: &SortOrder) -> Option<bool> {
    let SortOrder::By(by) = order else { return None };
    let [(path, descends)] = &by[..] else { return None };
    (*path == index.fields[0]).then_some(*descends)
}

/// The ranges that a filter leaves of an index, and their worth: 0 for all of it.
fn ranges(index: &OrderedIndex, filter: &Filter) -> (u32, Vec<KeyRange>) {
    let on_field = filter.0.iter().filter(|it| it.holds && it.path == index.fields[0]);
    let tests = on_field.map(|it| &it.test);
    if let Some(points) = tests.clone().find_map(points) {
        let range = |key: Key| (key.clone(), after_prefix(&key));
        return (4, points.into_iter().map(range).collect());
    }
    let mut found = None;
    for test in tests {
        found = range(test, found.as_ref()).or(found);
    }
    match found {
        Some((from, to)) if to.as_ref().is_none_or(|to| from < *to) => (2, vec![(from, to)]),
        Some(_) => (2, Vec::new()),
        None => (0, vec![(Key::new(), None)]),
    }
}

/// The values of `$eq` and `$in`, as keys.
fn points(test: &Test) -> Option<Vec<Key>> {
    let operands = match test {
        Test::Compare(ComparisonOperator::Equal, operand) => std::slice::from_ref(operand),
        Test::In(operands) => operands,
        _ => return None,
    };
    let mut keys = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand.kind {
            kind::ARRAY => return None,
            kind::NULL | kind::UNDEFINED => {
                keys.push(key_of(Value::NULL));
                keys.push(key_of(Value { kind: kind::UNDEFINED, bytes: &[] }));
            }
            _ => keys.push(operand.key.clone()),
        }
    }
    keys.sort_unstable();
    keys.dedup();
    Some(keys)
}

/// The keys of one field that two comparisons leave.
fn range(test: &Test, within: Option<&KeyRange>) -> Option<KeyRange> {
    let Test::Compare(comparison, operand) = test else { return None };
    if !is_plain(operand.kind) || matches!(operand.kind, kind::MIN_KEY | kind::MAX_KEY) {
        return None;
    }
    let place = rank(operand.kind);
    let (mut from, mut to) =
        within.cloned().unwrap_or((Key::from_slice(&[place]), Some(Key::from_slice(&[place + 1]))));
    let after = || after_prefix(&operand.key);
    match comparison {
        ComparisonOperator::Equal => return None,
        ComparisonOperator::Greater => from = from.max(after()?),
        ComparisonOperator::GreaterOrEqual => from = from.max(operand.key.clone()),
        ComparisonOperator::Less => to = to.min(Some(operand.key.clone())),
        ComparisonOperator::LessOrEqual => to = to.min(after()),
    }
    Some((from, to))
}
