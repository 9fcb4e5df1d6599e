//! Compares messages and documents with the samples of consumer and producers. Pure, so that tests
//! can feed it the samples of broken adapters.

use std::collections::BTreeMap;

use bson::{RawBsonRef, RawDocumentBuf};

use crate::equal;
use record::samples::Sample;

/// A message as the core has inserted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentMessage {
    /// Stamp of the producer (SPEC section 8).
    pub producer: u16,
    pub sequence: u32,
    /// Clock reading before it was inserted.
    pub made_ns: u64,
}

/// Whether every message was read once, in order, and recorded as the contract says.
pub fn judge(sent: &[SentMessage], samples: &[Sample]) -> Result<(), String> {
    let mut left: BTreeMap<(u16, u32), u64> = BTreeMap::new();
    for message in sent {
        *left.entry((message.producer, message.sequence)).or_default() += 1;
    }
    for sample in samples {
        let name = format!("message {} of producer {}", sample.index, sample.worker);
        match left.get_mut(&(sample.worker, sample.index)) {
            None => return Err(format!("{name} was never sent, or should not be read")),
            Some(0) => return Err(format!("{name} was read twice")),
            Some(left) => *left -= 1,
        }
    }
    if let Some(((producer, sequence), _)) = left.iter().find(|(_, left)| **left > 0) {
        return Err(format!("message {sequence} of producer {producer} was not read"));
    }
    let mut before_ns = 0;
    for (message, sample) in sent.iter().zip(samples) {
        let read = (sample.worker, sample.index);
        equal("a message out of order", &read, &(message.producer, message.sequence))?;
        equal("intended (`made_ns`)", &sample.intended_ns, &message.made_ns)?;
        equal("service", &sample.service_ns, &0)?;
        equal("operation", &sample.operation, &0)?;
        equal("outcome", &sample.outcome, &0)?;
        if sample.start_ns < message.made_ns {
            return Err(format!("message {} was read before it was made", sample.index));
        }
        if sample.start_ns < before_ns {
            return Err(format!("message {} was read before the one before it", sample.index));
        }
        before_ns = sample.start_ns;
    }
    let readings: std::collections::BTreeSet<u64> = samples.iter().map(|it| it.start_ns).collect();
    if readings.len() * 2 < samples.len() {
        // Some runtimes' clocks give close messages the same reading.
        let readings = readings.len();
        return Err(format!("{readings} readings of the clock for {} messages", samples.len()));
    }
    Ok(())
}

