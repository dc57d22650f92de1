//! Small Collada files with their expected results.

use crate::test::{check, codes_of, read, read_with, source, triangles};
use crate::{Error, Options, UpAxis};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_resolve::File;
use urdf_usd_robot::{MapRole, Material, Mesh};

/// Reads a file without references, interpreted by `options`.
fn read_as(name: &str, bytes: &[u8], options: Options) -> Result<(Mesh, Vec<Diagnostic>), Error> {
    crate::read(
        &File {
            path: name.into(),
            bytes: bytes.into(),
        },
        source().files,
        options,
    )
}

/// Returns a file with library elements and the content of its visual scene.
fn file(unit: &str, libraries: &str, scene: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">\
         <asset>{unit}<up_axis>Y_UP</up_axis></asset>{libraries}<library_visual_scenes><visual_scene id=\"scene\">{scene}</visual_scene>\
         </library_visual_scenes><scene><instance_visual_scene url=\"#scene\"/></scene></COLLADA>"
    )
}

/// Returns a geometry `id` with five positions, two normals, three texture coordinates, and some
/// primitives.
fn geometry(id: &str, primitives: &str) -> String {
    format!(
        "<library_geometries><geometry id=\"{id}\"><mesh>\
         <source id=\"p\"><float_array id=\"pa\" count=\"999999999\">0 0 0 <!-- x --> 1 0 0 1 1 0 0 1 0 0 0 1</float_array>\
         <technique_common><accessor source=\"#pa\" count=\"4294967295\" stride=\"3\"><param name=\"X\"/><param name=\"Y\"/><param name=\"Z\"/>\
         </accessor></technique_common></source>\
         <source id=\"n\"><float_array>0 0 1 0 0 -3</float_array></source>\
         <source id=\"t\"><float_array>7 0 0 9 7 1 0 9 7 1 .5 9</float_array><technique_common>\
         <accessor offset=\"1\" stride=\"4\"><param name=\"S\"/><param name=\"T\"/><param name=\"P\"/></accessor></technique_common></source>\
         <vertices id=\"v\"><input semantic=\"POSITION\" source=\"#p\"/></vertices>{primitives}</mesh></geometry></library_geometries>"
    )
}

const VERTEX: &str = "<input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/>";
const INSTANCE: &str = "<node><instance_geometry url=\"#g\"/></node>";
const ONE: &str =
    "<triangles><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><p>0 1 2</p></triangles>";

const P: [[f32; 3]; 5] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
];

/// Returns the corners' positions of triangulated primitives, without materials.
fn corners(primitives: &str) -> Vec<[[f32; 3]; 3]> {
    let (mesh, _) = read(
        "a.dae",
        file("", &geometry("g", primitives), INSTANCE).as_bytes(),
    )
    .unwrap();
    check(&mesh);
    corners_of(&mesh)
}

fn corners_of(mesh: &Mesh) -> Vec<[[f32; 3]; 3]> {
    triangles(mesh)
        .into_iter()
        .map(|(_, corners)| corners)
        .collect()
}

fn at(indices: &[[usize; 3]]) -> Vec<[[f32; 3]; 3]> {
    indices.iter().map(|t| t.map(|i| P[i])).collect()
}

#[test]
fn primitives_of_every_kind() {
    assert_eq!(corners(ONE), at(&[[0, 1, 2]]));
    assert_eq!(
        corners(&format!(
            "<tristrips>{VERTEX}<p>0 1 3 2 4</p><p>0 1 2</p></tristrips>"
        )),
        at(&[[0, 1, 3], [3, 1, 2], [3, 2, 4], [0, 1, 2]])
    );
    assert_eq!(
        corners(&format!("<trifans>{VERTEX}<p>0 1 2 3</p></trifans>")),
        at(&[[0, 1, 2], [0, 2, 3]])
    );
    assert_eq!(
        corners(&format!(
            "<polylist count=\"7\">{VERTEX}<vcount>3 4</vcount><p>0 1 4 0 1 2 3</p></polylist>"
        )),
        at(&[[0, 1, 4], [0, 1, 2], [0, 2, 3]])
    );
    assert_eq!(
        corners(&format!(
            "<polygons>{VERTEX}<p>0 1 2 3</p><p>0 1 4</p></polygons>"
        )),
        at(&[[0, 1, 2], [0, 2, 3], [0, 1, 4]])
    );
    assert_eq!(
        corners(&format!("<lines>{VERTEX}<p>0 1</p></lines>{ONE}")),
        at(&[[0, 1, 2]])
    );
}

