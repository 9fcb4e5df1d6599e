//! Connection strings, of the command line, of a variable, of a file.

use base::paths::read_input;
use base::say;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use clap::Args;
use server::keep_secret;

/// A server that somebody else started.
#[derive(Debug, Clone, Default, Args)]
pub struct UriArgs {
    /// Connection string of a running server
    #[arg(long, env = "MDYN_URI", hide_env_values = true)]
    pub uri: Option<String>,
    /// File that holds the connection string, which other users could read in a command line
    #[arg(long, value_name = "FILE", value_parser = of_file, conflicts_with = "uri")]
    pub uri_file: Option<String>,
}

/// More than any connection string has.
const BYTES_MAX: u64 = 64 << 10;

fn of_file(path: &str) -> Result<String, String> {
    let text = read_input(Path::new(path), BYTES_MAX).map_err(|error| error.to_string())?;
    let uri = text.trim();
    keep_secret(uri);
    if uri.is_empty() || uri.lines().count() > 1 {
        return Err("the file must hold one line, the connection string".to_owned());
    }
    if fs::metadata(path).is_ok_and(|it| it.permissions().mode() & 0o077 != 0) {
        say!("warning: others may read {path}: chmod 600 {path}");
    }
    Ok(uri.to_owned())
}
