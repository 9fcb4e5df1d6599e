//! The rules on made-up figures, and the plan.

use super::answers;
use super::types::{
    Around, BySize, Documents, Line, Memory, Row, Stored, Value as Figure, Way, WriteCostAnalysis,
};
use super::*;
use crate::evidence::{Evidence, Shown};
use crate::study::planned;

/// Five rounds within 1 % of `middle`.
fn figure(middle: f64) -> Option<Figure> {
    Figure::of([0.99, 0.995, 1.0, 1.005, 1.01].into_iter().map(|it| it * middle))
}

fn way(phase: &str, time_us: f64, held_share: f64) -> Way {
    Way {
        phase: phase.to_owned(),
        time_us: figure(time_us),
        held_share: figure(held_share),
        armed_bytes: Some(50 << 20),
        held_bytes: Some(51 << 20),
        ..Way::default()
    }
}

fn documents(name: &str, bytes: f64, ways: Vec<Way>) -> Documents {
    let around = |way: &Way| Around {
        phase: way.phase.clone(),
        cache_bytes: Some(300 << 20),
        disk_busy_percent: None,
    };
    Documents {
        name: name.to_owned(),
        bytes,
        count: 25_000,
        phases: ways.iter().map(around).collect(),
        rows: vec![Row { arm: "a@1".to_owned(), ways }],
    }
}

fn line(fixed_us: f64, kilobyte_us: f64, step_percent: f64) -> Line {
    Line {
        fixed_us: figure(fixed_us),
        kilobyte_us: figure(kilobyte_us),
        misfit_bytes: Some(200_000),
        misfit_percent: Some(-4.0),
        step_percent: figure(step_percent),
        ..Line::default()
    }
}

fn by_size(step_percent: f64) -> BySize {
    let read = line(100.0, 1.0, step_percent);
    BySize { arm: "a@1".to_owned(), write: line(150.0, 2.0, step_percent), read }
}

fn stored(name: &str, ratio: f64) -> Stored {
    Stored {
        name: name.to_owned(),
        documents: 10,
        data_bytes: 1_000_000,
        average_bytes: 100_000,
        storage_bytes: (1e6 / ratio) as u64,
        index_bytes: 4_096,
        ratio: Some(ratio),
        compressible: Some(ratio),
    }
}

fn answer(analysis: &WriteCostAnalysis, id: &str) -> Evidence {
    answers::all(analysis).into_iter().find(|it| it.id == id).expect(id)
}

/// Figures that hold, and the same of two rounds.
fn held(share: f64) -> WriteCostAnalysis {
    let large = documents("large", 100_059.0, vec![way("one_by_one", 350.0, share)]);
    WriteCostAnalysis { documents: vec![large], ..WriteCostAnalysis::default() }
}

fn of_two_rounds(mut analysis: WriteCostAnalysis) -> WriteCostAnalysis {
    let shorten = |value: &mut Option<Figure>| {
        *value = value.and_then(|it| Figure::of([it.median, it.median].into_iter()));
    };
    for way in analysis.documents.iter_mut().flat_map(|it| &mut it.rows[0].ways) {
        shorten(&mut way.time_us);
        shorten(&mut way.held_share);
    }
    for line in analysis.by_size.iter_mut().flat_map(|it| [&mut it.write, &mut it.read]) {
        shorten(&mut line.fixed_us);
        shorten(&mut line.kilobyte_us);
        shorten(&mut line.step_percent);
    }
    analysis
}

#[test]
fn a_client_that_holds_its_documents_is_told_from_one_that_does_not() {
    assert_eq!(answer(&held(0.9), "held").shown, Shown::Shown);
    let free = answer(&held(0.01), "held");
    assert_eq!(free.shown, Shown::Refuted);
    assert!(free.sentences[2].contains("server's cache held up to 300 MiB"), "{free:?}");
    for open in [held(0.3), of_two_rounds(held(0.9)), of_two_rounds(held(0.01))] {
        assert_eq!(answer(&open, "held").shown, Shown::NotShown);
    }
}

#[test]
fn a_client_that_shrinks_holds_nothing() {
    let shrunk = answer(&held(-0.05), "held");
    assert_eq!(shrunk.shown, Shown::Refuted);
    assert!(shrunk.sentences[1].contains("growth is -5.00 % (-5.05 % to -4.95 %"), "{shrunk:?}");
}

#[test]
fn few_bytes_do_not_tell_who_holds_them() {
    let mut little = held(0.9);
    little.documents[0].count = 125;
    let open = answer(&little, "held");
    assert_eq!(open.shown, Shown::NotShown);
    assert!(open.sentences[0].ends_with("Open: a@1."), "{open:?}");
    assert!(open.sentences[1].contains("own heap grows by as much"), "{open:?}");
}

#[test]
fn a_step_at_the_suspected_size_takes_an_interval() {
    let of = |percent| WriteCostAnalysis {
        by_size: vec![by_size(percent)],
        ..WriteCostAnalysis::default()
    };
    assert_eq!(answer(&of(30.0), "threshold").shown, Shown::Shown);
    assert_eq!(answer(&of(1.0), "threshold").shown, Shown::Refuted);
    // A size that is cheaper has no threshold that costs.
    assert_eq!(answer(&of(-30.0), "threshold").shown, Shown::NotShown);
    assert_eq!(answer(&of_two_rounds(of(30.0)), "threshold").shown, Shown::NotShown);
    assert_eq!(answer(&WriteCostAnalysis::default(), "threshold").shown, Shown::NotShown);
}

