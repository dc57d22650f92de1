//! Sensors, contact, drives and controllers of Gazebo, ros2_control and transmissions.

use std::path::Path;
use std::sync::Arc;

use nalgebra::{Point3, Vector3};

use super::super::{read, set_controllers};
use super::{clean, findings, text};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::{Command, Interface, InterfaceKind, Qos, Robot, Sensor, SensorKind};

/// Links base, arm, camera and optical in a chain: base –revolute→ arm –fixed→ camera –fixed→
/// optical, an optical frame.
const BODY: &str = r#"<link name="base"/><link name="arm"/><link name="camera"/><link name="optical"/>
    <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
    <joint name="hold" type="fixed"><parent link="arm"/><child link="camera"/><origin xyz="1 0 0"/></joint>
    <joint name="see" type="fixed"><parent link="camera"/><child link="optical"/>
      <origin rpy="-1.5707963267948966 0 -1.5707963267948966"/></joint>"#;

/// A robot with that body, and `inside` from line 7 on.
fn body(inside: &str) -> String {
    text(&format!("{BODY}\n{inside}"))
}

/// The robot with that body and `inside`, which reports nothing worse than an information.
fn robot(inside: &str) -> Robot {
    clean(&body(inside))
}

/// The only sensor of a robot with `inside`.
#[track_caller]
fn sensor(inside: &str) -> Sensor {
    let mut sensors = robot(inside).sensors().to_vec();
    assert_eq!(sensors.len(), 1, "{inside}");
    sensors.remove(0)
}

/// A Gazebo sensor on the link camera.
fn gazebo(sensor: &str) -> String {
    format!("<gazebo reference=\"camera\">{sensor}</gazebo>")
}

/// Interfaces as `name type`, the type without its package.
fn shown(interfaces: &[Interface]) -> Vec<String> {
    interfaces
        .iter()
        .map(|i| format!("{} {}", i.name, i.type_name.rsplit('/').next().unwrap()))
        .collect()
}

/// The topics of the only sensor, given as `sensor` on the link camera.
#[track_caller]
fn topics(of: &str) -> Vec<String> {
    shown(&sensor(&gazebo(of)).interfaces)
}

/// The codes and lines of the findings about a robot with `inside`.
fn codes(inside: &str) -> Vec<(&'static str, u32)> {
    findings(&body(inside))
        .into_iter()
        .map(|(code, line, ..)| (code, line))
        .collect()
}

fn link(robot: &Robot, id: urdf_usd_robot::LinkId) -> &str {
    robot.links()[id].name()
}

fn frame(robot: &Robot) -> Option<&str> {
    robot.sensors()[0].frame.map(|id| link(robot, id))
}

#[test]
fn cameras_have_a_view_an_optical_frame_and_topics() {
    let inside = gazebo(
        "<sensor name='cam' type='camera'><pose>0 0 0.5 0 0 0</pose><update_rate>15</update_rate><camera><pose>0 0 -0.5 0 0 0</pose>
         <horizontal_fov>1.5</horizontal_fov><image><width>640</width><height>480</height></image>
         <clip><near>0.2</near><far>9</far></clip></camera></sensor>",
    );
    let robot = robot(&inside);
    let sensor = &robot.sensors()[0];
    let SensorKind::Camera(camera) = sensor.kind else {
        panic!("{sensor:?}")
    };
    assert_eq!(
        (
            camera.horizontal_fov,
            camera.width,
            camera.height,
            camera.near,
            camera.far
        ),
        (1.5, 640, 480, 0.2, 9.0)
    );
    assert_eq!(
        (link(&robot, sensor.link), frame(&robot)),
        ("camera", Some("optical"))
    );
    assert!(sensor.origin.translation.vector.norm() < 1e-12);
    assert_eq!(
        shown(&sensor.interfaces),
        ["cam/image_raw Image", "cam/camera_info CameraInfo"]
    );
    let publisher = InterfaceKind::Publisher {
        rate: 15.0,
        qos: Qos::SENSOR,
    };
    assert!(
        sensor
            .interfaces
            .iter()
            .all(|interface| interface.kind == publisher)
    );
}

#[test]
fn a_camera_has_no_optical_frame_that_is_elsewhere() {
    assert_eq!(
        sensor(&gazebo(
            "<sensor name='c' type='camera'><pose>0 0 0.1 0 0 0</pose></sensor>"
        ))
        .frame,
        None
    );
    assert_eq!(
        sensor(&gazebo(
            "<sensor name='c' type='camera'><pose>0 0 0 0 0 0.1</pose></sensor>"
        ))
        .frame,
        None
    );
    // A named link is accepted with an optical orientation, and no other.
    let named = |pose: &str, name: &str| {
        let plugin = format!(
            "<plugin filename='libgazebo_ros_camera.so'><frameName>{name}</frameName></plugin>"
        );
        let text = gazebo(&format!(
            "<sensor name='c' type='camera'><pose>{pose}</pose>{plugin}</sensor>"
        ));
        frame(&clean(&body(&text))).map(str::to_owned)
    };
    assert_eq!(
        named("0 0 0.1 0 0 0", "optical").as_deref(),
        Some("optical")
    );
    assert_eq!(named("0 0 0.1 0 0 1", "optical"), None);
    assert_eq!(named("0 0 0 0 0 0", "arm").as_deref(), Some("optical"));
    assert_eq!(named("0 0 0 0 0 0", "camera").as_deref(), Some("optical"));
    assert_eq!(named("0 0 0 0 0 0", "map").as_deref(), Some("optical"));
    let text = gazebo("<sensor name='c' type='camera'/>").replace("\"camera\"", "\"optical\"");
    assert_eq!(codes(&text), [("urdf-camera-on-optical-frame", 7)]);
    assert_eq!(robot(&text).sensors()[0].frame, None);
}

