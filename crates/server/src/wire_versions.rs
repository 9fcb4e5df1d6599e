//! Wire versions that a driver and a server have in common. A driver compares them before its first
//! command, and its error names both ranges in the words of its specification (Server Discovery and
//! Monitoring). An older one sends a message that newer servers no longer take.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::catalogue::{CatalogueEntry, catalogue};

/// Wire version that introduced OP_MSG; before, commands were an OP_QUERY.
const OP_MSG: i32 = 6;
/// Wire version of MongoDB 5.0, the last server that accepts commands as OP_QUERY.
const OP_QUERY_MAX: i32 = 13;

static SERVER_IS_OLD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"reports (?:maximum )?wire version \(?(\d+)\)?.{0,90}?at least (?:wire version )?\(?(\d+)",
    )
});
static SERVER_IS_NEW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:requires|reports minimum) wire version \(?(\d+)\)?.{0,90}?(?:up to|at most) \(?(\d+)",
    )
});
static SENDS_OP_QUERY: LazyLock<Regex> =
    LazyLock::new(|| pattern("unsupported OP_QUERY command|OP_QUERY is no longer"));

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?is){text}")).expect("it is ours")
}

/// Explains a driver's error that says that its wire versions and the server's do not overlap: both
/// ranges, and the embedded server that would work.
pub fn would_work(said: &str) -> Option<String> {
    let versions = |pattern: &Regex| {
        let found = pattern.captures(said)?;
        Some([found[1].parse::<i32>().ok()?, found[2].parse::<i32>().ok()?])
    };
    let entries = &catalogue().servers;
    // The newest of those that accept the oldest messages and run on any processor.
    let old = entries.iter().find(|it| !it.avx && it.max_wire_version <= OP_QUERY_MAX);
    if let Some([has, wants]) = versions(&SERVER_IS_OLD) {
        let ranges =
            format!("the driver speaks wire versions from {wants}, the server up to {has}");
        return Some(named(&ranges, entries.iter().find(|it| it.max_wire_version >= wants)));
    }
    if let Some([wants, has]) = versions(&SERVER_IS_NEW) {
        let ranges =
            format!("the driver speaks wire versions up to {has}, the server from {wants}");
        return Some(named(&ranges, old));
    }
    SENDS_OP_QUERY.is_match(said).then(|| {
        let ranges = format!(
            "the driver speaks as before wire version {OP_MSG}, which servers above \
             {OP_QUERY_MAX} do not take"
        );
        named(&ranges, old)
    })
}

fn named(ranges: &str, entry: Option<&CatalogueEntry>) -> String {
    let Some(entry) = entry else { return ranges.to_owned() };
    let series = entry.version.rsplit_once('.').map_or(&*entry.version, |(series, _)| series);
    let max = entry.max_wire_version;
    format!("{ranges}; --server embedded@{series} has up to {max} and would work")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_do_not_meet_are_told_with_a_server_that_would_work() {
        // The text as drivers write it.
        for (said, ranges, server) in [
            (
                "Server at h:1 reports wire version 8, but this version of PyMongo requires at \
                 least 9 (MongoDB 4.4).",
                "from 9, the server up to 8",
                "embedded@6.0",
            ),
            (
                "Server at localhost:1 reports maximum wire version 5, but this version of the \
                 Node.js Driver requires at least 8 (MongoDB 4.2)",
                "from 8, the server up to 5",
                "embedded@6.0",
            ),
            (
                "Server at localhost:1 reports minimum wire version 10, but this version of the \
                 Node.js Driver requires at most 9 (MongoDB 4.2)",
                "up to 9, the server from 10",
                "embedded@4.4",
            ),
            (
                "Server at h:1 requires wire version 13, but this version of libmongoc only \
                 supports up to 6",
                "up to 6, the server from 13",
                "embedded@4.4",
            ),
            (
                "MongoError: Unsupported OP_QUERY command: ping. The client driver may require an \
                 upgrade.",
                "before wire version 6, which servers above 13",
                "embedded@4.4",
            ),
        ] {
            let told = would_work(said).expect(said);
            assert!(told.contains(ranges) && told.contains(server), "{told}");
        }
    }

    #[test]
    fn no_server_is_named_that_would_not_work_either() {
        let told = would_work(
            "server at h:1 reports wire version 17, but this version of the Go driver requires at \
             least 99 (MongoDB 42.0)",
        );
        assert_eq!(
            told.as_deref(),
            Some("the driver speaks wire versions from 99, the server up to 17")
        );
    }

    #[test]
    fn other_errors_say_nothing_of_wire_versions() {
        for said in ["connection refused", "OP_QUERY", "wire version", "requires at least 3 hosts"]
        {
            assert_eq!(would_work(said), None, "{said}");
        }
    }
}
