//! A layer under construction: prims, attributes, relationships and metadata by path.
//!
//! Calls never fail: a path that USD can't represent is recorded ([`Layer::check`]) and the items
//! below it are omitted, so that code that writes a layer reads like the layer. Names must be
//! encoded already ([`urdf_usd_robot::names::identifiers`]). This module is independent of robots,
//! schemas and file formats.

use std::borrow::Cow;
use std::collections::HashMap;

use openusd::gf;
use openusd::sdf::{
    self, AssetPath, ChildrenKey, FieldKey, Payload, PayloadListOp, Reference, ReferenceListOp,
    SpecType, Specifier, StringListOp, TokenListOp, Variability,
};
use openusd::tf::Token;

use urdf_usd_robot::names::is_identifier;

use super::specs::{PrimId, Spec, Specs};
use super::text::write_specs;

/// A value of metadata or of a dictionary.
pub use openusd::sdf::Value;

/// A path (or name) that USD can't represent, or that is already in use for something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` cannot be authored: {reason}")]
pub struct Error {
    /// The requested path.
    pub path: String,
    /// The reason why it is not valid.
    pub reason: String,
}

/// Number of fields of most layers' metadata.
const TYPICAL_METADATA: usize = 8;

/// The path of a layer's own metadata.
const ROOT: &str = "/";

fn error(path: impl Into<String>, reason: impl Into<String>) -> Error {
    Error {
        path: path.into(),
        reason: reason.into(),
    }
}

/// Returns a dictionary (`assetInfo`, `customData`) of entries: [`string`], [`Value::Bool`], a
/// nested [`dictionary`] …
pub fn dictionary<K: Into<String>>(entries: impl IntoIterator<Item = (K, Value)>) -> Value {
    Value::Dictionary(
        entries
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect(),
    )
}

