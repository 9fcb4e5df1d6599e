//! `mongodyno report DIR`: results again, from the folder alone.

use std::io::IsTerminal as _;

use crate::cli::{FormatArg, ReportArgs};
use base::error::{Error, Result};
use judge::analysis::analyse;
use judge::analysis::types::Analysis;
use record::folder::Folder;
use record::records::Run;
use report::{self, Format, Options};

/// Runs the verb.
///
/// # Errors
/// A path that holds no experiment.
pub fn run(args: &ReportArgs) -> Result<()> {
    let (folder, experiment) = Folder::open(&args.folder)?;
    super::name_leftovers(&folder, &experiment);
    if experiment.study.is_some() {
        let bytes = super::study::report(&folder, &experiment, &folder.runs()?, args.format)?;
        return super::print_bytes(&bytes);
    }
    let outcome = analyse(&folder, &experiment)?;
    let format = match args.format {
        FormatArg::Terminal => Format::Terminal,
        FormatArg::Html => Format::Html,
        FormatArg::Md => Format::Markdown,
        FormatArg::Json => Format::Json,
        FormatArg::Csv => Format::Csv,
        FormatArg::Benchstat => Format::Benchstat,
        FormatArg::Svg => {
            return Err(Error::usage(
                "only studies have pictures of their own",
                "--format html has those of this experiment",
            ));
        }
    };
    let mut options = terminal_options();
    let page = folder.join("report.html");
    options.page = page.exists().then(|| page.display().to_string());
    super::print(&render(&outcome.analysis, &folder.runs()?, format, &options))
}

/// A report as text.
#[must_use]
pub fn render(analysis: &Analysis, runs: &[Run], format: Format, options: &Options) -> String {
    let mut bytes = Vec::new();
    report::render(analysis, runs, format, options, &mut bytes).expect("writing to memory");
    String::from_utf8_lossy(&bytes).into_owned()
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
    set.or_else(|| Some(rustix::termios::tcgetwinsize(std::io::stdout()).ok()?.ws_col))
        .filter(|width| *width > 0)
}
