//! Triangles for graphics cards: indexed vertices with one material, in glTF axes.

#![allow(
    clippy::indexing_slicing,
    reason = "a triangle has corners 0 to 2, and every list has an entry for each triangle"
)]

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::numbers::sixteen_bits;
use urdf_usd_gltf_extension::axes;
use urdf_usd_robot::{MeshArrays, Part};

/// Substitute for a normal without direction.
const SOME_DIRECTION: [f32; 3] = [0.0, 0.0, 1.0];

/// An indexed triangle mesh; all attribute lists have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    pub positions: Vec<[f32; 3]>,
    pub normals: Vec<[f32; 3]>,
    /// Texture coordinates; (0, 0) is the upper left of the image, as glTF defines.
    pub uvs: Option<Vec<[f32; 2]>>,
    /// Tangents, which [`super::tangents`] adds to a finished surface.
    pub tangents: Option<Vec<[f32; 4]>>,
    /// Linear red, green, blue and opacity; 65535 is 1. This takes half the bytes of floats, and
    /// unlike linear 8 bits it keeps all 8-bit sRGB colours distinct.
    pub colors: Option<Vec<[u16; 4]>>,
    /// Three vertex indices per triangle.
    pub indices: Vec<u32>,
}

/// A corner of a triangle, in ROS axes. (0, 0) of its texture coordinates is the lower left.
#[derive(Clone, Copy, Debug)]
pub struct Corner {
    pub position: [f32; 3],
    pub normal: [f32; 3],
    pub uv: [f32; 2],
}

/// Optional attributes of a surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub uvs: bool,
    /// Used with texture coordinates only.
    pub tangents: bool,
    pub colors: bool,
}

/// Builds a [`Surface`] from corners. Equal corners are welded; vertices are numbered in order of
/// first use.
pub struct Builder {
    surface: Surface,
    known: HashMap<[u32; 8], u32>,
}

impl Builder {
    /// Creates an empty builder with capacity for `triangles`, with or without texture coordinates.
    pub fn new(triangles: usize, with_uvs: bool) -> Self {
        let uvs = with_uvs.then(Vec::new);
        let indices = Vec::with_capacity(triangles * 3);
        Self {
            surface: Surface {
                uvs,
                indices,
                ..Surface::default()
            },
            known: HashMap::with_capacity(triangles),
        }
    }

    /// Adds a triangle, counter-clockwise seen from outside. Degenerate triangles, with equal
    /// positions or numbers that are not finite, are skipped.
    pub fn triangle(&mut self, corners: [Corner; 3]) {
        if is_nothing(corners.map(|corner| corner.position)) {
            return;
        }
        for corner in corners {
            let index = self.vertex(corner);
            self.surface.indices.push(index);
        }
    }

    fn vertex(&mut self, corner: Corner) -> u32 {
        let position = axes::vertex(corner.position);
        let normal = unit(axes::vertex(corner.normal));
        let uv = if self.surface.uvs.is_some() {
            image_position(corner.uv)
        } else {
            [0.0; 2]
        };
        let mut key = [0; 8];
        for (slot, value) in key
            .iter_mut()
            .zip(position.iter().chain(&normal).chain(&uv))
        {
            *slot = value.to_bits();
        }
        let surface = &mut self.surface;
        *self.known.entry(key).or_insert_with(|| {
            surface.positions.push(position);
            surface.normals.push(normal);
            if let Some(uvs) = &mut surface.uvs {
                uvs.push(uv);
            }
            (surface.positions.len() - 1) as u32
        })
    }

    /// Returns the surface; `None` if it is empty.
    pub fn finish(self) -> Option<Surface> {
        (!self.surface.indices.is_empty()).then_some(self.surface)
    }
}

