//! Clock, stop, sleep.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::Arc;

use rustix::time::{
    clock_gettime, timerfd_create, timerfd_settime, ClockId, Itimerspec, TimerfdClockId,
    TimerfdFlags, TimerfdTimerFlags, Timespec,
};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// CLOCK_MONOTONIC in nanoseconds since the epoch. `Instant` reads the same clock, but does not
/// give its value.
#[derive(Clone, Copy, Default)]
pub struct Clock {
    pub epoch_ns: u64,
}

impl Clock {
    pub fn now_ns(self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        now_ns.saturating_sub(self.epoch_ns)
    }
}

/// Whether SIGTERM has come.
#[derive(Default)]
pub struct Stop {
    raised: AtomicBool,
    notify: Notify,
}

impl Stop {
    pub fn raise(&self) {
        self.raised.store(true, SeqCst);
        self.notify.notify_waiters();
    }

    pub fn is_raised(&self) -> bool {
        self.raised.load(Relaxed)
    }

    pub async fn wait(&self) {
        // It is made before the flag is read, and so hears a stop that comes in between.
        let notified = self.notify.notified();
        if !self.raised.load(SeqCst) {
            notified.await;
        }
    }
}

/// A timer of the kernel. Tokio's own rounds up to whole milliseconds, more than many operations
/// take.
pub struct Alarm {
    timer: AsyncFd<OwnedFd>,
    clock: Clock,
    stop: Arc<Stop>,
}

impl Alarm {
    pub fn new(clock: Clock, stop: &Arc<Stop>) -> io::Result<Alarm> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: an OwnedFd is the same open descriptor from now until the AsyncFd drops it.
        let timer = unsafe { AsyncFd::register(timer)? };
        Ok(Alarm { timer, clock, stop: Arc::clone(stop) })
    }

    pub async fn sleep_until(&self, at_ns: u64) -> io::Result<()> {
        let at_ns = (self.clock.epoch_ns + at_ns) as i64;
        let time = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &time)?;
        tokio::select! {
            // The next setting clears the expiry: nobody has to read it.
            ready = self.timer.readable() => ready?.clear_ready(),
            () = self.stop.wait() => {}
        }
        Ok(())
    }
}
