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
pub const THREADS: [u32; 4] = [1, 3, 4, 15];
pub const CONCERNS: [&str; 4] = ["w0", "w1", "majority", "journaled"];
pub const NAME_LENGTHS: [u32; 4] = [1, 8, 16, 32];
const SIZES: [u32; 3] = [320, 643, 665];
/// Smaller loads of the part `counts`, by the parameters of the workload.
const COUNTS: [(&str, u64); 4] =
    [("ten_thousandth", 10_000), ("thousandth", 1_000), ("hundredth", 100), ("tenth", 10)];
/// Documents of their batches, none of which is short.
const COUNTED_BATCH: u64 = 100;
/// A smaller load has too few batches.
const COUNTED_MIN: u64 = 500;

pub const FORMS: &str = "forms";
pub const BY_THREADS: &str = "threads";
pub const BY_CONCERN: &str = "concerns";
pub const BY_NAMES: &str = "names";
const BY_SIZE: &str = "sizes";
pub const BY_COUNT: &str = "counts";
pub const BY_HOSTS: &str = "hosts";
pub const BY_SHARDS: &str = "shards";
pub const BY_MEMBERS: &str = "replset";
pub const OVER_CACHE: &str = "cache";
pub const OVER_MEMORY: &str = "memory";
/// The smallest cache that mongod has.
const CACHE_MIB: u64 = 256;
/// Beside the cache mongod needs some for itself, and its files are cached in the rest.
const MEMORY_MIB: u64 = 512;
/// Documents of the workload bulk-cache that are twice the cache.
const OUTGROWN: u64 = 500_000;
/// Servers of our own, where none are named; as many shards stand behind a mongos.
const SERVERS: u32 = 4;
const MEMBERS: u32 = 3;

/// What a part is, for its table.
pub fn about(part: &str) -> &'static str {
    match part {
        FORMS => "One thread: one by one, all at once, in batches. The last batch may be short.",
        BY_THREADS => "Each thread loads its own contiguous share, in batches of 1,000.",
        BY_CONCERN => "Batches of 1,000, and documents one by one, by write concern.",
        BY_NAMES => "One document whose field names have 1, 8, 16 and 32 characters.",
        BY_SIZE => "Documents of 25 fields, 10 fields and 30 fields, in batches of 1,000.",
        BY_COUNT => "One thread in batches of 100: loads that grow to ten times the documents.",
        BY_HOSTS => "Several servers that know nothing of each other take the batches in turn.",
        BY_SHARDS => {
            "A mongos deals the batches: by a hash, by placed ranges, by ranges left alone."
        }
        BY_MEMBERS => "A replica set of three on this machine, by write concern.",
        OVER_CACHE => "The data outgrows the server's cache of 256 MiB, and then an index does.",
        OVER_MEMORY => "The same where the server has 512 MiB of memory, its file cache included.",
        _ => "",
    }
}

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
    // A server by connection string is one: ours stand in for several.
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
        star.part(BY_SIZE, "bulk-load", SIZES.map(|it| format!("size_{it}"))),
    ];
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
    // A small load outgrows nothing.
    if documents >= OUTGROWN && !asked.by_uri() && !ours.starts_with("absorber") {
        let part = |name| {
            let phases = ["data_over_cache", "index_over_cache"].map(str::to_owned);
            star.part(name, "bulk-cache", phases)
                .with(|request| request.server_limits.cache_bytes = Some(CACHE_MIB << 20))
        };
        let mut over_memory = part(OVER_MEMORY)
            .with(|request| request.server_limits.memory_bytes = Some(MEMORY_MIB << 20));
        let held = "without a limit of memory the operating system's cache held it";
        over_memory.needs = Some(held.to_owned());
        parts.extend([part(OVER_CACHE), over_memory]);
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
