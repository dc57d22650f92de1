//! A software renderer for a picture of a robot at rest, the preview of an asset.
//!
//! It has a z-buffer, one light and the colours of materials; textures are replaced by their mean
//! colour. This module knows the model, and nothing of files, layers or ROS.

#![allow(
    clippy::indexing_slicing,
    reason = "samples are clipped to the canvas before they are drawn; axes and channels are counted"
)]

use std::collections::HashMap;
use std::f64::consts::{FRAC_PI_2, TAU};
use std::io::Cursor;

use nalgebra::{Matrix3, Vector3};

use urdf_usd_mesh as mesh;
use urdf_usd_robot::{
    CacheEvicted, Geometry, Link, Material, Mesh, Pose, Robot, Shape, kinematics,
};

/// Supersampling: each pixel is the mean of a square with this many samples a side.
const SAMPLES: usize = 4;
/// Share of the picture's side that the robot fills.
const FILLED: f64 = 0.9;
/// Maximum number of triangles to draw; translucent ones are held in memory.
const MAX_TRIANGLES: usize = 1_000_000;
/// Maximum number of samples to test, which bounds the time: ten times the largest number for any
/// robot so far.
const MAX_TESTED_SAMPLES: f64 = (1 << 28) as f64;
/// Number of sides of a round solid.
const SIDES: usize = 48;
/// Linear grey of the background: light enough for black robots, dark enough for white ones.
const BACKGROUND: [f32; 3] = [0.4, 0.42, 0.45];
/// Linear colour of surfaces without a material.
const UNPAINTED: [f32; 4] = [0.5, 0.5, 0.5, 1.0];

/// Renders `robot` as a square PNG of `side` pixels: from its front, its left and above, without
/// perspective.
///
/// A robot without visuals is drawn by its colliders. `None` if the PNG can't be encoded.
///
/// # Errors
/// Fails if a mesh is no longer in the cache.
pub fn png(robot: &Robot, side: u16) -> Result<Option<Vec<u8>>, CacheEvicted> {
    let pixels = draw(robot, usize::from(side))?;
    let image = image::RgbImage::from_raw(
        side.into(),
        side.into(),
        pixels.into_iter().flatten().collect(),
    );
    let mut bytes = Vec::new();
    let written = image.and_then(|image| {
        image
            .write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png)
            .ok()
    });
    Ok(written.map(|()| bytes))
}

/// Returns the edge lengths in metres of the box, along the root's axes, around the visuals of
/// `robot` at rest; zero without any.
///
/// # Errors
/// Fails if a mesh is no longer in the cache.
pub fn extents(robot: &Robot) -> Result<Vector3<f64>, CacheEvicted> {
    let mut bounds = Bounds::default();
    each_triangle(robot, visuals, |triangle| bounds.add(&triangle))?;
    Ok(bounds
        .high
        .zip_map(&bounds.low, |high, low| (high - low).max(0.0)))
}

/// Renders the colours of all pixels in sRGB, row by row from the top.
fn draw(robot: &Robot, side: usize) -> Result<Vec<[u8; 3]>, CacheEvicted> {
    let camera = camera();
    let in_view = |triangle: Triangle| Triangle {
        points: triangle.points.map(|p| camera * p),
        normals: triangle.normals.map(|n| camera * n),
        ..triangle
    };
    let measure = |shapes: Shapes| {
        let (mut bounds, mut boxes, mut count) = (Bounds::default(), 0.0, 0_usize);
        each_triangle(robot, shapes, |triangle| {
            let mut own = Bounds::default();
            own.add(&in_view(triangle));
            // Drawing tests every sample in a triangle's bounding box, so the sum of the boxes'
            // areas predicts how long drawing will take.
            boxes += (own.high.x - own.low.x) * (own.high.y - own.low.y);
            bounds.join(&own);
            count += 1;
        })?;
        Ok((bounds, boxes, count))
    };
    let mut shapes: Shapes = visuals;
    // Triangles are generated twice, to measure and to draw, instead of held in memory.
    let (mut bounds, mut boxes, mut triangles) = measure(shapes)?;
    if bounds.is_empty() {
        shapes = |link| &link.collisions;
        (bounds, boxes, triangles) = measure(shapes)?;
    }
    let mut canvas = Canvas::new(side * SAMPLES, &bounds);
    let every =
        thinning(boxes * canvas.scale * canvas.scale).max(triangles.div_ceil(MAX_TRIANGLES));
    let (mut count, mut translucent) = (0_usize, Vec::new());
    each_triangle(robot, shapes, |triangle| {
        count += 1;
        match triangle.is_translucent() {
            _ if count % every != 0 => {}
            true => translucent.push(in_view(triangle)),
            false => canvas.draw(&in_view(triangle)),
        }
    })?;
    // Translucent triangles are drawn last, from back to front.
    let depth = |triangle: &Triangle| triangle.points.iter().map(|p| p.z).sum::<f64>();
    translucent.sort_by(|a, b| depth(a).total_cmp(&depth(b)));
    translucent
        .iter()
        .for_each(|triangle| canvas.draw(triangle));
    Ok(canvas.pixels(side))
}

