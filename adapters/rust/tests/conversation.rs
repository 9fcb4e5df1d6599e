//! Holds conversations with the adapter as a child process: the vectors offline, and, with the
//! server of MDYN_URI, each kind of operation.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
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

    /// Started and greeted.
    fn greeted() -> Adapter {
        let mut adapter = Adapter::start();
        let answer = adapter.ask(hello());
        assert_eq!(answer["type"], "hello", "{answer}");
        adapter
    }

    fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{line}").expect("a line sent");
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("an answer");
        assert!(line.starts_with(r#"{"type":"#), "{line}");
        serde_json::from_str(&line).expect("JSON")
    }

    fn ask(&mut self, message: Value) -> Value {
        self.send(&message.to_string());
        self.answer()
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
    json!({ "type": "hello", "protocol": { "min": 1, "max": 1 }, "epoch_ns": "0" })
}

fn vectors() -> PathBuf {
    std::env::var_os("MDYN_VECTORS").map_or_else(|| "../../protocol/vectors".into(), PathBuf::from)
}

fn vector_files(folder: &str) -> Vec<PathBuf> {
    let folder = vectors().join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    assert!(!files.is_empty(), "no vectors in {folder:?}");
    files
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a vector file");
    text.lines().map(|line| serde_json::from_str(line).expect("a vector")).collect()
}

/// (intended, start, service, index, operation, outcome, worker)
type Sample = (u64, u64, u64, u32, u8, u8, u16);

/// A fresh folder, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("mdyn-{}-{number}", std::process::id()));
        fs::create_dir(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Records of (key, intended_ns, operation); the document is the record's number.
    fn schedule(&self, name: &str, slices: u32, records: &[(u64, u64, u8)]) -> String {
        let mut bytes = b"MDYNSCH1".to_vec();
        for field in [24, records.len() as u32, slices, 0] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(0_u64.to_le_bytes());
        for (number, (key, intended_ns, operation)) in records.iter().enumerate() {
            bytes.extend(intended_ns.to_le_bytes());
            bytes.extend(key.to_le_bytes());
            bytes.extend((number as u32).to_le_bytes());
            bytes.extend([*operation, 0, 0, 0]);
        }
        fs::write(self.0.join(name), bytes).expect("a schedule");
        self.file(name)
    }

    fn samples(&self, name: &str) -> Vec<Sample> {
        let bytes = fs::read(self.0.join(name)).expect("samples");
        assert_eq!(bytes.len() % 32, 0);
        let long = |at: &[u8]| u64::from_le_bytes(at.try_into().expect("8 bytes"));
        let decode = |s: &[u8]| {
            let index = u32::from_le_bytes(s[24..28].try_into().expect("4 bytes"));
            let worker = u16::from_le_bytes([s[30], s[31]]);
            (long(&s[..8]), long(&s[8..16]), long(&s[16..24]), index, s[28], s[29], worker)
        };
        bytes.chunks(32).map(decode).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("removed");
    }
}

fn assert_expected(answer: &Value, expected: &Value, context: &str) {
    if expected == "$any" {
        return assert!(!answer.is_null() || context.contains("native"), "{context} is missing");
    }
    match expected.as_object() {
        Some(fields) => fields.iter().for_each(|(name, value)| {
            assert_expected(&answer[name], value, &format!("{context}.{name}"));
        }),
        None => assert_eq!(answer, expected, "{context}"),
    }
}

fn converse(path: &Path) {
    let folder = Folder::new();
    folder.schedule("noop.schedule", 2, &[(0, 0, 0); 64]);
    let directory = folder.0.to_str().expect("UTF-8");
    let mut adapter = Adapter::start();
    for (number, step) in lines(path).iter().enumerate() {
        if let Some(expected) = step.get("expect") {
            let context = format!("{}:{}", path.display(), number + 1);
            assert_expected(&adapter.answer(), expected, &context);
        } else if let Some(line) = step["send_line"].as_str() {
            adapter.send(line);
        } else {
            let line = step["send"].to_string().replace("{dir}", directory);
            adapter.send(&line.replace("{epoch}", "0"));
        }
    }
    assert_eq!(adapter.exit_code(), Some(0), "{}", path.display());
}

#[test]
fn valid_conversations() {
    vector_files("valid").iter().for_each(|path| converse(path));
}

#[test]
fn invalid_conversations() {
    vector_files("invalid").iter().for_each(|path| converse(path));
}

#[test]
fn documents_to_the_byte() {
    let mut adapter = Adapter::greeted();
    for case in vector_files("documents").iter().flat_map(|path| lines(path)) {
        let answer = adapter.ask(json!({
            "type": "render",
            "document": case["document"],
            "stamps": case["stamps"],
            "input": case["input"],
        }));
        assert_eq!(answer["bson"], case["bson"], "{}: {answer}", case["name"]);
    }
}

#[test]
fn hello_tells_the_version_that_is_built_in() {
    let answer = Adapter::start().ask(hello());
    let lock = fs::read_to_string("Cargo.lock").expect("the lock file");
    let locked = lock.split("[[package]]").find(|entry| entry.contains("\nname = \"mongodb\"\n"));
    let version = answer["driver"]["version"].as_str().expect("a version");
    assert!(locked.expect("the driver").contains(&format!("version = \"{version}\"")), "{version}");
    assert!(answer["driver"]["native"].is_null());
}

fn prepare(folder: &Folder, schedule: &str, pacing: Value, operations: Value) -> Value {
    json!({
        "type": "prepare", "phase": "test", "role": "worker", "warmup": false,
        "samples": folder.file("samples"), "schedule": schedule, "pools": [],
        "document_form": "native", "workers": 1, "first_worker": 0, "limits": null,
        "pacing": pacing, "counter": { "first": 0, "stride": 1, "loaded": 0 },
        "errors_consecutive_max": 10, "operations": operations,
    })
}

fn noop() -> Value {
    json!([{ "name": "noop", "kind": "noop", "key": "schedule" }])
}

fn turn_all() -> Value {
    json!({ "type": "turn", "start_ns": 0, "until_ns": 9_007_199_254_740_991_u64 })
}

#[test]
fn samples_are_numbered_and_flagged() {
    let folder = Folder::new();
    let schedule = folder.schedule("s", 2, &[(0, 0, 0); 6]);
    let mut adapter = Adapter::greeted();
    let mut message = prepare(&folder, &schedule, json!({ "mode": "awaited" }), noop());
    message["workers"] = json!(2);
    message["first_worker"] = json!(4);
    message["limits"] = json!([5, 0]);
    message["warmup"] = json!(true);
    assert_eq!(adapter.ask(message)["type"], "armed");
    let turned = adapter.ask(turn_all());
    let samples = folder.samples("samples");
    let began_ns = turned["began_ns"].as_u64().expect("began_ns");
    for (number, sample) in samples.iter().enumerate() {
        let (intended, start, service, index, operation, outcome, worker) = *sample;
        assert_eq!((index as usize, operation, outcome, worker), (number, 0, 128, 4));
        assert!(intended == start && start >= began_ns);
        assert!(start + service <= turned["ended_ns"].as_u64().expect("ended_ns"));
    }
    assert_eq!(samples.len(), 5);
}

#[test]
fn window_and_burst_share_what_there_is() {
    for mode in ["window", "burst"] {
        let folder = Folder::new();
        let schedule = folder.schedule("s", 1, &[(0, 7, 0); 10]);
        let mut adapter = Adapter::greeted();
        let pacing = json!({ "mode": mode, "size": 3 });
        let mut message = prepare(&folder, &schedule, pacing, noop());
        message["workers"] = json!(2);
        message["limits"] = json!([25]);
        assert_eq!(adapter.ask(message)["type"], "armed");
        let turned = adapter.ask(turn_all());
        assert_eq!((&turned["operations"], &turned["exhausted"]), (&json!(25), &json!(true)));
        let samples = folder.samples("samples");
        let mut indexes: Vec<_> = samples.iter().map(|sample| sample.3).collect();
        indexes.sort_unstable();
        assert_eq!(indexes, (0..25).collect::<Vec<_>>());
        let began_ns = turned["began_ns"].as_u64().expect("began_ns");
        let intended = |s: &Sample| if mode == "burst" { began_ns } else { s.1 };
        assert!(samples.iter().all(|sample| sample.0 == intended(sample)));
    }
}

#[test]
fn rate_keeps_its_times_and_stops_before_the_deadline() {
    let folder = Folder::new();
    let records: Vec<_> = (0..8).map(|number| (0, number * 10_000_000, 0)).collect();
    let schedule = folder.schedule("s", 1, &records);
    let mut adapter = Adapter::greeted();
    let message = prepare(&folder, &schedule, json!({ "mode": "rate" }), noop());
    assert_eq!(adapter.ask(message)["type"], "armed");
    let now_ns = adapter.ask(json!({ "type": "clock" }))["now_ns"].as_u64().expect("now_ns");
    let start_ns = now_ns + 20_000_000;
    let until_ns = start_ns + 45_000_000;
    let turn = json!({ "type": "turn", "start_ns": start_ns, "until_ns": until_ns });
    let turned = adapter.ask(turn);
    assert_eq!((&turned["operations"], &turned["exhausted"]), (&json!(5), &json!(false)));
    for (number, sample) in folder.samples("samples").iter().enumerate() {
        assert_eq!(sample.0, start_ns + number as u64 * 10_000_000);
        assert!(sample.1 >= sample.0, "never early");
    }
}

fn terminate(adapter: &Adapter) {
    let pid = adapter.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
}

#[test]
fn stops_at_the_signal_when_idle_and_when_busy() {
    let idle = Adapter::greeted();
    terminate(&idle);
    assert_eq!(idle.exit_code(), Some(0));
    for pacing in [json!({ "mode": "awaited" }), json!({ "mode": "awaited", "think_ns": u32::MAX })]
    {
        let folder = Folder::new();
        let schedule = folder.schedule("s", 1, &[(0, 0, 0); 4]);
        let mut busy = Adapter::greeted();
        assert_eq!(busy.ask(prepare(&folder, &schedule, pacing, noop()))["type"], "armed");
        busy.send(&turn_all().to_string());
        std::thread::sleep(Duration::from_millis(50));
        terminate(&busy);
        assert_eq!(busy.exit_code(), Some(0));
        assert!(!folder.samples("samples").is_empty());
    }
}

#[test]
fn end_of_stdin_ends_it() {
    let mut adapter = Adapter::greeted();
    adapter.stdin = None;
    assert_eq!(adapter.exit_code(), Some(0));
}

#[test]
fn open_without_a_server_is_a_connect_error_without_credentials() {
    let mut adapter = Adapter::greeted();
    let uri = "mongodb://someone:hidden@127.0.0.1:1/?serverSelectionTimeoutMS=200";
    let open = json!({ "type": "open", "uri": uri, "database": "mdyn_x", "role": "worker" });
    let answer = adapter.ask(open);
    assert_eq!(answer["code"], "connect", "{answer}");
    assert!(!answer.to_string().contains("hidden"));
    assert_eq!(adapter.ask(json!({ "type": "clock" }))["type"], "clock");
}

/// Opened, with a database of its own.
fn opened(database: &str) -> Adapter {
    let mut adapter = Adapter::greeted();
    let uri = std::env::var("MDYN_URI").expect("MDYN_URI");
    let open = json!({ "type": "open", "uri": uri, "database": database, "role": "worker" });
    let answer = adapter.ask(open);
    assert_eq!(answer["type"], "opened", "{answer}");
    assert!(answer["server"]["max_wire_version"].is_u64(), "{answer}");
    adapter
}

/// One phase of one turn: (turned, ended).
fn phase(adapter: &mut Adapter, message: Value) -> (Value, Value) {
    let armed = adapter.ask(message);
    assert_eq!(armed["type"], "armed", "{armed}");
    (adapter.ask(turn_all()), adapter.ask(json!({ "type": "end" })))
}

/// `{"_id": int64 0, "number": int64 n}` for each n, in the pool's form.
fn pool(folder: &Folder, numbers: &[i64]) -> String {
    let mut bytes = Vec::new();
    for number in numbers {
        bytes.extend(34_i32.to_le_bytes());
        bytes.extend(b"\x12_id\0");
        bytes.extend(0_i64.to_le_bytes());
        bytes.extend(b"\x12number\0");
        bytes.extend(number.to_le_bytes());
        bytes.push(0);
    }
    assert_eq!(bytes.len(), 34 * numbers.len(), "the length of a document");
    fs::write(folder.0.join("pool"), bytes).expect("a pool");
    folder.file("pool")
}

fn stamped_key() -> Value {
    json!([{ "path": ["_id"], "as": "int64", "from": "key" }])
}

fn filter() -> Value {
    json!({ "document": { "_id": { "$numberLong": "0" } }, "stamps": stamped_key() })
}

/// One operation of each kind, in an order in which each is right.
fn operations() -> Vec<Value> {
    let documents = json!({ "pool": 0, "stamps": stamped_key() });
    let update = json!({ "document": { "$inc": { "number": { "$numberLong": "5" } } } });
    let everything = json!({ "document": {} });
    let pipeline = json!({ "document": { "pipeline": [{ "$match": {} }] } });
    let operation = |kind: &str, more: Value| {
        let mut operation = json!({ "name": kind, "kind": kind, "collection": "items" });
        let fields = operation.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("fields").clone());
        operation
    };
    vec![
        operation("insert_one", json!({ "documents": documents, "key": "counter" })),
        operation("insert_many", json!({ "documents": documents, "batch": 3, "key": "counter" })),
        operation(
            "update_one",
            json!({ "filter": filter(), "update": update, "key": "latest",
            "write_concern": { "w": "majority", "j": true } }),
        ),
        operation(
            "replace_one",
            json!({ "filter": filter(), "documents": documents,
            "upsert": true, "key": "schedule" }),
        ),
        operation(
            "find_one",
            json!({ "filter": filter(), "sum_field": "number", "key": "schedule",
            "read_concern": "local", "read_preference": "primaryPreferred" }),
        ),
        operation("find", json!({ "filter": everything, "sum_field": "number", "batch_size": 2 })),
        operation("aggregate", json!({ "pipeline": pipeline, "sum_field": "number" })),
        operation("count", json!({ "filter": everything })),
        operation(
            "command",
            json!({ "command": { "document": { "ping": { "$numberInt": "1" } } },
            "read_preference": "nearest" }),
        ),
        operation("delete_one", json!({ "filter": filter(), "key": "schedule" })),
    ]
}

