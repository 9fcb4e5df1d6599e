//! From a plan to what each worker does: keys, schedules, stamped values and expected answers.

mod arrivals;
pub mod bytes;
mod dealing;
mod deletions;
mod draw;
pub mod expected;
mod key_choice;
mod numbers;
pub mod population;
pub mod random;
pub mod schedule;
mod schedule_file;
pub(crate) mod schedule_length;
mod schedule_request;
pub(crate) mod selected_documents;
pub mod stamp;
pub mod steps;
