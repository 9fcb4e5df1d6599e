//! The counts of a turn, from the samples that it has added, and whether these can be.

use std::path::{Path, PathBuf};

use tokio::task::yield_now;

use super::claims::{Claims, TurnTimes};
use crate::turn::Turned;
use adapter::protocol::{Prepare, TurnDone};
use base::error::Result;
use record::samples::{Growing, Sample, Samples};

/// The sample files of a phase, one a process, from `prepare` to the next.
pub struct SampleTail {
    files: Vec<(Growing, Claims)>,
    read: Claimed,
}

/// What the processes of a phase have claimed in their turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claimed {
    /// Samples that are possible, by process: the upper bound of what is read.
    pub counts: Vec<u64>,
    /// The first that cannot be, in words; nothing was read behind it.
    pub fault: Option<String>,
}

/// Samples between two looks at what else there is to do, such as a request to stop.
const BETWEEN: u64 = 1 << 14;

/// Reads the files of a phase, one a process, so far as their samples were claimed in its turns.
/// `take` gets every sample, with the number of its file.
pub(super) async fn each(
    files: &[PathBuf],
    claimed: &Claimed,
    mut take: impl FnMut(u32, &Sample) -> Result<()>,
) -> Result<()> {
    for ((process, file), count) in (0..).zip(files).zip(&claimed.counts) {
        for (number, sample) in (1..=*count).zip(Samples::open(file)?) {
            take(process, &sample?)?;
            if number.is_multiple_of(BETWEEN) {
                yield_now().await;
            }
        }
    }
    Ok(())
}

impl SampleTail {
    pub fn open(prepares: &[Prepare]) -> Result<Self> {
        let open = |it: &Prepare| Ok((Growing::open(Path::new(it.samples()))?, Claims::of(it)));
        let files = prepares.iter().map(open).collect::<Result<Vec<_>>>()?;
        let read = Claimed { counts: vec![0; files.len()], fault: None };
        Ok(Self { files, read })
    }

    /// Reads on, and merges the turns of all processes, which were answered at `now_ns`. Requests
    /// to stop are heard in between.
    pub async fn turn(&mut self, done: &[TurnDone], until_ns: u64, now_ns: u64) -> Result<Turned> {
        let began_ns = done.iter().map(|it| it.began_ns).min().unwrap_or(0);
        let mut turned = Turned {
            began_ns,
            ended_ns: began_ns,
            operations: 0,
            completed_by_deadline: 0,
            errors: 0,
            exhausted: done.iter().all(|it| it.exhausted),
            gave_up: done.iter().any(|it| it.gave_up),
        };
        let files = self.files.iter_mut().zip(done).zip(&mut self.read.counts);
        for (((file, claims), done), count) in files {
            if self.read.fault.is_some() {
                break;
            }
            let span = TurnTimes { began_ns: done.began_ns, answered_ns: now_ns };
            let mut left = file.left()?;
            if left > claims.most(span) {
                let ns = now_ns.saturating_sub(done.began_ns);
                let took = format::time(ns as f64 / 1e3);
                self.read.fault = Some(format!("{left} samples of a turn of {took}"));
                break;
            }
            let mut judged = Ok(());
            while left > 0 && judged.is_ok() {
                for sample in file.next(left)? {
                    judged = claims.take(&sample, span);
                    if judged.is_err() {
                        break;
                    }
                    left -= 1;
                    *count += 1;
                    turned.ended_ns = turned.ended_ns.max(sample.end_ns());
                    turned.operations += 1;
                    turned.completed_by_deadline += u64::from(sample.end_ns() <= until_ns);
                    turned.errors += u64::from(sample.outcome != 0);
                }
                yield_now().await;
            }
            self.read.fault = judged.and_then(|()| claims.ended()).err();
        }
        // More turns would be void as well.
        turned.gave_up |= self.read.fault.is_some();
        Ok(turned)
    }

