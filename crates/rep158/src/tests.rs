//! Examples and edge cases of the rules, and robustness against malformed assets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageFormat};

use super::{Options, RULES, Revision, check};
use urdf_usd_diagnostic::Example;

/// The header of examples without one.
const HEADER: &str = "#usda 1.0\n(\n    defaultPrim = \"robot\"\n    kilogramsPerUnit = 1\n    metersPerUnit = 1\n    timeCodesPerSecond = 1\n    \
    upAxis = \"Z\"\n)\n\n";

/// Encodes the image that a text like `8-bit RGB PNG` or `16-bit L PNG 20x10` describes; `None` for
/// other texts.
fn image(text: &str) -> Option<Vec<u8>> {
    let words: Vec<&str> = text.split(' ').collect();
    let (bits, channels, format, size) = match words[..] {
        ["HDR"] => {
            return Some(
                b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\x80\x80\x80\x81".to_vec(),
            );
        }
        ["EXR"] => return Some(b"\x76\x2f\x31\x01\x02\x00\x00\x00".to_vec()),
        ["KTX2"] => return Some(b"\xabKTX 20\xbb\r\n\x1a\n".to_vec()),
        [bits @ ("8-bit" | "16-bit"), channels, format] => (bits, channels, format, "2x2"),
        [bits @ ("8-bit" | "16-bit"), channels, format, size] => (bits, channels, format, size),
        _ => return None,
    };
    let (width, height) = size.split_once('x').unwrap();
    let (width, height) = (width.parse().unwrap(), height.parse().unwrap());
    let format = ImageFormat::from_extension(format.to_lowercase()).unwrap();
    let image = match (bits, channels) {
        ("8-bit", "L") => DynamicImage::new_luma8(width, height),
        ("8-bit", "RGB") => DynamicImage::new_rgb8(width, height),
        ("8-bit", "RGBA") => DynamicImage::new_rgba8(width, height),
        ("16-bit", "L") => DynamicImage::new_luma16(width, height),
        ("16-bit", "RGB") => DynamicImage::new_rgb16(width, height),
        _ => panic!("{text}"),
    };
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    Some(bytes.into_inner())
}

/// Writes the files of an example, and returns the path of the first.
fn write_example(example: &Example, folder: &Path) -> PathBuf {
    for (name, text) in example {
        let (file, text) = (folder.join(name), text.unwrap());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        if let Some(bytes) = image(text) {
            std::fs::write(file, bytes).unwrap();
            continue;
        }
        let text = if text.starts_with("#usda") {
            text.to_owned()
        } else {
            format!("{HEADER}{text}\n")
        };
        if name.ends_with(".usdc") {
            openusd::usdc::CrateWriter::write_to_file(&openusd::usda::parse(&text).unwrap(), file)
                .unwrap();
            continue;
        }
        std::fs::write(file, text).unwrap();
    }
    folder.join(example[0].0)
}

#[test]
fn examples_break_and_keep_their_rules() {
    let interfaces = ["sensor_msgs/msg/JointState", "std_srvs/srv/SetBool"]
        .map(str::to_owned)
        .into();
    let options = Options {
        interfaces: Some(interfaces),
        ..Options::default()
    };
    for rule in RULES {
        let options = Options {
            select: vec![rule.code.id.to_owned()],
            revision: Revision::only(&rule.code).unwrap_or_default(),
            ..options.clone()
        };
        let found = |example: fn() -> Example| {
            let folder = tempfile::tempdir().unwrap();
            check(&write_example(&example(), folder.path()), &options).unwrap()
        };
        assert!(
            found(rule.breaks)
                .iter()
                .any(|finding| finding.code == rule.code.id),
            "{}",
            rule.code.id
        );
        assert_eq!(found(rule.keeps), [], "{}", rule.code.id);
    }
}

#[test]
fn codes_are_in_order_and_unique() {
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.code.id).collect();
    let numbers = |id: &str| {
        id.strip_prefix("REP158-")
            .unwrap()
            .split('.')
            .map(|n| n.parse::<u32>().unwrap())
            .collect::<Vec<_>>()
    };
    assert!(ids.is_sorted_by_key(|id| numbers(id)), "{ids:?}");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
}

/// Returns the text of a robot with these prims.
fn robot(prims: &str) -> String {
    format!(
        "def Xform \"robot\" (\n    prepend apiSchemas = [\"RosContextAPI\"]\n)\n{{\n{prims}\n}}"
    )
}

/// Returns the text of a body.
fn body(name: &str, more: &str, schemas: &str) -> String {
    format!(
        "def Xform \"{name}\" (\n    prepend apiSchemas = [\"PhysicsRigidBodyAPI\"{schemas}]\n)\n{{\n{more}\n}}\n"
    )
}

/// Returns the text of a joint between prims of the robot; an empty name is the world.
fn joint(kind: &str, name: &str, ends: [&str; 2], more: &str) -> String {
    let end = |(index, to): (usize, &&str)| {
        if to.is_empty() {
            String::new()
        } else {
            format!("rel physics:body{index} = </robot/{to}>\n")
        }
    };
    let ends: String = ends.iter().enumerate().map(end).collect();
    format!("def Physics{kind}Joint \"{name}\"\n{{\n{ends}{more}\n}}\n")
}

/// Returns the elements that a rule reports in an asset with `text` as its root layer.
fn found(text: &str, code: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("robot.usda");
    std::fs::write(&file, format!("{HEADER}{text}\n")).unwrap();
    let options = Options {
        select: vec![format!("REP158-{code}")],
        ..Options::default()
    };
    check(&file, &options)
        .unwrap()
        .into_iter()
        .map(|finding| finding.place.element)
        .collect()
}

