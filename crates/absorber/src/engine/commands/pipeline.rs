//! aggregate: `$match`, `$sort`, `$skip`, `$limit`, and counting.

use wire::raw::{Field, Value, fields, get, kind};

use super::super::Engine;
use super::super::args::{CommandArgs, count as count_of, document, documents_of};
use super::super::cursor::Cursor;
use super::super::fault::{FAILED_TO_PARSE, Fallible, Fault, NAMESPACE_NOT_FOUND};
use super::super::field_path::FieldPath;
use super::super::filter::Filter;
use super::super::query_plan::{DocumentWalk, Selector, WalkStep};
use super::super::sort_order::{SortOrder, sort_key};
use super::super::stored_collection::{Data, StoredDocument};
use super::super::writer::Writer;
use super::queries::{FIRST_BATCH, first_batch};

enum Stage {
    Match(Filter),
    /// By fields; true: descending.
    Sort(Vec<(FieldPath, bool)>),
    Skip(u64),
    Limit(u64),
    /// One document for all, if there are any: copies of fields, then the number of documents.
    Count(Vec<u8>, String),
}

impl Stage {
    fn parse(stage: &[u8]) -> Fallible<Self> {
        let mut all = fields(stage);
        let (Some(field), None) = (all.next(), all.next()) else {
            return Err(Fault::new(40323, "a pipeline stage must have exactly one field"));
        };
        let not_here = || Fault::not_here(&format!("stage {} like this", field.name()));
        let object = || field.value.document().ok_or_else(not_here);
        let number = || count_of(&field).map_err(|_| not_here());
        Ok(match field.name {
            b"$match" => Self::Match(Filter::parse(object()?)?),
            b"$sort" => match SortOrder::parse(object()?)? {
                SortOrder::By(by) => Self::Sort(by),
                _ => return Err(not_here()),
            },
            b"$skip" => Self::Skip(number()?),
            b"$limit" if number()? > 0 => Self::Limit(number()?),
            b"$count" => {
                let name = field.value.text().filter(|it| is_name(it)).ok_or_else(not_here)?;
                Self::Count(Writer::new(8).finish(), name.to_owned())
            }
            b"$group" => {
                let (copied, name) = group(field.value, is_one).ok_or_else(not_here)?;
                Self::Count(copied, name)
            }
            _ => return Err(not_here()),
        })
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(['$', '.', '\0'])
}

/// The one field of a document.
fn only<'a>(document: &'a [u8], name: &[u8]) -> Option<Value<'a>> {
    let mut all = fields(document);
    let field = all.next().filter(|field| field.name == name)?;
    all.next().is_none().then_some(field.value)
}

/// `[{$collStats: {count: {}}}, {$group: {_id: constant, name: {$sum: "$count"}}}]`, by which
/// drivers of 2021 and 2022 estimate.
fn estimate(pipeline: &[&[u8]]) -> Option<(Vec<u8>, String)> {
    let [statistics, grouped] = pipeline else { return None };
    let asked = only(only(statistics, b"$collStats")?.document()?, b"count")?.document()?;
    let empty = fields(asked).next().is_none();
    let counts = |summed: Value<'_>| summed.text() == Some("$count");
    group(only(grouped, b"$group")?, counts).filter(|_| empty)
}

/// `{$group: {_id: constant, name: {$sum: …}}}`, by which drivers count.
fn group(value: Value<'_>, sums: fn(Value<'_>) -> bool) -> Option<(Vec<u8>, String)> {
    let mut all = fields(value.document()?);
    let (first, second) = (all.next()?, all.next()?);
    // Drivers whose documents are hashes send them in any order.
    let (id, sum) = if first.name == b"_id" { (first, second) } else { (second, first) };
    let constant = match id.value.kind {
        kind::STRING => !id.value.string().starts_with('$'),
        kind::DOCUMENT | kind::ARRAY => fields(id.value.bytes).next().is_none(),
        _ => true,
    };
    let summed = sums(get(sum.value.document()?, b"$sum")?);
    if all.next().is_some() || id.name != b"_id" || !constant || !summed || !is_name(&sum.name()) {
        return None;
    }
    let mut writer = Writer::new(32);
    writer.copy(&id);
    Some((writer.finish(), sum.name().into_owned()))
}

