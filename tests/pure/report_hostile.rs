//! Folders that somebody else made up: `report` and `diagnose` read nothing outside of them, end
//! soon, stay small, and let nothing steer the terminal.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Output;

use crate::fake_support::{Lab, QUICK, code, stderr};
use crate::support::said;
use serde_json::{Value, json};

struct Gift {
    lab: Lab,
    record: Value,
    runs: Vec<Value>,
}

impl Gift {
    fn new() -> Self {
        let lab = Lab::new();
        lab.fake("even", &[QUICK, "op_ns=100000"]);
        let output = lab.experiment(&["even"], &["--rounds", "1"]);
        assert!(lab.path("out/experiment.json").exists(), "{}", said(&output));
        let (record, runs) = (lab.record(), lab.runs());
        Self { lab, record, runs }
    }

    /// Writes the folder with another record and other runs.
    fn write(&self, record: &Value, runs: &[Value]) {
        let lines = runs.iter().map(|run| format!("{run}\n")).collect::<Vec<_>>().concat();
        for (name, text) in [("experiment.json", record.to_string()), ("runs.jsonl", lines)] {
            let path = self.lab.path("out").join(name);
            let _ = fs::remove_file(&path); // it may be a link
            fs::write(path, text).expect("room");
        }
    }

    /// `report` and `diagnose`, with half a GB of memory; a timeout ends a hang.
    fn read(&self, check: impl Fn(&Output)) {
        for verb in ["report", "diagnose"] {
            let script = "ulimit -v 1000000; exec timeout -s KILL 240 \"$0\" \"$@\"";
            let mut command = self.lab.wrapped(&["sh", "-c", script], [verb, "out"]);
            let output = command.output().expect("it runs");
            assert!([0, 2, 5].contains(&code(&output)), "{verb}: {}", said(&output));
            let told = [&output.stdout[..], &output.stderr].concat();
            assert!(!told.contains(&0x1b), "{verb}: {}", said(&output));
            assert!(!stderr(&output).contains("panicked"), "{verb}: {}", said(&output));
            check(&output);
        }
    }

    fn refused(&self, expected: &str) {
        self.read(|output| assert!(stderr(output).contains(expected), "{}", said(output)));
    }
}

#[test]
fn nothing_outside_of_a_folder_is_read() {
    let gift = Gift::new();
    let secret = gift.lab.write("secret", "s3cret\n");
    symlink(gift.lab.path(""), gift.lab.path("out/way")).expect("room");
    symlink(&secret, gift.lab.path("out/hlog/link")).expect("room");
    symlink("/dev/zero", gift.lab.path("out/hlog/zero")).expect("room");
    let absolute = secret.to_str().expect("text");
    for (name, expected) in [
        (absolute, "its name leads out of the folder"),
        ("../secret", "its name leads out of the folder"),
        ("way/secret", "cannot read"),
        ("hlog/link", "cannot read"),
        ("hlog/zero", "cannot read"),
        ("/dev/zero", "its name leads out of the folder"),
        ("hlog", "no ordinary file"),
    ] {
        let mut runs = gift.runs.clone();
        runs[0]["phases"][0]["hlog"] = json!(name);
        gift.write(&gift.record, &runs);
        gift.refused(expected);
        gift.read(|output| assert!(!said(output).contains("s3cret"), "{}", said(output)));
    }
    for name in ["experiment.json", "runs.jsonl"] {
        gift.write(&gift.record, &gift.runs);
        let path = gift.lab.path("out").join(name);
        fs::remove_file(&path).expect("it is there");
        symlink("/dev/zero", &path).expect("room");
        gift.refused("out");
        fs::remove_file(&path).expect("it is there");
        // Holes take no room on the disk, and full memory.
        fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("room");
        gift.refused("larger than");
    }
}

#[test]
fn numbers_have_bounds() {
    let gift = Gift::new();
    for round in [0_u32, 10_001, u32::MAX] {
        let mut runs = gift.runs.clone();
        for run in &mut runs {
            run["round"] = json!(round);
        }
        gift.write(&gift.record, &runs);
        gift.refused(&format!("runs.jsonl has a round {round}\n"));
    }
    let mut record = gift.record.clone();
    record["arms"] = json!([]);
    gift.write(&record, &gift.runs);
    gift.read(|_| {});
    let output = gift.lab.run(["resume", "out"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    // A histogram that declares a large size.
    let mut log = fs::read_to_string(gift.lab.path("out/hlog/r01-arm0-first.hlog")).expect("a log");
    let header = "HISTEwD/////AAAAAAAAAAMAAAAAAAAAAQAAA0YwuKAAP/AAAAAAAAA=";
    log.extend(["Tag=x,0.000,1.000,1.000,", header, "\n"]);
    gift.lab.write("out/hlog/large", &log);
    let mut runs = gift.runs.clone();
    runs[0]["phases"][0]["hlog"] = json!("hlog/large");
    gift.write(&gift.record, &runs);
    gift.refused("it ends before its payload");
}

#[test]
fn nothing_in_a_folder_steers_the_terminal() {
    let gift = Gift::new();
    let steer = "\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}";
    for field in ["ended", "mongodyno", "id", "started_at", "schema_version", "settings"] {
        let mut record = gift.record.clone();
        record[field] = json!(steer);
        if field == "mongodyno" {
            record["schema_version"] = json!(99);
        }
        gift.write(&record, &gift.runs);
        gift.read(|output| assert!(!said(output).contains('\u{9b}'), "{field}: {}", said(output)));
    }
    let mut runs = gift.runs.clone();
    runs[0]["failed"] = json!(steer);
    runs[0]["phases"][0]["hlog"] = json!(steer);
    gift.write(&gift.record, &runs);
    gift.read(|_| {});
    let mut torn: Vec<Value> = gift.runs.clone();
    torn[0]["receipt"] = json!(steer);
    torn[0]["round"] = json!(steer);
    gift.write(&gift.record, &torn);
    gift.refused("runs.jsonl:1: ");
}
