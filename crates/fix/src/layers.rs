//! Writes the fixed prims into layers by function (REP-158 §1.2.1): the subject of a property or schema
//! determines its layer.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use urdf_usd_rep158::Content;
use urdf_usd_robot::{ArenaMap, names};
use urdf_usd_stage::{Attribute, Properties, Relationship, Value};
use urdf_usd_usd_author::crate_file;
use urdf_usd_usd_author::{self as author, Layer};

use super::instances::{GEOMETRY, Library, hash_value};
use super::notes::Notes;
use super::scene::{Node, NodeId, Origin, Scene};
use super::{Error, vendors};

/// The subject of a layer. The order is that of strength, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Subject {
    Ros,
    ExtendedPhysics,
    Urdf,
    Physics,
    Materials,
    Base,
    /// The library of prototypes, which are payloads of instances.
    Instances,
    /// The library of the materials of prototypes.
    InstanceMaterials,
    /// The layer of a vendor, which only the vendor's entry includes.
    Vendor(&'static str),
}

impl Subject {
    fn file(self) -> String {
        match self {
            Self::Ros => "ros.usda".to_owned(),
            Self::ExtendedPhysics => "extended_physics.usda".to_owned(),
            Self::Urdf => "urdf.usda".to_owned(),
            Self::Physics => "physics.usda".to_owned(),
            Self::Materials => "materials.usda".to_owned(),
            Self::Base => "base.usda".to_owned(),
            Self::Instances => "instances.usda".to_owned(),
            Self::InstanceMaterials => "instance_materials.usda".to_owned(),
            Self::Vendor(name) => format!("{name}.usda"),
        }
    }

    fn doc(self) -> String {
        match self {
            Self::Ros => "Ros*API: contexts, frames, joint names, interfaces".to_owned(),
            Self::ExtendedPhysics => "ext_physics:*".to_owned(),
            Self::Urdf => "urdf:*".to_owned(),
            Self::Physics => {
                "Core UsdPhysics only: bodies, joints, colliders, physics materials".to_owned()
            }
            Self::Materials => "Materials".to_owned(),
            Self::Base => "Prims, their transforms, and what is seen".to_owned(),
            Self::Instances => "What instances pull in".to_owned(),
            Self::InstanceMaterials => "The materials in instances".to_owned(),
            Self::Vendor(name) => format!("What only {name} reads"),
        }
    }

    /// Returns the layer of a property or applied schema; `None` for the layer that defines its prim.
    fn of_name(name: &str) -> Option<Self> {
        if let Some(vendor) = vendors::layer_name(name) {
            return Some(Self::Vendor(vendor));
        }
        match urdf_usd_rep158::classify(name) {
            Some(Content::Ros) => Some(Self::Ros),
            Some(Content::ExtendedPhysics) => Some(Self::ExtendedPhysics),
            Some(Content::Physics) => Some(Self::Physics),
            _ if name == "material:binding:physics" => Some(Self::Physics),
            _ if name.starts_with("urdf:") => Some(Self::Urdf),
            _ => None,
        }
    }
}

/// Returns the layer that defines a prim.
fn defining_layer(scene: &Scene, index: NodeId) -> Subject {
    let node = &scene.nodes[index];
    if node.is_joint() || node.type_name.starts_with("Physics") {
        return Subject::Physics;
    }
    if let Some(vendor) = vendors::layer_name(&node.type_name) {
        return Subject::Vendor(vendor);
    }
    let material = scene
        .upwards(index)
        .find(|&above| scene.nodes[above].type_name == "Material");
    match material {
        Some(material)
            if scene.nodes[material].children.is_empty()
                && scene.nodes[material].has("PhysicsMaterialAPI") =>
        {
            Subject::Physics
        }
        Some(_) => Subject::Materials,
        None if node.name() == "PhysicsMaterials" => Subject::Physics,
        None => Subject::Base,
    }
}

