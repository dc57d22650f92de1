use nalgebra::{Translation3, UnitQuaternion, Vector3};

use super::super::{Base, Bodies, Options, Plan, write};
use super::{SensorPlan, SensorPrimKind, half_turn};
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{
    Camera, Interface, InterfaceKind, LinkId, Pose, Qos, Robot, Sensor, SensorKind,
};
use urdf_usd_store::Store;

/// A body with a frame, an optical frame in that, and a second body.
const URDF: &str = r#"<robot name="r">
  <link name="base"><visual><geometry><sphere radius="1"/></geometry></visual></link>
  <link name="camera_link"/>
  <joint name="a" type="fixed"><parent link="base"/><child link="camera_link"/><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/></joint>
  <link name="optical"/>
  <joint name="b" type="fixed"><parent link="camera_link"/><child link="optical"/>
    <origin rpy="-1.5707963267948966 0 -1.5707963267948966"/></joint>
  <link name="arm"><visual><geometry><sphere radius="1"/></geometry></visual></link>
  <joint name="imu" type="continuous"><parent link="base"/><child link="arm"/></joint>
</robot>"#;
const CAMERA: Camera = Camera {
    horizontal_fov: 1.0,
    parallel_width: None,
    width: 640,
    height: 480,
    near: 0.1,
    far: 10.0,
};

fn robot(sensors: Vec<Sensor>) -> Robot {
    let mut robot = urdf_usd_urdf::read(URDF, None).robot.unwrap();
    robot.set_sensors(sensors).unwrap();
    robot
}

/// Returns the link with this index in [`URDF`].
fn link(index: usize) -> LinkId {
    robot(Vec::new()).links().handle(index).unwrap()
}

fn topic(name: &str, type_name: &str) -> Interface {
    let kind = InterfaceKind::Publisher {
        rate: 30.0,
        qos: Qos::SENSOR,
    };
    Interface::new(name, type_name, kind)
}

/// Returns a sensor on the link with this index in [`URDF`], with topics of these names.
fn sensor(name: &str, kind: SensorKind, on: usize, topics: &[&str]) -> Sensor {
    Sensor {
        name: name.to_owned(),
        kind,
        link: link(on),
        origin: Pose::identity(),
        frame: None,
        frame_name: None,
        interfaces: topics
            .iter()
            .map(|name| topic(name, "sensor_msgs/msg/Imu"))
            .collect(),
        place: Place::default(),
    }
}

fn plans(robot: &Robot) -> Vec<SensorPlan> {
    Plan::new(robot, Base::Auto, Bodies::Nested).sensors
}

fn paths(plan: &SensorPlan) -> Vec<&str> {
    plan.prims.iter().map(|prim| prim.path.as_str()).collect()
}

fn bearers(plan: &SensorPlan) -> Vec<&str> {
    plan.interfaces
        .iter()
        .flatten()
        .map(String::as_str)
        .collect()
}

#[test]
fn on_a_body_every_interface_has_a_child_where_the_sensor_is() {
    let at = Pose::from_parts(
        Translation3::new(1.0, 2.0, 3.0),
        UnitQuaternion::from_euler_angles(0.1, 0.2, 0.3),
    );
    let sensor = Sensor {
        origin: at,
        ..sensor(
            "gyro",
            SensorKind::Imu,
            3,
            &["gyro/data", "gyro/temperature"],
        )
    };
    let [plan] = &plans(&robot(vec![sensor]))[..] else {
        panic!()
    };
    assert_eq!(
        paths(plan),
        ["/r/base/arm/gyro", "/r/base/arm/gyro_temperature"]
    );
    assert_eq!(bearers(plan), paths(plan));
    assert!(
        plan.prims
            .iter()
            .all(|prim| prim.kind == SensorPrimKind::Place(at))
    );
}

#[test]
fn a_frame_bears_its_only_interface_itself() {
    let alone = sensor("first", SensorKind::Lidar, 1, &["a"]);
    let [one] = &plans(&robot(vec![alone]))[..] else {
        panic!()
    };
    assert_eq!(bearers(one), ["/r/base/camera_link"]);
    assert_eq!(paths(one), [""; 0]);
}

