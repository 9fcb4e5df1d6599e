//! Whether the parts of a study fit: into `--budget`, into memory, onto the disks. All of them are
//! looked at before the first one begins.

use std::path::Path;
use std::time::Duration;

use super::PlainTable;
use super::requested_limits::starts_mongod;
use super::run::check_server;
use super::run_plan::RunPlan;
use crate::ask::Ask;
use adapter::manifest::Manifest;
use base::error::{Error, Exit, Result};
use base::paths::free_bytes;
use measure::capacity;
use measure::progress::duration;
use measure::setup::Planned;
use record::samples::SAMPLE_BUDGET_BYTES;
use record::study_folder::StudyPart;
use server::Host;
use studies::Study;
use studies::answerable::{PlannedQuestion, answerable};

/// What a part comes to.
pub struct PartFit {
    part: String,
    arms: usize,
    phases: usize,
    rounds: u32,
    pub takes: Duration,
    /// Why there is no time for it.
    pub left_out: Option<String>,
}

/// The parts that a budget has time for, the first ones first. A later part may be shorter than one
/// that is left out, and have its place.
///
/// # Errors
/// A slip of the keyboard; a first part that takes longer than the budget; a part that this machine
/// has no room for.
pub fn fit(
    parts: &[(&StudyPart, &Ask)],
    budget: Option<Duration>,
    folder: &Path,
    manifests: &[Manifest],
) -> Result<Vec<PartFit>> {
    let (mut fits, mut gone, mut sample_bytes) = (Vec::new(), Duration::ZERO, 0);
    for (part, ask) in parts {
        let plan = RunPlan::new(ask, manifests, None)?;
        let (takes, rounds) =
            (plan.planned.until_look(), plan.planned.settings.looks.first_rounds());
        let left_out = budget.and_then(|budget| over(budget, gone, takes));
        if let (Some(budget), Some(_), true) = (budget, &left_out, fits.is_empty()) {
            return Err(refused(&part.name, takes, budget));
        }
        if left_out.is_none() {
            has_room(part, &plan)?;
            gone += takes;
            let bytes = plan.planned.estimate.round_sample_bytes * u64::from(rounds);
            sample_bytes += bytes.min(SAMPLE_BUDGET_BYTES);
        }
        fits.push(PartFit {
            part: part.name.clone(),
            arms: plan.arms.len() + plan.twins,
            phases: plan.planned.workload.plan.phases.len(),
            rounds,
            takes,
            left_out,
        });
    }
    if let Some(free_bytes) = free_bytes(folder).filter(|it| *it < sample_bytes) {
        return Err(Error::usage(
            format!(
                "its samples take about {}, and {} has {} free",
                format::bytes(sample_bytes),
                folder.display(),
                format::bytes(free_bytes)
            ),
            "give a smaller --scale, or another --out",
        ));
    }
    Ok(fits)
}

/// Why a part is left out that takes so long, when so much of the budget has gone; None: it fits.
pub fn over(budget: Duration, gone: Duration, takes: Duration) -> Option<String> {
    let left = budget.saturating_sub(gone);
    (takes > left).then(|| {
        format!(
            "it takes about {}, and {} of the budget of {} are left",
            duration(takes),
            duration(left),
            duration(budget)
        )
    })
}

/// The error of what takes longer than the whole budget.
pub fn refused(what: &str, takes: Duration, budget: Duration) -> Error {
    let enough_s = takes.as_secs_f64().ceil();
    Error::usage(
        format!("{what} takes about {}, --budget is {}", duration(takes), duration(budget)),
        format!("give --budget {enough_s}s, or a smaller --scale"),
    )
}

fn has_room(part: &StudyPart, plan: &RunPlan<'_>) -> Result<()> {
    let data = if starts_mongod(&plan.ask.request)? { Some(Host::detect()?.data()) } else { None };
    let Planned { workload, settings, client_memory, .. } = &plan.planned;
    let interleave = &settings.interleave;
    capacity::check_client(workload, client_memory.as_ref())
        .and_then(|()| capacity::check_disk(workload, interleave, plan.together(), data))
        .map_err(|error| Error::usage(format!("{}: {error}", part.name), "give a smaller --scale"))
}

