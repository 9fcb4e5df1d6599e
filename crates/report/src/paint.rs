//! Colours of the terminal report, or none.

use stats::verdict::Verdict;

/// Look of a text.
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
    pub fn of_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Slower => Self::Red,
            Verdict::Faster => Self::Green,
            Verdict::Same | Verdict::Differs => Self::Plain,
            Verdict::Inconclusive | Verdict::NotComparable => Self::Yellow,
        }
    }

    /// The look of `Yes`, `No` or `Not shown`.
    pub fn of_answer(answer: &str) -> Self {
        match answer {
            "Yes" => Self::Green,
            "No" => Self::Red,
            _ => Self::Yellow,
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

/// Writes ANSI codes, or leaves the text alone.
#[derive(Debug, Clone, Copy)]
pub struct Paint(pub bool);

impl Paint {
    /// The text with its codes.
    pub fn ink(self, ink: Ink, text: &str) -> String {
        if self.0 && ink != Ink::Plain && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", ink.code())
        } else {
            text.to_owned()
        }
    }
}
