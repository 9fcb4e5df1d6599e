//! What a workload may send in its own words: stages and commands that stay within the experiment's
//! database, on collections of the workload (decision 0090). Both are lists of what is allowed.
//! With a list of what is forbidden, the next server's new command would pass.

use super::checking::Check;
use super::located::{At, Location};
use super::problem::did_you_mean;
use super::tree::YamlTree;
use crate::mention::Mention;
use crate::operation_kind::OperationWord;
use crate::plan::{Operation, Template};
use crate::replay::stamp::find;
use bson::{Bson, Document};

impl Operation {
    /// The collections that its pipeline or command names.
    pub fn mentions(&self) -> impl Iterator<Item = &Mention> {
        self.templates().flat_map(|template| &template.mentions)
    }

    /// Names of all collections that it works on, its own first.
    pub fn collections(&self) -> impl Iterator<Item = &str> {
        let own = Some(self.collection.as_str()).filter(|name| !name.is_empty());
        own.into_iter().chain(self.mentions().map(|mention| mention.collection.as_str()))
    }

    /// Whether its pipeline or command writes one of them.
    pub fn mentions_to_write(&self) -> bool {
        self.mentions().any(|mention| mention.writes)
    }
}

impl Template {
    /// The document with the names that its collections have on the server.
    pub fn named(&self, name: impl Fn(&str) -> String) -> Document {
        let mut document = self.document.clone();
        for Mention { path, collection, .. } in &self.mentions {
            if let Some(place) = find(&mut document, path) {
                *place = Bson::String(name(collection));
            }
        }
        document
    }
}

/// Part of a stage or a command.
#[derive(Clone, Copy)]
enum Allowed {
    /// Name of a collection that is read.
    Reads,
    /// Name of a collection whose indexes change.
    Indexes,
    /// Name of a collection that is written.
    Writes,
    /// A pipeline, where it is a list.
    Stages,
    /// A list of documents with such parts.
    Each(AllowedFields),
    Command,
}

/// By the key that holds it; `*` is any key.
type AllowedFields = &'static [(&'static str, Allowed)];

use Allowed::{Each, Indexes, Reads, Stages, Writes};

const STAGES: &[(&str, AllowedFields)] = &[
    ("$addFields", &[]),
    ("$bucket", &[]),
    ("$bucketAuto", &[]),
    ("$collStats", &[]),
    ("$count", &[]),
    ("$densify", &[]),
    ("$documents", &[]),
    ("$facet", &[("*", Stages)]),
    ("$fill", &[]),
    ("$geoNear", &[]),
    ("$graphLookup", &[("from", Reads)]),
    ("$group", &[]),
    ("$indexStats", &[]),
    ("$limit", &[]),
    ("$lookup", &[("from", Reads), ("pipeline", Stages)]),
    ("$match", &[]),
    ("$merge", &[("into", Writes), ("whenMatched", Stages)]),
    ("$out", &[("coll", Writes)]),
    ("$project", &[]),
    ("$redact", &[]),
    ("$replaceRoot", &[]),
    ("$replaceWith", &[]),
    ("$sample", &[]),
    ("$set", &[]),
    ("$setWindowFields", &[]),
    ("$skip", &[]),
    ("$sort", &[]),
    ("$sortByCount", &[]),
    ("$unionWith", &[("coll", Reads), ("pipeline", Stages)]),
    ("$unset", &[]),
    ("$unwind", &[]),
];

const COMMANDS: &[(&str, AllowedFields)] = &[
    ("aggregate", &[("aggregate", Reads), ("pipeline", Stages)]),
    ("buildInfo", &[]),
    ("buildinfo", &[]),
    ("collStats", &[("collStats", Reads)]),
    ("collstats", &[("collstats", Reads)]),
    ("connectionStatus", &[]),
    ("count", &[("count", Reads)]),
    ("createIndexes", &[("createIndexes", Indexes)]),
    ("dbStats", &[]),
    ("dbstats", &[]),
    ("delete", &[("delete", Writes)]),
    ("distinct", &[("distinct", Reads)]),
    ("dropIndexes", &[("dropIndexes", Indexes)]),
    ("explain", &[("explain", Allowed::Command)]),
    ("find", &[("find", Reads)]),
    ("findAndModify", &[("findAndModify", Writes), ("update", Stages)]),
    ("findandmodify", &[("findandmodify", Writes), ("update", Stages)]),
    ("hello", &[]),
    ("insert", &[("insert", Writes)]),
    ("isMaster", &[]),
    ("ismaster", &[]),
    ("listCollections", &[]),
    ("listIndexes", &[("listIndexes", Reads)]),
    ("ping", &[]),
    ("serverStatus", &[]),
    ("update", &[("update", Writes), ("updates", Each(&[("u", Stages)]))]),
];

