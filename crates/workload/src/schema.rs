//! The YAML of a workload; the doc comments are the reference that editors show.
#![allow(clippy::doc_markdown)] // editors show these comments as plain text

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde_saphyr::Location;

use base::units::parse_duration;

use super::at::{At, Named, any_of};
use super::fields::Field;
use super::kind::Kind;
use super::tree::Tree;

/// A workload: documents and phases. `${name}` anywhere takes a parameter's value.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Name in results; the file's name where it is missing.
    pub name: Option<At<String>>,
    /// One paragraph: what this workload is for.
    pub why: At<String>,
    /// Parameters and their defaults; `--set name=value` changes them.
    #[serde(default)]
    pub parameters: Named<At<Tree>>,
    /// Standard URI options for every arm (`maxPoolSize: 50`); `default` leaves one unset.
    #[serde(default)]
    pub options: Named<At<Tree>>,
    /// Collections by name.
    #[serde(default)]
    pub collections: Named<At<Collection>>,
    /// Phases, measured in this order. Each phase that writes begins on collections made anew.
    pub phases: At<Vec<At<Phase>>>,
}

/// A collection and its documents.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// Documents loaded beforehand (default 0; with `file`, as many as the file holds).
    pub documents: Option<At<u64>>,
    /// Secondary indexes.
    #[serde(default)]
    pub indexes: Vec<At<Index>>,
    /// Makes it a capped collection.
    pub capped: Option<At<Capped>>,
    /// BSON size of every document in bytes; a field with `length: fill` makes it up.
    pub size_bytes: Option<At<u64>>,
    /// Fields of a document, in order. Without an `_id` there comes an objectid made of the key.
    pub document: Option<At<Named<At<Field>>>>,
    /// The user's own documents: `.bson` (mongodump) or `.jsonl` (Extended JSON, one a line),
    /// relative to the workload. The first 16 MiB are taken, over and over.
    pub file: Option<At<String>>,
    /// With `file`: top-level field by which documents are found (default `_id`). Like `_id` it
    /// is replaced by a value made of the document's number.
    pub key: Option<At<String>>,
}

/// Limits of a capped collection.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capped {
    /// Size limit in bytes.
    pub size_bytes: At<u64>,
    /// Limit in documents.
    pub documents: Option<At<u64>>,
}

/// An index: a field's name, or `{keys: {field: 1}, unique: true}`.
#[derive(Debug, Clone)]
pub struct Index {
    /// Fields and directions.
    pub keys: Named<At<i32>>,
    pub field: Option<String>,
    /// Whether duplicates are refused.
    pub unique: bool,
}

