//! Reads a composed prim from the opinions at its sites.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use openusd::ar::Resolver as _;
use openusd::sdf::{self, AbstractData, LayerOffset, PathExpression};

use super::super::compose::{Index, NodeId, NodeKind, StackId, edit};
use super::super::layer::{fields, is_list_of_specs};
use super::super::prim::{
    Arc as CompositionArc, ArcKind, Attribute, Prim, PrimId, Properties, Relationship, Site,
    Specifier, VariantSet,
};
use super::super::shared::{EXPRESSION_WEIGHT, SharedValue, weight};
use super::super::{CompositionError, LayerId, Value, text, texts};
use super::{MAX_ARRAY_BYTES, MAX_VALUE_BYTES, Reader};

/// Maximum length of a path expression that is composed of several: each reference to the weaker expression
/// repeats it.
const MAX_EXPRESSION: usize = 16 << 10;

/// The opinions of a layer about a prim.
struct Opinions {
    site: Site,
    /// An index into [`Layer::prims`](super::Layer::prims).
    prim: usize,
    node: NodeId,
    /// Maps the times of the layer to those of the stage.
    offset: LayerOffset,
}

/// A property with its sites, the strongest first.
struct Property {
    name: String,
    sites: Vec<PropertySite>,
    is_relationship: bool,
}

/// The opinions of a layer about a property.
struct PropertySite {
    site: Site,
    /// The path as the data of the layer has it.
    key: sdf::Path,
    /// An index into the [`Opinions`] about the prim.
    number: usize,
}

impl Property {
    fn sites(&self) -> Vec<Site> {
        self.sites.iter().map(|found| found.site.clone()).collect()
    }
}

/// The resolved fields of a prim.
#[derive(Default)]
struct Fields {
    type_name: String,
    specifier: Option<Specifier>,
    schemas: Vec<sdf::ListOp<openusd::tf::Token>>,
    kind: Option<String>,
    active: Option<bool>,
    instanceable: Option<bool>,
    arcs: Vec<CompositionArc>,
    metadata: BTreeMap<String, Value>,
    /// The names of the variants of each set.
    variants: BTreeMap<String, Vec<String>>,
    /// The selected variants, by set.
    selections: BTreeMap<String, String>,
    /// True if an opinion that does not depend on payloads defines the prim.
    is_defined_unloaded: bool,
    /// The type and schemas that do not depend on payloads.
    unloaded: Vec<String>,
}

/// The strongest opinions about an attribute.
#[derive(Default)]
struct AttributeFields {
    type_name: String,
    is_custom: bool,
    is_uniform: bool,
    default: Option<SharedValue>,
    /// The samples in the times of the stage, unless a stronger layer has a default.
    samples: Vec<(f64, Value)>,
    is_connected: bool,
    metadata: BTreeMap<String, Value>,
}

/// Returns the nearest instance at or above the parent of a prim.
fn enclosing_instance((id, parent): (PrimId, &Prim)) -> Option<PrimId> {
    match parent.is_instance {
        true => Some(id),
        false => parent.instance,
    }
}

/// Merges a value into the stronger ones: OpenUSD merges dictionaries; of other values, the strongest counts.
fn merge(metadata: &mut BTreeMap<String, Value>, key: String, weaker: Value) {
    match (metadata.get_mut(&key), weaker) {
        (Some(Value::Dictionary(strong)), Value::Dictionary(weak)) => merge_entries(strong, weak),
        (Some(_), _) => {}
        (None, value) => {
            metadata.insert(key, value);
        }
    }
}

/// Merges the entries of a dictionary into a stronger one. Text layers bound the nesting; deeper entries of
/// binary layers are left out.
fn merge_entries(strong: &mut HashMap<String, Value>, weak: HashMap<String, Value>) {
    let mut open = vec![(strong, weak)];
    while let Some((strong, weak)) = open.pop() {
        let mut inner: HashMap<String, HashMap<String, Value>> = HashMap::new();
        for (name, value) in weak {
            match (strong.get(&name), value) {
                (None, value) => {
                    strong.insert(name, value);
                }
                (Some(Value::Dictionary(_)), Value::Dictionary(weak)) => {
                    inner.insert(name, weak);
                }
                _ => {}
            }
        }
        for (name, value) in strong.iter_mut() {
            if let (Value::Dictionary(strong), Some(weak)) = (value, inner.remove(name)) {
                open.push((strong, weak));
            }
        }
    }
}

