//! The order of an experiment: the decisions of a seed, shuffled rounds and laps, warm-up, looks,
//! whole runs, sweeps. Compared with the records and the messages to fake adapters.

use std::collections::BTreeSet;
use std::fs;

use crate::fake_support::{
    Lab, Step, assert_near, code, flat, noop, places, stderr, stdout, steps,
};
use crate::support::said;
use serde_json::Value;

/// One simulated operation a turn: orders need no more.
const SHORT: &str = "turn_operations=1";

/// A lab whose adapters write down their messages, in one common order.
fn lab(adapters: &[(&str, &[u64])]) -> Lab {
    let lab = Lab::new();
    let trace = format!("trace={}", lab.path("trace").display());
    for (name, op_ns) in adapters {
        lab.paced(name, op_ns, &[SHORT, &trace]);
    }
    lab
}

fn three() -> Lab {
    lab(&[("even", &[100_000]), ("slow", &[108_000]), ("fast", &[92_000])])
}

/// Runs and expects success.
fn experiment(lab: &Lab, drivers: &[&str], more: &[&str]) -> String {
    let output = lab.experiment(drivers, more);
    assert_eq!(code(&output), 0, "{}", said(&output));
    stderr(&output)
}

/// The arms that had the turns of one phase of one round, in order.
fn turns(steps: &[Step], round: usize, phase: &str, warmup: bool) -> Vec<String> {
    let wanted = |step: &&Step| step.round == round && step.phase == phase && step.warmup == warmup;
    let steps = steps.iter().filter(wanted).filter(|step| step.message == "turn");
    steps.map(|step| step.arm.clone()).collect()
}

fn sorted(arms: &[String]) -> Vec<String> {
    let mut arms = arms.to_vec();
    arms.sort();
    arms
}

#[test]
fn a_seed_gives_the_same_order_again_and_another_gives_another() {
    let course = |seed: &str| {
        let lab = three();
        experiment(&lab, &["even", "slow", "fast"], &["--rounds", "3", "--seed", seed]);
        assert_eq!(lab.record()["settings"]["seed"].to_string(), seed);
        (places(&lab.runs()), steps(&lab))
    };
    let (places, steps) = course("7");
    let again = course("7");
    assert_eq!(places, again.0);
    assert_eq!(steps, again.1);
    let other = course("8");
    assert_ne!(places, other.0);
    let laps = |steps: &[Step]| turns(steps, 1, "first", false);
    assert_ne!(laps(&steps), laps(&other.1));
    assert_eq!(sorted(&laps(&steps)), sorted(&laps(&other.1)), "the same turns, in other orders");
}

#[test]
fn rounds_and_laps_are_shuffled() {
    let lab = three();
    let more = ["--rounds", "16", "--seed", "11", "--phase", "second", "--set", "warmup=0.1"];
    experiment(&lab, &["even", "slow", "fast"], &more);
    let (runs, steps) = (lab.runs(), steps(&lab));
    let rounds = places(&runs);
    assert_eq!(rounds.len(), 16);
    let arms = sorted(&rounds[0]);
    assert_eq!(arms.len(), 4);
    for (place, arm) in (0..4).flat_map(|place| arms.iter().map(move |arm| (place, arm))) {
        let times = rounds.iter().filter(|round| &round[place] == arm).count();
        assert!((1..=10).contains(&times), "{arm} was {times} of 16 times at place {place}");
    }
    for (number, round) in rounds.iter().enumerate() {
        assert_eq!(sorted(round), arms, "every arm once a round");
        let turns = turns(&steps, number + 1, "second", false);
        let laps: Vec<&[String]> = turns.chunks(4).collect();
        assert!(laps.len() >= 40, "{} laps", laps.len());
        assert!(laps.iter().all(|lap| sorted(lap) == arms), "each arm once a lap");
        let orders: BTreeSet<&&[String]> = laps.iter().collect();
        assert!(orders.len() >= 16, "{} orders of 24 in {} laps", orders.len(), laps.len());
        for arm in &arms {
            let first = laps.iter().filter(|lap| &lap[0] == arm).count();
            assert!((3..=30).contains(&first), "{arm} began {first} of {} laps", laps.len());
        }
        let recorded = runs.iter().filter(|run| run["round"] == number + 1);
        for run in recorded {
            let phase = &run["phases"][0];
            assert_eq!(phase["turns"], laps.len());
            assert_near(phase["turn_ms"].as_f64().expect("a length"), 50.0, "length of a turn");
        }
    }
}

