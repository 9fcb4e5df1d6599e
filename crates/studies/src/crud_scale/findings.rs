//! The findings of 2010, confirmed or refuted one by one, and the questions beside them.

use super::cells::Series;
use super::rates::{ACKNOWLEDGED, ONE_WAY, arms, by_threads};
use super::types::{CrudScaleAnalysis, Growing, Rate};
use crate::evidence::{Evidence, Shown};
use format::{figure, fixed, small};
use stats::descriptive::{Interval, OverRounds};
use stats::growth::Law;

/// A cost hardly grows where ten times the documents make it less than this dearer: those that the
/// original called so grew by 2 to 10 %.
const HARDLY: f64 = 1.15;
/// Two rates are the same where the interval of their ratio lies within this factor of 1.
const SAME: f64 = 1.1;

/// One question by driver: whether it holds, and the figures.
type Answer = (Shown, String);

pub fn all(analysis: &CrudScaleAnalysis) -> Vec<Evidence> {
    let arms = arms(&analysis.rates);
    let on = |id: &str, question: &str, answer: &dyn Fn(&str) -> Option<Answer>| {
        let answers = arms
            .iter()
            .filter_map(|arm| answer(arm).map(|(shown, words)| (shown, format!("{arm}: {words}"))));
        evidence(id, question, answers.collect())
    };
    let growth = |arm: &str, operation: &str| {
        let same = |it: &&Growing| {
            it.series == Series::OneWay && it.arm == arm && it.operation == operation
        };
        analysis.growth.iter().find(same)
    };
    let hardly = |arm: &str, operations: [&str; 2]| {
        let each = operations
            .map(|it| growth(arm, it).map(grows).map(|(shown, words)| (not(shown), words)));
        both(each.into_iter().flatten().collect())
    };
    let at_one = |series| move |it: &&Rate| it.series == series && it.millions == 1;
    let rate = |series, arm: &str, operation: &str| {
        let mut rates = analysis.rates.iter().filter(at_one(series));
        rates.find(|it| it.arm == arm && it.operation == operation)
    };
    vec![
        on("insert-grows", "2010, finding 1: do inserts slow down as documents grow?", &|arm| {
            Some(grows(growth(arm, "insert")?))
        }),
        on(
            "change-steady",
            "2010, finding 2: do updates and deletes hardly depend on the number of documents?",
            &|arm| hardly(arm, ["update", "delete"]),
        ),
        on(
            "search-steady",
            "2010, finding 3: do searches by _id and by an indexed key hardly depend on it?",
            &|arm| hardly(arm, ["search_id", "search_key"]),
        ),
        on(
            "scan-linear",
            "2010, finding 4: does a search by a value without an index cost in proportion to it?",
            &|arm| Some(linear(growth(arm, "scan")?)),
        ),
        on(
            "link",
            "2010, finding 5: do one-way writes lose nothing over 100 Mbit/s, and searches most?",
            &|arm| {
                let of = |operation| {
                    let local = rate(Series::OneWay, arm, operation)?;
                    ratio(rate(Series::Remote, arm, operation)?.per_s, local.per_s)
                };
                Some(link(of("insert")?, of("search_id")?))
            },
        ),
        on(
            "threads",
            "2010, finding 6: did more threads not improve performance at all?",
            &|arm| {
                let each = |way, operations: &[&str]| {
                    let of = |it: &&str| threads(it, &by_threads(&analysis.rates, way, arm, it));
                    both(operations.iter().filter_map(of).collect())
                };
                let operations = ["insert", "update", "delete", "search_id", "search_key"];
                let (shown, words) = each(ONE_WAY, &operations)?;
                let beside = each(ACKNOWLEDGED, &operations[..3]);
                let beside = beside.map(|(_, words)| format!(" Acknowledged: {words}"));
                Some((shown, words + &beside.unwrap_or_default()))
            },
        ),
        on(
            "objectid",
            "2010: `handling _id oneself is not recommended`: is a GUID dearer than an ObjectId?",
            &|arm| {
                let of = |series| {
                    let mut rates = analysis.rates.iter().filter(move |it| it.series == series);
                    rates.find(|it| it.arm == arm && it.operation == "insert" && it.millions == 10)
                };
                let ratio = ratio(of(Series::ObjectId)?.per_s, of(Series::Acknowledged)?.per_s)?;
                let shown = faster(ratio);
                let documents = format::count(of(Series::ObjectId)?.documents);
                let words =
                    "times as many acknowledged inserts a second with ObjectIds as with GUIDs";
                Some((shown, format!("{} {words}, of {documents} documents.", times(ratio))))
            },
        ),
        on("acknowledged", "Are acknowledged inserts slower over 100 Mbit/s?", &|arm| {
            let local = rate(Series::Acknowledged, arm, "insert")?.per_s;
            let ratio = ratio(rate(Series::RemoteAcknowledged, arm, "insert")?.per_s, local)?;
            let words = "times as many acknowledged inserts a second as locally";
            Some((faster(inverse(ratio)), format!("{} {words}.", times(ratio))))
        }),
        waiting(analysis),
    ]
}

