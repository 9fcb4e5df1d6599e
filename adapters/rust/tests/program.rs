//! The adapter as a child process: what the replay of vectors does not test.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{json, Value};

struct Adapter {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Adapter {
    fn start() -> Adapter {
        let mut child = Command::new(env!("CARGO_BIN_EXE_adapter"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the adapter starts");
        let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
        Adapter { stdin: child.stdin.take(), child, stdout }
    }

    fn send(&mut self, message: Value) {
        writeln!(self.stdin.as_mut().expect("stdin is open"), "{message}").expect("a line sent");
    }

    fn ask(&mut self, message: Value) -> Value {
        self.send(message);
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("an answer");
        let answer = line.strip_prefix('\x1e').expect("a framed answer");
        serde_json::from_str(answer).expect("JSON")
    }

    fn exit_code(mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.kill().expect("killed");
        panic!("the adapter did not exit");
    }
}

fn hello() -> Value {
    json!({ "type": "hello", "protocol": 2, "epoch_ns": "0" })
}

#[test]
fn hello_tells_the_version_that_is_built_in() {
    let answer = Adapter::start().ask(hello());
    let lock = fs::read_to_string("Cargo.lock").expect("the lock file");
    let version = answer["driver"]["version"].as_str().expect("a version");
    assert!(version.starts_with(if cfg!(feature = "v2") { "2." } else { "3." }), "{version}");
    let locked = format!("name = \"mongodb\"\nversion = \"{version}\"\n");
    assert!(lock.contains(&locked), "{version}");
}

/// The vectors test the other connections that fail.
#[test]
fn open_says_why_not() {
    let cases = [
        ("w", "0", "unsupported"),
        ("waitQueueTimeoutMS", "5", "unsupported"),
        ("serverSelectionTimeoutMS", "100", "connect"),
    ];
    let mut adapter = Adapter::start();
    adapter.ask(hello());
    for (option, value, code) in cases {
        let answer = adapter.ask(json!({ "type": "open", "deal": "worker", "database": "x",
            "clients": [{
                "uri": format!("mongodb://127.0.0.1:1/?{option}={value}"),
                "options": { option: value },
            }],
        }));
        assert_eq!(answer["code"], code, "{option}: {answer}");
    }
}

/// `check` tests the end between turns.
#[test]
fn end_of_stdin_ends_a_turn() {
    let folder = std::env::temp_dir().join(format!("mdyn-rust-{}", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    let (schedule, samples) = (folder.join("schedule"), folder.join("samples"));
    let mut bytes = b"MDYNSCH2".to_vec();
    for field in [32_u32, 1, 1, 0] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend([0; 8 + 32]);
    fs::write(&schedule, bytes).expect("a schedule");
    let mut adapter = Adapter::start();
    adapter.ask(hello());
    let ready = adapter.ask(json!({
        "type": "prepare", "samples": samples, "schedule": schedule, "pools": [], "workers": 1,
        "first_worker": 0, "limits": null, "pacing": { "mode": "awaited", "think_ns": 1000 },
        "lap_step": 0, "item_step": 0, "errors_consecutive_max": 10,
        "operations": [{ "name": "noop", "kind": "noop" }],
    }));
    assert_eq!(ready["type"], "ready", "{ready}");
    adapter.send(json!({ "type": "turn", "until_ns": 9_007_199_254_740_991_u64 }));
    // It is in its turn when its first samples are written, a second later.
    while fs::read(&samples).expect("samples").is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    adapter.stdin = None;
    assert_eq!(adapter.exit_code(), Some(0));
    fs::remove_dir_all(folder).expect("removed");
}
