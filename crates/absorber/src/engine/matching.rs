//! Filters: parsed once, then held against documents.

use super::error::{Fault, Outcome};
use super::keys::{Key, encode, key_of, rank};
use super::path::Path;
use super::raw::{Field, Value, fields, kind};

/// What a document must be like.
#[derive(Debug, Clone)]
pub enum Filter {
    /// All of them; none is always true.
    And(Vec<Filter>),
    /// At least one.
    Or(Vec<Filter>),
    /// Not this.
    Not(Box<Filter>),
    /// Some value at the path passes.
    Field(Path, Test),
}

/// What a value must be like.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Test {
    Compare(Comparison, Operand),
    /// In the order of their keys.
    In(Vec<Operand>),
    Exists,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
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
    /// As it stands.
    pub bytes: Vec<u8>,
    /// As it compares.
    pub key: Key,
}

impl Operand {
    fn new(value: Value<'_>) -> Outcome<Self> {
        if value.kind == kind::REGEX {
            return Err(Fault::not_here("regular expressions"));
        }
        Ok(Self { kind: value.kind, bytes: value.bytes.to_vec(), key: key_of(value) })
    }

    /// As it stands.
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
    /// Whether a value, or a missing one, passes.
    pub fn passes(&self, value: Option<Value<'_>>) -> bool {
        match self {
            Self::Exists => value.is_some(),
            Self::In(operands) => {
                let null = matches!(value.map(|value| value.kind), None | Some(kind::UNDEFINED));
                let key = key_of(value.filter(|_| !null).unwrap_or(Value::NULL));
                operands.binary_search_by(|operand| operand.key.cmp(&key)).is_ok()
            }
            Self::Compare(Comparison::Equal, operand) => operand.equals(value),
            Self::Compare(comparison, operand) => compare(*comparison, operand, value),
        }
    }
}

/// Values are only compared with those of their own place in the order; MinKey and MaxKey with all.
fn compare(comparison: Comparison, operand: &Operand, value: Option<Value<'_>>) -> bool {
    let or_equal = matches!(comparison, Comparison::LessOrEqual | Comparison::GreaterOrEqual);
    if operand.is_null() {
        return or_equal && operand.equals(value);
    }
    let any_kind = matches!(operand.kind, kind::MIN_KEY | kind::MAX_KEY);
    let Some(value) = value.or(any_kind.then_some(Value::NULL)) else { return false };
    if !any_kind && rank(value.kind) != rank(operand.kind) {
        return false;
    }
    let mut key = Key::new();
    encode(value, &mut key);
    if operand.is_nan() {
        return or_equal && key == operand.key;
    }
    if value.number().is_some_and(|number| number.as_f64().is_nan()) {
        return any_kind;
    }
    match comparison {
        Comparison::Equal => key == operand.key,
        Comparison::Less => key < operand.key,
        Comparison::LessOrEqual => key <= operand.key,
        Comparison::Greater => key > operand.key,
        Comparison::GreaterOrEqual => key >= operand.key,
    }
}

impl Filter {
    /// The filter that every document passes.
    pub const ALL: Self = Self::And(Vec::new());

    /// Reads a filter.
    pub fn parse(filter: &[u8]) -> Outcome<Self> {
        let mut all = Vec::new();
        for field in fields(filter) {
            match field.name {
                b"$and" => all.push(Self::And(list(&field)?)),
                b"$or" => all.push(Self::Or(list(&field)?)),
                b"$nor" => all.push(Self::Not(Box::new(Self::Or(list(&field)?)))),
                b"$comment" => {}
                b"$expr" | b"$where" | b"$text" | b"$jsonSchema" | b"$alwaysTrue"
                | b"$alwaysFalse" | b"$sampleRate" => {
                    return Err(Fault::not_here(&format!("operator {}", field.name())));
                }
                [b'$', ..] => {
                    return Err(Fault::bad_value(format!(
                        "unknown top level operator: {}. If you have a field name that starts \
                         with a '$' symbol, consider using $getField or $setField.",
                        field.name()
                    )));
                }
                name => condition(&Path::new(name), field.value, &mut all)?,
            }
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Self::And(all) })
    }

    /// Whether a document passes.
    pub fn matches(&self, document: &[u8]) -> bool {
        match self {
            Self::And(all) => all.iter().all(|filter| filter.matches(document)),
            Self::Or(some) => some.iter().any(|filter| filter.matches(document)),
            Self::Not(filter) => !filter.matches(document),
            Self::Field(path, test) => path.any(document, &mut |value| test.passes(value)),
        }
    }

    /// Tests that every document that passes has passed, for choosing an index.
    pub fn required<'a>(&'a self, tests: &mut Vec<(&'a Path, &'a Test)>) {
        match self {
            Self::And(all) => all.iter().for_each(|filter| filter.required(tests)),
            Self::Field(path, test) => tests.push((path, test)),
            Self::Or(_) | Self::Not(_) => {}
        }
    }
}

