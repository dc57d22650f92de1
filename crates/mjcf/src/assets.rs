//! Meshes, images and materials: a mesh of MuJoCo has one material, so a mesh with several looks
//! becomes several.

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

/// The most bytes of a file's name without its ending.
const MAX_STEM: usize = 100;
/// The least surface of a mesh in square metres: MuJoCo takes less for nothing (mjMINVAL).
const MIN_AREA: f64 = 1e-14;
/// MuJoCo's least number of vertices.
const MIN_POINTS: usize = 4;

/// A geometry of a shape: a mesh, or (without one) the solid that the shape is.
#[derive(Clone, Debug)]
pub(super) struct Geom {
    pub mesh: Option<String>,
    pub material: Option<String>,
}

/// A mesh of MuJoCo: its name, its file and its scale.
struct MeshAsset {
    name: String,
    file: String,
    scale: Vector3<f64>,
}

/// What identifies a mesh file: the mesh, and which part of it (`None`: its hull).
type FileKey = (*const LazyMesh, Option<usize>);

/// The geometries of a link: of each visual, of each collision.
#[derive(Clone, Debug, Default)]
struct LinkGeoms {
    visuals: Vec<Vec<Geom>>,
    collisions: Vec<Vec<Geom>>,
}

pub(super) struct Assets {
    /// The files by name.
    pub files: BTreeMap<String, Vec<u8>>,
    meshes: Vec<MeshAsset>,
    /// The attributes of the textures and materials, in their order.
    textures: Vec<Attributes>,
    materials: Vec<Attributes>,
    geoms: ArenaMap<Link, LinkGeoms>,
}

impl Assets {
    pub fn of(robot: &Robot, findings: &mut Collector) -> Result<Self, CacheEvicted> {
        let mut maker = Maker {
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
            let visuals = link.visuals.iter().map(|shape| maker.visual(shape));
            let visuals = visuals.collect::<Result<_, _>>()?;
            let collisions = link
                .collisions
                .iter()
                .map(|shape| maker.collision(shape, link.name()));
            let collisions = collisions.collect::<Result<_, _>>()?;
            maker.assets.geoms[id] = LinkGeoms {
                visuals,
                collisions,
            };
        }
        Ok(maker.assets)
    }

    /// The geometries of a link's visual or collision.
    pub fn geoms(&self, link: LinkId, is_visual: bool, index: usize) -> &[Geom] {
        let of_link = &self.geoms[link];
        let shapes = if is_visual {
            &of_link.visuals
        } else {
            &of_link.collisions
        };
        shapes.get(index).map_or(&[], Vec::as_slice)
    }

    /// Writes the definitions.
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
            // Masses are given: nothing needs a volume, which an open mesh doesn't have.
            mesh.push(("inertia", "shell".to_owned()));
            to.leaf("mesh", mesh);
        }
        to.close();
    }
}

struct Maker<'a, 'f> {
    robot: &'a Robot,
    findings: &'f mut Collector,
    assets: Assets,
    stems: UniqueNames,
    names: UniqueNames,
    known_files: HashMap<FileKey, String>,
    known_meshes: HashMap<(String, [u64; 3]), String>,
    material_names: UniqueNames,
    known_materials: Vec<(Material, String)>,
    /// By the hash of what is in them; `None`: it can't be written.
    known_textures: HashMap<String, Option<String>>,
}

