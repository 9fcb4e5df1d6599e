//! One picture of an experiment, for a README or a slide: who is faster, by how much, how sure.

use std::io::{self, Write};

use super::axis::Axis;
use super::drawing::Drawing;
use super::formats::{Format, Report};
use super::history;
use super::palette::Palette;
use super::plot_rows::{self, PlotRow};
use super::plots;
use super::view::{self, PhaseView};
use base::error::Error;
use base::say::clean;
use judge::analysis::types::Analysis;

pub const FORMAT: Format = Format {
    name: "svg",
    about: "One picture",
    experiments: Some((render, |joint, out| writeln!(out, "{}", joint.picture().svg()))),
    study: Some(|it, _, out| {
        let mut all = Vec::new();
        for phase in &it.view().phases {
            all.extend(it.drawings(&phase.name)?);
        }
        if all.is_empty() {
            return Err(Error::usage("there is no picture of it", "--format html is its page"));
        }
        Ok(writeln!(out, "{}", Drawing::stacked(&all).svg()))
    }),
};

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let analysis = report.analysis;
    let phases = view::phases(analysis);
    let palette = view::palette(analysis);
    let changes: Vec<_> =
        phases.iter().map(|it| plots::comparisons(analysis, it, &palette)).collect();
    // The A/A arm alone compares nothing: there is one driver, and what it measured.
    let is_compared = analysis.comparisons.iter().any(|it| !it.is_aa);
    let axis = Axis::of_changes(changes.iter().flatten()).filter(|_| is_compared);
    let mut all = vec![head(analysis, axis.is_some())];
    for (phase, changes) in phases.iter().zip(&changes) {
        all.extend(match &axis {
            Some(axis) => Some(plots::plot(&phase.name, changes, axis, &plot_rows::WIDE)),
            None => rounds(analysis, phase, &palette),
        });
    }
    all.extend(history::charts(analysis));
    all.push(foot(analysis));
    writeln!(out, "{}", Drawing::stacked(&all).svg())
}

fn rounds(analysis: &Analysis, phase: &PhaseView, palette: &Palette) -> Option<Drawing> {
    let rows: Vec<PlotRow> = plots::rounds(analysis, phase, palette);
    Some(plots::plot(&phase.name, &rows, &Axis::of_rounds(rows.iter())?, &plot_rows::WIDE))
}

fn head(analysis: &Analysis, is_compared: bool) -> Drawing {
    let workload = clean(&analysis.workload);
    let base = analysis.arms.first().map(view::arm_label).unwrap_or_default();
    let levels = analysis.comparisons.iter().filter_map(|it| it.level);
    let level = levels.reduce(f64::min).map_or(String::new(), format::level);
    let (title, words) = if is_compared {
        (
            format!("{workload}: time per operation, compared with {base}"),
            format!(
                "Marker: estimate. Line: confidence interval, {level} or more. Within the shade it \
                 is SAME, beyond it SLOWER or FASTER. (A/A): the baseline again."
            ),
        )
    } else {
        (
            format!("{workload}: throughput of every round"),
            "A marker a round, the first on top. Line: their median.".to_owned(),
        )
    };
    let mut head = Drawing::new(&title, plot_rows::WIDTH);
    head.head(&title, &words);
    head
}

/// Server, machine, rounds and warnings.
fn foot(analysis: &Analysis) -> Drawing {
    let (server, machine) = (&analysis.server, &analysis.machine);
    let [server, machine] = [view::server_text(server), view::machine_text(machine)];
    let mut lines = vec![format!("{server} · {machine}"), view::rounds_line(analysis)];
    let deaths = view::death_lines(analysis);
    if !deaths.is_empty() {
        lines.push(format!("{}: {}", view::DEATHS, deaths.join(" · ")));
    }
    let doubts = view::doubt_lines(analysis);
    if !doubts.is_empty() {
        lines.push(format!("{}: {}", view::DOUBTS, doubts.join(" · ")));
    }
    let warnings = view::warning_lines(analysis);
    if !warnings.is_empty() {
        lines.push(format!("Warnings: {}", warnings.join(" · ")));
    }
    let mut foot = Drawing::new(&lines.join("; "), plot_rows::WIDTH);
    lines.iter().fold(-8.0, |y, line| foot.paragraph(y, line));
    foot
}
