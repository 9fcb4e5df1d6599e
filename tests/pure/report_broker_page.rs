//! The study's page: as text, and in a real browser on a phone's width and a desk's.

use std::path::Path;

use crate::broker_support::made_up;
use report::study::{
    Column, EvidenceView, Figure, PhaseView, Table, TableRow, View, arms, facts, render,
};
use studies::broker::{BrokerStudy, lost, taking_part};
use studies::{Made, Study as _};

/// A page of everything, the analysis made up.
pub fn page(path: &Path) -> String {
    let (folder, experiment, runs) = made_up(path);
    let made = Made { part: "", folder: &folder, experiment: &experiment, runs: &runs }.into();
    let drawings = |phase: &str| BrokerStudy.own_drawings(&made, phase).expect("pictures");
    let phases = experiment.plan.phases.iter().map(|phase| {
        let row = |arm: &str| TableRow {
            arm: arm.to_owned(),
            cells: vec!["linear in 3 of 3".to_owned(), "20,000".to_owned()],
        };
        let arms = taking_part(&experiment, &runs, &phase.name);
        PhaseView {
            name: phase.name.clone(),
            about: "Each worker waits for an insert.".to_owned(),
            table: Table {
                caption: format!("Results of {}", phase.name),
                columns: vec![Column::words("class"), Column::figures("issued", "messages/s")],
                rows: arms.iter().map(|arm| row(&arm.id)).collect(),
            },
            figures: drawings(&phase.name).iter().map(Figure::of).collect(),
        }
    });
    let evidence = |answer: &str| EvidenceView {
        heading: "Everybody awaits".to_owned(),
        sentences: vec![
            format!("{answer}. The growth vanishes: </script><script>alert(1)</script>"),
            "fast: 12.3 ms.".to_owned(),
        ],
        answer: answer.to_owned(),
        number: "12.3 ms".to_owned(),
    };
    let view = View {
        title: "Broker <b>study</b>".to_owned(),
        question: "Why does latency grow?".to_owned(),
        command: "mongodyno study broker --scale 0.05 --seed 1".to_owned(),
        again: "mongodyno report DIR --format html".to_owned(),
        facts: facts(&experiment, &runs),
        answers: Vec::new(),
        evidence: vec![evidence("Yes"), evidence("Not shown")],
        warnings: vec!["A warning.".to_owned()],
        phases: phases.collect(),
        arms: arms(&experiment, &runs),
        unavailable: vec![["old".to_owned(), "no network".to_owned(), "connect".to_owned()]],
        lost: lost(&experiment, &runs),
        notes: vec!["A note.".to_owned()],
    };
    let mut page = Vec::new();
    render(&view, &mut page).expect("writing to memory");
    String::from_utf8(page).expect("text")
}

#[test]
fn the_commands_on_the_page_hold_in_a_shell() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, mut experiment, runs) = made_up(&folder.path().join("it"));
    experiment.command =
        ["mongodyno", "study", "broker", "--out", "my results"].map(str::to_owned).to_vec();
    let view = View::of(&experiment, &runs, "my results");
    assert_eq!(view.command, "mongodyno study broker --out 'my results'");
    assert_eq!(view.again, "mongodyno report 'my results'");
}

#[test]
fn the_page_is_one_file_with_all_that_matters() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(&folder.path().join("it"));
    for part in [
        "The answer",
        ">Yes</span>",
        ">Not shown</span>",
        "Who took part",
        "Lost messages",
        "mongodyno study broker --scale 0.05 --seed 1",
        "<th scope=\"col\" class=\"n\">issued <small>messages&#x2f;s</small></th>",
        "<th scope=\"row\"",
        "aria-label=\"burst: where the time of a message passed\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Two phases, two scatters of the burst, a picture of the parts in each.
    assert_eq!(page.matches("<svg xmlns").count(), 5);
    assert_eq!(page.matches("</script>").count(), 1, "the script alone");
    assert!(!page.contains("<b>study") && !page.contains("old@1<b>"), "a string became markup");
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// Reports to the window around it the page's width and its parts.
const PROBE: &str = "<script>addEventListener('load', () => parent.postMessage({
  ready: document.documentElement.dataset.ready, width: innerWidth,
  over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  panels: document.querySelectorAll('.frame').length,
  pictures: [...document.querySelectorAll('.picture')].filter(it =>
    it.getBoundingClientRect().height > 100).length}, '*'));</script></body>";
const AROUND: &str = "<!doctype html><script>addEventListener('message', (event) => {
  const it = event.data, text = document.createElement('p');
  text.textContent = `width ${it.width} over ${it.over} panels ${it.panels} ` +
    `pictures ${it.pictures} ready ${it.ready};`;
  document.body.append(text); });</script>
<body><iframe src='page.html' style='border:0;width:390px;height:800px'></iframe>
<iframe src='page.html' style='border:0;width:1280px;height:800px'></iframe>";

#[test]
fn the_page_opens_in_chromium_on_narrow_and_wide_screens() {
    let Some(browser) = crate::browser::find() else {
        return crate::support::skip("the_page_opens_in_chromium", "no chromium on PATH");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(&folder.path().join("it")).replace("</body>", PROBE);
    std::fs::write(folder.path().join("page.html"), page).expect("a page");
    let around = folder.path().join("around.html");
    std::fs::write(&around, AROUND).expect("a page");
    let (dom, log) = crate::browser::opened(&browser, &around, folder.path());
    assert!(crate::browser::console(&log).is_empty(), "{:#?}", crate::browser::console(&log));
    for width in [390, 1280] {
        // Three arms and four, three rounds; the burst twice.
        let wanted = format!("width {width} over 0 panels 33 pictures 5 ready true;");
        let said = dom.split("<p>").skip(1).collect::<Vec<_>>();
        assert!(dom.contains(&wanted), "{wanted}: {said:?}");
    }
}
