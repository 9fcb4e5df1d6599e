//! Rules of the questions that no band answers: an arm has a course over its rounds, and most arms
//! have to agree (methodology 8.8).

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::message_cells::{FLAT, POOL_OPTION, SINCE_INTENDED};
use crate::frame::{Cells, EvidenceRow, Spread, StudyAnswer, StudyCell, words_text};
use StudyAnswer::{No, NotShown, Yes};
use stats::descriptive::median;

const AWAITED: &str = "awaited";
const BURST: &str = "burst";
const THINK: &str = "think";

/// So many rounds of an arm, or arms of a phase, agree: four of five.
const AGREEING: f64 = 0.8;
/// Least level of an interval over rounds that anything rests on: five rounds have 0.9375.
const LEVEL_MIN: f64 = 0.9;
/// Tolerance between the measured slope and the predicted one. Both come from the same times, but
/// one from block medians and the other from the ends.
const SLOPE_TOLERANCE: f64 = 0.1;
/// Whoever makes messages so much faster than they are received has a queue somewhere.
const OUTPACES: f64 = 1.2;
/// Rounds of either kind, without which nothing is said.
const ROUNDS_MIN: usize = 3;
/// One part has so much of the growth, or none is named.
const SHARE_MIN: f64 = 0.8;
/// Parts of a message's way once it was made. In a burst the program's is the wait to be made.
const WAYS: [&str; 4] = ["driver", "wire", "server", "consumer"];
/// `halves`: the rate with the pause lies between these parts of the rate without.
const HALVED: std::ops::RangeInclusive<f64> = 0.3..=0.7;
/// Latency is left alone: it changes by less than this, either way.
const ALONE: f64 = 0.25;

/// The rounds of an arm taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    Flat,
    Grows,
    /// They do not agree, or have no class.
    Mixed,
}

/// Cells of one arm in one phase.
#[derive(Clone, Copy)]
pub struct ArmMessages<'a> {
    cells: &'a Cells,
    curve: &'a StudyCell,
}

impl<'a> ArmMessages<'a> {
    /// Every arm with a round, in one phase or in all.
    pub fn all(cells: &'a Cells, phase: Option<&str>) -> Vec<Self> {
        let has = |it: &&StudyCell| {
            it.metric == "curve"
                && it.by_round.iter().any(Option::is_some)
                && phase.is_none_or(|phase| phase == it.phase)
        };
        cells.all.iter().filter(has).map(|curve| Self { cells, curve }).collect()
    }

    fn arm(&self) -> &'a str {
        &self.curve.arm
    }

    fn cell(&self, metric: &str) -> Option<&'a StudyCell> {
        self.cells.at([&self.curve.part, &self.curve.phase, &self.curve.arm, metric])
    }

    fn spread(&self, metric: &str) -> Option<Spread> {
        self.cell(metric)?.value
    }

    fn by_round(&self, metric: &str) -> &'a [Option<f64>] {
        self.cell(metric).map_or(&[], |it| &it.by_round)
    }

    fn text(&self, metric: &str) -> String {
        let cell = self.cell(metric).and_then(|it| Some((it, it.value?)));
        cell.map_or("?".to_owned(), |(it, value)| value.text(|value| words_text(&it.unit, value)))
    }

    /// Whether latency grew in a round by more than is worth a word, whatever the shape; None
    /// without a curve.
    fn grew(&self, since: &str) -> Vec<Option<bool>> {
        let of = |metric: &str| self.by_round(&format!("{since}{metric}"));
        let (low, threshold) = (of("growth_low_us"), of("threshold_us"));
        let grew = |(at, class): (usize, &Option<f64>)| {
            let at = |of: &[Option<f64>]| of.get(at).copied().flatten();
            class.map(|_| at(low).zip(at(threshold)).is_some_and(|(low, least)| low > least))
        };
        of("curve").iter().enumerate().map(grew).collect()
    }

    /// The course of most rounds. Where single rounds are too short to show a level, that of the
    /// growth over all. None without rounds.
    pub fn course(&self, since: &str) -> Option<Course> {
        let classes = self.by_round(&format!("{since}curve"));
        let rounds = classes.iter().flatten().count();
        let most = |count: usize| count as f64 >= AGREEING * rounds as f64;
        let flat = classes.iter().flatten().filter(|it| **it as usize == FLAT).count();
        let grew = self.grew(since).into_iter().flatten().filter(|it| *it).count();
        (rounds > 0).then(|| match () {
            () if most(flat) || self.is_level(since, rounds) => Course::Flat,
            () if most(grew) => Course::Grows,
            () => Course::Mixed,
        })
    }

    /// Whether the median growth over the rounds is too small to be worth a word, either way.
    fn is_level(&self, since: &str, rounds: usize) -> bool {
        let of = |metric: &str| {
            self.by_round(&format!("{since}{metric}")).iter().flatten().copied().collect::<Vec<_>>()
        };
        let growths = of("growth_us");
        let ends = Spread::over(&growths).and_then(|it| it.sure(LEVEL_MIN));
        let within = ends.zip(median(&of("threshold_us")));
        growths.len() == rounds
            && within.is_some_and(|((low, high), limit)| low >= -limit && high <= limit)
    }

    fn row(&self, metric: &str, answer: StudyAnswer, words: String) -> EvidenceRow {
        EvidenceRow::of(self.cell(metric).unwrap_or(self.curve), answer, words)
    }

    /// Growth and classes, and the reasons where the course is not the usual one.
    fn of_course(&self, since: &str, usual: Course) -> Option<EvidenceRow> {
        let course = self.course(since)?;
        let note = |metric: &str| self.cell(&format!("{since}{metric}"))?.note.clone();
        let mut words = note("curve").unwrap_or_default();
        if let Some(reasons) = note("growth_us").filter(|_| course != usual) {
            words = format!("{words} ({reasons})");
        }
        let answer = match course {
            Course::Mixed => NotShown,
            _ if course == usual => Yes,
            _ => No,
        };
        Some(self.row(&format!("{since}growth_us"), answer, words))
    }
}

