//! Settings of an experiment, by its request.

use base::error::Result;
use judge::objectives::ObjectiveGate;
use measure::blocks::blocks;
use measure::resume::Resumed;
use measure::{arms, settings};
use record::records::{ClientMemory, Settings};
use record::request::Request;
use stats::looks::LookPlan;
use workload::plan::Plan;

/// `unanswered` is the first arm that asks for no answers to its writes. What is gone on with keeps
/// its blocks.
pub fn asked(
    request: &Request,
    plan: &mut Plan,
    (arms, twins): (&[arms::Arm<'_>], usize),
    client_memory: Option<&ClientMemory>,
    seed: u64,
    unanswered: Option<&str>,
    was: Option<&Resumed>,
) -> Result<Settings> {
    settings::limit_counted(plan, request.conduct.max_time_s);
    let interleave = settings::interleave(plan, request.interleave, unanswered)?;
    let fresh = || blocks(plan, &interleave, (arms, twins), client_memory);
    let blocks = was.map_or_else(fresh, |it| it.experiment.settings.blocks.clone());
    Ok(Settings {
        seed,
        interleave,
        blocks,
        measured_s: request.measured_s.unwrap_or(if request.quick {
            settings::QUICK_MEASURED_S
        } else {
            settings::MEASURED_S
        }),
        looks: looks(request),
        conduct: request.conduct.clone(),
        keep_awake: !request.no_keep_awake,
    })
}

fn looks(request: &Request) -> LookPlan {
    let plan = match (request.quick, request.rounds) {
        (false, None) => LookPlan::standard(),
        (true, None) => LookPlan::quick(),
        (quick, Some(rounds)) => {
            LookPlan::fixed(rounds + u32::from(request.conduct.tap_last_round)).quickly(quick)
        }
    };
    let compares = |gate: &String| ObjectiveGate::parse(gate).is_ok_and(|it| it.compares());
    if request.conduct.gates.iter().any(compares) { plan.with_gates() } else { plan }
}
