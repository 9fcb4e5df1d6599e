//! `mongodyno study`: the experiment of a study, and the answer that follows from it. Which studies
//! there are is known to `studies` alone.

use base::say;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::{StudyArgs, StudyVerb};
use crate::commands::run::interrupted;
use crate::commands::run_plan::drawn_seed;
use crate::commands::study_fit::refused;
use crate::commands::study_parts;
use crate::commands::study_plan::{planned, runnable, taking_part, unknown};
use adapter::manifest::discover;
use base::error::{Error, Exit, Result};
use base::strings::shell_quoted;
use format::counted;
use measure::arms::{self, Arm};
use measure::capacity;
use measure::install::{self, How, Installed, Wanted, install_all};
use measure::progress::duration;
use measure::resume::Resumed;
use measure::runner::Judge;
use measure::selection::{expand, one};
use measure::server_access::Reached;
use measure::settings::{self, estimate};
use measure::setup::{Limits, Setup, new_id};
use measure::stop::Requests;
use measure::token::Token;
use record::folder::Folder;
use record::records::{Ended, Experiment, Run, Settings, Study as StudyRecord};
use record::request::Request;
use record::words::Words;
use stats::looks::LookPlan;
use studies::{Made, One, Outcome, Plan, STUDIES, Study};
use workload::builtin;

/// Runs the verb.
pub async fn run(args: StudyArgs) -> Result<()> {
    match args.study {
        None => list(),
        Some(verb) => match &verb.common.eject {
            Some(path) => eject(&verb, path),
            None => make(&verb, None).await,
        },
    }
}

fn list() -> Result<()> {
    let mut table = super::Table::default();
    for study in STUDIES {
        table.add_row([study.name().to_owned(), study.definition().about]);
    }
    super::print(&format!("{table}\n"))
}

