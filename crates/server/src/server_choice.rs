//! The server that `--server` and `--uri` ask for.

use base::error::{Error, Result};
use record::records::ServerKind;

use super::connection_string::is_address;
use super::external;
use super::health;
use super::host::Host;
use super::install_progress::InstallProgress;
use super::kinds::{KINDS, kind_of};
use super::mask::mask_uri;
use super::options::StartOptions;
use super::program::Program;
use super::server_handle::ServerHandle;
use super::shape::{self, ServerShape};

/// A server that was asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerChoice {
    kind: ServerKind,
    /// Words of `--server` or `--uri`, without the shape.
    words: String,
    shape: ServerShape,
    /// Further connection strings.
    others: Vec<String>,
}

/// The words that `--server` takes, for people.
pub fn server_forms() -> String {
    let forms = KINDS.iter().map(|(_, kind)| kind.forms).collect::<Vec<_>>().join(", ");
    format!(
        "{forms}; several mongods: embedded:hosts=4, embedded:replset=3, \
         mongod:shards=2"
    )
}

/// Words of `--server` for another server like that of a record, by its version, address and
/// topology.
pub fn server_again(kind: ServerKind, version: &str, uri: &str, topology: &str) -> Result<String> {
    let Some(it) = kind_of(kind) else { return Ok(kind.word().to_owned()) };
    Ok((it.again)(version)? + &ServerShape::again(uri, topology))
}

impl ServerChoice {
    /// `--uri` wins over `--server`.
    pub fn parse(server: &str, uri: Option<&str>) -> Result<Self> {
        if let Some(uri) = uri {
            if is_one(uri)? {
                let (words, others) = (uri.to_owned(), Vec::new());
                let kind = ServerKind::External;
                return Ok(Self { kind, words, shape: ServerShape::One, others });
            }
            let hint = match uri {
                address if is_address(address) => format!("write --uri mongodb://{address}/"),
                _ => "write it as mongodb://HOST:PORT or mongodb+srv://HOST".to_owned(),
            };
            return Err(Error::usage("--uri takes a MongoDB connection string", hint));
        }
        if server.starts_with("mongodb") && server.contains("://") {
            return Err(Error::usage(
                "--server names a kind of server, not a connection string",
                "give the connection string with --uri",
            ));
        }
        let (words, shape) = ServerShape::split(server)?;
        let named = KINDS.iter().find(|(_, kind)| (kind.is_named)(words));
        let (kind, _) = named.ok_or_else(|| {
            Error::usage(
                format!("there is no server {server:?}"),
                format!("write one of {}; for a running server give --uri", server_forms()),
            )
        })?;
        if shape != ServerShape::One && *kind == ServerKind::Absorber {
            return Err(Error::usage(
                format!("--server {server}: an absorber has no topology"),
                "several hosts are mongods: embedded:hosts=4",
            ));
        }
        if matches!(shape, ServerShape::Shards(_)) && *kind == ServerKind::Embedded {
            return Err(Error::usage(
                format!("--server {server}: embedded servers come without a mongos"),
                "write mongod:shards=2, with the mongod and mongos of this machine",
            ));
        }
        Ok(Self { kind: *kind, words: words.to_owned(), shape, others: Vec::new() })
    }

    /// Several external servers, `HOST:PORT` each, which know nothing of each other.
    pub fn hosts(hosts: &[String]) -> Result<Self> {
        let is_host = |it: &String| !it.is_empty() && !it.contains(['/', '@', ' ', '?']);
        if hosts.len() < 2 || !hosts.iter().all(is_host) {
            return Err(Error::usage(
                format!("hosts {}: not two or more of HOST:PORT", hosts.join(",")),
                "write --hosts HOST:PORT,HOST:PORT; for one server give --uri",
            ));
        }
        let mut uris: Vec<String> = hosts.iter().map(|it| format!("mongodb://{it}/")).collect();
        let others = uris.split_off(1);
        let words = uris.remove(0);
        Ok(Self { kind: ServerKind::External, words, shape: ServerShape::One, others })
    }

    /// Whether it has more than one mongod, or server.
    pub fn is_several(&self) -> bool {
        self.shape != ServerShape::One || !self.others.is_empty()
    }

    /// Whether what is started has an oplog, as replica sets and clusters have; None where somebody
    /// else started it, who was not asked yet.
    pub fn has_replicas(&self) -> Option<bool> {
        let replicas = matches!(self.shape, ServerShape::ReplicaSet(_) | ServerShape::Shards(_));
        (self.kind != ServerKind::External).then_some(replicas)
    }

    pub fn kind(&self) -> ServerKind {
        self.kind
    }

