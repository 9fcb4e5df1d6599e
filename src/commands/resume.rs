//! `mongodyno resume DIR`: repeats the request of a cut experiment, and keeps its finished rounds.
//!
//! The folder may come from anybody. Its records are data: names of built-in workloads, known arms,
//! numbers, each checked as on a command line. Programs, files, folders and addresses come from
//! this command line alone.

use std::path::Path;

use base::say;
use std::collections::BTreeMap;

use clap::Parser as _;

use super::joint::finish;
use super::run::{Place, make};
use super::run_plan::drawn_seed;
use super::sweep::{self, SweepPart};
use crate::ask::{Ask, Here};
use crate::cli::{
    BehaviourArgs, MachineArgs, OrderArgs, ResumeArgs, StudyFlags, StudyVerb, UriArgs, pairs,
};
use adapter::manifest::discover;
use base::error::{Error, Result};
use base::strings::shell_quoted;
use measure::arms;
use measure::install::Wanted;
use measure::resume::Resumed;
use measure::setup::new_id;
use record::folder::utf8;
use record::parts::StudyRequest;
use record::records::{Ended, Experiment, ServerKind};
use record::request::Request;
use record::servers::{Made, Servers};
use record::sweep::Sweep;
use record::words::{Plain, Words};
use server::connection_string::arm_option;
use server::{ServerChoice, server_again};

/// The limit of `--rounds`.
const ROUNDS_MAX: u32 = 1000;

