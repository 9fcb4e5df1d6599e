//! Where things live outside the experiment folder.

use std::path::PathBuf;

/// The cache: everything mongodyno installs. `$MDYN_HOME`, else `$XDG_CACHE_HOME/mongodyno`, else
/// `~/.cache/mongodyno`.
#[must_use]
pub fn cache_dir() -> PathBuf {
    let from_env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(home) = from_env("MDYN_HOME") {
        return PathBuf::from(home);
    }
    let base = from_env("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(from_env("HOME").unwrap_or_else(|| "/tmp".into())).join(".cache"),
        PathBuf::from,
    );
    base.join("mongodyno")
}
