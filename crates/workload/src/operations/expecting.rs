//! `expect`: outcomes that are right where an operation says so. What cannot come about is refused.

use super::making::Making;
use crate::authoring::yaml_values::ExpectYaml;
use crate::plan::{Collection, Expectable, StampForm, StampSource};

impl Making<'_, '_, '_> {
    /// The keys of the operation are those of no document.
    pub fn expect_missing(&mut self) {
        let Some(expect) = &self.keys.expect else { return };
        let mut wrong = |message: &str, hint: &str| self.check.wrong(expect.place, message, hint);
        if !matches!(expect.value, ExpectYaml::Missing) {
            wrong("duplicates are expected of inserts alone", "write `expect: missing`");
        }
        if self.keys.upsert.as_ref().is_some_and(|upsert| upsert.value) {
            wrong("an upsert inserts what is missing", "leave out `upsert` or `expect`");
        }
        if let Some(filter) = &self.keys.filter {
            let hint = "leave out `filter`: keys are chosen that are not there";
            self.check.wrong(filter.place, "which documents a filter misses is not known", hint);
        }
        self.made.expect = Some(Expectable::Missing);
    }

    /// Some of the inserted documents are there already.
    pub fn expect_duplicates(&mut self) {
        let Some(expect) = &self.keys.expect else { return };
        let place = expect.place;
        let ExpectYaml::Duplicate(share) = expect.value else {
            let hint = "write `expect: {duplicate: 0.1}`";
            self.check.wrong(place, "an insert looks for nothing that could be missing", hint);
            return;
        };
        if !(share > 0.0 && share < 1.0) {
            let message = format!("a share of {share} cannot be duplicates");
            self.check.wrong(place, message, "choose one between 0 and 1, such as 0.1");
        }
        if self.keys.batch.is_some() && self.keys.ordered.as_ref().is_none_or(|it| it.value) {
            let message = "an ordered batch ends at its first duplicate";
            self.check.wrong(place, message, "add `ordered: false`");
        }
        if self.site.documents.is_some() {
            let message = "duplicates do not count as documents of the phase";
            self.check.wrong(place, message, "end the phase by `operations:` or `duration:`");
        }
        if self.made.write_concern.as_ref().is_some_and(|concern| concern["w"] == 0) {
            let message = "an unacknowledged write reports no duplicates";
            self.check.wrong(place, message, "leave out `w: 0`");
        }
        if !self.collection().is_some_and(has_unique_keys) {
            let message = "documents of this collection cannot be duplicates of one another";
            let hint = "give it an `_id` made of the key that is no guid";
            self.check.wrong(place, message, hint);
        }
        self.made.expect = Some(Expectable::Duplicate);
        self.made.duplicates = Some(share);
    }
}

/// Whether equal keys are equal `_id`s: a guid is made of its batch as well.
fn has_unique_keys(collection: &Collection) -> bool {
    let is_guid = |form| matches!(form, StampForm::Guid | StampForm::GuidString);
    let id = collection.stamps.iter().find(|stamp| stamp.path == ["_id"]);
    id.is_some_and(|stamp| stamp.from == StampSource::Key && !is_guid(stamp.form))
}
