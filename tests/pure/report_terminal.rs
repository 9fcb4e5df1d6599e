//! The summary as a terminal of a person shows it: whole, at once, no row wrapped.

use crate::report_formats::{analysis, summary, written};
use crate::support::{skip, wait_until};
use crate::tmux;
use base::text;
use judge::analysis::types::Analysis;
use report::Options;

const WIDTHS: [u16; 3] = [80, 100, 160];
const LINES_MAX: usize = 24;

/// Five arms and the A/A arm in two phases, with all that may be said below the table but losses.
fn five_arms() -> Analysis {
    let mut analysis = analysis("everything.json");
    analysis.arms.truncate(6);
    let ids: Vec<String> = analysis.arms.iter().map(|arm| arm.id.clone()).collect();
    analysis.results.retain(|row| ids.contains(&row.arm));
    analysis.comparisons.retain(|row| ids.contains(&row.arm));
    analysis.arms.iter_mut().for_each(|arm| arm.failed = 0);
    analysis.quick = true;
    "/home/user/results/20261121T100000Z-4f2a".clone_into(&mut analysis.experiment);
    analysis
}

#[test]
fn five_arms_in_two_phases_take_one_screen() {
    for width in WIDTHS {
        let out = written(&five_arms(), "terminal", &summary(width));
        assert!(out.lines().count() <= LINES_MAX, "{width} columns: {out}");
        for line in out.lines() {
            assert!(text::width(line) <= usize::from(width), "{width} columns: {line}");
        }
        let parts = ["SLOWER", "noise ", "doubt ", "not measured here: java", "--details"];
        for part in parts {
            assert!(out.contains(part), "{part}: {out}");
        }
        assert_eq!(out.matches("█").next().is_some(), width >= 120, "{width} columns: {out}");
    }
}

#[test]
fn no_row_is_wrapped_in_tmux() {
    if !tmux::is_there() {
        return skip("no_row_is_wrapped_in_tmux", "no tmux on PATH");
    }
    for width in WIDTHS {
        let plain = written(&five_arms(), "terminal", &summary(width));
        let options = Options { colour: true, ..summary(width) };
        let coloured = written(&five_arms(), "terminal", &options);
        let lines: Vec<&str> = plain.lines().map(str::trim_end).collect();
        assert_eq!(in_tmux(&coloured, width, lines[lines.len() - 1]), lines, "{width} columns");
    }
}

/// The lines of a terminal of so many columns that was sent the text, which ends in `last`.
fn in_tmux(text: &str, columns: u16, last: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report");
    std::fs::write(&file, text).unwrap();
    tmux::start(folder.path(), columns, &format!("cat '{}'; exec cat", file.display()));
    let mut screen = Vec::new();
    wait_until("the text is on the screen", || {
        screen = tmux::screen(folder.path());
        screen.iter().any(|line| line.contains(last))
    });
    tmux::end(folder.path());
    screen
}