#[test]
fn several_interfaces_in_a_frame_are_siblings() {
    let mut third = sensor("third", SensorKind::Gps, 1, &["c"]);
    third.origin = Pose::translation(0.0, 0.0, 1.0);
    let first = sensor("first", SensorKind::Lidar, 1, &["a", "b"]);
    let second = sensor("second", SensorKind::Imu, 1, &["b"]);
    let [one, two, three] = &plans(&robot(vec![first, second, third]))[..] else {
        panic!()
    };
    assert_eq!(
        bearers(one),
        ["/r/base/camera_link/first", "/r/base/camera_link/first_b"]
    );
    assert_eq!(paths(one), bearers(one));
    assert_eq!(bearers(two), ["/r/base/camera_link/second"]);
    assert_eq!(bearers(three), ["/r/base/camera_link/third"]);
}

#[test]
fn messages_in_another_frame_stand_in_that_frame() {
    let mut imu = sensor("gyro", SensorKind::Imu, 0, &["imu"]);
    imu.frame = Some(link(3));
    imu.origin = Pose::translation(0.0, 0.0, 1.0);
    let [plan] = &plans(&robot(vec![imu]))[..] else {
        panic!()
    };
    assert_eq!(bearers(plan), ["/r/base/arm/gyro"]);
}

#[test]
fn on_the_world_a_sensor_stands_in_the_default_prim() {
    let held = URDF.replace(
        "<link name=\"base\">",
        "<link name=\"world\"/><joint name=\"w\" type=\"fixed\"><parent link=\"world\"/>\
        <child link=\"base\"/></joint><link name=\"base\">",
    );
    let mut robot = urdf_usd_urdf::read(&held, None).robot.unwrap();
    let gyro = sensor("gyro", SensorKind::Imu, 0, &["imu"]);
    let camera = sensor("Interfaces", SensorKind::Camera(CAMERA), 0, &["image_raw"]);
    robot.set_sensors(vec![gyro, camera]).unwrap();
    let [imu, camera] = &plans(&robot)[..] else {
        panic!()
    };
    assert_eq!(bearers(imu), ["/r/gyro"]);
    assert_eq!(
        paths(camera)[..2],
        [
            "/r/Interfaces_1",
            "/r/Interfaces_1/Interfaces_optical_frame"
        ]
    );
}

#[test]
fn all_that_stands_in_an_optical_frame_moves_into_the_camera_with_it() {
    let below = "<link name='lens'/><joint name='l' type='fixed'><parent link='optical'/><child link='lens'/></joint>
        <link name='lid'><visual><geometry><sphere radius='1'/></geometry></visual></link>
        <joint name='hinge' type='continuous'><parent link='lens'/><child link='lid'/></joint></robot>";
    let mut robot = urdf_usd_urdf::read(&URDF.replace("</robot>", below), None)
        .robot
        .unwrap();
    let mut camera = sensor("cam", SensorKind::Camera(CAMERA), 1, &["image"]);
    camera.frame = Some(link(2));
    // Rotated, not displaced; and its own optical frame would be nested in another one.
    camera.origin = Pose::translation(0.1, 0.0, 0.0);
    let mut inner = Sensor {
        name: "inner".to_owned(),
        ..camera.clone()
    };
    inner.frame = robot.link_named("lens");
    robot.set_sensors(vec![inner, camera]).unwrap();
    let plan = Plan::new(&robot, Base::Auto, Bodies::Nested);
    let at = |name: &str| plan.links[robot.link_named(name).unwrap()].clone();
    assert_eq!(at("optical").path, "/r/base/camera_link/cam/optical");
    assert!((at("optical").local.translation.vector - Vector3::new(0.0, 0.0, 0.1)).norm() < 1e-12);
    assert_eq!(at("lid").path, "/r/base/camera_link/cam/optical/lens/lid");
    let hinge = robot.joint_named("hinge").unwrap();
    assert_eq!(
        plan.joints[hinge].as_ref().unwrap().path,
        "/r/base/camera_link/cam/optical/lens/hinge"
    );
    assert_eq!(paths(&plan.sensors[0])[0], "/r/base/camera_link/inner");
    assert_eq!(
        bearers(&plan.sensors[0]),
        ["/r/base/camera_link/cam/optical/lens/inner_image"]
    );
}

