//! Several experiments as one report: the comparisons between servers, then one table and one
//! picture of all values and servers.

use std::io::{self, Write};

use super::between_servers;
use super::chart::{Chart, ChartForm, ChartLine, Places, Point};
use super::drawing::Drawing;
use super::formats::{Joint, Report};
use super::load_charts;
use super::palette::Palette;
use super::plot_rows::WIDTH;
use super::study::{Column, Figure, PhaseView, Table, TableRow, View};
use super::view;
use base::say::clean;
use base::strings::shell_quoted;
use judge::analysis::joint::JointRow;
use judge::analysis::load::{self, LoadCurve};
use record::records::{Experiment, Run};

const CAPTION: &str = "Medians of the rounds, with their intervals. Change: time per operation \
    against the baseline of the same experiment, + is slower. A/A arms are left out.";
const CHART: &str = "Marker: median of the rounds. Upright line: its interval, of 95 % from six \
    rounds on, with fewer from the lowest to the highest.";

impl<'a> Joint<'a> {
    /// Every experiment by its name and its report.
    pub fn named(&self) -> impl Iterator<Item = (String, &'a Report<'a>)> {
        let names =
            self.analysis.each().map(|(value, server, _)| self.analysis.name(value, server));
        names.zip(self.parts.iter().map(|(_, report)| report))
    }

