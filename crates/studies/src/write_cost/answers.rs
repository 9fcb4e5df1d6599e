//! The original's questions, one by one.

use super::by_size::SUSPECTED_BYTES;
use super::types::{BySize, Documents, Line, Memory, Row, Value, Way, WriteCostAnalysis};
use crate::evidence::{Evidence, Shown};
use format::{bytes, count, figure, level, signed_figure, time};

/// A step of so many percent matters.
const STEP_PERCENT: f64 = 5.0;
/// Of the time per document: `insertMany` below it is faster.
const FASTER: f64 = 0.9;
/// Of the bytes that were written: the client holds them, it does not.
const HOLDS: f64 = 0.5;
const HOLDS_NOT: f64 = 0.1;
/// With fewer bytes written, growth may be that of the runtime's own heap.
const HELD_BYTES_MIN: u64 = 256 << 20;
/// Of the time of a small document: cost does not follow size.
const FIXED_SHARE: f64 = 0.5;
/// A curve that lies farther from its line has no fixed part.
const MISFIT_PERCENT: f64 = 30.0;

pub fn all(analysis: &WriteCostAnalysis) -> Vec<Evidence> {
    let each = analysis.documents.iter();
    let mut evidence: Vec<Evidence> = each
        .clone()
        .filter(|it| it.name == "large")
        .map(holds)
        .chain(std::iter::once(threshold(&analysis.by_size)))
        .chain(each.clone().map(|it| faster(it, &analysis.by_size)))
        .chain(std::iter::once(proportional(analysis)))
        .chain(std::iter::once(compressed(analysis)))
        .collect();
    evidence.extend((!analysis.memory.is_empty()).then(|| largest(analysis)));
    evidence.extend(each.clone().filter_map(mapped));
    evidence.extend(each.map(reads));
    evidence
}

/// Why did one-by-one insertion hold 7 GB?
fn holds(documents: &Documents) -> Evidence {
    let written = (documents.count as f64 * documents.bytes) as u64;
    let is_enough = written >= HELD_BYTES_MIN;
    let judged = |row: &Row| {
        let held = row.way("one_by_one")?.held_share?.sure().filter(|_| is_enough)?;
        if held.low >= HOLDS { Some(true) } else { (held.high <= HOLDS_NOT).then_some(false) }
    };
    let words = |row: &Row| {
        let way = row.way("one_by_one")?;
        let [armed, peak, held] = [way.armed_bytes, way.peak_bytes, way.held_bytes].map(size);
        let share = over(way.held_share?, |it| percent(it * 100.0));
        Some(format!(
            "{}: {armed} before, {peak} at the peak, {held} afterwards; growth is {share} of the \
             bytes written.",
            row.arm
        ))
    };
    let around = documents.phases.iter().find(|it| it.phase == "one_by_one");
    let server = around
        .and_then(|it| it.cache_bytes)
        .map(|it| format!("The server's cache held up to {} meanwhile.", bytes(it)));
    let mut evidence = told(
        "held",
        "Does a client hold what it has inserted one by one? (The original's run held 7 GB.)",
        documents.rows.iter().map(|row| (row.arm.as_str(), judged(row))),
        &format!("{} of large documents were inserted one by one", bytes(written)),
    );
    evidence.sentences.extend((!is_enough).then(|| {
        let least = bytes(HELD_BYTES_MIN);
        format!("A runtime's own heap grows by as much: it takes {least} to tell (--scale 0.11).")
    }));
    evidence.sentences.extend(documents.rows.iter().filter_map(words));
    evidence.sentences.extend(server);
    evidence
}

/// Does the threshold matter?
fn threshold(by_size: &[BySize]) -> Evidence {
    let lines =
        by_size.iter().flat_map(|it| [(it, "writing", &it.write), (it, "reading", &it.read)]);
    let lines: Vec<(String, &Line)> =
        lines.map(|(it, way, line)| (format!("{} {way}", it.arm), line)).collect();
    let judged = |line: &Line| {
        let step = line.step_percent?.sure()?;
        if step.low > STEP_PERCENT {
            Some(true)
        } else {
            (step.high < STEP_PERCENT && step.low > -STEP_PERCENT).then_some(false)
        }
    };
    let suspected = count(SUSPECTED_BYTES);
    let mut evidence = told(
        "threshold",
        &format!("Does a size of {suspected} bytes matter?"),
        lines.iter().map(|(name, line)| (name.as_str(), judged(line))),
        &format!("sizes from {suspected} bytes on are compared with those just below"),
    );
    let words = |(name, line): &(String, &Line)| {
        let step = line.step_percent?;
        let collected = collected(line).unwrap_or_default();
        Some(format!("{name}: {} from there on{collected}.", over(step, percent)))
    };
    evidence.sentences.extend(lines.iter().filter_map(words));
    evidence
}

