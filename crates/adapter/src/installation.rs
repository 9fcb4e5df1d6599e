//! Installation: one folder in the cache per adapter, driver version and toolchain.
//!
//! A folder without `.ready` is not complete: nothing is started in it. After an interruption, an
//! installation keeps the manifest's `keep` and makes the rest anew.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use crate::driver_choice::{Choice, DriverSelection};
use crate::environment::{Environment, not_runnable, scrubbed};
use crate::local_sources;
use crate::manifest::Manifest;
use crate::version_selection::of_machine;
use base::child;
use base::error::{Error, Result};
use base::lock::{try_lock, try_share};
use base::paths::{cache_dir, own_folder};
use base::say;
use base::secrets::mask_text;
use base::strings::{hex, last_lines};

/// Pause between two tries for a lock that another mongodyno has. A blocking wait would need a
/// thread, and the end of the program would wait for that thread.
const LOCK_EVERY: Duration = Duration::from_millis(100);
/// File that marks a complete environment. Its time is that of the last use.
pub(crate) const READY: &str = ".ready";
/// File of an environment with its [`Note`], written before anything is installed.
pub(crate) const NOTE: &str = ".environment.json";
/// Hex digits of the hash in the name of an environment's folder.
pub(crate) const HASH_DIGITS: usize = 12;

/// Lines of an installer's output, from its end, that an error quotes.
const QUOTED_LINES: usize = 4;

/// Record of what an environment was first made for: arms that differ in options alone may share
/// it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Note {
    pub package: String,
    pub version: String,
    pub options: BTreeMap<String, String>,
    /// First line that each toolchain prints.
    pub toolchain: Vec<String>,
}

/// An environment that exists, or that [`Installation::run`] makes.
pub struct Installation<'a> {
    manifest: &'a Manifest,
    asked: &'a DriverSelection,
    choice: Choice,
    files: BTreeMap<String, Vec<u8>>,
    toolchain: Vec<String>,
    /// SHA-256 by path of what the driver is built from on this machine.
    local: BTreeMap<PathBuf, String>,
    folder: PathBuf,
}

/// Progress of an installation.
#[derive(Debug, Clone, Copy)]
pub enum News<'a> {
    /// Another mongodyno installs the same environment: this one waits.
    Waiting,
    /// A line of the installer's output, masked.
    Said(&'a str),
}

impl<'a> Installation<'a> {
    /// Plans an arm's installation.
    ///
    /// # Errors
    /// A missing toolchain or source; a version or option that does not exist.
    pub fn of(manifest: &'a Manifest, asked: &'a DriverSelection) -> Result<Self> {
        let choice = manifest.choose(asked)?;
        let toolchain = choice.probe().map_err(|missing| not_runnable(manifest, &missing))?;
        let mut files = manifest.files()?;
        files.retain(|path, _| !manifest.is_beside(path));
        let local = local_sources::sources(manifest.local.as_deref(), &files, &choice.install)?;
        let identity = identity(&files, &toolchain, &local, &choice);
        let parent = cache_dir()?.join("adapters").join(&manifest.name);
        let folder = parent.join(format!("{}-{identity}", choice.version));
        Ok(Self { manifest, asked, choice, files, toolchain, local, folder })
    }

    /// Prints the options that were chosen without being asked for, and a driver that is no
    /// release.
    pub fn say_unasked(&self) {
        let Choice { package, version, .. } = &self.choice;
        if let Some(unasked) = self.manifest.chosen_unasked(self.asked, &self.choice) {
            let name = &self.manifest.name;
            say::once(format!("{name}: {package} {version} runs with {unasked}"));
        }
        for path in self.local.keys() {
            let (id, path) = (self.id(), path.display());
            say::once(format!("{id}: built from {path} as it is now, not from the registry"));
        }
    }

    /// The arm's name in tables.
    pub fn id(&self) -> String {
        self.asked.id(&self.manifest.name, &self.choice.named_version())
    }

