//! Fills in the options that a driver does not tell: a process of its own inserts and finds one
//! document past a proxy that keeps its bytes. Rejected: the tap, which records the names of fields
//! and no values.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::{Bson, Document};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::arm::{LiveArm, Target};
use crate::input_files::InputFiles;
use crate::phase::{Which, prepares};
use crate::runner::Runner;
use crate::seen::{fill, read};
use base::secrets::mask_json;
use record::folder::Folder;
use record::records::Seen;
use server::uri::{only_host, parts, with_host};
use wire::{HEADER_BYTES, Header, OpCode};
use workload::build::build;
use workload::parse;

const COLLECTION: &str = "mongodyno_seen";
const WORKLOAD: &str = "
name: seen
why: One write and one read.
collections: {mongodyno_seen: {document: {_id: {type: objectid, value: key}}}}
phases:
  - {operation: insert_one, collection: mongodyno_seen, operations: 1}
  - {operation: find_one, collection: mongodyno_seen, operations: 1, continues: true}
";
/// Longest time of either operation: a count ends it.
const TURN: Duration = Duration::from_secs(10);
/// Read on any server.
const ANYWHERE: [&str; 3] = ["write_concern", "read_concern", "compressors"];
/// Not sent to a standalone server.
const TO_MEMBERS: [&str; 2] = ["retry_writes", "read_preference"];
const STANDALONE: &str = "standalone";

impl Runner {
    /// Fills in what the driver of an arm leaves out of `resolved`, before its first phase. A
    /// driver that tells all costs nothing.
    pub async fn fill_in(&mut self, live: &LiveArm) {
        let (arm, configuration) =
            (&self.experiment.arms[live.index], &self.configurations[live.index]);
        let sends = live.opened.is_some() && !configuration.environment.simulated;
        if arm.seen.is_some() || !sends || self.experiment.plan.needs_no_server() {
            return;
        }
        let open = |name: &&str| arm.resolved.get(*name).is_none();
        let is_standalone = self.experiment.server.topology == STANDALONE;
        let shown = ANYWHERE.iter().chain(TO_MEMBERS.iter().filter(|_| !is_standalone));
        let (shown, tls) = (shown.copied().any(|name| open(&name)), open(&"tls"));
        if !shown && !tls {
            return;
        }
        let work = |it: &&record::records::Arm| {
            (&it.adapter, &it.version, &it.options) == (&arm.adapter, &arm.version, &arm.options)
        };
        let twin = self.experiment.arms.iter().filter(work).find_map(|it| it.seen.clone());
        let mut seen = match twin {
            Some(seen) => seen,
            // On the heap: it happens once.
            None if shown => Box::pin(self.see(live.index, is_standalone)).await,
            None => Seen::default(),
        };
        if tls {
            let encrypted = is_encrypted(&configuration.uri);
            seen.options.insert("tls".to_owned(), json!(encrypted));
        }
        let arm = &mut self.experiment.arms[live.index];
        seen.options.retain(|name, _| arm.resolved.get(name).is_none());
        fill(&mut arm.resolved, &seen);
        arm.seen = Some(seen);
    }

    async fn see(&self, index: usize, is_standalone: bool) -> Seen {
        self.progress.arm(index, "reading its options on the wire");
        let seen = match address(&self.configurations[index].uri) {
            Ok(address) => self.exchange(index, address).await,
            Err(reason) => Err(reason.to_owned()),
        };
        let mut seen = match seen {
            Ok(connections) => read(&connections, is_standalone),
            Err(reason) => Seen { reason: Some(reason), ..Seen::default() },
        };
        seen.handshake.values_mut().for_each(mask_json);
        seen
    }