/// Fields of a command that are the driver's to set, as are all that begin with `$`.
const OF_THE_DRIVER: [&str; 4] = ["autocommit", "lsid", "startTransaction", "txnNumber"];

/// Operators that run code on the server: reading it does not show what it does, or whether it
/// ends.
const CODE: [&str; 3] = ["$accumulator", "$function", "$where"];

/// What free YAML becomes.
#[derive(Clone, Copy)]
pub enum Form<'a> {
    /// A filter, an update, a projection.
    Document,
    /// A pipeline, of collections with these names.
    Pipeline(&'a [&'a str]),
    Command(&'a [&'a str]),
}

/// Complains of what a workload may not send. It reads the document as it is sent; `tree` has the
/// places. The answer is the collections that are named there.
pub fn check_sent(
    check: &mut Check<'_>,
    tree: &At<YamlTree>,
    document: &Document,
    form: Form<'_>,
) -> Vec<Mention> {
    let (names, within) = match form {
        Form::Document => (&[][..], 0),
        Form::Pipeline(names) => (names, 1),
        Form::Command(names) => (names, 0),
    };
    let mut reader = Reader { check, tree, names, within, path: Vec::new(), found: Vec::new() };
    match form {
        Form::Document => {}
        Form::Pipeline(_) => reader.parts(document, &[("pipeline", Stages)]),
        Form::Command(_) => reader.command(document),
    }
    reader.code(document);
    reader.found
}

struct Reader<'a, 'l> {
    check: &'a mut Check<'l>,
    tree: &'a At<YamlTree>,
    names: &'a [&'a str],
    /// Steps of each path that lie above the tree.
    within: usize,
    path: Vec<String>,
    found: Vec<Mention>,
}

impl Reader<'_, '_> {
    fn within(&mut self, key: &str, read: impl FnOnce(&mut Self)) {
        self.path.push(key.to_owned());
        read(self);
        self.path.pop();
    }

    /// Complains of the value at the present path.
    fn wrong(&mut self, message: &str, hint: Option<String>) {
        let place = written(self.tree, &self.path[self.within..]).place;
        self.check.wrong_maybe(place, message, hint);
    }

    /// Complains of a key of the value at the present path.
    fn wrong_key(&mut self, key: &str, message: String, hint: Option<String>) {
        let place = key_place(self.tree, &self.path[self.within..], key);
        self.check.wrong_maybe(place, message, hint);
    }

    fn command(&mut self, command: &Document) {
        let known = COMMANDS.iter().map(|(known, _)| *known);
        let Some(name) = command.keys().next() else {
            return self.wrong("an empty command", did_you_mean("", known));
        };
        let Some((_, parts)) = COMMANDS.iter().find(|(known, _)| known == name) else {
            let message = format!("a workload does not send the command `{name}`");
            let own = OperationWord::ALL.iter().find(|word| word.name() == name);
            let own = own.map(|_| format!("write `operation: {name}` instead"));
            return self.wrong_key(name, message, own.or_else(|| did_you_mean(name, known)));
        };
        for key in command.keys() {
            if key.starts_with('$') || OF_THE_DRIVER.contains(&key.as_str()) {
                let message = format!("the driver alone sets `{key}` of a command");
                self.wrong_key(key, message, Some("remove it".to_owned()));
            }
        }
        self.parts(command, parts);
    }

    fn parts(&mut self, document: &Document, parts: AllowedFields) {
        for (key, value) in document {
            if let Some((_, part)) = parts.iter().find(|(name, _)| *name == key || *name == "*") {
                self.within(key, |it| it.part(value, *part));
            }
        }
    }

