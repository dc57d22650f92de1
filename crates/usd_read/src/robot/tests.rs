use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::{Matrix3, Unit, UnitQuaternion, Vector3};
use proptest::prelude::*;

use super::read;
use urdf_usd_diagnostic::{Diagnostic, Severity};
use urdf_usd_mesh::{Polygons, from_polygons};
use urdf_usd_robot::kinematics::{Model, position_count};
use urdf_usd_robot::{
    Contact, Custom, Element, Geometry, ImagePlacement, Inertial, Joint, JointKind, Light,
    LightKind, MapRole, Mass, Material, Mesh, MeshId, Pose, Robot, SelfCollision, SensorKind,
    Shape, VisualPart, Wrap,
};
use urdf_usd_store::Store;
use urdf_usd_usd_write::{Bodies, Options, write};

/// Ends each statement and each block with its line, and leaves out edits of lists without items, as
/// OpenUSD's grammar asks for.
fn in_lines(text: &str) -> String {
    text.replace('}', "\n}\n")
        .replace("prepend apiSchemas = []", "")
}

/// Returns the robot of an asset of one layer.
fn robot_of(text: &str) -> Result<(Robot, Vec<Diagnostic>), String> {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("a.usda");
    let text = in_lines(text);
    std::fs::write(&entry, format!("#usda 1.0\n{text}")).unwrap();
    read(&entry, &Default::default())
        .map(|read| (read.robot, read.diagnostics))
        .map_err(|error| error.to_string())
}

/// Returns the robot of one layer with the code of each diagnostic.
fn told(text: &str) -> (Robot, Vec<&'static str>) {
    let (robot, found) = robot_of(text).unwrap();
    (
        robot,
        found.iter().map(|diagnostic| diagnostic.code).collect(),
    )
}

/// Header of a layer: metres, z up.
const METRES: &str = "(\n defaultPrim = \"r\"\n metersPerUnit = 1\n upAxis = \"Z\"\n)\n";
const BODY: &str = "(prepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"PhysicsMassAPI\"])";

#[test]
fn what_holds_no_robot_is_an_error_that_says_what_was_looked_for() {
    let error = robot_of(&format!(
        "{METRES}def Xform \"r\" {{ def Cube \"c\" {{}} }}"
    ))
    .unwrap_err();
    assert!(
        error.contains("PhysicsRigidBodyAPI") && error.contains("2 prims"),
        "{error}"
    );
}

#[test]
fn units_the_up_axis_and_scales_are_settled() {
    let layer = format!(
        "(\n defaultPrim = \"r\"\n metersPerUnit = 0.01\n kilogramsPerUnit = 0.5\n upAxis = \"Y\"\n)\n\
         def Xform \"r\" {{ def Xform \"a\" {BODY} {{\n\
         float physics:mass = 4\n float3 physics:diagonalInertia = (2, 2, 2)\n point3f physics:centerOfMass = (10, 0, 0)\n\
         def Cylinder \"c\" (prepend apiSchemas = [\"PhysicsCollisionAPI\"]) {{ uniform token axis = \"X\"\n\
         double radius = 5\n double height = 20\n float3 xformOp:scale = (2, 1, 1)\n\
         double3 xformOp:translate = (0, 100, 0)\n\
         uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:scale\"] }} }} }}"
    );
    let (robot, codes) = told(&layer);
    assert_eq!(codes, ["usd-read-base-placed"]);
    // y of the stage is z of the robot's base, the body's parent.
    let at = Model::of(&robot).poses(&[]);
    let body = robot.link_named("a").unwrap();
    assert!((at[body.index()].rotation * Vector3::y() - Vector3::z()).norm() < 1e-12);
    let link = &robot.links()[body];
    let inertial = link.inertial.as_ref().unwrap();
    assert_eq!((inertial.mass, inertial.origin.translation.x), (2.0, 0.1));
    assert!(
        (inertial.inertia - Matrix3::identity() * 1e-4).norm() < 1e-15,
        "{}",
        inertial.inertia
    );
    let Geometry::Cylinder { radius, length } = link.collisions[0].geometry else {
        panic!()
    };
    assert!(
        (radius - 0.05).abs() < 1e-12 && (length - 0.4).abs() < 1e-12,
        "{radius} {length}"
    );
    assert!((link.collisions[0].origin.translation.vector - Vector3::y()).norm() < 1e-12);
    assert!((link.collisions[0].origin.rotation * Vector3::z() - Vector3::x()).norm() < 1e-12);
}

/// A robot of three bodies in a row with a collider each: `a` and `b` have a joint, `c` floats.
fn row(more: &str, of_joint: &str) -> String {
    let bodies: String = ["a", "b", "c"]
        .iter()
        .map(|name| {
            format!(
                "def Xform \"{name}\" {BODY} {{\nfloat physics:mass = 1\n\
                 def Sphere \"ball\" (prepend apiSchemas = [\"PhysicsCollisionAPI\"]) {{ double radius = 0.1 }} }}\n"
            )
        })
        .collect();
    format!(
        "{METRES}def Xform \"r\" {{\n{bodies}\
         def PhysicsRevoluteJoint \"j\" {{\nrel physics:body0 = </r/a>\nrel physics:body1 = </r/b>\n{of_joint} }}\n{more} }}"
    )
}

#[test]
fn collision_groups_filter_pairs_of_links() {
    let group = |name: &str, of: &str, more: &str| {
        format!(
            "def PhysicsCollisionGroup \"{name}\" {{\nprepend rel collection:colliders:includes = {of}\n{more} }}\n"
        )
    };
    let filter = "rel physics:filteredGroups = ";
    let one = |of: &str, more: &str| group("g", of, &format!("{filter}</r/g>\n{more}"));
    let two = |more: &str, other: &str| {
        group("g", "</r/a>", &format!("{filter}</r/h>\n{more}")) + &group("h", "</r/c>", other)
    };
    for (groups, expected, all) in [
        (one("[</r/b>, </r/c>]", ""), vec![("b", "c")], false),
        // A joint connects these.
        (one("[</r/a>, </r/b>]", ""), vec![], false),
        (one("</r>", ""), vec![], true),
        (
            one("</r>", "rel collection:colliders:excludes = </r/b>"),
            vec![("a", "c")],
            false,
        ),
        (
            one(
                "</r>",
                "uniform token collection:colliders:expansionRule = \"explicitOnly\"",
            ),
            vec![],
            false,
        ),
        (two("", ""), vec![("a", "c")], false),
        (
            two("bool physics:invertFilteredGroups = 1", ""),
            vec![],
            false,
        ),
        (
            two("", "string physics:mergeGroup = \"m\""),
            vec![("a", "c")],
            false,
        ),
        (
            two(
                "string physics:mergeGroup = \"m\"",
                "string physics:mergeGroup = \"m\"",
            ),
            vec![("a", "c")],
            false,
        ),
    ] {
        let (robot, codes) = told(&row(&groups, ""));
        let name = |id| robot.links()[id].name();
        let pairs: Vec<_> = robot
            .disabled_collisions()
            .iter()
            .map(|(one, other)| (name(one), name(other)))
            .collect();
        assert_eq!(pairs, expected, "{groups}");
        assert_eq!(
            robot.simulation().self_collision == SelfCollision::None,
            all,
            "{groups}"
        );
        assert!(!codes.contains(&"usd-read-collision-filter"), "{groups}");
    }
    // A second collider of `b` is in no group.
    let more = "def Sphere \"more\" (prepend apiSchemas = [\"PhysicsCollisionAPI\"]) { double radius = 0.1 }";
    let layer = row(&one("[</r/b/ball>, </r/c>]", ""), "").replacen(
        "def Xform \"b\" (prepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"PhysicsMassAPI\"]) {",
        &format!("def Xform \"b\" {BODY} {{\n{more}\n"),
        1,
    );
    let (robot, codes) = told(&layer);
    assert!(robot.disabled_collisions().is_empty());
    assert!(codes.contains(&"usd-read-collision-filter"), "{codes:?}");
}

#[test]
fn only_enabled_colliders_count_in_collision_groups() {
    let group = "def PhysicsCollisionGroup \"g\" {\nrel collection:colliders:includes = [</r/b/ball>, </r/c>]\n\
                 rel physics:filteredGroups = </r/g>\n}\n";
    let disabled = "def Sphere \"off\" (prepend apiSchemas = [\"PhysicsCollisionAPI\"]) {\ndouble radius = 0.1\n\
                    bool physics:collisionEnabled = 0\n}";
    let body = format!("def Xform \"b\" {BODY} {{");
    let layer = row(group, "").replacen(&body, &format!("{body}\n{disabled}\n"), 1);
    assert!(layer.contains("\"off\""));
    let (robot, codes) = told(&layer);
    assert_eq!(robot.disabled_collisions().iter().count(), 1);
    assert!(!codes.contains(&"usd-read-collision-filter"), "{codes:?}");
}

