//! Lock files between processes. The kernel releases one when the file and all its copies are
//! closed, so also when the holder is killed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::error::{Error, Result};

/// Takes the lock file `path`, which is created if it is missing; None while another process has
/// it.
pub fn try_lock(path: &Path) -> Result<Option<File>> {
    taken(path, open, File::try_lock)
}

/// Takes a share of a lock, beside other shares; None while a process has it alone.
///
/// # Errors
/// The lock file does not exist and cannot be created.
pub fn try_share(path: &Path) -> Result<Option<File>> {
    // A lock file in a read-only cache is opened for reading.
    let any = |path: &Path| open(path).or_else(|_| File::open(path));
    taken(path, any, File::try_lock_shared)
}

/// Takes a lock like [`try_lock`], but waits for it; `on_wait` is called before waiting. It is for
/// lock files that are never removed.
pub fn lock(path: &Path, on_wait: impl FnOnce()) -> Result<File> {
    let failed = |error: &io::Error| Error::file("lock", path, error);
    let file = open(path).map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => on_wait(),
        Err(TryLockError::Error(error)) => return Err(failed(&error)),
    }
    file.lock().map_err(|error| failed(&error))?;
    Ok(file)
}

/// Opens a lock file for reading as well: an installer has it as its stdin.
fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(true).open(path)
}

fn taken(
    path: &Path,
    open: impl Fn(&Path) -> io::Result<File>,
    take: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Option<File>> {
    let failed = |error: &io::Error| Error::file("lock", path, error);
    loop {
        let file = open(path).map_err(|error| failed(&error))?;
        match take(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        // The last owner may have removed it, and another process may have locked a new one of that
        // name.
        let own = file.metadata().map_err(|error| failed(&error))?.ino();
        if fs::metadata(path).is_ok_and(|now| now.ino() == own) {
            return Ok(Some(file));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// A lock that this test has let go of. Other tests fork, and until they execute a program
    /// their children have copies of every file.
    fn released(take: impl Fn() -> Result<Option<File>>) -> File {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            match take().expect("a lock file") {
                Some(file) => return file,
                None => assert!(Instant::now() < until, "another process has it"),
            }
        }
    }

    #[test]
    fn a_lock_file_is_shared_or_held_alone_and_may_be_removed_by_its_holder() {
        let path = std::env::temp_dir().join(format!("mongodyno-lock-{}", std::process::id()));
        let shared = [try_share(&path), try_share(&path)].map(|it| it.expect("a lock file"));
        assert!(shared.iter().all(Option::is_some));
        assert!(try_lock(&path).expect("a lock file").is_none(), "others share it");
        drop(shared);
        let alone = released(|| try_lock(&path));
        assert!(try_share(&path).expect("a lock file").is_none());
        drop(alone);
        // Removed between its opening and its lock.
        let is_first = std::cell::Cell::new(true);
        let remove_and_take = |file: &File| {
            if is_first.replace(false) {
                fs::remove_file(&path).expect("it is there");
            }
            file.try_lock()
        };
        let late = released(|| taken(&path, open, remove_and_take));
        let there = fs::metadata(&path).expect("it is made again");
        assert_eq!(late.metadata().expect("a file").ino(), there.ino());
        fs::remove_file(&path).expect("it is there");
    }
}