/// Builds the surface of one part of a mesh, without tangents; `None` if nothing of it can be
/// drawn. Attributes in `wanted` are included if the mesh has them.
///
/// Corners with equal indices are welded; vertices are numbered in order of first use. `vertices`
/// is scratch space that all parts of the mesh share.
pub fn of_part(
    mesh: &MeshArrays,
    part: &Part,
    wanted: Wanted,
    vertices: &mut Vertices,
) -> Option<Surface> {
    let uvs = mesh.uvs.as_ref().filter(|_| wanted.uvs);
    let colors = mesh.colors.as_ref().filter(|_| wanted.colors);
    let mut surface = Surface {
        uvs: uvs.map(|_| Vec::new()),
        colors: colors.map(|_| Vec::new()),
        indices: Vec::with_capacity(part.triangles.len() * 3),
        ..Surface::default()
    };
    vertices.begin(part.triangles.len(), mesh.points.len());
    for triangle in part.triangles.clone() {
        let Some(points) = mesh.triangles.get(triangle) else {
            break;
        };
        let positions = points.map(|point| mesh.points.get(point as usize));
        let [Some(a), Some(b), Some(c)] = positions else {
            continue;
        };
        if is_nothing([*a, *b, *c]) {
            continue;
        }
        let normals = mesh
            .normals
            .indices
            .get(triangle)
            .copied()
            .unwrap_or([NONE; 3]);
        let uv_indices = uvs
            .and_then(|uvs| uvs.indices.get(triangle))
            .copied()
            .unwrap_or([NONE; 3]);
        let color_indices = colors
            .and_then(|colors| colors.indices.get(triangle))
            .copied()
            .unwrap_or([NONE; 3]);
        for (k, position) in [a, b, c].into_iter().enumerate() {
            let next = surface.positions.len() as u32;
            let index = vertices.of(points[k], [normals[k], uv_indices[k], color_indices[k]]);
            surface.indices.push(index);
            if index < next {
                continue;
            }
            let normal = mesh
                .normals
                .values
                .get(normals[k] as usize)
                .copied()
                .unwrap_or_default();
            surface.positions.push(axes::vertex(*position));
            surface.normals.push(unit(axes::vertex(normal)));
            if let Some((list, uvs)) = surface.uvs.as_mut().zip(uvs) {
                list.push(image_position(
                    uvs.values
                        .get(uv_indices[k] as usize)
                        .copied()
                        .unwrap_or_default(),
                ));
            }
            if let Some((list, colors)) = surface.colors.as_mut().zip(colors) {
                list.push(
                    colors
                        .values
                        .get(color_indices[k] as usize)
                        .copied()
                        .unwrap_or([1.0; 4])
                        .map(sixteen_bits),
                );
            }
        }
    }
    let end = part.triangles.end.min(mesh.triangles.len());
    vertices.clear(
        mesh.triangles
            .get(part.triangles.start..end)
            .unwrap_or_default(),
    );
    (!surface.indices.is_empty()).then_some(surface)
}

const NONE: u32 = u32::MAX;

/// Index of the vertices of one part of a mesh by the indices of their attributes. Vertices are
/// numbered in order of first use.
///
/// The vertices of a point form a linked list, because most points have very few.
pub struct Vertices {
    /// Last vertex of each point, the head of its list; [`NONE`] if it has none. Empty until a part
    /// uses a large share of the mesh's points.
    last: Vec<u32>,
    /// For each vertex, the previous vertex of its point and the indices of its other attributes.
    vertices: Vec<(u32, [u32; 3])>,
    /// Vertices beyond the first [`Self::FEW`] of a point, because searching a long list would take
    /// quadratic time, and vertices of points that `last` does not cover.
    many: HashMap<(u32, [u32; 3]), u32, FixedState>,
}

impl Vertices {
    const FEW: usize = 16;

    /// Creates an empty index.
    pub fn new() -> Self {
        Self {
            last: Vec::new(),
            vertices: Vec::new(),
            many: HashMap::default(),
        }
    }

    /// Prepares for a part of `triangles` triangles, of a mesh with `points` points.
    fn begin(&mut self, triangles: usize, points: usize) {
        /// Minimum share of a mesh's points, as a divisor, from which a part uses `last`.
        const SHARE: usize = 8;
        if triangles >= points / SHARE {
            self.last.resize(points, NONE);
        }
    }

    /// Removes all vertices, which were those of `triangles`. Takes time in proportion to the part,
    /// not to the mesh.
    fn clear(&mut self, triangles: &[[u32; 3]]) {
        for &point in triangles.as_flattened() {
            self.last
                .get_mut(point as usize)
                .into_iter()
                .for_each(|last| *last = NONE);
        }
        self.vertices.clear();
        self.many.clear();
    }

