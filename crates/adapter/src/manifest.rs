//! `adapter.toml`: all the core has to know about an adapter before it runs.
//!
//! Adapters are found, never listed: they are embedded in the binary, or in folders below
//! `--adapters-dir`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use crate::listing::ListingFormat;
use crate::sources;
use base::error::{Error, Result};

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Files of every adapter that no environment is made of.
const BESIDE: [&str; 4] = [".gitignore", "README.md", "adapter.toml", "lint"];

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The word after `-d`.
    pub name: String,
    /// Package name as its users know it.
    pub driver: String,
    pub language: String,
    /// Version in the adapter's lock file.
    pub default: String,
    /// Range the adapter is written for, for people.
    pub versions: String,
    /// Warm-up of the first phase of a process, s.
    pub warmup_s: f64,
    /// Resident memory of one process at work, MiB, for as many as live at once.
    #[serde(default = "process_mib")]
    pub process_mib: u32,
    /// Variables of a user's environment that leak into this language's runtime or tools. After
    /// [`discover`] those of all manifests: an option for one runtime may reach the tools of
    /// another adapter.
    #[serde(default)]
    pub scrub: Vec<String>,
    /// `NAME=VALUE`, a variable that passes `--client-memory` to the runtime; `{mib}` is nine
    /// tenths of it.
    pub memory_flag: Option<String>,
    /// Matches the last words of a runtime that has used up its memory.
    pub out_of_memory: Option<String>,
    /// Program and arguments, run in the environment folder.
    pub start: Vec<String>,
    /// Lock file after installation.
    pub lock: Option<String>,
    /// Commands that install exactly the lock file.
    #[serde(default)]
    pub install: Vec<Vec<String>>,
    /// Commands that install `{version}` of `{package}`, with a word for each of `{options}`.
    #[serde(default)]
    pub install_version: Vec<Vec<String>>,
    /// Entries that an interrupted installation leaves to the next one: their tool finds missing
    /// parts by itself. All others are made anew.
    #[serde(default)]
    pub keep: Vec<String>,
    /// Matches the installer's output when the version does not exist.
    pub unknown_version: Option<String>,
    /// Matches the installer's output when it reaches no registry: some then know no version.
    pub unreachable: Option<String>,
    /// Matches the installer's output when the `{version}` wants another runtime. Its group is
    /// quoted.
    pub unfit_version: Option<String>,
    /// Matches a path of this machine that the driver is built from, in the adapter's files and in
    /// the commands that install: its first group.
    pub local: Option<String>,
    /// Listing of releases, by which `-d` selects versions.
    pub releases: Option<Releases>,
    /// The adapter's own tests, run in the environment folder.
    #[serde(default)]
    pub test: Vec<String>,
    /// Files and folders that no environment is made of: tests, settings of `lint`.
    #[serde(default)]
    pub beside: Vec<String>,
    /// Whether its times are simulated, so that the machine's noise cannot affect them: the fake of
    /// the tests.
    #[serde(default)]
    pub simulated: bool,
    /// The call that each operation is in the driver's newest API, for people.
    #[serde(default)]
    pub calls: BTreeMap<String, String>,
    /// Words of the capabilities that its `hello` has in no version: operations, pacing, extras.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// Options that an arm sets as `/KEY=VALUE`, with their meanings.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Values that every generation takes for an option, unless it has its own.
    #[serde(default)]
    values: BTreeMap<String, Values>,
    /// Versions that are installed or called in one way. The first that takes an arm is used;
    /// without any, all versions are alike.
    #[serde(default)]
    pub generations: Vec<Generation>,
    #[serde(default)]
    pub needs: Vec<Need>,
    #[serde(skip)]
    pub source: ManifestSource,
}

/// Default of `process_mib`: more than most need.
fn process_mib() -> u32 {
    128
}

/// Versions of a package that are installed or called in one way. The manifest applies to the rest.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// Package, if it is not the manifest's `driver`.
    package: Option<String>,
    /// Version if none is asked for; it counts in a package's first generation.
    default: Option<String>,
    /// Regular expression on the version.
    versions: String,
    /// The driver's API, if other versions have another under the same `api`.
    pub dialect: Option<String>,
    /// Values that it accepts for the adapter's options.
    #[serde(default)]
    pub options: BTreeMap<String, Values>,
    /// What it lacks in addition to the manifest's.
    #[serde(default)]
    pub lacks: Vec<String>,
    pub start: Option<Vec<String>>,
    pub lock: Option<String>,
    /// Commands that install its own `default`.
    install: Option<Vec<Vec<String>>>,
    /// Also used for the manifest's default version, and for its own without `install`.
    install_version: Option<Vec<Vec<String>>>,
    pub test: Option<Vec<String>>,
    /// Toolchains in addition to those of the manifest.
    #[serde(default)]
    pub needs: Vec<Need>,
}

