//! A short look at the machine before the first round: what else goes on there, and whether its
//! cores have to be kept awake.

use std::io::{IsTerminal as _, Stdin, stdin};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{FlushArg, LocalFlags, SetArg, Termios, tcflush, tcgetattr, tcsetattr};
use nix::unistd::{getpgrp, tcgetpgrp};
use tokio::time::sleep;

use crate::awake::{Awake, decide};
use crate::progress::duration;
use crate::runner::Runner;
use base::error::Result;
use record::machine::Reading;
use record::records::MachineNoise;
use server::listeners;

/// How long a look takes. We load and prepare meanwhile; that work is ours and does not disturb it.
const LOOK: Duration = Duration::from_secs(1);
/// How long a key may go unnoticed.
const GLANCE: Duration = Duration::from_millis(100);
/// How long a busy machine has to become quiet.
const PATIENCE: Duration = Duration::from_secs(20);
/// More of the machine in the hands of others disturbs a round (methodology 3.4, G4).
const BUSY_FRACTION: f64 = 0.1;

impl Runner {
    /// Looks at the machine since it was first read. A busy one is named and waited for. Pretended
    /// work is disturbed by nothing.
    ///
    /// # Errors
    /// Interrupted.
    pub async fn look_at_machine(&mut self) -> Result<()> {
        if self.is_simulated() {
            return Ok(());
        }
        self.progress.doing("looking at the machine");
        let servers = listeners(&self.places);
        let machine = &mut self.experiment.machine;
        if let Some(known) = &machine.keep_awake {
            // Rounds that are added are made as the first ones were.
            self.awake = known.used.then(Awake::start).and_then(std::result::Result::ok);
        } else {
            let (awake, record) = decide(self.experiment.settings.keep_awake, &servers);
            self.awake = awake;
            machine.keep_awake = Some(record);
        }
        let (mut began, mut before) =
            self.looked.take().unwrap_or_else(|| (Instant::now(), Reading::take()));
        let first = Instant::now();
        let keys = self.waits.then(Keys::new).flatten();
        let mut told = false;
        loop {
            let mut key = false;
            while !key && began.elapsed() < LOOK {
                sleep(GLANCE.min(LOOK.saturating_sub(began.elapsed()))).await;
                self.stop.check()?;
                key = keys.as_ref().is_some_and(Keys::pressed);
            }
            let now = Reading::take();
            let noise = now.noise_since(&before, &listeners(&self.places));
            (began, before) = (Instant::now(), now);
            let Some(busy) = busy(&noise, self.experiment.machine.cores) else {
                if told {
                    self.progress.note(&format!("quiet after {}", duration(first.elapsed())));
                }
                return Ok(());
            };
            if key || !self.waits || first.elapsed() >= PATIENCE {
                self.progress.note(&format!("{busy}; going on"));
                return Ok(());
            }
            if !told {
                told = true;
                let key = if keys.is_some() { "any key or " } else { "" };
                self.progress.note(&format!(
                    "{busy}; it has {} to become quiet ({key}--no-wait goes on)",
                    duration(PATIENCE)
                ));
            }
        }
    }
}

/// Says who works on the machine, if it is too much.
fn busy(noise: &MachineNoise, cores: u32) -> Option<String> {
    if noise.foreign_fraction <= BUSY_FRACTION {
        return None;
    }
    let used = |fraction: f64| figures::fixed(fraction * f64::from(cores), 1);
    let each: Vec<String> = noise
        .foreign
        .iter()
        .enumerate()
        .map(|(place, it)| {
            let unit = if place == 0 { " cores" } else { "" };
            format!("{} {}{unit}", it.name, used(it.fraction))
        })
        .collect();
    // Those in another container, and those that came and went, have no name.
    let names = if each.is_empty() {
        format!("other processes {} cores", used(noise.foreign_fraction))
    } else {
        each.join(", ")
    };
    Some(format!("the machine is busy: {names}"))
}

/// A terminal that gives every key at once; as it was when this ends.
struct Keys {
    stdin: Stdin,
    was: Termios,
}

impl Keys {
    /// None where nobody sits at a terminal, or where it is another program's turn there.
    fn new() -> Option<Self> {
        let stdin = stdin();
        if !stdin.is_terminal() || tcgetpgrp(&stdin).ok()? != getpgrp() {
            return None;
        }
        let was = tcgetattr(&stdin).ok()?;
        let mut each = was.clone();
        each.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
        tcsetattr(&stdin, SetArg::TCSANOW, &each).ok()?;
        Some(Self { stdin, was })
    }

    fn pressed(&self) -> bool {
        let mut keys = [PollFd::new(self.stdin.as_fd(), PollFlags::POLLIN)];
        poll(&mut keys, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // The key was for us, not for the shell.
        let _ = tcflush(&self.stdin, FlushArg::TCIFLUSH);
        let _ = tcsetattr(&self.stdin, SetArg::TCSANOW, &self.was);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::records::ForeignProcess;

    #[test]
    fn a_busy_machine_is_named_in_cores() {
        let foreign = |name: &str, fraction| ForeignProcess { name: name.to_owned(), fraction };
        let mut noise = MachineNoise { foreign_fraction: 0.85, ..MachineNoise::default() };
        let said = |noise: &MachineNoise| busy(noise, 2);
        assert_eq!(said(&noise).as_deref(), Some("the machine is busy: other processes 1.7 cores"));
        noise.foreign = vec![foreign("rustc", 0.7), foreign("chrome", 0.15)];
        assert_eq!(
            said(&noise).as_deref(),
            Some("the machine is busy: rustc 1.4 cores, chrome 0.3")
        );
        noise.foreign_fraction = 0.09;
        assert_eq!(said(&noise), None);
    }
}
