//! Clients and server over time: their series, their limits, and the sizes of what is stored.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::process::Stdio;

use crate::fake_support::real::own_server;
use crate::fake_support::{Lab, QUICK, code, flat, json_lines, stdout};
use crate::support::{mongodyno, said, wait_until};
use base::process_id::ProcessId;
use measure::clients::{Client, ClientReadings};
use nix::sys::stat::{major, minor};
use serde_json::{Value, json};

/// Arrivals cannot be hurried: a phase takes its time.
const LONG: &str = "name: long\nwhy: Seconds.\nphases:\n  - {name: long, operation: noop, rate: \
                    500, duration: 2.5, warmup: 0.1}\n";

fn run(lab: &Lab, workload: &str, more: &[&str]) -> std::process::Output {
    lab.write("mine.yaml", workload);
    let words = ["run", "mine.yaml", "--out", "out", "--rounds", "1", "-d", "even"];
    lab.run([&words[..], more].concat())
}

fn count(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} of {value:#}"))
}

#[test]
fn clients_are_read_once_a_second_and_at_the_end_of_a_phase() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let output = run(&lab, LONG, &["--server", "none"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let samples = json_lines(&lab.path("out/clients.jsonl"));
    for arm in ["even@1.0.0", "even@1.0.0 (A/A)"] {
        let of_arm = samples.iter().filter(|it| it["arm"] == arm && it["phase"] == "long");
        let of_arm: Vec<&Value> = of_arm.collect();
        assert!(of_arm.len() >= 3, "2.5 s, and the end: {samples:#?}");
        for sample in &of_arm {
            assert_eq!((count(sample, "round"), count(sample, "processes")), (1, 1));
            assert!(count(sample, "rss_bytes") > 1_000_000, "{sample:#}");
            assert!(count(sample, "threads") > 0, "{sample:#}");
            assert_eq!((&sample["connections"], &sample["consumer"]), (&json!(0), &json!(false)));
        }
        for pair in of_arm.windows(2) {
            assert!(count(pair[0], "at_ns") < count(pair[1], "at_ns"), "{pair:#?}");
            assert!(count(pair[0], "cpu_ns") <= count(pair[1], "cpu_ns"), "{pair:#?}");
        }
    }
    let run = &lab.runs()[0]["phases"][0];
    assert!(count(run, "rss_held_bytes") <= count(run, "rss_peak_bytes"), "{run:#}");
    assert!(count(run, "rss_held_bytes") > 1_000_000, "{run:#}");
    assert!(count(run, "threads_peak") > 0, "{run:#}");
    assert_eq!(run["connections_peak"], 0);
    let held = count(&lab.analysis()["results"][0], "rss_held_bytes");
    let note = format!("clients: even@1.0.0 {} held, ", format::bytes(held));
    for format in ["terminal", "md"] {
        let page = flat(&stdout(&lab.run(["report", "out", "--format", format, "--details"])));
        assert!(page.replace('\\', "").contains(&note), "{note} in {page}");
    }
    let table = stdout(&lab.run(["report", "out", "--format", "csv"]));
    assert!(table.contains(&format!(",rss_held_bytes,{held},")), "{table}");
    let table = stdout(&lab.run(["report", "out", "--format", "series"]));
    assert_eq!(table.lines().count(), 1 + 5 * samples.len(), "{table}");
}

#[test]
fn connections_of_a_process_are_counted_and_no_listener() {
    let mut server = mongodyno(["absorber", "--listen", "127.0.0.1:0"]);
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    let mut said = BufReader::new(server.stdout.take().expect("a pipe")).lines();
    let said = said.next().expect("a line").expect("text");
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let address = said["address"].as_str().expect("an address");
    let process = ProcessId::of(server.id()).expect("it lives");
    let watched = |arm, id: &str| Client {
        arm,
        id: id.to_owned(),
        consumer: false,
        processes: vec![process],
    };
    let mut clients = ClientReadings::default();
    clients.watch(vec![watched(3, "absorber")]);
    let mut connections = || clients.read(1, 1, "phase")[0].connections.expect("known");
    assert_eq!(connections(), 0, "it only listens");
    let mut open: Vec<TcpStream> =
        (0..3).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    wait_until("three connections", || connections() == 3);
    open.pop();
    wait_until("two connections", || connections() == 2);
    assert_eq!(clients.peak(3).expect("it was read").connections, Some(3));
    clients.begin_phase();
    assert!(clients.peak(3).is_none());
    server.kill().expect("it lives");
    server.wait().expect("it ended");
    assert_eq!(clients.read(2, 1, "phase"), [], "it has gone");
}

#[test]
fn the_server_is_sampled_as_mongostat_does_it_with_its_disk() {
    let test = "over_time/the_server_is_sampled_as_mongostat_does_it_with_its_disk";
    let Some(server) = own_server(test, &[]) else { return };
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let output = run(&lab, LONG, &["--uri", server.uri()]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let data = server.record().data_folder.as_ref().expect("it is ours");
    let device = fs::metadata(data).expect("a folder").dev();
    let disks = fs::read_to_string("/proc/diskstats").expect("Linux");
    let has_disk = disks.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(|it| it.parse().unwrap_or(u64::MAX));
        (numbers.next(), numbers.next()) == (Some(major(device)), Some(minor(device)))
    });
    let samples = json_lines(&lab.path("out/server.jsonl"));
    assert!(samples.len() >= 2, "{samples:#?}");
    let table = stdout(&lab.run(["report", "out", "--format", "series"]));
    for sample in samples {
        let opened = &sample["values"]["connections.current"];
        let row = format!(",long,server,false,connections.current,{opened}");
        assert!(sample["phase"] != "long" || table.contains(&row), "{row} in {table}");
        for name in [
            "globalLock.currentQueue.readers",
            "globalLock.currentQueue.writers",
            "globalLock.activeClients.readers",
            "globalLock.activeClients.writers",
            "extra_info.page_faults",
            "transaction.transaction checkpoints",
            "connections.current",
            "cache.bytes read into cache",
        ] {
            assert!(sample["values"][name].is_i64(), "{name} of {sample:#}");
        }
        let share = |name: &str| sample["shares"][name].as_f64();
        let used = share("cache.used_fraction").expect("a share");
        assert!(used > 0.0 && used < 1.0, "{sample:#}");
        assert!(share("cache.dirty_fraction").is_some_and(|it| it <= used), "{sample:#}");
        let busy = share("disk.busy_fraction");
        assert_eq!(busy.is_some(), has_disk, "{sample:#}");
        assert!(busy.is_none_or(|it| (0.0..=1.0).contains(&it)), "{sample:#}");
    }
    let files = &lab.record()["server"]["limits"]["open_files"];
    let limits = format!("/proc/{}/limits", server.pid().expect("ours"));
    let limits = fs::read_to_string(limits).expect("it lives");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    assert_eq!(line.split_whitespace().nth(3), Some(&*files.to_string()));
}

