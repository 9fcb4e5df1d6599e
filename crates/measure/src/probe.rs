//! Arms that cannot talk to the server are found before the first round: each connects, inserts and
//! finds one document. Rejected: to let the rounds find out (decision 0086).

use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::{self, StreamExt as _};

use crate::install::{Installed, Wanted};
use crate::observed_options::Untold;
use crate::progress::LiveProgress;
use crate::trial::{Ground, Tried};
use adapter::environment::Environment;
use base::error::{Error, Exit, Result};
use record::records::{Seen, Unavailable};
use server::ServerHandle;
use server::connection_string::with_arm_options;

/// Arms that are tried at a time: the processes of a whole history may want all memory.
const TOGETHER: usize = 2;

/// Tries the arms on the server at `uri`, without the limits of their memory: who dies of one is a
/// result of the rounds. Leaves those that work, and returns those that do not, and by id the
/// options that drivers do not report.
///
/// # Errors
/// Too few arms are left; the server died.
pub async fn try_arms(
    installed: &mut Installed,
    wanted: Wanted,
    ground: &Ground<'_>,
    (server, uri): (&ServerHandle, &str),
    progress: &LiveProgress,
) -> Result<(Vec<Unavailable>, BTreeMap<String, Seen>)> {
    let work = installed.arms.iter().enumerate().map(|(index, (id, environment))| {
        progress.doing(&format!("trying {id}"));
        one(ground, uri, index, id, environment)
    });
    let work = stream::iter(work).buffered(TOGETHER).collect::<Vec<_>>();
    let tried = tokio::select! {
        tried = work => tried,
        error = server.died() => return Err(error),
    };
    let words = installed.words.clone();
    let (mut working, mut lost, mut seen) = (BTreeSet::new(), Vec::new(), BTreeMap::new());
    for (place, ((id, _), tried)) in installed.arms.iter().zip(tried).enumerate() {
        match tried {
            Ok(options) => {
                seen.extend(options.map(|options| (id.clone(), options)));
                working.insert(id.clone());
            }
            Err(error) => lost.push((place, error)),
        }
    }
    installed.retain(|id| working.contains(id));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let left_out = wanted.leave_out(&words, lost, &installed.arms, |line| progress.note(line))?;
    Ok((left_out, seen))
}

/// The options that the driver of an arm does not report.
async fn one(
    ground: &Ground<'_>,
    uri: &str,
    index: usize,
    id: &str,
    environment: &Environment,
) -> Result<Option<Seen>> {
    let log = format!("logs/probe-arm{index}.log");
    let uri = with_arm_options(uri, &environment.uri_options);
    let tried = Tried { index, environment, uri: &uri, log: ground.folder.join(&log) };
    // On the heap: it happens once.
    Box::pin(untold(ground, &tried)).await.map_err(|reason| {
        let hint = format!("its log is {log} in the experiment folder");
        Error::new(Exit::RunInvalid, format!("{id} cannot be measured here: {reason}"), hint)
    })
}

async fn untold(ground: &Ground<'_>, tried: &Tried<'_>) -> Result<Option<Seen>, String> {
    if tried.environment.simulated {
        // Nothing of it is on a wire.
        return ground.attempt(tried, tried.uri).await?.worked().map(|_| None);
    }
    let watched = ground.watched(tried).await;
    let watched = watched.and_then(|(trial, seen)| Ok((trial.worked()?, seen)));
    let (opened, seen) = match watched {
        Ok(both) => both,
        // The proxy may be at fault.
        Err(reason) => {
            let opened = ground.attempt(tried, tried.uri).await?.worked()?;
            (opened, Seen { reason: Some(reason), ..Seen::default() })
        }
    };
    let untold = Untold::of(&opened.resolved, ground.is_standalone);
    Ok(untold.in_seen(seen, &opened.resolved, tried.uri))
}