pub fn rows(id: &str, cells: &Cells) -> Vec<EvidenceRow> {
    let burst = || ArmMessages::all(cells, Some(BURST));
    let of_course = |arms: Vec<ArmMessages<'_>>, since, usual| -> Vec<EvidenceRow> {
        arms.iter().filter_map(|it| it.of_course(since, usual)).collect()
    };
    let mut growing = burst();
    growing.retain(|it| it.course("") == Some(Course::Grows));
    // One arm is no comparison.
    let several = |rows: Vec<EvidenceRow>| if rows.len() < 2 { Vec::new() } else { rows };
    match id {
        "answer" => answer_rows(cells),
        AWAITED | "rate" => several(of_course(ArmMessages::all(cells, Some(id)), "", Course::Flat)),
        BURST => several(of_course(burst(), SINCE_INTENDED, Course::Grows)),
        "replay" => {
            let mut all = ArmMessages::all(cells, None);
            all.retain(|it| it.cell("as_original").is_some());
            of_course(all, "", Course::Grows)
        }
        "slope" => growing.iter().filter_map(slope_row).collect(),
        "where" => growing.iter().filter_map(where_row).collect(),
        "keeps_pace" => pace_rows(&burst()),
        "pool" => varied(&burst(), POOL_OPTION),
        "processes" => varied(&burst(), "processes"),
        THINK => think_rows(cells),
        _ => Vec::new(),
    }
}

/// The answer of most arms, where the arms need not agree.
pub fn answer(id: &str, rows: &[EvidenceRow]) -> Option<StudyAnswer> {
    let count = |answer| rows.iter().filter(|row| row.answer == answer).count();
    let (yes, no, all) = (count(Yes), count(No), rows.len());
    let (is_yes, is_no) = match id {
        "answer" => (yes == all, false),
        // A row without a course spoils nothing, as long as half of them have the usual one.
        AWAITED | "rate" | BURST => (no == 0 && yes * 2 >= all, no > 0),
        "replay" => (no > 0 && no < all, no == all),
        "slope" => (yes as f64 >= AGREEING * all as f64, yes == 0),
        "pool" | "processes" => (yes == all, yes == 0 && no > 0),
        _ => return None,
    };
    Some(if is_yes {
        Yes
    } else if is_no {
        No
    } else {
        NotShown
    })
}

