//! `mongodyno absorber`.

use base::say;
use std::net::{SocketAddr, TcpListener};

use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli::{AbsorberArgs, FaultArgs, LoadArgs};
use absorber::faults::FaultOptions;
use absorber::listener::Absorber;
use absorber::shared_state::AbsorberOptions;
use absorber::simulated_load::LoadOptions;
use base::error::{Error, Result};
use measure::stop::ignores_hangup;

/// Runs until SIGTERM, SIGINT, or SIGHUP of a closed terminal.
pub fn run(args: &AbsorberArgs) -> Result<()> {
    // Before anybody can know of us, so that no signal comes too early.
    let mut signals = signals()?;
    let listener =
        TcpListener::bind(args.listen).map_err(|error| no_socket(args.listen, &error))?;
    let options = options(args);
    let absorber = Absorber::start(listener, &options).map_err(|error| match &args.holds {
        Some(path) => Error::file("write", path, &error),
        None => Error::environment(format!("the absorber cannot start: {error}"), ""),
    })?;
    let address = absorber.address();
    super::print(&format!("{}\n", json!({ "type": "listening", "address": address.to_string() })))?;
    say!("absorber: listening on mongodb://{address}, Ctrl-C ends it");
    if !address.ip().is_loopback() {
        say!("absorber: this is not 127.0.0.1: whoever reaches the port can read and write");
    }
    signals.forever().next();
    absorber.finish();
    Ok(())
}

fn signals() -> Result<Signals> {
    let mut wanted = vec![SIGTERM, SIGINT];
    if !ignores_hangup() {
        wanted.push(SIGHUP);
    }
    Signals::new(wanted)
        .map_err(|error| Error::environment(format!("signals cannot be watched: {error}"), ""))
}

fn no_socket(address: SocketAddr, error: &std::io::Error) -> Error {
    Error::environment(
        format!("cannot listen on {address}: {error}"),
        "choose another port; `--listen 127.0.0.1:0` picks a free one",
    )
}

fn options(args: &AbsorberArgs) -> AbsorberOptions {
    let LoadArgs { service_time, jitter, stall, workers } = args.load;
    let FaultArgs { refuse, close_after, error, slow, garbage } = args.faults;
    AbsorberOptions {
        listen: args.listen,
        wire: args.wire,
        replica_set: args.replica_set.clone(),
        memory_bytes: args.memory,
        load: LoadOptions { service_time, jitter, stall, workers },
        faults: FaultOptions {
            refuse_every: refuse,
            close_after,
            error,
            slow,
            garbage_every: garbage,
        },
        holds: args.holds.clone(),
    }
}
