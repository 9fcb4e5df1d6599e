//! The mongodyno adapter around the official MongoDB driver for Rust: reads a message, answers it.

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

use mongodb::bson::{doc, Bson, Document};
use mongodb::error::{Error, ErrorKind};
use mongodb::options::{ClientOptions, SelectionCriteria, ServerAddress, Tls};
use mongodb::{Client, Database};
use rustix::time::{clock_getres, ClockId};
use serde_json::{json, Value};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::signal::unix::{signal, SignalKind};

use consumer::Consumer;
use errors::Failure;
use protocol::{parse, Message};
use timing::{Clock, Stop};
use workers::Phase;

const PROTOCOL: u32 = 1;
const ROLES: [&str; 2] = ["worker", "consumer"];

#[tokio::main]
async fn main() -> io::Result<()> {
    let stop = Arc::new(Stop::default());
    let (mut sigterm, raised) = (signal(SignalKind::terminate())?, Arc::clone(&stop));
    tokio::spawn(async move {
        sigterm.recv().await;
        raised.raise();
    });
    let mut adapter = Adapter { stop: Arc::clone(&stop), clock: None, database: None, phase: None };
    let mut lines = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    let mut open = true;
    while open && !stop.is_raised() {
        line.clear();
        tokio::select! {
            read = lines.read_until(b'\n', &mut line) => open = read? > 0,
            () = stop.wait() => open = false,
        }
        if open {
            let answer = adapter.answer(&line).await;
            open = answer["type"] != "closed";
            let mut stdout = io::stdout().lock();
            writeln!(stdout, "{answer}")?;
            stdout.flush()?;
        }
    }
    // A return from main would wait for the thread that reads stdin.
    std::process::exit(0)
}

struct Adapter {
    stop: Arc<Stop>,
    clock: Option<Clock>,
    database: Option<Database>,
    phase: Option<Running>,
}

/// A phase between `armed` and `ended`.
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
        answer.unwrap_or_else(
            |failure| json!({ "type": "error", "code": failure.code, "message": failure.message }),
        )
    }

    async fn dispatch(&mut self, message: Message) -> Result<Value, Failure> {
        if let Message::Hello { protocol, epoch_ns } = message {
            if !(protocol.min..=protocol.max).contains(&PROTOCOL) {
                return Err(Failure::protocol("this adapter knows version 1 of the protocol"));
            }
            let epoch_ns = epoch_ns.parse().map_err(Failure::protocol)?;
            let answer = hello().await?;
            self.clock = Some(Clock { epoch_ns });
            return Ok(answer);
        }
        let out_of_order = |what: &str| Failure::protocol(format!("out of order: {what}"));
        let clock = self.clock.ok_or_else(|| out_of_order("no hello before"))?;
        match message {
            Message::Hello { .. } => unreachable!("answered above"),
            Message::Clock => Ok(json!({ "type": "clock", "now_ns": clock.now_ns() })),
            Message::Open { .. } if self.database.is_some() => Err(out_of_order("open already")),
            Message::Open { role, .. } if !ROLES.contains(&role.as_str()) => {
                Err(Failure::unsupported(format!("role {role}")))
            }
            Message::Open { uri, database, .. } => {
                let opened = open(&uri, &database).await;
                let (database, answer) = opened.map_err(|error| refusal(&error, &uri))?;
                self.database = Some(database);
                Ok(answer)
            }
            Message::Prepare(_) if self.phase.is_some() => Err(out_of_order("no end before")),
            Message::Prepare(message) => {
                let (message, database) = (*message, self.database.as_ref());
                self.phase = Some(match message.role.as_str() {
                    "worker" => {
                        Running::Worker(Phase::prepare(message, database, clock, &self.stop)?)
                    }
                    "consumer" => {
                        let consumer = Consumer::prepare(message, database, clock, &self.stop);
                        Running::Consumer(consumer.await?)
                    }
                    role => return Err(Failure::unsupported(format!("role {role}"))),
                });
                Ok(json!({ "type": "armed" }))
            }
            Message::Turn { start_ns, until_ns } => match &mut self.phase {
                Some(Running::Worker(phase)) => phase.turn(start_ns, until_ns).await,
                Some(Running::Consumer(consumer)) => consumer.turn(start_ns, until_ns).await,
                None => Err(out_of_order("no phase")),
            },
            Message::End => match self.phase.take() {
                Some(Running::Worker(phase)) => Ok(phase.end()),
                Some(Running::Consumer(consumer)) => consumer.end().await,
                None => Err(out_of_order("no phase")),
            },
            Message::Close => {
                self.phase = None;
                if let Some(database) = self.database.take() {
                    database.client().clone().shutdown().immediate(true).await;
                }
                Ok(json!({ "type": "closed" }))
            }
            Message::Render { template, input } => {
                let bytes = mongodb::bson::to_vec(&template.make(&input));
                let bytes = bytes.map_err(Failure::internal)?;
                Ok(json!({ "type": "rendered", "bson": hex::encode(bytes) }))
            }
        }
    }
}

