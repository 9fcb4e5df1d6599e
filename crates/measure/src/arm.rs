//! One arm in one round: its living processes, spoken to as one.

use base::say;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adapter::environment::Environment;
use adapter::messages::{Answer, Ended, Opened, Prepare, Request, Role, Turned};
use adapter::process::{AdapterProcess, Failure};
use base::child;
use base::clock::Epoch;
use server::keep_secret;
use server::uri::selection_timeout;
use workload::plan::{Counter, Kind, Operation, Pacing};

/// Limit for connecting; above the 5 s of serverSelectionTimeout that every URI carries.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// A worker with so many failures in a row gives the phase up: the server is gone.
pub const ERRORS_CONSECUTIVE_MAX: u32 = 10;
/// Limit for decoding pools and reading schedules.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(60);
/// Limit beyond a turn's end and the driver's own limits.
const TURN_GRACE: Duration = Duration::from_secs(10);
/// Duration of the calibration that makes documents.
const MAKING: Duration = Duration::from_millis(150);
const NOOP_OPERATIONS: u64 = 50_000;

/// An arm's processes in one round.
pub struct LiveArm {
    pub index: usize,
    /// Its place in the starting order.
    pub position: u32,
    /// The reason why it left this round; its processes are gone.
    pub failed: Option<String>,
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
    /// A number of processes of the arm's own, in place of the phases' numbers.
    pub own_processes: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// The answers of its processes, merged.
    pub turned: Turned,
    pub until_ns: u64,
    pub cpu_ns: u64,
}

impl Turn {
    /// Operations and nanoseconds that throughput is made of (methodology 2.7 c). With one worker a
    /// turn's time runs to the last end. With more, operations completed by the deadline count over
    /// the turn's length: after it fewer workers run than were asked for.
    pub fn counted(&self, one_worker: bool) -> (u64, u64) {
        let turned = self.turned;
        if one_worker || turned.exhausted || turned.gave_up || turned.completed_by_deadline == 0 {
            (turned.operations, turned.ended_ns.saturating_sub(turned.began_ns))
        } else {
            (turned.completed_by_deadline, self.until_ns.saturating_sub(turned.began_ns))
        }
    }

    /// Operations a second, by [`Self::counted`].
    pub fn rate(&self, one_worker: bool) -> f64 {
        let (operations, ns) = self.counted(one_worker);
        operations as f64 * 1e9 / ns.max(1) as f64
    }
}

pub struct Target<'a> {
    pub role: Role,
    /// URI with the arm's options; credentials only here.
    pub uri: &'a str,
    pub database: &'a str,
}

impl Target<'_> {
    fn turn_grace(&self) -> Duration {
        if self.uri.is_empty() {
            return Duration::ZERO;
        }
        selection_timeout(self.uri) * ERRORS_CONSECUTIVE_MAX
    }
}

impl LiveArm {
    /// Starts the processes of an arm; a failure stays in `failed`.
    pub async fn start(
        index: usize,
        position: u32,
        environment: &Environment,
        processes: u32,
        log: &Path,
        epoch: &Epoch,
        target: &Target<'_>,
    ) -> Self {
        let mut arm = Self {
            index,
            position,
            failed: None,
            opened: None,
            wakeups_us: Vec::new(),
            turn_grace: target.turn_grace() + TURN_GRACE,
            processes: Vec::new(),
            active: processes as usize,
            own_processes: environment.processes,
        };
        // The adapter may repeat it in its own lines.
        keep_secret(target.uri);
        for _ in 0..processes {
            match AdapterProcess::start(environment, log, epoch).await {
                Ok(process) => arm.processes.push(process),
                Err(failure) => return arm.lose(&failure).await,
            }
        }
        if target.uri.is_empty() {
            return arm; // `--server none`: operations that need no server
        }
        let open = Request::Open {
            uri: target.uri.to_owned(),
            database: target.database.to_owned(),
            role: target.role,
        };
        match arm.request_all(|_| open.clone(), OPEN_TIMEOUT).await {
            Ok(answers) => {
                if let Some(Answer::Opened(opened)) = answers.into_iter().next() {
                    arm.opened = Some(*opened);
                }
                arm
            }
            Err(failure) => arm.lose(&failure).await,
        }
    }

