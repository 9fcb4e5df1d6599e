//! Reads the command line, and keeps its connection strings secret.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use adapter::manifest::discover;
use base::say;
use base::secrets::{self, keep_hosts};
use base::strings::shell_quoted;
use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use server::keep_secret;

use super::{Cli, Verb};

const VARIABLE: &str = "MDYN_URI";
/// Prefix of the variables that we read.
const OWN_VARIABLES: &str = "MDYN_";
const ADAPTERS: &str = "MDYN_ADAPTERS";

impl Cli {
    /// Reads the command line. Connection strings anywhere in it become secrets, also out of place.
    /// A server that is named here wins over `MDYN_URI`, which no child inherits.
    ///
    /// # Safety
    /// No other thread runs yet: it changes the environment.
    #[allow(unsafe_code)] // every child would have to be remembered otherwise
    pub unsafe fn read() -> Result<Self, clap::Error> {
        let words: Vec<_> = std::env::args_os().collect();
        let own = words.iter().map(|word| word.to_string_lossy()).take_while(|word| word != "--");
        let own: Vec<_> = own.collect();
        know_drivers(&own);
        // User and password belong into a connection string, and come with any other word as well.
        for word in &own {
            learn(word);
            keep_hosts(word);
        }
        for (name, value) in std::env::vars_os() {
            if name.to_string_lossy().starts_with(OWN_VARIABLES) {
                learn(&value.to_string_lossy());
                keep_hosts(&value.to_string_lossy());
            }
        }
        let has = |flag: &str| own.iter().any(|it| it.split('=').next() == Some(flag));
        // A study takes its `--hosts` beside its server.
        let of_study = own.get(1).is_some_and(|verb| verb == "study");
        let server = ["--server", "--hosts"].into_iter().find(|flag| has(flag));
        let server = server.filter(|flag| *flag == "--server" || !of_study);
        if let Ok(uri) = std::env::var(VARIABLE) {
            keep_secret(&uri);
            if let Some(flag) = server {
                say!("{flag} was given: {VARIABLE} is not used");
            }
        }
        // SAFETY: the caller's promise.
        let forget = || unsafe { std::env::remove_var(VARIABLE) };
        if server.is_some() || has("--uri-file") {
            forget();
        }
        let cli = Self::try_parse_from(&words);
        forget();
        let mut cli = cli.map_err(|error| without_verb(&words, error))?;
        let options: &[String] = match &cli.verb {
            Verb::Run(it) => &it.options,
            Verb::Bisect(it) => &it.run.options,
            Verb::Resume(it) => &it.options,
            _ => &[],
        };
        // Some options of connection strings are secrets wherever they stand.
        for option in options.iter().filter(|it| it.contains('=')) {
            keep_secret(&format!("mongodb://h/?{option}"));
        }
        cli.take_file();
        Ok(cli)
    }

    /// From here on the source of a connection string makes no difference.
    fn take_file(&mut self) {
        let at = match &mut self.verb {
            Verb::Run(it) => &mut it.at,
            Verb::Bisect(it) => &mut it.run.at,
            Verb::Check(it) => &mut it.at,
            Verb::Clean(it) => &mut it.at,
            Verb::Resume(it) => &mut it.at,
            Verb::Study(it) => match &mut it.study {
                Some(it) => &mut it.common.at,
                None => return,
            },
            _ => return,
        };
        at.uri = at.uri.take().or(at.uri_file.take());
        if let Some(uri) = &at.uri {
            keep_secret(uri);
        }
    }
}

/// Flags of `run` without the verb: the error names the line that was meant.
fn without_verb(words: &[OsString], mut error: clap::Error) -> clap::Error {
    let own: Vec<_> = words.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let is_flag = own.first().is_some_and(|word| word.starts_with('-'));
    let line = ["mongodyno", "run"].into_iter().chain(own.iter().map(AsRef::as_ref));
    if error.kind() == ErrorKind::UnknownArgument
        && is_flag
        && Cli::try_parse_from(line.clone()).is_ok()
    {
        let line: Vec<String> = line.map(shell_quoted).collect();
        let tip = format!("name the verb first: {}", line.join(" "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Tells the drivers of all adapters from user and password. Their folder is looked for in the
/// words, before clap quotes one of these.
fn know_drivers(words: &[Cow<'_, str>]) {
    let flag = "--adapters-dir";
    let pairs = words.iter().zip(words.iter().skip(1));
    let after = pairs.filter(|(word, _)| *word == flag).map(|(_, value)| value.to_string());
    let joined = words.iter().filter_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
    let folder = after.chain(joined.map(str::to_owned)).next_back();
    let folder = folder.or_else(|| std::env::var(ADAPTERS).ok());
    let found = discover(folder.as_deref().map(Path::new)).or_else(|_| discover(None));
    for it in found.unwrap_or_default() {
        let drivers = it.packages().into_iter().map(|package| format!("{}:{package}", it.name));
        secrets::know_drivers(drivers.chain([it.name.clone()]));
    }
}

/// Makes secrets of the connection string in a word, as in `--set name=mongodb://…`.
fn learn(word: &str) {
    let schemes = ["mongodb://", "mongodb+srv://"];
    if let Some(at) = schemes.into_iter().filter_map(|scheme| word.find(scheme)).min() {
        keep_secret(&word[at..]);
    }
}