/// Collections of garbage below the suspected size and from it on, of the sizes near it.
fn collected(line: &Line) -> Option<String> {
    let mean = |above: bool| {
        let near = line.points.iter().filter(|it| (80_000..=90_000).contains(&it.data_bytes));
        let side = near.filter(|it| (it.data_bytes >= SUSPECTED_BYTES) == above);
        let counts: Vec<f64> = side.filter_map(|it| it.collections).collect();
        (!counts.is_empty()).then(|| counts.iter().sum::<f64>() / counts.len() as f64)
    };
    let [below, above] = [mean(false)?, mean(true)?].map(figure);
    Some(format!(
        "; collections of garbage per 1,000 documents: {below} below it, {above} from it on"
    ))
}

/// Why was insertMany no faster?
fn faster(documents: &Documents, by_size: &[BySize]) -> Evidence {
    let ratio = |row: &Row| {
        let of = |phase| row.way(phase)?.time_us;
        Some((of("one_by_one")?, of("all_at_once")?))
    };
    // Each half of the pair has its own interval: the ratio lies within that of their ends.
    let judged = |row: &Row| {
        let (one, all) = ratio(row)?;
        let (one, all) = (one.sure()?, all.sure()?);
        if all.high / one.low < FASTER {
            return Some(true);
        }
        (all.low / one.high >= FASTER).then_some(false)
    };
    let name = &documents.name;
    let mut evidence = told(
        &format!("insert-many-{name}"),
        &format!("Is insertMany faster than inserting {name} documents one by one?"),
        documents.rows.iter().map(|row| (row.arm.as_str(), judged(row))),
        "the original's was no faster; compared is the time of a document",
    );
    let words = |row: &Row| {
        let (one, all) = ratio(row)?;
        let lines = by_size.iter().find(|it| it.arm == row.arm);
        // A call saves at most the fixed part.
        let fixed = lines.and_then(|it| it.write.fixed_us);
        let share = fixed.map_or(String::new(), |fixed| {
            let percent = (fixed.median / one.median * 100.0).min(100.0);
            format!("; the fixed part, the most that it can save, is {} % of it", figure(percent))
        });
        let (one, all) = (over(one, time), over(all, time));
        Some(format!("{}: {one} one by one, {all} all at once{share}.", row.arm))
    };
    evidence.sentences.extend(documents.rows.iter().filter_map(words));
    let best = documents.rows.iter().filter_map(|row| {
        let batches = row.ways.iter().filter(|it| it.phase.starts_with("batch_"));
        let best = batches.filter_map(|it| Some((it.time_us?.median, &it.phase)));
        let (best_us, phase) = best.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let batch = count(phase.trim_start_matches("batch_").parse().ok()?);
        Some(format!("{} is fastest in batches of {batch} ({}).", row.arm, time(best_us)))
    });
    evidence.sentences.extend(best);
    evidence
}

