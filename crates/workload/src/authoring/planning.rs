//! A loaded workload to a plan and its pools; everything wrong with it is found on the way.

use std::collections::BTreeMap;

use base::strings::hex;
use sha2::{Digest, Sha256};

use super::checking::Check;
use super::collections::{check_own_names, collection};
use super::index_data::Contents;
use super::located::At;
use super::phases::phase;
use super::places::PlanPlaces;
use super::pool::Pool;
use super::problem::{WorkloadError, did_you_mean};
use super::sequence::sequence;
use super::story;
use super::tree::YamlTree;
use super::workload_file::Loaded;
use super::yaml;
use crate::plan::{Phase, Plan};

/// Bytes of the user's own documents, which are kept in memory, at most.
const FILES_BYTES_MAX: u64 = 256 << 20;

/// A workload ready to run.
#[derive(Debug, Clone)]
pub struct Workload {
    pub plan: Plan,
    /// The pools of `plan.collections`, in their order.
    pub pools: Vec<Pool>,
    pub places: PlanPlaces,
    /// The servers that the file names, `host:port` each.
    pub hosts: Vec<String>,
}

impl Workload {
    /// Makes the pools so small that as many processes as an arm may have can hold them: one pool
    /// for all arms, for pools that differ would measure different documents.
    pub fn fit(&mut self, processes: u32) {
        for (pool, collection) in self.pools.iter_mut().zip(&mut self.plan.collections) {
            pool.fit(processes);
            collection.pool_documents = pool.count() as u32;
            (collection.document_bytes_mean, collection.document_bytes_max) = pool.sizes();
        }
    }
}

/// Checks a workload and computes its plan.
pub fn build(loaded: &Loaded, seed: u64) -> Result<Workload, WorkloadError> {
    let mut check = Check::new(loaded, seed);
    let file = &loaded.file;
    let mut collections = Vec::new();
    let (mut pools, mut file_bytes) = (Vec::new(), 0);
    for (name, given) in &file.collections.0 {
        if let Some((made, pool)) = collection(&mut check, name, given, (&collections, &pools)) {
            if let Some(file) = &given.value.file {
                file_bytes += pool.bytes();
                if file_bytes > FILES_BYTES_MAX {
                    let message = "the files of all collections have more than 256 MiB together";
                    check.wrong(file.place, message, "give fewer or shorter files");
                    break;
                }
            }
            collections.push(made);
            pools.push(pool);
        }
    }
    let named: Vec<_> = file.collections.0.iter().map(|(name, _)| name).collect();
    check_own_names(&mut check, &named);
    let names: Vec<&str> = file.collections.names().collect();
    if file.phases.value.is_empty() {
        check.wrong(
            file.phases.place,
            "the workload has no phases",
            "add `phases: [{operation: …}]`",
        );
    }
    let mut phases: Vec<Phase> = Vec::new();
    for given in &file.phases.value {
        let made = match &given.value.sequence {
            Some(_) => sequence(&mut check, given, &collections, &names, seed),
            None => phase(&mut check, given, &collections, &names, seed, Vec::new()),
        };
        let Some(made) = made else { continue };
        same_name(&mut check, given, &made, &phases);
        phases.push(made);
    }
    if file.why.value.trim().is_empty() {
        check.wrong(file.why.place, "`why` is empty", "write what this workload is for");
    }
    let uri_options = options(&mut check);
    let name = file.name.as_ref().map_or(&loaded.stem, |name| &name.value).clone();
    story::keep_whole_runs(&mut phases, &collections);
    story::spread_whole_runs(&mut phases);
    let plan = Plan {
        workload: name,
        workload_sha256: hex(&Sha256::digest(loaded.text.as_bytes())),
        why: file.why.value.trim().to_owned(),
        seed,
        parameters: loaded.parameters.clone(),
        uri_options,
        clients: file.clients.as_ref().map(|it| it.value).unwrap_or_default(),
        collections,
        phases,
        runs_before: 0,
    };
    if check.problems.is_empty() {
        story::check_plan(&mut check, &plan);
        check_index_data(&mut check, &plan, &pools);
    }
    if let Some(error) = loaded.error(check.problems) {
        return Err(error);
    }
    let places = PlanPlaces::of(loaded, plan.phases.iter().map(|phase| &phase.name));
    let hosts = file.hosts.iter().map(|it| it.value.clone()).collect();
    Ok(Workload { plan, pools, places, hosts })
}

