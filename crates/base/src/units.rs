//! Quantities as people write them on the command line and in workloads: `200us`, `64MiB`,
//! `100mbit`.
//!
//! A unit is required except for 0: a bare `100` could be milliseconds or seconds.

use std::time::Duration;

const NS: [(&str, f64); 9] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
];

const BYTES: [(&str, f64); 7] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("B", 1.0),
];

const BITS_PER_SECOND: [(&str, f64); 4] =
    [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("bit", 1.0)];

/// `100ns`, `200us`, `1.5ms`, `2s`, `1m` or `1min`, `1h`, `30d`, rounded to nanoseconds. The error
/// is a sentence for clap, as it is for the other quantities.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    parse(text, &NS, "a time such as 200us, 1.5ms or 2s").map(Duration::from_nanos)
}

/// The regular expression of a duration, for a JSON Schema.
pub fn duration_pattern() -> String {
    let units: Vec<&str> = NS.iter().map(|(name, _)| *name).collect();
    format!(r"^([0-9]+\.?[0-9]*|\.[0-9]+)\s*({})$|^(0+\.?0*|\.0+)$", units.join("|"))
}

/// `64MiB`, `1GiB`, `512KiB`; `kB`, `MB` and `GB` are powers of ten.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    parse(text, &BYTES, "a size such as 64MiB or 1GiB")
}

/// `100mbit`, `1gbit`, `64kbit`: powers of ten.
pub fn parse_bits_per_second(text: &str) -> Result<u64, String> {
    parse(text, &BITS_PER_SECOND, "a rate such as 100mbit or 1gbit")
}

/// A decimal number before one of the units, with or without a space, in the smallest of them.
fn parse(text: &str, units: &[(&str, f64)], wanted: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not {wanted}");
    let digits = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor = match units.iter().find(|(name, _)| *name == unit.trim_start()) {
        Some((_, factor)) => *factor,
        None if number == 0.0 && unit.is_empty() => 1.0,
        None => return Err(wrong()),
    };
    let value = (number * factor).round();
    // 2^63: room for additions, and far beyond anything that makes sense.
    if value < 9.2e18 { Ok(value as u64) } else { Err(format!("{text} is too much")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(parse_duration("200us"), Ok(Duration::from_micros(200)));
        assert_eq!(parse_duration("1.5ms"), Ok(Duration::from_micros(1500)));
        assert_eq!(parse_duration("2 s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("1min"), Ok(Duration::from_secs(60)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("0.5h"), Ok(Duration::from_secs(1800)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn sizes_and_rates() {
        assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse_bytes("10kB"), Ok(10_000));
        assert_eq!(parse_bits_per_second("100mbit"), Ok(100_000_000));
        assert_eq!(parse_bits_per_second("1gbit"), Ok(1_000_000_000));
    }

    #[test]
    fn what_is_not_a_quantity_is_named() {
        for wrong in ["", "ms", "5", "-1ms", "1e9s", "1.2.3s", "5hours"] {
            let error = parse_duration(wrong).expect_err(wrong);
            assert!(error.contains("200us"), "{error}");
        }
        assert!(parse_bytes("64").is_err() && parse_bits_per_second("100").is_err());
        assert_eq!(parse_duration("99999999999999s"), Err("99999999999999s is too much".into()));
    }
}
