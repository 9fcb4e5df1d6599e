//! Settings of an experiment, by its command line.

use crate::cli::{InterleaveArg, RunArgs};
use base::error::Result;
use judge::objectives::Gate;
use measure::blocks::blocks;
use measure::resume::Resumed;
use measure::setup::Limits;
use measure::{arms, settings};
use record::records::Settings;
use stats::looks::LookPlan;
use stats::threshold::Interleave;
use workload::plan::Plan;

/// `unanswered` is the first arm that asks for no answers to its writes. What is gone on with keeps
/// its blocks.
pub fn asked(
    args: &RunArgs,
    plan: &mut Plan,
    (arms, twins): (&[arms::Arm<'_>], usize),
    limits: &Limits,
    seed: u64,
    unanswered: Option<&str>,
    was: Option<&Resumed>,
) -> Result<Settings> {
    let max_time_s = args.max_time.map(|time| time.as_secs_f64());
    settings::limit_counted(plan, max_time_s);
    let asked = args.interleave.map(interleave);
    let interleave = settings::interleave(plan, asked, unanswered)?;
    let fresh = || blocks(plan, &interleave, (arms, twins), limits.client_memory.as_ref());
    let blocks = was.map_or_else(fresh, |it| it.experiment.settings.blocks.clone());
    Ok(Settings {
        seed,
        max_time_s,
        order: args.order.order,
        interleave,
        blocks,
        measured_s: if args.quick { settings::QUICK_MEASURED_S } else { settings::MEASURED_S },
        looks: looks(args),
        gates: args.gate.clone(),
        gate_unclear: args.gate_unclear,
        keep_awake: !args.machine.no_keep_awake,
    })
}

fn interleave(asked: InterleaveArg) -> Interleave {
    match asked {
        InterleaveArg::Turns => Interleave::Turns,
        InterleaveArg::Runs => Interleave::Runs,
    }
}

fn looks(args: &RunArgs) -> LookPlan {
    let plan = match (args.quick, args.rounds) {
        (false, None) => LookPlan::standard(),
        (true, None) => LookPlan::quick(),
        (quick, Some(rounds)) => LookPlan::fixed(rounds).quickly(quick),
    };
    let compares = |gate: &String| Gate::parse(gate).is_ok_and(|it| it.compares());
    if args.gate.iter().any(compares) { plan.with_gates() } else { plan }
}
