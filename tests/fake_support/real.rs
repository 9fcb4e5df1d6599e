//! Experiments with a real driver on a real server, for the tests that need one.

use std::sync::OnceLock;

use mongodb::Client;
use server::RunningServer;

use super::{Lab, stderr};
use crate::support::{self, skip, start_server};

/// Half a second of inserts and two warm-ups: a round of two arms takes four seconds.
pub const INSERTS: &str = "
name: inserts
why: A few writes, so that there is a database to leave behind.
collections:
  items:
    document: {_id: {type: objectid, value: key}}
phases:
  - operation: insert_one
    collection: items
    warmup: 0.2
    duration: 0.5
";

/// A lab with the user's cache, the real driver and the workload; None where that cannot be.
pub fn real_lab(test: &str) -> Option<Lab> {
    static READY: OnceLock<Result<(), String>> = OnceLock::new();
    support::server(test)?;
    let installed = READY.get_or_init(|| {
        let output = support::run(["adapters", "install", "python"]);
        if output.status.success() { Ok(()) } else { Err(stderr(&output)) }
    });
    if let Err(reason) = installed {
        skip(test, reason);
        return None;
    }
    let lab = Lab::with_shared_cache();
    lab.write("inserts.yaml", INSERTS);
    Some(lab)
}

pub fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "inserts.yaml", "--out", "out", "-d", "python"], more].concat()
}

/// Does something with a server, in a runtime of its own.
pub fn with_client<T>(uri: &str, act: impl AsyncFnOnce(Client) -> mongodb::error::Result<T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let client = Client::with_uri_str(uri).await.expect("a client");
        act(client).await.expect("the server does it")
    })
}

/// A server of the test's own, or None where there can be none.
pub fn own_server(test: &str, flags: &[&str]) -> Option<RunningServer> {
    start_server(flags).map_err(|reason| skip(test, &reason)).ok()
}
