//! Rates of the arms so far, for the block that is shown while they are measured.

use std::collections::BTreeMap;

use base::text::{short_names, width};
use format::{figure, fixed};
use stats::descriptive::median;

/// Lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// More rounds than these are not drawn: the last ones are.
const BARS_MAX: usize = 40;
/// The bars of a row span at least this fraction of its median: what scatters by 1 % looks level.
const SPAN_MIN: f64 = 0.2;
/// A rate has so many columns.
const RATE_COLUMNS: usize = 9;
/// Columns of a row beside its name, its rate and its bars.
const OTHER_COLUMNS: usize = "    ops/s    123.456 x baseline so far".len();

/// Operations a second, by phase, arm and round. The value of the round under way is that of its
/// turns so far.
#[derive(Default)]
pub struct RatesSoFar {
    by_phase: BTreeMap<String, BTreeMap<usize, BTreeMap<u32, f64>>>,
}

impl RatesSoFar {
    pub fn note(&mut self, phase: &str, arm: usize, round: u32, rate: f64) {
        // Found without a copy of the name: this happens after every turn.
        if !self.by_phase.contains_key(phase) {
            self.by_phase.insert(phase.to_owned(), BTreeMap::new());
        }
        let arms = self.by_phase.get_mut(phase).expect("it is there");
        arms.entry(arm).or_default().insert(round, rate);
    }

    /// Forgets what an arm did in a round: it is lost, or its record follows.
    pub fn forget(&mut self, arm: usize, round: u32) {
        for arms in self.by_phase.values_mut() {
            arms.get_mut(&arm).map(|rounds| rounds.remove(&round));
        }
    }

    fn rounds(&self, phase: &str, arm: usize) -> Option<&BTreeMap<u32, f64>> {
        self.by_phase.get(phase)?.get(&arm).filter(|rounds| !rounds.is_empty())
    }

    /// Median of the rounds.
    fn rate(&self, phase: &str, arm: usize) -> Option<f64> {
        median(&self.rounds(phase, arm)?.values().copied().collect::<Vec<_>>())
    }

    /// Median ratio to the first arm, over the rounds that both have. Never a verdict: that is the
    /// analysis's, which has intervals.
    fn ratio(&self, phase: &str, arm: usize) -> Option<f64> {
        let base = self.rounds(phase, 0)?;
        let pairs = self.rounds(phase, arm)?.iter();
        let ratios = pairs.filter_map(|(round, rate)| Some(rate / base.get(round)?));
        median(&ratios.filter(|ratio| ratio.is_finite()).collect::<Vec<_>>())
    }

    /// A row for each arm, of at most `columns`. Without `judged` there is no baseline.
    pub fn rows(&self, phase: &str, arms: &[String], judged: bool, columns: usize) -> Vec<String> {
        let names: Vec<&str> = arms.iter().map(String::as_str).collect();
        let names = short_names(&names, columns);
        let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
        let room = columns.saturating_sub(widest + RATE_COLUMNS + OTHER_COLUMNS).min(BARS_MAX);
        let made = (0..arms.len()).filter_map(|arm| Some(self.rounds(phase, arm)?.len()));
        let bars = made.max().unwrap_or(0).min(room);
        let row = |(arm, name): (usize, &String)| {
            let padding = widest - width(name);
            let rate = self.rate(phase, arm).map_or("–".to_owned(), figure);
            let drawn = self.rounds(phase, arm).map_or(String::new(), |it| sparkline(it, bars));
            let standing = match self.ratio(phase, arm) {
                Some(_) if !judged => String::new(),
                Some(_) if arm == 0 => "baseline".to_owned(),
                Some(ratio) => format!("{} x baseline so far", times(ratio)),
                None => String::new(),
            };
            let row = format!(
                "  {name}{:padding$} {rate:>RATE_COLUMNS$} ops/s  {drawn:<bars$}  {standing}",
                ""
            );
            row.trim_end().to_owned()
        };
        names.iter().enumerate().map(row).collect()
    }

    /// The same in words: `a 5,210 operations a second, b 4,100 (0.787 times the baseline)`.
    pub fn words(&self, phase: &str, arms: &[String], judged: bool) -> String {
        let each = arms.iter().enumerate().filter_map(|(arm, id)| {
            let rate = figure(self.rate(phase, arm)?);
            let ratio = self.ratio(phase, arm).filter(|_| judged && arm > 0);
            let ratio = ratio.map(|it| format!(" ({} times the baseline)", times(it)));
            Some(format!("{id} {rate}{}", ratio.unwrap_or_default()))
        });
        each.collect::<Vec<_>>().join(", ")
    }
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 { fixed(ratio, 3) } else { figure(ratio) }
}

/// A bar for each of the last rounds.
fn sparkline(rounds: &BTreeMap<u32, f64>, bars: usize) -> String {
    let rates: Vec<f64> = rounds.values().copied().collect();
    let rates = &rates[rates.len().saturating_sub(bars)..];
    let middle = median(rates).unwrap_or(0.0);
    let low = rates.iter().copied().fold(middle * (1.0 - SPAN_MIN / 2.0), f64::min);
    let high = rates.iter().copied().fold(middle * (1.0 + SPAN_MIN / 2.0), f64::max);
    let bar = |rate: &f64| {
        let place = (rate - low) / (high - low).max(f64::MIN_POSITIVE) * BARS.len() as f64;
        BARS[(place as usize).min(BARS.len() - 1)]
    };
    rates.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_and_never_hold_a_verdict() {
        let arms = ["python@4.10.0", "python@4.10.0 (A/A)", "node@7.8.0", "java@5.6.1"];
        let arms = arms.map(str::to_owned);
        let mut rates = RatesSoFar::default();
        for round in 1..=60 {
            let scatter = 1.0 + f64::from(round % 7) / 100.0;
            for (arm, rate) in [5_210.0, 5_180.0, 12_300.0].into_iter().enumerate() {
                rates.note("insert", arm, round, rate * scatter);
            }
        }
        rates.note("insert", 2, 61, 1_000.0);
        for columns in [40, 80, 100, 160] {
            let rows = rates.rows("insert", &arms, true, columns);
            assert!(rows.iter().all(|row| columns < 80 || width(row) <= columns), "{rows:#?}");
        }
        let rows = rates.rows("insert", &arms, true, 80);
        assert_eq!(rows[0], "  python@4.10.0          5,366 ops/s  ▅▅▆▃▄▄▅▅▅▆▃▄▄▅▅  baseline");
        assert!(rows[2].ends_with("▁  2.361 x baseline so far"), "{rows:#?}");
        assert!(rows[3].ends_with("– ops/s"), "{rows:#?}");
        rates.forget(2, 61);
        assert!(!rates.rows("insert", &arms, false, 80)[2].contains("baseline"), "figures only");
        assert_eq!(
            rates.words("insert", &arms, true),
            "python@4.10.0 5,366, python@4.10.0 (A/A) 5,335 (0.994 times the baseline), \
             node@7.8.0 12,669 (2.361 times the baseline)"
        );
    }
}
