//! The mongodyno adapter of the official MongoDB driver for Rust: reads a message, answers it.

// Drivers before 2.5 have no loop of transactions, so what it would use is unused there.
#![cfg_attr(not(feature = "transactions"), allow(dead_code, unused))]

#[cfg(feature = "v2")]
extern crate mongodb2 as mongodb;

/// Types that dialect and harness share.
mod call;

/// The driver: a file for each API of each generation, and what they have in common.
mod dialect {
    #[cfg_attr(all(feature = "v2", feature = "sync"), path = "sync2.rs")]
    #[cfg_attr(all(feature = "v2", not(feature = "sync")), path = "async2.rs")]
    #[cfg_attr(all(feature = "v3", feature = "sync"), path = "sync3.rs")]
    #[cfg_attr(all(feature = "v3", not(feature = "sync")), path = "async3.rs")]
    mod api;
    mod calls;
    mod client;
    #[cfg(test)]
    mod tests;
    #[cfg(feature = "transactions")]
    mod transactions;

    pub use api::*;
    pub use calls::{call, Part, Pending};
    pub use client::{bind, connect, handshake, spawn, Opened, Target};
    #[cfg(feature = "transactions")]
    pub use transactions::transaction;

    /// A call blocks its thread.
    pub const BLOCKS: bool = cfg!(feature = "sync");
}

/// The contract, which names nothing of the driver except its BSON.
mod harness {
    #[cfg(not(feature = "sync"))]
    pub mod consumer;
    pub mod documents;
    pub mod files;
    pub mod operations;
    pub mod phase;
    pub mod protocol;
    #[cfg(not(feature = "sync"))]
    pub mod tailing;
    pub mod timing;
    pub mod workers;
}

use std::io::{self, BufRead, Write};
use std::process::exit;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use mongodb::bson::{self, Document};
use rustix::time::{clock_getres, ClockId};
use serde_json::{json, Value};
use tokio::runtime::Handle;
use tokio::select;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{mpsc, oneshot};

use call::{cut, Failure};
#[cfg(not(feature = "sync"))]
use harness::consumer;
use harness::documents::stamped;
use harness::phase::Phase;
use harness::protocol::{parse, Message, Render, Session};
use harness::timing::{now_ns, EPOCH_NS, STOP};
use harness::workers;

const PROTOCOL: u32 = 2;
/// Byte that begins every answer.
const FRAME: char = '\x1e';

const KINDS: &str = "noop insert_one insert_many find_one find update_one update_many delete_one \
    delete_many count distinct estimated_count replace_one find_one_and_update read_modify_write \
    aggregate command drop";
/// The driver's own loop begins with 2.5.
const TRANSACTION: Option<&str> =
    if cfg!(feature = "transactions") { Some("transaction") } else { None };
/// The driver refuses unacknowledged writes, and its `run_command` takes no concerns.
const EXTRAS: &str = "write_concern read_concern read_preference unordered clients lazy_insert \
    sort hint collation max_time";

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut sigterm = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        sigterm.recv().await;
        STOP.set(())
    });
    // A separate thread: tokio's stdin would start one beside the workers in each turn.
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
            // A turn then ends by itself.
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
                    let client = dialect::connect(target.uri, target.options, database.clone());
                    let (client, options) = dialect::spawn(client).await??;
                    opened.push(client);
                    resolved = options;
                }
                self.session = Session { clients: opened, by_operation: deal == "operation" };
                json!({ "type": "opened", "acknowledged": true, "resolved": resolved })
            }
            #[cfg(not(feature = "sync"))]
            Message::Prepare(message) if !message["consumer"].is_null() => {
                self.phase = Some(consumer::prepare(message, &self.session).await?);
                json!({ "type": "ready" })
            }
            Message::Prepare(message) => {
                self.phase = Some(workers::prepare(message, &self.session)?);
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
                self.session = Session::default();
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
    let (kind, threads, window) = if dialect::BLOCKS {
        ("threads", None, None)
    } else {
        ("tasks", Some(Handle::current().metrics().num_workers()), Some("window"))
    };
    let pacing = ["awaited", "think", "rate", "burst"].into_iter().chain(window);
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
            "operations": KINDS.split(' ').chain(TRANSACTION).collect::<Vec<_>>(),
            "pacing": pacing.collect::<Vec<_>>(),
            "extras": EXTRAS.split(' ').collect::<Vec<_>>(),
            "shapes": [],
            "alters": [],
            "uri": "standard",
            "consumer_ns": dialect::CONSUMER_NS,
            "concurrency": { "kind": kind, "max": null, "threads": threads },
        },
    }))
}
