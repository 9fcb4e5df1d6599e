//! Joins the samples of producers and consumer into messages, and makes their record. Takes 48
//! bytes a message.

use crate::broker::{Broker, ConsumerRun};
use crate::records::Quantiles;
use crate::samples::Sample;
use base::error::Result;
use stats::curve::Curve;
use stats::histogram::Histogram;
use workload::plan::Phase;

/// A consumer in step has a reply's worth of messages before it. A saturated one has more than
/// that, and more than a twentieth of all.
const BEHIND_MIN: u64 = 1_000;
const BEHIND_FRACTION: f64 = 0.05;

/// One message, as both ends saw it. Times are ns since the experiment's epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The worker that made it.
    pub producer: u16,
    /// The message's number among those of the producer.
    pub sequence: u32,
    pub intended_ns: u64,
    /// 0 where it was never received: only the message itself knows the time.
    pub made_ns: u64,
    /// The call of the driver.
    pub start_ns: u64,
    /// The driver's report of success.
    pub end_ns: u64,
    /// Arrival at the consumer; 0: never.
    pub received_ns: u64,
}

impl Message {
    fn sent(sample: &Sample) -> Self {
        Self {
            producer: sample.worker,
            sequence: sample.index,
            intended_ns: sample.intended_ns,
            made_ns: 0,
            start_ns: sample.start_ns,
            end_ns: sample.end_ns(),
            received_ns: 0,
        }
    }

    fn sample(&self) -> Sample {
        Sample {
            intended_ns: self.intended_ns,
            start_ns: self.start_ns,
            service_ns: self.end_ns - self.start_ns,
            index: self.sequence,
            operation: 0,
            outcome: 0,
            worker: self.producer,
        }
    }

    pub fn received(&self) -> bool {
        self.received_ns > 0
    }

    /// From made to received.
    pub fn latency_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.made_ns)
    }
}

/// The producers' side, before the first message is received.
#[derive(Debug, Default)]
pub struct Sent {
    messages: Vec<Message>,
    /// Reported as failed. The server may have them all the same.
    failed: Vec<Sample>,
}

impl Sent {
    /// Takes a producer's sample, in any order.
    pub fn take(&mut self, sample: &Sample) {
        if sample.outcome == 0 {
            self.messages.push(Message::sent(sample));
        } else {
            self.failed.push(*sample);
        }
    }
}

/// The messages of one phase of one run, and the counts that belong to no single one.
#[derive(Debug, Default)]
pub struct Messages {
    /// By producer and sequence, those whose insert succeeded.
    pub sent: Vec<Message>,
    failed: Vec<Sample>,
    duplicates: u64,
    unclaimed: u64,
    out_of_order: u64,
    out_of_order_per_producer: u64,
    latest_made_ns: u64,
    /// By producer, the highest sequence so far.
    latest: Vec<Option<u32>>,
    first_received_ns: u64,
    last_received_ns: u64,
    received: u64,
}

impl Messages {
    /// All were sent, none is received.
    pub fn of(sent: Sent) -> Self {
        let Sent { messages: mut sent, failed } = sent;
        sent.sort_unstable_by_key(|it| (it.producer, it.sequence));
        Self { sent, failed, ..Self::default() }
    }

    /// Joins the samples of the producers with those of the consumer.
    pub fn read(
        producers: impl IntoIterator<Item = Result<Sample>>,
        consumer: impl IntoIterator<Item = Result<Sample>>,
    ) -> Result<Self> {
        let mut sent = Sent::default();
        for sample in producers {
            sent.take(&sample?);
        }
        let mut messages = Self::of(sent);
        for sample in consumer {
            messages.take(&sample?);
        }
        Ok(messages)
    }

    /// Takes a sample of the consumer, in the order of arrival.
    pub fn take(&mut self, sample: &Sample) {
        self.out_of_order += u64::from(sample.intended_ns < self.latest_made_ns);
        self.latest_made_ns = self.latest_made_ns.max(sample.intended_ns);
        let producer = usize::from(sample.worker);
        if self.latest.len() <= producer {
            self.latest.resize(producer + 1, None);
        }
        let before = self.latest[producer].is_some_and(|number| sample.index < number);
        self.out_of_order_per_producer += u64::from(before);
        self.latest[producer] = self.latest[producer].max(Some(sample.index));
        if self.received == 0 {
            self.first_received_ns = sample.start_ns;
        }
        self.last_received_ns = self.last_received_ns.max(sample.start_ns);
        let key = (sample.worker, sample.index);
        match self.sent.binary_search_by_key(&key, |it| (it.producer, it.sequence)) {
            Ok(at) if self.sent[at].received() => self.duplicates += 1,
            Ok(at) => {
                self.sent[at].made_ns = sample.intended_ns;
                self.sent[at].received_ns = sample.start_ns;
                self.received += 1;
            }
            Err(_) => self.unclaimed += 1,
        }
    }

