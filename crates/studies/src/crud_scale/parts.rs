//! The parts of the study: a star around the smallest size, one thread, local and acknowledged.

use crate::definition::{Asked, Definition};
use crate::study;
use record::study_folder::StudyPart;
use stats::threshold::Interleave;

/// Millions of documents at scale 1.
const SIZES: [u32; 5] = [1, 2, 4, 8, 10];
const QUICK_SIZES: [u32; 3] = [1, 4, 10];
/// Beside one.
const THREADS: [u32; 5] = [2, 4, 6, 8, 10];
/// Threads of `--quick`, and of one-way writes.
const QUICK_THREADS: [u32; 2] = [4, 10];
/// Searches by value at scale 1, and the fewest.
const SEARCHES: (f64, f64) = (1_000.0, 20.0);
/// Most operations of a worker that awaits no answer, a tenth of them searches.
const UNWAITED_MAX: u64 = 230_000;
/// An Ethernet of 100 Mbit/s.
const LINK: &str = "lan-100mbit";

/// What the parts of a series have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleSeries {
    /// One-way writes, as the original's.
    OneWay,
    /// The same over 100 Mbit/s.
    Remote,
    /// Acknowledged writes.
    Acknowledged,
    /// The same with more threads.
    Threads,
    /// One-way writes with more threads, as the original's.
    ThreadsOneWay,
    /// Acknowledged, with an ObjectId as `_id`.
    ObjectId,
    /// Acknowledged, over 100 Mbit/s.
    RemoteAcknowledged,
    /// One-way inserts, and searches right behind them.
    Unwaited,
}

impl ScaleSeries {
    pub fn name(self) -> &'static str {
        match self {
            Self::OneWay => "one-way",
            Self::Remote => "remote",
            Self::Acknowledged => "acknowledged",
            Self::Threads => "threads",
            Self::ThreadsOneWay => "threads-one-way",
            Self::ObjectId => "objectid",
            Self::RemoteAcknowledged => "remote-acknowledged",
            Self::Unwaited => "unwaited",
        }
    }
}

/// One part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesPart {
    pub series: ScaleSeries,
    /// Millions of documents at scale 1.
    pub millions: u32,
    pub threads: u32,
}

impl SeriesPart {
    pub fn name(self) -> String {
        match self.series {
            series @ (ScaleSeries::Threads | ScaleSeries::ThreadsOneWay) => {
                format!("{}-{}", series.name(), self.threads)
            }
            series => format!("{}-{}m", series.name(), self.millions),
        }
    }
}

/// Most important first: a budget leaves out those that it has no time for after them.
pub fn all(quick: bool) -> Vec<SeriesPart> {
    let (sizes, threads) =
        if quick { (&QUICK_SIZES[..], &QUICK_THREADS[..]) } else { (&SIZES[..], &THREADS[..]) };
    let of = |series, millions, threads| SeriesPart { series, millions, threads };
    let sized = |series| sizes.iter().map(move |millions| of(series, *millions, 1));
    let mut parts: Vec<SeriesPart> = sized(ScaleSeries::OneWay).collect();
    // No question is about the sizes between, and the original has no such writes.
    parts.extend([1, 10].map(|millions| of(ScaleSeries::Acknowledged, millions, 1)));
    parts.extend(threads.iter().map(|threads| of(ScaleSeries::Threads, 1, *threads)));
    parts.extend(QUICK_THREADS.map(|threads| of(ScaleSeries::ThreadsOneWay, 1, threads)));
    parts.extend(sized(ScaleSeries::Remote));
    parts.push(of(ScaleSeries::RemoteAcknowledged, 1, 1));
    // Random keys cost most where the index is largest.
    parts.push(of(ScaleSeries::ObjectId, 10, 1));
    parts.push(of(ScaleSeries::Unwaited, 1, 1));
    parts
}

/// The experiments of a size.
pub fn parts(definition: &Definition, asked: &Asked, scale: f64, size: u64) -> Vec<StudyPart> {
    let (drivers, rounds) = (definition.drivers(asked), definition.rounds(asked, size));
    let part = |made: SeriesPart| {
        let mut documents = size * u64::from(made.millions);
        let mut workload = "crud-scale";
        let mut own = vec![("threads", made.threads.to_string())];
        match made.series {
            ScaleSeries::Unwaited => {
                workload = "crud-unwaited";
                documents = documents.min(UNWAITED_MAX);
            }
            ScaleSeries::OneWay | ScaleSeries::Remote | ScaleSeries::ThreadsOneWay => {
                own.push(("w", "0".to_owned()));
            }
            ScaleSeries::ObjectId => own.push(("id", "objectid".to_owned())),
            ScaleSeries::Acknowledged | ScaleSeries::Threads | ScaleSeries::RemoteAcknowledged => {}
        }
        if made.series != ScaleSeries::Unwaited {
            let searches = (SEARCHES.0 * scale).max(SEARCHES.1).round();
            own.push(("searches", searches.to_string()));
        }
        own.push(("documents", documents.to_string()));
        own.push(("tenth", (documents / 10).to_string()));
        // The original did so; one-way writes could not take turns anyway.
        let is_remote =
            matches!(made.series, ScaleSeries::Remote | ScaleSeries::RemoteAcknowledged);
        study::part(&made.name(), workload, own, &drivers, rounds, asked).with(|request| {
            request.interleave = Some(Interleave::Runs);
            request.link = is_remote.then(|| LINK.to_owned());
        })
    };
    all(asked.request.quick).into_iter().map(part).collect()
}