/// Makes the study, or goes on with one that was made as `verb` asks.
///
/// # Errors
/// As [`run`]; of a resumed one, a workload or an arm that is not what it was.
pub async fn make(verb: &StudyVerb, resumed: Option<Resumed>) -> Result<()> {
    let (study, args) = (verb.study, &verb.common);
    let manifests = discover(args.adapters_dir.as_deref())?;
    let seed = args.seed.unwrap_or_else(drawn_seed);
    let drivers = expand(&manifests, &args.drivers, args.registry.offline)?;
    let (drivers, instead) = taking_part(verb.study, drivers, &manifests)?;
    if let Some(it) = &instead {
        say!("{}: left out, {}; {}", it.adapter, it.reason, it.hint);
    }
    let plan = match planned(verb, drivers.clone(), seed, &manifests)? {
        Plan::One(one) => *one,
        Plan::Parts(parts) => {
            return study_parts::make(verb, (drivers, instead), seed, &parts).await;
        }
    };
    let named: Vec<String> = plan.arms.iter().map(|arm| arm.driver.clone()).collect();
    let (chosen, mut unavailable) = runnable(&named, &manifests)?;
    for it in &unavailable {
        say!("{}: left out, {}; {}", it.adapter, it.reason, it.hint);
    }
    // A record counts the round through the tap with the others.
    let rounds = plan.rounds + u32::from(plan.tap && resumed.is_none());
    let mut looks = LookPlan::fixed(rounds);
    looks.quick = plan.quick;
    let settings = Settings {
        seed,
        order: args.order.order,
        interleave: settings::interleave(&plan.workload.plan, None, None)?,
        max_time_s: None,
        gates: Vec::new(),
        gate_unclear: None,
        measured_s: settings::MEASURED_S,
        looks,
        keep_awake: !args.machine.no_keep_awake,
        blocks: None,
    };
    if let Some(resumed) = &resumed {
        resumed.is_asked_again(&plan.workload.plan, &settings, &arms::ids(&chosen)?)?;
    }
    let how = How { wanted: Wanted::of(!args.drivers.is_empty()), offline: args.registry.offline };
    let reads = plan.workload.plan.phases.iter().any(|phase| phase.consumer);
    let was = resumed.as_ref().and_then(|it| Some(it.experiment.consumer.as_ref()?.id.clone()));
    let consumer = was.or_else(|| plan.consumer.clone()).filter(|_| reads);
    let consumer = consumer.map(|asked| one(&manifests, &asked, how.offline)).transpose()?;
    let round: Duration = chosen.iter().map(|arm| round_of(&plan, arm, &settings)).sum();
    let until_look = round * rounds;
    if let Some(budget) = args.budget.filter(|budget| *budget < until_look) {
        return Err(refused("it", until_look, budget));
    }
    let about = |arms: usize| {
        let time = duration(until_look);
        let [arms, phases] = [(arms, "arm"), (plan.workload.plan.phases.len(), "phase")]
            .map(|(count, thing)| counted(count as u64, thing));
        let rounds = counted(rounds, "round");
        let tapped = if plan.tap { ", the last one through the tap" } else { "" };
        format!("about {time}: {arms}, {phases}, {rounds}{tapped}")
    };
    let server = args.server.clone().unwrap_or_else(|| study.definition().server);
    if args.plan {
        Reached::check(&server, args.at.uri.as_deref(), how.offline)?;
        install::check(&chosen, consumer.as_ref(), how)?;
        return super::print(&format!("{}\n", about(chosen.len())));
    }
    capacity::check_client(&plan.workload, None)?;
    let server = Reached::at(&server, args.at.uri.as_deref(), how.offline).await?;
    capacity::check_disk(&plan.workload, &settings.interleave, chosen.len(), server.data())?;
    let mut requests = Requests::watch();
    let install = install_all(&chosen, consumer.as_ref(), how, &mut unavailable, &mut requests);
    let installed = install.await?;
    let consumer = requests.or(installed.consumer(&manifests, &plan.workload.plan)).await??;
    // On resume arms were asked for by other words than then.
    let was = resumed.as_ref().and_then(|it| it.experiment.study.clone());
    let record = was.unwrap_or_else(|| record(study, &plan, &installed));
    let environments = installed.arms;
    let reader = consumer.as_ref().map(|(id, _)| format!("; {id} reads the messages"));
    say!("{}{}", about(environments.len()), reader.unwrap_or_default());
    let id = resumed.as_ref().map(|resumed| resumed.experiment.id.clone());
    let id = id.unwrap_or_else(|| new_id(drawn_seed()));
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("mongodyno-results").join(&id));
    let request = request(verb, &plan, named, &settings);
    let setup = Setup {
        workload: plan.workload,
        settings,
        environments,
        unavailable,
        probe: None,
        until_look,
        path: out,
        id,
        server: Some(server),
        request,
        consumer,
        study: Some(record),
        resumed,
        limits: Limits::default(),
        waits: !args.machine.wait.no_wait,
        judge: Judge { standing: judge::standing, deciding: judge::deciding::deciding },
        token: Token::default(),
    };
    // On the heap: everything an experiment holds is in this one future.
    let folder = Box::pin(setup.run(&mut requests)).await?;
    show(&folder, args.json)
}

fn request(verb: &StudyVerb, plan: &One, drivers: Vec<String>, settings: &Settings) -> Request {
    let args = &verb.common;
    Request {
        workload: Words::new(verb.study.definition().workload),
        parameters: plan.workload.plan.parameters.clone(),
        drivers: drivers.into_iter().map(Words::new).collect(),
        consumer: plan.consumer.as_ref().map(Words::new),
        quick: plan.quick,
        rounds: Some(settings.looks.first_rounds()),
        order: Some(settings.order),
        seed: Some(settings.seed),
        server: args.server.as_ref().map(Words::new),
        uri: args.at.uri.as_ref().map(Words::new),
        tap: plan.tap,
        no_keep_awake: args.machine.no_keep_awake,
        ..Request::default()
    }
}

