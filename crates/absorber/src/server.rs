//! The absorber as a whole: what its connections share, and the thread that accepts them.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{self, Backlog};

use super::connection::serve;
use super::counters::Counters;
use super::engine::Engine;
use super::faults::{FaultOptions, Faults};
use super::handshake::WireVersions;
use super::holds::HoldLog;
use super::load::{Load, LoadOptions};
use super::log;
use base::clock::monotonic_ns;
use base::process::raise_file_limit;

/// Buffers from here on are pages of their own. Connections keep smaller ones anyway.
const LARGE_BYTES: i32 = 2 << 20;
/// Stack of a connection's thread: only what is touched costs memory.
const STACK_BYTES: usize = 512 << 10;
/// Files that are not connections.
const OTHER_FILES: i64 = 16;
/// Pause after an `accept` that failed for want of files or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// What an absorber is started with.
#[derive(Debug, Clone)]
pub struct Options {
    pub listen: SocketAddr,
    pub wire: WireVersions,
    /// Of documents, index entries, cursors and messages.
    pub memory_bytes: u64,
    pub load: LoadOptions,
    pub faults: FaultOptions,
    /// File for the log of holds.
    pub holds: Option<PathBuf>,
}

/// What all connections share.
#[derive(Debug)]
pub struct Server {
    pub(super) address: SocketAddr,
    pub(super) wire: WireVersions,
    pub(super) began_ns: u64,
    pub(super) connections_max: i64,
    pub(super) engine: Engine,
    pub(super) counters: Counters,
    pub(super) load: Option<Load>,
    pub(super) faults: Faults,
    pub(super) holds: Option<Arc<HoldLog>>,
}

/// An absorber that listens; accepting goes on in a thread for as long as the process lives.
#[derive(Debug)]
pub struct Absorber {
    server: Arc<Server>,
}

impl Server {
    /// An absorber without a socket.
    ///
    /// # Errors
    /// The file of the holds cannot be made.
    pub fn new(options: &Options) -> io::Result<Arc<Self>> {
        let began_ns = monotonic_ns();
        Ok(Arc::new(Self {
            address: options.listen,
            wire: options.wire,
            began_ns,
            connections_max: connections_max(),
            engine: Engine::new(options.memory_bytes),
            counters: Counters::default(),
            load: Load::new(options.load, began_ns),
            faults: Faults::new(options.faults),
            holds: options.holds.as_deref().map(HoldLog::create).transpose()?,
        }))
    }
}

/// Large buffers go back to the system when they are freed. By itself the C library learns from the
/// first of them to keep such sizes, in each of its arenas: after 20 refused answers of 15 MB the
/// process held three times its limit.
#[allow(unsafe_code, reason = "mallopt has no safe form")]
fn return_large_buffers() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number inside the allocator.
    unsafe {
        nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, LARGE_BYTES);
    }
}

impl Absorber {
    /// Listens, and accepts from now on. `listener` is bound already.
    ///
    /// # Errors
    /// The system's: the file of the holds, the socket, the thread.
    pub fn start(listener: TcpListener, options: &Options) -> io::Result<Self> {
        let listen = listener.local_addr()?;
        let server = Server::new(&Options { listen, ..options.clone() })?;
        return_large_buffers();
        // A whole pool, or a thousand clients, may wait for the accepting thread: the standard
        // library asks for 128. A second call only changes the number.
        socket::listen(&listener, Backlog::MAXALLOWABLE)?;
        let shared = Arc::clone(&server);
        thread::Builder::new().name("accept".into()).spawn(move || accept(&listener, &shared))?;
        Ok(Self { server })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Writes what is left of the log of holds. Connections go on until the process ends.
    pub fn finish(self) {
        if let Some(holds) = &self.server.holds {
            holds.flush();
        }
    }
}

fn accept(listener: &TcpListener, server: &Arc<Server>) {
    let mut failing = false;
    for number in 1.. {
        let (stream, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                // Once: who has no files left has none for a while.
                if !failing {
                    log(&format!("a connection could not be accepted: {error}"));
                }
                failing = true;
                thread::sleep(ACCEPT_PAUSE);
                continue;
            }
        };
        failing = false;
        server.counters.connections_created.fetch_add(1, Ordering::Relaxed);
        if server.faults.refuses_connection() {
            continue; // dropping it closes it
        }
        let (server, stream) = (Arc::clone(server), Arc::new(stream));
        let thread = thread::Builder::new().name(format!("connection {number}"));
        let answering = move || answer(&stream, peer, &server, number);
        if let Err(error) = thread.stack_size(STACK_BYTES).spawn(answering) {
            log(&format!("connection {number} of {peer} dropped: no thread for it: {error}"));
        }
    }
}

/// A panic ends this thread alone; the standard library logs it.
fn answer(stream: &Arc<TcpStream>, peer: SocketAddr, server: &Arc<Server>, number: i32) {
    if let Err(error) = serve(stream, server, number) {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it was closed within a message".to_owned(),
            _ => error.to_string(),
        };
        log(&format!("connection {number} of {peer} dropped: {why}"));
    }
}

/// Lets the process open as many files as it may, for each connection is one.
fn connections_max() -> i64 {
    i64::try_from(raise_file_limit()).unwrap_or(i64::MAX) - OTHER_FILES
}
