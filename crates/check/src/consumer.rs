//! A consumer on a real server (SPEC section 9), whose cursors are killed by the server's command.
//! The vectors test everything else.

use std::path::PathBuf;
use std::time::Duration;

use bson::oid::ObjectId;
use bson::{Document, RawDocumentBuf, doc};

use crate::bench::Bench;
use crate::consumed::{SentMessage, judge};
use crate::{ANSWER_TIMEOUT, CheckResult, ask, equal, sampled, start};
use adapter::adapter_process::AdapterProcess;
use adapter::environment::Environment;
use adapter::protocol::{
    AdapterAnswer, AdapterRequest, Consumer, ConsumerPrepare, Deal, PhaseEnd, Prepare, TurnDone,
};
use measure::admin::Admin;
use measure::arm::client_target;
use workload::plan::{Collection, CollectionCap};

const COLLECTION: &str = "consumed";
const CAPPED_BYTES: u64 = 16 << 20;
const MARKER_FIELD: &str = "all_sent";
/// Length of a turn that ends for another reason.
const LONG: Duration = Duration::from_secs(20);
/// How late a turn may end on a busy machine.
const LATE: Duration = Duration::from_secs(5);
/// Time for a consumer to read, before something happens to its cursor.
const READ: Duration = Duration::from_millis(150);
const ERRORS_CONSECUTIVE_MAX: u32 = 4;
/// Messages whose cost is measured, after as many that let the runtime compile.
const MEASURED: u64 = 20_000;
/// Time without a message after which a turn ends early.
const IDLE: Duration = Duration::from_millis(500);

/// Checks the consumer; returns one line if the adapter has none.
pub async fn check(
    environment: &Environment,
    bench: &Bench<'_>,
    admin: &Admin,
) -> Vec<CheckResult> {
    let cost_ns = match start(environment, bench.folder.path(), bench.epoch).await {
        Ok(process) => process.hello.as_ref().and_then(|it| it.capabilities.consumer_ns),
        Err(problem) => return vec![CheckResult::of("consumer", Err(problem))],
    };
    let Some(declared_ns) = cost_ns else {
        return vec![CheckResult::of("consumer: left out, it needs consumer_ns", Ok(()))];
    };
    let lab = Lab { environment, bench, admin };
    let time = |ns: u64| format::time(ns as f64 / 1e3);
    let cost = match lab.cost_ns().await {
        Ok(cost_ns) => CheckResult::of(
            format!(
                "consumer: a message costs {} of CPU, consumer_ns says {}",
                time(cost_ns),
                time(declared_ns)
            ),
            Ok(()),
        ),
        Err(problem) => CheckResult::of("consumer: CPU time of a message", Err(problem)),
    };
    let killed = if bench.absorber {
        // The offline check kills one (`absorber/consumer-killed`).
        CheckResult::of(
            "consumer: cursors that are killed: left out, the absorber lists none",
            Ok(()),
        )
    } else {
        CheckResult::of("consumer: cursors that are killed", lab.killed().await)
    };
    vec![cost, killed, CheckResult::of("consumer: stop signal in a turn", lab.stopped().await)]
}

struct Lab<'a> {
    environment: &'a Environment,
    bench: &'a Bench<'a>,
    admin: &'a Admin,
}

