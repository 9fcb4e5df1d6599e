//! Ctrl-C: the first one ends the experiment after the turn under way, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use crate::error::{Error, Exit, Result};

/// Whether somebody asked to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
}

impl Stop {
    /// Fails with [`Exit::Interrupted`] once somebody asked to stop.
    ///
    /// # Errors
    /// Interrupted.
    pub fn check(&self) -> Result<()> {
        if self.asked.load(Ordering::Relaxed) { Err(interrupted()) } else { Ok(()) }
    }

    /// Waits for the second request (SIGINT or SIGTERM), noting the first.
    ///
    /// # Panics
    /// Never on a system that has signals.
    pub async fn second(&self) -> Error {
        let mut interrupt = signal(SignalKind::interrupt()).expect("signals can be watched");
        let mut terminate = signal(SignalKind::terminate()).expect("signals can be watched");
        let mut next = async || {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        };
        next().await;
        self.asked.store(true, Ordering::Relaxed);
        eprintln!("\nstopping after this turn; what is finished is kept (again: stop at once)");
        next().await;
        interrupted()
    }
}

/// The error of an experiment that was interrupted.
#[must_use]
pub fn interrupted() -> Error {
    Error::new(Exit::Interrupted, "interrupted", "")
}
