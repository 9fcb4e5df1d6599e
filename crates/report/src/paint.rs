//! Colours of the terminal report, or none.

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

impl Ink {
    /// The ink of a verdict, by the name [`super::view::verdict_class`] gives it.
    pub fn of_verdict(class: &str) -> Self {
        match class {
            "slower" => Self::Red,
            "faster" => Self::Green,
            "inconclusive" | "not-comparable" => Self::Yellow,
            _ => Self::Plain,
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
        }
    }
}

/// Marks that take no column, for the time a text spends in a table: comfy-table can measure
/// colour codes only with its `custom_styling`, which brings a second terminal library.
/// [`base::say::clean`] takes them out of whatever comes from elsewhere.
const MARKS: [(Ink, char); 5] = [
    (Ink::Plain, '\u{2060}'),
    (Ink::Dim, '\u{2061}'),
    (Ink::Red, '\u{2062}'),
    (Ink::Green, '\u{2063}'),
    (Ink::Yellow, '\u{2064}'),
];

/// Writes ANSI codes, or leaves the text alone.
#[derive(Debug, Clone, Copy)]
pub struct Paint(pub bool);

impl Paint {
    /// The text with its codes.
    pub fn ink(self, ink: Ink, text: &str) -> String {
        if self.0 && ink != Ink::Plain {
            format!("\x1b[{}m{text}\x1b[0m", ink.code())
        } else {
            text.to_owned()
        }
    }

    /// Every line of the text between marks, for [`Self::inked`] to replace.
    pub fn mark(self, ink: Ink, text: &str) -> String {
        let mark = |ink: Ink| MARKS.iter().find(|(known, _)| *known == ink).map(|(_, mark)| *mark);
        let (Some(start), Some(end)) = (mark(ink), mark(Ink::Plain)) else {
            return text.to_owned();
        };
        if !self.0 || ink == Ink::Plain || text.is_empty() {
            return text.to_owned();
        }
        let lines: Vec<String> = text.lines().map(|line| format!("{start}{line}{end}")).collect();
        lines.join("\n")
    }

    /// The line with codes in place of marks; it never leaves a colour on.
    pub fn inked(self, line: &str) -> String {
        if !self.0 {
            return line.to_owned();
        }
        let mut inked = line.to_owned();
        for (ink, mark) in MARKS {
            inked = inked.replace(mark, &format!("\x1b[{}m", ink.code()));
        }
        let left_on = inked.rfind("\x1b[").is_some_and(|at| !inked[at..].starts_with("\x1b[0m"));
        if left_on { inked + "\x1b[0m" } else { inked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_codes_and_take_no_column() {
        let marked = Paint(true).mark(Ink::Red, "+7.2");
        assert_eq!(crate::text::width(&marked), 4);
        assert_eq!(Paint(true).inked(&marked), "\x1b[31m+7.2\x1b[0m");
        assert_eq!(Paint(true).inked("\u{2061}cut"), "\x1b[2mcut\x1b[0m");
        assert_eq!(Paint(false).mark(Ink::Red, "+7.2"), "+7.2");
        assert_eq!(base::say::clean(&marked), "\u{fffd}+7.2\u{fffd}");
    }
}
