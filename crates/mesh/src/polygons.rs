//! Converts polygons that a scene holds in memory to a [`Mesh`].

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use nalgebra::Matrix4;

use super::assembly::{Assembly, Corner, NONE, Surface};
use super::normals::Shading;
use super::polygon::Triangulator;
use super::{Error, Options, Source, digest};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_resolve::{Files, Resolver};
use urdf_usd_robot::{Material, Mesh};

/// The surface of a scene's object. Indices need not be valid and values need not be finite:
/// unusable parts are left out and reported.
#[derive(Clone, Debug, Default)]
pub struct Polygons {
    /// Points in the mesh's own frame.
    pub points: Vec<[f64; 3]>,
    /// The number of corners of each face, wound counter-clockwise seen from outside.
    pub counts: Vec<usize>,
    /// The corners of all faces: indices into `points`.
    pub corners: Vec<u32>,
    /// Normals of corners.
    pub normals: PerCorner<[f32; 3]>,
    /// Texture coordinates of corners, (0, 0) at the lower left of the image.
    pub uvs: PerCorner<[f32; 2]>,
    /// Colours of corners: linear red, green, blue and opacity.
    pub colors: PerCorner<[f32; 4]>,
    /// The mesh's own materials.
    pub materials: Vec<Material>,
    /// By face: an index into `materials`. Faces beyond its end, or with an invalid index, have no
    /// material.
    pub face_materials: Vec<Option<u32>>,
    /// By face: whether it is a hole, and left out. Faces beyond its end are not.
    pub is_hole: Vec<bool>,
}

/// Values of corners; none for corners beyond the end of `indices`.
#[derive(Clone, Debug)]
pub struct PerCorner<T> {
    /// The values.
    pub values: Vec<T>,
    /// By corner: an index into `values`.
    pub indices: Vec<u32>,
}

impl<T> Default for PerCorner<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            indices: Vec::new(),
        }
    }
}

impl<T> PerCorner<T> {
    fn of(&self, corner: usize) -> u32 {
        self.indices.get(corner).copied().unwrap_or(NONE)
    }
}

/// Creates a mesh from polygons. `file` is the place of the findings.
///
/// # Errors
/// If no face has an area.
pub fn from_polygons(polygons: &Polygons, file: &Path) -> Result<(Mesh, Vec<Diagnostic>), Error> {
    let files = Files::new(Arc::new(Resolver::new(Default::default())));
    let mut source = Source::new(file, &files, Options::default());
    // There is no file to derive the budget from: assume one with 16 bytes per corner.
    let mut assembly = Assembly::new(polygons.corners.len().saturating_mul(16));
    let materials: Vec<u32> = polygons
        .materials
        .iter()
        .map(|material| assembly.material(material.clone()))
        .collect();
    let mut triangles: Vec<[Corner; 3]> = Vec::new();
    let mut runs: Vec<(Range<usize>, u32)> = Vec::new();
    let mut triangulator = Triangulator::new();
    let (mut first, mut outline) = (0_usize, Vec::new());
    for (face, &count) in polygons.counts.iter().enumerate() {
        let corners = first..first.saturating_add(count);
        first = corners.end;
        if polygons.is_hole.get(face) == Some(&true) {
            continue;
        }
        let points = polygons
            .corners
            .get(corners.clone())
            .filter(|points| points.len() >= 3);
        outline.clear();
        outline.extend(
            points
                .into_iter()
                .flatten()
                // This stops at a missing point, which the length reveals below.
                .map_while(|&point| polygons.points.get(point as usize)),
        );
        if points.is_none_or(|points| points.len() != outline.len()) {
            assembly.unusable(1);
            continue;
        }
        let start = triangles.len();
        triangulator.cut(&outline, &[], |triangle| {
            triangles.push(triangle.map(|k| {
                let corner = corners.start + k;
                let position = polygons.corners.get(corner).copied().unwrap_or(NONE);
                let (normal, uv) = (polygons.normals.of(corner), polygons.uvs.of(corner));
                Corner {
                    position,
                    normal,
                    uv,
                    color: polygons.colors.of(corner),
                }
            }));
        });
        let own = polygons.face_materials.get(face).copied().flatten();
        let material = own
            .and_then(|own| materials.get(own as usize))
            .copied()
            .unwrap_or(NONE);
        match runs.last_mut() {
            Some((run, known)) if *known == material => run.end = triangles.len(),
            _ => runs.push((start..triangles.len(), material)),
        }
    }
    let surface = Surface {
        positions: &polygons.points,
        normals: &polygons.normals.values,
        uvs: &polygons.uvs.values,
        colors: &polygons.colors.values,
        triangles: &triangles,
        runs: &runs,
    };
    assembly.add(&surface, &Matrix4::identity())?;
    let mut mesh = assembly.finish(&mut source, Shading::Smooth)?;
    mesh.digest = digest(&mesh);
    Ok((mesh, source.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use urdf_usd_robot::invariants;

    #[test]
    fn polygons_become_triangles_with_their_materials() {
        let square = |z: f64| [[0.0, 0.0, z], [1.0, 0.0, z], [1.0, 1.0, z], [0.0, 1.0, z]];
        let polygons = Polygons {
            points: [square(0.0), square(1.0)].concat(),
            // A square, one with a missing point, a hole, and a triangle.
            counts: vec![4, 4, 4, 3],
            corners: vec![0, 1, 2, 3, 0, 1, 2, 99, 0, 3, 7, 4, 4, 5, 6],
            materials: vec![Material::plain("red", [1.0, 0.0, 0.0, 1.0])],
            face_materials: vec![None, None, None, Some(0)],
            is_hole: vec![false, false, true],
            ..Polygons::default()
        };
        let (mesh, found) = from_polygons(&polygons, Path::new("a.usda")).unwrap();
        invariants::check(&mesh);
        assert_eq!((mesh.triangles.len(), mesh.points.len()), (3, 7));
        // Triangles without a material come last.
        let parts: Vec<_> = mesh
            .parts
            .iter()
            .map(|part| (part.triangles.clone(), part.material))
            .collect();
        assert_eq!(parts, [(0..1, Some(0)), (1..3, None)]);
        assert_eq!(found.len(), 1, "{found:?}");
        let empty = Polygons {
            counts: vec![3],
            corners: vec![0, 0, 0],
            ..polygons
        };
        assert!(from_polygons(&empty, Path::new("a.usda")).is_err());
    }
}