#[test]
fn collision_groups_that_are_not_read_are_reported() {
    let group =
        |name: &str, lines: &str| format!("def PhysicsCollisionGroup \"{name}\" {{\n{lines}\n}}\n");
    let many = |lines: &str| -> String {
        let groups = (0..1001).map(|number| group(&format!("g{number}"), lines));
        groups.collect()
    };
    let filter = "rel physics:filteredGroups = </r/g>";
    let includes = "rel collection:colliders:includes = ";
    let one = group("g", &format!("{filter}\n{includes}[</r/b>, </r/c>]"));
    for (groups, pairs, is_reported) in [
        (
            group("g", &format!("{filter}\n{includes}</r.collection:all>")),
            0,
            true,
        ),
        (
            group(
                "g",
                &format!("{filter}\nuniform bool collection:colliders:includeRoot = 1"),
            ),
            0,
            true,
        ),
        (
            group(
                "g",
                &format!(
                    "{filter}\npathExpression collection:colliders:membershipExpression = \"/r//\""
                ),
            ),
            0,
            true,
        ),
        // Groups that neither filter nor are filtered do not count.
        (one.clone() + &many(&format!("{includes}</r>")), 1, false),
        (one + &many(filter), 0, true),
    ] {
        let (robot, codes) = told(&row(&groups, ""));
        assert_eq!(robot.disabled_collisions().iter().count(), pairs);
        let is_named = codes.contains(&"usd-read-collision-filter");
        assert_eq!(is_named, is_reported, "{codes:?}");
    }
}

#[test]
fn a_topic_of_the_simulator_makes_no_sensor() {
    let topic = "def Scope \"clock\" (prepend apiSchemas = [\"RosTopicAPI\"]) {\n\
                 string ros:topic:name = \"/clock\"\nstring ros:topic:type = \"rosgraph_msgs/msg/Clock\"\n}";
    let body = format!("def Xform \"b\" {BODY} {{");
    let (robot, codes) = told(&row("", "").replacen(&body, &format!("{body}\n{topic}\n"), 1));
    assert!(
        codes.contains(&"usd-read-prohibited-interface"),
        "{codes:?}"
    );
    assert!(robot.sensors().is_empty());
}

#[test]
fn attributes_of_physics_without_a_place_are_named() {
    for (of_joint, more, expected) in [
        (
            "bool physics:collisionEnabled = 1",
            "",
            vec!["usd-read-collision-filter"],
        ),
        ("bool physics:collisionEnabled = 0", "", vec![]),
        (
            "float physics:breakForce = 5",
            "",
            vec!["usd-read-attributes-left-out"],
        ),
        ("float physics:breakTorque = inf", "", vec![]),
        ("float physics:breakForce = 3.4028235e38", "", vec![]),
        (
            "",
            "def Xform \"d\" (prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]) {\nbool physics:kinematicEnabled = 1\n}",
            vec!["usd-read-attributes-left-out"],
        ),
        (
            "",
            "def Xform \"d\" (prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]) {\nvector3f physics:velocity = (0, 0, 1)\n}",
            vec!["usd-read-attributes-left-out"],
        ),
        (
            "",
            "def Scope \"t\" (prepend apiSchemas = [\"RosTopicAPI\"]) {\nstring ros:topic:name = \"/clock\"\nstring ros:topic:type = \"rosgraph_msgs/msg/Clock\"\n}",
            vec!["usd-read-prohibited-interface"],
        ),
    ] {
        let (robot, codes) = told(&row(more, of_joint));
        let codes: Vec<_> = codes
            .into_iter()
            .filter(|code| !code.starts_with("usd-read-mass") && *code != "usd-read-whole-stage")
            .collect();
        assert_eq!(codes, expected, "{of_joint}{more}");
        assert!(robot.interfaces.is_empty());
    }
}

#[test]
fn an_asset_keeps_its_identity() {
    let outcome = |of_root: &str| {
        let folder = tempfile::tempdir().unwrap();
        let entry = folder.path().join("a.usda");
        let text = row("", "").replacen(
            "def Xform \"r\" {",
            &format!("def Xform \"r\" ({of_root})\n{{"),
            1,
        );
        // Articulations beside the default prim are not part of the asset.
        let other = ["x", "y"].map(|name| {
            format!("def Xform \"{name}\" (prepend apiSchemas = [\"PhysicsArticulationRootAPI\"]) {{ }}\n")
        });
        let text = text + &other.concat();
        std::fs::write(&entry, format!("#usda 1.0\n{}", text.replace('}', "\n}\n"))).unwrap();
        read(&entry, &Default::default()).unwrap()
    };
    let info = |of_root: &str| outcome(of_root).info;
    assert_eq!(info(""), super::AssetInfo::default());
    let found = outcome(
        "\nassetInfo = {\nasset identifier = @./x.usda@\ndictionary ros = {\nasset license = @../LICENSE@\n\
         dictionary sub = {\nasset[] files = [@/etc/passwd@]\nint kept = 1\n}\n}\n}\n",
    );
    assert_eq!(found.info.identifier, None);
    let message = found
        .diagnostics
        .iter()
        .find(|found| found.code == "usd-read-attributes-left-out")
        .map(|found| found.message.as_str());
    assert!(
        message.is_some_and(|message| message.ends_with("identifier, ros:license, ros:sub:files")),
        "{message:?}"
    );
    let sub = [("kept".to_owned(), urdf_usd_stage::Value::Int(1))];
    let sub = urdf_usd_stage::Value::Dictionary(sub.into());
    assert_eq!(found.info.ros, BTreeMap::from([("sub".to_owned(), sub)]));
    let uri = "package://arm/arm.usda";
    let found = info(&format!(
        "\nassetInfo = {{\nasset identifier = @{uri}@\n}}\n"
    ));
    assert_eq!(found.identifier.as_deref(), Some(uri));
    let found = info(
        "\nkind = \"assembly\"\nassetInfo = {\nstring identifier = \"my-id\"\nstring version = \"3.2\"\n\
         dictionary ros = {\nstring extra = \"e\"\n}\n}\n",
    );
    assert_eq!(
        (found.identifier.as_deref(), found.version.as_deref()),
        (Some("my-id"), Some("3.2"))
    );
    assert_eq!(found.aggregate.as_deref(), Some("assembly"));
    let extra = urdf_usd_stage::Value::String("e".to_owned());
    assert_eq!(found.ros, BTreeMap::from([("extra".to_owned(), extra)]));
    assert_eq!(info("\nkind = \"component\"\n").aggregate, None);
}

#[test]
fn a_base_with_z_up_has_a_name_that_nothing_else_has() {
    let layer = |name: &str, more: &str| {
        format!(
            "(\n defaultPrim = \"rover\"\n metersPerUnit = 1\n upAxis = \"Y\"\n)\ndef Xform \"rover\" {more} {{ {} }}",
            if name.is_empty() {
                String::new()
            } else {
                format!("def Xform \"{name}\" {BODY} {{ float physics:mass = 1 }}")
            }
        )
    };
    for (body, more, links) in [
        ("chassis", "", ["chassis", "base_link"]),
        ("base_link", "", ["base_link", "base_link_1"]),
        ("", BODY, ["rover", "base_link"]),
    ] {
        let (robot, _) = told(&layer(body, more));
        assert_eq!(
            robot
                .links()
                .values()
                .map(|link| link.name())
                .collect::<Vec<_>>(),
            links
        );
    }
}

