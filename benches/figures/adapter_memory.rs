//! An adapter's memory does not grow with the number of operations.

use crate::support::{Bench, Measured, Outcome, benches, megabytes, table};

/// Documents, and ten times as many.
const INSERTS: u64 = 20_000;
const LONG_INSERTS: u64 = 100_000;
const BATCHED: u64 = 100_000;
const BATCH: u64 = 1000;
/// A sample is 32 bytes, a document 275: whoever keeps either shows.
const BYTES_PER_OPERATION_MAX: f64 = 16.0;

/// Measures every adapter in fresh processes for each number.
pub fn run(bench: &Bench) -> Outcome {
    let mut rows = Vec::new();
    let mut reached = true;
    for adapter in &bench.adapters {
        let inserts = if bench.long { LONG_INSERTS } else { INSERTS };
        let kinds = [("insert_one", "inserts", inserts, 1), ("insert_many", "batches", BATCHED, BATCH)];
        for (phase, parameter, documents, batch) in kinds {
            let few = peak(bench, adapter, phase, parameter, documents / batch)?;
            let many = peak(bench, adapter, phase, parameter, documents * 10 / batch)?;
            // Per document: a batch has its own for so long as it is sent.
            let more = many.peak_bytes as f64 - few.peak_bytes as f64;
            let per_document = more / (documents * 9) as f64;
            reached &= per_document <= BYTES_PER_OPERATION_MAX;
            let grown = |it: &Peak| it.peak_bytes.saturating_sub(it.armed_bytes);
            rows.push(vec![
                adapter.clone(),
                phase.to_owned(),
                format!("{documents} / {}", documents * 10),
                format!("{} / {}", megabytes(few.peak_bytes), megabytes(many.peak_bytes)),
                format!("{} / {}", megabytes(grown(&few)), megabytes(grown(&many))),
                format!("{:.2}", many.peak_bytes as f64 / few.peak_bytes as f64),
                format!("{per_document:.1}"),
            ]);
        }
    }
    let head = ["adapter", "phase", "documents", "peak MB", "peak - armed MB", "peak ratio",
        "bytes per further document"];
    table(&head, &rows);
    println!("\ngoal: at most 16 bytes per further document (a sample is 32, a document 275)");
    Ok(reached)
}

/// Resident set of an adapter: the larger of an arm and its A/A arm.
struct Peak {
    peak_bytes: u64,
    armed_bytes: u64,
}

fn peak(
    bench: &Bench,
    adapter: &str,
    phase: &str,
    parameter: &str,
    operations: u64,
) -> Result<Peak, String> {
    let workload = benches("workloads/inserts.yaml");
    let set = format!("{parameter}={operations}");
    let words = [
        workload.as_str(), "--phase", phase, "--set", &set, "-d", adapter, "--rounds", "1",
        "--interleave", "runs",
    ];
    let measured: Measured = bench.experiment(&words)?;
    let phases = measured.runs.iter().flat_map(|run| &run.phases);
    if phases.clone().any(|run| run.operations < operations) {
        return Err(format!("{adapter}: fewer than {operations} operations were done"));
    }
    let largest = phases.max_by_key(|run| run.rss_peak_bytes).ok_or("no run")?;
    Ok(Peak { peak_bytes: largest.rss_peak_bytes, armed_bytes: largest.rss_armed_bytes })
}
