//! Load and faults of an absorber.

use std::time::Duration;

use clap::{Args, Parser};

use absorber::faults::Every;
use absorber::simulated_load::{Jitter, Stall};
use base::units::parse_duration;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load (insert, find, update, delete, getMore, count, aggregate)")]
pub struct LoadArgs {
    /// Delay every answer by this time: 200us, 1.5ms
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub service_time: Option<Duration>,
    /// Draw service times from this distribution, with --service-time as the mean
    #[arg(long, value_enum, requires = "service_time")]
    pub jitter: Option<Jitter>,
    /// Serve nothing for LENGTH at the start of every PERIOD: 100ms/5s
    #[arg(long, value_name = "LENGTH/PERIOD", value_parser = Stall::parse)]
    pub stall: Option<Stall>,
    /// Serve at most N commands at a time; the others queue [default: no limit]
    #[arg(
        long, value_name = "N", requires = "service_time",
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    pub workers: Option<u32>,
}

impl LoadArgs {
    /// The same arguments as words of a command line.
    pub fn to_words(&self) -> Vec<String> {
        let service = self.service_time.map(|it| format!("--service-time={}ns", it.as_nanos()));
        let jitter = self.jitter.map(|Jitter::Exp| "--jitter=exp".to_owned());
        let stall = self.stall.map(|it| format!("--stall={it}"));
        let workers = self.workers.map(|it| format!("--workers={it}"));
        [service, jitter, stall, workers].into_iter().flatten().collect()
    }
}

/// Load and faults alone.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
pub struct BehaviourArgs {
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub faults: FaultArgs,
}

impl FaultArgs {
    /// The same arguments as words of a command line.
    pub fn to_words(&self) -> Vec<String> {
        let refuse = self.refuse.map(|it| format!("--refuse={it}"));
        let close = self.close_after.map(|it| format!("--close-after={it}"));
        let error = self.error.as_ref().map(|it| format!("--error={}/{}", it.what, it.every));
        let slow = self.slow.as_ref();
        let slow = slow.map(|it| format!("--slow={}ns/{}", it.what.as_nanos(), it.every));
        let garbage = self.garbage.map(|it| format!("--garbage={it}"));
        [refuse, close, error, slow, garbage].into_iter().flatten().collect()
    }
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Faults (to see how a program handles them)")]
pub struct FaultArgs {
    /// Close every N-th connection at once; 1 closes all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub refuse: Option<u64>,
    /// Close each connection after N commands on documents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub close_after: Option<u64>,
    /// Refuse every N-th command on documents with an error: 11600/100
    #[arg(long, value_name = "CODE/N", value_parser = Every::parse_code)]
    pub error: Option<Every<i32>>,
    /// Delay the answer to every N-th command on documents: 50ms/100
    #[arg(long, value_name = "TIME/N", value_parser = Every::parse_duration)]
    pub slow: Option<Every<Duration>>,
    /// Answer every N-th command on documents with garbage
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub garbage: Option<u64>,
}
