//! Snapshots of the whole record of one phase of one run, from generated samples.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{PhaseSource, summarise};
use crate::collect::tail::Claimed;
use crate::input_files::InputFiles;
use crate::measured::{MeasuredPhase, Read};
use crate::messages::Tapped;
use crate::turn::{ArmTurn, Turned};
use adapter::protocol::{Consumed, PhaseEnd, ReadTotals};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use record::folder::Folder;
use record::records::PhaseRun;
use record::samples::Sample;
use serde_json::json;
use stats::hlog::{Interval, IntervalLog};
use tap::exchange::{Exchange, MessageMark, flags};
use tap::recording;
use workload::Workload;
use workload::plan::Plan;

const WORKLOAD: &str = "
why: its samples are generated
collections:
  items:
    documents: 1000
    document:
      number: {type: long, value: key}
  messages:
    capped: {size_bytes: 1048576}
    document:
      producer: {type: int, value: producer}
      sequence: {type: long, value: sequence}
      made_ns: {type: long, value: made_ns}
phases:
  - name: closed
    mix:
      - {operation: find_one, weight: 3}
      - {name: page, operation: find, by: number, range: 10}
    collection: items
    workers: 2
    processes: 2
  - name: rate
    operation: find_one
    collection: items
    rate: 1000
    workers: 4
    processes: 2
  - name: burst
    operation: insert_one
    collection: messages
    operations: 600
    burst: true
    consumer: true
    workers: 4
    processes: 2
";
const CLOSED: usize = 0;
const RATE: usize = 1;
const BURST: usize = 2;
/// Workers of each process in an open loop.
const WORKERS: u64 = 4;
/// Begin of the phase, ns since the epoch.
const T0_NS: u64 = 3_000_000_000;
const MS: u64 = 1_000_000;

struct Bed {
    folder: Folder,
    plan: Plan,
    inputs: InputFiles,
    random: u64,
    _scratch: tempfile::TempDir,
}

struct Left {
    number: usize,
    files: Vec<PathBuf>,
    measured: MeasuredPhase,
    /// Prefix of the tap's files.
    tap: Option<PathBuf>,
}