/// Why is cost not proportional to size?
fn proportional(analysis: &WriteCostAnalysis) -> Evidence {
    let find = |name: &str| analysis.documents.iter().find(|it| it.name == name);
    let small_bytes = find("small").map_or(51.0, |it| it.bytes);
    let share = |line: &Line| {
        let (fixed, kilobyte) = (line.fixed_us?.sure()?, line.kilobyte_us?.sure()?);
        let of = |fixed: f64, kilobyte: f64| fixed / (fixed + kilobyte * small_bytes / 1e3);
        let is_line = line.misfit_percent.is_some_and(|it| it.abs() <= MISFIT_PERCENT);
        is_line.then(|| (of(fixed.low, kilobyte.high), of(fixed.high, kilobyte.low)))
    };
    let judged = |it: &BySize| {
        let (low, high) = share(&it.write)?;
        if low >= FIXED_SHARE { Some(true) } else { (high < FIXED_SHARE).then_some(false) }
    };
    let mut evidence = told(
        "proportional",
        "Is there a fixed cost for which time does not follow size?",
        analysis.by_size.iter().map(|it| (it.arm.as_str(), judged(it))),
        "the fixed part of a document against the part of its bytes",
    );
    let words = |it: &BySize| {
        let (fixed, kilobyte) = (it.write.fixed_us?, it.write.kilobyte_us?);
        let equal = fixed.median / kilobyte.median;
        let equal = if equal.is_finite() {
            format!("; both are equal at {}", bytes((equal * 1e3) as u64))
        } else {
            String::new()
        };
        let misfit = it.write.misfit_bytes.zip(it.write.misfit_percent);
        let misfit = misfit.map_or(String::new(), |(size, off)| {
            format!("; {} bytes lie farthest off the line, by {}", count(size), percent(off))
        });
        let (fixed, kilobyte) = (over(fixed, time), over(kilobyte, time));
        Some(format!("{}: {fixed} and {kilobyte} for each 1,000 bytes{equal}{misfit}.", it.arm))
    };
    evidence.sentences.extend(analysis.by_size.iter().filter_map(words));
    let (small, large) = (find("small"), find("large"));
    let ratios = small.zip(large).into_iter().flat_map(|(small, large)| {
        small.rows.iter().filter_map(move |row| {
            let other = large.rows.iter().find(|it| it.arm == row.arm)?;
            let of = |row: &Row| Some(row.way("one_by_one")?.time_us?.median);
            let times = figure(of(other)? / of(row)?);
            let size = figure(large.bytes / small.bytes);
            Some(format!("{}: {size} times the bytes take {times} times the time.", row.arm))
        })
    });
    evidence.sentences.extend(ratios);
    evidence
}

/// 8.22 GB stored for 100 GB.
fn compressed(analysis: &WriteCostAnalysis) -> Evidence {
    let words: Vec<String> = analysis
        .stored
        .iter()
        .filter_map(|it| {
            let compressible = it.compressible.map_or(String::new(), |ratio| {
                format!(" (DEFLATE alone makes {} to 1 of them)", figure(ratio))
            });
            Some(format!(
                "{}: {} of data in {} of storage, {} to 1{compressible}.",
                it.name,
                bytes(it.data_bytes),
                bytes(it.storage_bytes),
                figure(it.ratio?)
            ))
        })
        .collect();
    let ratio = |name: &str| analysis.stored.iter().find(|it| it.name == name)?.ratio;
    // A file has some pages of its own: little data says nothing.
    let follows = ratio("random").zip(ratio("zero")).map(|(random, zero)| zero > 2.0 * random);
    let mut evidence = told(
        "stored",
        "Does storage follow how compressible the bytes are?",
        std::iter::once(("the server", follows)),
        "the original stored 100 GB in 8.22 GB, 12.2 to 1",
    );
    evidence.sentences.extend(words);
    evidence
}

/// The largest insertMany that fits.
fn largest(analysis: &WriteCostAnalysis) -> Evidence {
    let words = |it: &Memory| {
        let limit = bytes(it.limit_bytes);
        let fits = match (it.fits_documents, it.fits_bytes) {
            (Some(documents), Some(size)) => format!(
                "{} documents ({}) fit{}",
                count(documents),
                bytes(size),
                it.peak_bytes
                    .map_or(String::new(), |it| format!(" with {} at the peak", bytes(it)))
            ),
            _ => "not even the smallest fits".to_owned(),
        };
        let fails = it
            .fails_documents
            .map_or(String::new(), |documents| format!("; {} do not", count(documents)));
        let fits = format!("{} with {limit}: {fits}{fails}.", it.arm);
        let fates = it.fates.iter().map(|fate| format!("It {fate}."));
        std::iter::once(fits).chain(fates).collect::<Vec<_>>().join(" ")
    };
    let died = |it: &Memory| Some(it.fails_documents.is_some());
    let mut evidence = told(
        "memory",
        "Does an insertMany of nine tenths of a client's memory fail?",
        analysis.memory.iter().map(|it| (it.arm.as_str(), died(it))),
        "documents in one call, doubled until they do not fit",
    );
    evidence.sentences.extend(analysis.memory.iter().map(words));
    evidence
}

