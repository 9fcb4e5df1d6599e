//! Replays `protocol/vectors/`: conversations, each with its own process, and documents, all with
//! one process.

use std::borrow::Cow;
use std::path::Path;

use rust_embed::RustEmbed;
use serde::Deserialize;

use crate::altered::{altered, comparable, document};
use crate::conversation::{ReplayOutcome, VectorLine, goes_on, hold, lacks};
use crate::{ANSWER_TIMEOUT, CheckResult, ask, start};
use adapter::adapter_process::AdapterProcess;
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
    let (mut process, declared) = match greeted(environment, folder, epoch).await {
        Ok(greeted) => greeted,
        Err(problem) => return vec![CheckResult::of("hello", Err(problem))],
    };
    let mut paths: Vec<_> = Vectors::iter().filter(|path| path.ends_with(".jsonl")).collect();
    paths.sort();
    let is_document = |path: &Cow<'_, str>| path.starts_with("documents/");
    let (documents, conversations) = paths.into_iter().partition::<Vec<_>, _>(is_document);
    let mut checked = Vec::new();
    for path in documents {
        let mut result = self::documents(&mut process, &declared.alters, &path).await;
        if result.is_err() {
            // The next ones are not blamed for it.
            process.kill().await;
            match start(environment, folder, epoch).await {
                Ok(another) => process = another,
                Err(problem) => result = Err(problem),
            }
        }
        checked.push(CheckResult::of(path.trim_end_matches(".jsonl"), result));
    }
    if let Err(problem) = process.close().await {
        checked.push(CheckResult::of("documents", Err(problem.to_string())));
    }
    checked.extend(Box::pin(hold_all(environment, &declared, folder, &conversations)).await);
    checked.sort_by(|a, b| a.name.cmp(&b.name));
    checked
}

/// Holds conversations; those that begin in the same way follow one another in one process.
async fn hold_all(
    environment: &Environment,
    declared: &Capabilities,
    folder: &Path,
    paths: &[Cow<'_, str>],
) -> Vec<CheckResult> {
    let name = |path: &str| path.trim_end_matches(".jsonl").to_owned();
    let mut checked = Vec::new();
    let mut groups: Vec<Vec<(String, Vec<VectorLine>)>> = Vec::new();
    for path in paths {
        let lines: Vec<VectorLine> = match lines(path) {
            Ok(lines) => lines,
            Err(problem) => {
                checked.push(CheckResult::of(name(path), Err(problem)));
                continue;
            }
        };
        if let Some(missing) = lacks(declared, &lines) {
            let said = format!("{}: left out, it needs {missing}", name(path));
            checked.push(CheckResult::of(said, Ok(())));
            continue;
        }
        let own = groups.iter_mut().find(|it| it.last().is_some_and(|it| goes_on(&it.1, &lines)));
        match own {
            Some(group) => group.push((name(path), lines)),
            None => groups.push(vec![(name(path), lines)]),
        }
    }
    for group in groups {
        let (mut kept, last) = (None, group.len() - 1);
        for (number, (name, lines)) in group.into_iter().enumerate() {
            let way = (&mut kept, number < last);
            let held = hold(environment, declared, &folder.join("vector"), &lines, way).await;
            checked.push(match held {
                Ok(ReplayOutcome::Whole) => CheckResult::of(name, Ok(())),
                Ok(ReplayOutcome::LeftOut(missing)) => {
                    CheckResult::of(format!("{name}: left out, it needs {missing}"), Ok(()))
                }
                Err(problem) => CheckResult::of(name, Err(problem)),
            });
        }
    }
    checked
}

async fn greeted(
    environment: &Environment,
    folder: &Path,
    epoch: &Epoch,
) -> Result<(AdapterProcess, Capabilities), String> {
    let process = start(environment, folder, epoch).await?;
    let declared = process.hello.as_ref().map(|it| it.capabilities.clone());
    Ok((process, declared.ok_or("no hello")?))
}

async fn documents(
    process: &mut AdapterProcess,
    alters: &[Alters],
    path: &str,
) -> Result<(), String> {
    let mut in_order = true;
    for case in cases(path)? {
        let wrong = |it: String| format!("{}: {it}", case.name);
        let expected = altered(document(&case.bson)?, alters);
        let request = AdapterRequest::Render {
            template: case.template,
            stamps: case.stamps,
            input: case.input,
        };
        let answer = ask(process, &request, "rendered", ANSWER_TIMEOUT).await;
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