/// The growth is a queue that the program makes where it follows the pacing: no arm grows that
/// awaits, and every arm that issues all at once.
fn answer_rows(cells: &Cells) -> Vec<EvidenceRow> {
    let asked = [AWAITED, BURST, "keeps_pace", "slope", "where"];
    if asked.iter().all(|id| rows(id, cells).is_empty()) {
        return Vec::new();
    }
    let leg = |(id, arm, words): (&str, &str, &str)| EvidenceRow {
        part: String::new(),
        phase: String::new(),
        arm: arm.to_owned(),
        unit: String::new(),
        value: None,
        answer: match answer(id, &rows(id, cells)) {
            Some(Yes) if !rows(id, cells).is_empty() => Yes,
            _ => NotShown,
        },
        words: words.to_owned(),
        original: false,
    };
    let legs = [
        (AWAITED, "drivers that await", "each insert awaits the one before it, and nothing waits"),
        (BURST, "drivers in a burst", "everything is issued at once, and latency grows"),
    ];
    legs.into_iter().map(leg).collect()
}

/// Is the growth that of one saturated queue?
fn slope_row(it: &ArmMessages<'_>) -> Option<EvidenceRow> {
    let (measured, predicted) = (it.spread("slope_us")?, it.spread("slope_predicted_us")?);
    let near = (measured.median / predicted.median - 1.0).abs() <= SLOPE_TOLERANCE;
    let ends = measured.sure(0.0).zip(predicted.sure(0.0));
    let meet = ends.is_some_and(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
    let words = format!(
        "{} predicted from {} made and {} received",
        it.text("slope_predicted_us"),
        it.text("made_per_s"),
        it.text("received_per_s"),
    );
    Some(it.row("slope_us", if near || meet { Yes } else { No }, words))
}

/// The part that grew most, where all together grew by more than is no growth in other rounds.
fn where_row(it: &ArmMessages<'_>) -> Option<EvidenceRow> {
    let at = |name: &str, end| Some(it.spread(&format!("{name}_{end}_us"))?.median);
    let part = |name: &&'static str| Some((*name, at(name, "first")?, at(name, "last")?));
    let parts: Vec<(&str, f64, f64)> = WAYS.iter().filter_map(part).collect();
    let grown: f64 = parts.iter().map(|(_, first, last)| (last - first).max(0.0)).sum();
    let (name, first, last) = *parts.iter().max_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)))?;
    let least = it.by_round("threshold_us").iter().flatten().copied().fold(f64::INFINITY, f64::min);
    if grown <= least {
        let words = "through the tap it did not grow".to_owned();
        return Some(EvidenceRow { value: None, ..it.row("curve", NotShown, words) });
    }
    let share = (last - first) / grown;
    let [first, last] = [first, last].map(|us| words_text("us", us));
    let words = format!(
        "of the growth is in the {name}, where a message of the first tenth spends {first} and one \
         of the last {last}"
    );
    let row = it.row("curve", if share >= SHARE_MIN { Yes } else { NotShown }, words);
    let value = Some(Spread::plain(share * 100.0));
    Some(EvidenceRow { unit: "percent".to_owned(), value, ..row })
}

/// Does an arm stay flat that makes messages no faster than they are taken? Asked of each round: a
/// driver may keep pace in one and not in the next.
fn pace_rows(arms: &[ArmMessages<'_>]) -> Vec<EvidenceRow> {
    let rounds = |it: &ArmMessages<'_>| -> Vec<(f64, bool)> {
        let each = it.by_round("made_per_s").iter().zip(it.by_round("received_per_s"));
        let each = each.zip(it.grew(""));
        each.filter_map(|((made, received), grew)| Some(((*made)? / (*received)?, grew?))).collect()
    };
    let outpaces = |(ratio, _): &(f64, bool)| *ratio >= OUTPACES;
    let all: Vec<(f64, bool)> = arms.iter().flat_map(rounds).collect();
    let (faster, even): (Vec<_>, Vec<_>) = all.into_iter().partition(outpaces);
    if faster.is_empty() && even.is_empty() {
        return Vec::new();
    }
    let enough = even.len() >= ROUNDS_MIN && faster.len() >= ROUNDS_MIN;
    // Arms that keep pace now and then explain why they do not grow every time.
    let mut keepers = Vec::new();
    for it in arms.iter().filter(|it| !rounds(it).iter().all(outpaces)) {
        let each = rounds(it).into_iter().map(|(ratio, grew)| {
            let course = if grew { "grows" } else { "does not grow" };
            format!("{} times {course}", format::fixed(ratio, 2))
        });
        keepers.push(format!(
            "{}, round by round: {}",
            it.arm(),
            each.collect::<Vec<_>>().join(", ")
        ));
    }
    let row = |name: &str, of: &[(f64, bool)], wanted: fn(f64) -> bool, more: &[String]| {
        let grew = of.iter().filter(|(_, grew)| *grew).count();
        let share = grew as f64 / of.len().max(1) as f64;
        let words = format!("latency grows in {grew} of {} rounds", of.len());
        let answer = match () {
            () if !enough => NotShown,
            () if wanted(share) => Yes,
            () => No,
        };
        EvidenceRow {
            part: String::new(),
            phase: String::new(),
            arm: format!("messages {name}"),
            unit: "percent".to_owned(),
            value: (!of.is_empty()).then(|| Spread::plain(share * 100.0)),
            answer,
            words: [&[words], more].concat().join("; "),
            original: false,
        }
    };
    let fast = format!("made at least {OUTPACES} times as fast as received");
    vec![
        row(&fast, &faster, |share| share >= AGREEING, &[]),
        row("made no faster", &even, |share| share <= 1.0 - AGREEING, &keepers),
    ]
}

