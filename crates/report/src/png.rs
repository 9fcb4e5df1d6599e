//! A drawing as PNG, the same on every machine: with our own font, since servers have none.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::drawing::Drawing;
use base::error::{Error, Result};

/// Inter, the Latin letters and a few signs; its licence lies beside it.
const FONT: &[u8] = include_bytes!("../page/font/inter-latin-400.ttf");
const FAMILY: &str = "Inter";
/// Width of the picture, pixels, within what keeps small print legible and files small.
const WIDTH: f64 = 1_600.0;
const SCALES: (f64, f64) = (1.0, 2.0);

/// The drawing as PNG, 1,600 pixels wide unless that were less than one or more than two pixels a
/// unit.
///
/// # Errors
/// A picture so high that no memory holds it.
pub fn png(drawing: &Drawing) -> Result<Vec<u8>> {
    let too_large = |what: String| {
        Error::environment(
            format!("no PNG of this picture: {what}"),
            "--format svg has no such limit; or name fewer drivers",
        )
    };
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    let options =
        Options { fontdb: Arc::new(fonts), font_family: FAMILY.to_owned(), ..Options::default() };
    let tree =
        Tree::from_str(&drawing.svg(), &options).map_err(|error| too_large(error.to_string()))?;
    let width = (drawing.width() * (WIDTH / drawing.width()).clamp(SCALES.0, SCALES.1)).round();
    let size = tree.size().to_int_size().scale_to_width(width as u32);
    let size = size.ok_or_else(|| too_large("it has no size".to_owned()))?;
    let mut pixels = Pixmap::new(size.width(), size.height())
        .ok_or_else(|| too_large(format!("{} by {} pixels", size.width(), size.height())))?;
    let scale = (width / drawing.width()) as f32;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| too_large(error.to_string()))
}
