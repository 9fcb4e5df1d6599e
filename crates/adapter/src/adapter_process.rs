//! One running adapter process: start, request and answer, CPU and memory from outside, end.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use regex_lite::Regex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::environment::Environment;
pub use crate::failure::Failure;
use crate::memory_limit::MemoryLimit;
use crate::parse::{QUOTED_CHARACTERS, is_old_answer, parse};
use crate::patience::{Due, Patience, Signs, Wait, sample_bytes};
use crate::protocol::{AdapterAnswer, AdapterRequest, FRAME, Hello, PROTOCOL};
use base::clock::Epoch;
use base::say;
use base::secrets::mask_text;
use base::strings::cut;

const LINE_BYTES_MAX: u64 = 1 << 20;
/// Bytes of a process's stderr that are kept; the rest is read and thrown away.
const LOG_BYTES_MAX: usize = 8 << 20;
/// Beginning of a line of stderr, as errors quote it.
const SAID_CHARACTERS: usize = 500;
/// Most readings of the clock, until one answer comes quickly enough to bound the difference.
const CLOCK_ECHOES: u32 = 50;
/// A good enough bound on the difference: well below the time of any message.
const CLOCK_WITHIN_NS: u64 = 20_000;
/// Time to finish operations in flight after a stop signal (SPEC section 1).
const GRACE: Duration = Duration::from_secs(5);

pub struct AdapterProcess {
    /// Name for people.
    name: String,
    child: Child,
    /// Stdin of the process; None after it is closed.
    stdin: Option<ChildStdin>,
    /// Bytes that the pipe did not take at once.
    unsent: Vec<u8>,
    stdout: BufReader<ChildStdout>,
    log: Arc<Mutex<ProcessLog>>,
    pid: Pid,
    /// Memory limit of the arm.
    memory: Option<Arc<MemoryLimit>>,
    pub hello: Option<Hello>,
    /// Largest difference between its clock and the core's, ns: the tightest bracket of its
    /// answers.
    pub clock_within_ns: u64,
}

/// The adapter's log file and its last lines.
struct ProcessLog {
    file: File,
    left_bytes: usize,
    tail: VecDeque<String>,
    /// Words of a runtime that has used up its memory: a trace of its stack may follow them.
    memory_words: Option<Regex>,
    out_of_memory: Option<String>,
}

impl ProcessLog {
    fn line(&mut self, line: &str) {
        let line = mask_text(line);
        if self.memory_words.as_ref().is_some_and(|words| words.is_match(&line)) {
            self.out_of_memory.get_or_insert_with(|| cut(&line, QUOTED_CHARACTERS));
        }
        if line.len() < self.left_bytes {
            self.left_bytes -= line.len() + 1;
            let _ = writeln!(self.file, "{line}");
        } else if self.left_bytes > 0 {
            self.left_bytes = 0;
            let mib = LOG_BYTES_MAX >> 20;
            let _ = writeln!(self.file, "mongodyno: more than {mib} MiB; the rest is left out");
        }
        if self.tail.len() == 3 {
            self.tail.pop_front();
        }
        self.tail.push_back(cut(&line, SAID_CHARACTERS));
    }

    fn said(&self) -> String {
        let lines: Vec<_> = self.tail.iter().map(String::as_str).collect();
        if lines.is_empty() { String::new() } else { format!("; it said: {}", lines.join(" / ")) }
    }
}

impl AdapterProcess {
    /// Starts the adapter and greets it: `hello` and `clock`.
    pub async fn start(
        environment: &Environment,
        log: &Path,
        epoch: &Epoch,
    ) -> Result<Self, Failure> {
        Self::start_within(environment, log, epoch, None).await
    }

    /// Starts the adapter within the memory of its arm, and greets it.
    pub async fn start_within(
        environment: &Environment,
        log: &Path,
        epoch: &Epoch,
        memory: Option<&Arc<MemoryLimit>>,
    ) -> Result<Self, Failure> {
        let mut process = Self::spawn(environment, log, memory)?;
        process.greet(epoch).await?;
        Ok(process)
    }

