//! The least code with which a Rust program does the adapter's work, for comparison with it.
//!
//! `loop URI DATABASE COLLECTION OPERATION WORKERS POOL`. Each line of its input is the length of a
//! turn in ms. It answers with the operations done and the ns they took.

use std::error::Error;
use std::time::{Duration, Instant};

use mongodb::bson::{doc, oid::ObjectId, Document};
use mongodb::{Client, Collection};

/// Documents that finds can find: keys 0 and up.
const LOADED: u64 = 20_000;
/// Coprime to LOADED: every key comes, in an order that no cache knows.
const STRIDE: u64 = 7_919;

struct Worker {
    items: Collection<Document>,
    pool: &'static [Document],
    inserts: bool,
    key: u64,
    workers: u64,
    times: Vec<(Instant, Instant)>,
    sum: i64,
}

fn id(key: u64) -> ObjectId {
    let mut bytes = [0x69, 0x55, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes[4..].copy_from_slice(&key.to_be_bytes());
    ObjectId::from_bytes(bytes)
}

impl Worker {
    async fn insert_one(&mut self) -> mongodb::error::Result<(Instant, Instant)> {
        let mut document = self.pool[self.key as usize % self.pool.len()].clone();
        document.insert("_id", id(self.key));
        document.insert("number", self.key as i64);
        self.key += self.workers;
        let start = Instant::now();
        self.items.insert_one(document).await?;
        Ok((start, Instant::now()))
    }

    async fn find_one(&mut self) -> mongodb::error::Result<(Instant, Instant)> {
        self.key = (self.key + STRIDE) % LOADED;
        let filter = doc! { "_id": id(self.key) };
        let start = Instant::now();
        let found = self.items.find_one(filter).await?;
        let end = Instant::now();
        self.sum += found.expect("it was loaded").get_i64("number").expect("it has a number");
        Ok((start, end))
    }

    async fn turn(mut self, until: Instant) -> mongodb::error::Result<Self> {
        self.times.clear();
        let mut now = Instant::now();
        while now < until {
            let times = if self.inserts { self.insert_one().await } else { self.find_one().await }?;
            self.times.push(times);
            now = times.1;
        }
        Ok(self)
    }
}

fn read_pool(path: &str) -> Result<Vec<Document>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let (mut rest, mut pool) = (&bytes[..], Vec::new());
    while !rest.is_empty() {
        pool.push(Document::from_reader(&mut rest)?);
    }
    Ok(pool)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [uri, database, collection, operation, workers, pool] = &words[..] else {
        return Err("URI DATABASE COLLECTION OPERATION WORKERS POOL".into());
    };
    let items = Client::with_uri_str(uri).await?.database(database).collection(collection);
    let pool: &'static [Document] = read_pool(pool)?.leak();
    let (inserts, count) = (operation == "insert_one", workers.parse()?);
    let worker = |key| Worker {
        items: items.clone(),
        pool,
        inserts,
        key,
        workers: count,
        times: vec![],
        sum: 0,
    };
    let mut workers: Vec<Worker> = (0..count).map(worker).collect();
    for line in std::io::stdin().lines() {
        let length = Duration::from_millis(line?.parse()?);
        let began = Instant::now();
        let start = |worker: Worker| tokio::spawn(worker.turn(began + length));
        let tasks: Vec<_> = workers.drain(..).map(start).collect();
        for task in tasks {
            workers.push(task.await??);
        }
        let operations: usize = workers.iter().map(|worker| worker.times.len()).sum();
        let ended = workers.iter().filter_map(|worker| worker.times.last()).map(|it| it.1).max();
        println!("{operations} {}", (ended.unwrap_or(began) - began).as_nanos());
    }
    Ok(())
}
