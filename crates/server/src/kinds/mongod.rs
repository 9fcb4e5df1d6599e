//! `mongod`, or its path: a mongod of this machine, started and stopped by us.

use std::path::PathBuf;

use base::error::{Error, Result};
use record::records::ServerKind;

use crate::host::{Host, is_executable};
use crate::kind::Kind;
use crate::managed;
use crate::program::Program;

pub const KIND: Kind = Kind {
    forms: "mongod (on PATH), a path to mongod",
    is_named: |words| words == "mongod" || (words.contains('/') && !words.contains("://")),
    prepare: |host, words, progress| {
        Program::probe(host, find(host, words)?, ServerKind::Mongod, None, progress).map(Some)
    },
    open: managed::open,
    again: |_| {
        Err(Error::usage(
            "it was made against a mongod of that machine, which no folder can name",
            "add --server mongod, or --server and the path of a mongod",
        ))
    },
};

fn find(host: &Host, words: &str) -> Result<PathBuf> {
    let (path, problem) = if words == "mongod" {
        (host.find_program("mongod"), "there is no mongod on PATH".to_owned())
    } else {
        (Some(words.into()).filter(is_program), format!("{words} is not a program"))
    };
    let hint = "install mongod, give its path, or use `--server embedded` or --uri";
    path.ok_or_else(|| Error::environment(problem, hint))
}

fn is_program(path: &PathBuf) -> bool {
    is_executable(path)
}
