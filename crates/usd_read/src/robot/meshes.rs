//! Converts meshes of a stage to the model's: triangles with normals, texture coordinates, colours
//! and materials by corner and face.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use nalgebra::{Matrix4, Point3};

use super::materials::{Materials, OfPart, has_many_colors};
use super::primvars::{COLOR, OPACITY, Primvar};
use super::scene::Scene;
use crate::codes;
use urdf_usd_diagnostic::Place;
use urdf_usd_mesh::{PerCorner, Polygons, from_polygons};
use urdf_usd_robot::{Material, Mesh, MeshId, MeshSource, Robot};
use urdf_usd_stage::{Prim, PrimId, Stage, double_array, int_array, text, vectors};

/// Names of the primvar of texture coordinates, in order of precedence.
const UV_NAMES: [&str; 5] = ["st", "st0", "st_0", "UVMap", "map1"];

/// Path of the scope in which this program writes meshes.
const GEOMETRIES: &str = "/Geometries/";

/// The sources of a mesh: the prim shared by instances, the bits of the matrix applied to the
/// points, and the prims with its primvars.
type Key = (usize, Option<[u64; 16]>, Vec<(usize, String)>);

/// The meshes of a robot, without duplicates.
#[derive(Default)]
pub(super) struct Meshes {
    known: HashMap<Key, MeshId>,
    by_digest: HashMap<[u8; 32], Vec<MeshId>>,
}

impl Meshes {
    /// Returns the mesh of a prim; `baked` transforms its points.
    pub fn of_prim(
        &mut self,
        scene: &Scene<'_>,
        materials: &mut Materials<'_, '_>,
        robot: &mut Robot,
        id: PrimId,
        baked: Option<&Matrix4<f64>>,
    ) -> Option<MeshId> {
        let prim = &scene.stage[id];
        let has_subsets = prim
            .children
            .iter()
            .any(|child| scene.stage[*child].type_name == "GeomSubset");
        // Instances share their attributes' allocation. The stage keeps it alive, so its address is
        // a valid key.
        let address = |prim: &Prim| Arc::as_ptr(&prim.attributes) as usize;
        let bits = baked.map(|matrix| std::array::from_fn(|k| matrix[k].to_bits()));
        let uv_set = materials.uv_set(id);
        let names = uv_set.as_deref().into_iter().chain([COLOR, OPACITY]);
        let primvars = names.filter_map(|name| Primvar::find(scene.stage, id, name));
        let primvars = primvars.map(|primvar| (address(primvar.prim), primvar.name));
        // A set that is missing differs from none that is named.
        let key = (
            address(prim),
            bits,
            primvars
                .chain(uv_set.iter().map(|name| (0, name.clone())))
                .collect(),
        );
        if let Some(known) = self.known.get(&key).filter(|_| !has_subsets) {
            return Some(*known);
        }
        let mut parts = if has_subsets {
            parts(scene, materials, id)
        } else {
            Parts::default()
        };
        parts.uv_sets.insert(0, uv_set);
        let mut polygons = polygons(scene, id, parts);
        if let Some(matrix) = baked {
            bake(&mut polygons, matrix);
        }
        let mesh = self.add(scene, robot, id, &polygons)?;
        self.known.insert(key, mesh);
        Some(mesh)
    }

    /// Adds the mesh of polygons, unless the robot has an equal one.
    pub fn add(
        &mut self,
        scene: &Scene<'_>,
        robot: &mut Robot,
        id: PrimId,
        polygons: &Polygons,
    ) -> Option<MeshId> {
        let place = scene.place(id, None);
        let file = place.file.clone();
        let file = file.as_deref().unwrap_or(Path::new(""));
        let mesh = match from_polygons(polygons, file) {
            Ok((mesh, found)) => {
                for mut diagnostic in found {
                    diagnostic.place.element.clone_from(&place.element);
                    scene.push(diagnostic);
                }
                mesh
            }
            Err(error) => {
                let message = format!("mesh {:?} is left out: {error}", scene.stage[id].name());
                scene.report(&codes::SHAPE, id, None, message, "export the mesh again");
                return None;
            }
        };
        let alike = self.by_digest.entry(mesh.digest).or_default();
        let is_same = |known: &&MeshId| robot.meshes()[**known].mesh.materials == mesh.materials;
        if let Some(known) = alike.iter().find(is_same) {
            return Some(*known);
        }
        let added = robot.add_mesh(source(mesh, name(scene, id), place));
        alike.push(added);
        Some(added)
    }
}

