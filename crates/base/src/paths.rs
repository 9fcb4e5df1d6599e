//! Folders outside of the experiment folder.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
};
use std::path::{Path, PathBuf};

use nix::libc::O_NONBLOCK;
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access, geteuid};

use crate::error::{Error, Result};
use crate::strings::shell_quoted;

/// Free space below which a disk counts as full.
const FULL_BYTES: u64 = 4 << 20;

/// The cache of everything that mongodyno installs: `$MDYN_HOME`, else `$XDG_CACHE_HOME/mongodyno`,
/// else `~/.cache/mongodyno`. It is created if it is missing, for its owner alone. It is refused if
/// another user may put programs there that mongodyno would run.
pub fn cache_dir() -> Result<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let path = folder("MDYN_HOME")
        .map(PathBuf::from)
        .or_else(|| folder("XDG_CACHE_HOME").map(|it| PathBuf::from(it).join("mongodyno")))
        .or_else(|| folder("HOME").map(|it| PathBuf::from(it).join(".cache/mongodyno")))
        .ok_or_else(|| {
            Error::environment(
                "no place for the cache: neither MDYN_HOME, XDG_CACHE_HOME nor HOME is set",
                "set MDYN_HOME to a folder that only you may write to",
            )
        })?;
    // Absolute, because children work in other folders.
    let path = std::path::absolute(&path).map_err(|error| Error::file("find", &path, &error))?;
    trusted(&path)?;
    Ok(path)
}

/// Folder for files of this invocation: the cache, or a temporary one if the cache is read-only.
pub fn work_dir() -> Result<PathBuf> {
    let cache = cache_dir()?;
    if access(&cache, AccessFlags::W_OK).is_ok() {
        return Ok(cache);
    }
    let user = geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("mongodyno-{user}"));
    trusted(&path)?;
    Ok(path)
}

/// Refuses a folder for results that exists and is not empty, or is no folder.
pub fn new_or_empty(folder: &Path) -> Result<()> {
    let what = match folder.read_dir().map(|mut entries| entries.next().is_some()) {
        Ok(true) => "is not empty",
        Err(error) if error.kind() == ErrorKind::NotADirectory => "is no folder",
        _ => return Ok(()),
    };
    Err(Error::usage(
        format!("{} exists and {what}", folder.display()),
        "choose another --out: results are never overwritten",
    ))
}

/// Opens a file that the command line or a workload names: an ordinary one, or a pipe that the
/// shell passes (`<(…)`). Another pipe may wait for ever, and a device has no end.
pub fn open_input(path: &Path) -> io::Result<File> {
    let handed = ["/dev/fd", "/dev/stdin", "/proc/self/fd"].iter().any(|it| path.starts_with(it));
    let mut options = File::options();
    if !handed {
        options.custom_flags(O_NONBLOCK);
    }
    let file = options.read(true).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || (handed && kind.is_fifo()) {
        return Ok(file);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "it is no ordinary file"))
}

/// Reads the text of such a file; refuses one of more than `most` bytes.
pub fn read_input(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = open_input(path)?.take(most + 1).read_to_string(&mut text)?;
    if read as u64 > most {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("larger than {most} bytes")));
    }
    Ok(text)
}

/// Creates a folder of the cache, and those above it, that no other user may write to, whatever the
/// umask allows.
pub fn own_folder(path: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(|error| Error::file("create the folder", path, &error))
}

/// Creates a folder for programs that mongodyno runs, or checks that no other user may write to it.
fn trusted(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        let mut error = Error::file("create the cache", path, &error);
        "set MDYN_HOME to a folder that you may write to".clone_into(&mut error.hint);
        error
    })?;
    // Deeper folders are safe if these are.
    let below = ["adapters", "servers", "wheels"].map(|name| path.join(name));
    for folder in [path.to_owned()].into_iter().chain(below) {
        let Ok(found) = fs::metadata(&folder) else { continue };
        let user = geteuid().as_raw();
        let (what, hint) = if found.mode() & 0o022 != 0 {
            ("others may write to", format!("chmod -R go-w {}", shell_quoted(&folder.display())))
        } else if ![0, user].contains(&found.uid()) {
            ("somebody else owns", "set MDYN_HOME to a folder of your own".to_owned())
        } else {
            continue;
        };
        let what = format!("{what} {}, whose programs would be run", folder.display());
        return Err(Error::environment(what, hint));
    }
    Ok(())
}

/// Free bytes on the disk of a path that need not exist yet; None if they are unknown.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let stat = statvfs(path.ancestors().find(|it| it.exists())?).ok()?;
    Some(stat.blocks_available() * stat.fragment_size())
}

/// Whether a disk is so full that a file of samples may not fit, or that mongod's log lacks its
/// reason.
pub fn is_full(path: &Path) -> bool {
    free_bytes(path).is_some_and(|free| free < FULL_BYTES)
}
