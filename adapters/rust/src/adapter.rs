//! The mongodyno adapter around the official MongoDB driver for Rust: reads a message, answers it.

/// The driver: one file for each generation of its API, and what generations have in common.
mod dialect {
    mod async3;
    mod client;
    #[cfg(test)]
    mod tests;

    pub use async3::*;
    pub use client::{connect, handshake};
}

/// The contract, without a word of the driver but for its BSON.
mod harness {
    pub mod consumer;
    pub mod documents;
    pub mod operations;
    pub mod protocol;
    pub mod samples;
    pub mod schedule;
    pub mod tailing;
    pub mod timing;
    pub mod workers;
}

use std::io::{self, BufRead, Write};
use std::process::exit;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::time::{clock_getres, ClockId};
use serde_json::{json, Value};
use tokio::runtime::Handle;
use tokio::select;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{mpsc, oneshot};

use dialect::bson::{self, Document};
use harness::consumer::Consumer;
use harness::documents::stamped;
use harness::protocol::{cut, parse, Failure, Message, Session};
use harness::timing::{Clock, Stop};
use harness::workers::Phase;

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
    // A thread of its own: tokio's stdin would start one beside the workers in each turn.
    let (sender, mut lines) = mpsc::channel(1);
    let (core, mut gone) = oneshot::channel::<()>();
    thread::spawn(move || {
        let _core = core;
        let lines = io::stdin().lock().split(b'\n').map_while(Result::ok);
        lines.map(|line| sender.blocking_send(line)).find(Result::is_err);
    });
    let session = Session { stop: Arc::clone(&stop), ..Session::default() };
    let mut adapter = Adapter { session, phase: None };
    loop {
        let line = select! { line = lines.recv() => line, () = stop.wait() => None };
        let Some(line) = line else { exit(0) };
        let answer = match parse(&line) {
            // SIGTERM ends a turn by itself.
            Ok(Message::Turn { until_ns }) => select! {
                biased;
                done = adapter.turn(until_ns) => done,
                _ = &mut gone => exit(0),
            },
            Ok(message) => select! {
                biased;
                answer = adapter.answer(message) => answer,
                () = stop.wait() => exit(0),
            },
            Err(failure) => Err(failure),
        };
        if stop.is_raised() {
            exit(0); // a turn that was stopped has no answer
        }
        let answer = answer.unwrap_or_else(|Failure { code, message }| {
            json!({ "type": "error", "code": code, "message": cut(&message) })
        });
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{FRAME}{answer}")?;
        stdout.flush()?;
        if answer["type"] == "closed" {
            exit(0); // a return from main would wait for tokio's threads
        }
    }
}

struct Adapter {
    session: Session,
    phase: Option<Running>,
}

/// A phase between `ready` and `ended`.
enum Running {
    Workers(Phase),
    Consumer(Consumer),
}

impl Adapter {
    async fn answer(&mut self, message: Message) -> Result<Value, Failure> {
        Ok(match message {
            Message::Hello { protocol, .. } if protocol != PROTOCOL => {
                return Err(Failure::protocol(format!("this adapter speaks protocol {PROTOCOL}")));
            }
            Message::Hello { epoch_ns, .. } => {
                let answer = hello().await?;
                self.session.clock = Clock { epoch_ns: epoch_ns.parse()? };
                answer
            }
            Message::Clock => json!({ "type": "clock", "now_ns": self.session.clock.now_ns() }),
            Message::Open { clients, deal, database } => {
                let (mut opened, mut resolved) = (Vec::new(), Value::Null);
                for target in clients {
                    let (client, options) = dialect::connect(&target, &database).await?;
                    opened.push(client);
                    resolved = options;
                }
                (self.session.clients, self.session.deal) = (opened, deal);
                json!({ "type": "opened", "acknowledged": true, "resolved": resolved })
            }
            Message::Prepare(message) => {
                self.phase = Some(if message["consumer"].is_null() {
                    Running::Workers(Phase::prepare(message, &self.session)?)
                } else {
                    Running::Consumer(Consumer::prepare(message, &self.session).await?)
                });
                json!({ "type": "ready" })
            }
            Message::Turn { until_ns } => self.turn(until_ns).await?,
            Message::End => match self.phase.take() {
                Some(Running::Workers(phase)) => phase.end(),
                Some(Running::Consumer(consumer)) => consumer.end().await?,
                None => return Err(Failure::protocol("no phase")),
            },
            Message::Close => {
                for client in self.session.clients.drain(..) {
                    dialect::close(client.client().clone()).await;
                }
                json!({ "type": "closed" })
            }
            Message::Render { template, stamps, input } => {
                let document = Document::from_reader(template.as_slice())?;
                let bytes = bson::to_vec(&stamped(&document, &stamps, &input))?;
                json!({ "type": "rendered", "bson": hex::encode(bytes) })
            }
        })
    }

    async fn turn(&mut self, until_ns: u64) -> Result<Value, Failure> {
        match &mut self.phase {
            Some(Running::Workers(phase)) => phase.turn(until_ns).await,
            Some(Running::Consumer(consumer)) => consumer.turn(until_ns).await,
            None => Err(Failure::protocol("no phase")),
        }
    }
}

async fn hello() -> Result<Value, Failure> {
    let handshake = tokio::time::timeout(Duration::from_secs(5), dialect::handshake()).await??;
    let driver = handshake.get_document("driver")?;
    let rustc = handshake.get_str("platform")?.split(' ').nth(1);
    let threads = Handle::current().metrics().num_workers();
    Ok(json!({
        "type": "hello",
        "protocol": PROTOCOL,
        "adapter": "rust",
        "driver": {
            "name": driver.get_str("name")?,
            "version": driver.get_str("version")?,
            "native": null,
        },
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
            "operations": dialect::KINDS.split(' ').collect::<Vec<_>>(),
            "pacing": ["awaited", "think", "window", "rate", "burst"],
            "extras": dialect::EXTRAS.split(' ').collect::<Vec<_>>(),
            "shapes": [],
            "alters": [],
            "uri": "standard",
            "consumer_ns": CONSUMER_NS,
            "concurrency": { "kind": "tasks", "max": null, "threads": threads },
        },
    }))
}
