//! Arms take part in the phases that they can; for the others they say why not.

use crate::fake_support::{Lab, QUICK, code, flat, stderr, stdout};
use crate::support::said;

const PHASES: &str = "
name: part
why: Two phases that not every adapter can do.
phases:
  - {name: few, operation: noop, workers: 2, warmup: 0.1, duration: 0.2}
  - {name: many, operation: noop, workers: 100, warmup: 0.1, duration: 0.2}
";

#[test]
fn an_arm_that_lacks_a_phase_is_in_the_others() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.fake("single", &[QUICK, "max=1"]);
    lab.write("part.yaml", PHASES);
    let words = ["run", "part.yaml", "--server", "none", "--rounds", "1", "--out", "out"];
    let output = lab.run(words.iter().chain(&["-d", "even", "-d", "single", "--details"]));
    assert_eq!(code(&output), 0, "{}", said(&output));
    for run in lab.runs() {
        assert!(run["failed"].is_null(), "{run}");
        let phases = run["phases"].as_array().expect("phases");
        let names: Vec<&str> = phases.iter().filter_map(|it| it["phase"].as_str()).collect();
        let single = run["arm"].as_str().is_some_and(|arm| arm.starts_with("single"));
        assert_eq!(names, if single { &["few"][..] } else { &["few", "many"] }, "{run}");
    }
    // The two workers are two processes.
    let record = lab.record();
    assert!(record["arms"].to_string().contains("not_measured"), "{record}");
    let shown = flat(&stdout(&output));
    let reason = "single@1.0.0 not measured: its adapter takes 1 worker a process: 100 workers \
                  need 100 processes, at most 64";
    assert_eq!(shown.matches(reason).count(), 1, "{}", said(&output));
}

const LONG: &str = "
name: long
why: A count that takes hours, and what would go on from there.
phases:
  - {name: long, operation: noop, operations: 100000000, warmup: 0.1}
  - {name: next, operation: noop, operations: 10, continues: true}
";

#[test]
fn a_count_ends_at_the_time_that_was_asked_for_and_its_story_with_it() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.write("long.yaml", LONG);
    let words = ["run", "long.yaml", "--server", "none", "--rounds", "1", "--out", "out"];
    let output = lab.run(words.iter().chain(&["-d", "even", "--max-time", "200ms"]));
    let told = flat(&stderr(&output));
    assert!(told.contains("long did not come to its end for one arm"), "{}", said(&output));
    for run in lab.runs() {
        let phases = run["phases"].as_array().expect("phases");
        assert_eq!(phases.len(), 1, "{run}");
        let count = phases[0]["by_operation"][0]["count"].as_u64().expect("a count");
        assert!((1..100_000_000).contains(&count), "{run}");
    }
    assert_eq!(lab.record()["settings"]["max_time_s"], 0.2);
}

const TOLD: &str = "
name: told
why: A story behind a phase of its own, and a phase behind it.
phases:
  - {name: alone, operation: noop, operations: 10, warmup: 0.1}
  - {name: first, operation: noop, operations: 10, warmup: 0.1}
  - {name: second, operation: noop, operations: 10, continues: true}
  - {name: third, operation: noop, duration: 30, continues: true}
  - {name: after, operation: noop, operations: 10, warmup: 0.1}
";

#[test]
fn the_quick_form_tells_a_story_to_its_end() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.write("told.yaml", TOLD);
    let words = ["run", "told.yaml", "--server", "none", "--quick", "--out", "out", "-d", "even"];
    let output = lab.run(words);
    assert_eq!(code(&output), 0, "{}", said(&output));
    for run in lab.runs() {
        let phases = run["phases"].as_array().expect("phases");
        let names: Vec<&str> = phases.iter().filter_map(|it| it["phase"].as_str()).collect();
        assert_eq!(names, ["alone", "first", "second", "third"], "{}", said(&output));
    }
    let plan = lab.record()["plan"]["phases"].clone();
    assert_eq!(plan[3]["limit"]["duration"]["seconds"], 1.0, "{plan:#}");
}

#[test]
fn where_no_arm_reads_messages_the_fastest_that_is_installed_does() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let study = |more: &[&str]| {
        let words = ["study", "broker", "-d", "even", "--server", "absorber", "--rounds", "1"];
        lab.run([&words[..], more].concat())
    };
    let output = study(&[]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    let expected = "error: no adapter that is installed can read messages\n";
    assert!(stderr(&output).contains(expected), "{}", said(&output));

    for (name, behaviour) in [("slow", "consumer_ns=90"), ("fast", "consumer_ns=20")] {
        lab.fake(name, &[behaviour]);
        assert_eq!(code(&lab.run(["adapters", "install", name])), 0);
    }
    lab.fake("not-there", &["consumer_ns=10"]);
    lab.fake("own", &["consumer_ns=50"]);
    for (more, reader) in [(&[][..], "fast"), (&["-d", "own"], "own")] {
        let output = study(more);
        let line = format!("; {reader}@1.0.0 reads the messages");
        assert!(flat(&stderr(&output)).contains(&line), "{}", said(&output));
    }
}
