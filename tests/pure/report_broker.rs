//! The pictures and the one-line-a-message table of the broker study, from made-up data.

use std::fmt::Write as _;

use crate::broker_support::{HOSTILE, LOST, MESSAGES, ROUNDS, made_up};
use record::folder::Folder;
use record::records::{Experiment, Limits, Run};
use report::Options;
use report::drawing::Drawing;
use report::study::{arms, facts};
use stats::curve::{Block, Class};
use stats::descriptive::Interval;
use studies::StudyTable;
use studies::broker::{
    Axes, BrokerStudy, Cloud, Content, Measured, POINTS_MAX, Panel, Row, Since, lost, messages,
    parts, parts_rows, rows, scatter, taking_part,
};
use studies::{Made, finished};

fn measured(latencies_ms: &[f64], axes: Axes, class: Class) -> Content {
    let first_and_last = [(1.0, latencies_ms[0]), (axes.messages as f64, 3.0)];
    Content::Measured(Box::new(Measured {
        cloud: Some(Cloud::of(latencies_ms.iter().copied(), axes)),
        class,
        reason: "latency grows by 2.00 ms (1.80 to 2.20)".to_owned(),
        growth_us: Some(Interval { estimate: 2_000.0, low: 1_800.0, high: 2_200.0 }),
        blocks: first_and_last
            .map(|(message, ms)| Block { message, latency_us: ms * 1e3 })
            .to_vec(),
    }))
}

fn row(arm: &str, axes: Axes, contents: Vec<Content>) -> Row {
    let panel = |(number, content)| Panel { round: number, content };
    Row { arm: arm.to_owned(), axes, panels: (1..).zip(contents).map(panel).collect() }
}

fn report(format: &str, folder: &Folder, experiment: &Experiment, runs: &[Run]) -> Vec<u8> {
    let made = Made { part: "", folder, experiment, runs }.into();
    report::study_text(&finished(&BrokerStudy, &made), format, &Options::default())
        .expect("a report")
}

/// An element a line, so that a difference can be read.
fn lines(drawing: &Drawing) -> String {
    drawing.svg().replace("><", ">\n<")
}

#[test]
fn a_small_scatter() {
    let axes = Axes { messages: 4, top_ms: 4.0 };
    let grows = measured(&[1.0, 1.5, 2.5, 3.0], axes, Class::Linear);
    let stall = measured(&[1.0, 1.0, 70.0, 1.0], axes, Class::Unclear);
    let failed = Content::Empty("failed: the server wants <newer> drivers".to_owned());
    let rows = [
        row("old@1.4.3/maxPoolSize=1024/processes=4", axes, vec![grows, stall]),
        row("dead@1", axes, vec![failed, Content::Empty("not measured".to_owned())]),
    ];
    insta::assert_snapshot!("broker_scatter", lines(&scatter("burst", Since::Made, &rows)));
}

#[test]
fn many_messages_are_shades_and_the_slow_one_is_a_dot() {
    let count = POINTS_MAX + 1;
    let axes = Axes { messages: count as u64, top_ms: 4.0 };
    let steady = vec![1.0; count];
    let drawn = |latencies: &[f64]| {
        let row = row("a", axes, vec![measured(latencies, axes, Class::Flat)]);
        scatter("p", Since::Made, &[row]).svg()
    };
    let dots = |svg: &str| svg.matches("stroke-width=\"2.6\"").count();
    let steady_svg = drawn(&steady);
    // The legend's dot is the only one; two more strokes have an opacity than the legend's.
    assert_eq!(dots(&steady_svg), 1);
    assert!(steady_svg.contains("h88\"/>") || steady_svg.contains("h87"), "{steady_svg}");
    assert!(steady_svg.contains("2 to 9 messages"));
    let mut slow = steady.clone();
    slow[count / 2] = 3.9;
    assert_eq!(dots(&drawn(&slow)), 2);
    slow[count / 2] = 400.0;
    let beyond = drawn(&slow);
    assert!(beyond.contains("1 above, to 400 ms"), "{beyond}");
    assert!(beyond.contains("slower than the axis reaches"));
    // Below the limit every message is a dot, and no shade is explained.
    let few = drawn(&steady[1..]);
    assert_eq!(dots(&few), 2);
    assert!(!few.contains("2 to 9 messages"));
}

/// Noise around a curve: it fills most of a picture.
fn noisy(count: u32, seed: u32, curve: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    (0..count)
        .map(|i| curve(f64::from(i) / f64::from(count)) - 0.8 * next().max(1e-9).ln())
        .collect()
}

