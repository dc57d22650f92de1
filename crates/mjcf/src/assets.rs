//! Converts meshes, images and materials. A mesh of MuJoCo has a single material, so a mesh with
//! several materials is split.

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::sync::Arc;

use image::ImageFormat as Encoding;
use nalgebra::Vector3;

use super::bodies::has_extent;
use super::codes;
use urdf_usd_diagnostic::Collector;
use urdf_usd_mesh::{mean_color, write};
use urdf_usd_robot::names::UniqueNames;
use urdf_usd_robot::{
    ArenaMap, CacheEvicted, Corners, Geometry, ImageFormat, LazyMesh, Link, LinkId, Material, Mesh,
    MeshArrays, PLAIN_IOR, Part, Robot, Shape, Texture, Wrap, decimal,
};
use urdf_usd_text::xml::{Attributes, Document, number, numbers};

/// Maximum length of a file's name without its extension, in bytes.
const MAX_STEM_BYTES: usize = 100;
/// Minimum surface area of a mesh, in square metres: MuJoCo treats smaller ones as zero (mjMINVAL).
const MIN_AREA: f64 = 1e-14;
/// Minimum number of vertices of a mesh in MuJoCo.
const MIN_POINTS: usize = 4;

/// A geometry of a shape: a mesh, or without one, the shape itself.
#[derive(Clone, Debug)]
pub(super) struct Geom {
    pub mesh: Option<String>,
    pub material: Option<String>,
}

/// A mesh of MuJoCo: its name, file and scale.
struct MeshAsset {
    name: String,
    file: String,
    scale: Vector3<f64>,
}

/// Identity of a mesh file: the mesh, and the index of its part (`None` for its hull).
type FileKey = (*const LazyMesh, Option<usize>);

/// The geometries of a link, by visual and by collision.
#[derive(Clone, Debug, Default)]
struct LinkGeoms {
    visuals: Vec<Vec<Geom>>,
    collisions: Vec<Vec<Geom>>,
}

pub(super) struct Assets {
    /// Files by name.
    pub files: BTreeMap<String, Vec<u8>>,
    meshes: Vec<MeshAsset>,
    /// Attributes of the textures and materials, in order.
    textures: Vec<Attributes>,
    materials: Vec<Attributes>,
    geoms: ArenaMap<Link, LinkGeoms>,
}

impl Assets {
    pub fn new(robot: &Robot, findings: &mut Collector) -> Result<Self, CacheEvicted> {
        let mut builder = Builder {
            robot,
            findings,
            assets: Self {
                files: BTreeMap::new(),
                meshes: Vec::new(),
                textures: Vec::new(),
                materials: Vec::new(),
                geoms: ArenaMap::filled(robot.links(), LinkGeoms::default()),
            },
            stems: UniqueNames::default(),
            names: UniqueNames::default(),
            known_files: HashMap::new(),
            known_meshes: HashMap::new(),
            material_names: UniqueNames::default(),
            known_materials: Vec::new(),
            known_textures: HashMap::new(),
        };
        for (id, link) in robot.links().iter() {
            let visuals = link.visuals.iter().map(|shape| builder.visual(shape));
            let visuals = visuals.collect::<Result<_, _>>()?;
            let collisions = link
                .collisions
                .iter()
                .map(|shape| builder.collision(shape, link.name()));
            let collisions = collisions.collect::<Result<_, _>>()?;
            builder.assets.geoms[id] = LinkGeoms {
                visuals,
                collisions,
            };
        }
        Ok(builder.assets)
    }

    /// Returns the geometries of a link's visual or collision.
    pub fn geoms(&self, link: LinkId, is_visual: bool, index: usize) -> &[Geom] {
        let geoms = &self.geoms[link];
        let shapes = if is_visual {
            &geoms.visuals
        } else {
            &geoms.collisions
        };
        shapes.get(index).map_or(&[], Vec::as_slice)
    }

