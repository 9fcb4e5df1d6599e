//! One self-contained page.

use std::io::{self, Write};

use super::formats::{Format, Report};
use super::study::{self, Figure};
use super::{page, page_template, view};

pub const FORMAT: Format = Format {
    name: "html",
    about: "One self-contained page",
    experiments: Some((render, |joint, out| study::render(&joint.view(), out))),
    study: Some(|it, _, out| {
        let mut view = it.view();
        for phase in &mut view.phases {
            phase.figures = it.drawings(&phase.name)?.iter().map(Figure::of).collect();
        }
        Ok(study::render(&view, out))
    }),
};

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let data = serde_json::to_string(report.analysis)?;
    let palette = view::palette(report.analysis);
    let page = page::page(report, &palette);
    page_template::write("index.html", page, &palette, &data, out)
}
