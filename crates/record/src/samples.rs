//! Raw samples as adapters write them: SPEC section 8.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::plain;
use base::error::{Error, Result};

/// Raw samples of one experiment; beyond it histograms are kept and samples are not.
pub const SAMPLE_BUDGET_BYTES: u64 = 2 << 30;
pub const SAMPLE_BYTES: usize = 32;

/// One operation. Times are ns since the experiment's epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Intended start; equal to `start_ns` in a closed loop.
    pub intended_ns: u64,
    /// Just before the driver's call.
    pub start_ns: u64,
    /// End minus start.
    pub service_ns: u64,
    /// Number of the operation in its slice of the schedule.
    pub index: u32,
    /// Index into the phase's operations.
    pub operation: u8,
    /// 0 right, 1 wrong answer, 2 error, 3 timeout.
    pub outcome: u8,
    /// Worker over all processes of the run.
    pub worker: u16,
}

impl Sample {
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.service_ns)
    }

    /// End minus intended start.
    pub fn response_ns(&self) -> u64 {
        self.end_ns().saturating_sub(self.intended_ns)
    }

    pub fn from_bytes(bytes: &[u8; SAMPLE_BYTES]) -> Self {
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        Self {
            intended_ns: u64_at(0),
            start_ns: u64_at(8),
            service_ns: u64_at(16),
            index: u32::from_le_bytes(bytes[24..28].try_into().expect("4 bytes")),
            operation: bytes[28],
            outcome: bytes[29],
            worker: u16::from_le_bytes(bytes[30..32].try_into().expect("2 bytes")),
        }
    }

    pub fn to_bytes(&self) -> [u8; SAMPLE_BYTES] {
        let mut bytes = [0; SAMPLE_BYTES];
        bytes[0..8].copy_from_slice(&self.intended_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.start_ns.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.service_ns.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.index.to_le_bytes());
        bytes[28] = self.operation;
        bytes[29] = self.outcome;
        bytes[30..32].copy_from_slice(&self.worker.to_le_bytes());
        bytes
    }
}

/// The samples of one file, in constant memory. They end at an error.
pub struct Samples {
    path: PathBuf,
    /// None after an error: asked again it would give the same one for ever.
    file: Option<BufReader<File>>,
    /// Samples still to come when the file was opened.
    left: usize,
}

impl Samples {
    /// Fails on a link, and on anything but an ordinary file.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Self::below(path.parent().unwrap_or(Path::new(".")), name)
    }

    /// Opens a sample file that a record names below a folder; fails on a name that leads
    /// elsewhere.
    pub fn below(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name);
        let opened = plain::open(folder, name).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = opened.map_err(|error| Error::file("read", &path, &error))?;
        let left = usize::try_from(bytes).unwrap_or(0) / SAMPLE_BYTES;
        Ok(Self { path, file: Some(BufReader::with_capacity(1 << 18, file)), left })
    }
}

impl Iterator for Samples {
    type Item = Result<Sample>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = [0; SAMPLE_BYTES];
        self.left = self.left.saturating_sub(1);
        match self.file.as_mut()?.read_exact(&mut bytes) {
            Ok(()) => Some(Ok(Sample::from_bytes(&bytes))),
            // A killed adapter leaves a torn last record; the whole ones before it count.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => {
                self.file = None;
                Some(Err(Error::file("read", &self.path, &error)))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, None)
    }
}

/// A file of samples that an adapter is writing: each reading goes on where the last one ended.
pub struct Growing {
    path: PathBuf,
    file: File,
    read_bytes: u64,
    bytes: Vec<u8>,
}

impl Growing {
    /// Fails on a link, and on anything but an ordinary file.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let opened = plain::open(path.parent().unwrap_or(Path::new(".")), name);
        let file = opened.map_err(|error| Error::file("read", path, &error))?;
        Ok(Self { path: path.to_owned(), file, read_bytes: 0, bytes: Vec::new() })
    }

    /// Whole samples that have not been read.
    pub fn left(&self) -> Result<u64> {
        let end = self.file.metadata().map_err(|error| self.unread(&error))?.len();
        Ok(end.saturating_sub(self.read_bytes) / SAMPLE_BYTES as u64)
    }

    /// The next ones, `most` of them or fewer. A file may end where a hole begins that is as large
    /// as its writer likes, so no more is read than was asked for.
    pub fn next(&mut self, most: u64) -> Result<impl Iterator<Item = Sample> + '_> {
        const AT_ONCE: u64 = 1 << 13;
        let count = most.min(AT_ONCE) as usize;
        self.bytes.resize(count * SAMPLE_BYTES, 0);
        let read = self.file.read_exact_at(&mut self.bytes, self.read_bytes);
        read.map_err(|error| self.unread(&error))?;
        self.read_bytes += self.bytes.len() as u64;
        Ok(self.bytes.as_chunks::<SAMPLE_BYTES>().0.iter().map(Sample::from_bytes))
    }

    fn unread(&self, error: &io::Error) -> Error {
        Error::file("read", &self.path, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_laid_out_as_the_contract_says() {
        let sample = Sample {
            intended_ns: 0x0102_0304_0506_0708,
            start_ns: 2,
            service_ns: 3,
            index: 4,
            operation: 5,
            outcome: 1,
            worker: 0x0607,
        };
        let bytes = sample.to_bytes();
        assert_eq!(bytes[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(bytes[24..], [4, 0, 0, 0, 5, 1, 7, 6]);
        assert_eq!(Sample::from_bytes(&bytes), sample);
    }

    #[test]
    fn samples_end_at_an_error() {
        // `/proc/self/mem` can be opened, but its beginning is not mapped: every read fails.
        let mut samples = Samples::open(Path::new("/proc/self/mem")).expect("it opens");
        let error = samples.next().expect("an error").expect_err("an error");
        assert!(error.message.starts_with("cannot read /proc/self/mem: "), "{error}");
        assert!(samples.next().is_none());
        let folder = Samples::open(Path::new("/proc/self/fd")).err().expect("no file");
        assert!(folder.message.ends_with(": no ordinary file"), "{folder}");
    }

    #[test]
    fn a_torn_last_record_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.bin");
        let sample = Sample {
            intended_ns: 1,
            start_ns: 1,
            service_ns: 1,
            index: 0,
            operation: 0,
            outcome: 0,
            worker: 0,
        };
        let mut bytes = sample.to_bytes().to_vec();
        bytes.extend_from_slice(&sample.to_bytes()[..7]);
        std::fs::write(&path, bytes).unwrap();
        let samples = Samples::open(&path).unwrap();
        assert_eq!(samples.size_hint().0, 1);
        assert_eq!(samples.map(Result::unwrap).count(), 1);
    }

    #[test]
    fn a_growing_file_is_read_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.bin");
        let sample = |index: u32| {
            let bytes = [0; SAMPLE_BYTES];
            Sample { index, ..Sample::from_bytes(&bytes) }.to_bytes()
        };
        std::fs::write(&path, [&sample(0)[..], &sample(1)[..], &sample(2)[..9]].concat()).unwrap();
        let mut growing = Growing::open(&path).unwrap();
        let mut read = || {
            let left = growing.left().unwrap();
            growing.next(left).unwrap().map(|sample| sample.index).collect::<Vec<_>>()
        };
        assert_eq!(read(), [0, 1]);
        assert_eq!(read(), [0; 0]);
        std::fs::write(&path, [sample(0), sample(1), sample(2), sample(3)].concat()).unwrap();
        assert_eq!(read(), [2, 3]);
    }
}
