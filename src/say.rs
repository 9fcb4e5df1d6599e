//! Lines for people, on stderr. One that nobody can read any more is no error: `eprintln!` panics
//! there, which once ended runs in the middle and left their databases behind.

use std::io::Write as _;

use crate::report::text::clean;
use crate::server::mask_text;

/// Says something on stderr, as `eprintln!` is written.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => { $crate::say::lines(&format!($($argument)*)) };
}

/// Says these lines. What they quote (paths, answers, records) cannot steer the terminal, and is
/// told without its secrets.
pub fn lines(text: &str) {
    let clean: Vec<String> = mask_text(text).split('\n').map(clean).collect();
    // One write, so that the lines of several processes stay whole.
    let _ = std::io::stderr().write_all((clean.join("\n") + "\n").as_bytes());
}
