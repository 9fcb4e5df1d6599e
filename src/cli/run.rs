//! `mongodyno run`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::behaviour::{FaultArgs, LoadArgs};
use super::details_flag::DetailsArgs;
use super::history_flag::HistoryFlag;
use super::limit_flags::LimitArgs;
use super::live_flag::LiveFlag;
use super::machine_flags::MachineArgs;
use super::order_flag::OrderArgs;
use super::progress_flag::ProgressArgs;
use super::registry::RegistryArgs;
use super::uri::UriArgs;
use crate::ask::{Ask, Here};
use base::error::{Error, Result};
use base::secrets;
use base::units::parse_duration;
use judge::objectives::ObjectiveGate;
use record::records::{Conduct, GateUnclear};
use record::request::{Request, ServerOptions};
use record::words::Words;
use server::connection_string::arm_option;
use stats::threshold::Interleave;

#[derive(Debug, Clone, Args)]
#[allow(clippy::struct_excessive_bools)] // flags of a command line are bools
pub struct RunArgs {
    /// Workload: a built-in name or a path to a YAML file
    #[arg(default_value = "crud")]
    pub workload: String,
    /// Driver to compare: ADAPTER[:PACKAGE][@VERSIONS][/KEY=VALUE]... (repeatable); the first is
    /// the baseline. VERSIONS: 7.9.0, 7 (newest 7.x), latest, 4.10,4.13, 1.4.3..7.8.0, 5..7:minor
    /// (newest of each minor), system (installed on this machine). KEY: an option of the adapter or
    /// of connection strings (maxPoolSize), or `processes` [default: all adapters that this machine
    /// can run]
    #[arg(short = 'd', long = "driver", value_name = "DRIVER")]
    pub drivers: Vec<String>,
    /// Driver that reads the messages of a broker workload [default: the fastest]
    #[arg(long, value_name = "DRIVER")]
    pub consumer: Option<String>,
    /// Set an option of the connection strings of all drivers: maxPoolSize=10 (repeatable)
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    /// Set a parameter of the workload: threads=4 (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Run one experiment for each value of a parameter: threads=1,2,4
    #[arg(long, value_name = "NAME=V1,V2,…")]
    pub sweep: Option<String>,
    /// Run only this phase (repeatable)
    #[arg(long = "phase", value_name = "PHASE")]
    pub phases: Vec<String>,
    /// Answer in a few minutes: six rounds, at most two phases (a story stays whole), differences
    /// of 5 % or more
    #[arg(long)]
    pub quick: bool,
    /// Run this number of rounds, and analyse once at their end [default: analyse after 10, 20 and
    /// 40, stop when the answer is clear; 6 with --quick]. Fewer than 6 give no interval
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// End a phase that counts operations after this time, per arm and round [default: no limit];
    /// also the limit of one operation [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub max_time: Option<Duration>,
    /// Exit with 1 if a figure breaks this gate, and with 125 if that is not shown (repeatable):
    /// 'p99 < 5ms', 'errors <= 0', 'throughput >= 2000', 'slower <= 3%', 'slower than history <=
    /// 3%'. An unclear `slower` adds rounds, up to four times --rounds
    #[arg(long, value_name = "GATE", value_parser = gate)]
    pub gate: Vec<String>,
    /// Outcome of a gate that is not shown to be kept or broken [default: exit code 125]
    #[arg(long, value_name = "COUNTS", value_parser = gate_unclear())]
    pub gate_unclear: Option<GateUnclear>,
    #[command(flatten)]
    pub history: HistoryFlag,
    /// How the drivers share the machine [default: turns, where the workload permits it]
    #[arg(long, value_enum)]
    pub interleave: Option<InterleaveArg>,
    #[command(flatten)]
    pub order: OrderArgs,
    /// Seed of all randomness [default: drawn and recorded]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Send the operations in turn to several independent servers; inserts only
    #[arg(
        long,
        value_name = "HOST:PORT,...",
        value_delimiter = ',',
        conflicts_with_all = ["uri", "uri_file", "server"]
    )]
    pub hosts: Vec<String>,
    /// Experiment folder, new or empty [default: mongodyno-results/ID]
    #[arg(long, value_name = "DIR", value_parser = new_path())]
    pub out: Option<PathBuf>,
    /// The server that runs already.
    #[command(flatten)]
    pub at: UriArgs,
    #[arg(
        long,
        conflicts_with_all = ["uri", "uri_file"],
        help = format!(
            "Server to start: {}; none, for workloads of `noop` alone; A,B for the same arms on \
             each [default: embedded]",
            server::server_forms()
        )
    )]
    pub server: Option<String>,
    /// Time every command with the tap, and measure what the tap costs
    #[arg(long)]
    pub tap: bool,
    /// Limit the bandwidth and add delay: 100mbit,rtt=0.6ms, or a preset (`mongodyno tap --help`)
    #[arg(long, value_name = "LINK")]
    pub link: Option<String>,
    /// Keep the data folder of the server that mongodyno starts
    #[arg(long)]
    pub keep_data: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub machine: MachineArgs,
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Print the plan and stop
    #[arg(long)]
    pub plan: bool,
    /// Print the result as JSON on stdout
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub details: DetailsArgs,
    #[command(flatten)]
    pub live: LiveFlag,
    #[command(flatten)]
    pub progress: ProgressArgs,
    /// Folder of further adapters
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS")]
    pub adapters_dir: Option<PathBuf>,
    // Last: a heading of the help holds for all flags below it.
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub faults: FaultArgs,
}

