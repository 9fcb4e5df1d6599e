//! Whether the documents of a workload break its indexes: values that repeat under a unique one,
//! dates that a TTL deletes, arrays and places where an index takes none. It reads what the core
//! makes itself; what a filter selects is left to the server.

use std::collections::HashMap;

use bson::{Bson, Document};

use super::checking::Check;
use super::index_yaml::IndexYaml;
use super::located::{At, Location};
use super::pool::{LOADED_TIME_MS, Pool};
use crate::operations::about;
use crate::plan::{Collection, Expectable, Index, IndexedAs, Phase, Stamp, StampForm, StampSource};

/// A document has to outlive the experiment, which may take hours.
const OUTLIVES_MS: i64 = 24 * 3_600_000;

/// Documents that come into a collection.
struct Source<'a> {
    pool: &'a Pool,
    stamps: &'a [Stamp],
    /// Loaded before the first phase; None: phases write any number of them.
    loaded: Option<u64>,
}

/// Everything that is known of what a collection will hold.
pub struct Contents<'a> {
    sources: Vec<Source<'a>>,
    /// Values that updates put into documents, by their fields.
    updates: Vec<(String, &'a Stamp)>,
}

impl<'a> Contents<'a> {
    pub fn of(
        collection: &'a Collection,
        number: usize,
        pools: &'a [Pool],
        phases: &'a [Phase],
    ) -> Self {
        let stamps = &collection.stamps[..];
        let loaded = Source { pool: &pools[number], stamps, loaded: Some(collection.loaded) };
        let mut contents = Self { sources: vec![loaded], updates: Vec::new() };
        for phase in phases {
            for made in phase.operations.iter().filter(|it| it.collection == collection.name) {
                // Duplicates may be what is asked for.
                let expects = made.expect == Some(Expectable::Duplicate);
                if let Some(documents) = made.documents.as_ref().filter(|_| !expects) {
                    let pool = &pools[phase.pools[documents.pool as usize] as usize];
                    let loaded = (!about(made.kind).inserts()).then_some(0);
                    contents.sources.push(Source { pool, stamps: &documents.stamps, loaded });
                }
                for stamp in made.update.iter().flat_map(|update| &update.stamps) {
                    let field = stamp.path.get(1..).unwrap_or_default().join(".");
                    contents.updates.push((field, stamp));
                }
            }
        }
        contents
    }

    /// Complains of an index that these documents break.
    pub fn check(&self, check: &mut Check<'_>, index: &Index, given: &At<IndexYaml>) {
        let place = given.place;
        if index.unique && !index.options.contains_key("partialFilterExpression") {
            self.check_unique(check, index, place);
        }
        if let IndexYaml::Full(keys) = &given.value
            && let Some(after) = &keys.expire_after
        {
            let after_ms = (after.value.0 * 1000.0) as i64;
            self.check_dates(check, &index.keys[0].0, after_ms, after.place);
        }
        for (field, kind) in &index.keys {
            let IndexedAs::Kind(kind) = kind else { continue };
            let breaks: fn(&Bson) -> bool = match kind.as_str() {
                "hashed" => |value| matches!(value, Bson::Array(_)),
                "2dsphere" | "2d" => |value| *value != Bson::Null && !is_place(value),
                _ => continue,
            };
            let mut values = self.documents().filter_map(|it| ends(&it, field).pop());
            if let Some(value) = values.find(breaks) {
                let message = format!("a {kind} index cannot hold the `{field}` {value}");
                let hint = if kind == "hashed" {
                    "choose a field that holds no array"
                } else {
                    "make it a `{type: point}`: `{type: Point, coordinates: [longitude, latitude]}`"
                };
                check.wrong(place, message, hint);
            }
        }
        self.check_arrays(check, index, place);
    }

    fn documents(&self) -> impl Iterator<Item = Document> {
        self.sources.iter().flat_map(|source| source.pool.documents())
    }

    fn check_unique(&self, check: &mut Check<'_>, index: &Index, place: Location) {
        let fields: Vec<&str> = index.keys.iter().map(|(field, _)| field.as_str()).collect();
        let named = fields.join("`, `");
        let sparse = index.options.get_bool("sparse").is_ok_and(|it| it);
        for source in &self.sources {
            let by_key = |stamp: &Stamp| {
                let guid = matches!(stamp.form, StampForm::Guid | StampForm::GuidString);
                stamp.from == StampSource::Key || guid
            };
            let mut stamps = source.stamps.iter().filter(|it| by_key(it));
            if stamps.any(|stamp| fields.contains(&stamp.path.join(".").as_str())) {
                continue;
            }
            let hint = "add a field with `value: key` to the index, or leave out `unique`";
            // A constant repeats on purpose.
            let is_constant = |field: &&str| match (source.pool.count(), source.pool.document(0)) {
                (2.., first) => {
                    let value = ends(&first, field);
                    !value.is_empty() && value == ends(&source.pool.document(1), field)
                }
                _ => false,
            };
            if source.loaded.is_none() && fields.iter().all(is_constant) {
                continue;
            }
            let Some(loaded) = source.loaded else {
                let message = format!("documents are inserted whose `{named}` repeats");
                return check.wrong(place, message, hint);
            };
            let mut seen = HashMap::new();
            let count = source.pool.count() as u64;
            for number in 0..loaded.min(2 * count) {
                let document = source.pool.document((number % count) as usize);
                for value in combinations(&document, &fields, sparse) {
                    if let Some(other) = seen.insert(value, number).filter(|it| *it != number) {
                        let message =
                            format!("documents {other} and {number} have the same `{named}`");
                        return check.wrong(place, message, hint);
                    }
                }
            }
        }
    }

