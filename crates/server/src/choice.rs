//! The server that `--server` and `--uri` ask for.

use base::error::{Error, Result};
use record::records::ServerKind;

use super::external;
use super::host::Host;
use super::kinds::{KINDS, kind_of};
use super::mask::mask_uri;
use super::options::StartOptions;
use super::program::Program;
use super::progress::Progress;
use super::server::Server;

/// A server that was asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerChoice {
    kind: ServerKind,
    /// As `--server` or `--uri` had them.
    words: String,
}

/// The words that `--server` takes, for people.
pub fn server_forms() -> String {
    KINDS.iter().map(|(_, kind)| kind.forms).collect::<Vec<_>>().join(", ")
}

/// The words for one more server like that of a record.
pub fn server_again(kind: ServerKind, version: &str) -> Result<String> {
    kind_of(kind).map_or_else(|| Ok(kind.word().to_owned()), |it| (it.again)(version))
}

impl ServerChoice {
    /// `--uri` wins over `--server`.
    pub fn parse(server: &str, uri: Option<&str>) -> Result<Self> {
        if let Some(uri) = uri {
            if uri.starts_with("mongodb://") || uri.starts_with("mongodb+srv://") {
                return Ok(Self { kind: ServerKind::External, words: uri.to_owned() });
            }
            return Err(Error::usage(
                "--uri takes a MongoDB connection string",
                "write it as mongodb://HOST:PORT or mongodb+srv://HOST",
            ));
        }
        if server.starts_with("mongodb") && server.contains("://") {
            return Err(Error::usage(
                "--server names a kind of server, not a connection string",
                "give the connection string with --uri",
            ));
        }
        let named = KINDS.iter().find(|(_, kind)| (kind.is_named)(server));
        let (kind, _) = named.ok_or_else(|| {
            Error::usage(
                format!("there is no server {server:?}"),
                format!("write one of {}; for a running server give --uri", server_forms()),
            )
        })?;
        Ok(Self { kind: *kind, words: server.to_owned() })
    }

    pub fn kind(&self) -> ServerKind {
        self.kind
    }

    /// The connection string of somebody else's server.
    pub fn uri(&self) -> Option<&str> {
        (self.kind == ServerKind::External).then_some(&self.words)
    }

    /// The same text for all words that name the same server.
    pub fn identity(&self) -> Result<String> {
        kind_of(self.kind).map_or_else(|| Ok(self.words.clone()), |it| (it.identity)(&self.words))
    }

    /// The mongod that it names, installed if need be; None where there is nothing to install.
    /// Blocks (downloads): call it before the runtime is busy, or on a blocking thread.
    pub fn prepare(&self, host: &Host, progress: Progress) -> Result<Option<Program>> {
        kind_of(self.kind).map_or(Ok(None), |kind| (kind.prepare)(host, &self.words, progress))
    }

    /// Starts it, or connects to it. `program` is what [`ServerChoice::prepare`] answered.
    pub async fn open(
        &self,
        host: &Host,
        program: Option<&Program>,
        options: &StartOptions,
    ) -> Result<Server> {
        match kind_of(self.kind) {
            Some(kind) => (kind.open)(host, program, options).await,
            None => external::open(&self.words).await,
        }
    }
}

/// Never shows credentials, so that the value may stand in logs and panics.
impl std::fmt::Debug for ServerChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.uri().map_or_else(|| self.words.clone(), mask_uri))
    }
}

#[cfg(test)]
mod tests {
    use base::error::Exit;

    use super::*;

    #[test]
    fn every_form_is_understood() {
        let kind = |server| ServerChoice::parse(server, None).expect(server).kind();
        assert_eq!(kind("embedded"), ServerKind::Embedded);
        assert_eq!(kind("embedded@4.4"), ServerKind::Embedded);
        assert_eq!(kind("absorber"), ServerKind::Absorber);
        assert_eq!(kind("mongod"), ServerKind::Mongod);
        assert_eq!(kind("/opt/m/mongod"), ServerKind::Mongod);
        let external = ServerChoice::parse("embedded", Some("mongodb://u:s3cret@h")).unwrap();
        assert_eq!(external.kind(), ServerKind::External);
        assert_eq!(format!("{external:?}"), "mongodb://***:***@h");
    }

    #[test]
    fn a_recorded_server_is_named_again() {
        for (kind, _) in KINDS {
            let Ok(words) = server_again(*kind, "4.4") else { continue };
            assert_eq!(ServerChoice::parse(&words, None).expect(&words).kind(), *kind);
        }
        assert_eq!(server_again(ServerKind::Embedded, "4.4").unwrap(), "embedded@4.4");
        assert!(server_again(ServerKind::Mongod, "4.4").is_err(), "it may be another one");
    }

    #[test]
    fn mistakes_are_named_without_leaking() {
        for (server, uri) in [
            ("postgres", None),
            ("mongod@7", None),
            ("embedded4.4", None),
            ("mongodb://u:s3cret@h", None),
            ("embedded", Some("u:s3cret@h")),
        ] {
            let error = ServerChoice::parse(server, uri).expect_err("a mistake");
            assert_eq!(error.exit, Exit::Usage);
            assert!(!error.to_string().contains("s3cret"));
        }
    }
}