impl Reader {
    /// Returns the opinions about a prim, the strongest first.
    fn opinions(&self, index: &Index) -> Vec<Opinions> {
        let mut found = Vec::new();
        for id in &index.order {
            let node = &index.graph[*id];
            if !node.contributes() || !node.has_specs {
                continue;
            }
            let mut path: Option<String> = None;
            for (member, spec) in self.composer.layers.specs(node.stack, node.path) {
                let path = path.get_or_insert_with(|| self.composer.paths.text(node.path));
                found.push(Opinions {
                    site: Site {
                        layer: member.layer,
                        path: path.clone(),
                    },
                    prim: spec.prim,
                    node: *id,
                    offset: node.to_root.offset.concatenate(&member.offset),
                });
            }
        }
        found
    }

    /// Reads the prim of an index.
    ///
    /// # Errors
    /// The limit that the prims so far exceed.
    pub(super) fn prim(
        &mut self,
        index: &Index,
        path: &str,
        parent: Option<(PrimId, &Prim)>,
        id: PrimId,
    ) -> Result<Prim, String> {
        let opinions = self.opinions(index);
        let mut fields = self.fields(index, &opinions);
        let variant_sets = self.variant_sets(index, &mut fields);
        let instance = parent.and_then(enclosing_instance);
        let prototype = match (instance, parent) {
            (Some(_), Some((above, _))) => {
                let name = path.rsplit('/').next().unwrap_or_default();
                self.prototypes
                    .get(&above)
                    .map(|above| format!("{above}/{name}"))
            }
            _ => None,
        };
        if let Some(prototype) = &prototype {
            self.prototypes.insert(id, prototype.clone());
        }
        let is_instance = index.is_instance && fields.active != Some(false);
        if is_instance && prototype.is_none() {
            let prototype = self.prototype(index);
            self.prototypes.insert(id, prototype);
        }
        let (attributes, relationships) = self.properties(index, path, prototype, &opinions);
        let specifier = fields.specifier.unwrap_or(Specifier::Over);
        let mut schemas: Vec<openusd::tf::Token> = Vec::new();
        for op in fields.schemas.iter().rev() {
            edit(&mut schemas, op, |item, _| Some(item.clone()));
        }
        let schemas: Vec<String> = schemas.iter().map(ToString::to_string).collect();
        let is_new = |name: &&String| !name.is_empty() && !fields.unloaded.contains(*name);
        let payload_schemas: Vec<String> = match self.loads_payloads && self.has_payload(index) {
            true => (Some(&fields.type_name).into_iter().chain(&schemas))
                .filter(is_new)
                .cloned()
                .collect(),
            false => Vec::new(),
        };
        let prim = Prim {
            path: path.to_owned(),
            parent: parent.map(|(parent, _)| parent),
            children: Vec::new(),
            specifier,
            is_abstract: specifier == Specifier::Class
                || parent.is_some_and(|(_, above)| above.is_abstract),
            kind: fields.kind,
            is_active: fields.active.unwrap_or(true),
            is_instanceable: fields.instanceable.unwrap_or(false),
            is_instance,
            instance,
            in_payload: self.loads_payloads
                && specifier == Specifier::Def
                && !fields.is_defined_unloaded,
            type_name: fields.type_name,
            schemas,
            payload_schemas,
            metadata: fields.metadata,
            attributes,
            relationships,
            variant_sets,
            arcs: fields.arcs,
            sites: opinions.into_iter().map(|opinion| opinion.site).collect(),
        };
        self.is_bounded(&prim)?;
        Ok(prim)
    }

    /// Returns whether nodes of payloads are part of an index.
    fn has_payload(&self, index: &Index) -> bool {
        index.order.iter().any(|id| index.graph[*id].is_loaded)
    }