const NONE: [&str; 0] = [];

#[test]
fn one_articulation_root_for_each_tree() {
    let root = ", \"PhysicsArticulationRootAPI\"";
    let two = body("arm", "", root) + &body("gripper", "", root);
    let fixed = joint("Fixed", "mount", ["arm", "gripper"], "");
    assert_eq!(
        found(&robot(&(two.clone() + &fixed)), "1.3.2"),
        ["/robot/gripper"]
    );
    // Two robots in a scene.
    let anchors = joint("Fixed", "a", ["", "arm"], "") + &joint("Fixed", "b", ["", "gripper"], "");
    assert_eq!(found(&robot(&(two.clone() + &anchors)), "1.3.2"), NONE);
    assert_eq!(found(&robot(&(two.clone() + &anchors)), "1.3.12"), NONE);
    let excluded = joint(
        "Fixed",
        "mount",
        ["arm", "gripper"],
        "bool physics:excludeFromArticulation = true",
    );
    assert_eq!(found(&robot(&(two.clone() + &excluded)), "1.3.2"), NONE);
    // The outer root is the nearest for no body, so that it belongs to all bodies below.
    let nested =
        robot(&(two + &fixed)).replace("\"RosContextAPI\"", "\"PhysicsArticulationRootAPI\"");
    assert_eq!(found(&nested, "1.3.2").len(), 2);
    // On a joint.
    let bodies = body("arm", "", "") + &body("gripper", "", "");
    let on_joint = format!("{bodies}{fixed}").replace(
        "\"mount\"",
        "\"mount\" (apiSchemas = [\"PhysicsArticulationRootAPI\"])",
    );
    assert_eq!(found(&robot(&on_joint), "1.3.28"), NONE);
    assert_eq!(
        found(&robot(&format!("{bodies}{fixed}")), "1.3.28"),
        ["/robot/arm"]
    );
}

#[test]
fn loops_are_found_through_the_world_and_not_through_what_is_switched_off() {
    let bodies = body("a", "", "")
        + &body("b", "", "")
        + &joint("Fixed", "ab", ["a", "b"], "")
        + &joint("Fixed", "wa", ["", "a"], "");
    let second = |more| robot(&(bodies.clone() + &joint("Fixed", "wb", ["", "b"], more)));
    assert_eq!(
        found(&second(""), "1.3.12"),
        ["/robot/wb.physics:excludeFromArticulation"]
    );
    assert_eq!(
        found(&second("bool physics:jointEnabled = false"), "1.3.12"),
        NONE
    );
    assert_eq!(
        found(
            &second("bool physics:excludeFromArticulation = true"),
            "1.3.12"
        ),
        NONE
    );
}

#[test]
fn joints_lead_to_bodies() {
    let body = body("a", "def Xform \"shape\"\n{\n}", "") + "def Xform \"wall\"\n{\n}\n";
    let with = |kind, ends| robot(&(body.clone() + &joint(kind, "j", ends, "")));
    for (ends, is_wrong) in [
        (["", "a"], false),
        (["wall", "a"], false),
        (["", "a/shape"], false),
        (["a", ""], false),
    ]
    .into_iter()
    .chain([
        (["a", "a"], true),
        (["a", "wall"], true),
        (["", ""], true),
        (["gone", "a"], true),
    ]) {
        assert_eq!(
            !found(&with("Revolute", ends), "1.3.11").is_empty(),
            is_wrong,
            "{ends:?}"
        );
    }
    for (kind, ends, is_wrong) in [
        ("Fixed", ["", "a"], false),
        ("Fixed", ["wall", "a"], true),
        ("Revolute", ["wall", "a"], false),
        ("Revolute", ["a", ""], true),
    ] {
        assert_eq!(
            !found(&with(kind, ends), "1.3.13").is_empty(),
            is_wrong,
            "{kind} {ends:?}"
        );
    }
}

#[test]
fn limits_of_every_kind_are_numbers_in_order() {
    let wrong = |kind, more| !found(&robot(&joint(kind, "j", ["", ""], more)), "1.3.10").is_empty();
    assert!(wrong(
        "Prismatic",
        "float physics:lowerLimit = 1\nfloat physics:upperLimit = 0"
    ));
    assert!(wrong(
        "Revolute",
        "float physics:lowerLimit = nan\nfloat physics:upperLimit = 0"
    ));
    assert!(wrong(
        "Revolute",
        "float physics:lowerLimit = inf\nfloat physics:upperLimit = inf"
    ));
    assert!(!wrong(
        "Revolute",
        "float physics:lowerLimit = -inf\nfloat physics:upperLimit = inf"
    ));
    assert!(!wrong(
        "Revolute",
        "float physics:lowerLimit = 0\nfloat physics:upperLimit = 0"
    ));
    assert!(wrong(
        "Distance",
        "float physics:minDistance = 2\nfloat physics:maxDistance = 1"
    ));
    assert!(!wrong(
        "Distance",
        "float physics:minDistance = 2\nfloat physics:maxDistance = -1"
    ));
    assert!(wrong(
        "Spherical",
        "float physics:coneAngle0Limit = 20\nfloat physics:coneAngle1Limit = nan"
    ));
    let axis = |low, high| {
        let text = robot(&format!(
            "def PhysicsJoint \"j\" (\n    apiSchemas = [\"PhysicsLimitAPI:rotX\"]\n)\n{{\n{low}\n{high}\n}}"
        ));
        [found(&text, "1.3.10").len(), found(&text, "1.3.1").len()]
    };
    // A lower limit above the upper one locks the axis in UsdPhysics.
    assert_eq!(
        axis(
            "float limit:rotX:physics:low = 1",
            "float limit:rotX:physics:high = -1"
        ),
        [0, 0]
    );
    assert_eq!(
        axis(
            "float limit:rotX:physics:low = nan",
            "float limit:rotX:physics:high = -1"
        ),
        [1, 0]
    );
    assert_eq!(axis("", "float limit:rotX:physics:high = -1"), [0, 1]);
}

