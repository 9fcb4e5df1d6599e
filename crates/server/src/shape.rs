//! Several mongods as one server: `embedded:hosts=4` (each on its own), `mongod:replset=3`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mongodb::Client;
use mongodb::bson::{Document, doc};
use mongodb::options::ClientOptions;
use tokio::time::{Instant, sleep};

use super::host::Host;
use super::managed;
use super::options::StartOptions;
use super::program::Program;
use super::record::ServerRecord;
use super::refusal::{Given, explain};
use super::server::Server;
use super::uri::parts;
use base::error::{Error, Result};

const SET: &str = "rs0";
/// More than a machine of today has cores for.
const HOSTS_MAX: usize = 64;
/// The server's own limit of voting members.
const MEMBERS_MAX: usize = 7;
/// From the initiation of a set to its primary.
const ELECTION_LIMIT: Duration = Duration::from_secs(60);
/// The beginning of the topology of several hosts.
const HOSTS: &str = "hosts";

/// How many mongods a server is made of, and what they are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    /// Servers that know nothing of each other.
    Hosts(usize),
    ReplicaSet(usize),
}

/// As it stands behind `--server`.
impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One => Ok(()),
            Self::Hosts(number) => write!(formatter, ":hosts={number}"),
            Self::ReplicaSet(number) => write!(formatter, ":replset={number}"),
        }
    }
}

impl Shape {
    /// Takes the shape off the end of the words after `--server`.
    ///
    /// # Errors
    /// A shape that there is not, or a number that makes none.
    pub fn split(words: &str) -> Result<(&str, Self)> {
        let Some((kind, shape)) = words.rsplit_once(':') else { return Ok((words, Self::One)) };
        let Some((name, number)) = shape.split_once('=') else { return Ok((words, Self::One)) };
        let number: usize = number.parse().unwrap_or(0);
        let refused = |what: String, hint: &str| Err(Error::usage(what, hint));
        match (name, number) {
            ("hosts", 2..=HOSTS_MAX) => Ok((kind, Self::Hosts(number))),
            ("replset", 1..=MEMBERS_MAX) => Ok((kind, Self::ReplicaSet(number))),
            ("hosts", _) => refused(format!("{shape}: from 2 to {HOSTS_MAX}"), "write :hosts=4"),
            ("replset", _) => {
                refused(format!("{shape}: from 1 to {MEMBERS_MAX}"), "write :replset=3")
            }
            _ => refused(format!("no server has the shape {shape}"), "it has :hosts=N, :replset=N"),
        }
    }

    /// The shape of a record, as it stands behind `--server`.
    pub fn again(uri: &str, topology: &str) -> String {
        let members = parts(uri).hosts.len();
        if topology.starts_with(HOSTS) {
            return format!(":hosts={members}");
        }
        if topology.starts_with("replica set") {
            format!(":replset={members}")
        } else {
            String::new()
        }
    }

    /// Starts as many mongods as it needs, one after the other: each is a program of its own.
    pub async fn open(
        self,
        host: &Host,
        program: &Program,
        options: &StartOptions,
    ) -> Result<Server> {
        let (Self::Hosts(number) | Self::ReplicaSet(number)) = self else {
            return managed::start(host, program, options).await;
        };
        let mut servers = Vec::new();
        for member in 1..=number {
            let mut options = StartOptions { log: log(&options.log, member), ..options.clone() };
            if matches!(self, Self::ReplicaSet(_)) {
                options.extra_flags.push(format!("--replSet={SET}"));
            }
            servers.push(managed::start(host, program, &options).await?);
        }
        if matches!(self, Self::Hosts(_)) {
            return Ok(join(servers));
        }
        initiate(servers).await
    }
}

/// One server of several; none of them knows the others.
pub(super) fn join(mut servers: Vec<Server>) -> Server {
    let others = servers.split_off(1);
    let mut first = servers.pop().expect("a host");
    let hosts: Vec<String> =
        std::iter::once(&first).chain(&others).flat_map(|it| parts(&it.record.uri).hosts).collect();
    first.record.topology = format!("{HOSTS}: {}, each {}", hosts.len(), first.record.topology);
    first.record.uri = format!("mongodb://{}/", hosts.join(","));
    first.others = others;
    first
}

