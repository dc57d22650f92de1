//! The reference layers in and out again, random layers in and out again, and layers for OpenUSD
//! itself to judge.

use std::collections::HashMap;
use std::path::PathBuf;

use openusd::gf::{self, f16};
use openusd::sdf::{self, AssetPath, LayerOffset, ListOp, Payload, Reference, Value};
use openusd::usda;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::write;
use crate::{Attribute, Layer, Relationship, dictionary, string, token};

fn text(layer: &Layer) -> String {
    write(layer.data().unwrap()).unwrap()
}

/// The body of the one property of the one prim of a layer.
fn property(attribute: Attribute) -> String {
    let mut layer = Layer::new("", "");
    layer.over("/p").attribute("a", attribute);
    let text = text(&layer);
    text.split_once("{\n    ")
        .unwrap()
        .1
        .split_once("\n}")
        .unwrap()
        .0
        .to_owned()
}

#[test]
fn numbers_are_the_shortest_that_read_back() {
    let doubles = [
        0.0,
        -0.0,
        1.0,
        0.1,
        1e-7,
        1e-6,
        1.5e-6,
        9.99e-7,
        1e14,
        123456789012345.0,
        1e15,
        1.25e20,
        -2.5e-10,
        123456.789,
        1.0 / 3.0,
        5e-324,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    assert_eq!(
        property(Attribute::double_array(doubles)),
        "double[] a = [0, -0, 1, 0.1, 1e-7, 0.000001, 0.0000015, 9.99e-7, 100000000000000, 123456789012345, 1e15, 1.25e20, \
         -2.5e-10, 123456.789, 0.3333333333333333, 5e-324, 1.7976931348623157e308, inf, -inf, nan]"
    );
    let floats = [
        0.1,
        123456789012345.0,
        16777216.0,
        1.0 / 3.0,
        f32::MAX,
        1e-45,
    ];
    assert_eq!(
        property(Attribute::float_array(floats)),
        "float[] a = [0.1, 123456790000000, 16777216, 0.33333334, 3.4028235e38, 1e-45]"
    );
    let halves = [0.1, 1e-7, 65504.0, -0.0, 1234.0, 12.5].map(f16::from_f64);
    assert_eq!(
        property(Attribute::new("half[]", Value::HalfVec(halves.to_vec()))),
        "half[] a = [0.0999756, 1.19209e-07, 65504, -0, 1234, 12.5]"
    );
}

#[test]
fn strings_are_quoted_as_openusd_does() {
    for (given, quoted) in [
        ("", r#""""#),
        ("a", r#""a""#),
        ("a\"b", r#"'a"b'"#),
        ("a'b", r#""a'b""#),
        ("a\"'b", r#""a\"'b""#),
        ("a\nb", "\"\"\"a\nb\"\"\""),
        ("a\r\nb", "\"\"\"a\\r\nb\"\"\""),
        ("a\n\"b", "'''a\n\"b'''"),
        ("a\tb\\c", r#""a\tb\\c""#),
        ("\u{1}\u{7f}\u{85}é😀", "\"\\x01\\x7f\u{85}é😀\""),
        ("a\0b", r#""a""#),
    ] {
        assert_eq!(
            property(Attribute::string(given)),
            format!("string a = {quoted}")
        );
    }
    for (given, quoted) in [
        ("a.png", "@a.png@"),
        ("a@b", "@@@a@b@@@"),
        ("a@@@@", r"@@@a\@@@@@@@"),
        ("", "@@"),
    ] {
        assert_eq!(
            property(Attribute::asset(given)),
            format!("asset a = {quoted}")
        );
    }
}

/// OpenUSD reads prims as deep as this and deeper; so does a thread with a small stack.
#[test]
fn depth_is_no_matter_of_the_stack() {
    let mut layer = Layer::new("", "");
    layer.def(&"/p".repeat(1000), "Xform");
    let write = std::thread::Builder::new()
        .stack_size(128 * 1024)
        .spawn(move || text(&layer))
        .unwrap();
    assert_eq!(write.join().unwrap().matches('}').count(), 1000);
}

#[test]
fn what_openusd_would_refuse_is_refused() {
    let mut layer = Layer::new("", "");
    layer.over("/p").attribute("a", Attribute::asset("a\nb"));
    let error = write(layer.data().unwrap()).unwrap_err();
    assert_eq!(error.path, "/p.a");
    let mut layer = Layer::new("", "");
    layer
        .over("/p")
        .attribute("a", Attribute::new("opaque", Value::Opaque));
    assert!(write(layer.data().unwrap()).is_err());
}

/// Where the reference layers lie: next to the repository, or where `URDF_USD_GOLD` says.
fn gold() -> Option<PathBuf> {
    let dir = std::env::var_os("URDF_USD_GOLD")
        .map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/gold")),
            PathBuf::from,
        )
        .join("ref_arm");
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: no reference layers at {}", dir.display());
    None
}

#[test]
fn reference_layers_stay_as_they_are() {
    let Some(dir) = gold() else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "usda")
        {
            let before = std::fs::read_to_string(&path).unwrap();
            assert_eq!(
                write(&usda::parse(&before).unwrap()).unwrap(),
                before,
                "{}",
                path.display()
            );
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}

const NUMBERS: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    0.1,
    1e-7,
    1e-6,
    9.9999999e-7,
    1.5e-6,
    1e14,
    123456789012345.0,
    999999999999999.9,
    1e15,
    1.25e20,
    1e22,
    -2.5e-10,
    123456.789,
    1.0 / 3.0,
    5e-324,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

const STRINGS: [&str; 27] = [
    "",
    "a",
    "a\"b",
    "a'b",
    "a\"'b",
    "a\nb",
    "a\r\nb",
    "a\rb",
    "a\tb",
    "a\\b",
    "C:\\tmp\\new\\x41\\101",
    "é",
    "\u{1}f",
    "\u{7f}",
    "\u{85}",
    "\u{200b}",
    "\u{feff}x",
    "😀 größe 日本\n語",
    "a\n\"b",
    "a\n\"b'",
    "\"\"\"\n",
    "'''",
    "ends\n\"",
    "\n'\"",
    "\\",
    "%s %d {}",
    "@",
];

/// A layer with what the robot's layers use, through the builder.
fn authored() -> Layer {
    let mut layer = Layer::new("What a robot's layers use,\nand \"more\"", "robot");
    layer.sublayers(["./physics.usda", "./a b@c.usda"]);
    layer.metadata(
        "customLayerData",
        dictionary([("a:b", string("x")), ("é", Value::Double(0.1))]),
    );
    layer
        .def("/robot", "Xform")
        .kind("component")
        .display_name("größe \"1\"")
        .hidden(false)
        .doc("a robot")
        .apply(["PhysicsArticulationRootAPI", "RosContextAPI"])
        .asset_info([
            ("name", string("robot")),
            (
                "identifier",
                Value::AssetPath(AssetPath::new("./robot.usda")),
            ),
            ("empty", dictionary::<&str>([])),
            (
                "ros",
                dictionary([
                    ("package uri", string("package://r/r.urdf")),
                    ("2", Value::Int(2)),
                    ("Z", Value::Bool(true)),
                ]),
            ),
        ])
        .custom_data([
            ("strings", Value::StringVec(vec!["a\"".into(), "b".into()])),
            ("q", Value::Quatf(gf::Quatf::IDENTITY)),
        ]);
    let mut visual = layer.def("/robot/base_link/visual", "Scope");
    visual
        .variant_set("visual_representation", "mesh_medium")
        .variant_set("other", "");
    for variant in ["mesh_medium", "mesh_low", "10", "9", "x-y|z"] {
        let path = format!("/robot/base_link/visual{{visual_representation={variant}}}visual_0");
        layer
            .def(&path, "Xform")
            .instanceable(true)
            .payload("./instances.usda", "/Instances/base")
            .relationship(
                "material:binding",
                Relationship::to(["/robot/Materials/steel"]).metadata("bindMaterialAs", token("x")),
            )
            .attribute(
                "xformOp:orient",
                Attribute::quatf([0.9580326, 0.14479247, 0.0, -0.24462588]),
            )
            .attribute("xformOp:translate", Attribute::double3([0.1, -0.0, 1e-9]))
            .attribute(
                "xformOpOrder",
                Attribute::token_array(["xformOp:translate", "xformOp:orient"]).uniform(),
            );
    }
    layer
        .over("/robot/base_link/visual{other=one}")
        .attribute("here", Attribute::int(1))
        .variant_set("inner", "deep")
        .def("child", "")
        .def("grandchild", "Cube");
    layer
        .def(
            "/robot/base_link/visual{other=one}{inner=deep}geometry",
            "Mesh",
        )
        .reference("./geometries.usdc", "")
        .reference("", "/x");
    layer
        .over("/robot/base_link/visual{other=one}{inner=deep}{third=t}")
        .kind("group");
    let mut mesh = layer.def("/robot/mesh", "Mesh");
    mesh.attribute(
        "points",
        Attribute::point3f_array([[0.0, 0.5, 1.0], [1e-8, 2.0, 3.0]]),
    )
    .attribute(
        "normals",
        Attribute::normal3f_array([[0.0, 0.0, 1.0]]).interpolation("faceVarying"),
    )
    .attribute(
        "primvars:st",
        Attribute::tex_coord2f_array([[0.0, 1.0]]).interpolation("vertex"),
    )
    .attribute("primvars:st:indices", Attribute::int_array([0, 1, -2]))
    .attribute("faceVertexCounts", Attribute::int_array::<i32>([]))
    .attribute(
        "extent",
        Attribute::float3_array([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]),
    )
    .attribute("doubleSided", Attribute::bool(true).uniform())
    .attribute("ros:joint:name", Attribute::string("größe/\u{7}1").custom())
    .attribute("ros:α:β", Attribute::declared("string").custom().uniform())
    .relationship(
        "physics:filteredPairs",
        Relationship::prepend(["/robot/base_link", "/robot/mesh.points"]),
    )
    .relationship("empty", Relationship::to::<&str>([]).custom())
    .relationship(
        "several",
        Relationship::to(["/a", "/b"]).metadata("displayName", string("x")),
    );
    layer.def("/robot/Materials/steel", "Material").attribute(
        "outputs:surface",
        Attribute::connected("token", "/robot/Materials/steel/S.outputs:surface"),
    );
    layer
        .def("/robot/Materials/steel/S", "Shader")
        .attribute("info:id", Attribute::token("UsdPreviewSurface").uniform())
        .attribute(
            "inputs:diffuseColor",
            Attribute::color3f([0.1, 0.2, 0.3])
                .connect("/a.b")
                .connect("/a.c"),
        )
        .attribute("inputs:file", Attribute::asset("./textures/é b.png"))
        .attribute("outputs:surface", Attribute::declared("token"));
    layer
        .class("/_class", "")
        .attribute("x", Attribute::float(1.0));
    layer.def("/größe_日本", "Xform").inherit("/_class");
    layer
}

/// A layer with every type of value, through the builder.
fn valued() -> Layer {
    let mut layer = Layer::new("Every type of value", "");
    let floats = || NUMBERS.map(|x| x as f32);
    let halves = NUMBERS.map(f16::from_f64);
    layer
        .def("/numbers", "")
        .attribute("double", Attribute::double_array(NUMBERS))
        .attribute("float", Attribute::float_array(floats()))
        .attribute(
            "half",
            Attribute::new("half[]", Value::HalfVec(halves.to_vec())),
        )
        .attribute(
            "double3",
            Attribute::double3_array(NUMBERS.map(|x| [x, -x, 1.0])),
        )
        .attribute("float2", Attribute::float2_array(floats().map(|x| [x, -x])))
        .attribute(
            "quatf",
            Attribute::quatf_array(floats().map(|x| [x, 1.0, 2.0, 3.0])),
        )
        .attribute("bool", Attribute::bool_array([true, false]))
        .attribute("int", Attribute::int_array([i32::MIN, 0, i32::MAX]))
        .attribute("int64", Attribute::int64(i64::MIN))
        .attribute(
            "uint64",
            Attribute::new("uint64[]", Value::Uint64Vec(vec![u64::MAX, 0])),
        )
        .attribute(
            "uchar",
            Attribute::new("uchar[]", Value::UcharVec(vec![0, 255])),
        )
        .attribute("uint", Attribute::new("uint", Value::Uint(u32::MAX)))
        .attribute(
            "int2",
            Attribute::new("int2", Value::Vec2i(gf::vec2i(-1, 2))),
        )
        .attribute("matrix4d", Attribute::matrix4d(gf::Matrix4d::IDENTITY))
        .attribute(
            "matrix2d",
            Attribute::new(
                "matrix2d[]",
                Value::Matrix2dVec(vec![gf::Mat2d::IDENTITY; 2]),
            ),
        )
        .attribute(
            "half3",
            Attribute::new("half3", Value::Vec3h([halves[3]; 3].into())),
        )
        .attribute(
            "quath",
            Attribute::new("quath", Value::Quath([halves[3]; 4].into())),
        )
        .attribute(
            "timecode",
            Attribute::new("timecode", Value::TimeCode(sdf::TimeCode(1.5))),
        )
        .attribute(
            "frame4d",
            Attribute::new("frame4d", Value::Matrix4d(gf::Matrix4d::IDENTITY)),
        )
        .attribute("blocked", Attribute::new("double", Value::ValueBlock))
        .attribute(
            "Color",
            Attribute::new("Color", Value::Vec3d(gf::vec3d(1.0, 2.0, 3.0))),
        );
    let mut strings = layer.def("/strings", "");
    strings
        .attribute("array", Attribute::string_array(STRINGS))
        .attribute("tokens", Attribute::token_array(STRINGS))
        .attribute("none", Attribute::string_array::<&str>([]))
        .attribute(
            "assets",
            Attribute::asset_array([
                "", "a", "a@b", "a@@@b", "@@@@", "a\\b", "é b", "end@", "a@@@@@@c",
            ]),
        );
    for (i, text) in STRINGS.iter().enumerate() {
        strings.attribute(&format!("s:v{i}"), Attribute::string(*text));
    }
    strings.custom_data(
        STRINGS
            .iter()
            .map(|text| ((*text).to_owned(), string(*text))),
    );
    layer
}

/// A layer with the forms that the builder has no call for.
fn unusual() -> sdf::Data {
    let mut layer = Layer::new("x", "p");
    layer
        .metadata("comment", string("a comment\nin two lines"))
        .metadata("startTimeCode", Value::Double(1.0))
        .metadata(
            "subLayers",
            Value::StringVec(["a", "b", "c"].map(String::from).to_vec()),
        )
        .metadata(
            "subLayerOffsets",
            Value::LayerOffsetVec(vec![
                LayerOffset::new(1.5, 1.0),
                LayerOffset::new(0.0, 2.0),
                LayerOffset::new(1.0, 0.5),
            ]),
        )
        .metadata("primOrder", Value::token_vec(["p", "q"]))
        .metadata(
            "layerRelocates",
            Value::Relocates(vec![
                (path("/p/a"), path("/p/b")),
                (path("/p/c"), path("/p/d")),
            ]),
        );
    let list = |explicit: bool| ListOp {
        explicit,
        explicit_items: if explicit {
            vec![path("/a")]
        } else {
            Vec::new()
        },
        deleted_items: if explicit {
            Vec::new()
        } else {
            vec![path("/b"), path("/c")]
        },
        added_items: if explicit {
            Vec::new()
        } else {
            vec![path("/d")]
        },
        prepended_items: if explicit {
            Vec::new()
        } else {
            vec![path("/e"), path("/f")]
        },
        appended_items: if explicit {
            Vec::new()
        } else {
            vec![path("/g")]
        },
        ordered_items: if explicit {
            Vec::new()
        } else {
            vec![path("/g"), path("/d")]
        },
    };
    let reference = |custom_data: HashMap<String, Value>| Reference {
        asset_path: "a.usd".into(),
        prim_path: path("/x"),
        layer_offset: LayerOffset::new(1.0, 2.0),
        custom_data,
    };
    let payload = Payload {
        asset_path: "a.usd".into(),
        prim_path: sdf::Path::default(),
        layer_offset: LayerOffset::new(0.0, 2.0),
    };
    layer
        .def("/p", "Xform")
        .metadata("comment", string("a comment"))
        .metadata("active", Value::Bool(false))
        .metadata("permission", Value::Permission(sdf::Permission::Private))
        .metadata("symmetryFunction", token("mirror"))
        .metadata(
            "prefixSubstitutions",
            dictionary([("a", string("b")), ("c", string("d"))]),
        )
        .metadata("inheritPaths", Value::PathListOp(list(false)))
        .metadata("specializes", Value::PathListOp(list(true)))
        .metadata(
            "apiSchemas",
            Value::TokenListOp(ListOp {
                explicit: true,
                ..ListOp::default()
            }),
        )
        .metadata(
            "clipSets",
            Value::StringListOp(ListOp::appended(["a".to_owned(), "b\"".to_owned()])),
        )
        .metadata(
            "variantSetNames",
            Value::StringListOp(ListOp::deleted(["a".to_owned(), "b".to_owned()])),
        )
        .metadata(
            "variantSelection",
            Value::VariantSelectionMap(HashMap::from([
                ("a".into(), "".into()),
                ("B".into(), "x".into()),
            ])),
        )
        .metadata(
            "references",
            Value::ReferenceListOp(ListOp::added([
                reference(HashMap::new()),
                reference([("x".to_owned(), Value::Int(1))].into()),
            ])),
        )
        .metadata("payload", Value::PayloadListOp(ListOp::explicit([payload])))
        .metadata("primOrder", Value::token_vec(["x", "y"]))
        .metadata("propertyOrder", Value::token_vec(["b", "a"]))
        .attribute(
            "a",
            Attribute::double(1.0)
                .uniform()
                .custom()
                .metadata("comment", string("x"))
                .metadata("documentation", string("multi\nline"))
                .metadata("displayUnit", token("mm"))
                .metadata("allowedTokens", Value::token_vec(["a", "b"]))
                .metadata("hidden", Value::Bool(true))
                .metadata(
                    "customData",
                    dictionary([("a", dictionary([("b", Value::FloatVec(vec![0.1]))]))]),
                )
                .metadata("connectionPaths", Value::PathListOp(list(false)))
                .metadata(
                    "timeSamples",
                    Value::TimeSamples(vec![(1.0, Value::Double(2.0)), (1.5, Value::ValueBlock)]),
                ),
        )
        .attribute(
            "b",
            Attribute::declared("float[]")
                .metadata("connectionPaths", Value::PathListOp(list(false))),
        )
        .attribute(
            "c",
            Attribute::declared("float")
                .metadata("connectionPaths", Value::PathListOp(ListOp::explicit([]))),
        )
        .attribute(
            "d",
            Attribute::declared("int[]").metadata(
                "timeSamples",
                Value::TimeSamples(vec![(0.1, Value::IntVec(vec![1]))]),
            ),
        )
        .relationship(
            "r",
            Relationship::to::<&str>([]).metadata("targetPaths", Value::PathListOp(list(false))),
        )
        .relationship(
            "s",
            Relationship::to::<&str>([])
                .custom()
                .metadata("targetPaths", Value::PathListOp(list(false))),
        )
        .relationship(
            "t",
            Relationship::to::<&str>([])
                .metadata("targetPaths", Value::PathListOp(ListOp::default())),
        )
        .relationship(
            "u",
            Relationship::to(["/a"])
                .metadata("variability", Value::Variability(sdf::Variability::Varying)),
        )
        .relationship(
            "v",
            Relationship::prepend(["/a"])
                .metadata("documentation", string("x"))
                .metadata("noLoadHint", Value::Bool(true)),
        );
    layer.data().unwrap().clone()
}

fn path(text: &str) -> sdf::Path {
    sdf::Path::new(text).unwrap()
}

/// A layer whose property names are as hard to sort as names can be.
fn sorted() -> Layer {
    let mut layer = Layer::new("Property names", "");
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) as usize % below
    };
    for (prim, letters) in ["ab01_:AB", "aA0", "a019", "_aZéöx日本", "ab:_"]
        .iter()
        .enumerate()
    {
        let letters: Vec<char> = letters.chars().collect();
        let path = format!("/p{prim}");
        for _ in 0..300 {
            let name: String = (0..=random(6))
                .map(|_| letters[random(letters.len())])
                .collect();
            if name.split(':').all(urdf_usd_robot::names::is_identifier) {
                layer
                    .over(&path)
                    .attribute(&name, Attribute::declared("int"));
            }
        }
    }
    layer
}

fn torture() -> Vec<(String, sdf::Data)> {
    let [authored, valued, sorted] =
        [authored(), valued(), sorted()].map(|layer| layer.data().unwrap().clone());
    let named = [
        ("authored", authored),
        ("valued", valued),
        ("sorted", sorted),
        ("unusual", unusual()),
        ("empty", sdf::Data::new()),
    ];
    let mut layers: Vec<(String, sdf::Data)> =
        named.map(|(name, data)| (name.to_owned(), data)).into();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for i in 0..100 {
        let layer = any_layer(Range::Everything)
            .new_tree(&mut runner)
            .unwrap()
            .current();
        layers.push((format!("random_{i}"), layer.data().unwrap().clone()));
    }
    layers
}

/// Writes layers for `test/usd/test_usd_text.py` to hold against OpenUSD, into the directory
/// `URDF_USD_TORTURE_DIR`.
#[test]
fn layers_for_openusd_to_judge() {
    let layers = torture();
    for (name, data) in &layers {
        let text = write(data).unwrap();
        if let Some(dir) = std::env::var_os("URDF_USD_TORTURE_DIR") {
            let dir = PathBuf::from(dir);
            std::fs::write(dir.join(format!("{name}.usda")), text).unwrap();
            if let Ok(bytes) = crate::crate_file::write(data) {
                std::fs::write(dir.join(format!("{name}.usdc")), bytes).unwrap();
            }
        }
    }
}

/// Any text that XML can hold, and more.
fn any_text(range: Range) -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => any::<char>(),
        2 => prop::sample::select(vec!['"', '\'', '\\', '\n', '\r', '\t', '@', '#', '}', ')', ' ', 'x', 'é', '\u{1}', '\u{7f}']),
    ];
    prop::collection::vec(
        character.prop_filter("a NUL ends a string", |c| *c != '\0'),
        0..12,
    )
    .prop_map(|chars| chars.into_iter().collect::<String>())
    .prop_filter("openusd does not read it", move |text| {
        range == Range::Everything || !(text.contains('\n') && text.ends_with(['"', '\'']))
    })
}

fn any_double() -> impl Strategy<Value = f64> {
    use prop::num::f64::{INFINITE, NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop_oneof![
        POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO | INFINITE,
        (-1e6..1e6).prop_map(|x: f64| x.round() / 1e3)
    ]
}

fn any_float() -> impl Strategy<Value = f32> {
    use prop::num::f32::{INFINITE, NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO | INFINITE
}

/// What to generate: anything that OpenUSD reads, or that `openusd` 0.8.0 reads too. The latter
/// takes only ASCII names outside quotes and misses an escaped quote before the three that end a
/// string.
#[derive(Clone, Copy, PartialEq)]
enum Range {
    Everything,
    Readable,
}

fn any_name(range: Range) -> impl Strategy<Value = String> {
    let names = if range == Range::Everything {
        vec!["a", "größe", "日本", "_ü1", "x10", "x9", "def"]
    } else {
        vec!["a", "B", "_c1", "x10", "x9", "uniform", "None", "def"]
    };
    prop::sample::select(names).prop_map(String::from)
}

fn any_attribute(range: Range) -> impl Strategy<Value = Attribute> {
    let value = prop_oneof![
        any_text(range).prop_map(Attribute::string),
        any_text(range).prop_map(Attribute::token),
        any_double().prop_map(Attribute::double),
        any_float().prop_map(Attribute::float),
        any::<i32>().prop_map(Attribute::int),
        any::<i64>().prop_map(Attribute::int64),
        any::<bool>().prop_map(Attribute::bool),
        prop::collection::vec(any_text(range), 0..4).prop_map(Attribute::string_array),
        prop::collection::vec(any_text(range), 0..4).prop_map(Attribute::token_array),
        prop::collection::vec(prop::array::uniform3(any_float()), 0..5)
            .prop_map(Attribute::point3f_array),
        prop::array::uniform3(any_double()).prop_map(Attribute::double3),
        prop::array::uniform4(any_float()).prop_map(Attribute::quatf),
        Just(Attribute::declared("token")),
    ];
    let dictionaries =
        prop::collection::hash_map(any_text(range), any_text(range).prop_map(string), 0..3)
            .prop_map(dictionary);
    (value, any::<[bool; 5]>(), any_text(range), dictionaries).prop_map(
        |(mut attribute, flags, text, map)| {
            if flags[0] {
                attribute = attribute.uniform();
            }
            if flags[1] {
                attribute = attribute.custom();
            }
            if flags[2] {
                attribute = attribute.metadata("displayName", string(text));
            }
            if flags[3] {
                attribute = attribute.metadata("customData", map);
            }
            if flags[4] {
                attribute = attribute.connect("/g.outputs:j").connect("/a/b.c");
            }
            attribute
        },
    )
}

/// A path of prims, some below a variant.
fn any_path(range: Range) -> impl Strategy<Value = String> {
    let variant = prop::option::weighted(
        0.3,
        (
            any_name(range),
            prop::sample::select(vec!["one", "2", ".x|y-z"]),
        ),
    );
    prop::collection::vec((any_name(range), variant), 1..4).prop_map(|steps| {
        let mut path = String::new();
        for (i, (name, variant)) in steps.iter().enumerate() {
            if !path.ends_with('}') {
                path.push('/');
            }
            path.push_str(name);
            if let (Some((set, selection)), true) = (variant, i + 1 < steps.len()) {
                path.push_str(&format!("{{{set}={selection}}}"));
            }
        }
        path
    })
}

fn any_layer(range: Range) -> impl Strategy<Value = Layer> {
    let prims = prop::collection::vec(
        (
            any_path(range),
            prop::collection::vec(
                (any_name(range), any_name(range), any_attribute(range)),
                0..4,
            ),
            any_text(range),
            any::<[bool; 5]>(),
        ),
        0..8,
    );
    (any_text(range), prims).prop_map(|(doc, prims)| {
        let mut layer = Layer::new(&format!("{doc}."), "a");
        for (path, attributes, text, flags) in prims {
            let mut prim = if flags[0] {
                layer.def(&path, "Xform")
            } else {
                layer.over(&path)
            };
            for (space, name, attribute) in attributes {
                prim.attribute(&format!("{space}:{name}"), attribute);
            }
            if flags[1] {
                prim.display_name(&text)
                    .apply(["B_API", "A_API"])
                    .asset_info([(text.clone(), dictionary([(text.clone(), Value::Int(1))]))]);
            }
            if flags[2] {
                prim.payload("./a@b.usd", "/g")
                    .reference("", "/a/b")
                    .reference("./x.usda", "");
            }
            if flags[3] {
                prim.relationship("r", Relationship::prepend(["/a", "/b.c:d"]))
                    .relationship("s", Relationship::to(["/a"]).custom());
            }
            if flags[4] {
                prim.variant_set("g", "one")
                    .variant_set("a", "")
                    .instanceable(true)
                    .doc(&text);
            }
        }
        layer
    })
}

/// Every spec with its fields; lists that have no order of their own are sorted.
fn content(data: &sdf::Data) -> HashMap<String, (u32, HashMap<String, Value>)> {
    let field = |(name, value): &(String, Value)| {
        let value = match value {
            Value::TokenVec(names) if name == "propertyChildren" || name == "variantChildren" => {
                let mut names = names.clone();
                names.sort();
                Value::TokenVec(names)
            }
            _ => value.clone(),
        };
        (name.clone(), value)
    };
    data.iter()
        .map(|(path, spec)| {
            (
                path.to_string(),
                (spec.ty as u32, spec.fields.iter().map(field).collect()),
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(layer in any_layer(Range::Readable)) {
        let data = layer.data().unwrap();
        let text = write(data).unwrap();
        let read = usda::parse(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        let (before, after) = (content(data), content(&read));
        for (path, spec) in &before {
            prop_assert_eq!(Some(spec), after.get(path), "{}\n{}", path, text);
        }
        prop_assert_eq!(before.len(), after.len());
        prop_assert_eq!(write(&read).unwrap(), text);
    }
}
