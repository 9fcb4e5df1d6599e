//! Experiments at different times (section 3.8): each counts once, as the days between them differ
//! by more than the rounds within them.

use super::changes::{ChangeKind, ChangePoint, splits, steps};
use super::descriptive::median;

/// Fewer experiments show no step: of seven, one order in nine looks like one by chance.
pub const EXPERIMENTS_MIN: usize = 8;
/// Most error of the interval for a new experiment, where there are experiments enough.
const ALPHA: f64 = 0.1;

/// The steps of a line, and the p-value of the whole. `costs` are ln(cost) of each experiment.
pub fn line_steps(costs: &[f64], threshold: f64, seed: u64) -> (Vec<ChangePoint>, f64) {
    if costs.len() < EXPERIMENTS_MIN {
        return (Vec::new(), 1.0);
    }
    let rows = [costs.to_vec()];
    let found = splits(&rows, threshold, seed);
    let whole = found.iter().find(|it| it.segment.len() == costs.len());
    let p_value = whole.map_or(1.0, |it| it.p_value);
    let beyond = whole.is_some_and(|it| it.kind != ChangeKind::Chance);
    (if beyond { steps(&rows, &found, threshold) } else { Vec::new() }, p_value)
}

/// How far a new experiment is from those before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewExperiment {
    /// Distance from their median, and its interval, in the unit of the values.
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
    /// Share of such intervals that hold the true distance, 0 to 1.
    pub level: f64,
}

/// The distance of `new` from `past`. It holds whatever the distribution is: without a change the
/// new value is as likely at each place among the others. None with fewer than eight.
///
/// Rejected: the interval of the new experiment's rounds, which knows nothing of the day's share.
pub fn new_experiment(past: &[f64], new: f64) -> Option<NewExperiment> {
    if past.len() < EXPERIMENTS_MIN {
        return None;
    }
    let mut sorted = past.to_vec();
    sorted.sort_by(f64::total_cmp);
    let places = past.len() as f64 + 1.0;
    let cut = ((places * ALPHA / 2.0).floor() as usize).max(1);
    Some(NewExperiment {
        estimate: new - median(past)?,
        low: new - sorted[sorted.len() - cut],
        high: new - sorted[cut - 1],
        level: 1.0 - 2.0 * cut as f64 / places,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLD: f64 = 0.0295;

    /// Days that differ by at most 0.5 %.
    fn days(count: usize) -> Vec<f64> {
        (0..count).map(|day| 0.005 * ((day * 7 % 11) as f64 / 5.0 - 1.0)).collect()
    }

    #[test]
    fn a_step_shows_from_eight_experiments_on_and_one_night_never_does() {
        let stepped = |count: usize, at: usize| -> Vec<f64> {
            let day = |(day, cost): (usize, f64)| cost + if day < at { 0.0 } else { 0.06 };
            days(count).into_iter().enumerate().map(day).collect()
        };
        let found = |costs: &[f64]| -> Vec<usize> {
            line_steps(costs, THRESHOLD, 1).0.iter().map(|it| it.at).collect()
        };
        assert_eq!(found(&stepped(8, 4)), [4]);
        assert_eq!(found(&stepped(7, 3)), [0; 0]);
        assert_eq!(found(&stepped(15, 9)), [9]);
        assert_eq!(found(&stepped(15, 14)), [0; 0], "one night");
        let mut outlier = stepped(20, 12);
        outlier[5] += 0.3;
        assert_eq!(found(&outlier), [12], "one night far out moves no step");
        assert_eq!(found(&days(30)), [0; 0]);
    }

    #[test]
    fn a_new_experiment_is_held_against_the_spread_of_days() {
        assert_eq!(new_experiment(&days(7), 0.0), None);
        let past = [-0.02, -0.01, 0.0, 0.0, 0.0, 0.0, 0.01, 0.03];
        let found = new_experiment(&past, 0.05).expect("eight");
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(found.estimate, 0.05) && near(found.low, 0.02), "{found:?}");
        assert!(near(found.high, 0.07) && near(found.level, 7.0 / 9.0), "{found:?}");
        let found = new_experiment(&days(39), 0.0).expect("enough");
        assert!(near(found.level, 0.9), "{found:?}");
    }
}
