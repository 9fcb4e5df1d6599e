//! What a plan needs of a server beside the commands that every server has: by the version that
//! introduced it, whether the absorber has it, and whether it takes a replica set.

use std::collections::BTreeMap;

use bson::{Bson, Document};

use crate::plan::{Collection, Index, IndexedAs, Operation, OperationKind, Phase, Plan};

/// A feature of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerNeed {
    /// Name in documents and messages.
    pub name: &'static str,
    /// Major and minor version of the first MongoDB that has it; None: all that are measured.
    pub since: Option<(u32, u32)>,
    pub absorber: bool,
    /// Whether MongoDB has it only on replica sets and clusters.
    pub replicas: bool,
}

const fn mongodb(name: &'static str) -> ServerNeed {
    ServerNeed { name, since: None, absorber: false, replicas: false }
}

const fn everywhere(name: &'static str) -> ServerNeed {
    ServerNeed { absorber: true, ..mongodb(name) }
}

const fn since(name: &'static str, major: u32, minor: u32) -> ServerNeed {
    ServerNeed { since: Some((major, minor)), ..mongodb(name) }
}

const PLAIN_INDEXES: ServerNeed = everywhere("ordered and unique indexes");
const KINDS_OF_INDEX: ServerNeed =
    mongodb("sparse, partial, TTL, text, 2dsphere, 2d and hashed indexes");
const INDEX_OPTIONS: ServerNeed = mongodb("indexes with further options");
const WILDCARD_INDEXES: ServerNeed = since("wildcard indexes", 4, 2);
const COMPOUND_HASHED: ServerNeed = since("hashed fields beside others in one index", 4, 4);
const TIME_SERIES: ServerNeed = since("time series", 5, 0);
const VIEWS: ServerNeed = mongodb("views");
const VALIDATORS: ServerNeed = mongodb("validators");
const COLLATIONS: ServerNeed = mongodb("collations");
const CAPPED: ServerNeed = everywhere("capped collections");
const CHANGE_STREAMS: ServerNeed = ServerNeed { replicas: true, ..mongodb("change streams") };
const FILTERS: ServerNeed = mongodb("filters with `$or`, `$not`, `$regex`, `$text` and the like");
/// Stages of pipelines, by the names in backquotes.
const STAGES: [ServerNeed; 6] = [
    everywhere("`$match`, `$sort`, `$skip`, `$limit`, `$count`"),
    since("`$merge`, `$set`, `$unset`, `$replaceWith`", 4, 2),
    since("`$unionWith`", 4, 4),
    since("`$setWindowFields`", 5, 0),
    since("`$densify`, `$documents`", 5, 1),
    since("`$fill`", 5, 3),
];
const FURTHER_STAGES: ServerNeed = mongodb("further stages of pipelines");
const PLAIN_UPDATES: ServerNeed = everywhere("updates by `$set`, `$unset`, `$inc`");
const FURTHER_UPDATES: ServerNeed = mongodb("further update operators");
const TRANSACTIONS: ServerNeed =
    ServerNeed { absorber: true, replicas: true, ..since("transactions", 4, 0) };

/// Every need that [`of`] finds.
pub fn all() -> impl Iterator<Item = ServerNeed> {
    let before = [
        PLAIN_INDEXES,
        KINDS_OF_INDEX,
        INDEX_OPTIONS,
        WILDCARD_INDEXES,
        COMPOUND_HASHED,
        TIME_SERIES,
        VIEWS,
        VALIDATORS,
        COLLATIONS,
        CAPPED,
        CHANGE_STREAMS,
        FILTERS,
    ];
    let after = [FURTHER_STAGES, PLAIN_UPDATES, FURTHER_UPDATES, TRANSACTIONS];
    before.into_iter().chain(STAGES).chain(after)
}

/// The needs of a plan, each with what needs it first.
pub fn of(plan: &Plan) -> BTreeMap<&'static str, (ServerNeed, String)> {
    let mut found = Found(BTreeMap::new());
    let read = |name: &str| {
        let mut made = plan.phases.iter().flat_map(|phase| &phase.operations);
        made.any(|made| plan.collections_of(made).contains(&name))
    };
    for collection in plan.collections.iter().filter(|it| read(&it.name)) {
        found.collection(collection);
    }
    for phase in &plan.phases {
        found.phase(phase);
    }
    found.0
}