#[test]
fn invalid_settings_are_replaced_and_reported() {
    for (inside, expected) in [
        (
            "<horizontal_fov>0</horizontal_fov>",
            (1.047, 320, 240, 0.1, 100.0),
        ),
        (
            "<horizontal_fov>60</horizontal_fov>",
            (3.0, 320, 240, 0.1, 100.0),
        ),
        (
            "<horizontal_fov>nan</horizontal_fov>",
            (1.047, 320, 240, 0.1, 100.0),
        ),
        (
            "<image><width>-1</width></image>",
            (1.047, 320, 240, 0.1, 100.0),
        ),
        (
            "<image><height>1e9</height></image>",
            (1.047, 320, 240, 0.1, 100.0),
        ),
        (
            "<clip><near>0</near><far>5</far></clip>",
            (1.047, 320, 240, 0.1, 5.0),
        ),
        (
            "<clip><near>5</near><far>5</far></clip>",
            (1.047, 320, 240, 5.0, 5000.0),
        ),
    ] {
        let outcome = read(
            &body(&gazebo(&format!(
                "<sensor name='c' type='camera'>\n<camera>{inside}</camera></sensor>"
            ))),
            None,
        );
        let reported: Vec<_> = outcome
            .diagnostics
            .iter()
            .map(|d| (d.code, d.place.line))
            .collect();
        assert_eq!(reported, [("urdf-bad-setting", 8)], "{inside}");
        let SensorKind::Camera(c) = outcome.robot.unwrap().sensors()[0].kind else {
            panic!("{inside}")
        };
        assert_eq!(
            (c.horizontal_fov, c.width, c.height, c.near, c.far),
            expected,
            "{inside}"
        );
    }
    let rate = |rate: &str| {
        format!("<sensor name='i' type='imu'><update_rate>{rate}</update_rate></sensor>")
    };
    for (text, expected, count) in [
        ("0", 100.0, 0),
        ("-5", 100.0, 1),
        ("x", 100.0, 1),
        ("50", 50.0, 0),
    ] {
        let outcome = read(&body(&gazebo(&rate(text))), None);
        let InterfaceKind::Publisher { rate, .. } =
            outcome.robot.unwrap().sensors()[0].interfaces[0].kind
        else {
            panic!()
        };
        assert_eq!(
            (rate, outcome.diagnostics.len()),
            (expected, count),
            "{text}"
        );
    }
    assert_eq!(
        codes(&gazebo(
            "<sensor name='i' type='imu'><pose>1 2</pose></sensor>"
        )),
        [("urdf-bad-setting", 7)]
    );
}

#[test]
fn every_kind_has_its_default_topics() {
    let of = |kind: &str| topics(&format!("<sensor name='s' type='{kind}'/>"));
    let depth = [
        "s/image_raw Image",
        "s/camera_info CameraInfo",
        "s/depth/image_raw Image",
        "s/depth/camera_info CameraInfo",
        "s/points PointCloud2",
    ];
    assert_eq!(of("depth_camera"), depth);
    assert_eq!(of("rgbd"), depth);
    assert_eq!(of("wideanglecamera"), depth[..2]);
    for (kind, topic) in [
        ("gpu_lidar", "s/scan LaserScan"),
        ("imu", "s/imu Imu"),
        ("contact", "s/contacts Contacts"),
        ("force_torque", "s/wrench WrenchStamped"),
        ("navsat", "s/fix NavSatFix"),
        ("magnetometer", "s/magnetic_field MagneticField"),
        ("altimeter", "s/altitude Altimeter"),
        ("air_pressure", "s/air_pressure FluidPressure"),
        ("sonar", "s/range Range"),
        ("logical_camera", "s/models LogicalCameraImage"),
    ] {
        assert_eq!(of(kind), [topic]);
    }
    assert_eq!(
        topics(
            "<sensor name='s' type='ray'><ray><scan><vertical><samples>16</samples></vertical></scan></ray></sensor>"
        ),
        ["s/points PointCloud2"]
    );
    let unknown = gazebo("<sensor name='s' type='smell'/>");
    assert_eq!(
        (
            codes(&unknown),
            topics("<sensor name='s' type='smell'/>").len()
        ),
        (vec![("urdf-unknown-sensor", 7)], 0)
    );
    // Without a type, the content decides; without a name, the type is the name.
    assert_eq!(topics("<sensor><imu/></sensor>"), ["sensor/imu Imu"]);
    assert_eq!(topics("<sensor type='imu'/>"), ["imu/imu Imu"]);
}

#[test]
fn several_cameras_are_as_many_sensors() {
    let inside = gazebo(
        "<sensor name='s' type='multicamera'><camera name='left'/><camera name='right'><pose>0 -1 0 0 0 0</pose></camera></sensor>",
    );
    let robot = robot(&inside);
    let sensors = robot.sensors();
    assert_eq!(
        sensors.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
        ["s_left", "s_right"]
    );
    assert_eq!(
        shown(&sensors[1].interfaces),
        ["s/right/image_raw Image", "s/right/camera_info CameraInfo"]
    );
    assert_eq!(
        sensors[1].origin.translation.vector,
        Vector3::new(0.0, -1.0, 0.0)
    );
    let many = format!(
        "<sensor name='s' type='multicamera'>{}</sensor>",
        "<camera/>".repeat(40)
    );
    assert_eq!(
        read(&body(&gazebo(&many)), None)
            .robot
            .unwrap()
            .sensors()
            .len(),
        32
    );
}

#[test]
fn plugins_of_ros_1_name_topics() {
    let plugin = |file: &str, inside: &str| {
        format!("<plugin filename='libgazebo_ros_{file}.so'>{inside}</plugin>")
    };
    let camera = "<cameraName>eye</cameraName><imageTopicName>picture</imageTopicName><robotNamespace>/ns/</robotNamespace>";
    assert_eq!(
        topics(&format!(
            "<sensor name='s' type='camera'>{}</sensor>",
            plugin("camera", camera)
        )),
        ["ns/eye/picture Image", "ns/eye/camera_info CameraInfo"]
    );
    let depth = "<cameraName>k</cameraName><depthImageTopicName>/d</depthImageTopicName><pointCloudTopicName>p</pointCloudTopicName>";
    assert_eq!(
        topics(&format!(
            "<sensor name='s' type='depth'>{}</sensor>",
            plugin("openni_kinect", depth)
        )),
        [
            "k/image_raw Image",
            "k/camera_info CameraInfo",
            "/d Image",
            "k/depth/camera_info CameraInfo",
            "k/p PointCloud2"
        ]
    );
    let one = |kind: &str, file: &str, inside: &str| {
        topics(&format!(
            "<sensor name='s' type='{kind}'>{}</sensor>",
            plugin(file, inside)
        ))
    };
    assert_eq!(
        one("ray", "laser", "<topicName>scan_1</topicName>"),
        ["scan_1 LaserScan"]
    );
    assert_eq!(
        one("ray", "range", "<topicName>near</topicName>"),
        ["near Range"]
    );
    assert_eq!(
        one("ray", "velodyne_laser", "<topicName>cloud</topicName>"),
        ["cloud PointCloud2"]
    );
    // The robot's own namespace is the asset's.
    assert_eq!(
        one(
            "contact",
            "bumper",
            "<bumperTopicName>b</bumperTopicName><robotNamespace>r</robotNamespace>"
        ),
        ["b Contacts"]
    );
    assert_eq!(one("imu", "imu", ""), ["s/imu Imu"]);
    let foreign = "<sensor name='s' type='imu'><plugin filename='libsmell.so'><topicName>x</topicName></plugin></sensor>";
    assert_eq!(
        (topics(foreign), codes(&gazebo(foreign))),
        (
            vec!["s/imu Imu".to_owned()],
            vec![("urdf-unknown-plugin", 7)]
        )
    );
    let of_model = |file: &str| format!("<gazebo><plugin filename='{file}' name='p'/></gazebo>");
    for file in [
        "gz-sim-pose-publisher-system",
        "libgazebo_ros_vacuum_gripper.so",
    ] {
        assert_eq!(codes(&of_model(file)), [("urdf-model-plugin", 7)]);
    }
    assert_eq!(codes(&of_model("gz_ros2_control-system")), []);
}

