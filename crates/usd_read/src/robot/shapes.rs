//! Visuals and colliders: geometry anywhere in the stage, in the frame of the link that contains
//! it.

use std::collections::HashMap;

use nalgebra::{Matrix4, Point3, Quaternion, Rotation3, Translation3, UnitQuaternion, Vector3};

use super::links::{DraftId, Links};
use super::materials::Materials;
use super::meshes::{self, Meshes};
use super::scene::Scene;
use super::tessellate::{self, Profile};
use crate::axis::Axis;
use crate::codes;
use urdf_usd_mesh::Polygons;
use urdf_usd_robot::{Contact, Geometry, LinkId, Pose, Robot, Shape};
use urdf_usd_stage::{
    Prim, PrimId, Value, double_array, int_array, long_array, quaternions, rigid, text, vectors,
};

/// Maximum number of copies of a point instancer on a robot.
const MAX_COPIES: usize = 10_000;

/// Tolerance within which the factors of a scale are equal, or 1.
const SAME_SCALE: f64 = 1e-6;

/// Geometry of a link.
pub(super) struct Drawn {
    /// The link; `None` for the world.
    pub owner: Option<DraftId>,
    pub prim: PrimId,
    /// From the prim's coordinates to the link's, in metres.
    matrix: Matrix4<f64>,
    is_visual: bool,
    /// The prim with the collision schema, if there is one.
    pub collider: Option<PrimId>,
    /// The point instancer that places it, if any.
    instancer: Option<PrimId>,
}

/// A collider of a link, for its mass.
pub(super) struct Collider {
    pub owner: Option<DraftId>,
    /// The prim with the collision schema.
    pub prim: PrimId,
    pub geometry: Geometry,
    pub pose: Pose,
}

/// Finds all geometry of the robot.
pub(super) fn find(scene: &Scene<'_>, links: &Links) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    let inherited = scene.stage.inherit(|id, prim, above| {
        let is_link = links.of[id].is_some_and(|link| links.drafts[link].prim == id);
        Inherited::of(prim, id, above, is_link)
    });
    for (id, prim) in scene.stage.iter() {
        let here = inherited[id];
        if scene.is_part[id] && !here.is_instanced && !is_of_material(prim) {
            let owner = links.of[id];
            report_morphs(scene, id);
            if is_gprim(prim) {
                drawn.extend(here.drawn(owner, id, in_link(links, owner, &scene.placed[id])));
            } else if prim.type_name == "PointInstancer" {
                copies(scene, links, id, &here, &mut drawn);
            } else if is_left_out(prim) {
                let message = format!(
                    "{:?} is a {}, for which a robot has no word; it is left out",
                    prim.name(),
                    prim.type_name
                );
                scene.report(
                    &codes::LEFT_OUT,
                    id,
                    None,
                    message,
                    "nothing need be done, unless it matters",
                );
            }
        }
    }
    // Shapes in variants come before their siblings; their numbers restore the order of the source.
    drawn.sort_by_key(|drawn| number(scene, drawn.prim));
    drawn
}

/// Returns the number that this program gives a shape by its index among those of the link.
fn number(scene: &Scene<'_>, id: PrimId) -> usize {
    let names = std::iter::once(id)
        .chain(scene.stage[id].parent)
        .map(|id| scene.stage[id].name());
    let mut numbers = names.filter_map(|name| {
        let number = name
            .strip_prefix("visual_")
            .or_else(|| name.strip_prefix("collision_"))?;
        // The convex parts of a mesh have a suffix.
        number.split("_part_").next()?.parse().ok()
    });
    numbers.next().unwrap_or(0)
}

fn in_link(links: &Links, owner: Option<DraftId>, placed: &Matrix4<f64>) -> Matrix4<f64> {
    owner.map_or(*placed, |owner| {
        links.drafts[owner].pose.inverse().to_homogeneous() * placed
    })
}

