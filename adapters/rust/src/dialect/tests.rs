//! Options that are reported, and errors as the driver reads them from answers.

use std::sync::Arc;

use mongodb::error::{Error, ErrorKind, WriteFailure};
use serde::de::DeserializeOwned;
use serde_json::{json, Value};

use super::api::{parse, BatchFailed};
use super::client::{resolved, spawn};
use crate::call::ErrorEntry;

#[tokio::test]
async fn resolved_leaves_out_what_the_driver_does_not_tell() {
    let open = json!({
        "write_concern": {}, "read_concern": null, "compressors": [], "tls": false,
        "commands": { "count": "aggregate" },
    });
    let offered = if cfg!(feature = "compression") { json!(["zlib", "snappy"]) } else { json!([]) };
    let set = json!({
        "max_pool_size": 3, "min_pool_size": 1, "read_preference": "nearest",
        "retry_writes": false, "retry_reads": true,
        "write_concern": { "w": "majority", "j": true }, "read_concern": "local",
        "compressors": offered, "tls": true, "commands": { "count": "aggregate" },
    });
    let options = "maxPoolSize=3&minPoolSize=1&readPreference=nearest&retryWrites=false&\
        retryReads=true&w=majority&journal=true&readConcernLevel=local&compressors=zlib,snappy&\
        tls=true";
    for (options, told) in [("", open), (options, set)] {
        let uri = format!("mongodb://h/?{options}");
        let options = spawn(async move { parse(&uri).await }).await.expect("it ends");
        assert_eq!(resolved(&options.expect("options")), told);
    }
}

const BATCH_FAILED: &str = if cfg!(feature = "v2") { "BulkWrite" } else { "InsertMany" };

fn entry<T: DeserializeOwned>(kind: impl Fn(T) -> ErrorKind, answer: Value) -> ErrorEntry {
    ErrorEntry::from(Error::from(kind(serde_json::from_value(answer).expect("an error"))))
}

#[test]
fn errors_have_the_servers_code_and_name_or_the_variants() {
    let write = |answer| ErrorKind::Write(WriteFailure::WriteError(answer));
    let concern = json!({ "code": 64, "codeName": "WriteConcernFailed", "errmsg": "late" });
    let batch = json!({
        "writeErrors": [{ "index": 1, "code": 11000 }, { "index": 2, "code": 121 }],
        "writeConcernError": concern,
    });
    let alone = json!({ "writeErrors": null, "writeConcernError": concern });
    let named = json!({ "code": 91, "codeName": "ShutdownInProgress", "errmsg": "" });
    let unnamed = json!({ "code": 11000, "errmsg": "duplicate" });
    let entries = [
        (entry(ErrorKind::Command, named), 91, "ShutdownInProgress"),
        (entry(ErrorKind::Command, unnamed.clone()), 11000, "Command"),
        (entry(write, unnamed), 11000, "Write"),
        (entry(BatchFailed, batch), 11000, BATCH_FAILED),
        (entry(BatchFailed, alone), 64, "WriteConcernFailed"),
    ];
    for (entry, code, name) in entries {
        assert_eq!((entry.code, entry.name.as_str()), (code, name));
    }
}

#[test]
fn timeouts_are_the_sockets_and_the_servers() {
    for (kind, outcome) in
        [(std::io::ErrorKind::TimedOut, 3), (std::io::ErrorKind::ConnectionReset, 2)]
    {
        let error = Error::from(ErrorKind::Io(Arc::new(kind.into())));
        assert_eq!(ErrorEntry::from(error).outcome, outcome, "{kind}");
    }
    for (code, outcome) in [(50, 3), (262, 3), (64, 2)] {
        let answer = json!({ "code": code, "errmsg": "" });
        assert_eq!(entry(ErrorKind::Command, answer).outcome, outcome, "{code}");
    }
}
