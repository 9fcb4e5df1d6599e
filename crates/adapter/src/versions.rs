//! Words for versions.

/// The driver that the machine has.
pub const SYSTEM: &str = "system";

/// The version in the name of an arm whose driver is the machine's. An arm of that name is the same
/// arm again: whoever resumes it asks for no other version.
pub fn of_machine(told: &str) -> String {
    format!("{SYSTEM}-{told}")
}

/// The version to install, and the one that the machine's driver has to tell.
pub fn wanted(version: &str) -> (&str, Option<&str>) {
    match version.strip_prefix(SYSTEM).and_then(|rest| rest.strip_prefix('-')) {
        Some(told) => (SYSTEM, Some(told)),
        None => (version, None),
    }
}
