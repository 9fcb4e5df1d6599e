//! The tables in sentences.

use super::finding::evidence;
use super::parts::{
    BY_CONCERN, BY_COUNT, BY_HOSTS, BY_MEMBERS, BY_NAMES, BY_THREADS, CONCERNS, FORMS,
    NAME_LENGTHS, OVER_CACHE, OVER_MEMORY, THREADS,
};
use super::types::Load;
use super::{cliff, hosts, mongos};
use crate::evidence::{Evidence, Shown};
use format::{change, count, figure};
use stats::descriptive::{OverRounds, over_rounds};
use stats::ratio::{log_ratios, percent};
use stats::threshold::Quantity;

/// Level below which nothing is shown.
const LEVEL_MIN: f64 = 0.95;
/// A difference of a rate that nobody would act on, percent.
const PRACTICAL_PERCENT: f64 = 5.0;
/// Fields of the documents of the workload bulk-names, beside `_id`.
const NAMED_FIELDS: u32 = 19;
const ID_NAME: u32 = 3;
/// Documents of one call to a host.
const BATCH: u64 = 1_000;

/// Every finding, in the order of the parts.
pub fn all(loads: &[Load]) -> Vec<Evidence> {
    let loads = Loads(loads);
    let faster = |id: &str, question: &str, part: &str, base: &str, others: &[String]| {
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        loads.compared(id, question, part, base, &others)
    };
    let named = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let threads: Vec<String> = THREADS[1..].iter().map(|it| format!("threads_{it}")).collect();
    let large = ["batch_10000", "batch_threshold", "batch_50000", "batch_100000"];
    let few = named(&["batch_1000"]);
    let evidence = [
        faster("batches", "Are batches faster than one by one?", FORMS, "one_by_one", &few),
        faster(
            "large-batches",
            "Do larger batches than 1,000 documents load faster?",
            FORMS,
            "batch_1000",
            &named(&large),
        ),
        faster(
            "all-at-once",
            "Is all at once faster than batches of 1,000?",
            FORMS,
            "batch_1000",
            &named(&["all_at_once"]),
        ),
        faster(
            "threads",
            "Do several threads load faster than one?",
            BY_THREADS,
            "threads_1",
            &threads,
        ),
        loads.slows_down(),
        loads.concerns(BY_CONCERN, "one", "one by one", "journaled"),
        loads.concerns(BY_CONCERN, "batch", "in batches of 1,000", "journaled"),
        loads.names(),
        loads.counts(),
        loads.even(),
        hosts::at_once(loads.0),
        cliff::evidence(loads.0, OVER_CACHE, "data"),
        cliff::evidence(loads.0, OVER_CACHE, "index"),
        cliff::evidence(loads.0, OVER_MEMORY, "data"),
        cliff::evidence(loads.0, OVER_MEMORY, "index"),
        faster(
            "hosts-parallel",
            "Do several threads load faster than one where batches go to several hosts in turn?",
            BY_HOSTS,
            "threads_1",
            &threads,
        ),
        mongos::slower(loads.0),
        mongos::one_shard_at_a_time(loads.0),
        loads.concerns(BY_MEMBERS, "one", "one by one, in a replica set of three", "majority"),
    ];
    evidence.into_iter().flatten().collect()
}

struct Loads<'a>(&'a [Load]);

