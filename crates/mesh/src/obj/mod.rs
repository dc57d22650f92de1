//! Wavefront OBJ with its material libraries (MTL).
//!
//! Parsed here: the crate for OBJ panics on some inputs (a colour of fewer than three numbers,
//! indices that overflow) and rejects a file for one bad face.

mod mtl;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use nalgebra::Matrix4;

use super::assembly::{Assembly, Corner, NONE, Surface};
use super::normals::Shading;
use super::number::float as number;
use super::polygon::Triangulator;
use super::{Error, Source, codes};
use urdf_usd_robot::{Material, Mesh};

/// Maximum number of `mtllib` lines; further ones are ignored.
const MAX_LIBRARIES: usize = 100;

/// Returns whether the first meaningful lines are those of an OBJ file.
pub(super) fn looks_like(text: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "v", "vt", "vn", "vp", "f", "o", "g", "s", "l", "p", "mtllib", "usemtl",
    ];
    let mut first_words = lines(text.get(..4096).unwrap_or(text)).filter_map(|line| {
        let text = String::from_utf8_lossy(&line).into_owned();
        text.split_ascii_whitespace()
            .next()
            .filter(|word| !word.starts_with('#'))
            .map(str::to_owned)
    });
    first_words
        .next()
        .is_some_and(|word| WORDS.contains(&word.as_str()))
}

/// Reads the file.
pub(super) fn read(source: &mut Source, bytes: Arc<[u8]>) -> Result<Mesh, Error> {
    let mut assembly = Assembly::new(bytes.len());
    let mut object = Object::default();
    let mut triangulator = Triangulator::new();
    for line in lines(&bytes) {
        object.line(&line, &mut triangulator);
    }
    drop(bytes);
    assembly.unusable(object.unusable);
    if object.skipped > 0 {
        source.report(
            &codes::SKIPPED,
            format!(
                "{} lines, points, curves or free-form surfaces are left out",
                object.skipped
            ),
            "",
        );
    }
    let materials = object.bind_materials(source, &mut assembly);
    let runs: Vec<_> = object
        .runs
        .iter()
        .map(|run| {
            (
                run.triangles.clone(),
                *materials.get(run.material).unwrap_or(&NONE),
            )
        })
        .collect();
    object.bind_colors();
    let Object {
        positions,
        normals,
        uvs,
        colors,
        triangles,
        ..
    } = &object;
    assembly.add(
        &Surface {
            positions,
            normals,
            uvs,
            colors,
            triangles,
            runs: &runs,
        },
        &Matrix4::identity(),
    )?;
    // Free the lists before the mesh is finished: they are a multiple of its size.
    drop(object);
    assembly.finish(source, Shading::Smooth)
}

/// Consecutive triangles with one material.
struct Run {
    triangles: std::ops::Range<usize>,
    /// An index into [`Object::names`].
    material: usize,
}

/// The content of a file read so far.
#[derive(Default)]
struct Object {
    positions: Vec<[f64; 3]>,
    normals: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    /// Colours of `positions` as written, red, green, blue and opacity; NaN for positions without
    /// one. It may be shorter than `positions`.
    colors: Vec<[f32; 4]>,
    triangles: Vec<[Corner; 3]>,
    runs: Vec<Run>,
    /// Names of materials in the order of their first use; `None` for no material.
    names: Vec<Option<String>>,
    name_index: HashMap<Option<String>, usize>,
    material: Option<String>,
    libraries: Vec<String>,
    unusable: usize,
    skipped: usize,
    /// The face being parsed; reused to avoid allocation.
    face: Vec<Corner>,
}

impl Object {
    fn line(&mut self, line: &[u8], triangulator: &mut Triangulator) {
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        match words.next() {
            Some(b"v") => self.vertex(words),
            Some(b"vn") => self
                .normals
                .push([(); 3].map(|()| words.next().map_or(f32::NAN, |word| number(word) as f32))),
            Some(b"vt") => {
                let u = words.next().map_or(f32::NAN, |word| number(word) as f32);
                self.uvs.push([
                    u,
                    words
                        .next()
                        // A coordinate of one number may be followed by a comment.
                        .filter(|word| !word.starts_with(b"#"))
                        .map_or(0.0, |word| number(word) as f32),
                ]);
            }
            Some(b"f" | b"fo") => self.face(words, triangulator),
            Some(b"usemtl") => {
                self.material = Some(name_after(line, 6)).filter(|name| !name.is_empty())
            }
            Some(b"mtllib") => {
                let name = name_after(line, 6);
                if self.libraries.len() < MAX_LIBRARIES && !self.libraries.contains(&name) {
                    self.libraries.push(name);
                }
            }
            Some(b"l" | b"p" | b"curv" | b"curv2" | b"surf") => self.skipped += 1,
            _ => {}
        }
    }

