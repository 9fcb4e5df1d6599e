//! The absorber's identity: hello, isMaster, buildInfo.

use std::fmt;

use bson::{DateTime, Document, RawDocument, doc};

use wire::MESSAGE_BYTES_MAX;

const DOCUMENT_BYTES_MAX: i32 = 16 << 20;
/// Documents of one write command.
const BATCH_DOCUMENTS_MAX: i32 = 100_000;
/// First wire version that has sessions (MongoDB 3.6).
const WIRE_SESSIONS: i32 = 6;
/// First wire version that has `hello` (MongoDB 4.4.2).
const WIRE_HELLO: i32 = 9;

/// Releases of MongoDB and the highest wire version each announces.
const RELEASES: [(i32, [i32; 3]); 13] = [
    (0, [2, 4, 14]),
    (2, [2, 6, 12]),
    (3, [3, 0, 15]),
    (4, [3, 2, 22]),
    (5, [3, 4, 24]),
    (6, [3, 6, 23]),
    (7, [4, 0, 28]),
    (8, [4, 2, 25]),
    (9, [4, 4, 30]),
    (13, [5, 0, 32]),
    (17, [6, 0, 29]),
    (21, [7, 0, 32]),
    (25, [8, 0, 20]),
];

/// The announced wire versions. The absorber understands all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireVersions {
    min: i32,
    max: i32,
}

impl WireVersions {
    /// Reads `MIN..MAX`, both included.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not MIN..MAX, as 0..17");
        let (min, max) = text.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u8>().map(i32::from).map_err(|_| wrong());
        let versions = Self { min: number(min)?, max: number(max)? };
        if versions.min <= versions.max { Ok(versions) } else { Err(wrong()) }
    }

    /// The release that these versions let drivers expect.
    fn release(self) -> [i32; 3] {
        let fitting = RELEASES.iter().rev().find(|(wire, _)| *wire <= self.max);
        fitting.expect("the first release has wire version 0").1
    }

    pub fn release_text(self) -> String {
        self.release().map(|part| part.to_string()).join(".")
    }

    /// Whether servers of these versions know `hello`.
    pub fn has_hello(self) -> bool {
        self.max >= WIRE_HELLO
    }
}

impl fmt::Display for WireVersions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}..{}", self.min, self.max)
    }
}

/// The answer to `hello`, or to `isMaster`, whose field for the same thing is `ismaster`.
///
/// No topologyVersion: a driver would wait for its changes with exhaust. No compression: its cost
/// would be the driver's, and it is not what is measured.
pub fn hello(
    versions: WireVersions,
    connection: i32,
    name: &str,
    command: &RawDocument,
) -> Document {
    let mut answer = Document::new();
    if versions.has_hello() && command.get_bool("helloOk").unwrap_or(false) {
        answer.insert("helloOk", true);
    }
    answer.insert(if name == "hello" { "isWritablePrimary" } else { "ismaster" }, true);
    answer.insert("maxBsonObjectSize", DOCUMENT_BYTES_MAX);
    answer.insert("maxMessageSizeBytes", i32::try_from(MESSAGE_BYTES_MAX).unwrap_or(i32::MAX));
    answer.insert("maxWriteBatchSize", BATCH_DOCUMENTS_MAX);
    answer.insert("localTime", DateTime::now());
    if versions.max >= WIRE_SESSIONS {
        answer.insert("logicalSessionTimeoutMinutes", 30);
    }
    answer.insert("connectionId", connection);
    answer.insert("minWireVersion", versions.min);
    answer.insert("maxWireVersion", versions.max);
    answer.insert("readOnly", false);
    answer.insert("ok", 1.0);
    answer
}

/// Makes an answer to `hello` that of the primary of a replica set with one member.
pub fn join(answer: &mut Document, set: &str, address: &str) {
    answer.extend(doc! {
        "setName": set,
        "setVersion": 1,
        "secondary": false,
        "hosts": [address],
        "primary": address,
        "me": address,
    });
}

/// The answer to `buildInfo`, with the fields that old drivers read.
pub fn build_info(versions: WireVersions) -> Document {
    let [major, minor, patch] = versions.release();
    doc! {
        "version": versions.release_text(),
        "gitVersion": concat!("mongodyno-absorber-", env!("CARGO_PKG_VERSION")),
        "modules": [],
        "allocator": "system",
        "javascriptEngine": "none",
        "sysInfo": "deprecated",
        "versionArray": [major, minor, patch, 0],
        "bits": 64,
        "debug": false,
        "maxBsonObjectSize": DOCUMENT_BYTES_MAX,
        "storageEngines": ["mongodynoAbsorber"],
        "mongodynoAbsorber": env!("CARGO_PKG_VERSION"),
        "ok": 1.0,
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    fn versions(text: &str) -> WireVersions {
        WireVersions::parse(text).expect("versions")
    }

    #[test]
    fn versions_are_read_and_shown_alike() {
        assert_eq!(versions("0..17").to_string(), "0..17");
        for wrong in ["17", "17..0", "..", "0..300", "-1..2", "a..b"] {
            assert!(WireVersions::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_release_fits_the_highest_version() {
        let releases = [("0..0", [2, 4]), ("0..1", [2, 4]), ("0..8", [4, 2]), ("0..12", [4, 4])];
        for (wire, release) in releases.into_iter().chain([("6..17", [6, 0]), ("0..99", [8, 0])]) {
            assert_eq!(versions(wire).release()[..2], release, "{wire}");
        }
        let info = build_info(versions("0..8"));
        assert_eq!(info.get("version"), Some(&"4.2.25".into()));
        assert!(info.get_i32("bits").is_ok() && info.get_str("sysInfo").is_ok());
    }

    #[test]
    fn hello_says_what_was_asked_for() {
        let asked = rawdoc! { "isMaster": 1, "helloOk": true };
        let answer = hello(versions("0..17"), 7, "isMaster", &asked);
        assert_eq!(answer.get("ismaster"), Some(&true.into()));
        assert_eq!(answer.get("helloOk"), Some(&true.into()));
        assert_eq!(answer.get("maxWireVersion"), Some(&17.into()));
        assert_eq!(answer.get("connectionId"), Some(&7.into()));
        let answer = hello(versions("0..17"), 7, "hello", &rawdoc! { "hello": 1 });
        assert_eq!(answer.get("isWritablePrimary"), Some(&true.into()));
        assert!(!answer.contains_key("helloOk") && !answer.contains_key("topologyVersion"));
        let answer = hello(versions("0..5"), 7, "isMaster", &asked);
        assert!(!answer.contains_key("helloOk"));
        assert!(!answer.contains_key("logicalSessionTimeoutMinutes"));
    }
}