/// State that geometry inherits from the prims above it.
#[derive(Clone, Copy)]
struct Inherited {
    is_visible: bool,
    /// True if its purpose is default or render.
    is_seen: bool,
    has_purpose: bool,
    /// The nearest ancestor with a collision schema, in the same link.
    collider: Option<PrimId>,
    /// True below a point instancer: the geometry shows only where the instancer places it.
    is_instanced: bool,
    /// True at or below a point instancer.
    hides_below: bool,
}

impl Inherited {
    fn of(prim: &Prim, id: PrimId, above: Option<&Self>, is_link: bool) -> Self {
        let purpose = prim.text("purpose").filter(|purpose| *purpose != "default");
        let is_seen = |purpose: &str| purpose == "render";
        let collides =
            prim.has("PhysicsCollisionAPI") && prim.flag("physics:collisionEnabled") != Some(false);
        Self {
            is_visible: above.is_none_or(|above| above.is_visible)
                && prim.text("visibility") != Some("invisible"),
            is_seen: match above.filter(|above| above.has_purpose) {
                Some(above) => purpose.map_or(above.is_seen, is_seen),
                None => purpose.is_none_or(is_seen),
            },
            has_purpose: purpose.is_some() || above.is_some_and(|above| above.has_purpose),
            collider: if collides {
                Some(id)
            } else {
                above.filter(|_| !is_link).and_then(|above| above.collider)
            },
            is_instanced: above.is_some_and(|above| above.hides_below),
            hides_below: above.is_some_and(|above| above.hides_below)
                || prim.type_name == "PointInstancer",
        }
    }

    fn drawn(&self, owner: Option<DraftId>, prim: PrimId, matrix: Matrix4<f64>) -> Option<Drawn> {
        let is_visual = self.is_visible && self.is_seen;
        let drawn = Drawn {
            owner,
            prim,
            matrix,
            is_visual,
            collider: self.collider,
            instancer: None,
        };
        (drawn.is_visual || drawn.collider.is_some()).then_some(drawn)
    }
}

fn is_gprim(prim: &Prim) -> bool {
    [
        "Cube",
        "Sphere",
        "Cylinder",
        "Cylinder_1",
        "Capsule",
        "Capsule_1",
        "Cone",
        "Plane",
        "Mesh",
    ]
    .contains(&prim.type_name.as_str())
}

/// Reports the blend shapes of a mesh (UsdSkel).
fn report_morphs(scene: &Scene<'_>, id: PrimId) {
    let prim = &scene.stage[id];
    let count = prim.targets("skel:blendShapeTargets").len();
    if count == 0 {
        return;
    }
    let message = format!(
        "the mesh {:?} has blend shapes ({count}); it is shown in its base shape",
        prim.name()
    );
    scene.report(
        &urdf_usd_mesh::codes::MORPHS,
        id,
        Some("skel:blendShapeTargets"),
        message,
        "apply them when exporting, if the shape matters",
    );
}

/// Returns whether a prim has a visible type that the robot model does not represent.
fn is_left_out(prim: &Prim) -> bool {
    const TYPES: [&str; 9] = [
        "BasisCurves",
        "NurbsCurves",
        "HermiteCurves",
        "NurbsPatch",
        "Points",
        "TetMesh",
        "Volume",
        "TiledSurface",
        "SkelRoot",
    ];
    TYPES.contains(&prim.type_name.as_str())
}

fn is_of_material(prim: &Prim) -> bool {
    matches!(prim.type_name.as_str(), "Material" | "Shader" | "NodeGraph")
}