#[test]
fn a_sensor_brings_the_frame_that_its_source_names() {
    let at = Pose::translation(1.0, 2.0, 3.0);
    let named = |name: &str, kind, topics: &[&str], frame: &str| Sensor {
        origin: at,
        frame_name: Some(frame.to_owned()),
        ..sensor(name, kind, 3, topics)
    };
    let robot = robot(vec![
        named(
            "gyro",
            SensorKind::Imu,
            &["gyro/data", "gyro/raw"],
            "left/probe",
        ),
        named("cam", SensorKind::Camera(CAMERA), &["image"], "seen"),
        named("gps", SensorKind::Gps, &["fix"], "map"),
        named("silent", SensorKind::Imu, &[], "nothing"),
        named("clash", SensorKind::Imu, &["clash"], "base"),
    ]);
    let [gyro, cam, gps, silent, clash] = &plans(&robot)[..] else {
        panic!()
    };
    let probe = "/r/base/arm/left_probe";
    assert_eq!(
        (paths(gyro)[0], gyro.prims[0].kind),
        (probe, SensorPrimKind::Frame(at))
    );
    assert_eq!(
        bearers(gyro),
        [format!("{probe}/gyro_data"), format!("{probe}/gyro_raw")]
    );
    assert_eq!(paths(cam)[1], "/r/base/arm/cam/seen");
    assert_eq!(
        (bearers(gps), paths(silent), bearers(clash)),
        (
            vec!["/r/base/arm/gps"],
            vec!["/r/base/arm/silent"],
            vec!["/r/base/arm/clash"]
        )
    );
    let asset = write(
        &robot,
        &Options {
            entry: "r".to_owned(),
            ..Options::default()
        },
        &Store::none(),
    )
    .unwrap();
    let text = String::from_utf8(asset.files["ros.usda"].bytes().unwrap().into()).unwrap();
    for line in [
        "ros:frame:id = \"left/probe\"",
        "ros:frame:id = \"seen\"",
        "ros:topic:override_frame_id = \"map\"",
    ] {
        assert_eq!(text.matches(line).count(), 1, "{line} in\n{text}");
    }
}

#[test]
fn a_camera_holds_its_optical_frame() {
    let mut camera = sensor(
        "cam",
        SensorKind::Camera(CAMERA),
        1,
        &["cam/image_raw", "cam/camera_info"],
    );
    camera.frame = Some(link(2));
    let mut displaced = camera.clone();
    displaced.origin = Pose::translation(0.0, 0.01, 0.0);
    let robot = robot(vec![camera, displaced]);
    let plan = Plan::new(&robot, Base::Auto, Bodies::Nested);
    let [first, second] = &plan.sensors[..] else {
        panic!()
    };
    assert_eq!(paths(first)[0], "/r/base/camera_link/cam");
    let optical = "/r/base/camera_link/cam/optical";
    let planned = &plan.links[link(2)];
    assert_eq!(
        (planned.path.as_str(), planned.local),
        (optical, half_turn())
    );
    assert_eq!(
        bearers(first),
        [
            format!("{optical}/cam_image_raw"),
            format!("{optical}/cam_camera_info")
        ]
    );
    let SensorPrimKind::Camera(_, pose) = first.prims[0].kind else {
        panic!()
    };
    let seen = |v: Vector3<f64>| pose.rotation * v;
    assert!(
        (seen(-Vector3::z()) - Vector3::x()).norm() < 1e-12,
        "a camera looks along its link's x"
    );
    assert!(
        (seen(Vector3::y()) - Vector3::z()).norm() < 1e-12,
        "with z up"
    );
    // The second camera of an optical frame is its sibling, with a frame that is not in TF.
    assert_eq!(
        paths(second)[..2],
        [
            "/r/base/camera_link/cam_1",
            "/r/base/camera_link/cam_1/cam_optical_frame"
        ]
    );
    assert_eq!(second.prims[1].kind, SensorPrimKind::Place(half_turn()));
    let beside = second;
    assert!(bearers(beside).iter().all(|path| path.starts_with(optical)));
}

