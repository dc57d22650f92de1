//! Fits boxes, balls, cylinders and capsules to meshes.
//!
//! Directions that a body may have are tried: the axes, the normals of its largest faces, and the
//! principal directions of its surface. For each, the smallest primitive around the body is measured
//! against the body.

#![allow(
    clippy::indexing_slicing,
    reason = "corners refer to points of the same hull"
)]

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use nalgebra::{
    Isometry3, Matrix3, Point3, SymmetricEigen, UnitQuaternion, Vector2, Vector3, Vector4,
};

use crate::MeshArrays;
use crate::decompose::Surface;
use crate::hull::{self, ExactHull};

/// Number of the largest faces whose normals are tried.
const FACES: usize = 3;
/// Cosine of the angle within which normals are those of one face.
const SAME_NORMAL: f64 = 0.9999;
/// Number of samples of a surface along each side of a box, around a round body, and along it.
const SAMPLES: usize = 24;

/// A primitive about its own origin, lengths in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Primitive {
    /// Edge lengths along x, y, z.
    Box([f64; 3]),
    /// A ball.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// Along z.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Length.
        length: f64,
    },
    /// Along z.
    Capsule {
        /// Radius.
        radius: f64,
        /// Length without the caps.
        length: f64,
    },
}

/// A primitive in place of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The shape.
    pub primitive: Primitive,
    /// Its frame in that of the mesh.
    pub pose: Isometry3<f64>,
    /// Hausdorff distance of the primitive from the body that the mesh bounds, in metres: the farthest that
    /// either is outside of the other. Samples are tested.
    pub deviation: f64,
}

/// Fits a primitive to a mesh, each of whose axes is scaled; `None` if none is within `error` of it, in
/// metres.
///
/// The one with the least deviation is chosen. The result is deterministic.
pub fn fit(mesh: &MeshArrays, scale: Vector3<f64>, error: f64) -> Option<Fit> {
    let scaled =
        |point: &[f32; 3]| [0, 1, 2].map(|k: usize| (f64::from(point[k]) * scale[k]) as f32);
    let points: Vec<[f32; 3]> = mesh.points.iter().map(scaled).collect();
    let surface = Surface::of(&points, mesh.triangles.clone());
    let ExactHull { corners, faces } = hull::exact_hull(&surface.points)?;
    let corners: Vec<Vector3<f64>> = corners
        .iter()
        .map(|p| Vector3::from(p.map(f64::from)))
        .collect();
    let mut candidates: Vec<(Primitive, Isometry3<f64>)> = ball(&corners).into_iter().collect();
    let directions = directions(&corners, &faces);
    for (number, direction) in directions.iter().enumerate() {
        candidates.extend(around(&corners, direction));
        let sides = directions[number + 1..].iter();
        let across = sides.filter(|other| other.dot(direction).abs() < 0.1);
        candidates.extend(across.map(|other| cuboid(&corners, direction, other)));
    }
    // Cheap tests first: most bodies are none of these, and their grid takes longest.
    candidates.retain(|(primitive, pose)| {
        let farthest = primitive.farthest_outside(&corners, pose);
        farthest <= error && primitive.volume().is_finite()
    });
    let extent = |(primitive, _): &(Primitive, Isometry3<f64>)| primitive.volume();
    candidates.sort_by(|a, b| extent(a).total_cmp(&extent(b)));
    // A primitive within the error has no more volume than the hull and a layer of that thickness.
    let most = hull_volume(&corners, &faces) + layer(&corners, &faces, error);
    candidates.retain(|candidate| extent(candidate) <= most);
    let body = (!candidates.is_empty()).then(|| surface.body())?;
    let measured = candidates.into_iter().map(|(primitive, pose)| {
        let samples = primitive
            .samples()
            .into_iter()
            .map(|at| (pose * Point3::from(at)).coords.into());
        let deviation = body
            .excess(samples)
            .max(primitive.farthest_outside(&corners, &pose));
        Fit {
            primitive,
            pose,
            deviation,
        }
    });
    measured
        .filter(|fit| fit.deviation <= error)
        .min_by(|a, b| a.deviation.total_cmp(&b.deviation))
}

/// Returns the volume of a hull.
fn hull_volume(corners: &[Vector3<f64>], faces: &[[u32; 3]]) -> f64 {
    let origin = corners[0];
    let six: f64 = faces
        .iter()
        .map(|face| {
            let [a, b, c] = face.map(|i| corners[i as usize] - origin);
            a.dot(&b.cross(&c))
        })
        .sum();
    six / 6.0
}

