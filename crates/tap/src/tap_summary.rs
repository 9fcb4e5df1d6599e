//! From exchanges to the figures of one arm in one phase (methodology 8.3). Pure.

use std::collections::{BTreeMap, BTreeSet};

use record::records::Tap;

use super::exchange::{Exchange, flags};
pub use super::operation_matching::CallSpan;
use super::operation_matching::matched;
use super::recording::{ConnectionRecord, Recording};
use super::tally::Tally;

/// Handshakes, monitors and farewells, in lower case: none is an operation of a workload.
const BACKGROUND: [&str; 9] = [
    "hello",
    "ismaster",
    "endsessions",
    "buildinfo",
    "saslstart",
    "saslcontinue",
    "authenticate",
    "getnonce",
    "logout",
];
/// Command of monitors, but also of operations; see `which_are_background`.
const PING: &str = "ping";
/// Old drivers make a write acknowledged by it.
const GET_LAST_ERROR: &str = "getlasterror";

/// A stretch of time, ns since the epoch, both ends included.
pub type TurnInterval = (u64, u64);

/// Sums up the exchanges in an arm's turns.
///
/// A command counts if its request came in during one of `turns`. `calls` are the arm's in the same
/// phase, `operations` the divisor of all figures "an operation".
pub fn summarise(
    exchanges: &[Exchange],
    recording: &Recording,
    turns: &[TurnInterval],
    mut calls: Vec<CallSpan>,
    operations: u64,
) -> Tap {
    let mut turns = turns.to_vec();
    turns.sort_unstable();
    let mut inside: Vec<&Exchange> =
        exchanges.iter().filter(|it| turn_of(&turns, it.request_in_ns).is_some()).collect();
    inside.sort_by_key(|it| (it.request_in_ns, it.connection));
    let background = which_are_background(&inside, recording);
    let linked = recording.link.is_some();
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut own: Vec<&Exchange> = Vec::with_capacity(inside.len());
    for (it, is_background) in inside.iter().zip(background) {
        let Some(shape) = recording.shapes.get(it.shape as usize) else { continue };
        let server_ns = it.is(flags::ANSWERED).then(|| it.server_ns(linked));
        tallies.entry(&shape.command).or_default().add(it, shape, is_background, server_ns);
        if !is_background {
            own.push(it);
        }
    }
    let mut tap = Tap {
        commands: tallies.iter().map(|(name, it)| ((*name).to_owned(), it.record())).collect(),
        ..Tap::default()
    };
    per_operation(&mut tap, &own, linked, operations);
    depth(&mut tap, &own, &turns);
    connections(&mut tap, &own, recording, &turns);
    calls.sort_unstable_by_key(|it| it.start_ns);
    let writes = unanswered_writes(&own, recording);
    split(&mut tap, &own, &calls, recording, &writes);
    tap
}

fn turn_of(turns: &[TurnInterval], at_ns: u64) -> Option<usize> {
    let next = turns.partition_point(|turn| turn.0 <= at_ns);
    next.checked_sub(1).filter(|turn| at_ns <= turns[*turn].1)
}

/// Whether a command is by its name alone part of no operation.
pub(super) fn is_background(command: &str) -> bool {
    BACKGROUND.iter().any(|name| command.eq_ignore_ascii_case(name))
}

/// Whether each exchange belongs to no operation.
///
/// If there are only `ping`s, they are operations. Otherwise a `ping` is a monitor's on connections
/// that carry no other command.
fn which_are_background(inside: &[&Exchange], recording: &Recording) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum CommandKind {
        Background,
        Ping,
        Operation,
    }
    let kinds: Vec<CommandKind> = recording
        .shapes
        .iter()
        .map(|shape| match shape.command.as_str() {
            name if is_background(name) => CommandKind::Background,
            name if name.eq_ignore_ascii_case(PING) => CommandKind::Ping,
            _ => CommandKind::Operation,
        })
        .collect();
    let kind =
        |it: &Exchange| kinds.get(it.shape as usize).copied().unwrap_or(CommandKind::Operation);
    let working: BTreeSet<u32> = inside
        .iter()
        .filter(|it| kind(it) == CommandKind::Operation)
        .map(|it| it.connection)
        .collect();
    let is_background = |it: &&Exchange| match kind(it) {
        CommandKind::Background => true,
        CommandKind::Ping => !working.is_empty() && !working.contains(&it.connection),
        CommandKind::Operation => false,
    };
    inside.iter().map(is_background).collect()
}

