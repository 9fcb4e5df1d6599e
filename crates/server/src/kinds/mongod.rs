//! `mongod`, or its path: a mongod of this machine that mongodyno starts and stops.

use std::path::PathBuf;

use base::error::{Error, Result};
use record::records::ServerKind;

use crate::host::{Host, is_executable};
use crate::kind_definition::KindDefinition;
use crate::managed;
use crate::program::Program;

pub const KIND: KindDefinition = KindDefinition {
    forms: "mongod (on PATH), a path to mongod",
    is_named: |words| words == "mongod" || (words.contains('/') && !words.contains("://")),
    identity: |words| {
        let path = find(&Host::detect()?, words)?;
        Ok(path.canonicalize().unwrap_or(path).display().to_string())
    },
    is_here: |_, _| Ok(true),
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
    let missing = |problem: String| {
        let hint = "install mongod, give its path, or use `--server embedded` or --uri";
        Error::environment(problem, hint)
    };
    if words == "mongod" {
        let found = host.find_program("mongod");
        return found.ok_or_else(|| missing("there is no mongod on PATH".to_owned()));
    }
    let path = PathBuf::from(words);
    if is_executable(&path) { Ok(path) } else { Err(missing(format!("{words} is not a program"))) }
}
