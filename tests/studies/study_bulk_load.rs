//! The bulk-load study with a real driver, at its smallest scale.

use crate::fake_support::{code, flat, stdout};
use crate::study_support::study_lab;
use crate::support::said;
use studies::bulk_load::{BulkLoadAnalysis, Load};

#[test]
fn every_form_of_loading_is_measured() {
    let test = "study_bulk_load/every_form_of_loading_is_measured";
    let Some(lab) = study_lab(test, &["python"]) else { return };
    let words = ["study", "bulk-load", "-d", "python", "--scale", "0.0001", "--rounds", "2"];
    let output = lab.run([&words[..], &["--server", "embedded@4.4", "--out", "out"]].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let output = lab.run(["report", "out", "--format", "json"]);
    let analysis: BulkLoadAnalysis = serde_json::from_str(&stdout(&output)).expect("an analysis");
    assert!(analysis.loads.len() > 20, "{:?}", analysis.loads);
    assert_eq!(analysis.notes, [String::new(); 0], "nothing failed");
    for load in &analysis.loads {
        let rates: Vec<f64> = load.rates.iter().copied().flatten().collect();
        assert!(rates.len() == 2 && rates.iter().all(|it| *it > 0.0), "{load:?}");
        assert!(load.documents > 0 && load.document_bytes > 0.0, "{load:?}");
    }
    let of = |phase: &str| -> &Load {
        analysis.loads.iter().find(|it| it.phase == phase).unwrap_or_else(|| panic!("{phase}"))
    };
    assert_eq!(of("batch_threshold").documents, 520);
    let received = |phase: &str| of(phase).wire_bytes.expect("counters").median.estimate;
    let longer = received("names_32") - received("names_1");
    assert!((longer - 19.0 * 31.0).abs() < 1.0, "each name is sent with each document: {longer}");
    let page = flat(&stdout(&lab.run(["report", "out", "--format", "md"])));
    assert!(page.contains("Are batches faster than one by one?"), "{page}");
    lab.assert_nothing_runs();
}
