//! Reaches the server before anything is installed. An unreachable one is named at once, and one of
//! ours is downloaded.

use std::path::PathBuf;

use base::error::Result;
use record::records::ServerKind;
use server::{Host, InstallProgress, Program, ServerChoice, ServerHandle, StartOptions, connect};

/// A server that answered, or that can be started.
pub struct Reached {
    host: Host,
    choice: ServerChoice,
    program: Option<Program>,
}

impl Reached {
    /// Says what is wrong with the words for a server, as far as that can be said without
    /// installing, starting or asking anything.
    pub fn check(server: &str, uri: Option<&str>, offline: bool) -> Result<()> {
        ServerChoice::parse(server, uri)?.check(&Host { offline, ..Host::detect()? })
    }

    /// Asks the server at `uri` who it is, or downloads one of ours, unless `offline`. It blocks:
    /// until signals are watched, Ctrl-C ends the program and its download.
    ///
    /// # Errors
    /// The server does not exist, does not answer or refuses; the download fails.
    pub async fn at(server: &str, uri: Option<&str>, offline: bool) -> Result<Self> {
        let host = Host { offline, ..Host::detect()? };
        let choice = ServerChoice::parse(server, uri)?;
        if let Some(uri) = choice.uri() {
            connect(uri).await?;
        }
        let program = choice.prepare(&host, InstallProgress::default())?;
        Ok(Self { host, choice, program })
    }

    /// Asks several servers of somebody's.
    ///
    /// # Errors
    /// A host that is none, or that does not answer.
    pub async fn hosts(hosts: &[String]) -> Result<Self> {
        let choice = ServerChoice::hosts(hosts)?;
        for uri in choice.uris() {
            connect(uri).await?;
        }
        Ok(Self { host: Host::detect()?, choice, program: None })
    }

    /// Starts the server, or connects to it.
    pub async fn open(&self, options: &StartOptions) -> Result<ServerHandle> {
        self.choice.open(&self.host, self.program.as_ref(), options).await
    }

    /// Whether it is this program again.
    pub fn is_absorber(&self) -> bool {
        self.choice.kind() == ServerKind::Absorber
    }

    /// Where the data of a mongod of ours goes.
    pub fn data(&self) -> Option<PathBuf> {
        self.program.as_ref().map(|_| self.host.data())
    }

    /// The connection string of somebody else's server.
    pub fn uri(&self) -> Option<&str> {
        self.choice.uri()
    }
}
