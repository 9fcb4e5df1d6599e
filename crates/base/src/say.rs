//! Lines for people, on stderr. A closed stderr is no error. `eprintln!` panics then, which once
//! ended runs in the middle and left their databases on the server.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use crate::secrets::mask_text;

/// Writes to stderr, with the syntax of `eprintln!`.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => { $crate::say::lines(&format!($($argument)*)) };
}

/// Writes these lines. Text they quote (paths, answers, records) cannot steer the terminal, and its
/// secrets are masked.
pub fn lines(text: &str) {
    // One write, so that the lines of several processes stay whole.
    let _ = std::io::stderr().write_all((clean_lines(&mask_text(text)) + "\n").as_bytes());
}

/// [`lines`], unless this invocation has said them before: of each arm, of each part of a study.
pub fn once(text: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.contains(&text) {
        lines(&text);
        said.insert(text);
    }
}

/// [`clean`], line by line.
pub fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// Removes all that could steer a terminal or reverse the reading direction.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
            c if steers(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Whether a character steers a terminal, or reverses the reading direction.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\nc\u{202e}d"), "a\u{fffd}[31mb c\u{fffd}d");
    }
}
