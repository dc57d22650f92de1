//! Wavefront OBJ with its material library (MTL).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use urdf_usd_robot::names::UniqueNames;
use urdf_usd_robot::{Channel, MapRole, Material, Mesh, PLAIN_IOR, Texture, Wrap, decimal};

/// A mesh as OBJ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obj {
    /// The OBJ file.
    pub obj: String,
    /// Its material library under the given name, if it has materials.
    pub mtl: Option<String>,
    /// Descriptions of the properties that neither file can represent.
    pub lost: Vec<&'static str>,
}

/// Writes a mesh as OBJ. `material` is used where the mesh has none; `library` is the file name of
/// the material library, and `image` returns that of an image.
pub fn obj(
    mesh: &Mesh,
    material: Option<&Material>,
    library: &str,
    image: &mut dyn FnMut(&Arc<Texture>) -> String,
) -> Obj {
    let mut text = String::new();
    let mut lost: Vec<&'static str> = Vec::new();
    let mesh = &*mesh.with_placed_uvs(material);
    let shown = |part: &urdf_usd_robot::Part| {
        part.material
            .and_then(|own| mesh.materials.get(own))
            .or(material)
    };
    // Corners that show their colours get no material, since it would hide them.
    let is_named = |material: &&Material| mesh.colors.is_none() || !material.shows_corner_colors;
    let mut used: Vec<&Material> = Vec::new();
    for material in mesh.parts.iter().filter_map(shown).filter(is_named) {
        if !used.contains(&material) {
            used.push(material);
        }
    }
    let names = names(&used);
    if !used.is_empty() {
        let _ = writeln!(text, "mtllib {library}");
    }
    let shows_colors = mesh
        .parts
        .iter()
        .any(|part| shown(part).is_none_or(|material| material.shows_corner_colors));
    let vertices = Vertices::of(mesh, shows_colors);
    for (position, color) in &vertices.list {
        let _ = write!(text, "v {} {} {}", position[0], position[1], position[2]);
        if let Some([r, g, b, _]) = color {
            let [r, g, b] = [*r, *g, *b].map(|linear| Material::srgb(f64::from(linear)) as f32);
            let _ = write!(text, " {r} {g} {b}");
        }
        text.push('\n');
    }
    if vertices
        .list
        .iter()
        .any(|(_, color)| color.is_some_and(|color| color[3] < 1.0))
    {
        lost.push("the opacity of its corners");
    }
    for [u, v] in mesh.uvs.iter().flat_map(|uvs| &uvs.values) {
        let _ = writeln!(text, "vt {u} {v}");
    }
    for [x, y, z] in &mesh.normals.values {
        let _ = writeln!(text, "vn {x} {y} {z}");
    }
    for part in &mesh.parts {
        match shown(part).filter(is_named).and_then(|material| {
            used.iter()
                .zip(&names)
                .find(|(other, _)| **other == material)
        }) {
            Some((_, name)) => {
                let _ = writeln!(text, "usemtl {name}");
            }
            // Nothing else ends the preceding `usemtl`.
            None if !used.is_empty() => text.push_str("usemtl\n"),
            None => {}
        }
        for triangle in part.triangles.clone() {
            write_face(&mut text, mesh, &vertices, triangle);
        }
    }
    let mtl = (!used.is_empty()).then(|| {
        let mut library = String::new();
        for (material, name) in used.iter().zip(&names) {
            define(&mut library, material, name, image, &mut lost);
        }
        library
    });
    lost.sort_unstable();
    lost.dedup();
    Obj {
        obj: text,
        mtl,
        lost,
    }
}

/// Writes the line of a triangle.
fn write_face(text: &mut String, mesh: &Mesh, vertices: &Vertices, triangle: usize) {
    text.push('f');
    for corner in 0..3 {
        let of = |indices: &[[u32; 3]]| {
            let index = indices
                .get(triangle)
                .and_then(|corners| corners.get(corner));
            // OBJ counts from 1.
            index.map_or(1, |&index| u64::from(index) + 1)
        };
        let position = vertices
            .corners
            .get(triangle)
            .and_then(|corners| corners.get(corner))
            .map_or(1, |vertex| vertex + 1);
        let uv = mesh
            .uvs
            .as_ref()
            .map_or_else(String::new, |uvs| of(&uvs.indices).to_string());
        let _ = write!(text, " {position}/{uv}/{}", of(&mesh.normals.indices));
    }
    text.push('\n');
}

/// The vertices of a file: points, or, if corners have colours, each point once per colour.
struct Vertices {
    list: Vec<([f32; 3], Option<[f32; 4]>)>,
    /// The vertices of each triangle.
    corners: Vec<[usize; 3]>,
}

