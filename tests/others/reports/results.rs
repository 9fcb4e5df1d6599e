//! The results of an experiment: verdicts, the fields that scripts rely on, every format from a
//! folder that was moved, damaged folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use crate::fake_support::{Lab, QUICK, assert_near, code, comparison as row, stderr, stdout};
use crate::support::said;
use serde_json::{Value, json};

const FORMATS: [&str; 8] = ["terminal", "html", "md", "json", "csv", "series", "benchstat", "svg"];

/// Six rounds: the interval goes from the smallest to the largest ratio of a round.
const SIX: [&str; 6] = ["--rounds", "6", "--seed", "1", "--phase", "first"];

/// An experiment with each of the verdicts that an interval gives.
struct Verdicts {
    lab: Lab,
    /// Output of `run --json`.
    output: Output,
    analysis: Value,
}

fn verdicts() -> &'static Verdicts {
    static ONCE: OnceLock<Verdicts> = OnceLock::new();
    ONCE.get_or_init(|| {
        let lab = Lab::new();
        lab.fake("even", &[QUICK, "op_ns=100000"]);
        lab.fake("alike", &[QUICK, "op_ns=100500"]);
        for (name, op_ns) in [
            ("slower", [107_000, 108_000, 109_000, 107_500, 108_500, 108_000]),
            ("faster", [91_000, 92_000, 93_000, 91_500, 92_500, 92_000]),
            ("uphill", [101_000, 106_000, 103_000, 102_000, 105_000, 104_000]),
            ("downhill", [99_000, 94_000, 97_000, 98_000, 95_000, 96_000]),
            ("moody", [95_000, 105_000, 98_000, 102_000, 97_000, 103_000]),
        ] {
            lab.paced(name, &op_ns, &[QUICK]);
        }
        let drivers = ["even", "alike", "slower", "faster", "uphill", "downhill", "moody"];
        let output = lab.experiment(&drivers, &[&SIX[..], &["--json"]].concat());
        assert_eq!(code(&output), 0, "{}", said(&output));
        let analysis = serde_json::from_slice(&output.stdout).expect("stdout is JSON alone");
        Verdicts { lab, output, analysis }
    })
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("{key} of {row:#}"))
}

fn strings<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    value[key].as_array().expect("a list").iter().map(|it| it.as_str().expect("text")).collect()
}

#[test]
fn each_verdict_has_its_interval_in_time_per_operation() {
    let analysis = &verdicts().analysis;
    // Arm, word, direction only, interval in percent of time per operation: + is slower.
    for (arm, word, direction_only, low, high) in [
        ("alike", "SAME", false, 0.5, 0.5),
        ("slower", "SLOWER", false, 7.0, 9.0),
        ("faster", "FASTER", false, -9.0, -7.0),
        ("uphill", "SLOWER", true, 1.0, 6.0),
        ("downhill", "FASTER", true, -6.0, -1.0),
        ("moody", "INCONCLUSIVE", false, -5.0, 5.0),
    ] {
        // CPU is simulated as time is; p50 is read from a histogram of three digits.
        for (metric, exactness) in [("throughput", 1e-6), ("cpu_per_op", 1e-6), ("p50", 0.2)] {
            let row = row(analysis, &format!("{arm}@1.0.0"), "first", metric);
            assert_eq!(row["verdict"], word, "{row:#}");
            assert_eq!(row["direction_only"], direction_only, "{row:#}");
            for (key, expected) in [("low_percent", low), ("high_percent", high)] {
                let found = number(row, key);
                assert!((found - expected).abs() < exactness, "{arm} {metric} {key}: {found}");
            }
            let estimate = number(row, "estimate_percent");
            assert!(low - 0.2 <= estimate && estimate <= high + 0.2, "{row:#}");
            assert_near(number(row, "level"), 1.0 - 2.0 / 64.0, "level of six rounds");
            assert_near(number(row, "threshold_percent"), 2.0, "threshold");
            assert_eq!(row["rounds"], 6);
        }
    }
    let estimate = number(row(analysis, "slower@1.0.0", "first", "throughput"), "estimate_percent");
    assert!((estimate - 8.0).abs() < 0.01, "{estimate}");
}

