//! Rows of the questions whose rule is the study's own.

use super::{BOTH, CONCERN, CONNECTIONS, CREATE, GROWING, READ, REVERSE, VERSIONS, WIRE};
use crate::doubts::Doubts;
use crate::frame::{
    CellSelector, Cells, EvidenceRow, Spread, StudyAnswer, StudyCell, driver, words_text,
};
use crate::outcome::{Made, Outcome};
use StudyAnswer::{No, NotShown, Yes};
use judge::analysis::types::{Analysis, ChangeRow, Finding, Metric, SinceRow};
use judge::diagnosis::NO_CAUSE;

/// No study decides by fewer rounds (methodology 8).
const ROUNDS_MIN: u32 = 5;
/// The level of their interval.
const SURE_LEVEL: f64 = 0.9;
/// A change of the ratio by less is none that anybody would ask about.
const SMALL: f64 = 1.1;

pub fn of(id: &str, outcome: &Outcome<'_>, cells: &Cells) -> Vec<EvidenceRow> {
    match id {
        "response" => response(cells),
        "order" => against(cells, REVERSE, of_order),
        "growing" => against(cells, GROWING, of_growing),
        "connections" => connections(cells),
        "original" => original(cells),
        "concern" => concern(cells),
        "since" => outcome.part(VERSIONS).map_or(Vec::new(), since),
        "cause" => outcome.part(WIRE).map_or(Vec::new(), |made| cause(made, cells)),
        _ => Vec::new(),
    }
}

/// Measured cells that have a value.
fn measured<'a>(cells: &'a Cells, at: [&str; 4]) -> Vec<(&'a StudyCell, Spread)> {
    let all = cells.select(&CellSelector::of(at)).into_iter().filter(|cell| !cell.original);
    all.filter_map(|cell| Some((cell, cell.value?))).collect()
}

fn ratio_text(ratio: &Spread) -> String {
    let few = if ratio.sure(SURE_LEVEL).is_some() { "" } else { ", too few rounds to decide" };
    format!("{}{few}", ratio.text(|value| words_text("times", value)))
}

/// Between the last version and the first.
#[derive(Clone, Copy, PartialEq)]
enum Difference {
    Small,
    Slower,
    Faster,
}

/// Nothing where the interval leaves it open. Two experiments are compared by this, not by their
/// ratios: they were made one after the other, and a ratio moves with the machine's state.
fn difference(ratio: &Spread) -> Option<Difference> {
    match ratio.sure(SURE_LEVEL)? {
        (low, _) if low > SMALL => Some(Difference::Slower),
        (_, high) if high < 1.0 / SMALL => Some(Difference::Faster),
        (low, high) if low >= 1.0 / SMALL && high <= SMALL => Some(Difference::Small),
        _ => None,
    }
}

/// The 99th percentile of an operation of the last version to that of the first.
fn response(cells: &Cells) -> Vec<EvidenceRow> {
    let last = |phase| measured(cells, [VERSIONS, phase, "last", "over_first_p99"]);
    let row = |(cell, ratio): (&StudyCell, Spread)| {
        let answer = match difference(&ratio) {
            Some(Difference::Slower) => Yes,
            Some(_) => No,
            None => NotShown,
        };
        EvidenceRow::of(cell, answer, String::new())
    };
    [CREATE, READ].into_iter().flat_map(last).map(row).collect()
}

/// The order makes the difference where the reverse order has another one.
fn of_order(usual: Option<Difference>, reverse: Option<Difference>) -> StudyAnswer {
    match (usual, reverse) {
        (Some(usual), Some(reverse)) if usual == reverse => No,
        (Some(_), Some(_)) => Yes,
        _ => NotShown,
    }
}

/// A difference that fresh collections have does not come from one that grows.
fn of_growing(fresh: Option<Difference>, growing: Option<Difference>) -> StudyAnswer {
    match (fresh, growing) {
        (Some(Difference::Slower | Difference::Faster), _)
        | (Some(Difference::Small), Some(Difference::Small)) => No,
        (Some(Difference::Small), Some(_)) => Yes,
        _ => NotShown,
    }
}

type FactorRule = fn(Option<Difference>, Option<Difference>) -> StudyAnswer;

