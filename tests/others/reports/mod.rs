//! What is read from a folder: results, differences, gates, schemas.

mod diff;
mod gates;
mod histories;
mod over_time;
mod readers;
mod results;
mod schemas;
