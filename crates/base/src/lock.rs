//! Lock files between processes. The kernel releases one when the file and all its copies are
//! closed, so also when the holder is killed.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::{Error, Result};

/// Takes the lock file `path`, which is made if need be; None while somebody else holds it.
pub fn try_lock(path: &Path) -> Result<Option<File>> {
    let (file, is_ours) = take(path)?;
    Ok(is_ours.then_some(file))
}

/// The same, waiting for whoever holds it; `on_wait` is called before waiting.
pub fn lock(path: &Path, on_wait: impl FnOnce()) -> Result<File> {
    let (file, is_ours) = take(path)?;
    if !is_ours {
        on_wait();
        file.lock().map_err(|error| Error::file("lock", path, &error))?;
    }
    Ok(file)
}

fn take(path: &Path) -> Result<(File, bool)> {
    let failed = |error: &std::io::Error| Error::file("lock", path, error);
    // To be read as well: an installer has it as its stdin.
    let open = File::options().read(true).write(true).create(true).truncate(true).open(path);
    let file = open.map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok((file, true)),
        Err(TryLockError::WouldBlock) => Ok((file, false)),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}
