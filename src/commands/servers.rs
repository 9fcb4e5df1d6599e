//! `--server A,B`: the same arms on several servers, an experiment on each. Their rounds alternate,
//! so that one server is idle while another works; the folder above holds them together.

use std::path::{Path, PathBuf};

use super::run::{self, Place, gates, interrupted, make, shown, worth};
use super::run_plan::{drawn_seed, pairs};
use crate::cli::{ReportArgs, RunArgs};
use base::error::{Error, Exit, Result};
use base::say;
use judge::analysis::across::{ServersAnalysis, servers};
use judge::analysis::types::Analysis;
use measure::install::Wanted;
use measure::setup::new_id;
use record::folder::{Folder, Series};
use record::records::Ended;
use record::servers::Servers;
use report::{FORMATS, Report, across, terminal};
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
    if args.sweep.is_some() {
        return Err(Error::usage(
            format!("{several} and --sweep are two axes of experiments"),
            "keep one of them, and give the values of the other in runs of their own",
        ));
    }
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

/// `run`, on one server or on several.
pub async fn run(mut args: RunArgs) -> Result<()> {
    let servers = asked(&args)?;
    if servers.len() == 1 {
        return run::run(args).await;
    }
    // The same documents and orders everywhere.
    args.seed = Some(args.seed.unwrap_or_else(drawn_seed));
    let sets = pairs(&args.set, "--set")?;
    let parent = args.out.clone();
    let parent =
        parent.unwrap_or_else(|| PathBuf::from("mongodyno-results").join(new_id(drawn_seed())));
    let record = Servers::new(&servers);
    let place = |part: &record::servers::Part| Place {
        server: part.words().to_owned(),
        name: part.server.clone(),
        id: new_id(drawn_seed()),
        path: parent.join(&part.folder),
        study: None,
        resumed: None,
    };
    let places = record.servers.iter().map(place).collect();
    let made = make(&args, &sets, Wanted::Alone, places, || record.create(&parent)).await?;
    if args.plan {
        return Ok(());
    }
    record.discard(&parent);
    show(&args, &parent, &record, made)
}

/// Shows all of the folder, of which `made` is what was done just now.
pub fn show(
    args: &RunArgs,
    parent: &Path,
    record: &Servers,
    made: Vec<Result<Folder>>,
) -> Result<()> {
    let failed = made.into_iter().filter_map(Result::err);
    let (stopped, failed): (Vec<_>, Vec<_>) = failed.partition(|it| it.exit == Exit::Interrupted);
    let began = record.made(parent)?;
    let is_cut = |ended| ended == Some(Ended::Interrupted);
    let stopped = !stopped.is_empty() || began.iter().any(|it| is_cut(it.experiment.ended));
    if began.is_empty() {
        return Err(failed.into_iter().next().unwrap_or_else(measure::stop::interrupted));
    }
    let path = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
    let analysis = servers(path.display().to_string(), &began)?;
    let shown = began.iter().zip(&analysis.servers).map(|(made, it)| {
        Ok(format!("{}{}\n", across::heading(&it.server), shown(&made.folder, &it.analysis)?))
    });
    let text = shown.collect::<Result<Vec<String>>>()?.concat();
    if args.json {
        super::print_result(json(&analysis).as_bytes())?;
    } else {
        let options = super::terminal_options();
        let text = text + &across::terminal(&analysis, &options);
        super::print_result(text.as_bytes())?;
    }
    if stopped {
        return Err(interrupted(&path));
    }
    let mut failed = failed.into_iter();
    if let Some(first) = failed.next() {
        failed.for_each(|error| say!("error: {error}"));
        return Err(first);
    }
    worth(&analysis.servers.iter().map(|it| &it.analysis).collect::<Vec<_>>())
}

/// `report` of such a folder.
pub fn report(args: &ReportArgs, record: &Servers) -> Result<()> {
    let began = record.made(&args.folder)?;
    let path = args.folder.canonicalize().unwrap_or_else(|_| args.folder.clone());
    let mut analysis = servers(path.display().to_string(), &began)?;
    for it in &mut analysis.servers {
        judge::keep(&mut it.analysis, &args.gate, args.gate_unclear);
    }
    let options = super::terminal_options();
    let differences = match args.format.as_str() {
        "json" => json(&analysis),
        "md" => across::markdown(&analysis),
        name if name == terminal::FORMAT.name => across::terminal(&analysis, &options),
        name => {
            let one = record.servers.first().map_or("", |part| part.folder.as_str());
            return Err(Error::usage(
                format!("a folder of several servers has no report as {name}"),
                format!("each server has one: mongodyno report DIR/{one} --format {name}"),
            ));
        }
    };
    let each = began.iter().zip(&analysis.servers).filter(|_| args.format != "json");
    let each = each.map(|(made, it)| {
        let text = again(&made.folder, &it.analysis, &args.format)?;
        Ok(format!("{}{text}\n", across::heading(&it.server)))
    });
    let text = each.collect::<Result<Vec<String>>>()?.concat();
    super::print_result(format!("{text}{differences}").as_bytes())?;
    gates(&analysis.servers.iter().map(|it| &it.analysis).collect::<Vec<_>>())
}

fn again(folder: &Folder, analysis: &Analysis, format: &str) -> Result<String> {
    let mut options = super::terminal_options();
    let page = folder.join("report.html");
    options.page = page.exists().then(|| page.display().to_string());
    let (runs, series) = (folder.runs()?, Series::default());
    let report = Report { analysis, runs: &runs, series: &series, options: &options };
    let format = FORMATS.into_iter().find(|it| it.name == format);
    Ok(report.text(format.expect("clap knows no others")))
}

fn json(analysis: &ServersAnalysis) -> String {
    serde_json::to_string_pretty(analysis).expect("analyses serialise") + "\n"
}
