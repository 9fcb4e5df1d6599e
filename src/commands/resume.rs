//! `mongodyno resume DIR`: what a cut experiment was asked for is asked again, and the rounds that
//! are finished are not made again.

use clap::Parser as _;

use crate::cli::{Cli, ResumeArgs, StudyVerb, Verb};
use crate::error::{Error, Result};
use crate::experiment::resume::Resumed;

/// Runs the verb.
///
/// # Errors
/// No cut experiment there; what it was made of is no longer the same; those of its own verb.
pub async fn run(args: ResumeArgs) -> Result<()> {
    let (folder, resumed) = Resumed::open(&args.folder)?;
    let path = folder.path().to_owned();
    // The command line is the record of what was asked for; a second one would be a second copy.
    let words = &resumed.experiment.command;
    let cli = Cli::try_parse_from(words).map_err(|error| {
        let first = error.to_string().lines().next().unwrap_or_default().to_owned();
        Error::usage(
            format!("its command line is not understood any more: {first}"),
            "it may come from another version: start anew",
        )
    })?;
    say!("going on after round {}: {}", resumed.finished, words[1..].join(" "));
    // By --uri or by the environment, which is no part of the command line: the record tells.
    let external = resumed.experiment.server.kind == "external";
    if external && args.uri.is_none() {
        // Credentials were masked when the command line was kept.
        return Err(Error::usage(
            "it was made against a server by connection string, which is not kept",
            "add --uri",
        ));
    }
    match cli.verb {
        Verb::Run(mut again) => {
            again.uri = args.uri;
            super::run::resume(*again, path, resumed).await
        }
        Verb::Study(again) => {
            let StudyVerb::Broker(mut again) = again.study;
            again.uri = args.uri;
            super::study::resume(*again, path, resumed).await
        }
        _ => Err(Error::usage("no experiment begins with this command line", "start anew")),
    }
}
