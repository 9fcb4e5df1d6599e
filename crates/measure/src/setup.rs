//! An experiment from its first to its last step: folder, server, runner, rounds, end.

use base::say;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::admin;
use crate::capacity::check_results;
use crate::disk::Disk;
use crate::facts::{AA, DIRECT, arm, facts, link_facts};
use crate::hosts::{self, Hosts};
use crate::input_files::InputFiles;
use crate::observed_options::STANDALONE;
use crate::path::TapPath;
use crate::placement;
use crate::probe::Probe;
use crate::progress::LiveProgress;
use crate::resume::Resumed;
use crate::runner::{ArmConfiguration, Judge, Runner};
use crate::sampler::Sampler;
use crate::server_access::Reached;
use crate::stop::{Requests, Stop, caught};
use crate::token::{HeldToken, Token};
use crate::trial::Ground;
use adapter::environment::Environment;
use base::clock::{Epoch, wall};
use base::error::{Error, Exit, Result};
use base::secrets::{mask_hosts, mask_text};
use futures_util::future::join_all;
use record::folder::Folder;
use record::machine::{self, Reading};
use record::records::{
    Arm, ClientMemory, Database, DriverShare, Ended, Experiment, Machine, Placement, Request,
    SCHEMA_VERSION, ServerKind, ServerOptions, Settings, Unavailable,
};
use record::unbegun;
use server::connection_string::with_options;
use server::{ServerHandle, StartOptions, listeners, places};
use workload::Workload;

/// Everything known before the server is open.
pub struct Setup {
    pub workload: Workload,
    pub settings: Settings,
    /// Arms by id, without the A/A arm; the first is the baseline.
    pub environments: Vec<(String, Environment)>,
    pub unavailable: Vec<Unavailable>,
    /// None: whether the arms can talk to the server is found out in the rounds.
    pub probe: Option<Probe>,
    /// Estimated time to the first look.
    pub until_look: Duration,
    pub id: String,
    /// Experiment folder, new or empty.
    pub path: PathBuf,
    /// None: nothing that is measured needs a server.
    pub server: Option<Reached>,
    /// What was asked for.
    pub request: Request,
    /// Reads the messages of phases with a consumer.
    pub consumer: Option<(String, Environment)>,
    /// What some arms have to themselves, by their ids.
    pub shares: BTreeMap<String, DriverShare>,
    /// The experiment to continue, in the same folder.
    pub resumed: Option<Resumed>,
    pub limits: Limits,
    /// Whether a busy machine gets time to become quiet.
    pub waits: bool,
    pub judge: Judge,
    /// Shared with the experiments that are made side by side.
    pub token: Token,
}

/// Limits that were asked for.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// The memory of each arm; None: no limit.
    pub client_memory: Option<ClientMemory>,
    /// Of a mongod that we start.
    pub server: ServerOptions,
}

/// A unique id: the time and some bits of it.
pub fn new_id(salt: u64) -> String {
    format!("{}-{:06x}", wall().replace([':', '-'], ""), salt & 0xff_ffff)
}

/// Runs experiments side by side: all at once, but for those with the same token.
pub async fn run_all<'a>(
    setups: impl Iterator<Item = (Setup, &'a mut Requests)>,
) -> Vec<Result<Folder>> {
    // On the heap: everything an experiment holds is in its future.
    join_all(setups.map(|(setup, requests)| Box::pin(setup.run(requests)))).await
}