    /// The name of an arm with the machine's driver, with the version that it has reported.
    pub fn id_of_machine(&self, told: &str) -> String {
        self.asked.id(&self.manifest.name, &of_machine(told))
    }

    /// Version that the machine's driver has to report.
    pub fn told(&self) -> Option<&str> {
        self.choice.told.as_deref()
    }

    /// Folder of the environment: installations with the same folder are one.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn is_ready(&self) -> bool {
        self.ready().exists()
    }

    fn ready(&self) -> PathBuf {
        self.folder.join(READY)
    }

    fn log(&self) -> PathBuf {
        self.folder.join("install.log")
    }

    /// Makes the environment, unless it is complete. If the future is dropped early, the installer
    /// and its children are killed.
    pub async fn run(&self, told: impl Fn(News<'_>)) -> Result<()> {
        // A complete environment stays so, and may be where nothing can be written.
        if self.is_ready() {
            return Ok(());
        }
        let parent = self.folder.parent().expect("below the cache");
        own_folder(parent)?;
        let lock = self.lock(&told).await?;
        if self.is_ready() {
            return Ok(());
        }
        let kept = self.lay_out()?;
        for words in &self.choice.install {
            self.step(&self.with_cache(words)?, &lock, &told).await.inspect_err(|_| {
                // A kept entry may be the fault: the next attempt begins with nothing.
                for path in &kept {
                    let _ = fs::remove_dir_all(path);
                }
            })?;
        }
        put(&self.folder, READY, b"")
    }

    /// Returns the environment that [`Installation::run`] has made, locked until all its copies are
    /// dropped.
    ///
    /// # Errors
    /// Another mongodyno has removed it since.
    pub async fn environment(&self) -> Result<Environment> {
        let held = self.hold().await;
        if !self.is_ready() {
            return Err(Error::environment(
                format!("the environment of {} was removed just now", self.id()),
                "the same command installs it again",
            ));
        }
        // Notes the time of the last use; if nothing can be written, it does not matter.
        let ready = File::options().append(true).open(self.ready());
        let _ = ready.and_then(|file| file.set_modified(SystemTime::now()));
        let lock = self.choice.lock.as_ref();
        let lock = lock.and_then(|name| fs::read(self.folder.join(name)).ok());
        // An experiment can only be resumed with the same sources.
        let sources = self.local.values().map(|hash| hash.clone().into_bytes());
        let locked: Vec<_> = lock.into_iter().chain(sources).collect();
        let dialect = self.choice.dialect.iter().map(|it| ("dialect".to_owned(), it.clone()));
        Ok(Environment {
            adapter: self.manifest.name.clone(),
            version: self.choice.version.clone(),
            options: self.choice.options.clone().into_iter().chain(dialect).collect(),
            uri_options: self.asked.uri_options.clone(),
            processes: self.asked.processes,
            folder: self.folder.clone(),
            start: self.choice.start.clone(),
            warmup_s: self.manifest.warmup_s,
            simulated: self.manifest.simulated,
            lock_sha256: (!locked.is_empty()).then(|| hex(&Sha256::digest(locked.concat()))),
            cores: Vec::new(),
            memory_bytes: None,
            memory_flag: self.manifest.memory_flag.clone(),
            out_of_memory: self.manifest.out_of_memory.clone(),
            scrub: self.manifest.scrub.clone(),
            held: held.map(Arc::new),
        })
    }

    /// Takes a share of the lock, beside other users. A process that has it alone is about to end
    /// or to remove the folder.
    async fn hold(&self) -> Option<File> {
        let path = lock_path(&self.folder);
        loop {
            match try_share(&path) {
                Ok(Some(file)) => return Some(file),
                Ok(None) => tokio::time::sleep(LOCK_EVERY).await,
                Err(_) => return None,
            }
        }
    }

    /// Takes the lock of this folder, which lasts until it and all its copies are closed.
    async fn lock(&self, told: &impl Fn(News<'_>)) -> Result<File> {
        let path = lock_path(&self.folder);
        let mut file = try_lock(&path)?;
        if file.is_none() {
            told(News::Waiting);
        }
        loop {
            if let Some(file) = file {
                return Ok(file);
            }
            tokio::time::sleep(LOCK_EVERY).await;
            file = try_lock(&path)?;
        }
    }

    /// A command with the folder that all versions of an adapter share for downloads: a package
    /// that 30 versions depend on is downloaded once. Other users may not write there.
    fn with_cache(&self, words: &[String]) -> Result<Vec<String>> {
        if !words.iter().any(|word| word.contains("{cache}")) {
            return Ok(words.to_vec());
        }
        let cache = self.folder.with_file_name("cache");
        own_folder(&cache)?;
        let path = cache.display().to_string();
        Ok(words.iter().map(|word| word.replace("{cache}", &path)).collect())
    }

    /// Clears an unfinished folder except for its `keep`, and adds the adapter's files. Returns the
    /// kept entries.
    fn lay_out(&self) -> Result<Vec<PathBuf>> {
        let folder = &self.folder;
        let kept = clear(folder, &self.manifest.keep);
        let kept = kept.map_err(|error| Error::file("clear", folder, &error))?;
        own_folder(folder)?;
        self.files.iter().try_for_each(|(path, bytes)| put(folder, path, bytes))?;
        let Choice { package, version, options, .. } = &self.choice;
        let note = Note {
            package: package.clone(),
            version: version.clone(),
            options: options.clone(),
            toolchain: self.toolchain.clone(),
        };
        let note = serde_json::to_vec(&note).expect("a note serialises");
        put(folder, NOTE, &note)?;
        Ok(kept)
    }

    async fn step(&self, words: &[String], lock: &File, told: &impl Fn(News<'_>)) -> Result<()> {
        let (program, arguments) = words.split_first().expect("checked when the manifest was read");
        let cannot_run = |error: io::Error| {
            Error::environment(
                format!("{}: cannot run `{program}`: {error}", self.manifest.name),
                "`mongodyno adapters list` says what each adapter needs",
            )
        };
        let (output, input) = io::pipe().map_err(cannot_run)?;
        let mut command = scrubbed(&self.folder, program, arguments, &self.manifest.scrub);
        child::die_with_parent(&mut command);
        // The installer inherits the lock: no other process gets it before an orphaned installer
        // has ended.
        command.stdin(lock.try_clone().map_err(cannot_run)?);
        command.stdout(input.try_clone().map_err(cannot_run)?).stderr(input);
        let mut child = InstallerGroup(Command::from(command).spawn().map_err(cannot_run)?);
        let output = pipe::Receiver::from_owned_fd(output.into()).map_err(cannot_run)?;
        let text = self.record(words, output, told).await.map_err(cannot_run)?;
        let status = child.0.wait().await.map_err(cannot_run)?;
        if status.success() {
            return Ok(());
        }
        let Choice { package, version, .. } = &self.choice;
        if let Some(words) = self.unfit(&text) {
            return Err(Error::environment(
                format!("{package} {version} is not built for this runtime: {words}"),
                "ask for another version, or for another runtime where the adapter takes one",
            ));
        }
        let matches = |pattern: &Option<String>| {
            let pattern = pattern.as_ref().and_then(|it| regex_lite::Regex::new(it).ok());
            pattern.is_some_and(|it| it.is_match(&text))
        };
        if matches(&self.manifest.unknown_version) && !matches(&self.manifest.unreachable) {
            let name = self.asked.named(&self.manifest.name);
            return Err(Error::environment(
                format!("{package} has no version {version}"),
                format!("`mongodyno drivers --versions {name}` lists them"),
            ));
        }
        Err(Error::environment(
            format!(
                "installing {}@{} failed: `{}` ended with {status}\n  {}",
                self.asked.named(&self.manifest.name),
                self.choice.version,
                words.join(" "),
                last_lines(&text, QUOTED_LINES).join("\n  ")
            ),
            format!(
                "the whole output is in {}; is the package registry reachable? run --offline takes \
                 what is installed",
                self.log().display()
            ),
        ))
    }

    /// An installer's words about a version that needs another runtime.
    fn unfit(&self, text: &str) -> Option<String> {
        let version = regex_lite::escape(&self.choice.version);
        let pattern = self.manifest.unfit_version.as_ref()?.replace("{version}", &version);
        let words = regex_lite::Regex::new(&pattern).ok()?.captures(text)?;
        Some(words.get(1).or(words.get(0))?.as_str().to_owned())
    }

    /// Copies an installer's output to the log and to `told`, and returns it.
    async fn record(
        &self,
        words: &[String],
        output: pipe::Receiver,
        told: &impl Fn(News<'_>),
    ) -> io::Result<String> {
        let mut log = File::options().create(true).append(true).open(self.log())?;
        let mut text = format!("$ {}\n", mask_text(&words.join(" ")));
        log.write_all(text.as_bytes())?;
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).await? > 0 {
            let masked = mask_text(&String::from_utf8_lossy(&line));
            // The installer names a full disk itself.
            let _ = log.write_all(masked.as_bytes());
            told(News::Said(&masked));
            text.push_str(&masked);
            line.clear();
        }
        Ok(text)
    }
}

/// Path of an environment's lock, which lies beside the folder because an installer clears that.
pub(crate) fn lock_path(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().expect("it has a name").to_owned();
    name.push(".lock");
    folder.with_file_name(name)
}

/// Hash of an environment: those with the same files, toolchain, sources, package and commands are
/// the same. The folder's name has the version as well. How an adapter starts is no part of the
/// hash.
fn identity(
    files: &BTreeMap<String, Vec<u8>>,
    toolchain: &[String],
    local: &BTreeMap<PathBuf, String>,
    choice: &Choice,
) -> String {
    let mut hash = Sha256::new();
    for (path, bytes) in files {
        hash.update(path.as_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    hash.update(toolchain.join("\n").as_bytes());
    hash.update(local.values().cloned().collect::<String>().as_bytes());
    hash.update(format!("\n{}", choice.package).as_bytes());
    for words in &choice.install {
        hash.update(format!("\n{}", words.join("\0")).as_bytes());
    }
    hex(&hash.finalize())[..HASH_DIGITS].to_owned()
}

/// Adds the adapter's tests to an environment, which is made without them. Equal files stay: a
/// build by their times has nothing to do, and an environment may be read-only.
pub fn add_tests(manifest: &Manifest, folder: &Path) -> Result<()> {
    let files = manifest.files()?;
    let of_tests = files.iter().filter(|(path, _)| manifest.is_beside(path));
    let other = |(path, bytes): &(&String, &Vec<u8>)| {
        fs::read(folder.join(path)).ok().as_ref() != Some(*bytes)
    };
    of_tests.filter(other).try_for_each(|(path, bytes)| put(folder, path, bytes))
}

fn put(folder: &Path, path: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(path);
    let parent = path.parent().expect("below the folder");
    own_folder(parent)?;
    fs::write(&path, bytes).map_err(|error| Error::file("write", &path, &error))
}

/// Empties a folder except for `keep`. Returns the kept entries that exist.
fn clear(folder: &Path, keep: &[String]) -> io::Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(kept),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if keep.iter().any(|name| entry.file_name() == name.as_str()) {
            kept.push(entry.path());
        } else if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(kept)
}

/// An installer, which leads a process group. If it is dropped before its end, the group is killed.
/// Processes that left the group end with the core (`child::own`).
struct InstallerGroup(Child);

impl Drop for InstallerGroup {
    fn drop(&mut self) {
        if let Some(pid) = self.0.id() {
            child::kill_group(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
    }
}
