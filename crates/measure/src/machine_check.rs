//! Looks at the machine before the first round: its other work, and whether its cores have to be
//! kept awake.

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

/// Duration of a look. We load and prepare meanwhile; our own work does not count.
const LOOK: Duration = Duration::from_secs(1);
/// How often keys are looked for.
const GLANCE: Duration = Duration::from_millis(100);
/// Longest wait for a busy machine to become quiet.
const PATIENCE: Duration = Duration::from_secs(20);
/// Other processes above this share of the machine disturb a round (methodology 3.4, G4).
const BUSY_FRACTION: f64 = 0.1;

impl Runner {
    /// Compares the machine with its first reading. Says who works on a busy one, and waits.
    /// Nothing disturbs simulated work.
    pub async fn look_at_machine(&mut self) -> Result<()> {
        if self.is_simulated() {
            return Ok(());
        }
        self.world.progress.doing("looking at the machine");
        let servers = listeners(&self.world.server.listening);
        let machine = &mut self.experiment.machine;
        if let Some(known) = &machine.keep_awake {
            // Added rounds are made as the first ones were.
            self.world.machine.awake =
                known.used.then(Awake::start).and_then(std::result::Result::ok);
        } else {
            let (awake, record) = decide(self.experiment.settings.keep_awake, &servers);
            self.world.machine.awake = awake;
            machine.keep_awake = Some(record);
        }
        let (mut began, mut before) = self
            .world
            .machine
            .first_reading
            .take()
            .unwrap_or_else(|| (Instant::now(), Reading::take()));
        let first = Instant::now();
        let keys = self.world.machine.waits.then(PressedKeys::new).flatten();
        let mut told = false;
        loop {
            let mut key = false;
            while !key && began.elapsed() < LOOK {
                sleep(GLANCE.min(LOOK.saturating_sub(began.elapsed()))).await;
                self.world.stop.check()?;
                key = keys.as_ref().is_some_and(PressedKeys::pressed);
            }
            let now = Reading::take();
            let noise = now.noise_since(&before, &listeners(&self.world.server.listening));
            (began, before) = (Instant::now(), now);
            let Some(busy) = busy(&noise, self.experiment.machine.cores) else {
                if told {
                    self.world.progress.note(&format!("quiet after {}", duration(first.elapsed())));
                }
                return Ok(());
            };
            if key || !self.world.machine.waits || first.elapsed() >= PATIENCE {
                self.world.progress.note(&format!("{busy}; going on"));
                self.world.progress.disturbed(Some(busy));
                return Ok(());
            }
            if !told {
                told = true;
                let key = if keys.is_some() { "any key or " } else { "" };
                self.world.progress.note(&format!(
                    "{busy}; it has {} to become quiet ({key}--no-wait goes on)",
                    duration(PATIENCE)
                ));
            }
        }
    }
}

/// Names the processes that keep the machine busy.
pub fn busy(noise: &MachineNoise, cores: u32) -> Option<String> {
    if noise.foreign_fraction <= BUSY_FRACTION {
        return None;
    }
    let used = |fraction: f64| format::fixed(fraction * f64::from(cores), 1);
    let each: Vec<String> = noise
        .foreign
        .iter()
        .enumerate()
        .map(|(place, it)| {
            let unit = if place == 0 { " cores" } else { "" };
            format!("{} {}{unit}", it.name, used(it.fraction))
        })
        .collect();
    // Processes in another container, and short-lived ones, have no name.
    let names = if each.is_empty() {
        format!("other processes {} cores", used(noise.foreign_fraction))
    } else {
        each.join(", ")
    };
    Some(format!("the machine is busy: {names}"))
}

/// A terminal that gives every key at once; restored on drop.
struct PressedKeys {
    stdin: Stdin,
    was: Termios,
}

impl PressedKeys {
    /// None without a terminal, or while another program has it.
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

impl Drop for PressedKeys {
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
