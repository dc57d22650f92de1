use std::path::{Path, PathBuf};

use proptest::prelude::*;
use urdf_usd_diagnostic::{Diagnostic, Place, Severity};
use urdf_usd_robot::{Bounds, Custom, Element, JointKind, Material, Pose, Robot, Shape};

use super::*;
use crate::{Outcome, decode, read};

/// Reads a text that must contain a robot.
fn robot_of(text: &str) -> (Robot, References) {
    let Outcome {
        robot,
        references,
        diagnostics,
    } = read(text, Some(Path::new("r.urdf")));
    (
        robot.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")),
        references,
    )
}

/// Reads a text and writes the result.
fn rewritten(text: &str) -> (String, Vec<Diagnostic>) {
    let (robot, references) = robot_of(text);
    let Written { text, diagnostics } = write(&robot, &FileNames::as_read(&robot, &references));
    (text, diagnostics)
}

fn codes_of(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    diagnostics
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect()
}

/// A robot without places and without data that URDF can't express, and its poses separately.
fn plain(robot: &Robot) -> (String, Vec<Pose>) {
    let mut robot = robot.clone();
    robot.place = Place::default();
    let mut poses = Vec::new();
    let custom = |custom: &Custom| {
        fn unplaced(element: &Element) -> Element {
            Element {
                place: Place::default(),
                children: element.children.iter().map(unplaced).collect(),
                ..element.clone()
            }
        }
        Custom {
            attributes: custom.attributes.clone(),
            elements: custom.elements.iter().map(unplaced).collect(),
        }
    };
    let mut take = |pose: &mut Pose| poses.push(std::mem::take(pose));
    for (_, link) in robot.links_mut() {
        link.place = Place::default();
        link.custom = custom(&link.custom);
        if let Some(inertial) = &mut link.inertial {
            inertial.place = Place::default();
            take(&mut inertial.origin);
        }
    }
    for id in robot.links().handles() {
        let link = robot.links()[id].clone();
        let (mut visuals, mut collisions) = (link.visuals, link.collisions);
        for shape in visuals.iter_mut().chain(&mut collisions) {
            shape.place = Place::default();
            shape.custom = custom(&shape.custom);
            take(&mut shape.origin);
        }
        robot.set_visuals(id, visuals).unwrap();
        robot.set_collisions(id, collisions).unwrap();
    }
    let loops: Vec<JointId> = robot
        .joints()
        .iter()
        .filter(|(_, joint)| joint.closes_loop())
        .map(|(id, _)| id)
        .collect();
    let kinds = ArenaMap::new(robot.joints(), |_, joint| joint.kind());
    for (id, joint) in robot.joints_mut().filter(|(id, _)| !loops.contains(id)) {
        joint.place = Place::default();
        joint.custom = custom(&joint.custom);
        take(&mut joint.origin);
        if matches!(kinds[id], JointKind::Fixed | JointKind::Floating) {
            joint.axis = Vector3::x_axis();
        }
        let mut limit = joint.limit.unwrap_or_default();
        if kinds[id] == JointKind::Continuous {
            limit.bounds = Bounds::NONE;
        }
        joint.limit = Some(limit);
        joint.dynamics = joint
            .dynamics
            .filter(|dynamics| *dynamics != Default::default());
    }
    let mut sensors = robot.sensors().to_vec();
    for sensor in &mut sensors {
        sensor.place = Place::default();
    }
    robot.set_sensors(sensors).unwrap();
    let joints: Vec<_> = robot
        .joints()
        .iter()
        .filter(|(id, _)| !loops.contains(id))
        .collect();
    let parts = (robot.name(), robot.links(), joints, robot.tree());
    let looks = (robot.materials(), robot.meshes(), robot.look_variants());
    let uses = (
        robot.named_poses(),
        robot.planning(),
        robot.disabled_collisions(),
        robot.sensors(),
        robot.lights(),
        &robot.interfaces,
        custom(&robot.custom),
    );
    (format!("{parts:#?}{looks:#?}{uses:#?}"), poses)
}