#[test]
fn meshes_keep_their_names() {
    let mesh = "int[] faceVertexCounts = [3, 3, 3, 3]\n int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]\n\
                point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]";
    let layer = format!(
        "{METRES}def Scope \"parts\" {{ def Mesh \"wheel\" {{ {mesh} }}\n def Xform \"bolt\" {{ def Mesh \"thread\" {{ {} }} }} }}\n\
         def Xform \"r\" {{ def Xform \"a\" {BODY} {{ float physics:mass = 1\n float3 physics:diagonalInertia = (1, 1, 1)\n\
         def Mesh \"geometry\" (references = </parts/wheel>) {{ }}\n def Xform \"part\" (instanceable = true\n references = </parts/bolt>) {{ }}\n\
         def Mesh \"own\" {{ {} }} }} }}",
        mesh.replace("(1, 0, 0)", "(2, 0, 0)"),
        mesh.replace("(1, 0, 0)", "(3, 0, 0)")
    );
    let (robot, _) = told(&layer);
    let names = |robot: &Robot| -> Vec<String> {
        let stem = |uri: &str| {
            Path::new(uri)
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        robot
            .meshes()
            .values()
            .map(|mesh| stem(&mesh.uri))
            .collect()
    };
    assert_eq!(names(&robot), ["wheel", "thread", "own"]);
    // The writer keeps the names, and so does the reader.
    for bodies in [Bodies::Nested, Bodies::Flat] {
        assert_eq!(names(&again(&robot, bodies).0), ["wheel", "thread", "own"]);
    }
}

#[test]
fn a_contact_that_gives_nothing_back_has_one_name() {
    let link = |name: &str| {
        format!(
            "<link name='{name}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>\
             <collision><geometry><sphere radius='1'/></geometry></collision></link>"
        )
    };
    let joint = "<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint>";
    let text = format!("<robot name='r'>{}{}{joint}</robot>", link("a"), link("b"));
    let mut robot = urdf_usd_urdf::read(&text, None).robot.unwrap();
    for ((_, link), restitution) in robot.links_mut().zip([None, Some(0.0)]) {
        link.contact = Some(Contact {
            static_friction: 1.0,
            dynamic_friction: 0.5,
            restitution,
        });
    }
    let physics = |robot: &Robot| {
        let options = Options {
            entry: "r".into(),
            ..Options::default()
        };
        let asset = write(robot, &options, &Store::none()).unwrap();
        let (_, bytes) = asset
            .files
            .iter()
            .find(|(path, _)| path.ends_with("physics.usda"))
            .unwrap();
        String::from_utf8(bytes.bytes().unwrap().into()).unwrap()
    };
    assert_eq!(physics(&robot).matches("def Material ").count(), 1);
    assert!(
        physics(&robot).contains("def Material \"friction_1_0_5\""),
        "{}",
        physics(&robot)
    );
    let read = again(&robot, Bodies::Nested).0;
    assert!(
        physics(&read).contains("def Material \"friction_1_0_5\""),
        "{}",
        physics(&read)
    );
}

#[test]
fn mimics_have_three_spellings() {
    let body = |name: &str| {
        format!(
            "def Xform \"{name}\" {BODY} {{ float physics:mass = 1\n float3 physics:diagonalInertia = (1, 1, 1) }}"
        )
    };
    let joint = |child: &str, schema: &str, more: &str| {
        let schemas = if schema.is_empty() {
            String::new()
        } else {
            format!("(prepend apiSchemas = [\"{schema}\"])")
        };
        format!(
            "def PhysicsRevoluteJoint \"to_{child}\" {schemas} {{ rel physics:body0 = </r/a>\n rel physics:body1 = </r/{child}>\n{more} }}\n"
        )
    };
    let leader = "rel ext_physics:mimic:joint = </r/to_b>";
    let layer = format!(
        "{METRES}def Xform \"r\" {{\n{}\n{}{}{}{}{} }}",
        ["a", "b", "c", "d", "e", "f"].map(body).join("\n"),
        joint("b", "", ""),
        joint(
            "c",
            "ExtendedPhysicsMimicAPI",
            &format!(
                "{leader}\n float ext_physics:mimic:multiplier = 2\n float ext_physics:mimic:offset = 90"
            )
        ),
        joint(
            "d",
            "NewtonMimicAPI",
            "rel newton:mimicJoint = </r/to_b>\n float newton:mimicCoef0 = 90\n float newton:mimicCoef1 = 2"
        ),
        joint(
            "e",
            "PhysxMimicJointAPI:rotX",
            "rel physxMimicJoint:rotX:referenceJoint = </r/to_b>\n float physxMimicJoint:rotX:gearing = -2\n float physxMimicJoint:rotX:offset = -90"
        ),
        joint("f", "NewtonMimicAPI", "rel newton:mimicJoint = </r/to_f>"),
    );
    let (robot, codes) = told(&layer);
    assert_eq!(codes, ["usd-read-mimic-left-out"]);
    let found: Vec<_> = robot
        .joints()
        .values()
        .map(|joint| {
            joint
                .mimic()
                .map(|m| (m.joint.index(), m.multiplier, m.offset))
        })
        .collect();
    let follows = Some((0, 2.0, std::f64::consts::FRAC_PI_2));
    assert_eq!(found, [None, follows, follows, follows, None]);
}

#[test]
fn a_missing_mass_is_computed_from_colliders() {
    let body = |name: &str, mass: &str, cube: &str| {
        format!(
            "def Xform \"{name}\" {BODY} {{ {mass}\n def Cube \"c\" (prepend apiSchemas = [\"PhysicsCollisionAPI\", \"PhysicsMassAPI\"]) {{ double size = 0.1\n{cube} }} }}\n"
        )
    };
    let layer = format!(
        "{METRES}def Xform \"r\" {{ {}{}{}{} def Xform \"none\" {BODY} {{}} }}",
        body("density", "float physics:density = 500", ""),
        body("own", "", "float physics:mass = 3"),
        body("nothing", "", ""),
        body("mass", "float physics:mass = 6", ""),
    );
    let (robot, codes) = told(&layer);
    assert_eq!(codes, ["usd-read-mass-assumed", "usd-read-mass-missing"]);
    let masses = ["density", "own", "nothing", "mass"].map(|name| {
        let link = robot
            .links()
            .values()
            .find(|link| link.name() == name)
            .unwrap();
        let inertial = link.inertial.as_ref().unwrap();
        // Cube: m a² / 6.
        assert!(
            (inertial.inertia - Matrix3::identity() * (inertial.mass * 0.01 / 6.0)).norm() < 1e-9,
            "{name}"
        );
        (inertial.mass * 1e6).round() / 1e6
    });
    assert_eq!(masses, [0.5, 3.0, 1.0, 6.0]);
}

#[test]
fn cones_ellipsoids_and_copies_are_shapes() {
    let layer = format!(
        "{METRES}def Xform \"r\" {{ def Xform \"a\" {BODY} {{ float physics:mass = 1\n float3 physics:diagonalInertia = (1, 1, 1)\n\
         def Cone \"cone\" {{ double height = 2\n double radius = 1 }}\n\
         def Sphere \"egg\" {{ float3 xformOp:scale = (1, 1, 2)\n uniform token[] xformOpOrder = [\"xformOp:scale\"] }}\n\
         def PointInstancer \"many\" {{ rel prototypes = </r/a/many/ball>\n int[] protoIndices = [0, 0]\n\
         point3f[] positions = [(1, 0, 0), (2, 0, 0)]\n float3[] scales = [(1, 1, 1), (2, 2, 2)]\n\
         def Sphere \"ball\" {{ double radius = 0.5 }} }}\n\
         def Sphere \"hidden\" {{ token visibility = \"invisible\" }}\n def SphereLight \"light\" {{}} }} }}"
    );
    let (robot, codes) = told(&layer);
    assert_eq!(codes, ["usd-read-shape-as-mesh", "usd-read-shape-as-mesh"]);
    assert_eq!(robot.lights().len(), 1);
    let visuals = &robot.links().as_slice()[0].visuals;
    assert_eq!(visuals.len(), 4);
    robot
        .meshes()
        .values()
        .for_each(|mesh| urdf_usd_robot::invariants::check(&mesh.mesh.load().unwrap()));
    assert!(
        robot
            .meshes()
            .values()
            .all(|mesh| mesh.mesh.arrays().unwrap().is_watertight())
    );
    let bounds = |index: usize| robot.meshes().as_slice()[index].mesh.bounds().unwrap();
    assert_eq!(
        (bounds(0).0[2], bounds(0).1[2], bounds(1).1[2]),
        (-1.0, 1.0, 2.0)
    );
    let radii: Vec<_> = visuals[2..]
        .iter()
        .map(|shape| (shape.origin.translation.x, shape.geometry.clone()))
        .collect();
    assert_eq!(
        radii,
        [
            (1.0, Geometry::Sphere { radius: 0.5 }),
            (2.0, Geometry::Sphere { radius: 1.0 })
        ]
    );
}

#[test]
fn lights_shine_as_usd_says_they_do() {
    let light = |kind: &str, name: &str, schemas: &str, inside: &str| {
        format!("def {kind} \"{name}\" (prepend apiSchemas = [{schemas}]) {{ {inside} }}\n")
    };
    let lights = [
        light(
            "SphereLight",
            "ball",
            "",
            "float inputs:intensity = 100\n float inputs:exposure = 2\n float inputs:radius = 5",
        ),
        light(
            "SphereLight",
            "normal",
            "",
            "float inputs:intensity = 80000\n bool inputs:normalize = 1\n color3f inputs:color = (2, 1, 0.5)",
        ),
        light(
            "SphereLight",
            "spot",
            "\"ShapingAPI\"",
            "float inputs:intensity = 4000\n bool inputs:normalize = 1\n bool treatAsPoint = 1\n float inputs:shaping:cone:angle = 40\n\
             float inputs:shaping:cone:softness = 0.25\n double3 xformOp:translate = (0, 0, 10)\n\
             uniform token[] xformOpOrder = [\"xformOp:translate\"]",
        ),
        light(
            "DistantLight",
            "sun",
            "",
            "float inputs:angle = 180\n float inputs:intensity = 10",
        ),
        light(
            "DistantLight",
            "lux",
            "",
            "float inputs:intensity = 800\n bool inputs:normalize = 1",
        ),
        light(
            "SphereLight",
            "wide",
            "\"ShapingAPI\"",
            "float inputs:shaping:cone:angle = 120\n float inputs:shaping:focus = 3",
        ),
        light("SphereLight", "dark", "", "float inputs:intensity = 0"),
        light("SphereLight", "off", "", "token visibility = \"invisible\""),
        light("RectLight", "rect", "", ""),
        light("DomeLight", "sky", "", ""),
    ];
    let layer = format!(
        "(\n defaultPrim = \"r\"\n metersPerUnit = 0.01\n upAxis = \"Z\"\n)\n\
         def Xform \"r\" {{ def Xform \"a\" {BODY} {{ float physics:mass = 1\n float3 physics:diagonalInertia = (1, 1, 1)\n\
         def Xform \"lamp\" {{ float3 xformOp:scale = (2, 2, 2)\n uniform token[] xformOpOrder = [\"xformOp:scale\"]\n\
         {} }}\n{} }} }}",
        lights[0],
        lights[1..].concat()
    );
    let (robot, codes) = told(&layer);
    let (approximated, area) = ("usd-read-light-approximated", "usd-read-area-light");
    assert_eq!(
        codes,
        [
            approximated,
            approximated,
            "usd-read-dark-light",
            area,
            "usd-read-dome-light"
        ]
    );
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * b.max(1.0);
    let [ball, normal, spot, sun, lux, wide] = robot.lights() else {
        panic!("{:?}", robot.lights())
    };
    // 400 nits from a disk of radius 10 cm.
    assert!(
        near(ball.intensity, 400.0 * std::f64::consts::PI * 0.01),
        "{}",
        ball.intensity
    );
    assert!(
        matches!(ball.kind, LightKind::Point { radius } if near(radius, 0.1)),
        "{:?}",
        ball.kind
    );
    // 80000 nits, normalized: a quarter of that in cd, but per cm²; the colour's maximum is
    // multiplied into the intensity.
    assert!(
        near(normal.intensity, 2.0 * 80_000.0 / 4.0 * 1e-4),
        "{}",
        normal.intensity
    );
    assert_eq!(normal.color, [1.0, 0.5, 0.25]);
    let LightKind::Spot {
        radius,
        inner,
        outer,
    } = spot.kind
    else {
        panic!("{:?}", spot.kind)
    };
    assert!(
        radius == 0.0 && near(inner.to_degrees(), 30.0) && near(outer.to_degrees(), 40.0),
        "{:?}",
        spot.kind
    );
    assert_eq!(
        (spot.origin.translation.z, spot.link, spot.name.as_str()),
        (0.1, robot.links().handle(0).unwrap(), "spot")
    );
    assert!(
        near(sun.intensity, 10.0 * std::f64::consts::PI),
        "{}",
        sun.intensity
    );
    assert!(
        near(lux.intensity, 800.0)
            && matches!(lux.kind, LightKind::Directional { angle } if near(angle.to_degrees(), 0.53))
    );
    assert!(
        matches!(wide.kind, LightKind::Spot { inner, outer, .. } if inner == outer && near(outer.to_degrees(), 90.0))
    );
}

#[test]
fn a_light_outside_all_links_is_on_the_first() {
    let body = format!(
        "def Xform \"a\" {BODY} {{ float physics:mass = 1\n float3 physics:diagonalInertia = (1, 1, 1)\n\
        double3 xformOp:translate = (1, 0, 0)\n uniform token[] xformOpOrder = [\"xformOp:translate\"] }}"
    );
    let (robot, _) = told(&format!(
        "{METRES}def Xform \"r\" {{ {body}\n def SphereLight \"lamp\" {{}} }}"
    ));
    assert_eq!(
        (
            robot.links().len(),
            Some(robot.lights()[0].link),
            robot.lights()[0].origin.translation.x
        ),
        (1, robot.links().handle(0), -1.0)
    );
}

#[test]
fn joints_that_lead_nowhere_are_told_with_their_property() {
    let layer = format!(
        "{METRES}def Xform \"r\" {{ def Xform \"a\" {BODY} {{ float physics:mass = 1\n float3 physics:diagonalInertia = (1, 1, 1) }}\n\
         def PhysicsFixedJoint \"gone\" {{ rel physics:body0 = </r/x>\n rel physics:body1 = </r/a> }}\n\
         def PhysicsFixedJoint \"same\" {{ rel physics:body0 = </r/a>\n rel physics:body1 = </r/a> }} }}"
    );
    let (robot, found) = robot_of(&layer).unwrap();
    assert_eq!((robot.links().len(), robot.joints().len()), (1, 0));
    let elements: Vec<_> = found
        .iter()
        .map(|d| (d.code, d.place.element.as_str(), d.place.file.is_some()))
        .collect();
    let code = "usd-read-joint-left-out";
    assert_eq!(
        elements,
        [
            (code, "/r/gone.physics:body0", true),
            (code, "/r/same.physics:body1", true)
        ]
    );
}

/// Writes a robot and reads it again.
fn again(robot: &Robot, bodies: Bodies) -> (Robot, Vec<Diagnostic>) {
    let options = Options {
        entry: "r".into(),
        bodies,
        ..Options::default()
    };
    let asset = write(robot, &options, &Store::none()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in &asset.files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes.bytes().unwrap()).unwrap();
    }
    let read = read(&folder.path().join("r.usda"), &Default::default()).unwrap();
    (read.robot, read.diagnostics)
}