#[test]
fn colliders_inherit_purpose_and_material() {
    let material = "def Material \"m\" (\n    apiSchemas = [\"PhysicsMaterialAPI\"]\n)\n{\nfloat physics:staticFriction = 1\nfloat \
                    physics:dynamicFriction = 1\nfloat physics:restitution = 0\n}\n";
    let collider = |above: &str| {
        robot(&format!(
            "{material}def Scope \"c\"\n{{\n{above}\ndef Cube \"s\" (\n    apiSchemas = [\"PhysicsCollisionAPI\"]\n)\n{{\n}}\n}}\n"
        ))
    };
    assert_eq!(found(&collider(""), "1.3.4"), ["/robot/c/s.purpose"]);
    assert_eq!(
        found(&collider("uniform token purpose = \"guide\""), "1.3.4"),
        NONE
    );
    assert_eq!(
        found(
            &collider("rel material:binding:physics = </robot/m>"),
            "1.3.5"
        ),
        NONE
    );
    // A binding for all purposes is not one for physics.
    assert_eq!(
        found(&collider("rel material:binding = </robot/m>"), "1.3.5"),
        ["/robot/c/s.material:binding:physics"]
    );
    assert_eq!(
        found(
            &collider("rel material:binding:physics = </robot/gone>"),
            "1.3.5"
        ),
        ["/robot/c.material:binding:physics"]
    );
    assert_eq!(
        found(
            &collider("rel material:binding:physics = </robot/c>"),
            "1.3.5"
        )
        .len(),
        4
    );
    let collection = |included| {
        format!(
            "rel collection:hard:includes = </robot/{included}>\nrel material:binding:collection:physics:hard = [</robot/c.collection:hard>, \
             </robot/m>]"
        )
    };
    assert_eq!(found(&collider(&collection("c")), "1.3.5"), NONE);
    assert_eq!(found(&collider(&collection("d")), "1.3.5").len(), 1);
}

#[test]
fn kinematic_bodies_need_no_mass() {
    let with = |attributes| {
        found(
            &robot(&body("a", attributes, ", \"PhysicsMassAPI\"")),
            "1.3.3",
        )
    };
    assert_eq!(with("").len(), 1);
    assert_eq!(with("float physics:mass = nan").len(), 1);
    assert_eq!(with("bool physics:kinematicEnabled = true"), NONE);
}

#[test]
fn instances_must_not_contain_ros_prims() {
    let part = |schema: &str| {
        format!(
            "def Xform \"robot\"\n{{\ndef Xform \"bolt\" (\n    instanceable = true\n    references = </part>\n)\n{{\n}}\n}}\ndef Xform \
             \"part\"\n{{\ndef Xform \"inner\" (\n    apiSchemas = [\"{schema}\"]\n)\n{{\n}}\n}}"
        )
    };
    assert_eq!(found(&part("RosFrameAPI"), "1.3.8"), ["/robot/bolt"]);
    assert_eq!(found(&part("PhysicsCollisionAPI"), "1.3.8"), NONE);
}

#[test]
fn nested_namespaces_are_concatenated() {
    let topics = |outer: &str, inner: &str, name: &str| {
        let topic = format!(
            "def Xform \"t\" (\n    apiSchemas = [\"RosTopicAPI\"]\n)\n{{\nstring ros:topic:name = \"{name}\"\n}}\n"
        );
        let part = format!(
            "def Xform \"part\" (\n    apiSchemas = [\"RosContextAPI\"]\n)\n{{\nstring ros:context:namespace = \"{inner}\"\n{topic}}}\n"
        );
        found(
            &robot(&format!(
                "string ros:context:namespace = \"{outer}\"\n{part}"
            )),
            "2.9.1",
        )
    };
    assert_eq!(topics("", "", "clock").len(), 1);
    assert_eq!(topics("robot_1", "", "clock"), NONE);
    assert_eq!(topics("robot_1", "camera", "/clock").len(), 1);
    assert_eq!(topics("robot_1", "/clock", "clock"), NONE);
}

#[test]
fn an_optical_frame_is_rotated_exactly() {
    let camera = |orient: &str| {
        found(
            &robot(&format!(
                "def Camera \"c\"\n{{\ndef Xform \"o\" (\n    apiSchemas = [\"RosFrameAPI\"]\n)\n{{\n{orient}\n}}\n}}\n"
            )),
            "2.8.1",
        )
    };
    let turned = |angle| {
        format!(
            "float xformOp:rotateX = {angle}\nuniform token[] xformOpOrder = [\"xformOp:rotateX\"]"
        )
    };
    assert_eq!(camera(&turned("180")), NONE);
    assert_eq!(camera(&turned("-180")), NONE);
    assert_eq!(camera(&turned("179")).len(), 1);
    let about_y =
        "float xformOp:rotateY = 180\nuniform token[] xformOpOrder = [\"xformOp:rotateY\"]";
    assert_eq!(camera(about_y).len(), 1);
    assert_eq!(camera("").len(), 1);
}

