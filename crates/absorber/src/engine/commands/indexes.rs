use wire::raw::{Number, Value, fields, get};

use super::super::Engine;
use super::super::args::{CommandArgs, documents_of};
use super::super::fault::{
    CANNOT_CREATE_INDEX, FAILED_TO_PARSE, Fallible, Fault, INDEX_OPTIONS_CONFLICT,
    INDEX_SPECS_CONFLICT,
};
use super::super::index::OrderedIndex;
use super::super::stored_collection::Data;
use super::super::writer::Writer;

/// `{createIndexes: collection, indexes: [{key, name, unique}]}`
pub fn create(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let name = request.collection()?;
    request.fields(&[b"indexes", b"commitQuorum"])?;
    let specifications = get(request.body, b"indexes").ok_or_else(|| Fault::missing("indexes"))?;
    let specifications = documents_of("indexes", specifications)?;
    let indexes = specifications.into_iter().map(specification).collect::<Fallible<Vec<_>>>()?;
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
    Ok(reply.ok())
}

fn specification(document: &[u8]) -> Fallible<OrderedIndex> {
    let required = |name: &str| {
        let message = || format!("an index needs the field '{name}'");
        get(document, name.as_bytes()).ok_or_else(|| Fault::new(FAILED_TO_PARSE, message()))
    };
    let (key, name) = (required("key")?, required("name")?);
    let refuse = |message: &str| Err(Fault::new(CANNOT_CREATE_INDEX, message));
    let Some(pattern) = key.document().filter(|pattern| fields(pattern).next().is_some()) else {
        return refuse("an index's key must be an object that names a field");
    };
    for field in fields(pattern) {
        if field.value.text().is_some() || field.name.ends_with(b"$**") {
            return Err(Fault::not_here("indexes but 1 and -1 of plain fields"));
        }
        let direction = field.value.number().map(Number::as_f64);
        if direction.is_none_or(|direction| direction == 0.0 || direction.is_nan()) {
            return refuse("the values of an index's key must be numbers other than 0");
        }
    }
    let Some(name) = name.text().filter(|name| !name.is_empty() && *name != "*") else {
        return Err(Fault::bad_value("the index name is not valid"));
    };
    for field in fields(document) {
        let known = match field.name {
            b"key" | b"name" | b"v" | b"ns" | b"unique" | b"background" => true,
            b"sparse" | b"hidden" => !field.value.truth(),
            _ => false,
        };
        if !known {
            return Err(Fault::not_here(&format!("index option {}", field.name())));
        }
    }
    Ok(OrderedIndex::new(name, pattern, get(document, b"unique").is_some_and(Value::truth)))
}

/// Whether the same index exists; another one of the same name or key is a fault.
fn is_there(data: &Data, index: &OrderedIndex) -> Fallible<bool> {
    if index.pattern == data.indexes[0].pattern {
        return Ok(true);
    }
    if let Some(other) = data.indexes.iter().find(|other| other.name == index.name) {
        if other.pattern == index.pattern && other.unique == index.unique {
            return Ok(true);
        }
        let message = format!("another index has the name {}", index.name);
        return Err(Fault::new(INDEX_SPECS_CONFLICT, message));
    }
    match data.indexes.iter().find(|other| other.pattern == index.pattern) {
        Some(other) => {
            let message = format!("Index already exists with a different name: {}", other.name);
            Err(Fault::new(INDEX_OPTIONS_CONFLICT, message))
        }
        None => Ok(false),
    }
}