impl Setup {
    /// Runs the experiment; its results are in the folder, whole or interrupted.
    ///
    /// # Errors
    /// Any failure but a Ctrl-C after the record has begun. Finished rounds are in the folder.
    pub async fn run(self, requests: &mut Requests) -> Result<Folder> {
        let mut held = requests.or(self.token.take()).await?;
        let is_new = !self.path.exists();
        let folder = match &self.resumed {
            Some(_) => Folder::open(&self.path)?.0,
            None => Folder::create(&self.path)?,
        };
        let _lock = folder.lock()?;
        let is_resumed = self.resumed.is_some();
        let placement = self.placement();
        let progress = self.progress();
        progress.doing("starting the server");
        let opened = requests.or(self.open(&folder, placement.as_ref())).await.flatten();
        let server = opened.inspect_err(|error| {
            if !is_resumed {
                unbegun::discard(folder.path(), is_new, error.exit == Exit::Interrupted);
            }
        })?;
        let mut admin = None;
        // On the heap: these futures hold the whole experiment.
        let prepared =
            Box::pin(self.runner(&folder, server.as_ref(), placement, progress, &mut admin));
        let prepared = requests.or(prepared).await.flatten();
        if let (Some(admin), Err(error)) = (&admin, &prepared) {
            // The preparation failed or was cut, maybe in its probe.
            admin.leave(error.exit == Exit::Interrupted).await;
        }
        let began = prepared.is_ok();
        let result = match prepared {
            Ok(runner) => Box::pin(measure(runner, server.as_ref(), requests, &mut held)).await,
            Err(error) => Err(error),
        };
        if let Some(server) = server {
            server.stop().await;
        }
        match result {
            Err(error) if !began && !is_resumed => {
                unbegun::discard(folder.path(), is_new, error.exit == Exit::Interrupted);
                Err(error)
            }
            Err(error) if error.exit == Exit::Interrupted && !began => Err(error),
            Err(error) if error.exit != Exit::Interrupted => {
                let path = base::strings::shell_quoted(&folder.path().display());
                // A resume that does not fit its record is no failure of the experiment.
                if error.exit != Exit::Usage && folder.join("experiment.json").exists() {
                    say!("what was finished is kept: mongodyno report {path}");
                    say!("to go on from there: mongodyno resume {path}");
                }
                Err(error)
            }
            _ => Ok(folder),
        }
    }

    /// Cores of the server and of the clients, where we start the server.
    fn placement(&self) -> Option<Placement> {
        let starts = self.server.as_ref().is_some_and(|server| server.uri().is_none());
        starts.then(placement::choose).flatten()
    }

    fn progress(&self) -> LiveProgress {
        let ids = self.named().into_iter().map(|(id, ..)| id).collect();
        let rounds = self.settings.looks.first_rounds();
        LiveProgress::new(&self.token.holder, ids, rounds, self.until_look / rounds)
    }

    /// Opens the server, if one is needed, once there is room for the results.
    async fn open(
        &self,
        folder: &Folder,
        placement: Option<&Placement>,
    ) -> Result<Option<ServerHandle>> {
        check_results(folder, self.settings.looks.first_rounds())?;
        let Some(server) = &self.server else { return Ok(None) };
        let absorber = server.is_absorber();
        let log = if absorber { "logs/absorber.log" } else { "logs/mongod.log" };
        let mut options = StartOptions::new(folder.join(log));
        options.keep_data = self.request.keep_data;
        let limits = &self.limits.server;
        options.cache_gb = limits.cache_bytes.map(|bytes| bytes as f64 / f64::from(1 << 30));
        options.connections = limits.connections;
        options.memory_bytes = limits.memory_bytes;
        options.cores = placement.map_or(Vec::new(), |it| it.server.clone());
        if absorber {
            options.extra_flags.clone_from(&self.request.absorber);
            let holds = folder.join("holds.bin");
            let _ = std::fs::remove_file(&holds); // of the experiment that goes on
            options.extra_flags.push(format!("--holds={}", holds.display()));
        }
        server.open(&options).await.map(Some)
    }

