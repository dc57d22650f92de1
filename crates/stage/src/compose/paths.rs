//! Interned paths of prims, with variant selections.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// An interned path; equal paths have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PathId(u32);

impl PathId {
    /// The pseudo-root, `/`.
    pub const ROOT: Self = Self(0);
}

/// An interned name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct NameId(u32);

/// The last element of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Element {
    Prim(NameId),
    /// A variant set and the selected variant.
    Variant(NameId, NameId),
}

#[derive(Clone, Copy)]
struct Entry {
    parent: PathId,
    element: Element,
    /// Number of elements.
    len: u32,
    /// Number of elements that are prims.
    prims: u32,
    /// The path without variant selections.
    plain: PathId,
}

/// The table of interned paths. Parents are interned before their children, so that loops to the root
/// end.
pub(crate) struct Paths {
    entries: Vec<Entry>,
    ids: HashMap<(PathId, Element), PathId>,
    names: Vec<Arc<str>>,
    name_ids: HashMap<Arc<str>, NameId>,
    /// Number of elements that comparing and mapping paths visited.
    visited: Cell<usize>,
}

impl Default for Paths {
    fn default() -> Self {
        let mut paths = Self {
            entries: Vec::new(),
            ids: HashMap::new(),
            names: Vec::new(),
            name_ids: HashMap::new(),
            visited: Cell::new(0),
        };
        let element = Element::Prim(paths.name_id(""));
        paths.entries.push(Entry {
            parent: PathId::ROOT,
            element,
            len: 0,
            prims: 0,
            plain: PathId::ROOT,
        });
        paths
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "memory ends before 2^32 paths"
)]
impl Paths {
    #[allow(
        clippy::indexing_slicing,
        reason = "only this table makes ids, one for each entry"
    )]
    fn entry(&self, id: PathId) -> Entry {
        self.entries[id.0 as usize]
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "only this table makes ids, one for each name"
    )]
    fn name_text(&self, id: NameId) -> &str {
        &self.names[id.0 as usize]
    }

    fn name_id(&mut self, name: &str) -> NameId {
        if let Some(known) = self.name_ids.get(name) {
            return *known;
        }
        let id = NameId(self.names.len() as u32);
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.name_ids.insert(name, id);
        id
    }

    fn append(&mut self, parent: PathId, element: Element) -> PathId {
        if let Some(known) = self.ids.get(&(parent, element)) {
            return *known;
        }
        let above = self.entry(parent);
        let (prims, plain) = match element {
            Element::Variant(..) => (above.prims, Some(above.plain)),
            Element::Prim(_) if above.plain == parent => (above.prims + 1, None),
            Element::Prim(_) => (above.prims + 1, Some(self.append(above.plain, element))),
        };
        let id = PathId(self.entries.len() as u32);
        self.entries.push(Entry {
            parent,
            element,
            len: above.len + 1,
            prims,
            plain: plain.unwrap_or(id),
        });
        self.ids.insert((parent, element), id);
        id
    }

    /// Returns the number of interned paths.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of elements that comparing and mapping paths visited.
    pub fn visited(&self) -> usize {
        self.visited.get()
    }

    /// Sets the number of visited elements, to exclude those that do not count.
    pub fn set_visited(&self, count: usize) {
        self.visited.set(count);
    }

    fn visit(&self, elements: u32) {
        self.visited.set(self.visited.get() + 1 + elements as usize);
    }

    /// Returns the path of a child.
    pub fn child(&mut self, parent: PathId, name: &str) -> PathId {
        let name = self.name_id(name);
        self.append(parent, Element::Prim(name))
    }

    /// Returns the path of a child with the name of the prim `named`.
    pub fn child_like(&mut self, parent: PathId, named: PathId) -> PathId {
        let element = self.entry(named).element;
        self.append(parent, element)
    }

    /// Returns the path of a variant.
    pub fn variant(&mut self, prim: PathId, set: &str, variant: &str) -> PathId {
        let element = Element::Variant(self.name_id(set), self.name_id(variant));
        self.append(prim, element)
    }

    /// Returns the name of the prim at the end of a path; empty for another path.
    pub fn name(&self, id: PathId) -> &str {
        match self.entry(id).element {
            Element::Prim(name) => self.name_text(name),
            Element::Variant(..) => "",
        }
    }

    /// Returns the parent; that of the pseudo-root is itself.
    pub fn parent(&self, id: PathId) -> PathId {
        self.entry(id).parent
    }

    /// Returns the number of elements.
    pub fn len(&self, id: PathId) -> u32 {
        self.entry(id).len
    }

    /// Returns the number of elements that are prims.
    pub fn prims(&self, id: PathId) -> u32 {
        self.entry(id).prims
    }

    /// Returns the path without variant selections.
    pub fn plain(&self, id: PathId) -> PathId {
        self.entry(id).plain
    }

    /// Returns whether the path contains a variant selection.
    pub fn has_variants(&self, id: PathId) -> bool {
        self.plain(id) != id
    }

    /// Returns set and variant of a path that ends with a selection.
    pub fn selection(&self, id: PathId) -> Option<(&str, &str)> {
        match self.entry(id).element {
            Element::Variant(set, variant) => Some((self.name_text(set), self.name_text(variant))),
            Element::Prim(_) => None,
        }
    }

    /// Returns whether the path ends with a variant selection.
    pub fn is_variant(&self, id: PathId) -> bool {
        matches!(self.entry(id).element, Element::Variant(..))
    }

    /// Returns the path of the prim, without the selections at the end.
    pub fn prim(&self, mut id: PathId) -> PathId {
        while self.is_variant(id) {
            id = self.parent(id);
        }
        id
    }

    /// Returns whether `prefix` is the path or one above it.
    pub fn has_prefix(&self, mut id: PathId, prefix: PathId) -> bool {
        let len = self.len(prefix);
        self.visit(self.len(id).saturating_sub(len));
        while self.len(id) > len {
            id = self.parent(id);
        }
        id == prefix
    }

    /// Returns the path with its beginning replaced; a path without that beginning as it is.
    pub fn replace_prefix(&mut self, id: PathId, from: PathId, to: PathId) -> PathId {
        if from == to || !self.has_prefix(id, from) {
            return id;
        }
        let mut rest = Vec::new();
        let mut at = id;
        while at != from {
            let entry = self.entry(at);
            rest.push(entry.element);
            at = entry.parent;
        }
        // A new path takes as much time as some steps to its parent.
        self.visit(4 * rest.len() as u32);
        rest.into_iter()
            .rev()
            .fold(to, |path, element| self.append(path, element))
    }

    /// Returns the text; empty for the pseudo-root.
    pub fn text(&self, id: PathId) -> String {
        let mut chain = Vec::new();
        let mut at = id;
        while at != PathId::ROOT {
            let entry = self.entry(at);
            chain.push(entry.element);
            at = entry.parent;
        }
        let mut text = String::new();
        let mut is_after_variant = false;
        for element in chain.into_iter().rev() {
            match element {
                Element::Prim(name) => {
                    // A child of a variant continues its path without a slash.
                    if !is_after_variant {
                        text.push('/');
                    }
                    text.push_str(self.name_text(name));
                    is_after_variant = false;
                }
                Element::Variant(set, variant) => {
                    text.push('{');
                    text.push_str(self.name_text(set));
                    text.push('=');
                    text.push_str(self.name_text(variant));
                    text.push('}');
                    is_after_variant = true;
                }
            }
        }
        text
    }

    /// Interns the text of an absolute path of a prim or variant; `None` for another text.
    pub fn parse(&mut self, text: &str) -> Option<PathId> {
        let mut rest = text.strip_prefix('/')?;
        let mut path = PathId::ROOT;
        while !rest.is_empty() {
            if let Some(inside) = rest.strip_prefix('{') {
                let (selection, after) = inside.split_once('}')?;
                let (set, variant) = selection.split_once('=')?;
                path = self.variant(path, set, variant);
                rest = after.strip_prefix('/').unwrap_or(after);
                continue;
            }
            let end = rest.find(['/', '{']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() || name.contains(['.', '[', '}']) {
                return None;
            }
            path = self.child(path, name);
            rest = after.strip_prefix('/').unwrap_or(after);
        }
        Some(path)
    }
}