    /// The bytes that an arm's driver sends for one insert and one find, by connection. An arm
    /// behind the tap goes past it here.
    async fn exchange(&self, index: usize, address: String) -> Result<Vec<Vec<u8>>, String> {
        let configuration = &self.configurations[index];
        let proxy = Proxy::start(address).await.map_err(|it| format!("no proxy: {it}"))?;
        let uri = with_host(&configuration.uri, &proxy.address.to_string());
        let path = self.folder.join("seen");
        let _ = fs::remove_dir_all(&path); // of an experiment that was cut here
        let log = self.folder.join(&format!("logs/seen-arm{index}.log"));
        let target = Target { uri: Some(&uri), others: &[], database: &self.database, plan: None };
        let environment = &configuration.environment;
        let mut live = LiveArm::start(index, 0, environment, &log, &self.epoch, &target).await;
        let done = self.insert_and_find(&mut live, &path).await;
        live.close().await;
        let _ = fs::remove_dir_all(&path);
        if let Some(admin) = &self.admin {
            // A left-over document counts in no phase; the database goes at the end.
            let _ = admin.drop_collection(COLLECTION).await;
        }
        done?;
        match live.failed.or(live.refused) {
            Some(reason) => Err(reason),
            None => Ok(proxy.kept()),
        }
    }

    async fn insert_and_find(&self, live: &mut LiveArm, path: &Path) -> Result<(), String> {
        let loaded = parse(WORKLOAD, Path::new("seen.yaml"), &BTreeMap::new());
        let workload = build(&loaded.expect("it is ours"), 1).expect("it is ours");
        let plan = &workload.plan;
        let folder = Folder::create(path).map_err(|error| error.message)?;
        let processes = BTreeSet::from([None]);
        let inputs = InputFiles::write(plan, &processes, workload.pools, &folder, 1.0);
        let inputs = inputs.map_err(|error| error.message)?;
        for phase in 0..plan.phases.len() {
            let which = Which { round: 0, arm: live.index, phase, warmup: false };
            live.prepare(prepares(&inputs, plan, which, str::to_owned)).await;
            live.turn(&self.epoch, TURN, None).await;
            live.end().await;
        }
        Ok(())
    }
}

/// The address that a proxy can stand before, or why none can.
fn address(uri: &str) -> Result<String, &'static str> {
    match only_host(uri) {
        _ if is_encrypted(uri) => Err("its messages are encrypted"),
        Some(host) if host.contains('%') => Err("its server listens on a socket file"),
        Some(host) => Ok(host),
        None => Err("its connection string names several servers, or a record to look up"),
    }
}

fn is_encrypted(uri: &str) -> bool {
    let options = parts(uri).options;
    let asked = |name: &String| ["tls", "ssl"].iter().any(|it| name.eq_ignore_ascii_case(it));
    let asked = options.iter().find(|(name, _)| asked(name)).map(|(_, value)| value == "true");
    asked.unwrap_or(uri.starts_with("mongodb+srv://"))
}

type Kept = Arc<Mutex<Vec<Vec<u8>>>>;

/// Passes everything on, and keeps what clients send. It ends when it is dropped.
struct Proxy {
    address: SocketAddr,
    kept: Kept,
    _serving: JoinSet<()>,
}

impl Proxy {
    async fn start(server: String) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (address, kept) = (listener.local_addr()?, Kept::default());
        let mut serving = JoinSet::new();
        let keep = kept.clone();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(pass(client, address, server.clone(), keep.clone()));
            }
        });
        Ok(Self { address, kept, _serving: serving })
    }

    fn kept(&self) -> Vec<Vec<u8>> {
        self.kept.lock().expect("no panic").clone()
    }
}