/// Mapped classes beside plain documents; None where no driver has both.
fn mapped(documents: &Documents) -> Option<Evidence> {
    let pair = |row: &Row| {
        let of = |phase: &str| row.way(phase)?.time_us;
        Some((of("one_by_one")?, of("mapped_one_by_one")?))
    };
    let both: Vec<&Row> = documents.rows.iter().filter(|row| pair(row).is_some()).collect();
    if both.is_empty() {
        return None;
    }
    let judged = |row: &Row| {
        let (plain, mapped) = pair(row)?;
        let (plain, mapped) = (plain.sure()?, mapped.sure()?);
        if mapped.low > plain.high {
            Some(true)
        } else {
            (mapped.high < plain.low).then_some(false)
        }
    };
    let name = &documents.name;
    let mut evidence = told(
        &format!("mapped-{name}"),
        &format!("Are {name} documents of a mapped class slower than plain ones?"),
        both.iter().map(|row| (row.arm.as_str(), judged(row))),
        "inserted one by one",
    );
    let words = |row: &&Row| {
        let (plain, mapped) = pair(row)?;
        Some(format!("{}: {} mapped, {} plain.", row.arm, over(mapped, time), over(plain, time)))
    };
    evidence.sentences.extend(both.iter().filter_map(words));
    Some(evidence)
}

/// Announced by the original, and never given.
fn reads(documents: &Documents) -> Evidence {
    const READS: [(&str, &str); 5] = [
        ("read_by_id", "by _id"),
        ("read_range", "a range"),
        ("full_scan", "a full scan"),
        ("count_metadata", "count by metadata"),
        ("count_scan", "count by scan"),
    ];
    let words = |row: &Row| {
        let each = READS.iter().filter_map(|(phase, words)| {
            Some(format!("{words} {}", over(row.way(phase)?.time_us?, time)))
        });
        let each: Vec<String> = each.collect();
        (!each.is_empty()).then(|| format!("{}: {}.", row.arm, each.join(", ")))
    };
    let sentences: Vec<String> = documents.rows.iter().filter_map(words).collect();
    let shown = if sentences.is_empty() { Shown::NotShown } else { Shown::Shown };
    let name = &documents.name;
    let first = match shown {
        Shown::Shown => format!("Time of a call on {} {name} documents.", count(documents.count)),
        _ => "Nothing was read.".to_owned(),
    };
    Evidence {
        id: format!("reads-{name}"),
        question: format!("How long do reads of {name} documents take?"),
        shown,
        sentences: std::iter::once(first).chain(sentences).collect(),
    }
}

/// The state of a question of several drivers, and a sentence that names them.
fn told<'a>(
    id: &str,
    question: &str,
    judged: impl Iterator<Item = (&'a str, Option<bool>)>,
    of: &str,
) -> Evidence {
    let judged: Vec<(&str, Option<bool>)> = judged.collect();
    let names = |wanted: Option<bool>| {
        let those = judged.iter().filter(|(_, it)| *it == wanted);
        those.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    };
    let all = |wanted| !judged.is_empty() && judged.iter().all(|(_, it)| *it == Some(wanted));
    let shown = match (all(true), all(false)) {
        (true, _) => Shown::Shown,
        (_, true) => Shown::Refuted,
        _ => Shown::NotShown,
    };
    let parts = [(Some(true), "yes"), (Some(false), "no"), (None, "open")];
    let parts = parts.map(|(wanted, word)| (names(wanted), word));
    let parts = parts.iter().filter(|(names, _)| !names.is_empty());
    let parts: Vec<String> = parts.map(|(names, word)| format!("{word}: {names}")).collect();
    let parts = if parts.is_empty() { "nothing was measured".to_owned() } else { parts.join("; ") };
    let words = [of.to_owned(), parts].map(|mut it| {
        it[..1].make_ascii_uppercase();
        it + "."
    });
    let (id, question) = (id.to_owned(), question.to_owned());
    Evidence { id, question, shown, sentences: vec![words.join(" ")] }
}

impl Row {
    pub fn way(&self, phase: &str) -> Option<&Way> {
        self.ways.iter().find(|it| it.phase == phase)
    }
}

/// `151 µs (149 µs to 158 µs, 93.75 %)`.
pub fn over(value: Value, text: impl Fn(f64) -> String) -> String {
    let median = text(value.median);
    value.over.map_or(median.clone(), |over| {
        let (low, high) = (text(over.median.low), text(over.median.high));
        format!("{median} ({low} to {high}, {})", level(over.level))
    })
}

fn percent(value: f64) -> String {
    format!("{} %", signed_figure(value))
}

fn size(value: Option<u64>) -> String {
    value.map_or_else(|| format::MISSING.to_owned(), bytes)
}
