//! Shared by the black-box tests: a separate folder, fake adapters, the binary in it, and the
//! search for leftover processes.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unused_self, reason = "a lab is asked for its words like for all else")]

pub mod real;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::comes_true;
pub use crate::support::wait_until;

/// Ten simulated operations a turn: a round takes a fifth of a second.
pub const QUICK: &str = "turn_operations=10";

/// The shell's words for the fake adapter: this program again (decision 0069).
pub fn fake_command(behaviour: &str) -> String {
    let own = std::env::current_exe().expect("a program");
    // The test harness writes to stdout as well.
    format!(
        "'{}' --ignored --nocapture --test-threads 1 --exact {FAKE} {behaviour} 3>&1 >/dev/null",
        own.display()
    )
}

const FAKE: &str = "fake_support::fake_adapter";

#[test]
#[ignore = "no test: the fake adapter, a process that tests start"]
fn fake_adapter() {
    let mut words = std::env::args().skip_while(|word| word != FAKE);
    if words.next().is_some() {
        let mut answers = fs::File::options().write(true).open("/dev/fd/3").expect("a pipe");
        double::run(&words.collect::<Vec<_>>(), &mut answers).expect("behaviour");
    }
}

/// A folder in which the binary works, with separate adapters.
pub struct Lab {
    folder: TempDir,
    /// Set for every child, to separate processes of this test from others.
    mark: String,
    home: Option<PathBuf>,
}

