//! `mongodyno run`: plan, environments, server, rounds, report.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::adapter::environment::{self, Environment};
use crate::adapter::manifest::{Manifest, discover};
use crate::analysis::{self, types::Analysis};
use crate::cli::{InterleaveArg, RunArgs};
use crate::clock::{Epoch, wall};
use crate::commands::report::render;
use crate::error::{Error, Exit, Result};
use crate::experiment::admin::Admin;
use crate::experiment::materials::Materials;
use crate::experiment::progress::{Progress, duration};
use crate::experiment::rounds::{Laboratory, SAMPLE_BUDGET_BYTES};
use crate::experiment::sampler::Sampler;
use crate::experiment::settings;
use crate::experiment::stop::Stop;
use crate::report::Format;
use crate::result::folder::Folder;
use crate::result::machine;
use crate::result::records::{
    Arm, Ended, Experiment, SCHEMA_VERSION, Server as ServerFacts, Settings, Unavailable,
};
use crate::server::{Host, Server, ServerChoice, StartOptions, mask_uri, prepare};
use crate::stats::looks::LookPlan;
use crate::stats::threshold::Interleave;
use crate::workload::build::Workload;
use crate::workload::builtin;

use super::plan_text;

/// Runs the verb.
///
/// # Errors
/// Everything a user can fix; [`Exit::RunInvalid`] when nothing could be compared.
pub async fn run(args: RunArgs) -> Result<()> {
    let cells = cells(&args)?;
    let mut analyses = Vec::new();
    for (label, sets) in &cells {
        if let Some(label) = label {
            eprintln!("── {label} ──");
        }
        if let Some(analysis) = one(&args, label.as_deref(), sets).await? {
            analyses.push(analysis);
        }
    }
    if args.json {
        let value = match &analyses[..] {
            [one] => serde_json::to_string_pretty(one),
            several => serde_json::to_string_pretty(several),
        };
        super::print(&format!("{}\n", value.expect("analyses serialise")))?;
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

fn pairs(words: &[String], flag: &str) -> Result<Sets> {
    let pair = |word: &String| {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            Error::usage(format!("{flag} {word} has no `=`"), format!("write {flag} name=value"))
        })?;
        Ok((name.to_owned(), value.to_owned()))
    };
    words.iter().map(pair).collect()
}

/// One experiment; None with `--plan`.
async fn one(args: &RunArgs, label: Option<&str>, sets: &Sets) -> Result<Option<Analysis>> {
    let seed = args.seed.unwrap_or_else(drawn_seed);
    let mut workload = builtin::open(&args.workload, sets, seed)?;
    select_phases(&mut workload, args)?;
    let looks = match (args.quick, args.rounds) {
        (true, _) => LookPlan::quick(),
        (false, Some(rounds)) => LookPlan::fixed(rounds),
        (false, None) => LookPlan::standard(),
    };
    let asked = args.interleave.map(|interleave| match interleave {
        InterleaveArg::Turns => Interleave::Turns,
        InterleaveArg::Runs => Interleave::Runs,
    });
    let settings = Settings {
        seed,
        interleave: settings::interleave(&workload.plan, asked)?,
        measured_s: if args.quick { settings::QUICK_MEASURED_S } else { settings::MEASURED_S },
        looks,
    };
    let manifests = discover(args.adapters_dir.as_deref())?;
    let (arms, mut unavailable) = choose_arms(args, &manifests)?;
    let serverless = args.server == "none" && args.uri.is_none();
    if serverless && !workload.plan.needs_no_server() {
        return Err(Error::usage(
            format!("--server none: the workload {} needs a server", workload.plan.workload),
            "only workloads of `noop` run without one, such as ping",
        ));
    }
    let profiles: Vec<f64> = arms.iter().map(|(manifest, _)| manifest.warmup_s).collect();
    let profiles = [&profiles[..], &profiles[..1]].concat(); // the A/A arm repeats the baseline
    let estimate = settings::estimate(&workload.plan, &profiles, args.quick, settings.measured_s);
    let rounds = settings.looks.first_rounds();
    let until_look = estimate.round * rounds;
    if args.plan {
        let names: Vec<String> = arms
            .iter()
            .map(|(manifest, version)| {
                format!("{}@{}", manifest.name, version.as_deref().unwrap_or(&manifest.default))
            })
            .collect();
        let text = plan_text::text(&workload.plan, &settings, &names, &args.server, &estimate);
        super::print(&text)?;
        return Ok(None);
    }
    let environments = install(&arms, args, &mut unavailable)?;
    eprintln!(
        "about {} to the first look ({rounds} rounds, {} arms with the A/A arm, {} phases)",
        duration(until_look),
        environments.len() + 1,
        workload.plan.phases.len()
    );
    let setup = Setup { args, label, workload, settings, environments, unavailable, until_look };
    setup.experiment().await.map(Some)
}

