//! The block below all other lines of the terminal, which shows how far the work is. It is drawn
//! over itself; lines for people are written above it ([`crate::say`]).
//!
//! It takes the place of a library's progress bar, which leaves the cursor at the end of its last
//! line: a terminal writes `^C` there, and the bar then counts its lines wrongly. Here the cursor
//! waits at the beginning of the line below the block, visible, so that nothing has to be restored
//! when the program is killed.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use terminal_size::terminal_size_of;

use crate::secrets::mask_text;
use crate::text::{clean, cut_columns, width};

/// The lines that are on the screen.
static BLOCK: Mutex<Vec<String>> = Mutex::new(Vec::new());

static QUIET: AtomicBool = AtomicBool::new(false);

/// A second place, beside the terminal, that shows how far the work is: the live page.
pub trait Viewer: Send + Sync {
    /// Shows the state: in a few words, which change with each round, and all that is said of it.
    fn show(&self, state: &str, words: &str);

    /// Shows the finished rounds.
    fn round_ended(&self);
}

static VIEWER: Mutex<Option<Arc<dyn Viewer>>> = Mutex::new(None);

pub fn set_viewer(viewer: Option<Arc<dyn Viewer>>) {
    *VIEWER.lock().unwrap_or_else(PoisonError::into_inner) = viewer;
}

pub fn viewer() -> Option<Arc<dyn Viewer>> {
    VIEWER.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Lets the live page show the finished rounds. Another one follows, and nothing is measured
/// meanwhile.
pub fn rounds_ended(rounds: u32) {
    if let Some(viewer) = viewer().filter(|_| rounds > 0) {
        viewer.round_ended();
    }
}

/// From now on nothing says how far the work is. Warnings are still written.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Columns and rows of a terminal that can draw over itself.
pub fn screen() -> Option<(usize, usize)> {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    if is_quiet() || dumb || !stderr().is_terminal() {
        return None;
    }
    let (columns, rows) = terminal_size_of(stderr())?;
    (columns.0 > 1 && rows.0 > 1).then_some((columns.0.into(), rows.0.into()))
}

/// Draws the block, over what it was. Lines that do not fit are cut, and so are the last ones of a
/// block that is higher than the screen.
pub fn draw(block: &[String]) {
    let Some((columns, rows)) = screen() else { return };
    // Not in the last column: a terminal may wait there before it breaks the line.
    let fit = |line: &String| cut_columns(&clean(&mask_text(line)), columns - 1);
    let block: Vec<String> = block.iter().take(rows - 1).map(fit).collect();
    let mut drawn = BLOCK.lock().unwrap_or_else(PoisonError::into_inner);
    // Not cleared before: what stays the same does not flicker.
    let text: String = block.iter().flat_map(|line| [line, "\x1b[K\n"]).collect();
    write(&format!("{}{text}\x1b[J", up(&drawn, columns)));
    *drawn = block;
}

/// Removes the block.
pub fn clear() {
    // A panic in the middle of drawing says what it has to say all the same.
    let Ok(mut drawn) = BLOCK.try_lock() else { return };
    if !drawn.is_empty() {
        write(&format!("{}\x1b[J", up(&drawn, columns())));
        drawn.clear();
    }
}

/// Writes text that ends with a line's end, above the block.
pub(crate) fn write_above(text: &str) {
    let drawn = BLOCK.lock().unwrap_or_else(PoisonError::into_inner);
    if drawn.is_empty() {
        write(text);
    } else {
        let block: String = drawn.iter().flat_map(|line| [line, "\n"]).collect();
        write(&format!("{}\x1b[J{text}{block}", up(&drawn, columns())));
    }
}

fn columns() -> usize {
    screen().map_or(usize::MAX, |(columns, _)| columns)
}

/// To the first column of the block's first line. A terminal that became narrower has broken it
/// into more lines.
fn up(drawn: &[String], columns: usize) -> String {
    let rows: usize = drawn.iter().map(|line| width(line).div_ceil(columns).max(1)).sum();
    if rows == 0 { String::new() } else { format!("\r\x1b[{rows}A") }
}

/// One write, so that a terminal shows no half of it, and lines of several processes stay whole.
fn write(text: &str) {
    let _ = stderr().write_all(text.as_bytes());
}