#[test]
fn what_has_no_material_comes_back_without_one() {
    let visual = |material: &str| {
        format!("<visual><geometry><sphere radius='1'/></geometry>{material}</visual>")
    };
    let painted = visual("<material name='m'><color rgba='0.5 0.5 0.5 1'/></material>");
    let text = format!(
        "<robot name='r'><link name='a'>{}{painted}</link></robot>",
        visual("")
    );
    let robot = urdf_usd_urdf::read(&text, None).robot.unwrap();
    let (read, _) = again(&robot, Bodies::Nested);
    let names: Vec<_> = read.links().as_slice()[0]
        .visuals
        .iter()
        .map(|v| v.material.map(|id| read.materials()[id].name.clone()))
        .collect();
    assert_eq!(names, [None, Some("m".to_owned())]);
    assert_eq!(read.materials().len(), 1);
}

#[test]
fn what_usd_has_no_word_for_comes_back() {
    let inertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>";
    let text = format!(
        "<robot name='r' xmlns:x='http://x' version='1.0'><link name='a' x:id='7'>{inertial}\
         <visual x:y='z'><geometry><box size='1 1 1'/></geometry><note>n</note></visual>\
         <mine a-b='c' visibility='d'>text<more/><more e='f'/></mine></link><link name='b'>{inertial}</link>\
         <joint name='j' type='continuous' g='h'><parent link='a'/><child link='b'/><axis xyz='0 1 0'/><own/></joint>\
         <gazebo reference='a'><kp>1</kp></gazebo><gazebo/></robot>"
    );
    let robot = urdf_usd_urdf::read(&text, None).robot.unwrap();
    let (read, _) = again(&robot, Bodies::Nested);
    fn element(of: &Element) -> Element {
        let mut attributes = of.attributes.clone();
        attributes.sort();
        Element {
            attributes,
            children: of.children.iter().map(element).collect(),
            place: Default::default(),
            ..of.clone()
        }
    }
    let plain = |custom: &Custom| {
        let mut attributes = custom.attributes.clone();
        attributes.sort();
        Custom {
            attributes,
            elements: custom.elements.iter().map(element).collect(),
        }
    };
    let all = |robot: &Robot| {
        let (links, joints) = (robot.links().as_slice(), robot.joints().as_slice());
        let owners = [
            &robot.custom,
            &links[0].custom,
            &links[0].visuals[0].custom,
            &links[1].custom,
            &joints[0].custom,
        ];
        owners.map(plain)
    };
    assert_eq!(all(&read), all(&robot));
    assert!(all(&read).iter().filter(|custom| custom.is_empty()).count() == 1);
}

#[test]
fn numbers_of_single_precision_come_back_as_they_were_written() {
    // This close to half a turn, single precision resolves the angle less well.
    for (roll, within) in [("2.9", 1e-15), ("3.14159", 1e-10)] {
        numbers_come_back(roll, within);
    }
}

fn numbers_come_back(roll: &str, within: f64) {
    let text = format!(
        "<robot name='r'><link name='a'><inertial><origin xyz='0.1 -0.2 0.3' rpy='0 0.5708 0.1'/><mass value='0.3'/>\
         <inertia ixx='0.11' iyy='0.12' izz='0.13' ixy='0' ixz='0' iyz='0'/></inertial>\
         <visual><origin xyz='0.7 0.01 1e-3' rpy='0.3 0.2 0.1'/><geometry><box size='0.1 0.2 0.3'/></geometry></visual></link>\
         <link name='b'><inertial><mass value='1.1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>\
         <joint name='j' type='revolute'><origin xyz='0.123456789012 0 -0.4' rpy='{roll} 0 -1.5707963267948966'/><parent link='a'/>\
         <child link='b'/><axis xyz='0 -0.6 0.8'/><limit lower='-0.3' upper='2.1' effort='10.1' velocity='3.3'/></joint></robot>"
    );
    let robot = urdf_usd_urdf::read(&text, None).robot.unwrap();
    let (read, _) = again(&robot, Bodies::Nested);
    let numbers = |robot: &Robot| {
        let (a, j) = (&robot.links().as_slice()[0], &robot.joints().as_slice()[0]);
        let inertial = a.inertial.as_ref().unwrap();
        let poses = [inertial.origin, a.visuals[0].origin, j.origin];
        let lengths = poses.map(|pose| pose.translation.vector);
        (
            lengths,
            inertial.mass,
            inertial.inertia,
            a.visuals[0].geometry.clone(),
            j.axis,
            j.limit,
            poses.map(|pose| pose.rotation),
        )
    };
    let (of_a, of_b) = (numbers(&robot), numbers(&read));
    assert_eq!(
        (of_b.0, of_b.1, of_b.2, of_b.3, of_b.5),
        (of_a.0, of_a.1, of_a.2, of_a.3, of_a.5)
    );
    assert!(
        (of_b.4.into_inner() - of_a.4.into_inner()).amax() < 1e-15,
        "{:?}",
        of_b.4
    );
    for (a, b) in of_a.6.iter().zip(&of_b.6) {
        assert!(
            (a.to_homogeneous() - b.to_homogeneous()).amax() < within,
            "{a} {b}"
        );
    }
}

/// Returns the pose of every link by name, with joint positions derived from `seed` and the
/// alphabetical order of the joints.
fn places(robot: &Robot, seed: f64) -> BTreeMap<String, Pose> {
    let model = Model::of(robot);
    let mut names: Vec<&str> = robot.joints().values().map(|joint| joint.name()).collect();
    names.sort_unstable();
    let position = |joint: &Joint| {
        let number = names.iter().position(|name| *name == joint.name()).unwrap() as f64;
        (seed * (number + 1.0)).sin()
    };
    let positions: Vec<Vec<f64>> = robot
        .joints()
        .values()
        .map(|joint| vec![position(joint); position_count(joint.kind()).min(1)])
        .collect();
    let mut flat = model.flat(&positions);
    model.follow(&mut flat);
    robot
        .links()
        .values()
        .map(|link| link.name().to_owned())
        .zip(model.poses(&flat))
        .collect()
}