async fn pass(client: TcpStream, own: SocketAddr, server: String, kept: Kept) -> io::Result<()> {
    let (mut from_server, mut to_server) = TcpStream::connect(server).await?.into_split();
    let (mut from_client, mut to_client) = client.into_split();
    let number = {
        let mut kept = kept.lock().expect("no panic");
        kept.push(Vec::new());
        kept.len() - 1
    };
    let out = async {
        let mut bytes = vec![0; 1 << 16];
        loop {
            let count = from_client.read(&mut bytes).await?;
            if count == 0 {
                return to_server.shutdown().await;
            }
            kept.lock().expect("no panic")[number].extend_from_slice(&bytes[..count]);
            to_server.write_all(&bytes[..count]).await?;
        }
    };
    let back = async {
        // Until the server ends the connection.
        while let Ok(answer) = answer(&mut from_server).await {
            to_client.write_all(&leading_to(&own.to_string(), answer)).await?;
        }
        to_client.shutdown().await
    };
    tokio::try_join!(out, back).map(|_| ())
}

async fn answer(server: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut message = vec![0; HEADER_BYTES];
    server.read_exact(&mut message).await?;
    let header = Header::parse(message.first_chunk().expect("a header"));
    message.resize(header.map_err(io::Error::other)?.length, 0);
    server.read_exact(&mut message[HEADER_BYTES..]).await?;
    Ok(message)
}

/// A member of a replica set tells its address, and a driver goes there: it becomes the proxy's.
fn leading_to(own: &str, message: Vec<u8>) -> Vec<u8> {
    let header = Header::parse(message.first_chunk().expect("a header"));
    let at = match header.map(|it| it.opcode) {
        Ok(OpCode::Msg) => HEADER_BYTES + 5,
        Ok(OpCode::Reply) => HEADER_BYTES + 20,
        _ => return message,
    };
    let read = |bytes: &[u8]| Document::from_reader(bytes).ok();
    let Some(mut body) = message.get(at..).and_then(read) else { return message };
    let Ok(me) = body.get_str("me").map(str::to_owned) else { return message };
    for (_, value) in body.iter_mut() {
        let values = match value {
            Bson::Array(values) => values.as_mut_slice(),
            value => std::slice::from_mut(value),
        };
        for value in values.iter_mut().filter(|value| value.as_str() == Some(&me)) {
            *value = Bson::String(own.to_owned());
        }
    }
    let body = body.to_vec().expect("it was read");
    let mut message = [&message[..at], &body].concat();
    let length = i32::try_from(message.len()).expect("an answer to hello is short");
    message[..4].copy_from_slice(&length.to_le_bytes());
    message
}

#[cfg(test)]
mod tests {
    use bson::{doc, rawdoc};

    use super::*;

    #[test]
    fn only_one_plain_address_can_be_seen() {
        assert_eq!(address("mongodb://u:p@h:1/?tls=false"), Ok("h:1".to_owned()));
        for uri in ["mongodb://h/?ssl=true", "mongodb+srv://h/"] {
            assert!(address(uri).expect_err(uri).contains("encrypted"));
        }
        assert!(address("mongodb://a,b/").expect_err("two").contains("several"));
        assert!(address("mongodb://%2Ftmp%2Fm.sock/").expect_err("a file").contains("socket"));
    }

    #[test]
    fn a_members_own_address_becomes_the_proxys() {
        let hello = |me: &str| {
            let mut message = Vec::new();
            let hosts = bson::RawArrayBuf::from_iter([me, "other:1"]);
            let body = rawdoc! { "me": me, "hosts": hosts, "primary": me, "ok": 1 };
            wire::reply::msg(&mut message, 1, 2, &body);
            message
        };
        assert_eq!(leading_to("127.0.0.1:50000", hello("h:1")), hello("127.0.0.1:50000"));
        let mut other = Vec::new();
        wire::reply::msg(&mut other, 1, 2, &rawdoc! { "hosts": "h:1" });
        assert_eq!(leading_to("127.0.0.1:50000", other.clone()), other, "no hello of a member");
        let mut legacy = Vec::new();
        let body = rawdoc! { "me": "h:1" };
        wire::reply::legacy(&mut legacy, 1, 2, 0, 0, 0, [&*body]);
        let changed = leading_to("p:22222", legacy);
        assert_eq!(Document::from_reader(&changed[36..]).expect("BSON"), doc! { "me": "p:22222" });
    }
}
