//! The two tables of 2010, operations a second: `Test MongoDB in Windows Environment`.

use super::cells::Series;

const MILLIONS: [u32; 5] = [1, 2, 4, 8, 10];

/// None where it is not known, or was not measured.
pub fn rate(series: Series, operation: &str, millions: u32) -> Option<f64> {
    let rates: &[f64] = match (series, operation) {
        (Series::OneWay, "insert") => &[32_210.0, 29_540.0, 27_160.0, 22_100.0, 20_530.0],
        (Series::OneWay, "update") => &[18_560.0, 18_160.0, 18_010.0, 17_900.0, 17_540.0],
        (Series::OneWay, "delete") => &[12_660.0, 12_510.0, 11_980.0, 11_610.0, 11_550.0],
        (Series::OneWay, "search_id") => &[13_340.0, 13_330.0, 13_350.0, 12_990.0, 12_130.0],
        (Series::OneWay, "search_key") => &[9_190.0, 9_280.0, 9_300.0, 9_110.0, 9_010.0],
        (Series::OneWay, "search_value") => &[7.2, 3.6, 1.8, 0.9, 0.7],
        (Series::Remote, "insert") => &[31_450.0, 30_700.0, 22_420.0, 18_810.0, 17_600.0],
        (Series::Remote, "update") => &[18_180.0, 18_160.0, 17_400.0, 18_100.0, 17_830.0],
        (Series::Remote, "delete") => &[12_550.0, 12_270.0, 11_730.0, 11_680.0, 11_530.0],
        // The other sizes, and the searches by key and value, are not known here.
        (Series::Remote, "search_id") => &[2_410.0],
        _ => &[],
    };
    MILLIONS.iter().position(|it| *it == millions).and_then(|at| rates.get(at)).copied()
}
