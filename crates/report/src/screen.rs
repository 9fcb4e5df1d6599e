//! The summary of an experiment: what was measured, one table, and what a reader has to know before
//! acting on it. It has at most 24 lines for five arms and two phases, none of which is wrapped.

use std::io::{self, Write};

use super::answer_lines;
use super::formats::{Options, Report};
use super::lines::{FIELD, Page, Remark, SCREEN, at_most};
use super::paint::Ink;
use super::screen_table;
use super::view;
use base::say::clean;
use base::strings::shell_quoted;
use base::text::{clip, width, wrap};
use judge::analysis::types::{Analysis, ComparisonRow, Metric, Objective};
use record::records::{Ended, Machine};
use record::unavailable::not_measured;
use stats::verdict::Verdict;

const DOUBTS_MAX: usize = 3;

pub fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Report { analysis, options, .. } = report;
    let mut page = Page::new(options, out);
    let title = page.paint.ink(Ink::Bold, &title(analysis, page.width));
    page.line(&title)?;
    let table = screen_table::table(analysis, page.width).lines(page.width, page.paint);
    for line in &table {
        page.line(line)?;
    }
    page.line("")?;
    let found = remarks(analysis, page.width.saturating_sub(FIELD));
    let missing = missing(analysis);
    // The title, the blank line and the last one.
    let others = table.len() + found.len() + missing.iter().count() + 3;
    let room = SCREEN.checked_sub(others).filter(|room| *room > 0);
    let doubts = doubts(analysis, room.unwrap_or(DOUBTS_MAX).min(DOUBTS_MAX));
    for (name, ink, text) in found.into_iter().chain(doubts).chain(missing) {
        page.remark(name, ink, &text)?;
    }
    rest(&view::again(analysis), options, &mut page)
}

/// `crud · embedded MongoDB 6.0.5, standalone · AMD EPYC, 2 cores, 23.5 GiB · 6 rounds, quick`.
fn title(analysis: &Analysis, page_width: usize) -> String {
    let Machine { cpu, cores, memory_bytes, .. } = &analysis.machine;
    let cores = format::counted(u64::from(*cores), "core");
    let machines = [format!("{}, {cores}, {}", clean(cpu), format::bytes(*memory_bytes)), cores];
    let mut rounds = format::counted(analysis.rounds, "round");
    if analysis.quick {
        rounds.push_str(", quick");
    }
    if analysis.ended != Ended::Completed {
        rounds = format!("{rounds}, {}", analysis.ended.word());
    }
    let [whole, short] = machines.map(|machine| {
        let server = view::server_text(&analysis.server);
        [clean(&analysis.workload), server, machine, rounds.clone()].join(" · ")
    });
    if width(&whole) <= page_width { whole } else { clip(&short, page_width) }
}

/// What is always said: the noise, other figures, causes, and whole the gates and the losses.
fn remarks(analysis: &Analysis, room: usize) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    remarks.extend(noise(analysis));
    let (open, void): (Vec<_>, Vec<_>) = throughput(analysis, false)
        .filter(|it| matches!(it.verdict, Verdict::Inconclusive | Verdict::NotComparable))
        .partition(|it| it.verdict == Verdict::Inconclusive);
    let about = |it: &&ComparisonRow| {
        let (label, phase) = (view::label_of(analysis, &it.arm), clean(&it.phase));
        format!("{phase}, {label}: {}", clean(&it.sentence))
    };
    remarks.extend(one_of("open", Ink::Yellow, open.iter().map(about).collect()));
    remarks.extend(one_of("also", Ink::Plain, also(analysis)));
    let causes = analysis.diagnosis.iter().filter(|it| it.rule != NO_CAUSE);
    let causes = causes.map(answer_lines::finding_line).collect();
    remarks.extend(one_of("cause", Ink::Plain, causes));
    let named = |name, ink, lines: Vec<String>| lines.into_iter().map(move |it| (name, ink, it));
    let mut whole: Vec<Remark> =
        named("since", Ink::Plain, answer_lines::since_lines(analysis)).collect();
    whole.extend(gates(analysis));
    whole.extend(named("died", Ink::Red, view::death_lines(analysis)));
    let has_lost = |id: &str| analysis.arms.iter().any(|arm| arm.id == id && arm.failed > 0);
    let void = void.iter().filter(|it| !has_lost(&it.arm)).map(about);
    // The reason of a void run may quote a log.
    let lost = view::void_lines(analysis).into_iter().chain(void).map(|it| clip(&it, 2 * room));
    whole.extend(named("void", Ink::Red, lost.collect()));
    for (name, ink, text) in whole {
        let names = std::iter::once(name).chain(std::iter::repeat(""));
        remarks.extend(names.zip(wrap(&text, room)).map(|(name, line)| (name, ink, line)));
    }
    remarks
}

/// The rule of the diagnosis that says that no other one applies.
const NO_CAUSE: &str = "no-cause-found";

fn throughput(analysis: &Analysis, is_aa: bool) -> impl Iterator<Item = &ComparisonRow> {
    let own = analysis.comparisons.iter().filter(move |it| it.is_aa == is_aa);
    own.filter(|it| it.metric == Metric::Throughput)
}

/// The first of several lines, and how many others there are.
fn one_of(name: &'static str, ink: Ink, lines: Vec<String>) -> Vec<Remark> {
    at_most(1, lines.into_iter().map(|line| (name, ink, line)).collect())
}