pub async fn run(args: ResumeArgs) -> Result<()> {
    if StudyRequest::is_in(&args.folder) {
        programs_again(&args, &StudyRequest::read(&args.folder)?.drivers)?;
        return Box::pin(super::study_parts::resume(args)).await;
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
    if let Some(study) = &was.study {
        if let Some(part) = &study.part {
            let all = folder.path().parent().unwrap_or(folder.path()).display();
            return Err(Error::usage(
                format!("it is the part {part} of a study; resume the whole study"),
                format!("mongodyno resume {}", shell_quoted(&all)),
            ));
        }
        let named =
            studies::find(&study.name).ok_or_else(|| super::study_plan::unknown(&study.name))?;
        let common = study_again(&args, was, study.scale)?;
        let drivers = common.drivers.join(", ");
        say!("going on after round {finished}: study {} with {drivers}", study.name);
        let again = StudyVerb { study: named, common, own: BTreeMap::new() };
        return super::study::make(&again, Some(resumed)).await;
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
    let made = Box::pin(make(&again, Wanted::Compared, places, || Ok(()))).await?;
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
                places.push(Place { server, name, id, path: path.clone(), study: None, resumed });
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
    let made = Box::pin(sweep::all(steps, Wanted::Compared, || Ok(()))).await?;
    finish(&last, &args.folder, made)
}

fn none_begun(args: &ResumeArgs) -> Error {
    Error::usage(
        format!("no experiment had begun in {}", args.folder.display()),
        "start anew, with another --out",
    )
}

fn complete(args: &ResumeArgs) -> Error {
    Error::usage(
        format!("{} is complete: there is nothing to go on with", args.folder.display()),
        format!("mongodyno report {}", shell_quoted(&args.folder.display())),
    )
}

/// The servers in a folder that are not complete, and what was asked for on those that had begun.
fn places_again(
    args: &ResumeArgs,
    record: &Servers,
    folder: &Path,
    made: &[Made],
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
                study: None,
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
        places.push(Place { server, name, id, path, study: None, resumed: Some(resumed) });
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

/// The request of a cut experiment, with what this command line has to give again.
///
/// # Errors
/// Something that has to be given again; a record that names what there is not.
pub fn ask_again(args: &ResumeArgs, was: &Experiment) -> Result<Ask> {
    let kept = was.request.clone().filter(|kept| !kept.workload.called().is_empty());
    let mut request = kept.ok_or_else(|| {
        Error::usage(
            format!("mongodyno {} kept too little of it to go on", was.mongodyno),
            "start anew, with another --out",
        )
    })?;
    if request.rounds.is_some_and(|rounds| !(1..=ROUNDS_MAX).contains(&rounds)) {
        return Err(unknown("its number of rounds"));
    }
    BehaviourArgs::try_parse_from(&request.absorber)
        .map_err(|_| unknown("the load or the faults of its absorber"))?;
    request.workload = Words::new(workload(args, &request)?);
    // Which versions were taken, which seed was drawn and which parameters made the documents.
    let (drivers, given) = drivers(args, was)?;
    request.drivers = drivers.into_iter().map(Words::new).collect();
    request.consumer = was.consumer.as_ref().map(|arm| Words::new(&arm.id));
    request.options = options(&given, &request)?;
    request.seed = Some(was.settings.seed);
    request.parameters.clone_from(&was.plan.parameters);
    request.phases = was.plan.phases.iter().map(|phase| phase.name.clone()).collect();
    let (server, uri) = server(args, was)?;
    request.server = server.map(Words::new);
    request.uri = uri.map(Words::new);
    request.hosts = args.hosts.iter().map(Words::new).collect();
    let here = Here {
        out: Some(args.folder.clone()),
        adapters_dir: args.adapters_dir.clone(),
        offline: args.registry.offline,
        no_wait: args.wait.no_wait,
        json: args.json,
        ..Here::default()
    };
    Ok(Ask { request, here })
}

/// Its own options stand in the record: the parameters of the plan, the consumer.
fn study_again(args: &ResumeArgs, was: &Experiment, scale: f64) -> Result<StudyFlags> {
    let (server, uri) = server(args, was)?;
    let set = |(name, value): (&String, &String)| format!("{name}={value}");
    Ok(StudyFlags {
        scale: Some(scale),
        quick: was.settings.looks.quick,
        drivers: drivers(args, was)?.0,
        rounds: Some(rounds(was)?), // the one through the tap with them
        parts: Vec::new(),
        set: was.plan.parameters.iter().map(set).collect(),
        order: OrderArgs { order: was.settings.order },
        seed: Some(was.settings.seed),
        out: Some(args.folder.clone()),
        at: UriArgs { uri, uri_file: None },
        server,
        machine: machine(args, was),
        registry: args.registry,
        budget: None, // its rounds are those of then
        plan: false,
        eject: None,
        json: args.json,
        adapters_dir: args.adapters_dir.clone(),
    })
}

fn machine(args: &ResumeArgs, was: &Experiment) -> MachineArgs {
    MachineArgs { wait: args.wait, no_keep_awake: !was.settings.keep_awake }
}

fn unknown(what: &str) -> Error {
    Error::usage(
        format!("{what} is nothing that this mongodyno knows"),
        "the folder may come from another version: start anew, with another --out",
    )
}

fn rounds(was: &Experiment) -> Result<u32> {
    let rounds = was.settings.looks.first_rounds();
    (1..=ROUNDS_MAX)
        .contains(&rounds)
        .then_some(rounds)
        .ok_or_else(|| unknown("its number of rounds"))
}

/// A built-in workload by its name; a file by this command line.
fn workload(args: &ResumeArgs, request: &Request) -> Result<String> {
    let words = args.workload.as_deref().or(request.workload.given());
    words.map(str::to_owned).ok_or_else(|| {
        let name = request.workload.called();
        Error::usage(
            format!("its workload {name} is not built in, and no file is taken from a folder"),
            "add --workload FILE",
        )
    })
}

/// An arm's id is its request with its version; `#2` only tells twins apart. With the options of
/// the command line that name no program.
fn drivers(args: &ResumeArgs, was: &Experiment) -> Result<(Vec<String>, Vec<String>)> {
    let asked = was.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
    let drivers = asked.map(|arm| arm.id.split('#').next().unwrap_or_default().to_owned());
    let drivers: Vec<String> = drivers.collect();
    let given = programs_again(args, drivers.iter().chain(was.consumer.iter().map(|it| &it.id)))?;
    Ok((drivers, given))
}

/// An option that is a path names a program, and none is run out of a folder: this command line
/// names it again, by `--option`. Returns the other options that were given.
///
/// # Errors
/// An arm with a program that was not named again; an arm that there is not.
pub fn programs_again<'a>(
    args: &ResumeArgs,
    arms: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<String>> {
    let manifests = discover(args.adapters_dir.as_deref())?;
    let mut others = args.options.clone();
    for words in arms {
        let own = arms::parse(&manifests, words)?.asked.options;
        for (name, path) in own.iter().filter(|(_, value)| value.starts_with('/')) {
            let option = format!("{name}={path}");
            if !args.options.contains(&option) {
                return Err(Error::usage(
                    format!("{words} names a program, and none is taken from a folder"),
                    format!("add --option {option}, if you trust it"),
                ));
            }
            others.retain(|it| *it != option);
        }
    }
    Ok(others)
}

/// `--server` and `--uri`. From a folder only servers that this program brings along.
fn server(args: &ResumeArgs, was: &Experiment) -> Result<(Option<String>, Option<String>)> {
    if was.server.kind == ServerKind::External {
        if !args.hosts.is_empty() {
            return Ok((None, None));
        }
        // The folder has no credentials.
        let uri = args.at.uri.clone().ok_or_else(|| {
            Error::usage(
                "it was made against a server by connection string, which is not kept",
                "add --uri-file FILE, or set MDYN_URI; for several, --hosts",
            )
        })?;
        return Ok((None, Some(uri)));
    }
    let again = || {
        let it = &was.server;
        server_again(it.kind, &it.version, &it.uri, &it.topology)
    };
    Ok((Some(args.server.clone().map_or_else(again, Ok)?), None))
}

/// Options of every arm: from the record those that an arm may set for itself. Others name servers
/// or guard secrets, and come with credentials from this command line.
fn options(given: &[String], request: &Request) -> Result<BTreeMap<String, Words<Plain>>> {
    let given = pairs(given, "--option")?.into_iter();
    let mut options: BTreeMap<String, Words<Plain>> =
        given.map(|(name, value)| (name, Words::secret(value))).collect();
    for (name, value) in &request.options {
        if options.keys().any(|given| given.eq_ignore_ascii_case(name)) {
            continue;
        }
        let kept = value.given().filter(|_| arm_option(name).is_some());
        let value = kept.ok_or_else(|| {
            Error::usage(
                format!("it was made with the option {name}, which is not taken from a folder"),
                format!("add --option {name}=VALUE"),
            )
        })?;
        options.insert(name.clone(), Words::new(value));
    }
    Ok(options)
}
