//! One arm in one round: its living processes, spoken to as one.

use base::say;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adapter::adapter_process::{AdapterProcess, Failure};
use adapter::environment::Environment;
use adapter::memory_limit::MemoryLimit;
use adapter::patience::Patience;
use adapter::protocol::{
    AdapterAnswer, AdapterRequest, ClientTarget, Deal, Hello, Opened, PhaseEnd, PoolDocuments,
    Prepare, UriKind,
};
use base::child;
use base::clock::Epoch;
use base::paths::is_full;
use base::process_id::ProcessId;
use record::records::Death;
use server::connection_string::{parts, selection_timeout, without_option};
use server::{keep_secret, would_work};
use workload::plan::ClientSharing;
use workload::plan::Plan;

use crate::admin::MongodCounters;
use crate::capabilities::{self, ArmPlan};
use crate::collect::tail::{Claimed, SampleTail};
use crate::hosts::Hosts;
use crate::turn::{ArmTurn, ERRORS_CONSECUTIVE_MAX};

/// Documents that cost the same to make: path of their pool, stamps, shape.
pub(crate) type DocumentsMade = (String, PoolDocuments, Option<String>);

/// Limit for connecting; above the 5 s of serverSelectionTimeout that every URI carries.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// Limit for decoding pools and reading schedules.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time without a sign of life beyond a turn's end and the driver's own limits.
const TURN_GRACE: Duration = Duration::from_secs(10);
/// The largest integer of the contract: only limits end such a turn.
const UNTIL_NS_MAX: u64 = (1 << 53) - 1;

/// An arm's processes in one round.
pub struct LiveArm {
    pub index: usize,
    /// The place in the starting order.
    pub position: u32,
    /// The reason why it left this round; its processes are gone.
    pub failed: Option<String>,
    /// The disk of its samples was full then.
    pub disk_full: bool,
    /// Why its adapter or driver cannot do the present phase, as its `prepare` was answered.
    pub refused: Option<String>,
    /// The options its driver resolved, from the first process.
    pub opened: Option<Opened>,
    /// Times from the message to the first operation, us.
    pub wakeups_us: Vec<f64>,
    /// Limit for the answer after a turn's end. Each of the failures that make a worker give up may
    /// wait for a lost server.
    turn_grace: Duration,
    processes: Vec<AdapterProcess>,
    /// The processes of this phase; phases may need different numbers.
    active: usize,
    /// The arm's part in the plan; None for a consumer, and without a running process.
    pub part: Option<ArmPlan>,
    /// The sample files of this phase, by process.
    samples: Vec<String>,
    /// They are read on after each turn.
    tail: Option<SampleTail>,
    /// What was claimed in the last phase that has ended.
    claimed: Claimed,
    /// None: no limit.
    memory: Option<Arc<MemoryLimit>>,
    /// What making a document costs, ns, of each kind of document that it has made.
    pub(crate) making: Vec<(DocumentsMade, Option<f64>)>,
    /// The phase that it works on, and whether that is the warm-up.
    pub stage: Option<(String, bool)>,
    /// It died of memory.
    pub death: Option<Death>,
}

/// The server that an arm's processes connect to, and their plan.
pub struct Target<'a> {
    /// The connection string with the arm's options, the only place of credentials. None:
    /// operations that need no server.
    pub uri: Option<&'a str>,
    /// The connection strings of further hosts.
    pub others: &'a [String],
    pub database: &'a str,
    /// None for a consumer.
    pub plan: Option<&'a Plan>,
}

impl Target<'_> {
    fn turn_grace(&self) -> Duration {
        self.uri.map(selection_timeout).unwrap_or_default() * ERRORS_CONSECUTIVE_MAX
    }

    fn open(&self, uri: &str, kind: UriKind, part: Option<&ArmPlan>) -> AdapterRequest {
        let clients = self.plan.map(|plan| plan.clients).unwrap_or_default();
        let count = part.map_or(1, |part| clients.count(part.workers()));
        // Hosts are dealt in turn whoever shares a client: that spreads what every worker writes.
        let in_turn = clients == ClientSharing::Operation || !self.others.is_empty();
        let deal = if in_turn { Deal::Operation } else { Deal::Worker };
        let hosts = std::iter::once(uri).chain(self.others.iter().map(String::as_str));
        let hosts: Vec<ClientTarget> = hosts.map(|uri| client_target(uri, kind)).collect();
        let count = if hosts.len() > 1 { hosts.len() } else { count as usize };
        let clients = hosts.into_iter().cycle().take(count).collect();
        AdapterRequest::Open { clients, deal, database: self.database.to_owned() }
    }
}

