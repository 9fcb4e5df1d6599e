//! Connection strings: their parts, and options put into them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base::strings::percent_decoded;
use mongodb::error::Error as DriverError;
use mongodb::options::{ClientOptions, ConnectionString, Credential, HostInfo};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use workload::DRIVER_OPTIONS;

/// Characters that need no encoding in paths.
const IN_PATHS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Options of connection strings that an arm may set for itself: those that change how a driver
/// works. Server, user and encryption concern all arms alike and are part of `--uri`.
pub fn arm_options<'a>() -> impl Iterator<Item = &'a str> {
    DRIVER_OPTIONS.into_iter().chain(["appName", "readPreferenceTags"])
}

/// The other options that the specifications of connection strings know, without secrets in them.
const COMMON_OPTIONS: [&str; 19] = [
    "authMechanism",
    "authSource",
    "directConnection",
    "loadBalanced",
    "proxyHost",
    "proxyPort",
    "replicaSet",
    "srvMaxHosts",
    "srvServiceName",
    "ssl",
    "tls",
    "tlsAllowInvalidCertificates",
    "tlsAllowInvalidHostnames",
    "tlsCAFile",
    "tlsCertificateKeyFile",
    "tlsDisableCertificateRevocationCheck",
    "tlsDisableOCSPEndpointCheck",
    "tlsInsecure",
    "uuidRepresentation",
];

/// Names of options whose values are never shown.
const SECRET_OPTIONS: [&str; 4] =
    ["authMechanismProperties", "proxyPassword", "proxyUsername", "tlsCertificateKeyFilePassword"];

/// Options that the core's own driver does not take: it is built with rustls and without
/// compression, which only the measured drivers need. Rejected: the driver's features for it, which
/// add a C library for connections that send next to nothing.
const NOT_OUR_OWN: [&str; 7] = [
    "compressors",
    "socketTimeoutMS",
    "timeoutMS",
    "tlsAllowInvalidHostnames",
    "tlsDisableCertificateRevocationCheck",
    "tlsDisableOCSPEndpointCheck",
    "zlibCompressionLevel",
];

/// The options of the core's own connections. What the core's driver lacks is left out.
pub async fn own_options(uri: &str) -> Result<ClientOptions, DriverError> {
    ClientOptions::parse(for_ourselves(uri)).await
}

/// The connection string of the core's own connections.
pub(super) fn for_ourselves(uri: &str) -> String {
    let lacking = NOT_OUR_OWN.iter().filter(|option| has_option(uri, option));
    lacking.fold(uri.to_owned(), |rest, option| without_option(&rest, option))
}

pub(super) fn harmless_options() -> impl Iterator<Item = &'static str> {
    arm_options().chain(COMMON_OPTIONS)
}

/// Whether connection strings have an option.
///
/// # Errors
/// No option has this name; the error has the one that may be meant.
pub fn check_option(name: &str) -> Result<(), Option<&'static str>> {
    let known = || harmless_options().chain(SECRET_OPTIONS);
    if known().any(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    Err(base::strings::nearest(name, known()))
}

/// An arm's option as it is usually written; None for other words.
pub fn arm_option(name: &str) -> Option<&'static str> {
    arm_options().find(|known| known.eq_ignore_ascii_case(name))
}

/// A connection string in its parts. The driver's own parser reads all before the options; it
/// looks nothing up (SRV). Options are pairs, for each driver knows others. Rejected: `url`, which
/// knows one host.
pub(super) struct Uri<'a> {
    /// User and password, decoded.
    pub credential: Option<Credential>,
    /// Scheme and user.
    head: &'a str,
    /// All hosts, as written.
    pub hosts: Cow<'a, str>,
    /// Database with the slash before it; empty if there is none.
    pub database: &'a str,
    /// Names and values, as written.
    pub options: Vec<(&'a str, Cow<'a, str>)>,
    is_srv: bool,
}

impl<'a> Uri<'a> {
    /// Returns None if no driver would accept it.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let read = is_escaped(text).then(|| ConnectionString::parse(base).ok())??;
        let begin = base.rfind('@').map(|at| at + 1).or(base.find("://").map(|at| at + 3))?;
        let (head, rest) = base.split_at(begin);
        let (hosts, database) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        Some(Self {
            is_srv: matches!(read.host_info, HostInfo::DnsRecord(_)),
            credential: read.credential,
            head,
            hosts: hosts.into(),
            database,
            options: pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (name, value.into()))
                .collect(),
        })
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|(name, _)| name.eq_ignore_ascii_case(option))
    }
}