/// All that fits, in a sentence.
pub fn summary(fits: &[PartFit]) -> String {
    let made: Vec<&PartFit> = fits.iter().filter(|it| it.left_out.is_none()).collect();
    let takes = made.iter().map(|it| it.takes).sum();
    format!("about {} in all: {} of {} parts", duration(takes), made.len(), fits.len())
}

/// What `--plan` prints.
///
/// # Errors
/// A server that a run of a part would refuse.
pub fn plan_text(
    study: &dyn Study,
    parts: &[(&StudyPart, &Ask)],
    fits: &mut [PartFit],
) -> Result<String> {
    for ((part, ask), fit) in parts.iter().zip(fits.iter_mut()) {
        match check_server(ask, ask.request.server()?) {
            // A study leaves it out.
            Err(error) if part.needs.is_some() && error.exit == Exit::Environment => {
                fit.left_out.get_or_insert(error.message);
            }
            checked => checked?,
        }
    }
    let made = parts.iter().zip(fits.iter()).filter(|(_, fit)| fit.left_out.is_none());
    let made: Vec<&StudyPart> = made.map(|((part, _), _)| *part).collect();
    Ok(text(fits) + &questions_text(&answerable(study, &made)?))
}

fn text(fits: &[PartFit]) -> String {
    let mut table = PlainTable::default();
    table.add_row(["part", "arms", "phases", "rounds", "time"]);
    for it in fits {
        let time = match &it.left_out {
            Some(why) => format!("left out: {why}"),
            None => format!("about {}", duration(it.takes)),
        };
        let counts = [it.arms.to_string(), it.phases.to_string(), it.rounds.to_string()];
        table.add_row([it.part.clone()].into_iter().chain(counts).chain([time]));
    }
    format!("{table}\n\n{}\n", summary(fits))
}

/// The questions that these parts can answer, and what they lack for the others.
fn questions_text(questions: &[PlannedQuestion]) -> String {
    let name = |it: &PlannedQuestion| match &it.claim {
        Some(claim) => format!("({claim}) {}", it.text),
        None => it.text.clone(),
    };
    let line = |it: &PlannedQuestion| match &it.lacks {
        Some(lacks) => format!("\n  {} ({lacks})", name(it)),
        None => format!("\n  {}", name(it)),
    };
    let (open, answered): (Vec<_>, Vec<_>) = questions.iter().partition(|it| it.lacks.is_some());
    let lines = |all: &[&PlannedQuestion]| all.iter().map(|it| line(it)).collect::<String>();
    let listed = [("can answer", answered), ("cannot answer", open)].into_iter();
    let listed = listed.filter(|(_, all)| !all.is_empty());
    let listed = listed.map(|(which, all)| format!("\n{which}:{}\n", lines(&all)));
    listed.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_part_fits_into_what_the_ones_before_it_leave() {
        let budget = 30 * MINUTE;
        assert_eq!(over(budget, Duration::ZERO, budget), None, "all of it");
        assert_eq!(over(budget, 20 * MINUTE, 10 * MINUTE), None);
        assert_eq!(
            over(budget, Duration::from_secs(1_700), Duration::from_secs(130)).as_deref(),
            Some("it takes about 2 min 10 s, and 1 min 40 s of the budget of 30 min 00 s are left")
        );
        let late = over(budget, 31 * MINUTE, MINUTE).expect("a reason");
        assert!(late.contains(", and 0 s of the budget"), "{late}");
    }

    #[test]
    fn what_is_refused_is_told_how_much_time_is_enough() {
        let error = refused("forms", Duration::from_millis(97_200), MINUTE);
        assert_eq!(error.message, "forms takes about 1 min 37 s, --budget is 1 min 00 s");
        assert_eq!(error.hint, "give --budget 98s, or a smaller --scale");
    }
}
