//! The environments in the cache: which of them this program would use, and how one is removed.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::driver_choice::DriverSelection;
use crate::installation::{HASH_DIGITS, Installation, NOTE, Note, READY, lock_path};
use crate::manifest::Manifest;
use base::error::{Error, Exit, Result};
use base::lock::try_lock;
use base::paths::cache_dir;

/// An installed environment.
#[derive(Debug)]
pub struct Cached {
    pub adapter: String,
    /// Version in the name of its folder.
    pub version: String,
    pub note: Option<Note>,
    pub folder: PathBuf,
    pub size_bytes: u64,
    /// Time since its last use, or since its installation began.
    pub unused_for: Duration,
    pub is_whole: bool,
    pub fit: EnvironmentFit,
    /// Whether another mongodyno uses it or installs it.
    pub in_use: bool,
}

/// Whether this program would use an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvironmentFit {
    Current,
    /// The adapter, the toolchain or the commands that install have changed.
    Outdated,
    /// The toolchain is missing, so it is unknown.
    Unknown,
}

/// All environments by adapter and version.
///
/// # Errors
/// The cache cannot be read.
pub fn list(manifests: &[Manifest]) -> Result<Vec<Cached>> {
    let adapters = cache_dir()?.join("adapters");
    let mut found = Vec::new();
    for adapter in folders(&adapters)? {
        for folder in folders(&adapter.path())? {
            let Some(version) = version(&folder.file_name()) else { continue };
            found.push(cached(manifests, &adapter, &folder, version)?);
        }
    }
    found.sort_by(|a, b| (&a.adapter, &a.version).cmp(&(&b.adapter, &b.version)));
    Ok(found)
}

fn folders(path: &Path) -> Result<Vec<DirEntry>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| Error::file("read", path, &error))?,
    };
    // Links are not followed: their targets are not mongodyno's to remove.
    let is_folder = |it: &DirEntry| it.file_type().is_ok_and(|kind| kind.is_dir());
    Ok(entries.flatten().filter(is_folder).collect())
}

/// Downloads that versions share have no hash in their name.
fn version(folder: &OsStr) -> Option<String> {
    let (version, hash) = folder.to_str()?.rsplit_once('-')?;
    let is_hash = hash.len() == HASH_DIGITS && hash.chars().all(|it| it.is_ascii_hexdigit());
    is_hash.then(|| version.to_owned())
}

fn cached(
    manifests: &[Manifest],
    adapter: &DirEntry,
    entry: &DirEntry,
    version: String,
) -> Result<Cached> {
    let (adapter, folder) = (adapter.file_name().to_string_lossy().into_owned(), entry.path());
    let note = fs::read(folder.join(NOTE)).ok();
    let note: Option<Note> = note.and_then(|text| serde_json::from_slice(&text).ok());
    let is_whole = folder.join(READY).exists();
    let used_at = fs::metadata(folder.join(if is_whole { READY } else { NOTE }));
    let used_at = used_at.and_then(|it| it.modified()).ok();
    let since = |at| SystemTime::now().duration_since(at).unwrap_or_default();
    let manifest = manifests.iter().find(|it| it.name == adapter);
    let fit = match (manifest, &note) {
        (Some(manifest), Some(note)) => fit(manifest, note, &folder),
        _ => EnvironmentFit::Outdated,
    };
    // If nothing can be locked, nothing can be removed either.
    let in_use = try_lock(&lock_path(&folder)).is_ok_and(|lock| lock.is_none());
    Ok(Cached {
        size_bytes: size_bytes(&folder).map_err(|error| Error::file("read", &folder, &error))?,
        unused_for: used_at.map(since).unwrap_or_default(),
        is_whole,
        adapter,
        version,
        note,
        folder,
        fit,
        in_use,
    })
}

/// Whether the same words after `-d` lead to this folder today.
fn fit(manifest: &Manifest, note: &Note, folder: &Path) -> EnvironmentFit {
    let asked = DriverSelection {
        package: Some(note.package.clone()),
        version: Some(note.version.clone()),
        options: note.options.clone(),
        ..DriverSelection::default()
    };
    match Installation::of(manifest, &asked) {
        Ok(it) if it.folder() == folder => EnvironmentFit::Current,
        Err(error) if error.exit == Exit::Environment => EnvironmentFit::Unknown,
        _ => EnvironmentFit::Outdated,
    }
}

fn size_bytes(folder: &Path) -> io::Result<u64> {
    let (mut bytes, mut left) = (0, vec![folder.to_owned()]);
    while let Some(next) = left.pop() {
        // An installer may be at work there.
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for entry in entries {
            let entry = entry?;
            let Ok(found) = entry.metadata() else { continue };
            bytes += found.blocks() * 512;
            if found.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Ok(bytes)
}

impl Cached {
    /// Removes it. Returns false if another process has begun to use it.
    pub fn remove(&self) -> Result<bool> {
        let path = lock_path(&self.folder);
        let Some(_lock) = try_lock(&path)? else { return Ok(false) };
        let removed = match fs::remove_file(self.folder.join(READY)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            // First of all: a removal that is cut leaves nothing that seems whole.
            _ => fs::remove_dir_all(&self.folder).and_then(|()| fs::remove_file(&path)),
        };
        removed.map_err(|error| Error::file("remove", &self.folder, &error))?;
        // The adapter's own folder, if that was the last thing in it.
        let _ = fs::remove_dir(path.parent().expect("below the cache"));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_told_from_downloads_and_locks_by_their_names() {
        for (name, expected) in [
            ("1.4.3-0123456789ab", Some("1.4.3")),
            ("7.0.0-beta.1-0123456789ab", Some("7.0.0-beta.1")),
            ("cache", None),
            ("1.4.3-0123456789ab.lock", None),
            ("1.4.3-0123456789a", None),
        ] {
            assert_eq!(version(OsStr::new(name)).as_deref(), expected, "{name}");
        }
    }
}
