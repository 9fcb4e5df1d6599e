//! The page in a real browser. Skipped, and said so, where there is none; with `MDYN_NO_SKIP=1` a
//! skip is a failure.

use std::path::{Path, PathBuf};

use crate::browser::{console, find, opened};
use crate::support::skip;
use report::{Options, Report, html};

fn page_of(fixture: &str, folder: &Path) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/report");
    let json = std::fs::read_to_string(fixtures.join(fixture)).unwrap();
    let analysis = serde_json::from_str(&json).unwrap();
    let report = Report { analysis: &analysis, runs: &[], options: &Options::default() };
    let page = report.text(html::FORMAT);
    let path = folder.join(format!("{fixture}.html"));
    std::fs::write(&path, page).unwrap();
    path
}

#[test]
fn report_page_opens_in_chromium() {
    let Some(browser) = find() else {
        return skip("report_page_opens_in_chromium", "no chromium on PATH");
    };
    let folder = tempfile::tempdir().unwrap();
    // The log must be able to tell: the failure of a broken page shows.
    let broken = folder.path().join("broken.html");
    std::fs::write(&broken, "<!doctype html><script>throw new Error('heard')</script>").unwrap();
    let (_, log) = opened(&browser, &broken, folder.path());
    assert!(log.contains("CONSOLE") && log.contains("heard"), "the console is not heard: {log}");
    for fixture in ["everything.json", "one_arm.json", "all_failed.json"] {
        let page = page_of(fixture, folder.path());
        let (dom, log) = opened(&browser, &page, folder.path());
        assert!(console(&log).is_empty(), "{fixture}: {:#?}", console(&log));
        assert!(dom.contains("data-ready=\"true\""), "{fixture}: the script did not finish");
        assert!(!dom.contains("<b>documents"), "{fixture}: a string became markup");
    }
}
