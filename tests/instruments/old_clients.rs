//! Drivers of 2013 to 2015 on the absorber: it answers as MongoDB 4.4 does, the newest server that
//! all of them speak with.
//!
//! Each program in `tests/clients` drops its database and inserts 150 documents in three batches.
//! It finds all of them (more than one batch), a group, a range and one. It counts, updates one,
//! removes a group, and inserts a duplicate. Then it tails a capped collection: a sentinel first,
//! then 20 messages from another connection. It prints its observations as one line of JSON.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::absorber_support::Absorber;
use crate::npm;
use crate::support::{root, said, scratch, skip, start_version};
use crate::tap_support::host_of;
use server::ServerHandle;

/// The output of every client. `all` and `group`: number of documents and sum of their `_id`s.
const SEEN: &str = r#"{"all":[150,11325],"group":[50,3725],"range":[145,146,147,148,149,150],"#;
const SEEN_THEN: &str = r#""one":"n7","counts":[50,150],"updated":1,"changed":"changed","#;
const SEEN_LAST: &str = r#""removed":50,"left":100,"duplicate":11000,"tailed":[0,1,2,3,4,5,6,"#;
const SEEN_END: &str = "7,8,9,10,11,12,13,14,15,16,17,18,19,20]}";

/// Wire versions of the absorber: its default, MongoDB 4.4's, and MongoDB 2.4's, with which drivers
/// use the legacy opcodes alone.
const WIRES: [&[&str]; 3] = [&[], &["--wire", "0..9"], &["--wire", "0..0"]];

/// Limit for a client that hangs.
const SECONDS_MAX: &str = "60";

#[test]
fn npm_mongodb_1_4() {
    let Some(folder) = npm("old_clients/npm_mongodb_1_4", "node-1.4") else { return };
    sees_the_same("old_clients/npm_mongodb_1_4", &node(&folder));
}

#[test]
fn npm_mongolian() {
    let Some(folder) = npm("old_clients/npm_mongolian", "mongolian") else { return };
    sees_the_same("old_clients/npm_mongolian", &node(&folder));
}

#[test]
fn debian_libmongoclient() {
    let source = root().join("tests/clients/libmongoclient/client.cpp");
    let program = scratch("old-clients").join("libmongoclient");
    let mut compiler = Command::new("c++");
    // -w: its headers use what C++11 deprecates.
    compiler.args(["-std=c++11", "-w", "-o"]).arg(&program).arg(source).arg("-lmongoclient");
    match compiler.output() {
        Ok(output) if output.status.success() => {
            let program = program.to_string_lossy().into_owned();
            sees_the_same("old_clients/debian_libmongoclient", &[program]);
        }
        Ok(output) if !said(&output).contains("No such file") => panic!("{}", said(&output)),
        _ => skip("old_clients/debian_libmongoclient", "no C++ compiler with libmongoclient"),
    }
}

/// Runs a client on MongoDB 4.4 and on absorbers.
fn sees_the_same(test: &str, program: &[String]) {
    // One after the other: all of them drop and use one database.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(address) = mongodb_4_4(test) else { return };
    let seen = [SEEN, SEEN_THEN, SEEN_LAST, SEEN_END].concat();
    assert_eq!(sees(program, &address), seen, "on MongoDB 4.4");
    for wire in WIRES {
        let absorber = Absorber::start(wire);
        assert_eq!(sees(program, &absorber.address.to_string()), seen, "on the absorber, {wire:?}");
    }
}

/// The line of JSON; some of them print log lines before it.
fn sees(program: &[String], address: &str) -> String {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", SECONDS_MAX]).args(program).arg(address);
    let output: Output = command.stdin(Stdio::null()).output().expect("timeout runs");
    assert!(output.status.success(), "{program:?} on {address}: {}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().find(|line| line.starts_with('{')).unwrap_or_default().to_owned()
}

/// Address of a MongoDB 4.4 of this test process; None: skipped.
fn mongodb_4_4(test: &str) -> Option<String> {
    static SERVER: OnceLock<Result<ServerHandle, String>> = OnceLock::new();
    match SERVER.get_or_init(|| start_version(Some("4.4"), &[])) {
        Ok(server) => Some(host_of(server.uri())),
        Err(reason) => {
            skip(test, reason);
            None
        }
    }
}

/// A client's program with the Node.js of its time, which its lock file holds as well.
fn node(folder: &Path) -> Vec<String> {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    vec![path("node_modules/.bin/node"), path("client.js")]
}

/// Installs a client; None: skipped.
fn npm(test: &str, client: &str) -> Option<PathBuf> {
    let folder = npm::installed(client).map_err(|reason| skip(test, &reason)).ok()?;
    let steps = root().join("tests/clients/steps.js");
    fs::copy(steps, folder.join("../steps.js")).expect("a copy");
    Some(folder)
}
