//! Programs of `tests/clients` that have packages of npm.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Installs a client into a folder below the target folder, once for each lock file.
///
/// # Errors
/// What npm says; there is no npm.
pub fn installed(client: &str) -> Result<PathBuf, String> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(client);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(client);
    fs::create_dir_all(&folder).expect("a folder");
    let lock = File::create(folder.join(".lock")).expect("a lock file");
    lock.lock().expect("the lock");
    for file in own.read_dir().expect("a client").flatten() {
        fs::copy(file.path(), folder.join(file.file_name())).expect("a copy");
    }
    let wanted = fs::read(folder.join("package-lock.json")).expect("a lock file");
    let installed = folder.join("installed.json");
    if fs::read(&installed).is_ok_and(|have| have == wanted) {
        return Ok(folder);
    }
    let mut npm = Command::new("npm");
    // Without scripts: they would build C++ parsers, which exist in JavaScript. Without optional
    // packages: a client for Kerberos.
    npm.args(["ci", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"]);
    let output = npm.current_dir(&folder).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("npm: {error}"))?;
    if !output.status.success() {
        return Err(format!("npm ci: {}", String::from_utf8_lossy(&output.stderr)));
    }
    fs::write(&installed, wanted).expect("written");
    Ok(folder)
}
