//! Each rule of the diagnosis on records made by hand: its cause, and its silence.

use crate::diagnosis_support::{Bench, comparison, queue, row, tap};
use judge::analysis::compare::compare_all;
use judge::analysis::rounds::Rounds;
use judge::diagnosis::RULES;
use record::records::{Little, OpenLoop, PhaseRun, Quantiles, Queue, Tap, TapCommand};
use serde_json::json;
use workload::plan::{Count, Operation, OperationKind, Pacing, Phase};

const RATE: Pacing = Pacing::Rate { per_second: 2_000.0, poisson: false };

#[test]
fn the_document_lists_the_rules_of_the_code() {
    let text =
        std::fs::read_to_string(crate::support::root().join("docs/diagnosis.md")).expect("a file");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let named: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let rules: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
    assert_eq!(named, rules);
}

/// A gate, no rule; the same records show it.
#[test]
fn cpu_of_waiting_arms_is_one_warning_with_the_arm_that_used_most_of_it() {
    let arms = ["a@1", "b@1", "c@1"];
    let mut bench = Bench::new(&arms);
    let warnings = |bench: &Bench| {
        let rounds = Rounds::new(&bench.experiment, &bench.runs);
        let mut all = compare_all(&bench.experiment, &rounds).warnings;
        all.retain(|it| it.contains("G9"));
        all
    };
    assert_eq!(warnings(&bench), [""; 0], "no clock of theirs was read");
    for (arm, fraction) in arms.into_iter().zip([0.04, 0.05, 0.03]) {
        bench.each(arm, |_, run| run.idle_cpu_fraction = Some(fraction));
    }
    let used = "work: while one arm worked, those that waited used 3.0 to 5.0 % CPU";
    let hint = "(gate G9); a longer warm-up or --interleave runs helps";
    let wanted = format!("{used} {hint}");
    assert_eq!(warnings(&bench), [wanted], "a record of before");
    for (arm, used_ns) in arms.into_iter().zip([1, 3, 96]) {
        bench.each(arm, |_, run| run.waiting_cpu_ns = Some(used_ns));
    }
    let wanted = format!("{used}, 96 % of it c@1 {hint}");
    assert_eq!(warnings(&bench), [wanted]);
}

#[test]
fn nothing_is_said_of_a_plain_experiment() {
    let bench = Bench::new(&["a@1", "b@1"]);
    assert_eq!(bench.findings(), []);
    // Nor of one in which nothing ran.
    let mut empty = Bench::new(&["a@1"]);
    empty.runs.clear();
    assert_eq!(empty.findings(), []);
}

#[test]
fn little_names_runs_in_which_samples_are_missing() {
    let mut bench = Bench::new(&["a@1"]);
    let law = |rate| Some(Little { in_flight: 4.0, throughput_times_residence: rate });
    bench.each("a@1", |_, run| run.little = law(3.95));
    assert!(bench.silent("little"));
    // One run is enough: it is an identity.
    bench.round("a@1", 3, |run| run.little = law(3.8));
    let found = bench.one("little");
    assert!(found.sentence.contains("1 of 6 runs: 4.000 operations in flight"), "{found:?}");
    assert!((found.numbers["discrepancy_percent"] - 5.0).abs() < 1e-9);
    assert_eq!((found.arm.as_deref(), found.phase.as_deref()), (Some("a@1"), Some("work")));
}

/// An open loop whose every round has this evidence.
fn overloaded(change: impl Fn(&mut Queue)) -> Bench {
    let mut bench = Bench::new(&["a@1"]);
    bench.phase().pacing = RATE;
    bench.each("a@1", |_, run| {
        let mut evidence = queue();
        change(&mut evidence);
        run.queue = Some(evidence);
    });
    bench
}

#[test]
fn queue_grows_says_so_in_the_words_of_the_method() {
    let found = overloaded(|_| ()).one("queue-grows");
    assert_eq!(
        found.sentence,
        "QUEUE GROWS: latency rises 500 µs per message because 2,000/s arrive and 1,000/s \
         complete; service time itself is flat (1.00 ms, slope 0). This is load, not per-op cost. \
         The capacity it implies is 1,000/s; the queue at the end takes 500 ms to drain. The \
         queue is in the program before the driver: operations wait 250 ms (p50) for the only \
         worker."
    );
    assert_eq!(found.numbers["slope_us_per_op"].to_bits(), 500.0_f64.to_bits());
    assert_eq!(found.numbers["capacity_per_s"].to_bits(), 1_000.0_f64.to_bits());
}

