//! Connecting: the same in all generations of the API.

use std::fmt::Debug;

use mongodb::bson::Document;
use mongodb::error::{Error, ErrorKind};
use mongodb::options::{Acknowledgment, ClientOptions, SelectionCriteria, ServerAddress, Tls};
use serde_json::{json, Value};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::{close, ping, Client};
use crate::harness::protocol::{ClientTarget, Failure};

/// Options that the driver parses and passes over. Since 3.5 it refuses the second.
const UNUSED: [&str; 2] = ["waitQueueTimeoutMS", "socketTimeoutMS"];

/// A client that reached its server, and the options that it resolved.
pub async fn connect(target: &ClientTarget, database: &str) -> Result<(Client, Value), Failure> {
    let unused = |name: &&String| UNUSED.iter().any(|unused| unused.eq_ignore_ascii_case(name));
    if let Some(name) = target.options.keys().find(unused) {
        return Err(Failure::new(
            "unsupported",
            format!("the driver does not use the option {name}"),
        ));
    }
    let options = ClientOptions::parse(&target.uri).await.map_err(refused)?;
    let acknowledgment = options.write_concern.as_ref().and_then(|concern| concern.w.as_ref());
    if acknowledgment == Some(&Acknowledgment::Nodes(0)) {
        return Err(Failure::new("unsupported", "the driver has no unacknowledged writes"));
    }
    let resolved = resolved(&options);
    let client = mongodb::Client::with_options(options).map_err(refused)?.database(database);
    ping(&client).await.map_err(refused)?;
    Ok((client, resolved))
}

/// The options as the driver parsed them. It does not tell the defaults of those that are open.
pub(super) fn resolved(options: &ClientOptions) -> Value {
    let read_preference = match &options.selection_criteria {
        Some(SelectionCriteria::ReadPreference(preference)) => json!(preference)["mode"].clone(),
        _ => Value::Null,
    };
    let mut resolved = json!({
        "max_pool_size": options.max_pool_size,
        "min_pool_size": options.min_pool_size,
        "read_preference": read_preference,
        "retry_writes": options.retry_writes,
        "retry_reads": options.retry_reads,
    });
    resolved.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
    let compressors = options.compressors.iter().flatten();
    let compressors = compressors.map(|compressor| variant(compressor).to_lowercase());
    resolved["compressors"] = compressors.collect();
    // Unset: the driver sends none.
    resolved["write_concern"] = json!(options.write_concern.clone().unwrap_or_default());
    resolved["read_concern"] = json!(options.read_concern)["level"].clone();
    resolved["tls"] = json!(matches!(options.tls, Some(Tls::Enabled(_))));
    resolved["commands"] = json!({ "count": "aggregate" }); // of count_documents
    resolved
}

/// The name of an enum's variant.
pub(super) fn variant(value: &impl Debug) -> String {
    let debug = format!("{value:?}");
    debug.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned()
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

/// The linked driver's words about itself to every server: its version and the compiler's. The
/// crate exports no version, and a build script could only read what Cargo.lock promises.
pub async fn handshake() -> Result<Document, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = ServerAddress::parse(listener.local_addr()?.to_string())?;
    let options = ClientOptions::builder().hosts(vec![address]).build();
    let client = mongodb::Client::with_options(options)?;
    let (mut stream, _) = listener.accept().await?;
    let length = stream.read_i32_le().await?;
    let mut message = vec![0; length as usize - 4];
    stream.read_exact(&mut message).await?;
    close(client).await;
    let field = b"\x03client\0";
    let at = message.windows(field.len()).position(|bytes| bytes == field);
    let mut metadata = &message[at.ok_or(Failure::new("internal", "no metadata"))? + field.len()..];
    Ok(Document::from_reader(&mut metadata)?)
}