/// Sorts prims into the order of the composed layers: prims of weaker layers come first.
pub fn arrange(scene: &mut Scene) {
    // The weakest layer that names each prim: that of itself or of a descendant.
    let mut weakest = ArenaMap::new(&scene.nodes, |id, _| match defining_layer(scene, id) {
        // The asset does not include vendor layers, so their prims sort with the strongest layer.
        Subject::Vendor(_) => Subject::Ros,
        home => home,
    });
    let order = scene.in_order();
    for &index in order.iter().rev() {
        if let Some(parent) = scene.nodes[index].parent {
            weakest[parent] = weakest[parent].max(weakest[index]);
        }
    }
    let sort =
        |nodes: &mut Vec<NodeId>| nodes.sort_by_key(|&node| std::cmp::Reverse(weakest[node]));
    for index in order.iter().copied() {
        sort(&mut scene.nodes[index].children);
    }
    let mut roots: Vec<NodeId> = order
        .into_iter()
        .filter(|&index| scene.nodes[index].parent.is_none())
        .collect();
    sort(&mut roots);
    scene.arrange(
        roots
            .into_iter()
            .flat_map(|root| scene.subtree(root))
            .collect(),
    );
}

/// Whether a property or applied schema belongs in another layer than the one that defines its prim.
pub fn is_separate(name: &str) -> bool {
    Subject::of_name(name).is_some()
}

/// Whether an attribute of a shape with points belongs in geometries.usdc.
pub fn is_heavy(name: &str) -> bool {
    matches!(
        name,
        "points"
            | "normals"
            | "velocities"
            | "accelerations"
            | "widths"
            | "ids"
            | "faceVertexCounts"
            | "faceVertexIndices"
            | "curveVertexCounts"
            | "subdivisionScheme"
            | "orientation"
            | "interpolateBoundary"
            | "faceVaryingLinearInterpolation"
            | "triangleSubdivisionRule"
            | "cornerIndices"
            | "cornerSharpnesses"
            | "creaseIndices"
            | "creaseLengths"
            | "creaseSharpnesses"
            | "holeIndices"
            | "extent"
            | "tetVertexIndices"
            | "surfaceFaceVertexIndices"
            | "indices"
            | "elementType"
            | "familyName"
            | "basis"
            | "type"
            | "wrap"
            | "order"
            | "knots"
            | "protoIndices"
            | "positions"
            | "orientations"
            | "orientationsf"
            | "scales"
            | "angularVelocities"
            | "invisibleIds"
    ) || name.starts_with("primvars:")
        && name != "primvars:displayColor"
        && name != "primvars:displayOpacity"
}

/// Whether arrays define the shape of a prim.
fn has_arrays(node: &Node) -> bool {
    node.has_points() || node.type_name == "PointInstancer"
}