/// Returns the step between triangles to draw, if drawing all of them would test `work` samples.
fn thinning(work: f64) -> usize {
    ((work / MAX_TESTED_SAMPLES).ceil() as usize).max(1)
}

/// Returns the rotation from the root's frame (x forward, y left, z up) to the viewer's: x to the
/// right, y up, z towards the viewer.
fn camera() -> Matrix3<f64> {
    let towards: Vector3<f64> = Vector3::new(0.8, 0.55, 0.42).normalize();
    let right = Vector3::z().cross(&towards).normalize();
    Matrix3::from_rows(&[
        right.transpose(),
        towards.cross(&right).transpose(),
        towards.transpose(),
    ])
}

/// Three corners, with the surface's unit normals and its linear colours and opacity there.
#[derive(Clone)]
struct Triangle {
    points: [Vector3<f64>; 3],
    normals: [Vector3<f64>; 3],
    colors: [[f32; 4]; 3],
}

impl Triangle {
    fn is_translucent(&self) -> bool {
        self.colors.iter().any(|color| color[3] < 1.0)
    }

    /// Interpolates the colour with barycentric `weights`.
    fn color(&self, weights: &[f64; 3]) -> [f32; 4] {
        let [a, b, c] = self.colors;
        if a == b && b == c {
            return a;
        }
        std::array::from_fn(|k| {
            self.colors
                .iter()
                .zip(weights)
                .map(|(color, &weight)| color[k] * weight as f32)
                .sum()
        })
    }
}

/// An axis-aligned box.
struct Bounds {
    low: Vector3<f64>,
    high: Vector3<f64>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            low: Vector3::repeat(f64::INFINITY),
            high: Vector3::repeat(f64::NEG_INFINITY),
        }
    }
}

impl Bounds {
    fn is_empty(&self) -> bool {
        self.low.x > self.high.x
    }

    fn add(&mut self, triangle: &Triangle) {
        for point in &triangle.points {
            self.low = self.low.inf(point);
            self.high = self.high.sup(point);
        }
    }

    fn join(&mut self, other: &Self) {
        self.low = self.low.inf(&other.low);
        self.high = self.high.sup(&other.high);
    }
}

/// Selects shapes of a link.
type Shapes = fn(&Link) -> &[Shape];

fn visuals(link: &Link) -> &[Shape] {
    &link.visuals
}

/// Calls `visit` with every finite triangle of the robot at rest, in the frame of its root.
fn each_triangle(
    robot: &Robot,
    shapes: Shapes,
    mut visit: impl FnMut(Triangle),
) -> Result<(), CacheEvicted> {
    let mut colors = Colors {
        robot,
        means: HashMap::new(),
    };
    let mut show = |triangle: Triangle| {
        if triangle
            .points
            .iter()
            .all(|p| p.iter().all(|x| x.is_finite()))
        {
            visit(triangle);
        }
    };
    for (link, pose) in robot
        .links()
        .values()
        .zip(kinematics::Model::of(robot).poses(&[]))
    {
        for shape in shapes(link) {
            let (pose, own) = (pose * shape.origin, colors.shape_color(shape));
            match shape.geometry {
                Geometry::Mesh { mesh, scale } => {
                    let source = &robot.meshes()[mesh];
                    mesh_triangles(
                        &source.mesh.load()?,
                        &pose,
                        &scale,
                        own,
                        &mut colors,
                        &mut show,
                    );
                }
                ref solid => {
                    for corners in solid_triangles(solid) {
                        let [a, b, c] = corners.map(|(point, normal)| {
                            (pose * nalgebra::Point3::from(point), pose * normal)
                        });
                        let points = [a.0.coords, b.0.coords, c.0.coords];
                        show(Triangle {
                            points,
                            normals: [a.1, b.1, c.1],
                            colors: [own.unwrap_or(UNPAINTED); 3],
                        });
                    }
                }
            }
        }
    }
    Ok(())
}

