//! The rules of `study.toml` on made-up cells, and the plan.

use super::*;
use crate::finished;
use crate::frame::{self, Question, Spread, StudyAnswer};
use crate::study::planned;
use std::collections::BTreeMap;

const ARM: &str = "a@1";

/// Five rounds within 1 % of `middle`.
fn rounds(middle: f64) -> Vec<Option<f64>> {
    [0.99, 0.995, 1.0, 1.005, 1.01].map(|it| Some(it * middle)).to_vec()
}

fn with(figures: &[([&str; 3], &str, f64)]) -> Cells {
    let mut cells = Cells::default();
    for ([part, phase, metric], unit, middle) in figures {
        cells.push([part, phase, ARM, metric], unit, rounds(*middle));
    }
    cells
}

fn of_two_rounds(mut cells: Cells) -> Cells {
    for cell in &mut cells.all {
        let median = cell.value.map_or(0.0, |it| it.median);
        cell.value = Spread::over(&[median, median]);
        cell.by_round.truncate(2);
    }
    cells
}

fn all(cells: &Cells) -> Vec<Question> {
    let nothing =
        Outcome { made: Vec::new(), left_out: BTreeMap::new(), folder: String::new(), scale: None };
    finished::questions(&WriteCostStudy, &WriteCostStudy.definition(), &nothing, cells)
}

fn question(cells: &Cells, id: &str) -> Question {
    all(cells).into_iter().find(|it| it.id == id).expect(id)
}

fn answer(cells: &Cells, id: &str) -> StudyAnswer {
    question(cells, id).answer
}

/// A client that holds so much of 2.5 GB, percent.
fn held(percent: f64) -> Cells {
    let at = |metric| ["large", "one_by_one", metric];
    with(&[
        (at("held_percent"), "change_percent", percent),
        (at("written_bytes"), "bytes", 2.5e9),
        (at("peak_bytes"), "bytes", 80e6),
    ])
}

#[test]
fn a_client_that_holds_its_documents_is_told_from_one_that_does_not() {
    assert_eq!(answer(&held(90.0), "held"), StudyAnswer::Yes);
    let mut free = held(1.0);
    let at = ["large", "one_by_one", frame::SERVER, "cache_bytes"];
    free.push_plain(at, "bytes", Some(300.0 * 1_048_576.0));
    let free = question(&free, "held");
    assert_eq!(free.answer, StudyAnswer::No);
    assert!(free.rows[0].words.contains("cache 300 MiB"), "{free:?}");
    for open in [held(30.0), of_two_rounds(held(90.0)), of_two_rounds(held(1.0))] {
        assert_eq!(answer(&open, "held"), StudyAnswer::NotShown);
    }
}

#[test]
fn a_client_that_shrinks_holds_nothing() {
    let shrunk = question(&held(-5.0), "held");
    assert_eq!(shrunk.answer, StudyAnswer::No);
    let sentence =
        "Memory has grown by -5.00 % (-5.05 % to -4.95 %) of the bytes written with a@1.";
    assert_eq!(shrunk.sentence, sentence);
}

#[test]
fn few_bytes_do_not_tell_who_holds_them() {
    let mut little = held(90.0);
    little.all[1].value = Some(Spread::plain(12.5e6));
    let open = question(&little, "held");
    assert_eq!(open.answer, StudyAnswer::NotShown);
    assert!(open.remarks[0].contains("own heap grows by as much"), "{open:?}");
}

#[test]
fn a_step_at_the_suspected_size_takes_an_interval() {
    let of = |percent| {
        let at = |way| ["by-size", way, "step_percent"];
        with(&["write", "read"].map(|way| (at(way), "change_percent", percent)))
    };
    assert_eq!(answer(&of(30.0), "threshold"), StudyAnswer::Yes);
    assert_eq!(answer(&of(1.0), "threshold"), StudyAnswer::No);
    // A size that is cheaper has no threshold that costs.
    assert_eq!(answer(&of(-30.0), "threshold"), StudyAnswer::NotShown);
    assert_eq!(answer(&of_two_rounds(of(30.0)), "threshold"), StudyAnswer::NotShown);
    assert_eq!(answer(&Cells::default(), "threshold"), StudyAnswer::NotShown);
}