impl Bed {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(&scratch.path().join("results")).expect("a folder");
        let loaded = workload::parse(WORKLOAD, Path::new("made.yaml"), &BTreeMap::new());
        let made = loaded.and_then(|loaded| workload::build(&loaded, 1));
        let Workload { plan, pools, .. } = made.unwrap_or_else(|error| panic!("{error}"));
        let inputs = InputFiles::write(&plan, &BTreeSet::from([None]), pools, &folder, 1.0)
            .unwrap_or_else(|error| panic!("{error}"));
        Self { folder, plan, inputs, random: 0x9e37_79b9_7f4a_7c15, _scratch: scratch }
    }

    /// From 0 up to `below`; xorshift64, the same on every machine.
    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn write(&self, name: &str, samples: &[Sample]) -> PathBuf {
        let path = self.folder.join("samples").join(name);
        let mut bytes: Vec<u8> = samples.iter().flat_map(Sample::to_bytes).collect();
        // A killed adapter leaves a torn last record.
        bytes.extend_from_slice(&[7; 9]);
        fs::write(&path, bytes).expect("a file");
        path
    }

    fn left(&self, number: usize, samples: &[Vec<Sample>], turns: Vec<ArmTurn>) -> Left {
        let files = samples.iter().enumerate();
        let files = files.map(|(process, it)| self.write(&format!("{number}-{process}.bin"), it));
        let phase = &self.plan.phases[number];
        let mut measured = MeasuredPhase::new(0);
        measured.turn_length = Duration::from_millis(50);
        measured.claimed = claimed(samples);
        measured.rates = turns.iter().map(|turn| turn.rate(phase.has_one_worker())).collect();
        measured.positions = (0..turns.len() as u32).map(|turn| turn % 3).collect();
        measured.turns = turns;
        measured.idle_cpu_ns = 5 * MS;
        measured.counters = BTreeMap::from([("opcounters.query".to_owned(), 7)]);
        measured.sizes = BTreeMap::from([("before.collStats.count".to_owned(), 1)]);
        measured.documents_after = Some(590);
        measured.ended = Some(PhaseEnd {
            totals: ReadTotals { documents: 12_345, sum: 678, retries: None },
            ..PhaseEnd::default()
        });
        Left { number, files: files.collect(), measured, tap: None }
    }

    /// Turns of two processes with two workers each; one answer in 50 is wrong, one in 60 is
    /// missing.
    fn closed(&mut self) -> Left {
        let mut files = vec![Vec::new(); 2];
        let mut index = [0_u32; 4];
        let mut turns = Vec::new();
        for turn in 0..8 {
            let began_ns = T0_NS + turn * 510 * MS;
            let until_ns = began_ns + 50 * MS;
            let mut turned = turned(began_ns);
            for worker in 0..4_u16 {
                let mut start_ns = began_ns + 20_000;
                while start_ns < until_ns {
                    let index = &mut index[usize::from(worker)];
                    let tail = if self.random(300) == 0 { 3 * MS } else { 1 };
                    let sample = Sample {
                        intended_ns: start_ns,
                        start_ns,
                        service_ns: 60_000 + turn * 900 + self.random(100_000) + self.random(tail),
                        index: *index,
                        operation: u8::from(*index % 4 == 3),
                        outcome: outcome(*index),
                        worker,
                    };
                    add(&mut turned, &sample, until_ns);
                    start_ns = sample.end_ns() + 3_000;
                    *index += 1;
                    files[usize::from(worker / 2)].push(sample);
                }
            }
            turns.push(ArmTurn { turned, until_ns, cpu_ns: 40 * MS });
        }
        // An operation that the phase does not have.
        let unknown = Sample { operation: 9, outcome: 2, ..files[1][0] };
        files[1].push(unknown);
        self.left(CLOSED, &files, turns)
    }

    /// A rate an eighth above the capacity of its eight workers.
    fn rate(&mut self) -> Left {
        let mut files = vec![Vec::new(); 2];
        let mut free_ns = [0_u64; 8];
        let mut turned = turned(T0_NS);
        for number in 0..2_500_u64 {
            let (process, index) = (number % 2, (number / 2) as u32);
            let worker = process * WORKERS + u64::from(index) % WORKERS;
            let intended_ns = T0_NS + number * MS;
            let free_ns = &mut free_ns[worker as usize];
            let sample = Sample {
                intended_ns,
                start_ns: intended_ns.max(*free_ns) + self.random(90_000),
                service_ns: 8_800_000 + self.random(400_000),
                index,
                operation: 0,
                outcome: outcome(index),
                worker: worker as u16,
            };
            *free_ns = sample.end_ns();
            add(&mut turned, &sample, u64::MAX);
            files[process as usize].push(sample);
        }
        let until_ns = turned.ended_ns;
        self.left(RATE, &files, vec![ArmTurn { turned, until_ns, cpu_ns: 900 * MS }])
    }

    /// Messages that are all intended at once, read along, through a tap.
    fn burst(&mut self) -> Left {
        let mut files = vec![Vec::new(); 2];
        let mut turned = turned(T0_NS);
        for worker in 0..8_u16 {
            let mut start_ns = T0_NS + u64::from(worker) * 4_000;
            for index in 0..75 {
                let sample = Sample {
                    intended_ns: T0_NS,
                    start_ns,
                    service_ns: 200_000 + self.random(50_000),
                    index,
                    operation: 0,
                    // Reported as failed, but it arrives.
                    outcome: if (worker, index) == (3, 20) { 2 } else { 0 },
                    worker,
                };
                add(&mut turned, &sample, u64::MAX);
                start_ns = sample.end_ns() + 10_000;
                files[usize::from(worker / 4)].push(sample);
            }
        }
        let mut sent = files.concat();
        sent.sort_by_key(Sample::end_ns);
        let received = self.received(&mut sent);
        let until_ns = turned.ended_ns + 10;
        let turn = ArmTurn { turned, until_ns, cpu_ns: 30 * MS };
        let mut left = self.left(BURST, &files, vec![turn]);
        left.tap = Some(self.tapped(&sent, &received));
        let consumed = Consumed { cursors: 2, positions_lost: 1 };
        left.measured.read = Some(Read {
            turn: ArmTurn { cpu_ns: 20 * MS, ..turn },
            ended: PhaseEnd { consumer: Some(consumed), ..PhaseEnd::default() },
            samples: self.write("consumer.bin", &received),
            claimed: claimed(&[received]),
            rss_armed_bytes: 1_000,
            rss_peak_bytes: 2_000,
            rss_held_bytes: 0,
            clock_within_us: Some(1.5),
        });
        left
    }

    /// The consumer's samples: ten messages a reply. One is lost, one doubled, two change places.
    fn received(&mut self, sent: &mut [Sample]) -> Vec<Sample> {
        let mut received = Vec::new();
        for batch in sent.chunks(10) {
            let mut at_ns = batch[batch.len() - 1].end_ns() + 150_000;
            for it in batch {
                at_ns += 1_000 + self.random(1_000);
                let made_ns = it.start_ns - 2_000;
                received.push(Sample {
                    intended_ns: made_ns,
                    start_ns: at_ns,
                    service_ns: 0,
                    outcome: 0,
                    ..*it
                });
            }
        }
        received.remove(111);
        let again = received[300];
        received.push(Sample { start_ns: received[598].start_ns + 5_000, ..again });
        let (one, other) = (received[400].start_ns, received[401].start_ns);
        received.swap(400, 401);
        (received[400].start_ns, received[401].start_ns) = (one, other);
        received
    }

    /// The tap's record on the ports of producers and consumer.
    fn tapped(&self, sent: &[Sample], received: &[Sample]) -> PathBuf {
        let insert = |it: &Sample| Exchange {
            request_in_ns: it.start_ns + 30_000,
            request_out_ns: it.start_ns + 34_000,
            reply_first_ns: it.end_ns() - 25_000,
            reply_last_ns: it.end_ns() - 25_000,
            reply_out_ns: it.end_ns() - 20_000,
            bytes_out: 180,
            bytes_in: 45,
            documents: 1,
            connection: u32::from(it.worker) + 1,
            flags: flags::ANSWERED,
            ..Exchange::default()
        };
        let mut inserts: Vec<Exchange> = sent.iter().map(|it| marked(insert(it), it)).collect();
        inserts.remove(77);
        // The warm-up's messages have the same numbers.
        inserts.insert(0, marked(Exchange { request_in_ns: 5, ..insert(&sent[0]) }, &sent[0]));
        let replies = received.chunks(10).map(|batch| {
            let first_ns = batch[0].start_ns - 60_000;
            let reply = Exchange {
                request_in_ns: first_ns - 100_000,
                request_out_ns: first_ns - 95_000,
                reply_first_ns: first_ns,
                reply_last_ns: first_ns + 3_000,
                reply_out_ns: first_ns + 8_000,
                documents_in: batch.len() as u32,
                connection: 1,
                shape: 1,
                flags: flags::ANSWERED,
                ..Exchange::default()
            };
            marked(reply, &batch[0])
        });
        let prefix = self.folder.join("tap");
        let ports = [inserts, replies.collect()];
        for (port, exchanges) in ports.iter().enumerate() {
            let (bin, json) = recording::paths(&prefix, port);
            let bytes: Vec<u8> = exchanges.iter().flat_map(Exchange::to_bytes).collect();
            fs::write(bin, bytes).expect("a file");
            let connection = |number: u32| {
                json!({"number": number, "opened_ns": 10, "closed_ns": null, "bytes_out": 0,
                    "bytes_in": 0, "encrypted": false})
            };
            let recording = json!({
                "link": null,
                "shapes": [
                    {"command": "insert", "fields": ["documents"]},
                    {"command": "getMore", "fields": ["collection"]},
                ],
                "connections": (1..=9).map(connection).collect::<Vec<_>>(),
            });
            fs::write(json, recording.to_string()).expect("a file");
        }
        prefix
    }
}

