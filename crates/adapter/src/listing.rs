//! Releases of a package, as its registry lists them. The registry's order is kept: versions of
//! four parts and decimal ones cannot be sorted by their digits.

use serde::Deserialize;
use serde_json::Value;

/// How a registry's tool writes its listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListingFormat {
    /// Versions are the words that begin with a digit, or `v` and a digit, and have a dot.
    Words,
    /// An array of versions, or `{"versions": […], "time": {"VERSION": "DATE"}}`.
    Json,
    /// Objects with `vers`, `yanked` and `pubtime`, as in Cargo's cache; put in order by number.
    CargoIndex,
    /// `<versions>` of a `maven-metadata.xml`.
    MavenMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub version: String,
    /// Day of its publication, if the registry reports it: `2026-09-10`.
    pub date: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Releases, the newest last.
    pub releases: Vec<Release>,
    /// Number of prereleases, which are left out.
    pub prereleases: usize,
    /// Whether the registry's dates cannot all be days of publication, so that none is used.
    pub has_false_dates: bool,
}

impl Listing {
    pub fn read(text: &str, format: ListingFormat, newest_first: bool) -> Self {
        let mut all: Vec<Release> = Vec::new();
        for release in format.releases(text) {
            if !all.iter().any(|known| known.version == release.version) {
                all.push(release);
            }
        }
        if newest_first {
            all.reverse();
        }
        let (mut releases, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|it| is_release(&it.version));
        if format == ListingFormat::CargoIndex {
            releases.sort_by_key(|it| numbers(&it.version));
        }
        let has_false_dates = contradict_order(&releases);
        if has_false_dates {
            for release in &mut releases {
                release.date = None;
            }
        }
        Self { releases, prereleases: others.len(), has_false_dates }
    }
}

impl ListingFormat {
    fn releases(self, text: &str) -> Vec<Release> {
        match self {
            Self::Words => text
                .split(|it: char| it.is_whitespace() || "(),".contains(it))
                .filter(|word| word.contains('.'))
                .filter(|word| bare(word).starts_with(|it: char| it.is_ascii_digit()))
                .map(|word| release(word, None))
                .collect(),
            Self::Json => json(&serde_json::from_str(text).unwrap_or_default()),
            Self::CargoIndex => text
                .split(['\0', '\n'])
                .filter_map(|part| serde_json::from_str::<Value>(part).ok())
                .filter(|it| it["yanked"] != true)
                .filter_map(|it| Some(release(it["vers"].as_str()?, it["pubtime"].as_str())))
                .collect(),
            Self::MavenMetadata => {
                let versions = text.split_once("<versions>").map_or("", |(_, rest)| rest);
                let words = versions.split("<version>").skip(1);
                words.filter_map(|it| Some(release(it.split_once('<')?.0, None))).collect()
            }
        }
    }
}

fn json(value: &Value) -> Vec<Release> {
    let versions = value.get("versions").unwrap_or(value);
    // npm writes an only version without its array.
    let versions = versions.as_array().map_or(std::slice::from_ref(versions), Vec::as_slice);
    let date = |version: &str| value.get("time")?.get(version)?.as_str();
    let versions = versions.iter().filter_map(Value::as_str);
    versions.map(|version| release(version, date(version))).collect()
}

fn release(version: &str, published: Option<&str>) -> Release {
    let date = published.and_then(|it| it.get(..10)).map(str::to_owned);
    Release { version: bare(version).to_owned(), date }
}

/// Whether a release of a minor version is older than the one before it. Mirrors report the day on
/// which they copied a release, so if one date is wrong, none can be trusted.
fn contradict_order(releases: &[Release]) -> bool {
    let minor = |it: &Release| it.version.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    let earlier = |pair: &[Release]| match (&pair[0].date, &pair[1].date) {
        (Some(first), Some(next)) => next < first && minor(&pair[0]) == minor(&pair[1]),
        _ => false,
    };
    releases.windows(2).any(earlier)
}

/// Removes Go's `v`: Go writes `v2.9.3`, and `-d` takes `2.9.3`.
fn bare(version: &str) -> &str {
    version.strip_prefix('v').unwrap_or(version)
}

