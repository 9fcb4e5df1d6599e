//! The study's tables for every format.

use super::cells::Series;
use super::rates::{ACKNOWLEDGED, ONE_WAY, OPERATIONS, SCAN, arms, by_threads};
use super::types::{CrudScaleAnalysis, Growing, Rate, Scaling};
use format::{MISSING, figure, fixed};
use report::study::{Column, PhaseView, Table, TableRow};
use stats::descriptive::{Interval, OverRounds};

/// A row of figures of the original.
const ORIGINAL: &str = "2010";
const MEDIANS: &str = "Operations a second of the wall clock, medians over the rounds; with at \
                       least 95 % intervals from six rounds on.";

/// Tables by documents, and their names.
pub const SIZED: [(Series, &str); 3] = [
    (Series::OneWay, "Local, one-way writes: the first table of 2010"),
    (Series::Remote, "Over 100 Mbit/s, one-way writes: the second table of 2010"),
    (Series::Acknowledged, "Local, acknowledged writes"),
];

pub fn phases(analysis: &CrudScaleAnalysis) -> Vec<PhaseView> {
    let sized = SIZED.into_iter().map(|(series, name)| by_documents(analysis, series, name));
    let others = [growth(analysis), threads(analysis), scaling(analysis), beside(analysis)];
    sized.chain(others).filter(|it| !it.table.rows.is_empty()).collect()
}

