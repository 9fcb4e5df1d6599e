//! Listeners, one for each arm, and their connections.

use base::say;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::socket::{self, Backlog, setsockopt, sockopt};

use base::clock::{Epoch, sharpen_sleeps};
use base::error::{Error, Exit, Result};
use base::process_id::raise_file_limit;

use super::CommandShape;
use super::link::{LinkSpec, SOCKET_BYTES, SimulatedLink, calibrate};
use super::mark::MarkFields;
use super::recording::ConnectionRecord;
use super::shapes::Shapes;
use super::tapped_arm::{Log, Sink, TappedArm, spawn};
use super::tapped_connection::Connection;

/// Pause after a failed `accept`, mostly for want of file descriptors, so that it is not retried at
/// once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Configuration of a proxy.
pub struct ProxyOptions {
    /// Addresses of the listeners, `HOST:PORT`.
    pub listen: Vec<String>,
    /// The server, `HOST:PORT`.
    pub to: String,
    /// The simulated link; each listener has its own.
    pub link: Option<LinkSpec>,
    /// Fields that identify messages; None if they are not looked for.
    pub marks: Option<MarkFields>,
    /// Zero of all times.
    pub epoch: Epoch,
    /// Log for dropped connections.
    pub log: Log,
}

/// A line on stderr.
pub fn log_to_stderr(line: &str) {
    say!("tap: {line}");
}

/// One listener and its connections.
struct Listener {
    arm: Arc<TappedArm>,
    to: Vec<SocketAddr>,
    connections: Mutex<Connections>,
    stopping: AtomicBool,
}

#[derive(Default)]
struct Connections {
    open: HashMap<u32, Arc<Connection>>,
    /// Most connections open at once.
    peak: usize,
    /// Connections closed since the last request for them.
    closed: Vec<ConnectionRecord>,
}

impl Listener {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        let mut failing = false;
        for client in listener.incoming() {
            if self.stopping.load(Ordering::Relaxed) {
                return;
            }
            let served = client.and_then(|client| {
                let listener = self.clone();
                spawn(move || listener.serve(client))
            });
            // Logged once: a process without free files stays so for a while.
            if let (Err(error), false) = (&served, failing) {
                self.arm.log(&format!("a connection could not be taken: {error}"));
            }
            failing = served.is_err();
            if failing {
                thread::sleep(ACCEPT_PAUSE);
            }
        }
    }

    /// Serves one connection, in its own thread, because a server can be slow to accept it.
    fn serve(self: Arc<Self>, client: TcpStream) {
        let server = TcpStream::connect(&self.to[..]).and_then(|server| {
            for socket in [&client, &server] {
                socket.set_nodelay(true)?;
                if self.arm.link.is_some() {
                    setsockopt(socket, sockopt::SndBuf, &SOCKET_BYTES)?;
                    setsockopt(socket, sockopt::RcvBuf, &SOCKET_BYTES)?;
                }
            }
            Ok(server)
        });
        let server = match server {
            Ok(server) => server,
            Err(error) => {
                return self
                    .arm
                    .log(&format!("a connection dropped: no way to the server: {error}"));
            }
        };
        let connection = Arc::new(Connection::new(self.arm.clone(), client, server));
        let number = connection.number();
        let mut connections = self.lock();
        connections.open.insert(number, connection.clone());
        connections.peak = connections.peak.max(connections.open.len());
        drop(connections);
        connection.serve();
        let record = connection.record(Some(self.arm.epoch.now_ns()));
        let mut connections = self.lock();
        connections.open.remove(&number);
        connections.closed.push(record);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections.lock().expect("no panic")
    }
}

/// A running proxy. After it is dropped it accepts no new connections; open ones continue.
pub struct Proxy {
    listeners: Vec<Arc<Listener>>,
    addresses: Vec<SocketAddr>,
}

