//! The files in `test/meshes/dae` with their expected results, worked out by hand.

use std::path::Path;
use std::sync::Arc;

use crate::test::{check, triangles};
use crate::{Options, UpAxis};
use urdf_usd_resolve::{Files, Resolver};
use urdf_usd_robot::{Corners, Material, Mesh};

type Triangle = [[f32; 3]; 3];

/// Reads a file; returns the findings as `line code`, without the line if there is none.
fn read_as(name: &str, options: Options) -> (Mesh, Vec<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../test/meshes/dae")
        .canonicalize()
        .unwrap();
    let files = Files::new(Arc::new(Resolver::new(Default::default())));
    files.allow(&folder);
    let file = files.open(name, Some(&folder)).unwrap();
    let (mesh, diagnostics) =
        crate::read(&file, &files, options).unwrap_or_else(|error| panic!("{name}: {error}"));
    check(&mesh);
    let found = diagnostics.iter().map(|d| {
        if d.place.line > 0 {
            format!("{} {}", d.place.line, d.code)
        } else {
            d.code.into()
        }
    });
    (mesh, found.collect())
}

/// Reads a file with RViz' interpretation.
fn read(name: &str) -> (Mesh, Vec<String>) {
    read_as(name, Options::default())
}

/// Reads a file without faults.
fn sound(name: &str) -> Mesh {
    let (mesh, findings) = read(name);
    assert!(findings.is_empty(), "{name}: {findings:?}");
    mesh
}

/// Returns the corners of all triangles, rounded.
fn corners(mesh: &Mesh) -> Vec<Triangle> {
    let round = |x: f32| (f64::from(x) * 1e5).round() as f32 / 1e5 + 0.0;
    triangles(mesh)
        .into_iter()
        .map(|(_, corners)| corners.map(|p| p.map(round)))
        .collect()
}

/// Returns the values at the corners of a triangle.
fn at<T: Copy>(corners: &Corners<T>, triangle: usize) -> [T; 3] {
    corners.indices[triangle].map(|i| corners.values[i as usize])
}

fn material<'a>(mesh: &'a Mesh, name: &str) -> &'a Material {
    mesh.materials
        .iter()
        .find(|material| material.name == name)
        .unwrap_or_else(|| panic!("there is no material {name}"))
}

fn close<const N: usize>(a: [f32; N], b: [f32; N]) {
    assert!(
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5),
        "{a:?} is not {b:?}"
    );
}

/// The triangle in most of the files.
const TRIANGLE: Triangle = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];

#[test]
fn transforms() {
    assert_eq!(
        corners(&sound("transforms.dae")),
        [
            [[1.0, 2.0, 3.0], [2.0, 2.0, 3.0], [1.0, 3.0, 3.0]],
            [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]],
            [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]],
            // (x, y, z) becomes (z + 5, x + 6, y + 7).
            [[5.0, 6.0, 7.0], [5.0, 7.0, 7.0], [5.0, 6.0, 8.0]],
            // Looking along +x with z up, right is -y.
            [[0.0, 0.0, 4.0], [0.0, -1.0, 4.0], [0.0, 0.0, 5.0]],
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]],
            // Scaled, then rotated, then translated.
            [[1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [-1.0, 0.0, 0.0]],
            // Rotated about z, then about x.
            [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]],
            [[0.0, 0.0, 2.0], [1.0, 0.0, 2.0], [0.0, 0.0, 3.0]],
        ]
    );
}

#[test]
fn instances() {
    assert_eq!(
        corners(&sound("instances.dae")),
        [
            [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 1.0, 0.0]],
            [[1.0, 0.0, 5.0], [2.0, 0.0, 5.0], [1.0, 1.0, 5.0]],
            [[1.0, 0.0, 5.0], [3.0, 0.0, 5.0], [1.0, 2.0, 5.0]],
            // The outside stays outside.
            [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]],
            TRIANGLE,
            TRIANGLE,
            [[0.0, 9.0, 0.0], [2.0, 9.0, 0.0], [0.0, 11.0, 0.0]],
        ]
    );
}