impl Lab<'_> {
    /// Kills its cursor twice: it delivers nothing twice, and nothing after the marker.
    async fn killed(&self) -> Result<(), String> {
        const KILLS: u64 = 2;
        let mut case = self.case(1000, LONG).await?;
        case.begin().await;
        for _ in 0..KILLS {
            case.insert(15).await?;
            tokio::time::sleep(READ).await;
            case.kill_cursor().await?;
        }
        case.insert(15).await?;
        let marker = doc! { "_id": case.id(), MARKER_FIELD: true };
        case.load(vec![marker]).await?;
        let done = case.turn_done().await?;
        equal("`turn_done.exhausted`", &done.exhausted, &true)?;
        let ended = case.ended().await?;
        let failures: u64 = ended.errors.iter().map(|it| it.count).sum();
        equal("`ended.errors`: cursors that failed", &failures, &KILLS)?;
        equal("`totals.documents`", &ended.totals.documents, &(case.sent.len() as u64))?;
        let consumer = ended.consumer.ok_or("`ended` has no `consumer`")?;
        equal("`consumer.positions_lost`", &consumer.positions_lost, &0)?;
        if consumer.cursors <= KILLS {
            return Err(format!("`consumer.cursors` is {} after two kills", consumer.cursors));
        }
        case.judge()?;
        case.process.close().await.map_err(|error| error.to_string())
    }

    async fn stopped(&self) -> Result<(), String> {
        let mut case = self.case(1000, LONG).await?;
        case.begin().await;
        case.insert(5).await?;
        tokio::time::sleep(READ).await;
        case.process.stop();
        match case.process.wait(LATE).await {
            Some(status) if status.success() => case.judge(),
            Some(status) => Err(format!("it ended with {status}")),
            None => Err("it runs on 5 s after the signal".to_owned()),
        }
    }

    /// CPU time of all threads: a busy machine makes it longer, but waiting does not count.
    async fn cost_ns(&self) -> Result<u64, String> {
        let mut case = self.case(2 * MEASURED, IDLE).await?;
        let mut before_ns = 0;
        for _ in 0..2 {
            case.insert(MEASURED as usize).await?;
            before_ns = case.process.cpu_ns().unwrap_or(0);
            case.begin().await;
            case.turn_done().await?;
        }
        let cost_ns = case.process.cpu_ns().unwrap_or(0).saturating_sub(before_ns) / MEASURED;
        let ended = case.ended().await?;
        equal("`totals.documents`", &ended.totals.documents, &(2 * MEASURED))?;
        case.process.close().await.map_err(|error| error.to_string())?;
        Ok(cost_ns)
    }

    /// Prepares a capped collection with a sentinel, and a consumer that is in position after it.
    async fn case(&self, expected: u64, idle: Duration) -> Result<ConsumerCase<'_>, String> {
        let capped = Collection {
            name: COLLECTION.to_owned(),
            indexes: vec![],
            capped: Some(CollectionCap { size_bytes: CAPPED_BYTES, max_documents: None }),
            options: Document::new(),
            view: None,
            shard: None,
            loaded: 0,
            kept: false,
            stamps: vec![],
            pool_documents: 0,
            document_bytes_mean: 0.0,
            document_bytes_max: 0,
        };
        self.admin.create(COLLECTION, &capped).await.map_err(|error| error.to_string())?;
        let folder = self.bench.folder.path();
        let samples = folder.join("consumer.bin");
        let mut process = start(self.environment, folder, self.bench.epoch).await?;
        let kind = process.hello.as_ref().map(|it| it.capabilities.uri).unwrap_or_default();
        let open = AdapterRequest::Open {
            clients: vec![client_target(self.bench.uri, kind)],
            deal: Deal::Worker,
            database: self.bench.database.clone(),
        };
        ask(&mut process, &open, "opened", ANSWER_TIMEOUT).await?;
        let mut case = ConsumerCase { lab: self, process, samples, ids: 0, sent: vec![] };
        case.load(vec![doc! { "_id": ObjectId::from_bytes([0; 12]), "sentinel": true }]).await?;
        let prepare = ConsumerPrepare {
            samples: case.samples.to_string_lossy().into_owned(),
            errors_consecutive_max: ERRORS_CONSECUTIVE_MAX,
            consumer: Consumer {
                collection: COLLECTION.to_owned(),
                expected,
                idle_ms: idle.as_millis() as u64,
                marker_field: MARKER_FIELD.to_owned(),
                change_stream: false,
            },
        };
        let prepare = AdapterRequest::Prepare(Box::new(Prepare::Consumer(prepare)));
        ask(&mut case.process, &prepare, "ready", ANSWER_TIMEOUT).await?;
        Ok(case)
    }
}

/// One consumer, and its messages.
struct ConsumerCase<'a> {
    lab: &'a Lab<'a>,
    process: AdapterProcess,
    samples: PathBuf,
    ids: u32,
    sent: Vec<SentMessage>,
}

impl ConsumerCase<'_> {
    /// The next id; ids are in the order of insertion.
    fn id(&mut self) -> ObjectId {
        self.ids += 1;
        let mut bytes = [0; 12];
        bytes[8..].copy_from_slice(&self.ids.to_be_bytes());
        ObjectId::from_bytes(bytes)
    }

    async fn load(&self, documents: Vec<Document>) -> Result<(), String> {
        let documents: Result<Vec<_>, _> = documents.iter().map(RawDocumentBuf::try_from).collect();
        let documents = documents.map_err(|error| error.to_string())?;
        let loaded = self.lab.admin.load(COLLECTION, documents.into_iter()).await;
        loaded.map_err(|error| error.to_string())
    }

    /// Inserts messages of two producers, in one batch.
    async fn insert(&mut self, count: usize) -> Result<(), String> {
        let mut documents = Vec::new();
        for _ in 0..count {
            let id = self.id();
            let sent = SentMessage {
                producer: if self.ids.is_multiple_of(3) { 9 } else { 300 },
                sequence: 70_000 + self.ids,
                made_ns: self.lab.bench.epoch.now_ns(),
            };
            documents.push(doc! {
                "_id": id,
                "producer": i32::from(sent.producer),
                "sequence": i64::from(sent.sequence),
                "made_ns": sent.made_ns.cast_signed(),
                "payload": "of no meaning to the consumer",
            });
            self.sent.push(sent);
        }
        self.load(documents).await
    }

    /// Waits for a cursor, which the consumer may be opening, and kills it.
    async fn kill_cursor(&self) -> Result<(), String> {
        for _ in 0..LATE.as_millis() / 20 {
            let killed = self.lab.admin.kill_cursors(COLLECTION).await;
            match killed.map_err(|error| error.to_string())? {
                0 => tokio::time::sleep(Duration::from_millis(20)).await,
                _ => return Ok(()),
            }
        }
        Err("no cursor is open on the collection".to_owned())
    }

    async fn begin(&mut self) {
        let until_ns = self.lab.bench.epoch.now_ns() + LONG.as_nanos() as u64;
        self.process.send(&AdapterRequest::Turn { until_ns }).await;
    }

    async fn turn_done(&mut self) -> Result<TurnDone, String> {
        match self.process.answer("turn", LONG + LATE).await.map_err(|error| error.to_string())? {
            AdapterAnswer::TurnDone(done) => Ok(done),
            other => Err(format!("it answered `turn` with `{}`", other.name())),
        }
    }

    async fn ended(&mut self) -> Result<PhaseEnd, String> {
        match ask(&mut self.process, &AdapterRequest::End, "ended", ANSWER_TIMEOUT).await? {
            AdapterAnswer::Ended(ended) => Ok(ended),
            _ => unreachable!("`ask` has looked at its name"),
        }
    }

    fn judge(&self) -> Result<(), String> {
        judge(&self.sent, &sampled::read(&self.samples)?)
    }
}
