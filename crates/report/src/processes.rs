//! Notes on the processes of the arms in a phase: their timers, memory, threads and connections.

use base::say::clean;
use figures::{self, MISSING};
use judge::analysis::types::ResultRow;

pub fn notes(results: &[&ResultRow]) -> impl Iterator<Item = String> {
    timers(results).into_iter().chain(clients(results))
}

/// How late each arm's own timers are in an open loop.
fn timers(results: &[&ResultRow]) -> Option<String> {
    let mut seen = Vec::new();
    for row in results {
        let Some(p50_us) = row.timer_p50_us else { continue };
        let p99 = row.timer_p99_us.map_or(MISSING.to_owned(), figures::time);
        let text = format!("{} {}/{p99}", row.arm, figures::time(p50_us));
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
        let count = |value: Option<u64>, what: &str| {
            let plural = if value == Some(1) { "" } else { "s" };
            value.map(|value| format!("{} {what}{plural}", figures::count(value)))
        };
        let gc_time = row.gc_ns.map(|ns| format!(" ({})", figures::time(ns as f64 / 1e3)));
        let parts = [
            row.rss_held_bytes.map(|bytes| format!("{} held", figures::bytes(bytes))),
            count(row.threads_peak, "thread"),
            count(row.connections_peak, "connection"),
            count(row.gc_count, "garbage collection").map(|it| it + &gc_time.unwrap_or_default()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            seen.push((&row.arm, format!("{} {}", row.arm, parts.join(", "))));
        }
    }
    let each: Vec<String> = seen.into_iter().map(|(_, text)| text).collect();
    (!each.is_empty()).then(|| clean(&format!("clients: {}", each.join("; "))))
}
