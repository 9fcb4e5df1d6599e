//! The tap between the arms' drivers and the server, with or without a link. It is a process with
//! one port for each arm, so that each command has a certain arm.

use std::fs::File;
use std::path::{Path as FilePath, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use base::child::{die_with_parent, ourselves};
use base::clock::Epoch;
use base::error::{Error, Exit, Result};
use server::ServerRecord;
use server::connection_string::{only_host, with_host};
use tap::control::{ControlCommand as Control, Event};
use tap::refusal;

/// Limit for writing its buffers.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Fields that name a message (SPEC section 8).
const MESSAGE_MARK: &str = "producer,sequence";
const FOLDER: &str = "tap";

pub struct TapPath {
    /// URI of each arm: the server's, with the arm's port of the tap as its host.
    pub uris: Vec<String>,
    folder: PathBuf,
    log: PathBuf,
    stdin: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    // Killed when it is dropped.
    _child: Child,
}

impl TapPath {
    /// Starts a tap for `arms` arms in front of the server at `uri`, with its files below
    /// `experiment`. With `mark` it records the message of each command.
    ///
    /// # Errors
    /// Drivers would go past it to this server; the tap does not start.
    pub async fn start(
        uri: &str,
        server: &ServerRecord,
        arms: usize,
        epoch: &Epoch,
        link: Option<&str>,
        mark: bool,
        experiment: &FilePath,
    ) -> Result<Self> {
        const WAY_OUT: &str = "name a standalone server or one mongos with --uri";
        if let Some(reason) = refusal(&server.topology) {
            return Err(Error::usage(reason, WAY_OUT));
        }
        let host = only_host(uri).ok_or_else(|| {
            Error::usage("--tap and --link work with one address, not with several", WAY_OUT)
        })?;
        let log = experiment.join("logs/tap.log");
        let failed =
            |error: &std::io::Error| Error::file("start the tap, with its log in", &log, error);
        let stderr = File::create(&log).map_err(|error| failed(&error))?;
        let mut command = Command::from(ourselves());
        command.arg("tap").args(["--to", &host]);
        command.arg(format!("--arms={arms}")).arg(format!("--epoch-ns={epoch}"));
        command.args(link.map(|link| format!("--link={link}")));
        if mark {
            command.arg(format!("--mark={MESSAGE_MARK}"));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).kill_on_drop(true);
        die_with_parent(command.as_std_mut());
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let mut path = Self {
            uris: Vec::new(),
            folder: experiment.join(FOLDER),
            log,
            stdin: child.stdin.take().expect("it is piped"),
            answers: BufReader::new(child.stdout.take().expect("it is piped")).lines(),
            _child: child,
        };
        let Event::Listening { addresses } = path.answer().await? else {
            return Err(path.lost("it did not begin with where it listens"));
        };
        let through = |address: &std::net::SocketAddr| with_host(uri, &address.to_string());
        path.uris = addresses.iter().map(through).collect();
        Ok(path)
    }

    /// Prefix of the files of one phase: of a round, of a block of it, or of an arm that has the
    /// phase to itself, as `name` says.
    pub fn prefix(&self, name: &str, phase: &str) -> PathBuf {
        self.folder.join(format!("{name}-{phase}"))
    }

    /// Completes the files of the last prefix. From now on exchanges go to those of `prefix`, or
    /// nowhere.
    pub async fn rotate(&mut self, prefix: Option<PathBuf>) -> Result<()> {
        let mut line = serde_json::to_string(&Control::Rotate { prefix }).expect("it serialises");
        line.push('\n');
        let written = self.stdin.write_all(line.as_bytes()).await;
        written.map_err(|error| self.lost(&error.to_string()))?;
        match self.answer().await? {
            Event::Rotated => Ok(()),
            Event::Failed { message } => Err(self.lost(&message)),
            Event::Listening { .. } => Err(self.lost("it answered something else")),
        }
    }

    async fn answer(&mut self) -> Result<Event> {
        let line = timeout(ANSWER_LIMIT, self.answers.next_line()).await;
        let line = line.map_err(|_| self.lost("it does not answer"))?;
        let line = line.ok().flatten().ok_or_else(|| self.lost("it ended"))?;
        serde_json::from_str(&line).map_err(|error| self.lost(&format!("{error}: {line}")))
    }

    fn lost(&self, why: &str) -> Error {
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = said.trim().lines().next_back().unwrap_or_default();
        let said = if last.is_empty() { String::new() } else { format!(" ({last})") };
        Error::new(
            Exit::Environment,
            format!("the tap is lost: {why}{said}"),
            format!("see its log, {}; finished rounds are kept", self.log.display()),
        )
    }
}