fn claimed(files: &[Vec<Sample>]) -> Claimed {
    Claimed { counts: files.iter().map(|it| it.len() as u64).collect(), fault: None }
}

fn marked(mut exchange: Exchange, of: &Sample) -> Exchange {
    exchange.set_mark(MessageMark { producer: of.worker.into(), sequence: of.index.into() });
    exchange
}

fn outcome(index: u32) -> u8 {
    match index {
        _ if index % 50 == 7 => 1,
        _ if index % 60 == 11 => 2,
        _ => 0,
    }
}

fn turned(began_ns: u64) -> Turned {
    Turned {
        began_ns,
        ended_ns: began_ns,
        operations: 0,
        completed_by_deadline: 0,
        errors: 0,
        exhausted: false,
        gave_up: false,
    }
}

fn add(turned: &mut Turned, sample: &Sample, until_ns: u64) {
    turned.operations += 1;
    turned.completed_by_deadline += u64::from(sample.end_ns() <= until_ns);
    turned.ended_ns = turned.ended_ns.max(sample.end_ns());
}

/// The log of intervals, a line each.
fn intervals(bed: &Bed, name: &str) -> Vec<String> {
    let bytes = fs::read(bed.folder.join(name)).expect("a log");
    let line = |it: &Interval| {
        let (tag, count) = (it.tag.as_deref().unwrap_or_default(), it.histogram.count());
        let (p50, max) = (it.histogram.percentile_ns(50.0), it.histogram.max_ns());
        format!("{tag} from {:?} for {:?}: {count}, {p50:?}, {max:?}", it.start, it.length)
    };
    IntervalLog::read(&bytes).expect("a log").intervals.iter().map(line).collect()
}

