//! Wavefront OBJ with its material libraries (MTL).
//!
//! Read by our own code: the crate for it panics on some inputs (a colour of fewer than three numbers, indices that overflow)
//! and gives up a file for one bad face.

mod mtl;

use std::borrow::Cow;
use std::collections::HashMap;

use nalgebra::Matrix4;

use super::assembly::{Assembly, Corner, NONE, Surface};
use super::normals::Shading;
use super::polygon::Triangulator;
use super::{Error, Source, codes};
use crate::robot::Mesh;

/// Whether the first lines that say anything are of an OBJ file.
pub(super) fn looks_like(text: &[u8]) -> bool {
    const WORDS: &[&str] = &["v", "vt", "vn", "vp", "f", "o", "g", "s", "l", "p", "mtllib", "usemtl"];
    let mut first_words = lines(&text[..text.len().min(4096)]).filter_map(|line| {
        let text = String::from_utf8_lossy(&line).into_owned();
        text.split_ascii_whitespace().next().filter(|word| !word.starts_with('#')).map(str::to_owned)
    });
    first_words.next().is_some_and(|word| WORDS.contains(&word.as_str()))
}

/// Reads the file.
pub(super) fn read(source: &mut Source) -> Result<Mesh, Error> {
    let bytes = source.file.bytes.clone();
    let mut assembly = Assembly::new(bytes.len());
    let mut object = Object::default();
    let mut triangulator = Triangulator::new();
    for line in lines(&bytes) {
        object.line(&line, &mut triangulator);
    }
    assembly.unusable(object.unusable);
    if object.skipped > 0 {
        source.report(
            &codes::SKIPPED,
            format!("{} lines, points, curves or free-form surfaces are left out", object.skipped),
            "",
        );
    }
    let materials = object.bind_materials(source, &mut assembly);
    let runs: Vec<_> = object.runs.iter().map(|run| (run.triangles.clone(), materials[run.material])).collect();
    let Object { positions, normals, uvs, triangles, .. } = &object;
    assembly.add(&Surface { positions, normals, uvs, colors: &[], triangles, runs: &runs }, &Matrix4::identity())?;
    assembly.finish(source, Shading::Smooth)
}

/// Triangles in a row with one material.
struct Run {
    triangles: std::ops::Range<usize>,
    /// An index into [`Object::names`].
    material: usize,
}

/// What has been read of a file.
#[derive(Default)]
struct Object {
    positions: Vec<[f64; 3]>,
    normals: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    triangles: Vec<[Corner; 3]>,
    runs: Vec<Run>,
    /// Names of materials in the order of their first use; `None` for none.
    names: Vec<Option<String>>,
    name_index: HashMap<Option<String>, usize>,
    material: Option<String>,
    libraries: Vec<String>,
    unusable: usize,
    skipped: usize,
    /// The face that is being read; kept for its memory.
    face: Vec<Corner>,
}

impl Object {
    fn line(&mut self, line: &[u8], triangulator: &mut Triangulator) {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        match words.next() {
            Some(b"v") => {
                let mut values = words.map_while(|word| (word[0] != b'#').then(|| number(word)));
                let mut position = [(); 3].map(|()| values.next().unwrap_or(f64::NAN));
                // A fourth number alone is a weight; more are a colour.
                if let (Some(w), None) = (values.next(), values.next())
                    && w != 0.0
                {
                    position = position.map(|x| x / w);
                }
                self.positions.push(position);
            }
            Some(b"vn") => self.normals.push([(); 3].map(|()| words.next().map_or(f32::NAN, |word| number(word) as f32))),
            Some(b"vt") => {
                let u = words.next().map_or(f32::NAN, |word| number(word) as f32);
                self.uvs.push([u, words.next().filter(|word| word[0] != b'#').map_or(0.0, |word| number(word) as f32)]);
            }
            Some(b"f" | b"fo") => self.face(words, triangulator),
            Some(b"usemtl") => self.material = Some(name_after(line, 6)).filter(|name| !name.is_empty()),
            Some(b"mtllib") => {
                let name = name_after(line, 6);
                if !self.libraries.contains(&name) {
                    self.libraries.push(name);
                }
            }
            Some(b"l" | b"p" | b"curv" | b"curv2" | b"surf") => self.skipped += 1,
            _ => {}
        }
    }

