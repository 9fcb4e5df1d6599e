//! Growth of each cost with the documents, and of each rate with the threads.

use super::SURE;
use super::parts::{self, ScaleSeries, SeriesPart};
use crate::frame::{CellSelector, Cells, EvidenceRow, Spread, StudyAnswer, StudyCell};
use stats::descriptive::Interval;
use stats::growth::{Law, VALUES_MIN, growth};
use stats::usl;

/// Operations in the order of the tables.
const OPERATIONS: [&str; 6] =
    ["insert", "update", "delete", "search_id", "search_key", "search_value"];
/// What a search by value takes longer than one by key: the reading of the collection.
const SCAN: &str = "scan";
/// Parts with more documents and one thread.
const SIZED: [ScaleSeries; 3] =
    [ScaleSeries::OneWay, ScaleSeries::Acknowledged, ScaleSeries::Remote];
/// The level of the intervals of an exponent and of the law of scaling.
const LEVEL: f64 = 0.95;

/// One size of a series: its part, its documents, and the cost in each round, seconds.
struct SizeCosts {
    part: String,
    documents: f64,
    costs: Vec<Option<f64>>,
}

/// The growth of each cost, ours and the original's.
pub fn push(cells: &mut Cells, originals: &Cells) {
    let mut grown = all_growth(cells);
    let mut known = all_growth(originals);
    known.all.iter_mut().for_each(|cell| cell.original = true);
    cells.all.append(&mut grown.all);
    cells.all.append(&mut known.all);
}

fn all_growth(from: &Cells) -> Cells {
    let mut grown = Cells::default();
    for series in SIZED {
        for arm in arms(from) {
            for operation in OPERATIONS.into_iter().chain([SCAN]) {
                let sizes = sizes(from, series, arm, operation);
                if !sizes.is_empty() {
                    push_growth(&mut grown, [series.name(), operation, arm], &sizes);
                }
            }
        }
    }
    grown
}

fn arms(cells: &Cells) -> Vec<&str> {
    let all = cells.select(&CellSelector::of(["", "insert", "", "documents"]));
    let mut arms: Vec<&str> = Vec::new();
    for cell in all {
        if !arms.contains(&cell.arm.as_str()) {
            arms.push(&cell.arm);
        }
    }
    arms
}

fn sizes(cells: &Cells, series: ScaleSeries, arm: &str, operation: &str) -> Vec<SizeCosts> {
    let of = |part: SeriesPart| {
        let part = part.name();
        let documents = cells.median([&part, "insert", arm, "documents"])?;
        let costs = |operation| costs(cells, [&part, operation, arm, "per_s"]);
        let costs = if operation == SCAN {
            let each = costs("search_value")?.into_iter().zip(costs("search_key")?);
            each.map(|(value, key)| Some(value? - key?)).collect()
        } else {
            costs(operation)?
        };
        Some(SizeCosts { part, documents, costs })
    };
    parts::all(false).into_iter().filter(|part| part.series == series).filter_map(of).collect()
}

/// Seconds an operation in each round; the original has one figure for all.
fn costs(cells: &Cells, at: [&str; 4]) -> Option<Vec<Option<f64>>> {
    let cell = cells.at(at)?;
    Some(match cell.value {
        Some(value) if cell.original => vec![Some(1.0 / value.median); VALUES_MIN],
        _ => cell.by_round.iter().map(|per_s| Some(1.0 / (*per_s)?)).collect(),
    })
}

