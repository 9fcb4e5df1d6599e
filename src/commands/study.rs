//! `mongodyno study`: the experiments of a study, each as `run` makes it, and the answer that
//! follows from them. Only `studies` knows which studies there are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::say;

use super::live_page;
use super::request_again::{ask_again, complete, earlier, request_again};
use super::run_plan::drawn_seed;
use super::study_drivers::{reason, runnable, taking_part, unknown};
use super::study_eject::eject;
use super::study_fit::{self, PartFit};
use super::study_report::show;
use crate::ask::{Ask, Here, StudyAsk};
use crate::cli::{ResumeArgs, StudyArgs};
use adapter::manifest::{Manifest, discover};
use base::error::{Error, Exit, Result};
use base::paths::new_or_empty;
use base::secrets::{mask_hosts, mask_text};
use base::strings::shell_quoted;
use measure::resume::Resumed;
use measure::selection::expand;
use measure::setup::new_id;
use record::folder::Folder;
use record::records::{Ended, SCHEMA_VERSION};
use record::study_folder::{StudyPart, StudyRecord};
use record::words::Words;
use studies::STUDIES;

/// Runs the verb.
pub async fn run(args: StudyArgs) -> Result<()> {
    let Some(verb) = args.study else { return list() };
    let mut ask = verb.ask()?;
    let manifests = discover(ask.here.adapters_dir.as_deref())?;
    let request = &mut ask.asked.request;
    let named = expand(&manifests, &request.drivers()?, ask.here.offline)?;
    let own_drivers = named.is_empty();
    let (drivers, instead) = taking_part(ask.study, named, &manifests)?;
    request.drivers = drivers.into_iter().map(Words::new).collect();
    if let Some(path) = &ask.eject {
        return eject(&ask, path);
    }
    request.seed.get_or_insert_with(drawn_seed);
    if let Some(it) = &instead {
        say!("{}: left out, {}; {}", it.adapter, it.reason, it.hint);
    }
    let parts = studies::planned(ask.study, &ask.asked)?;
    let results = || PathBuf::from("mongodyno-results").join(new_id(drawn_seed()));
    let folder = ask.here.out.clone().unwrap_or_else(results);
    new_or_empty(&folder)?;
    let open = parts.iter().enumerate().map(|(at, part)| {
        let here = Here { out: Some(folder.join(&part.name)), json: true, ..ask.here.clone() };
        let ask = Ask { request: part.request.clone(), here };
        Open { at, part: part.clone(), ask, resumed: None }
    });
    let open = open.collect();
    let left_out = instead.map(reason).into_iter().collect();
    let record = StudyRecord { own_drivers, left_out, ..record(&ask, parts) };
    go_on(record, open, &folder, &ask.here, ask.budget).await
}

fn record(ask: &StudyAsk, mut experiments: Vec<StudyPart>) -> StudyRecord {
    let definition = ask.study.definition();
    let usual = if ask.asked.request.quick { definition.quick_scale } else { definition.scale };
    for part in &mut experiments {
        mask_hosts(part.request.parameters.values_mut());
    }
    StudyRecord {
        schema_version: SCHEMA_VERSION,
        mongodyno: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().map(|word| mask_text(&word)).collect(),
        study: ask.study.name().to_owned(),
        scale: ask.asked.scale.unwrap_or(usual),
        experiments,
        own_drivers: false,
        left_out: BTreeMap::new(),
    }
}

fn list() -> Result<()> {
    let mut table = super::PlainTable::default();
    for study in STUDIES {
        table.add_row([study.name().to_owned(), study.definition().about]);
    }
    super::print(&format!("{table}\n"))
}

