//! The parts of each broker message's way, from its begin to its arrival in the consumer's program.
//! Pure.
//!
//! ```text
//! begin ──► start ──► request_in ──► request_out ──► reply_first ──► reply_out ──► received
//!  program    driver      wire           server           wire         consumer
//! ```
//! Begin is the earlier of the intended start and the making of the document. The request is the
//! insert on the producer's port of the tap. The reply is the one that carries the message on the
//! consumer's port. "Wire" is the tap and the link on both, with the time from a long reply's first
//! byte to its last. The time between tap and server is the server's.
//!
//! The insert is found by its mark. The reply is found by the mark of its first message. Its other
//! messages are those that followed the first to the consumer's program: a cursor returns documents
//! in their order in the collection, and a program takes all of them. So a reopened cursor,
//! sentinels and lost messages do no harm. Counting replies from the first one on was rejected:
//! after a missed reply all figures would be wrong, and look right. A message in several replies (a
//! cursor opened again before it) belongs to the first one.
//!
//! An insert of several documents names its first. The next n - 1 sequences are taken for the
//! others, with the request and the sample of the first. (The contract's batch stamps make
//! sequences of operations overlap. A message then has several inserts, and none is guessed.)

use record::samples::Sample;

use super::exchange::{Exchange, flags};

/// The parts of one message's way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_field_names)] // names hold units
pub struct LatencyParts {
    /// In the producer's program, before the driver was called.
    pub program_ns: u64,
    /// In the producer's driver, until the last byte of the request was at the tap.
    pub driver_ns: u64,
    /// In the tap and on its link, to the server and from it.
    pub wire_ns: u64,
    /// At the server, until the first byte of the reply that carries it was at the tap.
    pub server_ns: u64,
    /// From the tap to the hands of the consumer's program.
    pub consumer_ns: u64,
    /// The part of `server_ns` before the consumer's request for more: the message was not
    /// requested yet.
    pub unasked_ns: u64,
}

/// Why the way of a message is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmatched {
    /// The producer left no sample of it.
    NoSample,
    /// No insert with its mark passed the tap.
    NoInsert,
    /// Several inserts with its mark passed the tap.
    SeveralInserts,
    /// No reply is known to have carried it.
    NoReply,
}

/// One message that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokerMessage {
    /// Worker that produced it.
    pub producer: u16,
    /// Number among that worker's messages.
    pub sequence: u32,
    /// The earlier of intended start and making, ns since the epoch.
    pub begin_ns: u64,
    /// When the consumer's program had it, ns since the epoch.
    pub received_ns: u64,
    pub parts: Result<LatencyParts, Unmatched>,
}

/// Number of messages, and of those whose way is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchCounts {
    /// Messages that arrived.
    pub messages: u64,
    /// Messages whose way is known.
    pub matched: u64,
    /// [`Unmatched::NoSample`]
    pub without_sample: u64,
    /// [`Unmatched::NoInsert`]
    pub without_insert: u64,
    /// [`Unmatched::SeveralInserts`]
    pub with_several_inserts: u64,
    /// [`Unmatched::NoReply`]
    pub without_reply: u64,
    /// Matched ones whose times were not in order, and were set to the nearest that are.
    pub clamped: u64,
    /// The most that such a time was moved, ns.
    pub clamped_max_ns: u64,
}

const UNKNOWN: u64 = u64::MAX;

/// A message on its way. 80 bytes, and 4 in [`MessageIndex::by_key`]: a million take 84 MB.
#[derive(Debug, Clone, Copy)]
struct MessageWay {
    /// Producer and sequence.
    key: u64,
    begin_ns: u64,
    start_ns: u64,
    request_in_ns: u64,
    request_out_ns: u64,
    asked_ns: u64,
    reply_first_ns: u64,
    reply_out_ns: u64,
    received_ns: u64,
    inserts: u32,
    /// Place in the insert.
    place: u32,
}

const _: () = assert!(size_of::<MessageWay>() == 80);

fn key(producer: u16, sequence: u32) -> u64 {
    u64::from(producer) << 32 | u64::from(sequence)
}

/// The key of an exchange's mark; None: no sample could have it.
fn marked(exchange: &Exchange) -> Option<u64> {
    let mark = exchange.mark()?;
    Some(key(u16::try_from(mark.producer).ok()?, u32::try_from(mark.sequence).ok()?))
}