/// Defines structs that share keys; serde's flatten would lose the places that messages point at.
macro_rules! with_shared_keys {
    ($shared:tt $($(#[$about:meta])* $name:ident $own:tt)*) => {
        $(with_keys! { $shared $(#[$about])* $name $own })*
    };
}

macro_rules! with_keys {
    (
        { $($(#[$doc:meta])* $key:ident: $type:ty,)* }
        $(#[$about:meta])* $name:ident { $($(#[$own_doc:meta])* $own:ident: $own_type:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$own_doc])* pub $own: $own_type,)*
            $($(#[$doc])* pub $key: $type,)*
        }

        impl $name {
            /// The keys of the operation alone.
            pub fn operation_keys(&self) -> OperationKeys {
                OperationKeys { $($key: self.$key.clone(),)* }
            }

            /// Those of them that are given, by their name.
            pub fn given(&self) -> impl Iterator<Item = (&'static str, Location)> {
                let places = [$((stringify!($key), self.$key.as_ref().map(|it| it.place)),)*];
                places.into_iter().filter_map(|(name, place)| Some((name, place?)))
            }
        }
    };
}

with_shared_keys! {
    {
        /// Name of the operation.
        operation: Option<At<Kind>>,
        /// Collection; the only one where there is one.
        collection: Option<At<String>>,
        /// Field that is looked for, one with `value: key`; default `_id`.
        by: Option<At<String>>,
        /// So many keys from the chosen one on (a field that is a number).
        range: Option<At<u64>>,
        /// A filter of one's own in place of `by`. Here and in `update`, `pipeline` and `command`,
        /// `{$stamp: key}` is a value made per operation (a long),
        /// `{$stamp: {type: int, value: key, add: 5}}` in full.
        filter: Option<At<Tree>>,
        /// Largest number of documents.
        limit: Option<At<u32>>,
        /// Documents in one batch of the cursor.
        batch_size: Option<At<u32>>,
        /// Documents of one call.
        batch: Option<At<u32>>,
        /// Stop at the first error (default true).
        ordered: Option<At<bool>>,
        /// Fields and their new values, written as in `document`.
        set: Option<At<Named<At<Field>>>>,
        /// An update document in place of `set`.
        update: Option<At<Tree>>,
        /// Insert where nothing matches.
        upsert: Option<At<bool>>,
        /// Stages of the pipeline.
        pipeline: Option<At<Tree>>,
        /// Document of the command.
        command: Option<At<Tree>>,
        /// Write concern, `{w: 1}`, `{w: majority, j: true}`; w: 0 is unacknowledged.
        write_concern: Option<At<WriteConcern>>,
        /// Read concern: local, majority, available, linearizable or snapshot.
        read_concern: Option<At<String>>,
        /// Read preference: primary, primaryPreferred, secondary, secondaryPreferred, nearest.
        read_preference: Option<At<String>>,
    }

    /// The keys that a phase and an entry of `mix` have in common.
    OperationKeys {}

    /// An operation of a `mix`; collection and concerns default to the phase's.
    Mixed {
        /// How often, relative to the others (default 1).
        weight: Option<At<u32>>,
        /// Name in results; default: the operation.
        name: Option<At<String>>,
    }

    /// One timed stretch of one operation or one mix of operations.
    Phase {
        /// Name in results; default: the operation.
        name: Option<At<String>>,
        /// Several operations, each with its weight, in place of `operation`.
        mix: Option<At<Vec<At<Mixed>>>>,
        /// How keys are chosen: sequential, uniform (default), zipfian, latest, or with an
        /// exponent {zipfian: 0.8}.
        keys: Option<At<Keys>>,
        /// Ends after so many operations, over all workers of an arm.
        operations: Option<At<u64>>,
        /// Ends after this time: seconds, or `500ms`, `10s`, `2m` (default 3 s, quick 1 s; none
        /// with `operations`). With `operations`: whichever comes first.
        duration: Option<At<Time>>,
        /// Warm-up; default: what the adapter's language needs.
        warmup: Option<At<Time>>,
        /// Threads or tasks in each process (default 1).
        workers: Option<At<u32>>,
        /// Processes (default 1).
        processes: Option<At<u32>>,
        /// Open loop: operations per second over all workers, begun on time whatever comes back.
        rate: Option<At<f64>>,
        /// With `rate`: random (Poisson) arrivals in place of even gaps.
        poisson: Option<At<bool>>,
        /// Each worker keeps so many operations in flight.
        window: Option<At<u32>>,
        /// All operations intended at the start.
        burst: Option<At<bool>>,
        /// Pause of a worker after each operation.
        think: Option<At<Time>>,
        /// A further process reads the documents along, with a tailable cursor: messages. The
        /// collection is capped, and its documents have `producer: {type: int, value: producer}`,
        /// `sequence: {type: long, value: sequence}` and `made_ns: {type: long, value: made_ns}`.
        consumer: Option<At<bool>>,
        /// How documents are given to the driver: native (default), struct or raw.
        document_form: Option<At<DocumentForm>>,
    }
}

/// Form of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DocumentForm {
    /// dict, bson.D, Document, plain object.
    Native,
    /// A mapped class.
    Struct,
    /// Raw BSON.
    Raw,
}

/// A write concern.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteConcern {
    /// Number of members, or `majority`.
    pub w: Option<At<Tree>>,
    /// Wait for the journal.
    pub j: Option<At<bool>>,
}

/// Name of a key choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeysName {
    /// 0, 1, 2, …
    Sequential,
    /// Every key alike.
    Uniform,
    /// Few keys often.
    Zipfian,
    /// The newest often.
    Latest,
}

/// A key choice.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    pub name: KeysName,
    /// Exponent of zipfian and latest.
    pub theta: Option<f64>,
}

/// A time in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Time(pub f64);

struct IndexVisitor;

impl<'de> Visitor<'de> for IndexVisitor {
    type Value = Index;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name or {keys: {field: 1}, unique: true}")
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Index, E> {
        Ok(Index { keys: Named::default(), field: Some(value.to_owned()), unique: false })
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Index, A::Error> {
        let long = IndexKeys::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Index { keys: long.keys, field: None, unique: long.unique })
    }
}

/// An index in full.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IndexKeys {
    /// Fields and directions, 1 or -1.
    keys: Named<At<i32>>,
    /// Refuse duplicates.
    #[serde(default)]
    unique: bool,
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sequential, uniform, zipfian, latest or {zipfian: 0.8}")
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Keys, E> {
        let name = KeysName::deserialize(StrDeserializer::<E>::new(value))?;
        Ok(Keys { name, theta: None })
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Keys, A::Error> {
        let keys = KeysWithTheta::deserialize(MapAccessDeserializer::new(map))?;
        let (name, theta) = match keys {
            KeysWithTheta::Zipfian(theta) => (KeysName::Zipfian, theta),
            KeysWithTheta::Latest(theta) => (KeysName::Latest, theta),
        };
        Ok(Keys { name, theta: Some(theta) })
    }
}

/// A key choice with its exponent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum KeysWithTheta {
    /// Exponent, between 0 and 1.
    Zipfian(f64),
    /// Exponent, between 0 and 1.
    Latest(f64),
}

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = Time;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time: seconds, or with a unit as in 500ms, 10s, 2m")
    }
    fn visit_u64<E>(self, value: u64) -> Result<Time, E> {
        Ok(Time(value as f64))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Time, E> {
        Ok(Time(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Time, E> {
        Ok(Time(value))
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Time, E> {
        let wrong = |_| E::invalid_value(serde::de::Unexpected::Str(value), &self);
        parse_duration(value).map(|it| Time(it.as_secs_f64())).map_err(wrong)
    }
}

any_of!(Index, IndexVisitor, g, [g.subschema_for::<String>(), g.subschema_for::<IndexKeys>()]);
any_of!(Keys, KeysVisitor, g, [g.subschema_for::<KeysName>(), g.subschema_for::<KeysWithTheta>()]);
any_of!(Time, TimeVisitor, g, [g.subschema_for::<f64>(), g.subschema_for::<String>()]);