#[test]
fn each_verdict_has_its_sentence() {
    let analysis = &verdicts().analysis;
    for (arm, sentence) in [
        (
            "slower",
            "SLOWER: slower@1.0.0 takes 8.0 % longer per op than even@1.0.0 (96.9 % CI 7.0 to 9.0 \
             %, 6 paired rounds, threshold 2 %).",
        ),
        (
            "faster",
            "FASTER: faster@1.0.0 takes 8.0 % less time per op than even@1.0.0 (96.9 % CI 7.0 to \
             9.0 %, 6 paired rounds, threshold 2 %).",
        ),
        (
            "uphill",
            "SLOWER, size uncertain: at least 1.0 %, at most 6.0 %; the 2 % threshold is inside \
             the interval.",
        ),
        (
            "downhill",
            "FASTER, size uncertain: at least 1.0 %, at most 6.0 %; the 2 % threshold is inside \
             the interval.",
        ),
    ] {
        let row = row(analysis, &format!("{arm}@1.0.0"), "first", "throughput");
        assert_eq!(row["sentence"], sentence);
    }
    for (arm, start) in [
        ("alike", "SAME within ±2 %: alike@1.0.0 vs even@1.0.0 0.50 % (96.9 % CI 0.50 to 0.50 %"),
        ("moody", "INCONCLUSIVE: between -5.0 % and +5.0 %; about "),
    ] {
        let row = row(analysis, &format!("{arm}@1.0.0"), "first", "throughput");
        let sentence = row["sentence"].as_str().expect("text");
        assert!(sentence.starts_with(start), "{sentence}");
    }
}

/// Whether a value is of one of the kinds named, as in `text|null`.
fn is_of(value: &Value, kinds: &str) -> bool {
    kinds.split('|').any(|kind| match kind {
        "text" => value.is_string(),
        "number" => value.is_number(),
        "count" => value.is_u64(),
        "bool" => value.is_boolean(),
        "null" => value.is_null(),
        _ => panic!("no kind {kind}"),
    })
}

/// The fields that scripts may rely on: each part's, with their kinds.
const PROMISED: [(&str, &str); 4] = [
    ("server", "kind:text version:text"),
    (
        "arms",
        "id:text adapter:text driver:text version:text native:bool|null runs:count failed:count \
         reason:text|null",
    ),
    (
        "results",
        "arm:text phase:text operation:text throughput:number|null p50_us:number|null \
         p90_us:number|null p99_us:number|null p999_us:number|null cpu_us_per_op:number|null \
         rss_peak_bytes:count|null operations:count errors:count",
    ),
    (
        "comparisons",
        "baseline:text arm:text phase:text metric:text verdict:text direction_only:bool \
         estimate_percent:number|null low_percent:number|null high_percent:number|null \
         level:number|null rounds:count threshold_percent:number sentence:text",
    ),
];

fn assert_promised(analysis: &Value) {
    assert!(Path::new(analysis["experiment"].as_str().expect("a path")).is_absolute());
    for (part, fields) in PROMISED {
        let one = [analysis[part].clone()];
        let entries = analysis[part].as_array().map_or(&one[..], Vec::as_slice);
        assert!(!entries.is_empty(), "no {part}");
        for field in fields.split(' ') {
            let (key, kinds) = field.split_once(':').expect("name and kinds");
            for entry in entries {
                let value = entry.get(key).unwrap_or_else(|| panic!("no {key} in {entry:#}"));
                assert!(is_of(value, kinds), "{part}.{key} is {value} and no {kinds}");
            }
        }
    }
    let words = ["SLOWER", "FASTER", "SAME", "INCONCLUSIVE", "NOT COMPARABLE"];
    for row in analysis["comparisons"].as_array().expect("comparisons") {
        assert!(words.contains(&row["verdict"].as_str().expect("text")), "{row:#}");
    }
}