    /// All claims of the phase, which has ended.
    pub fn close(&mut self) -> Result<&Claimed> {
        for (file, _) in &self.files {
            let left = file.left()?;
            if left > 0 && self.read.fault.is_none() {
                self.read.fault = Some(format!("{left} samples after its last turn"));
            }
        }
        Ok(&self.read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::super::test_support::{prepare, sample};
    use super::*;
    use adapter::protocol::AdapterPacing;
    use record::samples::Sample;

    fn done(began_ns: u64, exhausted: bool) -> TurnDone {
        TurnDone { began_ns, exhausted, gave_up: false }
    }

    /// A phase of one worker in each process, which write here.
    fn tail(paths: &[std::path::PathBuf]) -> SampleTail {
        let prepared = paths.iter().enumerate().map(|(process, path)| {
            fs::write(path, []).expect("a file");
            let mut prepared = prepare(AdapterPacing::Awaited { think_ns: 0 }, 1);
            prepared.samples = path.to_string_lossy().into_owned();
            prepared.first_worker = process as u32;
            Prepare::Worker(prepared)
        });
        SampleTail::open(&prepared.collect::<Vec<_>>()).expect("files")
    }

    #[tokio::test]
    async fn a_turn_counts_what_it_has_added() {
        let scratch = tempfile::tempdir().expect("a folder");
        let paths = ["a.bin", "b.bin"].map(|name| scratch.path().join(name));
        let mut tail = tail(&paths);
        let first = sample(0, 110, 110, 40);
        let wrong = Sample { outcome: 1, worker: 1, ..sample(0, 120, 120, 100) };
        fs::write(&paths[0], first.to_bytes()).expect("a file");
        fs::write(&paths[1], wrong.to_bytes()).expect("a file");
        let turned = tail.turn(&[done(100, true), done(90, false)], 200, 250).await;
        let expected = Turned {
            began_ns: 90,
            ended_ns: 220,
            operations: 2,
            completed_by_deadline: 1,
            errors: 1,
            exhausted: false,
            gave_up: false,
        };
        assert_eq!(turned.expect("samples"), expected);
        let second = Sample { index: 1, ..sample(0, 300, 300, 5) };
        fs::write(&paths[0], [first.to_bytes(), second.to_bytes()].concat()).expect("a file");
        let turned = tail.turn(&[done(300, true), done(300, true)], 400, 400).await;
        let expected =
            Turned { began_ns: 300, ended_ns: 305, operations: 1, errors: 0, ..expected };
        assert_eq!(turned.expect("samples"), Turned { exhausted: true, ..expected });
        assert_eq!(tail.close().expect("files"), &Claimed { counts: vec![2, 1], fault: None });
        fs::write(&paths[1], [wrong.to_bytes(); 3].concat()).expect("a file");
        let late = tail.close().expect("files").fault.as_deref();
        assert_eq!(late, Some("2 samples after its last turn"));
    }

    #[tokio::test]
    async fn a_hole_is_not_read() {
        let scratch = tempfile::tempdir().expect("a folder");
        let paths = [scratch.path().join("a.bin")];
        let faults = [(1 << 42, "137438953472 samples of a turn of"), (96, "outside of its turn")];
        for (bytes, expected) in faults {
            let mut tail = tail(&paths);
            fs::write(&paths[0], sample(0, 110, 110, 40).to_bytes()).expect("a file");
            File::options().write(true).open(&paths[0]).unwrap().set_len(bytes).unwrap();
            let turned = tail.turn(&[done(100, false)], 200, 1_000_000_000).await;
            let one = u64::from(bytes == 96);
            assert_eq!(turned.expect("samples").operations, one);
            let Claimed { counts, fault } = tail.close().expect("files");
            assert_eq!(counts, &[one]);
            assert!(fault.as_ref().is_some_and(|it| it.contains(expected)), "{fault:?}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_cannot_be_read() {
        let prepared = Prepare::Worker(prepare(AdapterPacing::Burst {}, 1));
        assert!(SampleTail::open(&[prepared]).is_err());
    }
}