/// Returns the triangles of a mesh.
///
/// `own` is the colour of parts without a material, if the robot defines one.
fn mesh_triangles(
    mesh: &Mesh,
    pose: &Pose,
    scale: &Vector3<f64>,
    own: Option<[f32; 4]>,
    colors: &mut Colors<'_>,
    show: &mut impl FnMut(Triangle),
) {
    let vector =
        |v: Option<&[f32; 3]>| Vector3::from(v.copied().unwrap_or([f32::NAN; 3])).cast::<f64>();
    for part in &mesh.parts {
        let material = part.material.and_then(|index| mesh.materials.get(index));
        let color = material
            .map(|material| colors.material_color(material))
            .or(own);
        let of_corners = mesh
            .colors
            .as_ref()
            .filter(|_| material.map_or(own.is_none(), |material| material.shows_corner_colors));
        for index in part.triangles.clone() {
            let (Some(corners), Some(normals)) =
                (mesh.triangles.get(index), mesh.normals.indices.get(index))
            else {
                continue;
            };
            let points = corners.map(|i| {
                let point = vector(mesh.points.get(i as usize)).component_mul(scale);
                (pose * nalgebra::Point3::from(point)).coords
            });
            let normals = normals.map(|i| {
                // Normals transform by the inverse transpose: divided by the scale.
                let normal = vector(mesh.normals.values.get(i as usize)).component_div(scale);
                pose * normal.try_normalize(0.0).unwrap_or_default()
            });
            let colors = match of_corners {
                Some(of_corners) => {
                    let indices = of_corners
                        .indices
                        .get(index)
                        .copied()
                        .unwrap_or([u32::MAX; 3]);
                    let at = |i: u32| {
                        of_corners
                            .values
                            .get(i as usize)
                            .copied()
                            .unwrap_or([1.0; 4])
                    };
                    indices.map(|i| {
                        std::array::from_fn(|k| at(i)[k] * color.map_or(1.0, |color| color[k]))
                    })
                }
                None => [color.unwrap_or(UNPAINTED); 3],
            };
            show(Triangle {
                points,
                normals,
                colors,
            });
        }
    }
}

/// Colours of materials, with each image read once.
struct Colors<'a> {
    robot: &'a Robot,
    /// Mean colours by SHA-256 of the image.
    means: HashMap<String, Option<[f32; 4]>>,
}

impl Colors<'_> {
    /// Returns the colour that the robot gives a shape.
    fn shape_color(&mut self, shape: &Shape) -> Option<[f32; 4]> {
        let robot = self.robot;
        shape
            .material
            .map(|id| self.material_color(&robot.materials()[id]))
    }

    fn material_color(&mut self, material: &Material) -> [f32; 4] {
        let Some(texture) = &material.base_color_texture else {
            return material.base_color;
        };
        let mean = self
            .means
            .entry(texture.sha256.clone())
            .or_insert_with(|| mesh::mean_color(texture));
        // A texture with transparent parts is drawn as opaque: its mean colour is that of the
        // visible part.
        mean.map_or(material.base_color, |[red, green, blue, _]| {
            [red, green, blue, material.base_color[3]]
        })
    }
}

/// A corner of a solid: point and unit normal.
type Corner = (Vector3<f64>, Vector3<f64>);

/// Returns the triangles of a solid; none for a mesh.
fn solid_triangles(solid: &Geometry) -> Vec<[Corner; 3]> {
    match *solid {
        Geometry::Box { size } => cuboid(&(size / 2.0)),
        Geometry::Cylinder { radius, length } => {
            let half = length / 2.0;
            let ring = |radius, height, normal| Ring {
                radius,
                height,
                normal,
            };
            revolve(&[
                [
                    ring(0.0, -half, [0.0, -1.0]),
                    ring(radius, -half, [0.0, -1.0]),
                ],
                [
                    ring(radius, -half, [1.0, 0.0]),
                    ring(radius, half, [1.0, 0.0]),
                ],
                [ring(radius, half, [0.0, 1.0]), ring(0.0, half, [0.0, 1.0])],
            ])
        }
        Geometry::Sphere { radius } => ball(radius, 0.0),
        Geometry::Capsule { radius, length } => ball(radius, length / 2.0),
        Geometry::Mesh { .. } | Geometry::Missing { .. } => Vec::new(),
    }
}

