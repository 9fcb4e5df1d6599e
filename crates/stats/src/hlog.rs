//! `HdrHistogram` interval logs (`.hlog`): one histogram per interval and tag, as text.
//!
//! Written for other tools in V2 (deflated, base64), and read in V2 and in the older V1. Histograms
//! of any geometry are re-recorded in ours. Format: `HistogramLogWriter`, `HistogramLogReader` and
//! `AbstractHistogram` of `HdrHistogram` (Java).

use std::fmt;
use std::io::{self, Read, Write};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, IntervalLogWriterError, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

use super::histogram::Histogram;

/// The interval's maximum is written for human eyes, in milliseconds.
const MAX_DIVISOR_NS_PER_MS: f64 = 1e6;
/// An encoded histogram that inflates beyond this is refused: ours is 300 KB at most.
const INFLATED_LIMIT_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Names the series, such as `service`; None for the untagged one.
    pub tag: Option<String>,
    /// Counted from the log's start time.
    pub start: Duration,
    pub length: Duration,
    pub histogram: Histogram,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntervalLog {
    /// Since the Unix epoch, if the log names one.
    pub start_time: Option<Duration>,
    /// In the order of the file.
    pub intervals: Vec<Interval>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HlogError {
    /// A line, counted from 1, is neither a comment nor an interval.
    Line(usize),
    /// The histogram of this interval, counted from 1, cannot be decoded, for this reason.
    Histogram(usize, String),
}

impl fmt::Display for HlogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "interval log: line {line} is not understood"),
            Self::Histogram(interval, why) => {
                write!(f, "interval log: the histogram of interval {interval}: {why}")
            }
        }
    }
}

impl std::error::Error for HlogError {}

impl IntervalLog {
    /// A last line without its end is an error: the writer was killed.
    pub fn read(bytes: &[u8]) -> Result<Self, HlogError> {
        let mut intervals = Vec::new();
        let start_time = Self::each(bytes, |interval| intervals.push(interval))?;
        Ok(Self { start_time, intervals })
    }

    /// Reads a log interval by interval and answers its start time. Memory does not grow with their
    /// number: an interval takes 300 KB, whatever its line has.
    pub fn each(
        bytes: &[u8],
        mut take: impl FnMut(Interval),
    ) -> Result<Option<Duration>, HlogError> {
        let mut deserializer = Deserializer::new();
        let (mut start_time, mut count) = (None, 0);
        for entry in IntervalLogIterator::new(bytes) {
            match entry.map_err(|error| HlogError::Line(line_of(bytes, &error)))? {
                LogEntry::StartTime(since_epoch) => start_time = Some(since_epoch),
                LogEntry::BaseTime(_) => {}
                LogEntry::Interval(line) => {
                    count += 1;
                    let histogram = decode(line.encoded_histogram(), &mut deserializer)
                        .map_err(|why| HlogError::Histogram(count, why))?;
                    take(Interval {
                        tag: line.tag().map(|tag| tag.as_str().to_owned()),
                        start: line.start_timestamp(),
                        length: line.duration(),
                        histogram,
                    });
                }
            }
        }
        Ok(start_time)
    }

    /// Writes format 1.3, histograms in V2 (deflated). A tag with a comma, blank or line break is
    /// `InvalidInput`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "#[Histogram log format version 1.3]")?;
        if let Some(start) = self.start_time {
            let seconds = start.as_secs_f64();
            writeln!(out, "#[StartTime: {seconds:.3} (seconds since epoch)]")?;
        }
        // The crate has no way to write the legend that Java readers print.
        writeln!(
            out,
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
             \"Interval_Compressed_Histogram\""
        )?;
        let mut serializer = V2DeflateSerializer::new();
        let mut writer = IntervalLogWriterBuilder::new()
            .with_max_value_divisor(MAX_DIVISOR_NS_PER_MS)
            .begin_log_with(out, &mut serializer)?;
        for interval in &self.intervals {
            let tag = interval.tag.as_deref().map(checked_tag).transpose()?;
            writer
                .write_histogram(interval.histogram.counts(), interval.start, interval.length, tag)
                .map_err(|error| match error {
                    IntervalLogWriterError::IoError(error) => error,
                    IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
                })?;
        }
        Ok(())
    }
}

fn checked_tag(tag: &str) -> io::Result<Tag<'_>> {
    Tag::new(tag).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("not a histogram log tag: {tag:?}"))
    })
}

fn line_of(
    bytes: &[u8],
    error: &hdrhistogram::serialization::interval_log::LogIteratorError,
) -> usize {
    let hdrhistogram::serialization::interval_log::LogIteratorError::ParseError { offset } = error;
    bytes[..*offset].split(|&byte| byte == b'\n').count()
}