async fn summed(bed: &Bed, left: &Left) -> PhaseRun {
    let source = PhaseSource {
        plan: &bed.plan,
        number: left.number,
        files: left.files.clone(),
        inputs: &bed.inputs,
        exclusive: left.number == CLOSED,
        hlog: format!("hlog/{}.hlog", left.number),
        arm: "made",
        tapped: left.tap.as_ref().map(|prefix| Tapped { prefix, arm: 0, consumer: 1 }),
    };
    summarise(&source, &left.measured, &bed.folder).await.expect("files")
}

/// The kernel's count of openings of each sample file while a phase is summed up.
async fn opened(bed: &Bed, left: &Left) -> BTreeMap<String, u32> {
    let watch = Inotify::init(InitFlags::IN_NONBLOCK).expect("a watch");
    // Closing is watched as well: successive equal events would merge.
    let events = AddWatchFlags::IN_OPEN | AddWatchFlags::IN_CLOSE;
    watch.add_watch(&bed.folder.join("samples"), events).expect("a watch");
    summed(bed, left).await;
    let mut opened = BTreeMap::new();
    while let Ok(events) = watch.read_events() {
        for event in events.iter().filter(|it| it.mask.contains(AddWatchFlags::IN_OPEN)) {
            let name = event.name.as_ref().expect("a file's").to_string_lossy().into_owned();
            *opened.entry(name).or_default() += 1;
        }
    }
    opened
}

#[tokio::test]
async fn each_file_of_samples_is_read_once_and_a_second_time_for_a_queue() {
    let mut bed = Bed::new();
    let names = |names: &[(&str, u32)]| -> BTreeMap<String, u32> {
        names.iter().map(|(name, times)| ((*name).to_owned(), *times)).collect()
    };
    let left = bed.closed();
    assert_eq!(opened(&bed, &left).await, names(&[("0-0.bin", 1), ("0-1.bin", 1)]));
    let left = bed.rate();
    assert_eq!(opened(&bed, &left).await, names(&[("1-0.bin", 2), ("1-1.bin", 2)]));
    let left = bed.burst();
    let both = [("2-0.bin", 2), ("2-1.bin", 2), ("consumer.bin", 1)];
    assert_eq!(opened(&bed, &left).await, names(&both));
}

#[tokio::test]
async fn the_record_of_a_closed_loop() {
    let mut bed = Bed::new();
    let left = bed.closed();
    let run = summed(&bed, &left).await;
    insta::assert_json_snapshot!("closed", (&run, intervals(&bed, run.hlog.as_ref().unwrap())));
}

#[tokio::test]
async fn the_record_of_a_rate() {
    let mut bed = Bed::new();
    let left = bed.rate();
    let run = summed(&bed, &left).await;
    insta::assert_json_snapshot!("rate", (&run, intervals(&bed, run.hlog.as_ref().unwrap())));
}

#[tokio::test]
async fn the_record_of_a_burst_that_is_read_along_through_the_tap() {
    let mut bed = Bed::new();
    let left = bed.burst();
    let run = summed(&bed, &left).await;
    insta::assert_json_snapshot!("burst", (&run, intervals(&bed, run.hlog.as_ref().unwrap())));
}
