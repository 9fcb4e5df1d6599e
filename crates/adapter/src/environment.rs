//! Environments: one folder in the cache per adapter, driver version and toolchain.
//!
//! Nothing of the user's machine is touched; variables through which a user's own packages could
//! leak in are taken away from the children.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::manifest::{Manifest, Missing};
use base::child;
use base::error::Error;

/// An adapter ready to start.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Adapter name.
    pub adapter: String,
    /// Driver version that was asked for (the adapter reports the one it loaded).
    pub version: String,
    /// Options of the adapter, asked for or chosen: they are part of what was installed.
    pub options: BTreeMap<String, String>,
    /// Options of the connection string for this arm alone.
    pub uri_options: BTreeMap<String, String>,
    /// Number of processes at once, in place of the workload's.
    pub processes: Option<u32>,
    /// Working directory of its processes.
    pub folder: PathBuf,
    /// Program and arguments.
    pub start: Vec<String>,
    /// Warm-up of the first phase of a process, s.
    pub warmup_s: f64,
    /// Whether its times are simulated.
    pub simulated: bool,
    /// SHA-256 of the lock file, hex.
    pub lock_sha256: Option<String>,
    /// Cores that its processes may use; all if empty.
    pub cores: Vec<usize>,
    /// Memory of all its processes together, bytes.
    pub memory_bytes: Option<u64>,
    /// `NAME=VALUE` with `{mib}`: variable that passes that limit to its runtime.
    pub memory_flag: Option<String>,
    /// Regular expression on the last words of a runtime that has used it up.
    pub out_of_memory: Option<String>,
    /// Variables of the user's environment that are kept from its processes.
    pub scrub: Vec<String>,
    /// Share of its lock while it is used, so that it is not removed. None if it cannot be locked,
    /// because nothing can be written there.
    pub held: Option<Arc<File>>,
}

impl Environment {
    /// Environment of a command without installation: `check -- COMMAND`.
    pub fn of_command(command: &[String], scrub: Vec<String>) -> Self {
        Self {
            adapter: command.join(" "),
            folder: std::env::current_dir().unwrap_or_default(),
            start: command.to_vec(),
            warmup_s: 1.0,
            scrub,
            ..Self::default()
        }
    }

    /// Variable that passes the arm's limit to the runtime. A tenth is left for memory outside of
    /// its heap.
    pub(crate) fn memory_variable(&self, bytes: u64) -> Option<(String, String)> {
        let (name, value) = self.memory_flag.as_ref()?.split_once('=')?;
        let mib = (bytes / 10 * 9) >> 20;
        Some((name.to_owned(), value.replace("{mib}", &mib.max(1).to_string())))
    }

    /// A command of this environment, with its folder, without the user's packages.
    pub fn command(&self, words: &[String]) -> Command {
        let (program, arguments) = words.split_first().expect("a command has a program");
        scrubbed(&self.folder, program, arguments, &self.scrub)
    }
}

/// Makes a command without the variables of `scrub`, and without the credentials of `MDYN_URI`: an
/// adapter gets them in `open` and nowhere else.
pub(crate) fn scrubbed(
    folder: &Path,
    program: &str,
    arguments: &[String],
    scrub: &[String],
) -> Command {
    // Relative programs are relative to the environment: the child's cwd is not yet its own when
    // the system looks for the program.
    let program =
        if program.starts_with('.') { folder.join(program) } else { PathBuf::from(program) };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    for name in scrub.iter().map(String::as_str).chain(["MDYN_URI"]) {
        command.env_remove(name);
    }
    child::own(&mut command);
    command
}

/// The error for an adapter whose toolchain is missing.
pub fn not_runnable(manifest: &Manifest, missing: &Missing) -> Error {
    Error::environment(format!("{} {}", manifest.name, missing.reason), missing.hint.clone())
}
