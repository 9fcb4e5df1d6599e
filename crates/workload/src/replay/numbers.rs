//! Logarithm and power in plain arithmetic. Platforms round their own differently, and a plan must
//! be the same on all of them.

use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

/// Natural logarithm of a positive normal number, to some 15 digits.
pub fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut mantissa = f64::from_bits((bits & !(0x7ff << 52)) | (1023 << 52));
    if mantissa > SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 atanh((m - 1) / (m + 1)), where the argument is at most 0.172.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for odd in (1..=25).rev().step_by(2) {
        sum = sum * square + 1.0 / f64::from(odd);
    }
    f64::from(exponent) * LN_2 + 2.0 * s * sum
}

/// Exponential function of a number whose result is a normal number.
pub fn exp(x: f64) -> f64 {
    let power = (x * LOG2_E).round();
    let rest = x - power * LN_2;
    let mut sum = 1.0;
    for n in (1..=18).rev() {
        sum = 1.0 + sum * rest / f64::from(n);
    }
    let exponent = (power as i64 + 1023).clamp(1, 2046) as u64;
    sum * f64::from_bits(exponent << 52)
}

/// `base` to the power of `exponent`, for a positive base.
pub fn pow(base: f64, exponent: f64) -> f64 {
    exp(exponent * ln(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_platform() {
        for x in [1e-300, 0.001, 0.5, 0.9999, 1.0, 1.0001, 1.5, 2.0, 10.0, 12345.678, 1e300] {
            assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs().max(1.0), "ln {x}");
        }
        for x in [-700.0, -1.0, -1e-9, 0.0, 0.3, 1.0, 2.5, 100.0, 700.0_f64] {
            assert!((exp(x) / x.exp() - 1.0).abs() < 2e-13, "exp {x}");
        }
        assert!((pow(20_000.0, -0.99) / 20_000_f64.powf(-0.99) - 1.0).abs() < 1e-13);
    }
}