/// The time of an arm's round, in the phases that it takes part in.
fn round_of(plan: &One, arm: &Arm<'_>, settings: &Settings) -> Duration {
    let own = plan.arms.iter().find(|it| it.driver == arm.words);
    let own = own.and_then(|it| it.phases.as_ref());
    let mut part = plan.workload.plan.clone();
    part.phases.retain(|phase| own.is_none_or(|own| own.contains(&phase.name)));
    let profiles = [arm.manifest.warmup_s];
    estimate(&part, &settings.interleave, &profiles, plan.quick, settings.measured_s).round
}

/// The record of a study, with its arms by their ids.
fn record(study: &dyn Study, plan: &One, installed: &Installed) -> StudyRecord {
    let mut originals = BTreeMap::new();
    let mut phases = BTreeMap::new();
    for ((id, _), words) in installed.arms.iter().zip(&installed.words) {
        let Some(planned) = plan.arms.iter().find(|it| &it.driver == words) else { continue };
        originals.extend(planned.original.clone().map(|phase| (id.clone(), phase)));
        phases.extend(planned.phases.clone().map(|own| (id.clone(), own)));
    }
    StudyRecord { name: study.name().to_owned(), part: None, scale: plan.scale, originals, phases }
}

/// Writes the workload with this scale's parameters.
fn eject(verb: &StudyVerb, path: &Path) -> Result<()> {
    let (name, definition) = (verb.study.name(), verb.study.definition());
    // The file must hold the workload and the arms that would run.
    let manifests = discover(verb.common.adapters_dir.as_deref())?;
    let plan = match planned(verb, verb.common.drivers.clone(), 0, &manifests)? {
        Plan::One(one) => *one,
        Plan::Parts(parts) => return study_parts::eject(verb, &parts, path),
    };
    let text = builtin::text(&definition.workload)?;
    let mut lines: Vec<String> = vec![
        format!("# The workload of `mongodyno study {name}`, to be changed and run:"),
        format!(
            "#   mongodyno run {} --server {} \\",
            shell_quoted(&path.display()),
            definition.server
        ),
    ];
    lines.extend(definition.phases.iter().map(|it| format!("#     --phase {it} \\")));
    lines.extend(plan.arms.iter().map(|it| format!("#     -d {} \\", it.driver)));
    lines.push(format!("#     --rounds {}", plan.rounds));
    let mut in_parameters = false;
    for line in text.lines() {
        in_parameters = line == "parameters:" || (in_parameters && line.starts_with(' '));
        let name = line.trim_start().split(':').next().unwrap_or_default();
        let parameters = &plan.workload.plan.parameters;
        match parameters.get(name).filter(|_| in_parameters && line.starts_with("  ")) {
            Some(value) => {
                let comment = line.find('#').map_or("", |at| &line[at..]);
                lines.push(format!("  {name}: {value}  {comment}").trim_end().to_owned());
            }
            None => lines.push(line.to_owned()),
        }
    }
    // Not through a link either, whose file need not be there.
    File::create_new(path)
        .and_then(|mut file| file.write_all((lines.join("\n") + "\n").as_bytes()))
        .map_err(|error| Error::file("write", path, &error))?;
    super::print(&format!("{}\n", path.display()))
}

/// Prints what the study came to, and writes its page.
///
/// An interrupted one is shown as far as it came, and is still an error.
fn show(folder: &Folder, json: bool) -> Result<()> {
    let (_, experiment) = Folder::open(folder.path())?;
    let runs = folder.runs()?;
    let format = if json { "json" } else { "terminal" };
    let page = report(folder, &experiment, &runs, "html")?;
    folder.write_whole("report.html", &page)?;
    let printed = super::print_result(&report(folder, &experiment, &runs, format)?);
    if experiment.ended == Some(Ended::Interrupted) {
        // Where a closed terminal was the reason, nothing can be printed either.
        return Err(interrupted(folder.path()));
    }
    printed?;
    if runs.iter().all(|run| run.phases.is_empty()) {
        return Err(Error::new(
            Exit::RunInvalid,
            "nothing could be measured: each run is void",
            "see the reasons above",
        ));
    }
    Ok(())
}

