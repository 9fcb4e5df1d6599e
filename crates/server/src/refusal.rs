//! Explains for people why a server did not answer, from the driver's words.

use mongodb::error::{Error as DriverError, ErrorKind};

use super::mask::mask_uri;
use base::error::Error;
use base::secrets::mask_text;

pub(super) const UNAUTHORIZED: i32 = 13;

/// Features that the connection string has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UriFeatures {
    pub credentials: bool,
    pub tls: bool,
    /// Whether it names the file of a certificate authority.
    pub authority: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    NeedsPassword,
    WrongCredentials,
    SpeaksNoTls,
    ExpectsTls,
    CertificateRefused,
    OwnAuthorityRefused,
    CertificateOfAuthority,
    CertificateExpired,
    CertificateOfOthers,
    NoSocketFile,
    UnreadableFile,
    ConnectionRefused,
    UnknownHost,
    NotMongoDb,
    TooOld,
    Timeout,
    Other,
}

pub(super) fn code(error: &DriverError) -> Option<i32> {
    match error.kind.as_ref() {
        ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}

/// Whether waiting longer would not help: the driver itself retries until its limit.
pub(super) fn is_final(error: &DriverError, given: UriFeatures) -> bool {
    !matches!(cause(error, given), Cause::Timeout | Cause::Other | Cause::ConnectionRefused)
}

pub(super) fn is_unknown_host(error: &std::io::Error) -> bool {
    error.to_string().contains("lookup address")
}

fn cause(error: &DriverError, given: UriFeatures) -> Cause {
    let said = error.kind.to_string().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if code(error) == Some(UNAUTHORIZED) && !given.credentials {
        Cause::NeedsPassword
    } else if matches!(error.kind.as_ref(), ErrorKind::Authentication { .. }) {
        Cause::WrongCredentials
    } else if has(&["invalidcontenttype", "corrupt message", "handshake eof"]) {
        Cause::SpeaksNoTls
    } else if has(&["pem-encoded"]) {
        Cause::UnreadableFile
    } else if has(&["causedasendentity"]) {
        Cause::CertificateOfAuthority
    } else if has(&["certificate"]) && has(&["expired", "notvalidyet", "not valid yet"]) {
        Cause::CertificateExpired
    } else if has(&["certificate"]) && has(&["notvalidforname", "not valid for name"]) {
        Cause::CertificateOfOthers
    } else if has(&["certificate"]) && given.authority {
        Cause::OwnAuthorityRefused
    } else if has(&["certificate"]) {
        Cause::CertificateRefused
    } else if has(&["connection refused"]) {
        Cause::ConnectionRefused
    } else if has(&["lookup address", "dns"]) {
        Cause::UnknownHost
    } else if has(&["wire version", "incompatible"]) {
        Cause::TooOld
    } else if has(&["invalid wire protocol", "invalid reply"]) {
        Cause::NotMongoDb
    } else if !given.tls && has(&["end of file", "early eof", "connection reset", "broken pipe"]) {
        Cause::ExpectsTls
    } else if has(&["timed out", "timeout", "deadline"]) {
        Cause::Timeout
    } else {
        Cause::Other
    }
}

pub(super) fn explain(error: &DriverError, uri: &str, given: UriFeatures) -> Error {
    let said = mask_text(&error.kind.to_string());
    say(cause(error, given), uri, &said)
}

pub(super) fn connection_refused(uri: &str) -> Error {
    say(Cause::ConnectionRefused, uri, "")
}

pub(super) fn unknown_host(uri: &str) -> Error {
    say(Cause::UnknownHost, uri, "")
}

pub(super) fn no_socket_file(uri: &str) -> Error {
    say(Cause::NoSocketFile, uri, "")
}

fn say(cause: Cause, uri: &str, said: &str) -> Error {
    let uri = mask_uri(uri);
    let detail = last_cause(said);
    let text = match cause {
        Cause::NeedsPassword => format!("{uri} needs a password"),
        Cause::WrongCredentials => format!("{uri} refuses these credentials"),
        Cause::SpeaksNoTls => format!("{uri} does not speak TLS, which the URI asks for"),
        Cause::ExpectsTls => {
            format!("{uri} closes the connection at once; it probably expects TLS")
        }
        Cause::CertificateOfAuthority => format!(
            "{uri} shows the certificate of an authority (CA:TRUE), which no server may have"
        ),
        Cause::NoSocketFile => format!("the socket file in {uri} is not there"),
        Cause::CertificateRefused
        | Cause::OwnAuthorityRefused
        | Cause::CertificateExpired
        | Cause::CertificateOfOthers => {
            format!("the TLS certificate of {uri} was refused: {detail}")
        }
        Cause::UnreadableFile => format!("a TLS file named in {uri} cannot be read: {detail}"),
        Cause::ConnectionRefused => format!("no server listens at {uri}: connection refused"),
        Cause::UnknownHost => format!("the host name in {uri} is unknown"),
        Cause::NotMongoDb => format!("{uri} does not answer as a MongoDB: {detail}"),
        Cause::TooOld => format!("the server at {uri} is too old or too new: {detail}"),
        Cause::Timeout => format!("{uri} did not answer in time: {detail}"),
        Cause::Other => format!("{uri} does not answer: {said}"),
    };
    Error::unreachable(text, hint(cause))
}

fn hint(cause: Cause) -> &'static str {
    match cause {
        Cause::NeedsPassword => {
            "put user and password into the URI: mongodb://USER:PASSWORD@HOST (special characters \
             percent-encoded)"
        }
        Cause::WrongCredentials => {
            "correct user and password, and name the database that holds the user: \
             ?authSource=admin"
        }
        Cause::SpeaksNoTls => "take tls=true out of the URI (with mongodb+srv:// write tls=false)",
        Cause::ExpectsTls => "add tls=true to the URI (and tlsCAFile=… for a private authority)",
        Cause::CertificateRefused => "name the certificate's authority with tlsCAFile=… in the URI",
        Cause::OwnAuthorityRefused => {
            "the authority in tlsCAFile has not signed it: name the one that has, or let that one \
             sign it"
        }
        Cause::CertificateOfAuthority => {
            "make the server one that is no authority's: openssl req -x509 … -addext \
             basicConstraints=critical,CA:FALSE; or add tlsAllowInvalidCertificates=true to the URI"
        }
        Cause::CertificateExpired => "renew it; see that the clocks of both machines are right",
        Cause::CertificateOfOthers => "name the host in the URI as the certificate does",
        Cause::NoSocketFile => {
            "start the server, or correct the path in the URI: mongodb://%2Ftmp%2FNAME.sock/"
        }
        Cause::UnreadableFile => {
            "correct the path; tlsCAFile and tlsCertificateKeyFile are PEM files"
        }
        Cause::ConnectionRefused => {
            "start the server, correct host and port, or use `--server embedded`"
        }
        Cause::UnknownHost => "correct the host name in the URI",
        Cause::TooOld => "use a server between MongoDB 4.2 and today's, or `--server embedded`",
        Cause::Timeout => {
            "check host, port, firewall and replica set name, or raise serverSelectionTimeoutMS"
        }
        Cause::NotMongoDb | Cause::Other => {
            "see that a MongoDB-compatible server runs there, or use `--server embedded`"
        }
    }
}

/// The driver wraps the cause in a description of the whole topology.
fn last_cause(said: &str) -> &str {
    let cause = said.rsplit_once("Error: ").map_or(said, |(_, cause)| cause);
    cause.split(", labels").next().unwrap_or(cause).trim_start_matches("Kind: ").trim()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_refused_certificate_is_told_what_helps() {
        let hint = |words: &str, authority| {
            let error = io::Error::other(format!("invalid peer certificate: {words}")).into();
            let given = UriFeatures { tls: true, authority, credentials: false };
            explain(&error, "mongodb://h/", given).hint
        };
        assert!(hint("UnknownIssuer", false).starts_with("name the certificate's authority"));
        assert!(hint("UnknownIssuer", true).starts_with("the authority in tlsCAFile has not"));
        assert!(hint("Other(OtherError(CaUsedAsEndEntity))", true).contains("CA:FALSE"));
        assert!(hint("certificate expired: verification time …", true).starts_with("renew it"));
        assert!(hint("certificate not valid for name \"h\"", true).contains("as the certificate"));
    }
}
