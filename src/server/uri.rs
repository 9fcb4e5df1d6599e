//! Options of connection strings.

use std::collections::BTreeMap;
use std::time::Duration;

/// Options of connection strings that an arm may set for itself: those that change how a driver
/// works. Which server it talks to, as whom and how secretly, concerns all arms alike and stands
/// in `--uri`.
pub const ARM_OPTIONS: [&str; 24] = [
    "appName",
    "compressors",
    "connectTimeoutMS",
    "heartbeatFrequencyMS",
    "journal",
    "localThresholdMS",
    "maxConnecting",
    "maxIdleTimeMS",
    "maxPoolSize",
    "maxStalenessSeconds",
    "minPoolSize",
    "readConcernLevel",
    "readPreference",
    "readPreferenceTags",
    "retryReads",
    "retryWrites",
    "serverMonitoringMode",
    "serverSelectionTimeoutMS",
    "socketTimeoutMS",
    "timeoutMS",
    "w",
    "waitQueueTimeoutMS",
    "wTimeoutMS",
    "zlibCompressionLevel",
];

/// The other options that the specifications of connection strings know.
const COMMON_OPTIONS: [&str; 23] = [
    "authMechanism",
    "authMechanismProperties",
    "authSource",
    "directConnection",
    "loadBalanced",
    "proxyHost",
    "proxyPassword",
    "proxyPort",
    "proxyUsername",
    "replicaSet",
    "srvMaxHosts",
    "srvServiceName",
    "ssl",
    "tls",
    "tlsAllowInvalidCertificates",
    "tlsAllowInvalidHostnames",
    "tlsCAFile",
    "tlsCertificateKeyFile",
    "tlsCertificateKeyFilePassword",
    "tlsDisableCertificateRevocationCheck",
    "tlsDisableOCSPEndpointCheck",
    "tlsInsecure",
    "uuidRepresentation",
];

/// Whether connection strings have an option.
///
/// # Errors
/// None has this name; the one that may be meant.
pub fn check_option(name: &str) -> Result<(), Option<&'static str>> {
    let known = || ARM_OPTIONS.into_iter().chain(COMMON_OPTIONS);
    if known().any(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    let distance = |known: &&str| strsim::levenshtein(&known.to_lowercase(), &name.to_lowercase());
    Err(known().min_by_key(distance).filter(|near| distance(near) <= 3))
}

/// An option of an arm as it is usually written; None for what is none.
#[must_use]
pub fn arm_option(name: &str) -> Option<&'static str> {
    ARM_OPTIONS.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// A URI with an arm's own options, which replace what stands there: otherwise the arm would be
/// called after something it does not do.
#[must_use]
pub fn with_arm_options(uri: &str, options: &BTreeMap<String, String>) -> String {
    if options.is_empty() || uri.is_empty() {
        return uri.to_owned();
    }
    let (base, query) = uri.split_once('?').unwrap_or((uri, ""));
    let replaced = |part: &&str| {
        let name = part.split_once('=').map_or(*part, |(name, _)| name);
        options.keys().any(|option| option.eq_ignore_ascii_case(name))
    };
    let kept: Vec<&str> =
        query.split('&').filter(|part| !part.is_empty() && !replaced(part)).collect();
    with_options(&format!("{base}?{}", kept.join("&")), options)
}

/// A URI with further options; those that stand in it already win. serverSelectionTimeoutMS is
/// always set, so that a dead server costs seconds and not the half minute of most drivers.
#[must_use]
pub fn with_options(uri: &str, options: &BTreeMap<String, String>) -> String {
    let (base, query) = uri.split_once('?').unwrap_or((uri, ""));
    let mut parts: Vec<String> =
        query.split('&').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let mut wanted = options.clone();
    wanted.entry("serverSelectionTimeoutMS".to_owned()).or_insert_with(|| "5000".to_owned());
    for (name, value) in wanted {
        let there = parts.iter().any(|part| {
            part.split_once('=').is_some_and(|(known, _)| known.eq_ignore_ascii_case(&name))
        });
        if !there {
            parts.push(format!("{name}={value}"));
        }
    }
    let after_scheme = base.find("://").map_or(0, |at| at + 3);
    let slash = if base[after_scheme..].contains('/') { "" } else { "/" };
    let parts: Vec<String> = parts.into_iter().map(absolute_file).collect();
    format!("{base}{slash}?{}", parts.join("&"))
}

/// An option, whose file is found from any folder: adapters stand in their environment's.
fn absolute_file(option: String) -> String {
    const FILES: [&str; 2] = ["tlsCAFile", "tlsCertificateKeyFile"];
    let Some((name, file)) = option.split_once('=') else { return option };
    let is_absolute = file.starts_with('/') || file.to_lowercase().starts_with("%2f");
    if is_absolute || !FILES.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return option;
    }
    let here = std::env::current_dir().unwrap_or_default();
    let encoded = here.as_os_str().as_encoded_bytes().iter().map(|byte| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    format!("{name}={}/{file}", encoded.collect::<String>())
}

