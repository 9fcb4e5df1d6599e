//! The machine under an experiment: other work on it, a look before the start, the owner of the
//! server, cores kept awake, and the length of a phase.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::fake_support::real::with_client;
use crate::fake_support::{Lab, assert_near, code, pid, send, stderr, wait_until};
use crate::support::{block_on, said, skip};
use base::child::cpu_ns;
use mongodb::bson::{Document, doc};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::{Value, json};
use server::{Host, InstallProgress, Program, StartOptions, start_background, stop_background};

/// A lab whose adapter `even` does not declare that it is simulated.
fn real() -> Lab {
    let lab = Lab::new();
    lab.fake("even", &["turn_operations=10"]);
    lab.rewrite("even", |text| text.replace("simulated = true\n", ""));
    lab
}

/// Processes that keep all cores busy; they end with the value.
struct Neighbours(Vec<Child>);

const NEIGHBOUR: &str = "busy-neighbour";

impl Neighbours {
    fn new(lab: &Lab) -> Self {
        // A process is named after its program's file.
        let program = lab.path(NEIGHBOUR);
        symlink("/bin/sh", &program).expect("a link");
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let start = |_| Command::new(&program).args(["-c", "while :; do :; done"]).spawn();
        // More than the other tests that may run beside this one.
        Self((0..4 * cores).map(|number| start(number).expect("it starts")).collect())
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_busy_machine_is_named_before_the_start_and_in_every_round() {
    let lab = real();
    let _neighbours = Neighbours::new(&lab);
    let output = lab.experiment(&["even"], &["--rounds", "1", "--phase", "first"]);
    assert!(stderr(&output).contains("the machine is busy: "), "{}", said(&output));
    assert!(stderr(&output).contains("; going on"), "{}", said(&output));
    for run in lab.runs() {
        let noise = &run["machine_noise"];
        let foreign = noise["foreign"].as_array().expect("names");
        let fractions: Vec<f64> =
            foreign.iter().map(|it| it["fraction"].as_f64().expect("a number")).collect();
        assert!((1..=3).contains(&foreign.len()), "{noise}");
        assert!(fractions.is_sorted_by(|a, b| a >= b), "{noise}");
        assert!(foreign.iter().any(|it| it["name"] == NEIGHBOUR), "{noise}");
    }
}

#[test]
fn a_busy_machine_is_given_time_and_the_wait_can_be_interrupted() {
    let lab = real();
    let _neighbours = Neighbours::new(&lab);
    let words = lab.words(&["even"], &["--rounds", "1", "--phase", "first"]);
    let mut command = lab.command(&words);
    command.env_remove("MDYN_NO_WAIT");
    let file = |name| fs::File::create(lab.path(name)).expect("a file");
    let child = command.stdout(file("stdout")).stderr(file("stderr")).spawn();
    let mut child = child.expect("the binary starts");
    wait_until("it waits", || {
        let text = fs::read_to_string(lab.path("stderr")).expect("a file");
        text.contains("it has 20 s to become quiet (--no-wait goes on)")
    });
    send(pid(&child), Signal::SIGINT);
    let done = lab.finish(&mut child);
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert_eq!(lab.runs(), Vec::<Value>::new(), "not one round was begun");
}

#[test]
fn pretended_work_waits_for_nobody() {
    let lab = Lab::new();
    lab.fake("even", &["turn_operations=10"]);
    let _neighbours = Neighbours::new(&lab);
    let output = lab.experiment(&["even"], &["--rounds", "1", "--phase", "first"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(!stderr(&output).contains("busy"), "{}", said(&output));
    assert_eq!(lab.record()["machine"]["keep_awake"], Value::Null);
}

#[test]
fn whether_cores_are_kept_awake_is_measured_and_recorded() {
    let lab = real();
    let more = ["--rounds", "1", "--phase", "first"];
    lab.experiment(&["even"], &more);
    let found = &lab.record()["machine"]["keep_awake"];
    assert_eq!(lab.record()["settings"]["keep_awake"], true);
    assert!(found["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{found}");
    // Where it was measured, the two round trips decide.
    if let Some(plain) = found["round_trip_us"].as_f64() {
        assert!(plain > 0.0 && found["round_trip_awake_us"].as_f64().is_some(), "{found}");
    } else {
        assert_eq!(found["used"], false, "{found}");
    }
    fs::remove_dir_all(lab.path("out")).expect("a folder");
    lab.experiment(&["even"], &[&more[..], &["--no-keep-awake"]].concat());
    let found = &lab.record()["machine"]["keep_awake"];
    assert_eq!(lab.record()["settings"]["keep_awake"], false);
    let unused = json!({
        "used": false, "reason": "not asked for",
        "round_trip_us": null, "round_trip_awake_us": null
    });
    assert_eq!(found, &unused);
}

/// A command that keeps a server busy for seconds.
fn load(uri: &str, ended: &AtomicBool) {
    let sum: Document = doc! { "$reduce": {
        "input": { "$range": [0, 200_000] }, "initialValue": 0,
        "in": { "$add": ["$$value", "$$this"] }
    } };
    let pipeline = [doc! { "$documents": [{}] }, doc! { "$project": { "sum": sum } }];
    let command = doc! { "aggregate": 1, "pipeline": pipeline.to_vec(), "cursor": {} };
    with_client(uri, async |client| {
        while !ended.load(Ordering::Relaxed) {
            client.database("admin").run_command(command.clone()).await?;
        }
        Ok(())
    });
}

#[test]
fn a_server_that_was_started_before_is_no_foreign_process() {
    let name = "a_server_that_was_started_before_is_no_foreign_process";
    let lab = real();
    let host = Host::detect().expect("a host");
    let mut program = match Program::embedded(&host, None, InstallProgress { quiet: true }) {
        Ok(program) => program,
        Err(reason) => return skip(name, &reason.to_string()),
    };
    // The name is unique, because other servers may be at work here.
    let served = lab.path("served-mongod");
    symlink(&program.path, &served).expect("a link");
    program.path = served;
    let host = Host { home: lab.path("servers"), ..host };
    let mut options = StartOptions::new(lab.path("mongod.log"));
    options.guard_program = Some(env!("CARGO_BIN_EXE_mongodyno").into());
    let server = block_on(start_background(&host, "beside", &program, &options));
    let server = server.expect("it starts");
    let uri = server.record.expect("a record").uri;
    let mongod = Pid::from_raw(server.pid.expect("it runs").cast_signed());

    let ended = AtomicBool::new(false);
    let words = lab.words(&["even"], &["--rounds", "2", "--phase", "first", "--uri", &uri]);
    let words: Vec<String> =
        words.into_iter().filter(|word| !["--server", "none"].contains(&word.as_str())).collect();
    let before = cpu_ns(mongod).expect("it lives");
    let output = thread::scope(|scope| {
        scope.spawn(|| load(&uri, &ended));
        let output = lab.run(&words);
        ended.store(true, Ordering::Relaxed);
        output
    });
    let used_ns = cpu_ns(mongod).expect("it lives") - before;
    stop_background(&host, "beside").expect("it stops");
    assert_eq!(lab.record()["server"]["kind"], "external", "{}", said(&output));
    assert!(used_ns > 100_000_000, "the server had work: {used_ns} ns");
    for run in lab.runs() {
        let foreign = run["machine_noise"]["foreign"].as_array().expect("names");
        assert!(!foreign.iter().any(|it| it["name"] == "served-mongod"), "{run}");
        assert_ne!(run["phases"][0]["receipt"]["level"], "opcounters", "it is not ours alone");
    }
}

#[test]
fn turns_have_one_length_for_all_rounds_by_the_median_of_the_first_warm_up() {
    let lab = Lab::new();
    // Two processes a round: the baseline and its copy. In the second round all is five times
    // slower, and so are the last of five turns of every warm-up.
    let op_ns = [2_000_000, 2_000_000, 10_000_000, 10_000_000];
    lab.paced("moody", &op_ns, &["turn_operations=1", "noise_percent=90"]);
    let more = ["--rounds", "2", "--phase", "first", "--set", "warmup=0.5"];
    let output = lab.experiment(&["moody"], &more);
    assert_eq!(code(&output), 0, "{}", said(&output));
    for run in lab.runs() {
        assert_near(run["phases"][0]["turn_ms"].as_f64().expect("a length"), 80.0, "a turn");
    }
    let settings = &lab.record()["settings"]["interleave"];
    assert_near(settings[0]["turn_ms"].as_f64().expect("a length"), 80.0, "as recorded");
}

#[test]
fn laps_are_added_while_the_round_scatters_and_every_turn_is_kept() {
    let lab = Lab::new();
    lab.fake("even", &["turn_operations=1", "op_ns=10000"]);
    lab.fake("moody", &["turn_operations=1", "op_ns=10000", "noise_percent=80"]);
    let more = ["--rounds", "1", "--phase", "first", "--set", "warmup=0.1"];
    let turns = |driver: &str| {
        let _ = fs::remove_dir_all(lab.path("out"));
        let output = lab.experiment(&["even", driver], &more);
        assert_eq!(code(&output), 0, "{}", said(&output));
        let runs = lab.runs();
        let turns = runs[0]["phases"][0]["turns"].as_u64().expect("a number");
        for run in &runs {
            let phase = &run["phases"][0];
            assert_eq!(phase["turns"], turns, "all arms have the same laps");
            let list = |key: &str| phase[key].as_array().expect("a list").clone();
            let (rates, positions) = (list("turn_throughputs"), list("turn_positions"));
            assert_eq!((rates.len(), positions.len()), (turns as usize, turns as usize));
            assert!(positions.iter().all(|it| it.as_u64().is_some_and(|it| it < 3)), "{phase}");
            let near = |it: &Value| it.as_f64().is_some_and(|it| (5e4..=6e5).contains(&it));
            assert!(rates.iter().all(near), "ten us, more or less: {phase}");
        }
        turns
    };
    assert_eq!(turns("even"), 60, "without scatter as many as planned");
    let many = turns("moody");
    assert!((61..=240).contains(&many), "{many}");
}

#[test]
fn a_phase_longer_than_planned_is_said() {
    let lab = Lab::new();
    lab.fake("slow", &["op_ns=4000000"]);
    let workload = "name: short\nwhy: Less time than forty turns of it take.\nphases:\n\
                    - {name: first, operation: noop, warmup: 0.1, duration: 0.2}\n";
    let mut words = lab.words(&["slow"], &["--rounds", "2"]);
    words[1] = lab.write("workload.yaml", workload).display().to_string();
    let output = lab.run(words);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let said = stderr(&output);
    assert!(said.contains("round 1, first: ") && said.contains(" so far, the plan was "), "{said}");
    assert!(said.contains("a round takes ") && said.contains(" more to the next look"), "{said}");
}
