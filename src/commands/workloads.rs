//! `mongodyno workloads [NAME]` and `mongodyno workloads check`.

use std::fmt::Write as _;

use crate::cli::{WorkloadsAction, WorkloadsArgs, WorkloadsCheckArgs, pairs};
use adapter::manifest::discover;
use base::error::{Error, Exit, Result};
use measure::arms;
use measure::capabilities::lacked;
use measure::selection::expand;
use record::records::ServerKind;
use server::{ServerChoice, catalogue};
use workload::plan::Plan;
use workload::{builtin, server_needs};

pub fn run(args: &WorkloadsArgs) -> Result<()> {
    if let Some(WorkloadsAction::Check(asked)) = &args.action {
        return check(asked);
    }
    if let Some(name) = &args.name {
        return super::print(&builtin::text(name)?);
    }
    let listed = builtin::list();
    let mut text = String::new();
    for group in builtin::GROUPS {
        let _ = writeln!(text, "{group}");
        for (workload, why) in listed.iter().filter(|(workload, _)| workload.group == *group) {
            let short = why.split_once(". ").map_or(why.as_str(), |(first, _)| first);
            let _ = writeln!(text, "  {:<16} {}", workload.name, short.trim_end_matches('.'));
        }
    }
    super::print(&text)
}

/// Says what each driver and server can do of a workload, by manifests and catalogues alone.
fn check(asked: &WorkloadsCheckArgs) -> Result<()> {
    let plan = builtin::open(&asked.workload, &pairs(&asked.set, "--set")?, 0)?.plan;
    let manifests = discover(asked.adapters_dir.as_deref())?;
    let mut text = format!("{}: {} phases\n", plan.workload, plan.phases.len());
    let mut cannot = Vec::new();
    for words in expand(&manifests, &asked.drivers, asked.registry.offline)? {
        let arm = arms::parse(&manifests, &words)?;
        let chosen = arm.manifest.choose(&arm.asked)?;
        let name = arm.asked.id(&arm.manifest.name, &chosen.version);
        if !tell(&mut text, &name, &of_driver(&plan, &chosen.lacks)) {
            cannot.push(name);
        }
    }
    for words in asked.server.iter().flat_map(|words| words.split(',')) {
        let choice = ServerChoice::parse(words, None)?;
        if !tell(&mut text, words, &of_server(&plan, &choice, words)?) {
            cannot.push(words.to_owned());
        }
    }
    super::print(&text)?;
    if cannot.is_empty() {
        return Ok(());
    }
    let message = format!("not all of {} can be done by {}", plan.workload, cannot.join(", "));
    let hint = "`run` leaves such phases out and says so; a server that lacks something refuses";
    Err(Error::new(Exit::GateFailed, message, hint))
}

/// Adds the line of a driver or server; false where something is missing.
fn tell(text: &mut String, name: &str, missing: &[String]) -> bool {
    let all = missing.is_empty();
    let said = if all { "everything".to_owned() } else { missing.join("; ") };
    let _ = writeln!(text, "  {name:<24} {said}");
    all
}

fn of_driver(plan: &Plan, lacks: &[String]) -> Vec<String> {
    let lacking = |phase: &workload::plan::Phase| {
        let what = lacked(lacks, phase, plan.clients.count(phase.workers))?;
        Some(format!("not {}: it has no {what}", phase.name))
    };
    plan.phases.iter().filter_map(lacking).collect()
}

fn of_server(plan: &Plan, choice: &ServerChoice, words: &str) -> Result<Vec<String>> {
    let version = match choice.kind() {
        ServerKind::Absorber => None,
        ServerKind::Embedded => {
            let asked = words.split(':').next().and_then(|it| it.split_once('@')).map(|it| it.1);
            Some(catalogue().resolve(asked)?.version.clone())
        }
        _ => words.split_once('@').map(|(_, version)| version.to_owned()),
    };
    let is_absorber = choice.kind() == ServerKind::Absorber;
    let mut parts = version.as_deref().unwrap_or_default().split('.').map(str::parse::<u32>);
    let version = match (parts.next(), parts.next()) {
        (Some(Ok(major)), minor) => Some((major, minor.and_then(Result::ok).unwrap_or(0))),
        _ => None,
    };
    let needs = server_needs::of(plan);
    let missing = |(need, who): &(server_needs::ServerNeed, String)| {
        if is_absorber {
            return (!need.absorber).then(|| format!("no {} ({who})", need.name));
        }
        if need.replicas && choice.has_replicas() == Some(false) {
            return Some(format!("no {} ({who}): they take a replica set", need.name));
        }
        let (since, version) = (need.since?, version?);
        let (major, minor) = since;
        (version < since)
            .then(|| format!("no {}, which {who} needs: since {major}.{minor}", need.name))
    };
    Ok(needs.values().filter_map(missing).collect())
}
