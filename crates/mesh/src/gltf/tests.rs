//! Small glTF files with their expected results.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::test::{assert_near, check, codes_of, colors, read, read_file, read_with, triangles};
use urdf_usd_robot::{Channel, MapRole, Material};

/// Four points of a square in the x-y plane of glTF, which is vertical, and so in the x-z plane of
/// the model.
const POSITIONS: [f32; 12] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0];
const UVS: [f32; 8] = [0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
const INDICES: [u16; 6] = [0, 1, 2, 0, 2, 3];

/// Positions at 0, texture coordinates at 48, indices at 80; 92 bytes.
fn buffer() -> Vec<u8> {
    let floats = POSITIONS.iter().chain(&UVS).flat_map(|x| x.to_le_bytes());
    floats
        .chain(INDICES.iter().flat_map(|i| i.to_le_bytes()))
        .collect()
}

fn data_uri(bytes: &[u8]) -> String {
    format!(
        "data:application/octet-stream;base64,{}",
        BASE64.encode(bytes)
    )
}

fn document() -> Value {
    json!({
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "materials": [{"name": "paint"}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
            {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2"},
            {"bufferView": 2, "componentType": 5123, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 32},
            {"buffer": 0, "byteOffset": 80, "byteLength": 12},
        ],
        "buffers": [{"byteLength": 92, "uri": data_uri(&buffer())}],
    })
}

/// Returns the document with values changed by JSON pointers; missing members are created.
fn changed(changes: &[(&str, Value)]) -> Value {
    let mut document = document();
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match document.pointer_mut(parent).unwrap() {
            Value::Object(object) => {
                object.insert(key.to_owned(), value.clone());
            }
            Value::Array(list) => list[key.parse::<usize>().unwrap()] = value.clone(),
            other => panic!("{other}"),
        }
    }
    document
}

fn read_json(document: &Value) -> Result<(Mesh, Vec<urdf_usd_diagnostic::Diagnostic>), Error> {
    read("a.gltf", document.to_string().as_bytes())
}

fn glb(document: &Value, binary: &[u8]) -> Vec<u8> {
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let length = 12 + 8 + text.len() + 8 + binary.len();
    let mut bytes = b"glTF".to_vec();
    bytes.extend(
        [2, length as u32, text.len() as u32]
            .iter()
            .flat_map(|n| n.to_le_bytes()),
    );
    bytes.extend(b"JSON");
    bytes.extend(text);
    bytes.extend((binary.len() as u32).to_le_bytes());
    bytes.extend(b"BIN\0");
    bytes.extend(binary);
    bytes
}

const SQUARE: [[f32; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [1.0, 0.0, 1.0],
    [0.0, 0.0, 1.0],
];

#[test]
fn buffers_of_every_kind() {
    let mut inside = document();
    inside["buffers"][0].as_object_mut().unwrap().remove("uri");
    let outside = changed(&[("/buffers/0/uri", json!("my%20data.bin"))]);
    let unpadded = changed(&[(
        "/buffers/0/uri",
        json!(data_uri(&buffer()).trim_end_matches('=')),
    )]);
    let files: [(&str, Vec<u8>); 4] = [
        ("a.gltf", document().to_string().into_bytes()),
        ("a.gltf", unpadded.to_string().into_bytes()),
        ("a.glb", glb(&inside, &buffer())),
        ("a.dae", outside.to_string().into_bytes()),
    ];
    for (name, bytes) in files {
        let (mesh, diagnostics) = read_with(name, &bytes, &[("my data.bin", &buffer())]).unwrap();
        check(&mesh);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(mesh.points, SQUARE);
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(mesh.normals.values, [[0.0, -1.0, 0.0]]);
        let uvs = mesh.uvs.as_ref().unwrap();
        assert_eq!(
            uvs.indices[0].map(|i| uvs.values[i as usize]),
            [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
        );
        assert_eq!(mesh.materials[0].base_color, [1.0; 4]);
        assert_eq!(
            (mesh.materials[0].metallic, mesh.materials[0].roughness),
            (1.0, 1.0)
        );
    }
    let (error, missing) = (
        read_json(&outside).unwrap_err(),
        read("a.glb", &glb(&inside, &buffer())[..200]).unwrap_err(),
    );
    assert_eq!(
        (error.code.id, missing.code.id),
        ("mesh-buffer-missing", "mesh-unreadable")
    );
    assert!(error.message.contains("buffer 0 can't be had"), "{error}");
}

#[test]
fn nodes_are_walked_with_their_transforms() {
    let nodes = json!([
        {"children": [1, 2], "translation": [0, 0, 2], "rotation": [0, 1, 0, 1]},
        {"mesh": 0, "scale": [2, 1, 1]},
        {"mesh": 0, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 3, 0, 1]},
    ]);
    let (mesh, _) = read_json(&changed(&[("/nodes", nodes)])).unwrap();
    let rounded: Vec<_> = triangles(&mesh)
        .iter()
        .map(|t| t.1.map(|p| p.map(|x| x.round() as i32)))
        .collect();
    // x of the square points along -z after the quarter turn about y, which is +y of the model; z
    // of 2 is y of -2.
    assert_eq!(rounded[0], [[0, -2, 0], [0, 0, 0], [0, 0, 1]]);
    assert_eq!(rounded[2], [[0, -2, 3], [0, -1, 3], [0, -1, 4]]);
    let mirrored = read_json(&changed(&[(
        "/nodes",
        json!([{"mesh": 0, "scale": [-1, 1, 1]}]),
    )]))
    .unwrap()
    .0;
    assert_eq!(mirrored.normals.values, [[0.0, -1.0, 0.0]]);
}

#[test]
fn circles_and_wrong_indices_end() {
    for (changes, code) in [
        (
            vec![("/nodes", json!([{"mesh": 0, "children": [0]}]))],
            "mesh-reference",
        ),
        (
            vec![(
                "/nodes",
                json!([{"mesh": 0, "children": [1]}, {"children": [0, 9]}]),
            )],
            "mesh-reference mesh-reference",
        ),
        (
            vec![
                ("/nodes", json!([{"mesh": 0}, {"mesh": 7}])),
                ("/scenes/0/nodes", json!([0, 1, 5])),
            ],
            "mesh-reference mesh-reference",
        ),
        (
            vec![("/meshes/0/primitives/0/material", json!(4))],
            "mesh-material",
        ),
        (
            vec![(
                "/meshes/0/primitives/0/attributes",
                json!({"POSITION": 0, "NORMAL": 55}),
            )],
            "mesh-reference",
        ),
        (vec![("/accessors/1/count", json!(5))], "mesh-reference"),
        (vec![("/accessors/1/type", json!("VEC4"))], "mesh-reference"),
        (
            vec![("/bufferViews/1/byteStride", json!(200))],
            "mesh-reference",
        ),
        (vec![("/scene", json!(3))], ""),
    ] {
        let (mesh, diagnostics) =
            read_json(&changed(&changes)).unwrap_or_else(|error| panic!("{changes:?}: {error}"));
        check(&mesh);
        assert_eq!(codes_of(&diagnostics).join(" "), code, "{changes:?}");
    }
    for (changes, code) in [
        (
            vec![("/accessors/0/count", json!(9_000_000_000_000_u64))],
            "mesh-too-large",
        ),
        (vec![("/accessors/0/count", json!(5))], "mesh-empty"),
        (
            vec![("/accessors/0/byteOffset", json!(u64::MAX))],
            "mesh-empty",
        ),
        (
            vec![("/bufferViews/0/byteOffset", json!(u64::MAX))],
            "mesh-empty",
        ),
        (vec![("/accessors/2/componentType", json!(7))], "mesh-empty"),
        (vec![("/nodes", json!("x"))], "mesh-unreadable"),
        (
            vec![("/asset/version", json!("1.0")), ("/nodes", json!({}))],
            "mesh-unsupported",
        ),
    ] {
        assert_eq!(
            read_json(&changed(&changes)).unwrap_err().code.id,
            code,
            "{changes:?}"
        );
    }
    let chain: Vec<_> = (0..5000).map(|i| json!({"children": [i + 1]})).collect();
    assert_eq!(
        read_json(&changed(&[("/nodes", json!(chain))]))
            .unwrap_err()
            .code
            .id,
        "mesh-too-large"
    );
    let out_of_range = changed(&[
        ("/accessors/2/byteOffset", json!(0)),
        ("/accessors/2/bufferView", json!(0)),
    ]);
    assert_eq!(read_json(&out_of_range).unwrap_err().code.id, "mesh-empty");
}

#[test]
fn strips_fans_and_what_is_no_surface() {
    let with_mode = |mode: u32| {
        changed(&[
            ("/meshes/0/primitives/0/mode", json!(mode)),
            ("/accessors/2/count", json!(4)),
        ])
    };
    let strip = read_json(&with_mode(5)).unwrap().0;
    assert_eq!(strip.triangles, [[0, 1, 2], [2, 1, 0]]);
    let fan = read_json(&with_mode(6)).unwrap().0;
    assert_eq!(fan.triangles, [[0, 1, 2]]);
    assert_eq!(read_json(&with_mode(1)).unwrap_err().code.id, "mesh-empty");
    let unindexed = changed(&[(
        "/meshes/0/primitives/0",
        json!({"attributes": {"POSITION": 0}, "mode": 5}),
    )]);
    assert_eq!(
        read_json(&unindexed).unwrap().0.triangles,
        [[0, 1, 2], [2, 1, 3]]
    );
}

#[test]
fn quantised_and_sparse_values() {
    // The square in normalised shorts: 32767 is 1.
    let shorts: Vec<u8> = POSITIONS
        .iter()
        .flat_map(|x| ((x * 32767.0) as i16).to_le_bytes())
        .collect();
    let document = changed(&[
        ("/extensionsRequired", json!(["KHR_mesh_quantization"])),
        (
            "/buffers",
            json!([{"byteLength": 92, "uri": data_uri(&buffer())}, {"byteLength": 24, "uri": data_uri(&shorts)}]),
        ),
        ("/bufferViews/0", json!({"buffer": 1, "byteLength": 24})),
        (
            "/accessors/0",
            json!({"bufferView": 0, "componentType": 5122, "normalized": true, "count": 4, "type": "VEC3"}),
        ),
    ]);
    assert_eq!(read_json(&document).unwrap().0.points, SQUARE);

    // Points 1 and 2 of a triangle of zeros are replaced.
    let mut sparse: Vec<u8> = vec![1, 2, 0, 0];
    sparse.extend(
        [1.0_f32, 0.0, 0.0, 0.0, 5.0, 0.0]
            .iter()
            .flat_map(|x| x.to_le_bytes()),
    );
    let document = changed(&[
        (
            "/meshes/0/primitives/0",
            json!({"attributes": {"POSITION": 0}}),
        ),
        (
            "/buffers/0",
            json!({"byteLength": 28, "uri": data_uri(&sparse)}),
        ),
        (
            "/bufferViews",
            json!([{"buffer": 0, "byteLength": 4}, {"buffer": 0, "byteOffset": 4, "byteLength": 24}]),
        ),
        (
            "/accessors/0",
            json!({"componentType": 5126, "count": 3, "type": "VEC3", "sparse": {"count": 2,
                   "indices": {"bufferView": 0, "componentType": 5121}, "values": {"bufferView": 1}}}),
        ),
    ]);
    assert_eq!(
        read_json(&document).unwrap().0.points,
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 5.0]]
    );
}

