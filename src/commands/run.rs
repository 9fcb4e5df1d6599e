//! `mongodyno run`: plan, environments, server, rounds, report.

use base::say;
use std::iter::repeat_n;
use std::path::{Path, PathBuf};

use crate::ask::{Ask, Here};
use crate::commands::experiment_end::{interrupted, shown, worth};
use crate::commands::live_page;
use crate::commands::plan_text;
use crate::commands::run_plan::{RunPlan, drawn_seed};
use adapter::manifest::{Manifest, discover};
use base::error::Result;
use format::counted;
use judge::analysis::types::Analysis;
use measure::arms::{self, Arm};
use measure::capacity;
use measure::install::{self, How, Installed, Wanted, install_all};
use measure::progress::duration;
use measure::resume::Resumed;
use measure::runner::Judge;
use measure::selection::one as one_arm;
use measure::server_access::Reached;
use measure::setup::{Place, Planned, Setup, new_id, run_all};
use measure::stop::Requests;
use measure::token::Token;
use record::folder::Folder;
use record::records::Ended;
use record::request::Request;
use record::servers_folder::{Part, Servers};
use record::unbegun;
use record::words::Words;
use server::{ServerChoice, mask_uri};

/// Runs the verb on one server.
///
/// # Errors
/// Everything a user can fix; exit code 6 when nothing could be compared.
pub async fn run(ask: Ask) -> Result<()> {
    let Some(analysis) = one(&ask, Wanted::Alone, true, None).await? else { return Ok(()) };
    print_json(&ask, &analysis)?;
    worth(&[&analysis])
}