    /// Starts the adapter without a greeting.
    pub fn spawn(
        environment: &Environment,
        log: &Path,
        memory: Option<&Arc<MemoryLimit>>,
    ) -> Result<Self, Failure> {
        let start = |error: std::io::Error| Failure::Start(error.to_string());
        let file = File::options().create(true).append(true).open(log).map_err(start)?;
        let mut command = environment.command(&environment.start);
        base::child::die_with_parent(&mut command);
        base::child::keep_to(&mut command, &environment.cores);
        if let Some(memory) = memory {
            command.envs(environment.memory_variable(memory.share_bytes()));
            memory.enter(&mut command).map_err(start)?;
        }
        let mut command = tokio::process::Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        let mut child = command
            .spawn()
            .map_err(|error| Failure::Start(format!("{}: {error}", environment.start.join(" "))))?;
        let pid = Pid::from_raw(child.id().expect("just started").cast_signed());
        if let Some(memory) = memory {
            memory.started(pid);
        }
        let words = environment.out_of_memory.as_deref().filter(|_| memory.is_some());
        let log = Arc::new(Mutex::new(ProcessLog {
            file,
            left_bytes: LOG_BYTES_MAX,
            tail: VecDeque::new(),
            memory_words: words.and_then(|words| Regex::new(words).ok()),
            out_of_memory: None,
        }));
        tokio::spawn(keep_log(child.stderr.take().expect("piped"), Arc::clone(&log)));
        let parts = [&environment.adapter[..], &environment.version];
        Ok(Self {
            name: parts.join("@").trim_end_matches('@').to_owned(),
            stdin: child.stdin.take(),
            unsent: Vec::new(),
            stdout: BufReader::new(child.stdout.take().expect("piped")),
            child,
            log,
            pid,
            memory: memory.cloned(),
            hello: None,
            clock_within_ns: u64::MAX,
        })
    }

    async fn greet(&mut self, epoch: &Epoch) -> Result<(), Failure> {
        let hello = AdapterRequest::Hello { protocol: PROTOCOL, epoch_ns: epoch.to_string() };
        // A JVM on a busy machine needs seconds before it answers.
        match self.request(&hello, Duration::from_secs(30)).await? {
            AdapterAnswer::Hello(hello) if hello.protocol == PROTOCOL => self.hello = Some(*hello),
            AdapterAnswer::Hello(hello) => {
                return Err(Failure::OldProtocol { protocol: hello.protocol });
            }
            other => return Err(Failure::Unexpected { request: "hello", answer: other.name() }),
        }
        for _ in 0..CLOCK_ECHOES {
            let low_ns = epoch.now_ns();
            let answer = self.request(&AdapterRequest::Clock, Duration::from_secs(5)).await?;
            let high_ns = epoch.now_ns();
            match answer {
                AdapterAnswer::Clock { now_ns } if (low_ns..=high_ns).contains(&now_ns) => {
                    // The reading lies between the two: the farther of them bounds the difference.
                    let within_ns = (now_ns - low_ns).max(high_ns - now_ns);
                    self.clock_within_ns = self.clock_within_ns.min(within_ns);
                }
                AdapterAnswer::Clock { now_ns } => {
                    return Err(Failure::Clock { now_ns, low_ns, high_ns });
                }
                other => {
                    return Err(Failure::Unexpected { request: "clock", answer: other.name() });
                }
            }
            if self.clock_within_ns <= CLOCK_WITHIN_NS {
                break;
            }
        }
        Ok(())
    }

    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends one request and waits for its answer.
    ///
    /// # Errors
    /// Any fault of the adapter; after `timeout` it is killed.
    pub async fn request(
        &mut self,
        request: &AdapterRequest,
        timeout: Duration,
    ) -> Result<AdapterAnswer, Failure> {
        self.send(request).await;
        self.answer(request.name(), timeout).await
    }

    /// Sends one request. A closed pipe shows when the answer is awaited.
    pub async fn send(&mut self, request: &AdapterRequest) {
        let line = serde_json::to_string(request).expect("requests serialise");
        self.send_line(&line).await;
    }