#[test]
fn controllers() {
    let (mesh, findings) = read("controllers.dae");
    assert_eq!(findings, ["95 mesh-morph-targets"]);
    assert_eq!(
        corners(&mesh),
        [
            [[1.0, 0.0, 3.0], [2.0, 0.0, 3.0], [1.0, 1.0, 3.0]],
            [[0.0, 0.0, 7.0], [1.0, 0.0, 7.0], [0.0, 1.0, 7.0]]
        ]
    );
}

#[test]
fn primitives() {
    const P: [[f32; 3]; 5] = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
    ];
    let (mesh, findings) = read("primitives.dae");
    // The line of the geometry.
    assert_eq!(findings, ["11 mesh-skipped-primitives"]);
    let expected = [
        [0, 1, 2],
        [0, 1, 3],
        [3, 1, 2],
        [3, 2, 4],
        [0, 1, 2],
        [0, 1, 2],
        [0, 2, 3],
        [0, 1, 4],
        [0, 1, 2],
        [0, 2, 3],
        [0, 1, 2],
        [0, 2, 3],
        [0, 4, 1],
    ];
    assert_eq!(corners(&mesh), expected.map(|t| t.map(|i| P[i])));
}

#[test]
fn holes() {
    let mesh = sound("holes.dae");
    let area = |t: &Triangle| {
        ((t[1][0] - t[0][0]) * (t[2][1] - t[0][1]) - (t[1][1] - t[0][1]) * (t[2][0] - t[0][0]))
            / 2.0
    };
    let (arrow, plate): (Vec<_>, Vec<_>) = corners(&mesh).into_iter().partition(|t| t[0][2] == 1.0);
    // Number of corners plus twice the number of holes, less two: 4 + 3 + 4 + 2 * 2 - 2.
    assert_eq!((plate.len(), arrow.len()), (13, 2));
    // 64 - 2 - 4, and the kite with a dent: nothing folds over.
    assert_eq!(
        (
            plate.iter().map(area).sum::<f32>(),
            arrow.iter().map(area).sum::<f32>()
        ),
        (58.0, 4.0)
    );
    assert!(plate.iter().chain(&arrow).all(|t| area(t) > 0.0));
    let inside = |t: &Triangle, p: [f32; 2]| {
        (0..3).all(|i| area(&[t[i], t[(i + 1) % 3], [p[0], p[1], 0.0]]) >= 0.0)
    };
    for (point, covered) in [
        ([5.0, 5.0], false),
        ([1.5, 1.7], false),
        ([2.9, 2.9], true),
        ([7.0, 1.0], true),
    ] {
        assert_eq!(plate.iter().any(|t| inside(t, point)), covered, "{point:?}");
    }
}

#[test]
fn inputs() {
    let mesh = sound("inputs.dae");
    let square = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
    ];
    assert_eq!(
        corners(&mesh),
        [
            [square[0], square[1], square[2]],
            [square[0], square[2], square[3]]
        ]
    );
    let (up, tilted) = ([0.0, 0.0, 1.0], [0.0, 0.6, 0.8]);
    assert_eq!(
        [at(&mesh.normals, 0), at(&mesh.normals, 1)],
        [[up, up, tilted], [up, tilted, tilted]]
    );
    let uvs = mesh.uvs.as_ref().unwrap();
    assert_eq!(
        [at(uvs, 0), at(uvs, 1)],
        [
            [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]],
            [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
        ]
    );
    assert_eq!(
        mesh.materials[0].base_color_texture.as_ref().unwrap().name,
        "red"
    );
}