    /// Returns the number of the vertex at `point` with the attributes `others`, and adds it if it
    /// is absent.
    fn of(&mut self, point: u32, others: [u32; 3]) -> u32 {
        let new = self.vertices.len() as u32;
        if let Some(last) = self.last.get_mut(point as usize) {
            let mut at = *last;
            for _ in 0..Self::FEW {
                let Some(&(before, known)) = self.vertices.get(at as usize) else {
                    self.vertices.push((std::mem::replace(last, new), others));
                    return new;
                };
                if known == others {
                    return at;
                }
                at = before;
            }
        }
        // The list of the point is full, or `last` does not cover the point.
        let number = *self.many.entry((point, others)).or_insert(new);
        if number == new {
            self.vertices.push((NONE, others));
        }
        number
    }
}

/// Returns whether a triangle is degenerate: it has equal corners, or numbers that are not finite.
fn is_nothing(corners: [[f32; 3]; 3]) -> bool {
    let [a, b, c] = corners;
    a == b || b == c || c == a || corners.as_flattened().iter().any(|x| !x.is_finite())
}

/// Returns `v` with unit length.
fn unit(v: [f32; 3]) -> [f32; 3] {
    let wide = v.map(f64::from);
    let length = wide.iter().map(|x| x * x).sum::<f64>().sqrt();
    // Dividing a unit vector by its length would only round it again.
    if (length - 1.0).abs() < 1e-7 {
        return v;
    }
    if length > 1e-12 && length.is_finite() {
        wide.map(|x| (x / length) as f32)
    } else {
        SOME_DIRECTION
    }
}