#[test]
fn phases_come_in_the_order_of_the_workload_for_all_arms_together() {
    let lab = three();
    let more = ["--rounds", "2", "--seed", "3", "--phase", "second", "--phase", "first"];
    experiment(&lab, &["even", "slow"], &more);
    let steps = steps(&lab);
    for round in [1, 2] {
        let mut course = Vec::new();
        let own = steps.iter().filter(|step| step.round == round);
        for step in own.filter(|step| ["first", "second"].contains(&step.phase.as_str())) {
            let at = (step.phase.as_str(), step.warmup, step.message.as_str());
            if course.last() != Some(&at) {
                course.push(at);
            }
        }
        let expected = ["first", "second"].into_iter().flat_map(|phase| {
            let each =
                move |warmup| ["prepare", "turn", "end"].map(|message| (phase, warmup, message));
            [true, false].into_iter().flat_map(each)
        });
        assert_eq!(course, expected.collect::<Vec<_>>(), "all arms finish a step before the next");
    }
    for run in lab.runs() {
        let phases = run["phases"].as_array().expect("phases").iter().map(|it| &it["phase"]);
        assert_eq!(phases.collect::<Vec<_>>(), ["first", "second"]);
    }
}

/// Three no-op phases without a `warmup`.
const COLD: &str = "name: cold\nwhy: Warm-up as the method has it.\nphases:\n\
                    - {name: one, operation: noop}\n- {name: two, operation: noop}\n\
                    - {name: three, operation: noop}\n";

/// The workload file instead of the fixture.
fn words(lab: &Lab, workload: &str, drivers: &[&str], more: &[&str]) -> Vec<String> {
    let mut words = lab.words(drivers, more);
    words[1] = lab.write("workload.yaml", workload).display().to_string();
    words
}

#[test]
fn each_arm_warms_up_as_long_as_its_profile_says_and_none_of_it_counts() {
    let lab = lab(&[("brief", &[100_000]), ("long", &[100_000])]);
    lab.set_warmup("long", "0.5");
    let more = ["--rounds", "1", "--seed", "5", "--phase", "one", "--phase", "two"];
    let output = lab.run(words(&lab, COLD, &["brief", "long"], &more));
    assert_eq!(code(&output), 0, "{}", said(&output));
    let steps = steps(&lab);
    let count =
        |phase, arm| turns(&steps, 1, phase, true).iter().filter(|it| it.as_str() == arm).count();
    // Turns of 100 ms: the profile in the first phase of a process, half a second later on.
    for (arm, first) in [("brief@1.0.0", 2), ("brief@1.0.0 (A/A)", 2), ("long@1.0.0", 5)] {
        assert_eq!(count("one", arm), first, "{arm}");
        assert_eq!(count("two", arm), 5, "{arm}");
    }
    let warmup = turns(&steps, 1, "one", true);
    let arms = sorted(&warmup[..3]);
    assert!(warmup[..6].chunks(3).all(|lap| sorted(lap) == arms), "laps: {warmup:?}");
    assert!(warmup[6..].iter().all(|arm| arm == "long@1.0.0"), "{warmup:?}");
    for run in lab.runs() {
        for phase in run["phases"].as_array().expect("phases") {
            assert_eq!(phase["operations"], phase["turns"], "one operation a turn, no warm-up");
            assert_eq!(phase["warmup_throughput"].as_array().map(Vec::len), Some(1));
        }
    }
}

#[test]
fn the_quick_form_has_six_rounds_two_phases_and_one_second() {
    let lab = three();
    let output = lab.run(words(&lab, COLD, &["even", "slow"], &["--quick", "--seed", "5"]));
    assert_eq!(code(&output), 0, "{}", said(&output));
    let (runs, steps, record) = (lab.runs(), steps(&lab), lab.record());
    assert_eq!(places(&runs).len(), 6);
    assert_eq!(looks(&record), [(6, 0.05)]);
    for phase in ["one", "two"] {
        assert_eq!(turns(&steps, 6, phase, true).len(), 3 * 10, "a second in turns of 100 ms");
        assert_eq!(turns(&steps, 6, phase, false).len(), 3 * 40);
    }
    assert!(turns(&steps, 1, "three", false).is_empty(), "at most two phases");
    assert_near(runs[0]["phases"][0]["turn_ms"].as_f64().expect("a length"), 25.0, "turn");
    let analysis = lab.analysis();
    assert_eq!(analysis["quick"], true);
    for row in rows(&analysis, "slow@1.0.0", "throughput") {
        assert_near(row["threshold_percent"].as_f64().expect("a number"), 5.0, "threshold");
        let sentence = row["sentence"].as_str().expect("a sentence");
        assert!(sentence.starts_with("SLOWER: ") && sentence.contains("(quick)"), "{sentence}");
    }
}

