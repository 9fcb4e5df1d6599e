//! Options of a driver, read from what it sent to a server.

use bson::{Bson, Document, RawDocument, doc};
use serde_json::{Value, json};

use record::records::Seen;
use server::connection_string::parts;
use wire::request_messages::RequestMessage;
use wire::{HEADER_BYTES, OpCode, read_message};

/// OP_QUERY: a secondary may answer.
const SECONDARY_OK: u32 = 1 << 2;
/// OP_COMPRESSED: where the compressor's number stands, and the names.
const COMPRESSOR_AT: usize = HEADER_BYTES + 8;
const COMPRESSORS: [&str; 4] = ["noop", "snappy", "zlib", "zstd"];
/// Fields of the handshake that are kept.
const HANDSHAKE: [&str; 3] = ["client", "compression", "loadBalanced"];
/// Read on any server.
const ANYWHERE: [&str; 3] = ["write_concern", "read_concern", "compressors"];
/// Not sent to a standalone server.
const TO_MEMBERS: [&str; 2] = ["retry_writes", "read_preference"];
pub const STANDALONE: &str = "standalone";

/// Options that a driver leaves out of `resolved`.
pub struct Untold {
    /// Some of those that its messages show.
    pub shown: bool,
    tls: bool,
}

impl Untold {
    pub fn of(resolved: &Value, is_standalone: bool) -> Self {
        let open = |name: &str| resolved.get(name).is_none();
        let shown = ANYWHERE.iter().chain(TO_MEMBERS.iter().filter(|_| !is_standalone));
        Self { shown: shown.copied().any(open), tls: open("tls") }
    }

    /// What is known of them; None: there are none.
    pub fn in_seen(&self, seen: Seen, resolved: &Value, uri: &str) -> Option<Seen> {
        if !self.shown && !self.tls {
            return None;
        }
        let mut seen = if self.shown { seen } else { Seen::default() };
        if self.tls {
            seen.options.insert("tls".to_owned(), json!(is_encrypted(uri)));
        }
        seen.options.retain(|name, _| resolved.get(name).is_none());
        Some(seen)
    }
}

pub fn is_encrypted(uri: &str) -> bool {
    let options = parts(uri).options;
    let asked = |name: &String| ["tls", "ssl"].iter().any(|it| name.eq_ignore_ascii_case(it));
    let asked = options.iter().find(|(name, _)| asked(name)).map(|(_, value)| value == "true");
    asked.unwrap_or(uri.starts_with("mongodb+srv://"))
}

/// The messages that show an option; legacy ones as the commands of today.
#[derive(Default)]
struct SentOptions {
    hellos: Vec<Document>,
    insert: Option<Document>,
    find: Option<Document>,
    compressor: Option<String>,
}

/// Reads the bytes of each connection. A standalone server takes neither retried writes nor read
/// preferences: there their absence means nothing.
pub fn read(connections: &[Vec<u8>], is_standalone: bool) -> Seen {
    let sent = SentOptions::of(connections);
    let mut seen = Seen::default();
    for (hello, name) in sent.hellos.iter().flat_map(|it| HANDSHAKE.map(|name| (it, name))) {
        // A monitor's handshake may offer no compression.
        if let Some(value) = hello.get(name).cloned().filter(|it| *it != Bson::Array(vec![])) {
            seen.handshake.entry(name.to_owned()).or_insert(value.into_relaxed_extjson());
        }
    }
    let mut options: Vec<(&str, Value)> = Vec::new();
    if !sent.hellos.is_empty() || sent.insert.is_some() {
        let offered = seen.handshake.get("compression").cloned();
        options.push(("compressors", offered.unwrap_or(json!([]))));
    }
    if let Some(insert) = &sent.insert {
        let concern = insert.get("writeConcern").cloned().map(Bson::into_relaxed_extjson);
        let concern = concern.unwrap_or(json!({}));
        if insert.contains_key("txnNumber") {
            options.push(("retry_writes", json!(true)));
        } else if !is_standalone && concern["w"] != 0 {
            options.push(("retry_writes", json!(false)));
        }
        options.push(("write_concern", concern));
    }
    if let Some(find) = &sent.find {
        let text = |of: &str, name| find.get_document(of).ok()?.get_str(name).ok();
        options.push(("read_concern", json!(text("readConcern", "level"))));
        match text("$readPreference", "mode") {
            Some(mode) => options.push(("read_preference", json!(mode))),
            None if is_standalone || find.contains_key("$secondaryOk") => {}
            None => options.push(("read_preference", json!("primary"))),
        }
    }
    seen.options = options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    if sent.insert.is_none() || sent.find.is_none() {
        let why = match sent.compressor {
            Some(_) => "its commands are compressed",
            None => "its commands went past the address of the connection string",
        };
        seen.reason = Some(why.to_owned());
    }
    seen.compressor = sent.compressor;
    seen
}

