//! Checks of the readers of meshes and images, for arbitrary bytes.
//!
//! A panic, a broken invariant of a mesh ([`invariants::check`]) and memory beyond [`Bound`] end
//! the run. Each function takes one input of one fuzzer.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use base64::Engine as _;

use urdf_usd_geometry::convex_hull;
use urdf_usd_mesh as mesh;
use urdf_usd_resolve::{self as resolve, File, Files, Resolver};
use urdf_usd_robot::{Mesh, invariants};

use crate::bound::Bound;
use crate::memory;

/// Maximum number of triangles of a mesh for which hulls and tiers are made; larger ones would only
/// slow down the search.
const SMALL: usize = 2_000;

/// Maximum number of triangles of an empty file (`TRIANGLES` in
/// `crates/mesh/src/assembly.rs`).
const TRIANGLES: usize = 4_000_000;

/// Maximum number of pixels of an image (`MAX_PIXELS` in `crates/mesh/src/texture.rs`).
const PIXELS: usize = 64 << 20;

/// Virtual folder of the fuzzed file, with an image that it may refer to as `a.png`.
static FOLDER: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().canonicalize().expect("it is there");
    let mut png = Vec::new();
    let image = image::RgbaImage::from_pixel(2, 2, image::Rgba([200, 100, 50, 128]));
    image
        .write_to(&mut Cursor::new(&mut png), image::ImageFormat::Png)
        .expect("a picture can be encoded");
    std::fs::write(path.join("a.png"), png).expect("the folder can be written");
    (folder, path)
});

/// Checks an STL file, text or binary.
pub fn stl(bytes: &[u8]) {
    check("a.stl", bytes, &[]);
}

/// Checks an OBJ file; its material library follows the line `#mtl`.
pub fn obj(bytes: &[u8]) {
    const DIVIDER: &[u8] = b"\n#mtl\n";
    let at = bytes
        .windows(DIVIDER.len())
        .position(|window| window == DIVIDER);
    let (obj, mtl) = at.map_or((bytes, &[][..]), |at| {
        (&bytes[..at], &bytes[at + DIVIDER.len()..])
    });
    let obj = [b"mtllib a.mtl\n", obj].concat();
    check("a.obj", &obj, &[("a.mtl", mtl)]);
}

/// Checks a Collada file.
pub fn dae(bytes: &[u8]) {
    check("a.dae", bytes, &[]);
}

/// Checks a glTF file, text or binary, with a buffer beside it.
pub fn gltf(bytes: &[u8]) {
    check("a.gltf", bytes, &[("a.bin", &[0; 64])]);
}

/// Reads `bytes` as the content of a file `name`, with `others` (names and contents) beside it, and
/// checks the result.
fn check(name: &str, bytes: &[u8], others: &[(&str, &[u8])]) {
    let folder = &FOLDER.1;
    for (name, bytes) in others {
        std::fs::write(folder.join(name), bytes).expect("the folder can be written");
    }
    let files = Files::new(Arc::new(Resolver::new(resolve::Options::default())));
    files.allow(folder);
    let size = bytes.len() + others.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    let file = File {
        path: folder.join(name),
        bytes: bytes.into(),
    };
    let pixels = embedded_pixels(bytes);
    for up_axis in [mesh::UpAxis::Ignore, mesh::UpAxis::Honor] {
        let (result, peak) = memory::peak(|| mesh::read(&file, &files, mesh::Options { up_axis }));
        match &result {
            Ok((mesh, _)) => {
                invariants::check(mesh);
                let triangles = mesh.triangles.len();
                assert!(
                    triangles <= TRIANGLES + size,
                    "{triangles} triangles of {size} bytes"
                );
                Bound {
                    bytes: size,
                    triangles,
                    pixels,
                }
                .check(peak);
                derived(mesh);
            }
            Err(error) if error.code.id == mesh::codes::TOO_LARGE.id => {
                Bound {
                    bytes: size,
                    triangles: TRIANGLES + size,
                    pixels,
                }
                .check(peak);
            }
            Err(_) => Bound {
                bytes: size,
                triangles: 0,
                pixels,
            }
            .check(peak),
        }
        // Only Collada depends on the option; repeating the others would find nothing.
        if !name.ends_with(".dae") {
            break;
        }
    }
}