/// `mongod-2.log` of the second.
fn log(first: &Path, member: usize) -> PathBuf {
    match (member, first.file_stem()) {
        (2.., Some(stem)) => {
            first.with_file_name(format!("{}-{member}.log", stem.to_string_lossy()))
        }
        _ => first.to_path_buf(),
    }
}

/// Makes a replica set of them. The first one is its primary: the others have no priority, so that
/// every experiment has the same one.
async fn initiate(servers: Vec<Server>) -> Result<Server> {
    let hosts: Vec<String> = servers.iter().flat_map(|it| parts(&it.record.uri).hosts).collect();
    let members = (0_i32..).zip(&hosts).map(|(number, host)| {
        let priority = if number == 0 { 1.0 } else { 0.0 };
        doc! { "_id": number, "host": host, "priority": priority }
    });
    let config = doc! { "_id": SET, "members": members.collect::<Vec<Document>>() };
    let first = format!("mongodb://{}/", hosts[0]);
    let failed = |error: mongodb::error::Error| explain(&error, &first, Given::default());
    let mut options = ClientOptions::parse(&first).await.map_err(failed)?;
    options.direct_connection = Some(true);
    let admin = Client::with_options(options).map_err(failed)?.database("admin");
    admin.run_command(doc! { "replSetInitiate": config }).await.map_err(failed)?;
    let deadline = Instant::now() + ELECTION_LIMIT;
    loop {
        let status = admin.run_command(doc! { "replSetGetStatus": 1 }).await;
        if status.is_ok_and(|status| is_ready(&status)) {
            break;
        }
        if Instant::now() >= deadline {
            return Err(Error::unreachable(
                format!("the replica set had no primary within {} s", ELECTION_LIMIT.as_secs()),
                "see the logs of its members, logs/mongod*.log, and try again",
            ));
        }
        sleep(Duration::from_millis(50)).await;
    }
    let mut set = join(servers);
    set.uri = format!("mongodb://{}/?replicaSet={SET}", hosts.join(","));
    set.record =
        ServerRecord { uri: set.uri.clone(), topology: format!("replica set {SET}"), ..set.record };
    set.is_set = true;
    Ok(set)
}

/// One primary, and every other member a secondary.
fn is_ready(status: &Document) -> bool {
    let members = status.get_array("members").map(Vec::as_slice).unwrap_or_default();
    let states = members.iter().filter_map(|it| it.as_document()?.get_i32("state").ok());
    let (primary, secondary) = (1, 2);
    let states: Vec<i32> = states.collect();
    states.contains(&primary) && states.iter().all(|state| [primary, secondary].contains(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_stands_behind_the_kind() {
        let split = |words| Shape::split(words).expect(words);
        assert_eq!(split("embedded"), ("embedded", Shape::One));
        assert_eq!(split("embedded@4.4:hosts=4"), ("embedded@4.4", Shape::Hosts(4)));
        assert_eq!(split("/opt/a:b/mongod:replset=3"), ("/opt/a:b/mongod", Shape::ReplicaSet(3)));
        assert_eq!(split("/opt/a:b/mongod"), ("/opt/a:b/mongod", Shape::One));
        for wrong in ["embedded:hosts=1", "embedded:replset=9", "embedded:hosts=x", "mongod:x=2"] {
            assert!(Shape::split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_recorded_shape_is_asked_for_again() {
        let four = "mongodb://a:1,a:2,a:3,a:4/";
        assert_eq!(Shape::again(four, "hosts: 4, each standalone"), ":hosts=4");
        assert_eq!(
            Shape::again("mongodb://a:1,a:2/?replicaSet=rs0", "replica set rs0"),
            ":replset=2"
        );
        assert_eq!(Shape::again("mongodb://a:1/", "standalone"), "");
    }

    #[test]
    fn a_set_is_ready_with_a_primary_and_secondaries() {
        let with = |states: &[i32]| {
            let members = states.iter().map(|state| doc! { "state": state });
            is_ready(&doc! { "members": members.collect::<Vec<_>>() })
        };
        assert!(with(&[1, 2, 2]));
        assert!(!with(&[2, 2, 2]) && !with(&[1, 2, 5]) && !with(&[]));
    }
}