impl Lab {
    /// A lab with a separate cache: nothing but fakes is installed there.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let parent = crate::support::scratch("labs");
        let folder = TempDir::new_in(parent).expect("a folder");
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("MDYN_TEST_LAB={}-{number}", std::process::id());
        let home = Some(folder.path().join("home"));
        fs::create_dir(folder.path().join("adapters")).expect("a folder");
        Self { folder, mark, home }
    }

    /// A lab that shares the user's cache, where servers and real drivers are installed once.
    pub fn with_shared_cache() -> Self {
        Self { home: None, ..Self::new() }
    }

    /// A separate lab with `even` and `slow`, eight percent apart.
    pub fn even_and_slow() -> Self {
        let lab = Self::new();
        lab.fake("even", &[QUICK, "op_ns=100000"]);
        lab.fake("slow", &[QUICK, "op_ns=108000"]);
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        path
    }

    /// Makes an adapter `name` that is the fake with these words.
    pub fn fake(&self, name: &str, behaviour: &[&str]) {
        let words: Vec<String> = behaviour.iter().map(|word| format!("'{word}'")).collect();
        let command = format!("exec {}", fake_command(&words.join(" ")));
        let text = format!(
            "name = {name:?}\ndriver = \"fake-driver\"\nlanguage = \"none\"\ndefault = \"1.0.0\"\n\
             versions = \"1.0.0\"\nwarmup_s = 0.2\nsimulated = true\n\
             start = [\"sh\", \"-c\", {command:?}]\n"
        );
        let folder = self.path("adapters").join(name);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("adapter.toml"), text).expect("a manifest");
    }

    pub fn rewrite(&self, adapter: &str, change: impl FnOnce(&str) -> String) {
        let manifest = self.path("adapters").join(adapter).join("adapter.toml");
        let text = fs::read_to_string(&manifest).expect("a manifest");
        fs::write(manifest, change(&text)).expect("a manifest");
    }

    pub fn scripted(&self, name: &str, script: &str) {
        self.fake(name, &[]);
        self.rewrite(name, |text| {
            let (before, _) = text.split_once("start = ").expect("a start command");
            format!("{before}start = [\"sh\", \"-c\", {script:?}]\n")
        });
    }

    /// The binary, at work in the lab with the lab's adapters.
    pub fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = crate::support::mongodyno(arguments);
        command.current_dir(self.folder.path());
        command.env("MDYN_ADAPTERS", self.path("adapters")).env("NO_COLOR", "1");
        let (name, value) = self.mark.split_once('=').expect("a pair");
        command.env(name, value).env("COLUMNS", "100");
        if let Some(home) = &self.home {
            command.env("MDYN_HOME", home);
        }
        command
    }

    /// The same behind another program: the binary's words follow that program's.
    pub fn wrapped<S: AsRef<std::ffi::OsStr>>(
        &self,
        wrapper: &[&str],
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let own = self.command(arguments);
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(own.get_program()).args(own.get_args());
        command.current_dir(self.folder.path());
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    pub fn run<S: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Output {
        self.command(arguments).output().expect("the binary runs")
    }

    /// `run` of the no-op workload with these drivers, into the folder `out`; it prints all.
    pub fn experiment(&self, drivers: &[&str], more: &[&str]) -> Output {
        self.run(self.words(drivers, more))
    }

    pub fn words(&self, drivers: &[&str], more: &[&str]) -> Vec<String> {
        let mut words: Vec<String> = vec!["run".to_owned(), noop()];
        words.extend(["--server", "none", "--out", "out", "--details"].map(str::to_owned));
        for driver in drivers {
            words.extend(["-d".to_owned(), (*driver).to_owned()]);
        }
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words
    }

    /// Starts the binary; its output goes into the files `stdout` and `stderr`.
    pub fn start<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Child {
        let file = |name| fs::File::create(self.path(name)).expect("a file");
        let mut command = self.command(arguments);
        command.stdout(file("stdout")).stderr(file("stderr")).stdin(Stdio::null());
        command.spawn().expect("the binary starts")
    }

    /// The folder of the experiment: `out`, or its only part's of a study.
    pub fn made(&self) -> PathBuf {
        let parts = ["out/cursor", "out/copies"].map(|part| self.path(part));
        parts.into_iter().find(|part| part.exists()).unwrap_or_else(|| self.path("out"))
    }

    pub fn runs(&self) -> Vec<Value> {
        json_lines(&self.made().join("runs.jsonl"))
    }

    pub fn record(&self) -> Value {
        let path = self.made().join("experiment.json");
        let text = fs::read_to_string(path).expect("experiment.json");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The analysis of `out`, as `report` gives it.
    pub fn analysis(&self) -> Value {
        let output = self.run(["report", "out", "--format", "json"]);
        assert!(output.status.success(), "{}", crate::support::said(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Every file below a folder of the lab: path and content.
    pub fn files(&self, folder: &str) -> Vec<(String, Vec<u8>)> {
        let (mut found, mut folders) = (Vec::new(), vec![self.path(folder)]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).expect("a file");
                    found.push((path.display().to_string(), bytes));
                }
            }
        }
        found.sort();
        found
    }

    /// Runs these words on a disk that has only so much room left after `runs` of them. `then` are
    /// shell commands that read the rest of `out`; `$0` is the binary and `$disk`, `small`, that
    /// disk. None where this machine has no separate disk for a test.
    pub fn on_a_full_disk(
        &self,
        test: &str,
        (runs, room_kb): (usize, u32),
        words: &[String],
        then: &str,
    ) -> Option<Output> {
        fs::create_dir(self.path("small")).expect("a folder");
        let words =
            words.iter().map(|word| if word == "out" { "small/out" } else { word.as_str() });
        let places = format!("disk=small; out=small/out; room={room_kb}");
        self.on_a_disk_that_fills(&places, test, runs, words, then)
    }

    /// The same where the disk is that of the data of servers that are started.
    pub fn with_a_full_server(
        &self,
        test: &str,
        runs: usize,
        words: &[&str],
        then: &str,
    ) -> Option<Output> {
        let places = r#"
            room=256
            disk="${MDYN_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/mongodyno}/data"; out=out
            mkdir -p "$disk"
        "#;
        self.on_a_disk_that_fills(places, test, runs, words.iter().copied(), then)
    }

    fn on_a_disk_that_fills<'a>(
        &self,
        places: &str,
        test: &str,
        runs: usize,
        words: impl Iterator<Item = &'a str>,
        then: &str,
    ) -> Option<Output> {
        let private = Command::new("unshare").args(["-m", "true"]).output();
        if !private.is_ok_and(|output| output.status.success()) {
            crate::support::skip(test, "`unshare -m` needs root");
            return None;
        }
        // Room for these runs and some more; the folder vanishes with the namespace of mounts.
        let script = format!(
            r#"
            {places}
            mount -t tmpfs -o size=2g tmpfs "$disk" || exit 99
            "$0" "$@" >stdout 2>stderr & run=$!
            lines() {{ cat $out/runs.jsonl $out/*/runs.jsonl 2>/dev/null | wc -l; }}
            used() {{ df -k --output=used "$disk" | tail -n 1; }}
            while [ "$(lines)" -lt {runs} ] && kill -0 $run; do sleep 0.02; done
            # The room is that above the least: a file under way may have been there at the first
            # look. Where more is there than at the look, the system refuses.
            least=
            while kill -0 $run 2>/dev/null; do
                now=$(used)
                if [ -z "$least" ] || [ "$now" -lt "$least" ]; then
                    mount -o remount,size=$((now + room))k "$disk" 2>/dev/null && least=$now
                fi
                sleep 0.02
            done
            [ -n "$least" ] || exit 98
            wait $run; code=$?
            "$0" report $out --format json >report.json || exit 97
            {then}
            exit $code
        "#
        );
        let mut command = self.wrapped(&["unshare", "-m", "sh", "-c", &script], words);
        Some(command.output().expect("it starts"))
    }

    /// Processes that carry this lab's mark: pid and command line.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("Linux").flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let mark = self.mark.as_bytes();
            if environment.split(|byte| *byte == 0).any(|variable| variable == mark) {
                let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let words = String::from_utf8_lossy(&words).replace('\0', " ");
                found.push((pid, words));
            }
        }
        found
    }

    /// Fails unless every process of this lab ends.
    pub fn assert_nothing_runs(&self) {
        assert!(comes_true(|| self.processes().is_empty()), "left behind: {:?}", self.processes());
    }
}

pub fn fixture(name: &str) -> PathBuf {
    crate::support::root().join("tests/fixtures").join(name)
}

/// Path of the no-op workload.
pub fn noop() -> String {
    fixture("workloads/noop.yaml").display().to_string()
}

/// Text without its line breaks.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The comparison of an arm in one metric of a phase.
pub fn comparison<'a>(analysis: &'a Value, arm: &str, phase: &str, metric: &str) -> &'a Value {
    let mut rows = analysis["comparisons"].as_array().expect("comparisons").iter();
    let wanted =
        |row: &&Value| row["arm"] == arm && row["phase"] == phase && row["metric"] == metric;
    rows.find(wanted).unwrap_or_else(|| panic!("{arm}, {phase}, {metric} in {analysis:#}"))
}

/// Reads a file of one JSON document a line.
pub fn json_lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

/// The exit code; -1 after a signal.
pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Lab {
    /// Makes an adapter `name` whose processes take these operation lengths in turn, in the order
    /// of their starts. Each process adds a line with its pid and `name` to the file `started`.
    pub fn paced(&self, name: &str, op_ns: &[u64], behaviour: &[&str]) {
        let started = self.path("started").display().to_string();
        let lengths: Vec<String> = op_ns.iter().map(u64::to_string).collect();
        let script = format!(
            "echo $$ {name} >> '{started}'; mine=$(grep -c ' {name}$' '{started}'); set -- {}; \
             shift $(((mine - 1) % $#)); exec {}",
            lengths.join(" "),
            fake_command(&format!("op_ns=$1 {}", behaviour.join(" ")))
        );
        self.scripted(name, &script);
    }

    /// Sets the warm-up, in seconds, of an adapter's first phase.
    pub fn set_warmup(&self, adapter: &str, seconds: &str) {
        self.rewrite(adapter, |text| {
            text.replace("warmup_s = 0.2", &format!("warmup_s = {seconds}"))
        });
    }
}

/// Fails unless the two numbers agree to a ten-thousandth.
pub fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-4, "{what}: {found} instead of {expected}");
}

/// The end of a child of [`Lab::start`].
pub struct Done {
    /// Exit code; -1 after a signal.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Lab {
    /// Waits for the end of a child of [`Lab::start`].
    pub fn finish(&self, child: &mut Child) -> Done {
        let mut status = None;
        wait_until("the binary ends", || {
            status = child.try_wait().expect("a child");
            status.is_some()
        });
        let read = |name| fs::read_to_string(self.path(name)).expect("a file");
        Done {
            code: status.and_then(|status| status.code()).unwrap_or(-1),
            stdout: read("stdout"),
            stderr: read("stderr"),
        }
    }

    /// Waits until `count` runs are written.
    pub fn wait_for_runs(&self, count: usize) {
        wait_until("finished runs", || {
            let text = fs::read_to_string(self.made().join("runs.jsonl")).unwrap_or_default();
            text.lines().count() >= count
        });
    }

    /// The process of this lab whose command line has this word; the binary's own children.
    pub fn process(&self, word: &str) -> Option<(i32, String)> {
        self.processes().into_iter().find(|(_, words)| words.contains(word))
    }
}

pub fn send(pid: i32, signal: nix::sys::signal::Signal) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).expect("it lives");
}

pub fn pid(child: &Child) -> i32 {
    child.id().cast_signed()
}

/// One message to a fake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub round: usize,
    pub arm: String,
    pub phase: String,
    pub warmup: bool,
    pub message: String,
}

/// Arm ids of each round by the recorded place.
pub fn places(runs: &[Value]) -> Vec<Vec<String>> {
    let mut rounds: BTreeMap<u64, BTreeMap<u64, String>> = BTreeMap::new();
    for run in runs {
        let place = run["position"].as_u64().expect("a place");
        let round = rounds.entry(run["round"].as_u64().expect("a round")).or_default();
        let former = round.insert(place, run["arm"].as_str().expect("an arm").to_owned());
        assert_eq!(former, None, "two arms in one place");
    }
    let numbers: Vec<u64> = rounds.keys().copied().collect();
    assert_eq!(numbers, (1..=rounds.len() as u64).collect::<Vec<_>>(), "rounds count from 1");
    rounds.into_values().map(|round| round.into_values().collect()).collect()
}

/// The messages to [`Lab::paced`] adapters (`trace=` the lab's file `trace`), in order of time. Pid
/// and place among the greetings identify a process; the records name the arm at that place.
pub fn steps(lab: &Lab) -> Vec<Step> {
    let started = fs::read_to_string(lab.path("started")).expect("started processes");
    let started: Vec<(u64, &str)> = started
        .lines()
        .map(|line| line.split_once(' ').expect("pid and adapter"))
        .map(|(pid, adapter)| (pid.parse().expect("a pid"), adapter))
        .collect();
    let runs = lab.runs();
    let arms: Vec<(usize, String)> = places(&runs)
        .into_iter()
        .enumerate()
        .flat_map(|(round, arms)| arms.into_iter().map(move |arm| (round + 1, arm)))
        .collect();
    assert_eq!(started.len(), arms.len(), "one process for each arm and round");
    let record = lab.record();
    let phases = record["plan"]["phases"].as_array().expect("phases");
    let (mut greeted, mut of_pid, mut steps) = (0, BTreeMap::new(), Vec::new());
    for line in json_lines(&lab.path("trace")) {
        let pid = line["pid"].as_u64().expect("a pid");
        let message = line["message"].as_str().expect("a message").to_owned();
        if message == "hello" {
            let (expected, adapter) = started[greeted];
            assert_eq!(pid, expected, "greeted in the order of starting");
            let (round, arm) = &arms[greeted];
            assert!(arm.starts_with(&format!("{adapter}@")), "{arm} was recorded, {adapter} ran");
            of_pid.insert(pid, (*round, arm.clone()));
            greeted += 1;
        }
        let (round, arm) = of_pid[&pid].clone();
        // r01-arm0-phase2-process0-warmup; noop-0 is the calibration.
        let samples = line["samples"].as_str().unwrap_or_default();
        let number = samples.split_once("-phase").and_then(|(_, rest)| rest.split('-').next());
        let number: Option<usize> = number.and_then(|number| number.parse().ok());
        let phase = number.map(|number| phases[number]["name"].as_str().expect("a name"));
        let phase = phase.unwrap_or(samples.split('-').next().unwrap_or_default()).to_owned();
        let warmup = samples.ends_with("-warmup") || samples.starts_with("noop");
        steps.push(Step { round, arm, phase, warmup, message });
    }
    // The clock is asked until one answer comes quickly: the count is chance.
    steps.dedup_by(|next, last| next.message == "clock" && next == last);
    steps
}