/// Whether `part` changes the difference between the last version and the first.
fn against(cells: &Cells, part: &str, rule: FactorRule) -> Vec<EvidenceRow> {
    let last = |phase| measured(cells, [part, phase, "last", "over_first"]);
    let row = |(cell, other): (&StudyCell, Spread)| {
        let all = measured(cells, [VERSIONS, &cell.phase, "last", "over_first"]);
        let own = all.into_iter().find(|(usual, _)| driver(&usual.arm) == driver(&cell.arm));
        let (_, usual) = own?;
        let answer = rule(difference(&usual), difference(&other));
        let words = format!("{} in {VERSIONS}", ratio_text(&usual));
        Some(EvidenceRow::of(cell, answer, words))
    };
    [BOTH, CREATE, READ].into_iter().flat_map(last).filter_map(row).collect()
}

/// Whether somebody waits or fails where the server accepts few connections.
fn connections(cells: &Cells) -> Vec<EvidenceRow> {
    let row = |(cell, peak): (&StudyCell, Spread)| {
        let of = |part, phase, metric| cells.median([part, phase, &cell.arm, metric]);
        let usual = of(VERSIONS, BOTH, "connections_peak");
        let failed = of(CONNECTIONS, BOTH, "failed").unwrap_or(0.0);
        // They are counted once a second: one or two may be missed.
        let fewer = usual.is_some_and(|usual| peak.median * 10.0 < usual * 9.0);
        let count = |value| words_text("count", value);
        let in_place =
            |value: Option<String>| value.map_or(String::new(), |it| format!(" in place of {it}"));
        let all = of(CONNECTIONS, BOTH, "operations").unwrap_or(0.0);
        let mut words =
            format!("at most {} connections{}", count(peak.median), in_place(usual.map(count)));
        let failures = match failed {
            0.0 => ", no operation failed".to_owned(),
            some => format!(", {} of {} operations failed", count(some), count(all)),
        };
        words.push_str(&failures);
        for (name, phase, metric) in [
            ("a creation takes p50", CREATE, "p50_us"),
            ("p99", CREATE, "p99_us"),
            ("a read p50", READ, "p50_us"),
            ("p99", READ, "p99_us"),
        ] {
            let us = |value| words_text("us", value);
            let usual = in_place(of(VERSIONS, phase, metric).map(us));
            let said =
                of(CONNECTIONS, phase, metric).map(|it| format!(", {name} {}{usual}", us(it)));
            words += &said.unwrap_or_default();
        }
        let answer = if failed > 0.0 || fewer { Yes } else { NotShown };
        EvidenceRow::of(cell, answer, words)
    };
    measured(cells, [CONNECTIONS, BOTH, "", "connections_peak"]).into_iter().map(row).collect()
}

/// The ratios to the first version, one by one: two lines may end alike and differ on the way.
fn original(cells: &Cells) -> Vec<EvidenceRow> {
    let all = measured(cells, [VERSIONS, BOTH, "", "over_first"]);
    let of_2014 = |cell: &StudyCell| {
        let same = |it: &&StudyCell| {
            it.original
                && it.arm == cell.arm
                && (&it.part, &it.metric) == (&cell.part, &cell.metric)
        };
        cells.all.iter().find(same)?.value.map(|it| it.median)
    };
    let all = all.into_iter().filter_map(|(cell, here)| Some((cell, here, of_2014(cell)?)));
    let all: Vec<(&StudyCell, Spread, f64)> = all.collect();
    let sure = all.iter().all(|(_, here, _)| here.sure(SURE_LEVEL).is_some());
    let row = |(cell, here, original): (&StudyCell, Spread, f64)| {
        let (low, high) = here.sure(0.0).unwrap_or((here.median, here.median));
        let (answer, words) =
            if (low..=high).contains(&original) { (Yes, "") } else { (No, ", elsewhere") };
        let words = format!("{} in 2014{words}", words_text("times", original));
        EvidenceRow::of(cell, if sure { answer } else { NotShown }, words)
    };
    all.into_iter().map(row).collect()
}