fn near(a: &Pose, b: &Pose) -> bool {
    (a.translation.vector - b.translation.vector).norm() < 1e-6
        && a.rotation.angle_to(&b.rotation) < 2e-6
}

fn is_close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 2e-6 * a.abs().max(b.abs()).max(1e-3)
}

/// Returns the tensor about the centre of mass along the link's axes.
fn tensor(inertial: &Inertial) -> Matrix3<f64> {
    let turn = inertial.origin.rotation.to_rotation_matrix().into_inner();
    turn * inertial.inertia * turn.transpose()
}

fn same_shapes(a: (&Robot, &[Shape]), b: (&Robot, &[Shape]), what: &str) {
    let is_read = |shape: &&Shape| match shape.geometry {
        Geometry::Mesh { .. } => true,
        Geometry::Missing { .. } => false,
        Geometry::Box { size } => size.min() > 0.0,
        Geometry::Sphere { radius } => radius > 0.0,
        Geometry::Cylinder { radius, length } | Geometry::Capsule { radius, length } => {
            radius > 0.0 && length > 0.0
        }
    };
    let of_a: Vec<&Shape> = a.1.iter().filter(|shape| is_read(shape)).collect();
    assert_eq!(of_a.len(), b.1.len(), "{what}");
    for (of_a, of_b) in of_a.into_iter().zip(b.1) {
        assert!(
            near(&of_a.origin, &of_b.origin),
            "{what}: {:?} {:?}",
            of_a.origin,
            of_b.origin
        );
        match (&of_a.geometry, &of_b.geometry) {
            (
                Geometry::Mesh {
                    mesh: in_a,
                    scale: of_a,
                },
                Geometry::Mesh {
                    mesh: in_b,
                    scale: of_b,
                },
            ) => {
                let points =
                    |robot: &Robot, mesh: MeshId, scale: &Vector3<f64>| -> Vec<Vector3<f64>> {
                        let mesh = robot.meshes()[mesh].mesh.arrays().unwrap();
                        let corners = mesh
                            .triangles
                            .iter()
                            .flatten()
                            .map(|index| mesh.points[*index as usize]);
                        let mut points: Vec<_> = corners
                            .map(|p| Vector3::from(p.map(f64::from)).component_mul(scale))
                            .collect();
                        points.sort_by(|a, b| {
                            a.iter()
                                .zip(b)
                                .map(|(a, b)| a.total_cmp(b))
                                .fold(Ordering::Equal, Ordering::then)
                        });
                        points.dedup();
                        points
                    };
                let (a, b) = (points(a.0, *in_a, of_a), points(b.0, *in_b, of_b));
                let nearest = |point: &Vector3<f64>| {
                    b.iter()
                        .map(|b| (b - point).norm())
                        .fold(f64::INFINITY, f64::min)
                };
                assert!(
                    a.iter()
                        .all(|point| nearest(point) < 1e-6 * point.norm().max(1.0)),
                    "{what}: {a:?} {b:?}"
                );
            }
            (Geometry::Mesh { .. }, _) | (_, Geometry::Mesh { .. }) => panic!("{what}"),
            (of_a, of_b) => {
                let numbers = |geometry: &Geometry| match *geometry {
                    Geometry::Box { size } => (0, [size.x, size.y, size.z]),
                    Geometry::Sphere { radius } => (1, [radius, 0.0, 0.0]),
                    Geometry::Cylinder { radius, length } => (2, [radius, length, 0.0]),
                    Geometry::Capsule { radius, length } => (3, [radius, length, 0.0]),
                    Geometry::Mesh { .. } | Geometry::Missing { .. } => unreachable!(),
                };
                let ((kind_a, of_a), (kind_b, of_b)) = (numbers(of_a), numbers(of_b));
                assert_eq!(kind_a, kind_b, "{what}");
                assert!(
                    of_a.iter().zip(of_b).all(|(a, b)| is_close(*a, b)),
                    "{what}: {of_a:?} {of_b:?}"
                );
            }
        }
    }
}

/// Asserts that the lights that were read equal those written.
fn same_lights(a: &Robot, b: &Robot) {
    assert_eq!(
        a.lights().len(),
        b.lights().len(),
        "{}: {:?}",
        a.name(),
        b.lights()
    );
    for light in a.lights() {
        let of_b = b
            .lights()
            .iter()
            .find(|other| other.name == light.name)
            .unwrap();
        let what = format!("{light:?} {of_b:?}");
        assert_eq!(
            a.links()[light.link].name(),
            b.links()[of_b.link].name(),
            "{what}"
        );
        assert!(
            near(&light.origin, &of_b.origin) && is_close(light.intensity, of_b.intensity),
            "{what}"
        );
        assert!(
            light
                .color
                .iter()
                .zip(of_b.color)
                .all(|(a, b)| (a - b).abs() < 1e-6),
            "{what}"
        );
        assert_eq!(light.range.is_some(), of_b.range.is_some(), "{what}");
        assert!(
            light
                .range
                .zip(of_b.range)
                .is_none_or(|(a, b)| is_close(a, b)),
            "{what}"
        );
        let numbers = |kind: LightKind| match kind {
            LightKind::Directional { angle } => (0, [angle, 0.0, 0.0]),
            LightKind::Point { radius } => (1, [radius, 0.0, 0.0]),
            LightKind::Spot {
                radius,
                inner,
                outer,
            } => (2, [radius, inner, outer]),
        };
        let ((kind_a, of_a), (kind_b, of_b)) = (numbers(light.kind), numbers(of_b.kind));
        assert!(
            kind_a == kind_b
                && of_a
                    .iter()
                    .zip(of_b)
                    .all(|(a, b)| (a - b).abs() < 2e-6 * a.max(1.0)),
            "{what}"
        );
    }
}

/// Asserts that the robot `b`, which was read, equals `a`, which was written.
fn same(a: &Robot, b: &Robot, is_nested: bool) {
    let name = a.name();
    assert_eq!(name, b.name());
    let links = |robot: &Robot| {
        let mut names: Vec<String> = robot
            .links()
            .values()
            .map(|link| link.name().to_owned())
            .collect();
        names.sort_unstable();
        names
    };
    assert_eq!(links(a), links(b), "{name}");
    same_lights(a, b);
    for link in a.links().values() {
        let of_b = &b.links()[b.link_named(link.name()).unwrap()];
        let what = format!("{name}, link {}", link.name());
        if let Some(mass) = link
            .inertial
            .as_ref()
            .filter(|i| Mass::of(i).is_some_and(|mass| !mass.repaired))
        {
            let Some(of_b) = &of_b.inertial else {
                panic!("{what} has lost its mass")
            };
            assert!(
                is_close(mass.mass, of_b.mass),
                "{what}: {} {}",
                mass.mass,
                of_b.mass
            );
            assert!(
                (mass.origin.translation.vector - of_b.origin.translation.vector).norm() < 1e-6,
                "{what}"
            );
            let (of_a, of_b) = (tensor(mass), tensor(of_b));
            assert!(
                (of_a - of_b).norm() <= 1e-5 * of_a.norm(),
                "{what}: {of_a} {of_b}"
            );
        }
        same_shapes((a, &link.visuals), (b, &of_b.visuals), &what);
        same_shapes((a, &link.collisions), (b, &of_b.collisions), &what);
        let contact = |contact: Option<Contact>| {
            contact.map(|of| {
                (
                    of.static_friction,
                    of.dynamic_friction,
                    of.restitution.unwrap_or(0.0),
                )
            })
        };
        assert_eq!(
            contact(link.contact).filter(|_| !of_b.collisions.is_empty()),
            contact(of_b.contact),
            "{what}"
        );
    }
    for joint in a.joints().values() {
        let what = format!("{name}, joint {}", joint.name());
        let Some(of_b) = b.joint_named(joint.name()).map(|id| &b.joints()[id]) else {
            // The asset does not say what a floating link floats on.
            assert_eq!(joint.kind(), JointKind::Floating, "{what} is gone");
            continue;
        };
        assert_eq!(
            (joint.kind(), joint.closes_loop()),
            (of_b.kind(), of_b.closes_loop()),
            "{what}"
        );
        let link = |robot: &Robot, joint: &Joint| {
            (
                robot.links()[joint.parent()].name().to_owned(),
                robot.links()[joint.child()].name().to_owned(),
            )
        };
        if is_nested && !joint.closes_loop() && joint.kind() != JointKind::Floating {
            assert_eq!(link(a, joint), link(b, of_b), "{what}");
            assert!(
                near(&joint.origin, &of_b.origin),
                "{what}: {:?} {:?}",
                joint.origin,
                of_b.origin
            );
            if !matches!(joint.kind(), JointKind::Fixed) {
                assert!(
                    (joint.axis.into_inner() - of_b.axis.into_inner()).norm() < 2e-6,
                    "{what}"
                );
            }
        }
        let bounds = |joint: &Joint| joint.bounds().sides();
        let ((low_a, high_a), (low_b, high_b)) = (bounds(joint), bounds(of_b));
        let limits = |joint: &Joint| {
            joint
                .limit
                .map_or((None, None), |limit| (limit.effort, limit.velocity))
        };
        let dynamics = |joint: &Joint| {
            joint
                .dynamics
                .map_or((None, None), |of| (of.damping, of.friction))
        };
        let pairs = [
            (low_a, low_b),
            (high_a, high_b),
            (limits(joint).0, limits(of_b).0),
            (limits(joint).1, limits(of_b).1),
            (dynamics(joint).0, dynamics(of_b).0),
            (dynamics(joint).1, dynamics(of_b).1),
        ];
        for (a, b) in pairs {
            assert!(
                a.is_some() == b.is_some() && a.zip(b).is_none_or(|(a, b)| is_close(a, b)),
                "{what}: {a:?} {b:?}"
            );
        }
        assert_eq!(
            joint.drive().map(|drive| drive.command),
            of_b.drive().map(|drive| drive.command),
            "{what}"
        );
        let leader = |robot: &Robot, joint: &Joint| {
            joint
                .mimic()
                .map(|mimic| robot.joints()[mimic.joint].name().to_owned())
        };
        assert_eq!(leader(a, joint), leader(b, of_b), "{what}");
        if let Some((a, b)) = joint.mimic().zip(of_b.mimic()) {
            assert!(
                is_close(a.multiplier, b.multiplier) && is_close(a.offset, b.offset),
                "{what}: {a:?} {b:?}"
            );
        }
    }
    // The asset does not say what a floating link floats on.
    let floats = a
        .joints()
        .values()
        .any(|joint| joint.kind() == JointKind::Floating);
    for seed in [0.0, 0.7, 2.3].into_iter().take(if floats { 1 } else { 3 }) {
        let (places_a, places_b) = (places(a, seed), places(b, seed));
        for (link, pose) in &places_a {
            let of_b = &places_b[link];
            let apart = (pose.to_homogeneous() - of_b.to_homogeneous()).amax();
            assert!(apart < 1e-5, "{name}, link {link}: {pose:?} {of_b:?}");
        }
    }
}

