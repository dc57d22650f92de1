use nalgebra::UnitQuaternion;

use super::*;
use urdf_usd_robot::kinematics::Model;
use urdf_usd_robot::{Camera, Interface, InterfaceKind, Qos, Robot, Sensor, SensorKind};
use urdf_usd_store::Store;
use urdf_usd_usd_write::{Bodies, Options, write};

/// Reads the frames of an asset of one layer, with the default prim `robot`.
fn read(text: &str) -> AssetFrames {
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("asset.usda");
    // OpenUSD wants a statement and a block to end with their line, and an edited list to have items.
    let text = text
        .replace('}', "\n}\n")
        .replace("prepend apiSchemas = []", "");
    std::fs::write(
        &entry,
        format!("#usda 1.0\n(\n    defaultPrim = \"robot\"\n    metersPerUnit = 1\n    upAxis = \"Z\"\n)\n{text}"),
    )
    .unwrap();
    read_frames(&entry).unwrap()
}

/// Returns frame, parent, whether static, and whether a root.
fn told(asset: &AssetFrames) -> Vec<(&str, Option<&str>, bool, bool)> {
    asset
        .frames
        .iter()
        .map(|f| (f.id.as_str(), f.parent.as_deref(), f.is_static, f.is_root))
        .collect()
}

fn body(name: &str, x: f64, inside: &str) -> String {
    format!(
        "def Xform \"{name}\" (prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]) {{\n\
         double3 xformOp:translate = ({x}, 0, 0)\nuniform token[] xformOpOrder = [\"xformOp:translate\"]\n{inside}}}\n"
    )
}

fn joint(name: &str, kind: &str, bodies: [&str; 2], inside: &str) -> String {
    let [body0, body1] = bodies.map(|body| {
        if body.is_empty() {
            String::new()
        } else {
            format!("<{body}>")
        }
    });
    let end = |number: u8, path: &str| {
        if path.is_empty() {
            String::new()
        } else {
            format!("rel physics:body{number} = {path}\n")
        }
    };
    format!(
        "def Physics{kind}Joint \"{name}\" {{\n{}{}{inside}\n}}\n",
        end(0, &body0),
        end(1, &body1)
    )
}

fn robot(schemas: &str, inside: &str) -> String {
    format!("def Xform \"robot\" (prepend apiSchemas = [{schemas}]) {{\n{inside}\n}}\n")
}

#[test]
fn flat_bodies_hang_by_their_joints_wherever_those_stand() {
    // A quarter turn about y takes the joint's z to the bodies' x.
    let turned = "point3f physics:localPos0 = (1, 0, 0)\nquatf physics:localRot0 = (0.70710677, 0, 0.70710677, 0)\n\
                  quatf physics:localRot1 = (0.70710677, 0, 0.70710677, 0)\nuniform token physics:axis = \"Z\"";
    let text = robot(
        "\"RosContextAPI\"",
        &[
            "string ros:context:namespace = \"r1\"\nint ros:context:domain_id = 7\n".to_owned(),
            body(
                "tool",
                3.0,
                "def Xform \"tip\" (prepend apiSchemas = [\"RosFrameAPI\"]) { string ros:frame:id = \"grasp point\" }\n",
            ),
            body("base", 0.0, ""),
            body("arm", 1.0, ""),
            "def Scope \"Joints\" {\n".to_owned(),
            joint("flange", "Fixed", ["/robot/arm", "/robot/tool"], "point3f physics:localPos0 = (2, 0, 0)"),
            joint(
                "j",
                "Revolute",
                ["/robot/base", "/robot/arm"],
                &format!("custom string ros:joint:name = \"shoulder\"\n{turned}"),
            ),
            "}\n".to_owned(),
        ]
        .concat(),
    );
    let asset = read(&text);
    let expected = [
        ("tool", Some("arm"), true, false),
        ("grasp point", Some("tool"), true, false),
        ("base", None, true, true),
        ("arm", Some("base"), false, false),
    ];
    assert_eq!(told(&asset), expected);
    assert_eq!(
        (asset.context.namespace.as_str(), asset.context.domain_id),
        ("/r1", Some(7))
    );
    assert_eq!(
        (
            asset.context.root.as_deref(),
            asset.context.parent_frame.as_deref()
        ),
        (Some("robot"), None)
    );
    let arm = &asset.frames[3];
    let moved = &asset.joints[arm.joint.unwrap()];
    assert_eq!(
        (moved.name.as_str(), moved.kind),
        ("shoulder", JointKind::Revolute)
    );
    let model: Model = asset.model().unwrap();
    let pose = model.place(3, &[0.4]);
    let turn = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), 0.4);
    assert!(
        pose.rotation.angle_to(&turn) < 1e-6
            && (pose.translation.vector - Vector3::x()).norm() < 1e-6,
        "{pose}"
    );
    assert!((asset.frames[0].pose.translation.x - 2.0).abs() < 1e-12);
}