/// Returns the messages of a rule about an asset of these files.
fn messages(code: &str, files: &[(&str, String)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let bytes = image(text).unwrap_or_else(|| text.clone().into_bytes());
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let options = Options {
        select: vec![code.to_owned()],
        ..Options::default()
    };
    let found = check(&folder.path().join(files[0].0), &options).unwrap();
    found.into_iter().map(|finding| finding.message).collect()
}

/// Returns an asset with a material whose texture feeds one input; its file and primvar are inputs of
/// the material, connected through a node graph.
fn painted(file: &str, input: &str, wrap: &str, shape: &str) -> String {
    format!(
        r#"{HEADER}def Xform "robot"
{{
    {shape}
    def Material "paint"
    {{
        asset inputs:picture = @{file}@
        string inputs:uv = "map1"
        token outputs:surface.connect = </robot/paint/graph.outputs:surface>
        def NodeGraph "graph"
        {{
            asset inputs:picture.connect = </robot/paint.inputs:picture>
            token outputs:surface.connect = </robot/paint/graph/surface.outputs:surface>
            def Shader "surface"
            {{
                uniform token info:id = "UsdPreviewSurface"
                float inputs:{input}.connect = </robot/paint/graph/texture.outputs:r>
                token outputs:surface
            }}
            def Shader "texture"
            {{
                uniform token info:id = "UsdUVTexture"
                asset inputs:file.connect = </robot/paint/graph.inputs:picture>
                float2 inputs:st.connect = </robot/paint/graph/st.outputs:result>
                {wrap}
                float outputs:r
            }}
            def Shader "st"
            {{
                uniform token info:id = "UsdPrimvarReader_float2"
                string inputs:varname.connect = </robot/paint.inputs:uv>
                float2 outputs:result
            }}
        }}
    }}
}}
"#
    )
}

#[test]
fn images_are_recognised_by_content() {
    let check_texture = |code: &str, name: &str, input: &str, content: &str| {
        messages(
            code,
            &[
                ("r.usda", painted(name, input, "", "")),
                (name, content.to_owned()),
            ],
        )
    };
    let format = |name, content| check_texture("REP158-3.2.1", name, "diffuseColor", content);
    for (content, kind) in [
        ("16-bit L PNG", "16-bit PNG"),
        ("8-bit RGB BMP", "8-bit BMP"),
        ("8-bit RGB TIFF", "8-bit TIFF"),
        ("EXR", "OpenEXR"),
        ("HDR", "Radiance HDR"),
        ("KTX2", "KTX2"),
        ("what is no image", "of an unknown format"),
    ] {
        assert_eq!(
            format("paint.png", content),
            [format!("the texture paint.png is {kind}")],
            "{content}"
        );
    }
    for content in ["8-bit L PNG", "8-bit RGBA PNG", "8-bit RGB JPEG"] {
        assert_eq!(format("paint.tiff", content), [""; 0], "{content}");
    }
    // The name does not count, only the input that the texture feeds and the content of the file.
    assert_eq!(
        check_texture("REP158-3.2.2", "color.png", "roughness", "8-bit L JPEG").len(),
        1
    );
    assert_eq!(
        check_texture(
            "REP158-3.2.2",
            "normal_platform.jpg",
            "diffuseColor",
            "8-bit RGB JPEG"
        )
        .len(),
        0
    );
    assert_eq!(
        check_texture("REP158-3.2.2", "paint.jpg", "metallic", "8-bit L PNG").len(),
        0
    );

    let unreadable = |content: &str| {
        check_texture("REP158-3.2.5", "paint.png", "diffuseColor", content).join("")
    };
    assert_eq!(unreadable("8-bit RGB PNG"), "");
    assert!(unreadable("").contains("the file is empty"));
    assert!(unreadable("version https://git-lfs.github.com/spec/v1").contains("Git LFS"));
    let gone = messages(
        "REP158-3.2.5",
        &[("r.usda", painted("gone.png", "diffuseColor", "", ""))],
    );
    assert_eq!(gone, ["the texture gone.png does not exist"]);
    assert!(
        messages(
            "REP158-3.1.1",
            &[("r.usda", painted("gone.png", "diffuseColor", "", ""))]
        )
        .is_empty()
    );
}

#[test]
fn truncated_images_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("r.usda"),
        painted("paint.png", "diffuseColor", "", ""),
    )
    .unwrap();
    let whole = image("8-bit RGB PNG").unwrap();
    let options = Options {
        select: vec!["REP158-3.2.*".to_owned()],
        ..Options::default()
    };
    // The header has 33 bytes.
    for length in 0..33 {
        std::fs::write(folder.path().join("paint.png"), &whole[..length]).unwrap();
        assert_eq!(
            check(&folder.path().join("r.usda"), &options)
                .unwrap()
                .len(),
            1,
            "{length}"
        );
    }
}

/// A mesh with texture coordinates, which are outside of the image at the second face.
const SHEET: &str = r#"def Mesh "sheet"
    {
        rel material:binding = </robot/paint>
        int[] faceVertexCounts = [3, 3]
        int[] faceVertexIndices = [0, 1, 2, 0, 2, 3]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
        texCoord2f[] primvars:map1 = [(0, 0), (1, 0), (2, 1)] (
            interpolation = "faceVarying"
        )
        int[] primvars:map1:indices = [0, 1, 1, 0, 1, 2]
        SUBSET
    }"#;

