//! The parts of messages' ways, from records made by hand.

use std::convert::Infallible;

use crate::tap_support::total_ns;
use record::samples::Sample;
use tap::exchange::{Exchange, MessageMark, flags};
use tap::message_ways::{BrokerMessage, LatencyParts, MatchCounts, MessageWays, Unmatched};

/// The recording of a broker.
#[derive(Clone, Default)]
struct Broker {
    received: Vec<Sample>,
    sent: Vec<Sample>,
    inserts: Vec<Exchange>,
    replies: Vec<Exchange>,
}

fn sample(worker: u16, index: u32, intended_ns: u64, start_ns: u64) -> Sample {
    Sample { intended_ns, start_ns, service_ns: 100, index, operation: 0, outcome: 0, worker }
}

fn marked(producer: u32, sequence: u64, exchange: Exchange) -> Exchange {
    let mut exchange = exchange;
    exchange.set_mark(MessageMark { producer, sequence });
    exchange
}

/// Comes in at `at` and goes on 5 later.
fn insert(producer: u32, sequence: u64, documents: u32, at: u64) -> Exchange {
    let times = Exchange { request_in_ns: at, request_out_ns: at + 5, ..Exchange::default() };
    marked(producer, sequence, Exchange { documents, flags: flags::ANSWERED, ..times })
}

/// Asked for at `asked`, begins at `first` and is passed on 7 later.
fn reply(producer: u32, sequence: u64, documents_in: u32, asked: u64, first: u64) -> Exchange {
    let exchange = Exchange {
        request_in_ns: asked - 3,
        request_out_ns: asked,
        reply_first_ns: first,
        reply_last_ns: first + 2,
        reply_out_ns: first + 7,
        documents_in,
        flags: flags::ANSWERED,
        ..Exchange::default()
    };
    marked(producer, sequence, exchange)
}

/// Other commands on the same ports.
fn noise() -> Exchange {
    Exchange { request_in_ns: 1, reply_first_ns: 2, flags: flags::ANSWERED, ..Exchange::default() }
}

fn told(broker: &Broker) -> (MatchCounts, Vec<BrokerMessage>) {
    fn all<T: Copy>(of: &[T]) -> impl Iterator<Item = Result<T, Infallible>> {
        of.iter().map(|it| Ok(*it))
    }
    let mut messages = Vec::new();
    let Broker { received, sent, inserts, replies } = broker;
    let mut ways = MessageWays::with_capacity(received.len());
    for sample in received {
        ways.take(sample);
    }
    let sent = sent.iter().copied();
    let told = ways.resolve(all(inserts), sent, all(replies), |it| messages.push(it));
    let told = told.expect("infallible");
    for it in &messages {
        if let Ok(parts) = it.parts {
            assert_eq!(total_ns(&parts), it.received_ns - it.begin_ns, "{it:?}");
        }
    }
    assert_eq!(told.messages, messages.len() as u64);
    (told, messages)
}

/// Message n of one producer: intended at 1000 n, made 10 later, the call 20, the request 50 and 5.
/// It is at the server for 100, its own reply takes 7, the program has it 30 later.
fn one_by_one(count: u32) -> Broker {
    let mut broker = Broker::default();
    for n in 0..count {
        let at = 1000 * u64::from(n + 1);
        broker.sent.push(sample(0, n, at, at + 20));
        broker.inserts.push(insert(0, n.into(), 1, at + 50));
        broker.replies.push(reply(0, n.into(), 1, at, at + 155));
        broker.received.push(sample(0, n, at + 10, at + 192));
    }
    broker
}

const USUAL: LatencyParts = LatencyParts {
    program_ns: 20,
    driver_ns: 30,
    wire_ns: 12,
    server_ns: 100,
    consumer_ns: 30,
    unasked_ns: 0,
};

fn parts(messages: &[BrokerMessage]) -> Vec<Result<LatencyParts, Unmatched>> {
    messages.iter().map(|it| it.parts).collect()
}

#[test]
fn every_part_of_the_way_is_told() {
    let mut broker = one_by_one(300);
    broker.inserts.insert(0, noise());
    broker.replies.insert(7, noise());
    let (told, messages) = told(&broker);
    assert_eq!(parts(&messages), vec![Ok(USUAL); 300]);
    assert_eq!(told, MatchCounts { messages: 300, matched: 300, ..MatchCounts::default() });
    let last = messages[299];
    assert_eq!((last.producer, last.sequence, last.begin_ns), (0, 299, 300_000));
}

#[test]
fn records_may_come_in_any_order() {
    let mut broker = one_by_one(300);
    broker.inserts.reverse();
    broker.sent.rotate_left(100);
    broker.replies.swap(3, 250);
    assert_eq!(parts(&told(&broker).1), vec![Ok(USUAL); 300]);
}