fn drawn_seed() -> u64 {
    // The clock is enough: the seed has to be recorded, not to be secret. 32 bits are easily typed.
    jiff::Timestamp::now().as_nanosecond() as u64 & 0xffff_ffff
}

fn select_phases(workload: &mut Workload, args: &RunArgs) -> Result<()> {
    let phases = &mut workload.plan.phases;
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
        phases.truncate(settings::QUICK_PHASES_MAX);
    }
    Ok(())
}

type Chosen<'a> = (&'a Manifest, Option<String>);

/// The drivers asked for, or every one this machine can run.
fn choose_arms<'a>(
    args: &RunArgs,
    manifests: &'a [Manifest],
) -> Result<(Vec<Chosen<'a>>, Vec<Unavailable>)> {
    if !args.drivers.is_empty() {
        let chosen = args.drivers.iter().map(|driver| {
            let (name, version) = super::split_version(driver);
            Ok((super::find(manifests, name)?, version.map(str::to_owned)))
        });
        return Ok((chosen.collect::<Result<_>>()?, Vec::new()));
    }
    let (good, bad) = super::runnable(manifests);
    let unavailable: Vec<Unavailable> = bad
        .into_iter()
        .map(|(manifest, missing)| Unavailable {
            adapter: manifest.name.clone(),
            reason: missing.reason,
            hint: missing.hint,
        })
        .collect();
    for it in &unavailable {
        eprintln!("{}: left out, {}; {}", it.adapter, it.reason, it.hint);
    }
    if good.is_empty() {
        return Err(Error::environment(
            "this machine can run no adapter",
            "`mongodyno adapters list` says what each of them needs",
        ));
    }
    Ok((good.into_iter().map(|manifest| (manifest, None)).collect(), unavailable))
}

/// Installs the arms. One that was asked for by name must install; of the others those that do
/// not are named and left out.
fn install(
    arms: &[Chosen<'_>],
    args: &RunArgs,
    unavailable: &mut Vec<Unavailable>,
) -> Result<Vec<(String, Environment)>> {
    let mut environments = Vec::new();
    for (manifest, version) in arms {
        match environment::install(manifest, version.as_deref()) {
            Ok(environment) => {
                environments
                    .push((format!("{}@{}", manifest.name, environment.version), environment));
            }
            Err(error) if args.drivers.is_empty() && environments.len() + 1 < arms.len() => {
                eprintln!("{}: left out, {error}", manifest.name);
                unavailable.push(Unavailable {
                    adapter: manifest.name.clone(),
                    reason: error.message,
                    hint: error.hint,
                });
            }
            Err(error) => return Err(error),
        }
    }
    number_twins(&mut environments);
    Ok(environments)
}

/// The same driver given twice gets `#2`, so that every arm has its own name.
fn number_twins(environments: &mut [(String, Environment)]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for (id, _) in environments {
        let count = seen.entry(id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *id = format!("{id}#{count}");
        }
    }
}

/// Everything known before a server is there.
struct Setup<'a> {
    args: &'a RunArgs,
    label: Option<&'a str>,
    workload: Workload,
    settings: Settings,
    environments: Vec<(String, Environment)>,
    unavailable: Vec<Unavailable>,
    until_look: Duration,
}

