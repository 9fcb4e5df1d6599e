//! Where the time passed: five parts of the way, at the beginning and at the end of a run.

use super::rows::in_phase;
use base::say::clean;
use format;
use record::broker::{Part, Parts};
use record::records::{Arm, Run};
use report::drawing::{Anchor, Drawing, Role, escape, short};

const LEFT: f64 = 270.0;
const BARS: f64 = 420.0;
const WIDTH: f64 = 860.0;
const BAR: f64 = 13.0;
const ROW: f64 = 46.0;
/// In the order of `Parts::named`, with the legend's names, in Okabe and Ito's colours. Most people
/// with colour blindness distinguish these, on light paper and on dark.
const LEGEND: [(&str, &str); 5] = [
    ("program, before it called the driver", "#0072b2"),
    ("driver", "#d55e00"),
    ("wire and tap", "#999999"),
    ("server, until it sent the message on", "#009e73"),
    ("to the consumer's hands", "#cc79a7"),
];

#[derive(Debug, Clone, PartialEq)]
pub struct PartsRow {
    pub arm: String,
    /// By the round through the tap, or why it says nothing.
    pub parts: Result<Parts, String>,
}

/// The rows of one phase, of the last round through the tap; empty without such a round.
pub fn parts_rows(arms: &[&Arm], runs: &[Run], phase: &str) -> Vec<PartsRow> {
    if !runs.iter().any(|run| run.tapped) {
        return Vec::new();
    }
    let parts = |arm: &Arm| {
        let run = runs.iter().rfind(|run| run.tapped && run.arm == arm.id);
        let run = run.ok_or("not measured through the tap")?;
        if let Some(reason) = &run.failed {
            return Err(format!("failed: {}", clean(reason)));
        }
        let broker = in_phase(run, phase).and_then(|it| it.broker.as_ref());
        let parts = broker.and_then(|broker| broker.parts.clone());
        Ok(parts.ok_or("the tap told the parts of no message")?)
    };
    arms.iter().map(|arm| PartsRow { arm: clean(&arm.id), parts: parts(arm) }).collect()
}

/// The picture of one phase. Pure: nothing but `rows` is drawn.
pub fn parts(phase: &str, rows: &[PartsRow]) -> Drawing {
    let title = format!("{phase}: where the time of a message passed");
    let mut drawing = Drawing::new(&title, WIDTH);
    let words = "The round through the tap: medians of the five parts of the way, over the first \
                 tenth of the messages and over the last; on the right the part that grew most. \
                 The longer bar of each arm has the full length: lengths compare within an arm, \
                 the sums at their ends between arms. Medians need not add up to the median of the \
                 latency.";
    let mut y = drawing.head(&title, words) + 10.0;
    legend(&mut drawing, y);
    y += 16.0;
    for row in rows {
        y = draw_row(&mut drawing, y, row).max(y + ROW);
    }
    drawing.reach(y);
    drawing
}

fn legend(drawing: &mut Drawing, y: f64) {
    let mut x = 0.0;
    for (words, colour) in LEGEND {
        let (at, top) = (short(x), short(y - 5.0));
        drawing.raw(format_args!(
            r#"<rect x="{at}" y="{top}" width="10" height="10" fill="{colour}"/>"#
        ));
        drawing.text((x + 15.0, y + 3.5), 10.5, Role::Soft, Anchor::Start, words);
        x += 15.0 + words.chars().count() as f64 * 5.3 + 16.0;
    }
}

/// Answers where the row ends.
fn draw_row(drawing: &mut Drawing, y: f64, row: &PartsRow) -> f64 {
    let end = drawing.name(LEFT - 86.0, y + 11.0, LEFT - 86.0, &row.arm);
    let parts = match &row.parts {
        Ok(parts) => parts,
        Err(reason) => {
            drawing.text((LEFT, y + 11.0), 10.5, Role::Soft, Anchor::Start, reason);
            return end + 8.0;
        }
    };
    // Clocks of two processes may differ by some microseconds: less than nothing is nothing.
    let times = |of: fn(Part) -> f64| parts.named().map(|(name, part)| (name, of(part).max(0.0)));
    let bars =
        [("first tenth", times(|part| part.first_us)), ("last tenth", times(|part| part.last_us))];
    let sum = |times: &[(&str, f64)]| times.iter().map(|(_, us)| us).sum::<f64>();
    let longest = bars.iter().map(|(_, times)| sum(times)).fold(0.0, f64::max);
    for (number, (name, times)) in bars.into_iter().enumerate() {
        let top = y + number as f64 * (BAR + 4.0);
        let middle = top + BAR - 3.0;
        drawing.text((LEFT - 8.0, middle), 10.0, Role::Soft, Anchor::End, name);
        let mut x = LEFT;
        for ((part, us), (_, colour)) in times.into_iter().zip(LEGEND) {
            let width = if longest > 0.0 { BARS * us / longest } else { 0.0 };
            let title = format!("{}, {name}: {part} {}", row.arm, format::time(us));
            let (at, top, wide) = (short(x), short(top), short(width));
            drawing.raw(format_args!(
                r#"<rect x="{at}" y="{top}" width="{wide}" height="{BAR}" fill="{colour}">"#
            ));
            drawing.raw(format_args!("<title>{}</title></rect>", escape(&title)));
            x += width;
        }
        let text = format::time(sum(&times));
        drawing.text((x + 8.0, middle), 10.5, Role::Ink, Anchor::Start, &text);
    }
    if let Some(text) = grown(parts) {
        let at = (LEFT + BARS + 76.0, y + BAR + 5.0);
        drawing.text(at, 10.0, Role::Soft, Anchor::Start, &text);
    }
    end + 8.0
}

/// The part that grew most.
fn grown(parts: &Parts) -> Option<String> {
    let named = parts.named();
    let (name, part) = named.iter().max_by(|a, b| a.1.grown_us().total_cmp(&b.1.grown_us()))?;
    let us = part.grown_us();
    (us > 0.0).then(|| format!("{name} +{}", format::time(us)))
}