#[test]
fn polygons_with_holes() {
    let primitives = "<source id=\"q\"><float_array>0 0 0 4 0 0 4 4 0 0 4 0 1 1 0 2 1 0 2 2 0 1 2 0</float_array></source>\
                      <polygons><input semantic=\"POSITION\" source=\"#q\" offset=\"0\"/>\
                      <ph><p>0 1 2 3</p><h>4 5 6 7</h></ph></polygons>";
    let triangles = corners(primitives);
    let area: f32 = triangles
        .iter()
        .map(|[a, b, c]| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
        .sum::<f32>()
        / 2.0;
    assert_eq!((triangles.len(), area), (8, 15.0));
}

#[test]
fn inputs_at_offsets_of_their_own() {
    let primitives = "<triangles><input semantic=\"NORMAL\" source=\"#n\" offset=\"2\"/><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/>\
                      <input semantic=\"TEXCOORD\" source=\"#t\" offset=\"1\" set=\"3\"/><p>0 0 0  1 1 1  2 2 -1</p></triangles>";
    let (mesh, _) = read(
        "a.dae",
        file("", &geometry("g", primitives), INSTANCE).as_bytes(),
    )
    .unwrap();
    check(&mesh);
    let normals = mesh.normals.indices[0].map(|i| mesh.normals.values[i as usize]);
    assert_eq!(
        normals,
        [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]
    );
    let uvs = mesh.uvs.as_ref().unwrap();
    assert_eq!(
        uvs.indices[0].map(|i| uvs.values[i as usize]),
        [[0.0, 0.0], [1.0, 0.0], [1.0, 0.5]]
    );
}

#[test]
fn faults_cost_faces_only() {
    for (primitives, kept, found) in [
        (
            format!("<triangles>{VERTEX}<p>0 1 2 0 1 9 0 1 x 0 1</p></triangles>"),
            1,
            "mesh-bad-values",
        ),
        (
            format!(
                "<polylist>{VERTEX}<vcount>3 2 4 3</vcount><p>0 1 2 0 1 0 1 2 3 0 1</p></polylist>"
            ),
            3,
            "mesh-bad-values",
        ),
        (
            format!(
                "{ONE}<triangles><input semantic=\"VERTEX\" source=\"#nope\"/><p>0 1 2</p></triangles>"
            ),
            1,
            "mesh-reference",
        ),
        (
            format!(
                "{ONE}<triangles><input semantic=\"VERTEX\" source=\"#v\" offset=\"4294967295\"/><p>0 1 2</p></triangles>"
            ),
            1,
            "",
        ),
        (
            format!("{ONE}<triangles>{VERTEX}</triangles><polylist>{VERTEX}</polylist>"),
            1,
            "",
        ),
        (
            format!("{ONE}<triangles>{VERTEX}<p>0 1 1</p></triangles>"),
            1,
            "mesh-degenerate-triangles",
        ),
        (
            format!("{ONE}<linestrips>{VERTEX}<p>0 1 1</p></linestrips>"),
            1,
            "mesh-skipped-primitives",
        ),
    ] {
        let (mesh, diagnostics) = read(
            "a.dae",
            file("", &geometry("g", &primitives), INSTANCE).as_bytes(),
        )
        .unwrap();
        check(&mesh);
        assert_eq!(mesh.triangles.len(), kept, "{primitives}");
        assert_eq!(codes_of(&diagnostics).join(" "), found, "{primitives}");
    }
}

#[test]
fn scenes() {
    let libraries = geometry("g", ONE)
        + "<library_nodes><node id=\"lib\"><translate>0 0 5</translate><instance_geometry url=\"#g\"/></node></library_nodes>";
    let scene = "<node><translate>1 0 0</translate><rotate>0 0 1 90</rotate><instance_geometry url=\"#g\"/>\
                 <node><scale>2 2 2</scale><instance_geometry url=\"#g\"/><instance_node url=\"#lib\"/></node></node>\
                 <node><scale>1 1 -1</scale><instance_geometry url=\"g\"/></node><instance_geometry url=\"#g\"/>";
    let (mesh, diagnostics) = read(
        "a.dae",
        file(
            "<unit name=\"centimetre\" meter=\"0.01\"/>",
            &libraries,
            scene,
        )
        .as_bytes(),
    )
    .unwrap();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let rounded: Vec<_> = triangles(&mesh)
        .iter()
        .map(|t| t.1.map(|p| p.map(|x| (x * 1e4).round() as i32)))
        .collect();
    assert_eq!(
        rounded,
        [
            [[100, 0, 0], [100, 100, 0], [0, 100, 0]],
            [[100, 0, 0], [100, 200, 0], [-100, 200, 0]],
            [[100, 0, 1000], [100, 200, 1000], [-100, 200, 1000]],
            // Mirrored, so the winding is flipped.
            [[0, 0, 0], [100, 100, 0], [100, 0, 0]],
        ]
    );
}

#[test]
fn circles_and_floods_end() {
    let circle = "<library_nodes><node id=\"a\"><instance_geometry url=\"#g\"/><instance_node url=\"#b\"/></node>\
                  <node id=\"b\"><instance_node url=\"#a\"/></node></library_nodes>";
    let (mesh, diagnostics) = read(
        "a.dae",
        file(
            "",
            &(geometry("g", ONE) + circle),
            "<node><instance_node url=\"#a\"/></node>",
        )
        .as_bytes(),
    )
    .unwrap();
    assert_eq!(
        (mesh.triangles.len(), codes_of(&diagnostics)),
        (1, vec!["mesh-reference"])
    );

    let mut flood =
        String::from("<library_nodes><node id=\"n0\"><instance_geometry url=\"#g\"/></node>");
    for i in 1..60 {
        flood += &format!(
            "<node id=\"n{i}\"><instance_node url=\"#n{0}\"/><instance_node url=\"#n{0}\"/></node>",
            i - 1
        );
    }
    flood += "</library_nodes>";
    let text = file(
        "",
        &(geometry("g", ONE) + &flood),
        "<node><instance_node url=\"#n59\"/></node>",
    );
    assert_eq!(
        read("a.dae", text.as_bytes()).unwrap_err().code.id,
        "mesh-too-large"
    );

    let deep = format!("{}{}", "<node>".repeat(3000), "</node>".repeat(3000));
    assert_eq!(
        read("a.dae", file("", "", &deep).as_bytes())
            .unwrap_err()
            .code
            .id,
        "mesh-too-large"
    );
    let deeper = format!(
        "<COLLADA>{}{}</COLLADA>",
        "<a>".repeat(200_000),
        "</a>".repeat(200_000)
    );
    assert!(read("a.dae", deeper.as_bytes()).is_err());
}

#[test]
fn controllers_are_at_rest() {
    let skin = "<library_controllers><controller id=\"outer\"><morph source=\"#skin\"/></controller><controller id=\"skin\"><skin source=\"#g\">\
                <bind_shape_matrix>1 0 0 0 0 1 0 0 0 0 1 3 0 0 0 1</bind_shape_matrix></skin></controller>\
                <controller id=\"lost\"><skin source=\"#lost\"/></controller></library_controllers>";
    let scene = "<node><translate>1 0 0</translate><instance_controller url=\"#outer\"/><instance_controller url=\"#lost\"/></node>";
    let (mesh, diagnostics) = read(
        "a.dae",
        file("", &(geometry("g", ONE) + skin), scene).as_bytes(),
    )
    .unwrap();
    assert_eq!(
        triangles(&mesh)[0].1,
        [[1.0, 0.0, 3.0], [2.0, 0.0, 3.0], [2.0, 1.0, 3.0]]
    );
    assert_eq!(
        codes_of(&diagnostics),
        ["mesh-morph-targets", "mesh-reference"]
    );
}

#[test]
fn without_a_scene_all_geometries_count() {
    let text = format!("<COLLADA>{}</COLLADA>", geometry("g", ONE));
    assert_eq!(
        triangles(&read("a.dae", text.as_bytes()).unwrap().0),
        [("", [P[0], P[1], P[2]])]
    );
}

#[test]
fn ids_are_those_of_the_mesh_first() {
    let second = geometry("h", ONE).replace(">0 0 0 ", ">0 0 9 ");
    let scene = "<node><instance_geometry url=\"#h\"/></node>";
    let (mesh, _) = read(
        "a.dae",
        file("", &(geometry("g", ONE) + &second), scene).as_bytes(),
    )
    .unwrap();
    assert_eq!(mesh.points[0], [0.0, 0.0, 9.0]);
}

#[test]
fn units_and_up_axes_that_make_no_sense() {
    let sound = file("<unit meter=\"1\"/>", &geometry("g", ONE), INSTANCE);
    for unit in ["0", "-1", "nan", "inf", "0,01", ""] {
        let (mesh, diagnostics) = read(
            "a.dae",
            sound
                .replace("meter=\"1\"", &format!("meter=\"{unit}\""))
                .as_bytes(),
        )
        .unwrap();
        assert_eq!(
            (corners_of(&mesh), codes_of(&diagnostics)),
            (at(&[[0, 1, 2]]), vec!["mesh-asset"]),
            "{unit}"
        );
    }
    let honor = Options {
        up_axis: UpAxis::Honor,
    };
    let y_up = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]];
    for (up_axis, found) in [
        ("<up_axis>Y_UP</up_axis>", ""),
        ("<up_axis>W_UP</up_axis>", "mesh-asset"),
        ("", ""),
    ] {
        let text = sound.replace("<up_axis>Y_UP</up_axis>", up_axis);
        let (mesh, diagnostics) = read_as("a.dae", text.as_bytes(), honor).unwrap();
        assert_eq!(
            (corners_of(&mesh), codes_of(&diagnostics).join(" ")),
            (vec![y_up], found.to_owned()),
            "{up_axis}"
        );
    }
}

