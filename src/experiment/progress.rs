//! The live line on stderr: round, phase, arm, operations a second, time left.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Off a terminal a line every so often replaces the live one.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how far the experiment is.
pub struct Progress {
    bar: Option<ProgressBar>,
    arms: Vec<String>,
    rounds: u32,
    round: u32,
    /// Group of arms under way, of groups in this round.
    group: (usize, usize),
    phase: (String, usize, usize),
    /// Laps done of laps in this phase.
    lap: (u32, u32),
    started: Instant,
    estimated: Duration,
    last_line: Instant,
}

impl Progress {
    /// `rounds` and `estimated` are those up to the next look.
    #[must_use]
    pub fn new(arms: Vec<String>, rounds: u32, estimated: Duration) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {msg}").expect("a valid template");
            let bar = ProgressBar::new_spinner().with_style(style);
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        Self {
            bar,
            arms,
            rounds,
            round: 0,
            group: (0, 1),
            phase: (String::new(), 0, 1),
            lap: (0, 1),
            started: Instant::now(),
            estimated,
            last_line: Instant::now(),
        }
    }

    /// A further look was asked for.
    pub fn extend(&mut self, rounds: u32) {
        let per_round = self.started.elapsed() / self.round.max(1);
        self.rounds = rounds;
        self.estimated = per_round * rounds;
    }

    /// A round begins.
    pub fn round(&mut self, round: u32) {
        self.round = round;
    }

    /// Arms that live side by side begin: group number `at` of `of`.
    pub fn group(&mut self, at: usize, of: usize) {
        self.group = (at, of);
    }

    /// A phase begins: number `at` of `of`.
    pub fn phase(&mut self, name: &str, at: usize, of: usize) {
        self.phase = (name.to_owned(), at, of);
        self.lap = (0, 1);
    }

    /// A lap is done.
    pub fn lap(&mut self, done: u32, of: u32) {
        self.lap = (done, of);
    }

    /// An arm has its turn; `rate` is that of its last one, operations a second.
    pub fn turn(&mut self, arm: usize, doing: &str, rate: f64) {
        let due = self.last_line.elapsed() >= LINE_EVERY;
        if self.bar.is_none() && !due {
            return;
        }
        let message = format!(
            "round {}/{}  {} ({}/{})  {}  {}{}",
            self.round,
            self.rounds,
            self.phase.0,
            self.phase.1 + 1,
            self.phase.2,
            if doing == self.phase.0 {
                self.arms[arm].clone()
            } else {
                format!("{} {doing}", self.arms[arm])
            },
            if rate > 0.0 { format!("{rate:.0} ops/s  ") } else { String::new() },
            self.left(),
        );
        if let Some(bar) = &self.bar {
            bar.set_message(message);
        } else {
            say!("{message}");
            self.last_line = Instant::now();
        }
    }

    fn left(&self) -> String {
        let phases = self.phase.2.max(1) as f64;
        let within = f64::from(self.lap.0) / f64::from(self.lap.1.max(1));
        let group = (self.phase.1 as f64 + within) / phases;
        let round = (self.group.0 as f64 + group) / self.group.1.max(1) as f64;
        let done = (f64::from(self.round.max(1)) - 1.0 + round) / f64::from(self.rounds.max(1));
        let elapsed = self.started.elapsed();
        // The estimate at first, what was measured later on.
        let whole =
            if done > 0.1 { elapsed.as_secs_f64() / done } else { self.estimated.as_secs_f64() };
        let left = Duration::from_secs_f64((whole - elapsed.as_secs_f64()).max(0.0));
        format!("{} left", duration(left))
    }

    /// The live line goes away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// A line that stays, above the live one.
    pub fn note(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say!("{line}")),
            None => say!("{line}"),
        }
    }
}

/// `2 min 05 s`, `48 s`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}