/// Writes the scene's layers into `files`.
pub fn write(
    scene: &Scene,
    library: &Library,
    files: &mut BTreeMap<PathBuf, Vec<u8>>,
    notes: &mut Notes,
) -> Result<(), Error> {
    let name = scene.name().to_owned();
    let mut writer = Writer {
        name,
        layers: BTreeMap::new(),
        geometries: Geometries::default(),
        shelf: None,
    };
    for (subject, shelf) in [
        (Subject::Instances, &library.prototypes),
        (Subject::InstanceMaterials, &library.materials),
    ] {
        writer.shelf = Some(subject);
        // The first node is the scope, which is written only with contents.
        for index in shelf
            .scene
            .in_order()
            .into_iter()
            .filter(|_| shelf.scene.nodes.len() > 1)
        {
            writer.prim(&shelf.scene, index, &shelf.scene.nodes[index].path, None);
        }
    }
    writer.shelf = None;
    let varying = find_varying(scene, notes);
    let varying_paths: HashSet<&String> = varying.keys().collect();
    for index in scene.in_order() {
        let node = &scene.nodes[index];
        if !varying_paths.contains(&node.path) {
            writer.prim(scene, index, &node.path, None);
        } else if let Some(common) = varying
            .get(&node.path)
            .and_then(|varying| varying.common.as_ref())
        {
            writer.common(scene, index, common);
        }
    }
    // A selection that the selected variant of a set above makes must not be local, which would be stronger.
    let made_above: HashSet<(&String, &String, &String)> = scene
        .variants
        .values()
        .filter_map(|above| above.selects.get(&above.selection))
        .flatten()
        .map(|((path, set), selection)| (path, set, selection))
        .collect();
    for ((path, set), variants) in &scene.variants {
        let all: BTreeMap<&str, &Scene> = variants
            .others
            .iter()
            .map(|(name, scene)| (name.as_str(), scene.as_ref()))
            .chain([(variants.selection.as_str(), scene)])
            .filter(|(name, _)| !name.is_empty())
            .collect();
        let selection = if made_above.contains(&(path, set, &variants.selection)) {
            ""
        } else {
            &variants.selection
        };
        writer
            .layer(Subject::Base)
            .over(path)
            .variant_set(set, selection);
        for (variant, variant_scene) in all {
            // Write empty variants too.
            let start = format!("{path}{{{set}={variant}}}");
            writer.layer(Subject::Base).over(&start);
            let inside = |below: &str| {
                Some(format!(
                    "{start}{}",
                    below.strip_prefix(path)?.strip_prefix('/')?
                ))
            };
            for ((below, below_set), selection) in
                variants.selects.get(variant).into_iter().flatten()
            {
                if let Some(opinion) = inside(below) {
                    writer
                        .layer(Subject::Base)
                        .over(&opinion)
                        .select(below_set, selection);
                }
            }
            let Some(top) = variant_scene.at(path) else {
                continue;
            };
            for index in variant_scene.subtree(top) {
                let node = &variant_scene.nodes[index];
                let Some(known) = varying
                    .get(&node.path)
                    .filter(|known| known.path == *path && known.set == *set)
                else {
                    continue;
                };
                let place = inside(&node.path).unwrap_or_else(|| start.clone());
                writer.prim(variant_scene, index, &place, known.common.as_ref());
            }
        }
    }
    writer.finish(scene, files)
}

/// The opinions about a prim that all variants of a set share.
struct Common {
    /// Whether type, schemas and metadata are shared.
    has_head: bool,
    /// The shared schemas.
    schemas: Vec<String>,
    /// The names of shared properties.
    properties: HashSet<String>,
}

/// A prim that differs between the variants of a set.
struct Varying {
    path: String,
    set: String,
    /// The shared opinions; `None` for a prim that not all variants have.
    common: Option<Common>,
}

/// Finds the prims that differ between variants, by path.
fn find_varying(scene: &Scene, notes: &mut Notes) -> HashMap<String, Varying> {
    let mut found: HashMap<String, Varying> = HashMap::new();
    // The innermost prim with a variant set takes precedence.
    let mut sets: Vec<_> = scene.variants.iter().collect();
    sets.sort_by_key(|((path, _), _)| std::cmp::Reverse(path.len()));
    for ((path, set), variants) in sets {
        let scenes: Vec<&Scene> = variants
            .others
            .values()
            .map(AsRef::as_ref)
            .chain([scene])
            .collect();
        let mut paths: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        for variant_scene in &scenes {
            for index in variant_scene
                .at(path)
                .map(|top| variant_scene.subtree(top))
                .unwrap_or_default()
            {
                let path = &variant_scene.nodes[index].path;
                if seen.insert(path.clone()) {
                    paths.push(path.clone());
                }
            }
        }
        for prim in paths {
            let nodes: Vec<Option<&Node>> = scenes
                .iter()
                .map(|scene| scene.at(&prim).map(|index| &scene.nodes[index]))
                .collect();
            let in_all: Option<Vec<&Node>> = nodes.into_iter().collect();
            let is_alike = |nodes: &Vec<&Node>| {
                nodes
                    .iter()
                    .zip(nodes.iter().skip(1))
                    .all(|(a, b)| a.has_same_opinions(b))
            };
            if in_all.as_ref().is_some_and(is_alike) {
                continue;
            }
            if let Some(known) = found.get(&prim) {
                let key = (known.path.clone(), known.set.clone());
                if (&key.0, &key.1) != (path, set) && !variants.drives(&key) {
                    let message = format!(
                        "the prim depends on the variants of {set} and of {}; combinations of both are lost",
                        known.set
                    );
                    notes.lost(
                        &prim,
                        message,
                        "author the opinions that depend on both by hand",
                    );
                }
                continue;
            }
            let common = in_all.and_then(|nodes| {
                let first = *nodes.first()?;
                let is_same = |name: &&String| {
                    nodes.iter().all(|node| {
                        node.attributes.get(*name) == first.attributes.get(*name)
                            && node.relationships.get(*name) == first.relationships.get(*name)
                    })
                };
                Some(Common {
                    has_head: nodes.iter().all(|node| node.has_same_head(first)),
                    schemas: first
                        .schemas
                        .iter()
                        .filter(|schema| nodes.iter().all(|node| node.schemas.contains(schema)))
                        .cloned()
                        .collect(),
                    properties: first
                        .attributes
                        .keys()
                        .chain(first.relationships.keys())
                        .filter(is_same)
                        .cloned()
                        .collect(),
                })
            });
            found.insert(
                prim,
                Varying {
                    path: path.clone(),
                    set: set.clone(),
                    common,
                },
            );
        }
    }
    found
}