impl Setup<'_> {
    async fn experiment(self) -> Result<Analysis> {
        let id = format!("{}-{:06x}", wall().replace([':', '-'], ""), drawn_seed() & 0xff_ffff);
        let mut path =
            self.args.out.clone().unwrap_or_else(|| PathBuf::from("mongodyno-results").join(&id));
        if let Some(label) = self.label {
            path = path.join(label);
        }
        let folder = Folder::create(&path)?;
        check_disk(&folder, self.settings.looks.first_rounds())?;
        let serverless = self.args.server == "none" && self.args.uri.is_none();
        let host = Host::detect()?;
        let server = if serverless { None } else { Some(self.open_server(&host, &folder).await?) };
        let stop = Stop::default();
        let json = self.args.json;
        let result = self.measure(&id, &folder, server.as_ref(), &stop).await;
        if let Some(server) = server {
            server.stop().await;
        }
        let interrupted = match result {
            Ok(()) => false,
            Err(error) if error.exit == Exit::Interrupted => true,
            Err(error) => {
                eprintln!(
                    "what was finished is kept: mongodyno report {}",
                    folder.path().display()
                );
                return Err(error);
            }
        };
        let analysis = show(&folder, json)?;
        if interrupted {
            return Err(crate::experiment::stop::interrupted());
        }
        Ok(analysis)
    }

    async fn open_server(&self, host: &Host, folder: &Folder) -> Result<Server> {
        let choice = ServerChoice::parse(Some(&self.args.server), self.args.uri.as_deref())?;
        let program = prepare(host, &choice, crate::server::Progress::default())?;
        let mut options = StartOptions::new(folder.join("logs/mongod.log"));
        options.keep_data = self.args.keep_data;
        Ok(Server::open(host, &choice, program.as_ref(), &options).await?)
    }

    async fn measure(
        self,
        id: &str,
        folder: &Folder,
        server: Option<&Server>,
        stop: &Stop,
    ) -> Result<()> {
        let mut laboratory = self.laboratory(id, folder, server, stop).await?;
        laboratory.folder.write_experiment(&laboratory.experiment)?;
        let died = async {
            match server {
                Some(server) => server.died().await.into(),
                None => std::future::pending().await,
            }
        };
        let result = tokio::select! {
            result = laboratory.rounds() => result,
            error = died => Err(error),
            // The second Ctrl-C: everything that is dropped here ends its children.
            error = stop.second() => Err(error),
        };
        laboratory.progress.finish();
        laboratory.experiment.finished_at = Some(wall());
        laboratory.experiment.ended = Some(match &result {
            Ok(()) => Ended::Completed,
            Err(error) if error.exit == Exit::Interrupted => Ended::Interrupted,
            Err(_) => Ended::Failed,
        });
        laboratory.folder.write_experiment(&laboratory.experiment)?;
        // On a server of ours the database goes with its data folder.
        if let (Some(Server::External { .. }), Some(admin)) = (server, &laboratory.admin) {
            let dropped =
                tokio::time::timeout(Duration::from_secs(20), admin.drop_database()).await;
            if !matches!(dropped, Ok(Ok(()))) {
                eprintln!("warning: the database {} could not be dropped", laboratory.database);
            }
        }
        result
    }

    async fn laboratory(
        self,
        id: &str,
        folder: &Folder,
        server: Option<&Server>,
        stop: &Stop,
    ) -> Result<Laboratory> {
        let database = format!("mongodyno_{}", id.to_lowercase().replace('-', "_"));
        let epoch = Epoch::start();
        let (admin, sampled) = match server {
            Some(server) => (
                Some(Admin::connect(server.uri(), &database).await?),
                Some(Admin::connect(server.uri(), &database).await?),
            ),
            None => (None, None),
        };
        let materials = Materials::write(&self.workload, folder, self.settings.measured_s)?;
        let mut options = self.workload.plan.uri_options.clone();
        options.extend(pairs(&self.args.options, "--option")?);
        let uri = server.map_or(String::new(), |server| with_options(server.uri(), &options));
        let (first_id, first) = self.environments[0].clone();
        let mut named = self.environments.clone();
        named.insert(1, (format!("{first_id} (A/A)"), first));
        let arms = named.iter().enumerate().map(|(at, named)| arm(named, at == 1)).collect();
        let rounds = self.settings.looks.first_rounds();
        let experiment = Experiment {
            schema_version: SCHEMA_VERSION,
            mongodyno: env!("CARGO_PKG_VERSION").to_owned(),
            id: id.to_owned(),
            started_at: wall(),
            finished_at: None,
            ended: None,
            command: std::env::args().map(|word| mask_uri(&word)).collect(),
            settings: self.settings,
            plan: self.workload.plan,
            arms,
            unavailable: self.unavailable,
            server: facts(server),
            machine: machine::describe(),
        };
        let names = named.iter().map(|(id, _)| id.clone()).collect();
        Ok(Laboratory {
            experiment,
            environments: named.into_iter().map(|(_, environment)| environment).collect(),
            folder: folder.clone(),
            epoch,
            secret: server.and_then(|server| password(server.uri())),
            uri,
            database,
            admin,
            server_pid: match server {
                Some(Server::Managed(server)) => Some(server.pid().cast_signed()),
                _ => None,
            },
            sampler: Sampler::new(sampled, folder.clone(), epoch).await?,
            materials,
            progress: Progress::new(names, rounds, self.until_look),
            stop: stop.clone(),
        })
    }
}

