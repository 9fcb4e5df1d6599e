//! `mongodyno run`: plan, environments, server, rounds, report.

use base::say;
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::cli::{InterleaveArg, RunArgs};
use crate::commands::limits::limits;
use crate::commands::plan_text::{self, Started};
use adapter::manifest::discover;
use base::error::{Error, Exit, Result};
use base::words::shell_quoted;
use judge::analysis::types::Analysis;
use measure::arms;
use measure::install::{How, Wanted, install_all};
use measure::progress::duration;
use measure::reach::Reached;
use measure::resume::Resumed;
use measure::room;
use measure::runner::Judge;
use measure::selection::{expand, one as one_arm};
use measure::setup::{Setup, new_id};
use measure::stop::Requests;
use measure::{settings, unacknowledged};
use record::folder::{Folder, Series};
use record::records::{Ended, Settings, Study};
use report::{Report, html, terminal};
use server::uri::{self, with_arm_options, with_options};
use stats::looks::LookPlan;
use stats::threshold::Interleave;
use tap::link::LinkSpec;
use workload::plan::{Limit, Plan};
use workload::{Workload, builtin};

/// Runs the verb.
///
/// # Errors
/// Everything a user can fix; [`Exit::RunInvalid`] when nothing could be compared.
pub async fn run(args: RunArgs) -> Result<()> {
    let mut args = args;
    if args.sweep.is_some() && args.out.is_none() {
        // One folder for all of them, that `diagnose` can be given.
        args.out = Some(PathBuf::from("mongodyno-results").join(new_id(drawn_seed())));
    }
    let cells = cells(&args)?;
    let mut analyses = Vec::new();
    for (label, sets) in &cells {
        if let Some(label) = label {
            say!("── {label} ──");
        }
        if let Some(analysis) = one(&args, label.as_deref(), sets, None, None).await? {
            analyses.push(analysis);
        }
    }
    if let (Some(folder), false) = (&args.out, args.json || args.sweep.is_none() || args.plan) {
        super::print(&format!(
            "\n{}",
            super::diagnose::sweep_text(&super::diagnose::cells(folder)?)
        ))?;
    }
    if args.json {
        let value = match &analyses[..] {
            [one] => serde_json::to_string_pretty(one),
            several => serde_json::to_string_pretty(several),
        };
        super::print(&format!("{}\n", value.expect("analyses serialise")))?;
    }
    if analyses.iter().any(Analysis::breaks_a_gate) {
        return Err(broken_gate());
    }
    if !analyses.is_empty() && analyses.iter().all(Analysis::nothing_comparable) {
        return Err(Error::new(
            Exit::RunInvalid,
            "no comparison could be made: each one is NOT COMPARABLE",
            "the reasons stand in its sentences above",
        ));
    }
    Ok(())
}

/// A gate that was asked for is broken.
pub fn broken_gate() -> Error {
    Error::new(Exit::GateFailed, "a gate is broken", "the sentences under Gates name it")
}

type Sets = BTreeMap<String, String>;

/// The experiments asked for: one, or one for each value of `--sweep`.
fn cells(args: &RunArgs) -> Result<Vec<(Option<String>, Sets)>> {
    let sets = pairs(&args.set, "--set")?;
    let Some(sweep) = &args.sweep else { return Ok(vec![(None, sets)]) };
    let (name, values) =
        sweep.split_once('=').filter(|(_, values)| !values.is_empty()).ok_or_else(|| {
            Error::usage(format!("--sweep {sweep} names no values"), "write --sweep threads=1,2,4")
        })?;
    let cell = |value: &str| {
        let mut sets = sets.clone();
        sets.insert(name.to_owned(), value.trim().to_owned());
        (Some(format!("{name}={}", value.trim())), sets)
    };
    Ok(values.split(',').map(cell).collect())
}

/// `NAME=VALUE` words of a flag.
pub fn pairs(words: &[String], flag: &str) -> Result<Sets> {
    let pair = |word: &String| {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            Error::usage(format!("{flag} {word} has no `=`"), format!("write {flag} name=value"))
        })?;
        Ok((name.to_owned(), value.to_owned()))
    };
    words.iter().map(pair).collect()
}

