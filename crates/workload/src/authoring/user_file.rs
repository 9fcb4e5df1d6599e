//! The user's own documents: a mongodump `.bson` or JSON lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use base::paths::open_input;
use bson::spec::BinarySubtype;
use bson::{Bson, Document, RawDocumentBuf};
use wire::raw::{check, twice};

use super::document::DOCUMENT_BYTES_MAX;
use super::field_stamps::OBJECT_ID_PREFIX;
use super::layout;
use super::pool::{POOL_BYTES_MAX, Pool};
use super::problem::{Problem, did_you_mean};
use super::unique::Unique;
use crate::plan::{Stamp, StampForm, StampSource};
use crate::replay::stamp::{Input, value_of};

/// Bytes of one line of JSON, at most: a document written out takes several times its BSON.
const LINE_BYTES_MAX: u64 = 4 * POOL_BYTES_MAX;

/// A document, and where in the file it is.
struct FileDocument {
    document: Document,
    place: String,
}

/// Reads the file and prepares its documents: `_id` and the key field become stamps.
pub fn read(path: &Path, key: &str) -> Result<(Pool, Vec<Stamp>), Problem> {
    let shown = path.display();
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let found = match ending.as_deref() {
        Some("bson") => dump(open(path)?, path),
        Some("jsonl" | "ndjson" | "json") => json_lines(open(path)?, path),
        _ => {
            let message = format!("the name {shown} ends neither in .bson nor in .jsonl");
            let hint = "give a mongodump `.bson`, or a `.jsonl` with a document on each line; \
                        unpack a compressed file first";
            return Err(Problem::new(message, None).hint(hint));
        }
    };
    let mut found = found?;
    if found.is_empty() {
        let message = format!("the file {shown} has no documents");
        return Err(Problem::new(message, None).hint("put at least one document into it"));
    }
    let mut stamps = vec![stamp(&found, "_id")?.unwrap_or_else(|| layout::default_id().1)];
    if key != "_id" {
        let stamp = stamp(&found, key)?.ok_or_else(|| {
            let known = found[0].document.keys().map(String::as_str);
            let message = format!("{} has no field `{key}`", found[0].place);
            Problem::new(message, None).maybe_hint(did_you_mean(key, known))
        })?;
        stamps.push(stamp);
    }
    for it in &mut found {
        prepare(&mut it.document, &stamps);
    }
    let encoded = found.iter().map(|it| RawDocumentBuf::try_from(&it.document));
    let encoded: Result<Vec<_>, _> = encoded.collect();
    Ok((Pool::of(encoded.expect("they were read from BSON or JSON")), stamps))
}

fn open(path: &Path) -> Result<BufReader<File>, Problem> {
    open_input(path).map(BufReader::new).map_err(|error| cannot_read(path, &error))
}

fn cannot_read(path: &Path, error: &io::Error) -> Problem {
    let hint = "check the path, which is relative to the workload, and who may read the file";
    Problem::new(format!("cannot read {}: {error}", path.display()), None).hint(hint)
}

/// The first documents of a mongodump.
fn dump(mut file: BufReader<File>, path: &Path) -> Result<Vec<FileDocument>, Problem> {
    let cannot = |error: io::Error| cannot_read(path, &error);
    let mut found = Vec::new();
    let mut offset = 0;
    while !file.fill_buf().map_err(cannot)?.is_empty() {
        let place = format!("document {} of {}", found.len() + 1, path.display());
        let place = format!("{place} (from byte {offset} on)");
        let cut = || {
            let hint = "copy or dump the file again: it is cut off";
            Problem::new(format!("the file ends within {place}"), None).hint(hint)
        };
        let mut bytes = Vec::new();
        let header = file.by_ref().take(4).read_to_end(&mut bytes).map_err(cannot)?;
        let length = bytes.first_chunk().map(|it| u64::from(u32::from_le_bytes(*it)));
        let length = length.filter(|_| header == 4).ok_or_else(cut)?;
        if !(5..=DOCUMENT_BYTES_MAX).contains(&length) {
            let hint = format!(
                "give an unpacked file of mongodump, whose documents have 5 to \
                 {DOCUMENT_BYTES_MAX} bytes each"
            );
            let message = format!("{place} says that it has {length} bytes");
            return Err(Problem::new(message, None).hint(hint));
        }
        offset += length;
        if offset > POOL_BYTES_MAX {
            break;
        }
        let rest = file.by_ref().take(length - 4).read_to_end(&mut bytes).map_err(cannot)?;
        if rest as u64 != length - 4 {
            return Err(cut());
        }
        found.push(FileDocument { document: document(&bytes, &place)?, place });
    }
    Ok(found)
}

