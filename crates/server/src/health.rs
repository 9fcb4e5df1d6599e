//! Asks through the official driver whether a server answers, and what it is.

use std::io::ErrorKind::{ConnectionRefused, NotFound, TimedOut};
use std::time::Duration;

use mongodb::Client;
use mongodb::bson::{Document, doc};
use mongodb::error::{Error as DriverError, ErrorKind};
use mongodb::options::{ClientOptions, ConnectionString, ServerAddress, Tls};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::connection_string::{for_ourselves, is_escaped, own_options};
use super::mask::mask_uri;
use super::refusal::{
    UNAUTHORIZED, UriFeatures, code, connection_refused, explain, is_final, is_unknown_host,
    no_socket_file, unknown_host,
};
use base::error::{Error, Result};
use base::secrets::mask_text;

/// How long an external server may take to answer.
const EXTERNAL_LIMIT: Duration = Duration::from_secs(10);
/// How long a client may take to close. With mongodb+srv:// the driver would wait for its next DNS
/// query, a minute.
const LEAVE_LIMIT: Duration = Duration::from_millis(250);
/// A first, short question: the driver would repeat a hopeless one until the limit.
const FIRST_LIMIT: Duration = Duration::from_secs(2);

/// The answers of a healthy server about itself.
#[derive(Debug, Clone)]
pub(super) struct Health {
    pub version: String,
    pub git_version: String,
    pub topology: String,
    pub max_wire_version: i32,
}

/// Asks a mongod that has just been started.
pub(super) async fn managed(port: u16, limit: Duration) -> Result<Health> {
    let uri = format!("mongodb://127.0.0.1:{port}/");
    let failed = |error: DriverError| explain(&error, &uri, UriFeatures::default());
    let mut options = ClientOptions::parse(&uri).await.map_err(failed)?;
    // A replica set that is not yet initiated answers only to a direct connection.
    options.direct_connection = Some(true);
    ask(options, limit, false).await.map_err(failed)
}

/// Refuses what is no connection string for mongodyno's own driver. It looks nothing up.
pub(super) fn readable(uri: &str) -> Result<()> {
    if !is_escaped(uri) {
        return Err(unusable(uri, "a % in it is no escape"));
    }
    let read = ConnectionString::parse(for_ourselves(uri));
    read.map(drop).map_err(|error| unusable(uri, &error.kind.to_string()))
}

fn unusable(uri: &str, reason: &str) -> Error {
    Error::usage(
        format!("{} cannot be used: {}", mask_uri(uri), mask_text(reason)),
        "write it as mongodb://USER:PASSWORD@HOST:PORT/?OPTIONS, with @ / : ? % in the password \
         percent-encoded",
    )
}

/// Asks any server, by its connection string.
pub(super) async fn external(uri: &str) -> Result<Health> {
    readable(uri)?;
    let options = own_options(uri).await.map_err(|error| match error.kind.as_ref() {
        ErrorKind::DnsResolve { .. } => explain(&error, uri, UriFeatures::default()),
        reason => unusable(uri, &reason.to_string()),
    })?;
    // The proxy, not this machine, resolves names and opens connections.
    if options.socks5_proxy.is_none() {
        knock(&options, uri).await?;
    }
    let given = UriFeatures {
        credentials: options.credential.is_some(),
        tls: matches!(options.tls, Some(Tls::Enabled(_))),
        authority: matches!(&options.tls, Some(Tls::Enabled(tls)) if tls.ca_file_path.is_some()),
    };
    let first = ask(options.clone(), FIRST_LIMIT, !given.credentials).await;
    match first {
        Err(error) if !is_final(&error, given) => {
            ask(options, EXTERNAL_LIMIT, !given.credentials).await
        }
        first => first,
    }
    .map_err(|error| explain(&error, uri, given))
}

/// Fails if no host can be reached at all, which the driver would find out only at its limit.
async fn knock(options: &ClientOptions, uri: &str) -> Result<()> {
    let (mut refused, mut no_file) = (false, false);
    for host in &options.hosts {
        let connect = async {
            match host {
                ServerAddress::Tcp { host, port } => {
                    let address = (host.as_str(), port.unwrap_or(27017));
                    TcpStream::connect(address).await.map(drop)
                }
                ServerAddress::Unix { path } => UnixStream::connect(path).await.map(drop),
                _ => Ok(()),
            }
        };
        match timeout(Duration::from_secs(3), connect).await {
            Ok(Err(error)) if error.kind() == ConnectionRefused => refused = true,
            Ok(Err(error)) if error.kind() == NotFound => no_file = true,
            Ok(Err(error)) if is_unknown_host(&error) => {}
            _ => return Ok(()),
        }
    }
    Err(match (refused, no_file) {
        (true, _) => connection_refused(uri),
        (false, true) => no_socket_file(uri),
        (false, false) => unknown_host(uri),
    })
}

async fn ask(
    mut options: ClientOptions,
    limit: Duration,
    check_rights: bool,
) -> Result<Health, DriverError> {
    options.app_name.get_or_insert_with(|| "mongodyno".to_string());
    let own = options.server_selection_timeout.unwrap_or(limit);
    options.server_selection_timeout = Some(own.min(limit));
    options.connect_timeout.get_or_insert(limit);
    let client = Client::with_options(options)?;
    let asked = timeout(limit + Duration::from_secs(2), questions(&client, check_rights)).await;
    // Whatever is left then ends when the client is dropped.
    let _ = timeout(LEAVE_LIMIT, client.shutdown().immediate(true)).await;
    asked.unwrap_or_else(|_| Err(std::io::Error::new(TimedOut, "timed out").into()))
}

async fn questions(client: &Client, check_rights: bool) -> Result<Health, DriverError> {
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await?;
    if check_rights {
        // A server with access control lets anyone ping, and list no databases, but not read.
        let read = doc! { "find": "nothing", "limit": 1, "singleBatch": true };
        match client.database("mongodyno").run_command(read).await {
            Err(error) if code(&error) == Some(UNAUTHORIZED) => return Err(error),
            _ => {}
        }
    }
    let build = admin.run_command(doc! { "buildInfo": 1 }).await?;
    // `hello` is new in 4.4.2; every server answers the older name.
    let hello = admin.run_command(doc! { "isMaster": 1 }).await?;
    let text = |from: &Document, key: &str| from.get_str(key).unwrap_or_default().to_string();
    Ok(Health {
        version: text(&build, "version"),
        git_version: text(&build, "gitVersion"),
        topology: match (hello.get_str("setName"), hello.get_str("msg")) {
            (Ok(name), _) => format!("replica set {name}"),
            (_, Ok("isdbgrid")) => "sharded".to_string(),
            _ => "standalone".to_string(),
        },
        max_wire_version: hello.get_i32("maxWireVersion").unwrap_or_default(),
    })
}
