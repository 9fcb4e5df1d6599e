//! One conversation of the vectors: its lines (`protocol/vectors/README.md`), one after the other.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::absorbers::VectorAbsorber;
use crate::altered::{altered, comparable, document, unhex};
use crate::expectations::{ask_for_answers, has_w, matches, with_times};
use crate::sampled::{self, ExpectedSamples, TurnSpan};
use crate::{ANSWER_TIMEOUT, equal};
use adapter::adapter_process::AdapterProcess;
use adapter::environment::Environment;
use adapter::memory_limit::MemoryLimit;
use adapter::protocol::{Alters, Capabilities};
use base::child::rss_bytes;
use base::clock::Epoch;

/// Longest wait for documents whose writes are not acknowledged.
const ARRIVES: Duration = Duration::from_secs(5);
/// Longest wait until the process has ended by itself.
const ENDS: Duration = Duration::from_secs(5);
/// Characters of an answer that a failure quotes.
const QUOTED_CHARACTERS: usize = 600;
const BY_DEFAULT: &str = "writes acknowledged by default, or with w=1";
/// Lines in which a conversation closes: the message and its answer.
const CLOSING: usize = 2;

/// One line of a vector, whose first field says its kind.
#[derive(Deserialize, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct VectorLine {
    #[serde(rename = "note")]
    _note: Option<String>,
    needs: Option<Vec<String>>,
    workers: Option<u32>,
    absorber: Option<BTreeMap<String, String>>,
    file: Option<String>,
    #[serde(default)]
    hex: String,
    repeat: Option<usize>,
    send: Option<Value>,
    #[serde(rename = "send_line")]
    raw: Option<String>,
    samples: Option<String>,
    expect: Option<Value>,
    create: Option<VectorCollection>,
    insert: Option<VectorCollection>,
    documents: Option<VectorCollection>,
    kill_cursors: Option<VectorCollection>,
    drop: Option<VectorCollection>,
    connections_max: Option<i64>,
    memory: Option<MemoryGrowth>,
    wait_ms: Option<u64>,
}

/// A collection of an absorber.
#[derive(Deserialize, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
struct VectorCollection {
    #[serde(rename = "collection")]
    name: String,
    /// Number of the absorber, from 1.
    #[serde(default = "first")]
    server: usize,
    capped: Option<i64>,
    #[serde(default)]
    documents: Vec<String>,
    #[serde(default)]
    expect: Vec<String>,
    /// Whether fields may be in any order, because a class orders them as its language does.
    #[serde(default)]
    any_field_order: bool,
}

fn first() -> usize {
    1
}

#[derive(Deserialize, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
struct MemoryGrowth {
    grown_mib_max: u64,
}

/// Result of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub enum ReplayOutcome {
    Whole,
    /// It needs capabilities that the adapter does not declare.
    LeftOut(String),
}

/// The lines in which a conversation begins: its absorbers, `hello` and `open`, and the answers.
fn beginning(lines: &[VectorLine]) -> Range<usize> {
    let is_said = |it: &VectorLine| it.absorber.is_some() || it.send.is_some() || it.raw.is_some();
    let begins = |it: &VectorLine| match &it.send {
        Some(message) => message["type"] == "hello" || message["type"] == "open",
        None => it.absorber.is_some() || (it.expect.is_some() && it.samples.is_none()),
    };
    let start = lines.iter().position(is_said).unwrap_or(lines.len());
    start..start + lines[start..].iter().take_while(|it| begins(it)).count()
}

/// Whether a conversation can go on where another one has ended that began in the same way. Those
/// that count connections, or memory, begin with none.
pub fn goes_on(earlier: &[VectorLine], lines: &[VectorLine]) -> bool {
    let counts = |line: &VectorLine| line.connections_max.is_some() || line.memory.is_some();
    let closes = |lines: &[VectorLine]| {
        let last = lines.iter().rev().nth(CLOSING - 1).and_then(|line| line.send.as_ref());
        last.is_some_and(|it| it["type"] == "close")
    };
    let own = &lines[beginning(lines)];
    let mut both = earlier.iter().chain(lines);
    !own.is_empty() && *own == earlier[beginning(earlier)] && closes(earlier) && !both.any(counts)
}

