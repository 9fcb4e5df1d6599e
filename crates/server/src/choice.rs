//! What `--server` and `--uri` ask for.

use std::path::PathBuf;

use base::error::{Error, Result};

use super::host::Host;
use super::launch::StartOptions;
use super::managed::start;
use super::mask::mask_uri;
use super::program::Program;
use super::progress::Progress;
use super::server::Server;
use super::{absorber, external};

#[derive(Clone, PartialEq, Eq)]
pub enum ServerChoice {
    /// A `MongoDB` out of the catalogue; None means the catalogue's first.
    Embedded(Option<String>),
    /// A mongod of this machine, by path or from the search path, started and stopped by us.
    Mongod(Option<PathBuf>),
    /// The brake: this program again, as a server that costs next to nothing.
    Absorber,
    /// Any server that is already there.
    External(String),
}

impl ServerChoice {
    /// `--uri` wins over `--server`; neither means `embedded`.
    pub fn parse(server: Option<&str>, uri: Option<&str>) -> Result<Self> {
        if let Some(uri) = uri {
            if uri.starts_with("mongodb://") || uri.starts_with("mongodb+srv://") {
                return Ok(Self::External(uri.to_string()));
            }
            return Err(Error::usage(
                "--uri takes a MongoDB connection string",
                "write it as mongodb://HOST:PORT or mongodb+srv://HOST",
            ));
        }
        let server = server.unwrap_or("embedded");
        match server.split_once('@').map_or((server, None), |(kind, v)| (kind, Some(v))) {
            ("embedded", version) => Ok(Self::Embedded(version.map(String::from))),
            ("mongod", None) => Ok(Self::Mongod(None)),
            ("absorber", None) => Ok(Self::Absorber),
            _ if server.starts_with("mongodb") && server.contains("://") => Err(Error::usage(
                "--server names a kind of server, not a connection string",
                "give the connection string with --uri",
            )),
            _ if server.contains('/') => Ok(Self::Mongod(Some(server.into()))),
            _ => Err(Error::usage(
                format!("there is no server {server:?}"),
                "write `embedded`, `embedded@4.4`, `absorber`, `mongod` or a path to a mongod; \
                 for a running server give --uri",
            )),
        }
    }
}

impl ServerChoice {
    /// The mongod that it names, installed if need be; None where there is nothing to install.
    /// Blocks (downloads): call it before the runtime is busy, or on a blocking thread.
    pub fn prepare(&self, host: &Host, progress: Progress) -> Result<Option<Program>> {
        match self {
            Self::Embedded(wanted) => {
                Program::embedded(host, wanted.as_deref(), progress).map(Some)
            }
            Self::Mongod(path) => {
                Program::of_this_machine(host, path.as_deref(), progress).map(Some)
            }
            Self::Absorber | Self::External(_) => Ok(None),
        }
    }

    /// Starts it, or connects to it. `program` is what [`ServerChoice::prepare`] answered.
    pub async fn open(
        &self,
        host: &Host,
        program: Option<&Program>,
        options: &StartOptions,
    ) -> Result<Server> {
        match (self, program) {
            (Self::External(uri), _) => external::open(uri).await,
            (Self::Absorber, _) => absorber::start(options).await,
            (Self::Embedded(_) | Self::Mongod(_), Some(program)) => {
                start(host, program, options).await.map(Server::from)
            }
            (Self::Embedded(_) | Self::Mongod(_), None) => {
                unreachable!("a mongod is prepared before it is opened")
            }
        }
    }
}

/// Never shows credentials, so that the value may stand in logs and panics.
impl std::fmt::Debug for ServerChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Embedded(version) => f.debug_tuple("Embedded").field(version).finish(),
            Self::Absorber => f.write_str("Absorber"),
            Self::Mongod(path) => f.debug_tuple("Mongod").field(path).finish(),
            Self::External(uri) => f.debug_tuple("External").field(&mask_uri(uri)).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use base::error::Exit;

    use super::*;

    #[test]
    fn every_form_is_understood() {
        let parse = |server| ServerChoice::parse(Some(server), None).expect(server);
        assert_eq!(parse("embedded"), ServerChoice::Embedded(None));
        assert_eq!(parse("embedded@4.4"), ServerChoice::Embedded(Some("4.4".into())));
        assert_eq!(parse("absorber"), ServerChoice::Absorber);
        assert_eq!(parse("mongod"), ServerChoice::Mongod(None));
        assert_eq!(parse("/opt/m/mongod"), ServerChoice::Mongod(Some("/opt/m/mongod".into())));
        assert_eq!(ServerChoice::parse(None, None).unwrap(), ServerChoice::Embedded(None));
        let external = ServerChoice::parse(Some("embedded"), Some("mongodb://u:s3cret@h")).unwrap();
        assert_eq!(format!("{external:?}"), "External(\"mongodb://***:***@h\")");
    }

    #[test]
    fn mistakes_are_named_without_leaking() {
        for (server, uri) in [
            (Some("postgres"), None),
            (Some("mongod@7"), None),
            (Some("mongodb://u:s3cret@h"), None),
            (None, Some("u:s3cret@h")),
        ] {
            let error = ServerChoice::parse(server, uri).expect_err("a mistake");
            assert_eq!(error.exit, Exit::Usage);
            assert!(!error.to_string().contains("s3cret"));
        }
    }
}
