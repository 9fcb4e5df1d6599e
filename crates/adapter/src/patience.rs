//! How long the core waits for an answer: when it prints a warning, and when the adapter counts as
//! lost.

use std::path::Path;
use std::time::{Duration, Instant};

/// An answer that takes this many times its planned time, and at least the next constant, is
/// reported.
const TOLD_TIMES: u32 = 10;
const TOLD_AFTER: Duration = Duration::from_secs(2);
/// After this many times the planned time, and at least the next constant, the adapter counts as
/// lost.
const MOST_TIMES: u32 = 30;
const MOST_AFTER: Duration = Duration::from_secs(60);
/// Planned time of an answer to anything but a turn.
const REQUEST: Duration = Duration::from_secs(1);

/// How long a turn may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// From its message to the time at which its workers begin nothing new; None where a count
    /// alone ends it.
    pub length: Option<Duration>,
    /// How long it takes by the plan: the turn from its message, or one operation of a counted
    /// turn.
    plan: Duration,
    pub(crate) most: Duration,
    /// Whether the time begins anew with each sample. A million inserts may take an hour.
    counted: bool,
}

impl Patience {
    /// Patience for a turn that time ends. An operation may take at least `longest`.
    pub fn timed(length: Duration, longest: Duration) -> Self {
        Self::planned(length, length, longest)
    }

    /// Patience for a turn that should end before its time.
    pub fn planned(length: Duration, plan: Duration, longest: Duration) -> Self {
        let most = MOST_AFTER.max(plan.saturating_mul(MOST_TIMES)).max(longest);
        Self { length: Some(length), plan, most, counted: false }
    }

    /// Patience for a turn that ends by a count, or before that by time.
    pub fn counted(length: Option<Duration>, operation: Duration, longest: Duration) -> Self {
        let planned = Self::planned(Duration::ZERO, operation, longest);
        Self { length, counted: true, ..planned }
    }

    /// Extends it for a turn that waits that long for others.
    pub fn and(self, more: Duration) -> Self {
        Self { length: self.length.map(|it| it + more), most: self.most + more, ..self }
    }

    /// Patience for an answer that comes within a limit or never.
    pub(crate) fn request(limit: Duration) -> Self {
        Self { length: Some(Duration::ZERO), plan: REQUEST, most: limit, counted: false }
    }
}

/// Signs that an adapter is working.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signs {
    pub cpu_ns: u64,
    pub sample_bytes: u64,
}

/// One answer that is waited for.
pub(crate) struct Wait {
    patience: Patience,
    /// Without a sign for this long, the adapter counts as idle.
    rest: Duration,
    sent: Instant,
    /// Time from which its limit counts.
    from: Instant,
    told: bool,
    first: Signs,
    /// Size of its samples when they last grew.
    grown_bytes: u64,
    /// When signs are read next, and the signs read last.
    look: Instant,
    looked: Option<Signs>,
}

/// Step to take after some time without an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Wait,
    Tell,
    /// The adapter is idle: it is lost, unless its server works.
    Rests,
    /// The time limit is reached.
    Over,
}

impl Wait {
    /// `now` is when it begins, which may be some time after the turn was sent.
    pub fn new(
        patience: Patience,
        rest: Duration,
        (sent, now): (Instant, Instant),
        signs: Signs,
    ) -> Self {
        let look = (sent + patience.length.unwrap_or_default()).max(now);
        let from = if patience.counted { now } else { sent };
        let (first, grown_bytes) = (signs, signs.sample_bytes);
        Self { patience, rest, sent, from, told: false, first, grown_bytes, look, looked: None }
    }

    /// When to look again.
    pub fn until(&self) -> Instant {
        let tell = self.from + self.told_after();
        let over = self.from + self.patience.most;
        let next = if self.told { over } else { tell.min(over) };
        next.min(self.look)
    }

    fn told_after(&self) -> Duration {
        TOLD_AFTER.max(self.patience.plan.saturating_mul(TOLD_TIMES))
    }

