//! aggregate: `$match`, `$sort`, `$skip`, `$limit`, and counting.

use super::super::Engine;
use super::super::args::{Request, count as count_of, flag};
use super::super::collection::Stored;
use super::super::cursor::Cursor;
use super::super::error::{FAILED_TO_PARSE, Fault, Outcome, TYPE_MISMATCH};
use super::super::increment;
use super::super::matching::Filter;
use super::super::order::{Order, sort_key};
use super::super::path::Path;
use super::super::plan::{Step, Walk, Wanted};
use super::super::raw::{Field, Value, fields, kind};
use super::super::writer::Writer;
use super::read::{FIRST_BATCH, first_batch};

/// A stage of a pipeline.
enum Stage {
    Match(Filter),
    /// By fields; true: descending.
    Sort(Vec<(Path, bool)>),
    Skip(u64),
    Limit(u64),
    /// One document with the number of documents, if there are any.
    Count(String),
    /// One document for all, if there are any.
    Group(Group),
}

/// `{$group: {_id: constant, name: {$sum: number}}}`
struct Group {
    /// A document whose first field is the `_id`, then one field a sum, which holds its number.
    fields: Vec<u8>,
}

/// Stages of mongod that are not here.
const NOT_HERE: [&[u8]; 28] = [
    b"$project",
    b"$unwind",
    b"$lookup",
    b"$addFields",
    b"$set",
    b"$unset",
    b"$replaceRoot",
    b"$replaceWith",
    b"$facet",
    b"$bucket",
    b"$bucketAuto",
    b"$sortByCount",
    b"$sample",
    b"$redact",
    b"$geoNear",
    b"$out",
    b"$merge",
    b"$graphLookup",
    b"$indexStats",
    b"$collStats",
    b"$currentOp",
    b"$unionWith",
    b"$changeStream",
    b"$planCacheStats",
    b"$listSessions",
    b"$listLocalSessions",
    b"$setWindowFields",
    b"$densify",
];

impl Stage {
    fn parse(stage: &[u8]) -> Outcome<Self> {
        let mut all = fields(stage);
        let (Some(field), None) = (all.next(), all.next()) else {
            let message = "A pipeline stage specification object must contain exactly one field.";
            return Err(Fault::new(40323, message));
        };
        Ok(match field.name {
            b"$match" => {
                let filter = field.value.document().ok_or_else(|| {
                    Fault::new(15959, "the match filter must be an expression in an object")
                })?;
                Self::Match(Filter::parse(filter)?)
            }
            b"$sort" => Self::Sort(sort(field.value)?),
            b"$skip" => Self::Skip(number(&field, 5_107_200)?),
            b"$limit" => match number(&field, 5_107_201)? {
                0 => return Err(Fault::new(15958, "the limit must be positive")),
                limit => Self::Limit(limit),
            },
            b"$count" => Self::Count(count_name(field.value)?),
            b"$group" => Self::Group(Group::parse(field.value)?),
            name if NOT_HERE.contains(&name) => {
                return Err(Fault::not_here(&format!("stage {}", field.name())));
            }
            _ => {
                let message = format!("Unrecognized pipeline stage name: '{}'", field.name());
                return Err(Fault::new(40324, message));
            }
        })
    }
}

fn number(field: &Field<'_>, code: i32) -> Outcome<u64> {
    let name = field.name();
    let shown = super::super::text::field_text(field.value);
    let refuse = |expected: &str| {
        let message =
            format!("invalid argument to {name} stage: Expected {expected} in: {name}: {shown}");
        Fault::new(code, message)
    };
    let number = field.value.whole_number().ok_or_else(|| refuse("a number"))?;
    u64::try_from(number).map_err(|_| refuse("a non-negative number"))
}

fn sort(value: Value<'_>) -> Outcome<Vec<(Path, bool)>> {
    let Some(sort) = value.document() else {
        return Err(Fault::new(15973, "the $sort key specification must be an object"));
    };
    match Order::parse(sort)? {
        Order::By(by) => Ok(by),
        Order::Any => Err(Fault::new(15976, "$sort stage must have at least one sort key")),
        Order::Natural { .. } => Err(Fault::not_here("$natural in a pipeline")),
    }
}

fn count_name(value: Value<'_>) -> Outcome<String> {
    let must = "the count field must be a non-empty string";
    let text = value.text().ok_or_else(|| Fault::new(40156, must))?;
    if text.is_empty() {
        return Err(Fault::new(40157, must));
    }
    if text.starts_with('$') {
        return Err(Fault::new(40158, "the count field cannot be a $-prefixed path"));
    }
    if text.contains('.') || text.contains('\0') {
        return Err(Fault::new(40160, "the count field cannot contain '.'"));
    }
    Ok(text.to_owned())
}