#[test]
fn plugins_of_mobile_bases_have_topics() {
    let of = |attributes: &str, inside: &str| {
        let robot = robot(&format!(
            "<gazebo><plugin name='p' {attributes}>{inside}</plugin></gazebo>"
        ));
        let shown = robot.interfaces.iter().map(|interface| {
            let kind = match interface.kind {
                InterfaceKind::Publisher { rate, .. } => format!("{rate}"),
                _ => "in".to_owned(),
            };
            let frame = interface.override_frame_id.as_deref().unwrap_or("-");
            let type_name = interface.type_name.rsplit('/').next().unwrap();
            format!("{} {type_name} {kind} {frame}", interface.name)
        });
        shown.collect::<Vec<_>>()
    };
    let ros = |file: &str, inside: &str| of(&format!("filename='libgazebo_ros_{file}.so'"), inside);
    let [command, odometry] = ["cmd_vel Twist in -", "odom Odometry 100 odom"];
    // Without settings, the plugin is taken for one of ROS 2, whose odometry is off by default.
    assert_eq!(ros("diff_drive", ""), [command]);
    assert_eq!(
        ros("diff_drive", "<publish_odom>true</publish_odom>"),
        [command, odometry]
    );
    assert_eq!(
        ros(
            "diff_drive",
            "<ros><namespace>/left</namespace><remapping>cmd_vel:=my_cmd</remapping></ros>
             <publish_odom>1</publish_odom><update_rate>30</update_rate><odometry_frame>map</odometry_frame>"
        ),
        ["left/my_cmd Twist in -", "left/odom Odometry 30 map"]
    );
    assert_eq!(
        ros(
            "diff_drive",
            "<updateRate>0</updateRate><odometryFrame>odom_combined</odometryFrame>"
        ),
        [command, "odom Odometry 100 odom_combined"]
    );
    // Poses in the frame of a link are at the link.
    let text = body(
        "<gazebo><plugin name='p' filename='libgazebo_ros_p3d.so'><topicName>truth</topicName><frameName>base</frameName></plugin></gazebo>",
    );
    let localized = read(&text, None).robot.unwrap();
    assert!(localized.interfaces.is_empty());
    let [sensor] = localized.sensors() else {
        panic!("{:?}", localized.sensors())
    };
    assert_eq!(
        (
            localized.links()[sensor.link].name(),
            sensor.interfaces[0].name.as_str()
        ),
        ("base", "truth")
    );
    assert_eq!(sensor.interfaces[0].override_frame_id, None);
    // The frames of odometry: a link, or a valid name of a frame outside of the robot.
    for (frame, link_name, override_frame, found) in [
        ("base", Some("base"), None, 0),
        ("/left/base", Some("base"), None, 0),
        ("/left/odom", None, Some("left/odom"), 0),
        ("/", None, Some("world"), 0),
        ("r", None, None, 0),
        ("my map", None, None, 1),
        ("${prefix}odom", None, None, 1),
        ("odom/", None, None, 1),
    ] {
        let plugin = format!(
            "<gazebo><plugin name='p' filename='libgazebo_ros_p3d.so'><topicName>t</topicName>
             <frameName>{frame}</frameName></plugin></gazebo>"
        );
        let read = read(&body(&plugin), None);
        let robot = read.robot.unwrap();
        let of_sensor = robot.sensors().first();
        let interfaces = of_sensor.map_or(&robot.interfaces, |sensor| &sensor.interfaces);
        assert_eq!(
            (
                of_sensor.map(|sensor| link(&robot, sensor.link)),
                interfaces[0].override_frame_id.as_deref(),
                codes(&plugin).len(),
            ),
            (link_name, override_frame, found),
            "{frame}"
        );
    }
    assert_eq!(
        ros(
            "diff_drive",
            "<robotNamespace>r</robotNamespace><commandTopic>/go</commandTopic><publishTf>false</publishTf>
             <publishWheelJointState>true</publishWheelJointState>"
        ),
        ["/go Twist in -", "joint_states JointState 100 -"]
    );
    assert_eq!(ros("skid_steer_drive", ""), [command, odometry]);
    assert_eq!(
        ros("planar_move", "<publish_rate>5</publish_rate>"),
        [command, "odom Odometry 5 odom"]
    );
    assert_eq!(
        ros("planar_move", "<odometryTopic>o</odometryTopic>"),
        [command, "o Odometry 20 odom"]
    );
    assert_eq!(
        ros(
            "ackermann_drive",
            "<publish_distance>true</publish_distance>"
        ),
        [command, "distance Float32 100 -"]
    );
    assert_eq!(
        ros(
            "p3d",
            "<topicName>truth</topicName><updateRate>50</updateRate><frameName>map</frameName>"
        ),
        ["truth Odometry 50 map"]
    );
    assert_eq!(
        ros("p3d", "<body_name>base</body_name>"),
        ["odom Odometry 100 world"]
    );
    assert_eq!(
        ros(
            "joint_state_publisher",
            "<ros><remapping>~/out:=x</remapping></ros><update_rate>20</update_rate>"
        ),
        ["joint_states JointState 20 -"]
    );
    let gz = |name: &str, inside: &str| of(&format!("filename='{name}-system'"), inside);
    let by_default = [command, "odom Odometry 50 odom"];
    for name in [
        "gz-sim-diff-drive",
        "gz-sim8-mecanum-drive",
        "ignition-gazebo-ackermann-steering",
    ] {
        assert_eq!(gz(name, ""), by_default, "{name}");
    }
    assert_eq!(
        gz(
            "gz-sim-diff-drive",
            "<topic>go</topic><odom_topic>/o</odom_topic><odom_publish_frequency>9</odom_publish_frequency>"
        ),
        ["go Twist in -", "/o Odometry 9 odom"]
    );
    // Names and types of gz-sim's AckermannSteering.cc: a model that is only steered has no odometry.
    let steered = |inside: &str| {
        gz(
            "gz-sim-ackermann-steering",
            &format!("<steering_only>true</steering_only>{inside}"),
        )
    };
    assert_eq!(steered(""), ["steer_angle Float64 in -"]);
    assert_eq!(
        steered("<sub_topic>angle</sub_topic>"),
        ["angle Float64 in -"]
    );
    assert_eq!(
        steered("<use_actuator_msg>true</use_actuator_msg>"),
        ["/actuators Actuators in -"]
    );
    assert_eq!(
        gz("gz-sim-ackermann-steering", "<sub_topic>go</sub_topic>"),
        ["go Twist in -", by_default[1]]
    );
    assert_eq!(
        gz(
            "gz-sim-odometry-publisher",
            "<odom_covariance_topic>sure</odom_covariance_topic>"
        ),
        [by_default[1], "sure Odometry 50 odom"]
    );
    assert_eq!(gz("gz-sim-velocity-control", ""), [command]);
    assert_eq!(gz("gz-sim-odometry-publisher", ""), by_default[1..]);
    assert_eq!(
        gz("gz-sim-joint-state-publisher", "<topic>js</topic>"),
        ["js JointState 100 -"]
    );
    let class =
        robot("<gazebo><plugin filename='x' name='gz::sim::systems::VelocityControl'/></gazebo>");
    assert_eq!(shown(&class.interfaces), ["cmd_vel Twist"]);
    // A true pose without a topic is not published in ROS 1; others' drives are unknown.
    for file in [
        "libgazebo_ros_p3d.so",
        "libmy_gazebo_ros_diff_drive.so",
        "gz-sim-my-diff-drive",
    ] {
        let inside = format!(
            "<gazebo><plugin name='p' filename='{file}'><bodyName>base</bodyName></plugin></gazebo>"
        );
        assert_eq!(codes(&inside), [("urdf-model-plugin", 7)], "{file}");
    }
}

