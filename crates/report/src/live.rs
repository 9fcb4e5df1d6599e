//! The page of a run under way, for the browsers of this machine.
//!
//! A client has no queue: it is sent the newest state when it has taken the one before. All of them
//! are served by threads of their own, so that none can hold the run or another client.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tiny_http::{Header, Request, Response, Server};

use crate::page_template::{self, PageParts};
use crate::palette::Palette;
use record::records::SCHEMA_VERSION;

/// Requests under way at one time, those for events among them.
const CLIENTS_MAX: usize = 8;
/// A client that has gone is only noticed when something is written to it.
const SIGN_EVERY: Duration = Duration::from_secs(5);
/// Time in which clients may take the last page. One that does not read gets no more.
const FAREWELL: Duration = Duration::from_millis(250);
const EVENTS_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
    Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";

/// The server of the page. It ends with the program.
pub struct LiveServer {
    origin: String,
    token: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// The newest state. An event is empty before there is one.
#[derive(Default)]
struct State {
    progress: Event,
    page: Event,
    ended: bool,
    clients: usize,
}

/// An event as it is sent, and its number.
#[derive(Default, Clone)]
struct Event(u64, Arc<str>);

impl Event {
    fn set(&mut self, name: &str, data: &serde_json::Value) {
        *self = Self(self.0 + 1, format!("event: {name}\ndata: {data}\n\n").into());
    }
}

impl LiveServer {
    /// Listens on a free port of this machine.
    pub fn start() -> io::Result<Self> {
        let server = Server::http("127.0.0.1:0").map_err(io::Error::other)?;
        let origin = server.server_addr().to_string();
        let mut secret = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut secret)?;
        let token = format!("{:032x}", u128::from_ne_bytes(secret));
        let (shell, shared) = (shell()?, Arc::<Shared>::default());
        let (own, path, clients) = (origin.clone(), format!("/{token}/"), Arc::clone(&shared));
        thread::Builder::new().name("live".to_owned()).spawn(move || {
            for request in server.incoming_requests() {
                answer(request, (&own, &path), &shell, &clients);
            }
        })?;
        Ok(Self { origin, token, shared })
    }

    pub fn address(&self) -> String {
        format!("http://{}/{}/", self.origin, self.token)
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
        let is_served = |state: &mut State| state.clients > 0;
        drop(self.shared.changed.wait_timeout_while(self.shared.state(), FAREWELL, is_served));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, state: &str, words: &str, ended: bool) {
        let mut shown = self.state();
        shown.progress.set("progress", &json!({ "state": state, "words": words, "ended": ended }));
        shown.ended = ended;
        self.changed.notify_all();
    }

    /// Sends events until the run ends or the client goes.
    fn feed(&self, mut client: impl Write) -> io::Result<()> {
        client.write_all(EVENTS_HEAD.as_bytes())?;
        let mut seen = (0, 0);
        loop {
            let same = |it: &mut State| (it.page.0, it.progress.0) == seen && !it.ended;
            let waited = self.changed.wait_timeout_while(self.state(), SIGN_EVERY, same);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let (page, progress, ended) = (state.page.clone(), state.progress.clone(), state.ended);
            drop(state);
            if page.0 != seen.0 {
                client.write_all(page.1.as_bytes())?;
            }
            let sign = if progress.0 == seen.1 { ":\n\n" } else { &progress.1 };
            client.write_all(sign.as_bytes())?;
            client.flush()?;
            if ended {
                return Ok(());
            }
            seen = (page.0, progress.0);
        }
    }
}

/// One of the clients, until it is dropped.
struct Client(Arc<Shared>);

impl Client {
    /// None where there are enough.
    fn enter(shared: &Arc<Shared>) -> Option<Self> {
        let mut state = shared.state();
        if state.clients == CLIENTS_MAX {
            return None;
        }
        state.clients += 1;
        Some(Self(Arc::clone(shared)))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.0.state().clients -= 1;
        self.0.changed.notify_all();
    }
}

/// Answers in another thread. A request by another name than the own address comes from a page of
/// somebody else, whose name server says that its host is this machine.
fn answer(request: Request, (own, path): (&str, &str), shell: &Arc<str>, shared: &Arc<Shared>) {
    let hosts = request.headers().iter().filter(|it| it.field.equiv("Host"));
    if hosts.map(|it| it.value.as_str()).collect::<Vec<_>>() != [own] {
        return refuse(request, 403);
    }
    let events = format!("{path}events");
    let asked = request.url() == path || request.url() == events;
    if !asked || *request.method() != tiny_http::Method::Get {
        return refuse(request, 404);
    }
    let Some(client) = Client::enter(shared) else { return refuse(request, 503) };
    let shell = Arc::clone(shell);
    // Without a thread the request is dropped, and the client sees an end.
    let _ = thread::Builder::new().name("live client".to_owned()).spawn(move || {
        // A client that goes is no error.
        let _ = if request.url() == events {
            client.0.feed(request.into_writer())
        } else {
            request.respond(page(&shell))
        };
        drop(client);
    });
}

fn refuse(request: Request, code: u16) {
    let _ = request.respond(Response::empty(code));
}

fn page(text: &str) -> Response<io::Cursor<Vec<u8>>> {
    let headers = [
        ("Content-Type", "text/html; charset=utf-8"),
        ("Cache-Control", "no-store"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
    ];
    let header = |(name, value)| Header::from_bytes(name, value).expect("ASCII");
    headers.into_iter().map(header).fold(Response::from_string(text), Response::with_header)
}

/// The page before there is a round, with the script that shows what is sent.
fn shell() -> io::Result<Arc<str>> {
    let page = json!({ "title": "A run under way", "schema_version": SCHEMA_VERSION });
    let data = String::new();
    let parts = PageParts { template: "live.html", page, palette: Palette::default(), data };
    let mut text = Vec::new();
    page_template::write(&parts, &mut text)?;
    Ok(String::from_utf8(text).map_err(io::Error::other)?.into())
}
