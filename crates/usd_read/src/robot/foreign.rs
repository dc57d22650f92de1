//! Attributes of programs that the robot model has no place for: they are left out, and named once
//! for each namespace.

use std::collections::BTreeMap;

use super::custom;
use super::links::is_joint;
use super::scene::{Scene, vector};
use crate::codes;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_stage::{Attribute, Prim, PrimId};
use urdf_usd_usd_author::dialects::{WORDS, matches};

/// Namespaces of OpenUSD's own schemas, of REP-158, and of this program and the Isaac schema, whose
/// attributes are read or reported one by one. [`is_left_out`] has those of UsdPhysics that are not.
const NAMESPACES: [&str; 32] = [
    "clips",
    "collection",
    "colorSpace",
    "colorSpaceDefinition",
    "drive",
    "ext_physics",
    "hydra",
    "info",
    "inputs",
    "isaac",
    "light",
    "lightList",
    "limit",
    "material",
    "model",
    "motion",
    "outputs",
    "physics",
    "planning",
    "primvars",
    "ros",
    "shaper",
    "shaping",
    "skel",
    "state",
    "stereo",
    "subsetFamily",
    "trigger",
    "ui",
    "urdf",
    "visibility",
    "xformOp",
];

/// Maximum number of namespaces that a message lists.
const MAX_LISTED: usize = 20;

/// Reports the attributes of the robot's prims that are left out.
pub(super) fn report(scene: &Scene<'_>) {
    // The number of attributes in each namespace, and the first of them.
    let mut found: BTreeMap<&str, (usize, PrimId, &str)> = BTreeMap::new();
    for (id, prim) in scene.prims() {
        let is_of_material = matches!(prim.type_name.as_str(), "Material" | "Shader" | "NodeGraph");
        if is_of_material || custom::is_element(scene, id) {
            continue;
        }
        for (name, attribute) in prim.attributes.iter() {
            if is_foreign(prim, name, attribute) {
                // The few attributes of UsdPhysics are named one by one.
                let listed = match name.split_once(':') {
                    Some((namespace, _)) if namespace != "physics" => namespace,
                    _ => name.as_str(),
                };
                found.entry(listed).or_insert((0, id, name)).0 += 1;
            }
        }
    }
    let Some((_, first, name)) = found.values().next().copied() else {
        return;
    };
    let listed = found
        .iter()
        .take(MAX_LISTED)
        .map(|(namespace, (count, id, name))| {
            let path = &scene.stage[*id].path;
            format!("{namespace} ({count}, such as {path}.{name})")
        });
    let more = if found.len() > MAX_LISTED {
        ", …"
    } else {
        ""
    };
    let message = format!(
        "a robot has no place for these attributes, which are left out: {}{more}",
        listed.collect::<Vec<_>>().join(", ")
    );
    let help = "keep the asset if a program needs them, or author them in a layer over the new one";
    let place = scene.place(first, Some(name));
    scene.push(Diagnostic::new(&codes::ATTRIBUTES, place, message).help(help));
}

fn is_foreign(prim: &Prim, name: &str, attribute: &Attribute) -> bool {
    if attribute.value.is_none() {
        return false;
    }
    match name.split_once(':') {
        Some(("physics", _)) => is_left_out(prim, name),
        None => attribute.is_custom,
        Some(("newton", rest)) if rest.ends_with(":position") || rest.ends_with(":velocity") => {
            false
        }
        Some((namespace, _)) => {
            !(NAMESPACES.contains(&namespace) || is_joint(prim) && is_read(name))
        }
    }
}

/// Returns whether an attribute of UsdPhysics changes the asset, and the robot model does not have
/// it.
fn is_left_out(prim: &Prim, name: &str) -> bool {
    match name {
        "physics:kinematicEnabled" | "physics:startsAsleep" => prim.flag(name) == Some(true),
        "physics:velocity" | "physics:angularVelocity" => {
            vector(prim, name).is_some_and(|velocity| velocity.norm() > 0.0)
        }
        // Unbreakable joints have infinity, or the largest number of single precision instead.
        "physics:breakForce" | "physics:breakTorque" => prim
            .number(name)
            .is_some_and(|limit| limit < f64::from(f32::MAX)),
        "physics:approximation" => prim
            .text(name)
            .is_some_and(|approximation| !matches!(approximation, "none" | "convexHull")),
        _ => false,
    }
}

/// Returns whether an attribute of an engine is read on joints.
fn is_read(name: &str) -> bool {
    WORDS.iter().any(|word| word.is_named(name))
        || name == "newton:mimicEnabled"
        || matches("physxMimicJoint:*:referenceJointAxis", name)
}
