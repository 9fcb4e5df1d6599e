//! What this invocation must not tell, and texts without it.
//!
//! Everything that is written passes [`mask_text`]: records, logs of adapters and installers,
//! errors. What it hides is told to it once, by whoever comes upon a connection string.

use std::sync::RwLock;

use percent_encoding::percent_decode_str;

use super::uri::Uri;

/// Options whose values are no secrets. A list of what may be shown, not of what must be hidden:
/// an option that we do not know is hidden.
const HARMLESS: &[&str] = &[
    "appname",
    "authmechanism",
    "authsource",
    "compressors",
    "connecttimeoutms",
    "directconnection",
    "heartbeatfrequencyms",
    "journal",
    "loadbalanced",
    "localthresholdms",
    "maxconnecting",
    "maxidletimems",
    "maxpoolsize",
    "maxstalenessseconds",
    "minpoolsize",
    "proxyhost",
    "proxyport",
    "readconcernlevel",
    "readpreference",
    "replicaset",
    "retryreads",
    "retrywrites",
    "servermonitoringmode",
    "serverselectiontimeoutms",
    "sockettimeoutms",
    "srvmaxhosts",
    "srvservicename",
    "ssl",
    "timeoutms",
    "tls",
    "tlsallowinvalidcertificates",
    "tlsallowinvalidhostnames",
    "tlscafile",
    "tlscertificatekeyfile",
    "tlsinsecure",
    "w",
    "waitqueuetimeoutms",
    "wtimeoutms",
    "zlibcompressionlevel",
    "uuidrepresentation",
];

/// Properties of `authMechanismProperties` whose values are no secrets.
const HARMLESS_PROPERTIES: &[&str] = &[
    "ALLOWED_HOSTS",
    "CANONICALIZE_HOST_NAME",
    "ENVIRONMENT",
    "SERVICE_HOST",
    "SERVICE_NAME",
    "SERVICE_REALM",
    "TOKEN_RESOURCE",
];

/// Names of users that are told to nobody by hiding them, and are words of our own hints.
const NO_SECRETS: [&str; 2] = ["admin", "root"];

const SCHEMES: [&str; 2] = ["mongodb://", "mongodb+srv://"];

/// Connection strings whole, with what is shown in their place, and the secrets in them.
static KNOWN: RwLock<(Vec<(String, String)>, Vec<Secret>)> = RwLock::new((Vec::new(), Vec::new()));

/// `uri` with user name, password and every option that may hold a secret replaced by `***`.
/// What cannot be read for certain is hidden altogether: an unescaped `@`, `/` or `?` in a
/// password would otherwise make half of it look like a host.
#[must_use]
pub fn mask_uri(uri: &str) -> String {
    let Some(scheme) = SCHEMES.into_iter().find(|scheme| uri.starts_with(scheme)) else {
        return "*** (not a MongoDB URI)".to_string();
    };
    shown(uri).map_or_else(|| format!("{scheme}***"), |rest| scheme.to_string() + &rest)
}

fn shown(uri: &str) -> Option<String> {
    let uri = Uri::parse(uri)?;
    let is_plain =
        |text: &str| text.chars().all(|it| it.is_ascii_alphanumeric() || "-_.%:[],/".contains(it));
    let mut text = if uri.credential.is_some() { "***:***@".to_owned() } else { String::new() };
    text.extend([&*uri.hosts, uri.database]);
    for (number, (name, value)) in uri.options.iter().enumerate() {
        let is_name = !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric());
        // What looks like an option may be the end of a password, and its `@` that of the user.
        if !is_name || value.is_empty() || (value.contains('@') && !is_harmless(name)) {
            return None;
        }
        let value = if is_harmless(name) { value } else { "***" };
        text += &format!("{}{name}={value}", if number == 0 { '?' } else { '&' });
    }
    (is_plain(&uri.hosts) && is_plain(uri.database)).then_some(text)
}

fn is_harmless(option: &str) -> bool {
    HARMLESS.contains(&option.to_ascii_lowercase().as_str())
}

