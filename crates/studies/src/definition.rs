//! What a study consists of: data, in `studies/`.

use serde::Deserialize;

/// A study as its file says it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Built-in workload.
    pub workload: String,
    /// Server that all producers can speak with.
    pub server: String,
    /// Rounds before the one through the tap.
    pub rounds: u32,
    /// Messages of each producer in each phase and round at scale 1.
    pub messages: u64,
    /// Scale where none is asked for.
    pub scale: f64,
    /// Who takes part.
    pub producers: Vec<Producer>,
}

/// One producer of a study.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Producer {
    /// As `run -d` takes it.
    pub driver: String,
    /// The phase that issues as the program did whose result the study replays.
    #[serde(default)]
    pub original: Option<String>,
    /// The phases it takes part in; None: all.
    #[serde(default)]
    pub phases: Option<Vec<String>>,
}

impl Definition {
    /// The broker's.
    ///
    /// # Panics
    /// On a file that is wrong, which a test rules out.
    #[must_use]
    pub fn broker() -> Self {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/broker/study.toml"));
        toml::from_str(text).expect("a study that its tests have read")
    }
}
