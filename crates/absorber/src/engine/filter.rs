//! Filters: parsed once, then compared with documents.

use wire::raw::{Field, Value, fields, kind};

use super::args::documents_of;
use super::fault::{Fallible, Fault};
use super::field_path::FieldPath;
use super::key_encoding::{Key, key_of, rank};

/// Conditions that must all be satisfied.
#[derive(Debug, Clone)]
pub struct Filter(pub Vec<FilterCondition>);

/// Condition that some value at the path passes the test or, without `holds`, that none does.
#[derive(Debug, Clone)]
pub struct FilterCondition {
    pub path: FieldPath,
    pub test: Test,
    pub holds: bool,
}

#[derive(Debug, Clone)]
pub enum Test {
    Compare(ComparisonOperator, Operand),
    /// Operands in the order of their keys.
    In(Vec<Operand>),
    Exists,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOperator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A value out of a filter, ready to be compared.
#[derive(Debug, Clone)]
pub struct Operand {
    /// One of [`kind`].
    pub kind: u8,
    pub bytes: Vec<u8>,
    /// The value, encoded for comparisons.
    pub key: Key,
}

impl Operand {
    fn new(value: Value<'_>) -> Fallible<Self> {
        if value.kind == kind::REGEX {
            return Err(Fault::not_here("regular expressions"));
        }
        Ok(Self { kind: value.kind, bytes: value.bytes.to_vec(), key: key_of(value) })
    }

    pub fn value(&self) -> Value<'_> {
        Value { kind: self.kind, bytes: &self.bytes }
    }

    fn is_null(&self) -> bool {
        matches!(self.kind, kind::NULL | kind::UNDEFINED)
    }

    fn is_nan(&self) -> bool {
        self.value().number().is_some_and(|number| number.as_f64().is_nan())
    }

    fn equals(&self, value: Option<Value<'_>>) -> bool {
        let Some(value) = value else { return self.is_null() };
        // Most values have one form only, and are compared without being encoded.
        let one_form = !matches!(
            value.kind,
            kind::DOUBLE | kind::DECIMAL | kind::DOCUMENT | kind::ARRAY | kind::SCOPED_CODE
        );
        if value.kind == self.kind && one_form {
            return value.bytes == self.bytes;
        }
        if rank(value.kind) != rank(self.kind) {
            return self.is_null() && matches!(value.kind, kind::NULL | kind::UNDEFINED);
        }
        key_of(value) == self.key
    }
}

impl Test {
    pub fn passes(&self, value: Option<Value<'_>>) -> bool {
        match self {
            Self::Exists => value.is_some(),
            Self::In(operands) => {
                let null = matches!(value.map(|value| value.kind), None | Some(kind::UNDEFINED));
                let key = key_of(value.filter(|_| !null).unwrap_or(Value::NULL));
                operands.binary_search_by(|operand| operand.key.cmp(&key)).is_ok()
            }
            Self::Compare(ComparisonOperator::Equal, operand) => operand.equals(value),
            Self::Compare(comparison, operand) => compare(*comparison, operand, value),
        }
    }
}

/// Compares values of the same place in the order; MinKey and MaxKey compare with all.
fn compare(comparison: ComparisonOperator, operand: &Operand, value: Option<Value<'_>>) -> bool {
    let or_equal =
        matches!(comparison, ComparisonOperator::LessOrEqual | ComparisonOperator::GreaterOrEqual);
    if operand.is_null() {
        return or_equal && operand.equals(value);
    }
    let any_kind = matches!(operand.kind, kind::MIN_KEY | kind::MAX_KEY);
    let Some(value) = value.or(any_kind.then_some(Value::NULL)) else { return false };
    if !any_kind && rank(value.kind) != rank(operand.kind) {
        return false;
    }
    let key = key_of(value);
    if operand.is_nan() {
        return or_equal && key == operand.key;
    }
    if value.number().is_some_and(|number| number.as_f64().is_nan()) {
        return any_kind;
    }
    match comparison {
        ComparisonOperator::Equal => key == operand.key,
        ComparisonOperator::Less => key < operand.key,
        ComparisonOperator::LessOrEqual => key <= operand.key,
        ComparisonOperator::Greater => key > operand.key,
        ComparisonOperator::GreaterOrEqual => key >= operand.key,
    }
}

impl Filter {
    pub fn parse(filter: &[u8]) -> Fallible<Self> {
        let mut all = Vec::new();
        add(filter, &mut all)?;
        Ok(Self(all))
    }

    pub fn matches(&self, document: &[u8]) -> bool {
        self.0.iter().all(|FilterCondition { path, test, holds }| {
            path.any(document, &mut |value| test.passes(value)) == *holds
        })
    }
}

fn add(filter: &[u8], all: &mut Vec<FilterCondition>) -> Fallible<()> {
    for field in fields(filter) {
        match field.name {
            b"$and" => {
                let parts =
                    documents_of("$and", field.value).map_err(|it| Fault::bad_value(it.message))?;
                if parts.is_empty() {
                    return Err(Fault::bad_value("$and must be a nonempty array"));
                }
                parts.into_iter().try_for_each(|part| add(part, all))?;
            }
            b"$comment" => {}
            [b'$', ..] => return Err(Fault::not_here(&format!("operator {}", field.name()))),
            name => condition(&FieldPath::new(name), field.value, all)?,
        }
    }
    Ok(())
}

/// `{path: value}` or `{path: {$operator: …}}`.
fn condition(path: &FieldPath, value: Value<'_>, all: &mut Vec<FilterCondition>) -> Fallible<()> {
    let first = value.document().and_then(|document| fields(document).next());
    let operators = first.is_some_and(|field| {
        field.name.starts_with(b"$") && !matches!(field.name, b"$ref" | b"$id" | b"$db")
    });
    let mut push = |(test, holds)| all.push(FilterCondition { path: path.clone(), test, holds });
    if operators {
        fields(value.bytes).try_for_each(|field| operator(&field).map(&mut push))
    } else {
        push((Test::Compare(ComparisonOperator::Equal, Operand::new(value)?), true));
        Ok(())
    }
}

/// The test of an operator, and whether it must pass.
fn operator(field: &Field<'_>) -> Fallible<(Test, bool)> {
    let compare = |comparison| Operand::new(field.value).map(|it| Test::Compare(comparison, it));
    Ok(match field.name {
        b"$eq" => (compare(ComparisonOperator::Equal)?, true),
        b"$ne" => (compare(ComparisonOperator::Equal)?, false),
        b"$gt" => (compare(ComparisonOperator::Greater)?, true),
        b"$gte" => (compare(ComparisonOperator::GreaterOrEqual)?, true),
        b"$lt" => (compare(ComparisonOperator::Less)?, true),
        b"$lte" => (compare(ComparisonOperator::LessOrEqual)?, true),
        b"$in" => (Test::In(operands(field)?), true),
        b"$nin" => (Test::In(operands(field)?), false),
        b"$exists" => (Test::Exists, field.value.truth()),
        _ => return Err(Fault::not_here(&format!("operator {}", field.name()))),
    })
}

fn operands(field: &Field<'_>) -> Fallible<Vec<Operand>> {
    let array = field
        .value
        .array()
        .ok_or_else(|| Fault::bad_value(format!("{} needs an array", field.name())))?;
    let operands = fields(array).map(|element| Operand::new(element.value));
    let mut operands = operands.collect::<Fallible<Vec<_>>>()?;
    operands.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(operands)
}