#[test]
fn texture_coordinates_are_those_of_the_texture() {
    let subset = |face: usize| {
        format!(
            "def GeomSubset \"s\" {{\nuniform token familyName = \"materialBind\"\nint[] indices = [{face}]\nrel material:binding = </robot/other>\n}}\ndef Scope \"x\" {{\n}}"
        )
    };
    let check_sheet = |code: &str, wrap: &str, shape: &str| {
        messages(
            code,
            &[
                ("r.usda", painted("p.png", "diffuseColor", wrap, shape)),
                ("p.png", "8-bit RGB PNG".to_owned()),
            ],
        )
    };
    let range = |wrap: &str, subset: &str| {
        check_sheet("REP158-3.1.3", wrap, &SHEET.replace("SUBSET", subset))
    };
    let clamp = "token inputs:wrapS = \"clamp\"\n token inputs:wrapT = \"repeat\"";
    assert_eq!(range(clamp, "").len(), 1);
    assert!(
        range(clamp, "")[0].contains("primvars:map1 of /robot/sheet range from 0.000 to 2.000"),
        "{:?}",
        range(clamp, "")
    );
    // By default, textures do not repeat.
    assert_eq!(range("", "").len(), 1);
    assert_eq!(
        range(
            "token inputs:wrapS = \"mirror\"\n token inputs:wrapT = \"repeat\"",
            ""
        )
        .len(),
        0
    );
    // t stays in the image.
    assert_eq!(range("token inputs:wrapS = \"repeat\"", "").len(), 0);
    // The face outside of the image has another material.
    assert_eq!(
        (
            range(clamp, &subset(1)).len(),
            range(clamp, &subset(0)).len()
        ),
        (0, 1)
    );

    let missing = |shape: &str| check_sheet("REP158-3.3.3", "", shape).len();
    assert_eq!(
        (
            missing(&SHEET.replace("SUBSET", "")),
            missing(&SHEET.replace("SUBSET", "").replace(":map1", ":st"))
        ),
        (0, 1)
    );
}

#[test]
fn surfaces_are_analysed_after_welding() {
    // A cube of 24 points, four per side, as exporters write it.
    let (mut points, mut indices) = (Vec::new(), Vec::new());
    for axis in 0..3 {
        for side in [0, 1] {
            let first = points.len();
            for (u, v) in [(0, 0), (1, 0), (1, 1), (0, 1)] {
                let mut point = [0; 3];
                (point[axis], point[(axis + 1) % 3], point[(axis + 2) % 3]) = (side, u, v);
                points.push(format!("({}, {}, {})", point[0], point[1], point[2]));
            }
            let around = if side == 1 {
                [0, 1, 2, 0, 2, 3]
            } else {
                [0, 2, 1, 0, 3, 2]
            };
            indices.extend(around.map(|corner| (first + corner).to_string()));
        }
    }
    let cube = |indices: &[String], more: &str| {
        let counts = vec!["3"; indices.len() / 3].join(", ");
        let (points, indices) = (points.join(", "), indices.join(", "));
        format!(
            "{HEADER}def Mesh \"robot\" (\n    prepend apiSchemas = [\"PhysicsCollisionAPI\"]\n)\n{{\nint[] faceVertexCounts = [{counts}]\nint[] faceVertexIndices = [{indices}]\npoint3f[] points = [{points}]\n{more}\n}}\n"
        )
    };
    let found = |indices: &[String], more: &str| {
        messages("REP158-3.4.*", &[("r.usda", cube(indices, more))])
    };
    assert_eq!(found(&indices, ""), [""; 0]);
    let holed = found(&indices[3..], "");
    assert!(
        matches!(&holed[..], [one] if one.contains("has holes: 3 of its edges have one face")),
        "{holed:?}"
    );
    let turned: Vec<String> = indices[..3]
        .iter()
        .rev()
        .chain(&indices[3..])
        .cloned()
        .collect();
    let against = found(&turned, "");
    assert!(
        matches!(&against[..], [one] if one.contains("wound inconsistently, along 3 of its edges")),
        "{against:?}"
    );
    let inside: Vec<String> = indices.iter().rev().cloned().collect();
    assert!(matches!(&found(&inside, "")[..], [one] if one.contains("is inside out")));
    // `leftHanded` reverses the winding again.
    let left = found(&inside, "uniform token orientation = \"leftHanded\"");
    assert!(
        matches!(&left[..], [one] if one.contains("has the orientation \"leftHanded\"")),
        "{left:?}"
    );
    let twice: Vec<String> = indices.iter().chain(&indices[..3]).cloned().collect();
    assert!(
        matches!(&found(&twice, "")[..], [one] if one.contains("is not manifold: 3 of its edges"))
    );
    assert!(
        matches!(&found(&["0", "1", "2", "3", "4", "999"].map(str::to_owned), "")[..], [one] if one.contains("a face has the point index 999, but there are only 24 points"))
    );
    let doubled = found(&indices, "uniform bool doubleSided = 1");
    assert!(
        matches!(&doubled[..], [one] if one.contains("is doubleSided, although")),
        "{doubled:?}"
    );
    // The backs of faces that point inwards are seen.
    let doubled = found(&inside, "uniform bool doubleSided = 1").join(" ");
    let is_named = doubled.contains("is doubleSided") && !doubled.contains("although");
    assert!(is_named, "{doubled}");
}