#[test]
fn errors_say_where() {
    let text = file("", &geometry("g", ONE), INSTANCE);
    // The text of these tests starts one line after the declaration.
    assert_eq!(
        read("a.dae", text.replace("</mesh>", "</mess>").as_bytes())
            .unwrap_err()
            .line,
        2
    );
    assert_eq!(
        read(
            "a.dae",
            format!("\n\n{}", text.replace("</mesh>", "</mess>")).as_bytes()
        )
        .unwrap_err()
        .line,
        4
    );
    assert_eq!(read("a.dae", b"\n<!-- x -->\n<html/>").unwrap_err().line, 3);
    let list = "1 ".repeat(500);
    let error = read("a.dae", format!("<p>{list}</p></q>").as_bytes()).unwrap_err();
    assert!(error.message.ends_with(" at 1:1008"), "{error}");
    let attributes: String = (0..2001).map(|i| format!(" a{i}='='")).collect();
    let error = read("a.dae", format!("<p>\n<q{attributes}/></p>").as_bytes()).unwrap_err();
    assert_eq!(error.line, 2);
    assert!(error.message.contains("2000 attributes"), "{error}");
    let deep = file(
        "",
        "",
        &format!("{}{}", "<node>\n".repeat(200), "</node>".repeat(200)),
    );
    assert_eq!(read("a.dae", deep.as_bytes()).unwrap_err().line, 2 + 128);
    let text = format!("\n{}", text.replace("url=\"#g\"", "url=\"#h\""));
    assert_eq!(
        read("a.dae", text.as_bytes()).unwrap_err().code.id,
        "mesh-empty"
    );
}

