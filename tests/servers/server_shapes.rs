//! Several mongods as one server: started together, ended together.

use crate::server_support::{QUIET, assert_nothing_left, fresh_host, options};
use mongodb::Client;
use mongodb::bson::doc;
use server::{Host, Server, ServerChoice};

async fn open(host: &Host, words: &str) -> Server {
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
