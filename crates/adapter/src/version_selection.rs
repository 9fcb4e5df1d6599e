//! Words that name versions in `-d`.

use std::collections::BTreeSet;

use crate::listing::Release;

/// The version of the driver that the machine has.
pub const SYSTEM: &str = "system";

/// The version in the name of an arm with the machine's driver. A user who asks for that name gets
/// no other version.
pub fn of_machine(told: &str) -> String {
    format!("{SYSTEM}-{told}")
}

/// Returns the version to install, and the one that the machine's driver has to report.
pub fn wanted(version: &str) -> (&str, Option<&str>) {
    match version.strip_prefix(SYSTEM).and_then(|rest| rest.strip_prefix('-')) {
        Some(told) => (SYSTEM, Some(told)),
        None => (version, None),
    }
}

/// The newest release.
const LATEST: &str = "latest";

/// Whether words after `@` cannot be a single version.
pub fn is_selection(words: &str) -> bool {
    let is_end = |end: &str| end == LATEST || end.starts_with(|it: char| it.is_ascii_digit());
    words == LATEST
        || words.contains(',')
        || words.contains("..")
        || words.split_once(':').is_some_and(|(end, _)| is_end(end))
}

/// Whether words after `@` are one version, which needs no listing. One or two numbers name the
/// newest of its releases, unless a release is called so.
pub fn is_exact(words: &str) -> bool {
    let is_short = words.split('.').count() < 3;
    let numbers = words.chars().all(|it| it.is_ascii_digit() || it == '.');
    !(is_selection(words) || is_short && numbers)
}

/// The versions that words after `@` name: `4.13`, `5..7:minor`, `latest`, some with commas. The
/// ends of a range may be releases without a program, as `takes` says. The second result is the
/// number of releases of the ranges without a program.
///
/// # Errors
/// What is wrong with the words, for people.
pub fn select(
    words: &str,
    releases: &[Release],
    takes: impl Fn(&str) -> bool,
) -> Result<(Vec<String>, usize), String> {
    let taken = |all: &[Release]| -> Vec<Release> {
        all.iter().filter(|it| takes(&it.version)).cloned().collect()
    };
    let (mut versions, mut left_out) = (Vec::new(), 0);
    for item in words.split(',') {
        let (own, without) = of_item(item, releases, &taken)?;
        versions.extend(own);
        left_out += without;
    }
    Ok((versions, left_out))
}

fn of_item(
    item: &str,
    releases: &[Release],
    taken: &impl Fn(&[Release]) -> Vec<Release>,
) -> Result<(Vec<String>, usize), String> {
    if is_exact(item) {
        return Ok((vec![item.to_owned()], 0));
    }
    let (ends, parts) = match item.split_once(':') {
        None => (item, None),
        Some((ends, "minor")) => (ends, Some(2)),
        Some((ends, "major")) => (ends, Some(1)),
        Some((_, other)) => return Err(format!(":{other} is neither :minor nor :major")),
    };
    if ends.starts_with("..") || ends.ends_with("..") {
        return Err(format!("{item} names one end; {LATEST} is the newest release"));
    }
    let (first, last) = match ends.split_once("..") {
        Some((first, last)) => (place(first, releases, false)?, place(last, releases, true)?),
        None if parts.is_some() => (place(ends, releases, false)?, place(ends, releases, true)?),
        None => {
            let taken = taken(releases);
            let newest = place(ends, &taken, true).map(|at| &taken[at]);
            let any = || Ok::<_, String>(&releases[place(ends, releases, true)?]);
            return Ok((vec![newest.or_else(|_| any())?.version.clone()], 0));
        }
    };
    if first > last {
        let [first, last] = [first, last].map(|place| &releases[place].version);
        return Err(format!("{item} runs backwards: {last} comes before {first}"));
    }
    let all = &releases[first..=last];
    match taken(all) {
        // For a single one, the error names the versions that have a program.
        none if none.is_empty() => Ok((newest_of_each(all, parts), 0)),
        taken => Ok((newest_of_each(&taken, parts), all.len() - taken.len())),
    }
}

