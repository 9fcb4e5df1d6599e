//! Connection strings without their secrets.

use super::connection_string::{Uri, harmless_options, is_address};
use base::secrets::{self, Secret};
use base::strings::percent_decoded;

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

/// Names of users that are no secrets, and occur in mongodyno's own hints.
const NO_SECRETS: [&str; 2] = ["admin", "root"];

const SCHEMES: [&str; 2] = ["mongodb://", "mongodb+srv://"];

/// Returns `uri` with user name, password and every option that may contain a secret replaced by
/// `***`. A string that cannot be read for certain is hidden altogether. Otherwise an unescaped
/// `@`, `/` or `?` would make half of a password look like a host.
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
        // An apparent option may be the end of a password, and its `@` that of the user.
        if !is_name || value.is_empty() || (value.contains('@') && !is_harmless(name)) {
            return None;
        }
        let value = if is_harmless(name) { value } else { "***" };
        text.push(if number == 0 { '?' } else { '&' });
        text.extend([name, "=", value]);
    }
    (is_plain(&uri.hosts) && is_plain(uri.database)).then_some(text)
}

/// Whether an option may be shown. The list has what may be shown, not what must be hidden: an
/// unknown option is hidden.
fn is_harmless(option: &str) -> bool {
    harmless_options().any(|known| known.eq_ignore_ascii_case(option))
}

/// Makes [`secrets::mask_text`] hide `uri` and the secrets in it from now on. An address without a
/// scheme has none, and errors quote it.
pub fn keep_secret(uri: &str) {
    if !uri.is_empty() && !is_address(uri) {
        secrets::keep(uri, || (mask_uri(uri), secrets_of(uri)));
    }
}

fn secrets_of(text: &str) -> Vec<Secret> {
    let Some(uri) = Uri::parse(text).filter(|_| shown(text).is_some()) else {
        // The parts are unknown, so all words are secrets.
        let words = text.split_once("://").map_or(text, |(_, rest)| rest);
        let words = words.split(|it: char| ":/?#[]@&=,".contains(it));
        let words =
            words.filter(|it| !SCHEMES.iter().any(|scheme| scheme.split(':').next() == Some(it)));
        let words = words.flat_map(|it| [it.to_owned(), percent_decoded(it)]);
        return words.filter_map(|it| plain(&it)).collect();
    };
    let mut found = Vec::new();
    if let Some(credential) = &uri.credential {
        let user = credential.username.as_deref().filter(|it| !NO_SECRETS.contains(it));
        found.extend(user.and_then(|it| Secret::new(it, true)));
        found.extend(credential.password.as_deref().and_then(plain));
    }
    for (name, value) in &uri.options {
        if name.eq_ignore_ascii_case("authMechanismProperties") {
            let pairs = value.split(',').map(|it| it.split_once(':').unwrap_or(("", it)));
            let secret = pairs.filter(|(name, _)| !HARMLESS_PROPERTIES.contains(name));
            found.extend(secret.filter_map(|(_, value)| plain(&percent_decoded(value))));
        } else if name.eq_ignore_ascii_case("proxyUsername") {
            found.extend(Secret::new(&percent_decoded(value), true));
        } else if !is_harmless(name) {
            found.extend(plain(&percent_decoded(value)));
        }
    }
    found
}

fn plain(text: &str) -> Option<Secret> {
    Secret::new(text, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::secrets::{mask_json, mask_text};

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
        keep_secret("mongodb://erin:pw1@h,mongodb://erin:pw1@g");
        assert_eq!(mask_text("mongodb://there, erin"), "mongodb://there, ***");
        keep_secret("dev-7.example:27017");
        assert_eq!(mask_text("dev-7.example:27017"), "dev-7.example:27017", "only an address");
        let hidden = mask_text("carol pa55 w0rd/ dave un53cret");
        assert_eq!(hidden, "*** *** *** *** ***");
    }
}