/// Adds the copies of a point instancer (UsdGeomPointInstancer): each prototype's own transform
/// first, then scale, orientation and position.
fn copies(scene: &Scene<'_>, links: &Links, id: PrimId, above: &Inherited, drawn: &mut Vec<Drawn>) {
    let prim = &scene.stage[id];
    let numbers = |name: &str| prim.value(name).and_then(long_array).unwrap_or_default();
    let positions = prim
        .value("positions")
        .and_then(vectors)
        .unwrap_or_default();
    let orientations = ["orientationsf", "orientations"]
        .into_iter()
        .find_map(|name| prim.value(name).and_then(quaternions));
    let (orientations, scales) = (
        orientations.unwrap_or_default(),
        prim.value("scales").and_then(vectors).unwrap_or_default(),
    );
    let (ids, hidden) = (numbers("ids"), numbers("invisibleIds"));
    let prototypes: Vec<Option<PrimId>> = prim
        .targets("prototypes")
        .iter()
        .map(|path| scene.stage.at(path))
        .collect();
    let indices = prim
        .value("protoIndices")
        .and_then(int_array)
        .unwrap_or_default();
    if indices.len() > MAX_COPIES {
        let message = format!(
            "{:?} has {} copies; the first {MAX_COPIES} are read",
            prim.name(),
            indices.len()
        );
        scene.report(
            &codes::SHAPE,
            id,
            Some("protoIndices"),
            message,
            "use a mesh instead of so many copies",
        );
    }
    let owner = links.of[id];
    for (number, &index) in indices.iter().enumerate().take(MAX_COPIES) {
        let own = ids.get(number).copied().unwrap_or(number as i64);
        let prototype = usize::try_from(index)
            .ok()
            .and_then(|index| *prototypes.get(index)?);
        let (Some(prototype), Some(&position)) = (prototype, positions.get(number)) else {
            let message = format!(
                "copy {number} of {:?} has no prototype or no position",
                prim.name()
            );
            scene.report(
                &codes::SHAPE,
                id,
                Some("prototypes"),
                message,
                "name the prototypes that are there",
            );
            continue;
        };
        if hidden.contains(&own) {
            continue;
        }
        let turn =
            orientations
                .get(number)
                .map_or_else(UnitQuaternion::identity, |&[w, x, y, z]| {
                    UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-9)
                        .unwrap_or_else(UnitQuaternion::identity)
                });
        let scale = scales
            .get(number)
            .map_or_else(|| Vector3::repeat(1.0), |&scale| Vector3::from(scale));
        let placed = scene.placed[id]
            * Translation3::from(Vector3::from(position)).to_homogeneous()
            * turn.to_homogeneous()
            * Matrix4::new_nonuniform_scaling(&scale);
        for copy in copy_of(scene, prototype, &placed, above) {
            let matrix = in_link(links, owner, &copy.placed);
            let part = copy.inherited.drawn(owner, copy.prim, matrix);
            drawn.extend(part.map(|part| Drawn {
                instancer: Some(id),
                ..part
            }));
        }
    }
}

/// A part of a copy of a prototype.
struct Copied {
    prim: PrimId,
    /// Transform in the world.
    placed: Matrix4<f64>,
    inherited: Inherited,
}

/// Returns the geometry of a copy of a prototype placed at `placed`. `above`: the state inherited
/// by its instancer.
fn copy_of(
    scene: &Scene<'_>,
    prototype: PrimId,
    placed: &Matrix4<f64>,
    above: &Inherited,
) -> Vec<Copied> {
    let mut copy = Vec::new();
    // The transform and inherited state of each prim below the prototype.
    let mut known: HashMap<PrimId, (Matrix4<f64>, Inherited)> = HashMap::new();
    for prim in scene.stage.subtree(prototype) {
        let part = &scene.stage[prim];
        let parent = part
            .parent
            .filter(|_| prim != prototype)
            .and_then(|parent| known.get(&parent));
        let (base, above) = parent.copied().unwrap_or((*placed, *above));
        let placed = base * part.local().matrix;
        let inherited = Inherited::of(part, prim, Some(&above), false);
        if part.is_active && is_gprim(part) {
            copy.push(Copied {
                prim,
                placed,
                inherited,
            });
        }
        known.insert(prim, (placed, inherited));
    }
    copy
}