#[test]
fn a_joint_may_name_the_moved_body_first() {
    let held = joint("hold", "Fixed", ["", "/robot/base"], "");
    let swapped = "point3f physics:localPos1 = (1, 0, 0)\nuniform token physics:axis = \"Y\"";
    let text = robot(
        "\"RosContextAPI\"",
        &[
            body("base", 0.0, ""),
            body("arm", 1.0, ""),
            held,
            joint("j", "Revolute", ["/robot/arm", "/robot/base"], swapped),
        ]
        .concat(),
    );
    let asset = read(&text);
    assert_eq!(
        told(&asset),
        [
            ("base", None, true, true),
            ("arm", Some("base"), false, false)
        ]
    );
    let pose = asset.model().unwrap().place(1, &[0.3]);
    // By the USD convention the second body rotates by 0.3 in the first, so the first rotates by
    // −0.3 in the second.
    let turn = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), -0.3);
    assert!(
        pose.rotation.angle_to(&turn) < 1e-6 && (pose.translation.x - 1.0).abs() < 1e-6,
        "{pose}"
    );
}

#[test]
fn the_context_may_be_a_body_and_what_is_not_joined_to_it_is_none_of_the_robot() {
    let base = body(
        "base_link",
        0.0,
        "string ros:context:namespace = \"/fleet/r2\"\nstring ros:context:parent_frame = \"map\"\n",
    )
    .replace(
        "\"PhysicsRigidBodyAPI\"",
        "\"PhysicsRigidBodyAPI\", \"RosContextAPI\"",
    );
    let inside = [
        base,
        body("wheel", 1.0, body("pebble", 0.1, "").as_str()),
        body("box", 5.0, ""),
        joint("axle", "Revolute", ["/robot/base_link", "/robot/wheel"], ""),
    ];
    let asset = read(&robot("", &inside.concat()));
    assert_eq!(
        told(&asset),
        [
            ("base_link", Some("map"), true, true),
            ("wheel", Some("base_link"), false, false)
        ]
    );
    assert_eq!(
        (
            asset.context.namespace.as_str(),
            asset.context.root.as_deref()
        ),
        ("/fleet/r2", None)
    );
}

#[test]
fn a_robot_that_is_held_hangs_on_the_parent_frame_that_is_authored() {
    let inside = |held: &str| {
        let joint = joint(
            "rail",
            held,
            ["", "/robot/base"],
            "point3f physics:localPos0 = (0, 0, 1)\nuniform token physics:axis = \"Y\"",
        );
        [
            "string ros:context:parent_frame = \"world\"\n",
            body("base", 0.0, "").as_str(),
            joint.as_str(),
        ]
        .concat()
    };
    let asset = read(&robot("\"RosContextAPI\"", &inside("Fixed")));
    assert_eq!(told(&asset), [("base", Some("world"), true, false)]);
    let asset = read(&robot("\"RosContextAPI\"", &inside("Prismatic")));
    assert_eq!(told(&asset), [("base", Some("world"), false, false)]);
    assert!(
        (asset.model().unwrap().place(0, &[0.5]).translation.vector - Vector3::new(0.0, 0.5, 1.0))
            .norm()
            < 1e-9
    );
    let floating = [
        "string ros:context:parent_frame = \"odom\"\n",
        body("base", 0.0, "").as_str(),
    ]
    .concat();
    assert_eq!(
        told(&read(&robot("\"RosContextAPI\"", &floating))),
        [("base", Some("odom"), true, true)]
    );
}

