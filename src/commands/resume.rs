//! `mongodyno resume DIR`: repeats the request of a cut experiment, and keeps its finished rounds.

use std::path::Path;

use base::say;

use super::joint_reports::finish;
use super::live_page;
use super::request_again::{ask_again, complete, earlier};
use super::run::make;
use super::run_plan::drawn_seed;
use super::sweep::{self, SweepPart};
use crate::ask::Ask;
use crate::cli::ResumeArgs;
use base::error::{Error, Result};
use measure::install::Wanted;
use measure::resume::Resumed;
use measure::setup::{Place, new_id};
use record::folder::utf8;
use record::records::{Ended, ServerKind};
use record::servers_folder::{ServerExperiment, Servers};
use record::study_folder::StudyRecord;
use record::sweep_folder::Sweep;
use server::ServerChoice;

pub async fn run(args: ResumeArgs) -> Result<()> {
    if StudyRecord::is_in(&args.folder) {
        return Box::pin(super::study::resume(args)).await;
    }
    if let Some(servers) = Servers::read(&args.folder)? {
        return servers_again(&args, &servers).await;
    }
    if let Some(sweep) = Sweep::read(&args.folder)? {
        return sweep_again(&args, &sweep).await;
    }
    let (folder, resumed) = Resumed::open(&args.folder)?;
    utf8(folder.path())?;
    super::name_leftovers(&folder, &resumed.experiment);
    let args = ResumeArgs { folder: folder.path().to_owned(), ..args };
    let (was, finished) = (&resumed.experiment, resumed.finished);
    if was.study.is_some() {
        return Err(earlier(&was.mongodyno));
    }
    let again = ask_again(&args, was)?;
    let drivers = again.request.drivers()?.join(", ");
    say!("going on after round {finished}: {} with {drivers}", was.plan.workload);
    // On the heap: this future holds the whole experiment.
    Box::pin(super::run::resume(again, resumed)).await
}

/// The experiments of several servers: those that were cut go on, those that had not begun begin.
async fn servers_again(args: &ResumeArgs, record: &Servers) -> Result<()> {
    let made = record.made(&args.folder)?;
    let Some(first) = made.first() else { return Err(none_begun(args)) };
    let (places, again) = places_again(args, record, &args.folder, &made)?;
    if places.is_empty() {
        return Err(complete(args));
    }
    let again = again.map_or_else(|| ask_again(args, &first.experiment), Ok)?;
    // On the heap: this future holds the experiments.
    let mut live = None;
    let begin = || live_page::serve(&again.here, &args.folder).map(|page| live = page);
    let made = Box::pin(make(&again, Wanted::Compared, places, begin)).await?;
    finish(&again, &args.folder, made)
}

/// The experiments of a sweep: those that were cut go on, those that had not begun begin.
async fn sweep_again(args: &ResumeArgs, sweep: &Sweep) -> Result<()> {
    let mut every = Vec::new();
    for value in &sweep.values {
        every.push((value, Sweep::made(value, &args.folder)?));
    }
    let first = every.iter().find_map(|(value, made)| Some((value, made.first()?)));
    let Some((first_value, first)) = first else { return Err(none_begun(args)) };
    let pattern = Servers::read(&args.folder.join(&first_value.folder))?;
    let (mut steps, mut last) = (Vec::new(), None);
    for (value, made) in &every {
        let path = args.folder.join(&value.folder);
        let begun = Servers::read(&path)?;
        let own = ResumeArgs { folder: path.clone(), ..args.clone() };
        let (mut places, mut again) = (Vec::new(), None);
        match (begun.as_ref().or(pattern.as_ref()), made.first()) {
            (Some(record), _) => (places, again) = places_again(args, record, &path, made)?,
            (None, Some(was)) if was.experiment.ended == Some(Ended::Completed) => {}
            (None, was) => {
                let resumed = was.map(|_| Resumed::open(&path)).transpose()?.map(|(_, it)| it);
                let asked = ask_again(&own, &was.unwrap_or(first).experiment)?;
                let id = was.map_or_else(|| new_id(drawn_seed()), |it| it.experiment.id.clone());
                let (server, name) = (asked.request.server()?.to_owned(), String::new());
                places.push(Place { server, name, id, path: path.clone(), probes: true, resumed });
                again = Some(asked);
            }
        }
        if places.is_empty() {
            continue;
        }
        let mut asked = again.map_or_else(|| ask_again(&own, &first.experiment), Ok)?;
        let parameters = &mut asked.request.parameters;
        parameters.clone_from(&first.experiment.plan.parameters);
        parameters.insert(sweep.parameter.clone(), value.value.clone());
        last = Some(asked.clone());
        let servers = pattern.clone().filter(|_| begun.is_none()).map(|it| (it, path));
        steps.push(SweepPart { name: value.folder.clone(), ask: asked, places, servers });
    }
    let Some(last) = last else { return Err(complete(args)) };
    let mut live = None;
    let begin = || live_page::serve(&last.here, &args.folder).map(|page| live = page);
    let made = Box::pin(sweep::all(steps, Wanted::Compared, begin)).await?;
    finish(&last, &args.folder, made)
}

fn none_begun(args: &ResumeArgs) -> Error {
    Error::usage(
        format!("no experiment had begun in {}", args.folder.display()),
        "start anew, with another --out",
    )
}

/// The servers in a folder that are not complete, and what was asked for on those that had begun.
fn places_again(
    args: &ResumeArgs,
    record: &Servers,
    folder: &Path,
    made: &[ServerExperiment],
) -> Result<(Vec<Place>, Option<Ask>)> {
    let given: Option<Vec<&str>> = args.server.as_ref().map(|it| it.split(',').collect());
    let count = record.servers.len();
    if given.as_ref().is_some_and(|it| it.len() != count) {
        return Err(Error::usage(
            format!("--server: the folder has {count} servers"),
            "name all of them, in their order: --server A,B",
        ));
    }
    let (mut places, mut again) = (Vec::new(), None);
    for (number, part) in record.servers.iter().enumerate() {
        let server = given.as_ref().map(|given| given[number].to_owned());
        let path = folder.join(&part.folder);
        let args = ResumeArgs { folder: path.clone(), server, ..args.clone() };
        let Some(was) = made.iter().find(|it| it.server == part.server) else {
            let server = args.server.map_or_else(|| brought_along(part.words()), Ok)?;
            places.push(Place {
                server,
                name: part.server.clone(),
                id: new_id(drawn_seed()),
                path,
                probes: true,
                resumed: None,
            });
            continue;
        };
        if was.experiment.ended == Some(Ended::Completed) {
            continue;
        }
        let (_, resumed) = Resumed::open(&path)?;
        let asked = ask_again(&args, &was.experiment)?;
        say!("going on after round {}: {}", resumed.finished, part.server);
        let (server, id) = (asked.request.server()?.to_owned(), was.experiment.id.clone());
        let name = part.server.clone();
        places.push(Place { server, name, id, path, probes: true, resumed: Some(resumed) });
        // One server may have refused a driver that another one takes.
        if again
            .as_ref()
            .is_none_or(|it: &Ask| it.request.drivers.len() < asked.request.drivers.len())
        {
            again = Some(asked);
        }
    }
    Ok((places, again))
}

/// A server out of a record, if it is one that this program brings along.
fn brought_along(server: &str) -> Result<String> {
    if ServerChoice::parse(server, None)?.kind() == ServerKind::Mongod {
        let hint = "name all servers of the folder, in their order: --server A,B";
        let what = format!("its server {server} is a program, and none is taken from a folder");
        return Err(Error::usage(what, hint));
    }
    Ok(server.to_owned())
}
