//! Test of the originals: every figure and claim of `tests/data/originals.json` is in its study,
//! and the study has no other figure of the original.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::STUDIES;
use crate::definition::Definition;
use crate::frame::{Cells, StudyCell};

const ORIGINALS: &str = include_str!("../../../tests/data/originals.json");

/// A cell by its names and its value, as words that two lists can be compared by.
fn words(at: [&str; 4], value: f64) -> String {
    format!("{} = {value:.4e}", at.join(" | "))
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("a number: {of}"))
}

/// `7m` of mongostat.
fn mega(of: &Value) -> f64 {
    let text = of.as_str().and_then(|text| text.strip_suffix('m'));
    text.and_then(|text| text.parse().ok()).map_or_else(|| panic!("{of}"), |it: f64| it * 1e6)
}

fn driver_upgrade(of: &Value) -> Vec<String> {
    let arm = |version: &str| format!("csharp@{version}/runtime=mono");
    let cell = |version: &str, metric: &str, value| {
        words(["versions", "both", &arm(version), metric], value)
    };
    let totals = of["totals"].as_object().expect("totals");
    let first = number(&totals["1.6.1.4678"]);
    let of_total = |(version, total): (&String, &Value)| {
        let ratio =
            (version != "1.6.1.4678").then(|| cell(version, "over_first", number(total) / first));
        [cell(version, "arrived_ms", number(total))].into_iter().chain(ratio)
    };
    let traffic = [("1.6.1", "1.6.1.4678"), ("1.9.2", "1.9.2.235")].into_iter();
    let traffic = traffic.flat_map(|(short, version)| {
        ["in", "out"]
            .map(|way| cell(version, &format!("{way}_bytes_per_s"), mega(&of["net"][short][way])))
    });
    totals.iter().flat_map(of_total).chain(traffic).collect()
}

fn write_cost(of: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let documents = |count: f64| format!("the original, {} documents", format::count(count as u64));
    let mut times = |part, count: f64, of: &Value| {
        for (name, phase, calls) in [
            ("drop", "drop", 1.0),
            ("one", "one_by_one", count),
            ("many", "all_at_once", count),
            ("count", "count_metadata", 1.0),
        ] {
            if let Some(ms) = of.get(name) {
                let us = number(ms) * 1e3 / calls;
                all.push(words([part, phase, &documents(count), "time_us"], us));
            }
        }
    };
    times("small", number(&of["small"]["documents"]), &of["small"]);
    for (count, of) in of["large"].as_object().expect("sizes") {
        times("large", count.parse().expect("a count"), of);
    }
    let stored = |phase: &str, count: f64, data: f64, storage: f64, average: f64| {
        [
            ("stored_documents", count),
            ("data_bytes", data),
            ("storage_bytes", storage),
            ("average_bytes", average),
            // Three digits, as the file has them.
            ("data_by_storage", format!("{:.2e}", data / storage).parse().expect("a number")),
        ]
        .map(|(metric, value)| words(["stored", phase, "the original", metric], value))
    };
    let (small, large) = (&of["small"], &of["large_stored"]);
    all.extend(stored(
        "the original, small",
        number(&small["documents"]),
        number(&small["data_mb"]) * 1e6,
        number(&small["storage_mb"]) * 1e6,
        number(&small["average_bytes"]),
    ));
    all.extend(stored(
        "the original, large",
        number(&large["documents"]),
        number(&large["data_gb"]) * 1e9,
        number(&large["storage_gb"]) * 1e9,
        number(&large["average_bytes"]),
    ));
    let (held, at_once) = (&of["held_gb"], &of["many_at_once"]);
    let many = number(&held["25000 many"]) * 1e9;
    let fits = number(&at_once["went_through"]);
    let large_bytes = number(&large["average_bytes"]);
    all.extend([
        words(["large", "all_at_once", &documents(25e3), "peak_bytes"], many),
        words(
            ["large", "one_by_one", &documents(1e6), "peak_bytes"],
            number(&held["1000000 one"]) * 1e9,
        ),
    ]);
    let memory = [
        ("fits_documents", fits),
        ("fits_bytes", fits * large_bytes),
        ("peak_bytes", many),
        ("fails_documents", number(&at_once["failed"])),
    ];
    all.extend(
        memory
            .map(|(metric, value)| words(["memory", "insert_many", "the original", metric], value)),
    );
    all
}

fn crud_scale(of: &Value) -> Vec<String> {
    let sizes = of["documents"].as_array().expect("sizes");
    let mut all = Vec::new();
    for (series, link) in [("one-way", "local"), ("remote", "remote_100mbit")] {
        for (at, documents) in sizes.iter().map(number).enumerate() {
            let part = format!("{series}-{}m", documents / 1e6);
            let mut push = |phase: &str, metric, value| {
                all.push(words([&part, phase, "the original", metric], value));
            };
            push("insert", "documents", documents);
            for (phase, rates) in of[link].as_object().expect("rates") {
                push(phase, "per_s", number(&rates[at]));
            }
        }
    }
    all
}

