//! Rules, tables and originals on made-up cells.

use super::sheet::*;
use super::*;

fn sheet<T: serde::de::DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).expect("a part of study.toml")
}

/// Six rounds within 1 % of `middle`.
fn rounds(middle: f64) -> Vec<Option<f64>> {
    [0.99, 0.994, 0.998, 1.002, 1.006, 1.01].map(|it| Some(it * middle)).to_vec()
}

fn rates(figures: &[(&str, &str, f64)]) -> Cells {
    let mut cells = Cells::default();
    for (phase, arm, middle) in figures {
        cells.push(["p", phase, arm, "per_s"], "per_s", rounds(*middle));
    }
    cells
}

fn ask(text: &str, cells: &Cells) -> Question {
    let sheet: QuestionSheet =
        sheet(&format!("id = 'q'\ntext = 'Is it?'\nsentence = 'It is {{}}'\n{text}"));
    let mut remarks = Vec::new();
    let rows = question::rows(&sheet, cells, &mut remarks);
    Question::of(&sheet, rows, remarks).expect("an answer")
}

#[test]
fn all_arms_have_to_agree() {
    let faster = "rule = 'ratio'\nof = {phase = 'new'}\nto = {phase = 'old'}\nyes = {above = 1.1}";
    let of = |b: f64| {
        rates(&[("old", "a", 100.0), ("new", "a", 200.0), ("old", "b", 100.0), ("new", "b", b)])
    };
    let yes = ask(faster, &of(300.0));
    assert_eq!((yes.answer, yes.rows.len()), (StudyAnswer::Yes, 2));
    assert!(yes.sentence.starts_with("It is 2.00 (1.9"), "{yes:?}");
    assert!(yes.sentence.ends_with(") with a; yes: a, b."), "{yes:?}");
    let differ = ask(faster, &of(50.0));
    assert_eq!(differ.answer, StudyAnswer::NotShown);
    assert!(differ.sentence.ends_with("; yes: a; no: b."), "{differ:?}");
    assert_eq!(differ.view().sentences[0], format!("Not shown. {}", differ.sentence));
}

#[test]
fn an_answer_without_figures_says_why() {
    let mut cells = rates(&[("old", "a", 100.0)]);
    cells.push(["p", "new", "a", "per_s"], "per_s", vec![None]).note =
        Some("a: it died".to_owned());
    let ratio = "rule = 'ratio'\nof = {phase = 'new'}\nto = {phase = 'old'}\nyes = {above = 1.1}";
    for rule in [ratio, "of = {phase = 'new'}\nyes = {above = 1.1}"] {
        assert_eq!(ask(rule, &cells).sentence, "Nothing was measured: a: it died.");
    }
}

#[test]
fn rounds_that_both_have_are_paired() {
    let mut cells = Cells::default();
    // The machine changes from round to round; the ratio does not.
    let machine = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    for (phase, rate) in [("old", 100.0), ("new", 130.0)] {
        let each = machine.map(|it| Some(it * rate)).to_vec();
        cells.push(["p", phase, "a", "per_s"], "per_s", each);
    }
    let ratio = "rule = 'ratio'\nof = {phase = 'new'}\nto = {phase = 'old'}\nyes = {above = 1.1}";
    assert_eq!(ask(ratio, &cells).answer, StudyAnswer::NotShown);
    assert_eq!(ask(&format!("{ratio}\npaired = true"), &cells).answer, StudyAnswer::Yes);
}

#[test]
fn several_cells_of_one_arm_settle_as_asked() {
    let cells = rates(&[("one", "a", 5.0), ("two", "a", 50.0)]);
    let of =
        |settle| ask(&format!("of = {{}}\nyes = {{above = 10.0}}\nsettle = '{settle}'"), &cells);
    assert_eq!(of("agree").answer, StudyAnswer::NotShown);
    assert_eq!(of("any").answer, StudyAnswer::Yes);
    assert_eq!(of("every").answer, StudyAnswer::No);
}

