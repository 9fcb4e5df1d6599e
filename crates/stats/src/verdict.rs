use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// B costs more time per operation than A.
    #[serde(rename = "SLOWER")]
    Slower,
    /// B costs less time per operation than A.
    #[serde(rename = "FASTER")]
    Faster,
    /// The whole interval lies within the threshold.
    #[serde(rename = "SAME")]
    Same,
    /// The interval is too wide to say.
    #[default]
    #[serde(rename = "INCONCLUSIVE")]
    Inconclusive,
    /// Between servers: the difference of two arms is another.
    #[serde(rename = "DIFFERS")]
    Differs,
    /// A gate failed: the numbers must not be compared.
    #[serde(rename = "NOT COMPARABLE")]
    NotComparable,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Slower => "SLOWER",
            Self::Faster => "FASTER",
            Self::Same => "SAME",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Differs => "DIFFERS",
            Self::NotComparable => "NOT COMPARABLE",
        }
    }

    /// Whether the sentence of the verdict names both arms, and so the one that it is about.
    /// Rejected: to look for an arm's name in the text, for the name of another arm may begin so.
    pub fn names_arms(self, direction_only: bool) -> bool {
        match self {
            Self::Slower | Self::Faster => !direction_only,
            Self::Same | Self::Differs => true,
            Self::Inconclusive | Self::NotComparable => false,
        }
    }
}