    fn part(&mut self, value: &Bson, part: Allowed) {
        match (part, value) {
            (Reads | Indexes | Writes, value) => self.name(value, part),
            (Stages, Bson::Array(stages)) => self.each(stages, Self::stage),
            (Each(parts), Bson::Array(items)) => self.each(items, |it, item| {
                if let Bson::Document(item) = item {
                    it.parts(item, parts);
                }
            }),
            (Allowed::Command, Bson::Document(command)) => self.command(command),
            // A server refuses anything else in such a place.
            (Stages | Each(_) | Allowed::Command, _) => {}
        }
    }

    fn each(&mut self, items: &[Bson], read: impl Fn(&mut Self, &Bson)) {
        for (number, item) in items.iter().enumerate() {
            self.within(&number.to_string(), |it| read(it, item));
        }
    }

    fn stage(&mut self, stage: &Bson) {
        let only = stage.as_document().filter(|stage| stage.len() == 1);
        let Some((name, value)) = only.and_then(|stage| stage.iter().next()) else {
            let hint = "a mapping with one key, such as `$match: {number: 3}`".to_owned();
            return self.wrong("this is no stage of a pipeline", Some(hint));
        };
        let Some((_, parts)) = STAGES.iter().find(|(known, _)| known == name) else {
            let known = STAGES.iter().map(|(known, _)| *known);
            let message = format!("a workload does not send the stage `{name}`");
            return self.wrong_key(name, message, did_you_mean(name, known));
        };
        self.within(name, |it| match (value, parts.first()) {
            (Bson::Document(value), Some((_, Reads | Writes))) if value.contains_key("db") => {
                it.leaves();
            }
            (Bson::Document(value), _) => it.parts(value, parts),
            // `$out: NAME` in short.
            (value, Some((_, part @ (Reads | Writes)))) => it.part(value, *part),
            _ => {}
        });
    }

    fn name(&mut self, value: &Bson, part: Allowed) {
        match value {
            Bson::String(name) if self.names.contains(&name.as_str()) => {
                let (path, collection) = (self.path.clone(), name.clone());
                let indexes = matches!(part, Indexes);
                let writes = indexes || matches!(part, Writes);
                self.found.push(Mention { path, collection, writes, indexes });
            }
            Bson::String(name) => {
                let hint = did_you_mean(name, self.names.iter().copied());
                let hint = hint.or(Some("define it under `collections:`".to_owned()));
                self.wrong(&format!("there is no collection `{name}`"), hint);
            }
            Bson::Document(value) if value.contains_key("db") => self.leaves(),
            _ => {
                let hint = "the name of a collection of this workload".to_owned();
                self.wrong("this is no name of a collection", Some(hint));
            }
        }
    }

    fn leaves(&mut self) {
        let message = "`db` leads out of the experiment's database".to_owned();
        let hint = "name the collection alone, one of this workload".to_owned();
        self.wrong_key("db", message, Some(hint));
    }

    /// Complains of code, wherever it is.
    fn code(&mut self, document: &Document) {
        for (key, value) in document {
            if CODE.contains(&key.as_str()) {
                let message = format!("`{key}` runs code on the server");
                self.wrong_key(key, message, Some("`$expr` and its operators".to_owned()));
            }
            self.within(key, |it| it.code_in(value));
        }
    }

    fn code_in(&mut self, value: &Bson) {
        match value {
            Bson::Document(document) => self.code(document),
            Bson::Array(items) => self.each(items, Self::code_in),
            _ => {}
        }
    }
}

/// What was written for the value at a path, or for what is around it.
pub(super) fn written<'a>(tree: &'a At<YamlTree>, path: &[String]) -> &'a At<YamlTree> {
    let Some((first, rest)) = path.split_first() else { return tree };
    let inner = match &tree.value {
        YamlTree::List(items) => first.parse::<usize>().ok().and_then(|number| items.get(number)),
        value => value.get(first),
    };
    inner.map_or(tree, |inner| written(inner, rest))
}

fn key_place(tree: &At<YamlTree>, path: &[String], key: &str) -> Location {
    let map = written(tree, path);
    let YamlTree::Map(entries) = &map.value else { return map.place };
    let entry = entries.iter().find(|(name, _)| name.value == key);
    entry.map_or(map.place, |(name, _)| name.place)
}
