//! `${name}` is replaced in the text, before YAML is parsed: a value may be of any type and stand
//! in any kind of scalar. A map leads back to the user's text.

use std::collections::BTreeMap;

use super::error::{Problem, did_you_mean};

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

pub fn substitute(
    text: &str,
    parameters: &BTreeMap<String, String>,
) -> Result<Substituted, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut result = Substituted { text: String::new(), pieces: Vec::new() };
    let mut copied = 0;
    for (start, end, name) in references(text) {
        let Some(value) = parameters.get(name) else {
            let hint = did_you_mean(name, parameters.keys().map(String::as_str));
            let hint = hint.or(Some("give it a default under `parameters:`".to_owned()));
            let problem =
                Problem::new(format!("no parameter `{name}`"), Some((start, end - start)));
            problems.push(problem.maybe_hint(hint));
            continue;
        };
        if value.contains(char::is_control)
            || value.contains(['"', '\'', '#', '{', '}', '[', ']', '&', '*', '|', '>', '`'])
            || value.contains(": ")
        {
            let message = format!("the value of `{name}` holds signs that YAML would understand");
            let problem = Problem::new(message, Some((start, end - start)));
            problems.push(problem.hint("numbers, words, paths and lists with commas are allowed"));
            continue;
        }
        result.text.push_str(&text[copied..start]);
        result.pieces.push((result.text.len(), value.len(), start, end - start));
        result.text.push_str(value);
        copied = end;
    }
    result.text.push_str(&text[copied..]);
    if problems.is_empty() { Ok(result) } else { Err(problems) }
}
