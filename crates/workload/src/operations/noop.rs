//! `noop`: nothing, to measure what everything around an operation costs.

use super::about::{About, ServerCount};

pub const ABOUT: About = About { counted: ServerCount::Not, ..About::new(|_| Some(())) };