/// Returns the name of a mesh: that of the prim that authors its points, because a reference or
/// payload may rename it. For meshes that this program writes, the suffix that distinguishes tiers
/// is removed.
fn name<'a>(scene: &'a Scene<'_>, id: PrimId) -> &'a str {
    let prim = &scene.stage[id];
    let Some(site) = prim
        .attributes
        .get("points")
        .and_then(|points| points.sites.first())
    else {
        return prim.name();
    };
    let name = site
        .path
        .trim_end_matches(".points")
        .rsplit(['/', '}'])
        .next()
        .unwrap_or_default();
    let is_own = site.path.starts_with(GEOMETRIES);
    let stage = ["_hull", "_medium", "_low"]
        .into_iter()
        .find_map(|stage| name.strip_suffix(stage))
        .filter(|_| is_own);
    let part = || {
        let (stem, number) = name.rsplit_once("_part_").filter(|_| is_own)?;
        // Meshes of the source may have such names, too.
        let is_part = prim.name().starts_with("collision_")
            && prim.name().ends_with(&format!("_part_{number}"));
        is_part.then_some(stem)
    };
    stage
        .or_else(part)
        .or(Some(name))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| prim.name())
}

/// Returns an in-memory mesh with its name and location. All meshes created here pass through this
/// function.
fn source(mesh: Mesh, name: &str, place: Place) -> MeshSource {
    let file = place
        .file
        .as_deref()
        .and_then(Path::file_name)
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let uri = format!("{file}#{}/{name}.usd", place.element);
    MeshSource::new(uri, place, Arc::new(mesh.into()))
}

/// The materials of a mesh's faces.
#[derive(Default)]
struct Parts {
    materials: Vec<Material>,
    /// The index of each face's material; `None` for that of the mesh.
    face_materials: Vec<Option<u32>>,
    /// The names of the primvars with texture coordinates: that of the mesh's material, then those of
    /// `materials`.
    uv_sets: Vec<Option<String>>,
}

/// Returns the faces of a prim with their per-corner data.
fn polygons(scene: &Scene<'_>, id: PrimId, parts: Parts) -> Polygons {
    let prim = &scene.stage[id];
    let ints = |name: &str| prim.value(name).and_then(int_array).unwrap_or_default();
    let counts: Vec<usize> = ints("faceVertexCounts")
        .iter()
        .map(|&count| usize::try_from(count).unwrap_or(0))
        .collect();
    let source = ints("faceVertexIndices");
    let is_left_handed = prim.text("orientation") == Some("leftHanded");
    // Corners in counter-clockwise winding order.
    let mut order: Vec<usize> = (0..source.len()).collect();
    if is_left_handed {
        let mut first = 0;
        for &count in &counts {
            if let Some(face) = order.get_mut(first + 1..first + count) {
                face.reverse();
            }
            first += count;
        }
    }
    let face_of: Vec<usize> = counts
        .iter()
        .enumerate()
        .flat_map(|(face, &count)| std::iter::repeat_n(face, count))
        .take(source.len())
        .collect();
    let corners: Vec<u32> = order
        .iter()
        .map(|&corner| {
            let point = source.get(corner).copied().map(u32::try_from);
            point.and_then(Result::ok).unwrap_or(u32::MAX)
        })
        .collect();
    let lay = Lay {
        order: &order,
        face_of: &face_of,
        corners: &corners,
    };
    let mut polygons = Polygons {
        points: prim.value("points").and_then(vectors).unwrap_or_default(),
        normals: normals(prim, &lay),
        uvs: uvs_of_parts(scene, id, &lay, &parts),
        colors: colors(scene, id, &lay),
        materials: parts.materials,
        face_materials: parts.face_materials,
        ..Polygons::default()
    };
    let holes = ints("holeIndices");
    if !holes.is_empty() {
        polygons.is_hole = vec![false; counts.len()];
        for &hole in holes {
            if let Some(face) = usize::try_from(hole)
                .ok()
                .and_then(|hole| polygons.is_hole.get_mut(hole))
            {
                *face = true;
            }
        }
    }
    (polygons.counts, polygons.corners) = (counts, corners);
    polygons
}

/// Layout of corners: for each, its index in the file, its face and its point.
struct Lay<'a> {
    order: &'a [usize],
    face_of: &'a [usize],
    corners: &'a [u32],
}

