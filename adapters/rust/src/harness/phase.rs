//! A phase, of workers or a consumer: a task that runs turn after turn, and what it counts.

use std::future::Future;

use serde_json::{json, Value};
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::call::{ErrorEntry, Failure};

/// `until_ns`, and the receiver of the turn's end.
pub type Turn = (u64, oneshot::Sender<Value>);

pub struct Phase {
    turns: Sender<Turn>,
    task: JoinHandle<Result<Value, Failure>>,
}

impl Phase {
    /// The task ends, with `ended`, when there are no more turns.
    pub fn begin<Task>(run: impl FnOnce(Receiver<Turn>) -> Task) -> Phase
    where
        Task: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        let (turns, asked) = channel(1);
        Phase { turns, task: tokio::spawn(run(asked)) }
    }

    pub async fn turn(&mut self, until_ns: u64) -> Result<Value, Failure> {
        let (answer, done) = oneshot::channel();
        // This fails if the task has failed, which says why.
        let _ = self.turns.send((until_ns, answer)).await;
        match done.await {
            Ok(done) => Ok(done),
            Err(_) => (&mut self.task).await?,
        }
    }

    pub async fn end(self) -> Result<Value, Failure> {
        drop(self.turns);
        self.task.await?
    }
}

pub fn turn_done(began_ns: u64, exhausted: bool, gave_up: bool) -> Value {
    json!({
        "type": "turn_done",
        "began_ns": began_ns,
        "exhausted": exhausted,
        "gave_up": gave_up,
    })
}

/// Contents of `ended`, and failures in a row.
#[derive(Default)]
pub struct Tally {
    pub documents: u64,
    pub sum: i64,
    pub retries: u64,
    errors: Vec<ErrorEntry>,
    consecutive: u32,
    pub gave_up: bool,
}

impl Tally {
    pub fn right(&mut self, documents: u64, sum: i64) {
        self.documents += documents;
        self.sum += sum;
        self.consecutive = 0;
    }

    pub fn failed(&mut self, entry: ErrorEntry, consecutive_max: u32) {
        self.consecutive += 1;
        self.gave_up |= self.consecutive >= consecutive_max;
        self.count(entry);
    }

    fn count(&mut self, found: ErrorEntry) {
        let alike =
            |entry: &&mut ErrorEntry| (entry.code, &entry.name) == (found.code, &found.name);
        match self.errors.iter_mut().find(alike) {
            Some(entry) => entry.count += found.count,
            None => self.errors.push(found),
        }
    }

    pub fn merge(mut self, other: Tally) -> Tally {
        self.right(other.documents, other.sum);
        self.retries += other.retries;
        other.errors.into_iter().for_each(|entry| self.count(entry));
        self
    }

    pub fn ended(&self) -> Value {
        let totals = json!({ "documents": self.documents, "sum": self.sum });
        json!({ "type": "ended", "totals": totals, "errors": self.errors })
    }
}
