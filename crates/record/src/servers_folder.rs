//! A folder of experiments of the same arms, made side by side, one on each server.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::folder::Folder;
use crate::plain;
use crate::records::Experiment;
use crate::unbegun::{self, SERVERS as FILE};
use base::error::{Error, Result};

const BYTES_MAX: u64 = 1 << 20;
const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Servers {
    schema_version: u32,
    /// In the order asked for: the others are held against the first.
    pub servers: Vec<Part>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Part {
    /// The server as `--server` takes it; `#2` after a server that was named before.
    pub server: String,
    /// Name of its experiment folder.
    pub folder: String,
}

impl Part {
    /// The server as `--server` takes it.
    pub fn words(&self) -> &str {
        let numbered = self.server.rsplit_once('#');
        let numbered = numbered.filter(|(_, number)| number.parse::<u32>().is_ok());
        numbered.map_or(&self.server, |(words, _)| words)
    }
}

/// The experiment of one server.
pub struct ServerExperiment {
    pub server: String,
    pub folder: Folder,
    pub experiment: Experiment,
}

impl Servers {
    pub fn new(servers: &[String]) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for server in servers {
            let is_free = |part: &Part| parts.iter().all(|it| it.folder != part.folder);
            let named = |number: u32| {
                let server = if number > 1 { format!("{server}#{number}") } else { server.clone() };
                Part { folder: plain_name(&server), server }
            };
            let mut numbers = (1..).take(servers.len()).map(named);
            parts.push(numbers.find(is_free).expect("some number is free"));
        }
        Self { schema_version: SCHEMA_VERSION, servers: parts }
    }

    /// Makes the folder, where the path is free.
    pub fn create(&self, path: &Path) -> Result<()> {
        create(path, FILE, self)
    }

    /// None where `path` is no folder of several servers.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let Some(read) = read::<Self>(path, FILE, |it| it.schema_version)? else {
            return Ok(None);
        };
        // A name that is no plain one would lead out of the folder.
        let is_bad =
            |part: &&Part| part.folder.is_empty() || plain_name(&part.folder) != part.folder;
        match read.servers.iter().find(is_bad) {
            Some(part) => {
                let why = format!("{:?} is no name of ours", part.folder);
                Err(damaged(path, FILE, &why))
            }
            None => Ok(Some(read)),
        }
    }

    /// The experiments that have begun, in the order of the servers.
    pub fn made(&self, path: &Path) -> Result<Vec<ServerExperiment>> {
        let begun = self.servers.iter().filter(|part| has_begun(&path.join(&part.folder)));
        let open = |part: &Part| {
            let (folder, experiment) = Folder::open(&path.join(&part.folder))?;
            Ok(ServerExperiment { server: part.server.clone(), folder, experiment })
        };
        begun.map(open).collect()
    }
}

/// Makes the folder of several experiments with the file that names them, where the path is free.
pub(crate) fn create(path: &Path, file: &str, record: &impl Serialize) -> Result<()> {
    unbegun::clear(path)?;
    fs::create_dir_all(path).map_err(|error| Error::file("create", path, &error))?;
    let text = serde_json::to_string_pretty(record).expect("names serialise");
    plain::write_whole(path, file, text.as_bytes())
        .map_err(|error| Error::file("write", &path.join(file), &error))
}

/// Reads such a file; None where there is none.
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    file: &str,
    version: fn(&T) -> u32,
) -> Result<Option<T>> {
    let bytes = match plain::read(path, file, BYTES_MAX) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        result => result.map_err(|error| Error::file("read", &path.join(file), &error))?,
    };
    let found: T =
        serde_json::from_slice(&bytes).map_err(|error| damaged(path, file, &error.to_string()))?;
    if version(&found) > SCHEMA_VERSION {
        return Err(damaged(path, file, "it comes from a newer mongodyno"));
    }
    Ok(Some(found))
}

/// Whether an experiment has begun in a folder, which is one itself: a link would lead elsewhere.
pub(crate) fn has_begun(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir())
        && folder.join("experiment.json").exists()
}

pub(crate) fn damaged(path: &Path, file: &str, why: &str) -> Error {
    Error::usage(format!("{}: {why}", path.join(file).display()), "it was changed or damaged")
}

/// `/opt/m/mongod` as `opt-m-mongod`: one part of a path, and never hidden.
fn plain_name(server: &str) -> String {
    let plain = |it: char| if it.is_ascii_alphanumeric() || "-_.@".contains(it) { it } else { '-' };
    server.chars().map(plain).collect::<String>().trim_start_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_lead_nowhere_else() {
        assert_eq!(plain_name("embedded@4.4"), "embedded@4.4");
        assert_eq!(plain_name("/opt/m/mongod"), "opt-m-mongod");
        assert_eq!(plain_name("../mongod"), "mongod");
        let path = tempfile::tempdir().expect("a folder");
        for folder in ["../a", "/etc", "..", "a/b", ".hidden", ""] {
            let text = format!(
                r#"{{"schema_version": 1, "servers": [{{"server": "x", "folder": {folder:?}}}]}}"#
            );
            fs::write(path.path().join(FILE), text).expect("a file");
            let error = Servers::read(path.path()).expect_err(folder);
            assert!(error.message.contains("no name of ours"), "{error}");
        }
    }

    #[test]
    fn a_server_that_is_named_twice_has_a_number_and_a_folder_of_its_own() {
        let twice = ["absorber", "absorber", "a#b", "absorber"].map(str::to_owned);
        let parts = Servers::new(&twice).servers;
        let names: Vec<_> = parts.iter().map(|it| (it.server.as_str(), &*it.folder)).collect();
        let numbered = [("absorber#2", "absorber-2"), ("a#b", "a-b"), ("absorber#3", "absorber-3")];
        assert_eq!(names, [&[("absorber", "absorber")], &numbered[..]].concat());
        assert!(parts.iter().map(Part::words).eq(twice.iter().map(String::as_str)));
    }

    #[test]
    fn a_folder_says_which_servers_it_is_of() {
        let path = tempfile::tempdir().expect("a folder");
        let out = path.path().join("out");
        let servers = Servers::new(&["absorber".to_owned(), "embedded@4.4".to_owned()]);
        servers.create(&out).expect("a folder");
        let read = Servers::read(&out).expect("a file").expect("of several servers");
        assert_eq!(read.servers[1].folder, "embedded@4.4");
        assert!(Servers::read(path.path()).expect("no error").is_none());
    }
}
