//! Replaces visual meshes that could not be read by boxes, if requested: [`add`].
//!
//! The box of a link encloses its colliders, or has the link's mass and inertia. This module knows
//! the model, and nothing of files or layers.

use std::collections::BTreeMap;

use nalgebra::{Isometry3, Point3, Vector3};

use super::codes;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::{
    CacheEvicted, Geometry, Inertial, Link, LinkId, Pose, Robot, Shape, principal_axes,
};
use urdf_usd_urdf::MeshReference;

/// Minimum thickness of a box, relative to its longest side; zero could not be scaled.
const MIN_THICKNESS_RATIO: f64 = 1e-3;

/// Gives the first visual of each link whose mesh is one of the `missing` a box.
///
/// The box keeps the visual's name and material. One box replaces all such visuals of a link,
/// because it is as large as the link. The finding about the mesh, already in `diagnostics`, is
/// extended.
///
/// # Errors
/// If a mesh is no longer in the cache.
pub(super) fn add(
    robot: &mut Robot,
    missing: &[&MeshReference],
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(), CacheEvicted> {
    let mut found = Vec::new();
    let mut first: BTreeMap<LinkId, (usize, &MeshReference)> = BTreeMap::new();
    for &reference in missing {
        for &(link, visual) in &reference.visuals {
            let known = first.entry(link).or_insert((visual, reference));
            if visual < known.0 {
                *known = (visual, reference);
            }
        }
    }
    for (id, (visual, reference)) in first {
        let link = &robot.links()[id];
        let Some(shape) = link.visuals.get(visual) else {
            continue;
        };
        let (name, place, uri) = (link.name().to_owned(), shape.place.clone(), &reference.uri);
        let Some(stand_in) = link_box(robot, link)? else {
            let message = format!(
                "no box can replace {uri}: link {name:?} has neither a loaded collider nor a physically possible inertia"
            );
            found.push(
                Diagnostic::new(&codes::NO_STAND_IN, place, message)
                    .help("give the link a collider or an inertial with its true inertia"),
            );
            continue;
        };
        let message = format!("a box replaces {uri}: {} link {name:?}", stand_in.source);
        found.push(
            Diagnostic::new(&codes::STAND_IN, place, message)
                .help("repair the mesh; the prim of the box already has its name"),
        );
        for diagnostic in diagnostics
            .iter_mut()
            .filter(|d| d.place == reference.place)
        {
            let shown = format!("a box shows instead, {} link {name:?}", stand_in.source);
            diagnostic.message = format!("{}; {shown}", diagnostic.message);
        }
        if let Some(shape) = robot.links()[id].visuals.get(visual) {
            let place = shape.place.clone();
            let shape = Shape {
                geometry: Geometry::Box {
                    size: stand_in.size,
                },
                origin: stand_in.pose,
                stand_in_for: Some(uri.clone()),
                ..shape.clone()
            };
            let set = robot.set_visual(id, visual, shape);
            found.extend(set.err().map(|error| error.to_diagnostic(place)));
        }
    }
    diagnostics.extend(found);
    Ok(())
}

/// A box in the frame of a link.
#[derive(Debug, PartialEq)]
struct StandIn {
    pose: Pose,
    /// Edge lengths in metres, all positive.
    size: Vector3<f64>,
    /// The origin of the box, for the user.
    source: &'static str,
}

fn link_box(robot: &Robot, link: &Link) -> Result<Option<StandIn>, CacheEvicted> {
    let collider_box = collider_box(robot, &link.collisions)?;
    Ok(collider_box.or_else(|| link.inertial.as_ref().and_then(inertial_box)))
}

/// Returns the axis-aligned box, in the link's frame, around all colliders.
fn collider_box(robot: &Robot, colliders: &[Shape]) -> Result<Option<StandIn>, CacheEvicted> {
    let (mut low, mut high) = (
        Vector3::repeat(f64::INFINITY),
        Vector3::repeat(f64::NEG_INFINITY),
    );
    for shape in colliders {
        for point in bounding_points(robot, &shape.geometry)? {
            let point = (shape.origin * Point3::from(point)).coords;
            (low, high) = (low.inf(&point), high.sup(&point));
        }
    }
    let centre = (low + high) / 2.0;
    Ok(thicken(high - low).map(|size| StandIn {
        pose: Isometry3::translation(centre.x, centre.y, centre.z),
        size,
        source: "the box around the colliders of",
    }))
}

/// Returns points with the same bounding box as the geometry: those of a mesh, or the corners of a
/// solid's box.
fn bounding_points(robot: &Robot, geometry: &Geometry) -> Result<Vec<Vector3<f64>>, CacheEvicted> {
    let half = match *geometry {
        Geometry::Box { size } => size / 2.0,
        Geometry::Cylinder { radius, length } => Vector3::new(radius, radius, length / 2.0),
        Geometry::Sphere { radius } => Vector3::repeat(radius),
        Geometry::Capsule { radius, length } => Vector3::new(radius, radius, length / 2.0 + radius),
        Geometry::Mesh { mesh, scale } => {
            let points = &robot.meshes()[mesh].mesh.arrays()?.points;
            return Ok(points
                .iter()
                .map(|&p| Vector3::from(p).cast::<f64>().component_mul(&scale))
                .collect());
        }
        Geometry::Missing { .. } => return Ok(Vec::new()),
    };
    Ok((0..8)
        .map(|corner| {
            half.map_with_location(|axis, _, x| if corner >> axis & 1 == 1 { x } else { -x })
        })
        .collect())
}

/// Returns the solid box of uniform density with this mass and inertia.
fn inertial_box(inertial: &Inertial) -> Option<StandIn> {
    let (moments, axes) = principal_axes(&inertial.inertia);
    // From I_x = m (b² + c²) / 12 and likewise for y and z: along each axis a² = 6 (J - 2 I) / m,
    // where J is the sum of the three principal moments and I the one about that axis.
    let squares = moments.map(|moment| 6.0 * (moments.sum() - 2.0 * moment) / inertial.mass);
    let possible = inertial.mass > 0.0 && moments.iter().all(|&moment| moment > 0.0);
    let size = thicken(squares.map(|square| square.max(0.0).sqrt())).filter(|_| possible)?;
    let pose = Pose::from_parts(inertial.origin.translation, inertial.origin.rotation * axes);
    Some(StandIn {
        pose,
        size,
        source: "the box with the mass and inertia of",
    })
}

/// Returns `size` with a minimum thickness; `None` if all sides are zero, or one is not finite.
fn thicken(size: Vector3<f64>) -> Option<Vector3<f64>> {
    let longest = size.max();
    (size.iter().all(|side| side.is_finite()) && longest > 0.0)
        .then(|| size.map(|side| side.max(MIN_THICKNESS_RATIO * longest)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nalgebra::UnitQuaternion;

    use super::*;
    use urdf_usd_diagnostic::Place;
    use urdf_usd_robot::{Corners, Mesh, MeshArrays, Part};
    use urdf_usd_urdf::References;

    /// Returns a link `a` with the unreadable visual mesh a.stl, and `body` before it.
    fn robot(body: &str) -> (Robot, References) {
        let visual =
            "<visual name='v'><origin xyz='9 9 9'/><geometry><mesh filename='a.stl'/></geometry>
            <material name='m'><color rgba='1 0 0 1'/></material></visual>";
        let urdf = format!("<robot name='r'><link name='a'>{body}{visual}</link></robot>");
        let outcome = urdf_usd_urdf::read(&urdf, None);
        (outcome.robot.unwrap(), outcome.references)
    }

    /// Returns the first visual, and the codes of the findings.
    fn stand_in((mut robot, references): (Robot, References)) -> (Shape, Vec<&'static str>) {
        let mut diagnostics = Vec::new();
        add(
            &mut robot,
            &references.meshes.iter().collect::<Vec<_>>(),
            &mut diagnostics,
        )
        .unwrap();
        (
            robot.links().as_slice()[0].visuals[0].clone(),
            diagnostics.iter().map(|d| d.code).collect(),
        )
    }

    fn size(shape: &Shape) -> Vector3<f64> {
        match shape.geometry {
            Geometry::Box { size } => size,
            ref other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_box_of_colliders_comes_first() {
        let (quarter, inertial) = (
            std::f64::consts::FRAC_PI_2,
            "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>",
        );
        let (shape, codes) = stand_in(robot(&format!(
            "{inertial}<collision><origin xyz='1 0 0' rpy='0 0 {quarter}'/><geometry><box size='2 4 6'/></geometry></collision>
             <collision><origin xyz='0 0 5'/><geometry><sphere radius='1'/></geometry></collision>
             <collision><geometry><mesh filename='lost.stl'/></geometry></collision>"
        )));
        // x: -1 to 3 of the rotated box; y: -1 to 1 of both; z: -3 of the box to 6 of the sphere.
        assert!(
            (size(&shape) - Vector3::new(4.0, 2.0, 9.0)).norm() < 1e-9,
            "{:?}",
            size(&shape)
        );
        assert!((shape.origin.translation.vector - Vector3::new(1.0, 0.0, 1.5)).norm() < 1e-9);
        assert_eq!(shape.origin.rotation, UnitQuaternion::identity());
        assert_eq!(
            (shape.name.as_deref(), shape.material.is_some()),
            (Some("v"), true)
        );
        assert_eq!(
            (shape.stand_in_for.as_deref(), codes),
            (Some("a.stl"), vec!["stand-in"])
        );
    }

    #[test]
    fn meshes_that_collide_are_measured_by_their_points() {
        let (mut robot, mut references) = robot(
            "<collision><geometry><mesh filename='b.stl' scale='-1 2 1'/></geometry></collision>",
        );
        let b = references
            .meshes
            .iter()
            .position(|reference| reference.uri == "b.stl")
            .unwrap();
        let arrays = MeshArrays {
            points: vec![[0.0; 3], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]],
            triangles: vec![[0, 1, 2]],
            normals: Corners {
                values: vec![[0.0, 0.0, 1.0]],
                indices: vec![[0; 3]],
            },
            uvs: None,
            colors: None,
        };
        let mesh = Mesh::new(
            arrays,
            vec![Part {
                triangles: 0..1,
                material: None,
            }],
            Vec::new(),
        );
        references
            .meshes
            .remove(b)
            .settle(&mut robot, Arc::new(mesh.into()))
            .unwrap();
        let (shape, _) = stand_in((robot, references));
        assert!(
            (size(&shape) - Vector3::new(2.0, 6.0, 6e-3)).norm() < 1e-9,
            "flat ones get a thickness"
        );
        assert!((shape.origin.translation.vector - Vector3::new(-1.0, 3.0, 0.0)).norm() < 1e-9);
    }

    #[test]
    fn without_colliders_the_inertia_gives_the_box() {
        // A box of 1 x 2 x 3 m and 12 kg, rotated about z by 30°: 1/12 m (b² + c²) about its first
        // axis.
        let moments = Vector3::new(13.0, 10.0, 5.0);
        let turn = UnitQuaternion::from_euler_angles(0.0, 0.0, 30.0_f64.to_radians());
        let tensor = turn.to_rotation_matrix()
            * nalgebra::Matrix3::from_diagonal(&moments)
            * turn.inverse().to_rotation_matrix();
        let inertial = format!(
            "<inertial><origin xyz='0.1 0.2 0.3' rpy='0.4 0 0'/><mass value='12'/>
             <inertia ixx='{}' ixy='{}' ixz='0' iyy='{}' iyz='0' izz='5'/></inertial>",
            tensor[(0, 0)],
            tensor[(0, 1)],
            tensor[(1, 1)]
        );
        let (shape, codes) = stand_in(robot(&inertial));
        assert_eq!(codes, ["stand-in"]);
        assert!(
            (size(&shape) - Vector3::new(1.0, 2.0, 3.0)).norm() < 1e-6,
            "{:?}",
            size(&shape)
        );
        let rotation = UnitQuaternion::from_euler_angles(0.4, 0.0, 0.0) * turn;
        assert!(shape.origin.rotation.angle_to(&rotation) < 1e-6);
        assert!((shape.origin.translation.vector - Vector3::new(0.1, 0.2, 0.3)).norm() < 1e-12);
    }

    #[test]
    fn without_colliders_or_inertia_there_is_no_box() {
        for body in [
            "",
            "<collision><geometry><mesh filename='lost.stl'/></geometry></collision>",
            "<inertial><mass value='0'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>",
            "<inertial><mass value='1'/><inertia ixx='0' ixy='0' ixz='0' iyy='0' iyz='0' izz='0'/></inertial>",
            "<inertial><mass value='1'/><inertia ixx='-1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>",
        ] {
            let (shape, codes) = stand_in(robot(body));
            assert!(
                matches!(shape.geometry, Geometry::Missing { .. }) && shape.stand_in_for.is_none(),
                "{body}"
            );
            assert_eq!(codes, ["stand-in-none"], "{body}");
        }
    }

    #[test]
    fn the_finding_about_the_mesh_says_so_and_one_box_is_enough() {
        let second = "<visual><geometry><mesh filename='b.stl'/></geometry></visual>";
        let (mut robot, references) = robot(&format!(
            "<collision><geometry><sphere radius='1'/></geometry></collision>{second}"
        ));
        let b = references
            .meshes
            .iter()
            .find(|reference| reference.uri == "b.stl")
            .unwrap();
        let mut diagnostics = vec![
            Diagnostic::new(&codes::INTERNAL, b.place.clone(), "b.stl is missing"),
            Diagnostic::new(&codes::INTERNAL, Place::default(), "else"),
        ];
        add(
            &mut robot,
            &references.meshes.iter().collect::<Vec<_>>(),
            &mut diagnostics,
        )
        .unwrap();
        let messages: Vec<_> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "b.stl is missing; a box shows instead, the box around the colliders of link \"a\"",
                "else",
                "a box replaces b.stl: the box around the colliders of link \"a\"",
            ]
        );
        assert!(matches!(
            robot.links().as_slice()[0].visuals[1].geometry,
            Geometry::Missing { .. }
        ));
    }
}