#[test]
fn no_text_makes_the_checker_panic() {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("r.usda");
    let options = Options {
        all_variants: true,
        ..Options::default()
    };
    let mut opened = 0;
    for example in RULES.iter().flat_map(|rule| [rule.breaks, rule.keeps]) {
        let example = example()[0].1.unwrap();
        let text = format!("{HEADER}{example}");
        let odd = [
            ("0", "-1"),
            ("1", "999999999999"),
            ("2", "nan"),
            ("3", "-7"),
            ("[", "[["),
            ("\"", "'"),
            ("</", "<"),
        ];
        let cut = text.len() / 2;
        let broken = odd
            .iter()
            .map(|(from, to)| format!("{HEADER}{}", example.replace(from, to)));
        for text in broken
            .chain([text[..(cut..).find(|&at| text.is_char_boundary(at)).unwrap()].to_owned()])
        {
            std::fs::write(&entry, text).unwrap();
            opened += usize::from(check(&entry, &options).is_ok());
        }
    }
    assert!(opened > 100, "{opened}");
}

/// Returns a layer with the default prim `robot` and these sublayers.
fn sublayers(layers: &str, body: &str) -> String {
    let header = HEADER.replace(
        "upAxis = \"Z\"\n",
        &format!("upAxis = \"Z\"\n    subLayers = [{layers}]\n"),
    );
    format!("{header}{body}")
}

/// A layer that changes a drive and applies schemas of an engine.
const TUNING: &str = "#usda 1.0\nover \"robot\"\n{\n    over \"link\" (\n        prepend apiSchemas = [\"PhysxRigidBodyAPI\"]\n    )\n    {\n        float physics:mass = 2\n    }\n}\n";
const PHYSICS: &str = "#usda 1.0\nover \"robot\"\n{\n    over \"link\" (\n        prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]\n    )\n    {\n    }\n}\n";
const BASE: &str = "#usda 1.0\nover \"robot\"\n{\n    def Xform \"link\"\n    {\n        double3 xformOp:translate = (0, 0, 1)\n        uniform token[] xformOpOrder = [\"xformOp:translate\"]\n    }\n}\n";

/// Returns the number of vendor opinions in an asset of these files that are not isolated.
fn vendor_opinions(files: &[(&str, String)]) -> usize {
    let tuned = files.iter().map(|(name, text)| (*name, text.clone()));
    let parts = [
        ("tuning.usda", TUNING),
        ("p.usda", PHYSICS),
        ("b.usda", BASE),
    ];
    let parts = parts.map(|(name, text)| (name, text.to_owned()));
    let files: Vec<(&str, String)> = tuned.chain(parts).collect();
    messages("REP158-1.4.1", &files).len()
}

#[test]
fn vendor_opinions_do_not_depend_on_names_of_files() {
    let body = "def Xform \"robot\" (\n    prepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"PhysxRigidBodyAPI\"]\n)\n{\n    float physxRigidBody:maxLinearVelocity = 3\n    custom float isaac:foo = 1\n    custom float newton:foo = 1\n    custom float mjc:foo = 1\n}\n";
    for name in ["robot.usda", "robot_isaac.usda", "mjc.usda", "graph.usda"] {
        let found = messages("REP158-1.4.1", &[(name, format!("{HEADER}{body}"))]);
        assert_eq!(found.len(), 5, "{name}: {found:?}");
    }
}

#[test]
fn layers_over_the_entry_of_an_asset_are_those_of_an_engine() {
    let robot = "def Xform \"robot\"\n{\n}\n";
    let asset = ("robot.usda", sublayers("@p.usda@, @b.usda@", robot));
    assert_eq!(vendor_opinions(std::slice::from_ref(&asset)), 0);
    // An entry that adds the layer as a sublayer, or over a reference to the asset.
    let overlay = sublayers("@tuning.usda@, @robot.usda@", "over \"robot\"\n{\n}\n");
    assert_eq!(
        vendor_opinions(&[("entry.usda", overlay), asset.clone()]),
        0
    );
    let over = "def Xform \"robot\" (\n    references = @robot.usda@\n)\n{\n}\n";
    let overlay = sublayers("@tuning.usda@", over);
    assert_eq!(
        vendor_opinions(&[("entry.usda", overlay), asset.clone()]),
        0
    );
    // The asset itself includes it.
    let mixed = (
        "robot.usda",
        sublayers("@tuning.usda@, @p.usda@, @b.usda@", robot),
    );
    assert_eq!(vendor_opinions(std::slice::from_ref(&mixed)), 1);
    let overlay = sublayers("@robot.usda@", "over \"robot\"\n{\n}\n");
    assert_eq!(vendor_opinions(&[("isaac.usda", overlay), mixed]), 1);
    // Without the layer of transforms, the rest is not the asset.
    let part = sublayers("@p.usda@", robot);
    let entry = sublayers("@tuning.usda@, @part.usda@, @b.usda@", "");
    assert_eq!(
        vendor_opinions(&[("robot.usda", entry), ("part.usda", part)]),
        1
    );
    // ROS interfaces are for all simulators.
    let ros = TUNING.replace(
        "PhysxRigidBodyAPI\"",
        "PhysxRigidBodyAPI\", \"RosFrameAPI\"",
    );
    let overlay = sublayers("@ros.usda@, @robot.usda@", "over \"robot\"\n{\n}\n");
    assert_eq!(
        vendor_opinions(&[("entry.usda", overlay), ("ros.usda", ros), asset]),
        1
    );
}

