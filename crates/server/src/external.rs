//! Somebody else's server, by its connection string.

use base::error::Result;
use record::records::ServerKind;

use super::health;
use super::mask::{keep_secret, mask_uri};
use super::record::ServerRecord;
use super::server::Server;

/// Finds out who it is; it is left as it is.
pub(super) async fn open(uri: &str) -> Result<Server> {
    let record = connect(uri).await?;
    Ok(Server {
        uri: uri.to_owned(),
        record,
        pid: None,
        process: None,
        others: Vec::new(),
        is_one: false,
    })
}

/// Asks a server that is already there who it is.
pub async fn connect(uri: &str) -> Result<ServerRecord> {
    keep_secret(uri);
    let health = health::external(uri).await?;
    Ok(ServerRecord::new(ServerKind::External, mask_uri(uri), health))
}