#[test]
fn colours_of_vertices() {
    let mesh = sound("colors.dae");
    let colors = mesh.colors.as_ref().unwrap();
    // Parts with a material come first and show it, not the colours.
    assert_eq!(
        mesh.parts
            .iter()
            .map(|part| part.material)
            .collect::<Vec<_>>(),
        [Some(0), None]
    );
    assert!(!mesh.materials[0].shows_corner_colors);
    let (red, green, blue) = (
        [1.0, 0.0, 0.0, 1.0],
        [0.0, 0.214_041_14, 0.0, 1.0],
        [0.0, 0.0, 1.0, 1.0],
    );
    assert_eq!(at(colors, 0), [green; 3]);
    assert_eq!(at(colors, 1), [red, green, blue]);
    // The lower of two sets is used.
    assert_eq!(
        at(colors, 2),
        [
            [1.0, 1.0, 1.0, 0.25],
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 1.0]
        ]
    );
}

#[test]
fn effects() {
    let (mesh, findings) = read("effects.dae");
    assert_eq!(
        findings,
        ["37 mesh-reference"],
        "the image of the bumps is not there"
    );
    let half = 0.214_041_14;
    let expected = [
        ("phong", [half, 0.0, 1.0, 1.0], [0.0; 3]),
        ("lambert", [1.0, half, 0.0, 1.0], [0.0; 3]),
        ("blinn", [0.0, 1.0, half, 1.0], [0.0; 3]),
        ("constant", [1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0]),
        ("glowing", [0.0, 1.0, 0.0, 1.0], [half, 0.0, 0.0]),
        ("unlit_by_parameter", [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0]),
    ];
    assert_eq!(mesh.materials.len(), expected.len());
    for (name, color, emissive) in expected {
        let material = material(&mesh, name);
        close(material.base_color, color);
        close(material.emissive, emissive);
    }
    // The n-th triangle of the row has the n-th material.
    for (name, corners) in triangles(&mesh) {
        assert_eq!(expected[corners[0][0] as usize].0, name);
    }
}

#[test]
fn opacity() {
    let (mesh, findings) = read("opacity.dae");
    let expected = [
        ("no_word", 1.0),
        ("transparency", 0.25),
        ("a_one", 0.25),
        ("a_one_by_default", 0.5),
        ("rgb_zero", 0.875),
        // One minus the red component of the luminance.
        ("rgb_zero_of_red", 1.0 - 0.212_671),
        ("a_zero", 0.75),
        ("rgb_one", 0.5),
        ("nothing_left", 1.0),
    ];
    assert_eq!(mesh.materials.len(), expected.len());
    for (name, expected) in expected {
        let opacity = material(&mesh, name).base_color[3];
        assert!((opacity - expected).abs() < 1e-6, "{name}: {opacity}");
    }
    assert_eq!(findings.len(), 1);
    assert!(findings[0].ends_with(" mesh-opacity-zero"), "{findings:?}");
}

#[test]
fn bindings() {
    let mesh = sound("bindings.dae");
    let found: Vec<_> = triangles(&mesh)
        .into_iter()
        .map(|(name, corners)| (name, corners[0][2]))
        .collect();
    assert_eq!(found, [("red", 0.0), ("blue", 1.0), ("blue", 2.0)]);
    assert_eq!(mesh.materials.len(), 2);
}

#[test]
fn parameters_that_a_material_sets() {
    let mesh = sound("setparam.dae");
    for (name, color, image) in [
        ("as_declared", [0.0, 0.0, 1.0, 1.0], None),
        ("set_here", [1.0, 0.0, 0.0, 1.0], None),
        ("map_as_declared", [1.0; 4], Some("red")),
        ("map_set_here", [1.0; 4], Some("my map")),
    ] {
        let material = material(&mesh, name);
        let found = material
            .base_color_texture
            .as_ref()
            .map(|texture| texture.name.as_str());
        assert_eq!((material.base_color, found), (color, image), "{name}");
    }
}

