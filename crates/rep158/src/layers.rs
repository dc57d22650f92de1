//! Classification of layers by their contents (REP-158 §1.2.1, §1.4).
//!
//! REP-158 divides an asset into layers by function. The names of layers are not trusted: what counts
//! is the schemas, types and properties in them.

use std::collections::HashSet;

use urdf_usd_stage::{Layer, LayerPrim, Specifier, Stage};

/// A kind of content that belongs in separate layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// Transform operations.
    Transforms,
    /// Shapes.
    Geometry,
    /// The points of meshes.
    MeshData,
    /// Shaders.
    Looks,
    /// Core UsdPhysics: bodies, joints, colliders.
    Physics,
    /// `ExtendedPhysics…` and `ext_physics:`.
    ExtendedPhysics,
    /// `Ros…API` and `ros:`.
    Ros,
    /// Schemas and properties of a single simulator or engine.
    Vendor,
}

impl Content {
    /// Returns the name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transforms => "transforms",
            Self::Geometry => "geometry",
            Self::MeshData => "mesh points",
            Self::Looks => "shaders",
            Self::Physics => "physics",
            Self::ExtendedPhysics => "extended physics",
            Self::Ros => "ROS interfaces",
            Self::Vendor => "vendor opinions",
        }
    }
}

/// A schema, type or property in a layer, with the kind of its content.
#[derive(Clone, Debug)]
pub struct Item {
    /// The kind of content.
    pub content: Content,
    /// The path of the prim or property in the layer.
    pub path: String,
    /// The schema, type or property: `PhysicsRigidBodyAPI`, `ros:topic:name`.
    pub name: String,
}

/// Returns the first item of each kind of content in a layer, in the order of [`Content`].
pub fn contents(layer: &Layer) -> Vec<Item> {
    let mut contents: Vec<Item> = Vec::new();
    // The preview surface of a contact material does not make its layer one of looks.
    let contact_materials: HashSet<&str> = layer
        .prims
        .iter()
        .filter(|prim| {
            prim.schemas
                .iter()
                .any(|schema| schema == "PhysicsMaterialAPI")
        })
        .map(|prim| prim.path.as_str())
        .collect();
    for prim in layer.prims.iter() {
        for found in parts(prim) {
            if contents.iter().any(|known| known.content == found.content) {
                continue;
            }
            let item = found.item(prim);
            let mut above = item.path.match_indices('/').map(|(at, _)| at);
            let is_contact = found.content == Content::Looks
                && above.any(|at| contact_materials.contains(item.path.split_at(at).0));
            if !is_contact {
                contents.push(item);
            }
        }
    }
    contents.sort_by_key(|item| item.content);
    contents
}

/// Returns the item of a kind.
pub fn find(contents: &[Item], content: Content) -> Option<&Item> {
    contents.iter().find(|item| item.content == content)
}

/// A type, schema or property of a prim with a kind of content.
struct Part<'a> {
    content: Content,
    name: &'a str,
    is_property: bool,
}

impl Part<'_> {
    fn item(&self, prim: &LayerPrim) -> Item {
        Item {
            content: self.content,
            path: match self.is_property {
                true => format!("{}.{}", prim.path, self.name),
                false => prim.path.clone(),
            },
            name: self.name.to_owned(),
        }
    }
}

/// Iterates over the items of a prim with wanted content: its type, its schemas and its properties.
pub fn prim_items(
    prim: &LayerPrim,
    is_wanted: impl Fn(Content) -> bool,
) -> impl Iterator<Item = Item> {
    parts(prim)
        .filter(move |part| is_wanted(part.content))
        .map(move |part| part.item(prim))
}

