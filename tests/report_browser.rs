//! The page in a real browser. Skipped, and said so, where there is none; with `MDYN_NO_SKIP=1` a
//! skip is a failure.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mongodyno::report::{Format, Options, render};

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let mut files = names.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
    files.find(|file| file.is_file())
}

/// Whether the test may be left out; a line on stderr lets the test command count it.
fn skip(test: &str, reason: &str) {
    eprintln!("skipped: {test}: {reason}");
    let forbidden = std::env::var("MDYN_NO_SKIP").is_ok_and(|value| value == "1");
    assert!(!forbidden, "{test} was skipped ({reason}) and MDYN_NO_SKIP=1 forbids that");
}

/// What the browser makes of the page (its DOM), and what it logs.
fn opened(browser: &Path, page: &Path, profile: &Path) -> (String, String) {
    let (dom, log) = (profile.join("dom.html"), profile.join("browser.log"));
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&dom).unwrap())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the browser did not end within two minutes");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let text = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    (text(dom), text(log))
}

fn page_of(fixture: &str, folder: &Path) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/report");
    let json = std::fs::read_to_string(fixtures.join(fixture)).unwrap();
    let analysis = serde_json::from_str(&json).unwrap();
    let mut page = Vec::new();
    render(&analysis, &[], Format::Html, &Options::default(), &mut page).unwrap();
    let path = folder.join(format!("{fixture}.html"));
    std::fs::write(&path, page).unwrap();
    path
}

#[test]
fn report_page_opens_in_chromium() {
    let Some(browser) = on_path(&["chromium", "chromium-browser", "google-chrome"]) else {
        return skip("report_page_opens_in_chromium", "no chromium on PATH");
    };
    let folder = tempfile::tempdir().unwrap();
    // The log must be able to tell: a page that does fail is heard.
    let broken = folder.path().join("broken.html");
    std::fs::write(&broken, "<!doctype html><script>throw new Error('heard')</script>").unwrap();
    let (_, log) = opened(&browser, &broken, folder.path());
    assert!(log.contains("CONSOLE") && log.contains("heard"), "the console is not heard: {log}");
    for fixture in ["everything.json", "one_arm.json", "all_failed.json"] {
        let page = page_of(fixture, folder.path());
        let (dom, log) = opened(&browser, &page, folder.path());
        let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(console.is_empty(), "{fixture}: {console:#?}");
        assert!(dom.contains("data-ready=\"true\""), "{fixture}: the script did not finish");
        assert!(!dom.contains("<b>documents"), "{fixture}: a string became markup");
    }
}
