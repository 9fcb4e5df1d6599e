//! A study of several experiments: each is one that `run` could make, in a folder of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use base::say;

use super::run_plan::drawn_seed;
use super::study_fit::{self, Fit};
use super::study_plan::{planned, runnable, unknown};
use crate::ask::{Ask, Here};
use crate::cli::{MachineArgs, OrderArgs, ResumeArgs, StudyFlags, StudyVerb, UriArgs, pairs};
use adapter::manifest::{Manifest, discover};
use base::error::{Error, Exit, Result};
use base::paths::new_or_empty;
use base::secrets::{mask_hosts, mask_text};
use base::strings::shell_quoted;
use measure::resume::Resumed;
use measure::setup::new_id;
use record::folder::Folder;
use record::parts::StudyRequest;
use record::plain;
use record::records::{Ended, Experiment, Run, SCHEMA_VERSION, Study as StudyRecord, Unavailable};
use record::words::Words;
use studies::{Made, Outcome, Part, Plan, Study};
use workload::builtin;

/// Makes a study anew.
///
/// # Errors
/// A folder that is not empty; as `run` has them.
pub async fn make(
    verb: &StudyVerb,
    (drivers, instead): (Vec<String>, Option<Unavailable>),
    seed: u64,
    parts: &[Part],
) -> Result<()> {
    let args = &verb.common;
    let results = || PathBuf::from("mongodyno-results").join(new_id(drawn_seed()));
    let folder = args.out.clone().unwrap_or_else(results);
    new_or_empty(&folder)?;
    let own = verb.own.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let definition = verb.study.definition();
    let usual = if args.quick { definition.quick_scale } else { definition.scale };
    let (mut sets, mut own) = (pairs(&args.set, "--set")?, own.collect::<BTreeMap<_, _>>());
    mask_hosts(sets.values_mut().chain(own.values_mut()));
    let request = StudyRequest {
        schema_version: SCHEMA_VERSION,
        mongodyno: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().map(|word| mask_text(&word)).collect(),
        study: verb.study.name().to_owned(),
        scale: args.scale.unwrap_or(usual),
        quick: args.quick,
        drivers,
        rounds: args.rounds,
        parts: args.parts.clone(),
        sets,
        seed,
        flags: own,
        order: args.order.order,
        server: args.server.as_deref().map(mask_text),
        by_uri: args.at.uri.is_some(),
        left_out: instead.map(reason).into_iter().collect(),
    };
    go_on(verb, request, parts, &folder).await
}

/// Goes on with a study that was interrupted: finished parts stay, a cut one goes on after its last
/// round, parts that were left out are tried again.
///
/// # Errors
/// A folder of another version; as `run` has them.
pub async fn resume(args: ResumeArgs) -> Result<()> {
    let mut request = StudyRequest::read(&args.folder)?;
    let study = studies::find(&request.study).ok_or_else(|| unknown(&request.study))?;
    let known = |name: &str| study.flags().iter().find(|flag| flag.name == name);
    let own = request.flags.iter().filter_map(|(name, it)| Some((known(name)?.name, it.clone())));
    if request.by_uri && args.at.uri.is_none() {
        return Err(Error::usage(
            "it was made against a server by connection string, which is not kept",
            "add --uri-file FILE, or set MDYN_URI",
        ));
    }
    // A program's path is not taken from a folder.
    let brought = |it: &str| ["embedded", "absorber"].iter().any(|own| it.starts_with(own));
    let server = args.server.clone().or_else(|| request.server.clone());
    let kept = request.server.as_ref().filter(|it| args.server.is_none() && !brought(it));
    if let Some(named) = kept {
        return Err(Error::usage(
            format!("its server {named} is not taken from a folder"),
            format!("add --server {named}"),
        ));
    }
    let verb = StudyVerb {
        study,
        own: own.collect(),
        common: StudyFlags {
            scale: Some(request.scale),
            quick: request.quick,
            drivers: request.drivers.clone(),
            rounds: request.rounds,
            parts: request.parts.clone(),
            set: request.sets.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            order: OrderArgs { order: request.order },
            seed: Some(request.seed),
            out: Some(args.folder.clone()),
            at: UriArgs { uri: args.at.uri.clone(), uri_file: None },
            server,
            machine: MachineArgs { wait: args.wait, no_keep_awake: false },
            registry: args.registry,
            budget: None,
            plan: false,
            eject: None,
            json: args.json,
            adapters_dir: args.adapters_dir.clone(),
        },
    };
    let manifests = discover(args.adapters_dir.as_deref())?;
    let Plan::Parts(parts) = planned(&verb, request.drivers.clone(), request.seed, &manifests)?
    else {
        return Err(unknown(&request.study));
    };
    // Drivers in whose place others stand are not tried again.
    request.left_out.retain(|name, _| !parts.iter().any(|part| &part.name == name));
    go_on(&verb, request, &parts, &args.folder).await
}

