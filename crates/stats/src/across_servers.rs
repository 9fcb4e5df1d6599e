//! Two arms on two servers: the difference of their differences (section 3.7).

use super::comparison::{Comparison, rounds_for_an_interval};
use super::rank::hodges_lehmann;
use super::ratio::percent;
use super::threshold::Quantity;
use super::verdict::Verdict;
use super::wording::{self, append};
use format::{change, decimals, fixed, level, threshold};

/// B against A on one server, as its own experiment has it.
#[derive(Debug, Clone)]
pub struct OnServer<'a> {
    pub server: &'a str,
    /// ln(B/A) of time per operation by compared round; None where a gate voids a run.
    pub ratios: Vec<Option<f64>>,
    /// Estimate, lower and upper end of the interval, in percent.
    pub found: [Option<f64>; 3],
    pub threshold_percent: f64,
    pub floor_percent: f64,
    /// Either side of the interval.
    pub bias_percent: f64,
    /// Error spent at the look that it has come to.
    pub alpha: f64,
    /// Sentence of a comparison that could not be judged.
    pub unjudged: Option<&'a str>,
    /// The cause of a busy machine.
    pub busy: Option<&'a str>,
}

/// `names` are those of A and B, `on` the two servers.
pub fn across(
    names: [&str; 2],
    quantity: Quantity,
    on: [&OnServer<'_>; 2],
    quick: bool,
) -> Comparison {
    let [first, second] = on;
    // The later rounds of the longer experiment have no partner.
    let pairs = first.ratios.iter().zip(&second.ratios);
    let differences: Vec<f64> = pairs.filter_map(|(a, b)| Some((*b)? - (*a)?)).collect();
    // So the look that counts is that of the shorter one, and the errors of all looks add up as
    // they do in one experiment.
    let shorter = if second.ratios.len() < first.ratios.len() { second } else { first };
    // A bias of either may hide behind that of the other.
    let bias = (first.bias_percent / 100.0).ln_1p() + (second.bias_percent / 100.0).ln_1p();
    let mut answer = Comparison {
        rounds: differences.len() as u32,
        threshold_percent: first.threshold_percent.max(second.threshold_percent),
        floor_percent: first.floor_percent.max(second.floor_percent),
        bias_percent: percent(bias),
        ..Comparison::default()
    };
    if let Some(found) = hodges_lehmann(&differences, shorter.alpha) {
        answer.fill(&found, bias);
    }
    answer.judge_across(names, quantity, on, shorter.alpha);
    if answer.verdict == Verdict::NotComparable {
        return answer; // the reasons have both remarks
    }
    if let Some(busy) = first.busy.or(second.busy) {
        append(&mut answer.sentence, &format!("on a busy machine ({busy})"));
    }
    if quick {
        append(&mut answer.sentence, "(quick)");
    }
    answer
}

impl Comparison {
    fn judge_across(
        &mut self,
        names: [&str; 2],
        quantity: Quantity,
        on: [&OnServer<'_>; 2],
        alpha: f64,
    ) {
        let unjudged = on.into_iter().filter_map(|it| {
            let words = it.unjudged?.split_once(": ").map_or("", |(_, reason)| reason);
            Some(format!("on {}: {words}", it.server))
        });
        let reasons: Vec<String> = unjudged.collect();
        if !reasons.is_empty() {
            self.verdict = Verdict::NotComparable;
            self.sentence = wording::not_comparable_sentence(&reasons);
            return;
        }
        let interval = (self.estimate_percent, self.low_percent, self.high_percent, self.level);
        let (Some(estimate), Some(low), Some(high), Some(achieved)) = interval else {
            let needed = rounds_for_an_interval(alpha);
            let made = on.map(|it| it.ratios.len()).into_iter().min().unwrap_or(0);
            self.sentence = wording::too_few_sentence((self.rounds as usize, made), needed, alpha);
            return;
        };
        let claim =
            self.claim(names, quantity, on.map(|it| it.server), [estimate, low, high, achieved]);
        let both = on.map(|it| Some((change(it.found[0], it.found[1], it.found[2])?, it.server)));
        let both = match both {
            [Some((one, first)), Some((other, second))] => {
                Some(format!("{one} on {first}, {other} on {second}"))
            }
            _ => None,
        };
        let is_told = self.verdict == Verdict::Differs;
        let lead = is_told.then(|| lead(names, on, estimate > 0.0)).flatten();
        let clauses: Vec<String> = [Some(claim), both, lead].into_iter().flatten().collect();
        self.sentence = clauses.join("; ") + ".";
    }

    /// Decides the verdict from the interval, and returns it in words.
    fn claim(
        &mut self,
        [a, b]: [&str; 2],
        quantity: Quantity,
        [first, second]: [&str; 2],
        [estimate, low, high, achieved]: [f64; 4],
    ) -> String {
        let (delta, floor) = (self.threshold_percent, self.floor_percent);
        let places = decimals(low, high);
        let of = cost(quantity);
        let ratio = format!("{of} of {b} over that of {a}");
        let higher = if estimate > 0.0 { "higher" } else { "lower" };
        let sizes = [low.abs(), high.abs()];
        let (least, most) = (sizes[0].min(sizes[1]), sizes[0].max(sizes[1]));
        let [least, most, size] = [least, most, estimate.abs()].map(|it| fixed(it, places));
        let aside = if self.bias_percent > 0.0 {
            format!(", of which {} % either side for bias", threshold(self.bias_percent))
        } else {
            String::new()
        };
        let surroundings = format!("{aside}, {} pairs of rounds", self.rounds);
        let level = level(achieved);
        self.verdict = Verdict::Differs;
        if low > delta || high < -delta {
            format!(
                "DIFFERS: {ratio} is {size} % {higher} on {second} than on {first} ({level} CI \
                 {least} to {most} %{surroundings}, threshold {} %)",
                threshold(delta)
            )
        } else if -floor <= low && high <= floor {
            self.verdict = Verdict::Same;
            format!(
                "SAME within ±{} %: {ratio}, {second} against {first}: {} % ({level} CI {} to {} \
                 %{surroundings})",
                threshold(floor),
                fixed(estimate, places),
                fixed(low, places),
                fixed(high, places),
            )
        } else if low > 0.0 || high < 0.0 {
            self.direction_only = true;
            format!(
                "DIFFERS, size uncertain: {ratio} is {higher} on {second} than on {first} by at \
                 least {least} %, at most {most} %{surroundings}; threshold {} %",
                threshold(delta)
            )
        } else {
            self.verdict = Verdict::Inconclusive;
            format!(
                "INCONCLUSIVE: {ratio}, {second} against {first}: {}{surroundings}",
                wording::between(low, high)
            )
        }
    }
}

/// The course of the lead of one arm, where each server has one that is clear.
fn lead(names: [&str; 2], on: [&OnServer<'_>; 2], rises: bool) -> Option<String> {
    // Whether B leads.
    let leads = |it: &OnServer<'_>| match it.found {
        [_, Some(low), _] if low > 0.0 => Some(false),
        [_, _, Some(high)] if high < 0.0 => Some(true),
        _ => None,
    };
    let [was, is] = [leads(on[0])?, leads(on[1])?];
    let leader = |b_leads: bool| names[usize::from(b_leads)];
    Some(match (was == is, is == rises) {
        (false, _) => format!("the lead passed from {} to {}", leader(was), leader(is)),
        (true, true) => format!("the lead of {} shrank", leader(is)),
        (true, false) => format!("the lead of {} grew", leader(is)),
    })
}

fn cost(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Throughput => "the time per op",
        Quantity::P50 => "the time per op at p50",
        Quantity::P90 => "the time per op at p90",
        Quantity::P99 => "the time per op at p99",
        Quantity::P999 => "the time per op at p99.9",
        Quantity::CpuPerOperation => "the CPU time per op",
        Quantity::WireBytes => "the bytes per op on the wire",
        Quantity::PeakMemory => "the peak of memory",
        Quantity::AllocatedBytes | Quantity::Other { .. } => "the cost per op",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scatter of some percent about a ratio of `percent`, as ten rounds of one server.
    fn on(server: &str, around: f64, scatter: f64) -> OnServer<'_> {
        let centre = (around / 100.0).ln_1p();
        let steps = [-0.9, 0.4, 0.1, -0.3, 0.8, -0.6, 0.2, 0.7, -0.2, -0.4];
        let found = hodges_lehmann(&steps.map(|it| centre + it * scatter), 0.01).expect("values");
        OnServer {
            server,
            ratios: steps.map(|it| Some(centre + it * scatter)).to_vec(),
            found: [found.estimate, found.low, found.high].map(|it| Some(percent(it))),
            threshold_percent: 2.0,
            floor_percent: 2.0,
            bias_percent: 0.0,
            alpha: 0.01,
            unjudged: None,
            busy: None,
        }
    }

    /// The second server's rounds in another order, as its scatter is its own.
    fn turned(mut side: OnServer<'_>) -> OnServer<'_> {
        side.ratios.reverse();
        side
    }

    fn judged(first: &OnServer<'_>, second: &OnServer<'_>) -> Comparison {
        across(["node", "go"], Quantity::Throughput, [first, second], false)
    }

    #[test]
    fn a_lead_that_shrinks_is_told_with_its_size_and_both_leads() {
        let (first, second) = (on("4.4", -12.0, 0.01), turned(on("6.0", -4.0, 0.01)));
        let found = judged(&first, &second);
        assert_eq!(found.verdict, Verdict::Differs, "{}", found.sentence);
        let [estimate, low, high] =
            [found.estimate_percent, found.low_percent, found.high_percent].map(Option::unwrap);
        // 0.96 / 0.88
        assert!((estimate - 9.09).abs() < 0.3 && low < 9.09 && 9.09 < high, "{estimate}");
        let said = [
            "the time per op of go over that of node is 9.",
            "higher on 6.0 than on 4.4",
            "10 pairs of rounds, threshold 2 %",
            "on 4.4, -4.",
            "the lead of go shrank.",
        ];
        for words in said {
            assert!(found.sentence.contains(words), "{words}: {}", found.sentence);
        }
        let back = judged(&second, &first);
        assert!(back.sentence.ends_with("the lead of go grew."), "{}", back.sentence);
        assert!((back.estimate_percent.unwrap() - 100.0 * (0.88 / 0.96 - 1.0)).abs() < 0.3);
    }

    #[test]
    fn a_lead_may_pass_to_the_other_driver() {
        let found = judged(&on("4.4", -9.0, 0.01), &turned(on("6.0", 9.0, 0.01)));
        assert!(found.sentence.ends_with("the lead passed from go to node."), "{}", found.sentence);
        let slower = judged(&on("4.4", 20.0, 0.01), &turned(on("6.0", 9.0, 0.01)));
        assert!(slower.sentence.ends_with("the lead of node shrank."), "{}", slower.sentence);
    }

    #[test]
    fn the_same_lead_on_both_is_the_same() {
        let found = judged(&on("4.4", -30.0, 0.004), &turned(on("6.0", -30.0, 0.004)));
        assert_eq!(found.verdict, Verdict::Same, "{}", found.sentence);
        assert!(!found.sentence.contains("lead"), "{}", found.sentence);
    }

    #[test]
    fn a_wide_scatter_claims_nothing_though_both_experiments_have_an_answer() {
        let (first, second) = (on("4.4", -12.0, 0.08), turned(on("6.0", -8.0, 0.08)));
        assert!(first.found[2].unwrap() < 0.0 && second.found[2].unwrap() < 0.0);
        let found = judged(&first, &second);
        assert_eq!(found.verdict, Verdict::Inconclusive, "{}", found.sentence);
        assert!(!found.sentence.contains("lead"), "{}", found.sentence);
    }

    #[test]
    fn one_side_that_is_not_comparable_ends_it_with_its_reason() {
        let mut second = on("6.0", -4.0, 0.01);
        second.unjudged = Some("NOT COMPARABLE: 3 of 10 rounds were lost, more than 20 %.");
        let found = judged(&on("4.4", -12.0, 0.01), &second);
        assert_eq!(found.verdict, Verdict::NotComparable);
        let wanted = "NOT COMPARABLE: on 6.0: 3 of 10 rounds were lost, more than 20 %.";
        assert_eq!(found.sentence, wanted);
    }

    #[test]
    fn biases_of_both_sides_widen_the_interval() {
        let (mut first, mut second) = (on("4.4", -12.0, 0.01), turned(on("6.0", -9.0, 0.01)));
        let plain = judged(&first, &second);
        (first.bias_percent, second.bias_percent) = (2.0, 3.0);
        let widened = judged(&first, &second);
        let lows = [&plain, &widened].map(|it| (it.low_percent.unwrap() / 100.0).ln_1p());
        assert!((lows[0] - lows[1] - 1.02_f64.ln() - 1.03_f64.ln()).abs() < 1e-12);
        assert_eq!(widened.verdict, Verdict::Inconclusive, "{}", widened.sentence);
        assert!(widened.sentence.contains("of which 5.06 % either side for bias"));
    }

    #[test]
    fn rounds_without_a_partner_and_void_ones_are_left_out() {
        let mut first = on("4.4", -12.0, 0.01);
        first.ratios.extend([Some(5.0); 10]);
        first.alpha = 0.02;
        let mut second = turned(on("6.0", -4.0, 0.01));
        second.ratios[3] = None;
        let found = judged(&first, &second);
        assert_eq!(found.rounds, 9);
        assert!(found.level.unwrap() >= 0.99, "the error of the shorter one: {:?}", found.level);
        let few = &mut second;
        few.ratios.truncate(4);
        let found = judged(&first, few);
        assert!(found.sentence.starts_with("INCONCLUSIVE: 3 paired rounds give no 99 % interval"));
    }
}
