//! Every error that the core can say, out of its code: cause, remedy and file, in one snapshot that
//! a person reads. Found at the calls that make errors, so that no new one is left out.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use insta::assert_snapshot;
use regex_lite::Regex;

use crate::layout::core;

/// What makes an error. The first argument of `Error::new` is its exit code, that of `wrong` its
/// place.
const MAKERS: &str = concat!(
    r"\bError::(new|usage|unreachable|environment|file)\(|",
    r"\.wrong(_maybe)?\(|\bProblem::new\(|::custom\(|#\[error\("
);
/// How far behind a call its hint may be, and before it the `let` of its message.
const REACH_BYTES: usize = 2500;

#[test]
fn every_error_is_read_aloud_once() {
    let makers = Regex::new(MAKERS).expect("an expression");
    let mut found = BTreeSet::new();
    for (path, text) in core() {
        if path.ends_with("tests.rs") {
            continue;
        }
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for maker in makers.find_iter(text) {
            let line = text[..maker.start()].rfind('\n').map_or(0, |end| end + 1);
            let before = &text[line..maker.start()];
            if before.ends_with("io::") || before.trim_start().starts_with("//") {
                continue;
            }
            let said = said(text, maker.start(), maker.as_str());
            found.insert((path.clone(), said));
        }
    }
    let mut all = String::new();
    let mut under = String::new();
    for (path, (message, hint)) in &found {
        if *path != under {
            writeln!(all, "\n{path}").expect("memory");
            under.clone_from(path);
        }
        writeln!(all, "  {message}\n    -> {hint}").expect("memory");
    }
    assert!(found.len() > 300, "{} errors", found.len());
    assert_snapshot!("errors", all);
}

/// Message and hint of the call that begins at `at`.
fn said(text: &str, at: usize, maker: &str) -> (String, String) {
    let inner = at + maker.len();
    let arguments = arguments(&text[inner..]);
    let mut arguments = &arguments[..];
    if maker.ends_with("::new(") && maker.contains("Error") || maker.starts_with(".wrong") {
        arguments = arguments.get(1..).unwrap_or_default();
    }
    if maker.contains("::file(") {
        let what = arguments.first().map_or(String::new(), |it| words(it, text, at));
        return (format!("cannot {what} {{path}}: {{error}}"), "(by the kind of the error)".into());
    }
    let word = |number: usize| arguments.get(number).map(|it| words(it, text, at));
    let message = word(0).unwrap_or_default();
    let hint = if maker.contains("Problem") { hint_behind(text, inner) } else { word(1) };
    (message, hint.unwrap_or_default())
}

/// The hint that is added to a problem after it is made.
fn hint_behind(text: &str, from: usize) -> Option<String> {
    let rest = &text[from..boundary(text, from + REACH_BYTES)];
    let rest = rest.split("Problem::new(").next()?;
    let at = rest.find("hint(")?;
    Some(words(arguments(&rest[at + 5..]).first()?, text, from + at))
}

/// The text in an argument; a variable's is looked for where it gets its value, and other code
/// stands for itself.
fn words(argument: &str, text: &str, at: usize) -> String {
    let own = literals(argument);
    if !own.is_empty() {
        return own.join(" | ");
    }
    let name = argument.trim().trim_start_matches('&').split(['.', '(']).next().unwrap_or_default();
    let from = boundary(text, at.saturating_sub(REACH_BYTES));
    let before = &text[from..at];
    let places = [format!("let {name} ="), format!("let {name}: "), format!("let mut {name} =")];
    let place = places.iter().filter_map(|it| before.rfind(it.as_str())).max();
    let value =
        place.map(|place| literals(&text[from + place..from + place + end(&text[from + place..])]));
    match value {
        Some(value) if !value.is_empty() => value.join(" | "),
        _ => format!("<{}>", argument.split_whitespace().collect::<Vec<_>>().join(" ")),
    }
}

/// The last place up to `at` between two characters.
fn boundary(text: &str, at: usize) -> usize {
    let mut places = (0..=at.min(text.len())).rev();
    places.find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

/// Bytes up to the semicolon that ends a statement.
fn end(code: &str) -> usize {
    let mut depth = 0;
    for (at, sign, quoted) in signs(code) {
        match sign {
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ';' if depth == 0 => return at,
            _ => {}
        }
    }
    code.len()
}

/// The text between the commas of a call, up to its closing bracket.
fn arguments(code: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, sign, quoted) in signs(code) {
        let ends = !quoted && depth == 0 && matches!(sign, ',' | ')' | ']' | '}');
        if ends {
            found.push(&code[begin..at]);
            begin = at + 1;
        }
        match sign {
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return found,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

/// The string literals in code, as they are printed.
fn literals(code: &str) -> Vec<String> {
    let (mut found, mut under_way) = (Vec::new(), None::<String>);
    for (_, sign, quoted) in signs(code) {
        match (&mut under_way, quoted) {
            (None, true) => under_way = Some(String::new()),
            (Some(text), true) => text.push(sign),
            (Some(text), false) => {
                found.push(unescaped(text));
                under_way = None;
            }
            (None, false) => {}
        }
    }
    found.retain(|it| it.contains(char::is_alphabetic));
    found
}

fn unescaped(literal: &str) -> String {
    let continued = Regex::new(r"\\\n\s*").expect("an expression");
    continued.replace_all(literal, "").replace("\\\"", "\"").replace("\\n", " / ")
}

/// Each sign of code, and whether it belongs to a string literal: its opening quote does, its
/// closing one does not.
fn signs(code: &str) -> impl Iterator<Item = (usize, char, bool)> + '_ {
    let (mut quoted, mut escaped, mut before) = (false, false, ' ');
    code.char_indices().map(move |(at, sign)| {
        let is_quote = sign == '"' && !escaped && (quoted || before != '\'');
        escaped = quoted && sign == '\\' && !escaped;
        before = sign;
        if is_quote {
            quoted = !quoted;
        }
        (at, sign, quoted)
    })
}
