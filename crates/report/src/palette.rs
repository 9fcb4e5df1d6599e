//! How an arm looks on all pictures of a page and over pages: a colour, a marker and dashes.
//!
//! The colours were chosen so that each pair is told apart by people with normal sight and with
//! each kind of colour blindness, on white and on the page's dark ground (tests below). Colour is
//! never alone: each has its marker and its dashes, for paper and for eyes that see no colours.

use std::fmt::Write as _;

use super::drawing::short;

/// Colours on light ground and on dark ground, in the same order: blue, red, green, lilac, sky,
/// amber, indigo, wine.
const LIGHT: [&str; COLOURS] =
    ["#003cc2", "#bc3408", "#10846d", "#876ab9", "#3489ff", "#b38500", "#2e1489", "#89253b"];
const DARK: [&str; COLOURS] =
    ["#3692b1", "#ff9200", "#1dcd99", "#c1a9ff", "#94fae9", "#ffea4b", "#a63fff", "#e03b4d"];
const COLOURS: usize = 8;
/// Paths of the markers, around zero.
const MARKERS: [&str; COLOURS] = [
    "M-4.4 0a4.4 4.4 0 1 0 8.8 0a4.4 4.4 0 1 0-8.8 0z",
    "M-4-4H4V4H-4z",
    "M0-5.2L5 3.8H-5z",
    "M0-5.6L5.6 0L0 5.6L-5.6 0z",
    "M0 5.2L5-3.8H-5z",
    "M-1.7-5.2H1.7V-1.7H5.2V1.7H1.7V5.2H-1.7V1.7H-5.2V-1.7H-1.7z",
    "M-5-2.6L-2.6-5L0-2.4L2.6-5L5-2.6L2.4 0L5 2.6L2.6 5L0 2.4L-2.6 5L-5 2.6L-2.4 0z",
    "M-5.4 0L-2.7-4.7H2.7L5.4 0L2.7 4.7H-2.7z",
];
const DASHES: [&str; COLOURS] =
    ["none", "7 3", "2 2", "9 3 2 3", "4 2", "12 3", "1 3", "9 2 2 2 2 2"];
/// Start of the hash: with it the drivers in `adapters/` share as few colours as eleven drivers
/// and eight colours allow. Their names are not listed: the core knows no adapter.
const SALT: u32 = 6059;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArmLook {
    colour: usize,
    marker: usize,
    /// The baseline again: hollow.
    is_twin: bool,
    /// Place of the arm on its page, for the buttons that hide it; None where it has none.
    place: Option<usize>,
}

/// The looks of the arms of one page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Palette {
    looks: Vec<(String, ArmLook)>,
}

impl Palette {
    /// In the order of the page. Each driver has its own colour; where another arm has it already,
    /// the next free one. An A/A arm looks like its baseline, but hollow.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut palette = Self::default();
        names.into_iter().for_each(|name| palette.add(name));
        palette
    }

    /// Adds an arm, if it has no look yet; the looks of the others remain.
    pub fn add(&mut self, name: &str) {
        if self.looks.iter().all(|(known, _)| known != name) {
            let place = Some(self.looks.len());
            let look = ArmLook { place, ..self.next(name) };
            self.looks.push((name.to_owned(), look));
        }
    }

    fn next(&self, name: &str) -> ArmLook {
        if let Some(base) = name.strip_suffix(" (A/A)") {
            return ArmLook { is_twin: true, ..self.look(base) };
        }
        let looks = self.looks.iter().map(|(_, look)| *look).filter(|look| !look.is_twin);
        let rounds = looks.clone().count() / COLOURS;
        let free =
            |colour: &usize| looks.clone().filter(|look| look.colour == *colour).count() <= rounds;
        let first = preferred(name);
        let colour = (0..COLOURS).map(|step| (first + step) % COLOURS).find(free).unwrap_or(first);
        // The second arm of a colour has another marker, and so on.
        ArmLook { colour, marker: (colour + 3 * rounds) % COLOURS, is_twin: false, place: None }
    }

    pub fn look(&self, name: &str) -> ArmLook {
        let known = self.looks.iter().find(|(known, _)| known == name);
        known.map_or_else(|| Self::default().next(name), |(_, look)| *look)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.looks.iter().map(|(name, _)| name.as_str())
    }
}

impl ArmLook {
    /// The look of what is no arm, by its place among its like.
    pub fn nth(number: usize) -> Self {
        let colour = number % COLOURS;
        Self { colour, marker: colour, is_twin: false, place: None }
    }

    /// The class by which the page's buttons find all that belongs to an arm.
    pub fn class(self) -> String {
        self.place.map_or_else(String::new, |place| format!("n{place}"))
    }