#[test]
fn a_camera_without_an_optical_frame_brings_one_of_its_own_name() {
    let camera = |name: &str, link| {
        sensor(
            name,
            SensorKind::Camera(CAMERA),
            link,
            &["image_raw", "depth/image_raw"],
        )
    };
    let plans = plans(&robot(vec![
        camera("cam", 0),
        camera("eye", 0),
        camera("eye", 3),
        camera("œil 1", 3),
    ]));
    assert_eq!(
        paths(&plans[0]),
        [
            "/r/base/cam",
            "/r/base/cam/cam_optical_frame",
            "/r/base/cam/cam_optical_frame/cam_image_raw",
            "/r/base/cam/cam_optical_frame/cam_depth_image_raw"
        ]
    );
    assert_eq!(paths(&plans[1])[1], "/r/base/eye/base_eye_optical_frame");
    assert_eq!(paths(&plans[2])[1], "/r/base/arm/eye/arm_eye_optical_frame");
    assert_eq!(
        paths(&plans[3])[..2],
        ["/r/base/arm/œil_1", "/r/base/arm/œil_1/_il_1_optical_frame"]
    );
    assert_eq!(plans[3].prims[0].display_name.as_deref(), Some("œil 1"));
}

#[test]
fn links_and_joints_keep_their_names() {
    let sensors: Vec<Sensor> = ["imu", "arm", "visual", "x-1", "x 1"]
        .iter()
        .map(|name| sensor(name, SensorKind::Imu, 0, &["t"]))
        .collect();
    let all = plans(&robot(sensors.clone()));
    let alone = plans(&robot(sensors[3..].to_vec()));
    assert_eq!(paths(&all[0]), ["/r/base/imu_1"]);
    assert_eq!(paths(&all[1]), ["/r/base/arm_1"]);
    assert_eq!(paths(&all[2]), ["/r/base/visual_1"]);
    assert_eq!(
        (paths(&all[3]), paths(&all[4])),
        (paths(&alone[0]), paths(&alone[1])),
        "others do not matter"
    );
    assert!(
        all.iter()
            .zip(&sensors)
            .all(|(plan, sensor)| plan.prims[0].display_name.as_deref() == Some(&sensor.name))
    );
}

#[test]
fn what_only_simulators_offer_is_left_out() {
    let mut clock = sensor("clock", SensorKind::Other, 0, &["/clock", "ticks"]);
    clock
        .interfaces
        .push(topic("time", "rosgraph_msgs/msg/Clock"));
    let mut robot = robot(vec![clock]);
    robot.interfaces = vec![topic("spawn", "simulation_interfaces/srv/SpawnEntity")];
    let asset = write(
        &robot,
        &Options {
            entry: "r".to_owned(),
            ..Options::default()
        },
        &Store::none(),
    )
    .unwrap();
    let text = String::from_utf8(asset.files["ros.usda"].bytes().unwrap().into()).unwrap();
    assert!(
        text.contains("\"ticks\"")
            && !text.contains("/clock")
            && !text.contains("Clock")
            && !text.contains("spawn"),
        "{text}"
    );
}

#[test]
fn robot_wide_interfaces_are_there_once() {
    let mut robot = robot(Vec::new());
    let action = Interface::new(
        "arm/follow",
        "control_msgs/action/FollowJointTrajectory",
        InterfaceKind::ActionServer,
    );
    let command = Interface {
        kind: InterfaceKind::SUBSCRIPTION,
        ..topic("/cmd_vel", "geometry_msgs/msg/TwistStamped")
    };
    let disabled = Interface {
        name: "grip".to_owned(),
        starts_enabled: false,
        ..action.clone()
    };
    robot.interfaces = vec![
        topic("joint_states", "x/msg/Y"),
        action.clone(),
        command,
        action,
        disabled,
    ];
    let asset = write(
        &robot,
        &Options {
            entry: "r".to_owned(),
            ..Options::default()
        },
        &Store::none(),
    )
    .unwrap();
    let text = String::from_utf8(asset.files["ros.usda"].bytes().unwrap().into()).unwrap();
    assert_eq!(text.matches("def Xform \"").count(), 4, "{text}");
    for line in [
        "def Xform \"arm_follow\" (",
        "uniform bool ros:action:starts_enabled = 0",
        "def Xform \"cmd_vel\" (",
        "uniform token ros:topic:role = \"subscription\"",
    ] {
        assert_eq!(text.matches(line).count(), 1, "{line} in\n{text}");
    }
    assert!(!text.contains("x/msg/Y"), "{text}");
}
