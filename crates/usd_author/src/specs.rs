//! The specs of a layer under construction. Those of prims are found by the text of their path, and
//! those of properties by their prim and name.
//!
//! In `openusd`'s own container each property has a path, which is built, validated and hashed for
//! every access: half the time of authoring a layer of thousands of properties.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::{Equivalent, HashMap, HashSet};
use openusd::sdf::{self, SpecData, SpecType, Value};
use openusd::tf::Token;

use super::Error;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The key of a prim, a variant, a variant set or the pseudo-root in [`Specs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PrimId(usize);

/// The text of a token.
#[derive(Hash)]
struct Text<'a>(&'a str);

impl Equivalent<Token> for Text<'_> {
    // The hashes are equal, too: that of a token is the hash of its text.
    fn equivalent(&self, token: &Token) -> bool {
        self.0 == token.as_str()
    }
}

/// A property: its prim, and its name.
#[derive(PartialEq, Eq, Hash)]
struct Property<'a>(PrimId, &'a str);

impl Equivalent<(PrimId, Token)> for Property<'_> {
    // As those of `Text`, the hashes are equal.
    fn equivalent(&self, (prim, name): &(PrimId, Token)) -> bool {
        self.0 == *prim && self.1 == name.as_str()
    }
}

/// A spec, as [`SpecData`], but without an allocation for the name of each field: these are a fifth of
/// the allocations of a conversion of a small robot.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub ty: SpecType,
    pub fields: Vec<(Cow<'static, str>, Value)>,
}

impl Spec {
    /// Returns a spec without fields, with room for `fields`.
    pub(super) fn with_capacity(ty: SpecType, fields: usize) -> Self {
        let fields = Vec::with_capacity(fields);
        Self { ty, fields }
    }

    /// Sets a field; an existing one keeps its position.
    pub(super) fn add(&mut self, key: impl Into<Cow<'static, str>>, value: Value) {
        let key = key.into();
        match self.get_mut(&key) {
            Some(existing) => *existing = value,
            None => self.fields.push((key, value)),
        }
    }

    /// Returns the value of a field.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        let mut fields = self.fields.iter();
        fields.find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the value of a field, for editing.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let mut fields = self.fields.iter_mut();
        fields.find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

impl From<SpecData> for Spec {
    fn from(spec: SpecData) -> Self {
        let fields = spec.fields.into_iter();
        Self {
            ty: spec.ty,
            fields: fields.map(|(key, value)| (key.into(), value)).collect(),
        }
    }
}

impl From<Spec> for SpecData {
    fn from(spec: Spec) -> Self {
        let fields = spec.fields.into_iter();
        Self {
            ty: spec.ty,
            fields: fields
                .map(|(key, value)| (key.into_owned(), value))
                .collect(),
        }
    }
}

#[derive(Clone, Debug)]
struct Prim {
    path: Arc<str>,
    /// `None` after its removal, and if only its properties have specs.
    spec: Option<Spec>,
}

/// Specs by path.
#[derive(Clone, Debug, Default)]
pub(super) struct Specs {
    ids: Map<Arc<str>, PrimId>,
    /// By id.
    prims: Vec<Prim>,
    properties: Map<(PrimId, Token), Spec>,
    /// Names of properties and types, each allocated once.
    tokens: HashSet<Token, foldhash::fast::RandomState>,
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
    pub(super) fn spec(&self, id: PrimId) -> Option<&Spec> {
        self.prims.get(id.0)?.spec.as_ref()
    }

    /// Returns the spec of a prim, for editing.
    pub(super) fn spec_mut(&mut self, id: PrimId) -> Option<&mut Spec> {
        self.prims.get_mut(id.0)?.spec.as_mut()
    }

    /// Sets the spec of the prim at `path`.
    pub(super) fn insert(&mut self, path: &str, spec: Spec) -> PrimId {
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

    /// Returns a token that is shared by all users of its text.
    pub(super) fn token(&mut self, text: &str) -> Token {
        if let Some(known) = self.tokens.get(&Text(text)) {
            return known.clone();
        }
        let token = Token::from(text);
        self.tokens.insert(token.clone());
        token
    }

    /// Returns the spec of a property.
    pub(super) fn property(&self, prim: PrimId, name: &str) -> Option<&Spec> {
        self.properties.get(&Property(prim, name))
    }

    /// Sets the spec of a property. Returns whether it is new.
    pub(super) fn set_property(&mut self, prim: PrimId, name: Token, spec: Spec) -> bool {
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
        let mut add = |path: &str, spec: Spec| {
            let path = sdf::Path::new(path).map_err(|error| Error {
                path: path.to_owned(),
                reason: error.reason.to_owned(),
            })?;
            let ty = spec.ty;
            *data.create_spec(path, ty) = spec.into();
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
                    specs.set_property(prim, name.into(), spec.into());
                }
                None => {
                    specs.insert(path.as_str(), spec.into());
                }
            }
        }
        if specs.id("/").is_none() {
            specs.insert("/", Spec::with_capacity(SpecType::PseudoRoot, 0));
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
