use std::ops::DerefMut;

use roxmltree::Document as Xml;

use super::*;
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{
    Bounds, Command, Custom, Drive, Geometry, Inertial, Joint, JointKind, JointProperties, Limit,
    Link, Mimic, NamedPose, Shape,
};

fn link(name: &str, mass: f64) -> Link {
    let inertial = Inertial {
        origin: Pose::identity(),
        mass,
        inertia: nalgebra::Matrix3::identity() * 0.1,
        is_assumed: false,
        place: Place::default(),
    };
    let mut link = Link::new(name);
    link.inertial = Some(inertial).filter(|inertial| inertial.mass > 0.0);
    link
}

fn ball(radius: f64) -> Shape {
    Shape {
        name: Some("ball".to_owned()),
        origin: Pose::identity(),
        geometry: Geometry::Sphere { radius },
        material: None,
        stand_in_for: None,
        instance_set: None,
        custom: Custom::default(),
        place: Place::default(),
    }
}

/// A joint between the links at these indices.
#[derive(Clone)]
struct TestJoint {
    name: String,
    kind: JointKind,
    parent: usize,
    child: usize,
    properties: JointProperties,
}

fn robot(links: Vec<Link>, joints: Vec<TestJoint>) -> Robot {
    let mut robot = Robot::new("r");
    for link in links {
        robot.add_link(link).unwrap();
    }
    for made in joints {
        let [parent, child] = [made.parent, made.child].map(|k| robot.links().handle(k).unwrap());
        let mut joint = Joint::new(made.name, made.kind, parent, child);
        *joint.deref_mut() = made.properties;
        robot.add_joint(joint).unwrap();
    }
    robot
}

/// Makes the second joint mimic the first.
fn follow(robot: &mut Robot, multiplier: f64, offset: f64) {
    let [joint, follower] = [0, 1].map(|k| robot.joints().handle(k).unwrap());
    let mimic = Mimic {
        joint,
        multiplier,
        offset,
    };
    robot.set_mimics([(follower, Some(mimic))]).unwrap();
}

fn joint(name: &str, kind: JointKind, parent: usize, child: usize) -> TestJoint {
    TestJoint {
        name: name.to_owned(),
        kind,
        parent,
        child,
        properties: JointProperties::default(),
    }
}

fn codes_of(written: &Written) -> Vec<&'static str> {
    written
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect()
}

/// The values of an attribute of all elements of a name.
fn values(text: &str, element: &str, attribute: &str) -> Vec<String> {
    let xml = Xml::parse(text).unwrap();
    let found = xml
        .descendants()
        .filter(|node| node.has_tag_name(element))
        .filter_map(|node| node.attribute(attribute));
    found.map(str::to_owned).collect()
}

/// Writes a robot whose meshes are all in memory.
fn write(robot: &Robot, base: Base, folder: &str) -> Written {
    super::write(robot, base, folder).unwrap()
}

fn two(base: Base) -> Written {
    write(
        &robot(
            vec![link("a", 1.0), link("b", 1.0)],
            vec![joint("j", JointKind::Revolute, 0, 1)],
        ),
        base,
        "f",
    )
}

#[test]
fn a_base_is_free_unless_it_is_fixed() {
    assert_eq!(
        values(&two(Base::Auto).text, "freejoint", "name"),
        ["a_free"]
    );
    assert!(values(&two(Base::Fixed).text, "freejoint", "name").is_empty());
    let held = |base| {
        let robot = robot(
            vec![link("world", 0.0), link("b", 1.0)],
            vec![joint("j", JointKind::Fixed, 0, 1)],
        );
        (
            values(&write(&robot, base, "f").text, "freejoint", "name"),
            values(&write(&robot, base, "f").text, "body", "name"),
        )
    };
    assert_eq!(held(Base::Auto), (vec![], vec!["b".to_owned()]));
    assert_eq!(
        held(Base::Floating),
        (vec!["b_free".to_owned()], vec!["b".to_owned()])
    );
}

#[test]
fn moving_bodies_have_a_mass() {
    let massless = robot(
        vec![link("a", 1.0), link("b", 0.0)],
        vec![joint("j", JointKind::Continuous, 0, 1)],
    );
    let written = write(&massless, Base::Fixed, "f");
    assert_eq!(codes_of(&written), ["mjcf-mass-missing"]);
    assert_eq!(values(&written.text, "inertial", "mass"), ["1", "0.001"]);
    // A link fixed to it has one.
    let carried = robot(
        vec![link("a", 1.0), link("b", 0.0), link("c", 2.0)],
        vec![
            joint("j", JointKind::Continuous, 0, 1),
            joint("k", JointKind::Fixed, 1, 2),
        ],
    );
    let written = write(&carried, Base::Fixed, "f");
    assert_eq!(
        (
            codes_of(&written),
            values(&written.text, "inertial", "mass")
        ),
        // MJCF has no name for the fixed joint.
        (vec!["mjcf-no-word"], vec!["1".to_owned(), "2".to_owned()])
    );
}

