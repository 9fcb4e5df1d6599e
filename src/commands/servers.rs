//! `--server A,B`: the same arms on several servers, an experiment on each. Their rounds alternate,
//! so that one server is idle while another works; the folder above holds them together.

use std::path::PathBuf;

use super::joint::finish;
use super::run::{self, make, places};
use super::run_plan::{drawn_seed, pairs};
use super::sweep;
use crate::cli::RunArgs;
use base::error::{Error, Result};
use base::say;
use measure::install::Wanted;
use measure::setup::new_id;
use server::ServerChoice;

/// The servers of `--server`, in their order.
///
/// # Errors
/// Several that make no sense together, or beside another flag.
pub fn asked(args: &RunArgs) -> Result<Vec<String>> {
    let servers: Vec<String> = args.server().split(',').map(|it| it.trim().to_owned()).collect();
    if servers.len() == 1 {
        return Ok(servers);
    }
    let several = format!("--server {}", args.server());
    let mut known: Vec<(String, &str)> = Vec::new();
    for server in &servers {
        if server == "none" {
            return Err(Error::usage(
                format!("{several}: without a server there is nothing to compare between servers"),
                "leave out `none`",
            ));
        }
        let identity = ServerChoice::parse(server, None)?.identity()?;
        if let Some((_, other)) = known.iter().find(|(it, _)| *it == identity) {
            say!("{other} and {server} are the same server: what differs between them is noise");
        }
        known.push((identity, server));
    }
    Ok(servers)
}

/// `run`, of one experiment or of several.
pub async fn run(mut args: RunArgs) -> Result<()> {
    let servers = asked(&args)?;
    if let Some(words) = args.sweep.take() {
        return sweep::run(args, &words, &servers).await;
    }
    if servers.len() == 1 {
        return run::run(args).await;
    }
    // The same documents and orders everywhere.
    args.seed = Some(args.seed.unwrap_or_else(drawn_seed));
    let sets = pairs(&args.set, "--set")?;
    let parent = args.out.clone();
    let parent =
        parent.unwrap_or_else(|| PathBuf::from("mongodyno-results").join(new_id(drawn_seed())));
    let (places, record) = places(&servers, &parent);
    let record = record.expect("several");
    let made = make(&args, &sets, Wanted::Alone, places, || record.create(&parent)).await?;
    if args.plan {
        return Ok(());
    }
    record.discard(&parent);
    finish(&args, &parent, made)
}
