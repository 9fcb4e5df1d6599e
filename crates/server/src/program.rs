//! A mongod that can run here: found or installed, its libraries complete, its version known.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use base::error::{Error, Result};
use record::records::ServerKind;

use super::catalogue::{CatalogueEntry, Wheel, catalogue};
use super::host::{Host, is_executable};
use super::install_progress::InstallProgress;
use super::install_server::{Inspection, install, install_openssl};

/// A mongod ready to be started.
#[derive(Debug, Clone)]
pub struct Program {
    pub path: PathBuf,
    pub kind: ServerKind,
    pub version: String,
    /// Wheel that it came in; None for a mongod of this machine.
    pub wheel: Option<&'static Wheel>,
    /// Search path for libraries of this program alone, if the system lacks OpenSSL 1.1.
    pub library_path: Option<OsString>,
}

impl Program {
    /// Returns the catalogue's `wanted` version, and installs it first if it is missing.
    pub fn embedded(host: &Host, wanted: Option<&str>, progress: InstallProgress) -> Result<Self> {
        let entry = catalogue().resolve(wanted)?;
        let path = install(host, entry, Inspection::Sizes, progress)?;
        Self::probe(host, path, ServerKind::Embedded, Some(entry), progress)
    }

    /// Checks whether a program runs here and with which libraries, and reads its version.
    pub(super) fn probe(
        host: &Host,
        path: PathBuf,
        kind: ServerKind,
        entry: Option<&'static CatalogueEntry>,
        progress: InstallProgress,
    ) -> Result<Self> {
        let mut library_path = None;
        let mut missing = missing_libraries(&path, None)?;
        let is_older = missing.iter().any(|library| library.ends_with(".so.1.1"));
        if let Some(entry) = entry.filter(|_| is_older) {
            let folder = install_openssl(host, entry, progress)?;
            library_path = Some(in_front(&folder));
            missing = missing_libraries(&path, library_path.as_ref())?;
        }
        if !missing.is_empty() {
            return Err(lacks(&path, &missing));
        }
        let output = run(&path, &["--version"], library_path.as_ref(), false)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = ["db version v", "mongos version v"];
        let version =
            text.lines().find_map(|line| said.iter().find_map(|it| line.strip_prefix(it)));
        let Some(version) = version.map(|version| version.trim().to_string()) else {
            return Err(does_not_run(&path, &output));
        };
        let wheel = entry.map(|entry| &entry.wheel);
        Ok(Self { path, kind, version, wheel, library_path })
    }

    /// Returns the mongos of the same version: beside this mongod, or on the search path.
    pub(super) fn mongos(&self, host: &Host) -> Result<Self> {
        let mongod = self.path.display();
        let hint = "install mongos of the same version, or name a running mongos with --uri";
        let beside = Some(self.path.with_file_name("mongos")).filter(|it| is_executable(it));
        let path = beside.or_else(|| host.find_program("mongos")).ok_or_else(|| {
            let message = "a sharded cluster needs a mongos, and there is none: neither";
            Error::environment(format!("{message} beside {mongod} nor on PATH"), hint)
        })?;
        let mongos = Self::probe(host, path, self.kind, None, InstallProgress::default())?;
        if mongos.version == self.version {
            return Ok(mongos);
        }
        let (path, version) = (mongos.path.display(), &mongos.version);
        let message = format!("{path} is {version}, and {mongod} is {}", self.version);
        Err(Error::environment(message, hint))
    }
}

/// Puts `folder` before what the user has set.
fn in_front(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_os_string();
    if let Some(old) = std::env::var_os("LD_LIBRARY_PATH").filter(|old| !old.is_empty()) {
        path.push(":");
        path.push(old);
    }
    path
}

fn run(
    path: &Path,
    arguments: &[&str],
    library_path: Option<&OsString>,
    only_trace: bool,
) -> Result<Output> {
    let mut command = Command::new(path);
    command.args(arguments).stdin(Stdio::null());
    if let Some(library_path) = library_path {
        command.env("LD_LIBRARY_PATH", library_path);
    }
    if only_trace {
        command.env("LD_TRACE_LOADED_OBJECTS", "1");
    }
    command.output().map_err(|error| {
        Error::environment(
            format!("{} does not start: {error}", path.display()),
            "this system cannot run it (another C library?): use your own server, --uri",
        )
    })
}

/// Returns all libraries that the loader does not find, by the method of `ldd`.
fn missing_libraries(path: &Path, library_path: Option<&OsString>) -> Result<Vec<String>> {
    if cfg!(not(target_os = "linux")) {
        return Ok(Vec::new());
    }
    let output = run(path, &[], library_path, true)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let absent = |line: &str| line.trim().strip_suffix(" => not found").map(String::from);
    Ok(text.lines().filter_map(absent).collect())
}

fn lacks(path: &Path, missing: &[String]) -> Error {
    let mut packages: Vec<&str> = missing.iter().map(|library| package_of(library)).collect();
    packages.sort_unstable();
    packages.dedup();
    let packages = packages.join(" ");
    let hint = if packages.contains("libssl1.1") {
        "install OpenSSL 1.1 for it, or use `--server embedded` or --uri".to_string()
    } else if missing.iter().any(|library| library.ends_with(".so.3")) {
        format!("run `apt-get install {packages}`, or use `--server embedded@4.4` or --uri")
    } else {
        format!("run `apt-get install {packages}`, or give your own server: --uri")
    };
    Error::environment(
        format!("{} needs libraries that are missing: {}", path.display(), missing.join(", ")),
        hint,
    )
}

/// The Debian package of a library that a mongod links against.
fn package_of(library: &str) -> &str {
    match library {
        "libcurl.so.4" => "libcurl4",
        "libssl.so.3" | "libcrypto.so.3" => "libssl3",
        "libssl.so.1.1" | "libcrypto.so.1.1" => "libssl1.1",
        "liblzma.so.5" => "liblzma5",
        "libgcc_s.so.1" => "libgcc-s1",
        "libstdc++.so.6" => "libstdc++6",
        "libsasl2.so.2" => "libsasl2-2",
        "libgssapi_krb5.so.2" => "libgssapi-krb5-2",
        "libz.so.1" => "zlib1g",
        _ => library.split(".so").next().unwrap_or(library),
    }
}

fn does_not_run(path: &Path, output: &Output) -> Error {
    use std::os::unix::process::ExitStatusExt;
    let path = path.display();
    // 4 is SIGILL: the build uses instructions that this CPU does not have.
    if output.status.signal() == Some(4) {
        return Error::environment(
            format!("{path} uses instructions that this CPU lacks (AVX)"),
            "use `--server embedded@4.4`, which runs without AVX, or your own server: --uri",
        );
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let reason = stderr.lines().next().unwrap_or("it printed nothing").to_string();
    let hint = if reason.contains("GLIBC") {
        "this system's C library is too old for it: use `--server embedded@4.4` or --uri"
    } else {
        "see that it is a mongod, or give your own server: --uri"
    };
    Error::environment(
        format!("`{path} --version` did not answer ({}): {reason}", output.status),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use base::error::Exit;

    use super::*;

    #[test]
    fn a_missing_library_names_its_package() {
        let error = lacks(Path::new("/m"), &["libcurl.so.4".into(), "liblzma.so.5".into()]);
        assert!(error.hint.contains("apt-get install libcurl4 liblzma5"), "{}", error.hint);
        assert_eq!(error.exit, Exit::Environment);
        let error = lacks(Path::new("/m"), &["libcrypto.so.3".into()]);
        assert!(error.hint.contains("embedded@4.4"), "{}", error.hint);
    }
}
