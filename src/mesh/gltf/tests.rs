//! Small glTF files, each with what must come out of it.

use serde_json::{Value, json};

use super::*;
use crate::mesh::test::{check, codes_of, read, read_with, triangles};

/// Four points of a square in the x-y plane of glTF, which stands upright there and so in the x-z plane of the hub.
const POSITIONS: [f32; 12] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0];
const UVS: [f32; 8] = [0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
const INDICES: [u16; 6] = [0, 1, 2, 0, 2, 3];

/// Positions at 0, texture coordinates at 48, indices at 80; 92 bytes.
fn buffer() -> Vec<u8> {
    let floats = POSITIONS.iter().chain(&UVS).flat_map(|x| x.to_le_bytes());
    floats.chain(INDICES.iter().flat_map(|i| i.to_le_bytes())).collect()
}

fn data_uri(bytes: &[u8]) -> String {
    format!("data:application/octet-stream;base64,{}", BASE64.encode(bytes))
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

/// The document with one value changed, given by a JSON pointer; members that are not there are made.
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

fn read_json(document: &Value) -> Result<(Mesh, Vec<crate::diagnostic::Diagnostic>), Error> {
    read("a.gltf", document.to_string().as_bytes())
}

fn glb(document: &Value, binary: &[u8]) -> Vec<u8> {
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let length = 12 + 8 + text.len() + 8 + binary.len();
    let mut bytes = b"glTF".to_vec();
    bytes.extend([2, length as u32, text.len() as u32].iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend(b"JSON");
    bytes.extend(text);
    bytes.extend((binary.len() as u32).to_le_bytes());
    bytes.extend(b"BIN\0");
    bytes.extend(binary);
    bytes
}

const SQUARE: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]];

#[test]
fn buffers_of_every_kind() {
    let mut inside = document();
    inside["buffers"][0].as_object_mut().unwrap().remove("uri");
    let outside = changed(&[("/buffers/0/uri", json!("my%20data.bin"))]);
    let unpadded = changed(&[("/buffers/0/uri", json!(data_uri(&buffer()).trim_end_matches('=')))]);
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
        let uvs = mesh.uvs.unwrap();
        assert_eq!(uvs.indices[0].map(|i| uvs.values[i as usize]), [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]);
        assert_eq!(mesh.materials[0].base_color, [1.0; 4]);
        assert_eq!((mesh.materials[0].metallic, mesh.materials[0].roughness), (1.0, 1.0));
    }
    let (error, missing) = (read_json(&outside).unwrap_err(), read("a.glb", &glb(&inside, &buffer())[..200]).unwrap_err());
    assert_eq!((error.code.id, missing.code.id), ("mesh-empty", "mesh-unreadable"));
}

#[test]
fn nodes_are_walked_with_their_transforms() {
    let nodes = json!([
        {"children": [1, 2], "translation": [0, 0, 2], "rotation": [0, 1, 0, 1]},
        {"mesh": 0, "scale": [2, 1, 1]},
        {"mesh": 0, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 3, 0, 1]},
    ]);
    let (mesh, _) = read_json(&changed(&[("/nodes", nodes)])).unwrap();
    let rounded: Vec<_> = triangles(&mesh).iter().map(|t| t.1.map(|p| p.map(|x| x.round() as i32))).collect();
    // x of the square points along -z after the quarter turn about y, which is +y of the hub; z of 2 is y of -2.
    assert_eq!(rounded[0], [[0, -2, 0], [0, 0, 0], [0, 0, 1]]);
    assert_eq!(rounded[2], [[0, -2, 3], [0, -1, 3], [0, -1, 4]]);
    let mirrored = read_json(&changed(&[("/nodes", json!([{"mesh": 0, "scale": [-1, 1, 1]}]))])).unwrap().0;
    assert_eq!(mirrored.normals.values, [[0.0, -1.0, 0.0]]);
}