    /// Returns a name that is the same for instances of the same sites.
    fn prototype(&mut self, index: &Index) -> String {
        let mut sites = Vec::new();
        for id in &index.order {
            let node = &index.graph[*id];
            if *id != NodeId::ROOT && node.contributes() && node.has_specs {
                let offset = node.to_root.offset.to_bits();
                sites.push((node.kind, node.stack, node.path, offset));
            }
        }
        let count = self.instances.len();
        let number = *self.instances.entry(sites).or_insert(count);
        format!("{number}")
    }

    /// Resolves the fields of a prim.
    fn fields(&self, index: &Index, opinions: &[Opinions]) -> Fields {
        let mut fields = Fields::default();
        let mut is_decided = false;
        for Opinions {
            site, prim, node, ..
        } in opinions
        {
            let opened = self.composer.layers.opened(site.layer);
            let is_loaded = index.graph[*node].is_loaded;
            if let Some(spec) = opened.layer.prims.get(*prim) {
                let stack = index.graph[*node].stack;
                let arcs = spec
                    .arcs
                    .iter()
                    .filter(|arc| !self.is_repeated(index, stack, arc));
                fields.arcs.extend(arcs.cloned());
                for (set, variant) in &spec.selections {
                    let selections = &mut fields.selections;
                    selections
                        .entry(set.clone())
                        .or_insert_with(|| variant.clone());
                }
                if spec.specifier != Specifier::Over {
                    fields.is_defined_unloaded |= !is_loaded;
                    if !is_loaded {
                        fields.unloaded.push(spec.type_name.clone());
                    }
                }
                // A class that the prim inherits does not make it one.
                let is_class = spec.specifier == Specifier::Class && is_direct_class(index, *node);
                if spec.specifier != Specifier::Over && !is_decided {
                    if !is_class || fields.specifier.is_none() {
                        fields.specifier = Some(spec.specifier);
                    }
                    is_decided = !is_class;
                }
                if !is_loaded {
                    fields.unloaded.extend(spec.schemas.iter().cloned());
                    fields.unloaded.push(spec.type_name.clone());
                }
            }
            if let Some(spec) = opened.layer.prims.get(*prim) {
                fields.add(opened.data.as_ref(), &spec.key);
            }
        }
        fields
    }

    /// Returns whether an arc leads to a class that the prim already has by an arc of an ancestor, as scene
    /// cloners write it.
    fn is_repeated(&self, index: &Index, stack: StackId, arc: &CompositionArc) -> bool {
        matches!(arc.kind, ArcKind::Inherit | ArcKind::Specialize)
            && index.order.iter().any(|id| {
                let node = &index.graph[*id];
                let is_known = node.kind.is_class() && node.is_ancestral && node.contributes();
                is_known && node.stack == stack && self.composer.paths.text(node.path) == arc.prim
            })
    }

    /// Takes the variant sets of a prim out of its fields.
    fn variant_sets(&self, index: &Index, fields: &mut Fields) -> Vec<VariantSet> {
        let variants = std::mem::take(&mut fields.variants);
        let selected = |name: &str| {
            index.order.iter().find_map(|id| {
                let node = &index.graph[*id];
                let (set, variant) = self.composer.paths.selection(node.path)?;
                (node.kind == NodeKind::Variant && set == name).then(|| variant.to_owned())
            })
        };
        let mut names: Vec<String> = Vec::new();
        if !variants.is_empty() {
            let nodes = index.order.iter().map(|id| &index.graph[*id]);
            for node in nodes.filter(|node| node.contributes()) {
                names.extend(self.composer.variant_sets(node.stack, node.path));
            }
        }
        // A stronger layer may have deleted a set.
        let variants = variants
            .into_iter()
            .filter(|(name, _)| names.contains(name));
        let sets = variants.map(|(name, mut variants)| {
            variants.sort();
            variants.dedup();
            VariantSet {
                authored: fields.selections.get(&name).cloned(),
                selection: selected(&name),
                name,
                variants,
            }
        });
        sets.collect()
    }

