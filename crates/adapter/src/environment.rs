//! Environments: one folder in the cache per adapter, driver version and toolchain.
//!
//! Nothing of the user's machine is touched; variables through which a user's own packages could
//! leak in are taken away from the children.

use base::say;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use indicatif::{ProgressBar, ProgressStyle};
use nix::fcntl::{Flock, FlockArg};
use sha2::{Digest, Sha256};

use crate::choice::{Asked, Choice};
use crate::manifest::{Manifest, Missing};
use base::child;
use base::error::{Error, Result};
use base::paths::cache_dir;
use base::secrets::mask_text;
use base::words::hex;

/// Variables that would let packages of the user's machine into an environment, and the one with
/// credentials: an adapter hears of them in `open` and nowhere else.
const SCRUBBED: [&str; 13] = [
    "MDYN_URI",
    "NODE_PATH",
    "NODE_OPTIONS",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "VIRTUAL_ENV",
    "GEM_HOME",
    "GEM_PATH",
    "PERL5LIB",
    "CLASSPATH",
    "GOFLAGS",
    "RUSTFLAGS",
];

/// An adapter ready to start.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Adapter name.
    pub adapter: String,
    /// Driver version asked for (the adapter reports the one it loaded).
    pub version: String,
    /// Options of the adapter, asked for or chosen: they are part of what was installed.
    pub options: BTreeMap<String, String>,
    /// Options of the connection string for this arm alone.
    pub uri_options: BTreeMap<String, String>,
    /// So many processes at once, whatever the workload says.
    pub processes: Option<u32>,
    /// Working directory of its processes.
    pub folder: PathBuf,
    /// Program and arguments.
    pub start: Vec<String>,
    /// Warm-up of the first phase of a process, s.
    pub warmup_s: f64,
    /// Its times are pretended.
    pub simulated: bool,
    /// SHA-256 of the lock file, hex.
    pub lock_sha256: Option<String>,
    /// Cores that its processes keep to; none: all of them.
    pub cores: Vec<usize>,
}

impl Environment {
    /// A command as it stands, without installation: `check -- COMMAND`.
    #[must_use]
    pub fn of_command(command: &[String]) -> Self {
        Self {
            adapter: command.join(" "),
            version: String::new(),
            options: BTreeMap::new(),
            uri_options: BTreeMap::new(),
            processes: None,
            folder: std::env::current_dir().unwrap_or_default(),
            start: command.to_vec(),
            warmup_s: 1.0,
            simulated: false,
            lock_sha256: None,
            cores: Vec::new(),
        }
    }

    /// A command of this environment, with its folder, without the user's packages.
    #[must_use]
    pub fn command(&self, words: &[String]) -> Command {
        let (program, arguments) = words.split_first().expect("a command has a program");
        scrubbed(&self.folder, program, arguments)
    }
}

