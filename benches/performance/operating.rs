//! How often the shipped sequence of looks gives each verdict, by simulation (methodology 2.6).

mod world;

use stats::looks::LookPlan;

use super::support::{Bench, Outcome};
use world::{Rates, World, rates};

/// Largest share of false verdicts, percent: SLOWER or FASTER of equal arms; SAME at a true +5 %.
const FALSE_MAX: f64 = 5.0;
const WRONG_SAME_MAX: f64 = 2.0;
const SEED: u64 = 11;
/// Percent.
const SCATTERS: [u32; 6] = [1, 2, 3, 4, 5, 6];

#[allow(clippy::unnecessary_wraps, reason = "every figure answers so")]
pub fn run(bench: &Bench) -> Outcome {
    // The quick form costs a hundredth of the other.
    let draws = if bench.long { 10_000 } else { 500 };
    let forms = [
        ("looks at 10, 20 and 40 rounds", LookPlan::standard(), draws),
        ("quick, 6 rounds", LookPlan::quick(), 10_000),
    ];
    let mut reached = true;
    for (name, looks, draws) in forms {
        println!("### {name}, {draws} experiments a cell\n");
        powers(&looks, draws);
        println!("\nSLOWER or FASTER at a true 0, percent\n");
        reached &= conditions(&looks, draws, 0.0, 1.0, FALSE_MAX, |it| it.slower + it.faster);
        println!("\nSAME at a true +5 %, percent\n");
        reached &= conditions(&looks, draws, 5.0, -1.0, WRONG_SAME_MAX, |it| it.same);
        println!();
    }
    Ok(reached)
}

/// In each scatter, at once.
fn row(world: World, looks: &LookPlan, draws: u32) -> [Rates; 6] {
    std::thread::scope(|scope| {
        let cells = SCATTERS.map(|percent| {
            let world = World { scatter: f64::from(percent) / 100.0, ..world };
            scope.spawn(move || rates(&world, looks, draws, SEED))
        });
        cells.map(|cell| cell.join().expect("a simulation"))
    })
}

/// Every verdict, where nothing disturbs.
fn powers(looks: &LookPlan, draws: u32) {
    println!(
        "| true | scatter | SLOWER | FASTER | SAME | size uncertain | INCONCLUSIVE | rounds |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for percent in [0.0, 5.0, 20.0, 40.0] {
        let world = World { effect: f64::ln_1p(percent / 100.0), ..World::default() };
        for (scatter, it) in SCATTERS.iter().zip(row(world, looks, draws)) {
            println!(
                "| +{percent} % | {scatter} % | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
                it.slower, it.faster, it.same, it.uncertain, it.inconclusive, it.rounds
            );
        }
    }
}

/// One rate in every world; `sign` 1 makes B seem slower than it is, -1 faster.
fn conditions(
    looks: &LookPlan,
    draws: u32,
    percent: f64,
    sign: f64,
    most: f64,
    rate: fn(&Rates) -> f64,
) -> bool {
    let plain = World { effect: f64::ln_1p(percent / 100.0), ..World::default() };
    let worlds = [
        ("nothing else", plain),
        ("drift 2 %", World { drift: -0.02 * sign, ..plain }),
        ("drift 4 %", World { drift: -0.04 * sign, ..plain }),
        ("drift 8 %", World { drift: -0.08 * sign, ..plain }),
        ("baseline off by 2 %", World { bias: 0.02 * sign, ..plain }),
        ("baseline off by 5 %", World { bias: 0.05 * sign, ..plain }),
        ("1 % a place in the order", World { order: 0.01, ..plain }),
        ("3 % a place in the order", World { order: 0.03, ..plain }),
        ("one round of six off by 20 %", World { odd: 0.2 * sign, ..plain }),
        (
            "1 of 6 rounds disturbed, off by 40 %",
            World { disturbed: 1.0 / 6.0, hurt: 0.35 * sign, ..plain },
        ),
        (
            "7 of 10 rounds disturbed, scatter tripled",
            World { disturbed: 0.7, unrest: 2.0, ..plain },
        ),
    ];
    println!("| scatter | {} |", SCATTERS.map(|it| format!("{it} %")).join(" | "));
    println!("|---|{}", "---|".repeat(SCATTERS.len()));
    let mut reached = true;
    for (name, world) in worlds {
        let cells = row(world, looks, draws).map(|it| rate(&it));
        println!("| {name} | {} |", cells.map(|it| format!("{it:.2}")).join(" | "));
        // Three standard errors of the draws.
        let error = 300.0 * (most / 100.0 * (1.0 - most / 100.0) / f64::from(draws)).sqrt();
        reached &= cells.iter().all(|it| *it <= most + error);
    }
    reached
}