impl fmt::Display for Uri<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.database.is_empty() { "/" } else { self.database };
        write!(out, "{}{}{slash}", self.head, self.hosts)?;
        for (number, (name, value)) in self.options.iter().enumerate() {
            write!(out, "{}{name}={value}", if number == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

/// A URI's parts, decoded, for drivers that parse none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UriParts {
    /// Hosts as written; for `mongodb+srv`, the one name of the record to look up.
    pub hosts: Vec<String>,
    pub user: Option<String>,
    pub password: Option<String>,
    pub options: BTreeMap<String, String>,
}

/// Splits a URI; the parts are empty if no driver would accept it.
pub fn parts(uri: &str) -> UriParts {
    let Some(uri) = Uri::parse(uri) else { return UriParts::default() };
    let credential = uri.credential.unwrap_or_default();
    let option = |(name, value): (&str, Cow<'_, str>)| (name.to_owned(), percent_decoded(&value));
    UriParts {
        hosts: uri.hosts.split(',').map(str::to_owned).collect(),
        user: credential.username,
        password: credential.password,
        options: uri.options.into_iter().map(option).collect(),
    }
}

/// A URI without one of its options.
pub fn without_option(uri: &str, option: &str) -> String {
    let Some(mut parts) = Uri::parse(uri) else { return uri.to_owned() };
    parts.options.retain(|(name, _)| !name.eq_ignore_ascii_case(option));
    parts.to_string()
}

/// Whether a URI has an option.
pub fn has_option(uri: &str, option: &str) -> bool {
    Uri::parse(uri).is_some_and(|parts| parts.has(option))
}

/// Whether each `%` before the options begins an escape: at half of one the driver's parser panics.
pub(super) fn is_escaped(uri: &str) -> bool {
    let base = uri.split('?').next().unwrap_or_default();
    base.split('%').skip(1).all(|part| {
        part.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    })
}

/// Puts an arm's own options into a URI, in place of those it has. Otherwise the arm would have a
/// name for something it does not do.
pub fn with_arm_options(uri: &str, options: &BTreeMap<String, String>) -> String {
    let Some(mut parts) = Uri::parse(uri).filter(|_| !options.is_empty()) else {
        return uri.to_owned();
    };
    parts.options.retain(|(name, _)| !options.keys().any(|own| own.eq_ignore_ascii_case(name)));
    with_options(&parts.to_string(), options)
}

/// Adds options to a URI; those that it has already win. serverSelectionTimeoutMS is always set: a
/// dead server costs seconds and not the half minute of most drivers.
pub fn with_options(uri: &str, options: &BTreeMap<String, String>) -> String {
    let Some(mut parts) = Uri::parse(uri) else { return uri.to_owned() };
    let mut wanted = options.clone();
    wanted.entry("serverSelectionTimeoutMS".to_owned()).or_insert_with(|| "5000".to_owned());
    for (name, value) in &wanted {
        if !parts.has(name) {
            parts.options.push((name, value.into()));
        }
    }
    for (_, value) in parts.options.iter_mut().filter(|(name, _)| is_file(name)) {
        // Adapters run in the folders of their environments.
        let file = percent_decoded(value);
        let absolute = std::path::absolute(&file).unwrap_or_default();
        if !file.starts_with('/')
            && let Some(absolute) = absolute.to_str()
        {
            *value = utf8_percent_encode(absolute, IN_PATHS).to_string().into();
        }
    }
    parts.to_string()
}

fn is_file(option: &str) -> bool {
    ["tlsCAFile", "tlsCertificateKeyFile"].iter().any(|it| it.eq_ignore_ascii_case(option))
}

/// The only `HOST[:PORT]` that a URI names; None if it names several, or a record to look up.
pub fn only_host(uri: &str) -> Option<String> {
    let parts = Uri::parse(uri).filter(|parts| !parts.is_srv && !parts.hosts.contains(','))?;
    let port = parts.hosts.ends_with(']') || !parts.hosts.contains(':');
    Some(if port { format!("{}:27017", parts.hosts) } else { parts.hosts.into_owned() })
}

/// Replaces the host of a URI, and nothing else.
pub fn with_host(uri: &str, host: &str) -> String {
    match Uri::parse(uri) {
        Some(parts) => Uri { hosts: host.into(), ..parts }.to_string(),
        None => uri.to_owned(),
    }
}

/// Whether a text is `HOST:PORT`, or several with commas: a connection string without its scheme.
pub(super) fn is_address(text: &str) -> bool {
    let is_host = |it: char| it.is_ascii_alphanumeric() || "-._[]:".contains(it);
    let is_port = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    text.split(',').all(|one| {
        let (host, port) = one.rsplit_once(':').unwrap_or((one, ""));
        !host.is_empty() && host.chars().all(is_host) && (is_port(port) || one == "localhost")
    })
}

/// How long an operation waits for a server that has ended, by the URI's own option.
pub fn selection_timeout(uri: &str) -> Duration {
    time_option(uri, "serverSelectionTimeoutMS").unwrap_or(Duration::from_secs(30))
}

/// How long a driver waits for an answer, if the URI limits it.
pub fn socket_timeout(uri: &str) -> Option<Duration> {
    time_option(uri, "socketTimeoutMS").filter(|limit| !limit.is_zero())
}

fn time_option(uri: &str, option: &str) -> Option<Duration> {
    let options = Uri::parse(uri)?.options;
    let (_, value) = options.iter().find(|(name, _)| name.eq_ignore_ascii_case(option))?;
    value.parse().ok().map(Duration::from_millis)
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
        assert_eq!(with_host("mongodb://é%4é@h", "x"), "mongodb://é%4é@h", "no driver takes it");
        assert_eq!(only_host(uri).as_deref(), Some("h:1"));
        assert_eq!(with_host(uri, "127.0.0.1:9"), "mongodb://u:p%40@127.0.0.1:9/db?appName=a@h:1");
        assert_eq!(only_host("mongodb://[::1]/").as_deref(), Some("[::1]:27017"));
        assert_eq!(only_host("mongodb://a,b/"), None);
        assert_eq!(only_host("mongodb+srv://a/"), None);
    }

    #[test]
    fn the_parts_of_a_uri_are_decoded() {
        let uri = "mongodb://u%40:p%2F@h:1,[::1]/db?w=majority&appName=a%20b&readPreferenceTags=";
        let said = parts(uri);
        assert_eq!(said.hosts, ["h:1", "[::1]"]);
        assert_eq!((said.user.as_deref(), said.password.as_deref()), (Some("u@"), Some("p/")));
        let options = [("appName", "a b"), ("readPreferenceTags", ""), ("w", "majority")];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(said.options, BTreeMap::from(options));
        let plain = parts("mongodb+srv://c.mongodb.net/");
        assert_eq!(
            plain,
            UriParts { hosts: vec!["c.mongodb.net".to_owned()], ..UriParts::default() }
        );
        assert_eq!(parts(""), UriParts::default());
        assert_eq!(without_option("mongodb://h/?W=1&j=true", "w"), "mongodb://h/?j=true");
    }

    #[tokio::test]
    async fn our_own_connections_take_every_option_that_there_is() {
        let value = |name: &str| match name {
            "authMechanism" => "MONGODB-X509",
            "authSource" => "$external",
            "compressors" => "snappy,zstd",
            "loadBalanced" | "srvMaxHosts" | "srvServiceName" | "proxyPort" => "", // go with others
            "maxStalenessSeconds" => "90&readPreference=nearest",
            "readConcernLevel" | "replicaSet" | "appName" | "proxyHost" => "local",
            "readPreference" | "readPreferenceTags" => "nearest",
            "serverMonitoringMode" => "poll",
            "tlsCAFile" | "tlsCertificateKeyFile" => "/a.pem",
            "uuidRepresentation" => "javaLegacy",
            name if name.ends_with("MS") || name.ends_with("Size") || name == "w" => "1",
            "maxConnecting" | "zlibCompressionLevel" => "1",
            _ => "true",
        };
        for name in harmless_options().filter(|name| !value(name).is_empty()) {
            let uri = format!("mongodb://h/?{name}={}", value(name));
            let Err(error) = own_options(&uri).await else { continue };
            let said = error.to_string();
            assert!(!said.contains("invalid option") && !said.contains("feature"), "{uri}: {said}");
        }
        let kept = for_ourselves("mongodb://u:p@h/?w=1&Compressors=zstd,snappy&maxPoolSize=3");
        assert_eq!(kept, "mongodb://u:p@h/?w=1&maxPoolSize=3");
    }

    #[test]
    fn addresses_are_told_from_what_may_be_a_secret() {
        for text in ["localhost", "localhost:27017", "a:1,b-2.c:3", "[::1]:27017"] {
            assert!(is_address(text), "{text}");
        }
        for text in ["", "s3cret", "u:s3cret", "u:p@h:1", "h:", "h:1,", "u:s3cret,h:1", "a b:1"] {
            assert!(!is_address(text), "{text}");
        }
    }

    #[test]
    fn timeouts_are_those_of_the_uri() {
        let of = |uri: &str| selection_timeout(uri).as_millis();
        assert_eq!(of(&with("mongodb://h", &[])), 5000);
        assert_eq!(of("mongodb://h/?w=1&serverselectiontimeoutms=200"), 200);
        assert_eq!(of("mongodb://h/"), 30_000, "what drivers take by default");
        let of = |uri: &str| socket_timeout(uri).map(|it| it.as_millis());
        assert_eq!(of("mongodb://h/?sockettimeoutms=200"), Some(200));
        assert_eq!(of("mongodb://h/?socketTimeoutMS=0"), None, "for ever");
        assert_eq!(of("mongodb://h/"), None);
    }
}
