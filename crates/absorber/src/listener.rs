//! The thread that accepts connections, and starts one for each.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{self, Backlog};

use super::client_connection::serve;
use super::log;
use super::shared_state::{AbsorberOptions, SharedState};

/// Size from which buffers are separate pages. Connections keep smaller ones anyway.
const LARGE_BYTES: i32 = 2 << 20;
/// Stack of a connection's thread: only what is touched costs memory.
const STACK_BYTES: usize = 512 << 10;
/// Pause after an `accept` that failed for want of files or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// An absorber that listens; a thread accepts connections until the process ends.
#[derive(Debug)]
pub struct Absorber {
    server: Arc<SharedState>,
}

/// Makes large buffers go back to the system when they are freed. By itself the C library learns
/// from the first of them to keep such sizes, in each of its arenas: after 20 refused answers of 15
/// MB the process used three times its limit.
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
    pub fn start(listener: TcpListener, options: &AbsorberOptions) -> io::Result<Self> {
        let listen = listener.local_addr()?;
        let server = SharedState::new(&AbsorberOptions { listen, ..options.clone() })?;
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

fn accept(listener: &TcpListener, server: &Arc<SharedState>) {
    let mut failing = false;
    for number in 1.. {
        let (stream, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                // Logged once: a process without free files stays so for a while.
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

/// Serves a connection. A panic ends this thread alone; the standard library logs it.
fn answer(stream: &Arc<TcpStream>, peer: SocketAddr, server: &Arc<SharedState>, number: i32) {
    if let Err(error) = serve(stream, server, number) {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it was closed within a message".to_owned(),
            _ => error.to_string(),
        };
        log(&format!("connection {number} of {peer} dropped: {why}"));
    }
}
