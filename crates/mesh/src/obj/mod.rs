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
use super::number::{float as number, short, short_index};
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
    let mut rest = without_mark(&bytes);
    while !rest.is_empty() {
        rest = object
            .usual_line(rest, &mut triangulator)
            .unwrap_or_else(|| {
                let (line, rest) = first_line(rest);
                object.line(&line, &mut triangulator);
                rest
            });
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
    /// The face being parsed and its outline; reused to avoid allocation.
    face: Vec<Corner>,
    outline: Vec<[f64; 3]>,
}

/// Maximum number of numbers in a line: a position with a colour.
const MAX_NUMBERS: usize = 7;

impl Object {
    /// Reads the first line of a text if it has the usual form, and returns what follows. Nearly all lines of a
    /// file have it: short numbers, separated by blanks, in one line. Others are left to [`Self::line`].
    fn usual_line<'a>(
        &mut self,
        text: &'a [u8],
        triangulator: &mut Triangulator,
    ) -> Option<&'a [u8]> {
        match text {
            [b'v', b' ', rest @ ..] => {
                let (numbers, count, rest) = usual_numbers(rest)?;
                self.vertex(numbers.into_iter().take(count));
                Some(rest)
            }
            [b'v', b'n', b' ', rest @ ..] => {
                let ([x, y, z, ..], 3, rest) = usual_numbers(rest)? else {
                    return None;
                };
                self.normals.push([x, y, z].map(|x| x as f32));
                Some(rest)
            }
            [b'v', b't', b' ', rest @ ..] => {
                let ([u, v, ..], 2 | 3, rest) = usual_numbers(rest)? else {
                    return None;
                };
                self.uvs.push([u, v].map(|x| x as f32));
                Some(rest)
            }
            [b'f', b' ', rest @ ..] => {
                let mut rest = rest;
                self.face.clear();
                loop {
                    match rest {
                        [b' ' | b'\t', after @ ..] => rest = after,
                        [b'\n' | b'\r', after @ ..] => {
                            self.add_face(triangulator);
                            return Some(after);
                        }
                        _ => {
                            let (corner, after) = usual_corner(rest)?;
                            self.face.push(corner);
                            rest = after;
                        }
                    }
                }
            }
            _ => None,
        }
    }

    fn line(&mut self, line: &[u8], triangulator: &mut Triangulator) {
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        match words.next() {
            Some(b"v") => {
                self.vertex(words.map_while(|word| (!word.starts_with(b"#")).then(|| number(word))))
            }
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
    fn vertex(&mut self, mut values: impl Iterator<Item = f64>) {
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
        self.face = face;
        self.add_face(triangulator);
    }

    /// Adds the triangles of [`Self::face`].
    fn add_face(&mut self, triangulator: &mut Triangulator) {
        let before = self.triangles.len();
        let Self {
            face,
            outline,
            positions,
            triangles,
            ..
        } = self;
        match face.as_slice() {
            [] | [_] | [_, _] => self.unusable += 1,
            &[a, b, c] => triangles.push([a, b, c]),
            _ => {
                let at = |c: &Corner| {
                    positions
                        .get(c.position as usize)
                        .copied()
                        // The triangulator makes a fan of such an outline; the assembly drops what
                        // is unusable.
                        .unwrap_or([f64::NAN; 3])
                };
                outline.clear();
                outline.extend(face.iter().map(at));
                triangulator.cut(outline, &[], |triangle| {
                    if let [Some(&a), Some(&b), Some(&c)] = triangle.map(|i| face.get(i)) {
                        triangles.push([a, b, c]);
                    }
                });
            }
        }
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

/// Parses the numbers up to the end of the line, and returns their number and what follows; `None` unless all are
/// [`short`].
#[inline]
fn usual_numbers(text: &[u8]) -> Option<([f64; MAX_NUMBERS], usize, &[u8])> {
    let (mut numbers, mut count, mut rest) = ([0.0; MAX_NUMBERS], 0, text);
    loop {
        match rest {
            [b' ' | b'\t', after @ ..] => rest = after,
            [b'\n' | b'\r', after @ ..] => return (count > 0).then_some((numbers, count, after)),
            _ => {
                (*numbers.get_mut(count)?, rest) = short(rest)?;
                count += 1;
            }
        }
    }
}

/// Parses a corner of up to three positive indices, and returns what follows.
#[inline]
fn usual_corner(text: &[u8]) -> Option<(Corner, &[u8])> {
    let index = |text| {
        let (number, rest) = short_index(text)?;
        Some((number.checked_sub(1)?, rest))
    };
    let (position, mut rest) = index(text)?;
    let [mut uv, mut normal] = [NONE; 2];
    if let [b'/', after @ ..] = rest {
        rest = after;
        if !rest.starts_with(b"/") {
            (uv, rest) = index(rest)?;
        }
        if let [b'/', after @ ..] = rest {
            (normal, rest) = index(after)?;
        }
    }
    let corner = Corner {
        position,
        uv,
        normal,
        color: NONE,
    };
    let is_end = rest.first()?.is_ascii_whitespace();
    is_end.then_some((corner, rest))
}

/// Returns a text without its byte order mark.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

/// Returns the lines of a file, with continued ones joined; a byte order mark is skipped.
fn lines(bytes: &[u8]) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let mut rest = without_mark(bytes);
    std::iter::from_fn(move || {
        let line;
        (line, rest) = (!rest.is_empty()).then(|| first_line(rest))?;
        Some(line)
    })
}

/// Returns the first line of a text, joined with those that continue it, and the rest.
fn first_line(text: &[u8]) -> (Cow<'_, [u8]>, &[u8]) {
    let (first, mut rest) = split_line(text);
    let Some(start) = first.trim_ascii_end().strip_suffix(b"\\") else {
        return (Cow::Borrowed(first), rest);
    };
    let mut joined = start.to_vec();
    let mut empty = 0;
    while !rest.is_empty() {
        let next;
        (next, rest) = split_line(rest);
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
    (Cow::Owned(joined), rest)
}

/// Returns the text before and after the first line break.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let is_break = |byte: &u8| *byte == b'\n' || *byte == b'\r';
    let end = text.iter().position(is_break).unwrap_or(text.len());
    let (line, rest) = text.split_at_checked(end).unwrap_or((text, &[]));
    (line, rest.get(1..).unwrap_or_default())
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