    /// An arm that is started no more.
    pub fn absent(index: usize, position: u32, reason: String) -> Self {
        Self {
            index,
            position,
            failed: Some(reason),
            opened: None,
            wakeups_us: Vec::new(),
            turn_grace: Duration::ZERO,
            processes: Vec::new(),
            active: 0,
            own_processes: None,
        }
    }

    async fn lose(mut self, failure: &Failure) -> Self {
        self.fail(failure).await;
        self
    }

    pub async fn fail(&mut self, failure: &dyn std::fmt::Display) {
        if self.failed.is_none() {
            self.failed = Some(failure.to_string());
        }
        for process in &mut self.processes {
            process.kill().await;
        }
        self.processes.clear();
    }

    pub fn hello(&self) -> Option<&adapter::messages::Hello> {
        self.processes.first()?.hello.as_ref()
    }

    pub fn alive(&self) -> bool {
        self.failed.is_none()
    }

    async fn request_all(
        &mut self,
        request: impl Fn(usize) -> Request,
        timeout: Duration,
    ) -> Result<Vec<Answer>, Failure> {
        // All are asked before the first is awaited: they work side by side.
        let mut names = Vec::new();
        let active = self.processes.iter_mut().take(self.active);
        for (number, process) in active.enumerate() {
            let request = request(number);
            names.push(request.name());
            process.send(&request).await;
        }
        let mut answers = Vec::new();
        for (process, name) in self.processes.iter_mut().zip(names) {
            answers.push(process.answer(name, timeout).await?);
        }
        Ok(answers)
    }

    /// Sends each process its `prepare`. Processes without one stay idle until the next phase.
    pub async fn prepare(&mut self, prepares: Vec<Prepare>) {
        if !self.alive() {
            return;
        }
        self.active = prepares.len();
        let request = |number: usize| Request::Prepare(Box::new(prepares[number].clone()));
        let answers = self.request_all(request, PREPARE_TIMEOUT).await;
        if let Err(failure) = expect(answers, "armed", |answer| matches!(answer, Answer::Armed)) {
            self.fail(&failure).await;
        }
    }

    /// Runs one turn of all processes, from now until `length` has passed. None: the arm was lost.
    pub async fn turn(&mut self, epoch: &Epoch, length: Duration) -> Option<Turn> {
        if !self.alive() {
            return None;
        }
        let cpu_before = self.cpu_ns();
        let sent_ns = epoch.now_ns();
        let until_ns = sent_ns + u64::try_from(length.as_nanos()).unwrap_or(u64::MAX / 4);
        let request = |_| Request::Turn { start_ns: 0, until_ns };
        let answers = match self.request_all(request, length + self.turn_grace).await {
            Ok(answers) => answers,
            Err(failure) => {
                self.fail(&failure).await;
                return None;
            }
        };
        let cpu_ns = self.cpu_ns().saturating_sub(cpu_before);
        let mut total: Option<Turned> = None;
        for answer in answers {
            let Answer::Turned(turned) = answer else {
                let failure = Failure::Unexpected { request: "turn", answer: answer.name() };
                self.fail(&failure).await;
                return None;
            };
            total = Some(total.map_or(turned, |sum| add(sum, turned)));
        }
        let turned = total?;
        self.wakeups_us.push(turned.began_ns.saturating_sub(sent_ns) as f64 / 1e3);
        Some(Turn { turned, until_ns, cpu_ns })
    }

    /// Ends the phase: samples are on disk. None: the arm was lost.
    pub async fn end(&mut self) -> Option<Ended> {
        if !self.alive() {
            return None;
        }
        let answers = match self.request_all(|_| Request::End, PREPARE_TIMEOUT).await {
            Ok(answers) => answers,
            Err(failure) => {
                self.fail(&failure).await;
                return None;
            }
        };
        let mut all = Ended::default();
        for answer in answers {
            let Answer::Ended(ended) = answer else {
                let failure = Failure::Unexpected { request: "end", answer: answer.name() };
                self.fail(&failure).await;
                return None;
            };
            all.operations += ended.operations;
            all.samples += ended.samples;
            all.totals.documents += ended.totals.documents;
            all.totals.sum += ended.totals.sum;
            all.consumer = all.consumer.or(ended.consumer);
            for error in ended.errors {
                match all
                    .errors
                    .iter_mut()
                    .find(|known| known.code == error.code && known.name == error.name)
                {
                    Some(known) => known.count += error.count,
                    None => all.errors.push(error),
                }
            }
        }
        Some(all)
    }