async fn go_on(
    verb: &StudyVerb,
    mut request: StudyRequest,
    parts: &[Part],
    folder: &Path,
) -> Result<()> {
    let mut asked: Vec<Ask> = parts.iter().map(|part| ask(part, verb, &request, folder)).collect();
    let manifests = discover(verb.common.adapters_dir.as_deref())?;
    if request.drivers.is_empty() {
        leave_out_missing(&mut asked, &mut request, &manifests)?;
    }
    let mut open = Vec::new();
    for (at, (part, ask)) in parts.iter().zip(&asked).enumerate() {
        match Standing::of(&folder.join(&part.name))? {
            Standing::Finished => {}
            Standing::Cut(resumed) => open.push((at, part, ask, Some(*resumed))),
            Standing::Missing => open.push((at, part, ask, None)),
        }
    }
    // So is what does not fit: a part itself would say so after the others.
    let budget = verb.common.budget;
    let all: Vec<_> = open.iter().map(|(_, part, ask, _)| (*part, *ask)).collect();
    let fits = study_fit::fit(&all, budget, folder, &manifests)?;
    if verb.common.plan {
        for (_, _, ask, _) in &open {
            super::run::check_server(ask, ask.request.server()?)?;
        }
        return super::print(&study_fit::text(&fits));
    }
    if !fits.is_empty() {
        say!("{}", study_fit::summary(&fits));
    }
    for ((_, part, ..), fit) in open.iter().zip(&fits) {
        if let Some(why) = &fit.left_out {
            leave_out(&mut request, part, why);
        }
    }
    request.write(folder)?;
    let (started, mut begun) = (Instant::now(), false);
    let fitting = open.into_iter().zip(&fits).filter(|(_, fit)| fit.left_out.is_none());
    for ((at, part, ask, resumed), Fit { takes, .. }) in fitting {
        // The parts before it may have taken longer than they were to.
        let look = budget.filter(|_| begun);
        begun = true;
        let why = look.and_then(|budget| study_fit::over(budget, started.elapsed(), *takes));
        if let Some(why) = why {
            leave_out(&mut request, part, &why);
            continue;
        }
        say!("── {} ({} of {}) ──", part.name, at + 1, parts.len());
        let record = StudyRecord {
            name: request.study.clone(),
            part: Some(part.name.clone()),
            scale: request.scale,
            originals: BTreeMap::new(),
            phases: BTreeMap::new(),
        };
        let study = (!part.compares).then_some(record);
        match Box::pin(super::run::part(ask, study, resumed)).await {
            Ok(_) => {}
            Err(error) if part.needs.is_some() && error.exit == Exit::Environment => {
                let needs = part.needs.as_deref().unwrap_or_default();
                say!("{}: left out, {error}", part.name);
                request.left_out.insert(part.name.clone(), format!("{needs}; {}", error.message));
            }
            // The workload asks for what this server is not.
            Err(Error { exit: Exit::Workload, .. }) if part.needs.is_some() => {
                leave_out(&mut request, part, part.needs.as_deref().unwrap_or_default());
            }
            Err(error) => {
                if error.exit == Exit::Interrupted && at > 0 {
                    show(&request, verb, folder)?;
                }
                let on = format!("mongodyno resume {}", shell_quoted(&folder.display()));
                let hint = match (error.exit, error.hint.as_str()) {
                    (Exit::Interrupted, _) | (_, "") => format!("to go on: {on}"),
                    (_, hint) => format!("{hint}; then go on: {on}"),
                };
                return Err(Error { hint, ..error });
            }
        }
    }
    request.write(folder)?;
    show(&request, verb, folder)
}