/// Place of the release of this name; else of the first or the last one below it: `5` has 5.0.0 to
/// 5.9.2.
fn place(end: &str, releases: &[Release], is_last: bool) -> Result<usize, String> {
    if end == LATEST && !releases.is_empty() {
        return Ok(releases.len() - 1);
    }
    let below =
        |it: &Release| it.version.strip_prefix(end).is_some_and(|rest| rest.starts_with('.'));
    let named = releases.iter().position(|it| it.version == end);
    let found = named.or_else(|| {
        let mut places = releases.iter();
        if is_last { places.rposition(below) } else { places.position(below) }
    });
    found.ok_or_else(|| format!("there is no release {end:?}"))
}

/// The last release of each minor (two parts) or major version (one part); all releases if `parts`
/// is None.
fn newest_of_each(releases: &[Release], parts: Option<usize>) -> Vec<String> {
    let group = |version: &str| {
        let parts = parts.unwrap_or(usize::MAX);
        version.split('.').take(parts).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut seen = BTreeSet::new();
    let newest = releases.iter().rev().filter(|it| seen.insert(group(&it.version)));
    let mut newest: Vec<String> = newest.map(|it| it.version.clone()).collect();
    newest.reverse();
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(words: &str) -> String {
        let all = ["1.4.3", "2.0.0", "4.1", "4.1.1", "4.2.0", "5.0.0", "5.0.1", "5.1.0", "7.0.0"];
        let release = |version: &str| Release { version: version.to_owned(), date: None };
        // Neither 1.x nor 4.2 has a program.
        let takes = |version: &str| !version.starts_with("1.") && version != "4.2.0";
        match select(words, &all.map(release), takes) {
            Ok((versions, 0)) => versions.join(" "),
            Ok((versions, left_out)) => format!("{} less {left_out}", versions.join(" ")),
            Err(reason) => reason,
        }
    }

    #[test]
    fn whole_versions_need_no_listing() {
        for words in ["1.4.3", "2.0.0.17", "7.0.0-beta.1", "system", "system-2.5.1", "4.0b1"] {
            assert!(is_exact(words), "{words}");
        }
        for words in ["7", "4.10", "latest", "1.4.3..2.0.0", "1.4.3,2.0.0", "5..7:minor", ""] {
            assert!(!is_exact(words), "{words}");
        }
    }

    #[test]
    fn words_select_releases_in_the_registrys_order() {
        for (words, versions) in [
            ("5", "5.1.0"),
            ("5.0", "5.0.1"),
            ("4.1", "4.1"),
            ("latest", "7.0.0"),
            ("2.0.0..5", "2.0.0 4.1 4.1.1 5.0.0 5.0.1 5.1.0 less 1"),
            ("4.1..5:minor", "4.1.1 5.0.1 5.1.0 less 1"),
            ("5:minor", "5.0.1 5.1.0"),
            ("1..latest:major", "2.0.0 4.1.1 5.1.0 7.0.0 less 2"),
            ("1.4.3,5.0", "1.4.3 5.0.1"),
            ("9.9.9,4", "9.9.9 4.1.1"),
            ("4.2", "4.2.0"),
            ("1..1", "1.4.3"),
        ] {
            assert_eq!(selected(words), versions, "{words}");
        }
    }

    #[test]
    fn what_selects_nothing_says_why() {
        for (words, reason) in [
            ("6", "there is no release \"6\""),
            ("5..", "5.. names one end; latest is the newest release"),
            ("..5:minor", "..5:minor names one end; latest is the newest release"),
            ("", "there is no release \"\""),
            ("7..5", "7..5 runs backwards: 5.1.0 comes before 7.0.0"),
            ("5..7:patch", ":patch is neither :minor nor :major"),
        ] {
            assert_eq!(selected(words), reason);
        }
    }
}
