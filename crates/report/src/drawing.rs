//! A picture as text, of the few shapes that the study's pictures consist of.
//!
//! Colours stand as attributes, so that the picture is the same alone, as PNG and on paper; the
//! page's style overrides them by class, for dark and light. A `<style>` of the picture's own
//! would reach the whole page, and renderers other than browsers know no variables.

use std::fmt::Write as _;

pub use crate::svg::escape;
use crate::text::wrap;

const FAMILIES: &str =
    "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
/// Between pictures that are stacked, units.
const GAP: f64 = 28.0;
/// Around a picture, units.
const MARGIN: f64 = 12.0;
/// Width of a letter, as a part of the size of the font: in sentences, and in names with many
/// digits. Somewhat more than Inter's, as the page may be shown with a wider font.
const LETTER: f64 = 0.56;
const LETTER_OF_NAMES: f64 = 0.63;

/// What a text or line is for; the page's style knows the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Ink,
    Soft,
    Grid,
    /// Messages themselves.
    Cloud,
    Flat,
    Linear,
    Logarithmic,
    Unclear,
}

impl Role {
    /// The class, and the colour where there is no style.
    fn look(self) -> (&'static str, &'static str) {
        match self {
            Self::Ink => ("ink", "#1d2321"),
            Self::Soft => ("soft", "#59635f"),
            Self::Grid => ("grid", "#dfe3df"),
            Self::Cloud => ("cloud", "#3f5a6b"),
            Self::Flat => ("flat", "#0a6b3d"),
            Self::Linear => ("linear", "#b3261e"),
            Self::Logarithmic => ("logarithmic", "#85500a"),
            Self::Unclear => ("unclear", "#1d2321"),
        }
    }

    pub fn fill(self) -> String {
        let (class, colour) = self.look();
        format!(r#"class="{class}" fill="{colour}""#)
    }

    pub fn stroke(self) -> String {
        let (class, colour) = self.look();
        format!(r#"class="{class}" fill="none" stroke="{colour}""#)
    }
}

/// Which end of a text stands where it is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture: SVG without its outermost element.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    title: String,
    width: f64,
    height: f64,
    body: String,
}

impl Drawing {
    pub fn new(title: &str, width: f64) -> Self {
        Self { title: title.to_owned(), width, height: 0.0, body: String::new() }
    }

    /// Width with its margin, units: pixels where nothing scales it.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.width + 2.0 * MARGIN
    }

    /// The picture in words, for those who cannot see it.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The whole picture, for a page or a file.
    #[must_use]
    pub fn svg(&self) -> String {
        let (width, height) = (short(self.width()), short(self.height + 2.0 * MARGIN));
        let edge = short(-MARGIN);
        let title = escape(&self.title);
        let size = format!(r#"width="{width}" height="{height}""#);
        let mut svg = r#"<svg xmlns="http://www.w3.org/2000/svg" class="picture""#.to_owned();
        let _ = write!(svg, r#" {size} viewBox="{edge} {edge} {width} {height}""#);
        let _ = write!(svg, r#" role="img" aria-label="{title}" font-family="{FAMILIES}">"#);
        let _ =
            write!(svg, r##"<rect class="paper" x="{edge}" y="{edge}" {size} fill="#ffffff"/>"##);
        svg.push_str(&self.body);
        svg.push_str("</svg>");
        svg
    }

    /// Several pictures as one, each below the one before it.
    #[must_use]
    pub fn stacked(drawings: &[Self]) -> Self {
        let titles: Vec<&str> = drawings.iter().map(|it| it.title.as_str()).collect();
        let width = drawings.iter().map(|it| it.width).fold(0.0, f64::max);
        let mut all = Self::new(&titles.join("; "), width);
        for drawing in drawings {
            let top = if all.height > 0.0 { all.height + GAP } else { 0.0 };
            all.raw(format_args!(r#"<g transform="translate(0 {})">"#, short(top)));
            all.body.push_str(&drawing.body);
            all.body.push_str("</g>");
            all.height = top + drawing.height;
        }
        all
    }

    pub fn reach(&mut self, y: f64) {
        self.height = self.height.max(y);
    }

    pub fn raw(&mut self, markup: std::fmt::Arguments<'_>) {
        self.body.write_fmt(markup).expect("writing to memory");
    }

    pub fn text(&mut self, at: (f64, f64), size: f64, role: Role, end: Anchor, text: &str) {
        let anchor = match end {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let (x, y, size, role) = (short(at.0), short(at.1), short(size), role.fill());
        let text = escape(text);
        self.raw(format_args!(
            r#"<text {role} x="{x}" y="{y}" font-size="{size}"{anchor}>{text}</text>"#
        ));
        self.reach(at.1 + 4.0);
    }

    /// Title and explanation over the whole width; answers where they end.
    pub fn head(&mut self, title: &str, words: &str) -> f64 {
        let columns = (self.width / (LETTER * 16.0)) as usize;
        let mut y = 0.0;
        for line in wrap(title, columns) {
            y += 20.0;
            self.text((0.0, y), 16.0, Role::Ink, Anchor::Start, &line);
        }
        let columns = (self.width / (LETTER * 11.0)) as usize;
        for line in wrap(words, columns) {
            y += 15.0;
            self.text((0.0, y), 11.0, Role::Soft, Anchor::Start, &line);
        }
        y + 6.0
    }

    /// An arm's name, right-aligned, in as many lines as it needs; answers where they end.
    pub fn name(&mut self, right: f64, first: f64, width: f64, name: &str) -> f64 {
        let columns = (width / (LETTER_OF_NAMES * 11.5)) as usize;
        let mut y = first;
        for line in name_lines(name, columns) {
            self.text((right, y), 11.5, Role::Ink, Anchor::End, &line);
            y += 13.0;
        }
        y
    }
}

/// `node@1.4.3/maxPoolSize=1024` broken before its options.
fn name_lines(name: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in name.split_inclusive('/') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.chars().count() <= columns => {
                line.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines.iter().flat_map(|line| wrap(line, columns)).collect()
}

/// A coordinate with at most one decimal.
pub fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_break_before_their_options() {
        let lines = name_lines("node@1.4.3/maxPoolSize=1024/processes=4", 24);
        assert_eq!(lines, ["node@1.4.3/", "maxPoolSize=1024/", "processes=4"]);
        assert_eq!(name_lines("go@2.9.2", 24), ["go@2.9.2"]);
        assert_eq!(name_lines("a/b=1/c=2", 24), ["a/b=1/c=2"]);
    }

    #[test]
    fn stacked_pictures_are_as_wide_as_the_widest_and_as_high_as_all() {
        let mut one = Drawing::new("one <1>", 300.0);
        one.reach(100.0);
        let mut two = Drawing::new("two", 500.0);
        two.reach(50.0);
        let svg = Drawing::stacked(&[one, two]).svg();
        assert!(svg.contains(r#"viewBox="-12 -12 524 202""#), "{svg}");
        assert!(svg.contains(r#"aria-label="one &lt;1&gt;; two""#), "{svg}");
    }
}
