//! The live line on stderr: round, phase, arm, operations a second, time left.

use std::cell::Cell;
use std::fmt::{Display, Formatter};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use format::{figure, fixed};
use indicatif::{ProgressBar, ProgressStyle};

use base::say;
use base::say::clean;
use base::secrets::mask_text;

/// Off a terminal a line in this interval replaces the live one.
const LINE_EVERY: Duration = Duration::from_secs(10);

const TEMPLATE: &str = "{spinner} {wide_msg}";

/// A round whose time differs from the plan by this fraction is told.
const OFF_MAX: f64 = 0.25;

/// Progress within a phase.
#[derive(Debug, Clone, Copy)]
pub struct Laps {
    pub done: u32,
    pub planned: u32,
    /// The round's own standard error so far, in log units.
    pub error: Option<f64>,
}

impl Display for Laps {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "laps {}", self.done)?;
        match self.error {
            Some(error) => write!(formatter, " (standard error {} %)", fixed(error * 100.0, 1)),
            None => Ok(()),
        }
    }
}

/// Shows the present step on stderr: in a live line on a terminal, elsewhere in a line now and
/// then.
pub struct LiveLine {
    /// Stands before all that is said; empty where one experiment is alone.
    label: String,
    bar: Option<ProgressBar>,
    said: Cell<Instant>,
}

impl LiveLine {
    /// `template` is that of the live line, as indicatif takes it.
    pub fn new(template: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| live(template));
        Self { label: String::new(), bar, said: Cell::new(Instant::now()) }
    }

    /// Puts a name before each line, such as `embedded@6.0: `.
    fn labelled(self, label: &str) -> Self {
        Self { label: label.to_owned(), ..self }
    }

    pub fn is_live(&self) -> bool {
        self.bar.is_some()
    }

    /// Shows the present step; the words are only made where they are shown.
    pub fn show(&self, words: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(clean(&mask_text(&format!("{}{}", self.label, words()))));
        } else if self.said.get().elapsed() >= LINE_EVERY {
            say!("{}{}", self.label, words());
            self.said.set(Instant::now());
        }
    }

    /// Prints a line that stays, above the live one.
    pub fn note(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say!("{}{line}", self.label)),
            None => say!("{}{line}", self.label),
        }
    }

    /// Removes the live line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn live(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("a valid template");
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

pub struct LiveProgress {
    line: LiveLine,
    arms: Vec<String>,
    rounds: u32,
    round: u32,
    /// Why there are more rounds than were planned: `one more, for round 2 was disturbed`.
    more: Option<String>,
    /// Group of arms under way, of groups in this round.
    group: (usize, usize),
    phase: (String, usize, usize),
    laps: Laps,
    /// Time of a round by the plan.
    planned: Duration,
    /// When the rounds began, how many have ended since, and after how long the last of them.
    began: Instant,
    ended: u32,
    took: Duration,
}

impl LiveProgress {
    /// `rounds` are those up to the next look, `planned` is the time of one of them. `label` names
    /// the experiment among several.
    pub fn new(label: &str, arms: Vec<String>, rounds: u32, planned: Duration) -> Self {
        let label = if label.is_empty() { String::new() } else { format!("{label}: ") };
        Self {
            line: LiveLine::new(TEMPLATE).labelled(&label),
            arms,
            rounds,
            round: 0,
            more: None,
            group: (0, 1),
            phase: (String::new(), 0, 1),
            laps: Laps { done: 0, planned: 1, error: None },
            planned,
            began: Instant::now(),
            ended: 0,
            took: Duration::ZERO,
        }
    }

    pub fn extend(&mut self, rounds: u32) {
        (self.rounds, self.more) = (rounds, None);
    }

    /// The same in the place of disturbed rounds.
    pub fn replace(&mut self, rounds: u32, disturbed: &[u32]) {
        self.rounds = rounds;
        self.more = Some(match disturbed {
            [one] => format!("one more, for round {one} was disturbed"),
            all => {
                let numbers: Vec<String> = all.iter().map(u32::to_string).collect();
                format!("{} more, for rounds {} were disturbed", all.len(), numbers.join(", "))
            }
        });
    }

    /// `round 3/10`.
    fn place(&self) -> String {
        let more = self.more.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        format!("round {}/{}{more}", self.round, self.rounds)
    }