#[test]
fn the_last_version_of_a_driver_is_held_against_its_first() {
    let cells = rates(&[
        ("x", "go@1", 100.0),
        ("x", "go@2", 90.0),
        ("x", "go@3", 50.0),
        ("x", "java@1", 7.0),
    ]);
    let last = "rule = 'ratio'\nof = {arm = 'last'}\nto = {arm = 'first'}\nyes = {below = 0.9}";
    let found = ask(last, &cells);
    assert_eq!((found.answer, found.rows.len()), (StudyAnswer::Yes, 1));
    assert_eq!(found.rows[0].arm, "go@3");
}

#[test]
fn growth_is_that_of_the_cost_over_the_parts() {
    let mut cells = Cells::default();
    for size in [1e3, 2e3, 4e3, 8e3] {
        let part = format!("n-{size}");
        cells.push([&part, "scan", "a", "per_s"], "per_s", rounds(1e6 / size));
        cells.push_plain([&part, "scan", "a", "documents"], "count", Some(size));
    }
    let grows = "rule = 'grows'\nof = {metric = 'per_s'}\nagainst = 'documents'\ninverse = true\n\
                 yes = {above = 0.9, below = 1.1}";
    let linear = ask(grows, &cells);
    assert_eq!(linear.answer, StudyAnswer::Yes);
    assert!(linear.rows[0].words.contains("over 4 sizes; law: linear"), "{linear:?}");
    assert_eq!(ask(grows, &Cells::default()).sentence, "Nothing was measured.");
}

#[test]
fn figures_of_the_original_are_rows_or_stand_beside_an_arm() {
    let mut cells = rates(&[("insert", "go@1.2.3", 10.0), ("insert", "go@2", 20.0)]);
    let by_phase =
        "part = 'p'\nmetric = 'per_s'\nby = 'phase'\nvalues = {insert = 7.0}\ntimes = 2.0";
    let by_arm = "part = 'p'\nphase = 'insert'\nmetric = 'per_s'\nby = 'arm'\n\
                  values = {'go@1.2' = 3.0, 'go@9' = 4.0}";
    cells.add_originals(&[sheet(by_phase), sheet(by_arm)]);
    let table: TableSheet = sheet(
        "name = 'rates'\ncaption = 'c'\nselect = {part = 'p', metric = 'per_s'}\ncolumns = [\n\
         {heading = 'insert', phase = 'insert', median = true},\n\
         {heading = '2014', phase = 'insert', original = true}]",
    );
    let view = &views::tables(&[table], &cells)[0];
    let row = |arm: &str| {
        let found = view.table.rows.iter().find(|it| it.arm == arm).expect(arm);
        found.cells.iter().map(String::as_str).collect::<Vec<_>>()
    };
    assert_eq!(row("go@1.2.3"), ["10.0", "3.00"]);
    assert_eq!(row("go@2"), ["20.0", "n/a"]);
    assert_eq!(row("the original"), ["14.0", "14.0"]);
    assert_eq!(row("go@9"), ["4.00", "4.00"]);
    let unit: Vec<&str> = view.table.columns.iter().map(|it| it.unit.as_str()).collect();
    assert_eq!(unit, ["a second", "a second"]);
}

#[test]
fn rows_differ_in_what_a_table_says() {
    let cells = rates(&[("one", "a", 10.0), ("two", "a", 20.0), ("one", "b", 30.0)]);
    let table: TableSheet = sheet(
        "name = 'part {}'\ncaption = 'c'\nabout = '{per_s} at first.'\neach = 'part'\n\
         rows = ['phase', 'arm']\n\
         columns = [{heading = 'rate', metric = 'per_s', times = 0.5, unit = 'halves'}]",
    );
    let view = &views::tables(&[table], &cells)[0];
    assert_eq!((view.name.as_str(), view.about.as_str()), ("part p", "10.0 at first."));
    let rows: Vec<_> = view.table.rows.iter().map(|it| (it.arm.as_str(), &it.cells)).collect();
    assert_eq!(rows[2], ("one", &vec!["b".to_owned(), "15.0 (14.8 to 15.2)".to_owned()]));
    assert_eq!(view.table.columns[1].unit, "halves");
}

#[test]
fn every_definition_names_metrics_that_there_are() {
    for study in crate::STUDIES {
        for metric in study.definition().cells.iter().flat_map(|it| &it.metrics) {
            let known = phase_metrics::of_phase(metric).is_some()
                || phase_metrics::of_server(metric).is_some();
            assert!(known, "{}: {metric}", study.name());
        }
    }
}
