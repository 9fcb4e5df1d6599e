use std::path::Path;
use std::time::Duration;

use bson::{Document, RawDocumentBuf};
use rust_embed::RustEmbed;
use serde::Deserialize;
use serde_json::Value;

use crate::{ANSWER_TIMEOUT, Checked, ask, start, without_whole_doubles};
use adapter::environment::Environment;
use adapter::messages::{Answer, Request};
use adapter::process::AdapterProcess;
use base::clock::Epoch;
use base::error::Error;
use measure::input_files::write_noop_schedule;
use workload::plan::Stamp;
use workload::stamp::Input;

#[derive(RustEmbed)]
#[folder = "../../protocol/vectors/"]
struct Vectors;

/// Writes the vectors below `folder`, for the adapter's own tests.
pub fn write(folder: &Path) -> base::error::Result<()> {
    for path in Vectors::iter() {
        let file = Vectors::get(&path).expect("listed by the embedding");
        let target = folder.join(&*path);
        let parent = target.parent().expect("below the folder");
        std::fs::create_dir_all(parent).map_err(|error| Error::file("make", parent, &error))?;
        std::fs::write(&target, file.data)
            .map_err(|error| Error::file("write", &target, &error))?;
    }
    Ok(())
}

/// Records of the schedule that conversations name.
const SCHEDULE_RECORDS: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Send(Value),
    #[serde(rename = "send_line")]
    Raw(String),
    Expect(Value),
}

/// One case of `documents/`.
#[derive(Deserialize)]
struct DocumentCase {
    name: String,
    document: Value,
    stamps: Vec<Stamp>,
    input: Input,
    bson: String,
}

fn lines<T: for<'a> Deserialize<'a>>(path: &str) -> Vec<T> {
    let file = Vectors::get(path).expect("listed by the embedding");
    let text = String::from_utf8_lossy(&file.data).into_owned();
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|it| panic!("{path}: {it}"));
    text.lines().map(parse).collect()
}

/// Replays conversations, each with a fresh process, and documents, all with one.
pub async fn replay(environment: &Environment, folder: &Path, epoch: &Epoch) -> Vec<Checked> {
    let mut checked = Vec::new();
    let mut paths: Vec<_> = Vectors::iter().filter(|path| path.ends_with(".jsonl")).collect();
    paths.sort();
    for path in paths {
        let result = if path.starts_with("documents/") {
            documents(environment, folder, epoch, &path).await
        } else {
            conversation(environment, folder, epoch, &path).await
        };
        checked.push(Checked::of(path.trim_end_matches(".jsonl"), result));
    }
    checked
}

async fn conversation(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
    path: &str,
) -> Result<(), String> {
    write_noop_schedule(&folder.join("noop.schedule"), 2, SCHEDULE_RECORDS)
        .map_err(|it| it.to_string())?;
    let log = folder.join("adapter.log");
    let mut process = AdapterProcess::spawn(environment, &log).map_err(|it| it.to_string())?;
    let replace = |text: &str| {
        let folder = folder.display().to_string();
        text.replace("{dir}", &folder).replace("{epoch}", &epoch.to_string())
    };
    for (number, line) in lines::<Line>(path).into_iter().enumerate() {
        match line {
            Line::Send(value) => process.send_line(&replace(&value.to_string())).await,
            Line::Raw(text) => process.send_line(&replace(&text)).await,
            Line::Expect(wanted) => {
                let answer = process.answer_line("the vector", ANSWER_TIMEOUT).await;
                let answer = answer.map_err(|it| format!("line {}: {it}", number + 1))?;
                let found: Value = serde_json::from_str(&answer).map_err(|it| it.to_string())?;
                matches(&wanted, &found, "")
                    .map_err(|it| format!("line {}: {it}; it answered {answer}", number + 1))?;
            }
        }
    }
    match process.wait(Duration::from_secs(5)).await {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("it ended with {status} after `close`")),
        None => Err("it lives on 5 s after `close`".to_owned()),
    }
}

/// Every field that is named must be there and equal; `"$any"` stands for any value.
fn matches(wanted: &Value, found: &Value, place: &str) -> Result<(), String> {
    match (wanted, found) {
        (Value::String(any), Value::Null) if any == "$any" => Err(format!("{place} is null")),
        (Value::String(any), _) if any == "$any" => Ok(()),
        (Value::Object(wanted), Value::Object(found)) => {
            for (name, value) in wanted {
                let place = format!("{place}.{name}");
                let inner = found.get(name).ok_or_else(|| format!("{place} is missing"))?;
                matches(value, inner, &place)?;
            }
            Ok(())
        }
        _ if wanted == found => Ok(()),
        _ => Err(format!("{place} is {found}, expected {wanted}")),
    }
}

async fn documents(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
    path: &str,
) -> Result<(), String> {
    let mut process = start(environment, folder, epoch).await?;
    let whole_doubles = process.hello.as_ref().is_none_or(|it| it.capabilities.whole_doubles);
    for case in lines::<DocumentCase>(path) {
        let request =
            Request::Render { document: case.document, stamps: case.stamps, input: case.input };
        let answer = ask(&mut process, &request, "rendered", ANSWER_TIMEOUT).await;
        match answer.map_err(|it| format!("{}: {it}", case.name))? {
            Answer::Rendered { bson } if bson == case.bson => {}
            Answer::Rendered { bson }
                if !whole_doubles && Some(&bson) == as_int32(&case.bson).as_ref() => {}
            Answer::Rendered { bson } => {
                return Err(format!("{}: encoded as {bson}, expected {}", case.name, case.bson));
            }
            _ => unreachable!("`ask` has looked at its name"),
        }
    }
    process.close().await.map_err(|it| it.to_string())
}

/// A vector's bytes for a driver without a type for doubles.
fn as_int32(hex: &str) -> Option<String> {
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect::<Option<_>>()?;
    let document = Document::from_reader(&bytes[..]).ok()?;
    let document = RawDocumentBuf::try_from(&without_whole_doubles(document)).ok()?;
    Some(base::words::hex(document.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_doubles_are_int32_for_a_driver_without_doubles() {
        let whole = "12000000015f696400000000000000454000";
        assert_eq!(as_int32(whole).unwrap(), "0e000000105f6964002a00000000");
        let half = "12000000015f696400000000000000e03f00";
        assert_eq!(as_int32(half).unwrap(), half);
    }

    #[test]
    fn expectations_name_the_first_difference() {
        let found = json!({ "type": "armed", "a": { "b": 1, "c": null }, "further": 2 });
        let holds = |wanted: Value| matches(&wanted, &found, "");
        assert_eq!(holds(json!({ "type": "armed", "a": { "b": "$any" } })), Ok(()));
        assert_eq!(holds(json!({ "a": { "b": 2 } })), Err(".a.b is 1, expected 2".to_owned()));
        assert_eq!(holds(json!({ "a": { "c": "$any" } })), Err(".a.c is null".to_owned()));
        assert_eq!(holds(json!({ "z": 1 })), Err(".z is missing".to_owned()));
    }

    #[test]
    fn the_cores_own_stamping_gives_the_bytes_of_the_vectors() {
        let mut cases = 0;
        for path in Vectors::iter().filter(|path| path.starts_with("documents/")) {
            for case in lines::<DocumentCase>(&path) {
                let bytes = workload::stamp::render(&case.document, &case.stamps, &case.input);
                let found = base::words::hex(&bytes.unwrap());
                assert_eq!(found, case.bson, "{path}: {}", case.name);
                cases += 1;
            }
        }
        assert!(cases >= 19);
    }
}
