//! Possible bias of a comparison (gates G5, G6, G7, G9; section 3.4).
//!
//! It takes no answer away: it widens the interval at both ends.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gates::GateId;
use super::noise::below;
use super::order::Order;
use super::rank::{HodgesLehmann, doubled_ranks, hodges_lehmann};
use super::ratio::percent;
use super::threshold::Interleave;

/// A larger bias is no noise: something is broken, and the comparison is void.
pub const BROKEN_PERCENT: f64 = 10.0;
/// A smaller bias, in log units, is none: numbers that ought to be equal differ by rounding.
const SMALLEST: f64 = 5e-4;
const ORDER_ALPHA: f64 = 0.01;
/// Orders drawn for the test: its p-value is a multiple of 1/2000.
const ORDERS: usize = 1_999;
/// A smaller share of the turns' time, used by waiting arms, is not worth a word.
const IDLE_LIMIT: f64 = 0.02;
/// Whose CPU it is, a compiler's or a collector's, is not known here.
const G9_HELP: &str = "(gate G9); a longer warm-up or --interleave runs helps";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bias {
    pub gate: GateId,
    /// In log units, above 0: added to both ends of the interval.
    pub size: f64,
    /// For the reader: the symptom and the remedy.
    pub caution: String,
}

impl Bias {
    /// None where it would move no digit that is printed.
    fn worth_saying(gate: GateId, size: f64, caution: String) -> Option<Self> {
        (size >= SMALLEST).then_some(Self { gate, size, caution })
    }

    pub fn percent(&self) -> f64 {
        percent(self.size)
    }

    /// The bias as the verdict's sentence calls it.
    pub fn word(gate: GateId) -> &'static str {
        match gate {
            GateId::Steadiness => "drift",
            GateId::Order => "the order",
            GateId::SameVersion => "the A/A difference",
            _ => "the CPU of waiting arms",
        }
    }
}

/// The largest bias; they are not added up.
pub fn largest<'a>(biases: impl IntoIterator<Item = &'a Bias>) -> Option<&'a Bias> {
    biases.into_iter().max_by(|a, b| a.size.total_cmp(&b.size))
}

/// The interval excludes 0.
fn clear(found: &HodgesLehmann) -> bool {
    found.low > 0.0 || found.high < 0.0
}

/// `+4.1 % (95.2 % CI 1.2 to 7.1 %)`.
fn with_interval(found: &HodgesLehmann) -> String {
    let [estimate, low, high] = [found.estimate, found.low, found.high].map(percent);
    let decimals = format::decimals(low, high);
    let [low, high] = [low, high].map(|end| format::fixed(end, decimals));
    let (estimate, level) = (format::signed(estimate, decimals), format::level(found.level));
    format!("{estimate} % ({level} CI {low} to {high} %)")
}

/// Movement from the first to the second half of a phase (gate G5). With turns it is that of the
/// arm against the baseline. With whole runs it is that of the arm that moved more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriftRow {
    /// Change of time per operation, percent, + became slower.
    pub estimate_percent: f64,
    /// Lower end of the interval.
    pub low_percent: f64,
    /// Upper end of the interval.
    pub high_percent: f64,
    /// Achieved confidence level, 0..1.
    pub level: f64,
    /// In words.
    pub sentence: String,
}

/// How far an arm's time per operation moved from the first to the second half of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct HalfDrift {
    /// The arm, or `B against A`.
    pub who: String,
    /// ln(second half / first half), over the rounds.
    pub found: HodgesLehmann,
}

impl HalfDrift {
    pub fn row(&self, order: Order) -> DriftRow {
        let [estimate_percent, low_percent, high_percent] =
            [self.found.estimate, self.found.low, self.found.high].map(percent);
        let mut sentence = self.sentence();
        order.remark(&mut sentence);
        DriftRow { estimate_percent, low_percent, high_percent, level: self.found.level, sentence }
    }

    /// `B against A: +4.1 % (95.2 % CI 1.2 to 7.1 %) from first to second half`.
    pub fn sentence(&self) -> String {
        format!("{}: {} from first to second half", self.who, with_interval(&self.found))
    }
}

