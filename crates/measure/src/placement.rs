//! Separate cores for the server and the clients (methodology 2.7 b2, decision 0037).

use std::fs;

use base::child::usable_cores;
use record::records::Placement;

/// On fewer cores separate sets would leave server or client a single one.
const CORES_MIN: usize = 4;

/// Cores of server and clients on this machine; None where they share all cores.
pub fn choose() -> Option<Placement> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let usable = usable_cores();
    for core in &usable {
        let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        let siblings = fs::read_to_string(path).unwrap_or_default();
        let siblings = numbers(siblings.trim());
        match groups.iter_mut().find(|group| siblings.contains(&group[0])) {
            Some(group) => group.push(*core),
            None => groups.push(vec![*core]),
        }
    }
    split(&groups)
}

/// Halves the cores. `groups` are the hardware threads of one core each: they slow each other down,
/// so they stay together. Of an odd number the clients have one more, for the helper threads of
/// their runtimes.
fn split(groups: &[Vec<usize>]) -> Option<Placement> {
    let cores: usize = groups.iter().map(Vec::len).sum();
    if cores < CORES_MIN || groups.len() < 2 {
        return None;
    }
    let (clients, server) = groups.split_at(groups.len().div_ceil(2));
    let sorted = |groups: &[Vec<usize>]| {
        let mut cores = groups.concat();
        cores.sort_unstable();
        cores
    };
    Some(Placement { server: sorted(server), clients: sorted(clients) })
}

/// Reads a list of the kernel's: `0-2,7`.
fn numbers(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        Some(low.parse().ok()?..=high.parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(groups: &[&[usize]]) -> Option<(Vec<usize>, Vec<usize>)> {
        let groups: Vec<Vec<usize>> = groups.iter().map(|group| group.to_vec()).collect();
        split(&groups).map(|it| (it.clients, it.server))
    }

    #[test]
    fn from_four_cores_on_server_and_clients_have_cores_of_their_own() {
        assert_eq!(found(&[&[0], &[1]]), None);
        assert_eq!(found(&[&[0], &[1], &[2]]), None);
        assert_eq!(found(&[&[0], &[1], &[2], &[3]]), Some((vec![0, 1], vec![2, 3])));
        assert_eq!(found(&[&[2], &[3], &[5], &[6], &[7]]), Some((vec![2, 3, 5], vec![6, 7])));
    }

    #[test]
    fn the_threads_of_a_core_are_never_parted() {
        assert_eq!(found(&[&[0, 2], &[1, 3]]), Some((vec![0, 2], vec![1, 3])));
        assert_eq!(found(&[&[0, 1, 2, 3]]), None, "one core of four threads");
    }

    #[test]
    fn the_kernels_lists_are_read() {
        assert_eq!(numbers("0-2,7"), [0, 1, 2, 7]);
        assert_eq!(numbers("4"), [4]);
        assert_eq!(numbers(""), [0_usize; 0]);
    }
}