#[test]
fn namespaces_join_from_the_outermost_context_down() {
    let topic = |name: &str| {
        format!(
            "def Xform \"js\" (prepend apiSchemas = [\"RosTopicAPI\"]) {{\nuniform token ros:topic:role = \"publisher\"\n\
             uniform string ros:topic:name = \"{name}\"\nuniform string ros:topic:type = \"sensor_msgs/msg/JointState\"\n}}\n"
        )
    };
    let nested = |outer: &str, inner: &str, name: &str| {
        let inner = format!(
            "def Xform \"arm\" (prepend apiSchemas = [\"RosContextAPI\"]) {{\nstring ros:context:namespace = \"{inner}\"\n\
             string ros:context:parent_frame = \"ignored\"\n{}}}\n",
            topic(name)
        );
        read(&robot(
            "\"RosContextAPI\"",
            &format!("string ros:context:namespace = \"{outer}\"\n{inner}"),
        ))
        .context
    };
    for (outer, inner, name, expected) in [
        ("r1", "left", "joint_states", "/r1/left/joint_states"),
        ("r1", "", "joint_states", "/r1/joint_states"),
        ("", "left", "joint_states", "/left/joint_states"),
        ("/a/r1", "left", "joint_states", "/a/r1/left/joint_states"),
        ("r1", "/left", "joint_states", "/left/joint_states"),
        ("r1", "left", "/joint_states", "/joint_states"),
        ("", "", "joint_states", "/joint_states"),
    ] {
        let context = nested(outer, inner, name);
        assert_eq!(
            context.joint_states.as_deref(),
            Some(expected),
            "{outer} {inner} {name}"
        );
        assert_eq!(
            (context.namespace, context.parent_frame),
            (format!("/{}", outer.trim_matches('/')), None)
        );
    }
}

#[test]
fn the_first_of_several_robots_in_a_stage() {
    let one = |name: &str| {
        let inside = [body(
            &format!("{name}_base"),
            0.0,
            "def Xform \"tip\" (prepend apiSchemas = [\"RosFrameAPI\"]) {}\n",
        )];
        format!(
            "def Xform \"{name}\" (prepend apiSchemas = [\"RosContextAPI\"]) {{\nstring ros:context:namespace = \"{name}\"\n{}}}\n",
            inside.concat()
        )
    };
    let asset = read(&robot("", &[one("a"), one("b")].concat()));
    assert_eq!(
        told(&asset),
        [
            ("a_base", None, true, true),
            ("tip", Some("a_base"), true, false)
        ]
    );
    assert_eq!(asset.context.namespace, "/a");
}

#[test]
fn mimics_are_told_in_degrees_and_meant_in_radians() {
    let mimic = "rel ext_physics:mimic:joint = </robot/turn>\nfloat ext_physics:mimic:multiplier = 0.01\nfloat ext_physics:mimic:offset = 0.5";
    let asset = read(&robot(
        "\"RosContextAPI\"",
        &[
            body("base", 0.0, ""),
            body("arm", 0.0, ""),
            body("finger", 0.0, ""),
            joint("turn", "Revolute", ["/robot/base", "/robot/arm"], ""),
            joint("slide", "Prismatic", ["/robot/arm", "/robot/finger"], mimic),
        ]
        .concat(),
    ));
    let Some(AssetMimic {
        joint,
        multiplier,
        offset,
    }) = asset.joints[1].mimic
    else {
        panic!("no mimic")
    };
    assert_eq!((joint, offset), (0, 0.5));
    assert!(
        (multiplier - 0.01 * 180.0 / std::f64::consts::PI).abs() < 1e-6,
        "{multiplier}"
    );
}

#[test]
fn a_joint_of_six_axes_is_what_its_limits_leave_free() {
    let kind = |locked: &[&str]| {
        let limits: String = locked
            .iter()
            .map(|axis| {
                format!(
                    "float limit:{axis}:physics:low = 1\nfloat limit:{axis}:physics:high = -1\n"
                )
            })
            .collect();
        let schemas: Vec<String> = locked
            .iter()
            .map(|axis| format!("\"PhysicsLimitAPI:{axis}\""))
            .collect();
        let joint = format!(
            "def PhysicsJoint \"j\" (prepend apiSchemas = [{}]) {{\nrel physics:body0 = </robot/base>\nrel physics:body1 = </robot/arm>\n{limits}}}\n",
            schemas.join(", ")
        );
        let asset = read(&robot(
            "\"RosContextAPI\"",
            &[body("base", 0.0, ""), body("arm", 0.0, ""), joint].concat(),
        ));
        (asset.joints[0].kind, asset.joints[0].axis.into_inner())
    };
    let z = Vector3::z();
    assert_eq!(kind(&["transZ", "rotX", "rotY"]), (JointKind::Planar, z));
    assert_eq!(
        kind(&["transX", "transY", "transZ", "rotX", "rotY"]),
        (JointKind::Revolute, z)
    );
    assert_eq!(
        kind(&["transX", "transY", "rotX", "rotY", "rotZ"]),
        (JointKind::Prismatic, z)
    );
    assert_eq!(
        kind(&["transX", "transY", "transZ", "rotX", "rotY", "rotZ"]).0,
        JointKind::Fixed
    );
    assert_eq!(kind(&["transZ"]).0, JointKind::Floating);
    assert_eq!(kind(&[]).0, JointKind::Floating);
}

