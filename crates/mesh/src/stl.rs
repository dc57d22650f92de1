//! STL, binary and ASCII.
//!
//! Normals in the file are ignored, since they are unreliable in practice, and are computed from
//! the triangles. Colours are read if the attribute bytes hold them in a known dialect
//! ([`Dialect`]).

use std::sync::Arc;

use super::assembly::Assembly;
use super::normals::Shading;
use super::number::short;
use super::{Error, Source, codes};
use urdf_usd_robot::{Material, Mesh};

/// Size of the header: a free text of 80 bytes and the number of triangles.
const HEADER: usize = 84;

/// Size of a triangle: a normal and three points of three floats each, and two attribute bytes.
const RECORD: usize = 50;

/// Returns whether `bytes` have the exact size of a binary file with the declared number of
/// triangles.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    declared(bytes).is_some_and(|count| {
        count > 0 && bytes.len() as u64 == HEADER as u64 + RECORD as u64 * u64::from(count)
    })
}

/// Returns the number of triangles that a binary file declares.
fn declared(bytes: &[u8]) -> Option<u32> {
    bytes
        .get(80..HEADER)?
        .try_into()
        .ok()
        .map(u32::from_le_bytes)
}

/// Reads the file.
pub(super) fn read(source: &mut Source, bytes: Arc<[u8]>) -> Result<Mesh, Error> {
    let mut assembly = Assembly::new(bytes.len());
    // The exact size decides first: headers of binary files may begin with `solid`, too.
    if !is_binary(&bytes) && is_text(&bytes) {
        read_ascii(&bytes, &mut assembly);
    } else {
        read_binary(&bytes, source, &mut assembly)?;
    }
    drop(bytes);
    assembly.finish(source, Shading::Smooth)
}

/// Returns whether the start contains `solid` and only bytes that may occur in text.
fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.get(..1024).unwrap_or(bytes);
    let text = start
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(start)
        .trim_ascii_start();
    text.get(..5)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"solid"))
        && text
            .iter()
            .all(|&b| b >= b' ' || b.is_ascii_whitespace() || b == 0x0B)
}

fn read_binary(bytes: &[u8], source: &mut Source, assembly: &mut Assembly) -> Result<(), Error> {
    let Some(declared) = declared(bytes) else {
        return Err(Error::new(
            &codes::UNREADABLE,
            format!(
                "the file has only {} bytes, less than a binary STL's header",
                bytes.len()
            ),
        ));
    };
    let (header, body) = bytes.split_at_checked(HEADER).unwrap_or_default();
    let held = body.len() / RECORD;
    // If the size fits a whole number of triangles, the declared count is wrong; otherwise bytes
    // are missing or trail.
    let exact = body.len().is_multiple_of(RECORD);
    let count = if exact {
        held
    } else {
        held.min(if declared == 0 {
            held
        } else {
            declared as usize
        })
    };
    if declared as usize != held || !exact {
        let message = format!(
            "the file declares {declared} triangles, but its {} bytes hold {held}; {count} are read",
            bytes.len()
        );
        source.report(
            &codes::SIZE_MISMATCH,
            message,
            "if triangles are missing, export the mesh again",
        );
    }
    let records = body.as_chunks::<RECORD>().0.iter().take(count);
    // The count is bounded by the size of the file, whatever the header declares.
    assembly.reserve(count);
    // The text excludes the count.
    let text = header.get(..80).unwrap_or_default();
    let dialect = Dialect::of(text, records.clone().map(attribute));
    match dialect {
        Some(dialect) => records.for_each(|record| {
            assembly.triangle(positions(record), dialect.color(attribute(record)));
        }),
        None => assembly.triangles(records.map(positions)),
    }
    Ok(())
}

/// Returns the corners of a triangle. The stored normal is not read: it is computed, since many files have none.
fn positions(record: &[u8; RECORD]) -> [[f32; 3]; 3] {
    match record.as_chunks::<12>().0 {
        [_, a, b, c] => [a, b, c].map(point),
        _ => [[f32::NAN; 3]; 3],
    }
}

