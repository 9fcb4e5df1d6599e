//! The noise study with a real driver, cut short and resumed.

use crate::fake_support::{code, flat, pid, send, stderr, stdout};
use crate::study_support::{read, study_lab};
use crate::support::said;
use nix::sys::signal::Signal;
use record::records::Ended;
use studies::StudyTable;
use studies::frame::StudyCell;

#[test]
fn a_driver_and_its_copy_are_measured_and_gone_on_with() {
    let test = "study_noise/a_driver_and_its_copy_are_measured_and_gone_on_with";
    let Some(lab) = study_lab(test, &["go"]) else { return };
    let words = ["study", "noise", "-d", "go", "--quick", "--rounds", "3", "--server", "absorber"];
    let mut child = lab.start([&words[..], &["--out", "out"]].concat());
    lab.wait_for_runs(2);
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    let output = lab.run(["resume", "out"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(stderr(&output).contains("study noise with go@"), "{}", said(&output));
    let (experiment, runs) = read(&lab);
    assert_eq!(experiment.ended, Some(Ended::Completed));
    let ids: Vec<&str> = experiment.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!(ids, [ids[0], &format!("{}#2", ids[0])], "one driver, twice, and no A/A arm");
    assert_eq!(runs.len(), 6);
    assert!(runs.iter().all(|run| run.failed.is_none() && !run.tapped), "{runs:?}");
    let output = lab.run(["report", "out", "--format", "json"]);
    let analysis: StudyTable = serde_json::from_str(&stdout(&output)).expect("an analysis");
    let cells = |metric: &str| -> Vec<StudyCell> {
        analysis.cells.iter().filter(|it| it.metric == metric).cloned().collect()
    };
    let count = |metric: &str| cells(metric)[0].value.map(|it| it.median as usize);
    assert_eq!(count("rounds"), Some(3));
    let lost = count("disturbed_rounds").expect("a count");
    let differences = cells("difference_percent");
    assert_eq!(differences.len(), 2, "a phase each: {differences:?}");
    for cell in differences {
        assert!(cell.value.map_or(0, |it| it.rounds) + lost >= 3, "{cell:?}");
    }
    let text = stdout(&lab.run(["report", "out", "--format", "md"]));
    assert!(flat(&text).contains("are differences of 3 % told apart here?"), "{text}");
    let output = lab.run(["report", "out", "--format", "svg"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    lab.assert_nothing_runs();
}