fn drop_items(adapter: &mut Adapter, folder: &Folder) {
    let schedule = folder.schedule("drop", 1, &[(0, 0, 0)]);
    let drop = json!({ "document": { "dropDatabase": { "$numberInt": "1" } } });
    let operation = json!([{ "name": "drop", "kind": "command", "command": drop }]);
    let mut message = prepare(folder, &schedule, json!({ "mode": "awaited" }), operation);
    message["limits"] = json!([1]);
    phase(adapter, message);
}

#[test]
#[ignore = "needs the server of MDYN_URI"]
fn every_kind_of_operation_answers_right() {
    let folder = Folder::new();
    let mut adapter = opened("mdyn_rust_kinds");
    drop_items(&mut adapter, &folder);
    // insert_one has counter key 100, insert_many 101 to 103; latest 1 back is 102.
    let keys = [0, 0, 1, 900, 102, 0, 0, 0, 0, 900];
    let records = keys.iter().zip(0..).map(|(key, number)| (*key, 0, number)).collect::<Vec<_>>();
    let schedule = folder.schedule("s", 1, &records);
    let operations = json!(operations());
    let mut message = prepare(&folder, &schedule, json!({ "mode": "awaited" }), operations);
    message["pools"] = json!([pool(&folder, &[1, 10, 100, 1000])]);
    message["counter"] = json!({ "first": 100, "stride": 1, "loaded": 0 });
    message["limits"] = json!([10]);
    let (turned, ended) = phase(&mut adapter, message);
    assert_eq!(turned["errors"], 0, "{ended}");
    // 100: 1; 101: 10; 102: 100 + 5; 103: 1000; 900: pool document 3, 1000.
    let all = 1 + 10 + 105 + 1000 + 1000;
    assert_eq!(ended["totals"], json!({ "documents": 1 + 5 + 5 + 5, "sum": 105 + 2 * all }));
    assert_eq!(folder.samples("samples").iter().filter(|sample| sample.5 == 0).count(), 10);
    drop_items(&mut adapter, &folder);
}

