//! One clock for all processes of an experiment: `CLOCK_MONOTONIC`, counted from an epoch.

use std::fmt;

use nix::time::{ClockId, clock_gettime};

/// The experiment's zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    monotonic_ns: u64,
}

impl Epoch {
    /// Now is zero.
    #[must_use]
    pub fn start() -> Self {
        Self { monotonic_ns: monotonic_ns() }
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.monotonic_ns)
    }

    /// The system's own reading of CLOCK_MONOTONIC at `at_ns` since the epoch, for sleeps until
    /// then.
    #[must_use]
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

/// CLOCK_MONOTONIC, ns.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has CLOCK_MONOTONIC");
    now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned()
}

/// Wall clock, RFC 3339 in UTC, to the second.
#[must_use]
pub fn wall() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
