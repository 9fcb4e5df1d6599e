//! Lines of a terminal: wrapped, indented, painted. What is printed is cleaned by the caller.

use std::io::{self, Write};

use super::formats::Options;
use super::paint::{Ink, Paint};
use super::table::Table;
use base::text::{clip, wrap};

/// Columns where their number is unknown.
const DEFAULT_WIDTH: u16 = 100;
/// Below this, tables would be all wrapping.
const MIN_WIDTH: u16 = 60;
/// Columns before the value of a field.
pub const FIELD: usize = 11;

/// Lines that a terminal shows at once.
pub const SCREEN: usize = 24;

/// A short name and the line beside it.
pub type Remark = (&'static str, Ink, String);

/// The first of several remarks; the last of them says how many others there are.
pub fn at_most(max: usize, mut remarks: Vec<Remark>) -> Vec<Remark> {
    let more = remarks.len().saturating_sub(max);
    remarks.truncate(max);
    if let Some((.., last)) = remarks.last_mut().filter(|_| more > 0) {
        *last = format!("({more} more) {last}");
    }
    remarks
}

/// Where lines go.
pub struct Page<'a> {
    pub out: &'a mut dyn Write,
    pub width: usize,
    pub paint: Paint,
}

impl<'a> Page<'a> {
    pub fn new(options: &Options, out: &'a mut dyn Write) -> Self {
        let width = options.width.unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH);
        Self { out, width: usize::from(width), paint: Paint(options.colour) }
    }

    pub fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", text.trim_end())
    }

    pub fn wrapped(&mut self, indent: usize, ink: Ink, text: &str) -> io::Result<()> {
        for line in wrap_hanging(text, self.width, indent, indent) {
            let painted = self.paint.ink(ink, &line);
            self.line(&painted)?;
        }
        Ok(())
    }

    /// A short name and its value, continued below the value.
    pub fn field(&mut self, name: &str, value: &str) -> io::Result<()> {
        let lines = wrap(value, self.width.saturating_sub(FIELD));
        for (index, line) in lines.iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let name = self.paint.ink(Ink::Dim, &format!("{name:<9}"));
            self.line(&format!("{name}  {line}"))?;
        }
        Ok(())
    }

    /// A short name and what fits on its line of the value.
    pub fn remark(&mut self, name: &str, ink: Ink, value: &str) -> io::Result<()> {
        let value = self.paint.ink(ink, &clip(value, self.width.saturating_sub(FIELD)));
        let name = self.paint.ink(Ink::Dim, &format!("{name:<9}"));
        self.line(&format!("{name}  {value}"))
    }

    pub fn table(&mut self, table: &Table) -> io::Result<()> {
        for line in table.lines(self.width, self.paint) {
            self.line(&line)?;
        }
        Ok(())
    }

    pub fn list(&mut self, title: &str, ink: Ink, lines: &[String]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.line("")?;
        let title = self.paint.ink(ink, title);
        self.line(&title)?;
        for text in lines {
            for line in wrap_hanging(&format!("- {text}"), self.width, 2, 4) {
                self.line(&line)?;
            }
        }
        Ok(())
    }
}

pub fn wrap_hanging(text: &str, max: usize, indent: usize, hanging: usize) -> Vec<String> {
    let lines = wrap(text, max.saturating_sub(hanging));
    let mut indents = std::iter::once(indent).chain(std::iter::repeat(hanging));
    lines.iter().map(|line| format!("{:1$}{line}", "", indents.next().unwrap_or(0))).collect()
}
