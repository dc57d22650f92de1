//! `geometries.usdc`: every distinct mesh once with the faces that its materials are for, and nothing else.

use super::author::{self, Attribute, Layer};
use super::library::{MeshEntry, Subset};
use super::{Scene, crate_file};
use urdf_usd_robot::{Corners, Mesh};
use urdf_usd_store::{Key, Store};

/// The layer's bytes, from `store` if it has them.
pub(super) fn bytes(scene: &Scene<'_>, store: &Store) -> Result<Vec<u8>, author::Error> {
    let made = || layer(scene).data().and_then(crate_file::write);
    let Some(key) = store.keeps().then(|| key(scene)).flatten() else { return made() };
    if let Some(known) = store.take(&key) {
        return Ok(known);
    }
    let bytes = made()?;
    if scene.options.limit.ended().is_none() {
        store.put(&key, || bytes.clone());
    }
    Ok(bytes)
}

/// What decides the layer: names, geometry, and which faces are for which material. `None` if some mesh has no digest.
fn key(scene: &Scene<'_>) -> Option<Key> {
    let mut key = Key::of("geometries");
    for MeshEntry { name, mesh, subsets } in &scene.library.meshes {
        if mesh.digest == [0; 32] {
            return None;
        }
        key = key.and(name.as_bytes()).and(&mesh.digest).and(&subsets.len().to_le_bytes());
        for Subset { material, faces } in subsets {
            let name = &scene.library.materials[*material].name;
            key = key.and(name.as_bytes()).and(bytemuck::cast_slice(faces));
        }
    }
    Some(key.key())
}

fn layer(scene: &Scene<'_>) -> Layer {
    let mut layer = Layer::new("Every distinct mesh once", "Geometries");
    layer.def("/Geometries", "Scope");
    for entry in &scene.library.meshes {
        if scene.is_over("geometries.usdc") {
            break;
        }
        let path = format!("/Geometries/{}", entry.name);
        author_mesh(&mut layer, &path, &entry.mesh);
        author_subsets(scene, &mut layer, &path, entry);
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
    if let Some(Corners { values, indices }) = &mesh.colors {
        let colors = values.iter().map(|&[red, green, blue, _]| [red, green, blue]);
        prim.attribute("primvars:displayColor", Attribute::color3f_array(colors).interpolation("faceVarying"))
            .attribute("primvars:displayColor:indices", Attribute::int_array(flat(indices)));
        if mesh.has_translucent_corners() {
            let opacities = Attribute::float_array(values.iter().map(|color| color[3]));
            prim.attribute("primvars:displayOpacity", opacities.interpolation("faceVarying"))
                .attribute("primvars:displayOpacity:indices", Attribute::int_array(flat(indices)));
        }
    }
}

/// The faces of each material of a mesh that has several, by the material's name. The materials themselves are bound in
/// instances.usda: here are the arrays, which don't belong in text.
fn author_subsets(scene: &Scene<'_>, layer: &mut Layer, path: &str, entry: &MeshEntry) {
    if entry.subsets.is_empty() {
        return;
    }
    let covered: usize = entry.subsets.iter().map(|subset| subset.faces.len()).sum();
    let family = if covered == entry.mesh.triangles.len() { "partition" } else { "nonOverlapping" };
    layer.over(path).attribute("subsetFamily:materialBind:familyType", Attribute::token(family).uniform());
    for Subset { material, faces } in &entry.subsets {
        let faces = faces.iter().filter_map(|&face| i32::try_from(face).ok());
        layer
            .def(&format!("{path}/{}", scene.library.materials[*material].name), "GeomSubset")
            .attribute("elementType", Attribute::token("face").uniform())
            .attribute("familyName", Attribute::token("materialBind").uniform())
            .attribute("indices", Attribute::int_array(faces));
    }
}

/// Indices as USD has them. Readers bound meshes far below what an `i32` can count.
fn flat(triangles: &[[u32; 3]]) -> Vec<i32> {
    triangles.iter().flatten().map(|&index| i32::try_from(index).unwrap_or(i32::MAX)).collect()
}
