//! `open` of a connection string: whether its writes have answers, and what it refuses.

use crate::bench::Bench;
use crate::{ANSWER_TIMEOUT, ask, start};
use adapter::environment::Environment;
use adapter::messages::{Answer, Deal, Request};
use adapter::process::AdapterProcess;
use measure::arm::client_target;

/// Whether its driver waits for answers of writes.
pub async fn acknowledges(
    environment: &Environment,
    bench: &Bench<'_>,
    uri: &str,
) -> Result<bool, String> {
    let (mut process, open) = opening(environment, bench, uri).await?;
    let answer = ask(&mut process, &open, "opened", ANSWER_TIMEOUT).await?;
    process.close().await.map_err(|it| it.to_string())?;
    Ok(matches!(answer, Answer::Opened(opened) if opened.acknowledged))
}

async fn opening(
    environment: &Environment,
    bench: &Bench<'_>,
    uri: &str,
) -> Result<(AdapterProcess, Request), String> {
    let process = start(environment, bench.folder.path(), bench.epoch).await?;
    let kind = process.hello.as_ref().map(|it| it.capabilities.uri).unwrap_or_default();
    let open = Request::Open {
        clients: vec![client_target(uri, kind)],
        deal: Deal::Worker,
        database: bench.database.clone(),
    };
    Ok((process, open))
}

/// Whether `open` of a connection string is answered by an error of this code.
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
    process.close().await.map_err(|it| it.to_string())
}
