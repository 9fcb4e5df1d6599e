//! The questions of a study in a terminal, with their answers.

use std::io;

use super::page::{EvidenceView, View};
use crate::lines::{FIELD, Page, SCREEN};
use crate::paint::Ink;
use base::say::clean;
use base::text::{clip, width};

/// A longer reason is below its question.
const BESIDE_MAX: usize = 34;

/// A line for each question, and a second one for a reason in words where all have room.
pub fn questions(view: &View, page: &mut Page) -> io::Result<()> {
    let room = page.width.saturating_sub(FIELD);
    let has_room = view.evidence.len() * 2 + 8 < SCREEN;
    for question in &view.evidence {
        let why = why(question);
        let beside = if width(&why) <= BESIDE_MAX { why.as_str() } else { "" };
        let text = clip(&clean(&question.heading), room.saturating_sub(width(beside) + 2));
        let ink = Ink::of_answer(&question.answer);
        let word = page.paint.ink(ink, &format!("{:<9}", question.answer));
        let gap = " ".repeat(room.saturating_sub(width(&text) + width(beside)));
        page.line(&format!("{word}  {text}{gap}{beside}"))?;
        if beside.is_empty() && has_room {
            page.remark("", Ink::Dim, &why)?;
        }
    }
    Ok(())
}

/// The number that says why; the beginning of the sentence where there is none.
fn why(question: &EvidenceView) -> String {
    if !question.number.is_empty() {
        return clean(&question.number);
    }
    let sentence = question.sentences.first().map_or("", String::as_str);
    let sentence = sentence.strip_prefix(&question.answer).unwrap_or(sentence);
    clean(sentence.trim_start_matches(['.', ' ']).split(';').next().unwrap_or(""))
}