fn same(a: &Robot, b: &Robot, name: &str) {
    let ((a, poses_a), (b, poses_b)) = (plain(a), plain(b));
    if let Some((a, b)) = a.lines().zip(b.lines()).find(|(a, b)| a != b) {
        panic!("{name}: {a} is {b}");
    }
    assert_eq!(poses_a.len(), poses_b.len(), "{name}");
    for (a, b) in poses_a.iter().zip(&poses_b) {
        assert_eq!(a.translation, b.translation, "{name}");
        assert!(
            (a.to_homogeneous() - b.to_homogeneous()).amax() < 1e-12,
            "{name}: {a} {b}"
        );
    }
}

/// All URDFs of this repository and, if available, real ones.
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
fn every_robot_survives_a_round_trip() {
    for path in urdfs() {
        let name = path.display().to_string();
        let text = decode(&std::fs::read(&path).unwrap()).unwrap().text;
        let (robot, references) = robot_of(&text);
        let written = write(&robot, &FileNames::as_read(&robot, &references));
        let (again, of_again) = robot_of(&written.text);
        let second = write(&again, &FileNames::as_read(&again, &of_again)).text;
        if let Some((a, b)) = written
            .text
            .lines()
            .zip(second.lines())
            .find(|(a, b)| a != b)
        {
            panic!("{name}: {a} is {b}");
        }
        // A robot that urdfdom rejects is written as a valid one, which differs.
        let reported = codes_of(&written.diagnostics);
        let is_changed = |code| reported.contains(&code);
        if ![
            "urdf-write-roots",
            "urdf-write-left-out",
            "urdf-write-required",
            "urdf-write-renamed",
        ]
        .into_iter()
        .any(is_changed)
        {
            same(&robot, &again, &name);
            let uris = |references: &References| {
                references
                    .meshes
                    .iter()
                    .map(|mesh| mesh.uri.clone())
                    .collect::<Vec<_>>()
            };
            assert_eq!(uris(&references), uris(&of_again), "{name}");
        }
    }
}

#[test]
fn everything_that_urdf_defines_is_written() {
    let text = "<robot name=\"r &amp; &quot;d&quot;\" version=\"1.0\" xmlns:x=\"http://x\">
      <material name='blue'><color rgba='0 0.1 0.8 1'/></material>
      <material name='wood'><texture filename='wood.png'/></material>
      <link name='base' x:id='7'>
        <inertial note='cad'><origin xyz='0.1 0 0' rpy='0 1.5708 0'/><mass value='2.5'/>
          <inertia ixx='0.1' ixy='0.01' ixz='0' iyy='0.2' iyz='-1e-9' izz='0.25'/></inertial>
        <visual name='v'><origin rpy='0 0 3.14159'/><geometry><box size='1 2 3' x:y='z'/></geometry><material name='blue'/></visual>
        <visual><geometry><mesh filename='package://p/a.stl' scale='0.001 0.001 -0.001'/></geometry>
          <material name='own'><color rgba='1 0.5 0.25 0.5'/></material></visual>
        <collision><geometry><capsule radius='0.1' length='2'/></geometry></collision>
      </link>
      <link name='tip'><self_collide>1</self_collide></link>
      <joint name='j' type='revolute'><origin xyz='1 2 3' rpy='1.5707963267948966 0 0'/><parent link='base'/><child link='tip'/>
        <axis xyz='0 0.6 0.8'/><limit lower='-1.5' upper='2' effort='10' velocity='3'/><dynamics damping='0.5'/>
        <safety_controller soft_lower_limit='-1' soft_upper_limit='1' k_position='20' k_velocity='30'/>
        <calibration rising='0.5'/></joint>
      <gazebo reference='tip'><mu1>0.5</mu1><note a='&lt;1&#10;2&gt;'>a &lt; b</note></gazebo></robot>";
    let (written, diagnostics) = rewritten(text);
    assert_eq!(codes_of(&diagnostics), [""; 0]);
    insta::assert_snapshot!(written);
    let (a, b) = (robot_of(text), robot_of(&written));
    same(&a.0, &b.0, "r");
    assert_eq!(rewritten(&written).0, written);
}

