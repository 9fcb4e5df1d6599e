//! Consumers on a server (SPEC section 8): their messages, their ends, cursors that die.

use std::path::PathBuf;
use std::time::Duration;

use bson::oid::ObjectId;
use bson::{Document, RawDocumentBuf, doc};

use crate::bench::Bench;
use crate::consumed::{Sent, judge};
use crate::{ANSWER_TIMEOUT, Checked, ask, equal, start};
use adapter::environment::Environment;
use adapter::messages::{Answer, Consumer, Ended, Request, Role, Turned};
use adapter::process::AdapterProcess;
use measure::admin::Admin;
use measure::arm::noop_prepare;
use record::samples::Samples;
use workload::plan::{Capped, Collection};

const CAPPED_BYTES: u64 = 1 << 20;
const MARKER_FIELD: &str = "all_sent";
/// Length of a turn that ends for another reason.
const LONG: Duration = Duration::from_secs(20);
/// `idle_ms` where it is to end a turn.
const IDLE: Duration = Duration::from_millis(300);
/// How late a turn may end on a busy machine.
const LATE: Duration = Duration::from_secs(5);
/// Time for a consumer to read, before something happens to its cursor.
const READ: Duration = Duration::from_millis(150);
const ERRORS_CONSECUTIVE_MAX: u32 = 4;

/// All checks of the role; one line where the adapter does not declare it.
pub async fn check(environment: &Environment, bench: &Bench<'_>, admin: &Admin) -> Vec<Checked> {
    let roles = match start(environment, bench.folder.path(), bench.epoch).await {
        Ok(process) => process.hello.as_ref().map(|it| it.capabilities.roles.clone()),
        Err(problem) => return vec![Checked::of("consumer", Err(problem))],
    };
    if !roles.is_some_and(|roles| roles.contains(&Role::Consumer)) {
        let name = "consumer: left out, it does not declare the role";
        return vec![Checked::of(name, Ok(()))];
    }
    let lab = Lab { environment, bench, admin };
    vec![
        Checked::of("consumer: messages, ended by the marker", lab.marker().await),
        Checked::of("consumer: ended by `expected`", lab.expected().await),
        Checked::of("consumer: ended by `idle_ms` and `until_ns`", lab.turns().await),
        Checked::of("consumer: cursors that are killed", lab.killed().await),
        Checked::of("consumer: a position that is overwritten", lab.overwritten().await),
        Checked::of("consumer: gives up without a collection", lab.dropped().await),
        Checked::of("consumer: stop signal in a turn", lab.stopped().await),
    ]
}

struct Lab<'a> {
    environment: &'a Environment,
    bench: &'a Bench<'a>,
    admin: &'a Admin,
}

