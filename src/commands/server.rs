//! `mongodyno server list|install|start|status|stop`, and the hidden guard.

use crate::cli::{ServerAction, ServerArgs};
use base::error::{Error, Result};
use base::paths::work_dir;
use base::say;
use server::{
    Host, InstallProgress, ServerChoice, StartOptions, guard_main, install_version, list,
    start_background, status, stop_background,
};

pub async fn run(args: ServerArgs) -> Result<()> {
    let host = Host::detect()?;
    match args.action {
        ServerAction::List => print_list(&host),
        ServerAction::Install { server } => {
            let listed = install_version(&host, &server, InstallProgress::default())?;
            super::print(&format!("MongoDB {} is installed\n", listed.version))
        }
        ServerAction::Start { server, keep_data } => start(&host, &server, keep_data).await,
        ServerAction::Status => print_status(&host),
        ServerAction::Stop { name } => stop(&host, name.as_deref()),
    }
}

/// The parent of a mongod. Its exit code reports how it ended.
pub fn guard(arguments: &[String]) -> Result<()> {
    match guard_main(arguments.iter().map(Into::into)) {
        0 => Ok(()),
        code => Err(Error::environment(format!("the guard ended with {code}"), "")),
    }
}

fn print_list(host: &Host) -> Result<()> {
    let mut table = super::PlainTable::default();
    table.add_row(["server", "installed", "download", "needs", "licence", "from PyPI"]);
    for it in list(host) {
        table.add_row([
            format!("embedded@{}{}", it.version, if it.default { " (default)" } else { "" }),
            if it.installed { "yes" } else { "no" }.to_owned(),
            format!("{} MB", it.download_bytes / 1_000_000),
            format!("{}{}", it.requires, if it.needs_avx { ", AVX" } else { "" }),
            it.licence.to_owned(),
            it.source,
        ]);
    }
    super::print(&format!("{table}\n"))
}

async fn start(host: &Host, server: &str, keep_data: bool) -> Result<()> {
    let choice = ServerChoice::parse(server, None)?;
    if choice.is_several() {
        return Err(Error::usage(
            format!("{server}: several hosts end with the run that started them"),
            "name one server here, or give `run` this --server",
        ));
    }
    let program = choice.prepare(host, InstallProgress::default())?.ok_or_else(|| {
        Error::usage(
            format!("{server} is no mongod that lives in the background"),
            "name embedded or mongod; the absorber is started by `mongodyno absorber`",
        )
    })?;
    let taken: Vec<String> = status(host).into_iter().map(|it| it.name).collect();
    let name = (1..=taken.len() + 1)
        .map(|number| format!("server-{number}"))
        .find(|name| !taken.contains(name))
        .expect("one number more than names is free");
    let log = work_dir()?.join("logs").join(format!("{name}.log"));
    let mut options = StartOptions::new(log);
    options.keep_data = keep_data;
    let started = start_background(host, &name, &program, &options).await?;
    let uri = started.record.map(|record| record.uri).unwrap_or_default();
    say!("{name} runs; `mongodyno server stop {name}` ends it");
    super::print(&format!("{uri}\n"))
}

fn print_status(host: &Host) -> Result<()> {
    let servers = status(host);
    if servers.is_empty() {
        return super::print("no server runs\n");
    }
    let mut table = super::PlainTable::default();
    table.add_row(["name", "state", "version", "uri", "pid"]);
    for it in servers {
        let state = if it.running { "running" } else { it.ended.as_deref().unwrap_or("ended") };
        let (version, uri) =
            it.record.as_ref().map_or(("", ""), |record| (&record.version, &record.uri));
        let pid = it.pid.map_or(String::new(), |pid| pid.to_string());
        table.add_row([&it.name, state, version, uri, &pid]);
    }
    super::print(&format!("{table}\n"))
}

fn stop(host: &Host, name: Option<&str>) -> Result<()> {
    let names: Vec<String> = match name {
        Some(name) => vec![name.to_owned()],
        // Servers of running experiments end with them.
        None => status(host)
            .into_iter()
            .map(|it| it.name)
            .filter(|name| !name.starts_with("run-"))
            .collect(),
    };
    for name in names {
        stop_background(host, &name)?;
        super::print(&format!("{name} stopped\n"))?;
    }
    Ok(())
}
