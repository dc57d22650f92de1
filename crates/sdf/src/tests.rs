use std::ops::DerefMut;

use nalgebra::Vector3;
use roxmltree::Document as Xml;

use super::*;
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{
    ArenaMap, Bounds, Camera, Custom, Geometry, Inertial, Joint, JointKind, JointProperties, Light,
    LightKind, Limit, Link, Mimic, Sensor, SensorKind, Shape,
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
        properties: JointProperties {
            origin: Pose::translation(1.0, 0.0, 0.0),
            ..JointProperties::default()
        },
    }
}

fn written(robot: &Robot, base: Base) -> Written {
    let files = FileNames {
        visuals: ArenaMap::filled(robot.links(), Vec::new()),
        collisions: ArenaMap::filled(robot.links(), Vec::new()),
        textures: ArenaMap::filled(robot.materials(), None),
        have_materials: false,
    };
    write(robot, base, &files)
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

/// The texts of all elements of a name.
fn texts(text: &str, element: &str) -> Vec<String> {
    let xml = Xml::parse(text).unwrap();
    let found = xml
        .descendants()
        .filter(|node| node.has_tag_name(element))
        .filter_map(|node| node.text());
    found.map(|text| text.trim().to_owned()).collect()
}

/// The links of all joints, as `parent>child`.
fn ends(text: &str) -> Vec<String> {
    texts(text, "parent")
        .iter()
        .zip(texts(text, "child"))
        .map(|(parent, child)| format!("{parent}>{child}"))
        .collect()
}

#[test]
fn a_base_is_free_unless_it_is_fixed() {
    let two = robot(
        vec![link("a", 1.0), link("b", 1.0)],
        vec![joint("j", JointKind::Revolute, 0, 1)],
    );
    assert_eq!(ends(&written(&two, Base::Auto).text), ["a>b"]);
    assert_eq!(ends(&written(&two, Base::Fixed).text), ["world>a", "a>b"]);
    let on_world = robot(
        vec![link("world", 0.0), link("b", 1.0)],
        vec![joint("j", JointKind::Fixed, 0, 1)],
    );
    let held = written(&on_world, Base::Auto).text;
    assert_eq!(
        (ends(&held), values(&held, "link", "name")),
        (vec!["world>b".to_owned()], vec!["b".to_owned()])
    );
    assert_eq!(values(&held, "pose", "relative_to"), ["__model__"]);
    assert_eq!(texts(&held, "pose")[0], "1 0 0 0 0 0");
    assert!(ends(&written(&on_world, Base::Floating).text).is_empty());
}

#[test]
fn links_on_the_world_are_fixed_to_it() {
    let mut scene = robot(
        vec![link("world", 0.0), link("b", 1.0)],
        vec![joint("j", JointKind::Continuous, 0, 1)],
    );
    let world = scene.link_named("world").unwrap();
    scene.set_collisions(world, vec![ball(1.0)]).unwrap();
    let text = written(&scene, Base::Auto).text;
    assert_eq!(
        (ends(&text), values(&text, "joint", "type")),
        (
            vec!["world>world_1".to_owned(), "world>b".to_owned()],
            vec!["fixed".to_owned(), "continuous".to_owned()]
        )
    );
}

#[test]
fn a_massless_link_becomes_a_frame_in_a_link_with_mass() {
    let links = || {
        vec![
            link("a", 1.0),
            link("b", 0.0),
            link("c", 2.0),
            link("d", 0.0),
            link("e", 3.0),
        ]
    };
    let mut four = robot(
        links(),
        vec![
            joint("moves", JointKind::Continuous, 0, 1),
            joint("within", JointKind::Fixed, 1, 2),
            joint("below", JointKind::Fixed, 2, 3),
            joint("beside", JointKind::Fixed, 1, 4),
        ],
    );
    let d = four.link_named("d").unwrap();
    four.set_visuals(d, vec![ball(1.0)]).unwrap();
    let sdf = written(&four, Base::Auto);
    let text = &sdf.text;
    assert_eq!(codes_of(&sdf), ["sdf-joint-merged"; 2]);
    assert_eq!(
        (
            values(text, "link", "name"),
            values(text, "frame", "attached_to")
        ),
        (
            vec!["a".to_owned(), "c".to_owned(), "e".to_owned()],
            vec!["c".to_owned(), "c".to_owned()]
        )
    );
    assert_eq!(
        (ends(text), values(text, "joint", "name")),
        (
            vec!["a>b".to_owned(), "b>e".to_owned()],
            vec!["moves".to_owned(), "beside".to_owned()]
        )
    );
    // The link c is in b, the frame b at the joint, the visual of d in d.
    assert_eq!(
        values(text, "pose", "relative_to"),
        ["__model__", "moves", "b", "d", "c", "b", "a", "b"]
    );
}

#[test]
fn moving_links_have_a_mass() {
    let massless = robot(
        vec![link("a", 1.0), link("b", 0.0)],
        vec![joint("j", JointKind::Continuous, 0, 1)],
    );
    let sdf = written(&massless, Base::Fixed);
    assert_eq!(
        (codes_of(&sdf), texts(&sdf.text, "mass")),
        (
            vec!["sdf-mass-missing"],
            vec!["1".to_owned(), "0.001".to_owned()]
        )
    );
}

#[test]
fn inertia_is_valid_for_libsdformat() {
    let mut one = robot(vec![link("a", 1.0)], Vec::new());
    let a = one.link_named("a").unwrap();
    let mut moments = |x, y, z| {
        one.link_mut(a).inertial.as_mut().unwrap().inertia =
            nalgebra::Matrix3::from_diagonal(&Vector3::new(x, y, z));
        let sdf = written(&one, Base::Auto);
        let number = |name| texts(&sdf.text, name)[0].parse::<f64>().unwrap();
        (
            [number("ixx"), number("iyy"), number("izz")],
            codes_of(&sdf),
        )
    };
    assert_eq!(moments(1.0, 2.0, 2.5), ([1.0, 2.0, 2.5], vec![]));
    for excess in [0.0, 1e-7, 2.0] {
        let ([x, y, z], codes) = moments(1.0, 1.0, 2.0 + excess);
        assert!(x + y >= z && x - 1.0 - 0.5 * excess < 1e-5, "{x} {y} {z}");
        assert_eq!(codes, ["sdf-inertia-repaired"]);
    }
}

#[test]
fn limits_are_written_as_given() {
    let mut hinge = joint("j", JointKind::Revolute, 0, 1);
    hinge.properties.limit = Some(Limit {
        bounds: Bounds::between(Some(-1.0), None),
        effort: Some(0.0),
        velocity: Some(f64::INFINITY),
    });
    let follower = joint("k", JointKind::Prismatic, 1, 2);
    let write = |hinge: &TestJoint| {
        let links = vec![link("a", 1.0), link("b", 1.0), link("c", 1.0)];
        let mut robot = robot(links, vec![hinge.clone(), follower.clone()]);
        follow(&mut robot, -2.0, 0.25);
        written(&robot, Base::Auto)
    };
    let text = write(&hinge).text;
    assert_eq!(
        (texts(&text, "lower"), texts(&text, "effort")),
        (vec!["-1".to_owned()], vec!["0".to_owned()])
    );
    assert!(texts(&text, "upper").is_empty() && texts(&text, "velocity").is_empty());
    assert_eq!(
        (
            // SDFormat's and Drake's.
            values(&text, "mimic", "joint"),
            values(&text, "sdf", "version")
        ),
        (vec!["j".to_owned(); 2], vec!["1.11".to_owned()])
    );
    assert_eq!(
        (texts(&text, "multiplier"), texts(&text, "offset")),
        (vec!["-2".to_owned()], vec!["0.25".to_owned()])
    );
    hinge.kind = JointKind::Planar;
    let planar = write(&hinge);
    assert_eq!(
        (ends(&planar.text), codes_of(&planar)),
        (vec!["b>c".to_owned()], vec!["sdf-planar", "sdf-mimic"])
    );
}

#[test]
fn a_loop_is_a_joint_like_others() {
    let links = || vec![link("a", 1.0), link("b", 1.0), link("c", 0.0)];
    let arms = || {
        vec![
            joint("j", JointKind::Continuous, 0, 1),
            joint("k", JointKind::Fixed, 1, 2),
        ]
    };
    let closing = |parent, child| {
        let sdf = written(
            &robot(
                links(),
                [arms(), vec![joint("l", JointKind::Revolute, parent, child)]].concat(),
            ),
            Base::Auto,
        );
        (ends(&sdf.text), codes_of(&sdf))
    };
    assert_eq!(
        closing(0, 2),
        (
            vec!["a>b".to_owned(), "a>c".to_owned()],
            vec!["sdf-joint-merged"]
        )
    );
    assert_eq!(
        closing(1, 2),
        (vec!["a>b".to_owned()], vec!["sdf-joint-merged", "sdf-loop"])
    );
}

#[test]
fn names_are_unique() {
    let links = vec![link("a", 1.0), link("world", 1.0), link("x::y\u{1}", 1.0)];
    let joints = vec![
        joint("a", JointKind::Continuous, 0, 1),
        joint("__j__", JointKind::Continuous, 1, 2),
    ];
    let sdf = written(&robot(links, joints), Base::Auto);
    assert_eq!(
        values(&sdf.text, "link", "name"),
        ["a", "world_1", "x__y\u{fffd}"]
    );
    assert_eq!(
        values(&sdf.text, "joint", "name"),
        ["a_joint", "__j___joint"]
    );
    assert_eq!(
        codes_of(&sdf),
        [
            "sdf-renamed",
            "sdf-renamed",
            "sdf-renamed",
            "sdf-renamed",
            "sdf-characters"
        ]
    );
    let mut shapes = robot(vec![link("a", 1.0)], Vec::new());
    let a = shapes.link_named("a").unwrap();
    shapes.set_visuals(a, vec![ball(1.0), ball(0.0)]).unwrap();
    shapes.set_collisions(a, vec![ball(1.0)]).unwrap();
    let sdf = written(&shapes, Base::Auto);
    assert_eq!(
        (
            values(&sdf.text, "visual", "name"),
            values(&sdf.text, "collision", "name")
        ),
        (vec!["ball".to_owned()], vec!["ball_1".to_owned()])
    );
    assert_eq!(codes_of(&sdf), ["sdf-shape"]);
}

fn element(name: &str, text: &str, line: u32, children: Vec<Element>) -> Element {
    let place = Place {
        line,
        ..Place::default()
    };
    Element {
        name: name.to_owned(),
        attributes: Vec::new(),
        text: text.to_owned(),
        children,
        place,
    }
}

fn sensor(name: &str, kind: SensorKind, link: LinkId, line: u32) -> Sensor {
    Sensor {
        name: name.to_owned(),
        kind,
        link,
        origin: Pose::translation(0.0, 0.0, 2.0),
        frame: None,
        frame_name: None,
        interfaces: Vec::new(),
        place: Place {
            line,
            ..Place::default()
        },
    }
}

#[test]
fn sensors_are_written_as_far_as_sdf_supports_them() {
    let mut robot = robot(
        vec![link("a", 1.0), link("b", 1.0)],
        vec![joint("j", JointKind::Continuous, 0, 1)],
    );
    let rays = element("ray", "", 0, vec![element("scan", "wide", 0, Vec::new())]);
    let noise = element("noise", "3", 0, Vec::new());
    let mut lidar = element(
        "sensor",
        "",
        7,
        vec![element("pose", "9 9 9 0 0 0", 0, Vec::new()), noise, rays],
    );
    lidar.attributes = vec![("type".to_owned(), "ray".to_owned())];
    let mut block = element("gazebo", "", 6, vec![lidar]);
    block.attributes = vec![("reference".to_owned(), "a".to_owned())];
    robot.custom.elements = vec![
        block,
        element("gazebo", "", 9, vec![element("plugin", "", 10, Vec::new())]),
    ];
    let view = Camera {
        horizontal_fov: 1.0,
        width: 4,
        height: 3,
        near: 0.5,
        far: 9.0,
        parallel_width: None,
    };
    let [a, b] = ["a", "b"].map(|name| robot.link_named(name).unwrap());
    let sensors = vec![
        sensor("rays", SensorKind::Lidar, a, 7),
        sensor("blind", SensorKind::Lidar, a, 0),
        sensor("eye", SensorKind::Camera(view), b, 0),
        sensor("wrist", SensorKind::ForceTorque, b, 0),
        sensor("foot", SensorKind::ForceTorque, a, 0),
        sensor("touch", SensorKind::Contact, b, 0),
    ];
    robot.set_sensors(sensors).unwrap();
    let kind = LightKind::Spot {
        radius: 0.1,
        inner: 0.25,
        outer: 0.5,
    };
    let place = Place::default();
    let (color, intensity, range, origin) = ([1.0, 0.5, 0.0], 7.0, Some(5.0), Pose::identity());
    let lamp = Light {
        name: String::new(),
        kind,
        link: b,
        origin,
        color,
        intensity,
        range,
        place,
    };
    robot.set_lights(vec![lamp]).unwrap();
    let sdf = written(&robot, Base::Auto);
    assert_eq!(
        values(&sdf.text, "sensor", "type"),
        ["ray", "camera", "force_torque"]
    );
    assert_eq!(
        (texts(&sdf.text, "scan"), texts(&sdf.text, "width")),
        (vec!["wide".to_owned()], vec!["4".to_owned()])
    );
    assert!(
        !sdf.text.contains("9 9 9")
            && !sdf.text.contains("noise")
            && sdf.text.contains("<plugin/>")
    );
    assert_eq!(
        (
            values(&sdf.text, "light", "type"),
            texts(&sdf.text, "outer_angle")
        ),
        (vec!["spot".to_owned()], vec!["1".to_owned()])
    );
    let found = [
        "sdf-sensor",
        "sdf-sensor",
        "sdf-sensor",
        "sdf-light",
        "sdf-sensor",
    ];
    assert_eq!(codes_of(&sdf), found);
}