struct Writer {
    name: String,
    layers: BTreeMap<Subject, Layer>,
    geometries: Geometries,
    /// The library layer that is being written.
    shelf: Option<Subject>,
}

/// Shapes with points, without duplicates.
#[derive(Default)]
struct Geometries {
    layer: Option<Layer>,
    known: Vec<(String, Vec<Form>)>,
    by_hash: HashMap<u64, Vec<usize>>,
    names: HashSet<String>,
}

/// A prim of geometries.usdc: a shape, or a subset of its faces.
#[derive(Clone, Debug, PartialEq)]
struct Form {
    /// The name of the subset; empty for the shape itself.
    name: String,
    type_name: String,
    attributes: Properties<Attribute>,
}

impl Writer {
    fn layer(&mut self, subject: Subject) -> &mut Layer {
        let name = match subject {
            Subject::Instances => "Instances",
            Subject::InstanceMaterials => "Materials",
            _ => &self.name,
        };
        self.layers
            .entry(subject)
            .or_insert_with(|| Layer::new(&subject.doc(), name))
    }

    /// Writes the opinions about a prim that all variants share.
    fn common(&mut self, scene: &Scene, index: NodeId, common: &Common) {
        let mut node = scene.nodes[index].clone();
        node.attributes
            .retain(|name, _| common.properties.contains(name));
        node.relationships
            .retain(|name, _| common.properties.contains(name));
        if !common.has_head {
            node.schemas.clone_from(&common.schemas);
            node.metadata.clear();
            node.kind = None;
            node.origin = None;
        }
        let is_geometry = has_arrays(&node) && !node.attributes.keys().any(|name| is_heavy(name));
        self.node(
            scene,
            index,
            &node,
            &scene.nodes[index].path,
            !is_geometry,
            true,
        );
    }

    /// Writes a prim at `path`, without the opinions that are written outside of the variant.
    fn prim(&mut self, scene: &Scene, index: NodeId, path: &str, common: Option<&Common>) {
        let mut node = scene.nodes[index].clone();
        if let Some(common) = common {
            node.attributes
                .retain(|name, _| !common.properties.contains(name));
            node.relationships
                .retain(|name, _| !common.properties.contains(name));
            node.schemas
                .retain(|schema| !common.schemas.contains(schema));
            if common.has_head {
                node.metadata.clear();
                node.kind = None;
                node.origin = None;
            }
        }
        let defines = common.is_none_or(|common| !common.has_head);
        self.node(scene, index, &node, path, true, defines);
    }