#[test]
fn prefixes_are_declared_at_the_root() {
    for (text, root) in [
        ("<COLLADA>", "<COLLADA"),
        (
            "<?xml version='1.0'?>\n<!-- <COLLADA> --><c:COLLADA a='b'>",
            "<c:COLLADA",
        ),
        ("<!DOCTYPE COLLADA><a/>", "<a"),
        ("<!DOCTYPE COLLADA [<!ENTITY x \"<y>\">]>\n<a\n>", "<a"),
    ] {
        assert_eq!(
            super::root_name_end(text),
            Some(text.rfind(root).unwrap() + root.len()),
            "{text}"
        );
    }
    for text in [
        "",
        "<",
        "<?",
        "<!-- <a>",
        "<!DOCTYPE [<a>",
        "text",
        "<a",
        "<!--",
        "<é",
    ] {
        assert_eq!(super::root_name_end(text), None, "{text}");
    }
}

#[test]
fn encodings_and_namespaces() {
    let text = file(
        "",
        &geometry("gé", ONE),
        "<node><instance_geometry url=\"#g%C3%A9\"/></node>",
    );
    let utf16 = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    let latin1: Vec<u8> = text
        .replace("utf-8", "ISO-8859-1")
        .replace("%C3%A9", "é")
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    let files = [
        text.clone().into_bytes(),
        format!("\u{feff}\n {text}").into_bytes(),
        [&[0xFF, 0xFE][..], &utf16(u16::to_le_bytes)].concat(),
        [&[0xFE, 0xFF][..], &utf16(u16::to_be_bytes)].concat(),
        utf16(u16::to_le_bytes),
        latin1,
        text.replace(
            " xmlns=\"http://www.collada.org/2005/11/COLLADASchema\"",
            "",
        )
        .into_bytes(),
        text.replace("<COLLADA", "<!DOCTYPE COLLADA [<!ENTITY x \"y\">]><COLLADA")
            .into_bytes(),
        text.replace(
            "<asset>",
            "<asset><extra><max3d:x fcollada:y=\"1\"/></extra>",
        )
        .into_bytes(),
    ];
    for (i, bytes) in files.iter().enumerate() {
        let (mesh, _) = read("a.dae", bytes).unwrap_or_else(|error| panic!("file {i}: {error}"));
        assert_eq!(mesh.triangles.len(), 1, "file {i}");
    }
    for text in [
        "<html><body>404</body></html>",
        "<COLLADA><a></COLLADA>",
        "<",
        "<COLLADA",
    ] {
        assert_eq!(
            read("a.dae", text.as_bytes()).unwrap_err().code.id,
            "mesh-unreadable"
        );
    }
    assert_eq!(
        read("a.dae", b"<COLLADA>\n<a></b>\n</COLLADA>")
            .unwrap_err()
            .line,
        2
    );
    assert_eq!(
        read("a.dae", b"<COLLADA/>").unwrap_err().code.id,
        "mesh-empty"
    );
}

