//! Fixes of instances, repeated meshes, point instancers, masses and bindings; fixing is idempotent.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // a test that fails may panic

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use urdf_usd_fix::{Fixed, Options, fix};
use urdf_usd_robot::{Geometry, Light, LightKind, Robot};
use urdf_usd_stage::{Prim, Stage, Value, int_array, numbers, vectors};

const HEADER: &str = "#usda 1.0\n(\n    defaultPrim = \"robot\"\n    metersPerUnit = 1\n    kilogramsPerUnit = 1\n    upAxis = \"Z\"\n)\n";

/// Two triangles of a square with sides of 1.
const SQUARE: &str = "int[] faceVertexCounts = [3, 3]\nint[] faceVertexIndices = [0, 1, 2, 0, 2, 3]\n\
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\nuniform token subdivisionScheme = \"none\"\n";

/// An asset on disk.
struct Asset {
    folder: tempfile::TempDir,
    entry: PathBuf,
}

impl Asset {
    fn of(files: &[(&str, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Self {
            entry: folder.path().join(files[0].0),
            folder,
        }
    }

    fn mended(self) -> Mended {
        let fixed = fix(&self.entry, &Options::default()).unwrap();
        let folder = self.folder.path().join("mended");
        write(&folder, &fixed.files);
        let entry = folder.join(&fixed.entry);
        let stage = Stage::open(&entry, &urdf_usd_stage::Options::default()).unwrap();
        assert_eq!(stage.errors, []);
        let twice = fix(&entry, &Options::default()).unwrap();
        for (path, bytes) in &fixed.files {
            assert!(
                twice.files.get(path) == Some(bytes),
                "{} is not the same when mended again",
                path.display()
            );
        }
        assert_eq!(twice.files.len(), fixed.files.len());
        Mended {
            fixed,
            stage,
            _folder: self.folder,
        }
    }
}

struct Mended {
    fixed: Fixed,
    stage: Stage,
    /// The temporary folder, removed on drop.
    _folder: tempfile::TempDir,
}

impl Mended {
    fn prim(&self, path: &str) -> &Prim {
        self.stage
            .prim_at(path)
            .unwrap_or_else(|| panic!("{path} is not there"))
    }

    fn text(&self, file: &str) -> String {
        String::from_utf8(self.fixed.files[Path::new(file)].clone()).unwrap()
    }

    fn says(&self, words: &str) -> bool {
        self.fixed
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.message.contains(words))
    }
}

fn write(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    for (path, bytes) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

fn mended(text: &str) -> Mended {
    Asset::of(&[("robot.usda", format!("{HEADER}{text}"))]).mended()
}

/// Returns a material of one colour.
fn material(name: &str, above: &str) -> String {
    format!(
        "def Material \"{name}\" {{\ntoken outputs:surface.connect = <{above}/{name}/surface.outputs:surface>\n\
         def Shader \"surface\" {{\nuniform token info:id = \"UsdPreviewSurface\"\ntoken outputs:surface\n}}\n}}\n"
    )
}

#[test]
fn metadata_of_relationships_is_kept() {
    let mended = mended(&format!(
        "def Xform \"robot\" (prepend apiSchemas = [\"MaterialBindingAPI\"]) {{\n{}\
         rel material:binding = </robot/red> (bindMaterialAs = \"strongerThanDescendants\")\n\
         custom rel mine = </robot/red> (displayName = \"Mine\")\ndef Mesh \"square\" {{\n{SQUARE}}}\n}}",
        material("red", "/robot")
    ));
    let robot = mended.prim("/robot");
    let binding = &robot.relationships["material:binding"];
    assert_eq!(
        binding.metadata.get("bindMaterialAs"),
        Some(&Value::Token("strongerThanDescendants".into()))
    );
    assert!(!binding.is_custom && robot.relationships["mine"].is_custom);
    assert_eq!(
        robot.relationships["mine"].metadata.get("displayName"),
        Some(&Value::String("Mine".into()))
    );
}

#[test]
fn repeated_meshes_are_instanced_and_keep_their_differences() {
    let square = |name: &str, said: &str| {
        format!(
            "def Mesh \"{name}\" (prepend apiSchemas = [\"MaterialBindingAPI\"]) {{\n{SQUARE}{said}}}\n"
        )
    };
    let mended = mended(&format!(
        "def Xform \"robot\" {{\n{}{}{}{}{}{}{}{}}}",
        material("red", "/robot"),
        material("blue", "/robot"),
        square("one", "rel material:binding = </robot/red>\n"),
        square(
            "two",
            "rel material:binding = </robot/blue>\ncolor3f[] primvars:displayColor = [(1, 0, 0)]\n"
        ),
        // These are repeated shapes, but not instanceable.
        square("sides", "bool doubleSided = 1\n"),
        square("guide", "token purpose = \"guide\"\n"),
        square("collider", "")
            .replace("\"MaterialBindingAPI\"", "\"PhysicsCollisionAPI\"")
            .replace('{', "{\ntoken purpose = \"guide\"\n"),
        square("skin", "").replace("MaterialBindingAPI", "SkelBindingAPI"),
    ));
    for (name, material) in [("one", "red"), ("two", "blue")] {
        let prim = mended.prim(&format!("/robot/{name}"));
        assert!(prim.is_instance && prim.type_name == "Xform", "{name}");
        assert_eq!(
            prim.targets("material:binding"),
            [format!("/robot/{material}")]
        );
        let form = mended.prim(&format!("/robot/{name}/geometry"));
        assert!(form.type_name == "Mesh" && form.instance.is_some());
        assert_eq!(form.value("points").and_then(vectors).unwrap().len(), 4);
    }
    assert!(
        mended
            .prim("/robot/two")
            .value("primvars:displayColor")
            .is_some()
    );
    for name in ["sides", "guide", "collider", "skin"] {
        assert_eq!(
            mended.prim(&format!("/robot/{name}")).type_name,
            "Mesh",
            "{name}"
        );
    }
    assert_eq!(
        mended.text("instances.usda").matches("def Xform").count(),
        1
    );
}

#[test]
fn targeted_prims_are_not_moved_into_instances() {
    let square = |name: &str| {
        format!(
            "def Mesh \"{name}\" {{\n{SQUARE}def GeomSubset \"half\" {{\nuniform token elementType = \"face\"\n\
             uniform token familyName = \"materialBind\"\nint[] indices = [0]\n}}\n}}\n"
        )
    };
    let text = |named: &str| {
        format!(
            "def Xform \"robot\" {{\nrel mine = <{named}>\n{}{}{}}}",
            square("a"),
            square("b"),
            square("c")
        )
    };
    let mended_without = mended(&text("/robot/a"));
    assert!(
        ["a", "b", "c"]
            .iter()
            .all(|name| mended_without.prim(&format!("/robot/{name}")).is_instance)
    );
    assert_eq!(
        mended_without.prim("/robot/a/geometry/half").type_name,
        "GeomSubset"
    );
    let mended = mended(&text("/robot/a/half"));
    assert_eq!(mended.prim("/robot/a").type_name, "Mesh");
    assert_eq!(mended.prim("/robot/a/half").type_name, "GeomSubset");
    assert!(mended.prim("/robot/b").is_instance);
}

#[test]
fn materials_in_instances_come_with_them() {
    // A class may target prims outside of it: the material has to move into the instance.
    let wheel = format!(
        "class \"_wheel\" {{\ndef Mesh \"tyre\" (prepend apiSchemas = [\"MaterialBindingAPI\"]) {{\n{SQUARE}\
         rel material:binding = </robot/red>\n}}\n}}\n"
    );
    let instance = |name: &str, class: &str| {
        format!("def \"{name}\" (instanceable = true\ninherits = <{class}>) {{\n}}\n")
    };
    let mended = mended(&format!(
        "{wheel}def Xform \"robot\" {{\n{}{}{}}}",
        material("red", "/robot"),
        instance("left", "/_wheel"),
        instance("right", "/_wheel")
    ));
    for name in ["left", "right"] {
        assert!(mended.prim(&format!("/robot/{name}")).is_instance);
        let inside = format!("/robot/{name}/Materials/red");
        assert_eq!(
            mended
                .prim(&format!("/robot/{name}/tyre"))
                .targets("material:binding"),
            std::slice::from_ref(&inside)
        );
        let source = &mended.prim(&inside).attributes["outputs:surface"].connections;
        assert_eq!(source, &[format!("{inside}/surface.outputs:surface")]);
        assert_eq!(
            mended.prim(&format!("{inside}/surface")).text("info:id"),
            Some("UsdPreviewSurface")
        );
    }
    assert!(!mended.text("instances.usda").contains("UsdPreviewSurface"));
}

#[test]
fn an_instance_that_collides_or_moves_is_written_out() {
    let part = |schema: &str| {
        (
            "part.usda",
            format!(
                "{}def Xform \"part\" {{\ndef Mesh \"shape\" ({schema}) {{\n{SQUARE}}}\n}}",
                HEADER.replace("\"robot\"", "\"part\"")
            ),
        )
    };
    let robot = format!(
        "{HEADER}def Xform \"robot\" {{\ndef \"part\" (instanceable = true\nreferences = @./part.usda@) {{\n}}\n}}"
    );
    let of = |schema: &str| Asset::of(&[("robot.usda", robot.clone()), part(schema)]).mended();
    let seen = of("");
    assert!(
        seen.prim("/robot/part").is_instance && seen.prim("/robot/part/shape").instance.is_some()
    );
    let collides = of("prepend apiSchemas = [\"PhysicsCollisionAPI\"]");
    assert!(!collides.prim("/robot/part").is_instance && collides.says("more than visible shapes"));
    assert!(
        collides
            .prim("/robot/part/shape_collision")
            .has("PhysicsCollisionAPI")
    );
}

#[test]
fn filtered_pairs_follow_the_colliders_that_are_split() {
    let cube = |name: &str, other: &str| {
        format!(
            "def Cube \"{name}\" (prepend apiSchemas = [\"PhysicsCollisionAPI\", \"PhysicsFilteredPairsAPI\"]) {{\n\
             rel physics:filteredPairs = [</robot/{other}>, </robot/plain>]\nrel seen = </robot/{other}>\n}}\n"
        )
    };
    let mended = mended(&format!(
        "def Xform \"robot\" {{\n{}{}def Xform \"plain\" {{\n}}\n}}",
        cube("one", "other"),
        cube("other", "one")
    ));
    for (name, other) in [("one", "other"), ("other", "one")] {
        let pairs = [
            format!("/robot/{other}_collision"),
            "/robot/plain".to_owned(),
        ];
        let collider = mended.prim(&format!("/robot/{name}_collision"));
        assert_eq!(collider.targets("physics:filteredPairs"), pairs);
        let seen = mended.prim(&format!("/robot/{name}")).targets("seen");
        assert_eq!(seen, [format!("/robot/{other}")]);
    }
}

#[test]
fn a_mesh_repeated_in_one_variant_is_an_instance_in_all() {
    let square = |name: &str| format!("def Mesh \"{name}\" {{\n{SQUARE}}}\n");
    let mended = mended(&format!(
        "def Xform \"robot\" (\nprepend variantSets = \"parts\"\nvariants = {{\nstring parts = \"few\"\n}}\n) {{\n{}\
         variantSet \"parts\" = {{\n\"few\" {{\n}}\n\"many\" {{\n{}{}}}\n}}\n}}",
        square("always"),
        square("second"),
        square("third")
    ));
    assert!(
        mended.prim("/robot/always").is_instance && mended.stage.prim_at("/robot/second").is_none()
    );
    let choice = "parts=many".parse().unwrap();
    let options = urdf_usd_stage::Options {
        variants: vec![choice],
        ..Default::default()
    };
    let many = Stage::open(&mended.stage.entry, &options).unwrap();
    for name in ["always", "second", "third"] {
        assert!(
            many.prim_at(&format!("/robot/{name}")).unwrap().is_instance,
            "{name}"
        );
    }
    let base = mended.text("base.usda");
    assert_eq!(
        base.matches("prepend payload = @./instances.usda@</Instances/always>")
            .count(),
        3,
        "{base}"
    );
}

#[test]
fn point_instancers_are_converted_to_metres() {
    let mended = Asset::of(&[(
        "robot.usda",
        format!(
            "{}def Xform \"robot\" {{\ndef PointInstancer \"leds\" {{\nrel prototypes = </robot/leds/led>\nint[] protoIndices = [0, 0]\n\
             point3f[] positions = [(0, 0, 0), (10, 20, 30)]\ndef Mesh \"led\" {{\n{SQUARE}}}\n}}\n}}",
            HEADER.replace("metersPerUnit = 1", "metersPerUnit = 0.01")
        ),
    )])
    .mended();
    let leds = mended.prim("/robot/leds");
    assert_eq!(leds.type_name, "PointInstancer");
    assert_eq!(leds.targets("prototypes"), ["/robot/leds/led"]);
    assert_eq!(
        leds.value("protoIndices").and_then(int_array),
        Some(&[0, 0][..])
    );
    let positions = leds.value("positions").and_then(vectors).unwrap();
    assert!(
        positions[1]
            .iter()
            .zip([0.1, 0.2, 0.3])
            .all(|(is, wanted)| (is - wanted).abs() < 1e-6),
        "{positions:?}"
    );
    assert!(leds.value("scales").is_none() && leds.value("orientations").is_none());
    let points = mended
        .prim("/robot/leds/led")
        .value("points")
        .and_then(vectors)
        .unwrap();
    assert!((points[2][0] - 0.01).abs() < 1e-6);
    assert!(!mended.text("base.usda").contains("positions"));
}

#[test]
fn point_instancers_with_shear_are_left() {
    let mended = mended(&format!(
        "def Xform \"robot\" {{\ndouble3 xformOp:scale = (1, 2, 1)\nuniform token[] xformOpOrder = [\"xformOp:scale\"]\n\
         def PointInstancer \"leds\" {{\nrel prototypes = </robot/leds/led>\nint[] protoIndices = [0]\npoint3f[] positions = [(1, 1, 0)]\n\
         quatf[] orientationsf = [(0.9238795, 0, 0, 0.3826834)]\ndef Mesh \"led\" {{\n{SQUARE}}}\n}}\n}}"
    ));
    assert!(mended.says("cannot be converted to the new frame"));
}

#[test]
fn a_body_has_the_mass_of_its_colliders() {
    let text = |collider: &str| {
        format!(
            "def PhysicsScene \"scene\" {{\n}}\ndef Xform \"robot\" {{\ndef Material \"first\" (prepend apiSchemas = [\"PhysicsMaterialAPI\"]) {{\n}}\n\
             def Xform \"body\" (prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]) {{\n\
             def Cube \"box\" ({collider}) {{\ntoken purpose = \"guide\"\ndouble size = 0.2\n\
             double3 xformOp:translate = (0, 0, 1)\nuniform token[] xformOpOrder = [\"xformOp:translate\"]\n}}\n}}\n}}"
        )
    };
    let with = mended(&text("prepend apiSchemas = [\"PhysicsCollisionAPI\"]"));
    let body = with.prim("/robot/body");
    assert!(body.has("PhysicsMassAPI") && with.says("1000 kg/m³"));
    assert!((body.number("physics:mass").unwrap() - 8.0).abs() < 1e-6);
    assert_eq!(
        body.value("physics:centerOfMass").and_then(numbers::<3>),
        Some([0.0, 0.0, 1.0])
    );
    let moments = body
        .value("physics:diagonalInertia")
        .and_then(numbers::<3>)
        .unwrap();
    assert!(
        moments
            .iter()
            .all(|moment| (moment - 8.0 * 0.04 / 6.0).abs() < 1e-6),
        "{moments:?}"
    );
    let without = mended(&text(""));
    assert!(
        !without.prim("/robot/body").has("PhysicsMassAPI") && without.says("the body has no mass")
    );
}

/// Reads a robot of one link in centimetres, before and after fixing.
fn in_centimetres(inside: &str) -> [Robot; 2] {
    let body = "def Xform \"base\" (\nprepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"PhysicsMassAPI\"]\n)\n{\nfloat physics:mass = 1\n\
                float3 physics:diagonalInertia = (1, 1, 1)\n";
    let header = HEADER.replace("metersPerUnit = 1", "metersPerUnit = 0.01");
    let asset = Asset::of(&[(
        "robot.usda",
        format!("{header}def Xform \"robot\"\n{{\n{body}{inside}}}\n}}"),
    )]);
    let read = |entry: &Path| {
        urdf_usd_usd_read::read(entry, &Default::default())
            .unwrap()
            .robot
    };
    let before = read(&asset.entry);
    [before, read(&asset.mended().stage.entry)]
}

#[test]
fn lights_are_as_bright_in_metres_and_without_scale() {
    let scaled =
        "double3 xformOp:scale = (3, 3, 3)\nuniform token[] xformOpOrder = [\"xformOp:scale\"]\n";
    let [before, after] = in_centimetres(&format!(
        "def SphereLight \"plain\"\n{{\n}}\ndef SphereLight \"sized\"\n{{\nfloat inputs:radius = 4\nfloat inputs:intensity = 70\n{scaled}}}\n\
         def SphereLight \"normal\"\n{{\nbool inputs:normalize = 1\n}}\n\
         def SphereLight \"spot\" (\nprepend apiSchemas = [\"ShapingAPI\"]\n)\n{{\nbool inputs:normalize = 1\nfloat inputs:intensity = 9000\n\
         float inputs:exposure = 2\nfloat inputs:radius = 2\nfloat inputs:shaping:cone:angle = 40\n{scaled}}}\n\
         def DistantLight \"sun\"\n{{\nbool inputs:normalize = 1\n}}\n"
    ));
    assert_eq!(before.lights().len(), 5);
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * a.abs();
    for (was, is) in before.lights().iter().zip(after.lights()) {
        assert_eq!(was.name, is.name);
        assert!(
            near(was.intensity, is.intensity),
            "{}: {} cd, then {} cd",
            was.name,
            was.intensity,
            is.intensity
        );
        let radius = |light: &Light| match light.kind {
            LightKind::Point { radius } | LightKind::Spot { radius, .. } => radius,
            LightKind::Directional { angle } => angle,
        };
        assert!(
            near(radius(was), radius(is)),
            "{}: {was:?}, then {is:?}",
            was.name
        );
    }
}

#[test]
fn area_lights_have_their_size_and_what_they_give_off() {
    let mended = Asset::of(&[(
        "robot.usda",
        format!(
            "{}def Xform \"robot\"\n{{\ndef RectLight \"panel\"\n{{\nfloat inputs:width = 20\nbool inputs:normalize = 1\n\
             float inputs:intensity = 500\nfloat inputs:shadow:distance = 300\nfloat inputs:shadow:falloff = -1\n\
             double3 xformOp:scale = (2, 3, 1)\nuniform token[] xformOpOrder = [\"xformOp:scale\"]\n}}\n\
             def CylinderLight \"tube\"\n{{\n}}\ndef DomeLight \"sky\"\n{{\nbool inputs:normalize = 1\n}}\n}}",
            HEADER.replace("metersPerUnit = 1", "metersPerUnit = 0.01")
        ),
    )])
    .mended();
    let number = |light: &str, name: &str| mended.prim(&format!("/robot/{light}")).number(name);
    for (light, name, wanted) in [
        ("panel", "inputs:width", 0.4),
        ("panel", "inputs:height", 0.03),
        // The same luminance: 500 per 1200 cm² are 0.05 per 0.12 m².
        ("panel", "inputs:intensity", 0.05),
        ("panel", "inputs:shadow:distance", 3.0),
        ("panel", "inputs:shadow:falloff", -1.0),
        ("tube", "inputs:length", 0.01),
        ("tube", "inputs:radius", 0.005),
    ] {
        let is = number(light, name).unwrap_or(f64::NAN);
        assert!(
            (is - wanted).abs() < 1e-6 * wanted.abs(),
            "{light} {name}: {is}"
        );
    }
    assert_eq!(
        (
            number("tube", "inputs:intensity"),
            number("sky", "inputs:intensity")
        ),
        (None, None)
    );
}

#[test]
fn default_lengths_are_converted_to_metres() {
    let collider = |kind: &str| {
        format!(
            "def {kind} \"{kind}\" (\nprepend apiSchemas = [\"PhysicsCollisionAPI\"]\n)\n{{\n}}\n"
        )
    };
    let solids: String = [
        "Cube",
        "Sphere",
        "Cylinder",
        "Cylinder_1",
        "Capsule",
        "Capsule_1",
    ]
    .map(collider)
    .concat();
    let [before, after] = in_centimetres(&format!(
        "{solids}def Cone \"Cone\"\n{{\ndouble height = 3\n}}\n"
    ));
    let of = |robot: &Robot| {
        robot.links().as_slice()[0]
            .collisions
            .iter()
            .map(|shape| shape.geometry.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&before).len(), 6);
    assert_eq!(of(&before), of(&after));
    assert_eq!(of(&after)[1], Geometry::Sphere { radius: 0.01 });
    let seen = |robot: &Robot| {
        robot
            .meshes()
            .values()
            .map(|mesh| mesh.mesh.bounds().unwrap())
            .collect::<Vec<_>>()
    };
    let scale = |robot: &Robot| {
        robot.links().as_slice()[0]
            .visuals
            .iter()
            .filter_map(|shape| match &shape.geometry {
                Geometry::Mesh { scale, .. } => Some(scale.x),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let high = |robot: &Robot| f64::from(seen(robot)[0].1[0]) * scale(robot)[0];
    assert!(
        (high(&before) - 0.01).abs() < 1e-6 && (high(&after) - 0.01).abs() < 1e-6,
        "{} {}",
        high(&before),
        high(&after)
    );
}

#[test]
fn a_camera_sees_what_it_saw() {
    let mended = Asset::of(&[(
        "robot.usda",
        format!(
            "{}def Xform \"robot\"\n{{\ndef Camera \"eye\"\n{{\nfloat focalLength = 24\n}}\n}}",
            HEADER.replace("metersPerUnit = 1", "metersPerUnit = 0.01")
        ),
    )])
    .mended();
    let eye = mended.prim("/robot/eye");
    let angle = eye.number("horizontalAperture").unwrap() / eye.number("focalLength").unwrap();
    assert!((angle - 20.955 / 24.0).abs() < 1e-6, "{angle}");
    let range: [f64; 2] = numbers(eye.value("clippingRange").unwrap()).unwrap();
    assert!(
        (range[0] - 0.01).abs() < 1e-9 && (range[1] - 10_000.0).abs() < 1.0,
        "{range:?}"
    );
}
