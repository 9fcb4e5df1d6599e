//! Messages through a capped collection, on two ports of one tap, with real driver and server.
//! Every message is found again on its way.

use std::convert::Infallible;
use std::sync::mpsc;
use std::time::Duration;

use crate::support::{block_on, server_of_all_drivers};
use crate::tap_support::{Tap, host_of, total_ns};
use base::clock::monotonic_ns;
use bson::{Document, doc};
use mongodb::options::CursorType;
use mongodb::{Client, Collection};
use record::samples::Sample;
use server::ServerHandle;
use tap::exchange::flags;
use tap::message_ways::{BrokerMessage, MatchCounts, MessageWays};

const MARK: [&str; 2] = ["--mark", "producer,sequence"];

async fn collection(uri: &str) -> Collection<Document> {
    let client = Client::with_uri_str(uri).await.expect("a client");
    client.database("tap_messages").collection("messages")
}

fn sample(worker: u16, index: u32, intended_ns: u64, start_ns: u64) -> Sample {
    let service_ns = monotonic_ns() - start_ns;
    Sample { intended_ns, start_ns, service_ns, index, operation: 0, outcome: 0, worker }
}

fn message(producer: u16, sequence: u32) -> Document {
    let made_ns = monotonic_ns().cast_signed();
    let producer = i32::from(producer);
    doc! { "producer": producer, "sequence": i64::from(sequence), "made_ns": made_ns }
}

/// Workers that await each insert and then sleep.
async fn produce(uri: String, workers: u16, each: u32, think: Duration) -> Vec<Sample> {
    let messages = collection(&uri).await;
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..workers {
        let messages = messages.clone();
        tasks.spawn(async move {
            let mut samples = Vec::new();
            for index in 0..each {
                let intended_ns = monotonic_ns();
                let message = message(worker, index);
                let start_ns = monotonic_ns();
                messages.insert_one(message).await.expect("inserted");
                samples.push(sample(worker, index, intended_ns, start_ns));
                tokio::time::sleep(think).await;
            }
            samples
        });
    }
    tasks.join_all().await.concat()
}

/// Ten messages at once, by a separate worker.
async fn produce_batch(uri: &str, worker: u16) -> Sample {
    let messages = collection(uri).await;
    let batch: Vec<Document> = (0..10).map(|sequence| message(worker, sequence)).collect();
    let start_ns = monotonic_ns();
    messages.insert_many(batch).await.expect("inserted");
    sample(worker, 0, start_ns, start_ns)
}

/// Reads the sentinel, says so, and then reads `count` messages.
async fn consume(uri: String, count: usize, ready: mpsc::Sender<()>) -> Vec<Sample> {
    let messages = collection(&uri).await;
    let tail = messages.find(doc! {}).cursor_type(CursorType::TailableAwait);
    let mut cursor = tail.max_await_time(Duration::from_millis(100)).await.expect("a cursor");
    assert!(cursor.advance().await.expect("the sentinel"));
    ready.send(()).expect("somebody waits");
    let mut samples = Vec::new();
    while samples.len() < count {
        assert!(cursor.advance().await.expect("a message"), "the cursor is dead");
        let document = cursor.deserialize_current().expect("a document");
        let start_ns = monotonic_ns();
        samples.push(Sample {
            intended_ns: document.get_i64("made_ns").expect("a time").cast_unsigned(),
            start_ns,
            service_ns: 0,
            index: u32::try_from(document.get_i64("sequence").expect("a number")).expect("small"),
            operation: 0,
            outcome: 0,
            worker: u16::try_from(document.get_i32("producer").expect("a number")).expect("small"),
        });
    }
    samples
}

/// Runs a broker through a tap whose recording is called `broker`; returns the samples of both
/// ends.
fn broker<P: Future<Output = Vec<Sample>>>(
    server: &ServerHandle,
    tap: &mut Tap,
    count: usize,
    producers: impl FnOnce(String) -> P,
) -> (Vec<Sample>, Vec<Sample>) {
    block_on(async {
        let direct = Client::with_uri_str(server.uri()).await.expect("a client");
        let database = direct.database("tap_messages");
        database.collection::<Document>("messages").drop().await.expect("dropped");
        let create = database.create_collection("messages").capped(true).size(16 << 20);
        create.await.expect("created");
        let sentinel = doc! { "sentinel": true };
        database.collection("messages").insert_one(sentinel).await.expect("inserted");
    });
    tap.rotate(Some("broker"));
    let uris = [0, 1].map(|arm| format!("mongodb://{}/?directConnection=true", tap.addresses[arm]));
    let [to_produce, to_consume] = uris;
    let (ready, is_ready) = mpsc::channel();
    let consumer = std::thread::spawn(move || block_on(consume(to_consume, count, ready)));
    is_ready.recv_timeout(crate::tap_support::PATIENCE).expect("a consumer");
    let sent = block_on(producers(to_produce));
    let received = consumer.join().expect("all messages");
    tap.rotate(None);
    (sent, received)
}

