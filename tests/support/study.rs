//! Studies with real drivers on the server that all of them speak with: a lab for them, their
//! processes, and the broker while it is at work.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs;
use std::sync::OnceLock;

use mongodb::Client;
use mongodb::bson::{Document, doc};
use record::broker::Broker as Record;
use record::folder::Folder;
use record::records::{Experiment, Run};

use crate::fake_support::real::installed;
use crate::fake_support::{Lab, wait_until};
use crate::support::{skip, start_version};

/// Flags of every study of these tests: little of each phase but the burst.
const LITTLE: [&str; 5] = [
    "--set=seconds_max=0.3",
    "--set=think_messages=100",
    "--set=rate_messages=100",
    "--set=warmup=0.1",
    "--seed=7",
];

/// The phase whose producers are given everything at once.
pub const BURST: &str = "burst";

/// A lab with the user's cache, these drivers and the server; None: skipped.
pub fn study_lab(test: &str, drivers: &[&str]) -> Option<Lab> {
    static SERVER: OnceLock<Result<(), String>> = OnceLock::new();
    let server = SERVER.get_or_init(|| start_version(Some("4.4"), &[]).map(drop));
    server.as_ref().map_err(|reason| skip(test, reason)).ok()?;
    installed(test, &[drivers, &["rust"]].concat()).then(Lab::with_shared_cache)
}

/// The words of a study of these drivers with so many messages, into the folder `out`.
pub fn words(drivers: &[&str], messages: u32, more: &[&str]) -> Vec<String> {
    // Not every driver reads messages, and the fastest of those asked for would differ by test.
    let mut words = vec!["study", "broker", "--out", "out", "--consumer", "rust", "--details"];
    words.extend(LITTLE);
    words.extend(drivers.iter().flat_map(|driver| ["-d", driver]));
    words.extend(more);
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    words.push(format!("--set=messages={messages}"));
    words
}

/// Reads the records of a study.
pub fn read(lab: &Lab) -> (Experiment, Vec<Run>) {
    let (folder, experiment) = Folder::open(&lab.made()).expect("an experiment");
    let runs = folder.runs().expect("runs");
    (experiment, runs)
}

pub fn of_phase<'a>(run: &'a Run, name: &str) -> &'a Record {
    let phase = run.phases.iter().find(|phase| phase.phase == name);
    let phase = phase.unwrap_or_else(|| panic!("no {name} in {} {}", run.round, run.arm));
    phase.broker.as_ref().expect("a phase with a consumer")
}

/// Fails unless a run went well in all its phases, and no message is missing from the books.
pub fn assert_whole(experiment: &Experiment, run: &Run) {
    let what = format!("{} in round {}", run.arm, run.round);
    assert_eq!(run.failed, None, "{what}");
    let names: Vec<&str> = run.phases.iter().map(|phase| phase.phase.as_str()).collect();
    let all: Vec<&str> = experiment.plan.phases.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, all, "{what}");
    for name in names {
        let broker = of_phase(run, name);
        assert!(broker.sent > 0, "{what}, {name}: nothing was sent");
        assert_eq!(broker.sent, broker.received + broker.lost, "{what}, {name}");
    }
}

/// The broker of a study that is at work, seen by a client of the test's own.
pub struct Broker {
    runtime: tokio::runtime::Runtime,
    client: Client,
    pub database: String,
    pub uri: String,
}

/// Every arm runs alone: its collection is the first.
pub const COLLECTION: &str = "messages_0";

impl Broker {
    /// Waits until the study has begun.
    pub fn of(lab: &Lab) -> Self {
        wait_until("the study has begun", || lab.made().join("experiment.json").exists());
        let record = lab.record();
        let uri = record["server"]["uri"].as_str().expect("a server").to_owned();
        let database = record["databases"].as_array().and_then(|it| it.last()).expect("a database");
        let database = database["name"].as_str().expect("a name").to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let client = runtime.block_on(Client::with_uri_str(&uri)).expect("a client");
        Self { runtime, client, database, uri }
    }

    pub fn count(&self) -> u64 {
        let messages = self.client.database(&self.database).collection::<Document>(COLLECTION);
        self.runtime.block_on(async { messages.estimated_document_count().await }).unwrap_or(0)
    }

    /// Waits until the producers are done: then the core inserts the marker.
    pub fn wait_for_marker(&self) {
        let messages = self.client.database(&self.database).collection::<Document>(COLLECTION);
        let marker = doc! { "marker": { "$exists": true } };
        wait_until("the producers are done", || {
            let found = async { messages.find_one(marker.clone()).await };
            self.runtime.block_on(found).is_ok_and(|it| it.is_some())
        });
    }

    /// Kills the collection's cursors as soon as there are some; returns their number.
    pub fn kill_cursors(&self) -> usize {
        let mut killed = 0;
        wait_until("a cursor is killed", || {
            killed = self.runtime.block_on(async {
                let admin = measure::admin::Admin::connect(&self.uri, &self.database);
                admin.await.expect("a client").kill_cursors(COLLECTION).await.unwrap_or(0)
            });
            killed > 0
        });
        killed
    }

    /// Waits until a burst of this round is under way; returns its arm's adapter and id.
    pub fn wait_for_burst(&self, lab: &Lab, round: u32) -> (String, String) {
        let record = lab.record();
        let phases = record["plan"]["phases"].as_array().expect("phases");
        let burst = phases.iter().position(|it| it["name"] == BURST).expect("a burst");
        let mut arm = None;
        wait_until("a burst is under way", || {
            arm = fs::read_dir(lab.made().join("samples")).expect("samples").flatten().find_map(
                |it| {
                    let name = it.file_name().to_string_lossy().into_owned();
                    let rest = name.strip_prefix(&format!("r{round:02}-arm"))?;
                    let arm = rest.strip_suffix(&format!("-phase{burst}-process0.bin"))?;
                    arm.parse::<usize>().ok()
                },
            );
            arm.is_some() && self.count() > 100
        });
        let arm = &record["arms"][arm.expect("it is there")];
        let text = |key: &str| arm[key].as_str().expect("text").to_owned();
        (text("adapter"), text("id"))
    }
}

pub fn process(lab: &Lab, adapter: &str) -> i32 {
    let word = format!("/adapters/{adapter}/");
    let found = lab.process(&word);
    found.unwrap_or_else(|| panic!("{word} in {:?}", lab.processes())).0
}

pub fn lines(lab: &Lab) -> Vec<String> {
    let text = fs::read_to_string(lab.made().join("runs.jsonl")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
