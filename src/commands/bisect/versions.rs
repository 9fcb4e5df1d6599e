//! The versions of a search: each once, in the order of their releases.

use std::collections::BTreeSet;

use base::error::{Error, Result};
use measure::arms::{self, Arm};

/// The words of these arms, each arm once.
///
/// # Errors
/// Fewer than two versions; several drivers; an order that is not the one of the releases.
pub fn in_order(arms: Vec<Arm<'_>>) -> Result<Vec<String>> {
    // An arm that is asked for again has a number behind its name.
    let ids = arms::ids(&arms)?;
    let once = arms.into_iter().zip(ids).filter(|(_, id)| !id.contains('#'));
    let arms: Vec<Arm<'_>> = once.map(|(arm, _)| arm).collect();
    let adapters: BTreeSet<&str> = arms.iter().map(|arm| arm.manifest.name.as_str()).collect();
    if arms.len() < 2 || adapters.len() > 1 {
        return Err(Error::usage(
            "bisect needs several versions of one driver",
            "write -d NAME@GOOD..BAD, or -d NAME@VERSION for each",
        ));
    }
    rise(&arms)?;
    Ok(arms.into_iter().map(|arm| arm.words).collect())
}

/// Where the last listing has the versions of a package, they follow each other in its order.
fn rise(arms: &[Arm<'_>]) -> Result<()> {
    let manifest = arms[0].manifest;
    let packages: BTreeSet<Option<&str>> =
        arms.iter().map(|arm| arm.asked.package.as_deref()).collect();
    for package in packages {
        let Ok(listing) = manifest.listing(package.unwrap_or(&manifest.driver), true) else {
            continue; // the order is unknown
        };
        let known = |arm: &Arm<'_>| {
            let version = arm.asked.version.as_ref()?;
            let place = listing.releases.iter().position(|it| it.version == *version)?;
            Some((place, arm.words.clone()))
        };
        let own = arms.iter().filter(|arm| arm.asked.package.as_deref() == package);
        let known: Vec<(usize, String)> = own.filter_map(known).collect();
        if let Some(near) = known.windows(2).find(|near| near[1].0 < near[0].0) {
            let (earlier, later) = (&near[1].1, &near[0].1);
            return Err(Error::usage(
                format!("the versions run backwards: {earlier} comes before {later}"),
                "name them in the order of their releases",
            ));
        }
    }
    Ok(())
}

/// `B was not measured`; of many the first and the last.
pub fn not_measured(versions: &[String]) -> String {
    const NAMED_MAX: usize = 4;
    match versions {
        [one] => format!("{one} was not measured"),
        [first, .., last] if versions.len() > NAMED_MAX => {
            format!("{} versions from {first} to {last} were not measured", versions.len())
        }
        [others @ .., last] => format!("{} and {last} were not measured", others.join(", ")),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_were_not_measured_are_named_unless_they_are_many() {
        let said = |count: usize| {
            let all: Vec<String> = (1..=count).map(|number| format!("lib@1.{number}.0")).collect();
            not_measured(&all)
        };
        assert_eq!(said(1), "lib@1.1.0 was not measured");
        assert_eq!(said(3), "lib@1.1.0, lib@1.2.0 and lib@1.3.0 were not measured");
        assert_eq!(said(5), "5 versions from lib@1.1.0 to lib@1.5.0 were not measured");
    }
}
