//! Servers of the figures, each a separate process: the absorber, the tap, the canned server.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base::child;
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
    /// An absorber on a separate port, with further words on its command line. It keeps to these
    /// cores; none: to all.
    pub fn absorber(bench: &Bench, words: &[&str], cores: &[usize]) -> Result<Self, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mongodyno"));
        command.args(["absorber", "--listen", "127.0.0.1:0"]).args(words);
        child::keep_to(&mut command, cores);
        Self::start(bench, command)
    }

    /// A tap in front of a server. We choose its address: it reports it only to people.
    pub fn tap(bench: &Bench, to: &str) -> Result<Self, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let address = free.map_err(|error| error.to_string())?.to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mongodyno"));
        command.args(["tap", "--listen", &address, "--to", to, "--out"]).arg(bench.fresh());
        command.stdout(Stdio::null());
        let (child, log) = spawn(bench, command)?;
        let tap = Self { child, address };
        for _ in 0..100 {
            if TcpStream::connect(&tap.address).is_ok() {
                return Ok(tap);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("the tap does not listen: {}", said(&log)))
    }

    /// Starts a program whose first line says where it listens.
    pub fn start(bench: &Bench, mut command: Command) -> Result<Self, String> {
        command.stdout(Stdio::piped());
        let (mut child, log) = spawn(bench, command)?;
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut started = Self { child, address: String::new() };
        let mut line = String::new();
        let read = stdout.read_line(&mut line);
        // The rest of the output must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        let first = read.ok().and_then(|_| serde_json::from_str(&line).ok());
        let first: Value = first.unwrap_or_default();
        match first["address"].as_str() {
            Some(address) => address.clone_into(&mut started.address),
            None => return Err(format!("no address in {line:?}: {}", said(&log))),
        }
        Ok(started)
    }

    /// Ends it as Ctrl-C would: its log is written.
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

/// Starts a server that ends with us, however we end; answers where its log is.
fn spawn(bench: &Bench, mut command: Command) -> Result<(Child, PathBuf), String> {
    let text = |error: std::io::Error| format!("a server cannot be started: {error}");
    let log = bench.fresh().with_extension("log");
    command.stdin(Stdio::null()).stderr(File::create(&log).map_err(text)?);
    let mut command = tokio::process::Command::from(command);
    child::die_with_parent(command.as_std_mut());
    Ok((command.as_std_mut().spawn().map_err(text)?, log))
}

fn said(log: &Path) -> String {
    std::fs::read_to_string(log).unwrap_or_default()
}
