//! Every report format, from fixtures that hold every verdict, missing values, hostile strings,
//! failed arms and a single arm.

use std::collections::BTreeMap;
use std::path::Path;

use base::text;
use judge::analysis::types::{Analysis, ComparisonRow, Metric};
use record::folder::Series;
use record::records::Run;
use regex_lite::Regex;
use report::{FORMATS, Format, Options, Report};
use serde::de::DeserializeOwned;
use stats::threshold::Quantity;
use stats::verdict::Verdict;
use stats::wording::MeasuredChange;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/report");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

pub fn analysis(name: &str) -> Analysis {
    serde_json::from_str(&fixture(name)).unwrap()
}

fn lines<T: DeserializeOwned>(name: &str) -> Vec<T> {
    fixture(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn series() -> Series {
    Series { clients: lines("clients.jsonl"), server: lines("server.jsonl") }
}

fn format(name: &str) -> Format {
    Format::named(name).expect(name)
}

/// The formats that experiments have.
fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.into_iter().map(|format| format.name).filter(|name| *name != "gnuplot")
}

pub fn written(analysis: &Analysis, name: &str, options: &Options) -> String {
    let (runs, series): (Vec<Run>, _) = (lines("runs.jsonl"), series());
    Report { analysis, runs: &runs, series: &series, latencies: &[], options }
        .text(format(name))
        .expect(name)
}

fn rendered(fixture: &str, name: &str, options: &Options) -> String {
    written(&analysis(fixture), name, options)
}

fn columns(width: u16) -> Options {
    let page = Some("/tmp/report.html".to_owned());
    Options { width: Some(width), page, colour: false, details: true }
}

pub fn summary(width: u16) -> Options {
    Options { details: false, ..columns(width) }
}

#[test]
fn terminal_snapshots() {
    for width in [80, 120] {
        let text = rendered("everything.json", "terminal", &columns(width));
        insta::assert_snapshot!(format!("terminal_{width}"), text);
    }
    let text = rendered("one_arm.json", "terminal", &columns(100));
    insta::assert_snapshot!("terminal_one_arm", text);
    let text = rendered("all_failed.json", "terminal", &columns(100));
    insta::assert_snapshot!("terminal_all_failed", text);
}

#[test]
fn summary_snapshots() {
    for width in [80, 100, 160] {
        let text = rendered("everything.json", "terminal", &summary(width));
        insta::assert_snapshot!(format!("summary_{width}"), text);
    }
    for name in ["one_arm", "all_failed"] {
        let text = rendered(&format!("{name}.json"), "terminal", &summary(100));
        insta::assert_snapshot!(format!("summary_{name}"), text);
    }
}

/// The page without style and script, so that a change of theirs is not a change of the snapshot.
fn without_assets(page: &str) -> String {
    let mut text = page.to_owned();
    for (start, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
        let from = text.find(start).unwrap() + start.len();
        let to = from + text[from..].find(end).unwrap();
        text.replace_range(from..to, "…");
    }
    text
}

#[test]
fn file_snapshots() {
    let options = columns(80);
    for name in names() {
        if !["terminal", "json"].contains(&name) {
            let text = rendered("everything.json", name, &options);
            let text = if name == "html" { without_assets(&text) } else { text };
            insta::assert_snapshot!(name, text);
        }
    }
}

#[test]
fn terminal_keeps_to_its_width_and_has_no_stray_escapes() {
    for width in [60, 80, 100, 120, 200] {
        for name in ["everything.json", "one_arm.json", "all_failed.json"] {
            let out = rendered(name, "terminal", &columns(width));
            let out = out + &rendered(name, "terminal", &summary(width));
            // Open loop mixes at 60 columns are the one table that cannot be squeezed further.
            let limit = usize::from(width.max(80));
            for line in out.lines() {
                assert!(text::width(line) <= limit, "{width} columns: {line:?}");
                assert!(!line.contains('\u{1b}'), "{line:?}");
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    colours_only(&columns(120));
    colours_only(&summary(120));
}

fn colours_only(options: &Options) {
    let plain = rendered("everything.json", "terminal", options);
    let options = Options { colour: true, ..options.clone() };
    let coloured = rendered("everything.json", "terminal", &options);
    assert!(coloured.contains("\u{1b}["));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some(start) = rest.find('\u{1b}') {
        stripped.push_str(&rest[..start]);
        rest = &rest[start..];
        rest = &rest[rest.find('m').unwrap() + 1..];
    }
    stripped.push_str(rest);
    let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    assert_eq!(trimmed(&stripped), trimmed(&plain));
}

#[test]
fn json_is_the_analysis_itself() {
    let text = rendered("everything.json", "json", &columns(80));
    assert_eq!(serde_json::from_str::<Analysis>(&text).unwrap(), analysis("everything.json"));
}

#[test]
fn csv_has_a_row_per_metric() {
    let text = rendered("everything.json", "csv", &columns(80));
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let rows = table.records().map(Result::unwrap).count();
    assert_eq!(rows, analysis("everything.json").results.len() * 20);
}

#[test]
fn series_have_a_row_per_reading_and_metric() {
    let text = rendered("everything.json", "series", &columns(80));
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<[String; 4]> = table
        .deserialize()
        .map(|row| {
            let row: BTreeMap<String, String> = row.unwrap();
            ["at_ns", "of", "metric", "value"].map(|column| row[column].clone())
        })
        .collect();
    let Series { clients, server } = series();
    let row = |at_ns: u64, of: &str, metric: &str, value: String| {
        let row = [at_ns.to_string(), base::say::clean(of), metric.to_owned(), value];
        assert!(rows.contains(&row), "{row:?} in {rows:?}");
    };
    for it in &clients {
        row(it.at_ns, &it.arm, "rss_bytes", it.rss_bytes.to_string());
        row(it.at_ns, &it.arm, "connections_count", it.connections.expect("known").to_string());
    }
    for it in &server {
        for (metric, value) in &it.values {
            row(it.at_ns, "server", metric, value.to_string());
        }
    }
    let of_server = server.iter().map(|it| it.values.len() + it.shares.len()).sum::<usize>();
    assert_eq!(rows.len(), clients.len() * 5 + of_server);
}

#[test]
fn documents_are_a_figure_of_every_report_and_a_doubt_stands_first() {
    let mut analysis = analysis("everything.json");
    let doubt = "find_one: 171,372 operations of node@7.9.0 returned nothing";
    analysis.doubts = vec![doubt.to_owned()];
    let mut alike = analysis.clone();
    analysis.results[0].values.0.insert(Metric::DocumentsPerOp, 2.5);
    let (phase, arms) = (&analysis.phases[0].phase, analysis.results.clone());
    let other = arms.iter().position(|row| &row.phase == phase && row.arm != arms[0].arm);
    analysis.results[other.expect("another arm")].values.0.insert(Metric::DocumentsPerOp, 1.0);
    let of = |analysis: &Analysis, name| written(analysis, name, &columns(120));
    for (name, column) in
        [("terminal", "docs"), ("md", "| documents/op |"), ("html", ">documents/op<")]
    {
        let text = of(&analysis, name);
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{name}: no {what}"));
        let doubt = if name == "md" { doubt.replace('_', "\\_") } else { doubt.to_owned() };
        assert!(place(&doubt) < place(column), "{name}");
        assert!(text.contains("2.50"), "{name}");
        let phase = analysis.phases[0].loop_note.as_str();
        assert!(place(&doubt) < place(phase), "{name}: before the first phase");
    }
    assert!(of(&analysis, "csv").contains(",documents_per_op,2.5,"));
    assert!(of(&analysis, "json").contains("\"documents_per_op\": 2.5"));
    for text in ["terminal", "md", "html"].map(|name| of(&alike, name)) {
        assert!(!text.contains("documents/op"), "nothing is read");
    }
    let phase = alike.results[0].phase.clone();
    for row in alike.results.iter_mut().filter(|row| row.phase == phase) {
        row.values.0.insert(Metric::DocumentsPerOp, 2.5);
    }
    for (name, column) in [("terminal", " docs "), ("md", "| documents/op"), ("html", ">documents")]
    {
        // A terminal breaks the note there, and the page escapes it.
        let text = of(&alike, name).replace("2.50\n  ", "2.50 ").replace("&#x2f;", "/");
        assert!(text.contains("2.50 documents/op") && !text.contains(column), "{name}: one note");
    }
}

#[test]
fn no_wording_that_the_method_forbids() {
    for name in names() {
        let text = rendered("everything.json", name, &columns(80)).to_lowercase();
        for banned in ["no regression", "no change", "significant", "definitely", "proved"] {
            assert!(!text.contains(banned), "{name} says {banned:?}");
        }
    }
}

/// Seen in the README's first experiment: `bytes per op: FASTER, size uncertain, -4.273 %`.
#[test]
fn bytes_are_more_or_less_not_slower_or_faster() {
    let mut analysis = analysis("everything.json");
    for row in &mut analysis.comparisons {
        if row.metric == Metric::P99 {
            row.metric = Metric::BytesPerOp;
        }
    }
    let text = written(&analysis, "terminal", &columns(120));
    let word = Regex::new("also bytes per op[^:]*: ([A-Z]+)").unwrap();
    let words: Vec<&str> =
        word.captures_iter(&text).map(|it| it.get(1).unwrap().as_str()).collect();
    assert_eq!(words, ["LESS", "MORE"], "{text}");
}

/// A sentence without the name does not say which arm it is about, whichever others it names.
#[test]
fn a_sentence_is_given_its_arm_though_a_longer_name_begins_so() {
    let mut analysis = analysis("everything.json");
    let arm = analysis.arms[2].id.clone();
    for row in analysis.comparisons.iter_mut().filter(|row| row.arm == arm) {
        row.found.verdict = Verdict::NotComparable;
        row.found.sentence = format!("NOT COMPARABLE: {arm}/w=1 was lost.");
    }
    let text = written(&analysis, "terminal", &columns(200));
    let line = format!(
        "{}: NOT COMPARABLE: {}/w=1 was lost.",
        base::say::clean(&arm),
        base::say::clean(&arm)
    );
    assert!(text.contains(&line), "{line}: {text}");
    let page = written(&analysis, "html", &columns(200));
    assert!(page.contains("/w=1 was lost."));
}

#[test]
fn the_page_is_one_file_that_no_string_escapes_from() {
    let page = rendered("everything.json", "html", &columns(80));
    assert_eq!(page.matches("</script>").count(), 2, "data and script");
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("<img src=x"));
    assert!(!page.contains("<b>documents"));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let data = &page[start..start + page[start..].find("</script>").unwrap()];
    assert_eq!(serde_json::from_str::<Analysis>(data).unwrap(), analysis("everything.json"));
}

#[test]
fn every_format_takes_an_experiment_without_results() {
    let mut empty = analysis("all_failed.json");
    empty.arms.clear();
    empty.phases.clear();
    for name in names() {
        assert!(!written(&empty, name, &Options::default()).is_empty(), "{name}");
    }
}

/// The ends of the interval in percent, half the width of which decides the decimals.
const INTERVALS: [[f64; 2]; 5] =
    [[5.0, 6.99], [4.25, 6.25], [0.011, 0.094], [38.0, 131.0], [7.2, 7.2]];

#[test]
fn table_and_sentence_say_the_same_interval() {
    let numbers = Regex::new(r"takes (\S+) % longer .*? CI (\S+) to (\S+) %, .* threshold (\S+) %")
        .expect("a pattern");
    for [low, high] in INTERVALS {
        let mut analysis = analysis("everything.json");
        let slower = |it: &&mut ComparisonRow| it.sentence.starts_with("SLOWER: ");
        let row = analysis.comparisons.iter_mut().find(slower).expect("one that is slower");
        let estimate = f64::midpoint(low, high);
        let (name_a, name_b) = (row.baseline.clone(), row.arm.clone());
        let finding = MeasuredChange {
            name_a: &name_a,
            name_b: &name_b,
            quantity: Quantity::Throughput,
            estimate_percent: estimate,
            low_percent: low,
            high_percent: high,
            level: 0.952,
            rounds: 10,
            threshold_percent: 3.46,
        };
        row.found.sentence = finding.clear_sentence(Verdict::Slower, "");
        let found = &mut row.found;
        (found.estimate_percent, found.low_percent) = (Some(estimate), Some(low));
        (found.high_percent, found.threshold_percent) = (Some(high), 3.46);
        let sentence = row.sentence.clone();
        let said = numbers.captures(&sentence).expect("its numbers");
        let change = format!("+{} % (+{} to +{} %)", &said[1], &said[2], &said[3]);
        let page = written(&analysis, "html", &columns(80)).replace("&#x2f;", "/");
        assert!(page.contains(&format!(">{change}</td>")), "{change}");
        assert!(page.contains(&format!(">±{} %</td>", &said[4])), "{}", &said[4]);
        assert!(written(&analysis, "md", &columns(80)).contains(&format!("| {change} |")));
    }
}

/// Files that write numbers for programs.
const NOT_FOR_PEOPLE: [&str; 4] = [
    "crates/format/src/lib.rs",
    "crates/report/src/benchstat.rs",
    "crates/stats/src/hlog.rs",
    "crates/studies/src/tests.rs",
];

#[test]
fn numbers_for_people_are_written_by_figures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let decimals = Regex::new(r"\{[a-z_0-9]*:\+?\.[a-z0-9*]").expect("a pattern");
    let mut folders = vec![root.join("src"), root.join("crates")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(root).expect("below it").display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs")
                && !NOT_FOR_PEOPLE.contains(&name.as_str())
            {
                let text = std::fs::read_to_string(&path).expect("text");
                let found = text.lines().find(|line| decimals.is_match(line));
                assert_eq!(found, None, "{name} rounds by itself");
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen} files");
}
