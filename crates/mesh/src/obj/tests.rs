//! Small OBJ files with their expected results.

use super::*;
use crate::test::{assert_near, codes_of, colors, read, read_file, read_with, triangles};
use urdf_usd_robot::MapRole;

#[test]
fn corners_of_every_kind() {
    let text = "\u{feff}# a comment\nv 0 0 0\nv 1 0 0 # trailing\nv 2 2 0 2\nv 0 1 0 .1 .2 .3\nvt 0 0\nvt 1 .25\nvn 0 0 2\n\
                f 1/1/1 2/2/1 \\\n 3//1\nf -4 -2/-1 -1//-1\nl 1 2\np 1\nf 1 2\nf 1 2 9\nf 1 2 0\nf 1 2 x\n";
    for text in [
        text.to_owned(),
        text.replace('\n', "\r\n"),
        text.replace('\n', "\r"),
    ] {
        let (mesh, diagnostics) = read("a.obj", text.as_bytes()).unwrap();
        assert_eq!(
            mesh.points,
            [
                [0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [1.0, 1.0, 0.0],
                [0.0, 1.0, 0.0]
            ]
        );
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(mesh.normals.values, [[0.0, 0.0, 1.0]]);
        let uvs = mesh.uvs.as_ref().unwrap();
        let uv: Vec<_> = uvs
            .indices
            .iter()
            .map(|t| t.map(|i| uvs.values[i as usize]))
            .collect();
        assert_eq!(
            uv,
            [
                [[0.0, 0.0], [1.0, 0.25], [0.0, 0.0]],
                [[0.0, 0.0], [1.0, 0.25], [0.0, 0.0]]
            ]
        );
        assert_eq!(
            codes_of(&diagnostics),
            ["mesh-skipped-primitives", "mesh-bad-values"]
        );
        assert!(
            diagnostics[1].message.contains(" 4 faces"),
            "{}",
            diagnostics[1].message
        );
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
    let (mesh, diagnostics) = read_with(
        "a.obj",
        SQUARES.as_bytes(),
        &[("my colours.mtl", mtl.as_bytes())],
    )
    .unwrap();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let names: Vec<_> = triangles(&mesh).iter().map(|t| t.0).collect();
    assert_eq!(names, ["light blue", "light blue", "other"]);
    let blue = &mesh.materials[0];
    assert!((blue.base_color[0] - 0.214_041).abs() < 1e-6, "{blue:?}");
    assert_eq!(blue.base_color[1..], [0.0, 1.0, 0.25]);
    assert_eq!(
        (blue.metallic, blue.roughness, blue.emissive),
        (1.0, 0.75, [0.0, 0.0, 1.0])
    );
    assert_eq!(mesh.materials[1].base_color, [1.0; 4]);
}

#[test]
fn missing_libraries_and_materials() {
    let (mesh, diagnostics) = read("a.obj", SQUARES.as_bytes()).unwrap();
    assert_eq!(codes_of(&diagnostics), ["mesh-material-library"]);
    assert_eq!((mesh.parts.len(), mesh.parts[0].material), (1, None));
    let (_, diagnostics) = read_with(
        "a.obj",
        SQUARES.as_bytes(),
        &[("my colours.mtl", b"newmtl other")],
    )
    .unwrap();
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

/// The rectangle of 2 by 1 in most files of `test/meshes/obj`.
const RECTANGLE: [[f32; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [2.0, 0.0, 0.0],
    [2.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
];

#[test]
fn polygons_of_every_kind() {
    let (mesh, diagnostics) = read_file("obj/polygons.obj").unwrap();
    let ell = [
        [0.0, 0.0],
        [2.0, 0.0],
        [2.0, 1.0],
        [1.0, 1.0],
        [1.0, 2.0],
        [0.0, 2.0],
    ]
    .map(|[x, y]| [x, y, 5.0]);
    let mut points = mesh.points.clone();
    points[4..].sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mut expected = [RECTANGLE.to_vec(), ell.to_vec()].concat();
    expected[4..].sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(points, expected);
    assert_eq!(mesh.triangles[..2], [[0, 1, 2], [0, 2, 3]]);
    let areas: Vec<f32> = triangles(&mesh)
        .iter()
        .map(|(_, [a, b, c])| ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2.0)
        .collect();
    assert!(areas.iter().all(|area| *area > 0.0), "{areas:?}");
    assert_eq!(
        (
            areas.len(),
            areas[..2].iter().sum::<f32>(),
            areas[2..].iter().sum::<f32>()
        ),
        (6, 2.0, 3.0)
    );
    assert_eq!(mesh.normals.values, [[0.0, 0.0, 1.0]]);
    assert_eq!(
        (&mesh.uvs, &mesh.colors, mesh.parts.len()),
        (&None, &None, 1)
    );
    assert_eq!(codes_of(&diagnostics), ["mesh-skipped-primitives"]);
    assert!(
        diagnostics[0].message.contains(" 2 lines"),
        "{}",
        diagnostics[0].message
    );
}

#[test]
fn weights_divide() {
    let (mesh, diagnostics) = read_file("obj/weights.obj").unwrap();
    assert_eq!(
        (mesh.points.as_slice(), diagnostics.len()),
        (&RECTANGLE[..], 0)
    );
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
}

#[test]
fn what_corners_have() {
    let (mesh, diagnostics) = read_file("obj/corners.obj").unwrap();
    assert_eq!(
        (mesh.points.as_slice(), diagnostics.len()),
        (&RECTANGLE[..], 0)
    );
    let uvs = mesh.uvs.as_ref().unwrap();
    let uvs: Vec<_> = uvs
        .indices
        .iter()
        .map(|t| t.map(|i| uvs.values[i as usize]))
        .collect();
    assert_eq!(
        uvs,
        [
            [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]],
            [[0.25, 0.0], [0.0, 0.0], [0.0, 0.0]]
        ]
    );
    let normals = mesh
        .normals
        .indices
        .iter()
        .flatten()
        .flat_map(|i| mesh.normals.values[*i as usize]);
    let (up, slanted) = ([0.0, 0.0, 1.0], [0.0, 0.5_f32.sqrt(), 0.5_f32.sqrt()]);
    // The second face has one normal in the file and two computed ones.
    assert_near(normals, [up, up, slanted, up, up, up].into_iter().flatten());
}

#[test]
fn colors_of_vertices() {
    let (mesh, diagnostics) = read_file("obj/colors.obj").unwrap();
    assert_eq!(
        (
            mesh.points.as_slice(),
            diagnostics.len(),
            mesh.parts[0].material
        ),
        (&RECTANGLE[..], 0, None)
    );
    let [red, green, blue, white] = [
        [1.0, 0.0, 0.0, 1.0],
        [0.0, 1.0, 0.0, 1.0],
        [0.0, 0.0, 0.214_041_1, 1.0],
        [1.0, 1.0, 1.0, 1.0],
    ];
    assert_near(
        colors(&mesh).into_iter().flatten().flatten(),
        [red, green, blue, red, blue, white].into_iter().flatten(),
    );
    let (mesh, _) = read_file("obj/colors255.obj").unwrap();
    assert_near(
        colors(&mesh).into_iter().flatten().flatten(),
        [red, [0.0, 1.0, 0.0, 0.2], blue].into_iter().flatten(),
    );
}

#[test]
fn materials_of_several_libraries() {
    let (mesh, diagnostics) = read_file("obj/materials.obj").unwrap();
    let parts: Vec<_> = mesh
        .parts
        .iter()
        .map(|part| {
            (
                part.triangles.len(),
                part.material.map(|m| mesh.materials[m].name.as_str()),
            )
        })
        .collect();
    assert_eq!(
        parts,
        [
            (2, Some("light blue")),
            (1, Some("lamp")),
            (1, Some("picture")),
            (1, Some("shiny")),
            (1, None)
        ]
    );
    let [blue, lamp, picture, shiny] = &mesh.materials[..] else {
        panic!("{:?}", mesh.materials)
    };
    assert_near(blue.base_color, [0.214_041_1, 0.0, 1.0, 0.25]);
    assert_eq!(
        (blue.metallic, blue.roughness, blue.emissive),
        (0.0, 0.5, [0.0; 3])
    );
    assert_near(lamp.base_color, [0.0, 0.0, 0.0, 1.0]);
    assert_near(lamp.emissive, [1.0, 0.214_041_1, 0.0]);
    let texture = picture.base_color_texture.as_ref().unwrap();
    assert_eq!(
        (texture.name.as_str(), texture.has_alpha),
        ("red and blue", true)
    );
    let uvs = mesh.uvs.as_ref().unwrap();
    let uvs = uvs.indices[3].map(|i| uvs.values[i as usize]);
    assert_eq!(uvs, [[0.5, 0.0], [2.5, 0.0], [2.5, 4.0]]);
    assert_eq!(
        (shiny.roughness, shiny.metallic, shiny.emissive),
        (1.0, 0.75, [1.0; 3])
    );
    assert_eq!(
        shiny.maps.keys().copied().collect::<Vec<_>>(),
        [MapRole::Normal, MapRole::Roughness, MapRole::Emissive]
    );
    assert_eq!(
        codes_of(&diagnostics),
        ["mesh-texture-missing", "mesh-material"]
    );
    assert!(
        diagnostics[1].message.contains("`nowhere`"),
        "{}",
        diagnostics[1].message
    );
}

/// Encodes a PNG of two by two pixels.
fn png(image: image::DynamicImage) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Reads the material `m` of an OBJ file with or without texture coordinates, beside some images.
/// Returns it with the findings.
fn read_material(mtl: &str, texcoords: bool) -> (Material, Vec<String>) {
    let grey = |value: u8| {
        png(image::DynamicImage::ImageLuma8(image::GrayImage::from_fn(
            2,
            2,
            |x, _| image::Luma([value * x as u8]),
        )))
    };
    let normals = png(image::DynamicImage::ImageRgb8(image::RgbImage::from_pixel(
        2,
        2,
        image::Rgb([128, 128, 255]),
    )));
    let glass = png(image::DynamicImage::ImageRgba8(
        image::RgbaImage::from_pixel(2, 2, image::Rgba([9, 9, 9, 51])),
    ));
    let (dark, light) = (grey(100), grey(200));
    let corners = if texcoords {
        "vt 0 0\nvt 1 0\nvt 1 1\nusemtl m\nf 1/1 2/2 3/3"
    } else {
        "usemtl m\nf 1 2 3"
    };
    let obj = format!("mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\n{corners}");
    let mtl = format!("newmtl m\n{mtl}");
    let files: [(&str, &[u8]); 5] = [
        ("dark.png", &dark),
        ("light.png", &light),
        ("normals.png", &normals),
        ("glass.png", &glass),
        ("a.mtl", mtl.as_bytes()),
    ];
    let (mesh, diagnostics) = read_with("a.obj", obj.as_bytes(), &files).unwrap();
    let said: Vec<String> = diagnostics
        .into_iter()
        .map(|found| format!("{} {}", found.code, found.message))
        .collect();
    (mesh.materials.into_iter().next().unwrap(), said)
}

/// Returns the maps of a material with their images and strengths.
fn maps(material: &Material) -> Vec<(MapRole, String, f32)> {
    material
        .maps
        .iter()
        .map(|(role, map)| (*role, map.texture.name.clone(), map.strength))
        .collect()
}

#[test]
fn images_of_materials() {
    let (material, said) = read_material(
        "Ni 1.25\nPr 0.1\nPm 0.1\nmap_Pr dark.png\nmap_Pm -imfchan g light.png\nmap_Ke light.png\nmap_d -imfchan l dark.png\nnorm -bm 0.5 normals.png",
        true,
    );
    assert_eq!(said, [""; 0]);
    assert_eq!(
        (
            material.ior,
            material.roughness,
            material.metallic,
            material.emissive
        ),
        (1.25, 1.0, 1.0, [1.0; 3])
    );
    let [normal, opacity, emissive] = [("normals", 0.5), ("dark", 1.0), ("light", 1.0)]
        .map(|(name, strength)| (name.to_owned(), strength));
    assert_eq!(
        maps(&material),
        [
            (MapRole::Normal, normal.0, normal.1),
            (MapRole::Roughness, "dark".into(), 1.0),
            (MapRole::Metallic, "light".into(), 1.0),
            (MapRole::Opacity, opacity.0, opacity.1),
            (MapRole::Emissive, emissive.0, emissive.1),
        ]
    );
    let alpha = image::load_from_memory(
        &read_material("map_d glass.png", true).0.maps[&MapRole::Opacity]
            .texture
            .bytes,
    )
    .unwrap();
    assert_eq!(
        alpha.into_luma8().get_pixel(0, 0).0,
        [51],
        "an image with opacity means that"
    );
}

#[test]
fn a_bump_map_is_taken_for_what_it_is() {
    let (material, said) = read_material("map_Bump normals.png", true);
    assert_eq!(maps(&material), [(MapRole::Normal, "normals".into(), 1.0)]);
    assert!(
        said.len() == 1 && said[0].contains("holds normals"),
        "{said:?}"
    );
    let (material, said) = read_material("bump -bm 2 dark.png", true);
    assert!(
        material.maps.is_empty() && said.len() == 1 && said[0].contains("holds heights"),
        "{said:?}"
    );
}

/// The colour's image as that of the ambient light is not reported.
#[test]
fn an_image_without_a_place_is_told() {
    let (material, said) = read_material(
        "map_Kd dark.png\nmap_Ka dark.png\nmap_Ks light.png\nmap_Ns light.png\ndisp light.png\nNi 1",
        true,
    );
    assert!(
        material.maps.is_empty() && material.ior == 1.5 && said.len() == 1,
        "{said:?}"
    );
    assert!(
        ["map_ks", "map_ns", "disp"]
            .iter()
            .all(|name| said[0].contains(name))
            && !said[0].contains("map_ka"),
        "{said:?}"
    );
}

#[test]
fn a_mesh_has_one_set_of_coordinates_placed_as_the_first_image_is_or_none() {
    let (material, said) = read_material(
        "map_Kd -s 2 2 1 dark.png\nmap_Pr -s 2 2 1 light.png\nmap_Pm light.png\nnorm normals.png",
        true,
    );
    assert_eq!(
        material.maps.keys().collect::<Vec<_>>(),
        [&MapRole::Roughness]
    );
    assert!(
        said.len() == 2 && (material.metallic - 100.0 / 255.0).abs() < 1e-6,
        "{said:?}"
    );
    let (material, said) = read_material(
        "map_Pr light.png\nmap_Ke light.png\nmap_d dark.png\nnorm normals.png",
        false,
    );
    assert!(material.maps.is_empty() && said.len() == 4, "{said:?}");
    assert!(
        (material.roughness - 100.0 / 255.0).abs() < 1e-6
            && (material.base_color[3] - 50.0 / 255.0).abs() < 1e-6
    );
    assert!(
        material.emissive[0] > 0.2 && material.emissive[0] < 0.4,
        "the mean is linear"
    );
}

#[test]
fn line_ends_and_paths_of_other_systems() {
    let (mesh, diagnostics) = read_file("obj/windows.obj").unwrap();
    assert_eq!(
        (mesh.points.as_slice(), diagnostics.len()),
        (&RECTANGLE[..3], 0)
    );
    assert_eq!(mesh.materials[0].name, "light blue");
    let (mesh, diagnostics) = read_file("obj/mac.obj").unwrap();
    assert_eq!(
        (mesh.points.as_slice(), diagnostics.len()),
        (&RECTANGLE[..3], 0)
    );
}

#[test]
fn what_is_missing_is_said_and_the_rest_stays() {
    let (mesh, diagnostics) = read_file("obj/missing.obj").unwrap();
    assert_eq!((mesh.triangles.len(), mesh.materials.len()), (1, 0));
    assert_eq!(
        codes_of(&diagnostics),
        ["mesh-material-library", "mesh-bad-values"]
    );
    assert!(diagnostics[0].message.contains("`nowhere.mtl`") && !diagnostics[0].help.is_empty());
}

#[test]
fn libraries_whose_names_have_spaces() {
    let obj = b"mtllib my first.mtl my second.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl a\nf 1 2 3\nusemtl b\nf 1 2 3";
    let (mesh, diagnostics) = read_with(
        "a.obj",
        obj,
        &[
            ("my first.mtl", b"newmtl a\nKd 1 0 0"),
            ("my second.mtl", b"newmtl b\nKd 0 1 0"),
        ],
    )
    .unwrap();
    assert_eq!((mesh.materials.len(), diagnostics.len()), (2, 0));
}
