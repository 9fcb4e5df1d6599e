//! A terminal of a chosen width, in tmux.

use std::path::Path;
use std::process::{Command, Stdio};

pub fn is_there() -> bool {
    Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok()
}

/// What this tmux command prints, in a server of its folder.
pub fn tmux(folder: &Path, words: &[&str]) -> String {
    let mut tmux = Command::new("tmux");
    let socket = folder.join("socket");
    tmux.arg("-u").arg("-S").arg(socket).args(words).env("TERM", "xterm").env_remove("TMUX");
    let output = tmux.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Starts a shell command in a terminal of so many columns and 60 rows.
pub fn start(folder: &Path, columns: u16, command: &str) {
    let width = columns.to_string();
    let size = ["-x", &width, "-y", "60"];
    tmux(folder, &[&["-f", "/dev/null", "new-session", "-d"], &size[..], &[command]].concat());
}

/// The lines that the terminal shows.
pub fn screen(folder: &Path) -> Vec<String> {
    let screen = tmux(folder, &["capture-pane", "-p"]);
    screen.trim_end().lines().map(|line| line.trim_end().to_owned()).collect()
}

pub fn end(folder: &Path) {
    tmux(folder, &["kill-server"]);
}