#[test]
fn slow_operations_have_longer_turns_and_never_fewer_than_forty() {
    let lab = lab(&[("even", &[100_000]), ("crawl", &[10_000_000])]);
    let more = ["--rounds", "1", "--phase", "first", "--set", "warmup=0.1"];
    experiment(&lab, &["even", "crawl"], &more);
    for run in lab.runs() {
        let phase = &run["phases"][0];
        // Forty operations of the slowest arm, for all arms alike.
        assert_near(phase["turn_ms"].as_f64().expect("a length"), 400.0, "length of a turn");
        assert_eq!(phase["turns"], 40, "{run}");
    }
}

#[test]
fn the_a_a_arm_is_a_second_start_of_the_baseline() {
    let lab = three();
    experiment(&lab, &["slow", "even"], &["--rounds", "2", "--phase", "first"]);
    let record = lab.record();
    let arms = record["arms"].as_array().expect("arms");
    let ids: Vec<&str> = arms.iter().map(|arm| arm["id"].as_str().expect("an id")).collect();
    assert_eq!(ids, ["slow@1.0.0", "slow@1.0.0 (A/A)", "even@1.0.0"]);
    let twins: Vec<bool> = arms.iter().map(|arm| arm["is_aa"] == true).collect();
    assert_eq!(twins, [false, true, false]);
    for key in ["adapter", "driver", "version", "native", "runtime", "lock_sha256", "resolved"] {
        assert_eq!(arms[0][key], arms[1][key], "{key}");
    }
    let started = fs::read_to_string(lab.path("started")).expect("started processes");
    assert_eq!(started.matches(" slow\n").count(), 4, "twice a round");
    assert_eq!(started.matches(" even\n").count(), 2, "once a round");
    let analysis = lab.analysis();
    for row in analysis["comparisons"].as_array().expect("rows") {
        assert_eq!(row["baseline"], "slow@1.0.0");
        assert_eq!(row["is_aa"], row["arm"] == "slow@1.0.0 (A/A)");
    }
    assert_eq!(rows(&analysis, "slow@1.0.0 (A/A)", "throughput").len(), 1);
}

fn looks(record: &Value) -> Vec<(u64, f64)> {
    let looks = record["settings"]["looks"]["looks"].as_array().expect("looks");
    let look = |look: &Value| Some((look["rounds"].as_u64()?, look["alpha"].as_f64()?));
    looks.iter().map(|it| look(it).expect("rounds and alpha")).collect()
}

fn rows<'a>(analysis: &'a Value, arm: &str, metric: &str) -> Vec<&'a Value> {
    let rows = analysis["comparisons"].as_array().expect("comparisons").iter();
    rows.filter(|row| row["arm"] == arm && row["metric"] == metric).collect()
}

/// Makes the looks of a plain run; returns the number of rounds, the analysis and stderr.
fn looked(lab: &Lab, drivers: &[&str]) -> (usize, Value, String) {
    let more = ["--seed", "21", "--phase", "first", "--set", "warmup=0.1"];
    let said = experiment(lab, drivers, &more);
    assert_eq!(looks(&lab.record()), [(10, 0.01), (20, 0.02), (40, 0.02)]);
    (places(&lab.runs()).len(), lab.analysis(), said)
}

fn verdict(analysis: &Value, arm: &str) -> (String, bool, f64) {
    let row = rows(analysis, arm, "throughput")[0];
    let word = row["verdict"].as_str().expect("a word").to_owned();
    (word, row["direction_only"] == true, row["level"].as_f64().expect("a level"))
}

#[test]
fn a_clear_difference_is_decided_at_the_first_look() {
    let (rounds, analysis, said) = looked(&three(), &["even", "slow", "fast"]);
    assert_eq!(rounds, 10);
    assert!(!said.contains("look after"), "{said}");
    // The first look spends 1 % of the 5: its rank of ten rounds has a level of 99.02 %.
    for (arm, expected) in
        [("slow@1.0.0", "SLOWER"), ("fast@1.0.0", "FASTER"), ("even@1.0.0 (A/A)", "SAME")]
    {
        let (word, direction_only, level) = verdict(&analysis, arm);
        assert_eq!((word.as_str(), direction_only), (expected, false), "{arm}");
        assert_near(level, 1.0 - 10.0 / 1024.0, "level");
    }
}