#[test]
fn omissions_are_reported() {
    let joint = |name: &str, kind: &str, ends: [&str; 2], more: &str| {
        let [parent, child] = ends;
        format!(
            "<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>{more}</joint>"
        )
    };
    let (mut robot, _) = robot_of(&format!(
        "<robot name='r'><link name='a'/><link name='b'/><link name='c'/>{}{}{}<link name='apart'/>
         <link name='heavy'><inertial><mass value='1'/></inertial></link></robot>",
        joint(
            "j",
            "revolute",
            ["a", "b"],
            "<limit upper='1'/><safety_controller soft_upper_limit='1'/><mimic joint='k'/>"
        ),
        joint("k", "continuous", ["a", "b"], ""),
        joint("l", "prismatic", ["a", "c"], "<limit effort='2'/>"),
    ));
    let turn = robot.joint_named("j").unwrap();
    robot.joint_mut(turn).limit.as_mut().unwrap().bounds = Bounds::between(None, Some(1.0));
    let red = Material::plain("red", [1.0, 0.0, 0.0, 1.0]);
    robot.add_material(red.clone());
    let second = robot.add_material(Material {
        metallic: 1.0,
        base_color: [0.0, 0.0, 0.0, 1.0],
        ..red
    });
    let mut ball = Shape {
        name: None,
        origin: Pose::identity(),
        geometry: Geometry::Sphere { radius: 1.0 },
        material: Some(second),
        stand_in_for: None,
        instance_set: None,
        custom: Custom::default(),
        place: Place::default(),
    };
    let [a, b] = ["a", "b"].map(|name| robot.link_named(name).unwrap());
    robot.add_visual(b, ball.clone()).unwrap();
    (ball.geometry, ball.material) = (
        Geometry::Missing {
            scale: Vector3::repeat(1.0),
        },
        None,
    );
    robot.add_visual(b, ball).unwrap();
    robot.link_mut(b).contact = Some(Default::default());
    robot.disable_collisions([(a, b)]).unwrap();
    robot.rename("r\u{1}");
    let files = FileNames::as_read(&robot, &References::default());
    let Written { text, diagnostics } = write(&robot, &files);
    let mut reported = codes_of(&diagnostics);
    reported.sort_unstable();
    let expected = [
        "urdf-write-characters",
        "urdf-write-looks",
        "urdf-write-loop",
        "urdf-write-loop",
        "urdf-write-no-word",
        "urdf-write-renamed",
        "urdf-write-required",
        "urdf-write-roots",
        "urdf-write-shape",
        "urdf-write-srdf",
    ];
    assert_eq!(reported, expected);
    let (again, _) = robot_of(&text);
    let kinds: Vec<_> = again
        .joints()
        .values()
        .map(|joint| (joint.name(), joint.kind(), joint.bounds().sides()))
        .collect();
    let none = (None, None);
    let expected = [
        ("j", JointKind::Revolute, (None, Some(1.0))),
        ("l", JointKind::Prismatic, none),
        ("apart_joint", JointKind::Fixed, none),
        ("heavy_joint", JointKind::Floating, none),
    ];
    assert_eq!(kinds, expected);
    let limit = again.joints().as_slice()[1].limit.unwrap();
    assert_eq!(
        (limit.effort, limit.velocity, again.tree().roots().len()),
        (Some(2.0), None, 1)
    );
    assert_eq!(again.materials().as_slice()[1].name, "red_1");
    // The value for a missing limit is not reported as an error.
    let found = read(&text, None).diagnostics;
    assert!(
        found
            .iter()
            .all(|d| d.code != "urdf-infinite-limit" && d.code != "urdf-missing-attribute"),
        "{found:?}"
    );
}

