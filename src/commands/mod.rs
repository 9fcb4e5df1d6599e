//! One file per verb: they wire the modules together and print.

pub mod absorber;
pub mod adapters;
pub mod bisect;
pub mod check;
pub mod clean;
pub mod diagnose;
pub mod diff;
pub mod drivers;
pub mod environments;
mod experiment_end;
pub mod experiment_history;
mod joint_reports;
mod live_page;
mod plan_text;
pub mod report;
mod request_again;
mod requested_limits;
mod requested_settings;
pub mod resume;
pub mod run;
mod run_plan;
pub mod schema;
pub mod server;
pub mod several_servers;
pub mod study;
mod study_drivers;
mod study_eject;
mod study_fit;
mod study_report;
mod sweep;
pub mod tap;
pub mod workloads;

use std::fmt;
use std::io::IsTerminal as _;

use ::report::{FolderReport, Options};
use base::error::{Error, Result};
use base::say;
use base::say::clean_lines;
use base::secrets::mask_text;
use base::text::width;
use measure::admin::is_database;
use record::folder::Folder;
use record::records::Experiment;
use terminal_size::terminal_size_of;

/// Prints text for people: the secrets in it are masked, and what it quotes of files, manifests and
/// workloads cannot steer the terminal.
///
/// # Errors
/// As [`print_result`].
fn print(text: &str) -> Result<()> {
    print_result(clean_lines(&mask_text(text)).as_bytes())
}

/// Receives the report of a folder, which lives no longer than its records.
type Take<'a> = &'a mut dyn FnMut(&FolderReport<'_>) -> Result<()>;

/// Names the databases that an experiment may have left on somebody else's server.
fn name_leftovers(folder: &Folder, experiment: &Experiment) {
    // While it runs its database has to be there.
    if folder.lock().is_err() {
        return;
    }
    for name in experiment.leftovers().filter(|name| is_database(name)) {
        say!("warning: the database {name} is left on the server of this experiment");
        say!("hint: `mongodyno clean` drops it");
    }
}

/// Prints what was read out of a folder: the one place that writes to stdout. Its secrets were
/// masked when it was written; a password like `100` would make other figures of these.
///
/// # Errors
/// Output that is lost; a reader that went away (`| head`) is no error.
fn print_result(bytes: &[u8]) -> Result<()> {
    use std::io::{ErrorKind, Write as _};
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::environment(
            format!("the output could not be written: {error}"),
            "check the disk or the program that it goes to",
        )),
        _ => Ok(()),
    }
}

/// Colours only on a terminal that did not ask for none.
fn terminal_options(details: bool) -> Options {
    let wanted = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let terminal = std::io::stdout().is_terminal();
    Options {
        colour: wanted("CLICOLOR_FORCE") || (terminal && !wanted("NO_COLOR") && !dumb),
        width: console_width(),
        page: None,
        details,
    }
}

/// Columns of the terminal on stdout; None where stdout is no terminal.
fn console_width() -> Option<u16> {
    let set = std::env::var("COLUMNS").ok().and_then(|width| width.parse().ok());
    set.or_else(|| Some(terminal_size_of(std::io::stdout())?.0.0)).filter(|width| *width > 0)
}

/// A table without borders; its first row is the head.
#[derive(Default)]
struct PlainTable(Vec<Vec<String>>);

impl PlainTable {
    fn add_row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.0.push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }
}

impl fmt::Display for PlainTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.0.iter().map(|row| {
            let cell = |(at, text): (usize, &String)| {
                let widest = self.0.iter().map(|row| width(&row[at])).max().unwrap_or(0);
                format!(" {text}{:1$} ", "", widest - width(text))
            };
            let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
            cells.concat().trim_end().to_owned()
        });
        formatter.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}
