//! The role `consumer`: reads messages in turns and records a sample for each.

use std::fs::File;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use mongodb::Database;
use serde::Deserialize;
use serde_json::{json, Value};
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::task::JoinHandle;

use crate::errors::{count_error, ErrorEntry, Failure};
use crate::protocol::{Prepare, Sample, Samples};
use crate::tailing::{Found, Message, Tailing};
use crate::timing::{begin, Alarm, Clock, Stop};

#[derive(Deserialize)]
struct Wanted {
    collection: String,
    expected: u64,
    idle_ms: u64,
    marker_field: String,
}

struct Turn {
    until_ns: u64,
    began_ns: u64,
    ended_ns: u64,
    messages: u64,
    by_deadline: u64,
    errors: u64,
}

/// The state of a phase, except for the position in the collection.
struct Reader {
    clock: Clock,
    stop: Arc<Stop>,
    expected: u64,
    idle_ns: u64,
    errors_consecutive_max: u32,
    outcome: u8,
    samples: Samples,
    alarm: Alarm,
    turn: Turn,
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
        self.turn.until_ns.min(self.turn.ended_ns.saturating_add(self.idle_ns))
    }

    fn is_over(&self) -> bool {
        self.exhausted() || self.gave_up() || self.now_ns >= self.ends_ns() || self.stop.is_raised()
    }

    fn begin(&mut self, until_ns: u64, began_ns: u64) {
        let (messages, by_deadline, errors) = (0, 0, 0);
        self.now_ns = began_ns;
        self.turn = Turn { until_ns, began_ns, ended_ns: began_ns, messages, by_deadline, errors };
    }

    fn note(&mut self, found: Found) -> io::Result<()> {
        self.now_ns = self.clock.now_ns();
        match found {
            Found::Message(message) => return self.record(&message),
            Found::Marker => self.marked = true,
            Found::Failed(entry) => {
                self.turn.errors += 1;
                self.errors_consecutive += 1;
                count_error(&mut self.errors, entry);
            }
        }
        Ok(())
    }

    fn record(&mut self, message: &Message) -> io::Result<()> {
        self.errors_consecutive = 0;
        self.messages += 1;
        self.turn.messages += 1;
        self.turn.by_deadline += u64::from(self.now_ns <= self.turn.until_ns);
        self.turn.ended_ns = self.now_ns;
        self.samples.push(&Sample {
            intended_ns: message.made_ns as u64,
            start_ns: self.now_ns,
            service_ns: 0,
            index: message.sequence as u32,
            operation: 0,
            outcome: self.outcome,
            worker: message.producer as u16,
        })
    }

    fn turned(&self) -> Value {
        json!({
            "type": "turned",
            "began_ns": self.turn.began_ns,
            "ended_ns": self.turn.ended_ns,
            "operations": self.turn.messages,
            "completed_by_deadline": self.turn.by_deadline,
            "errors": self.turn.errors,
            "exhausted": self.exhausted(),
            "gave_up": self.gave_up(),
        })
    }

    /// Reads turn after turn. The task lives as long as the phase: at the end of a turn the
    /// driver's call stays pending, because `Tailing::next` must not be dropped.
    async fn read(
        &mut self,
        tailing: &mut Tailing,
        turns: &mut Receiver<(u64, u64)>,
        answers: &Sender<Value>,
    ) -> io::Result<()> {
        let Some((until_ns, began_ns)) = turns.recv().await else { return Ok(()) };
        self.begin(until_ns, began_ns);
        loop {
            let mut next = pin!(tailing.next());
            let found = loop {
                while self.is_over() {
                    self.samples.flush()?;
                    let heard = answers.send(self.turned()).await.is_ok();
                    match turns.recv().await {
                        Some((until_ns, began_ns)) if heard => self.begin(until_ns, began_ns),
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

/// A phase between `armed` and `ended`.
pub struct Consumer {
    clock: Clock,
    stop: Arc<Stop>,
    turns: Sender<(u64, u64)>,
    answers: Receiver<Value>,
    task: JoinHandle<io::Result<(Reader, Tailing)>>,
}

impl Consumer {
    pub async fn prepare(
        message: Prepare,
        database: Option<&Database>,
        clock: Clock,
        stop: &Arc<Stop>,
    ) -> Result<Consumer, Failure> {
        let wanted = message.consumer.unwrap_or_default();
        let wanted = Wanted::deserialize(wanted).map_err(Failure::protocol)?;
        let database = database.ok_or_else(|| Failure::protocol("a consumer before open"))?;
        let messages = database.collection(&wanted.collection);
        let opened = Tailing::open(messages, wanted.marker_field).await;
        let mut tailing = opened.map_err(Failure::internal)?;
        let file = File::create(&message.samples).map_err(|error| {
            Failure::internal(format!("{}: {error}", message.samples.display()))
        })?;
        let (until_ns, began_ns, ended_ns) = (0, 0, 0);
        let (messages, by_deadline, errors) = (0, 0, 0);
        let mut reader = Reader {
            clock,
            stop: Arc::clone(stop),
            expected: wanted.expected,
            idle_ns: wanted.idle_ms.saturating_mul(1_000_000),
            errors_consecutive_max: message.errors_consecutive_max,
            outcome: if message.warmup { 128 } else { 0 },
            samples: Samples::new(Arc::new(Mutex::new(file))),
            alarm: Alarm::new(clock, stop).map_err(Failure::internal)?,
            turn: Turn { until_ns, began_ns, ended_ns, messages, by_deadline, errors },
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
        Ok(Consumer { clock, stop: Arc::clone(stop), turns, answers, task })
    }

    pub async fn turn(&mut self, start_ns: u64, until_ns: u64) -> Result<Value, Failure> {
        let begun = begin(self.clock, &self.stop, start_ns).await;
        let (_, began_ns) = begun.map_err(Failure::internal)?;
        // This fails if the task has ended. Its result, which is read below, says why.
        let _ = self.turns.send((until_ns, began_ns)).await;
        match self.answers.recv().await {
            Some(turned) => Ok(turned),
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
            "operations": reader.messages,
            "samples": reader.messages,
            "totals": { "documents": reader.messages, "sum": 0 },
            "errors": reader.errors,
            "consumer": { "cursors": tailing.opened, "positions_lost": tailing.positions_lost },
        }))
    }
}
