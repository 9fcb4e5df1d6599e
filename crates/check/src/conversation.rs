//! One conversation of the vectors: its lines (`protocol/vectors/README.md`), one after the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::absorbers::VectorAbsorber;
use crate::altered::{altered, comparable, document, unhex};
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

/// One line of a vector, whose first field says its kind.
#[derive(Deserialize)]
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
#[derive(Deserialize)]
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

#[derive(Deserialize)]
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

/// Replays a conversation with a fresh process, in a fresh folder, if the adapter declares all that
/// it needs. If it needs acknowledged writes, and these are not the driver's default, it is
/// replayed again with `w=1`.
///
/// # Errors
/// The first line that does not match.
pub async fn hold(
    environment: &Environment,
    declared: &Capabilities,
    folder: &Path,
    lines: Vec<VectorLine>,
) -> Result<ReplayOutcome, String> {
    if let Some(missing) = lines.iter().find_map(|line| missing(declared, line)) {
        return Ok(ReplayOutcome::LeftOut(missing));
    }
    let held = converse(environment, declared, folder, &lines, false).await?;
    if held != ReplayOutcome::LeftOut(BY_DEFAULT.to_owned()) {
        return Ok(held);
    }
    converse(environment, declared, folder, &lines, true).await
}

async fn converse(
    environment: &Environment,
    declared: &Capabilities,
    folder: &Path,
    lines: &[VectorLine],
    asks_w: bool,
) -> Result<ReplayOutcome, String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let log = folder.join("adapter.log");
    // A garbage collector lets the heap grow to what the machine has, so it gets a smaller limit,
    // as users set it.
    let grown_mib = lines.iter().find_map(|line| Some(line.memory.as_ref()?.grown_mib_max));
    let told = grown_mib.map(|mib| Arc::new(MemoryLimit::told(mib << 20)));
    let process = AdapterProcess::spawn(environment, &log, told.as_ref());
    let process = process.map_err(|error| error.to_string())?;
    let mut held = Conversation {
        declared,
        folder: folder.to_owned(),
        epoch: Epoch::start(),
        absorbers: Vec::new(),
        process,
        sent: Value::Null,
        phases: BTreeMap::new(),
        current: String::new(),
        rss_bytes: 0,
        asks_w,
        unacknowledged: false,
    };
    let mut result = held.lines(lines).await;
    if result == Ok(ReplayOutcome::Whole) {
        result = held.end().await.map(|()| ReplayOutcome::Whole);
    }
    held.process.kill().await;
    for absorber in held.absorbers {
        absorber.stop().await;
    }
    result
}

struct Conversation<'a> {
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

impl Conversation<'_> {
    async fn lines(&mut self, lines: &[VectorLine]) -> Result<ReplayOutcome, String> {
        for (number, line) in lines.iter().enumerate() {
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

/// Replaces `"{+50ms}"` by the time 50 ms after `now_ns`.
fn with_times(text: &str, now_ns: u64) -> String {
    let mut parts = text.split("\"{+");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let time = part.split_once("ms}\"").and_then(|(ms, rest)| Some((ms.parse().ok()?, rest)));
        match time {
            Some((ms, rest)) => {
                let ms: u64 = ms;
                filled += &(now_ns + ms * 1_000_000).to_string();
                filled += rest;
            }
            None => filled.extend(["\"{+", part]),
        }
    }
    filled
}

/// Checks that every named field exists and is equal; `"$any"` matches any value except null,
/// `{"$has": […]}` an array with at least these elements.
fn matches(wanted: &Value, found: &Value, place: &str) -> Result<(), String> {
    match (wanted, found) {
        (Value::String(any), Value::Null) if any == "$any" => Err(format!("{place} is null")),
        (Value::String(any), _) if any == "$any" => Ok(()),
        (Value::Object(has), _) if has.contains_key("$has") => {
            let there = found.as_array().map_or(&[][..], Vec::as_slice);
            let wanted = has["$has"].as_array().map_or(&[][..], Vec::as_slice);
            match wanted.iter().find(|it| !there.contains(it)) {
                Some(missing) => Err(format!("{place} lacks {missing}")),
                None => Ok(()),
            }
        }
        (Value::Object(wanted), Value::Object(found)) => {
            for (name, value) in wanted {
                let place = format!("{place}.{name}");
                let inner = found.get(name).ok_or_else(|| format!("{place} is missing"))?;
                matches(value, inner, &place)?;
            }
            Ok(())
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            let both = wanted.iter().zip(found).enumerate();
            both.into_iter().try_for_each(|(number, (wanted, found))| {
                matches(wanted, found, &format!("{place}[{number}]"))
            })
        }
        // Some languages write whole numbers with a point.
        (Value::Number(wanted), Value::Number(found)) if wanted.as_f64() == found.as_f64() => {
            Ok(())
        }
        _ if wanted == found => Ok(()),
        _ => Err(format!("{place} is {found}, expected {wanted}")),
    }
}

fn has_w(client: &Value) -> bool {
    !client["options"]["w"].is_null()
}

/// Asks for acknowledged writes in `open`, unless the vector sets `w` itself.
fn ask_for_answers(message: &mut Value) {
    for client in message["clients"].as_array_mut().into_iter().flatten() {
        if !has_w(client) {
            let uri = client["uri"].as_str().unwrap_or_default();
            let between = if uri.contains('?') { '&' } else { '?' };
            client["uri"] = format!("{uri}{between}w=1").into();
            client["options"]["w"] = "1".into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn expectations_name_the_first_difference() {
        let found = json!({
            "type": "ready", "a": { "b": 1, "c": null }, "further": 2, "list": [1, { "d": 2.0 }],
        });
        let holds = |wanted: Value| matches(&wanted, &found, "");
        assert_eq!(holds(json!({ "type": "ready", "a": { "b": "$any" } })), Ok(()));
        assert_eq!(holds(json!({ "list": [1, { "d": 2 }] })), Ok(()));
        assert_eq!(holds(json!({ "list": { "$has": [1] } })), Ok(()));
        assert_eq!(holds(json!({ "list": { "$has": [3] } })), Err(".list lacks 3".to_owned()));
        assert!(holds(json!({ "list": [1] })).is_err());
        assert_eq!(holds(json!({ "a": { "b": 2 } })), Err(".a.b is 1, expected 2".to_owned()));
        assert_eq!(holds(json!({ "a": { "c": "$any" } })), Err(".a.c is null".to_owned()));
        assert_eq!(holds(json!({ "z": 1 })), Err(".z is missing".to_owned()));
    }

    #[test]
    fn answers_are_asked_for_where_nothing_is_said() {
        let mut message = json!({ "type": "open", "clients": [
            { "uri": "mongodb://a/", "options": {} },
            { "uri": "mongodb://a/?x=1", "options": { "x": "1" } },
            { "uri": "mongodb://a/?w=0", "options": { "w": "0" } },
        ] });
        ask_for_answers(&mut message);
        assert_eq!(
            message["clients"],
            json!([
                { "uri": "mongodb://a/?w=1", "options": { "w": "1" } },
                { "uri": "mongodb://a/?x=1&w=1", "options": { "x": "1", "w": "1" } },
                { "uri": "mongodb://a/?w=0", "options": { "w": "0" } },
            ])
        );
    }

    #[test]
    fn times_are_filled_in() {
        let filled = with_times(r#"{"a":"{+50ms}","b":"{+x}","c":"{+2ms}"}"#, 7);
        assert_eq!(filled, r#"{"a":50000007,"b":"{+x}","c":2000007}"#);
    }
}