/// From now on [`mask_text`] hides `uri` and the secrets in it.
///
/// # Panics
/// Never: nothing panics while it holds the lock.
pub fn keep_secret(uri: &str) {
    if uri.is_empty() {
        return;
    }
    let mut known = KNOWN.write().expect("no panic while holding it");
    if known.0.iter().any(|(it, _)| it == uri) {
        return;
    }
    known.0.push((uri.to_owned(), mask_uri(uri)));
    known.1.extend(secrets(uri));
    // A secret may be a part of another one.
    known.1.sort_by_key(|secret| std::cmp::Reverse(secret.letters.len()));
}

/// `text` (of a driver, of pip, of ourselves) without the secrets of this invocation, and without
/// the credentials of any URL in it.
///
/// # Panics
/// Never: nothing panics while it holds the lock.
#[must_use]
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

/// The same for every text in a value.
pub fn mask_json(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) => *text = mask_text(text),
        Value::Array(items) => items.iter_mut().for_each(mask_json),
        Value::Object(fields) => fields.values_mut().for_each(mask_json),
        _ => {}
    }
}

/// Something that must not be shown, letter by letter with the ways in which programs write it.
struct Secret {
    letters: Vec<Vec<String>>,
    /// Hidden only where it is no part of a longer word: names of users.
    is_word: bool,
}

impl Secret {
    /// None: replacing one or two letters everywhere would garble the text and hide nothing.
    fn new(text: &str, is_word: bool) -> Option<Self> {
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

    /// What follows the secret in a text that begins with it.
    fn after<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.letters.iter().try_fold(text, |rest, spellings| {
            let begins = |it: &&String| {
                rest.get(..it.len()).is_some_and(|start| start.eq_ignore_ascii_case(it))
            };
            spellings.iter().find(begins).map(|it| &rest[it.len()..])
        })
    }
}

/// A letter percent-encoded, as JSON and programs quote it, and as it is; in either case.
fn spellings(letter: char) -> Vec<String> {
    let bytes = letter.to_string().into_bytes();
    let mut units = [0; 2];
    let units = letter.encode_utf16(&mut units);
    let mut spellings = vec![
        bytes.iter().map(|byte| format!("%{byte:02x}")).collect(),
        units.iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        format!("\\{letter}"),
        letter.to_string(),
    ];
    spellings.extend((letter == ' ').then(|| "+".to_owned()));
    spellings
}

fn secrets(text: &str) -> Vec<Secret> {
    let Some(uri) = Uri::parse(text).filter(|_| shown(text).is_some()) else {
        // Nobody knows what is what: all of its words are.
        let words = text.split_once("://").map_or(text, |(_, rest)| rest);
        let words = words.split(|it: char| ":/?#[]@&=,".contains(it));
        return words.flat_map(|it| [it.to_owned(), decoded(it)]).filter_map(plain).collect();
    };
    let mut found = Vec::new();
    if let Some(credential) = &uri.credential {
        let user = credential.username.as_deref().filter(|it| !NO_SECRETS.contains(it));
        found.extend(user.and_then(|it| Secret::new(it, true)));
        found.extend(credential.password.clone().and_then(plain));
    }
    for (name, value) in &uri.options {
        if name.eq_ignore_ascii_case("authMechanismProperties") {
            let pairs = value.split(',').map(|it| it.split_once(':').unwrap_or(("", it)));
            let secret = pairs.filter(|(name, _)| !HARMLESS_PROPERTIES.contains(name));
            found.extend(secret.filter_map(|(_, value)| plain(decoded(value))));
        } else if name.eq_ignore_ascii_case("proxyUsername") {
            found.extend(Secret::new(&decoded(value), true));
        } else if !is_harmless(name) {
            found.extend(plain(decoded(value)));
        }
    }
    found
}

