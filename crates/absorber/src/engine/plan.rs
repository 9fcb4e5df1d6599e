//! How documents that pass a filter are found: by `_id`, through an index, or by looking at all.

use std::collections::HashSet;
use std::ops::Bound;

use super::collection::{Data, Stored};
use super::error::{CAPPED_POSITION_LOST, Fault, Outcome, QUERY_PLAN_KILLED};
use super::index::Index;
use super::keys::{Key, after_prefix, key_of, rank};
use super::matching::{Comparison, Filter, Test};
use super::order::Order;
use super::path::Path;
use super::raw::{Value, fields, kind};

/// Ranges after which no further field of an index is used.
const RANGES_MAX: usize = 1000;

/// What is looked for.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// One `_id`, encoded.
    Id(Key),
    /// Whatever passes.
    Filter(Filter),
}

impl Wanted {
    /// Reads a filter. `{_id: value}`, by far the most frequent one, is read without an
    /// allocation.
    pub fn parse(filter: &[u8]) -> Outcome<Self> {
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

/// A way to walk through a collection.
#[derive(Debug)]
enum Way {
    /// At most one document.
    Id(Key),
    /// All of them, in the order of insertion.
    Scan,
    /// Ranges of an index, ascending.
    Index { name: String, place: usize, ranges: Vec<Range> },
}

/// Keys from the first (included) to the last (excluded; None: to the end).
type Range = (Key, Option<Key>);

/// Where a walk goes on.
#[derive(Debug, Clone)]
enum Position {
    Start,
    After(u64),
    /// In one of the ranges, counted in the direction of the walk; None: at its beginning.
    InRange {
        at: usize,
        last: Option<Key>,
    },
    End,
}

/// What a visitor says of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Step {
    /// Taken; the next one.
    Go,
    /// Taken; enough for now.
    Pause,
    /// Not taken: the next walk begins with it.
    Leave,
}

/// A walk through the documents that pass a filter; it can pause, and go on after changes.
#[derive(Debug)]
pub struct Walk {
    way: Way,
    reverse: bool,
    position: Position,
    /// None: the way leads to nothing else.
    filter: Option<Filter>,
    /// Records already shown, where an index has several entries of one.
    shown: Option<HashSet<u64>>,
    /// Whether the walk is in the order that was asked for.
    pub ordered: bool,
    /// Over a capped collection, whose oldest records vanish: what to say when the last one shown
    /// did.
    lost: Option<&'static str>,
}

impl Walk {
    /// The best way for a filter and an order.
    pub fn new(data: &Data, wanted: Wanted, order: &Order, capped: bool) -> Self {
        let mut walk = Self {
            way: Way::Scan,
            reverse: matches!(order, Order::Natural { reverse: true }),
            position: Position::Start,
            filter: None,
            shown: None,
            ordered: !matches!(order, Order::By(_)),
            lost: capped.then_some("position in capped collection being deleted"),
        };
        let filter = match wanted {
            Wanted::Filter(filter) => filter,
            Wanted::Id(key) => {
                walk.way = Way::Id(key);
                walk.ordered = true;
                return walk;
            }
        };
        if !matches!(order, Order::Natural { .. }) {
            walk.choose(data, &filter, order);
        }
        let all = matches!(&filter, Filter::And(parts) if parts.is_empty());
        walk.filter = (!all).then_some(filter);
        walk
    }

    /// Makes it the walk of a tailable cursor.
    pub fn tail(&mut self) {
        self.lost = Some("failure to restore tailable cursor position");
    }

    /// What it has noted on its way, an upper bound.
    pub fn bytes(&self) -> u64 {
        self.shown.as_ref().map_or(0, |shown| shown.capacity() as u64 * 16)
    }