#[test]
fn draco_is_refused_unless_there_is_another_form() {
    let compressed = json!({"attributes": {"POSITION": 0}, "indices": 2, "extensions": {"KHR_draco_mesh_compression": {}}});
    let without_bytes = json!({"componentType": 5126, "count": 4, "type": "VEC3"});
    for changes in [
        vec![("/extensionsRequired", json!(["KHR_draco_mesh_compression"]))],
        vec![
            ("/meshes/0/primitives/0", compressed.clone()),
            ("/accessors/0", without_bytes),
        ],
    ] {
        let error = read_json(&changed(&changes)).unwrap_err();
        assert_eq!(error.code.id, "mesh-unsupported");
        assert!(
            error.message.contains("KHR_draco_mesh_compression"),
            "{error}"
        );
        assert!(
            error
                .help
                .contains("`gltf-transform copy a.gltf plain_a.gltf`"),
            "{}",
            error.help
        );
    }
    assert_eq!(
        read_json(&changed(&[("/meshes/0/primitives/0", compressed)]))
            .unwrap()
            .0
            .points,
        SQUARE
    );
    let error = read_json(&changed(&[(
        "/extensionsRequired",
        json!(["X_a", "KHR_texture_transform", "X_b"]),
    )]))
    .unwrap_err();
    assert!(error.message.ends_with("X_a, X_b"), "{error}");
    assert!(
        read_json(&changed(&[(
            "/extensionsRequired",
            json!(["KHR_materials_unlit"])
        )]))
        .is_ok()
    );
}

