//! `geometries.usdc`: every distinct mesh once, and nothing else.

use super::Scene;
use super::author::{Attribute, Layer};
use crate::robot::{Corners, Mesh};

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    let mut layer = Layer::new("Every distinct mesh once", "Geometries");
    layer.def("/Geometries", "Scope");
    for entry in &scene.library.meshes {
        author_mesh(&mut layer, &format!("/Geometries/{}", entry.name), &entry.mesh);
    }
    layer
}

fn author_mesh(layer: &mut Layer, path: &str, mesh: &Mesh) {
    let mut prim = layer.def(path, "Mesh");
    if let Some((low, high)) = mesh.bounds() {
        prim.attribute("extent", Attribute::float3_array([low, high]));
    }
    prim.attribute("faceVertexCounts", Attribute::int_array(vec![3; mesh.triangles.len()]))
        .attribute("faceVertexIndices", Attribute::int_array(flat(&mesh.triangles)))
        .attribute("orientation", Attribute::token("rightHanded").uniform())
        .attribute("points", Attribute::point3f_array(mesh.points.iter().copied()))
        .attribute("subdivisionScheme", Attribute::token("none").uniform());
    let Corners { values, indices } = &mesh.normals;
    prim.attribute("primvars:normals", Attribute::normal3f_array(values.iter().copied()).interpolation("faceVarying"))
        .attribute("primvars:normals:indices", Attribute::int_array(flat(indices)));
    if let Some(Corners { values, indices }) = &mesh.uvs {
        prim.attribute("primvars:st", Attribute::tex_coord2f_array(values.iter().copied()).interpolation("faceVarying"))
            .attribute("primvars:st:indices", Attribute::int_array(flat(indices)));
    }
}

/// Indices as USD has them. Readers bound meshes far below what an `i32` can count.
fn flat(triangles: &[[u32; 3]]) -> Vec<i32> {
    triangles.iter().flatten().map(|&index| i32::try_from(index).unwrap_or(i32::MAX)).collect()
}
