//! `--server A,B`: the same arms on several servers, an experiment on each. Their rounds alternate,
//! so that one server is idle while another works; the folder above holds them together.

use std::path::PathBuf;

use super::joint_reports::finish;
use super::live_page;
use super::run::{self, make, places};
use super::run_plan::drawn_seed;
use super::sweep;
use crate::cli::RunArgs;
use base::error::{Error, Result};
use base::say;
use measure::install::Wanted;
use measure::setup::new_id;
use record::request::Request;
use record::unbegun;
use server::ServerChoice;

/// The servers of `--server`, in their order.
///
/// # Errors
/// Several that make no sense together, or beside another flag.
pub fn asked(request: &Request) -> Result<Vec<String>> {
    let asked = request.server()?;
    let servers: Vec<String> = asked.split(',').map(|server| server.trim().to_owned()).collect();
    if servers.len() == 1 {
        return Ok(servers);
    }
    let several = format!("--server {asked}");
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
pub async fn run(args: RunArgs) -> Result<()> {
    let mut ask = args.ask()?;
    let servers = asked(&ask.request)?;
    if let Some(words) = ask.here.sweep.take() {
        return sweep::run(ask, &words, &servers).await;
    }
    if servers.len() == 1 {
        // On the heap: this future holds the whole experiment.
        return Box::pin(run::run(ask)).await;
    }
    // The same documents and orders everywhere.
    ask.request.seed = Some(ask.request.seed.unwrap_or_else(drawn_seed));
    let parent = ask.here.out.clone();
    let parent =
        parent.unwrap_or_else(|| PathBuf::from("mongodyno-results").join(new_id(drawn_seed())));
    let (places, record) = places(&servers, &parent);
    let record = record.expect("several");
    let mut live = None;
    let begin = || {
        record.create(&parent)?;
        live_page::serve(&ask.here, &parent).map(|page| live = page)
    };
    let made = make(&ask, Wanted::Alone, places, begin).await?;
    if ask.here.plan {
        return Ok(());
    }
    unbegun::discard(&parent, true, false);
    finish(&ask, &parent, made)
}
