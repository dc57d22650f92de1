//! Names and values in the layers of this program's own assets, shared by its writer and its
//! readers.

use urdf_usd_robot::Material;

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
/// The variant of [`FIDELITY`] in which meshes collide as they are.
pub const TRIMESH: &str = "trimesh";
/// The variant of [`FIDELITY`] in which the spheres of a link are its colliders, and the name of
/// their scope.
pub const SPHERES: &str = "spheres";

/// Attribute of a body with an assumed, not measured, mass: `"true"`.
pub const ASSUMED_MASS: &str = "urdf:inertial:assumed";

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
/// Attribute of a joint whose drive has no gains in the source: the commanded quantity.
pub const DRIVE_COMMAND: &str = "urdf:drive:command";
/// Attribute of a joint whose gains are assumed for simulations, in layers for engines.
pub const DRIVE_ASSUMED: &str = "urdf:drive:assumed";
