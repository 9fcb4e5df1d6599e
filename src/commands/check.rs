//! `mongodyno check` (placeholder until the thin path runs).
use crate::cli::CheckArgs;
use crate::error::Result;
/// Runs the verb.
///
/// # Errors
/// None yet.
pub async fn run(_args: CheckArgs) -> Result<()> {
    Ok(())
}
