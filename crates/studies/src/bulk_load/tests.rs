use super::answer::{all, faster_percent, names_percent};
use super::cliff;
use super::parts::{
    BY_CONCERN, BY_COUNT, BY_HOSTS, BY_MEMBERS, BY_NAMES, BY_SHARDS, BY_THREADS, DEALT, FORMS,
    NAME_LENGTHS, OVER_CACHE, OVER_MEMORY, SHARD_THREADS,
};
use super::tenths::{last_tenth_percent, twentieths};
use super::types::Load;
use super::*;
use crate::evidence::{Evidence, Shown};
use crate::study::planned;
use crate::study::words;
use record::records::ServerSample;
use record::request::Request;
use record::samples::Sample;
use record::words::Words;
use stats::descriptive::over_rounds;
use std::collections::BTreeMap;
use workload::builtin;
use workload::plan::Plan as WorkloadPlan;

/// Rounds about `rate`, a little apart.
fn load(part: &str, phase: &str, rate: f64, rounds: usize) -> Load {
    let wobble = [1.0, 1.01, 0.99, 1.02, 0.98, 1.005];
    Load {
        part: part.to_owned(),
        phase: phase.to_owned(),
        arm: "a".to_owned(),
        documents: 1_000,
        rates: wobble.iter().take(rounds).map(|it| Some(rate * it)).collect(),
        ..Load::default()
    }
}

fn finding(loads: &[Load], id: &str) -> Evidence {
    let found = all(loads).into_iter().find(|it| it.id == id);
    found.unwrap_or_else(|| panic!("no {id}"))
}

fn forms(batch: f64, rounds: usize) -> Vec<Load> {
    vec![load(FORMS, "one_by_one", 100.0, rounds), load(FORMS, "batch_1000", batch, rounds)]
}

#[test]
fn a_faster_form_is_shown_refuted_or_neither() {
    assert_eq!(finding(&forms(500.0, 6), "batches").shown, Shown::Shown);
    assert_eq!(finding(&forms(50.0, 6), "batches").shown, Shown::Refuted);
    let few = finding(&forms(500.0, 5), "batches");
    assert_eq!(few.shown, Shown::NotShown, "five rounds have no interval of 95 %");
    assert!(few.sentences[0].contains("5 rounds: no interval of 95 %"), "{few:?}");
    let mut noisy = forms(100.0, 6);
    noisy[1].rates = [80.0, 120.0, 90.0, 115.0, 70.0, 130.0].map(Some).to_vec();
    assert_eq!(finding(&noisy, "batches").shown, Shown::NotShown);
}

#[test]
fn a_lost_round_leaves_its_pair_out() {
    let mut loads = forms(500.0, 6);
    loads[1].rates[2] = None;
    let change = faster_percent(&loads[0], &loads[1]).expect("five pairs");
    assert_eq!(change.rounds, 5);
    assert!((change.median.estimate - 400.0).abs() < 1e-9, "{change:?}");
}

#[test]
fn all_numbers_of_threads_decide() {
    let mut loads = vec![
        load(BY_THREADS, "threads_1", 100.0, 6),
        load(BY_THREADS, "threads_3", 200.0, 6),
        load(BY_THREADS, "threads_4", 210.0, 6),
        load(BY_THREADS, "threads_15", 190.0, 6),
    ];
    assert_eq!(finding(&loads, "threads").shown, Shown::Shown);
    loads[3] = load(BY_THREADS, "threads_15", 50.0, 6);
    assert_eq!(finding(&loads, "threads").shown, Shown::NotShown);
}

#[test]
fn waiting_for_the_journal_costs_or_not() {
    let of = |journaled: f64| {
        let one = |concern: &str, rate| load(BY_CONCERN, &format!("one_{concern}"), rate, 6);
        [one("w0", 900.0), one("w1", 500.0), one("majority", 500.0), one("journaled", journaled)]
    };
    let costs = finding(&of(20.0), "concerns-one");
    assert_eq!(costs.shown, Shown::Shown);
    assert!(costs.sentences[0].starts_with("a, journaled: -96"), "{costs:?}");
    assert_eq!(finding(&of(600.0), "concerns-one").shown, Shown::Refuted);
}

