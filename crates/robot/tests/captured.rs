//! Merging observed interfaces into robots read from URDF.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test or benchmark that fails may panic

use urdf_usd_robot::{Captured, Interface, InterfaceKind, Qos, Robot};

fn robot() -> Robot {
    let text = "<robot name='r'><link name='base'/><link name='laser'/>
        <joint name='j' type='fixed'><parent link='base'/><child link='laser'/></joint>
        <gazebo reference='base'><sensor name='lidar' type='ray'><update_rate>7</update_rate><topic>scan</topic></sensor></gazebo></robot>";
    urdf_usd_urdf::read(text, None).robot.unwrap()
}

fn seen(name: &str, frame: Option<&str>, rate: Option<f64>) -> Captured {
    let kind = InterfaceKind::Publisher {
        rate: rate.unwrap_or(1.0),
        qos: Qos::seen(false, false, None),
    };
    let interface = Interface::new(name, "a/msg/B", kind);
    Captured {
        interface,
        is_measured: rate.is_some(),
        frame: frame.map(str::to_owned),
    }
}

fn rate(interface: &Interface) -> f64 {
    let InterfaceKind::Publisher { rate, .. } = interface.kind else {
        panic!("{interface:?}")
    };
    rate
}

#[test]
fn what_the_source_names_becomes_what_was_seen() {
    let mut robot = robot();
    assert_eq!(robot.sensors()[0].interfaces[0].name, "scan");
    robot.take_captured(&[seen("scan", Some("base"), None)]);
    let scan = &robot.sensors()[0].interfaces[0];
    // The rate was not measured, so the source's is kept.
    assert_eq!(
        (scan.type_name.as_str(), rate(scan), robot.sensors().len()),
        ("a/msg/B", 7.0, 1)
    );
    robot.take_captured(&[seen("scan", None, Some(12.0))]);
    assert_eq!(rate(&robot.sensors()[0].interfaces[0]), 12.0);
}

#[test]
fn what_starts_disabled_still_does_when_it_was_seen() {
    let mut robot = robot();
    robot.interfaces = vec![Interface {
        starts_enabled: false,
        ..seen("a/commands", None, None).interface
    }];
    robot.take_captured(&[
        seen("a/commands", None, Some(3.0)),
        seen("b/commands", None, None),
    ]);
    let starts: Vec<bool> = robot
        .interfaces
        .iter()
        .map(|interface| interface.starts_enabled)
        .collect();
    assert_eq!(
        (rate(&robot.interfaces[0]), starts),
        (3.0, vec![false, true])
    );
}

#[test]
fn it_moves_to_the_frame_of_its_messages() {
    let mut robot = robot();
    robot.take_captured(&[seen("scan", Some("/laser"), None)]);
    assert!(
        robot.sensors()[0]
            .interfaces
            .iter()
            .all(|interface| interface.name != "scan")
    );
    assert_eq!(
        (robot.sensors()[1].name.as_str(), robot.sensors()[1].link),
        ("scan", robot.link_named("laser").unwrap())
    );
    assert_eq!(rate(&robot.sensors()[1].interfaces[0]), 7.0);
    // When observed again, it stays with the sensor.
    robot.take_captured(&[seen("scan", Some("laser"), Some(3.0))]);
    assert_eq!(
        (
            robot.sensors().len(),
            rate(&robot.sensors()[1].interfaces[0])
        ),
        (2, 3.0)
    );
}

#[test]
fn what_is_new_belongs_to_its_frame_or_to_the_robot() {
    let mut robot = robot();
    let action = Interface {
        kind: InterfaceKind::ActionServer,
        ..seen("dock", None, None).interface
    };
    let action = Captured {
        interface: action,
        is_measured: false,
        frame: None,
    };
    robot.take_captured(&[
        seen("front/image", Some("laser"), None),
        seen("odom", Some("odom"), None),
        action,
    ]);
    assert_eq!(robot.sensors()[1].name, "front_image");
    assert_eq!(
        robot
            .interfaces
            .iter()
            .map(|i| i.name.as_str())
            .collect::<Vec<_>>(),
        ["odom", "dock"]
    );
}
