//! A sharded cluster of ours: a config server, shards that are replica sets of one, a mongos.

use bson::{Document, doc};
use mongodb::Client;

use super::host::Host;
use super::managed;
use super::options::StartOptions;
use super::program::Program;
use super::refusal::{Given, explain};
use super::replica_set::{initiate, log};
use super::server::Server;
use super::sharding::Mongos;
use super::uri::parts;
use base::error::Result;

const CONFIG: &str = "config";
/// The topology of a cluster of ours, before the number of its shards.
pub(super) const TOPOLOGY: &str = "sharded: ";

/// Drivers see the mongos alone. Its balancer is off.
pub(super) async fn open(
    host: &Host,
    program: &Program,
    options: &StartOptions,
    shards: usize,
) -> Result<Server> {
    let mongos = program.mongos(host)?;
    let named = |name: &str| options.log.with_file_name(name);
    let mut config = options.clone();
    config.log = named("mongod-config.log");
    config.extra_flags.push("--configsvr".to_owned());
    let is_config = doc! { "configsvr": true };
    let (config, config_host) = member(host, program, config, CONFIG, is_config).await?;
    let mut members = Vec::new();
    for number in 1..=shards {
        let mut options = StartOptions { log: log(&options.log, number), ..options.clone() };
        options.extra_flags.push("--shardsvr".to_owned());
        let set = format!("s{number}");
        let (member, address) = member(host, program, options, &set, doc! {}).await?;
        members.push((set, address, member));
    }
    let options = StartOptions {
        log: named("mongos.log"),
        config_servers: Some(format!("{CONFIG}/{config_host}")),
        ..options.clone()
    };
    let mut server = managed::start(host, &mongos, &options).await?;
    let client = Client::with_uri_str(&server.uri).await;
    let client = client.map_err(|error| explain(&error, &server.uri, Given::default()))?;
    let mongos = Mongos(client);
    for (set, address, _) in &members {
        mongos.add_shard(set, address).await?;
    }
    mongos.stop_balancer().await?;
    server.record.topology = format!("{TOPOLOGY}{shards}");
    // In the order in which they are stopped: nobody misses one that is gone.
    server.others = members.into_iter().map(|(.., member)| member).chain([config]).collect();
    server.is_one = true;
    Ok(server)
}

/// A replica set of one, and its address.
async fn member(
    host: &Host,
    program: &Program,
    mut options: StartOptions,
    set: &str,
    more: Document,
) -> Result<(Server, String)> {
    options.extra_flags.push(format!("--replSet={set}"));
    let server = managed::start(host, program, &options).await?;
    let hosts = parts(&server.record.uri).hosts;
    initiate(set, &hosts, more).await?;
    Ok((server, hosts.concat()))
}