fn parts(prim: &LayerPrim) -> impl Iterator<Item = Part<'_>> {
    let has_ros = prim.schemas.iter().any(|schema| is_ros(schema));
    let type_part = (!prim.type_name.is_empty())
        .then_some(prim.type_name.as_str())
        .into_iter()
        .filter_map(move |name| {
            let content = match name {
                name if is_vendor_schema(name) => Content::Vendor,
                name if name.starts_with("Physics") => Content::Physics,
                "Shader" | "NodeGraph" => Content::Looks,
                name if prim.specifier == Specifier::Def && is_geometry(name) => Content::Geometry,
                _ => return None,
            };
            Some((content, name, false))
        });
    let schema_parts = prim
        .schemas
        .iter()
        .filter_map(|schema| Some((classify_schema(schema)?, schema.as_str(), false)));
    let property_parts = prim.properties.iter().filter_map(move |property| {
        let content = match property.name.as_str() {
            "points" if property.type_name.ends_with("[]") => Content::MeshData,
            // The ROS layer may define frames, and so has to place them.
            name if name.starts_with("xformOp:") => (!has_ros).then_some(Content::Transforms)?,
            name => classify_property(name)?,
        };
        Some((content, property.name.as_str(), true))
    });
    let parts = type_part.chain(schema_parts).chain(property_parts);
    parts.map(|(content, name, is_property)| Part {
        content,
        name,
        is_property,
    })
}

/// Classifies an applied schema, a type (`PhysxRigidBodyAPI`) or a property (`physics:mass`) by name.
///
/// Returns `None` for content that belongs in the layer that defines its prim.
pub fn classify(name: &str) -> Option<Content> {
    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
        classify_schema(name)
    } else {
        classify_property(name)
    }
}

fn classify_schema(schema: &str) -> Option<Content> {
    let name = schema.split(':').next().unwrap_or(schema);
    Some(match name {
        _ if is_vendor_schema(name) => Content::Vendor,
        _ if name.starts_with("ExtendedPhysics") => Content::ExtendedPhysics,
        _ if name.starts_with("Physics") => Content::Physics,
        _ if is_ros(name) => Content::Ros,
        _ => return None,
    })
}

fn classify_property(name: &str) -> Option<Content> {
    let (first, rest) = name.split_once(':')?;
    Some(match first {
        _ if is_vendor_prefix(first) => Content::Vendor,
        "ext_physics" => Content::ExtendedPhysics,
        "physics" => Content::Physics,
        "drive" | "limit" | "state" if rest.contains(":physics:") => Content::Physics,
        "ros" => Content::Ros,
        _ => return None,
    })
}

/// Whether a schema is a ROS schema (`RosTopicAPI`).
pub fn is_ros(schema: &str) -> bool {
    let name = schema.split(':').next().unwrap_or(schema);
    name.starts_with("Ros") && name.ends_with("API")
}

/// Prefixes of the schemas and properties of simulators and engines.
const VENDORS: &[&str] = &[
    "physx",
    "isaac",
    "omni",
    "omnigraph",
    "replicator",
    "newton",
    "mjc",
    "mujoco",
    "gazebo",
    "o3de",
    "genesis",
    "drake",
    "bullet",
    "unity",
    "unreal",
];

/// Returns the vendor prefix of a schema, type (`PhysxRigidBodyAPI`) or property
/// (`physxRigidBody:linearDamping`).
pub fn vendor(name: &str) -> Option<&'static str> {
    match name.split_once(':') {
        _ if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
            vendor_of_schema(name.split(':').next().unwrap_or(name))
        }
        Some((first, _)) => vendor_of_prefix(first),
        None => None,
    }
}

fn vendor_of_schema(name: &str) -> Option<&'static str> {
    VENDORS.iter().copied().find(|vendor| {
        // The next letter has to begin a word: `DrakeJointAPI` matches, `Drakensberg` does not.
        let rest = name
            .get(vendor.len()..)
            .filter(|_| name[..vendor.len()].eq_ignore_ascii_case(vendor));
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    })
}

fn vendor_of_prefix(prefix: &str) -> Option<&'static str> {
    VENDORS.iter().copied().find(|vendor| {
        prefix.strip_prefix(vendor).is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        })
    })
}

/// Whether a schema or type is vendor-specific: `PhysxRigidBodyAPI`, `NewtonMimicAPI`,
/// `OmniGraphNode`.
pub fn is_vendor_schema(name: &str) -> bool {
    vendor_of_schema(name).is_some()
}

