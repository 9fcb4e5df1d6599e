//! Notes on the arms in a phase: their messages, timers, memory, threads and connections.

use base::say::clean;
use format::{self, MISSING};
use judge::analysis::types::{Metric, ResultRow};

/// Arms that are named; of more, the range of memory alone: no one reads thirty names.
const NAMED_MAX: usize = 8;

pub fn notes(results: &[&ResultRow]) -> impl Iterator<Item = String> {
    messages(results).into_iter().chain(timers(results)).chain(clients(results))
}

/// Latency of each arm's messages, where a consumer reads them.
fn messages(results: &[&ResultRow]) -> Option<String> {
    let each = results.iter().filter_map(|row| both(row, [Metric::MessageP50, Metric::MessageP99]));
    let each: Vec<String> = each.collect();
    let text = format!("messages, from making to reading (p50/p99): {}", each.join(", "));
    (!each.is_empty()).then(|| clean(&text))
}

/// `node@7.9.0 812 µs/1.21 ms`.
fn both(row: &ResultRow, [p50, p99]: [Metric; 2]) -> Option<String> {
    let p99 = row.get(p99).map_or(MISSING.to_owned(), format::time);
    Some(format!("{} {}/{p99}", row.arm, format::time(row.get(p50)?)))
}

/// How late each arm's own timers are in an open loop.
fn timers(results: &[&ResultRow]) -> Option<String> {
    let mut seen = Vec::new();
    for row in results {
        let Some(text) = both(row, [Metric::TimerP50, Metric::TimerP99]) else { continue };
        if !results.iter().any(|it| it.arm == row.arm && it.operation < row.operation) {
            seen.push(text);
        }
    }
    let text = clean(&format!("own timers late by (p50/p99): {}", seen.join(", ")));
    (!seen.is_empty()).then_some(text)
}

/// Memory, threads and connections of each arm's processes.
fn clients(results: &[&ResultRow]) -> Option<String> {
    let mut seen: Vec<(&str, String)> = Vec::new();
    for row in results {
        if seen.iter().any(|(arm, _)| *arm == row.arm) {
            continue;
        }
        let words = |metric: Metric| Some(metric.unit().words(row.get(metric)?));
        let count = |metric, thing: &str| Some(format::counted(row.get(metric)? as u64, thing));
        let gc_time = words(Metric::GcNs).map_or(String::new(), |time| format!(" ({time})"));
        let parts = [
            words(Metric::RssHeld).map(|bytes| format!("{bytes} held")),
            count(Metric::ThreadsPeak, "thread"),
            count(Metric::ConnectionsPeak, "connection"),
            count(Metric::GcCount, "garbage collection").map(|count| count + &gc_time),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            seen.push((&row.arm, format!("{} {}", row.arm, parts.join(", "))));
        }
    }
    if seen.len() > NAMED_MAX {
        let held = results.iter().filter_map(|it| Some((it.get(Metric::RssHeld)? as u64, &it.arm)));
        let end = |(bytes, arm): (u64, &String)| format!("{} ({arm})", format::bytes(bytes));
        let (least, most) = (held.clone().min()?, held.max()?);
        return Some(clean(&format!("clients: {} to {} held", end(least), end(most))));
    }
    let each: Vec<String> = seen.into_iter().map(|(_, text)| text).collect();
    (!each.is_empty()).then(|| clean(&format!("clients: {}", each.join("; "))))
}
