//! Faults on demand, to test how adapters report errors and recover.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::simulated_load::nanoseconds;
use base::units::parse_duration;

/// Faults to inject. Counts run over all connections, except for `close_after`.
#[derive(Debug, Clone, Copy, Default)]
pub struct FaultOptions {
    /// One of so many connections is closed as soon as it is accepted; 1: all.
    pub refuse_every: Option<u64>,
    /// A connection is closed after so many answered commands on documents.
    pub close_after: Option<u64>,
    /// An error in place of a command on documents.
    pub error: Option<Every<i32>>,
    /// The delay of an answer.
    pub slow: Option<Every<Duration>>,
    /// One of so many commands on documents is answered by bytes that are no BSON.
    pub garbage_every: Option<u64>,
}

/// `WHAT/N`: every N-th time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Every<T> {
    pub what: T,
    /// How often, from 1.
    pub every: u64,
}

impl Every<i32> {
    /// Reads `CODE/N`.
    pub fn parse_code(text: &str) -> Result<Self, String> {
        let code = |text: &str| match text.parse() {
            Ok(code) if code > 0 => Ok(code),
            _ => Err(format!("{text:?} is not an error code")),
        };
        parse_every(text, code, "CODE/N, as 11600/100")
    }
}

impl Every<Duration> {
    /// Reads `DURATION/N`.
    pub fn parse_duration(text: &str) -> Result<Self, String> {
        parse_every(text, parse_duration, "DURATION/N, as 50ms/100")
    }
}

fn parse_every<T>(
    text: &str,
    what: impl Fn(&str) -> Result<T, String>,
    wanted: impl Display,
) -> Result<Every<T>, String> {
    let (first, every) = text.split_once('/').ok_or_else(|| format!("write {wanted}"))?;
    match u64::from_str(every) {
        Ok(every) if every > 0 => Ok(Every { what: what(first)?, every }),
        _ => Err(format!("{every:?} is not a count; write {wanted}")),
    }
}

/// The faults of one absorber, shared by its connections.
#[derive(Debug)]
pub struct Faults {
    options: FaultOptions,
    /// Whether commands have to be counted at all.
    on_commands: bool,
    connections: AtomicU64,
    commands: AtomicU64,
}

/// The faults of one command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Struck {
    /// The answer in place of the command.
    pub error: Option<i32>,
    /// Delay of its answer.
    pub slow_ns: u64,
    /// Whether the answer is made unreadable.
    pub garbage: bool,
}

impl Faults {
    pub fn new(options: FaultOptions) -> Self {
        let FaultOptions { error, slow, garbage_every, .. } = &options;
        let on_commands = error.is_some() || slow.is_some() || garbage_every.is_some();
        let (connections, commands) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { options, on_commands, connections, commands }
    }

    /// Whether the newest connection is closed at once.
    pub fn refuses_connection(&self) -> bool {
        let number = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        self.options.refuse_every.is_some_and(|every| number.is_multiple_of(every))
    }

    /// Whether a connection with so many answered commands is closed.
    pub fn closes_after(&self, commands: u64) -> bool {
        self.options.close_after.is_some_and(|after| commands >= after)
    }

    /// The faults of the next command on documents.
    pub fn strike(&self) -> Struck {
        if !self.on_commands {
            return Struck::default();
        }
        let number = self.commands.fetch_add(1, Ordering::Relaxed) + 1;
        let FaultOptions { error, slow, garbage_every, .. } = &self.options;
        let error = error.filter(|it| number.is_multiple_of(it.every));
        let slow = slow.filter(|it| number.is_multiple_of(it.every));
        Struck {
            error: error.map(|it| it.what),
            slow_ns: slow.map_or(0, |it| nanoseconds(it.what)),
            garbage: garbage_every.is_some_and(|every| number.is_multiple_of(every)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nth_command_is_struck() {
        let faults = Faults::new(FaultOptions {
            error: Some(Every::parse_code("11600/3").expect("an error")),
            slow: Some(Every::parse_duration("2ms/2").expect("a time")),
            garbage_every: Some(6),
            ..FaultOptions::default()
        });
        let struck: Vec<Struck> = (0..6).map(|_| faults.strike()).collect();
        let errors: Vec<_> = struck.iter().map(|it| it.error.is_some()).collect();
        assert_eq!(errors, [false, false, true, false, false, true]);
        let slow: Vec<_> = struck.iter().map(|it| it.slow_ns).collect();
        assert_eq!(slow, [0, 2_000_000, 0, 2_000_000, 0, 2_000_000]);
        assert!(struck[5].garbage && !struck[..5].iter().any(|it| it.garbage));
    }

    #[test]
    fn connections_are_refused_and_closed_as_asked() {
        let options =
            FaultOptions { refuse_every: Some(2), close_after: Some(3), ..Default::default() };
        let faults = Faults::new(options);
        let refused: Vec<_> = (0..4).map(|_| faults.refuses_connection()).collect();
        assert_eq!(refused, [false, true, false, true]);
        assert!(!faults.closes_after(2) && faults.closes_after(3));
        assert_eq!(faults.strike(), Struck::default());
    }

    #[test]
    fn faults_that_cannot_be_are_named() {
        for wrong in ["11600", "x/3", "1/0", "-1/2", "1/x"] {
            assert!(Every::parse_code(wrong).is_err(), "{wrong}");
        }
        assert!(Every::parse_duration("5/10").is_err());
    }
}
