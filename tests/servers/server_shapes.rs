//! Several mongods as one server: started together, ended together.

use crate::server_support::{QUIET, assert_nothing_left, fresh_host, options};
use mongodb::Client;
use mongodb::bson::doc;
use server::{Host, Program, ServerChoice, ServerHandle};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

async fn open(host: &Host, words: &str) -> ServerHandle {
    let choice = ServerChoice::parse(words, None).expect(words);
    let program = choice.prepare(host, QUIET).expect("installs");
    choice.open(host, program.as_ref(), &options(host)).await.expect("starts")
}

#[tokio::test]
async fn hosts_know_nothing_of_each_other() {
    let (_home, host) = fresh_host();
    let server = open(&host, "embedded:hosts=2").await;
    let uris: Vec<String> = server.uris().into_iter().map(str::to_owned).collect();
    assert_eq!(uris.len(), 2);
    assert_eq!(server.record().topology, "hosts: 2, each standalone");
    let mut counts = Vec::new();
    for (number, uri) in uris.iter().enumerate() {
        let client = Client::with_uri_str(uri).await.expect("a client");
        let items = client.database("d").collection("items");
        items.insert_many(vec![doc! {}; number + 1]).await.expect("inserts");
        counts.push(items.count_documents(doc! {}).await.expect("counts"));
    }
    assert_eq!(counts, [1, 2]);
    server.stop().await;
    assert_nothing_left(&host);
}

#[tokio::test]
async fn a_replica_set_has_a_primary_and_takes_majority() {
    let (_home, host) = fresh_host();
    let server = open(&host, "embedded:replset=3").await;
    assert_eq!(server.uris(), [server.uri()], "drivers see one server");
    assert_eq!(server.record().topology, "replica set rs0");
    let client = Client::with_uri_str(format!("{}&w=majority", server.uri())).await.expect("one");
    client.database("d").collection("items").insert_one(doc! { "n": 1 }).await.expect("inserts");
    let status = client.database("admin").run_command(doc! { "replSetGetStatus": 1 }).await;
    let status = status.expect("a status");
    assert_eq!(status.get_array("members").expect("members").len(), 3);
    server.stop().await;
    assert_nothing_left(&host);
}

/// A program in the place of mongos, beside a real mongod: it prints its version and its arguments.
fn with_mongos(host: &Host, version: &str) -> String {
    let mongod = Program::embedded(host, Some("6.0.5"), QUIET).expect("installs").path;
    let bin = host.home.join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    symlink(mongod, bin.join("mongod")).expect("a link");
    let mongos = bin.join("mongos");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" != --version ] || {{ echo mongos version v{version}; exit; }}\n\
         echo \"asked for $*\"\nexit 7\n"
    );
    fs::write(&mongos, script).expect("a script");
    fs::set_permissions(mongos, fs::Permissions::from_mode(0o755)).expect("a program");
    format!("{}:shards=2", bin.join("mongod").display())
}

/// No mongos is at hand where tests run: its commands are held against a recording, in the crate.
#[tokio::test]
async fn a_cluster_has_its_config_server_and_shards_before_its_mongos() {
    let (_home, host) = fresh_host();
    let words = with_mongos(&host, "6.0.5");
    let choice = ServerChoice::parse(&words, None).expect("a shape");
    let program = choice.prepare(&host, QUIET).expect("there are both");
    let opened = choice.open(&host, program.as_ref(), &options(&host)).await;
    let error = opened.expect_err("it is no mongos").to_string();
    assert!(error.contains("mongos 6.0.5 ended with exit code 7"), "{error}");
    let log = |name: &str| fs::read_to_string(host.home.join("logs").join(name)).expect(name);
    let asked = log("mongos.log");
    assert!(asked.contains("--configdb=config/127.0.0.1:"), "{asked}");
    assert!(!asked.contains("--dbpath") && !asked.contains("--wiredTiger"), "{asked}");
    for (name, set, role) in [
        ("mongod-config.log", "config", "configsvr"),
        ("mongod.log", "s1", "shardsvr"),
        ("mongod-2.log", "s2", "shardsvr"),
    ] {
        let log = log(name);
        assert!(log.contains(&format!("\"clusterRole\":\"{role}\"")), "{name}: {log}");
        assert!(log.contains(&format!("\"replSet\":\"{set}\"")), "{name}: {log}");
        assert!(log.contains("Transition to primary complete"), "{name}: {log}");
    }
    assert_nothing_left(&host);
}

#[test]
fn without_a_mongos_of_the_same_version_a_cluster_is_refused() {
    let (_home, host) = fresh_host();
    let host = Host { path: host.home.join("nowhere").into(), ..host };
    let words = with_mongos(&host, "5.0.9");
    let choice = ServerChoice::parse(&words, None).expect("a shape");
    let error = choice.prepare(&host, QUIET).expect_err("another version");
    assert!(error.message.contains("mongos is 5.0.9, and "), "{error}");
    assert!(error.message.ends_with("bin/mongod is 6.0.5"), "{error}");
    fs::remove_file(host.home.join("bin/mongos")).expect("a file");
    let error = choice.prepare(&host, QUIET).expect_err("no mongos");
    assert_eq!(error.exit as u8, 5);
    assert!(error.message.contains("needs a mongos, and there is none"), "{error}");
}
