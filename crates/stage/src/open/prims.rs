//! Reads a prim: the parts that `openusd` composes, and the opinions of the layers.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use openusd::sdf::{self, AbstractData};
use openusd::tf::Token;
use openusd::usd::TimeCode;
use openusd::usd::{self, SpecSite};

use super::super::layer::{fields, is_list_of_specs};
use super::super::prim::{
    Arc as CompositionArc, Attribute, Prim, PrimId, Relationship, Site, Specifier, VariantSet,
};
use super::super::shared::{SharedValue, weight};
use super::super::{Value, text, texts};
use super::plain::{BasicOpinions, Basics};
use super::{MAX_VALUE_BYTES, Read, Reader, layer_at};

/// The strongest opinions about a prim.
#[derive(Default)]
pub(super) struct PrimOpinions {
    arcs: Vec<CompositionArc>,
    pub metadata: BTreeMap<String, Value>,
    /// The names of the variants of each set.
    variants: BTreeMap<String, Vec<String>>,
    /// The selected variants, by set.
    selections: BTreeMap<String, String>,
    /// The fields that plain prims resolve without `openusd`.
    pub basics: BasicOpinions,
}

impl PrimOpinions {
    /// Adds the fields of a prim in the next weaker layer.
    fn add_fields(&mut self, data: &dyn AbstractData, path: &sdf::Path) {
        for (key, value) in fields(data, path) {
            match (key.as_str(), value) {
                ("variantSetNames", Value::StringListOp(names)) => {
                    names.iter().for_each(|name| {
                        self.variants.entry(name.clone()).or_default();
                    });
                }
                // OpenUSD merges dictionaries; of other metadata, the strongest opinion counts.
                ("assetInfo" | "customData", value) => merge(&mut self.metadata, key, value),
                (
                    "specifier" | "typeName" | "kind" | "active" | "instanceable" | "apiSchemas",
                    value,
                ) => self.basics.add(&key, value),
                (
                    "references" | "payload" | "inheritPaths" | "specializes" | "variantSelection"
                    | "propertyOrder" | "primOrder",
                    _,
                ) => {}
                (other, _) if is_list_of_specs(other) => {}
                (_, value) => {
                    self.metadata.entry(key).or_insert(value);
                }
            }
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

/// A property with its sites, the strongest first.
pub(super) struct PropertySites {
    name: String,
    sites: Vec<Site>,
    is_relationship: bool,
}

/// Returns the nearest instance at or above the parent of a prim.
pub(super) fn enclosing_instance((id, parent): (PrimId, &Prim)) -> Option<PrimId> {
    match parent.is_instance {
        true => Some(id),
        false => parent.instance,
    }
}

/// The strongest opinions about an attribute.
#[derive(Default)]
struct AttributeOpinions {
    type_name: String,
    is_custom: bool,
    is_uniform: bool,
    default: Option<SharedValue>,
    is_sampled: bool,
    is_connected: bool,
    metadata: BTreeMap<String, Value>,
}

impl Reader<'_> {
    pub(super) fn sites(&mut self, stack: Vec<SpecSite>) -> Vec<Site> {
        let site = |site: SpecSite| {
            Some(Site {
                layer: self.layer(&site.layer)?,
                path: site.path.as_str().to_owned(),
            })
        };
        stack.into_iter().filter_map(site).collect()
    }

    /// Reads a prim that `openusd` has composed.
    pub(super) fn prim(
        &mut self,
        prim: &usd::Prim,
        stack: Vec<SpecSite>,
        parent: Option<(PrimId, &Prim)>,
        id: PrimId,
    ) -> Read<Prim> {
        let sites = self.sites(stack);
        let mut opinions = self.prim_opinions(&sites);
        let variant_sets = variant_sets(prim, &mut opinions)?;
        let basics = match std::mem::take(&mut opinions.basics).resolve() {
            Some(basics) => basics,
            None => resolved_basics(prim)?,
        };
        let instance = parent.and_then(enclosing_instance);
        let prototype = if instance.is_some() {
            prim.prim_in_prototype()?
                .map(|prim| prim.path().as_str().to_owned())
        } else {
            None
        };
        if let Some(prototype) = &prototype {
            self.prototypes.insert(id, prototype.clone());
        }
        let (properties, _) = self.property_sites(&sites);
        let (attributes, relationships) =
            self.properties(prim.path().as_str(), prototype, properties)?;
        Ok(Prim {
            path: prim.path().as_str().to_owned(),
            parent: parent.map(|(parent, _)| parent),
            children: Vec::new(),
            type_name: basics.type_name,
            specifier: basics.specifier,
            is_abstract: basics.specifier == Specifier::Class
                || parent.is_some_and(|(_, above)| above.is_abstract),
            schemas: basics.schemas,
            kind: basics.kind,
            is_active: basics.is_active,
            is_instanceable: basics.is_instanceable,
            is_instance: basics.is_instanceable && prim.is_instance()?,
            instance,
            in_payload: false,
            payload_schemas: Vec::new(),
            metadata: opinions.metadata,
            attributes,
            relationships,
            variant_sets,
            arcs: opinions.arcs,
            sites,
        })
    }

    /// Collects the opinions about a prim at these sites, from the strongest to the weakest.
    pub(super) fn prim_opinions(&self, sites: &[Site]) -> PrimOpinions {
        let mut opinions = PrimOpinions::default();
        for site in sites {
            let layer = layer_at(&self.layers, site.layer);
            if let Some(spec) = layer.prim(&site.path) {
                opinions.arcs.extend(spec.arcs.iter().cloned());
                for (set, variant) in &spec.selections {
                    opinions
                        .selections
                        .entry(set.clone())
                        .or_insert_with(|| variant.clone());
                }
            }
            let Some(layer) = self.source.layer(&layer.identifier) else {
                continue;
            };
            let Ok(path) = sdf::Path::new(&site.path) else {
                continue;
            };
            opinions.add_fields(layer.data(), &path);
            opinions.add_variants(layer.data(), &path);
        }
        opinions
    }

    /// Reads the properties of a prim. `prototype` is the path in the prototype of a prim below an
    /// instance.
    #[expect(clippy::type_complexity, reason = "it is taken apart at once")]
    pub(super) fn properties(
        &mut self,
        path: &str,
        prototype: Option<String>,
        properties: Vec<PropertySites>,
    ) -> Read<(
        Arc<BTreeMap<String, Attribute>>,
        BTreeMap<String, Relationship>,
    )> {
        let known = prototype
            .as_ref()
            .and_then(|path| self.shared.get(path))
            .cloned();
        let mut attributes = BTreeMap::new();
        let mut relationships = BTreeMap::new();
        for property in properties {
            let PropertySites {
                name,
                sites,
                is_relationship,
            } = property;
            if is_relationship {
                let targets = self.targets(path, &name, "targetPaths", &sites)?;
                let (is_custom, metadata) = self.of_relationship(&sites);
                relationships.insert(
                    name,
                    Relationship {
                        targets,
                        is_custom,
                        metadata,
                        sites,
                    },
                );
            } else if known.is_none() {
                let attribute = self.attribute(path, &name, sites)?;
                attributes.insert(name, attribute);
            }
        }
        if let Some(known) = known {
            return Ok((known, relationships));
        }
        let is_connected = attributes
            .values()
            .any(|attribute| !attribute.connections.is_empty());
        let attributes = Arc::new(attributes);
        // Connections target prims of this instance, so that they cannot be shared.
        if let Some(prototype) = prototype.filter(|_| !is_connected) {
            self.shared.insert(prototype, Arc::clone(&attributes));
        }
        Ok((attributes, relationships))
    }

    /// Returns the properties at the sites of a prim, with their sites of the kind that the strongest has,
    /// and whether there are sites of both kinds.
    pub(super) fn property_sites(&self, prim_sites: &[Site]) -> (Vec<PropertySites>, bool) {
        let mut properties: Vec<PropertySites> = Vec::new();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        let mut is_mixed = false;
        for site in prim_sites {
            let spec = layer_at(&self.layers, site.layer).prim(&site.path);
            for property in spec.iter().flat_map(|spec| &spec.properties) {
                let index = *by_name.entry(&property.name).or_insert_with(|| {
                    properties.push(PropertySites {
                        name: property.name.clone(),
                        sites: Vec::new(),
                        is_relationship: property.is_relationship,
                    });
                    properties.len() - 1
                });
                let Some(known) = properties.get_mut(index) else {
                    continue;
                };
                if known.is_relationship == property.is_relationship {
                    known.sites.push(Site {
                        layer: site.layer,
                        path: format!("{}.{}", site.path, property.name),
                    });
                } else {
                    is_mixed = true;
                }
            }
        }
        (properties, is_mixed)
    }

    /// Returns whether a relationship is custom, and its metadata, from the strongest opinions.
    fn of_relationship(&self, sites: &[Site]) -> (bool, BTreeMap<String, Value>) {
        let (mut is_custom, mut metadata) = (false, BTreeMap::new());
        for site in sites {
            let Some(layer) = self
                .source
                .layer(&layer_at(&self.layers, site.layer).identifier)
            else {
                continue;
            };
            let Ok(path) = sdf::Path::new(&site.path) else {
                continue;
            };
            for (key, value) in fields(layer.data(), &path) {
                match key.as_str() {
                    "custom" => is_custom |= value == Value::Bool(true),
                    "targetPaths" | "variability" => {}
                    key if is_list_of_specs(key) => {}
                    _ => {
                        metadata.entry(key).or_insert(value);
                    }
                }
            }
        }
        (is_custom, metadata)
    }

    /// Returns the handle of `openusd` for an attribute.
    fn handle(&self, prim: &str, name: &str) -> Read<usd::Attribute> {
        Ok(self.source.prim(prim)?.attribute(name))
    }

    fn attribute(&mut self, prim: &str, name: &str, sites: Vec<Site>) -> Read<Attribute> {
        let AttributeOpinions {
            type_name,
            is_custom,
            is_uniform,
            default,
            is_sampled,
            is_connected,
            metadata,
        } = self.attribute_opinions(&sites);
        let mut times = Vec::new();
        if is_sampled && self.value_bytes <= MAX_VALUE_BYTES {
            times = self.handle(prim, name)?.time_sample_times()?;
            self.value_bytes += 8 * times.len();
        }
        let mut connections = Vec::new();
        if is_connected {
            connections = self.targets(prim, name, "connectionPaths", &sites)?;
        }
        let handle = || self.handle(prim, name);
        let value = value(&handle, default, times.first().copied())?;
        Ok(Attribute {
            type_name,
            is_custom,
            is_uniform,
            value,
            times,
            connections,
            metadata,
            sites,
        })
    }

    /// Collects the opinions about an attribute at these sites, from the strongest to the weakest.
    fn attribute_opinions(&mut self, sites: &[Site]) -> AttributeOpinions {
        let mut opinions = AttributeOpinions::default();
        for site in sites {
            let Some(layer) = self
                .source
                .layer(&layer_at(&self.layers, site.layer).identifier)
            else {
                continue;
            };
            let Ok(path) = sdf::Path::new(&site.path) else {
                continue;
            };
            let data = layer.data();
            for key in data.list_fields(&path).unwrap_or_default() {
                match key.as_str() {
                    // Only the strongest default counts.
                    "default" if opinions.default.is_none() => {
                        let file = layer.resolved_path().unwrap_or_default();
                        opinions.default = self
                            .large_array(file, &path)
                            .or_else(|| self.small_default(data, &path));
                    }
                    "default" => {}
                    "timeSamples" => opinions.is_sampled = true,
                    "connectionPaths" => opinions.is_connected = true,
                    _ if is_list_of_specs(&key) => {}
                    _ => {
                        if let Ok(Some(value)) = data.try_field(&path, &key) {
                            self.add_field(&mut opinions, key, &value);
                        }
                    }
                }
            }
        }
        opinions
    }

    /// Reads the default of an attribute that is not a large array of a binary layer, and adds its size to
    /// the totals.
    fn small_default(&mut self, data: &dyn AbstractData, path: &sdf::Path) -> Option<SharedValue> {
        let value = data
            .try_field(path, "default")
            .ok()
            .flatten()
            .map(Cow::into_owned);
        self.value_bytes += value.as_ref().map_or(0, weight);
        value
            .filter(|_| self.value_bytes <= MAX_VALUE_BYTES)
            .map(SharedValue::from)
    }

    /// Adds a field of an attribute in the next weaker layer.
    fn add_field(&mut self, opinions: &mut AttributeOpinions, key: String, value: &Value) {
        match (key.as_str(), value) {
            ("typeName", value) if opinions.type_name.is_empty() => {
                text(value)
                    .unwrap_or_default()
                    .clone_into(&mut opinions.type_name);
            }
            ("custom", Value::Bool(true)) => opinions.is_custom = true,
            ("variability", Value::Variability(sdf::Variability::Uniform)) => {
                opinions.is_uniform = true;
            }
            ("typeName" | "custom" | "variability", _) => {}
            (_, value) => {
                // Count before cloning: attributes of one prim may share a large dictionary. Beyond
                // the limit, the asset is rejected.
                self.value_bytes += weight(value);
                if self.value_bytes <= MAX_VALUE_BYTES {
                    opinions
                        .metadata
                        .entry(key)
                        .or_insert_with(|| value.clone());
                }
            }
        }
    }
}

/// Resolves the fields of a prim with `openusd`.
pub(super) fn resolved_basics(prim: &usd::Prim) -> Read<Basics> {
    let names = |tokens: Vec<Token>| tokens.iter().map(ToString::to_string).collect();
    Ok(Basics {
        specifier: prim.specifier()?.map_or(Specifier::Over, Specifier::from),
        type_name: prim
            .type_name()?
            .map(|name| name.to_string())
            .unwrap_or_default(),
        schemas: names(prim.authored_api_schemas()?),
        kind: prim
            .kind()?
            .map(|kind| kind.to_string())
            .filter(|kind| !kind.is_empty()),
        is_active: prim.is_active()?,
        is_instanceable: prim.is_instanceable()?,
    })
}

/// Takes the variant sets of a prim out of `opinions`.
fn variant_sets(prim: &usd::Prim, opinions: &mut PrimOpinions) -> Read<Vec<VariantSet>> {
    if opinions.variants.is_empty() {
        return Ok(Vec::new());
    }
    let selections = prim.variant_sets().get_all_variant_selections()?;
    let variants = std::mem::take(&mut opinions.variants);
    let sets = variants.into_iter().map(|(name, mut variants)| {
        variants.sort();
        variants.dedup();
        let selection = selections
            .iter()
            .find(|(set, _)| *set == name)
            .map(|(_, variant)| variant.clone())
            .filter(|v| !v.is_empty());
        VariantSet {
            authored: opinions.selections.get(&name).cloned(),
            name,
            variants,
            selection,
        }
    });
    Ok(sets.collect())
}

/// Returns the default of an attribute in the strongest layer, or else its first time sample.
fn value(
    attribute: &impl Fn() -> Read<usd::Attribute>,
    default: Option<SharedValue>,
    first_time: Option<f64>,
) -> Read<Option<SharedValue>> {
    // `openusd` composes values of several opinions, and resolves paths relative to a layer.
    let is_plain = default
        .as_ref()
        .and_then(SharedValue::unless_large_array)
        .is_none_or(|value| !is_composed(value));
    let value = if is_plain {
        default
    } else {
        attribute()?.get::<Value>()?.map(SharedValue::from)
    };
    let is_none = |value: &SharedValue| {
        matches!(
            value.unless_large_array(),
            Some(Value::ValueBlock | Value::None)
        )
    };
    match (value.filter(|value| !is_none(value)), first_time) {
        (None, Some(time)) => Ok(attribute()?
            .get_at::<Value>(TimeCode::from(time))?
            .map(SharedValue::from)),
        (value, _) => Ok(value),
    }
}

/// Whether a value may be composed of several opinions, or is relative to its layer.
fn is_composed(value: &Value) -> bool {
    matches!(
        value,
        Value::AssetPath(_)
            | Value::AssetPathVec(_)
            | Value::Dictionary(_)
            | Value::TimeCode(_)
            | Value::TimeCodeVec(_)
            | Value::PathExpression(_)
            | Value::PathExpressionVec(_)
    )
}

/// Merges a dictionary into a stronger one.
fn merge(metadata: &mut BTreeMap<String, Value>, key: String, weaker: Value) {
    match (metadata.get_mut(&key), weaker) {
        (Some(Value::Dictionary(strong)), Value::Dictionary(weak)) => {
            for (name, value) in weak {
                strong.entry(name).or_insert(value);
            }
        }
        (Some(_), _) => {}
        (None, value) => {
            metadata.insert(key, value);
        }
    }
}
