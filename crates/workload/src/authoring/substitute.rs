//! `${name}` is replaced in the text, before YAML is parsed: a value may be of any type and be part
//! of any kind of scalar. A map leads back to the user's text.
//!
//! `"${name}"`, which YAML wants between braces, is the value itself: a number stays a number,
//! unless the parameter's default is a text that looks like one.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{Problem, did_you_mean};

/// Text with values put in, and the way back.
#[derive(Debug, Clone)]
pub struct Substituted {
    pub text: String,
    /// Start and length here, start and length in the original.
    pieces: Vec<(usize, usize, usize, usize)>,
}

impl Substituted {
    /// The same span in the original text.
    pub fn original(&self, (offset, length): (usize, usize)) -> (usize, usize) {
        let end = self.position(offset + length, true);
        let start = self.position(offset, false);
        (start, end.saturating_sub(start))
    }

    fn position(&self, offset: usize, is_end: bool) -> usize {
        // The end of the last piece before `offset`, here and there.
        let mut before = (0, 0);
        for (start, length, original, original_length) in &self.pieces {
            if offset < *start || (is_end && offset == *start) {
                break;
            }
            if offset < start + length || (is_end && offset == start + length) {
                return if is_end { original + original_length } else { *original };
            }
            before = (start + length, original + original_length);
        }
        offset - before.0 + before.1
    }
}

/// A `${name}` outside comments: byte range and name.
fn references(text: &str) -> Vec<(usize, usize, &str)> {
    let mut found = Vec::new();
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let code = &line[..comment(line)];
        let mut at = 0;
        while let Some(open) = code[at..].find("${") {
            let start = at + open;
            let Some(close) = code[start..].find('}') else { break };
            let range = (line_start + start, line_start + start + close + 1);
            found.push((range.0, range.1, &code[start + 2..start + close]));
            at = start + close + 1;
        }
        line_start += line.len();
    }
    found
}

/// Where a line's comment begins: a `#` after white space, outside quotes.
fn comment(line: &str) -> usize {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') if before.is_whitespace() => return at,
            (None, '"' | '\'') if !before.is_alphanumeric() => quote = Some(letter),
            (Some(open), _) if open == letter && before != '\\' => quote = None,
            _ => {}
        }
        before = letter;
    }
    line.len()
}

/// The text with every reference replaced by letters of the same length, so that it parses and
/// offsets stay.
pub fn blank(text: &str) -> String {
    let mut blanked = text.to_owned();
    for (start, end, _) in references(text) {
        blanked.replace_range(start..end, &"x".repeat(end - start));
    }
    blanked
}

/// Whether a value is a number or a boolean in YAML.
pub fn is_plain(value: &str) -> bool {
    let number = value.starts_with(|it: char| it.is_ascii_digit() || "+-.".contains(it));
    matches!(value, "true" | "false") || number && value.parse::<f64>().is_ok()
}

/// Whether this range between quotes is a whole scalar. Quotes within a longer text, as in
/// `"this.a == '${name}'"`, are a part of it: before them is another word, or an open quote.
fn is_quoted(text: &str, start: usize, end: usize) -> bool {
    let line = text[..start].rsplit('\n').next().unwrap_or_default();
    let Some(quote) = line.chars().next_back().filter(|last| "\"'".contains(*last)) else {
        return false;
    };
    let before = &line[..line.len() - 1];
    let Some(behind) = text[end..].strip_prefix(quote) else { return false };
    let closed = |quote: char| before.matches(quote).count().is_multiple_of(2);
    let (before, behind) = (before.trim_end(), behind.trim_start_matches([' ', '\t', '\r']));
    closed('"')
        && closed('\'')
        && (before.is_empty() || before.ends_with([':', '-', '[', ',']))
        && (behind.is_empty() || behind.starts_with(['\n', ',', ']', '}', '#']))
}

/// `texts` are the parameters whose values stay in their quotes.
pub fn substitute(
    text: &str,
    parameters: &BTreeMap<String, String>,
    texts: &BTreeSet<String>,
) -> Result<Substituted, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut result = Substituted { text: String::new(), pieces: Vec::new() };
    let mut copied = 0;
    for (start, end, name) in references(text) {
        let Some(value) = parameters.get(name) else {
            let hint = did_you_mean(name, parameters.keys().map(String::as_str));
            let hint = hint.or(Some("give it a default under `parameters:`".to_owned()));
            let problem =
                Problem::new(format!("there is no parameter `{name}`"), Some((start, end - start)));
            problems.push(problem.maybe_hint(hint));
            continue;
        };
        if value.contains(char::is_control)
            || value.contains(['"', '\'', '#', '{', '}', '[', ']', '&', '*', '|', '>', '`'])
            || value.contains(": ")
        {
            let message = format!("the value of the parameter `{name}` has signs that are YAML");
            let problem = Problem::new(message, Some((start, end - start)));
            problems.push(problem.hint("give it a number, a word, a path or a list with commas"));
            continue;
        }
        let quotes = usize::from(is_plain(value) && is_quoted(text, start, end));
        let quotes = if texts.contains(name) { 0 } else { quotes };
        let (start, end) = (start - quotes, end + quotes);
        result.text.push_str(&text[copied..start]);
        result.pieces.push((result.text.len(), value.len(), start, end - start));
        result.text.push_str(value);
        copied = end;
    }
    result.text.push_str(&text[copied..]);
    if problems.is_empty() { Ok(result) } else { Err(problems) }
}
