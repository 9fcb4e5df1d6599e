//! What a reader sees of a page and can do with it, in a real browser, by geometry and not by
//! pixels.

use std::path::Path;

use crate::browser::{console, find, opened};
use crate::support::skip;
use judge::analysis::latencies::PhaseLatency;
use serde_json::Value;

const PROBE: &str = include_str!("page_probe.js");
/// A desk's window and a phone's.
const SIZES: [(u32, u32); 2] = [(1300, 900), (390, 844)];

/// Times of two arms of the fixture, us: the chart has to show these.
fn latencies() -> Vec<PhaseLatency> {
    let of = |arm: &str, p50: f64| PhaseLatency {
        arm: arm.to_owned(),
        phase: "find_one".to_owned(),
        tag: "find_one".to_owned(),
        quantiles_us: [1.0, 1.5, 2.0, 3.0, 4.0]
            .map(|it| Some(it * p50))
            .into_iter()
            .chain([None, None, Some(9.0 * p50)])
            .collect(),
        density: vec![(p50, 60.0), (2.0 * p50, 40.0)],
        seconds: vec![(0.0, p50, None), (1.0, p50, Some(4.0 * p50))],
    };
    vec![of("node@7.0.0", 100.0), of("go@2.4.0", 80.0)]
}

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
        latencies: &latencies(),
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

/// Uses each control once, by keyboard where there is one.
const CONTROLS: &str = "window.probeMore = (said, shown) => {
  const plot = document.querySelector('.plot'), svg = plot.ownerSVGElement;
  const press = (key) => svg.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  const readout = () => svg.closest('figure').querySelector('.readout').textContent;
  said.values = [...plot.querySelectorAll('.mark')].map((it) => it.dataset.values);
  said.reach = svg.tabIndex;
  press('ArrowRight'); said.read = readout();
  press('End'); said.last = readout();
  press('Escape'); said.left = readout();
  const key = document.querySelector('.key'), arm = key.dataset.n;
  const all = () => [...document.querySelectorAll(`.mark.${arm}, tr.${arm}`)];
  const marks = () => all().filter(shown).length;
  said.before = marks();
  key.click(); said.hidden = [key.ariaPressed, marks()];
  key.click(); said.again = [key.ariaPressed, marks()];
  key.dispatchEvent(new MouseEvent('click', { shiftKey: true }));
  said.alone = document.querySelectorAll('.key[aria-pressed=true]').length;
  const tools = [...document.querySelectorAll('.do button')];
  said.tools = [...new Set(tools.map((it) => it.textContent))];
};";

#[test]
fn each_control_of_the_page_does_its_work() {
    let Some(browser) = find() else {
        return skip("each_control_of_the_page_does_its_work", "no chromium on PATH");
    };
    for said in probed(&browser, &page("everything.json"), CONTROLS) {
        let values = said["values"].to_string();
        assert!(values.contains("1.00000e2 1.50000e2 2.00000e2 3.00000e2"), "{said}");
        assert!(values.contains("- - 9.00000e2"), "the maximum: {said}");
        let [read, last, left] = ["read", "last", "left"].map(|it| said[it].as_str().unwrap());
        assert!(
            read.starts_with("p50: ") && read.contains(" 100") && read.ends_with("µs"),
            "{said}"
        );
        assert!(last.starts_with("max: ") && last.contains(" 900") && left.is_empty(), "{said}");
        assert_eq!((&said["reach"], &said["alone"]), (&0.into(), &1.into()), "{said}");
        assert!(said["before"].as_u64().is_some_and(|it| it > 0), "{said}");
        assert_eq!(said["hidden"], serde_json::json!(["false", 0]), "{said}");
        assert_eq!(said["again"], serde_json::json!(["true", said["before"]]), "{said}");
        let tools = serde_json::json!(["Copy table", "SVG", "PNG", "Enlarge", "CSV"]);
        let has = |it: &Value| said["tools"].as_array().unwrap().contains(it);
        assert!(tools.as_array().unwrap().iter().all(has), "{said}");
    }
}
