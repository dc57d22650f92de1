//! What a layer holds, by what stands in it and not by its name: REP-158 divides an asset into
//! layers by that (§1.2.1, §1.4).

use urdf_usd_stage::{Layer, LayerPrim, Specifier, Stage};

/// A kind of content that has layers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holds {
    /// Where prims are: operations of transforms.
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
    /// What is one simulator's or engine's.
    Vendor,
}

impl Holds {
    /// What people call it.
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

/// Something in a layer: its path, and the schema, type or property that tells its kind.
#[derive(Clone, Debug)]
pub struct Found {
    /// The kind.
    pub holds: Holds,
    /// The prim or property in the layer.
    pub path: String,
    /// `PhysicsRigidBodyAPI`, `ros:topic:name`.
    pub what: String,
}

/// What a layer holds: of each kind the first, in the order of [`Holds`].
pub fn contents(layer: &Layer) -> Vec<Found> {
    let mut contents: Vec<Found> = Vec::new();
    // What contact materials look like is no matter of looks.
    let contact: Vec<String> = layer
        .prims
        .iter()
        .filter(|prim| {
            prim.schemas
                .iter()
                .any(|schema| schema == "PhysicsMaterialAPI")
        })
        .map(|prim| format!("{}/", prim.path))
        .collect();
    for found in layer.prims.iter().flat_map(of_prim) {
        let is_contact = found.holds == Holds::Looks
            && contact
                .iter()
                .any(|material| found.path.starts_with(material.as_str()));
        if !is_contact && !contents.iter().any(|known| known.holds == found.holds) {
            contents.push(found);
        }
    }
    contents.sort_by_key(|found| found.holds);
    contents
}

/// The first of a kind.
pub fn first(contents: &[Found], holds: Holds) -> Option<&Found> {
    contents.iter().find(|found| found.holds == holds)
}

/// All that a layer says of a prim and that has a kind.
pub fn of_prim(prim: &LayerPrim) -> impl Iterator<Item = Found> + '_ {
    let has_ros = prim.schemas.iter().any(|schema| is_ros(schema));
    let of_type = (!prim.type_name.is_empty())
        .then_some(&prim.type_name)
        .into_iter()
        .filter_map(move |name| {
            let holds = match name.as_str() {
                name if is_vendor_schema(name) => Holds::Vendor,
                name if name.starts_with("Physics") => Holds::Physics,
                "Shader" | "NodeGraph" => Holds::Looks,
                name if prim.specifier == Specifier::Def && is_geometry(name) => Holds::Geometry,
                _ => return None,
            };
            Some(Found {
                holds,
                path: prim.path.clone(),
                what: name.clone(),
            })
        });
    let of_schemas = prim.schemas.iter().filter_map(move |schema| {
        let holds = schema_holds(schema)?;
        Some(Found {
            holds,
            path: prim.path.clone(),
            what: schema.clone(),
        })
    });
    let of_properties = prim.properties.iter().filter_map(move |property| {
        let holds = match property.name.as_str() {
            "points" if property.type_name.ends_with("[]") => Holds::MeshData,
            // A frame of ROS alone may be placed by the layer that makes it.
            name if name.starts_with("xformOp:") => (!has_ros).then_some(Holds::Transforms)?,
            name => property_holds(name)?,
        };
        Some(Found {
            holds,
            path: format!("{}.{}", prim.path, property.name),
            what: property.name.clone(),
        })
    });
    of_type.chain(of_schemas).chain(of_properties)
}

/// The kind of layer that an applied schema, a type (`PhysxRigidBodyAPI`) or a property
/// (`physics:mass`) belongs into, as its name says; `None` for what belongs where its prim is
/// defined.
pub fn holds(name: &str) -> Option<Holds> {
    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
        schema_holds(name)
    } else {
        property_holds(name)
    }
}

