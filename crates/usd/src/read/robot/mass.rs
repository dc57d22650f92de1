//! Mass properties (PhysicsMassAPI): what is authored, and what UsdPhysics makes of colliders and densities where nothing is.

use nalgebra::{Matrix3, Point3, UnitQuaternion, Vector3};

use super::links::Links;
use super::materials::Materials;
use super::meshes::mesh_of;
use super::scene::{self, Scene};
use super::shapes::Collider;
use crate::codes;
use urdf_usd_robot::{Geometry, Inertial, LinkId, Mesh, Pose, Robot};
use urdf_usd_stage::{Prim, PrimId};

/// The density that UsdPhysics assumes where nothing gives one (UsdPhysicsMassAPI), kg/m³.
pub const DENSITY: f64 = 1000.0;

/// A body of even density in a frame.
#[derive(Clone, Copy, Debug)]
struct Solid {
    mass: f64,
    centre: Vector3<f64>,
    /// About the centre, along the frame's axes.
    inertia: Matrix3<f64>,
}

/// Sets the inertials of all bodies. Returns the links whose mass is assumed.
pub(super) fn set(
    scene: &Scene<'_>,
    links: &Links,
    robot: &mut Robot,
    ids: &[LinkId],
    (colliders, materials): (&[Collider], &Materials<'_, '_>),
) -> Vec<LinkId> {
    let mut assumed = Vec::new();
    for (index, draft) in links.drafts.iter().enumerate().filter(|(_, draft)| draft.is_body) {
        let of_body =
            colliders.iter().filter(|collider| collider.owner.and_then(|owner| links.drafts[owner].body) == Some(index));
        let to_body = |owner: usize| draft.pose.inverse() * links.drafts[owner].pose;
        let parts: Vec<(&Collider, Pose)> =
            of_body.filter_map(|collider| Some((collider, to_body(collider.owner?) * collider.pose))).collect();
        let (inertial, is_assumed) = of(scene, robot, draft.prim, &parts, materials);
        if is_assumed {
            assumed.push(ids[index]);
        }
        robot.links[ids[index].0].inertial = inertial;
    }
    assumed
}

/// The mass properties of a body, and whether its mass stands on the default density alone.
fn of(
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
        let material = materials.bound(collider.prim, &["material:binding:physics", "material:binding"]);
        let of_material = material.and_then(|material| density(scene, &scene.stage[material]));
        let density = density(scene, of_collider).or(of_body).or(of_material);
        let Some(solid) = even(robot, &collider.geometry, density.unwrap_or(DENSITY)) else { continue };
        let own = above_zero(of_collider, "physics:mass").filter(|_| collider.prim != id).map(|mass| mass * scene.kilogram);
        is_assumed |= given.is_none() && own.is_none() && density.is_none();
        let solid = own.map_or(solid, |own| solid.times(own / solid.mass));
        solids.push(solid.placed(pose));
    }
    let together = Solid::together(&solids);
    let Some(mass) = given.or_else(|| together.map(|solid| solid.mass)) else {
        let message = format!("body {:?} has no mass, and no collider to compute one from", prim.name());
        scene.report(&codes::READ_MASS_MISSING, (id, Some("physics:mass")), message, "give the body physics:mass");
        return (None, false);
    };
    if is_assumed {
        let message =
            format!("body {:?} has no mass and no density: {mass:.4} kg are computed with {DENSITY} kg/m³", prim.name());
        scene.report(&codes::READ_MASS_ASSUMED, (id, Some("physics:mass")), message, "give the body physics:mass");
    }
    let solid = together.map(|solid| solid.times(mass / solid.mass));
    // In the prim's coordinates, scale included.
    let centre = scene::vector(prim, "physics:centerOfMass").map(|centre| {
        let world = scene.placed[id.0].transform_point(&Point3::from(centre));
        scene.pose(id).inverse_transform_point(&world).coords
    });
    let centre = centre.or(solid.map(|solid| solid.centre)).unwrap_or_default();
    let moments = scene::vector(prim, "physics:diagonalInertia").filter(|moments| *moments != Vector3::zeros());
    let (inertia, rotation) = match (moments, solid) {
        (Some(moments), _) => {
            let rotation = scene::rotation(prim, "physics:principalAxes").unwrap_or_else(UnitQuaternion::identity);
            (Matrix3::from_diagonal(&(moments * scene.kilogram * scene.metre * scene.metre)), rotation)
        }
        (None, Some(solid)) => (solid.inertia, UnitQuaternion::identity()),
        (None, None) => {
            let message = format!("body {:?} has a mass, but no inertia and no collider to compute one from", prim.name());
            let help = "give the body physics:diagonalInertia";
            scene.report(&codes::READ_MASS_MISSING, (id, Some("physics:diagonalInertia")), message, help);
            (Matrix3::zeros(), UnitQuaternion::identity())
        }
    };
    (Some(Inertial { origin: Pose::from_parts(centre.into(), rotation), mass, inertia, place }), is_assumed)
}

