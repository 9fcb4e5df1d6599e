//! The study of a capped collection as message broker.
//!
//! Its cells come from the messages of each arm, and its rules look at the course of their latency.
//! [`scatter`] and [`parts`] draw pictures from plain data, which [`rows`] and [`parts_rows`] read
//! from the folder, run by run.

mod cloud;
mod csv;
mod facts;
mod message_cells;
mod message_rules;
mod parts;
mod picture;
mod rows;
mod streams;

pub use cloud::{Axes, Cloud, POINTS_MAX};
pub use csv::messages;
pub use facts::lost;
pub use parts::{PartsRow, parts, parts_rows};
pub use picture::{Content, Measured, Panel, Row, Since, scatter};
pub use rows::{rows, taking_part};

use std::io::Write;

use crate::definition::{Arm, Asked, Definition};
use crate::frame::{Cells, EvidenceRow, StudyAnswer};
use crate::outcome::{Made, Outcome};
use crate::study::{Flag, Study, part};
use base::error::Result;
use record::study_folder::StudyPart;
use record::words::Words;
use report::drawing::Drawing;
use report::study::View;
use workload::plan::Pacing;

const QUICK_WARMUP_S: &str = "0.1";
const CONSUMER: &str = "consumer";
/// The part with the producers of 2014, whose consumer has a tailable cursor.
const CURSOR: &str = "cursor";

/// Why does the latency of some drivers' messages grow with their count?
#[derive(Debug)]
pub struct BrokerStudy;

impl Study for BrokerStudy {
    fn name(&self) -> &'static str {
        "broker"
    }

    fn definition(&self) -> Definition {
        Definition::read(include_str!("../../../../studies/broker/study.toml"))
    }

    fn flags(&self) -> &'static [Flag] {
        &[Flag {
            name: CONSUMER,
            value: "DRIVER",
            help: "Who reads the messages [default: the fastest]",
        }]
    }

    fn plan(&self, asked: &Asked) -> Result<Vec<StudyPart>> {
        let warmup = asked.request.quick.then(|| ("warmup", QUICK_WARMUP_S.to_owned()));
        if asked.parts.iter().any(|name| name != CURSOR) {
            return Ok(vec![streams::part(asked, warmup)?]);
        }
        let definition = self.definition();
        let (_, messages) = definition.scale(asked)?;
        // A think time of 1 ms makes each message take more than 1 ms: a tenth of them shows it.
        let think = (messages / 10).clamp(100, 1_000);
        let own = [("messages", messages.to_string()), ("think_messages", think.to_string())];
        let own = own.into_iter().chain(warmup);
        let (drivers, rounds) = (definition.drivers(asked), definition.rounds(asked, messages));
        let part = part(CURSOR, &definition.workload, own, &drivers, rounds, asked);
        Ok(vec![part.with(|request| {
            request.consumer = asked.flags.get(CONSUMER).map(Words::new);
            request.conduct.tap_last_round = true;
            let arms = definition.arms_asked(asked).into_iter();
            request.by_driver = arms.filter_map(Arm::share).collect();
        })])
    }

    fn asks(&self, id: &str, parts: &[&StudyPart]) -> bool {
        (id == streams::NAME) == parts.iter().any(|part| part.name == streams::NAME)
    }

    fn own_cells(&self, made: &Outcome<'_>, cells: &mut Cells) {
        made.made.iter().for_each(|made| message_cells::push(made, cells));
    }

    fn own_rows(&self, id: &str, _: &Outcome<'_>, cells: &Cells) -> Vec<EvidenceRow> {
        message_rules::rows(id, cells)
    }

    fn own_answer(&self, id: &str, rows: &[EvidenceRow]) -> Option<StudyAnswer> {
        message_rules::answer(id, rows)
    }

    fn own_notes(&self, made: &Outcome<'_>, notes: &mut Vec<String>) {
        for run in made.made.iter().flat_map(|made| made.runs) {
            notes.extend(run.phases.iter().filter_map(|phase| {
                let reason = message_cells::failed_inserts(phase)?;
                let (phase, round) = (&phase.phase, run.round);
                Some(format!("{phase}, round {round}: {reason}; it does not count"))
            }));
        }
    }

    /// The fate of the messages is beside it; the part `streams` asks another question.
    fn own_view(&self, made: &Outcome<'_>, view: View) -> View {
        let Made { part, experiment, runs, .. } = *made.only();
        let view = View { lost: lost(experiment, runs), ..view };
        if part != streams::NAME {
            return view;
        }
        let Definition { title, question, reading, .. } = streams::definition();
        View { title, question, notes: reading, ..view }
    }

    /// The scatter, and with intended starts a second one, since those. If a round went through the
    /// tap, the parts of the way.
    fn own_drawings(&self, made: &Outcome<'_>, phase: &str) -> Result<Vec<Drawing>> {
        let Made { folder, experiment, runs, .. } = *made.only();
        let planned = experiment.plan.phases.iter().find(|it| it.name == phase);
        let Some(planned) = planned.filter(|it| it.consumer) else { return Ok(Vec::new()) };
        let arms = taking_part(experiment, runs, phase);
        let open = matches!(planned.pacing, Pacing::Rate { .. } | Pacing::Burst {});
        let mut drawings = Vec::new();
        for since in [Since::Made, Since::Intended].into_iter().take(if open { 2 } else { 1 }) {
            let rows = rows(folder, &arms, runs, phase, since)?;
            drawings.push(scatter(phase, since, &rows));
        }
        let rows = parts_rows(&arms, runs, phase);
        if !rows.is_empty() {
            drawings.push(parts(phase, &rows));
        }
        Ok(drawings)
    }

    fn own_csv(&self, made: &Outcome<'_>, out: &mut dyn Write) -> Option<Result<Vec<String>>> {
        Some(messages(made.only().folder, made.only().runs, out))
    }

    fn gnuplot(&self) -> Option<&'static str> {
        Some(include_str!("../../../../studies/broker/latency.gp"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use workload::builtin;

    #[test]
    fn the_programs_of_2014_take_part_as_they_were() {
        let arms = BrokerStudy.definition().arms;
        let as_it_was = |driver: &str, phase: &str| {
            arms.iter().any(|it| it.driver == driver && it.original.as_deref() == Some(phase))
        };
        for (driver, phase) in [
            ("node@1.4.3/maxPoolSize=1024", "burst"),
            ("node@1.4.3/maxPoolSize=1024/runtime=0.11.14", "burst"),
            ("node@1.4.3/maxPoolSize=1024/processes=4", "burst"),
            ("node:mongolian@0.1.18", "burst"),
            ("python/maxPoolSize=1024", "think"),
            ("ruby/maxPoolSize=1024", "awaited"),
            ("cpp", "awaited"),
        ] {
            assert!(as_it_was(driver, phase), "{driver}");
        }
    }

    #[test]
    fn a_message_carries_a_date_as_the_originals_did() {
        for workload in ["broker", "broker-streams"] {
            let plan = builtin::open(workload, &BTreeMap::new(), 0).expect("a workload").plan;
            let stamps = &plan.phases[0].operations[0];
            assert!(format!("{stamps:?}").contains("TimeMs"), "{workload}: {stamps:?}");
        }
    }
}