fn leave_out(request: &mut StudyRequest, part: &Part, why: &str) {
    say!("{}: left out, {why}", part.name);
    request.left_out.insert(part.name.clone(), why.to_owned());
}

/// Writes the page and prints the result, of as many parts as were made.
fn show(request: &StudyRequest, verb: &StudyVerb, folder: &Path) -> Result<()> {
    let page = render(request, folder, "html")?;
    plain::write_whole(folder, "report.html", &page)
        .map_err(|error| Error::file("write", &folder.join("report.html"), &error))?;
    let format = if verb.common.json { "json" } else { "terminal" };
    super::print_result(&render(request, folder, format)?)
}

/// The report of a study's folder.
///
/// # Errors
/// No part that was made; a format that studies do not have.
pub fn report(folder: &Path, format: &str) -> Result<Vec<u8>> {
    render(&StudyRequest::read(folder)?, folder, format)
}

/// Of the study's own drivers, for nobody has asked for them by name.
///
/// # Errors
/// This machine can run none of them.
fn leave_out_missing(
    asked: &mut [Ask],
    request: &mut StudyRequest,
    manifests: &[Manifest],
) -> Result<()> {
    request.left_out.clear();
    for Ask { request: asked, .. } in asked.iter_mut().filter(|ask| !ask.request.drivers.is_empty())
    {
        let (good, bad) = runnable(&asked.drivers()?, manifests)?;
        asked.drivers = good.into_iter().map(|arm| Words::new(arm.words)).collect();
        request.left_out.extend(bad.into_iter().map(reason));
    }
    for (driver, why) in &request.left_out {
        say!("{driver}: left out, {why}");
    }
    Ok(())
}

fn reason(it: Unavailable) -> (String, String) {
    (it.adapter, format!("{}; {}", it.reason, it.hint))
}

fn render(request: &StudyRequest, folder: &Path, format: &str) -> Result<Vec<u8>> {
    let study = studies::find(&request.study).ok_or_else(|| unknown(&request.study))?;
    let mut read: Vec<(String, Folder, Experiment, Vec<Run>)> = Vec::new();
    let mut left_out = request.left_out.clone();
    for (name, is_there) in planned_parts(study, request, folder)? {
        if !is_there {
            left_out.entry(name).or_insert("it has not begun".to_owned());
            continue;
        }
        let (part, experiment) = Folder::open(&folder.join(&name))?;
        let runs = part.runs()?;
        read.push((name, part, experiment, runs));
    }
    if read.is_empty() {
        return Err(Error::new(
            Exit::RunInvalid,
            format!("{}: no part of the study was made", folder.display()),
            format!("mongodyno resume {}", shell_quoted(&folder.display())),
        ));
    }
    let made =
        read.iter().map(|(part, folder, experiment, runs)| Made { part, folder, experiment, runs });
    let outcome = Outcome { made: made.collect(), left_out, folder: folder.display().to_string() };
    let mut options = super::terminal_options();
    let page = folder.join("report.html");
    options.page = page.exists().then(|| page.display().to_string());
    studies::render(study, &outcome, format, &options)
}

/// The parts in the order of the plan, and whether each is there.
fn planned_parts(
    study: &'static dyn Study,
    request: &StudyRequest,
    folder: &Path,
) -> Result<Vec<(String, bool)>> {
    let asked = studies::Asked {
        scale: Some(request.scale),
        quick: request.quick,
        drivers: request.drivers.clone(),
        rounds: request.rounds,
        parts: request.parts.clone(),
        sets: request.sets.clone(),
        seed: request.seed,
        flags: study
            .flags()
            .iter()
            .filter_map(|flag| Some((flag.name, request.flags.get(flag.name)?.clone())))
            .collect(),
        server: request.server.clone(),
        by_uri: request.by_uri,
    };
    let Plan::Parts(parts) = studies::planned(study, &asked)? else {
        return Err(unknown(&request.study));
    };
    let there = |part: &Part| folder.join(&part.name).join("experiment.json").exists();
    Ok(parts.into_iter().map(|part| (part.name.clone(), there(&part))).collect())
}

