//! The specs of a layer under construction. Those of prims are found by the text of their path, and
//! those of properties among the few of their prim, or by name if it has many.
//!
//! In `openusd`'s own container each property has a path, which is built, validated and hashed for
//! every access: half the time of authoring a layer of thousands of properties.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::hash_map::EntryRef;
use hashbrown::{Equivalent, HashMap, HashSet};
use openusd::sdf::{
    self, ChildrenKey, FieldKey, SpecData, SpecType, Specifier, Value, Variability,
};
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
#[derive(Hash)]
struct Place<'a>(PrimId, &'a str);

impl Equivalent<(PrimId, Token)> for Place<'_> {
    // As those of `Text`, the hashes are equal.
    fn equivalent(&self, (prim, name): &(PrimId, Token)) -> bool {
        self.0 == *prim && self.1 == name.as_str()
    }
}

const SPECIFIER: &str = FieldKey::Specifier.as_str();
const TYPE_NAME: &str = FieldKey::TypeName.as_str();
const VARIABILITY: &str = FieldKey::Variability.as_str();
const CUSTOM: &str = FieldKey::Custom.as_str();
const PRIM_CHILDREN: &str = ChildrenKey::PrimChildren.as_str();
const PROPERTY_CHILDREN: &str = ChildrenKey::PropertyChildren.as_str();

/// A spec, as [`SpecData`], but the frequent fields have their own types: any [`Value`] has the size of
/// the largest, 160 bytes. The names of children are in [`Specs`].
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub ty: SpecType,
    pub specifier: Option<Specifier>,
    pub type_name: Option<Token>,
    pub variability: Option<Variability>,
    pub custom: Option<bool>,
    /// All other fields.
    pub fields: Vec<(Cow<'static, str>, Value)>,
}

impl Spec {
    /// Returns a spec without fields.
    pub(super) fn new(ty: SpecType) -> Self {
        Self {
            ty,
            specifier: None,
            type_name: None,
            variability: None,
            custom: None,
            fields: Vec::new(),
        }
    }

    /// Sets a field; an existing one keeps its position.
    pub(super) fn add(&mut self, key: impl Into<Cow<'static, str>>, value: Value) {
        let key = key.into();
        match (&*key, value) {
            (SPECIFIER, Value::Specifier(specifier)) => self.specifier = Some(specifier),
            (TYPE_NAME, Value::Token(name)) => self.type_name = Some(name),
            (VARIABILITY, Value::Variability(variability)) => self.variability = Some(variability),
            (CUSTOM, Value::Bool(custom)) => self.custom = Some(custom),
            (_, value) => match self.get_mut(&key) {
                Some(existing) => *existing = value,
                None => self.fields.push((key, value)),
            },
        }
    }

    /// Returns the value of one of [`Self::fields`].
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        let mut fields = self.fields.iter();
        fields.find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the value of one of [`Self::fields`], for editing.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let mut fields = self.fields.iter_mut();
        fields.find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Removes one of [`Self::fields`], a list of names, and returns it.
    fn take_names(&mut self, key: &str) -> Vec<Token> {
        let is_list = |(name, value): &(Cow<'_, str>, Value)| {
            name == key && matches!(value, Value::TokenVec(_))
        };
        match self
            .fields
            .iter()
            .position(is_list)
            .map(|at| self.fields.remove(at))
        {
            Some((_, Value::TokenVec(names))) => names,
            _ => Vec::new(),
        }
    }

    /// Returns the spec with its children as `openusd` has it.
    fn into_data(self, properties: Vec<Token>, prims: Vec<Token>) -> SpecData {
        let mut fields = Vec::with_capacity(4 + self.fields.len());
        let mut add = |key: &str, value| fields.push((key.to_owned(), value));
        if let Some(specifier) = self.specifier {
            add(SPECIFIER, Value::Specifier(specifier));
        }
        if let Some(name) = self.type_name {
            add(TYPE_NAME, Value::Token(name));
        }
        if let Some(variability) = self.variability {
            add(VARIABILITY, Value::Variability(variability));
        }
        if let Some(custom) = self.custom {
            add(CUSTOM, Value::Bool(custom));
        }
        if !properties.is_empty() {
            add(PROPERTY_CHILDREN, Value::TokenVec(properties));
        }
        let others = self.fields.into_iter();
        let others = others.map(|(key, value)| (key.into_owned(), value));
        let prims = (!prims.is_empty()).then(|| (PRIM_CHILDREN.to_owned(), Value::TokenVec(prims)));
        // The metadata of a layer comes before its prims.
        if self.ty == SpecType::PseudoRoot {
            fields.extend(others.chain(prims));
        } else {
            fields.extend(prims.into_iter().chain(others));
        }
        SpecData {
            ty: self.ty,
            fields,
        }
    }
}

