//! The simulated link: bandwidth each way, delay, jitter.
//!
//! It is a token bucket in virtual time. A chunk departs after the chunks before it, and takes its
//! bytes / bandwidth. It is delivered half a round trip later. No thread waits for tokens; a writer
//! sleeps until the delivery's time (see `pipe`). All connections of a listener share the
//! bandwidth, separately for each direction, as on one cable.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::str::FromStr;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use base::clock::{self, Epoch};
use base::error::{Error, Result};
use base::units::{parse_bits_per_second, parse_duration};

/// The help of `--link`, for every verb that has it.
pub const HELP: &str = "\
Simulate a link between driver and server: BANDWIDTH,rtt=TIME[,jitter=TIME], such as \
100mbit,rtt=0.6ms, or a preset:
lan-100mbit: 100mbit, rtt 0.6ms
lan-1gbit: 1gbit, rtt 0.3ms
same-region: 2gbit, rtt 1ms; two zones of a region of a public cloud, instances of middle size \
(the largest get 5 Gbit/s a connection, which two cores cannot pretend)
cross-region: 500mbit, rtt 60ms; two regions a continent apart
Bandwidth is that of payload, each way: an Ethernet of 100 Mbit/s carries 94. Jitter is spread \
evenly around half the rtt, each way; bytes never overtake each other.
Loss is not simulated: TCP's answer to a lost packet (retransmission, a smaller window) is the \
kernel's, and ends where a connection ends. A proxy in user space ends both of its connections, so \
it could only invent a pause and call it loss. Use the kernel's netem for that.";

const PRESETS: [(&str, &str); 4] = [
    ("lan-100mbit", "100mbit,rtt=0.6ms"),
    ("lan-1gbit", "1gbit,rtt=0.3ms"),
    ("same-region", "2gbit,rtt=1ms"),
    ("cross-region", "500mbit,rtt=60ms"),
];

const BITS_PER_SECOND_MIN: u64 = 256_000;
const BITS_PER_SECOND_MAX: u64 = 100_000_000_000;
const RTT_MAX: Duration = Duration::from_secs(2);
/// A chunk takes about a millisecond of the link, within an Ethernet packet and this maximum: one
/// connection must not keep the others waiting.
const CHUNK_BYTES_MAX: usize = 16 << 10;
const CHUNK_BYTES_MIN: usize = 1460;
/// Bandwidth beyond which such chunks would cost more wake-ups than two cores can do.
const FAST_BITS_PER_SECOND: u64 = 1_000_000_000;
const FAST_CHUNK_BYTES: usize = 64 << 10;
/// Least size of a switch port's queue, beside the bytes on the wire. It has to hold the bytes that
/// a fast link carries while a busy machine delays the filling thread.
const QUEUE_BYTES_MIN: usize = 256 << 10;
const QUEUE: Duration = Duration::from_millis(4);
/// Buffer size that each of the tap's sockets asks the kernel for, each way. The kernel's own sizes
/// grow to megabytes: unacknowledged writes would vanish into them at the speed of memory.
pub const SOCKET_BYTES: usize = 128 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSpec {
    text: String,
    bits_per_second: u64,
    rtt: Duration,
    jitter: Duration,
}

impl FromStr for LinkSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let preset = PRESETS.iter().find(|(name, _)| *name == text);
        let mut parts = preset.map_or(text, |(_, spec)| spec).split(',');
        let bits_per_second = parse_bits_per_second(parts.next().unwrap_or_default())
            .map_err(|error| format!("{error}, and no preset ({})", preset_names()))?;
        let (mut rtt, mut jitter) = (None, None);
        for part in parts {
            let place = match part.split_once('=') {
                Some(("rtt", value)) => (&mut rtt, value),
                Some(("jitter", value)) => (&mut jitter, value),
                _ => return Err(format!("{part:?} is neither rtt=TIME nor jitter=TIME")),
            };
            if place.0.replace(parse_duration(place.1)?).is_some() {
                return Err(format!("{part:?} comes after another one"));
            }
        }
        let rtt = rtt.ok_or("a link needs rtt=TIME, such as 100mbit,rtt=0.6ms")?;
        let jitter = jitter.unwrap_or_default();
        if !(BITS_PER_SECOND_MIN..=BITS_PER_SECOND_MAX).contains(&bits_per_second) {
            return Err("a bandwidth lies between 256kbit and 100gbit".to_owned());
        }
        if rtt > RTT_MAX {
            return Err("an rtt of more than 2s is no link".to_owned());
        }
        if jitter > rtt {
            // Each way it is at most half of itself on either side of half the rtt.
            return Err("jitter must not exceed the rtt".to_owned());
        }
        Ok(Self { text: text.to_owned(), bits_per_second, rtt, jitter })
    }
}

fn preset_names() -> String {
    PRESETS.map(|(name, _)| name).join(", ")
}

impl fmt::Display for LinkSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl LinkSpec {
    /// Reads `--link`.
    ///
    /// # Errors
    /// The mistake, and how a link is written.
    pub fn parse(text: &str) -> Result<Self> {
        text.parse().map_err(|error: String| {
            Error::usage(format!("--link {text}: {error}"), "see `mongodyno tap --help`")
        })
    }