    fn node(
        &mut self,
        scene: &Scene,
        index: NodeId,
        node: &Node,
        path: &str,
        with_form: bool,
        defines: bool,
    ) {
        let home = self.shelf.unwrap_or_else(|| defining_layer(scene, index));
        let is_root = index == scene.root;
        let subset_of_form = node.type_name == "GeomSubset"
            && node
                .parent
                .is_some_and(|parent| scene.nodes[parent].has_points());
        let form = if has_arrays(node) && with_form {
            self.form(scene, index, node)
        } else {
            None
        };
        let in_library = self.shelf.is_some();
        {
            let layer = self.layer(home);
            let mut prim = if !defines || subset_of_form {
                layer.over(path)
            } else {
                layer.def(path, &node.type_name)
            };
            if let Some(kind) = node.kind.as_ref().filter(|_| !is_root) {
                prim.kind(kind);
            }
            if !node.is_active {
                prim.metadata("active", Value::Bool(false));
            }
            for (key, value) in node
                .metadata
                .iter()
                .filter(|(key, _)| !(is_root && *key == "assetInfo"))
            {
                prim.metadata(key, value.clone());
            }
            if let Some(form) = &form {
                let form = format!("/Geometries/{form}");
                // The library is already behind a payload.
                if in_library {
                    prim.reference("./geometries.usdc", &form)
                } else {
                    prim.payload("./geometries.usdc", &form)
                };
            }
            match &node.origin {
                Some(Origin::Prototype(name)) => {
                    prim.instanceable(true)
                        .payload("./instances.usda", &format!("/Instances/{name}"));
                }
                Some(Origin::Material(name)) => {
                    prim.reference("./instance_materials.usda", &format!("/Materials/{name}"));
                }
                None => {}
            }
        }
        let mut schemas: BTreeMap<Subject, Vec<String>> = BTreeMap::new();
        for schema in &node.schemas {
            let subject = Subject::of_name(schema).unwrap_or(home);
            // A physics binding alone needs the schema in its own layer.
            let subject = if schema == "MaterialBindingAPI"
                && !node.relationships.contains_key("material:binding")
                && node.relationships.contains_key("material:binding:physics")
            {
                Subject::Physics
            } else {
                subject
            };
            schemas.entry(subject).or_default().push(schema.clone());
        }
        for (subject, schemas) in schemas {
            self.layer(subject)
                .over(path)
                .apply(schemas.iter().map(String::as_str));
        }
        for (name, attribute) in &node.attributes {
            if (form.is_some() || subset_of_form) && is_heavy(name) {
                continue;
            }
            let subject = Subject::of_name(name).unwrap_or(home);
            self.layer(subject)
                .over(path)
                .attribute(name, to_authored(attribute));
        }
        for (name, relationship) in &node.relationships {
            let subject = Subject::of_name(name).unwrap_or(home);
            self.layer(subject)
                .over(path)
                .relationship(name, to_authored_relationship(relationship));
        }
    }

    /// Adds the shape of a node to geometries.usdc, and returns its name.
    fn form(&mut self, scene: &Scene, index: NodeId, node: &Node) -> Option<String> {
        let heavy = |node: &Node| -> Properties<Attribute> {
            node.attributes
                .iter()
                .filter(|(name, _)| is_heavy(name))
                .map(|(name, attribute)| (name.clone(), attribute.clone()))
                .collect()
        };
        let attributes = heavy(node);
        if attributes.is_empty() {
            return None;
        }
        let mut form = vec![Form {
            name: String::new(),
            type_name: node.type_name.clone(),
            attributes,
        }];
        for &child in &scene.nodes[index].children {
            let child = &scene.nodes[child];
            if child.type_name == "GeomSubset" {
                form.push(Form {
                    name: child.name().to_owned(),
                    type_name: child.type_name.clone(),
                    attributes: heavy(child),
                });
            }
        }
        let above = node.parent.map_or("", |parent| scene.nodes[parent].name());
        Some(self.geometries.insert(
            form,
            if node.name() == GEOMETRY {
                above
            } else {
                node.name()
            },
        ))
    }

