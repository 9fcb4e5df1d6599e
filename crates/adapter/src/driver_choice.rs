//! Turns an arm's words into a choice by the adapter's manifest: package, version, option values,
//! and the commands that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use crate::manifest::{Generation, Manifest, Missing, Need};
use crate::version_selection::{SYSTEM, of_machine, wanted};
use base::error::{Error, Result};

/// The core's own option: the number of an arm's processes.
pub const PROCESSES: &str = "processes";

/// An arm without the adapter's name: `[:PACKAGE][@VERSION][/KEY=VALUE]...`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriverSelection {
    /// Package, if the adapter has several.
    pub package: Option<String>,
    pub version: Option<String>,
    /// Options that the adapter's manifest declares.
    pub options: BTreeMap<String, String>,
    /// Options of the connection string, for this arm alone.
    pub uri_options: BTreeMap<String, String>,
    /// Number of processes at once, in place of the workload's.
    pub processes: Option<u32>,
}

impl DriverSelection {
    pub fn version(version: &str) -> Self {
        Self { version: Some(version.to_owned()), ..Self::default() }
    }

    /// The arm's name in tables. The order of its parts is fixed, so that the same arm always has
    /// the same name.
    pub fn id(&self, adapter: &str, version: &str) -> String {
        let options = self.options.iter().chain(&self.uri_options);
        let options = options.map(|(key, value)| format!("/{key}={value}"));
        let processes = self.processes.map(|processes| format!("/{PROCESSES}={processes}"));
        let head = [self.named(adapter), format!("@{version}")].into_iter();
        head.chain(options).chain(processes).collect()
    }

