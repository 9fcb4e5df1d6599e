//! What samples, sizes and seconds of a load say: its course, and how hosts share it.

use super::in_turn::{self, Call};
use super::parts::{BY_HOSTS, BY_SHARDS};
use super::{spread, tenths};
use crate::frame::{Cells, SERVER};
use crate::outcome::{Made, Outcome};
use judge::analysis::rounds::Rounds;
use record::records::{PhaseRun, ServerKind, ServerSample};
use record::samples::{Sample, Samples};
use workload::plan::{Count, Phase};

/// One way to load, by one driver.
struct Load<'a> {
    made: &'a Made<'a>,
    phase: &'a Phase,
    arm: &'a str,
    /// By round; None where one does not count.
    runs: Vec<Option<&'a PhaseRun>>,
}

/// The cells of one part.
pub fn push(made: &Made<'_>, cells: &mut Cells) {
    let rounds = Rounds::new(made.experiment, made.runs);
    for phase in &made.experiment.plan.phases {
        for arm in &made.experiment.arms {
            let runs = rounds.of(&arm.id, &phase.name);
            let load = Load { made, phase, arm: &arm.id, runs };
            load.push_course(cells);
            if [BY_HOSTS, BY_SHARDS].contains(&made.part) {
                load.push_hosts(cells);
            }
        }
    }
}

/// Whether shards and hosts are servers of one version on this machine.
pub fn push_same_server(made: &Outcome<'_>, cells: &mut Cells) {
    let server = |part| {
        let server = &made.part(part)?.experiment.server;
        let whose = if server.kind == ServerKind::External { "yours" } else { "of this machine" };
        Some(format!("MongoDB {} {whose}", server.version))
    };
    let Some((shards, hosts)) = server(BY_SHARDS).zip(server(BY_HOSTS)) else { return };
    let same = f64::from(u8::from(shards == hosts));
    let cell = cells.push_plain([BY_SHARDS, "", SERVER, "same_server"], "count", Some(same));
    cell.note = (shards != hosts).then(|| format!("the shards are {shards}, the hosts {hosts}"));
}