    fn finish(
        mut self,
        scene: &Scene,
        files: &mut BTreeMap<PathBuf, Vec<u8>>,
    ) -> Result<(), Error> {
        let failed = |error: author::Error| Error::Write(error.to_string());
        let name = self.name.clone();
        let root = &scene.nodes[scene.root];
        let mut entry = Layer::new("", &name);
        let is_separate = |subject: &Subject| {
            matches!(
                subject,
                Subject::Vendor(_) | Subject::Instances | Subject::InstanceMaterials
            )
        };
        let local = self.layers.keys().filter(|subject| !is_separate(subject));
        entry.sublayers(local.map(|subject| format!("./{}", subject.file())));
        {
            let mut prim = entry.def(&root.path, &root.type_name);
            if let Some(kind) = &root.kind {
                prim.kind(kind);
            }
            if let Some(info) = root.metadata.get("assetInfo") {
                prim.metadata("assetInfo", info.clone());
            }
        }
        let write = |layer: &Layer| -> Result<Vec<u8>, Error> {
            Ok(layer.text().map_err(failed)?.into_bytes())
        };
        files.insert(PathBuf::from(format!("{name}.usda")), write(&entry)?);
        for (subject, layer) in &self.layers {
            files.insert(PathBuf::from(subject.file()), write(layer)?);
            if let Subject::Vendor(vendor) = subject {
                let mut overlay =
                    Layer::new(&format!("The asset with what only {vendor} reads"), &name);
                overlay.sublayers([format!("./{}", subject.file()), format!("./{name}.usda")]);
                files.insert(
                    PathBuf::from(format!("{name}.{vendor}.usda")),
                    write(&overlay)?,
                );
            }
        }
        if let Some(layer) = self.geometries.layer.take() {
            let bytes = crate_file::write(&layer.into_data().map_err(failed)?)
                .map_err(|error| Error::Write(error.to_string()))?;
            files.insert(PathBuf::from("geometries.usdc"), bytes);
        }
        Ok(())
    }
}

impl Geometries {
    /// Adds a shape unless an equal one exists, and returns its name.
    fn insert(&mut self, form: Vec<Form>, wanted: &str) -> String {
        let hash = hash_shape(&form);
        for &index in self.by_hash.get(&hash).into_iter().flatten() {
            if let Some((name, _)) = self.known.get(index).filter(|(_, known)| *known == form) {
                return name.clone();
            }
        }
        let name = names::unique(wanted, |name| self.names.insert(name.to_owned()));
        let layer = self.layer.get_or_insert_with(|| {
            let mut layer = Layer::new("", "Geometries");
            layer.def("/Geometries", "Scope");
            layer
        });
        for part in &form {
            let path = if part.name.is_empty() {
                format!("/Geometries/{name}")
            } else {
                format!("/Geometries/{name}/{}", part.name)
            };
            let mut prim = layer.def(&path, &part.type_name);
            for (name, attribute) in &part.attributes {
                prim.attribute(name, to_authored(attribute));
            }
        }
        self.by_hash.entry(hash).or_default().push(self.known.len());
        self.known.push((name.clone(), form));
        name
    }
}

/// Hashes a shape. Equal shapes have equal hashes.
fn hash_shape(form: &[Form]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in form {
        (&part.name, &part.type_name).hash(&mut hasher);
        for (name, attribute) in &part.attributes {
            name.hash(&mut hasher);
            hash_value(attribute.value.as_deref(), &mut hasher);
        }
    }
    hasher.finish()
}

/// Converts an attribute for writing.
fn to_authored(attribute: &Attribute) -> author::Attribute {
    let mut authored = match attribute.value.as_deref() {
        Some(value) => author::Attribute::new(attribute.type_name.clone(), value.clone()),
        None => author::Attribute::declared(attribute.type_name.clone()),
    };
    if attribute.is_uniform {
        authored = authored.uniform();
    }
    if attribute.is_custom {
        authored = authored.custom();
    }
    for (key, value) in &attribute.metadata {
        authored = authored.metadata(key.clone(), value.clone());
    }
    attribute
        .connections
        .iter()
        .fold(authored, |authored, source| {
            authored.connect(source.as_str())
        })
}

/// Converts a relationship for writing.
fn to_authored_relationship(relationship: &Relationship) -> author::Relationship {
    let mut authored = author::Relationship::to(relationship.targets.iter().map(String::as_str));
    if relationship.is_custom {
        authored = authored.custom();
    }
    for (key, value) in &relationship.metadata {
        authored = authored.metadata(key.clone(), value.clone());
    }
    authored
}