fn above_zero(prim: &Prim, name: &str) -> Option<f64> {
    prim.number(name).filter(|number| *number > 0.0 && number.is_finite())
}

/// kg/m³.
fn density(scene: &Scene<'_>, prim: &Prim) -> Option<f64> {
    Some(above_zero(prim, "physics:density")? * scene.kilogram / scene.metre.powi(3))
}

impl Solid {
    fn times(self, factor: f64) -> Self {
        Self { mass: self.mass * factor, inertia: self.inertia * factor, ..self }
    }

    /// The same in a frame in which its own is at `pose`.
    fn placed(self, pose: &Pose) -> Self {
        let turn = pose.rotation.to_rotation_matrix().into_inner();
        let centre = pose.transform_point(&Point3::from(self.centre)).coords;
        Self { centre, inertia: turn * self.inertia * turn.transpose(), ..self }
    }

    /// Several as one; `None` of none.
    fn together(parts: &[Self]) -> Option<Self> {
        let mass: f64 = parts.iter().map(|part| part.mass).sum();
        if !(mass > 0.0 && mass.is_finite()) {
            return None;
        }
        let centre = parts.iter().map(|part| part.centre * part.mass).sum::<Vector3<f64>>() / mass;
        let about = |part: &Self| {
            let arm = part.centre - centre;
            part.inertia + (Matrix3::identity() * arm.norm_squared() - arm * arm.transpose()) * part.mass
        };
        Some(Self { mass, centre, inertia: parts.iter().map(about).sum() })
    }
}

/// A form filled evenly; `None` if it encloses nothing.
fn even(robot: &Robot, geometry: &Geometry, density: f64) -> Option<Solid> {
    let about_origin = |mass: f64, moments: [f64; 3]| Solid {
        mass,
        centre: Vector3::zeros(),
        inertia: Matrix3::from_diagonal(&(Vector3::from(moments) * mass)),
    };
    let cylinder = |radius: f64, length: f64| {
        let across = (3.0 * radius * radius + length * length) / 12.0;
        about_origin(density * std::f64::consts::PI * radius * radius * length, [across, across, radius * radius / 2.0])
    };
    let solid = match geometry {
        Geometry::Box { size } => {
            let [x, y, z] = [size.x * size.x, size.y * size.y, size.z * size.z];
            about_origin(density * size.product(), [(y + z) / 12.0, (x + z) / 12.0, (x + y) / 12.0])
        }
        Geometry::Sphere { radius } => {
            about_origin(density * 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3), [0.4 * radius * radius; 3])
        }
        Geometry::Cylinder { radius, length } => cylinder(*radius, *length),
        Geometry::Capsule { radius, length } => {
            // Half a ball: its centre is 3/8 of the radius from its base.
            let half = density * 2.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
            let across = (0.4 - 9.0 / 64.0) * radius * radius;
            let cap = |side: f64| Solid {
                mass: half,
                centre: Vector3::new(0.0, 0.0, side * (length / 2.0 + 0.375 * radius)),
                inertia: Matrix3::from_diagonal(&Vector3::new(across, across, 0.4 * radius * radius)) * half,
            };
            Solid::together(&[cylinder(*radius, *length), cap(1.0), cap(-1.0)])?
        }
        Geometry::Mesh { mesh, scale } => of_mesh(mesh_of(robot, *mesh)?, scale, density)?,
        Geometry::Missing { .. } => return None,
    };
    (solid.mass > 0.0 && solid.mass.is_finite()).then_some(solid)
}

/// What a closed surface encloses, as a sum of tetrahedra.
fn of_mesh(mesh: &Mesh, scale: &Vector3<f64>, density: f64) -> Option<Solid> {
    // From a point of its own, so that what is far from the origin keeps its digits.
    let at = |index: u32| Vector3::from(mesh.points[index as usize].map(f64::from)).component_mul(scale);
    let origin = at(mesh.triangles.first()?[0]);
    let (mut volume, mut first, mut second) = (0.0, Vector3::zeros(), Matrix3::zeros());
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|index| at(index) - origin);
        let six = a.dot(&b.cross(&c));
        let sum = a + b + c;
        volume += six / 6.0;
        first += sum * (six / 24.0);
        second += (a * a.transpose() + b * b.transpose() + c * c.transpose() + sum * sum.transpose()) * (six / 120.0);
    }
    // Turned inside out by a mirroring scale, all of them change sign.
    if volume < 0.0 {
        (volume, first, second) = (-volume, -first, -second);
    }
    let centre = first / volume;
    let second = second - centre * centre.transpose() * volume;
    let inertia = (Matrix3::identity() * second.trace() - second) * density;
    let is_sound = volume > 0.0 && centre.iter().chain(inertia.iter()).all(|x| x.is_finite());
    is_sound.then(|| Solid { mass: density * volume, centre: centre + origin, inertia })
}