impl Group {
    fn parse(value: Value<'_>) -> Outcome<Self> {
        let Some(group) = value.document() else {
            let message = "a group's fields must be specified in an object";
            return Err(Fault::new(15947, message));
        };
        let id = fields(group).find(|field| field.name == b"_id");
        let id =
            id.ok_or_else(|| Fault::new(15955, "a group specification must include an _id"))?;
        let constant = match id.value.kind {
            kind::STRING => !id.value.string().starts_with('$'),
            kind::DOCUMENT | kind::ARRAY => fields(id.value.bytes).next().is_none(),
            _ => true,
        };
        if !constant {
            return Err(Fault::not_here("groups but by a constant"));
        }
        let mut writer = Writer::new(group.len());
        writer.copy(&id);
        for field in fields(group).filter(|field| field.name != b"_id") {
            let sum = field.value.document().and_then(|sum| fields(sum).next());
            let by = sum.filter(|sum| sum.name == b"$sum").map(|sum| sum.value);
            let Some(by) = by.filter(|by| matches!(by.kind, kind::INT | kind::LONG | kind::DOUBLE))
            else {
                return Err(Fault::not_here("accumulators but $sum of a number"));
            };
            writer.value(field.name, by);
        }
        Ok(Self { fields: writer.finish() })
    }

    /// The one document, for so many.
    fn document(&self, count: u64) -> Outcome<Vec<u8>> {
        let mut writer = Writer::new(self.fields.len() + 16);
        for field in fields(&self.fields) {
            if field.name == b"_id" {
                writer.copy(&field);
                continue;
            }
            let product = increment::times(field.value, count)
                .ok_or_else(|| Fault::bad_value("the sum does not fit into 64 bits"))?;
            writer.value(field.name, product.value());
        }
        Ok(writer.finish())
    }
}

/// `{aggregate: collection, pipeline, cursor}`
pub fn aggregate(engine: &Engine, request: &Request<'_>) -> Outcome<Writer> {
    let known: &[&[u8]] = &[
        b"pipeline",
        b"cursor",
        b"explain",
        b"allowDiskUse",
        b"bypassDocumentValidation",
        b"hint",
    ];
    let (mut pipeline, mut batch) = (None, None);
    for field in request.fields("aggregate", known)? {
        match field.name {
            b"pipeline" => pipeline = Some(parse_pipeline(field.value)?),
            b"cursor" => {
                let cursor = field.value.document().ok_or_else(|| {
                    Fault::new(TYPE_MISMATCH, "cursor field must be missing or an object")
                })?;
                let size = fields(cursor).find(|field| field.name == b"batchSize");
                let size = size.map(|field| count_of("cursor", &field)).transpose()?;
                batch = Some(size.unwrap_or(FIRST_BATCH));
            }
            b"explain" if flag("aggregate", &field)? => {
                return Err(Fault::not_here("explain"));
            }
            _ => {}
        }
    }
    let name = request.collection()?;
    let pipeline = pipeline.ok_or_else(|| Fault::missing("aggregate.pipeline"))?;
    let batch = batch.ok_or_else(|| {
        let message =
            "The 'cursor' option is required, except for aggregate with the explain argument";
        Fault::new(FAILED_TO_PARSE, message)
    })?;
    let found = engine.store.find(name);
    let documents = match &found {
        Some(collection) => {
            let data = collection.read();
            run(&data, pipeline)?
        }
        None => Vec::new(),
    };
    first_batch(engine, Cursor::over(name.namespace(), documents), batch, false)
}

fn parse_pipeline(value: Value<'_>) -> Outcome<Vec<Stage>> {
    let array = value.array().ok_or_else(|| {
        Fault::new(TYPE_MISMATCH, "'pipeline' option must be specified as an array")
    })?;
    let stage = |element: Field<'_>| {
        let stage = element.value.document().ok_or_else(|| {
            let message = "Each element of the 'pipeline' array must be an object";
            Fault::new(TYPE_MISMATCH, message)
        })?;
        Stage::parse(stage)
    };
    fields(array).map(stage).collect()
}

fn run(data: &super::super::collection::Data, stages: Vec<Stage>) -> Outcome<Vec<Stored>> {
    let mut stages = stages.into_iter().peekable();
    let filter = match stages.next_if(|stage| matches!(stage, Stage::Match(_))) {
        Some(Stage::Match(filter)) => filter,
        _ => Filter::ALL,
    };
    // What is only counted is not kept.
    let counts = matches!(stages.peek(), Some(Stage::Count(_) | Stage::Group(_)));
    let (mut documents, mut count) = (Vec::new(), 0_u64);
    let mut walk = Walk::new(data, Wanted::Filter(filter), &Order::Any, false);
    walk.run(data, &mut |_, document| {
        count += 1;
        if !counts {
            documents.push(document.clone());
        }
        Step::Go
    })?;
    for stage in stages {
        match stage {
            Stage::Match(filter) => {
                documents.retain(|document: &Stored| filter.matches(document.bytes()));
            }
            Stage::Sort(by) => {
                documents.sort_by_cached_key(|document| sort_key(&by, document.bytes()));
            }
            Stage::Skip(skip) => {
                let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(documents.len());
                documents.drain(..skip);
            }
            Stage::Limit(limit) => {
                documents.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            }
            Stage::Count(_) | Stage::Group(_) if count == 0 => documents.clear(),
            Stage::Count(name) => {
                let mut writer = Writer::new(32);
                writer.count(&name, count);
                documents = vec![Stored::new(&writer.finish())];
            }
            Stage::Group(group) => documents = vec![Stored::new(&group.document(count)?)],
        }
        count = documents.len() as u64;
    }
    Ok(documents)
}