fn all<T>(of: Vec<T>) -> impl Iterator<Item = Result<T, Infallible>> {
    of.into_iter().map(Ok)
}

fn told(tap: &Tap, sent: Vec<Sample>, received: &[Sample]) -> (MatchCounts, Vec<BrokerMessage>) {
    let [inserts, replies] = [0, 1].map(|arm| tap.recorded("broker", arm).0);
    let mut messages = Vec::new();
    let mut ways = MessageWays::with_capacity(received.len());
    for sample in received {
        ways.take(sample);
    }
    let told = ways.resolve(all(inserts), sent, all(replies), |it| messages.push(it));
    let told = told.expect("infallible");
    eprintln!("{told:?}");
    for it in &messages {
        let parts = it.parts.unwrap_or_else(|why| panic!("{it:?}: {why:?}"));
        assert_eq!(total_ns(&parts), it.received_ns - it.begin_ns);
    }
    (told, messages)
}

#[test]
fn the_way_of_every_message_is_told() {
    let Some(server) = server_of_all_drivers("the_way_of_every_message_is_told") else { return };
    let mut tap = Tap::start(&host_of(server.uri()), 2, &MARK);
    let (sent, received) = broker(&server, &mut tap, 510, |uri| async move {
        let mut sent = produce(uri.clone(), 4, 125, Duration::ZERO).await;
        sent.push(produce_batch(&uri, 9).await);
        sent
    });
    let (told, messages) = told(&tap, sent, &received);
    assert_eq!((told.messages, told.matched), (510, 510));
    let batched = messages.iter().filter(|it| it.producer == 9).count();
    assert_eq!((messages[509].producer, batched), (9, 10));
    let (replies, _) = tap.recorded("broker", 1);
    let carried: u32 = replies.iter().map(|it| it.documents_in).sum();
    assert_eq!(carried, 510, "the sentinel is no message");
    assert_eq!(tap.end(), "");
}

#[test]
fn the_links_time_is_the_wires_and_nobody_elses() {
    let Some(server) = server_of_all_drivers("the_links_time_is_the_wires_and_nobody_elses") else {
        return;
    };
    let more = [&MARK[..], &["--link", "100mbit,rtt=20ms"]].concat();
    let mut tap = Tap::start(&host_of(server.uri()), 2, &more);
    // A pause, so that the consumer's next request is back at the server before the next message.
    let think = Duration::from_millis(15);
    let (sent, received) = broker(&server, &mut tap, 60, |uri| produce(uri, 1, 60, think));
    let (told, messages) = told(&tap, sent, &received);
    assert_eq!((told.messages, told.matched), (60, 60));
    for it in &messages {
        // To the server and from it; each is shortened by at most 0.1 ms, the tap's own time.
        let wire_ns = it.parts.expect("matched").wire_ns;
        assert!(wire_ns >= 2 * 9_900_000, "{it:?}");
    }
    let others: [fn(&tap::message_ways::LatencyParts) -> u64; 3] =
        [|it| it.driver_ns, |it| it.server_ns, |it| it.consumer_ns];
    // The least: a busy machine delays some messages, not all.
    let least = |of: fn(&tap::message_ways::LatencyParts) -> u64| {
        messages.iter().filter_map(|it| it.parts.as_ref().ok()).map(of).min()
    };
    assert!(others.into_iter().all(|of| least(of) < Some(9_900_000)), "none has the link's time");
}

#[test]
fn without_the_option_nothing_is_marked() {
    let Some(server) = server_of_all_drivers("without_the_option_nothing_is_marked") else {
        return;
    };
    let mut tap = Tap::start(&host_of(server.uri()), 2, &[]);
    broker(&server, &mut tap, 10, |uri| produce(uri, 1, 10, Duration::ZERO));
    for arm in [0, 1] {
        let (exchanges, _) = tap.recorded("broker", arm);
        let is_bare = |it: &&tap::exchange::Exchange| {
            !it.is(flags::MARKED)
                && (it.mark_sequence, it.mark_producer, it.documents_in) == (0, 0, 0)
        };
        assert!(exchanges.len() >= 10);
        assert_eq!(exchanges.iter().filter(is_bare).count(), exchanges.len());
    }
}
