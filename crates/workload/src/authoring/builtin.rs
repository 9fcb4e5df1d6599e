//! The workloads that come with mongodyno.

use std::collections::BTreeMap;
use std::path::Path;

use base::paths::read_input;

use super::planning::{Workload, build};
use super::problem::{Problem, WorkloadError, did_you_mean};
use super::workload_file::parse;

/// A workload is some hundred lines; what is larger is another file.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// A workload embedded in the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    pub name: &'static str,
    /// Folder: applications, studies or instruments.
    pub group: &'static str,
    pub text: &'static str,
}

// Every file of the groups of `workloads/`, in the order of their names.
include!(concat!(env!("OUT_DIR"), "/builtins.rs"));

/// The built-in workloads and their `why`s.
///
/// # Panics
/// Where a built-in workload cannot be read, which its tests rule out.
pub fn list() -> Vec<(&'static Builtin, String)> {
    let sets = BTreeMap::new();
    let why = |text: &str| parse(text, Path::new("built-in"), &sets).expect("tested").file.why;
    BUILTINS.iter().map(|it| (it, why(it.text).value.trim().to_owned())).collect()
}

/// Parameters of a built-in workload: what `--set` changes.
///
/// # Panics
/// Where there is none of this name.
pub fn parameters(name: &str) -> Vec<String> {
    let builtin = BUILTINS.iter().find(|it| it.name == name).expect("built in");
    let parsed = parse(builtin.text, Path::new(name), &BTreeMap::new()).expect("tested");
    parsed.parameters.into_keys().collect()
}

/// Opens a workload by its name, or by a path (anything with a `/` or an ending).
pub fn open(
    name: &str,
    sets: &BTreeMap<String, String>,
    seed: u64,
) -> Result<Workload, WorkloadError> {
    let yaml = text(name)?;
    let path = if BUILTINS.iter().any(|builtin| builtin.name == name) {
        Path::new(name).with_extension("yaml")
    } else {
        Path::new(name).to_path_buf()
    };
    build(&parse(&yaml, &path, sets)?, seed)
}

/// The YAML of a workload, by name or path.
pub fn text(name: &str) -> Result<String, WorkloadError> {
    if let Some(builtin) = BUILTINS.iter().find(|builtin| builtin.name == name) {
        return Ok(builtin.text.to_owned());
    }
    let is_path = name.contains(['/', '\\', '.']);
    if !is_path {
        let hint = did_you_mean(name, BUILTINS.iter().map(|builtin| builtin.name));
        let message = format!("there is no workload `{name}`");
        let problem = Problem::new(message, None).maybe_hint(hint);
        return Err(WorkloadError::plain(problem));
    }
    let text = read_input(Path::new(name), TEXT_BYTES_MAX).map_err(|error| {
        let problem = Problem::new(format!("cannot read the workload {name}: {error}"), None);
        WorkloadError::plain(problem.hint("`mongodyno workloads` lists those that are built in"))
    })?;
    // Before a line of it is quoted.
    base::secrets::keep_hosts(&text);
    Ok(text)
}
