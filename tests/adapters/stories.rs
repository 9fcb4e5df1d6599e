//! Phases and arms that go on with what those before them left, on a real server.

use crate::fake_support::real::real_lab;
use crate::support::said;
use serde_json::Value;

const KEPT: &str = "
name: filling
why: Does inserting depend on how full the database is?
collections:
  log:
    keep: experiment
    document: {_id: {type: long, value: key}, text: {type: string, length: 50}}
phases:
  - {operation: insert_many, collection: log, batch: 100, documents: 450}
  - {operation: find_one, collection: log, operations: 300, continues: true}
";

fn phases(runs: &[Value]) -> impl Iterator<Item = &Value> {
    runs.iter().flat_map(|run| run["phases"].as_array().expect("phases"))
}

/// Every operation was right, and what was read is what the core knows to be there.
fn assert_right(runs: &[Value], told: &str) {
    assert!(!runs.is_empty(), "{told}");
    for phase in phases(runs) {
        let operations = phase["by_operation"].as_array().expect("operations");
        for operation in operations {
            assert_eq!((&operation["wrong"], &operation["failed"]), (&0.into(), &0.into()));
            assert_ne!(operation["count"], 0, "{phase}");
        }
        let answers = &phase["answers"];
        if !answers["documents_expected"].is_null() {
            assert_eq!(answers["documents"], answers["documents_expected"], "{phase}");
        }
    }
}

#[test]
fn each_phase_of_a_story_finds_what_the_one_before_it_left() {
    let name = "stories/each_phase_of_a_story_finds_what_the_one_before_it_left";
    let Some(lab) = real_lab(name) else { return };
    let story = ["run", "story", "-d", "python", "--rounds", "1", "--set", "documents=400"];
    let more = ["--set", "workers=3", "--out", "out", "--server", "embedded"];
    let output = lab.run(story.iter().chain(&more));
    let runs = lab.runs();
    assert_right(&runs, &said(&output));
    let size = |phase: &Value, name: &str| phase["sizes"][name].as_u64();
    for run in &runs {
        let phases = run["phases"].as_array().expect("phases");
        assert_eq!(phases.len(), 8, "{}", said(&output));
        assert_eq!(size(&phases[0], "after.collStats.count"), Some(400));
        let deleted = phases.iter().find(|it| it["phase"] == "delete_one").expect("a phase");
        assert_eq!(size(deleted, "before.collStats.count"), Some(400), "nothing was loaded anew");
        assert_eq!(size(deleted, "after.collStats.count"), Some(0));
    }
}

#[test]
fn a_collection_that_is_kept_grows_from_arm_to_arm() {
    let Some(lab) = real_lab("stories/a_collection_that_is_kept_grows_from_arm_to_arm") else {
        return;
    };
    lab.write("kept.yaml", KEPT);
    let words = ["run", "kept.yaml", "-d", "python", "--rounds", "2", "--out", "out"];
    let output = lab.run(words.iter().chain(&["--server", "embedded"]));
    let runs = lab.runs();
    assert_right(&runs, &said(&output));
    assert!(runs.len() >= 4, "two rounds of two arms: {}", said(&output));
    for (number, run) in runs.iter().enumerate() {
        let sizes = &run["phases"][0]["sizes"];
        assert_eq!(sizes["before.collStats.count"], 450 * number, "{run}");
        assert_eq!(sizes["after.collStats.count"], 450 * (number + 1), "{run}");
    }
}
