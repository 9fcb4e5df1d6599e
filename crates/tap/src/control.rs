//! The tap, driven by the core: one listener for each arm, JSON lines on stdin and stdout.
//!
//! ```text
//! → {"type":"listening","addresses":["127.0.0.1:40001","127.0.0.1:40003"]}
//! ← {"type":"rotate","prefix":"FOLDER/tap/r01-find_one"}
//! → {"type":"rotated"}
//! ```
//! After `rotated` every command that a driver has an answer to is in the files of the earlier
//! prefix, which are closed, and what follows goes to `PREFIX-ARM.bin` and `PREFIX-ARM.json` (see
//! `recording`). Without a prefix, as at the beginning, nothing is recorded. The end of stdin is
//! the end of the core, and of the tap.

use std::fs::File;
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use base::clock::Epoch;
use base::error::{Error, Result};

use super::link::LinkSpec;
use super::mark::MarkFields;
use super::proxy::{Proxy, ProxyOptions, log_to_stderr};
use super::recording::{Recording, paths};
use super::tapped_arm::Sink;

/// Command from the core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ControlCommand {
    /// Close the files and begin others.
    Rotate {
        /// The beginning of their names; None if nothing is recorded.
        prefix: Option<PathBuf>,
    },
}

/// Message to the core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The first line.
    Listening {
        /// Addresses by arm.
        addresses: Vec<SocketAddr>,
    },
    /// The files of the earlier prefix are complete.
    Rotated,
    /// They are not complete, or others could not be created. The proxy continues, and records
    /// nothing until the next rotation.
    Failed {
        /// Reason, for people.
        message: String,
    },
}

/// Configuration of a tap.
#[derive(Debug)]
pub struct ControlOptions {
    /// The server, `HOST:PORT`.
    pub to: String,
    /// Listeners.
    pub arms: u16,
    /// The experiment's epoch.
    pub epoch: Epoch,
    /// The simulated link.
    pub link: Option<LinkSpec>,
    /// Fields that identify messages.
    pub marks: Option<MarkFields>,
}

/// Serves until `commands` end.
///
/// # Errors
/// A server whose name means nothing, no address to listen on; a command that is none.
pub fn serve(
    start: &ControlOptions,
    commands: impl BufRead,
    answers: &mut impl Write,
) -> Result<()> {
    let outputs: Vec<Arc<Output>> = (0..start.arms).map(|_| Arc::default()).collect();
    let options = ProxyOptions {
        listen: vec!["127.0.0.1:0".to_owned(); start.arms.into()],
        to: start.to.clone(),
        link: start.link.clone(),
        marks: start.marks.clone(),
        epoch: start.epoch,
        log: Arc::new(log_to_stderr),
    };
    let proxy = Proxy::start(&options, |arm| -> Sink {
        let output = outputs[arm].clone();
        Box::new(move |records| output.write(records))
    })?;
    let mut answer = |it: &Event| {
        let line = serde_json::to_string(it).expect("answers serialise");
        // A core that has ended is noticed at the next line.
        let _ = writeln!(answers, "{line}").and_then(|()| answers.flush());
    };
    answer(&Event::Listening { addresses: proxy.addresses().to_vec() });
    let spec = start.link.as_ref().map(ToString::to_string);
    let mut before: Option<PathBuf> = None;
    for line in commands.lines() {
        let Ok(line) = line else { break };
        let ControlCommand::Rotate { prefix } = serde_json::from_str(&line).map_err(|error| {
            Error::usage(format!("the tap got {line:?}: {error}"), "the core speaks to it")
        })?;
        let closed = outputs.iter().enumerate().try_for_each(|(arm, output)| {
            rotate(&proxy, arm, output, spec.as_ref(), before.as_deref(), prefix.as_deref())
        });
        answer(&match closed {
            Ok(()) => {
                before = prefix;
                Event::Rotated
            }
            Err(error) => {
                before = None;
                for output in &outputs {
                    output.exchange(None);
                }
                Event::Failed { message: error.to_string() }
            }
        });
    }
    Ok(())
}

fn rotate(
    proxy: &Proxy,
    arm: usize,
    output: &Output,
    link: Option<&String>,
    before: Option<&Path>,
    after: Option<&Path>,
) -> Result<()> {
    proxy.settle(arm);
    let recording = Recording {
        link: link.cloned(),
        shapes: proxy.shapes(),
        connections: proxy.connections(arm),
    };
    let opened = after.map(|prefix| {
        let (path, _) = paths(prefix, arm);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let file = folder.and_then(|()| File::create(&path));
        file.map_err(|error| Error::file("write", &path, &error))
    });
    let failed = output.exchange(opened.transpose()?);
    if let Some(prefix) = before {
        let (_, path) = paths(prefix, arm);
        let text = serde_json::to_vec(&recording).expect("recordings serialise");
        std::fs::write(&path, text).map_err(|error| Error::file("write", &path, &error))?;
    }
    failed.map_or(Ok(()), |error| {
        Err(Error::environment(format!("exchanges were lost: {error}"), "free some disk space"))
    })
}

/// File that one arm's records go to.
#[derive(Debug, Default)]
struct Output {
    state: Mutex<OutputState>,
}

#[derive(Debug, Default)]
struct OutputState {
    file: Option<File>,
    failed: Option<String>,
}

impl Output {
    fn write(&self, records: &[u8]) {
        let mut state = self.state.lock().expect("no panic");
        let Some(file) = &mut state.file else { return };
        if let Err(error) = file.write_all(records) {
            // Half a record may be in the file, and later ones would be read at the wrong place.
            state.file = None;
            state.failed = Some(error.to_string());
        }
    }

    /// Continues with another file; returns why the one before is not complete.
    fn exchange(&self, file: Option<File>) -> Option<String> {
        let mut state = self.state.lock().expect("no panic");
        state.file = file;
        state.failed.take()
    }
}
