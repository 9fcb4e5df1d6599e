//! Installing drivers: versions, sources, environments.

mod environments;
mod installing;
mod sources;
mod versions;