#[test]
fn circles_and_wrong_indices_end() {
    for (changes, code) in [
        (vec![("/nodes", json!([{"mesh": 0, "children": [0]}]))], "mesh-reference"),
        (vec![("/nodes", json!([{"mesh": 0, "children": [1]}, {"children": [0, 9]}]))], "mesh-reference mesh-reference"),
        (
            vec![("/nodes", json!([{"mesh": 0}, {"mesh": 7}])), ("/scenes/0/nodes", json!([0, 1, 5]))],
            "mesh-reference mesh-reference",
        ),
        (vec![("/meshes/0/primitives/0/material", json!(4))], "mesh-material"),
        (vec![("/meshes/0/primitives/0/attributes", json!({"POSITION": 0, "NORMAL": 55}))], "mesh-reference"),
        (vec![("/accessors/1/count", json!(5))], "mesh-reference"),
        (vec![("/accessors/1/type", json!("VEC4"))], "mesh-reference"),
        (vec![("/bufferViews/1/byteStride", json!(200))], "mesh-reference"),
        (vec![("/scene", json!(3))], ""),
    ] {
        let (mesh, diagnostics) = read_json(&changed(&changes)).unwrap_or_else(|error| panic!("{changes:?}: {error}"));
        check(&mesh);
        assert_eq!(codes_of(&diagnostics).join(" "), code, "{changes:?}");
    }
    for (changes, code) in [
        (vec![("/accessors/0/count", json!(9_000_000_000_000_u64))], "mesh-too-large"),
        (vec![("/accessors/0/count", json!(5))], "mesh-empty"),
        (vec![("/accessors/0/byteOffset", json!(u64::MAX))], "mesh-empty"),
        (vec![("/bufferViews/0/byteOffset", json!(u64::MAX))], "mesh-empty"),
        (vec![("/accessors/2/componentType", json!(7))], "mesh-empty"),
        (vec![("/nodes", json!("x"))], "mesh-unreadable"),
        (vec![("/asset/version", json!("1.0")), ("/nodes", json!({}))], "mesh-unsupported"),
    ] {
        assert_eq!(read_json(&changed(&changes)).unwrap_err().code.id, code, "{changes:?}");
    }
    let chain: Vec<_> = (0..5000).map(|i| json!({"children": [i + 1]})).collect();
    assert_eq!(read_json(&changed(&[("/nodes", json!(chain))])).unwrap_err().code.id, "mesh-too-large");
    let out_of_range = changed(&[("/accessors/2/byteOffset", json!(0)), ("/accessors/2/bufferView", json!(0))]);
    assert_eq!(read_json(&out_of_range).unwrap_err().code.id, "mesh-empty");
}

#[test]
fn strips_fans_and_what_is_no_surface() {
    let with_mode = |mode: u32| changed(&[("/meshes/0/primitives/0/mode", json!(mode)), ("/accessors/2/count", json!(4))]);
    let strip = read_json(&with_mode(5)).unwrap().0;
    assert_eq!(strip.triangles, [[0, 1, 2], [2, 1, 0]]);
    let fan = read_json(&with_mode(6)).unwrap().0;
    assert_eq!(fan.triangles, [[0, 1, 2]]);
    assert_eq!(read_json(&with_mode(1)).unwrap_err().code.id, "mesh-empty");
    let unindexed = changed(&[("/meshes/0/primitives/0", json!({"attributes": {"POSITION": 0}, "mode": 5}))]);
    assert_eq!(read_json(&unindexed).unwrap().0.triangles, [[0, 1, 2], [2, 1, 3]]);
}

