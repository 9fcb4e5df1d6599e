//! The statistics of mongodyno: pure functions from numbers to numbers and sentences.
//!
//! They read no clock, do no input or output, and draw from the caller's seed. So the same
//! experiment folder always gives the same report. The specification is `docs/methodology.md`;
//! section numbers in the comments refer to it.

pub mod across_servers;
pub mod bias;
pub mod bisection;
pub mod changes;
pub mod comparison;
pub mod cost;
pub mod curve;
pub mod descriptive;
pub mod disturbed;
pub mod gates;
pub mod growth;
pub mod histogram;
pub mod hlog;
pub mod judge;
pub mod lap_precision;
pub mod line_steps;
pub mod littles_law;
pub mod looks;
pub mod mann_kendall;
pub mod multiple;
pub mod noise;
pub mod order;
pub mod overload;
pub mod rank;
pub mod rate_knee;
pub mod ratio;
pub mod spearman;
mod special;
pub mod theil_sen;
pub mod threshold;
pub mod usl;
pub mod verdict;
pub mod wording;