/// Returns a string, for metadata and dictionaries.
pub fn string(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

/// Returns a token, for metadata and dictionaries.
pub fn token(text: impl Into<Token>) -> Value {
    Value::Token(text.into())
}

/// An attribute: its type, with a value, flags, metadata and connections.
///
/// There is a constructor for each type; [`Attribute::declared`] returns one without a value.
#[derive(Clone, Debug)]
pub struct Attribute {
    type_name: Cow<'static, str>,
    value: Option<Value>,
    uniform: bool,
    custom: bool,
    metadata: Vec<(Cow<'static, str>, Value)>,
    connections: Vec<String>,
}

/// One constructor for each type whose values convert into the payload of a [`Value`].
macro_rules! attribute_types {
    ($($name:ident($input:ty) -> $type_name:literal $variant:ident;)*) => {
        $(
            #[doc = concat!("`", $type_name, "`.")]
            pub fn $name(value: impl Into<$input>) -> Self {
                Self::new($type_name, Value::$variant(value.into()))
            }
        )*
    };
}

/// One constructor for each array type, from an iterator of its elements.
macro_rules! attribute_array_types {
    ($($name:ident($input:ty) -> $type_name:literal $variant:ident;)*) => {
        $(
            #[doc = concat!("`", $type_name, "`.")]
            pub fn $name<T: Into<$input>>(values: impl IntoIterator<Item = T>) -> Self {
                Self::new($type_name, Value::$variant(values.into_iter().map(Into::into).collect()))
            }
        )*
    };
}

impl Attribute {
    attribute_types! {
        bool(bool) -> "bool" Bool;
        int(i32) -> "int" Int;
        int64(i64) -> "int64" Int64;
        float(f32) -> "float" Float;
        double(f64) -> "double" Double;
        token(Token) -> "token" Token;
        string(String) -> "string" String;
        asset(AssetPath) -> "asset" AssetPath;
        float2(gf::Vec2f) -> "float2" Vec2f;
        float3(gf::Vec3f) -> "float3" Vec3f;
        float4(gf::Vec4f) -> "float4" Vec4f;
        double3(gf::Vec3d) -> "double3" Vec3d;
        point3f(gf::Vec3f) -> "point3f" Vec3f;
        vector3f(gf::Vec3f) -> "vector3f" Vec3f;
        normal3f(gf::Vec3f) -> "normal3f" Vec3f;
        color3f(gf::Vec3f) -> "color3f" Vec3f;
        tex_coord2f(gf::Vec2f) -> "texCoord2f" Vec2f;
        quatf(gf::Quatf) -> "quatf" Quatf;
        quatd(gf::Quatd) -> "quatd" Quatd;
        matrix4d(gf::Matrix4d) -> "matrix4d" Matrix4d;
    }

    attribute_array_types! {
        bool_array(bool) -> "bool[]" BoolVec;
        int_array(i32) -> "int[]" IntVec;
        float_array(f32) -> "float[]" FloatVec;
        double_array(f64) -> "double[]" DoubleVec;
        token_array(Token) -> "token[]" TokenVec;
        string_array(String) -> "string[]" StringVec;
        asset_array(AssetPath) -> "asset[]" AssetPathVec;
        float2_array(gf::Vec2f) -> "float2[]" Vec2fVec;
        float3_array(gf::Vec3f) -> "float3[]" Vec3fVec;
        double3_array(gf::Vec3d) -> "double3[]" Vec3dVec;
        point3f_array(gf::Vec3f) -> "point3f[]" Vec3fVec;
        vector3f_array(gf::Vec3f) -> "vector3f[]" Vec3fVec;
        normal3f_array(gf::Vec3f) -> "normal3f[]" Vec3fVec;
        color3f_array(gf::Vec3f) -> "color3f[]" Vec3fVec;
        tex_coord2f_array(gf::Vec2f) -> "texCoord2f[]" Vec2fVec;
        quatf_array(gf::Quatf) -> "quatf[]" QuatfVec;
        matrix4d_array(gf::Matrix4d) -> "matrix4d[]" Matrix4dVec;
    }

    /// Returns an attribute of any type, for types without a constructor. `value` must have the
    /// type `type_name`.
    pub fn new(type_name: impl Into<Cow<'static, str>>, value: Value) -> Self {
        Self {
            value: Some(value),
            ..Self::declared(type_name)
        }
    }

    /// Returns an attribute without a value: `token outputs:surface`.
    pub fn declared(type_name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            type_name: type_name.into(),
            value: None,
            uniform: false,
            custom: false,
            metadata: Vec::new(),
            connections: Vec::new(),
        }
    }

    /// Returns an attribute that blocks the values of weaker layers: `double x = None`.
    pub fn blocked(type_name: impl Into<Cow<'static, str>>) -> Self {
        Self::new(type_name, Value::ValueBlock)
    }

    /// Returns an attribute connected to another: `color3f inputs:diffuseColor.connect = </…>`.
    pub fn connected(type_name: impl Into<Cow<'static, str>>, source: impl Into<String>) -> Self {
        Self::declared(type_name).connect(source)
    }

    /// Makes the attribute uniform: it does not vary over time.
    #[must_use]
    pub fn uniform(mut self) -> Self {
        self.uniform = true;
        self
    }

    /// Makes the attribute custom: no schema defines it.
    #[must_use]
    pub fn custom(mut self) -> Self {
        self.custom = true;
        self
    }

    /// Sets the metadata `field` (`interpolation`, `displayName`, `allowedTokens`, …).
    #[must_use]
    pub fn metadata(mut self, field: impl Into<Cow<'static, str>>, value: Value) -> Self {
        self.metadata.push((field.into(), value));
        self
    }

    /// Sets the interpolation of a primvar: `constant`, `uniform`, `vertex`, `faceVarying`.
    #[must_use]
    pub fn interpolation(self, interpolation: &'static str) -> Self {
        self.metadata("interpolation", Value::Token(Token::new(interpolation)))
    }

    /// Removes the connections of weaker layers: `color3f inputs:diffuseColor.connect = None`.
    #[must_use]
    pub fn disconnected(self) -> Self {
        let none = Value::PathListOp(sdf::PathListOp::explicit(Vec::new()));
        self.metadata(FieldKey::ConnectionPaths.as_str(), none)
    }

    /// Adds a connection to the attribute at `source`.
    #[must_use]
    pub fn connect(mut self, source: impl Into<String>) -> Self {
        self.connections.push(source.into());
        self
    }
}

/// A relationship: its targets, with flags and metadata.
#[derive(Clone, Debug)]
pub struct Relationship {
    targets: Vec<String>,
    deleted: Vec<String>,
    prepend: bool,
    custom: bool,
    metadata: Vec<(Cow<'static, str>, Value)>,
}

impl Relationship {
    /// Returns a relationship to exactly these prims or properties: `rel material:binding = </…>`.
    pub fn to<T: Into<String>>(targets: impl IntoIterator<Item = T>) -> Self {
        Self {
            targets: targets.into_iter().map(Into::into).collect(),
            deleted: Vec::new(),
            prepend: false,
            custom: false,
            metadata: Vec::new(),
        }
    }

    /// Returns a relationship that adds these targets to those of weaker layers: `prepend rel …`.
    pub fn prepend<T: Into<String>>(targets: impl IntoIterator<Item = T>) -> Self {
        Self {
            prepend: true,
            ..Self::to(targets)
        }
    }

    /// Removes these targets of weaker layers: `delete rel …`. Only for a
    /// [prepended](Self::prepend) relationship.
    #[must_use]
    pub fn delete<T: Into<String>>(mut self, targets: impl IntoIterator<Item = T>) -> Self {
        self.deleted.extend(targets.into_iter().map(Into::into));
        self
    }

    /// Makes the relationship custom: no schema defines it.
    #[must_use]
    pub fn custom(mut self) -> Self {
        self.custom = true;
        self
    }

    /// Sets the metadata `field` (`bindMaterialAs`, …).
    #[must_use]
    pub fn metadata(mut self, field: impl Into<Cow<'static, str>>, value: Value) -> Self {
        self.metadata.push((field.into(), value));
        self
    }
}

/// A layer under construction.
#[derive(Clone, Debug)]
pub struct Layer {
    specs: Specs,
    error: Option<Error>,
}

impl Layer {
    /// Returns an empty layer with REP-158's stage metadata: metres, kilograms, z up, one time code
    /// per second. An empty `doc` or `default_prim` is not authored.
    pub fn new(doc: &str, default_prim: &str) -> Self {
        let mut root = Spec {
            fields: Vec::with_capacity(TYPICAL_METADATA),
            ..Spec::new(SpecType::PseudoRoot)
        };
        if !default_prim.is_empty() {
            root.add(FieldKey::DefaultPrim.as_str(), token(default_prim));
        }
        if !doc.is_empty() {
            root.add(FieldKey::Documentation.as_str(), string(doc));
        }
        root.add("kilogramsPerUnit", Value::Double(1.0));
        root.add("metersPerUnit", Value::Double(1.0));
        root.add(FieldKey::TimeCodesPerSecond.as_str(), Value::Double(1.0));
        root.add("upAxis", Value::Token(Token::new("Z")));
        let mut specs = Specs::default();
        specs.insert(ROOT, root);
        Self { specs, error: None }
    }

    /// Sets the sublayers, strongest first.
    pub fn sublayers<T: Into<String>>(&mut self, paths: impl IntoIterator<Item = T>) -> &mut Self {
        let paths: Vec<String> = paths.into_iter().map(Into::into).collect();
        let offsets = vec![sdf::LayerOffset::IDENTITY; paths.len()];
        self.metadata(FieldKey::SubLayers.as_str(), Value::StringVec(paths));
        self.metadata(
            FieldKey::SubLayerOffsets.as_str(),
            Value::LayerOffsetVec(offsets),
        )
    }

    /// Sets metadata of the layer itself.
    pub fn metadata(&mut self, field: &str, value: Value) -> &mut Self {
        let root = self.specs.id(ROOT);
        if let Some(root) = root.and_then(|root| self.specs.spec_mut(root)) {
            root.add(field.to_owned(), value);
        }
        self
    }

    /// Defines the prim at `path`, a prim path that may contain variants:
    /// `/a/visual{set=variant}visual_0`. An empty `type_name` leaves it typeless. Missing ancestors
    /// are created as overs.
    pub fn def(&mut self, path: &str, type_name: &str) -> Prim<'_> {
        self.specify(path, Specifier::Def, type_name)
    }

    /// Defines a Scope at `path` that organises prims of a component: a subcomponent (REP-158
    /// §1.2.2).
    pub fn scope(&mut self, path: &str) -> Prim<'_> {
        let mut prim = self.def(path, "Scope");
        prim.kind("subcomponent");
        prim
    }

    /// Defines an abstract prim at `path`, to be inherited.
    pub fn class(&mut self, path: &str, type_name: &str) -> Prim<'_> {
        self.specify(path, Specifier::Class, type_name)
    }

    /// Returns the prim at `path`, created as an over if it does not exist. A path that ends in a
    /// variant (`/a{set=variant}`) gives the variant, whose metadata and properties can be set like
    /// a prim's.
    pub fn over(&mut self, path: &str) -> Prim<'_> {
        let id = self.ensure(path);
        Prim { layer: self, id }
    }

    /// Returns an existing layer for editing.
    pub fn of(data: sdf::Data) -> Self {
        Self {
            specs: data.into(),
            error: None,
        }
    }

    /// Returns whether the layer has an opinion about the prim or property at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.specs.has(path)
    }

    /// Removes all opinions of the layer about the prim at `path` and its descendants.
    pub fn remove(&mut self, path: &str) -> &mut Self {
        let is_removed = |at: &str| {
            at.strip_prefix(path).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(['/', '{']) || path.ends_with('}')
            })
        };
        let parent = split(path).and_then(|(parent, _)| self.specs.id(parent));
        if let (Some(parent), Some(id)) = (parent, self.specs.id(path))
            && let Some(children) = self.specs.children_mut(parent)
        {
            children.retain(|child| *child != id);
        }
        self.specs.remove(is_removed);
        self
    }

    /// Returns the targets that the layer deletes from a relationship of weaker layers.
    pub fn deleted_targets(&self, path: &str, relationship: &str) -> Vec<String> {
        let prim = self.specs.id(path);
        match prim
            .and_then(|prim| self.specs.property(prim, relationship))
            .and_then(|spec| spec.get(FieldKey::TargetPaths.as_str()))
        {
            Some(Value::PathListOp(op)) => op
                .deleted_items
                .iter()
                .map(|path| path.as_str().to_owned())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the layer's data.
    ///
    /// # Errors
    /// The first request that could not be authored.
    pub fn into_data(self) -> Result<sdf::Data, Error> {
        self.check()?;
        self.specs.into_data()
    }

    /// Returns the layer as text ([`text::write`](crate::text::write)).
    ///
    /// # Errors
    /// The first request that could not be authored, or the first spec or value without a text form.
    pub fn text(&self) -> Result<String, Error> {
        self.check()?;
        write_specs(&self.specs)
    }

    /// Checks that every request could be authored.
    ///
    /// # Errors
    /// The first request that could not.
    pub fn check(&self) -> Result<(), Error> {
        self.error.clone().map_or(Ok(()), Err)
    }

    fn specify(&mut self, path: &str, specifier: Specifier, type_name: &str) -> Prim<'_> {
        let type_name = (!type_name.is_empty()).then(|| self.specs.token(type_name));
        let mut prim = self.over(path);
        prim.edit(|spec| {
            if spec.ty == SpecType::Prim {
                spec.specifier = Some(specifier);
                if type_name.is_some() {
                    spec.type_name = type_name;
                }
            }
        });
        prim
    }

    fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// Returns the prim or variant at `path`, created with its ancestors if missing.
    fn ensure(&mut self, path: &str) -> Option<PrimId> {
        if let Some(id) = self.prim(path) {
            return Some(id);
        }
        self.create(path)
            .inspect_err(|error| self.fail(error.clone()))
            .ok()
    }

    /// Returns the prim or variant at `path`, if there is one.
    fn prim(&self, path: &str) -> Option<PrimId> {
        let id = self.specs.id(path)?;
        let is_prim = matches!(self.specs.spec(id)?.ty, SpecType::Prim | SpecType::Variant);
        is_prim.then_some(id)
    }

    /// Creates the spec at `path` and those of its ancestors, each appended to its parent's list of
    /// children. No search for duplicates is needed: a spec that does not exist yet can't be in a
    /// list.
    fn create(&mut self, path: &str) -> Result<PrimId, Error> {
        // Descendants of the first missing one; most prims are created after their parents.
        let (mut below, mut rest) = (Vec::new(), path);
        let (mut parent, first) = loop {
            let (above, element) = split(rest).ok_or_else(|| not_a_prim(path))?;
            let known = match above {
                ROOT => self.specs.id(ROOT),
                _ => self.prim(above),
            };
            match known {
                Some(_) if above == ROOT && matches!(element, Element::Variant { .. }) => {
                    return Err(not_a_prim(path));
                }
                Some(known) => break (known, (rest, element)),
                None => {
                    below.push((rest, element));
                    rest = above;
                }
            }
        };
        for (path, element) in std::iter::once(first).chain(below.into_iter().rev()) {
            parent = match element {
                Element::Variant { set, selection } => {
                    let above = self.specs.path(parent);
                    let set_path = format!("{above}{{{set}=}}");
                    let set = self.specs.id(&set_path).unwrap_or_else(|| {
                        self.enter(parent, ChildrenKey::VariantSetChildren, set.into());
                        self.specs
                            .insert(&set_path, Spec::new(SpecType::VariantSet))
                    });
                    self.enter(set, ChildrenKey::VariantChildren, selection.into());
                    self.specs.insert(path, Spec::new(SpecType::Variant))
                }
                Element::Prim => {
                    let spec = Spec {
                        specifier: Some(Specifier::Over),
                        ..Spec::new(SpecType::Prim)
                    };
                    let id = self.specs.insert(path, spec);
                    if let Some(children) = self.specs.children_mut(parent) {
                        children.push(id);
                    }
                    id
                }
            };
        }
        Ok(parent)
    }

    /// Appends `name` to the list `key` of the spec of `parent`.
    fn enter(&mut self, parent: PrimId, key: ChildrenKey, name: Token) {
        let Some(spec) = self.specs.spec_mut(parent) else {
            return;
        };
        match spec.get_mut(key.as_str()) {
            Some(Value::TokenVec(names)) => names.push(name),
            _ => spec.add(key.as_str(), Value::TokenVec(vec![name])),
        }
    }

    /// Creates a property spec; one of the same name is replaced.
    fn property(&mut self, prim: PrimId, name: &str, spec: Spec) -> Result<(), Error> {
        if !name.split(':').all(is_identifier) {
            return Err(error(
                format!("{}.{name}", self.specs.path(prim)),
                "the name is no namespaced identifier",
            ));
        }
        self.specs.set_property(prim, name, spec);
        Ok(())
    }
}