/// Capabilities that a conversation needs and the adapter does not declare.
pub fn lacks(declared: &Capabilities, lines: &[VectorLine]) -> Option<String> {
    lines.iter().find_map(|line| missing(declared, line))
}

/// Replays a conversation with a fresh process, or with one that is `kept` from another that began
/// in the same way. If it needs acknowledged writes, and these are not the driver's default, it is
/// replayed again with `w=1`. The process is kept for the next one if `keep` says so and nothing
/// was wrong.
///
/// # Errors
/// The first line that does not match.
pub async fn hold<'a>(
    environment: &Environment,
    declared: &'a Capabilities,
    folder: &Path,
    lines: &[VectorLine],
    (kept, keep): (&mut Option<Conversation<'a>>, bool),
) -> Result<ReplayOutcome, String> {
    let mut asks_w = false;
    loop {
        let begun = kept.is_some();
        let held = match kept.take() {
            Some(held) => held,
            None => Conversation::start(environment, declared, folder, lines, asks_w)?,
        };
        let outcome = converse(held, lines, begun, (&mut *kept, keep)).await?;
        if asks_w || outcome != ReplayOutcome::LeftOut(BY_DEFAULT.to_owned()) {
            return Ok(outcome);
        }
        asks_w = true;
    }
}

async fn converse<'a>(
    mut held: Conversation<'a>,
    lines: &[VectorLine],
    begun: bool,
    (kept, keep): (&mut Option<Conversation<'a>>, bool),
) -> Result<ReplayOutcome, String> {
    let last = lines.len() - if keep { CLOSING } else { 0 };
    let mut result = held.lines(&lines[..last], begun).await;
    if result == Ok(ReplayOutcome::Whole) {
        if keep {
            *kept = Some(held);
            return result;
        }
        result = held.end().await.map(|()| ReplayOutcome::Whole);
    }
    held.process.kill().await;
    for absorber in held.absorbers {
        absorber.stop().await;
    }
    result
}

/// An adapter's process and its absorbers, between two lines.
pub struct Conversation<'a> {
    declared: &'a Capabilities,
    folder: PathBuf,
    epoch: Epoch,
    absorbers: Vec<VectorAbsorber>,
    process: AdapterProcess,
    /// The last message.
    sent: Value,
    /// Turns by sample file.
    phases: BTreeMap<String, Vec<TurnSpan>>,
    /// The sample file of the present phase.
    current: String,
    /// Resident memory at the last `ready`.
    rss_bytes: u64,
    /// Whether a connection string without `w` gets one.
    asks_w: bool,
    /// Whether writes are unacknowledged by the driver's default, for which there is no vector.
    unacknowledged: bool,
}

impl<'a> Conversation<'a> {
    fn start(
        environment: &Environment,
        declared: &'a Capabilities,
        folder: &Path,
        lines: &[VectorLine],
        asks_w: bool,
    ) -> Result<Self, String> {
        empty(folder)?;
        // A garbage collector lets the heap grow to what the machine has, so it gets a smaller
        // limit, as users set it.
        let grown_mib = lines.iter().find_map(|line| Some(line.memory.as_ref()?.grown_mib_max));
        let told = grown_mib.map(|mib| Arc::new(MemoryLimit::told(mib << 20)));
        let process =
            AdapterProcess::spawn(environment, &folder.join("adapter.log"), told.as_ref());
        Ok(Self {
            declared,
            folder: folder.to_owned(),
            epoch: Epoch::start(),
            absorbers: Vec::new(),
            process: process.map_err(|error| error.to_string())?,
            sent: Value::Null,
            phases: BTreeMap::new(),
            current: String::new(),
            rss_bytes: 0,
            asks_w,
            unacknowledged: false,
        })
    }

