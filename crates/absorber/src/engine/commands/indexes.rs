//! createIndexes, dropIndexes, listIndexes.

use super::super::Engine;
use super::super::args::Request;
use super::super::collection::{Data, Stored};
use super::super::cursor::Cursor;
use super::super::error::{
    CANNOT_CREATE_INDEX, FAILED_TO_PARSE, Fault, INDEX_NOT_FOUND, INDEX_OPTIONS_CONFLICT,
    INDEX_SPECS_CONFLICT, INVALID_INDEX_SPECIFICATION, INVALID_OPTIONS, NAMESPACE_NOT_FOUND,
    Outcome,
};
use super::super::index::Index;
use super::super::raw::{Number, Value, fields, get, kind};
use super::super::text::field_text;
use super::super::writer::Writer;
use super::admin::list_reply;

/// `{createIndexes: collection, indexes: [{key, name, unique}]}`
pub fn create(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection()?;
    let known: &[&[u8]] = &[b"indexes", b"commitQuorum", b"ignoreUnknownIndexOptions"];
    request.fields("createIndexes", known)?;
    let specifications =
        get(request.body, b"indexes").ok_or_else(|| Fault::missing("createIndexes.indexes"))?;
    let array = specifications.array().ok_or_else(|| {
        Fault::wrong_type("createIndexes.indexes", specifications, "type 'array'")
    })?;
    let mut indexes = Vec::new();
    for element in fields(array) {
        let path = format!("createIndexes.indexes.{}", element.name());
        let document = element.value.document();
        let wrong = || Fault::wrong_type(&path, element.value, "type 'object'");
        indexes.push(specification(document.ok_or_else(wrong)?)?);
    }
    if indexes.is_empty() {
        return Err(Fault::bad_value("Must specify at least one index to create"));
    }
    let (collection, made) = engine.store.find_or_create(name)?;
    let mut data = collection.write();
    if data.dropped {
        drop(data); // since it was found: the index belongs to the next one
        return create(engine, request);
    }
    let before = data.indexes.len();
    for index in indexes {
        if !is_there(&data, &index)? {
            collection.add_index(&mut data, index)?;
        }
    }
    let after = data.indexes.len();
    let mut reply = Writer::new(128);
    reply.count("numIndexesBefore", before as u64);
    reply.count("numIndexesAfter", after as u64);
    if after > before {
        reply.bool("createdCollectionAutomatically", made);
    } else {
        reply.text("note", "all indexes already exist");
    }
    reply.double("ok", 1.0);
    Ok(reply)
}

/// An index as it was asked for.
fn specification(document: &[u8]) -> Outcome<Index> {
    let required = |name: &str| {
        let value = get(document, name.as_bytes());
        value.ok_or_else(|| {
            let shown = field_text(Value { kind: kind::DOCUMENT, bytes: document });
            let message = format!(
                "Error in specification {shown} :: caused by :: The '{name}' field is a required \
                 property of an index specification"
            );
            Fault::new(FAILED_TO_PARSE, message)
        })
    };
    let key = required("key")?;
    let name = required("name")?;
    check_key(document, key)?;
    if name.text().is_none_or(|name| name.is_empty() || name == "*") {
        let message = format!("The index name '{}' is not valid.", name.string());
        return Err(Fault::bad_value(message));
    }
    let mut shown = Writer::new(128);
    shown.int("v", 2);
    shown.value("key", key);
    shown.value("name", name);
    for field in fields(document) {
        match field.name {
            b"key" | b"name" | b"v" | b"ns" => {}
            b"unique" | b"sparse" if !field.value.truth() => {}
            b"unique" | b"sparse" => shown.bool(&field.name(), true),
            b"background" | b"hidden" | b"dropDups" | b"storageEngine" => shown.copy(&field),
            b"expireAfterSeconds"
            | b"partialFilterExpression"
            | b"collation"
            | b"weights"
            | b"default_language"
            | b"language_override"
            | b"textIndexVersion"
            | b"2dsphereIndexVersion"
            | b"bits"
            | b"min"
            | b"max"
            | b"bucketSize"
            | b"wildcardProjection" => {
                return Err(Fault::not_here(&format!("index option {}", field.name())));
            }
            _ => {
                let whole = field_text(Value { kind: kind::DOCUMENT, bytes: document });
                let message = format!(
                    "Error in specification {whole} :: caused by :: The field '{}' is not valid \
                     for an index specification. Specification: {whole}",
                    field.name()
                );
                return Err(Fault::new(INVALID_INDEX_SPECIFICATION, message));
            }
        }
    }
    Ok(Index::new(shown.finish()))
}