#[test]
fn queue_grows_holds_to_its_criterion() {
    for (why, change) in [
        ("growth below a millisecond", (|q| q.growth_low_us = 999.0) as fn(&mut Queue)),
        ("growth below a fifth of service", |q| {
            (q.growth_low_us, q.service_p50_us) = (1_500.0, 8_000.0);
        }),
        ("depth does not rise", |q| q.depth_tau = Some(0.5)),
        ("that may be chance", |q| q.depth_p = Some(0.01)),
        ("a burst", |q| (q.depth_tau, q.depth_p) = (None, None)),
    ] {
        let bench = overloaded(change);
        assert!(bench.silent("queue-grows") && bench.silent("latency-grows"), "{why}");
    }
    // Two rounds of six are noise, and four are not.
    for (rounds, silent) in [(2, true), (4, false)] {
        let mut bench = overloaded(|q| (q.growth_low_us, q.depth_tau) = (0.0, Some(0.0)));
        for round in 1..=rounds {
            bench.round("a@1", round, |run| run.queue = Some(queue()));
        }
        assert_eq!(bench.silent("queue-grows"), silent, "{rounds} rounds");
    }
}

#[test]
fn service_time_that_rises_with_depth_is_contention() {
    let found = overloaded(|q| {
        (q.service_slope_us_per_op, q.service_slope_low_us_per_op) = (0.4, 0.39);
    });
    let sentence = found.one("queue-grows").sentence;
    assert!(sentence.contains("and each op slows with depth (contention)"), "{sentence}");
    assert!(sentence.contains("(--sweep)") && !sentence.contains("not per-op cost"), "{sentence}");
    // A queue inside the call lengthens the call: that is no contention.
    let inside = overloaded(|q| {
        (q.service_slope_us_per_op, q.service_slope_low_us_per_op) = (495.0, 490.0);
    });
    let sentence = inside.one("queue-grows").sentence;
    assert!(
        sentence.contains("the queue is inside the call: service time rises 495"),
        "{sentence}"
    );
    assert!(!sentence.contains("contention"), "{sentence}");
}

#[test]
fn the_queue_is_placed_only_where_the_records_show_it() {
    // All of the growth lies within the driver's call.
    let inside = |pool: Option<u32>, tap: Option<Tap>| {
        let mut bench = overloaded(|q| {
            (q.service_slope_us_per_op, q.service_slope_low_us_per_op) = (495.0, 490.0);
        });
        bench.phase().workers = 100;
        bench.arm("a@1").resolved = json!({ "max_pool_size": pool });
        bench.each("a@1", |_, run| run.tap.clone_from(&tap));
        bench.one("queue-grows").sentence
    };
    let seen = |driver, server, link, in_flight_mean| {
        let mut seen = tap(driver, server);
        (seen.link_us_per_op, seen.in_flight_mean) = (link, in_flight_mean);
        Some(seen)
    };
    for (pool, tap, words) in [
        (Some(10), None, "in its pool, on the wire or in the server; --tap shows which."),
        (Some(10), seen(900.0, 100.0, 0.0, 9.8), "in the driver's pool: 100 workers share 10 co"),
        (Some(10), seen(900.0, 100.0, 0.0, 5.0), "in the driver: 90 % of service time"),
        (Some(100), seen(900.0, 100.0, 0.0, 99.0), "in the driver: 90 % of service time"),
        (None, seen(100.0, 900.0, 0.0, 99.0), "in the server or the wire to it: 90 % of serv"),
        (None, seen(100.0, 100.0, 800.0, 99.0), "on the wire: 80 % of service time"),
    ] {
        let sentence = inside(pool, tap);
        assert!(sentence.contains(words), "{sentence} lacks {words}");
    }
}

#[test]
fn growth_without_the_capacity_it_implies_has_another_cause() {
    // 1,000/s implied by the slope, 1,060/s completed: more than 5 % apart.
    let bench = overloaded(|q| q.busy_completions_per_s = Some(1_060.0));
    let found = bench.one("latency-grows");
    assert!(found.sentence.starts_with("LATENCY GROWS, but not from one saturated consumer"));
    assert!(found.sentence.contains("a capacity of 1,000/s, but 1,060/s complete"), "{found:?}");
    assert!(bench.silent("queue-grows"));
    let near = overloaded(|q| q.busy_completions_per_s = Some(1_040.0));
    assert!(near.silent("latency-grows") && !near.silent("queue-grows"));
}

