//! The one table of a summary: the rows of all arms below the names of their phases.

use super::result_columns::{ColumnContent, ResultColumn, columns};
use super::table::{Cell, Column, Table};
use super::view;
use crate::paint::Ink;
use base::say::clean;
use base::text::short_names;
use format::MISSING;
use judge::analysis::types::{Analysis, ArmSummary, ComparisonRow, Metric, ResultRow};

/// The page that has room for bars.
const WIDE: usize = 120;
const BAR: f64 = 12.0;
/// Operations of a mix whose times are beside each other.
const BESIDE_MAX: usize = 2;
/// Columns that stay on the narrowest page: arm, throughput, change and verdict.
const KEPT: usize = 4;
const PLACE_OF_BARS: usize = 2;

/// The table for a page so wide: its last columns are left out where they do not fit.
pub fn table(analysis: &Analysis, page_width: usize) -> Table {
    let arms: Vec<&ArmSummary> = analysis.arms.iter().filter(|arm| !arm.is_aa).collect();
    let labels: Vec<String> = arms.iter().map(|arm| view::arm_label(arm)).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let names = short_names(&labels, page_width);
    let all: Vec<&ResultRow> = analysis.results.iter().collect();
    let figures = Figures(columns(&all, false, false));
    let mut table = Table { columns: figures.heads(), ..Table::default() };
    for name in view::phase_names(analysis) {
        let phase = PhaseRows::of(analysis, name, &figures);
        table.groups.push((table.rows.len(), phase.heading()));
        let rows = arms.iter().zip(&names).map(|(arm, name)| phase.row(arm, name));
        table.rows.extend(rows);
    }
    for at in (0..table.columns.len()).rev() {
        let says = |row: &Vec<Cell>| !["", MISSING].contains(&row[at].text.as_str());
        let is_kept = at <= 1 || table.rows.iter().any(says);
        let is_bar = at == PLACE_OF_BARS;
        if !is_kept || (is_bar && (page_width < WIDE || arms.len() < 2)) {
            table.remove(at);
        }
    }
    if table.width() > page_width {
        for cell in table.rows.iter_mut().flatten() {
            cell.text = cell.text.replace(", size uncertain", ", size?");
        }
    }
    while table.columns.len() > KEPT && table.width() > page_width {
        table.remove(table.columns.len() - 1);
    }
    table
}

/// The columns of figures, each in one unit for all phases.
struct Figures(Vec<ResultColumn>);

impl Figures {
    fn of(&self, metric: Metric) -> Option<&ResultColumn> {
        self.0.iter().find(|column| column.content == ColumnContent::Value(metric))
    }

    fn text(&self, metric: Metric, result: &ResultRow) -> String {
        self.of(metric).map_or(MISSING.to_owned(), |column| column.text(result))
    }

    fn heads(&self) -> Vec<Column> {
        let unit = |metric| self.of(metric).map_or("", |column| column.unit);
        let times = unit(Metric::P50);
        [
            (String::new(), false),
            ("ops/s".to_owned(), true),
            (String::new(), false),
            ("time/op vs base\n%".to_owned(), true),
            ("verdict".to_owned(), false),
            (format!("p50\n{times}"), true),
            (format!("p99\n{times}"), true),
            (format!("CPU/op\n{}", unit(Metric::CpuPerOp)), true),
            ("memory\nMiB".to_owned(), true),
        ]
        .map(|(head, is_figure)| Column { head, is_figure })
        .to_vec()
    }
}

/// One phase with what its rows share.
struct PhaseRows<'a> {
    analysis: &'a Analysis,
    name: &'a str,
    figures: &'a Figures,
    results: Vec<&'a ResultRow>,
    /// Operations whose times are shown.
    operations: Vec<&'a str>,
    /// How many there are.
    count: usize,
    /// Whether the times are those of the response, from when an operation was due.
    response: bool,
    fastest: f64,
}

impl<'a> PhaseRows<'a> {
    fn of(analysis: &'a Analysis, name: &'a str, figures: &'a Figures) -> Self {
        let results = analysis.results.iter().filter(|row| row.phase == name);
        let results: Vec<&ResultRow> = results.collect();
        let mut operations: Vec<&str> = Vec::new();
        for row in &results {
            if !operations.contains(&row.operation.as_str()) {
                operations.push(&row.operation);
            }
        }
        let count = operations.len();
        if count > BESIDE_MAX {
            let p50 = |row: &&&ResultRow| row.get(Metric::P50).unwrap_or(0.0);
            let slowest = results.iter().max_by(|a, b| p50(a).total_cmp(&p50(b)));
            operations = slowest.map(|row| row.operation.as_str()).into_iter().collect();
        }
        let rates = results.iter().filter_map(|row| row.get(Metric::Throughput));
        Self {
            analysis,
            name,
            figures,
            operations,
            count,
            response: results.iter().any(|row| row.get(Metric::ResponseP50).is_some()),
            fastest: rates.fold(0.0, f64::max),
            results,
        }
    }

