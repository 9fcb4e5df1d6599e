//! The rules of `study.toml` on made-up cells.

use super::parts::{
    BY_COUNT, BY_HOSTS, BY_NAMES, BY_SHARDS, DEALT, OVER_CACHE, OVER_MEMORY, SHARD_THREADS,
};
use super::*;
use crate::finished;
use crate::frame::{self, Question, SERVER, StudyAnswer};
use report::palette::Palette;
use std::collections::BTreeMap;
use workload::builtin;

/// Rounds of a load about `rate`, a little apart.
fn rounds(rate: f64, count: usize) -> Vec<Option<f64>> {
    let wobble = [1.0, 1.01, 0.99, 1.02, 0.98, 1.005];
    wobble.iter().take(count).map(|it| Some(rate * it)).collect()
}

/// Rates of loads of one driver.
fn loads(part: &str, rates: &[(&str, f64)], count: usize) -> Cells {
    let mut cells = Cells::default();
    for (phase, rate) in rates {
        let at = [part, phase, "a", "documents_per_s"];
        cells.push(at, "per_s", rounds(*rate, count));
    }
    cells
}

fn some(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

fn all(cells: &Cells) -> Vec<Question> {
    let nothing =
        Outcome { made: Vec::new(), left_out: BTreeMap::new(), folder: String::new(), scale: None };
    finished::questions(&BulkLoadStudy, &BulkLoadStudy.definition(), &nothing, cells)
}

fn question(cells: &Cells, id: &str) -> Question {
    all(cells).into_iter().find(|it| it.id == id).unwrap_or_else(|| panic!("no {id}"))
}

fn answer(cells: &Cells, id: &str) -> StudyAnswer {
    question(cells, id).answer
}

fn forms(batch: f64, count: usize) -> Cells {
    loads("forms", &[("one_by_one", 100.0), ("batch_1000", batch)], count)
}

#[test]
fn a_faster_form_is_shown_refuted_or_neither() {
    assert_eq!(answer(&forms(500.0, 6), "batches"), StudyAnswer::Yes);
    assert_eq!(answer(&forms(50.0, 6), "batches"), StudyAnswer::No);
    let few = answer(&forms(500.0, 5), "batches");
    assert_eq!(few, StudyAnswer::NotShown, "five rounds have no interval of 95 %");
    let mut noisy = forms(100.0, 6);
    noisy.all[1].by_round = some(&[80.0, 120.0, 90.0, 115.0, 70.0, 130.0]);
    assert_eq!(answer(&noisy, "batches"), StudyAnswer::NotShown);
    assert!(all(&Cells::default()).iter().all(|it| it.id != "batches"), "no such part");
}

#[test]
fn a_lost_round_leaves_its_pair_out() {
    let mut cells = forms(500.0, 6);
    cells.all[1].by_round[2] = None;
    let ratio = question(&cells, "batches").number.expect("five pairs");
    assert_eq!(ratio.rounds, 5);
    assert!((ratio.median - 5.0).abs() < 1e-9, "{ratio:?}");
}

#[test]
fn all_numbers_of_threads_decide() {
    let of = |most| {
        let rates = [100.0, 200.0, 210.0, most];
        let names = ["threads_1", "threads_3", "threads_4", "threads_15"];
        let rates: Vec<(&str, f64)> = names.into_iter().zip(rates).collect();
        let answer = answer(&loads("threads", &rates, 6), "threads");
        assert_eq!(self::answer(&loads(BY_HOSTS, &rates, 6), "hosts-parallel"), answer);
        answer
    };
    assert_eq!(of(190.0), StudyAnswer::Yes);
    assert_eq!(of(50.0), StudyAnswer::NotShown);
}

#[test]
fn large_batches_and_all_at_once_are_held_against_batches_of_1000() {
    let of = |large| {
        let names = ["batch_10000", "batch_threshold", "batch_50000", "batch_100000"];
        let mut rates = vec![("batch_1000", 100.0), ("all_at_once", large)];
        rates.extend(names.map(|name| (name, large)));
        let cells = loads("forms", &rates, 6);
        ["large-batches", "all-at-once"].map(|id| answer(&cells, id))
    };
    assert_eq!(of(200.0), [StudyAnswer::Yes; 2]);
    assert_eq!(of(50.0), [StudyAnswer::No; 2]);
    assert_eq!(of(100.5), [StudyAnswer::Yes; 2], "each is paired with its own round");
}

#[test]
fn waiting_for_the_journal_costs_or_not() {
    let of = |form: &str, journaled: f64| {
        let names = ["w0", "w1", "majority", "journaled"].map(|it| format!("{form}_{it}"));
        let rates = names.iter().map(String::as_str).zip([900.0, 500.0, 500.0, journaled]);
        loads("concerns", &rates.collect::<Vec<_>>(), 6)
    };
    let costs = question(&of("one", 20.0), "concerns-one");
    assert_eq!(costs.answer, StudyAnswer::Yes);
    assert!(costs.sentence.starts_with("It loads 0.04"), "{costs:?}");
    assert!(costs.rows[0].words.contains("one majority documents 501/s"), "{costs:?}");
    assert_eq!(answer(&of("one", 600.0), "concerns-one"), StudyAnswer::No);
    assert_eq!(answer(&of("batch", 20.0), "concerns-batch"), StudyAnswer::Yes);
    assert_eq!(answer(&of("one", 20.0), "safe"), StudyAnswer::Yes, "the claim (a)");
    assert_eq!(answer(&of("one", 2e3), "safe"), StudyAnswer::NotShown, "w: 1 alone is slower");
}

#[test]
fn a_replica_set_is_judged_by_its_majority() {
    let of = |majority: f64| {
        let rates = [("one_w1", 500.0), ("one_majority", majority), ("one_journaled", 20.0)];
        let mut cells = loads("replset", &rates, 6);
        let mut other = cells.all.clone();
        for cell in &mut other {
            cell.arm = "b".to_owned();
        }
        cells.all.extend(other);
        question(&cells, "replset-one")
    };
    let costs = of(100.0);
    assert_eq!(costs.answer, StudyAnswer::Yes);
    assert!(costs.text.contains("waiting for a majority cost"), "{costs:?}");
    let arms: Vec<&str> = costs.rows.iter().map(|it| it.arm.as_str()).collect();
    assert_eq!(arms, ["a", "b"]);
    assert!(costs.rows[1].words.contains("one journaled documents 20"), "{costs:?}");
    assert_eq!(of(600.0).answer, StudyAnswer::No, "whatever the journal costs");
}

#[test]
fn shares_of_hosts_are_equal_but_for_a_batch() {
    let of = |by_host: &[u64]| {
        let uneven = spread::uneven_documents(by_host, 1).map(|it| it as f64);
        let mut cells = Cells::default();
        cells.push_plain([BY_HOSTS, "threads_1", "a", "uneven_documents"], "count", uneven);
        all(&cells).into_iter().find(|it| it.id == "even").map(|it| it.answer)
    };
    assert_eq!(of(&[13_000, 13_000, 13_000, 13_000]), Some(StudyAnswer::Yes));
    assert_eq!(of(&[14_000, 13_000, 13_000, 13_000]), Some(StudyAnswer::Yes));
    assert_eq!(of(&[14_000, 13_000, 13_000, 12_999]), Some(StudyAnswer::No));
    assert_eq!(of(&[]), None, "one host");
}

#[test]
fn hosts_at_work_at_once_are_told_from_one_after_the_other() {
    let of = |at_once: &[f64]| {
        let mut cells = Cells::default();
        for (phase, at_once) in [("threads_1", &[1.0; 6][..]), ("threads_4", at_once)] {
            let at = |metric| [BY_HOSTS, phase, "a", metric];
            cells.push(at("hosts_at_once"), "hosts", some(at_once));
            cells.push_plain(at("hosts"), "count", Some(4.0));
            cells.push_plain(at("busiest_tenth_percent"), "percent", Some(40.0));
        }
        question(&cells, "hosts-at-once")
    };
    let parallel = of(&[2.5, 2.7, 2.8, 2.6, 2.6, 2.7]);
    assert_eq!(parallel.answer, StudyAnswer::Yes);
    let words = "hosts 4; busiest tenth 40.0 %; threads 1 hosts at once 1.00 (1.00 to 1.00)";
    assert_eq!(parallel.rows[0].words, words);
    assert_eq!(parallel.rows.len(), 1, "one thread waits for each batch");
    assert_eq!(of(&[1.0; 6]).answer, StudyAnswer::No);
    let both = of(&[1.2, 2.0, 1.4, 1.6, 1.8, 1.3]);
    assert_eq!(both.answer, StudyAnswer::NotShown, "it holds both");
    assert_eq!(of(&[2.6; 4]).answer, StudyAnswer::NotShown, "too few rounds");
    let none = loads(BY_HOSTS, &[("threads_4", 100.0)], 6);
    assert!(all(&none).iter().all(|it| it.id != "hosts-at-once"), "no calls by host");
}

#[test]
fn a_rate_falls_with_the_documents_or_not() {
    let of = |rates: &[f64]| {
        let mut cells = Cells::default();
        let mut with = |phase: &str, documents: f64, rates: &[f64]| {
            let at = |metric| [BY_COUNT, phase, "a", metric];
            cells.push(at("documents_per_s"), "per_s", some(rates));
            cells.push_plain(at("documents"), "count", Some(documents));
        };
        let base = vec![100.0; rates.len()];
        with("count_whole", 50_000.0, rates);
        with("count_hundredth", 500.0, &base);
        with("count_tenth", 5_000.0, &base);
        derived::push(&mut cells);
        question(&cells, "counts")
    };
    let falls = of(&[50.0, 52.0, 48.0, 51.0, 49.0, 50.0]);
    assert_eq!(falls.answer, StudyAnswer::Yes);
    assert!(falls.sentence.starts_with("The largest load has -50"), "{falls:?}");
    assert_eq!(falls.rows[0].words, "documents 50,000; smallest documents 500");
    let holds = of(&[99.0, 101.0, 100.0, 98.0, 102.0, 100.0]);
    assert_eq!(holds.answer, StudyAnswer::No, "it holds");
    assert_eq!(of(&[150.0; 6]).answer, StudyAnswer::No, "it rises");
    assert_eq!(of(&[98.0; 6]).answer, StudyAnswer::Yes, "it falls, if by little");
    let open = of(&[80.0, 120.0, 90.0, 115.0, 70.0, 130.0]);
    assert_eq!(open.answer, StudyAnswer::NotShown);
    assert_eq!(of(&[50.0; 4]).answer, StudyAnswer::NotShown, "four rounds are too few");
    let mut alone = loads(BY_COUNT, &[("count_whole", 100.0)], 6);
    alone.push_plain([BY_COUNT, "count_whole", "a", "documents"], "count", Some(500.0));
    derived::push(&mut alone);
    assert!(all(&alone).iter().all(|it| it.id != "counts"), "one load does not grow");
}

#[test]
fn a_dead_end_is_told_from_a_steady_load() {
    let with = |percents: &[&[f64]]| {
        let mut cells = forms(500.0, 6);
        for (percents, phase) in percents.iter().zip(["one_by_one", "batch_1000"]) {
            let at = ["forms", phase, "a", "last_tenth_percent"];
            cells.push(at, "change_percent", some(percents));
        }
        answer(&cells, "dead-end")
    };
    let falls = [-40.0, -42.0, -39.0, -45.0, -41.0, -40.5];
    let holds = [-1.0, 1.0, 0.5, -0.5, 2.0, -2.0];
    assert_eq!(with(&[&falls]), StudyAnswer::Yes);
    assert_eq!(with(&[&holds]), StudyAnswer::No, "within 5 %");
    assert_eq!(with(&[&holds, &[-2.0; 6]]), StudyAnswer::No, "all within 5 %");
    assert_eq!(with(&[&holds, &[20.0; 6]]), StudyAnswer::NotShown, "one holds, one rises");
    assert_eq!(with(&[&falls, &holds]), StudyAnswer::NotShown);
    assert_eq!(with(&[&[-30.0, 20.0, -10.0, 15.0, 5.0, -20.0]]), StudyAnswer::NotShown);
    assert_eq!(with(&[]), StudyAnswer::NotShown, "no tenths");
}

#[test]
fn a_chart_has_a_point_a_load_and_the_course_of_one_that_outgrows_the_cache() {
    let drawn = |cells: &Cells, part: &str| -> Vec<String> {
        let palette = Palette::of(cells.arms());
        let charts = frame::charts(&BulkLoadStudy.definition().charts, part, cells, &palette);
        charts.iter().map(report::drawing::Drawing::svg).collect()
    };
    let mut cells = forms(500.0, 6);
    cells.push(["forms", "all_at_once", "a", "documents_per_s"], "per_s", vec![None; 6]);
    let forms = drawn(&cells, "forms");
    assert_eq!(forms.len(), 1, "{forms:?}");
    assert!(forms[0].contains("forms: documents a second of each load"), "{forms:?}");
    assert_eq!(drawn(&cells, "sizes"), [""; 0]);
    let drawn = drawn(&course(6, 0.3, OVER_CACHE, "data_over_cache"), OVER_CACHE);
    assert_eq!(drawn.len(), 1);
    assert!(drawn[0].contains("cache, data_over_cache: documents a second over"), "{drawn:?}");
    assert!(drawn[0].contains("documents loaded"), "{drawn:?}");
}

/// A load of 1,000 documents whose rate drops to `drop` after 12 of its twentieths.
fn course(count: usize, drop: f64, part: &str, phase: &str) -> Cells {
    let mut cells = Cells::default();
    for twentieth in 0..20 {
        // Rounds differ by a factor, twentieths by a few percent.
        let rate = |round: usize| {
            let wobble = 1.0 + 0.03 * (((round * 7 + twentieth * 13) % 11) as f64 / 10.0 - 0.5);
            Some(1e4 * (1.0 + round as f64) * wobble * if twentieth < 12 { 1.0 } else { drop })
        };
        let name = format!("{phase}, twentieth {}", twentieth + 1);
        let at = |metric| [part, &*name, "a", metric];
        let middle = 50.0 * (twentieth as f64 + 0.5);
        cells.push_plain(at("course_documents"), "count", Some(middle));
        cells.push(at("course_per_s"), "per_s", (0..count).map(rate).collect());
    }
    let sizes = [("documents", 1e3), ("document_bytes", 1e3), ("stored_index_bytes", 20.0)];
    for (metric, value) in sizes.into_iter().chain([("room_bytes", 1e3)]) {
        cells.push_plain([part, phase, "a", metric], "bytes", Some(value));
    }
    derived::push(&mut cells);
    cells
}

#[test]
fn a_cliff_is_a_step_to_half_the_rate() {
    let found = |count, drop| {
        let cells = course(count, drop, OVER_CACHE, "data_over_cache");
        question(&cells, "cliff-data-cache")
    };
    let falls = found(6, 0.3);
    assert_eq!(falls.answer, StudyAnswer::Yes);
    assert!(falls.rows[0].words.starts_with("cliff documents 600; cliff 586 KiB"), "{falls:?}");
    assert_eq!(found(6, 0.8).answer, StudyAnswer::No, "a slope is no cliff");
    assert_eq!(found(6, 1.0).answer, StudyAnswer::No);
    let few = found(5, 0.3);
    assert_eq!(few.answer, StudyAnswer::NotShown, "too few rounds");
    assert_eq!(few.remarks, ["It takes six rounds to find a step."]);
    let index = course(6, 0.3, OVER_MEMORY, "index_over_cache");
    let falls = question(&index, "cliff-index-memory");
    assert_eq!(falls.answer, StudyAnswer::Yes);
    assert!(falls.rows[0].words.contains("cliff 11.7 KiB; cliff room 12.0"), "{falls:?}");
}

#[test]
fn a_load_that_outgrows_the_memory_goes_down_to_low_hundreds_or_not() {
    let of = |index| {
        let rates = [("data_over_cache", 5_000.0), ("index_over_cache", index)];
        let mut cells = loads(OVER_MEMORY, &rates, 6);
        cells.add_originals(&BulkLoadStudy.definition().originals);
        question(&cells, "outgrown")
    };
    let low = of(250.0);
    assert_eq!(low.answer, StudyAnswer::Yes, "the data or an index");
    let originals = low.rows.iter().filter(|it| it.original);
    let originals: Vec<f64> = originals.filter_map(|it| Some(it.value?.median)).collect();
    assert_eq!(originals, [200.0, 200.0, 300.0, 300.0]);
    assert_eq!(of(5_000.0).answer, StudyAnswer::No);
}

#[test]
fn the_claims_and_figures_are_the_originals() {
    let letters: Vec<String> =
        all(&Cells::default()).into_iter().filter_map(|it| it.claim).collect();
    assert_eq!(letters, ["a", "b", "c", "d", "e", "f"]);
    let mut cells = forms(500.0, 6);
    cells.push(["forms", "one_by_one", "a", "measured_ms"], "ms", rounds(1.0, 6));
    cells.add_originals(&BulkLoadStudy.definition().originals);
    let mut times = Vec::new();
    for cell in cells.all.iter().filter(|it| it.original && it.metric == "measured_ms") {
        let of = |metric| cells.median([&cell.part, &cell.phase, &cell.arm, metric]).expect(metric);
        let rate = of("documents") * 1e3 / of("measured_ms");
        assert!((rate - of("documents_per_s")).abs() < 0.051, "{cell:?}: {rate}");
        assert_eq!(cell.unit, "ms");
        times.push(of("measured_ms"));
    }
    assert_eq!(times.len(), 17);
    assert!([901.0, 70_427.0, 393.889, 2_346_321.261].iter().all(|it| times.contains(it)));
}

#[test]
fn names_are_all_that_the_documents_differ_by() {
    let plan = builtin::open("bulk-names", &BTreeMap::new(), 1).expect("built in").plan;
    let mut cells = Cells::default();
    for pool in plan.collections.iter().filter(|it| it.name.starts_with("names_")) {
        let at = [BY_NAMES, &pool.name, "a", "document_bytes"];
        cells.push_plain(at, "bytes", Some(pool.document_bytes_mean));
    }
    derived::push(&mut cells);
    let values = [1, 8, 16, 32].map(|length| {
        let name = format!("names_{length}");
        let of = |metric| cells.median([BY_NAMES, &name, "a", metric]).expect(metric);
        of("document_bytes") * (1.0 - of("names_percent") / 100.0)
    });
    // 5 around, `_id` with 14 bytes and 19 numbers of 10 beside their names.
    assert!(values.iter().all(|it| (it - 209.0).abs() < 1e-6), "{values:?}");
}

#[test]
fn long_names_cost_bytes_and_time_or_not() {
    let of = |long: [f64; 3]| {
        let mut cells = Cells::default();
        let metrics =
            [("documents_per_s", "per_s"), ("wire_bytes", "bytes"), ("stored_bytes", "bytes")];
        for (phase, values) in [("names_1", [100.0; 3]), ("names_32", long)] {
            for ((metric, unit), value) in metrics.iter().zip(values) {
                cells.push([BY_NAMES, phase, "a", metric], unit, rounds(value, 6));
            }
        }
        ["names", "name-bytes"].map(|id| answer(&cells, id))
    };
    assert_eq!(of([50.0, 300.0, 120.0]), [StudyAnswer::Yes; 2]);
    assert_eq!(of([150.0, 90.0, 80.0]), [StudyAnswer::No; 2]);
    assert_eq!(of([50.0, 300.0, 100.0])[1], StudyAnswer::NotShown, "storage may be the same");
}

/// Loads by hand and through a mongos, at these documents a second.
fn by_hand_and_mongos(by_hand: f64, through: f64, same_server: bool) -> Cells {
    let mut cells = Cells::default();
    let mut with = |part: &str, phase: &str, rate: f64| {
        let at = |metric| [part, phase, "a", metric];
        cells.push(at("documents_per_s"), "per_s", rounds(rate, 6));
        cells.push_plain(at("hosts"), "count", Some(4.0));
    };
    for threads in SHARD_THREADS {
        with(BY_HOSTS, &format!("threads_{threads}"), by_hand);
        for way in DEALT {
            with(BY_SHARDS, &format!("{way}_{threads}"), through);
        }
    }
    derived::push(&mut cells);
    let same = f64::from(u8::from(same_server));
    cells.push_plain([BY_SHARDS, "", SERVER, "same_server"], "count", Some(same));
    cells
}

#[test]
fn the_claim_about_mongos_is_shown_refuted_or_neither() {
    let of = |by_hand, through| question(&by_hand_and_mongos(by_hand, through, true), "mongos");
    let slower = of(400.0, 100.0);
    assert_eq!(slower.answer, StudyAnswer::Yes);
    assert!((slower.rows[0].value.expect("a ratio").median - 4.0).abs() < 0.01, "{slower:?}");
    assert!(slower.rows[0].words.ends_with("hosts 4; threads 4 hosts 4"), "{slower:?}");
    assert_eq!(slower.rows.len(), 4, "a range on one shard is no even distribution");
    assert_eq!(of(200.0, 100.0).answer, StudyAnswer::No);
    assert_eq!(of(300.0, 100.0).answer, StudyAnswer::NotShown, "its interval holds 3");
}

#[test]
fn the_claim_takes_both_parts_on_one_kind_of_server() {
    let mut cells = by_hand_and_mongos(400.0, 100.0, false);
    let other = question(&cells, "mongos");
    assert_eq!(other.answer, StudyAnswer::NotShown);
    assert!(other.remarks[0].contains("servers of different versions"), "{other:?}");
    cells.all.retain(|it| it.part == BY_HOSTS);
    let alone = question(&cells, "mongos");
    assert_eq!((alone.answer, &*alone.sentence), (StudyAnswer::NotShown, "Nothing was measured."));
}

#[test]
fn shards_in_turn_are_told_from_all_at_once() {
    let of = |busiest_percent| {
        let mut cells = by_hand_and_mongos(400.0, 100.0, true);
        let at = [BY_SHARDS, "split_1", "a", "busiest_percent"];
        cells.push_plain(at, "percent", busiest_percent);
        answer(&cells, "one-shard")
    };
    assert_eq!(of(Some(97.0)), StudyAnswer::Yes);
    assert_eq!(of(Some(30.0)), StudyAnswer::No);
    assert_eq!(of(None), StudyAnswer::NotShown, "too short a load");
}