/// How far a part has come.
enum Standing {
    Missing,
    Cut(Box<Resumed>),
    Finished,
}

impl Standing {
    fn of(path: &Path) -> Result<Self> {
        if !path.join("experiment.json").exists() {
            Folder::remove_unbegun(path)?;
            return Ok(Self::Missing);
        }
        let (_, experiment) = Folder::open(path)?;
        if experiment.ended == Some(Ended::Completed) {
            return Ok(Self::Finished);
        }
        if experiment.plan.kept().is_some() {
            // Its documents went with its database: its rounds cannot be gone on with.
            say!("{}: begun anew, for what its arms handed on is gone", path.display());
            std::fs::remove_dir_all(path).map_err(|error| Error::file("remove", path, &error))?;
            return Ok(Self::Missing);
        }
        Ok(Self::Cut(Box::new(Resumed::open(path)?.1)))
    }
}

/// The request of a part, with what holds for the whole study.
fn ask(part: &Part, verb: &StudyVerb, study: &StudyRequest, folder: &Path) -> Ask {
    let common = &verb.common;
    let mut request = part.request.clone();
    request.order = request.order.or(Some(study.order));
    request.seed = Some(study.seed);
    request.no_keep_awake = common.machine.no_keep_awake;
    if request.server.is_none() && request.hosts.is_empty() {
        let usual = || verb.study.definition().server;
        request.uri = common.at.uri.clone().map(Words::new);
        request.server = Some(Words::new(common.server.clone().unwrap_or_else(usual)));
    }
    let here = Here {
        out: Some(folder.join(&part.name)),
        adapters_dir: common.adapters_dir.clone(),
        offline: common.registry.offline,
        no_wait: common.machine.wait.no_wait,
        json: true, // its report is a part of the study's
        ..Here::default()
    };
    Ask { request, here }
}

/// Writes the workloads and the commands of the parts.
///
/// # Errors
/// A folder that is there.
pub fn eject(verb: &StudyVerb, parts: &[Part], path: &Path) -> Result<()> {
    let failed = |error| Error::file("write", path, &error);
    if let Some(above) = path.parent() {
        std::fs::create_dir_all(above).map_err(failed)?;
    }
    std::fs::create_dir(path).map_err(failed)?;
    let mut lines = vec![format!("# The experiments of `mongodyno study {}`.", verb.study.name())];
    let mut workloads = BTreeSet::new();
    let common = &verb.common;
    let server = common.server.clone().unwrap_or_else(|| verb.study.definition().server);
    // A connection string is not written down: `run` takes the variable where no server is named.
    let by_uri = common.server.is_none() && common.at.uri.is_some();
    if by_uri {
        lines.push("# MDYN_URI holds the connection string.".to_owned());
    }
    for part in parts {
        let mut request = part.request.clone();
        request.order = request.order.or(Some(common.order.order));
        request.seed = common.seed;
        if !by_uri && request.server.is_none() && request.hosts.is_empty() {
            request.server = Some(Words::new(&server));
        }
        let mut words = request.words()?;
        let workload = words.remove(0);
        words.extend(["--out".to_owned(), format!("out/{}", part.name)]);
        let words: Vec<String> = words.iter().map(shell_quoted).collect();
        lines.push(format!("mongodyno run {workload}.yaml {}", words.join(" ")));
        workloads.insert(workload);
    }
    for workload in workloads {
        let text = builtin::text(&workload)?;
        std::fs::write(path.join(format!("{workload}.yaml")), text).map_err(failed)?;
    }
    std::fs::write(path.join("study.sh"), lines.join("\n") + "\n").map_err(failed)?;
    super::print(&format!("{}\n", path.display()))
}