/// Refuses two fields of one name, too. Adapters decode documents into the maps of their languages,
/// most of which would keep one of the two and say nothing.
fn document(bytes: &[u8], place: &str) -> Result<Document, Problem> {
    let wrong = |why: String| {
        let hint = "leave this document out, or dump the collection again";
        Problem::new(format!("{place} is not valid BSON: {why}"), None).hint(hint)
    };
    check(bytes).map_err(wrong)?;
    if let Some(name) = twice(bytes) {
        let hint = "remove one of the two: the maps of most languages keep only one";
        let message = format!("{place} has the field `{name}` twice");
        return Err(Problem::new(message, None).hint(hint));
    }
    Document::from_reader(bytes).map_err(|error| wrong(error.to_string()))
}

/// The first documents of a file with one on each line.
fn json_lines(mut file: BufReader<File>, path: &Path) -> Result<Vec<FileDocument>, Problem> {
    let mut found = Vec::new();
    let mut read_bytes = 0;
    for number in 1.. {
        let place = format!("line {number} of {}", path.display());
        let mut line = Vec::new();
        let taken = file.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
        read_bytes += taken.map_err(|error| cannot_read(path, &error))? as u64;
        if line.len() as u64 > LINE_BYTES_MAX {
            let message = format!("{place} is longer than {LINE_BYTES_MAX} bytes");
            return Err(Problem::new(message, None).hint("put one document on each line"));
        }
        if line.is_empty() || read_bytes > LINE_BYTES_MAX {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let document = json(&line, &place)?;
        let bytes = document.to_vec().map_err(|error| {
            let hint = "remove the zero bytes from the names of its fields";
            Problem::new(format!("{place} cannot be BSON: {error}"), None).hint(hint)
        })?;
        if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
            let message = format!("{place} is a document of {} bytes", bytes.len());
            let hint = format!("shorten it to {DOCUMENT_BYTES_MAX} bytes of BSON");
            return Err(Problem::new(message, None).hint(hint));
        }
        found.push(FileDocument { document, place });
    }
    Ok(found)
}

fn json(line: &[u8], place: &str) -> Result<Document, Problem> {
    let Unique(json) = serde_json::from_slice(line).map_err(|error| {
        let (text, column) = (error.to_string(), error.column());
        let why = text.split(" at line ").next().unwrap_or(&text);
        if why == "recursion limit exceeded" {
            let message = format!("{place} nests documents and arrays deeper than 127 levels");
            return Problem::new(message, None).hint("leave this document out");
        }
        let message = format!("{place}, column {column}, is not JSON: {why}");
        Problem::new(message, None).hint("write one Extended JSON document on each line")
    })?;
    match Bson::try_from(json) {
        Ok(Bson::Document(document)) => Ok(document),
        Ok(_) => {
            let hint = "write one Extended JSON document on each line: `{\"a\": 1}`";
            Err(Problem::new(format!("{place} is not a document"), None).hint(hint))
        }
        Err(error) => {
            let message = format!("{place} is not Extended JSON: {error}");
            let hint = "write values as mongoexport does, `{\"$oid\": \"<24 hex digits>\"}`";
            Err(Problem::new(message, None).hint(hint))
        }
    }
}

/// A stamp in the form that the field has in the file; None where the first document lacks it.
fn stamp(found: &[FileDocument], field: &str) -> Result<Option<Stamp>, Problem> {
    let Some(first) = found[0].document.get(field) else { return Ok(None) };
    let (form, prefix, width) = match first {
        Bson::Int32(_) => (StampForm::Int32, None, None),
        Bson::Int64(_) => (StampForm::Int64, None, None),
        Bson::Double(_) => (StampForm::Double, None, None),
        Bson::String(text) => (StampForm::String, None, Some((text.len() as u32).clamp(1, 40))),
        Bson::ObjectId(_) => (StampForm::ObjectId, Some(OBJECT_ID_PREFIX.to_owned()), None),
        Bson::Binary(binary) if binary.subtype == BinarySubtype::Uuid => {
            (StampForm::Guid, None, None)
        }
        _ if field == "_id" => return Ok(None),
        _ => {
            let message = format!("{} cannot be found by its field `{field}`", found[0].place);
            let hint = "choose a `key` that is an int, long, double, string, objectid or guid";
            return Err(Problem::new(message, None).hint(hint));
        }
    };
    if let Some(other) = found.iter().find(|it| !it.document.contains_key(field)) {
        if field == "_id" {
            return Ok(None);
        }
        let message = format!("{} has no field `{field}`", other.place);
        return Err(Problem::new(message, None).hint("give the key field to every document"));
    }
    let (from, path) = (StampSource::Key, vec![field.to_owned()]);
    Ok(Some(Stamp { path, form, from, add: 0, prefix, width }))
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
