//! Flags about the machine that an experiment runs on.

use clap::Args;

/// What `run` and `study` do about it.
#[derive(Debug, Clone, Copy, Args)]
pub struct MachineArgs {
    /// Do not wait for a busy machine to become quiet
    #[arg(long, env = "MDYN_NO_WAIT", hide_env_values = true)]
    pub no_wait: bool,
    /// Let cores halt between messages, even where they wake up late
    #[arg(long)]
    pub no_keep_awake: bool,
}