    /// Reads the properties of a prim. `prototype` is the path in the prototype of a prim below an instance.
    fn properties(
        &mut self,
        index: &Index,
        prim: &str,
        prototype: Option<String>,
        opinions: &[Opinions],
    ) -> (Arc<Properties<Attribute>>, Properties<Relationship>) {
        let known = prototype
            .as_ref()
            .and_then(|path| self.shared.get(path))
            .cloned();
        let mut attributes = BTreeMap::new();
        let mut relationships = BTreeMap::new();
        for property in self.property_sites(prim, opinions) {
            if property.is_relationship {
                let relationship = self.relationship(index, opinions, &property);
                relationships.insert(property.name, Box::new(relationship));
            } else if known.is_none() {
                let attribute = self.attribute(index, opinions, &property);
                attributes.insert(property.name, Box::new(attribute));
            }
        }
        if let Some(known) = known {
            return (known, relationships);
        }
        let has_paths = |attribute: &Attribute| {
            let value = attribute.value.as_ref();
            let value = value.and_then(SharedValue::unless_large_array);
            !attribute.connections.is_empty()
                || matches!(
                    value,
                    Some(Value::PathExpression(_) | Value::PathExpressionVec(_))
                )
        };
        let is_connected = attributes.values().any(|attribute| has_paths(attribute));
        let attributes = Arc::new(attributes);
        // Connections and path expressions target prims of this instance, so that they cannot be shared.
        if let Some(prototype) = prototype.filter(|_| !is_connected) {
            self.shared.insert(prototype, Arc::clone(&attributes));
        }
        (attributes, relationships)
    }

    /// Returns the properties of a prim, with their sites of the kind that the strongest has.
    fn property_sites(&mut self, prim: &str, opinions: &[Opinions]) -> Vec<Property> {
        let mut properties: Vec<Property> = Vec::new();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        for (
            number,
            Opinions {
                site, prim: own, ..
            },
        ) in opinions.iter().enumerate()
        {
            let layer = self.composer.layers.layer(site.layer);
            let spec = layer.prims.get(*own);
            for property in spec.iter().flat_map(|spec| &spec.properties) {
                let index = *by_name.entry(&property.name).or_insert_with(|| {
                    properties.push(Property {
                        name: property.name.clone(),
                        sites: Vec::new(),
                        is_relationship: property.is_relationship,
                    });
                    properties.len() - 1
                });
                let Some(known) = properties.get_mut(index) else {
                    continue;
                };
                let path = format!("{}.{}", site.path, property.name);
                if known.is_relationship == property.is_relationship {
                    let layer = site.layer;
                    known.sites.push(PropertySite {
                        site: Site { layer, path },
                        key: property.key.clone(),
                        number,
                    });
                    continue;
                }
                let kind = |is_relationship| match is_relationship {
                    true => "a relationship",
                    false => "an attribute",
                };
                self.unread.push(CompositionError {
                    message: format!(
                        "{prim}.{} is {} here, and {} in a stronger layer; this opinion does not count",
                        property.name,
                        kind(property.is_relationship),
                        kind(known.is_relationship)
                    ),
                    layer: Some(layer.identifier.clone()),
                    path: Some(path),
                });
            }
        }
        properties
    }

    fn relationship(
        &mut self,
        index: &Index,
        opinions: &[Opinions],
        property: &Property,
    ) -> Relationship {
        let targets = self.targets(index, "targetPaths", opinions, property);
        let (mut is_custom, mut metadata) = (false, BTreeMap::new());
        for PropertySite {
            site, key: path, ..
        } in &property.sites
        {
            let data = self.composer.layers.opened(site.layer).data.as_ref();
            let is_wanted = |key: &str| !matches!(key, "targetPaths" | "variability");
            for (key, value) in fields(data, path, is_wanted) {
                match key.as_str() {
                    "custom" => is_custom |= value == Value::Bool(true),
                    _ => merge(&mut metadata, key, value),
                }
            }
        }
        Relationship {
            targets,
            is_custom,
            metadata,
            sites: property.sites(),
        }
    }

