//! Connecting, errors, the driver's version: the same in all generations of the API.

use std::fmt::Debug;
use std::io;

use mongodb::bson::Document;
use mongodb::error::{Error, ErrorKind, WriteFailure};
use mongodb::options::{
    Acknowledgment, ClientOptions, SelectionCriteria, ServerAddress, Tls, TransactionOptions,
};
use serde_json::{json, Map, Value};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::api::{self, BatchFailed, Client, Collection, Database};
use crate::call::{cut, ErrorEntry, Failure, Options};

/// Options that the driver parses and ignores. Since 3.5 it refuses the second.
const UNUSED: [&str; 2] = ["waitQueueTimeoutMS", "socketTimeoutMS"];

/// A client that reached its server. Databases do not lead back to their client in all versions.
pub struct Opened {
    client: Client,
    pub database: Database,
}

/// A client that reached its server, and the options that it resolved.
pub async fn connect(
    uri: String,
    options: Map<String, Value>,
    database: String,
) -> Result<(Opened, Value), Failure> {
    let unused = |name: &&String| {
        UNUSED.iter().any(|unused| unused.eq_ignore_ascii_case(name))
            || (!cfg!(feature = "compression") && name.eq_ignore_ascii_case("compressors"))
    };
    if let Some(name) = options.keys().find(unused) {
        return Err(Failure::new(
            "unsupported",
            format!("the driver does not use the option {name}"),
        ));
    }
    let options = api::parse(&uri).await.map_err(refused)?;
    let acknowledgment = options.write_concern.as_ref().and_then(|concern| concern.w.as_ref());
    if acknowledgment == Some(&Acknowledgment::Nodes(0)) {
        return Err(Failure::new("unsupported", "the driver has no unacknowledged writes"));
    }
    let resolved = resolved(&options);
    let client = Client::with_options(options).map_err(refused)?;
    let database = client.database(&database);
    api::ping(&database).await.map_err(refused)?;
    Ok((Opened { client, database }, resolved))
}

/// The options as the driver parsed them. It does not report the defaults of those that are open.
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
    resolved["compressors"] = compressors(options).collect();
    // Unset: the driver sends none.
    resolved["write_concern"] = json!(options.write_concern.clone().unwrap_or_default());
    resolved["read_concern"] = json!(options.read_concern)["level"].clone();
    resolved["tls"] = json!(matches!(options.tls, Some(Tls::Enabled(_))));
    resolved["commands"] = json!({ "count": "aggregate" }); // of count_documents
    resolved
}

#[cfg(feature = "compression")]
fn compressors(options: &ClientOptions) -> impl Iterator<Item = String> + '_ {
    options.compressors.iter().flatten().map(|compressor| variant(compressor).to_lowercase())
}

#[cfg(not(feature = "compression"))]
fn compressors(_: &ClientOptions) -> std::iter::Empty<String> {
    std::iter::empty()
}

/// The name of an enum's variant.
fn variant(value: &impl Debug) -> String {
    let debug = format!("{value:?}");
    debug.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

fn refused(error: Error) -> Failure {
    let code = match &*error.kind {
        // An option that the driver does not know, or a wrong value.
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

/// What the linked driver reports to every server about itself: its version and the compiler's. The
/// crate exports no version, and a build script could only read what Cargo.lock promises.
pub async fn handshake() -> Result<Document, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = ServerAddress::parse(listener.local_addr()?.to_string())?;
    let options = ClientOptions::builder().hosts(vec![address]).build();
    let _client = Client::with_options(options)?;
    let (mut stream, _) = listener.accept().await?;
    let length = stream.read_i32_le().await?;
    let mut message = vec![0; length as usize - 4];
    stream.read_exact(&mut message).await?;
    let field = b"\x03client\0";
    let at = message.windows(field.len()).position(|bytes| bytes == field);
    let mut metadata = &message[at.ok_or(Failure::new("internal", "no metadata"))? + field.len()..];
    Ok(Document::from_reader(&mut metadata)?)
}

/// The targets of an operation's calls with one client.
pub struct Target {
    /// Client and concerns of a transaction.
    pub client: Client,
    pub concerns: TransactionOptions,
    pub database: Database,
    pub items: Collection<Document>,
}

pub fn bind(Opened { client, database }: &Opened, options: &Options) -> Result<Target, Failure> {
    let Options { write_concern, read_concern, read_preference, .. } = options;
    let preference = read_preference.as_ref().map(|mode| json!({ "mode": mode }));
    let asked = json!({
        "writeConcern": write_concern,
        "readConcern": read_concern.as_ref().map(|level| json!({ "level": level })),
        "selectionCriteria": preference, // of a collection
        "readPreference": preference, // of a transaction
    });
    let refused = |error| Failure::new("unsupported", error);
    let of_collection = serde_json::from_value(asked.clone()).map_err(refused)?;
    Ok(Target {
        client: client.clone(),
        database: database.clone(),
        items: database.collection_with_options(&options.collection, of_collection),
        concerns: serde_json::from_value(asked).map_err(refused)?,
    })
}

/// Starts what calls the driver: a task, or a thread if the calls block. No task runs on such a
/// thread, because the driver's runtime refuses to start within another.
#[cfg(not(feature = "sync"))]
pub use tokio::spawn;

#[cfg(feature = "sync")]
pub fn spawn<T: Send + 'static>(
    calls: impl std::future::Future<Output = T> + Send + 'static,
) -> tokio::sync::oneshot::Receiver<T> {
    let (done, result) = tokio::sync::oneshot::channel();
    // It is not received if the phase has ended.
    std::thread::spawn(|| drop(done.send(futures_executor::block_on(calls))));
    result
}

/// The server's code and name (of a batch: of its first write error); otherwise 0 and the driver's
/// variant.
impl From<Error> for ErrorEntry {
    fn from(error: Error) -> ErrorEntry {
        let (code, name) = match &*error.kind {
            ErrorKind::Command(error) => (error.code, Some(&error.code_name)),
            ErrorKind::Write(WriteFailure::WriteError(error)) => {
                (error.code, error.code_name.as_ref())
            }
            ErrorKind::Write(WriteFailure::WriteConcernError(error)) => {
                (error.code, Some(&error.code_name))
            }
            BatchFailed(batch) => {
                match (batch.write_errors.iter().flatten().next(), &batch.write_concern_error) {
                    (Some(error), _) => (error.code, error.code_name.as_ref()),
                    (None, Some(error)) => (error.code, Some(&error.code_name)),
                    (None, None) => (0, None),
                }
            }
            _ => (0, None),
        };
        let timeout = match &*error.kind {
            ErrorKind::Io(error) => error.kind() == io::ErrorKind::TimedOut,
            ErrorKind::ServerSelection { .. } => true,
            _ => matches!(code, 50 | 262), // MaxTimeMSExpired, ExceededTimeLimit
        };
        let name = name.filter(|name| !name.is_empty()).cloned();
        ErrorEntry {
            code,
            name: name.unwrap_or_else(|| variant(&error.kind)),
            count: 1,
            message: cut(&error.kind.to_string()),
            outcome: if timeout { 3 } else { 2 },
        }
    }
}
