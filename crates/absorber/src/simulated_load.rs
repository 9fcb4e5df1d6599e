//! The absorber's load: service time, a queue of known capacity, stalls.
//!
//! Time is virtual. A worker is a number, the time at which it is free. A command takes the worker
//! that is free first, and its own connection sleeps until it is due. This is the FIFO queue of N
//! threads behind a condition variable, without its wake-ups.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use base::units::parse_duration;
use workload::random::Random;

/// Seed that all absorbers share, so that two compared arms meet the same times.
const JITTER_SEED: u64 = 0x6d6f_6e67_6f64_796e;

/// How service times scatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Jitter {
    /// Exponentially, with the service time as mean
    Exp,
}

/// Pause of service: nothing is served in `[k * period, k * period + length)` since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    length_ns: u64,
    period_ns: u64,
}

impl Stall {
    /// Reads `100ms/5s`: length and period.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (length, period) = text.split_once('/').ok_or("write LENGTH/PERIOD, as 100ms/5s")?;
        let stall = Self {
            length_ns: nanoseconds(parse_duration(length)?),
            period_ns: nanoseconds(parse_duration(period)?),
        };
        if (1..stall.period_ns).contains(&stall.length_ns) {
            return Ok(stall);
        }
        Err(format!("a stall of {length} every {period}: it must be shorter than its period"))
    }

    /// The begin of service at `at_ns` or, in a stall, after it.
    fn begins(self, at_ns: u64) -> u64 {
        let within = at_ns % self.period_ns;
        if within < self.length_ns { at_ns - within + self.length_ns } else { at_ns }
    }

    /// The end of `service_ns` of serving that begins at `start_ns`, outside of a stall.
    fn ends(self, start_ns: u64, service_ns: u64) -> u64 {
        if service_ns == 0 {
            return start_ns;
        }
        // Each period serves the same time: count the served time since 0, add, count back.
        let served_each = self.period_ns - self.length_ns;
        let (periods, within) = (start_ns / self.period_ns, start_ns % self.period_ns);
        let target = periods * served_each + within.saturating_sub(self.length_ns) + service_ns;
        // The last nanosecond decides: service that ends as a stall begins has ended.
        let (periods, within) = ((target - 1) / served_each, (target - 1) % served_each + 1);
        periods * self.period_ns + self.length_ns + within
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}ns/{}ns", self.length_ns, self.period_ns)
    }
}

/// The load of each command on documents.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadOptions {
    pub service_time: Option<Duration>,
    pub jitter: Option<Jitter>,
    pub stall: Option<Stall>,
    /// Number of workers; None if commands never wait for each other.
    pub workers: Option<u32>,
}

/// The service of a command. Nanoseconds of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    pub start_ns: u64,
    /// When the answer is due.
    pub due_ns: u64,
}

/// The load of one absorber, shared by its connections.
#[derive(Debug)]
pub struct SimulatedLoad {
    service_ns: u64,
    jitter: Option<Jitter>,
    stall: Option<Stall>,
    /// When each worker is free.
    workers: Option<Mutex<BinaryHeap<Reverse<u64>>>>,
    began_ns: u64,
    draws: Random,
}

impl SimulatedLoad {
    /// Returns None if commands are answered at once. Stalls count from `began_ns`.
    pub fn new(options: LoadOptions, began_ns: u64) -> Option<Self> {
        if options.service_time.is_none() && options.stall.is_none() {
            return None;
        }
        let free = |count| (0..count).map(|_| Reverse(0)).collect();
        Some(Self {
            service_ns: options.service_time.map_or(0, nanoseconds),
            jitter: options.jitter,
            stall: options.stall,
            workers: options.workers.map(|count| Mutex::new(free(count))),
            began_ns,
            draws: Random::new(JITTER_SEED, "service", &[]),
        })
    }

    /// The random numbers of one connection.
    pub fn draws(&self, connection: u64) -> Random {
        self.draws.stream(connection)
    }

    pub fn admit(&self, arrival_ns: u64, draws: &mut Random) -> Admission {
        let service_ns = match self.jitter {
            None => self.service_ns,
            Some(Jitter::Exp) => (self.service_ns as f64 * draws.exponential()) as u64,
        };
        let Some(workers) = &self.workers else { return self.serve(arrival_ns, service_ns) };
        let mut workers = workers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut first = workers.peek_mut().expect("clap asks for at least one worker");
        let admission = self.serve(arrival_ns.max(first.0), service_ns);
        first.0 = admission.due_ns;
        admission
    }