impl Load<'_> {
    fn at<'a>(&'a self, phase: &'a str, metric: &'a str) -> [&'a str; 4] {
        [self.made.part, phase, self.arm, metric]
    }

    fn by_round<T>(&self, of: impl Fn(&PhaseRun) -> Option<T>) -> Vec<Option<T>> {
        self.runs.iter().map(|run| of((*run)?)).collect()
    }

    /// The last tenth of the load; its twentieths where it outgrows the server's cache.
    fn push_course(&self, cells: &mut Cells) {
        let name = &self.phase.name;
        let last = self
            .by_round(|run| tenths::last_tenth_percent(run.operations, self.even_samples(run)?));
        if last.iter().any(Option::is_some) {
            cells.push(self.at(name, "last_tenth_percent"), "change_percent", last);
        }
        let limits = &self.made.experiment.server.options;
        let documents = cells.median(self.at(name, "documents"));
        let (Some(_), Some(documents)) = (limits.cache_bytes, documents) else { return };
        let room = limits.memory_bytes.or(limits.cache_bytes).map(|bytes| bytes as f64);
        cells.push_plain(self.at(name, "room_bytes"), "bytes", room);
        let rates = self.by_round(|run| {
            let rates = tenths::twentieths(run.operations, self.even_samples(run)?);
            let per_call = documents / run.operations as f64;
            Some(rates.into_iter().map(|rate| rate * per_call).collect::<Vec<_>>())
        });
        for part in 0..tenths::PARTS as usize {
            let of_part = |round: &Option<Vec<f64>>| round.as_ref()?.get(part).copied();
            let phase = format!("{name}, twentieth {}", part + 1);
            let middle = documents * (part as f64 + 0.5) / tenths::PARTS as f64;
            cells.push_plain(self.at(&phase, "course_documents"), "count", Some(middle));
            let rates = rates.iter().map(of_part).collect();
            cells.push(self.at(&phase, "course_per_s"), "per_s", rates);
        }
    }

    /// What each host or shard has at the end and in the tenths of the load, in the last round that
    /// counts; how many work at once.
    fn push_hosts(&self, cells: &mut Cells) {
        let name = &self.phase.name;
        let Some(at) = self.runs.iter().rposition(Option::is_some) else { return };
        let Some(last) = self.runs[at] else { return };
        let by_host = spread::by_host(last);
        let threads = self.phase.workers * self.phase.processes;
        let Some(uneven) = spread::uneven_documents(&by_host, threads) else { return };
        let seconds = spread::seconds(self.made, name);
        // They hold every sample: read once.
        let dealt = self.by_round(|run| self.calls(run));
        let at_once = dealt.iter().map(|calls| Some(in_turn::at_once(calls.as_ref()?)));
        cells.push_plain(self.at(name, "hosts"), "count", Some(by_host.len() as f64));
        cells.push_plain(self.at(name, "uneven_documents"), "count", Some(uneven as f64));
        let busiest = spread::busiest(seconds.iter()).filter(|_| by_host.len() > 1);
        cells.push_plain(self.at(name, "busiest_percent"), "percent", busiest);
        cells.push(self.at(name, "hosts_at_once"), "hosts", at_once.collect());
        let over_time = match &dealt[at] {
            Some(calls) => in_turn::over_time(calls),
            None => self.over_time(last, &seconds),
        };
        let shares = over_time.iter().flatten().copied();
        let most = shares.max_by(f64::total_cmp);
        cells.push_plain(self.at(name, "busiest_tenth_percent"), "percent", most);
        for (number, documents) in by_host.iter().enumerate() {
            let phase = format!("{name}, host {}", number + 1);
            let documents = Some(*documents as f64);
            cells.push_plain(self.at(&phase, "host_documents"), "count", documents);
            for (tenth, shares) in over_time.iter().enumerate() {
                let metric = format!("tenth_{}_percent", tenth + 1);
                let share = shares.get(number).copied();
                cells.push_plain(self.at(&phase, &metric), "percent", share);
            }
        }
    }

    /// By host, where the adapter deals them.
    fn calls(&self, run: &PhaseRun) -> Option<Vec<Vec<Call>>> {
        let (_, operation) = self.phase.single()?;
        let count = operation.count.filter(|_| self.made.part == BY_HOSTS)?;
        in_turn::calls(count, &self.samples(run)?, run.samples.len(), &spread::by_host(run))
    }

    /// Documents of each shard by the seconds of the load.
    fn over_time(&self, run: &PhaseRun, seconds: &[ServerSample]) -> Vec<Vec<f64>> {
        if self.made.part != BY_SHARDS {
            return Vec::new();
        }
        let samples = self.samples(run).unwrap_or_default();
        let began_ns = samples.iter().map(|sample| sample.start_ns).min();
        let ended_ns = samples.iter().map(Sample::end_ns).max();
        let Some((began_ns, ended_ns)) = began_ns.zip(ended_ns) else { return Vec::new() };
        let is_within = |it: &&ServerSample| (began_ns..=ended_ns).contains(&it.at_ns);
        spread::over_time(&seconds.iter().filter(is_within).collect::<Vec<_>>())
    }

    /// Samples of all processes.
    fn samples(&self, run: &PhaseRun) -> Option<Vec<Sample>> {
        let files = run.samples.iter();
        let each = files.map(|file| Samples::below(self.made.folder.path(), file).ok());
        each.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect::<Result<_, _>>().ok()
    }

    /// None where the calls differ in size, or come from several workers or processes.
    fn even_samples(&self, run: &PhaseRun) -> Option<Samples> {
        let (_, operation) = self.phase.single()?;
        let even = match operation.count {
            Some(Count::Rest { batch, documents }) => documents.is_multiple_of(u64::from(batch)),
            _ => true,
        };
        let [file] = &run.samples[..] else { return None };
        if !even || !self.phase.has_one_worker() {
            return None;
        }
        Samples::below(self.made.folder.path(), file).ok()
    }
}