    /// `x y z`, `x y z w`, `x y z r g b`, `x y z r g b a`.
    fn vertex<'a>(&mut self, words: impl Iterator<Item = &'a [u8]>) {
        let mut values = words.map_while(|word| (!word.starts_with(b"#")).then(|| number(word)));
        let mut position = [(); 3].map(|()| values.next().unwrap_or(f64::NAN));
        match [(); 4].map(|()| values.next()) {
            // A single further number is a homogeneous weight; zero would mean a point at infinity.
            [Some(w), None, ..] if w != 0.0 => position = position.map(|x| x / w),
            [Some(r), Some(g), Some(b), a] => {
                // The positions before this one have no colour.
                self.colors.resize(self.positions.len(), [f32::NAN; 4]);
                self.colors
                    .push([r, g, b, a.unwrap_or(f64::NAN)].map(|x| x as f32));
            }
            _ => {}
        }
        self.positions.push(position);
    }

    fn face<'a>(&mut self, words: impl Iterator<Item = &'a [u8]>, triangulator: &mut Triangulator) {
        let mut face = std::mem::take(&mut self.face);
        face.clear();
        face.extend(words.map_while(|word| (!word.starts_with(b"#")).then(|| self.corner(word))));
        let before = self.triangles.len();
        match face.as_slice() {
            [] | [_] | [_, _] => self.unusable += 1,
            &[a, b, c] => self.triangles.push([a, b, c]),
            _ => {
                let at = |c: &Corner| {
                    self.positions
                        .get(c.position as usize)
                        .copied()
                        // The triangulator makes a fan of such an outline; the assembly drops what
                        // is unusable.
                        .unwrap_or([f64::NAN; 3])
                };
                let outline: Vec<_> = face.iter().map(at).collect();
                triangulator.cut(&outline, &[], |triangle| {
                    if let [Some(&a), Some(&b), Some(&c)] = triangle.map(|i| face.get(i)) {
                        self.triangles.push([a, b, c]);
                    }
                });
            }
        }
        self.face = face;
        self.add_to_run(before);
    }

    /// Assigns the triangles from `before` on to the current material.
    fn add_to_run(&mut self, before: usize) {
        let end = self.triangles.len();
        if before == end {
            return;
        }
        if let Some(run) = self.runs.last_mut()
            && self.names.get(run.material) == Some(&self.material)
        {
            run.triangles.end = end;
            return;
        }
        let material = *self
            .name_index
            .entry(self.material.clone())
            .or_insert_with(|| {
                self.names.push(self.material.clone());
                self.names.len() - 1
            });
        self.runs.push(Run {
            triangles: before..end,
            material,
        });
    }

    /// Parses `7`, `7/3`, `7//2` or `7/3/2`; negative numbers count back from the latest.
    fn corner(&self, word: &[u8]) -> Corner {
        let mut parts = word.split(|&b| b == b'/');
        let mut index = |len: usize| {
            parts
                .next()
                .and_then(|part| index(part, len))
                .unwrap_or(NONE)
        };
        Corner {
            position: index(self.positions.len()),
            uv: index(self.uvs.len()),
            normal: index(self.normals.len()),
            color: NONE,
        }
    }

    /// Converts the colours to linear and assigns them to the corners. Most writers scale from 0 to
    /// 1, some to 255.
    fn bind_colors(&mut self) {
        if self.colors.is_empty() {
            return;
        }
        let full = if self.colors.iter().flatten().any(|&x| x > 1.0) {
            255.0
        } else {
            1.0
        };
        for color in &mut self.colors {
            let [r, g, b, a] = color.map(|x| f64::from(x) / full);
            // Without an opacity it is opaque; without a colour it stays NaN.
            let opacity = if a.is_nan() { 1.0 } else { a };
            *color = [
                Material::linear(r),
                Material::linear(g),
                Material::linear(b),
                opacity,
            ]
            .map(|x| x as f32);
        }
        for corner in self.triangles.iter_mut().flatten() {
            corner.color = corner.position;
        }
    }

    /// Returns the indices of the materials `names` in the assembly.
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
                // A missing library has been reported already, and explains the missing material.
                if complete {
                    let message = format!(
                        "the material `{name}` is defined in no material library of the file"
                    );
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

    /// Applies a texture's scale and offset to the corners with the material `index`.
    fn place_texture(&mut self, index: usize, placement: &mtl::Placement) {
        for run in self.runs.iter().filter(|run| run.material == index) {
            let triangles = self.triangles.get_mut(run.triangles.clone());
            for corner in triangles.into_iter().flatten().flatten() {
                if let Some(&[u, v]) = self.uvs.get(corner.uv as usize) {
                    let ([by_u, by_v], [to_u, to_v]) = (placement.scale, placement.offset);
                    // Not in place: corners of other materials may share the coordinate. The
                    // assembly welds equal copies.
                    corner.uv = self.uvs.len() as u32;
                    self.uvs.push([u * by_u + to_u, v * by_v + to_v]);
                }
            }
        }
    }
}

/// Returns the lines of a file, with continued ones joined; a byte order mark is skipped.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut lines = bytes.split(|&b| b == b'\n' || b == b'\r');
    std::iter::from_fn(move || {
        let first = lines.next()?;
        let Some(start) = first.trim_ascii_end().strip_suffix(b"\\") else {
            return Some(Cow::Borrowed(first));
        };
        let mut joined = start.to_vec();
        let mut empty = 0;
        for next in lines.by_ref() {
            // The LF of a CR LF is an empty line.
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

/// Returns the rest of a line after its keyword; it may contain spaces.
fn name_after(line: &[u8], keyword: usize) -> String {
    let rest = line.trim_ascii_start().get(keyword..).unwrap_or_default();
    String::from_utf8_lossy(rest.trim_ascii()).into_owned()
}

/// Converts a one-based or negative index to a zero-based one; `None` if it is invalid.
fn index(word: &[u8], len: usize) -> Option<u32> {
    // Up to nine digits, as most indices have, do not overflow.
    let digits = (1..10).contains(&word.len()) && word.iter().all(u8::is_ascii_digit);
    let value: i64 = if digits {
        word.iter()
            .fold(0, |value, byte| 10 * value + i64::from(byte - b'0'))
    } else {
        str::from_utf8(word).ok()?.parse().ok()?
    };
    let index = match value {
        1.. => value - 1,
        0 => return None,
        _ => i64::try_from(len).ok()?.checked_add(value)?,
    };
    u32::try_from(index).ok().filter(|&i| i != NONE)
}

#[cfg(test)]
mod tests;