#[test]
fn what_follows_itself_is_no_model() {
    let mimic = |of: &str| format!("rel ext_physics:mimic:joint = </robot/{of}>");
    let asset = read(&robot(
        "\"RosContextAPI\"",
        &[
            body("base", 0.0, ""),
            body("a", 0.0, ""),
            joint(
                "one",
                "Revolute",
                ["/robot/base", "/robot/a"],
                &mimic("two"),
            ),
            joint(
                "two",
                "Revolute",
                ["/robot/base", "/robot/a"],
                &mimic("one"),
            ),
        ]
        .concat(),
    ));
    assert!(asset.model().is_err());
}

/// The robot that is written and read back moves like the original.
#[test]
fn what_is_written_moves_as_the_robot_does() {
    let text = r#"<robot name="r">
      <link name="base"><visual><geometry><sphere radius="1"/></geometry></visual></link>
      <link name="mount"/>
      <joint name="f" type="fixed"><parent link="base"/><child link="mount"/><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/></joint>
      <link name="arm"><visual><geometry><sphere radius="1"/></geometry></visual></link>
      <joint name="turn" type="revolute"><parent link="mount"/><child link="arm"/><origin xyz="0 1 0" rpy="0.3 0 1"/><axis xyz="1 -2 0.5"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
      <link name="hand"><visual><geometry><sphere radius="1"/></geometry></visual></link>
      <joint name="slide" type="prismatic"><parent link="arm"/><child link="hand"/><origin xyz="0 0 1"/><axis xyz="0 -1 0"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="turn" multiplier="-0.3" offset="0.02"/></joint>
      <link name="cart"><visual><geometry><sphere radius="1"/></geometry></visual></link>
      <joint name="plane" type="planar"><parent link="hand"/><child link="cart"/><axis xyz="0 1 1"/></joint></robot>"#;
    let robot = urdf_usd_urdf::read(text, None).robot.unwrap();
    for bodies in [Bodies::Nested, Bodies::Flat] {
        let asset = written_and_read(&robot, bodies);
        let (of_robot, of_asset) = (Model::of(&robot), asset.model().unwrap());
        let mut positions = of_robot.flat(&[vec![], vec![0.7], vec![0.0]]);
        of_robot.follow(&mut positions);
        let (slide, poses) = (positions[of_robot.range(2)][0], of_robot.poses(&positions));
        assert!((slide - (0.02 - 0.3 * 0.7)).abs() < 1e-12);
        for (id, link) in robot.links().iter() {
            let frame = asset
                .frames
                .iter()
                .position(|frame| frame.id == link.name())
                .unwrap();
            let joint = asset.frames[frame].joint.map(|joint| &asset.joints[joint]);
            let at = match joint.map(|joint| joint.name.as_str()) {
                Some("turn") => vec![0.7],
                Some("slide") => vec![slide],
                _ => vec![],
            };
            let joint = robot.tree().parent_joint(id);
            let parent = joint.map(|joint| robot.joints()[joint].parent());
            // Flat bodies are not nested in the frames they are attached to, so their parent is the
            // body that the joint names.
            let says = parent.and_then(|parent| match (bodies, robot.links()[parent].name()) {
                (Bodies::Flat, "mount") => robot.links().handle(0),
                _ => Some(parent),
            });
            let above = says.map_or(Pose::identity(), |says| poses[says.index()]);
            let (expected, found) = (
                above.inverse() * poses[id.index()],
                of_asset.place(frame, &at),
            );
            assert!(
                (expected.to_homogeneous() - found.to_homogeneous()).amax() < 1e-6,
                "{} {bodies:?}",
                link.name()
            );
            let says = says.map(|says| robot.links()[says].name().to_owned());
            assert_eq!(
                asset.frames[frame].parent,
                says,
                "{} {bodies:?}",
                link.name()
            );
            let is_apart = bodies == Bodies::Flat && ["arm", "hand", "cart"].contains(&link.name());
            assert_eq!(
                asset.frames[frame].is_apart,
                is_apart,
                "{} {bodies:?}",
                link.name()
            );
        }
        let mimic = asset
            .joints
            .iter()
            .find(|joint| joint.name == "slide")
            .unwrap()
            .mimic
            .unwrap();
        assert!(
            (mimic.multiplier + 0.3).abs() < 1e-6 && (mimic.offset - 0.02).abs() < 1e-6,
            "{mimic:?}"
        );
        let plane = asset
            .joints
            .iter()
            .find(|joint| joint.name == "plane")
            .unwrap();
        let normal = plane.origin.rotation * plane.axis.into_inner();
        assert_eq!(plane.kind, JointKind::Planar);
        assert!(
            (normal - Vector3::new(0.0, 1.0, 1.0).normalize()).norm() < 1e-6,
            "{normal}"
        );
    }
}

