//! Files below a folder that may come from anybody. Links are not followed, and only ordinary files
//! are opened. A link would lead elsewhere, a device has no end, a pipe blocks.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open as open_at_cwd, openat, renameat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

use base::error::{Error, Result};

/// Opens a file to read. `name` is relative to `folder` and made of plain parts. Fails on a link on
/// the way, and on anything but an ordinary file.
pub fn open(folder: &Path, name: &str) -> io::Result<File> {
    let (above, last) = above(folder, name)?;
    ordinary(&above, last, OFlag::O_RDONLY)
}

/// Refuses a file of more than `most` bytes.
pub fn read(folder: &Path, name: &str, most: u64) -> io::Result<Vec<u8>> {
    let file = open(folder, name)?;
    if file.metadata()?.len() > most {
        return Err(invalid(format!("larger than {} MB", most >> 20)));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?; // it may grow
    Ok(bytes)
}

/// Opens a file to append to; makes it if need be.
pub fn append(folder: &Path, name: &str) -> io::Result<File> {
    let (above, last) = above(folder, name)?;
    ordinary(&above, last, OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CREAT)
}

/// Writes a file so that it is there whole or not at all: beside, then renamed.
pub fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let (above, last) = above(folder, name)?;
    let beside = format!("{last}.partial");
    match unlinkat(&above, beside.as_str(), UnlinkatFlags::NoRemoveDir) {
        Err(error) if error != Errno::ENOENT => return Err(error.into()),
        _ => {} // left by an experiment that was killed
    }
    let new = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
    let mut file = ordinary(&above, &beside, new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(renameat(&above, beside.as_str(), &above, last)?)
}

/// Refuses a folder that holds, at any depth, anything but folders and ordinary files of one name.
/// Programs that are not ours write there as well, and follow links.
pub fn only_files(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let it = fs::symlink_metadata(&path)?;
        if it.is_dir() {
            only_files(&path)?;
        } else if !it.is_file() || it.nlink() > 1 {
            let what =
                if it.is_file() { "has a second name elsewhere" } else { "is no ordinary file" };
            return Err(invalid(format!("{} {what}", path.display())));
        }
    }
    Ok(())
}

/// The folder of `name`, and its last part. It goes part by part: some containers and older kernels
/// refuse `openat2`.
fn above<'a>(folder: &Path, name: &'a str) -> io::Result<(OwnedFd, &'a str)> {
    let parts: Option<Vec<&str>> = Path::new(name)
        .components()
        .map(|part| if let Component::Normal(part) = part { part.to_str() } else { None })
        .collect();
    let parts = parts.filter(|parts| !parts.is_empty());
    let parts = parts.ok_or_else(|| invalid("its name leads out of the folder".to_owned()))?;
    let (last, above) = parts.split_last().expect("not empty");
    let way = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut at = open_at_cwd(folder, way, Mode::empty())?;
    for part in above {
        at = openat(&at, *part, way | OFlag::O_NOFOLLOW, Mode::empty())?;
    }
    Ok((at, last))
}

fn ordinary(above: &OwnedFd, name: &str, how: OFlag) -> io::Result<File> {
    // Not blocking: a pipe would wait for its other end.
    let how = how | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = File::from(openat(above, name, how, Mode::from_bits_truncate(0o666))?);
    if !file.metadata()?.is_file() {
        return Err(invalid("no ordinary file".to_owned()));
    }
    Ok(file)
}

fn invalid(why: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// The same for a folder that need not hold an experiment yet.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let lock = File::open(path).map_err(|error| Error::file("open", path, &error))?;
    match lock.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(Error::usage(
            format!("an experiment is at work in {}", path.display()),
            "wait for its end",
        )),
        // A file system without locks has to do without.
        _ => Ok(lock),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_ordinary_files_below_the_folder_are_opened() {
        let outside = tempfile::tempdir().expect("a folder");
        let folder = tempfile::tempdir().expect("a folder");
        let secret = outside.path().join("secret");
        fs::write(&secret, "s3cret").expect("room");
        fs::create_dir(folder.path().join("in")).expect("room");
        fs::write(folder.path().join("in/file"), "text").expect("room");
        symlink(&secret, folder.path().join("link")).expect("room");
        symlink(outside.path(), folder.path().join("way")).expect("room");
        symlink("/dev/zero", folder.path().join("endless")).expect("room");
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).expect("room");

        assert_eq!(read(folder.path(), "in/file", 4).expect("it is there"), b"text");
        let larger = read(folder.path(), "in/file", 3).expect_err("larger").to_string();
        assert_eq!(larger, "larger than 0 MB");
        let absolute = secret.to_str().expect("text");
        for name in
            ["link", "way/secret", "endless", "pipe", "in", "in/../in/file", "..", "", absolute]
        {
            assert!(read(folder.path(), name, 100).is_err(), "{name}");
            assert!(append(folder.path(), name).is_err(), "{name}");
        }
        for name in ["way/new", "/tmp/new", "../new"] {
            assert!(write_whole(folder.path(), name, b"").is_err(), "{name}");
        }
        symlink(&secret, folder.path().join("file.partial")).expect("room");
        write_whole(folder.path(), "file", b"new").expect("beside the link, not through it");
        write_whole(folder.path(), "link", b"new").expect("in the place of the link");
        assert_eq!(fs::read_to_string(&secret).expect("it is there"), "s3cret");
        assert_eq!(read(folder.path(), "link", 9).expect("it is there"), b"new");

        let refused = only_files(folder.path()).expect_err("links").to_string();
        assert!(refused.ends_with("is no ordinary file"), "{refused}");
        for name in ["way", "endless", "pipe"] {
            fs::remove_file(folder.path().join(name)).expect("it is there");
        }
        only_files(folder.path()).expect("files and folders");
        fs::hard_link(&secret, folder.path().join("in/same")).expect("room");
        let refused = only_files(folder.path()).expect_err("a second name").to_string();
        assert!(refused.ends_with("in/same has a second name elsewhere"), "{refused}");
    }
}
