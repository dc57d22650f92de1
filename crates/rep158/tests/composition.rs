//! Corner cases of composition that rules have to handle.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)] // a test that fails may panic

use urdf_usd_rep158::{Options, check};

const NONE: &[&str] = &[];

/// Returns the findings of the rules that `select` matches, as code and prim or property. A file is
/// given by its name, its sublayers and its text.
fn found(select: &str, files: &[(&str, &[&str], &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, sublayers, text) in files {
        let sublayers: Vec<String> = sublayers.iter().map(|name| format!("@./{name}@")).collect();
        let header = format!(
            "#usda 1.0\n(\n    defaultPrim = \"robot\"\n    subLayers = [{}]\n)\n\n",
            sublayers.join(", ")
        );
        std::fs::write(folder.path().join(name), format!("{header}{text}\n")).unwrap();
    }
    let options = Options {
        select: vec![select.to_owned()],
        all_variants: true,
        ..Options::default()
    };
    let found = check(&folder.path().join(files[0].0), &options).unwrap();
    found
        .iter()
        .map(|finding| {
            format!(
                "{} {}",
                &finding.code["REP158-".len()..],
                finding.place.element
            )
        })
        .collect()
}

/// Returns a prim, as `kind "name" (metadata) { inside }`.
fn prim(head: &str, metadata: &str, inside: &str) -> String {
    format!("{head} (\n{metadata}\n)\n{{\n{inside}\n}}\n")
}

/// Returns the prim `/robot` with these contents.
fn robot(inside: &str) -> String {
    prim("def Xform \"robot\"", "", inside)
}

/// Returns a prim with a variant set of two variants, the first of which is selected.
fn with_variants(head: &str, set: &str, variants: [(&str, &str); 2]) -> String {
    let [(one, in_one), (two, in_two)] = variants;
    let metadata = format!("variants = {{\nstring {set} = \"{one}\"\n}}\nvariantSets = \"{set}\"");
    prim(
        head,
        &metadata,
        &format!(
            "variantSet \"{set}\" = {{\n\"{one}\" {{\n{in_one}\n}}\n\"{two}\" {{\n{in_two}\n}}\n}}"
        ),
    )
}

const PLACED: &str =
    "double3 xformOp:translate = (0, 0, 1)\nuniform token[] xformOpOrder = [\"xformOp:translate\"]";

#[test]
fn layers_are_classified_by_content() {
    // The preview surface of a contact material does not count as looks, a deleted schema does not
    // count at all, and ROS frames may have transforms.
    let material = prim(
        "def Material \"rubber\"",
        "apiSchemas = [\"PhysicsMaterialAPI\"]",
        "def Shader \"surface\"\n{\n}",
    );
    let physics = prim(
        "over \"robot\"",
        "delete apiSchemas = [\"RosContextAPI\"]",
        &material,
    );
    let ros = prim(
        "over \"robot\"",
        "",
        &prim(
            "def Xform \"tool\"",
            "apiSchemas = [\"RosFrameAPI\"]",
            PLACED,
        ),
    );
    let newton = prim(
        "over \"robot\"",
        "prepend apiSchemas = [\"NewtonArticulationRootAPI\"]",
        "",
    );
    // Variants that are not selected are also contents of the layer.
    let two = "float physxRigidBody:damping = 1\nstring ros:context:namespace = \"a\"";
    let hidden = with_variants(
        "over \"robot\"",
        "a",
        [("one", "float physics:mass = 1"), ("two", two)],
    );
    let base = robot(PLACED);
    let of = |select: &str, physics: &str| {
        let names = ["newton.usda", "ros.usda", "physics.usda", "base.usda"];
        let entry = robot("");
        let texts = [&newton, &ros, physics, &base];
        let mut files = vec![("robot.usda", &names[..], entry.as_str())];
        files.extend(
            names
                .into_iter()
                .zip(texts)
                .map(|(name, text)| (name, NONE, text)),
        );
        found(select, &files)
    };
    for select in [
        "REP158-1.2.16",
        "REP158-1.2.17",
        "REP158-1.2.18",
        "REP158-1.2.20",
        "REP158-1.4*",
    ] {
        assert_eq!(of(select, &physics), NONE, "{select}");
    }
    assert_eq!(
        of("REP158-1.4.1", &hidden),
        ["1.4.1 /robot{a=two}.physxRigidBody:damping"]
    );
    assert_eq!(of("REP158-1.2.16", &hidden), ["1.2.16 "]);
}

#[test]
fn paths_are_relative_or_of_packages() {
    let named = |path: &str| {
        found(
            "REP158-1.2.4",
            &[(
                "robot.usda",
                NONE,
                &robot(&format!("asset texture = @{path}@")),
            )],
        )
        .len()
    };
    for path in [
        "./a.png",
        "a.png",
        "textures/a b.png",
        "../a.png",
        "package://robot/a.png",
        "a.usdz[b.png]",
        "a:b.png",
    ] {
        assert_eq!(named(path), 0, "{path}");
    }
    for path in [
        "/a.png",
        "C:/a.png",
        "c:\\a.png",
        "\\\\server\\a.png",
        "file:///a.png",
        "file:a.png",
        "https://a.org/a.png",
        "~/a.png",
    ] {
        assert_eq!(named(path), 1, "{path}");
    }
    let hidden = with_variants(
        "def Xform \"robot\"",
        "a",
        [
            ("one", ""),
            ("two", &prim("def \"x\"", "payload = @/a.usd@", "")),
        ],
    );
    assert_eq!(
        found("REP158-1.2.4", &[("robot.usda", NONE, &hidden)]),
        ["1.2.4 /robot{a=two}x"]
    );
}

#[test]
fn classes_of_the_asset_are_inside() {
    // Classes in another layer of the stack, and in the layer stack of a referenced asset.
    let (wheel, bolt) = (
        prim("class \"_wheel\"", "", ""),
        prim("class \"_bolt\"", "", ""),
    );
    let entry = prim(
        "def Xform \"robot\"",
        "inherits = </_wheel>",
        &prim("def \"part\"", "references = @./part.usda@", ""),
    );
    let part = robot(&prim("def \"bolt\"", "specializes = </_bolt>", ""));
    let with = |part: &str| {
        let files = [
            ("robot.usda", &["classes.usda"][..], entry.as_str()),
            ("classes.usda", NONE, &wheel),
            ("part.usda", NONE, part),
        ];
        found("REP158-1.2.8", &files)
    };
    assert_eq!(with(&(bolt + &part)), NONE);
    assert_eq!(with(&part), ["1.2.8 /robot/part/bolt"]);
}

#[test]
fn payloads_hold_no_topology() {
    let entry = robot(&prim(
        "def Xform \"link\"",
        "",
        &prim("def Xform \"visual\"", "payload = @./part.usda@", ""),
    ));
    let of = |code: &str, entry: &str, part: &str| {
        found(
            code,
            &[("robot.usda", NONE, entry), ("part.usda", NONE, part)],
        )
    };
    let with = |part: &str| of("REP158-1.2.10", &entry, part);
    assert_eq!(
        with(&robot(&prim(
            "def Mesh \"shape\"",
            "apiSchemas = [\"PhysicsCollisionAPI\"]",
            ""
        ))),
        NONE
    );
    let frame = prim("def Xform \"frame\"", "apiSchemas = [\"RosFrameAPI\"]", "");
    // ROS prims have a separate rule; the prim with the payload is reported once.
    assert_eq!(
        (
            with(&robot(&frame)),
            of("REP158-2.2.1", &entry, &robot(&frame))
        ),
        (vec![], vec!["2.2.1 /robot/link/visual/frame".to_owned()])
    );
    for schema in ["RosContextAPI", "RosTopicAPI"] {
        let bearing = robot(&prim(
            "def Xform \"part\"",
            &format!("payload = @./part.usda@\napiSchemas = [\"{schema}\"]"),
            "",
        ));
        let on_root = prim(
            "def Xform \"robot\"",
            &format!("apiSchemas = [\"{schema}\"]"),
            "",
        );
        for (entry, part) in [(&bearing, &robot("")), (&entry, &on_root)] {
            assert_eq!(of("REP158-1.2.10", entry, part).len(), 1, "{schema} {part}");
            assert_eq!(
                (
                    of("REP158-2.1.1", entry, part),
                    of("REP158-2.2.1", entry, part)
                ),
                (vec![], vec![])
            );
        }
    }
    assert_eq!(
        with(&robot(&prim("def PhysicsFixedJoint \"joint\"", "", ""))),
        ["1.2.10 /robot/link/visual/joint"]
    );
    assert_eq!(
        with(&prim(
            "def Xform \"robot\"",
            "apiSchemas = [\"PhysicsRigidBodyAPI\"]",
            ""
        )),
        ["1.2.10 /robot/link/visual"]
    );
}

#[test]
fn selections_name_variants_in_every_variant() {
    let set = |lens: &str| {
        let camera = with_variants("def Xform \"camera\"", "lens", [("wide", ""), ("tele", "")])
            .replace("= \"wide\"", &format!("= \"{lens}\""));
        found(
            "REP158-1.2.7",
            &[(
                "robot.usda",
                NONE,
                &with_variants(
                    "def Xform \"robot\"",
                    "head",
                    [("none", ""), ("camera", &camera)],
                ),
            )],
        )
    };
    assert_eq!(set("wide"), NONE);
    assert_eq!(set("narrow"), ["1.2.7 /robot/camera"]);
}

#[test]
fn a_variant_without_shapes_may_be_chosen() {
    let (cube, nothing) = (("mesh", "def Cube \"shape\"\n{\n}"), ("nothing", ""));
    let with = |variants| {
        found(
            "REP158-1.2.23",
            &[(
                "robot.usda",
                NONE,
                &with_variants("def Xform \"robot\"", "look", variants),
            )],
        )
    };
    assert_eq!(with([cube, nothing]), NONE);
    assert_eq!(with([nothing, cube]), ["1.2.23 /robot{look=mesh}shape"]);
}

#[test]
fn stacks_are_translate_then_orient() {
    let frame = |ops: &str, order: &str| {
        let order = format!("{ops}\nuniform token[] xformOpOrder = [{order}]");
        found(
            "REP158-1.1.6",
            &[(
                "robot.usda",
                NONE,
                &robot(&prim(
                    "def Xform \"tool\"",
                    "apiSchemas = [\"RosFrameAPI\"]",
                    &order,
                )),
            )],
        )
        .len()
    };
    let ops = "double3 xformOp:translate = (0, 0, 1)\nquatd xformOp:orient = (1, 0, 0, 0)\ndouble3 xformOp:translate:pivot = (0, 0, 1)";
    assert_eq!(frame(ops, "\"xformOp:translate\", \"xformOp:orient\""), 0);
    for order in [
        "",
        "\"xformOp:orient\", \"xformOp:translate\"",
        "\"xformOp:translate\"",
        "\"!resetXformStack!\", \"xformOp:translate\", \"xformOp:orient\"",
        "\"xformOp:translate:pivot\", \"xformOp:orient\"",
        "\"xformOp:translate\", \"!invert!xformOp:orient\"",
    ] {
        assert_eq!(frame(ops, order), 1, "{order}");
    }
    // Operations without values.
    assert_eq!(frame("", "\"xformOp:translate\", \"xformOp:orient\""), 1);
}

#[test]
fn scales_belong_to_shapes() {
    let scaled = |metadata: &str, inside: &str| {
        let ops = "float3 xformOp:scale = (1, 1, 2)\nuniform token[] xformOpOrder = [\"xformOp:scale\"]\n";
        let entry = robot(&prim(
            "def Xform \"visual\"",
            metadata,
            &(ops.to_owned() + inside),
        ));
        found(
            "REP158-1.1.10",
            &[
                ("robot.usda", NONE, &entry),
                ("part.usda", NONE, &robot("def Cube \"shape\"\n{\n}")),
            ],
        )
        .len()
    };
    let payload = "payload = @./part.usda@";
    assert_eq!(scaled(payload, ""), 0);
    assert_eq!(scaled("", "def Cube \"shape\"\n{\n}"), 1);
    assert_eq!(
        scaled(
            payload,
            &prim(
                "def Xform \"link\"",
                "apiSchemas = [\"PhysicsRigidBodyAPI\"]",
                ""
            )
        ),
        1
    );
}

#[test]
fn meshes_are_shared_or_few() {
    let mesh = "def Mesh \"robot\"\n{\n    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n}";
    let many = |count: usize, with: &str| {
        let metadata = format!("{with}\nreferences = @./part.usda@");
        let all: String = (0..count)
            .map(|i| prim(&format!("def Mesh \"m{i}\""), &metadata, ""))
            .collect();
        found(
            "REP158-3.5.1",
            &[
                ("robot.usda", NONE, &robot(&all)),
                ("part.usda", NONE, mesh),
            ],
        )
    };
    assert_eq!(many(2, ""), NONE);
    assert_eq!(many(3, ""), ["3.5.1 /robot/m0"]);
    assert_eq!(many(3, "apiSchemas = [\"PhysicsCollisionAPI\"]"), NONE);
}
