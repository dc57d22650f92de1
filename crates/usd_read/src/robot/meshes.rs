//! Converts meshes of a stage to the model's: triangles with normals, texture coordinates, colours
//! and materials by corner and face.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use nalgebra::{Matrix4, Point3};

use super::materials::{Materials, has_many_colors};
use super::scene::Scene;
use super::shapes::number_array;
use crate::codes;
use urdf_usd_diagnostic::Place;
use urdf_usd_mesh::{PerCorner, Polygons, from_polygons};
use urdf_usd_robot::{Mesh, MeshId, MeshSource, Robot};
use urdf_usd_stage::{Prim, PrimId, int_array, pairs, text, vectors};

/// Names of the primvar of texture coordinates, in order of precedence.
const UV_NAMES: [&str; 5] = ["st", "st0", "st_0", "UVMap", "map1"];

/// Path of the scope in which this program writes meshes.
const GEOMETRIES: &str = "/Geometries/";

/// The meshes of a robot, without duplicates.
#[derive(Default)]
pub(super) struct Meshes {
    /// Meshes by the prim shared by instances, and the bits of the matrix applied to the points.
    known: HashMap<(usize, Option<[u64; 16]>), MeshId>,
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
        let bits = baked.map(|matrix| std::array::from_fn(|k| matrix[k].to_bits()));
        let key = (Arc::as_ptr(&prim.attributes) as usize, bits);
        if let Some(known) = self.known.get(&key).filter(|_| !has_subsets) {
            return Some(*known);
        }
        let mut polygons = polygons(scene, id);
        if has_subsets {
            subsets(scene, materials, id, &mut polygons);
        }
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
    stage
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

/// Returns the faces of a prim with their per-corner data.
fn polygons(scene: &Scene<'_>, id: PrimId) -> Polygons {
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
        uvs: uvs(prim, &lay),
        colors: colors(prim, &lay),
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
    fn of(&self, prim: &Prim, name: &str, otherwise: &str) -> Vec<u32> {
        let indices = prim.value(&format!("{name}:indices")).and_then(int_array);
        self.indices(interpolation(prim, name).unwrap_or(otherwise), indices)
    }
}

fn interpolation<'a>(prim: &'a Prim, name: &str) -> Option<&'a str> {
    prim.attributes
        .get(name)?
        .metadata
        .get("interpolation")
        .and_then(text)
}

fn single(vector: [f64; 3]) -> [f32; 3] {
    vector.map(|x| x as f32)
}

/// Returns the authored normals. `primvars:normals` take precedence over `normals`
/// (UsdGeomPointBased).
fn normals(prim: &Prim, lay: &Lay<'_>) -> PerCorner<[f32; 3]> {
    for (name, otherwise) in [("primvars:normals", "constant"), ("normals", "vertex")] {
        if let Some(values) = prim
            .value(name)
            .and_then(vectors)
            .filter(|values| !values.is_empty())
        {
            return PerCorner {
                values: values.into_iter().map(single).collect(),
                indices: lay.of(prim, name, otherwise),
            };
        }
    }
    PerCorner::default()
}

fn uvs(prim: &Prim, lay: &Lay<'_>) -> PerCorner<[f32; 2]> {
    let known = UV_NAMES.into_iter().map(|name| format!("primvars:{name}"));
    let others = prim.attributes.iter().filter(|(name, attribute)| {
        attribute.type_name.starts_with("texCoord2")
            && name.starts_with("primvars:")
            && !name.ends_with(":indices")
    });
    let others = others.map(|(name, _)| name.clone());
    let found = known
        .chain(others)
        .find_map(|name| Some((prim.value(&name).and_then(pairs)?, name)));
    let Some((values, name)) = found else {
        return PerCorner::default();
    };
    PerCorner {
        values: values.into_iter().map(|uv| uv.map(|x| x as f32)).collect(),
        indices: lay.of(prim, &name, "constant"),
    }
}

/// Returns vertex colours that vary; a uniform colour becomes a material.
fn colors(prim: &Prim, lay: &Lay<'_>) -> PerCorner<[f32; 4]> {
    const COLOR: &str = "primvars:displayColor";
    const OPACITY: &str = "primvars:displayOpacity";
    let Some(colors) = prim
        .value(COLOR)
        .and_then(vectors)
        .filter(|_| has_many_colors(prim))
    else {
        return PerCorner::default();
    };
    let indices = lay.of(prim, COLOR, "constant");
    let opacities = number_array(prim, OPACITY).filter(|opacities| !opacities.is_empty());
    let Some(opacities) = opacities else {
        let values = colors
            .into_iter()
            .map(|[r, g, b]| [r as f32, g as f32, b as f32, 1.0])
            .collect();
        return PerCorner { values, indices };
    };
    // One value for each distinct pair of colour and opacity.
    let of_opacity = lay.of(prim, OPACITY, "constant");
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

/// Reads faces with their own materials (GeomSubset of the family materialBind).
fn subsets(
    scene: &Scene<'_>,
    materials: &mut Materials<'_, '_>,
    id: PrimId,
    polygons: &mut Polygons,
) {
    polygons.face_materials = vec![None; polygons.counts.len()];
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
        let Some(material) = materials.of_part(child, id) else {
            continue;
        };
        let known = polygons
            .materials
            .iter()
            .position(|known| *known == material)
            .filter(|_| !stay_apart);
        let index = known.unwrap_or_else(|| {
            polygons.materials.push(material);
            polygons.materials.len() - 1
        });
        for &face in subset
            .value("indices")
            .and_then(int_array)
            .unwrap_or_default()
        {
            if let Some(own) = usize::try_from(face)
                .ok()
                .and_then(|face| polygons.face_materials.get_mut(face))
            {
                *own = Some(index as u32);
            }
        }
    }
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
