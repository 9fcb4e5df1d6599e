//! How far an experiment is, on stderr: a block that is drawn over itself on a terminal, elsewhere
//! a sentence now and then.

use std::cell::{Cell, RefCell};
use std::fmt::{Display, Formatter};
use std::time::{Duration, Instant};

use format::fixed;

use crate::live_block::{LiveBlock, ticking};
use crate::rates::RatesSoFar;
use base::live;
use base::say;
use record::records::Run;

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

pub struct LiveProgress {
    block: LiveBlock,
    /// Precedes all lines; empty where one experiment is alone.
    label: String,
    arms: Vec<String>,
    /// Whether the first arm is the baseline of the others.
    judged: bool,
    rates: RatesSoFar,
    rounds: u32,
    round: u32,
    /// Why there are more rounds than were planned: `one more, for round 2 was disturbed`.
    more: Option<String>,
    /// What worked beside the experiment in its last round.
    disturbance: Option<String>,
    /// Group of arms under way, of groups in this round.
    group: (usize, usize),
    phase: (String, usize, usize),
    /// Arms that take part in the phase, and turns that they have ended.
    taking: usize,
    turns: u32,
    laps: Laps,
    /// What happens now, and since when.
    step: RefCell<String>,
    since: Cell<Instant>,
    /// Time of a round by the plan.
    planned: Duration,
    /// When the rounds began, how many have ended since, and after how long the last of them.
    began: Instant,
    ended: u32,
    took: Duration,
}

