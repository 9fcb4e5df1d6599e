//! Where the parts of a plan are in the user's file. Later checks, which know the machine and the
//! arms, report mistakes with these places.

use std::collections::BTreeMap;

use super::problem::{Problem, SourceText, WorkloadError};
use super::workload_file::Loaded;

type Span = Option<(usize, usize)>;

/// A part of a plan.
#[derive(Debug, Clone, Copy)]
pub enum PlanPart<'a> {
    /// Collection of this name.
    Collection(&'a str),
    /// Sharding of the collection of this name.
    Shard(&'a str),
    /// Phase of this name.
    Phase(&'a str),
}

#[derive(Debug, Clone)]
pub struct PlanPlaces {
    source: SourceText,
    collections: BTreeMap<String, Span>,
    shards: BTreeMap<String, Span>,
    phases: BTreeMap<String, Span>,
}

impl PlanPlaces {
    /// `phases` are the names in the order of the file.
    pub(super) fn of<'a>(loaded: &Loaded, phases: impl Iterator<Item = &'a String>) -> Self {
        let file = &loaded.file;
        let collection = |(name, given): &(super::located::At<String>, _)| {
            let given: &super::located::At<super::yaml::CollectionYaml> = given;
            let documents = given.value.documents.as_ref().map(|it| it.place);
            (name.value.clone(), loaded.span(documents.unwrap_or(name.place)))
        };
        let shard = |(name, given): &(super::located::At<String>, _)| {
            let given: &super::located::At<super::yaml::CollectionYaml> = given;
            Some((name.value.clone(), loaded.span(given.value.shard.as_ref()?.place)))
        };
        let phase = |(name, given): (&String, &super::located::At<super::yaml::PhaseYaml>)| {
            let keys = &given.value;
            let place = keys.batch.as_ref().map(|it| it.place);
            let place = place.or(keys.documents.as_ref().map(|it| it.place));
            (name.clone(), loaded.span(place.unwrap_or(given.place)))
        };
        Self {
            source: loaded.source.clone(),
            collections: file.collections.0.iter().map(collection).collect(),
            shards: file.collections.0.iter().filter_map(shard).collect(),
            phases: phases.zip(&file.phases.value).map(phase).collect(),
        }
    }

    pub fn error(&self, part: PlanPart<'_>, message: String, hint: &str) -> WorkloadError {
        let span = match part {
            PlanPart::Collection(name) => self.collections.get(name),
            PlanPart::Shard(name) => self.shards.get(name),
            PlanPart::Phase(name) => self.phases.get(name),
        };
        let problem = Problem::new(message, span.copied().flatten()).hint(hint);
        WorkloadError::of_some(vec![problem], &self.source)
    }
}