/// Returns a file with one triangle whose symbol `s` is bound to an effect of `parameters` and
/// `shader`.
fn painted(parameters: &str, shader: &str) -> String {
    let libraries = format!(
        "<library_images><image id=\"i\"><init_from>my%20maps\\a.png</init_from></image></library_images>\
         <library_effects><effect id=\"e\"><profile_COMMON>{parameters}<technique sid=\"t\">{shader}</technique></profile_COMMON></effect></library_effects>\
         <library_materials><material id=\"m\" name=\"Red paint\"><instance_effect url=\"#e\"/></material></library_materials>{}",
        geometry(
            "g",
            &ONE.replace("<triangles>", "<triangles material=\"s\">")
        )
    );
    let scene = "<node><instance_geometry url=\"#g\"><bind_material><technique_common><instance_material symbol=\"s\" target=\"#m\"/>\
                 </technique_common></bind_material></instance_geometry></node>";
    file("", &libraries, scene)
}

#[test]
fn colours_of_effects() {
    for shader in ["phong", "lambert", "blinn"] {
        let text = painted(
            "<newparam sid=\"glow\"><float3>0 0 1</float3></newparam>",
            &format!(
                "<{shader}><emission><param ref=\"glow\"/></emission><diffuse><color>0.5 0 1 1</color></diffuse></{shader}>"
            ),
        );
        let (mesh, diagnostics) = read("a.dae", text.as_bytes()).unwrap();
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let material = &mesh.materials[0];
        assert_eq!(material.name, "Red paint");
        assert!((material.base_color[0] - 0.214_041).abs() < 1e-6);
        assert_eq!(
            (&material.base_color[1..], material.emissive),
            (&[0.0, 1.0, 1.0][..], [0.0, 0.0, 1.0])
        );
    }
    let text = painted(
        "",
        "<constant><emission><color>1 0 0 1</color></emission></constant>",
    );
    assert_eq!(
        read("a.dae", text.as_bytes()).unwrap().0.materials[0].base_color,
        [1.0, 0.0, 0.0, 1.0]
    );
}

