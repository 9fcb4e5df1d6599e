//! Connection strings without their secrets.

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
    "tlsinsecure",
    "w",
    "waitqueuetimeoutms",
    "wtimeoutms",
    "zlibcompressionlevel",
    "uuidrepresentation",
];

const SCHEMES: [&str; 2] = ["mongodb://", "mongodb+srv://"];

/// `uri` with user name, password and every option that may hold a secret replaced by `***`.
/// What cannot be read for certain is hidden altogether: an unescaped `@`, `/` or `?` in a
/// password would otherwise make half of it look like a host.
#[must_use]
pub fn mask_uri(uri: &str) -> String {
    let Some(scheme) = SCHEMES.into_iter().find(|scheme| uri.starts_with(scheme)) else {
        return "*** (not a MongoDB URI)".to_string();
    };
    masked_rest(&uri[scheme.len()..])
        .map_or_else(|| format!("{scheme}***"), |r| scheme.to_string() + &r)
}

fn masked_rest(rest: &str) -> Option<String> {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    if tail.contains('@') {
        return None;
    }
    let (prefix, hosts) = match authority.rsplit_once('@') {
        Some((_, hosts)) => ("***:***@", hosts),
        None => ("", authority),
    };
    if !hosts.split(',').all(is_host) {
        return None;
    }
    let (path, query) = tail.split_once('?').map_or((tail, None), |(p, q)| (p, Some(q)));
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.%".contains(c);
    if !path.strip_prefix('/').unwrap_or(path).chars().all(is_name) {
        return None;
    }
    let query = query.map(|q| format!("?{}", masked_options(q))).unwrap_or_default();
    Some(format!("{prefix}{hosts}{path}{query}"))
}

fn masked_options(query: &str) -> String {
    let options = query.split('&').map(|option| match option.split_once('=') {
        Some((name, _)) if HARMLESS.contains(&name.to_ascii_lowercase().as_str()) => {
            option.to_string()
        }
        Some((name, _)) if name.chars().all(|c| c.is_ascii_alphanumeric()) => {
            format!("{name}=***")
        }
        _ if option.is_empty() => String::new(),
        _ => "***".to_string(),
    });
    options.collect::<Vec<_>>().join("&")
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|h| h.split_once(']')) {
        Some((name, rest)) => (name, rest.strip_prefix(':')),
        None => host.rsplit_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.%:".contains(c);
    !name.is_empty() && name.chars().all(allowed) && port.is_none_or(|p| p.parse::<u16>().is_ok())
}

/// `text` (of a driver, of pip) without the credentials of `uri`, or of any URL in it.
#[must_use]
pub fn mask_text(text: &str, uri: &str) -> String {
    if uri.is_empty() {
        return mask_urls(text);
    }
    let mut masked = text.replace(uri, &mask_uri(uri));
    for secret in secrets(uri) {
        masked = masked.replace(&secret, "***");
    }
    mask_urls(&masked)
}

/// The parts of `uri` that must never be shown, as written and percent-decoded.
fn secrets(uri: &str) -> Vec<String> {
    let rest = uri.split_once("://").map_or("", |(_, rest)| rest);
    let user_info = rest.rsplit_once('@').map_or("", |(user_info, _)| user_info);
    let password = user_info.split_once(':').map_or("", |(_, password)| password);
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let hidden = query.split('&').filter_map(|option| {
        let (name, value) = option.split_once('=')?;
        (!HARMLESS.contains(&name.to_ascii_lowercase().as_str())).then_some(value)
    });
    let values = std::iter::once(password).chain(hidden);
    // Replacing one or two letters everywhere would garble the text and hide nothing.
    values.flat_map(|v| [v.to_string(), percent_decoded(v)]).filter(|v| v.len() > 2).collect()
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
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
            Some((user_info, _)) => {
                masked.push_str("***");
                &after[user_info.len()..]
            }
            None => after,
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
        let uri = "mongodb://bob:s3%2Fcret@h/?authMechanismProperties=TOKEN:t0k";
        let text = format!("{uri} failed: s3/cret and s3%2Fcret and TOKEN:t0k");
        let masked = mask_text(&text, uri);
        for secret in ["s3/cret", "s3%2Fcret", "t0k", "bob"] {
            assert!(!masked.contains(secret), "{masked}");
        }
        assert_eq!(
            mask_text("Looking in https://me:pw@mirror/simple, 'http://x/y'", ""),
            "Looking in https://***@mirror/simple, 'http://x/y'"
        );
    }
}
