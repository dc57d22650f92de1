//! Material libraries of OBJ files.

use std::collections::HashMap;
use std::sync::Arc;

use super::{lines, name_after, number};
use crate::mesh::{Source, codes, texture as images};
use crate::robot::{Material, Texture};

/// Of more libraries on one line, the first are read.
const MAX_LIBRARIES: usize = 100;

/// Options of a texture that take any of one to three numbers.
const VECTOR_OPTIONS: &[&str] = &["-o", "-s", "-t"];

/// Options of a texture and the number of their arguments.
const OPTIONS: &[(&str, usize)] = &[
    ("-blendu", 1),
    ("-blendv", 1),
    ("-bm", 1),
    ("-boost", 1),
    ("-cc", 1),
    ("-clamp", 1),
    ("-colorspace", 1),
    ("-imfchan", 1),
    ("-mm", 2),
    ("-texres", 1),
    ("-type", 1),
];

/// The materials of all libraries of a file. Of two with one name, the later counts.
#[derive(Default)]
pub(super) struct Library {
    materials: HashMap<String, Definition>,
}

/// How a texture lies: (u, v) becomes `scale` · (u, v) + `offset`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placement {
    pub scale: [f32; 2],
    pub offset: [f32; 2],
}

/// A material as written.
#[derive(Default)]
struct Definition {
    /// Of the library's file; images are looked for there first. Empty if it is that of the mesh.
    folder: String,
    diffuse: Option<[f64; 3]>,
    emissive: Option<[f64; 3]>,
    /// `d`.
    opacity: Option<f64>,
    /// `Tr`.
    transparency: Option<f64>,
    roughness: Option<f64>,
    metallic: Option<f64>,
    texture: Option<(String, Placement)>,
    opacity_texture: Option<String>,
    emissive_texture: Option<String>,
    roughness_texture: Option<String>,
    metallic_texture: Option<String>,
}

impl Library {
    /// Reads the libraries that an `mtllib` line names: one whose name may have spaces, or several. False if one is missing.
    pub fn open(&mut self, names: &str, source: &mut Source) -> bool {
        let whole = source.open(names);
        let files = match whole {
            Ok(file) => vec![(names, Ok(file))],
            Err(reason) => {
                let mut splits = [split_names(names), names.split_ascii_whitespace().take(MAX_LIBRARIES).collect()]
                    .into_iter()
                    .map(|names| names.into_iter().map(|name| (name, source.open(name))).collect::<Vec<_>>());
                splits.find(|files| files.iter().any(|(_, file)| file.is_ok())).unwrap_or_else(|| vec![(names, Err(reason))])
            }
        };
        let mut complete = true;
        for (name, file) in files {
            match file {
                Ok(file) => self.read(&file.bytes, folder_of(name)),
                Err(reason) => {
                    complete = false;
                    let message = format!("the material library `{name}` can't be opened: {reason}");
                    source.report(&codes::MATERIAL_LIBRARY, message, "put it beside the OBJ file");
                }
            }
        }
        complete
    }

    fn read(&mut self, bytes: &[u8], folder: &str) {
        let mut current: Option<(String, Definition)> = None;
        for line in lines(bytes) {
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let Some(keyword) = words.next() else { continue };
            let keyword = String::from_utf8_lossy(keyword).to_ascii_lowercase();
            if keyword == "newmtl" {
                let next = (name_after(&line, 6), Definition { folder: folder.to_owned(), ..Definition::default() });
                self.materials.extend(current.replace(next));
            } else if let Some((_, definition)) = &mut current {
                let numbers = words.map_while(|word| (word[0] != b'#').then(|| number(word))).collect::<Vec<_>>();
                definition.set(&keyword, &numbers, || name_after(&line, keyword.len()));
            }
        }
        self.materials.extend(current);
    }

    /// The material of a name, and how its texture lies if not plainly.
    pub fn material(&self, name: &str, source: &mut Source) -> Option<(Material, Option<Placement>)> {
        let definition = self.materials.get(name)?;
        let mut image = |path: &str| definition.image(path, source);
        let texture = definition.texture.as_ref().and_then(|(path, placement)| Some((image(path)?, path, placement)));
        let mut mean = |path: &Option<String>, mean: fn(&Texture) -> Option<[f32; 4]>| mean(&*image(path.as_deref()?)?);
        let glow = mean(&definition.emissive_texture, images::mean_color);
        let roughness = mean(&definition.roughness_texture, images::mean_data);
        let metallic = mean(&definition.metallic_texture, images::mean_data);
        let stand_in = if texture.is_some() { 1.0 } else { 0.8 };
        let diffuse = definition.diffuse.filter(|c| texture.is_none() || *c != [0.0; 3]).unwrap_or([stand_in; 3]);
        let mut opacity = definition.opacity.or(definition.transparency.map(|t| 1.0 - t)).unwrap_or(1.0);
        if opacity <= 0.0 {
            source.report(&codes::OPACITY_ZERO, format!("the material `{name}` has an opacity of 0"), "");
            opacity = 1.0;
        }
        let color_path = texture.as_ref().map(|(_, path, _)| *path);
        if definition.opacity_texture.as_ref().is_some_and(|path| Some(path) != color_path) {
            let message = format!("the material `{name}` has an image of its opacity apart from that of its colour");
            source.report(&codes::SIMPLIFIED, message, "put the opacity into the alpha of the colour's image");
        }
        if glow.is_some() || roughness.is_some() || metallic.is_some() {
            let message =
                format!("the material `{name}` has images of its emission, roughness or metalness; their means count");
            source.report(&codes::SIMPLIFIED, message, "");
        }
        let [r, g, b] = linear(diffuse.map(|c| c.min(1.0)));
        let mut material = Material::plain(name, [r, g, b, unit(opacity)]);
        let emissive = linear(definition.emissive.unwrap_or_default());
        material.emissive = match glow {
            // Exporters leave a black colour beside an image.
            Some([r, g, b, _]) if emissive == [0.0; 3] => [r, g, b],
            Some(mean) => std::array::from_fn(|i| emissive[i] * mean[i]),
            None => emissive,
        };
        let scalar = |mean: Option<[f32; 4]>, value: Option<f64>| mean.map(|mean| mean[0]).or(value.map(unit));
        material.roughness = scalar(roughness, definition.roughness).unwrap_or(material.roughness);
        material.metallic = scalar(metallic, definition.metallic).unwrap_or(material.metallic);
        let mut placed = None;
        if let Some((texture, path, placement)) = texture {
            // An image's alpha is opacity only where the material says so.
            let alpha = definition.opacity_texture.as_ref().is_some_and(|opacity| opacity == path);
            material.base_color_texture = Some(if alpha { texture } else { images::opaque(texture) });
            placed = (*placement != Placement::PLAIN).then(|| placement.clone());
        }
        Some((material, placed))
    }
}