fn point(bytes: &[u8; 12]) -> [f32; 3] {
    let mut numbers = bytes.as_chunks::<4>().0.iter();
    [(); 3].map(|()| numbers.next().map_or(f32::NAN, |&b| f32::from_le_bytes(b)))
}

/// Returns the attribute of a facet: two bytes that the format leaves to writers.
fn attribute(record: &[u8; RECORD]) -> u16 {
    u16::from_le_bytes([record[48], record[49]])
}

/// The highest bit of an attribute.
const FLAG: u16 = 1 << 15;

/// An encoding of a facet's colour in its attribute: 5 bits for each of red, green and blue, and
/// the [`FLAG`].
#[derive(Debug, PartialEq)]
enum Dialect {
    /// VisCAM, SolidView, Meshmixer: red is in the high bits. The flag marks facets that have a
    /// colour.
    VisCam,
    /// Materialise Magics, Autodesk: red is in the low bits. The flag marks facets that have the
    /// object's colour, stored in the header.
    Magics { object: [f32; 4] },
    /// MeshLab: like Magics, but the flag marks facets that have their own colour.
    MeshLab,
}

impl Dialect {
    /// Magics' mark in the header before the object's colour.
    const COLOR: &[u8] = b"COLOR=";

    /// Magics' mark before the object's diffuse colour, which takes precedence.
    const MATERIAL: &[u8] = b"MATERIAL=";

    /// Detects the dialect of a file. `None` if its attributes are no colours: most files have
    /// zeros there, some arbitrary data.
    fn of(header: &[u8], attributes: impl Iterator<Item = u16> + Clone) -> Option<Self> {
        let after = |mark: &[u8]| {
            let at = header.windows(mark.len()).position(|part| part == mark)?;
            header.get(at + mark.len()..)
        };
        let Some(object) = after(Self::COLOR) else {
            // Meshmixer pads with (nearly) white, others with ones; the flag alone is no intended
            // colour.
            let white = |a: u16| [0, 5, 10].iter().all(|shift| a >> shift & 31 >= 30);
            let is_color = |a| a & FLAG != 0 && a != FLAG && !white(a);
            // Writers of this dialect write zero for facets without a colour.
            let is_strict = |a| a & FLAG != 0 || a == 0;
            // Lazily, since most files have no colours: each pass is over the whole file.
            let is_viscam = attributes.clone().any(is_color) && attributes.clone().all(is_strict);
            return is_viscam.then_some(Self::VisCam);
        };
        // Taken literally, all zeros would mean a black object. Writers without colours produce
        // them.
        if attributes.clone().all(|a| a == 0) {
            return None;
        }
        // MeshLab omits the object's opacity.
        if object
            .get(3..)
            .is_some_and(|rest| rest.starts_with(b" MATERIAL="))
        {
            return Some(Self::MeshLab);
        }
        let diffuse = after(Self::MATERIAL).unwrap_or(object);
        let byte = |i: usize| diffuse.get(i).copied().unwrap_or(u8::MAX);
        let [r, g, b] = [0, 1, 2].map(|i| Material::linear(f64::from(byte(i)) / 255.0) as f32);
        // Invisible objects are not exported: zero means that the opacity was omitted.
        let opacity = if byte(3) == 0 {
            1.0
        } else {
            f32::from(byte(3)) / 255.0
        };
        Some(Self::Magics {
            object: [r, g, b, opacity],
        })
    }

    /// Returns the linear colour of a facet; `None` if it has none.
    fn color(&self, attribute: u16) -> Option<[f32; 4]> {
        let flag = attribute & FLAG != 0;
        let [low, middle, high] = [0, 5, 10]
            .map(|shift| Material::linear(f64::from(attribute >> shift & 31) / 31.0) as f32);
        match self {
            Self::VisCam => flag.then_some([high, middle, low, 1.0]),
            Self::Magics { object } if flag => Some(*object),
            Self::MeshLab if !flag => None,
            Self::Magics { .. } | Self::MeshLab => Some([low, middle, high, 1.0]),
        }
    }
}

