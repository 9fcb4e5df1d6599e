//! `mongodyno schema NAME`: JSON Schemas, generated from the types that read and write.

use schemars::schema_for;
use serde_json::{Value, json};

use crate::adapter::messages::{Answer, Request};
use crate::analysis::types::Analysis;
use crate::cli::SchemaName;
use crate::error::Result;
use crate::result::records::{Experiment, Run};

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
        SchemaName::Workload => crate::workload::schema::schema(),
        SchemaName::Messages => json!({
            "request": schema_for!(Request),
            "answer": schema_for!(Answer),
        }),
        SchemaName::Experiment => schema_for!(Experiment).to_value(),
        SchemaName::Run => schema_for!(Run).to_value(),
        SchemaName::Analysis => schema_for!(Analysis).to_value(),
    };
    let mut text = serde_json::to_string_pretty(&value).expect("schemas serialise");
    text.push('\n');
    text
}