/// Converts geometry to shapes.
pub(super) struct Shapes<'s, 'a> {
    scene: &'s Scene<'a>,
    meshes: Meshes,
    pub materials: Materials<'s, 'a>,
    /// The colliders that have a geometry.
    pub colliders: Vec<Collider>,
}

impl<'s, 'a> Shapes<'s, 'a> {
    pub fn new(scene: &'s Scene<'a>) -> Self {
        Self {
            scene,
            meshes: Meshes::default(),
            materials: Materials::new(scene),
            colliders: Vec::new(),
        }
    }

    /// Adds geometry to a link.
    pub fn add(&mut self, robot: &mut Robot, link: LinkId, drawn: &Drawn) {
        let prim = &self.scene.stage[drawn.prim];
        if prim.type_name == "Plane" && drawn.collider.is_some() {
            let message = format!(
                "{:?} is an infinite plane that collides, which no link can be; it is left out there",
                prim.name()
            );
            self.scene
                .report(&codes::SHAPE, drawn.prim, None, message, "use a thin box");
        }
        let is_collider = drawn.collider.is_some() && prim.type_name != "Plane";
        if !drawn.is_visual && !is_collider {
            return;
        }
        let Some((geometry, origin)) = self.geometry(robot, drawn) else {
            return;
        };
        let shape = Shape {
            name: self.name(drawn.prim),
            origin,
            geometry: geometry.clone(),
            material: None,
            stand_in_for: self.stand_in_for(drawn.prim),
            instance_set: drawn.instancer.map(PrimId::index),
            custom: super::custom::of_shape(self.scene, drawn.prim),
            place: self.scene.place(drawn.prim, None),
        };
        if drawn.is_visual {
            let material = self.materials.of_shape(robot, drawn.prim);
            let visual = Shape {
                material,
                ..shape.clone()
            };
            self.scene
                .accept(robot.add_visual(link, visual), drawn.prim);
        }
        if let Some(collider) = drawn.collider.filter(|_| is_collider) {
            self.colliders.push(Collider {
                owner: drawn.owner,
                prim: collider,
                geometry,
                pose: origin,
            });
            let properties = robot.link_mut(link);
            properties.contact = properties.contact.or_else(|| self.contact(collider));
            self.scene
                .accept(robot.add_collision(link, shape), drawn.prim);
        }
    }

    /// Returns the display name of the prim, or of one above it in the link.
    fn name(&self, id: PrimId) -> Option<String> {
        // Two levels: this program names the Xform of a visual, and the geometry is its child.
        let is_link = |id: &PrimId| super::links::is_body(&self.scene.stage[*id]);
        let chain = std::iter::once(id)
            .chain(self.scene.stage.ancestors(id))
            .take_while(|id| !is_link(id))
            .take(2);
        chain
            .into_iter()
            .find_map(|id| super::display_name(self.scene, id))
    }

    /// Returns the marker that this program writes for a mesh that could not be read.
    fn stand_in_for(&self, id: PrimId) -> Option<String> {
        let chain = std::iter::once(id)
            .chain(self.scene.stage.ancestors(id))
            .take(2);
        chain.into_iter().find_map(
            |id| match self.scene.stage[id].metadata.get("customData")? {
                Value::Dictionary(entries) => {
                    entries.get("standInFor").and_then(text).map(str::to_owned)
                }
                _ => None,
            },
        )
    }

    /// Returns the contact material of a collider, unless it equals the default one.
    fn contact(&self, collider: PrimId) -> Option<Contact> {
        let material = &self.scene.stage[self.materials.bindings.physics(collider)?];
        if !material.has("PhysicsMaterialAPI") {
            return None;
        }
        let number = |name: &str| {
            material
                .number(name)
                .filter(|number| *number >= 0.0 && number.is_finite())
        };
        let dynamic_friction = number("physics:dynamicFriction").unwrap_or(0.0);
        let contact = Contact {
            static_friction: number("physics:staticFriction")
                .unwrap_or(0.0)
                .max(dynamic_friction),
            dynamic_friction,
            restitution: number("physics:restitution").map(|restitution| restitution.min(1.0)),
        };
        (contact != Contact::default()).then_some(contact)
    }

