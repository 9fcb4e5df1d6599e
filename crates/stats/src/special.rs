//! Tail probabilities of the normal and Student's t distribution, to about 12 digits.
//!
//! Written out here: a distribution crate would be the largest dependency of this crate.

use std::f64::consts::PI;

/// P(Z <= z) of the standard normal distribution.
pub fn normal_cdf(z: f64) -> f64 {
    if z > 0.0 { 1.0 - normal_lower_tail(z) } else { normal_lower_tail(-z) }
}

/// P(Z <= -x) for x >= 0: power series near the centre, continued fraction in the tail. Abramowitz
/// & Stegun 26.2.11 and 26.2.14.
fn normal_lower_tail(x: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / (2.0 * PI).sqrt();
    if x < 3.0 {
        let (mut term, mut sum, mut odd) = (x, x, 1.0);
        while term > sum * 1e-17 {
            odd += 2.0;
            term *= x * x / odd;
            sum += term;
        }
        0.5 - density * sum
    } else {
        let tail = (1..=120).rev().fold(x, |below, k| x + f64::from(k) / below);
        density / tail
    }
}

/// Two-sided P(|T| >= |t|) of Student's t with `degrees` degrees of freedom (> 0).
pub fn student_t_two_sided(t: f64, degrees: f64) -> f64 {
    regularised_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5)
}

/// The t with [`student_t_two_sided`] = `alpha` (0 to 1), by bisection. At most 1e9, enough for any
/// caller's degrees of freedom.
pub fn student_t_point(alpha: f64, degrees: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while high < 1e9 && student_t_two_sided(high, degrees) > alpha {
        high *= 2.0;
    }
    // To some ten digits: more than any interval has.
    for _ in 0..36 {
        let middle = f64::midpoint(low, high);
        if student_t_two_sided(middle, degrees) > alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The regularised incomplete beta function, by the continued fraction on the side that converges
/// (Abramowitz & Stegun 26.5.8).
fn regularised_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let log_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    let front = log_front.exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

/// Lentz's evaluation of the continued fraction of the incomplete beta function.
#[expect(clippy::many_single_char_names, reason = "the symbols of the textbook")]
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in (1..=300).map(f64::from) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for coefficient in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + coefficient * d);
            c = away_from_zero(1.0 + coefficient / c);
            fraction *= c * d;
        }
        if (fraction / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// ln Γ(x) for x > 0, Lanczos approximation with g = 7.
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    for (coefficient, i) in COEFFICIENTS.iter().zip(1..) {
        sum += coefficient / (x + f64::from(i));
    }
    let t = x + 7.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::{normal_cdf, student_t_point, student_t_two_sided};

    #[test]
    fn tails_agree_with_tabulated_values() {
        for (z, want) in [
            (0.0, 0.5),
            (-1.959_963_984_540_054, 0.025),
            (-3.0, 1.349_898_031_630_094_6e-3),
            (-6.0, 9.865_876_450_376_98e-10),
            (1.0, 0.841_344_746_068_542_9),
        ] {
            assert!((normal_cdf(z) / want - 1.0).abs() < 1e-12, "{z}: {}", normal_cdf(z));
        }
        // t tables: the two-sided 5 % and 1 % points; one degree of freedom is Cauchy (p = 0.5).
        for (t, degrees, want) in [
            (1.0, 1.0, 0.5),
            (2.228_138_851_964_938_6, 10.0, 0.05),
            (2.749_995_653_567_230_6, 30.0, 0.01),
        ] {
            let p = student_t_two_sided(t, degrees);
            assert!((p / want - 1.0).abs() < 1e-9, "{t} {degrees}: {p}");
            let point = student_t_point(want, degrees);
            assert!((point / t - 1.0).abs() < 1e-8, "{t} {degrees}: {point}");
        }
    }
}