/// Reads every loop of vertices, whatever surrounds it: several solids, missing ends, any case and
/// white space.
fn read_ascii(bytes: &[u8], assembly: &mut Assembly) {
    let mut corners: Vec<[f32; 3]> = Vec::new();
    let mut rest = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    while let Some(word) = next_word(&mut rest) {
        if word.eq_ignore_ascii_case(b"vertex") {
            corners.push([(); 3].map(|()| next_number(&mut rest)));
        } else if word.eq_ignore_ascii_case(b"facet")
            // Each of these words ends a loop, since files lack some of them.
            || word.eq_ignore_ascii_case(b"endfacet")
            || word.eq_ignore_ascii_case(b"endloop")
        {
            add_loop(&mut corners, assembly);
        } else if word.eq_ignore_ascii_case(b"solid") || word.eq_ignore_ascii_case(b"endsolid") {
            // A name follows, which may contain any word.
            let end = rest
                .iter()
                .position(|&b| b == b'\n' || b == b'\r')
                .unwrap_or(rest.len());
            rest = rest.get(end..).unwrap_or_default();
        }
    }
    add_loop(&mut corners, assembly);
}

fn add_loop(corners: &mut Vec<[f32; 3]>, assembly: &mut Assembly) {
    match corners.as_slice() {
        [] => {}
        [_] | [_, _] => assembly.unusable(1),
        [a, others @ ..] => {
            for [b, c] in others.array_windows() {
                assembly.triangle([*a, *b, *c], None);
            }
        }
    }
    corners.clear();
}

fn next_word<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let start = rest.iter().position(|&b| b > b' ')?;
    let from = rest.get(start..)?;
    let end = from.iter().position(|&b| b <= b' ').unwrap_or(from.len());
    let (word, after) = from.split_at_checked(end)?;
    *rest = after;
    Some(word)
}

/// Returns whether a number that was rounded to double precision becomes the same in single precision as if it
/// had been rounded to that at once: it is neither half-way between two such numbers nor near the smallest.
fn rounds_once(number: f64) -> bool {
    const HALF_WAY: u64 = 1 << 28;
    let lost = number.to_bits() & (2 * HALF_WAY - 1);
    number == 0.0 || (lost != HALF_WAY && number.abs() >= 1e-37)
}

/// Returns the next number, or NaN if the next word is none; the triangle is then unusable.
fn next_number(rest: &mut &[u8]) -> f32 {
    let before = *rest;
    let start = before.iter().position(|&b| b > b' ').unwrap_or_default();
    if let Some((number, after)) = before.get(start..).and_then(short)
        && rounds_once(number)
    {
        *rest = after;
        return number as f32;
    }
    let number = next_word(rest)
        .and_then(|word| str::from_utf8(word).ok())
        .and_then(|word| word.parse().ok());
    number.unwrap_or_else(|| {
        *rest = before;
        // The word may be the next keyword.
        f32::NAN
    })
}

#[cfg(test)]
mod tests {
    use crate::test::{assert_near, codes_of, colors, read, read_file};

    fn binary(
        header: &[u8],
        declared: u32,
        triangles: &[[[f32; 3]; 3]],
        trailing: usize,
    ) -> Vec<u8> {
        let mut bytes = header.to_vec();
        bytes.resize(80, b' ');
        bytes.extend(declared.to_le_bytes());
        for triangle in triangles {
            bytes.extend([0; 12]);
            bytes.extend(triangle.iter().flatten().flat_map(|x| x.to_le_bytes()));
            bytes.extend([0; 2]);
        }
        bytes.resize(bytes.len() + trailing, 0);
        bytes
    }

