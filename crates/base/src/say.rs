//! Lines for people, on stderr. A closed stderr is no error. `eprintln!` panics then, which once
//! ended runs in the middle and left their databases on the server.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::live::{is_quiet, write_above};
use crate::secrets::mask_text;
pub use crate::text::{clean, steers};

/// Writes to stderr, with the syntax of `eprintln!`.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => { $crate::say::lines(&format!($($argument)*)) };
}

/// Writes these lines. Text they quote (paths, answers, records) cannot steer the terminal, and its
/// secrets are masked.
pub fn lines(text: &str) {
    write_above(&(clean_lines(&mask_text(text)) + "\n"));
}

/// [`lines`] about how far the work is, unless that is not wanted.
pub fn tell(text: &str) {
    if !is_quiet() {
        lines(text);
    }
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
