//! The mongodyno adapter around the official MongoDB driver for Rust: reads a message, answers it.

mod calls;
mod client;
mod consumer;
mod documents;
mod errors;
mod operations;
mod protocol;
mod tailing;
mod timing;
mod workers;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::{self, Document};
use rustix::time::{clock_getres, ClockId};
use serde_json::{json, Value};
use tokio::io::{AsyncBufReadExt, BufReader, Stdin};
use tokio::runtime::Handle;
use tokio::signal::unix::{signal, SignalKind};

use consumer::Consumer;
use documents::stamped;
use errors::{Failure, MESSAGE_MAX};
use operations::Database;
use protocol::{parse, Deal, Message};
use timing::{Clock, Stop};
use workers::Phase;

const PROTOCOL: u32 = 2;
/// An answer begins with it.
const FRAME: char = '\x1e';
/// Between two messages of one batch, with the reading of the clock and the sample.
const CONSUMER_NS: u64 = 200;

#[tokio::main]
async fn main() -> io::Result<()> {
    let stop = Arc::new(Stop::default());
    let (mut sigterm, raised) = (signal(SignalKind::terminate())?, Arc::clone(&stop));
    tokio::spawn(async move {
        sigterm.recv().await;
        raised.raise();
    });
    let mut adapter = Adapter {
        lines: BufReader::new(tokio::io::stdin()),
        stop: Arc::clone(&stop),
        clock: Clock::default(),
        clients: Vec::new(),
        deal: Deal::default(),
        phase: None,
    };
    let mut line = Vec::new();
    let mut open = true;
    while open && !stop.is_raised() {
        line.clear();
        tokio::select! {
            read = adapter.lines.read_until(b'\n', &mut line) => open = read? > 0,
            () = stop.wait() => open = false,
        }
        if open {
            let answer = adapter.answer(&line).await;
            if stop.is_raised() {
                break; // a turn that was stopped has no answer
            }
            open = answer["type"] != "closed";
            let mut stdout = io::stdout().lock();
            writeln!(stdout, "{FRAME}{answer}")?;
            stdout.flush()?;
        }
    }
    // A return from main would wait for the thread that reads stdin.
    std::process::exit(0)
}

struct Adapter {
    lines: BufReader<Stdin>,
    stop: Arc<Stop>,
    clock: Clock,
    /// The database that `open` names, of each client.
    clients: Vec<Database>,
    deal: Deal,
    phase: Option<Running>,
}

/// A phase between `ready` and `ended`.
enum Running {
    Worker(Phase),
    Consumer(Consumer),
}

impl Adapter {
    async fn answer(&mut self, line: &[u8]) -> Value {
        let answer = match parse(line) {
            Ok(message) => self.dispatch(message).await,
            Err(failure) => Err(failure),
        };
        answer.unwrap_or_else(|Failure { code, message }| {
            let message: String = message.chars().take(MESSAGE_MAX).collect();
            json!({ "type": "error", "code": code, "message": message })
        })
    }

