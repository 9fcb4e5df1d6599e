//! Reads a workload file: parameters are put in, YAML is parsed, errors point at the user's text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::NamedSource;
use serde::Deserialize;
use serde_saphyr::budget::BudgetBreach;

use super::located::{At, Location, NamedEntries};
use super::problem::{Problem, SourceText, WorkloadError, did_you_mean};
use super::substitute::{Substituted, blank, is_plain, substitute};
use super::tree::{Parsed, ParsedTree, YamlTree};
use super::typed::{self, short};
use super::yaml::WorkloadYaml;

/// A parsed workload and all that is needed to point into it.
#[derive(Debug)]
pub struct Loaded {
    pub file: WorkloadYaml,
    /// Parameters after `--set`.
    pub parameters: BTreeMap<String, String>,
    pub text: String,
    pub stem: String,
    /// Folder against which `file:` is resolved.
    pub folder: PathBuf,
    pub(super) map: Substituted,
    pub(super) source: SourceText,
}

/// The part that is read before parameters are put in.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    parameters: Option<Parsed<ParsedTree>>,
}

/// Parses the text of a workload; `path` names it in messages and finds its `file:`s.
pub fn parse(
    text: &str,
    path: &Path,
    sets: &BTreeMap<String, String>,
) -> Result<Loaded, WorkloadError> {
    let name = path.display().to_string();
    let source: SourceText = Arc::new(NamedSource::new(name, text.to_owned()));
    let fail = |problems: Vec<Problem>| WorkloadError::of_some(problems, &source);
    let blanked = blank(text);
    let head: Head = serde_saphyr::from_str_with_options(&blanked, options())
        .map_err(|error| fail(vec![explain(&error, &blanked, None)]))?;
    let defaults = match head.parameters.map(At::from) {
        Some(tree) => typed::read(&tree).map_err(|wrong| fail(vec![wrong.problem(text, None)]))?,
        None => NamedEntries::default(),
    };
    let parameters = resolve(&defaults, sets, text).map_err(fail)?;
    let is_text = |default: &YamlTree| matches!(default, YamlTree::String(it) if is_plain(it));
    let texts = defaults.0.iter().filter(|(_, default)| is_text(&default.value));
    let texts = texts.map(|(name, _)| name.value.clone()).collect();
    let map = substitute(text, &parameters, &texts).map_err(fail)?;
    let parsed: Parsed<ParsedTree> = serde_saphyr::from_str_with_options(&map.text, options())
        .map_err(|error| fail(vec![explain(&error, &map.text, Some(&map))]))?;
    let parsed = At::from(parsed);
    if matches!(parsed.value, YamlTree::Null) {
        return Err(fail(vec![empty(Some((0, 0)))]));
    }
    let file: WorkloadYaml =
        typed::read(&parsed).map_err(|wrong| fail(vec![wrong.problem(&map.text, Some(&map))]))?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(Loaded {
        file,
        parameters,
        text: map.text.clone(),
        stem: stem.unwrap_or_default(),
        folder: path.parent().map(Path::to_path_buf).unwrap_or_default(),
        map,
        source,
    })
}

impl Loaded {
    /// Byte offset and length in the user's file.
    pub(super) fn span(&self, place: Location) -> Option<(usize, usize)> {
        place.span(&self.text).map(|span| self.map.original(span))
    }

    /// The error of these problems, if there are any.
    pub(super) fn error(&self, problems: Vec<Problem>) -> Option<WorkloadError> {
        WorkloadError::of(problems, &self.source)
    }
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        underscored_numbers_as_strings: true,
    }
}

