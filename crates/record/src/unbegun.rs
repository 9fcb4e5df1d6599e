//! Folders of experiments that ended before their record was there. They keep no `--out` from being
//! used again.

use std::fs;
use std::io;
use std::path::Path;

use crate::plain::lock;
use base::error::{Error, Result};
use base::paths::new_or_empty;

/// What an experiment makes before its record; `trialN` are those of its probe.
const BEFORE_RECORD: [&str; 6] = ["samples", "hlog", "logs", "materials", "tap", "holds.bin"];
/// The files that name several experiments.
pub(crate) const SERVERS: &str = "servers.json";
pub(crate) const SWEEP: &str = "sweep.json";

/// Refuses a folder that has anything in it, except what experiments left that never began.
pub fn check_free(path: &Path) -> Result<()> {
    if never_began(path) { Ok(()) } else { new_or_empty(path) }
}

/// Empties such a folder.
///
/// # Errors
/// Something else is in it; an experiment is about to begin in it; the disk.
pub(crate) fn clear(path: &Path) -> Result<()> {
    if !never_began(path) {
        return new_or_empty(path);
    }
    let _lock = lock(path)?;
    let within = names(path).into_iter().map(|name| path.join(name));
    within.filter(|path| never_began(path)).try_for_each(|path| clear(&path))?;
    empty(path).map_err(|error| Error::file("remove", path, &error))
}

/// Removes a folder in which nothing began, or only what is in it unless `is_new`. All of it stays
/// if there is a log, which explains a failure, unless `with_logs`.
pub fn discard(path: &Path, is_new: bool, with_logs: bool) {
    if never_began(path) && (with_logs || !has_log(path)) {
        let _ = empty(path);
    }
    if is_new {
        let _ = fs::remove_dir(path); // refuses a folder with entries
    }
}

/// Whether a folder has only what an experiment makes before its record, or folders of such
/// experiments beside the file that names them.
fn never_began(path: &Path) -> bool {
    let names = names(path);
    // Only an experiment calls a folder `hlog`.
    if names.iter().any(|name| name == "hlog") {
        let is_own = |name: &str| BEFORE_RECORD.contains(&name) || name.starts_with("trial");
        return names.iter().all(|name| is_own(name));
    }
    let is_record = |name: &str| [SERVERS, SWEEP].contains(&name);
    let is_part = |part: &Path| !part.is_symlink() && never_began(part);
    names.iter().any(|name| is_record(name))
        && names.iter().all(|name| is_record(name) || is_part(&path.join(name)))
}

fn has_log(path: &Path) -> bool {
    !names(&path.join("logs")).is_empty() || names(path).iter().any(|it| has_log(&path.join(it)))
}

fn names(path: &Path) -> Vec<String> {
    let entries = path.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn empty(path: &Path) -> io::Result<()> {
    for entry in path.read_dir()?.flatten() {
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;
    use crate::servers_folder::Servers;

    #[test]
    fn what_has_not_begun_is_taken_back() {
        let path = tempfile::tempdir().expect("a folder");
        let out = path.path().join("out");
        let servers = Servers::new(&["absorber".to_owned(), "embedded@4.4".to_owned()]);
        let begin = |names: &[&str]| {
            servers.create(&out).expect("it is free");
            for name in names {
                Folder::create(&out.join(name)).expect("a folder");
            }
        };
        begin(&[]);
        begin(&["absorber", "embedded@4.4"]);
        discard(&out, true, false);
        assert!(!out.exists());
        begin(&["absorber"]);
        fs::write(out.join("absorber/logs/probe-arm0.log"), "why").expect("a file");
        discard(&out, true, false);
        assert!(has_log(&out), "it explains a failure");
        begin(&["absorber"]);
        assert!(!has_log(&out), "of another run");
        let lock = lock(&out.join("absorber")).expect("it is there");
        assert!(clear(&out).is_err(), "one is about to begin");
        drop(lock);
        fs::write(out.join("absorber/experiment.json"), "{}").expect("a file");
        discard(&out, true, true);
        assert!(out.join("absorber/hlog").exists(), "one has begun");
        assert!(check_free(&out).is_err() && clear(&out).is_err());
    }

    #[test]
    fn the_files_of_others_stay() {
        let path = tempfile::tempdir().expect("a folder");
        for names in [&["logs"][..], &["hlog", "mine"], &["servers.json", "mine"]] {
            let out = path.path().join(names.concat());
            for name in names {
                fs::create_dir_all(out.join(name)).expect("a folder");
            }
            discard(&out, true, true);
            assert!(clear(&out).is_err(), "{names:?}");
            assert!(names.iter().all(|name| out.join(name).exists()));
        }
    }
}