#[test]
fn a_replica_set_is_judged_by_its_majority() {
    let of = |majority: f64| {
        let of_arm = |arm: &str| {
            let rates = [("w1", 500.0), ("majority", majority), ("journaled", 20.0)];
            rates.map(|(concern, rate)| {
                let load = load(BY_MEMBERS, &format!("one_{concern}"), rate, 6);
                Load { arm: arm.to_owned(), ..load }
            })
        };
        finding(&["a", "b"].map(of_arm).concat(), "replset-one")
    };
    let costs = of(100.0);
    assert_eq!(costs.shown, Shown::Shown);
    assert!(costs.question.contains("waiting for a majority cost"), "{costs:?}");
    let begin = ["a, majority: -80", "b, majority: -80", "a, journaled: -96", "b, journaled: -96"];
    assert_eq!(costs.sentences.len(), begin.len());
    let begins = |(it, begin): (&String, &str)| it.starts_with(begin);
    assert!(costs.sentences.iter().zip(begin).all(begins), "{costs:?}");
    assert_eq!(of(600.0).shown, Shown::Refuted, "whatever the journal costs");
}

#[test]
fn shares_of_hosts_are_equal_but_for_a_batch() {
    let of = |by_host: &[u64]| {
        let by_host = by_host.to_vec();
        finding(&[Load { by_host, ..load(BY_HOSTS, "threads_1", 100.0, 6) }], "even").shown
    };
    assert_eq!(of(&[13_000, 13_000, 13_000, 13_000]), Shown::Shown);
    assert_eq!(of(&[14_000, 13_000, 13_000, 12_999]), Shown::Refuted);
    assert_eq!(of(&[]), Shown::NotShown, "one host");
}

#[test]
fn hosts_at_work_at_once_are_told_from_one_after_the_other() {
    let of = |at_once: &[f64]| {
        let with = |phase: &str, at_once: &[f64]| Load {
            by_host: vec![250; 4],
            hosts_at_once: over_rounds(at_once),
            hosts_over_time: vec![vec![20.0, 40.0, 20.0, 20.0]; 10],
            ..load(BY_HOSTS, phase, 100.0, 6)
        };
        finding(&[with("threads_1", &[1.0; 6]), with("threads_4", at_once)], "hosts-at-once")
    };
    let parallel = of(&[2.5, 2.7, 2.8, 2.6, 2.6, 2.7]);
    assert_eq!(parallel.shown, Shown::Shown);
    let words = "a, threads_4: 2.65 (2.50 to 2.80) of 4 hosts have a batch in flight: in parallel. \
                 One host takes at most 40.0 % of a tenth of the load's time.";
    assert_eq!(parallel.sentences[0], words);
    assert!(parallel.sentences[1].contains("one host after the other"), "{parallel:?}");
    assert_eq!(of(&[1.0; 6]).shown, Shown::Refuted);
    assert_eq!(of(&[1.2, 2.0, 1.4, 1.6, 1.8, 1.3]).shown, Shown::NotShown, "it holds both");
    let few = of(&[2.6; 4]);
    assert_eq!(few.shown, Shown::NotShown);
    assert!(few.sentences[0].contains("too few rounds to decide"), "{few:?}");
    let one_host = [load(BY_HOSTS, "threads_4", 100.0, 6)];
    assert_eq!(finding(&one_host, "hosts-at-once").shown, Shown::NotShown, "no calls by host");
}

#[test]
fn a_rate_falls_with_the_documents_or_not() {
    let of = |rates: &[f64]| {
        let with = |phase: &str, documents: u64, rates: &[f64]| Load {
            documents,
            rates: rates.iter().map(|it| Some(*it)).collect(),
            ..load(BY_COUNT, phase, 100.0, 6)
        };
        let base = vec![100.0; rates.len()];
        let loads = [
            with("count_whole", 50_000, rates),
            with("count_hundredth", 500, &base),
            with("count_tenth", 5_000, &base),
        ];
        finding(&loads, "counts")
    };
    let falls = of(&[50.0, 52.0, 48.0, 51.0, 49.0, 50.0]);
    assert_eq!(falls.shown, Shown::Shown);
    let sentence = &falls.sentences[0];
    assert!(sentence.starts_with("a: a load of 50,000 documents has -50"), "{sentence}");
    assert!(sentence.ends_with(" documents a second against one of 500."), "{sentence}");
    assert_eq!(of(&[99.0, 101.0, 100.0, 98.0, 102.0, 100.0]).shown, Shown::Refuted, "it holds");
    assert_eq!(of(&[150.0; 6]).shown, Shown::Refuted, "it rises");
    assert_eq!(of(&[80.0, 120.0, 90.0, 115.0, 70.0, 130.0]).shown, Shown::NotShown);
    assert_eq!(of(&[50.0; 4]).shown, Shown::NotShown, "four rounds are too few");
    let alone = [load(BY_COUNT, "count_whole", 100.0, 6)];
    assert_eq!(finding(&alone, "counts").shown, Shown::NotShown, "one load does not grow");
}

