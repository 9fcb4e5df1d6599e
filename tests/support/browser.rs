//! A real browser, headless.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::npm;

pub fn find() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut files = names.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
    files.find(|file| file.is_file())
}

/// Longer than a page takes on a busy machine.
const HANG: Duration = Duration::from_secs(240);

/// The client of `tests/clients/browser` at a task.
///
/// # Errors
/// Something is missing on this machine.
pub fn at(task: &str, words: &[&str]) -> Result<Child, String> {
    let browser = find().ok_or("no chromium on PATH")?;
    let mut node = Command::new("node");
    node.arg(npm::installed("browser")?.join("client.js")).arg(browser).arg(task).args(words);
    let child = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    child.map_err(|error| format!("node: {error}"))
}

/// The DOM that the browser makes of the page, and its log. `profile` is a folder for its files.
pub fn opened(browser: &Path, page: &Path, profile: &Path) -> (String, String) {
    let (dom, log) = (profile.join("dom.html"), profile.join("browser.log"));
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0", "--dump-dom"])
        // Messages between frames arrive after the page has loaded; time goes by at once.
        .arg("--virtual-time-budget=5000")
        .arg(format!("--user-data-dir={}", profile.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&dom).unwrap())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + HANG;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the browser hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let text = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    (text(dom), text(log))
}

/// Lines of the log that a page's console wrote.
pub fn console(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("CONSOLE")).collect()
}