    /// The name, and what a reader of its rows has to know.
    fn heading(&self) -> Vec<Cell> {
        let phase = self.analysis.phases.iter().find(|it| it.phase == self.name);
        let note = phase.and_then(|it| it.loop_note.split(';').next()).map(clean);
        let response = self.response.then(|| "response times".to_owned());
        let operations = self.operations.join("/");
        let of = match self.count {
            0 | 1 => None,
            2 => Some(format!("p50, p99 of {}", clean(&operations))),
            count => Some(format!("p50, p99 of {}, slowest of {count}", clean(&operations))),
        };
        let notes: Vec<String> =
            [note, response, of].into_iter().flatten().filter(|it| !it.is_empty()).collect();
        vec![
            Cell { text: clean(self.name), ink: Ink::Bold },
            Cell { text: notes.join(" · "), ink: Ink::Dim },
        ]
    }

    fn row(&self, arm: &ArmSummary, name: &str) -> Vec<Cell> {
        let own: Vec<&ResultRow> =
            self.results.iter().copied().filter(|row| row.arm == arm.id).collect();
        let Some(first) = own.first() else {
            let (word, ink) = self.lost(arm);
            let cells = ["", MISSING, "", "", word, MISSING, MISSING, MISSING, MISSING];
            let mut row: Vec<Cell> =
                cells.iter().map(|text| Cell { text: (*text).to_owned(), ink: Ink::Dim }).collect();
            name.clone_into(&mut row[0].text);
            row[4].ink = ink;
            return row;
        };
        let compared = view::throughput_comparison(self.analysis, self.name, &arm.id);
        let (change, verdict, ink) = match compared {
            Some(it) => (
                view::change(it).replace(" %", ""),
                view::verdict_text(it),
                Ink::of_verdict(it.verdict),
            ),
            None if view::is_baseline(self.analysis, arm) && self.compares() => {
                (String::new(), "baseline".to_owned(), Ink::Dim)
            }
            None => (String::new(), String::new(), Ink::Plain),
        };
        // The verdict says it.
        let is_void = |it: &ComparisonRow| it.level.is_none();
        let change = if compared.is_some_and(is_void) { MISSING.to_owned() } else { change };
        let [p50, p99] = if self.response {
            [Metric::ResponseP50, Metric::ResponseP99]
        } else {
            [Metric::P50, Metric::P99]
        };
        let times = |metric| {
            let of = |operation: &&str| {
                let row = own.iter().find(|row| row.operation == *operation);
                row.map_or(MISSING.to_owned(), |row| self.figures.text(metric, row))
            };
            self.operations.iter().map(of).collect::<Vec<_>>().join("/")
        };
        let figure = |metric| self.figures.text(metric, first);
        let plain = |text: String| Cell { text, ink: Ink::Plain };
        vec![
            plain(name.to_owned()),
            plain(figure(Metric::Throughput)),
            plain(self.bar(first)),
            Cell { text: change, ink },
            Cell { text: verdict, ink },
            plain(times(p50)),
            plain(times(p99)),
            plain(figure(Metric::CpuPerOp)),
            plain(figure(Metric::RssPeak)),
        ]
    }

    fn compares(&self) -> bool {
        self.analysis.comparisons.iter().any(|it| !it.is_aa)
    }

    /// Why an arm has no figures here, in a word.
    fn lost(&self, arm: &ArmSummary) -> (&'static str, Ink) {
        if self.analysis.deaths.iter().any(|it| it.arm == arm.id) {
            ("died of memory", Ink::Red)
        } else if arm.not_measured.contains_key(self.name) {
            ("not measured", Ink::Dim)
        } else if arm.failed > 0 {
            ("void", Ink::Red)
        } else {
            ("no figures", Ink::Dim)
        }
    }

    /// Throughput in blocks, those of the fastest arm fill the column.
    fn bar(&self, row: &ResultRow) -> String {
        let share = row.get(Metric::Throughput).map_or(0.0, |it| it / self.fastest);
        if share.is_finite() { "█".repeat((BAR * share).round() as usize) } else { String::new() }
    }
}