    fn attribute(
        &mut self,
        index: &Index,
        opinions: &[Opinions],
        property: &Property,
    ) -> Attribute {
        let found = self.attribute_fields(index, opinions, property);
        self.value_bytes += 8 * found.samples.len();
        let connections = match found.is_connected {
            true => self.targets(index, "connectionPaths", opinions, property),
            false => Vec::new(),
        };
        let is_none = |value: &SharedValue| {
            matches!(
                value.unless_large_array(),
                Some(Value::ValueBlock | Value::None)
            )
        };
        let times = found.samples.iter().map(|(time, _)| *time).collect();
        let mut default = found.default.filter(|value| !is_none(value));
        // A reference to a weaker expression, of which there is none, matches nothing.
        if let Some(value) = default.as_mut().filter(|value| is_open(value))
            && let Value::PathExpression(expression) = value.make_mut()
        {
            let strong = std::mem::take(expression);
            *expression = strong.compose_over(&PathExpression::nothing());
        }
        let first = || {
            let (_, value) = found.samples.into_iter().next()?;
            Some(SharedValue::from(value)).filter(|value| !is_none(value))
        };
        Attribute {
            type_name: found.type_name,
            is_custom: found.is_custom,
            is_uniform: found.is_uniform,
            value: default.or_else(first),
            times,
            connections,
            metadata: found.metadata,
            sites: property.sites(),
        }
    }

    /// Resolves the fields of an attribute.
    fn attribute_fields(
        &mut self,
        index: &Index,
        opinions: &[Opinions],
        property: &Property,
    ) -> AttributeFields {
        let mut found = AttributeFields::default();
        for PropertySite {
            site,
            key: path,
            number,
        } in &property.sites
        {
            let (node, offset) = opinions
                .get(*number)
                .map_or((NodeId::ROOT, LayerOffset::IDENTITY), |opinion| {
                    (opinion.node, opinion.offset)
                });
            let names = self
                .composer
                .layers
                .opened(site.layer)
                .data
                .list_fields(path);
            let mut names = names.unwrap_or_default();
            // Samples are stronger than the default of the same layer.
            names.sort_by_key(|name| name != "timeSamples");
            for key in names {
                let key = key.as_str();
                let opened = self.composer.layers.opened(site.layer);
                match key {
                    "default" if found.default.as_ref().is_none_or(is_open) => {
                        let value = match self.large_array(site.layer, path) {
                            Some(array) => Some(array),
                            None => self.small_default(site.layer, path),
                        };
                        let Some(value) = value else {
                            continue;
                        };
                        let value = self.resolved(index, node, site.layer, offset, value);
                        let value = self.expressed(index, node, site, value);
                        found.default = Some(match found.default.take() {
                            Some(strong) => self.over(strong, &value, site),
                            None => value,
                        });
                    }
                    "timeSamples" if found.default.is_none() && found.samples.is_empty() => {
                        let value = opened.data.try_field(path, key).ok().flatten();
                        if let Some(Value::TimeSamples(samples)) = value.as_deref() {
                            self.value_bytes += 8 * samples.len();
                            let mut samples: Vec<(f64, Value)> = samples
                                .iter()
                                .enumerate()
                                .map(|(index, (time, value))| {
                                    // Only the value of the first sample is read.
                                    let value = if index == 0 {
                                        value.clone()
                                    } else {
                                        Value::None
                                    };
                                    (offset.apply(*time), value)
                                })
                                .collect();
                            samples.sort_by(|(a, _), (b, _)| a.total_cmp(b));
                            if let Some((_, first)) = samples.first_mut() {
                                let value =
                                    SharedValue::from(std::mem::replace(first, Value::None));
                                let value = self.resolved(index, node, site.layer, offset, value);
                                *first = Value::clone(&value);
                            }
                            found.samples = samples;
                        }
                    }
                    "default" | "timeSamples" => {}
                    "connectionPaths" => found.is_connected = true,
                    key if is_list_of_specs(key) || key == super::super::usda::FIRST_TOKEN => {}
                    key => {
                        let value = opened.data.try_field(path, key).ok().flatten();
                        if let Some(value) = value.as_deref() {
                            found.add(&mut self.value_bytes, key, value);
                        }
                    }
                }
            }
        }
        found
    }

