//! One function a command: a request in, the fields of its reply out.

mod admin;
mod aggregate;
mod indexes;
mod modify;
mod read;
mod stats;
mod write;

use super::Engine;
use super::args::Request;
use super::error::Outcome;
use super::writer::Writer;

pub(super) use read::{AWAIT, FIRST_BATCH, FindOptions, open_cursor};

pub type Command = fn(&Engine, &Request<'_>) -> Outcome<Writer>;

pub fn named(name: &[u8]) -> Option<Command> {
    Some(match name {
        b"insert" => write::insert,
        b"update" => write::update,
        b"delete" => write::delete,
        b"find" => read::find,
        b"getMore" => read::get_more,
        b"killCursors" => read::kill_cursors,
        b"count" => read::count,
        b"findAndModify" | b"findandmodify" => modify::find_and_modify,
        b"aggregate" => aggregate::aggregate,
        b"create" => admin::create,
        b"drop" => admin::drop_collection,
        b"dropDatabase" => admin::drop_database,
        b"listCollections" => admin::list_collections,
        b"listDatabases" => admin::list_databases,
        b"createIndexes" => indexes::create,
        b"collStats" | b"collstats" => stats::collection,
        b"dbStats" | b"dbstats" => stats::database,
        _ => return None,
    })
}