    pub fn next(&mut self, now: Instant, signs: Signs) -> Due {
        if self.patience.counted && signs.sample_bytes > self.grown_bytes {
            self.grown_bytes = signs.sample_bytes;
            // An adapter that continues after the end of its turn gets no more time.
            self.from = self.patience.length.map_or(now, |length| now.min(self.sent + length));
        }
        if now >= self.from + self.patience.most {
            return Due::Over;
        }
        let is_due = !self.told && now >= self.from + self.told_after();
        let mut rests = false;
        if now >= self.look {
            // A driver's monitoring takes some microseconds now and then, which does not count as
            // work.
            let rested = |last: Signs| {
                let used_ns = u128::from(signs.cpu_ns.saturating_sub(last.cpu_ns));
                used_ns * 1000 <= self.rest.as_nanos() && signs.sample_bytes == last.sample_bytes
            };
            rests = self.looked.is_some_and(rested);
            (self.looked, self.look) = (Some(signs), now + self.rest);
        }
        match (rests, is_due) {
            (true, _) => Due::Rests,
            (false, true) => {
                self.told = true;
                Due::Tell
            }
            (false, false) => Due::Wait,
        }
    }

    /// How long the core waited for an idle adapter.
    pub fn rested(&self) -> Duration {
        self.patience.length.unwrap_or_default() + self.rest
    }

    pub fn seconds(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.sent).as_secs()
    }

    /// Description of what the adapter has done meanwhile.
    pub fn done(&self, signs: Signs, busy: bool) -> String {
        let cpu_ms = signs.cpu_ns.saturating_sub(self.first.cpu_ns) / 1_000_000;
        let server = if busy { ", and its server works for it" } else { "" };
        format!("it used {cpu_ms} ms of CPU time meanwhile{server}")
    }
}

/// Bytes of the samples so far.
pub(crate) fn sample_bytes(samples: &Path) -> u64 {
    std::fs::metadata(samples).map_or(0, |it| it.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn signs(cpu_ms: u64, sample_bytes: u64) -> Signs {
        Signs { cpu_ns: cpu_ms * 1_000_000, sample_bytes }
    }

    /// The first seconds at which something is done about a process with these signs.
    fn done(patience: Patience, at: impl Fn(u64) -> Signs) -> Vec<(u64, Due)> {
        let sent = Instant::now();
        let mut wait = Wait::new(patience, 10 * S, (sent, sent), at(0));
        let mut done = Vec::new();
        for second in 0..10_000 {
            let now = sent + S * second;
            if now < wait.until() {
                continue;
            }
            let next = wait.next(now, at(second.into()));
            let last = matches!(next, Due::Rests | Due::Over);
            if next != Due::Wait {
                done.push((second.into(), next));
            }
            if last {
                break;
            }
        }
        done
    }

    #[test]
    fn a_turn_that_never_ends_is_told_and_ended() {
        let busy = |second| signs(10 * second, 0);
        let timed = |length| done(Patience::timed(length, Duration::ZERO), busy);
        assert_eq!(timed(S / 20), [(2, Due::Tell), (60, Due::Over)]);
        assert_eq!(timed(3 * S), [(30, Due::Tell), (90, Due::Over)]);
        let longest = done(Patience::timed(S / 20, 300 * S), busy);
        assert_eq!(longest, [(2, Due::Tell), (300, Due::Over)]);
        let request = done(Patience::request(30 * S), busy);
        assert_eq!(request, [(10, Due::Tell), (30, Due::Over)]);
    }

    #[test]
    fn an_adapter_that_rests_is_lost_sooner() {
        let rests = done(Patience::timed(S, Duration::ZERO), |_| signs(7, 0));
        assert_eq!(rests, [(10, Due::Tell), (11, Due::Rests)]);
    }

    #[test]
    fn a_counted_turn_has_its_time_for_each_operation() {
        let counted = |length| Patience::counted(length, S / 1000, Duration::ZERO);
        // An operation takes 50 s, and the 20th never ends.
        let twenty = |second: u64| signs(10 * second, 32 * (second / 50).min(20));
        let found = done(counted(None), twenty);
        assert_eq!(found.first(), Some(&(2, Due::Tell)));
        let [(over, Due::Over)] = found[1..] else { panic!("{found:?}") };
        assert!((1_050..1_130).contains(&over), "{over}");
        // It never heeds the end of its time.
        let found = done(counted(Some(100 * S)), |second| signs(10 * second, 32 * second));
        assert_eq!(found.last(), Some(&(160, Due::Over)));
    }
}