/// Cells of large or small documents one by one, and in another way.
fn two_ways(part: &str, other: &str, one_us: f64, other_us: f64) -> Cells {
    let at = |phase| [part, phase, "time_us"];
    with(&[(at("one_by_one"), "us", one_us), (at(other), "us", other_us)])
}

#[test]
fn insert_many_is_faster_where_calls_cost_more_than_bytes() {
    let of = |all_us| two_ways("large", "all_at_once", 350.0, all_us);
    assert_eq!(answer(&of(340.0), "insert-many-large"), StudyAnswer::No);
    let faster = question(&of(100.0), "insert-many-large");
    assert_eq!(faster.answer, StudyAnswer::Yes);
    assert!(faster.sentence.starts_with("A document all at once takes 0.286 ("), "{faster:?}");
    assert!(faster.rows[0].words.contains("one by one time 350 µs (34"), "{faster:?}");
    let few = of_two_rounds(of(100.0));
    assert_eq!(answer(&few, "insert-many-large"), StudyAnswer::NotShown);
}

#[test]
fn the_claims_are_the_originals_and_their_figures_stand_beside_the_answers() {
    let mut cells = two_ways("small", "all_at_once", 200.0, 202.0);
    cells.add_originals(&WriteCostStudy.definition().originals);
    let same = question(&cells, "insert-many-small");
    assert_eq!((same.claim.as_deref(), same.answer), (Some("a"), StudyAnswer::Yes));
    let original = same.rows.iter().find(|row| row.original).expect("the original's ratio");
    assert!((original.value.expect("a ratio").median - 0.98729).abs() < 1e-4, "{original:?}");
    let letters: Vec<String> = all(&cells).into_iter().filter_map(|it| it.claim).collect();
    assert_eq!(letters, ["a", "b", "c", "d", "e", "f"]);
}

/// The line of writing.
fn line(fixed_us: f64, misfit_percent: f64) -> Cells {
    let figures = [("fixed_us", "us", fixed_us), ("kilobyte_us", "us", 2.0)]
        .map(|(metric, unit, middle)| (["by-size", "write", metric], unit, middle));
    let mut cells = with(&figures);
    let pair = cells.all[0].value.zip(cells.all[1].value).expect("both");
    let at = |metric| ["by-size", "write", ARM, metric];
    let percent = cost_lines::fixed_percent(pair, 51.0);
    cells.push_spread(at("fixed_percent"), "percent", percent);
    cells.push_plain(at("misfit_bytes"), "count", Some(200_000.0));
    cells.push_plain(at("misfit_percent"), "change_percent", Some(misfit_percent));
    cells
}

#[test]
fn a_fixed_cost_is_claimed_of_a_line_alone() {
    let shown = question(&line(150.0, -4.0), "proportional");
    assert_eq!(shown.answer, StudyAnswer::Yes);
    assert!(shown.rows[0].words.ends_with("misfit bytes 200,000; misfit -4.00 %"), "{shown:?}");
    assert_eq!(answer(&line(0.01, -4.0), "proportional"), StudyAnswer::No);
    assert_eq!(answer(&line(150.0, 60.0), "proportional"), StudyAnswer::NotShown);
    let few = Spread::over(&[150.0, 150.0]).expect("a spread");
    let mut cells = line(150.0, -4.0);
    cells.all[2].value = cost_lines::fixed_percent((few, few), 51.0);
    assert_eq!(answer(&cells, "proportional"), StudyAnswer::NotShown);
}

#[test]
fn storage_follows_the_bytes_or_does_not() {
    let of = |zero| {
        let mut cells = Cells::default();
        for (phase, ratio) in [("zero", zero), ("random", 1.0)] {
            let at = ["stored", phase, frame::SERVER, "data_by_storage"];
            cells.push(at, "times", vec![Some(ratio)]);
        }
        cells
    };
    assert_eq!(answer(&of(20.0), "stored"), StudyAnswer::Yes);
    assert_eq!(answer(&of(1.1), "stored"), StudyAnswer::No);
    assert_eq!(answer(&Cells::default(), "stored"), StudyAnswer::NotShown);
}