/// Flips v: glTF counts it from the top.
fn image_position([u, v]: [f32; 2]) -> [f32; 2] {
    [u, 1.0 - v].map(|x| if x.is_finite() { x + 0.0 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use urdf_usd_robot::{Corners, Mesh};

    fn corner(position: [f32; 3], uv: [f32; 2]) -> Corner {
        Corner {
            position,
            normal: [0.0, 0.0, 2.0],
            uv,
        }
    }

    const A: [f32; 3] = [0.0, 0.0, 0.0];
    const B: [f32; 3] = [1.0, 0.0, 0.0];
    const C: [f32; 3] = [0.0, 1.0, 0.0];
    const NOWHERE: [f32; 3] = [1.0, 1.0, f32::NAN];

    #[test]
    fn equal_corners_are_one_vertex_and_degenerate_triangles_vanish() {
        let mut plain = Builder::new(3, false);
        let mut mapped = Builder::new(3, true);
        for builder in [&mut plain, &mut mapped] {
            builder.triangle([
                corner(A, [0.0, 0.0]),
                corner(B, [0.25, 0.0]),
                corner(C, [0.0, 1.0]),
            ]);
            builder.triangle([
                corner(A, [0.5, 0.5]),
                corner(C, [0.0, 1.0]),
                corner(B, [0.25, 0.0]),
            ]);
            builder.triangle([
                corner(A, [0.0, 0.0]),
                corner(A, [1.0, 0.0]),
                corner(B, [0.0, 0.0]),
            ]);
            builder.triangle([
                corner(A, [0.0, 0.0]),
                corner(NOWHERE, [1.0, 0.0]),
                corner(B, [0.0, 0.0]),
            ]);
        }
        let (plain, mapped) = (plain.finish().unwrap(), mapped.finish().unwrap());
        assert_eq!(plain.indices, [0, 1, 2, 0, 2, 1]);
        assert_eq!(mapped.indices, [0, 1, 2, 3, 2, 1]);
        assert_eq!(plain.positions[1], [0.0, 0.0, 1.0], "ROS x is glTF z");
        assert_eq!(
            plain.normals[0],
            [0.0, 1.0, 0.0],
            "ROS z is glTF y, and normals have length one"
        );
        assert_eq!(mapped.uvs.unwrap()[1], [0.25, 1.0], "counted from the top");
    }

    /// Builds as many triangles from A, B and C as there are corners.
    fn mesh(uvs: Option<Corners<[f32; 2]>>, colors: Option<Corners<[f32; 4]>>) -> (Mesh, Part) {
        let triangles = vec![[0, 1, 2]; 3]
            .into_iter()
            .chain([[0, 1, 3], [0, 0, 1]])
            .collect::<Vec<_>>();
        let normals = Corners {
            values: vec![[0.0, 0.0, 2.0]],
            indices: vec![[0; 3]; triangles.len()],
        };
        let part = Part {
            triangles: 0..triangles.len(),
            material: None,
        };
        let (parts, points) = (vec![part.clone()], vec![A, B, C, NOWHERE]);
        (
            Mesh::new(
                MeshArrays {
                    points,
                    triangles,
                    normals,
                    uvs,
                    colors,
                },
                parts,
                Vec::new(),
            ),
            part,
        )
    }

    #[test]
    fn a_part_of_a_mesh_has_what_is_wanted_of_it() {
        let corners = |values: Vec<[f32; 2]>| Corners {
            values,
            indices: vec![[0, 1, 1], [1, 1, 1], [0, 1, 1], [0; 3], [0; 3]],
        };
        let (mesh, part) = mesh(Some(corners(vec![[0.5, 0.25], [1.0, 0.0]])), None);
        let mut vertices = Vertices::new();
        let surface = of_part(
            &mesh,
            &part,
            Wanted {
                uvs: true,
                colors: true,
                ..Wanted::default()
            },
            &mut vertices,
        )
        .unwrap();
        assert_eq!(surface.indices, [0, 1, 2, 3, 1, 2, 0, 1, 2]);
        assert_eq!(
            surface.positions,
            [[0.0; 3], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0; 3]]
        );
        assert_eq!(surface.normals, [[0.0, 1.0, 0.0]; 4]);
        assert_eq!(
            surface.uvs.unwrap(),
            [[0.5, 0.75], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
        );
        assert_eq!(surface.colors, None);
        let plain = of_part(&mesh, &part, Wanted::default(), &mut vertices).unwrap();
        assert_eq!(
            (plain.indices, plain.uvs),
            (vec![0, 1, 2, 0, 1, 2, 0, 1, 2], None)
        );
        assert_eq!(
            of_part(
                &mesh,
                &Part {
                    triangles: 3..5,
                    material: None
                },
                Wanted::default(),
                &mut vertices
            ),
            None
        );
    }

    #[test]
    fn corners_of_two_colours_are_two_vertices() {
        let values = vec![[0.0, 0.5, 1.0, 0.25], [f32::NAN, 2.0, -1.0, 1.0]];
        let (mesh, part) = mesh(
            None,
            Some(Corners {
                values,
                indices: vec![[0; 3], [1; 3], [0; 3], [0; 3], [0; 3]],
            }),
        );
        let mut vertices = Vertices::new();
        let surface = of_part(
            &mesh,
            &part,
            Wanted {
                uvs: true,
                colors: true,
                ..Wanted::default()
            },
            &mut vertices,
        )
        .unwrap();
        assert_eq!(surface.indices, [0, 1, 2, 3, 4, 5, 0, 1, 2]);
        let colors = surface.colors.unwrap();
        assert_eq!(
            (colors[0], colors[3]),
            ([0, 32768, 65535, 16384], [0, 65535, 0, 65535])
        );
        // All 256 values of 8-bit sRGB stay distinct.
        let values: Vec<u16> = (0..=255)
            .map(|i| sixteen_bits(urdf_usd_robot::Material::linear(f64::from(i) / 255.0) as f32))
            .collect();
        assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
    }

    #[test]
    fn many_vertices_at_a_point() {
        const COUNT: u32 = 100_000;
        for triangles in [COUNT as usize, 0] {
            let mut vertices = Vertices::new();
            vertices.begin(triangles, 20);
            assert_eq!(vertices.last.len(), if triangles > 0 { 20 } else { 0 });
            for _ in 0..2 {
                assert!((0..COUNT).all(|i| vertices.of(i % 2, [i / 2, 7, NONE]) == i));
            }
            assert_eq!(vertices.of(0, [0, 8, NONE]), COUNT);
            assert_eq!(vertices.vertices.len() as u32, COUNT + 1);
            vertices.clear(&[[0, 0, 1]]);
            assert_eq!(
                [0, 1, 1].map(|point| vertices.of(point, [3, 7, NONE])),
                [0, 1, 1]
            );
        }
    }

    #[test]
    fn nothing_to_draw_is_none() {
        assert_eq!(Builder::new(0, false).finish(), None);
    }
}
