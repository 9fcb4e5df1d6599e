//! Where the parts of a plan stand in the user's file, for what is found wrong with them later: on
//! this machine, with these arms.

use std::collections::BTreeMap;

use super::problem::{Problem, Source, WorkloadError};
use super::workload_file::Loaded;

type Span = Option<(usize, usize)>;

/// A part of a plan.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// By its name.
    Collection(&'a str),
    /// Of the collection of this name.
    Shard(&'a str),
    /// By its name.
    Phase(&'a str),
}

#[derive(Debug, Clone)]
pub struct Places {
    source: Source,
    collections: BTreeMap<String, Span>,
    shards: BTreeMap<String, Span>,
    phases: BTreeMap<String, Span>,
}

impl Places {
    /// `phases` are the names in the order of the file.
    pub(super) fn of<'a>(loaded: &Loaded, phases: impl Iterator<Item = &'a String>) -> Self {
        let file = &loaded.file;
        let collection = |(name, given): &(super::located::At<String>, _)| {
            let given: &super::located::At<super::yaml::Collection> = given;
            let documents = given.value.documents.as_ref().map(|it| it.place);
            (name.value.clone(), loaded.span(documents.unwrap_or(name.place)))
        };
        let shard = |(name, given): &(super::located::At<String>, _)| {
            let given: &super::located::At<super::yaml::Collection> = given;
            Some((name.value.clone(), loaded.span(given.value.shard.as_ref()?.place)))
        };
        let phase = |(name, given): (&String, &super::located::At<super::yaml::Phase>)| {
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

    pub fn error(&self, part: Part<'_>, message: String, hint: &str) -> WorkloadError {
        let span = match part {
            Part::Collection(name) => self.collections.get(name),
            Part::Shard(name) => self.shards.get(name),
            Part::Phase(name) => self.phases.get(name),
        };
        let problem = Problem::new(message, span.copied().flatten()).hint(hint);
        WorkloadError::of_some(vec![problem], &self.source)
    }
}
