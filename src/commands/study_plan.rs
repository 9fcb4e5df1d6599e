//! The plan of a study for a command line.

use super::run::pairs;
use crate::cli::{StudyFlags, StudyVerb};
use adapter::manifest::Manifest;
use base::error::{Error, Result};
use measure::arms;
use studies::{Asked, Plan, Study};

/// The plan of a study for this command line; one that names no arms takes every adapter.
pub fn planned(
    verb: &StudyVerb,
    drivers: Vec<String>,
    seed: u64,
    manifests: &[Manifest],
) -> Result<Plan> {
    let StudyFlags { scale, quick, rounds, set, server, at, .. } = &verb.common;
    let drivers = taking_part(verb.study, drivers, manifests);
    verb.study.plan(&Asked {
        scale: *scale,
        quick: *quick,
        drivers,
        rounds: *rounds,
        sets: pairs(set, "--set")?,
        seed,
        flags: verb.own.clone(),
        server: server.clone(),
        by_uri: at.uri.is_some(),
    })
}

/// The drivers that were asked for; without any those of the study, or every adapter.
pub fn taking_part(study: &dyn Study, asked: Vec<String>, manifests: &[Manifest]) -> Vec<String> {
    let definition = study.definition();
    if !asked.is_empty() {
        return asked;
    }
    if definition.arms.is_empty() {
        return manifests.iter().map(|it| it.name.clone()).collect();
    }
    let runs = |planned: &studies::definition::Arm| {
        let arm = arms::parse(manifests, &planned.driver).ok()?;
        arm.manifest.choose(&arm.asked).ok()?.probe().ok()
    };
    if definition.elsewhere.is_empty() || definition.arms.iter().any(|arm| runs(arm).is_some()) {
        return asked;
    }
    definition.elsewhere.into_iter().map(|arm| arm.driver).collect()
}

/// The error of a record that names a study which there is not.
pub fn unknown(name: &str) -> Error {
    Error::usage(
        format!("this mongodyno has no study {name}"),
        "the folder may come from another version: `mongodyno study` lists those that there are",
    )
}
