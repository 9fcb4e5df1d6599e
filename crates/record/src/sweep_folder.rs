//! `sweep.json`: the values of `run --sweep`. Each has a folder beside it, of one experiment or of
//! one for each server.

use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use crate::folder::Folder;
use crate::servers_folder::{ServerExperiment, Servers, create, damaged, has_begun, read};
use crate::unbegun::SWEEP as FILE;
use base::error::{Error, Result};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sweep {
    schema_version: u32,
    /// Name of the parameter.
    pub parameter: String,
    /// In the order asked for.
    pub values: Vec<SweepValue>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepValue {
    pub value: String,
    /// Name of its folder.
    pub folder: String,
}

impl Sweep {
    /// # Errors
    /// Two values that would share a folder.
    pub fn new(parameter: &str, values: &[String]) -> Result<Self> {
        let folder = |value: &String| format!("{parameter}={value}").replace('/', "-");
        let value = |value: &String| SweepValue { value: value.clone(), folder: folder(value) };
        let values: Vec<SweepValue> = values.iter().map(value).collect();
        for (at, value) in values.iter().enumerate() {
            if values[..at].iter().any(|it| it.folder == value.folder) {
                return Err(Error::usage(
                    format!(
                        "--sweep {parameter}: two values belong to the folder {}",
                        value.folder
                    ),
                    "give each value once",
                ));
            }
        }
        Ok(Self { schema_version: 1, parameter: parameter.to_owned(), values })
    }

    /// Makes the folder, where the path is free.
    pub fn create(&self, path: &Path) -> Result<()> {
        create(path, FILE, self)
    }

    /// None where `path` is no folder of a sweep. One without the file comes from an earlier
    /// version: its values are those that have begun, numbers by size.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let is_bad = |it: &&SweepValue| !is_name(&it.folder);
        if let Some(found) = read::<Self>(path, FILE, |it| it.schema_version)? {
            return match found.values.iter().find(is_bad) {
                Some(it) => {
                    Err(damaged(path, FILE, &format!("{:?} is no name of ours", it.folder)))
                }
                None => Ok(Some(found)),
            };
        }
        if path.join("experiment.json").exists() {
            return Ok(None);
        }
        let entries = path.read_dir().into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let begun = names.filter(|name| has_begun(&path.join(name)));
        let parts = begun.filter_map(|folder| {
            let (parameter, value) = folder.split_once('=')?;
            Some((parameter.to_owned(), SweepValue { value: value.to_owned(), folder }))
        });
        let mut parts: Vec<(String, SweepValue)> = parts.collect();
        let order = |it: &SweepValue| it.value.parse::<f64>().unwrap_or(f64::INFINITY);
        parts.sort_by(|(_, a), (_, b)| {
            order(a).total_cmp(&order(b)).then_with(|| a.folder.cmp(&b.folder))
        });
        // A folder of another parameter may lie beside them.
        let count = |name: &String| parts.iter().filter(|(it, _)| it == name).count();
        let most = parts.iter().map(|(name, _)| name).max_by_key(|name| count(name)).cloned();
        let Some(parameter) = most else { return Ok(None) };
        let values = parts.into_iter().filter(|(it, _)| *it == parameter).map(|(_, it)| it);
        Ok(Some(Self { schema_version: 1, values: values.collect(), parameter }))
    }

    /// The experiments of a value that have begun: on one server, whose name is then empty, or on
    /// several.
    pub fn made(value: &SweepValue, path: &Path) -> Result<Vec<ServerExperiment>> {
        let path = path.join(&value.folder);
        if let Some(servers) = Servers::read(&path)? {
            return servers.made(&path);
        }
        if !has_begun(&path) {
            return Ok(Vec::new());
        }
        let (folder, experiment) = Folder::open(&path)?;
        Ok(vec![ServerExperiment { server: String::new(), folder, experiment }])
    }
}

/// One part of a path that leads no way up, and is not hidden.
fn is_name(folder: &str) -> bool {
    let mut parts = Path::new(folder).components();
    let is_one = matches!(parts.next(), Some(Component::Normal(name)) if name == folder);
    is_one && parts.next().is_none() && !folder.starts_with('.')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn values(words: &[&str]) -> Vec<String> {
        words.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn names_of_folders_lead_nowhere_else() {
        let path = tempfile::tempdir().expect("a folder");
        for folder in ["../a", "/etc", "..", "a/b", ".hidden", "", "a/"] {
            let value = format!(r#"{{"value": "1", "folder": {folder:?}}}"#);
            let text = format!(r#"{{"schema_version": 1, "parameter": "x", "values": [{value}]}}"#);
            fs::write(path.path().join(FILE), text).expect("a file");
            let error = Sweep::read(path.path()).expect_err(folder);
            assert!(error.message.contains("no name of ours"), "{error}");
        }
        let sweep = Sweep::new("x", &values(&["../a", "é"])).expect("names");
        assert!(sweep.values.iter().all(|it| is_name(&it.folder)), "{sweep:?}");
        assert!(Sweep::new("x", &values(&["a/b", "a-b"])).is_err());
    }

    #[test]
    fn values_are_read_as_asked_for_and_from_names_where_there_is_no_file() {
        let path = tempfile::tempdir().expect("a folder");
        let of = |path: &Path| {
            let sweep = Sweep::read(path).expect("no error").expect("a sweep");
            sweep.values.iter().map(|it| it.value.clone()).collect::<Vec<_>>()
        };
        let out = path.path().join("out");
        Sweep::new("x", &values(&["8", "16", "all"])).and_then(|it| it.create(&out)).expect("new");
        assert_eq!(of(&out), ["8", "16", "all"]);
        fs::remove_file(out.join(FILE)).expect("it is there");
        assert!(Sweep::read(&out).expect("no error").is_none(), "none has begun");
        for name in ["x=all", "x=16", "x=8", "y=1"] {
            fs::create_dir(out.join(name)).expect("a folder");
            fs::write(out.join(name).join("experiment.json"), "{}").expect("a file");
        }
        assert_eq!(of(&out), ["8", "16", "all"]);
    }
}