impl Vertices {
    fn of(mesh: &Mesh, shows_colors: bool) -> Self {
        let Some(colors) = mesh.colors.as_ref().filter(|_| shows_colors) else {
            let list = mesh.points.iter().map(|point| (*point, None)).collect();
            return Self {
                list,
                corners: mesh
                    .triangles
                    .iter()
                    .map(|triangle| triangle.map(|point| point as usize))
                    .collect(),
            };
        };
        let mut known: HashMap<(u32, u32), usize> = HashMap::new();
        let mut list = Vec::new();
        let mut vertex = |point: u32, color: u32| {
            *known.entry((point, color)).or_insert_with(|| {
                let position = mesh.points.get(point as usize).copied().unwrap_or_default();
                list.push((position, colors.values.get(color as usize).copied()));
                list.len() - 1
            })
        };
        let triangles = mesh.triangles.iter().zip(&colors.indices);
        let corners = triangles
            .map(|(&[a, b, c], &[d, e, f])| [vertex(a, d), vertex(b, e), vertex(c, f)])
            .collect();
        Self { list, corners }
    }
}

/// Returns a unique name for each material: its own with `_` for spaces, numbered where needed.
fn names(materials: &[&Material]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut taken = UniqueNames::default();
    for material in materials {
        let own = material
            .name
            .split_whitespace()
            .collect::<Vec<_>>()
            .join("_");
        let own = if own.is_empty() {
            "material".to_owned()
        } else {
            own
        };
        names.push(taken.unique(&own));
    }
    names
}

/// Returns the shortest sRGB component that is read back as `linear`.
fn srgb(linear: f32) -> f64 {
    let is_same =
        |srgb: f64| (0.0..=1.0).contains(&srgb) && Material::linear(srgb) as f32 == linear;
    decimal::shortest(Material::srgb(f64::from(linear)), is_same)
}

fn define(
    library: &mut String,
    material: &Material,
    name: &str,
    image: &mut dyn FnMut(&Arc<Texture>) -> String,
    lost: &mut Vec<&'static str>,
) {
    let [red, green, blue, alpha] = material.base_color;
    let plain = Material::plain("", [1.0; 4]);
    let _ = writeln!(library, "newmtl {name}");
    let _ = writeln!(library, "Kd {} {} {}", srgb(red), srgb(green), srgb(blue));
    let _ = writeln!(library, "d {alpha}");
    if material.ior != PLAIN_IOR {
        let _ = writeln!(library, "Ni {}", material.ior);
    }
    // The extension of MTL for physically based materials.
    let _ = writeln!(
        library,
        "Pr {}\nPm {}",
        material.roughness, material.metallic
    );
    if material.emissive != plain.emissive {
        // sRGB ends at 1. Brighter emission is a colour times a strength, as our reader takes it.
        let most = material.emissive.into_iter().fold(1.0, f32::max);
        let [r, g, b] = material
            .emissive
            .map(|part| srgb(part / most) * f64::from(most));
        let _ = writeln!(library, "Ke {r} {g} {b}");
    }
    let placement = material.placement();
    if material.maps.values().any(|map| map.placement != placement) {
        lost.push("that some of its images lie otherwise than the first");
    }
    let is_clamped = placement.wrap == [Wrap::Clamp; 2];
    if placement.wrap != [Wrap::Repeat; 2] && !is_clamped {
        lost.push("how its images go on beyond their edges");
    }
    let clamp = if is_clamped { " -clamp on" } else { "" };
    if material.specular.is_some() {
        lost.push("its specular colour");
    }
    if material.clearcoat > 0.0 {
        let _ = writeln!(
            library,
            "Pc {}\nPcr {}",
            material.clearcoat, material.clearcoat_roughness
        );
    }
    let mut picture = |keyword: &str, options: &str, texture: &Arc<Texture>| {
        let _ = writeln!(library, "{keyword}{clamp}{options} {}", image(texture));
    };
    if let Some(texture) = &material.base_color_texture {
        picture("map_Kd", "", texture);
        // The alpha channel counts only if the image is also named for the opacity.
        if texture.has_alpha {
            picture("map_d", "", texture);
        }
    }
    for (role, map) in &material.maps {
        let channel = match map.channel {
            _ if !role.is_scalar() => "",
            Channel::Red => " -imfchan r",
            Channel::Green => " -imfchan g",
            Channel::Blue => " -imfchan b",
            Channel::Alpha => " -imfchan m",
        };
        match role {
            MapRole::Normal if map.strength == 1.0 => picture("norm", "", &map.texture),
            MapRole::Normal => picture("norm", &format!(" -bm {}", map.strength), &map.texture),
            MapRole::Occlusion => lost.push("its image of occlusion"),
            MapRole::Roughness => {
                lost.extend(
                    (material.roughness != 1.0).then_some("the factor of its image of roughness"),
                );
                picture("map_Pr", channel, &map.texture);
            }
            MapRole::Metallic => {
                lost.extend(
                    (material.metallic != 1.0).then_some("the factor of its image of metalness"),
                );
                picture("map_Pm", channel, &map.texture);
            }
            MapRole::Opacity => picture("map_d", channel, &map.texture),
            MapRole::Emissive => picture("map_Ke", "", &map.texture),
            MapRole::Clearcoat | MapRole::ClearcoatRoughness => {
                lost.push("the images of its clear coat")
            }
        }
    }
}