#[test]
fn opacity_in_every_mode() {
    for (transparent, transparency, opacity) in [
        ("", "", 1.0),
        ("", "<transparency><float>0.25</float></transparency>", 0.25),
        (
            "<transparent><color>0 0 0 0.5</color></transparent>",
            "",
            0.5,
        ),
        (
            "<transparent opaque=\"A_ONE\"><color>1 1 1 1</color></transparent>",
            "<transparency><float>.5</float></transparency>",
            0.5,
        ),
        (
            "<transparent opaque=\"RGB_ZERO\"><color>0 0 0 1</color></transparent>",
            "<transparency><float>1</float></transparency>",
            1.0,
        ),
        (
            "<transparent opaque=\"RGB_ZERO\"><color>1 1 1 1</color></transparent>",
            "<transparency><float>0</float></transparency>",
            1.0,
        ),
        (
            "<transparent opaque=\"RGB_ZERO\"><color>.5 .5 .5 1</color></transparent>",
            "",
            0.5,
        ),
        (
            "<transparent opaque=\"RGB_ONE\"><color>.5 .5 .5 1</color></transparent>",
            "",
            0.5,
        ),
        (
            "<transparent opaque=\"A_ZERO\"><color>1 1 1 .25</color></transparent>",
            "",
            0.75,
        ),
        (
            "<transparent><color>1 1 1 1</color></transparent>",
            "<transparency><float>7</float></transparency>",
            1.0,
        ),
        (
            "<transparent><color>x</color></transparent>",
            "<transparency><float>x</float></transparency>",
            1.0,
        ),
    ] {
        let (mesh, diagnostics) = read(
            "a.dae",
            painted("", &format!("<phong>{transparent}{transparency}</phong>")).as_bytes(),
        )
        .unwrap();
        assert!(
            (mesh.materials[0].base_color[3] - opacity).abs() < 1e-6,
            "{transparent} {transparency}"
        );
        assert!(diagnostics.is_empty());
    }
    let zero = painted(
        "",
        "<phong><transparency><float>0</float></transparency></phong>",
    );
    let (mesh, diagnostics) = read("a.dae", zero.as_bytes()).unwrap();
    assert_eq!(
        (mesh.materials[0].base_color[3], codes_of(&diagnostics)),
        (1.0, vec!["mesh-opacity-zero"])
    );
}

fn png(alpha: u8) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::RgbaImage::from_pixel(1, 1, image::Rgba([9, 9, 9, alpha]))
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

