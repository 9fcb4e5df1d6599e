//! `mongodyno study broker`: its experiment, and the answer that follows from it.

use base::say;
use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::cli::{BrokerArgs, StudyArgs, StudyVerb};
use crate::commands::run::{drawn_seed, interrupted, pairs};
use adapter::manifest::{Manifest, discover};
use base::error::{Error, Exit, Result};
use judge::analysis;
use judge::study::broker::analyse;
use judge::study::definition::{Definition, Producer};
use measure::arms::{self, Arm};
use measure::laboratory::Judge;
use measure::progress::duration;
use measure::resume::Resumed;
use measure::settings;
use measure::setup::{Setup, new_id};
use record::folder::Folder;
use record::records::{Ended, Experiment, Run, Settings, Study, Unavailable};
use report::broker;
use stats::looks::LookPlan;
use workload::Workload;
use workload::builtin;

/// Its name in the record.
pub const STUDY: &str = "broker";
/// `--quick`.
const QUICK_SCALE: f64 = 0.01;
/// Its warm-up of each phase, s.
const QUICK_WARMUP_S: &str = "0.1";
/// With fewer no curve has a class.
const MESSAGES_MIN: f64 = 100.0;
/// With more the numbers of messages would not fit a sample.
const SCALE_MAX: f64 = 1_000.0;

/// Runs the verb.
///
/// # Errors
/// Everything a user can fix.
pub async fn run(args: StudyArgs) -> Result<()> {
    let StudyVerb::Broker(args) = args.study;
    if let Some(path) = &args.eject {
        return eject(&args, path);
    }
    run_broker(&args, None).await
}

/// Makes the study, or goes on with one that was made as `args` ask.
///
/// # Errors
/// As [`run`]; of a resumed one, a workload or an arm that is not what it was.
pub async fn run_broker(args: &BrokerArgs, resumed: Option<Resumed>) -> Result<()> {
    let definition = Definition::broker();
    let scale = scale(args, &definition)?;
    let seed = args.seed.unwrap_or_else(drawn_seed);
    let sets = sets(args, &definition, scale)?;
    let workload = builtin::open(&definition.workload, &sets, seed)?;
    let manifests = discover(args.adapters_dir.as_deref())?;
    let producers = producers(args, &definition);
    let (chosen, mut unavailable) = chosen(&producers, &manifests)?;
    let rounds = args.rounds.unwrap_or(definition.rounds);
    let settings = Settings {
        seed,
        interleave: settings::interleave(&workload.plan, None, None)?,
        measured_s: settings::MEASURED_S,
        looks: LookPlan::fixed(rounds + 1),
        keep_awake: !args.machine.no_keep_awake,
    };
    let mut study = study(&producers, &chosen, scale)?;
    if let Some(resumed) = &resumed {
        resumed.is_asked_again(&workload.plan, &settings, &arms::ids(&chosen)?)?;
        // Producers were asked for by other words than their ids.
        study = resumed.experiment.study.clone().unwrap_or(study);
    }
    // What was asked for by name must install; of the study's own the others go on without it.
    let by_name = !args.drivers.is_empty();
    let environments = arms::install_all(&chosen, by_name, &mut unavailable)?;
    let consumer = arms::consumer(&manifests, args.consumer.as_deref())?;
    let profiles: Vec<f64> = chosen.iter().map(|arm| arm.manifest.warmup_s).collect();
    let estimate = settings::estimate(&workload.plan, &profiles, false, settings.measured_s);
    let until_look = estimate.round * (rounds + 1);
    say!(
        "about {}: {} producers, {} messages each in {} phases, {rounds} iterations and one \
         through the tap; {} reads them",
        duration(until_look),
        environments.len(),
        workload.plan.parameters.get("messages").map_or("", String::as_str),
        workload.plan.phases.len(),
        consumer.0,
    );
    let id = resumed.as_ref().map(|resumed| resumed.experiment.id.clone());
    let id = id.unwrap_or_else(|| new_id(drawn_seed()));
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("mongodyno-results").join(&id));
    let setup = Setup {
        workload,
        settings,
        environments,
        unavailable,
        until_look,
        path: out,
        id,
        server: args.server.clone().unwrap_or(definition.server),
        absorber_words: Vec::new(),
        consumer: Some(consumer),
        study: Some(study),
        resumed,
        tap: true,
        link: None,
        uri: args.uri.clone(),
        options: BTreeMap::new(),
        keep_data: false,
        waits: !args.machine.wait.no_wait,
        judge: Judge { standing: analysis::standing, deciding: analysis::deciding },
    };
    // On the heap: everything an experiment holds is in this one future.
    let folder = Box::pin(setup.run()).await?;
    show(&folder, args.json)
}