impl LiveProgress {
    /// `rounds` are those up to the next look, `planned` is the time of one of them. `label` names
    /// the experiment among several. With `judged` the first arm is the baseline.
    pub fn new(
        label: &str,
        (arms, judged): (Vec<String>, bool),
        rounds: u32,
        planned: Duration,
    ) -> Self {
        Self {
            block: LiveBlock::new(),
            label: if label.is_empty() { String::new() } else { format!("{label}: ") },
            arms,
            judged,
            rates: RatesSoFar::default(),
            rounds,
            round: 0,
            more: None,
            disturbance: None,
            group: (0, 1),
            phase: (String::new(), 0, 1),
            taking: 1,
            turns: 0,
            laps: Laps { done: 0, planned: 1, error: None },
            step: RefCell::default(),
            since: Cell::new(Instant::now()),
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

    /// What works beside the experiment; None: nothing does.
    pub fn disturbed(&mut self, by: Option<String>) {
        self.disturbance = by;
    }

    /// Takes the rates of a finished run, in the place of what its turns have told.
    pub fn ran(&mut self, run: &Run) {
        let Some(arm) = self.arms.iter().position(|id| *id == run.arm) else { return };
        self.rates.forget(arm, run.round);
        for phase in &run.phases {
            self.rates.note(&phase.phase, arm, run.round, phase.throughput);
        }
    }

    /// The block, in at most two lines more than there are arms and the first one.
    fn lines(&self, columns: usize) -> Vec<String> {
        let step = self.step.borrow();
        if self.round == 0 {
            return vec![format!("{}{step}", self.label)];
        }
        let mut lines = vec![format!(
            "{}round {} of {}, {} left: {step}",
            self.label,
            self.round,
            self.rounds,
            duration(self.left())
        )];
        lines.extend(self.rates.rows(&self.phase.0, &self.arms, self.judged, columns));
        lines.extend(self.more.iter().chain(&self.disturbance).map(|words| format!("  {words}")));
        lines
    }

    /// The same for a file or a pipe.
    fn sentence(&self) -> String {
        let (label, step) = (&self.label, self.step.borrow());
        if self.round == 0 {
            return format!("{label}mongodyno is {step}.");
        }
        let rates = self.rates.words(&self.phase.0, &self.arms, self.judged);
        let rates = if rates.is_empty() {
            "no rates yet".to_owned()
        } else {
            format!("operations a second so far: {rates}")
        };
        let others = self.more.iter().chain(&self.disturbance);
        let others: String = others.flat_map(|words| ["; ", words]).collect();
        format!(
            "{label}Round {} of {} is under way ({step}), about {} are left; {rates}{others}.",
            self.round,
            self.rounds,
            duration(self.left()),
        )
    }

    /// The state for the live page, which changes with each round.
    fn state(&self) -> String {
        let round = self.round.max(1);
        format!("{}run under way: round {round} of {}", self.label, self.rounds)
    }

    fn show(&self) {
        self.block.show(|columns| self.lines(columns), || self.sentence());
        self.block.view(|| self.state(), || self.sentence());
    }

    fn step(&self, words: String) {
        self.step.replace(words);
        self.since.set(Instant::now());
    }

    /// Shows a step that measures nothing: `starting the server`.
    pub fn doing(&self, words: &str) {
        self.step(words.to_owned());
        self.block.hurry();
        self.show();
    }

    /// Shows how far such a step is. It may be called often.
    pub fn counting(&self, words: impl FnOnce() -> String) {
        self.step(words());
        self.show();
    }

    /// Shows an arm's step between its turns: `starting`.
    pub fn arm(&self, arm: usize, doing: &str) {
        self.doing(&format!("{doing} {}", self.arms[arm]));
    }

    pub fn round(&mut self, round: u32) {
        if self.ended == 0 {
            self.began = Instant::now();
        }
        self.round = round;
        self.group = (0, 1);
        self.phase.1 = 0;
        (self.laps.done, self.turns) = (0, 0);
    }

    /// After the first round the time of one is known.
    pub fn round_ended(&mut self) {
        self.ended += 1;
        self.took = self.began.elapsed();
        let off = self.took.as_secs_f64() / self.planned.as_secs_f64() - 1.0;
        let left = self.rounds.saturating_sub(self.round);
        if self.ended == 1 && off.abs() > OFF_MAX && left > 0 {
            self.tell(&format!(
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

    /// A phase begins, of `taking` arms: number `at` of `of`.
    pub fn phase(&mut self, name: &str, (at, of): (usize, usize), taking: usize) {
        self.phase = (name.to_owned(), at, of);
        (self.taking, self.turns) = (taking, 0);
        self.laps = Laps { done: 0, planned: 1, error: None };
    }

    pub fn laps(&mut self, laps: Laps) {
        self.laps = laps;
    }

    /// Shows that an arm's turn begins.
    pub fn turn(&self, arm: usize, doing: &str) {
        let (name, at, of) = &self.phase;
        let phase = if *of > 1 { format!("{name} ({} of {of})", at + 1) } else { name.clone() };
        let what = match doing {
            _ if doing != name => doing.to_owned(),
            _ if self.laps.planned > 1 => self.laps.to_string(),
            _ => self.arms[arm].clone(),
        };
        self.step(format!("{phase}, {what}"));
        self.show();
    }

    /// Waits for a turn. While a long one lasts, the time left is shown.
    pub async fn during<T>(&self, turn: impl Future<Output = T>) -> T {
        ticking(turn, || self.show()).await
    }

    /// An arm's turn has ended; `rates` are those of all its turns in this phase and round.
    pub fn turned(&mut self, arm: usize, rates: &[f64]) {
        self.turns += 1;
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        self.rates.note(&self.phase.0, arm, self.round, mean);
    }

    fn left(&self) -> Duration {
        let phases = self.phase.2.max(1) as f64;
        let turns = f64::from(self.laps.planned.max(1)) * self.taking.max(1) as f64;
        let within = f64::from(self.turns) / turns;
        let group = (self.phase.1 as f64 + within.min(1.0)) / phases;
        let done = (self.group.0 as f64 + group) / self.group.1.max(1) as f64;
        // The plan at first, then the rounds' own times.
        let round_s = match self.ended {
            0 if done > 0.3 => (self.since.get() - self.began).as_secs_f64() / done,
            0 => self.planned.as_secs_f64(),
            ended => self.took.as_secs_f64() / f64::from(ended),
        };
        let more = f64::from(self.rounds.saturating_sub(self.round)) + 1.0 - done;
        let left = Duration::from_secs_f64(round_s * more.max(0.0));
        left.saturating_sub(self.since.get().elapsed())
    }

    /// Removes the block: the work has ended, or another experiment has the terminal.
    pub fn finish(&self) {
        live::clear();
        self.block.hurry();
    }

    /// Prints a line that stays, above the block.
    pub fn note(&self, line: &str) {
        say!("{}{line}", self.label);
    }

    /// The same about how far the work is.
    pub fn tell(&self, line: &str) {
        say::tell(&format!("{}{line}", self.label));
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

    fn progress() -> LiveProgress {
        let arms = ["a", "a (A/A)", "b"].map(str::to_owned).to_vec();
        LiveProgress::new("", (arms, true), 4, Duration::from_secs(10))
    }

    /// A state in which all that can be said is.
    fn under_way() -> LiveProgress {
        let mut progress = progress();
        progress.round(2);
        progress.phase("insert", (0, 2), 3);
        progress.laps(Laps { done: 5, planned: 20, error: Some(0.012) });
        progress.turned(0, &[900.0, 1_100.0]);
        progress.turned(1, &[990.0]);
        progress.turned(2, &[2_500.0]);
        progress.turn(2, "insert");
        progress
    }

    #[test]
    fn the_block_has_a_line_for_each_arm_and_at_most_three_others() {
        let mut progress = under_way();
        let block = [
            "round 2 of 4, 29 s left: insert (1 of 2), laps 5 (standard error 1.2 %)",
            "  a           1,000 ops/s  ▅  baseline",
            "  a (A/A)       990 ops/s  ▅  0.990 x baseline so far",
            "  b           2,500 ops/s  ▅  2.500 x baseline so far",
        ];
        let left = |lines: Vec<String>| lines.join("\n").replace("30 s left", "29 s left");
        assert_eq!(left(progress.lines(79)), block.join("\n"));
        progress.replace(5, &[1]);
        progress.disturbed(Some("the machine is busy: rustc 1.4 cores".to_owned()));
        assert_eq!(
            progress.lines(79)[4..],
            [
                "  one more, for round 1 was disturbed".to_owned(),
                "  the machine is busy: rustc 1.4 cores".to_owned()
            ]
        );
        progress.phase("find", (1, 2), 3);
        progress.turn(0, "warm-up");
        assert_eq!(progress.lines(79)[1], "  a               – ops/s");
        assert_eq!(progress.lines(79).len(), 6, "the block keeps its height");
    }

    #[test]
    fn before_the_first_round_the_block_is_its_step() {
        let progress = progress();
        progress.doing("starting the server");
        assert_eq!(progress.lines(79), ["starting the server"]);
        assert_eq!(progress.sentence(), "mongodyno is starting the server.");
    }

    #[test]
    fn a_file_gets_sentences() {
        let mut progress = under_way();
        progress.replace(5, &[1]);
        let sentence = progress.sentence();
        let (begins, ends) = (
            "Round 2 of 5 is under way (insert (1 of 2), laps 5 (standard error 1.2 %)), about ",
            " s are left; operations a second so far: a 1,000, a (A/A) 990 (0.990 times the \
             baseline), b 2,500 (2.500 times the baseline); one more, for round 1 was disturbed.",
        );
        assert!(sentence.starts_with(begins) && sentence.ends_with(ends), "{sentence}");
    }

    #[test]
    fn rounds_in_the_place_of_disturbed_ones_are_explained() {
        let mut progress = progress();
        progress.round(2);
        assert!(progress.more.is_none());
        progress.replace(3, &[2]);
        assert_eq!(progress.more.as_deref(), Some("one more, for round 2 was disturbed"));
        progress.replace(4, &[2, 3]);
        let both = "2 more, for rounds 2, 3 were disturbed";
        assert_eq!(progress.more.as_deref(), Some(both));
        progress.extend(20);
        assert!(progress.more.is_none(), "on the way to the next look");
    }
}
