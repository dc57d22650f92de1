//! `geometries.usdc`: every distinct mesh once, with the faces of each of its materials, and
//! nothing else.

use std::mem::take;
use std::sync::Arc;

use super::Scene;
use super::arrays::{Arrays, Indices, Ints, VectorField, WriteError};
use super::library::{MeshEntry, Subset};
use urdf_usd_robot::{CacheEvicted, Corners, LazyMesh, Outline};
use urdf_usd_store::{Content, Key, Store};
use urdf_usd_usd_author::{Attribute, Layer, crate_file};

/// Returns the layer, from `store` if it has it; it is loaded from there lazily.
///
/// # Errors
/// If the layer can't be written, and if a mesh in it is no longer in the cache.
pub(super) fn content(scene: &Scene<'_>, store: &Store) -> Result<Content, WriteError> {
    let made = || {
        let mut arrays = Arrays::default();
        let layer = layer(scene, &mut arrays)?;
        let data = layer.into_data()?;
        let pieces = arrays.written(store, |out| crate_file::write_to(&data, out))?;
        Ok(Content::from_pieces(pieces, None))
    };
    let Some(bytes) = store.is_enabled().then(|| key(scene)).flatten() else {
        return made();
    };
    // Length and SHA-256 have an entry of their own: an unchanged layer is neither loaded nor
    // hashed.
    let hash = Key::shared("hash of geometries").and(&bytes.bytes()).key();
    let known: Option<(u64, String)> = store.get(&hash, |hash| serde_json::from_slice(hash).ok());
    if let Some(((length, sha256), kept)) = known.zip(store.loader(&bytes)) {
        return Ok(Content::stored(kept, length, sha256));
    }
    let content = made()?;
    // A layer that the time limit cut short lacks meshes and must not be cached.
    if scene.options.limit.interruption().is_none() {
        store.put_content(&bytes, &content);
        store.put(&hash, || {
            serde_json::to_vec(&(content.length(), content.sha256())).unwrap_or_default()
        });
    }
    Ok(content)
}

/// Returns the cache key of the layer: names, geometry and material faces. `None` if some mesh has
/// no digest.
fn key(scene: &Scene<'_>) -> Option<Key> {
    let mut key = Key::shared("geometries with colours by point");
    for MeshEntry {
        name,
        mesh,
        subsets,
    } in scene.library.meshes.values()
    {
        if mesh.digest == [0; 32] {
            return None;
        }
        key = key
            .and(name.as_bytes())
            .and(&mesh.digest)
            .and(&subsets.len().to_le_bytes());
        for Subset { material, faces } in subsets {
            let name = &scene.library.materials[*material].name;
            key = faces.iter().fold(
                key.and(name.as_bytes()).and(&faces.len().to_le_bytes()),
                |key, faces| {
                    key.and(&faces.start.to_le_bytes())
                        .and(&faces.end.to_le_bytes())
                },
            );
        }
    }
    Some(key.key())
}

fn layer<'a>(scene: &'a Scene<'_>, arrays: &mut Arrays<'a>) -> Result<Layer, CacheEvicted> {
    let mut layer = Layer::new("Every distinct mesh once", "Geometries");
    layer.def("/Geometries", "Scope");
    for entry in scene.library.meshes.values() {
        if scene.is_over("geometries.usdc") {
            break;
        }
        let path = format!("/Geometries/{}", entry.name);
        author_mesh(&mut layer, &path, &entry.mesh, arrays)?;
        author_subsets(scene, &mut layer, &path, entry, arrays);
    }
    Ok(layer)
}

