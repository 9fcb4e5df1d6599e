//! What a reader sees of a page and can do with it, in a real browser, by geometry and not by
//! pixels.

use std::path::Path;

use crate::browser::{console, find, opened};
use crate::support::skip;
use judge::analysis::latencies::{LatencySecond, PhaseLatency};
use serde_json::Value;

const PROBE: &str = include_str!("page_probe.js");
/// A desk's window and a phone's.
const SIZES: [(u32, u32); 2] = [(1300, 900), (390, 844)];

/// Times of two arms of the fixture, us: the chart has to show these.
fn latencies() -> Vec<PhaseLatency> {
    let of = |arm: &str, tag: &str, p50: f64| PhaseLatency {
        arm: arm.to_owned(),
        phase: "find_one".to_owned(),
        tag: tag.to_owned(),
        quantiles_us: [1.0, 1.5, 2.0, 3.0, 4.0]
            .map(|it| Some(it * p50))
            .into_iter()
            .chain([None, None, Some(9.0 * p50)])
            .collect(),
        density: vec![(p50, 60.0), (2.0 * p50, 40.0)],
        seconds: [(0, None), (1, Some(4.0 * p50)), (2, None), (3, None)]
            .map(|(second, p99_us)| LatencySecond {
                second,
                operations: 1e3 * (second as f64 + 1.0),
                p50_us: p50,
                p99_us,
            })
            .to_vec(),
    };
    let response = "find_one-response";
    vec![
        of("node@7.0.0", "find_one", 100.0),
        of("go@2.4.0", "find_one", 80.0),
        of("node@7.0.0", response, 700.0),
        of("go@2.4.0", response, 90.0),
    ]
}

/// The page of a fixture.
pub fn page(name: &str) -> String {
    use judge::analysis::types::Analysis;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/report");
    let text = std::fs::read_to_string(fixtures.join(name)).expect("a fixture");
    let mut analysis: Analysis = serde_json::from_str(&text).expect("an analysis");
    "What does one operation cost in a driver?".clone_into(&mut analysis.why);
    let tap = |arm: &str| {
        let row = serde_json::json!({
            "arm": arm, "phase": "find_one", "commands_per_op": {}, "round_trips_per_op": 1.0,
            "bytes_out_per_op": 180.0, "bytes_in_per_op": 400.0, "server_us_per_op": 60.0,
            "link_us_per_op": 0.0, "driver_us_per_op": 30.0, "in_flight_mean": 1.0,
            "connections_opened": 1, "connections_peak": 1,
        });
        serde_json::from_value(row).expect("a row")
    };
    analysis.taps = ["node@7.0.0", "go@2.4.0"].map(tap).to_vec();
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
  const course = document.querySelector('.plot.course'), chart = course.ownerSVGElement;
  const type = (key) => chart.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  const form = () => [course.dataset.at, course.querySelector('.mark path').getAttribute('d')];
  const whole = form().join();
  type('+'); said.zoomed = form().join() !== whole;
  type('0'); said.reset = form().join() === whole;
  const box = course.getBoundingClientRect();
  const drag = (type, part) => chart.dispatchEvent(new PointerEvent(type, {
    bubbles: true, pointerType: 'mouse', clientX: box.left + part * box.width, clientY: box.top }));
  drag('pointerdown', 0.4); drag('pointerup', 0.7); said.dragged = form().join() !== whole;
  type('-'); type('-'); type('-'); said.out = form().join() === whole;
  const pair = [...document.querySelectorAll('.pair figure')];
  const tops = pair.map((it) => Math.round(it.getBoundingClientRect().top));
  said.beside = pair.length === 2 && tops[0] === tops[1];
  said.scale = new Set(pair.map((it) => it.querySelector('.plot').dataset.y)).size;
  // Shares: each bar stands upon the one before it, and is as high as its figure.
  const shares = [...document.querySelectorAll('.plot')].filter((it) => it.querySelector('rect'));
  const bars = (it) => [...it.querySelectorAll('.mark')].map((mark) => mark.querySelector('rect'));
  said.stacked = shares.length > 0 && shares.every((it) => {
    const [low, high] = bars(it).map((bar) => bar.getBoundingClientRect());
    return Math.abs(low.top - high.bottom) < 1 && Math.abs(low.height - 2 * high.height) < 2;
  });
  // What a mouse can use, keys can reach, and a reader sees where they are.
  document.querySelectorAll('details').forEach((it) => { it.open = true; });
  const reach = [...document.querySelectorAll('button, a[href], summary, [tabindex]')];
  said.unseen = reach.filter(shown).filter((node) => {
    node.focus({ focusVisible: true, preventScroll: true });
    const { outlineStyle, outlineWidth } = getComputedStyle(node);
    return document.activeElement !== node || node.tabIndex < 0
      || outlineStyle === 'none' || parseFloat(outlineWidth) < 1;
  }).map((node) => node.outerHTML.slice(0, 60));
  document.activeElement.blur();
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
        for what in ["zoomed", "reset", "dragged", "out"] {
            assert_eq!(said[what], true, "{what}: {said}");
        }
        // Service and response times are in one row on a desk, below each other on a phone.
        let desk = said["size"] == "1300x900";
        assert_eq!((&said["beside"], &said["scale"]), (&desk.into(), &1.into()), "{said}");
        assert_eq!(said["stacked"], true, "{said}");
        assert_eq!(said["unseen"], serde_json::json!([]), "{said}");
        let tools = serde_json::json!(["Copy table", "SVG", "PNG", "Enlarge", "CSV", "+", "Reset"]);
        let has = |it: &Value| said["tools"].as_array().unwrap().contains(it);
        assert!(tools.as_array().unwrap().iter().all(has), "{said}");
    }
}

/// The page as paper has it: the rules for print hold, and the browser has said that it prints.
const PAPER: &str = "window.probeMore = (said, shown) => {
  for (const sheet of document.styleSheets) {
    for (const rule of sheet.cssRules) {
      if (rule.media?.mediaText === 'print') rule.media.mediaText = 'all';
    }
  }
  dispatchEvent(new Event('beforeprint'));
  said.folded = document.querySelectorAll('details:not([open])').length;
  const controls = [...document.querySelectorAll('button:not(.key, .sorter), nav, .readout')];
  said.controls = controls.filter(shown).length;
  said.charts = [...document.querySelectorAll('.charts .picture')].filter(shown).length;
  said.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  dispatchEvent(new Event('afterprint'));
  said.again = document.querySelectorAll('details[open]').length;
};";

#[test]
fn paper_has_everything_unfolded_and_no_controls() {
    let Some(browser) = find() else {
        return skip("paper_has_everything_unfolded_and_no_controls", "no chromium on PATH");
    };
    for said in probed(&browser, &page("everything.json"), PAPER) {
        for what in ["folded", "controls", "again"] {
            assert_eq!(said[what], 0, "{what}: {said}");
        }
        assert!(said["charts"].as_u64().is_some_and(|it| it > 4), "{said}");
    }
}
