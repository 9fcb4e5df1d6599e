//! Secrets of this invocation, and texts without them.
//!
//! Everything that is written passes [`mask_text`]: records, logs of adapters and installers,
//! errors. Code that reads a connection string passes it to [`keep`].

use std::collections::BTreeSet;
use std::sync::RwLock;

use crate::strings::percent_decoded;

/// Whole connection strings, each with its masked form, and the secrets in them.
static KNOWN: RwLock<KnownSecrets> = RwLock::new((Vec::new(), Vec::new()));
type KnownSecrets = (Vec<(String, String)>, Vec<Secret>);

/// Makes [`mask_text`] hide `text` and the secrets in it from now on. `read` returns the masked
/// form of the text, and those secrets.
pub fn keep(text: &str, read: impl FnOnce() -> (String, Vec<Secret>)) {
    if KNOWN.read().expect("no panic while holding it").0.iter().any(|(it, _)| it == text) {
        return;
    }
    let (shown, secrets) = read();
    let mut known = KNOWN.write().expect("no panic while holding it");
    known.0.push((text.to_owned(), shown));
    known.1.extend(secrets);
    // A secret may be a part of another one.
    known.1.sort_by_key(|secret| std::cmp::Reverse(secret.letters.len()));
}

/// Names of adapters, and drivers as `-d` takes them, `adapter:package`. With `@version` they look
/// like `user:password@host`, but are no secrets.
static DRIVERS: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Makes [`keep_hosts`] leave these drivers and names of adapters as they are from now on.
pub fn know_drivers(drivers: impl Iterator<Item = String>) {
    DRIVERS.write().expect("no panic while holding it").extend(drivers);
}

/// Makes [`mask_text`] hide user and password of every `user:password@host` in a text from now on,
/// with a scheme or without.
pub fn keep_hosts(text: &str) {
    for word in text.split(|it: char| it.is_whitespace() || "\"'[]{},".contains(it)) {
        let Some((head, host)) = word.rsplit_once('@') else { continue };
        let head = head.split_once("://").map_or(head, |(_, rest)| rest);
        let Some((user, password)) = head.split_once(':') else { continue };
        let user = user.rsplit('=').next().unwrap_or_default(); // of `name=user:password@host`
        let driver = format!("{user}:{}", password.split('@').next().unwrap_or_default());
        let is_known = |it: &str| DRIVERS.read().expect("no panic while holding it").contains(it);
        if is_known(&driver) {
            continue;
        }
        let secrets = || {
            let words = [(user, true), (password, false)].into_iter();
            let words = words.filter(|(it, is_user)| !(*is_user && is_known(it)));
            let both = words.flat_map(|(it, is_user)| {
                [(it.to_owned(), is_user), (percent_decoded(it), is_user)]
            });
            let found = both.filter_map(|(it, is_user)| Secret::new(&it, is_user)).collect();
            (format!("***:***@{host}"), found)
        };
        keep(&format!("{user}:{password}@{host}"), secrets);
    }
}

/// Masks the secrets of this invocation, and the credentials of any URL.
pub fn mask_text(text: &str) -> String {
    let known = KNOWN.read().expect("no panic while holding it");
    let mut masked = text.to_owned();
    for (uri, shown) in &known.0 {
        masked = masked.replace(uri, shown);
    }
    for secret in &known.1 {
        masked = secret.mask(&masked);
    }
    mask_urls(&masked)
}

/// [`mask_text`] for texts of a request that may name a host: a number remains, whatever the
/// password is.
pub fn mask_hosts<'a>(texts: impl IntoIterator<Item = &'a mut String>) {
    for text in texts.into_iter().filter(|text| text.contains('@')) {
        *text = mask_text(text);
    }
}

/// [`mask_text`] for every text in a value.
pub fn mask_json(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) => *text = mask_text(text),
        Value::Array(items) => items.iter_mut().for_each(mask_json),
        Value::Object(fields) => fields.values_mut().for_each(mask_json),
        _ => {}
    }
}

/// A secret, letter by letter, with the spellings that programs use.
pub struct Secret {
    letters: Vec<Vec<String>>,
    /// Masked only as a whole word: names of users.
    is_word: bool,
}

impl Secret {
    /// Returns None for one or two letters: masking these everywhere would garble the text and hide
    /// nothing.
    pub fn new(text: &str, is_word: bool) -> Option<Self> {
        let letters: Vec<_> = text.chars().map(spellings).collect();
        (letters.len() > 2).then_some(Self { letters, is_word })
    }

    fn mask(&self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        let (mut rest, mut before) = (text, None);
        while let Some(next) = rest.chars().next() {
            let after = self.after(rest).filter(|after| {
                let joins = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
                !self.is_word || !(joins(before) || joins(after.chars().next()))
            });
            if let Some(after) = after {
                masked.push_str("***");
                (rest, before) = (after, Some('*'));
            } else {
                masked.push(next);
                (rest, before) = (&rest[next.len_utf8()..], Some(next));
            }
        }
        masked
    }

    /// The rest of a text that begins with the secret.
    fn after<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.letters.iter().try_fold(text, |rest, spellings| {
            let begins = |it: &&String| {
                rest.get(..it.len()).is_some_and(|start| start.eq_ignore_ascii_case(it))
            };
            spellings.iter().find(begins).map(|it| &rest[it.len()..])
        })
    }
}

/// A letter as it is, percent-encoded, and as JSON and programs quote it; in either case.
fn spellings(letter: char) -> Vec<String> {
    let bytes = letter.to_string().into_bytes();
    let mut units = [0; 2];
    let units = letter.encode_utf16(&mut units);
    let escaped: Vec<_> = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
    let quoted: Vec<_> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
    let mut spellings =
        vec![escaped.concat(), quoted.concat(), format!("\\{letter}"), letter.to_string()];
    spellings.extend((letter == ' ').then(|| "+".to_owned()));
    spellings
}

/// `https://user:password@mirror` -> `https://***@mirror`, anywhere in a text.
fn mask_urls(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        masked.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "/'\"<>".contains(c));
        let authority = &after[..end.unwrap_or(after.len())];
        rest = match authority.rsplit_once('@') {
            // These are masked already, or words of a hint.
            Some((user_info, _)) if !["***", "***:***", "USER:PASSWORD"].contains(&user_info) => {
                masked.push_str("***");
                &after[user_info.len()..]
            }
            _ => after,
        };
    }
    masked + rest
}
