//! A parsed tree to the types of `schema`, by the types of YAML 1.2, as JSON Schema has them: what
//! is in quotes is a text, and 4.0 is a whole number. Rejected: serde-saphyr's typed readers, which
//! take "4" for a number and 4 for a text, and point at a key where its value is wrong.

use std::fmt;
use std::slice::Iter;

use serde::de::value::StrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};

use super::located::{At, Location};
use super::problem::{Problem, did_you_mean};
use super::substitute::Substituted;
use super::tree::YamlTree;
use crate::operation_kind::OperationWord;

/// Letters of a word that a message quotes.
const WORD_LETTERS_MAX: usize = 60;
/// 2^63: every whole double below it is a long.
const LONG_END: f64 = 9_223_372_036_854_775_808.0;

pub fn read<'de, T: Deserialize<'de>>(tree: &'de At<YamlTree>) -> Result<T, Wrong> {
    T::deserialize(Placed::of(tree))
}

/// What is wrong with a tree, and where.
#[derive(Debug)]
pub struct Wrong {
    problem: Problem,
    place: Option<Location>,
}

impl Wrong {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: Problem::new(message, None).hint(hint), place: None }
    }

    /// Returns the problem with its place in the user's text; `map` leads there from `text`.
    pub fn problem(mut self, text: &str, map: Option<&Substituted>) -> Problem {
        let found = self.place.and_then(|place| place.span(text));
        self.problem.span = found.map(|span| map.map_or(span, |map| map.original(span)));
        self.problem
    }

    /// The innermost place stays.
    fn at(self, place: Location) -> Self {
        Self { place: self.place.or(Some(place)), ..self }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for Wrong {}

impl Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string(), "correct the YAML at this place")
    }
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let hint = match (found, expected.to_string().as_str()) {
            (Unexpected::Str(word), "a boolean") => match word.to_lowercase().as_str() {
                "y" | "yes" | "on" | "true" => "write `true`".to_owned(),
                "n" | "no" | "off" | "false" => "write `false`".to_owned(),
                _ => "write true or false".to_owned(),
            },
            (Unexpected::Str(word), wanted) if word.replace('_', "").parse::<f64>().is_ok() => {
                let without = if word.contains('_') { "`_`" } else { "quotes" };
                format!("write {}, without {without}", in_words(wanted))
            }
            (_, wanted) => format!("write {}", in_words(wanted)),
        };
        let found = match found {
            Unexpected::Unit => "null".to_owned(),
            Unexpected::Seq => "the list".to_owned(),
            Unexpected::Map => "the mapping".to_owned(),
            Unexpected::Bool(value) => format!("`{value}`"),
            Unexpected::Float(value) => format!("the number {value}"),
            Unexpected::Signed(value) => format!("the number {value}"),
            Unexpected::Str(word) => format!("the text {:?}", short(word)),
            other => other.to_string(),
        };
        Self::new(format!("{found} cannot be here"), hint)
    }
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }
    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let hint = format!("write {}", in_words(&expected.to_string()));
        Self::new(format!("a list of {length} values cannot be here"), hint)
    }
    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        let hint = did_you_mean(word, known.iter().copied());
        let problem = Problem::new(format!("`{}` is not known here", short(word)), None);
        Self { problem: problem.maybe_hint(hint), place: None }
    }
    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        let hint = foreign(key, known).or_else(|| did_you_mean(key, known.iter().copied()));
        let problem = Problem::new(format!("unknown key `{}`", short(key)), None);
        Self { problem: problem.maybe_hint(hint), place: None }
    }
    fn missing_field(key: &'static str) -> Self {
        Self::new(format!("the key `{key}` is missing"), format!("add `{key}:`"))
    }
}

/// What serde calls a type, in words.
fn in_words(expected: &str) -> &str {
    match expected {
        "u64" => "a whole number, 0 or more",
        "u32" => "a whole number from 0 to 4294967295",
        "i64" | "i32" => "a whole number",
        "f64" => "a number",
        "a string" => "a text, in quotes where it looks like a number or null",
        "a sequence" => "a list",
        "a map" => "a mapping",
        "an array of length 2" => "a list of 2 numbers",
        other if other.starts_with("struct ") => "a mapping",
        other => other,
    }
}

/// The beginning of a word that may have thousands of letters.
pub fn short(word: &str) -> String {
    let mut letters = word.chars();
    let begin: String = letters.by_ref().take(WORD_LETTERS_MAX).collect();
    if letters.next().is_none() { begin } else { begin + "…" }
}

/// Words of k6, YCSB and genny for keys that have another name here, and an operation that was
/// written as a key.
fn foreign(key: &str, known: &[&str]) -> Option<String> {
    let is_operation = OperationWord::ALL.iter().any(|kind| kind.name() == key);
    if is_operation && known.contains(&"operation") {
        return Some(format!("write `operation: {key}`, and its keys beside it"));
    }
    let ours: &[&str] = match key.to_lowercase().as_str() {
        "threads" | "vus" | "threadcount" | "concurrency" | "clients" => &["workers"],
        "iterations" | "operationcount" | "repeat" => &["operations"],
        "count" => &["operations", "documents"],
        "recordcount" => &["documents"],
        "target" | "rps" | "arrival_rate" | "globalrate" => &["rate"],
        "sleep" => &["think"],
        "requestdistribution" | "distribution" => &["keys"],
        "bulk" | "batchsize" => &["batch"],
        _ => return None,
    };
    let ours = ours.iter().find(|ours| known.contains(ours))?;
    Some(format!("write `{ours}`, as it is called here"))
}