#[test]
fn quantised_and_sparse_values() {
    // The square in shorts, normalised: 32767 is 1.
    let shorts: Vec<u8> = POSITIONS.iter().flat_map(|x| ((x * 32767.0) as i16).to_le_bytes()).collect();
    let document = changed(&[
        ("/extensionsRequired", json!(["KHR_mesh_quantization"])),
        ("/buffers", json!([{"byteLength": 92, "uri": data_uri(&buffer())}, {"byteLength": 24, "uri": data_uri(&shorts)}])),
        ("/bufferViews/0", json!({"buffer": 1, "byteLength": 24})),
        ("/accessors/0", json!({"bufferView": 0, "componentType": 5122, "normalized": true, "count": 4, "type": "VEC3"})),
    ]);
    assert_eq!(read_json(&document).unwrap().0.points, SQUARE);

    // Of a triangle of zeros, points 1 and 2 are replaced.
    let mut sparse: Vec<u8> = vec![1, 2, 0, 0];
    sparse.extend([1.0_f32, 0.0, 0.0, 0.0, 5.0, 0.0].iter().flat_map(|x| x.to_le_bytes()));
    let document = changed(&[
        ("/meshes/0/primitives/0", json!({"attributes": {"POSITION": 0}})),
        ("/buffers/0", json!({"byteLength": 28, "uri": data_uri(&sparse)})),
        ("/bufferViews", json!([{"buffer": 0, "byteLength": 4}, {"buffer": 0, "byteOffset": 4, "byteLength": 24}])),
        (
            "/accessors/0",
            json!({"componentType": 5126, "count": 3, "type": "VEC3", "sparse": {"count": 2,
                   "indices": {"bufferView": 0, "componentType": 5121}, "values": {"bufferView": 1}}}),
        ),
    ]);
    assert_eq!(read_json(&document).unwrap().0.points, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 5.0]]);
}

#[test]
fn draco_is_refused_unless_there_is_another_form() {
    let compressed = json!({"attributes": {"POSITION": 0}, "indices": 2, "extensions": {"KHR_draco_mesh_compression": {}}});
    let without_bytes = json!({"componentType": 5126, "count": 4, "type": "VEC3"});
    for changes in [
        vec![("/extensionsRequired", json!(["KHR_draco_mesh_compression"]))],
        vec![("/meshes/0/primitives/0", compressed.clone()), ("/accessors/0", without_bytes)],
    ] {
        let error = read_json(&changed(&changes)).unwrap_err();
        assert_eq!(error.code.id, "mesh-unsupported");
        assert!(error.message.contains("KHR_draco_mesh_compression"), "{error}");
        assert!(error.help.contains("`gltf-transform copy a.gltf plain_a.gltf`"), "{}", error.help);
    }
    assert_eq!(read_json(&changed(&[("/meshes/0/primitives/0", compressed)])).unwrap().0.points, SQUARE);
    let error = read_json(&changed(&[("/extensionsRequired", json!(["X_a", "KHR_texture_transform", "X_b"]))])).unwrap_err();
    assert!(error.message.ends_with("X_a, X_b"), "{error}");
    assert!(read_json(&changed(&[("/extensionsRequired", json!(["KHR_materials_unlit"]))])).is_ok());
}

fn png(alpha: u8) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::RgbaImage::from_pixel(1, 1, image::Rgba([9, 9, 9, alpha])).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// A document whose material has a texture of `image`, and what else `material` says.
fn textured(image: &Value, material: Value, texture_info: &Value) -> Value {
    let mut material = material;
    material["pbrMetallicRoughness"] =
        json!({"baseColorTexture": texture_info, "metallicFactor": 0.25, "roughnessFactor": 0.75});
    changed(&[("/images", json!([image])), ("/textures", json!([{"source": 0}])), ("/materials", json!([material]))])
}

#[test]
fn textures_and_their_alpha() {
    let plain = json!({"index": 0});
    let image = json!({"uri": "a%20b.png"});
    let embedded = json!({"uri": data_uri(&png(7)), "name": "a b"});
    for image in [image, embedded] {
        for (mode, alpha) in [("OPAQUE", false), ("BLEND", true), ("MASK", true)] {
            let document = textured(&image, json!({"alphaMode": mode}), &plain);
            let (mesh, diagnostics) = read_with("a.gltf", document.to_string().as_bytes(), &[("a b.png", &png(7))]).unwrap();
            assert!(diagnostics.is_empty(), "{diagnostics:?}");
            let material = &mesh.materials[0];
            let texture = material.base_color_texture.as_ref().unwrap();
            assert_eq!((texture.name.as_str(), texture.has_alpha, &*texture.bytes), ("a b", alpha, &*png(7)));
            assert_eq!((material.metallic, material.roughness), (0.25, 0.75));
        }
    }
    for (image, texture, code) in [
        (json!({"uri": "none.png"}), json!({"source": 0}), "mesh-texture-missing"),
        (json!({"bufferView": 99, "mimeType": "image/png"}), json!({"source": 0}), "mesh-texture-missing"),
        (json!({}), json!({"source": 0}), "mesh-texture-missing"),
        (json!({}), json!({"source": 5}), "mesh-texture-missing"),
        (json!({}), json!({"extensions": {"KHR_texture_basisu": {"source": 0}}}), "texture-format"),
        (json!({}), json!({"extensions": {"MSFT_texture_dds": {"source": 0}}}), "texture-format"),
    ] {
        let mut document = textured(&image, json!({}), &plain);
        document["textures"][0] = texture;
        let (mesh, diagnostics) = read_json(&document).unwrap();
        assert_eq!((mesh.materials[0].base_color_texture.as_ref(), codes_of(&diagnostics)), (None, vec![code]));
    }
}