/// Returns a tetrahedron.
fn solid_mesh() -> Mesh {
    let polygons = Polygons {
        points: vec![
            [0.0, 0.0, 0.0],
            [0.3, 0.0, 0.0],
            [0.0, 0.2, 0.0],
            [0.0, 0.0, 0.1],
        ],
        counts: vec![3; 4],
        corners: vec![0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3],
        ..Polygons::default()
    };
    from_polygons(&polygons, Path::new("a.obj")).unwrap().0
}

/// A sequence of numbers from 0 to 1.
struct Numbers(std::vec::IntoIter<f64>);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0.next().unwrap_or(0.5)
    }

    fn of(&mut self, choices: usize) -> usize {
        ((self.next() * choices as f64) as usize).min(choices - 1)
    }

    fn vector(&mut self) -> Vector3<f64> {
        Vector3::from_fn(|_, _| self.next() * 2.0 - 1.0)
    }

    fn triple(&mut self) -> String {
        let v = self.vector();
        format!("{} {} {}", v.x, v.y, v.z)
    }

    fn light(&mut self, name: &str, robot: &Robot) -> Light {
        let (radius, outer) = (
            if self.of(2) == 0 {
                0.0
            } else {
                self.next() + 0.01
            },
            0.01 + 1.5 * self.next(),
        );
        let kind = match self.of(3) {
            0 => LightKind::Directional { angle: self.next() },
            1 => LightKind::Point { radius },
            _ => LightKind::Spot {
                radius,
                inner: outer * self.next(),
                outer,
            },
        };
        let is_parallel = matches!(kind, LightKind::Directional { .. });
        Light {
            name: name.to_owned(),
            kind,
            link: robot.links().handle(self.of(robot.links().len())).unwrap(),
            origin: Pose::from_parts(
                self.vector().into(),
                UnitQuaternion::from_scaled_axis(self.vector()),
            ),
            color: self.vector().map(|part| part.abs() as f32).into(),
            intensity: 0.1 + 1000.0 * self.next(),
            range: (!is_parallel && self.of(2) == 0).then(|| 1.0 + self.next()),
            place: robot.place.clone(),
        }
    }

    fn origin(&mut self) -> String {
        format!("<origin xyz='{}' rpy='{}'/>", self.triple(), self.triple())
    }
}

/// Generates from numbers a URDF with all features that are read.
fn urdf(numbers: &mut Numbers) -> String {
    let count = 2 + numbers.of(7);
    let mut text = String::from("<robot name='r'>");
    let mut sliding: Vec<(String, bool)> = Vec::new();
    for link in 0..count {
        let kind = ["fixed", "revolute", "continuous", "prismatic", "planar"][numbers.of(5)];
        let is_frame = link > 1 && kind == "fixed" && numbers.next() < 0.5;
        let name = if link == 0 && numbers.next() < 0.3 {
            "world".to_owned()
        } else {
            format!("l{link}")
        };
        text += &format!("<link name='{name}'>");
        if !is_frame && name != "world" {
            let (a, b, c) = (
                0.1 + numbers.next(),
                0.1 + numbers.next(),
                0.1 + numbers.next(),
            );
            // Sums of two, so that no moment exceeds the sum of the other two.
            text += &format!(
                "<inertial>{}<mass value='{}'/><inertia ixx='{}' iyy='{}' izz='{}' ixy='0' ixz='0' iyz='0'/></inertial>",
                numbers.origin(),
                0.1 + 5.0 * numbers.next(),
                a + b,
                a + c,
                b + c
            );
            for element in ["visual", "visual", "collision"] {
                let size = [
                    0.1 + numbers.next(),
                    0.1 + numbers.next(),
                    0.1 + numbers.next(),
                ];
                let shape = match numbers.of(5) {
                    0 => format!("<box size='{} {} {}'/>", size[0], size[1], size[2]),
                    1 => format!("<sphere radius='{}'/>", size[0]),
                    2 => format!("<cylinder radius='{}' length='{}'/>", size[0], size[1]),
                    3 => format!("<capsule radius='{}' length='{}'/>", size[0], size[1]),
                    _ => format!(
                        "<mesh filename='a.obj' scale='{} {} -{}'/>",
                        size[0], size[1], size[2]
                    ),
                };
                text += &format!(
                    "<{element}>{}<geometry>{shape}</geometry></{element}>",
                    numbers.origin()
                );
            }
        }
        text += "</link>";
        if link == 0 {
            text = text.replace("l0", &name);
            continue;
        }
        let parent = numbers.of(link);
        let parent = if parent == 0 && text.contains("'world'") {
            "world".to_owned()
        } else {
            format!("l{parent}")
        };
        text += &format!(
            "<joint name='j{link}' type='{kind}'><parent link='{parent}'/><child link='l{link}'/>{}<axis xyz='{}'/>",
            numbers.origin(),
            numbers.triple()
        );
        if kind != "fixed" {
            let lower = -numbers.next();
            text += &format!(
                "<limit lower='{lower}' upper='{}' effort='{}' velocity='{}'/><dynamics damping='{}' friction='0.25'/>",
                numbers.next(),
                1.0 + numbers.next(),
                1.0 + numbers.next(),
                numbers.next()
            );
        }
        if matches!(kind, "revolute" | "prismatic" | "continuous") {
            if let Some((leader, _)) = sliding.last().filter(|_| numbers.next() < 0.4) {
                text += &format!(
                    "<mimic joint='{leader}' multiplier='{}' offset='{}'/>",
                    numbers.next(),
                    numbers.next()
                );
            }
            sliding.push((format!("j{link}"), kind == "prismatic"));
        }
        text += "</joint>";
    }
    text + "</robot>"
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn random_robots_come_back(numbers in prop::collection::vec(0.0..1.0f64, 900)) {
        let mut numbers = Numbers(numbers.into_iter());
        let text = urdf(&mut numbers);
        let outcome = urdf_usd_urdf::read(&text, None);
        let mut robot = outcome.robot.unwrap();
        for name in ["l0", "head lamp", "lamp"].into_iter().take(numbers.of(4)) {
            let mut lights = robot.lights().to_vec();
            lights.push(numbers.light(name, &robot));
            robot.set_lights(lights).unwrap();
        }
        for mesh in &outcome.references.meshes {
            mesh.settle(&mut robot, Arc::new(solid_mesh().into())).unwrap();
        }
        for bodies in Bodies::ALL {
            let (read, found) = again(&robot, bodies);
            let bad: Vec<_> = found.iter().filter(|d| d.severity > Severity::Info).map(ToString::to_string).collect();
            prop_assert_eq!(bad, Vec::<String>::new());
            same(&robot, &read, bodies == Bodies::Nested);
        }
    }

    /// A joint's frame in a body may differ from the body's origin: the bodies move as the frames
    /// say.
    #[test]
    fn joints_away_from_origins_move_as_they_say(
        n in prop::array::uniform12(-1.0..1.0f64), q in -1.5..1.5f64, turns in any::<bool>(), axis in 0..3usize, swapped in any::<bool>()
    ) {
        let frame = |k: usize| {
            let turn = UnitQuaternion::from_scaled_axis(Vector3::new(n[k + 3], n[k + 4], n[k + 5]));
            Pose::from_parts(Vector3::new(n[k], n[k + 1], n[k + 2]).into(), turn)
        };
        let (of_a, of_b) = (frame(0), frame(6));
        let quaternion = |pose: &Pose| {
            let q = pose.rotation.quaternion();
            format!("({}, {}, {}, {})", q.w, q.i, q.j, q.k)
        };
        let vector = |pose: &Pose| {
            let t = pose.translation.vector;
            format!("({}, {}, {})", t.x, t.y, t.z)
        };
        // `a` has the articulation root, whichever end of the joint it is.
        let (first, second) = if swapped { ("b", "a") } else { ("a", "b") };
        let (local0, local1) = if swapped { (of_b, of_a) } else { (of_a, of_b) };
        let text = format!(
            "(\n defaultPrim = \"r\"\n metersPerUnit = 0.5\n upAxis = \"Z\"\n)\ndef Xform \"r\" {{\n\
             def Xform \"a\" (prepend apiSchemas = [\"PhysicsRigidBodyAPI\", \"PhysicsArticulationRootAPI\"]) {{}}\n\
             def Xform \"b\" (prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]) {{}}\n\
             def Physics{}Joint \"j\" {{\n rel physics:body0 = </r/{first}>\n rel physics:body1 = </r/{second}>\n\
             uniform token physics:axis = \"{}\"\n float physics:lowerLimit = -90\n float physics:upperLimit = 90\n\
             point3f physics:localPos0 = {}\n quatf physics:localRot0 = {}\n\
             point3f physics:localPos1 = {}\n quatf physics:localRot1 = {}\n}}\n}}",
            if turns { "Revolute" } else { "Prismatic" }, ["X", "Y", "Z"][axis],
            vector(&local0), quaternion(&local0), vector(&local1), quaternion(&local1)
        );
        let (robot, _) = robot_of(&text).unwrap();
        let model = Model::of(&robot);
        let mut positions = model.flat(&vec![Vec::new(); robot.joints().len()]);
        positions[0] = q;
        let poses = model.poses(&positions);
        let at = |name: &str| poses[robot.links().values().position(|link| link.name() == name).unwrap()];
        let unit = Unit::new_normalize(Vector3::from_fn(|k, _| f64::from(u8::from(k == axis))));
        let motion = if turns {
            Pose::from_parts(Vector3::zeros().into(), UnitQuaternion::from_axis_angle(&unit, q))
        } else {
            Pose::from_parts((unit.into_inner() * q).into(), UnitQuaternion::identity())
        };
        let metres = |pose: Pose| Pose::from_parts((pose.translation.vector * 0.5).into(), pose.rotation);
        // UsdPhysics: the joint's frame in body 0, moved, equals its frame in body 1.
        let expected = metres(local0) * motion * metres(local1).inverse();
        let found = at(first).inverse() * at(second);
        prop_assert!((expected.to_homogeneous() - found.to_homogeneous()).amax() < 1e-5, "{expected} {found}");
        let limit = robot.joints().as_slice()[0].bounds().sides().1.unwrap();
        let expected = if turns { std::f64::consts::FRAC_PI_2 } else { 45.0 };
        prop_assert!((limit - expected).abs() < 1e-6);
    }
}