#[test]
fn layers_in_variants_that_are_not_selected_are_those_of_an_engine() {
    let robot = |selection: &str| {
        let body = format!(
            "def Xform \"robot\" (\n    variants = {{ string engine = \"{selection}\" }}\n    prepend variantSets = \"engine\"\n)\n{{\n    variantSet \"engine\" = {{\n        \"none\" {{\n        }}\n        \"a\" (\n            prepend references = @tuned.usda@\n        ) {{\n        }}\n    }}\n}}\n"
        );
        sublayers("@p.usda@, @b.usda@", &body)
    };
    let check = |selection: &str| {
        let folder = tempfile::tempdir().unwrap();
        let tuned = TUNING.replace("1.0\n", "1.0\n(\n    defaultPrim = \"robot\"\n)\n");
        for (name, text) in [
            ("robot.usda", robot(selection)),
            ("tuned.usda", tuned),
            ("p.usda", PHYSICS.to_owned()),
            ("b.usda", BASE.to_owned()),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let options = Options {
            select: vec!["REP158-1.4.1".to_owned()],
            all_variants: true,
            ..Options::default()
        };
        let found = check(&folder.path().join("robot.usda"), &options).unwrap();
        found.len()
    };
    assert_eq!((check("none"), check("a")), (0, 1));
}

#[test]
fn images_are_checked_wherever_they_are_named() {
    let asset = format!(
        "{HEADER}def Xform \"robot\"\n{{\n    custom asset display:cover = @cover.exr@\n    custom asset display:tiles = @tiles.<UDIM>.png@\n    custom asset display:gone = @gone.png@\n    custom asset display:sheet = @sheet.pdf@\n    def Scope \"Looks\"\n    {{\n        def Shader \"shared\"\n        {{\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @shared.hdr@\n        }}\n    }}\n    def DomeLight \"sky\"\n    {{\n        asset inputs:texture:file = @sky.exr@\n        def Shader \"map\"\n        {{\n            uniform token info:id = \"UsdUVTexture\"\n            asset inputs:file = @shared.hdr@\n        }}\n    }}\n}}\n"
    );
    let files = [
        ("robot.usda", asset),
        ("cover.exr", "EXR".to_owned()),
        ("sky.exr", "EXR".to_owned()),
        ("shared.hdr", "HDR".to_owned()),
    ];
    let found = |code: &str| messages(code, &files);
    assert_eq!(
        found("REP158-3.2.1"),
        [
            "the texture cover.exr is OpenEXR",
            "the texture shared.hdr is Radiance HDR"
        ]
    );
    assert_eq!(
        found("REP158-3.2.4"),
        ["sky.exr, the image of the DomeLight /robot/sky, is OpenEXR"]
    );
    assert_eq!(
        found("REP158-3.2.5"),
        ["the texture gone.png does not exist"]
    );
    assert_eq!(found("REP158-3.1.2").len(), 1);
    assert_eq!(found("REP158-0.3").len(), 1);
}

/// Returns an asset with a diff drive: driven wheels `l`, `r` and `r2`, a wheel `free` without drive and
/// a prismatic joint `slide`; `more` is inside of the controller.
fn diff_drive(more: &str) -> String {
    let joint = |kind: &str, name: &str, schemas: &str| {
        format!("    def Physics{kind}Joint \"{name}\"{schemas}\n    {{\n    }}\n")
    };
    let driven =
        |instance: &str| format!(" (prepend apiSchemas = [\"PhysicsDriveAPI:{instance}\"])");
    let joints: String = ["l", "r", "r2"]
        .map(|name| joint("Revolute", name, &driven("angular")))
        .concat();
    let topic = |name: &str, role: &str, kind: &str| {
        format!(
            "    def Scope \"{name}\" (prepend apiSchemas = [\"RosTopicAPI\"])\n    {{\n        token ros:topic:role = \"{role}\"\n        string ros:topic:type = \"{kind}\"\n    }}\n"
        )
    };
    format!(
        "{HEADER}def Xform \"robot\"\n{{\n{joints}{}{}{}{}{}    def Scope \"drive\" (prepend apiSchemas = [\"RosControlDiffDriveAPI\"])\n    {{\n        {more}\n    }}\n}}\n",
        joint("Revolute", "free", ""),
        joint("Prismatic", "slide", &driven("linear")),
        topic("cmd", "subscription", "geometry_msgs/msg/Twist"),
        topic("stamped", "subscription", "geometry_msgs/msg/TwistStamped"),
        topic("odom", "publisher", "nav_msgs/msg/Odometry"),
    )
}

#[test]
fn controllers_of_the_registry_are_checked() {
    const GOOD: &str = "rel ros:diff_drive:subscriber = </robot/cmd>\n        rel ros:diff_drive:odom = </robot/odom>\n        rel ros:diff_drive:left_wheels = </robot/l>\n        rel ros:diff_drive:right_wheels = </robot/r>\n        uniform double ros:diff_drive:wheel_separation = 0.5\n        uniform double ros:diff_drive:wheel_radius = 0.1\n        uniform double ros:diff_drive:cmd_vel_timeout = 0\n        uniform double ros:diff_drive:linear:x:max_velocity = inf";
    let found = |code: &str, old: &str, new: &str| {
        assert!(GOOD.contains(old), "{old}");
        let asset = diff_drive(&GOOD.replacen(old, new, 1));
        messages(&format!("REP158-{code}"), &[("robot.usda", asset)])
    };
    for code in [
        "2.2.9", "4.2.11", "4.2.13", "4.2.16", "4.2.17", "4.2.18", "4.2.19",
    ] {
        assert_eq!(found(code, "", ""), [""; 0], "{code}");
    }
    let reported = |code: &str, old: &str, new: &str, part: &str| {
        let found = found(code, old, new);
        assert!(
            matches!(&found[..], [one] if one.contains(part)),
            "{old} {new}: {found:?}"
        );
    };
    let wheel = "not a joint with PhysicsDriveAPI";
    reported("4.2.16", "/robot/r>", "/robot/free>", wheel);
    reported("4.2.16", "/robot/r>", "/robot/slide>", wheel);
    reported("4.2.16", "/robot/r>", "/robot/l>", "is in both");
    let two = "[</robot/r>, </robot/r2>]";
    reported("4.2.16", "</robot/r>", two, "has 1 ");
    let both = "[</robot/cmd>, </robot/stamped>]";
    reported("4.2.16", "</robot/cmd>", both, "names 2 prims");
    reported("4.2.16", "</robot/odom>", "</robot/cmd>", "publisher");
    reported("4.2.16", "radius = 0.1", "radius = inf", "no positive");
    reported(
        "4.2.16",
        "timeout = 0",
        "timeout = -1",
        "a number of at least 0",
    );
    reported("4.2.16", "= inf", "= nan", "no positive");
    assert_eq!(
        found("4.2.16", "rel ros:diff_drive:odom = </robot/odom>", ""),
        [""; 0]
    );
    reported(
        "4.2.16",
        "rel ros:diff_drive:right_wheels = </robot/r>",
        "",
        "has no ",
    );
    reported("4.2.17", "/cmd>", "/stamped>", "TwistStamped");
    reported("2.2.9", "wheel_radius", "wheel_radii", "attribute");
    reported("2.2.9", "odom", "odometry", "a relationship");
}

#[test]
fn values_of_broadcasters_and_trajectories_are_checked() {
    let found = |code: &str, schema: &str, inside: &str| {
        let text = format!(
            "    def PhysicsFixedJoint \"fixed\"\n    {{\n    }}\n    def PhysicsRevoluteJoint \"hip\"\n    {{\n    }}\n    def Scope \"motor\" (prepend apiSchemas = [\"ExtendedPhysicsActuatorAPI\"])\n    {{\n        rel ext_physics:actuator:targets = </robot/hip>\n    }}\n    def Scope \"c\" (prepend apiSchemas = [\"{schema}\"])\n    {{\n        {inside}\n    }}\n"
        );
        let files = [("robot.usda", format!("{HEADER}{}\n", robot(&text)))];
        messages(&format!("REP158-{code}"), &files).join("\n")
    };
    let broadcaster = "RosControlJointStateBroadcasterAPI";
    let frame = "uniform string ros:joint_state_broadcaster:frame_id = ";
    let read = "rel ros:joint_state_broadcaster:joints = </robot/fixed>\n        ";
    let named = |name: &str| found("4.2.16", broadcaster, &format!("{read}{frame}\"{name}\""));
    assert!(named("a b").contains("a space"), "{}", named("a b"));
    assert!(!named("base").contains("frame_id"), "{}", named("base"));
    let trajectory = "RosControlJointTrajectoryAPI";
    let moved = |name: &str| format!("rel ros:joint_trajectory:command_joints = </robot/{name}>");
    assert!(found("4.2.16", trajectory, &moved("fixed")).contains("which is not a Physics"));
    assert!(found("4.2.18", trajectory, &moved("fixed")).contains("/robot/fixed"));
    // An actuator drives the joint.
    assert_eq!(found("4.2.18", trajectory, &moved("hip")), "");
    let enabled = "token control:starts_enabled = \"no\"";
    assert!(found("4.2.11", trajectory, enabled).contains("not a Boolean"));
    assert_eq!(
        found("4.2.11", trajectory, "bool control:starts_enabled = false"),
        ""
    );
}

#[test]
fn articulation_roots_have_no_payload() {
    let found = |at: &str, payload: &str| {
        let schema = "prepend apiSchemas = [\"PhysicsArticulationRootAPI\"]";
        let (root, part) = match at {
            "root" => (schema, "def Xform"),
            _ => ("", "over"),
        };
        let asset = format!(
            "{HEADER}def Xform \"robot\" (\n    {root}\n    {payload}\n)\n{{\n    {part} \"part\"\n    {{\n    }}\n}}\n"
        );
        let part = format!(
            "#usda 1.0\n(\n    defaultPrim = \"robot\"\n)\ndef Xform \"robot\"\n{{\n    def Xform \"part\" ({schema})\n    {{\n    }}\n}}\n"
        );
        messages("REP158-1.2.10", &[("robot.usda", asset), ("p.usda", part)])
    };
    let payload = "payload = @p.usda@";
    assert_eq!(found("root", ""), [""; 0]);
    let both = found("root", payload);
    assert!(
        both[0].ends_with("has PhysicsArticulationRootAPI and has a payload"),
        "{both:?}"
    );
    let below = found("part", payload);
    assert!(
        matches!(&below[..], [one] if one.contains("only when a payload is loaded")),
        "{below:?}"
    );
}

#[test]
fn draft_names_have_present_ones() {
    let folder = tempfile::tempdir().unwrap();
    let text = "    def Scope \"c\" (prepend apiSchemas = [\"Ros2JointStateBroadcasterAPI\", \"Ros2TopicAPI\", \"RosTopicAPI\"])\n    {\n        rel ros2:joint_state_broadcaster:joints = </robot>\n    }\n";
    let file = folder.path().join("robot.usda");
    std::fs::write(&file, format!("{HEADER}{}\n", robot(text))).unwrap();
    let options = Options {
        select: vec!["REP158-2.2.10".to_owned()],
        ..Options::default()
    };
    let found = check(&file, &options).unwrap();
    let helps: Vec<String> = found.into_iter().map(|one| one.help).collect();
    for name in [
        "apply RosControlJointStateBroadcasterAPI",
        "apply RosTopicAPI",
        "ros:joint_state_broadcaster:joints",
    ] {
        assert!(helps.iter().any(|help| help.contains(name)), "{helps:?}");
    }
    assert_eq!(helps.len(), 3, "{helps:?}");
}