#[test]
fn producers_are_apart_and_messages_arrive_in_batches() {
    // Two producers, pipelined: everything is written at once, and read as one batch.
    let mut broker = Broker::default();
    for n in 0..50_u32 {
        for worker in [0_u16, 7] {
            let at = 1000 + u64::from(n) + u64::from(worker);
            broker.sent.push(sample(worker, n, 100, at));
            broker.inserts.push(insert(worker.into(), n.into(), 1, at + 1000));
            let number = broker.received.len() as u64;
            broker.received.push(sample(worker, n, at, 5000 + number));
        }
    }
    // The first ten, then all others, and the document that marks the end.
    broker.replies.push(reply(0, 5, 91, 4000, 4500));
    broker.replies.push(reply(0, 0, 10, 3000, 3100));
    let (told, messages) = told(&broker);
    assert_eq!(told.matched, 100);
    let of = |number: usize| messages[number].parts.expect("matched");
    let first = LatencyParts {
        program_ns: 900,
        driver_ns: 1000,
        wire_ns: 12,
        server_ns: 3100 - 2005,
        consumer_ns: 5000 - 3107,
        unasked_ns: 3000 - 2005,
    };
    assert_eq!((of(0), messages[0].begin_ns), (first, 100));
    assert_eq!((of(9).consumer_ns, of(10).consumer_ns), (5009 - 3107, 5010 - 4507));
    assert_eq!((messages[99].producer, of(99).program_ns), (7, 1056 - 100));
}

#[test]
fn missing_records_are_counted_and_never_guessed() {
    let mut broker = one_by_one(10);
    broker.sent.remove(1);
    broker.inserts.remove(2);
    broker.replies.remove(3);
    broker.inserts.push(insert(0, 4, 1, 5700)); // a driver that tried again
    broker.sent.remove(4); // that of message 5
    broker.received.remove(9); // lost
    let (told, messages) = told(&broker);
    let expected = [
        Ok(USUAL),
        Err(Unmatched::NoSample),
        Err(Unmatched::NoInsert),
        Err(Unmatched::NoReply),
        Err(Unmatched::SeveralInserts),
        Err(Unmatched::NoSample),
        Ok(USUAL),
        Ok(USUAL),
        Ok(USUAL),
    ];
    assert_eq!(parts(&messages), expected);
    let counts = MatchCounts {
        messages: 9,
        matched: 4,
        without_sample: 2,
        without_insert: 1,
        with_several_inserts: 1,
        without_reply: 1,
        ..MatchCounts::default()
    };
    assert_eq!(told, counts);
    assert_eq!(messages[1].begin_ns, 2010, "when it was made is all that is known");
    assert_eq!(messages[3].begin_ns, 4000);
    // Marks beyond the range of a sample's numbers.
    broker.inserts.push(insert(1 << 16, 6, 1, 7700));
    broker.inserts.push(insert(0, 1 << 32, 1, 7700));
    assert_eq!(told_only(&broker), counts);
}

fn told_only(broker: &Broker) -> MatchCounts {
    told(broker).0
}

#[test]
fn a_cursor_opened_again_delivers_again_and_loses_nothing() {
    let mut broker = one_by_one(10);
    // After message 4 a new cursor starts at the oldest and skips the known ones. Then a gap: 7 was
    // overwritten.
    broker.replies.truncate(5);
    broker.replies.push(reply(0, 2, 4, 6000, 6155)); // 2 to 5
    broker.replies.push(reply(0, 6, 1, 7000, 7155));
    broker.received.remove(7);
    broker.replies.push(reply(0, 8, 2, 9000, 9155));
    let (told, messages) = told(&broker);
    assert_eq!(told.matched, 9);
    let all = parts(&messages);
    assert_eq!(all[..8], [Ok(USUAL); 8]);
    let last = all[8].expect("matched");
    assert_eq!((last.server_ns, last.consumer_ns, told.clamped), (0, 137, 1), "a reply too early");
}

#[test]
fn a_message_that_is_delivered_twice_has_two_replies() {
    let mut broker = one_by_one(5);
    broker.received.push(sample(0, 2, 3010, 9192));
    broker.replies.insert(0, reply(0, 2, 1, 9000, 9155));
    let (told, messages) = told(&broker);
    assert_eq!((told.messages, told.matched), (6, 6));
    assert_eq!(messages[2].parts, Ok(USUAL));
    let again = LatencyParts { server_ns: 9155 - 3055, unasked_ns: 9000 - 3055, ..USUAL };
    assert_eq!(messages[5].parts, Ok(again));
}