#[test]
fn plugins_of_ros_2_name_topics() {
    let of = |kind: &str, file: &str, inside: &str| {
        topics(&format!(
            "<sensor name='s' type='{kind}'><plugin name='p' filename='libgazebo_ros_{file}.so'>{inside}</plugin></sensor>"
        ))
    };
    let camera = "<ros><namespace>/ns</namespace><remapping>eye/image_raw:=picture</remapping></ros><camera_name>eye</camera_name>";
    assert_eq!(
        of("camera", "camera", camera),
        ["ns/picture Image", "ns/eye/camera_info CameraInfo"]
    );
    assert_eq!(
        of(
            "imu",
            "imu_sensor",
            "<ros><remapping>~/out:=imu/data</remapping></ros>"
        ),
        ["imu/data Imu"]
    );
    assert_eq!(
        of(
            "imu",
            "imu_sensor",
            "<ros><remapping>~/out:=/imu</remapping></ros>"
        ),
        ["/imu Imu"]
    );
    assert_eq!(of("imu", "imu_sensor", "<ros/>"), ["p/out Imu"]);
    assert_eq!(
        of("contact", "bumper", "<ros/>"),
        ["bumper_states Contacts"]
    );
    let output = |kind: &str| format!("<ros/><output_type>sensor_msgs/{kind}</output_type>");
    assert_eq!(
        of("ray", "ray_sensor", &output("LaserScan")),
        ["p/out LaserScan"]
    );
    assert_eq!(
        of("ray", "ray_sensor", &output("PointCloud2")),
        ["p/out PointCloud2"]
    );
    assert_eq!(of("ray", "ray_sensor", &output("Range")), ["p/out Range"]);
    assert_eq!(of("ray", "ray_sensor", "<ros/>"), ["p/out PointCloud2"]);
}

#[test]
fn topics_of_gz_sim() {
    let of = |kind: &str, inside: &str| {
        topics(&format!("<sensor name='s' type='{kind}'>{inside}</sensor>"))
    };
    assert_eq!(
        of("camera", "<topic>eye/image</topic>"),
        ["eye/image Image", "eye/camera_info CameraInfo"]
    );
    assert_eq!(
        of(
            "camera",
            "<topic>a</topic><camera><camera_info_topic>b</camera_info_topic></camera>"
        ),
        ["a Image", "b CameraInfo"]
    );
    assert_eq!(
        of("rgbd_camera", "<topic>d</topic>"),
        [
            "d/image Image",
            "d/depth_image Image",
            "d/points PointCloud2",
            "d/camera_info CameraInfo"
        ]
    );
    assert_eq!(
        of("gpu_lidar", "<topic>l</topic>"),
        ["l LaserScan", "l/points PointCloud2"]
    );
    assert_eq!(of("imu", "<topic>__default_topic__</topic>"), ["s/imu Imu"]);
    assert_eq!(
        of("contact", "<contact><topic>touch</topic></contact>"),
        ["touch Contacts"]
    );
}

#[test]
fn sensors_of_urdf_look_along_z() {
    let inside = "<sensor name='s' type='camera' update_rate='5'><parent link='optical'/><origin xyz='0 0 0'/>
        <camera><image width='64' height='32' hfov='1' near='0.5' far='2'/></camera></sensor>";
    let robot = robot(inside);
    let sensor = &robot.sensors()[0];
    assert_eq!(
        (link(&robot, sensor.link), frame(&robot)),
        ("optical", Some("optical"))
    );
    // The optical frame's z is forward, its −y is up.
    assert!(
        (sensor.origin * Point3::new(1.0, 0.0, 0.0) - Point3::new(0.0, 0.0, 1.0)).norm() < 1e-12
    );
    assert!(
        (sensor.origin * Point3::new(0.0, 0.0, 1.0) - Point3::new(0.0, -1.0, 0.0)).norm() < 1e-12
    );
    let SensorKind::Camera(c) = sensor.kind else {
        panic!()
    };
    assert_eq!(
        (c.horizontal_fov, c.width, c.height, c.near, c.far),
        (1.0, 64, 32, 0.5, 2.0)
    );
    let rate = InterfaceKind::Publisher {
        rate: 5.0,
        qos: Qos::SENSOR,
    };
    assert_eq!(sensor.interfaces[0].kind, rate);
    let ray = read(
        &body("<sensor name='s'><parent link='arm'/><ray><horizontal samples='9'/></ray></sensor>"),
        None,
    );
    assert_eq!(
        shown(&ray.robot.unwrap().sensors()[0].interfaces),
        ["s/scan LaserScan"]
    );
}