/// Checks the hull and the coarser tiers of a mesh.
fn derived(mesh: &Mesh) {
    if mesh.triangles.len() > SMALL {
        return;
    }
    if let Ok(hull) = convex_hull(&mesh.points) {
        urdf_usd_geometry::invariants::check(&hull);
        // Each edge occurs once in each direction: closed, with consistent winding.
        let mut edges: Vec<[u32; 2]> = hull
            .triangles
            .iter()
            .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
            .collect();
        let mut opposite: Vec<[u32; 2]> = edges.iter().map(|&[a, b]| [b, a]).collect();
        edges.sort_unstable();
        opposite.sort_unstable();
        assert!(edges == opposite, "the hull is open");
    }
    for tier in mesh::tiers(mesh).into_iter().flatten() {
        invariants::check(&tier);
        assert!(tier.triangles.len() < mesh.triangles.len());
    }
}

/// Checks an image.
pub fn texture(bytes: &[u8]) {
    // The name matters for one format only.
    let file = File {
        path: PathBuf::from("a.tga"),
        bytes: bytes.into(),
    };
    let declared =
        dimensions(bytes, None).or_else(|| dimensions(bytes, Some(image::ImageFormat::Tga)));
    let (result, peak) = memory::peak(|| mesh::texture(&file));
    Bound {
        bytes: bytes.len(),
        triangles: 0,
        pixels: declared.map_or(0, in_blocks),
    }
    .check(peak);
    let Ok(texture) = result else { return };
    let (width, height) = declared.expect("what can be read says how large it is");
    assert!(width * height <= PIXELS, "{width} x {height} pixels");
    assert_eq!(texture.sha256.len(), 64);
    // An image that is copied may be damaged further in; a re-encoded one must be valid.
    if &*texture.bytes != bytes {
        let read =
            image::load_from_memory(&texture.bytes).expect("what was re-encoded can be decoded");
        assert_eq!(
            (read.width() as usize, read.height() as usize),
            (width, height)
        );
        assert!(mesh::mean_color(&texture).is_some());
    }
    if let Some(mean) = mesh::mean_color(&texture) {
        assert!(mean.iter().all(|x| (0.0..=1.0).contains(x)), "{mean:?}");
    }
}

/// Returns the width and height that an image declares.
fn dimensions(bytes: &[u8], format: Option<image::ImageFormat>) -> Option<(usize, usize)> {
    let mut reader = image::ImageReader::new(Cursor::new(bytes));
    match format {
        Some(format) => reader.set_format(format),
        None => reader = reader.with_guessed_format().ok()?,
    }
    reader
        .into_dimensions()
        .ok()
        .map(|(width, height)| (width as usize, height as usize))
}

/// Returns the number of pixels rounded up to whole blocks, at most that of the largest image.
fn in_blocks((width, height): (usize, usize)) -> usize {
    let blocks = |side: usize| side.saturating_add(Bound::BLOCK - 1) / Bound::BLOCK * Bound::BLOCK;
    blocks(width)
        .saturating_mul(blocks(height))
        .min(Bound::BLOCK * PIXELS)
}

/// Returns the number of pixels of everything in a file that may be an image, plain or as base64.
fn embedded_pixels(bytes: &[u8]) -> usize {
    const MARKS: [&[u8]; 8] = [
        b"\x89PNG",
        b"\xFF\xD8\xFF",
        b"RIFF",
        b"GIF8",
        b"BM",
        b"II*\0",
        b"MM\0*",
        b"base64,",
    ];
    let decoder = base64::engine::GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        base64::engine::GeneralPurposeConfig::new()
            .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    let mut pixels = 0_usize;
    for at in 0..bytes.len() {
        let rest = &bytes[at..];
        match MARKS.iter().find(|mark| rest.starts_with(mark)) {
            Some(mark) if mark.starts_with(b"base64") => {
                let data = &rest[mark.len()..];
                let end = data
                    .iter()
                    .position(|byte| *byte == b'"')
                    .unwrap_or(data.len());
                let image = decoder.decode(&data[..end]).unwrap_or_default();
                pixels = pixels.saturating_add(dimensions(&image, None).map_or(0, in_blocks));
            }
            Some(_) => pixels = pixels.saturating_add(dimensions(rest, None).map_or(0, in_blocks)),
            None => {}
        }
    }
    pixels.min(Bound::BLOCK * PIXELS)
}