    /// Adapter and package alone, as `-d` takes them.
    pub fn named(&self, adapter: &str) -> String {
        self.package.iter().fold(adapter.to_owned(), |name, package| format!("{name}:{package}"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub package: String,
    /// Version to install; [`SYSTEM`]: the driver that the machine has.
    pub version: String,
    /// Version that the machine's driver has to report.
    pub told: Option<String>,
    /// A value for each option of the adapter, asked for or not.
    pub options: BTreeMap<String, String>,
    /// The generation's.
    pub dialect: Option<String>,
    /// Words of the capabilities that it does not have.
    pub lacks: Vec<String>,
    pub start: Vec<String>,
    /// Lock file after installation.
    pub lock: Option<String>,
    pub install: Vec<Vec<String>>,
    pub test: Vec<String>,
    pub needs: Vec<Need>,
}

impl Choice {
    /// The version in the arm's name.
    pub fn named_version(&self) -> String {
        self.told.as_deref().map_or_else(|| self.version.clone(), of_machine)
    }

    /// Probes the toolchains. Their output becomes part of the environment's identity.
    ///
    /// # Errors
    /// The first one that is missing or too old.
    pub fn probe(&self) -> Result<Vec<String>, Missing> {
        self.needs.iter().map(Need::probe).collect()
    }
}

impl Manifest {
    /// Chooses the first generation that accepts the arm's package, version and options.
    ///
    /// # Errors
    /// A package, a version or a value that no generation accepts. The hint names the right ones.
    pub fn choose(&self, asked: &DriverSelection) -> Result<Choice> {
        let package = asked.package.as_deref().unwrap_or(&self.driver);
        let of_package: Vec<&Generation> =
            self.generations.iter().filter(|it| it.package(self) == package).collect();
        if of_package.is_empty() && (package != self.driver || !self.generations.is_empty()) {
            return Err(self.no_package(package));
        }
        let version = match &asked.version {
            Some(version) => version,
            None => of_package.first().map_or(&self.default, |it| it.default(self)),
        };
        let (version, told) = wanted(version);
        let alike = of_package.is_empty();
        let of_version: Vec<&Generation> =
            of_package.into_iter().filter(|it| it.takes_version(version)).collect();
        if of_version.is_empty() && version == SYSTEM && self.default != SYSTEM {
            return Err(Error::usage(
                format!("{} cannot take the {package} that a machine has", self.name),
                format!("name a version: {}", asked.id(&self.name, &self.default)),
            ));
        }
        if alike {
            return Ok(self.commands(package, (version, told), None, BTreeMap::new()));
        }
        if of_version.is_empty() {
            let other = self.generations.iter().find(|it| it.takes_version(version));
            let hint = match other {
                Some(it) => format!("it has one for {}:{}@{version}", self.name, it.package(self)),
                None => format!("it is written for {}", self.versions),
            };
            return Err(Error::usage(
                format!("{} has no program for {package} {version}", self.name),
                hint,
            ));
        }
        let Some(generation) = of_version.iter().find(|it| it.takes(&asked.options)) else {
            return Err(self.no_value(package, version, &of_version, asked));
        };
        let mut options = asked.options.clone();
        for (key, values) in &generation.options {
            options.entry(key.clone()).or_insert_with(|| values.default.clone());
        }
        Ok(self.commands(package, (version, told), Some(generation), options))
    }

    /// Whether it has a program for a version.
    pub fn takes(&self, package: &str, version: &str) -> bool {
        let mut of_package = self.generations.iter().filter(|it| it.package(self) == package);
        self.generations.is_empty() || of_package.any(|it| it.takes_version(version))
    }

    /// The packages that it has programs for.
    pub fn packages(&self) -> BTreeSet<&str> {
        let packages = self.generations.iter().map(|it| it.package(self));
        if self.generations.is_empty() { [&*self.driver].into() } else { packages.collect() }
    }

    /// Probes the toolchains of the default version.
    pub fn probe(&self) -> Result<Vec<String>, Missing> {
        let chosen = self.choose(&DriverSelection::default());
        let unfit = |error: Error| Missing { reason: error.message, hint: error.hint };
        chosen.map_err(unfit)?.probe()
    }

    /// Options that the user did not ask for and that differ from the adapter's defaults, for
    /// people: `api=callback, runtime=0.12.9`.
    pub fn chosen_unasked(&self, asked: &DriverSelection, choice: &Choice) -> Option<String> {
        let usual = self.choose(&DriverSelection::default()).ok()?.options;
        let unasked = choice.options.iter().filter(|(key, value)| {
            !asked.options.contains_key(*key) && usual.get(*key) != Some(*value)
        });
        let pairs: Vec<String> = unasked.map(|(key, value)| format!("{key}={value}")).collect();
        (!pairs.is_empty()).then(|| pairs.join(", "))
    }

    fn commands(
        &self,
        package: &str,
        (version, told): (&str, Option<&str>),
        generation: Option<&Generation>,
        options: BTreeMap<String, String>,
    ) -> Choice {
        let fill = |words: &[String]| -> Vec<String> {
            let fill = |word: &String| {
                let word = word.replace("{version}", version).replace("{package}", package);
                let replace = |word: String, (key, value): (&String, &String)| {
                    word.replace(&format!("{{{key}}}"), value)
                };
                options.iter().fold(word, replace)
            };
            words.iter().map(fill).collect()
        };
        let own = generation.map(|it| (&it.start, &it.lock, &it.test));
        let (start, lock, test) = own.unwrap_or((&None, &None, &None));
        let locked = package == self.driver && version == self.default;
        // Lock and commands of the manifest install packages; the machine has its own.
        let is_machines = version == SYSTEM && !locked;
        let install = match generation.and_then(|it| it.installs(version)) {
            Some(install) => install,
            None if locked => &self.install,
            None if is_machines => &[],
            None => &self.install_version,
        };
        let own_needs = generation.map_or(&[][..], |it| &it.needs);
        let needs = self.needs.iter().chain(own_needs);
        let own_lacks = generation.map_or(&[][..], |it| &it.lacks);
        Choice {
            lacks: self.lacks.iter().chain(own_lacks).cloned().collect(),
            start: fill(start.as_ref().unwrap_or(&self.start)),
            lock: lock.clone().or_else(|| self.lock.clone().filter(|_| !is_machines)),
            install: install.iter().map(|words| fill(words)).collect(),
            // An option may name the toolchain.
            needs: needs.map(|it| Need { run: fill(&it.run), ..it.clone() }).collect(),
            test: fill(test.as_ref().unwrap_or(&self.test)),
            package: package.to_owned(),
            version: version.to_owned(),
            told: told.map(str::to_owned),
            dialect: generation.and_then(|it| it.dialect.clone()),
            options,
        }
    }

    fn no_package(&self, package: &str) -> Error {
        let names = Vec::from_iter(self.packages()).join(", ");
        Error::usage(format!("{} has no package {package}", self.name), format!("it runs {names}"))
    }

    fn no_value(
        &self,
        package: &str,
        version: &str,
        generations: &[&Generation],
        asked: &DriverSelection,
    ) -> Error {
        let what = format!("{package} {version}");
        for (key, value) in &asked.options {
            let values: Vec<_> = generations.iter().filter_map(|it| it.options.get(key)).collect();
            if values.iter().any(|it| it.takes(value)) {
                continue;
            }
            let wants: BTreeSet<&str> = values.iter().map(|it| it.wants.as_str()).collect();
            let wants: Vec<&str> = wants.into_iter().collect();
            return Error::usage(
                format!("{}: {what} does not go with {key}={value}", self.name),
                format!("{key} can be {}", wants.join(", or ")),
            );
        }
        let pairs = asked.options.iter().map(|(key, value)| format!("{key}={value}"));
        Error::usage(
            format!(
                "{}: {what} does not go with {} at once",
                self.name,
                pairs.collect::<Vec<_>>().join(" and ")
            ),
            "leave one of them out",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
        name = "x"
        driver = "lib"
        language = "X"
        default = "7.9.0"
        versions = "1.4 to 7"
        warmup_s = 1.0
        start = ["./runtime", "new"]
        install = [["get", "locked", "{runtime}"]]
        install_version = [["get", "{package}@{version}", "{runtime}"]]

        [options]
        api = "how it is called"
        runtime = "what runs it"

        [[generations]]
        versions = '^[4-7]\.'
        options.api = { default = "promise", match = '^promise$', wants = "promise" }
        options.runtime = { default = "machine", match = '^(machine|2\d\.)', wants = "20 or newer" }

        [[generations]]
        versions = '^4\.'
        options.api = { default = "callback", match = '^callback$', wants = "callback" }
        options.runtime = { default = "machine", match = '.', wants = "any" }
        start = ["./runtime", "old"]

        [[generations]]
        versions = '^1\.4\.'
        options.runtime = { default = "0.12.9", match = '^[0-7]\.', wants = "0.11 to 7" }
        start = ["./runtime", "old"]

        [[generations]]
        package = "relic"
        default = "0.1.18"
        versions = '^(0\.1\.|system$)'
        start = ["./runtime", "old"]
        lock = "relic.lock"
        install = [["get", "relic.lock"]]
    "#;

    fn choose(
        package: Option<&str>,
        version: Option<&str>,
        options: &[(&str, &str)],
    ) -> Result<Choice> {
        let manifest: Manifest = toml::from_str(MANIFEST).expect("a manifest");
        let options = options.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        manifest.choose(&DriverSelection {
            package: package.map(str::to_owned),
            version: version.map(str::to_owned),
            options: options.collect(),
            uri_options: BTreeMap::new(),
            processes: None,
        })
    }

    fn said(result: Result<Choice>) -> String {
        let error = result.expect_err("a refusal");
        format!("{} | {}", error.message, error.hint)
    }

    #[test]
    fn the_first_generation_that_takes_everything_is_chosen() {
        let newest = choose(None, None, &[]).unwrap();
        assert_eq!((newest.version.as_str(), newest.start[1].as_str()), ("7.9.0", "new"));
        assert_eq!(newest.install, [["get", "locked", "machine"]]);
        let four = choose(None, Some("4.17.2"), &[]).unwrap();
        assert_eq!(four.start[1], "new");
        assert_eq!(four.install, [["get", "lib@4.17.2", "machine"]]);
        let callback = choose(None, Some("4.17.2"), &[("api", "callback")]).unwrap();
        assert_eq!(callback.start[1], "old");
        let old = choose(None, Some("1.4.3"), &[]).unwrap();
        assert_eq!(old.options["runtime"], "0.12.9");
        let relic = choose(Some("relic"), None, &[]).unwrap();
        assert_eq!(relic.install, [["get", "relic.lock"]]);
        assert_eq!(relic.lock.as_deref(), Some("relic.lock"));
        let older = choose(Some("relic"), Some("0.1.2"), &[]).unwrap();
        assert_eq!(older.install, [["get", "relic@0.1.2", "{runtime}"]]);
        let machines = choose(Some("relic"), Some("system"), &[]).unwrap();
        assert!(machines.install.is_empty());
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_what_does() {
        assert_eq!(
            said(choose(None, Some("1.4.3"), &[("runtime", "20.1.0")])),
            "x: lib 1.4.3 does not go with runtime=20.1.0 | runtime can be 0.11 to 7"
        );
        assert_eq!(
            said(choose(None, Some("4.0.0"), &[("api", "promise"), ("runtime", "8.1.0")])),
            "x: lib 4.0.0 does not go with api=promise and runtime=8.1.0 at once | \
             leave one of them out"
        );
        assert_eq!(
            said(choose(None, Some("0.9.1"), &[])),
            "x has no program for lib 0.9.1 | it is written for 1.4 to 7"
        );
        assert_eq!(
            said(choose(None, Some("0.1.2"), &[])),
            "x has no program for lib 0.1.2 | it has one for x:relic@0.1.2"
        );
        assert_eq!(
            said(choose(Some("lab"), None, &[])),
            "x has no package lab | it runs lib, relic"
        );
        assert_eq!(
            said(choose(None, Some("system"), &[])),
            "x cannot take the lib that a machine has | name a version: x@7.9.0"
        );
    }

    #[test]
    fn an_arms_name_has_one_order_and_tells_only_what_was_asked() {
        let mut asked = DriverSelection::version("1.4.3");
        asked.options.insert("runtime".to_owned(), "0.12.9".to_owned());
        asked.options.insert("api".to_owned(), "callback".to_owned());
        asked.uri_options.insert("maxPoolSize".to_owned(), "5".to_owned());
        assert_eq!(asked.id("x", "1.4.3"), "x@1.4.3/api=callback/runtime=0.12.9/maxPoolSize=5");
        let relic =
            DriverSelection { package: Some("relic".to_owned()), ..DriverSelection::default() };
        assert_eq!(relic.id("x", "0.1.18"), "x:relic@0.1.18");
        let manifest: Manifest = toml::from_str(MANIFEST).expect("a manifest");
        let asked = DriverSelection::version("1.4.3");
        let choice = manifest.choose(&asked).unwrap();
        assert_eq!(manifest.chosen_unasked(&asked, &choice).as_deref(), Some("runtime=0.12.9"));
        let newest = manifest.choose(&DriverSelection::default()).unwrap();
        assert_eq!(manifest.chosen_unasked(&DriverSelection::default(), &newest), None);
    }
}
