//! Commands seen by the tap, as one table a phase: the same in every report for people.

use serde::Serialize;

use base::say::clean;
use format::{self, MISSING, TimeUnit};
use judge::analysis::types::{Analysis, TapRow};

#[derive(Debug, Serialize)]
pub struct WireTable {
    /// Names of the columns of figures.
    pub head: Vec<String>,
    pub rows: Vec<WireRow>,
    /// Why a driver's share is missing, a sentence an arm.
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct WireRow {
    pub arm: String,
    pub cells: Vec<String>,
}

/// None where the tap was not on the way.
pub fn table(analysis: &Analysis, phase: &str) -> Option<WireTable> {
    let taps: Vec<&TapRow> =
        analysis.taps.iter().filter(|tap| clean(&tap.phase) == phase).collect();
    if taps.is_empty() {
        return None;
    }
    let times = |tap: &&TapRow| {
        [Some(tap.server_us_per_op), tap.driver_us_per_op, tap.encode_p50_us, tap.decode_p50_us]
    };
    let unit = TimeUnit::fitting(taps.iter().flat_map(times).flatten());
    let has_link = taps.iter().any(|tap| tap.link_us_per_op > 0.0);
    let with_unit = |name: &str| format!("{name} {}", unit.label());
    let mut head: Vec<String> =
        ["commands/op", "bytes out/op", "bytes in/op"].map(str::to_owned).to_vec();
    head.push(with_unit("server/op"));
    head.extend(has_link.then(|| with_unit("link/op")));
    head.extend([with_unit("driver/op"), with_unit("encode p50"), with_unit("decode p50")]);
    head.push("connections".to_owned());
    let row = |tap: &&TapRow| {
        let mut cells = vec![
            format::fixed(tap.round_trips_per_op, 2),
            format::figure(tap.bytes_out_per_op),
            format::figure(tap.bytes_in_per_op),
            unit.figure(Some(tap.server_us_per_op)),
        ];
        cells.extend(has_link.then(|| unit.figure(Some(tap.link_us_per_op))));
        cells.extend(
            [tap.driver_us_per_op, tap.encode_p50_us, tap.decode_p50_us]
                .map(|time| time.map_or(MISSING.to_owned(), |time| unit.figure(Some(time)))),
        );
        cells.push(tap.connections_peak.to_string());
        WireRow { arm: clean(&tap.arm), cells }
    };
    let note = |tap: &&TapRow| {
        let why = tap.not_separable.as_ref()?;
        Some(clean(&format!("{}: driver share not separable: {why}", tap.arm)))
    };
    Some(WireTable {
        head,
        rows: taps.iter().map(row).collect(),
        notes: taps.iter().filter_map(note).collect(),
    })
}
