//! An external server, by its connection string.

use base::error::Result;
use record::records::ServerKind;

use super::health;
use super::mask::{keep_secret, mask_uri};
use super::record::ServerRecord;
use super::server_handle::ServerHandle;

/// Asks the server who it is, and changes nothing.
pub(super) async fn open(uri: &str) -> Result<ServerHandle> {
    let record = connect(uri).await?;
    Ok(ServerHandle::new(uri.to_owned(), record, None))
}

/// Asks a running server who it is.
pub async fn connect(uri: &str) -> Result<ServerRecord> {
    keep_secret(uri);
    let health = health::external(uri).await?;
    Ok(ServerRecord::new(ServerKind::External, mask_uri(uri), health))
}