impl<'a> Loads<'a> {
    fn of(&self, part: &str, phase: &str) -> impl Iterator<Item = &'a Load> {
        self.0.iter().filter(move |it| it.part == part && it.phase == phase)
    }

    /// Each driver's load of `phase` against its load of `base`.
    fn pairs(&self, part: &str, base: &str, phase: &str) -> Vec<(&'a Load, OverRounds)> {
        let pair = |load: &'a Load| {
            let base = self.of(part, base).find(|it| it.arm == load.arm)?;
            Some((load, faster_percent(base, load)?))
        };
        self.of(part, phase).filter_map(pair).collect()
    }

    /// Whether the rates of `others` are above that of `base`. None where no such part was made.
    fn compared(
        &self,
        id: &str,
        question: &str,
        part: &str,
        base: &str,
        others: &[&str],
    ) -> Option<Evidence> {
        self.0.iter().find(|it| it.part == part)?;
        let pairs: Vec<(&Load, OverRounds)> =
            others.iter().flat_map(|other| self.pairs(part, base, other)).collect();
        let shown = decide(pairs.iter().map(|(_, it)| it));
        let sentences = pairs.iter().map(|(load, it)| {
            let Load { arm, phase, .. } = load;
            format!("{arm}, {phase}: {} documents a second against {base}.", more(it))
        });
        Some(evidence(id, question, shown, sentences.collect()))
    }

    /// The "dead end slow-down" of the original.
    fn slows_down(&self) -> Option<Evidence> {
        const QUESTION: &str = "Does a load slow down towards its end?";
        self.0.iter().find(|it| it.part == FORMS)?;
        let measured: Vec<(&Load, OverRounds)> = self
            .0
            .iter()
            .filter(|it| it.part == FORMS)
            .filter_map(|load| Some((load, load.last_tenth_percent?)))
            .collect();
        let shown = falls(&measured);
        let sentences = measured.iter().map(|(load, it)| {
            let Load { arm, phase, .. } = load;
            format!(
                "{arm}, {phase}: the last tenth has {} documents a second against the first.",
                more(it)
            )
        });
        Some(evidence("dead-end", QUESTION, shown, sentences.collect()))
    }

    /// The largest load against the smallest.
    fn counts(&self) -> Option<Evidence> {
        const QUESTION: &str = "Does the rate fall as the load grows?";
        let of_part = || self.0.iter().filter(|it| it.part == BY_COUNT);
        let small = of_part().min_by_key(|it| it.documents)?;
        let large = of_part().max_by_key(|it| it.documents)?;
        let mut pairs = self.pairs(BY_COUNT, &small.phase, &large.phase);
        pairs.retain(|_| small.documents < large.documents);
        let sentences = pairs.iter().map(|(load, it)| {
            format!(
                "{}: a load of {} documents has {} documents a second against one of {}.",
                load.arm,
                count(large.documents),
                more(it),
                count(small.documents)
            )
        });
        Some(evidence("counts", QUESTION, falls(&pairs), sentences.collect()))
    }

    /// Whether waiting for the concern `decisive` costs.
    fn concerns(&self, part: &str, form: &str, words: &str, decisive: &str) -> Option<Evidence> {
        self.0.iter().find(|it| it.part == part)?;
        let base = format!("{form}_w1");
        let mut sentences = Vec::new();
        let mut shown = Shown::NotShown;
        let mut concerns = CONCERNS;
        concerns.sort_by_key(|it| *it != decisive); // the answer comes first
        for concern in concerns.iter().filter(|it| **it != "w1") {
            let pairs = self.pairs(part, &base, &format!("{form}_{concern}"));
            if *concern == decisive {
                shown = turned(decide(pairs.iter().map(|(_, it)| it)));
            }
            sentences.extend(pairs.iter().map(|(load, it)| {
                format!("{}, {concern}: {} documents a second against w1.", load.arm, more(it))
            }));
        }
        let awaited = if decisive == "majority" { "a majority" } else { "the journal" };
        let question = format!("Does waiting for {awaited} cost, {words}?");
        Some(evidence(&format!("{part}-{form}"), &question, shown, sentences))
    }

    /// Whether every host has as many documents as the others, but for a batch of each thread.
    fn even(&self) -> Option<Evidence> {
        const QUESTION: &str = "Do the hosts end with equal shares?";
        self.0.iter().find(|it| it.part == BY_HOSTS)?;
        let spread: Vec<&Load> =
            self.0.iter().filter(|it| it.part == BY_HOSTS && !it.by_host.is_empty()).collect();
        let apart = |load: &Load| {
            let ends = load.by_host.iter().max().zip(load.by_host.iter().min());
            ends.map_or(0, |(most, least)| most - least)
        };
        let threads = |load: &Load| load.phase.trim_start_matches("threads_").parse().unwrap_or(1);
        let even = |load: &&Load| apart(load) <= BATCH * threads(load);
        let shown = match (spread.is_empty(), spread.iter().all(even)) {
            (true, _) => Shown::NotShown,
            (false, true) => Shown::Shown,
            (false, false) => Shown::Refuted,
        };
        let sentences = spread.iter().map(|load| {
            let each: Vec<String> = load.by_host.iter().map(|it| count(*it)).collect();
            format!("{}, {}: {} documents.", load.arm, load.phase, each.join(", "))
        });
        Some(evidence("even", QUESTION, shown, sentences.collect()))
    }

    /// Whether long names cost time; bytes are facts.
    fn names(&self) -> Option<Evidence> {
        self.0.iter().find(|it| it.part == BY_NAMES)?;
        let phase = |length: u32| format!("names_{length}");
        let [short, .., long] = NAME_LENGTHS;
        let pairs = self.pairs(BY_NAMES, &phase(short), &phase(long));
        let shown = turned(decide(pairs.iter().map(|(_, it)| it)));
        let mut sentences: Vec<String> = pairs
            .iter()
            .map(|(load, it)| {
                format!(
                    "{}: names of {long} characters load {} documents a second against those of \
                    {short}.",
                    load.arm,
                    more(it)
                )
            })
            .collect();
        for length in NAME_LENGTHS {
            let Some(load) = self.of(BY_NAMES, &phase(length)).next() else { continue };
            let share = figure(names_percent(load).unwrap_or_default());
            let bytes = figure(load.document_bytes);
            sentences.push(format!(
                "With names of length {length} a document has {bytes} bytes; {share} % of them are \
                 names."
            ));
        }
        Some(evidence("names", "Do long field names slow a load down?", shown, sentences))
    }
}