#[test]
fn a_large_picture_stays_small_and_is_always_the_same() {
    let axes = Axes { messages: 100_000, top_ms: 10.0 };
    let drawn = || {
        let mut rows = Vec::new();
        for arm in 0..14_u32 {
            let content = |round: u32| {
                let growth = f64::from(arm % 3) * 2.5;
                let latencies = noisy(100_000, arm * 7 + round, |part| 0.5 + growth * part);
                measured(&latencies, axes, Class::Linear)
            };
            rows.push(row(&format!("arm-{arm}"), axes, (0..5).map(content).collect()));
        }
        scatter("burst", Since::Made, &rows)
    };
    let (one, two) = (drawn(), drawn());
    assert!(one.svg().len() < 1_000_000, "{} bytes", one.svg().len());
    assert_eq!(one.svg(), two.svg());
}

#[test]
fn rows_come_from_the_rounds_past_the_tap() {
    let path = tempfile::tempdir().expect("a folder");
    let (folder, experiment, runs) = made_up(&path.path().join("it"));
    let names = |phase| -> Vec<&str> {
        taking_part(&experiment, &runs, phase).iter().map(|arm| arm.id.as_str()).collect()
    };
    assert_eq!(names("awaited"), [HOSTILE, "new@2", "dead@4"]);
    assert_eq!(names("burst"), [HOSTILE, "new@2", "extra@3", "dead@4"]);
    let arms = taking_part(&experiment, &runs, "burst");
    let burst = rows(&folder, &arms, &runs, "burst", Since::Made).expect("rows");
    assert_eq!(burst.len(), 4);
    let messages = u64::from(MESSAGES - 1);
    for row in &burst {
        let rounds: Vec<u32> = row.panels.iter().map(|panel| panel.round).collect();
        assert_eq!(rounds, (1..=ROUNDS).collect::<Vec<_>>());
        assert_eq!(row.axes.messages, messages, "one axis for all");
    }
    let classes = |row: &Row| -> Vec<Option<Class>> {
        let class = |panel: &Panel| match &panel.content {
            Content::Measured(measured) => Some(measured.class),
            Content::Empty(_) => None,
        };
        row.panels.iter().map(class).collect()
    };
    assert_eq!(classes(&burst[0]), [Some(Class::Linear); 3]);
    assert_eq!(classes(&burst[1]), [Some(Class::Flat); 3]);
    // 30 ms of growth on the axis of the one; the other's stall of 90 ms beyond its own.
    assert!((30.0..50.0).contains(&burst[0].axes.top_ms), "{:?}", burst[0].axes);
    assert!(burst[1].axes.top_ms <= 2.0, "{:?}", burst[1].axes);
    let Content::Measured(flat) = &burst[1].panels[0].content else { panic!("measured") };
    let cloud = flat.cloud.as_ref().expect("samples");
    assert_eq!(cloud.beyond_axis, 1);
    assert!((90.0..91.0).contains(&cloud.slowest_ms), "{}", cloud.slowest_ms);
    let Content::Empty(reason) = &burst[3].panels[0].content else { panic!("it failed") };
    assert!(reason.starts_with("failed: connect"), "{reason}");
    // Since intended, everything grows that came later.
    let since = rows(&folder, &arms, &runs, "burst", Since::Intended).expect("rows");
    assert_eq!(classes(&since[1]), [Some(Class::Linear); 3]);
    // Without samples the medians remain, and the picture says what is missing.
    std::fs::remove_dir_all(folder.join("samples")).expect("samples");
    let burst = rows(&folder, &arms, &runs, "burst", Since::Made).expect("rows");
    let svg = scatter("burst", Since::Made, &burst).svg();
    assert_eq!(svg.matches("samples not kept").count(), 9);
    assert!(!svg.contains("<b>"), "a name became markup");
}

#[test]
fn all_pictures_of_a_study_are_one() {
    let path = tempfile::tempdir().expect("a folder");
    let (folder, experiment, runs) = made_up(&path.path().join("it"));
    let all = report("svg", &folder, &experiment, &runs);
    let all = String::from_utf8(all).expect("text");
    for title in [
        "awaited: latency of each message",
        "burst: latency of each message",
        "burst: latency since each message was intended",
        "awaited: where the time",
        "burst: where the time",
    ] {
        assert!(all.contains(title), "{title}");
    }
    assert_eq!(all.matches("<svg").count(), 1);
}

