//! A client that died of memory: a result, not a failure of the experiment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The memory that each arm's processes have together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientMemory {
    pub bytes: u64,
    /// Why a watchdog looks at the resident set; None: a cgroup, that is the kernel.
    pub no_cgroup: Option<String>,
}

impl ClientMemory {
    /// `64 MiB, by cgroup`.
    pub fn words(&self) -> String {
        let by = if self.no_cgroup.is_none() { "cgroup" } else { "watchdog" };
        format!("{}, by {by}", format::bytes(self.bytes))
    }
}

/// How far a client came that died of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Death {
    pub limit_bytes: u64,
    /// Most memory that was seen in use.
    pub used_bytes: u64,
    /// The line by which its runtime gave up; None where it was killed.
    pub said: Option<String>,
    /// None: before its first phase.
    pub phase: Option<String>,
    pub warmup: bool,
    /// Operations of that phase in its samples, which are written once a second: at least so many.
    pub operations: u64,
    /// Documents that they inserted; None where it inserts none, or their number is drawn.
    pub documents: Option<u64>,
    /// The server's contents afterwards: collStats of its collection, dbStats of all arms'.
    pub server: BTreeMap<String, i64>,
}

impl Death {
    /// `died of memory at 64 MiB after at least 1,200 operations (1,200 documents) of insert; …`.
    pub fn sentence(&self) -> String {
        let operations = if self.operations == 1 { "operation" } else { "operations" };
        let documents = self.documents.map_or(String::new(), |count| {
            let word = if count == 1 { "document" } else { "documents" };
            format!(" ({} {word})", format::count(count))
        });
        let warmup = if self.warmup { "the warm-up of " } else { "" };
        let far = match (&self.phase, self.operations) {
            (None, _) => ", before its first phase".to_owned(),
            (Some(phase), 0) => format!(" with no operation of {warmup}{phase} done"),
            (Some(phase), count) => {
                let count = format::count(count);
                format!(" after at least {count} {operations}{documents} of {warmup}{phase}")
            }
        };
        let used = format::bytes(self.used_bytes);
        let limit = format::bytes(self.limit_bytes);
        let said = self.said.as_ref().map_or(String::new(), |said| format!("; it said: {said}"));
        format!("died of memory at {used} (limit {limit}){far}{}{said}", self.holds())
    }

    fn holds(&self) -> String {
        let value = |name: &str| self.server.get(name).map(|value| value.cast_unsigned());
        let Some(count) = value("collStats.count") else { return String::new() };
        let bytes = |name: &str| format::bytes(value(name).unwrap_or(0));
        format!(
            "; the server holds {} of its documents ({}, {} on disk)",
            format::count(count),
            bytes("collStats.size"),
            bytes("collStats.storageSize")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_says_how_far_it_came_and_what_is_left() {
        let death = Death {
            limit_bytes: 64 << 20,
            used_bytes: 65 << 20,
            said: None,
            phase: Some("insert".to_owned()),
            warmup: false,
            operations: 1200,
            documents: Some(2400),
            server: BTreeMap::from([
                ("collStats.count".to_owned(), 2500),
                ("collStats.size".to_owned(), 3 << 20),
                ("collStats.storageSize".to_owned(), 1 << 20),
            ]),
        };
        let expected = "died of memory at 65.0 MiB (limit 64.0 MiB) after at least 1,200 \
                        operations (2,400 documents) of insert; the server holds 2,500 of its \
                        documents (3.00 MiB, 1.00 MiB on disk)";
        assert_eq!(death.sentence(), expected);
        let early = Death { phase: None, server: BTreeMap::new(), ..death };
        let expected = "died of memory at 65.0 MiB (limit 64.0 MiB), before its first phase";
        assert_eq!(early.sentence(), expected);
    }
}
