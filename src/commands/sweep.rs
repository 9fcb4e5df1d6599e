//! `run --sweep`: an experiment for each value of a parameter, one after the other, each on every
//! server that was asked for.

use std::path::PathBuf;

use super::experiment_end::shown;
use super::joint_reports::finish;
use super::live_page;
use super::run::{make, places};
use super::run_plan::drawn_seed;
use crate::ask::{Ask, Here};
use base::error::{Error, Result};
use base::secrets::mask_text;
use judge::analyse;
use measure::install::Wanted;
use measure::setup::{Place, new_id};
use record::folder::Folder;
use record::records::Ended;
use record::servers_folder::Servers;
use record::sweep_folder::Sweep;
use record::unbegun;

/// One value: its folder's name, its request and its places.
pub struct SweepPart {
    pub name: String,
    pub ask: Ask,
    pub places: Vec<Place>,
    /// The servers that are written down when it begins.
    pub servers: Option<(Servers, PathBuf)>,
}

/// Makes the experiments of `words`, `threads=1,2,4`.
pub async fn run(mut ask: Ask, words: &str, servers: &[String]) -> Result<()> {
    let (sweep, values) = asked(words)?;
    let parent = ask.here.out.take();
    let parent =
        parent.unwrap_or_else(|| PathBuf::from("mongodyno-results").join(new_id(drawn_seed())));
    if ask.here.plan {
        unbegun::check_free(&parent)?;
    }
    let mut steps = Vec::new();
    for (it, value) in sweep.values.iter().zip(values) {
        let path = parent.join(&it.folder);
        let mut ask = ask.clone();
        ask.request.parameters.insert(sweep.parameter.clone(), value);
        let (places, several) = places(servers, &path);
        if several.is_some() {
            // The same documents and orders on every server.
            ask.request.seed = Some(ask.request.seed.unwrap_or_else(drawn_seed));
        }
        let servers = several.map(|it| (it, path));
        steps.push(SweepPart { name: it.folder.clone(), ask, places, servers });
    }
    let mut live = None;
    let begin = || {
        if ask.here.plan {
            return Ok(());
        }
        sweep.create(&parent)?;
        live_page::serve(&ask.here, &parent).map(|page| live = page)
    };
    let made = all(steps, Wanted::Alone, begin).await;
    unbegun::discard(&parent, true, false);
    let made = made?;
    if ask.here.plan {
        return Ok(());
    }
    finish(&ask, &parent, made)
}

/// Makes them all until one fails or is interrupted. An error before the first begins is returned
/// as such.
pub async fn all(
    steps: Vec<SweepPart>,
    wanted: Wanted,
    begin: impl FnOnce() -> Result<()>,
) -> Result<Vec<Result<Folder>>> {
    let (mut begin, mut every) = (Some(begin), Vec::new());
    for SweepPart { name, ask, places, servers } in steps {
        base::say::tell(&format!("── {name} ──"));
        let begin = || {
            begin.take().map_or(Ok(()), |begin| begin())?;
            servers.as_ref().map_or(Ok(()), |(servers, path)| servers.create(path))
        };
        let made = Box::pin(make(&ask, wanted, places, begin)).await;
        if let Some((_, path)) = &servers {
            unbegun::discard(path, true, false);
        }
        let made = match made {
            Err(error) if !every.is_empty() => vec![Err(error)],
            made => made?,
        };
        let mut is_whole = true;
        for it in &made {
            let Ok(folder) = it else {
                is_whole = false;
                continue;
            };
            is_whole &= show(folder, &ask.here)? != Some(Ended::Interrupted);
        }
        every.extend(made);
        if !is_whole {
            break;
        }
    }
    Ok(every)
}

/// Prints an experiment as soon as it ends: a sweep takes hours.
fn show(folder: &Folder, here: &Here) -> Result<Option<Ended>> {
    let (_, experiment) = Folder::open(folder.path())?;
    let text = shown(folder, &analyse(folder, &experiment)?.analysis, here.details)?;
    super::print_result(if here.json { b"" } else { text.as_bytes() })?;
    Ok(experiment.ended)
}

/// The record of a sweep, and its values as they are.
fn asked(words: &str) -> Result<(Sweep, Vec<String>)> {
    let is_value = |value: &str| !value.trim().is_empty();
    let (name, values) = words
        .split_once('=')
        .filter(|(_, values)| values.split(',').all(is_value))
        .ok_or_else(|| {
            Error::usage(
                format!("--sweep {words}: a value is missing"),
                "write --sweep threads=1,2,4",
            )
        })?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    // They become names of folders.
    let masked: Vec<String> = values.iter().map(|value| mask_text(value)).collect();
    Ok((Sweep::new(name, &masked)?, values))
}
