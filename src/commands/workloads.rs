//! `mongodyno workloads [NAME]`.

use crate::cli::WorkloadsArgs;
use base::error::Result;
use workload::builtin;

pub fn run(args: &WorkloadsArgs) -> Result<()> {
    if let Some(name) = &args.name {
        return super::print(&builtin::text(name)?);
    }
    let line = |(name, why): (&str, String)| {
        let short = why.split_once(". ").map_or(why.as_str(), |(first, _)| first);
        format!("{name:<16} {}\n", short.trim_end_matches('.'))
    };
    super::print(&builtin::list().into_iter().map(line).collect::<String>())
}