fn png(alpha: u8) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::RgbaImage::from_pixel(1, 1, image::Rgba([9, 9, 9, alpha]))
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

/// Returns a document whose material has a texture of `image` and the members of `material`.
fn textured(image: &Value, material: Value, texture_info: &Value) -> Value {
    let mut material = material;
    material["pbrMetallicRoughness"] =
        json!({"baseColorTexture": texture_info, "metallicFactor": 0.25, "roughnessFactor": 0.75});
    changed(&[
        ("/images", json!([image])),
        ("/textures", json!([{"source": 0}])),
        ("/materials", json!([material])),
    ])
}

#[test]
fn textures_and_their_alpha() {
    let plain = json!({"index": 0});
    let image = json!({"uri": "a%20b.png"});
    let embedded = json!({"uri": data_uri(&png(7)), "name": "a b"});
    for image in [image, embedded] {
        for (mode, alpha) in [("OPAQUE", false), ("BLEND", true), ("MASK", true)] {
            let document = textured(&image, json!({"alphaMode": mode}), &plain);
            let (mesh, diagnostics) = read_with(
                "a.gltf",
                document.to_string().as_bytes(),
                &[("a b.png", &png(7))],
            )
            .unwrap();
            assert!(diagnostics.is_empty(), "{diagnostics:?}");
            let material = &mesh.materials[0];
            let texture = material.base_color_texture.as_ref().unwrap();
            assert_eq!(
                (texture.name.as_str(), texture.has_alpha, &*texture.bytes),
                ("a b", alpha, &*png(7))
            );
            assert_eq!((material.metallic, material.roughness), (0.25, 0.75));
        }
    }
    for (image, texture, code) in [
        (
            json!({"uri": "none.png"}),
            json!({"source": 0}),
            "mesh-texture-missing",
        ),
        (
            json!({"bufferView": 99, "mimeType": "image/png"}),
            json!({"source": 0}),
            "mesh-texture-missing",
        ),
        (json!({}), json!({"source": 0}), "mesh-texture-missing"),
        (json!({}), json!({"source": 5}), "mesh-texture-missing"),
        (
            json!({}),
            json!({"extensions": {"KHR_texture_basisu": {"source": 0}}}),
            "texture-format",
        ),
        (
            json!({}),
            json!({"extensions": {"MSFT_texture_dds": {"source": 0}}}),
            "texture-format",
        ),
    ] {
        let mut document = textured(&image, json!({}), &plain);
        document["textures"][0] = texture;
        let (mesh, diagnostics) = read_json(&document).unwrap();
        assert_eq!(
            (
                mesh.materials[0].base_color_texture.as_ref(),
                codes_of(&diagnostics)
            ),
            (None, vec![code])
        );
    }
}