/// Goes on with a study that was interrupted: finished parts stay, a cut one goes on after its last
/// round, parts that were left out are tried again.
///
/// # Errors
/// A folder of another version; as `run` has them.
pub async fn resume(args: ResumeArgs) -> Result<()> {
    let mut record = StudyRecord::read(&args.folder)?;
    studies::find(&record.study).ok_or_else(|| unknown(&record.study))?;
    if record.experiments.is_empty() {
        return Err(earlier(&record.mongodyno));
    }
    let (mut open, mut refused) = (Vec::new(), false);
    for (at, part) in record.experiments.iter().enumerate() {
        let own = own_args(&args, part);
        let (asked, resumed) = match PartStage::of(&own.folder)? {
            PartStage::Finished => continue,
            PartStage::Cut(resumed) => (ask_again(&own, &resumed.experiment), Some(*resumed)),
            PartStage::Missing => (request_again(&own, &part.request), None),
        };
        let ask = match asked {
            Err(error) if part.needs.is_some() => {
                say!("{}: left out, {error}; {}", part.name, error.hint);
                record.left_out.insert(part.name.clone(), format!("{error}; {}", error.hint));
                refused = true;
                continue;
            }
            ask => ask?,
        };
        record.left_out.remove(&part.name);
        open.push(Open { at, part: part.clone(), ask, resumed });
    }
    if open.is_empty() && !refused {
        return Err(complete(&args));
    }
    let here = Here {
        adapters_dir: args.adapters_dir.clone(),
        offline: args.registry.offline,
        json: args.json,
        details: args.details.details,
        live: args.live.live,
        ..Here::default()
    };
    go_on(record, open, &args.folder, &here, None).await
}

/// The command line of a study for one of its parts: servers are given again where the folder may
/// not give them, and keep the topology of the part.
fn own_args(args: &ResumeArgs, part: &StudyPart) -> ResumeArgs {
    let request = &part.request;
    let named = request.server.as_ref().filter(|words| words.given().is_none());
    let server = args.server.as_ref().zip(named).map(|(server, words)| {
        let topology = words.called().find(':').map_or("", |at| &words.called()[at..]);
        format!("{server}{topology}")
    });
    let mut own = ResumeArgs { folder: args.folder.join(&part.name), server, ..args.clone() };
    own.json = true; // its report is a part of the study's
    if request.uri.is_none() {
        own.at.uri = None;
    }
    if request.hosts.is_empty() {
        own.hosts.clear();
    }
    own
}

/// An experiment that is still to be made, or to be gone on with.
struct Open {
    /// The part's place in the study.
    at: usize,
    part: StudyPart,
    ask: Ask,
    resumed: Option<Resumed>,
}

async fn go_on(
    mut record: StudyRecord,
    mut open: Vec<Open>,
    folder: &Path,
    here: &Here,
    budget: Option<Duration>,
) -> Result<()> {
    let manifests = discover(here.adapters_dir.as_deref())?;
    if record.own_drivers {
        leave_out_missing(&mut open, &mut record, &manifests)?;
    }
    // A part itself would say after the others that it does not fit.
    let all: Vec<_> = open.iter().map(|it| (&it.part, &it.ask)).collect();
    let mut fits = study_fit::fit(&all, budget, folder, &manifests)?;
    if here.plan {
        let study = studies::find(&record.study).ok_or_else(|| unknown(&record.study))?;
        return super::print(&study_fit::plan_text(study, &all, &mut fits)?);
    }
    if !fits.is_empty() {
        say!("{}", study_fit::summary(&fits));
    }
    for (it, fit) in open.iter().zip(&fits) {
        if let Some(why) = &fit.left_out {
            leave_out(&mut record, &it.part, why);
        }
    }
    record.write(folder)?;
    let _live = live_page::serve(here, folder)?;
    for it in &mut open {
        it.ask.here.live = false; // the study has the page
    }
    let (started, mut begun) = (Instant::now(), false);
    let fitting = open.into_iter().zip(&fits).filter(|(_, fit)| fit.left_out.is_none());
    for (Open { at, part, ask, resumed }, PartFit { takes, .. }) in fitting {
        // The parts before it may have taken longer than they were to.
        let look = budget.filter(|_| begun);
        begun = true;
        let why = look.and_then(|budget| study_fit::over(budget, started.elapsed(), *takes));
        if let Some(why) = why {
            leave_out(&mut record, &part, &why);
            continue;
        }
        say::tell(&format!("── {} ({} of {}) ──", part.name, at + 1, record.experiments.len()));
        if let Some(Resumed { finished, .. }) = &resumed {
            let drivers = ask.request.drivers()?.join(", ");
            say!("going on after round {finished}: study {} with {drivers}", record.study);
        }
        if let Err(error) = Box::pin(super::run::part(&ask, resumed)).await {
            lost(error, &mut record, &part, folder, here)?;
        }
    }
    record.write(folder)?;
    show(&record, folder, here)
}

