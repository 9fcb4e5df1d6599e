//! What lies between the arms' drivers and the server when it is asked for: the tap, with or
//! without a link. A process of its own, with one port for each arm, so that every command is its
//! arm's without a guess.

use std::fs::File;
use std::path::{Path as FilePath, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::child::die_with_parent;
use crate::clock::Epoch;
use crate::error::{Error, Exit, Result};
use crate::server::ServerRecord;
use crate::server::uri::{only_host, with_host};

/// For validating a link, and for writing what is buffered.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// A running tap. Its process ends with the value.
pub struct Path {
    /// URI of each arm: the server's, with the arm's port of the tap as its host.
    pub uris: Vec<String>,
    log: PathBuf,
    stdin: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    // Killed when it is dropped.
    _child: Child,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Answer {
    Listening { addresses: Vec<String> },
    Rotated,
}

impl Path {
    /// Starts the tap for so many arms in front of the server at `uri`.
    ///
    /// # Errors
    /// A server that drivers would go round it to, a link that does not hold what it promises.
    pub async fn start(
        uri: &str,
        server: &ServerRecord,
        arms: usize,
        epoch: &Epoch,
        link: Option<&str>,
        log: &FilePath,
    ) -> Result<Self> {
        let host = only_host(uri).filter(|_| !server.topology.starts_with("replica set"));
        let host = host.ok_or_else(|| {
            Error::usage(
                "--tap and --link stand in front of one address, and the drivers of a replica set \
                 would go round it",
                "name a standalone server or one mongos with --uri",
            )
        })?;
        let failed =
            |error: &std::io::Error| Error::file("start the tap, with its log in", log, error);
        let stderr = File::create(log).map_err(|error| failed(&error))?;
        let program = std::env::current_exe().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command.arg("tap").args(["--to", &host]);
        command.arg(format!("--arms={arms}")).arg(format!("--epoch-ns={epoch}"));
        command.args(link.map(|link| format!("--link={link}")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).kill_on_drop(true);
        die_with_parent(&mut command);
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let mut path = Self {
            uris: Vec::new(),
            log: log.to_owned(),
            stdin: child.stdin.take().expect("it is piped"),
            answers: BufReader::new(child.stdout.take().expect("it is piped")).lines(),
            _child: child,
        };
        let Answer::Listening { addresses } = path.answer().await? else {
            return Err(path.lost("it did not begin with where it listens"));
        };
        path.uris = addresses.iter().map(|address| with_host(uri, address)).collect();
        Ok(path)
    }

    /// Everything recorded so far is in the files of the last prefix; from now on it goes to
    /// those of `prefix`.
    ///
    /// # Errors
    /// The tap is lost.
    pub async fn rotate(&mut self, prefix: &FilePath) -> Result<()> {
        let line = format!("{}\n", json!({ "type": "rotate", "prefix": prefix }));
        let written = self.stdin.write_all(line.as_bytes()).await;
        written.map_err(|error| self.lost(&error.to_string()))?;
        match self.answer().await? {
            Answer::Rotated => Ok(()),
            Answer::Listening { .. } => Err(self.lost("it answered something else")),
        }
    }

    async fn answer(&mut self) -> Result<Answer> {
        let line = timeout(ANSWER_LIMIT, self.answers.next_line()).await;
        let line = line.map_err(|_| self.lost("it does not answer"))?;
        let line = line.ok().flatten().ok_or_else(|| self.lost("it ended"))?;
        serde_json::from_str(&line).map_err(|error| self.lost(&format!("{error}: {line}")))
    }

    fn lost(&self, why: &str) -> Error {
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = said.trim().lines().next_back().unwrap_or_default().to_owned();
        let why = if last.is_empty() { why.to_owned() } else { last };
        Error::new(Exit::Environment, format!("the tap is lost: {why}"), "see --help for --link")
    }
}