/// How a registry's tool lists the releases of a package.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Releases {
    /// Prints the versions of `{package}`.
    pub command: Vec<String>,
    pub format: ListingFormat,
    #[serde(default)]
    pub newest_first: bool,
}

/// Values that a generation takes for an option.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// Value if none is asked for.
    pub default: String,
    /// Regular expression on the value.
    #[serde(rename = "match")]
    matches: String,
    /// The same for people.
    pub wants: String,
}

/// A toolchain that an adapter needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Command that prints its version.
    pub run: Vec<String>,
    /// Regular expression its output must match.
    #[serde(rename = "match")]
    pub matches: String,
    /// For people.
    pub wants: String,
    pub install_hint: String,
}

#[derive(Debug, Clone, Default)]
pub enum ManifestSource {
    /// Embedded in the binary, below this folder name.
    #[default]
    Embedded,
    Folder(PathBuf),
}

/// A toolchain that is missing or too old.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The version that is needed, and the one found.
    pub reason: String,
    /// Command that installs it.
    pub hint: String,
}

impl Manifest {
    /// Files of the adapter by relative path.
    pub fn files(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        match &self.source {
            ManifestSource::Embedded => {
                let prefix = format!("{}/", self.name);
                let own = |(path, bytes): &(&str, &[u8])| {
                    Some((path.strip_prefix(&prefix)?.to_owned(), bytes.to_vec()))
                };
                Ok(EMBEDDED.iter().filter_map(own).collect())
            }
            ManifestSource::Folder(folder) => {
                let found = sources::files(folder);
                let found = found.map_err(|error| Error::file("read", folder, &error))?;
                let read = |(name, path): (String, PathBuf)| match std::fs::read(&path) {
                    Ok(bytes) => Ok((name, bytes)),
                    Err(error) => Err(Error::file("read", &path, &error)),
                };
                found.into_iter().map(read).collect()
            }
        }
    }

    /// Whether an environment is made without this file.
    pub fn is_beside(&self, path: &str) -> bool {
        let below = |entry: &str| {
            path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        BESIDE.contains(&path) || self.beside.iter().any(|entry| below(entry))
    }

    /// Checks values that the types allow: all later code relies on them.
    fn check(&self) -> Result<(), String> {
        // Both become names of folders in the cache.
        for (key, text) in [("name", &self.name), ("default", &self.default)] {
            let plain = |it: char| it.is_ascii_alphanumeric() || "._-+".contains(it);
            if text.is_empty() || text.starts_with('.') || !text.chars().all(plain) {
                return Err(format!("`{key}` is of letters, digits and . _ - +, not {text:?}"));
            }
        }
        if let Some(name) = self.scrub.iter().find(|it| it.is_empty() || it.contains(['=', '\0'])) {
            return Err(format!("`scrub` has {name:?}, which is no name of a variable"));
        }
        let flag = self.memory_flag.as_ref().map(|it| it.split_once('=').unwrap_or(("", it)));
        if let Some((name, value)) = flag
            && (name.is_empty() || !value.contains("{mib}") || value.contains('\0'))
        {
            let flag = self.memory_flag.as_deref().unwrap_or_default();
            return Err(format!("`memory_flag` is NAME=VALUE with {{mib}} in it, not {flag:?}"));
        }
        if !(0.0..=3600.0).contains(&self.warmup_s) {
            return Err(format!("`warmup_s` is from 0 to 3600, not {}", self.warmup_s));
        }
        let generations = &self.generations;
        runs("start", [&self.start])?;
        runs("install", &self.install)?;
        runs("install_version", &self.install_version)?;
        runs("releases.command", self.releases.as_ref().map(|it| &it.command))?;
        runs("generations.start", generations.iter().filter_map(|it| it.start.as_ref()))?;
        let install = generations.iter().flat_map(|it| [&it.install, &it.install_version]);
        runs("generations.install", install.flatten().flatten())?;
        let needs = generations.iter().flat_map(|it| &it.needs).chain(&self.needs);
        runs("needs.run", needs.clone().map(|it| &it.run))?;
        matches("unknown_version", &self.unknown_version)?;
        let unfit = self.unfit_version.as_ref().map(|it| it.replace("{version}", "1"));
        matches("unfit_version", &unfit)?;
        matches("unreachable", &self.unreachable)?;
        matches("local", &self.local)?;
        matches("out_of_memory", &self.out_of_memory)?;
        matches("generations.versions", generations.iter().map(|it| &it.versions))?;
        let values = generations.iter().flat_map(|it| it.options.values());
        let values = values.chain(self.values.values());
        matches("generations.options.match", values.map(|it| &it.matches))?;
        matches("needs.match", needs.map(|it| &it.matches))
    }
}

impl Generation {
    pub fn package<'a>(&'a self, manifest: &'a Manifest) -> &'a str {
        self.package.as_deref().unwrap_or(&manifest.driver)
    }

