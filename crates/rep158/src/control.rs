//! Controllers and sensors: prims with extension schemas (REP-158 §4.2.3, §4.2.4).
//!
//! The schemas of the actuator and of the registry's controllers are known; others are recognised by
//! the naming scheme of the REP.

use urdf_usd_stage::{Prim, PrimId, Stage};

use super::registry::controllers_of;

/// Whether a schema marks a controller: the schema of the actuator, or a name with `Control`.
///
/// `RosControlExternalAPI` marks prims that a controller outside the simulator commands.
fn is_controller(schema: &str) -> bool {
    let is_external = schema == "RosControlExternalAPI";
    schema == "ExtendedPhysicsActuatorAPI"
        || is_named(schema, "Control")
        || is_ros_controller(schema) && !is_external
}

/// Returns whether a schema is one of the registry's, or is named like them.
pub fn is_ros_controller(schema: &str) -> bool {
    is_named(schema, "RosControl")
}

/// Whether a schema name is `start`, a capitalised word and `API`, optionally after `Extended`.
fn is_named(schema: &str, start: &str) -> bool {
    let base = schema.split(':').next().unwrap_or_default();
    let rest = base
        .strip_prefix("Extended")
        .unwrap_or(base)
        .strip_prefix(start);
    rest.and_then(|rest| rest.strip_suffix("API"))
        .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Iterates over all controllers of a stage.
pub fn controllers(stage: &Stage) -> impl Iterator<Item = (PrimId, &Prim)> {
    stage
        .present()
        .filter(|(_, prim)| prim.schemas.iter().any(|schema| is_controller(schema)))
}

/// Iterates over the paths of the prims that a controller moves, from its relationships and collections.
pub fn targets(prim: &Prim) -> impl Iterator<Item = &String> {
    let is_target = |name: &str| {
        name.ends_with(":targets") || name.ends_with(":target") || name.starts_with("collection:")
    };
    let is_moved = |name: &str| {
        controllers_of(prim).any(|controller| {
            let last = name.strip_prefix(controller.prefix);
            let mut moved = controller.relationships.iter();
            moved.any(|(known, target)| Some(*known) == last && target.is_moved())
        })
    };
    prim.relationships
        .iter()
        .filter(move |(name, _)| {
            (is_target(name) || is_moved(name)) && !name.ends_with(":excludes")
        })
        .flat_map(|(_, relationship)| &relationship.targets)
}

/// Iterates over the names of the attributes that can disable a controller at load.
pub fn enabling_attributes(prim: &Prim) -> impl Iterator<Item = &String> {
    prim.attributes
        .keys()
        .filter(|name| name.ends_with(":starts_enabled"))
}

/// Returns whether a controller is active at load, which is the default.
pub fn starts_enabled(prim: &Prim) -> bool {
    enabling_attributes(prim).all(|name| prim.flag(name) != Some(false))
}

/// Returns the sensor schema of a prim: one whose name begins with `Sensor`.
pub fn sensor_schema(prim: &Prim) -> Option<&str> {
    prim.schemas
        .iter()
        .map(String::as_str)
        .find(|schema| is_named(schema, "Sensor"))
}
