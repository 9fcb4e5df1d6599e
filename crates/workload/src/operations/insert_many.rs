//! `insert_many`: the next documents of the worker's own, in one call.

use super::about::About;
use super::insert_one;
use super::making::{Making, needed};

/// The server takes no more in one message.
const BATCH_MAX: u32 = 100_000;
const BATCH_BYTES_MAX: f64 = 48_000_000.0;

pub const ABOUT: About = About {
    keys: &["collection", "batch", "ordered"],
    inserts: true,
    ..About::write("opcounters.insert", make)
};

fn make(making: &mut Making<'_, '_, '_>) -> Option<()> {
    insert_one::make(making)?;
    let (keys, place) = (making.keys, making.place);
    making.made.ordered = keys.ordered.as_ref().map(|ordered| ordered.value);
    let Some(batch) = needed(making.check, keys.batch.as_ref(), "batch", place) else {
        return Some(());
    };
    making.made.batch = Some(batch.value);
    if batch.value == 0 || batch.value > BATCH_MAX {
        let message = format!("a batch of {} documents", batch.value);
        making.check.wrong(batch.place, message, format!("from 1 to {BATCH_MAX}"));
        return Some(());
    }
    let mean = making.collection()?.document_bytes_mean;
    let bytes = mean * f64::from(batch.value);
    if bytes > BATCH_BYTES_MAX {
        let message = format!(
            "a batch of {} documents of {} bytes has {} MB",
            batch.value,
            figures::fixed(mean, 0),
            figures::fixed(bytes / 1e6, 1)
        );
        let most = (BATCH_BYTES_MAX / mean).floor();
        making.check.wrong(batch.place, message, format!("a message has 48 MB: at most {most}"));
    }
    Some(())
}