async fn hello() -> Result<Value, Failure> {
    let metadata = tokio::time::timeout(Duration::from_secs(5), client_metadata()).await;
    let driver = metadata.map_err(Failure::internal)?.map_err(Failure::internal)?;
    let text = |path: [&str; 2]| {
        let inner = driver.get_document(path[0]).ok();
        inner.and_then(|inner| inner.get_str(path[1]).ok())
    };
    let rustc = driver.get_str("platform").ok().and_then(|text| text.split(' ').nth(1));
    let threads = Handle::current().metrics().num_workers();
    Ok(json!({
        "type": "hello",
        "protocol": PROTOCOL,
        "adapter": "rust",
        "driver": {
            "name": text(["driver", "name"]),
            "version": text(["driver", "version"]),
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
            "operations": operations::KINDS.split(' ').collect::<Vec<_>>(),
            "roles": ROLES,
            "pacing": ["awaited", "window", "rate", "burst"],
            "document_forms": ["native"],
            "concurrency": { "kind": "tasks", "max": null },
            "stop": "sigterm",
            "noop_makes": true,
        },
    }))
}

/// The metadata that the linked driver sends to every server: its version and the compiler's. The
/// crate exports no version, and a build script could only read what Cargo.lock promises.
async fn client_metadata() -> io::Result<Document> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = Some(listener.local_addr()?.port());
    let address = ServerAddress::Tcp { host: "127.0.0.1".to_owned(), port };
    let options = ClientOptions::builder().hosts(vec![address]).build();
    let client = Client::with_options(options).map_err(io::Error::other)?;
    let (mut stream, _) = listener.accept().await?;
    let length = stream.read_i32_le().await?;
    let mut message = vec![0; (length as usize).saturating_sub(4)];
    stream.read_exact(&mut message).await?;
    client.shutdown().immediate(true).await;
    let field = b"\x03client\0";
    let at = message.windows(field.len()).position(|bytes| bytes == field);
    let mut metadata = &message[at.ok_or(io::ErrorKind::InvalidData)? + field.len()..];
    Document::from_reader(&mut metadata).map_err(io::Error::other)
}

async fn open(uri: &str, name: &str) -> mongodb::error::Result<(Database, Value)> {
    let options = ClientOptions::parse(uri).await?;
    let database = Client::with_options(options.clone())?.database(name);
    database.run_command(doc! { "ping": 1 }).await?;
    let build = database.run_command(doc! { "buildInfo": 1 }).await?;
    // Servers before 4.4.2 do not know hello.
    let hello = match database.run_command(doc! { "hello": 1 }).await {
        Ok(hello) => hello,
        Err(_) => database.run_command(doc! { "isMaster": 1 }).await?,
    };
    let answer = json!({
        "type": "opened",
        "resolved": resolved(&options),
        "server": {
            "version": build.get_str("version").ok(),
            "max_wire_version": hello.get("maxWireVersion").and_then(Bson::as_i32),
        },
    });
    Ok((database, answer))
}

/// The options as the driver parsed them. An option that the URI leaves open is null: the driver
/// does not export its defaults.
fn resolved(options: &ClientOptions) -> Value {
    let read_preference = match &options.selection_criteria {
        Some(SelectionCriteria::ReadPreference(preference)) => json!(preference)["mode"].clone(),
        _ => Value::Null,
    };
    let compressors = options.compressors.iter().flatten();
    let names = compressors.map(|compressor| format!("{compressor:?}").to_lowercase());
    let names = names.map(|name| name.split(' ').next().unwrap_or_default().to_owned());
    let compressors: Vec<String> = names.collect();
    json!({
        "max_pool_size": options.max_pool_size,
        "min_pool_size": options.min_pool_size,
        // Unset: the driver sends none.
        "write_concern": options.write_concern.clone().unwrap_or_default(),
        "read_concern": json!(options.read_concern)["level"],
        "read_preference": read_preference,
        "compressors": compressors,
        "retry_writes": options.retry_writes,
        "retry_reads": options.retry_reads,
        "commands": { "count": "aggregate" }, // of count_documents
        "tls": matches!(options.tls, Some(Tls::Enabled(_))),
    })
}

fn refusal(error: &Error, uri: &str) -> Failure {
    let code = match &*error.kind {
        ErrorKind::Authentication { .. } => "auth",
        ErrorKind::Command(error) if error.code == 18 => "auth",
        ErrorKind::ServerSelection { .. } | ErrorKind::Io(_) | ErrorKind::DnsResolve { .. } => {
            "connect"
        }
        _ => "internal",
    };
    Failure { code, message: masked(error.kind.to_string(), uri) }
}

/// Masks the URI's user and password, in case the driver's message repeats them.
fn masked(message: String, uri: &str) -> String {
    let authority = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let Some((credentials, _)) = authority.split_once('@') else { return message };
    let message = message.replace(credentials, "***");
    match credentials.split_once(':') {
        Some((_, password)) if !password.is_empty() => message.replace(password, "***"),
        _ => message,
    }
}
