//! Material libraries of OBJ files.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{lines, name_after, number};
use crate::maps::{self, Laid};
use crate::texture::{Use, Values};
use crate::{MAX_IOR, Source, codes};
use urdf_usd_robot::{Channel, Map, MapRole, Material, Texture};

/// Maximum number of libraries on one line; the rest is ignored.
const MAX_LIBRARIES: usize = 100;

/// Texture options with one to three numbers.
const VECTOR_OPTIONS: &[&str] = &["-o", "-s", "-t"];

/// Texture options and the number of their arguments.
const OPTIONS: &[(&str, usize)] = &[
    ("-blendu", 1),
    ("-blendv", 1),
    ("-boost", 1),
    ("-cc", 1),
    ("-clamp", 1),
    ("-colorspace", 1),
    ("-mm", 2),
    ("-texres", 1),
    ("-type", 1),
];

/// Map roles by keyword: MTL, and its extension for physically based materials.
const ROLES: &[(&str, MapRole)] = &[
    ("map_d", MapRole::Opacity),
    ("map_ke", MapRole::Emissive),
    ("map_pr", MapRole::Roughness),
    ("map_pm", MapRole::Metallic),
    ("norm", MapRole::Normal),
    ("map_norm", MapRole::Normal),
];

/// Other keywords that name images, in addition to all that begin with `map_`.
const OTHERS: &[&str] = &["decal", "disp", "refl"];

/// Maximum number of unsupported images that are reported per material.
const MAX_OTHERS: usize = 16;

/// The materials of all libraries of a file. The later of two with one name counts.
#[derive(Default)]
pub(super) struct Library {
    materials: HashMap<String, Definition>,
}

/// The placement of a texture: (u, v) becomes `scale` · (u, v) + `offset`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placement {
    pub scale: [f32; 2],
    pub offset: [f32; 2],
}

/// A material as written.
#[derive(Default)]
struct Definition {
    /// The folder of the library, searched for images first. Empty if it is that of the mesh.
    folder: String,
    diffuse: Option<[f64; 3]>,
    emissive: Option<[f64; 3]>,
    /// `d`.
    opacity: Option<f64>,
    /// `Tr`.
    transparency: Option<f64>,
    roughness: Option<f64>,
    metallic: Option<f64>,
    /// `Ni`.
    ior: Option<f64>,
    texture: Option<Picture>,
    maps: BTreeMap<MapRole, Picture>,
    /// `bump`: heights by specification, but exporters write normals, too.
    bump: Option<Picture>,
    /// Images without a counterpart in a material, by keyword.
    others: Vec<(String, Picture)>,
}

/// A reference to an image in a material.
#[derive(Clone, Debug, PartialEq)]
struct Picture {
    path: String,
    placement: Placement,
    /// `-imfchan`.
    channel: Option<(Values, Channel)>,
    /// `-bm`.
    strength: f32,
}

impl Library {
    /// Reads the libraries named by an `mtllib` line: one whose name may contain spaces, or
    /// several. Returns false if one is missing.
    pub fn open(&mut self, names: &str, source: &mut Source) -> bool {
        let whole = source.open(names);
        let files = match whole {
            Ok(file) => vec![(names, Ok(file))],
            Err(reason) => {
                let mut splits = [
                    split_names(names),
                    names.split_ascii_whitespace().take(MAX_LIBRARIES).collect(),
                ]
                .into_iter()
                .map(|names| {
                    names
                        .into_iter()
                        .map(|name| (name, source.open(name)))
                        .collect::<Vec<_>>()
                });
                splits
                    .find(|files| files.iter().any(|(_, file)| file.is_ok()))
                    .unwrap_or_else(|| vec![(names, Err(reason))])
            }
        };
        let mut complete = true;
        for (name, file) in files {
            match file {
                Ok(file) => self.read(&file.bytes, folder_of(name)),
                Err(reason) => {
                    complete = false;
                    let message =
                        format!("the material library `{name}` can't be opened: {reason}");
                    source.report(
                        &codes::MATERIAL_LIBRARY,
                        message,
                        "put it beside the OBJ file",
                    );
                }
            }
        }
        complete
    }

