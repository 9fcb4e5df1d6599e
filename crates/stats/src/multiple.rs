//! Many tests in one report: Benjamini and Hochberg's control of the false discovery rate.

/// Share of false discoveries accepted among the differences that a report marks (section 3.2).
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// Adjusted p-values, in the order given: a test is a discovery at rate q when its value is <= q.
///
/// Benjamini & Hochberg 1995, as R's `p.adjust(method = "BH")`. NaN counts as 1.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let known = |p: f64| if p.is_nan() { 1.0 } else { p };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_unstable_by(|&i, &j| known(p_values[j]).total_cmp(&known(p_values[i])));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut smallest = 1.0_f64;
    for (from_largest, &index) in order.iter().enumerate() {
        let rank = p_values.len() - from_largest;
        let scaled = known(p_values[index]) * p_values.len() as f64 / rank as f64;
        smallest = smallest.min(scaled);
        adjusted[index] = smallest;
    }
    adjusted
}