fn arm((id, environment): &(String, Environment), is_aa: bool) -> Arm {
    Arm {
        id: id.clone(),
        adapter: environment.adapter.clone(),
        is_aa,
        driver: String::new(),
        version: environment.version.clone(),
        native: None,
        runtime: String::new(),
        concurrency: String::new(),
        resolved: serde_json::Value::Null,
        lock_sha256: environment.lock_sha256.clone(),
    }
}

fn facts(server: Option<&Server>) -> ServerFacts {
    let Some(server) = server else {
        return ServerFacts {
            kind: "none".to_owned(),
            version: String::new(),
            uri: String::new(),
            flags: Vec::new(),
            topology: String::new(),
            source: None,
        };
    };
    let record = server.record();
    ServerFacts {
        kind: serde_json::to_value(record.kind)
            .ok()
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default(),
        version: record.version.clone(),
        uri: record.uri.clone(),
        flags: record.flags.clone(),
        topology: record.topology.clone(),
        source: record
            .source
            .as_ref()
            .map(|source| format!("{} ({})", source.wheel, source.licence)),
    }
}

/// A URI with further options; those that stand in it already win. serverSelectionTimeoutMS is
/// always set, so that a dead server costs seconds and not the half minute of most drivers.
#[must_use]
pub fn with_options(uri: &str, options: &BTreeMap<String, String>) -> String {
    let (base, query) = uri.split_once('?').unwrap_or((uri, ""));
    let mut parts: Vec<String> =
        query.split('&').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let mut wanted = options.clone();
    wanted.entry("serverSelectionTimeoutMS".to_owned()).or_insert_with(|| "5000".to_owned());
    for (name, value) in wanted {
        let there = parts.iter().any(|part| {
            part.split_once('=').is_some_and(|(known, _)| known.eq_ignore_ascii_case(&name))
        });
        if !there {
            parts.push(format!("{name}={value}"));
        }
    }
    let after_scheme = base.find("://").map_or(0, |at| at + 3);
    let slash = if base[after_scheme..].contains('/') { "" } else { "/" };
    format!("{base}{slash}?{}", parts.join("&"))
}

/// The password of a URI, as it stands there.
#[must_use]
pub fn password(uri: &str) -> Option<String> {
    let (_, rest) = uri.split_once("://")?;
    let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    (!password.is_empty()).then(|| password.to_owned())
}

/// Free space is looked at beforehand: a disk that fills up in the middle costs the round.
fn check_disk(folder: &Folder, rounds: u32) -> Result<()> {
    let stat = nix::sys::statvfs::statvfs(folder.path());
    let Ok(stat) = stat else { return Ok(()) };
    let free = stat.blocks_available() * stat.fragment_size();
    // Samples up to the budget, and some for logs, histograms and the server's data.
    let wanted = SAMPLE_BUDGET_BYTES / 40 * u64::from(rounds.min(40)) + (256 << 20);
    if free >= wanted {
        return Ok(());
    }
    Err(Error::environment(
        format!(
            "{} has {} MB free; this experiment wants {} MB for samples, logs and data",
            folder.path().display(),
            free >> 20,
            wanted >> 20
        ),
        "free some disk space, or choose another --out",
    ))
}

/// Prints what an experiment came to, and writes its page.
fn show(folder: &Folder, json: bool) -> Result<Analysis> {
    let (_, experiment) = Folder::open(folder.path())?;
    let analysis = analysis::analyse(folder, &experiment)?.analysis;
    let runs = folder.runs()?;
    let mut options = super::report::terminal_options();
    let page = render(&analysis, &runs, Format::Html, &options);
    folder.write_whole("report.html", page.as_bytes())?;
    options.page = Some(folder.join("report.html").display().to_string());
    if !json {
        super::print(&render(&analysis, &runs, Format::Terminal, &options))?;
    }
    Ok(analysis)
}