#[test]
fn mapped_classes_are_compared_where_a_driver_has_both() {
    let of = |mapped_us| two_ways("small", "mapped_one_by_one", 350.0, mapped_us);
    assert_eq!(answer(&of(500.0), "mapped-small"), StudyAnswer::Yes);
    assert_eq!(answer(&of(300.0), "mapped-small"), StudyAnswer::No);
    assert_eq!(answer(&of(351.0), "mapped-small"), StudyAnswer::No, "by less than a tenth");
    assert!(all(&Cells::default()).iter().all(|it| it.id != "mapped-small"));
}

#[test]
fn the_largest_insert_that_fits_is_said_with_the_fate_of_the_next() {
    let of = |fails: Option<f64>| {
        let mut cells = Cells::default();
        let figures = [
            ("limit_bytes", "bytes", Some(1_073_741_824.0)),
            ("fits_documents", "count", Some(670.0)),
            ("fits_bytes", "bytes", Some(67e6)),
            ("peak_bytes", "bytes", Some(200e6)),
            ("fits_percent", "percent", Some(if fails.is_some() { 50.0 } else { 100.0 })),
            ("fails_documents", "count", fails),
        ];
        for (metric, unit, value) in figures {
            let cell = cells.push_plain(["memory", "insert_many", ARM, metric], unit, value);
            cell.note = (metric == "fails_documents").then(|| "died of memory".to_owned());
        }
        cells
    };
    let died = question(&of(Some(1_340.0)), "memory");
    assert_eq!(died.answer, StudyAnswer::Yes);
    assert!(died.rows[0].words.ends_with("fails documents 1,340 (died of memory)"), "{died:?}");
    assert_eq!(answer(&of(None), "memory"), StudyAnswer::No);
}

#[test]
fn a_line_is_made_of_the_times_of_the_sizes() {
    let mut cells = Cells::default();
    for size in [1_000.0, 40_000.0, 80_000.0, 84_000.0, 85_000.0, 90_000.0, 200_000.0] {
        let (phase, bytes) = (format!("write_{size}"), size + 59.0);
        cells.push(["by-size", &phase, ARM, "time_us"], "us", rounds(100.0 + bytes / 1e3));
        cells.push_plain(["by-size", &phase, ARM, "document_bytes"], "bytes", Some(bytes));
    }
    cost_lines::push(&mut cells);
    let of = |metric| cells.median(["by-size", "write", ARM, metric]).expect(metric);
    assert!((of("fixed_us") - 100.0).abs() < 1e-6 && (of("kilobyte_us") - 1.0).abs() < 1e-9);
    assert!(of("step_percent").abs() < 1e-6 && of("misfit_percent").abs() < 1e-6);
}

fn parts(asked: &Asked) -> Vec<StudyPart> {
    WriteCostStudy.plan(asked).expect("a plan")
}

fn with_parameters<const N: usize>(parameters: [(&str, &str); N]) -> Request {
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Request { parameters: parameters.map(own).into(), ..Request::default() }
}

#[test]
fn scale_one_is_the_original_and_settings_go_where_they_belong() {
    let request = with_parameters([("fill", "text"), ("documents", "77")]);
    let asked = Asked { scale: Some(1.0), request, ..Asked::default() };
    let has = |parts: &[StudyPart], part: &str, word: &str| {
        let part = parts.iter().find(|it| it.name == part).expect(part);
        part.request.words().expect("words").iter().any(|it| it == word)
    };
    let plain = parts(&Asked { scale: Some(1.0), ..Asked::default() });
    assert!(has(&plain, "small", "documents=1000000") && has(&plain, "large", "documents=25000"));
    assert!(has(&plain, "memory", "1GiB") && has(&plain, "memory", "step_5=9657"));
    let set = parts(&asked);
    assert!(has(&set, "small", "documents=77") && has(&set, "memory", "fill=text"));
    assert!(!has(&set, "stored", "fill=text"), "it has no such parameter");
    let wrong = Asked { request: with_parameters([("x", "1")]), ..Asked::default() };
    assert!(planned(&WriteCostStudy, &wrong).is_err());
    let flags = [("client-memory", "much".to_owned())].into();
    assert!(WriteCostStudy.plan(&Asked { flags, ..Asked::default() }).is_err());
}
