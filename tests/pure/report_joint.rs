//! Reports of folders that hold several experiments: a sweep, servers, and a sweep on servers.

use std::fs;

use crate::fake_support::{Lab, code, flat, noop, stderr, stdout};
use crate::support::said;
use regex_lite::Regex;
use serde_json::Value;

const SWEEP: [&str; 7] =
    ["--sweep", "warmup=0.2,0.1", "--phase", "first", "--seed", "7", "--rounds"];
/// A name that would break out of every format.
const HOSTILE: &str = "=1+1 <script>alert(1)</script>|`x` & \u{1b}[31m";

/// A sweep over two values with a baseline and an arm that is eight percent slower.
fn sweep(more: &[&str]) -> (Lab, String) {
    let lab = Lab::even_and_slow();
    let output = lab.experiment(&["even", "slow"], &[&SWEEP[..], &["2"], more].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    (lab, stdout(&output))
}

fn report(lab: &Lab, format: &str) -> String {
    let output = lab.run(["report", "out", "--format", format, "--details"]);
    assert_eq!(code(&output), 0, "{format}: {}", said(&output));
    stdout(&output)
}

fn csv(text: &str) -> Vec<std::collections::HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().expect("RFC 4180")
}

/// Elements are closed in order, attributes are in quotes, and nothing is left bare.
fn assert_xml(text: &str) {
    let tag = Regex::new(r#"^<(/?)([a-z-]+)((?: [\w:-]+="[^"<]*")*)\s*(/?)>"#).expect("a pattern");
    let bare = Regex::new(r"&(?:amp|lt|gt|quot|#39);").expect("a pattern");
    assert!(!bare.replace_all(text, "").contains('&'), "{text}");
    let mut rest = text.trim_start_matches(r#"<?xml version="1.0" encoding="UTF-8"?>"#);
    let mut open = Vec::new();
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let found = tag.captures(rest).unwrap_or_else(|| panic!("no tag: {rest:.120}"));
        match (&found[1], &found[4]) {
            ("/", _) => assert_eq!(open.pop(), Some(found[2].to_owned()), "{rest:.120}"),
            (_, "/") => {}
            _ => open.push(found[2].to_owned()),
        }
        rest = &rest[found[0].len()..];
    }
    assert!(open.is_empty() && !text.contains('\u{1b}'), "{open:?}");
}

#[test]
fn a_sweep_is_one_table_and_one_picture_in_every_format() {
    let (lab, printed) = sweep(&[]);
    let table = Regex::new(r"slow@1.0.0 +0.1 +9,\d{3} .*~").expect("a pattern");
    for text in [&printed, &report(&lab, "terminal")] {
        assert!(text.contains("noop by warmup\n") && table.is_match(text), "{text}");
        assert!(text.contains("The sweep: where the time goes"), "{text}");
    }
    let markdown = report(&lab, "md");
    assert!(markdown.contains("| arm | warmup | ops/s | change | verdict |"), "{markdown}");
    assert_eq!(markdown.matches("\n| slow@1.0.0 | 0.").count(), 2, "{markdown}");

    let schema = serde_json::from_str(&stdout(&lab.run(["schema", "sweep"]))).expect("JSON");
    let json: Value = serde_json::from_str(&report(&lab, "json")).expect("JSON");
    assert!(jsonschema::is_valid(&schema, &json), "{json:#}");
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), &json["parameter"]), (4, &"warmup".into()), "{json:#}");
    assert!(rows.iter().all(|row| row["over_rounds"]["rounds"] == 2), "{rows:#?}");

    let rows = csv(&report(&lab, "csv"));
    let of = |value: &str| {
        let is_own = |row: &&std::collections::HashMap<String, String>| {
            row["arm"] == "slow@1.0.0" && row["metric"] == "throughput_ops_per_s"
        };
        let mut own = rows.iter().filter(is_own);
        own.find(|row| row["parameter_value"] == value).expect("a row").clone()
    };
    for value in ["0.2", "0.1"] {
        let row = of(value);
        assert_eq!((&*row["parameter"], &*row["verdict"]), ("warmup", "INCONCLUSIVE"), "{row:?}");
        assert!(row["value"].parse::<f64>().is_ok_and(|it| it > 8_000.0), "{row:?}");
    }
    assert!(csv(&report(&lab, "series")).iter().any(|row| row["experiment"] == "warmup=0.1"));
    assert!(report(&lab, "benchstat").contains("asked: warmup=0.2\n"));

    let junit = report(&lab, "junit");
    assert_xml(&junit);
    assert_eq!(junit.matches("<testsuite name=").count(), 2, "{junit}");
    let svg = report(&lab, "svg");
    assert_xml(&svg);
    for word in ["throughput by warmup", ">ops/s<", ">warmup<", ">0.1<", ">even@1.0.0<"] {
        assert!(svg.contains(word), "{word}: {svg}");
    }
    let page = report(&lab, "html");
    assert!(page.contains("throughput by warmup") && page.contains("<td class=\"n\">0.2</td>"));
    assert_eq!(page, fs::read_to_string(lab.path("out/report.html")).expect("the page"));
    several_folders_are_one_report(&lab);
    a_folder_that_cannot_be_read_is_left_out_of_the_history(&lab);
}