    const A: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 0.0]];
    const B: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    const POINTS: [[f32; 3]; 4] = [
        [0.0, 0.0, 0.0],
        [2.0, 0.0, 0.0],
        [2.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
    ];

    #[test]
    fn binary_in_all_states() {
        for (header, declared, trailing, found) in [
            (&b"solid of CAD"[..], 2, 0, &[][..]),
            (b"", 0, 0, &["mesh-size-mismatch"]),
            (b"solid", 9, 0, &["mesh-size-mismatch"]),
            (b"", 2, 7, &["mesh-size-mismatch"]),
            (b"{", 2, 0, &[]),
        ] {
            let (mesh, diagnostics) =
                read("a.stl", &binary(header, declared, &[A, B], trailing)).unwrap();
            assert_eq!(mesh.points, POINTS);
            assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
            assert_eq!(mesh.normals.values, [[0.0, 0.0, 1.0]]);
            assert_eq!(codes_of(&diagnostics), found, "{declared} {trailing}");
        }
        let cut = &binary(b"", 2, &[A, B], 0)[..84 + 60];
        let (mesh, diagnostics) = read("a.stl", cut).unwrap();
        assert_eq!(
            (mesh.triangles.len(), codes_of(&diagnostics)),
            (1, vec!["mesh-size-mismatch"])
        );
        assert_eq!(
            read("a.stl", b"\x01\x02\x03").unwrap_err().code.id,
            "mesh-unreadable"
        );
        assert_eq!(
            read("a.stl", &binary(b"", 0, &[], 0)).unwrap_err().code.id,
            "mesh-empty"
        );
    }

    #[test]
    fn the_name_is_not_believed() {
        let obj = format!(
            "# {}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
            "x".repeat(100)
        );
        assert_eq!(
            read("a.stl", obj.as_bytes()).unwrap().0.points,
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
        );
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        png.resize(500, 0);
        let error = read("a.stl", &png).unwrap_err();
        assert_eq!(error.code.id, "mesh-format");
        assert!(error.message.contains("image"), "{error}");
    }

    #[test]
    fn ascii_in_any_spelling() {
        let plain = "solid vertex 1 2 3 facet\n facet normal 0 0 1\n outer loop\n vertex 0 0 0\n vertex 2 0 0\n vertex 2e0 1 0\n \
                     endloop\n endfacet\nendsolid facet\nsolid\nfacet normal 0 0 0 outer loop vertex 0 0 0 vertex 2 1 0 vertex 0 1 0 \
                     endloop endfacet endsolid\n";
        for text in [
            plain.to_owned(),
            plain.to_uppercase(),
            plain.replace('\n', "\r"),
            plain.replace('\n', "\r\n"),
            format!("\u{feff}{plain}"),
        ] {
            let (mesh, diagnostics) = read("a.stl", text.as_bytes()).unwrap();
            assert_eq!(mesh.points, POINTS, "{text:?}");
            assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
            assert!(diagnostics.is_empty());
        }
    }

    #[test]
    fn ascii_numbers_are_those_of_the_standard_library() {
        let words = [
            "1.5",
            "-0.1",
            "16777217",
            "16777217.00000001",
            "16777219",
            "1.0000000596046448",
            "0.3e-7",
            "1e-40",
            "-1.1754943e-38",
            "7.0064923e-46",
            "123456789012345",
            "0.1234567",
            "1.2345678e12",
            "1e20",
        ];
        for word in words {
            let mut rest = format!(" {word} 1.000000000000000").into_bytes();
            rest.push(b'\n');
            let found = super::next_number(&mut &rest[..]);
            assert_eq!(
                found.to_bits(),
                word.parse::<f32>().unwrap().to_bits(),
                "{word}"
            );
        }
        // Half-way between two numbers in single precision once it is rounded to double precision.
        assert!(!super::rounds_once(16_777_217.0) && super::rounds_once(16_777_218.0));
    }

    #[test]
    fn ascii_with_faults() {
        let text = "solid\nfacet\nvertex 0 0 0\nvertex 2 0 0\nvertex 2 1 0\nvertex 0 1 0\nfacet vertex 0 0\nvertex 1 nan 0 vertex 1 1 0\nendfacet\n\
                    facet vertex 0 0 0 vertex 1 0 0";
        let (mesh, diagnostics) = read("a.stl", text.as_bytes()).unwrap();
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(codes_of(&diagnostics), ["mesh-bad-values"]);
        assert!(
            diagnostics[0].message.contains(" 2 faces"),
            "{}",
            diagnostics[0].message
        );
    }

    /// The content of all files in `test/meshes/stl`: a rectangle of two triangles, and a triangle
    /// perpendicular to it.
    const FILE_POINTS: [[f32; 3]; 5] = [
        [0.0, 0.0, 0.0],
        [2.0, 0.0, 0.0],
        [2.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
        [2.0, 0.0, 3.0],
    ];

    #[test]
    fn files_of_every_kind() {
        for (name, found) in [
            ("ascii.stl", &[][..]),
            ("binary.stl", &[]),
            ("solid.stl", &[]),
            ("too_many.stl", &["mesh-size-mismatch"]),
            ("too_few.stl", &["mesh-size-mismatch"]),
        ] {
            let (mesh, diagnostics) = read_file(&format!("stl/{name}")).unwrap();
            assert_eq!(mesh.points, FILE_POINTS, "{name}");
            assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 4]], "{name}");
            let normals: Vec<_> = mesh
                .normals
                .indices
                .iter()
                .map(|t| t.map(|i| mesh.normals.values[i as usize]))
                .collect();
            // The edge between the rectangle and the triangle is a crease, whatever normals the
            // file has.
            assert_eq!(
                normals,
                [
                    [[0.0, 0.0, 1.0]; 3],
                    [[0.0, 0.0, 1.0]; 3],
                    [[0.0, -1.0, 0.0]; 3]
                ],
                "{name}"
            );
            assert_eq!(
                (&mesh.colors, codes_of(&diagnostics)),
                (&None, found.to_vec()),
                "{name}"
            );
        }
    }

    #[test]
    fn colors_of_facets() {
        const WHITE: [f32; 4] = [1.0; 4];
        const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];
        // The linear values of the sRGB values 15/31 and 128/255.
        const HALF: f32 = 0.199_414_9;
        const BYTE: f32 = 0.215_860_5;
        for (name, expected) in [
            ("viscam.stl", [RED, WHITE, [0.0, HALF, 1.0, 1.0]]),
            (
                "magics.stl",
                [RED, [1.0, BYTE, 0.0, 128.0 / 255.0], [0.0, HALF, 1.0, 1.0]],
            ),
            (
                "magics_material.stl",
                [RED, [0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]],
            ),
            ("meshlab.stl", [RED, WHITE, [0.0, HALF, 1.0, 1.0]]),
        ] {
            let (mesh, diagnostics) = read_file(&format!("stl/{name}")).unwrap();
            assert_eq!(mesh.points, FILE_POINTS, "{name}");
            assert!(
                diagnostics.is_empty() && mesh.materials.is_empty() && mesh.parts.len() == 1,
                "{name}"
            );
            let found = colors(&mesh);
            assert!(found.iter().all(|[a, b, c]| a == b && b == c), "{name}");
            assert_near(
                found.iter().flat_map(|t| t[0]),
                expected.into_iter().flatten(),
            );
        }
    }

    #[test]
    fn attributes_that_are_no_colors() {
        for name in ["meshlab_plain.stl", "white.stl", "garbage.stl"] {
            let (mesh, _) = read_file(&format!("stl/{name}")).unwrap();
            assert_eq!((mesh.points.len(), &mesh.colors), (5, &None), "{name}");
        }
    }
}