    /// The producers' samples again, with no more than the worker, the sequence and the times.
    pub fn into_samples(self) -> impl Iterator<Item = Sample> {
        self.sent.into_iter().map(|it| it.sample()).chain(self.failed)
    }

    /// The record; `consumer` holds all that is known of the consumer without the messages.
    pub fn record(&mut self, phase: &Phase, consumer: ConsumerRun) -> Broker {
        let open = phase.pacing.is_open();
        let sent = self.sent.len() as u64;
        let last_end_ns = self.sent.iter().map(|it| it.end_ns).max().unwrap_or(0);
        let behind = self.sent.iter().filter(|it| it.received_ns > last_end_ns).count() as u64;
        let since_intended_ns = |it: &Message| it.received_ns.saturating_sub(it.intended_ns);
        let curve_since_intended = open.then(|| {
            // All messages of a burst are intended at once: only their arrival gives an order.
            self.sent.sort_unstable_by_key(|it| (it.intended_ns, it.received_ns));
            self.curve(since_intended_ns)
        });
        self.sent.sort_unstable_by_key(|it| (it.made_ns, it.producer, it.sequence));
        let first_made_ns = self.received().next().map_or(0, |it| it.made_ns);
        let last_made_ns = self.sent.last().map_or(0, |it| it.made_ns);
        let per_s = |from: u64, to: u64| {
            let seconds = to.saturating_sub(from) as f64 / 1e9;
            (self.received > 1 && seconds > 0.0).then(|| (self.received - 1) as f64 / seconds)
        };
        Broker {
            sent,
            received: self.received,
            lost: sent - self.received,
            duplicates: self.duplicates,
            unclaimed: self.unclaimed,
            out_of_order_per_producer: self.out_of_order_per_producer,
            out_of_order: self.out_of_order,
            latency: self.quantiles(Message::latency_ns),
            curve: self.curve(Message::latency_ns),
            since_intended: open.then(|| self.quantiles(since_intended_ns)),
            curve_since_intended,
            issue_rate_per_s: per_s(first_made_ns, last_made_ns),
            receive_rate_per_s: per_s(self.first_received_ns, self.last_received_ns),
            parts: None,
            consumer: ConsumerRun {
                behind,
                saturated: behind > BEHIND_MIN.max((sent as f64 * BEHIND_FRACTION) as u64),
                ..consumer
            },
        }
    }

    /// Messages that arrived, in the order last sorted by.
    pub fn received(&self) -> impl Iterator<Item = &Message> {
        self.sent.iter().filter(|message| message.received())
    }

    fn curve(&self, of_ns: impl Fn(&Message) -> u64) -> Curve {
        let us: Vec<f64> = self.received().map(|message| of_ns(message) as f64 / 1e3).collect();
        Curve::of(us.into_iter())
    }

    fn quantiles(&self, of_ns: impl Fn(&Message) -> u64) -> Quantiles {
        let mut histogram = Histogram::new();
        self.received().for_each(|message| histogram.record(of_ns(message)));
        Quantiles::of(&histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(worker: u16, index: u32, intended_ns: u64, start_ns: u64, outcome: u8) -> Sample {
        Sample { intended_ns, start_ns, service_ns: 10, index, operation: 0, outcome, worker }
    }

    #[test]
    fn lost_double_unclaimed_and_misplaced_messages_are_counted() {
        let sent = [
            sample(0, 0, 100, 101, 0),
            sample(0, 1, 200, 201, 0),
            sample(0, 2, 300, 301, 2), // reported as failed, and there all the same
            sample(1, 0, 150, 151, 0),
            sample(1, 1, 250, 251, 0), // never comes
        ];
        let received = [
            sample(0, 1, 200, 1_000, 0),
            sample(0, 0, 100, 1_100, 0), // made and numbered before the one before it
            sample(1, 0, 150, 1_200, 0), // made before: of all producers it is out of order
            sample(1, 0, 150, 1_300, 0),
            sample(0, 2, 300, 1_400, 0),
        ];
        let messages = Messages::read(sent.map(Ok), received.map(Ok)).expect("in memory");
        assert_eq!(messages.sent.len(), 4);
        assert_eq!(messages.received, 3);
        assert_eq!((messages.duplicates, messages.unclaimed), (1, 1));
        assert_eq!(messages.out_of_order_per_producer, 1);
        assert_eq!(messages.out_of_order, 3);
        let latencies: Vec<u64> = messages.received().map(Message::latency_ns).collect();
        assert_eq!(latencies, [1_000, 800, 1_050]);
        let mut again: Vec<Sample> = messages.into_samples().collect();
        again.sort_unstable_by_key(|it| (it.worker, it.index));
        assert_eq!(again, sent, "the failed one as well");
    }
}