#[test]
fn sensors_are_attached_to_links_or_child_links_of_joints() {
    let on = |reference: &str, inside: &str| {
        let robot = robot(&format!(
            "<gazebo reference='{reference}'><sensor name='s' {inside}</sensor></gazebo>"
        ));
        (
            link(&robot, robot.sensors()[0].link).to_owned(),
            frame(&robot).map(str::to_owned),
        )
    };
    let arm = || "arm".to_owned();
    assert_eq!(on("turn", "type='force_torque'>"), (arm(), None));
    let framed = |frame: &str| {
        format!("type='force_torque'><force_torque><frame>{frame}</frame></force_torque>")
    };
    assert_eq!(
        on("turn", &framed("parent")),
        (arm(), Some("base".to_owned()))
    );
    assert_eq!(on("turn", &framed("child")), (arm(), None));
    let imu = |frame: &str| format!("type='imu'><gz_frame_id>{frame}</gz_frame_id>");
    assert_eq!(on("arm", &imu("base")), (arm(), Some("base".to_owned())));
    assert_eq!(on("arm", &imu("arm")), (arm(), None));
    assert_eq!(
        codes(&gazebo(&format!(
            "<sensor name='s' {}</sensor>",
            imu("nowhere")
        ))),
        [("urdf-sensor-frame", 7)]
    );
    assert_eq!(
        codes("<gazebo><sensor name='s' type='imu'/></gazebo>"),
        [("urdf-sensor-without-link", 7)]
    );
    assert_eq!(
        codes("<sensor name='s' type='imu'/>"),
        [("urdf-sensor-without-link", 7)]
    );
    assert_eq!(
        codes("<gazebo reference='amr'><sensor name='s' type='imu'/></gazebo>"),
        [("urdf-unknown-reference", 7)]
    );
    let old = "<gazebo reference='arm' xmlns:sensor='urn:s'><sensor:ray name='s'/></gazebo>";
    assert_eq!(codes(old), [("urdf-old-sensor", 7)]);
    // A pose relative to another link's frame: arm is 1 m behind camera.
    let relative = sensor(&gazebo(
        "<sensor name='s' type='imu'><pose relative_to='arm'>0 0 1 0 0 0</pose></sensor>",
    ));
    assert_eq!(
        relative.origin.translation.vector,
        Vector3::new(-1.0, 0.0, 1.0)
    );
    let turned = sensor(&gazebo(
        "<sensor name='s' type='imu'><pose degrees='true'>0 0 0 0 0 90</pose></sensor>",
    ));
    assert!((turned.origin.rotation.angle() - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
}

#[test]
fn a_frame_that_is_not_a_link_is_added_at_its_sensor() {
    let imu = |name: &str, of: &str| format!("<sensor name='{name}' type='imu'><{of}</sensor>");
    let probe = "ignition_frame_id>probe</ignition_frame_id>";
    let named = |sensors: &str| -> Vec<Option<String>> {
        robot(&gazebo(sensors))
            .sensors()
            .iter()
            .map(|sensor| sensor.frame_name.clone().filter(|_| sensor.frame.is_none()))
            .collect()
    };
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (!name.is_empty()).then(|| (*name).to_owned()))
            .collect::<Vec<_>>()
    };
    // A frame has one place: the second sensor uses its link's frame.
    assert_eq!(
        named(&format!("{}{}", imu("a", probe), imu("b", probe))),
        names(&["probe", ""])
    );
    assert_eq!(codes(&gazebo(&imu("a", probe))), [("urdf-sensor-frame", 7)]);
    assert_eq!(
        named(&imu("a", "gz_frame_id>not a name</gz_frame_id>")),
        names(&[""])
    );
    assert_eq!(
        named(&imu("a", "frame_name>camera</frame_name>")),
        names(&[""])
    );
    let global = imu("a", "gz_frame_id>map</gz_frame_id>");
    assert_eq!(
        (named(&global), codes(&gazebo(&global)).len()),
        (names(&["map"]), 0)
    );
    let camera = "<sensor name='c' type='camera'><gz_frame_id>seen</gz_frame_id><camera/></sensor>";
    assert_eq!(named(camera), names(&["seen"]));
}

#[test]
fn names_are_made_valid_and_the_clock_is_the_simulators() {
    let named = |name: &str| {
        let inside = gazebo(&format!(
            "<sensor name='s' type='imu'><topic>{name}</topic></sensor>"
        ));
        let outcome = read(&body(&inside), None);
        let codes: Vec<_> = outcome.diagnostics.iter().map(|d| d.code).collect();
        (
            shown(&outcome.robot.unwrap().sensors()[0].interfaces),
            codes,
        )
    };
    assert_eq!(
        named("a/2nd imu//x-y/"),
        (
            vec!["a/_2nd_imu/x_y Imu".to_owned()],
            vec!["urdf-invalid-topic"]
        )
    );
    assert_eq!(named("/-/"), (vec![], vec!["urdf-invalid-topic"]));
    assert_eq!(named("/clock"), (vec![], vec!["urdf-prohibited-interface"]));
    assert_eq!(named("my/clock"), (vec!["my/clock Imu".to_owned()], vec![]));
    let spaced = gazebo("<sensor name='left eye' type='camera'/>");
    let outcome = read(&body(&spaced), None);
    let robot = outcome.robot.unwrap();
    let sensor = &robot.sensors()[0];
    assert_eq!(
        (sensor.name.as_str(), sensor.interfaces[0].name.as_str()),
        ("left eye", "left_eye/image_raw")
    );
    assert_eq!(outcome.diagnostics.len(), 1);
}

#[test]
fn later_contact_settings_override_earlier_ones() {
    let of = |inside: &str| {
        let robot = robot(inside);
        robot.links().as_slice()[1]
            .contact
            .map(|c| (c.static_friction, c.dynamic_friction, c.restitution))
    };
    let arm = |inside: &str| format!("<gazebo reference='arm'>{inside}</gazebo>");
    assert_eq!(
        of(&arm("<mu1>0.2</mu1><mu2>0.5</mu2>")),
        Some((0.5, 0.2, None))
    );
    assert_eq!(of(&arm("<mu1 value='0.2'/>")), Some((0.2, 0.2, None)));
    assert_eq!(of(&arm("<mu2>0</mu2>")), Some((0.0, 0.0, None)));
    assert_eq!(
        of(&[arm("<mu1>1</mu1><mu2>1</mu2>"), arm("<mu1>0.3</mu1>")].concat()),
        Some((1.0, 0.3, None))
    );
    let surface = "<collision><surface><friction><ode><mu>0.4</mu><mu2>0.1</mu2></ode></friction>\
        <bounce><restitution_coefficient>0.7</restitution_coefficient></bounce></surface></collision>";
    assert_eq!(of(&arm(surface)), Some((0.4, 0.1, Some(0.7))));
    assert_eq!(
        of(&arm(
            "<restitution_coefficient>0.5</restitution_coefficient>"
        )),
        Some((1.0, 1.0, Some(0.5)))
    );
    assert_eq!(of(&arm("<kp>1</kp>")), None);
    for inside in ["<mu1>-1</mu1>", "<mu1>nan</mu1>", "<mu1>slippery</mu1>"] {
        assert_eq!(codes(&arm(inside)), [("urdf-bad-setting", 7)], "{inside}");
        assert_eq!(
            read(&body(&arm(inside)), None)
                .robot
                .unwrap()
                .links()
                .as_slice()[1]
                .contact,
            None
        );
    }
    assert_eq!(
        codes("<gazebo reference='leg'><mu1>1</mu1></gazebo>"),
        [("urdf-unknown-reference", 7)]
    );
    let bullet = "<link name='foot'><contact><lateral_friction value='0.8'/><restitution value='2'/></contact></link>";
    let outcome = read(&text(bullet), None);
    let contact = outcome.robot.unwrap().links().as_slice()[0]
        .contact
        .unwrap();
    assert_eq!(
        (contact.static_friction, contact.restitution),
        (0.8, Some(1.0))
    );
}