/// Leaves out a part that this machine lacks something for.
///
/// # Errors
/// Any other reason why a part was not made, with the way on.
fn lost(
    error: Error,
    record: &mut StudyRecord,
    part: &StudyPart,
    folder: &Path,
    here: &Here,
) -> Result<()> {
    match (&part.needs, error.exit) {
        (Some(needs), Exit::Environment) => {
            say!("{}: left out, {error}", part.name);
            record.left_out.insert(part.name.clone(), format!("{needs}; {}", error.message));
            return Ok(());
        }
        // The workload asks for what this server is not.
        (Some(needs), Exit::Workload) => {
            leave_out(record, part, needs);
            return Ok(());
        }
        _ => {}
    }
    if error.exit == Exit::Interrupted {
        // Where a closed terminal was the reason, nothing can be printed either.
        let _ = show(record, folder, here);
    }
    let on = format!("mongodyno resume {}", shell_quoted(&folder.display()));
    let hint = match (error.exit, error.hint.as_str()) {
        (Exit::Interrupted, _) | (_, "") => format!("to go on: {on}"),
        (_, hint) => format!("{hint}; then go on: {on}"),
    };
    Err(Error { hint, ..error })
}

fn leave_out(record: &mut StudyRecord, part: &StudyPart, why: &str) {
    say!("{}: left out, {why}", part.name);
    record.left_out.insert(part.name.clone(), why.to_owned());
}

/// Leaves drivers that this machine cannot run out of the parts that have not begun.
///
/// # Errors
/// It can run none of them.
fn leave_out_missing(
    open: &mut [Open],
    record: &mut StudyRecord,
    manifests: &[Manifest],
) -> Result<()> {
    let mut missing = BTreeMap::new();
    for it in open.iter_mut().filter(|it| it.resumed.is_none()) {
        let (good, bad) = runnable(&it.ask.request.drivers()?, manifests)?;
        for arm in &good {
            record.left_out.remove(&arm.words);
        }
        it.ask.request.drivers = good.into_iter().map(|arm| Words::new(arm.words)).collect();
        missing.extend(bad.into_iter().map(reason));
    }
    for (driver, why) in &missing {
        say!("{driver}: left out, {why}");
    }
    record.left_out.extend(missing);
    Ok(())
}

/// How far a part has come.
enum PartStage {
    Missing,
    Cut(Box<Resumed>),
    Finished,
}

