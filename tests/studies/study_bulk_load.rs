//! The bulk-load study with a real driver, at its smallest scale.

use std::process::Command;

use crate::fake_support::{code, flat, stderr, stdout};
use crate::study_support::study_lab;
use crate::support::{said, skip};
use studies::StudyTable;
use studies::frame::{CellSelector, StudyCell};

#[test]
fn loads_are_measured_on_one_server_and_on_several() {
    let test = "study_bulk_load/loads_are_measured_on_one_server_and_on_several";
    let Some(lab) = study_lab(test, &["python"]) else { return };
    let words = ["study", "bulk-load", "-d", "python", "--scale", "0.0008", "--rounds", "2"];
    let more = ["--parts", "names,hosts,shards", "--server", "embedded@4.4", "--out", "out"];
    let output = lab.run([&words[..], &more].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let output = lab.run(["report", "out", "--format", "json"]);
    let table: StudyTable = serde_json::from_str(&stdout(&output)).expect("a table");
    assert_eq!((table.study.as_str(), table.scale), ("bulk-load", Some(0.0008)));
    let of = |names: [&str; 4]| -> Vec<&StudyCell> {
        let selector = CellSelector::of(names);
        table.cells.iter().filter(|it| selector.has(it) && !it.original).collect()
    };
    let median = |names: [&str; 4]| {
        let cells = of(names);
        let value = cells.first().and_then(|it| it.value);
        value.unwrap_or_else(|| panic!("{names:?}: {cells:?}")).median
    };
    let (through, loads): (Vec<&StudyCell>, Vec<&StudyCell>) =
        of(["", "", "", "documents_per_s"]).into_iter().partition(|it| it.part == "shards");
    // Six on a machine that has a mongos, which no test asks for.
    let page = flat(&stdout(&lab.run(["report", "out", "--format", "md"])));
    let picture = stdout(&lab.run(["report", "out", "--format", "svg"]));
    assert!(picture.contains("hosts: documents a second of each load"), "{picture}");
    let left_out = page.contains("shards is left out: it takes a mongos in front of shards; ");
    assert_eq!(through.len(), if left_out { 0 } else { 6 }, "{page}");
    assert_eq!(loads.len(), 8, "{loads:?}");
    let of_others =
        |it: &str| it.contains("the machine was busy") || it.contains("other processes");
    assert_eq!(table.notes.iter().find(|it| !of_others(it)), None, "of other tests it may be");
    for load in &loads {
        let rates: Vec<f64> = load.by_round.iter().copied().flatten().collect();
        assert!(rates.len() == 2 && rates.iter().all(|it| *it > 0.0), "{load:?}");
        let positive = |metric| median([&load.part, &load.phase, "", metric]) > 0.0;
        assert!(["documents", "document_bytes", "measured_ms"].into_iter().all(positive));
    }
    // Five batches for four hosts, the last one short.
    let each = of(["hosts", "threads_1, *", "", "host_documents"]);
    let each: Vec<f64> = each.iter().filter_map(|it| Some(it.value?.median)).collect();
    assert_eq!(each, [1_160.0, 1_000.0, 1_000.0, 1_000.0]);
    let at_once = median(["hosts", "threads_1", "", "hosts_at_once"]);
    assert!((at_once - 1.0).abs() < 1e-9, "one thread waits for each batch: {at_once}");
    let tenths = of(["hosts", "threads_1, *", "", "tenth_*"]);
    assert!(tenths.len() == 40 && tenths.iter().all(|it| it.value.is_some()), "{tenths:?}");
    assert!(page.contains("hosts over time"), "{page}");
    let received = |phase: &str| median(["names", phase, "", "wire_bytes"]);
    let longer = received("names_32") - received("names_1");
    assert!((longer - 19.0 * 31.0).abs() < 1.0, "each name is sent with each document: {longer}");
    assert!(page.contains("the original, Java, 4 hosts, 5,200,000 documents"), "{page}");
    let csv = stdout(&lab.run(["report", "out", "--format", "csv"]));
    let original = "\"the original, Java, 4 hosts, 5,200,000 documents\",measured_ms,ms,70427,";
    assert!(csv.contains(original), "{csv}");
    let mongos = table.questions.iter().find(|it| it.id == "mongos").expect("the claim (e)");
    assert!(!left_out || mongos.sentence == "Nothing was measured.", "{mongos:?}");
    assert!(page.contains("Do the hosts end with equal shares?"), "{page}");
    lab.assert_nothing_runs();
}

#[test]
fn a_load_that_the_disk_cannot_hold_is_refused_before_the_first_part() {
    let test = "study_bulk_load/a_load_that_the_disk_cannot_hold_is_refused_before_the_first_part";
    let Some(lab) = study_lab(test, &["python"]) else { return };
    let private = Command::new("unshare").args(["-m", "true"]).output();
    if !private.is_ok_and(|output| output.status.success()) {
        return skip(test, "`unshare -m` needs root");
    }
    let script = r#"
        data="${MDYN_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/mongodyno}/data"
        mkdir -p "$data" && mount -t tmpfs -o size=1m tmpfs "$data" || exit 99
        exec "$0" "$@"
    "#;
    let words = ["study", "bulk-load", "-d", "python", "--parts", "names,sizes", "--out", "out"];
    let output = lab.wrapped(&["unshare", "-m", "sh", "-c", script], words).output();
    let output = output.expect("it starts");
    let told = flat(&stderr(&output));
    assert!(told.contains("error: names: 52,000 documents of "), "{told}");
    assert!(told.contains(" has 1.00 MiB free hint: give a smaller --scale"), "{told}");
    assert!(!lab.path("out").exists(), "nothing has begun");
}