#[test]
fn textures() {
    let sampler = "<newparam sid=\"surface\"><surface type=\"2D\"><init_from>i</init_from></surface></newparam>\
                   <newparam sid=\"sampler\"><sampler2D><source>surface</source></sampler2D></newparam>";
    let newer =
        "<newparam sid=\"sampler\"><sampler2D><instance_image url=\"#i\"/></sampler2D></newparam>";
    for (parameters, name) in [
        (sampler, "sampler"),
        (newer, "sampler"),
        ("", "i"),
        ("", "my maps/a.png"),
    ] {
        let diffuse = format!("<diffuse><texture texture=\"{name}\" texcoord=\"UV\"/></diffuse>");
        let see_through =
            format!("<transparent><texture texture=\"{name}\" texcoord=\"UV\"/></transparent>");
        for (shader, alpha) in [
            (format!("<phong>{diffuse}</phong>"), false),
            (format!("<phong>{diffuse}{see_through}</phong>"), true),
        ] {
            let text = painted(parameters, &shader);
            let (mesh, diagnostics) =
                read_with("a.dae", text.as_bytes(), &[("my maps/a.png", &png(5))]).unwrap();
            assert!(diagnostics.is_empty(), "{diagnostics:?}");
            let texture = mesh.materials[0].base_color_texture.as_ref().unwrap();
            assert_eq!((texture.name.as_str(), texture.has_alpha), ("a", alpha));
        }
        // Beside the mesh, as a last resort.
        let text = painted(parameters, &format!("<phong>{diffuse}</phong>"));
        let (mesh, _) = read_with("a.dae", text.as_bytes(), &[("a.png", &png(5))]).unwrap();
        assert!(mesh.materials[0].base_color_texture.is_some());
        let (mesh, diagnostics) = read("a.dae", text.as_bytes()).unwrap();
        assert_eq!(
            (
                mesh.materials[0].base_color_texture.as_ref(),
                codes_of(&diagnostics)
            ),
            (None, vec!["mesh-texture-missing"])
        );
    }
}

#[test]
fn images_beside_that_of_the_colour() {
    let image = |channel: &str, more: &str| {
        format!("<{channel}{more}><texture texture=\"i\" texcoord=\"UV\"/></{channel}>")
    };
    let read = |shader: &str, extra: &str| {
        let input = "<input semantic=\"TEXCOORD\" source=\"#t\" offset=\"0\" set=\"0\"/><p>";
        let text = painted("", shader).replace("<p>", input).replace(
            "</technique></profile_COMMON>",
            &format!("{extra}</technique></profile_COMMON>"),
        );
        let (mesh, diagnostics) =
            read_with("a.dae", text.as_bytes(), &[("my maps/a.png", &png(51))]).unwrap();
        (mesh.materials.into_iter().next().unwrap(), diagnostics)
    };
    let ior = "<index_of_refraction><float>1.25</float></index_of_refraction>";
    let (material, diagnostics) = read(
        &format!(
            "<phong>{}{}{ior}</phong>",
            image("emission", ""),
            image("transparent", "")
        ),
        "",
    );
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(
        material.maps.keys().collect::<Vec<_>>(),
        [&MapRole::Opacity, &MapRole::Emissive]
    );
    assert_eq!((material.emissive, material.ior), ([1.0; 3], 1.25));
    let value = |material: &Material| {
        image::load_from_memory(&material.maps[&MapRole::Opacity].texture.bytes)
            .unwrap()
            .into_luma8()
            .get_pixel(0, 0)
            .0[0]
    };
    assert_eq!(value(&material), 51);
    for (mode, expected) in [("A_ZERO", 204), ("RGB_ONE", 9), ("RGB_ZERO", 246)] {
        let transparent = image("transparent", &format!(" opaque=\"{mode}\""));
        let (material, diagnostics) = read(
            &format!("<phong>{}{transparent}</phong>", image("diffuse", "")),
            "",
        );
        assert!(
            diagnostics.is_empty() && !material.base_color_texture.as_ref().unwrap().has_alpha,
            "{diagnostics:?}"
        );
        assert_eq!(value(&material), expected, "{mode}");
    }
    // Heights are no normals, and gloss is unsupported; the colour's image is often repeated as
    // that of the ambient light.
    let shader = format!(
        "<phong>{}{}{}</phong>",
        image("ambient", ""),
        image("diffuse", ""),
        image("specular", "")
    );
    let bump = format!(
        "<extra><technique profile=\"FCOLLADA\">{}</technique></extra>",
        image("bump", "")
    );
    let (material, diagnostics) = read(&shader, &bump);
    assert_eq!(
        (material.maps.len(), codes_of(&diagnostics)),
        (0, vec!["mesh-material-simplified"; 2])
    );
    assert!(
        diagnostics[0].message.contains("<bump>") && diagnostics[1].message.contains("<specular>"),
        "{diagnostics:?}"
    );
    let other = shader
        .replace(
            "<specular><texture texture=\"i\" texcoord=\"UV\"/></specular>",
            "",
        )
        .replace("ambient", "emission");
    let other = other.replacen("texcoord=\"UV\"", "texcoord=\"OTHER\"", 1);
    let (material, diagnostics) = read(&other, "");
    assert_eq!(
        (material.maps.len(), codes_of(&diagnostics)),
        (0, vec!["mesh-material-simplified"]),
        "another set of coordinates"
    );
}

