//! One phase judged: every arm against the baseline in every metric. The A/A arm, the order, the
//! drift and the waiting arms show possible bias (sections 2.5, 3.2 to 3.5).

use super::bias::{self, Bias, HalfDrift};
use super::comparison::{Arms, Comparison, Rules, Witness, compare};
use super::noise::noise_floor_percent;
use super::ratio::log_ratios;
use super::threshold::{Direction, Interleave, Quantity, ThresholdParts};

/// An arm in one phase; lists are by compared round.
#[derive(Debug, Clone, Default)]
pub struct Entrant<'a> {
    pub name: &'a str,
    pub is_aa: bool,
    /// ln(median service time of the second half / of the first).
    pub halves: Vec<Option<f64>>,
    /// Place in the round's order.
    pub positions: Vec<Option<u32>>,
    /// CPU of the waiting arms during this arm's turns: median over the rounds, as a fraction of
    /// that time.
    pub idle_fraction: f64,
    /// Cost of one clock reading.
    pub timer_cost_ns: f64,
    /// Reasons for which nothing of it may be compared with the baseline: other conditions.
    pub wrong: Vec<String>,
    /// Reason for its lost rounds, if some were.
    pub lost_because: Option<String>,
    /// Conditions in which it differs from the baseline by wish.
    pub conditions: Option<String>,
}

/// One figure that is compared: its values by arm and compared round, None where a run is void.
#[derive(Debug, Clone)]
pub struct Measure {
    /// Such as `find_one/throughput`.
    pub name: String,
    pub quantity: Quantity,
    /// In the quantity's unit.
    pub values: Vec<Vec<Option<f64>>>,
}

impl Measure {
    /// ln(cost per operation), by arm and round: + is slower. None where there is no such number.
    pub fn costs(&self) -> Vec<Vec<Option<f64>>> {
        let sign = match self.quantity.direction() {
            Direction::LowerIsBetter => 1.0,
            Direction::HigherIsBetter => -1.0,
        };
        let cost = |value: &Option<f64>| value.filter(|it| *it > 0.0).map(|it| sign * it.ln());
        self.values.iter().map(|of_arm| of_arm.iter().map(cost).collect()).collect()
    }
}

/// How the phase was measured and is judged.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    pub interleave: Interleave,
    /// Whether every arm does a job of a given size from its beginning to its end. What becomes
    /// faster or slower on the way is part of its time, and no bias.
    pub whole_job: bool,
    pub quick: bool,
    /// Error spent at this look.
    pub alpha: f64,
    /// Seed of the bootstrap and the permutations.
    pub seed: u64,
    /// The cause of a busy machine, where disturbed rounds are compared.
    pub busy: Option<&'a str>,
}

/// One arm against the baseline in one metric.
#[derive(Debug, Clone)]
pub struct Judged {
    pub arm: usize,
    pub measure: usize,
    pub comparison: Comparison,
    /// Every bias that applies; the largest widened the interval.
    pub biases: Vec<Bias>,
    /// Within the phase, whether or not its interval excludes 0.
    pub drift: Option<HalfDrift>,
}

#[derive(Debug, Clone)]
pub struct Judgement {
    /// By arm, the A/A arms first, and metric.
    pub judged: Vec<Judged>,
    /// A/A noise floor by metric, percent; None with fewer than ten rounds.
    pub noise_percent: Vec<Option<f64>>,
    /// Sentence about a drift that all arms share.
    pub shared_drift: Option<String>,
}