    fn choose(&mut self, data: &Data, filter: &Filter, order: &Order) {
        let mut tests = Vec::new();
        filter.required(&mut tests);
        let mut best: Option<(u32, usize, Vec<Range>)> = None;
        for (place, index) in data.indexes.iter().enumerate() {
            if index.sparse {
                continue; // it does not hold every document
            }
            let (mut score, ranges) = ranges(index, &tests);
            if sorts(index, order) && !index.multikey {
                score += 1;
            }
            if score > 0 && best.as_ref().is_none_or(|(other, ..)| score > *other) {
                best = Some((score, place, ranges));
            }
        }
        let Some((_, place, ranges)) = best else { return };
        let index = &data.indexes[place];
        if index.multikey {
            self.shown = Some(HashSet::new());
        } else if let Order::By(by) = order
            && sorts(index, order)
        {
            self.ordered = true;
            self.reverse = by[0].1 != index.fields[0].1;
        }
        self.way = Way::Index { name: index.name.clone(), place, ranges };
    }

    /// Visits documents until the visitor pauses. True: there are no more.
    pub fn run(
        &mut self,
        data: &Data,
        visit: &mut dyn FnMut(u64, &Stored) -> Step,
    ) -> Outcome<bool> {
        match &self.way {
            Way::Id(key) => {
                if matches!(self.position, Position::Start) {
                    let record = data.indexes[0].entries.get(key);
                    let found = record.and_then(|it| Some((*it, data.records.get(it)?)));
                    if let Some((record, document)) = found
                        && visit(record, document) == Step::Leave
                    {
                        return Ok(false);
                    }
                    self.position = Position::End;
                }
                Ok(true)
            }
            Way::Scan => self.scan(data, visit),
            Way::Index { name, place, .. } => {
                let place = *place;
                if data.indexes.get(place).is_none_or(|index| index.name != *name) {
                    let message = format!("index '{name}' dropped");
                    return Err(Fault::new(QUERY_PLAN_KILLED, message));
                }
                Ok(self.through_index(data, place, visit))
            }
        }
    }

