//! `mongodyno check [ADAPTER | -- COMMAND]`.

use crate::cli::CheckArgs;
use adapter::environment::Environment;
use adapter::manifest::discover;
use base::clock::Epoch;
use base::error::{Error, Exit, Result};
use base::paths::work_dir;
use base::say;
use check::bench::Bench;
use check::{CheckResult, offline, online};
use measure::admin::{Admin, new_database};
use measure::arms;
use measure::install::{How, Wanted, install_all};
use measure::selection::expand;
use measure::server_access::Reached;
use measure::stop::Requests;
use record::folder::Folder;
use server::StartOptions;
use server::connection_string::{with_arm_options, with_options};

/// A failed check ends it with [`Exit::GateFailed`].
pub async fn run(args: CheckArgs) -> Result<()> {
    let manifests = discover(args.adapters_dir.as_deref())?;
    let is_adapter = args.command.is_empty();
    let mut arms = Vec::new();
    if is_adapter {
        (arms, _) = arms::choose(&expand(&manifests, args.adapter.as_slice(), false)?, &manifests)?;
    }
    let server = if args.offline {
        None
    } else {
        Some(Reached::at(&args.server, args.at.uri.as_deref(), false).await?)
    };
    let mut requests = Requests::watch();
    // None is left out: an adapter that does not install has failed.
    let how = How { wanted: Wanted::All, offline: false };
    let installed = install_all(&arms, None, how, &mut Vec::new(), &mut requests).await?;
    let mut environments: Vec<_> = installed.arms.into_iter().map(|(_, it)| it).collect();
    if !is_adapter {
        let scrub = manifests.first().map_or(Vec::new(), |it| it.scrub.clone());
        environments.push(Environment::of_command(&args.command, scrub));
    }
    // Not the process's id: two containers may share both the id and the cache.
    let path = work_dir()?.join("check").join(new_database());
    let folder = Folder::create(&path)?;
    let result = Box::pin(check_all(server, &environments, &folder, &mut requests)).await;
    let _ = std::fs::remove_dir_all(&path);
    match result? {
        0 => Ok(()),
        failed => Err(Error::new(
            Exit::GateFailed,
            format!("checks failed: {failed}"),
            "protocol/SPEC.md says what an adapter has to do",
        )),
    }
}

/// Checks every environment and returns the number of failed checks.
async fn check_all(
    server: Option<Reached>,
    environments: &[Environment],
    folder: &Folder,
    requests: &mut Requests,
) -> Result<u32> {
    let epoch = Epoch::start();
    let mut failed = 0;
    for environment in environments {
        super::print(&format!("{} {}, offline\n", environment.adapter, environment.version))?;
        failed += show(&requests.or(offline::check(environment, folder.path(), &epoch)).await?)?;
    }
    let Some(server) = server else { return Ok(failed) };
    let absorber = server.is_absorber();
    let options = StartOptions::new(folder.join("logs/mongod.log"));
    let server = requests.or(server.open(&options)).await??;
    for environment in environments {
        let place = if absorber {
            "the absorber".to_owned()
        } else {
            format!("MongoDB {}", server.record().version)
        };
        let Environment { adapter, version, .. } = environment;
        super::print(&format!("{adapter} {version}, on {place}\n"))?;
        let bench = Bench {
            uri: &with_arm_options(
                &with_options(server.uri(), &std::collections::BTreeMap::new()),
                &environment.uri_options,
            ),
            database: new_database(),
            exclusive: server.is_exclusive(),
            absorber,
            folder,
            epoch: &epoch,
        };
        let mut admin = Admin::connect(server.uri(), &bench.database).await?;
        if !bench.exclusive {
            // A server of ours needs no marker, and counts what is sent to it.
            requests.or(admin.claim("check")).await??;
        }
        let checked = requests.or(Box::pin(online::check(environment, &bench, &admin))).await;
        // After any end. Asked a second time to stop, it names the database and leaves it.
        let dropped = requests.or(admin.leave(checked.is_err())).await;
        if dropped.is_err() {
            say!("warning: the database {} was not dropped", bench.database);
        }
        failed += show(&checked?)? + u32::from(!dropped?);
    }
    server.stop().await;
    Ok(failed)
}

fn show(checked: &[CheckResult]) -> Result<u32> {
    let mut failed = 0;
    for it in checked {
        match &it.problem {
            None => super::print(&format!("  ok    {}\n", it.name))?,
            Some(problem) => {
                failed += 1;
                super::print(&format!("  FAIL  {}: {problem}\n", it.name))?;
            }
        }
    }
    Ok(failed)
}