    async fn dispatch(&mut self, message: Message) -> Result<Value, Failure> {
        match message {
            Message::Hello { protocol, .. } if protocol != PROTOCOL => {
                Err(Failure::protocol(format!("this adapter speaks protocol {PROTOCOL}")))
            }
            Message::Hello { epoch_ns, .. } => {
                let epoch_ns = epoch_ns.parse().map_err(Failure::protocol)?;
                let answer = hello().await?;
                self.clock = Clock { epoch_ns };
                Ok(answer)
            }
            Message::Clock => Ok(json!({ "type": "clock", "now_ns": self.clock.now_ns() })),
            Message::Open { clients, deal, database } => {
                let (mut opened, mut resolved) = (Vec::new(), Value::Null);
                for target in clients {
                    let (client, options) = client::connect(&target.uri, &database).await?;
                    opened.push(client);
                    resolved = options;
                }
                (self.clients, self.deal) = (opened, deal);
                Ok(json!({ "type": "opened", "acknowledged": true, "resolved": resolved }))
            }
            Message::Prepare(message) => {
                self.phase = Some(self.prepare(&message).await?);
                Ok(json!({ "type": "ready" }))
            }
            Message::Turn { until_ns } => {
                let Adapter { lines, phase, .. } = self;
                let turn = async {
                    match phase {
                        Some(Running::Worker(phase)) => phase.turn(until_ns).await,
                        Some(Running::Consumer(consumer)) => consumer.turn(until_ns).await,
                        None => Err(Failure::protocol("no phase")),
                    }
                };
                tokio::select! {
                    biased;
                    done = turn => done,
                    () = end_of_input(lines) => std::process::exit(0),
                }
            }
            Message::End => match self.phase.take() {
                Some(Running::Worker(phase)) => Ok(phase.end()),
                Some(Running::Consumer(consumer)) => consumer.end().await,
                None => Err(Failure::protocol("no phase")),
            },
            Message::Close => {
                for database in self.clients.drain(..) {
                    operations::close(database.client().clone()).await;
                }
                Ok(json!({ "type": "closed" }))
            }
            Message::Render { template, stamps, input } => {
                let document = Document::from_reader(template.as_slice());
                let document = document.map_err(Failure::internal)?;
                let bytes = bson::to_vec(&stamped(&document, &stamps, &input));
                let bytes = bytes.map_err(Failure::internal)?;
                Ok(json!({ "type": "rendered", "bson": hex::encode(bytes) }))
            }
        }
    }

    async fn prepare(&self, message: &Value) -> Result<Running, Failure> {
        let Adapter { clients, deal, clock, stop, .. } = self;
        if message["consumer"].is_null() {
            return Ok(Running::Worker(Phase::prepare(message, clients, *deal, *clock, stop)?));
        }
        let database = clients.first().ok_or_else(|| Failure::protocol("no open before"))?;
        Ok(Running::Consumer(Consumer::prepare(message, database, *clock, stop).await?))
    }
}

/// Comes back when the core is gone. What it sends meanwhile stays in the buffer. In its first
/// second a turn does without: the thread that reads would start beside the workers.
async fn end_of_input(lines: &mut BufReader<Stdin>) {
    tokio::time::sleep(Duration::from_secs(1)).await;
    if lines.fill_buf().await.is_ok_and(|read| !read.is_empty()) {
        std::future::pending::<()>().await;
    }
}

async fn hello() -> Result<Value, Failure> {
    let metadata = tokio::time::timeout(Duration::from_secs(5), client::metadata()).await;
    let metadata = metadata.map_err(Failure::internal)?.map_err(Failure::internal)?;
    let driver = metadata.get_document("driver").map_err(Failure::internal)?;
    let text = |field| driver.get_str(field).ok();
    let rustc = metadata.get_str("platform").ok().and_then(|text| text.split(' ').nth(1));
    let threads = Handle::current().metrics().num_workers();
    Ok(json!({
        "type": "hello",
        "protocol": PROTOCOL,
        "adapter": "rust",
        "driver": { "name": text("name"), "version": text("version"), "native": null },
        "runtime": {
            "name": "rustc",
            "version": rustc,
            "flags": [format!("tokio worker_threads={threads}")],
        },
        "clock": {
            "source": "CLOCK_MONOTONIC",
            "resolution_ns": clock_getres(ClockId::Monotonic).tv_nsec,
        },
        "capabilities": {
            "operations": operations::KINDS.split(' ').collect::<Vec<_>>(),
            "pacing": ["awaited", "think", "window", "rate", "burst"],
            "extras": operations::EXTRAS.split(' ').collect::<Vec<_>>(),
            "shapes": [],
            "alters": [],
            "uri": "standard",
            "consumer_ns": CONSUMER_NS,
            "concurrency": { "kind": "tasks", "max": null, "threads": threads },
        },
    }))
}