/// Returns an upper bound of the volume of a layer around a hull, by Steiner's formula; the mean width of a
/// ball around the hull bounds that of the hull.
fn layer(corners: &[Vector3<f64>], faces: &[[u32; 3]], thickness: f64) -> f64 {
    let area: f64 = faces
        .iter()
        .map(|face| {
            let [a, b, c] = face.map(|i| corners[i as usize]);
            (b - a).cross(&(c - a)).norm() / 2.0
        })
        .sum();
    let radius = corners
        .iter()
        .map(|corner| (corner - corners[0]).norm())
        .fold(0.0, f64::max);
    area * thickness + 4.0 * PI * radius * thickness.powi(2) + 4.0 / 3.0 * PI * thickness.powi(3)
}

/// Returns directions that edges or axes of the body may have.
fn directions(corners: &[Vector3<f64>], faces: &[[u32; 3]]) -> Vec<Vector3<f64>> {
    // The normals of large faces, times their areas: single triangles of a face may be slivers, whose normals
    // are inaccurate.
    let mut areas: Vec<Vector3<f64>> = Vec::new();
    let mut spread = Matrix3::zeros();
    let weighted = faces.iter().filter_map(|face| {
        let [a, b, c] = face.map(|i| corners[i as usize]);
        let normal = (b - a).cross(&(c - a));
        Some((normal.norm() / 2.0, normal.try_normalize(0.0)?))
    });
    for (area, normal) in weighted {
        spread += normal * normal.transpose() * area;
        let along = |known: &Vector3<f64>| known.dot(&normal) / known.norm();
        match areas
            .iter_mut()
            .find(|known| along(known).abs() > SAME_NORMAL)
        {
            Some(known) => *known += normal * (area * along(known).signum()),
            None => areas.push(normal * area),
        }
    }
    areas.sort_by(|a, b| b.norm().total_cmp(&a.norm()));
    let principal = SymmetricEigen::new(spread).eigenvectors;
    let mut directions: Vec<Vector3<f64>> = Vec::new();
    let axes = [Vector3::x(), Vector3::y(), Vector3::z()];
    let normals = areas
        .into_iter()
        .take(FACES)
        .filter_map(|normal| normal.try_normalize(0.0));
    let principal = principal.column_iter().map(|column| column.into_owned());
    for direction in axes.into_iter().chain(normals).chain(principal) {
        if directions
            .iter()
            .all(|known| known.dot(&direction).abs() < SAME_NORMAL)
        {
            directions.push(direction);
        }
    }
    directions
}

/// Returns the rotation that takes z to `direction`, and x as close to `side` as possible.
fn frame(direction: &Vector3<f64>, side: &Vector3<f64>) -> UnitQuaternion<f64> {
    // Identity for the axes themselves, so that boxes along them are not turned.
    let y = direction.cross(side);
    let basis = Matrix3::from_columns(&[y.cross(direction).normalize(), y.normalize(), *direction]);
    UnitQuaternion::from_matrix(&basis)
}

/// Returns the bounding box with an edge along `direction`, and one nearly along `side`.
fn cuboid(
    corners: &[Vector3<f64>],
    direction: &Vector3<f64>,
    side: &Vector3<f64>,
) -> (Primitive, Isometry3<f64>) {
    let is_axis = |v: &Vector3<f64>| v.iter().filter(|x| **x != 0.0).count() == 1;
    let rotation = if is_axis(direction) && is_axis(side) {
        UnitQuaternion::identity()
    } else {
        frame(direction, side)
    };
    let mut low = Vector3::repeat(f64::INFINITY);
    let mut high = -low;
    for corner in corners {
        let at = rotation.inverse_transform_vector(corner);
        (low, high) = (low.inf(&at), high.sup(&at));
    }
    let centre = rotation * ((low + high) / 2.0);
    let pose = Isometry3::from_parts(centre.into(), rotation);
    (Primitive::Box((high - low).into()), pose)
}