/// Writes a robot as an asset, and reads its frames.
fn written_and_read(robot: &Robot, bodies: Bodies) -> AssetFrames {
    let options = Options {
        entry: "r".to_owned(),
        bodies,
        ..Options::default()
    };
    let written = write(robot, &options, &Store::none()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in &written.files {
        std::fs::write(folder.path().join(path), bytes.bytes().unwrap()).unwrap();
    }
    read_frames(&folder.path().join("r.usda")).unwrap()
}

/// Reads the frames of a robot with sensors: a body with a frame, an optical frame in that, and a
/// second body.
fn with_sensors(sensors: impl FnOnce(&Robot) -> Vec<Sensor>) -> AssetFrames {
    let text = r#"<robot name="r">
      <link name="base"><visual><geometry><sphere radius="1"/></geometry></visual></link>
      <link name="camera_link"/>
      <joint name="a" type="fixed"><parent link="base"/><child link="camera_link"/><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/></joint>
      <link name="optical"/>
      <joint name="b" type="fixed"><parent link="camera_link"/><child link="optical"/>
        <origin rpy="-1.5707963267948966 0 -1.5707963267948966"/></joint>
      <link name="arm"><visual><geometry><sphere radius="1"/></geometry></visual></link>
      <joint name="imu" type="continuous"><parent link="base"/><child link="arm"/></joint>
    </robot>"#;
    let mut robot = urdf_usd_urdf::read(text, None).robot.unwrap();
    robot.set_sensors(sensors(&robot)).unwrap();
    written_and_read(&robot, Bodies::Nested)
}

/// Returns a sensor with one topic on the link of this name.
fn sensor(robot: &Robot, name: &str, kind: SensorKind, on: &str) -> Sensor {
    Sensor {
        name: name.to_owned(),
        kind,
        link: robot.link_named(on).unwrap(),
        origin: Pose::identity(),
        frame: None,
        frame_name: None,
        interfaces: vec![Interface::new(
            name,
            "sensor_msgs/msg/Imu",
            InterfaceKind::Publisher {
                rate: 30.0,
                qos: Qos::SENSOR,
            },
        )],
        place: Default::default(),
    }
}

const CAMERA: SensorKind = SensorKind::Camera(Camera {
    horizontal_fov: 1.0,
    parallel_width: None,
    width: 640,
    height: 480,
    near: 0.1,
    far: 10.0,
});

#[test]
fn only_frames_that_sensors_bring_are_from_a_sensor() {
    let asset = with_sensors(|robot| {
        let named = |name, kind, frame: &str| Sensor {
            frame_name: Some(frame.to_owned()),
            ..sensor(robot, name, kind, "arm")
        };
        vec![
            named("gyro", SensorKind::Imu, "left/probe"),
            named("cam", CAMERA, "seen"),
            named("gps", SensorKind::Gps, "map"),
            named("clash", SensorKind::Imu, "base"),
        ]
    });
    let own: Vec<&str> = asset
        .frames
        .iter()
        .filter(|frame| frame.from_sensor)
        .map(|frame| frame.id.as_str())
        .collect();
    assert_eq!(own, ["left/probe", "seen"]);
}

#[test]
fn only_a_cameras_own_optical_frame_is_from_a_sensor() {
    let asset = with_sensors(|robot| vec![sensor(robot, "cam", CAMERA, "camera_link")]);
    let own: Vec<&AssetFrame> = asset
        .frames
        .iter()
        .filter(|frame| frame.from_sensor)
        .collect();
    assert_eq!((asset.frames.len(), own.len()), (5, 1));
    assert_eq!(
        (own[0].id.as_str(), own[0].parent.as_deref()),
        ("cam_optical_frame", Some("camera_link"))
    );
    let optical = UnitQuaternion::from_euler_angles(
        -std::f64::consts::FRAC_PI_2,
        0.0,
        -std::f64::consts::FRAC_PI_2,
    );
    assert!(
        own[0].pose.rotation.angle_to(&optical) < 1e-6
            && own[0].pose.translation.vector.norm() < 1e-12
    );
    // robot_state_publisher publishes a link of the robot even inside a camera.
    let asset = with_sensors(|robot| {
        vec![Sensor {
            frame: robot.link_named("optical"),
            ..sensor(robot, "cam", CAMERA, "camera_link")
        }]
    });
    let optical = asset
        .frames
        .iter()
        .find(|frame| frame.id == "optical")
        .unwrap();
    assert_eq!(
        (optical.parent.as_deref(), optical.from_sensor),
        (Some("camera_link"), false)
    );
}
