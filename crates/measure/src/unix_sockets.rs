//! Which sockets are connections to a server behind a file, such as `/tmp/mongodb-27017.sock`.
//!
//! `/proc/net/unix` has the file beside the server's end alone. Who the other end is, only the
//! kernel's `sock_diag` says. Rejected: a crate for these forty bytes.

use std::collections::{HashMap, HashSet};
use std::io::Result;
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

/// Length of `nlmsghdr` and of `unix_diag_msg`.
const HEADER_BYTES: usize = 16;
/// A header and a `unix_diag_req`.
const REQUEST_BYTES: u32 = 40;
const DIAG: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`
const DUMP: u16 = 0x301;
const ESTABLISHED: u32 = 1 << 1;
/// `UDIAG_SHOW_NAME | UDIAG_SHOW_PEER`
const SHOWN: u32 = 1 | 4;
const NAME: u16 = 0;
const PEER: u16 = 2;

/// The inodes of all sockets whose other end was accepted where a file is.
///
/// # Errors
/// The kernel does not say.
pub fn connected() -> Result<HashSet<u64>> {
    let (kind, flags) = (SockType::Datagram, SockFlag::SOCK_CLOEXEC);
    let kernel = socket(AddressFamily::Netlink, kind, flags, SockProtocol::NetlinkSockDiag)?;
    let mut request = REQUEST_BYTES.to_ne_bytes().to_vec();
    request.extend([DIAG, DUMP].into_iter().flat_map(u16::to_ne_bytes));
    request.extend([0, 0].into_iter().flat_map(u32::to_ne_bytes)); // its number, and who asks
    request.extend([AddressFamily::Unix as u8, 0, 0, 0]);
    request.extend([ESTABLISHED, 0, SHOWN, 0, 0].into_iter().flat_map(u32::to_ne_bytes));
    send(kernel.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut all = Sockets::default();
    let mut answer = vec![0; 1 << 16];
    loop {
        let length = recv(kernel.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        if !all.read(&answer[..length]) {
            return Ok(all.connected());
        }
    }
}

#[derive(Default)]
struct Sockets {
    /// The sockets of a file.
    files: HashSet<u32>,
    peers: HashMap<u32, u32>,
}

impl Sockets {
    /// Whether more is to come.
    fn read(&mut self, mut messages: &[u8]) -> bool {
        while let (Some(length), Some(kind)) = (word(messages, 0), half(messages, 4)) {
            let length = length as usize;
            let Some(message) = messages.get(HEADER_BYTES..length) else { return false };
            // The end of the answer, or an error.
            if kind != DIAG {
                return false;
            }
            self.socket(message);
            messages = messages.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        true
    }

    fn socket(&mut self, message: &[u8]) {
        let Some(inode) = word(message, 4) else { return };
        let mut attributes = message.get(HEADER_BYTES..).unwrap_or_default();
        while let (Some(length), Some(kind)) = (half(attributes, 0), half(attributes, 2)) {
            let length = usize::from(length).max(4);
            match (kind, attributes.get(4..length)) {
                // A name without a file begins with a 0.
                (NAME, Some([first, ..])) if *first != 0 => {
                    self.files.insert(inode);
                }
                (PEER, Some(peer)) => self.peers.extend(word(peer, 0).map(|peer| (inode, peer))),
                _ => {}
            }
            attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }

    fn connected(&self) -> HashSet<u64> {
        let ends = self.peers.iter().filter(|(_, peer)| self.files.contains(*peer));
        ends.map(|(inode, _)| u64::from(*inode)).collect()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    use nix::sys::stat::fstat;

    use super::*;

    #[test]
    fn the_clients_end_alone_is_a_connection() {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("server.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let client = UnixStream::connect(&path).expect("it listens");
        let (accepted, _) = listener.accept().expect("a client");
        let (one, other) = UnixStream::pair().expect("a pair");
        let found = connected().expect("the kernel says");
        let has = |it: &dyn AsFd| found.contains(&fstat(it.as_fd()).expect("it is open").st_ino);
        assert!(has(&client));
        assert!(!has(&accepted) && !has(&listener) && !has(&one) && !has(&other));
    }
}
