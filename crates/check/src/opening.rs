//! `open` of a connection string: whether writes are acknowledged, and what it refuses.

use crate::bench::Bench;
use crate::{ANSWER_TIMEOUT, ask, start};
use adapter::adapter_process::AdapterProcess;
use adapter::environment::Environment;
use adapter::protocol::{AdapterAnswer, AdapterRequest, Deal};
use measure::arm::client_target;

/// Whether its driver waits for acknowledgements of writes.
pub async fn acknowledges(
    environment: &Environment,
    bench: &Bench<'_>,
    uri: &str,
) -> Result<bool, String> {
    let (mut process, open) = opening(environment, bench, uri).await?;
    let answer = ask(&mut process, &open, "opened", ANSWER_TIMEOUT).await?;
    process.close().await.map_err(|error| error.to_string())?;
    Ok(matches!(answer, AdapterAnswer::Opened(opened) if opened.acknowledged))
}

async fn opening(
    environment: &Environment,
    bench: &Bench<'_>,
    uri: &str,
) -> Result<(AdapterProcess, AdapterRequest), String> {
    let process = start(environment, bench.folder.path(), bench.epoch).await?;
    let kind = process.hello.as_ref().map(|it| it.capabilities.uri).unwrap_or_default();
    let open = AdapterRequest::Open {
        clients: vec![client_target(uri, kind)],
        deal: Deal::Worker,
        database: bench.database.clone(),
    };
    Ok((process, open))
}

/// Checks that `open` of a connection string ends in an error of this code.
pub async fn refused(
    environment: &Environment,
    bench: &Bench<'_>,
    uri: &str,
    code: &str,
) -> Result<(), String> {
    let (mut process, open) = opening(environment, bench, uri).await?;
    let answer = ask(&mut process, &open, "opened", ANSWER_TIMEOUT).await;
    let problem = answer.err().ok_or("it claims to have opened it")?;
    if !problem.contains(&format!("({code})")) {
        return Err(problem);
    }
    process.close().await.map_err(|error| error.to_string())
}
