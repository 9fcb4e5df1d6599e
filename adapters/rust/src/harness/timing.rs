//! Clock, stop, sleep: a process has one of each, so they are statics.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::time::{
    clock_gettime, timerfd_create, timerfd_settime, ClockId, Itimerspec, TimerfdClockId,
    TimerfdFlags, TimerfdTimerFlags, Timespec,
};
use tokio::io::unix::AsyncFd;
use tokio::sync::SetOnce;

const SECOND_NS: u64 = 1_000_000_000;

pub static EPOCH_NS: AtomicU64 = AtomicU64::new(0);

/// Set by SIGTERM.
pub static STOP: SetOnce<()> = SetOnce::const_new();

/// CLOCK_MONOTONIC since the epoch. `Instant` reads the same clock, but does not expose its value.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let now_ns = now.tv_sec as u64 * SECOND_NS + now.tv_nsec as u64;
    now_ns.saturating_sub(EPOCH_NS.load(Relaxed))
}

/// A timer of the kernel. Tokio's timers round up to whole milliseconds, more than many operations
/// take.
pub struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    pub fn new() -> io::Result<Alarm> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: an OwnedFd is the same open descriptor from now until the AsyncFd drops it.
        Ok(Alarm(unsafe { AsyncFd::register(timer)? }))
    }

    /// SIGTERM cuts it short.
    pub async fn sleep_until(&self, at_ns: u64) -> io::Result<()> {
        let at_ns = EPOCH_NS.load(Relaxed) + at_ns;
        let (tv_sec, tv_nsec) = ((at_ns / SECOND_NS) as i64, (at_ns % SECOND_NS) as i64);
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval, it_value: Timespec { tv_sec, tv_nsec } };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &time)?;
        tokio::select! {
            // The next setting clears the expiry, so it need not be read.
            ready = self.0.readable() => ready?.clear_ready(),
            _ = STOP.wait() => {}
        }
        Ok(())
    }
}