fn print_json(ask: &Ask, analysis: &Analysis) -> Result<()> {
    if !ask.here.json {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(analysis).expect("analyses serialise");
    super::print_result(format!("{text}\n").as_bytes())
}

/// Goes on with an experiment that was made as `ask` has it.
///
/// # Errors
/// As [`run`]; a workload or an arm that is not what it was.
pub async fn resume(ask: Ask, resumed: Resumed) -> Result<()> {
    let analysis = one(&ask, Wanted::Compared, true, Some(resumed)).await?;
    let Some(analysis) = analysis else { return Ok(()) };
    print_json(&ask, &analysis)?;
    worth(&[&analysis])
}

/// One experiment, as `ask` has it; where `path` has it, the rest of it.
///
/// # Errors
/// As [`run`]; another experiment is there.
pub async fn experiment(ask: &Ask, path: &Path) -> Result<Option<Analysis>> {
    let mut ask = ask.clone();
    ask.here.out = Some(path.to_owned());
    let begun = path.join("experiment.json").exists();
    let resumed = begun.then(|| Resumed::read(path)).transpose()?.map(|(_, resumed)| resumed);
    if let Some(Resumed { experiment: was, finished }) = &resumed {
        match was.ended {
            Some(Ended::Completed) => say!("it is complete: {finished} rounds"),
            _ => say!("going on after round {finished}"),
        }
        ask.request.seed = Some(was.settings.seed);
        // Arms that could not take part then are not among those that it has.
        let gone = |driver: &str| was.unavailable.iter().any(|it| it.adapter == driver);
        ask.request.drivers.retain(|driver| !driver.given().is_some_and(gone));
    }
    one(&ask, Wanted::Compared, true, resumed).await
}

/// A part of a study. Its arms fail in their own way: the study's rules read their runs.
///
/// # Errors
/// As [`run`].
pub async fn part(ask: &Ask, resumed: Option<Resumed>) -> Result<Option<Analysis>> {
    one(ask, Wanted::Compared, false, resumed).await
}

/// One experiment; None with `--plan`.
async fn one(
    ask: &Ask,
    wanted: Wanted,
    probes: bool,
    resumed: Option<Resumed>,
) -> Result<Option<Analysis>> {
    let id = resumed.as_ref().map(|resumed| resumed.experiment.id.clone());
    let id = id.unwrap_or_else(|| new_id(drawn_seed()));
    let path = ask.here.out.clone();
    let path = path.unwrap_or_else(|| PathBuf::from("mongodyno-results").join(&id));
    let (server, name) = (ask.request.server()?.to_owned(), String::new());
    let place = Place { server, name, id, path: path.clone(), probes, resumed };
    let mut live = None;
    let begin = || live_page::serve(&ask.here, &path).map(|page| live = page);
    // Every verb would hold this large future on its stack.
    match Box::pin(make(ask, wanted, vec![place], begin)).await?.pop() {
        Some(made) => show(&made?, &ask.here).map(Some),
        None => Ok(None),
    }
}

/// The experiments of one value or of none: in `path` itself on one server, else one below it on
/// each.
pub fn places(servers: &[String], path: &Path) -> (Vec<Place>, Option<Servers>) {
    let place = |server: &str, name: &str, path: PathBuf| Place {
        server: server.to_owned(),
        name: name.to_owned(),
        id: new_id(drawn_seed()),
        path,
        probes: true,
        resumed: None,
    };
    if let [server] = servers {
        return (vec![place(server, "", path.to_owned())], None);
    }
    let record = Servers::new(servers);
    let of = |it: &Part| place(it.words(), &it.server, path.join(&it.folder));
    (record.servers.iter().map(of).collect(), Some(record))
}

/// The same experiment in each place, round about; none with `--plan`. `wanted` are the arms that
/// have to work, where arms are named. `begin` is called when all that could be refused was.
///
/// # Errors
/// Found before the first of them begins.
pub async fn make(
    ask: &Ask,
    wanted: Wanted,
    places: Vec<Place>,
    begin: impl FnOnce() -> Result<()>,
) -> Result<Vec<Result<Folder>>> {
    let manifests = discover(ask.here.adapters_dir.as_deref())?;
    let plan = RunPlan::new(ask, &manifests, places.iter().find_map(|it| it.resumed.as_ref()))?;
    let (together, twins) = (plan.together(), plan.twins);
    let RunPlan { ask, mut planned, arms, serverless, .. } = plan;
    let Ask { request, here } = &ask;
    if let Some(why) = planned.client_memory.as_ref().and_then(|it| it.no_cgroup.as_ref()) {
        say!("--client-memory: {why}; a watchdog looks at the resident set instead");
    }
    capacity::check_client(&planned.workload, planned.client_memory.as_ref())?;
    let wanted = if request.drivers.is_empty() { Wanted::One } else { wanted };
    let how = How { wanted, offline: here.offline };
    let consumer = consumer(&ask, &planned, &manifests)?;
    for place in places.iter().filter(|_| !serverless) {
        check_server(&ask, &place.server)?;
    }
    if here.plan {
        for place in &places {
            unbegun::check_free(&place.path)?;
        }
        install::check(&arms, consumer.as_ref(), how)?;
        let (ids, server) = (arms::ids(&arms)?, destination(request)?);
        super::print(&plan_text::text(&planned, &ids, &server, request.server_limits))?;
        return Ok(Vec::new());
    }
    if let Some(complete) = check_resumed(&places, &planned, &arms)? {
        return Ok(vec![Ok(complete)]);
    }
    // Each of them hears a signal from here on.
    let mut requests: Vec<Requests> = places.iter().map(|_| Requests::watch()).collect();
    let first = &mut requests[0];
    // Installing takes minutes: whatever else may be wrong is found before.
    let reaching = async { if serverless { Ok(Vec::new()) } else { reached(&ask, &places).await } };
    let servers = first.or(reaching).await??;
    let data = servers.iter().find_map(Reached::data);
    capacity::check_disk(&planned.workload, &planned.settings.interleave, together, data)?;
    let install = install_all(&arms, consumer.as_ref(), how, &mut planned.unavailable, first);
    let mut installed = install.await?;
    let consumer = installed.choose_consumer(&manifests, &planned.workload.plan);
    installed.consumer = first.or(consumer).await??;
    announce(&planned, &installed, twins, places.len());
    let token = Token::default();
    let mut servers = servers.into_iter();
    // Faults of an absorber would be taken for those of an arm.
    let probes = request.absorber.is_empty() && !planned.workload.plan.needs_no_server();
    // The last one takes the original.
    let each = repeat_n((planned, installed), places.len());
    let setups = places.into_iter().zip(each).map(|(place, (planned, mut installed))| {
        installed.retain(|id| place.resumed.as_ref().is_none_or(|it| it.has(id)));
        let probe = probes && place.probes && place.resumed.is_none();
        Setup {
            request: request.clone(),
            planned,
            installed,
            server: servers.next(),
            probe: probe.then_some(wanted),
            place,
            waits: !here.no_wait,
            judge: Judge { standing: judge::standing, deciding: judge::deciding::deciding },
            token: token.clone(),
        }
    });
    begin()?;
    Ok(run_all(setups.zip(&mut requests)).await)
}

/// The arm that was asked for to read the messages, where some phase has any.
fn consumer<'a>(
    ask: &Ask,
    planned: &Planned,
    manifests: &'a [Manifest],
) -> Result<Option<Arm<'a>>> {
    let reads = planned.workload.plan.phases.iter().any(|phase| phase.consumer);
    let asked = ask.request.consumer.as_ref().filter(|_| reads).map(Words::get).transpose()?;
    asked.map(|asked| one_arm(manifests, asked, ask.here.offline)).transpose()
}