#[test]
fn texture_transforms() {
    let info = json!({"index": 0, "extensions": {"KHR_texture_transform": {
        "offset": [0.5, 0.25], "rotation": std::f64::consts::FRAC_PI_2, "scale": [2, 4], "texCoord": 0}}});
    let document = textured(&json!({"uri": data_uri(&png(255))}), json!({}), &info);
    let mesh = read_json(&document).unwrap().0;
    // The placement is baked into the coordinates.
    assert!(!mesh.materials[0].base_color_placement.is_moved());
    let uvs = mesh.uvs.as_ref().unwrap();
    // (0, 1) of the file: scaled (0, 4), rotated (4, 0), translated (4.5, 0.25).
    let first = uvs.values[uvs.indices[0][0] as usize];
    assert!(
        (first[0] - 4.5).abs() < 1e-5 && (first[1] - 0.75).abs() < 1e-5,
        "{first:?}"
    );
}

#[test]
fn colours() {
    let material = json!({"emissiveFactor": [1, 0, 0.5], "alphaMode": "BLEND",
        "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.25, 0, 0.5]},
        "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 2}}});
    let (mesh, _) = read_json(&changed(&[("/materials/0", material.clone())])).unwrap();
    assert_eq!(
        (mesh.materials[0].base_color, mesh.materials[0].emissive),
        ([0.5, 0.25, 0.0, 0.5], [2.0, 0.0, 1.0])
    );
    let mut opaque = material;
    opaque["alphaMode"] = json!("OPAQUE");
    assert_eq!(
        read_json(&changed(&[("/materials/0", opaque)]))
            .unwrap()
            .0
            .materials[0]
            .base_color[3],
        1.0
    );
    let old = json!({"extensions": {"KHR_materials_pbrSpecularGlossiness": {"diffuseFactor": [0, 1, 0, 1], "glossinessFactor": 0.25}}});
    let (mesh, _) = read_json(&changed(&[("/materials/0", old)])).unwrap();
    assert_eq!(
        (
            mesh.materials[0].base_color,
            mesh.materials[0].metallic,
            mesh.materials[0].roughness
        ),
        ([0.0, 1.0, 0.0, 1.0], 0.0, 0.75)
    );
    let (mesh, _) = read_json(&changed(&[(
        "/meshes/0/primitives/0",
        json!({"attributes": {"POSITION": 0}, "indices": 2}),
    )]))
    .unwrap();
    assert_eq!((mesh.parts[0].material, mesh.materials.len()), (None, 0));
}

#[test]
fn containers_with_faults() {
    let mut inside = document();
    inside["buffers"][0].as_object_mut().unwrap().remove("uri");
    let sound = glb(&inside, &buffer());
    for (at, value, code) in [
        (4, 1, "mesh-unsupported"),
        (12, u32::MAX, "mesh-unreadable"),
        (12, 0, "mesh-unreadable"),
        (16, 0, "mesh-unreadable"),
        // The total length is ignored, since the file's own size is known.
        (8, 0, ""),
        (8, u32::MAX, ""),
    ] {
        let mut bytes = sound.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        assert_eq!(
            read("a.glb", &bytes).map_or_else(|error| error.code.id, |_| ""),
            code,
            "{at} {value}"
        );
    }
    for length in 0..sound.len() {
        let _ = read("a.glb", &sound[..length]);
    }
    let mut longer = sound;
    longer.extend(b"\x04\0\0\0MORE1234trail");
    assert!(read("a.glb", &longer).is_ok());
}

/// The rectangle in the files of `test/meshes/gltf`, x and z in the model's frame, at y = 0.
const RECTANGLE: [[f32; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [2.0, 0.0, 0.0],
    [2.0, 0.0, 1.0],
    [0.0, 0.0, 1.0],
];

/// Asserts that the file contains only the rectangle, and has no findings.
fn rectangle(name: &str) -> Mesh {
    let (mesh, diagnostics) = read_file(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
    assert_eq!(mesh.points, RECTANGLE, "{name}");
    assert_eq!(mesh.triangles[..2], [[0, 1, 2], [0, 2, 3]], "{name}");
    assert_eq!(mesh.normals.values, [[0.0, -1.0, 0.0]], "{name}");
    mesh
}

/// Returns the texture coordinates of each triangle's corners.
fn uvs(mesh: &Mesh) -> Vec<[[f32; 2]; 3]> {
    let uvs = mesh.uvs.as_ref().unwrap();
    uvs.indices
        .iter()
        .map(|t| t.map(|i| uvs.values[i as usize]))
        .collect()
}

#[test]
fn files_with_pictures() {
    for (name, image, [s, t, u]) in [
        ("gltf/external.gltf", "red and blue", [1.0, 1.0, 0.0]),
        ("gltf/embedded.glb", "inside", [1.0, 1.0, 0.0]),
        ("gltf/texture_transform.gltf", "inside", [2.0, 3.0, 0.5]),
    ] {
        let mesh = rectangle(name);
        let material = &mesh.materials[0];
        let texture = material.base_color_texture.as_ref().unwrap();
        assert_eq!(
            (
                material.name.as_str(),
                texture.name.as_str(),
                texture.has_alpha
            ),
            ("picture", image, true)
        );
        assert_eq!(
            (material.base_color, material.shows_corner_colors),
            ([1.0; 4], false)
        );
        // v down in the file: (u, v) is (s u + offset, t v); v up: one minus v.
        let corner = |x: f32, v: f32| [s * x + u, 1.0 - t * v];
        let expected = [
            corner(0.0, 1.0),
            corner(1.0, 1.0),
            corner(1.0, 0.0),
            corner(0.0, 1.0),
            corner(1.0, 0.0),
            corner(0.0, 0.0),
        ];
        assert_near(
            uvs(&mesh).into_iter().flatten().flatten(),
            expected.into_iter().flatten(),
        );
    }
}

#[test]
fn a_scene_of_nodes() {
    let (mesh, diagnostics) = read_file("gltf/nodes.gltf").unwrap();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let triangles = triangles(&mesh);
    // Three times as high, rotated by a quarter turn about glTF's z, 10 to its front: (x, y)
    // becomes (-3 y, x), at y = -10 here.
    assert_near(
        triangles[0].1.into_iter().flatten(),
        [0.0, -10.0, 0.0, 0.0, -10.0, 2.0, -3.0, -10.0, 2.0],
    );
    // x and y swapped, which mirrors: the winding is flipped. Then 5 along x.
    assert_near(
        triangles[2].1.into_iter().flatten(),
        [5.0, 0.0, 0.0, 6.0, 0.0, 2.0, 5.0, 0.0, 2.0],
    );
    // Hidden nodes, and those of other scenes, are left out.
    assert_eq!(triangles.len(), 4);
    assert_near(
        mesh.normals.values.iter().copied().flatten(),
        [0.0, -1.0, 0.0],
    );
}

#[test]
fn instances() {
    let (mesh, diagnostics) = read_file("gltf/instances.gltf").unwrap();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let first: Vec<_> = triangles(&mesh)
        .iter()
        .step_by(2)
        .flat_map(|t| t.1)
        .flatten()
        .collect();
    let plain = [0.0, 0.0, 7.0, 2.0, 0.0, 7.0, 2.0, 0.0, 8.0];
    let turned = [0.0, -5.0, 7.0, 2.0, -5.0, 7.0, 2.0, -5.0, 6.0];
    let twice = [10.0, 0.0, 7.0, 14.0, 0.0, 7.0, 14.0, 0.0, 9.0];
    assert_near(first, [plain, turned, twice].into_iter().flatten());
    let nothing = changed(&[(
        "/nodes",
        json!([{"mesh": 0, "extensions": {"EXT_mesh_gpu_instancing": {"attributes": {}}}}]),
    )]);
    assert_eq!(read_json(&nothing).unwrap_err().code.id, "mesh-empty");
    let wrong = json!([{"mesh": 0, "extensions": {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 77, "SCALE": 0}}}}]);
    assert_eq!(
        read_json(&changed(&[("/nodes", wrong)]))
            .unwrap_err()
            .code
            .id,
        "mesh-empty"
    );
}

#[test]
fn modes_of_primitives() {
    let (mesh, diagnostics) = read_file("gltf/modes.gltf").unwrap();
    assert_eq!(
        mesh.points[..4],
        [RECTANGLE[0], RECTANGLE[1], RECTANGLE[3], RECTANGLE[2]]
    );
    assert_eq!(mesh.points[4..], RECTANGLE.map(|[x, _, z]| [x, -1.0, z]));
    assert_eq!(mesh.triangles, [[0, 1, 2], [2, 1, 3], [4, 5, 6], [4, 6, 7]]);
    assert_eq!(codes_of(&diagnostics), ["mesh-skipped-primitives"]);
}

#[test]
fn materials_of_every_kind() {
    let (mesh, diagnostics) = read_file("gltf/materials.gltf").unwrap();
    let expected = [
        ("metal", [0.5, 0.25, 0.125, 1.0], 0.75, 0.25, [0.0; 3]),
        ("lamp", [1.0; 4], 1.0, 1.0, [4.0, 2.0, 0.0]),
        ("sign", [0.0, 1.0, 0.0, 1.0], 0.0, 1.0, [0.0; 3]),
        ("old", [0.0, 0.0, 1.0, 1.0], 0.0, 0.25, [0.0; 3]),
        ("glass", [1.0, 1.0, 1.0, 0.25], 0.0, 1.0, [0.0; 3]),
        ("leaf", [1.0, 1.0, 1.0, 0.0], 0.0, 1.0, [0.0; 3]),
        ("stem", [1.0; 4], 0.0, 1.0, [0.0; 3]),
        // The factors of its images.
        ("screen", [1.0; 4], 1.0, 0.5, [1.0, 1.0, 0.0]),
    ];
    assert_eq!(mesh.materials.len(), expected.len());
    for (material, (name, color, metallic, roughness, emissive)) in
        mesh.materials.iter().zip(expected)
    {
        assert_eq!(
            (material.name.as_str(), material.shows_corner_colors),
            (name, false)
        );
        let numbers = [
            &material.base_color[..],
            &[material.metallic, material.roughness],
            &material.emissive,
        ]
        .concat();
        assert_near(
            numbers,
            [&color[..], &[metallic, roughness], &emissive].concat(),
        );
        assert_eq!(material.base_color_texture, None);
    }
    let maps = mesh
        .materials
        .iter()
        .map(|material| material.maps.keys().copied().collect::<Vec<_>>());
    let [metallic, roughness] =
        [MapRole::Metallic, MapRole::Roughness].map(|role| mesh.materials[7].maps[&role].channel);
    assert_eq!(
        maps.collect::<Vec<_>>().concat(),
        [MapRole::Roughness, MapRole::Metallic, MapRole::Emissive]
    );
    assert_eq!((metallic, roughness), (Channel::Blue, Channel::Green));
    assert_eq!(codes_of(&diagnostics), ["mesh-material-simplified"]);
}

#[test]
fn images_of_surfaces() {
    let uri = json!({"uri": data_uri(&png(255))});
    let placed = json!({"index": 0, "extensions": {"KHR_texture_transform": {"scale": [2, 2]}}});
    let read = |material: Value| {
        let document = changed(&[
            ("/images", json!([uri])),
            ("/textures", json!([{"source": 0}])),
            ("/materials", json!([material])),
        ]);
        let (mesh, diagnostics) = read_json(&document).unwrap();
        (mesh.materials.into_iter().next().unwrap(), diagnostics)
    };
    let image = json!({"index": 0});
    let surface =
        json!({"metallicFactor": 0, "roughnessFactor": 0.5, "metallicRoughnessTexture": image});
    let (material, diagnostics) = read(json!({
        "pbrMetallicRoughness": surface, "normalTexture": {"index": 0, "scale": 0.75}, "emissiveTexture": image,
        "occlusionTexture": {"index": 0, "strength": 0.25}, "extensions": {"KHR_materials_ior": {"ior": 1.25}}}));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let maps: Vec<_> = material
        .maps
        .iter()
        .map(|(role, map)| (*role, map.channel, map.strength))
        .collect();
    // A map with a factor of zero has no effect and is dropped.
    assert_eq!(
        maps,
        [
            (MapRole::Normal, Channel::Red, 0.75),
            (MapRole::Occlusion, Channel::Red, 0.25),
            (MapRole::Roughness, Channel::Green, 1.0)
        ]
    );
    assert_eq!(
        (material.roughness, material.metallic, material.ior),
        (0.5, 0.0, 1.25)
    );
    // Images with a placement other than the first's are replaced by their means.
    let (material, diagnostics) = read(json!({
        "pbrMetallicRoughness": {"baseColorTexture": placed, "metallicRoughnessTexture": image},
        "normalTexture": placed, "emissiveFactor": [1, 1, 1], "emissiveTexture": {"index": 0, "texCoord": 1}}));
    assert_eq!(material.maps.keys().collect::<Vec<_>>(), [&MapRole::Normal]);
    assert_eq!(codes_of(&diagnostics), ["mesh-material-simplified"; 3]);
    assert!(
        (material.roughness - 9.0 / 255.0).abs() < 1e-6 && material.roughness == material.metallic
    );
    let (material, diagnostics) = read(json!({"extensions": {
        "KHR_materials_ior": {"ior": 0}, "KHR_materials_sheen": {}, "KHR_materials_clearcoat": {"clearcoatFactor": 0.5}}}));
    assert_eq!(
        (material.ior, codes_of(&diagnostics)),
        (1.5, vec!["mesh-material-simplified"; 2])
    );
    assert!(
        diagnostics[1].message.contains("KHR_materials_sheen"),
        "{diagnostics:?}"
    );
    assert_eq!(
        (material.clearcoat, material.clearcoat_roughness),
        (0.5, 0.0)
    );
    let specular = json!({"specularFactor": 0.5, "specularColorFactor": [1, 2, 100]});
    let (material, diagnostics) = read(json!({
        "pbrMetallicRoughness": {"metallicFactor": 0}, "extensions": {"KHR_materials_specular": specular}}));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_near(material.specular.unwrap().to_vec(), vec![0.02, 0.04, 0.5]);
    let (material, diagnostics) =
        read(json!({"extensions": {"KHR_materials_specular": {"specularFactor": 0.5}}}));
    assert_eq!(
        (material.specular, codes_of(&diagnostics)),
        (None, vec!["mesh-material-simplified"])
    );
    let (material, diagnostics) =
        read(json!({"normalTexture": image, "extensions": {"KHR_materials_unlit": {}}}));
    assert_eq!((material.maps.len(), diagnostics.len()), (0, 1));
}

#[test]
fn colors_of_vertices() {
    let (mesh, diagnostics) = read_file("gltf/colors.gltf").unwrap();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let plain = |name: &str, base_color| Material {
        metallic: 0.0,
        roughness: 1.0,
        ..Material::plain(name, base_color)
    };
    let shown = |name: &str| Material {
        shows_corner_colors: true,
        ..plain(name, [1.0; 4])
    };
    assert_eq!(
        mesh.materials,
        [
            shown("half"),
            plain("half", [0.5, 0.5, 0.5, 1.0]),
            Material {
                metallic: 1.0,
                ..shown("veil")
            }
        ]
    );
    // Colours and a material; a material alone, or white; colours with opacity; colours alone.
    let parts: Vec<_> = mesh
        .parts
        .iter()
        .map(|part| (part.triangles.len(), part.material))
        .collect();
    assert_eq!(parts, [(4, Some(0)), (4, Some(1)), (2, Some(2)), (2, None)]);
    let colors = colors(&mesh);
    let of = |triangle: usize| colors[triangle].into_iter().flatten();
    let [red, green, blue] = [
        [1.0, 0.0, 0.0, 1.0],
        [0.0, 1.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 1.0],
    ];
    let half = |[r, g, b, _]: [f32; 4]| [r / 2.0, g / 2.0, b / 2.0, 1.0];
    assert_near(of(0), [red, green, blue].map(half).into_iter().flatten());
    assert_near(
        of(1),
        [half(red), half(blue), [0.5, 0.5, 0.5, 1.0]]
            .into_iter()
            .flatten(),
    );
    assert_near(
        of(3),
        [half(red), half(blue), [0.1, 0.1, 0.1, 1.0]]
            .into_iter()
            .flatten(),
    );
    assert_near(
        of(8),
        [
            [1.0, 0.0, 0.0, 0.5],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.1],
        ]
        .into_iter()
        .flatten(),
    );
    assert_near(of(10), [red, green, blue].into_iter().flatten());
    assert_near(of(11), [red, blue, [1.0; 4]].into_iter().flatten());
}

#[test]
fn quantised_and_sparse_files() {
    let (mesh, diagnostics) = read_file("gltf/quantized.gltf").unwrap();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_near(
        mesh.points.iter().flatten().copied(),
        RECTANGLE
            .map(|[x, y, z]| [x, y, z + 1.0])
            .into_iter()
            .flatten(),
    );
    assert_eq!(mesh.normals.values, [[0.0, -1.0, 0.0]]);
    assert_eq!(uvs(&mesh)[0], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]);
    let (mesh, diagnostics) = read_file("gltf/sparse.gltf").unwrap();
    assert_eq!((mesh.points[2], diagnostics.len()), ([2.0, 0.0, 5.0], 0));
}