#[test]
fn drives_are_the_strongest_command() {
    let block = |inside: &str| {
        format!(
            "<ros2_control name='hw' type='system'><joint name='turn'>{inside}</joint></ros2_control>"
        )
    };
    let commands = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("<command_interface name='{name}'/>"))
            .collect::<String>()
    };
    let drive = |inside: &str| {
        robot(inside).joints().as_slice()[0]
            .drive()
            .map(|drive| (drive.command, drive.initial_position))
    };
    assert_eq!(
        drive(&block(&commands(&["effort", "velocity"]))),
        Some((Command::Velocity, None))
    );
    assert_eq!(
        drive(&block(&commands(&["effort", "position", "velocity"]))),
        Some((Command::Position, None))
    );
    assert_eq!(drive(&block("<state_interface name='position'/>")), None);
    let initial = |value: &str| {
        let state = format!(
            "<state_interface name='position'><param name='initial_value'>{value}</param></state_interface>"
        );
        block(&format!("{}{state}", commands(&["effort"])))
    };
    assert_eq!(drive(&initial("0.5")), Some((Command::Effort, Some(0.5))));
    let outcome = read(&body(&initial("7")), None);
    assert_eq!(
        outcome.robot.unwrap().joints().as_slice()[0]
            .drive()
            .unwrap()
            .initial_position,
        Some(1.0)
    );
    assert_eq!(outcome.diagnostics[0].code, "urdf-bad-setting");
    assert!(codes(&block(&commands(&["acceleration"]))).contains(&("urdf-no-command", 7)));
    let of = |joint: &str| {
        format!(
            "<ros2_control name='hw'><joint name='{joint}'>{}</joint></ros2_control>",
            commands(&["effort"])
        )
    };
    assert_eq!(codes(&of("trun")), [("urdf-unknown-reference", 7)]);
    assert_eq!(codes(&of("hold")), [("urdf-not-drivable", 7)]);
    let follower = "<link name='f'/><joint name='follow' type='continuous'><parent link='base'/><child link='f'/><mimic joint='turn'/></joint>";
    let robot = robot(&format!("{follower}{}", of("follow")));
    assert!(robot.joints().values().all(|joint| joint.drive().is_none()));
}

#[test]
fn transmissions_drive_where_ros2_control_does_not() {
    let transmission = |joint: &str, inside: &str| {
        format!(
            "<transmission name='t'><type>x/Simple</type><joint name='turn'>{joint}</joint>{inside}</transmission>"
        )
    };
    let interface = |name: &str| format!("<hardwareInterface>{name}</hardwareInterface>");
    let drive = |inside: &str| {
        robot(inside).joints().as_slice()[0]
            .drive()
            .map(|drive| drive.command)
    };
    assert_eq!(
        drive(&transmission(
            &interface("hardware_interface/EffortJointInterface"),
            ""
        )),
        Some(Command::Effort)
    );
    assert_eq!(
        drive(&transmission(&interface("VelocityJointInterface"), "")),
        Some(Command::Velocity)
    );
    let both = [
        interface("PositionJointInterface"),
        interface("EffortJointInterface"),
    ]
    .concat();
    assert_eq!(drive(&transmission(&both, "")), Some(Command::Position));
    let actuator = format!(
        "<actuator name='a'>{}</actuator>",
        interface("PositionJointInterface")
    );
    assert_eq!(drive(&transmission("", &actuator)), Some(Command::Position));
    let state = transmission(&interface("hardware_interface/JointStateInterface"), "");
    assert_eq!((drive(&state), codes(&state).len()), (None, 0));
    assert_eq!(
        codes(&transmission("", "").repeat(2)),
        [("urdf-no-command", 7)]
    );
    let unknown = transmission(&interface("EffortJointInterface"), "").replace("'turn'", "'burn'");
    assert_eq!(codes(&unknown), [("urdf-unknown-reference", 7)]);
    let effort = "<ros2_control name='hw'><joint name='turn'><command_interface name='effort'/></joint></ros2_control>";
    let position = transmission(&interface("PositionJointInterface"), "");
    assert_eq!(drive(&format!("{position}{effort}")), Some(Command::Effort));
}

/// A ros2_control element of that name, which commands `joint` with `command`.
fn block(name: &str, joint: &str, command: &str) -> String {
    format!(
        "<ros2_control name='{name}'><joint name='{joint}'><command_interface name='{command}'/></joint></ros2_control>"
    )
}

const WHEEL: &str = "<link name='w'/><joint name='roll' type='continuous'><parent link='base'/><child link='w'/></joint>";

#[test]
fn without_a_file_controllers_follow_a_convention() {
    let of = |inside: &str| shown(&robot(inside).interfaces);
    let arm = [
        "joint_trajectory_controller/follow_joint_trajectory FollowJointTrajectory",
        "joint_trajectory_controller/joint_trajectory JointTrajectory",
    ];
    assert_eq!(of(&block("hw", "turn", "effort")), arm);
    let both = format!(
        "{WHEEL}{}{}",
        block("hw", "turn", "position"),
        block("base/wheels", "roll", "velocity")
    );
    assert_eq!(
        of(&both),
        [arm[0], arm[1], "base_wheels/commands Float64MultiArray"]
    );
    let two = format!(
        "{WHEEL}{}{}",
        block("a", "turn", "position"),
        block("b", "roll", "position")
    );
    let names: Vec<String> = robot(&two)
        .interfaces
        .into_iter()
        .map(|interface| interface.name)
        .collect();
    assert_eq!(
        names[0],
        "a_joint_trajectory_controller/follow_joint_trajectory"
    );
    assert_eq!(
        names[2],
        "b_joint_trajectory_controller/follow_joint_trajectory"
    );
    assert_eq!(
        codes(&block("hw", "turn", "effort")),
        [("urdf-assumed-controllers", 7)]
    );
}