fn scrubbed(folder: &Path, program: &str, arguments: &[String]) -> Command {
    // A fake adapter is the core itself; tests name it without knowing where it was built.
    let program = match program {
        "{mongodyno}" => std::env::current_exe().unwrap_or_else(|_| "mongodyno".into()),
        // Relative programs are relative to the environment: the child's cwd is not yet its own
        // when the system looks for the program.
        _ if program.starts_with('.') => folder.join(program),
        _ => PathBuf::from(program),
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    for name in SCRUBBED {
        command.env_remove(name);
    }
    child::own(&mut command);
    command
}

/// Installs what is missing and returns the environment. What was chosen without being asked for
/// is said on stderr.
///
/// # Errors
/// A missing toolchain, a version or option that does not exist, an installer that fails.
pub fn install(manifest: &Manifest, asked: &Asked) -> Result<Environment> {
    let choice = manifest.choose(asked)?;
    let toolchain = manifest.probe().map_err(|missing| not_runnable(manifest, &missing))?;
    let files = manifest.files()?;
    let identity = identity(&files, &toolchain, &choice);
    let Choice { package, version, options, .. } = &choice;
    if let Some(unasked) = manifest.chosen_unasked(asked, &choice) {
        say!("{}: {package} {version} runs with {unasked}", manifest.name);
    }
    let parent = cache_dir()?.join("adapters").join(&manifest.name);
    let folder = parent.join(format!("{version}-{identity}"));
    let ready = folder.join(".ready");
    // What is whole stays so, and may lie where nothing can be written.
    if !ready.exists() {
        fs::create_dir_all(&parent).map_err(|error| Error::file("create", &parent, &error))?;
        let lock = lock(&parent.join(format!("{version}-{identity}.lock")), &manifest.name)?;
        // A half-made environment is never used: only `.ready` says that it is whole. The log of
        // a failed installation stays for the user to read.
        if !ready.exists() {
            fill(manifest, &choice, &folder, &files, &lock)?;
            fs::write(&ready, toolchain.join("\n"))
                .map_err(|error| Error::file("write", &ready, &error))?;
        }
    }
    let lock_sha256 = manifest
        .lock
        .as_ref()
        .and_then(|name| fs::read(folder.join(name)).ok())
        .map(|bytes| hex(&Sha256::digest(bytes)));
    Ok(Environment {
        adapter: manifest.name.clone(),
        version: version.clone(),
        options: options.clone(),
        uri_options: asked.uri_options.clone(),
        processes: asked.processes,
        folder,
        start: choice.start,
        warmup_s: manifest.warmup_s,
        simulated: manifest.simulated,
        lock_sha256,
        cores: Vec::new(),
    })
}

/// Environments are the same where all of this is: files, toolchain, package and options. The
/// version stands beside it in the folder's name.
fn identity(files: &BTreeMap<String, Vec<u8>>, toolchain: &[String], choice: &Choice) -> String {
    let mut hash = Sha256::new();
    for (path, bytes) in files {
        hash.update(path.as_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    hash.update(toolchain.join("\n").as_bytes());
    hash.update(format!("\n{}", choice.package).as_bytes());
    for (key, value) in &choice.options {
        hash.update(format!("\n{key}={value}").as_bytes());
    }
    hex(&hash.finalize())[..12].to_owned()
}

/// The error for an adapter whose toolchain is missing.
#[must_use]
pub fn not_runnable(manifest: &Manifest, missing: &Missing) -> Error {
    Error::environment(format!("{} {}", manifest.name, missing.reason), missing.hint.clone())
}

fn lock(path: &Path, adapter: &str) -> Result<Flock<File>> {
    let open = File::options().read(true).write(true).create(true).truncate(true).open(path);
    let file = open.map_err(|error| Error::file("create", path, &error))?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(lock),
        Err((file, _)) => {
            say!("another mongodyno is installing {adapter}; waiting for it");
            Flock::lock(file, FlockArg::LockExclusive)
                .map_err(|(_, errno)| Error::file("lock", path, &errno.into()))
        }
    }
}

fn fill(
    manifest: &Manifest,
    choice: &Choice,
    folder: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    lock: &File,
) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| Error::file("clear", folder, &error))?;
    }
    for (path, bytes) in files {
        let path = folder.join(path);
        let parent = path.parent().expect("below the folder");
        fs::create_dir_all(parent).map_err(|error| Error::file("create", parent, &error))?;
        fs::write(&path, bytes).map_err(|error| Error::file("write", &path, &error))?;
    }
    let spinner = ProgressBar::new_spinner().with_style(
        ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a valid template"),
    );
    spinner.enable_steady_tick(std::time::Duration::from_millis(120));
    spinner.set_message(format!("installing {}", named(manifest, choice)));
    if spinner.is_hidden() {
        say!("installing {}", named(manifest, choice));
    }
    for words in &choice.install {
        step(manifest, choice, folder, words, lock)?;
    }
    spinner.finish_and_clear();
    Ok(())
}

fn named(manifest: &Manifest, choice: &Choice) -> String {
    let package = (choice.package != manifest.driver).then(|| choice.package.clone());
    Asked { package, ..Asked::default() }.id(&manifest.name, &choice.version)
}

fn step(
    manifest: &Manifest,
    choice: &Choice,
    folder: &Path,
    words: &[String],
    lock: &File,
) -> Result<()> {
    let (program, arguments) = words.split_first().expect("checked when the manifest was read");
    let log = folder.join("install.log");
    let cannot_run = |error: std::io::Error| {
        Error::environment(
            format!("{}: cannot run `{program}`: {error}", manifest.name),
            "see CONTRIBUTING.md for what each adapter needs",
        )
    };
    let mut command = scrubbed(folder, program, arguments);
    child::die_with_parent(&mut command);
    // The lock is empty, and nobody else gets it before an orphaned installer has ended.
    command.stdin(lock.try_clone().map_err(cannot_run)?);
    let output = command.output().map_err(cannot_run)?;
    let mut text = format!("$ {}\n", words.join(" "));
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    let text = mask_text(&text);
    let _ = fs::write(&log, &text);
    if output.status.success() {
        return Ok(());
    }
    let unknown = manifest.unknown_version.as_ref().is_some_and(|pattern| {
        regex_lite::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&text))
    });
    if unknown {
        return Err(Error::environment(
            format!("{} has no version {}", choice.package, choice.version),
            format!("`{}` lists them", choice.versions_command),
        ));
    }
    let tail: Vec<_> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(4).collect();
    let tail: Vec<_> = tail.into_iter().rev().collect();
    Err(Error::environment(
        format!(
            "installing {} failed: `{}` ended with {}\n  {}",
            named(manifest, choice),
            words.join(" "),
            output.status,
            tail.join("\n  ")
        ),
        format!("the whole output is in {}; is the package registry reachable?", log.display()),
    ))
}