#[test]
fn unreadable_elements_are_not_written() {
    let text = "<robot name='r'><link name='a'><visual><geometry><cone/></geometry></visual></link><link name='a'/>
                <link name='b'/><joint name='j' type='revolute'><parent link='a'/><child link='b'/>
                <limit lower='0' upper='1' effort='1' velocity='1' x='y'/><mimic joint='j'/><origin x='1' rpy='0 0 0'/></joint></robot>";
    let (written, diagnostics) = rewritten(text);
    assert_eq!(codes_of(&diagnostics), ["urdf-write-left-out"; 3]);
    assert!(
        diagnostics
            .iter()
            .all(|diagnostic| diagnostic.place.line > 0 && diagnostic.severity == Severity::Info)
    );
    // Custom data stays in its place.
    assert!(
        written.contains("velocity=\"1\" x=\"y\"/>") && written.contains("<origin x=\"1\"/>"),
        "{written}"
    );
    assert_eq!(rewritten(&written).0, written);
}

/// Numbers from 0 to 1, in sequence.
struct Numbers(std::vec::IntoIter<f64>);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0.next().unwrap_or(0.5)
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[((self.next() * choices.len() as f64) as usize).min(choices.len() - 1)]
    }

    /// Returns numbers of all magnitudes, often with few digits.
    fn number(&mut self) -> f64 {
        let number = (self.next() - 0.5) * self.of(&[1e-12, 1e-3, 1.0, 10.0, 1e9]);
        match self.of(&[0, 1, 2]) {
            0 => format!("{number:.2e}").parse().unwrap(),
            1 => f64::from(number as f32),
            _ => number,
        }
    }

    fn length(&mut self) -> f64 {
        self.number().abs() + 1e-3
    }

    fn triple(&mut self) -> String {
        format!("{} {} {}", self.number(), self.number(), self.number())
    }

    fn origin(&mut self) -> String {
        let angle = |numbers: &mut Self| match numbers.of(&[0, 1, 2, 3]) {
            0 => numbers.of(&[-2.0, -1.0, 1.0, 2.0]) * std::f64::consts::FRAC_PI_2,
            1 => numbers
                .of(&["0", "1.57", "-1.5708", "3.14159", "1.570796"])
                .parse()
                .unwrap(),
            _ => numbers.next() * 7.0 - 3.5,
        };
        match self.of(&[0, 1, 2]) {
            0 => String::new(),
            1 => format!("<origin xyz='{}'/>", self.triple()),
            _ => {
                let (roll, pitch, yaw) = (angle(self), angle(self), angle(self));
                // Near a pitch of a right angle, roll and yaw are not distinct to the last digit.
                let roll = if pitch.cos().abs() < 1e-2 { 0.0 } else { roll };
                format!(
                    "<origin xyz='{}' rpy='{roll} {pitch} {yaw}'/>",
                    self.triple()
                )
            }
        }
    }
}