    #[allow(clippy::too_many_lines, reason = "it lists what an experiment is made of")]
    async fn runner(
        mut self,
        folder: &Folder,
        server: Option<&ServerHandle>,
        placement: Option<Placement>,
        mut progress: LiveProgress,
        admin: &mut Option<Hosts>,
    ) -> Result<Runner> {
        if let Some(server) = server {
            hosts::fits(server, &self.workload, self.request.goes_through_the_tap())?;
        }
        let places = match self.server.as_ref().and_then(Reached::uri) {
            Some(uri) => places(uri).await,
            None => Vec::new(),
        };
        // Of several that listen, no one is the server.
        let server_pid = match server.and_then(ServerHandle::pid) {
            Some(pid) => Some(pid),
            None => <[u32; 1]>::try_from(listeners(&places)).ok().map(|[pid]| pid),
        };
        let disk = server_pid.and_then(Disk::of_server);
        let database = admin::new_database();
        let epoch = Epoch::start();
        let mut sampled = None;
        if let Some(server) = server {
            *admin = Some(Hosts::connect(server, &database).await?);
            sampled = Some(Hosts::counting(server, &database).await?);
        }
        let own = self.workload.plan.uri_options.clone();
        let options = own.into_iter().chain(self.request.options()?).collect();
        let uris = server.map_or(Vec::new(), ServerHandle::uris);
        let mut uris = uris.into_iter().map(|uri| with_options(uri, &options));
        let (uri, others) = (uris.next().unwrap_or_default(), uris.collect::<Vec<_>>());
        let mut seen = BTreeMap::new();
        let external = server.is_some_and(|it| it.record().kind == ServerKind::External);
        if let Some(admin) = admin.as_mut().filter(|_| external) {
            admin.claim(&self.id).await?;
        }
        if let (Some(probe), Some(server)) = (self.probe.take(), server) {
            let ground = Ground {
                folder,
                epoch: &epoch,
                admin: admin.as_ref(),
                database: &database,
                is_standalone: server.record().topology == STANDALONE,
            };
            let arms = std::mem::take(&mut self.environments);
            let probed = probe.run(&ground, (server, &uri), arms, &progress).await;
            progress.finish();
            let probed = probed?;
            (self.environments, seen) = (probed.arms, probed.seen);
            self.unavailable.extend(probed.unavailable);
            progress = self.progress();
        }
        let looked = Some((Instant::now(), Reading::take()));
        let named = self.named();
        let Workload { plan, pools, .. } = self.workload;
        let with_seen = |(id, it, twin): &(String, Environment, &'static str)| {
            // A twin is the baseline once more.
            let id_asked = if twin.is_empty() { id } else { &named[0].0 };
            let share = self.shares.get(id_asked).cloned().unwrap_or_default();
            Arm { seen: seen.get(id_asked).cloned(), share, ..arm(id, it, twin) }
        };
        let arms: Vec<Arm> = named.iter().map(with_seen).collect();
        let consumer_arm = self.consumer.as_ref().map(|(id, environment)| arm(id, environment, ""));
        if let Some(resumed) = &self.resumed {
            // Before the first file is written: a refusal leaves the folder unchanged.
            resumed.fits(&arms, consumer_arm.as_ref(), &facts(server, None, self.limits.server))?;
        }
        let processes = named.iter().map(|(_, environment, _)| environment.processes).collect();
        let measured_s = self.settings.measured_s;
        progress.doing("writing documents and schedules");
        let mut inputs = InputFiles::write(&plan, &processes, pools, folder, measured_s)?;
        inputs.sample_bytes = folder.sample_bytes();
        // Preparing takes seconds without an await: here a request to stop is heard.
        tokio::task::yield_now().await;
        let link =
            self.request.link.as_deref().map(|link| link_facts(link, &progress)).transpose()?;
        let cores = placement.as_ref().map_or(Vec::new(), |it| it.clients.clone());
        let mut path = None;
        if let Some(server) = server.filter(|_| self.request.goes_through_the_tap()) {
            let way = (self.request.link.as_deref(), self.consumer.is_some());
            path = Some(path_to(server, &uri, named.len(), way, &epoch, folder).await?);
        }
        let through = |port: usize| path.as_ref().map(|path: &TapPath| path.uris[port].as_str());
        let memory_bytes = self.limits.client_memory.as_ref().map(|it| it.bytes);
        let configured = |port: usize, environment: Environment, direct: bool| {
            let tapped_uri = through(port).filter(|_| !direct);
            ArmConfiguration::new(
                Environment { cores: cores.clone(), memory_bytes, ..environment },
                (&uri, &others),
                tapped_uri,
            )
        };
        let consumer = self.consumer.clone();
        let consumer = consumer.map(|(_, it)| configured(named.len(), it, false));
        let consumer = consumer.map(ArmConfiguration::without_limit);
        let named = named.into_iter().enumerate();
        let configurations =
            named.map(|(port, (_, it, twin))| configured(port, it, twin == DIRECT)).collect();
        let rounds = self.settings.looks.first_rounds();
        let mut request = self.request;
        mask_hosts(request.parameters.values_mut());
        let new = Experiment {
            schema_version: SCHEMA_VERSION,
            mongodyno: env!("CARGO_PKG_VERSION").to_owned(),
            id: self.id,
            started_at: wall(),
            finished_at: None,
            ended: None,
            command: std::env::args().map(|word| mask_text(&word)).collect(),
            request: Some(request),
            settings: self.settings,
            gaps: Vec::new(),
            plan,
            study: None,
            arms,
            consumer: consumer_arm,
            unavailable: self.unavailable,
            server: facts(server, server_pid, self.limits.server),
            databases: Vec::new(),
            link,
            machine: Machine { placement, ..machine::describe() },
            client_memory: self.limits.client_memory,
        };
        let (mut experiment, finished) = begin(new, self.resumed.as_ref(), folder)?;
        let tap_from = if experiment.settings.tap_last_round { rounds } else { 1 };
        if server.is_some() {
            experiment.databases.push(Database { name: database.clone(), dropped: false });
        }
        let sampler = Sampler::new(sampled, disk, folder.clone(), epoch).await?;
        Ok(Runner {
            configurations,
            consumer,
            folder: folder.clone(),
            epoch,
            path,
            tap_from,
            experiment,
            finished,
            database,
            admin: admin.take(),
            is_own_server: server.and_then(ServerHandle::pid).is_some(),
            places,
            looked,
            waits: self.waits,
            judge: self.judge,
            awake: None,
            slots: BTreeMap::new(),
            sampler,
            inputs,
            runs: 0,
            progress,
            stop: Stop::default(),
        })
    }

