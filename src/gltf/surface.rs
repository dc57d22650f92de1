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
    /// Linear red, green, blue and opacity, 65535 being one: half the bytes of floats, and unlike with eight bits every colour of
    /// eight bits of sRGB stays one of its own.
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
    /// Linear red, green, blue and opacity, each 0 to 1.
    pub color: [f32; 4],
}

/// Which attributes a surface has beside those that all have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub uvs: bool,
    pub colors: bool,
}

/// Makes a [`Surface`] from corners: equal ones become one vertex, numbered as they first appear.
pub struct Builder {
    surface: Surface,
    known: HashMap<[u32; 10], u32>,
}

impl Builder {
    /// An empty one, with room for `triangles`.
    pub fn new(triangles: usize, wanted: Wanted) -> Self {
        let uvs = wanted.uvs.then(Vec::new);
        let colors = wanted.colors.then(Vec::new);
        let indices = Vec::with_capacity(triangles * 3);
        Self { surface: Surface { uvs, colors, indices, ..Surface::default() }, known: HashMap::with_capacity(triangles) }
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
        let color = if self.surface.colors.is_some() { corner.color.map(sixteen_bits) } else { [0; 4] };
        let [red, green, blue, opacity] = color.map(u32::from);
        let bits = position.iter().chain(&normal).chain(&uv).map(|value| value.to_bits());
        let mut key = [0; 10];
        for (slot, bits) in key.iter_mut().zip(bits.chain([red << 16 | green, blue << 16 | opacity])) {
            *slot = bits;
        }
        let surface = &mut self.surface;
        *self.known.entry(key).or_insert_with(|| {
            surface.positions.push(position);
            surface.normals.push(normal);
            if let Some(uvs) = &mut surface.uvs {
                uvs.push(uv);
            }
            if let Some(colors) = &mut surface.colors {
                colors.push(color);
            }
            (surface.positions.len() - 1) as u32
        })
    }

    /// The surface; `None` if nothing of it can be drawn.
    pub fn finish(self) -> Option<Surface> {
        (!self.surface.indices.is_empty()).then_some(self.surface)
    }
}

/// One part of a mesh; `None` if nothing of it can be drawn. What is `wanted` counts only where the mesh has it.
pub fn of_part(mesh: &Mesh, part: &Part, wanted: Wanted) -> Option<Surface> {
    let uvs = mesh.uvs.as_ref().filter(|_| wanted.uvs);
    let colors = mesh.colors.as_ref().filter(|_| wanted.colors);
    let mut builder = Builder::new(part.triangles.len(), Wanted { uvs: uvs.is_some(), colors: colors.is_some() });
    for triangle in part.triangles.clone() {
        let Some(points) = mesh.triangles.get(triangle) else { break };
        let normals = mesh.normals.indices.get(triangle);
        let uv_indices = uvs.and_then(|uvs| uvs.indices.get(triangle));
        let color_indices = colors.and_then(|colors| colors.indices.get(triangle));
        let corner = |k: usize| {
            Some(Corner {
                position: *mesh.points.get(points[k] as usize)?,
                normal: normals.and_then(|n| mesh.normals.values.get(n[k] as usize)).copied().unwrap_or_default(),
                uv: uv_indices.zip(uvs).and_then(|(i, uvs)| uvs.values.get(i[k] as usize)).copied().unwrap_or_default(),
                color: color_indices
                    .zip(colors)
                    .and_then(|(i, colors)| colors.values.get(i[k] as usize))
                    .copied()
                    .unwrap_or([1.0; 4]),
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

/// A share of one as glTF's normalised integer; what is no number is nothing.
fn sixteen_bits(share: f32) -> u16 {
    (share * f32::from(u16::MAX)).round() as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner(position: [f32; 3], uv: [f32; 2]) -> Corner {
        Corner { position, normal: [0.0, 0.0, 2.0], uv, color: [1.0; 4] }
    }

    #[test]
    fn equal_corners_are_one_vertex_and_degenerate_triangles_vanish() {
        let (a, b, c) = ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
        let d = [1.0, 1.0, f32::NAN];
        let mut plain = Builder::new(3, Wanted::default());
        let mut mapped = Builder::new(3, Wanted { uvs: true, colors: false });
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
    fn corners_of_two_colours_are_two_vertices() {
        let (a, b, c) = ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
        let mut builder = Builder::new(3, Wanted { uvs: false, colors: true });
        for color in [[0.0, 0.5, 1.0, 0.25], [f32::NAN, 2.0, -1.0, 1.0], [0.0, 0.5, 1.0, 0.25]] {
            builder.triangle([a, b, c].map(|position| Corner { color, ..corner(position, [0.0; 2]) }));
        }
        let surface = builder.finish().unwrap();
        assert_eq!(surface.indices, [0, 1, 2, 3, 4, 5, 0, 1, 2]);
        let colors = surface.colors.unwrap();
        assert_eq!((colors[0], colors[3]), ([0, 32768, 65535, 16384], [0, 65535, 0, 65535]));
        // Every value of eight bits of sRGB is a value of its own.
        let values: Vec<u16> =
            (0..=255).map(|i| sixteen_bits(crate::robot::Material::linear(f64::from(i) / 255.0) as f32)).collect();
        assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
    }

    #[test]
    fn nothing_to_draw_is_none() {
        assert_eq!(Builder::new(0, Wanted::default()).finish(), None);
    }
}
