//! Shared by the tests: skipping out loud, the binary, one server for a whole test process.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use server::{Host, InstallProgress, Program, ServerHandle, StartOptions};

/// Reports a test that cannot run on this machine: on stderr and, for `make test`, in the file
/// `MDYN_SKIPS`. With `MDYN_NO_SKIP=1` it fails instead. The caller returns.
pub fn skip(test: &str, reason: &str) {
    let reason = reason.replace('\n', " ");
    let line = format!("skipped: {test}: {reason}\n");
    eprint!("{line}");
    if let Some(path) = std::env::var_os("MDYN_SKIPS").filter(|path| !path.is_empty()) {
        let file = File::options().create(true).append(true).open(&path);
        // One write: tests of several processes append at the same time.
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("MDYN_SKIPS={}: {error}", path.display()));
    }
    let forbidden = std::env::var("MDYN_NO_SKIP").is_ok_and(|value| value == "1");
    assert!(!forbidden, "{test} cannot run here ({reason}) and MDYN_NO_SKIP=1 forbids skips");
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder for this test binary's files, below the target folder; made if need be.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The binary, without the variables by which a developer's shell would change it.
pub fn mongodyno<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mongodyno"));
    command.args(arguments).stdin(Stdio::null());
    for name in ["MDYN_URI", "MDYN_ADAPTERS"] {
        command.env_remove(name);
    }
    // Tests run beside each other: the machine is busy, and speed does not matter to them.
    command.env("MDYN_NO_WAIT", "1");
    command
}

pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    mongodyno(arguments).output().expect("the binary runs")
}

/// Both streams of a program, for the message of an assertion.
pub fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// Longer than anything that works takes on a busy machine: it ends a hang.
pub const HANG: Duration = Duration::from_secs(240);

/// Whether an act of another process comes true; false: it hangs.
pub fn comes_true(mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + HANG;
    while !done() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Waits for an act of another process; only a hang fails.
pub fn wait_until(what: &str, done: impl FnMut() -> bool) {
    assert!(comes_true(done), "waited in vain: {what}");
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

/// URI of an embedded server of this test process. It is started once and ended by its guard with
/// the process. None: skipped.
pub fn server(test: &str) -> Option<&'static str> {
    static SERVER: OnceLock<Result<ServerHandle, String>> = OnceLock::new();
    // A thread: the caller may be inside a runtime, where another one cannot be driven.
    let start = || std::thread::spawn(|| start_server(&[])).join().expect("no panic");
    match SERVER.get_or_init(start) {
        Ok(server) => Some(server.uri()),
        Err(reason) => {
            skip(test, reason);
            None
        }
    }
}

/// A server of the test's own that drivers of all ages speak with; None: skipped.
pub fn server_of_all_drivers(test: &str) -> Option<ServerHandle> {
    start_version(Some("4.4"), &[]).map_err(|reason| skip(test, &reason)).ok()
}

/// Rows of a document's table between `<!-- name -->` and `<!-- /name -->`, without its head.
pub fn marked_table(document: &str, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join(document)).expect("a document");
    let (open, close) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let table = text.split_once(&open).and_then(|(_, rest)| rest.split_once(&close));
    let Some((table, _)) = table else {
        panic!("{document} lacks {open} … {close} around a table")
    };
    let cells = |row: &str| {
        let cells = row.trim().trim_matches('|').split('|');
        cells.map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    let rows: Vec<_> = rows.map(cells).collect();
    assert!(!rows.is_empty(), "{document} has no row between {open} and {close}");
    rows
}

/// An embedded server with further flags for mongod, which ends with the value. Not to be called
/// inside a runtime.
pub fn start_server(flags: &[&str]) -> Result<ServerHandle, String> {
    start_version(None, flags)
}

/// The same with a chosen version of the catalogue.
pub fn start_version(version: Option<&str>, flags: &[&str]) -> Result<ServerHandle, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let log = scratch("server-logs").join(format!("{}-{number}.log", std::process::id()));
    let mut options = StartOptions::new(log);
    options.extra_flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
    options.guard_program = Some(env!("CARGO_BIN_EXE_mongodyno").into());
    let result = (|| {
        let host = Host::detect()?;
        let quiet = InstallProgress { quiet: true };
        let program = Program::embedded(&host, version, quiet)?;
        block_on(server::start(&host, &program, &options))
    })();
    result.map_err(|error| format!("no embedded server: {error}"))
}
