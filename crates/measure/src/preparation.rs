//! From the opened server to the first round: connections, a first try of the arms, files, tap and
//! link, and the record.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::admin;
use crate::disk::Disk;
use crate::facts::{AA, DIRECT, arm, facts, link_facts};
use crate::hosts::{self, Hosts};
use crate::input_files::InputFiles;
use crate::observed_options::STANDALONE;
use crate::path::TapPath;
use crate::probe::try_arms;
use crate::progress::LiveProgress;
use crate::resume::Resumed;
use crate::runner::{ArmConfiguration, Runner};
use crate::sampler::Sampler;
use crate::server_access::Reached;
use crate::setup::{Setup, is_external};
use crate::stop::Stop;
use crate::trial::Ground;
use crate::world::{MachineState, MeasuredServer, World};
use adapter::environment::Environment;
use base::clock::{Epoch, wall};
use base::error::Result;
use base::secrets::{mask_hosts, mask_text};
use record::folder::Folder;
use record::machine::{self, Reading};
use record::records::{
    Arm, Database, Experiment, Machine, Placement, SCHEMA_VERSION, Seen, Server,
};
use server::connection_string::with_options;
use server::{ListenAddress, ServerHandle, listeners, places};

/// An arm by its id, with the reason of a twin of the baseline; empty: it is none.
type Named = (String, Environment, &'static str);

impl Setup {
    pub(crate) async fn runner(
        mut self,
        folder: &Folder,
        server: Option<&ServerHandle>,
        placement: Option<Placement>,
        mut progress: LiveProgress,
        reached: &mut MeasuredServer,
    ) -> Result<Runner> {
        let tapped = server.filter(|_| self.request.goes_through_the_tap());
        let (counting, pid) = self.connect(server, reached).await?;
        let epoch = Epoch::start();
        let (uri, others) = self.uris(server)?;
        let mut seen = BTreeMap::new();
        if let Some(server) = server.filter(|_| self.probe.is_some()) {
            let probed = self.probe(folder, &epoch, (server, &uri), reached, &progress).await;
            progress.finish();
            seen = probed?;
            progress = self.progress();
        }
        let first_reading = Some((Instant::now(), Reading::take()));
        self.limit(placement.as_ref());
        let named = self.named();
        let record = self.record(&named, &seen, facts(server, pid, self.request.server_limits));
        if let Some(resumed) = &self.place.resumed {
            // Before the first file is written: a refusal leaves the folder unchanged.
            resumed.fits(&record.arms, record.consumer.as_ref(), &record.server)?;
        }
        let processes = named.iter().map(|(_, environment, _)| environment.processes).collect();
        let pools = std::mem::take(&mut self.planned.workload.pools);
        let measured_s = record.settings.measured_s;
        progress.doing("writing documents and schedules");
        let mut inputs = InputFiles::write(&record.plan, &processes, pools, folder, measured_s)?;
        inputs.sample_bytes = folder.sample_bytes();
        // Preparing takes seconds without an await: here a request to stop is heard.
        tokio::task::yield_now().await;
        let link = self.request.link.as_deref();
        let link = link.map(|link| link_facts(link, &progress)).transpose()?;
        if let Some(server) = tapped {
            reached.tap = Some(self.start_tap(server, &uri, named.len(), &epoch, folder).await?);
        }
        let configured = |(port, (_, environment, twin)): (usize, Named)| {
            let tap = reached.tap.as_ref().filter(|_| twin != DIRECT);
            let tapped_uri = tap.map(|tap| tap.uris[port].as_str());
            ArmConfiguration::new(environment, (&uri, &others), tapped_uri)
        };
        let (port, consumer) = (named.len(), self.installed.consumer);
        let consumer = consumer.map(|(id, it)| configured((port, (id, it, ""))));
        let configurations = named.into_iter().enumerate().map(configured).collect();
        let machine = Machine { placement, ..record.machine };
        let new = Experiment { started_at: wall(), link, machine, ..record };
        let (mut experiment, finished) = begin(new, self.place.resumed.as_ref(), folder)?;
        if server.is_some() {
            experiment.databases.push(Database { name: reached.database.clone(), dropped: false });
        }
        let disk = pid.and_then(Disk::of_server);
        let sampler = Sampler::new(counting, disk, folder.clone(), epoch).await?;
        let world = World {
            epoch,
            folder: folder.clone(),
            inputs,
            server: std::mem::take(reached),
            machine: MachineState { first_reading, waits: self.waits, awake: None },
            sampler,
            slots: BTreeMap::new(),
            progress,
            stop: Stop::default(),
        };
        let judge = self.judge;
        Ok(Runner { experiment, configurations, consumer, finished, runs: 0, judge, world })
    }

    /// Connects to the server, if there is one. Returns the connection that reads its counters, and
    /// its process on this machine.
    async fn connect(
        &self,
        server: Option<&ServerHandle>,
        reached: &mut MeasuredServer,
    ) -> Result<(Option<Hosts>, Option<u32>)> {
        if let Some(server) = server {
            hosts::fits(server, &self.planned.workload, self.request.goes_through_the_tap())?;
        }
        let (listening, pid) = self.listening(server).await;
        (reached.database, reached.listening) = (admin::new_database(), listening);
        let Some(server) = server else { return Ok((None, pid)) };
        reached.is_own = server.pid().is_some();
        let admin = reached.admin.insert(Hosts::connect(server, &reached.database).await?);
        if is_external(server) {
            admin.claim(&self.place.id).await?;
        }
        Ok((Some(Hosts::counting(server, &reached.database).await?), pid))
    }

    /// Leaves out the arms that cannot talk to the server. Returns by id the options that drivers
    /// do not report.
    async fn probe(
        &mut self,
        folder: &Folder,
        epoch: &Epoch,
        at: (&ServerHandle, &str),
        reached: &MeasuredServer,
        progress: &LiveProgress,
    ) -> Result<BTreeMap<String, Seen>> {
        let Some(wanted) = self.probe else { return Ok(BTreeMap::new()) };
        let ground = Ground {
            folder,
            epoch,
            admin: reached.admin.as_ref(),
            database: &reached.database,
            is_standalone: at.0.record().topology == STANDALONE,
        };
        let probed = try_arms(&mut self.installed, wanted, &ground, at, progress).await;
        let (left_out, seen) = probed?;
        self.planned.unavailable.extend(left_out);
        Ok(seen)
    }

    /// Starts tap and link before the server, with one port for each arm, and one for the consumer,
    /// whose messages are recorded.
    async fn start_tap(
        &self,
        server: &ServerHandle,
        uri: &str,
        arms: usize,
        epoch: &Epoch,
        folder: &Folder,
    ) -> Result<TapPath> {
        let (link, mark) = (self.request.link.as_deref(), self.installed.consumer.is_some());
        TapPath::start(uri, server.record(), arms + 1, epoch, link, mark, folder.path()).await
    }

    /// Gives the processes their cores, and those of the arms their memory. A consumer is no arm:
    /// it has all the memory that it wants.
    fn limit(&mut self, placement: Option<&Placement>) {
        let memory_bytes = self.planned.client_memory.as_ref().map(|it| it.bytes);
        let cores = placement.map_or(Vec::new(), |it| it.clients.clone());
        for (_, arm) in &mut self.installed.arms {
            (arm.cores, arm.memory_bytes) = (cores.clone(), memory_bytes);
        }
        if let Some((_, consumer)) = &mut self.installed.consumer {
            (consumer.cores, consumer.memory_bytes) = (cores.clone(), None);
        }
    }

    /// The local sockets of somebody else's server, and the process of the server on this machine.
    async fn listening(&self, server: Option<&ServerHandle>) -> (Vec<ListenAddress>, Option<u32>) {
        let places = match self.server.as_ref().and_then(Reached::uri) {
            Some(uri) => places(uri).await,
            None => Vec::new(),
        };
        // Where several listen, none is known to be the server.
        let one = || <[u32; 1]>::try_from(listeners(&places)).ok().map(|[pid]| pid);
        let pid = server.and_then(ServerHandle::pid).or_else(one);
        (places, pid)
    }

    /// The connection string of the first host, and those of the others; an arm adds its options.
    fn uris(&self, server: Option<&ServerHandle>) -> Result<(String, Vec<String>)> {
        let own = self.planned.workload.plan.uri_options.clone();
        let options = own.into_iter().chain(self.request.options()?).collect();
        let uris = server.map_or(Vec::new(), ServerHandle::uris);
        let mut uris = uris.into_iter().map(|uri| with_options(uri, &options));
        Ok((uris.next().unwrap_or_default(), uris.collect()))
    }

    /// The record of the experiment, without what is found out later.
    fn record(&self, named: &[Named], seen: &BTreeMap<String, Seen>, server: Server) -> Experiment {
        let shares = self.installed.shares(&self.request.by_driver);
        let with_seen = |(id, it, twin): &Named| {
            // A twin is the baseline once more.
            let id_asked = if twin.is_empty() { id } else { &named[0].0 };
            let share = shares.get(id_asked).cloned().unwrap_or_default();
            Arm { seen: seen.get(id_asked).cloned(), share, ..arm(id, it, twin) }
        };
        let mut request = self.request.clone();
        mask_hosts(request.parameters.values_mut());
        Experiment {
            schema_version: SCHEMA_VERSION,
            mongodyno: env!("CARGO_PKG_VERSION").to_owned(),
            id: self.place.id.clone(),
            started_at: String::new(),
            finished_at: None,
            ended: None,
            command: std::env::args().map(|word| mask_text(&word)).collect(),
            request: Some(request),
            settings: self.planned.settings.clone(),
            gaps: Vec::new(),
            plan: self.planned.workload.plan.clone(),
            study: None,
            arms: named.iter().map(with_seen).collect(),
            consumer: self.installed.consumer.as_ref().map(|(id, it)| arm(id, it, "")),
            unavailable: self.planned.unavailable.clone(),
            server,
            databases: Vec::new(),
            link: None,
            machine: machine::describe(),
            client_memory: self.planned.client_memory.clone(),
        }
    }

    /// The arms by id, with the reason of each twin of the baseline. Without verdicts it has none.
    pub(crate) fn named(&self) -> Vec<Named> {
        let arms = &self.installed.arms;
        let mut named: Vec<_> = arms.iter().cloned().map(|(id, it)| (id, it, "")).collect();
        if self.planned.settings.conduct.figures_only {
            return named;
        }
        let (id, baseline) = arms[0].clone();
        named.insert(1, (format!("{id} ({AA})"), baseline.clone(), AA));
        if self.request.goes_through_the_tap() {
            // One arm goes past the tap, to show the tap's cost in the result.
            named.push((format!("{id} ({DIRECT})"), baseline, DIRECT));
        }
        named
    }
}

/// The record to write, and the number of finished rounds.
fn begin(new: Experiment, resumed: Option<&Resumed>, folder: &Folder) -> Result<(Experiment, u32)> {
    let Some(resumed) = resumed else { return Ok((new, 0)) };
    folder.keep_rounds(resumed.finished)?;
    Ok((resumed.go_on(), resumed.finished))
}
