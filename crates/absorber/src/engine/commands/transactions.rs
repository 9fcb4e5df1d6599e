//! The end of a transaction. Its writes were done as they came, and an abort leaves them: the
//! absorber measures what drivers send, and is no database.

use super::super::Engine;
use super::super::args::CommandArgs;
use super::super::fault::Fallible;
use super::super::writer::Writer;

pub fn end(_: &Engine, request: &CommandArgs<'_>) -> Fallible<Writer> {
    request.fields(&[b"recoveryToken"])?;
    Ok(Writer::new(16).ok())
}