/// Returns the URDFs of this repository and, if available, those of real robots.
fn urdfs() -> Vec<PathBuf> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let shared = std::env::var_os("URDF_USD_ROBOTS")
        .map_or_else(|| root.join("../shared/robots"), PathBuf::from);
    let mut folders = vec![root.join("examples"), root.join("test/robots"), shared];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "urdf") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 15);
    found
}

#[test]
fn robots_come_back() {
    for (number, path) in urdfs().into_iter().enumerate() {
        let text = std::fs::read_to_string(&path).unwrap();
        let outcome = urdf_usd_urdf::read(&text, Some(&path));
        let Some(mut robot) = outcome.robot else {
            continue;
        };
        for mesh in &outcome.references.meshes {
            mesh.settle(&mut robot, Arc::new(solid_mesh().into()))
                .unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        // One nesting for each robot: large robots are slow, and the random ones cover both.
        for bodies in [Bodies::ALL[number % 2]] {
            let asset = write(
                &robot,
                &Options {
                    entry: "r".into(),
                    bodies,
                    ..Options::default()
                },
                &Store::none(),
            )
            .unwrap();
            if asset.written.bodies == 0 {
                continue;
            }
            asset.files.iter().for_each(|(name, bytes)| {
                std::fs::write(folder.path().join(name), bytes.bytes().unwrap()).unwrap()
            });
            let read = read(&folder.path().join("r.usda"), &Default::default())
                .unwrap()
                .robot;
            same(&robot, &read, bodies == Bodies::Nested);
        }
    }
}

/// A PNG of two by one pixels, the right one translucent.
const PIXELS: &[u8] = b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00\x01\x08\x06\x00\x00\x00\xf4\x22\x7f\x8a\x00\x00\x00\x11\
    \x49\x44\x41\x54\x78\x9c\x63\x38\x91\x62\xf4\x9f\x4b\x44\xae\x01\x00\x10\x4c\x03\x1a\xf3\x02\xe6\x08\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";

/// Mass properties of a body without a collider.
const MASS: &str = "float physics:mass = 1\n float3 physics:diagonalInertia = (1, 1, 1)\n";

/// Returns a material with a UsdPreviewSurface shader of these lines.
fn material(name: &str, inputs: &str, more: &str) -> String {
    format!(
        "def Material \"{name}\" {{ token outputs:surface.connect = </r/{name}/s.outputs:surface>\n\
         def Shader \"s\" {{ uniform token info:id = \"UsdPreviewSurface\"\n token outputs:surface\n {inputs} }}\n{more} }}\n"
    )
}

/// Returns a triangle with a material and these lines.
fn triangle(name: &str, material: &str, lines: &str) -> String {
    let binding = if material.is_empty() {
        String::new()
    } else {
        format!("rel material:binding = </r/{material}>\n")
    };
    format!(
        "def Mesh \"{name}\" {{ int[] faceVertexCounts = [3]\n int[] faceVertexIndices = [0, 1, 2]\n\
         point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n uniform token subdivisionScheme = \"none\"\n\
         texCoord2f[] primvars:st = [(0, 0), (1, 0), (0, 1)] (interpolation = \"vertex\")\n{binding}{lines} }}\n"
    )
}

/// Returns the materials of the visuals of a one-link robot, and the diagnostics: first from the
/// stage, then from the asset that is written from that robot.
fn shown(materials: &str, meshes: &str) -> [(Vec<Option<Material>>, Vec<Diagnostic>); 2] {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("p.png"), PIXELS).unwrap();
    let layer = format!(
        "#usda 1.0\n{METRES}def Xform \"r\" {{ def Xform \"a\" {BODY} {{ {MASS}{meshes} }}\n{materials} }}"
    );
    std::fs::write(at("a.usda"), in_lines(&layer)).unwrap();
    let materials = |robot: &Robot| {
        let visuals = robot.links().values().flat_map(|link| &link.visuals);
        visuals
            .map(|shape| robot.material_of(shape, 0).cloned())
            .collect::<Vec<_>>()
    };
    let first = read(&at("a.usda"), &Default::default()).unwrap();
    let asset = write(
        &first.robot,
        &Options {
            entry: "again".into(),
            ..Options::default()
        },
        &Store::none(),
    )
    .unwrap();
    for (name, bytes) in &asset.files {
        std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        std::fs::write(at(name), bytes.bytes().unwrap()).unwrap();
    }
    let second = read(&at("again.usda"), &Default::default()).unwrap();
    [first, second].map(|read| (materials(&read.robot), read.diagnostics))
}

#[test]
fn images_lie_where_the_stage_says() {
    let image = |name: &str, st: &str, lines: &str| {
        format!(
            "def Shader \"{name}\" {{ uniform token info:id = \"UsdUVTexture\"\n asset inputs:file = @p.png@\n\
             float2 inputs:st.connect = </r/m/{st}.outputs:result>\n float3 outputs:rgb\n float outputs:r\n float outputs:g\n {lines} }}\n"
        )
    };
    let more = format!(
        "def Shader \"st\" {{ uniform token info:id = \"UsdPrimvarReader_float2\"\n string inputs:varname = \"st\"\n float2 outputs:result }}\n\
         def Shader \"turn\" {{ uniform token info:id = \"UsdTransform2d\"\n float2 inputs:in.connect = </r/m/st.outputs:result>\n\
         float inputs:rotation = 30\n float2 inputs:scale = (2, 3)\n float2 inputs:translation = (0.1, 0.25)\n float2 outputs:result }}\n{}{}{}",
        image(
            "color",
            "turn",
            "token inputs:wrapS = \"mirror\"\n token inputs:wrapT = \"clamp\""
        ),
        image("rough", "st", "token inputs:wrapS = \"repeat\""),
        image(
            "metal",
            "turn",
            "token inputs:wrapS = \"black\"\n float4 inputs:scale = (0.5, 1, 1, 1)"
        ),
    );
    let inputs = "color3f inputs:diffuseColor.connect = </r/m/color.outputs:rgb>\n float inputs:roughness.connect = </r/m/rough.outputs:g>\n\
                  float inputs:metallic.connect = </r/m/metal.outputs:r>";
    let [(materials, found), (again, of_again)] =
        shown(&material("m", inputs, &more), &triangle("t", "m", ""));
    let own = materials[0].as_ref().unwrap();
    let expected = ImagePlacement {
        wrap: [Wrap::Mirror, Wrap::Clamp],
        scale: [2.0, 3.0],
        rotation: 30.0_f64.to_radians(),
        translation: [0.1, 0.25],
    };
    assert_eq!(own.base_color_placement, expected);
    assert_eq!(
        own.maps[&MapRole::Roughness].placement,
        ImagePlacement::default()
    );
    // Roughness and metalness share one image in glTF: the second becomes its mean.
    assert!(
        !own.maps.contains_key(&MapRole::Metallic) && own.metallic < 0.5,
        "{own:?}"
    );
    let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
    assert!(
        messages.iter().any(|message| message.contains("black")),
        "{messages:?}"
    );
    assert!(
        messages
            .iter()
            .any(|message| message.contains("its image of metalness lies")),
        "{messages:?}"
    );
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!((again, of_again.len()), (materials, 0));
}