#[test]
fn images() {
    let expected = [
        ("relative", "red"),
        ("dotted", "red"),
        ("percent", "my map"),
        ("spaced", "my map"),
        ("windows", "red"),
        ("windows_absolute", "windows"),
        ("file_uri", "absolute"),
        ("file_uri_windows", "windows"),
    ];
    let mesh = sound("images.dae");
    assert_eq!(mesh.materials.len(), expected.len());
    for (name, image) in expected {
        assert_eq!(
            material(&mesh, name)
                .base_color_texture
                .as_ref()
                .unwrap()
                .name,
            image,
            "{name}"
        );
    }
}

#[test]
fn images_of_1_5() {
    let mesh = sound("images_1_5.dae");
    for (name, image, has_alpha, opacity) in [
        ("by_reference", "red", false, 1.0),
        ("in_create_2d", "my map", false, 1.0),
        ("as_hex", "magenta", false, 1.0),
        ("see_through", "glass", true, 0.5),
        ("opaque_image", "glass", false, 1.0),
    ] {
        let material = material(&mesh, name);
        let texture = material.base_color_texture.as_ref().unwrap();
        assert_eq!(
            (
                texture.name.as_str(),
                texture.has_alpha,
                material.base_color[3]
            ),
            (image, has_alpha, opacity),
            "{name}"
        );
    }
    let magenta = material(&mesh, "as_hex")
        .base_color_texture
        .as_ref()
        .unwrap();
    assert_eq!(
        image::load_from_memory(&magenta.bytes)
            .unwrap()
            .to_rgb8()
            .get_pixel(0, 0)
            .0,
        [255, 0, 255]
    );
}

#[test]
fn up_axes_and_units() {
    let inch = 0.0254;
    for (name, honored) in [
        (
            "up_z.dae",
            [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]],
        ),
        // (x, -z, y)
        (
            "up_y.dae",
            [[1.0, -3.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 2.0]],
        ),
        // (-y, -z, x)
        (
            "up_x.dae",
            [[-2.0, -3.0, 1.0], [0.0, 0.0, 0.0], [-2.0, 0.0, 0.0]],
        ),
    ] {
        let as_it_is = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
        for (up_axis, expected) in [(UpAxis::Ignore, as_it_is), (UpAxis::Honor, honored)] {
            let (mesh, findings) = read_as(name, Options { up_axis });
            assert!(findings.is_empty(), "{findings:?}");
            let [found] = triangles(&mesh)[..] else {
                panic!("{name}")
            };
            for (found, expected) in found.1.into_iter().zip(expected) {
                close(found, expected.map(|x: f32| x * inch));
            }
            // The normal rotates along: nothing is mirrored.
            let [a, b, c] = found.1.map(nalgebra::Vector3::from);
            close(
                at(&mesh.normals, 0)[0],
                (b - a).cross(&(c - a)).normalize().into(),
            );
        }
    }
}

#[test]
fn accessors() {
    let mesh = sound("accessors.dae");
    assert_eq!(
        corners(&mesh),
        [[[1.0, 2.0, 3.0], [5.0, 2.0, 3.0], [1.0, 6.0, 3.0]]]
    );
    assert_eq!(at(&mesh.normals, 0), [[0.0, 0.0, 1.0]; 3]);
}

#[test]
fn what_real_files_have() {
    for name in [
        "undeclared.dae",
        "bom.dae",
        "utf16.dae",
        "prefixed.dae",
        "no_scene.dae",
    ] {
        assert_eq!(corners(&sound(name)), [TRIANGLE], "{name}");
    }
}

#[test]
fn faults() {
    let (mesh, findings) = read("faults.dae");
    assert_eq!(corners(&mesh), [TRIANGLE]);
    // Primitives whose material has no effect, a node that contains itself, instances of missing
    // elements, and a missing vertex.
    assert_eq!(
        findings,
        [
            "31 mesh-material",
            "40 mesh-reference",
            "51 mesh-reference",
            "52 mesh-reference",
            "mesh-bad-values"
        ]
    );
}