impl Placement {
    const PLAIN: Self = Self { scale: [1.0; 2], offset: [0.0; 2] };
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
            "pr" => self.roughness = value(),
            "pm" => self.metallic = value(),
            "map_kd" => self.texture = texture(&text()),
            "map_d" => self.opacity_texture = path(&text()),
            "map_ke" => self.emissive_texture = path(&text()),
            "map_pr" => self.roughness_texture = path(&text()),
            "map_pm" => self.metallic_texture = path(&text()),
            _ => {}
        }
    }

    /// An image, looked for beside the library, then beside the mesh.
    fn image(&self, path: &str, source: &mut Source) -> Option<Arc<Texture>> {
        let beside_library = format!("{}{path}", self.folder);
        let found = !self.folder.is_empty() && source.open(&beside_library).is_ok();
        source.texture(if found { &beside_library } else { path })
    }
}

/// The image alone.
fn path(text: &str) -> Option<String> {
    texture(text).map(|(path, _)| path)
}

/// The names in a list of libraries whose names may have spaces, but end with `.mtl`.
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

/// The folder that a library's name begins with, with its slash.
fn folder_of(library: &str) -> &str {
    &library[..library.rfind(['/', '\\']).map_or(0, |slash| slash + 1)]
}

/// Splits `-s 2 2 1 -clamp on my image.png` into the image and how it lies.
fn texture(text: &str) -> Option<(String, Placement)> {
    let mut placement = Placement::PLAIN;
    let mut rest = text.trim();
    while rest.starts_with('-') {
        let (option, after) = split_word(rest);
        let option = option.to_ascii_lowercase();
        if let Some((_, arguments)) = OPTIONS.iter().find(|(name, _)| *name == option) {
            rest = (0..*arguments).fold(after, |rest, _| split_word(rest).1);
        } else if VECTOR_OPTIONS.contains(&option.as_str()) {
            let mut values = Vec::new();
            rest = after;
            while values.len() < 3 {
                let (word, after) = split_word(rest);
                let Ok(value) = word.parse::<f32>() else { break };
                values.push(value);
                rest = after;
            }
            let target = match option.as_str() {
                "-s" => &mut placement.scale,
                "-o" => &mut placement.offset,
                _ => continue,
            };
            for (target, value) in target.iter_mut().zip(values).filter(|(_, value)| value.is_finite()) {
                *target = value;
            }
        } else {
            break;
        }
    }
    (!rest.is_empty()).then(|| (rest.to_owned(), placement))
}

/// The first word, and what follows it.
fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// Of components beyond 1, which only emission has, the excess is taken as a strength.
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
    use crate::mesh::test::{codes_of, read_with};

    #[test]
    fn options_of_textures() {
        let plain = |path: &str| Some((path.to_owned(), Placement::PLAIN));
        assert_eq!(texture("a.png"), plain("a.png"));
        assert_eq!(texture(" my image.png "), plain("my image.png"));
        assert_eq!(texture("-bm 0.5 -clamp on -mm 0 1 -t 1 a b.png"), plain("a b.png"));
        let placement = Placement { scale: [2.0, 1.0], offset: [0.5, 0.25] };
        assert_eq!(texture("-s 2 -o .5 .25 0 a.png"), Some(("a.png".into(), placement)));
        assert_eq!(texture("-odd.png"), plain("-odd.png"));
        assert_eq!(texture("-s 1 1 1"), None);
        assert_eq!(texture(""), None);
    }

    #[test]
    fn libraries_with_faults() {
        let obj = b"mtllib a.mtl missing.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl m\nf 1 2 3";
        let mtl = b"Kd 1 1 1\nnewmtl\nKd\nnewmtl m\nKd 1 x 1\nKd 0.5 0.5\nTr 1\nmap_Kd\nmap_Kd none.png\nd\nPr nan";
        let (mesh, diagnostics) = read_with("a.obj", obj, &[("a.mtl", mtl)]).unwrap();
        assert_eq!(codes_of(&diagnostics), ["mesh-material-library", "mesh-texture-missing", "mesh-opacity-zero"]);
        let material = &mesh.materials[0];
        assert_eq!((material.base_color[3], material.roughness), (1.0, 0.5));
        assert_eq!(material.base_color_texture, None);
    }
}