#[test]
fn limits_of_clients_are_recorded() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let script = "ulimit -n 640 && ulimit -l 64 && ulimit -u unlimited; exec \"$0\" \"$@\"";
    let words = lab.words(&["even"], &["--rounds", "1", "--phase", "first"]);
    let output = lab.wrapped(&["sh", "-c", script], &words).output().expect("it starts");
    assert_eq!(code(&output), 0, "{}", said(&output));
    for arm in lab.record()["arms"].as_array().expect("arms") {
        let limits = &arm["limits"];
        assert_eq!(
            (&limits["open_files"], &limits["locked_memory_bytes"]),
            (&json!(640), &json!(65_536)),
            "{limits:#}"
        );
        assert_eq!(limits["address_space_bytes"], Value::Null, "no limit");
    }
    assert_eq!(lab.record()["server"]["limits"], Value::Null, "there is no server");
}

#[test]
fn sizes_are_taken_after_each_phase_and_after_the_death_of_a_client() {
    let test = "over_time/sizes_are_taken_after_each_phase_and_after_the_death_of_a_client";
    let Some(server) = own_server(test, &[]) else { return };
    let reads = "name: reads\nwhy: Read-only phases have sizes.\ncollections:\n  items:\n    \
                 documents: 300\n    document: {_id: {type: objectid, value: key}}\nphases:\n  - \
                 {name: reads, operation: find_one, collection: items, warmup: 0.1, duration: \
                 0.3}\n";
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    // The first turns are those of the calibration and the warm-up.
    lab.fake("dying", &[QUICK, "at=turn:12", "fault=crash"]);
    let output = run(&lab, reads, &["--uri", server.uri(), "-d", "dying"]);
    let runs = lab.runs();
    let run = |arm: &str| runs.iter().find(|run| run["arm"] == arm).expect("a run");
    let dead = run("dying@1.0.0");
    assert!(dead["failed"].is_string(), "{}", said(&output));
    assert_eq!(dead["lost"]["phase"], "reads", "{dead:#}");
    let even = run("even@1.0.0");
    assert_eq!(even["lost"], Value::Null);
    for sizes in [&dead["lost"]["sizes"], &even["phases"][0]["sizes"]] {
        for name in
            ["before.collStats.count", "after.collStats.count", "after.dbStats.objects_count"]
        {
            assert!(sizes[name].as_i64().is_some_and(|it| it >= 300), "{name} of {sizes:#}");
        }
        for name in [
            "collStats.size",
            "collStats.storageSize",
            "collStats.totalIndexSize",
            "collStats.avgObjSize",
            "collStats.totalSize_bytes",
            "dbStats.dataSize",
            "dbStats.storageSize",
            "dbStats.indexSize",
            "dbStats.avgObjSize_bytes",
            "dbStats.totalSize_bytes",
        ] {
            let size = sizes[format!("after.{name}")].as_i64();
            assert!(size.is_some_and(|it| it > 0), "{name} of {sizes:#}");
        }
    }
}
