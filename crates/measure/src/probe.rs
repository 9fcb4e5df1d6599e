//! Arms that cannot talk to the server are found before the first round: each connects, inserts and
//! finds one document. Rejected: to let the rounds find out (decision 0086).

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt as _};

use crate::install::Wanted;
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

/// The arms to try.
#[derive(Debug, Clone)]
pub struct Probe {
    /// Their words after `-d`.
    pub words: Vec<String>,
    pub wanted: Wanted,
}

/// What is left of them.
pub struct Probed {
    pub arms: Vec<(String, Environment)>,
    pub unavailable: Vec<Unavailable>,
    /// By id: options that drivers do not tell.
    pub seen: BTreeMap<String, Seen>,
}

impl Probe {
    /// Tries the arms on the server at `uri`, without the limits of their memory: who dies of one
    /// is a result of the rounds.
    ///
    /// # Errors
    /// Too few arms are left; the server died.
    pub async fn run(
        &self,
        ground: &Ground<'_>,
        (server, uri): (&ServerHandle, &str),
        arms: Vec<(String, Environment)>,
        progress: &LiveProgress,
    ) -> Result<Probed> {
        let work = arms.iter().enumerate().map(|(index, (id, environment))| {
            progress.doing(&format!("trying {id}"));
            one(ground, uri, index, id, environment)
        });
        let work = stream::iter(work).buffered(TOGETHER).collect::<Vec<_>>();
        let tried = tokio::select! {
            tried = work => tried,
            error = server.died() => return Err(error),
        };
        let (mut left, mut lost, mut seen) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (place, (arm, tried)) in arms.into_iter().zip(tried).enumerate() {
            match tried {
                Ok(options) => {
                    seen.extend(options.map(|options| (arm.0.clone(), options)));
                    left.push(arm);
                }
                Err(error) => lost.push((place, error)),
            }
        }
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let unavailable = self.wanted.leave_out(&words, lost, &left, |line| progress.note(line))?;
        Ok(Probed { arms: left, unavailable, seen })
    }
}

/// The options that the driver of an arm does not tell.
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
