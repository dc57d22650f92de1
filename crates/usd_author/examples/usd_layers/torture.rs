//! Hand-made layers with every form that a layer can have, and random layers.

use std::collections::HashMap;

use openusd::gf::{self, f16};
use openusd::sdf::{self, AssetPath, LayerOffset, ListOp, Payload, Reference, Value};
use proptest::strategy::{Strategy, ValueTree};
use urdf_usd_usd_author::{Attribute, Layer, Relationship, dictionary, string, token};

use super::layers::{Range, any_layer};

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

/// Returns a layer with the features that robot layers use, made with the builder.
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

/// Returns a layer with every type of value, made with the builder.
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

/// Returns a layer with the forms that the builder does not offer.
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
    layer.into_data().unwrap()
}

fn path(text: &str) -> sdf::Path {
    sdf::Path::new(text).unwrap()
}

/// Returns a layer with property names that are hard to sort.
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

/// Returns layers with every form that a layer can have, by name, and random ones.
pub(super) fn layers() -> Vec<(String, sdf::Data)> {
    let [authored, valued, sorted] =
        [authored(), valued(), sorted()].map(|layer| layer.into_data().unwrap());
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
        layers.push((format!("random_{i}"), layer.into_data().unwrap()));
    }
    layers
}
