//! The experiments of the study: a star, each part one axis.

use super::HOSTS;
use crate::definition::{Asked, Definition};
use crate::study;
use base::error::Result;
use record::request::Request;
use record::study_folder::StudyPart;
use record::words::Words;
use stats::threshold::Interleave;
use workload::builtin;

/// Documents that a driver can be given at once.
const AT_ONCE_MAX: u64 = 500_000;
/// The original loaded 5,200,000 documents in batches of 1,000,000: the last one was short.
const LOADED: u64 = 52;
const THRESHOLD: u64 = 10;
/// Ways to deal a collection to shards, and the threads that load each: phases of bulk-shards.
pub const DEALT: [&str; 3] = ["hashed", "split", "ranged"];
pub const SHARD_THREADS: [u32; 2] = [1, 4];
/// Batches of a fixed size, by the phases of the workload.
const BATCHES: [u64; 4] = [1_000, 10_000, 50_000, 100_000];
const THREADS: [u32; 4] = [1, 3, 4, 15];
const CONCERNS: [&str; 4] = ["w0", "w1", "majority", "journaled"];
const NAME_LENGTHS: [u32; 4] = [1, 8, 16, 32];
const SIZES: [u32; 3] = [320, 643, 665];
/// Smaller loads of the part `counts`, by the parameters of the workload.
const COUNTS: [(&str, u64); 4] =
    [("ten_thousandth", 10_000), ("thousandth", 1_000), ("hundredth", 100), ("tenth", 10)];
/// Documents of their batches, none of which is short.
const COUNTED_BATCH: u64 = 100;
/// A smaller load has too few batches.
const COUNTED_MIN: u64 = 500;

const FORMS: &str = "forms";
const BY_THREADS: &str = "threads";
const BY_CONCERN: &str = "concerns";
pub const BY_NAMES: &str = "names";
const BY_SIZE: &str = "sizes";
pub const BY_COUNT: &str = "counts";
pub const BY_HOSTS: &str = "hosts";
pub const BY_SHARDS: &str = "shards";
const BY_MEMBERS: &str = "replset";
pub const OVER_CACHE: &str = "cache";
pub const OVER_MEMORY: &str = "memory";
/// The smallest cache that mongod has.
const CACHE_MIB: u64 = 256;
/// Beside the cache mongod needs some for itself, and its files are cached in the rest.
const MEMORY_MIB: u64 = 512;
/// Documents of the workload bulk-cache that are twice the cache.
const OUTGROWN: u64 = 500_000;
/// Servers that we start where none are named; as many shards behind a mongos.
const SERVERS: u32 = 4;
const MEMBERS: u32 = 3;