    /// The arms by id, with the reason of each twin of the baseline. Without verdicts it has none.
    fn named(&self) -> Vec<(String, Environment, &'static str)> {
        let mut named: Vec<_> =
            self.environments.iter().cloned().map(|(id, it)| (id, it, "")).collect();
        if self.settings.figures_only {
            return named;
        }
        let (id, baseline) = self.environments[0].clone();
        named.insert(1, (format!("{id} ({AA})"), baseline.clone(), AA));
        if self.request.goes_through_the_tap() {
            // One arm goes past the tap, to show the tap's cost in the result.
            named.push((format!("{id} ({DIRECT})"), baseline, DIRECT));
        }
        named
    }
}

async fn measure(
    mut runner: Runner,
    server: Option<&ServerHandle>,
    requests: &mut Requests,
    token: &mut HeldToken,
) -> Result<()> {
    let stop = runner.stop.clone();
    runner.folder.write_experiment(&runner.experiment)?;
    let died = async {
        match server {
            Some(server) => server.died().await,
            None => std::future::pending().await,
        }
    };
    let external = server.is_some_and(|it| it.record().kind == ServerKind::External);
    let work = async {
        tokio::select! {
            result = Box::pin(runner.rounds(token)) => result,
            error = died => Err(error),
            // A second Ctrl-C: everything that is dropped here ends its children.
            error = stop.second(requests) => Err(error),
        }
    };
    // Even after a bug the record is ended and the database dropped.
    let (result, panic) = match caught(work).await {
        Ok(result) => (result, None),
        Err(panic) => (Err(Error::new(Exit::RunInvalid, "a bug", "")), Some(panic)),
    };
    let result = match (result, server) {
        // The rounds may miss the server before its guard has told why it ended.
        (Err(error), Some(server)) if error.exit == Exit::Unreachable => {
            let died = tokio::time::timeout(Duration::from_secs(2), server.died()).await;
            Err(died.unwrap_or(error))
        }
        (result, _) => result,
    };
    runner.progress.finish();
    runner.experiment.finished_at = Some(wall());
    runner.experiment.ended = Some(match &result {
        Ok(()) => Ended::Completed,
        Err(error) if error.exit == Exit::Interrupted => Ended::Interrupted,
        Err(_) => Ended::Failed,
    });
    let mut recorded = runner.folder.write_experiment(&runner.experiment);
    // On a server of ours the database goes with its data folder.
    if let Some(admin) = runner.admin.as_ref().filter(|_| external) {
        let hurried = result.as_ref().is_err_and(|error| error.exit == Exit::Interrupted);
        let dropped = admin.leave(hurried).await;
        let own = runner.experiment.databases.last_mut();
        own.expect("it was recorded").dropped = dropped;
        recorded = recorded.and(runner.folder.write_experiment(&runner.experiment));
    }
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    result.and(recorded)
}

/// The record to write, and the number of finished rounds.
fn begin(new: Experiment, resumed: Option<&Resumed>, folder: &Folder) -> Result<(Experiment, u32)> {
    let Some(resumed) = resumed else { return Ok((new, 0)) };
    folder.keep_rounds(resumed.finished)?;
    Ok((resumed.go_on(), resumed.finished))
}

/// Starts tap and link before the server; `mark` records the message of each exchange.
async fn path_to(
    server: &ServerHandle,
    uri: &str,
    arms: usize,
    (link, mark): (Option<&str>, bool),
    epoch: &Epoch,
    folder: &Folder,
) -> Result<TapPath> {
    // One port for each arm, and one for the consumer.
    TapPath::start(uri, server.record(), arms + 1, epoch, link, mark, folder.path()).await
}