/// Each factor is measured by itself, between two arms that differ in nothing else. The quotient of
/// two other factors would have no interval, and would hide that they depend on each other.
fn concern(cells: &Cells) -> Vec<EvidenceRow> {
    let factors = [
        ("default_first", "to wait for answers (w:1 for w:0), the first version"),
        ("default_last", "to wait for answers (w:1 for w:0), the last version"),
        ("driver_unanswered", "the driver, with unanswered writes"),
        ("driver_answered", "the driver, with answered writes"),
    ];
    let of_driver = |(cell, whole): (&StudyCell, Spread)| {
        let factor = |(name, words): (&str, &'static str)| {
            let all = measured(cells, [CONCERN, BOTH, "", name]).into_iter();
            let own = |(it, _): &(&StudyCell, Spread)| driver(&it.arm) == driver(&cell.arm);
            all.filter(own).map(|(it, ratio)| (it, ratio, words)).next()
        };
        let all = factors.into_iter().map(factor).collect::<Option<Vec<_>>>()?;
        let waits = |arm: &str| cells.median([VERSIONS, BOTH, arm, "acknowledged"]);
        let first = measured(cells, [VERSIONS, BOTH, "first", "acknowledged"]).into_iter();
        let first = first.filter(|(it, _)| driver(&it.arm) == driver(&cell.arm));
        let first = first.map(|(_, waits)| waits.median).next();
        let words = if first == waits(&cell.arm) {
            "at their defaults, which are one: all of it is the driver"
        } else {
            "at their defaults"
        };
        let all: Vec<_> = [(cell, whole, words)].into_iter().chain(all).collect();
        let sure = all.iter().all(|(_, ratio, _)| ratio.sure(SURE_LEVEL).is_some());
        // Where the versions take the same time there is nothing to divide.
        let apart = whole.low.is_some_and(|low| low > 1.0) || whole.high.is_some_and(|it| it < 1.0);
        let answer = if apart && sure { Yes } else { NotShown };
        let row = |(cell, _, words): (&StudyCell, Spread, &str)| {
            EvidenceRow::of(cell, answer, words.to_owned())
        };
        Some(all.into_iter().map(row).collect::<Vec<_>>())
    };
    let last = measured(cells, [VERSIONS, BOTH, "last", "over_first"]);
    last.into_iter().filter_map(of_driver).flatten().collect()
}

fn judged(made: &Made<'_>) -> Option<Analysis> {
    // Torn lines and the like are told by the report of that experiment.
    judge::analyse(made.folder, made.experiment).ok().map(|it| it.analysis)
}

fn since(made: &Made<'_>) -> Vec<EvidenceRow> {
    let since = judged(made).map(|it| it.since).unwrap_or_default();
    let doubts = Doubts::of(made.part, made.experiment, made.runs, true);
    first_slow(&since, |phase| doubts.noise_percent(phase))
}

/// A step within what two copies of one version differ by (`noise`, percent by phase) is none.
pub fn first_slow(since: &[SinceRow], noise: impl Fn(&str) -> Option<f64>) -> Vec<EvidenceRow> {
    let row = |row: &SinceRow| {
        let within = |step: &&ChangeRow| {
            noise(&row.phase).is_some_and(|noise| step.change_percent.abs() <= noise)
        };
        let slower = row.changes.iter().find(|it| it.change_percent > 0.0 && !within(it));
        let few = row.rounds < ROUNDS_MIN;
        let mut words = vec![row.sentence.clone()];
        let small = row.changes.iter().filter(within);
        words.extend(small.map(|step| {
            format!("The step at {} is no larger than the A/A difference.", step.after)
        }));
        if few {
            words.push(format!(
                "{} rounds are too few to decide: it takes {ROUNDS_MIN}.",
                row.rounds
            ));
        }
        let answer = match slower {
            _ if few => NotShown,
            Some(_) => Yes,
            None if row.changes.iter().any(|it| within(&it)) => NotShown,
            None => No,
        };
        EvidenceRow {
            part: VERSIONS.to_owned(),
            phase: row.phase.clone(),
            arm: row.adapter.clone(),
            unit: "change_percent".to_owned(),
            value: slower.map(|it| Spread::plain(it.change_percent)),
            answer,
            words: words.join(" "),
            original: false,
        }
    };
    since.iter().filter(|row| row.metric == Metric::Throughput).map(row).collect()
}

/// The diagnosis of the experiment that went through the tap, behind the ratio that it explains.
fn cause(made: &Made<'_>, cells: &Cells) -> Vec<EvidenceRow> {
    let last = measured(cells, [WIRE, BOTH, "last", "over_first"]).into_iter();
    let words = "through the tap, of the time of the first version";
    let ratios = last.map(|(cell, _)| EvidenceRow::of(cell, NotShown, words.to_owned()));
    let finding = |it: Finding| EvidenceRow {
        part: WIRE.to_owned(),
        phase: it.phase.unwrap_or_else(|| BOTH.to_owned()),
        arm: it.arm.unwrap_or_else(|| "all".to_owned()),
        unit: String::new(),
        value: None,
        answer: if it.rule == NO_CAUSE { NotShown } else { Yes },
        words: it.sentence,
        original: false,
    };
    let found = judged(made).map(|it| it.diagnosis).unwrap_or_default();
    ratios.chain(found.into_iter().map(finding)).collect()
}
