//! Threads of idle priority that keep cores from halting during turns (decision 0035).
//!
//! A virtual core that halts wakes up late, by a random time. Where the clock shows this, one
//! thread a core runs plain loops while nothing else wants the core. The threads belong to the core
//! program: they cannot outlive it, and their CPU time is ours.

use std::fs;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use base::child::usable_cores;
use record::records::KeepAwake;
use stats::descriptive::median;

/// The smallest gain in the round trip that counts, as a fraction; less is noise.
const GAIN_MIN: f64 = 0.1;
/// Pairs of windows, one without and one with awake cores.
const PAIRS: usize = 5;
/// Length of one window.
const WINDOW: Duration = Duration::from_millis(30);
/// Work of each side between two messages, some 20 us, as in a driver or a server. It shows where
/// two threads of one physical core slow each other down.
const WORK: u32 = 10_000;

/// The threads; they end with the value.
pub struct Awake {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    spin: AtomicBool,
    end: AtomicBool,
}

/// Keeps cores awake until it is dropped.
pub struct Spinning(Arc<Shared>);

impl Awake {
    /// Starts one sleeping thread for each usable core.
    pub fn start() -> Result<Self, String> {
        let mut awake = Self { shared: Arc::default(), threads: Vec::new() };
        for core in usable_cores() {
            let shared = Arc::clone(&awake.shared);
            let (sender, ready) = std::sync::mpsc::channel();
            let body = move || {
                let idle = lower(core);
                let refused = idle.is_err();
                let _ = sender.send(idle);
                while !refused && !shared.end.load(Ordering::Acquire) {
                    // Plain loops: the spin instruction makes a virtual machine exit.
                    #[allow(clippy::missing_spin_loop, reason = "as said")]
                    while shared.spin.load(Ordering::Relaxed) {}
                    thread::park();
                }
            };
            let spawned = thread::Builder::new().name("keep-awake".to_owned()).spawn(body);
            awake.threads.push(spawned.map_err(|error| format!("no thread for it: {error}"))?);
            let idle = ready.recv().map_err(|error| error.to_string())?;
            idle.map_err(|error| format!("idle priority is refused: {error}"))?;
        }
        Ok(awake)
    }

    pub fn spin(&self) -> Spinning {
        self.shared.spin.store(true, Ordering::Release);
        self.wake();
        Spinning(Arc::clone(&self.shared))
    }

    fn wake(&self) {
        for thread in &self.threads {
            thread.thread().unpark();
        }
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.0.spin.store(false, Ordering::Release);
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.shared.end.store(true, Ordering::Release);
        self.shared.spin.store(false, Ordering::Release);
        // Not joined: on a busy machine threads of idle priority may not run for a while.
        self.wake();
    }
}

/// Binds this thread to a core, at idle priority.
#[allow(unsafe_code, reason = "sched_setscheduler has no safe form")]
fn lower(core: usize) -> nix::Result<()> {
    let mut set = CpuSet::new();
    set.set(core)?;
    sched_setaffinity(Pid::from_raw(0), &set)?;
    let parameters = nix::libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 is this thread, and the parameters outlive the call.
    let answer =
        unsafe { nix::libc::sched_setscheduler(0, nix::libc::SCHED_IDLE, &raw const parameters) };
    nix::errno::Errno::result(answer).map(drop)
}

/// Decides whether cores are kept awake, with the reason. `servers` are local server processes that
/// we did not start.
pub fn decide(is_asked: bool, servers: &[u32]) -> (Option<Awake>, KeepAwake) {
    let unused = |reason: &str| KeepAwake {
        used: false,
        reason: reason.to_owned(),
        round_trip_us: None,
        round_trip_awake_us: None,
    };
    if !is_asked {
        return (None, unused("not asked for"));
    }
    if limits_time() {
        return (None, unused("the control group limits CPU time, which they would use up"));
    }
    // Idle priority holds within one group. Against another group the threads would take half.
    if servers.iter().any(|pid| group(&pid.to_string()) != group("self")) {
        return (
            None,
            unused("the server is in another scheduling group and would be slowed down"),
        );
    }
    match Awake::start() {
        Err(refusal) => (None, unused(&refusal)),
        Ok(awake) => {
            let record = weigh(&measure(&awake));
            (record.used.then_some(awake), record)
        }
    }
}

/// Decides by the round trips of pairs of windows, without and with awake cores, us.
fn weigh(pairs: &[(f64, f64)]) -> KeepAwake {
    let middle =
        |value: fn(&(f64, f64)) -> f64| median(&pairs.iter().map(value).collect::<Vec<_>>());
    let used = middle(|pair| pair.1 / pair.0).is_some_and(|ratio| ratio < 1.0 - GAIN_MIN);
    let reason =
        if used { "cores halt, and wake up late" } else { "cores wake up as quickly without" };
    KeepAwake {
        used,
        reason: reason.to_owned(),
        round_trip_us: middle(|pair| pair.0),
        round_trip_awake_us: middle(|pair| pair.1),
    }
}

