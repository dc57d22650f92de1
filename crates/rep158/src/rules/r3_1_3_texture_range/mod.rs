//! Texture coordinates outside of [0, 1] are for repeating textures only.

#![expect(
    clippy::indexing_slicing,
    reason = "computes on the axes of texture coordinates"
)]

use std::collections::{HashMap, HashSet};

use urdf_usd_stage::{Prim, PrimId, int_array, pairs, text};

use super::{Findings, Subject, rule};
use crate::meshes::{faces, visuals};
use crate::shading::Texture;

rule! {
    severity: Error,
    meaning: "Texture coordinates are outside of [0, 1], and the texture does not repeat there.",
    outcome: "Depending on the program, these parts are black or show the border of the image.",
    demand: "Unique UVs must be packed into the [0, 1] space; UV coordinates outside [0, 1] are \
             reserved for seamless tiling textures using repeat wrap modes.",
    section: ("Material Portability", "§3.1"),
    breaks: ["robot.usda", "paint.png" = "8-bit RGB PNG"],
    keeps: ["robot.usda", "paint.png" = "8-bit RGB PNG"],
}

/// Tolerance of texture coordinates at the edge of the image.
const MARGIN: f64 = 1e-3;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for mesh in visuals(stage, &subject.shading) {
        let subsets: Vec<PrimId> = stage[mesh]
            .children
            .iter()
            .copied()
            .filter(|&child| stage[child].type_name == "GeomSubset")
            .collect();
        let is_limited = |texture: &&Texture| {
            !texture.is_transformed && texture.repeats != [true; 2] && texture.primvar.is_some()
        };
        let limited = |part: PrimId| {
            let material = subject.shading.material_of(stage, part);
            material
                .into_iter()
                .flat_map(|material| material.textures.iter().filter(is_limited))
                .collect::<Vec<_>>()
        };
        let parts = std::iter::once(mesh).chain(subsets.iter().copied());
        let parts: Vec<(PrimId, Vec<&Texture>)> = parts
            .map(|part| (part, limited(part)))
            .filter(|(_, textures)| !textures.is_empty())
            .collect();
        let Some(corners) = (if parts.is_empty() {
            None
        } else {
            Corners::of(&stage[mesh])
        }) else {
            continue;
        };
        let mut read: HashMap<String, Option<Coordinates<'_>>> = HashMap::new();
        for (part, textures) in parts {
            // The mesh's own material is on the faces that are in no subset.
            let shown: Vec<usize> = if part == mesh {
                let is_bound = |id: &&PrimId| !stage[**id].targets("material:binding").is_empty();
                let taken: HashSet<usize> = subsets
                    .iter()
                    .filter(is_bound)
                    .flat_map(|&id| indices(&stage[id]))
                    .collect();
                (0..corners.faces.len())
                    .filter(|face| !taken.contains(face))
                    .collect()
            } else {
                indices(&stage[part]).collect()
            };
            for texture in textures {
                let name = format!(
                    "primvars:{}",
                    texture.primvar.as_deref().unwrap_or_default()
                );
                let read = read
                    .entry(name.clone())
                    .or_insert_with(|| Coordinates::of(&stage[mesh], &name));
                let Some(coordinates) = read else { continue };
                let Some((low, high)) = coordinates.range(&corners, &shown, texture.repeats) else {
                    continue;
                };
                if low < -MARGIN || high > 1.0 + MARGIN {
                    let (path, texture) = (&stage[part].path, &stage[texture.shader].path);
                    let message = format!(
                        "the texture coordinates {name} of {path} range from {low:.3} to {high:.3}, but the texture {texture} does not repeat"
                    );
                    let help = "pack the coordinates into [0, 1], or set inputs:wrapS and inputs:wrapT to \"repeat\" if the image tiles";
                    findings.prim(mesh, Some(&name), message, help);
                }
            }
        }
    }
}

/// Returns the faces of a subset.
fn indices(subset: &Prim) -> impl Iterator<Item = usize> {
    let indices = subset
        .value("indices")
        .and_then(int_array)
        .unwrap_or_default();
    indices
        .iter()
        .filter_map(|&index| usize::try_from(index).ok())
}

/// The faces of a mesh, and the number of the first corner of each.
struct Corners<'a> {
    faces: Vec<&'a [i32]>,
    first: Vec<usize>,
}

impl<'a> Corners<'a> {
    fn of(mesh: &'a Prim) -> Option<Self> {
        let faces = faces(mesh).ok()?;
        let first = faces.iter().scan(0, |next, face| {
            let first = *next;
            *next += face.len();
            Some(first)
        });
        Some(Self {
            first: first.collect(),
            faces,
        })
    }
}

/// The texture coordinates of a mesh.
struct Coordinates<'a> {
    values: Vec<[f64; 2]>,
    indices: Option<&'a [i32]>,
    interpolation: &'a str,
}

impl<'a> Coordinates<'a> {
    fn of(mesh: &'a Prim, primvar: &str) -> Option<Self> {
        let attribute = mesh.attributes.get(primvar)?;
        let values = attribute.value.as_deref().and_then(pairs)?;
        let indices = mesh
            .value(&format!("{primvar}:indices"))
            .and_then(int_array);
        let interpolation = attribute
            .metadata
            .get("interpolation")
            .and_then(text)
            .unwrap_or("constant");
        Some(Self {
            values,
            indices,
            interpolation,
        })
    }

    /// Returns the range of the coordinates on the shown faces, along the axes in which the texture
    /// does not repeat.
    fn range(
        &self,
        corners: &Corners<'_>,
        shown: &[usize],
        repeats: [bool; 2],
    ) -> Option<(f64, f64)> {
        let mut range: Option<(f64, f64)> = None;
        for &face in shown {
            let (Some(points), Some(first)) = (corners.faces.get(face), corners.first.get(face))
            else {
                continue;
            };
            for (corner, &point) in points.iter().enumerate() {
                let index = match self.interpolation {
                    "vertex" | "varying" => usize::try_from(point).ok(),
                    "faceVarying" => Some(first + corner),
                    "uniform" => Some(face),
                    _ => Some(0),
                };
                let index = index.and_then(|index| match self.indices {
                    Some(indices) => usize::try_from(*indices.get(index)?).ok(),
                    None => Some(index),
                });
                let Some(value) = index.and_then(|index| self.values.get(index)) else {
                    continue;
                };
                for axis in [0, 1].into_iter().filter(|&axis| !repeats[axis]) {
                    let (low, high) = range.unwrap_or((value[axis], value[axis]));
                    range = Some((low.min(value[axis]), high.max(value[axis])));
                }
            }
        }
        range
    }
}