fn cuboid(half: &Vector3<f64>) -> Vec<[Corner; 3]> {
    let mut triangles = Vec::with_capacity(12);
    for axis in 0..3 {
        for end in [-1.0, 1.0] {
            let mut out = Vector3::zeros();
            out[axis] = end;
            let (right, up) = (
                Vector3::from_fn(|k, _| f64::from(k == (axis + 1) % 3)),
                (axis + 2) % 3,
            );
            let up = Vector3::from_fn(|k, _| f64::from(k == up));
            let at = |u: f64, v: f64| ((out + right * u + up * v).component_mul(half), out);
            triangles.push([at(-1.0, -1.0), at(1.0, -1.0), at(1.0, 1.0)]);
            triangles.push([at(-1.0, -1.0), at(1.0, 1.0), at(-1.0, 1.0)]);
        }
    }
    triangles
}

/// A circle about z, with the outward and upward parts of the surface normal there.
#[derive(Clone, Copy)]
struct Ring {
    radius: f64,
    height: f64,
    normal: [f64; 2],
}

/// Returns a sphere that is split at its equator and moved apart by `half` to either side: a
/// capsule.
fn ball(radius: f64, half: f64) -> Vec<[Corner; 3]> {
    const STEPS: usize = SIDES / 4;
    let ring = |step: usize, end: f64| {
        let (sin, cos) = (step as f64 / STEPS as f64 * FRAC_PI_2).sin_cos();
        Ring {
            radius: radius * cos,
            height: end * (radius * sin + half),
            normal: [cos, end * sin],
        }
    };
    let mut walls = vec![[ring(0, -1.0), ring(0, 1.0)]];
    for end in [-1.0, 1.0] {
        walls.extend((0..STEPS).map(|step| [ring(step, end), ring(step + 1, end)]));
    }
    revolve(&walls)
}

/// Returns the surfaces of revolution about z between pairs of circles.
fn revolve(walls: &[[Ring; 2]]) -> Vec<[Corner; 3]> {
    let mut triangles = Vec::with_capacity(2 * SIDES * walls.len());
    for [low, high] in walls {
        for side in 0..SIDES {
            let at = |ring: &Ring, side: usize| {
                let (sin, cos) = (side as f64 / SIDES as f64 * TAU).sin_cos();
                let around =
                    |radius: f64, height: f64| Vector3::new(cos * radius, sin * radius, height);
                (
                    around(ring.radius, ring.height),
                    around(ring.normal[0], ring.normal[1]),
                )
            };
            triangles.push([at(low, side), at(low, side + 1), at(high, side + 1)]);
            triangles.push([at(low, side), at(high, side + 1), at(high, side)]);
        }
    }
    triangles
}

/// The samples of a picture being drawn.
struct Canvas {
    side: usize,
    /// Samples per metre.
    scale: f64,
    /// The point in the middle of the picture.
    centre: Vector3<f64>,
    depths: Vec<f32>,
    colors: Vec<[f32; 3]>,
}

impl Canvas {
    /// Returns an empty picture of `side` samples a side, scaled to fit `bounds`.
    fn new(side: usize, bounds: &Bounds) -> Self {
        let size = bounds.high - bounds.low;
        let scale = FILLED * side as f64 / size.x.max(size.y);
        let (scale, centre) = match scale.is_finite() && !bounds.is_empty() {
            true => (scale, (bounds.low + bounds.high) / 2.0),
            false => (1.0, Vector3::zeros()),
        };
        Self {
            side,
            scale,
            centre,
            depths: vec![f32::NEG_INFINITY; side * side],
            colors: vec![BACKGROUND; side * side],
        }
    }

