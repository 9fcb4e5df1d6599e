//! Progress on stderr; results belong to stdout.

use base::say;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Reports to the person at the terminal what takes time.
#[derive(Debug, Clone, Copy, Default)]
pub struct InstallProgress {
    pub quiet: bool,
}

impl InstallProgress {
    pub fn note(self, text: &str) {
        if !self.quiet {
            say!("{text}");
        }
    }

    /// Returns a line that counts bytes up to `total`; prints a single plain line if stderr is a
    /// file.
    pub(super) fn bytes(self, label: &str, total: u64) -> ProgressBar {
        if self.quiet || !std::io::stderr().is_terminal() {
            self.note(&format!("{label} ({} MB)", total / 1_000_000));
            return ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        }
        let bar = ProgressBar::new(total).with_message(label.to_string());
        let style = "{spinner} {msg} {bytes}/{total_bytes} {bar:24} {bytes_per_sec}";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }
}
