//! What makes the difference between the first version and the last: the default write concern, the
//! driver, its API; and whether the steps of 2014 come back.

use super::types::{Ratio, Row};
use super::{CONCERN, VERSIONS};
use crate::evidence::{Evidence, Shown};
use format::fixed;
use stats::descriptive::{Interval, OverRounds};

/// A change of the ratio by less is none that anybody would ask about.
pub const SMALL: f64 = 1.1;

pub fn not_shown(id: &str, question: &str, why: &str) -> Evidence {
    let (id, question) = (id.to_owned(), question.to_owned());
    Evidence { id, question, shown: Shown::NotShown, sentences: vec![why.to_owned()] }
}

/// `2.04 (1.98 to 2.11)`.
pub fn words(ratio: &OverRounds) -> String {
    let it = ratio.median;
    let few = if ratio.is_sure() { "" } else { ", too few rounds to decide" };
    format!("{} ({} to {}{few})", fixed(it.estimate, 2), fixed(it.low, 2), fixed(it.high, 2))
}

/// Each factor is measured by itself, between two arms that differ in nothing else. The quotient of
/// two other factors would have no interval, and would hide that they depend on each other.
pub fn concern(ratios: &[Ratio], versions: &[Row]) -> Evidence {
    let (id, question) = ("concern", "How much is the default write concern, how much the driver?");
    let (mut sentences, mut apart, mut sure) = (Vec::new(), false, true);
    for whole in ratios.iter().filter(|it| it.part == VERSIONS) {
        let factor = |name: &str| {
            let of = |it: &&Ratio| it.part == CONCERN && it.adapter == whole.adapter;
            ratios.iter().filter(of).find(|it| it.factor == name)?.total.as_ref()
        };
        let names = ["default_first", "default_last", "driver_unanswered", "driver_answered"];
        let [Some(at_first), Some(at_last), Some(unanswered), Some(answered)] = names.map(factor)
        else {
            continue;
        };
        let Some(total) = &whole.total else { continue };
        sure &= [total, at_first, at_last, unanswered, answered].iter().all(|it| it.is_sure());
        apart |= total.median.low > 1.0 || total.median.high < 1.0;
        let waits = |arm: &str| versions.iter().find(|it| it.arm == arm)?.acknowledged;
        let (first, last) = (&whole.first, &whole.last);
        let changed = waits(first) != waits(last);
        sentences.push(format!(
            "{last} takes {} times as long as {first} at their defaults. {}The driver is a factor \
             of {} with unanswered writes, of {} with answered ones.",
            words(total),
            if changed { "" } else { "Both have one default: all of it is the driver. " },
            words(unanswered),
            words(answered),
        ));
        sentences.push(format!(
            "To wait for answers (w:1 for w:0) is a factor of {} with {first}, of {} with {last}.",
            words(at_first),
            words(at_last)
        ));
    }
    if sentences.is_empty() {
        return not_shown(id, question, "Not both experiments have a first and a last version.");
    }
    // Where the versions take the same time there is nothing to divide.
    let shown = if apart && sure { Shown::Shown } else { Shown::NotShown };
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}

/// The newest version by its new API and by its old one: no version and no default between them.
pub fn api(ratios: &[Ratio]) -> Option<Evidence> {
    let ratio = ratios.iter().find(|it| it.factor == "api")?;
    let total = ratio.total.as_ref()?;
    let Ratio { first, last, .. } = ratio;
    let shown = match total.median {
        _ if !total.is_sure() => Shown::NotShown,
        it if it.low > SMALL => Shown::Shown,
        it if it.high <= SMALL => Shown::Refuted,
        _ => Shown::NotShown,
    };
    Some(Evidence {
        id: "api".to_owned(),
        question: "Is the driver slower by its new API, both with w:1?".to_owned(),
        shown,
        sentences: vec![format!("{last} takes {} times as long as {first}.", words(total))],
    })
}

/// The ratios to the first version, one by one: two lines may end alike and differ on the way.
pub fn original(versions: &[Row]) -> Option<Evidence> {
    let of = |row: &Row| Some((row.version.clone(), row.original_over_first?, row.over_first?));
    let all: Vec<_> = versions.iter().filter_map(of).collect();
    if all.is_empty() {
        return None;
    }
    let outside = |original: f64, it: Interval| original < it.low || original > it.high;
    let (elsewhere, alike): (Vec<_>, Vec<_>) =
        all.iter().partition(|(_, original, here)| outside(*original, here.median));
    let said = |of: &[&(String, f64, OverRounds)]| {
        let each = of.iter().map(|(version, original, here)| {
            format!("{version}: {} in 2014, {} here", fixed(*original, 2), words(here))
        });
        each.collect::<Vec<_>>().join("; ")
    };
    let ends_alike = all.last().is_some_and(|(_, original, here)| !outside(*original, here.median));
    let mut sentences = vec![format!(
        "By the total to that of the first version, {} of {} versions lie elsewhere than in 2014; \
         the intervals of the others hold its ratios.",
        elsewhere.len(),
        all.len()
    )];
    if !elsewhere.is_empty() {
        sentences.push(format!("Elsewhere: {}.", said(&elsewhere)));
        if ends_alike {
            sentences.push("The last one ends alike: that may be chance.".to_owned());
        }
    }
    if !alike.is_empty() {
        sentences.push(format!("Others: {}.", said(&alike)));
    }
    let shown = match elsewhere.is_empty() {
        _ if !all.iter().all(|(_, _, here)| here.is_sure()) => Shown::NotShown,
        true => Shown::Shown,
        false => Shown::Refuted,
    };
    Some(Evidence {
        id: "original".to_owned(),
        question: "Do the steps of 2014 come back, version by version?".to_owned(),
        shown,
        sentences,
    })
}
