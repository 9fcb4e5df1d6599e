//! Experiments sorted by their request and their machine.

use std::collections::BTreeSet;

use super::figure_lines::lines;
use super::types::{DatedExperiment, MachineMove, OnMachine, RequestOverTime};
use record::history_store::StoredExperiment;
use record::machine::Machine;

/// Every request of a store. The experiments are in the order of their start.
pub fn over_time(stored: &[StoredExperiment]) -> Vec<RequestOverTime> {
    let mut requests: Vec<Vec<&StoredExperiment>> = Vec::new();
    for it in stored {
        match requests.iter_mut().find(|known| known[0].asked == it.asked) {
            Some(known) => known.push(it),
            None => requests.push(vec![it]),
        }
    }
    let first = stored.first();
    requests.iter().map(|own| of_request(own, first.unwrap_or(own[0]))).collect()
}

fn of_request(own: &[&StoredExperiment], first: &StoredExperiment) -> RequestOverTime {
    let dates = dates(own);
    let mut machines: Vec<(String, Vec<usize>)> = Vec::new();
    let mut moves = Vec::new();
    for (place, it) in own.iter().enumerate() {
        let here = machine(&it.machine);
        if let Some(before) = place.checked_sub(1).map(|before| machine(&own[before].machine))
            && before != here
        {
            moves.push(MachineMove { date: dates[place].clone(), before, after: here.clone() });
        }
        match machines.iter_mut().find(|(known, _)| *known == here) {
            Some((_, places)) => places.push(place),
            None => machines.push((here, vec![place])),
        }
    }
    let on_machine = |(machine, places): (String, Vec<usize>)| {
        let there: Vec<&StoredExperiment> = places.iter().map(|place| own[*place]).collect();
        let dated = |place: &usize| DatedExperiment {
            id: own[*place].id.clone(),
            started_at: own[*place].started_at.clone(),
            date: dates[*place].clone(),
        };
        OnMachine { machine, experiments: places.iter().map(dated).collect(), lines: lines(&there) }
    };
    RequestOverTime {
        workload: own[0].workload.clone(),
        asked: own[0].asked.clone(),
        differs_in: differences(own[0], first),
        machines: machines.into_iter().map(on_machine).collect(),
        moves,
    }
}

/// The date of each; with the time where several have one date.
fn dates(own: &[&StoredExperiment]) -> Vec<String> {
    let cut = |it: &&StoredExperiment, length: usize| {
        it.started_at.chars().take(length).collect::<String>().replace('T', " ")
    };
    let days: Vec<String> = own.iter().map(|it| cut(it, 10)).collect();
    if days.windows(2).all(|near| near[0] != near[1]) {
        return days;
    }
    own.iter().map(|it| cut(it, 16)).collect()
}

/// Names of what was asked for otherwise.
pub fn differences(one: &StoredExperiment, other: &StoredExperiment) -> Vec<String> {
    let names: BTreeSet<&String> = one.asked.keys().chain(other.asked.keys()).collect();
    let differ = names.into_iter().filter(|name| one.asked.get(*name) != other.asked.get(*name));
    differ.cloned().collect()
}

/// Processor, cores, memory and kernel in a line. Memory in whole GiB: kernels keep some of it.
pub fn machine(it: &Machine) -> String {
    let gib = (it.memory_bytes as f64 / f64::from(1 << 30)).round();
    format!("{}, {} cores, {gib} GiB, kernel {}", it.cpu, it.cores, it.kernel)
}