#[test]
fn sensors_of_ros2_control_are_broadcast() {
    let states = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("<state_interface name='{name}'/>"))
            .collect::<String>()
    };
    let of = |name: &str, inside: &str| {
        format!("<ros2_control name='hw'><sensor name='{name}'>{inside}</sensor></ros2_control>")
    };
    let frame = "<param name='frame_id'>arm</param>";
    let wrench = robot(&of(
        "ft",
        &format!("{}{frame}", states(&["force.x", "torque.z"])),
    ));
    assert_eq!(
        (
            wrench.sensors()[0].kind,
            link(&wrench, wrench.sensors()[0].link)
        ),
        (SensorKind::ForceTorque, "arm")
    );
    assert_eq!(
        shown(&wrench.sensors()[0].interfaces),
        ["ft_broadcaster/wrench WrenchStamped"]
    );
    let imu = robot(&of(
        "imu",
        &states(&["orientation.x", "angular_velocity.y"]),
    ));
    assert_eq!(
        (imu.sensors().len(), shown(&imu.interfaces)),
        (0, vec!["imu_broadcaster/imu Imu".to_owned()])
    );
    assert_eq!(
        codes(&of("nose", &states(&["smell"]))),
        [("urdf-unknown-sensor", 7)]
    );
}

/// The robot with `inside` and a controller file.
fn controlled(inside: &str, file: &str) -> (Robot, Vec<Diagnostic>) {
    let mut robot = robot(inside);
    let found = set_controllers(
        &mut robot,
        &[(Arc::from(Path::new("c.yaml")), file.to_owned())],
    );
    (robot, found)
}

#[test]
fn controller_files_determine_the_interfaces() {
    let file = "
controller_manager:
  ros__parameters:
    update_rate: 200
    arm: {type: joint_trajectory_controller/JointTrajectoryController}
    drive: {type: diff_drive_controller/DiffDriveController}
    grip: {type: position_controllers/GripperActionController}
    group: {type: velocity_controllers/JointGroupVelocityController}
    ft: {type: force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster}
    imu: {type: imu_sensor_broadcaster/IMUSensorBroadcaster}
    js: {type: joint_state_broadcaster/JointStateBroadcaster}
    odd: {type: odd_controllers/OddController}
drive:
  ros__parameters: {publish_rate: 25.0, use_stamped_vel: false}
ft:
  ros__parameters: {sensor_name: wrist, frame_id: /camera}
imu:
  ros__parameters: {sensor_name: hw_imu}
";
    let plugin = "<gazebo><plugin filename='libgazebo_ros2_control.so' name='p'><parameters>c.yaml</parameters>
        <ros><remapping>~/odom:=odom</remapping></ros></plugin></gazebo>";
    let sensor =
        "<ros2_control name='s'><sensor name='hw_imu'><state_interface name='orientation.x'/>
        <param name='frame_id'>arm</param></sensor></ros2_control>";
    let (robot, found) = controlled(
        &format!("{plugin}{}{sensor}", block("hw", "turn", "position")),
        file,
    );
    let references = read(&body(plugin), None).references;
    assert_eq!(references.controller_files[0].0, "c.yaml");
    assert_eq!(
        shown(&robot.interfaces),
        [
            "arm/follow_joint_trajectory FollowJointTrajectory",
            "arm/joint_trajectory JointTrajectory",
            "drive/cmd_vel_unstamped Twist",
            "odom Odometry",
            "grip/gripper_cmd GripperCommand",
            "group/commands Float64MultiArray",
        ]
    );
    let frames = |robot: &Robot| -> Vec<_> {
        let odometry = robot.interfaces.iter();
        let odometry = odometry.filter(|i| i.type_name == "nav_msgs/msg/Odometry");
        odometry.map(|i| i.override_frame_id.clone()).collect()
    };
    assert_eq!(frames(&robot), [Some("odom".to_owned())]);
    for (frame, expected) in [
        ("/left/odom", Some("left/odom".to_owned())),
        ("my map", None),
    ] {
        let file = format!("{file}drive:\n  ros__parameters: {{odom_frame_id: {frame}}}\n");
        let file = file.replacen(
            "drive:\n  ros__parameters: {publish_rate: 25.0, use_stamped_vel: false}\n",
            "",
            1,
        );
        assert_eq!(frames(&controlled(plugin, &file).0), [expected], "{frame}");
    }
    let in_link = file.replace(
        "use_stamped_vel: false",
        "use_stamped_vel: false, odom_frame_id: base",
    );
    let (in_link, _) = controlled(plugin, &in_link);
    let odometry = in_link.sensors().iter().find(|s| s.name == "drive");
    let odometry = odometry.unwrap();
    assert_eq!(
        (
            link(&in_link, odometry.link),
            shown(&odometry.interfaces).concat()
        ),
        ("base", "odom Odometry".to_owned())
    );
    assert_eq!(odometry.interfaces[0].override_frame_id, None);
    assert_eq!(frames(&in_link), []);
    assert_eq!(robot.interfaces[0].kind, InterfaceKind::ActionServer);
    assert_eq!(
        robot.interfaces[3].kind,
        InterfaceKind::Publisher {
            rate: 25.0,
            qos: Qos::DEFAULT
        }
    );
    let sensors: Vec<_> = robot
        .sensors()
        .iter()
        .map(|s| {
            (
                s.name.as_str(),
                link(&robot, s.link),
                shown(&s.interfaces).concat(),
            )
        })
        .collect();
    assert_eq!(
        sensors,
        [
            ("hw_imu", "arm", "imu/imu Imu".to_owned()),
            ("wrist", "camera", "ft/wrench WrenchStamped".to_owned())
        ]
    );
    assert_eq!(
        robot.sensors()[1].interfaces[0].kind,
        InterfaceKind::Publisher {
            rate: 200.0,
            qos: Qos::SENSOR
        }
    );
    let reported: Vec<_> = found
        .iter()
        .map(|d| (d.code, d.place.line, d.place.element.as_str()))
        .collect();
    assert_eq!(
        reported,
        [("urdf-unknown-controller", 12, "controller \"odd\"")]
    );
}

/// The names of the interfaces that start disabled.
fn disabled(robot: &Robot) -> Vec<&str> {
    robot
        .interfaces
        .iter()
        .filter(|interface| !interface.starts_enabled)
        .map(|interface| interface.name.as_str())
        .collect()
}