#[test]
fn insert_many_is_faster_where_calls_cost_more_than_bytes() {
    let of = |all_us: f64| {
        let ways = vec![way("one_by_one", 350.0, 0.0), way("all_at_once", all_us, 0.0)];
        let documents = vec![documents("large", 100_059.0, ways)];
        let by_size = vec![by_size(0.0)];
        WriteCostAnalysis { documents, by_size, ..WriteCostAnalysis::default() }
    };
    assert_eq!(answer(&of(340.0), "insert-many-large").shown, Shown::Refuted);
    let faster = answer(&of(100.0), "insert-many-large");
    assert_eq!(faster.shown, Shown::Shown);
    assert!(faster.sentences[0].ends_with("the time of a document. Yes: a@1."), "{faster:?}");
    assert!(faster.sentences[1].contains("is 42.9 % of it"), "{faster:?}");
    assert_eq!(answer(&of(315.0), "insert-many-large").shown, Shown::NotShown);
    let few = of_two_rounds(of(100.0));
    assert_eq!(answer(&few, "insert-many-large").shown, Shown::NotShown);
}

#[test]
fn a_fixed_cost_is_claimed_of_a_line_alone() {
    let of = |line: Line| WriteCostAnalysis {
        by_size: vec![BySize { write: line, ..by_size(0.0) }],
        ..WriteCostAnalysis::default()
    };
    let shown = answer(&of(line(150.0, 2.0, 0.0)), "proportional");
    assert_eq!(shown.shown, Shown::Shown);
    assert!(shown.sentences[1].contains("both are equal at 73.2 KiB"), "{shown:?}");
    let farthest = "200,000 bytes lie farthest off the line, by -4.00 %.";
    assert!(shown.sentences[1].ends_with(farthest), "{shown:?}");
    assert_eq!(answer(&of(line(0.01, 2.0, 0.0)), "proportional").shown, Shown::Refuted);
    let bent = Line { misfit_percent: Some(60.0), ..line(150.0, 2.0, 0.0) };
    assert_eq!(answer(&of(bent), "proportional").shown, Shown::NotShown);
    let few = of_two_rounds(of(line(150.0, 2.0, 0.0)));
    assert_eq!(answer(&few, "proportional").shown, Shown::NotShown);
}

#[test]
fn storage_follows_the_bytes_or_does_not() {
    let of = |zero: f64| WriteCostAnalysis {
        stored: vec![stored("zero", zero), stored("random", 1.0)],
        ..WriteCostAnalysis::default()
    };
    assert_eq!(answer(&of(20.0), "stored").shown, Shown::Shown);
    assert_eq!(answer(&of(1.1), "stored").shown, Shown::Refuted);
    assert_eq!(answer(&WriteCostAnalysis::default(), "stored").shown, Shown::NotShown);
}

#[test]
fn mapped_classes_are_compared_where_a_driver_has_both() {
    let of = |mapped: Option<f64>| {
        let mut ways = vec![way("one_by_one", 350.0, 0.0)];
        ways.extend(mapped.map(|it| way("mapped_one_by_one", it, 0.0)));
        let documents = vec![documents("small", 51.0, ways)];
        WriteCostAnalysis { documents, ..WriteCostAnalysis::default() }
    };
    assert_eq!(answer(&of(Some(500.0)), "mapped-small").shown, Shown::Shown);
    assert_eq!(answer(&of(Some(300.0)), "mapped-small").shown, Shown::Refuted);
    assert_eq!(answer(&of(Some(351.0)), "mapped-small").shown, Shown::NotShown);
    assert!(answers::all(&of(None)).iter().all(|it| it.id != "mapped-small"));
}

#[test]
fn the_largest_insert_that_fits_is_said_with_the_fate_of_the_next() {
    let of = |fails_documents| {
        let memory = Memory {
            arm: "a@1".to_owned(),
            limit_bytes: 1 << 30,
            rounds: 3,
            fits_documents: Some(670),
            fits_bytes: Some(67_000_000),
            peak_bytes: Some(200 << 20),
            fails_documents,
            fates: vec!["died of memory".to_owned()],
        };
        WriteCostAnalysis { memory: vec![memory], ..WriteCostAnalysis::default() }
    };
    let died = answer(&of(Some(1_340)), "memory");
    assert_eq!(died.shown, Shown::Shown);
    assert!(died.sentences[1].contains("1,340 do not. It died of memory."), "{died:?}");
    assert_eq!(answer(&of(None), "memory").shown, Shown::Refuted);
}

#[test]
fn a_picture_has_a_line_for_each_driver() {
    let point = |data_bytes: u64| super::types::Point {
        data_bytes,
        bytes: data_bytes as f64 + 59.0,
        time_us: figure(100.0 + data_bytes as f64 / 1e3),
        collections: None,
    };
    let line = Line { points: vec![point(1_000), point(200_000)], ..Line::default() };
    let drawing = picture::by_size("writing", &[("a@1", &line), ("b@1", &line)]).expect("points");
    let svg = drawing.svg();
    assert!(svg.contains("a@1") && svg.contains("b@1"), "{svg}");
    assert_eq!(svg.matches("stroke-dasharray").count(), 4, "{svg}");
    assert_eq!(picture::by_size("writing", &[("a@1", &Line::default())]), None);
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
