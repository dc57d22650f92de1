//! Triangles as a graphics card draws them: one set of indexed vertices with one material, in glTF
//! axes.

#![allow(
    clippy::indexing_slicing,
    reason = "a triangle has corners 0 to 2, and every list has an entry for each triangle"
)]

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::numbers::sixteen_bits;
use urdf_usd_gltf_extension::axes;
use urdf_usd_robot::{MeshArrays, Part};

/// What a normal is where the source's has no direction.
const SOME_DIRECTION: [f32; 3] = [0.0, 0.0, 1.0];

/// Indexed vertices; all attribute lists are equally long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    pub positions: Vec<[f32; 3]>,
    pub normals: Vec<[f32; 3]>,
    /// (0, 0) at the upper left of the image, as glTF has it.
    pub uvs: Option<Vec<[f32; 2]>>,
    /// See [`super::tangents`], which adds them to a surface that is otherwise done.
    pub tangents: Option<Vec<[f32; 4]>>,
    /// Linear red, green, blue and opacity, 65535 being one: half the bytes of floats, and unlike
    /// with eight bits every colour of eight bits of sRGB stays one of its own.
    pub colors: Option<Vec<[u16; 4]>>,
    /// Three per triangle.
    pub indices: Vec<u32>,
}

/// A corner of a triangle, in ROS axes and with (0, 0) at the lower left of the image.
#[derive(Clone, Copy, Debug)]
pub struct Corner {
    pub position: [f32; 3],
    pub normal: [f32; 3],
    pub uv: [f32; 2],
}

/// Which attributes a surface has beside those that all have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub uvs: bool,
    /// Only with texture coordinates.
    pub tangents: bool,
    pub colors: bool,
}

/// Makes a [`Surface`] from corners: equal ones become one vertex, numbered as they first appear.
pub struct Builder {
    surface: Surface,
    known: HashMap<[u32; 8], u32>,
}

impl Builder {
    /// An empty one, with room for `triangles`; `with_uvs` says whether texture coordinates are
    /// wanted.
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

    /// Adds a triangle, counter-clockwise seen from outside. One with equal vertices or a number
    /// that is none draws nothing and is left out.
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

    /// The surface; `None` if nothing of it can be drawn.
    pub fn finish(self) -> Option<Surface> {
        (!self.surface.indices.is_empty()).then_some(self.surface)
    }
}

/// One part of a mesh, without tangents; `None` if nothing of it can be drawn. What is `wanted`
/// counts only where the mesh has it.
///
/// Corners that share their point, normal and so on are one vertex, numbered as they first appear.
/// `vertices` are those of the mesh, for all of its parts in turn.
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

/// The vertices of one part of a mesh by their points and what else they have, numbered as they
/// first appear.
pub struct Vertices {
    /// Of each point its vertex that came last; [`NONE`] if it has none. Empty as long as no part
    /// has a large share of the points.
    last: Vec<u32>,
    /// Of each vertex the one of its point that came before, and what it has beside the point.
    vertices: Vec<(u32, [u32; 3])>,
    /// Those of points that have more than [`Self::FEW`]: to go through all of them would take time
    /// with the square of their number. And those of points that are not in `last`.
    many: HashMap<(u32, [u32; 3]), u32, FixedState>,
}

impl Vertices {
    const FEW: usize = 16;

    /// None yet.
    pub fn new() -> Self {
        Self {
            last: Vec::new(),
            vertices: Vec::new(),
            many: HashMap::default(),
        }
    }

    /// Makes ready for a part of so many triangles of a mesh of so many points.
    fn begin(&mut self, triangles: usize, points: usize) {
        /// A part with so many triangles for the points of the mesh has a large share of these.
        const SHARE: usize = 8;
        if triangles >= points / SHARE {
            self.last.resize(points, NONE);
        }
    }

    /// Leaves none, where there were those of these triangles: it takes no longer than these,
    /// however many points the mesh has.
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

    /// The number of the vertex at a point with these others.
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
        let number = *self.many.entry((point, others)).or_insert(new);
        if number == new {
            self.vertices.push((NONE, others));
        }
        number
    }
}

/// Whether a triangle draws nothing: some of its corners are equal, or no numbers.
fn is_nothing(corners: [[f32; 3]; 3]) -> bool {
    let [a, b, c] = corners;
    a == b || b == c || c == a || corners.as_flattened().iter().any(|x| !x.is_finite())
}

/// `v` with length one.
fn unit(v: [f32; 3]) -> [f32; 3] {
    let wide = v.map(f64::from);
    let length = wide.iter().map(|x| x * x).sum::<f64>().sqrt();
    // To divide it by its length would only round it again.
    if (length - 1.0).abs() < 1e-7 {
        return v;
    }
    if length > 1e-12 && length.is_finite() {
        wide.map(|x| (x / length) as f32)
    } else {
        SOME_DIRECTION
    }
}

/// glTF counts v from the top.
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

    /// As many triangles as the corners say, each of A, B and C.
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
        // Every value of eight bits of sRGB is a value of its own.
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