/// The last element of a path.
#[derive(Clone, Copy)]
enum Element<'a> {
    Prim,
    Variant { set: &'a str, selection: &'a str },
}

/// Splits the path of a prim or variant into its parent's and its last element. `None` if that has
/// a name that OpenUSD does not accept.
fn split(path: &str) -> Option<(&str, Element<'_>)> {
    if let Some(variant) = path.strip_suffix('}') {
        let (parent, variant) = variant.rsplit_once('{')?;
        let (set, selection) = variant.split_once('=')?;
        let is_valid = is_identifier(set) && is_variant_name(selection);
        return is_valid.then_some((parent, Element::Variant { set, selection }));
    }
    let name = path.rsplit(['/', '}']).next()?;
    let parent = path.strip_suffix(name)?;
    let parent = match parent.strip_suffix('/') {
        Some("") => ROOT,
        // A prim in a variant follows it without a separator.
        Some(parent) if parent.ends_with('}') => return None,
        Some(parent) => parent,
        None => parent,
    };
    is_identifier(name).then_some((parent, Element::Prim))
}

/// Returns the reason why `path` can't be that of a prim or variant.
fn not_a_prim(path: &str) -> Error {
    let error = prim_path(path).err();
    error.unwrap_or_else(|| self::error(path, "it is no prim path"))
}

