//! One self-contained page.

use std::io;

use super::formats::{Format, Report};
use super::page_template::PageParts;
use super::palette::Palette;
use super::study::{self, Figure, StudyReport};
use super::{page, page_template, view};
use base::error::Result;

pub const FORMAT: Format = Format {
    name: "html",
    about: "One self-contained page",
    experiments: Some((
        |report, out| {
            let palette = view::palette(report.analysis);
            page_template::write(&experiment(report, palette)?, out)
        },
        |joint, out| study::render(&joint.view(&joint.palette()), out),
    )),
    study: Some(|it, _, out| {
        let parts = of_study(it)?;
        Ok(parts.and_then(|parts| page_template::write(&parts, out)))
    }),
};

/// The page of an experiment, whose arms look as the palette says.
pub fn experiment(report: &Report<'_>, palette: Palette) -> io::Result<PageParts> {
    let page = serde_json::to_value(page::page(report, &palette))?;
    let data = serde_json::to_string(report.analysis)?;
    Ok(PageParts { template: "index.html", page, palette, data })
}

/// The page of a study; the outer result is of the reading of samples.
pub fn of_study(report: &dyn StudyReport) -> Result<io::Result<PageParts>> {
    let mut view = report.view();
    for phase in &mut view.phases {
        phase.figures = report.drawings(&phase.name)?.iter().map(Figure::of).collect();
    }
    Ok(study::page(&view))
}
