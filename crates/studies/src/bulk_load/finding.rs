use crate::evidence::{Evidence, Shown};

/// A finding, which says so where there is nothing to say.
pub fn evidence(id: &str, question: &str, shown: Shown, mut sentences: Vec<String>) -> Evidence {
    if sentences.is_empty() {
        sentences.push("Too few rounds have both loads, or the loads are too small.".to_owned());
    }
    Evidence { id: id.to_owned(), question: question.to_owned(), shown, sentences }
}
