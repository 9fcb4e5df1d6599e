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
    pub mod files;
    pub mod operations;
    pub mod phase;
    pub mod protocol;
    pub mod tailing;
    pub mod timing;
    pub mod workers;
}

use std::io::{self, BufRead, Write};
use std::process::exit;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use rustix::time::{clock_getres, ClockId};
use serde_json::{json, Value};
use tokio::runtime::Handle;
use tokio::select;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{mpsc, oneshot};

use dialect::bson::{self, Document};
use harness::documents::stamped;
use harness::phase::Phase;
use harness::protocol::{cut, parse, Failure, Message, Render, Session};
use harness::timing::{now_ns, EPOCH_NS, STOP};
use harness::{consumer, workers};

const PROTOCOL: u32 = 2;
/// An answer begins with it.
const FRAME: char = '\x1e';
/// Between two messages of one batch, with the reading of the clock and the sample.
const CONSUMER_NS: u64 = 200;

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut sigterm = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        sigterm.recv().await;
        STOP.set(())
    });
    // A thread of its own: tokio's stdin would start one beside the workers in each turn.
    let (sender, mut lines) = mpsc::channel(1);
    let (core, mut gone) = oneshot::channel::<()>();
    thread::spawn(move || {
        let _core = core;
        for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    let mut adapter = Adapter { session: Session::default(), phase: None };
    loop {
        let line = select! { line = lines.recv() => line, _ = STOP.wait() => None };
        let message = parse(&line.unwrap_or_else(|| exit(0)));
        let turn = matches!(message, Ok(Message::Turn { .. }));
        let answer = select! {
            biased;
            answer = adapter.answer(message) => answer,
            _ = &mut gone, if turn => exit(0),
            // A turn ends by itself then.
            _ = STOP.wait(), if !turn => exit(0),
        };
        if STOP.initialized() {
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
    phase: Option<Phase>,
}

impl Adapter {
    async fn answer(&mut self, message: Result<Message, Failure>) -> Result<Value, Failure> {
        Ok(match message? {
            Message::Hello { protocol: PROTOCOL, epoch_ns } => {
                let answer = hello().await?;
                EPOCH_NS.store(epoch_ns.parse()?, Relaxed);
                answer
            }
            Message::Hello { .. } => {
                let message = format!("this adapter speaks protocol {PROTOCOL}");
                return Err(Failure::new("protocol", message));
            }
            Message::Clock => json!({ "type": "clock", "now_ns": now_ns() }),
            Message::Open { clients, deal, database } => {
                let (mut opened, mut resolved) = (Vec::new(), Value::Null);
                for target in clients {
                    let (client, options) = dialect::connect(&target, &database).await?;
                    opened.push(client);
                    resolved = options;
                }
                self.session = Session { clients: opened, by_operation: deal == "operation" };
                json!({ "type": "opened", "acknowledged": true, "resolved": resolved })
            }
            Message::Prepare(message) => {
                self.phase = Some(if message["consumer"].is_null() {
                    workers::prepare(message, &self.session)?
                } else {
                    consumer::prepare(message, &self.session).await?
                });
                json!({ "type": "ready" })
            }
            Message::Turn { until_ns } => {
                let phase = self.phase.as_mut();
                phase.ok_or(Failure::new("internal", "no phase"))?.turn(until_ns).await?
            }
            Message::End => {
                let phase = self.phase.take();
                phase.ok_or(Failure::new("internal", "no phase"))?.end().await?
            }
            Message::Close => {
                for client in self.session.clients.drain(..) {
                    dialect::close(client.client().clone()).await;
                }
                json!({ "type": "closed" })
            }
            Message::Render(Render { template, stamps, input }) => {
                let document = Document::from_reader(template.as_slice())?;
                let bytes = bson::to_vec(&stamped(&document, &stamps, &input))?;
                json!({ "type": "rendered", "bson": hex::encode(bytes) })
            }
        })
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
        "runtime": { "name": "rustc", "version": rustc, "flags": [] },
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
