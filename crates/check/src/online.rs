//! Checks on a server: right answers, receipts, the bytes that arrived, reported failures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bson::{Bson, Document, RawDocumentBuf};

use crate::altered::{altered, comparable};
use crate::bench::Bench;
use crate::opening::{acknowledges, refused};
use crate::{CheckResult, consumed, consumer, equal, sampled};
use adapter::environment::Environment;
use adapter::patience::Patience;
use adapter::protocol::{Alters, PhaseEnd};
use measure::admin::{Admin, difference};
use measure::arm::{LiveArm, Target};
use measure::input_files::InputFiles;
use measure::measured::MeasuredPhase;
use measure::phase::{Which, prepares};
use measure::summary::{PhaseSource, summarise};
use record::records::PhaseRun;
use record::samples::Sample;
use server::connection_string::with_options;
use stats::gates::GateId;
use workload::operations::inserts;
use workload::parse;
use workload::plan::{Count, Limit, OperationKind, Pacing, Phase, Plan};
use workload::pool::inserted_document;
use workload::population::Population;
use workload::{Workload, build};

const OPERATIONS: &str = include_str!("../../../workloads/check/operations.yaml");
const FAILURES: &str = include_str!("../../../workloads/check/failures.yaml");
/// Fixed, so that the plan of a check is the same each time.
const SEED: u64 = 1;
/// Long enough for every phase of `operations.yaml`; a second turn finishes the rest.
const TURN: Duration = Duration::from_secs(10);
/// The collection of `operations.yaml` whose documents carry the number of their operation.
const NUMBERED: &str = "numbered";
const OUTCOME_WRONG: u8 = 1;
const OUTCOME_ERROR: u8 = 2;

/// Runs all checks on a server, in a database that is claimed. Undeclared capabilities are left
/// out, and named.
pub async fn check(
    environment: &Environment,
    bench: &Bench<'_>,
    admin: &Admin,
) -> Vec<CheckResult> {
    let by_default = acknowledges(environment, bench, bench.uri).await;
    let asking = with_options(bench.uri, &BTreeMap::from([("w".to_owned(), "1".to_owned())]));
    let asks =
        by_default == Ok(false) && acknowledges(environment, bench, &asking).await == Ok(true);
    let uri = if asks { &asking } else { bench.uri };
    let bench = &Bench { uri, database: bench.database.clone(), ..*bench };
    let nobody = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500";
    let unknown = BTreeMap::from([("mdynUnknown".to_owned(), "1".to_owned())]);
    let unknown = with_options(bench.uri, &unknown);
    let mut checked = vec![
        CheckResult::of(
            "open: a server that is not there is a `connect` error",
            refused(environment, bench, nobody, "connect").await,
        ),
        CheckResult::of(
            "open: an option without effect is an `unsupported` error",
            refused(environment, bench, &unknown, "unsupported").await,
        ),
    ];
    let operations = CheckSession::open(environment, bench, admin, OPERATIONS, "operations").await;
    match operations {
        Ok(mut session) => session.operations(&mut checked).await,
        Err(problem) => checked.push(CheckResult::of("operations", Err(problem))),
    }
    let failures = CheckSession::open(environment, bench, admin, FAILURES, "failures").await;
    match failures {
        Ok(mut session) => session.failures(&mut checked).await,
        Err(problem) => checked.push(CheckResult::of("failures", Err(problem))),
    }
    checked.extend(consumer::check(environment, bench, admin).await);
    if asks {
        let with_w = "writes have w=1: the driver's own default has no answers";
        checked.push(CheckResult::of(with_w, Ok(())));
    }
    checked
}

/// One adapter process with one workload.
struct CheckSession<'a> {
    environment: &'a Environment,
    bench: &'a Bench<'a>,
    admin: &'a Admin,
    workload: Workload,
    inputs: InputFiles,
    arm: LiveArm,
}

impl<'a> CheckSession<'a> {
    async fn open(
        environment: &'a Environment,
        bench: &'a Bench<'a>,
        admin: &'a Admin,
        text: &str,
        name: &str,
    ) -> Result<Self, String> {
        let no_sets = BTreeMap::new();
        let path = Path::new(name).with_extension("yaml");
        let loaded = parse(text, &path, &no_sets).map_err(|error| error.to_string())?;
        let workload = build(&loaded, SEED).map_err(|error| error.to_string())?;
        let inputs = InputFiles::write(
            &workload.plan,
            &BTreeSet::from([None]),
            workload.pools.clone(),
            bench.folder,
            1.0,
        )
        .map_err(|error| error.to_string())?;
        for (number, collection) in workload.plan.collections.iter().enumerate() {
            let load = async {
                admin.create(&collection.name, collection).await?;
                admin.load(&collection.name, inputs.documents(&workload.plan, number)).await
            };
            load.await.map_err(|error: base::error::Error| error.to_string())?;
        }
        let mut session = Self {
            environment,
            bench,
            admin,
            workload,
            inputs,
            arm: LiveArm::absent(0, 0, String::new()),
        };
        session.start().await?;
        Ok(session)
    }