    /// Cost of one operation's bookkeeping, ns: the adapter's own loop around a no-op.
    pub async fn calibrate(&mut self, epoch: &Epoch, folder: &Path) -> Option<f64> {
        let samples = folder.join(format!("noop-{}.bin", self.index));
        let schedule = folder.join("noop.schedule");
        let prepare = noop_prepare(&samples, &schedule);
        // The first process is enough: they are copies of one program.
        self.prepare(vec![prepare]).await;
        let turn = self.turn(epoch, Duration::from_secs(5)).await;
        self.end().await;
        let _ = std::fs::remove_file(samples);
        let turned = turn?.turned;
        self.wakeups_us.clear();
        Some((turned.ended_ns - turned.began_ns) as f64 / turned.operations.max(1) as f64)
    }

    /// Cost of making one document, ns: the difference between a no-op with and one without a
    /// document, in the same process. None where the adapter makes no document for a no-op.
    pub async fn calibrate_making(&mut self, epoch: &Epoch, making: &Prepare) -> Option<f64> {
        if !self.hello()?.capabilities.noop_makes {
            return None;
        }
        let mut plain = making.clone();
        plain.operations[0].documents = None;
        let (plain_ns, _) = self.each_ns(epoch, plain).await?;
        let (making_ns, made_all) = self.each_ns(epoch, making.clone()).await?;
        let _ = std::fs::remove_file(&making.samples);
        made_all.then_some((making_ns - plain_ns).max(0.0))
    }

    /// Time of one no-op, ns, and whether each made a document.
    async fn each_ns(&mut self, epoch: &Epoch, prepare: Prepare) -> Option<(f64, bool)> {
        self.prepare(vec![prepare]).await;
        let turn = self.turn(epoch, MAKING).await;
        self.wakeups_us.pop();
        let ended = self.end().await?;
        let turned = turn?.turned;
        let each_ns = (turned.ended_ns - turned.began_ns) as f64 / turned.operations.max(1) as f64;
        Some((each_ns, ended.totals.documents == turned.operations))
    }

    /// Largest difference between the processes' clocks and the core's, us.
    pub fn clock_within_us(&self) -> Option<f64> {
        let farthest = self.processes.iter().map(|process| process.clock_within_ns).max()?;
        Some(farthest as f64 / 1e3)
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

fn add(sum: Turned, more: Turned) -> Turned {
    Turned {
        began_ns: sum.began_ns.min(more.began_ns),
        ended_ns: sum.ended_ns.max(more.ended_ns),
        operations: sum.operations + more.operations,
        completed_by_deadline: sum.completed_by_deadline + more.completed_by_deadline,
        errors: sum.errors + more.errors,
        exhausted: sum.exhausted && more.exhausted,
        gave_up: sum.gave_up || more.gave_up,
    }
}

fn expect(
    answers: Result<Vec<Answer>, Failure>,
    wanted: &'static str,
    right: impl Fn(&Answer) -> bool,
) -> Result<(), Failure> {
    let request = if wanted == "armed" { "prepare" } else { wanted };
    match answers?.iter().find(|answer| !right(answer)) {
        Some(answer) => Err(Failure::Unexpected { request, answer: answer.name() }),
        None => Ok(()),
    }
}

/// The `prepare` of the calibration: one worker, [`NOOP_OPERATIONS`] no-ops.
pub fn noop_prepare(samples: &Path, schedule: &Path) -> Prepare {
    let path = |path: &Path| PathBuf::from(path).to_string_lossy().into_owned();
    Prepare {
        phase: "noop".to_owned(),
        role: Role::Worker,
        warmup: true,
        samples: path(samples),
        schedule: path(schedule),
        pools: vec![],
        document_form: "native".to_owned(),
        workers: 1,
        first_worker: 0,
        limits: Some(vec![NOOP_OPERATIONS]),
        pacing: Pacing::Awaited { think_ns: 0 },
        counter: Counter { first: 0, stride: 1, loaded: 0 },
        errors_consecutive_max: ERRORS_CONSECUTIVE_MAX,
        operations: vec![Operation::new("noop", Kind::Noop, "")],
        consumer: None,
    }
}