/// `--option`, which drivers would ignore where it is misspelt, or where the URI has it too.
fn uri_options(args: &RunArgs) -> Result<Sets> {
    let options = pairs(&args.options, "--option")?;
    for name in options.keys() {
        if let Err(near) = uri::check_option(name) {
            let hint = near.map_or_else(
                || "an adapter's own option stands behind its arm: -d NAME/KEY=VALUE".to_owned(),
                |near| format!("did you mean {near}?"),
            );
            let message = format!("--option {name}: connection strings have no such option");
            return Err(Error::usage(message, hint));
        }
        if args.at.uri.as_ref().is_some_and(|uri| uri::has_option(uri, name)) {
            return Err(Error::usage(
                format!("--option {name}: the connection string sets it too, and would win"),
                "take it out of one of them",
            ));
        }
    }
    Ok(options)
}

/// Goes on with an experiment that was made as `args` ask.
///
/// # Errors
/// As [`run`]; a workload or an arm that is not what it was.
pub async fn resume(args: RunArgs, resumed: Resumed) -> Result<()> {
    let sets = resumed.experiment.plan.parameters.clone();
    let analysis = one(&args, None, &sets, None, Some(resumed)).await?;
    match analysis {
        Some(analysis) if args.json => {
            let text = serde_json::to_string_pretty(&analysis).expect("analyses serialise");
            super::print(&format!("{text}\n"))
        }
        _ => Ok(()),
    }
}

/// One experiment, as `args` ask.
///
/// # Errors
/// As [`run`].
pub async fn experiment(args: &RunArgs) -> Result<Option<Analysis>> {
    one(args, None, &pairs(&args.set, "--set")?, None, None).await
}

/// A part of a study; with `study` one without an A/A arm and verdicts.
///
/// # Errors
/// As [`run`].
pub async fn part(
    args: &RunArgs,
    study: Option<Study>,
    resumed: Option<Resumed>,
) -> Result<Option<Analysis>> {
    one(args, None, &pairs(&args.set, "--set")?, study, resumed).await
}

