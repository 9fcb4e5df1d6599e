//! Asks a registry, by its own tool, which releases a package has. The last listing stays in the
//! cache.

use std::fs;
use std::process::Stdio;

use crate::environment::scrubbed;
use crate::listing::Listing;
use crate::manifest::Manifest;
use base::error::{Error, Result};
use base::paths::{cache_dir, own_folder};
use base::secrets::mask_text;
use base::strings::last_lines;

/// Lines of the tool's last words that an error quotes.
const QUOTED_LINES: usize = 3;

/// Exit code of a shell that does not find a command.
const NOT_FOUND: Option<i32> = Some(127);
const MISSING: &str = "install the tool that is not found;";
const UNREACHABLE: &str = "is the registry reachable?";

impl Manifest {
    /// Lists the releases of a package. `offline` takes the last listing.
    ///
    /// # Errors
    /// The manifest names no listing; the registry cannot be reached; nothing was ever listed.
    pub fn listing(&self, package: &str, offline: bool) -> Result<Listing> {
        let name = &self.name;
        let Some(releases) = &self.releases else {
            return Err(Error::usage(
                format!("{name} has no listing of the releases of {package}"),
                format!("name a version, as in {name}@{}", self.default),
            ));
        };
        let cache = cache_dir()?;
        let folder = cache.join("adapters").join(name);
        // Names of packages may have slashes.
        let plain = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
        let path = folder.join(package.chars().map(plain).collect::<String>() + ".releases");
        let read = |text: &str| Listing::read(text, releases.format, releases.newest_first);
        if offline {
            let text = fs::read_to_string(&path).map_err(|_| {
                Error::environment(
                    format!("--offline: the releases of {package} were never listed here"),
                    format!("name a version, or run `mongodyno drivers --versions {name}` online"),
                )
            })?;
            return Ok(read(&text));
        }
        // Without a writable cache, the tool runs in the cache's folder.
        let folder = own_folder(&folder).map_or(cache, |()| folder);
        let words: Vec<String> =
            releases.command.iter().map(|word| word.replace("{package}", package)).collect();
        let (program, arguments) = words.split_first().expect("checked when the manifest was read");
        // The tool does not run in the user's folder, whose project it would take into account.
        let mut command = scrubbed(&folder, program, arguments, &self.scrub);
        let failed = |first: &str, reason: String| {
            Error::environment(
                format!("cannot list the releases of {package}: `{}` {reason}", words.join(" ")),
                format!("{first} --offline takes the last listing and what is installed"),
            )
        };
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| failed(MISSING, format!("does not start: {error}")))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let listing = read(&text);
        if !output.status.success() || listing.releases.is_empty() {
            let said = mask_text(&String::from_utf8_lossy(&output.stderr));
            let last = last_lines(&said, QUOTED_LINES).join("\n  ");
            let ended = if output.status.success() {
                "prints no release".to_owned()
            } else {
                format!("ended with {}", output.status)
            };
            let first = if output.status.code() == NOT_FOUND { MISSING } else { UNREACHABLE };
            return Err(failed(first, format!("{ended}\n  {last}").trim_end().to_owned()));
        }
        // A full disk leaves the last listing whole.
        let beside = path.with_extension("partial");
        let _ = fs::write(&beside, text.as_bytes()).and_then(|()| fs::rename(&beside, &path));
        Ok(listing)
    }
}
