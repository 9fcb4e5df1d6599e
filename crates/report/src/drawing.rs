//! All SVG: a picture as text, its colours and texts, and the round numbers on its axes.
//!
//! Colours stand as attributes, so that a picture is the same alone and on paper; the page's style
//! overrides them by class, for dark and light. A `<style>` of the picture's own
//! would reach the whole page, and renderers other than browsers know no variables.

use std::fmt::Write as _;

use base::say::clean;
use base::text::wrap;
use stats::verdict::Verdict;

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

/// Colours by their meaning; the page's style knows the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Ink,
    Soft,
    Grid,
    Band,
    Blue,
    Green,
    Red,
    Amber,
}

impl Role {
    pub fn of_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Differs => Self::Ink,
            Verdict::Slower => Self::Red,
            Verdict::Faster => Self::Green,
            Verdict::Same => Self::Blue,
            Verdict::Inconclusive | Verdict::NotComparable => Self::Amber,
        }
    }

    /// The class, and the colour where there is no style.
    fn look(self) -> (&'static str, &'static str) {
        match self {
            Self::Ink => ("ink", "#1d2321"),
            Self::Soft => ("soft", "#59635f"),
            Self::Grid => ("grid", "#dfe3df"),
            Self::Band => ("band", "#dbe8df"),
            Self::Blue => ("blue", "#3f5a6b"),
            Self::Green => ("green", "#0a6b3d"),
            Self::Red => ("red", "#b3261e"),
            Self::Amber => ("amber", "#85500a"),
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

    /// The picture in words, for those who cannot see it.
    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn width(&self) -> f64 {
        self.width
    }

    /// The whole picture, for a page or a file.
    pub fn svg(&self) -> String {
        let [width, height] = [self.width, self.height].map(|size| short(size + 2.0 * MARGIN));
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
        self.paragraph(y, words) + 6.0
    }

    /// Small words over the whole width; answers where they end.
    pub fn paragraph(&mut self, mut y: f64, words: &str) -> f64 {
        let columns = (self.width / (LETTER * 11.0)) as usize;
        for line in wrap(words, columns) {
            y += 15.0;
            self.text((0.0, y), 11.0, Role::Soft, Anchor::Start, &line);
        }
        y
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

/// The room that an arm's name takes on one line.
pub fn name_width(name: &str, size: f64) -> f64 {
    name.chars().count() as f64 * LETTER_OF_NAMES * size
}

/// `java:mongo-java-driver@3.12.14/maxPoolSize=1024` broken around its package and before its
/// options, within a version only where it must be.
fn name_lines(name: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let parts = name.split_inclusive(['/', ':']).flat_map(|part| {
        let (package, version) = part.split_at(part.find('@').unwrap_or(0));
        [package, version].into_iter().filter(|it| !it.is_empty())
    });
    for part in parts {
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
    format::trimmed(value, 1)
}

/// The round step with which `reach` is at most `most` steps.
pub fn step(reach: f64, most: f64) -> f64 {
    let raw = (reach / most).max(1e-9);
    let magnitude = 10_f64.powf(raw.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * magnitude);
    steps.into_iter().find(|step| *step >= raw * (1.0 - 1e-9)).unwrap_or(raw)
}

/// Round numbers within a range, at most `most` steps of them.
pub fn ticks(low: f64, high: f64, most: f64) -> Vec<f64> {
    let step = step(high - low, most);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|i| round(i as f64 * step)).collect()
}

/// Without the 0.30000000000000004 of binary fractions.
pub fn round(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

/// Text for an element or in quotes. XML has no control characters.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(ticks(0.0, 6_000.0, 6.0), [0.0, 1e3, 2e3, 3e3, 4e3, 5e3, 6e3]);
        assert_eq!(ticks(-0.6, 0.6, 6.0), [-0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6]);
    }

    #[test]
    fn names_break_around_their_package_and_before_their_options() {
        let lines = name_lines("node@1.4.3/maxPoolSize=1024/processes=4", 24);
        assert_eq!(lines, ["node@1.4.3/", "maxPoolSize=1024/", "processes=4"]);
        assert_eq!(name_lines("go@2.9.2", 24), ["go@2.9.2"]);
        assert_eq!(name_lines("a/b=1/c=2", 24), ["a/b=1/c=2"]);
        let lines = name_lines("java:mongo-java-driver@3.12.14", 24);
        assert_eq!(lines, ["java:mongo-java-driver", "@3.12.14"]);
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