    fn read(&mut self, bytes: &[u8], folder: &str) {
        let mut current: Option<(String, Definition)> = None;
        for line in lines(bytes) {
            let mut words = line
                .split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty());
            let Some(keyword) = words.next() else {
                continue;
            };
            let keyword = String::from_utf8_lossy(keyword).to_ascii_lowercase();
            if keyword == "newmtl" {
                let next = (
                    name_after(&line, 6),
                    Definition {
                        folder: folder.to_owned(),
                        ..Definition::default()
                    },
                );
                self.materials.extend(current.replace(next));
            } else if let Some((_, definition)) = &mut current {
                let numbers = words
                    .map_while(|word| (!word.starts_with(b"#")).then(|| number(word)))
                    .collect::<Vec<_>>();
                definition.set(&keyword, &numbers, || name_after(&line, keyword.len()));
            }
        }
        self.materials.extend(current);
    }

    /// Returns the material with a name, and the placement of its images unless it is the identity.
    pub fn material(
        &self,
        name: &str,
        source: &mut Source,
    ) -> Option<(Material, Option<Placement>)> {
        let definition = self.materials.get(name)?;
        // An image's alpha is opacity only if the material refers to it for that.
        let is_opacity = |path: &str| {
            definition
                .maps
                .get(&MapRole::Opacity)
                .is_some_and(|opacity| opacity.path == path)
        };
        let usage = |path: &str| {
            if is_opacity(path) {
                Use::Transparent
            } else {
                Use::Opaque
            }
        };
        let texture = definition
            .texture
            .as_ref()
            .and_then(|of| Some((definition.image(&of.path, usage(&of.path), source)?, of)));
        let stand_in = if texture.is_some() { 1.0 } else { 0.8 };
        let diffuse = definition
            .diffuse
            // A black factor would hide the image.
            .filter(|c| texture.is_none() || *c != [0.0; 3])
            .unwrap_or([stand_in; 3]);
        let mut opacity = definition
            .opacity
            .or(definition.transparency.map(|t| 1.0 - t))
            .unwrap_or(1.0);
        if opacity <= 0.0 {
            source.report(
                &codes::OPACITY_ZERO,
                format!("the material `{name}` has an opacity of 0"),
                "",
            );
            opacity = 1.0;
        }
        let [r, g, b] = linear(diffuse.map(|c| c.min(1.0)));
        let mut material = Material::plain(name, [r, g, b, unit(opacity)]);
        material.emissive = linear(definition.emissive.unwrap_or_default());
        material.roughness = definition.roughness.map_or(material.roughness, unit);
        material.metallic = definition.metallic.map_or(material.metallic, unit);
        // Exporters write 1, at which nothing would reflect, as a default.
        material.ior = definition
            .ior
            .filter(|ior| *ior > 1.0)
            .map_or(material.ior, |ior| ior.min(MAX_IOR) as f32);
        let mut laid = Laid::new(texture.as_ref().map(|(_, of)| of.placement.clone()));
        if let Some((texture, _)) = texture {
            material.base_color_texture = Some(texture);
        }
        definition.add_maps(&mut material, &mut laid, source);
        material.cut_out(crate::is_mask);
        Some((
            material,
            laid.into_inner()
                .filter(|placement| *placement != Placement::PLAIN),
        ))
    }
}

impl Placement {
    const PLAIN: Self = Self {
        scale: [1.0; 2],
        offset: [0.0; 2],
    };
}

impl Definition {
    fn set(&mut self, keyword: &str, numbers: &[f64], text: impl FnOnce() -> String) {
        let colour = || match *numbers {
            [grey] if grey.is_finite() => Some([grey; 3]),
            [r, g, b, ..] if r.is_finite() && g.is_finite() && b.is_finite() => Some([r, g, b]),
            _ => None,
        };
        let value = || numbers.iter().copied().find(|x| x.is_finite());
        match keyword {
            "kd" => self.diffuse = colour(),
            "ke" => self.emissive = colour(),
            "d" => self.opacity = value(),
            "tr" => self.transparency = value(),
            "ni" => self.ior = value(),
            "pr" => self.roughness = value(),
            "pm" => self.metallic = value(),
            "map_kd" => self.texture = picture(&text()),
            "map_bump" | "bump" => self.bump = picture(&text()),
            _ => match ROLES.iter().find(|(name, _)| *name == keyword) {
                Some((_, role)) => {
                    self.maps.remove(role);
                    self.maps
                        .extend(picture(&text()).map(|picture| (*role, picture)));
                }
                None if self.others.len() < MAX_OTHERS
                    && (keyword.starts_with("map_") || OTHERS.contains(&keyword)) =>
                {
                    self.others
                        .extend(picture(&text()).map(|picture| (keyword.to_owned(), picture)));
                }
                None => {}
            },
        }
    }