fn push_growth(cells: &mut Cells, [series, operation, arm]: [&str; 3], sizes: &[SizeCosts]) {
    let costs = |size: &SizeCosts| size.costs.iter().flatten().copied().collect::<Vec<f64>>();
    // For the picture: multiples of the smallest size's documents and cost.
    let middle = |size| Some(Spread::over(&costs(size))?.median);
    let (least, first) = (middle(&sizes[0]), sizes[0].documents);
    for size in sizes.iter().filter(|_| operation != SCAN) {
        let at = |metric| [&size.part, operation, arm, metric];
        cells.push_plain(at("documents_times"), "times", Some(size.documents / first));
        let times = middle(size).zip(least).map(|(cost, least)| cost / least);
        cells.push_plain(at("cost_times"), "times", times);
    }
    let levels: Vec<(f64, Vec<f64>)> =
        sizes.iter().map(|size| (size.documents, costs(size))).collect();
    let found = growth(&levels);
    let at = |metric| [series, operation, arm, metric];
    let exponent = found.map(|it| Spread::interval(it.exponent, LEVEL, it.values));
    let law = found.and_then(|it| it.law).map(|it| it.name().to_owned());
    cells.push_spread(at("exponent"), "", exponent).note = law;
    let tenfold = found.map(|it| {
        let Interval { estimate, low, high } = it.exponent;
        let [estimate, low, high] = [estimate, low, high].map(|it| 100.0 * (10_f64.powf(it) - 1.0));
        Spread::interval(Interval { estimate, low, high }, LEVEL, it.values)
    });
    cells.push_spread(at("tenfold_percent"), "change_percent", tenfold);
    cells.push_plain(at("tolerance"), "", found.map(|it| it.tolerance));
    cells.push_plain(at("sizes"), "count", found.map(|it| it.sizes as f64));
}

/// Whether a search without an index is proportional: no other law is left, or that one is not.
pub fn linear_rows(cells: &Cells) -> Vec<EvidenceRow> {
    let of = CellSelector::of([ScaleSeries::OneWay.name(), SCAN, "", "exponent"]);
    let row = |cell: &StudyCell| {
        let tolerance = cells.median([&cell.part, SCAN, &cell.arm, "tolerance"])?;
        let (low, high) = cell.value?.sure(SURE)?;
        let law = cell.note.as_deref();
        let answer = match law {
            Some(law) if law == Law::Linear.name() => StudyAnswer::Yes,
            _ if low > 1.0 + tolerance || high < 1.0 - tolerance => StudyAnswer::No,
            _ => StudyAnswer::NotShown,
        };
        let words = format!("law: {}", law.unwrap_or("none named"));
        Some(EvidenceRow::of(cell, answer, words))
    };
    cells.select(&of).into_iter().filter_map(row).collect()
}

/// The law of scaling over the threads, with acknowledged writes.
pub fn push_threads(cells: &mut Cells, seed: u64) {
    let arms: Vec<String> = arms(cells).into_iter().map(str::to_owned).collect();
    for (arm, operation) in arms.iter().flat_map(|arm| OPERATIONS.map(|it| (arm, it))) {
        let level = |part: SeriesPart| {
            let cell = cells.at([&part.name(), operation, arm, "per_s"])?;
            Some((f64::from(part.threads), cell.by_round.iter().flatten().copied().collect()))
        };
        let among = |part: &SeriesPart| {
            part.series == ScaleSeries::Threads
                || part.series == ScaleSeries::Acknowledged && part.millions == 1
        };
        let levels: Vec<(f64, Vec<f64>)> =
            parts::all(false).into_iter().filter(among).filter_map(level).collect();
        let Some(found) = usl::scaling(&levels, seed) else { continue };
        let peak = found.law.peak().filter(|_| found.shows_peak());
        // Without a fall that was measured, beta is a guess (methodology 8.6).
        let beta = if peak.is_some() { "beta" } else { "beta_guess" };
        let values = levels.iter().map(|(_, values)| values.len()).sum();
        let figures = [
            ("alpha", "", found.law.alpha, found.alpha),
            (beta, "", found.law.beta, found.beta),
            ("gamma_per_s", "per_s", found.law.gamma, found.gamma),
            ("knee_threads", "count", found.knee, found.knee_interval),
        ];
        for (metric, unit, estimate, (low, high)) in figures {
            let interval = Spread::interval(Interval { estimate, low, high }, LEVEL, values);
            cells.push_spread(["threads", operation, arm, metric], unit, Some(interval));
        }
        let at = ["threads", operation, arm, "peak_threads"];
        cells.push_plain(at, "count", peak);
    }
}
