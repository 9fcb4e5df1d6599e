//! The consumer: reads messages in turns and records a sample for each.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{json, Value};
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::task::JoinHandle;

use crate::errors::{count_error, ErrorEntry, Failure};
use crate::operations::Database;
use crate::protocol::{Sample, Samples};
use crate::tailing::{Found, Message, Tailing};
use crate::timing::{Alarm, Clock, Stop};

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

/// The state of a phase, except for the position in the collection.
struct Reader {
    clock: Clock,
    stop: Arc<Stop>,
    expected: u64,
    idle_ns: u64,
    errors_consecutive_max: u32,
    samples: Samples,
    alarm: Alarm,
    began_ns: u64,
    until_ns: u64,
    /// When the last message of the turn came, or the turn began.
    heard_ns: u64,
    /// The last reading of the clock.
    now_ns: u64,
    messages: u64,
    marked: bool,
    errors_consecutive: u32,
    errors: Vec<ErrorEntry>,
}

impl Reader {
    fn exhausted(&self) -> bool {
        self.marked || self.messages >= self.expected
    }

    fn gave_up(&self) -> bool {
        self.errors_consecutive >= self.errors_consecutive_max
    }

    /// The end of the turn, if no other message comes.
    fn ends_ns(&self) -> u64 {
        self.until_ns.min(self.heard_ns.saturating_add(self.idle_ns))
    }

    fn is_over(&self) -> bool {
        self.exhausted() || self.gave_up() || self.now_ns >= self.ends_ns() || self.stop.is_raised()
    }

    fn begin(&mut self, until_ns: u64) {
        self.now_ns = self.clock.now_ns();
        (self.began_ns, self.heard_ns, self.until_ns) = (self.now_ns, self.now_ns, until_ns);
        self.samples.begin(self.now_ns);
    }

    fn note(&mut self, found: Found) -> io::Result<()> {
        self.now_ns = self.clock.now_ns();
        match found {
            Found::Message(message) => return self.record(&message),
            Found::Marker => self.marked = true,
            Found::Failed(entry) => {
                self.errors_consecutive += 1;
                count_error(&mut self.errors, entry);
            }
        }
        Ok(())
    }

    fn record(&mut self, message: &Message) -> io::Result<()> {
        self.errors_consecutive = 0;
        self.messages += 1;
        self.heard_ns = self.now_ns;
        self.samples.push(&Sample {
            intended_ns: message.made_ns as u64,
            start_ns: self.now_ns,
            service_ns: 0,
            index: message.sequence as u32,
            operation: 0,
            outcome: 0,
            worker: message.producer as u16,
        })
    }

    fn turn_done(&self) -> Value {
        json!({
            "type": "turn_done",
            "began_ns": self.began_ns,
            "exhausted": self.exhausted(),
            "gave_up": self.gave_up(),
        })
    }

    /// Reads turn after turn. The task lives as long as the phase: at the end of a turn the
    /// driver's call stays pending, because `Tailing::next` must not be dropped.
    async fn read(
        &mut self,
        tailing: &mut Tailing,
        turns: &mut Receiver<u64>,
        answers: &Sender<Value>,
    ) -> io::Result<()> {
        let Some(until_ns) = turns.recv().await else { return Ok(()) };
        self.begin(until_ns);
        loop {
            let mut next = pin!(tailing.next());
            let found = loop {
                while self.is_over() {
                    self.samples.flush()?;
                    let heard = answers.send(self.turn_done()).await.is_ok();
                    match turns.recv().await {
                        Some(until_ns) if heard => self.begin(until_ns),
                        _ => return Ok(()),
                    }
                }
                tokio::select! {
                    biased;
                    found = &mut next => break found,
                    slept = self.alarm.sleep_until(self.ends_ns()) => slept?,
                }
                self.now_ns = self.clock.now_ns();
            };
            self.note(found)?;
        }
    }
}

/// A phase between `ready` and `ended`.
pub struct Consumer {
    turns: Sender<u64>,
    answers: Receiver<Value>,
    task: JoinHandle<io::Result<(Reader, Tailing)>>,
}

impl Consumer {
    pub async fn prepare(
        message: &Value,
        database: &Database,
        clock: Clock,
        stop: &Arc<Stop>,
    ) -> Result<Consumer, Failure> {
        let message = Prepare::deserialize(message).map_err(Failure::internal)?;
        let wanted = message.consumer;
        let messages = database.collection(&wanted.collection);
        let opened = Tailing::open(messages, wanted.marker_field).await;
        let mut tailing = opened.map_err(Failure::internal)?;
        let mut reader = Reader {
            clock,
            stop: Arc::clone(stop),
            expected: wanted.expected,
            idle_ns: wanted.idle_ms.saturating_mul(1_000_000),
            errors_consecutive_max: message.errors_consecutive_max,
            samples: Samples::new(&Samples::create(&message.samples)?),
            alarm: Alarm::new(clock, stop).map_err(Failure::internal)?,
            began_ns: 0,
            until_ns: 0,
            heard_ns: 0,
            now_ns: 0,
            messages: 0,
            marked: false,
            errors_consecutive: 0,
            errors: Vec::new(),
        };
        let (turns, mut asked) = channel(1);
        let (answer, answers) = channel(1);
        let task = tokio::spawn(async move {
            reader.read(&mut tailing, &mut asked, &answer).await?;
            Ok((reader, tailing))
        });
        Ok(Consumer { turns, answers, task })
    }

    pub async fn turn(&mut self, until_ns: u64) -> Result<Value, Failure> {
        // This fails if the task has ended. Its result, which is read below, says why.
        let _ = self.turns.send(until_ns).await;
        match self.answers.recv().await {
            Some(done) => Ok(done),
            None => match (&mut self.task).await.map_err(Failure::internal)? {
                Ok(_) => Err(Failure::internal("the consumer has ended")),
                Err(error) => Err(Failure::internal(error)),
            },
        }
    }

    pub async fn end(self) -> Result<Value, Failure> {
        drop(self.turns);
        let ended = self.task.await.map_err(Failure::internal)?;
        let (reader, tailing) = ended.map_err(Failure::internal)?;
        Ok(json!({
            "type": "ended",
            "totals": { "documents": reader.messages, "sum": 0 },
            "errors": reader.errors,
            "consumer": { "cursors": tailing.opened, "positions_lost": tailing.positions_lost },
        }))
    }
}
