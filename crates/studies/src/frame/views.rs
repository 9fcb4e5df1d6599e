//! Tables, charts and CSV: views of the cells by `study.toml`.

use std::io::Write;

use super::cell::StudyCell;
use super::cells::{Cells, figure_text, unit_text};
use super::sheet::{CellSelector, ChartSheet, ColumnSheet, Coordinate, Names, TableSheet};
use crate::table::{cell, csv};
use base::error::Result;
use format::MISSING;
use report::chart::{Chart, ChartForm, ChartLine, Places, Point};
use report::drawing::{Drawing, Role};
use report::palette::Palette;
use report::study::{Column, PhaseView, Table, TableRow};

/// The tables that have rows.
pub fn tables(sheets: &[TableSheet], cells: &Cells) -> Vec<PhaseView> {
    let views = sheets.iter().flat_map(|sheet| match sheet.each {
        None => vec![table(sheet, &sheet.name, &sheet.select, cells)],
        Some(each) => {
            let of = |name: &&str| {
                let select = sheet.select.clone().with(each, name);
                table(sheet, &sheet.name.replace("{}", name), &select, cells)
            };
            names(each, &sheet.select, cells).iter().map(of).collect()
        }
    });
    views.filter(|it| !it.table.rows.is_empty()).collect()
}

/// What was measured, by one coordinate.
fn names<'a>(each: Coordinate, select: &CellSelector, cells: &'a Cells) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for cell in cells.select(select).into_iter().filter(|it| !it.original) {
        if !names.contains(&each.of(cell)) {
            names.push(each.of(cell));
        }
    }
    names
}

fn table(sheet: &TableSheet, name: &str, select: &CellSelector, cells: &Cells) -> PhaseView {
    let columns: Vec<(&ColumnSheet, CellSelector)> =
        sheet.columns.iter().map(|it| (it, it.selector(select))).collect();
    // Cells that some column shows, and the names that distinguish their rows.
    let shown = cells.all.iter().filter(|cell| columns.iter().any(|(_, it)| it.has(cell)));
    let mut rows: Vec<&StudyCell> = Vec::new();
    for cell in shown {
        let same = |known: &&StudyCell| sheet.rows.iter().all(|it| it.of(known) == it.of(cell));
        if !rows.iter().any(same) {
            rows.push(cell);
        }
    }
    // A part that was not made has no table.
    if rows.iter().all(|row| row.original) {
        rows.clear();
    }
    let mut heads: Vec<Column> =
        sheet.rows[1..].iter().map(|it| Column::words(it.word())).collect();
    heads.extend(columns.iter().map(|(column, of)| column.head(of, cells)));
    let row = |row: &&StudyCell| {
        let names = sheet.rows.iter().map(|it| it.of(row).to_owned());
        let mut names = names.collect::<Vec<_>>().into_iter();
        let arm = names.next().unwrap_or_default();
        let at = |of: &CellSelector| {
            sheet
                .rows
                .iter()
                .fold(of.clone(), |of, coordinate| of.with(*coordinate, coordinate.of(row)))
        };
        let each = columns.iter().map(|(column, of)| column.text(row, &at(of), cells));
        TableRow { arm, cells: names.chain(each).collect() }
    };
    PhaseView {
        name: name.to_owned(),
        about: filled(sheet.abouts.get(name).unwrap_or(&sheet.about), select, cells),
        table: Table {
            caption: sheet.caption.clone(),
            columns: heads,
            rows: rows.iter().map(row).collect(),
        },
        figures: Vec::new(),
    }
}

/// Fills in the figures of the metrics in braces.
fn filled(text: &str, select: &CellSelector, cells: &Cells) -> String {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (metric, rest) = part.split_once('}').unwrap_or((part, ""));
        let of = select.clone().with(Coordinate::Metric, metric);
        let found = cells.select(&of).into_iter().find(|it| !it.original && it.value.is_some());
        let value = found.and_then(|it| Some(figure_text(&it.unit, it.value?.median)));
        filled += &value.unwrap_or_else(|| MISSING.to_owned());
        filled += rest;
    }
    filled
}

impl TableSheet {
    /// Whether a column shows the cell.
    #[cfg(test)]
    pub fn shows(&self, cell: &StudyCell) -> bool {
        self.columns.iter().any(|column| column.selector(&self.select).has(cell))
    }
}

impl ColumnSheet {
    /// The selector of the table's names and its own.
    fn selector(&self, table: &CellSelector) -> CellSelector {
        let own = |own: &Names, table: &Names| {
            if *own == Names::Any { table.clone() } else { own.clone() }
        };
        CellSelector {
            part: own(&self.part, &table.part),
            phase: own(&self.phase, &table.phase),
            arm: own(&self.arm, &table.arm),
            metric: own(&self.metric, &table.metric),
        }
    }

    fn head(&self, of: &CellSelector, cells: &Cells) -> Column {
        let unit = cells.select(of).first().map_or("", |it| unit_text(&it.unit));
        let unit = self.unit.as_deref().unwrap_or(unit);
        let column = Column::figures(&self.heading, unit);
        if self.page_only { column.page_only() } else { column }
    }