    /// Writes the asset definitions.
    pub fn define(&self, to: &mut Document) {
        to.open("asset", Vec::new());
        for texture in &self.textures {
            to.leaf("texture", texture.clone());
        }
        for material in &self.materials {
            to.leaf("material", material.clone());
        }
        for MeshAsset { name, file, scale } in &self.meshes {
            let mut mesh: Attributes = vec![("name", name.clone()), ("file", file.clone())];
            if *scale != Vector3::repeat(1.0) {
                mesh.push(("scale", numbers(scale.iter().copied())));
            }
            // Masses are explicit: no volume is needed, and open meshes have none.
            mesh.push(("inertia", "shell".to_owned()));
            to.leaf("mesh", mesh);
        }
        to.close();
    }
}

struct Builder<'a, 'f> {
    robot: &'a Robot,
    findings: &'f mut Collector,
    assets: Assets,
    stems: UniqueNames,
    names: UniqueNames,
    known_files: HashMap<FileKey, String>,
    known_meshes: HashMap<(String, [u64; 3]), String>,
    material_names: UniqueNames,
    known_materials: Vec<(Material, String)>,
    /// By the hash of the image; `None` if it can't be written.
    known_textures: HashMap<String, Option<String>>,
}

impl<'a> Builder<'a, '_> {
    /// Returns the geometries of a visual: the primitive shape, or one mesh for each material.
    fn visual(&mut self, shape: &'a Shape) -> Result<Vec<Geom>, CacheEvicted> {
        if !self.is_valid(shape, "visual") {
            return Ok(Vec::new());
        }
        let robot = self.robot;
        let own = shape.material.map(|id| &robot.materials()[id]);
        let Geometry::Mesh { mesh, scale } = shape.geometry else {
            let material = own.map(|own| self.material(own, None, shape));
            return Ok(vec![Geom {
                mesh: None,
                material,
            }]);
        };
        let source = &robot.meshes()[mesh];
        let loaded = source.mesh.load()?;
        let mut geoms = Vec::new();
        let mut looks: Vec<Option<usize>> = Vec::new();
        for part in &source.mesh.parts {
            if !looks.contains(&part.material) {
                looks.push(part.material);
            }
        }
        for (number, look) in looks.iter().enumerate() {
            let key = (Arc::as_ptr(&source.mesh), Some(number));
            let piece = piece(&loaded, *look);
            if area(&piece, scale) < MIN_AREA {
                // A part without a surface shows nothing; reported only if nothing else remains.
                if looks.len() == 1 {
                    self.report_omission(shape, "a visual has a mesh without a surface");
                }
                continue;
            }
            let obj = || {
                Ok(padded(
                    write::obj(&piece, None, "", &mut |_| String::new()).obj,
                    &piece,
                ))
            };
            let file = self.file(key, source.stem(), "obj", obj)?;
            let mesh = self.mesh(file, scale);
            let shown = look
                .and_then(|look| source.mesh.materials.get(look))
                .or(own);
            let colors = piece.colors.as_ref();
            let material = match (shown, colors) {
                (Some(shown), _) if !shown.shows_corner_colors => {
                    Some(self.material(shown, None, shape))
                }
                (shown, Some(colors)) => {
                    let plain = Material::plain("colours", [1.0; 4]);
                    let shown = shown.unwrap_or(&plain).clone();
                    Some(self.material(&shown, Some(mean(colors)), shape))
                }
                (Some(shown), None) => Some(self.material(shown, None, shape)),
                (None, None) => None,
            };
            geoms.push(Geom {
                mesh: Some(mesh),
                material,
            });
        }
        Ok(geoms)
    }

    /// Returns the geometries of a collision: the primitive shape, or the convex hull of its mesh.
    fn collision(&mut self, shape: &'a Shape, link: &str) -> Result<Vec<Geom>, CacheEvicted> {
        if !self.is_valid(shape, "collision") {
            return Ok(Vec::new());
        }
        let Geometry::Mesh { mesh, scale } = shape.geometry else {
            return Ok(vec![Geom {
                mesh: None,
                material: None,
            }]);
        };
        let source = &self.robot.meshes()[mesh];
        // MuJoCo collides every mesh as its convex hull, so the hull is written.
        let Some(hull) = &source.hull else {
            self.report_omission(shape, "a collision has a mesh without a convex hull");
            return Ok(Vec::new());
        };
        let mut stem = source.stem().to_owned();
        if !Arc::ptr_eq(hull, &source.mesh) {
            stem += "_hull";
            let message = format!("link \"{link}\" collides as the convex hull of its mesh");
            let help = "if the hull is too coarse, use --convex-parts 16, or primitive shapes";
            self.findings
                .report(&codes::HULL, &shape.place, message, help);
        }
        let key = (Arc::as_ptr(hull), None);
        let file = self.file(key, &stem, "stl", || Ok(write::stl(&*hull.arrays()?)))?;
        let mesh = self.mesh(file, scale);
        Ok(vec![Geom {
            mesh: Some(mesh),
            material: None,
        }])
    }

    fn is_valid(&mut self, shape: &Shape, what: &str) -> bool {
        if matches!(shape.geometry, Geometry::Missing { .. }) {
            self.report_omission(shape, &format!("a {what} has a mesh that was not read"));
            return false;
        }
        if !has_extent(&shape.geometry) {
            self.report_omission(shape, &format!("a {what} has no extent"));
            return false;
        }
        true
    }

    fn report_omission(&mut self, shape: &Shape, why: &str) {
        let message = format!("{why}; it is left out of the MJCF");
        self.findings.report(
            &codes::SHAPE,
            &shape.place,
            message,
            "use a shape with a surface or volume",
        );
    }

    /// Returns the name of a file, which is created if needed.
    fn file(
        &mut self,
        key: FileKey,
        stem: &str,
        ending: &str,
        bytes: impl FnOnce() -> Result<Vec<u8>, CacheEvicted>,
    ) -> Result<String, CacheEvicted> {
        if let Some(known) = self.known_files.get(&key) {
            return Ok(known.clone());
        }
        let file = format!("{}.{ending}", self.stem(stem, "mesh"));
        self.assets.files.insert(file.clone(), bytes()?);
        self.known_files.insert(key, file.clone());
        Ok(file)
    }

    /// Returns a valid file name similar to `name` and unique regardless of case.
    fn stem(&mut self, name: &str, fallback: &str) -> String {
        let plain = |c: char| {
            if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '_'
            }
        };
        let name: String = name
            .trim()
            .trim_start_matches('.')
            .chars()
            .map(plain)
            .take(MAX_STEM_BYTES)
            .collect();
        self.stems.unique_or(&name.to_lowercase(), fallback)
    }

    /// Returns the name of a mesh of MuJoCo, which is created if needed.
    fn mesh(&mut self, file: String, scale: Vector3<f64>) -> String {
        let key = (file.clone(), [scale.x, scale.y, scale.z].map(f64::to_bits));
        if let Some(known) = self.known_meshes.get(&key) {
            return known.clone();
        }
        let stem = file
            .rsplit_once('.')
            .map_or(file.as_str(), |(stem, _)| stem);
        let name = self.names.unique_or(stem, "mesh");
        self.known_meshes.insert(key, name.clone());
        self.assets.meshes.push(MeshAsset {
            name: name.clone(),
            file,
            scale,
        });
        name
    }

    /// Returns the name of a material of MuJoCo, which is created if needed. `corners` is the mean
    /// vertex colour, which multiplies the material's colour.
    fn material(
        &mut self,
        material: &Material,
        corners: Option<[f32; 4]>,
        shape: &Shape,
    ) -> String {
        let mut material = material.clone();
        if let Some(corners) = corners {
            for (factor, corner) in material.base_color.iter_mut().zip(corners) {
                *factor *= corner;
            }
        }
        if let Some((_, name)) = self
            .known_materials
            .iter()
            .find(|(known, _)| *known == material)
        {
            return name.clone();
        }
        let name = self.material_names.unique_or(&material.name, "material");
        let mut attributes: Attributes = vec![("name", name.clone())];
        let mut lost: Vec<&str> = Vec::new();
        lost.extend(corners.map(|_| "its vertex colours"));
        let texture = material
            .base_color_texture
            .clone()
            .and_then(|texture| self.texture(&texture, shape));
        // The image includes the colour; without it, the mean colour replaces it.
        let rgba = if texture.is_some() {
            [1.0; 4]
        } else {
            srgb(&material)
        };
        attributes.extend(texture.map(|texture| ("texture", texture)));
        attributes.push(("rgba", numbers(rgba)));
        let plain = Material::plain("", [1.0; 4]);
        if material.metallic != plain.metallic || material.roughness != plain.roughness {
            attributes.push(("metallic", shortest(material.metallic)));
            attributes.push(("roughness", shortest(material.roughness)));
        }
        match emission(&material) {
            Some(0.0) => {}
            Some(emission) => attributes.push(("emission", number(emission))),
            None => lost.push("its emission"),
        }
        lost.extend((!material.maps.is_empty()).then_some("further images"));
        let placement = material.placement();
        lost.extend(
            placement
                .is_moved()
                .then_some("the transform of its texture coordinates"),
        );
        lost.extend((placement.wrap != [Wrap::Repeat; 2]).then_some("the wrap mode of its image"));
        lost.extend(material.specular.map(|_| "its specular colour"));
        lost.extend((material.clearcoat > 0.0).then_some("its clear coat"));
        lost.extend((material.ior != PLAIN_IOR).then_some("its index of refraction"));
        if !lost.is_empty() {
            let message = format!(
                "the MJCF has material \"{}\" without {}",
                material.name,
                lost.join(", ")
            );
            let help = "use the OpenUSD or glTF asset, which has all of it";
            self.findings
                .report(&codes::LOOKS, &shape.place, message, help);
        }
        self.assets.materials.push(attributes);
        self.known_materials.push((material, name.clone()));
        name
    }

    /// Returns the name of a texture of MuJoCo, whose image is a separate file.
    fn texture(&mut self, texture: &Arc<Texture>, shape: &Shape) -> Option<String> {
        if let Some(known) = self.known_textures.get(&texture.sha256) {
            return known.clone();
        }
        let name = match png(texture) {
            Ok(bytes) => {
                let stem = self.stem(&texture.name, "image");
                let file = format!("{stem}.png");
                self.assets.files.insert(file.clone(), bytes);
                self.assets.textures.push(vec![
                    ("name", stem.clone()),
                    ("type", "2d".to_owned()),
                    ("file", file),
                ]);
                Some(stem)
            }
            Err(error) => {
                let message = format!(
                    "the image \"{}\" can't be written as a PNG: {error}",
                    texture.name
                );
                self.findings.report(
                    &codes::IMAGE,
                    &shape.place,
                    message,
                    "convert the image to PNG",
                );
                None
            }
        };
        self.known_textures
            .insert(texture.sha256.clone(), name.clone());
        name
    }
}

