//! The page of a run under way, for the browsers of this machine.
//!
//! A client has no queue: it is sent the newest state when it has taken the one before. Each is
//! served by a separate thread, so that none can hold the run or another client.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::page_template::{self, PageParts};
use crate::palette::Palette;
use record::records::SCHEMA_VERSION;

/// Connections at one time. A browser tries again after a while.
const CLIENTS_MAX: usize = 8;
const REQUEST_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;
/// A client that sends no request or takes no answer for so long has gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// A client that has gone is only noticed when something is written to it.
const SIGN_EVERY: Duration = Duration::from_secs(5);
/// Time in which clients may take the last page. One that does not read gets no more.
const FAREWELL: Duration = Duration::from_millis(250);
/// Every answer ends with its connection, is kept nowhere, and names no other page.
const HEAD: &str = "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nConnection: close\r\n\r\n";

/// The server of the page. It ends with the program.
pub struct LiveServer {
    own: Arc<LiveSite>,
    shared: Arc<LiveShared>,
}

/// What never changes.
struct LiveSite {
    /// Address and port, as a browser writes them in `Host`.
    origin: String,
    /// Path with the token.
    path: String,
    /// The page before there is a round.
    shell: String,
}

#[derive(Default)]
struct LiveShared {
    state: Mutex<LiveState>,
    changed: Condvar,
}

/// The newest state. An event is empty before there is one.
#[derive(Default)]
struct LiveState {
    progress: LiveEvent,
    page: LiveEvent,
    ended: bool,
    clients: usize,
}

/// An event as it is sent, and its number.
#[derive(Default, Clone)]
struct LiveEvent(u64, Arc<str>);

impl LiveEvent {
    fn set(&mut self, name: &str, data: &serde_json::Value) {
        *self = Self(self.0 + 1, format!("event: {name}\ndata: {data}\n\n").into());
    }
}

impl LiveServer {
    /// Listens on a free port of this machine.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut secret = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut secret)?;
        let token = format!("{:032x}", u128::from_ne_bytes(secret));
        let (origin, shared) = (listener.local_addr()?.to_string(), Arc::<LiveShared>::default());
        let own: Arc<LiveSite> =
            LiveSite { origin, path: format!("/{token}/"), shell: shell()? }.into();
        let server = Self { own: Arc::clone(&own), shared: Arc::clone(&shared) };
        thread::Builder::new().name("live".to_owned()).spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(client) = LiveClient::enter(&shared) else { continue };
                let own = Arc::clone(&own);
                // Without a thread the connection ends. A client that goes is no error.
                let client = move || drop(answer(&own, &client.0, stream));
                let _ = thread::Builder::new().name("live client".to_owned()).spawn(client);
            }
        })?;
        Ok(server)
    }

    pub fn address(&self) -> String {
        format!("http://{}{}", self.own.origin, self.own.path)
    }

    /// Shows how far the run is: in a few words, and all of it.
    pub fn show(&self, state: &str, words: &str) {
        self.shared.say(state, words, false);
    }

    /// Shows this page in the place of the one before.
    pub fn publish(&self, page: &str) {
        self.shared.state().page.set("page", &page.into());
        self.shared.changed.notify_all();
    }

    /// Shows that the run has ended, with its last page. Clients that do not take it are left.
    pub fn end(&self, page: Option<&str>, words: &str) {
        if let Some(page) = page {
            self.publish(page);
        }
        self.shared.say("ended", words, true);
        let is_served = |state: &mut LiveState| state.clients > 0;
        drop(self.shared.changed.wait_timeout_while(self.shared.state(), FAREWELL, is_served));
    }
}

impl LiveShared {
    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, state: &str, words: &str, ended: bool) {
        let mut shown = self.state();
        shown.progress.set("progress", &json!({ "state": state, "words": words, "ended": ended }));
        shown.ended = ended;
        self.changed.notify_all();
    }

    /// Sends events until the run ends or the client goes.
    fn feed(&self, client: &mut TcpStream) -> io::Result<()> {
        let mut seen = (0, 0);
        loop {
            let same = |it: &mut LiveState| (it.page.0, it.progress.0) == seen && !it.ended;
            let waited = self.changed.wait_timeout_while(self.state(), SIGN_EVERY, same);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let (page, progress, ended) = (state.page.clone(), state.progress.clone(), state.ended);
            drop(state);
            if page.0 != seen.0 {
                client.write_all(page.1.as_bytes())?;
            }
            let sign = if progress.0 == seen.1 { ":\n\n" } else { &progress.1 };
            client.write_all(sign.as_bytes())?;
            if ended {
                return Ok(());
            }
            seen = (page.0, progress.0);
        }
    }
}

/// One of the clients, until it is dropped.
struct LiveClient(Arc<LiveShared>);

impl LiveClient {
    /// None where there are enough.
    fn enter(shared: &Arc<LiveShared>) -> Option<Self> {
        let mut state = shared.state();
        if state.clients == CLIENTS_MAX {
            return None;
        }
        state.clients += 1;
        Some(Self(Arc::clone(shared)))
    }
}

impl Drop for LiveClient {
    fn drop(&mut self) {
        self.0.state().clients -= 1;
        self.0.changed.notify_all();
    }
}

/// Answers the one request of a connection. A request by another name than the own address comes
/// from a page of somebody else, whose name server says that its host is this machine.
fn answer(own: &LiveSite, shared: &LiveShared, mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut bytes = vec![0; REQUEST_BYTES_MAX];
    let mut count = 0;
    loop {
        let read = stream.read(&mut bytes[count..])?;
        count += read;
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(&bytes[..count]).map_err(io::Error::other)?;
        if parsed.is_complete() {
            let path = request.path.filter(|_| request.method == Some("GET"));
            let mut hosts =
                request.headers.iter().filter(|it| it.name.eq_ignore_ascii_case("Host"));
            let is_own = hosts.next().is_some_and(|it| it.value == own.origin.as_bytes())
                && hosts.next().is_none();
            let below = path.and_then(|path| path.strip_prefix(&own.path));
            let (code, kind, body) = match below {
                _ if !is_own => ("403 Forbidden", "text/plain", ""),
                Some("") => ("200 OK", "text/html; charset=utf-8", own.shell.as_str()),
                Some("events") => ("200 OK", "text/event-stream", ""),
                _ => ("404 Not Found", "text/plain", ""),
            };
            let head = format!("HTTP/1.1 {code}\r\nContent-Type: {kind}\r\n{HEAD}{body}");
            stream.write_all(head.as_bytes())?;
            let is_fed = kind == "text/event-stream";
            return if is_fed { shared.feed(&mut stream) } else { Ok(()) };
        }
        if read == 0 {
            return Ok(()); // an end, or more than a request has
        }
    }
}

/// The page before there is a round, with the script that shows what is sent.
fn shell() -> io::Result<String> {
    let page = json!({ "title": "A run under way", "schema_version": SCHEMA_VERSION });
    let data = String::new();
    let parts = PageParts { template: "live.html", page, palette: Palette::default(), data };
    let mut text = Vec::new();
    page_template::write(&parts, &mut text)?;
    String::from_utf8(text).map_err(io::Error::other)
}