    /// Maps the paths of a path expression to the namespace of the stage. Patterns outside of the namespace that
    /// the arcs map match nothing.
    fn expressed(
        &mut self,
        index: &Index,
        node: NodeId,
        site: &Site,
        mut value: SharedValue,
    ) -> SharedValue {
        if !matches!(
            value.unless_large_array(),
            Some(Value::PathExpression(_) | Value::PathExpressionVec(_))
        ) {
            return value;
        }
        let owner = sdf::Path::new(prim_of(&site.path)).unwrap_or_default();
        let owner = owner.strip_all_variant_selections();
        let mut map = |expression: &mut PathExpression| {
            let absolute = std::mem::take(expression).make_absolute(&owner);
            *expression = absolute.map_paths(|path| match path.as_str() {
                // `//` searches all prims, in whatever layer it is.
                "/" => Some(path.clone()),
                _ => sdf::Path::new(&self.mapped(index, node, path)?).ok(),
            });
        };
        match value.make_mut() {
            Value::PathExpression(expression) => map(expression),
            Value::PathExpressionVec(expressions) => expressions.iter_mut().for_each(map),
            _ => {}
        }
        value
    }

    /// Composes a path expression over the one of the next weaker layer, which `%_` names.
    fn over(&mut self, mut strong: SharedValue, weak: &SharedValue, site: &Site) -> SharedValue {
        let Value::PathExpression(expression) = strong.make_mut() else {
            return strong;
        };
        let nothing = PathExpression::nothing();
        let weak = match weak.unless_large_array() {
            Some(Value::PathExpression(weak)) => weak,
            // A block ends the composition; a value of another type does not count.
            Some(Value::ValueBlock | Value::None) => &nothing,
            _ => return strong,
        };
        let text = expression.to_string();
        let len = text.len() + text.matches("%_").count() * weak.to_string().len();
        // Many layers with one reference each compose a long expression as often.
        self.value_bytes += EXPRESSION_WEIGHT * text.len();
        let weak = match len > MAX_EXPRESSION {
            false => weak,
            true => {
                self.unread.push(CompositionError {
                    message: format!(
                        "this path expression is not composed: with stronger ones it has more than {MAX_EXPRESSION} characters"
                    ),
                    layer: Some(self.composer.layers.layer(site.layer).identifier.clone()),
                    path: Some(site.path.clone()),
                });
                &nothing
            }
        };
        *expression = std::mem::take(expression).compose_over(weak);
        strong
    }

    /// Reads the default of an attribute that is not a large array of a binary layer, and adds its size to
    /// the totals.
    fn small_default(&mut self, layer: LayerId, path: &sdf::Path) -> Option<SharedValue> {
        let data = self.composer.layers.opened(layer).data.as_ref();
        let value = data.try_field(path, "default").ok().flatten()?.into_owned();
        self.value_bytes += weight(&value);
        (self.value_bytes <= MAX_VALUE_BYTES).then(|| SharedValue::from(value))
    }

    /// Returns the large array at `path` of a binary layer as a shared handle; `None` for any other value.
    ///
    /// If it exceeds the limit for all arrays together, returns an empty value and records an error.
    fn large_array(&mut self, layer: LayerId, path: &sdf::Path) -> Option<SharedValue> {
        let opened = self.composer.layers.opened(layer);
        let arrays = self.arrays.entry(layer).or_insert_with(|| {
            let location = opened.location.to_string_lossy();
            self.composer.layers.resolver().arrays(&location)
        });
        let array = Arc::clone(arrays.as_ref()?.get(path)?);
        let is_allowed = *self.allowed.entry(Arc::as_ptr(&array)).or_insert_with(|| {
            let sum = self.array_bytes.saturating_add(array.bytes());
            let is_allowed = sum <= MAX_ARRAY_BYTES;
            if is_allowed {
                self.array_bytes = sum;
            }
            is_allowed
        });
        if is_allowed {
            return Some(SharedValue::coded(array));
        }
        self.unread.push(CompositionError {
            message: format!(
                "this array of {} elements is not read: all arrays together would take more than {} MiB",
                array.len(),
                MAX_ARRAY_BYTES >> 20
            ),
            layer: Some(opened.location.to_string_lossy().into_owned()),
            path: Some(path.as_str().to_owned()),
        });
        Some(SharedValue::from(Value::None))
    }