#[test]
fn a_binding_chooses_the_texture_coordinates() {
    let two = "<source id=\"u\"><float_array>.25 .25 .5 .5 .75 .75</float_array></source><triangles material=\"s\">\
               <input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><input semantic=\"TEXCOORD\" source=\"#t\" offset=\"0\" set=\"0\"/>\
               <input semantic=\"TEXCOORD\" source=\"#u\" offset=\"0\" set=\"1\"/><p>0 1 2</p></triangles>";
    let text = painted(
        "",
        "<phong><diffuse><texture texture=\"i\" texcoord=\"UV\"/></diffuse></phong>",
    )
    .replace(
        &ONE.replace("<triangles>", "<triangles material=\"s\">"),
        two,
    );
    let bound = text.replace(
        "target=\"#m\"/>",
        "target=\"#m\"><bind_vertex_input semantic=\"UV\" input_semantic=\"TEXCOORD\" input_set=\"1\"/></instance_material>",
    );
    for (text, first) in [(text, [0.0, 0.0]), (bound, [0.25, 0.25])] {
        let uvs = read("a.dae", text.as_bytes())
            .unwrap()
            .0
            .uvs
            .clone()
            .unwrap();
        assert_eq!(uvs.values[uvs.indices[0][0] as usize], first);
    }
}

#[test]
fn materials_that_are_not_there() {
    let (mesh, diagnostics) = read("a.dae", painted("", "").as_bytes()).unwrap();
    assert_eq!(
        (mesh.parts[0].material, codes_of(&diagnostics)),
        (None, vec!["mesh-material"])
    );
    // Without a binding, the symbol is the material's id.
    let text = painted("", "<phong/>")
        .replace("symbol=\"s\"", "symbol=\"t\"")
        .replace("material=\"s\"", "material=\"m\"");
    assert_eq!(read("a.dae", text.as_bytes()).unwrap().0.materials.len(), 1);
}

/// Returns a file with a bit of everything, to damage.
pub(crate) fn seed() -> String {
    let primitives = format!(
        "<polylist material=\"s\">{VERTEX}<vcount>3 4</vcount><p>0 1 4 0 1 2 3</p></polylist><tristrips>{VERTEX}<p>0 1 3 2 4</p></tristrips>\
         <polygons>{VERTEX}<ph><p>0 1 2 3</p><h>4 0 1</h></ph></polygons>{ONE}"
    );
    painted(
        "<newparam sid=\"x\"><float3>0 0 1</float3></newparam>",
        "<phong><diffuse><texture texture=\"x\"/></diffuse></phong>",
    )
    .replace(&ONE.replace("<triangles>", "<triangles material=\"s\">"), &primitives)
    .replace("<node>", "<node><rotate>0 0 1 90</rotate><scale>1 2 3</scale><node id=\"n\"><instance_node url=\"#n\"/></node>")
}
