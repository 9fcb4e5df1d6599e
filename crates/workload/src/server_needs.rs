//! What a plan needs of a server beside the commands that every server has: by the version that
//! introduced it, and whether the absorber has it.

use std::collections::BTreeMap;

use bson::{Bson, Document};

use crate::plan::{Collection, Index, IndexedAs, Operation, OperationKind, Plan};

/// A feature of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerNeed {
    /// Name in documents and messages.
    pub name: &'static str,
    /// Major and minor version of the first MongoDB that has it; None: all that are measured.
    pub since: Option<(u32, u32)>,
    pub absorber: bool,
}

const fn since(name: &'static str, major: u32, minor: u32) -> ServerNeed {
    ServerNeed { name, since: Some((major, minor)), absorber: false }
}

const fn everywhere(name: &'static str) -> ServerNeed {
    ServerNeed { name, since: None, absorber: true }
}

const fn mongodb(name: &'static str) -> ServerNeed {
    ServerNeed { name, since: None, absorber: false }
}

/// Every need that [`of`] finds.
pub const NEEDS: [ServerNeed; 22] = [
    everywhere("ordered and unique indexes"),
    mongodb("sparse, partial, TTL, text, 2dsphere, 2d and hashed indexes"),
    mongodb("indexes with further options"),
    since("wildcard indexes", 4, 2),
    since("hashed fields beside others in one index", 4, 4),
    since("time series", 5, 0),
    mongodb("views"),
    mongodb("validators"),
    mongodb("collations"),
    everywhere("capped collections"),
    mongodb("change streams, which a replica set has"),
    mongodb("filters with `$or`, `$not`, `$regex`, `$text` and the like"),
    everywhere("`$match`, `$sort`, `$skip`, `$limit`, `$count`"),
    mongodb("further stages of pipelines"),
    since("`$merge`, `$set`, `$unset`, `$replaceWith`", 4, 2),
    since("`$unionWith`", 4, 4),
    since("`$setWindowFields`", 5, 0),
    since("`$densify`, `$documents`", 5, 1),
    since("`$fill`", 5, 3),
    everywhere("updates by `$set`, `$unset`, `$inc`"),
    mongodb("further update operators"),
    since("transactions, which a replica set has", 4, 0),
];

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
        let who = format!("phase {}", phase.name);
        if phase.change_stream {
            found.needs("change streams, which a replica set has", &who);
        }
        for made in &phase.operations {
            found.operation(made, &who);
        }
    }
    found.0
}

struct Found(BTreeMap<&'static str, (ServerNeed, String)>);

impl Found {
    fn needs(&mut self, name: &str, who: &str) {
        let need = NEEDS.iter().find(|it| it.name == name).expect("one of them");
        self.0.entry(need.name).or_insert_with(|| (*need, who.to_owned()));
    }

    fn collection(&mut self, collection: &Collection) {
        let who = format!("collection {}", collection.name);
        if collection.capped.is_some() {
            self.needs("capped collections", &who);
        }
        if let Some(view) = &collection.view {
            self.needs("views", &who);
            self.stages(&view.document, &who);
        }
        let time_series = ("timeseries", "time series");
        let options = [time_series, ("validator", "validators"), ("collation", "collations")];
        for (option, name) in options {
            if collection.options.contains_key(option) {
                self.needs(name, &who);
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
            self.needs("wildcard indexes", who);
        } else if index.keys.len() > 1 && index.keys.iter().any(|(_, kind)| is_hashed(kind)) {
            self.needs("hashed fields beside others in one index", who);
        } else if index.keys.iter().all(|(_, kind)| plain(kind)) && index.options.is_empty() {
            self.needs("ordered and unique indexes", who);
        } else if index.options.keys().all(|key| of_kind.contains(&key.as_str())) {
            self.needs("sparse, partial, TTL, text, 2dsphere, 2d and hashed indexes", who);
        } else {
            self.needs("indexes with further options", who);
        }
    }

    fn operation(&mut self, made: &Operation, who: &str) {
        if made.kind == OperationKind::Transaction {
            self.needs("transactions, which a replica set has", who);
        }
        if let Some(pipeline) = &made.pipeline {
            self.stages(&pipeline.document, who);
        }
        if let Some(update) = &made.update {
            let known = ["$set", "$unset", "$inc"];
            let plain = update.document.keys().all(|key| known.contains(&key.as_str()));
            let name = if plain {
                "updates by `$set`, `$unset`, `$inc`"
            } else {
                "further update operators"
            };
            self.needs(name, who);
        }
        if made.filter.as_ref().is_some_and(|filter| !is_plain(&filter.document)) {
            self.needs("filters with `$or`, `$not`, `$regex`, `$text` and the like", who);
        }
    }

    fn stages(&mut self, pipeline: &Document, who: &str) {
        let stages = pipeline.get_array("pipeline").map_or(&[][..], Vec::as_slice);
        for stage in stages.iter().filter_map(Bson::as_document).flat_map(Document::keys) {
            let quoted = format!("`{stage}`");
            let named = |need: &&ServerNeed| need.name.contains(&quoted);
            let of_stages = NEEDS[12..19].iter().find(named);
            self.needs(of_stages.map_or("further stages of pipelines", |it| it.name), who);
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