#[test]
fn one_of_several_controllers_of_a_joint_starts_enabled() {
    let file = "
controller_manager:
  ros__parameters:
    js: {type: joint_state_broadcaster/JointStateBroadcaster}
    position: {type: forward_command_controller/ForwardCommandController}
    arm: {type: joint_trajectory_controller/JointTrajectoryController}
    scaled: {type: ur_controllers/ScaledJointTrajectoryController}
    velocity: {type: velocity_controllers/JointGroupVelocityController}
    admittance: {type: admittance_controller/AdmittanceController}
    wheels: {type: diff_drive_controller/DiffDriveController}
    left: {type: forward_command_controller/MultiInterfaceForwardCommandController}
    other: {type: forward_command_controller/ForwardCommandController}
    nothing: {type: forward_command_controller/ForwardCommandController}
    chained: {type: joint_trajectory_controller/JointTrajectoryController}
js: {ros__parameters: {joints: [a, b]}}
position: {ros__parameters: {joints: [a, b], interface_name: position}}
arm: {ros__parameters: {joints: [a, b]}}
scaled: {ros__parameters: {joints: [a, b]}}
velocity: {ros__parameters: {joints: [c, b]}}
admittance: {ros__parameters: {joints: [a, b]}}
wheels: {ros__parameters: {left_wheel_names: [l1, l2], right_wheel_names: [r1, r2]}}
left: {ros__parameters: {joint: l2, interface_names: [velocity]}}
other: {ros__parameters: {joints: [c]}}
chained: {ros__parameters: {joints: [a, b], command_joints: [admittance/a, admittance/b]}}
";
    let (robot, found) = controlled("", file);
    let expected = [
        "position/commands",
        "scaled/follow_joint_trajectory",
        "scaled/joint_trajectory",
        "velocity/commands",
        "admittance/joint_references",
        "left/commands",
    ];
    // `velocity` is excluded, so its other joint is free for `other`.
    assert_eq!(disabled(&robot), expected);
    let reported: Vec<_> = found
        .iter()
        .map(|d| (d.code, d.place.line, d.message.as_str()))
        .collect();
    let message = |holder: &str, of: &str, joints: &str, why: &str| {
        format!(
            "the controllers \"{holder}\" and \"{of}\" command the same joints ({joints}); \"{of}\" starts disabled, because the other one {why}"
        )
    };
    let is_trajectory = "is a trajectory controller";
    let expected = [
        (5, message("arm", "position", "a, b", is_trajectory)),
        (7, message("arm", "scaled", "a, b", "comes first")),
        (8, message("arm", "velocity", "b", is_trajectory)),
        (9, message("arm", "admittance", "a, b", is_trajectory)),
        (11, message("wheels", "left", "l2", "comes first")),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(line, message)| ("urdf-exclusive-controller", *line, message.as_str()))
        .collect();
    assert_eq!(reported, expected);
    // ROS 1.
    let of = |name: &str, class: &str| {
        format!("{name}:\n  type: effort_controllers/{class}\n  joint: turn\n")
    };
    let (robot, _) = controlled(
        "",
        &format!(
            "{}{}",
            of("c", "JointPositionController"),
            of("d", "JointEffortController")
        ),
    );
    assert_eq!(disabled(&robot), ["d/command"]);
}

#[test]
fn a_shared_interface_starts_enabled_with_any_of_its_controllers() {
    let plugin = "<gazebo><plugin filename='libgazebo_ros2_control.so' name='p'><parameters>c.yaml</parameters>
        <ros><remapping>~/commands:=commands</remapping></ros></plugin></gazebo>";
    let forward = "type: forward_command_controller/ForwardCommandController\n  joints: [turn]";
    let (robot, found) = controlled(plugin, &format!("c:\n  {forward}\nd:\n  {forward}\n"));
    assert_eq!(
        (shown(&robot.interfaces), found.len()),
        (vec!["commands Float64MultiArray".to_owned()], 1)
    );
    assert_eq!(disabled(&robot), [""; 0]);
}

#[test]
fn assumed_controllers_of_the_same_joints_exclude_each_other() {
    let twice = format!(
        "{}{}",
        block("a", "turn", "position"),
        block("b", "turn", "effort")
    );
    let b = [
        "b_joint_trajectory_controller/follow_joint_trajectory",
        "b_joint_trajectory_controller/joint_trajectory",
    ];
    assert_eq!(disabled(&robot(&twice)), b);
    assert_eq!(
        codes(&twice),
        [
            ("urdf-assumed-controllers", 7),
            ("urdf-exclusive-controller", 7)
        ]
    );
    assert_eq!(
        codes(&block("a", "turn", "effort").repeat(2)),
        [("urdf-assumed-controllers", 7)]
    );
    let wheel = format!(
        "{WHEEL}{}{}",
        block("a", "roll", "velocity"),
        block("b", "roll", "position")
    );
    assert_eq!(disabled(&robot(&wheel)), ["a/commands"]);
}

#[test]
fn controller_files_of_other_layouts() {
    let of = |file: &str| shown(&controlled("", file).0.interfaces);
    let commands = |name: &str| vec![format!("{name}/commands Float64MultiArray")];
    let forward = "type: forward_command_controller/ForwardCommandController";
    assert_eq!(
        of(&format!(
            "/left/controller_manager:\n  ros__parameters:\n    c: {{{forward}}}"
        )),
        commands("left/c")
    );
    assert_eq!(
        of(&format!(
            "/**:\n  controller_manager:\n    ros__parameters:\n      c: {{{forward}}}"
        )),
        commands("c")
    );
    assert_eq!(
        of(&format!(
            "r:\n  controller_manager:\n    ros__parameters:\n      c: {{{forward}}}"
        )),
        commands("c")
    );
    assert_eq!(
        of(&format!(
            "c:\n  ros__parameters:\n    {forward}\n    joints: [a]"
        )),
        commands("c")
    );
    // ROS 1.
    assert_eq!(
        of("c:\n  type: effort_controllers/JointPositionController\n  joint: turn"),
        ["c/command Float64"]
    );
    assert_eq!(
        of("clock:\n  type: x/PidController"),
        ["clock/reference MultiDOFCommand"]
    );
}

#[test]
fn useless_controller_files_keep_the_convention() {
    for (file, code) in [
        ("a: [", "urdf-controller-file"),
        ("a: *b", "urdf-controller-file"),
        ("a: 1", "urdf-assumed-controllers"),
        ("", "urdf-assumed-controllers"),
    ] {
        let (robot, found) = controlled(&block("hw", "turn", "position"), file);
        assert_eq!(robot.interfaces.len(), 2, "{file}");
        assert_eq!(found[0].code, code, "{file}");
    }
    let many: String = (0..1100)
        .map(|n| format!("c{n}: {{type: x/PidController}}\n"))
        .collect();
    let (robot, found) = controlled("", &many);
    assert_eq!(
        (robot.interfaces.len(), found[0].code),
        (1000, "urdf-too-many-controllers")
    );
}

#[test]
fn custom_data_stays_as_it_is() {
    let inside = gazebo("<sensor name='s' type='imu'/><mu1>1</mu1>");
    let robot = robot(&inside);
    assert_eq!(robot.custom.elements[0].children.len(), 2);
}
