//! The study of writing, with a real driver and server, at its smallest.

use crate::fake_support::{code, flat, stdout};
use crate::study_support::study_lab;
use crate::support::said;
use record::folder::Folder;
use studies::write_cost::types::WriteCostAnalysis;

#[test]
fn every_part_has_its_figures() {
    let test = "study_write_cost/every_part_has_its_figures";
    let Some(lab) = study_lab(test, &["go"]) else { return };
    let words = ["study", "write-cost", "-d", "go", "--rounds", "1", "--scale", "0.002"];
    let little = ["--set=warmup=0.05", "--client-memory", "128MiB", "--server", "embedded@4.4"];
    let output = lab.run([&words[..], &little, &["--out", "out"]].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let output = lab.run(["report", "out", "--format", "json"]);
    let analysis: WriteCostAnalysis = serde_json::from_str(&stdout(&output)).expect("an analysis");
    let sizes: Vec<f64> = analysis.documents.iter().map(|it| it.bytes).collect();
    assert_eq!(sizes, [51.0, 100_059.0]);
    for documents in &analysis.documents {
        for way in &documents.rows[0].ways {
            // Go's driver takes no sequence.
            assert_eq!(way.time_us.is_none(), way.phase == "lazy", "{}: {way:?}", documents.name);
        }
    }
    let lines = [&analysis.by_size[0].write, &analysis.by_size[0].read];
    assert!(lines.iter().all(|it| it.points.len() == 12 && it.fixed_us.is_some()), "{lines:?}");
    let stored: Vec<(&str, u64)> =
        analysis.stored.iter().map(|it| (it.name.as_str(), it.documents)).collect();
    assert_eq!(stored, [("small", 2_000), ("zero", 50), ("text", 50), ("random", 50)]);
    // 5 MB of zeros make a file much smaller than 5 MB of noise, which nothing compresses.
    let storage = |at: usize| analysis.stored[at].storage_bytes;
    assert!(storage(1) * 4 < storage(3), "{:?}", analysis.stored);
    let memory = &analysis.memory[0];
    assert!(memory.fails_documents.is_some() && memory.fates[0].contains("died of memory"));
    let (_, part) = Folder::open(&lab.path("out/memory")).expect("an experiment");
    assert_eq!(part.client_memory.expect("a limit").bytes, 128 << 20);
    let text = flat(&stdout(&lab.run(["report", "out", "--format", "md"])));
    assert!(text.contains("the server holds"), "{text}");
    let csv = stdout(&lab.run(["report", "out", "--format", "csv"]));
    let rows = [
        ",small,mapped_one_by_one,us,",
        ",large,one_by_one,held_bytes,",
        "server,stored,zero,storage_bytes,",
        ",memory,insert_many,limit_bytes,134217728,",
    ];
    assert!(rows.iter().all(|row| csv.contains(row)), "{csv}");
    let svg = stdout(&lab.run(["report", "out", "--format", "svg"]));
    assert!(svg.contains("Time of writing one document"), "{svg}");
    lab.assert_nothing_runs();
}
