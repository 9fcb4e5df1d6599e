//! The sentences of section 3.5: fixed templates, no more decimals than the interval supports.

use super::threshold::Quantity;
use super::verdict::Verdict;
use format::{fixed, level, signed, threshold};

/// Words that must never appear in a verdict (section 3.5); the tests search for them.
pub const BANNED: [&str; 5] = ["no regression", "no change", "significant", "definitely", "proved"];

/// Numbers for the sentence about an interval.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredChange<'a> {
    pub name_a: &'a str,
    pub name_b: &'a str,
    /// It chooses the verb.
    pub quantity: Quantity,
    /// B against A, time (cost) per operation: + is slower.
    pub estimate_percent: f64,
    pub low_percent: f64,
    pub high_percent: f64,
    /// Achieved, 0 to 1.
    pub level: f64,
    /// Kept, each a pair.
    pub rounds: usize,
    /// Delta.
    pub threshold_percent: f64,
}

impl MeasuredChange<'_> {
    /// `SLOWER: ...` or `FASTER: ...`, the interval beyond the threshold.
    ///
    /// FASTER mirrors SLOWER: sizes have no sign, "less" says the direction. `aside` comes after
    /// the interval: the part of it that is no scatter.
    pub fn clear_sentence(&self, verdict: Verdict, aside: &str) -> String {
        let decimals = self.decimals();
        let slower = self.estimate_percent > 0.0;
        let sizes = [self.low_percent, self.high_percent].map(f64::abs);
        format!(
            "{}: {} {} ({} CI {} to {} %{aside}, {}, threshold {} %).",
            verdict.word(),
            self.name_b,
            claim(
                self.quantity,
                slower,
                &fixed(self.estimate_percent.abs(), decimals),
                self.name_a
            ),
            level(self.level),
            fixed(sizes[0].min(sizes[1]), decimals),
            fixed(sizes[0].max(sizes[1]), decimals),
            rounds(self.rounds),
            threshold(self.threshold_percent),
        )
    }

    /// `SAME within ±3 %: ...`, the interval inside the floor.
    pub fn same_sentence(&self, floor_percent: f64, aside: &str) -> String {
        let decimals = self.decimals();
        let mut sentence = format!(
            "SAME within ±{} %: {} vs {} {} % ({} CI {} to {} %{aside}, {}).",
            threshold(floor_percent),
            self.name_b,
            self.name_a,
            fixed(self.estimate_percent, decimals),
            level(self.level),
            fixed(self.low_percent, decimals),
            fixed(self.high_percent, decimals),
            rounds(self.rounds),
        );
        if self.low_percent > 0.0 || self.high_percent < 0.0 {
            let word = if self.low_percent > 0.0 { "slower" } else { "faster" };
            let name = self.name_b;
            let limit = threshold(floor_percent);
            let aside = format!("(direction clear: {name} is {word}, by less than {limit} %)");
            append(&mut sentence, &aside);
        }
        sentence
    }

    /// `SLOWER, size uncertain: ...`: 0 lies outside the interval, the threshold inside. Where
    /// noise has widened the threshold, it may lie beyond.
    pub fn direction_sentence(&self, verdict: Verdict, aside: &str) -> String {
        let decimals = self.decimals();
        let sizes = [self.low_percent, self.high_percent].map(f64::abs);
        let most = sizes[0].max(sizes[1]);
        let inside = most >= self.threshold_percent;
        format!(
            "{}, size uncertain: at least {} %, at most {} %{aside}; the {} % threshold is {} the \
             interval.",
            verdict.word(),
            fixed(sizes[0].min(sizes[1]), decimals),
            fixed(most, decimals),
            threshold(self.threshold_percent),
            if inside { "inside" } else { "beyond" },
        )
    }

    /// `INCONCLUSIVE: between ...`; `more_rounds` None says that no affordable number would do.
    pub fn inconclusive_sentence(
        &self,
        more_rounds: Option<u32>,
        max_rounds: u32,
        aside: &str,
    ) -> String {
        let needed = match more_rounds {
            Some(1) => "about 1 more round needed".to_owned(),
            Some(more) => format!("about {more} more rounds needed"),
            None => format!("more than {max_rounds} rounds would be needed"),
        };
        format!("INCONCLUSIVE: {}{aside}; {needed}.", self.between())
    }

    /// `between -2.1 % and +9.0 %`.
    pub fn between(&self) -> String {
        between(self.low_percent, self.high_percent)
    }

    /// Supported by the interval's width.
    pub fn decimals(&self) -> usize {
        format::decimals(self.low_percent, self.high_percent)
    }
}

/// `between -2.1 % and +9.0 %`.
pub fn between(low_percent: f64, high_percent: f64) -> String {
    let decimals = format::decimals(low_percent, high_percent);
    format!("between {} % and {} %", signed(low_percent, decimals), signed(high_percent, decimals))
}

/// `NOT COMPARABLE: <reason>.`, several reasons joined by semicolons.
pub fn not_comparable_sentence(reasons: &[String]) -> String {
    let reasons: Vec<&str> = reasons.iter().map(|reason| reason.trim_end_matches('.')).collect();
    format!("NOT COMPARABLE: {}.", reasons.join("; "))
}

/// Too few rounds for any interval; section 3.5 has no template for it. Of the rounds `made` some
/// may be lost.
pub fn too_few_sentence((kept, made): (usize, usize), needed: usize, alpha: f64) -> String {
    let lost = match made - kept {
        0 => String::new(),
        lost => format!(" ({lost} of {made} rounds lost)"),
    };
    format!(
        "INCONCLUSIVE: {} {} no {} interval; at least {needed} needed{lost}.",
        rounds(kept),
        if kept == 1 { "gives" } else { "give" },
        level(1.0 - alpha)
    )
}

/// Puts a remark before the sentence's full stop.
pub fn append(sentence: &mut String, remark: &str) {
    let end = sentence.trim_end_matches('.').len();
    sentence.truncate(end);
    sentence.push(' ');
    sentence.push_str(remark);
    sentence.push('.');
}

fn rounds(count: usize) -> String {
    if count == 1 { "1 paired round".to_owned() } else { format!("{count} paired rounds") }
}

/// The verb phrase; `base` is the base arm's name.
///
/// Only throughput keeps the template's "takes ... longer per op". It would be false of a
/// percentile, of CPU time or of bytes, so those name the quantity.
fn claim(quantity: Quantity, more: bool, percent: &str, base: &str) -> String {
    let longer = if more { "longer" } else { "less time" };
    let comparative = if more { "more" } else { "less" };
    let at = |name: &str| format!("takes {percent} % {longer} per op at {name} than {base}");
    match quantity {
        Quantity::Throughput => format!("takes {percent} % {longer} per op than {base}"),
        Quantity::P50 => at("p50"),
        Quantity::P90 => at("p90"),
        Quantity::P99 => at("p99"),
        Quantity::P999 => at("p99.9"),
        Quantity::CpuPerOperation => {
            format!("uses {percent} % {comparative} CPU time per op than {base}")
        }
        Quantity::AllocatedBytes => {
            format!("allocates {percent} % {comparative} bytes per op than {base}")
        }
        Quantity::WireBytes => {
            format!("moves {percent} % {comparative} bytes per op on the wire than {base}")
        }
        Quantity::PeakMemory => {
            format!("takes {percent} % {comparative} memory at its peak than {base}")
        }
        Quantity::Other { .. } => format!("costs {percent} % {comparative} per op than {base}"),
    }
}