#[test]
fn times_out_of_order_are_moved_and_the_sum_stays() {
    let mut broker = one_by_one(4);
    broker.sent[0].start_ns = 990; // before it was intended
    broker.inserts[1].request_in_ns = 2015; // before the call
    broker.inserts[2].request_out_ns = 3300; // after it was received
    broker.replies[3].reply_first_ns = 4052; // before the request had gone on
    let (told, messages) = told(&broker);
    let expected = [
        LatencyParts { program_ns: 0, driver_ns: 50, ..USUAL },
        LatencyParts { driver_ns: 0, wire_ns: 35 + 7, ..USUAL },
        LatencyParts { wire_ns: 142, server_ns: 0, consumer_ns: 0, ..USUAL },
        LatencyParts { wire_ns: 5 + 107, server_ns: 0, ..USUAL },
    ];
    assert_eq!(parts(&messages), expected.map(Ok));
    assert_eq!((told.clamped, told.clamped_max_ns), (4, 3300 - 3192));
    // A reply that began after the program had the message did not carry it.
    broker.replies[3].reply_first_ns = 4193;
    assert_eq!(parts(&self::told(&broker).1)[3], Err(Unmatched::NoReply));
}

#[test]
fn the_messages_of_one_insert_share_its_request_and_sample() {
    let mut broker = Broker::default();
    // Two inserts of ten, each with separate sequences.
    for first in [0, 10] {
        let at = 1000 * u64::from(first + 1);
        broker.sent.push(sample(3, first, at, at + 20));
        broker.inserts.push(insert(3, first.into(), 10, at + 50));
        broker.replies.push(reply(3, first.into(), 10, at, at + 155));
        for n in first..first + 10 {
            broker.received.push(sample(3, n, at + 10, at + 192));
        }
    }
    broker.received.remove(10); // the first of the second insert is lost
    broker.replies[1] = reply(3, 11, 9, 11_000, 11_155);
    assert_eq!(parts(&told(&broker).1), vec![Ok(USUAL); 19]);
    // Sequences that overlap, as those of batches whose operations are numbered one by one.
    broker.inserts.push(insert(3, 1, 10, 1060));
    let (told, messages) = told(&broker);
    assert_eq!((told.matched, told.with_several_inserts), (1 + 9, 9));
    assert_eq!(messages[0].parts, Ok(USUAL));
}

#[test]
fn a_server_that_goes_on_by_itself_was_asked() {
    let mut broker = one_by_one(2);
    broker.replies[1] = reply(0, 1, 1, 2155, 2155);
    assert_eq!(told(&broker).1[1].parts, Ok(LatencyParts { unasked_ns: 100, ..USUAL }));
    broker.replies[1].flags |= flags::STREAMED;
    assert_eq!(told(&broker).1[1].parts, Ok(USUAL));
}

/// Peak memory of this process, MB.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kib: u64 = line.split_whitespace().next().expect("a number").parse().expect("a number");
    kib * 1024 / 1_000_000
}

#[test]
fn a_million_messages_take_less_than_100_mb() {
    const COUNT: u64 = 1_000_000;
    let before_mb = peak_mb();
    // Samples of 1024 workers, in turn.
    let of = |n: u64| ((n % 1024) as u16, (n / 1024) as u32);
    let sample = |n: u64, at: u64| {
        let (worker, index) = of(n);
        sample(worker, index, n, n + at)
    };
    let exchange = |n: u64, make: fn(u32, u64, u64) -> Exchange| {
        let (worker, index) = of(n);
        Ok::<_, Infallible>(make(worker.into(), index.into(), n))
    };
    let inserts = (0..COUNT).map(|n| exchange(n, |p, s, n| insert(p, s, 1, n + 50)));
    let replies = (0..COUNT).map(|n| exchange(n, |p, s, n| reply(p, s, 1, n + 3, n + 155)));
    let mut ways = MessageWays::with_capacity(COUNT as usize);
    for n in 0..COUNT {
        ways.take(&sample(n, 192));
    }
    let sent = (0..COUNT).map(|n| sample(n, 20));
    let mut parts_ns = 0;
    let told = ways.resolve(inserts, sent, replies, |it| {
        parts_ns += total_ns(&it.parts.expect("matched"));
    });
    assert_eq!(told.map(|it| it.matched), Ok(COUNT));
    assert_eq!(parts_ns, COUNT * 192);
    let peak_mb = peak_mb() - before_mb;
    eprintln!("{peak_mb} MB");
    assert!(peak_mb < 100, "{peak_mb} MB");
}

#[test]
fn nothing_is_nothing() {
    assert_eq!(told(&Broker::default()), (MatchCounts::default(), Vec::new()));
}
