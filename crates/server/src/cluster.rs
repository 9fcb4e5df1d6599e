//! A sharded cluster that mongodyno starts: a config server, shards that are replica sets of one, a
//! mongos.

use bson::{Document, doc};
use mongodb::Client;

use super::connection_string::parts;
use super::host::Host;
use super::managed;
use super::mongos_commands::Mongos;
use super::options::StartOptions;
use super::program::Program;
use super::refusal::{UriFeatures, explain};
use super::replica_set::{initiate, log};
use super::server_handle::ServerHandle;
use base::error::Result;

const CONFIG: &str = "config";
/// Start of the topology of a started cluster, before the number of its shards.
pub(super) const TOPOLOGY: &str = "sharded: ";

/// Starts a cluster. Drivers see the mongos alone, and its balancer is off.
pub(super) async fn open(
    host: &Host,
    program: &Program,
    options: &StartOptions,
    shards: usize,
) -> Result<ServerHandle> {
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
    let client = client.map_err(|error| explain(&error, &server.uri, UriFeatures::default()))?;
    let mongos = Mongos(client);
    for (set, address, _) in &members {
        mongos.add_shard(set, address).await?;
    }
    mongos.stop_balancer().await?;
    server.record.topology = format!("{TOPOLOGY}{shards}");
    // In the order in which they are stopped: none needs one that has ended.
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
) -> Result<(ServerHandle, String)> {
    options.extra_flags.push(format!("--replSet={set}"));
    let server = managed::start(host, program, &options).await?;
    let hosts = parts(&server.record.uri).hosts;
    initiate(set, &hosts, more).await?;
    Ok((server, hosts.concat()))
}
