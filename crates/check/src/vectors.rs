//! Replays `protocol/vectors/`: conversations, each with its own process, and documents, all with
//! one process.

use std::path::Path;

use rust_embed::RustEmbed;
use serde::Deserialize;

use crate::altered::{altered, comparable, document};
use crate::conversation::{ReplayOutcome, VectorLine, hold};
use crate::{ANSWER_TIMEOUT, CheckResult, ask, start};
use adapter::environment::Environment;
use adapter::protocol::{AdapterAnswer, AdapterRequest, Alters, Capabilities};
use base::clock::Epoch;
use workload::plan::Stamp;
use workload::stamp::Input;

#[derive(RustEmbed)]
#[folder = "../../protocol/vectors/"]
struct Vectors;

/// One case of `documents/`; a line may be a note.
#[derive(Deserialize)]
#[serde(untagged)]
enum DocumentLine {
    Case(Box<DocumentCase>),
    Note {
        #[serde(rename = "note")]
        _note: String,
    },
}

#[derive(Deserialize)]
struct DocumentCase {
    name: String,
    template: String,
    stamps: Vec<Stamp>,
    input: Input,
    bson: String,
}

fn lines<T: for<'a> Deserialize<'a>>(path: &str) -> Result<Vec<T>, String> {
    let file = Vectors::get(path).expect("listed by the embedding");
    let text = String::from_utf8_lossy(&file.data).into_owned();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).map_err(|error| format!("{path}: {error}")))
        .collect()
}

fn cases(path: &str) -> Result<Vec<DocumentCase>, String> {
    let case = |line: DocumentLine| match line {
        DocumentLine::Case(case) => Some(*case),
        DocumentLine::Note { .. } => None,
    };
    Ok(lines(path)?.into_iter().filter_map(case).collect())
}

pub async fn replay(environment: &Environment, folder: &Path, epoch: &Epoch) -> Vec<CheckResult> {
    let declared = match declared(environment, folder, epoch).await {
        Ok(declared) => declared,
        Err(problem) => return vec![CheckResult::of("hello", Err(problem))],
    };
    let mut checked = Vec::new();
    let mut paths: Vec<_> = Vectors::iter().filter(|path| path.ends_with(".jsonl")).collect();
    paths.sort();
    for path in paths {
        let name = path.trim_end_matches(".jsonl");
        checked.push(if path.starts_with("documents/") {
            let result = documents(environment, folder, epoch, &declared.alters, &path).await;
            CheckResult::of(name, result)
        } else {
            match conversation(environment, &declared, folder, &path).await {
                Ok(ReplayOutcome::Whole) => CheckResult::of(name, Ok(())),
                Ok(ReplayOutcome::LeftOut(missing)) => {
                    CheckResult::of(format!("{name}: left out, it needs {missing}"), Ok(()))
                }
                Err(problem) => CheckResult::of(name, Err(problem)),
            }
        });
    }
    checked
}

async fn declared(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
) -> Result<Capabilities, String> {
    let process = start(environment, folder, epoch).await?;
    let declared = process.hello.as_ref().map(|it| it.capabilities.clone());
    process.close().await.map_err(|error| error.to_string())?;
    declared.ok_or_else(|| "no hello".to_owned())
}

async fn conversation(
    environment: &Environment,
    declared: &Capabilities,
    folder: &Path,
    path: &str,
) -> Result<ReplayOutcome, String> {
    let lines: Vec<VectorLine> = lines(path)?;
    Box::pin(hold(environment, declared, &folder.join("vector"), lines)).await
}

async fn documents(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
    alters: &[Alters],
    path: &str,
) -> Result<(), String> {
    let mut process = start(environment, folder, epoch).await?;
    let mut in_order = true;
    for case in cases(path)? {
        let wrong = |it: String| format!("{}: {it}", case.name);
        let expected = altered(document(&case.bson)?, alters);
        let request = AdapterRequest::Render {
            template: case.template,
            stamps: case.stamps,
            input: case.input,
        };
        let answer = ask(&mut process, &request, "rendered", ANSWER_TIMEOUT).await;
        let AdapterAnswer::Rendered { bson } = answer.map_err(wrong)? else {
            unreachable!("`ask` has looked at its name")
        };
        let found = document(&bson).map_err(wrong)?;
        if comparable(&found, alters) != comparable(&expected, alters) {
            let expected = base::strings::hex(&comparable(&expected, &[]));
            return Err(wrong(format!("encoded as {bson}, expected {expected}")));
        }
        in_order &= found.keys().eq(expected.keys());
    }
    process.close().await.map_err(|error| error.to_string())?;
    if in_order && path.ends_with("alters.jsonl") && alters.contains(&Alters::FieldOrder) {
        return Err("`alters` names field_order, and all fields kept theirs".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_all_conversations_are_known() {
        let mut conversations = 0;
        for path in Vectors::iter().filter(|path| path.ends_with(".jsonl")) {
            if !path.starts_with("documents/") {
                let lines = lines::<VectorLine>(&path).unwrap_or_else(|it| panic!("{it}"));
                conversations += usize::from(!lines.is_empty());
            }
        }
        assert!(conversations >= 40, "{conversations}");
    }

    #[test]
    fn the_cores_own_stamping_gives_the_bytes_of_the_vectors() {
        let mut seen = 0;
        for path in Vectors::iter().filter(|path| path.starts_with("documents/")) {
            for case in cases(&path).unwrap_or_else(|it| panic!("{it}")) {
                let template = document(&case.template).expect("BSON");
                let bytes = workload::stamp::render(&template, &case.stamps, &case.input);
                let found = base::strings::hex(&bytes.unwrap());
                assert_eq!(found, case.bson, "{path}: {}", case.name);
                seen += 1;
            }
        }
        assert!(seen >= 19, "{seen}");
    }
}
