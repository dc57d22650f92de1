//! Material libraries of OBJ files.

use std::collections::HashMap;

use super::{lines, name_after, number};
use crate::mesh::{Source, codes};
use crate::robot::Material;

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
}

impl Library {
    /// Reads the libraries that an `mtllib` line names: one whose name may have spaces, or several. False if one is missing.
    pub fn open(&mut self, names: &str, source: &mut Source) -> bool {
        let whole = source.open(names);
        let several: Vec<&str> = names.split_ascii_whitespace().collect();
        let files = match whole {
            Ok(file) => vec![Ok(file)],
            Err(reason) if several.len() < 2 => vec![Err((names, reason))],
            Err(reason) => {
                let files: Vec<_> =
                    several.into_iter().map(|name| source.open(name).map_err(|reason| (name, reason))).collect();
                if files.iter().any(Result::is_ok) { files } else { vec![Err((names, reason))] }
            }
        };
        let mut complete = true;
        for file in files {
            match file {
                Ok(file) => self.read(&file.bytes),
                Err((name, reason)) => {
                    complete = false;
                    let message = format!("the material library `{name}` can't be opened: {reason}");
                    source.report(&codes::MATERIAL_LIBRARY, message, "put it beside the OBJ file");
                }
            }
        }
        complete
    }

    fn read(&mut self, bytes: &[u8]) {
        let mut current: Option<(String, Definition)> = None;
        for line in lines(bytes) {
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let Some(keyword) = words.next() else { continue };
            let keyword = String::from_utf8_lossy(keyword).to_ascii_lowercase();
            if keyword == "newmtl" {
                let next = (name_after(&line, 6), Definition::default());
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
        let texture = definition.texture.as_ref().and_then(|(path, placement)| Some((source.texture(path)?, path, placement)));
        let stand_in = if texture.is_some() { 1.0 } else { 0.8 };
        let diffuse = definition.diffuse.filter(|c| texture.is_none() || *c != [0.0; 3]).unwrap_or([stand_in; 3]);
        let mut opacity = definition.opacity.or(definition.transparency.map(|t| 1.0 - t)).unwrap_or(1.0);
        if opacity <= 0.0 {
            source.report(&codes::OPACITY_ZERO, format!("the material `{name}` has an opacity of 0"), "");
            opacity = 1.0;
        }
        let [r, g, b] = linear(diffuse);
        let mut material = Material::plain(name, [r, g, b, unit(opacity)]);
        material.emissive = linear(definition.emissive.unwrap_or_default());
        material.roughness = definition.roughness.map_or(material.roughness, unit);
        material.metallic = definition.metallic.map_or(material.metallic, unit);
        let mut placed = None;
        if let Some((texture, path, placement)) = texture {
            // An image's alpha is opacity only where the material says so.
            let alpha = definition.opacity_texture.as_ref().is_some_and(|opacity| opacity == path);
            material.base_color_texture = Some(if alpha { texture } else { crate::mesh::texture::opaque(texture) });
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
            "map_d" => self.opacity_texture = texture(&text()).map(|(path, _)| path),
            _ => {}
        }
    }
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

fn linear(srgb: [f64; 3]) -> [f32; 3] {
    srgb.map(|c| Material::linear(c.clamp(0.0, 1.0)) as f32)
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