    /// Returns the geometry of a prim and its frame in the link.
    fn geometry(&mut self, robot: &mut Robot, drawn: &Drawn) -> Option<(Geometry, Pose)> {
        let prim = &self.scene.stage[drawn.prim];
        let placed = rigid(&drawn.matrix).map(|(pose, scale)| (pose, scale.map(snapped)));
        if prim.type_name == "Mesh" {
            let (baked, pose, scale) = match placed {
                Some((pose, scale)) => (None, pose, scale),
                None => (Some(drawn.matrix), Pose::identity(), Vector3::repeat(1.0)),
            };
            let mesh = self.meshes.of_prim(
                self.scene,
                &mut self.materials,
                robot,
                drawn.prim,
                baked.as_ref(),
            )?;
            return Some((Geometry::Mesh { mesh, scale }, pose));
        }
        if let Some(solid) = placed.and_then(|(pose, scale)| solid(prim, pose, scale)) {
            return match is_sound(&solid.0) {
                true => Some(solid),
                false => {
                    let message = format!("{:?} has no extent and is left out", prim.name());
                    self.scene.report(
                        &codes::SHAPE,
                        drawn.prim,
                        None,
                        message,
                        "give it dimensions above zero",
                    );
                    None
                }
            };
        }
        if prim.type_name != "Plane" {
            let message = format!(
                "{:?} ({}) is read as a mesh: the model has no such solid",
                prim.name(),
                prim.type_name
            );
            let help = "nothing need be done; spheres, cylinders and capsules stay solids if their scale is uniform";
            self.scene
                .report(&codes::AS_MESH, drawn.prim, None, message, help);
        }
        let mut polygons = tessellated(prim)?;
        for point in &mut polygons.points {
            *point = drawn
                .matrix
                .transform_point(&Point3::from(*point))
                .coords
                .into();
        }
        if drawn.matrix.fixed_view::<3, 3>(0, 0).determinant() < 0.0 {
            meshes::turn_inside_out(&mut polygons);
        }
        let mesh = self.meshes.add(self.scene, robot, drawn.prim, &polygons)?;
        Some((
            Geometry::Mesh {
                mesh,
                scale: Vector3::repeat(1.0),
            },
            Pose::identity(),
        ))
    }
}

/// Rounds a factor to 1 if it is nearly that.
fn snapped(factor: f64) -> f64 {
    if (factor - 1.0).abs() < 1e-9 {
        1.0
    } else {
        factor
    }
}

fn is_sound(geometry: &Geometry) -> bool {
    let is_length = |length: &f64| *length > 0.0 && length.is_finite();
    match geometry {
        Geometry::Box { size } => size.iter().all(is_length),
        Geometry::Sphere { radius } => is_length(radius),
        Geometry::Cylinder { radius, length } => is_length(radius) && is_length(length),
        Geometry::Capsule { radius, length } => {
            is_length(radius) && *length >= 0.0 && length.is_finite()
        }
        Geometry::Mesh { .. } | Geometry::Missing { .. } => true,
    }
}

/// Returns the rotation that takes z to an axis.
fn z_to(axis: Axis) -> UnitQuaternion<f64> {
    let quarter = std::f64::consts::FRAC_PI_2;
    match axis {
        Axis::X => UnitQuaternion::from_axis_angle(&Vector3::y_axis(), quarter),
        Axis::Y => UnitQuaternion::from_axis_angle(&Vector3::x_axis(), -quarter),
        Axis::Z => UnitQuaternion::identity(),
    }
}

/// Returns a dimension of a solid, or the schema's fallback `otherwise` if it is not authored.
fn dimension(prim: &Prim, name: &str, otherwise: f64) -> f64 {
    prim.number(name).unwrap_or(otherwise)
}

