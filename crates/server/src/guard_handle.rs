//! The guard as mongodyno holds it: it lives as long as this value, or longer if it is released.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tokio::sync::watch;

use super::instance::{self, Ending, GuardEvent, Instance};
use super::options::StartOptions;
use base::child::{keep_to, ourselves};
use base::error::{Error, Result};
use base::process_id::ProcessId;

/// mongod gets 10 s from its guard; a little more for the data folder.
const STOP_LIMIT: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct GuardHandle {
    child: Child,
    /// Stdin of the guard, whose end is the order to stop; None for a background server.
    stdin: Option<ChildStdin>,
    events: watch::Receiver<Option<GuardEvent>>,
    pub instance: Instance,
    released: bool,
}

impl GuardHandle {
    pub fn spawn(
        instance: Instance,
        options: &StartOptions,
        log: &Path,
        detached: bool,
    ) -> Result<Self> {
        let stderr = OpenOptions::new().create(true).append(true).open(log);
        let stderr = stderr.map_err(|error| Error::file("write", log, &error))?;
        let mut command = options.guard_program.as_ref().map_or_else(ourselves, Command::new);
        command.arg("guard-server").arg(&instance.folder);
        command.stdout(Stdio::piped()).stderr(stderr);
        keep_to(&mut command, &options.cores);
        if detached {
            command.stdin(Stdio::null());
        } else {
            command.stdin(Stdio::piped()).process_group(0);
        }
        base::child::inherit_nothing(&mut command);
        let mut child = command
            .spawn()
            .map_err(|error| Error::file("start the guard", Path::new("mongodyno"), &error))?;
        let stdin = child.stdin.take();
        let events = listen(&mut child);
        Ok(Self { child, stdin, events, instance, released: false })
    }

    /// Returns mongod's process, or why there is none; None if it has ended already
    /// ([`Self::ending`]).
    pub async fn started(&mut self) -> Result<Option<ProcessId>, String> {
        let _ = tokio::time::timeout(Duration::from_secs(10), self.events.changed()).await;
        match &*self.events.borrow_and_update() {
            Some(GuardEvent::Started { mongod, .. }) => Ok(Some(*mongod)),
            Some(GuardEvent::Ended(_)) => Ok(None),
            Some(GuardEvent::Failed { reason }) => Err(reason.clone()),
            None => Err("the guard does not answer".to_string()),
        }
    }

    /// Resolves when mongod ends, or its guard.
    pub async fn ended(&self) -> Ending {
        let mut events = self.events.clone();
        loop {
            if let Some(GuardEvent::Ended(ending)) = &*events.borrow_and_update() {
                return *ending;
            }
            if events.changed().await.is_err() {
                // The guard was killed, and the kernel killed mongod with it.
                let killed = Ending { signal: Some(9), ..Ending::default() };
                return self.ending().unwrap_or(killed);
            }
        }
    }

    /// How mongod ended, if it has.
    pub fn ending(&self) -> Option<Ending> {
        match &*self.events.borrow() {
            Some(GuardEvent::Ended(ending)) => Some(*ending),
            _ => None,
        }
    }

    /// Lets a background server outlive mongodyno.
    pub fn release(mut self) {
        self.released = true;
    }

    /// Stops mongod and waits until its process and its data folder are gone.
    pub async fn stop(mut self) {
        self.ask_to_stop();
        let deadline = Instant::now() + STOP_LIMIT;
        while self.is_running() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn ask_to_stop(&mut self) {
        if self.stdin.take().is_none()
            && let Some(guard) = ProcessId::of(self.child.id())
        {
            guard.signal(Signal::SIGTERM);
        }
    }

    fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for GuardHandle {
    fn drop(&mut self) {
        if self.released {
            return;
        }
        self.ask_to_stop();
        let deadline = Instant::now() + STOP_LIMIT;
        while self.is_running() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        if self.is_running() {
            // The guard hangs; the kernel kills mongod with it.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        // The guard tidies up after itself, unless it or mongod was killed.
        instance::sweep_one(&self.instance);
    }
}

/// Reads the guard's lines as they come, in a thread, because reading must continue while the
/// runtime sleeps.
fn listen(guard: &mut Child) -> watch::Receiver<Option<GuardEvent>> {
    let (sender, receiver) = watch::channel(None);
    let stdout = guard.stdout.take().expect("the guard's stdout is a pipe");
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Ok(event) = serde_json::from_str(&line) {
                sender.send_replace(Some(event));
            }
        }
    });
    receiver
}

/// Returns a path that means the same to the guard, which may run in another folder.
pub(super) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::file("find", path, &error))
}
