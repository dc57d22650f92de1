//! The specs of a layer under construction. Those of prims are found by the text of their path, and
//! those of properties by their prim and name.
//!
//! In `openusd`'s own container each property has a path, which is built, validated and hashed for
//! every access: half the time of authoring a layer of thousands of properties.

use std::sync::Arc;

use hashbrown::{Equivalent, HashMap};
use openusd::sdf::{self, SpecData, SpecType};
use openusd::tf::Token;

use super::Error;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The key of a prim, a variant, a variant set or the pseudo-root in [`Specs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PrimId(usize);

/// A property: its prim, and its name.
#[derive(PartialEq, Eq, Hash)]
struct Property<'a>(PrimId, &'a str);

impl Equivalent<(PrimId, Token)> for Property<'_> {
    // The hashes are equal too: that of a token is the hash of its text.
    fn equivalent(&self, (prim, name): &(PrimId, Token)) -> bool {
        self.0 == *prim && self.1 == name.as_str()
    }
}

#[derive(Clone, Debug)]
struct Prim {
    path: Arc<str>,
    /// `None` after its removal, and if only its properties have specs.
    spec: Option<SpecData>,
}

/// Specs by path.
#[derive(Clone, Debug, Default)]
pub(super) struct Specs {
    ids: Map<Arc<str>, PrimId>,
    /// By id.
    prims: Vec<Prim>,
    properties: Map<(PrimId, Token), SpecData>,
}

impl Specs {
    /// Returns the key of the prim at `path`, if it has a spec.
    pub(super) fn id(&self, path: &str) -> Option<PrimId> {
        let id = *self.ids.get(path)?;
        self.spec(id).map(|_| id)
    }

    /// Returns the path of a prim.
    pub(super) fn path(&self, id: PrimId) -> &str {
        self.prims.get(id.0).map_or("", |prim| &prim.path)
    }

    /// Returns the spec of a prim.
    pub(super) fn spec(&self, id: PrimId) -> Option<&SpecData> {
        self.prims.get(id.0)?.spec.as_ref()
    }

    /// Returns the spec of a prim, for editing.
    pub(super) fn spec_mut(&mut self, id: PrimId) -> Option<&mut SpecData> {
        self.prims.get_mut(id.0)?.spec.as_mut()
    }

    /// Sets the spec of the prim at `path`.
    pub(super) fn insert(&mut self, path: &str, spec: SpecData) -> PrimId {
        let id = self.id_or_new(path);
        if let Some(prim) = self.prims.get_mut(id.0) {
            prim.spec = Some(spec);
        }
        id
    }

    fn id_or_new(&mut self, path: &str) -> PrimId {
        if let Some(&id) = self.ids.get(path) {
            return id;
        }
        let (id, path) = (PrimId(self.prims.len()), Arc::<str>::from(path));
        self.prims.push(Prim {
            path: path.clone(),
            spec: None,
        });
        self.ids.insert(path, id);
        id
    }

    /// Removes the specs of the prims that `is_removed` accepts by path, and of their properties.
    pub(super) fn remove(&mut self, is_removed: impl Fn(&str) -> bool) {
        for prim in &mut self.prims {
            if is_removed(&prim.path) {
                prim.spec = None;
            }
        }
        let prims = &self.prims;
        self.properties
            .retain(|(id, _), _| prims.get(id.0).is_some_and(|prim| !is_removed(&prim.path)));
    }

    /// Returns the spec of a property.
    pub(super) fn property(&self, prim: PrimId, name: &str) -> Option<&SpecData> {
        self.properties.get(&Property(prim, name))
    }

    /// Sets the spec of a property. Returns whether it is new.
    pub(super) fn set_property(&mut self, prim: PrimId, name: Token, spec: SpecData) -> bool {
        self.properties.insert((prim, name), spec).is_none()
    }

    /// Removes the spec of a property.
    pub(super) fn remove_property(&mut self, prim: PrimId, name: &str) {
        self.properties.remove(&Property(prim, name));
    }

    /// Returns whether there is a spec at the path of a prim or a property.
    pub(super) fn has(&self, path: &str) -> bool {
        match split_property(path) {
            Some((prim, name)) => self
                .ids
                .get(prim)
                .is_some_and(|&prim| self.property(prim, name).is_some()),
            None => self.id(path).is_some(),
        }
    }

    /// Returns the specs in `openusd`'s container.
    ///
    /// # Errors
    /// A path that is not valid.
    pub(super) fn into_data(self) -> Result<sdf::Data, Error> {
        let mut data = sdf::Data::new();
        let mut add = |path: &str, spec: SpecData| {
            let path = sdf::Path::new(path).map_err(|error| Error {
                path: path.to_owned(),
                reason: error.reason.to_owned(),
            })?;
            let ty = spec.ty;
            *data.create_spec(path, ty) = spec;
            Ok::<(), Error>(())
        };
        for ((prim, name), spec) in self.properties {
            if let Some(prim) = self.prims.get(prim.0) {
                add(&format!("{}.{name}", prim.path), spec)?;
            }
        }
        for Prim { path, spec } in self.prims {
            if let Some(spec) = spec {
                add(&path, spec)?;
            }
        }
        Ok(data)
    }
}

impl From<sdf::Data> for Specs {
    fn from(mut data: sdf::Data) -> Self {
        let mut specs = Self::default();
        let paths: Vec<sdf::Path> = data.iter().map(|(path, _)| path.clone()).collect();
        for path in paths {
            let Some(spec) = data.erase_spec(&path) else {
                continue;
            };
            match split_property(path.as_str()) {
                Some((prim, name)) => {
                    let prim = specs.id_or_new(prim);
                    specs.set_property(prim, name.into(), spec);
                }
                None => {
                    specs.insert(path.as_str(), spec);
                }
            }
        }
        if specs.id("/").is_none() {
            specs.insert("/", SpecData::new(SpecType::PseudoRoot));
        }
        specs
    }
}

/// Splits the valid path of a property into those of its prim and its name. Names of variants may
/// contain dots, too.
fn split_property(path: &str) -> Option<(&str, &str)> {
    let variants = path.rfind('}').map_or(0, |end| end + 1);
    let (_, name) = path.get(variants..)?.split_once('.')?;
    let prim = path.len().checked_sub(name.len() + 1)?;
    Some((path.get(..prim)?, name))
}
