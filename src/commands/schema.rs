//! `mongodyno schema NAME`: JSON Schemas, generated from the types that read and write.

use schemars::{SchemaGenerator, schema_for};
use serde_json::{Value, json};

use crate::cli::SchemaName;
use adapter::protocol::{AdapterAnswer, AdapterRequest};
use base::error::Result;
use judge::analysis::across::ServersAnalysis;
use judge::analysis::joint::JointAnalysis;
use judge::analysis::types::Analysis;
use record::records::{Experiment, Run};
use studies::StudyTable;

pub fn run(name: SchemaName) -> Result<()> {
    super::print(&format!("{:#}\n", schema(name)))
}

fn schema(name: SchemaName) -> Value {
    match name {
        SchemaName::Workload => workload::schema(),
        SchemaName::Messages => messages(),
        SchemaName::Experiment => schema_for!(Experiment).to_value(),
        SchemaName::Run => schema_for!(Run).to_value(),
        SchemaName::Analysis => schema_for!(Analysis).to_value(),
        SchemaName::Servers => schema_for!(ServersAnalysis).to_value(),
        SchemaName::Sweep => schema_for!(JointAnalysis).to_value(),
        SchemaName::Study => schema_for!(StudyTable).to_value(),
    }
}

/// Lines of both directions: `$defs/Request` of the core, `$defs/Answer` of the adapter.
fn messages() -> Value {
    let mut generator = SchemaGenerator::default();
    let any_of =
        [generator.subschema_for::<AdapterRequest>(), generator.subschema_for::<AdapterAnswer>()];
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Messages of the contract",
        "anyOf": any_of,
        "$defs": generator.take_definitions(true),
    })
}
