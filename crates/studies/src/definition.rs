//! A study's definition: data, in `studies/NAME/study.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::frame::{CellSheet, ChartSheet, OriginalSheet, QuestionSheet, TableSheet};
use base::error::{Error, Result};
use record::request::{DriverShare, Request};
use record::words::Words;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// One line for the help.
    pub about: String,
    /// Heading of its reports.
    pub title: String,
    /// The question, in a paragraph.
    pub question: String,
    /// How to read its reports, a sentence each.
    pub reading: Vec<String>,
    /// Built-in workload.
    pub workload: String,
    /// Phases of it; none: all.
    #[serde(default)]
    pub phases: Vec<String>,
    /// Server that all arms can speak with.
    pub server: String,
    /// Rounds past the tap; None: the size says how many.
    pub rounds: Option<u32>,
    /// The study's size at scale 1.
    pub size: u64,
    /// The unit of its size.
    pub unit: String,
    /// A smaller size says nothing.
    pub size_min: u64,
    /// The largest scale that can be counted.
    pub scale_max: f64,
    /// Scale where none is asked for.
    pub scale: f64,
    /// Scale of `--quick`.
    pub quick_scale: f64,
    /// None: every adapter.
    #[serde(default)]
    pub arms: Vec<Arm>,
    /// In their place on a machine that can run none of them.
    #[serde(default)]
    pub elsewhere: Vec<Arm>,
    /// Figures that shared code reads, views of them, and questions ([`crate::frame`]).
    #[serde(default)]
    pub cells: Vec<CellSheet>,
    #[serde(default)]
    pub originals: Vec<OriginalSheet>,
    #[serde(default)]
    pub tables: Vec<TableSheet>,
    #[serde(default)]
    pub charts: Vec<ChartSheet>,
    #[serde(default)]
    pub questions: Vec<QuestionSheet>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// The driver as `run -d` takes it.
    pub driver: String,
    /// The phase that issues as the original program did.
    #[serde(default)]
    pub original: Option<String>,
    /// None: all.
    #[serde(default)]
    pub phases: Option<Vec<String>>,
}

/// A study as it is asked for.
#[derive(Debug, Default)]
pub struct Asked {
    /// Size, as a part of the original's; None: the study's own.
    pub scale: Option<f64>,
    /// Names of the parts; none: all.
    pub parts: Vec<String>,
    /// Values of the study's own flags, by name.
    pub flags: BTreeMap<&'static str, String>,
    /// What holds for all experiments. Its parameters win over the study's.
    pub request: Request,
}

impl Asked {
    /// The server that is named; None by connection string and where none is.
    pub(crate) fn server(&self) -> Option<&str> {
        self.request.server.as_ref().and_then(Words::given)
    }

    pub(crate) fn by_uri(&self) -> bool {
        self.request.uri.is_some()
    }
}

impl Definition {
    pub(crate) fn read(text: &str) -> Self {
        toml::from_str(text).expect("a definition that its tests have read")
    }

    /// The scale asked for, and its size. Refuses a scale that makes no experiment.
    pub fn scale(&self, asked: &Asked) -> Result<(f64, u64)> {
        let usual = if asked.request.quick { self.quick_scale } else { self.scale };
        let scale = asked.scale.unwrap_or(usual);
        let (size, unit) = (scale * self.size as f64, &self.unit);
        if size >= self.size_min as f64 && scale <= self.scale_max {
            return Ok((scale, size.round() as u64));
        }
        let least = self.size_min as f64 / self.size as f64;
        Err(Error::usage(
            format!("--scale {scale} makes {size} {unit}"),
            format!("from {least} to {}; 1 makes {} {unit}", self.scale_max, self.size),
        ))
    }

    /// Past the tap, for a study of this size.
    pub fn rounds(&self, asked: &Asked, size: u64) -> u32 {
        asked.request.rounds.or(self.rounds).unwrap_or(size as u32)
    }

    /// The drivers of [`Definition::arms_asked`].
    pub fn drivers(&self, asked: &Asked) -> Vec<String> {
        self.arms_asked(asked).into_iter().map(|arm| arm.driver).collect()
    }

    /// The drivers asked for, with the study's own definition of them; else its own.
    pub fn arms_asked(&self, asked: &Asked) -> Vec<Arm> {
        let drivers = &asked.request.drivers;
        if drivers.is_empty() {
            return self.arms.clone();
        }
        let known = |driver: &str| self.arms.iter().find(|arm| arm.driver == driver).cloned();
        let plain = |driver: &str| Arm { driver: driver.to_owned(), ..Arm::default() };
        let drivers = drivers.iter().filter_map(Words::given);
        drivers.map(|driver| known(driver).unwrap_or_else(|| plain(driver))).collect()
    }
}

impl Arm {
    /// What it has to itself, by its driver; None: nothing.
    pub(crate) fn share(self) -> Option<(String, DriverShare)> {
        let share = DriverShare { phases: self.phases, original: self.original };
        (share != DriverShare::default()).then_some((self.driver, share))
    }
}