/// All drivers agree, or nothing is shown.
fn evidence(id: &str, question: &str, answers: Vec<Answer>) -> Evidence {
    let mut kinds: Vec<Shown> = answers.iter().map(|it| it.0).collect();
    kinds.dedup();
    let mut sentences: Vec<String> = answers.into_iter().map(|it| it.1).collect();
    let shown = match kinds[..] {
        [one] => one,
        [] => {
            sentences.push("Not shown: what it needs was not measured.".to_owned());
            Shown::NotShown
        }
        _ => {
            sentences.insert(0, "Not shown: the drivers differ.".to_owned());
            Shown::NotShown
        }
    };
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}

/// Several operations that a finding names together: one that fails refutes it.
fn both(answers: Vec<Answer>) -> Option<Answer> {
    let shown = |kind| answers.iter().any(|it| it.0 == kind);
    let shown = if shown(Shown::Refuted) {
        Shown::Refuted
    } else if shown(Shown::NotShown) || answers.is_empty() {
        Shown::NotShown
    } else {
        Shown::Shown
    };
    let words: Vec<String> = answers.into_iter().map(|it| it.1).collect();
    (!words.is_empty()).then(|| (shown, words.join(" ")))
}

/// Whether a cost grows by more than a little with the documents.
fn grows(of: &Growing) -> Answer {
    let Some(growth) = of.growth else { return too_few(of) };
    let hardly = HARDLY.log10();
    let shown = match growth.exponent {
        it if it.low > hardly => Shown::Shown,
        it if it.high <= hardly => Shown::Refuted,
        _ => Shown::NotShown,
    };
    let percent = |exponent: f64| format::signed(100.0 * (10_f64.powf(exponent) - 1.0), 0);
    let Interval { estimate, low, high } = growth.exponent;
    let words = format!(
        "{}: ten times the documents change its cost by {} % (95 % interval {} to {} %, {} sizes, \
         {} values){}.",
        of.operation,
        percent(estimate),
        percent(low),
        percent(high),
        growth.sizes,
        growth.values,
        of.exponent_2010.map_or(String::new(), |it| format!("; 2010: {} %", percent(it))),
    );
    (shown, words)
}

fn linear(of: &Growing) -> Answer {
    let Some(growth) = of.growth else { return too_few(of) };
    let Interval { estimate, low, high } = growth.exponent;
    let shown = match growth.law {
        Some(Law::Linear) => Shown::Shown,
        _ if low > 1.0 + growth.tolerance || high < 1.0 - growth.tolerance => Shown::Refuted,
        _ => Shown::NotShown,
    };
    let law = growth.law.map_or("none named".to_owned(), |it| it.name().to_owned());
    let words = format!(
        "the reading of the collection grows with exponent {} (95 % interval {} to {}, {} sizes, \
         {} values; law: {law}){}.",
        fixed(estimate, 2),
        fixed(low, 2),
        fixed(high, 2),
        growth.sizes,
        growth.values,
        of.exponent_2010.map_or(String::new(), |it| format!("; 2010: {}", fixed(it, 2))),
    );
    (shown, words)
}