#[test]
fn counts_grow_tenfold_to_those_of_the_scale() {
    let counts = |scale: f64| {
        let asked = Asked { scale: Some(scale), ..Asked::default() };
        let parts = BulkLoadStudy.plan(&asked).expect("a plan");
        parts.into_iter().find(|it| it.name == BY_COUNT).map(|it| words(&it))
    };
    assert_eq!(counts(0.0005), None, "a small load has no smaller one");
    let usual = counts(0.01).expect("a part");
    let phases = "--phase count_hundredth --phase count_tenth --phase count_whole ";
    assert!(usual.contains(phases) && !usual.contains("count_thousandth"), "{usual}");
    assert!(usual.contains(" hundredth=500 ") && usual.contains(" tenth=5200 "), "{usual}");
    let whole = counts(1.0).expect("a part");
    assert!(whole.contains("--phase count_ten_thousandth --phase count_thousandth "), "{whole}");
    let plan = plan("bulk-load");
    let phases = plan.phases.iter().filter(|it| it.name.starts_with("count_"));
    let named = phases.filter(|it| whole.contains(&format!("--phase {} ", it.name)));
    assert_eq!(named.count(), 5);
}

#[test]
fn a_dead_end_is_told_from_a_steady_load() {
    let with = |percents: &[f64]| {
        let mut loads = forms(500.0, 6);
        loads[0].last_tenth_percent = over_rounds(percents);
        finding(&loads, "dead-end").shown
    };
    assert_eq!(with(&[-40.0, -42.0, -39.0, -45.0, -41.0, -40.5]), Shown::Shown);
    assert_eq!(with(&[-1.0, 1.0, 0.5, -0.5, 2.0, -2.0]), Shown::Refuted, "within 5 %");
    assert_eq!(with(&[-30.0, 20.0, -10.0, 15.0, 5.0, -20.0]), Shown::NotShown);
    assert_eq!(finding(&forms(500.0, 6), "dead-end").shown, Shown::NotShown, "no tenths");
}

#[test]
fn tenths_are_those_of_all_calls() {
    // Calls of 10 ns, the last ten of 20 ns.
    let samples = |count: u32| {
        let mut at = 5;
        (0..count).map(move |index| {
            let service_ns = if index < 90 { 10 } else { 20 };
            let sample = Sample {
                intended_ns: at,
                start_ns: at,
                service_ns,
                index,
                operation: 0,
                outcome: 0,
                worker: 0,
            };
            at += service_ns;
            Ok(sample)
        })
    };
    let slower = last_tenth_percent(100, samples(100)).expect("tenths");
    assert!((slower + 50.0).abs() < 1e-9, "{slower}");
    assert_eq!(last_tenth_percent(100, samples(99)), None, "one was lost");
    assert_eq!(last_tenth_percent(49, samples(49)), None, "too few");
}

#[test]
fn a_twentieth_is_as_fast_as_its_calls() {
    let samples = (0..100_u64).map(|index| {
        let service_ns = if index < 50 { 10 } else { 20 };
        let start_ns = if index < 50 { 10 * index } else { 500 + 20 * (index - 50) };
        let (index, operation, outcome, worker) = (index as u32, 0, 0, 0);
        Ok(Sample {
            intended_ns: start_ns,
            start_ns,
            service_ns,
            index,
            operation,
            outcome,
            worker,
        })
    });
    let rates = twentieths(100, samples);
    assert_eq!(rates.len(), 20);
    assert!((rates[0] - 1e8).abs() < 1.0 && (rates[19] - 5e7).abs() < 1.0, "{rates:?}");
    assert_eq!(twentieths(100, []), [0.0; 0]);
}

