//! Text that came from elsewhere (versions, errors, paths), made safe and made to fit.

use std::collections::BTreeSet;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Removes all that could steer a terminal or reverse the reading direction.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
            c if steers(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Whether a character steers a terminal, or reverses the reading direction.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Texts that cannot steer a terminal ([`clean`]).
pub fn clean_all(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| clean(text)).collect()
}

/// A cell of a CSV file: what a spreadsheet would take for a formula begins with a quote.
pub fn csv_cell(text: &str) -> String {
    let text = clean(text);
    let is_formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    if is_formula { format!("'{text}") } else { text }
}

/// Columns a text takes on a terminal.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// At most `max` columns, an ellipsis in the middle: both ends of `driver@version` matter.
pub fn shorten(text: &str, max: usize) -> String {
    if width(text) <= max || max < 3 {
        return text.to_owned();
    }
    let tail_columns = (max - 1) / 2;
    let head = take_columns(text.chars(), max - 1 - tail_columns);
    let tail: String = take_columns(text.chars().rev(), tail_columns).chars().rev().collect();
    format!("{head}…{tail}")
}

/// Names cut in the middle, unless two would then look alike.
pub fn short_names(names: &[&str], page_width: usize) -> Vec<String> {
    let full: BTreeSet<&str> = names.iter().copied().collect();
    let max = (page_width * 9 / 40).max(16);
    let short: BTreeSet<String> = full.iter().map(|name| shorten(name, max)).collect();
    let max = if short.len() == full.len() { max } else { usize::MAX };
    names.iter().map(|name| shorten(name, max)).collect()
}

/// At most `max` columns, cut between words, an ellipsis at the end.
pub fn clip(text: &str, max: usize) -> String {
    let mut lines = wrap(text, max);
    if lines.len() > 1 {
        lines = wrap(text, max.saturating_sub(2));
        lines[0].push_str(" …");
    }
    lines.swap_remove(0)
}

/// At most `max` columns, cut anywhere.
pub fn cut_columns(text: &str, max: usize) -> String {
    take_columns(text.chars(), max)
}

fn take_columns(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= columns
        })
        .collect()
}

/// Lines of at most `max` columns, broken between words, inside a word only where it must be; a
/// number is never parted from its `%`.
pub fn wrap(text: &str, max: usize) -> Vec<String> {
    let max = max.max(8);
    let text = text.replace(" %", "\u{a0}%");
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
        let mut word = word;
        if !line.is_empty() && width(&line) + 1 + width(word) > max {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        while line.is_empty() && width(word) > max {
            let head = take_columns(word.chars(), max);
            word = &word[head.len()..];
            lines.push(head);
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines.into_iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\nc\u{202e}d"), "a\u{fffd}[31mb c\u{fffd}d");
    }

    #[test]
    fn shortening_keeps_both_ends() {
        assert_eq!(shorten("node@7.9.0", 10), "node@7.9.0");
        assert_eq!(shorten("abcdefghijklmnop@1.2.3", 11), "abcde…1.2.3");
        assert!(width(&shorten("日本語日本語日本語", 8)) <= 8);
    }

    #[test]
    fn clipping_ends_between_words() {
        assert_eq!(clip("one two three", 13), "one two three");
        assert_eq!(clip("one two three", 12), "one two …");
    }

    #[test]
    fn a_cell_is_no_formula() {
        for name in ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)"] {
            assert_eq!(csv_cell(name), format!("'{name}"));
        }
        for plain in ["-1.5e-3", "+7", "node@7.9.0", "", "-inf"] {
            assert_eq!(csv_cell(plain), plain);
        }
        assert_eq!(csv_cell("a\u{1b}]0;b\u{7}"), "a\u{fffd}]0;b\u{fffd}");
    }

    #[test]
    fn wrapping_breaks_between_words() {
        assert_eq!(wrap("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("/a/very/long/path", 8), ["/a/very/", "long/pat", "h"]);
        assert_eq!(wrap("", 20), [""]);
        assert_eq!(wrap("threshold 3 %).", 13), ["threshold", "3 %)."]);
    }
}