/// One experiment; None with `--plan`.
async fn one(
    args: &RunArgs,
    label: Option<&str>,
    sets: &Sets,
    study: Option<Study>,
    resumed: Option<Resumed>,
) -> Result<Option<Analysis>> {
    // Slips of the keyboard are found before anything is installed or started.
    let absorber_words = absorber_words(args)?;
    args.link.as_deref().map(LinkSpec::parse).transpose()?;
    let options = uri_options(args)?;
    let limits = limits(args)?;
    let seed = args.seed.unwrap_or_else(drawn_seed);
    let mut workload = builtin::open(&args.workload, sets, seed)?;
    select_phases(&mut workload, args)?;
    let asked = args.interleave.map(|interleave| match interleave {
        InterleaveArg::Turns => Interleave::Turns,
        InterleaveArg::Runs => Interleave::Runs,
    });
    let manifests = discover(args.adapters_dir.as_deref())?;
    let how = How { wanted: Wanted::of(!args.drivers.is_empty()), offline: args.registry.offline };
    let drivers = expand(&manifests, &args.drivers, how.offline)?;
    let (arms, mut unavailable) = arms::choose(&drivers, &manifests)?;
    workload.fit(arms::processes(&workload.plan, &arms));
    room::check_client(&workload, limits.client_memory.as_ref())?;
    let unanswered = unanswered(args, &workload.plan, &arms)?;
    let max_time_s = args.max_time.map(|time| time.as_secs_f64());
    settings::limit_counted(&mut workload.plan, max_time_s);
    let settings = Settings {
        seed,
        max_time_s,
        order: args.order.order,
        interleave: settings::interleave(&workload.plan, asked, unanswered.as_deref())?,
        measured_s: if args.quick { settings::QUICK_MEASURED_S } else { settings::MEASURED_S },
        looks: looks(args),
        gates: args.gate.clone(),
        keep_awake: !args.machine.no_keep_awake,
    };
    let serverless = is_serverless(args, &workload.plan)?;
    let profiles: Vec<f64> = arms.iter().map(|arm| arm.manifest.warmup_s).collect();
    // The A/A arm repeats the baseline, and so does the arm that goes past the tap.
    let tapped = args.tap || args.link.is_some();
    let twins = usize::from(study.is_none()) + usize::from(tapped);
    let profiles = [&profiles[..], &vec![profiles[0]; twins]].concat();
    let estimate = settings::estimate(&workload.plan, &profiles, args.quick, settings.measured_s);
    let rounds = settings.looks.first_rounds();
    let until_look = estimate.round * rounds;
    if args.plan {
        let names = arms::ids(&arms)?;
        let started = Started { server: &args.server, limits: &limits };
        let text = plan_text::text(&workload.plan, &settings, &names, &started, &estimate);
        super::print(&text)?;
        return Ok(None);
    }
    if let Some(resumed) = &resumed {
        resumed.is_asked_again(&workload.plan, &settings, &arms::ids(&arms)?)?;
    }
    let reads = workload.plan.phases.iter().any(|phase| phase.consumer);
    let consumer = args.consumer.as_deref().filter(|_| reads);
    let consumer = consumer.map(|asked| one_arm(&manifests, asked, how.offline)).transpose()?;
    // Installing takes minutes: whatever else may be wrong is found before.
    let server = if serverless { None } else { Some(reached(args).await?) };
    let data = server.as_ref().and_then(Reached::data);
    room::check_disk(&workload, &settings.interleave, profiles.len(), data)?;
    let mut requests = Requests::watch();
    let install = install_all(&arms, consumer.as_ref(), how, &mut unavailable, &mut requests);
    let installed = install.await?;
    let consumer = if reads { Some(requests.or(installed.consumer()).await??) } else { None };
    let environments = installed.arms;
    say!(
        "about {} to the first look ({rounds} rounds, {} arms{}{}, {} phases)",
        duration(until_look),
        environments.len() + twins,
        if study.is_none() { " with the A/A arm" } else { "" },
        if tapped { " and the direct one" } else { "" },
        workload.plan.phases.len()
    );
    let id = resumed.as_ref().map(|resumed| resumed.experiment.id.clone());
    let id = id.unwrap_or_else(|| new_id(drawn_seed()));
    let setup = Setup {
        workload,
        settings,
        environments,
        unavailable,
        until_look,
        path: out(args, &id, label),
        id,
        server,
        absorber_words,
        consumer,
        study,
        resumed,
        tap: args.tap,
        link: args.link.clone(),
        options,
        keep_data: args.keep_data,
        limits,
        waits: !args.machine.wait.no_wait,
        judge: Judge { standing: judge::standing, deciding: judge::deciding },
    };
    // On the heap: everything an experiment holds is in this one future.
    let folder = Box::pin(setup.run(&mut requests)).await?;
    show(&folder, args.json).map(Some)
}

/// The server, or the several hosts, that were asked for.
async fn reached(args: &RunArgs) -> Result<Reached> {
    if args.hosts.is_empty() {
        return Reached::at(&args.server, args.at.uri.as_deref()).await;
    }
    Reached::hosts(&args.hosts).await
}

fn looks(args: &RunArgs) -> LookPlan {
    match (args.quick, args.rounds) {
        (true, _) => LookPlan::quick(),
        (false, Some(rounds)) => LookPlan::fixed(rounds),
        (false, None) => LookPlan::standard(),
    }
}

fn is_serverless(args: &RunArgs, plan: &Plan) -> Result<bool> {
    let serverless = args.server == "none" && args.at.uri.is_none();
    if serverless && !plan.needs_no_server() {
        return Err(Error::usage(
            format!("--server none: the workload {} needs a server", plan.workload),
            "only phases of `noop` run without one: mongodyno run ping --phase noop",
        ));
    }
    Ok(serverless)
}

