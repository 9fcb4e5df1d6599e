//! Readings of the server and of the clients: counters between turns, everything once a second.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, Instant};

use crate::admin::{MongodCounters, difference};
use crate::clients::{Client, ClientReadings, Peak};
use crate::disk::Disk;
use crate::hosts::Hosts;
use base::clock::Epoch;
use base::error::Result;
use record::folder::Folder;
use record::records::ServerSample;

const PERIOD: Duration = Duration::from_secs(1);

pub struct Sampler {
    admin: Option<Hosts>,
    clients: ClientReadings,
    /// Below the server's data.
    disk: Option<Disk>,
    folder: Folder,
    epoch: Epoch,
    last: Instant,
    /// Cost of one reading in the counters (its command, its bytes): lean, full.
    cost: [MongodCounters; 2],
    /// Readings so far: lean, full.
    readings: [i64; 2],
    round: u32,
    phase: String,
}

impl Sampler {
    /// `admin` is a separate connection, None with `--server none`.
    pub async fn new(
        admin: Option<Hosts>,
        disk: Option<Disk>,
        folder: Folder,
        epoch: Epoch,
    ) -> Result<Self> {
        let mut cost = [MongodCounters::new(), MongodCounters::new()];
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
            clients: ClientReadings::default(),
            disk,
            folder,
            epoch,
            last,
            cost,
            readings: [0; 2],
            round: 0,
            phase: String::new(),
        })
    }

    /// The clients to be read from now on.
    pub fn watch(&mut self, clients: Vec<Client>) {
        self.clients.watch(clients);
    }

    /// The most that an arm had in this phase so far.
    pub fn peak(&self, arm: usize) -> Option<Peak> {
        self.clients.peak(arm)
    }

    /// Labels the next samples.
    pub fn label(&mut self, round: u32, phase: &str) {
        self.round = round;
        phase.clone_into(&mut self.phase);
        self.clients.begin_phase();
    }

    /// Counters now, less the cost of all readings so far.
    pub async fn counters(&mut self) -> Result<MongodCounters> {
        if self.last.elapsed() >= PERIOD {
            self.sample().await?;
        }
        let Some(admin) = &self.admin else { return Ok(MongodCounters::new()) };
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
        loop {
            let due = PERIOD.saturating_sub(self.last.elapsed()).max(Duration::from_millis(1));
            tokio::select! {
                biased;
                done = &mut turn => return Ok(done),
                () = tokio::time::sleep(due) => self.sample().await?,
            }
        }
    }

    pub fn sample_clients(&mut self) -> Result<()> {
        let samples = self.clients.read(self.epoch.now_ns(), self.round, &self.phase);
        samples.iter().try_for_each(|sample| self.folder.append_client_sample(sample))
    }

    async fn sample(&mut self) -> Result<()> {
        self.last = Instant::now();
        self.sample_clients()?;
        let Some(admin) = &self.admin else { return Ok(()) };
        let values = admin.counters(true).await?;
        self.readings[1] += 1;
        let mut shares = cache_shares(&values);
        let busy = self.disk.as_mut().and_then(Disk::busy_fraction);
        shares.extend(busy.map(|busy| ("disk.busy_fraction".to_owned(), busy)));
        self.folder.append_server_sample(&ServerSample {
            at_ns: self.epoch.now_ns(),
            round: self.round,
            phase: self.phase.clone(),
            values,
            shares,
        })
    }
}

fn cache_shares(values: &MongodCounters) -> BTreeMap<String, f64> {
    let cache = |name: &str| values.get(&format!("cache.{name}")).map(|bytes| *bytes as f64);
    let parts = [
        ("cache.dirty_fraction", "tracked dirty bytes in the cache"),
        ("cache.used_fraction", "bytes currently in the cache"),
    ];
    let share = |(name, bytes): (&str, &str)| {
        let whole = cache("maximum bytes configured").filter(|whole| *whole > 0.0)?;
        Some((name.to_owned(), cache(bytes)? / whole))
    };
    parts.into_iter().filter_map(share).collect()
}
