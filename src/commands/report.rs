//! `mongodyno report DIR`: results again, from the folder alone.

use std::io::IsTerminal as _;

use terminal_size::terminal_size_of;

use crate::cli::ReportArgs;
use base::error::Result;
use judge::analyse;
use record::folder::Folder;
use report::{Options, Report};

/// Runs the verb.
///
/// # Errors
/// A path that holds no experiment.
pub fn run(args: &ReportArgs) -> Result<()> {
    let (folder, experiment) = Folder::open(&args.folder)?;
    super::name_leftovers(&folder, &experiment);
    if experiment.study.is_some() {
        let bytes = super::study::report(&folder, &experiment, &folder.runs()?, &args.format)?;
        return super::print_bytes(&bytes);
    }
    let mut formats = report::FORMATS.into_iter();
    let format = formats.find(|it| it.name == args.format).expect("clap knows no others");
    let analysis = &analyse(&folder, &experiment)?.analysis;
    let mut options = terminal_options();
    let page = folder.join("report.html");
    options.page = page.exists().then(|| page.display().to_string());
    super::print(&Report { analysis, runs: &folder.runs()?, options: &options }.text(format))
}

/// Colours only on a terminal that did not ask for none.
#[must_use]
pub fn terminal_options() -> Options {
    let wanted = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let terminal = std::io::stdout().is_terminal();
    Options {
        colour: wanted("CLICOLOR_FORCE") || (terminal && !wanted("NO_COLOR") && !dumb),
        width: console_width(),
        page: None,
    }
}

/// Columns of the terminal on stdout; None where stdout is no terminal.
fn console_width() -> Option<u16> {
    let set = std::env::var("COLUMNS").ok().and_then(|width| width.parse().ok());
    set.or_else(|| Some(terminal_size_of(std::io::stdout())?.0.0)).filter(|width| *width > 0)
}