fn scale(args: &BrokerArgs, definition: &Definition) -> Result<f64> {
    let scale = args.scale.unwrap_or(if args.quick { QUICK_SCALE } else { definition.scale });
    let messages = scale * definition.messages as f64;
    if messages >= MESSAGES_MIN && scale <= SCALE_MAX {
        return Ok(scale);
    }
    Err(Error::usage(
        format!("--scale {scale} makes {messages} messages"),
        format!(
            "from {} to {SCALE_MAX}; 1 is the original's {} messages",
            MESSAGES_MIN / definition.messages as f64,
            definition.messages
        ),
    ))
}

/// Parameters of the workload at this scale; those given by hand win.
fn sets(
    args: &BrokerArgs,
    definition: &Definition,
    scale: f64,
) -> Result<BTreeMap<String, String>> {
    let messages = (scale * definition.messages as f64).round() as u64;
    // A think time of 1 ms makes of each message more than 1 ms: a tenth is enough to see it.
    let think = (messages / 10).clamp(100, 1_000);
    let mut sets = BTreeMap::from([
        ("messages".to_owned(), messages.to_string()),
        ("think_messages".to_owned(), think.to_string()),
    ]);
    if args.quick {
        sets.insert("warmup".to_owned(), QUICK_WARMUP_S.to_owned());
    }
    sets.extend(pairs(&args.set, "--set")?);
    Ok(sets)
}

/// The producers asked for, with what the study knows of them; or its own.
fn producers(args: &BrokerArgs, definition: &Definition) -> Vec<Producer> {
    if args.drivers.is_empty() {
        return definition.producers.clone();
    }
    let known = |driver: &String| definition.producers.iter().find(|it| &it.driver == driver);
    let plain = |driver: &String| Producer { driver: driver.clone(), original: None, phases: None };
    let asked = args.drivers.iter();
    asked.map(|driver| known(driver).cloned().unwrap_or_else(|| plain(driver))).collect()
}

/// The producers whose adapters this machine can run.
fn chosen<'a>(
    producers: &[Producer],
    manifests: &'a [Manifest],
) -> Result<(Vec<Arm<'a>>, Vec<Unavailable>)> {
    let mut unavailable = Vec::new();
    let mut chosen = Vec::new();
    let mut missing = HashMap::new();
    for producer in producers {
        let arm = arms::parse(manifests, &producer.driver)?;
        let probe = missing.entry(&arm.manifest.name).or_insert_with(|| arm.manifest.probe().err());
        match probe {
            None => chosen.push(arm),
            Some(missing) => {
                say!("{}: left out, {}; {}", producer.driver, missing.reason, missing.hint);
                unavailable.push(Unavailable {
                    adapter: producer.driver.clone(),
                    reason: missing.reason.clone(),
                    hint: missing.hint.clone(),
                });
            }
        }
    }
    if chosen.is_empty() {
        return Err(Error::environment(
            "this machine can run none of the producers",
            "`mongodyno adapters list` says what each of them needs",
        ));
    }
    Ok((chosen, unavailable))
}

