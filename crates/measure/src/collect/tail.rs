//! The counts of a turn, from the samples that it has added.

use std::path::Path;

use crate::turn::Turned;
use adapter::messages::TurnDone;
use base::error::Result;
use record::samples::Growing;

/// The sample files of a phase, one a process, from `prepare` to the next.
pub struct Tail {
    files: Vec<Growing>,
}

impl Tail {
    pub fn open(samples: &[String]) -> Result<Self> {
        let files = samples.iter().map(|path| Growing::open(Path::new(path)));
        Ok(Self { files: files.collect::<Result<_>>()? })
    }

    /// Reads on, and merges the turns of all processes.
    pub fn turn(&mut self, done: &[TurnDone], until_ns: u64) -> Result<Turned> {
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
        for file in &mut self.files {
            file.each(|sample| {
                turned.ended_ns = turned.ended_ns.max(sample.end_ns());
                turned.operations += 1;
                turned.completed_by_deadline += u64::from(sample.end_ns() <= until_ns);
                turned.errors += u64::from(sample.outcome != 0);
            })?;
        }
        Ok(turned)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::sample;
    use super::*;
    use record::samples::Sample;

    #[test]
    fn a_turn_counts_what_it_has_added() {
        let scratch = tempfile::tempdir().expect("a folder");
        let paths = ["a.bin", "b.bin"].map(|name| scratch.path().join(name));
        for path in &paths {
            std::fs::write(path, []).expect("a file");
        }
        let names = paths.clone().map(|path| path.to_string_lossy().into_owned());
        let mut tail = Tail::open(&names).expect("files");
        let done = |began_ns, exhausted| TurnDone { began_ns, exhausted, gave_up: false };
        let first = sample(0, 110, 110, 40);
        let wrong = Sample { outcome: 1, ..sample(0, 120, 120, 100) };
        std::fs::write(&paths[0], first.to_bytes()).expect("a file");
        std::fs::write(&paths[1], wrong.to_bytes()).expect("a file");
        let turned = tail.turn(&[done(100, true), done(90, false)], 200).expect("samples");
        let expected = Turned {
            began_ns: 90,
            ended_ns: 220,
            operations: 2,
            completed_by_deadline: 1,
            errors: 1,
            exhausted: false,
            gave_up: false,
        };
        assert_eq!(turned, expected);
        let both = [first.to_bytes(), sample(0, 300, 300, 5).to_bytes()].concat();
        std::fs::write(&paths[0], both).expect("a file");
        let turned = tail.turn(&[done(300, true), done(300, true)], 400).expect("samples");
        let expected =
            Turned { began_ns: 300, ended_ns: 305, operations: 1, errors: 0, ..expected };
        assert_eq!(turned, Turned { exhausted: true, ..expected });
        assert!(Tail::open(&["/nowhere/x.bin".to_owned()]).is_err());
    }
}
