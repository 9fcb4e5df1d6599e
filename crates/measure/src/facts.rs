//! The records of arms, server and link, before the first round.

use std::collections::BTreeMap;

use crate::progress::LiveProgress;
use adapter::driver_choice::PROCESSES;
use adapter::environment::Environment;
use base::error::Result;
use record::records::{
    Arm, DriverShare, Limits, Link, Server as ServerFacts, ServerKind, ServerOptions,
};
use server::ServerHandle;
use tap::link::LinkSpec;
use tap::validate::validate;

/// Why a twin exists: the baseline once more, where each difference is chance.
pub const AA: &str = "A/A";
/// Why a twin exists: the baseline once more, past tap and link.
pub const DIRECT: &str = "direct";

pub fn arm(id: &str, environment: &Environment, twin: &str) -> Arm {
    let uri_options = environment.uri_options.clone();
    let processes = environment.processes.map(|it| (PROCESSES.to_owned(), it.to_string()));
    Arm {
        id: id.to_owned(),
        adapter: environment.adapter.clone(),
        is_aa: twin == AA,
        is_direct: twin == DIRECT,
        driver: String::new(),
        version: environment.version.clone(),
        reports: None,
        options: environment
            .options
            .clone()
            .into_iter()
            .chain(uri_options)
            .chain(processes)
            .collect(),
        native: None,
        runtime: String::new(),
        concurrency: String::new(),
        event_loop: false,
        resolved: serde_json::Value::Null,
        seen: None,
        acknowledged: None,
        not_measured: BTreeMap::new(),
        share: DriverShare::default(),
        server_version: None,
        limits: None,
        lock_sha256: environment.lock_sha256.clone(),
    }
}

/// Measures the link against its own parameters, before any arm uses it.
pub fn link_facts(asked: &str, progress: &LiveProgress) -> Result<Link> {
    progress.doing("measuring the link");
    let spec = LinkSpec::parse(asked)?;
    let check = validate(&spec)?;
    progress.note(&format!("link {asked}: {}", check.sentence));
    Ok(Link { asked: asked.to_owned(), buffers: spec.buffers(), check })
}

/// `pid` is its process, where it is one of this machine; `options` are limits that were asked for.
pub fn facts(
    server: Option<&ServerHandle>,
    pid: Option<u32>,
    options: ServerOptions,
) -> ServerFacts {
    let Some(server) = server else {
        return ServerFacts {
            kind: ServerKind::None,
            version: String::new(),
            uri: String::new(),
            flags: Vec::new(),
            topology: String::new(),
            source: None,
            limits: None,
            options,
        };
    };
    let record = server.record();
    ServerFacts {
        kind: record.kind,
        version: record.version.clone(),
        uri: record.uri.clone(),
        flags: record.flags.clone(),
        topology: record.topology.clone(),
        source: record
            .source
            .as_ref()
            .map(|source| format!("{} ({})", source.wheel, source.licence)),
        limits: pid.and_then(Limits::of),
        options,
    }
}
