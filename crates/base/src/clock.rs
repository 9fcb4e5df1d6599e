//! One clock for all processes of an experiment: `CLOCK_MONOTONIC`, counted from an epoch.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Zero of an experiment's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    monotonic_ns: u64,
}

impl Epoch {
    pub fn start() -> Self {
        Self { monotonic_ns: monotonic_ns() }
    }

    pub fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.monotonic_ns)
    }

    /// Reading of CLOCK_MONOTONIC at `at_ns` since the epoch, for sleeps until then.
    pub fn system_ns(&self, at_ns: u64) -> u64 {
        self.monotonic_ns.saturating_add(at_ns)
    }
}

impl fmt::Display for Epoch {
    /// The decimal string that `hello` carries: it exceeds 2^53 after 104 days of uptime.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.monotonic_ns)
    }
}

impl std::str::FromStr for Epoch {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self { monotonic_ns: text.parse()? })
    }
}

pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has CLOCK_MONOTONIC");
    now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned()
}

/// Sleeps until a time of CLOCK_MONOTONIC; does not sleep if it has passed.
pub fn sleep_until(due_ns: u64) {
    let due = TimeSpec::from_duration(Duration::from_nanos(due_ns));
    let flags = ClockNanosleepFlags::TIMER_ABSTIME;
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, flags, &due) == Err(Errno::EINTR) {}
}

/// Makes the calling thread's sleeps end when they are due. Otherwise the kernel may add 50 us, to
/// wake several threads at once. A refusal is no error.
pub fn sharpen_sleeps() {
    let _ = set_timerslack(1);
}

pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// RFC 3339 in UTC, to the second.
pub fn wall() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_ends_at_the_time_and_not_before() {
        let due_ns = monotonic_ns() + 2_000_000;
        sleep_until(due_ns);
        assert!(monotonic_ns() >= due_ns);
        sleep_until(0);
    }
}