fn bulk_load(of: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let mut load = |at: [&str; 3], documents: f64, ms: f64, bytes: f64| {
        let [part, phase, arm] = at;
        let rate = format!("{:.1}", documents / ms * 1e3).parse().expect("a number");
        for (metric, value) in [
            ("measured_ms", ms),
            ("documents", documents),
            ("documents_per_s", rate),
            ("document_bytes", bytes),
        ] {
            all.push(words([part, phase, arm, metric], value));
        }
    };
    for it in of["c_seconds"].as_array().expect("loads") {
        let documents = number(&it["documents"]);
        let arm = format!("the original, C, {} documents", format::count(documents as u64));
        let phase = format!("batch_{}", it["batch"]);
        load(["forms", &phase, &arm], documents, number(&it["s"]) * 1e3, number(&of["bytes"]["c"]));
    }
    let mut hosts = Vec::new();
    for it in of["java_ms"].as_array().expect("loads") {
        let documents = number(&it["documents"]);
        let count = format::count(documents as u64);
        let on = it.get("hosts").map_or(String::new(), |hosts| format!(" {hosts} hosts,"));
        let arm = format!("the original, Java,{on} {count} documents");
        let by_threads = || format!("threads_{}", it["grid"]);
        let (part, phase) = match it["way"].as_str().expect("a way") {
            "one" => ("forms", "one_by_one".to_owned()),
            "all" => ("forms", "all_at_once".to_owned()),
            "grid" => ("threads", by_threads()),
            _ => ("hosts", by_threads()),
        };
        let bytes = number(it.get("bytes").unwrap_or(&of["bytes"]["java"]));
        load([part, &phase, &arm], documents, number(&it["ms"]), bytes);
        if let Some(count) = it.get("hosts") {
            hosts.push(words([part, &phase, &arm, "hosts"], number(count)));
        }
    }
    all.extend(hosts);
    for (at, arm) in ["the original, at least", "the original, at most"].into_iter().enumerate() {
        let rate = number(&of["over_memory_documents_per_s"][at]);
        let cell = |phase| words(["memory", phase, arm, "documents_per_s"], rate);
        all.extend(["data_over_cache", "index_over_cache"].map(cell));
    }
    let times = number(&of["mongos_times_slower"]);
    all.push(words(["shards", "split_4", "the original, at least", "times_by_hand"], times));
    all
}

fn broker(of: &Value) -> Vec<String> {
    let rate =
        |arm, phase, name| words(["cursor", phase, arm, "received_per_s"], number(&of[name]));
    let python = "the original, Python";
    let sent = |phase| words(["cursor", phase, python, "sent"], number(&of["messages"]));
    let pool = |driver: &str| {
        let size = number(&of["pool_default"][driver]);
        words(["cursor", "burst", driver, "pool_default"], size)
    };
    vec![
        rate(python, "think", "python_rate_with_sleep"),
        rate(python, "awaited", "python_rate_without_sleep"),
        rate("the original, Python, as claimed first", "awaited", "python_rate_claimed_first"),
        sent("think"),
        sent("awaited"),
        pool("node@1.4.5"),
        pool("python@2.7"),
    ]
}

fn original_cells(definition: &Definition) -> Vec<StudyCell> {
    let mut cells = Cells::default();
    cells.add_originals(&definition.originals);
    cells.all
}

fn held(study: &str) -> (Definition, Value) {
    let all: Value = serde_json::from_str(ORIGINALS).expect("JSON");
    (crate::find(study).expect(study).definition(), all[study].clone())
}

/// The study's figures of the original are these, and each is in a column of a table whose rows it
/// shares with the study's own figures of the same part, phase and metric.
#[track_caller]
fn assert_complete(study: &str, expected: fn(&Value) -> Vec<String>) {
    let (definition, of) = held(study);
    let cells = original_cells(&definition);
    let names = |it: &StudyCell| {
        words([&it.part, &it.phase, &it.arm, &it.metric], it.value.expect("a figure").median)
    };
    let own: BTreeSet<String> = cells.iter().map(names).collect();
    let expected: BTreeSet<String> = expected(&of).into_iter().collect();
    let missing: Vec<&String> = expected.difference(&own).collect();
    let invented: Vec<&String> = own.difference(&expected).collect();
    assert!(missing.is_empty() && invented.is_empty(), "-{missing:#?} +{invented:#?}");
    let hidden: Vec<String> = cells
        .iter()
        .filter(|cell| !definition.tables.iter().any(|table| table.shows(cell)))
        .map(names)
        .collect();
    assert!(hidden.is_empty(), "no table shows {hidden:#?}");
}

#[test]
fn driver_upgrade_has_the_figures_of_2014() {
    assert_complete("driver-upgrade", driver_upgrade);
}

#[test]
fn write_cost_has_the_originals_figures() {
    assert_complete("write-cost", write_cost);
}

#[test]
fn crud_scale_has_the_figures_of_2010() {
    assert_complete("crud-scale", crud_scale);
}

#[test]
fn bulk_load_has_the_figures_of_java_and_c() {
    assert_complete("bulk-load", bulk_load);
}

#[test]
fn broker_has_the_figures_of_2014() {
    assert_complete("broker", broker);
}

#[test]
fn claims_are_questions_in_the_originals_order() {
    for study in STUDIES {
        let (definition, of) = held(study.name());
        let claims = of["claims"].as_array().cloned().unwrap_or_default();
        let claims: Vec<&str> = claims.iter().filter_map(|claim| claim[0].as_str()).collect();
        let mut asked: Vec<&str> =
            definition.questions.iter().filter_map(|it| it.claim.as_deref()).collect();
        asked.dedup();
        assert_eq!(asked, claims, "{}", study.name());
    }
}
