//! Bytes in hex, decoded percents, words for a shell, excerpts of long texts, and the known word
//! that a wrong one may mean.

use std::fmt::Write as _;

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The text of a part of a connection string, without percent-encoding.
pub fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The beginning of a text, with an ellipsis if something is left out.
pub fn cut(text: &str, characters: usize) -> String {
    let start: String = text.chars().take(characters).collect();
    if start.len() < text.len() { start + "…" } else { start }
}

/// The last lines of an output that are not blank.
pub fn last_lines(text: &str, count: usize) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].to_vec()
}

/// A word as a POSIX shell reads it back.
pub fn shell_quoted(word: &(impl ToString + ?Sized)) -> String {
    let word = word.to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The known word nearest to this one; at most a third of the letters may differ, in either case.
/// `findone` is `find_one`.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let squeezed = |word: &str| word.replace(['_', '-'], "").to_lowercase();
    let known = known.into_iter();
    let known = known.map(|name| (distance(&squeezed(word), &squeezed(name)), name));
    let (distance, name) = known.min()?;
    (distance <= (name.len().max(word.len()) / 3).max(1)).then_some(name)
}

/// Letters to change; 1 where one word begins with the other (`zipf`, `integer`).
fn distance(a: &str, b: &str) -> usize {
    if a == b {
        return 0;
    }
    let begins = a.len().min(b.len()) >= 3 && (a.starts_with(b) || b.starts_with(a));
    if begins { 1 } else { strsim::osa_distance(a, b) }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_word_without_its_underscores_is_the_nearest() {
        let known = ["find", "find_one", "insert_one"];
        assert_eq!(nearest("findone", known), Some("find_one"));
        assert_eq!(nearest("InsertOne", known), Some("insert_one"));
        assert_eq!(nearest("fin", known), Some("find"));
        assert_eq!(nearest("aggregate", known), None);
    }
}