/// A prim (or a variant) of a layer under construction. A second call of a setter replaces the
/// value; lists grow.
#[derive(Debug)]
pub struct Prim<'a> {
    layer: &'a mut Layer,
    /// `None` if USD can't represent the path; then nothing is authored.
    id: Option<PrimId>,
}

impl Prim<'_> {
    /// Returns the prim's path; empty if USD can't represent it.
    pub fn path(&self) -> &str {
        self.id.map_or("", |id| self.layer.specs.path(id))
    }

    /// Defines a child prim.
    pub fn def(&mut self, name: &str, type_name: &str) -> Prim<'_> {
        let path = self.below(name);
        self.layer.def(&path, type_name)
    }

    /// Returns a child prim, created as an over if it does not exist.
    pub fn over(&mut self, name: &str) -> Prim<'_> {
        let path = self.below(name);
        self.layer.over(&path)
    }

    fn below(&self, name: &str) -> String {
        let separator = if self.path().ends_with('}') { "" } else { "/" };
        [self.path(), separator, name].concat()
    }

    /// Sets an attribute.
    pub fn attribute(&mut self, name: &str, attribute: Attribute) -> &mut Self {
        let result = attribute_spec(attribute).and_then(|spec| self.property(name, spec));
        self.note(result)
    }

    /// Sets a relationship.
    pub fn relationship(&mut self, name: &str, relationship: Relationship) -> &mut Self {
        let result = relationship_spec(relationship).and_then(|spec| self.property(name, spec));
        self.note(result)
    }

    /// Sets any metadata, by the name of its field in OpenUSD.
    pub fn metadata(&mut self, field: &str, value: Value) -> &mut Self {
        self.edit(|spec| spec.add(field.to_owned(), value))
    }

    /// Applies API schemas: `prepend apiSchemas = […]`. Schemas already applied are not repeated.
    pub fn apply<T: Into<Token>>(&mut self, schemas: impl IntoIterator<Item = T>) -> &mut Self {
        let schemas: Vec<Token> = schemas.into_iter().map(Into::into).collect();
        self.edit(|spec| match spec.get_mut(FieldKey::ApiSchemas.as_str()) {
            Some(Value::TokenListOp(op)) => {
                op.deleted_items
                    .retain(|deleted| !schemas.contains(deleted));
                let list = if op.explicit {
                    &mut op.explicit_items
                } else {
                    &mut op.prepended_items
                };
                extend(list, schemas);
            }
            _ => spec.add(
                FieldKey::ApiSchemas.as_str(),
                Value::TokenListOp(TokenListOp::prepended(schemas)),
            ),
        })
    }

    /// Removes API schemas, including those of weaker layers: `delete apiSchemas = […]`.
    pub fn unapply<T: Into<Token>>(&mut self, schemas: impl IntoIterator<Item = T>) -> &mut Self {
        let schemas: Vec<Token> = schemas.into_iter().map(Into::into).collect();
        self.edit(|spec| match spec.get_mut(FieldKey::ApiSchemas.as_str()) {
            Some(Value::TokenListOp(op)) => {
                for list in [
                    &mut op.explicit_items,
                    &mut op.prepended_items,
                    &mut op.appended_items,
                    &mut op.added_items,
                ] {
                    list.retain(|schema| !schemas.contains(schema));
                }
                if !op.explicit {
                    extend(&mut op.deleted_items, schemas);
                }
            }
            _ => spec.add(
                FieldKey::ApiSchemas.as_str(),
                Value::TokenListOp(TokenListOp::deleted(schemas)),
            ),
        })
    }

    /// Removes this layer's opinion about a property.
    pub fn remove_property(&mut self, name: &str) -> &mut Self {
        if let Some(id) = self.id {
            self.layer.specs.remove_property(id, name);
        }
        self
    }

    /// Adds a reference, weaker than previous ones, to the prim `prim` (empty: the default prim) of
    /// the layer `asset` (empty: this layer).
    pub fn reference(&mut self, asset: &str, prim: &str) -> &mut Self {
        let Some(prim_path) = self.arc_target(prim) else {
            return self;
        };
        let reference = Reference {
            asset_path: asset.to_owned(),
            prim_path,
            ..Reference::default()
        };
        self.edit(|spec| match spec.get_mut(FieldKey::References.as_str()) {
            Some(Value::ReferenceListOp(op)) => extend(&mut op.prepended_items, [reference]),
            _ => spec.add(
                FieldKey::References.as_str(),
                Value::ReferenceListOp(ReferenceListOp::prepended([reference])),
            ),
        })
    }

    /// Adds a payload, weaker than previous ones: the prim `prim` (empty: the default prim) of the
    /// layer `asset` (empty: this layer).
    pub fn payload(&mut self, asset: &str, prim: &str) -> &mut Self {
        let Some(prim_path) = self.arc_target(prim) else {
            return self;
        };
        let payload = Payload {
            asset_path: asset.to_owned(),
            prim_path,
            ..Payload::default()
        };
        self.edit(|spec| match spec.get_mut(FieldKey::Payload.as_str()) {
            Some(Value::PayloadListOp(op)) => extend(&mut op.prepended_items, [payload]),
            _ => spec.add(
                FieldKey::Payload.as_str(),
                Value::PayloadListOp(PayloadListOp::prepended([payload])),
            ),
        })
    }

    /// Adds an inherit of the class at `class`, weaker than previous ones.
    pub fn inherit(&mut self, class: &str) -> &mut Self {
        let Some(class) = self.arc_target(class) else {
            return self;
        };
        self.edit(|spec| match spec.get_mut(FieldKey::InheritPaths.as_str()) {
            Some(Value::PathListOp(op)) => extend(&mut op.prepended_items, [class]),
            _ => spec.add(
                FieldKey::InheritPaths.as_str(),
                Value::PathListOp(sdf::PathListOp::prepended([class])),
            ),
        })
    }

    /// Declares a variant set and selects one of its variants (none if `selection` is empty).
    /// Authoring prims below `{set=variant}` creates the variants.
    pub fn variant_set(&mut self, set: &str, selection: &str) -> &mut Self {
        if !is_identifier(set) {
            let result = Err(error(
                format!("{}{{{set}=}}", self.path()),
                "the name of the set is no identifier",
            ));
            return self.note(result);
        }
        let name = set.to_owned();
        self.edit(
            |spec| match spec.get_mut(FieldKey::VariantSetNames.as_str()) {
                Some(Value::StringListOp(op)) => extend(&mut op.prepended_items, [name]),
                _ => spec.add(
                    FieldKey::VariantSetNames.as_str(),
                    Value::StringListOp(StringListOp::prepended([name])),
                ),
            },
        );
        if selection.is_empty() {
            self
        } else {
            self.select(set, selection)
        }
    }

    /// Selects a variant.
    pub fn select(&mut self, set: &str, selection: &str) -> &mut Self {
        let (set, selection) = (set.to_owned(), selection.to_owned());
        self.edit(
            |spec| match spec.get_mut(FieldKey::VariantSelection.as_str()) {
                Some(Value::VariantSelectionMap(map)) => {
                    map.insert(set, selection);
                }
                _ => spec.add(
                    FieldKey::VariantSelection.as_str(),
                    Value::VariantSelectionMap(HashMap::from([(set, selection)])),
                ),
            },
        )
    }

    /// Sets `kind`: `component`, `assembly`, `subcomponent` …
    pub fn kind(&mut self, kind: &str) -> &mut Self {
        self.field(FieldKey::Kind, token(kind))
    }

    /// Sets whether the prim's composition may be shared with equal prims.
    pub fn instanceable(&mut self, instanceable: bool) -> &mut Self {
        self.field(FieldKey::Instanceable, Value::Bool(instanceable))
    }

    /// Sets whether the prim, with its descendants, is part of the scene.
    pub fn active(&mut self, active: bool) -> &mut Self {
        self.field(FieldKey::Active, Value::Bool(active))
    }

    /// Sets the display name.
    pub fn display_name(&mut self, name: &str) -> &mut Self {
        self.field(FieldKey::DisplayName, string(name))
    }

    /// Sets the documentation.
    pub fn doc(&mut self, text: &str) -> &mut Self {
        self.field(FieldKey::Documentation, string(text))
    }

    /// Sets whether browsers hide the prim.
    pub fn hidden(&mut self, hidden: bool) -> &mut Self {
        self.field(FieldKey::Hidden, Value::Bool(hidden))
    }

    /// Sets the asset info, which identifies the asset; see [`dictionary`].
    pub fn asset_info<K: Into<String>>(
        &mut self,
        entries: impl IntoIterator<Item = (K, Value)>,
    ) -> &mut Self {
        self.field(FieldKey::AssetInfo, dictionary(entries))
    }

    /// Sets custom data; see [`dictionary`].
    pub fn custom_data<K: Into<String>>(
        &mut self,
        entries: impl IntoIterator<Item = (K, Value)>,
    ) -> &mut Self {
        self.field(FieldKey::CustomData, dictionary(entries))
    }

    fn field(&mut self, key: FieldKey, value: Value) -> &mut Self {
        self.edit(|spec| spec.add(key.as_str(), value))
    }

    fn edit(&mut self, change: impl FnOnce(&mut Spec)) -> &mut Self {
        if let Some(spec) = self.id.and_then(|id| self.layer.specs.spec_mut(id)) {
            change(spec);
        }
        self
    }

    fn property(&mut self, name: &str, spec: Spec) -> Result<(), Error> {
        match self.id {
            Some(id) => self.layer.property(id, name, spec),
            None => Ok(()),
        }
    }

    fn note(&mut self, result: Result<(), Error>) -> &mut Self {
        if let Err(error) = result {
            self.layer.fail(error);
        }
        self
    }

    /// Returns the target prim of an arc; `""` means the default prim.
    fn arc_target(&mut self, path: &str) -> Option<sdf::Path> {
        if path.is_empty() {
            return Some(sdf::Path::default());
        }
        match prim_path(path) {
            Ok(path) if !path.contains_prim_variant_selection() => Some(path),
            Ok(path) => {
                self.layer
                    .fail(error(path.as_str(), "an arc cannot lead into a variant"));
                None
            }
            Err(error) => {
                self.layer.fail(error);
                None
            }
        }
    }
}

