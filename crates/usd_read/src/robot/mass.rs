//! Mass properties (PhysicsMassAPI): authored ones, or else those that UsdPhysics computes from
//! colliders and densities.

use std::collections::HashMap;

use nalgebra::{Matrix3, UnitQuaternion, Vector3};

use super::links::{DraftId, Links};
use super::materials::Materials;
use super::scene::{self, Scene};
use super::shapes::Collider;
use crate::codes;
use urdf_usd_robot::{Geometry, Inertial, Pose, Robot, Solid};
use urdf_usd_stage::{Prim, PrimId, factor};
use urdf_usd_usd_author::layout::ASSUMED_MASS;

/// Density that UsdPhysics assumes if none is authored (UsdPhysicsMassAPI), kg/m³.
pub const DENSITY: f64 = 1000.0;

/// The colliders of bodies.
pub(super) type BodyColliders<'a> = HashMap<DraftId, Vec<(&'a Collider, Pose)>>;

/// Returns the colliders of bodies, with their poses in the frames of these.
pub(super) fn colliders<'a>(links: &Links, colliders: &'a [Collider]) -> BodyColliders<'a> {
    let mut by_body = BodyColliders::new();
    for collider in colliders {
        if let Some(owner) = collider.owner
            && let Some(body) = links.body(owner)
        {
            let to_body = links.drafts[body].pose.inverse() * links.drafts[owner].pose;
            let of_body = by_body.entry(body).or_default();
            of_body.push((collider, to_body * collider.pose));
        }
    }
    by_body
}

/// Returns the mass properties of a body with these colliders, and whether its mass relies on the default
/// density alone.
pub(super) fn of_body(
    scene: &Scene<'_>,
    robot: &Robot,
    id: PrimId,
    parts: &[(&Collider, Pose)],
    materials: &Materials<'_, '_>,
) -> (Option<Inertial>, bool) {
    let prim = &scene.stage[id];
    let place = scene.place(id, Some("physics:mass"));
    let given = above_zero(prim, "physics:mass").map(|mass| mass * scene.kilogram);
    let of_body = density(scene, prim);
    let mut is_assumed = false;
    let mut solids: Vec<Solid> = Vec::new();
    for (collider, pose) in parts {
        let of_collider = &scene.stage[collider.prim];
        let material = materials.bindings.physics(collider.prim);
        let of_material = material.and_then(|material| density(scene, &scene.stage[material]));
        // The most specific density wins: collider, then body, then material (UsdPhysicsMassAPI).
        let density = density(scene, of_collider).or(of_body).or(of_material);
        let mesh = match &collider.geometry {
            // Meshes read from USD stay in memory.
            Geometry::Mesh { mesh, .. } => robot.meshes()[*mesh].mesh.in_memory(),
            _ => None,
        };
        let Some(solid) = Solid::of(
            &collider.geometry,
            mesh.map(AsRef::as_ref),
            density.unwrap_or(DENSITY),
        ) else {
            continue;
        };
        // The mass of a prim that is both body and collider is that of the body (`given`).
        let own = above_zero(of_collider, "physics:mass")
            .filter(|_| collider.prim != id)
            .map(|mass| mass * scene.kilogram);
        is_assumed |= given.is_none() && own.is_none() && density.is_none();
        let solid = own.map_or(solid, |own| solid.times(own / solid.mass));
        solids.push(solid.placed(pose));
    }
    let together = Solid::together(&solids);
    let Some(mass) = given.or_else(|| together.map(|solid| solid.mass)) else {
        let message = format!(
            "body {:?} has no mass, and no collider to compute one from",
            prim.name()
        );
        scene.report(
            &codes::MASS_MISSING,
            id,
            Some("physics:mass"),
            message,
            "give the body physics:mass",
        );
        return (None, false);
    };
    // Assets of this program mark assumed masses.
    let is_marked = prim.text(ASSUMED_MASS) == Some("true");
    if is_assumed {
        let message = format!(
            "body {:?} has no mass and no density: {mass:.4} kg are computed with {DENSITY} kg/m³",
            prim.name()
        );
        scene.report(
            &codes::MASS_ASSUMED,
            id,
            Some("physics:mass"),
            message,
            "give the body physics:mass",
        );
    }
    let solid = together.map(|solid| solid.times(mass / solid.mass));
    let (origin, inertia) = distribution(scene, id, solid);
    let is_assumed = is_assumed || is_marked;
    let inertial = Inertial {
        origin,
        mass,
        inertia,
        is_assumed,
        place,
    };
    (Some(inertial), is_assumed)
}

/// Returns the inertial frame of a body and its inertia there: as authored, or else of `solid`, its
/// colliders combined.
fn distribution(scene: &Scene<'_>, id: PrimId, solid: Option<Solid>) -> (Pose, Matrix3<f64>) {
    let prim = &scene.stage[id];
    // UsdPhysics applies the scale of the body along its axes, also where it is sheared.
    let centre = scene::vector(prim, "physics:centerOfMass")
        .map(|centre| factor(&scene.placed[id]).scale.component_mul(&centre));
    let centre = centre
        .or(solid.map(|solid| solid.centre))
        .unwrap_or_default();
    let moments = scene::vector(prim, "physics:diagonalInertia")
        .filter(|moments| *moments != Vector3::zeros());
    let (inertia, rotation) = match (moments, solid) {
        (Some(moments), _) => {
            let rotation = scene::rotation(prim, "physics:principalAxes")
                .unwrap_or_else(UnitQuaternion::identity);
            (
                Matrix3::from_diagonal(&(moments * scene.kilogram * scene.metre * scene.metre)),
                rotation,
            )
        }
        (None, Some(solid)) => (solid.inertia, UnitQuaternion::identity()),
        (None, None) => {
            let message = format!(
                "body {:?} has a mass, but no inertia and no collider to compute one from",
                prim.name()
            );
            let help = "give the body physics:diagonalInertia";
            scene.report(
                &codes::MASS_MISSING,
                id,
                Some("physics:diagonalInertia"),
                message,
                help,
            );
            (Matrix3::zeros(), UnitQuaternion::identity())
        }
    };
    (Pose::from_parts(centre.into(), rotation), inertia)
}

fn above_zero(prim: &Prim, name: &str) -> Option<f64> {
    prim.number(name)
        .filter(|number| *number > 0.0 && number.is_finite())
}

/// Returns the authored density, kg/m³.
fn density(scene: &Scene<'_>, prim: &Prim) -> Option<f64> {
    Some(above_zero(prim, "physics:density")? * scene.kilogram / scene.metre.powi(3))
}