    fn face<'a>(&mut self, words: impl Iterator<Item = &'a [u8]>, triangulator: &mut Triangulator) {
        let mut face = std::mem::take(&mut self.face);
        face.clear();
        face.extend(words.map_while(|word| (word[0] != b'#').then(|| self.corner(word))));
        let before = self.triangles.len();
        match face.len() {
            0..=2 => self.unusable += 1,
            3 => self.triangles.push([face[0], face[1], face[2]]),
            _ => {
                let at = |c: &Corner| self.positions.get(c.position as usize).copied().unwrap_or([f64::NAN; 3]);
                let outline: Vec<_> = face.iter().map(at).collect();
                triangulator.cut(&outline, &[], |t| self.triangles.push(t.map(|i| face[i])));
            }
        }
        self.face = face;
        self.add_to_run(before);
    }

    /// Counts the triangles from `before` on to the current material.
    fn add_to_run(&mut self, before: usize) {
        let end = self.triangles.len();
        if before == end {
            return;
        }
        if let Some(run) = self.runs.last_mut()
            && self.names[run.material] == self.material
        {
            run.triangles.end = end;
            return;
        }
        let material = *self.name_index.entry(self.material.clone()).or_insert_with(|| {
            self.names.push(self.material.clone());
            self.names.len() - 1
        });
        self.runs.push(Run { triangles: before..end, material });
    }

    /// `7`, `7/3`, `7//2`, `7/3/2`; negative numbers count back from the latest.
    fn corner(&self, word: &[u8]) -> Corner {
        let mut parts = word.split(|&b| b == b'/');
        let mut index = |len: usize| parts.next().and_then(|part| index(part, len)).unwrap_or(NONE);
        Corner {
            position: index(self.positions.len()),
            uv: index(self.uvs.len()),
            normal: index(self.normals.len()),
            color: NONE,
        }
    }

    /// The materials of `names` in the assembly.
    fn bind_materials(&mut self, source: &mut Source, assembly: &mut Assembly) -> Vec<u32> {
        let mut library = mtl::Library::default();
        let mut complete = true;
        for name in &self.libraries {
            complete &= library.open(name, source);
        }
        let mut bound = Vec::new();
        for (index, name) in self.names.clone().iter().enumerate() {
            let Some(name) = name else {
                bound.push(NONE);
                continue;
            };
            let Some((material, placement)) = library.material(name, source) else {
                if complete {
                    let message = format!("the material `{name}` is defined in no material library of the file");
                    source.report(
                        &codes::MATERIAL,
                        message,
                        "export the OBJ with its materials, or name the library with mtllib",
                    );
                }
                bound.push(NONE);
                continue;
            };
            bound.push(assembly.material(material));
            if let Some(placement) = placement {
                self.place_texture(index, &placement);
            }
        }
        bound
    }

    /// Applies a texture's scale and offset to the corners that have the material `index`.
    fn place_texture(&mut self, index: usize, placement: &mtl::Placement) {
        for run in self.runs.iter().filter(|run| run.material == index) {
            for corner in self.triangles[run.triangles.clone()].iter_mut().flatten() {
                if let Some(uv) = self.uvs.get(corner.uv as usize) {
                    let uv = [0, 1].map(|k| uv[k] * placement.scale[k] + placement.offset[k]);
                    corner.uv = self.uvs.len() as u32;
                    self.uvs.push(uv);
                }
            }
        }
    }
}

/// The lines of a file, with continued ones joined; a byte order mark is skipped.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut lines = bytes.split(|&b| b == b'\n' || b == b'\r');
    std::iter::from_fn(move || {
        let first = lines.next()?;
        let Some(start) = first.trim_ascii_end().strip_suffix(b"\\") else { return Some(Cow::Borrowed(first)) };
        let mut joined = start.to_vec();
        let mut empty = 0;
        for next in lines.by_ref() {
            // The second half of a CR LF is an empty line.
            if next.is_empty() && empty == 0 {
                empty += 1;
                continue;
            }
            joined.push(b' ');
            match next.trim_ascii_end().strip_suffix(b"\\") {
                Some(part) => joined.extend(part),
                None => {
                    joined.extend(next);
                    break;
                }
            }
            empty = 0;
        }
        Some(Cow::Owned(joined))
    })
}

/// The rest of a line after its keyword, which may have spaces in it.
fn name_after(line: &[u8], keyword: usize) -> String {
    let rest = line.trim_ascii_start().get(keyword..).unwrap_or_default();
    String::from_utf8_lossy(rest.trim_ascii()).into_owned()
}

/// Not a number if it is none.
fn number(word: &[u8]) -> f64 {
    str::from_utf8(word).ok().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}

