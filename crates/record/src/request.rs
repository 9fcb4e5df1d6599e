//! What was asked for: an experiment as data. A command line or a study fills it in,
//! `experiment.json` keeps it, and `resume` repeats it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::Conduct;
use crate::words::{BroughtAlong, BuiltIn, NoProgram, Nothing, Plain, Words};
use base::error::Result;
use stats::threshold::Interleave;

/// An experiment that is asked for. What follows from it (seed, versions, rounds, a plan) is in the
/// other fields of the record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools, reason = "they are flags")]
pub struct Request {
    /// Workload: a built-in name or a path.
    pub workload: Words<BuiltIn>,
    /// Parameters of the workload that differ from its defaults.
    pub parameters: BTreeMap<String, String>,
    /// Phases to run; none: all.
    pub phases: Vec<String>,
    /// Drivers, as `-d` takes them; none: every adapter that this machine can run.
    pub drivers: Vec<Words<NoProgram>>,
    /// Driver that reads the messages of a broker workload; None: the fastest.
    pub consumer: Option<Words<NoProgram>>,
    /// Options of every arm's connection string.
    pub options: BTreeMap<String, Words<Plain>>,
    pub quick: bool,
    /// Rounds, with one look at their end; None: looks at the usual rounds.
    pub rounds: Option<u32>,
    /// How arms share the machine; None: in turns where they fit.
    pub interleave: Option<Interleave>,
    /// Seed of all randomness; None: drawn.
    pub seed: Option<u64>,
    /// Server to start, as `--server` takes it; None: an embedded one.
    pub server: Option<Words<BroughtAlong>>,
    /// Connection string of a running server.
    pub uri: Option<Words<Nothing>>,
    /// Addresses of several servers that know nothing of each other.
    pub hosts: Vec<Words<Nothing>>,
    pub tap: bool,
    /// Link between the clients and the server, as `--link` takes it.
    pub link: Option<String>,
    /// Whether the data of a server that mongodyno starts outlives it.
    pub keep_data: bool,
    /// Memory of the processes of each arm, bytes; None: no limit.
    pub client_memory_bytes: Option<u64>,
    /// Limits of a mongod that mongodyno starts.
    pub server_limits: ServerOptions,
    /// Load and faults of an absorber, as its command line takes them.
    pub absorber: Vec<String>,
    /// Whether cores may halt between messages, even where they wake up late.
    pub no_keep_awake: bool,
    /// Measured seconds of a phase that says none; None: the usual ones.
    pub measured_s: Option<f64>,
    #[serde(flatten)]
    pub conduct: Conduct,
    /// What some drivers have to themselves, by the words of `drivers`.
    pub by_driver: BTreeMap<String, DriverShare>,
}

/// What one driver has to itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DriverShare {
    /// The phases that it takes part in; None: all.
    pub phases: Option<Vec<String>>,
    /// The phase in which it issues as the program did that a study repeats.
    pub original: Option<String>,
}

impl DriverShare {
    /// Whether it takes part in a phase.
    pub fn takes(&self, phase: &str) -> bool {
        self.phases.as_ref().is_none_or(|phases| phases.iter().any(|it| it == phase))
    }
}

impl Request {
    /// Server to start, as `--server` takes it; an embedded one where none was named.
    ///
    /// # Errors
    /// The command line has to give it again, as in all functions here.
    pub fn server(&self) -> Result<&str> {
        self.server.as_ref().map_or(Ok("embedded"), Words::get)
    }