#[test]
fn what_meshopt_compressed() {
    for name in [
        "gltf/ext_meshopt.gltf",
        "gltf/khr_meshopt.gltf",
        "gltf/meshopt_fallback.gltf",
    ] {
        let mesh = rectangle(name);
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]].repeat(2), "{name}");
        assert_eq!(
            uvs(&mesh)[..2],
            [
                [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]],
                [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
            ],
            "{name}"
        );
    }
}

#[test]
fn nonsense_that_claims_to_be_meshopt() {
    let text = std::fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/meshes/gltf/ext_meshopt.gltf"),
    )
    .unwrap();
    let sound: Value = serde_json::from_slice(&text).unwrap();
    for (view, member, value) in [
        (0, "byteStride", json!(10)),
        (0, "byteStride", json!(0)),
        (0, "byteStride", json!(260)),
        (0, "byteStride", json!(u64::MAX)),
        (0, "count", json!(100)),
        (0, "count", json!(1_000_000_000)),
        (0, "count", json!(-1)),
        (0, "filter", json!("OCTAHEDRAL")),
        (0, "filter", json!("NEW")),
        (0, "mode", json!("TRIANGLES")),
        (0, "mode", json!("NEW")),
        (0, "buffer", json!(9)),
        (0, "byteOffset", json!(70_000)),
        (0, "byteLength", json!(3)),
        (3, "count", json!(5)),
        (3, "byteStride", json!(3)),
        (3, "filter", json!("EXPONENTIAL")),
        (4, "byteLength", json!(4)),
    ] {
        let mut document = sound.clone();
        document["bufferViews"][view]["extensions"]["EXT_meshopt_compression"][member] =
            value.clone();
        let error = read_json(&document).unwrap_err();
        assert!(
            ["mesh-unreadable", "mesh-too-large"].contains(&error.code.id),
            "{view} {member} {value}: {error}"
        );
    }
    // No elements are no positions.
    let mut document = sound;
    document["bufferViews"][0]["extensions"]["EXT_meshopt_compression"]["count"] = json!(0);
    assert_eq!(read_json(&document).unwrap_err().code.id, "mesh-empty");
}