/// The parts of a study that was asked for.
///
/// # Errors
/// A scale that makes no experiment.
pub fn parts(definition: &Definition, asked: &Asked) -> Result<Vec<StudyPart>> {
    let (_, documents) = definition.scale(asked)?;
    let own = [
        ("documents", documents),
        ("at_once", documents.min(AT_ONCE_MAX)),
        ("threshold", (documents * THRESHOLD / LOADED).max(1)),
        ("few", (documents / 50).clamp(50, 10_000)),
    ];
    let counted = |of: u64| (documents / of / COUNTED_BATCH).max(1) * COUNTED_BATCH;
    let own = own.into_iter().chain(COUNTS.map(|(name, of)| (name, counted(of))));
    // A server by connection string is one; where several are needed, we start them.
    let ours = asked.server().unwrap_or(&definition.server).to_owned();
    let hosts = |request: &mut Request| match asked.flags.get(HOSTS) {
        Some(hosts) => {
            let hosts = hosts.split(',').map(Words::new).collect();
            (request.server, request.uri, request.hosts) = (None, None, hosts);
        }
        None => request.on_server(format!("{ours}:hosts={SERVERS}")),
    };
    let set = format!("{ours}:replset={MEMBERS}");
    let star = Star {
        asked,
        drivers: definition.drivers(asked),
        rounds: definition.rounds(asked, documents),
        own: own.collect(),
    };
    let batches = BATCHES.iter().filter(|batch| **batch <= documents);
    let mut forms = vec!["one_by_one".to_owned(), "all_at_once".to_owned()];
    forms.extend(batches.map(|batch| format!("batch_{batch}")));
    forms.push("batch_threshold".to_owned());
    let by_threads = || THREADS.map(|it| format!("threads_{it}"));
    let of_set = ["w1", "majority", "journaled"];
    let of_set = of_set.iter().flat_map(|it| [format!("batch_{it}"), format!("one_{it}")]);
    let concerns = CONCERNS.iter().flat_map(|it| [format!("batch_{it}"), format!("one_{it}")]);
    let mut parts = vec![
        star.part(FORMS, "bulk-load", forms),
        star.part(BY_THREADS, "bulk-load", by_threads()),
        star.part(BY_CONCERN, "bulk-load", concerns),
        star.part(BY_NAMES, "bulk-names", NAME_LENGTHS.map(|it| format!("names_{it}"))),
    ];
    let named = |name: &str| asked.parts.iter().any(|part| part == name);
    // No question is about them.
    if named(BY_SIZE) {
        parts.push(star.part(BY_SIZE, "bulk-load", SIZES.map(|it| format!("size_{it}"))));
    }
    // A small load has no smaller one.
    let smaller = COUNTS.iter().filter(|(_, of)| documents / of >= COUNTED_MIN);
    let mut counts: Vec<String> = smaller.map(|(name, _)| format!("count_{name}")).collect();
    if !counts.is_empty() {
        counts.push("count_whole".to_owned());
        parts.push(star.part(BY_COUNT, "bulk-load", counts));
    }
    // An absorber is no mongod.
    if !ours.starts_with("absorber") || asked.flags.contains_key(HOSTS) {
        parts.push(star.part(BY_HOSTS, "bulk-load", by_threads()).with(hosts));
    }
    if !ours.starts_with("absorber") {
        let phases = DEALT.iter().flat_map(|it| SHARD_THREADS.map(|count| format!("{it}_{count}")));
        let mut part = star.part(BY_SHARDS, "bulk-shards", phases);
        if !asked.by_uri() {
            // Embedded servers come without a mongos.
            let mongod = if ours.starts_with("embedded") { "mongod" } else { &ours };
            part.request.on_server(format!("{mongod}:shards={SERVERS}"));
        }
        part.needs = Some("it takes a mongos in front of shards".to_owned());
        parts.push(part);
        let of_set = star.part(BY_MEMBERS, "bulk-load", of_set);
        parts.push(of_set.with(|request| request.on_server(set)));
    }
    // A small load outgrows nothing: the part that outgrows memory has a fixed least size.
    let least = if asked.request.quick { 0 } else { OUTGROWN };
    let outgrown = documents.max(least);
    if outgrown >= OUTGROWN && !asked.by_uri() && !ours.starts_with("absorber") {
        let part = |name| {
            let phases = ["data_over_cache", "index_over_cache"].map(str::to_owned);
            star.part(name, "bulk-cache", phases).with(|request| {
                request.server_limits.cache_bytes = Some(CACHE_MIB << 20);
                if !asked.request.parameters.contains_key("documents") {
                    request.parameters.insert("documents".to_owned(), outgrown.to_string());
                }
            })
        };
        if documents >= OUTGROWN || named(OVER_CACHE) {
            parts.push(part(OVER_CACHE));
        }
        let mut over_memory = part(OVER_MEMORY)
            .with(|request| request.server_limits.memory_bytes = Some(MEMORY_MIB << 20));
        let held = "without a limit of memory the operating system's cache held it";
        over_memory.needs = Some(held.to_owned());
        parts.push(over_memory);
    }
    Ok(parts)
}

/// What all parts share.
struct Star<'a> {
    asked: &'a Asked,
    drivers: Vec<String>,
    rounds: u32,
    /// Parameters that the scale sets, of all workloads.
    own: Vec<(&'static str, u64)>,
}

