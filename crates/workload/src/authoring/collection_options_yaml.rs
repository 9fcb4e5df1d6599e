//! The YAML of time series and views.
#![allow(clippy::doc_markdown)] // editors show these comments as plain text

use schemars::JsonSchema;
use serde::Deserialize;

use super::located::At;
use super::tree::YamlTree;

/// What makes a collection a time series.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeSeriesYaml {
    /// Field of the time, a date in every document.
    pub time: At<String>,
    /// Field by whose value series differ.
    pub meta: Option<At<String>>,
    /// Distance between the documents of a series; the server's default is seconds.
    pub granularity: Option<Granularity>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Granularity {
    Seconds,
    Minutes,
    Hours,
}

/// What makes a collection a view.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewYaml {
    /// Name of the collection, or of another view, that it shows; one further up in the file.
    pub on: At<String>,
    /// Stages of the pipeline that makes the view's documents.
    pub pipeline: At<YamlTree>,
}
