//! From selections of versions after `-d` (`node@5..7:minor`) to one arm for each version.

use std::collections::BTreeMap;

use crate::arms::{Arm, find, parse};
use adapter::listing::Listing;
use adapter::manifest::Manifest;
use adapter::version_selection::{is_exact, is_selection, select};
use base::error::{Error, Result};
use base::say;

/// The words after `-d`, with each selection of versions replaced by the arms that it names. Whole
/// versions need no listing; `offline` takes the last one that was made.
///
/// # Errors
/// A selection that names nothing; a registry that cannot be asked.
pub fn expand(manifests: &[Manifest], drivers: &[String], offline: bool) -> Result<Vec<String>> {
    let mut listings = BTreeMap::new();
    let mut arms = Vec::new();
    for driver in drivers {
        arms.extend(of_one(manifests, driver, offline, &mut listings)?);
    }
    Ok(arms)
}

/// The arm of words that name one.
pub fn one<'a>(manifests: &'a [Manifest], driver: &str, offline: bool) -> Result<Arm<'a>> {
    match &expand(manifests, &[driver.to_owned()], offline)?[..] {
        [arm] => parse(manifests, arm),
        several => Err(Error::usage(
            format!("{driver} names {} versions: {}", several.len(), several.join(", ")),
            "name one of them",
        )),
    }
}

fn of_one(
    manifests: &[Manifest],
    driver: &str,
    offline: bool,
    listings: &mut BTreeMap<String, Listing>,
) -> Result<Vec<String>> {
    let as_it_is = || Ok(vec![driver.to_owned()]);
    let (head, options) = driver.find('/').map_or((driver, ""), |at| driver.split_at(at));
    let Some((name, words)) = head.split_once('@') else { return as_it_is() };
    if is_exact(words) {
        return as_it_is();
    }
    let (adapter, package) = name.split_once(':').unwrap_or((name, ""));
    let manifest = find(manifests, adapter)?;
    // Without a listing `2.1` is the version that it says.
    if manifest.releases.is_none() && !is_selection(words) {
        return as_it_is();
    }
    let package = if package.is_empty() { &manifest.driver } else { package };
    if !listings.contains_key(name) {
        if !offline {
            say!("asking for the releases of {package}");
        }
        let listing = match manifest.listing(package, offline) {
            Err(_) if offline && !is_selection(words) => return as_it_is(),
            listing => listing?,
        };
        listings.insert(name.to_owned(), listing);
    }
    let releases = &listings[name].releases;
    let takes = |version: &str| manifest.takes(package, version);
    let (versions, without) = select(words, releases, takes).map_err(|reason| {
        let releases: Vec<_> = releases.iter().filter(|it| takes(&it.version)).collect();
        let ends = releases.first().zip(releases.last()).map_or(String::new(), |(first, last)| {
            format!(" ({} to {})", first.version, last.version)
        });
        let others = manifest.packages().into_iter().filter(|it| *it != package);
        let others: Vec<_> = others.map(|it| format!("; {adapter}:{it} has others")).collect();
        Error::usage(
            format!("-d {driver}: {reason}"),
            format!(
                "`mongodyno drivers --versions {name}` lists the {} that there are{ends}{}",
                releases.len(),
                others.concat()
            ),
        )
    })?;
    if without > 0 {
        let there_are = &manifest.versions;
        say!("-d {driver}: {without} releases left out, there is a program for {there_are}");
    }
    let arms = versions.into_iter().map(|version| format!("{name}@{version}{options}"));
    let (mut fits, mut unfit) = (Vec::new(), Vec::new());
    for arm in arms {
        match parse(manifests, &arm) {
            Ok(_) => fits.push(arm),
            Err(error) => unfit.push(error),
        }
    }
    if let Some(first) = unfit.first() {
        if fits.is_empty() {
            return Err(first.clone());
        }
        say!("-d {driver}: {} versions left out, the first because {}", unfit.len(), first.message);
    }
    Ok(fits)
}