/// The one `HOST[:PORT]` that a URI names; None where it names several, or a record to look up.
#[must_use]
pub fn only_host(uri: &str) -> Option<String> {
    let (_, host) = parts(uri)?;
    let port = host.ends_with(']') || !host.contains(':');
    (!host.contains(',')).then(|| if port { format!("{host}:27017") } else { host.to_owned() })
}

/// A URI that leads to another host and is the same otherwise.
#[must_use]
pub fn with_host(uri: &str, host: &str) -> String {
    match parts(uri) {
        Some((at, old)) => format!("{}{host}{}", &uri[..at], &uri[at + old.len()..]),
        None => uri.to_owned(),
    }
}

/// Where the hosts begin, and what they are.
fn parts(uri: &str) -> Option<(usize, &str)> {
    const SCHEME: &str = "mongodb://";
    let rest = uri.strip_prefix(SCHEME)?;
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let hosts = authority.rsplit('@').next().unwrap_or_default();
    Some((SCHEME.len() + authority.len() - hosts.len(), hosts))
}

/// How long an operation waits for a server that has gone, by the URI's own option.
#[must_use]
pub fn selection_timeout(uri: &str) -> Duration {
    let options = uri.split_once('?').map_or("", |(_, options)| options);
    let wanted =
        options.split('&').filter_map(|part| part.split_once('=')).find_map(|(name, value)| {
            name.eq_ignore_ascii_case("serverSelectionTimeoutMS").then(|| value.parse().ok())?
        });
    Duration::from_millis(wanted.unwrap_or(30_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(uri: &str, pairs: &[(&str, &str)]) -> String {
        let options = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        with_options(uri, &options.collect())
    }

    #[test]
    fn options_are_added_and_never_override() {
        let selection = "serverSelectionTimeoutMS=5000";
        assert_eq!(with("mongodb://h:1", &[]), format!("mongodb://h:1/?{selection}"));
        assert_eq!(
            with("mongodb://u:p@h/db?maxpoolsize=3", &[("maxPoolSize", "9"), ("w", "1")]),
            format!("mongodb://u:p@h/db?maxpoolsize=3&{selection}&w=1")
        );
        let own = with("mongodb://h/", &[("serverSelectionTimeoutMS", "1")]);
        assert_eq!(own, "mongodb://h/?serverSelectionTimeoutMS=1");
        // Adapters stand elsewhere.
        let here = std::env::current_dir().expect("a folder");
        let file = with(&format!("{own}&tlscafile=a%20b/ca.pem"), &[]);
        assert_eq!(file, format!("{own}&tlscafile={}/a%20b/ca.pem", here.display()));
        for there in ["tlsCAFile=/ca.pem", "tlsCertificateKeyFile=%2Fa"] {
            assert_eq!(with(&format!("{own}&{there}"), &[]), format!("{own}&{there}"));
        }
    }

    #[test]
    fn an_arms_own_options_replace_those_that_stand_there() {
        let with = |uri: &str, pairs: &[(&str, &str)]| {
            let options = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string()));
            with_arm_options(uri, &options.collect())
        };
        let uri = "mongodb://h/db?maxpoolsize=3&w=1&serverSelectionTimeoutMS=5000";
        assert_eq!(
            with(uri, &[("maxPoolSize", "1024")]),
            "mongodb://h/db?w=1&serverSelectionTimeoutMS=5000&maxPoolSize=1024"
        );
        assert_eq!(with(uri, &[]), uri);
        assert_eq!(with("", &[("w", "1")]), "", "no server");
        assert_eq!(arm_option("MAXPOOLSIZE"), Some("maxPoolSize"));
        assert_eq!(arm_option("replicaSet"), None);
    }

    #[test]
    fn the_host_is_found_and_replaced_and_nothing_else() {
        let uri = "mongodb://u:p%40@h:1/db?appName=a@h:1";
        assert_eq!(only_host(uri).as_deref(), Some("h:1"));
        assert_eq!(with_host(uri, "127.0.0.1:9"), "mongodb://u:p%40@127.0.0.1:9/db?appName=a@h:1");
        assert_eq!(only_host("mongodb://[::1]/").as_deref(), Some("[::1]:27017"));
        assert_eq!(only_host("mongodb://a,b/"), None);
        assert_eq!(only_host("mongodb+srv://a/"), None);
    }

    #[test]
    fn the_selection_timeout_is_that_of_the_uri() {
        let of = |uri: &str| selection_timeout(uri).as_millis();
        assert_eq!(of(&with("mongodb://h", &[])), 5000);
        assert_eq!(of("mongodb://h/?w=1&serverselectiontimeoutms=200"), 200);
        assert_eq!(of("mongodb://h/"), 30_000, "what drivers take by default");
    }
}