impl RunArgs {
    /// # Errors
    /// A `NAME=VALUE` without its `=`.
    pub fn ask(self) -> Result<Ask> {
        self.progress.apply();
        // Other options name servers or guard secrets.
        let option = |(name, value): (String, String)| match arm_option(&name) {
            Some(_) => (name, Words::new(value)),
            None => (name, Words::secret(value)),
        };
        let request = Request {
            workload: Words::new(self.workload),
            parameters: pairs(&self.set, "--set")?,
            phases: self.phases,
            drivers: self.drivers.into_iter().map(Words::new).collect(),
            consumer: self.consumer.map(Words::new),
            options: pairs(&self.options, "--option")?.into_iter().map(option).collect(),
            quick: self.quick,
            rounds: self.rounds,
            conduct: Conduct {
                max_time_s: self.max_time.map(|time| time.as_secs_f64()),
                gates: self.gate,
                gate_unclear: self.gate_unclear,
                order: Some(self.order.order),
                ..Conduct::default() // what studies alone ask for
            },
            interleave: self.interleave.map(|asked| match asked {
                InterleaveArg::Turns => Interleave::Turns,
                InterleaveArg::Runs => Interleave::Runs,
            }),
            seed: self.seed,
            server: self.server.map(Words::new),
            uri: self.at.uri.map(Words::new),
            hosts: self.hosts.into_iter().map(Words::new).collect(),
            tap: self.tap,
            link: self.link,
            keep_data: self.keep_data,
            client_memory_bytes: self.limits.client_memory,
            server_limits: ServerOptions {
                cache_bytes: self.limits.server_cache,
                connections: self.limits.server_connections,
                memory_bytes: self.limits.server_memory,
            },
            absorber: [self.load.to_words(), self.faults.to_words()].concat(),
            no_keep_awake: self.machine.no_keep_awake,
            ..Request::default() // what studies alone ask for
        };
        let of_history =
            |gate: &String| ObjectiveGate::parse(gate).is_ok_and(|it| it.is_of_history());
        if self.history.history.is_none() && request.conduct.gates.iter().any(of_history) {
            return Err(Error::usage(
                "a gate against the history is held against no experiment",
                "add --history FILE, which `mongodyno history --store FILE DIR...` makes",
            ));
        }
        let here = Here {
            sweep: self.sweep,
            history: self.history.history,
            out: self.out,
            adapters_dir: self.adapters_dir,
            offline: self.registry.offline,
            no_wait: self.machine.wait.no_wait,
            plan: self.plan,
            json: self.json,
            details: self.details.details,
            live: self.live.live,
        };
        Ok(Ask { request, here })
    }
}

