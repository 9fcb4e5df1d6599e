//! Pages by the keyboard alone, on paper, and on their first screen: in a browser that is driven as
//! a person drives it.

use crate::browser;
use crate::support::skip;
use serde_json::{Value, json};

/// What the client finds of a page at a task; None: skipped.
fn found(test: &str, task: &str, page: &str) -> Option<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    std::fs::write(&file, page).expect("a page");
    let client = match browser::at(task, &[&file.display().to_string()]) {
        Ok(client) => client,
        Err(reason) => {
            skip(test, &reason);
            return None;
        }
    };
    let output = client.wait_with_output().expect("it ends");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["errors"], json!([]), "{found}");
    Some(found)
}

#[test]
fn the_keyboard_alone_reaches_and_uses_everything() {
    let page = crate::report_page::page("everything.json");
    let test = "the_keyboard_alone_reaches_and_uses_everything";
    let Some(found) = found(test, "keys", &page) else { return };
    for list in ["missing", "unseen"] {
        assert_eq!(found[list], json!([]), "{list}: {found}");
    }
    assert_eq!((&found["inOrder"], &found["open"]), (&true.into(), &true.into()), "{found}");
    assert_eq!(
        (&found["key"], &found["sorted"]),
        (&"false".into(), &"ascending".into()),
        "{found}"
    );
    assert_eq!(found["theme"], "dark", "{found}");
    assert!(found["read"].as_str().is_some_and(|it| it.contains(": ")), "{found}");
}

#[test]
fn paper_is_white_and_has_all_that_is_folded() {
    let page = crate::report_page::page("everything.json");
    let test = "paper_is_white_and_has_all_that_is_folded";
    let Some(found) = found(test, "print", &page) else { return };
    assert_eq!((&found["controls"], &found["hidden"]), (&json!([]), &0.into()), "{found}");
    assert!(found["folded"].as_u64().is_some_and(|it| it > 3), "{found}");
    assert!(found["charts"].as_u64().is_some_and(|it| it > 4), "{found}");
    assert_eq!(found["paper"], "rgb(255, 255, 255)", "{found}");
}

#[test]
fn the_first_screen_of_a_study_holds_its_answer_and_its_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = crate::report_broker_page::page(&folder.path().join("it"));
    let test = "the_first_screen_of_a_study_holds_its_answer_and_its_picture";
    let Some(found) = found(test, "study", &page) else { return };
    for (said, height) in found["found"].as_array().expect("two").iter().zip([900.0, 844.0]) {
        assert!(said["verdict"].as_f64().is_some_and(|it| it > 0.0 && it < height), "{said}");
        assert!(said["picture"].as_f64().is_some_and(|it| it > 0.3), "{said}");
        assert_eq!((&said["sideways"], &said["over"]), (&0.into(), &0.into()), "{said}");
    }
}