fn author_mesh<'a>(
    layer: &mut Layer,
    path: &str,
    mesh: &'a Arc<LazyMesh>,
    arrays: &mut Arrays<'a>,
) -> Result<(), CacheEvicted> {
    let indices =
        |arrays: &mut Arrays<'a>, of: Indices| arrays.indices(mesh, of).map(Attribute::int_array);
    let &Outline {
        triangles,
        has_uvs,
        has_colors,
        has_translucent_corners,
        ..
    } = mesh.outline();
    let mut prim = layer.def(path, "Mesh");
    if let Some((low, high)) = mesh.bounds() {
        prim.attribute("extent", Attribute::float3_array([low, high]));
    }
    prim.attribute(
        "faceVertexCounts",
        Attribute::int_array(arrays.ints(Ints::Same {
            value: 3,
            count: triangles,
        })),
    )
    .attribute(
        "faceVertexIndices",
        indices(arrays, |mesh| &mesh.triangles)?,
    )
    .attribute("orientation", Attribute::token("rightHanded").uniform())
    .attribute(
        "points",
        Attribute::point3f_array([arrays.vectors(
            mesh,
            VectorField {
                get: |mesh| &mesh.points,
                take: |mesh| take(&mut mesh.points),
            },
        )]),
    )
    .attribute("subdivisionScheme", Attribute::token("none").uniform());
    let normals = arrays.vectors(
        mesh,
        VectorField {
            get: |mesh| &mesh.normals.values,
            take: |mesh| take(&mut mesh.normals.values),
        },
    );
    let normals = Attribute::normal3f_array([normals]);
    prim.attribute("primvars:normals", normals.interpolation("faceVarying"))
        .attribute(
            "primvars:normals:indices",
            indices(arrays, |mesh| &mesh.normals.indices)?,
        );
    if has_uvs {
        let values = arrays.vectors(
            mesh,
            VectorField {
                get: |mesh| values(&mesh.uvs),
                take: |mesh| take_values(&mut mesh.uvs),
            },
        );
        let values = Attribute::tex_coord2f_array([values]);
        prim.attribute("primvars:st", values.interpolation("faceVarying"))
            .attribute(
                "primvars:st:indices",
                indices(arrays, |mesh| corner_indices(&mesh.uvs))?,
            );
    }
    if has_colors {
        // Two primvars share the RGBA values, so these cannot be moved into the file like points.
        let loaded = mesh.arrays()?;
        let values = values(&loaded.colors);
        let by_point = by_point(
            loaded.points.len(),
            &loaded.triangles,
            corner_indices(&loaded.colors),
        );
        let interpolation = match by_point {
            Some(_) => "vertex",
            None => "faceVarying",
        };
        let color_indices = |arrays: &mut Arrays<'a>| match &by_point {
            Some(indices) => Ok(Attribute::int_array(indices.clone())),
            None => indices(arrays, |mesh| corner_indices(&mesh.colors)),
        };
        let colors = values
            .iter()
            .map(|&[red, green, blue, _]| [red, green, blue]);
        prim.attribute(
            "primvars:displayColor",
            Attribute::color3f_array(colors).interpolation(interpolation),
        )
        .attribute("primvars:displayColor:indices", color_indices(arrays)?);
        if has_translucent_corners {
            let opacities = Attribute::float_array(values.iter().map(|color| color[3]));
            prim.attribute(
                "primvars:displayOpacity",
                opacities.interpolation(interpolation),
            )
            .attribute("primvars:displayOpacity:indices", color_indices(arrays)?);
        }
    }
    Ok(())
}

/// Returns the index of each point's colour; `None` if a point has several. Converters to glTF have to
/// split the points of primvars that are not per point (REP-158 §3.3).
fn by_point(points: usize, triangles: &[[u32; 3]], colors: &[[u32; 3]]) -> Option<Vec<i32>> {
    let mut of_points: Vec<Option<u32>> = vec![None; points];
    for (point, color) in triangles.iter().flatten().zip(colors.iter().flatten()) {
        let known = of_points.get_mut(usize::try_from(*point).ok()?)?;
        if *known.get_or_insert(*color) != *color {
            return None;
        }
    }
    // A point of no triangle may have any colour.
    let indices = of_points.into_iter().map(Option::unwrap_or_default);
    indices.map(|index| i32::try_from(index).ok()).collect()
}

fn values<T>(corners: &Option<Corners<T>>) -> &[T] {
    corners.as_ref().map_or(&[], |corners| &corners.values)
}

fn take_values<T>(corners: &mut Option<Corners<T>>) -> Vec<T> {
    corners
        .as_mut()
        .map(|corners| take(&mut corners.values))
        .unwrap_or_default()
}

fn corner_indices<T>(corners: &Option<Corners<T>>) -> &[[u32; 3]] {
    corners.as_ref().map_or(&[], |corners| &corners.indices)
}

/// Authors the face subsets of a mesh with several materials, by material name. The materials are
/// bound in `instances.usda`; the arrays are here because they don't belong in text.
fn author_subsets<'a>(
    scene: &Scene<'_>,
    layer: &mut Layer,
    path: &str,
    entry: &'a MeshEntry,
    arrays: &mut Arrays<'a>,
) {
    if entry.subsets.is_empty() {
        return;
    }
    let covered: usize = entry.subsets.iter().map(Subset::count).sum();
    // UsdGeomSubset: a partition covers every face.
    let family = if covered == entry.mesh.outline().triangles {
        "partition"
    } else {
        "nonOverlapping"
    };
    layer.over(path).attribute(
        "subsetFamily:materialBind:familyType",
        Attribute::token(family).uniform(),
    );
    for Subset { material, faces } in &entry.subsets {
        layer
            .def(
                &format!("{path}/{}", scene.library.materials[*material].name),
                "GeomSubset",
            )
            .attribute("elementType", Attribute::token("face").uniform())
            .attribute("familyName", Attribute::token("materialBind").uniform())
            .attribute(
                "indices",
                Attribute::int_array(arrays.ints(Ints::Ranges(faces))),
            );
    }
}