#[test]
fn a_picture_has_a_bar_a_load_and_the_course_of_one_that_outgrows_the_cache() {
    let rate = over_rounds(&[100.0; 6]);
    let one = Load { documents_per_s: rate, ..load("forms", "one_by_one", 100.0, 6) };
    let lost = Load { documents_per_s: None, ..one.clone() };
    let drawn = picture::rates("forms", &[one.clone(), lost.clone()]).expect("a rate").svg();
    assert_eq!(drawn.matches(r#"<rect class="band""#).count(), 1, "{drawn}");
    assert!(drawn.contains("not measured"), "{drawn}");
    assert_eq!(picture::rates("forms", &[lost]), None);
    assert_eq!(picture::course(&one), None);
    let grown = Load { twentieths: vec![vec![2.0, 1.0]; 6], ..one };
    let drawn = picture::course(&grown).expect("two parts").svg();
    assert!(drawn.contains("over the load") && drawn.contains("0 documents"), "{drawn}");
}

#[test]
fn a_cliff_is_a_step_to_half_the_rate() {
    // Rounds differ by a factor, twentieths by a few percent.
    let rounds = |count: usize, drop: f64| -> Vec<Vec<f64>> {
        let rate = |round: usize, part: usize| {
            let wobble = 1.0 + 0.03 * (((round * 7 + part * 13) % 11) as f64 / 10.0 - 0.5);
            1e4 * (1.0 + round as f64) * wobble * if part < 12 { 1.0 } else { drop }
        };
        (0..count).map(|round| (0..20).map(|part| rate(round, part)).collect()).collect()
    };
    let found = |count, drop| {
        let twentieths = rounds(count, drop);
        let load = Load { twentieths, ..load(OVER_CACHE, "data_over_cache", 1.0, 6) };
        cliff::evidence(&[load], OVER_CACHE, "data").expect("a finding")
    };
    let falls = found(6, 0.3);
    assert_eq!(falls.shown, Shown::Shown);
    assert!(falls.sentences[0].contains("from 600 documents on"), "{falls:?}");
    assert_eq!(found(6, 0.8).shown, Shown::Refuted, "a slope is no cliff");
    assert_eq!(found(6, 1.0).shown, Shown::Refuted);
    assert_eq!(found(5, 0.3).shown, Shown::NotShown, "too few rounds");
    let index = Load {
        twentieths: rounds(6, 0.3),
        document_bytes: 1_000.0,
        index_bytes: over_rounds(&[20.0; 6]),
        room_bytes: Some(1_000),
        ..load(OVER_MEMORY, "index_over_cache", 1.0, 6)
    };
    let falls = finding(&[index], "cliff-index-memory");
    assert_eq!(falls.shown, Shown::Shown);
    let size = "which have 11.7 KiB of index, 12.0 times the memory,";
    assert!(falls.sentences[0].contains(size), "{falls:?}");
}

fn plan(name: &str) -> WorkloadPlan {
    builtin::open(name, &BTreeMap::new(), 1).expect(name).plan
}

#[test]
fn documents_are_of_the_originals_sizes() {
    let plan = plan("bulk-load");
    for (name, bytes) in [("fields_25", 320.0), ("fields_10", 643.0), ("fields_30", 665.0)] {
        let pool = plan.collections.iter().find(|it| it.name == name).expect(name);
        assert!((pool.document_bytes_mean - bytes).abs() < 1e-9, "{name}: {pool:?}");
    }
}

#[test]
fn names_are_all_that_the_documents_differ_by() {
    let plan = plan("bulk-names");
    let values = NAME_LENGTHS.map(|length| {
        let name = format!("names_{length}");
        let pool = plan.collections.iter().find(|it| it.name == name).expect("a pool");
        let document_bytes = pool.document_bytes_mean;
        let load = Load { phase: name, document_bytes, ..load(BY_NAMES, "", 1.0, 1) };
        document_bytes * (1.0 - names_percent(&load).expect("a share") / 100.0)
    });
    // 5 around, `_id` with 14 bytes and 19 numbers of 10 beside their names.
    assert!(values.iter().all(|it| (it - 209.0).abs() < 1e-6), "{values:?}");
}

#[test]
fn a_batch_larger_than_the_load_is_left_out() {
    let parts = |scale: f64| {
        let asked = Asked { scale: Some(scale), ..Asked::default() };
        let parts = BulkLoadStudy.plan(&asked).expect("a plan");
        words(&parts[0])
    };
    assert!(!parts(0.001).contains("--phase batch_10000 "));
    assert!(parts(0.1).contains("--phase batch_100000 "));
    // Five full batches of the threshold, and a short one.
    let small = parts(0.01);
    assert!(small.contains("documents=52000 ") && small.contains("threshold=10000 "), "{small}");
}

#[test]
fn a_set_reaches_every_part_whose_workload_has_it() {
    let plan = |sets: &[(&str, &str)]| {
        let sets = sets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let request = Request { parameters: sets.collect(), ..Request::default() };
        planned(&BulkLoadStudy, &Asked { request, ..Asked::default() })
    };
    for part in plan(&[("documents", "77"), ("few", "5")]).expect("a plan") {
        let said = words(&part);
        assert!(said.contains(" documents=77 ") && !said.contains("ments=52000"), "{said}");
        assert_eq!(
            said.contains(" few=5 "),
            part.request.workload.given() == Some("bulk-load"),
            "{said}"
        );
    }
    assert!(plan(&[("fewer", "5")]).is_err(), "no part has it");
}

/// Loads by hand and through a mongos, at these documents a second.
fn by_hand_and_mongos(by_hand: f64, through: f64) -> Vec<Load> {
    let with = |part: &str, phase: &str, rate: f64| {
        let load = load(part, phase, rate, 6);
        let rates: Vec<f64> = load.rates.iter().flatten().copied().collect();
        let server = "MongoDB 7.0.5 of this machine".to_owned();
        Load { documents_per_s: over_rounds(&rates), by_host: vec![500; 4], server, ..load }
    };
    let mut loads = Vec::new();
    for threads in SHARD_THREADS {
        loads.push(with(BY_HOSTS, &format!("threads_{threads}"), by_hand));
        loads.extend(DEALT.map(|way| with(BY_SHARDS, &format!("{way}_{threads}"), through)));
    }
    loads
}

#[test]
fn the_claim_about_mongos_is_shown_refuted_or_neither() {
    let shown = |by_hand, through| finding(&by_hand_and_mongos(by_hand, through), "mongos");
    let slower = shown(400.0, 100.0);
    assert_eq!(slower.shown, Shown::Shown);
    assert!(slower.sentences[0].starts_with("a, hashed_1: 4.00 times the time"), "{slower:?}");
    assert!(slower.sentences[0].ends_with("4 shards, 4 hosts."), "{slower:?}");
    assert_eq!(slower.sentences.len(), 4, "a range on one shard is no even distribution");
    assert_eq!(shown(200.0, 100.0).shown, Shown::Refuted);
    assert_eq!(shown(300.0, 100.0).shown, Shown::NotShown, "its interval holds 3");
}

#[test]
fn the_claim_takes_both_parts_on_one_kind_of_server() {
    let mut loads = by_hand_and_mongos(400.0, 100.0);
    for load in loads.iter_mut().filter(|it| it.part == BY_HOSTS) {
        load.server = "MongoDB 6.0.5 of this machine".to_owned();
    }
    let other = finding(&loads, "mongos");
    assert_eq!(other.shown, Shown::NotShown);
    assert!(
        other.sentences[0].contains("7.0.5 of this machine, the hosts MongoDB 6.0.5"),
        "{other:?}"
    );
    loads.retain(|it| it.part == BY_HOSTS);
    assert_eq!(finding(&loads, "mongos").sentences, ["No load went through a mongos with shards."]);
}

#[test]
fn shards_in_turn_are_told_from_all_at_once() {
    let of = |busiest_percent| {
        let mut loads = by_hand_and_mongos(400.0, 100.0);
        let split = loads.iter_mut().find(|it| it.phase == "split_1").expect("it is there");
        split.busiest_percent = busiest_percent;
        finding(&loads, "one-shard").shown
    };
    assert_eq!(of(Some(97.0)), Shown::Shown);
    assert_eq!(of(Some(30.0)), Shown::Refuted);
    assert_eq!(of(None), Shown::NotShown, "too short a load");
}

#[test]
fn the_busiest_is_that_of_each_second() {
    let named = |names: [&str; 2], round: u32, counts: [i64; 2]| {
        let names = names.map(str::to_owned);
        let mut values: BTreeMap<String, i64> = names.into_iter().zip(counts).collect();
        values.insert("opcounters.insert".to_owned(), 1_000 * counts[0]);
        let shares = BTreeMap::new();
        ServerSample { at_ns: 0, round, phase: "split_1".to_owned(), values, shares }
    };
    let shards = ["shard.s1.dbStats.objects", "shard.s2.dbStats.objects"];
    let sample = |round, counts| named(shards, round, counts);
    // One after the other, and as many on each at the end; a new round begins anew.
    let in_turn =
        [sample(1, [0, 0]), sample(1, [90, 10]), sample(1, [100, 100]), sample(2, [0, 0])];
    assert_eq!(spread::busiest(in_turn.iter()), Some(90.0));
    let together = [sample(1, [0, 0]), sample(1, [50, 50]), sample(1, [100, 100])];
    assert_eq!(spread::busiest(together.iter()), Some(50.0));
    assert_eq!(spread::busiest(together[..1].iter()), None);
    let hosts = ["host1.opcounters.insert", "host2.opcounters.insert"];
    let dealt = [[0, 0], [30, 10], [60, 20]].map(|counts| named(hosts, 1, counts));
    assert_eq!(spread::busiest(dealt.iter()), Some(75.0));
}

#[test]
fn shards_have_the_tenths_of_ten_seconds() {
    let seconds: Vec<ServerSample> = (0..=20)
        .map(|second: i64| {
            // The first shard has all until the tenth second.
            let counts = [second.min(10), (second - 10).max(0)];
            let names = ["shard.s1.dbStats.objects", "shard.s2.dbStats.objects"];
            let values = names.map(str::to_owned).into_iter().zip(counts).collect();
            let (phase, shares) = ("split_1".to_owned(), BTreeMap::new());
            ServerSample { at_ns: 0, round: 1, phase, values, shares }
        })
        .collect();
    let seconds: Vec<&ServerSample> = seconds.iter().collect();
    let tenths = spread::over_time(&seconds);
    let busiest: Vec<bool> = tenths.iter().map(|it| it[0] > 99.0 && it[1] < 1.0).collect();
    assert_eq!(busiest, [[true; 5], [false; 5]].concat(), "{tenths:?}");
    assert!(spread::over_time(&seconds[..10]).is_empty(), "nine seconds lie between ten samples");
}

#[test]
fn a_mongos_is_our_own_or_the_one_that_is_named() {
    let shards = |server: Option<&str>, by_uri: bool| {
        let uri = by_uri.then(|| Words::new("mongodb://h"));
        let request = Request { server: server.map(Words::new), uri, ..Request::default() };
        let asked = Asked { request, ..Asked::default() };
        let parts = BulkLoadStudy.plan(&asked).expect("a plan");
        let part = parts.into_iter().find(|it| it.name == BY_SHARDS)?;
        assert!(part.needs.is_some(), "a machine may have no mongos");
        Some(words(&part))
    };
    let ends = |words: Option<String>, end: &str| words.expect("a part").ends_with(end);
    assert!(ends(shards(None, false), "--server mongod:shards=4"));
    assert!(ends(shards(Some("/opt/m/mongod"), false), "--server /opt/m/mongod:shards=4"));
    assert!(!shards(None, true).expect("a part").contains("--server"));
    assert_eq!(shards(Some("absorber"), false), None);
    let plan = plan("bulk-shards");
    let phases: Vec<String> = plan.phases.iter().map(|it| it.name.clone()).collect();
    let named = DEALT.iter().flat_map(|it| SHARD_THREADS.map(|count| format!("{it}_{count}")));
    assert_eq!(phases, named.collect::<Vec<_>>());
    let split = plan.collections.iter().find(|it| it.name == "split").expect("a collection");
    let ranges = workload::shard::ranges(split.shard.as_ref().expect("sharded"), &split.stamps);
    let ranges = ranges.expect("they are by the key");
    assert_eq!(ranges.len(), 8);
}
