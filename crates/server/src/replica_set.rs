//! Several mongods become a replica set.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bson::{Document, doc};
use mongodb::Client;
use mongodb::options::ClientOptions;
use tokio::time::{Instant, sleep};

use super::refusal::{UriFeatures, explain};
use base::error::{Error, Result};

/// Longest time from the initiation of a set to its primary.
const ELECTION_LIMIT: Duration = Duration::from_secs(60);

/// Log of a member, such as `mongod-2.log` of the second.
pub(super) fn log(first: &Path, member: usize) -> PathBuf {
    match (member, first.file_stem()) {
        (2.., Some(stem)) => {
            first.with_file_name(format!("{}-{member}.log", stem.to_string_lossy()))
        }
        _ => first.to_path_buf(),
    }
}

/// Makes a replica set of the hosts, whose configuration has `more` fields. The first one is its
/// primary: the others have no priority, so that every experiment has the same one.
pub(super) async fn initiate(set: &str, hosts: &[String], more: Document) -> Result<()> {
    let members = (0_i32..).zip(hosts).map(|(number, host)| {
        let priority = if number == 0 { 1.0 } else { 0.0 };
        doc! { "_id": number, "host": host, "priority": priority }
    });
    let mut config = doc! { "_id": set, "members": members.collect::<Vec<Document>>() };
    config.extend(more);
    let first = format!("mongodb://{}/", hosts[0]);
    let failed = |error: mongodb::error::Error| explain(&error, &first, UriFeatures::default());
    let mut options = ClientOptions::parse(&first).await.map_err(failed)?;
    options.direct_connection = Some(true);
    let admin = Client::with_options(options).map_err(failed)?.database("admin");
    admin.run_command(doc! { "replSetInitiate": config }).await.map_err(failed)?;
    let deadline = Instant::now() + ELECTION_LIMIT;
    loop {
        let status = admin.run_command(doc! { "replSetGetStatus": 1 }).await;
        if status.is_ok_and(|status| is_ready(&status)) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::unreachable(
                format!("the replica set had no primary within {} s", ELECTION_LIMIT.as_secs()),
                "see the logs of its members, logs/mongod*.log, and try again",
            ));
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Whether there is one primary, and every other member is a secondary.
fn is_ready(status: &Document) -> bool {
    let members = status.get_array("members").map(Vec::as_slice).unwrap_or_default();
    let states = members.iter().filter_map(|it| it.as_document()?.get_i32("state").ok());
    let (primary, secondary) = (1, 2);
    let states: Vec<i32> = states.collect();
    states.contains(&primary) && states.iter().all(|state| [primary, secondary].contains(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_ready_with_a_primary_and_secondaries() {
        let with = |states: &[i32]| {
            let members = states.iter().map(|state| doc! { "state": state });
            is_ready(&doc! { "members": members.collect::<Vec<_>>() })
        };
        assert!(with(&[1, 2, 2]));
        assert!(!with(&[2, 2, 2]) && !with(&[1, 2, 5]) && !with(&[]));
    }
}