#[test]
fn all_inputs_of_the_surface_are_read() {
    let text = [
        material(
            "lacquer",
            "int inputs:useSpecularWorkflow = 1\n color3f inputs:specularColor = (0.25, 0.5, 1)\n float inputs:metallic = 1\n\
             float inputs:clearcoat = 0.75\n float inputs:ior = 1.25\n float inputs:opacity = 0.5\n float inputs:opacityThreshold = 0.25",
            "",
        ),
        material("bumpy", "float inputs:displacement = 1", ""),
    ]
    .concat();
    let [(materials, found), (again, _)] = shown(
        &text,
        &[triangle("t", "lacquer", ""), triangle("u", "bumpy", "")].concat(),
    );
    let lacquer = materials[0].as_ref().unwrap();
    assert_eq!(
        (lacquer.specular, lacquer.metallic, lacquer.ior),
        (Some([0.25, 0.5, 1.0]), 0.0, 1.25)
    );
    assert_eq!(
        (lacquer.clearcoat, lacquer.clearcoat_roughness),
        (0.75, 0.01)
    );
    assert_eq!(
        (lacquer.base_color[3], lacquer.opacity_threshold),
        (0.5, Some(0.25))
    );
    let codes: Vec<_> = found
        .iter()
        .map(|found| (found.code, found.message.contains("displacement")))
        .collect();
    assert_eq!(codes, [("usd-read-material-left-out", true)]);
    assert_eq!(again, materials);
}

#[test]
fn a_colour_for_all_of_a_prim_is_that_of_a_material_that_shows_it() {
    let text = material(
        "shows",
        "color3f inputs:diffuseColor.connect = </r/shows/c.outputs:result>",
        "def Shader \"c\" { uniform token info:id = \"UsdPrimvarReader_float3\"\n string inputs:varname = \"displayColor\"\n\
         float3 outputs:result }",
    );
    let one = "color3f[] primvars:displayColor = [(1, 0.5, 0)]\n";
    let fading =
        format!("{one} float[] primvars:displayOpacity = [0, 0.5, 1] (interpolation = \"vertex\")");
    let [(materials, _), _] = shown(
        &text,
        &[
            triangle("t", "shows", one),
            triangle("u", "shows", &fading),
            triangle("v", "", &fading),
        ]
        .concat(),
    );
    let [one, fading, bare] = &materials[..] else {
        panic!("{materials:?}")
    };
    let one = one.as_ref().unwrap();
    assert_eq!(
        (one.base_color, one.shows_corner_colors),
        ([1.0, 0.5, 0.0, 1.0], false)
    );
    assert!(fading.as_ref().unwrap().shows_corner_colors && bare.is_none());
}

/// Returns a robot with variant sets, each with its variants' text.
fn with_sets(sets: &[(&str, &[(&str, &str)])]) -> (Robot, Vec<Diagnostic>) {
    let names: Vec<String> = sets.iter().map(|(name, _)| format!("{name:?}")).collect();
    let selected: String = sets
        .iter()
        .map(|(name, variants)| format!("string {name} = {:?}\n", variants[0].0))
        .collect();
    let variants = |variants: &[(&str, &str)]| {
        variants
            .iter()
            .map(|(name, text)| format!("{name:?} {{ {text} }}\n"))
            .collect::<String>()
    };
    let text: String = sets
        .iter()
        .map(|(name, of_set)| format!("variantSet {name:?} = {{\n{}}}\n", variants(of_set)))
        .collect();
    let materials: String = ["red", "blue"]
        .iter()
        .map(|name| material(name, "", ""))
        .collect();
    let layer = format!(
        "{METRES}def Xform \"r\" (prepend variantSets = [{}]\n variants = {{ {selected} }}) {{\n\
         def Xform \"a\" {BODY} {{ {MASS}{}{} }}\n{materials}{text} }}",
        names.join(", "),
        triangle("t", "", ""),
        triangle("u", "", ""),
    );
    robot_of(&layer).unwrap()
}

#[test]
fn variants_that_change_materials_only_are_looks() {
    let bind = |mesh: &str, material: &str| {
        format!("over \"a\" {{ over \"{mesh}\" {{ rel material:binding = </r/{material}> }} }}")
    };
    let rough = |name: &str, roughness: f64| {
        format!("over \"{name}\" {{ over \"s\" {{ float inputs:roughness = {roughness} }} }}")
    };
    let (bound, shader) = (
        (bind("t", "red"), bind("t", "blue")),
        (
            bind("t", "red") + &rough("red", 0.1),
            bind("t", "red") + &rough("red", 0.9),
        ),
    );
    // The binding differs, or an input of the bound shader.
    for (first, second) in [bound, shader] {
        let (robot, found) =
            with_sets(&[("paint", &[("one", &first), ("two", &second), ("bare", "")])]);
        assert!(found.is_empty(), "{found:?}");
        let names: Vec<&str> = robot
            .look_variants()
            .iter()
            .map(|look| look.name.as_str())
            .collect();
        assert_eq!(names, ["bare", "one", "two"]);
        let at = VisualPart {
            link: robot.links().handle(0).unwrap(),
            visual: 0,
            part: 0,
        };
        let looks: Vec<_> = robot
            .look_variants()
            .iter()
            .map(|look| &look.materials)
            .collect();
        assert!(
            looks.iter().all(|materials| materials.keys().eq([&at])),
            "only what varies"
        );
        assert_eq!(
            looks[1][&at].as_ref(),
            robot.material_of(&robot.links().as_slice()[0].visuals[0], 0)
        );
        assert!(looks[0][&at].is_none() && looks[2][&at].is_some() && looks[1] != looks[2]);
    }
    let (first, second, third) = (bind("t", "red"), bind("t", "blue"), bind("u", "red"));
    let sets: [(&str, &[(&str, &str)]); 3] = [
        ("paint", &[("one", &first), ("two", &second)]),
        ("trim", &[("none", ""), ("red", &third)]),
        (
            "load",
            &[
                ("empty", ""),
                (
                    "full",
                    "over \"a\" { point3f physics:centerOfMass = (1, 0, 0) }",
                ),
            ],
        ),
    ];
    let (robot, found) = with_sets(&sets);
    let names: Vec<&str> = robot
        .look_variants()
        .iter()
        .map(|look| look.name.as_str())
        .collect();
    assert_eq!(names, ["paint=one", "paint=two", "trim=none", "trim=red"]);
    let told: Vec<_> = found
        .iter()
        .map(|found| (found.code, found.message.as_str(), found.help.as_str()))
        .collect();
    let message = "of the variant set \"load\" the variant \"empty\" is read: its variants change more than materials";
    assert_eq!(
        told,
        [(
            "usd-read-variant-baked",
            message,
            "choose another with `--variant load=full`"
        )]
    );
    // Different geometry makes a different robot.
    let moved = "over \"a\" { over \"t\" { double3 xformOp:translate = (1, 0, 0)\n uniform token[] xformOpOrder = [\"xformOp:translate\"] } }";
    let (robot, found) = with_sets(&[("form", &[("small", ""), ("large", moved)])]);
    assert!(
        robot.look_variants().is_empty() && found.len() == 1,
        "{found:?}"
    );
}

#[test]
fn a_camera_of_parallel_rays_comes_back() {
    let layer = "(\n defaultPrim = \"r\"\n metersPerUnit = 0.01\n upAxis = \"Z\"\n)\n".to_owned()
        + &format!(
            "def Xform \"r\" {{ def Xform \"a\" {BODY} {{ float physics:mass = 1\n def Camera \"eye\" {{\n\
             token projection = \"orthographic\"\n float horizontalAperture = 500\n float verticalAperture = 250\n\
             float2 clippingRange = (10, 400) }} }} }}"
        );
    let (robot, _) = robot_of(&layer).unwrap();
    let view = |robot: &Robot| match robot.sensors()[0].kind {
        SensorKind::Camera(camera) => (
            camera.parallel_width,
            camera.width,
            camera.height,
            camera.near,
            camera.far,
        ),
        kind => panic!("{kind:?}"),
    };
    // Apertures are in tenths of the stage's unit, here centimetres.
    assert_eq!(view(&robot), (Some(0.5), 640, 320, 0.1, 4.0));
    let folder = tempfile::tempdir().unwrap();
    let asset = write(
        &robot,
        &Options {
            entry: "r".into(),
            ..Options::default()
        },
        &Store::none(),
    )
    .unwrap();
    asset.files.iter().for_each(|(name, bytes)| {
        std::fs::write(folder.path().join(name), bytes.bytes().unwrap()).unwrap()
    });
    let again = read(&folder.path().join("r.usda"), &Default::default())
        .unwrap()
        .robot;
    let (width, pixels, height, near, far) = view(&again);
    assert_eq!((width, pixels, height), (Some(0.5), 640, 320));
    assert!((near - 0.1).abs() < 1e-7 && (far - 4.0).abs() < 1e-6);
}