/// G5: the drift of a comparison; None with too few rounds for an interval.
///
/// `a` and `b` hold ln(median service time of the second half / of the first) by round. With turns
/// the difference counts: disturbances fall on both arms. With whole runs the arm that moved more
/// counts.
pub fn drift(
    (name_a, a): (&str, &[Option<f64>]),
    (name_b, b): (&str, &[Option<f64>]),
    interleave: Interleave,
    alpha: f64,
) -> Option<HalfDrift> {
    let of = |who: String, ratios: Vec<f64>| {
        let finite: Vec<f64> = ratios.into_iter().filter(|ratio| ratio.is_finite()).collect();
        let found = hodges_lehmann(&finite, alpha)?;
        (found.rank > 0).then_some(HalfDrift { who, found })
    };
    if interleave == Interleave::Turns {
        let pairs = a.iter().zip(b).filter_map(|(a, b)| Some((*b)? - (*a)?)).collect();
        return of(format!("{name_b} against {name_a}"), pairs);
    }
    let each = [(name_a, a), (name_b, b)];
    let each = each.into_iter().filter_map(|(name, ratios)| {
        of(name.to_owned(), ratios.iter().copied().flatten().collect())
    });
    // A drift that is shown goes before one that only may be.
    each.max_by(|x, y| {
        let key = |drift: &HalfDrift| (clear(&drift.found), drift.found.estimate.abs());
        key(x).partial_cmp(&key(y)).unwrap_or(std::cmp::Ordering::Equal)
    })
}

/// G5: half of a drift whose interval excludes 0. The comparison holds for the middle of the phase;
/// half of the drift lies between the middle and the end.
pub fn of_drift(drift: &HalfDrift) -> Option<Bias> {
    let caution = format!("{} (gate G5); a longer warm-up helps", drift.sentence());
    let size = drift.found.estimate.abs() / 2.0;
    Bias::worth_saying(GateId::Steadiness, size, caution).filter(|_| clear(&drift.found))
}

/// A drift that all arms share, and that no comparison of theirs shows. Each interval excludes 0 to
/// the same side, and the median of the estimates is beyond `floor_percent`.
pub fn shared_drift(halves: &[&[Option<f64>]], alpha: f64, floor_percent: f64) -> Option<String> {
    let of = |ratios: &&[Option<f64>]| {
        let finite = ratios.iter().copied().flatten().filter(|it| it.is_finite());
        hodges_lehmann(&finite.collect::<Vec<_>>(), alpha).filter(clear)
    };
    let found: Vec<HodgesLehmann> = halves.iter().map(of).collect::<Option<_>>()?;
    let estimates: Vec<f64> = found.iter().map(|it| it.estimate).collect();
    let middle = percent(super::descriptive::median(&estimates)?);
    let one_way = estimates.iter().all(|it| *it > 0.0) || estimates.iter().all(|it| *it < 0.0);
    (one_way && middle.abs() > floor_percent).then(|| {
        let word = if middle > 0.0 { "slower" } else { "faster" };
        let size = format::fixed(middle.abs(), 0);
        format!("all arms became {size} % {word} within the phase: their rates are means over it")
    })
}

