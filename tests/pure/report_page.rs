//! What a reader sees of a page and can do with it, in a real browser, by geometry and not by
//! pixels.

use std::path::Path;

use crate::browser::{console, find, opened};
use crate::support::skip;
use serde_json::Value;

const PROBE: &str = include_str!("page_probe.js");
/// A desk's window and a phone's.
const SIZES: [(u32, u32); 2] = [(1300, 900), (390, 844)];

/// The page of a fixture.
fn page(name: &str) -> String {
    use judge::analysis::types::Analysis;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/report");
    let text = std::fs::read_to_string(fixtures.join(name)).expect("a fixture");
    let mut analysis: Analysis = serde_json::from_str(&text).expect("an analysis");
    "What does one operation cost in a driver?".clone_into(&mut analysis.why);
    report::Report {
        analysis: &analysis,
        runs: &[],
        series: &record::folder::Series::default(),
        options: &report::Options::default(),
    }
    .text(report::html::FORMAT)
    .expect("a page")
}

/// What the page says of itself at each size.
fn probed(browser: &Path, page: &str, more: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!("<script>{more}{PROBE}</script></body>");
    let page = page.replace("</body>", &script);
    std::fs::write(folder.path().join("page.html"), page).expect("a page");
    let frame = |(width, height): (u32, u32)| {
        let style = format!("border:0;width:{width}px;height:{height}px");
        format!("<iframe src='page.html' style='{style}'></iframe>")
    };
    let around = format!(
        "<!doctype html><script>addEventListener('message', (event) => {{
           const text = document.createElement('p');
           text.textContent = '@@' + JSON.stringify(event.data) + '@@';
           document.body.append(text); }});</script><body>{}",
        SIZES.map(frame).concat()
    );
    let path = folder.path().join("around.html");
    std::fs::write(&path, around).expect("a page");
    let (dom, log) = opened(browser, &path, folder.path());
    assert!(console(&log).is_empty(), "{:#?}", console(&log));
    let said = dom.split("<p>@@").skip(1).filter_map(|part| part.split("@@</p>").next());
    let said: Vec<Value> = said
        .map(|json| {
            let json = json.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            serde_json::from_str(&json).expect("JSON")
        })
        .collect();
    let of_size = |(width, height): (u32, u32)| {
        let size = format!("{width}x{height}");
        let found = said.iter().find(|it| it["size"] == size.as_str());
        found.unwrap_or_else(|| panic!("{size} says nothing: {said:?}")).clone()
    };
    SIZES.iter().copied().map(of_size).collect()
}

#[test]
fn the_first_screen_holds_the_verdict_and_its_picture() {
    let Some(browser) = find() else {
        return skip("the_first_screen_holds_the_verdict_and_its_picture", "no chromium on PATH");
    };
    for (said, (_, height)) in probed(&browser, &page("everything.json"), "").into_iter().zip(SIZES)
    {
        for what in ["verdict", "sentence", "picture"] {
            let bottom = said[what].as_i64().expect("a place");
            assert!((1..=i64::from(height)).contains(&bottom), "{what}: {said}");
        }
        assert!(said["doubts"].as_u64().is_some_and(|it| it <= 3), "{said}");
        assert_eq!((&said["over"], &said["open"]), (&0.into(), &0.into()), "{said}");
        assert_eq!(said["theme"], "dark", "{said}");
        for ground in ["light", "dark"] {
            let contrast = said[ground].as_str().and_then(|it| it.split(' ').next());
            let contrast: f64 = contrast.and_then(|it| it.parse().ok()).expect("a ratio");
            assert!(contrast >= 4.5, "{ground}: {said}");
        }
    }
}