    /// Sends a line as it is (for the vectors of wrong lines).
    ///
    /// An adapter that does not read would block the core for ever. Bytes that do not fit into the
    /// pipe are sent while the core waits for the answer, which has a limit.
    pub async fn send_line(&mut self, line: &str) {
        self.unsent.extend_from_slice(format!("{line}\n").as_bytes());
        tokio::select! {
            biased;
            () = self.flush() => {}
            () = std::future::ready(()) => {}
        }
    }

    async fn flush(&mut self) {
        while let Some(stdin) = self.stdin.as_mut().filter(|_| !self.unsent.is_empty()) {
            match stdin.write(&self.unsent).await {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(_) => self.stdin = None,
            }
        }
    }

    /// Closes the adapter's input, as the end of the core would.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Waits for the answer to `request`; an `error` is a [`Failure::Refused`].
    ///
    /// # Errors
    /// Any fault of the adapter; after `timeout` it is killed.
    pub async fn answer(
        &mut self,
        request: &'static str,
        timeout: Duration,
    ) -> Result<AdapterAnswer, Failure> {
        let line = self.answer_line(request, timeout).await?;
        parse(request, &line)
    }

    /// Waits for the answer to a turn that was sent at `sent`. The adapter is lost when its time
    /// has passed, or when during `rest` neither its CPU time nor its samples have grown and its
    /// server is not `busy` for it.
    ///
    /// # Errors
    /// Any fault of the adapter; a hung one is killed.
    pub async fn answer_to_turn(
        &mut self,
        (patience, rest): (Patience, Duration),
        sent: Instant,
        samples: &Path,
        busy: impl AsyncFn() -> bool,
    ) -> Result<AdapterAnswer, Failure> {
        let line = self.line("turn", (patience, rest), sent, Some(samples), busy).await?;
        parse("turn", &line)
    }

    /// Waits for the line that answers `request`, unparsed (for the vectors).
    ///
    /// # Errors
    /// Any fault of the adapter; after `timeout` it is killed.
    pub async fn answer_line(
        &mut self,
        request: &'static str,
        timeout: Duration,
    ) -> Result<String, Failure> {
        // The adapter may use all the time, whether it works or not.
        let patience = (Patience::request(timeout), timeout);
        self.line(request, patience, Instant::now(), None, async || false).await
    }

    async fn line(
        &mut self,
        request: &'static str,
        (patience, rest): (Patience, Duration),
        sent: Instant,
        samples: Option<&Path>,
        busy: impl AsyncFn() -> bool,
    ) -> Result<String, Failure> {
        let (pid, name) = (self.pid, self.name.clone());
        let signs = || Signs {
            cpu_ns: base::child::cpu_ns(pid).unwrap_or(0),
            sample_bytes: samples.map_or(0, sample_bytes),
        };
        let mut wait = Wait::new(patience, rest, (sent, Instant::now()), signs());
        let awaited = {
            let message = self.next_message(request);
            tokio::pin!(message);
            loop {
                if let Ok(awaited) =
                    tokio::time::timeout_at(wait.until().into(), &mut message).await
                {
                    break Ok(awaited);
                }
                let (now, signs) = (Instant::now(), signs());
                match wait.next(now, signs) {
                    Due::Wait => {}
                    Due::Tell => {
                        let (seconds, done) = (wait.seconds(now), wait.done(signs, busy().await));
                        say!("{name} has not answered `{request}` for {seconds} s: {done}");
                    }
                    Due::Rests if busy().await => {}
                    Due::Rests => break Err((wait.rested(), String::new())),
                    Due::Over => {
                        let done = wait.done(signs, busy().await);
                        break Err((patience.most, format!(": {done}")));
                    }
                }
            }
        };
        match awaited {
            Ok(Ok(Some(line))) => Ok(line),
            Ok(Ok(None)) => Err(self.crashed(request).await),
            Ok(Err(failure)) => {
                self.kill().await;
                Err(failure)
            }
            Err((waited, done)) => {
                self.kill().await;
                let said = done + &self.said();
                Err(Failure::Hung { request, seconds: waited.as_secs(), said })
            }
        }
    }

