//! Sources on this machine that a driver is built from: a module named by `replace`, a package by
//! `file:`. No registry fixes their content, so it is a part of the environment's identity: changed
//! sources are built again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use base::error::{Error, Result};
use base::strings::hex;

/// SHA-256 by path, of all paths that the adapter's files or its commands name by `pattern`.
/// Relative paths lead nowhere from an environment's folder, and fail there.
///
/// # Errors
/// A path that does not exist or cannot be read.
pub fn sources(
    pattern: Option<&str>,
    files: &BTreeMap<String, Vec<u8>>,
    commands: &[Vec<String>],
) -> Result<BTreeMap<PathBuf, String>> {
    let Some(pattern) = pattern else { return Ok(BTreeMap::new()) };
    let pattern = regex_lite::Regex::new(pattern).expect("checked when the manifest was read");
    let files = files.values().map(|bytes| String::from_utf8_lossy(bytes));
    let words = commands.iter().flatten().map(Into::into);
    let mut paths = BTreeSet::new();
    for text in files.chain(words) {
        for found in pattern.captures_iter(&text) {
            let group = found.iter().skip(1).flatten().next();
            paths.extend(
                group.filter(|it| it.as_str().starts_with('/')).map(|it| it.as_str().into()),
            );
        }
    }
    let hash = |path: PathBuf| match sha256_of(&path) {
        Ok(hash) => Ok((path, hash)),
        Err(error) => Err(Error::file("read", &path, &error)),
    };
    paths.into_iter().map(hash).collect()
}

/// Hash of a file, or of all files in a folder with their names. The folder `.git` is left out.
fn sha256_of(path: &Path) -> io::Result<String> {
    let path = path.canonicalize()?;
    let mut hash = Sha256::new();
    let mut left = vec![path.clone()];
    while let Some(next) = left.pop() {
        let kind = next.symlink_metadata()?.file_type();
        if kind.is_dir() {
            let entries = fs::read_dir(&next)?.map(|entry| entry.map(|it| it.path()));
            let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
            entries.retain(|it| it.file_name().is_none_or(|name| name != ".git"));
            entries.sort();
            left.extend(entries);
            continue;
        }
        let content = if kind.is_symlink() {
            fs::read_link(&next)?.into_os_string().into_encoded_bytes()
        } else if kind.is_file() {
            fs::read(&next)?
        } else {
            continue;
        };
        let name = next.strip_prefix(&path).expect("below it").as_os_str().as_encoded_bytes();
        for part in [name, &content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    Ok(hex(&hash.finalize()))
}