fn check_key(document: &[u8], key: Value<'_>) -> Outcome<()> {
    let whole = field_text(Value { kind: kind::DOCUMENT, bytes: document });
    let refuse = |what: &str| {
        let message = format!("Error in specification {whole} :: caused by :: {what}");
        Fault::new(CANNOT_CREATE_INDEX, message)
    };
    let pattern = key.document().ok_or_else(|| refuse("The field 'key' must be an object"))?;
    if fields(pattern).next().is_none() {
        return Err(refuse("Index keys cannot be empty."));
    }
    for field in fields(pattern) {
        if let Some(kind) = field.value.text() {
            if matches!(kind, "text" | "2d" | "2dsphere" | "hashed" | "geoHaystack") {
                return Err(Fault::not_here(&format!("{kind} indexes")));
            }
            return Err(refuse(&format!("Unknown index plugin '{kind}'")));
        }
        let direction = field.value.number().map(Number::as_f64);
        if direction.is_none_or(|direction| direction == 0.0 || direction.is_nan()) {
            let shown = field_text(key);
            let what = format!(
                "Values in v:2 index key pattern cannot be of type {}. Only numbers > 0, numbers \
                 < 0, and strings are allowed. Key pattern: {shown}",
                field.value.kind_name()
            );
            let zero = "Values in the index key pattern cannot be 0.".to_owned();
            return Err(refuse(if direction.is_some() { &zero } else { &what }));
        }
        if field.name.ends_with(b"$**") {
            return Err(Fault::not_here("wildcard indexes"));
        }
    }
    Ok(())
}

/// Whether the same index is there; another one of the same name or key is a fault.
fn is_there(data: &Data, index: &Index) -> Outcome<bool> {
    let same_name = data.indexes.iter().find(|other| other.name == index.name);
    let same_key = data.indexes.iter().find(|other| other.pattern == index.pattern);
    let id = |index: &Index| index.pattern == data.indexes[0].pattern;
    if id(index) {
        return Ok(true);
    }
    if let Some(other) = same_name {
        let same = other.pattern == index.pattern
            && other.unique == index.unique
            && other.sparse == index.sparse;
        if same {
            return Ok(true);
        }
        let message = format!(
            "An existing index has the same name as the requested index. When index names are \
             not specified, they are auto generated and can cause conflicts. Please refer to our \
             documentation. Requested index: {}, existing index: {}",
            requested(index),
            requested(other)
        );
        return Err(Fault::new(INDEX_SPECS_CONFLICT, message));
    }
    if let Some(other) = same_key {
        let message = format!("Index already exists with a different name: {}", other.name);
        return Err(Fault::new(INDEX_OPTIONS_CONFLICT, message));
    }
    Ok(false)
}

/// An index as messages show it: `unique` stands before its key there.
fn requested(index: &Index) -> String {
    let mut writer = Writer::new(128);
    writer.int("v", 2);
    let rest =
        |field: &super::super::raw::Field<'_>| !matches!(field.name, b"v" | b"key" | b"name");
    for field in fields(&index.shown).filter(rest) {
        writer.copy(&field);
    }
    writer.document("key", &index.pattern);
    writer.text("name", &index.name);
    field_text(Value { kind: kind::DOCUMENT, bytes: &writer.finish() })
}

/// `{dropIndexes: collection, index}`
pub fn drop_indexes(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection()?;
    let wanted = request.fields("dropIndexes", &[b"index"])?;
    let wanted = wanted.first().ok_or_else(|| Fault::missing("dropIndexes.index"))?.value;
    let collection = engine.store.find(name).ok_or_else(|| {
        Fault::new(NAMESPACE_NOT_FOUND, format!("ns not found {}", name.namespace()))
    })?;
    let mut data = collection.write();
    let before = data.indexes.len();
    let mut reply = Writer::new(64);
    reply.count("nIndexesWas", before as u64);
    if wanted.text() == Some("*") {
        while data.indexes.len() > 1 {
            let last = data.indexes.len() - 1;
            collection.remove_index(&mut data, last);
        }
        reply.text("msg", "non-_id indexes dropped for collection");
    } else {
        let is_wanted = |index: &Index| match wanted.document() {
            Some(pattern) => index.pattern == pattern,
            None => wanted.text() == Some(&index.name),
        };
        match data.indexes.iter().position(is_wanted) {
            Some(0) => return Err(Fault::new(INVALID_OPTIONS, "cannot drop _id index")),
            Some(place) => collection.remove_index(&mut data, place),
            None => {
                let message = format!("index not found with name [{}]", wanted.string());
                return Err(Fault::new(INDEX_NOT_FOUND, message));
            }
        }
    }
    reply.double("ok", 1.0);
    Ok(reply)
}

/// `{listIndexes: collection}`
pub fn list(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let name = request.collection()?;
    request.fields("listIndexes", &[b"cursor"])?;
    let collection = engine.store.find(name).ok_or_else(|| {
        Fault::new(NAMESPACE_NOT_FOUND, format!("ns does not exist: {}", name.namespace()))
    })?;
    let data = collection.read();
    let shown: Vec<Stored> = data.indexes.iter().map(|index| Stored::new(&index.shown)).collect();
    drop(data);
    list_reply(engine, Cursor::over(name.namespace(), shown))
}
