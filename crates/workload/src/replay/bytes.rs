//! BSON bytes of the documents that a phase writes and reads, where they follow from the pools.

use crate::operations::about;
use crate::plan::{Collection, Operation, OperationKind, Plan};

/// Bytes of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentBytes {
    /// Bytes of a document that each operation of the phase writes; 0 where it writes none.
    pub written: Vec<u64>,
    /// Bytes of each document that the phase reads; 0 where it reads none.
    pub read: u64,
}

/// None where documents differ in size, where parts of a bulk write them, or where an answer is no
/// document of a collection as it was made: an aggregation, a projection, a collection that is
/// updated. A mean times a count is no measurement: which documents are read follows from the keys.
pub fn document_bytes(plan: &Plan, number: usize) -> Option<DocumentBytes> {
    let phase = &plan.phases[number];
    let mut bytes = DocumentBytes { written: Vec::new(), read: 0 };
    for made in &phase.operations {
        let pool = plan.pool(phase, made);
        bytes.written.push(pool.map_or(Some(0), size)?);
        match made.kind {
            OperationKind::Find | OperationKind::FindOne if made.projection.is_none() => {
                let of = size(plan.collection(made).filter(|it| is_as_made(plan, it))?)?;
                if ![0, of].contains(&bytes.read) {
                    return None;
                }
                bytes.read = of;
            }
            OperationKind::Command
            | OperationKind::Noop
            | OperationKind::Count
            | OperationKind::Distinct
            | OperationKind::UpdateMany
            | OperationKind::EstimatedCount
            | OperationKind::BulkWrite
            | OperationKind::Transaction => {
                return None;
            }
            kind if about(kind).reads_documents => return None,
            _ => {}
        }
    }
    Some(bytes)
}

/// The size that all documents of a pool have.
fn size(pool: &Collection) -> Option<u64> {
    let one = pool.document_bytes_max;
    (pool.document_bytes_mean.total_cmp(&(one as f64)).is_eq()).then_some(one)
}

/// Whether a collection holds documents of no other pool, in all phases of the plan.
fn is_as_made(plan: &Plan, collection: &Collection) -> bool {
    let mut all =
        plan.phases.iter().flat_map(|phase| phase.operations.iter().map(move |made| (phase, made)));
    all.all(|(phase, made)| {
        let about = about(made.kind);
        let own = || plan.pool(phase, made).is_some_and(|from| from.name == collection.name);
        let touches = made.collection == collection.name || made.collection.is_empty();
        !touches || !writes(made) || about.deletes() || (about.inserts() && own())
    })
}

fn writes(made: &Operation) -> bool {
    (about(made.kind).writes)(made)
}
