//! A triangulated mesh.

use std::sync::Arc;

use super::Material;

/// Triangles with what is needed to draw them.
///
/// Points are in metres in the mesh's own frame, exactly as URDF means it: a `scale` of the geometry is not applied. Winding is
/// counter-clockwise seen from outside. Points are welded; normals and texture coordinates belong to corners, so a hard edge
/// does not tear the surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// Positions.
    pub points: Vec<[f32; 3]>,
    /// Indices into `points`, three per triangle, none repeated within one.
    pub triangles: Vec<[u32; 3]>,
    /// Unit normals of the corners.
    pub normals: Corners<[f32; 3]>,
    /// Texture coordinates of the corners, (0, 0) at the lower left of the image, if the source has any.
    pub uvs: Option<Corners<[f32; 2]>>,
    /// Colours of the corners, if the source has any: linear red, green, blue and opacity, each 0 to 1. They show where neither the
    /// part nor the robot names a material, and where a part's material says so ([`Material::shows_corner_colors`]).
    pub colors: Option<Corners<[f32; 4]>>,
    /// Runs of triangles with one material, in order, covering all triangles; at least one.
    pub parts: Vec<Part>,
    /// The mesh's own materials, which `parts` refer to.
    pub materials: Vec<Material>,
    /// What tells this geometry from others: SHA-256 of all the above but the materials. Zero where nobody computed it, which stands
    /// for no geometry at all.
    pub digest: [u8; 32],
}

/// A value per corner of every triangle, shared where equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Corners<T> {
    /// The distinct values.
    pub values: Vec<T>,
    /// Indices into `values`, as many as `Mesh::triangles`.
    pub indices: Vec<[u32; 3]>,
}

/// A run of triangles with one material.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The triangles, as indices into [`Mesh::triangles`].
    pub triangles: std::ops::Range<usize>,
    /// An index into [`Mesh::materials`]; `None` where the source assigns none, so that the robot's own material shows.
    pub material: Option<usize>,
}

/// Stand-ins for a mesh with fewer triangles, within a bound of it and with the same materials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tiers {
    /// For ordinary use; `None` where the mesh itself serves.
    pub medium: Option<Arc<Mesh>>,
    /// For many robots at once; `None` where the medium tier (or else the mesh itself) serves.
    pub low: Option<Arc<Mesh>>,
}

impl Mesh {
    /// The mesh with the marked axes turned round, its winding kept counter-clockwise. So a scale can be positive.
    #[must_use]
    pub fn mirrored(&self, axes: [bool; 3]) -> Self {
        let mut mesh = self.clone();
        if mesh.digest != [0; 32] {
            // As good as computed anew: what else would differ in nothing but this bit of its hash?
            (0..3).filter(|&k| axes[k]).for_each(|k| mesh.digest[0] ^= 1 << k);
        }
        for vector in mesh.points.iter_mut().chain(&mut mesh.normals.values) {
            for k in (0..3).filter(|&k| axes[k]) {
                vector[k] = -vector[k];
            }
        }
        if axes.iter().filter(|&&axis| axis).count() % 2 == 1 {
            let uvs = mesh.uvs.iter_mut().flat_map(|uvs| &mut uvs.indices);
            let colors = mesh.colors.iter_mut().flat_map(|colors| &mut colors.indices);
            for corners in mesh.triangles.iter_mut().chain(&mut mesh.normals.indices).chain(uvs).chain(colors) {
                corners.swap(1, 2);
            }
        }
        mesh
    }

    /// Whether it has colours and some of them are not opaque.
    pub fn has_translucent_corners(&self) -> bool {
        self.colors.iter().flat_map(|colors| &colors.values).any(|color| color[3] < 1.0)
    }

    /// The smallest and largest coordinates; `None` if there are no points.
    pub fn bounds(&self) -> Option<([f32; 3], [f32; 3])> {
        let first = *self.points.first()?;
        Some(self.points.iter().fold((first, first), |(mut low, mut high), p| {
            for k in 0..3 {
                low[k] = low[k].min(p[k]);
                high[k] = high[k].max(p[k]);
            }
            (low, high)
        }))
    }
}
