//! The study of documents and threads with a real driver and server.

use crate::fake_support::real::installed;
use crate::fake_support::{Lab, code, flat, stdout};
use crate::support::{said, skip, start_version};
use record::folder::Folder;
use studies::StudyTable;
use studies::frame::{CellSelector, StudyCell};

#[test]
fn the_tables_of_2010_are_made_again() {
    let test = "study_crud_scale/the_tables_of_2010_are_made_again";
    if let Err(reason) = start_version(None, &[]).map(drop) {
        return skip(test, &reason);
    }
    if !installed(test, &["go"]) {
        return;
    }
    let lab = Lab::with_shared_cache();
    let output = lab.run([
        "study",
        "crud-scale",
        "--quick",
        "--rounds",
        "2",
        "-d",
        "go",
        "--out",
        "out",
        "--json",
    ]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let table: StudyTable = serde_json::from_str(&stdout(&output)).expect("a table");
    let of = |part: &str, phase: &str, metric: &str| -> Vec<&StudyCell> {
        let selector = CellSelector::of([part, phase, "", metric]);
        table.cells.iter().filter(|it| selector.has(it) && !it.original).collect()
    };
    // Six operations a part; three sizes, two numbers of threads, two sorts of writes.
    assert_eq!(of("one-way-*", "", "per_s").len(), 18);
    assert_eq!(of("remote-*", "", "per_s").len(), 18 + 6);
    assert_eq!(of("threads-*", "", "per_s").len(), 12 + 12);
    for part in ["remote-1m", "remote-4m", "remote-10m", "remote-acknowledged-1m"] {
        let (folder, _) = Folder::open(&lab.path(&format!("out/{part}"))).expect(part);
        let runs = folder.runs().expect("runs");
        assert!(runs.len() == 2 && runs.iter().all(|it| it.tapped), "{part}: {runs:?}");
    }
    // A round trip takes 0.6 ms of the link alone, and one thread waits for each.
    for cell in of("remote-*", "search_*", "per_s") {
        assert!(cell.by_round.iter().flatten().all(|per_s| *per_s < 1_700.0), "{cell:?}");
    }
    // On a machine that stands still, one-way writes may be counted before they have arrived.
    let is_one_way = |it: &&String| {
        ["one-way-", "remote-1", "remote-4", "threads-one-way-"]
            .iter()
            .any(|part| it.starts_with(part))
    };
    let lost = table.notes.iter().filter(|it| it.contains(" does not count in "));
    let lost: Vec<&String> = lost.filter(|it| !is_one_way(it)).collect();
    assert_eq!(lost, [""; 0], "answered writes are never lost");
    let searches = of("unwaited-1m", "unwaited", "searches")[0].value.expect("searches");
    assert!((searches.median - 200.0).abs() < 1e-9, "a tenth of 1,000, twice");
    assert_eq!(table.questions.iter().filter(|it| it.claim.is_some()).count(), 6);
    let text = stdout(&lab.run(["report", "out", "--format", "md"]));
    assert!(flat(&text).contains("32,210") && flat(&text).contains("1,470"), "{text}");
    lab.assert_nothing_runs();
}