    fn serve(&self, ready_ns: u64, service_ns: u64) -> Admission {
        let Some(stall) = self.stall else {
            return Admission { start_ns: ready_ns, due_ns: ready_ns + service_ns };
        };
        let start = stall.begins(ready_ns.saturating_sub(self.began_ns));
        let due = stall.ends(start, service_ns);
        Admission { start_ns: self.began_ns + start, due_ns: self.began_ns + due }
    }
}

/// Nanoseconds of a duration, within 64 bits.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1000;
    const MS: u64 = 1_000_000;

    fn load(service_us: u64, stall: Option<&str>, workers: Option<u32>) -> SimulatedLoad {
        let options = LoadOptions {
            service_time: Some(Duration::from_micros(service_us)),
            jitter: None,
            stall: stall.map(|stall| Stall::parse(stall).expect("a stall")),
            workers,
        };
        SimulatedLoad::new(options, 1000 * MS).expect("a load")
    }

    fn dues(load: &SimulatedLoad, arrivals_ms: &[u64]) -> Vec<(u64, u64)> {
        let mut draws = load.draws(1);
        let mut admit = |ms: &u64| load.admit((1000 + ms) * MS, &mut draws);
        let since = |ns| (ns - 1000 * MS) / US;
        let admissions = arrivals_ms.iter().map(&mut admit);
        admissions.map(|it| (since(it.start_ns), since(it.due_ns))).collect()
    }

    #[test]
    fn without_workers_nobody_waits_for_another() {
        let times = dues(&load(200, None, None), &[0, 0, 1]);
        assert_eq!(times, [(0, 200), (0, 200), (1000, 1200)]);
    }

    #[test]
    fn one_worker_is_a_queue() {
        let times = dues(&load(5000, None, Some(1)), &[0, 1, 2, 30]);
        assert_eq!(times, [(0, 5000), (5000, 10_000), (10_000, 15_000), (30_000, 35_000)]);
    }

    #[test]
    fn of_two_workers_the_one_that_is_free_first_serves() {
        let times = dues(&load(5000, None, Some(2)), &[0, 2, 3, 4]);
        assert_eq!(times, [(0, 5000), (2000, 7000), (5000, 10_000), (7000, 12_000)]);
    }

    #[test]
    fn a_stall_moves_the_start() {
        // Nothing is served in [0, 10) and [100, 110) ms.
        let times = dues(&load(1000, Some("10ms/100ms"), None), &[0, 9, 10, 99, 104]);
        let wanted = [(10, 11), (10, 11), (10, 11), (99, 100), (110, 111)];
        assert_eq!(times, wanted.map(|(start, due)| (start * 1000, due * 1000)));
    }

    #[test]
    fn a_stall_interrupts_service() {
        let load = load(100_000, Some("10ms/50ms"), None);
        // 5 ms before the second window, two whole periods of 40 ms, then 15 ms.
        assert_eq!(dues(&load, &[45]), [(45_000, 175_000)]);
    }

    #[test]
    fn a_stall_alone_holds_until_it_is_over() {
        let stall = Some(Stall::parse("10ms/100ms").expect("a stall"));
        let load = SimulatedLoad::new(LoadOptions { stall, ..LoadOptions::default() }, 1000 * MS);
        let times = dues(&load.expect("a load"), &[3, 50, 100]);
        assert_eq!(times, [(10_000, 10_000), (50_000, 50_000), (110_000, 110_000)]);
    }

    #[test]
    fn exponential_times_have_the_mean_and_are_the_same_each_time() {
        let options = LoadOptions {
            service_time: Some(Duration::from_millis(1)),
            jitter: Some(Jitter::Exp),
            ..LoadOptions::default()
        };
        let times = |connection| {
            let load = SimulatedLoad::new(options, 0).expect("a load");
            let mut draws = load.draws(connection);
            (0..20_000).map(|_| load.admit(0, &mut draws).due_ns).collect::<Vec<_>>()
        };
        let first = times(1);
        let mean = first.iter().sum::<u64>() as f64 / 20_000.0;
        // The mean of n exponential numbers scatters by 1/sqrt(n): 0.7 %.
        assert!((mean / 1e6 - 1.0).abs() < 0.03, "{mean}");
        let above = first.iter().filter(|ns| **ns > 2_000_000).count();
        assert!((above as f64 / 20_000.0 - (-2.0_f64).exp()).abs() < 0.01, "{above}");
        assert_eq!(first, times(1));
        assert_ne!(first, times(2));
    }

    #[test]
    fn stalls_that_cannot_be_are_named() {
        for wrong in ["100ms", "5s/100ms", "100ms/100ms", "0/1s", "100/5"] {
            assert!(Stall::parse(wrong).is_err(), "{wrong}");
        }
        let stall = Stall::parse("100ms/5s").expect("a stall");
        assert_eq!(Stall::parse(&stall.to_string()), Ok(stall));
    }
}