/// The messages of one phase, on their ways to the consumer.
pub struct MessageWays {
    /// In the order of arrival.
    ways: Vec<MessageWay>,
}

impl MessageWays {
    /// Allocates all at once: the old buffers of a growing list would stay with the process.
    pub fn with_capacity(messages: usize) -> Self {
        Self { ways: Vec::with_capacity(messages) }
    }

    /// Adds a sample of the consumer, in the order of arrival.
    pub fn take(&mut self, sample: &Sample) {
        self.ways.push(MessageWay {
            key: key(sample.worker, sample.index),
            begin_ns: sample.intended_ns,
            start_ns: UNKNOWN,
            request_in_ns: 0,
            request_out_ns: 0,
            asked_ns: 0,
            reply_first_ns: UNKNOWN,
            reply_out_ns: 0,
            received_ns: sample.start_ns,
            inserts: 0,
            place: 0,
        });
    }

    /// Computes the parts of each message's way, after all samples were taken.
    ///
    /// `inserts` are the exchanges of the producers' port, `replies` those of the consumer's port.
    /// `sent` are the producers' samples; those of a warm-up are left out. All exchanges were
    /// recorded with `--mark`, and come in any order. They are read once, in this order, and may be
    /// streams from files. `each` gets the messages in the order of arrival.
    pub fn resolve<E>(
        self,
        inserts: impl IntoIterator<Item = Result<Exchange, E>>,
        sent: impl IntoIterator<Item = Sample>,
        replies: impl IntoIterator<Item = Result<Exchange, E>>,
        mut each: impl FnMut(BrokerMessage),
    ) -> Result<MatchCounts, E> {
        let mut known = MessageIndex::of(self.ways);
        // Inserts before samples: they know which messages share one.
        for exchange in inserts {
            known.insert(&exchange?);
        }
        for sample in sent {
            known.sample(&sample);
        }
        for exchange in replies {
            known.reply(&exchange?);
        }
        let mut counts = MatchCounts::default();
        for way in &known.ways {
            each(counts.add(way));
        }
        Ok(counts)
    }
}

struct MessageIndex {
    /// In the order of arrival.
    ways: Vec<MessageWay>,
    /// The same by key.
    by_key: Vec<u32>,
    /// Place of the last hit in `by_key`: the next one mostly follows it.
    at: usize,
}

impl MessageIndex {
    fn of(ways: Vec<MessageWay>) -> Self {
        let count = u32::try_from(ways.len()).expect("fewer messages than a sample can number");
        let mut by_key: Vec<u32> = (0..count).collect();
        by_key.sort_unstable_by_key(|number| (ways[*number as usize].key, *number));
        Self { ways, by_key, at: 0 }
    }

    fn key_at(&self, at: usize) -> Option<u64> {
        self.by_key.get(at).map(|number| self.ways[*number as usize].key)
    }

    /// The first place in `by_key` with this key or a higher one.
    fn find(&mut self, key: u64) -> usize {
        let before = self.at.checked_sub(1).and_then(|at| self.key_at(at));
        let is_here = before.is_none_or(|before| before < key)
            && self.key_at(self.at).is_none_or(|here| here >= key);
        if !is_here {
            let below = |number: &u32| self.ways[*number as usize].key < key;
            self.at = self.by_key.partition_point(below);
        }
        self.at
    }

    /// Calls `visit` with each arrival of the messages `first` up to `first + count`, by key, until
    /// it returns false. Returns the number of that arrival.
    fn each_of(
        &mut self,
        first: u64,
        count: u32,
        mut each: impl FnMut(&mut MessageWay, u32) -> bool,
    ) -> Option<usize> {
        let from = self.find(first);
        for number in &self.by_key[from..] {
            let way = &mut self.ways[*number as usize];
            let place = way.key - first;
            // Sequences beyond 32 bits would be another producer's.
            if place >= u64::from(count) || way.key >> 32 != first >> 32 {
                return None;
            }
            if !each(way, place as u32) {
                return Some(*number as usize);
            }
            self.at += 1;
        }
        None
    }