    /// Version of its package if none is asked for.
    pub fn default<'a>(&'a self, manifest: &'a Manifest) -> &'a String {
        self.default.as_ref().unwrap_or(&manifest.default)
    }

    /// Commands of this generation for a version.
    pub fn installs(&self, version: &str) -> Option<&[Vec<String>]> {
        let locked = self.default.as_deref() == Some(version);
        self.install.as_deref().filter(|_| locked).or(self.install_version.as_deref())
    }

    pub fn takes_version(&self, version: &str) -> bool {
        pattern(&self.versions).is_match(version)
    }

    /// Whether it takes every one of these options.
    pub fn takes(&self, options: &BTreeMap<String, String>) -> bool {
        options
            .iter()
            .all(|(key, value)| self.options.get(key).is_some_and(|values| values.takes(value)))
    }
}

impl Values {
    pub fn takes(&self, value: &str) -> bool {
        pattern(&self.matches).is_match(value)
    }
}

fn pattern(text: &str) -> regex_lite::Regex {
    regex_lite::Regex::new(text).expect("checked when the manifest was read")
}

impl Need {
    /// The first line that the toolchain prints about itself. The arms of one invocation share it:
    /// many versions have the same toolchain, and some toolchains take half a second to print their
    /// version.
    pub fn probe(&self) -> Result<String, Missing> {
        static PROBED: Mutex<Vec<(Need, Result<String, Missing>)>> = Mutex::new(Vec::new());
        let mut probed = PROBED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = probed.iter().find(|(need, _)| need == self) {
            return known.clone();
        }
        let found = self.ask();
        probed.push((self.clone(), found.clone()));
        found
    }

    fn ask(&self) -> Result<String, Missing> {
        let (program, arguments) =
            self.run.split_first().expect("checked when the manifest was read");
        let missing = |found: &str| Missing {
            reason: format!("needs {} ({found})", self.wants),
            hint: self.install_hint.clone(),
        };
        let output = Command::new(program)
            .args(arguments)
            .env_remove("MDYN_URI") // credentials
            .output()
            .map_err(|_| missing(&format!("`{program}` not found")))?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        let wanted = pattern(&self.matches);
        let first = text.lines().next().unwrap_or_default().trim().to_owned();
        if output.status.success() && wanted.is_match(&text) {
            Ok(first)
        } else {
            Err(missing(&format!("found: {first}")))
        }
    }
}

fn parse(text: &str, place: &str, source: ManifestSource) -> Result<Manifest> {
    let wrong = |error: String| {
        Error::environment(format!("{place}: {error}"), "compare it with CONTRIBUTING.md")
    };
    let mut manifest: Manifest = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    manifest.check().map_err(wrong)?;
    for generation in &mut manifest.generations {
        for (key, values) in &manifest.values {
            generation.options.entry(key.clone()).or_insert_with(|| values.clone());
        }
    }
    manifest.source = source;
    Ok(manifest)
}

/// Checks that each command has a program.
fn runs<'a>(key: &str, commands: impl IntoIterator<Item = &'a Vec<String>>) -> Result<(), String> {
    let empty = |words: &Vec<String>| words.first().is_none_or(String::is_empty);
    if commands.into_iter().any(empty) {
        return Err(format!("`{key}` names no program"));
    }
    Ok(())
}

/// Checks regular expressions.
fn matches<'a>(key: &str, patterns: impl IntoIterator<Item = &'a String>) -> Result<(), String> {
    patterns.into_iter().try_for_each(|text| match regex_lite::Regex::new(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("`{key}` is no regular expression: {text}: {error}")),
    })
}

/// All adapters: the embedded ones, and the folders below `folder`, which replace embedded ones of
/// the same name.
pub fn discover(folder: Option<&Path>) -> Result<Vec<Manifest>> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let mut found = BTreeMap::new();
    for (path, bytes) in EMBEDDED.iter().filter(|(path, _)| path.ends_with("/adapter.toml")) {
        let manifest = parse(&String::from_utf8_lossy(bytes), path, ManifestSource::Embedded)?;
        found.insert(manifest.name.clone(), manifest);
    }
    if let Some(folder) = folder {
        let entries =
            std::fs::read_dir(folder).map_err(|error| Error::file("read", folder, &error))?;
        for entry in entries.flatten() {
            let path = entry.path().join("adapter.toml");
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if [NotFound, NotADirectory].contains(&error.kind()) => continue,
                Err(error) => return Err(Error::file("read", &path, &error)),
            };
            let source = ManifestSource::Folder(entry.path());
            let manifest = parse(&text, &path.display().to_string(), source)?;
            found.insert(manifest.name.clone(), manifest);
        }
    }
    let mut found: Vec<Manifest> = found.into_values().collect();
    let scrub: BTreeSet<String> = found.iter().flat_map(|it| it.scrub.clone()).collect();
    for manifest in &mut found {
        manifest.scrub = scrub.iter().cloned().collect();
    }
    Ok(found)
}