    /// Adds the images other than that of the colour to the material, and reports the unsupported
    /// ones.
    fn add_maps(&self, material: &mut Material, laid: &mut Laid<Placement>, source: &mut Source) {
        for (&role, picture) in &self.maps {
            if role == MapRole::Opacity
                && self
                    .texture
                    .as_ref()
                    .is_some_and(|color| color.path == picture.path)
            {
                continue;
            }
            let usage = if role == MapRole::Opacity {
                Use::Transparent
            } else {
                Use::Opaque
            };
            let Some(image) = self.image(&picture.path, usage, source) else {
                continue;
            };
            let Some(map) = picture.map(role, &image, source) else {
                continue;
            };
            match role {
                // The image replaces the number.
                MapRole::Roughness => material.roughness = 1.0,
                MapRole::Metallic => material.metallic = 1.0,
                // Exporters write a black colour beside an image.
                MapRole::Emissive if material.emissive == [0.0; 3] => material.emissive = [1.0; 3],
                _ => {}
            }
            let fits = laid.fits(picture.placement.clone());
            maps::add(material, role, map, fits, source);
        }
        let mut without_place = Vec::new();
        if let Some(picture) = &self.bump
            && let Some(image) = self.image(&picture.path, Use::Opaque, source)
        {
            if self.maps.contains_key(&MapRole::Normal) {
                without_place.push(format!(
                    "bump ({}), beside its image of normals",
                    picture.path
                ));
            } else {
                match source.holds_normals(&image) {
                    // Reported already.
                    None => {}
                    Some(false) => {
                        let message = format!(
                            "the bump image `{}` of the material `{}` holds heights, which say no slope without a scale; it is left out",
                            picture.path, material.name
                        );
                        source.report(
                            &codes::SIMPLIFIED,
                            message,
                            "bake it into an image of normals, and name that with `norm`",
                        );
                    }
                    Some(true) => {
                        if let Some(map) = picture.map(MapRole::Normal, &image, source) {
                            let message = format!(
                                "the bump image `{}` of the material `{}` holds normals, and is taken for what it is",
                                picture.path, material.name
                            );
                            source.report(&codes::SIMPLIFIED, message, "name it with `norm`");
                            let fits = laid.fits(picture.placement.clone());
                            maps::add(material, MapRole::Normal, map, fits, source);
                        }
                    }
                }
            }
        }
        let is_color = |path: &String| {
            self.texture
                .as_ref()
                .is_some_and(|color| color.path == *path)
        };
        // Exporters repeat the image of the colour as that of the ambient light.
        let others = self
            .others
            .iter()
            .filter(|(keyword, picture)| keyword != "map_ka" || !is_color(&picture.path));
        without_place
            .extend(others.map(|(keyword, picture)| format!("{keyword} ({})", picture.path)));
        if !without_place.is_empty() {
            let message = format!(
                "the material `{}` has images that no output has a place for: {}",
                material.name,
                without_place.join(", ")
            );
            source.report(
                &codes::SIMPLIFIED,
                message,
                "name images of roughness, metalness and normals with map_Pr, map_Pm and norm",
            );
        }
    }

    /// Loads an image, searched beside the library, then beside the mesh.
    fn image(&self, path: &str, usage: Use, source: &mut Source) -> Option<Arc<Texture>> {
        let beside_library = format!("{}{path}", self.folder);
        let found = !self.folder.is_empty() && source.open(&beside_library).is_ok();
        source.texture(if found { &beside_library } else { path }, usage)
    }
}

impl Picture {
    /// Returns the image as the map of `role`. `None` if it has no effect or is unreadable, which
    /// is reported.
    fn map(&self, role: MapRole, image: &Arc<Texture>, source: &mut Source) -> Option<Map> {
        let plain = |texture: Arc<Texture>| Map {
            strength: self.strength,
            ..Map::of(texture, Channel::Red)
        };
        match (role, self.channel) {
            (MapRole::Emissive, _) => Some(Map::of(image.clone(), Channel::Red)),
            (MapRole::Normal, _) => Some(plain(
                source.map(image, Values::Channels, Channel::Red)?.texture,
            )),
            // The opacity of an image with an alpha channel is in that channel.
            (MapRole::Opacity, None) if image.has_alpha => {
                source.map(image, Values::Alpha, Channel::Red)
            }
            (_, Some((values, channel))) => source.map(image, values, channel),
            (_, None) => source.map(image, Values::Channels, Channel::Red),
        }
    }
}

/// Splits a list of libraries whose names may contain spaces, but end with `.mtl`.
fn split_names(names: &str) -> Vec<&str> {
    const END: &str = ".mtl";
    let lower = names.to_ascii_lowercase();
    let mut start = 0;
    let mut split = Vec::new();
    for (at, _) in lower.match_indices(END) {
        let end = at + END.len();
        if lower[end..].starts_with(|c: char| c.is_ascii_whitespace()) || end == names.len() {
            split.push(names[start..end].trim());
            start = end;
        }
    }
    split.truncate(MAX_LIBRARIES);
    split
}

/// Returns the folder part of a library's name, with its slash.
fn folder_of(library: &str) -> &str {
    &library[..library.rfind(['/', '\\']).map_or(0, |slash| slash + 1)]
}