/// Share of a document's bytes that are names, of the documents of bulk-names.
pub fn names_percent(load: &Load) -> Option<f64> {
    let length: u32 = load.phase.strip_prefix("names_")?.parse().ok()?;
    let names = f64::from(NAMED_FIELDS * length + ID_NAME);
    (load.document_bytes > 0.0).then(|| 100.0 * names / load.document_bytes)
}

/// Documents a second of `other` against `base`, percent, paired by round.
pub fn faster_percent(base: &Load, other: &Load) -> Option<OverRounds> {
    let direction = Quantity::Throughput.direction();
    // A log ratio of time per document: turned round it is one of rates.
    let ratios = log_ratios(direction, &base.rates, &other.rates);
    over_rounds(&ratios.into_iter().flatten().map(|it| percent(-it)).collect::<Vec<_>>())
}

/// Shown: every interval lies above zero. Refuted: every one lies below.
fn decide<'a>(changes: impl Iterator<Item = &'a OverRounds> + Clone) -> Shown {
    let mut known = changes.clone().filter(|it| it.level >= LEVEL_MIN).peekable();
    if known.peek().is_none() || known.clone().count() < changes.count() {
        return Shown::NotShown;
    }
    if known.clone().all(|it| it.median.low > 0.0) {
        return Shown::Shown;
    }
    if known.all(|it| it.median.high < 0.0) { Shown::Refuted } else { Shown::NotShown }
}

/// Whether rates fall. Refuted as well where all change by less than anybody would act on.
fn falls(changes: &[(&Load, OverRounds)]) -> Shown {
    let hold = !changes.is_empty() && changes.iter().all(|(_, it)| holds(it));
    match decide(changes.iter().map(|(_, it)| it)) {
        Shown::NotShown if hold => Shown::Refuted,
        decided => turned(decided),
    }
}

/// Whether a change is within what nobody would act on.
fn holds(change: &OverRounds) -> bool {
    let (low, high) = (change.median.low, change.median.high);
    change.level >= LEVEL_MIN && low > -PRACTICAL_PERCENT && high < PRACTICAL_PERCENT
}

/// Of the opposite question.
fn turned(shown: Shown) -> Shown {
    match shown {
        Shown::Shown => Shown::Refuted,
        Shown::Refuted => Shown::Shown,
        Shown::NotShown => Shown::NotShown,
    }
}

/// `+12 % [+10, +14]`, and how sure that is where it is not 95 %.
fn more(change_percent: &OverRounds) -> String {
    let it = change_percent.median;
    let words = change(Some(it.estimate), Some(it.low), Some(it.high)).unwrap_or_default();
    if change_percent.level >= LEVEL_MIN {
        return words;
    }
    format!("{words} ({} rounds: no interval of 95 %)", change_percent.rounds)
}