/// Returns the primitive of a prim with a pose and scale, if the model represents it.
fn solid(prim: &Prim, pose: Pose, scale: Vector3<f64>) -> Option<(Geometry, Pose)> {
    let size = scale.abs();
    let is_same = |a: f64, b: f64| (a - b).abs() <= SAME_SCALE * a.max(b);
    let axis = Axis::named(prim.text("axis")).unwrap_or(Axis::Z);
    let turned = pose * z_to(axis);
    let (along, [across, other]) = axis.split(&size);
    // A scale that distorts a round solid gives another shape, which is `None` here.
    let is_round = is_same(across, other);
    let radii = |otherwise: f64| {
        let (top, bottom) = (
            dimension(prim, "radiusTop", otherwise),
            dimension(prim, "radiusBottom", otherwise),
        );
        is_same(top, bottom).then_some(top)
    };
    match prim.type_name.as_str() {
        "Cube" => Some((
            Geometry::Box {
                size: size * dimension(prim, "size", 2.0),
            },
            pose,
        )),
        "Sphere" if is_round && is_same(along, across) => Some((
            Geometry::Sphere {
                radius: size.x * dimension(prim, "radius", 1.0),
            },
            pose,
        )),
        "Cylinder" | "Cylinder_1" if is_round => {
            let radius = if prim.type_name == "Cylinder" {
                dimension(prim, "radius", 1.0)
            } else {
                radii(1.0)?
            };
            let length = along * dimension(prim, "height", 2.0);
            Some((
                Geometry::Cylinder {
                    radius: across * radius,
                    length,
                },
                turned,
            ))
        }
        "Capsule" | "Capsule_1" if is_round && is_same(along, across) => {
            let radius = if prim.type_name == "Capsule" {
                dimension(prim, "radius", 0.5)
            } else {
                radii(0.5)?
            };
            let length = along * dimension(prim, "height", 1.0);
            Some((
                Geometry::Capsule {
                    radius: along * radius,
                    length,
                },
                turned,
            ))
        }
        _ => None,
    }
}

/// Tessellates a solid that the model does not represent, in the prim's own coordinates.
fn tessellated(prim: &Prim) -> Option<Polygons> {
    let axis = Axis::named(prim.text("axis")).unwrap_or(Axis::Z);
    let radii = |otherwise: f64| {
        let one = dimension(prim, "radius", otherwise);
        (
            dimension(prim, "radiusBottom", one),
            dimension(prim, "radiusTop", one),
        )
    };
    let mut polygons = match prim.type_name.as_str() {
        "Sphere" => tessellate::lathe(&Profile::sphere(dimension(prim, "radius", 1.0))),
        "Cylinder" | "Cylinder_1" => {
            let (bottom, top) = radii(1.0);
            tessellate::lathe(&Profile::frustum(
                bottom,
                top,
                dimension(prim, "height", 2.0),
            ))
        }
        "Capsule" | "Capsule_1" => {
            let (bottom, top) = radii(0.5);
            tessellate::lathe(&Profile::capsule(
                bottom,
                top,
                dimension(prim, "height", 1.0),
            ))
        }
        "Cone" => tessellate::lathe(&Profile::frustum(
            dimension(prim, "radius", 1.0),
            0.0,
            dimension(prim, "height", 2.0),
        )),
        "Plane" => tessellate::sheet(
            dimension(prim, "width", 2.0),
            dimension(prim, "length", 2.0),
        ),
        "Cube" => tessellate::cube(dimension(prim, "size", 2.0)),
        _ => return None,
    };
    let turn = Rotation3::from(z_to(axis));
    for point in &mut polygons.points {
        *point = (turn * Point3::from(*point)).coords.into();
    }
    Some(polygons)
}

/// Returns the numbers of an array attribute.
pub(super) fn number_array(prim: &Prim, name: &str) -> Option<Vec<f64>> {
    prim.value(name).and_then(double_array)
}
