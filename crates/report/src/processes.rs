//! Notes on the arms in a phase: their messages, timers, memory, threads and connections.

use base::say::clean;
use format::{self, MISSING};
use judge::analysis::types::ResultRow;

/// Of more arms the ends of their memory are told: nobody reads thirty.
const NAMED_MAX: usize = 8;

pub fn notes(results: &[&ResultRow]) -> impl Iterator<Item = String> {
    messages(results).into_iter().chain(timers(results)).chain(clients(results))
}

/// Latency of each arm's messages, where a consumer reads them.
fn messages(results: &[&ResultRow]) -> Option<String> {
    let each = results.iter().filter_map(|row| {
        let p99 = row.message_p99_us.map_or(MISSING.to_owned(), format::time);
        Some(format!("{} {}/{p99}", row.arm, format::time(row.message_p50_us?)))
    });
    let each: Vec<String> = each.collect();
    let text = format!("messages, from making to reading (p50/p99): {}", each.join(", "));
    (!each.is_empty()).then(|| clean(&text))
}

/// How late each arm's own timers are in an open loop.
fn timers(results: &[&ResultRow]) -> Option<String> {
    let mut seen = Vec::new();
    for row in results {
        let Some(p50_us) = row.timer_p50_us else { continue };
        let p99 = row.timer_p99_us.map_or(MISSING.to_owned(), format::time);
        let text = format!("{} {}/{p99}", row.arm, format::time(p50_us));
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
            value.map(|value| format!("{} {what}{plural}", format::count(value)))
        };
        let gc_time = row.gc_ns.map(|ns| format!(" ({})", format::time(ns as f64 / 1e3)));
        let parts = [
            row.rss_held_bytes.map(|bytes| format!("{} held", format::bytes(bytes))),
            count(row.threads_peak, "thread"),
            count(row.connections_peak, "connection"),
            count(row.gc_count, "garbage collection").map(|it| it + &gc_time.unwrap_or_default()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            seen.push((&row.arm, format!("{} {}", row.arm, parts.join(", "))));
        }
    }
    if seen.len() > NAMED_MAX {
        let held = results.iter().filter_map(|it| Some((it.rss_held_bytes?, &it.arm)));
        let end = |(bytes, arm): (u64, &String)| format!("{} ({arm})", format::bytes(bytes));
        let (least, most) = (held.clone().min()?, held.max()?);
        return Some(clean(&format!("clients: {} to {} held", end(least), end(most))));
    }
    let each: Vec<String> = seen.into_iter().map(|(_, text)| text).collect();
    (!each.is_empty()).then(|| clean(&format!("clients: {}", each.join("; "))))
}
