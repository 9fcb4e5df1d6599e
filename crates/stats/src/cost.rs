//! The cost of a thing by its size: a fixed part and a part for each unit (section 8.12).

/// `time = fixed + per_unit * size`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Time of a thing of no size.
    pub fixed: f64,
    /// Time of one unit of size.
    pub per_unit: f64,
}

impl Cost {
    pub fn at(&self, size: f64) -> f64 {
        self.fixed + self.per_unit * size
    }

    /// How far a time lies from the line, as a share of the line.
    pub fn misfit(&self, (size, time): (f64, f64)) -> f64 {
        time / self.at(size) - 1.0
    }
}

/// Fits points (size, time) by least squares of the *relative* distances, for times go over three
/// powers of ten and scatter in proportion: by plain squares the largest size alone would decide.
/// Neither part is below 0. None with fewer than three sizes, or with a time of 0.
pub fn fit(points: &[(f64, f64)]) -> Option<Cost> {
    let mut sizes: Vec<f64> = points.iter().map(|(size, _)| *size).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < 3 || points.iter().any(|(_, time)| *time <= 0.0) {
        return None;
    }
    // 1 = fixed / time + per_unit * size / time, over all points.
    let sum = |value: fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(size, time)| value(*size, *time)).sum()
    };
    let (u, v) = (sum(|_, time| 1.0 / time), sum(|size, time| size / time));
    let (uu, vv) = (sum(|_, time| time.powi(-2)), sum(|size, time| (size / time).powi(2)));
    let uv = sum(|size, time| size / time.powi(2));
    let determinant = uu * vv - uv * uv;
    let free =
        Cost { fixed: (u * vv - v * uv) / determinant, per_unit: (v * uu - u * uv) / determinant };
    Some(match free {
        Cost { fixed, .. } if fixed < 0.0 => Cost { fixed: 0.0, per_unit: v / vv },
        Cost { per_unit, .. } if per_unit < 0.0 => Cost { fixed: u / uu, per_unit: 0.0 },
        free => free,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn a_line_is_found_again() {
        let points = [51.0, 1e3, 1e4, 1e5].map(|size| (size, 150.0 + 0.002 * size));
        let cost = fit(&points).expect("a fit");
        assert!(close(cost.fixed, 150.0) && close(cost.per_unit, 0.002), "{cost:?}");
        assert!(points.iter().all(|point| cost.misfit(*point).abs() < 1e-9));
    }

    /// By weighted means, in exact fractions.
    #[test]
    fn the_fit_is_the_weighted_one_of_the_books() {
        let points = [(1.0, 3.0), (2.0, 4.0), (4.0, 9.0), (8.0, 15.0)];
        let cost = fit(&points).expect("a fit");
        assert!(close(cost.fixed, 17_562.0 / 16_753.0), "{cost:?}");
        assert!(close(cost.per_unit, 29_301.0 / 16_753.0), "{cost:?}");
    }

    #[test]
    fn no_part_is_below_zero_and_two_sizes_are_too_few() {
        let rising = fit(&[(1.0, 1.0), (2.0, 3.0), (3.0, 9.0)]).expect("a fit");
        assert!(rising.fixed >= 0.0, "{rising:?}");
        let falling = fit(&[(1.0, 9.0), (2.0, 6.0), (3.0, 5.0)]).expect("a fit");
        assert!(close(falling.per_unit, 0.0) && falling.fixed > 5.0, "{falling:?}");
        assert_eq!(fit(&[(1.0, 1.0), (2.0, 2.0), (2.0, 2.1)]), None);
        assert_eq!(fit(&[(1.0, 1.0), (2.0, 2.0), (3.0, 0.0)]), None);
    }
}
