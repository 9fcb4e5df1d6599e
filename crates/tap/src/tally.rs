use std::collections::BTreeSet;

use record::records::TapCommand;
use stats::histogram::Histogram;

use super::CommandShape;
use super::exchange::{Exchange, flags};

/// Sums of the exchanges of one command.
#[derive(Debug, Default)]
pub(super) struct Tally {
    sums: TapCommand,
    /// Server and wire of the answered ones, ns.
    pub server: Histogram,
    fields: BTreeSet<String>,
}

impl Tally {
    /// `server_ns` is the time of server and wire, where there was an answer.
    pub fn add(
        &mut self,
        exchange: &Exchange,
        shape: &CommandShape,
        background: bool,
        server_ns: Option<u64>,
    ) {
        let sums = &mut self.sums;
        sums.bytes_out += u64::from(exchange.bytes_out);
        sums.bytes_in += u64::from(exchange.bytes_in);
        if let Some(server_ns) = server_ns {
            self.server.record(server_ns);
        }
        if exchange.is(flags::STREAMED) {
            return; // an answer more to a command that is counted already
        }
        sums.count += 1;
        sums.background += u64::from(background);
        sums.documents += u64::from(exchange.documents);
        sums.unanswered += u64::from(server_ns.is_none());
        if exchange.documents > 0 {
            *sums.batches.entry(exchange.documents).or_default() += 1;
        }
        for field in &shape.fields {
            if !self.fields.contains(field) {
                self.fields.insert(field.clone());
            }
        }
    }

    pub fn record(&self) -> TapCommand {
        let us = |percent| self.server.printable_percentile_ns(percent).map(|ns| ns as f64 / 1e3);
        TapCommand {
            server_p50_us: us(50.0),
            server_p99_us: us(99.0),
            fields: self.fields.iter().cloned().collect(),
            ..self.sums.clone()
        }
    }
}
