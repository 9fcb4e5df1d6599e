//! The request of a folder once more, with what this command line has to give again.
//!
//! The folder may come from anybody. Its records are data: names of built-in workloads, known arms,
//! numbers, each checked as on a command line. Programs, files, folders and addresses come from
//! this command line alone.

use std::collections::BTreeMap;

use clap::Parser as _;

use crate::ask::{Ask, Here};
use crate::cli::{BehaviourArgs, ResumeArgs, pairs};
use adapter::manifest::discover;
use base::error::{Error, Result};
use base::strings::shell_quoted;
use measure::arms;
use record::records::{Experiment, ServerKind};
use record::request::Request;
use record::words::{Plain, Words};
use server::connection_string::arm_option;
use server::server_again;

/// The limit of `--rounds`.
const ROUNDS_MAX: u32 = 1000;

pub fn complete(args: &ResumeArgs) -> Error {
    Error::usage(
        format!("{} is complete: there is nothing to go on with", args.folder.display()),
        format!("mongodyno report {}", shell_quoted(&args.folder.display())),
    )
}

/// The error of a study that an earlier version made.
pub fn earlier(version: &str) -> Error {
    Error::usage(
        format!("mongodyno {version} made this study, and this version cannot resume it"),
        "`mongodyno report` shows what was made; start anew, with another --out",
    )
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
    // Which versions were taken, which seed was drawn and which parameters made the documents. An
    // arm's id is its request with its version; `#2` only distinguishes twins.
    let asked = was.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
    let asked = asked.map(|arm| (arm.id.split('#').next().unwrap_or_default(), &arm.share));
    request.drivers = asked.clone().map(|(driver, _)| Words::new(driver)).collect();
    request.by_driver = asked.map(|(driver, share)| (driver.to_owned(), share.clone())).collect();
    request.consumer = was.consumer.as_ref().map(|arm| Words::new(&arm.id));
    request.seed = Some(was.settings.seed);
    request.parameters.clone_from(&was.plan.parameters);
    request.phases = was.plan.phases.iter().map(|phase| phase.name.clone()).collect();
    let (server, uri) = server(args, was)?;
    request.server = server.map(Words::new);
    request.uri = uri.map(Words::new);
    request.hosts = args.hosts.iter().map(Words::new).collect();
    given_again(args, request)
}

/// The request of a folder for an experiment that had not begun, in the same way.
///
/// # Errors
/// As [`ask_again`].
pub fn request_again(args: &ResumeArgs, request: &Request) -> Result<Ask> {
    let mut request = request.clone();
    if !request.hosts.is_empty() {
        if args.hosts.is_empty() {
            return Err(Error::usage("it was asked for on several hosts", "add --hosts"));
        }
        request.hosts = args.hosts.iter().map(Words::new).collect();
    } else if request.uri.is_some() {
        request.uri = Some(Words::new(uri_again(args)?));
    } else if let Some(server) = &args.server {
        request.server = Some(Words::new(server));
    } else if let Some(named) = request.server.as_ref().filter(|it| it.given().is_none()) {
        let base = named.called().split(':').next().unwrap_or_default();
        return Err(Error::usage(
            format!("its server {} is not taken from a folder", named.called()),
            format!("add --server {base}"),
        ));
    }
    given_again(args, request)
}

/// A request of a folder, whose server this command line has given, with everything else that has
/// to be given again.
fn given_again(args: &ResumeArgs, mut request: Request) -> Result<Ask> {
    if request.rounds.is_some_and(|rounds| !(1..=ROUNDS_MAX).contains(&rounds)) {
        return Err(unknown("its number of rounds"));
    }
    BehaviourArgs::try_parse_from(&request.absorber)
        .map_err(|_| unknown("the load or the faults of its absorber"))?;
    request.workload = Words::new(workload(args, &request)?);
    let named = request.drivers.iter().chain(&request.consumer);
    let named: Vec<String> = named.map(|words| words.called().to_owned()).collect();
    let given = programs_again(args, &named)?;
    // Programs of these were named again.
    for words in request.drivers.iter_mut().chain(&mut request.consumer) {
        *words = Words::new(words.called().to_owned());
    }
    request.options = options(&given, &request)?;
    let here = Here {
        out: Some(args.folder.clone()),
        adapters_dir: args.adapters_dir.clone(),
        offline: args.registry.offline,
        no_wait: args.wait.no_wait,
        json: args.json,
        details: args.details.details,
        live: args.live.live,
        history: args.history.history.clone(),
        ..Here::default()
    };
    Ok(Ask { request, here })
}

fn unknown(what: &str) -> Error {
    Error::usage(
        format!("{what} is nothing that this mongodyno knows"),
        "the folder may come from another version: start anew, with another --out",
    )
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
        return Ok((None, Some(uri_again(args)?)));
    }
    let again = || {
        let it = &was.server;
        server_again(it.kind, &it.version, &it.uri, &it.topology)
    };
    Ok((Some(args.server.clone().map_or_else(again, Ok)?), None))
}

/// The folder has no credentials.
fn uri_again(args: &ResumeArgs) -> Result<String> {
    args.at.uri.clone().ok_or_else(|| {
        Error::usage(
            "it was made against a server by connection string, which is not kept",
            "add --uri-file FILE, or set MDYN_URI; for several, --hosts",
        )
    })
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
