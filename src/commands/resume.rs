//! `mongodyno resume DIR`: repeats the request of a cut experiment, and keeps its finished rounds.
//!
//! The folder may come from anybody. Its records are data: names of built-in workloads, known arms,
//! numbers, each checked as on a command line. Programs, files, folders and addresses come from
//! this command line alone.

use std::time::Duration;

use base::say;
use std::collections::BTreeMap;

use clap::Parser as _;

use super::run::pairs;
use crate::cli::{
    BehaviourArgs, InterleaveArg, LimitArgs, MachineArgs, OrderArgs, ResumeArgs, RunArgs,
    StudyFlags, StudyVerb, UriArgs,
};
use base::error::{Error, Result};
use base::words::shell_quoted;
use measure::arms::is_plain;
use measure::resume::Resumed;
use measure::settings::ASKED_FOR;
use record::folder::utf8;
use record::parts::StudyRequest;
use record::records::{Experiment, Request, ServerKind};
use server::server_again;
use server::uri::arm_option;
use stats::looks::LookPlan;
use stats::threshold::Interleave;
use workload::builtin::BUILTINS;

/// The limit of `--rounds`.
const ROUNDS_MAX: u32 = 1000;

pub async fn run(args: ResumeArgs) -> Result<()> {
    if StudyRequest::is_in(&args.folder) {
        return Box::pin(super::study_parts::resume(args)).await;
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
                format!("it is the part {part} of a study, which goes on as a whole"),
                format!("mongodyno resume {}", shell_quoted(&all)),
            ));
        }
        let named = studies::find(&study.name).ok_or_else(|| super::study::unknown(&study.name))?;
        let common = study_again(&args, was, study.scale)?;
        let drivers = common.drivers.join(", ");
        say!("going on after round {finished}: study {} with {drivers}", study.name);
        let again = StudyVerb { study: named, common, own: BTreeMap::new() };
        return super::study::make(&again, Some(resumed)).await;
    }
    let again = run_again(&args, was)?;
    let drivers = again.drivers.join(", ");
    say!("going on after round {finished}: {} with {drivers}", was.plan.workload);
    // On the heap: this future holds the whole experiment.
    Box::pin(super::run::resume(again, resumed)).await
}

fn run_again(args: &ResumeArgs, was: &Experiment) -> Result<RunArgs> {
    let request = was.request.as_ref().ok_or_else(|| {
        Error::usage(
            format!("mongodyno {} kept too little of it to go on", was.mongodyno),
            "start anew, with another --out",
        )
    })?;
    let looks = &was.settings.looks;
    let quick = *looks == LookPlan::quick();
    let rounds = (!quick && *looks != LookPlan::standard()).then(|| rounds(was)).transpose()?;
    let asked = was.settings.interleave.iter().find(|it| it.reason == ASKED_FOR);
    let behaviour = BehaviourArgs::try_parse_from(&request.absorber)
        .map_err(|_| unknown("the load or the faults of its absorber"))?;
    let (server, uri) = server(args, was)?;
    Ok(RunArgs {
        workload: workload(args, was)?,
        drivers: drivers(was),
        consumer: was.consumer.as_ref().map(|arm| arm.id.clone()),
        options: options(args, request)?,
        set: Vec::new(), // parameters stand in the plan
        sweep: None,
        phases: was.plan.phases.iter().map(|phase| phase.name.clone()).collect(),
        quick,
        rounds,
        gate: was.settings.gates.clone(),
        max_time: was.settings.max_time_s.map(Duration::from_secs_f64),
        interleave: asked.map(|it| match it.interleave {
            Interleave::Turns => InterleaveArg::Turns,
            Interleave::Runs => InterleaveArg::Runs,
        }),
        order: OrderArgs { order: was.settings.order },
        seed: Some(was.settings.seed),
        out: Some(args.folder.clone()),
        at: UriArgs { uri, uri_file: None },
        hosts: args.hosts.clone(),
        server,
        load: behaviour.load,
        faults: behaviour.faults,
        tap: was.arms.iter().any(|arm| arm.is_direct),
        link: was.link.as_ref().map(|link| link.asked.clone()),
        keep_data: request.keep_data,
        limits: limits(was),
        machine: machine(args, was),
        registry: args.registry,
        plan: false,
        json: args.json,
        adapters_dir: args.adapters_dir.clone(),
    })
}

