//! `run --plan`: the exact plan of a run.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use format::fixed;
use measure::progress::duration;
use measure::settings::{TURN_OPERATIONS_MIN, TURNS_MIN, measured, planned, stretch};
use measure::setup::Planned;
use record::records::{ServerOptions, Settings};
use stats::threshold::Interleave;
use workload::plan::{ClientSharing, Collection, Limit, Pacing, Phase, Plan};

/// `server` is what the clients connect to; `limits` are those of a mongod that is started.
pub fn text(planned: &Planned, arms: &[String], server: &str, limits: ServerOptions) -> String {
    let Planned { settings, estimate, .. } = planned;
    let plan = &planned.workload.plan;
    let mut text = String::new();
    let looks: Vec<String> =
        settings.looks.looks().iter().map(|look| look.rounds.to_string()).collect();
    let _ = writeln!(text, "workload  {}: {}", plan.workload, first_sentence(&plan.why));
    for (name, value) in &plan.parameters {
        let _ = writeln!(text, "          {name} = {value}");
    }
    let _ = writeln!(text, "server    {server}");
    for (name, value) in limits.words() {
        let _ = writeln!(text, "          {name} {value}");
    }
    let _ = writeln!(text, "arms      {}, {} again as the A/A arm", arms.join(", "), arms[0]);
    let clients = match plan.clients {
        ClientSharing::Process => "",
        ClientSharing::Worker => "clients   one for each worker\n",
        ClientSharing::Operation => "clients   as many as workers, by operation in turn\n",
    };
    text.push_str(clients);
    if let Some(memory) = &planned.client_memory {
        let _ = writeln!(text, "memory    {} for each arm's processes together", memory.words());
    }
    if let Some(blocks) = &settings.blocks {
        let _ = writeln!(text, "blocks    {}", blocks.words());
    }
    let _ = writeln!(text, "rounds    looks at {}, seed {}", looks.join(", "), settings.seed);
    if let Some(caution) = settings.looks.caution() {
        let _ = writeln!(text, "          {caution}");
    }
    if let Some(caution) = settings.conduct.order().caution() {
        let _ = writeln!(text, "order     {caution}");
    }
    let _ = writeln!(
        text,
        "time      about {} a round, {} to the first look (longer on a noisy machine)",
        duration(estimate.round),
        duration(planned.until_look())
    );
    let _ = writeln!(
        text,
        "disk      about {} MB of samples a round (at 10,000 operations a second and worker)",
        estimate.round_sample_bytes >> 20
    );
    plan.collections.iter().for_each(|it| text.push_str(&collection(it)));
    phases(&mut text, plan, settings);
    text
}

fn collection(collection: &Collection) -> String {
    let bytes = collection.document_bytes_mean * collection.loaded as f64;
    let mut text = format!(
        "\ncollection {}: {} documents of {} bytes loaded ({} MB)",
        collection.name,
        collection.loaded,
        fixed(collection.document_bytes_mean, 0),
        fixed(bytes / 1e6, 1),
    );
    if let Some(capped) = &collection.capped {
        let _ = write!(text, ", capped at {} bytes", capped.size_bytes);
    }
    if let Some(shard) = &collection.shard {
        let _ = write!(text, ", sharded by {}", shard.key);
    }
    text.push_str(if collection.kept { ", kept from arm to arm\n" } else { "\n" });
    text
}

fn phases(text: &mut String, plan: &Plan, settings: &Settings) {
    let mut before: Option<&str> = None;
    for (phase, interleave) in plan.phases.iter().zip(&settings.interleave) {
        let how = match interleave.interleave {
            Interleave::Turns => "in turns",
            Interleave::Runs => "as whole runs",
        };
        let _ = writeln!(text, "\nphase {} {how} ({})", phase.name, interleave.reason);
        if let Some(before) = before.filter(|_| phase.continues) {
            let _ = writeln!(text, "  goes on in the processes and with the documents of {before}");
        }
        before = Some(phase.name.as_str());
        let _ = writeln!(text, "  {}", operations(phase));
        let _ = writeln!(
            text,
            "  {} × {} workers, {}, {}",
            phase.processes,
            phase.workers,
            pacing(phase),
            limit(phase, settings, interleave.interleave)
        );
    }
}

fn first_sentence(why: &str) -> &str {
    why.split_inclusive(". ").next().unwrap_or(why).trim()
}

fn operations(phase: &Phase) -> String {
    let total: u32 = phase.weights.iter().sum();
    let one = |(operation, weight): (&workload::plan::Operation, &u32)| {
        let stretch = phase.sequence.iter().find(|stretch| stretch.name == operation.name);
        let share = if let Some(Limit::Operations { count, .. }) = stretch.map(|it| it.limit) {
            format!("{count} ")
        } else if *weight == total {
            String::new()
        } else {
            format!("{} % ", fixed(100.0 * f64::from(*weight) / f64::from(total.max(1)), 1))
        };
        let names: BTreeSet<&str> = operation.collections().collect();
        let names: Vec<&str> = names.into_iter().collect();
        let on =
            if names.is_empty() { String::new() } else { format!(" on {}", names.join(" and ")) };
        let writes = operation.documents.is_some() || !operation.parts.is_empty();
        let batch = operation.count.filter(|_| writes);
        let batch = batch.map_or(String::new(), |count| format!(" of {}", count.most()));
        format!("{share}{}{batch}{on}", operation.name)
    };
    // The parts of a bulk_write have no weight.
    let drawn = phase.operations.iter().zip(&phase.weights).filter(|(_, weight)| **weight > 0);
    let each: Vec<String> = drawn.map(one).collect();
    if phase.sequence.is_empty() {
        return each.join(", ");
    }
    format!("each worker by itself: {}", each.join(", then "))
}

fn pacing(phase: &Phase) -> String {
    match phase.pacing {
        Pacing::Awaited { think_ns: 0 } => "closed loop".to_owned(),
        Pacing::Awaited { think_ns } => format!("closed loop, {} us think time", think_ns / 1000),
        Pacing::Window { size } => format!("{size} in flight for each worker"),
        Pacing::Rate { per_second, poisson } => {
            format!("{per_second} a second{}", if poisson { ", Poisson" } else { "" })
        }
        Pacing::Burst {} => "all at once".to_owned(),
    }
}

fn limit(phase: &Phase, settings: &Settings, interleave: Interleave) -> String {
    match phase.limit {
        Limit::Duration { .. } => {
            let quick = settings.looks.quick;
            let seconds = planned(phase, settings.measured_s, quick, interleave);
            if interleave == Interleave::Runs {
                return format!("{seconds} s per arm and round");
            }
            // Laps are added while they scatter.
            let most = f64::from(stretch(quick)) * measured(phase, settings.measured_s);
            let more = if most > seconds { format!(" to {most}") } else { String::new() };
            let operations = f64::from(TURNS_MIN * TURN_OPERATIONS_MIN * phase.workers);
            let rate = fixed(operations * f64::from(phase.processes) / seconds, 0);
            format!("{seconds}{more} s per arm and round, more below {rate} operations a second")
        }
        Limit::Operations { count, seconds_max: None } => {
            format!("{count} operation{} per arm and round", if count == 1 { "" } else { "s" })
        }
        Limit::Operations { count, seconds_max: Some(seconds) } => {
            format!("{count} operations per arm and round, {seconds} s at most")
        }
    }
}