/// Returns the image as PNG.
fn png(texture: &Texture) -> Result<Vec<u8>, image::ImageError> {
    match texture.format {
        ImageFormat::Png => Ok(texture.bytes.to_vec()),
        ImageFormat::Jpeg => {
            let mut bytes = Cursor::new(Vec::new());
            image::load_from_memory_with_format(&texture.bytes, Encoding::Jpeg)?
                .write_to(&mut bytes, Encoding::Png)?;
            Ok(bytes.into_inner())
        }
    }
}

/// Returns the triangles of a mesh with one material, and the points that they use.
fn piece(mesh: &Mesh, look: Option<usize>) -> Mesh {
    let ranges = || {
        mesh.parts
            .iter()
            .filter(|part| part.material == look)
            .flat_map(|part| part.triangles.clone())
    };
    let mut renumbered: HashMap<u32, u32> = HashMap::new();
    let mut points = Vec::new();
    let mut triangles = Vec::new();
    for triangle in ranges().filter_map(|index| mesh.triangles.get(index)) {
        triangles.push(triangle.map(|point| {
            *renumbered.entry(point).or_insert_with(|| {
                points.push(mesh.points.get(point as usize).copied().unwrap_or_default());
                u32::try_from(points.len() - 1).unwrap_or(u32::MAX)
            })
        }));
    }
    let part = Part {
        triangles: 0..triangles.len(),
        material: None,
    };
    let arrays = MeshArrays {
        normals: corners(&mesh.normals, ranges()),
        uvs: mesh.uvs.as_ref().map(|uvs| corners(uvs, ranges())),
        colors: mesh.colors.as_ref().map(|colors| corners(colors, ranges())),
        points,
        triangles,
    };
    Mesh::new(arrays, vec![part], Vec::new())
}