impl Lay<'_> {
    /// Returns the value index of each corner, through the primvar's indices if there are any.
    fn indices(&self, interpolation: &str, indices: Option<&[i32]>) -> Vec<u32> {
        let through = |element: usize| match indices {
            Some(indices) => indices
                .get(element)
                .and_then(|&index| u32::try_from(index).ok())
                .unwrap_or(u32::MAX),
            None => u32::try_from(element).unwrap_or(u32::MAX),
        };
        let element = |(&of_file, &point): (&usize, &u32)| match interpolation {
            "constant" => 0,
            "uniform" => self.face_of.get(of_file).copied().unwrap_or(usize::MAX),
            "faceVarying" => of_file,
            _ => point as usize,
        };
        self.order
            .iter()
            .zip(self.corners)
            .map(element)
            .map(through)
            .collect()
    }

    /// Returns the value index of each corner for a primvar.
    fn of(&self, primvar: &Primvar<'_>) -> Vec<u32> {
        self.indices(primvar.interpolation_or_constant(), primvar.indices())
    }
}

fn single(vector: [f64; 3]) -> [f32; 3] {
    vector.map(|x| x as f32)
}

/// Returns the authored normals. `primvars:normals` take precedence over `normals`
/// (UsdGeomPointBased).
fn normals(prim: &Prim, lay: &Lay<'_>) -> PerCorner<[f32; 3]> {
    if let Some(primvar) = Primvar::own(prim, "normals")
        && let Some(values) = vectors(primvar.value).filter(|values| !values.is_empty())
    {
        return PerCorner {
            values: values.into_iter().map(single).collect(),
            indices: lay.of(&primvar),
        };
    }
    let Some(values) = prim
        .value("normals")
        .and_then(vectors)
        .filter(|values| !values.is_empty())
    else {
        return PerCorner::default();
    };
    let interpolation = prim
        .attributes
        .get("normals")
        .and_then(|normals| normals.metadata.get("interpolation"))
        .and_then(text);
    PerCorner {
        values: values.into_iter().map(single).collect(),
        indices: lay.indices(interpolation.unwrap_or("vertex"), None),
    }
}

/// Returns the texture coordinates of a mesh whose faces have several materials: for each face those
/// that its material names.
fn uvs_of_parts(
    scene: &Scene<'_>,
    id: PrimId,
    lay: &Lay<'_>,
    parts: &Parts,
) -> PerCorner<[f32; 2]> {
    // By the primvars that the names lead to: a material without a texture names none.
    let sets = parts.uv_sets.iter().map(Option::as_deref);
    let mut sets = sets.map(|name| uv_primvar(scene.stage, id, name));
    let first = sets.next().flatten();
    let mut all = uvs(lay, first.as_ref());
    let name = |primvar: &Option<Primvar<'_>>| primvar.as_ref().map(|primvar| primvar.name.clone());
    let first = name(&first);
    for (part, other) in sets.enumerate().filter(|(_, other)| name(other) != first) {
        let other = uvs(lay, other.as_ref());
        let offset = u32::try_from(all.values.len()).unwrap_or(u32::MAX);
        all.indices.resize(lay.order.len(), u32::MAX);
        for (corner, index) in all.indices.iter_mut().enumerate() {
            let face = lay
                .order
                .get(corner)
                .and_then(|of_file| lay.face_of.get(*of_file));
            let own = face.and_then(|face| *parts.face_materials.get(*face)?);
            if own.is_some_and(|own| own as usize == part) {
                let of_other = other.indices.get(corner).copied().unwrap_or(u32::MAX);
                *index = of_other.saturating_add(offset);
            }
        }
        all.values.extend(other.values);
    }
    all
}

/// Returns the texture coordinates of the primvar `name`; without a name, those that renderers look
/// for.
fn uv_primvar<'a>(stage: &'a Stage, id: PrimId, name: Option<&str>) -> Option<Primvar<'a>> {
    let of = |name: &str| {
        Primvar::find(stage, id, name).filter(|primvar| primvar.texture_coordinates().is_some())
    };
    let others = || {
        let others = stage[id].attributes.iter().filter(|(name, attribute)| {
            attribute.type_name.starts_with("texCoord") && !name.ends_with(":indices")
        });
        others
            .filter_map(|(name, _)| name.strip_prefix("primvars:"))
            .find_map(of)
    };
    match name {
        Some(name) => of(name),
        None => UV_NAMES.into_iter().find_map(of).or_else(others),
    }
}

/// Returns texture coordinates by corner.
fn uvs(lay: &Lay<'_>, primvar: Option<&Primvar<'_>>) -> PerCorner<[f32; 2]> {
    let Some((primvar, values)) =
        primvar.and_then(|primvar| Some((primvar, primvar.texture_coordinates()?)))
    else {
        return PerCorner::default();
    };
    PerCorner {
        values: values.into_iter().map(|uv| uv.map(|x| x as f32)).collect(),
        indices: lay.of(primvar),
    }
}

