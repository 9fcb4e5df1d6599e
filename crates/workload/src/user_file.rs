//! The user's own documents: a mongodump `.bson` or JSON lines.

use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use base::paths::open_input;
use bson::spec::BinarySubtype;
use bson::{Bson, Document};

use super::document::{DOCUMENT_BYTES_MAX, size};
use super::error::did_you_mean;
use super::layout;
use super::plan::{Stamp, StampForm, StampSource};
use super::pool::{POOL_BYTES_MAX, Pool, read_documents};
use super::stamp::{Input, value_of};

/// Something wrong with the file: message and hint.
pub type FileProblem = (String, String);

/// Reads the file and prepares its documents: `_id` and the key field become stamps.
pub fn read(path: &Path, key: &str) -> Result<(Pool, Vec<Stamp>), FileProblem> {
    let shown = path.display();
    let wrong = |error: io::Error| {
        let hint = "a mongodump .bson, or .jsonl with one Extended JSON document a line";
        (format!("cannot read {shown}: {error}"), hint.to_owned())
    };
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let mut documents = match ending.as_deref() {
        Some("bson") => {
            let mut file = BufReader::new(open_input(path).map_err(wrong)?);
            read_documents(&mut file, POOL_BYTES_MAX).map_err(wrong)?
        }
        Some("jsonl" | "ndjson" | "json") => json_lines(path)?,
        _ => {
            let message = format!("{shown} ends neither in .bson nor in .jsonl");
            return Err((message, "name the file after what it holds".to_owned()));
        }
    };
    if documents.is_empty() {
        return Err((format!("{shown} holds no documents"), "put at least one in".to_owned()));
    }
    if let Some(large) = documents.iter().map(size).find(|bytes| *bytes > DOCUMENT_BYTES_MAX) {
        let message = format!("a document of {shown} has {large} bytes");
        return Err((message, format!("the limit is {DOCUMENT_BYTES_MAX}")));
    }
    let mut stamps = vec![id_stamp(&documents)];
    if key != "_id" {
        stamps.push(key_stamp(&documents, key)?);
    }
    for document in &mut documents {
        prepare(document, &stamps);
    }
    Ok((Pool::of(documents), stamps))
}

fn json_lines(path: &Path) -> Result<Vec<Document>, FileProblem> {
    let shown = path.display();
    let hint = || "one Extended JSON document on each line".to_owned();
    let cannot = |error: io::Error| (format!("cannot read {shown}: {error}"), hint());
    let file = BufReader::new(open_input(path).map_err(cannot)?.take(5 * POOL_BYTES_MAX));
    let mut documents = Vec::new();
    let mut bytes = 0;
    for (number, line) in file.lines().enumerate() {
        let line = line.map_err(cannot)?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |what: String| (format!("{shown}, line {}: {what}", number + 1), hint());
        let json: serde_json::Value =
            serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
        match Bson::try_from(json) {
            Ok(Bson::Document(document)) => documents.push(document),
            Ok(_) => return Err(wrong("this is no document".to_owned())),
            Err(error) => return Err(wrong(error.to_string())),
        }
        bytes += line.len() as u64;
        if bytes > 4 * POOL_BYTES_MAX {
            break;
        }
    }
    Ok(documents)
}

fn id_stamp(documents: &[Document]) -> Stamp {
    key_stamp(documents, "_id").unwrap_or_else(|_| layout::default_id().1)
}

/// A stamp in the form that the field has in the file.
fn key_stamp(documents: &[Document], field: &str) -> Result<Stamp, FileProblem> {
    let first = documents[0].get(field).ok_or_else(|| {
        let known = documents[0].keys().map(String::as_str);
        let hint = did_you_mean(field, known).unwrap_or_default();
        (format!("the documents of the file have no field `{field}`"), hint)
    })?;
    let (form, prefix, width) = match first {
        Bson::Int32(_) => (StampForm::Int32, None, None),
        Bson::Int64(_) => (StampForm::Int64, None, None),
        Bson::Double(_) => (StampForm::Double, None, None),
        Bson::String(text) => (StampForm::String, None, Some((text.len() as u32).clamp(1, 40))),
        Bson::ObjectId(_) => (StampForm::ObjectId, Some(layout::OBJECT_ID_PREFIX.to_owned()), None),
        Bson::Binary(binary) if binary.subtype == BinarySubtype::Uuid => {
            (StampForm::Guid, None, None)
        }
        _ => {
            let message = format!("the field `{field}` of the file cannot be a key");
            let hint = "a key is an int, long, double, string, objectid or guid".to_owned();
            return Err((message, hint));
        }
    };
    if let Some(number) = documents.iter().position(|document| !document.contains_key(field)) {
        let message = format!("document {number} of the file has no field `{field}`");
        return Err((message, "every document needs the key field".to_owned()));
    }
    let (from, path) = (StampSource::Key, vec![field.to_owned()]);
    Ok(Stamp { path, form, from, add: 0, prefix, width })
}

/// Puts placeholders where stamps come; an `_id` that is missing becomes the first field.
fn prepare(document: &mut Document, stamps: &[Stamp]) {
    for stamp in stamps {
        let value = value_of(stamp, &Input::default()).expect("keys begin at 0");
        let field = &stamp.path[0];
        if document.contains_key(field) {
            document.insert(field.clone(), value);
        } else {
            let rest = std::mem::take(document);
            document.insert(field.clone(), value);
            document.extend(rest);
        }
    }
}