/// Judges a phase. The first arm is the baseline. The first metric decides: a broken A/A arm or
/// order there voids the phase.
pub fn judge(arms: &[Entrant<'_>], measures: &[Measure], terms: &Terms<'_>) -> Judgement {
    let found: Vec<MetricBiases> =
        measures.iter().map(|it| MetricBiases::of(arms, it, terms)).collect();
    let mut judged = Vec::new();
    let (twins, others): (Vec<usize>, Vec<usize>) = (1..arms.len()).partition(|at| arms[*at].is_aa);
    for arm in twins.into_iter().chain(others) {
        let own = Own::of(arms, arm, terms);
        for (measure, of_metric) in found.iter().enumerate() {
            let mut biases = own.biases.clone();
            biases.extend(of_metric.order.clone());
            if !arms[arm].is_aa {
                biases.extend(of_metric.twins.clone());
                biases.extend(found[0].broken().filter(|_| measure > 0));
            }
            let drift = own.drift.clone();
            let noise = of_metric.noise_percent;
            let comparison = one(arms, arm, &measures[measure], noise, &biases, terms);
            judged.push(Judged { arm, measure, comparison, biases, drift });
        }
    }
    let halves: Vec<&[Option<f64>]> = arms.iter().map(|arm| &arm.halves[..]).collect();
    let floor = Quantity::Throughput.floor_percent(terms.interleave);
    Judgement {
        judged,
        noise_percent: found.iter().map(|it| it.noise_percent).collect(),
        shared_drift: bias::shared_drift(&halves, terms.alpha, floor),
    }
}

/// Shared by all comparisons of one metric.
struct MetricBiases {
    order: Option<Bias>,
    /// Bias that the A/A arms show.
    twins: Option<Bias>,
    noise_percent: Option<f64>,
}

impl MetricBiases {
    fn of(arms: &[Entrant<'_>], measure: &Measure, terms: &Terms<'_>) -> Self {
        let base = &measure.values[0];
        let direction = measure.quantity.direction();
        let twins = (1..arms.len()).filter(|arm| arms[*arm].is_aa);
        let ratios: Vec<Vec<f64>> = twins
            .map(|arm| log_ratios(direction, base, &measure.values[arm]))
            .map(|ratios| ratios.into_iter().flatten().collect())
            .collect();
        let biases: Vec<Bias> = ratios
            .iter()
            .filter_map(|ratios| bias::same_version(&measure.name, ratios, terms.alpha))
            .collect();
        let log = |value: &Option<f64>| value.map(f64::ln).filter(|log| log.is_finite());
        let logs: Vec<Vec<Option<f64>>> =
            measure.values.iter().map(|values| values.iter().map(log).collect()).collect();
        let positions: Vec<_> = arms.iter().map(|arm| arm.positions.clone()).collect();
        Self {
            order: bias::order(&logs, &positions, terms.seed),
            twins: bias::largest(&biases).cloned(),
            noise_percent: noise_floor_percent(&ratios, terms.seed),
        }
    }

    /// A bias too large to be noise.
    fn broken(&self) -> Option<Bias> {
        let both = self.order.iter().chain(&self.twins);
        bias::largest(both).filter(|it| it.percent() > bias::BROKEN_PERCENT).cloned()
    }
}

/// Shared by all metrics of one arm.
struct Own {
    drift: Option<HalfDrift>,
    biases: Vec<Bias>,
}

impl Own {
    fn of(arms: &[Entrant<'_>], arm: usize, terms: &Terms<'_>) -> Self {
        let (a, b) = (&arms[0], &arms[arm]);
        let drift =
            bias::drift((a.name, &a.halves), (b.name, &b.halves), terms.interleave, terms.alpha);
        let unsteady = drift.as_ref().filter(|_| !terms.whole_job).and_then(bias::of_drift);
        let mut biases: Vec<Bias> = unsteady.into_iter().collect();
        if terms.interleave == Interleave::Turns {
            biases.extend([a, b].iter().filter_map(|it| bias::idle_cpu(it.name, it.idle_fraction)));
        }
        Self { drift, biases }
    }
}

fn one(
    arms: &[Entrant<'_>],
    arm: usize,
    measure: &Measure,
    noise_floor_percent: Option<f64>,
    biases: &[Bias],
    terms: &Terms<'_>,
) -> Comparison {
    let (base, other) = (&arms[0], &arms[arm]);
    let (a, b) = (&measure.values[0], &measure.values[arm]);
    let parts = ThresholdParts {
        interleave: terms.interleave,
        quick: terms.quick,
        noise_floor_percent,
        timer_cost_ns: base.timer_cost_ns.max(other.timer_cost_ns),
    };
    let witnesses = witnesses(arms, arm, measure, terms);
    let rules = Rules {
        witnesses: &witnesses,
        alpha: terms.alpha,
        threshold: if other.is_aa { parts.for_same_version() } else { parts },
        bias: bias::largest(biases),
        busy: terms.busy,
        conditions: other.conditions.as_deref(),
    };
    let mut wrong = other.wrong.clone();
    let lost = a.iter().zip(b).filter(|(a, b)| a.is_none() || b.is_none()).count();
    if lost * 5 > a.len() {
        // The reader can act on the reason for lost rounds.
        for reason in [base, other].into_iter().filter_map(|it| it.lost_because.as_ref()) {
            if !wrong.contains(reason) {
                wrong.push(reason.clone());
            }
        }
    }
    let sides = Arms { name_a: base.name, name_b: other.name, a, b };
    compare(&measure.name, measure.quantity, &sides, &rules, &wrong)
}

/// Other ways to compare, for SAME. SAME claims that nothing is there, but a bias that is not shown
/// could hide a difference. A drift would show in the second half alone, a baseline that is off
/// against its copy. Only the quick form needs them: its floor is wide, and six rounds show few
/// biases (decision 0031).
fn witnesses(
    arms: &[Entrant<'_>],
    arm: usize,
    measure: &Measure,
    terms: &Terms<'_>,
) -> Vec<Witness> {
    let (direction, values) = (measure.quantity.direction(), &measure.values);
    let mut witnesses = Vec::new();
    if !terms.quick {
        return witnesses;
    }
    if terms.interleave == Interleave::Turns {
        let half = |round: usize| {
            let of = |arm: usize| arms[arm].halves.get(round).copied().flatten();
            Some((of(arm)? - of(0)?) / 2.0)
        };
        let ratios = log_ratios(direction, &values[0], &values[arm]);
        let late = ratios.into_iter().enumerate().filter_map(|(at, it)| Some(it? + half(at)?));
        witnesses.push(Witness { way: "in the second half", ratios: late.collect() });
    }
    for twin in (1..arms.len()).filter(|at| arms[*at].is_aa && *at != arm) {
        let ratios = log_ratios(direction, &values[twin], &values[arm]);
        let ratios = ratios.into_iter().flatten().collect();
        witnesses.push(Witness { way: "against the baseline's copy", ratios });
    }
    witnesses
}