/// Returns the smallest cylinder and capsule about an axis along `direction`.
fn around(corners: &[Vector3<f64>], direction: &Vector3<f64>) -> Vec<(Primitive, Isometry3<f64>)> {
    let rotation = UnitQuaternion::rotation_between(&Vector3::z(), direction)
        .unwrap_or_else(|| UnitQuaternion::from_axis_angle(&Vector3::x_axis(), PI));
    let turned: Vec<Vector3<f64>> = corners
        .iter()
        .map(|corner| rotation.inverse_transform_vector(corner))
        .collect();
    let across: Vec<Vector2<f64>> = turned.iter().map(Vector3::xy).collect();
    let Circle { centre, radius } = Circle::around(&across);
    let along =
        |pick: fn(f64, f64) -> f64, first: f64| turned.iter().map(|at| at.z).fold(first, pick);
    let (low, high) = (
        along(f64::min, f64::INFINITY),
        along(f64::max, f64::NEG_INFINITY),
    );
    let middle = rotation * Vector3::new(centre.x, centre.y, (low + high) / 2.0);
    let pose = Isometry3::from_parts(middle.into(), rotation);
    let length = high - low;
    let mut found = vec![(Primitive::Cylinder { radius, length }, pose)];
    if length > 2.0 * radius {
        let length = length - 2.0 * radius;
        found.push((Primitive::Capsule { radius, length }, pose));
    }
    found
}

/// Returns the ball whose surface is nearest to the corners, by least squares (Pratt's algebraic fit without
/// weights).
fn ball(corners: &[Vector3<f64>]) -> Option<(Primitive, Isometry3<f64>)> {
    let origin = corners.iter().sum::<Vector3<f64>>() / corners.len() as f64;
    let mut normal = nalgebra::Matrix4::zeros();
    let mut right = Vector4::zeros();
    for corner in corners {
        let at = corner - origin;
        let row = Vector4::new(2.0 * at.x, 2.0 * at.y, 2.0 * at.z, 1.0);
        normal += row * row.transpose();
        right += row * at.norm_squared();
    }
    let solution = normal.lu().solve(&right)?;
    let centre = solution.xyz();
    let radius = (solution.w + centre.norm_squared()).sqrt();
    let pose = Isometry3::translation(
        origin.x + centre.x,
        origin.y + centre.y,
        origin.z + centre.z,
    );
    (radius.is_finite() && radius > 0.0).then_some((Primitive::Sphere { radius }, pose))
}

/// A circle.
#[derive(Clone, Copy, Debug)]
struct Circle {
    centre: Vector2<f64>,
    radius: f64,
}

impl Circle {
    /// Returns the smallest circle around points (Welzl 1991, without recursion). Hulls have few corners, so
    /// the order is not shuffled.
    fn around(points: &[Vector2<f64>]) -> Self {
        let mut circle = Self {
            centre: points.first().copied().unwrap_or_default(),
            radius: 0.0,
        };
        for (i, a) in points.iter().enumerate() {
            if circle.contains(a) {
                continue;
            }
            circle = Self {
                centre: *a,
                radius: 0.0,
            };
            for (j, b) in points[..i].iter().enumerate() {
                if circle.contains(b) {
                    continue;
                }
                circle = Self::of_diameter(a, b);
                for c in &points[..j] {
                    if !circle.contains(c) {
                        circle = Self::through(a, b, c).unwrap_or(circle);
                    }
                }
            }
        }
        circle
    }

    fn contains(&self, point: &Vector2<f64>) -> bool {
        (point - self.centre).norm() <= self.radius * (1.0 + 1e-9)
    }

    fn of_diameter(a: &Vector2<f64>, b: &Vector2<f64>) -> Self {
        Self {
            centre: (a + b) / 2.0,
            radius: (a - b).norm() / 2.0,
        }
    }

    /// Returns the circle through three points; `None` if they are on one line.
    fn through(a: &Vector2<f64>, b: &Vector2<f64>, c: &Vector2<f64>) -> Option<Self> {
        let (u, v) = (b - a, c - a);
        let twice = 2.0 * u.perp(&v);
        let offset = Vector2::new(
            v.y * u.norm_squared() - u.y * v.norm_squared(),
            u.x * v.norm_squared() - v.x * u.norm_squared(),
        ) / twice;
        offset.iter().all(|x| x.is_finite()).then(|| Self {
            centre: a + offset,
            radius: offset.norm(),
        })
    }
}

impl Primitive {
    /// Returns the volume in cubic metres.
    pub fn volume(&self) -> f64 {
        let ball = |radius: f64| 4.0 / 3.0 * PI * radius.powi(3);
        let rod = |radius: f64, length: f64| PI * radius.powi(2) * length;
        match *self {
            Self::Box([x, y, z]) => x * y * z,
            Self::Sphere { radius } => ball(radius),
            Self::Cylinder { radius, length } => rod(radius, length),
            Self::Capsule { radius, length } => rod(radius, length) + ball(radius),
        }
    }

