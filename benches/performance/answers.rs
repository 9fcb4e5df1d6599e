//! A quick experiment of one driver against itself, on a disturbed machine. It must end with an
//! answer, and never with a difference.

use std::collections::BTreeMap;

use judge::analyse;
use record::folder::Folder;
use stats::verdict::Verdict;

use crate::disturb::Disturber;
use crate::support::{Bench, Outcome, table};

const EXPERIMENTS: usize = 4;
const LONG_EXPERIMENTS: usize = 20;
const WORDS: [&str; 4] = ["--quick", "--no-wait", "-d", "go"];

/// Prints how often each metric came to which verdict.
pub fn run(bench: &Bench) -> Outcome {
    let experiments = if bench.long { LONG_EXPERIMENTS } else { EXPERIMENTS };
    let mut verdicts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let (mut unanswered, mut wrong) = (0, 0);
    for _ in 0..experiments {
        let (folder, mut command) = bench.run_command(&WORDS)?;
        let disturber = Disturber::start()?;
        let status = command.status().map_err(|error| error.to_string())?;
        drop(disturber);
        unanswered += usize::from(status.code() != Some(0));
        let (folder, experiment) = Folder::open(&folder).map_err(|error| error.to_string())?;
        let outcome = analyse(&folder, &experiment).map_err(|error| error.to_string())?;
        for row in outcome.analysis.comparisons {
            let apart = matches!(row.verdict, Verdict::Slower | Verdict::Faster);
            wrong += usize::from(apart && !row.direction_only);
            let unsure = if row.direction_only { ", size uncertain" } else { "" };
            *verdicts
                .entry((row.metric.word(), format!("{}{unsure}", row.verdict.word())))
                .or_default() += 1;
        }
    }
    let rows: Vec<Vec<String>> = verdicts
        .into_iter()
        .map(|((metric, verdict), count)| vec![metric.to_owned(), verdict, count.to_string()])
        .collect();
    table(&["metric", "verdict of the A/A arm", "times"], &rows);
    println!(
        "\nmongodyno run {} beside a process that works half of the time: {unanswered} of \
         {experiments} experiments without an answer, {wrong} comparisons SLOWER or FASTER\ngoal: \
         none of either\n",
        WORDS.join(" ")
    );
    Ok(unanswered + wrong == 0)
}
