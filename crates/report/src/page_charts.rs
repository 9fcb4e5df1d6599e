//! The charts of a phase: latency, clients and server over its seconds, and shares of the time.

use std::collections::BTreeMap;

use super::chart::{Chart, ChartForm, ChartLine, Places, Point};
use super::drawing::Drawing;
use super::formats::Report;
use super::palette::Palette;
use super::view;
use base::say::clean;
use judge::analysis::latencies::{LatencySecond, PERCENTS, PhaseLatency};
use record::records::{ClientSample, ServerSample};
use stats::descriptive::median;

const NS_PER_S: f64 = 1e9;
/// End of the tag of response times.
const RESPONSE: &str = "-response";
/// Seconds of a course; a longer phase has longer steps.
const STEPS_MAX: f64 = 64.0;
const OVER_ROUNDS: &str = "Medians over the rounds.";

/// Values by series and place.
type Course = BTreeMap<(String, u64), Vec<f64>>;

struct PhaseCharts<'a> {
    report: &'a Report<'a>,
    phase: &'a str,
    palette: &'a Palette,
}

/// Charts that are read together; a pair has one row of the page where it is wide enough.
pub type ChartRow = Vec<Drawing>;

/// The charts for which the folder has figures.
pub fn charts(report: &Report<'_>, phase: &str, palette: &Palette) -> Vec<ChartRow> {
    let of = PhaseCharts { report, phase, palette };
    let mut tags: Vec<&str> = Vec::new();
    for it in of.latencies() {
        if !it.tag.ends_with("-timer") && !tags.contains(&it.tag.as_str()) {
            tags.push(&it.tag);
        }
    }
    let mut rows: Vec<ChartRow> = Vec::new();
    let mut all: Vec<Option<Drawing>> = Vec::new();
    for tag in tags.iter().filter(|tag| !tag.ends_with(RESPONSE)) {
        let response = format!("{tag}{RESPONSE}");
        if tags.contains(&response.as_str()) {
            let drawings = of.service_and_response(tag, &response);
            rows.push(drawings.into_iter().flatten().collect());
        } else {
            all.push(of.percentiles(tag).drawing());
        }
    }
    all.extend(tags.iter().map(|tag| of.distribution(tag)));
    for tag in tags.iter().filter(|tag| !tag.ends_with(RESPONSE)) {
        let titles =
            [format!("{tag}: median of each second"), format!("{tag}: p99 of each second")];
        let [median, high] = titles;
        all.push(of.latency_over_time(tag, median, |it| Some(it.p50_us)));
        all.push(of.latency_over_time(tag, high, |it| it.p99_us));
        all.push(of.latency_over_operations(tag));
    }
    all.push(of.shares());
    all.extend(of.clients());
    all.push(of.collections());
    all.extend(of.server());
    rows.extend(all.into_iter().flatten().map(|drawing| vec![drawing]));
    rows
}

