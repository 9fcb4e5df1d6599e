//! A disturbed machine: a second process that works half of the time.

use std::hint::black_box;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

pub const CHILD: &str = "disturb";

/// Length of its work, and of its rest.
const STRETCH: Duration = Duration::from_millis(250);

/// The process; it ends with the value.
pub struct Disturber(Child);

impl Disturber {
    pub fn start() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let child = Command::new(program).arg(CHILD).stdin(Stdio::piped()).spawn();
        child.map(Self).map_err(|error| error.to_string())
    }
}

impl Drop for Disturber {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Works and rests until the benchmark has gone.
pub fn child() -> ExitCode {
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        let began = Instant::now();
        while began.elapsed() < STRETCH {
            black_box(began);
        }
        std::thread::sleep(STRETCH);
    }
    ExitCode::SUCCESS
}