#[test]
fn queueing_dominates_beyond_twice_the_service_time() {
    let bench = |response: f64| {
        let mut bench = Bench::new(&["a@1"]);
        bench.phase().pacing = RATE;
        bench.results.push(row("a@1", 1_000.0, Some(response)));
        bench
    };
    let found = bench(2_100.0).one("queueing-dominates");
    assert!(found.sentence.contains("response p99 is 2.10 ms and service p99 1.00 ms"));
    assert!(bench(2_000.0).silent("queueing-dominates"));
    // A burst asks for waiting, and a growing queue has a better sentence.
    let mut burst = bench(50_000.0);
    burst.phase().pacing = Pacing::Burst {};
    assert!(burst.silent("queueing-dominates"));
    let mut growing = overloaded(|_| ());
    growing.results.push(row("a@1", 1_000.0, Some(50_000.0)));
    assert!(growing.silent("queueing-dominates") && !growing.silent("queue-grows"));
}

#[test]
fn a_client_that_uses_all_it_can_is_the_limit() {
    let bench = |concurrency: &str, cores: f64| {
        let mut bench = Bench::new(&["a@1"]);
        let arm = bench.arm("a@1");
        (arm.concurrency, arm.event_loop) = (concurrency.to_owned(), concurrency == "loop");
        bench.each("a@1", |_, run| run.cpu_ns = (cores * run.measured_s * 1e9) as u64);
        bench
    };
    let said = |concurrency, cores| bench(concurrency, cores).one("generator-saturated").sentence;
    assert!(said("threads", 3.9).contains("use 3.90 of 4 cores"));
    assert!(said("loop", 0.97).contains("uses 0.97 cores, and its workers are tasks of one"));
    for (concurrency, cores) in [("threads", 3.7), ("tasks", 1.0), ("loop", 0.9), ("loop", 1.6)] {
        assert!(bench(concurrency, cores).silent("generator-saturated"), "{concurrency} {cores}");
    }
    // One busy round is noise.
    let mut once = bench("loop", 0.5);
    once.round("a@1", 2, |run| run.cpu_ns = (run.measured_s * 1e9) as u64);
    assert!(once.silent("generator-saturated"));
}

#[test]
fn a_pacer_that_is_late_with_free_workers_is_the_limit() {
    let bench = |own: Quantiles| {
        let open_loop = OpenLoop {
            offered_per_s: 2_000.0,
            achieved_fraction: 1.0,
            pacer_lag_p50_us: 10.0,
            pacer_lag_p99_us: 90_000.0,
            pacer_lag_max_us: 90_000.0,
            busy_fraction: 0.2,
            own_lag: Some(own),
        };
        let mut bench = overloaded(|q| (q.growth_low_us, q.depth_tau) = (0.0, Some(0.0)));
        bench.each("a@1", |_, run| run.open_loop = Some(open_loop));
        bench
    };
    let p99 = |us| Quantiles { p99_us: Some(us), p90_us: Some(1.0), ..Quantiles::default() };
    let late = bench(p99(5_000.0));
    let sentence = late.one("generator-saturated").sentence;
    assert!(sentence.contains("begin up to 5.00 ms late (p99) although a worker"), "{sentence}");
    assert!(!sentence.contains("event loop"), "{sentence}");
    let mut one_loop = late;
    one_loop.arm("a@1").event_loop = true;
    assert!(one_loop.one("generator-saturated").sentence.contains("event loop"));
    let few = Quantiles { p90_us: Some(5_000.0), ..Quantiles::default() };
    assert!(bench(few).one("generator-saturated").sentence.contains("late (p90)"));
    assert!(bench(p99(1_900.0)).silent("generator-saturated"), "timers alone are so late");
}

#[test]
fn connections_that_come_and_go_are_a_storm() {
    let bench = |opened: u64, pool: Option<u32>| {
        let mut bench = Bench::new(&["a@1"]);
        bench.phase().workers = 4;
        bench.arm("a@1").resolved = json!({ "max_pool_size": pool });
        bench.each("a@1", |_, run| {
            let seen = Tap { connections_opened: opened, ..tap(50.0, 100.0) };
            run.tap = Some(Tap { connections_closed: opened, ..seen });
        });
        bench
    };
    let found = bench(600, Some(100)).one("connection-storm");
    assert!(found.sentence.contains("600 connections are opened and 600 closed"), "{found:?}");
    assert!(found.sentence.contains("200 a second for a pool of 100"), "{found:?}");
    // More than the pool has at all, though slowly; many a second, of a pool of unknown size.
    assert!(!bench(11, Some(10)).silent("connection-storm"));
    assert!(!bench(40, None).silent("connection-storm"));
    for (opened, pool) in [(0, Some(100)), (8, Some(100)), (8, None), (20, Some(100)), (20, None)] {
        assert!(bench(opened, pool).silent("connection-storm"), "{opened} {pool:?}");
    }
}

