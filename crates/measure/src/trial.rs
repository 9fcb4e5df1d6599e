//! One insert and one find by a process of an arm, before anything is measured: whether it can, and
//! what its driver sends. That is read past a proxy. Rejected: the tap, which records the names of
//! fields and no values.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::{Bson, Document};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::arm::{LiveArm, Target};
use crate::hosts::Hosts;
use crate::input_files::InputFiles;
use crate::observed_options::{is_encrypted, read};
use crate::phase::{Which, prepares};
use crate::system::other_version;
use adapter::environment::Environment;
use adapter::patience::Patience;
use adapter::protocol::{ErrorEntry, Opened};
use base::clock::Epoch;
use base::secrets::mask_json;
use record::folder::Folder;
use record::records::Seen;
use server::connection_string::{only_host, with_host};
use wire::{HEADER_BYTES, Header, OpCode};
use workload::build;
use workload::parse;

const COLLECTION: &str = "mongodyno_trial";
const WORKLOAD: &str = "
name: trial
why: One write and one read.
collections: {mongodyno_trial: {document: {_id: {type: objectid, value: key}}}}
phases:
  - {operation: insert_one, collection: mongodyno_trial, operations: 1}
  - {operation: find_one, collection: mongodyno_trial, operations: 1, continues: true}
";
/// Longest time of either operation: a count ends it.
const TURN: Duration = Duration::from_secs(10);
/// The same by the plan: the first operation connects.
const PLANNED: Duration = Duration::from_secs(1);

/// Where the arms of an experiment try.
pub struct Ground<'a> {
    pub folder: &'a Folder,
    pub epoch: &'a Epoch,
    pub admin: Option<&'a Hosts>,
    pub database: &'a str,
    pub is_standalone: bool,
}

/// The arm that tries.
pub struct Tried<'a> {
    pub index: usize,
    pub environment: &'a Environment,
    /// Past the tap.
    pub uri: &'a str,
    pub log: PathBuf,
}

/// What came of it, where no process was lost.
pub struct Trial {
    opened: Opened,
    /// Why its adapter cannot do one of both: no fault, it sits out such phases.
    refused: Option<String>,
    /// The first error of an operation.
    error: Option<String>,
}

impl Trial {
    pub fn worked(self) -> Result<Opened, String> {
        self.error.map_or(Ok(self.opened), Err)
    }
}

impl Ground<'_> {
    /// Lets the arm try, and keeps what its driver sends.
    pub async fn watched(&self, tried: &Tried<'_>) -> Result<(Trial, Seen), String> {
        let address = address(tried.uri)?;
        let proxy = TrialProxy::start(address).await.map_err(|it| format!("no proxy: {it}"))?;
        let uri = with_host(tried.uri, &proxy.address.to_string());
        let trial = self.attempt(tried, &uri).await?;
        let mut seen = match &trial.refused {
            None => read(&proxy.kept(), self.is_standalone),
            reason => Seen { reason: reason.clone(), ..Seen::default() },
        };
        seen.handshake.values_mut().for_each(mask_json);
        Ok((trial, seen))
    }

    /// Lets the arm try on the server at `uri`.
    pub async fn attempt(&self, tried: &Tried<'_>, uri: &str) -> Result<Trial, String> {
        let Tried { index, environment, log, .. } = tried;
        let target = Target { uri: Some(uri), others: &[], database: self.database, plan: None };
        let mut live = LiveArm::start(*index, 0, environment, log, self.epoch, &target).await;
        let other = live.hello().and_then(|hello| other_version(environment, hello));
        if let Some(reason) = other {
            live.fail(&reason).await;
        }
        let path = self.folder.join(&format!("trial{index}"));
        let collection = format!("{COLLECTION}_{index}");
        let _ = fs::remove_dir_all(&path); // of an experiment that was cut here
        let error = self.insert_and_find(&mut live, &path, &collection).await;
        live.close().await;
        let _ = fs::remove_dir_all(&path);
        if let Some(admin) = self.admin {
            // A left-over document counts in no phase; the database goes at the end.
            let _ = admin.drop_collection(&collection).await;
        }
        let error = error?;
        match (live.failed, live.opened) {
            (Some(reason), _) => Err(reason),
            (None, Some(opened)) => Ok(Trial { opened, refused: live.refused, error }),
            (None, None) => Err("the adapter did not answer `open` with `opened`".to_owned()),
        }
    }

    /// The first error of its driver. What is wrong with its process is in `live`.
    async fn insert_and_find(
        &self,
        live: &mut LiveArm,
        path: &Path,
        collection: &str,
    ) -> Result<Option<String>, String> {
        let loaded = parse(WORKLOAD, Path::new("trial.yaml"), &BTreeMap::new());
        let workload = build(&loaded.expect("it is ours"), 1).expect("it is ours");
        let plan = &workload.plan;
        let folder = Folder::create(path).map_err(|error| error.message)?;
        let processes = BTreeSet::from([None]);
        let inputs = InputFiles::write(plan, &processes, workload.pools, &folder, 1.0);
        let inputs = inputs.map_err(|error| error.message)?;
        for (number, phase) in plan.phases.iter().enumerate() {
            let which = Which { round: 0, arm: live.index, phase: number, warmup: false };
            let prepares = prepares(&inputs, plan, which, |_| collection.to_owned());
            live.prepare(prepares.map_err(|error| error.message)?).await;
            let patience = Patience::planned(TURN, PLANNED, Duration::ZERO);
            live.turn(self.epoch, patience, None).await;
            let ended = live.end().await;
            if let Some(error) = ended.and_then(|ended| ended.errors.into_iter().next()) {
                let ErrorEntry { code, name, message, .. } = error;
                return Ok(Some(format!("its {} failed: {name} ({code}): {message}", phase.name)));
            }
            if live.refused.is_some() {
                break;
            }
            if let Some(admin) = self.admin {
                // The next phase may read from a secondary.
                admin.replicate().await;
            }
        }
        Ok(None)
    }
}

/// The address that a proxy can forward to, or why there is none.
fn address(uri: &str) -> Result<String, &'static str> {
    match only_host(uri) {
        _ if is_encrypted(uri) => Err("its messages are encrypted"),
        Some(host) if host.contains('%') => Err("its server listens on a socket file"),
        Some(host) => Ok(host),
        None => Err("its connection string names several servers, or a record to look up"),
    }
}

type Kept = Arc<Mutex<Vec<Vec<u8>>>>;

/// Passes everything on, and keeps what clients send. It ends when it is dropped.
struct TrialProxy {
    address: SocketAddr,
    kept: Kept,
    _serving: JoinSet<()>,
}

impl TrialProxy {
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

/// A member of a replica set announces its address, where a driver goes: it becomes the proxy's.
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
            wire::reply_messages::msg(&mut message, 1, 2, &body);
            message
        };
        assert_eq!(leading_to("127.0.0.1:50000", hello("h:1")), hello("127.0.0.1:50000"));
        let mut other = Vec::new();
        wire::reply_messages::msg(&mut other, 1, 2, &rawdoc! { "hosts": "h:1" });
        assert_eq!(leading_to("127.0.0.1:50000", other.clone()), other, "no hello of a member");
        let mut legacy = Vec::new();
        let body = rawdoc! { "me": "h:1" };
        wire::reply_messages::legacy(&mut legacy, 1, 2, 0, 0, 0, [&*body]);
        let changed = leading_to("p:22222", legacy);
        assert_eq!(Document::from_reader(&changed[36..]).expect("BSON"), doc! { "me": "p:22222" });
    }
}