/// A part of the tree.
#[derive(Clone, Copy)]
enum Branch<'de> {
    Value(&'de YamlTree),
    /// The name of an entry: a text that may be a number.
    Name(&'de str),
}

impl<'de> Branch<'de> {
    fn visit<V: Visitor<'de>>(self, visitor: V, whole: bool) -> Result<V::Value, Wrong> {
        let tree = match self {
            Self::Value(tree) => tree,
            Self::Name(name) => return visitor.visit_str(name),
        };
        match tree {
            YamlTree::Null => visitor.visit_unit(),
            YamlTree::Bool(value) => visitor.visit_bool(*value),
            YamlTree::Int(value) => visitor.visit_i64(*value),
            YamlTree::Double(value)
                if whole && value.fract() == 0.0 && (-LONG_END..LONG_END).contains(value) =>
            {
                visitor.visit_i64(*value as i64)
            }
            YamlTree::Double(value) => visitor.visit_f64(*value),
            YamlTree::String(value) => visitor.visit_str(value),
            YamlTree::List(items) => visitor.visit_seq(Items(items.iter())),
            YamlTree::Map(entries) => visitor.visit_map(Entries(entries.iter(), None)),
        }
    }
}

/// A part of the tree and its place.
#[derive(Clone, Copy)]
struct Placed<'de>(Branch<'de>, Location);

impl<'de> Placed<'de> {
    fn of(tree: &'de At<YamlTree>) -> Self {
        Self(Branch::Value(&tree.value), tree.place)
    }
}

macro_rules! by_type {
    ($($method:ident($($name:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(
            self,
            $($name: $type,)*
            visitor: V,
        ) -> Result<V::Value, Wrong> {
            self.0.visit(visitor, true).map_err(|wrong| wrong.at(self.1))
        })*
    };
}

impl<'de> Deserializer<'de> for Placed<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.0.visit(visitor, false).map_err(|wrong| wrong.at(self.1))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Branch::Value(YamlTree::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let made = match self.0 {
            Branch::Name(name) => match name.parse() {
                Ok(number) => visitor.visit_u64(number),
                Err(_) => Err(Error::invalid_type(Unexpected::Str(name), &visitor)),
            },
            Branch::Value(_) => self.0.visit(visitor, true),
        };
        made.map_err(|wrong: Wrong| wrong.at(self.1))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.0 {
            Branch::Value(YamlTree::List(items)) if items.len() != length => {
                Err(Wrong::invalid_length(items.len(), &visitor).at(self.1))
            }
            _ => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let wanted = format!("one of {}", words.join(", "));
        let made: Result<_, Wrong> = match self.0 {
            Branch::Name(word) => visitor.visit_enum(StrDeserializer::new(word)),
            Branch::Value(YamlTree::String(word)) => visitor.visit_enum(StrDeserializer::new(word)),
            Branch::Value(other) => Err(Error::invalid_type(other.found(), &wanted.as_str())),
        };
        made.map_err(|wrong| wrong.at(self.1))
    }

    /// `At` alone is read with its place.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.0 {
            _ if name == "At" => visitor.visit_seq(ValueAndPlace(Some(self), Some(self.1))),
            // Serde would take its values for the fields in their order.
            Branch::Value(YamlTree::List(_)) => {
                Err(Wrong::invalid_type(Unexpected::Seq, &visitor).at(self.1))
            }
            _ => self.deserialize_map(visitor),
        }
    }

    by_type! {
        deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_f32() deserialize_f64()
        deserialize_char() deserialize_str() deserialize_string() deserialize_bytes()
        deserialize_byte_buf() deserialize_unit() deserialize_seq() deserialize_map()
        deserialize_identifier() deserialize_ignored_any()
        deserialize_unit_struct(_name: &'static str)
        deserialize_newtype_struct(_name: &'static str)
        deserialize_tuple_struct(_name: &'static str, _length: usize)
    }
}

struct Items<'de>(Iter<'de, At<YamlTree>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Wrong> {
        self.0.next().map(|item| seed.deserialize(Placed::of(item))).transpose()
    }
}

/// What is left of a mapping, and the value whose name was read.
struct Entries<'de>(Iter<'de, (At<String>, At<YamlTree>)>, Option<&'de At<YamlTree>>);

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        let Some((name, value)) = self.0.next() else { return Ok(None) };
        self.1 = Some(value);
        seed.deserialize(Placed(Branch::Name(&name.value), name.place)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Wrong> {
        match self.1.take() {
            Some(value) => seed.deserialize(Placed::of(value)),
            None => Err(Wrong::custom("a value without a name")),
        }
    }
}

/// The two fields of an `At`.
struct ValueAndPlace<'de>(Option<Placed<'de>>, Option<Location>);

impl<'de> SeqAccess<'de> for ValueAndPlace<'de> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Wrong> {
        if let Some(value) = self.0.take() {
            return seed.deserialize(value).map(Some);
        }
        self.1.take().map(|place| seed.deserialize(place.into_deserializer())).transpose()
    }
}
