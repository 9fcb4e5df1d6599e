//! The judging side: from a folder's records to verdicts and causes.

pub mod analysis;
pub mod diagnosis;