/// A connection string with its parts. A driver that takes no option but those asked for gets
/// the time to wait for a server beside the string alone.
pub fn client_target(uri: &str, kind: UriKind) -> ClientTarget {
    let said = parts(uri);
    ClientTarget {
        uri: match kind {
            UriKind::Standard => uri.to_owned(),
            UriKind::Plain => without_option(uri, "serverSelectionTimeoutMS"),
        },
        hosts: said.hosts,
        user: said.user,
        password: said.password,
        options: said.options,
    }
}

impl LiveArm {
    /// Starts the processes of an arm, as many as its part in the plan needs; a failure stays in
    /// `failed`.
    pub async fn start(
        index: usize,
        position: u32,
        environment: &Environment,
        log: &Path,
        epoch: &Epoch,
        target: &Target<'_>,
    ) -> Self {
        let mut arm = Self { failed: None, ..Self::absent(index, position, String::new()) };
        arm.turn_grace = target.turn_grace() + TURN_GRACE;
        // The adapter may repeat it in its own lines.
        target.uri.inspect(|uri| keep_secret(uri));
        let planned = target.plan.map(|plan| plan.with_processes(environment.processes));
        let planned = planned.iter().flat_map(|plan| &plan.phases).map(|it| it.processes).max();
        let limit = |bytes| Arc::new(MemoryLimit::new(bytes, planned.unwrap_or(1)));
        arm.memory = environment.memory_bytes.map(limit);
        loop {
            let memory = arm.memory.as_ref();
            match AdapterProcess::start_within(environment, log, epoch, memory).await {
                Ok(process) => arm.processes.push(process),
                Err(failure) => return arm.lose(&failure).await,
            }
            if arm.part.is_none()
                && let (Some(hello), Some(plan)) = (arm.hello(), target.plan)
            {
                let part = capabilities::part(hello, plan, environment.processes);
                arm.part = Some(part);
            }
            let wanted = arm.part.as_ref().map_or(1, ArmPlan::processes);
            if arm.processes.len() >= wanted as usize {
                break;
            }
        }
        arm.active = arm.processes.len();
        let Some(uri) = target.uri else {
            return arm; // `--server none`: operations that need no server
        };
        let kind = arm.hello().map(|hello| hello.capabilities.uri).unwrap_or_default();
        let open = target.open(uri, kind, arm.part.as_ref());
        match arm.request_all(|_| open.clone(), OPEN_TIMEOUT).await {
            Ok(answers) => {
                if let Some(AdapterAnswer::Opened(opened)) = answers.into_iter().next() {
                    arm.opened = Some(*opened);
                }
                arm
            }
            Err(mut failure) => {
                if let Failure::Refused { message, .. } = &mut failure
                    && let Some(what) = would_work(message)
                {
                    *message = format!("{message} ({what})");
                }
                arm.lose(&failure).await
            }
        }
    }

    /// An arm that is started no more.
    pub fn absent(index: usize, position: u32, reason: String) -> Self {
        Self {
            index,
            position,
            failed: Some(reason),
            disk_full: false,
            refused: None,
            opened: None,
            wakeups_us: Vec::new(),
            turn_grace: Duration::ZERO,
            processes: Vec::new(),
            active: 0,
            part: None,
            samples: Vec::new(),
            tail: None,
            claimed: Claimed::default(),
            memory: None,
            making: Vec::new(),
            stage: None,
            death: None,
        }
    }

    async fn lose(mut self, failure: &Failure) -> Self {
        self.fail_by(failure).await;
        self
    }

    async fn fail_by(&mut self, failure: &Failure) {
        if let (Failure::OutOfMemory { said, .. }, Some(memory)) = (failure, &self.memory) {
            let (phase, warmup) = self.stage.clone().unzip();
            let death = Death {
                limit_bytes: memory.bytes,
                used_bytes: memory.peak_bytes(),
                said: said.clone(),
                phase,
                warmup: warmup.unwrap_or(false),
                operations: 0,
                documents: None,
                server: MongodCounters::new(),
            };
            self.fail(&death.sentence()).await;
            self.death = Some(death);
        }
        self.fail(failure).await;
    }

