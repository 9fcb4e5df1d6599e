//! Connection strings of the command line, of `MDYN_URI` and of files, and their secrecy.

use base::say;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use clap::Parser as _;

use super::{Cli, Verb};
use server::keep_secret;

const VARIABLE: &str = "MDYN_URI";

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
        for word in &own {
            learn(word);
        }
        let has = |flag: &str| own.iter().any(|it| it.split('=').next() == Some(flag));
        if let Ok(uri) = std::env::var(VARIABLE) {
            keep_secret(&uri);
            if has("--server") {
                say!("--server was given: {VARIABLE} is not used");
            }
        }
        // SAFETY: the caller's promise.
        let forget = || unsafe { std::env::remove_var(VARIABLE) };
        if ["--server", "--uri-file"].into_iter().any(has) {
            forget();
        }
        let cli = Self::try_parse_from(&words);
        forget();
        let mut cli = cli?;
        let options: &[String] = match &cli.verb {
            Verb::Run(it) => &it.options,
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
        let (uri, file) = match &mut self.verb {
            Verb::Run(it) => (&mut it.uri, &mut it.uri_file),
            Verb::Check(it) => (&mut it.uri, &mut it.uri_file),
            Verb::Clean(it) => (&mut it.uri, &mut it.uri_file),
            Verb::Resume(it) => (&mut it.uri, &mut it.uri_file),
            Verb::Study(it) => match &mut it.study {
                Some(it) => (&mut it.common.uri, &mut it.common.uri_file),
                None => return,
            },
            _ => return,
        };
        *uri = uri.take().or(file.take());
        if let Some(uri) = uri {
            keep_secret(uri);
        }
    }
}

/// Makes secrets of the connection string in a word, as in `--set name=mongodb://…`.
fn learn(word: &str) {
    let schemes = ["mongodb://", "mongodb+srv://"];
    if let Some(at) = schemes.into_iter().filter_map(|scheme| word.find(scheme)).min() {
        keep_secret(&word[at..]);
    }
}

/// `--uri-file`: the connection string in a file.
pub(super) fn of_file(path: &str) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let uri = text.trim();
    keep_secret(uri);
    if uri.is_empty() || uri.lines().count() > 1 {
        return Err("a file of one line is wanted: the connection string".to_owned());
    }
    if fs::metadata(path).is_ok_and(|it| it.permissions().mode() & 0o077 != 0) {
        say!("warning: others may read {path}: chmod 600 {path}");
    }
    Ok(uri.to_owned())
}