impl From<SpecData> for Spec {
    fn from(data: SpecData) -> Self {
        let mut spec = Self::new(data.ty);
        for (key, value) in data.fields {
            spec.add(key, value);
        }
        spec
    }
}

/// A property of a prim.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub name: Token,
    /// Has the type [`SpecType::Unknown`] if the prim lists a property that has no spec.
    pub spec: Spec,
}

#[derive(Clone, Debug)]
struct Prim {
    path: Arc<str>,
    /// `None` after its removal, and if it is only listed as a child.
    spec: Option<Spec>,
    children: Vec<PrimId>,
    properties: Vec<Property>,
}

/// Maximum number of properties of a prim that is searched one by one. Nearly all prims have fewer; those
/// of foreign layers may have 100,000.
const MAX_SEARCHED: usize = 32;

/// Specs by path.
#[derive(Clone, Debug, Default)]
pub(super) struct Specs {
    ids: Map<Arc<str>, PrimId>,
    /// By id.
    prims: Vec<Prim>,
    /// Indices of the properties of prims that have more than [`MAX_SEARCHED`].
    indices: Map<(PrimId, Token), usize>,
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

    /// Returns the name of a prim.
    pub(super) fn name(&self, id: PrimId) -> &str {
        self.path(id).rsplit(['/', '}']).next().unwrap_or_default()
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
        match self.ids.entry_ref(path) {
            EntryRef::Occupied(known) => *known.get(),
            EntryRef::Vacant(place) => {
                let (id, path) = (PrimId(self.prims.len()), Arc::<str>::from(path));
                self.prims.push(Prim {
                    path: path.clone(),
                    spec: None,
                    children: Vec::new(),
                    properties: Vec::new(),
                });
                *place.insert_with_key(path, id)
            }
        }
    }

    /// Removes the specs of the prims that `is_removed` accepts by path, with their properties and
    /// children.
    pub(super) fn remove(&mut self, is_removed: impl Fn(&str) -> bool) {
        for prim in &mut self.prims {
            if is_removed(&prim.path) {
                prim.spec = None;
                prim.children = Vec::new();
                prim.properties = Vec::new();
            }
        }
        let has_properties = |id: PrimId| {
            let prim = self.prims.get(id.0);
            prim.is_some_and(|prim| !prim.properties.is_empty())
        };
        self.indices.retain(|(id, _), _| has_properties(*id));
    }

    /// Returns the children of a prim.
    pub(super) fn children(&self, prim: PrimId) -> &[PrimId] {
        self.prims.get(prim.0).map_or(&[], |prim| &prim.children)
    }

