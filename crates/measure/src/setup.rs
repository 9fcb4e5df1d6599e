//! An experiment from its first to its last step: folder, server, runner, rounds, end.

use base::say;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::time::Duration;

use crate::capacity::check_results;
use crate::hosts;
use crate::install::{Installed, Wanted};
use crate::placement;
use crate::progress::LiveProgress;
use crate::resume::Resumed;
use crate::runner::{Judge, Runner};
use crate::server_access::Reached;
use crate::settings::Estimate;
use crate::stop::{Requests, caught};
use crate::token::{HeldToken, Token};
use crate::world::MeasuredServer;
use base::clock::wall;
use base::error::{Error, Exit, Result};
use futures_util::future::join_all;
use record::folder::Folder;
use record::records::{ClientMemory, Ended, Placement, Request, ServerKind, Settings, Unavailable};
use record::unbegun;
use server::{ServerHandle, StartOptions};
use workload::Workload;

/// An experiment before its server is open.
pub struct Setup {
    pub request: Request,
    pub planned: Planned,
    pub installed: Installed,
    pub place: Place,
    /// None: nothing that is measured needs a server.
    pub server: Option<Reached>,
    /// The arms that have to be able to talk to the server before the first round. None: the rounds
    /// find out.
    pub probe: Option<Wanted>,
    /// Whether a busy machine gets time to become quiet.
    pub waits: bool,
    pub judge: Judge,
    /// Shared with the experiments that are made side by side.
    pub token: Token,
}

/// What a request comes to, the same on every server.
#[derive(Clone)]
pub struct Planned {
    pub workload: Workload,
    pub settings: Settings,
    /// The arms that cannot take part.
    pub unavailable: Vec<Unavailable>,
    /// The memory of each arm; None: no limit.
    pub client_memory: Option<ClientMemory>,
    pub estimate: Estimate,
}

impl Planned {
    /// Time to the first look.
    pub fn until_look(&self) -> Duration {
        self.estimate.round * self.settings.looks.first_rounds()
    }
}

/// Where an experiment is made.
pub struct Place {
    /// The server as `--server` takes it.
    pub server: String,
    /// The server's name among several; empty where it is alone.
    pub name: String,
    pub id: String,
    /// The experiment's folder, new or empty, or that of the experiment to continue.
    pub path: PathBuf,
    /// Whether a new experiment finds arms that cannot talk to the server before its first round.
    pub probes: bool,
    /// The experiment to continue.
    pub resumed: Option<Resumed>,
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
        let is_new = !self.place.path.exists();
        let folder = match &self.place.resumed {
            Some(_) => Folder::open(&self.place.path)?.0,
            None => Folder::create(&self.place.path)?,
        };
        let _lock = folder.lock()?;
        let is_resumed = self.place.resumed.is_some();
        let placement = self.placement();
        let progress = self.progress();
        progress.doing("starting the server");
        let opened = requests.or(self.open(&folder, placement.as_ref())).await.flatten();
        let server = opened.inspect_err(|error| {
            if !is_resumed {
                unbegun::discard(folder.path(), is_new, error.exit == Exit::Interrupted);
            }
        })?;
        let mut reached = MeasuredServer::default();
        // On the heap: these futures hold the whole experiment.
        let prepared =
            Box::pin(self.runner(&folder, server.as_ref(), placement, progress, &mut reached));
        let prepared = requests.or(prepared).await.flatten();
        if let (Some(admin), Err(error)) = (&reached.admin, &prepared) {
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

    pub(crate) fn progress(&self) -> LiveProgress {
        let ids = self.named().into_iter().map(|(id, ..)| id).collect();
        let rounds = self.planned.settings.looks.first_rounds();
        let arms = (ids, !self.planned.settings.conduct.figures_only);
        LiveProgress::new(&self.place.name, arms, rounds, self.planned.estimate.round)
    }

    /// Opens the server, if one is needed, once there is room for the results.
    async fn open(
        &self,
        folder: &Folder,
        placement: Option<&Placement>,
    ) -> Result<Option<ServerHandle>> {
        check_results(folder, self.planned.settings.looks.first_rounds())?;
        let Some(server) = &self.server else { return Ok(None) };
        let absorber = server.is_absorber();
        let log = if absorber { "logs/absorber.log" } else { "logs/mongod.log" };
        let mut options = StartOptions::new(folder.join(log));
        options.keep_data = self.request.keep_data;
        let limits = self.request.server_limits;
        options.cache_gb = limits.cache_bytes.map(|bytes| bytes as f64 / f64::from(1 << 30));
        options.connections = limits.connections;
        options.memory_bytes = limits.memory_bytes;
        options.cores = placement.map_or(Vec::new(), |it| it.server.clone());
        if absorber {
            options.extra_flags.clone_from(&self.request.absorber);
            let holds = folder.join("holds.bin");
            let _ = std::fs::remove_file(&holds); // of the experiment that goes on
            options.extra_flags.push(format!("--holds={}", holds.display()));
            // A driver takes another way with a replica set: other workloads keep theirs.
            if hosts::has_transactions(&self.planned.workload.plan) {
                options.extra_flags.push("--replica-set=absorber".to_owned());
            }
        }
        server.open(&options).await.map(Some)
    }
}

/// Whether somebody else runs the server.
pub(crate) fn is_external(server: &ServerHandle) -> bool {
    server.record().kind == ServerKind::External
}

async fn measure(
    mut runner: Runner,
    server: Option<&ServerHandle>,
    requests: &mut Requests,
    token: &mut HeldToken,
) -> Result<()> {
    let stop = runner.world.stop.clone();
    runner.world.folder.write_experiment(&runner.experiment)?;
    // Rounds of an experiment that is continued.
    let world = &mut runner.world;
    world.folder.runs()?.iter().for_each(|run| world.progress.ran(run));
    let died = async {
        match server {
            Some(server) => server.died().await,
            None => std::future::pending().await,
        }
    };
    let external = server.is_some_and(is_external);
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
    runner.world.progress.finish();
    runner.experiment.finished_at = Some(wall());
    runner.experiment.ended = Some(match &result {
        Ok(()) => Ended::Completed,
        Err(error) if error.exit == Exit::Interrupted => Ended::Interrupted,
        Err(_) => Ended::Failed,
    });
    let mut recorded = runner.world.folder.write_experiment(&runner.experiment);
    // On a server of ours the database goes with its data folder.
    if let Some(admin) = runner.world.server.admin.as_ref().filter(|_| external) {
        let hurried = result.as_ref().is_err_and(|error| error.exit == Exit::Interrupted);
        let dropped = admin.leave(hurried).await;
        let own = runner.experiment.databases.last_mut();
        own.expect("it was recorded").dropped = dropped;
        recorded = recorded.and(runner.world.folder.write_experiment(&runner.experiment));
    }
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    result.and(recorded)
}