    /// Resolves the asset paths and times of a value that a layer holds.
    fn resolved(
        &self,
        index: &Index,
        node: NodeId,
        layer: LayerId,
        offset: LayerOffset,
        mut value: SharedValue,
    ) -> SharedValue {
        match value.unless_large_array() {
            Some(Value::AssetPath(_) | Value::AssetPathVec(_)) => {}
            Some(Value::TimeCode(_) | Value::TimeCodeVec(_)) => {
                offset.apply_to_value(value.make_mut());
                return value;
            }
            _ => return value,
        }
        let stack = index.graph[node].stack;
        let variables = &self.composer.layers.stack(stack).variables;
        let layers = &self.composer.layers;
        let resolve = |asset: &mut sdf::AssetPath| {
            let evaluated = sdf::expr::evaluate_string(&asset.authored_path, variables);
            let Some(path) = evaluated.value.filter(|path| !path.is_empty()) else {
                return;
            };
            if path != asset.authored_path {
                asset.set_evaluated_path(path.clone());
            }
            let identifier = layers.identifier(&path, Some(layer));
            if let Some(location) = layers.resolver().resolve(&identifier) {
                asset.set_resolved_path(location.to_string_lossy());
            }
        };
        match value.make_mut() {
            Value::AssetPath(asset) => resolve(asset),
            Value::AssetPathVec(assets) => assets.iter_mut().for_each(resolve),
            _ => {}
        }
        value
    }

    /// Returns the composed targets of a relationship, or the connections of an attribute: the list edits of
    /// all layers, each path mapped to the namespace of the stage.
    fn targets(
        &mut self,
        index: &Index,
        field: &str,
        opinions: &[Opinions],
        property: &Property,
    ) -> Vec<String> {
        let mut targets: Vec<String> = Vec::new();
        let mut errors: Vec<CompositionError> = Vec::new();
        for PropertySite { site, key, number } in property.sites.iter().rev() {
            let Some(Opinions { node, .. }) = opinions.get(*number) else {
                continue;
            };
            let opened = self.composer.layers.opened(site.layer);
            let value = opened.data.try_field(key, field).ok().flatten();
            let Some(Value::PathListOp(op)) = value.map(std::borrow::Cow::into_owned) else {
                continue;
            };
            if op.explicit {
                errors.clear();
            }
            let owner = sdf::Path::new(prim_of(&site.path)).unwrap_or_default();
            edit(&mut targets, &op, |target, is_deleted| {
                let target = owner.make_absolute(target);
                let mapped = self.mapped(index, *node, &target);
                if mapped.is_none() && !is_deleted && !target.is_empty() {
                    errors.push(self.outside(index, *node, site, &target));
                }
                mapped
            });
        }
        self.unread.extend(errors);
        targets
    }

    /// Maps a path in the namespace of a node to that of the stage.
    fn mapped(&mut self, index: &Index, node: NodeId, target: &sdf::Path) -> Option<String> {
        let target = target.strip_all_variant_selections();
        let text = target.as_str();
        let prim = prim_of(text);
        let rest = text.get(prim.len()..).unwrap_or_default();
        let paths = &mut self.composer.paths;
        let path = paths.parse(prim)?;
        let mapped = index.graph[node].to_root.to_target(paths, path)?;
        Some(format!("{}{rest}", paths.text(mapped)))
    }

    /// Returns the error about a target outside of the namespace that an arc maps.
    fn outside(
        &mut self,
        index: &Index,
        node: NodeId,
        site: &Site,
        target: &sdf::Path,
    ) -> CompositionError {
        let prim = prim_of(target.as_str());
        let paths = &mut self.composer.paths;
        let mut path = paths.parse(prim);
        let mut at = node;
        while let (Some(parent), Some(inside)) = (index.graph.parent(at), path) {
            path = index.graph[at].to_parent.to_target(paths, inside);
            if path.is_some() {
                at = parent;
            }
        }
        let root = index.graph.target(paths, at);
        CompositionError {
            message: format!(
                "{} is outside of {}, the only prims that the {} composes",
                target.as_str(),
                paths.text(root),
                index.graph[at].kind.name()
            ),
            layer: Some(self.composer.layers.layer(site.layer).identifier.clone()),
            path: Some(site.path.clone()),
        }
    }
}