    /// Returns the distance of the farthest point outside of the primitive at `pose`; 0 if all are inside.
    fn farthest_outside(&self, points: &[Vector3<f64>], pose: &Isometry3<f64>) -> f64 {
        let height = |point: &Vector3<f64>| {
            let at = pose.inverse_transform_point(&Point3::from(*point)).coords;
            let beyond = |x: f64, half: f64| (x.abs() - half).max(0.0);
            match *self {
                Self::Box([x, y, z]) => Vector3::new(
                    beyond(at.x, x / 2.0),
                    beyond(at.y, y / 2.0),
                    beyond(at.z, z / 2.0),
                )
                .norm(),
                Self::Sphere { radius } => (at.norm() - radius).max(0.0),
                Self::Cylinder { radius, length } => {
                    beyond(at.xy().norm(), radius).hypot(beyond(at.z, length / 2.0))
                }
                Self::Capsule { radius, length } => {
                    (at.xy().norm().hypot(beyond(at.z, length / 2.0)) - radius).max(0.0)
                }
            }
        };
        points.iter().map(height).fold(0.0, f64::max)
    }

    /// Returns points of the surface.
    fn samples(&self) -> Vec<[f64; 3]> {
        let share = |k: usize| k as f64 / SAMPLES as f64;
        let mut samples = Vec::new();
        // Circles of a surface of revolution, by radius and height.
        let mut rings: Vec<(f64, f64)> = Vec::new();
        match *self {
            Self::Box(size) => {
                for (i, j) in (0..=SAMPLES).flat_map(|i| (0..=SAMPLES).map(move |j| (i, j))) {
                    for (axis, side) in (0..3).flat_map(|axis| [(axis, -0.5), (axis, 0.5)]) {
                        let mut at = [0.0; 3];
                        at[axis] = side * size[axis];
                        at[(axis + 1) % 3] = (share(i) - 0.5) * size[(axis + 1) % 3];
                        at[(axis + 2) % 3] = (share(j) - 0.5) * size[(axis + 2) % 3];
                        samples.push(at);
                    }
                }
            }
            Self::Cylinder { radius, length } => {
                let half = length / 2.0;
                rings.extend((0..=SAMPLES).map(|k| (radius, (2.0 * share(k) - 1.0) * half)));
                rings.extend(
                    (0..SAMPLES).flat_map(|k| [-half, half].map(|z| (radius * share(k), z))),
                );
            }
            Self::Sphere { radius } => rings.extend(cap(radius, 0.0)),
            Self::Capsule { radius, length } => {
                let half = length / 2.0;
                rings.extend((0..=SAMPLES).map(|k| (radius, (2.0 * share(k) - 1.0) * half)));
                rings.extend(cap(radius, half));
            }
        }
        for (radius, z) in rings {
            samples.extend((0..2 * SAMPLES).map(|k| {
                let (sin, cos) = (TAU * share(k) / 2.0).sin_cos();
                [radius * cos, radius * sin, z]
            }));
        }
        samples
    }
}

