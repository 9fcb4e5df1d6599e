//! Where the time of a run's messages passed: samples and the tap's exchanges, put together.

use std::path::{Path, PathBuf};

use base::error::Result;
use record::broker::{Part, Parts};
use record::samples::{self, Samples};
use stats::descriptive::median;
use tap::exchange::{Exchange, Exchanges};
use tap::messages::tell;
use tap::recording;

/// Files of one phase of one run.
pub struct Files<'a> {
    /// Beginning of the names of the tap's files.
    pub prefix: &'a Path,
    /// Port of the producers.
    pub producers_port: usize,
    /// Port of the consumer.
    pub consumer_port: usize,
    /// When the producers began, ns since the epoch. What passed before was their warm-up, whose
    /// messages are numbered as these are.
    pub from_ns: u64,
    /// Samples of the producers, one file a process.
    pub sent: &'a [PathBuf],
    /// Samples of the consumer.
    pub received: &'a Path,
}

/// Measures the parts. Takes about 100 bytes a message.
///
/// # Errors
/// Files that cannot be read.
pub fn measure(files: &Files<'_>) -> Result<Parts> {
    let exchanges = |port: usize| Exchanges::open(&recording::paths(files.prefix, port).0);
    // Times of each matched message in the order of arrival, us; a float has digits enough.
    let mut ways: Vec<[f32; 5]> = Vec::new();
    let inserts = exchanges(files.producers_port)?;
    let measured = |it: &Result<Exchange, _>| match it {
        Ok(exchange) => exchange.request_in_ns >= files.from_ns,
        Err(_) => true,
    };
    let told = tell(
        Samples::open(files.received)?,
        samples::all(files.sent),
        inserts.filter(measured),
        exchanges(files.consumer_port)?,
        |message| {
            let Ok(parts) = message.parts else { return };
            let ns = [
                parts.program_ns,
                parts.driver_ns,
                parts.wire_ns,
                parts.server_ns,
                parts.consumer_ns,
            ];
            ways.push(ns.map(|ns| ns as f32 / 1e3));
        },
    )?;
    let tenth = ways.len().div_ceil(10);
    let part = |number: usize| {
        let p50_us = |ways: &[[f32; 5]]| {
            let us: Vec<f64> = ways.iter().map(|way| f64::from(way[number])).collect();
            median(&us).unwrap_or(0.0)
        };
        Part {
            p50_us: p50_us(&ways),
            first_us: p50_us(&ways[..tenth]),
            last_us: p50_us(&ways[ways.len() - tenth..]),
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