/// The baseline against itself in the phase where that reads worst.
fn noise(analysis: &Analysis) -> Option<Remark> {
    let reach = |it: &&ComparisonRow| {
        let ends = [it.low_percent, it.high_percent].into_iter().flatten().map(f64::abs);
        (it.verdict != Verdict::Same, ends.fold(0.0, f64::max))
    };
    let worst = throughput(analysis, true)
        .max_by(|a, b| reach(a).partial_cmp(&reach(b)).expect("ends are finite"))?;
    let phases = view::phase_names(analysis).len();
    let place = match phases {
        1 => String::new(),
        _ => format!(" in {}, widest of {phases} phases", clean(&worst.phase)),
    };
    let change = format::change(worst.estimate_percent, worst.low_percent, worst.high_percent);
    let change = change.map_or(String::new(), |it| format!(", {it}"));
    let (name, verdict) = (clean(&worst.baseline), view::verdict_text(worst));
    let ink = if worst.verdict == Verdict::Same { Ink::Dim } else { Ink::Yellow };
    Some(("noise", ink, format!("{name} twice (A/A): {verdict}{change}{place}")))
}

/// Other metrics that contradict the throughput, worse ones first.
fn also(analysis: &Analysis) -> Vec<String> {
    let phases = view::phases(analysis);
    let verdicts = phases.iter().flat_map(|phase| &phase.verdicts);
    let mut others: Vec<&ComparisonRow> =
        verdicts.filter(|it| !it.comparison.is_aa).flat_map(|it| it.others.clone()).collect();
    others.sort_by_key(|it| it.verdict != Verdict::Slower);
    let line = |it: &&ComparisonRow| {
        let label = view::label_of(analysis, &it.arm);
        format!("{}, {label}: {}", clean(&it.phase), view::short_line(it))
    };
    others.iter().map(line).collect()
}

/// Gates that are not kept, a line each; those that are, in one.
fn gates(analysis: &Analysis) -> Vec<Remark> {
    let rows = || analysis.objectives.iter();
    let line = |wanted: Objective, ink: Ink| {
        rows()
            .filter(move |row| analysis.counted(row.objective) == wanted)
            .map(move |row| ("gate", ink, clean(&row.sentence)))
    };
    let mut lines: Vec<Remark> = line(Objective::Broken, Ink::Red).collect();
    lines.extend(line(Objective::Open, Ink::Yellow));
    lines.extend(line(Objective::Skipped, Ink::Dim));
    let kept: Vec<String> = line(Objective::Kept, Ink::Plain).map(|(.., text)| text).collect();
    lines.extend(match &kept[..] {
        [] => None,
        [one] => Some(("gate", Ink::Green, one.clone())),
        all if lines.is_empty() => Some(("gate", Ink::Green, format!("all {} kept", all.len()))),
        some => Some(("gate", Ink::Green, format!("{} kept", some.len()))),
    });
    lines
}

/// Reasons not to act, the strongest first, at most `max` of them.
fn doubts(analysis: &Analysis, max: usize) -> Vec<Remark> {
    let mut doubts: Vec<(Ink, String)> =
        view::doubt_lines(analysis).into_iter().map(|line| (Ink::Red, line)).collect();
    let mut caution = |line: String| doubts.push((Ink::Yellow, line));
    if analysis.ended == Ended::Interrupted {
        let folder = shell_quoted(&clean(&analysis.experiment));
        caution(format!("interrupted: to go on, mongodyno resume {folder}"));
    }
    if let Some(what) = &analysis.disturbance {
        let (busy, all) = (analysis.rounds_disturbed.len(), analysis.rounds);
        caution(format!("busy machine in {busy} of {all} rounds: {}", clean(what)));
    }
    if analysis.quick && analysis.rounds > 0 {
        caution("quick form: do not act on it, run without --quick".to_owned());
    }
    let others = analysis.warnings.iter().filter(|line| !line.starts_with("quick form:"));
    let mut others: Vec<&String> = others.collect();
    others.sort_by_key(|line| line.contains("outliers")); // those of single runs change least
    for line in others {
        caution(clean(line));
    }
    at_most(max, doubts.into_iter().map(|(ink, line)| ("doubt", ink, line)).collect())
}

/// What this machine cannot run: the reasons are those of `adapters list`.
fn missing(analysis: &Analysis) -> Option<Remark> {
    let names: Vec<&str> = analysis.unavailable.iter().map(|it| it.adapter.as_str()).collect();
    let line = not_measured(&names)?;
    Some(("missing", Ink::Dim, clean(&line)))
}

/// Where everything else is.
pub fn rest(again: &str, options: &Options, page: &mut Page) -> io::Result<()> {
    let again = format!("{} --details", clean(again));
    let Some(path) = options.page.as_deref().map(clean) else {
        return page.field("details", &again);
    };
    let mut ways = vec![format!("{again} · {path}")];
    if path.strip_suffix("/report.html").is_some_and(|folder| again.contains(folder)) {
        ways.push(format!("{again} · report.html there"));
    }
    ways.push(format!("{path} (or --details)"));
    if let Some(way) = ways.iter().find(|way| width(way) + FIELD <= page.width) {
        return page.field("details", way);
    }
    page.field("page", &path)?;
    page.field("details", &again)
}