fn write(kind: OperationKind, w: &serde_json::Value, batch: Option<u32>) -> Operation {
    let concern = Some(json!({ "w": w }));
    let count = batch.map(|count| Count::Fixed { count });
    Operation { write_concern: concern, count, ..Operation::new("write", kind, "items") }
}

#[test]
fn one_way_writes_are_timed_to_the_socket() {
    let bench = |operation: Operation, counter: &str| {
        let mut bench = Bench::new(&["a@1"]);
        bench.phase().operations = vec![operation];
        let counter = counter.to_owned();
        bench.each("a@1", |_, run| {
            run.server.insert(counter.clone(), 45_000);
        });
        bench
    };
    let found = bench(write(OperationKind::InsertOne, &json!(0), None), "opcounters.insert")
        .one("one-way-writes");
    // 20,000 handed over a second; 45,000 applied in 3 s.
    assert!(found.sentence.contains("20,000/s is the rate at which documents are handed"));
    assert!(found.sentence.contains("the server applied 15,000/s"), "{found:?}");
    let many = bench(write(OperationKind::InsertMany, &json!(0), Some(10)), "opcounters.insert");
    assert!((many.one("one-way-writes").numbers["client_per_s"] - 200_000.0).abs() < 1e-6);
    let unknown = bench(write(OperationKind::UpdateOne, &json!(0), None), "opcounters.insert");
    assert!(unknown.one("one-way-writes").sentence.contains("not known"));
    for w in [json!(1), json!("majority")] {
        let acknowledged = bench(write(OperationKind::InsertOne, &w, None), "opcounters.insert");
        assert!(acknowledged.silent("one-way-writes"));
    }
    let mut mixed = bench(write(OperationKind::InsertOne, &json!(0), None), "opcounters.insert");
    mixed.phase().operations.push(Operation::new("read", OperationKind::FindOne, "items"));
    let sentence = mixed.one("one-way-writes").sentence;
    assert!(sentence.contains("the times of write are those of handing"), "{sentence}");
}

/// Two versions of one driver, each with its own share and the server's, us an operation.
fn versions(driver: [f64; 2], server: [f64; 2]) -> Bench {
    let mut bench = Bench::new(&["a@1", "a@2"]);
    for (at, arm) in ["a@1", "a@2"].into_iter().enumerate() {
        bench.each(arm, |round, run| {
            // Rounds differ by up to 5 %, the arms of a round alike.
            let factor = 1.0 + 0.01 * f64::from(round);
            let scatter = 1.0 + 0.002 * (f64::from(round) - 3.5) * at as f64;
            run.tap = Some(tap(driver[at] * factor * scatter, server[at] * factor));
        });
    }
    bench
}

#[test]
fn the_drivers_share_grew_while_the_servers_did_not() {
    let found = versions([50.0, 60.0], [100.0, 100.5]).one("driver-share");
    assert_eq!(found.arm.as_deref(), Some("a@2"));
    assert!(found.sentence.contains("+20.00 % (+19.40 to +20.60 %)"), "{found:?}");
    assert!(found.sentence.contains("6 paired rounds"), "{found:?}");
    assert!(found.sentence.contains("sends 210 bytes and gets 180 in 1.00 round trips"));
    // Whichever of the two is the baseline.
    assert_eq!(versions([60.0, 50.0], [100.0; 2]).one("driver-share").arm.as_deref(), Some("a@1"));
    for (driver, server) in [
        ([50.0, 51.0], [100.0, 100.0]),
        ([50.0, 60.0], [100.0, 110.0]),
        ([50.0, 50.0], [100.0, 130.0]),
    ] {
        assert!(versions(driver, server).silent("driver-share"), "{driver:?} {server:?}");
    }
    // Too few rounds for an interval; another driver; an unknown share.
    let mut few = versions([50.0, 60.0], [100.0; 2]);
    few.runs.retain(|run| run.round <= 5);
    assert!(few.silent("driver-share"));
    let mut others = versions([50.0, 60.0], [100.0; 2]);
    others.arm("a@2").adapter = "other".to_owned();
    assert!(others.silent("driver-share"));
    let mut overlapping = versions([50.0, 60.0], [100.0; 2]);
    let unknown = |_, run: &mut PhaseRun| {
        run.tap.as_mut().expect("a tap").driver_us_per_op = None;
    };
    overlapping.each("a@2", unknown);
    assert!(overlapping.silent("driver-share"));
}