fn resolve(
    defaults: &NamedEntries<At<YamlTree>>,
    sets: &BTreeMap<String, String>,
    text: &str,
) -> Result<BTreeMap<String, String>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut parameters = BTreeMap::new();
    for (name, value) in &defaults.0 {
        let scalar = match &value.value {
            YamlTree::Bool(value) => value.to_string(),
            YamlTree::Int(value) => value.to_string(),
            YamlTree::Double(value) => value.to_string(),
            YamlTree::String(value) => value.clone(),
            other => {
                let message =
                    format!("the default of the parameter `{}` is {}", name.value, other.kind());
                let problem = Problem::new(message, value.place.span(text));
                problems.push(problem.hint("make it a number, a text, true or false"));
                continue;
            }
        };
        parameters.insert(name.value.clone(), scalar);
    }
    for (name, value) in sets {
        if !parameters.contains_key(name) {
            let hint = if parameters.is_empty() {
                Some("this workload has no parameters".to_owned())
            } else {
                did_you_mean(name, parameters.keys().map(String::as_str))
            };
            let message = format!("--set {name}={value}: the workload has no parameter `{name}`");
            problems.push(Problem::new(message, None).maybe_hint(hint));
        }
    }
    parameters.extend(sets.iter().map(|(name, value)| (name.clone(), value.clone())));
    if problems.is_empty() { Ok(parameters) } else { Err(problems) }
}

/// The place of a parser's error, which counts characters where it knows no bytes.
fn place_of(error: &serde_saphyr::Error, text: &str) -> Option<Location> {
    let span = error.location()?.span();
    let known = span.byte_offset().zip(span.byte_len());
    Some(if let Some((first, length)) = known {
        Location::new(first as usize, length as usize)
    } else {
        let mut letters = text.char_indices();
        let first = letters.nth(span.offset() as usize).map_or(text.len(), |(at, _)| at);
        Location::new(first, 1)
    })
}

fn empty(at: Option<(usize, usize)>) -> Problem {
    Problem::new("the file ends too early or is empty", at)
        .hint("begin with a workload that `mongodyno workloads crud` prints")
}

/// Turns a parser's error into one in our words.
fn explain(error: &serde_saphyr::Error, text: &str, map: Option<&Substituted>) -> Problem {
    use serde_saphyr::Error as E;
    let error = error.without_snippet();
    let found = place_of(error, text).and_then(|place| place.span(text));
    let word = found.and_then(|(at, length)| text.get(at..at + length)).unwrap_or("").trim();
    let at = found.map(|span| map.map_or(span, |map| map.original(span)));
    match error {
        E::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or(word);
            Problem::new(format!("the key `{key}` is here twice"), at).hint("remove one of the two")
        }
        E::Eof { .. } => empty(at),
        E::NonFiniteFloat { value, .. } => {
            Problem::new(format!("`{}` is not a finite number", short(value)), at)
                .hint("write a number within the range of a double, or put a text in quotes")
        }
        E::NullIntoString { .. } => {
            Problem::new("null cannot be here", at).hint("write a text; in quotes null is one")
        }
        E::Budget { breach, .. } => {
            let (what, hint) = too_large(breach);
            Problem::new(what, at).hint(hint)
        }
        other => {
            let text = other.to_string();
            let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
            let tab = message.contains("tab");
            let hint =
                if tab { "indent YAML with spaces" } else { "correct the YAML at this place" };
            Problem::new(message, at).hint(hint)
        }
    }
}

/// Message and hint for a bound of the YAML parser.
fn too_large(breach: &BudgetBreach) -> (String, &'static str) {
    match breach {
        BudgetBreach::Depth { depth } => {
            let most = depth - 1;
            let what = format!("the YAML nests mappings and lists deeper than {most} levels");
            (what, "nest fewer of them in each other")
        }
        BudgetBreach::Aliases { .. } | BudgetBreach::AliasAnchorRatio { .. } => {
            ("the YAML repeats its anchors too often".to_owned(), "write out what repeats")
        }
        BudgetBreach::Documents { .. } => {
            ("the file has too many YAML documents".to_owned(), "leave one of them")
        }
        _ => {
            let hint = "split the workload, or put documents into a `file:`";
            ("the YAML has more values than the parser takes".to_owned(), hint)
        }
    }
}