impl Lab<'_> {
    /// A message has its own time of arrival, not that of its batch. Neither the sentinel nor the
    /// marker is a message. Nothing behind the marker is read.
    async fn marker(&self) -> Result<(), String> {
        let mut case = self.case("consumed_marker", None, LONG, 1000).await?;
        case.begin(LONG).await;
        case.insert(1).await?;
        case.insert(60).await?;
        let marker = doc! { "_id": case.id(), MARKER_FIELD: true };
        case.load(vec![marker]).await?;
        let turned = case.turned().await?;
        equal("`turned.exhausted`", &turned.exhausted, &true)?;
        equal("`turned.errors`", &turned.errors, &0)?;
        case.judge_turns(&[turned]).await
    }

    async fn expected(&self) -> Result<(), String> {
        let mut case = self.case("consumed_expected", None, LONG, 25).await?;
        case.begin(LONG).await;
        case.insert(40).await?;
        case.sent.truncate(25);
        let turned = case.turned().await?;
        equal("`turned.exhausted`", &turned.exhausted, &true)?;
        case.judge_turns(&[turned]).await
    }

    /// A turn without messages ends on time. Messages between two turns are read in the next one.
    async fn turns(&self) -> Result<(), String> {
        let mut case = self.case("consumed_turns", None, IDLE, 1000).await?;
        let began_ns = self.bench.epoch.now_ns();
        case.begin(LONG).await;
        case.insert(5).await?;
        let idle = case.turned().await?;
        case.ends_within("`idle_ms`", began_ns + nanos(IDLE))?;
        equal("messages before it was idle", &idle.operations, &5)?;
        equal("`turned.exhausted` of an idle turn", &idle.exhausted, &false)?;
        let short = IDLE / 3;
        let until_ns = case.begin(short).await;
        let late = case.turned().await?;
        case.ends_within("`until_ns`", until_ns)?;
        equal("messages of a turn without any", &late.operations, &0)?;
        case.insert(5).await?;
        case.begin(LONG).await;
        let last = case.turned().await?;
        case.judge_turns(&[idle, late, last]).await
    }

    async fn killed(&self) -> Result<(), String> {
        const KILLS: u64 = 2;
        let mut case = self.case("consumed_killed", None, LONG, 45).await?;
        case.begin(LONG).await;
        for _ in 0..KILLS {
            case.insert(15).await?;
            tokio::time::sleep(READ).await;
            case.kill_cursor().await?;
        }
        case.insert(15).await?;
        let turned = case.turned().await?;
        equal("`turned.errors`: cursors that failed", &turned.errors, &KILLS)?;
        let ended = case.ended(&[turned]).await?;
        let consumer = ended.consumer.ok_or("`ended` has no `consumer`")?;
        equal("`consumer.positions_lost`", &consumer.positions_lost, &0)?;
        if consumer.cursors <= KILLS {
            return Err(format!("`consumer.cursors` is {} after two kills", consumer.cursors));
        }
        case.finish(&ended).await
    }

    /// Between two turns the cursor dies and more is inserted than the collection holds. The rest
    /// is read, and the gap is told.
    async fn overwritten(&self) -> Result<(), String> {
        let mut case = self.case("consumed_overwritten", Some(8), IDLE, 1000).await?;
        case.begin(LONG).await;
        case.insert(3).await?;
        let before = case.turned().await?;
        equal("messages before the gap", &before.operations, &3)?;
        case.kill_cursor().await?;
        case.insert(20).await?;
        // Servers differ in how far they exceed the limit before they remove documents.
        let left = self.admin.documents(case.collection).await.map_err(|it| it.to_string())?.len();
        if left >= 20 {
            return Err(format!("the server kept {left} documents of a limit of 8"));
        }
        case.sent.drain(3..case.sent.len() - left);
        case.begin(LONG).await;
        let after = case.turned().await?;
        let ended = case.ended(&[before, after]).await?;
        let lost = ended.consumer.map(|it| it.positions_lost);
        equal("`consumer.positions_lost`", &lost, &Some(1))?;
        case.finish(&ended).await
    }

    async fn dropped(&self) -> Result<(), String> {
        let mut case = self.case("consumed_dropped", None, LONG, 1000).await?;
        case.begin(LONG).await;
        case.insert(5).await?;
        tokio::time::sleep(READ).await;
        self.admin.drop_collection(case.collection).await.map_err(|it| it.to_string())?;
        let turned = case.turned().await?;
        equal("`turned.gave_up`", &turned.gave_up, &true)?;
        equal("`turned.errors`", &turned.errors, &u64::from(ERRORS_CONSECUTIVE_MAX))?;
        case.judge_turns(&[turned]).await
    }

    async fn stopped(&self) -> Result<(), String> {
        let mut case = self.case("consumed_stopped", None, LONG, 1000).await?;
        case.begin(LONG).await;
        case.insert(5).await?;
        tokio::time::sleep(READ).await;
        let declared = case.process.hello.as_ref().map(|it| it.capabilities.stop.clone());
        if declared.as_deref() == Some("stdin") {
            case.process.send(&Request::Stop).await;
        } else {
            case.process.stop();
        }
        match case.process.wait(LATE).await {
            Some(status) if status.success() => case.judge(),
            Some(status) => Err(format!("it ended with {status}")),
            None => Err("it runs on 5 s after the signal".to_owned()),
        }
    }

    /// A capped collection with a sentinel, and a consumer that is armed behind it.
    async fn case(
        &self,
        collection: &'static str,
        max_documents: Option<u64>,
        idle: Duration,
        expected: u64,
    ) -> Result<Case<'_>, String> {
        let capped = Collection {
            name: collection.to_owned(),
            indexes: vec![],
            capped: Some(Capped { size_bytes: CAPPED_BYTES, max_documents }),
            loaded: 0,
            stamps: vec![],
            pool_documents: 0,
            document_bytes_mean: 0.0,
            document_bytes_max: 0,
        };
        self.admin.create(collection, &capped).await.map_err(|it| it.to_string())?;
        let folder = self.bench.folder.path();
        let samples = folder.join("consumer.bin");
        let mut process = start(self.environment, folder, self.bench.epoch).await?;
        let open = Request::Open {
            uri: self.bench.uri.to_owned(),
            database: self.bench.database.clone(),
            role: Role::Consumer,
        };
        ask(&mut process, &open, "opened", ANSWER_TIMEOUT).await?;
        let mut case = Case { lab: self, collection, process, samples, ids: 0, sent: vec![] };
        case.load(vec![doc! { "_id": ObjectId::from_bytes([0; 12]), "sentinel": true }]).await?;
        let mut prepare = noop_prepare(&case.samples, &PathBuf::new());
        prepare.role = Role::Consumer;
        prepare.warmup = false;
        prepare.limits = None;
        prepare.errors_consecutive_max = ERRORS_CONSECUTIVE_MAX;
        prepare.operations = vec![];
        prepare.consumer = Some(Consumer {
            collection: collection.to_owned(),
            expected,
            idle_ms: u64::try_from(idle.as_millis()).unwrap_or(u64::MAX),
            marker_field: MARKER_FIELD.to_owned(),
        });
        let prepare = Request::Prepare(Box::new(prepare));
        ask(&mut case.process, &prepare, "armed", ANSWER_TIMEOUT).await?;
        Ok(case)
    }
}