/// Whether the namespace of a property is vendor-specific: `physxRigidBody`, `newton`, `mjc`.
pub fn is_vendor_prefix(prefix: &str) -> bool {
    vendor_of_prefix(prefix).is_some()
}

/// Whether a type is a geometric shape.
pub fn is_geometry(type_name: &str) -> bool {
    matches!(
        type_name,
        "Mesh"
            | "Cube"
            | "Sphere"
            | "Cylinder"
            | "Cylinder_1"
            | "Capsule"
            | "Capsule_1"
            | "Cone"
            | "Plane"
            | "Points"
            | "BasisCurves"
            | "HermiteCurves"
            | "NurbsCurves"
            | "NurbsPatch"
            | "TetMesh"
            | "Volume"
            | "PointInstancer"
            | "ParticleField3DGaussianSplat"
    )
}

/// Resolves a path relative to the folder of a layer, lexically: without symbolic links.
pub fn join(layer: &Layer, authored: &str) -> std::path::PathBuf {
    let folder = layer.path.parent().unwrap_or(std::path::Path::new(""));
    let mut path = std::path::PathBuf::new();
    for part in folder.join(authored).components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if path.file_name().is_some() => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path
}

/// Whether two layers are in the same layer stack: one is a sublayer of the other, or both are
/// sublayers of the same layer.
pub fn share_layer_stack(stage: &Stage, one: &Layer, other: &Layer) -> bool {
    let includes = |above: &Layer, below: &Layer| {
        above
            .sublayers()
            .iter()
            .any(|path| join(above, path) == join(below, below.file_name()))
    };
    one.identifier == other.identifier
        || (one.is_local && other.is_local)
        || includes(one, other)
        || includes(other, one)
        || stage
            .layers
            .iter()
            .any(|above| includes(above, one) && includes(above, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_determine_the_content() {
        for (name, content) in [
            ("PhysicsLimitAPI:rotX", Some(Content::Physics)),
            ("physics:mass", Some(Content::Physics)),
            ("drive:angular:physics:stiffness", Some(Content::Physics)),
            ("state:angular:physics:position", Some(Content::Physics)),
            ("limit:mine", None),
            ("ExtendedPhysicsMimicAPI", Some(Content::ExtendedPhysics)),
            ("ext_physics:mimic:offset", Some(Content::ExtendedPhysics)),
            ("RosTopicAPI", Some(Content::Ros)),
            ("ros:topic:name", Some(Content::Ros)),
            ("physxRigidBody:linearDamping", Some(Content::Vendor)),
            ("NewtonMimicAPI", Some(Content::Vendor)),
            ("MaterialBindingAPI", None),
            ("points", None),
        ] {
            assert_eq!(classify(name), content, "{name}");
        }
    }

    #[test]
    fn vendor_prefixes_are_whole_words() {
        for name in [
            "PhysxRigidBodyAPI",
            "PhysxSchemaJointAPI",
            "NewtonMimicAPI",
            "MjcActuator",
            "OmniGraphNode",
            "IsaacRobotAPI",
        ] {
            assert!(is_vendor_schema(name), "{name}");
        }
        for name in [
            "PhysicsRigidBodyAPI",
            "Newtonian",
            "OmnidirectionalWheelAPI",
            "RosTopicAPI",
            "Ümit",
            "Mesh",
            "",
        ] {
            assert!(!is_vendor_schema(name), "{name}");
        }
        for prefix in [
            "physx",
            "physxRigidBody",
            "newton",
            "mjc",
            "isaac",
            "omni",
            "omni_layer",
        ] {
            assert!(is_vendor_prefix(prefix), "{prefix}");
        }
        for prefix in [
            "physics",
            "newtons",
            "omnidirectional",
            "urdf",
            "ros",
            "ext_physics",
            "",
        ] {
            assert!(!is_vendor_prefix(prefix), "{prefix}");
        }
    }
}
