//! One line a message, with the meaning of the original's files.

use std::io::Write;

use super::picture::Since;
use super::rows::{files, in_phase, sort};
use base::error::{Error, Result};
use base::say::clean;
use base::text::csv_cell;
use record::folder::Folder;
use record::messages::{Message, Messages};
use record::records::Run;

const HEAD: [&str; 12] = [
    "phase",
    "arm",
    "round",
    "tapped",
    "producer",
    "sequence",
    "made_ns",
    "intended_ns",
    "start_ns",
    "acknowledged_ns",
    "received_ns",
    "latency_us",
];

/// Writes every message that its driver reported as inserted. They come by phase, arm and round,
/// then in the order made. Times are ns since the experiment's epoch. Of a lost message, the
/// columns of made, received and latency are empty.
///
/// Answers a sentence for each gap: void runs, and runs whose samples were not kept. Takes 48 bytes
/// for each message of the largest run. A reader that went away is no error.
pub fn messages(folder: &Folder, runs: &[Run], out: &mut dyn Write) -> Result<Vec<String>> {
    let mut table = ::csv::Writer::from_writer(out);
    let mut missing = Vec::new();
    if !written(table.write_record(HEAD))? {
        return Ok(missing);
    }
    for run in runs {
        if let Some(reason) = &run.failed {
            let (arm, round) = (&run.arm, run.round);
            missing.push(clean(&format!("{arm}, round {round}: void, {reason}")));
        }
    }
    for phase in named(runs, |run| run.phases.iter().map(|phase| phase.phase.as_str()).collect()) {
        for arm in named(runs, |run| vec![run.arm.as_str()]) {
            let of_arm = runs.iter().filter(|run| run.arm == arm && run.failed.is_none());
            for run in of_arm {
                let Some(of_phase) = in_phase(run, phase) else { continue };
                let Some(broker) = &of_phase.broker else { continue };
                let Some((producers, consumer)) = files(folder, of_phase, broker) else {
                    let what = format!("{arm}, round {}, {phase}", run.round);
                    missing.push(clean(&format!("{what}: its samples were not kept")));
                    continue;
                };
                let mut messages = Messages::read(producers.into_iter().flatten(), consumer)?;
                sort(&mut messages, Since::Made);
                let line = Line::new(phase, run);
                for message in &messages.sent {
                    if !written(table.write_record(line.of(message)))? {
                        return Ok(missing);
                    }
                }
            }
        }
    }
    written(table.flush().map_err(::csv::Error::from)).map(|_| missing)
}

/// Names in the order of their first appearance.
fn named<'a>(runs: &'a [Run], of: impl Fn(&'a Run) -> Vec<&'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in runs.iter().flat_map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The beginning of all lines of a run.
struct Line {
    phase: String,
    arm: String,
    round: String,
    tapped: &'static str,
}

impl Line {
    fn new(phase: &str, run: &Run) -> Self {
        Self {
            phase: csv_cell(phase),
            arm: csv_cell(&run.arm),
            round: run.round.to_string(),
            tapped: if run.tapped { "true" } else { "false" },
        }
    }

    fn of(&self, message: &Message) -> [String; 12] {
        let received = |value: String| if message.received() { value } else { String::new() };
        let latency_ns = message.latency_ns();
        [
            self.phase.clone(),
            self.arm.clone(),
            self.round.clone(),
            self.tapped.to_owned(),
            message.producer.to_string(),
            message.sequence.to_string(),
            received(message.made_ns.to_string()),
            message.intended_ns.to_string(),
            message.start_ns.to_string(),
            message.end_ns.to_string(),
            received(message.received_ns.to_string()),
            received(format!("{}.{:03}", latency_ns / 1_000, latency_ns % 1_000)),
        ]
    }
}

/// Whether somebody still reads.
fn written(result: std::result::Result<(), ::csv::Error>) -> Result<bool> {
    let Err(error) = result else { return Ok(true) };
    if let ::csv::ErrorKind::Io(io) = error.kind()
        && io.kind() == std::io::ErrorKind::BrokenPipe
    {
        return Ok(false);
    }
    Err(Error::environment(
        format!("cannot write the messages: {error}"),
        "check the disk that they are written to",
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::broker::BrokerStudy;
    use crate::study::Study as _;

    #[test]
    fn the_script_names_columns_of_the_table() {
        let script = BrokerStudy.gnuplot().expect("a script");
        let calls = script.split("strcol(\"").skip(1).chain(script.split("column(\"").skip(1));
        let named: BTreeSet<&str> = calls.filter_map(|rest| rest.split('"').next()).collect();
        let used = ["arm", "round", "latency_us", "phase", "tapped"];
        assert_eq!(named, BTreeSet::from(used));
        assert!(used.iter().all(|name| HEAD.contains(name)), "{HEAD:?}");
    }
}