    /// Says all lines. One that goes on where another has ended has no files, no collections, and
    /// has said how it begins.
    async fn lines(&mut self, lines: &[VectorLine], begun: bool) -> Result<ReplayOutcome, String> {
        let said = if begun { beginning(lines) } else { 0..0 };
        if begun {
            empty(&self.folder)?;
            self.absorbers.iter_mut().try_for_each(VectorAbsorber::empty)?;
            self.phases.clear();
        }
        for (number, line) in lines.iter().enumerate() {
            if said.contains(&number) {
                continue;
            }
            self.line(line).await.map_err(|error| format!("line {}: {error}", number + 1))?;
            if self.unacknowledged {
                return Ok(ReplayOutcome::LeftOut(BY_DEFAULT.to_owned()));
            }
        }
        Ok(ReplayOutcome::Whole)
    }

    async fn end(&mut self) -> Result<(), String> {
        self.process.close_input();
        match self.process.wait(ENDS).await {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("it ended with {status}")),
            None => Err(format!("it lives on {} s after its input has ended", ENDS.as_secs())),
        }
    }

    async fn line(&mut self, line: &VectorLine) -> Result<(), String> {
        if let Some(options) = &line.absorber {
            let log = self.folder.join(format!("absorber{}.log", self.absorbers.len()));
            self.absorbers.push(VectorAbsorber::start(options, &log).await?);
        } else if let Some(name) = &line.file {
            let bytes = unhex(&line.hex)?.repeat(line.repeat.unwrap_or(1));
            fs::write(self.folder.join(name), bytes).map_err(|error| format!("{name}: {error}"))?;
        } else if let Some(message) = &line.send {
            let text = self.filled(&message.to_string());
            self.sent = serde_json::from_str(&text).map_err(|error| format!("{text}: {error}"))?;
            if self.asks_w {
                ask_for_answers(&mut self.sent);
            }
            self.process.send_line(&self.sent.to_string()).await;
        } else if let Some(text) = &line.raw {
            let text = self.filled(text);
            self.process.send_line(&text).await;
        } else if let Some(name) = &line.samples {
            self.samples(name, line.expect.clone().unwrap_or_default())?;
        } else if let Some(asked) = &line.documents {
            self.documents(asked).await?;
        } else if let Some(wanted) = &line.expect {
            self.expect(wanted).await?;
        } else if let Some(asked) = &line.create {
            self.absorber(asked)?.create(&asked.name, asked.capped)?;
        } else if let Some(asked) = &line.insert {
            let alters = self.declared.alters.clone();
            let made =
                asked.documents.iter().map(|it| Ok::<_, String>(altered(document(it)?, &alters)));
            let made = made.collect::<Result<Vec<_>, _>>()?;
            self.absorber(asked)?.insert(&asked.name, made)?;
        } else if let Some(asked) = &line.drop {
            self.absorber(asked)?.drop(&asked.name)?;
        } else if let Some(asked) = &line.kill_cursors {
            self.absorber(asked)?.kill_cursors(&asked.name)?;
        } else if let Some(most) = line.connections_max {
            let absorber = self.absorbers.first_mut().ok_or("no absorber")?;
            let made = absorber.connections()?;
            if made > most {
                return Err(format!("{made} connections were made, at most {most}"));
            }
        } else if let Some(MemoryGrowth { grown_mib_max }) = &line.memory {
            let now = rss_bytes(self.process.pid()).map_or(0, |(now, _)| now);
            let grown_mib = now.saturating_sub(self.rss_bytes) >> 20;
            if grown_mib > *grown_mib_max {
                return Err(format!("its memory has grown by {grown_mib} MiB since `ready`"));
            }
        } else if let Some(ms) = line.wait_ms {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        Ok(())
    }

    fn absorber(&mut self, asked: &VectorCollection) -> Result<&mut VectorAbsorber, String> {
        let absorbers = self.absorbers.len();
        let place = asked.server.wrapping_sub(1);
        let wrong = || format!("absorber {} of {absorbers}", asked.server);
        self.absorbers.get_mut(place).ok_or_else(wrong)
    }

    /// A text with its placeholders filled in.
    fn filled(&self, text: &str) -> String {
        let folder = self.folder.display().to_string();
        let mut text = text.replace("{dir}", &folder).replace("{epoch}", &self.epoch.to_string());
        for (number, absorber) in self.absorbers.iter().enumerate() {
            let suffix = if number == 0 { String::new() } else { (number + 1).to_string() };
            text =
                text.replace(&format!("{{uri{suffix}}}"), &format!("mongodb://{}/", absorber.host));
            text = text.replace(&format!("{{host{suffix}}}"), &absorber.host);
        }
        with_times(&text, self.epoch.now_ns())
    }

    async fn expect(&mut self, wanted: &Value) -> Result<(), String> {
        let answer = self.process.answer_line("the vector", ANSWER_TIMEOUT).await;
        let answer = answer.map_err(|error| error.to_string())?;
        let found: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        let quoted = || answer.chars().take(QUOTED_CHARACTERS).collect::<String>();
        self.unacknowledged = wanted["acknowledged"] == true
            && if self.asks_w {
                found["code"] == "unsupported"
            } else {
                found["acknowledged"] == false && !has_w(&self.sent["clients"][0])
            };
        if self.unacknowledged {
            return Ok(());
        }
        matches(wanted, &found, "")
            .map_err(|error| format!("{error}; it answered {}", quoted()))?;
        match found["type"].as_str() {
            Some("ready") => {
                let samples = self.sent["samples"].as_str().unwrap_or_default();
                let name = Path::new(samples).file_name().unwrap_or_default();
                self.current = name.to_string_lossy().into_owned();
                self.phases.insert(self.current.clone(), Vec::new());
                self.rss_bytes = rss_bytes(self.process.pid()).map_or(0, |(now, _)| now);
            }
            Some("turn_done") => {
                let began_ns = found["began_ns"].as_u64().ok_or("`began_ns` is no number")?;
                let until_ns = self.sent["until_ns"].as_u64().unwrap_or(u64::MAX);
                self.phases.entry(self.current.clone()).or_default().push((began_ns, until_ns));
            }
            _ => {}
        }
        Ok(())
    }

    fn samples(&self, name: &str, wanted: Value) -> Result<(), String> {
        let wanted: ExpectedSamples =
            serde_json::from_value(wanted).map_err(|error| error.to_string())?;
        let samples = sampled::read(&self.folder.join(name))?;
        let turns = self.phases.get(name).map_or(&[][..], Vec::as_slice);
        sampled::judge(&wanted, &samples, turns, self.epoch.now_ns())
    }

    /// Waits until exactly these documents are in the collection.
    async fn documents(&mut self, asked: &VectorCollection) -> Result<(), String> {
        let mut alters: Vec<Alters> = self.declared.alters.clone();
        alters.extend(asked.any_field_order.then_some(Alters::FieldOrder));
        let wanted = asked
            .expect
            .iter()
            .map(|it| Ok::<_, String>(comparable(&altered(document(it)?, &alters), &alters)));
        let mut wanted = wanted.collect::<Result<Vec<_>, _>>()?;
        wanted.sort_unstable();
        let began_ns = self.epoch.now_ns();
        loop {
            let documents = self.absorber(asked)?.documents(&asked.name)?;
            let mut found: Vec<Vec<u8>> =
                documents.iter().map(|it| comparable(it, &alters)).collect();
            found.sort_unstable();
            if found == wanted {
                return Ok(());
            }
            if self.epoch.now_ns() - began_ns > ARRIVES.as_nanos() as u64 {
                equal("documents", &found.len(), &wanted.len())?;
                let other = found.iter().find(|it| !wanted.contains(it));
                let hex = other.map_or(String::new(), |it| base::strings::hex(it));
                return Err(format!("a document arrived as {hex}"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn empty(folder: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Capabilities that a line needs and the adapter does not declare.
fn missing(declared: &Capabilities, line: &VectorLine) -> Option<String> {
    let Capabilities { operations, pacing, extras, shapes, .. } = declared;
    let known = |word: &str| {
        (word == "consumer" && declared.consumer_ns.is_some())
            || [operations, pacing, extras, shapes].iter().any(|it| it.iter().any(|it| it == word))
    };
    let most = declared.concurrency.max.unwrap_or(u32::MAX);
    let workers = line.workers.filter(|workers| *workers > most);
    let workers = workers.map(|workers| format!("{workers} workers in a process"));
    let words = line.needs.iter().flatten().filter(|word| !known(word)).cloned();
    let missing: Vec<String> = words.chain(workers).collect();
    (!missing.is_empty()).then(|| missing.join(", "))
}