    fn check_dates(&self, check: &mut Check<'_>, field: &str, after_ms: i64, place: Location) {
        let now_ms = base::clock::since_1970().as_millis() as i64;
        let mut dates = Vec::new();
        let stamped = |stamp: &Stamp, loaded: bool| match stamp.from {
            StampSource::TimeMs if loaded => LOADED_TIME_MS.cast_signed() + stamp.add,
            StampSource::TimeMs => now_ms + stamp.add,
            _ => stamp.add,
        };
        for source in &self.sources {
            match source.stamps.iter().find(|stamp| stamp.path.join(".") == field) {
                Some(stamp) if stamp.form == StampForm::Date && source.loaded != Some(0) => {
                    dates.push(stamped(stamp, source.loaded.is_some()));
                }
                Some(_) => {}
                None => dates.extend(source.pool.documents().flat_map(|document| {
                    ends(&document, field).into_iter().filter_map(|value| match value {
                        Bson::DateTime(date) => Some(date.timestamp_millis()),
                        _ => None,
                    })
                })),
            }
        }
        let updates = self.updates.iter().filter(|(name, _)| name == field);
        let updates = updates.filter(|(_, stamp)| stamp.form == StampForm::Date);
        dates.extend(updates.map(|(_, stamp)| stamped(stamp, false)));
        match dates.into_iter().min() {
            None => {
                let message = format!("no document has a date in `{field}`: none would be deleted");
                check.wrong(place, message, format!("make `{field}` a date"));
            }
            Some(first) if first.saturating_add(after_ms) < now_ms + OUTLIVES_MS => {
                let first = bson::DateTime::from_millis(first).try_to_rfc3339_string();
                let first = first.unwrap_or_default();
                let day = first.split('T').next().unwrap_or_default();
                let message = format!(
                    "the server would delete documents while they are measured: the first \
                     `{field}` is of {day}"
                );
                let hint = "make `expire_after` longer, or the dates later: a document has to \
                            outlive the next 24 hours";
                check.wrong(place, message, hint);
            }
            Some(_) => {}
        }
    }

    /// One field of an index alone may be an array.
    fn check_arrays(&self, check: &mut Check<'_>, index: &Index, place: Location) {
        let Some(first) = self.documents().next() else { return };
        let mut arrays = Vec::new();
        for (field, _) in &index.keys {
            let head = field.split('.').next().unwrap_or_default();
            let through = matches!(first.get(head), Some(Bson::Array(_)));
            let is_array = ends(&first, field).iter().any(|it| matches!(it, Bson::Array(_)));
            if (through || is_array) && !arrays.contains(&head) {
                arrays.push(head);
            }
        }
        if let [first, second, ..] = arrays[..] {
            let message = format!("`{first}` and `{second}` are arrays: an index takes one");
            check.wrong(place, message, "make two indexes of it");
        }
    }
}

/// Whether a server takes it for a place.
fn is_place(value: &Bson) -> bool {
    let pair = |values: &[Bson]| match values {
        [longitude, latitude] => number(longitude)
            .zip(number(latitude))
            .is_some_and(|(x, y)| (-180.0..=180.0).contains(&x) && (-90.0..=90.0).contains(&y)),
        _ => false,
    };
    match value {
        Bson::Array(values) => pair(values),
        Bson::Document(place) => match (place.get("type"), place.get("coordinates")) {
            (Some(Bson::String(kind)), Some(Bson::Array(at))) => kind != "Point" || pair(at),
            _ => pair(&place.values().cloned().collect::<Vec<_>>()),
        },
        _ => false,
    }
}

fn number(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(number) => Some((*number).into()),
        Bson::Int64(number) => Some(*number as f64),
        Bson::Double(number) => Some(*number),
        _ => None,
    }
}

/// The values at the end of a path, through arrays; none where the path is not there.
fn ends(document: &Document, path: &str) -> Vec<Bson> {
    let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
    let Some(value) = document.get(head) else { return Vec::new() };
    match (rest, value) {
        (None, value) => vec![value.clone()],
        (Some(rest), Bson::Document(inner)) => ends(inner, rest),
        (Some(rest), Bson::Array(items)) => {
            items.iter().filter_map(Bson::as_document).flat_map(|inner| ends(inner, rest)).collect()
        }
        _ => Vec::new(),
    }
}

/// What a unique index holds of a document: a value for each element of an array.
fn combinations(document: &Document, fields: &[&str], sparse: bool) -> Vec<Vec<u8>> {
    let mut made = vec![Document::new()];
    let mut found = false;
    for (at, field) in fields.iter().enumerate() {
        let flat = |value: Bson| match value {
            Bson::Array(items) if !items.is_empty() => items,
            other => vec![other],
        };
        let mut values: Vec<Bson> = ends(document, field).into_iter().flat_map(flat).collect();
        found |= !values.is_empty();
        if values.is_empty() {
            values.push(Bson::Null);
        }
        let with = |document: &Document, value: &Bson| {
            let mut document = document.clone();
            document.insert(at.to_string(), value.clone());
            document
        };
        made = made.iter().flat_map(|it| values.iter().map(move |value| with(it, value))).collect();
    }
    if sparse && !found {
        return Vec::new();
    }
    made.iter().map(crate::replay::stamp::encode).collect()
}
