//! Writes every figure, so that all formats say the same.

/// Stands where there is no figure.
pub const MISSING: &str = "n/a";

/// A whole number with thousands separators: `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 round`, `6 rounds`: a count of things whose plural ends in s.
pub fn counted(value: impl Into<u64>, thing: &str) -> String {
    let value = value.into();
    format!("{} {thing}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Six significant digits for a program: `1.23457e4`.
pub fn digits(value: f64) -> String {
    format!("{value:.5e}")
}

/// Three significant digits, whole numbers from 100 on: `0.0123`, `1.23`, `12.3`, `12,345`.
pub fn figure(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return MISSING.to_owned();
    }
    if value >= 99.95 {
        // At most 2^53 in practice; `as` saturates beyond.
        return count(value.round() as u64);
    }
    let decimals = match value {
        v if v >= 9.995 => 1,
        v if v >= 0.995 || v == 0.0 => 2,
        v if v >= 0.0995 => 3,
        _ => 4,
    };
    if value == 0.0 { "0".to_owned() } else { format!("{value:.decimals$}") }
}

/// Three significant digits, however small: `0.0123`, `2.10e-4`.
pub fn small(value: f64) -> String {
    if value == 0.0 || value >= 0.001 { figure(value) } else { format!("{value:.2e}") }
}

/// [`figure`] of a value that may be below zero.
pub fn signed_figure(value: f64) -> String {
    if value < 0.0 { format!("-{}", figure(-value)) } else { figure(value) }
}

/// [`figure`], or `n/a`.
pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), figure)
}

/// The unit of a column of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl TimeUnit {
    /// The largest unit in which the smallest of these times (us) is still at least one.
    pub fn fitting(times_us: impl IntoIterator<Item = f64>) -> Self {
        let smallest =
            times_us.into_iter().filter(|t| t.is_finite() && *t > 0.0).fold(f64::MAX, f64::min);
        match smallest {
            f64::MAX => Self::Microseconds,
            t if t >= 1e6 => Self::Seconds,
            t if t >= 1e3 => Self::Milliseconds,
            // Some hundredths of a microsecond read better than a whole column in ns.
            t if t >= 0.1 => Self::Microseconds,
            _ => Self::Nanoseconds,
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// A time without the label of its unit.
    pub fn figure(self, time_us: Option<f64>) -> String {
        let factor = match self {
            Self::Nanoseconds => 1e3,
            Self::Microseconds => 1.0,
            Self::Milliseconds => 1e-3,
            Self::Seconds => 1e-6,
        };
        optional(time_us.map(|t| t * factor))
    }
}

/// A single time with its unit: `1.21 ms`.
pub fn time(time_us: f64) -> String {
    let unit = if time_us < 1.0 { TimeUnit::Nanoseconds } else { TimeUnit::fitting([time_us]) };
    format!("{} {}", unit.figure(Some(time_us)), unit.label())
}

/// Without the label, for a column.
pub fn mebibytes(bytes: Option<u64>) -> String {
    optional(bytes.map(|b| b as f64 / f64::from(1 << 20)))
}

/// Bytes with the unit that fits: `512 B`, `1.50 KiB`, `7.75 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{} {}", figure(value), UNITS[unit]) }
}

/// Decimals an interval supports: two significant digits of its half-width (methodology 3.5), at
/// most three. An interval of no width (bytes allocated, for instance) has two.
pub fn decimals(low: f64, high: f64) -> usize {
    let half_width = (high - low).abs() / 2.0;
    if half_width == 0.0 {
        return 2;
    }
    // Rounded first: 0.996 becomes 1.0, which needs one decimal and not two.
    let rounded = format!("{half_width:.1e}");
    let exponent = rounded.rsplit_once('e').and_then(|(_, e)| e.parse::<i32>().ok());
    exponent.map_or(0, |exponent| (1 - exponent).clamp(0, 3) as usize)
}

/// Number with a fixed number of decimals: `7.2`, `-0.4`; never `-0.0`.
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if is_zero(&text) { text.trim_start_matches('-').to_owned() } else { text }
}

/// [`fixed`] with its sign: `+7.2`, `-0.4`, `0.0`.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    if is_zero(&text) || text.starts_with('-') { text } else { format!("+{text}") }
}

fn is_zero(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'))
}

/// Number with at most this many decimals: `3`, `95.1`.
pub fn trimmed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `12.3 (11.0 to 13.9)`: an estimate with its interval, as `text` writes a number. It is the one
/// notation: the unit follows it, or is in the heading of its column.
pub fn with_interval(
    estimate: f64,
    interval: Option<(f64, f64)>,
    text: impl Fn(f64) -> String,
) -> String {
    let between = |(low, high)| format!(" ({} to {})", text(low), text(high));
    text(estimate) + &interval.map_or(String::new(), between)
}

