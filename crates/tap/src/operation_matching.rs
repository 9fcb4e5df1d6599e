//! Matches commands with operations, where their times allow it.
//!
//! Adapter and tap share a clock and nothing else. A command belongs to an operation if it lies
//! within its start and end, and within no other's. With several operations in flight this is
//! seldom so, and then nothing is reported; guessing by order was rejected.

use record::samples::Sample;
use stats::histogram::Histogram;

use super::exchange::Exchange;

/// Operations in flight at once beyond which no command could be matched.
const OPERATIONS_MAX: usize = 256;

/// Start and end of a driver's call, ns: half the size of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSpan {
    pub start_ns: u64,
    pub end_ns: u64,
}

impl CallSpan {
    pub fn of(sample: &Sample) -> Self {
        Self { start_ns: sample.start_ns, end_ns: sample.end_ns() }
    }
}

#[derive(Debug, Default)]
pub(super) struct Matched {
    /// From call to last request byte, ns.
    pub encode: Histogram,
    /// From last reply byte to return, ns.
    pub decode: Histogram,
    pub operations: u64,
}

struct OpenOperation {
    call: CallSpan,
    /// When the last byte of its first request and that of its last reply passed, ns.
    commands: Option<(u64, u64)>,
    /// Whether it contains a command that may be another operation's.
    doubtful: bool,
}

impl OpenOperation {
    fn holds(&self, exchange: &Exchange) -> bool {
        self.call.start_ns <= exchange.request_in_ns && exchange.reply_out_ns <= self.call.end_ns
    }
}

/// Matches answered commands with operations, both in order of their start.
pub(super) fn matched(exchanges: &[&Exchange], calls: &[CallSpan]) -> Matched {
    let mut matched = Matched::default();
    let mut calls = calls.iter().peekable();
    let mut open: Vec<OpenOperation> = Vec::new();
    for exchange in exchanges {
        // Operations that end in the middle of this command are the least likely ones.
        let (over, rest) = open
            .into_iter()
            .partition(|it: &OpenOperation| it.call.end_ns < exchange.request_in_ns);
        open = rest;
        for it in &over {
            matched.add(it);
        }
        while let Some(call) = calls.next_if(|it| it.start_ns <= exchange.request_in_ns) {
            if call.end_ns >= exchange.request_in_ns {
                open.push(OpenOperation { call: *call, commands: None, doubtful: false });
            }
        }
        if open.len() > OPERATIONS_MAX {
            return Matched::default();
        }
        let mut holders = open.iter_mut().filter(|it| it.holds(exchange));
        match (holders.next(), holders.next()) {
            (Some(only), None) => {
                let (first, last) =
                    only.commands.unwrap_or((exchange.request_in_ns, exchange.reply_out_ns));
                let last = last.max(exchange.reply_out_ns);
                only.commands = Some((first, last));
            }
            (Some(one), Some(other)) => {
                one.doubtful = true;
                other.doubtful = true;
                holders.for_each(|it| it.doubtful = true);
            }
            (None, _) => {}
        }
    }
    for it in &open {
        matched.add(it);
    }
    matched
}

impl Matched {
    fn add(&mut self, operation: &OpenOperation) {
        let Some((first, last)) = operation.commands.filter(|_| !operation.doubtful) else {
            return;
        };
        self.operations += 1;
        self.encode.record(first - operation.call.start_ns);
        self.decode.record(operation.call.end_ns - last);
    }
}