fn is_one(value: Value<'_>) -> bool {
    matches!(value.kind, kind::INT | kind::LONG) && value.whole_number() == Some(1)
}

fn counted(copied: &[u8], name: &str, count: u64) -> StoredDocument {
    let mut writer = Writer::new(copied.len() + 32);
    writer.copy_all(copied);
    writer.count(name, count);
    StoredDocument::new(&writer.finish())
}

/// `{aggregate: collection, pipeline, cursor}`
pub fn aggregate(engine: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    let (mut pipeline, mut batch) = (None, None);
    for field in request.fields(&[b"pipeline", b"cursor", b"allowDiskUse"])? {
        match field.name {
            b"pipeline" => pipeline = Some(documents_of("pipeline", field.value)?),
            b"cursor" => {
                let size = fields(document(&field)?).find(|field| field.name == b"batchSize");
                let size = size.map(|field: Field<'_>| count_of(&field)).transpose()?;
                batch = Some(size.unwrap_or(FIRST_BATCH));
            }
            _ => {}
        }
    }
    let name = request.collection()?;
    let pipeline = pipeline.ok_or_else(|| Fault::missing("pipeline"))?;
    let no_cursor = || Fault::new(FAILED_TO_PARSE, "The 'cursor' option is required");
    let batch = batch.ok_or_else(no_cursor)?;
    let collection = engine.store.find(name);
    let documents = if let Some((copied, counts)) = estimate(&pipeline) {
        let missing = || Fault::new(NAMESPACE_NOT_FOUND, "ns not found");
        let documents = collection.ok_or_else(missing)?.read().records.len();
        vec![counted(&copied, &counts, documents as u64)]
    } else {
        let stages = pipeline.into_iter().map(Stage::parse).collect::<Fallible<Vec<_>>>()?;
        collection.map_or(Ok(Vec::new()), |collection| run(&collection.read(), stages))?
    };
    first_batch(engine, Cursor::over(name.namespace(), documents), batch, false)
}

fn run(data: &Data, stages: Vec<Stage>) -> Fallible<Vec<StoredDocument>> {
    let mut stages = stages.into_iter().peekable();
    let filter = match stages.next_if(|stage| matches!(stage, Stage::Match(_))) {
        Some(Stage::Match(filter)) => filter,
        _ => Filter(Vec::new()),
    };
    // Documents that are only counted are not kept.
    let counts = matches!(stages.peek(), Some(Stage::Count(..)));
    let (mut documents, mut count) = (Vec::new(), 0_u64);
    let mut walk = DocumentWalk::new(data, Selector::Filter(filter), &SortOrder::Any, false);
    walk.run(data, &mut |_, document| {
        count += 1;
        if !counts {
            documents.push(document.clone());
        }
        WalkStep::Go
    })?;
    for stage in stages {
        match stage {
            Stage::Match(filter) => {
                documents.retain(|document: &StoredDocument| filter.matches(document.bytes()));
            }
            Stage::Sort(by) => {
                let keyed = documents.into_iter().map(|it| Ok((sort_key(&by, it.bytes())?, it)));
                let mut keyed = keyed.collect::<Fallible<Vec<_>>>()?;
                keyed.sort_by(|one, other| one.0.cmp(&other.0));
                documents = keyed.into_iter().map(|(_, document)| document).collect();
            }
            Stage::Skip(skip) => {
                let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(documents.len());
                documents.drain(..skip);
            }
            Stage::Limit(limit) => {
                documents.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            }
            Stage::Count(..) if count == 0 => documents.clear(),
            Stage::Count(copied, name) => {
                documents = vec![counted(&copied, &name, count)];
            }
        }
        count = documents.len() as u64;
    }
    Ok(documents)
}
