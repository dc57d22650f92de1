//! Names and values in the layers of this program's own assets, shared by its writer and its
//! readers.

use urdf_usd_robot::Material;

/// Names of the overlays of a conversion: the entry `NAME.isaac.usda` includes `NAME.usda`.
pub const OVERLAYS: [&str; 5] = ["isaac", "mujoco", "newton", "openpbr", "physx"];

/// The variant set of visual meshes (REP-158 §1.3.2).
pub const REPRESENTATION: &str = "visual_representation";
/// The variants of [`REPRESENTATION`], from fine to coarse.
pub const TIERS: [&str; 3] = ["mesh_high", "mesh_medium", "mesh_low"];
/// The default variant of [`TIERS`].
pub const DEFAULT_TIER: &str = "mesh_medium";

/// The variant set of colliders (REP-158 §1.3.2).
pub const FIDELITY: &str = "collision_fidelity";
/// The variant of [`FIDELITY`] in which meshes collide as their convex hulls.
pub const HULL: &str = "convex_hull";
/// The variant of [`FIDELITY`] in which meshes collide as several convex parts.
pub const CONVEX_PARTS: &str = "convex_decomposition";
/// The variant of [`FIDELITY`] in which meshes collide as they are.
pub const TRIMESH: &str = "trimesh";
/// The variant of [`FIDELITY`] in which the spheres of a link are its colliders, and the name of
/// their scope.
pub const SPHERES: &str = "spheres";

/// Attribute of a body with an assumed, not measured, mass: `"true"`.
pub const ASSUMED_MASS: &str = "urdf:inertial:assumed";
/// Relationship of a body to the frame whose mass it has.
pub const MASS_FRAME: &str = "urdf:inertial:frame";
/// Attribute of a joint whose drive has no gains in the source: the commanded quantity.
pub const DRIVE_COMMAND: &str = "urdf:drive:command";
/// Attribute of a joint whose gains are assumed for simulations, in layers for engines.
pub const DRIVE_ASSUMED: &str = "urdf:drive:assumed";

/// Attribute of a Scope, and key path in `customData` of an attribute: the element of a URDF without
/// a prim that they belong to, [`JOINT_OWNER`] or [`LINK_OWNER`].
pub const OWNER: &str = "urdf:owner";
/// Owner of data on the prim of a link: the joint above that link, if it has no prim.
pub const JOINT_OWNER: &str = "joint";
/// Owner of data on the default prim: the link `world`.
pub const LINK_OWNER: &str = "link";
/// Attribute with the name of a joint without a prim, on the prim of its child link.
pub const JOINT_NAME: &str = "urdf:joint:name";

/// Attributes of a Camera: the size of its image in pixels.
pub const IMAGE_SIZE: [&str; 2] = ["urdf:image:width", "urdf:image:height"];

/// Relationship of a camera's topic, which is in a frame that cameras share, to its Camera.
pub const CAMERA_OF_TOPIC: &str = "urdf:camera";

/// Prefix of the attributes of collisions with obstacles, for motion planners.
pub const COLLISION: &str = "planning:collision";
/// Prefix of the attributes of collisions of a robot with itself, for motion planners.
pub const SELF_COLLISION: &str = "planning:selfCollision";
/// The relationship and the attribute of a planner's default pose (`docs/output.md`).
pub const DEFAULT_POSE_PROPERTIES: [&str; 2] = [
    "planning:defaultPose:joints",
    "planning:defaultPose:positions",
];

/// Returns the material that is written for shapes without one. It is read back as `None`.
pub fn default_material() -> Material {
    Material::plain("default", [0.5, 0.5, 0.5, 1.0])
}