impl PartStage {
    fn of(path: &Path) -> Result<Self> {
        if !path.join("experiment.json").exists() {
            return Ok(Self::Missing);
        }
        let (_, experiment) = Folder::open(path)?;
        if experiment.ended == Some(Ended::Completed) {
            return Ok(Self::Finished);
        }
        if experiment.plan.kept().is_some() {
            // The documents went with the database: the rounds cannot be continued.
            say!("{}: begun anew, for what its arms handed on is gone", path.display());
            std::fs::remove_dir_all(path).map_err(|error| Error::file("remove", path, &error))?;
            return Ok(Self::Missing);
        }
        Ok(Self::Cut(Box::new(Resumed::open(path)?.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser as _;
    use measure::arms;
    use studies::{Asked, Study};
    use workload::builtin;

    fn ask(words: &[&str]) -> StudyAsk {
        let cli = Cli::try_parse_from([&["mongodyno", "study"], words].concat());
        let Verb::Study(args) = cli.expect("a command line").verb else {
            unreachable!("it is a study")
        };
        args.study.expect("one was named").ask().expect("a study that is asked for")
    }

    fn assert_sound(study: &dyn Study, part: &StudyPart, manifests: &[Manifest]) {
        let (name, request) = (&part.name, &part.request);
        let workload = request.workload.get().expect("it is built in");
        let plan = builtin::open(workload, &request.parameters, 0).expect(name).plan;
        let is_there = |name: &String| plan.phases.iter().any(|phase| phase.name == *name);
        assert!(request.phases.iter().all(is_there), "{name}: {:?}", request.phases);
        let drivers = request.drivers().expect("they are named");
        let parsed = |driver: &String| arms::parse(manifests, driver).expect(driver);
        let arms: Vec<_> = drivers.iter().map(parsed).collect();
        for (driver, share) in &request.by_driver {
            assert!(drivers.contains(driver), "{driver}");
            assert!(share.phases.iter().flatten().chain(&share.original).all(is_there), "{driver}");
            let takes = |name| share.phases.as_ref().is_none_or(|own| own.contains(name));
            assert!(share.original.as_ref().is_none_or(takes), "{driver}");
        }
        let twins = arms::ids(&arms).expect("ids").iter().any(|id| id.contains('#'));
        let known = study.definition().arms;
        assert!(!twins || known.is_empty(), "what is known of an arm would be lost");
        let server = request.server.as_ref().map(|words| words.get().expect("it is named"));
        let server = server.expect("a server");
        assert!(server::ServerChoice::parse(server, None).is_ok(), "{server}");
    }

    #[test]
    fn every_study_names_drivers_phases_and_a_server_that_there_are() {
        let manifests = discover(None).expect("manifests");
        for study in STUDIES {
            let mut asked = Asked::default();
            if study.definition().arms.is_empty() {
                asked.request.drivers = manifests.iter().map(|it| Words::new(&it.name)).collect();
            }
            for part in studies::planned(study, &asked).expect("a plan") {
                assert_sound(study, &part, &manifests);
            }
        }
        for study in ["broker", "noise"] {
            let parts = studies::planned(ask(&[study]).study, &Asked::default()).expect("a plan");
            let rounds = parts[0].request.rounds.expect("rounds");
            assert!(rounds >= 5, "rounds differ: fewer than five do not show it");
        }
    }

    #[test]
    fn every_scale_makes_a_workload_and_nonsense_is_refused() {
        let plan = |words: &[&str]| {
            let ask = ask(&[&["broker"], words].concat());
            studies::planned(ask.study, &ask.asked)
        };
        for (words, messages) in [
            (&["--quick"][..], "1000"),
            (&["--scale", "1"], "100000"),
            (&["--scale", "0.001"], "100"),
            (&["--quick", "--set", "messages=77"], "77"),
        ] {
            let parts = plan(words).expect("a plan");
            assert_eq!(parts[0].request.parameters["messages"], messages, "{words:?}");
        }
        for nonsense in ["0", "-1", "0.0001", "NaN", "1e9", "inf"] {
            let error = plan(&[&format!("--scale={nonsense}")]).expect_err(nonsense);
            assert_eq!(error.exit, Exit::Usage, "{nonsense}");
        }
    }

    #[test]
    fn an_option_of_one_study_is_no_option_of_another() {
        assert_eq!(ask(&["broker", "--consumer", "x"]).asked.flags["consumer"], "x");
        let words = ["mongodyno", "study", "noise", "--consumer", "x"];
        assert!(Cli::try_parse_from(words).is_err());
    }
}