#[test]
fn parts_of_the_tapped_round() {
    let path = tempfile::tempdir().expect("a folder");
    let (_, experiment, runs) = made_up(&path.path().join("it"));
    let arms = taking_part(&experiment, &runs, "burst");
    let rows = parts_rows(&arms, &runs, "burst");
    insta::assert_snapshot!("broker_parts", lines(&parts("burst", &rows)));
    let direct: Vec<_> = runs.iter().filter(|run| !run.tapped).cloned().collect();
    assert!(parts_rows(&arms, &direct, "burst").is_empty());
}

#[test]
fn one_line_a_message() {
    let path = tempfile::tempdir().expect("a folder");
    let (folder, _, runs) = made_up(&path.path().join("it"));
    let mut text = Vec::new();
    let missing = messages(&folder, &runs, &mut text).expect("a table");
    assert_eq!(missing.len(), ROUNDS as usize + 1, "{missing:?}");
    assert!(missing[0].starts_with("dead@4, round 1: void"), "{missing:?}");
    let mut table = csv::Reader::from_reader(text.as_slice());
    let head: Vec<&str> = table.headers().expect("a head").iter().collect();
    assert_eq!(
        head.join(","),
        "phase,arm,round,tapped,producer,sequence,made_ns,intended_ns,\
                                start_ns,acknowledged_ns,received_ns,latency_us"
    );
    let lines: Vec<Vec<String>> = table
        .records()
        .map(|line| line.expect("a line").iter().map(str::to_owned).collect())
        .collect();
    // Two arms in two phases, one in one, each in three rounds and the tapped one.
    assert_eq!(lines.len() as u32, 5 * (ROUNDS + 1) * MESSAGES);
    for (number, line) in (0..).zip(&lines[..MESSAGES as usize]) {
        let made_ns = 1_000_000 + u64::from(number) * 50_000;
        let mut wanted = format!("awaited,{HOSTILE},1,false,{},{}", number % 2, number / 2);
        let (start_ns, end_ns) = (made_ns + 1_000, made_ns + 301_000);
        let _ = write!(
            wanted,
            ",{},{start_ns},{start_ns},{end_ns}",
            if number == LOST { String::new() } else { made_ns.to_string() }
        );
        assert_eq!(line[..10].join(","), wanted);
        if number == LOST {
            assert_eq!(line[10..], ["", ""]);
        } else {
            let received_ns: u64 = line[10].parse().expect("a number");
            let latency_ns = received_ns - made_ns;
            assert_eq!(line[11], format!("{}.{:03}", latency_ns / 1_000, latency_ns % 1_000));
            assert!(latency_ns >= 400_000);
        }
    }
    assert_eq!(lines.iter().filter(|line| line[3] == "true").count() as u32, 5 * MESSAGES);
}

#[test]
fn records_as_words() {
    let path = tempfile::tempdir().expect("a folder");
    let (_, experiment, runs) = made_up(&path.path().join("it"));
    let table = arms(&experiment, &runs);
    let row = |number: usize| table.rows[number].cells.join(" | ");
    assert_eq!(row(0), "fake | 1.0 | no | fake 1 | api=callback | tasks | 5 | w: 1 | 4 | 4 | 0");
    assert_eq!(row(3), "fake | 1.0 | none exists | fake 1 | none | tasks | 5 | w: 1 | 1 | 4 | 4");
    assert_eq!(table.columns.len(), table.rows[0].cells.len());
    let facts = facts(&experiment, &runs);
    let fact = |name: &str| &facts.iter().find(|fact| fact.0 == name).expect("a fact").1;
    assert_eq!(fact("Server"), "embedded MongoDB 4.4.2, standalone");
    assert_eq!(fact("Consumer"), "reader@1: fake 1.0 on fake 1");
    assert!(!facts.iter().any(|fact| fact.0 == "Limits"), "none were seen");
    assert!(fact("Rounds").starts_with("3 and 1 through the tap, completed; seed 1"));
    let lost = lost(&experiment, &runs);
    assert_eq!(lost[0], "In all 5,980 of 6,000 messages arrived.");
    assert_eq!(
        lost[1],
        format!(
            "{HOSTILE}, awaited: 4 lost; the consumer's cursor died 4 times, its position was \
             overwritten in 0 of them."
        )
    );
}