impl Star<'_> {
    fn part(
        &self,
        name: &str,
        workload: &str,
        phases: impl IntoIterator<Item = String>,
    ) -> StudyPart {
        let known = builtin::parameters(workload);
        let own = self.own.iter().filter(|(name, _)| known.iter().any(|it| it == name));
        let own = own.map(|(name, value)| (*name, value.to_string()));
        study::part(name, workload, own, &self.drivers, self.rounds, self.asked).with(|request| {
            request.phases = phases.into_iter().collect();
            // A load does not pause: its tenths are told apart by the clock.
            request.interleave = Some(Interleave::Runs);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk_load::BulkLoadStudy;
    use crate::study::{Study as _, planned, words};
    use std::collections::BTreeMap;
    use workload::plan::Plan as WorkloadPlan;

    fn plan(name: &str) -> WorkloadPlan {
        builtin::open(name, &BTreeMap::new(), 1).expect(name).plan
    }

    #[test]
    fn counts_grow_tenfold_to_those_of_the_scale() {
        let counts = |scale: f64| {
            let asked = Asked { scale: Some(scale), ..Asked::default() };
            let parts = BulkLoadStudy.plan(&asked).expect("a plan");
            parts.into_iter().find(|it| it.name == BY_COUNT).map(|it| words(&it))
        };
        assert_eq!(counts(0.0005), None, "a small load has no smaller one");
        let usual = counts(0.01).expect("a part");
        let phases = "--phase count_hundredth --phase count_tenth --phase count_whole ";
        assert!(usual.contains(phases) && !usual.contains("count_thousandth"), "{usual}");
        assert!(usual.contains(" hundredth=500 ") && usual.contains(" tenth=5200 "), "{usual}");
        let whole = counts(1.0).expect("a part");
        assert!(
            whole.contains("--phase count_ten_thousandth --phase count_thousandth "),
            "{whole}"
        );
        let plan = plan("bulk-load");
        let phases = plan.phases.iter().filter(|it| it.name.starts_with("count_"));
        let named = phases.filter(|it| whole.contains(&format!("--phase {} ", it.name)));
        assert_eq!(named.count(), 5);
    }

    #[test]
    fn documents_are_of_the_originals_sizes() {
        let plan = plan("bulk-load");
        for (name, bytes) in [("fields_25", 320.0), ("fields_10", 643.0), ("fields_30", 665.0)] {
            let pool = plan.collections.iter().find(|it| it.name == name).expect(name);
            assert!((pool.document_bytes_mean - bytes).abs() < 1e-9, "{name}: {pool:?}");
        }
    }

    #[test]
    fn a_batch_larger_than_the_load_is_left_out() {
        let parts = |scale: f64| {
            let asked = Asked { scale: Some(scale), ..Asked::default() };
            let parts = BulkLoadStudy.plan(&asked).expect("a plan");
            words(&parts[0])
        };
        assert!(!parts(0.001).contains("--phase batch_10000 "));
        assert!(parts(0.1).contains("--phase batch_100000 "));
        // Five full batches of the threshold, and a short one.
        let small = parts(0.01);
        assert!(
            small.contains("documents=52000 ") && small.contains("threshold=10000 "),
            "{small}"
        );
    }

    #[test]
    fn a_set_reaches_every_part_whose_workload_has_it() {
        let plan = |sets: &[(&str, &str)]| {
            let sets = sets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let request = Request { parameters: sets.collect(), ..Request::default() };
            planned(&BulkLoadStudy, &Asked { request, ..Asked::default() })
        };
        for part in plan(&[("documents", "77"), ("few", "5")]).expect("a plan") {
            let said = words(&part);
            assert!(said.contains(" documents=77 ") && !said.contains("ments=52000"), "{said}");
            assert_eq!(
                said.contains(" few=5 "),
                part.request.workload.given() == Some("bulk-load"),
                "{said}"
            );
        }
        assert!(plan(&[("fewer", "5")]).is_err(), "no part has it");
    }

    #[test]
    fn a_mongos_is_our_own_or_the_one_that_is_named() {
        let shards = |server: Option<&str>, by_uri: bool| {
            let uri = by_uri.then(|| Words::new("mongodb://h"));
            let request = Request { server: server.map(Words::new), uri, ..Request::default() };
            let asked = Asked { request, ..Asked::default() };
            let parts = BulkLoadStudy.plan(&asked).expect("a plan");
            let part = parts.into_iter().find(|it| it.name == BY_SHARDS)?;
            assert!(part.needs.is_some(), "a machine may have no mongos");
            Some(words(&part))
        };
        let ends = |words: Option<String>, end: &str| words.expect("a part").ends_with(end);
        assert!(ends(shards(None, false), "--server mongod:shards=4"));
        assert!(ends(shards(Some("/opt/m/mongod"), false), "--server /opt/m/mongod:shards=4"));
        assert!(!shards(None, true).expect("a part").contains("--server"));
        assert_eq!(shards(Some("absorber"), false), None);
        let plan = plan("bulk-shards");
        let phases: Vec<String> = plan.phases.iter().map(|it| it.name.clone()).collect();
        let named = DEALT.iter().flat_map(|it| SHARD_THREADS.map(|count| format!("{it}_{count}")));
        assert_eq!(phases, named.collect::<Vec<_>>());
        let split = plan.collections.iter().find(|it| it.name == "split").expect("a collection");
        let ranges = workload::shard::ranges(split.shard.as_ref().expect("sharded"), &split.stamps);
        let ranges = ranges.expect("they are by the key");
        assert_eq!(ranges.len(), 8);
    }
}
