//! The order in which the arms of a round start and take their turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wording;

/// Shuffled, an arm's place and the time are chance. In a fixed order they belong to the arm, and
/// no gate can separate the two (section 2.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By lot, anew in each round and lap.
    #[default]
    Shuffled,
    /// The order in which the arms were asked for.
    Given,
    /// The last one first.
    Reverse,
}

impl Order {
    pub const ALL: [Self; 3] = [Self::Shuffled, Self::Given, Self::Reverse];

    pub fn word(self) -> &'static str {
        match self {
            Self::Shuffled => "shuffled",
            Self::Given => "given",
            Self::Reverse => "reverse",
        }
    }

    /// The caution about a fixed order; None where it was shuffled.
    pub fn caution(self) -> Option<&'static str> {
        match self {
            Self::Shuffled => None,
            Self::Given => {
                Some("arms in the order given, not shuffled: place and time may be the cause")
            }
            Self::Reverse => {
                Some("arms in reverse order, not shuffled: place and time may be the cause")
            }
        }
    }

    /// Puts the caution into a sentence that compares arms.
    pub fn remark(self, sentence: &mut String) {
        if let Some(caution) = self.caution() {
            wording::append(sentence, &format!("({caution})"));
        }
    }
}
