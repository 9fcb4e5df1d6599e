//! How far copies of one driver lie apart by round, and how soon a real difference stands out
//! (methodology 8.9).

use stats::comparison::rounds_for_an_interval;
use stats::descriptive::Interval;
use stats::looks::LookPlan;
use stats::ratio::percent;

/// Points of the standard normal distribution: a two-sided 95 % interval, a power of 80 %.
const Z_LEVEL: f64 = 1.959_964;
const Z_POWER: f64 = 0.841_621;
const ALPHA: f64 = 0.05;
/// Differences that people ask for, percent.
pub const ASKED_PERCENT: [f64; 2] = [3.0, 5.0];

/// The scatter of copies, and its consequences.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// Standard deviation of the differences, percent, with its 95 % interval.
    pub percent: Interval,
    pub degrees: u32,
    /// Rounds that both copies have, of all groups.
    pub rounds: usize,
    /// Rounds until each of [`ASKED_PERCENT`] is told apart, by the scatter and its interval.
    pub told: [Interval; 2],
    /// The least difference that the rounds of `run --quick` show, percent.
    pub quick_percent: f64,
}

impl Scatter {
    /// Takes log ratios by round, a group for each driver. Each group scatters about its own mean:
    /// a steady difference of two copies is no scatter. None with fewer than two degrees of
    /// freedom.
    pub fn of(groups: &[Vec<f64>]) -> Option<Self> {
        let (mut squares, mut degrees) = (0.0, 0);
        for group in groups.iter().filter(|group| group.len() > 1) {
            let mean = group.iter().sum::<f64>() / group.len() as f64;
            squares += group.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
            degrees += group.len() - 1;
        }
        if degrees < 2 {
            return None;
        }
        let freedom = degrees as f64;
        let [high, low] = [-Z_LEVEL, Z_LEVEL].map(|z| (squares / chi_squared(z, freedom)).sqrt());
        let deviation = (squares / freedom).sqrt();
        let told = ASKED_PERCENT.map(|asked| Interval {
            estimate: f64::from(rounds(asked, deviation)),
            low: f64::from(rounds(asked, low)),
            high: f64::from(rounds(asked, high)),
        });
        Some(Self {
            percent: Interval {
                estimate: percent(deviation),
                low: percent(low),
                high: percent(high),
            },
            degrees: degrees as u32,
            rounds: groups.iter().map(Vec::len).sum(),
            told,
            quick_percent: least_percent(LookPlan::quick().first_rounds(), deviation),
        })
    }
}

/// The point of the chi-squared distribution where the normal one has `z`, after Wilson and
/// Hilferty. It is within 4 % from five degrees of freedom on; below that the interval is too wide.
fn chi_squared(z: f64, degrees: f64) -> f64 {
    let ninth = 2.0 / (9.0 * degrees);
    degrees * (1.0 - ninth + z * ninth.sqrt()).powi(3)
}

/// Rounds until a difference is told apart: (z + z')² (scatter / difference)² + z² / 2. It is the
/// paired normal formula with Guenther's correction for few rounds.
fn rounds(asked_percent: f64, deviation: f64) -> u32 {
    let difference = (asked_percent / 100.0).ln_1p();
    let wanted = ((Z_LEVEL + Z_POWER) * deviation / difference).powi(2) + correction();
    (wanted.ceil() as u32).max(rounds_for_an_interval(ALPHA) as u32)
}

/// The inverse of [`rounds`], percent.
fn least_percent(rounds: u32, deviation: f64) -> f64 {
    percent((Z_LEVEL + Z_POWER) * deviation / (f64::from(rounds) - correction()).sqrt())
}

fn correction() -> f64 {
    Z_LEVEL.powi(2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::ratio::log_ratios;
    use stats::threshold::Direction;

    /// Tables of the chi-squared distribution: 2.5 % and 97.5 %.
    #[test]
    fn the_points_are_those_of_the_tables() {
        for (degrees, low, high) in
            [(5.0, 0.831, 12.83), (20.0, 9.591, 34.17), (60.0, 40.48, 83.30)]
        {
            assert!((chi_squared(-Z_LEVEL, degrees) / low - 1.0).abs() < 0.041, "{degrees}");
            assert!((chi_squared(Z_LEVEL, degrees) / high - 1.0).abs() < 0.01, "{degrees}");
        }
    }

    #[test]
    fn a_steady_difference_of_two_copies_is_no_scatter() {
        let ratios = |offset: f64| vec![offset - 0.02, offset, offset + 0.02];
        let one = Scatter::of(&[ratios(0.0)]).expect("two degrees");
        let two = Scatter::of(&[ratios(0.0), ratios(0.5)]).expect("four degrees");
        assert!((one.percent.estimate - percent(0.02)).abs() < 1e-9, "{one:?}");
        assert!((two.percent.estimate - percent(0.02)).abs() < 1e-9, "{two:?}");
        assert!(two.percent.high < one.percent.high, "more rounds know more");
        assert_eq!(Scatter::of(&[vec![0.1, 0.2]]), None);
    }

    #[test]
    fn the_rounds_are_those_of_the_formula_and_never_fewer_than_an_interval_wants() {
        // (2.8016 x 0.02 / ln 1.03)^2 + 1.92 = 5.51: six. Of 0.06: 34.2.
        assert_eq!(rounds(3.0, 0.02), 6);
        assert_eq!(rounds(3.0, 0.06), 35);
        assert_eq!(rounds(5.0, 0.001), 6);
        for deviation in [0.02, 0.06] {
            let least = least_percent(rounds(3.0, deviation), deviation);
            assert!(least <= 3.0, "{least}");
        }
    }

    #[test]
    fn copies_that_are_equal_do_not_scatter() {
        let rates = [Some(5_000.0), Some(6_000.0), Some(4_000.0)];
        let ratios = log_ratios(Direction::HigherIsBetter, &rates, &rates);
        let scatter = Scatter::of(&[ratios.into_iter().flatten().collect()]).expect("three rounds");
        assert!(scatter.percent.high.abs() < 1e-12, "{scatter:?}");
    }
}
