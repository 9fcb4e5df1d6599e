//! Quantiles over all rounds, for display only: tests compare quantiles of single runs.

use std::collections::BTreeMap;

use crate::error::{Error, Exit, Result};
use crate::result::folder::Folder;
use crate::result::records::Quantiles;
use crate::stats::histogram::Histogram;
use crate::stats::hlog::IntervalLog;

/// Adds up the interval logs of an arm's runs in one phase: quantiles by tag.
///
/// # Errors
/// A log that cannot be read.
pub fn pooled<'a>(
    folder: &Folder,
    logs: impl Iterator<Item = Option<&'a str>>,
) -> Result<BTreeMap<String, Quantiles>> {
    let mut sums: BTreeMap<String, Histogram> = BTreeMap::new();
    for name in logs.flatten() {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|error| Error::file("read", &path, &error))?;
        let log = IntervalLog::read(&bytes).map_err(|error| {
            Error::new(Exit::Environment, format!("{}: {error}", path.display()), "")
        })?;
        for interval in log.intervals {
            sums.entry(interval.tag.unwrap_or_default()).or_default().add(&interval.histogram);
        }
    }
    Ok(sums.into_iter().map(|(tag, sum)| (tag, Quantiles::of(&sum))).collect())
}
