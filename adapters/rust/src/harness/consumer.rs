//! The consumer: reads messages in turns and records a sample for each.

use std::io;
use std::path::PathBuf;
use std::pin::pin;

use serde::Deserialize;
use serde_json::{json, Value};
use tokio::sync::mpsc::Receiver;

use super::files::Samples;
use super::phase::{turn_done, Phase, Tally, Turn};
use super::protocol::Session;
use super::tailing::{Found, Tailing};
use super::timing::{now_ns, Alarm, STOP};
use crate::call::{ErrorEntry, Failure};

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
    expected: u64,
    idle_ns: u64,
    errors_consecutive_max: u32,
    alarm: Alarm,
    samples: Samples,
    tally: Tally,
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
        self.marked || self.tally.documents >= self.expected
    }

    /// The end of the turn, if no other message comes; 0 between turns.
    fn ends_ns(&self) -> u64 {
        let until_ns = self.turn.as_ref().map_or(0, |(until_ns, _)| *until_ns);
        until_ns.min(self.heard_ns + self.idle_ns)
    }

    fn is_over(&self) -> bool {
        self.now_ns >= self.ends_ns()
            || self.exhausted()
            || self.tally.gave_up
            || STOP.initialized()
    }

    fn begin(&mut self, turn: Turn) {
        self.now_ns = now_ns();
        (self.began_ns, self.heard_ns, self.turn) = (self.now_ns, self.now_ns, Some(turn));
        self.samples.written_ns = self.now_ns;
    }

    fn end(&mut self) -> io::Result<()> {
        self.samples.flush()?;
        if let Some((_, answer)) = self.turn.take() {
            // It is not received if the core has ended.
            let _ = answer.send(turn_done(self.began_ns, self.exhausted(), self.tally.gave_up));
        }
        Ok(())
    }

    fn record(&mut self, found: Result<Found, ErrorEntry>) -> io::Result<()> {
        self.now_ns = now_ns();
        match found {
            Ok(Found { marked: false, sequence: Some(sequence), producer, made_ns }) => {
                self.tally.right(1, 0);
                self.heard_ns = self.now_ns;
                let times = [made_ns as u64, self.now_ns, 0];
                self.samples.push(times, sequence as u64, 0, 0, producer as u16)?;
            }
            Ok(found) => self.marked |= found.marked,
            Err(entry) => self.tally.failed(entry, self.errors_consecutive_max),
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
                    let Some(turn) = turns.recv().await else { return Ok(()) };
                    self.begin(turn);
                }
                tokio::select! {
                    biased;
                    found = &mut next => break found,
                    slept = self.alarm.sleep_until(self.ends_ns()) => slept?,
                }
                self.now_ns = now_ns();
            };
            self.record(found)?;
        }
    }
}

pub async fn prepare(message: Value, session: &Session) -> Result<Phase, Failure> {
    let Prepare { samples, errors_consecutive_max, consumer } = serde_json::from_value(message)?;
    let client = session.clients.first().ok_or(Failure::new("internal", "no client is open"))?;
    let messages = client.database.collection(&consumer.collection);
    let mut tailing = Tailing::open(messages, consumer.marker_field).await?;
    let mut reader = Reader {
        expected: consumer.expected,
        idle_ns: consumer.idle_ms * 1_000_000,
        errors_consecutive_max,
        alarm: Alarm::new()?,
        samples: Samples::new(&Samples::create(&samples)?),
        tally: Tally::default(),
        marked: false,
        turn: None,
        began_ns: 0,
        heard_ns: 0,
        now_ns: 0,
    };
    Ok(Phase::begin(|mut turns| async move {
        reader.read(&mut tailing, &mut turns).await?;
        let mut ended = reader.tally.ended();
        let (cursors, positions_lost) = (tailing.opened, tailing.positions_lost);
        ended["consumer"] = json!({ "cursors": cursors, "positions_lost": positions_lost });
        Ok(ended)
    }))
}