/// The first arm whose connection string asks for no answers to its writes.
fn unanswered(args: &RunArgs, plan: &Plan, arms: &[arms::Arm<'_>]) -> Result<Option<String>> {
    let uri = args.at.uri.as_deref().unwrap_or("mongodb://localhost/");
    let mut options = plan.uri_options.clone();
    options.extend(pairs(&args.options, "--option")?);
    let uri = with_options(uri, &options);
    let first = arms
        .iter()
        .find(|arm| unacknowledged::by_options(&with_arm_options(&uri, &arm.asked.uri_options)));
    Ok(first.map(|arm| arm.words.clone()))
}

/// Load and faults, which only an absorber takes.
fn absorber_words(args: &RunArgs) -> Result<Vec<String>> {
    let words = [args.load.to_words(), args.faults.to_words()].concat();
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    match words.first() {
        Some(word) if args.server != "absorber" || args.at.uri.is_some() => Err(Error::usage(
            format!("{}: only an absorber can be told how to behave", name(word)),
            "add --server absorber",
        )),
        _ => Ok(words),
    }
}

/// Where the results go.
fn out(args: &RunArgs, id: &str, label: Option<&str>) -> PathBuf {
    let path = args.out.clone().unwrap_or_else(|| PathBuf::from("mongodyno-results").join(id));
    label.map_or_else(|| path.clone(), |label| path.join(label))
}

/// A seed that was not asked for.
pub fn drawn_seed() -> u64 {
    // The clock is enough: the seed has to be recorded, not to be secret. 32 bits are easily typed.
    base::clock::since_1970().as_nanos() as u64 & 0xffff_ffff
}

fn select_phases(workload: &mut Workload, args: &RunArgs) -> Result<()> {
    let plan = &mut workload.plan;
    let phases = &mut plan.phases;
    for name in &args.phases {
        if !phases.iter().any(|phase| &phase.name == name) {
            let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
            return Err(Error::usage(
                format!("--phase {name}: the workload has no such phase"),
                format!("it has {}", names.join(", ")),
            ));
        }
    }
    if !args.phases.is_empty() {
        phases.retain(|phase| args.phases.contains(&phase.name));
    }
    if args.quick {
        // A story that is cut answers nothing.
        let last = phases.len().min(settings::QUICK_PHASES_MAX) - 1;
        let end = plan.story(last).end;
        plan.phases.truncate(end);
        for phase in &mut plan.phases {
            if let Limit::Duration { seconds: Some(seconds) } = &mut phase.limit {
                *seconds = seconds.min(settings::QUICK_MEASURED_S);
            }
        }
    }
    Ok(())
}

/// Prints what an experiment came to, and writes its page.
///
/// An interrupted one is shown as far as it came, and is still an error.
fn show(folder: &Folder, json: bool) -> Result<Analysis> {
    let (_, experiment) = Folder::open(folder.path())?;
    let analysis = judge::analyse(folder, &experiment)?.analysis;
    let runs = folder.runs()?;
    let mut options = super::terminal_options();
    let series = Series::default(); // neither writes it
    let page = Report { analysis: &analysis, runs: &runs, series: &series, options: &options };
    folder.write_whole("report.html", page.text(html::FORMAT).as_bytes())?;
    options.page = Some(folder.join("report.html").display().to_string());
    let report = Report { analysis: &analysis, runs: &runs, series: &series, options: &options };
    let text = if json { String::new() } else { report.text(terminal::FORMAT) };
    let printed = super::print(&text);
    if experiment.ended == Some(Ended::Interrupted) {
        // Where a closed terminal was the reason, nothing can be printed either.
        return Err(interrupted(folder));
    }
    printed.map(|()| analysis)
}

/// The error of an experiment that was interrupted, with the way on.
pub fn interrupted(folder: &Folder) -> Error {
    let hint = format!("to go on: mongodyno resume {}", shell_quoted(&folder.path().display()));
    Error::new(Exit::Interrupted, "interrupted", hint)
}
