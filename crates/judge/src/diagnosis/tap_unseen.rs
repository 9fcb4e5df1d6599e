//! Traffic that the tap could not look into.

use super::case::{Case, whole};
use crate::analysis::types::Finding;

pub const NAME: &str = "tap-unseen";
const COMPRESSED: &str = "OP_COMPRESSED";

pub fn rule(case: &Case<'_>) -> Option<Finding> {
    let tapped = case.measured.iter().filter_map(|run| run.tap.as_ref());
    let taps: Vec<_> = tapped.collect();
    if taps.is_empty() {
        return None;
    }
    let count = |name: Option<&str>| {
        let commands = taps.iter().flat_map(|tap| &tap.commands);
        let wanted = commands.filter(|(command, _)| name.is_none_or(|name| name == *command));
        wanted.map(|(_, command)| command.count).sum::<u64>() as f64
    };
    let (compressed, all) = (count(Some(COMPRESSED)), count(None));
    let mut parts = Vec::new();
    if case.arm.resolved.get("tls").and_then(serde_json::Value::as_bool) == Some(true) {
        parts.push("the connection is TLS, so that it saw bytes and no commands".to_owned());
    }
    if compressed > 0.0 {
        parts.push(format!(
            "{} of {} messages are compressed: counted, not looked into",
            whole(compressed),
            whole(all)
        ));
    }
    if let Some(reason) = taps.iter().find_map(|tap| tap.not_separable.as_deref()) {
        parts.push(format!("driver share not separable: {reason}"));
    }
    if parts.is_empty() {
        return None;
    }
    let sentence = format!("NOT ALL SEEN by the tap: {}.", parts.join("; "));
    let numbers = [("compressed", compressed), ("commands", all)];
    Some(case.finding(NAME, sentence, &numbers))
}
