//! The files of an adapter: everything in its folder except what its `.gitignore` names.
//!
//! The build script uses this file too, for the embedded adapters.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Paths by their names below the folder. Lines of `.gitignore` are names of entries here: what an
/// installer or a build leaves. Patterns would need a library for a handful of words.
pub fn files(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let ignored = fs::read_to_string(folder.join(".gitignore")).unwrap_or_default();
    let ignored: Vec<&str> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if name == ".git" || ignored.contains(&name.as_str()) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                left.push(path);
            } else {
                let below = path.strip_prefix(folder).expect("below its folder");
                found.insert(below.to_string_lossy().into_owned(), path);
            }
        }
    }
    Ok(found)
}