fn check_index_data(check: &mut Check<'_>, plan: &Plan, pools: &[Pool]) {
    let loaded = check.loaded;
    for (number, (_, given)) in loaded.file.collections.0.iter().enumerate() {
        let collection = &plan.collections[number];
        let contents = Contents::of(collection, number, pools, &plan.phases);
        for (index, given) in collection.indexes.iter().zip(&given.value.indexes) {
            contents.check(check, index, given);
        }
    }
}

fn same_name(check: &mut Check<'_>, given: &At<yaml::PhaseYaml>, made: &Phase, before: &[Phase]) {
    let keys = &given.value;
    let place = keys.name.as_ref().map(|name| name.place);
    let place = place.or(keys.operation.as_ref().map(|at| at.place)).unwrap_or(given.place);
    if before.iter().any(|phase| phase.name == made.name) {
        let message = format!("two phases are called `{}`", made.name);
        check.wrong(place, message, "give one of them another `name:`");
    }
    // The name becomes part of file names.
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if made.name.is_empty() || made.name.len() > 60 || !made.name.chars().all(fits) {
        let message = format!("`{}` cannot be the name of a phase", made.name);
        check.wrong(place, message, "use letters, digits, `_`, `-` and `.`, at most 60 of them");
    }
}

/// Options of connection strings that change how a driver works.
pub const DRIVER_OPTIONS: [&str; 22] = [
    "compressors",
    "connectTimeoutMS",
    "heartbeatFrequencyMS",
    "journal",
    "localThresholdMS",
    "maxConnecting",
    "maxIdleTimeMS",
    "maxPoolSize",
    "maxStalenessSeconds",
    "minPoolSize",
    "readConcernLevel",
    "readPreference",
    "retryReads",
    "retryWrites",
    "serverMonitoringMode",
    "serverSelectionTimeoutMS",
    "socketTimeoutMS",
    "timeoutMS",
    "w",
    "waitQueueTimeoutMS",
    "wTimeoutMS",
    "zlibCompressionLevel",
];

fn options(check: &mut Check<'_>) -> BTreeMap<String, String> {
    let known = || DRIVER_OPTIONS.into_iter().chain(["directConnection", "loadBalanced"]);
    let mut options = BTreeMap::new();
    for (name, value) in &check.loaded.file.options.0 {
        if !known().any(|known| known == name.value) {
            let squeezed = name.value.replace(['_', '-'], "").to_lowercase();
            let hint = match squeezed.as_str() {
                "poolsize" | "maxpool" | "pool" => Some("did you mean `maxPoolSize`?".to_owned()),
                _ => did_you_mean(&squeezed, known()),
            };
            let message = format!("a workload cannot set a URI option `{}`", name.value);
            check.wrong_maybe(name.place, message, hint);
            continue;
        }
        let value = match &value.value {
            YamlTree::String(word) if word == "default" => continue,
            YamlTree::String(word) => word.clone(),
            YamlTree::Int(number) if *number < 0 => {
                let message = format!("`{}` cannot be negative", name.value);
                check.wrong(value.place, message, "write 0 or more, or `default`");
                continue;
            }
            YamlTree::Int(number) => number.to_string(),
            YamlTree::Double(number) => number.to_string(),
            YamlTree::Bool(yes) => yes.to_string(),
            YamlTree::List(items) => {
                let words = items.iter().filter_map(|item| match &item.value {
                    YamlTree::String(word) => Some(word.as_str()),
                    _ => None,
                });
                words.collect::<Vec<_>>().join(",")
            }
            other => {
                let message = format!("{} cannot be here", other.kind());
                check.wrong(value.place, message, "write a number, a word or a list of words");
                continue;
            }
        };
        options.insert(name.value.clone(), value);
    }
    options
}