impl Proxy {
    /// Begins to listen. `sink` returns the place for the records of a listener, by its number.
    ///
    /// # Errors
    /// An address that cannot be listened on, or a server whose name means nothing.
    pub fn start(options: &ProxyOptions, sink: impl Fn(usize) -> Sink) -> Result<Self> {
        let _ = raise_file_limit(); // connections beyond it are refused, each with a line
        if options.link.is_some() {
            let epoch = options.epoch;
            let calibrated = spawn(move || {
                sharpen_sleeps();
                calibrate(epoch);
            });
            // Without it sleeps are a little late, which the validation would report.
            let _ = calibrated.map(JoinHandle::join);
        }
        let to: Vec<SocketAddr> = resolve(&options.to)?;
        let marks = options.marks.clone().map(Arc::new);
        let (shapes, numbers) = (Arc::new(Shapes::new()), Arc::new(AtomicU32::new(0)));
        let mut proxy = Self { listeners: Vec::new(), addresses: Vec::new() };
        for (number, listen) in options.listen.iter().enumerate() {
            let refused = |error: &io::Error| {
                Error::environment(
                    format!("cannot listen on {listen}: {error}"),
                    "name a free address of this machine, such as --listen 127.0.0.1:27019",
                )
            };
            let listener = TcpListener::bind(listen).map_err(|error| refused(&error))?;
            // The standard library asks for 128: a large pool would wait for a second try.
            socket::listen(&listener, Backlog::MAXALLOWABLE)
                .map_err(|error| refused(&error.into()))?;
            let address = listener.local_addr().map_err(|error| refused(&error))?;
            let arm = Arc::new(TappedArm {
                epoch: options.epoch,
                shapes: shapes.clone(),
                link: options.link.clone().map(SimulatedLink::new),
                marks: marks.clone(),
                sink: sink(number),
                log: options.log.clone(),
                numbers: numbers.clone(),
            });
            let accepting = Arc::new(Listener {
                arm,
                to: to.clone(),
                connections: Mutex::default(),
                stopping: AtomicBool::new(false),
            });
            proxy.listeners.push(accepting.clone());
            spawn(move || accepting.accept(&listener)).map_err(|error| refused(&error))?;
            proxy.addresses.push(address);
        }
        Ok(proxy)
    }

    /// Addresses where it listens, by number.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Hands the records of everything that has passed so far to the listener's sink.
    pub fn settle(&self, arm: usize) {
        let open: Vec<Arc<Connection>> =
            self.listeners[arm].lock().open.values().cloned().collect();
        for connection in open {
            connection.settle();
        }
    }

    /// The listener's connections: open ones, and those closed since the last call.
    pub fn connections(&self, arm: usize) -> Vec<ConnectionRecord> {
        let mut connections = self.listeners[arm].lock();
        let mut records = std::mem::take(&mut connections.closed);
        records.extend(connections.open.values().map(|it| it.record(None)));
        records.sort_by_key(|it| it.number);
        records
    }

    /// Most connections of the listener open at once, since it began.
    pub fn connections_peak(&self, arm: usize) -> usize {
        self.listeners[arm].lock().peak
    }

    /// All kinds of commands so far, by number.
    pub fn shapes(&self) -> Vec<CommandShape> {
        self.listeners.first().map_or_else(Vec::new, |it| it.arm.shapes.list())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        for (listener, address) in self.listeners.iter().zip(&self.addresses) {
            listener.stopping.store(true, Ordering::Relaxed);
            // The connection wakes the listener's thread, which finds that it is to end.
            let _ = TcpStream::connect(address);
        }
    }
}

fn resolve(to: &str) -> Result<Vec<SocketAddr>> {
    let hint = "--to is the address of one server or mongos, HOST:PORT, such as 127.0.0.1:27017";
    if to.contains("://") {
        return Err(Error::usage(format!("--to {to} is a connection string"), hint));
    }
    let found = to.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(Error::new(Exit::Unreachable, format!("--to {to} has no address"), hint)),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(Error::usage(format!("--to {to}: {error}"), hint))
        }
        Err(error) => Err(Error::new(Exit::Unreachable, format!("--to {to}: {error}"), hint)),
    }
}