fn plain(text: String) -> Option<Secret> {
    Secret::new(&text, false)
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// `https://user:password@mirror` -> `https://***@mirror`, wherever it stands.
fn mask_urls(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        masked.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "/'\"<>".contains(c));
        let authority = &after[..end.unwrap_or(after.len())];
        rest = match authority.rsplit_once('@') {
            // Those are masked already, or the words of a hint.
            Some((user_info, _)) if !["***", "***:***", "USER:PASSWORD"].contains(&user_info) => {
                masked.push_str("***");
                &after[user_info.len()..]
            }
            _ => after,
        };
    }
    masked + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_hidden_and_the_rest_is_kept() {
        for (uri, masked) in [
            ("mongodb://localhost", "mongodb://localhost"),
            ("mongodb://u:p@h:27017/db?w=1", "mongodb://***:***@h:27017/db?w=1"),
            ("mongodb://u@h", "mongodb://***:***@h"),
            ("mongodb+srv://u:p%40x@c.mongodb.net/", "mongodb+srv://***:***@c.mongodb.net/"),
            ("mongodb://a:1,b:2/?replicaSet=r", "mongodb://a:1,b:2/?replicaSet=r"),
            ("mongodb://[::1]:27017/", "mongodb://[::1]:27017/"),
            ("mongodb://%2Ftmp%2Fm.sock/", "mongodb://%2Ftmp%2Fm.sock/"),
            (
                "mongodb://u:p@h/?authMechanism=MONGODB-AWS&authMechanismProperties=TOKEN:s3cret",
                "mongodb://***:***@h/?authMechanism=MONGODB-AWS&authMechanismProperties=***",
            ),
            (
                "mongodb://h/?tls=true&tlsCertificateKeyFilePassword=s3cret",
                "mongodb://h/?tls=true&tlsCertificateKeyFilePassword=***",
            ),
        ] {
            assert_eq!(mask_uri(uri), masked);
        }
    }

    #[test]
    fn what_cannot_be_parsed_leaks_nothing() {
        for uri in [
            "mongodb://user:s3cret/x@host/db",
            "mongodb://user:s3cret?x@host/db",
            "mongodb://user:12?s3cret=1@host/db",
            "mongodb://user:p@s3cret/w@host/db",
            "mongodb://user:p@s3cret:word@host:port/db",
            "mongodb://user:s3cret",
            "mongodb:/user:s3cret@host",
            "user:s3cret@host",
            "postgres://user:s3cret@host/db",
            "mongodb://host/s3cret word",
            "mongodb://host/?s3cret",
            "mongodb://host/?pass word s3cret=1",
            "mongodb://host/db?unknown=s3cret",
            "mongodb://h/?authMechanismProperties=A:b,TOKEN:s3cret%40x",
            "s3cret",
            "",
        ] {
            let masked = mask_uri(uri);
            assert!(!masked.contains("s3cret"), "{uri} -> {masked}");
            assert!(!masked.contains("user"), "{uri} -> {masked}");
        }
    }

    #[test]
    fn a_drivers_text_is_cleaned() {
        let uri = "mongodb://bobby:s3%2fcret@h/?authMechanismProperties=\
                   SERVICE_NAME:mongodb,AWS_SESSION_TOKEN:t0k%3Den&authMechanism=MONGODB-AWS\
                   &appName=a@b&proxyPassword=pr0xy%2B&tlsCertificateKeyFilePassword=k3y%22";
        keep_secret(uri);
        let text = format!(
            "{uri} failed for bobby: s3/cret s3%2Fcret s3%2fcret s3\\/cret t0k=en t0k%3den pr0xy+ \
             pr0xy%2B k3y\" k3y\\\" k3y\\u0022"
        );
        let hidden = mask_text(&text);
        for secret in ["s3", "t0k", "pr0xy", "k3y", "bobby"] {
            assert!(!hidden.contains(secret), "{secret}: {hidden}");
        }
        assert!(hidden.contains("SERVICE_NAME") || hidden.contains("authMechanismProperties=***"));
        assert_eq!(mask_text("mongodb and bobbysox"), "mongodb and bobbysox", "parts of words");
        let mut value = serde_json::json!({ "hosts": ["h"], "auth": { "user": "bobby" }, "n": 1 });
        mask_json(&mut value);
        assert_eq!(value["auth"]["user"], "***");
        let masked = "Looking in https://***@mirror/simple, 'http://x/y'";
        assert_eq!(mask_text("Looking in https://me:pw@mirror/simple, 'http://x/y'"), masked);
        assert_eq!(mask_text(masked), masked, "twice is as good as once");
    }

    #[test]
    fn of_what_is_no_uri_every_word_is_a_secret() {
        keep_secret("mongodb://carol:pa55/w0rd%2f@h/db");
        keep_secret("dave:un53cret@host");
        let hidden = mask_text("carol pa55 w0rd/ dave un53cret");
        assert_eq!(hidden, "*** *** *** *** ***");
    }
}