/// Returns vertex colours that vary; a uniform colour becomes a material.
fn colors(scene: &Scene<'_>, id: PrimId, lay: &Lay<'_>) -> PerCorner<[f32; 4]> {
    if !has_many_colors(scene.stage, id) {
        return PerCorner::default();
    }
    let Some((colors, indices)) = Primvar::find(scene.stage, id, COLOR)
        .and_then(|primvar| Some((vectors(primvar.value)?, lay.of(&primvar))))
    else {
        return PerCorner::default();
    };
    let opacities = Primvar::find(scene.stage, id, OPACITY).and_then(|primvar| {
        let values = double_array(primvar.value).filter(|opacities| !opacities.is_empty())?;
        Some((values, lay.of(&primvar)))
    });
    let Some((opacities, of_opacity)) = opacities else {
        let values = colors
            .into_iter()
            .map(|[r, g, b]| [r as f32, g as f32, b as f32, 1.0])
            .collect();
        return PerCorner { values, indices };
    };
    // One value for each distinct pair of colour and opacity.
    let (mut values, mut pairs) = (Vec::new(), HashMap::new());
    let indices = indices.into_iter().zip(of_opacity).map(|pair| {
        *pairs.entry(pair).or_insert_with(|| {
            let [r, g, b] = colors.get(pair.0 as usize).copied().unwrap_or([1.0; 3]);
            let opacity = opacities.get(pair.1 as usize).copied().unwrap_or(1.0);
            values.push([r, g, b, opacity].map(|x| x as f32));
            (values.len() - 1) as u32
        })
    });
    let indices = indices.collect();
    PerCorner { values, indices }
}

/// Returns the materials of faces with their own (GeomSubset of the family materialBind).
fn parts(scene: &Scene<'_>, materials: &mut Materials<'_, '_>, id: PrimId) -> Parts {
    let faces = scene.stage[id]
        .value("faceVertexCounts")
        .and_then(int_array);
    let mut parts = Parts {
        face_materials: vec![None; faces.map_or(0, <[i32]>::len)],
        ..Parts::default()
    };
    // If looks vary, subsets that are equal in one variant may differ in another.
    let stay_apart = scene.may_vary;
    for &child in &scene.stage[id].children {
        let subset = &scene.stage[child];
        let is_bound = subset
            .text("familyName")
            .is_none_or(|family| family == "materialBind");
        if subset.type_name != "GeomSubset" || !is_bound {
            continue;
        }
        let Some(OfPart { material, uv_set }) = materials.of_part(child, id) else {
            continue;
        };
        let known = parts
            .materials
            .iter()
            .zip(&parts.uv_sets)
            .position(|known| known == (&material, &uv_set))
            .filter(|_| !stay_apart);
        let index = known.unwrap_or_else(|| {
            parts.materials.push(material);
            parts.uv_sets.push(uv_set);
            parts.materials.len() - 1
        });
        for &face in subset
            .value("indices")
            .and_then(int_array)
            .unwrap_or_default()
        {
            if let Some(own) = usize::try_from(face)
                .ok()
                .and_then(|face| parts.face_materials.get_mut(face))
            {
                *own = Some(index as u32);
            }
        }
    }
    parts
}

/// Transforms the points and normals.
fn bake(polygons: &mut Polygons, matrix: &Matrix4<f64>) {
    for point in &mut polygons.points {
        *point = matrix.transform_point(&Point3::from(*point)).coords.into();
    }
    let linear = matrix.fixed_view::<3, 3>(0, 0).into_owned();
    match linear.try_inverse() {
        Some(inverse) => {
            for normal in &mut polygons.normals.values {
                // Normals transform with the inverse transpose, so that they stay perpendicular.
                let turned = inverse.transpose() * nalgebra::Vector3::from(normal.map(f64::from));
                *normal = single(turned.into());
            }
        }
        None => polygons.normals = PerCorner::default(),
    }
    // A mirroring matrix reverses the winding.
    if linear.determinant() < 0.0 {
        turn_inside_out(polygons);
    }
}

/// Reverses the winding of every face.
pub(super) fn turn_inside_out(polygons: &mut Polygons) {
    let mut first = 0;
    for &count in &polygons.counts {
        let end = first + count;
        let lists = [
            &mut polygons.corners,
            &mut polygons.normals.indices,
            &mut polygons.uvs.indices,
            &mut polygons.colors.indices,
        ];
        for list in lists {
            // Keeps the first corner of each face in place.
            if let Some(face) = list.get_mut(first + 1..end) {
                face.reverse();
            }
        }
        first = end;
    }
}
