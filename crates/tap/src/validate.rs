//! The link, compared with what was asked for: a bulk transfer each way and pings, through a proxy
//! and over sockets like those of an experiment, before that begins.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::clock::Epoch;
use base::error::{Error, Result};
use format::{fixed, signed};
use record::wire::LinkCheck;
use wire::{HEADER_BYTES, Header, OpCode};

use super::link::LinkSpec;
use super::proxy::{Proxy, ProxyOptions};
use super::tapped_arm::Sink;

/// A bulk transfer is this long, and so are the pings together, where the link allows.
const STRETCH: Duration = Duration::from_millis(250);
const PINGS_MIN: usize = 5;
const PINGS_MAX: usize = 200;
/// A neighbour's burst can spoil a quarter of a second, but not three in a row.
const ATTEMPTS: usize = 3;
const BANDWIDTH_ERROR_PERCENT_MAX: f64 = 5.0;
const PING_ERROR_PERCENT_MAX: f64 = 5.0;
const PING_ERROR_US_MAX: f64 = 50.0;
const PING_BYTES: usize = 64;
/// Messages of a bulk transfer.
const BULK_MESSAGE_BYTES: usize = 1 << 20;
/// More than a quarter of a second of any link that a machine could keep up with.
const BULK_BYTES_MAX: usize = 256 << 20;

/// Measures the link on loopback, against its own server, in about a second.
pub fn validate(spec: &LinkSpec) -> Result<LinkCheck> {
    let refused = |error: io::Error| {
        Error::environment(format!("the link {spec} cannot be tried: {error}"), "")
    };
    let mut best: Option<LinkCheck> = None;
    for _ in 0..ATTEMPTS {
        let check = attempt(spec)?.map_err(refused)?;
        let miss = |it: &LinkCheck| it.bandwidth_error_percent.abs() + it.ping_error_us.abs();
        if best.as_ref().is_none_or(|best| check.ok || miss(&check) < miss(best)) {
            best = Some(check);
        }
        if best.as_ref().is_some_and(|best| best.ok) {
            break;
        }
    }
    Ok(best.expect("at least one attempt"))
}

fn attempt(spec: &LinkSpec) -> Result<io::Result<LinkCheck>> {
    let listener = match TcpListener::bind("127.0.0.1:0") {
        Ok(listener) => listener,
        Err(error) => return Ok(Err(error)),
    };
    let address = match listener.local_addr() {
        Ok(address) => address,
        Err(error) => return Ok(Err(error)),
    };
    let options = ProxyOptions {
        listen: vec!["127.0.0.1:0".to_owned()],
        to: address.to_string(),
        link: Some(spec.clone()),
        marks: None,
        epoch: Epoch::start(),
        log: Arc::new(|_| ()),
    };
    let sink = |_| -> Sink { Box::new(|_| ()) };
    let proxy = Proxy::start(&options, sink)?;
    let bulk = bulk_bytes(spec);
    // The server ends when the proxy, and with it the client's connection, does.
    let server = std::thread::spawn(move || serve(&listener, bulk));
    let measured = measure(proxy.addresses()[0], spec, bulk);
    if measured.is_err() {
        // Without a connection through the proxy the server would wait for one for ever.
        drop(TcpStream::connect(address));
    }
    let up = server.join().unwrap_or_else(|_| Err(io::Error::other("a bug in the server")));
    Ok(measured.and_then(|(down, ping_us)| Ok(judge(spec, up?, down, ping_us))))
}

/// Bytes of a bulk transfer, whole messages.
fn bulk_bytes(spec: &LinkSpec) -> usize {
    let stretch = u128::from(spec.bits_per_second()) * STRETCH.as_millis() / 8000;
    let stretch = usize::try_from(stretch).expect("at most 100 Gbit/s");
    stretch.clamp(8 * spec.chunk_bytes(), BULK_BYTES_MAX)
}

/// The other end: answers pings until a message of another length comes, takes the bulk transfer,
/// which it measures, and sends one back. Returns bytes per second.
fn serve(listener: &TcpListener, bulk: usize) -> io::Result<f64> {
    let (mut socket, _) = listener.accept()?;
    prepare(&socket)?;
    let mut ping = [0; PING_BYTES];
    loop {
        socket.read_exact(&mut ping)?;
        if ping[HEADER_BYTES] == 1 {
            break; // the last one
        }
        socket.write_all(&ping)?;
    }
    socket.write_all(&ping)?;
    let up = receive(&mut socket, bulk)?;
    send(&mut socket, bulk)?;
    // Waits until the client has received all of it.
    let _ = socket.read(&mut ping);
    Ok(up)
}

