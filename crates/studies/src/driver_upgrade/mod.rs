//! One program through a line of versions of a driver.

mod original_files;
#[cfg(test)]
mod tests;
mod version_cells;
mod version_rows;

use crate::definition::{Asked, Definition};
use crate::frame::{Cells, EvidenceRow, driver};
use crate::outcome::Outcome;
use crate::study::{self, Flag, Study};
use base::error::{Error, Result};
use record::request::Request;
use record::study_folder::StudyPart;
use report::drawing::Drawing;
use report::history;
use stats::order::Order;
use workload::builtin;

/// Phases.
const CREATE: &str = "create";
const READ: &str = "read";
/// All phases of an experiment together.
const BOTH: &str = "both";
/// A phase, and the experiment that it is in alone.
const UNWAITED: &str = "unwaited";
/// Experiments.
const VERSIONS: &str = "versions";
const CONCERN: &str = "concern";
const REVERSE: &str = "reverse";
const GROWING: &str = "growing";
const CONNECTIONS: &str = "connections";
const WIRE: &str = "wire";

const TOTAL: &str = "total";
const THREADS: u64 = 100;
const QUICK_WARMUP_S: &str = "0.3";
/// Rounds of every part but `versions`: the fewest with an interval that decides.
const ENDS_ROUNDS: u32 = 5;
/// mongodyno itself and the drivers' monitors take some connections.
const CONNECTIONS_MIN: u64 = 30;
/// Creations of all threads in one phase with as many reads: a schedule holds no more.
const UNWAITED_MAX: u64 = 500_000;

/// Since which version is a driver slow, and why?
#[derive(Debug)]
pub struct DriverUpgradeStudy;

impl Study for DriverUpgradeStudy {
    fn name(&self) -> &'static str {
        "driver-upgrade"
    }

    fn definition(&self) -> Definition {
        Definition::read(include_str!("../../../../studies/driver-upgrade/study.toml"))
    }

    fn flags(&self) -> &'static [Flag] {
        &[Flag {
            name: TOTAL,
            value: "N",
            help: "N creations and N reads by all threads together, in the place of --scale",
        }]
    }

    fn plan(&self, asked: &Asked) -> Result<Vec<StudyPart>> {
        let definition = self.definition();
        let threads = asked
            .request
            .parameters
            .get("threads")
            .and_then(|it| it.parse().ok())
            .unwrap_or(THREADS);
        let operations = operations(&definition, asked, threads)?;
        let rounds = asked.request.rounds.or(definition.rounds).expect("its definition has them");
        let arms = definition.drivers(asked);
        let warmup = asked.request.quick.then(|| ("warmup", QUICK_WARMUP_S.to_owned()));
        let part = |name: &str, workload: &str, arms: &[String], phases: &[&str]| {
            let fewest = asked.request.rounds.unwrap_or(ENDS_ROUNDS);
            let rounds = if name == VERSIONS { rounds } else { fewest };
            let fewer = operations.min(UNWAITED_MAX / threads * threads);
            let own = [("operations", operations.to_string()), (UNWAITED, fewer.to_string())];
            let known = builtin::parameters(workload);
            let own = own.into_iter().filter(|(name, _)| known.iter().any(|it| it == name));
            let own = own.chain(warmup.clone());
            let phases = phases.iter().map(|phase| (*phase).to_owned()).collect();
            study::part(name, workload, own, arms, rounds, asked)
                .with(|request| request.phases = phases)
        };
        let ends = ends(&arms);
        let usual =
            |name: &str, arms: &[String]| part(name, "driver-upgrade", arms, &[CREATE, READ]);
        let order = |order: Order| move |request: &mut Request| request.conduct.order = Some(order);
        // Fewer than the threads: some have to wait.
        let connections = (threads * 6 / 10).max(CONNECTIONS_MIN) as u32;
        // The last of the ten builds has both ways to call it.
        let both_apis = asked.request.drivers.is_empty();
        let mut parts = vec![
            usual(VERSIONS, &arms).with(|request| request.conduct.figures_only = false),
            usual(CONCERN, &by_concern(&ends, both_apis)),
            usual(REVERSE, &ends).with(order(Order::Reverse)),
            part(GROWING, "growing", &ends, &[]).with(order(Order::Given)),
            usual(CONNECTIONS, &ends)
                .with(|request| request.server_limits.connections = Some(connections)),
            usual(WIRE, &ends).with(|request| {
                (request.conduct.figures_only, request.tap) = (false, true);
            }),
            part(UNWAITED, "driver-upgrade", &ends, &[UNWAITED]),
        ];
        // Only a mongod that we start is told to accept few.
        let absorber = asked.server().is_some_and(|server| server.starts_with("absorber"));
        if asked.by_uri() || absorber {
            parts.retain(|part| part.name != CONNECTIONS);
        }
        Ok(parts)
    }

    fn own_cells(&self, made: &Outcome<'_>, cells: &mut Cells) {
        version_cells::push(made, cells);
    }

    fn own_rows(&self, id: &str, made: &Outcome<'_>, cells: &Cells) -> Vec<EvidenceRow> {
        version_rows::of(id, made, cells)
    }

    fn own_files(&self, cells: &Cells) -> Vec<(&'static str, String)> {
        original_files::all(cells)
    }

    /// The line of each driver with four versions or more.
    fn own_drawings(&self, made: &Outcome<'_>, phase: &str) -> Result<Vec<Drawing>> {
        let Some(made) = made.part(VERSIONS).filter(|_| phase == VERSIONS) else {
            return Ok(Vec::new());
        };
        Ok(history::charts(&judge::analyse(made.folder, made.experiment)?.analysis))
    }
}