fn schema_holds(schema: &str) -> Option<Holds> {
    let name = schema.split(':').next().unwrap_or(schema);
    Some(match name {
        _ if is_vendor_schema(name) => Holds::Vendor,
        _ if name.starts_with("ExtendedPhysics") => Holds::ExtendedPhysics,
        _ if name.starts_with("Physics") => Holds::Physics,
        _ if is_ros(name) => Holds::Ros,
        _ => return None,
    })
}

fn property_holds(name: &str) -> Option<Holds> {
    let (first, rest) = name.split_once(':')?;
    Some(match first {
        _ if is_vendor_prefix(first) => Holds::Vendor,
        "ext_physics" => Holds::ExtendedPhysics,
        "physics" => Holds::Physics,
        "drive" | "limit" | "state" if rest.contains(":physics:") => Holds::Physics,
        "ros" => Holds::Ros,
        _ => return None,
    })
}

/// Whether a schema is one of ROS (`RosTopicAPI`).
pub fn is_ros(schema: &str) -> bool {
    let name = schema.split(':').next().unwrap_or(schema);
    name.starts_with("Ros") && name.ends_with("API")
}

/// Simulators and engines, as the names of their schemas and properties begin.
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

/// The vendor whose schema, type (`PhysxRigidBodyAPI`) or property (`physxRigidBody:linearDamping`)
/// that is, as its names begin.
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
        // The next letter begins a word: `Drake…` is a vendor's, `Drakensberg` would not be.
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

/// Whether a schema or type is one vendor's: `PhysxRigidBodyAPI`, `NewtonMimicAPI`,
/// `OmniGraphNode`.
pub fn is_vendor_schema(name: &str) -> bool {
    vendor_of_schema(name).is_some()
}

/// Whether the first part of a property's name is one vendor's: `physxRigidBody`, `newton`, `mjc`.
pub fn is_vendor_prefix(prefix: &str) -> bool {
    vendor_of_prefix(prefix).is_some()
}

/// Whether a layer is there for one simulator alone, by its name (`isaac.usda`, `robot_physx.usda`)
/// and because it holds what is one's.
pub fn is_proprietary(layer: &Layer, contents: &[Found]) -> bool {
    let name = layer.file_name().to_ascii_lowercase();
    first(contents, Holds::Vendor).is_some()
        && VENDORS
            .iter()
            .chain(&["graph"])
            .any(|vendor| name.contains(vendor))
}

/// Whether a type is a shape.
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

/// Where `written` leads to from a layer, as far as the text of the paths says.
pub fn joined(layer: &Layer, written: &str) -> std::path::PathBuf {
    let folder = layer.path.parent().unwrap_or(std::path::Path::new(""));
    let mut path = std::path::PathBuf::new();
    for part in folder.join(written).components() {
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

/// Whether two layers are of one layer stack: one is a sublayer of the other, or both are of the
/// root layer.
pub fn are_together(stage: &Stage, one: &Layer, other: &Layer) -> bool {
    let includes = |above: &Layer, below: &Layer| {
        above
            .sublayers()
            .iter()
            .any(|path| joined(above, path) == joined(below, below.file_name()))
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
    fn names_say_the_layer() {
        for (name, kind) in [
            ("PhysicsLimitAPI:rotX", Some(Holds::Physics)),
            ("physics:mass", Some(Holds::Physics)),
            ("drive:angular:physics:stiffness", Some(Holds::Physics)),
            ("state:angular:physics:position", Some(Holds::Physics)),
            ("limit:mine", None),
            ("ExtendedPhysicsMimicAPI", Some(Holds::ExtendedPhysics)),
            ("ext_physics:mimic:offset", Some(Holds::ExtendedPhysics)),
            ("RosTopicAPI", Some(Holds::Ros)),
            ("ros:topic:name", Some(Holds::Ros)),
            ("physxRigidBody:linearDamping", Some(Holds::Vendor)),
            ("NewtonMimicAPI", Some(Holds::Vendor)),
            ("MaterialBindingAPI", None),
            ("points", None),
        ] {
            assert_eq!(holds(name), kind, "{name}");
        }
    }

    #[test]
    fn vendors_are_told_by_whole_words() {
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