/// Compares each record that is continued with its request. Returns the folder of one that is
/// complete.
fn check_resumed(places: &[Place], planned: &Planned, arms: &[Arm<'_>]) -> Result<Option<Folder>> {
    for place in places {
        let Some(resumed) = &place.resumed else { continue };
        let mut ids = arms::ids(arms)?;
        ids.retain(|id| resumed.has(id));
        resumed.is_asked_again(&planned.workload.plan, &planned.settings, &ids)?;
        if resumed.is_complete() {
            return Ok(Some(Folder::open(&place.path)?.0));
        }
    }
    Ok(None)
}

/// Says what will be made, and how long that takes.
fn announce(planned: &Planned, installed: &Installed, twins: usize, places: usize) {
    let settings = &planned.settings;
    let judged = !settings.conduct.figures_only;
    say::tell(&format!(
        "about {} to the first look ({}{}{}, {}{}{}, {}{})",
        duration(planned.until_look() * places as u32),
        counted(settings.looks.first_rounds(), "round"),
        if places > 1 { " on each server" } else { "" },
        if settings.conduct.tap_last_round { ", the last one through the tap" } else { "" },
        counted((installed.arms.len() + twins) as u64, "arm"),
        if judged { " with the A/A arm" } else { "" },
        if twins > 1 { " and the direct one" } else { "" },
        counted(planned.workload.plan.phases.len() as u64, "phase"),
        installed
            .consumer
            .as_ref()
            .map_or(String::new(), |(id, _)| format!("; {id} reads the messages"))
    ));
    if let Some(blocks) = &settings.blocks {
        say!("blocks: {}", blocks.words());
    }
    if let Some(caution) = settings.looks.caution().filter(|_| judged) {
        say!("{caution}; each comparison will be INCONCLUSIVE");
    }
}

/// Where the clients connect to, for people.
fn destination(request: &Request) -> Result<String> {
    Ok(match request.uri()? {
        Some(uri) => mask_uri(uri),
        None if request.hosts.is_empty() => request.server()?.to_owned(),
        None => request.hosts()?.join(", "),
    })
}

/// Refuses words for a server that are wrong, before anything is asked or installed.
pub fn check_server(ask: &Ask, server: &str) -> Result<()> {
    match (&ask.request.hosts()?[..], ask.request.uri()?) {
        ([], None) if server == "none" => Ok(()),
        ([], uri) => Reached::check(server, uri, ask.here.offline),
        (hosts, _) => ServerChoice::hosts(hosts).map(drop),
    }
}

/// The server of each place, or the several hosts that were asked for.
async fn reached(ask: &Ask, places: &[Place]) -> Result<Vec<Reached>> {
    if !ask.request.hosts.is_empty() {
        return Ok(vec![Reached::hosts(&ask.request.hosts()?).await?]);
    }
    let mut servers = Vec::new();
    for place in places {
        let uri = ask.request.uri()?;
        servers.push(Reached::at(&place.server, uri, ask.here.offline).await?);
    }
    Ok(servers)
}

/// Prints what an experiment came to, and writes its page.
///
/// An interrupted one is shown as far as it came, and is still an error.
fn show(folder: &Folder, here: &Here) -> Result<Analysis> {
    let (_, experiment) = Folder::open(folder.path())?;
    let mut analysis = judge::analyse(folder, &experiment)?.analysis;
    super::experiment_history::hold(&mut analysis, &experiment, here.history.as_deref())?;
    let text = shown(folder, &analysis, here.details)?;
    let printed = super::print_result(if here.json { b"" } else { text.as_bytes() });
    if experiment.ended == Some(Ended::Interrupted) {
        // Where a closed terminal was the reason, nothing can be printed either.
        return Err(interrupted(folder.path()));
    }
    printed.map(|()| analysis)
}
