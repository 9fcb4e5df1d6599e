//! Projections: fields that are shown, or fields that are hidden.

use wire::raw::{Value, fields, kind};

use super::fault::{Fallible, Fault};
use super::field_path::FieldPath;
use super::stored_collection::StoredDocument;
use super::writer::Writer;

#[derive(Debug)]
pub struct Projection {
    /// Whether the fields of the tree are shown, and no other; else they are hidden.
    shows: bool,
    tree: ProjectionTree,
}

/// Names at one level of a document, each with those below it. None below it: the whole value.
#[derive(Debug, Default)]
struct ProjectionTree(Vec<(Vec<u8>, ProjectionTree)>);

impl Projection {
    /// Returns None if everything is shown.
    pub fn parse(projection: &[u8]) -> Fallible<Option<Self>> {
        let (mut shows, mut id, mut tree) = (None, None, ProjectionTree::default());
        for field in fields(projection) {
            if field.value.kind != kind::BOOL && field.value.number().is_none() {
                return Err(Fault::not_here("projections that compute or cut a field"));
            }
            let shown = field.value.truth();
            if field.name == b"_id" {
                id = Some(shown);
                continue;
            }
            if shows.is_some_and(|shows| shows != shown) {
                let (what, kind, code) = if shown {
                    ("inclusion", "exclusion", 31253)
                } else {
                    ("exclusion", "inclusion", 31254)
                };
                let name = field.name();
                let message = format!("Cannot do {what} on field {name} in {kind} projection");
                return Err(Fault::new(code, message));
            }
            shows = Some(shown);
            tree.add(&checked(field.name)?)?;
        }
        // `_id` is shown unless it is hidden by name.
        let Some(shows) = shows.or(id) else { return Ok(None) };
        if id.unwrap_or(true) == shows {
            tree.0.push((b"_id".to_vec(), ProjectionTree::default()));
        }
        Ok(Some(Self { shows, tree }))
    }

    pub fn of(&self, document: &StoredDocument) -> StoredDocument {
        let mut writer = Writer::new(document.bytes().len());
        self.within(document.bytes(), &self.tree, &mut writer);
        StoredDocument::new(&writer.finish())
    }

    fn within(&self, document: &[u8], tree: &ProjectionTree, writer: &mut Writer) {
        for field in fields(document) {
            match tree.0.iter().find(|(name, _)| name == field.name) {
                Some((_, below)) if !below.0.is_empty() => match field.value.kind {
                    kind::DOCUMENT | kind::ARRAY => {
                        let at = writer.open(field.value.kind, field.name);
                        self.below(field.value, below, writer);
                        writer.close(at);
                    }
                    _ if self.shows => {}
                    _ => writer.copy(&field),
                },
                named if named.is_some() == self.shows => writer.copy(&field),
                _ => {}
            }
        }
    }

    fn below(&self, value: Value<'_>, tree: &ProjectionTree, writer: &mut Writer) {
        if value.kind == kind::DOCUMENT {
            self.within(value.bytes, tree, writer);
        } else {
            self.elements(value.bytes, tree, writer);
        }
    }

    /// Each document of an array, also of one within it; what is none has no such field.
    fn elements(&self, array: &[u8], tree: &ProjectionTree, writer: &mut Writer) {
        let mut index = 0;
        for element in fields(array) {
            match element.value.kind {
                kind::DOCUMENT | kind::ARRAY => {
                    let at = writer.open_element(element.value.kind, index);
                    self.below(element.value, tree, writer);
                    writer.close(at);
                }
                _ if self.shows => continue,
                _ => writer.element(index, element.value),
            }
            index += 1;
        }
    }
}

fn checked(name: &[u8]) -> Fallible<FieldPath> {
    let path = FieldPath::bounded(name)?;
    if path.parts[0] == b"_id" || path.parts.iter().any(|part| part.starts_with(b"$")) {
        return Err(Fault::not_here(&format!("projections of '{}'", path.name())));
    }
    if path.parts.iter().any(Vec::is_empty) {
        let code = if name.ends_with(b".") { 40353 } else { 15998 };
        let message = format!("the projection's path '{}' has an empty name", path.name());
        return Err(Fault::new(code, message));
    }
    Ok(path)
}

impl ProjectionTree {
    fn add(&mut self, path: &FieldPath) -> Fallible<()> {
        let (mut tree, mut is_new) = (self, false);
        let collision = |code| Fault::new(code, format!("Path collision at {}", path.name()));
        for (depth, part) in (1..).zip(&path.parts) {
            let known = tree.0.iter().position(|(name, _)| name == part);
            let ends_above = known.is_some_and(|at| tree.0[at].1.0.is_empty());
            if ends_above && depth < path.parts.len() {
                return Err(collision(31249));
            }
            let at = known.unwrap_or_else(|| {
                is_new = true;
                tree.0.push((part.clone(), Self::default()));
                tree.0.len() - 1
            });
            tree = &mut tree.0[at].1;
        }
        if is_new { Ok(()) } else { Err(collision(31250)) }
    }
}