/// Round trips in pairs of windows, us: a disturbance falls on both alike.
fn measure(awake: &Awake) -> Vec<(f64, f64)> {
    let pair = |_| {
        let plain = round_trip_us().ok()?;
        let _spinning = awake.spin();
        Some((plain, round_trip_us().ok()?))
    };
    (0..PAIRS).filter_map(pair).collect()
}

/// Mean round trip of a byte to another thread, us.
fn round_trip_us() -> std::io::Result<f64> {
    let (mut near, mut far) = UnixStream::pair()?;
    let echo = thread::spawn(move || {
        let mut byte = [0];
        while far.read(&mut byte).is_ok_and(|count| count > 0) {
            work();
            if far.write_all(&byte).is_err() {
                break;
            }
        }
    });
    let (began, mut trips) = (Instant::now(), 0);
    while began.elapsed() < WINDOW {
        work();
        near.write_all(&[1])?;
        near.read_exact(&mut [0])?;
        trips += 1;
    }
    let took = began.elapsed();
    drop(near);
    let _ = echo.join();
    Ok(took.as_secs_f64() * 1e6 / f64::from(trips))
}

fn work() {
    let mut state = 1_u32;
    for _ in 0..WORK {
        state = black_box(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    }
}

/// Control group and, where the kernel groups by session, session: idle priority holds within them.
fn group(pid: &str) -> [Option<String>; 2] {
    let read = |path: String| fs::read_to_string(path).ok();
    let by_session = read("/proc/sys/kernel/sched_autogroup_enabled".to_owned());
    let by_session = by_session.is_some_and(|enabled| enabled.trim() == "1");
    let session = by_session.then(|| read(format!("/proc/{pid}/autogroup"))).flatten();
    [read(format!("/proc/{pid}/cgroup")), session]
}

/// Whether a control group above us limits our CPU time.
fn limits_time() -> bool {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups.lines().any(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return false };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "cpu.max"),
            it if it.split(',').any(|it| it == "cpu") => ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"),
            _ => return false,
        };
        let limit = |at: &str| fs::read_to_string(format!("{root}{at}/{file}")).unwrap_or_default();
        let mut at = path.trim_end_matches('/');
        loop {
            if limit(at).trim_start().starts_with(|first: char| first.is_ascii_digit()) {
                return true;
            }
            match at.rfind('/') {
                Some(parent) => at = &at[..parent],
                None => return false,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_kept_awake_where_it_shortens_a_round_trip() {
        let halting = weigh(&[(100.0, 50.0), (900.0, 60.0), (90.0, 95.0)]);
        assert!(halting.used, "{halting:?}");
        assert_eq!((halting.round_trip_us, halting.round_trip_awake_us), (Some(100.0), Some(60.0)));
        assert!(!weigh(&[(50.0, 48.0), (50.0, 46.0), (51.0, 80.0)]).used);
        assert!(!weigh(&[]).used, "nothing measured");
    }

    #[test]
    fn what_is_not_asked_for_is_not_measured() {
        let (awake, record) = decide(false, &[]);
        assert!(awake.is_none() && !record.used && record.round_trip_us.is_none());
    }

    #[test]
    fn they_spin_while_asked_to_sleep_between_and_end() {
        // A container for example may refuse idle priority.
        let Ok(awake) = Awake::start() else { return };
        let state = |wanted: &[char]| {
            let mut states = Vec::new();
            for task in fs::read_dir("/proc/self/task").expect("Linux").flatten() {
                let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
                if stat.contains("(keep-awake)") {
                    states.extend(stat.rsplit(") ").next().and_then(|it| it.chars().next()));
                }
            }
            states.iter().all(|state| wanted.contains(state)).then_some(states.len())
        };
        let wait = |what: &str, done: &dyn Fn() -> bool| {
            let deadline = Instant::now() + Duration::from_secs(60);
            while !done() {
                assert!(Instant::now() < deadline, "{what}: {:?}", state(&['R', 'S']));
                thread::sleep(Duration::from_millis(5));
            }
        };
        let all = Some(usable_cores().len());
        wait("asleep at first", &|| state(&['S']) == all);
        let spinning = awake.spin();
        wait("at work", &|| state(&['R']) == all);
        drop(spinning);
        wait("asleep again", &|| state(&['S']) == all);
        drop(awake);
        wait("gone", &|| state(&['R', 'S']) == Some(0));
    }
}
