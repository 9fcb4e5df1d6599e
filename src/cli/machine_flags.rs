//! Flags about the machine that an experiment runs on.

use clap::Args;
use clap::builder::BoolishValueParser;

#[derive(Debug, Clone, Copy, Args)]
pub struct MachineArgs {
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Let idle cores sleep, even if they wake up slowly
    #[arg(long)]
    pub no_keep_awake: bool,
}

#[derive(Debug, Clone, Copy, Args)]
pub struct WaitArgs {
    /// Do not wait for a busy machine to become quiet
    #[arg(long, env = "MDYN_NO_WAIT", hide_env_values = true,
          value_parser = BoolishValueParser::new())]
    pub no_wait: bool,
}