#[test]
fn meshopt_as_its_own_encoder_writes_it() {
    // A wavy sheet, large enough for several blocks.
    let side = 40_u32;
    let point = |i: u32| {
        [
            (i % side) as f32,
            (i / side) as f32,
            ((i * 7) % 11) as f32 / 8.0,
        ]
    };
    let points: Vec<[f32; 3]> = (0..side * side).map(point).collect();
    let cells = (0..side - 1).flat_map(|y| (0..side - 1).map(move |x| y * side + x));
    let indices: Vec<u32> = cells
        .flat_map(|i| [i, i + 1, i + side + 1, i, i + side + 1, i + side])
        .collect();
    let encoded = [
        ::meshopt::encode_vertex_buffer(&points).unwrap(),
        ::meshopt::encode_index_buffer(&indices, points.len()).unwrap(),
        ::meshopt::encode_index_sequence(&indices, points.len()).unwrap(),
    ];
    for (stream, mode) in [(1, "TRIANGLES"), (2, "INDICES")] {
        let (vertices, triangles) = (&encoded[0], &encoded[stream]);
        let view = |offset: usize, stream: &[u8], stride: usize, count: usize, mode: &str| {
            json!({"buffer": 1, "byteLength": stride * count, "extensions": {"KHR_meshopt_compression": {"buffer": 0,
                "byteOffset": offset, "byteLength": stream.len(), "byteStride": stride, "count": count, "mode": mode}}})
        };
        let document = changed(&[
            ("/extensionsRequired", json!(["KHR_meshopt_compression"])),
            (
                "/meshes/0/primitives/0",
                json!({"attributes": {"POSITION": 0}, "indices": 1}),
            ),
            (
                "/accessors",
                json!([{"bufferView": 0, "componentType": 5126, "count": points.len(), "type": "VEC3"},
                       {"bufferView": 1, "componentType": 5125, "count": indices.len(), "type": "SCALAR"}]),
            ),
            (
                "/bufferViews",
                json!([
                    view(0, vertices, 12, points.len(), "ATTRIBUTES"),
                    view(vertices.len(), triangles, 4, indices.len(), mode)
                ]),
            ),
            (
                "/buffers",
                json!([{"byteLength": 1, "uri": data_uri(&[&vertices[..], triangles].concat())},
                       {"byteLength": 1, "extensions": {"KHR_meshopt_compression": {"fallback": true}}}]),
            ),
        ]);
        let mesh = read_json(&document).unwrap().0;
        assert_eq!(mesh.triangles.len(), indices.len() / 3);
        // The codec may rotate the corners of a triangle, but keeps the order of triangles.
        for (triangle, indices) in mesh.triangles.iter().zip(indices.as_chunks::<3>().0) {
            let mut corners = triangle.map(|i| mesh.points[i as usize].map(f32::to_bits));
            let mut expected = indices
                .map(&point)
                .map(|[x, y, z]| [x, -z + 0.0, y].map(f32::to_bits));
            corners.sort_unstable();
            expected.sort_unstable();
            assert_eq!(corners, expected);
        }
    }
}