    /// Bandwidth each way, bits a second.
    pub fn bits_per_second(&self) -> u64 {
        self.bits_per_second
    }

    pub fn rtt(&self) -> Duration {
        self.rtt
    }

    /// Bytes of a connection on the link, each way: on the wire and in the queue before it. Beyond
    /// them the tap stops reading.
    pub fn buffer_bytes(&self) -> usize {
        self.queue_bytes() + self.bytes_in((self.rtt + self.jitter) / 2)
    }

    fn queue_bytes(&self) -> usize {
        self.bytes_in(QUEUE).max(QUEUE_BYTES_MIN)
    }

    fn bytes_in(&self, time: Duration) -> usize {
        let bytes = u128::from(self.bits_per_second) * time.as_nanos() / 8_000_000_000;
        usize::try_from(bytes).expect("at most 2 s of 100 Gbit/s")
    }

    /// The sizes that matter for one-way writes, in words.
    pub fn buffers(&self) -> String {
        format!(
            "each connection holds at most {} KiB each way on the link ({} KiB under way, {} KiB \
             in its queue), and {} KiB asked of the kernel for each socket buffer of the tap; what \
             a driver writes without waiting for answers can vanish into these before it is slowed",
            self.buffer_bytes() >> 10,
            (self.buffer_bytes() - self.queue_bytes()) >> 10,
            self.queue_bytes() >> 10,
            SOCKET_BYTES >> 10,
        )
    }

    /// Most bytes read at once.
    pub(super) fn chunk_bytes(&self) -> usize {
        if self.bits_per_second > FAST_BITS_PER_SECOND {
            return FAST_CHUNK_BYTES;
        }
        let millisecond = usize::try_from(self.bits_per_second / 8000).expect("at most 1 Gbit/s");
        millisecond.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX)
    }
}

#[derive(Debug)]
pub(super) struct SimulatedLink {
    pub spec: LinkSpec,
    /// To the server, to the client.
    pub ways: [LinkDirection; 2],
}

impl SimulatedLink {
    pub fn new(spec: LinkSpec) -> Self {
        let hop_ns = HOP_NS.get().copied().unwrap_or_default();
        let ways = [1, 2].map(|seed| LinkDirection::new(&spec, hop_ns, seed));
        Self { spec, ways }
    }
}

/// One way of the link. Times are ns since the epoch.
#[derive(Debug)]
pub(super) struct LinkDirection {
    ns_per_byte: f64,
    delay_ns: u64,
    jitter_ns: u64,
    state: Mutex<WayState>,
}

#[derive(Debug)]
struct WayState {
    free_ns: f64,
    random: u64,
}

impl LinkDirection {
    fn new(spec: &LinkSpec, hop_ns: u64, seed: u64) -> Self {
        Self {
            ns_per_byte: 8e9 / spec.bits_per_second as f64,
            delay_ns: (spec.rtt.as_nanos() as u64 / 2).saturating_sub(hop_ns),
            jitter_ns: spec.jitter.as_nanos() as u64,
            state: Mutex::new(WayState { free_ns: 0.0, random: seed }),
        }
    }

    /// Delivery time of `bytes` that come to the link at `now_ns`.
    pub fn delivery_ns(&self, bytes: usize, now_ns: u64) -> u64 {
        let mut state = self.state.lock().expect("no panic");
        // Fractions of a nanosecond count: at 5 Gbit/s a small message takes few of them.
        let departure = state.free_ns.max(now_ns as f64) + bytes as f64 * self.ns_per_byte;
        state.free_ns = departure;
        let jitter = if self.jitter_ns == 0 {
            0.0
        } else {
            (fraction(&mut state.random) - 0.5) * self.jitter_ns as f64
        };
        (departure + self.delay_ns as f64 + jitter).max(now_ns as f64) as u64
    }
}

