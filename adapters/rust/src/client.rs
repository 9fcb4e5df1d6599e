//! The driver's client: how it connects, the options it resolved, its version.

use std::io;

use mongodb::bson::Document;
use mongodb::error::ErrorKind;
use mongodb::options::{Acknowledgment, ClientOptions, SelectionCriteria, ServerAddress, Tls};
use serde_json::{json, Map, Value};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::errors::Failure;
use crate::operations::{close, ping, Client, Database, Error};

/// Options that the driver parses and passes over, in lower case. Since 3.5 it refuses the second.
const UNUSED: [&str; 2] = ["waitqueuetimeoutms", "sockettimeoutms"];

/// The database of a client that reached its server, and the options that the client resolved.
pub async fn connect(uri: &str, database: &str) -> Result<(Database, Value), Failure> {
    let query = uri.split_once('?').map_or("", |(_, query)| query).to_lowercase();
    let mut names = query.split('&').filter_map(|pair| pair.split('=').next());
    if let Some(name) = names.find(|name| UNUSED.contains(name)) {
        return Err(Failure::unsupported(format!("the driver does not use the option {name}")));
    }
    let options = ClientOptions::parse(uri).await.map_err(refused)?;
    let acknowledgment = options.write_concern.as_ref().and_then(|concern| concern.w.as_ref());
    if acknowledgment == Some(&Acknowledgment::Nodes(0)) {
        return Err(Failure::unsupported("the driver has no unacknowledged writes"));
    }
    let resolved = resolved(&options);
    let database = Client::with_options(options).map_err(refused)?.database(database);
    ping(&database).await.map_err(refused)?;
    Ok((database, resolved))
}

/// The options as the driver parsed them. It does not tell the defaults of those that are open.
fn resolved(options: &ClientOptions) -> Value {
    let read_preference = match &options.selection_criteria {
        Some(SelectionCriteria::ReadPreference(preference)) => json!(preference)["mode"].clone(),
        _ => Value::Null,
    };
    let compressors = options.compressors.iter().flatten();
    let names = compressors.map(|compressor| format!("{compressor:?}").to_lowercase());
    let names = names.map(|name| name.split(' ').next().unwrap_or_default().to_owned());
    let compressors: Vec<String> = names.collect();
    let told = [
        ("max_pool_size", json!(options.max_pool_size)),
        ("min_pool_size", json!(options.min_pool_size)),
        ("read_preference", read_preference),
        ("retry_writes", json!(options.retry_writes)),
        ("retry_reads", json!(options.retry_reads)),
    ];
    let told = told.into_iter().filter(|(_, value)| !value.is_null());
    let mut resolved: Map<_, _> = told.map(|(name, value)| (name.to_owned(), value)).collect();
    let known = [
        // Unset: the driver sends none.
        ("write_concern", json!(options.write_concern.clone().unwrap_or_default())),
        ("read_concern", json!(options.read_concern)["level"].clone()),
        ("compressors", json!(compressors)),
        ("tls", json!(matches!(options.tls, Some(Tls::Enabled(_))))),
        ("commands", json!({ "count": "aggregate" })), // of count_documents
    ];
    resolved.extend(known.map(|(name, value)| (name.to_owned(), value)));
    Value::Object(resolved)
}

fn refused(error: Error) -> Failure {
    let code = match &*error.kind {
        // An option that it does not know, or a value of one.
        ErrorKind::InvalidArgument { .. } => "unsupported",
        ErrorKind::Authentication { .. } => "auth",
        ErrorKind::Command(error) if error.code == 18 => "auth",
        ErrorKind::ServerSelection { .. } | ErrorKind::Io(_) | ErrorKind::DnsResolve { .. } => {
            "connect"
        }
        _ => "internal",
    };
    Failure { code, message: error.kind.to_string() }
}

/// The metadata that the linked driver sends to every server: its version and the compiler's. The
/// crate exports no version, and a build script could only read what Cargo.lock promises.
pub async fn metadata() -> io::Result<Document> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = Some(listener.local_addr()?.port());
    let address = ServerAddress::Tcp { host: "127.0.0.1".to_owned(), port };
    let options = ClientOptions::builder().hosts(vec![address]).build();
    let client = Client::with_options(options).map_err(io::Error::other)?;
    let (mut stream, _) = listener.accept().await?;
    let length = stream.read_i32_le().await?;
    let mut message = vec![0; (length as usize).saturating_sub(4)];
    stream.read_exact(&mut message).await?;
    close(client).await;
    let field = b"\x03client\0";
    let at = message.windows(field.len()).position(|bytes| bytes == field);
    let mut metadata = &message[at.ok_or(io::ErrorKind::InvalidData)? + field.len()..];
    Document::from_reader(&mut metadata).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn resolved_of(uri: &str) -> Value {
        resolved(&ClientOptions::parse(uri).await.expect("options"))
    }

    #[tokio::test]
    async fn resolved_leaves_out_what_the_driver_does_not_tell() {
        let open = json!({
            "write_concern": {}, "read_concern": null, "compressors": [], "tls": false,
            "commands": { "count": "aggregate" },
        });
        assert_eq!(resolved_of("mongodb://h/").await, open);
        let set = json!({
            "max_pool_size": 3, "min_pool_size": 1, "read_preference": "nearest",
            "retry_writes": false, "retry_reads": true,
            "write_concern": { "w": "majority", "j": true }, "read_concern": "local",
            "compressors": ["zlib", "snappy"], "tls": true, "commands": { "count": "aggregate" },
        });
        let uri = "mongodb://h/?maxPoolSize=3&minPoolSize=1&readPreference=nearest&\
            retryWrites=false&retryReads=true&w=majority&journal=true&readConcernLevel=local&\
            compressors=zlib,snappy&tls=true";
        assert_eq!(resolved_of(uri).await, set);
    }

    #[tokio::test]
    async fn connect_says_why_not() {
        let cases = [
            ("w=0", "unsupported"),
            ("sausage=1", "unsupported"),
            ("maxPoolSize=many", "unsupported"),
            ("waitQueueTimeoutMS=5", "unsupported"),
            ("serverSelectionTimeoutMS=100", "connect"),
        ];
        for (option, code) in cases {
            let uri = format!("mongodb://127.0.0.1:1/?{option}");
            let failure = connect(&uri, "mdyn_x").await.expect_err("refused");
            assert_eq!(failure.code, code, "{option}: {}", failure.message);
        }
    }
}