fn by_documents(analysis: &CrudScaleAnalysis, series: Series, name: &str) -> PhaseView {
    let rates: Vec<&Rate> = analysis.rates.iter().filter(|it| it.series == series).collect();
    let mut sizes: Vec<(u32, u64)> = rates.iter().map(|it| (it.millions, it.documents)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut columns = vec![Column::words("operation")];
    for (_, documents) in &sizes {
        columns.push(Column::figures(&format::count(*documents), ""));
        columns.push(Column::words("interval").page_only());
    }
    let mut rows = Vec::new();
    for operation in OPERATIONS {
        let of = |it: &&Rate| it.operation == operation;
        let of: Vec<&Rate> = rates.iter().copied().filter(of).collect();
        for arm in arms(&analysis.rates) {
            let at = |millions| of.iter().find(|it| it.arm == arm && it.millions == millions);
            let each = sizes.iter().flat_map(|(millions, _)| {
                let per_s = at(*millions).and_then(|it| it.per_s);
                [median(per_s), between(per_s)]
            });
            if of.iter().any(|it| it.arm == arm) {
                rows.push(row(arm, operation, each.collect()));
            }
        }
        let original: Vec<Option<f64>> = sizes
            .iter()
            .map(|(millions, _)| super::originals::rate(series, operation, *millions))
            .collect();
        if !of.is_empty() && original.iter().any(Option::is_some) {
            let each = original
                .iter()
                .flat_map(|it| [it.map_or(MISSING.to_owned(), figure), String::new()]);
            rows.push(row(ORIGINAL, operation, each.collect()));
        }
    }
    let original = match series {
        Series::Acknowledged => "",
        _ => " Rows called 2010 are the original's, of 1 to 10 million documents.",
    };
    PhaseView {
        name: name.to_owned(),
        about: format!(
            "One thread, GUIDs; each column a collection of so many documents.{original}"
        ),
        table: Table { caption: MEDIANS.to_owned(), columns, rows },
        figures: Vec::new(),
    }
}

fn growth(analysis: &CrudScaleAnalysis) -> PhaseView {
    let row_of = |it: &Growing| {
        let exponent = it.growth.map(|it| it.exponent);
        let law = it.growth.and_then(|it| it.law).map(|it| it.name().to_owned());
        let cells = vec![
            it.series.name().to_owned(),
            exponent.map_or(MISSING.to_owned(), |it| fixed(it.estimate, 2)),
            exponent.map_or(MISSING.to_owned(), |it| range(it, 2)),
            law.unwrap_or_else(|| "not named".to_owned()),
            it.exponent_2010.map_or(MISSING.to_owned(), |it| fixed(it, 2)),
        ];
        row(&it.arm, &it.operation, cells)
    };
    PhaseView {
        name: "Growth with the documents".to_owned(),
        about: format!(
            "The exponent p of `cost = k n^p`: 0 is constant, 1 in proportion. `{SCAN}` is a \
             search by value less one by key."
        ),
        table: Table {
            caption: "Exponents over all sizes and rounds, with their 95 % intervals.".to_owned(),
            columns: vec![
                Column::words("operation"),
                Column::words("series"),
                Column::figures("p", ""),
                Column::words("95 % interval"),
                Column::words("law"),
                Column::figures("2010", ""),
            ],
            rows: analysis.growth.iter().map(row_of).collect(),
        },
        figures: Vec::new(),
    }
}

fn threads(analysis: &CrudScaleAnalysis) -> PhaseView {
    let several = |it: &&Rate| matches!(it.series, Series::Threads | Series::ThreadsOneWay);
    let mut levels: Vec<u32> = analysis.rates.iter().filter(several).map(|it| it.threads).collect();
    levels.sort_unstable();
    levels.dedup();
    if !levels.is_empty() {
        levels.insert(0, 1);
    }
    let mut columns = vec![Column::words("operation"), Column::words("by")];
    columns.extend(levels.iter().map(|it| Column::figures(&it.to_string(), "")));
    let mut rows = Vec::new();
    for operation in OPERATIONS {
        for arm in arms(&analysis.rates) {
            for (way, name) in [(ACKNOWLEDGED, ""), (ONE_WAY, ", one-way")] {
                let rates = by_threads(&analysis.rates, way, arm, operation);
                let mut add = |by: &str, of: fn(&Rate) -> Option<OverRounds>| {
                    let at = |threads: &u32| rates.iter().find(|it| it.threads == *threads);
                    let each = levels.iter().map(|it| median(at(it).and_then(|it| of(it))));
                    let cells = std::iter::once(format!("{by}{name}")).chain(each);
                    rows.push(row(arm, operation, cells.collect()));
                };
                if rates.len() > 1 {
                    add("wall clock", |it| it.per_s);
                    add("threads' times", |it| it.per_thread_s);
                }
            }
        }
    }
    PhaseView {
        name: "Threads".to_owned(),
        about: "Local, each thread with a connection of its own; columns are threads, and writes \
                acknowledged but where it says one-way. The original divided by the threads' \
                times: threads that scale perfectly leave that rate as it is."
            .to_owned(),
        table: Table {
            caption: "Operations a second, medians over the rounds.".to_owned(),
            columns,
            rows,
        },
        figures: Vec::new(),
    }
}

fn scaling(analysis: &CrudScaleAnalysis) -> PhaseView {
    let row_of = |it: &Scaling| {
        let of = |it: Interval| format!("{} ({})", fixed(it.estimate, 3), range(it, 3));
        let whole = |it: f64| fixed(it, 0);
        let cells = vec![
            of(it.alpha),
            // Without a fall that was measured, beta is a guess (methodology 8.6).
            it.peak.map_or(MISSING.to_owned(), |_| of(it.beta)),
            figure(it.gamma.estimate),
            format!(
                "{} ({} to {})",
                whole(it.knee.estimate),
                whole(it.knee.low),
                whole(it.knee.high)
            ),
            it.peak.map_or(MISSING.to_owned(), whole),
        ];
        row(&it.arm, &it.operation, cells)
    };
    PhaseView {
        name: "The law of scaling".to_owned(),
        about: "The Universal Scalability Law over the threads: contention alpha, coherency beta, \
                the rate of one thread gamma, the knee (90 % of the highest rate), and the peak \
                beyond which the rate falls."
            .to_owned(),
        table: Table {
            caption: "With 95 % intervals; n/a: not measured so far.".to_owned(),
            columns: vec![
                Column::words("operation"),
                Column::words("alpha"),
                Column::words("beta"),
                Column::figures("gamma", "operations a second"),
                Column::words("knee"),
                Column::figures("peak", "threads"),
            ],
            rows: analysis.scaling.iter().map(row_of).collect(),
        },
        figures: Vec::new(),
    }
}

/// Parts beside the sweeps, each with that from which it differs in one thing.
fn beside(analysis: &CrudScaleAnalysis) -> PhaseView {
    let pairs = [
        (Series::ObjectId, Series::Acknowledged),
        (Series::RemoteAcknowledged, Series::Acknowledged),
    ];
    let mut rows = Vec::new();
    for (series, base) in pairs {
        for rate in analysis.rates.iter().filter(|it| it.series == series) {
            let same = |it: &&Rate| {
                it.series == base
                    && it.millions == rate.millions
                    && it.arm == rate.arm
                    && it.operation == rate.operation
            };
            let base = analysis.rates.iter().find(same);
            let base_per_s = base.and_then(|it| it.per_s);
            let cells = vec![
                rate.part.clone(),
                median(rate.per_s),
                between(rate.per_s),
                base.map_or(MISSING.to_owned(), |it| it.part.clone()),
                median(base_per_s),
                between(base_per_s),
            ];
            rows.push(row(&rate.arm, &rate.operation, cells));
        }
    }
    let page = |it: Column| it.page_only();
    PhaseView {
        name: "ObjectIds, and acknowledged writes over the link".to_owned(),
        about: "Each part beside the one from which it differs in one thing.".to_owned(),
        table: Table {
            caption: MEDIANS.to_owned(),
            columns: vec![
                Column::words("operation"),
                Column::words("part"),
                Column::figures("rate", ""),
                page(Column::words("interval")),
                Column::words("beside"),
                Column::figures("its rate", ""),
                page(Column::words("interval")),
            ],
            rows,
        },
        figures: Vec::new(),
    }
}

fn row(arm: &str, operation: &str, cells: Vec<String>) -> TableRow {
    let cells = std::iter::once(operation.to_owned()).chain(cells).collect();
    TableRow { arm: arm.to_owned(), cells }
}

fn median(of: Option<OverRounds>) -> String {
    of.map_or(MISSING.to_owned(), |it| figure(it.median.estimate))
}

fn between(of: Option<OverRounds>) -> String {
    of.map_or(MISSING.to_owned(), |it| {
        format!("{} to {}", figure(it.median.low), figure(it.median.high))
    })
}

fn range(of: Interval, decimals: usize) -> String {
    format!("{} to {}", fixed(of.low, decimals), fixed(of.high, decimals))
}