#[test]
fn a_direction_without_a_size_is_looked_at_again() {
    // Between 1 and 6 % at the first look, with the threshold inside; plain at the second.
    let unsure = [[101_000, 106_000].repeat(5), vec![106_000; 10]].concat();
    let lab = lab(&[("even", &[100_000]), ("unsure", &unsure), ("slow", &[108_000])]);
    let (rounds, analysis, said) = looked(&lab, &["even", "slow", "unsure"]);
    assert_eq!(rounds, 20, "{said}");
    let note = "look after 10 rounds: 1 of 2 comparisons open; on to 20";
    assert!(said.contains(note) && said.matches("look after").count() == 1, "{said}");
    let (word, direction_only, level) = verdict(&analysis, "unsure@1.0.0");
    assert_eq!((word.as_str(), direction_only), ("SLOWER", false));
    assert!((0.98..0.99).contains(&level), "the second look spends 2 %: {level}");
}

#[test]
fn an_open_comparison_ends_with_the_last_look() {
    let lab = lab(&[("even", &[100_000]), ("moody", &[80_000, 120_000, 92_000, 108_000])]);
    let (rounds, analysis, said) = looked(&lab, &["even", "moody"]);
    assert_eq!(rounds, 40);
    for note in ["look after 10 rounds: 1 of 1", "look after 20 rounds: 1 of 1"] {
        assert!(said.contains(note), "{said}");
    }
    let (word, _, level) = verdict(&analysis, "moody@1.0.0");
    assert_eq!(word, "INCONCLUSIVE");
    assert!((0.98..0.99).contains(&level), "{level}");
}

#[test]
fn a_number_of_rounds_is_kept_to_whatever_they_say() {
    let lab = lab(&[("even", &[100_000]), ("moody", &[95_000, 105_000])]);
    let more = ["--rounds", "7", "--phase", "first"];
    let said = experiment(&lab, &["even", "moody"], &more);
    assert!(!said.contains("look after"), "{said}");
    assert_eq!(places(&lab.runs()).len(), 7);
    assert_eq!(looks(&lab.record()), [(7, 0.05)]);
    assert_eq!(verdict(&lab.analysis(), "moody@1.0.0").0, "INCONCLUSIVE");
}

#[test]
fn whole_runs_come_one_after_the_other_in_shuffled_order() {
    let lab = three();
    let more = ["--rounds", "8", "--seed", "2", "--interleave", "runs"];
    experiment(&lab, &["even", "slow"], &more);
    let (rounds, steps) = (places(&lab.runs()), steps(&lab));
    let mut whole: Vec<(usize, String)> =
        steps.iter().map(|step| (step.round, step.arm.clone())).collect();
    whole.dedup();
    let mut expected = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        expected.extend(round.iter().map(|arm| (number + 1, arm.clone())));
    }
    assert_eq!(whole, expected, "an arm closes before the next one is greeted");
    let orders: BTreeSet<&Vec<String>> = rounds.iter().collect();
    assert!(orders.len() >= 3, "{rounds:?}");
    for run in lab.runs() {
        for phase in run["phases"].as_array().expect("phases") {
            assert_eq!(phase["turns"], 1);
            assert_near(phase["turn_ms"].as_f64().expect("a length"), 3_000.0, "one long turn");
        }
    }
    for phase in lab.record()["settings"]["interleave"].as_array().expect("phases") {
        assert_eq!(phase["interleave"], "runs");
        assert_eq!(phase["reason"], "asked for");
    }
    for row in rows(&lab.analysis(), "slow@1.0.0", "throughput") {
        assert_near(row["threshold_percent"].as_f64().expect("a number"), 3.0, "for whole runs");
    }
}

#[test]
fn a_phase_that_does_not_fit_turns_is_one_whole_turn_beside_the_others() {
    let lab = three();
    let workload = "name: thoughtful\nwhy: One phase fits turns, the other does not.\nphases:\n\
                    - {name: turns, operation: noop, warmup: 0.1}\n\
                    - {name: whole, operation: noop, warmup: 0.1, think: 50 ms}\n";
    let more = ["--rounds", "2", "--seed", "4"];
    let output = lab.run(words(&lab, workload, &["even", "slow"], &more));
    assert_eq!(code(&output), 0, "{}", said(&output));
    let steps = steps(&lab);
    for round in [1, 2] {
        assert_eq!(turns(&steps, round, "turns", false).len(), 3 * 60);
        let whole = turns(&steps, round, "whole", false);
        assert_eq!(sorted(&whole), sorted(&places(&lab.runs())[0]), "each arm once");
    }
    let record = lab.record();
    let chosen = &record["settings"]["interleave"];
    assert_eq!([&chosen[0]["interleave"], &chosen[1]["interleave"]], ["turns", "runs"]);
    assert_eq!(chosen[1]["reason"], "think time is too long for turns");
    let phases = &lab.analysis()["phases"];
    assert_eq!([&phases[0]["interleave"], &phases[1]["interleave"]], ["turns", "runs"]);
    assert_eq!(phases[1]["interleave_reason"], chosen[1]["reason"]);
}

