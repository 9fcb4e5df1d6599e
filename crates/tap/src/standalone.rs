//! The tap in front of an application: sums that grow, files that are written while it runs, and no
//! list that grows without a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use base::clock::{Epoch, wall};
use base::error::{Error, Result};
use base::paths::new_or_empty;
use record::records::{SCHEMA_VERSION, Tap, TapCommand};
use record::wire::LinkCheck;
use stats::histogram::Histogram;
use stats::hlog::{Interval, IntervalLog};

use super::CommandShape;
use super::exchange::{EXCHANGE_BYTES, Exchange, flags};
use super::link::LinkSpec;
use super::mark::MarkFields;
use super::proxy::{Proxy, ProxyOptions};
use super::tally::Tally;
use super::tap_summary::is_background;
use super::tapped_arm::{Log, Sink};

/// `exchanges.bin` ends at 1 GiB: an hour at 3,700 commands per second. Counting continues.
const EXCHANGES_MAX: u64 = (1 << 30) / EXCHANGE_BYTES as u64;

/// `tap.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TapReport {
    /// Version of the schema, as in an experiment's records.
    pub schema_version: u32,
    /// Version of mongodyno that wrote it.
    pub mongodyno: String,
    /// Address where it listened.
    pub listen: String,
    /// The server.
    pub to: String,
    /// The link between, as asked for, and how it measured up.
    pub link: Option<(String, LinkCheck)>,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// How long it ran, s.
    pub seconds: f64,
    /// The same record as in an experiment. Values per operation are 0: the tap alone does not know
    /// when a call begins.
    pub tap: Tap,
    /// Kinds of commands, by their number in `exchanges.bin`.
    pub shapes: Vec<CommandShape>,
    /// Cautions, a sentence each.
    pub warnings: Vec<String>,
}

/// A line of the live table.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveRow {
    /// The command.
    pub command: String,
    /// Commands per second in the last interval.
    pub rate: f64,
    /// Bytes per second to the server in the last interval.
    pub out: f64,
    /// Bytes per second from the server in the last interval.
    pub back: f64,
    /// Since the start.
    pub total: TapCommand,
}

/// A tap that runs.
pub struct TapSession {
    proxy: Proxy,
    epoch: Epoch,
    started_at: String,
    to: String,
    link: Option<(LinkSpec, LinkCheck)>,
    waiting: Arc<Mutex<Vec<u8>>>,
    files: Files,
    lost: Option<Lost>,
    log: Log,
    commands: BTreeMap<String, Sums>,
    connections: Connections,
    busy_ns: u64,
    kept: u64,
    ticked_ns: u64,
}

#[derive(Default)]
struct Sums {
    tally: Tally,
    /// Server times of the current interval.
    server: Histogram,
    before: TapCommand,
}

#[derive(Default)]
struct Connections {
    opened: u64,
    closed: u64,
    encrypted: u64,
    dropped: u64,
    first_dropped: Option<String>,
    /// Numbers of connections seen open.
    known: BTreeSet<u32>,
    /// Numbers of open connections that carried more than handshakes.
    used: BTreeSet<u32>,
    unused: u64,
}

/// Since when nothing is written down, and why.
struct Lost {
    after_s: f64,
    error: Error,
}

struct Files {
    folder: PathBuf,
    exchanges: BufWriter<File>,
    hlog: BufWriter<File>,
}

impl TapSession {
    /// Begins to listen, and makes the folder.
    ///
    /// # Errors
    /// A folder that exists and is not empty, or cannot be created; an address that cannot be used.
    pub fn start(
        listen: &str,
        to: &str,
        link: Option<(LinkSpec, LinkCheck)>,
        marks: Option<MarkFields>,
        folder: &Path,
        log: Log,
    ) -> Result<Self> {
        let epoch = Epoch::start();
        let waiting: Arc<Mutex<Vec<u8>>> = Arc::default();
        let options = ProxyOptions {
            listen: vec![listen.to_owned()],
            to: to.to_owned(),
            link: link.as_ref().map(|(spec, _)| spec.clone()),
            marks,
            epoch,
            log: log.clone(),
        };
        let proxy = Proxy::start(&options, |_| -> Sink {
            let waiting = waiting.clone();
            Box::new(move |records| waiting.lock().expect("no panic").extend_from_slice(records))
        })?;
        Ok(Self {
            proxy,
            epoch,
            started_at: wall(),
            to: to.to_owned(),
            link,
            waiting,
            files: Files::create(folder)?,
            lost: None,
            log,
            commands: BTreeMap::new(),
            connections: Connections::default(),
            busy_ns: 0,
            kept: 0,
            ticked_ns: 0,
        })
    }

