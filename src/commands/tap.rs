//! `mongodyno tap`: in front of anybody's application, or driven by the core.

use base::say;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::cli::TapArgs;
use base::clock::Epoch;
use base::error::{Error, Result};
use base::say::clean;
use format::{bytes, count, figure, fixed, optional};
use measure::setup::new_id;
use record::records::TapCommand;
use tap::control::{self, ControlOptions};
use tap::link::LinkSpec;
use tap::proxy::log_to_stderr;
use tap::standalone::{LiveRow, TapReport, TapSession};
use tap::tapped_arm::Log;
use tap::validate::validate;

const INTERVAL: Duration = Duration::from_secs(1);

pub fn run(args: &TapArgs) -> Result<()> {
    if args.to.contains(['@', '/']) {
        // Not repeated: it has a password in it.
        return Err(Error::usage(
            "--to takes the address of a server, not a connection string",
            "write --to HOST:PORT; the application keeps user and password",
        ));
    }
    let link = args.link.as_deref().map(LinkSpec::parse).transpose()?;
    match args.arms {
        Some(arms) => driven(args, arms, link),
        None => alone(args, link),
    }
}

fn driven(args: &TapArgs, arms: u16, link: Option<LinkSpec>) -> Result<()> {
    let epoch = args.epoch_ns.unwrap_or_else(Epoch::start);
    let start = ControlOptions { to: args.to.clone(), arms, epoch, link, marks: args.mark.clone() };
    control::serve(&start, std::io::stdin().lock(), &mut std::io::stdout())
}

fn no_signals(error: &std::io::Error) -> Error {
    Error::environment(format!("signals cannot be watched: {error}"), "")
}

fn alone(args: &TapArgs, link: Option<LinkSpec>) -> Result<()> {
    let stop = stop().map_err(|error| no_signals(&error))?;
    let link = link.map(|spec| validate(&spec).map(|check| (spec, check))).transpose()?;
    let folder = args.out.clone().unwrap_or_else(|| {
        PathBuf::from("mongodyno-results")
            .join(format!("tap-{}", new_id(u64::from(std::process::id()))))
    });
    let live = Live::new();
    let (marks, log) = (args.mark.clone(), live.log());
    let mut session = TapSession::start(&args.listen, &args.to, link.clone(), marks, &folder, log)?;
    if let Some((spec, check)) = &link {
        live.say(&check.sentence);
        live.say(&spec.buffers());
    }
    live.say(&format!(
        "listening on {}, passing on to {}; point the application there, Ctrl-C ends the tap",
        session.address(),
        args.to
    ));
    if !session.address().ip().is_loopback() {
        live.say("this is not 127.0.0.1: whoever reaches the port reaches the server through it");
    }
    let mut next = Instant::now() + INTERVAL;
    while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(next - Instant::now()) {
        live.show(&session.tick());
        next = (next + INTERVAL).max(Instant::now());
    }
    live.end();
    let (report, written) = session.finish();
    super::print(&text(&report))?;
    say!("files: {}", folder.display());
    written
}

/// Receives something when somebody asks for the end. Neither a closed terminal nor a file at its
/// limit ends a tap, for an application depends on it.
fn stop() -> std::io::Result<Receiver<()>> {
    for signal in [SIGHUP, SIGXFSZ] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            let _ = sender.send(());
        }
    });
    Ok(receiver)
}

/// The live table on a terminal; lines otherwise.
struct Live {
    bar: Option<ProgressBar>,
}

impl Live {
    fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{msg}").expect("a valid template");
            ProgressBar::new_spinner().with_style(style)
        });
        Self { bar }
    }

    fn log(&self) -> Log {
        match self.bar.clone() {
            Some(bar) => Arc::new(move |line| bar.println(clean(&format!("tap: {line}")))),
            None => Arc::new(log_to_stderr),
        }
    }

    fn say(&self, line: &str) {
        self.log()(line);
    }

    fn show(&self, rows: &[LiveRow]) {
        let Some(bar) = &self.bar else { return };
        let mut table = super::PlainTable::default();
        table.add_row(["command", "per s", "p50 µs", "p99 µs", "out per s", "in per s"]);
        for row in rows {
            table.add_row([
                row.command.clone(),
                figure(row.rate),
                optional(row.total.server_p50_us),
                optional(row.total.server_p99_us),
                bytes(row.out as u64),
                bytes(row.back as u64),
            ]);
        }
        bar.set_message(table.to_string());
        bar.tick();
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The summary: one row a command, then connections and warnings.
fn text(report: &TapReport) -> String {
    use std::fmt::Write as _;
    let mut table = super::PlainTable::default();
    table.add_row([
        "command",
        "count",
        "per s",
        "p50 µs",
        "p99 µs",
        "documents",
        "unanswered",
        "bytes out",
        "bytes in",
    ]);
    for (name, it) in &report.tap.commands {
        table.add_row(row(name, it, report.seconds));
    }
    let mut text = format!("{table}\n");
    let tap = &report.tap;
    let _ = writeln!(
        text,
        "{} s; connections: {} opened, {} closed, at most {} at once; commands under way: {} on \
         average",
        fixed(report.seconds, 1),
        count(tap.connections_opened),
        count(tap.connections_closed),
        count(tap.connections_peak),
        figure(tap.in_flight_mean)
    );
    text.push_str(
        "Times are those of server and wire: from the last byte of a request to the last of its \
         answer.\n",
    );
    for warning in &report.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

fn row(name: &str, it: &TapCommand, seconds: f64) -> [String; 9] {
    [
        name.to_owned(),
        count(it.count),
        figure(it.count as f64 / seconds),
        optional(it.server_p50_us),
        optional(it.server_p99_us),
        count(it.documents),
        count(it.unanswered),
        bytes(it.bytes_out),
        bytes(it.bytes_in),
    ]
}