/// A URDF with links that use all features, from numbers.
fn random(numbers: &mut Numbers) -> String {
    const NAMES: [&str; 4] = [
        "plain",
        "with space",
        "a&amp;b&lt;c&gt;&quot;&apos;",
        "größe\u{1F916}",
    ];
    let count = 1 + (numbers.next() * 8.0) as usize;
    let name = |numbers: &mut Numbers, index: usize| format!("{} {index}", numbers.of(&NAMES));
    let names: Vec<String> = (0..count).map(|index| name(numbers, index)).collect();
    let mut text = format!("<robot name='{}'>", numbers.of(&NAMES));
    for index in 0..3 {
        let color =
            [0; 4].map(|_| numbers.of(&[0.0, 1.0, 0.5, numbers.0.clone().next().unwrap_or(0.2)]));
        text += &format!(
            "<material name='m{index}'><color rgba='{} {} {} {}'/></material>",
            color[0], color[1], color[2], color[3]
        );
    }
    let mut sliding: Vec<String> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        text += &format!("<link name='{name}'>");
        if numbers.next() < 0.7 {
            let moments = [0; 6].map(|_| numbers.number());
            text += &format!(
                "<inertial>{}<mass value='{}'/>",
                numbers.origin(),
                numbers.length()
            );
            let pairs = ["ixx", "ixy", "ixz", "iyy", "iyz", "izz"]
                .into_iter()
                .zip(moments);
            text += &pairs.fold("<inertia".to_owned(), |text, (name, value)| {
                format!("{text} {name}='{value}'")
            });
            text += "/></inertial>";
        }
        for element in ["visual", "visual", "collision"] {
            let (a, b, c) = (numbers.length(), numbers.length(), numbers.length());
            let form = match numbers.of(&[0, 1, 2, 3, 4]) {
                0 => format!("<box size='{a} {b} {c}'/>"),
                1 => format!("<sphere radius='{a}'/>"),
                2 => format!("<cylinder radius='{a}' length='{b}' extra='1'/>"),
                3 => format!("<capsule radius='{a}' length='{b}'/>"),
                _ => format!("<mesh filename='package://p/{index}.stl' scale='{a} {b} -{c}'/>"),
            };
            let material = if element == "visual" {
                numbers.of(&["", "<material name='m1'/>", "<material name='m2'/>"])
            } else {
                ""
            };
            text += &format!(
                "<{element}>{}<geometry>{form}</geometry>{material}</{element}>",
                numbers.origin()
            );
        }
        text += numbers.of(&["</link>", "<mine a='b &amp; c'>text<more/></mine></link>"]);
        if index == 0 {
            continue;
        }
        let parent = &names[(numbers.next() * index as f64) as usize];
        let kind = numbers.of(&JointKind::ALL).as_str();
        text += &format!(
            "<joint name='j {index}' type='{kind}'>{}<parent link='{parent}'/><child link='{name}'/><axis xyz='{}'/>",
            numbers.origin(),
            numbers.triple()
        );
        if kind != "fixed" {
            let (a, b) = (numbers.number(), numbers.number());
            let (effort, velocity) = (numbers.length(), numbers.length());
            text += &format!(
                "<limit lower='{}' upper='{}' effort='{effort}' velocity='{velocity}'/>",
                a.min(b),
                a.max(b)
            );
            text += &format!(
                "<dynamics damping='{}'/><calibration falling='{}'/>",
                numbers.number(),
                numbers.number()
            );
            text += &format!(
                "<safety_controller k_velocity='{}' soft_lower_limit='{}'/>",
                numbers.number(),
                numbers.number()
            );
        }
        if matches!(kind, "revolute" | "prismatic" | "continuous") {
            if let Some(leader) = sliding.last().filter(|_| numbers.next() < 0.4) {
                text += &format!(
                    "<mimic joint='{leader}' multiplier='{}' offset='{}'/>",
                    numbers.number(),
                    numbers.number()
                );
            }
            sliding.push(format!("j {index}"));
        }
        text += "</joint>";
    }
    text + "<transmission name='t'><type>x</type></transmission></robot>"
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn random_robots_come_back(numbers in prop::collection::vec(0.0..1.0f64, 900)) {
        let text = random(&mut Numbers(numbers.into_iter()));
        let (robot, references) = robot_of(&text);
        let written = write(&robot, &FileNames::as_read(&robot, &references));
        prop_assert_eq!(codes_of(&written.diagnostics), Vec::<&str>::new());
        let (again, of_again) = robot_of(&written.text);
        same(&robot, &again, "r");
        prop_assert_eq!(write(&again, &FileNames::as_read(&again, &of_again)).text, written.text);
    }
}