/// Creations, and as many reads, of all threads together.
fn operations(definition: &Definition, asked: &Asked, threads: u64) -> Result<u64> {
    let (scale, each) = definition.scale(asked)?;
    let Some(total) = asked.flags.get(TOTAL) else { return Ok(each * threads) };
    let usual = if asked.request.quick { definition.quick_scale } else { definition.scale };
    if scale.to_bits() != usual.to_bits() {
        return Err(Error::usage(
            format!("--total {total} and --scale {scale} are two sizes"),
            "give one of them",
        ));
    }
    let total: u64 = total.parse().ok().filter(|it| *it > 0).ok_or_else(|| {
        Error::usage(format!("--total {total} is no count"), "write --total 10000")
    })?;
    if total.is_multiple_of(threads) {
        return Ok(total);
    }
    Err(Error::usage(
        format!("--total {total} gives {threads} threads no equal shares"),
        format!(
            "give a multiple of {threads}, such as --total {}",
            total.div_ceil(threads) * threads
        ),
    ))
}

/// The first and the last version of each driver.
fn ends(arms: &[String]) -> Vec<String> {
    let mut ends: Vec<String> = Vec::new();
    for of_driver in arms.chunk_by(|a, b| driver(a) == driver(b)) {
        ends.extend(of_driver.first().cloned());
        ends.extend(of_driver.last().filter(|_| of_driver.len() > 1).cloned());
    }
    ends
}

/// Each end with both write concerns. The last one has its old API with both, and its new one with
/// its own default: so one thing differs between two arms.
fn by_concern(ends: &[String], both_apis: bool) -> Vec<String> {
    let last = ends.last().filter(|_| both_apis && ends.len() > 1);
    let old = |arm: &String| {
        if Some(arm) == last { format!("{arm}/api=server") } else { arm.clone() }
    };
    let with = |w: &'static str| ends.iter().map(move |arm| format!("{}/w={w}", old(arm)));
    with("0").chain(with("1")).chain(last.map(|arm| format!("{arm}/api=client/w=1"))).collect()
}