#[test]
fn a_sweep_is_one_experiment_for_each_value_in_the_order_given() {
    let lab = Lab::new();
    lab.fake("even", &[SHORT]);
    let more =
        ["--sweep", "warmup=0.3,0.1", "--rounds", "1", "--seed", "9", "--phase", "first", "--json"];
    let output = lab.experiment(&["even"], &more);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let joint: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let values = joint["values"].as_array().expect("values").iter();
    let analyses: Vec<&Value> = values.map(|it| &it["servers"][0]["analysis"]).collect();
    assert_eq!(analyses.len(), 2);
    let cells = [("warmup=0.3", 0.3), ("warmup=0.1", 0.1)];
    let mut ended = String::new();
    for (analysis, (cell, warmup)) in analyses.iter().zip(cells) {
        let folder = lab.path("out").join(cell);
        let text = fs::read_to_string(folder.join("experiment.json")).expect("a record");
        let record: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(record["plan"]["phases"][0]["warmup_s"], warmup);
        assert_eq!(record["settings"]["seed"], 9);
        assert_eq!(record["id"], analysis["id"]);
        assert_eq!(
            analysis["experiment"],
            folder.canonicalize().expect("a path").display().to_string()
        );
        let started = record["started_at"].as_str().expect("a time").to_owned();
        assert!(ended <= started, "{cell} began at {started}, before {ended}");
        ended = record["finished_at"].as_str().expect("a time").to_owned();
    }
    let said = stderr(&output);
    let at = |cell: &str| said.find(&format!("── {cell} ──")).expect("each cell is named");
    assert!(at("warmup=0.3") < at("warmup=0.1"), "{said}");
}

#[test]
fn a_fixed_order_is_kept_and_said_wherever_arms_are_compared() {
    let drivers = ["even", "slow", "fast"];
    let mut arms = ["even@1.0.0", "even@1.0.0 (A/A)", "slow@1.0.0", "fast@1.0.0"];
    for (asked, words) in [("given", "the order given"), ("reverse", "reverse order")] {
        let caution = format!("arms in {words}, not shuffled: place and time may be the cause");
        let lab = three();
        let short = ["--phase", "second", "--set", "warmup=0.1", "--order", asked];
        let more = [&["--rounds", "2", "--seed", "11"], &short[..]].concat();
        let plan = lab.experiment(&drivers, &[&more[..], &["--plan"]].concat());
        assert!(stdout(&plan).contains(&format!("order     {caution}\n")), "{}", said(&plan));
        experiment(&lab, &drivers, &more);
        let steps = steps(&lab);
        for (number, round) in places(&lab.runs()).iter().enumerate() {
            assert_eq!(round[..], arms, "{asked}");
            for warmup in [true, false] {
                let turns = turns(&steps, number + 1, "second", warmup);
                assert!(turns.chunks(4).all(|lap| lap == arms), "{asked}: {turns:?}");
            }
        }
        assert_eq!(lab.record()["settings"]["order"], asked);
        let analysis = lab.analysis();
        for row in analysis["comparisons"].as_array().expect("comparisons") {
            let sentence = row["sentence"].as_str().expect("text");
            assert!(sentence.ends_with(&format!("({caution}).")), "{sentence}");
        }
        for format in ["terminal", "md", "html"] {
            let page = flat(&stdout(&lab.run(["report", "out", "--format", format, "--details"])));
            assert!(page.contains(&caution), "{format}: {page}");
        }
        arms.reverse();
    }
}

#[test]
fn a_cut_experiment_goes_on_in_its_order() {
    let lab = three();
    let drivers = ["even", "slow", "fast"];
    let more = ["--rounds", "3", "--phase", "second", "--set", "warmup=0.1", "--order", "reverse"];
    experiment(&lab, &drivers, &more);
    let before = places(&lab.runs());
    let text = fs::read_to_string(lab.path("out/runs.jsonl")).expect("runs");
    let first: Vec<&str> = text.lines().take(4).collect();
    lab.write("out/runs.jsonl", &format!("{}\n", first.join("\n")));
    let mut record = lab.record();
    record["ended"] = Value::Null;
    lab.write("out/experiment.json", &record.to_string());
    let output = lab.run(["resume", "out", "--workload", &noop()]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(places(&lab.runs()), before, "the last arm first, in all rounds");
}