fn per_operation(tap: &mut Tap, own: &[&Exchange], linked: bool, operations: u64) {
    if operations == 0 {
        return;
    }
    let sum = |of: fn(&Exchange) -> u64| own.iter().map(|it| of(it)).sum::<u64>() as f64;
    let each = |sum: f64| sum / operations as f64;
    let commands = own.iter().filter(|it| !it.is(flags::STREAMED)).count();
    tap.round_trips_per_op = each(commands as f64);
    tap.bytes_out_per_op = each(sum(|it| u64::from(it.bytes_out)));
    tap.bytes_in_per_op = each(sum(|it| u64::from(it.bytes_in)));
    let answered = || own.iter().filter(|it| it.is(flags::ANSWERED));
    let server: u64 = answered().map(|it| it.server_ns(linked)).sum();
    tap.server_us_per_op = each(server as f64) / 1e3;
    if linked {
        let link: u64 = answered().map(|it| it.link_ns()).sum();
        tap.link_us_per_op = each(link as f64) / 1e3;
    }
}

/// Commands under way: mean and peak over the turns.
fn depth(tap: &mut Tap, own: &[&Exchange], turns: &[TurnInterval]) {
    let mut busy_ns = vec![0; turns.len()];
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for it in own.iter().filter(|it| it.is(flags::ANSWERED)) {
        let turn = turn_of(turns, it.request_in_ns).expect("it lies in one");
        busy_ns[turn] += it.reply_out_ns.min(turns[turn].1).saturating_sub(it.request_in_ns);
        changes.extend([(it.request_in_ns, 1), (it.reply_out_ns, -1)]);
    }
    // An answer and the next request at one time do not overlap: -1 sorts first.
    changes.sort_unstable();
    let mut now = 0;
    for (_, change) in changes {
        now += change;
        tap.in_flight_peak = tap.in_flight_peak.max(u64::try_from(now).unwrap_or(0));
    }
    let length = |turn: &TurnInterval| turn.1.saturating_sub(turn.0).max(1);
    let mean = |(busy, turn): (&u64, &TurnInterval)| *busy as f64 / length(turn) as f64;
    tap.in_flight_by_turn = busy_ns.iter().zip(turns).map(mean).collect();
    let all: u64 = turns.iter().map(length).sum();
    tap.in_flight_mean = busy_ns.iter().sum::<u64>() as f64 / all.max(1) as f64;
}

fn connections(tap: &mut Tap, own: &[&Exchange], recording: &Recording, turns: &[TurnInterval]) {
    let within = |at: u64| turn_of(turns, at).is_some();
    let mut opened: Vec<u64> = recording.connections.iter().map(|it| it.opened_ns).collect();
    let mut closed: Vec<u64> = recording.connections.iter().filter_map(|it| it.closed_ns).collect();
    opened.sort_unstable();
    closed.sort_unstable();
    tap.connections_opened = opened.iter().filter(|it| within(**it)).count() as u64;
    tap.connections_closed = closed.iter().filter(|it| within(**it)).count() as u64;
    let open_at =
        |at: u64| opened.partition_point(|it| *it <= at) - closed.partition_point(|it| *it <= at);
    let moments = turns.iter().map(|turn| turn.0);
    let moments = moments.chain(opened.iter().copied().filter(|it| within(*it)));
    tap.connections_peak = moments.map(open_at).max().unwrap_or(0) as u64;
    let used: BTreeSet<u32> = own.iter().map(|it| it.connection).collect();
    let during = |it: &&ConnectionRecord| {
        turns
            .iter()
            .any(|turn| it.opened_ns <= turn.1 && it.closed_ns.is_none_or(|at| at >= turn.0))
    };
    let idle = recording.connections.iter().filter(during);
    tap.connections_idle = idle.filter(|it| !used.contains(&it.number)).count() as u64;
}