fn several_folders_are_one_report(lab: &Lab) {
    let folders = ["report", "out/warmup=0.2", "out"];
    let text = stdout(&lab.run(folders));
    let [first, second] = ["── out/warmup=0.2 ──\n", "── out ──\n"].map(|it| text.find(it));
    assert!(first == Some(0) && second > first, "{text}");
    assert!(text.contains("noop · ") && text.contains("noop by warmup"), "{text}");
    let words = |format: &'static str| [&folders[..], &["--format", format]].concat();
    let page = stdout(&lab.run(words("html")));
    assert!(page.contains("mongodyno report out&#x2f;warmup=0.2 out --format html"), "{page}");
    let id = Regex::new(r#" id="([^"]+)""#).expect("a pattern");
    let ids: Vec<&str> =
        id.captures_iter(&page).map(|it| it.get(1).expect("an id").as_str()).collect();
    for id in &ids {
        assert_eq!(ids.iter().filter(|it| *it == id).count(), 1, "{id} twice");
    }
    let link = Regex::new(r##" href="#([^"]+)""##).expect("a pattern");
    for found in link.captures_iter(&page) {
        assert!(ids.contains(&&found[1]), "{} leads nowhere", &found[1]);
    }
    // The same arm looks the same in both sections.
    let look = Regex::new(r#"(<svg class="swatch".*?</svg>)slow@1.0.0</th>"#).expect("a pattern");
    let looks: Vec<&str> =
        look.captures_iter(&page).map(|it| it.get(1).expect("a look").as_str()).collect();
    assert!(looks.len() > 3 && looks.iter().all(|it| *it == looks[0]), "{looks:?}");
    let data = page.split("id=\"data\">").nth(1).and_then(|it| it.split("</script>").next());
    let data: Value = serde_json::from_str(data.expect("data")).expect("JSON");
    assert_eq!(data.as_array().map(Vec::len), Some(1), "a sweep has none");
    let refused = lab.run(words("csv"));
    let wanted = "--format csv writes one folder at a time";
    assert!(code(&refused) == 2 && stderr(&refused).contains(wanted), "{}", said(&refused));
}

fn a_folder_that_cannot_be_read_is_left_out_of_the_history(lab: &Lab) {
    fs::create_dir(lab.path("broken")).expect("it is new");
    lab.write("broken/experiment.json", "{");
    let shown = lab.run(["history", "broken", "missing", "out"]);
    assert_eq!(code(&shown), 0, "{}", said(&shown));
    let named = stderr(&shown).lines().filter(|line| line.starts_with("left out: ")).count();
    assert_eq!(named, 2, "{}", said(&shown));
    assert!(stdout(&shown).contains("noop"), "{}", said(&shown));
    let none = lab.run(["history", "broken"]);
    assert_eq!(code(&none), 2, "{}", said(&none));
}

#[test]
fn a_sweep_that_is_not_whole_is_shown_with_what_is_missing_and_goes_on() {
    let (lab, _) = sweep(&[]);
    let all = report(&lab, "csv");
    fs::rename(lab.path("out/sweep.json"), lab.path("kept")).expect("it is there");
    let by_names = csv(&report(&lab, "csv"));
    assert_eq!(by_names.len(), csv(&all).len(), "folders of earlier versions");
    fs::rename(lab.path("kept"), lab.path("out/sweep.json")).expect("it is there");
    fs::remove_dir_all(lab.path("out/warmup=0.1")).expect("it is there");
    for format in ["terminal", "md", "html", "svg", "json"] {
        let text = report(&lab, format);
        assert!(text.contains("warmup=0.1: not begun"), "{format}: {text}");
    }
    let resumed = lab.run(["resume", "out", "--workload", &noop()]);
    assert_eq!(code(&resumed), 0, "{}", said(&resumed));
    assert!(stdout(&resumed).contains("noop by warmup"), "{}", said(&resumed));
    assert_eq!(csv(&report(&lab, "csv")).len(), by_names.len());
    let complete = lab.run(["resume", "out", "--workload", &noop()]);
    assert!(
        code(&complete) == 2 && stderr(&complete).contains("is complete"),
        "{}",
        said(&complete)
    );
    for name in ["warmup=0.1", "warmup=0.2"] {
        fs::remove_dir_all(lab.path("out").join(name)).expect("it is there");
    }
    let none = lab.run(["report", "out"]);
    assert!(
        code(&none) == 2 && stderr(&none).contains("no experiment had begun"),
        "{}",
        said(&none)
    );
}

#[test]
fn no_name_in_several_folders_breaks_out_of_a_format() {
    let (lab, _) = sweep(&[]);
    let text = fs::read_to_string(lab.path("out/sweep.json")).expect("a file");
    let name = |text: &str| serde_json::to_string(text).expect("text").trim_matches('"').to_owned();
    let hostile =
        text.replace(r#""parameter": "warmup""#, &format!(r#""parameter": "{}""#, name(HOSTILE)));
    lab.write(
        "out/sweep.json",
        &hostile.replace(r#""value": "0.1""#, &format!(r#""value": "{}""#, name(HOSTILE))),
    );
    for file in ["experiment.json", "runs.jsonl"] {
        let path = format!("out/warmup=0.1/{file}");
        let text = fs::read_to_string(lab.path(&path)).expect("a file");
        lab.write(&path, &text.replace("slow@1.0.0", &name(HOSTILE)));
    }
    for format in ["terminal", "md", "html", "svg", "junit", "csv", "series", "benchstat"] {
        let text = report(&lab, format);
        assert!(!text.contains('\u{1b}'), "{format}: {text}");
        if !["csv", "series", "benchstat", "terminal"].contains(&format) {
            assert!(!text.contains("<script>alert"), "{format}: {text}");
        }
    }
    assert_xml(&report(&lab, "svg"));
    assert_xml(&report(&lab, "junit"));
    for row in csv(&report(&lab, "csv")) {
        assert!(row.values().all(|cell| !cell.starts_with("=1+1")), "{row:?}");
    }
    assert!(report(&lab, "md").contains(r"\|\`x\` &amp;"), "{}", report(&lab, "md"));
}

#[test]
fn servers_are_one_report_and_a_sweep_takes_them_all() {
    let lab = Lab::even_and_slow();
    let noop = noop();
    let words = |more: &[&str]| -> Vec<String> {
        let words = ["run", &noop, "--server", "absorber,absorber", "--out", "out"];
        let words = words.iter().chain(&["-d", "even", "-d", "slow"]).chain(more);
        words.map(|it| (*it).to_owned()).collect()
    };
    let output = lab.run(words(&["--phase", "first", "--rounds", "2"]));
    assert_eq!(code(&output), 0, "{}", said(&output));
    let first = "first: from absorber to absorber";
    for format in ["terminal", "md", "html"] {
        let text = report(&lab, format);
        let (verdict, table) = (text.find(first), text.find("slow@1.0.0"));
        assert!(verdict.is_some() && verdict < table, "{format}, verdicts first: {text}");
    }
    let rows = csv(&report(&lab, "csv"));
    assert_eq!((&*rows[0]["against_server"], &*rows[0]["server"]), ("absorber", "absorber#2"));
    assert!(rows.iter().any(|row| row["against_server"].is_empty() && !row["value"].is_empty()));
    let junit = report(&lab, "junit");
    assert_xml(&junit);
    assert!(junit.contains(r#"<testsuite name="mongodyno between servers" tests="#), "{junit}");
    assert!(junit.contains(r#"name="throughput from absorber to absorber#2""#), "{junit}");
    assert_xml(&report(&lab, "svg"));
    fs::remove_dir_all(lab.path("out")).expect("it is there");

    let output = lab.run(words(&[&SWEEP[..], &["2"]].concat()));
    assert_eq!(code(&output), 0, "{}", said(&output));
    let text = flat(&stdout(&output));
    assert!(text.contains("warmup=0.2, first: from absorber to absorber#2"), "{text}");
    let rows = |lab: &Lab| {
        let json: Value = serde_json::from_str(&report(lab, "json")).expect("JSON");
        json["rows"].as_array().expect("rows").len()
    };
    assert_eq!(rows(&lab), 8, "two values, servers and arms");
    let markdown = report(&lab, "md");
    assert!(
        markdown.contains("| arm | warmup | server | ops/s | change | verdict |"),
        "{markdown}"
    );
    let svg = report(&lab, "svg");
    assert_xml(&svg);
    assert!(svg.contains(">slow@1.0.0 on absorber#2<"), "{svg}");
    fs::remove_dir_all(lab.path("out/warmup=0.2/absorber-2")).expect("it is there");
    fs::remove_dir_all(lab.path("out/warmup=0.1")).expect("it is there");
    let text = report(&lab, "terminal");
    for missing in ["warmup=0.2 on absorber#2: not begun", "warmup=0.1: not begun"] {
        assert!(text.contains(missing), "{missing}: {text}");
    }
    let resumed = lab.run(["resume", "out", "--workload", &noop, "--json"]);
    assert_eq!(code(&resumed), 0, "{}", said(&resumed));
    assert_eq!(rows(&lab), 8, "{}", said(&resumed));
    lab.assert_nothing_runs();
}