fn decode(text: &str, deserializer: &mut Deserializer) -> Result<Histogram, String> {
    const V1_DEFLATED: u32 = 0x1c84_9302;
    const V2_DEFLATED: u32 = 0x1c84_9304;
    let mut bytes = BASE64.decode(text).map_err(|error| error.to_string())?;
    let word = |bytes: &[u8], at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let cookie = word(&bytes, 0).map(|cookie| cookie & !0xf0);
    if cookie == Some(V1_DEFLATED) {
        return decode_v1(&bytes[4..]).map_err(|error| error.to_string());
    }
    if cookie == Some(V2_DEFLATED) {
        let deflated = bytes.get(8..).unwrap_or_default();
        let mut inflated = Vec::new();
        let mut inflating = flate2::read::ZlibDecoder::new(deflated).take(INFLATED_LIMIT_BYTES);
        inflating.read_to_end(&mut inflated).map_err(|error| error.to_string())?;
        bytes = inflated;
    }
    // The crate takes as much memory as the header announces.
    if word(&bytes, 4).is_some_and(|payload| payload as usize > bytes.len()) {
        return Err("it ends before its payload".to_owned());
    }
    let histogram = deserializer.deserialize(&mut &bytes[..]).map_err(|error| error.to_string())?;
    Ok(Histogram::from_other_geometry(&histogram))
}

/// V1, which the crate does not read: the same header, counts as plain big-endian words.
fn decode_v1(after_cookie: &[u8]) -> io::Result<Histogram> {
    const V1: u32 = 0x1c84_9301;
    let deflated = after_cookie.get(4..).ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut inflated = flate2::read::ZlibDecoder::new(deflated).take(INFLATED_LIMIT_BYTES);
    let cookie = u32::from_be_bytes(read_array(&mut inflated)?);
    if cookie & !0xf0 != V1 {
        return Err(invalid(format!("cookie {cookie:#x} inside a V1 envelope")));
    }
    let payload_bytes = u32::from_be_bytes(read_array(&mut inflated)?);
    let normalising_offset = u32::from_be_bytes(read_array(&mut inflated)?);
    let digits = u32::from_be_bytes(read_array(&mut inflated)?);
    let lowest = u64::from_be_bytes(read_array(&mut inflated)?);
    let _highest = u64::from_be_bytes(read_array(&mut inflated)?);
    let ratio = f64::from_be_bytes(read_array(&mut inflated)?);
    if normalising_offset != 0
        || !(0..=5).contains(&digits)
        || lowest == 0
        || ratio.to_bits() != 1.0_f64.to_bits()
    {
        return Err(invalid("a V1 header with values we do not support".to_owned()));
    }
    let word_bytes = ((cookie >> 4) & 0xe) as usize;
    if !matches!(word_bytes, 2 | 4 | 8) {
        return Err(invalid(format!("V1 counts of {word_bytes} bytes")));
    }
    let mut payload = Vec::new();
    inflated.take(u64::from(payload_bytes)).read_to_end(&mut payload)?;
    let mut histogram = Histogram::new();
    for (index, word) in payload.chunks_exact(word_bytes).enumerate() {
        let count = word.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        if count > 0 {
            histogram.record_n(lowest_value_of_slot(index, lowest, digits)?, count);
        }
    }
    Ok(histogram)
}

/// The lowest value of slot `index` in a histogram of the given geometry (`AbstractHistogram`).
fn lowest_value_of_slot(index: usize, lowest: u64, digits: u32) -> io::Result<u64> {
    let half_magnitude = (2 * 10_u64.pow(digits)).next_power_of_two().trailing_zeros() - 1;
    let half = 1_u64 << half_magnitude;
    let (index, unit_magnitude) = (index as u64, lowest.ilog2());
    let (bucket, sub_bucket) = match (index >> half_magnitude).checked_sub(1) {
        Some(bucket) => (bucket, (index & (half - 1)) + half),
        None => (0, index),
    };
    u32::try_from(bucket)
        .ok()
        .and_then(|bucket| 1_u64.checked_shl(bucket + unit_magnitude))
        .and_then(|unit| sub_bucket.checked_mul(unit))
        .ok_or_else(|| invalid("more counts than the value range has".to_owned()))
}

fn read_array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut array = [0; N];
    from.read_exact(&mut array)?;
    Ok(array)
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_lies_takes_no_memory() {
        let v2 = [0x1c84_9313_u32, u32::MAX, 0, 3].map(u32::to_be_bytes).concat();
        let text = BASE64.encode([&v2[..], &[0; 24]].concat());
        let log = format!("Tag=x,0.000,1.000,1.000,{text}\n");
        let error = IntervalLog::read(log.as_bytes()).expect_err("it lies");
        assert_eq!(error, HlogError::Histogram(1, "it ends before its payload".to_owned()));
    }
}
