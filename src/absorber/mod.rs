//! The absorber: a server in memory that costs next to nothing, so that what is measured is the
//! driver.

pub mod engine;
