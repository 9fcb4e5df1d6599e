//! `mongodyno schema NAME`: JSON Schemas, generated from the types that read and write.

use schemars::{SchemaGenerator, schema_for};
use serde_json::{Value, json};

use crate::cli::SchemaName;
use adapter::messages::{Answer, Request};
use base::error::Result;
use judge::analysis::types::Analysis;
use record::records::{Experiment, Run};
use studies::broker::types::BrokerAnalysis;

/// Prints a schema.
///
/// # Errors
/// None.
pub fn run(name: SchemaName) -> Result<()> {
    super::print(&text(name))
}

/// A schema as it is published.
#[must_use]
pub fn text(name: SchemaName) -> String {
    let value: Value = match name {
        SchemaName::Workload => workload::schema::schema(),
        SchemaName::Messages => messages(),
        SchemaName::Experiment => schema_for!(Experiment).to_value(),
        SchemaName::Run => schema_for!(Run).to_value(),
        SchemaName::Analysis => schema_for!(Analysis).to_value(),
        SchemaName::Broker => schema_for!(BrokerAnalysis).to_value(),
    };
    let mut text = serde_json::to_string_pretty(&value).expect("schemas serialise");
    text.push('\n');
    text
}

/// Lines of both directions: `$defs/Request` is what the core says, `$defs/Answer` the adapter.
fn messages() -> Value {
    let mut generator = SchemaGenerator::default();
    let any_of = [generator.subschema_for::<Request>(), generator.subschema_for::<Answer>()];
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Messages of the contract",
        "anyOf": any_of,
        "$defs": generator.take_definitions(true),
    })
}