/// G6: the position within the round moves the values. p < 0.01 by permuting the positions within
/// rounds, as the shuffling did.
///
/// By arm and round, `logs` holds the log of a value, `positions` the arm's place in the order.
/// Residuals are centred by round and arm, and so depend on each other. Rejected: the tabled
/// p-value of Spearman's rho, which voided 9 % of two-arm experiments with six rounds.
pub fn order(logs: &[Vec<Option<f64>>], positions: &[Vec<Option<u32>>], seed: u64) -> Option<Bias> {
    let arms = logs.len();
    if arms < 2 {
        return None;
    }
    let rounds = logs.iter().map(Vec::len).min().unwrap_or(0);
    let whole = (0..rounds).filter_map(|round| {
        let values = logs.iter().map(|arm| arm[round]).collect::<Option<Vec<f64>>>()?;
        let starts = positions.iter().map(|arm| (*arm.get(round)?).map(f64::from));
        Some((values, starts.collect::<Option<Vec<f64>>>()?))
    });
    let (values, starts): (Vec<_>, Vec<_>) = whole.unzip();
    let residuals = centred(&values);
    let ranks = centred_ranks(&residuals.concat());
    let mut drawn = centred_ranks(&starts.concat());
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let observed = product(&ranks, &drawn).abs();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let p = |as_far: usize| as_far as f64 / (ORDERS + 1) as f64;
    let mut as_far = 1;
    for _ in 0..ORDERS {
        for round in drawn.chunks_mut(arms) {
            for last in (1..round.len()).rev() {
                round.swap(last, below(&mut random, last + 1));
            }
        }
        as_far += usize::from(product(&ranks, &drawn).abs() >= observed - 1e-9);
        // The other draws cannot make p small again.
        if p(as_far) >= ORDER_ALPHA {
            return None;
        }
    }
    let p = p(as_far);
    let starts = centred(&starts).concat();
    let spread = product(&starts, &starts);
    if spread == 0.0 {
        return None;
    }
    let slope = (product(&starts, &residuals.concat()) / spread).abs();
    let caution = format!(
        "the place within the round matters, by {} % a place (gate G6, p = {}); more rounds or \
         fewer arms help",
        format::fixed(percent(slope), 1),
        format::fixed(p, 4)
    );
    Bias::worth_saying(GateId::Order, slope * (arms as f64 - 1.0) / 2.0, caution)
}

fn centred(table: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let columns = table.first().map_or(0, Vec::len);
    let of_column: Vec<f64> = (0..columns)
        .map(|column| mean(&table.iter().map(|row| row[column]).collect::<Vec<_>>()))
        .collect();
    let overall = mean(&of_column);
    let less = |row: &Vec<f64>| {
        let own = mean(row);
        row.iter().zip(&of_column).map(|(value, column)| value - own - column + overall).collect()
    };
    table.iter().map(less).collect()
}

fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let centre = values.len() as f64 + 1.0;
    doubled_ranks(values).into_iter().map(|rank| rank as f64 - centre).collect()
}

/// G7: the interval of the A/A comparison excludes 0; the bias is its |estimate|. `ratios` are its
/// log ratios by round.
pub fn same_version(metric: &str, ratios: &[f64], alpha: f64) -> Option<Bias> {
    let found = hodges_lehmann(ratios, alpha).filter(clear)?;
    let caution = format!(
        "two copies of one version differ in {metric} by {} (gate G7); a quieter machine or more \
         rounds help",
        with_interval(&found)
    );
    Bias::worth_saying(GateId::SameVersion, found.estimate.abs(), caution)
}

/// All of [`idle_cpu`]'s biases of a phase in one sentence, and the arm that used most of it: of
/// `waiting` each has the CPU it used while others had their turns, ns.
pub fn waiting_cpu(sizes: impl Iterator<Item = f64>, waiting: &[(&str, u64)]) -> Option<String> {
    let percent = |size: f64| format::fixed(100.0 * size, 1);
    let sizes: Vec<f64> = sizes.collect();
    let least = sizes.iter().copied().reduce(f64::min)?;
    let most = sizes.iter().copied().reduce(f64::max)?;
    let between = match [percent(least), percent(most)] {
        [least, most] if least == most => most,
        [least, most] => format!("{least} to {most}"),
    };
    let all: u64 = waiting.iter().map(|(_, used_ns)| used_ns).sum();
    let busiest = waiting.iter().max_by_key(|(_, used_ns)| *used_ns).filter(|_| all > 0);
    let share = busiest.map_or(String::new(), |(arm, used_ns)| {
        format!(", {} % of it {arm}", format::fixed(100.0 * *used_ns as f64 / all as f64, 0))
    });
    Some(format!("while one arm worked, those that waited used {between} % CPU{share} {G9_HELP}"))
}

/// G9: waiting arms used more than 2 % of an arm's turns: a collector or compiler thread at work.
/// The bias is that share.
pub fn idle_cpu(beside: &str, fraction: f64) -> Option<Bias> {
    let caution = format!(
        "beside {beside}, the waiting arms used {} % CPU {G9_HELP}",
        format::fixed(100.0 * fraction, 1)
    );
    Bias::worth_saying(GateId::IdleCpu, fraction, caution).filter(|_| fraction > IDLE_LIMIT)
}