#[derive(Debug, Default)]
struct Unanswered {
    /// Writes that no getLastError follows directly on their connection.
    count: u64,
    /// Total time from such a write to its getLastError, ns.
    before_get_last_error_ns: u64,
}

fn unanswered_writes(own: &[&Exchange], recording: &Recording) -> Unanswered {
    let is_named = |it: &Exchange, name: &str| {
        let shape = recording.shapes.get(it.shape as usize);
        shape.is_some_and(|shape| shape.command.eq_ignore_ascii_case(name))
    };
    let mut found = Unanswered::default();
    let mut last: BTreeMap<u32, &Exchange> = BTreeMap::new();
    for it in own {
        let before = last.insert(it.connection, it).filter(|it| !it.is(flags::ANSWERED));
        // Closing a cursor has no answer, and no one waits for one.
        if !it.is(flags::ANSWERED) && !is_named(it, "OP_KILL_CURSORS") {
            found.count += 1;
        }
        let Some(before) = before else { continue };
        if is_named(it, GET_LAST_ERROR) && !is_named(before, "OP_KILL_CURSORS") {
            found.count -= 1;
            found.before_get_last_error_ns += it.request_in_ns - before.request_in_ns;
        }
    }
    found
}

/// Computes the driver's share, encoding and decoding, or the reason why it is unknown.
fn split(
    tap: &mut Tap,
    own: &[&Exchange],
    calls: &[CallSpan],
    recording: &Recording,
    writes: &Unanswered,
) {
    let mut reasons: Vec<String> = Vec::new();
    let mut because = |is: bool, reason: &str| {
        if is {
            reasons.push(reason.to_owned());
        }
    };
    let any = |bits: u32| own.iter().any(|it| it.is(bits));
    let encrypted = recording.connections.iter().any(|it| it.encrypted);
    because(encrypted, "connections are encrypted (TLS): only their bytes can be counted");
    because(any(flags::COMPRESSED), "messages are compressed: only their bytes can be counted");
    because(any(flags::STREAMED), "the server answers without being asked (exhaust)");
    because(writes.count > 0, "writes have no answer (unacknowledged)");
    because(overlap(own), "commands overlap on one connection");
    because(own.is_empty() && !encrypted, "no command passed the tap");
    because(calls.is_empty(), "there are no operations to compare with");
    if reasons.is_empty() {
        let all_ns: u64 = calls.iter().map(|it| it.end_ns - it.start_ns).sum();
        let service_us = all_ns as f64 / calls.len() as f64 / 1e3;
        // A write that getLastError waits for began before it.
        let write_us = writes.before_get_last_error_ns as f64 / calls.len() as f64 / 1e3;
        let driver_us = service_us - tap.server_us_per_op - tap.link_us_per_op - write_us;
        if driver_us < 0.0 {
            reasons.push(
                "its commands took longer than the operations: some run side by side".to_owned(),
            );
        } else {
            tap.server_us_per_op += write_us;
            tap.driver_us_per_op = Some(driver_us);
            let answered: Vec<&Exchange> =
                own.iter().copied().filter(|it| it.is(flags::ANSWERED)).collect();
            // If a write has no answer itself, its getLastError is not the first byte out.
            if writes.before_get_last_error_ns == 0 {
                let matched = matched(&answered, calls);
                let p50 = |it: &stats::histogram::Histogram| {
                    it.printable_percentile_ns(50.0).map(|ns| ns as f64 / 1e3)
                };
                tap.encode_p50_us = p50(&matched.encode);
                tap.decode_p50_us = p50(&matched.decode);
                tap.matched_operations = matched.operations;
            }
        }
    }
    tap.not_separable = (!reasons.is_empty()).then(|| reasons.join("; "));
}

/// Whether a request came in before the previous one on its connection was answered.
fn overlap(own: &[&Exchange]) -> bool {
    let mut free: BTreeMap<u32, u64> = BTreeMap::new();
    own.iter().any(|it| {
        let free = free.entry(it.connection).or_default();
        let early = it.request_in_ns < *free;
        *free = (*free).max(it.reply_out_ns);
        early
    })
}