#[test]
fn texture_transforms() {
    let info = json!({"index": 0, "extensions": {"KHR_texture_transform": {
        "offset": [0.5, 0.25], "rotation": std::f64::consts::FRAC_PI_2, "scale": [2, 4], "texCoord": 0}}});
    let document = textured(&json!({"uri": data_uri(&png(255))}), json!({}), &info);
    let uvs = read_json(&document).unwrap().0.uvs.unwrap();
    // (0, 1) of the file: scaled (0, 4), turned (4, 0), moved (4.5, 0.25).
    let first = uvs.values[uvs.indices[0][0] as usize];
    assert!((first[0] - 4.5).abs() < 1e-5 && (first[1] - 0.75).abs() < 1e-5, "{first:?}");
}

#[test]
fn colours() {
    let material = json!({"emissiveFactor": [1, 0, 0.5], "alphaMode": "BLEND",
        "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.25, 0, 0.5]},
        "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 2}}});
    let (mesh, _) = read_json(&changed(&[("/materials/0", material.clone())])).unwrap();
    assert_eq!((mesh.materials[0].base_color, mesh.materials[0].emissive), ([0.5, 0.25, 0.0, 0.5], [2.0, 0.0, 1.0]));
    let mut opaque = material;
    opaque["alphaMode"] = json!("OPAQUE");
    assert_eq!(read_json(&changed(&[("/materials/0", opaque)])).unwrap().0.materials[0].base_color[3], 1.0);
    let old = json!({"extensions": {"KHR_materials_pbrSpecularGlossiness": {"diffuseFactor": [0, 1, 0, 1], "glossinessFactor": 0.25}}});
    let (mesh, _) = read_json(&changed(&[("/materials/0", old)])).unwrap();
    assert_eq!(
        (mesh.materials[0].base_color, mesh.materials[0].metallic, mesh.materials[0].roughness),
        ([0.0, 1.0, 0.0, 1.0], 0.0, 0.75)
    );
    let (mesh, _) =
        read_json(&changed(&[("/meshes/0/primitives/0", json!({"attributes": {"POSITION": 0}, "indices": 2}))])).unwrap();
    assert_eq!((mesh.parts[0].material, mesh.materials.len()), (None, 0));
}

#[test]
fn a_glb_with_a_length_below_its_header_is_broken() {
    for length in [0_u32, 11] {
        let bytes = [&b"glTF"[..], &2_u32.to_le_bytes(), &length.to_le_bytes(), &[0; 20]].concat();
        assert_eq!(read("a.glb", &bytes).unwrap_err().code.id, "mesh-unreadable");
    }
    assert_eq!(read("a.glb", b"glTF").unwrap_err().code.id, "mesh-unreadable");
}

/// A text file and a binary one with a bit of everything, for damage.
pub(in crate::mesh) fn seeds() -> [Vec<u8>; 2] {
    let document = textured(&json!({"bufferView": 1}), json!({"alphaMode": "BLEND"}), &json!({"index": 0, "texCoord": 0}));
    let mut inside = document.clone();
    inside["buffers"][0].as_object_mut().unwrap().remove("uri");
    [document.to_string().into_bytes(), glb(&inside, &buffer())]
}
