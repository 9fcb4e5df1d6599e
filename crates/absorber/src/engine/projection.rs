//! Which fields of a document are shown.

use super::error::{Fault, Outcome};
use super::path::Path;
use super::raw::{Field, Value, fields, kind};
use super::writer::Writer;

/// Plain inclusions or exclusions.
#[derive(Debug, Clone)]
pub struct Projection {
    include: bool,
    tree: Tree,
}

/// Names, and what is below them.
type Tree = Vec<(Vec<u8>, Branch)>;

#[derive(Debug, Clone)]
enum Branch {
    Leaf,
    Inner(Tree),
}

impl Projection {
    /// Reads a projection; None: everything is shown.
    pub fn parse(projection: &[u8]) -> Outcome<Option<Self>> {
        let mut include = None;
        let mut id = None;
        let mut tree = Tree::new();
        for field in fields(projection) {
            if field.value.number().is_none() && field.value.kind != kind::BOOL {
                return Err(Fault::not_here("projections but 1 and 0"));
            }
            let wanted = field.value.truth();
            if field.name == b"_id" {
                id = Some(wanted);
                continue;
            }
            let name = field.name();
            match include {
                Some(true) if !wanted => {
                    let message =
                        format!("Cannot do exclusion on field {name} in inclusion projection");
                    return Err(Fault::new(31254, message));
                }
                Some(false) if wanted => {
                    let message =
                        format!("Cannot do inclusion on field {name} in exclusion projection");
                    return Err(Fault::new(31253, message));
                }
                _ => include = Some(wanted),
            }
            if field.name.split(|byte| *byte == b'.').any(|part| part.starts_with(b"$")) {
                return Err(Fault::not_here("positional projections"));
            }
            let path = Path::bounded(field.name)?;
            add(&mut tree, &path.parts, &path)?;
        }
        let Some(include) = include.or(id) else { return Ok(None) };
        if include == id.unwrap_or(true) {
            tree.push((b"_id".to_vec(), Branch::Leaf));
        }
        Ok(Some(Self { include, tree }))
    }

    /// The document that is shown.
    pub fn apply(&self, document: &[u8]) -> Vec<u8> {
        let mut writer = Writer::new(document.len());
        self.show(document, &self.tree, &mut writer);
        writer.finish()
    }

    fn show(&self, document: &[u8], tree: &Tree, writer: &mut Writer) {
        for field in fields(document) {
            match tree.iter().find(|(name, _)| name == field.name) {
                None if !self.include => writer.copy(&field),
                Some((_, Branch::Leaf)) if self.include => writer.copy(&field),
                Some((_, Branch::Inner(tree))) => self.show_inner(&field, tree, writer),
                _ => {}
            }
        }
    }

    fn show_inner(&self, field: &Field<'_>, tree: &Tree, writer: &mut Writer) {
        let value = field.value;
        if !matches!(value.kind, kind::DOCUMENT | kind::ARRAY) {
            if !self.include {
                writer.copy(field);
            }
            return;
        }
        let at = writer.open(value.kind, field.name);
        if value.kind == kind::DOCUMENT {
            self.show(value.bytes, tree, writer);
        } else {
            self.show_elements(value, tree, writer);
        }
        writer.close(at);
    }

    fn show_elements(&self, array: Value<'_>, tree: &Tree, writer: &mut Writer) {
        let mut index = 0;
        for element in fields(array.bytes) {
            let inner = matches!(element.value.kind, kind::DOCUMENT | kind::ARRAY);
            if inner {
                let name = index.to_string();
                let renamed = Field { name: name.as_bytes(), ..element };
                self.show_inner(&renamed, tree, writer);
            } else if !self.include {
                writer.element(index, element.value);
            } else {
                continue;
            }
            index += 1;
        }
    }
}

fn add(tree: &mut Tree, parts: &[Vec<u8>], path: &Path) -> Outcome<()> {
    let Some((first, rest)) = parts.split_first() else { return Ok(()) };
    let collision = |rest: &[Vec<u8>]| {
        let path = path.name();
        let rest = rest.iter().map(|part| String::from_utf8_lossy(part));
        let rest = rest.collect::<Vec<_>>().join(".");
        if rest.is_empty() {
            Fault::new(31250, format!("Path collision at {path}"))
        } else {
            Fault::new(31249, format!("Path collision at {path} remaining portion {rest}"))
        }
    };
    match tree.iter_mut().find(|(name, _)| name == first) {
        Some((_, Branch::Inner(inner))) if !rest.is_empty() => add(inner, rest, path),
        Some(_) => Err(collision(rest)),
        None if rest.is_empty() => {
            tree.push((first.clone(), Branch::Leaf));
            Ok(())
        }
        None => {
            let mut inner = Tree::new();
            add(&mut inner, rest, path)?;
            tree.push((first.clone(), Branch::Inner(inner)));
            Ok(())
        }
    }
}
