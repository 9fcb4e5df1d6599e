//! Values of metrics, and their fields in JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::metrics::{Aggregation, Metric, MetricDefinition, MetricSource, TimesOf};

/// Values of metrics over all rounds, for one operation of one phase of one arm. In JSON each
/// metric is a field.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricValues(pub BTreeMap<Metric, f64>);

impl MetricValues {
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0.get(&metric).copied()
    }

    /// The value of a metric that counts: 0 where nothing was counted.
    pub fn count(&self, metric: Metric) -> u64 {
        self.get(metric).unwrap_or(0.0) as u64
    }

    /// What an open loop is judged by: of two quantiles the response time in place of the service
    /// time, which is None where the response time has no such quantile.
    pub fn judged(&self, metric: Metric) -> Option<f64> {
        let is_open = self.get(Metric::ResponseP50).is_some();
        let is_service =
            matches!(metric.definition().source, MetricSource::Times(TimesOf::Service, _));
        let response = metric.in_open_loop().and_then(|other| self.get(other));
        response.or_else(|| self.get(metric).filter(|_| !(is_open && is_service)))
    }
}

impl FromIterator<(Metric, Option<f64>)> for MetricValues {
    fn from_iter<I: IntoIterator<Item = (Metric, Option<f64>)>>(values: I) -> Self {
        Self(values.into_iter().filter_map(|(metric, value)| Some((metric, value?))).collect())
    }
}

impl Serialize for MetricValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Metric::ALL.len()))?;
        for metric in Metric::ALL {
            let value = self.get(*metric);
            let name = metric.definition().name;
            match metric.aggregation() {
                Aggregation::Median => map.serialize_entry(name, &value)?,
                Aggregation::Count => map.serialize_entry(name, &self.count(*metric))?,
                _ => map.serialize_entry(name, &value.map(|value| value as u64))?,
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for MetricValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Map::<String, Value>::deserialize(deserializer)?;
        let mut values = BTreeMap::new();
        for metric in Metric::ALL {
            let name = metric.definition().name;
            match fields.get(name) {
                None | Some(Value::Null) => {}
                Some(value) => {
                    let value = f64::deserialize(value).map_err(D::Error::custom)?;
                    values.insert(*metric, value);
                }
            }
        }
        Ok(Self(values))
    }
}

impl JsonSchema for MetricValues {
    fn schema_name() -> Cow<'static, str> {
        "MetricValues".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for metric in Metric::ALL {
            let MetricDefinition { about, name, .. } = metric.definition();
            let mut schema = match metric.aggregation() {
                Aggregation::Median => Option::<f64>::json_schema(generator),
                Aggregation::Count => u64::json_schema(generator),
                _ => Option::<u64>::json_schema(generator),
            };
            let about: Vec<&str> = about.lines().map(str::trim).collect();
            schema.insert("description".to_owned(), about.join("\n").into());
            properties.insert((*name).to_owned(), schema.to_value());
            if metric.aggregation() == Aggregation::Count {
                required.push(*name);
            }
        }
        json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_fields_in_json() {
        let values: MetricValues =
            [(Metric::P50, Some(140.5)), (Metric::RssPeak, Some(4096.0)), (Metric::Errors, None)]
                .into_iter()
                .collect();
        let json = serde_json::to_value(&values).expect("JSON");
        assert_eq!(json["p50_us"], 140.5);
        assert_eq!(json["rss_peak_bytes"], 4096_u64);
        assert_eq!((&json["errors"], &json["gc_count"]), (&0.into(), &Value::Null));
        let mut read: MetricValues = serde_json::from_value(json).expect("values");
        read.0.retain(|_, value| *value != 0.0);
        assert_eq!(read, values);
        let wrong = serde_json::from_value::<MetricValues>(serde_json::json!({ "p50_us": [] }));
        assert!(wrong.unwrap_err().to_string().contains("expected f64"));
    }

    #[test]
    fn an_open_loop_is_judged_by_response_times() {
        let values = |of: &[(Metric, f64)]| -> MetricValues {
            of.iter().map(|(metric, value)| (*metric, Some(*value))).collect()
        };
        let closed = values(&[(Metric::P50, 1.0), (Metric::P90, 2.0)]);
        assert_eq!([Metric::P50, Metric::P90].map(|it| closed.judged(it)), [Some(1.0), Some(2.0)]);
        let open = [(Metric::P50, 1.0), (Metric::P90, 2.0), (Metric::ResponseP50, 3.0)];
        let open = values(&open);
        assert_eq!([Metric::P50, Metric::P90].map(|it| open.judged(it)), [Some(3.0), None]);
    }
}
