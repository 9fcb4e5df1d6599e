//! The parts of a bulk_write or a transaction: operations of the phase that are never drawn by
//! themselves.

use super::bounds::MIX_MAX;
use super::checking::Check;
use super::located::{At, Location};
use super::operation::operation;
use super::yaml::{Mixed, OperationKeys};
use crate::operation_kind::{OperationKind, OperationWord};
use crate::operations::Site;
use crate::plan::{Operation, OperationPart};

/// Operations that a bulk_write may be made of.
const BULK_WRITE: &[OperationWord] = &[
    OperationWord::InsertOne,
    OperationWord::UpdateOne,
    OperationWord::ReplaceOne,
    OperationWord::DeleteOne,
];
/// Operations that a transaction may be made of.
const TRANSACTION: &[OperationWord] = &[
    OperationWord::InsertOne,
    OperationWord::FindOne,
    OperationWord::UpdateOne,
    OperationWord::ReplaceOne,
    OperationWord::DeleteOne,
    OperationWord::FindOneAndUpdate,
];

/// Adds the parts of the last operation, if it has any.
pub fn add_parts(
    check: &mut Check<'_>,
    site: &mut Site<'_>,
    keys: &OperationKeys,
    operations: &mut Vec<Operation>,
    weights: &mut Vec<u32>,
) {
    let whole = operations.len() - 1;
    let kind = operations[whole].kind;
    let known = match kind {
        OperationKind::BulkWrite => BULK_WRITE,
        OperationKind::Transaction => TRANSACTION,
        _ => return,
    };
    let Some(parts) = &keys.parts else { return };
    for part in &parts.value {
        let Some(word) = &part.value.operation else {
            check.wrong(part.place, "`operation` is missing", "`operation: insert_one`");
            continue;
        };
        if !known.contains(&word.value) {
            let message = format!("a {} has no {}", kind.name(), word.value.name());
            let names: Vec<&str> = known.iter().map(|word| word.name()).collect();
            check.wrong(word.place, message, format!("one of: {}", names.join(", ")));
            continue;
        }
        let mut own = part.value.operation_keys();
        own.collection = own.collection.or(keys.collection.clone());
        check_part(check, kind, part, &own);
        let name = part.value.name.as_ref().map_or(word.value.name(), |name| name.value.as_str());
        let name = format!("{}/{name}", operations[whole].name);
        let Some(made) = operation(check, site, &own, &name, word.place) else { continue };
        if kind == OperationKind::BulkWrite && made.collection != operations[whole].collection {
            let message = "a bulk_write works on one collection";
            check.wrong(word.place, message, "leave out the part's `collection`");
        }
        let weight = part.value.weight.as_ref().map_or(1, |weight| weight.value);
        let operation = operations.len() as u8;
        operations[whole].parts.push(OperationPart { operation, weight });
        operations.push(made);
        weights.push(0);
    }
    if operations[whole].parts.iter().all(|part| part.weight == 0) {
        check.wrong(
            parts.place,
            "all parts have the weight 0",
            "give at least one of them a `weight:`",
        );
    }
    if operations.len() > MIX_MAX {
        check.wrong(parts.place, format!("more than {MIX_MAX} operations"), "make several phases");
    }
}

/// Concerns are the whole operation's, and each part of a transaction comes once.
fn check_part(check: &mut Check<'_>, kind: OperationKind, part: &At<Mixed>, own: &OperationKeys) {
    let whole = kind.name();
    let mut refuse = |place: Option<Location>, key: &str, hint: String| {
        if let Some(place) = place {
            check.wrong(place, format!("a part of a {whole} has no separate `{key}`"), hint);
        }
    };
    let to_the_whole = |key: &str| format!("give the `{key}` to the {whole}, or leave it out");
    let place = own.write_concern.as_ref().map(|it| it.place);
    refuse(place, "write_concern", to_the_whole("write_concern"));
    let place = own.expect.as_ref().map(|it| it.place);
    refuse(place, "expect", "leave it out, or make it an operation by itself".into());
    if kind == OperationKind::Transaction {
        let place = own.read_concern.as_ref().map(|it| it.place);
        refuse(place, "read_concern", to_the_whole("read_concern"));
        let place = own.read_preference.as_ref().map(|it| it.place);
        refuse(place, "read_preference", "leave it out: a transaction reads the primary".into());
        let place = part.value.weight.as_ref().map(|it| it.place);
        refuse(place, "weight", "leave it out: all parts come, in their order".into());
    }
}
