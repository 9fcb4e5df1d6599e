//! Calls that several hosts take in turn: who has which, and how many hosts work at once.

use super::spread::{TENTHS, shares};
use record::samples::Sample;
use workload::plan::Count;

/// Where one batch went.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    documents: f64,
    start_ns: u64,
    end_ns: u64,
}

/// The calls of a load by host: adapters deal them in turn (SPEC section 3). None where they make
/// other counts than `by_host`, those of the hosts.
pub fn calls(
    count: Count,
    samples: &[Sample],
    processes: usize,
    by_host: &[u64],
) -> Option<Vec<Vec<Call>>> {
    let Count::Rest { batch, documents } = count else { return None };
    let workers = 1 + u64::from(samples.iter().map(|it| it.worker).max()?);
    let of_process = workers.div_ceil(processes.max(1) as u64);
    let (batch, hosts) = (u64::from(batch), by_host.len().max(1) as u64);
    let mut counts = vec![0; hosts as usize];
    let mut calls = vec![Vec::new(); hosts as usize];
    for sample in samples {
        let (worker, number) = (u64::from(sample.worker), u64::from(sample.index));
        // The first workers have what is over.
        let share = documents / workers + u64::from(worker < documents % workers);
        let inserted = share.saturating_sub(number * batch).min(batch);
        let host = ((worker % of_process + number) % hosts) as usize;
        counts[host] += inserted;
        let (documents, start_ns) = (inserted as f64, sample.start_ns);
        calls[host].push(Call { documents, start_ns, end_ns: sample.end_ns() });
    }
    (counts == by_host).then_some(calls)
}

/// Hosts that have a call in flight while any has one, as a mean over that time.
pub fn at_once(by_host: &[Vec<Call>]) -> f64 {
    let each: f64 = by_host.iter().map(|calls| covered_ns(calls.clone())).sum();
    each / covered_ns(by_host.concat()).max(1.0)
}

/// Time with a call in flight.
fn covered_ns(mut calls: Vec<Call>) -> f64 {
    calls.sort_unstable_by_key(|it| it.start_ns);
    let (mut covered_ns, mut until_ns) = (0, 0);
    for call in calls {
        covered_ns += call.end_ns.saturating_sub(call.start_ns.max(until_ns));
        until_ns = until_ns.max(call.end_ns);
    }
    covered_ns as f64
}

/// Share of each host in each tenth of the load's time, percent. A call's documents are spread
/// evenly over its time. Empty without calls.
pub fn over_time(by_host: &[Vec<Call>]) -> Vec<Vec<f64>> {
    let began_ns = by_host.iter().flatten().map(|it| it.start_ns).min();
    let ended_ns = by_host.iter().flatten().map(|it| it.end_ns).max();
    let Some((began_ns, ended_ns)) = began_ns.zip(ended_ns) else { return Vec::new() };
    let tenth_ns = (ended_ns - began_ns) as f64 / TENTHS as f64;
    let of_tenth = |tenth: usize| {
        let from_ns = began_ns as f64 + tenth as f64 * tenth_ns;
        let inserted = |call: &Call| {
            let (start_ns, end_ns) = (call.start_ns as f64, call.end_ns as f64);
            let inside_ns = end_ns.min(from_ns + tenth_ns) - start_ns.max(from_ns);
            call.documents * inside_ns.max(0.0) / (end_ns - start_ns).max(1.0)
        };
        let each = by_host.iter().map(|calls| calls.iter().map(inserted).sum());
        shares(&each.collect::<Vec<f64>>())
    };
    (0..TENTHS).map(of_tenth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: Count = Count::Rest { batch: 1_000, documents: 52_000 };

    /// Three workers, 18 calls each.
    fn samples() -> Vec<Sample> {
        let sample = |worker: u16, index: u32| {
            let (start_ns, service_ns) = (10 * u64::from(index), 10);
            let (intended_ns, operation, outcome) = (start_ns, 0, 0);
            Sample { intended_ns, start_ns, service_ns, index, operation, outcome, worker }
        };
        (0..3).flat_map(|worker| (0..18).map(move |index| sample(worker, index))).collect()
    }

    fn call(start_ns: u64, end_ns: u64) -> Call {
        Call { documents: 1_000.0, start_ns, end_ns }
    }

    #[test]
    fn calls_are_those_of_the_hosts_that_were_counted() {
        // Counts of four servers.
        let counted = [13_000, 13_334, 13_333, 12_333];
        let calls_of = |processes, by_host: &[u64]| calls(COUNT, &samples(), processes, by_host);
        let dealt = calls_of(1, &counted).expect("the same counts");
        assert_eq!(dealt.iter().map(Vec::len).collect::<Vec<_>>(), [13, 14, 14, 13]);
        assert!(calls_of(1, &[13_000; 4]).is_none(), "they were dealt otherwise");
        assert!(calls_of(1, &[]).is_none(), "one host");
        assert!(calls_of(3, &[15_000, 13_000, 12_000, 12_000]).is_some(), "each begins anew");
        assert!(calls(COUNT, &[], 1, &counted).is_none(), "no samples");
    }

    #[test]
    fn hosts_that_work_at_once_are_counted_over_time() {
        let alone = [vec![call(0, 10)], vec![call(10, 20)]];
        assert!((at_once(&alone) - 1.0).abs() < 1e-9);
        let together = [vec![call(0, 10)], vec![call(0, 10)]];
        assert!((at_once(&together) - 2.0).abs() < 1e-9);
        let half = [vec![call(0, 20)], vec![call(10, 20)]];
        assert!((at_once(&half) - 1.5).abs() < 1e-9);
        let one = [vec![call(5, 10), call(0, 10)], Vec::new()];
        assert!((at_once(&one) - 1.0).abs() < 1e-9, "two calls to one host");
        assert!(at_once(&[]).abs() < 1e-9);
    }

    #[test]
    fn a_tenth_has_the_shares_of_its_own_calls() {
        let of = |host: fn(u64) -> usize| {
            let mut by_host = vec![Vec::new(); 4];
            for at in 0..40 {
                by_host[host(at)].push(call(10 * at, 10 * at + 10));
            }
            over_time(&by_host)
        };
        let are = |shares: &[f64], percents: &[f64]| {
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
            shares.len() == percents.len() && shares.iter().zip(percents).all(near)
        };
        let in_turn = of(|at| at as usize % 4);
        assert!(in_turn.len() == 10 && in_turn.iter().all(|it| are(it, &[25.0; 4])), "{in_turn:?}");
        let stretches = of(|at| at as usize / 10);
        assert!(are(&stretches[0], &[100.0, 0.0, 0.0, 0.0]), "{stretches:?}");
        assert!(are(&stretches[9], &[0.0, 0.0, 0.0, 100.0]), "{stretches:?}");
        let long = over_time(&[vec![call(0, 100)], vec![call(0, 50)]]);
        assert!(are(&long[0], &[100.0 / 3.0, 200.0 / 3.0]), "{long:?}");
        assert!(are(&long[9], &[100.0, 0.0]), "{long:?}");
        assert!(over_time(&[]).is_empty());
    }
}