/// A one-based or negative index as a zero-based one; `None` if it is none.
fn index(word: &[u8], len: usize) -> Option<u32> {
    let value: i64 = str::from_utf8(word).ok()?.parse().ok()?;
    let index = match value {
        1.. => value - 1,
        0 => return None,
        _ => i64::try_from(len).ok()?.checked_add(value)?,
    };
    u32::try_from(index).ok().filter(|&i| i != NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::test::{codes_of, read, read_with, triangles};

    #[test]
    fn corners_of_every_kind() {
        let text = "\u{feff}# a comment\nv 0 0 0\nv 1 0 0 # trailing\nv 2 2 0 2\nv 0 1 0 .1 .2 .3\nvt 0 0\nvt 1 .25\nvn 0 0 2\n\
                    f 1/1/1 2/2/1 \\\n 3//1\nf -4 -2/-1 -1//-1\nl 1 2\np 1\nf 1 2\nf 1 2 9\nf 1 2 0\nf 1 2 x\n";
        for text in [text.to_owned(), text.replace('\n', "\r\n"), text.replace('\n', "\r")] {
            let (mesh, diagnostics) = read("a.obj", text.as_bytes()).unwrap();
            assert_eq!(mesh.points, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]);
            assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
            assert_eq!(mesh.normals.values, [[0.0, 0.0, 1.0]]);
            let uvs = mesh.uvs.unwrap();
            let uv: Vec<_> = uvs.indices.iter().map(|t| t.map(|i| uvs.values[i as usize])).collect();
            assert_eq!(uv, [[[0.0, 0.0], [1.0, 0.25], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.25], [0.0, 0.0]]]);
            assert_eq!(codes_of(&diagnostics), ["mesh-skipped-primitives", "mesh-bad-values"]);
            assert!(diagnostics[1].message.contains(" 4 faces"), "{}", diagnostics[1].message);
        }
    }

    #[test]
    fn concave_faces() {
        let text = "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nf 2 3 4 5 6 1\n";
        let (mesh, _) = read("a.obj", text.as_bytes()).unwrap();
        let area: f32 = triangles(&mesh)
            .iter()
            .map(|(_, [a, b, c])| {
                let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
                assert!(area > 0.0);
                area / 2.0
            })
            .sum();
        assert_eq!((mesh.triangles.len(), area), (4, 3.0));
    }

    const SQUARES: &str = "mtllib my colours.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\n\
                           usemtl light blue\nf 1/1 2/2 3/3\nusemtl other\nf 1 3 2\nusemtl light blue\ng x\nf 1/1 2/2 3/3\n";

    #[test]
    fn materials_by_name() {
        let mtl = "newmtl other\nKd 1\nnewmtl light blue\nKd 0.5 0 1 # blue\nd 0.25\nKe 0 0 1\nPr 0.75\nPm 1\n";
        let (mesh, diagnostics) = read_with("a.obj", SQUARES.as_bytes(), &[("my colours.mtl", mtl.as_bytes())]).unwrap();
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let names: Vec<_> = triangles(&mesh).iter().map(|t| t.0).collect();
        assert_eq!(names, ["light blue", "light blue", "other"]);
        let blue = &mesh.materials[0];
        assert!((blue.base_color[0] - 0.214_041).abs() < 1e-6, "{blue:?}");
        assert_eq!(blue.base_color[1..], [0.0, 1.0, 0.25]);
        assert_eq!((blue.metallic, blue.roughness, blue.emissive), (1.0, 0.75, [0.0, 0.0, 1.0]));
        assert_eq!(mesh.materials[1].base_color, [1.0; 4]);
    }

    #[test]
    fn missing_libraries_and_materials() {
        let (mesh, diagnostics) = read("a.obj", SQUARES.as_bytes()).unwrap();
        assert_eq!(codes_of(&diagnostics), ["mesh-material-library"]);
        assert_eq!((mesh.parts.len(), mesh.parts[0].material), (1, None));
        let (_, diagnostics) = read_with("a.obj", SQUARES.as_bytes(), &[("my colours.mtl", b"newmtl other")]).unwrap();
        assert_eq!(codes_of(&diagnostics), ["mesh-material"]);
    }

    #[test]
    fn recognised_by_content() {
        assert!(looks_like(b"# x\n\n  v 0 0 0"));
        assert!(!looks_like(b"hello"));
        assert_eq!(read("a.obj", b"hello").unwrap_err().code.id, "mesh-empty");
        assert_eq!(read("a.txt", b"hello").unwrap_err().code.id, "mesh-format");
        assert!(read("a.txt", b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3").is_ok());
    }
}
