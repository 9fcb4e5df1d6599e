//! How keys and guids move on with laps and items (SPEC section 5): the one place of that
//! arithmetic in the core.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schedule_file::Record;

/// Added to a key: one pair for a phase, so that adapters keep no table of operations. The
/// core leaves gaps between keys where a mix needs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steps {
    /// Step of each lap, if the record advances.
    pub lap: u64,
    /// Step of each document of a batch.
    pub item: u64,
}

impl Steps {
    pub fn shift(self, record: &Record, lap: u64, item: u64) -> u64 {
        (if record.advances { lap * self.lap } else { 0 }) + item * self.item
    }

    pub fn key(self, record: &Record, lap: u64, item: u64) -> u64 {
        record.key + self.shift(record, lap, item)
    }
}

/// The guid of a record, moved on. Its first bytes change most: guids of one batch lie apart in an
/// index, as random ones do.
pub fn guid(mut guid: [u8; 16], shift: u64) -> [u8; 16] {
    let shift = shift.to_le_bytes();
    for at in 0..4 {
        guid[at] ^= shift[at];
        guid[12 + at] ^= shift[4 + at];
    }
    guid
}