/// Returns bytes per second down, and the median ping, us.
fn measure(address: std::net::SocketAddr, spec: &LinkSpec, bulk: usize) -> io::Result<(f64, f64)> {
    let mut socket = TcpStream::connect(address)?;
    prepare(&socket)?;
    let rtt = spec.rtt().max(Duration::from_micros(1)).as_nanos();
    let pings = usize::try_from(STRETCH.as_nanos() / rtt).unwrap_or(PINGS_MAX);
    let pings = pings.clamp(PINGS_MIN, PINGS_MAX);
    let mut ping = [0; PING_BYTES];
    ping[..HEADER_BYTES].copy_from_slice(&header(PING_BYTES));
    let mut times_us = Vec::with_capacity(pings);
    for number in 0..=pings {
        ping[HEADER_BYTES] = u8::from(number == pings);
        let began = Instant::now();
        socket.write_all(&ping)?;
        socket.read_exact(&mut ping)?;
        if number > 0 {
            // The first ping also opened the connection.
            times_us.push(began.elapsed().as_secs_f64() * 1e6);
        }
    }
    times_us.sort_by(f64::total_cmp);
    send(&mut socket, bulk)?;
    let down = receive(&mut socket, bulk)?;
    Ok((down, times_us[times_us.len() / 2]))
}

fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(Duration::from_secs(20)))?;
    socket.set_write_timeout(Some(Duration::from_secs(20)))
}

/// Compressed messages: the tap looks into them least.
fn header(length: usize) -> [u8; HEADER_BYTES] {
    Header { length, request_id: 1, response_to: 1, opcode: OpCode::Compressed }.to_bytes()
}

fn send(socket: &mut TcpStream, mut bytes: usize) -> io::Result<()> {
    let mut message = vec![0; BULK_MESSAGE_BYTES];
    while bytes > 0 {
        // Nothing shorter than a header is left over.
        let length = if bytes < 2 * BULK_MESSAGE_BYTES { bytes } else { BULK_MESSAGE_BYTES };
        message.resize(length, 0);
        message[..HEADER_BYTES].copy_from_slice(&header(length));
        socket.write_all(&message)?;
        bytes -= length;
    }
    Ok(())
}

/// Bytes a second, from the first bytes to the last.
fn receive(socket: &mut TcpStream, bytes: usize) -> io::Result<f64> {
    let mut buffer = vec![0; 256 << 10];
    let first = socket.read(&mut buffer)?;
    let began = Instant::now();
    let mut left = bytes.saturating_sub(first);
    while left > 0 {
        let wanted = left.min(buffer.len());
        match socket.read(&mut buffer[..wanted])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => left -= count,
        }
    }
    Ok((bytes - first) as f64 / began.elapsed().as_secs_f64())
}

fn judge(spec: &LinkSpec, up: f64, down: f64, ping_us: f64) -> LinkCheck {
    let wanted_mbit = spec.bits_per_second() as f64 / 1e6;
    let error = |mbit: f64| (mbit / wanted_mbit - 1.0) * 100.0;
    let (up, down) = (up * 8.0 / 1e6, down * 8.0 / 1e6);
    let bandwidth = if error(up).abs() > error(down).abs() { up } else { down };
    let rtt_us = spec.rtt().as_secs_f64() * 1e6;
    // The ping's own bytes, both ways.
    let wanted_us = rtt_us + 2.0 * PING_BYTES as f64 * 8.0 / wanted_mbit;
    let ping_error_us = ping_us - wanted_us;
    let allowed_us = (rtt_us * PING_ERROR_PERCENT_MAX / 100.0).max(PING_ERROR_US_MAX);
    let ok =
        error(bandwidth).abs() <= BANDWIDTH_ERROR_PERCENT_MAX && ping_error_us.abs() <= allowed_us;
    let sentence = format!(
        "link {spec}: {} Mbit/s measured ({} %), ping {} us ({} us){}",
        fixed(bandwidth, 1),
        signed(error(bandwidth), 1),
        fixed(ping_us, 0),
        signed(ping_error_us, 0),
        if ok {
            ""
        } else {
            "; that is not the link asked for: this machine is too slow or too busy to pretend it"
        }
    );
    LinkCheck {
        bandwidth_measured_mbit: bandwidth,
        bandwidth_error_percent: error(bandwidth),
        ping_rtt_us: ping_us,
        ping_error_us,
        ok,
        sentence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_percent_and_fifty_microseconds_are_the_limits() {
        let spec: LinkSpec = "100mbit,rtt=0.6ms".parse().expect("a link");
        let of = |mbit: f64, ping_us: f64| judge(&spec, 12.5e6, mbit * 1e6 / 8.0, ping_us);
        assert!(of(96.0, 650.0).ok && of(104.0, 570.0).ok);
        let slow = of(94.0, 620.0);
        assert!(!slow.ok && slow.sentence.contains("94.0 Mbit/s measured (-6.0 %)"), "{slow:?}");
        assert!(!of(100.0, 670.0).ok);
        let far: LinkSpec = "100mbit,rtt=60ms".parse().expect("a link");
        assert!(judge(&far, 12.5e6, 12.5e6, 62_900.0).ok, "five percent of 60 ms are 3 ms");
    }
}