    /// Draws a triangle with a depth test.
    fn draw(&mut self, triangle: &Triangle) {
        let middle = self.side as f64 / 2.0;
        let [a, b, c] = triangle.points.map(|p| {
            let p = (p - self.centre) * self.scale;
            Vector3::new(middle + p.x, middle - p.y, p.z)
        });
        // Rasterization by edge functions (Pineda 1988): divided by the area they are barycentric
        // coordinates, and a sample is inside if none is negative.
        let cross = |p: &Vector3<f64>, q: &Vector3<f64>, x: f64, y: f64| {
            (q.x - p.x) * (y - p.y) - (q.y - p.y) * (x - p.x)
        };
        let area = cross(&a, &b, c.x, c.y);
        if !area.is_normal() {
            return;
        }
        // Samples are at the centres of their cells.
        let range = |low: f64, high: f64| {
            (low - 0.5).max(0.0).ceil() as usize..((high + 0.5).max(0.0) as usize).min(self.side)
        };
        let (columns, rows) = (
            range(a.x.min(b.x).min(c.x), a.x.max(b.x).max(c.x)),
            range(a.y.min(b.y).min(c.y), a.y.max(b.y).max(c.y)),
        );
        for row in rows {
            for column in columns.clone() {
                let (x, y) = (column as f64 + 0.5, row as f64 + 0.5);
                let weights = [
                    cross(&b, &c, x, y) / area,
                    cross(&c, &a, x, y) / area,
                    cross(&a, &b, x, y) / area,
                ];
                if weights.iter().any(|&weight| weight < 0.0) {
                    continue;
                }
                let depth = (weights[0] * a.z + weights[1] * b.z + weights[2] * c.z) as f32;
                let sample = row * self.side + column;
                if depth > self.depths[sample] {
                    self.shade(sample, depth, triangle, &weights);
                }
            }
        }
    }

    fn shade(&mut self, sample: usize, depth: f32, triangle: &Triangle, weights: &[f64; 3]) {
        let normal: Vector3<f64> = triangle
            .normals
            .iter()
            .zip(weights)
            .map(|(normal, &weight)| normal * weight)
            .sum();
        // Surfaces are lit on both sides, because many meshes have some triangles with reversed
        // winding.
        let normal = normal.try_normalize(1e-9).unwrap_or_else(Vector3::z);
        let normal = if normal.z < 0.0 { -normal } else { normal };
        let light = Vector3::new(-0.45, 0.65, 0.62).normalize();
        // Hemispheric ambient light, and diffuse light from the upper left (Lambert).
        let sky = 0.5 + 0.5 * normal.y;
        let bright = (0.22 + 0.28 * sky + 0.7 * normal.dot(&light).max(0.0)) as f32;
        // The specular reflection does not have the surface's colour: it is the only visible part
        // of a black one (Blinn–Phong).
        let halfway = (light + Vector3::z()).normalize();
        let mirrored = (0.04 * sky + 0.12 * normal.dot(&halfway).max(0.0).powi(16)) as f32;
        let [red, green, blue, opacity] = triangle.color(weights);
        let opacity = opacity.clamp(0.0, 1.0);
        for (behind, color) in self.colors[sample].iter_mut().zip([red, green, blue]) {
            *behind += (color * bright + mirrored - *behind) * opacity;
        }
        if !triangle.is_translucent() {
            self.depths[sample] = depth;
        }
    }

    /// Returns the picture with `side` pixels a side.
    fn pixels(&self, side: usize) -> Vec<[u8; 3]> {
        let each = self.side.checked_div(side).unwrap_or(0);
        let pixel = |index: usize| {
            let (row, column) = (index / side * each, index % side * each);
            let samples = (0..each * each)
                .map(|k| self.colors[(row + k / each) * self.side + column + k % each]);
            let mut sum = [0.0; 3];
            for sample in samples {
                sum.iter_mut().zip(sample).for_each(|(sum, x)| *sum += x);
            }
            sum.map(|sum| encode_srgb(sum / (each * each) as f32))
        };
        (0..side * side).map(pixel).collect()
    }
}