/// Whether each document's `producer` and `sequence` are worker and index of the sample of its
/// insert, `batch` documents at once.
pub fn numbered(
    found: &[RawDocumentBuf],
    samples: impl Iterator<Item = Sample>,
    batch: u32,
) -> Result<(), String> {
    let mut left: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for sample in samples {
        for item in 0..batch {
            let name = (i64::from(sample.worker), i64::from(sample.index) + i64::from(item));
            *left.entry(name).or_default() += 1;
        }
    }
    for document in found {
        let producer = document.get_i32("producer").map_err(|error| error.to_string())?;
        // A driver may store a number that fits as int32: `alters` says so, and is tried elsewhere.
        let sequence = match document.get("sequence").map_err(|error| error.to_string())? {
            Some(RawBsonRef::Int32(number)) => number.into(),
            Some(RawBsonRef::Int64(number)) => number,
            other => return Err(format!("a document's sequence is {other:?}")),
        };
        let left = left.entry((i64::from(producer), sequence)).or_default();
        *left -= 1;
        if *left < 0 {
            return Err(format!(
                "a document of producer {producer} has the sequence {sequence}, which is the \
                 index of none of its samples, or of fewer"
            ));
        }
    }
    equal("samples without a document", &left.values().sum(), &0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;

    fn sent() -> Vec<SentMessage> {
        let message = |at: u32| SentMessage {
            producer: 3 + (at % 2) as u16,
            sequence: 70_000 + at,
            made_ns: 1_000 + u64::from(at),
        };
        (0..8).map(message).collect()
    }

    fn read() -> Vec<Sample> {
        let sample = |(at, message): (usize, SentMessage)| Sample {
            intended_ns: message.made_ns,
            start_ns: 5_000 + at as u64,
            service_ns: 0,
            index: message.sequence,
            operation: 0,
            outcome: 0,
            worker: message.producer,
        };
        sent().into_iter().enumerate().map(sample).collect()
    }

    /// The problem that samples of a broken consumer are reported with.
    fn broken(make: impl Fn(&mut Vec<Sample>)) -> String {
        let mut samples = read();
        make(&mut samples);
        judge(&sent(), &samples).expect_err("a broken consumer passes")
    }

    #[test]
    fn a_consumer_that_keeps_the_contract_passes() {
        assert_eq!(judge(&sent(), &read()), Ok(()));
        assert_eq!(judge(&[], &[]), Ok(()));
    }

    #[test]
    fn broken_consumers_do_not_pass() {
        assert!(broken(|it| it.truncate(7)).contains("was not read"));
        assert!(broken(|it| drop(it.drain(2..3))).contains("was not read"));
        assert!(broken(|it| it.insert(3, it[2])).contains("was read twice"));
        // The sentinel or the marker as a message.
        assert!(
            broken(|it| it.insert(0, Sample { index: 0, worker: 0, ..it[0] })).contains("never")
        );
        assert!(broken(|it| it.swap(1, 5)).contains("out of order"));
        assert!(broken(|it| it[4].intended_ns = it[4].start_ns).contains("intended"));
        assert!(broken(|it| it[4].start_ns = 900).contains("before it was made"));
        assert!(broken(|it| it[4].start_ns = 4_000).contains("before the one before"));
        assert!(broken(|it| it[4].service_ns = 1).contains("service"));
        assert!(broken(|it| it[4].operation = 1).contains("operation"));
        assert!(broken(|it| it[4].outcome = 128).contains("outcome"));
        // The consumer's own count, or number, in place of the producer's.
        assert!(broken(|it| it.iter_mut().for_each(|it| it.index -= 70_000)).contains("never"));
        assert!(broken(|it| it.iter_mut().for_each(|it| it.worker = 0)).contains("never"));
        // One reading for a batch.
        assert!(broken(|it| it.iter_mut().for_each(|it| it.start_ns = 6_000)).contains("readings"));
    }

    fn documents(numbers: &[(i32, i64)]) -> Vec<RawDocumentBuf> {
        let document = |(producer, sequence): &(i32, i64)| {
            rawdoc! { "_id": 0, "producer": *producer, "sequence": *sequence }
        };
        numbers.iter().map(document).collect()
    }

    fn numbers(documents: &[RawDocumentBuf], batch: u32) -> Result<(), String> {
        // A queue that two workers share.
        let worker = |at: u32| u16::from(at >= 2);
        let sample = |at| Sample { index: at, worker: worker(at), ..read()[0] };
        numbered(documents, (0..4).map(sample), batch)
    }

    #[test]
    fn a_sequence_is_the_index_of_the_sample() {
        let queue = documents(&[(1, 3), (0, 0), (1, 2), (0, 1)]);
        assert_eq!(numbers(&queue, 1), Ok(()));
        let of_the_worker = documents(&[(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert!(numbers(&of_the_worker, 1).unwrap_err().contains("producer 1 has the sequence 0"));
        assert!(numbers(&queue[1..], 1).unwrap_err().contains("without a document"));
        let batches = documents(&[(0, 0), (0, 1), (0, 1), (0, 2), (1, 2), (1, 3), (1, 3), (1, 4)]);
        assert_eq!(numbers(&batches, 2), Ok(()));
        assert!(numbers(&documents(&[(0, 0); 8]), 2).is_err());
    }
}
