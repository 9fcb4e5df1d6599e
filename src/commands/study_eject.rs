//! `study --eject`: the workloads and the commands of a study, for a user to change.

use std::collections::BTreeSet;
use std::path::Path;

use crate::ask::StudyAsk;
use base::error::{Error, Result};
use base::strings::shell_quoted;
use workload::builtin;

/// Writes them into a new folder.
///
/// # Errors
/// A folder that is there.
pub fn eject(ask: &StudyAsk, path: &Path) -> Result<()> {
    let parts = studies::planned(ask.study, &ask.asked)?;
    let failed = |error| Error::file("write", path, &error);
    if let Some(above) = path.parent() {
        std::fs::create_dir_all(above).map_err(failed)?;
    }
    std::fs::create_dir(path).map_err(failed)?;
    let mut lines = vec![format!("# The experiments of `mongodyno study {}`.", ask.study.name())];
    // A connection string is not written down: `run` takes the variable where no server is named.
    if ask.asked.request.uri.is_some() {
        lines.push("# MDYN_URI holds the connection string.".to_owned());
    }
    let mut workloads = BTreeSet::new();
    for part in parts {
        let mut words = part.request.words()?;
        let workload = words.remove(0);
        words.extend(["--out".to_owned(), format!("out/{}", part.name)]);
        let words: Vec<String> = words.iter().map(shell_quoted).collect();
        lines.push(format!("mongodyno run {workload}.yaml {}", words.join(" ")));
        workloads.insert(workload);
    }
    for workload in workloads {
        let text = builtin::text(&workload)?;
        std::fs::write(path.join(format!("{workload}.yaml")), text).map_err(failed)?;
    }
    std::fs::write(path.join("study.sh"), lines.join("\n") + "\n").map_err(failed)?;
    super::print(&format!("{}\n", path.display()))
}
