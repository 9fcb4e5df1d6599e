//! Quantiles over all rounds, for display only: tests compare quantiles of single runs.

use std::collections::BTreeMap;

use base::error::{Error, Exit, Result};
use record::folder::Folder;
use record::records::Quantiles;
use stats::histogram::Histogram;
use stats::hlog::IntervalLog;

/// Largest log that is read: ours have at most 64 intervals of some KB for each operation.
const HLOG_BYTES_MAX: u64 = 64 << 20;
/// Two for each of the 256 operations that a phase can have.
const TAGS_MAX: usize = 512;

/// Why an experiment that was stored without its histograms has no quantiles of all rounds.
pub fn missing(folder: &Folder) -> Option<String> {
    let what = "the folder has no histograms (hlog): percentiles of all rounds together are n/a";
    (!folder.join("hlog").exists()).then(|| what.to_owned())
}

/// Adds up the interval logs of an arm's runs in one phase: quantiles by tag.
pub fn pooled<'a>(
    folder: &Folder,
    logs: impl Iterator<Item = Option<&'a str>>,
) -> Result<BTreeMap<String, Quantiles>> {
    let mut sums = BTreeMap::new();
    each(folder, logs, &mut sums, |_, _, _| ())?;
    Ok(sums.into_iter().map(|(tag, sum)| (tag, Quantiles::of(&sum))).collect())
}

/// Adds up the interval logs by tag; `take` is given the tag, the second and the histogram of each
/// interval.
pub fn each<'a>(
    folder: &Folder,
    logs: impl Iterator<Item = Option<&'a str>>,
    sums: &mut BTreeMap<String, Histogram>,
    mut take: impl FnMut(&str, u64, &Histogram),
) -> Result<()> {
    let kept = missing(folder).is_none();
    for name in logs.flatten().filter(|_| kept) {
        let read = IntervalLog::each(&folder.read(name, HLOG_BYTES_MAX)?, |interval| {
            let tag = interval.tag.unwrap_or_default();
            if sums.len() < TAGS_MAX || sums.contains_key(&tag) {
                take(&tag, interval.start.as_secs(), &interval.histogram);
                sums.entry(tag).or_default().add(&interval.histogram);
            }
        });
        read.map_err(|error| {
            let path = folder.join(name);
            Error::new(Exit::Environment, format!("{}: {error}", path.display()), "")
        })?;
    }
    Ok(())
}