    /// Starts the adapter's processes, with the schedules of its part in the workload.
    async fn start(&mut self) -> Result<(), String> {
        self.arm = live(self.environment, self.bench, &self.workload.plan).await;
        if let Some(failed) = &self.arm.failed {
            return Err(failed.clone());
        }
        let part = self.arm.part.as_ref().ok_or("it takes no part")?;
        self.inputs.fit(&part.plan).map_err(|error| error.to_string())
    }

    /// The plan with the adapter's own processes.
    fn plan(&self) -> &Plan {
        self.arm.part.as_ref().map_or(&self.workload.plan, |part| &part.plan)
    }

    async fn operations(&mut self, checked: &mut Vec<CheckResult>) {
        for number in 0..self.workload.plan.phases.len() {
            let phase = self.plan().phases[number].clone();
            if let Some(missing) = self.missing(number) {
                let name = format!("{}: left out, {missing}", phase.name);
                checked.push(CheckResult::of(name, Ok(())));
                continue;
            }
            let result = self.operation(number, &phase).await;
            if let Some(said) = &self.arm.refused {
                // A driver's limit, such as no w:0, is no fault of its adapter.
                checked.push(CheckResult::of(format!("{}: left out, {said}", phase.name), Ok(())));
                continue;
            }
            checked.push(CheckResult::of(phase.name.clone(), result));
            if !self.arm.alive() {
                return;
            }
        }
        self.arm.close().await;
    }

    /// Why a phase is left out: the adapter cannot do it.
    fn missing(&self, number: usize) -> Option<String> {
        self.arm.part.as_ref()?.missing[number].clone()
    }

    /// A phase whose every answer must be right.
    async fn operation(&mut self, number: usize, phase: &Phase) -> Result<(), String> {
        let text = |it: base::error::Error| it.to_string();
        let collection = phase.operations[0].collection.clone();
        if phase.writes && !phase.continues {
            let (at, made) = self.inputs.collection(&self.workload.plan, &collection);
            self.admin.create(&collection, made).await.map_err(text)?;
            let documents = self.inputs.documents(&self.workload.plan, at);
            self.admin.load(&collection, documents).await.map_err(text)?;
        }
        let counts = phase.operations[0].kind == OperationKind::Count;
        let profiled =
            self.bench.exclusive && (counts || phase.operations[0].write_concern.is_some());
        if profiled {
            self.admin.profile(true).await.map_err(text)?;
        }
        let result = self.phase(number).await;
        if result.is_err() && profiled {
            // The profile of this phase must not reach the next one.
            self.admin.profile(false).await.map_err(text)?;
        }
        let (run, _) = result?;
        right(phase, &run)?;
        if inserts(&phase.operations[0]) > 0 {
            let found = self.admin.documents(&collection).await.map_err(text)?;
            if collection == NUMBERED {
                return self.numbered(number, phase, &found);
            }
            let alters = self.arm.hello().map(|it| &it.capabilities.alters[..]);
            inserted(&self.workload, self.plan(), number, &found, alters.unwrap_or_default())?;
        }
        if profiled && counts {
            let named = self.arm.opened.as_ref().map(|it| it.resolved["commands"]["count"].clone());
            let named = named.as_ref().and_then(serde_json::Value::as_str).map(str::to_owned);
            let sent = match &named {
                Some(named) => self.admin.profiled(named, &collection).await.map_err(text)?.len(),
                None => 1,
            };
            self.admin.profile(false).await.map_err(text)?;
            let named = named.unwrap_or_default();
            let problem = format!("it names {named} as the command of count and sends another");
            return if sent > 0 { Ok(()) } else { Err(problem) };
        }
        if profiled {
            let commands = self.admin.profiled("insert", &collection).await.map_err(text)?;
            self.admin.profile(false).await.map_err(text)?;
            sent(phase, &commands)?;
        }
        Ok(())
    }

    /// Whether `sequence` of each document is the index of its sample.
    fn numbered(
        &self,
        number: usize,
        phase: &Phase,
        found: &[RawDocumentBuf],
    ) -> Result<(), String> {
        let batch = phase.operations[0].count.map_or(1, Count::most);
        consumed::numbered(found, self.samples(number)?.into_iter(), batch)
    }

