//! Checks a collection and makes its pool.

use super::bounds::{CAPPED_BYTES_MAX, CAPPED_BYTES_MIN};
use super::checking::Check;
use super::collection_options::{create_options, view};
use super::document::{DOCUMENT_BYTES_MAX, Layout};
use super::index_definition::indexes;
use super::layout;
use super::located::At;
use super::pool::{Pool, documents_max};
use super::shard::shard_of;
use super::user_file;
use super::yaml;
use crate::plan::{self, Stamp, StampForm, StampSource};

/// Keys travel as JSON numbers and doubles: they stay below 2^53, and documents far below.
const DOCUMENTS_MAX: u64 = 1 << 40;

/// Checks one collection; None where its documents cannot be made. `made` are those before it.
pub fn collection(
    check: &mut Check<'_>,
    name: &At<String>,
    given: &At<yaml::CollectionYaml>,
    made: (&[plan::Collection], &[Pool]),
) -> Option<(plan::Collection, Pool)> {
    check_name(check, name);
    let before = check.problems.len();
    if given.value.view.is_some() {
        return view(check, &name.value, &given.value, made);
    }
    let (pool, stamps) = documents(check, name, given)?;
    let default = if given.value.file.is_some() { pool.count() as u64 } else { 0 };
    let loaded = given.value.documents.as_ref().map_or(default, |documents| documents.value);
    if let Some(documents) = &given.value.documents {
        check_keys(check, documents, &stamps);
    }
    let capped = given.value.capped.as_ref().map(|capped| capped_of(check, capped));
    let indexes = indexes(check, &given.value.indexes);
    let options = create_options(check, &given.value, &pool);
    let (document_bytes_mean, document_bytes_max) = pool.sizes();
    let mut collection = plan::Collection {
        name: name.value.clone(),
        indexes,
        capped,
        options,
        view: None,
        shard: None,
        kept: given.value.keep.as_ref().is_some_and(|it| it.value == yaml::Keep::Experiment),
        loaded,
        stamps,
        pool_documents: pool.count() as u32,
        document_bytes_mean,
        document_bytes_max,
    };
    collection.shard = shard_of(check, &given.value, &collection);
    if check.problems.len() > before {
        return None;
    }
    Some((collection, pool))
}

/// Name on the server of the collection that an arm has for itself; `slot` is its number among the
/// arms of the round.
pub fn own_name(collection: &str, slot: usize, warmup: bool) -> String {
    format!("{collection}_{slot}{}", if warmup { "_warmup" } else { "" })
}

/// Complains of a collection that an arm's own one would replace on the server.
pub fn check_own_names(check: &mut Check<'_>, names: &[&At<String>]) {
    for name in names {
        let text = name.value.as_str();
        let stem = text.strip_suffix("_warmup").unwrap_or(text);
        let Some((other, slot)) = stem.rsplit_once('_') else { continue };
        if slot.parse::<u32>().is_ok() && names.iter().any(|it| it.value == other) {
            let message = format!("`{text}` is the name of an arm's own `{other}` on the server");
            check.wrong(name.place, message, "give one of the two another name");
        }
    }
}

fn check_name(check: &mut Check<'_>, name: &At<String>) {
    let text = &name.value;
    check.reserved(text, name.place);
    let bad = text.is_empty() || text.len() > 60 || text.contains(['$', '\0', '/', ' ']);
    if bad || text.starts_with("system.") {
        let hint =
            "use letters, digits, `_`, `-` and `.`, at most 60 of them, and not `system.` first";
        check.wrong(name.place, format!("`{text}` cannot be the name of a collection"), hint);
    }
}

fn documents(
    check: &mut Check<'_>,
    name: &At<String>,
    given: &At<yaml::CollectionYaml>,
) -> Option<(Pool, Vec<Stamp>)> {
    let keys = &given.value;
    if let Some(file) = &keys.file {
        for (place, what) in [
            (keys.document.as_ref().map(|at| at.place), "document"),
            (keys.size_bytes.as_ref().map(|at| at.place), "size_bytes"),
        ] {
            if let Some(place) = place {
                check.wrong(
                    place,
                    format!("`{what}` and `file` exclude each other"),
                    "leave one of the two out",
                );
            }
        }
        let key = keys.key.as_ref().map_or("_id", |key| key.value.as_str());
        return match user_file::read(&check.loaded.folder.join(&file.value), key) {
            Ok(read) => Some(read),
            Err(problem) => {
                check.note(file.place, problem);
                None
            }
        };
    }
    if let Some(key) = &keys.key {
        check.wrong(
            key.place,
            "`key` belongs to a collection with `file`",
            "in `document`, write `value: key`",
        );
    }
    let Some(document) = &keys.document else {
        let message = format!("collection `{}` has neither `document` nor `file`", name.value);
        check.wrong(name.place, message, "add `document: {number: {type: long, value: key}}`");
        return None;
    };
    let before = check.problems.len();
    let mut layout = layout::layout(check, &document.value);
    with_id(check, document, &mut layout);
    check_fill(check, keys, &layout);
    if check.problems.len() > before {
        return None;
    }
    layout.size_bytes = keys.size_bytes.as_ref().map(|size| size.value);
    let stamps = layout.stamps.clone();
    generate(check, name, keys, layout).map(|pool| (pool, stamps))
}