#[test]
fn run_and_report_give_scripts_the_same_json() {
    let Verdicts { lab, output, analysis } = verdicts();
    assert_promised(analysis);
    let report = lab.run(["report", "out", "--format", "json"]);
    assert_eq!(code(&report), 0, "{}", said(&report));
    assert_eq!(stdout(&report), stdout(output), "to the byte");
    assert_eq!(analysis["experiment"], json!(lab.path("out").canonicalize().expect("a path")));
    assert_eq!(analysis["server"]["kind"], "none");
    assert_eq!((&analysis["rounds"], &analysis["ended"]), (&json!(6), &json!("completed")));
    for arm in analysis["arms"].as_array().expect("arms") {
        assert_eq!((&arm["runs"], &arm["failed"]), (&json!(6), &json!(0)));
        assert_eq!((&arm["driver"], &arm["version"]), (&json!("fake-driver"), &json!("1.0.0")));
    }
}

#[test]
fn results_hold_the_measured_figures() {
    let analysis = &verdicts().analysis;
    for result in analysis["results"].as_array().expect("results") {
        // Sixty turns of ten operations in each of six rounds.
        assert_eq!((&result["operations"], &result["errors"]), (&json!(3600), &json!(0)));
        assert!(number(result, "rss_peak_bytes") > 1e6, "{result:#}");
        let each = result["throughput_by_round"].as_array().expect("rounds");
        assert_eq!(each.len(), 6);
        // 3,600 samples are enough for p90 and too few for p99, which wants 10,000.
        assert!(result["p90_us"].is_number() && result["p50_us"].is_number(), "{result:#}");
        assert!(result["p99_us"].is_null() && result["p999_us"].is_null(), "{result:#}");
    }
    let even = &analysis["results"][0];
    assert_eq!(even["arm"], "even@1.0.0");
    for (key, expected) in [("throughput", 10_000.0), ("cpu_us_per_op", 100.0)] {
        assert_near(number(even, key), expected, key);
    }
    assert!((number(even, "p50_us") - 100.0).abs() < 0.1, "{even:#}");
    // A run has 600: it has no p90, so p90 is not compared.
    let compared = analysis["comparisons"].as_array().expect("comparisons");
    assert!(compared.iter().all(|row| row["metric"] != "p90"));
    let text = stdout(&verdicts().lab.run(["report", "out", "--details"]));
    assert!(text.contains("n/a"), "{text}");
}