    fn insert(&mut self, exchange: &Exchange) {
        let Some(first) = marked(exchange).filter(|_| exchange.documents_in == 0) else { return };
        self.each_of(first, exchange.documents.max(1), |way, place| {
            way.inserts = way.inserts.saturating_add(1);
            way.place = place;
            (way.request_in_ns, way.request_out_ns) =
                (exchange.request_in_ns, exchange.request_out_ns);
            true
        });
    }

    fn sample(&mut self, sample: &Sample) {
        let first = key(sample.worker, sample.index);
        self.each_of(first, u32::MAX, |way, place| {
            let is_its = way.place == place;
            if is_its {
                way.start_ns = sample.start_ns;
                way.begin_ns = way.begin_ns.min(sample.intended_ns);
            }
            is_its
        });
    }

    fn reply(&mut self, exchange: &Exchange) {
        let Some(first) = marked(exchange).filter(|_| exchange.documents_in > 0) else { return };
        let (first_ns, out_ns) = (exchange.reply_first_ns, exchange.reply_out_ns);
        // A server that sends replies unasked had its request long ago.
        let asked_ns = if exchange.is(flags::STREAMED) { 0 } else { exchange.request_out_ns };
        // If a message arrived twice, this is the arrival that the reply can have brought. If there
        // is none, a cursor reads known messages again, and new ones follow.
        let arrival = self
            .each_of(first, 1, |way, _| way.received_ns < first_ns)
            .or_else(|| Some(self.by_key[self.at.checked_sub(1)?] as usize))
            .filter(|arrival| self.ways[*arrival].key == first);
        let Some(arrival) = arrival else { return };
        for way in self.ways[arrival..].iter_mut().take(exchange.documents_in as usize) {
            // Another reply brought the messages that the program had before.
            if way.received_ns >= first_ns && first_ns < way.reply_first_ns {
                (way.asked_ns, way.reply_first_ns, way.reply_out_ns) = (asked_ns, first_ns, out_ns);
            }
        }
    }
}

impl MatchCounts {
    fn add(&mut self, way: &MessageWay) -> BrokerMessage {
        self.messages += 1;
        let parts = match way {
            MessageWay { inserts: 2.., .. } => Err(Unmatched::SeveralInserts),
            MessageWay { start_ns: UNKNOWN, .. } => Err(Unmatched::NoSample),
            MessageWay { inserts: 0, .. } => Err(Unmatched::NoInsert),
            MessageWay { reply_first_ns: UNKNOWN, .. } => Err(Unmatched::NoReply),
            _ => Ok(self.parts(way)),
        };
        *match parts {
            Ok(_) => &mut self.matched,
            Err(Unmatched::NoSample) => &mut self.without_sample,
            Err(Unmatched::NoInsert) => &mut self.without_insert,
            Err(Unmatched::SeveralInserts) => &mut self.with_several_inserts,
            Err(Unmatched::NoReply) => &mut self.without_reply,
        } += 1;
        BrokerMessage {
            producer: (way.key >> 32) as u16,
            sequence: way.key as u32,
            begin_ns: way.begin_ns,
            received_ns: way.received_ns,
            parts,
        }
    }

    /// Moves times out of order to the nearest ones in order, between begin and received, so that
    /// the sum stays.
    fn parts(&mut self, way: &MessageWay) -> LatencyParts {
        let mut at_ns = way.begin_ns;
        let mut moved_max_ns = 0;
        let mut until = |time_ns: u64| {
            let before_ns = at_ns;
            at_ns = time_ns.min(way.received_ns).max(at_ns);
            moved_max_ns = moved_max_ns.max(at_ns.abs_diff(time_ns));
            at_ns - before_ns
        };
        let program_ns = until(way.start_ns);
        let driver_ns = until(way.request_in_ns);
        let to_server_ns = until(way.request_out_ns);
        let server_ns = until(way.reply_first_ns);
        let from_server_ns = until(way.reply_out_ns);
        let consumer_ns = until(way.received_ns);
        if moved_max_ns > 0 {
            self.clamped += 1;
            self.clamped_max_ns = self.clamped_max_ns.max(moved_max_ns);
        }
        LatencyParts {
            program_ns,
            driver_ns,
            wire_ns: to_server_ns + from_server_ns,
            server_ns,
            consumer_ns,
            unasked_ns: way.asked_ns.saturating_sub(way.request_out_ns).min(server_ns),
        }
    }
}