/// Returns the corner values of some triangles, renumbered.
fn corners<T: Copy>(source: &Corners<T>, triangles: impl Iterator<Item = usize>) -> Corners<T> {
    let mut renumbered: HashMap<u32, u32> = HashMap::new();
    let mut values = Vec::new();
    let indices = triangles
        .filter_map(|index| source.indices.get(index))
        .map(|corners| {
            corners.map(|corner| {
                match (renumbered.get(&corner), source.values.get(corner as usize)) {
                    (Some(&known), _) => known,
                    (None, Some(&value)) => {
                        values.push(value);
                        let number = u32::try_from(values.len() - 1).unwrap_or(u32::MAX);
                        renumbered.insert(corner, number);
                        number
                    }
                    (None, None) => 0,
                }
            })
        });
    let indices = indices.collect();
    Corners { values, indices }
}

/// Returns the OBJ with the minimum number of vertices that MuJoCo requires, by repeating the last
/// one.
fn padded(mut obj: String, piece: &Mesh) -> Vec<u8> {
    if let Some([x, y, z]) = piece.points.last() {
        (piece.points.len()..MIN_POINTS).for_each(|_| obj.push_str(&format!("v {x} {y} {z}\n")));
    }
    obj.into_bytes()
}

/// Returns the surface area of a mesh, in square metres.
fn area(mesh: &Mesh, scale: Vector3<f64>) -> f64 {
    let point = |index: u32| {
        let point = mesh.points.get(index as usize).copied().unwrap_or_default();
        Vector3::from(point.map(f64::from)).component_mul(&scale)
    };
    let triangle_area =
        |&[a, b, c]: &[u32; 3]| 0.5 * (point(b) - point(a)).cross(&(point(c) - point(a))).norm();
    mesh.triangles.iter().map(triangle_area).sum()
}