/// Appends the `items` that are not in `list` yet.
fn extend<T: PartialEq>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>) {
    for item in items {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

/// Parses an absolute path to a prim or a variant, with names that OpenUSD accepts.
fn prim_path(text: &str) -> Result<sdf::Path, Error> {
    let path = sdf::Path::new(text).map_err(|e| error(text, e.reason))?;
    if !path.is_abs() || path.is_abs_root() || path.is_property_path() {
        return Err(error(text, "it is no absolute prim path"));
    }
    check_names(&path)?;
    Ok(path)
}

/// Parses an absolute path to a prim or a property, with names that OpenUSD accepts.
fn target_path(text: &str) -> Result<sdf::Path, Error> {
    let path = sdf::Path::new(text).map_err(|e| error(text, e.reason))?;
    if !path.is_abs() || path.is_abs_root() || path.contains_prim_variant_selection() {
        return Err(error(text, "it is no absolute path outside variants"));
    }
    // `openusd` has checked ASCII names already, by the same rule.
    if !text.is_ascii() {
        check_names(&path)?;
    }
    if let Some((_, property)) = path.split_property()
        && !property.split(':').all(is_identifier)
    {
        return Err(error(
            text,
            "the name of the property is no namespaced identifier",
        ));
    }
    Ok(path)
}

/// Checks names by Unicode's identifiers, as OpenUSD does; `openusd` accepts any non-ASCII
/// character as a letter.
fn check_names(path: &sdf::Path) -> Result<(), Error> {
    for component in path.components() {
        let fits = match component {
            sdf::PathComponent::Prim(name) => is_identifier(name),
            sdf::PathComponent::Variant { set, selection } => {
                is_identifier(set) && is_variant_name(selection)
            }
        };
        if !fits {
            return Err(error(path.as_str(), "a name in it is no identifier"));
        }
    }
    Ok(())
}

/// Returns whether a name is valid for a variant: an optional leading dot, then identifier
/// characters in any order, `|` and `-`.
fn is_variant_name(name: &str) -> bool {
    let name = name.strip_prefix('.').unwrap_or(name);
    !name.is_empty()
        && name
            .chars()
            .all(|c| c == '|' || c == '-' || unicode_ident::is_xid_continue(c))
}

fn attribute_spec(attribute: Attribute) -> Result<Spec, Error> {
    let has_connections = !attribute.connections.is_empty();
    // No spare capacity, since a field is large.
    let fields = usize::from(attribute.value.is_some())
        + usize::from(has_connections)
        + attribute.metadata.len();
    let mut spec = Spec {
        type_name: Some(match attribute.type_name {
            Cow::Borrowed(name) => Token::new(name),
            Cow::Owned(name) => name.into(),
        }),
        variability: attribute.uniform.then_some(Variability::Uniform),
        custom: attribute.custom.then_some(true),
        fields: Vec::with_capacity(fields),
        ..Spec::new(SpecType::Attribute)
    };
    if let Some(value) = attribute.value {
        spec.add(FieldKey::Default.as_str(), value);
    }
    if has_connections {
        let sources = attribute
            .connections
            .iter()
            .map(|path| target_path(path))
            .collect::<Result<Vec<_>, _>>()?;
        spec.add(
            FieldKey::ConnectionPaths.as_str(),
            Value::PathListOp(sdf::PathListOp::explicit(sources)),
        );
    }
    for (field, value) in attribute.metadata {
        spec.add(field, value);
    }
    Ok(spec)
}

fn relationship_spec(relationship: Relationship) -> Result<Spec, Error> {
    let mut spec = Spec {
        // A plain `rel` is uniform; without the field it would be varying.
        variability: Some(Variability::Uniform),
        custom: relationship.custom.then_some(true),
        fields: Vec::with_capacity(1 + relationship.metadata.len()),
        ..Spec::new(SpecType::Relationship)
    };
    let paths = |of: &[String]| {
        of.iter()
            .map(|path| target_path(path))
            .collect::<Result<Vec<_>, _>>()
    };
    let targets = paths(&relationship.targets)?;
    let mut list = if relationship.prepend {
        sdf::PathListOp::prepended(targets)
    } else {
        sdf::PathListOp::explicit(targets)
    };
    if relationship.prepend {
        list.deleted_items = paths(&relationship.deleted)?;
    }
    spec.add(FieldKey::TargetPaths.as_str(), Value::PathListOp(list));
    for (field, value) in relationship.metadata {
        spec.add(field, value);
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use openusd::sdf::{Path, SpecType, Value};

    use super::{Attribute, Layer, Relationship};

    fn names(layer: &Layer, path: &str, field: &str) -> Vec<String> {
        let data = layer.clone().into_data().unwrap();
        let spec = data.spec(&Path::new(path).unwrap()).unwrap();
        match spec.get(field) {
            Some(Value::TokenVec(names)) => {
                names.iter().map(|name| name.as_str().to_owned()).collect()
            }
            _ => Vec::new(),
        }
    }

    #[test]
    fn parents_and_variants_come_with_their_children() {
        let mut layer = Layer::new("", "a");
        layer.def("/a/b{set=one}c", "Xform").def("d", "Cube");
        layer.def("/a/b{set=two}c", "Xform");
        layer.over("/a/b").over("e");
        assert_eq!(names(&layer, "/", "primChildren"), ["a"]);
        assert_eq!(names(&layer, "/a/b", "variantSetChildren"), ["set"]);
        assert_eq!(names(&layer, "/a/b", "primChildren"), ["e"]);
        assert_eq!(
            names(&layer, "/a/b{set=}", "variantChildren"),
            ["one", "two"]
        );
        assert_eq!(names(&layer, "/a/b{set=one}c", "primChildren"), ["d"]);
        let data = layer.into_data().unwrap();
        let spec = |path: &str| data.spec(&Path::new(path).unwrap()).unwrap().ty;
        assert_eq!(
            (spec("/a/b{set=}"), spec("/a/b{set=one}")),
            (SpecType::VariantSet, SpecType::Variant)
        );
    }

    #[test]
    fn what_is_set_twice_is_there_once() {
        let mut layer = Layer::new("", "a");
        layer
            .over("/a")
            .attribute("x", Attribute::int(1))
            .apply(["A", "B"]);
        layer
            .def("/a", "Xform")
            .attribute("x", Attribute::double(2.0).custom())
            .apply(["B", "C"]);
        layer
            .over("/a")
            .relationship("x:y", Relationship::to(["/a"]));
        assert_eq!(names(&layer, "/a", "propertyChildren"), ["x", "x:y"]);
        let text = layer.text().unwrap();
        assert!(
            text.contains("def Xform \"a\" (\n    prepend apiSchemas = [\"A\", \"B\", \"C\"]\n)"),
            "{text}"
        );
        assert!(
            text.contains("    custom double x = 2\n    rel x:y = </a>\n"),
            "{text}"
        );
    }

    #[test]
    fn prims_may_have_many_properties() {
        let set = |layer: &mut Layer, numbers: std::ops::Range<i32>, value| {
            let mut prim = layer.over("/a");
            for number in numbers {
                prim.attribute(&format!("x{number}"), Attribute::int(value));
            }
        };
        let mut layer = Layer::new("", "a");
        set(&mut layer, 0..20_000, 0);
        set(&mut layer, 0..20_000, 1);
        layer.over("/a").remove_property("x7");
        assert!(layer.has("/a.x6") && !layer.has("/a.x7") && layer.has("/a.x19999"));
        set(&mut layer, 6..9, 2);
        let mut expected: Vec<String> = (0..20_000).map(|number| format!("x{number}")).collect();
        let removed = expected.remove(7);
        expected.push(removed);
        assert_eq!(names(&layer, "/a", "propertyChildren"), expected);

        let mut again = Layer::of(layer.into_data().unwrap());
        set(&mut again, 0..5, 3);
        assert_eq!(names(&again, "/a", "propertyChildren"), expected);
        again.remove("/a");
        set(&mut again, 0..40, 4);
        assert!(again.has("/a.x39") && !again.has("/a.x40"));
        let expected: Vec<String> = (0..40).map(|number| format!("x{number}")).collect();
        assert_eq!(names(&again, "/a", "propertyChildren"), expected);
        let text = again.text().unwrap();
        assert_eq!(text.matches("int x").count(), 40, "{text}");
    }

    #[test]
    fn what_usd_cannot_hold_is_remembered() {
        for path in [
            "a",
            "/",
            "",
            "/a b",
            "/0",
            "/a.b",
            "/a{x=}b",
            "/a{x y=z}b",
            "/☃",
            "/a//b",
            "/a{x=a.b}c",
        ] {
            let mut layer = Layer::new("", "a");
            layer
                .def(path, "Xform")
                .attribute("x", Attribute::int(1))
                .def("child", "")
                .kind("component");
            assert!(layer.check().is_err(), "{path}");
        }
        for name in ["", "a b", ":a", "a:", "0", "a.b", "a:0"] {
            let mut layer = Layer::new("", "a");
            layer.def("/a", "").attribute(name, Attribute::int(1));
            assert_eq!(layer.check().unwrap_err().path, format!("/a.{name}"));
        }
        for target in ["", "a", "/a b", "/a{x=y}b", "/a.0"] {
            let mut layer = Layer::new("", "a");
            layer
                .def("/a", "")
                .relationship("r", Relationship::to([target]));
            assert!(layer.check().is_err(), "{target}");
        }
        let mut layer = Layer::new("", "a");
        layer
            .def("/größe_1/日本{x=.a|b-1}c", "Xform")
            .relationship("r", Relationship::to(["/größe_1.α:β"]));
        assert_eq!(layer.check(), Ok(()));
    }
}