    /// The same request as words of `mongodyno run`, the workload first.
    ///
    /// # Errors
    /// As [`Request::server`].
    pub fn words(&self) -> Result<Vec<String>> {
        let mut words = vec![self.workload.get()?.to_owned()];
        let mut say = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        for (name, value) in &self.parameters {
            say("--set", format!("{name}={value}"));
        }
        for driver in self.drivers()? {
            say("-d", driver);
        }
        if let Some(rounds) = self.rounds {
            say("--rounds", rounds.to_string());
        }
        for phase in &self.phases {
            say("--phase", phase.clone());
        }
        for (name, value) in self.options()? {
            say("--option", format!("{name}={value}"));
        }
        for gate in &self.conduct.gates {
            say("--gate", gate.clone());
        }
        let consumer = self.consumer.as_ref().map(Words::get).transpose()?;
        let hosts = self.hosts()?;
        let server = self.server.as_ref().map(Words::get).transpose()?;
        let limits = &self.server_limits;
        let others = [
            ("--consumer", consumer.map(str::to_owned)),
            ("--max-time", self.conduct.max_time_s.map(|seconds| format!("{seconds}s"))),
            ("--gate-unclear", self.conduct.gate_unclear.map(|it| it.word().to_owned())),
            ("--interleave", self.interleave.map(|it| it.word().to_owned())),
            ("--order", self.conduct.order.map(|order| order.word().to_owned())),
            ("--link", self.link.clone()),
            ("--client-memory", self.client_memory_bytes.map(size)),
            ("--server-cache", limits.cache_bytes.map(size)),
            ("--server-connections", limits.connections.map(|it| it.to_string())),
            ("--server-memory", limits.memory_bytes.map(size)),
            ("--seed", self.seed.map(|seed| seed.to_string())),
            ("--hosts", (!hosts.is_empty()).then(|| hosts.join(","))),
            ("--server", server.map(str::to_owned)),
        ];
        for (flag, value) in others {
            if let Some(value) = value {
                say(flag, value);
            }
        }
        let flags = [
            ("--quick", self.quick),
            ("--tap", self.tap),
            ("--keep-data", self.keep_data),
            ("--no-keep-awake", self.no_keep_awake),
        ];
        words.extend(flags.into_iter().filter(|it| it.1).map(|it| it.0.to_owned()));
        words.extend(self.absorber.iter().cloned());
        Ok(words)
    }

    /// Whether clients go through the tap in some round, to be timed or to be slowed down.
    pub fn goes_through_the_tap(&self) -> bool {
        self.tap || self.conduct.tap_last_round || self.link.is_some()
    }

    /// Puts it on this server, whatever it was on before.
    pub fn on_server(&mut self, server: impl Into<String>) {
        (self.server, self.uri, self.hosts) = (Some(Words::new(server)), None, Vec::new());
    }

    /// # Errors
    /// As [`Request::server`].
    pub fn uri(&self) -> Result<Option<&str>> {
        self.uri.as_ref().map(Words::get).transpose()
    }

    /// # Errors
    /// As [`Request::server`].
    pub fn hosts(&self) -> Result<Vec<String>> {
        self.hosts.iter().map(|host| host.get().map(str::to_owned)).collect()
    }

    /// # Errors
    /// As [`Request::server`].
    pub fn drivers(&self) -> Result<Vec<String>> {
        self.drivers.iter().map(|driver| driver.get().map(str::to_owned)).collect()
    }

    /// # Errors
    /// As [`Request::server`].
    pub fn options(&self) -> Result<BTreeMap<String, String>> {
        let pair =
            |(name, value): (&String, &Words<Plain>)| Ok((name.clone(), value.get()?.to_owned()));
        self.options.iter().map(pair).collect()
    }
}

/// `256MiB`, as flags take it: in the largest unit of which it is a multiple.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(bits, _)| bytes.is_multiple_of(1 << bits));
    unit.map_or_else(|| format!("{bytes}B"), |(bits, unit)| format!("{}{unit}", bytes >> bits))
}

/// Limits of a mongod that mongodyno starts; None: its usual ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerOptions {
    /// `--wiredTigerCacheSizeGB`.
    pub cache_bytes: Option<u64>,
    /// `--maxConns`.
    pub connections: Option<u32>,
    /// By cgroup.
    pub memory_bytes: Option<u64>,
}

impl ServerOptions {
    /// Name and value of each that was asked for, for people.
    pub fn words(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let bytes = |name, value: Option<u64>| value.map(|it| (name, format::bytes(it)));
        let connections = self.connections.map(|it| ("server connections", it.to_string()));
        let cache = bytes("server cache", self.cache_bytes);
        let memory = bytes("server memory", self.memory_bytes);
        [cache, connections, memory].into_iter().flatten()
    }
}
