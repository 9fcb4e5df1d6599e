//! The end of mongod's log, and the reason in it, in both of its formats.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use super::download::NO_SPACE;
use base::strings::{cut, last_lines};

const LINES: usize = 4;
const WIDTH: usize = 240;

/// Returns the reason and the last lines of `log`, as sentences; reads only what follows `from`.
pub(super) fn quote(log: &Path, from: u64) -> String {
    let text = read_end(log, from).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return format!("Its log is empty: {}", log.display());
    }
    // A full disk has consequences, each with its own error.
    let full = lines.iter().rev().find(|line| no_space(line).is_some());
    let reason = full.into_iter().chain(lines.iter().rev()).find_map(|line| reason(line));
    let reason = reason.map(|text| format!("Reason: {}\n", cut(&text, WIDTH))).unwrap_or_default();
    let last = last_lines(&text, LINES).into_iter();
    let last: Vec<String> = last.map(|line| format!("  {}", cut(line, WIDTH))).collect();
    format!("{reason}The end of its log, {}:\n{}", log.display(), last.join("\n"))
}

/// Whether mongod says after `from` that it accepts connections. All versions use the same words,
/// except for the first letter.
pub(super) fn says_ready(log: &Path, from: u64) -> bool {
    read_end(log, from).is_ok_and(|text| text.contains("aiting for connections"))
}

/// The words by which mongod says after `from` that its disk is full.
pub(super) fn says_full(log: &Path, from: u64) -> Option<&'static str> {
    no_space(&read_end(log, from).ok()?)
}

fn no_space(text: &str) -> Option<&'static str> {
    NO_SPACE.iter().copied().find(|words| text.contains(words))
}

fn read_end(log: &Path, from: u64) -> std::io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(64 * 1024))))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The message of a line of severity fatal or error.
fn reason(line: &str) -> Option<String> {
    if let Ok(entry) = serde_json::from_str::<Value>(line) {
        let severe = matches!(entry["s"].as_str(), Some("F" | "E"));
        let details = ["error", "reason", "msg", "what", "message"].iter().find_map(|key| {
            let value = &entry["attr"][key];
            value
                .as_str()
                .map(String::from)
                .or_else(|| value.is_object().then(|| value.to_string()))
        });
        let message = entry["msg"].as_str()?.to_string();
        // "Fatal assertion" and the like say nothing without their details.
        return severe.then(|| details.map_or(message.clone(), |d| format!("{message}: {d}")));
    }
    // 4.2: "2026-01-01T00:00:00.000+0000 E  STORAGE  [initandlisten] text".
    let mut words = line.split_whitespace();
    let time = words.next().filter(|word| word.contains('T') && word.len() > 20);
    match (time, words.next()) {
        (Some(_), Some("F" | "E")) => {
            Some(line.split_once("] ").map_or(line, |(_, text)| text).into())
        }
        (Some(_), _) => None,
        // Printed before it could log: a wrong flag, the loader.
        (None, _) => line.to_lowercase().contains("error").then(|| line.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_reason_is_found_in_both_formats() {
        let new = r#"{"s":"E","c":"NETWORK","msg":"Failed","attr":{"error":"in use"}}"#;
        assert_eq!(reason(new).as_deref(), Some("Failed: in use"));
        let coded = r#"{"s":"E","msg":"WiredTiger","attr":{"error":28,"message":"it is full"}}"#;
        assert_eq!(reason(coded).as_deref(), Some("WiredTiger: it is full"));
        assert_eq!(reason(r#"{"s":"I","msg":"fine","attr":{}}"#), None);
        let old = "2026-01-01T00:00:00.000+0000 E  STORAGE  [initandlisten] disk gone";
        assert_eq!(reason(old).as_deref(), Some("disk gone"));
        assert_eq!(reason("2026-01-01T00:00:00.000+0000 I  X  [y] error word"), None);
        assert_eq!(reason("Error parsing command line"), Some("Error parsing command line".into()));
    }
}
