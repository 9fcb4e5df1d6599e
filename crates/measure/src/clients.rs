//! The processes of the adapters over time, as `/proc` shows them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;

use crate::unix_sockets;
use base::child;
use base::process_id::{ProcessId, sockets};
use nix::unistd::Pid;
use record::records::ClientSample;

/// The processes of one arm, or of a consumer.
pub struct Client {
    /// Index of the arm.
    pub arm: usize,
    pub id: String,
    pub consumer: bool,
    pub processes: Vec<ProcessId>,
}

/// The most that an arm had since the phase began.
#[derive(Debug, Clone, Copy, Default)]
pub struct Peak {
    pub threads: u64,
    /// None: not known.
    pub connections: Option<u64>,
}

#[derive(Default)]
pub struct ClientReadings {
    watched: Vec<Client>,
    /// By inode, whether a socket is a connection to a server. The kernel walks all its tables to
    /// show them, which takes milliseconds: they are read again where a socket is new.
    known: HashMap<u64, bool>,
    /// The kernel did not say, when last asked, which sockets lead to a server behind a file.
    hides_files: bool,
    peaks: BTreeMap<usize, Peak>,
}

impl ClientReadings {
    pub fn watch(&mut self, clients: Vec<Client>) {
        self.watched = clients;
    }

    pub fn begin_phase(&mut self) {
        self.peaks.clear();
    }

    pub fn peak(&self, arm: usize) -> Option<Peak> {
        self.peaks.get(&arm).copied()
    }

    /// A reading of each client that lives.
    pub fn read(&mut self, at_ns: u64, round: u32, phase: &str) -> Vec<ClientSample> {
        let mut seen = HashMap::new();
        let mut samples = Vec::new();
        for client in &self.watched {
            let living = client.processes.iter().filter(|it| it.is_alive());
            let pids: Vec<u32> = living.map(|it| it.pid).collect();
            if pids.is_empty() {
                continue;
            }
            let mut connections = 0;
            for pid in &pids {
                let held = sockets(*pid).unwrap_or_default();
                if held.iter().any(|socket| !self.known.contains_key(socket)) {
                    let mut open = connected(*pid);
                    let behind_files = unix_sockets::connected();
                    self.hides_files = behind_files.is_err();
                    open.extend(behind_files.unwrap_or_default());
                    self.known.extend(held.iter().map(|it| (*it, open.contains(it))));
                }
                seen.extend(held.iter().map(|it| (*it, self.known[it])));
                connections += held.iter().filter(|it| self.known[it]).count() as u64;
            }
            // The connections of a server behind a file would all be missed.
            let connections = (!self.hides_files || connections > 0).then_some(connections);
            let sum = |of: fn(Pid) -> Option<u64>| {
                pids.iter().filter_map(|pid| of(Pid::from_raw(pid.cast_signed()))).sum::<u64>()
            };
            let threads = sum(child::threads);
            let peak = self.peaks.entry(client.arm).or_default();
            peak.threads = peak.threads.max(threads);
            peak.connections = peak.connections.max(connections);
            samples.push(ClientSample {
                at_ns,
                round,
                phase: phase.to_owned(),
                arm: client.id.clone(),
                consumer: client.consumer,
                processes: pids.len() as u32,
                rss_bytes: sum(|pid| Some(child::rss_bytes(pid)?.0)),
                cpu_ns: sum(child::cpu_ns),
                threads,
                connections,
            });
        }
        // Numbers of closed sockets are used again.
        self.known = seen;
        samples
    }
}

/// Inodes of the TCP connections that a process can see.
///
/// Rejected: the server's own count (`connections.current`), which holds those of all arms, of the
/// core and of whoever else uses the server.
fn connected(pid: u32) -> HashSet<u64> {
    const LISTEN: &str = "0A";
    let mut found = HashSet::new();
    for table in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        found.extend(text.lines().skip(1).filter_map(|line| {
            let mut fields = line.split_whitespace().skip(3);
            let state = fields.next()?;
            let inode = fields.nth(5)?.parse::<u64>().ok()?;
            (state != LISTEN).then_some(inode)
        }));
    }
    found
}