fn list(field: &Field<'_>) -> Outcome<Vec<Filter>> {
    let array = field
        .value
        .array()
        .ok_or_else(|| Fault::bad_value(format!("{} must be an array", field.name())))?;
    let mut filters = Vec::new();
    for element in fields(array) {
        let document = element
            .value
            .document()
            .ok_or_else(|| Fault::bad_value("$or/$and/$nor entries need to be full objects"))?;
        filters.push(Filter::parse(document)?);
    }
    if filters.is_empty() {
        return Err(Fault::bad_value("$and/$or/$nor must be a nonempty array"));
    }
    Ok(filters)
}

/// `{path: value}` or `{path: {$operator: …}}`.
fn condition(path: &Path, value: Value<'_>, all: &mut Vec<Filter>) -> Outcome<()> {
    let first = value.document().and_then(|document| fields(document).next());
    let operators = first.is_some_and(|field| {
        field.name.starts_with(b"$") && !matches!(field.name, b"$ref" | b"$id" | b"$db")
    });
    if !operators {
        let test = Test::Compare(Comparison::Equal, Operand::new(value)?);
        all.push(Filter::Field(path.clone(), test));
        return Ok(());
    }
    for field in fields(value.bytes) {
        all.push(operator(path, &field)?);
    }
    Ok(())
}

fn operator(path: &Path, field: &Field<'_>) -> Outcome<Filter> {
    let test = |test| Filter::Field(path.clone(), test);
    let not = |filter| Filter::Not(Box::new(filter));
    let compared =
        |comparison| Ok::<_, Fault>(test(Test::Compare(comparison, Operand::new(field.value)?)));
    Ok(match field.name {
        b"$eq" => compared(Comparison::Equal)?,
        b"$ne" => not(compared(Comparison::Equal)?),
        b"$gt" => compared(Comparison::Greater)?,
        b"$gte" => compared(Comparison::GreaterOrEqual)?,
        b"$lt" => compared(Comparison::Less)?,
        b"$lte" => compared(Comparison::LessOrEqual)?,
        b"$in" => test(Test::In(operands(field)?)),
        b"$nin" => not(test(Test::In(operands(field)?))),
        b"$exists" if field.value.truth() => test(Test::Exists),
        b"$exists" => not(test(Test::Exists)),
        b"$not" => {
            let inner = field.value.document().filter(|inner| fields(inner).next().is_some());
            let inner =
                inner.ok_or_else(|| Fault::bad_value("$not needs a regex or a document"))?;
            let tests: Outcome<Vec<_>> =
                fields(inner).map(|field| operator(path, &field)).collect();
            not(Filter::And(tests?))
        }
        b"$regex" | b"$options" | b"$size" | b"$all" | b"$elemMatch" | b"$mod" | b"$type"
        | b"$geoWithin" | b"$geoIntersects" | b"$near" | b"$nearSphere" | b"$bitsAllSet"
        | b"$bitsAllClear" | b"$bitsAnySet" | b"$bitsAnyClear" => {
            return Err(Fault::not_here(&format!("operator {}", field.name())));
        }
        _ => return Err(Fault::bad_value(format!("unknown operator: {}", field.name()))),
    })
}

fn operands(field: &Field<'_>) -> Outcome<Vec<Operand>> {
    let array = field
        .value
        .array()
        .ok_or_else(|| Fault::bad_value(format!("{} needs an array", field.name())))?;
    let operands = fields(array).map(|element| Operand::new(element.value));
    let mut operands = operands.collect::<Outcome<Vec<_>>>()?;
    operands.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(operands)
}