    pub async fn fail(&mut self, failure: &dyn std::fmt::Display) {
        if self.failed.is_none() {
            self.failed = Some(failure.to_string());
            // Not later: the files of a calibration are removed, and there is room again.
            self.disk_full = self.samples.iter().any(|it| is_full(Path::new(it)));
        }
        for process in &mut self.processes {
            process.kill().await;
        }
        self.processes.clear();
    }

    pub fn hello(&self) -> Option<&Hello> {
        self.processes.first()?.hello.as_ref()
    }

    pub fn alive(&self) -> bool {
        self.failed.is_none()
    }

    /// Asks all active processes before the first is awaited: they work side by side.
    async fn send_all(&mut self, request: impl Fn(usize) -> AdapterRequest) -> &'static str {
        let mut name = "";
        for (number, process) in self.processes.iter_mut().take(self.active).enumerate() {
            let request = request(number);
            name = request.name();
            process.send(&request).await;
        }
        name
    }

    async fn request_all(
        &mut self,
        request: impl Fn(usize) -> AdapterRequest,
        timeout: Duration,
    ) -> Result<Vec<AdapterAnswer>, Failure> {
        let name = self.send_all(request).await;
        let mut answers = Vec::new();
        for process in self.processes.iter_mut().take(self.active) {
            answers.push(process.answer(name, timeout).await);
        }
        // All are read, so that none of them is taken for the answer to the next request.
        answers.into_iter().collect()
    }

    /// Sends each process its `prepare`. Processes without one stay idle until the next phase. An
    /// arm that cannot do the phase lives on, and has no turns in it.
    pub async fn prepare(&mut self, prepares: Vec<Prepare>) {
        if !self.alive() {
            return;
        }
        self.refused = None;
        self.active = prepares.len();
        self.samples = prepares.iter().map(|it| it.samples().to_owned()).collect();
        let request = |number: usize| AdapterRequest::Prepare(Box::new(prepares[number].clone()));
        let answers = match self.request_all(request, PREPARE_TIMEOUT).await {
            Ok(answers) => answers,
            Err(Failure::Refused { code, message, .. }) if code == "unsupported" => {
                self.refused = Some(message);
                return;
            }
            Err(failure) => return self.fail_by(&failure).await,
        };
        if let Some(answer) = answers.iter().find(|answer| !matches!(answer, AdapterAnswer::Ready))
        {
            let failure = Failure::Unexpected { request: "prepare", answer: answer.name() };
            return self.fail_by(&failure).await;
        }
        match SampleTail::open(&prepares) {
            Ok(tail) => self.tail = Some(tail),
            Err(error) => self.fail(&error.message).await,
        }
    }

    /// Runs one turn of all processes, from now until its length has passed. None: the arm was
    /// lost, or takes no part in the phase. `server` says whether it works where the arm rests.
    pub async fn turn(
        &mut self,
        epoch: &Epoch,
        patience: Patience,
        server: Option<&Hosts>,
    ) -> Option<ArmTurn> {
        if !self.alive() || self.refused.is_some() {
            return None;
        }
        let cpu_before = self.cpu_ns();
        let (sent, sent_ns) = (Instant::now(), epoch.now_ns());
        let until_ns = patience.length.map_or(UNTIL_NS_MAX, |length| {
            let length_ns = u64::try_from(length.as_nanos()).unwrap_or(UNTIL_NS_MAX);
            length_ns.saturating_add(sent_ns).min(UNTIL_NS_MAX)
        });
        self.send_all(|_| AdapterRequest::Turn { until_ns }).await;
        let (mut done, mut failed) = (Vec::new(), None);
        let busy = async || match server {
            Some(admin) => admin.works().await,
            None => false,
        };
        for (process, samples) in self.processes.iter_mut().zip(&self.samples) {
            let samples = Path::new(samples);
            let patience = (patience, self.turn_grace);
            match process.answer_to_turn(patience, sent, samples, busy).await {
                Ok(AdapterAnswer::TurnDone(answer)) => {
                    let (now_ns, high_ns) = (answer.began_ns, epoch.now_ns());
                    if !(sent_ns..=high_ns).contains(&now_ns) {
                        failed = Some(Failure::Clock { now_ns, low_ns: sent_ns, high_ns });
                        break;
                    }
                    done.push(answer);
                }
                Ok(answer) => {
                    failed = Some(Failure::Unexpected { request: "turn", answer: answer.name() });
                    break;
                }
                Err(failure) => {
                    failed = Some(failure);
                    break;
                }
            }
        }
        if let Some(failure) = failed {
            self.fail_by(&failure).await;
            return None;
        }
        let cpu_ns = self.cpu_ns().saturating_sub(cpu_before);
        let turned = match self.tail.as_mut()?.turn(&done, until_ns, epoch.now_ns()).await {
            Ok(turned) => turned,
            Err(error) => {
                self.fail(&error.message).await;
                return None;
            }
        };
        self.wakeups_us.push(turned.began_ns.saturating_sub(sent_ns) as f64 / 1e3);
        Some(ArmTurn { turned, until_ns, cpu_ns })
    }

    /// Ends the phase. None: the arm was lost, or takes no part in it.
    pub async fn end(&mut self) -> Option<PhaseEnd> {
        if !self.alive() || self.refused.is_some() {
            return None;
        }
        let answers = match self.request_all(|_| AdapterRequest::End, PREPARE_TIMEOUT).await {
            Ok(answers) => answers,
            Err(failure) => {
                self.fail_by(&failure).await;
                return None;
            }
        };
        let mut all = PhaseEnd::default();
        for answer in answers {
            let AdapterAnswer::Ended(ended) = answer else {
                let failure = Failure::Unexpected { request: "end", answer: answer.name() };
                self.fail_by(&failure).await;
                return None;
            };
            all.totals.documents += ended.totals.documents;
            all.totals.sum += ended.totals.sum;
            let add = |sum: &mut Option<u64>, more: Option<u64>| {
                *sum = more.map_or(*sum, |more| Some(sum.unwrap_or(0) + more));
            };
            add(&mut all.totals.retries, ended.totals.retries);
            all.consumer = all.consumer.or(ended.consumer);
            if let Some(cost) = ended.runtime {
                let sum = all.runtime.get_or_insert_default();
                add(&mut sum.gc_count, cost.gc_count);
                add(&mut sum.gc_ns, cost.gc_ns);
            }
            for error in ended.errors {
                let mut known = all.errors.iter_mut();
                match known.find(|it| it.code == error.code && it.name == error.name) {
                    Some(known) => known.count = known.count.saturating_add(error.count),
                    None => all.errors.push(error),
                }
            }
        }
        self.stage = None;
        match self.tail.as_mut()?.close() {
            Ok(claimed) => self.claimed = claimed.clone(),
            Err(error) => {
                self.fail(&error.message).await;
                return None;
            }
        }
        Some(all)
    }

    /// What its samples have claimed in the phase that ended last.
    pub fn claimed(&self) -> &Claimed {
        &self.claimed
    }

    /// The sample files of the present phase, one a process.
    pub fn samples(&self) -> &[String] {
        &self.samples
    }

    /// Largest difference between the processes' clocks and the core's, us.
    pub fn clock_within_us(&self) -> Option<f64> {
        let farthest = self.processes.iter().map(|process| process.clock_within_ns).max()?;
        Some(farthest as f64 / 1e3)
    }

    /// The arm's processes, for readings from outside.
    pub fn processes(&self) -> Vec<ProcessId> {
        let pids = self.processes.iter().map(|it| it.pid().as_raw().cast_unsigned());
        pids.filter_map(ProcessId::of).collect()
    }

    /// CPU time of all processes so far, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.processes.iter().filter_map(AdapterProcess::cpu_ns).sum()
    }

    /// Resident set and its peak over all processes, bytes.
    pub fn rss_bytes(&self) -> (u64, u64) {
        let each = self.processes.iter().filter_map(|process| child::rss_bytes(process.pid()));
        each.fold((0, 0), |(now, peak), (more, higher)| (now + more, peak + higher))
    }

    pub fn reset_rss_peak(&self) {
        for process in &self.processes {
            child::reset_rss_peak(process.pid());
        }
    }

    pub async fn close(&mut self) {
        for process in std::mem::take(&mut self.processes) {
            if let Err(failure) = process.close().await {
                // The phases are over and their samples on disk: a bad end voids nothing.
                say!("warning: {failure}");
            }
        }
    }
}
