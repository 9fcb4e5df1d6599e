//! Lost and received messages of a run, and the parts of their way: from the samples of producers
//! and consumer, and the tap's exchanges.

use std::path::Path;

use crate::measured::{MeasuredPhase, Read};
use base::error::Result;
use record::broker::{Broker, Part, Parts};
use record::messages::{Messages, Sent};
use record::samples::{Sample, Samples};
use stats::descriptive::median;
use tap::exchange::{Exchange, Exchanges};
use tap::message_ways::MessageWays;
use tap::recording;
use tap::tap_summary::CallSpan;
use workload::plan::Phase;

/// The tap's files of one phase of one run.
pub struct Tapped<'a> {
    pub prefix: &'a Path,
    pub arm: usize,
    pub consumer: usize,
}

/// Joins the producers' messages with the consumer's samples, which are read once. Returns the
/// record and, through the tap, the producers' calls: about 150 bytes a message.
pub fn join(
    phase: &Phase,
    measured: &MeasuredPhase,
    read: &Read,
    sent: Sent,
    tapped: Option<&Tapped<'_>>,
) -> Result<(Broker, Vec<CallSpan>)> {
    let count = read.claimed.counts.iter().sum::<u64>() as usize;
    let received = Samples::open(&read.samples)?.take(count);
    let mut ways = tapped.map(|_| MessageWays::with_capacity(received.size_hint().0));
    let mut messages = Messages::of(sent);
    for sample in received {
        let sample = sample?;
        messages.take(&sample);
        if let Some(ways) = &mut ways {
            ways.take(&sample);
        }
    }
    let mut broker = messages.record(phase, read.record());
    let mut calls = Vec::new();
    if let Some((tapped, ways)) = tapped.zip(ways) {
        let sent = messages.into_samples().inspect(|it| calls.push(CallSpan::of(it)));
        // Earlier exchanges are the warm-up's, whose messages have the same numbers.
        let from_ns = measured.turns.iter().map(|it| it.turned.began_ns).min().unwrap_or(0);
        broker.parts = Some(parts(tapped, ways, sent, from_ns)?);
    }
    Ok((broker, calls))
}

fn parts(
    tapped: &Tapped<'_>,
    ways: MessageWays,
    sent: impl Iterator<Item = Sample>,
    from_ns: u64,
) -> Result<Parts> {
    let exchanges = |port: usize| Exchanges::open(&recording::paths(tapped.prefix, port).0);
    // Times of each matched message in the order of arrival, us; a float has digits enough.
    let mut matched: Vec<[f32; 5]> = Vec::new();
    let measured = |it: &Result<Exchange>| match it {
        Ok(exchange) => exchange.request_in_ns >= from_ns,
        Err(_) => true,
    };
    let inserts = exchanges(tapped.arm)?.filter(measured);
    let told = ways.resolve(inserts, sent, exchanges(tapped.consumer)?, |message| {
        let Ok(parts) = message.parts else { return };
        let ns =
            [parts.program_ns, parts.driver_ns, parts.wire_ns, parts.server_ns, parts.consumer_ns];
        matched.push(ns.map(|ns| ns as f32 / 1e3));
    })?;
    let tenth = matched.len().div_ceil(10);
    let part = |number: usize| {
        let p50_us = |ways: &[[f32; 5]]| {
            let us: Vec<f64> = ways.iter().map(|way| f64::from(way[number])).collect();
            median(&us).unwrap_or(0.0)
        };
        Part {
            p50_us: p50_us(&matched),
            first_us: p50_us(&matched[..tenth]),
            last_us: p50_us(&matched[matched.len() - tenth..]),
        }
    };
    Ok(Parts {
        matched: told.matched,
        unmatched: told.messages - told.matched,
        program: part(0),
        driver: part(1),
        wire: part(2),
        server: part(3),
        consumer: part(4),
    })
}
