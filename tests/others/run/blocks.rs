//! Arms that do not all fit into memory at once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::fake_support::{Lab, code, fake_command, flat, json_lines, noop, stderr, stdout};
use crate::support::said;

/// More than any machine has: a block is the baseline and one other arm.
const HUGE: [&str; 2] = ["--client-memory", "9000GiB"];

/// A driver `lib` whose version 1.3.0 takes 15 % longer. The machine is moody: every other block
/// of two processes is half as slow again.
fn lab() -> Lab {
    let lab = Lab::new();
    let started = lab.path("started").display().to_string();
    let words = "turn_operations=10 noise_percent=1 op_ns=$op version={version}";
    let script = format!(
        "echo >> '{started}'; block=$((($(wc -l < '{started}') - 1) / 2)); \
         op=$((100000 + block % 2 * 50000)); \
         case {{version}} in 1.3.0) op=$((op * 115 / 100));; esac; exec {}",
        fake_command(words)
    );
    lab.scripted("lib", &script);
    lab
}

fn words(more: &[&str]) -> Vec<String> {
    let mut words = vec!["run".to_owned(), noop(), "--phase=first".to_owned()];
    words.extend(["--server", "none", "--out", "out"].map(str::to_owned));
    for minor in 0..4 {
        words.extend(["-d".to_owned(), format!("lib@1.{minor}.0")]);
    }
    words.extend(HUGE.iter().chain(more).map(|word| (*word).to_owned()));
    words
}

#[test]
fn each_arm_is_compared_with_the_baseline_of_its_own_block() {
    let lab = lab();
    let output = lab.run(words(&["--rounds", "6", "--details"]));
    assert_eq!(code(&output), 0, "{}", said(&output));
    let blocks = lab.record()["settings"]["blocks"].clone();
    assert_eq!((&blocks["count"], &blocks["by"]), (&4.into(), &"client_memory".into()));
    // In each round the baseline has a run in each block, and each other arm one run.
    let mut partners: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    let runs = lab.runs();
    for round in 1..=6 {
        let of_round: Vec<&Value> = runs.iter().filter(|run| run["round"] == round).collect();
        let baseline = of_round.iter().filter(|run| run["arm"] == "lib@1.0.0");
        let baseline: Vec<u64> = baseline.filter_map(|run| run["block"].as_u64()).collect();
        assert_eq!(baseline, [0, 1, 2, 3], "round {round}");
        assert_eq!(of_round.len(), 8, "round {round}");
        for run in of_round {
            let arm = run["arm"].as_str().expect("an arm").to_owned();
            partners.entry(arm).or_default().extend(run["block"].as_u64());
        }
    }
    assert!(partners.values().all(|blocks| blocks.len() > 1), "dealt anew: {partners:?}");
    // Blocks differ by half, the arms within them do not.
    let report = lab.run(["report", "out", "--format", "json"]);
    let analysis: Value = serde_json::from_str(&stdout(&report)).expect("JSON");
    let rows = analysis["comparisons"].as_array().expect("comparisons");
    let verdicts = rows.iter().filter(|row| row["metric"] == "throughput");
    let verdicts: Vec<&str> = verdicts.filter_map(|row| row["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["SAME", "SAME", "SAME", "SLOWER"], "{}", said(&output));
    let told = flat(&stdout(&output));
    let caution = "each arm is compared with the baseline of its own block, and arms of different \
                   blocks through the baseline alone";
    assert!(told.contains(caution), "{told}");
    let step = "; scan only, through the baseline of each block, p = 0.0";
    assert!(told.contains("CHANGE at 1.3.0, ") && told.contains(step), "{told}");
    assert_eq!(json_lines(&lab.path("out/runs.jsonl")).len(), 48);
}

#[test]
fn the_plan_names_the_blocks_and_a_cut_experiment_keeps_them() {
    let lab = lab();
    let plan = lab.run(words(&["--plan"]));
    let told = stdout(&plan);
    assert!(told.contains("blocks    4 a round, of at most 2 arms, the baseline in each ("));
    assert!(told.contains("8.79 TiB an arm by --client-memory)"), "{told}");
    let output = lab.run(words(&["--rounds", "2"]));
    assert!([0, 6].contains(&code(&output)), "{}", said(&output));
    // The record of an experiment that was cut within the last round: one block's baseline is not
    // written.
    let mut record = lab.record();
    record["ended"] = Value::Null;
    record["settings"]["blocks"]["arm_bytes"] = 1.into();
    lab.write("out/experiment.json", &record.to_string());
    let runs: Vec<String> = lab.runs().iter().map(Value::to_string).collect();
    lab.write("out/runs.jsonl", &format!("{}\n", runs[..15].join("\n")));
    let workload = noop();
    let resumed = lab.run(["resume", "out", "--workload", &workload]);
    assert!(stderr(&resumed).contains("going on after round 1"), "{}", said(&resumed));
    assert_eq!(lab.runs().len(), 16, "round 2 was made again, in the same number of blocks");
    let kept = &lab.record()["settings"]["blocks"];
    assert_eq!((&kept["count"], &kept["arm_bytes"]), (&4.into(), &1.into()));
}