/// Registries write prereleases in many ways, and all of them have letters.
fn is_release(version: &str) -> bool {
    version.chars().all(|it| it.is_ascii_digit() || it == '.')
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: ListingFormat, newest_first: bool) -> (String, usize) {
        let listing = Listing::read(text, format, newest_first);
        let words = listing.releases.iter().map(|it| match &it.date {
            Some(date) => format!("{} {date}", it.version),
            None => it.version.clone(),
        });
        (words.collect::<Vec<_>>().join(", "), listing.prereleases)
    }

    #[test]
    fn words_are_versions_among_others() {
        let go = "go.mongodb.org/mongo-driver v1.0.0 v1.17.0\n\
                  go.mongodb.org/mongo-driver/v2 v2.0.0-beta1 v2.0.0 v2.10.0\n";
        let expected = ("1.0.0, 1.17.0, 2.0.0, 2.10.0".to_owned(), 1);
        assert_eq!(read(go, ListingFormat::Words, false), expected);
        let pip = "pymongo (4.20.0)\nAvailable versions: 4.20.0, 4.11, 4.0b1, 4.0\n  \
                   INSTALLED: 4.11\n  LATEST:    4.20.0\n";
        assert_eq!(read(pip, ListingFormat::Words, true), ("4.0, 4.11, 4.20.0".to_owned(), 1));
        assert_eq!(read("3 found\n", ListingFormat::Words, false), (String::new(), 0));
    }

    #[test]
    fn json_has_the_versions_that_are_published_and_dates_of_more() {
        let npm = r#"{"versions": ["1.4.3", "2.0.0-rc1", "2.0.0"], "time": {
            "created": "2011-01-01T00:00:00.000Z", "1.4.3": "2014-05-01T10:00:00.000Z",
            "1.9.9": "2015-01-01T00:00:00.000Z", "2.0.0": "2015-02-03T00:00:00.000Z"}}"#;
        let expected = ("1.4.3 2014-05-01, 2.0.0 2015-02-03".to_owned(), 1);
        assert_eq!(read(npm, ListingFormat::Json, false), expected);
        assert_eq!(read(r#""0.1.18""#, ListingFormat::Json, false).0, "0.1.18");
        assert_eq!(read(r#"["2.1", "1.9"]"#, ListingFormat::Json, true).0, "1.9, 2.1");
        assert_eq!(read("<html>", ListingFormat::Json, false), (String::new(), 0));
    }

    #[test]
    fn cargos_index_is_in_order_of_publication_and_has_yanked_versions() {
        let index = "\u{3}\0Unknown\u{0}1.9.0\0{\"vers\": \"1.9.0\", \"yanked\": false, \
                     \"pubtime\": \"2020-01-01T00:00:00Z\"}\u{0}2.0.0\0\
                     {\"vers\":\"2.0.0\",\"yanked\":false}\u{0}1.10.0\0\
                     {\"vers\":\"1.10.0\",\"yanked\":false}\0\
                     {\"vers\":\"2.0.1\",\"yanked\":true}\0{\"vers\":\"3.0.0-beta\"}\0";
        let expected = ("1.9.0 2020-01-01, 1.10.0, 2.0.0".to_owned(), 1);
        assert_eq!(read(index, ListingFormat::CargoIndex, false), expected);
    }

    #[test]
    fn dates_that_contradict_the_order_are_not_told() {
        let listed = |second: &str| {
            let text = format!(
                r#"{{"versions": ["1.0.0", "1.0.1", "1.1.0"], "time": {{"1.0.0": "2025-10-05T04",
                "1.0.1": "{second}T04", "1.1.0": "2014-02-03T04"}}}}"#
            );
            read(&text, ListingFormat::Json, false).0
        };
        assert_eq!(listed("2025-10-04"), "1.0.0, 1.0.1, 1.1.0");
        // An older line continues beside a newer one.
        let all = "1.0.0 2025-10-05, 1.0.1 2025-10-05, 1.1.0 2014-02-03";
        assert_eq!(listed("2025-10-05"), all);
    }

    #[test]
    fn of_mavens_metadata_only_the_versions_count() {
        let xml = "<metadata><version>9</version><versioning><latest>5.0.0</latest><versions>\n\
                   <version>4.11.5</version>\n<version>5.0.0-beta0</version>\n\
                   <version>5.0.0</version></versions><lastUpdated>2024</lastUpdated>";
        assert_eq!(read(xml, ListingFormat::MavenMetadata, false), ("4.11.5, 5.0.0".to_owned(), 1));
    }
}