impl PhaseCharts<'_> {
    fn latencies(&self) -> impl Iterator<Item = &PhaseLatency> {
        self.report.latencies.iter().filter(|it| clean(&it.phase) == self.phase)
    }

    fn of_tag<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a PhaseLatency> {
        self.latencies().filter(move |it| it.tag == tag)
    }

    fn label(&self, arm: &str) -> String {
        view::label_of(self.report.analysis, arm)
    }

    fn chart(
        &self,
        title: String,
        unit: &str,
        places: Places,
        series: Vec<ChartLine>,
    ) -> Chart<'_> {
        Chart {
            caption: title.clone(),
            title,
            words: "",
            across: "second of the phase".to_owned(),
            unit: unit.to_owned(),
            places,
            form: ChartForm::Line,
            is_log: false,
            series,
            palette: self.palette,
            steps: Vec::new(),
            beside: None,
        }
    }

    /// Percentiles of a rate: how long a call took, and how long its caller waited, on one scale.
    fn service_and_response(&self, service: &str, response: &str) -> [Option<Drawing>; 2] {
        let charts = [service, response].map(|tag| self.percentiles(tag));
        let [first, second] = [0, 1].map(|at| charts[at].reach());
        let [service, response] = charts;
        [(service, second), (response, first)]
            .map(|(chart, beside)| Chart { beside, ..chart }.drawing())
    }

    /// From the median to the maximum.
    fn percentiles(&self, tag: &str) -> Chart<'_> {
        let names = PERCENTS.iter().map(|percent| format!("p{percent}"));
        let places = Places::Named(names.chain(["max".to_owned()]).collect());
        let line = |it: &PhaseLatency| {
            let points = it.quantiles_us.iter().map(|us| us.map(Point::of)).collect();
            ChartLine::new(self.label(&it.arm), points)
        };
        let series = self.of_tag(tag).map(line).collect();
        Chart {
            words: "All rounds together. A percentile needs 100 values beyond it.",
            across: "percentile".to_owned(),
            is_log: true,
            ..self.chart(format!("{}: percentiles", times(tag)), "µs", places, series)
        }
    }

    fn distribution(&self, tag: &str) -> Option<Drawing> {
        let mut values: Vec<f64> =
            self.of_tag(tag).flat_map(|it| it.density.iter().map(|(us, _)| *us)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let line =
            |it: &PhaseLatency| ChartLine::new(self.label(&it.arm), between(&values, &it.density));
        let series = self.of_tag(tag).map(line).collect();
        let places = Places::Values { values: values.clone(), is_log: true, words: format::figure };
        let chart = Chart {
            words: "Share of the operations in each step of time; steps are a twelfth apart.",
            across: "time, µs, log".to_owned(),
            form: ChartForm::Density,
            ..self.chart(format!("{}: distribution", times(tag)), "%", places, series)
        };
        chart.drawing()
    }

    fn latency_over_time(
        &self,
        tag: &str,
        title: String,
        of: fn(&LatencySecond) -> Option<f64>,
    ) -> Option<Drawing> {
        let mut course = Course::new();
        for it in self.of_tag(tag) {
            for second in &it.seconds {
                let at = (self.label(&it.arm), second.second);
                course.entry(at).or_default().extend(of(second));
            }
        }
        self.course(title, "µs", &course, true)
    }

    /// Whether an operation takes longer the more there were before it.
    fn latency_over_operations(&self, tag: &str) -> Option<Drawing> {
        let course = |it: &PhaseLatency| -> Vec<(f64, f64)> {
            let step = (it.seconds.len() as f64 / STEPS_MAX).ceil().max(1.0) as usize;
            it.seconds.iter().step_by(step).map(|it| (it.operations, it.p50_us)).collect()
        };
        let lines: Vec<_> = self.of_tag(tag).map(|it| (self.label(&it.arm), course(it))).collect();
        let mut values: Vec<f64> =
            lines.iter().flat_map(|(_, line)| line.iter().map(|(number, _)| *number)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if values.len() < 2 {
            return None;
        }
        let line =
            |(name, line): (String, Vec<(f64, f64)>)| ChartLine::new(name, between(&values, &line));
        let series = lines.into_iter().map(line).collect();
        let places =
            Places::Values { values: values.clone(), is_log: false, words: format::figure };
        let chart = Chart {
            words: OVER_ROUNDS,
            across: "operations done before".to_owned(),
            is_log: true,
            ..self.chart(
                format!("{}: median by operation number", times(tag)),
                "µs",
                places,
                series,
            )
        };
        chart.drawing()
    }

    /// A line a series over the seconds; None of a single second.
    fn course(&self, title: String, unit: &str, course: &Course, is_log: bool) -> Option<Drawing> {
        let mut seconds: Vec<u64> = course.keys().map(|(_, second)| *second).collect();
        seconds.sort_unstable();
        seconds.dedup();
        let last = *seconds.last().filter(|_| seconds.len() > 1)?;
        let step = (last as f64 / STEPS_MAX).ceil().max(1.0) as u64;
        seconds.retain(|second| second % step == 0);
        let mut names: Vec<&str> = self.palette.names().collect();
        let own = |name: &str| course.keys().any(|(series, _)| series == name);
        names.retain(|name| own(name));
        if own("") {
            names.push("");
        }
        let point = |name: &str, second: u64| {
            let steps = (second..second + step).filter_map(|at| course.get(&(name.to_owned(), at)));
            Some(Point::of(median(&steps.flatten().copied().collect::<Vec<_>>())?))
        };
        let line = |name: &&str| {
            let points = seconds.iter().map(|second| point(name, *second)).collect();
            let name = if name.is_empty() { "server" } else { name };
            ChartLine::new(name.to_owned(), points)
        };
        let series = names.iter().map(line).collect();
        let places = Places::Values {
            values: seconds.iter().map(|second| *second as f64).collect(),
            is_log: false,
            words: |second| format::trimmed(second, 1),
        };
        Chart { words: OVER_ROUNDS, is_log, ..self.chart(title, unit, places, series) }.drawing()
    }

    /// CPU and memory of the arms' processes.
    fn clients(&self) -> [Option<Drawing>; 2] {
        let samples = || {
            let all = self.report.series.clients.iter();
            all.filter(|it| clean(&it.phase) == self.phase && !it.consumer)
        };
        let (mut cores, mut memory) = (Course::new(), Course::new());
        let mut before: BTreeMap<(&str, u32), &ClientSample> = BTreeMap::new();
        let mut began: BTreeMap<u32, u64> = BTreeMap::new();
        for it in samples() {
            let began = *began.entry(it.round).or_insert(it.at_ns);
            let at = (self.label(&it.arm), it.at_ns.saturating_sub(began) / 1_000_000_000);
            let mebibytes = it.rss_bytes as f64 / f64::from(1 << 20);
            memory.entry(at.clone()).or_default().push(mebibytes);
            if let Some(last) = before.insert((&it.arm, it.round), it) {
                let (cpu, time) = (it.cpu_ns.checked_sub(last.cpu_ns), it.at_ns - last.at_ns);
                let used = cpu.filter(|_| time > 0).map(|cpu| cpu as f64 / time as f64);
                cores.entry(at).or_default().extend(used);
            }
        }
        let titles = ["CPU of the client, while arms take turns", "Memory of the client"];
        let [cpu, rss] = titles.map(str::to_owned);
        [self.course(cpu, "cores", &cores, false), self.course(rss, "MiB", &memory, false)]
    }

    fn collections(&self) -> Option<Drawing> {
        let mut course = Course::new();
        let mut rounds = 0;
        for run in self.report.runs {
            let phases = run.phases.iter().filter(|it| clean(&it.phase) == self.phase);
            for phase in phases.filter(|it| it.operations > 0) {
                rounds = rounds.max(run.round);
                let count = phase.gc_count.map(|it| 1e4 * it as f64 / phase.operations as f64);
                let at = (self.label(&run.arm), u64::from(run.round));
                course.entry(at).or_default().extend(count);
            }
        }
        let line = |name: &str| {
            let at = |round| course.get(&(name.to_owned(), u64::from(round)))?.first().copied();
            let points = (1..=rounds).map(|round| at(round).map(Point::of)).collect();
            ChartLine::new(name.to_owned(), points)
        };
        let mut series: Vec<ChartLine> = self.palette.names().map(line).collect();
        series.retain(|line| line.points.iter().any(Option::is_some));
        let places = Places::Named((1..=rounds).map(|round| round.to_string()).collect());
        let title = "Garbage collections of every round, for 10,000 operations".to_owned();
        let across = "round".to_owned();
        let chart = Chart { across, ..self.chart(title, "collections", places, series) };
        chart.drawing().filter(|_| rounds > 1)
    }

    /// Columns of the server, on the axis of the clients.
    fn server(&self) -> Vec<Option<Drawing>> {
        type Read = fn(&ServerSample, &ServerSample) -> Option<f64>;
        let columns: [(&str, &str, Read); 5] = [
            ("Operations of the server", "1/s", |a, b| rate(a, b, &["opcounters."])),
            ("Bytes to and from the server", "MB/s", |a, b| {
                Some(rate(a, b, &["network.bytesIn", "network.bytesOut"])? / 1e6)
            }),
            ("Operations that wait in the server", "operations", |_, it| {
                let queues = it.values.iter().filter(|(name, _)| name.contains("currentQueue."));
                Some(queues.map(|(_, count)| *count as f64).sum())
            }),
            ("Dirty part of the server's cache", "%", |_, it| {
                it.shares.get("cache.dirty_fraction").map(|share| share * 100.0)
            }),
            ("Disk of the server at work", "%", |_, it| {
                it.shares.get("disk.busy_fraction").map(|share| share * 100.0)
            }),
        ];
        let of_phase = |it: &&ServerSample| clean(&it.phase) == self.phase;
        let samples: Vec<&ServerSample> =
            self.report.series.server.iter().filter(of_phase).collect();
        let chart = |(title, unit, read): (&str, &str, Read)| {
            let mut course = Course::new();
            for of_round in samples.chunk_by(|a, b| a.round == b.round) {
                for pair in of_round.windows(2) {
                    let second = pair[1].at_ns.saturating_sub(of_round[0].at_ns) / 1_000_000_000;
                    course
                        .entry((String::new(), second))
                        .or_default()
                        .extend(read(pair[0], pair[1]));
                }
            }
            self.course(title.to_owned(), unit, &course, false)
        };
        columns.into_iter().map(chart).collect()
    }

    /// Where the time of an operation goes, as the tap sees it.
    fn shares(&self) -> Option<Drawing> {
        let taps = self.report.analysis.taps.iter().filter(|tap| clean(&tap.phase) == self.phase);
        let taps: Vec<_> = taps.filter(|tap| tap.driver_us_per_op.is_some()).collect();
        let part = |name: &str, values: Vec<Option<f64>>| {
            let points = values.into_iter().map(|us| us.map(Point::of)).collect();
            ChartLine::new(name.to_owned(), points)
        };
        let mut series = vec![
            part("server and wire", taps.iter().map(|tap| Some(tap.server_us_per_op)).collect()),
            part("link", taps.iter().map(|tap| Some(tap.link_us_per_op)).collect()),
            part("driver", taps.iter().map(|tap| tap.driver_us_per_op).collect()),
        ];
        series.retain(|it| it.points.iter().flatten().any(|point| point.median > 0.0));
        let places = Places::Named(taps.iter().map(|tap| self.label(&tap.arm)).collect());
        let chart = Chart {
            words: "As the tap sees it: medians of the rounds.",
            across: "arm".to_owned(),
            form: ChartForm::Bars,
            ..self.chart("Shares of the time of an operation".to_owned(), "µs", places, series)
        };
        chart.drawing()
    }
}

/// The line through `points` at each of the places: arms have their own steps, between which their
/// lines go on.
fn between(places: &[f64], points: &[(f64, f64)]) -> Vec<Option<Point>> {
    let place = |value: &f64| places.binary_search_by(|it| it.total_cmp(value)).ok();
    let mut found = vec![None; places.len()];
    for pair in points.windows(2) {
        let (Some(from), Some(to)) = (place(&pair[0].0), place(&pair[1].0)) else { continue };
        for at in from..=to {
            let way = pair[1].0 - pair[0].0;
            let part = if way > 0.0 { (places[at] - pair[0].0) / way } else { 0.0 };
            found[at] = Some(Point::of(pair[0].1 + part * (pair[1].1 - pair[0].1)));
        }
    }
    found
}

/// Name of the times of a tag.
fn times(tag: &str) -> String {
    match tag.strip_suffix(RESPONSE) {
        Some(operation) => format!("{}, response time", clean(operation)),
        None => format!("{}, service time", clean(tag)),
    }
}

/// Growth a second of all counters whose names begin so.
fn rate(from: &ServerSample, to: &ServerSample, names: &[&str]) -> Option<f64> {
    let sum = |of: &ServerSample| {
        let named = |name: &String| names.iter().any(|start| name.starts_with(start));
        let values = of.values.iter().filter(|(name, _)| named(name));
        values.map(|(_, value)| *value).sum::<i64>()
    };
    let (grown, time) = (sum(to) - sum(from), to.at_ns.saturating_sub(from.at_ns));
    (grown >= 0 && time > 0).then(|| grown as f64 * NS_PER_S / time as f64)
}
