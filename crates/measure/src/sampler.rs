//! Readings of the server: counters between turns, everything once a second.

use std::future::Future;
use std::time::{Duration, Instant};

use crate::admin::{Admin, Counters, difference};
use base::clock::Epoch;
use base::error::Result;
use record::folder::Folder;
use record::records::ServerSample;

const PERIOD: Duration = Duration::from_secs(1);

pub struct Sampler {
    admin: Option<Admin>,
    folder: Folder,
    epoch: Epoch,
    last: Instant,
    /// Cost of one reading in the counters (its command, its bytes): lean, full.
    cost: [Counters; 2],
    /// Readings so far: lean, full.
    readings: [i64; 2],
    round: u32,
    phase: String,
}

impl Sampler {
    /// `admin` is a connection of its own, None with `--server none`.
    pub async fn new(admin: Option<Admin>, folder: Folder, epoch: Epoch) -> Result<Self> {
        let mut cost = [Counters::new(), Counters::new()];
        if let Some(admin) = &admin {
            // Between two readings of an idle server lies exactly the cost of the first one.
            admin.counters(false).await?;
            let first = admin.counters(false).await?;
            let second = admin.counters(false).await?;
            admin.counters(true).await?;
            let third = admin.counters(false).await?;
            let lean = difference(&first, &second);
            let full = difference(&lean, &difference(&second, &third));
            cost = [lean, full].map(|mut cost| {
                cost.retain(|name, _| name.starts_with("op") || name.starts_with("network"));
                cost
            });
        }
        let last = Instant::now();
        Ok(Self {
            admin,
            folder,
            epoch,
            last,
            cost,
            readings: [0; 2],
            round: 0,
            phase: String::new(),
        })
    }

    /// Labels the next samples.
    pub fn label(&mut self, round: u32, phase: &str) {
        self.round = round;
        phase.clone_into(&mut self.phase);
    }

    /// Counters now, less the cost of all readings so far.
    pub async fn counters(&mut self) -> Result<Counters> {
        if self.last.elapsed() >= PERIOD {
            self.sample().await?;
        }
        let Some(admin) = &self.admin else { return Ok(Counters::new()) };
        let mut counters = admin.counters(false).await?;
        for (cost, readings) in self.cost.iter().zip(self.readings) {
            for (name, cost) in cost {
                if let Some(value) = counters.get_mut(name) {
                    *value -= cost * readings;
                }
            }
        }
        self.readings[0] += 1;
        Ok(counters)
    }

    /// Waits for a turn; one longer than a second is sampled meanwhile.
    pub async fn during<T>(&mut self, turn: impl Future<Output = T>) -> Result<T> {
        tokio::pin!(turn);
        if self.admin.is_none() {
            return Ok(turn.await);
        }
        loop {
            let due = PERIOD.saturating_sub(self.last.elapsed()).max(Duration::from_millis(1));
            tokio::select! {
                biased;
                done = &mut turn => return Ok(done),
                () = tokio::time::sleep(due) => self.sample().await?,
            }
        }
    }

    async fn sample(&mut self) -> Result<()> {
        self.last = Instant::now();
        let Some(admin) = &self.admin else { return Ok(()) };
        let values = admin.counters(true).await?;
        self.readings[1] += 1;
        self.folder.append_server_sample(&ServerSample {
            at_ns: self.epoch.now_ns(),
            round: self.round,
            phase: self.phase.clone(),
            values,
        })
    }
}