/// `-1.9 to +1.2 %`: an interval in percent, None where an end is missing or infinite.
pub fn interval(low: Option<f64>, high: Option<f64>) -> Option<String> {
    let (low, high) = (low.filter(|v| v.is_finite())?, high.filter(|v| v.is_finite())?);
    let places = decimals(low, high);
    Some(format!("{} to {} %", signed(low, places), signed(high, places)))
}

/// `+7.2 % (+5.1 to +9.4 %)`: never an estimate without its interval.
pub fn change(estimate: Option<f64>, low: Option<f64>, high: Option<f64>) -> Option<String> {
    let estimate = estimate.filter(|v| v.is_finite())?;
    let interval = interval(low, high)?;
    let places = decimals(low?, high?);
    Some(format!("{} % ({interval})", signed(estimate, places)))
}

/// A threshold without the sign `%`, with as few decimals as it needs: `3`, `4.25`.
pub fn threshold(percent: f64) -> String {
    trimmed(percent, 2)
}

/// A level of confidence, 0 to 1, as `95.2 %`; never `100 %`, which no interval from data has.
pub fn level(level: f64) -> String {
    format!("{} %", trimmed((100.0 * level).min(99.9), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_separated() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn figures_have_three_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.0123, "0.0123"),
            (0.5, "0.500"),
            (0.9996, "1.00"),
            (1.234, "1.23"),
            (9.996, "10.0"),
            (12.34, "12.3"),
            (99.96, "100"),
            (5_712.4, "5,712"),
            (f64::NAN, "n/a"),
            (f64::INFINITY, "n/a"),
            (-1.0, "n/a"),
        ] {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn a_column_gets_the_unit_of_its_smallest_time() {
        assert_eq!(TimeUnit::fitting([203.0, 25_100.0]), TimeUnit::Microseconds);
        assert_eq!(TimeUnit::fitting([1_203.0, 25_100.0]), TimeUnit::Milliseconds);
        assert_eq!(TimeUnit::fitting([0.05]), TimeUnit::Nanoseconds);
        assert_eq!(TimeUnit::fitting([2e6]), TimeUnit::Seconds);
        assert_eq!(TimeUnit::fitting([]), TimeUnit::Microseconds);
        assert_eq!(TimeUnit::Milliseconds.figure(Some(25_100.0)), "25.1");
        assert_eq!(TimeUnit::Milliseconds.figure(None), "n/a");
        assert_eq!(time(0.042), "42.0 ns");
        assert_eq!(time(0.9), "900 ns");
        assert_eq!(time(1_210.0), "1.21 ms");
    }

    #[test]
    fn bytes_carry_their_unit() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(1_536), "1.50 KiB");
        assert_eq!(bytes(8_320_000_000), "7.75 GiB");
        assert_eq!(mebibytes(Some(64 << 20)), "64.0");
        assert_eq!(mebibytes(None), "n/a");
    }

    #[test]
    fn an_interval_decides_the_decimals() {
        assert_eq!(
            change(Some(7.24), Some(5.12), Some(9.41)).as_deref(),
            Some("+7.2 % (+5.1 to +9.4 %)")
        );
        assert_eq!(
            change(Some(412.4), Some(390.0), Some(431.0)).as_deref(),
            Some("+412 % (+390 to +431 %)")
        );
        assert_eq!(interval(Some(-0.02), Some(0.61)).as_deref(), Some("-0.02 to +0.61 %"));
        assert_eq!(interval(Some(-0.001), Some(2.0)).as_deref(), Some("0.0 to +2.0 %"));
        assert_eq!(change(Some(1.0), None, Some(2.0)), None);
        assert_eq!(interval(Some(f64::NEG_INFINITY), Some(2.0)), None);
    }

    #[test]
    fn an_estimate_has_its_interval_behind_it() {
        assert_eq!(with_interval(12.3, Some((11.0, 13.9)), figure), "12.3 (11.0 to 13.9)");
        assert_eq!(with_interval(12.3, None, figure), "12.3");
    }

    #[test]
    fn decimals_follow_the_half_width() {
        let cases =
            [(2.15, 1), (0.55, 2), (0.996, 1), (12.0, 0), (0.0004, 3), (0.0, 2), (150.0, 0)];
        for (half_width, want) in cases {
            assert_eq!(decimals(-half_width, half_width), want, "{half_width}");
        }
        assert_eq!(decimals(f64::NEG_INFINITY, 1.0), 0);
        assert_eq!((fixed(-0.04, 1), fixed(-0.06, 1)), ("0.0".to_owned(), "-0.1".to_owned()));
    }

    #[test]
    fn thresholds_and_levels_are_short() {
        assert_eq!(
            [3.0, 3.46, 12.3, 0.25, 10.0].map(threshold),
            ["3", "3.46", "12.3", "0.25", "10"]
        );
        let levels = [0.951_558, 0.99, 0.968_75, 0.999_99].map(level);
        assert_eq!(levels, ["95.2 %", "99 %", "96.9 %", "99.9 %"]);
    }
}