    /// Phases in which every operation fails, in a known way.
    async fn failures(&mut self, checked: &mut Vec<CheckResult>) {
        const CASES: [(&str, u8, i64); 5] = [
            ("find_nothing", OUTCOME_WRONG, 0),
            ("update_nothing", OUTCOME_WRONG, 0),
            ("delete_nothing", OUTCOME_WRONG, 0),
            ("duplicate_key", OUTCOME_ERROR, 11000),
            ("no_such_operator", OUTCOME_ERROR, 2),
        ];
        let (_, missing) = self.inputs.collection(&self.workload.plan, "missing");
        let emptied =
            self.admin.create("missing", missing).await.map_err(|error| error.to_string());
        checked.push(CheckResult::of("emptied a collection behind the adapter's back", emptied));
        for (number, (name, outcome, code)) in CASES.iter().enumerate() {
            if let Some(missing) = self.missing(number) {
                let name = format!("{name}: left out, {missing}");
                checked.push(CheckResult::of(name, Ok(())));
                continue;
            }
            let result = self.failure(number, *outcome, *code).await;
            checked.push(CheckResult::of(format!("{name} is reported"), result));
        }
        self.arm.close().await;
    }

    async fn failure(&mut self, number: usize, outcome: u8, code: i64) -> Result<(), String> {
        let (run, ended) = self.phase(number).await?;
        let outcomes: Vec<u8> = self.samples(number)?.iter().map(|it| it.outcome).collect();
        // The first document of a unique index is a right one.
        let right = usize::from(code == 11000);
        let as_expected = |it: &&u8| **it == outcome;
        let failed = outcomes.iter().filter(as_expected).count();
        equal("operations with the outcome of the contract", &failed, &(outcomes.len() - right))?;
        equal("operations", &run.by_operation[0].count, &(outcomes.len() as u64))?;
        if outcomes.len() < 8 {
            return Err(format!("{} operations were tried", outcomes.len()));
        }
        if code != 0 {
            let entry = ended.errors.iter().find(|it| it.code == code);
            let count = entry.map_or(0, |it| it.count);
            equal(&format!("`ended.errors` of code {code}"), &count, &(failed as u64))?;
        }
        Ok(())
    }

    /// Sample files of a phase, one a process.
    fn files(&self, number: usize) -> Vec<PathBuf> {
        let processes = 0..self.plan().phases[number].processes;
        processes.map(|it| self.inputs.samples(1, 0, number, it, false).into()).collect()
    }

    fn samples(&self, number: usize) -> Result<Vec<Sample>, String> {
        let mut all = Vec::new();
        for file in self.files(number) {
            all.extend(sampled::read(&file)?);
        }
        Ok(all)
    }

    async fn phase(&mut self, number: usize) -> Result<(PhaseRun, PhaseEnd), String> {
        let text = |it: base::error::Error| it.to_string();
        let plan = &self.plan().clone();
        let which = Which { round: 1, arm: 0, phase: number, warmup: false };
        let prepares = prepares(&self.inputs, plan, which, str::to_owned).map_err(text)?;
        self.arm.prepare(prepares).await;
        let mut measured = MeasuredPhase::new(0);
        measured.turn_length = TURN;
        let before = self.admin.counters(false).await.map_err(text)?;
        for _ in 0..3 {
            let turn =
                self.arm.turn(self.bench.epoch, Patience::timed(TURN, Duration::ZERO), None).await;
            measured.turns.push(turn.ok_or_else(|| self.failed())?);
            if turn.is_some_and(|it| it.turned.exhausted || it.turned.gave_up) {
                break;
            }
        }
        let ended = self.arm.end().await.ok_or_else(|| self.failed())?;
        measured.ended = Some(ended.clone());
        measured.claimed.clone_from(self.arm.claimed());
        let phase = &plan.phases[number];
        let mut after = self.admin.counters(false).await.map_err(text)?;
        while unacknowledged(phase) {
            // Waits until nothing arrives any more, which takes longer on a busy machine.
            tokio::time::sleep(Duration::from_millis(300)).await;
            let earlier =
                std::mem::replace(&mut after, self.admin.counters(false).await.map_err(text)?);
            if difference(&earlier, &after).get("opcounters.insert").is_none_or(|it| *it == 0) {
                break;
            }
        }
        measured.counters = difference(&before, &after);
        let source = PhaseSource {
            plan,
            number,
            files: self.files(number),
            inputs: &self.inputs,
            exclusive: self.bench.exclusive,
            hlog: format!("hlog/{}.hlog", phase.name),
            arm: "the adapter",
            tapped: None,
        };
        Ok((summarise(&source, &measured, self.bench.folder).await.map_err(text)?, ended))
    }

    fn failed(&self) -> String {
        self.arm.failed.clone().unwrap_or_default()
    }
}