#[test]
fn high_quantiles_are_there_once_there_are_operations_enough() {
    let lab = Lab::new();
    lab.fake("busy", &["turn_operations=2000", "op_ns=1000"]);
    let output = lab.experiment(&["busy"], &["--rounds", "1", "--phase", "first"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let analysis = lab.analysis();
    for result in analysis["results"].as_array().expect("results") {
        assert_eq!(result["operations"], 120_000);
        assert!((number(result, "p999_us") - 1.0).abs() < 0.01, "{result:#}");
    }
    row(&analysis, "busy@1.0.0 (A/A)", "first", "p999");
}

#[test]
fn results_go_to_stdout_and_progress_to_stderr() {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    let output = lab.experiment(&["even"], &["--rounds", "1", "--phase", "first"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(stderr(&output).contains("to the first look"), "{}", said(&output));
    assert!(!stdout(&output).contains("to the first look"), "{}", said(&output));
    let report = lab.run(["report", "out", "--details"]);
    assert_eq!(stdout(&report), stdout(&output), "the same report, and nothing else");
    let progress = stderr(&verdicts().output);
    assert!(progress.contains("to the first look"), "{progress}");
}

fn copied(from: &Path, to: &Path) -> PathBuf {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
    to.to_owned()
}

#[test]
fn every_format_comes_from_the_folder_alone_wherever_it_lies() {
    let lab = &verdicts().lab;
    let before = lab.path("out").canonicalize().expect("a path").display().to_string();
    // Another lab: no adapters, no cache, no workload.
    let elsewhere = Lab::new();
    let moved = copied(&lab.path("out"), &elsewhere.path("deep/er"));
    fs::remove_dir_all(moved.join("samples")).expect("samples");
    let after = moved.canonicalize().expect("a path").display().to_string();
    for format in FORMATS {
        let report = |lab: &Lab, folder: &str| {
            let output = lab.run(["report", folder, "--format", format, "--details"]);
            assert_eq!(code(&output), 0, "{format}: {}", said(&output));
            assert_eq!(stderr(&output), "", "{format}");
            stdout(&output)
        };
        let (first, again) = (report(lab, "out"), report(lab, "out"));
        assert!(first == again, "{format}: the same data give the same bytes");
        let there = report(&elsewhere, "deep/er");
        let (first, there) = if format == "terminal" {
            // Wrapping depends on the length of the path, which the report ends with.
            let cut = |text: &str| text.split("\nfolder ").next().unwrap_or_default().to_owned();
            (cut(&first), cut(&there))
        } else {
            (without(&first, &before), without(&there, &after))
        };
        let differs = first.lines().zip(there.lines()).find(|(first, there)| first != there);
        assert_eq!(differs, None, "{format}");
        assert_eq!(first.lines().count(), there.lines().count(), "{format}");
        assert_reads_as(format, &there);
    }
    let output = lab.run(["report", "out", "--format", "gnuplot"]);
    assert_eq!(code(&output), 2, "it is of a study: {}", said(&output));
}

/// A report without the path of its folder, in whichever way it was escaped.
fn without(text: &str, path: &str) -> String {
    text.replace(path, "HERE").replace(&path.replace('/', "&#x2f;"), "HERE")
}

fn assert_reads_as(format: &str, text: &str) {
    let sentence = "SLOWER: slower@1.0.0 takes 8.0 % longer";
    match format {
        "json" => drop(serde_json::from_str::<Value>(text).expect("JSON")),
        "csv" => {
            let mut table = csv::Reader::from_reader(text.as_bytes());
            let head = table.headers().expect("a head").clone();
            let at = |name| head.iter().position(|it| it == name).expect("a column");
            let rows: Vec<_> = table.records().map(|row| row.expect("a row")).collect();
            let slower = rows.iter().find(|row| {
                &row[at("arm")] == "slower@1.0.0" && &row[at("metric")] == "throughput_ops_per_s"
            });
            assert_eq!(&slower.expect("a row")[at("verdict")], "SLOWER");
        }
        "series" => {
            assert!(text.lines().any(|line| line.contains(",slower@1.0.0,false,rss_bytes,")));
        }
        "benchstat" => {
            let lines: Vec<&str> = text.lines().filter(|it| it.starts_with("Benchmark")).collect();
            assert_eq!(lines.len(), 8 * 6, "eight arms, six rounds");
            assert!(lines.iter().all(|line| line.contains(" ns/op\t")), "{lines:#?}");
        }
        "html" => assert!(text.starts_with("<!") && text.contains(sentence)),
        "svg" => assert!(text.starts_with("<svg") && text.contains(">+8.0 % (")),
        _ => assert!(text.contains(sentence), "{text}"),
    }
}

#[test]
fn a_torn_last_line_is_left_out_with_a_notice() {
    let lab = Lab::new();
    let whole = fs::read(verdicts().lab.path("out/runs.jsonl")).expect("runs");
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("lines") + 1;
    let broken: [(&str, Vec<u8>, u64); 3] = [
        ("half", whole[..last + 100].to_vec(), 5),
        ("begun", [&whole[..], b"{"].concat(), 6),
        // Cut in the middle of a character.
        ("character", [&whole[..], b"{\"round\":7,\"arm\":\"\xc3"].concat(), 6),
    ];
    for (name, runs, rounds) in broken {
        let folder = copied(&verdicts().lab.path("out"), &lab.path(name));
        fs::write(folder.join("runs.jsonl"), runs).expect("a file");
        for format in FORMATS {
            let output = lab.run(["report", name, "--format", format, "--details"]);
            assert_eq!(code(&output), 0, "{format}: {}", said(&output));
            let told = stdout(&output).contains("runs.jsonl is torn");
            assert_eq!(
                told,
                !["csv", "series", "benchstat"].contains(&format),
                "{}",
                said(&output)
            );
            if format == "json" {
                let analysis: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                assert_eq!(analysis["rounds"], rounds);
                assert_eq!(row(&analysis, "slower@1.0.0", "first", "throughput")["rounds"], rounds);
            }
        }
    }
    let torn = |it: &&str| it.contains("torn");
    assert_eq!(strings(&verdicts().analysis, "warnings").iter().find(|it| torn(it)), None);
}

/// `even` and `bad`, which fails in its fifth turn: the third measured one of the first phase.
fn errors() -> Lab {
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.fake("bad", &[QUICK, "at=turn:6", "fault=errors"]);
    lab
}

#[test]
fn errors_are_counted_by_code_and_void_their_phase_alone() {
    let lab = errors();
    let output = lab.experiment(&["even", "bad"], &["--rounds", "6", "--json"]);
    assert_eq!(code(&output), 0, "the second phase was compared: {}", said(&output));
    for run in lab.runs().iter().filter(|run| run["arm"] == "bad@1.0.0") {
        let [first, second] = [&run["phases"][0], &run["phases"][1]];
        let errors = json!([{
            "code": 11600, "name": "InterruptedAtShutdown", "count": 10, "message": "pretended"
        }]);
        assert_eq!(first["errors"], errors);
        assert_eq!((&first["turns"], &second["turns"]), (&json!(3), &json!(60)));
        assert_eq!(second["errors"], json!([]));
        let [ok, failed] =
            [&first["by_operation"][0]["count"], &first["by_operation"][0]["failed"]];
        assert_eq!((ok, failed), (&json!(30), &json!(10)));
    }
    let analysis: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_promised(&analysis);
    let warning = "bad@1.0.0, first: 60 × InterruptedAtShutdown (11600): pretended";
    assert!(strings(&analysis, "warnings").contains(&warning), "{analysis:#}");
    let results = analysis["results"].as_array().expect("results");
    let of_bad = |phase: &str| {
        let mut rows = results.iter();
        rows.find(|it| it["arm"] == "bad@1.0.0" && it["phase"] == phase).expect("a row")
    };
    assert_eq!((&of_bad("first")["errors"], &of_bad("second")["errors"]), (&json!(60), &json!(0)));
    let void = row(&analysis, "bad@1.0.0", "first", "throughput");
    assert_eq!(void["verdict"], "NOT COMPARABLE");
    let sentence = void["sentence"].as_str().expect("text");
    assert!(sentence.contains("bad@1.0.0 failed in 10 of 30 operations"), "{sentence}");
    assert_eq!(row(&analysis, "bad@1.0.0", "second", "throughput")["verdict"], "SAME");
}

#[test]
fn six_is_the_exit_code_where_nothing_can_be_compared() {
    let lab = errors();
    let output = lab.experiment(&["even", "bad"], &SIX);
    assert_eq!(code(&output), 6, "{}", said(&output));
    assert!(stdout(&output).contains("NOT COMPARABLE: "), "{}", said(&output));
    // Too few rounds for an interval is no failure.
    let lab = Lab::new();
    lab.fake("even", &[QUICK]);
    lab.fake("slow", &[QUICK, "op_ns=150000"]);
    let output = lab.experiment(&["even", "slow"], &["--rounds", "2", "--phase", "first"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let analysis = lab.analysis();
    let open = row(&analysis, "slow@1.0.0", "first", "throughput");
    assert_eq!((&open["verdict"], &open["low_percent"]), (&json!("INCONCLUSIVE"), &Value::Null));
}

/// An experiment whose A/A arm takes `op_ns` where the baseline takes 100,000.
fn copies_that_differ(lab: &Lab, op_ns: u64) -> Output {
    lab.fake("even", &[QUICK]);
    lab.fake("slow", &[QUICK, "op_ns=150000"]);
    let output = lab.experiment(&["even", "slow"], &SIX);
    assert_eq!(code(&output), 0, "{}", said(&output));
    // The seed gives the order again, and so the starts of the A/A arm among the baseline's.
    let runs = lab.runs();
    let twins = runs.iter().filter(|run| run["arm"] != "slow@1.0.0");
    let mut twins: Vec<&Value> = twins.collect();
    twins.sort_by_key(|run| (run["round"].as_u64(), run["position"].as_u64()));
    let of = |run: &&Value| if run["arm"] == "even@1.0.0" { 100_000 } else { op_ns };
    let each: Vec<u64> = twins.iter().map(of).collect();
    lab.paced("even", &each, &[QUICK]);
    fs::remove_dir_all(lab.path("out")).expect("a folder");
    lab.experiment(&["even", "slow"], &SIX)
}

#[test]
fn two_copies_that_differ_widen_the_interval() {
    let lab = Lab::new();
    let output = copies_that_differ(&lab, 104_000);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let analysis = lab.analysis();
    let twin = row(&analysis, "even@1.0.0 (A/A)", "first", "throughput");
    assert_eq!(twin["verdict"], "SLOWER", "{twin:#}");
    let slow = row(&analysis, "slow@1.0.0", "first", "throughput");
    assert_eq!((&slow["verdict"], &slow["bias_gate"]), (&json!("SLOWER"), &json!("G7")));
    assert_near(number(slow, "bias_percent"), 4.0, "what was injected");
    // 50 % less and more these 4 %.
    assert_near(number(slow, "low_percent"), 100.0 * (1.5 / 1.04 - 1.0), "lower end");
    let sentence = slow["sentence"].as_str().expect("text");
    assert!(sentence.contains(", of which 4 % either side for the A/A difference,"), "{sentence}");
    let warnings = analysis["warnings"].to_string();
    assert!(
        warnings.contains("two copies of one version differ in first/throughput"),
        "{warnings}"
    );
}

#[test]
fn two_copies_that_differ_by_more_than_a_tenth_void_the_phase() {
    let lab = Lab::new();
    let output = copies_that_differ(&lab, 112_000);
    assert_eq!(code(&output), 6, "{}", said(&output));
    let analysis = lab.analysis();
    for metric in ["throughput", "cpu_per_op"] {
        let void = row(&analysis, "slow@1.0.0", "first", metric);
        assert_eq!(void["verdict"], "NOT COMPARABLE", "{void:#}");
        let sentence = void["sentence"].as_str().expect("text");
        assert!(sentence.contains("two copies of one version differ in first/"), "{sentence}");
    }
}

#[test]
fn the_noise_of_the_a_a_arm_widens_the_threshold_the_same_way_each_time() {
    let lab = Lab::new();
    // The copies of the baseline are up to 3 % apart, in both directions.
    lab.paced("even", &[100_000, 103_000, 100_500, 99_000, 101_500], &[QUICK]);
    lab.fake("slow", &[QUICK, "op_ns=104000"]);
    let more = ["--rounds", "12", "--seed", "6", "--phase", "first", "--json"];
    let output = lab.experiment(&["even", "slow"], &more);
    let analysis: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let floor = number(&analysis["phases"][0], "aa_noise_percent");
    let row = row(&analysis, "slow@1.0.0", "first", "throughput");
    assert!(floor > 1.0, "{floor}");
    assert_near(number(row, "threshold_percent"), 2.0 * floor, "twice the noise");
    // The floor is a bootstrap's: the recorded seed draws the same resamples again.
    assert_eq!(stdout(&lab.run(["report", "out", "--format", "json"])), stdout(&output));
}
