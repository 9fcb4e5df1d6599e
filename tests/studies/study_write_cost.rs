//! The study of writing, with a real driver and server, at its smallest.

use crate::fake_support::{code, flat, stdout};
use crate::study_support::study_lab;
use crate::support::said;
use record::folder::Folder;
use studies::StudyTable;
use studies::frame::{CellSelector, StudyCell};

#[test]
fn every_part_has_its_figures() {
    let test = "study_write_cost/every_part_has_its_figures";
    let Some(lab) = study_lab(test, &["go"]) else { return };
    let words = ["study", "write-cost", "-d", "go", "--rounds", "1", "--quick"];
    let little = ["--set=warmup=0.05", "--client-memory", "128MiB", "--server", "embedded@4.4"];
    let output = lab.run([&words[..], &little, &["--out", "out"]].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let output = lab.run(["report", "out", "--format", "json"]);
    let table: StudyTable = serde_json::from_str(&stdout(&output)).expect("a table");
    assert_eq!((table.study.as_str(), table.scale), ("write-cost", Some(0.002)));
    let of = |names: [&str; 4]| -> Vec<&StudyCell> {
        let selector = CellSelector::of(names);
        table.cells.iter().filter(|it| selector.has(it) && !it.original).collect()
    };
    let median = |names| of(names).first().and_then(|it| it.value).map(|it| it.median);
    let bytes = |part| median([part, "one_by_one", "", "document_bytes"]);
    assert_eq!([bytes("small"), bytes("large")], [Some(51.0), Some(100_059.0)]);
    for part in ["small", "large"] {
        for cell in of([part, "", "", "time_us"]) {
            // Go's driver takes no sequence.
            assert_eq!(cell.value.is_none(), cell.phase == "lazy", "{cell:?}");
        }
    }
    for (way, sizes) in [("write", 12), ("read", 5)] {
        assert_eq!(of(["by-size", &format!("{way}_*"), "", "time_us"]).len(), sizes);
        assert!(median(["by-size", way, "", "fixed_us"]).is_some(), "{way}");
    }
    let stored = of(["stored", "", "server", "stored_documents"]);
    let stored: Vec<(&str, f64)> =
        stored.iter().map(|it| (it.phase.as_str(), it.value.map_or(0.0, |it| it.median))).collect();
    let each = [("small", 2_000.0), ("zero", 50.0), ("text", 50.0), ("random", 50.0)];
    assert_eq!(stored, each);
    // 5 MB of zeros make a file much smaller than 5 MB of noise, which nothing compresses.
    let storage = |phase| median(["stored", phase, "server", "storage_bytes"]).expect(phase);
    assert!(storage("zero") * 4.0 < storage("random"), "{}", storage("zero"));
    let fails = of(["memory", "insert_many", "", "fails_documents"])[0];
    assert!(fails.value.is_some(), "{fails:?}");
    assert!(fails.note.as_ref().is_some_and(|it| it.contains("died of memory")), "{fails:?}");
    let (_, part) = Folder::open(&lab.path("out/memory")).expect("an experiment");
    assert_eq!(part.client_memory.expect("a limit").bytes, 128 << 20);
    let text = flat(&stdout(&lab.run(["report", "out", "--format", "md"])));
    assert!(text.contains("the original, 1,000,000 documents"), "{text}");
    let csv = stdout(&lab.run(["report", "out", "--format", "csv"]));
    let rows = [
        "small,mapped_one_by_one,go",
        "large,one_by_one,\"the original, 1,000,000 documents\",peak_bytes,bytes,7000000000,",
        "stored,zero,server,storage_bytes,bytes,",
        "memory,insert_many,the original,fits_documents,count,25000,",
    ];
    assert!(rows.iter().all(|row| csv.contains(row)), "{csv}");
    let svg = stdout(&lab.run(["report", "out", "--format", "svg"]));
    assert!(svg.contains("Time of writing one document"), "{svg}");
    lab.assert_nothing_runs();
}