async fn live(environment: &Environment, bench: &Bench<'_>, plan: &Plan) -> LiveArm {
    let log = bench.folder.join("adapter.log");
    let target =
        Target { uri: Some(bench.uri), others: &[], database: &bench.database, plan: Some(plan) };
    LiveArm::start(0, 0, environment, &log, bench.epoch, &target).await
}

fn unacknowledged(phase: &Phase) -> bool {
    let concern = phase.operations[0].write_concern.as_ref();
    concern.is_some_and(|concern| concern["w"] == 0)
}

/// Checks counts, receipt and answers.
fn right(phase: &Phase, run: &PhaseRun) -> Result<(), String> {
    let samples: u64 = run.by_operation.iter().map(|it| it.count).sum();
    if let Limit::Operations { count, .. } = phase.limit {
        equal("operations", &samples, &count)?;
    }
    for operation in &run.by_operation {
        equal("operations with a wrong answer", &operation.wrong, &0)?;
        if operation.failed > 0 {
            let said = run.errors.first().map_or("", |it| it.message.as_str());
            return Err(format!("{} operations failed: {said}", operation.failed));
        }
    }
    if !run.receipt.agrees {
        return Err(format!(
            "it claims {:?}, the server counted {:?}",
            run.receipt.claimed, run.receipt.counted
        ));
    }
    if let Some(documents) = run.answers.documents_expected {
        equal("`totals.documents`", &run.answers.documents, &documents)?;
    }
    if let Some(sum) = run.answers.sum_expected {
        equal("`totals.sum`", &run.answers.sum, &sum)?;
    }
    match run.gates.iter().find(|gate| gate.fails && gate.id == GateId::Errors) {
        Some(gate) => Err(gate.reason.clone()),
        None => Ok(()),
    }
}

/// Checks every inserted document, byte for byte as the core makes it, except for what the driver
/// alters.
fn inserted(
    workload: &Workload,
    plan: &Plan,
    number: usize,
    found: &[RawDocumentBuf],
    alters: &[Alters],
) -> Result<(), String> {
    let phase = &plan.phases[number];
    let operation = &phase.operations[0];
    let at = plan.collections.iter().position(|it| it.name == operation.collection);
    let at = at.ok_or("a collection of the plan")?;
    let (collection, pool) = (&plan.collections[at], &workload.pools[at]);
    if !matches!(phase.limit, Limit::Operations { .. }) {
        return Ok(());
    }
    let before = Population::before(plan, number, collection);
    let after = Population::after(plan, number, collection);
    equal("documents on the server", &(found.len() as u64), &after.len())?;
    if !matches!(phase.pacing, Pacing::Awaited { .. }) {
        return Ok(()); // a shared queue deals records to workers by chance
    }
    // A class orders its fields as its language does.
    let by_class = operation.shape.as_ref().map(|_| Alters::FieldOrder);
    let alters = &[alters, by_class.as_slice()].concat()[..];
    let mut expected = Vec::new();
    for keyed in (before.len()..after.len()).map(|it| after.nth(it)) {
        let document = inserted_document(plan, number, collection, pool, keyed.key);
        let document = document.map_err(|error| error.to_string())?;
        expected.push(comparable(&altered(document, alters), alters));
    }
    let mut there = Vec::new();
    for document in found {
        let document = Document::try_from(&**document).map_err(|error| error.to_string())?;
        there.push(comparable(&document, alters));
    }
    expected.sort_unstable();
    there.sort_unstable();
    match expected.iter().find(|it| there.binary_search(it).is_err()) {
        None => Ok(()),
        Some(missing) => {
            let other = there.iter().find(|it| expected.binary_search(it).is_err());
            Err(format!(
                "a document arrived as {}, expected {}",
                other.map_or(String::new(), |it| base::strings::hex(it)),
                base::strings::hex(missing)
            ))
        }
    }
}

/// Checks the server's profile: the write concern asked for, and one command an operation.
fn sent(phase: &Phase, commands: &[Document]) -> Result<(), String> {
    let Limit::Operations { count, .. } = phase.limit else { return Ok(()) };
    equal("insert commands on the wire", &(commands.len() as u64), &count)?;
    let wanted = phase.operations[0].write_concern.as_ref();
    for command in commands {
        if !command.contains_key("protocol") {
            continue; // an opcode of before MongoDB 2.6, that carries no write concern
        }
        let sent = command.get_document("command").and_then(|it| it.get_document("writeConcern"));
        let sent = sent.map_err(|_| "an insert went out without its write concern")?;
        for (name, value) in wanted.and_then(|it| it.as_object()).into_iter().flatten() {
            let there = sent.get(name).map(plain).unwrap_or_default();
            equal(&format!("writeConcern.{name} on the wire"), &there, &value.clone())?;
        }
    }
    Ok(())
}

fn plain(value: &Bson) -> serde_json::Value {
    value.clone().into_relaxed_extjson()
}