/// Splits `-s 2 2 1 -clamp on my image.png` into the image and its placement.
fn picture(text: &str) -> Option<Picture> {
    let mut placement = Placement::PLAIN;
    let (mut channel, mut strength) = (None, 1.0);
    let mut rest = text.trim();
    while rest.starts_with('-') {
        let (option, after) = split_word(rest);
        let option = option.to_ascii_lowercase();
        if let Some((_, arguments)) = OPTIONS.iter().find(|(name, _)| *name == option) {
            rest = (0..*arguments).fold(after, |rest, _| split_word(rest).1);
        } else if option == "-bm" {
            let (word, after) = split_word(after);
            strength = word
                .parse()
                .ok()
                .filter(|strength: &f32| strength.is_finite())
                .unwrap_or(strength);
            rest = after;
        } else if option == "-imfchan" {
            let (word, after) = split_word(after);
            channel = match word {
                "r" => Some((Values::Channels, Channel::Red)),
                "g" => Some((Values::Channels, Channel::Green)),
                "b" => Some((Values::Channels, Channel::Blue)),
                "m" => Some((Values::Alpha, Channel::Red)),
                "l" => Some((Values::Luminance, Channel::Red)),
                _ => None,
            };
            rest = after;
        } else if VECTOR_OPTIONS.contains(&option.as_str()) {
            let mut values = Vec::new();
            rest = after;
            while values.len() < 3 {
                let (word, after) = split_word(rest);
                let Ok(value) = word.parse::<f32>() else {
                    break;
                };
                values.push(value);
                rest = after;
            }
            let target = match option.as_str() {
                "-s" => &mut placement.scale,
                "-o" => &mut placement.offset,
                // `-t`, turbulence, has no counterpart. Its numbers are skipped.
                _ => continue,
            };
            for (target, value) in target
                .iter_mut()
                .zip(values)
                .filter(|(_, value)| value.is_finite())
            {
                *target = value;
            }
        } else {
            break;
        }
    }
    (!rest.is_empty()).then(|| Picture {
        path: rest.to_owned(),
        placement,
        channel,
        strength,
    })
}

/// Returns the first word and the rest.
fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text
        .split_once(|c: char| c.is_ascii_whitespace())
        .unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// Converts a colour to linear. Components above 1, which only emission has, are taken as a
/// strength.
fn linear(srgb: [f64; 3]) -> [f32; 3] {
    let strength = srgb.into_iter().fold(1.0, f64::max).min(1e6);
    let srgb = srgb.map(|c| c.min(1e6));
    srgb.map(|c| (Material::linear(c.max(0.0) / strength) * strength) as f32)
}

fn unit(value: f64) -> f32 {
    value.clamp(0.0, 1.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::{codes_of, read_with};

    #[test]
    fn options_of_textures() {
        let plain = |path: &str| Picture {
            path: path.to_owned(),
            placement: Placement::PLAIN,
            channel: None,
            strength: 1.0,
        };
        assert_eq!(picture("a.png"), Some(plain("a.png")));
        assert_eq!(picture(" my image.png "), Some(plain("my image.png")));
        assert_eq!(
            picture("-boost 0.5 -clamp on -mm 0 1 -t 1 a b.png"),
            Some(plain("a b.png"))
        );
        let placement = Placement {
            scale: [2.0, 1.0],
            offset: [0.5, 0.25],
        };
        assert_eq!(
            picture("-s 2 -o .5 .25 0 a.png"),
            Some(Picture {
                placement,
                ..plain("a.png")
            })
        );
        let strong = Picture {
            strength: 0.5,
            channel: Some((Values::Alpha, Channel::Red)),
            ..plain("a.png")
        };
        assert_eq!(picture("-bm 0.5 -imfchan m a.png"), Some(strong));
        assert_eq!(picture("-bm nan -imfchan z a.png"), Some(plain("a.png")));
        assert_eq!(picture("-odd.png"), Some(plain("-odd.png")));
        assert_eq!(picture("-s 1 1 1"), None);
        assert_eq!(picture(""), None);
    }

    #[test]
    fn libraries_with_faults() {
        let obj = b"mtllib a.mtl missing.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl m\nf 1 2 3";
        let mtl = b"Kd 1 1 1\nnewmtl\nKd\nnewmtl m\nKd 1 x 1\nKd 0.5 0.5\nTr 1\nmap_Kd\nmap_Kd none.png\nd\nPr nan";
        let (mesh, diagnostics) = read_with("a.obj", obj, &[("a.mtl", mtl)]).unwrap();
        assert_eq!(
            codes_of(&diagnostics),
            [
                "mesh-material-library",
                "mesh-texture-missing",
                "mesh-opacity-zero"
            ]
        );
        let material = &mesh.materials[0];
        assert_eq!((material.base_color[3], material.roughness), (1.0, 0.5));
        assert_eq!(material.base_color_texture, None);
    }
}