#[test]
fn the_taps_blind_spots_are_said() {
    let bench = |change: fn(&mut Tap), tls: bool| {
        let mut bench = Bench::new(&["a@1"]);
        bench.arm("a@1").resolved = json!({ "tls": tls });
        bench.each("a@1", |_, run| {
            let mut seen = tap(50.0, 100.0);
            seen.commands.insert("find".to_owned(), TapCommand { count: 90, ..<_>::default() });
            change(&mut seen);
            run.tap = Some(seen);
        });
        bench
    };
    assert!(bench(|_| (), false).silent("tap-unseen"));
    assert!(bench(|_| (), true).one("tap-unseen").sentence.contains("TLS"));
    let compressed = |seen: &mut Tap| {
        let counted = TapCommand { count: 10, ..<_>::default() };
        seen.commands.insert("OP_COMPRESSED".to_owned(), counted);
    };
    let sentence = bench(compressed, false).one("tap-unseen").sentence;
    assert!(sentence.contains("60 of 600 messages are compressed"), "{sentence}");
    let overlap = |seen: &mut Tap| seen.not_separable = Some("operations overlap".to_owned());
    assert!(bench(overlap, false).one("tap-unseen").sentence.contains("operations overlap"));
    // Without a tap nothing is unseen.
    let mut none = bench(|_| (), true);
    none.each("a@1", |_, run| run.tap = None);
    assert!(none.silent("tap-unseen"));
}

#[test]
fn no_cause_is_one_sentence_and_only_where_arms_differ() {
    let bench = |verdict: &str, arm: &str| {
        let mut bench = Bench::new(&["a@1", "b@1"]);
        bench.comparisons.push(comparison(arm, "throughput", verdict));
        bench.comparisons.push(comparison(arm, "p50", verdict));
        bench
    };
    for verdict in ["SLOWER", "FASTER"] {
        let found = bench(verdict, "b@1").findings();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].sentence.contains("No cause found") && found[0].rule == "no-cause-found");
        assert!(found[0].sentence.contains("--tap"), "{found:?}");
        assert_eq!(found[0].phase.as_deref(), Some("work"));
    }
    for verdict in ["SAME", "INCONCLUSIVE", "NOT COMPARABLE"] {
        assert!(bench(verdict, "b@1").silent("no-cause-found"), "{verdict}");
    }
    let mut two = bench("SLOWER", "b@1");
    let other = Phase { name: "more".to_owned(), ..two.phase().clone() };
    two.experiment.plan.phases.push(other);
    two.comparisons[1].phase = "more".to_owned();
    let found = two.findings();
    assert_eq!(found.len(), 1, "one sentence for both: {found:?}");
    assert!(found[0].sentence.contains("the differences in work, more"), "{found:?}");
    let mut explained = bench("SLOWER", "b@1");
    explained.phase().operations = vec![write(OperationKind::InsertOne, &json!(0), None)];
    assert!(explained.silent("no-cause-found") && !explained.silent("one-way-writes"));
    let mut tapped = bench("SLOWER", "b@1");
    tapped.each("b@1", |_, run| run.tap = Some(tap(50.0, 100.0)));
    let sentence = tapped.one("no-cause-found").sentence;
    assert!(!sentence.contains("--tap") && sentence.contains("profiler"), "{sentence}");
    let mut twin = Bench::new(&["a@1", "a@1 (A/A)"]);
    twin.comparisons.push(comparison("a@1 (A/A)", "throughput", "SLOWER"));
    assert!(twin.silent("no-cause-found"), "the A/A arm has no cause");
}

#[test]
fn sentences_keep_to_the_words_of_the_method() {
    let mut all = overloaded(|_| ()).findings();
    all.extend(versions([50.0, 60.0], [100.0; 2]).findings());
    assert_eq!(all.len(), 2);
    for found in all {
        let text = found.sentence.to_lowercase();
        for banned in ["no regression", "no change", "significant", "definitely", "proved"] {
            assert!(!text.contains(banned), "{text}");
        }
        assert!(RULES.iter().any(|(name, _)| found.rule == *name));
        assert!(found.numbers.values().all(|number| number.is_finite()), "{found:?}");
    }
}