/// One consumer, and its messages.
struct Case<'a> {
    lab: &'a Lab<'a>,
    /// Its own: cursors of a dropped collection stay open on the server for a while.
    collection: &'static str,
    process: AdapterProcess,
    samples: PathBuf,
    ids: u32,
    sent: Vec<Sent>,
}

impl Case<'_> {
    /// Ids in the order of insertion.
    fn id(&mut self) -> ObjectId {
        self.ids += 1;
        let mut bytes = [0; 12];
        bytes[8..].copy_from_slice(&self.ids.to_be_bytes());
        ObjectId::from_bytes(bytes)
    }

    async fn load(&self, documents: Vec<Document>) -> Result<(), String> {
        let documents: Result<Vec<_>, _> = documents.iter().map(RawDocumentBuf::try_from).collect();
        let documents = documents.map_err(|it| it.to_string())?;
        let loaded = self.lab.admin.load(self.collection, documents.into_iter()).await;
        loaded.map_err(|it| it.to_string())
    }

    /// Inserts messages of two producers, in one batch.
    async fn insert(&mut self, count: usize) -> Result<(), String> {
        let mut documents = Vec::new();
        for _ in 0..count {
            let id = self.id();
            let sent = Sent {
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
            let killed = self.lab.admin.kill_cursors(self.collection).await;
            match killed.map_err(|it| it.to_string())? {
                0 => tokio::time::sleep(Duration::from_millis(20)).await,
                _ => return Ok(()),
            }
        }
        Err("no cursor is open on the collection".to_owned())
    }

    /// Begins a turn and returns its deadline.
    async fn begin(&mut self, length: Duration) -> u64 {
        let until_ns = self.lab.bench.epoch.now_ns() + nanos(length);
        self.process.send(&Request::Turn { start_ns: 0, until_ns }).await;
        until_ns
    }

    async fn turned(&mut self) -> Result<Turned, String> {
        match self.process.answer("turn", LONG + LATE).await.map_err(|it| it.to_string())? {
            Answer::Turned(turned) => Ok(turned),
            other => Err(format!("it answered `turn` with `{}`", other.name())),
        }
    }

    /// Whether the turn ended after its deadline, within [`LATE`].
    fn ends_within(&self, what: &str, from_ns: u64) -> Result<(), String> {
        let now_ns = self.lab.bench.epoch.now_ns();
        if (from_ns..from_ns + nanos(LATE)).contains(&now_ns) {
            return Ok(());
        }
        let late_ms = figures::fixed((now_ns as f64 - from_ns as f64) / 1e6, 0);
        Err(format!("a turn ended {late_ms} ms after {what} should have ended it"))
    }

    /// Ends the phase, and compares its totals with its turns.
    async fn ended(&mut self, turns: &[Turned]) -> Result<Ended, String> {
        let answer = ask(&mut self.process, &Request::End, "ended", ANSWER_TIMEOUT).await?;
        let Answer::Ended(ended) = answer else { unreachable!("`ask` has looked at its name") };
        let messages: u64 = turns.iter().map(|it| it.operations).sum();
        equal("`ended.operations`", &ended.operations, &messages)?;
        equal("`ended.samples`", &ended.samples, &messages)?;
        equal("`totals.documents`", &ended.totals.documents, &messages)?;
        let in_time: u64 = turns.iter().map(|it| it.completed_by_deadline).sum();
        equal("`completed_by_deadline`", &in_time, &messages)?;
        Ok(ended)
    }

    async fn judge_turns(mut self, turns: &[Turned]) -> Result<(), String> {
        let ended = self.ended(turns).await?;
        self.finish(&ended).await
    }

    async fn finish(self, ended: &Ended) -> Result<(), String> {
        self.judge()?;
        equal("messages", &ended.operations, &(self.sent.len() as u64))?;
        self.process.close().await.map_err(|it| it.to_string())
    }

    fn judge(&self) -> Result<(), String> {
        let file = Samples::open(&self.samples).map_err(|it| it.to_string())?;
        let samples: Result<Vec<_>, _> = file.collect();
        judge(&self.sent, &samples.map_err(|it| it.to_string())?)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
