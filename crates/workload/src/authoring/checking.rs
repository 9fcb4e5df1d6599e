//! Collects mistakes while a workload is checked, so that a user sees all of them at once.

use super::located::Location;
use super::problem::Problem;
use super::workload_file::Loaded;

/// The collection that marks a database as made by mongodyno: no workload may touch it.
pub const MARKER: &str = "made_by_mongodyno";

/// The workload under check and what was found so far.
#[derive(Debug)]
pub struct Check<'a> {
    pub loaded: &'a Loaded,
    pub seed: u64,
    pub problems: Vec<Problem>,
}

impl<'a> Check<'a> {
    pub fn new(loaded: &'a Loaded, seed: u64) -> Self {
        Self { loaded, seed, problems: Vec::new() }
    }

    /// Notes a mistake.
    pub fn wrong(&mut self, place: Location, message: impl Into<String>, hint: impl Into<String>) {
        self.note(place, Problem::new(message, None).hint(hint));
    }

    /// Refuses text that names the marker, as a command or a pipeline may.
    pub fn reserved(&mut self, text: &str, place: Location) {
        if text.contains(MARKER) {
            let message = format!("`{MARKER}` marks the databases that mongodyno may drop");
            self.wrong(place, message, "choose another name");
        }
    }

    /// Notes a mistake whose hint may be missing.
    pub fn wrong_maybe(
        &mut self,
        place: Location,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.note(place, Problem::new(message, None).maybe_hint(hint));
    }

    /// Notes a mistake that was found elsewhere.
    pub fn note(&mut self, place: Location, mut problem: Problem) {
        problem.span = self.loaded.span(place);
        self.problems.push(problem);
    }
}
