//! Experiments with a real driver on a real server, for the tests that need one.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mongodb::Client;
use server::ServerHandle;

use super::{Lab, stderr};
use crate::support::{self, block_on, skip, start_server};

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

/// Installs these adapters in the user's cache. Where that fails the test is skipped.
pub fn installed(test: &str, drivers: &[&str]) -> bool {
    static READY: Mutex<BTreeMap<String, Result<(), String>>> = Mutex::new(BTreeMap::new());
    let mut ready = READY.lock().unwrap_or_else(PoisonError::into_inner);
    drivers.iter().copied().all(|driver| {
        let install = || {
            let output = support::run(["adapters", "install", driver]);
            if output.status.success() { Ok(()) } else { Err(stderr(&output)) }
        };
        let done = ready.entry(driver.to_owned()).or_insert_with(install);
        done.as_ref().map_err(|reason| skip(test, reason)).is_ok()
    })
}

/// A lab with the user's cache, the real driver and the workload; None where that cannot be.
pub fn real_lab(test: &str) -> Option<Lab> {
    support::server(test)?;
    lab_with(test, &["python"])
}

/// The same with other drivers, and whatever server.
pub fn lab_with(test: &str, drivers: &[&str]) -> Option<Lab> {
    let lab = installed(test, drivers).then(Lab::with_shared_cache)?;
    lab.write("inserts.yaml", INSERTS);
    Some(lab)
}

pub fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "inserts.yaml", "--out", "out", "-d", "python"], more].concat()
}

/// Calls `act` with a client of a server, in a separate runtime.
pub fn with_client<T>(uri: &str, act: impl AsyncFnOnce(Client) -> mongodb::error::Result<T>) -> T {
    block_on(async {
        let client = Client::with_uri_str(uri).await.expect("a client");
        act(client).await.expect("the server does it")
    })
}

pub fn databases(uri: &str) -> Vec<String> {
    with_client(uri, async |client| client.list_database_names().await)
}

/// A server of the test's own; None: skipped.
pub fn own_server(test: &str, flags: &[&str]) -> Option<ServerHandle> {
    start_server(flags).map_err(|reason| skip(test, &reason)).ok()
}