    fn colour(self) -> String {
        format!(r#"class="c{}""#, self.colour)
    }

    pub fn fill(self) -> String {
        format!(r#"{} fill="{}""#, self.colour(), LIGHT[self.colour])
    }

    pub fn stroke(self) -> String {
        format!(r#"{} fill="none" stroke="{}""#, self.colour(), LIGHT[self.colour])
    }

    pub fn dashes(self) -> &'static str {
        if self.is_twin { "3 5" } else { DASHES[self.marker] }
    }

    /// The marker at a place, `part` of its usual size.
    pub fn marker(self, (x, y): (f64, f64), part: f64, title: &str) -> String {
        let (x, y) = (short(x), short(y));
        let look = if self.is_twin {
            format!(r#"{} stroke-width="1.8""#, self.stroke())
        } else {
            self.fill()
        };
        let scale = if part < 1.0 { format!(" scale({})", short(part)) } else { String::new() };
        let place = format!(r#"transform="translate({x} {y}){scale}""#);
        let title =
            if title.is_empty() { "/>" } else { &format!("><title>{title}</title></path>") };
        format!(r#"<path {look} {place} d="{}"{title}"#, MARKERS[self.marker])
    }

    /// The marker within a line of text.
    pub fn swatch(self) -> String {
        let marker = self.marker((0.0, 0.0), 1.0, "");
        format!(r#"<svg class="swatch" viewBox="-7 -7 14 14" aria-hidden="true">{marker}</svg>"#)
    }
}

/// The colours as variables of the page's style.
pub fn style() -> String {
    let (mut style, mut rules) = (String::new(), String::new());
    for (at, (light, dark)) in LIGHT.iter().zip(DARK).enumerate() {
        let _ = write!(style, "--c{at}:light-dark({light},{dark});");
        let _ = write!(rules, ".c{at}{{color:var(--c{at})}}");
    }
    format!(":root{{{style}}}{rules}")
}

/// The colour of a driver: FNV-1a of its name, the part of an arm's before version and options.
fn preferred(name: &str) -> usize {
    let driver = name.split(['@', ':', '/', ' ']).next().unwrap_or(name);
    let hash =
        driver.bytes().fold(SALT, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    // FNV-1a alone differs little for names that differ in their last letters; this mixes it.
    let mixed = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    (mixed ^ (mixed >> 13)) as usize % COLOURS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green and blue, linear.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let light = |colour| {
            let [red, green, blue] = linear(colour);
            0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        };
        light(a).max(light(b)) / light(a).min(light(b))
    }

    /// Sight with all cones, and without each kind of them (Machado, Oliveira, Fernandes 2009).
    const SIGHTS: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
        [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
        [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9309, 0.1476], [0.0047, 0.6914, 0.3039]],
    ];

    /// Smallest distance of all sights, in Oklab times 100.
    fn apart(a: &str, b: &str) -> f64 {
        let oklab = |sight: &[[f64; 3]; 3], colour| {
            let of = |row: &[f64; 3], of: [f64; 3]| -> f64 {
                row.iter().zip(of).map(|(factor, part)| factor * part).sum()
            };
            let seen = sight.map(|row| of(&row, linear(colour)).clamp(0.0, 1.0));
            let cones = [
                [0.412_22, 0.536_33, 0.051_45],
                [0.211_90, 0.680_70, 0.107_40],
                [0.088_30, 0.281_72, 0.629_98],
            ];
            let cones = cones.map(|row| of(&row, seen).cbrt());
            let axes = [
                [0.210_45, 0.793_62, -0.004_07],
                [1.978_00, -2.428_59, 0.450_59],
                [0.025_90, 0.782_77, -0.808_68],
            ];
            axes.map(|row| of(&row, cones))
        };
        let distance = |sight| {
            let (a, b) = (oklab(sight, a), oklab(sight, b));
            100.0 * a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        SIGHTS.iter().map(distance).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn colours_differ_for_every_sight_and_from_their_ground() {
        for (colours, grounds) in [(LIGHT, ["#ffffff", "#fbfaf7"]), (DARK, ["#1a201d", "#121614"])]
        {
            for (at, colour) in colours.iter().enumerate() {
                for ground in grounds {
                    assert!(contrast(colour, ground) >= 3.0, "{colour} on {ground}");
                }
                for other in &colours[at + 1..] {
                    assert!(apart(colour, other) > 10.0, "{colour} and {other}");
                }
            }
        }
    }

    #[test]
    fn arms_of_a_page_differ_and_a_driver_keeps_its_colour() {
        let names: Vec<String> = (0..40).map(|minor| format!("node@7.{minor}.0")).collect();
        let palette = Palette::of(names.iter().map(String::as_str));
        for (at, name) in names.iter().enumerate() {
            let look = palette.look(name);
            let same = |other: &&String| {
                let other = palette.look(other);
                (other.colour, other.marker) == (look.colour, look.marker)
            };
            assert_eq!(names[at + 1..].iter().find(same), None, "{name}");
        }
        let pages = [vec!["node@7.9.0", "go@2.9.3"], vec!["go@2.9.3", "node@6.1.0", "rust@3.8.0"]];
        for page in pages {
            let palette = Palette::of(page.iter().copied());
            for name in page {
                assert_eq!(palette.look(name).colour, preferred(name), "{name}");
            }
        }
        let twins = Palette::of(["go@2.9.3", "go@2.9.3 (A/A)"]);
        let [base, twin] = ["go@2.9.3", "go@2.9.3 (A/A)"].map(|name| twins.look(name));
        assert!(twin.is_twin && (twin.colour, twin.marker) == (base.colour, base.marker));
    }
}
