//! One function a command: a request in, the fields of its reply out.

mod indexes;
mod modify;
mod namespaces;
mod pipeline;
mod queries;
mod stats;
mod transactions;
mod write;

use super::Engine;
use super::args::CommandArgs;
use super::fault::Fallible;
use super::writer::Writer;

pub(super) use queries::{AWAIT, FIRST_BATCH, FindOptions, open_cursor};

pub type CommandHandler = fn(&Engine, &CommandArgs<'_>) -> Fallible<Writer>;

pub fn named(name: &[u8]) -> Option<CommandHandler> {
    Some(match name {
        b"insert" => write::insert,
        b"update" => write::update,
        b"delete" => write::delete,
        b"find" => queries::find,
        b"getMore" => queries::get_more,
        b"killCursors" => queries::kill_cursors,
        b"count" => queries::count,
        b"distinct" => queries::distinct,
        b"findAndModify" | b"findandmodify" => modify::find_and_modify,
        b"aggregate" => pipeline::aggregate,
        b"commitTransaction" | b"abortTransaction" => transactions::end,
        b"create" => namespaces::create,
        b"drop" => namespaces::drop_collection,
        b"dropDatabase" => namespaces::drop_database,
        b"listCollections" => namespaces::list_collections,
        b"listDatabases" => namespaces::list_databases,
        b"createIndexes" => indexes::create,
        b"collStats" | b"collstats" => stats::collection,
        b"dbStats" | b"dbstats" => stats::database,
        _ => return None,
    })
}