#[test]
fn cells_are_those_of_the_rounds_past_the_tap() {
    let path = tempfile::tempdir().expect("a folder");
    let (folder, experiment, runs) = made_up(&path.path().join("it"));
    let table: StudyTable =
        serde_json::from_slice(&report("json", &folder, &experiment, &runs)).expect("a table");
    let cell = |phase: &str, arm: &str, metric: &str| {
        let mut cells = table.cells.iter();
        let found =
            cells.find(|it| it.phase == phase && it.arm == arm && it.metric == metric).cloned();
        found.unwrap_or_else(|| panic!("{phase} {arm} {metric}"))
    };
    let median = |phase, arm, metric| cell(phase, arm, metric).value.expect(metric).median;
    for (phase, classes) in [("awaited", "flat 3/3"), ("burst", "linear 3/3")] {
        let curve = cell(phase, HOSTILE, "curve");
        assert_eq!(curve.note.as_deref(), Some(classes));
        let sent = cell(phase, HOSTILE, "sent");
        let of_round = f64::from(MESSAGES);
        assert_eq!(sent.by_round, [Some(of_round); 3]);
        assert_eq!(sent.value.expect("a sum").median.to_bits(), (3.0 * of_round).to_bits());
    }
    assert_eq!(cell("burst", "new@2", "since_intended_curve").note.as_deref(), Some("linear 3/3"));
    let reasons = cell("burst", HOSTILE, "growth_us").note.expect("reasons");
    assert!(reasons.starts_with("round 1: latency grows"), "{reasons}");
    for (metric, wanted) in [
        ("lost", 3.0),
        ("cursors_reopened", 3.0),
        ("made_per_s", 20_000.0),
        ("received_per_s", 18_000.0),
        ("driver_first_us", 60.0),
        ("driver_last_us", 29_000.0),
        ("parts_matched", 300.0),
    ] {
        assert!((median("burst", HOSTILE, metric) - wanted).abs() < 1e-9, "{metric}");
    }
    let dead = cell("burst", "dead@4", "sent");
    assert_eq!((dead.value, &dead.by_round), (None, &vec![None; 3]));
    assert!(dead.note.is_some_and(|it| it.starts_with("round 1: connect: ")));
    assert!(!table.cells.iter().any(|it| it.arm == "extra@3" && it.phase == "awaited"));
    let terminal = String::from_utf8(report("md", &folder, &experiment, &runs)).expect("text");
    for words in [
        "Each worker waits for an insert before it makes the next message. Workers: ",
        "All messages are intended at the start; each driver issues them ",
        "the original, Python",
        "In all 5,980 of 6,000 messages arrived.",
    ] {
        assert!(terminal.contains(words), "{words}: {terminal}");
    }
}

#[test]
fn limits_that_are_alike_are_told_once() {
    let path = tempfile::tempdir().expect("a folder");
    let (_, mut experiment, runs) = made_up(&path.path().join("it"));
    let usual = Limits {
        open_files: Some(1024),
        processes: Some(96_364),
        address_space_bytes: None,
        locked_memory_bytes: Some(8 << 20),
        cgroup_memory_bytes: None,
    };
    let told = |experiment: &Experiment| {
        let facts = facts(experiment, &runs);
        facts.into_iter().find(|fact| fact.0 == "Limits").expect("a fact").1
    };
    let words = "processes 96,364, address space unlimited, locked memory 8.00 MiB, memory of the \
                 cgroup unlimited";
    for arm in &mut experiment.arms[..2] {
        arm.limits = Some(usual.clone());
    }
    assert_eq!(told(&experiment), format!("open files 1,024, {words}"));
    experiment.server.limits = Some(Limits { open_files: Some(64_000), ..usual });
    let both =
        format!("{HOSTILE}, new@2: open files 1,024, {words}; server: open files 64,000, {words}");
    assert_eq!(told(&experiment), both);
}

#[test]
fn samples_outside_of_the_folder_are_not_read() {
    let outside = tempfile::tempdir().expect("a folder");
    let (folder, experiment, mut runs) = made_up(&outside.path().join("out"));
    let there = folder.join(&runs[0].phases[0].samples[0]);
    let outside = outside.path().join("samples.bin");
    std::fs::copy(&there, &outside).expect("room");
    std::os::unix::fs::symlink(&outside, folder.join("samples/link")).expect("room");
    let large = std::fs::File::create(folder.join("samples/large")).expect("room");
    large.set_len(1 << 40).expect("holes take no room");
    let all = |runs: &[Run]| {
        let mut table = Vec::new();
        let missing = messages(&folder, runs, &mut table).expect("a table");
        (String::from_utf8_lossy(&table).lines().count(), missing)
    };
    let (before, none) = all(&runs);
    for name in [outside.to_str().expect("text"), "../samples.bin", "samples/link", "samples/large"]
    {
        runs[0].phases[0].samples[0] = name.to_owned();
        let (lines, missing) = all(&runs);
        assert!(lines < before && missing.len() == none.len() + 1, "{name}: {missing:?}");
        assert!(missing.last().is_some_and(|it| it.ends_with("its samples were not kept")));
        report("svg", &folder, &experiment, &runs);
    }
}