fn mean(colors: &Corners<[f32; 4]>) -> [f32; 4] {
    let count = (3 * colors.indices.len()).max(1) as f32;
    let all = colors
        .indices
        .iter()
        .flatten()
        .filter_map(|&index| colors.values.get(index as usize));
    let mut sum = [0.0; 4];
    for color in all {
        for (sum, part) in sum.iter_mut().zip(color) {
            *sum += part;
        }
    }
    sum.map(|part| part / count)
}

/// Returns the colour of a material in sRGB, and its opacity, as the shortest decimals that read
/// back the same.
fn srgb(material: &Material) -> [f64; 4] {
    let [red, green, blue, alpha] = match material
        .base_color_texture
        .as_ref()
        .and_then(|texture| mean_color(texture))
    {
        // Its image could not be written: use the mean colour of the image.
        Some([red, green, blue, _]) => [red, green, blue, material.base_color[3]],
        None => material.base_color,
    };
    let component = |linear: f32| {
        let is_same =
            |srgb: f64| (0.0..=1.0).contains(&srgb) && Material::linear(srgb) as f32 == linear;
        decimal::shortest(Material::srgb(f64::from(linear)), is_same)
    };
    [
        component(red),
        component(green),
        component(blue),
        decimal::shortest(f64::from(alpha), |other| other as f32 == alpha),
    ]
}

fn shortest(value: f32) -> String {
    number(decimal::shortest(f64::from(value), |other| {
        other as f32 == value
    }))
}

/// Returns the factor between the emission and the colour of a material; `None` if they are not
/// proportional.
fn emission(material: &Material) -> Option<f64> {
    if material.emissive == [0.0; 3] {
        return Some(0.0);
    }
    if material.base_color_texture.is_some() {
        return None;
    }
    let parts = || material.base_color.into_iter().zip(material.emissive);
    // The largest component: a quotient of small ones is inexact, or has no value.
    let (base, emitted) = parts().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let factor = emitted / base;
    let is_same = parts().all(|(base, emitted)| (base * factor - emitted).abs() < 1e-4);
    (factor.is_finite() && is_same).then_some(f64::from(factor))
}
