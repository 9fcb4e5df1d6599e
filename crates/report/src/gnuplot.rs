//! The script that draws the CSV of a study.

use super::formats::Format;
use base::error::Error;

pub const FORMAT: Format = Format {
    name: "gnuplot",
    about: "Script that draws the CSV of a study",
    experiments: None,
    study: Some(|study, _, out| {
        let script = study.gnuplot().ok_or_else(|| {
            Error::usage("there is no gnuplot script of it", "--format csv has its figures")
        })?;
        Ok(out.write_all(script.as_bytes()))
    }),
};