/// `NAME=VALUE` words of a flag.
///
/// # Errors
/// One without `=`.
pub fn pairs(words: &[String], flag: &str) -> Result<BTreeMap<String, String>> {
    let pair = |word: &String| {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            Error::usage(format!("{flag} {word} has no `=`"), format!("write {flag} name=value"))
        })?;
        Ok((name.to_owned(), value.to_owned()))
    };
    words.iter().map(pair).collect()
}

/// Reads the path of what is about to be written. Its name stays on the disk, so one with a user
/// and a password is refused: it is a connection string in the wrong place.
pub fn new_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let words = path.to_string_lossy();
        if secrets::mask_text(&words) == words {
            return Ok(path);
        }
        Err("user and password would be in a file name; name a folder or a file")
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InterleaveArg {
    /// All drivers run side by side and take turns of about 50 ms
    Turns,
    /// Each driver runs alone, one after the other
    Runs,
}

/// Returns a gate as it was written: the record holds it in these words.
pub(super) fn gate(text: &str) -> std::result::Result<String, String> {
    ObjectiveGate::parse(text).map(|_| text.to_owned())
}

pub(super) fn gate_unclear() -> impl TypedValueParser<Value = GateUnclear> {
    PossibleValuesParser::new(["fail", "pass"]).map(|word| match word.as_str() {
        "fail" => GateUnclear::Fail,
        _ => GateUnclear::Pass,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser as _;

    fn asked(words: &[String]) -> Request {
        let words = ["mongodyno", "run"].into_iter().chain(words.iter().map(String::as_str));
        let Verb::Run(args) = Cli::try_parse_from(words).expect("a command line").verb else {
            unreachable!("its verb is run")
        };
        args.ask().expect("a request").request
    }

    /// One list of flags would be enough if this held by itself: an argument that its request, or a
    /// field that its command line forgets, fails here.
    #[test]
    fn a_request_is_the_same_by_its_own_command_line_and_by_its_record() {
        let words = "mixed --set threads=2 -d python@4.20.0/w=1 -d rust --rounds 7 --phase mixed \
                     --option maxPoolSize=5 --option proxyHost=h --gate p99<5ms --consumer go \
                     --max-time 5s --gate-unclear fail --interleave runs --order given \
                     --link 100mbit --client-memory 256MiB --server-cache 512MiB \
                     --server-connections 99 --server-memory 1GiB --seed 7 --server absorber \
                     --quick --tap --keep-data --no-keep-awake --service-time=200ns --refuse=3";
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let request = asked(&words);
        assert_eq!(asked(&request.words().expect("all of it is given")), request);
        let mut read: Request =
            serde_json::from_value(serde_json::to_value(&request).expect("it serialises"))
                .expect("it is read");
        assert!(read.options["proxyHost"].get().is_err(), "a folder has no secrets");
        read.options.clone_from(&request.options);
        assert_eq!(read, request);
        let usual = Request { workload: Words::new("mixed"), ..Request::default() };
        let fields = |request: &Request| serde_json::to_value(request).expect("it serialises");
        let (given, usual) = (fields(&request), fields(&usual));
        let same = given.as_object().expect("fields").iter();
        let same: Vec<&String> =
            same.filter(|(name, value)| usual[name.as_str()] == **value).map(|it| it.0).collect();
        let of_studies = ["measured_s", "figures_only", "tap_last_round", "by_driver"];
        let named = [&["workload", "uri", "hosts"], &of_studies[..]].concat();
        assert_eq!(same, named, "every other field has a flag above");
    }
}
