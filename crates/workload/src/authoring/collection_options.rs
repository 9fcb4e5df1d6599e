//! Collections that are more than documents: time series, views, validators, collations.

use super::checking::Check;
use super::collection_options_yaml::TimeSeriesYaml;
use super::index_definition::mapping;
use super::located::Location;
use super::pool::Pool;
use super::problem::did_you_mean;
use super::sent::Form;
use super::template::template;
use super::yaml::CollectionYaml;
use crate::mention::Mention;
use crate::plan::{self, Template};
use bson::{Bson, Document};

/// Options of the server's `create`, beside those of a capped collection.
pub fn create_options(check: &mut Check<'_>, given: &CollectionYaml, pool: &Pool) -> Document {
    let mut options = Document::new();
    if let Some(series) = &given.timeseries {
        options.insert("timeseries", time_series(check, &series.value, pool));
        if let Some(capped) = &given.capped {
            check.wrong(capped.place, "a time series cannot be capped", "leave out `capped`");
        }
    }
    for (name, value) in [("validator", &given.validator), ("collation", &given.collation)] {
        if let Some(value) = value {
            options.insert(name, mapping(check, &value.value));
        }
    }
    if let Some(shard) = given.shard.as_ref().filter(|_| !options.is_empty()) {
        let message = "a collection that is dealt to shards has no further options here";
        check.wrong(shard.place, message, "leave out `shard`, or the other options");
    }
    options
}

fn time_series(check: &mut Check<'_>, series: &TimeSeriesYaml, pool: &Pool) -> Document {
    let time = &series.time;
    let first = pool.documents().next().unwrap_or_default();
    if !matches!(first.get(&time.value), Some(Bson::DateTime(_))) {
        let message = format!("the documents have no date in `{}`", time.value);
        check.wrong(time.place, message, format!("add `{}: date` to `document`", time.value));
    }
    let mut made = bson::doc! { "timeField": &time.value };
    if let Some(meta) = &series.meta {
        if meta.value == time.value || meta.value == "_id" {
            let message = format!("`{}` cannot tell series apart", meta.value);
            check.wrong(meta.place, message, "name a field that is neither the time nor `_id`");
        }
        made.insert("metaField", &meta.value);
    }
    if let Some(granularity) = series.granularity {
        made.insert("granularity", format!("{granularity:?}").to_lowercase());
    }
    made
}

/// A view and the pool of what it shows; `before` are the collections further up.
pub fn view(
    check: &mut Check<'_>,
    name: &str,
    given: &CollectionYaml,
    before: (&[plan::Collection], &[Pool]),
) -> Option<(plan::Collection, Pool)> {
    let view = &given.view.as_ref()?.value;
    let (known, pools) = before;
    let names: Vec<&str> = known.iter().map(|it| it.name.as_str()).collect();
    no_other_keys(check, given);
    let Some(base) = known.iter().position(|it| it.name == view.on.value) else {
        let message = format!("there is no collection `{}` above the view", view.on.value);
        let hint = did_you_mean(&view.on.value, names);
        check.wrong_maybe(view.on.place, message, hint);
        return None;
    };
    if known[base].kept || known[base].capped.is_some() {
        let message = "a view cannot be made of a collection that is kept or capped";
        check.wrong(view.on.place, message, "make the view of another collection");
    }
    let mut made = template(check, &view.pipeline, Form::Pipeline(&names));
    if !made.stamps.is_empty() || made.mentions.iter().any(|it| it.writes) {
        let message = "the pipeline of a view neither writes nor has values of operations";
        check.wrong(view.pipeline.place, message, "leave out `$stamp`, `$out` and `$merge`");
    }
    made.document.insert("viewOn", &view.on.value);
    made.mentions.push(Mention {
        path: vec!["viewOn".to_owned()],
        collection: view.on.value.clone(),
        writes: false,
        indexes: false,
    });
    if let Some(collation) = &given.collation {
        made.document.insert("collation", mapping(check, &collation.value));
    }
    let collection = plan::Collection {
        name: name.to_owned(),
        indexes: Vec::new(),
        capped: None,
        shard: None,
        view: Some(made),
        ..known[base].clone()
    };
    Some((collection, pools[base].clone()))
}

fn no_other_keys(check: &mut Check<'_>, given: &CollectionYaml) {
    let places: [(&str, Option<Location>); 9] = [
        ("documents", given.documents.as_ref().map(|at| at.place)),
        ("indexes", given.indexes.first().map(|at| at.place)),
        ("keep", given.keep.as_ref().map(|at| at.place)),
        ("capped", given.capped.as_ref().map(|at| at.place)),
        ("shard", given.shard.as_ref().map(|at| at.place)),
        ("document", given.document.as_ref().map(|at| at.place)),
        ("file", given.file.as_ref().map(|at| at.place)),
        ("timeseries", given.timeseries.as_ref().map(|at| at.place)),
        ("validator", given.validator.as_ref().map(|at| at.place)),
    ];
    for (name, place) in places {
        if let Some(place) = place {
            let message = format!("a view has no `{name}`, for it shows other documents");
            check.wrong(place, message, "leave it out");
        }
    }
}

/// Complains of writes to a view.
pub fn check_written(
    check: &mut Check<'_>,
    collection: &plan::Collection,
    writes: bool,
    place: Location,
) {
    if let Some(Template { document, .. }) = collection.view.as_ref().filter(|_| writes) {
        let base = document.get_str("viewOn").unwrap_or_default();
        let message = format!("`{}` is a view, which is not written", collection.name);
        check.wrong(place, message, format!("write to `{base}`"));
    }
}