    /// Returns the children of a prim, for editing.
    pub(super) fn children_mut(&mut self, prim: PrimId) -> Option<&mut Vec<PrimId>> {
        self.prims.get_mut(prim.0).map(|prim| &mut prim.children)
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

    /// Returns the properties of a prim.
    pub(super) fn properties(&self, prim: PrimId) -> &[Property] {
        self.prims.get(prim.0).map_or(&[], |prim| &prim.properties)
    }

    /// Returns the spec of a property.
    pub(super) fn property(&self, prim: PrimId, name: &str) -> Option<&Spec> {
        let found = self.properties(prim).get(self.position(prim, name)?)?;
        (found.spec.ty != SpecType::Unknown).then_some(&found.spec)
    }

    /// Returns the index of a property.
    fn position(&self, prim: PrimId, name: &str) -> Option<usize> {
        let properties = self.properties(prim);
        if properties.len() > MAX_SEARCHED {
            return self.indices.get(&Place(prim, name)).copied();
        }
        let mut properties = properties.iter();
        properties.position(|property| property.name.as_str() == name)
    }

    /// Updates the indices of the properties of a prim from the index `start` on.
    fn index(&mut self, prim: PrimId, start: usize) {
        let properties = self
            .prims
            .get(prim.0)
            .map_or(&[][..], |prim| &prim.properties);
        if properties.len() > MAX_SEARCHED {
            for (index, property) in properties.iter().enumerate().skip(start) {
                let place = (prim, property.name.clone());
                self.indices.entry(place).or_insert(index);
            }
        }
    }

    /// Sets the spec of a property; an existing one keeps its position.
    pub(super) fn set_property(&mut self, prim: PrimId, name: &str, spec: Spec) {
        let (token, position) = (self.token(name), self.position(prim, name));
        let Some(Prim { properties, .. }) = self.prims.get_mut(prim.0) else {
            return;
        };
        match position.and_then(|index| properties.get_mut(index)) {
            Some(existing) => existing.spec = spec,
            None => {
                let last = properties.len();
                properties.push(Property { name: token, spec });
                self.index(prim, if last == MAX_SEARCHED { 0 } else { last });
            }
        }
    }

    /// Removes the spec of a property.
    pub(super) fn remove_property(&mut self, prim: PrimId, name: &str) {
        if self.position(prim, name).is_none() {
            return;
        }
        if let Some(Prim { properties, .. }) = self.prims.get_mut(prim.0) {
            if properties.len() > MAX_SEARCHED {
                for property in &*properties {
                    self.indices.remove(&Place(prim, &property.name));
                }
            }
            properties.retain(|property| property.name.as_str() != name);
            self.index(prim, 0);
        }
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
    pub(super) fn into_data(mut self) -> Result<sdf::Data, Error> {
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
        for index in 0..self.prims.len() {
            let children = self.children(PrimId(index)).iter();
            let children = children.map(|child| self.name(*child).into()).collect();
            let Some(prim) = self.prims.get_mut(index) else {
                continue;
            };
            let properties = std::mem::take(&mut prim.properties);
            let names = properties
                .iter()
                .map(|property| property.name.clone())
                .collect();
            if let Some(spec) = prim.spec.take() {
                add(&prim.path, spec.into_data(names, children))?;
            }
            for Property { name, spec } in properties {
                if spec.ty != SpecType::Unknown {
                    let spec = spec.into_data(Vec::new(), Vec::new());
                    add(&format!("{}.{name}", prim.path), spec)?;
                }
            }
        }
        Ok(data)
    }
}

impl From<sdf::Data> for Specs {
    /// Takes the prims, and the properties that they list.
    fn from(mut data: sdf::Data) -> Self {
        let mut specs = Self::default();
        let mut properties: Map<String, Spec> = Map::default();
        let paths: Vec<sdf::Path> = data.iter().map(|(path, _)| path.clone()).collect();
        for path in paths {
            let Some(spec) = data.erase_spec(&path) else {
                continue;
            };
            match split_property(path.as_str()) {
                Some(_) => {
                    properties.insert(path.as_str().to_owned(), spec.into());
                }
                None => {
                    specs.insert(path.as_str(), spec.into());
                }
            }
        }
        if specs.id("/").is_none() {
            specs.insert("/", Spec::new(SpecType::PseudoRoot));
        }
        for index in 0..specs.prims.len() {
            let Some(Prim {
                path,
                spec: Some(spec),
                ..
            }) = specs.prims.get_mut(index)
            else {
                continue;
            };
            let path = path.clone();
            let separator = if path.ends_with(['/', '}']) { "" } else { "/" };
            let children = spec.take_names(PRIM_CHILDREN);
            let listed = spec.take_names(PROPERTY_CHILDREN).into_iter().map(|name| {
                let spec = properties.remove(&format!("{path}.{name}"));
                let spec = spec.unwrap_or_else(|| Spec::new(SpecType::Unknown));
                Property { name, spec }
            });
            let listed = listed.collect();
            let children = children.iter();
            let children = children
                .map(|name| specs.id_or_new(&format!("{path}{separator}{name}")))
                .collect();
            if let Some(prim) = specs.prims.get_mut(index) {
                (prim.children, prim.properties) = (children, listed);
            }
            specs.index(PrimId(index), 0);
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
