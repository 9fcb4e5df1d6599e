//! An adapter's memory does not grow with the number of operations.

use crate::support::{Bench, Measured, Outcome, benches, megabytes, table};

/// Few documents and many: one by one, the same in the long form, and in batches. The few must fill
/// the workers' buffers of samples (2 of 32,768), which then grow no further.
const INSERTS: [u64; 2] = [70_000, 280_000];
const LONG_INSERTS: [u64; 2] = [100_000, 1_000_000];
const BATCHED: [u64; 2] = [100_000, 1_000_000];
const BATCH: u64 = 1000;
/// A sample is 32 bytes, a document 275: an adapter that keeps either shows.
const BYTES_PER_DOCUMENT_MAX: f64 = 16.0;

/// Measures every adapter in fresh processes for each number.
pub fn run(bench: &Bench) -> Outcome {
    let mut rows = Vec::new();
    let mut reached = true;
    for adapter in &bench.adapters {
        let inserts = if bench.long { LONG_INSERTS } else { INSERTS };
        let kinds =
            [("insert_one", "inserts", inserts, 1), ("insert_many", "batches", BATCHED, BATCH)];
        for (phase, parameter, documents, batch) in kinds {
            let few = peak(bench, adapter, phase, parameter, documents[0] / batch)?;
            let many = peak(bench, adapter, phase, parameter, documents[1] / batch)?;
            // Against its memory when armed: the schedule, which is read before, has its own size.
            let grown = |it: &Peak| it.peak_bytes.saturating_sub(it.armed_bytes);
            let more = grown(&many) as f64 - grown(&few) as f64;
            let per_document = more / (documents[1] - documents[0]) as f64;
            reached &= per_document <= BYTES_PER_DOCUMENT_MAX;
            rows.push(vec![
                adapter.clone(),
                phase.to_owned(),
                format!("{} / {}", documents[0], documents[1]),
                format!("{} / {}", megabytes(few.peak_bytes), megabytes(many.peak_bytes)),
                format!("{} / {}", megabytes(grown(&few)), megabytes(grown(&many))),
                format!("{per_document:.1}"),
            ]);
        }
    }
    let head = [
        "adapter",
        "phase",
        "documents",
        "peak MB",
        "peak - armed MB",
        "bytes per further document",
    ];
    table(&head, &rows);
    println!(
        "\nsmallest peak of four runs, each in a process of its own; armed: before the first \
         operation, after the warm-up, with the schedule read (at most 1,048,576 records)"
    );
    println!("goal: at most 16 bytes per further document (a sample is 32, a document 275)");
    Ok(reached)
}

/// Resident set of an adapter: the smallest of several runs. A heap that is collected late scatters
/// upwards by tens of MB. Memory kept for each operation is in every run.
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
        workload.as_str(),
        "--phase",
        phase,
        "--set",
        &set,
        "-d",
        adapter,
        "--rounds",
        "2",
        "--interleave",
        "runs",
    ];
    let measured: Measured = bench.experiment(&words)?;
    let phases = measured.runs.iter().flat_map(|run| &run.phases);
    if phases.clone().any(|run| run.operations < operations) {
        return Err(format!("{adapter}: fewer than {operations} operations were done"));
    }
    let smallest = phases.min_by_key(|run| run.rss_peak_bytes).ok_or("no run")?;
    Ok(Peak { peak_bytes: smallest.rss_peak_bytes, armed_bytes: smallest.rss_armed_bytes })
}