/// Adds what was seen to what was told.
pub fn fill(resolved: &mut Value, seen: &Seen) {
    if let Some(resolved) = resolved.as_object_mut() {
        for (name, value) in &seen.options {
            resolved.entry(name).or_insert(value.clone());
        }
    }
}

impl SentOptions {
    fn of(connections: &[Vec<u8>]) -> Self {
        let (mut sent, mut message) = (Self::default(), Vec::new());
        for mut bytes in connections.iter().map(Vec::as_slice) {
            // A connection may have been cut within its last message.
            while let Ok(Some(header)) = read_message(&mut bytes, &mut message) {
                if header.opcode == OpCode::Compressed {
                    let number = message.get(COMPRESSOR_AT).copied().unwrap_or_default();
                    let name = COMPRESSORS.get(usize::from(number)).unwrap_or(&"unknown");
                    sent.compressor = Some((*name).to_owned());
                }
                match RequestMessage::parse(&header, &message) {
                    Ok(RequestMessage::Msg(it)) => sent.take(it.body, None, 0),
                    Ok(RequestMessage::Query(it)) => {
                        sent.take(it.query, Some(it.namespace), it.flags);
                    }
                    // Unless getLastError asks for more.
                    Ok(RequestMessage::Insert { .. }) => {
                        sent.insert = Some(doc! { "writeConcern": { "w": 0 } });
                    }
                    _ => {}
                }
            }
        }
        sent
    }

