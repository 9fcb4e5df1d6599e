//! The parent of mongod, a separate process: `mongodyno guard-server INSTANCE`.
//!
//! mongodyno may end in any way, also by SIGKILL, and mongod must end with it. So mongodyno
//! starts itself a second time as the guard, which starts mongod and waits for the end of its
//! stdin. Only mongodyno holds the other end. The guard has its own process group: Ctrl-C in the
//! terminal reaches neither it nor mongod before mongodyno has decided. Should the guard itself be
//! killed, the kernel kills mongod (`PR_SET_PDEATHSIG`). The next start of any mongodyno sweeps the
//! data folder. Rejected: `PR_SET_PDEATHSIG` from mongodyno itself. It leaves the data folder and
//! no clean end of the log, and fires when a thread ends.

use base::say;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::instance::{self, Ending, GuardEvent, GuardOrder, Instance};
use base::child::die_with_parent;
use base::paths::is_full;
use base::process_id::ProcessId;

/// How long mongod may take to end by itself.
const GRACE: Duration = Duration::from_secs(10);

/// Runs the hidden verb; `arguments` are those after `guard-server`. Call it on the main thread,
/// before any other thread exists: mongod dies with the thread that starts it.
pub fn guard_main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let mut arguments = arguments.into_iter();
    let (Some(folder), None) = (arguments.next(), arguments.next()) else {
        say!("guard-server is for mongodyno itself");
        return 2;
    };
    match guard(Path::new(&folder)) {
        Ok(()) => 0,
        Err(error) => {
            say(&GuardEvent::Failed { reason: error.to_string() });
            5
        }
    }
}

fn guard(folder: &Path) -> std::io::Result<()> {
    let instance = Instance { folder: folder.to_path_buf() };
    let _lock = hold(&instance)?;
    let order: GuardOrder = instance::read_json(&instance.order())?;
    if order.detached {
        // Away from the terminal: closing it must not end a background server.
        nix::unistd::setsid()?;
    }
    let result = supervise(&instance, &order);
    let disk_full = is_full(&order.data_folder);
    if !order.keep_data {
        instance::remove_data(&order.data_folder);
    }
    let ending = Ending { disk_full, ..result? };
    if ending.expected {
        let _ = fs::remove_dir_all(folder);
    } else {
        // Kept for `server status`; swept at the next start. A full disk must not hide the ending.
        let _ = instance::write_json(&instance.ending(), &ending);
    }
    say(&GuardEvent::Ended(ending));
    Ok(())
}

/// Takes the lock that shows that this instance is alive. It ends with this process, since mongod
/// does not inherit it.
fn hold(instance: &Instance) -> std::io::Result<File> {
    let lock = OpenOptions::new().write(true).open(instance.lock())?;
    // It waits only as long as `server status` or a sweeper looks at it.
    lock.lock()?;
    // A sweeper may have removed the folder between the two lines above.
    if lock.metadata()?.ino() == fs::metadata(instance.lock())?.ino() {
        Ok(lock)
    } else {
        Err(std::io::Error::other("the instance folder was replaced"))
    }
}

fn supervise(instance: &Instance, order: &GuardOrder) -> std::io::Result<Ending> {
    let asked = Arc::new(AtomicBool::new(false));
    let signals = listen(&asked)?;
    let mut mongod = start_mongod(order)?;
    let result = attend(instance, order, &mut mongod, &signals, &asked);
    if result.is_err() {
        let _ = mongod.kill();
        let _ = mongod.wait();
    }
    result
}

fn attend(
    instance: &Instance,
    order: &GuardOrder,
    mongod: &mut Child,
    signals: &UnixStream,
    asked: &AtomicBool,
) -> std::io::Result<Ending> {
    let guard = ProcessId::of(std::process::id()).expect("this process runs");
    let Some(id) = ProcessId::of(mongod.id()) else {
        return Ok(ending(mongod.wait()?, false)); // it was that fast
    };
    let started = GuardEvent::Started { guard, mongod: id };
    instance::write_json(&instance.processes(), &started)?;
    say(&started);
    if let Some(status) = wait(mongod, signals, asked, !order.detached)? {
        return Ok(ending(status, false));
    }
    stop(mongod, signals).map(|status| ending(status, true))
}

/// Returns a stream that becomes readable at every signal; `asked` becomes true at signals that ask
/// to end.
fn listen(asked: &Arc<AtomicBool>) -> std::io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(asked))?;
    }
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGCHLD] {
        signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
    }
    Ok(reader)
}

fn start_mongod(order: &GuardOrder) -> std::io::Result<Child> {
    // One file for what mongod logs and for what it prints before it can log.
    let log = OpenOptions::new().create(true).append(true).open(&order.log)?;
    let mut command = Command::new(&order.program);
    command.args(&order.arguments).current_dir(&order.data_folder);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    if let Some(library_path) = &order.library_path {
        command.env("LD_LIBRARY_PATH", library_path);
    }
    die_with_parent(&mut command);
    if let Some(procs) = &order.cgroup_procs {
        base::cgroup::enter(&mut command, procs)?;
    }
    command.spawn()
}

/// Waits for the end of mongod, and returns its status, or for a reason to end it, and returns
/// None. It sleeps in the kernel: a guard that woke up by itself would disturb what is measured.
fn wait(
    mongod: &mut Child,
    signals: &UnixStream,
    asked: &AtomicBool,
    watch_stdin: bool,
) -> std::io::Result<Option<ExitStatus>> {
    let stdin = std::io::stdin();
    loop {
        if let Some(status) = mongod.try_wait()? {
            return Ok(Some(status));
        }
        if asked.load(Ordering::SeqCst) {
            return Ok(None);
        }
        let mut watched = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        if watch_stdin {
            watched.push(PollFd::new(stdin.as_fd(), PollFlags::POLLIN));
        }
        wait_for(&mut watched, None)?;
        let stdin_ready = watched.get(1).is_some_and(|fd| fd.any() != Some(false));
        drain(signals);
        // No process writes to it: if it is readable, mongodyno has ended.
        if stdin_ready {
            return Ok(None);
        }
    }
}

fn stop(mongod: &mut Child, signals: &UnixStream) -> std::io::Result<ExitStatus> {
    if let Some(process) = ProcessId::of(mongod.id()) {
        process.signal(Signal::SIGTERM);
    }
    let deadline = Instant::now() + GRACE;
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        if let Some(status) = mongod.try_wait()? {
            return Ok(status);
        }
        wait_for(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], Some(left))?;
        drain(signals);
    }
    mongod.kill()?;
    mongod.wait()
}

fn wait_for(watched: &mut [PollFd<'_>], limit: Option<Duration>) -> std::io::Result<()> {
    let limit = limit.and_then(|limit| PollTimeout::try_from(limit).ok());
    match poll(watched, limit) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn drain(mut signals: &UnixStream) {
    let mut buffer = [0; 64];
    while signals.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

pub(super) fn ending(status: ExitStatus, expected: bool) -> Ending {
    use std::os::unix::process::ExitStatusExt;
    Ending { code: status.code(), signal: status.signal(), expected, ..Ending::default() }
}

/// Writes an event to stdout. mongodyno may have ended; then no one needs it.
fn say(event: &GuardEvent) {
    let line = serde_json::to_string(event).expect("an event is plain data");
    let _ = writeln!(std::io::stdout(), "{line}");
}