/// Returns whether a value is a path expression with a reference to the next weaker one.
fn is_open(value: &SharedValue) -> bool {
    let value = value.unless_large_array();
    matches!(value, Some(Value::PathExpression(expression)) if expression.contains_weaker_reference())
}

/// Returns the path of the prim of a property.
fn prim_of(path: &str) -> &str {
    let mut is_inside = false;
    let end = path.char_indices().find(|(_, letter)| {
        is_inside = (is_inside || *letter == '{') && *letter != '}';
        *letter == '.' && !is_inside
    });
    end.map_or(path, |(at, _)| path.get(..at).unwrap_or(path))
}

/// Returns whether a node is a class that the prim itself inherits or specializes, or part of one.
fn is_direct_class(index: &Index, node: NodeId) -> bool {
    let mut chain = index.graph.chain(node);
    chain.any(|id| index.graph[id].kind.is_class() && !index.graph[id].is_ancestral)
}

impl Fields {
    /// Adds the fields of a prim in the next weaker layer.
    fn add(&mut self, data: &dyn AbstractData, path: &sdf::Path) {
        let is_wanted = |key: &str| {
            !matches!(
                key,
                "specifier"
                    | "references"
                    | "payload"
                    | "inheritPaths"
                    | "specializes"
                    | "variantSelection"
                    | "propertyOrder"
                    | "primOrder"
            )
        };
        for (key, value) in fields(data, path, is_wanted) {
            match (key.as_str(), value) {
                ("variantSetNames", Value::StringListOp(names)) => {
                    names.iter().for_each(|name| {
                        self.variants.entry(name.clone()).or_default();
                    });
                }
                // The strongest type counts, other than no type.
                ("typeName", Value::Token(name)) => {
                    if self.type_name.is_empty() && name != "__AnyType__" {
                        self.type_name = name.to_string();
                    }
                }
                ("kind", Value::Token(kind)) => {
                    self.kind.get_or_insert_with(|| kind.to_string());
                }
                ("active", Value::Bool(flag)) => {
                    self.active.get_or_insert(flag);
                }
                ("instanceable", Value::Bool(flag)) => {
                    self.instanceable.get_or_insert(flag);
                }
                ("apiSchemas", Value::TokenListOp(op)) => self.schemas.push(op),
                ("typeName" | "kind" | "active" | "instanceable" | "apiSchemas", _) => {}
                (_, value) => merge(&mut self.metadata, key, value),
            }
        }
        self.add_variants(data, path);
        if self.kind.as_ref().is_some_and(String::is_empty) {
            self.kind = None;
        }
    }

    /// Adds the variants of a prim in a layer. A site lists only its own sets; each selected variant is
    /// a site too.
    fn add_variants(&mut self, data: &dyn AbstractData, path: &sdf::Path) {
        let sets = data.try_field(path, "variantSetChildren").ok().flatten();
        for set in sets.as_deref().and_then(texts).unwrap_or_default() {
            let (Some(variants), Ok(set_path)) = (
                self.variants.get_mut(set),
                path.append_variant_selection(set, ""),
            ) else {
                continue;
            };
            if let Ok(Some(value)) = data.try_field(&set_path, "variantChildren") {
                variants.extend(
                    texts(&value)
                        .unwrap_or_default()
                        .into_iter()
                        .map(str::to_owned),
                );
            }
        }
    }
}

impl AttributeFields {
    /// Adds a field in the next weaker layer, and its size to the totals.
    fn add(&mut self, value_bytes: &mut usize, key: &str, value: &Value) {
        match (key, value) {
            ("typeName", value) if self.type_name.is_empty() => {
                text(value)
                    .unwrap_or_default()
                    .clone_into(&mut self.type_name);
            }
            ("custom", Value::Bool(true)) => self.is_custom = true,
            ("variability", Value::Variability(sdf::Variability::Uniform)) => {
                self.is_uniform = true
            }
            ("typeName" | "custom" | "variability", _) => {}
            (key, value) => {
                // Count before cloning: attributes of one prim may share a large dictionary. Beyond
                // the limit, the asset is rejected.
                *value_bytes += weight(value);
                if *value_bytes <= MAX_VALUE_BYTES {
                    merge(&mut self.metadata, key.to_owned(), value.clone());
                }
            }
        }
    }
}