    fn passes(&self, document: &Stored) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(document.bytes()))
    }

    /// A walk that found the end goes on from there when it is run again: tailable cursors do.
    fn scan(&mut self, data: &Data, visit: &mut dyn FnMut(u64, &Stored) -> Step) -> Outcome<bool> {
        let mut bounds = (Bound::Unbounded, Bound::Unbounded);
        if let Position::After(last) = self.position {
            if let Some(why) = self.lost.filter(|_| !data.records.contains_key(&last)) {
                let message = format!(
                    "CollectionScan died due to {why}. Last seen record id: RecordId({last})"
                );
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
            let step = if self.passes(document) { visit(record, document) } else { Step::Go };
            if step == Step::Leave {
                return Ok(false);
            }
            self.position = Position::After(record);
            if step == Step::Pause {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn through_index(
        &mut self,
        data: &Data,
        place: usize,
        visit: &mut dyn FnMut(u64, &Stored) -> Step,
    ) -> bool {
        let Way::Index { ranges, .. } = &self.way else { return true };
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
                let new = self.shown.as_ref().is_none_or(|shown| !shown.contains(&record));
                let document = data.records.get(&record).filter(|_| new);
                let step = match document.filter(|document| self.passes(document)) {
                    Some(document) => visit(record, document),
                    None => Step::Go,
                };
                if step == Step::Leave {
                    self.position = Position::InRange { at, last: last.cloned() };
                    return false;
                }
                if let Some(shown) = &mut self.shown {
                    shown.insert(record);
                }
                last = Some(key);
                if step == Step::Pause {
                    self.position = Position::InRange { at, last: last.cloned() };
                    return false;
                }
            }
        }
        self.position = Position::End;
        true
    }
}

/// Equal values have equal keys, and no array's elements nor missing fields are equal as well.
fn is_plain(kind: u8) -> bool {
    !matches!(kind, kind::NULL | kind::UNDEFINED | kind::ARRAY)
}

/// Whether walking through the index is walking in the order.
fn sorts(index: &Index, order: &Order) -> bool {
    let Order::By(by) = order else { return false };
    by.len() <= index.fields.len()
        && by.iter().zip(&index.fields).all(|(one, other)| one.0 == other.0)
        && by
            .iter()
            .zip(&index.fields)
            .all(|(one, other)| (one.1 == other.1) == (by[0].1 == index.fields[0].1))
}

/// The ranges that tests leave of an index, and how much they are worth: 0 for all of it.
fn ranges(index: &Index, tests: &[(&Path, &Test)]) -> (u32, Vec<Range>) {
    let mut prefixes = vec![Key::new()];
    let mut score = 0;
    for (path, descending) in &index.fields {
        let mut on_field = tests.iter().filter(|(other, _)| *other == path).map(|(_, test)| *test);
        let points = on_field.clone().find_map(points);
        if let Some(points) = points {
            let keys = points.iter().map(|key| oriented(key, *descending));
            let keys: Vec<Key> = keys.collect();
            prefixes = prefixes
                .iter()
                .flat_map(|prefix| keys.iter().map(move |key| joined(prefix, key)))
                .collect();
            prefixes.sort_unstable();
            prefixes.dedup();
            score += if index.unique && index.fields.len() == 1 { 40 } else { 20 };
            // Each test may be passed by another element of an array: one test alone is right.
            // And lists behind lists would make more ranges than there are documents.
            if index.multikey || prefixes.len() > RANGES_MAX {
                break;
            }
            continue;
        }
        let less = |test: &&Test| {
            matches!(test, Test::Compare(Comparison::Less | Comparison::LessOrEqual, _))
        };
        // Where only one is taken, mongod's planner prefers an upper bound.
        let preferred = on_field.clone().find(less).and_then(|test| range(test, None));
        let first = preferred.or_else(|| on_field.find_map(|test| range(test, None)));
        let Some(mut found) = first else { break };
        if !index.multikey {
            for test in tests.iter().filter(|(other, _)| *other == path) {
                found = range(test.1, Some(&found)).unwrap_or(found);
            }
        }
        return (score + 10, within(&prefixes, &found, *descending));
    }
    let whole = prefixes
        .into_iter()
        .map(|prefix| {
            let end = after_prefix(&prefix);
            (prefix, end)
        })
        .collect();
    (score, whole)
}

/// The values of `$eq` and `$in`, as keys.
fn points(test: &Test) -> Option<Vec<Key>> {
    let operands = match test {
        Test::Compare(Comparison::Equal, operand) => std::slice::from_ref(operand),
        Test::In(operands) => operands,
        _ => return None,
    };
    let mut keys = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand.kind {
            kind::ARRAY => return None,
            kind::NULL | kind::UNDEFINED => {
                // An empty array's entry is that of undefined, and filters look again anyway.
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

/// The keys of one field that a comparison leaves, within those that another one left.
fn range(test: &Test, within: Option<&Range>) -> Option<Range> {
    let Test::Compare(comparison, operand) = test else { return None };
    if !is_plain(operand.kind) || matches!(operand.kind, kind::MIN_KEY | kind::MAX_KEY) {
        return None;
    }
    let place = rank(operand.kind);
    let (mut from, mut to) =
        within.cloned().unwrap_or((Key::from_slice(&[place]), Some(Key::from_slice(&[place + 1]))));
    let after = || after_prefix(&operand.key);
    match comparison {
        Comparison::Equal => return None,
        Comparison::Greater => from = from.max(after()?),
        Comparison::GreaterOrEqual => from = from.max(operand.key.clone()),
        Comparison::Less => to = to.min(Some(operand.key.clone())),
        Comparison::LessOrEqual => to = to.min(after()),
    }
    Some((from, to))
}

/// A range of one field behind each prefix.
fn within(prefixes: &[Key], range: &Range, descending: bool) -> Vec<Range> {
    let (from, to) = range;
    let Some(to) = to else { return Vec::new() };
    if from >= to {
        return Vec::new();
    }
    prefixes
        .iter()
        .map(|prefix| {
            if descending {
                // Turned around: what ends before `to` begins at its complement, and what begins
                // with `from` itself is still within.
                let end = after_prefix(&joined(prefix, &oriented(from, true)));
                (joined(prefix, &oriented(to, true)), end)
            } else {
                (joined(prefix, from), Some(joined(prefix, to)))
            }
        })
        .collect()
}

fn oriented(key: &Key, descending: bool) -> Key {
    if descending { key.iter().map(|byte| !*byte).collect() } else { key.clone() }
}

fn joined(prefix: &Key, key: &Key) -> Key {
    let mut joined = prefix.clone();
    joined.extend_from_slice(key);
    joined
}