    /// Address where it listens.
    pub fn address(&self) -> SocketAddr {
        self.proxy.addresses()[0]
    }

    /// Takes in what has passed since the last call, and returns the rows of that interval.
    pub fn tick(&mut self) -> Vec<LiveRow> {
        self.proxy.settle(0);
        let records = std::mem::take(&mut *self.waiting.lock().expect("no panic"));
        let now_ns = self.epoch.now_ns();
        let (from, length) = (self.ticked_ns, now_ns.saturating_sub(self.ticked_ns).max(1));
        self.ticked_ns = now_ns;
        let shapes = self.proxy.shapes();
        for record in records.chunks_exact(EXCHANGE_BYTES) {
            let exchange = Exchange::from_bytes(record.try_into().expect("a whole one"));
            self.add(&exchange, &shapes);
        }
        self.take_connections();
        let room = (EXCHANGES_MAX - self.kept) as usize * EXCHANGE_BYTES;
        let kept = &records[..records.len().min(room)];
        let kept = if self.lost.is_some() { &[] } else { kept };
        self.kept += (kept.len() / EXCHANGE_BYTES) as u64;
        let seconds = length as f64 / 1e9;
        let mut rows = Vec::new();
        let mut intervals = Vec::new();
        for (command, sums) in &mut self.commands {
            let total = sums.tally.record();
            let rate =
                |of: fn(&TapCommand) -> u64| (of(&total) - of(&sums.before)) as f64 / seconds;
            rows.push(LiveRow {
                command: command.clone(),
                rate: rate(|it| it.count),
                out: rate(|it| it.bytes_out),
                back: rate(|it| it.bytes_in),
                total: total.clone(),
            });
            sums.before = total;
            if sums.server.count() > 0 {
                intervals.push(Interval {
                    // Characters that a tag cannot hold.
                    tag: Some(command.replace([',', ' '], "_")),
                    start: Duration::from_nanos(from),
                    length: Duration::from_nanos(length),
                    histogram: std::mem::take(&mut sums.server),
                });
            }
        }
        // The application comes first: its bytes are passed on, whatever happens to our files.
        if self.lost.is_none()
            && let Err(error) = self.files.append(kept, intervals)
        {
            let after_s = now_ns as f64 / 1e9;
            let line = format!("nothing is written down any more: {}", error.message);
            (self.log)(&format!("{line}; passing on and counting go on"));
            self.lost = Some(Lost { after_s, error });
        }
        rows
    }

    fn add(&mut self, exchange: &Exchange, shapes: &[CommandShape]) {
        // The list was made after the records were taken, so it has all shapes that they name.
        let shape = &shapes[exchange.shape as usize];
        if !self.commands.contains_key(&shape.command) {
            self.commands.insert(shape.command.clone(), Sums::default());
        }
        let sums = self.commands.get_mut(&shape.command).expect("just made");
        let background = is_background(&shape.command);
        let linked = self.link.is_some();
        let server_ns = exchange.is(flags::ANSWERED).then(|| exchange.server_ns(linked));
        sums.tally.add(exchange, shape, background, server_ns);
        if let Some(server_ns) = server_ns {
            sums.server.record(server_ns);
        }
        if !background {
            self.busy_ns += exchange.whole_ns();
            self.connections.used.insert(exchange.connection);
        }
    }

    fn take_connections(&mut self) {
        let records = self.proxy.connections(0);
        let all = &mut self.connections;
        for record in &records {
            all.opened += u64::from(all.known.insert(record.number));
            if record.closed_ns.is_none() {
                continue;
            }
            all.known.remove(&record.number);
            all.unused += u64::from(!all.used.remove(&record.number));
            all.closed += 1;
            all.encrypted += u64::from(record.encrypted);
            if let Some(why) = &record.dropped {
                all.dropped += 1;
                all.first_dropped.get_or_insert_with(|| why.clone());
            }
        }
    }

