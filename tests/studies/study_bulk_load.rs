//! The bulk-load study with a real driver, at its smallest scale.

use std::process::Command;

use crate::fake_support::{code, flat, stderr, stdout};
use crate::study_support::study_lab;
use crate::support::{said, skip};
use studies::bulk_load::{BulkLoadAnalysis, Load};

#[test]
fn loads_are_measured_on_one_server_and_on_several() {
    let test = "study_bulk_load/loads_are_measured_on_one_server_and_on_several";
    let Some(lab) = study_lab(test, &["python"]) else { return };
    let words = ["study", "bulk-load", "-d", "python", "--scale", "0.0008", "--rounds", "2"];
    let more = ["--parts", "names,hosts,shards", "--server", "embedded@4.4", "--out", "out"];
    let output = lab.run([&words[..], &more].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let output = lab.run(["report", "out", "--format", "json"]);
    let analysis: BulkLoadAnalysis = serde_json::from_str(&stdout(&output)).expect("an analysis");
    let (through, loads): (Vec<Load>, Vec<Load>) =
        analysis.loads.into_iter().partition(|it| it.part == "shards");
    // Six on a machine that has a mongos, which no test asks for.
    let page = flat(&stdout(&lab.run(["report", "out", "--format", "md"])));
    let picture = stdout(&lab.run(["report", "out", "--format", "svg"]));
    assert!(picture.contains("hosts: documents a second of each load"), "{picture}");
    let left_out = page.contains("shards is left out: it takes a mongos in front of shards; ");
    assert_eq!(through.len(), if left_out { 0 } else { 6 }, "{page}");
    assert_eq!(loads.len(), 8, "{loads:?}");
    let of_others =
        |it: &str| it.contains("the machine was busy") || it.contains("other processes");
    assert_eq!(analysis.notes.iter().find(|it| !of_others(it)), None, "of other tests it may be");
    for load in &loads {
        let rates: Vec<f64> = load.rates.iter().copied().flatten().collect();
        assert!(rates.len() == 2 && rates.iter().all(|it| *it > 0.0), "{load:?}");
        assert!(load.documents > 0 && load.document_bytes > 0.0, "{load:?}");
    }
    let of = |phase: &str| -> &Load {
        loads.iter().find(|it| it.phase == phase).unwrap_or_else(|| panic!("{phase}"))
    };
    // Five batches for four hosts, the last one short.
    assert_eq!(of("threads_1").by_host, [1_160, 1_000, 1_000, 1_000]);
    let (at_once, tenths) = (of("threads_1").hosts_at_once, &of("threads_1").hosts_over_time);
    let at_once = at_once.expect("the calls are those that the hosts counted").median.estimate;
    assert!((at_once - 1.0).abs() < 1e-9, "one thread waits for each batch: {at_once}");
    assert!(tenths.len() == 10 && tenths.iter().all(|it| it.len() == 4), "{tenths:?}");
    assert!(page.contains("hosts over time"), "{page}");
    let received = |phase: &str| of(phase).wire_bytes.expect("counters").median.estimate;
    let longer = received("names_32") - received("names_1");
    assert!((longer - 19.0 * 31.0).abs() < 1.0, "each name is sent with each document: {longer}");
    assert!(!left_out || page.contains("No load went through a mongos with shards."), "{page}");
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