/// Compares arms that differ in one option alone: does the largest value end the growth?
fn varied(arms: &[ArmMessages<'_>], option: &str) -> Vec<EvidenceRow> {
    let mut groups: BTreeMap<String, Vec<(u32, ArmMessages<'_>)>> = BTreeMap::new();
    for it in arms {
        let (rest, value) = without(it.arm(), option);
        groups.entry(rest).or_default().push((value, *it));
    }
    let (mut rows, mut level) = (Vec::new(), Vec::new());
    for mut group in groups.into_values().filter(|group| group.len() > 1) {
        group.sort_by_key(|(value, _)| *value);
        let each = group.iter().map(|(_, it)| {
            let classes = it.curve.note.as_deref().unwrap_or_default();
            format!("{}: {classes}, {} a message", it.arm(), it.text("slope_us"))
        });
        let words = each.collect::<Vec<_>>().join("; ");
        let (first, last) = (group[0].1, group[group.len() - 1].1);
        let answer = match (first.course(""), last.course("")) {
            (Some(Course::Grows), Some(Course::Flat)) => Yes,
            (Some(Course::Grows), Some(Course::Grows)) => No,
            _ => NotShown,
        };
        let grows = first.course("") == Some(Course::Grows);
        let of = if grows { &mut rows } else { &mut level };
        of.push(last.row("slope_us", answer, words));
    }
    // Where the smallest does not grow there is nothing to end.
    if rows.is_empty() { level } else { rows }
}

/// An arm's name without an option, and the option's value; 0 where it has its default.
fn without(arm: &str, option: &str) -> (String, u32) {
    let mut value = 0;
    let of = |segment: &&str| segment.strip_prefix(option)?.strip_prefix('=')?.parse().ok();
    let kept = arm.split('/').filter(|segment| of(segment).map(|it| value = it).is_none());
    (kept.collect::<Vec<_>>().join("/"), value)
}

/// The pause after each message: does it take the rate and leave latency alone? Where the original
/// slept, its own program is the question.
fn think_rows(cells: &Cells) -> Vec<EvidenceRow> {
    let awaited = ArmMessages::all(cells, Some(AWAITED));
    let mut paused = ArmMessages::all(cells, Some(THINK));
    paused.retain(|with| awaited.iter().any(|it| it.arm() == with.arm()));
    if paused.iter().any(|it| it.cell("as_original").is_some()) {
        paused.retain(|it| it.cell("as_original").is_some());
    }
    let row = |with: &ArmMessages<'_>| {
        let without = awaited.iter().find(|it| it.arm() == with.arm())?;
        let both = |metric| Some((with.spread(metric)?.median, without.spread(metric)?.median));
        let ((slow, fast), (later, sooner)) = (both("received_per_s")?, both("latency_p50_us")?);
        let (rate, latency) = (slow / fast, later / sooner);
        let answer = HALVED.contains(&rate) && (latency - 1.0).abs() < ALONE;
        let added_us = 1e6 / slow - 1e6 / fast;
        let words = format!(
            "{} messages with the pause, {} without; median latency {} with it, {} without ({} \
             times); the pause adds {} to a message that takes {}",
            with.text("received_per_s"),
            without.text("received_per_s"),
            with.text("latency_p50_us"),
            without.text("latency_p50_us"),
            format::fixed(latency, 2),
            words_text("us", added_us),
            words_text("us", 1e6 / fast),
        );
        let row = with.row("received_per_s", if answer { Yes } else { No }, words);
        Some(EvidenceRow { unit: "times".to_owned(), value: Some(Spread::plain(rate)), ..row })
    };
    paused.iter().filter_map(row).collect()
}