    /// Connection string of an external server.
    pub fn uri(&self) -> Option<&str> {
        (self.kind == ServerKind::External).then_some(&self.words)
    }

    /// The same text for all words that name the same server.
    pub fn identity(&self) -> Result<String> {
        let own = || Ok(self.words.clone());
        let one = kind_of(self.kind).map_or_else(own, |it| (it.identity)(&self.words))?;
        Ok(format!("{one}{}", self.shape))
    }

    /// Connection strings of external servers.
    pub fn uris(&self) -> impl Iterator<Item = &str> {
        self.uri().into_iter().chain(self.others.iter().map(String::as_str))
    }

    /// Reports what is wrong with it, as far as that shows without installing, starting or
    /// connecting to anything.
    pub fn check(&self, host: &Host) -> Result<()> {
        let Some(kind) = kind_of(self.kind) else {
            return self.uris().try_for_each(health::readable);
        };
        if host.offline || (kind.is_here)(host, &self.words)? {
            self.prepare(host, InstallProgress { quiet: true })?;
        }
        Ok(())
    }

    /// Returns the mongod that it names, and installs it if it is missing; None if there is nothing
    /// to install. Blocks (downloads): call it before the runtime is busy, or on a blocking thread.
    pub fn prepare(&self, host: &Host, progress: InstallProgress) -> Result<Option<Program>> {
        let Some(kind) = kind_of(self.kind) else { return Ok(None) };
        let program = (kind.prepare)(host, &self.words, progress)?;
        if let Some(program) =
            program.as_ref().filter(|_| matches!(self.shape, ServerShape::Shards(_)))
        {
            program.mongos(host)?;
        }
        Ok(program)
    }

    /// Starts it, or connects to it. `program` is what [`ServerChoice::prepare`] returned.
    pub async fn open(
        &self,
        host: &Host,
        program: Option<&Program>,
        options: &StartOptions,
    ) -> Result<ServerHandle> {
        match (kind_of(self.kind), program) {
            (Some(_), Some(program)) if self.shape != ServerShape::One => {
                self.shape.open(host, program, options).await
            }
            (Some(kind), _) => (kind.open)(host, program, options).await,
            (None, _) if self.others.is_empty() => external::open(&self.words).await,
            (None, _) => {
                let mut servers = vec![external::open(&self.words).await?];
                for uri in &self.others {
                    servers.push(external::open(uri).await?);
                }
                Ok(shape::join(servers))
            }
        }
    }
}

/// Whether it is a connection string.
///
/// # Errors
/// Several of them.
fn is_one(uri: &str) -> Result<bool> {
    let base = uri.split('?').next().unwrap_or_default();
    let begins = ["mongodb://", "mongodb+srv://"].iter().any(|it| base.starts_with(it));
    if begins && base.matches("://").count() > 1 {
        return Err(Error::usage(
            "--uri takes one connection string, and there are several",
            "name the members of a replica set in one: mongodb://HOST:PORT,HOST:PORT/. Servers \
             that know nothing of each other are named with --hosts HOST:PORT,HOST:PORT",
        ));
    }
    Ok(begins)
}

/// Never shows credentials, so that logs and panics may contain the value.
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
            let Ok(words) = server_again(*kind, "4.4", "mongodb://a/", "standalone") else {
                continue;
            };
            assert_eq!(ServerChoice::parse(&words, None).expect(&words).kind(), *kind);
        }
        let again = |kind, uri, topology| server_again(kind, "4.4", uri, topology);
        let embedded = |uri, topology| again(ServerKind::Embedded, uri, topology).unwrap();
        assert_eq!(embedded("mongodb://a/", "standalone"), "embedded@4.4");
        assert_eq!(embedded("mongodb://a,b/", "hosts: 2, each standalone"), "embedded@4.4:hosts=2");
        let mongod = again(ServerKind::Mongod, "mongodb://a/", "standalone");
        assert!(mongod.is_err(), "it may be another one");
    }

    #[test]
    fn mistakes_are_named_without_leaking() {
        for (server, uri) in [
            ("postgres", None),
            ("mongod@7", None),
            ("embedded:shards=2", None),
            ("embedded4.4", None),
            ("mongodb://u:s3cret@h", None),
            ("embedded", Some("u:s3cret@h")),
            ("embedded", Some("mongodb://u:s3cret@h,mongodb://u:s3cret@g")),
        ] {
            let error = ServerChoice::parse(server, uri).expect_err("a mistake");
            assert_eq!(error.exit, Exit::Usage);
            assert!(!error.to_string().contains("s3cret"));
        }
        let error = ServerChoice::parse("embedded", Some("h:1,g:2")).expect_err("no scheme");
        assert_eq!(error.hint, "write --uri mongodb://h:1,g:2/");
    }
}