#[test]
#[ignore = "needs the server of MDYN_URI"]
fn failures_are_samples_and_end_in_giving_up() {
    let folder = Folder::new();
    let mut adapter = opened("mdyn_rust_failures");
    drop_items(&mut adapter, &folder);
    let schedule = folder.schedule("s", 1, &[(7, 0, 0), (8, 0, 1)]);
    let insert = json!({ "name": "i", "kind": "insert_one", "collection": "items",
        "key": "schedule", "documents": { "pool": 0, "stamps": stamped_key() } });
    let miss = json!({ "name": "m", "kind": "find_one", "collection": "items",
        "key": "schedule", "filter": filter() });
    let mut message =
        prepare(&folder, &schedule, json!({ "mode": "awaited" }), json!([insert, miss]));
    message["pools"] = json!([pool(&folder, &[1])]);
    message["errors_consecutive_max"] = json!(4);
    let (turned, ended) = phase(&mut adapter, message);
    // Inserted once; then missed, duplicate, missed, duplicate.
    assert_eq!(turned["operations"], 5);
    assert_eq!((&turned["errors"], &turned["gave_up"]), (&json!(4), &json!(true)));
    let outcomes: Vec<_> = folder.samples("samples").iter().map(|sample| sample.5).collect();
    assert_eq!(outcomes, [0, 1, 2, 1, 2]);
    let duplicate = ended["errors"].as_array().expect("errors").iter();
    let duplicate = duplicate.clone().find(|error| error["code"] == 11000).expect("a duplicate");
    assert_eq!(duplicate["count"], 2);
    drop_items(&mut adapter, &folder);
}

#[test]
#[ignore = "needs the server of MDYN_URI"]
fn unacknowledged_writes_are_unsupported() {
    let folder = Folder::new();
    let mut adapter = opened("mdyn_rust_w0");
    let schedule = folder.schedule("s", 1, &[(0, 0, 0)]);
    let operation = json!([{ "name": "d", "kind": "delete_one", "collection": "items",
        "filter": filter(), "write_concern": { "w": 0 } }]);
    let message = prepare(&folder, &schedule, json!({ "mode": "awaited" }), operation);
    assert_eq!(adapter.ask(message)["code"], "unsupported");
}