#[test]
fn a_loop_closes_by_connected_points() {
    let links = || vec![link("a", 1.0), link("b", 1.0), link("c", 1.0)];
    let closing = |kind| {
        let joints = vec![
            joint("j", JointKind::Continuous, 0, 1),
            joint("k", JointKind::Continuous, 0, 2),
            joint("l", kind, 1, 2),
        ];
        let written = write(&robot(links(), joints), Base::Fixed, "f");
        (
            values(&written.text, "connect", "site1"),
            values(&written.text, "weld", "site2"),
            codes_of(&written),
        )
    };
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        closing(JointKind::Continuous),
        (names(&["l_parent", "l_parent_axis"]), vec![], vec![])
    );
    assert_eq!(
        closing(JointKind::Fixed),
        (vec![], names(&["l_child"]), vec![])
    );
    assert_eq!(
        closing(JointKind::Prismatic),
        (vec![], vec![], vec!["mjcf-loop"])
    );
    assert_eq!(closing(JointKind::Floating), (vec![], vec![], vec![]));
}

#[test]
fn followers_locks_drives_and_poses_are_written() {
    let mut leader = joint("lead", JointKind::Revolute, 0, 1);
    leader.properties.limit = Some(Limit {
        bounds: Bounds::between(Some(-1.0), None),
        effort: Some(5.0),
        velocity: None,
    });
    leader.properties.commanded = Some(Drive {
        command: Command::Position,
        initial_position: Some(0.5),
        gains: None,
    });
    let mut follower = joint("follow", JointKind::Prismatic, 1, 2);
    follower.properties.limit = Some(Limit {
        bounds: Bounds::between(Some(0.5), Some(0.5)),
        effort: None,
        velocity: None,
    });
    let mut robot = robot(
        vec![link("a", 1.0), link("b", 1.0), link("c", 1.0)],
        vec![leader, follower],
    );
    follow(&mut robot, -2.0, 0.25);
    let driven = robot.joint_named("lead").unwrap();
    let pose = |group: &str, position| NamedPose {
        name: "up".to_owned(),
        group: Some(group.to_owned()),
        chain: None,
        positions: vec![(driven, vec![position])],
        fixed: Vec::new(),
        place: Place::default(),
    };
    robot
        .set_named_poses(vec![pose("x", 1.0), pose("y", 2.0)])
        .unwrap();
    let [a, c] = ["a", "c"].map(|name| robot.link_named(name).unwrap());
    robot.disable_collisions([(a, c)]).unwrap();
    let written = write(&robot, Base::Auto, "f");
    let text = &written.text;
    assert_eq!(
        values(text, "joint", "polycoef"),
        ["0.25 -2 0 0 0", "0.5 0 0 0 0"]
    );
    assert_eq!(values(text, "joint", "range"), ["-1 10000000000"]);
    assert_eq!(
        (
            values(text, "position", "forcerange"),
            values(text, "position", "kp")
        ),
        (vec!["-5 5".to_owned()], vec![])
    );
    assert_eq!(values(text, "key", "name"), ["x/up", "y/up"]);
    assert_eq!(
        values(text, "key", "qpos"),
        ["0 0 0 1 0 0 0 1 -1.75", "0 0 0 1 0 0 0 2 -3.75"]
    );
    assert_eq!(
        (
            values(text, "exclude", "body1"),
            values(text, "exclude", "body2")
        ),
        (vec!["a".to_owned()], vec!["c".to_owned()])
    );
    assert_eq!(codes_of(&written), ["mjcf-range-locked", "mjcf-gains"]);
}

#[test]
fn a_floating_joint_below_a_moving_link_becomes_three_slides_and_a_ball() {
    let links = vec![link("a", 1.0), link("b", 1.0)];
    let written = write(
        &robot(links, vec![joint("j", JointKind::Floating, 0, 1)]),
        Base::Auto,
        "f",
    );
    assert_eq!(
        values(&written.text, "joint", "name"),
        ["j_x", "j_y", "j_z", "j"]
    );
    assert_eq!(
        values(&written.text, "joint", "type"),
        ["slide", "slide", "slide", "ball"]
    );
}

#[test]
fn shapes_without_extent_are_left_out() {
    let mut robot = robot(vec![link("a", 1.0)], Vec::new());
    let a = robot.link_named("a").unwrap();
    robot.set_visuals(a, vec![ball(0.5), ball(0.0)]).unwrap();
    robot.set_collisions(a, vec![ball(0.25)]).unwrap();
    let written = write(&robot, Base::Auto, "f");
    assert_eq!(values(&written.text, "geom", "size"), ["0.5", "0.25"]);
    assert_eq!(values(&written.text, "geom", "name"), ["ball", "ball_1"]);
    assert_eq!(codes_of(&written), ["mjcf-shape"]);
}

#[test]
fn a_chain_too_deep_for_the_reader_is_reported() {
    let links = (0..600).map(|k| link(&format!("l{k}"), 1.0)).collect();
    let joints = (0..599)
        .map(|k| joint(&format!("j{k}"), JointKind::Continuous, k, k + 1))
        .collect();
    assert_eq!(
        codes_of(&write(&robot(links, joints), Base::Auto, "f")),
        ["mjcf-too-deep"]
    );
}

#[test]
fn names_are_unique() {
    let mut links = vec![link("a", 1.0), link("world", 1.0), link("a\u{1}", 1.0)];
    links[2].visuals = vec![ball(1.0)];
    let joints = vec![
        joint("j", JointKind::Fixed, 0, 1),
        joint("", JointKind::Continuous, 1, 2),
    ];
    let written = write(&robot(links, joints), Base::Fixed, "f");
    assert_eq!(
        values(&written.text, "body", "name"),
        ["a", "world_1", "a\u{fffd}"]
    );
    assert_eq!(
        codes_of(&written),
        [
            "mjcf-renamed",
            "mjcf-renamed",
            "mjcf-no-word",
            "mjcf-characters"
        ]
    );
}