/// What the study knows of its arms, by their ids.
fn study(producers: &[Producer], chosen: &[Arm<'_>], scale: f64) -> Result<Study> {
    let mut originals = BTreeMap::new();
    let mut phases = BTreeMap::new();
    for arm in chosen {
        let id = arm.asked.id(&arm.manifest.name, &arm.manifest.choose(&arm.asked)?.version);
        let words = |producer: &&Producer| arm.words == producer.driver;
        let Some(producer) = producers.iter().find(words) else { continue };
        originals.extend(producer.original.clone().map(|phase| (id.clone(), phase)));
        phases.extend(producer.phases.clone().map(|own| (id, own)));
    }
    Ok(Study { name: STUDY.to_owned(), scale, originals, phases })
}

/// Writes the workload with this scale's parameters.
fn eject(args: &BrokerArgs, path: &Path) -> Result<()> {
    let definition = Definition::broker();
    let sets = sets(args, &definition, scale(args, &definition)?)?;
    // What is written must be what would be run.
    let Workload { plan, .. } = builtin::open(&definition.workload, &sets, 0)?;
    let text = builtin::text(&definition.workload)?;
    let mut lines: Vec<String> = vec![
        format!("# The workload of `mongodyno study broker`, to be changed and run:"),
        format!("#   mongodyno run {} --server {} \\", path.display(), definition.server),
    ];
    let drivers = producers(args, &definition);
    lines.extend(drivers.iter().map(|it| format!("#     -d {} \\", it.driver)));
    lines.push("#     --rounds 5".to_owned());
    let mut in_parameters = false;
    for line in text.lines() {
        in_parameters = line == "parameters:" || (in_parameters && line.starts_with(' '));
        let name = line.trim_start().split(':').next().unwrap_or_default();
        match plan.parameters.get(name).filter(|_| in_parameters && line.starts_with("  ")) {
            Some(value) => {
                let comment = line.find('#').map_or("", |at| &line[at..]);
                lines.push(format!("  {name}: {value}  {comment}").trim_end().to_owned());
            }
            None => lines.push(line.to_owned()),
        }
    }
    if path.exists() {
        return Err(Error::usage(
            format!("{} is there", path.display()),
            "choose another name: nothing is written over",
        ));
    }
    std::fs::write(path, lines.join("\n") + "\n")
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
    let printed = super::print_bytes(&report(folder, &experiment, &runs, format)?);
    if experiment.ended == Some(Ended::Interrupted) {
        // Where a closed terminal was the reason, nothing can be printed either.
        return Err(interrupted(folder));
    }
    printed?;
    if !runs.iter().flat_map(|run| &run.phases).any(|phase| phase.broker.is_some()) {
        return Err(Error::new(
            Exit::RunInvalid,
            "no producer's messages could be measured: each run is void",
            "the reasons stand above",
        ));
    }
    Ok(())
}

/// A study's report in one format.
///
/// # Errors
/// A format that studies do not have; files that cannot be read.
pub fn report(
    folder: &Folder,
    experiment: &Experiment,
    runs: &[Run],
    format: &str,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let analysis = analyse(experiment, runs);
    let name = folder.path().display().to_string();
    let mut view = broker::view(experiment, runs, &analysis, &name);
    let written = match format {
        "terminal" => {
            let mut options = super::report::terminal_options();
            let page = folder.join("report.html");
            options.page = page.exists().then(|| page.display().to_string());
            broker::terminal(&view, &options, &mut out)
        }
        "html" => {
            for phase in &mut view.phases {
                phase.figures = broker::figures(folder, experiment, runs, &phase.name)?;
            }
            broker::render(&view, &mut out)
        }
        "json" => {
            let text = serde_json::to_string_pretty(&analysis).expect("analyses serialise");
            writeln!(out, "{text}")
        }
        "csv" => {
            for missing in broker::messages(folder, runs, &mut out)? {
                say!("warning: {missing}");
            }
            Ok(())
        }
        "svg" => writeln!(out, "{}", broker::picture(folder, experiment, runs)?.svg()),
        _ => {
            return Err(Error::usage(
                "a study has no such format",
                "it has terminal, html, json, csv (one line a message) and svg",
            ));
        }
    };
    written.expect("writing to memory");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_study_names_drivers_phases_and_a_server_that_there_are() {
        let definition = Definition::broker();
        let manifests = discover(None).expect("manifests");
        let workload =
            builtin::open(&definition.workload, &BTreeMap::new(), 0).expect("a workload");
        let phases: Vec<&str> = workload.plan.phases.iter().map(|it| it.name.as_str()).collect();
        let mut ids = Vec::new();
        for producer in &definition.producers {
            let arm = arms::parse(&manifests, &producer.driver).expect(&producer.driver);
            let version = arm.manifest.choose(&arm.asked).expect(&producer.driver).version;
            ids.push(arm.asked.id(&arm.manifest.name, &version));
            let named = producer.phases.iter().flatten().chain(&producer.original);
            for name in named {
                assert!(phases.contains(&name.as_str()), "{}: {name}", producer.driver);
            }
            let own = producer.phases.as_ref();
            let takes = |name: &String| own.is_none_or(|own| own.contains(name));
            assert!(producer.original.as_ref().is_none_or(takes), "{}", producer.driver);
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "an arm twice would lose what is known of it: {ids:?}");
        let server = server::ServerChoice::parse(Some(&definition.server), None);
        assert!(server.is_ok(), "{}", definition.server);
        assert!(definition.rounds >= 5, "iterations differ: fewer than five do not show it");
        assert!(definition.producers.iter().any(|it| it.original.as_deref() == Some("burst")));
    }

    #[test]
    fn every_scale_makes_a_workload_and_nonsense_is_refused() {
        let definition = Definition::broker();
        let args = |words: &[&str]| {
            use clap::Parser as _;
            let words = [&["mongodyno", "study", "broker"], words].concat();
            let cli = crate::cli::Cli::try_parse_from(words).expect("a command line");
            let crate::cli::Verb::Study(args) = cli.verb else { unreachable!("it is a study") };
            let StudyVerb::Broker(args) = args.study;
            *args
        };
        for (words, messages) in [
            (&["--quick"][..], "1000"),
            (&["--scale", "1"], "100000"),
            (&["--scale", "0.001"], "100"),
            (&["--quick", "--set", "messages=77"], "77"),
        ] {
            let args = args(words);
            let scale = scale(&args, &definition).expect("a scale");
            let sets = sets(&args, &definition, scale).expect("parameters");
            let workload = builtin::open(&definition.workload, &sets, 0).expect("a workload");
            assert_eq!(workload.plan.parameters["messages"], messages, "{words:?}");
        }
        for nonsense in ["0", "-1", "0.0001", "NaN", "1e9", "inf"] {
            let args = args(&[&format!("--scale={nonsense}")]);
            let error = scale(&args, &definition).expect_err(nonsense);
            assert_eq!(error.exit, Exit::Usage, "{nonsense}");
        }
    }
}