/// The report of a folder that a study has made, in one format.
///
/// # Errors
/// A format that studies do not have; files that cannot be read; a study of another version.
pub fn report(
    folder: &Folder,
    experiment: &Experiment,
    runs: &[Run],
    format: &str,
) -> Result<Vec<u8>> {
    let name = experiment.study.as_ref().map_or("", |study| &study.name);
    let study = studies::find(name).ok_or_else(|| unknown(name))?;
    let mut options = super::terminal_options();
    let page = folder.join("report.html");
    options.page = page.exists().then(|| page.display().to_string());
    let outcome = Outcome::from(Made { part: "", folder, experiment, runs });
    studies::render(study, &outcome, format, &options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser as _;

    fn verb(words: &[&str]) -> StudyVerb {
        let cli = Cli::try_parse_from([&["mongodyno", "study"], words].concat());
        let Verb::Study(args) = cli.expect("a command line").verb else {
            unreachable!("it is a study")
        };
        args.study.expect("one was named")
    }

    #[test]
    fn every_study_names_drivers_phases_and_a_server_that_there_are() {
        let manifests = discover(None).expect("manifests");
        for study in STUDIES {
            let definition = study.definition();
            let plan = planned(&verb(&[study.name()]), Vec::new(), 0, &manifests).expect("a plan");
            let Some(plan) = plan.one() else { continue };
            let phases = plan.workload.plan.phases.iter();
            let phases: Vec<&str> = phases.map(|it| it.name.as_str()).collect();
            assert!(definition.phases.iter().all(|it| phases.contains(&it.as_str())), "{phases:?}");
            let mut all = Vec::new();
            for planned in &plan.arms {
                all.push(arms::parse(&manifests, &planned.driver).expect(&planned.driver));
                let named = planned.phases.iter().flatten().chain(&planned.original);
                for name in named {
                    assert!(phases.contains(&name.as_str()), "{}: {name}", planned.driver);
                }
                let own = planned.phases.as_ref();
                let takes = |name: &String| own.is_none_or(|own| own.contains(name));
                assert!(planned.original.as_ref().is_none_or(takes), "{}", planned.driver);
            }
            let twins = arms::ids(&all).expect("ids").iter().any(|id| id.contains('#'));
            assert!(!twins || definition.arms.is_empty(), "what is known of an arm would be lost");
            let server = server::ServerChoice::parse(&definition.server, None);
            assert!(server.is_ok(), "{}", definition.server);
            assert!(plan.rounds >= 5, "rounds differ: fewer than five do not show it");
        }
    }

    #[test]
    fn every_scale_makes_a_workload_and_nonsense_is_refused() {
        let plan =
            |words: &[&str]| planned(&verb(&[&["broker"], words].concat()), Vec::new(), 0, &[]);
        for (words, messages) in [
            (&["--quick"][..], "1000"),
            (&["--scale", "1"], "100000"),
            (&["--scale", "0.001"], "100"),
            (&["--quick", "--set", "messages=77"], "77"),
        ] {
            let plan = plan(words).expect("a plan").one().expect("one");
            assert_eq!(plan.workload.plan.parameters["messages"], messages, "{words:?}");
        }
        for nonsense in ["0", "-1", "0.0001", "NaN", "1e9", "inf"] {
            let error = plan(&[&format!("--scale={nonsense}")]).expect_err(nonsense);
            assert_eq!(error.exit, Exit::Usage, "{nonsense}");
        }
    }

    #[test]
    fn an_option_of_one_study_is_no_option_of_another() {
        assert_eq!(verb(&["broker", "--consumer", "x"]).own["consumer"], "x");
        let words = ["mongodyno", "study", "noise", "--consumer", "x"];
        assert!(Cli::try_parse_from(words).is_err());
    }
}