fn too_few(of: &Growing) -> Answer {
    (Shown::NotShown, format!("{}: too few sizes or rounds for an exponent.", of.operation))
}

/// The contrary.
fn not(shown: Shown) -> Shown {
    match shown {
        Shown::Shown => Shown::Refuted,
        Shown::Refuted => Shown::Shown,
        Shown::NotShown => Shown::NotShown,
    }
}

/// Two medians over rounds, and whether both have rounds enough to decide on.
#[derive(Clone, Copy)]
struct Ratio {
    between: Interval,
    is_sure: bool,
}

fn ratio(of: Option<OverRounds>, base: Option<OverRounds>) -> Option<Ratio> {
    let (of, base) = (of?, base?);
    Some(Ratio { between: of.over(base)?, is_sure: of.is_sure() && base.is_sure() })
}

fn times(Ratio { between, is_sure }: Ratio) -> String {
    let [estimate, low, high] = [between.estimate, between.low, between.high].map(small);
    let few = if is_sure { "" } else { ", too few rounds to decide" };
    format!("{estimate} ({low} to {high}{few})")
}

/// Whether a rate is higher by more than a little.
fn faster(ratio: Ratio) -> Shown {
    match ratio.between {
        _ if !ratio.is_sure => Shown::NotShown,
        it if it.low > SAME => Shown::Shown,
        it if it.high <= SAME => Shown::Refuted,
        _ => Shown::NotShown,
    }
}

fn inverse(ratio: Ratio) -> Ratio {
    let Interval { estimate, low, high } = ratio.between;
    let between = Interval { estimate: 1.0 / estimate, low: 1.0 / high, high: 1.0 / low };
    Ratio { between, ..ratio }
}

fn link(insert: Ratio, search: Ratio) -> Answer {
    let words = format!(
        "over the link one-way inserts have {} times the local rate (2010: 0.98), searches by _id \
         {} times (2010: 0.18).",
        times(insert),
        times(search),
    );
    let is_sure = insert.is_sure && search.is_sure;
    let (insert, search) = (insert.between, search.between);
    let shown = if is_sure && insert.low >= 1.0 / SAME && search.high < 0.5 {
        Shown::Shown
    } else if is_sure && (insert.high < 1.0 / SAME || search.low > 0.5) {
        Shown::Refuted
    } else {
        Shown::NotShown
    };
    (shown, words)
}

/// Whether more threads leave the wall-clock rate of one operation as it is.
fn threads(operation: &str, rates: &[&Rate]) -> Option<Answer> {
    let one = rates.iter().find(|it| it.threads == 1)?;
    let median = |it: &&&Rate| it.per_s.map_or(0.0, |it| it.median.estimate);
    let more = rates.iter().filter(|it| it.threads > 1);
    let best = more.max_by(|a, b| median(a).total_cmp(&median(b)))?;
    let ratio = ratio(best.per_s, one.per_s)?;
    let words = format!(
        "{operation}: {} threads do {} times the operations of one a second; by the original's \
         formula the rate goes from {} to {}/s.",
        best.threads,
        times(ratio),
        figure(one.per_thread_s?.median.estimate),
        figure(best.per_thread_s?.median.estimate),
    );
    Some((not(faster(ratio)), words))
}

/// Whether not waiting changes what the searches behind one-way inserts take or find.
fn waiting(analysis: &CrudScaleAnalysis) -> Evidence {
    let question = "Does it change the searches not to wait for the one-way inserts before them?";
    let answers = analysis.unwaited.iter().filter_map(|it| {
        let ratio = ratio(it.search_us, it.waited_search_us)?;
        let shown = if it.missed > 0 { Shown::Shown } else { faster(ratio) };
        let words = format!(
            "{}: {} of {} searches missed their document; a search takes {} times as long as one \
             after the wait.",
            it.arm,
            format::count(it.missed),
            format::count(it.searches),
            times(ratio),
        );
        Some((shown, words))
    });
    evidence("unwaited", question, answers.collect())
}