/// What a phase needs that only replica sets and clusters have.
pub fn of_replicas(phase: &Phase) -> Option<ServerNeed> {
    let mut found = Found(BTreeMap::new());
    found.phase(phase);
    found.0.into_values().map(|(need, _)| need).find(|need| need.replicas)
}

struct Found(BTreeMap<&'static str, (ServerNeed, String)>);

impl Found {
    fn needs(&mut self, need: ServerNeed, who: &str) {
        self.0.entry(need.name).or_insert_with(|| (need, who.to_owned()));
    }

    fn phase(&mut self, phase: &Phase) {
        let who = format!("phase {}", phase.name);
        if phase.change_stream {
            self.needs(CHANGE_STREAMS, &who);
        }
        for made in &phase.operations {
            self.operation(made, &who);
        }
    }

    fn collection(&mut self, collection: &Collection) {
        let who = format!("collection {}", collection.name);
        if collection.capped.is_some() {
            self.needs(CAPPED, &who);
        }
        if let Some(view) = &collection.view {
            self.needs(VIEWS, &who);
            self.stages(&view.document, &who);
        }
        let options =
            [("timeseries", TIME_SERIES), ("validator", VALIDATORS), ("collation", COLLATIONS)];
        for (option, need) in options {
            if collection.options.contains_key(option) {
                self.needs(need, &who);
            }
        }
        for index in &collection.indexes {
            self.index(index, &who);
        }
    }

    fn index(&mut self, index: &Index, who: &str) {
        let is_hashed = |kind: &IndexedAs| matches!(kind, IndexedAs::Kind(it) if it == "hashed");
        let plain = |kind: &IndexedAs| matches!(kind, IndexedAs::Direction(_));
        let of_kind = ["sparse", "partialFilterExpression", "expireAfterSeconds"];
        if index.keys.iter().any(|(field, _)| field.ends_with("$**")) {
            self.needs(WILDCARD_INDEXES, who);
        } else if index.keys.len() > 1 && index.keys.iter().any(|(_, kind)| is_hashed(kind)) {
            self.needs(COMPOUND_HASHED, who);
        } else if index.keys.iter().all(|(_, kind)| plain(kind)) && index.options.is_empty() {
            self.needs(PLAIN_INDEXES, who);
        } else if index.options.keys().all(|key| of_kind.contains(&key.as_str())) {
            self.needs(KINDS_OF_INDEX, who);
        } else {
            self.needs(INDEX_OPTIONS, who);
        }
    }

    fn operation(&mut self, made: &Operation, who: &str) {
        if made.kind == OperationKind::Transaction {
            self.needs(TRANSACTIONS, who);
        }
        if let Some(pipeline) = &made.pipeline {
            self.stages(&pipeline.document, who);
        }
        if let Some(update) = &made.update {
            let known = ["$set", "$unset", "$inc"];
            let plain = update.document.keys().all(|key| known.contains(&key.as_str()));
            self.needs(if plain { PLAIN_UPDATES } else { FURTHER_UPDATES }, who);
        }
        if made.filter.as_ref().is_some_and(|filter| !is_plain(&filter.document)) {
            self.needs(FILTERS, who);
        }
    }

    fn stages(&mut self, pipeline: &Document, who: &str) {
        let stages = pipeline.get_array("pipeline").map_or(&[][..], Vec::as_slice);
        for stage in stages.iter().filter_map(Bson::as_document).flat_map(Document::keys) {
            let quoted = format!("`{stage}`");
            let named = |need: &&ServerNeed| need.name.contains(&quoted);
            self.needs(STAGES.iter().find(named).copied().unwrap_or(FURTHER_STAGES), who);
        }
    }
}

/// Whether the absorber understands a filter.
fn is_plain(filter: &Document) -> bool {
    const KNOWN: [&str; 10] =
        ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$and"];
    filter.iter().all(|(key, value)| {
        let known = !key.starts_with('$') || KNOWN.contains(&key.as_str());
        let inner = match value {
            Bson::Document(value) => is_plain(value),
            Bson::Array(items) => items.iter().filter_map(Bson::as_document).all(is_plain),
            Bson::RegularExpression(_) => false,
            _ => true,
        };
        known && inner
    })
}
