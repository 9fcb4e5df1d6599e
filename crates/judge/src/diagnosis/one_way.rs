//! Writes without an answer (w: 0) are timed to the socket.

use super::case::Case;
use crate::analysis::types::Finding;
use format::figure;
use workload::operations::{ServerCount, about, inserts};
use workload::plan::Operation;

pub const NAME: &str = "one-way-writes";

/// No cause, but a consequence of the request; the numbers say how far client and server are apart.
pub fn rule(case: &Case<'_>) -> Option<Finding> {
    let operations = &case.phase.operations;
    let [operation] = &operations[..] else {
        // The server's counters cannot be dealt out to the operations of a mix.
        return operations.iter().any(one_way).then(|| mixed(case));
    };
    if !one_way(operation) {
        return None;
    }
    let (counter, each) = counted(operation);
    let client = case.median(|run| Some(run.throughput * each))?;
    let applied = case.median(|run| {
        let seen = *run.server.get(counter?)?;
        (seen > 0 && run.measured_s > 0.0).then(|| seen as f64 / run.measured_s)
    });
    let server = applied.map_or_else(
        || "How many the server applied is not known.".to_owned(),
        |rate| format!("In the same time the server applied {}/s.", figure(rate)),
    );
    let sentence = format!(
        "ONE-WAY WRITES (w: 0): {}/s is the rate at which documents are handed to the socket, not \
         at which they are written. No answer is waited for, so a remote server looks like a \
         local one. {server}",
        figure(client)
    );
    let numbers = [("client_per_s", client), ("server_applied_per_s", applied.unwrap_or(f64::NAN))];
    Some(case.finding(NAME, sentence, &numbers))
}

fn mixed(case: &Case<'_>) -> Finding {
    let names = case.phase.operations.iter().filter(|it| one_way(it));
    let names: Vec<&str> = names.map(|it| it.name.as_str()).collect();
    let sentence = format!(
        "ONE-WAY WRITES (w: 0): the times of {} are those of handing documents to the socket. No \
         answer is waited for, so a remote server looks like a local one.",
        names.join(", ")
    );
    case.finding(NAME, sentence, &[])
}

fn one_way(operation: &Operation) -> bool {
    let concern = operation.write_concern.as_ref();
    concern.and_then(|it| it.get("w")).is_some_and(|w| w.as_f64() == Some(0.0))
}

/// The server's counter that such operations raise, and the documents of each.
fn counted(operation: &Operation) -> (Option<&'static str>, f64) {
    let counter = match about(operation.kind).counted {
        ServerCount::By(counter) => Some(counter),
        ServerCount::Not | ServerCount::AsCommand | ServerCount::ByParts => None,
    };
    (counter, inserts(operation).max(1) as f64)
}
