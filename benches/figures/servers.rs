//! What figures measure against, each a process of its own: the absorber, the tap, the canned
//! server.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use mongodyno::child;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::Bench;

/// A process that listens, and ends with this value.
pub struct Listening {
    child: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
}

impl Listening {
    /// An absorber on a port of its own, with further words on its command line.
    pub fn absorber(bench: &Bench, words: &[&str]) -> Result<Self, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mongodyno"));
        command.args(["absorber", "--listen", "127.0.0.1:0"]).args(words);
        Self::start(bench, command)
    }

    /// A tap in front of a server.
    pub fn tap(bench: &Bench, to: &str) -> Result<Self, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mongodyno"));
        command.args(["tap", "--listen", "127.0.0.1:0", "--to", to, "--out"]);
        command.arg(bench.fresh());
        Self::start(bench, command)
    }

    /// Starts a program whose first line says where it listens.
    pub fn start(bench: &Bench, mut command: Command) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        let log = bench.fresh().with_extension("log");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(File::create(&log).map_err(text)?);
        let mut command = tokio::process::Command::from(command);
        child::die_with_parent(&mut command);
        let mut child = command.as_std_mut().spawn().map_err(text)?;
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let started = |address: &str| Self { child, address: address.to_owned() };
        let mut line = String::new();
        let read = stdout.read_line(&mut line);
        // Whatever else it prints must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        let said: Value =
            read.map_or(Value::Null, |_| serde_json::from_str(&line).unwrap_or_default());
        if let Some(address) = said["address"].as_str() {
            return Ok(started(address));
        }
        drop(started("")); // killed
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        Err(format!("{:?} does not listen: {line}{said}", command.as_std()))
    }

    /// Ends it as Ctrl-C would: what it logs is written.
    pub fn finish(mut self) -> Result<(), String> {
        child::signal(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM);
        self.child.wait().map(drop).map_err(|error| error.to_string())
    }

    /// Connection string, with the time limit that the contract wants in every one.
    pub fn uri(&self) -> String {
        format!("mongodb://{}/?serverSelectionTimeoutMS=5000", self.address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
