//! The consumer: reads messages in turns and records a sample for each.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{json, Value};
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::protocol::{count_error, ErrorEntry, Failure, Session};
use super::samples::{Sample, Samples};
use super::tailing::{Found, Tailing};
use super::timing::{Alarm, Clock, Stop};
use crate::dialect;

#[derive(Deserialize)]
struct Prepare {
    samples: PathBuf,
    errors_consecutive_max: u32,
    consumer: Wanted,
}

#[derive(Deserialize)]
struct Wanted {
    collection: String,
    expected: u64,
    idle_ms: u64,
    marker_field: String,
}

/// `until_ns`, and where to say that the turn is done.
type Turn = (u64, oneshot::Sender<Value>);

/// The state of a phase, except for the position in the collection.
struct Reader {
    clock: Clock,
    stop: Arc<Stop>,
    alarm: Alarm,
    samples: Samples,
    expected: u64,
    idle_ns: u64,
    errors_consecutive_max: u32,
    errors_consecutive: u32,
    errors: Vec<ErrorEntry>,
    messages: u64,
    marked: bool,
    turn: Option<Turn>,
    began_ns: u64,
    /// When the last message of the turn came, or the turn began.
    heard_ns: u64,
    /// The last reading of the clock.
    now_ns: u64,
}

impl Reader {
    fn exhausted(&self) -> bool {
        self.marked || self.messages >= self.expected
    }

    fn gave_up(&self) -> bool {
        self.errors_consecutive >= self.errors_consecutive_max
    }

    /// The end of the turn, if no other message comes; 0 between turns.
    fn ends_ns(&self) -> u64 {
        let until_ns = self.turn.as_ref().map_or(0, |(until_ns, _)| *until_ns);
        until_ns.min(self.heard_ns.saturating_add(self.idle_ns))
    }

    fn is_over(&self) -> bool {
        self.exhausted() || self.gave_up() || self.now_ns >= self.ends_ns() || self.stop.is_raised()
    }

    fn begin(&mut self, turn: Turn) {
        self.now_ns = self.clock.now_ns();
        (self.began_ns, self.heard_ns, self.turn) = (self.now_ns, self.now_ns, Some(turn));
        self.samples.begin(self.now_ns);
    }

    fn end(&mut self) -> io::Result<()> {
        self.samples.flush()?;
        if let Some((_, answer)) = self.turn.take() {
            // Nobody hears it if the core is gone.
            let _ = answer.send(json!({
                "type": "turn_done",
                "began_ns": self.began_ns,
                "exhausted": self.exhausted(),
                "gave_up": self.gave_up(),
            }));
        }
        Ok(())
    }

    fn record(&mut self, found: Found) -> io::Result<()> {
        self.now_ns = self.clock.now_ns();
        match found {
            Found::Message { producer, sequence, made_ns } => {
                self.errors_consecutive = 0;
                self.messages += 1;
                self.heard_ns = self.now_ns;
                self.samples.push(&Sample {
                    intended_ns: made_ns as u64,
                    start_ns: self.now_ns,
                    service_ns: 0,
                    index: sequence as u32,
                    operation: 0,
                    outcome: 0,
                    worker: producer as u16,
                })?;
            }
            Found::Marker => self.marked = true,
            Found::Failed(entry) => {
                self.errors_consecutive += 1;
                count_error(&mut self.errors, entry);
            }
        }
        Ok(())
    }

    /// Reads turn after turn. At the end of a turn the driver's call stays pending, because
    /// `Tailing::next` must not be dropped.
    async fn read(&mut self, tailing: &mut Tailing, turns: &mut Receiver<Turn>) -> io::Result<()> {
        loop {
            let mut next = pin!(tailing.next());
            let found = loop {
                while self.is_over() {
                    self.end()?;
                    match turns.recv().await {
                        Some(turn) => self.begin(turn),
                        None => return Ok(()),
                    }
                }
                tokio::select! {
                    biased;
                    found = &mut next => break found,
                    slept = self.alarm.sleep_until(self.ends_ns()) => slept?,
                }
                self.now_ns = self.clock.now_ns();
            };
            self.record(found)?;
        }
    }
}

/// A phase between `ready` and `ended`.
pub struct Consumer {
    turns: Sender<Turn>,
    task: JoinHandle<Result<Value, Failure>>,
}

impl Consumer {
    pub async fn prepare(message: Value, session: &Session) -> Result<Consumer, Failure> {
        let Prepare { samples, errors_consecutive_max, consumer } =
            serde_json::from_value(message)?;
        let client = session.clients.first().ok_or(Failure::protocol("no open before"))?;
        let messages = client.collection(&consumer.collection);
        let mut tailing = Tailing::open(messages, consumer.marker_field).await?;
        let mut reader = Reader {
            clock: session.clock,
            stop: Arc::clone(&session.stop),
            alarm: Alarm::new(session.clock, &session.stop)?,
            samples: Samples::new(&Samples::create(&samples)?),
            expected: consumer.expected,
            idle_ns: consumer.idle_ms.saturating_mul(1_000_000),
            errors_consecutive_max,
            errors_consecutive: 0,
            errors: Vec::new(),
            messages: 0,
            marked: false,
            turn: None,
            began_ns: 0,
            heard_ns: 0,
            now_ns: 0,
        };
        let (turns, mut asked) = channel(1);
        let task = dialect::spawn(async move {
            reader.read(&mut tailing, &mut asked).await?;
            Ok(json!({
                "type": "ended",
                "totals": { "documents": reader.messages, "sum": 0 },
                "errors": reader.errors,
                "consumer": { "cursors": tailing.opened, "positions_lost": tailing.positions_lost },
            }))
        });
        Ok(Consumer { turns, task })
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
