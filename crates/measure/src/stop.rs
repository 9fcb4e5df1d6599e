//! Ctrl-C: the first one ends the experiment after the turn under way, or soon where that lasts,
//! the second at once. A bug ends it as well.

use base::say;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use nix::libc;
use tokio::signal::unix::{Signal, SignalKind, signal};

use base::error::{Error, Exit, Result};

/// Time for the turn under way. The round that it is in is made anew in any case.
const LAST: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
}

impl Stop {
    pub fn check(&self) -> Result<()> {
        if self.asked.load(Ordering::Relaxed) { Err(interrupted()) } else { Ok(()) }
    }

    /// Records the first request, and waits for the second one or the end of its patience.
    pub async fn second(&self, requests: &mut Requests) -> Error {
        requests.next().await;
        self.asked.store(true, Ordering::Relaxed);
        say!("\nstopping after this turn; what is finished is kept (again: stop at once)");
        let _ = tokio::time::timeout(LAST, requests.next()).await;
        interrupted()
    }
}

/// SIGINT, SIGTERM, and SIGHUP of a closed terminal.
pub struct Requests {
    signals: Vec<Signal>,
}

/// Signals that were watched before. What they receive until they are watched again is a request to
/// the next experiment of a sweep, a study or a bisect: between two of them nothing else hears it.
static RESTING: Mutex<Vec<Vec<Signal>>> = Mutex::new(Vec::new());

impl Requests {
    /// From now on the signals no longer end the program by themselves.
    ///
    /// # Panics
    /// Never on a system that has signals.
    pub fn watch() -> Self {
        let rested = RESTING.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let watch = |kind| signal(kind).expect("signals can be watched");
        let all = || {
            let hangup = (!ignores_hangup()).then(SignalKind::hangup);
            let kinds = [SignalKind::interrupt(), SignalKind::terminate()].into_iter();
            kinds.chain(hangup).map(watch).collect()
        };
        Self { signals: rested.unwrap_or_else(all) }
    }

    pub async fn next(&mut self) {
        poll_fn(|context| {
            let mut any = self.signals.iter_mut().map(|signal| signal.poll_recv(context));
            any.find(Poll::is_ready).map_or(Poll::Pending, |_| Poll::Ready(()))
        })
        .await;
    }

    /// Waits for `work`, unless somebody asks to stop first.
    pub async fn or<T>(&mut self, work: impl Future<Output = T>) -> Result<T> {
        tokio::select! {
            biased; // a request during work without an await comes before its answer
            () = self.next() => Err(interrupted()),
            answer = work => Ok(answer),
        }
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        let mut resting = RESTING.lock().unwrap_or_else(PoisonError::into_inner);
        resting.push(std::mem::take(&mut self.signals));
    }
}

/// From now on a file that may grow no more is an error of its writer, not the end of the program.
/// A signal that is ignored would be so for children too; a handler is not.
pub fn outlive_large_files() {
    let _ = signal(SignalKind::from_raw(libc::SIGXFSZ));
}

/// Whether we were started by `nohup`, which a handler of ours would undo.
pub fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 != 0) // SIGHUP is signal 1
}

pub fn interrupted() -> Error {
    Error::new(Exit::Interrupted, "interrupted", "")
}

/// Catches a panic of `work`, so that the steps after it still happen.
pub async fn caught<T>(work: impl Future<Output = T>) -> std::thread::Result<T> {
    let mut work = pin!(work);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_the_middle_of_some_work_is_caught() {
        let work = async {
            tokio::task::yield_now().await;
            panic!("a bug");
        };
        let panic: std::thread::Result<()> = caught(work).await;
        assert_eq!(panic.expect_err("a panic").downcast_ref(), Some(&"a bug"));
        assert_eq!(caught(async { 7 }).await.expect("no panic"), 7);
    }
}
