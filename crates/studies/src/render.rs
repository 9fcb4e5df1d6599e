//! A study's report in one format.

use std::io::Write;

use serde_json::Value;

use crate::study::{Outcome, Study};
use base::error::Result;
use report::Options;
use report::drawing::Drawing;
use report::study::{StudyReport, View};

/// `format` is a name as `--format` takes it.
pub fn render(
    study: &dyn Study,
    made: &Outcome<'_>,
    format: &str,
    options: &Options,
) -> Result<Vec<u8>> {
    report::study_text(&Finished { study, made }, format, options)
}

/// A study whose experiments have ended.
struct Finished<'a> {
    study: &'a dyn Study,
    made: &'a Outcome<'a>,
}

impl StudyReport for Finished<'_> {
    /// Without columns that say nothing, and without an option that every arm has.
    fn view(&self) -> View {
        let mut view = self.study.view(self.made);
        view.phases.iter_mut().for_each(|phase| phase.table.drop_empty());
        if let Some(options) = self.made.shared_options() {
            view.leave_out(&options);
        }
        view
    }

    fn drawings(&self, phase: &str) -> Result<Vec<Drawing>> {
        self.study.drawings(self.made, phase)
    }

    fn analysis(&self) -> Value {
        self.study.analysis(self.made)
    }

    fn csv(&self, out: &mut dyn Write) -> Result<Vec<String>> {
        self.study.csv(self.made, out)
    }

    fn gnuplot(&self) -> Option<&'static str> {
        self.study.gnuplot()
    }
}