    /// `namespace` is that of an OP_QUERY, which may be a find and no command.
    fn take(&mut self, body: &RawDocument, namespace: Option<&str>, flags: u32) {
        let Ok(mut command) = Document::try_from(body) else { return };
        // Around a query that has a read preference.
        if let Ok(query) = command.get_document("$query").cloned() {
            let preference = command.remove("$readPreference");
            let preference = preference.map(|it| ("$readPreference".to_owned(), it));
            command = query.into_iter().chain(preference).collect();
        }
        if flags & SECONDARY_OK != 0 {
            command.insert("$secondaryOk", true);
        }
        let is_command = namespace.is_none_or(|it| it.ends_with(".$cmd"));
        let name = command.keys().next().filter(|_| is_command).map(|it| it.to_lowercase());
        match name.as_deref() {
            Some("hello" | "ismaster") => self.hellos.push(command),
            Some("insert") => self.insert = Some(command),
            Some("getlasterror") if self.insert.is_some() => {
                let concern = ["w", "j", "fsync", "wtimeout"];
                let told = command.into_iter().filter(|(name, _)| concern.contains(&name.as_str()));
                self.insert = Some(doc! { "writeConcern": told.collect::<Document>() });
            }
            Some("find") => self.find = Some(command),
            None if !is_command => self.find = Some(command),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, rawdoc};
    use wire::Header;

    use super::*;

    fn msg(command: &RawDocumentBuf) -> Vec<u8> {
        let mut message = Vec::new();
        wire::reply_messages::msg(&mut message, 1, 0, command);
        message
    }

    fn message(opcode: OpCode, parts: &[&[u8]]) -> Vec<u8> {
        let body = parts.concat();
        let length = HEADER_BYTES + body.len();
        let header = Header { length, request_id: 1, response_to: 0, opcode };
        [&header.to_bytes(), &body[..]].concat()
    }

    fn query(namespace: &[u8], flags: u32, body: &RawDocumentBuf) -> Vec<u8> {
        message(OpCode::Query, &[&flags.to_le_bytes(), namespace, &[0; 8], body.as_bytes()])
    }

    fn options(of: &Seen) -> Value {
        json!(of.options)
    }

    #[test]
    fn commands_of_today() {
        let hello = msg(&rawdoc! {
            "hello": 1, "loadBalanced": true, "compression": ["zlib"], "client": { "os": {} },
        });
        let monitor = msg(&rawdoc! { "hello": 1, "compression": [], "client": { "os": {} } });
        let insert = rawdoc! { "insert": "c", "lsid": {}, "txnNumber": 1_i64 };
        let insert = [msg(&insert), msg(&rawdoc! { "ping": 1 })].concat();
        let find = msg(&rawdoc! {
            "find": "c", "readConcern": { "level": "local" },
            "$readPreference": { "mode": "secondary" },
        });
        let seen = read(&[monitor, [hello.clone(), insert, find].concat()], false);
        let told = json!({
            "compressors": ["zlib"], "retry_writes": true, "write_concern": {},
            "read_concern": "local", "read_preference": "secondary",
        });
        assert_eq!((options(&seen), seen.reason), (told, None));
        assert_eq!(seen.handshake["loadBalanced"], true);
        let plain = [msg(&rawdoc! { "insert": "c" }), msg(&rawdoc! { "find": "c" })].concat();
        let unset = json!({ "compressors": [], "write_concern": {}, "read_concern": null });
        assert_eq!(options(&read(std::slice::from_ref(&plain), true)), unset);
        let on_members = options(&read(&[plain], false));
        assert_eq!(
            (&on_members["retry_writes"], &on_members["read_preference"]),
            (&json!(false), &json!("primary"))
        );
        let unanswered = msg(&rawdoc! { "insert": "c", "writeConcern": { "w": 0 } });
        assert!(options(&read(&[unanswered], false)).get("retry_writes").is_none());
        let past = read(&[hello[..hello.len() - 1].to_vec(), hello], false);
        assert_eq!(options(&past), json!({ "compressors": ["zlib"] }));
        assert!(past.reason.expect("no command").contains("past the address"));
    }

    #[test]
    fn opcodes_of_old_drivers() {
        let hello = query(b"admin.$cmd\0", 0, &rawdoc! { "isMaster": 1 });
        let document = rawdoc! { "_id": 1 };
        let insert = message(OpCode::Insert, &[&[0; 4], b"d.c\0", document.as_bytes()]);
        let asked = query(b"d.$cmd\0", 0, &rawdoc! { "getlasterror": 1, "w": 2 });
        let plain = query(b"d.c\0", 0, &rawdoc! { "find": 1 });
        let told = |connection: &[&[u8]]| options(&read(&[connection.concat()], false));
        let acknowledged = told(&[&hello, &insert, &asked, &plain]);
        assert_eq!(acknowledged["write_concern"], json!({ "w": 2 }));
        assert_eq!(acknowledged["read_preference"], "primary");
        assert_eq!(acknowledged["compressors"], json!([]));
        assert_eq!(told(&[&insert])["write_concern"], json!({ "w": 0 }));
        let near = rawdoc! { "$query": {}, "$readPreference": { "mode": "nearest" } };
        assert_eq!(told(&[&query(b"d.c\0", 4, &near)])["read_preference"], "nearest");
        let secondary = told(&[&query(b"d.c\0", SECONDARY_OK, &rawdoc! {})]);
        assert_eq!(secondary.get("read_preference"), None, "a secondary may answer: which mode?");
    }

    #[test]
    fn compressed_commands_name_their_compressor() {
        let compressed = message(OpCode::Compressed, &[&[0; 8], &[2], b"..."]);
        let seen = read(&[[msg(&rawdoc! { "hello": 1 }), compressed].concat()], false);
        assert_eq!(seen.compressor.as_deref(), Some("zlib"));
        assert_eq!(seen.reason.as_deref(), Some("its commands are compressed"));
    }
}