/// Its own options stand in the record: the parameters of the plan, the consumer.
fn study_again(args: &ResumeArgs, was: &Experiment, scale: f64) -> Result<StudyFlags> {
    let (server, uri) = server(args, was)?;
    let set = |(name, value): (&String, &String)| format!("{name}={value}");
    Ok(StudyFlags {
        scale: Some(scale),
        quick: was.settings.looks.quick,
        drivers: drivers(was),
        rounds: Some(rounds(was)?), // the one through the tap with them
        set: was.plan.parameters.iter().map(set).collect(),
        order: OrderArgs { order: was.settings.order },
        seed: Some(was.settings.seed),
        out: Some(args.folder.clone()),
        at: UriArgs { uri, uri_file: None },
        server: Some(server),
        machine: machine(args, was),
        registry: args.registry,
        budget: None, // its rounds are those of then
        eject: None,
        json: args.json,
        adapters_dir: args.adapters_dir.clone(),
    })
}

fn machine(args: &ResumeArgs, was: &Experiment) -> MachineArgs {
    MachineArgs { wait: args.wait, no_keep_awake: !was.settings.keep_awake }
}

fn limits(was: &Experiment) -> LimitArgs {
    let server = was.server.options;
    LimitArgs {
        client_memory: was.client_memory.as_ref().map(|it| it.bytes),
        server_cache: server.cache_bytes,
        server_connections: server.connections,
        server_memory: server.memory_bytes,
    }
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
fn workload(args: &ResumeArgs, was: &Experiment) -> Result<String> {
    let name = &was.plan.workload;
    match &args.workload {
        Some(file) => Ok(file.clone()),
        None if BUILTINS.iter().any(|builtin| builtin.name == name) => Ok(name.clone()),
        None => Err(Error::usage(
            format!("its workload {name} is not built in, and no file is taken from a folder"),
            "add --workload FILE",
        )),
    }
}

/// An arm's id is its request with its version; `#2` only tells twins apart.
fn drivers(was: &Experiment) -> Vec<String> {
    let asked = was.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
    asked.map(|arm| arm.id.split('#').next().unwrap_or_default().to_owned()).collect()
}

/// `--server` and `--uri`. From a folder only servers that this program brings along.
fn server(args: &ResumeArgs, was: &Experiment) -> Result<(String, Option<String>)> {
    if was.server.kind == ServerKind::External {
        if !args.hosts.is_empty() {
            return Ok((ServerKind::External.word().to_owned(), None));
        }
        // The folder has no credentials.
        let uri = args.at.uri.clone().ok_or_else(|| {
            Error::usage(
                "it was made against a server by connection string, which is not kept",
                "add --uri-file FILE, or set MDYN_URI; for several, --hosts",
            )
        })?;
        return Ok((ServerKind::External.word().to_owned(), Some(uri)));
    }
    let again = || {
        let it = &was.server;
        server_again(it.kind, &it.version, &it.uri, &it.topology)
    };
    Ok((args.server.clone().map_or_else(again, Ok)?, None))
}

/// Options of every arm: from the record those that an arm may set for itself. Others name servers
/// or guard secrets, and come with credentials from this command line.
fn options(args: &ResumeArgs, request: &Request) -> Result<Vec<String>> {
    let mut options: BTreeMap<String, String> = pairs(&args.options, "--option")?;
    for (name, value) in &request.options {
        if options.keys().any(|given| given.eq_ignore_ascii_case(name)) {
            continue;
        }
        let kept = value.clone().filter(|value| arm_option(name).is_some() && is_plain(value));
        let value = kept.ok_or_else(|| {
            Error::usage(
                format!("it was made with the option {name}, which is not taken from a folder"),
                format!("add --option {name}=VALUE"),
            )
        })?;
        options.insert(name.clone(), value);
    }
    Ok(options.iter().map(|(name, value)| format!("{name}={value}")).collect())
}
