//! The page in a real browser. Skipped, and said so, where there is none; with `MDYN_NO_SKIP=1` a
//! skip is a failure.

use std::path::{Path, PathBuf};

use crate::browser::{console, find, opened};
use crate::support::skip;
use judge::analysis::types::{Analysis, Metric};
use record::folder::Series;
use report::{Format, Options, Report};

fn analysis(fixture: &str) -> Analysis {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/report");
    serde_json::from_str(&std::fs::read_to_string(fixtures.join(fixture)).unwrap()).unwrap()
}

fn written(analysis: &Analysis, name: &str) -> String {
    let format = Format::named(name).unwrap();
    let series = Series::default();
    Report { analysis, runs: &[], series: &series, latencies: &[], options: &Options::default() }
        .text(format)
        .unwrap()
}

fn page_of(fixture: &str, folder: &Path) -> PathBuf {
    let page = written(&analysis(fixture), "html");
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
    // The log must show the failure of a broken page.
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

/// Texts of the picture that overlap or leave it, as the attribute `data-found` of the page.
const FIND: &str = "
  const svg = document.querySelector('svg').getBoundingClientRect();
  const texts = [...document.querySelectorAll('text')].filter(it => it.textContent);
  const boxes = texts.map(it => [it.textContent, it.getBoundingClientRect()]);
  const found = [`${boxes.length} texts`];
  boxes.forEach(([text, a], index) => {
    if (a.left < svg.left || a.right > svg.right || a.bottom > svg.bottom) found.push(text);
    for (const [other, b] of boxes.slice(index + 1)) {
      // Lines may touch by the room above their letters.
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 0 && down > 3) found.push(`${text} | ${other}`);
    }
  });
  document.body.dataset.found = found.join('; ');";

/// An analysis with a number of arms, some with long names.
fn with_arms(count: usize) -> Analysis {
    let mut analysis = analysis("everything.json");
    let names =
        ["python@4.13.0/api=asyncio", "node@1.4.3/maxPoolSize=1024/processes=4", "go@2.4.0"];
    let name = |at: usize| format!("{}{}", names[at % names.len()], "0".repeat(at / names.len()));
    analysis.arms.retain(|arm| !arm.is_aa);
    analysis.arms.resize(count, analysis.arms[0].clone());
    for (at, arm) in analysis.arms.iter_mut().enumerate() {
        arm.id = name(at);
    }
    analysis.comparisons.retain(|it| it.metric == Metric::Throughput && it.phase == "find_one");
    analysis.comparisons = analysis.comparisons.iter().cycle().take(count - 1).cloned().collect();
    for (at, comparison) in analysis.comparisons.iter_mut().enumerate() {
        comparison.arm = name(at + 1);
    }
    for (at, result) in analysis.results.iter_mut().enumerate() {
        result.arm = name(at % count);
    }
    analysis
}

#[test]
fn no_text_of_the_picture_overlaps_another_in_chromium() {
    let Some(browser) = find() else {
        return skip("no_text_of_the_picture_overlaps_another_in_chromium", "no chromium on PATH");
    };
    let folder = tempfile::tempdir().unwrap();
    let pictures = [2, 4, 12].map(with_arms).into_iter();
    let fixtures = ["everything.json", "one_arm.json", "all_failed.json"].map(analysis);
    for (number, analysis) in pictures.chain(fixtures).enumerate() {
        let svg = written(&analysis, "svg");
        let page = folder.path().join(format!("{number}.html"));
        let script = format!("<!doctype html><body>{svg}<script>{FIND}</script>");
        std::fs::write(&page, script).unwrap();
        let (dom, _) = opened(&browser, &page, folder.path());
        let found = dom.split("data-found=\"").nth(1).expect("the script ran");
        let found = found.split('"').next().unwrap();
        assert!(found.ends_with(" texts"), "{found}");
    }
}