    /// On several servers alone: the report of each, below the joint one. Those of a sweep would
    /// bury its table.
    pub fn each(
        &self,
        write: fn(&Report<'_>, &mut dyn Write) -> io::Result<()>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let shown = self.named().filter(|_| self.analysis.parameter.is_none());
        for (name, report) in shown {
            write!(out, "\n── {} ──\n\n", clean(&name))?;
            write(report, out)?;
        }
        Ok(())
    }

    fn title(&self) -> String {
        let workload = self.analysis.each().next().map_or("", |(.., it)| &it.workload);
        match &self.analysis.parameter {
            Some(parameter) => format!("{workload} by {parameter}"),
            None => format!("{workload} on {}", self.servers().join(", ")),
        }
    }

    /// Servers as they were asked for; one without a name where there is one.
    fn servers(&self) -> Vec<String> {
        unlike(self.analysis.rows.iter().map(|row| row.server.as_str()))
    }

    /// The looks of the arms on every picture.
    pub fn palette(&self) -> Palette {
        let arms = self.parts.iter().flat_map(|(experiment, _)| &experiment.arms);
        Palette::of(arms.map(|arm| arm.id.as_str()))
    }

    /// The curves of a sweep over a load by server, whose name is empty where there is one.
    fn curves(&self) -> Vec<(String, Vec<LoadCurve>)> {
        let of_server = |server: String| {
            let of = self.analysis.each().zip(self.parts);
            let own = of.filter(|((_, it, _), _)| *it == server);
            let own = own
                .map(|((.., analysis), (experiment, report))| (*experiment, report.runs, analysis));
            let curves = load::curves(&own.collect::<Vec<_>>());
            (server, curves)
        };
        let is_sweep = self.analysis.parameter.is_some();
        let servers = if is_sweep { self.servers() } else { Vec::new() };
        servers.into_iter().map(of_server).collect()
    }

    fn answers(&self, curves: &[(String, Vec<LoadCurve>)]) -> Vec<(String, Vec<String>)> {
        let mut answers = Vec::new();
        for (server, curves) in curves {
            for of in curves.chunk_by(|a, b| a.phase == b.phase) {
                let title = format!("Knee of {}{}", of[0].phase, on(server));
                let lines = of.iter().flat_map(LoadCurve::sentences).map(|it| clean(&it));
                answers.push((clean(&title), lines.collect()));
            }
        }
        for of in &self.analysis.values {
            let name = self.analysis.name(&of.value, "");
            let prefix = if name.is_empty() { name } else { format!("{name}, ") };
            let lists = between_servers::lists(&of.servers).into_iter();
            answers.extend(lists.map(|(title, lines)| (clean(&format!("{prefix}{title}")), lines)));
        }
        answers.extend(self.findings.iter().cloned());
        answers
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.analysis.missing.clone();
        if !warnings.is_empty() {
            let folder = shell_quoted(&self.analysis.folder);
            warnings.push(format!("to go on with what is missing: mongodyno resume {folder}"));
        }
        for (name, report) in self.named() {
            let own = [view::doubt_lines(report.analysis), view::warning_lines(report.analysis)];
            warnings.extend(own.concat().iter().map(|line| format!("{name}: {line}")));
        }
        warnings
    }

    /// What every format with tables places; arms look as the palette says.
    pub fn view(&self, palette: &Palette) -> View {
        let mut all: Option<Experiment> = None;
        let mut runs: Vec<Run> = Vec::new();
        for (experiment, report) in self.parts {
            runs.extend(report.runs.iter().cloned());
            let Some(all) = &mut all else {
                all = Some((*experiment).clone());
                continue;
            };
            let is_new = |id: &str| all.arms.iter().all(|arm| arm.id != id);
            let arms = experiment.arms.iter().filter(|arm| is_new(&arm.id)).cloned();
            let arms: Vec<_> = arms.collect();
            all.arms.extend(arms);
            let others = experiment.unavailable.iter();
            let others = others.filter(|it| all.unavailable.iter().all(|known| known != *it));
            let others: Vec<_> = others.cloned().collect();
            all.unavailable.extend(others);
        }
        let Some(all) = all else { return View::default() };
        let curves = self.curves();
        View {
            title: self.title(),
            question: all.plan.why.clone(),
            facts: self.facts(),
            answers: self.answers(&curves),
            warnings: self.warnings(),
            phases: self.phases(&curves, palette),
            ..View::of(&all, &runs, &self.analysis.folder)
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let each = || self.analysis.each().map(|(.., it)| it);
        let rounds: Vec<u32> = each().map(|it| it.rounds).collect();
        let (least, most) = (rounds.iter().min().unwrap_or(&0), rounds.iter().max().unwrap_or(&0));
        let rounds = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let texts = |texts: Vec<String>| unlike(texts.iter().map(String::as_str)).join("; ");
        let machine = texts(each().map(|it| view::machine_text(&it.machine)).collect());
        let mut facts = vec![
            ("Server", texts(each().map(|it| view::server_text(&it.server)).collect())),
            ("Machine", machine),
            ("Rounds", format!("{rounds} in each of {} experiments", each().count())),
        ];
        if let Some(parameter) = &self.analysis.parameter {
            let values = unlike(self.analysis.values.iter().map(|it| it.value.as_str()));
            facts.insert(0, ("Values", format!("{parameter}: {}", values.join(", "))));
        }
        facts.into_iter().map(|(name, text)| (name.to_owned(), clean(&text))).collect()
    }

    fn phase_names(&self) -> Vec<String> {
        unlike(self.analysis.rows.iter().map(|row| row.phase.as_str()))
    }

    fn phases(&self, curves: &[(String, Vec<LoadCurve>)], palette: &Palette) -> Vec<PhaseView> {
        let phase = |name: String| PhaseView {
            about: String::new(),
            table: self.table(&name),
            figures: self.charts(&name, curves, palette).iter().map(Figure::of).collect(),
            name,
        };
        self.phase_names().into_iter().map(phase).collect()
    }

    fn of_phase<'b>(&'b self, phase: &'b str) -> impl Iterator<Item = &'a JointRow> + 'b {
        self.analysis.rows.iter().filter(move |row| row.phase == phase)
    }

    fn table(&self, phase: &str) -> Table {
        let mut columns = Vec::new();
        if let Some(parameter) = &self.analysis.parameter {
            columns.push(Column::figures(&clean(parameter), ""));
        }
        let on_servers = self.servers().iter().any(|it| !it.is_empty());
        if on_servers {
            columns.push(Column::words("server"));
        }
        columns.extend(["ops/s", "change"].map(|name| Column::figures(name, "")));
        columns.push(Column::words("verdict"));
        let row = |row: &JointRow| {
            let mut cells = Vec::new();
            if self.analysis.parameter.is_some() {
                cells.push(row.value.clone());
            }
            if on_servers {
                cells.push(row.server.clone());
            }
            cells.push(throughput(row));
            cells.extend(match &row.comparison {
                Some(compared) => [view::change(compared), view::verdict_text(compared)],
                None if row.is_baseline => [String::new(), "baseline".to_owned()],
                None => [format::MISSING.to_owned(), String::new()],
            });
            TableRow { arm: row.arm.clone(), cells }
        };
        Table {
            caption: CAPTION.to_owned(),
            columns,
            rows: self.of_phase(phase).map(row).collect(),
        }
    }

    /// The curves of a load; of another sweep, or of servers, throughput by value.
    fn charts(
        &self,
        phase: &str,
        curves: &[(String, Vec<LoadCurve>)],
        palette: &Palette,
    ) -> Vec<Drawing> {
        let of_server = |(server, curves): &(String, Vec<LoadCurve>)| {
            let own: Vec<LoadCurve> =
                curves.iter().filter(|curve| curve.phase == phase).cloned().collect();
            load_charts::charts(&own, &on(server), palette)
        };
        let charts: Vec<Drawing> = curves.iter().flat_map(of_server).collect();
        if charts.is_empty() { self.chart(phase, palette).into_iter().collect() } else { charts }
    }

    /// Throughput against the values, for each arm and server; without values against the servers.
    fn chart(&self, phase: &str, palette: &Palette) -> Option<Drawing> {
        let is_course = self.analysis.parameter.is_some();
        let place = |row: &JointRow| if is_course { &row.value } else { &row.server }.clone();
        let name = |row: &JointRow| match row.server.as_str() {
            server if is_course && !server.is_empty() => format!("{} on {server}", row.arm),
            _ => row.arm.clone(),
        };
        let all: Vec<String> = self.of_phase(phase).map(place).collect();
        let mut places = unlike(all.iter().map(String::as_str));
        let number = |text: &String| text.parse::<f64>().ok().filter(|it| it.is_finite());
        // Numbers by size, in whatever order they were asked for.
        let is_line = is_course && places.iter().all(|it| number(it).is_some());
        if is_line {
            places.sort_by(|a, b| number(a).partial_cmp(&number(b)).expect("finite"));
        }
        let names: Vec<String> = self.of_phase(phase).map(name).collect();
        let series = unlike(names.iter().map(String::as_str)).into_iter().map(|own| {
            let at = |place_name: &String| {
                let is_own = |row: &&JointRow| name(row) == own && place(row) == *place_name;
                let row = self.of_phase(phase).find(is_own)?;
                let interval = row.over_rounds.map(|it| (it.median.low, it.median.high));
                Some(Point { median: row.throughput_ops_per_s?, interval })
            };
            let points = places.iter().map(at).collect();
            ChartLine::new(own, points)
        });
        let series: Vec<ChartLine> = series.collect();
        let across = self.analysis.parameter.clone().unwrap_or_else(|| "server".to_owned());
        let title = format!("{phase}: throughput by {across}");
        let all = self
            .of_phase(phase)
            .map(|row| format!("{} at {}: {} ops/s", name(row), place(row), throughput(row)));
        let caption = format!("{title}. {}", all.collect::<Vec<_>>().join("; "));
        let chart = Chart {
            title,
            words: CHART,
            caption,
            across,
            unit: "ops/s".to_owned(),
            places: Places::Named(places),
            form: if is_line { ChartForm::Line } else { ChartForm::Dots },
            is_log: false,
            series,
            palette,
            steps: Vec::new(),
            beside: None,
        };
        chart.drawing()
    }

    /// The picture of all.
    pub fn picture(&self) -> Drawing {
        let title = clean(&self.title());
        let mut head = Drawing::new(&title, WIDTH);
        let facts: Vec<String> = self.facts().into_iter().map(|(_, text)| text).collect();
        head.head(&title, &facts.join(" · "));
        let mut all = vec![head];
        if self.analysis.parameter.is_none() {
            all.extend(
                self.analysis.values.iter().flat_map(|of| between_servers::pictures(&of.servers)),
            );
        }
        let (curves, palette) = (self.curves(), self.palette());
        all.extend(self.phase_names().iter().flat_map(|it| self.charts(it, &curves, &palette)));
        let mut foot = Drawing::new("", WIDTH);
        self.warnings().iter().fold(-8.0, |y, line| foot.paragraph(y, &clean(line)));
        all.push(foot);
        Drawing::stacked(&all)
    }
}

/// ` on absorber`; empty where there is one server.
fn on(server: &str) -> String {
    if server.is_empty() { String::new() } else { format!(" on {server}") }
}

/// `9,500 (9,100 to 9,900)`.
fn throughput(row: &JointRow) -> String {
    let interval = row.over_rounds.map(|over| (over.median.low, over.median.high));
    let words = |median| format::with_interval(median, interval, format::figure);
    row.throughput_ops_per_s.map_or(format::MISSING.to_owned(), words)
}

/// Each text once, in the order of the first.
fn unlike<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for text in texts {
        if known.iter().all(|it| it != text) {
            known.push(text.to_owned());
        }
    }
    known
}
