//! External servers on this machine: which processes listen at the addresses of a connection
//! string.
//!
//! Their CPU time counts as the server's, though mongodyno did not start them.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::PathBuf;

use mongodb::options::ServerAddress;

use super::connection_string::own_options;

/// An address on this machine at which a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// A port at one of this machine's addresses.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// Addresses of a connection string that are on this machine; none for servers elsewhere.
pub async fn places(uri: &str) -> Vec<ListenAddress> {
    let Ok(options) = own_options(uri).await else { return Vec::new() };
    let mut places = Vec::new();
    for host in options.hosts {
        match host {
            ServerAddress::Tcp { host, port } => {
                let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
                let addresses = (host, port.unwrap_or(27017)).to_socket_addrs();
                let here = addresses.into_iter().flatten().filter(|it| is_here(it.ip()));
                places.extend(here.map(ListenAddress::Tcp));
            }
            ServerAddress::Unix { path } => places.push(ListenAddress::Unix(path)),
            _ => {}
        }
    }
    places
}

/// Whether an address is this machine's: only such an address can be bound. A list of its
/// interfaces would lack 127.0.0.2 and the like.
fn is_here(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// The processes that listen at `places` now.
pub fn listeners(places: &[ListenAddress]) -> Vec<u32> {
    if places.is_empty() {
        return Vec::new();
    }
    let mut sockets = HashSet::new();
    for (file, is_v6) in [("/proc/net/tcp", false), ("/proc/net/tcp6", true)] {
        let text = fs::read_to_string(file).unwrap_or_default();
        let found = text.lines().skip(1).filter_map(|line| listening(line, is_v6));
        let asked = |at: &SocketAddr| places.iter().any(|place| place.is_served_by(at));
        sockets.extend(found.filter(|(at, _)| asked(at)).map(|(_, inode)| inode));
    }
    for line in fs::read_to_string("/proc/net/unix").unwrap_or_default().lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [.., inode, path] = fields[..]
            && places.contains(&ListenAddress::Unix(path.into()))
        {
            sockets.extend(inode.parse::<u64>());
        }
    }
    holders(&sockets)
}

impl ListenAddress {
    /// Whether a server that listens at `at` serves this address.
    fn is_served_by(&self, at: &SocketAddr) -> bool {
        let Self::Tcp(asked) = self else { return false };
        let ip = at.ip().to_canonical();
        asked.port() == at.port() && (ip.is_unspecified() || ip == asked.ip().to_canonical())
    }
}

/// Address and inode of a line of `/proc/net/tcp` whose socket listens.
fn listening(line: &str, is_v6: bool) -> Option<(SocketAddr, u64)> {
    const LISTEN: &str = "0A";
    let fields: Vec<&str> = line.split_whitespace().collect();
    if *fields.get(3)? != LISTEN {
        return None;
    }
    let (address, port) = fields[1].split_once(':')?;
    // Words of 32 bits, each in this machine's own order of bytes.
    let word = |at: usize| {
        u32::from_str_radix(address.get(8 * at..8 * at + 8)?, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = if is_v6 {
        let words = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
        IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(words).ok()?))
    } else {
        IpAddr::from(word(0)?)
    };
    let port = u16::from_str_radix(port, 16).ok()?;
    Some((SocketAddr::new(ip, port), fields.get(9)?.parse().ok()?))
}

/// Processes that have one of these sockets open. Those of another user are hidden; then the only
/// server whose files are hidden must be it.
fn holders(sockets: &HashSet<u64>) -> Vec<u32> {
    let (mut found, mut hidden) = (Vec::new(), Vec::new());
    if sockets.is_empty() {
        return found;
    }
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(held) = base::process_id::sockets(pid) else {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            hidden.extend(["mongod", "mongos"].contains(&name.trim()).then_some(pid));
            continue;
        };
        if held.iter().any(|it| sockets.contains(it)) {
            found.push(pid);
        }
    }
    if found.is_empty() && hidden.len() == 1 { hidden } else { found }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    async fn who(uri: &str) -> Vec<u32> {
        listeners(&places(uri).await)
    }

    #[tokio::test]
    async fn who_listens_at_a_port_of_this_machine_is_found() {
        let own = std::process::id();
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().expect("bound").port();
            let uri = |host: &str| format!("mongodb://user:pass@{host}:{port}/?w=1");
            let host = if address == "[::1]:0" { "[::1]" } else { "127.0.0.1" };
            assert_eq!(who(&uri(host)).await, [own], "{address}");
            drop(listener);
            assert_eq!(who(&uri(host)).await, [0_u32; 0], "{address}: nobody listens");
        }
    }

    #[tokio::test]
    async fn a_server_elsewhere_has_no_place_here() {
        assert_eq!(places("mongodb://192.0.2.1:27017/").await, []);
        assert_eq!(places("no connection string").await, []);
        let here = places("mongodb://127.0.0.1,192.0.2.1:3/").await;
        assert_eq!(here, [ListenAddress::Tcp(([127, 0, 0, 1], 27017).into())]);
    }

    #[test]
    fn lines_of_the_kernels_table_are_read() {
        let line = "   0: 0100007F:6989 00000000:0000 0A 00000000:00000000 00:00000000 00000000 \
                    1000        0 4711 1 0 100 0 0 10 0";
        if cfg!(target_endian = "little") {
            let at = SocketAddr::from(([127, 0, 0, 1], 27017));
            assert_eq!(listening(line, false), Some((at, 4711)));
        }
        assert_eq!(listening(&line.replace(" 0A ", " 01 "), false), None, "a connection");
    }
}