    fn text(&self, row: &StudyCell, of: &CellSelector, cells: &Cells) -> String {
        let original = self.original || row.original;
        let found = cells.all.iter().find(|it| it.original == original && of.has(it));
        let Some(found) = found else { return MISSING.to_owned() };
        if self.note {
            return found.note.clone().unwrap_or_else(|| MISSING.to_owned());
        }
        let times = self.times.unwrap_or(1.0);
        let text = |value: f64| figure_text(&found.unit, value * times);
        match (found.value, &found.note) {
            (Some(value), _) if self.median => text(value.median),
            (Some(value), _) => value.text(text),
            (None, Some(_)) => "not measured".to_owned(),
            (None, None) => MISSING.to_owned(),
        }
    }
}

/// The charts beside a table.
pub fn charts(
    sheets: &[ChartSheet],
    table: &str,
    cells: &Cells,
    palette: &Palette,
) -> Vec<Drawing> {
    let beside = sheets.iter().filter_map(|sheet| match sheet.table.as_str() {
        // A table named by a part.
        "{}" => Some(ChartSheet {
            of: sheet.of.clone().with(Coordinate::Part, table),
            title: sheet.title.replace("{}", table),
            ..sheet.clone()
        }),
        name => (name == table).then(|| sheet.clone()),
    });
    let each = beside.flat_map(|sheet| match sheet.each {
        None => vec![sheet],
        Some(each) => {
            let of = |name: &&str| ChartSheet {
                title: sheet.title.replace("{}", name),
                of: sheet.of.clone().with(each, name),
                ..sheet.clone()
            };
            names(each, &sheet.of, cells).iter().map(of).collect()
        }
    });
    each.filter_map(|sheet| chart(&sheet, cells, palette)).collect()
}

fn chart(sheet: &ChartSheet, cells: &Cells, palette: &Palette) -> Option<Drawing> {
    let of = cells.select(&sheet.of);
    let mut phases: Vec<&str> = Vec::new();
    for cell in of.iter().filter(|_| sheet.against.is_empty()) {
        if !phases.contains(&cell.phase.as_str()) {
            phases.push(&cell.phase);
        }
    }
    let x = |cell: &StudyCell| match phases.iter().position(|phase| *phase == cell.phase) {
        Some(at) => Some(at as f64),
        None => cells.median([&cell.part, &cell.phase, &cell.arm, &sheet.against]),
    };
    let points: Vec<(f64, &StudyCell)> = of
        .into_iter()
        .filter_map(|cell| Some((x(cell)?, cell)))
        .filter(|(_, cell)| cell.value.is_some())
        .collect();
    let mut places: Vec<f64> = points.iter().map(|(x, _)| *x).collect();
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    let line = |arm: &str| {
        let at = |place: &f64| {
            let found =
                points.iter().find(|(x, cell)| x.total_cmp(place).is_eq() && cell.arm == arm)?;
            let value = found.1.value?;
            Some(Point { median: value.median, interval: value.low.zip(value.high) })
        };
        ChartLine::new(arm.to_owned(), places.iter().map(at).collect())
    };
    let mut arms: Vec<&str> = Vec::new();
    for (_, cell) in &points {
        if !arms.contains(&cell.arm.as_str()) {
            arms.push(&cell.arm);
        }
    }
    let unit = points.first().map_or("", |(_, cell)| unit_text(&cell.unit)).to_owned();
    let name = |place: &f64| match phases.get(*place as usize) {
        Some(phase) => phase.replace('_', " "),
        None => format::figure(*place),
    };
    let mark = sheet.mark.and_then(|mark| places.iter().position(|place| *place >= mark));
    let steps = mark.filter(|_| places.len() > 1).map(|at| (at, Role::Grid));
    let chart = Chart {
        title: sheet.title.clone(),
        words: &sheet.words,
        caption: sheet.title.clone(),
        across: sheet.across.clone(),
        unit,
        form: if phases.is_empty() { ChartForm::Line } else { ChartForm::Dots },
        is_log: false,
        palette,
        series: arms.into_iter().map(line).collect(),
        steps: steps.into_iter().collect(),
        beside: None,
        places: Places::Named(places.iter().map(name).collect()),
    };
    chart.drawing()
}

/// A row a cell that was measured, or that the original has.
pub fn cells_csv(cells: &[StudyCell], out: &mut dyn Write) -> Result<Vec<String>> {
    let head = [
        "part", "phase", "arm", "metric", "unit", "median", "low", "high", "level", "rounds",
        "original",
    ];
    let row = |it: &StudyCell| {
        let value = it.value?;
        let names = [&it.part, &it.phase, &it.arm, &it.metric, &it.unit].map(Clone::clone);
        let ends = [Some(value.median), value.low, value.high, value.level].map(cell);
        let rest = [value.rounds.to_string(), it.original.to_string()];
        Some(names.into_iter().chain(ends).chain(rest).collect())
    };
    csv(out, &head, cells.iter().filter_map(row))
}