impl<'a> Maker<'a, '_> {
    /// The geometries of a visual: the solid, or one mesh for each look.
    fn visual(&mut self, shape: &'a Shape) -> Result<Vec<Geom>, CacheEvicted> {
        if !self.can_be(shape, "visual") {
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
                // A part without a surface shows nothing, where others do.
                if looks.len() == 1 {
                    self.left_out(shape, "a visual has a mesh without a surface");
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

    /// The geometries of a collision: the solid, or the convex hull of its mesh.
    fn collision(&mut self, shape: &'a Shape, link: &str) -> Result<Vec<Geom>, CacheEvicted> {
        if !self.can_be(shape, "collision") {
            return Ok(Vec::new());
        }
        let Geometry::Mesh { mesh, scale } = shape.geometry else {
            return Ok(vec![Geom {
                mesh: None,
                material: None,
            }]);
        };
        let source = &self.robot.meshes()[mesh];
        let Some(hull) = &source.hull else {
            self.left_out(shape, "a collision has a mesh without a convex hull");
            return Ok(Vec::new());
        };
        let message = format!("link \"{link}\" collides by the convex hull of its mesh");
        let help =
            "use boxes, cylinders and spheres where the hull is too coarse, or several meshes";
        self.findings
            .report(&codes::HULL, &shape.place, message, help);
        let key = (Arc::as_ptr(hull), None);
        let file = self.file(key, &format!("{}_hull", source.stem()), "stl", || {
            Ok(write::stl(&*hull.arrays()?))
        })?;
        let mesh = self.mesh(file, scale);
        Ok(vec![Geom {
            mesh: Some(mesh),
            material: None,
        }])
    }

    fn can_be(&mut self, shape: &Shape, what: &str) -> bool {
        if matches!(shape.geometry, Geometry::Missing { .. }) {
            self.left_out(shape, &format!("a {what} has a mesh that was not read"));
            return false;
        }
        if !has_extent(&shape.geometry) {
            self.left_out(shape, &format!("a {what} has no extent"));
            return false;
        }
        true
    }

    fn left_out(&mut self, shape: &Shape, why: &str) {
        let message = format!("{why}; the MJCF does without it");
        self.findings.report(
            &codes::SHAPE,
            &shape.place,
            message,
            "give it a form with a surface or volume",
        );
    }

    /// The name of a file, which is made if it is not there yet.
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

    /// The nearest to `name` that can be that of a file and is free, whatever the case of its
    /// letters.
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
            .take(MAX_STEM)
            .collect();
        self.stems.unique_or(&name.to_lowercase(), fallback)
    }

    /// The name of a mesh of MuJoCo.
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

    /// The name of a material of MuJoCo. `corners`: the mean colour that corners multiply it by.
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
        lost.extend(corners.map(|_| "the colours of corners"));
        let texture = material
            .base_color_texture
            .clone()
            .and_then(|texture| self.texture(&texture, shape));
        // With an image the colour is what stands in for it.
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
            None => lost.push("the light that it emits"),
        }
        lost.extend((!material.maps.is_empty()).then_some("further images"));
        let placement = material.placement();
        lost.extend(
            placement
                .is_moved()
                .then_some("the transform of its texture coordinates"),
        );
        lost.extend(
            (placement.wrap != [Wrap::Repeat; 2])
                .then_some("how its image goes on beyond its edges"),
        );
        lost.extend(material.specular.map(|_| "its specular colour"));
        lost.extend((material.clearcoat > 0.0).then_some("its clear coat"));
        lost.extend((material.ior != PLAIN_IOR).then_some("the index of refraction"));
        if !lost.is_empty() {
            let message = format!(
                "material \"{}\" is in the MJCF without {}",
                material.name,
                lost.join(", ")
            );
            let help = "the OpenUSD and glTF assets have all of it";
            self.findings
                .report(&codes::LOOKS, &shape.place, message, help);
        }
        self.assets.materials.push(attributes);
        self.known_materials.push((material, name.clone()));
        name
    }

    /// The name of a texture of MuJoCo, whose image is in a file of its own.
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
                    "give the image as a PNG",
                );
                None
            }
        };
        self.known_textures
            .insert(texture.sha256.clone(), name.clone());
        name
    }
}

/// The image as a PNG.
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

/// The triangles of a mesh with one look, and the points that they have.
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

/// The values of some triangles' corners.
fn corners<T: Copy>(of: &Corners<T>, triangles: impl Iterator<Item = usize>) -> Corners<T> {
    let mut renumbered: HashMap<u32, u32> = HashMap::new();
    let mut values = Vec::new();
    let indices = triangles
        .filter_map(|index| of.indices.get(index))
        .map(|corners| {
            corners.map(
                |corner| match (renumbered.get(&corner), of.values.get(corner as usize)) {
                    (Some(&known), _) => known,
                    (None, Some(&value)) => {
                        values.push(value);
                        let number = u32::try_from(values.len() - 1).unwrap_or(u32::MAX);
                        renumbered.insert(corner, number);
                        number
                    }
                    (None, None) => 0,
                },
            )
        });
    let indices = indices.collect();
    Corners { values, indices }
}

/// An OBJ with as many vertices as MuJoCo wants: the last is there again and again.
fn padded(mut obj: String, piece: &Mesh) -> Vec<u8> {
    if let Some([x, y, z]) = piece.points.last() {
        (piece.points.len()..MIN_POINTS).for_each(|_| obj.push_str(&format!("v {x} {y} {z}\n")));
    }
    obj.into_bytes()
}

/// The surface of a mesh, square metres.
fn area(mesh: &Mesh, scale: Vector3<f64>) -> f64 {
    let point = |index: u32| {
        let point = mesh.points.get(index as usize).copied().unwrap_or_default();
        Vector3::from(point.map(f64::from)).component_mul(&scale)
    };
    let of_triangle =
        |&[a, b, c]: &[u32; 3]| 0.5 * (point(b) - point(a)).cross(&(point(c) - point(a))).norm();
    mesh.triangles.iter().map(of_triangle).sum()
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

/// The colour of a material in sRGB, and its opacity: the shortest decimals that are read as the
/// same.
fn srgb(material: &Material) -> [f64; 4] {
    let [red, green, blue, alpha] = match material
        .base_color_texture
        .as_ref()
        .and_then(|texture| mean_color(texture))
    {
        // Its image could not be written.
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

/// The factor of the colour that comes to the light that a material emits; `None` if there is none.
fn emission(material: &Material) -> Option<f64> {
    if material.emissive == [0.0; 3] {
        return Some(0.0);
    }
    if material.base_color_texture.is_some() {
        return None;
    }
    let parts = || material.base_color.into_iter().zip(material.emissive);
    let (base, emitted) = parts().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let factor = emitted / base;
    let is_same = parts().all(|(base, emitted)| (base * factor - emitted).abs() < 1e-4);
    (factor.is_finite() && is_same).then_some(f64::from(factor))
}
