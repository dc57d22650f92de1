//! Triangles as a graphics card draws them: one set of indexed vertices with one material, in glTF axes.

use std::collections::HashMap;

use super::axes;
use crate::robot::{Mesh, Part};

/// What a normal is where the source's has no direction.
const SOME_DIRECTION: [f32; 3] = [0.0, 0.0, 1.0];

/// Indexed vertices; all attribute lists are equally long.
#[derive(Debug, Default, PartialEq)]
pub struct Surface {
    pub positions: Vec<[f32; 3]>,
    pub normals: Vec<[f32; 3]>,
    /// (0, 0) at the upper left of the image, as glTF has it.
    pub uvs: Option<Vec<[f32; 2]>>,
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

/// Makes a [`Surface`] from corners: equal ones become one vertex, numbered as they first appear.
pub struct Builder {
    surface: Surface,
    known: HashMap<[u32; 8], u32>,
}

impl Builder {
    /// An empty one, with room for `triangles`; `with_uvs` says whether texture coordinates are wanted.
    pub fn new(triangles: usize, with_uvs: bool) -> Self {
        let uvs = with_uvs.then(Vec::new);
        let indices = Vec::with_capacity(triangles * 3);
        Self { surface: Surface { uvs, indices, ..Surface::default() }, known: HashMap::with_capacity(triangles) }
    }

    /// Adds a triangle, counter-clockwise seen from outside. One with equal vertices or a number that is none draws nothing and
    /// is left out.
    pub fn triangle(&mut self, corners: [Corner; 3]) {
        let [a, b, c] = corners.map(|corner| corner.position.map(|x| x + 0.0));
        if a == b || b == c || c == a || [a, b, c].as_flattened().iter().any(|x| !x.is_finite()) {
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
        let uv = if self.surface.uvs.is_some() { image_position(corner.uv) } else { [0.0; 2] };
        let mut key = [0; 8];
        for (slot, value) in key.iter_mut().zip(position.iter().chain(&normal).chain(&uv)) {
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

/// One part of a mesh; `None` if nothing of it can be drawn. `with_uvs` counts only where the mesh has any.
pub fn of_part(mesh: &Mesh, part: &Part, with_uvs: bool) -> Option<Surface> {
    let uvs = mesh.uvs.as_ref().filter(|_| with_uvs);
    let mut builder = Builder::new(part.triangles.len(), uvs.is_some());
    for triangle in part.triangles.clone() {
        let Some(points) = mesh.triangles.get(triangle) else { break };
        let normals = mesh.normals.indices.get(triangle);
        let uv_indices = uvs.and_then(|uvs| uvs.indices.get(triangle));
        let corner = |k: usize| {
            Some(Corner {
                position: *mesh.points.get(points[k] as usize)?,
                normal: normals.and_then(|n| mesh.normals.values.get(n[k] as usize)).copied().unwrap_or_default(),
                uv: uv_indices.zip(uvs).and_then(|(i, uvs)| uvs.values.get(i[k] as usize)).copied().unwrap_or_default(),
            })
        };
        if let (Some(a), Some(b), Some(c)) = (corner(0), corner(1), corner(2)) {
            builder.triangle([a, b, c]);
        }
    }
    builder.finish()
}

/// `v` with length one.
fn unit(v: [f32; 3]) -> [f32; 3] {
    let wide = v.map(f64::from);
    let length = wide.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 1e-12 && length.is_finite() { wide.map(|x| (x / length) as f32) } else { SOME_DIRECTION }
}

/// glTF counts v from the top.
fn image_position([u, v]: [f32; 2]) -> [f32; 2] {
    [u, 1.0 - v].map(|x| if x.is_finite() { x + 0.0 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner(position: [f32; 3], uv: [f32; 2]) -> Corner {
        Corner { position, normal: [0.0, 0.0, 2.0], uv }
    }

    #[test]
    fn equal_corners_are_one_vertex_and_degenerate_triangles_vanish() {
        let (a, b, c) = ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
        let d = [1.0, 1.0, f32::NAN];
        let mut plain = Builder::new(3, false);
        let mut mapped = Builder::new(3, true);
        for builder in [&mut plain, &mut mapped] {
            builder.triangle([corner(a, [0.0, 0.0]), corner(b, [0.25, 0.0]), corner(c, [0.0, 1.0])]);
            builder.triangle([corner(a, [0.5, 0.5]), corner(c, [0.0, 1.0]), corner(b, [0.25, 0.0])]);
            builder.triangle([corner(a, [0.0, 0.0]), corner(a, [1.0, 0.0]), corner(b, [0.0, 0.0])]);
            builder.triangle([corner(a, [0.0, 0.0]), corner(d, [1.0, 0.0]), corner(b, [0.0, 0.0])]);
        }
        let (plain, mapped) = (plain.finish().unwrap(), mapped.finish().unwrap());
        assert_eq!(plain.indices, [0, 1, 2, 0, 2, 1]);
        assert_eq!(mapped.indices, [0, 1, 2, 3, 2, 1]);
        assert_eq!(plain.positions[1], [0.0, 0.0, 1.0], "ROS x is glTF z");
        assert_eq!(plain.normals[0], [0.0, 1.0, 0.0], "ROS z is glTF y, and normals have length one");
        assert_eq!(mapped.uvs.unwrap()[1], [0.25, 1.0], "counted from the top");
    }

    #[test]
    fn nothing_to_draw_is_none() {
        assert_eq!(Builder::new(0, true).finish(), None);
    }
}