#[test]
fn what_is_not_read_is_named_with_a_remedy() {
    let error = read_file("gltf/draco.gltf").unwrap_err();
    assert_eq!(error.code.id, "mesh-unsupported");
    assert!(
        error
            .diagnostic(Path::new("x/draco.gltf"))
            .message
            .starts_with("draco.gltf: "),
        "{error}"
    );
    assert!(
        error.message.contains("KHR_draco_mesh_compression")
            && error.help.contains("gltf-transform copy draco.gltf"),
        "{error}"
    );
    rectangle("gltf/draco_fallback.gltf");
    let (mesh, diagnostics) = read_file("gltf/ktx2.glb").unwrap();
    assert_eq!(
        (mesh.points.as_slice(), codes_of(&diagnostics)),
        (&RECTANGLE[..], vec!["texture-format"])
    );
    assert!(
        diagnostics[0].message.contains("ktx2.glb")
            && diagnostics[0].message.contains("KHR_texture_basisu")
    );
    assert!(
        diagnostics[0]
            .help
            .contains("gltf-transform ktxdecompress ktx2.glb"),
        "{}",
        diagnostics[0].help
    );
    assert_eq!(mesh.materials[0].base_color_texture, None);
}

#[test]
fn what_nothing_bounds_is_bounded() {
    // Primitives without positions, and values without bytes, count towards the budget, too.
    let primitives = vec![json!({"attributes": {}}); 2000];
    let nodes = vec![json!({"mesh": 0}); 2000];
    let empty = changed(&[
        ("/meshes/0/primitives", json!(primitives)),
        ("/nodes", json!(nodes)),
        ("/scenes/0/nodes", json!((0..2000).collect::<Vec<_>>())),
    ]);
    assert_eq!(read_json(&empty).unwrap_err().code.id, "mesh-too-large");
    let zeros = changed(&[(
        "/accessors/0",
        json!({"componentType": 5126, "count": 10_000_000, "type": "VEC3"}),
    )]);
    assert_eq!(read_json(&zeros).unwrap_err().code.id, "mesh-too-large");
}

/// Returns a text file and a binary one with a bit of everything, to damage.
pub(crate) fn seeds() -> [Vec<u8>; 2] {
    let document = textured(
        &json!({"bufferView": 1}),
        json!({"alphaMode": "BLEND"}),
        &json!({"index": 0, "texCoord": 0}),
    );
    let mut inside = document.clone();
    inside["buffers"][0].as_object_mut().unwrap().remove("uri");
    [document.to_string().into_bytes(), glb(&inside, &buffer())]
}
