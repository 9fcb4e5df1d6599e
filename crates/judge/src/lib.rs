//! The judging side: from a folder's records to verdicts, causes and answers.

pub mod analysis;
pub mod diagnosis;
pub mod study;