    /// Shows a step that measures nothing.
    pub fn doing(&self, words: &str) {
        self.line.show(|| words.to_owned());
    }

    /// Shows an arm's step between its turns.
    pub fn arm(&self, arm: usize, doing: &str) {
        let words = || format!("{}  {doing} {}", self.place(), self.arms[arm]);
        self.line.show(words);
    }

    pub fn round(&mut self, round: u32) {
        if self.ended == 0 {
            self.began = Instant::now();
        }
        self.round = round;
        self.group = (0, 1);
        self.phase.1 = 0;
        self.laps.done = 0;
    }

    /// After the first round the time of one is known.
    pub fn round_ended(&mut self) {
        self.ended += 1;
        self.took = self.began.elapsed();
        let off = self.took.as_secs_f64() / self.planned.as_secs_f64() - 1.0;
        let left = self.rounds.saturating_sub(self.round);
        if self.ended == 1 && off.abs() > OFF_MAX && left > 0 {
            self.note(&format!(
                "a round takes {}, the plan was {}; about {} more to the next look",
                duration(self.took),
                duration(self.planned),
                duration(self.took * left)
            ));
        }
    }

    /// Arms that live side by side begin: group number `at` of `of`.
    pub fn group(&mut self, at: usize, of: usize) {
        self.group = (at, of);
    }

    /// A phase begins: number `at` of `of`.
    pub fn phase(&mut self, name: &str, at: usize, of: usize) {
        self.phase = (name.to_owned(), at, of);
        self.laps = Laps { done: 0, planned: 1, error: None };
    }

    pub fn laps(&mut self, laps: Laps) {
        self.laps = laps;
    }

    /// Shows an arm's turn; `rate` is that of its last one, operations a second.
    pub fn turn(&self, arm: usize, doing: &str, rate: f64) {
        self.line.show(|| {
            format!(
                "{}  {} ({}/{})  {}{}  {}{}",
                self.place(),
                self.phase.0,
                self.phase.1 + 1,
                self.phase.2,
                if self.laps.planned > 1 { format!("{}  ", self.laps) } else { String::new() },
                if doing == self.phase.0 {
                    self.arms[arm].clone()
                } else {
                    format!("{} {doing}", self.arms[arm])
                },
                if rate > 0.0 { format!("{} ops/s  ", figure(rate)) } else { String::new() },
                self.left(),
            )
        });
    }

    fn left(&self) -> String {
        let phases = self.phase.2.max(1) as f64;
        let within = f64::from(self.laps.done) / f64::from(self.laps.planned.max(1));
        let group = (self.phase.1 as f64 + within.min(1.0)) / phases;
        let done = (self.group.0 as f64 + group) / self.group.1.max(1) as f64;
        // The plan at first, then the rounds' own times.
        let round_s = match self.ended {
            0 if done > 0.3 => self.began.elapsed().as_secs_f64() / done,
            0 => self.planned.as_secs_f64(),
            ended => self.took.as_secs_f64() / f64::from(ended),
        };
        let more = f64::from(self.rounds.saturating_sub(self.round)) + 1.0 - done;
        format!("{} left", duration(Duration::from_secs_f64(round_s * more.max(0.0))))
    }

    /// Removes the live line.
    pub fn finish(&self) {
        self.line.finish();
    }

    /// Leaves the terminal to another experiment's line.
    pub fn pause(&mut self) {
        self.line.finish();
    }

    pub fn resume(&mut self) {
        self.line.bar = self.line.bar.take().map(|_| live(TEMPLATE));
    }

    /// Prints a line that stays, above the live one.
    pub fn note(&self, line: &str) {
        self.line.note(line);
    }
}

/// `2 min 05 s`, `48 s`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_in_the_place_of_a_disturbed_one_says_so() {
        let mut progress = LiveProgress::new("", vec!["a".to_owned()], 2, Duration::from_secs(1));
        progress.round(2);
        assert_eq!(progress.place(), "round 2/2");
        progress.replace(3, &[2]);
        progress.round(3);
        assert_eq!(progress.place(), "round 3/3 (one more, for round 2 was disturbed)");
        progress.replace(4, &[2, 3]);
        let both = "round 3/4 (2 more, for rounds 2, 3 were disturbed)";
        assert_eq!(progress.place(), both);
        progress.extend(20);
        assert_eq!(progress.place(), "round 3/20", "on the way to the next look");
    }
}
