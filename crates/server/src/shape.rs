//! Several mongods as one server: `embedded:hosts=4` (independent of each other),
//! `mongod:replset=3`, `mongod:shards=2`.

use std::fmt;

use bson::doc;

use super::cluster;
use super::connection_string::parts;
use super::host::Host;
use super::managed;
use super::options::StartOptions;
use super::program::Program;
use super::record::{REPLICA_SET, ServerRecord};
use super::replica_set::{initiate, log};
use super::server_handle::ServerHandle;
use base::error::{Error, Result};

const SET: &str = "rs0";
/// Maximum number of hosts: more than a machine of today has cores for.
const HOSTS_MAX: usize = 64;
/// Maximum number of members: the server's own limit of voting members.
const MEMBERS_MAX: usize = 7;
/// Maximum number of shards: more than a study of a cluster on one machine needs.
const SHARDS_MAX: usize = 16;
/// The beginning of the topology of several hosts.
const HOSTS: &str = "hosts";

/// How many mongods a server consists of, and how they are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerShape {
    One,
    /// Servers that know nothing of each other.
    Hosts(usize),
    ReplicaSet(usize),
    /// Shards of a cluster, which drivers reach through a mongos.
    Shards(usize),
}

/// The shape as `--server` takes it.
impl fmt::Display for ServerShape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One => Ok(()),
            Self::Hosts(number) => write!(formatter, ":hosts={number}"),
            Self::ReplicaSet(number) => write!(formatter, ":replset={number}"),
            Self::Shards(number) => write!(formatter, ":shards={number}"),
        }
    }
}

impl ServerShape {
    /// Splits the shape off the end of the words after `--server`.
    ///
    /// # Errors
    /// A shape that does not exist, or a number that it cannot have.
    pub fn split(words: &str) -> Result<(&str, Self)> {
        let Some((kind, shape)) = words.rsplit_once(':') else { return Ok((words, Self::One)) };
        let Some((name, number)) = shape.split_once('=') else { return Ok((words, Self::One)) };
        let number: usize = number.parse().unwrap_or(0);
        let refused = |what: String, hint: &str| Err(Error::usage(what, hint));
        match (name, number) {
            ("hosts", 2..=HOSTS_MAX) => Ok((kind, Self::Hosts(number))),
            ("replset", 1..=MEMBERS_MAX) => Ok((kind, Self::ReplicaSet(number))),
            ("shards", 1..=SHARDS_MAX) => Ok((kind, Self::Shards(number))),
            ("hosts", _) => refused(format!("{shape}: from 2 to {HOSTS_MAX}"), "write :hosts=4"),
            ("replset", _) => {
                refused(format!("{shape}: from 1 to {MEMBERS_MAX}"), "write :replset=3")
            }
            ("shards", _) => refused(format!("{shape}: from 1 to {SHARDS_MAX}"), "write :shards=2"),
            _ => refused(
                format!("no server has the shape {shape}"),
                "it has :hosts=N, :replset=N, :shards=N",
            ),
        }
    }

    /// Shape of a record, as `--server` takes it.
    pub fn again(uri: &str, topology: &str) -> String {
        if let Some(shards) = topology.strip_prefix(cluster::TOPOLOGY) {
            return format!(":shards={shards}");
        }
        let members = parts(uri).hosts.len();
        if topology.starts_with(HOSTS) {
            return format!(":hosts={members}");
        }
        if topology.starts_with(REPLICA_SET) {
            format!(":replset={members}")
        } else {
            String::new()
        }
    }

    /// Starts as many mongods as it needs, one after the other.
    pub async fn open(
        self,
        host: &Host,
        program: &Program,
        options: &StartOptions,
    ) -> Result<ServerHandle> {
        let number = match self {
            Self::One => return managed::start(host, program, options).await,
            Self::Shards(number) => return cluster::open(host, program, options, number).await,
            Self::Hosts(number) | Self::ReplicaSet(number) => number,
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
        let hosts: Vec<String> =
            servers.iter().flat_map(|it| parts(&it.record.uri).hosts).collect();
        initiate(SET, &hosts, doc! {}).await?;
        let mut set = join(servers);
        set.uri = format!("mongodb://{}/?replicaSet={SET}", hosts.join(","));
        let (uri, topology) = (set.uri.clone(), format!("{REPLICA_SET} {SET}"));
        set.record = ServerRecord { topology, uri, ..set.record };
        set.is_one = true;
        Ok(set)
    }
}

/// Makes one server of several that do not know each other.
pub(super) fn join(mut servers: Vec<ServerHandle>) -> ServerHandle {
    let others = servers.split_off(1);
    let mut first = servers.pop().expect("a host");
    let hosts: Vec<String> =
        std::iter::once(&first).chain(&others).flat_map(|it| parts(&it.record.uri).hosts).collect();
    first.record.topology = format!("{HOSTS}: {}, each {}", hosts.len(), first.record.topology);
    first.record.uri = format!("mongodb://{}/", hosts.join(","));
    first.others = others;
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_stands_behind_the_kind() {
        let split = |words| ServerShape::split(words).expect(words);
        assert_eq!(split("embedded"), ("embedded", ServerShape::One));
        assert_eq!(split("embedded@4.4:hosts=4"), ("embedded@4.4", ServerShape::Hosts(4)));
        assert_eq!(
            split("/opt/a:b/mongod:replset=3"),
            ("/opt/a:b/mongod", ServerShape::ReplicaSet(3))
        );
        assert_eq!(split("/opt/a:b/mongod"), ("/opt/a:b/mongod", ServerShape::One));
        assert_eq!(split("mongod:shards=2"), ("mongod", ServerShape::Shards(2)));
        for wrong in [
            "mongod:shards=0",
            "embedded:hosts=1",
            "embedded:replset=9",
            "embedded:hosts=x",
            "mongod:x=2",
        ] {
            assert!(ServerShape::split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_recorded_shape_is_asked_for_again() {
        let four = "mongodb://a:1,a:2,a:3,a:4/";
        assert_eq!(ServerShape::again(four, "hosts: 4, each standalone"), ":hosts=4");
        assert_eq!(
            ServerShape::again("mongodb://a:1,a:2/?replicaSet=rs0", "replica set rs0"),
            ":replset=2"
        );
        assert_eq!(ServerShape::again("mongodb://a:1/", "sharded: 2"), ":shards=2");
        assert_eq!(ServerShape::again("mongodb://a:1/", "standalone"), "");
    }
}