    /// Returns the next answer, without its frame. Text before it goes to the log.
    async fn next_message(&mut self, request: &'static str) -> Result<Option<String>, Failure> {
        self.flush().await;
        loop {
            let mut line = Vec::new();
            let mut limited = (&mut self.stdout).take(LINE_BYTES_MAX);
            match limited.read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return Ok(None),
                Ok(_) => {}
            }
            // JSON has no such byte; chatter may.
            let framed = line.iter().rposition(|byte| *byte == FRAME);
            let chatter = &line[..framed.unwrap_or(line.len())];
            let text = String::from_utf8_lossy(chatter);
            if self.hello.is_none() && framed.is_none() && is_old_answer(&text) {
                return Err(Failure::OldProtocol { protocol: 1 });
            }
            if !text.trim_end().is_empty() {
                self.log.lock().expect("no panic while logging").line(text.trim_end());
            }
            let Some(framed) = framed else { continue };
            let answer = String::from_utf8_lossy(&line[framed + 1..]);
            if !answer.ends_with('\n') {
                if (line.len() as u64) < LINE_BYTES_MAX {
                    return Ok(None); // its last words
                }
                let line = cut(&mask_text(&answer), QUOTED_CHARACTERS);
                return Err(Failure::Garbage { request, line });
            }
            return Ok(Some(answer.trim().to_owned()));
        }
    }

    async fn crashed(&mut self, request: &'static str) -> Failure {
        let status = match tokio::time::timeout(Duration::from_secs(2), self.child.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            _ => "closed its output".to_owned(),
        };
        self.kill().await;
        // The last lines may still be in the pipe.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let own = self.log.lock().expect("no panic while logging").out_of_memory.clone();
        match &self.memory {
            Some(limit) if own.is_some() || limit.killed() => {
                Failure::OutOfMemory { request, said: own }
            }
            _ => Failure::Crashed { status, request, said: self.said() },
        }
    }

    fn said(&self) -> String {
        self.log.lock().expect("no panic while logging").said()
    }

    /// CPU time of the process so far, ns; None once it has gone.
    pub fn cpu_ns(&self) -> Option<u64> {
        base::child::cpu_ns(self.pid)
    }

    /// Asks the process to leave (`close`), then makes it leave.
    ///
    /// # Errors
    /// An answer other than `closed`; the process has gone all the same.
    pub async fn close(mut self) -> Result<(), Failure> {
        let answer = self.request(&AdapterRequest::Close, GRACE).await;
        self.close_input();
        let _ = tokio::time::timeout(GRACE, self.child.wait()).await;
        self.kill().await; // and its children
        match answer? {
            AdapterAnswer::Closed => Ok(()),
            other => Err(Failure::Unexpected { request: "close", answer: other.name() }),
        }
    }

    /// Sends the stop signal; operations in flight may finish.
    pub fn stop(&self) {
        base::child::signal(self.pid, Signal::SIGTERM);
    }

    /// Waits until the process has ended by itself; None after `timeout`.
    pub async fn wait(&mut self, timeout: Duration) -> Option<std::process::ExitStatus> {
        tokio::time::timeout(timeout, self.child.wait()).await.ok()?.ok()
    }

    /// Kills the process and its children.
    pub async fn kill(&mut self) {
        base::child::kill_group(self.pid, Signal::SIGKILL);
        let _ = self.child.wait().await;
    }
}

impl Drop for AdapterProcess {
    fn drop(&mut self) {
        // kill_on_drop reaches the leader alone, not its children.
        if self.child.id().is_some() {
            base::child::kill_group(self.pid, Signal::SIGKILL);
        }
    }
}

async fn keep_log(stderr: ChildStderr, log: Arc<Mutex<ProcessLog>>) {
    let mut lines = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut lines).take(LINE_BYTES_MAX);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                log.lock().expect("no panic while logging").line(text.trim_end());
            }
        }
    }
}