fn with_id(
    check: &mut Check<'_>,
    document: &At<super::located::NamedEntries<At<super::fields::FieldYaml>>>,
    layout: &mut Layout,
) {
    if document.value.get("_id").is_none() {
        let (shape, stamp) = layout::default_id();
        layout.fields.insert(0, ("_id".to_owned(), shape));
        layout.stamps.insert(0, stamp);
        return;
    }
    let by_key = |stamp: &Stamp| stamp.path[0] == "_id" && stamp.from == StampSource::Key;
    if !layout.stamps.iter().any(by_key) {
        let place = document.value.0.iter().find(|(name, _)| name.value == "_id");
        let place = place.map_or(document.place, |(name, _)| name.place);
        let hint = "write `_id: {type: long, value: key}`, or leave `_id` out for an objectid";
        check.wrong(
            place,
            "`_id` has to be made of the key, or two documents would have the same",
            hint,
        );
    }
}

fn check_fill(check: &mut Check<'_>, keys: &yaml::CollectionYaml, layout: &Layout) {
    let document = keys.document.as_ref().expect("called for collections with `document`");
    let fills = layout.fills();
    if fills > 1 {
        let message = format!("{fills} fields have `length: fill`");
        check.wrong(document.place, message, "leave it at one, which makes up the size");
    }
    match &keys.size_bytes {
        None if fills > 0 => {
            let hint = "add `size_bytes:` to the collection";
            check.wrong(document.place, "`length: fill` needs a size that it fills up to", hint);
        }
        Some(size) if size.value > DOCUMENT_BYTES_MAX => {
            let message = format!("a document of {} bytes is too large", size.value);
            check.wrong(
                size.place,
                message,
                format!("make it {DOCUMENT_BYTES_MAX} (16 MiB) at most"),
            );
        }
        _ => {}
    }
}

fn generate(
    check: &mut Check<'_>,
    name: &At<String>,
    keys: &yaml::CollectionYaml,
    layout: Layout,
) -> Option<Pool> {
    let place = keys.size_bytes.as_ref().map_or(name.place, |size| size.place);
    let documents_max = documents_max(check.loaded.file.collections.0.len());
    match Pool::generate(layout, check.seed, &name.value, documents_max) {
        Ok(pool) if pool.count() == 0 => {
            let message = format!("the documents of `{}` are too large for a pool", name.value);
            check.wrong(
                place,
                message,
                format!("make them {DOCUMENT_BYTES_MAX} bytes (16 MiB) at most"),
            );
            None
        }
        Ok(pool) if pool.sizes().1 > DOCUMENT_BYTES_MAX => {
            let message = format!("a document of `{}` has {} bytes", name.value, pool.sizes().1);
            check.wrong(
                place,
                message,
                format!("make them {DOCUMENT_BYTES_MAX} bytes (16 MiB) at most"),
            );
            None
        }
        Ok(pool) => Some(pool),
        Err(error) => {
            let (bytes, wanted) = (error.bytes, error.wanted);
            let message = if bytes > wanted {
                format!("the fields have {bytes} bytes, but size_bytes is {wanted}")
            } else {
                format!("the fields have only {bytes} bytes, but size_bytes is {wanted}")
            };
            let hint = if bytes > wanted {
                format!("make `size_bytes` {bytes}, or the fields shorter")
            } else {
                "give one string or bytes field `length: fill`".to_owned()
            };
            check.wrong(place, message, hint);
            None
        }
    }
}

fn check_keys(check: &mut Check<'_>, documents: &At<u64>, stamps: &[Stamp]) {
    if documents.value > DOCUMENTS_MAX {
        let message = format!("{} documents are too many", documents.value);
        check.wrong(documents.place, message, format!("load {DOCUMENTS_MAX} at most"));
        return;
    }
    for stamp in stamps.iter().filter(|stamp| stamp.from == StampSource::Key) {
        let path = stamp.path.join(".");
        let largest = i128::from(documents.value.saturating_sub(1)) + i128::from(stamp.add);
        if stamp.form == StampForm::Int32 && largest > i128::from(i32::MAX) {
            let message = format!("the key {largest} does not fit the int `{path}`");
            check.wrong(documents.place, message, format!("make `{path}` a long"));
        }
        let width = stamp.width.map_or(usize::MAX, |width| width as usize);
        if stamp.form == StampForm::String && largest.to_string().len() > width {
            let message = format!("the key {largest} is wider than `{path}` ({width} digits)");
            check.wrong(documents.place, message, "make `width` larger, or load fewer documents");
        }
    }
}

fn capped_of(check: &mut Check<'_>, capped: &At<yaml::CappedYaml>) -> plan::CollectionCap {
    let size = &capped.value.size_bytes;
    if !(CAPPED_BYTES_MIN..=CAPPED_BYTES_MAX).contains(&size.value) {
        let message = format!("a capped collection cannot have {} bytes", size.value);
        check.wrong(size.place, message, "give it 4096 bytes to 1 PiB");
    }
    if let Some(documents) = capped.value.documents.as_ref().filter(|at| at.value == 0) {
        check.wrong(
            documents.place,
            "a capped collection cannot have room for 0 documents",
            "leave `documents` out",
        );
    }
    let max_documents = capped.value.documents.as_ref().map(|documents| documents.value);
    plan::CollectionCap { size_bytes: size.value, max_documents }
}

/// Complains of directions in which nothing is ordered.
pub fn check_directions(check: &mut Check<'_>, keys: &[(At<String>, At<i32>)], of: &str) {
    for (_, direction) in keys.iter().filter(|(_, at)| at.value != 1 && at.value != -1) {
        let message = format!("{} is not a direction of {of}", direction.value);
        check.wrong(direction.place, message, "write 1 or -1");
    }
}