    /// Ends the tap and writes `tap.json`. Returns the report, and an error if a file is not
    /// complete.
    pub fn finish(mut self) -> (TapReport, Result<()>) {
        self.tick();
        let encrypted_open =
            self.proxy.connections(0).iter().filter(|it| it.encrypted).count() as u64;
        let seconds = self.epoch.now_ns() as f64 / 1e9;
        let warnings = self.warnings(self.connections.encrypted + encrypted_open);
        let all = &self.connections;
        let idle_open = all.known.iter().filter(|it| !all.used.contains(it)).count() as u64;
        let tap = Tap {
            commands: self
                .commands
                .iter()
                .map(|(name, sums)| (name.clone(), sums.tally.record()))
                .collect(),
            connections_opened: all.opened,
            connections_closed: all.closed,
            connections_peak: self.proxy.connections_peak(0) as u64,
            connections_idle: all.unused + idle_open,
            in_flight_mean: self.busy_ns as f64 / 1e9 / seconds.max(1e-9),
            not_separable: Some("only an adapter's samples tell when a call began".to_owned()),
            ..Tap::default()
        };
        let report = TapReport {
            schema_version: SCHEMA_VERSION,
            mongodyno: env!("CARGO_PKG_VERSION").to_owned(),
            listen: self.address().to_string(),
            to: self.to,
            link: self.link.map(|(spec, check)| (spec.to_string(), check)),
            started_at: self.started_at,
            seconds,
            tap,
            shapes: self.proxy.shapes(),
            warnings,
        };
        let written = self.files.finish(&report);
        (report, self.lost.map_or(written, |lost| Err(lost.error)))
    }

    fn warnings(&self, encrypted: u64) -> Vec<String> {
        let mut warnings = Vec::new();
        if encrypted > 0 {
            warnings.push(format!(
                "encrypted connections (TLS): {encrypted}; their bytes passed, their commands \
                 cannot be seen; connect to the tap without TLS to see them"
            ));
        }
        if self.commands.contains_key("OP_COMPRESSED") {
            warnings.push(
                "compressed messages are counted and not looked into; the option compressors of \
                 the application's URI turns them off"
                    .to_owned(),
            );
        }
        if let Some(why) = &self.connections.first_dropped {
            let count = self.connections.dropped;
            warnings.push(format!("connections dropped: {count}; the first because of {why}"));
        }
        if let Some(Lost { after_s, error }) = &self.lost {
            let why = &error.message;
            warnings.push(format!(
                "exchanges.bin and tap.hlog end after {} s ({why}); the sums hold all",
                format::fixed(*after_s, 0)
            ));
        }
        if self.kept == EXCHANGES_MAX {
            warnings.push(format!(
                "exchanges.bin ends after {EXCHANGES_MAX} exchanges; all others are in the sums"
            ));
        }
        if let Some((_, check)) = self.link.as_ref().filter(|(_, check)| !check.ok) {
            warnings.push(check.sentence.clone());
        }
        warnings
    }
}

impl Files {
    fn create(folder: &Path) -> Result<Self> {
        new_or_empty(folder)?;
        std::fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, &error))?;
        let create = |name: &str| {
            let path = folder.join(name);
            let file =
                File::create_new(&path).map_err(|error| Error::file("write", &path, &error))?;
            Ok::<_, Error>(BufWriter::new(file))
        };
        let (exchanges, mut hlog) = (create("exchanges.bin")?, create("tap.hlog")?);
        let start_time = Some(base::clock::since_1970());
        let header = IntervalLog { start_time, intervals: Vec::new() };
        let written = header.write(&mut hlog);
        written.map_err(|error| Error::file("write", folder, &error))?;
        Ok(Self { folder: folder.to_owned(), exchanges, hlog })
    }

    fn append(&mut self, records: &[u8], intervals: Vec<Interval>) -> Result<()> {
        let write = || -> io::Result<()> {
            self.exchanges.write_all(records)?;
            // `IntervalLog` writes whole logs. This one grows for hours, so only its lines without
            // the header are taken.
            let mut text = Vec::new();
            IntervalLog { start_time: None, intervals }.write(&mut text)?;
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                if !line.starts_with(b"#") && !line.starts_with(b"\"") {
                    self.hlog.write_all(line)?;
                }
            }
            self.exchanges.flush()?;
            self.hlog.flush()
        };
        write().map_err(|error| Error::file("write", &self.folder, &error))
    }

    fn finish(&self, report: &TapReport) -> Result<()> {
        let path = self.folder.join("tap.json");
        let text = serde_json::to_string_pretty(report).expect("reports serialise");
        std::fs::write(&path, text).map_err(|error| Error::file("write", &path, &error))
    }
}