/// The next of a sequence of numbers in [0, 1): splitmix64. The link's seed is fixed, so that every
/// arm meets the same jitter.
fn fraction(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Usual lateness of this process's sleeps, ns.
static LATE_NS: OnceLock<u64> = OnceLock::new();
/// Cost of the detour through the tap, one way, ns.
static HOP_NS: OnceLock<u64> = OnceLock::new();

/// Measures the lateness of sleeps and the time of a hop over a socket, once, in some milliseconds.
/// The thread has called [`clock::sharpen_sleeps`].
pub(super) fn calibrate(epoch: Epoch) {
    LATE_NS.get_or_init(|| usually_late_ns(epoch));
    // Without sockets nothing passes that would need it.
    HOP_NS.get_or_init(|| usual_hop_ns(epoch).unwrap_or_default());
}

/// Sleeps until `at_ns` since the epoch, as near as this machine can. It spins through the last
/// stretch, the usual lateness of sleeps.
pub(super) fn sleep_until(epoch: Epoch, at_ns: u64) {
    let early = at_ns.saturating_sub(LATE_NS.get().copied().unwrap_or_default());
    if epoch.now_ns() < early {
        clock::sleep_until(epoch.system_ns(early));
    }
    while epoch.now_ns() < at_ns {
        std::hint::spin_loop();
    }
}

/// Half the median round trip between two threads over a socket, ns: write, wake up, read. The tap
/// adds one such hop each way, and shortens the link's delay by it.
fn usual_hop_ns(epoch: Epoch) -> io::Result<u64> {
    const ROUND_TRIPS: usize = 61;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (mut far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let echo = std::thread::spawn(move || {
        let mut byte = [0];
        while far.read_exact(&mut byte).and_then(|()| far.write_all(&byte)).is_ok() {}
    });
    let mut times: Vec<u64> = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let began = epoch.now_ns();
        near.write_all(&[0])?;
        near.read_exact(&mut [0])?;
        times.push(epoch.now_ns() - began);
    }
    drop(near);
    let _ = echo.join();
    times.sort_unstable();
    Ok((times[ROUND_TRIPS / 2] / 2).min(LATE_NS_MAX))
}

/// Beyond this the machine is busy, and the lateness is not the sleep's.
const LATE_NS_MAX: u64 = 100_000;

/// Median lateness of a few sleeps, ns. More than [`LATE_NS_MAX`] is not spun away.
fn usually_late_ns(epoch: Epoch) -> u64 {
    const SLEEPS: usize = 31;
    let mut late: Vec<u64> = (0..SLEEPS)
        .map(|_| {
            let at = epoch.now_ns() + 100_000;
            clock::sleep_until(epoch.system_ns(at));
            epoch.now_ns().saturating_sub(at)
        })
        .collect();
    late.sort_unstable();
    late[SLEEPS / 2].min(LATE_NS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> LinkSpec {
        text.parse().expect(text)
    }

    #[test]
    fn links_are_read() {
        let link = spec("100mbit,rtt=0.6ms,jitter=0.1ms");
        assert_eq!((link.bits_per_second(), link.rtt().as_micros()), (100_000_000, 600));
        assert_eq!(link.to_string(), "100mbit,rtt=0.6ms,jitter=0.1ms");
        for (name, text) in PRESETS {
            let (preset, plain) = (spec(name), spec(text));
            assert_eq!(preset.rtt(), plain.rtt(), "{name}");
            assert_eq!(preset.bits_per_second(), plain.bits_per_second(), "{name}");
            assert!(HELP.contains(name));
        }
    }

    #[test]
    fn what_is_no_link_is_named() {
        let wrong = [
            ("fast", "no preset"),
            ("100mbit", "rtt=TIME"),
            ("100mbit,rtt=1ms,loss=1%", "loss=1%"),
            ("100mbit,rtt=1ms,rtt=2ms", "another"),
            ("1kbit,rtt=1ms", "256kbit"),
            ("1gbit,rtt=20s", "2s"),
            ("1gbit,rtt=1ms,jitter=2ms", "jitter"),
            ("1gbit,rtt=5", "a time"),
        ];
        for (text, part) in wrong {
            let error = LinkSpec::parse(text).expect_err(text);
            assert!(error.message.contains(part), "{error}");
        }
    }

    #[test]
    fn chunks_queue_behind_each_other_and_idle_time_is_not_saved_up() {
        let link = SimulatedLink::new(spec("8mbit,rtt=2ms")); // a byte a microsecond
        let up = &link.ways[0];
        assert_eq!(up.delivery_ns(1000, 0), 2_000_000);
        assert_eq!(up.delivery_ns(1000, 0), 3_000_000, "it waits for the one before");
        assert_eq!(up.delivery_ns(1000, 10_000_000), 12_000_000, "no burst after a pause");
        assert_eq!(link.ways[1].delivery_ns(1000, 0), 2_000_000, "each way has its own bandwidth");
    }

    #[test]
    fn jitter_is_spread_around_the_delay_and_repeats() {
        let deliveries = || {
            let link = SimulatedLink::new(spec("8mbit,rtt=2ms,jitter=1ms"));
            let at = |step: u64| {
                let now = step * 10_000_000;
                link.ways[0].delivery_ns(1000, now) - now
            };
            (1..1001).map(at).collect::<Vec<u64>>()
        };
        let first = deliveries();
        assert_eq!(first, deliveries());
        assert!(first.iter().all(|it| (1_500_000..=2_500_000).contains(it)));
        let mean = first.iter().sum::<u64>() / 1000;
        assert!((1_970_000..2_030_000).contains(&mean), "{mean}");
        assert!(first.iter().max() > Some(&2_400_000) && first.iter().min() < Some(&1_600_000));
    }

    #[test]
    fn buffers_hold_what_is_on_the_wire_and_a_queue() {
        assert_eq!(spec("100mbit,rtt=0").buffer_bytes(), QUEUE_BYTES_MIN);
        let far = spec("cross-region");
        assert_eq!(far.buffer_bytes(), QUEUE_BYTES_MIN + 500_000_000 / 8 * 30 / 1000);
        assert_eq!(spec("1gbit,rtt=0").buffer_bytes(), 500_000, "4 ms");
        assert!(far.buffers().contains("KiB"));
    }
}
