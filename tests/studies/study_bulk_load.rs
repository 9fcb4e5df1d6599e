//! The bulk-load study with a real driver, at its smallest scale.

use crate::fake_support::{code, flat, stdout};
use crate::study_support::study_lab;
use crate::support::said;
use studies::bulk_load::{BulkLoadAnalysis, Load};

#[test]
fn loads_are_measured_on_one_server_and_on_several() {
    let test = "study_bulk_load/loads_are_measured_on_one_server_and_on_several";
    let Some(lab) = study_lab(test, &["python"]) else { return };
    let words = ["study", "bulk-load", "-d", "python", "--scale", "0.0008", "--rounds", "2"];
    let more = ["--parts", "names,hosts", "--server", "embedded@4.4", "--out", "out"];
    let output = lab.run([&words[..], &more].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let output = lab.run(["report", "out", "--format", "json"]);
    let analysis: BulkLoadAnalysis = serde_json::from_str(&stdout(&output)).expect("an analysis");
    assert_eq!(analysis.loads.len(), 8, "{:?}", analysis.loads);
    assert!(analysis.notes.is_empty(), "{:?}", analysis.notes);
    for load in &analysis.loads {
        let rates: Vec<f64> = load.rates.iter().copied().flatten().collect();
        assert!(rates.len() == 2 && rates.iter().all(|it| *it > 0.0), "{load:?}");
        assert!(load.documents > 0 && load.document_bytes > 0.0, "{load:?}");
    }
    let of = |phase: &str| -> &Load {
        analysis.loads.iter().find(|it| it.phase == phase).unwrap_or_else(|| panic!("{phase}"))
    };
    // Five batches for four hosts, the last one short.
    assert_eq!(of("threads_1").by_host, [1_160, 1_000, 1_000, 1_000]);
    let received = |phase: &str| of(phase).wire_bytes.expect("counters").median.estimate;
    let longer = received("names_32") - received("names_1");
    assert!((longer - 19.0 * 31.0).abs() < 1.0, "each name is sent with each document: {longer}");
    let page = flat(&stdout(&lab.run(["report", "out", "--format", "md"])));
    assert!(page.contains("Do the hosts end with equal shares?"), "{page}");
    lab.assert_nothing_runs();
}
