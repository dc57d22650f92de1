//! Controllers and sensors: prims with extension schemas for them (REP-158 §4.2.3, §4.2.4). No such
//! schema but the actuator's is published yet, so they are known by how the REP names them.

use urdf_usd_stage::{Prim, PrimId, Stage};

/// Whether a schema makes a prim a controller: the actuator's, or one that begins with `Control`.
fn is_controller(schema: &str) -> bool {
    schema == "ExtendedPhysicsActuatorAPI" || is_named(schema, "Control")
}

/// Whether a schema's name is `start`, a word and `API`.
fn is_named(schema: &str, start: &str) -> bool {
    let base = schema.split(':').next().unwrap_or_default();
    let rest = base
        .strip_prefix("Extended")
        .unwrap_or(base)
        .strip_prefix(start);
    rest.and_then(|rest| rest.strip_suffix("API"))
        .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// All controllers of a stage.
pub fn controllers(stage: &Stage) -> impl Iterator<Item = (PrimId, &Prim)> {
    stage
        .present()
        .filter(|(_, prim)| prim.schemas.iter().any(|schema| is_controller(schema)))
}

/// What a controller moves: what its relationships and collections for targets name.
pub fn targets(prim: &Prim) -> impl Iterator<Item = &String> {
    let is_target = |name: &str| {
        name.ends_with(":targets") || name.ends_with(":target") || name.starts_with("collection:")
    };
    prim.relationships
        .iter()
        .filter(move |(name, _)| is_target(name) && !name.ends_with(":excludes"))
        .flat_map(|(_, relationship)| &relationship.targets)
}

/// Whether a controller is active at load: yes where it does not say no.
pub fn starts(prim: &Prim) -> bool {
    prim.attributes
        .keys()
        .filter(|name| name.ends_with(":starts_enabled"))
        .all(|name| prim.flag(name) != Some(false))
}

/// The sensor schema that a prim bears, if it bears one: a name that begins with `Sensor`.
pub fn sensor_schema(prim: &Prim) -> Option<&str> {
    prim.schemas
        .iter()
        .map(String::as_str)
        .find(|schema| is_named(schema, "Sensor"))
}