/// Encodes a linear value as a byte of sRGB (IEC 61966-2-1).
fn encode_srgb(linear: f32) -> u8 {
    let linear = linear.clamp(0.0, 1.0);
    let value = if linear <= 0.003_130_8 {
        12.92 * linear
    } else {
        1.055 * linear.powf(1.0 / 2.4) - 0.055
    };
    (value * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use urdf_usd_diagnostic::Place;
    use urdf_usd_robot::{Corners, MeshArrays, MeshSource, Part};

    const SIDE: usize = 64;

    fn robot(body: &str) -> Robot {
        urdf_usd_urdf::read(&format!("<robot name='r'>{body}</robot>"), None)
            .robot
            .expect("a robot")
    }

    fn visual(geometry: &str, xyz: &str, rgba: &str) -> String {
        format!(
            "<visual><origin xyz='{xyz}'/><geometry>{geometry}</geometry><material name='{rgba}'><color rgba='{rgba}'/></material></visual>"
        )
    }

    fn link(visuals: &[String]) -> Robot {
        robot(&format!("<link name='a'>{}</link>", visuals.concat()))
    }

    fn background() -> [u8; 3] {
        BACKGROUND.map(encode_srgb)
    }

    /// Returns the share of the picture that a robot covers.
    fn covered(robot: &Robot) -> f64 {
        let pixels = draw(robot, SIDE).unwrap();
        pixels
            .iter()
            .filter(|&&pixel| pixel != background())
            .count() as f64
            / pixels.len() as f64
    }

    #[test]
    fn a_box_covers_what_it_should() {
        let robot = link(&[visual("<box size='1 2 3'/>", "5 -7 2", "1 0 0 1")]);
        let pixels = draw(&robot, SIDE).unwrap();
        let at = |x: usize, y: usize| pixels[y * SIDE + x];
        for (x, y) in [(0, 0), (SIDE - 1, 0), (0, SIDE - 1), (SIDE - 1, SIDE - 1)] {
            assert_eq!(at(x, y), background());
        }
        let [red, green, blue] = at(SIDE / 2, SIDE / 2);
        assert!(
            red > 100 && green < red / 2 && green == blue,
            "{red} {green} {blue}"
        );
        // The area of the outline is the sum over the three visible faces; its height and width
        // come from the projected edges.
        let camera = camera();
        let size = Vector3::new(1.0, 2.0, 3.0);
        let extent = |row: usize| {
            (0..3)
                .map(|k| camera[(row, k)].abs() * size[k])
                .sum::<f64>()
        };
        let area: f64 = (0..3).map(|k| camera[(2, k)].abs() * 6.0 / size[k]).sum();
        let scale = FILLED / extent(0).max(extent(1));
        let expected = area * scale * scale;
        // Pixels that the outline only touches count fully: at most a ring of them.
        let found = covered(&robot);
        assert!(
            found >= expected && found < expected + 2.5 / SIDE as f64,
            "{found} for {expected}"
        );
        assert!((extents(&robot).unwrap() - size).norm() < 1e-9);
    }

    #[test]
    fn round_solids_are_round() {
        // A sphere fills the circle in its square.
        let expected = std::f64::consts::PI / 4.0 * FILLED * FILLED;
        let found = covered(&link(&[visual(
            "<sphere radius='0.3'/>",
            "0 0 0",
            "0 1 0 1",
        )]));
        assert!(
            (found - expected).abs() < 2.5 / SIDE as f64,
            "{found} for {expected}"
        );
        let cylinder = link(&[visual(
            "<cylinder radius='0.25' length='2'/>",
            "0 0 0",
            "0 1 0 1",
        )]);
        assert!((extents(&cylinder).unwrap() - Vector3::new(0.5, 0.5, 2.0)).norm() < 1e-9);
        let capsule = link(&[visual(
            "<capsule radius='0.25' length='2'/>",
            "0 0 0",
            "0 1 0 1",
        )]);
        assert!((extents(&capsule).unwrap() - Vector3::new(0.5, 0.5, 2.5)).norm() < 1e-9);
    }

    #[test]
    fn nearer_surfaces_hide_farther_ones_unless_translucent() {
        let cube = "<box size='1 1 1'/>";
        let pixel = |near: &str| {
            let visuals = [
                visual(cube, "8 5.5 4.2", near),
                visual(cube, "0 0 0", "0 0 1 1"),
            ];
            let pixels = [
                link(&visuals),
                link(&[visuals[1].clone(), visuals[0].clone()]),
            ]
            .map(|robot| draw(&robot, SIDE).unwrap());
            assert!(
                pixels[0] == pixels[1],
                "the order of shapes does not matter"
            );
            pixels[0][SIDE / 2 * SIDE + SIDE / 2]
        };
        let ([red, _, blue], [through_red, green, through_blue]) =
            (pixel("1 0 0 1"), pixel("1 0 0 0.5"));
        assert!(red > 100 && blue < red / 2, "{red} {blue}");
        assert!(
            through_red > 2 * green && through_blue > 2 * green,
            "{through_red} {green} {through_blue}"
        );
    }

    #[test]
    fn links_are_placed_by_their_joints() {
        let geometry = "<visual><geometry><box size='1 1 1'/></geometry></visual>";
        let robot = robot(&format!(
            "<link name='a'>{geometry}</link><link name='b'>{geometry}</link>
             <joint name='j' type='continuous'><parent link='a'/><child link='b'/><origin xyz='0 0 4'/></joint>"
        ));
        assert!((extents(&robot).unwrap() - Vector3::new(1.0, 1.0, 5.0)).norm() < 1e-9);
    }

    #[test]
    fn vertex_colours_apply_without_any_other_colour() {
        // A square that faces the camera: red to its left, blue to its right.
        let [right, up] =
            [camera().row(0).transpose(), camera().row(1).transpose()].map(|v| v.map(|x| x as f32));
        let square = |opacity| MeshArrays {
            points: [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
                .map(|(u, v)| (right * u + up * v).into())
                .to_vec(),
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            normals: Corners {
                values: vec![camera().row(2).transpose().map(|x| x as f32).into()],
                indices: vec![[0; 3]; 2],
            },
            uvs: None,
            colors: Some(Corners {
                values: vec![[1.0, 0.0, 0.0, opacity], [0.0, 0.0, 1.0, opacity]],
                indices: vec![[0, 1, 1], [0, 1, 0]],
            }),
        };
        let square = |opacity| {
            Mesh::new(
                square(opacity),
                vec![Part {
                    triangles: 0..2,
                    material: None,
                }],
                Vec::new(),
            )
        };
        let pixels = |material: &str, opacity| {
            let mut robot = link(&[format!(
                "<visual><geometry><sphere radius='1'/></geometry>{material}</visual>"
            )]);
            let mesh = robot.add_mesh(MeshSource::new(
                "square.stl",
                Place::default(),
                std::sync::Arc::new(square(opacity).into()),
            ));
            let link = robot.links().handle(0).unwrap();
            let mut visuals = robot.links()[link].visuals.clone();
            visuals[0].geometry = Geometry::Mesh {
                mesh,
                scale: Vector3::repeat(1.0),
            };
            robot.set_visuals(link, visuals).unwrap();
            let pixels = draw(&robot, SIDE).unwrap();
            [SIDE / 8, SIDE / 2, SIDE - 1 - SIDE / 8].map(|x| pixels[SIDE / 2 * SIDE + x])
        };
        let [left, middle, right] = pixels("", 1.0);
        assert!(
            left[0] > 2 * left[2] && right[2] > 2 * right[0],
            "{left:?} {right:?}"
        );
        assert!(
            middle[0].abs_diff(middle[2]) < 10 && middle[0] > 2 * middle[1],
            "{middle:?}"
        );
        let [left, _, right] = pixels("<material name='g'><color rgba='0 1 0 1'/></material>", 1.0);
        assert!(left == right && left[1] > 2 * left[0], "{left:?} {right:?}");
        assert!(
            pixels("", 0.0)
                .into_iter()
                .all(|pixel| pixel == background())
        );
    }

    #[test]
    fn the_work_is_bounded() {
        assert_eq!(
            (
                thinning(0.0),
                thinning(MAX_TESTED_SAMPLES),
                thinning(2.5 * MAX_TESTED_SAMPLES)
            ),
            (1, 1, 3)
        );
        assert_eq!(
            (thinning(f64::INFINITY), thinning(f64::NAN)),
            (usize::MAX, 1)
        );
    }

    #[test]
    fn a_robot_without_geometry_is_rendered() {
        let collider = "<link name='a'><collision><geometry><sphere radius='1'/></geometry></collision></link>";
        assert!(covered(&robot(collider)) > 0.5);
        let empty = robot("<link name='a'/>");
        assert_eq!(
            (covered(&empty), extents(&empty).unwrap()),
            (0.0, Vector3::zeros())
        );
        for size in ["1e300 1e300 1e300", "1e-300 1e-300 1e-300", "1 0 0"] {
            let robot = link(&[visual(&format!("<box size='{size}'/>"), "0 0 0", "1 0 0 1")]);
            assert_eq!(draw(&robot, 8).unwrap().len(), 64, "{size}");
        }
        let bytes = png(&empty, 256).unwrap().expect("a PNG");
        let image = image::load_from_memory(&bytes).expect("readable");
        assert_eq!((image.width(), image.height()), (256, 256));
        assert_eq!(png(&empty, 256), Ok(Some(bytes)));
    }
}
