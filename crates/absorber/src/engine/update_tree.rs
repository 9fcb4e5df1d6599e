//! The changes of an update by path, as a tree: one walk through a document applies them all.

use super::error::{Fault, Outcome, TYPE_MISMATCH};
use super::raw::{Field, kind};
use super::text::element_text;
use super::update::name_order;

/// What happens to a field.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Change {
    Set {
        kind: u8,
        bytes: Vec<u8>,
    },
    SetOnInsert {
        kind: u8,
        bytes: Vec<u8>,
    },
    Increment {
        kind: u8,
        bytes: Vec<u8>,
    },
    Unset,
    /// Something happens to what is within it.
    Below(Tree),
}

/// Names in the order in which new ones are appended to a document.
pub type Tree = Vec<(Vec<u8>, Change)>;

impl Change {
    /// A field of an operator that is known.
    pub fn new(operator: &[u8], field: &Field<'_>) -> Outcome<Self> {
        let (kind, bytes) = (field.value.kind, field.value.bytes.to_vec());
        Ok(match operator {
            b"$set" => Self::Set { kind, bytes },
            b"$setOnInsert" => Self::SetOnInsert { kind, bytes },
            b"$unset" => Self::Unset,
            _ if kind == kind::DECIMAL => return Err(Fault::not_here("sums of decimals")),
            _ if field.value.number().is_some() => Self::Increment { kind, bytes },
            _ => {
                let element = element_text(field.name, field.value);
                let message = format!("Cannot increment with non-numeric argument: {element}");
                return Err(Fault::new(TYPE_MISMATCH, message));
            }
        })
    }
}

/// Adds a change. Err: another one stands in its way, after so many parts of the path.
pub fn add(tree: &mut Tree, parts: &[Vec<u8>], change: Change) -> Result<(), usize> {
    let Some((first, rest)) = parts.split_first() else { return Err(0) };
    match tree.binary_search_by(|(name, _)| name_order(name, first)) {
        Ok(at) => match &mut tree[at].1 {
            Change::Below(inner) if !rest.is_empty() => {
                add(inner, rest, change).map_err(|depth| depth + 1)
            }
            _ => Err(1),
        },
        Err(at) => {
            let change = if rest.is_empty() {
                change
            } else {
                let mut inner = Tree::new();
                add(&mut inner, rest, change).map_err(|depth| depth + 1)?;
                Change::Below(inner)
            };
            tree.insert(at, (first.clone(), change));
            Ok(())
        }
    }
}