/// Returns the circles of two hemispheres, whose centres are at the heights `±half`.
fn cap(radius: f64, half: f64) -> impl Iterator<Item = (f64, f64)> {
    (0..=SAMPLES).flat_map(move |k| {
        let (sin, cos) = (FRAC_PI_2 * k as f64 / SAMPLES as f64).sin_cos();
        [-1.0, 1.0].map(|sign| (radius * cos, sign * (half + radius * sin)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::{ball as ball_mesh, cuboid, faceted, tetrahedron};

    /// Moves the points of a mesh.
    fn moved(mut mesh: MeshArrays, pose: &Isometry3<f64>, scale: [f64; 3]) -> MeshArrays {
        for point in &mut mesh.points {
            let at: [f64; 3] = std::array::from_fn(|k| f64::from(point[k]) * scale[k]);
            *point = (pose * Point3::from(at)).coords.map(|x| x as f32).into();
        }
        mesh
    }

    fn cube() -> MeshArrays {
        let (corners, sides) = cuboid([-1.0; 3], [1.0; 3]);
        let at = |i: usize| i as u32;
        let triangles = sides
            .iter()
            .flat_map(|&[a, b, c, d]| [[at(a), at(b), at(c)], [at(a), at(c), at(d)]]);
        faceted(
            corners.map(|corner| corner.map(|x| x as f32)).to_vec(),
            triangles.collect(),
        )
    }

    /// Returns a ball whose halves are moved apart along z, with the axis along z; or a cylinder.
    fn rod(is_round: bool) -> MeshArrays {
        let mut points = Vec::new();
        let mut triangles = Vec::new();
        let profile: Vec<(f64, f64)> = if is_round {
            (0..=16)
                .map(|k| {
                    let (sin, cos) = (PI * f64::from(k) / 16.0 - FRAC_PI_2).sin_cos();
                    (cos, sin + f64::from(k / 8).min(1.0) * 2.0)
                })
                .collect()
        } else {
            vec![(0.0, 0.0), (1.0, 0.0), (1.0, 3.0), (0.0, 3.0)]
        };
        let sides = 64;
        for (radius, z) in &profile {
            points.extend((0..sides).map(|k| {
                let (sin, cos) = (TAU * f64::from(k) / f64::from(sides)).sin_cos();
                [radius * cos, radius * sin, *z].map(|x| x as f32)
            }));
        }
        for ring in 0..profile.len() as u32 - 1 {
            for k in 0..sides as u32 {
                let at = |ring: u32, k: u32| ring * sides as u32 + k % sides as u32;
                let [a, b, c, d] = [
                    at(ring, k),
                    at(ring, k + 1),
                    at(ring + 1, k + 1),
                    at(ring + 1, k),
                ];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        faceted(points, triangles)
    }

    #[test]
    fn primitives_are_found_in_any_pose() {
        let turned = Isometry3::new(Vector3::new(1.0, -2.0, 3.0), Vector3::new(0.3, -0.7, 1.1));
        for pose in [Isometry3::identity(), turned] {
            let found = |mesh: MeshArrays, scale| {
                let fit = fit(&moved(mesh, &pose, scale), Vector3::repeat(0.1), 0.002).unwrap();
                assert!(fit.deviation < 0.002, "{fit:?}");
                fit
            };
            let Fit {
                primitive: Primitive::Box(mut size),
                pose: place,
                deviation,
            } = found(cube(), [1.0, 2.0, 3.0])
            else {
                panic!("not a box");
            };
            size.sort_by(f64::total_cmp);
            for (edge, expected) in size.into_iter().zip([0.2, 0.4, 0.6]) {
                assert!(
                    (edge - expected).abs() < 1e-6 && deviation < 1e-6,
                    "{size:?}"
                );
            }
            assert!((place.translation.vector - pose.translation.vector * 0.1).norm() < 1e-6);
            let Primitive::Sphere { radius } = found(ball_mesh(20), [2.0; 3]).primitive else {
                panic!("not a ball");
            };
            assert!((radius - 0.2).abs() < 1e-3, "{radius}");
            let Primitive::Cylinder { radius, length } =
                found(rod(false), [0.5, 0.5, 1.0]).primitive
            else {
                panic!("not a cylinder");
            };
            assert!(
                (radius - 0.05).abs() < 1e-4 && (length - 0.3).abs() < 1e-6,
                "{radius} {length}"
            );
            let fit = found(rod(true), [1.0; 3]);
            let Primitive::Capsule { radius, length } = fit.primitive else {
                panic!("not a capsule: {fit:?}");
            };
            assert!(
                (radius - 0.1).abs() < 1e-3 && (length - 0.2).abs() < 2e-3,
                "{radius} {length}"
            );
            let axis = pose.rotation * Vector3::z();
            assert!((fit.pose.rotation * Vector3::z()).dot(&axis).abs() > 0.9999);
        }
    }

    #[test]
    fn other_bodies_are_none() {
        assert_eq!(fit(&tetrahedron(), Vector3::repeat(1.0), 0.05), None);
        // A box without its lid is hollow, whatever the error of its corners.
        let (mut corners, _) = cuboid([0.0; 3], [1.0; 3]);
        corners[7] = [0.6; 3];
        let dented = MeshArrays {
            points: corners.map(|corner| corner.map(|x| x as f32)).to_vec(),
            ..cube()
        };
        assert_eq!(fit(&dented, Vector3::repeat(1.0), 0.05), None);
        assert!(fit(&dented, Vector3::repeat(1.0), 0.9).is_some());
        let empty = faceted(Vec::new(), Vec::new());
        assert_eq!(fit(&empty, Vector3::repeat(1.0), 1.0), None);
    }
}
