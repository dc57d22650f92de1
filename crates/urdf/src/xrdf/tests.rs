use super::Modifiers;
use crate::{References, read};
use urdf_usd_diagnostic::{Diagnostic, Severity};
use urdf_usd_robot::{
    Coordinate, JointId, JointKind, Link, LinkId, NamedPose, Planning, PlanningCollision, Robot,
    Sphere, SphereGroup, kinematics,
};

/// `base` and, in a chain below it, a link `…_link` for each joint, all of them balls. `finger`
/// mimics `turn`, and zero is outside the limits of `far`.
fn robot() -> Robot {
    const BALL: &str = "<collision><geometry><sphere radius='1'/></geometry></collision>";
    let mut parent = "base".to_owned();
    let mut text = format!("<robot name='r'><link name='base'>{BALL}</link>");
    for (name, kind, inside) in [
        ("still", "fixed", ""),
        (
            "turn",
            "revolute",
            "<limit lower='-1' upper='2' effort='1' velocity='1'/>",
        ),
        ("roll", "continuous", ""),
        (
            "far",
            "prismatic",
            "<limit lower='0.1' upper='0.3' effort='1' velocity='1'/>",
        ),
        ("finger", "continuous", "<mimic joint='turn'/>"),
        ("plane", "planar", ""),
        ("drone", "floating", ""),
    ] {
        text += &format!(
            "<link name='{name}_link'>{BALL}</link><joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{name}_link'/>{inside}</joint>"
        );
        parent = format!("{name}_link");
    }
    read(&(text + "</robot>"), None).robot.unwrap()
}

fn link(robot: &Robot, name: &str) -> LinkId {
    robot.link_named(name).unwrap()
}

fn joint(robot: &Robot, name: &str) -> JointId {
    robot.joint_named(name).unwrap()
}

/// The required sections of an XRDF, six lines.
const HEAD: &str = "format: xrdf
format_version: 1.0
cspace:
  joint_names: [turn, roll]
  acceleration_limits: [1, 2.5]
  jerk_limits: [500, 1e3]
";

fn apply(text: &str, robot: &mut Robot) -> Vec<Diagnostic> {
    super::apply(text, None, robot, &mut References::default()).diagnostics
}

fn applied(text: &str) -> (Robot, Vec<Diagnostic>) {
    let mut robot = robot();
    let diagnostics = apply(text, &mut robot);
    (robot, diagnostics)
}

/// The findings: code, line, column.
fn findings(text: &str) -> Vec<(&'static str, u32, u32)> {
    applied(text)
        .1
        .into_iter()
        .map(|d| (d.code, d.place.line, d.place.column))
        .collect()
}

/// The names of the pairs of links with disabled collisions.
fn pairs(robot: &Robot) -> Vec<(&str, &str)> {
    let name = |id: LinkId| robot.links()[id].name();
    robot
        .disabled_collisions()
        .iter()
        .map(|(a, b)| (name(a), name(b)))
        .collect()
}

#[test]
fn default_positions_are_a_pose_of_the_whole_robot() {
    let (robot, findings) = applied(&format!(
        "{HEAD}default_joint_positions:\n  \"turn\": -0.5\n"
    ));
    assert_eq!(findings, []);
    let [pose] = robot.named_poses() else {
        panic!("{:?}", robot.named_poses())
    };
    assert_eq!(
        (pose.name.as_str(), &pose.group, pose.place.line),
        ("default", &None, 8)
    );
    // Defaults: zero, or the nearest limit.
    assert_eq!(
        pose.positions,
        [
            (joint(&robot, "turn"), vec![-0.5]),
            (joint(&robot, "roll"), vec![0.0]),
            (joint(&robot, "far"), vec![0.1])
        ]
    );
    assert_eq!(applied(HEAD).0.named_poses(), []);
}

#[test]
fn a_default_outside_the_limits_is_clamped() {
    let (robot, _) = applied(&format!(
        "{HEAD}default_joint_positions: {{turn: 7, far: -1}}\n"
    ));
    let positions: Vec<f64> = robot.named_poses()[0]
        .positions
        .iter()
        .map(|(_, at)| at[0])
        .collect();
    assert_eq!(positions, [2.0, 0.0, 0.1]);
}

#[test]
fn an_added_frame_has_the_joint_that_it_says() {
    for (kind, expected) in [
        ("FIXED", JointKind::Fixed),
        ("REVOLUTE", JointKind::Revolute),
        ("Prismatic", JointKind::Prismatic),
    ] {
        let (robot, _) = applied(&format!(
            "{HEAD}modifiers:\n{}",
            frame("tip", "base", &format!("j, joint_type: {kind}"))
        ));
        assert_eq!(robot.joints().values().last().unwrap().kind(), expected);
    }
}

#[test]
fn what_planners_need_is_in_the_robot() {
    let text = "format: xrdf
format_version: 1.0
modifiers: [{set_base_frame: still_link}]
default_joint_positions: {turn: 1}
cspace: {joint_names: [roll, turn, base], acceleration_limits: [3, -2, 1], jerk_limits: [4, 5]}
tool_frames: [drone_link, turn_link]
collision: {geometry: g, buffer_distance: {drone_link: 0.5, base: 1}}
self_collision: {geometry: h, buffer_distance: {turn_link: -0.25}, ignore: {drone_link: [turn_link], turn_link: [drone_link]}}
geometry:
  g: {spheres: {turn_link: [{center: [1, 2, 3], radius: 0.125}]}}
  h: {spheres: {}}
";
    let mut robot = robot();
    let mut references = References::default();
    super::apply(text, None, &mut robot, &mut references);
    let name = |id: &LinkId| robot.links()[*id].name();
    assert_eq!(
        (robot.links().len(), name(&robot.tree().roots()[0])),
        (7, "still_link")
    );
    let planning = &robot.planning();
    let expected = [
        Coordinate {
            joint: joint(&robot, "roll"),
            acceleration: Some(3.0),
            jerk: None,
        },
        Coordinate {
            joint: joint(&robot, "turn"),
            acceleration: None,
            jerk: None,
        },
    ];
    assert_eq!(planning.coordinates, expected);
    assert_eq!(
        planning.tool_frames.iter().map(name).collect::<Vec<_>>(),
        ["drone_link", "turn_link"]
    );
    let [g, h] = &planning.groups[..] else {
        panic!("{planning:?}")
    };
    assert_eq!(
        (
            g.name.as_str(),
            name(&g.spheres[0].0),
            g.spheres[0].1[0].radius
        ),
        ("g", "turn_link", 0.125)
    );
    assert_eq!((h.name.as_str(), h.spheres.len()), ("h", 0));
    let (one, other) = (
        planning.collision.as_ref().unwrap(),
        planning.self_collision.as_ref().unwrap(),
    );
    assert_eq!(
        (
            one.group,
            other.group,
            one.buffers.len(),
            one.buffers[0].1,
            other.buffers[0].1
        ),
        (0, 1, 1, 0.5, -0.25)
    );
    let [turn, drone] = ["turn_link", "drone_link"].map(|name| link(&robot, name));
    assert!(planning.ignored.len() == 1 && planning.ignored.contains(turn, drone));
}

#[test]
fn ignored_pairs_are_added_to_existing_ones() {
    let text = format!(
        "{HEAD}geometry:\n  g:\n    spheres: {{}}\nself_collision:\n  geometry: g\n  ignore:\n    turn_link: [base, roll_link]\n    roll_link: [turn_link]\n    base: [still_link]\n"
    );
    let mut robot = robot();
    for (a, b) in [("base", "turn_link"), ("roll_link", "far_link")] {
        let [a, b] = [a, b].map(|name| link(&robot, name));
        robot.disable_collisions([(a, b)]).unwrap();
    }
    assert_eq!(apply(&text, &mut robot), []);
    let expected = [
        ("base", "still_link"),
        ("base", "turn_link"),
        ("turn_link", "roll_link"),
        ("roll_link", "far_link"),
    ];
    assert_eq!(pairs(&robot), expected);
}

#[test]
fn lists_of_a_repeated_frame_are_united() {
    let ball = "[{center: [0, 0, 0], radius: 0x1}]";
    let (robot, found) = applied(&format!(
        "{HEAD}geometry:\n  g:\n    spheres:\n      base: {ball}\n      base: {ball}\nself_collision:\n  geometry: g\n  ignore:\n    base: [turn_link]\n    roll_link: [base]\n    base: [far_link, turn_link]\n"
    ));
    let found: Vec<_> = found
        .iter()
        .map(|found| (found.code, found.place.line, found.severity))
        .collect();
    let repeated = |line| ("xrdf-repeated", line, Severity::Warning);
    assert_eq!(found, [repeated(11), repeated(17), repeated(17)]);
    let expected = [
        ("base", "turn_link"),
        ("base", "roll_link"),
        ("base", "far_link"),
    ];
    assert_eq!(pairs(&robot), expected);
    assert_eq!(counts(&robot, "g"), [("base".to_owned(), 2)]);
    assert_eq!(robot.planning().groups[0].spheres[0].1[0].radius, 1.0);
}

#[test]
fn modifiers_are_written() {
    let text = format!(
        "{HEAD}modifiers:\n{}{}  - set_base_frame: still_link\n",
        frame("late", "early", "late_joint"),
        frame("early", "roll_link", "early_joint"),
    );
    let written = |text: &str| {
        let mut robot = robot();
        let applied = super::apply(text, None, &mut robot, &mut References::default());
        let codes: Vec<_> = applied.diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(codes, ["xrdf-base-set", "xrdf-frames-added"]);
        let text = super::write(&robot, (7.0, 8.0), &applied.modifiers);
        (robot, applied.modifiers, text)
    };
    let (robot, modifiers, text) = written(&text);
    assert_eq!(
        modifiers,
        Modifiers {
            frames: vec!["late".to_owned(), "early".to_owned()],
            base: Some("still_link".to_owned()),
            freed: Vec::new(),
        }
    );
    let (again, same, same_text) = written(&text);
    assert_eq!((same, same_text), (modifiers, text));
    let frames = |robot: &Robot| -> Vec<_> {
        let joints = robot.joints().values();
        joints
            .map(|joint| (joint.name().to_owned(), joint.kind(), joint.origin))
            .collect()
    };
    assert_eq!(frames(&robot), frames(&again));
}

#[test]
fn a_joint_that_mimics_in_the_urdf_is_no_coordinate() {
    let head = HEAD.replace("[turn, roll]", "[roll, finger]");
    let text = format!(
        "{head}modifiers:\n  - set_base_frame: turn_link\ndefault_joint_positions: {{finger: 0.5}}\n"
    );
    let mut robot = robot();
    let applied = super::apply(&text, None, &mut robot, &mut References::default());
    let found = |diagnostics: &[Diagnostic]| -> Vec<_> {
        let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
        errors.map(|d| (d.code, d.place.line)).collect()
    };
    assert_eq!(
        found(&applied.diagnostics),
        [("xrdf-mimic-joint", 9), ("xrdf-mimic-joint", 4)]
    );
    let written = super::write(&robot, (7.0, 8.0), &applied.modifiers);
    assert!(!written.contains("finger\""), "{written}");
    let mut again = self::robot();
    assert_eq!(found(&apply(&written, &mut again)), []);
}

#[test]
fn added_frames_are_written_fixed() {
    let text = format!(
        "{HEAD}modifiers:\n{}default_joint_positions: {{j: 0.5}}\n",
        frame("tip", "base", "j, joint_type: REVOLUTE")
    );
    let mut robot = robot();
    let applied = super::apply(&text, None, &mut robot, &mut References::default());
    let written = super::write(&robot, (7.0, 8.0), &applied.modifiers);
    assert!(written.contains("joint_type: FIXED"), "{written}");
    let found = apply(&written, &mut self::robot());
    assert!(
        found.iter().all(|d| d.severity != Severity::Error),
        "{found:?}"
    );
}

/// A frame to add, in one line from column 5 on.
fn frame(name: &str, parent: &str, joint: &str) -> String {
    let pose = "{position: [1, 2, 3], orientation: {w: 0.5, xyz: [-0.5, 0.5, 0.5]}}";
    format!(
        "  - {{add_frame: {{frame_name: {name}, parent_frame_name: {parent}, joint_name: {joint}, fixed_transform: {pose}}}}}\n"
    )
}

#[test]
fn frames_are_added_in_any_order() {
    let text = format!(
        "{HEAD}modifiers:\n{}{}tool_frames: [tip]\nself_collision: {{geometry: g, ignore: {{tip: [base]}}}}\ngeometry: {{g: {{spheres: {{tip: [{{center: [0, 0, 1], radius: -0.01}}]}}}}}}\n",
        frame("tip", "\"turn_link\"", "tip_joint"),
        frame("turn_link_2", "tip", "other"),
    );
    let backwards = text
        .replace("turn_link_2", "late")
        .replace("frame_name: tip, parent_frame_name: \"turn_link\"", "X");
    let backwards = backwards.replace(
        "frame_name: late, parent_frame_name: tip",
        "frame_name: tip, parent_frame_name: turn_link",
    );
    let backwards = backwards.replace('X', "frame_name: late, parent_frame_name: tip");
    for text in [text, backwards] {
        let (robot, findings) = applied(&text);
        let codes: Vec<_> = findings.iter().map(|d| (d.code, d.place.line)).collect();
        let expected = [("xrdf-frames-added", 8), ("xrdf-no-sphere", 12)];
        assert_eq!(codes, expected, "{findings:?}");
        assert_eq!(
            (
                robot.links().len(),
                robot.joints().len(),
                robot.tree().order().len()
            ),
            (10, 9, 10)
        );
        let [base, tip] = ["base", "tip"].map(|name| link(&robot, name));
        let above = robot.tree().parent_joint(tip).unwrap();
        assert_eq!(
            robot.links()[robot.joints()[above].parent()].name(),
            "turn_link"
        );
        let poses = kinematics::Model::of(&robot).poses(&[]);
        // w 0.5, xyz (-0.5, 0.5, 0.5) maps x to -z, computed by hand: R·(1, 0, 0) = (0, 0, -1).
        let x = poses[tip.index()] * nalgebra::Point3::new(1.0, 0.0, 0.0);
        assert!(
            (x - nalgebra::Point3::new(1.0, 2.0, 2.0)).norm() < 1e-12,
            "{x}"
        );
        // The pair concerns spheres only: neither frame is a body.
        assert_eq!(
            (pairs(&robot), &robot.planning().ignored),
            (vec![], &[(base, tip)].into_iter().collect())
        );
        assert_eq!(robot.planning().tool_frames, [tip]);
    }
}

#[test]
fn texts_other_than_xrdf_change_nothing() {
    let long = format!("{HEAD}{}", " ".repeat(super::MAX_TEXT_BYTES));
    for (text, code, line, column) in [
        ("", "xrdf-not-xrdf", 1, 1),
        ("- a", "xrdf-not-xrdf", 1, 1),
        ("a: 1\nformat: urdf", "xrdf-not-xrdf", 2, 9),
        ("<robot name='r'/>", "xrdf-not-xrdf", 1, 1),
        ("format: xrdf\ncspace: [", "xrdf-malformed-yaml", 2, 9),
        ("format: xrdf\na: &x [*x]", "xrdf-malformed-yaml", 2, 8),
        (long.as_str(), "xrdf-malformed-yaml", 1, 1),
    ] {
        let (robot, found) = applied(text);
        let found: Vec<_> = found
            .iter()
            .map(|d| (d.code, d.place.line, d.place.column))
            .collect();
        assert_eq!(found, [(code, line, column)], "{:.60}", text);
        assert!(robot.named_poses().is_empty() && robot.disabled_collisions().is_empty());
    }
}

#[test]
fn heads_are_checked() {
    for (from, to, expected) in [
        ("format_version: 1.0\n", "", ("xrdf-missing", 1, 1)),
        ("  joint_names: [turn, roll]\n", "", ("xrdf-missing", 4, 3)),
        (
            "  acceleration_limits: [1, 2.5]\n",
            "",
            ("xrdf-missing", 4, 3),
        ),
        ("1.0", "0.9", ("xrdf-version", 2, 17)),
        ("1.0", "[1]", ("xrdf-version", 2, 17)),
        ("cspace", "cspaces", ("xrdf-unknown-key", 3, 1)),
        (
            "joint_names: [turn, roll]",
            "joints: []",
            ("xrdf-unknown-key", 4, 3),
        ),
        ("  jerk_limits: [500, 1e3]\n", "", ("xrdf-missing", 4, 3)),
        ("[500, 1e3]", "[500]", ("xrdf-unequal-lengths", 6, 16)),
        ("[500, 1e3]", "[500, fast]", ("xrdf-wrong-form", 6, 22)),
        ("[500, 1e3]", "[500, \"1\"]", ("xrdf-wrong-form", 6, 22)),
        ("[500, 1e3]", "[500, .inf]", ("xrdf-wrong-form", 6, 22)),
        ("[500, 1e3]", "500", ("xrdf-wrong-form", 6, 16)),
        ("[1, 2.5]", "[-1, 2.5]", ("xrdf-bad-value", 5, 25)),
        ("[turn, roll]", "[turn, rol]", ("xrdf-unknown-joint", 4, 23)),
        ("[turn, roll]", "[turn, still]", ("xrdf-joint-type", 4, 23)),
        ("[turn, roll]", "[turn, plane]", ("xrdf-joint-type", 4, 23)),
        ("[turn, roll]", "[turn, drone]", ("xrdf-joint-type", 4, 23)),
        (
            "[turn, roll]",
            "[turn, finger]",
            ("xrdf-mimic-joint", 4, 23),
        ),
        (
            "[turn, roll]",
            "[turn, turn]",
            ("xrdf-repeated-joint", 4, 23),
        ),
        ("[turn, roll]", "[]", ("xrdf-no-coordinate", 4, 16)),
        ("[500, 1e3]", "[500, .nan]", ("xrdf-wrong-form", 6, 22)),
        ("[500, 1e3]", "[500, -0x1]", ("xrdf-wrong-form", 6, 22)),
        ("[turn, roll]", "[turn, [roll]]", ("xrdf-wrong-form", 4, 23)),
    ] {
        let text = HEAD.replacen(from, to, 1);
        assert_eq!(findings(&text).first(), Some(&expected), "{text}");
    }
    assert_eq!(findings(&HEAD.replace("1.0", "2.0")), []);
    assert_eq!(
        findings("format: xrdf\nformat_version: 1.0\n"),
        [("xrdf-missing", 1, 1)]
    );
}

#[test]
fn sections_are_checked() {
    let spheres = |inside: &str| format!("geometry:\n  g:\n    spheres:\n{inside}\n");
    for (text, expected) in [
        (
            "default_joint_positions:\n  turn: 2.5\n",
            vec![("xrdf-outside-limits", 8, 9)],
        ),
        (
            "default_joint_positions:\n  turn: high\n",
            vec![("xrdf-wrong-form", 8, 9)],
        ),
        (
            "default_joint_positions:\n  turm: 1\n",
            vec![("xrdf-unknown-joint", 8, 3)],
        ),
        (
            "default_joint_positions:\n  still: 0\n",
            vec![("xrdf-joint-type", 8, 3)],
        ),
        (
            "default_joint_positions:\n  finger: 0\n",
            vec![("xrdf-mimic-joint", 8, 3)],
        ),
        (
            "default_joint_positions:\n  turn: 0\n  turn: 1\n",
            vec![("xrdf-repeated-joint", 9, 3)],
        ),
        (
            "default_joint_positions: 1\n",
            vec![("xrdf-wrong-form", 7, 26)],
        ),
        (
            "tool_frames: [base, tool]\n",
            vec![("xrdf-unknown-frame", 7, 21)],
        ),
        (
            "tool_frames: [base, base]\n",
            vec![("xrdf-repeated", 7, 21)],
        ),
        ("extra: 1\n", vec![("xrdf-unknown-key", 7, 1)]),
        (
            "cspace: {}\ngeometry: {g: {spheres: {}}, g: {spheres: {}}}\n",
            vec![("xrdf-repeated-key", 7, 1), ("xrdf-repeated-key", 8, 30)],
        ),
        ("collision: {}\n", vec![("xrdf-missing", 7, 12)]),
        (
            "collision: {geometry: h}\n",
            vec![("xrdf-unknown-geometry", 7, 23)],
        ),
        (
            "world_collision: {geometry: h}\n",
            vec![
                ("xrdf-other-version", 7, 1),
                ("xrdf-unknown-geometry", 7, 29),
            ],
        ),
        (
            "world_collision: {geometry: g}\ncollision: {geometry: g}\ngeometry: {g: {spheres: {}}}\n",
            vec![("xrdf-repeated", 7, 1)],
        ),
        // A missing value is an empty list or map.
        (
            "modifiers:\ntool_frames: ~\ngeometry: {g: {spheres: {base: null, turn_link: }}}\nself_collision:\n  geometry: g\n  ignore:\n  buffer_distance:\n",
            vec![],
        ),
        // A radius that only a buffer distance makes positive, and one that none does.
        (
            "geometry: {g: {spheres: {base: [{center: [0, 0, 0], radius: -0.1}, {center: [0, 0, 0], radius: -0.2}], turn_link: [{center: [0, 0, 0], radius: 0}]}}}\ncollision: {geometry: g, buffer_distance: {base: 0.1}}\nself_collision: {geometry: g, buffer_distance: {base: 0.3}}\n",
            vec![("xrdf-no-sphere", 7, 116)],
        ),
        ("tool_frames: \"\"\n", vec![("xrdf-wrong-form", 7, 14)]),
        (
            "geometry: {g: {clone: [g]}}\n",
            vec![
                ("xrdf-other-version", 7, 16),
                ("xrdf-circular-clone", 7, 24),
            ],
        ),
        (
            "collision: {geometry: a}\nself_collision: {geometry: b}\ngeometry: {a: {spheres: {}}, b: {spheres: {}}}\n",
            vec![
                ("xrdf-several-geometries", 9, 30),
                ("xrdf-two-geometries", 8, 28),
            ],
        ),
        (
            "geometry: {a: {spheres: {}}}\nself_collision:\n  geometry: a\n  buffer_distance: {base: 0.1, hand: x}\n  ignore: {base: [base]}\n",
            vec![
                ("xrdf-unknown-frame", 10, 32),
                ("xrdf-wrong-form", 10, 38),
                ("xrdf-same-frame", 11, 19),
            ],
        ),
        (
            "geometry: {a: {boxes: {}}}\n",
            vec![("xrdf-unknown-key", 7, 16), ("xrdf-missing", 7, 15)],
        ),
        (
            &spheres("      hand: []"),
            vec![("xrdf-unknown-frame", 10, 7)],
        ),
        (
            &spheres("      base: [{radius: 1}]"),
            vec![("xrdf-missing", 10, 14)],
        ),
        (
            &spheres("      base: [{radius: r, center: [0, 0]}]"),
            vec![("xrdf-wrong-form", 10, 34), ("xrdf-wrong-form", 10, 23)],
        ),
        ("---\na: 1\n", vec![("xrdf-repeated", 8, 1)]),
        (
            "modifiers:\n  - set_base_frame: nowhere\n",
            vec![("xrdf-unknown-frame", 8, 21)],
        ),
        (
            "modifiers:\n  - set_base_frame: still_link\n",
            vec![("xrdf-base-set", 8, 21)],
        ),
        (
            "modifiers:\n  - set_base_frame: roll_link\ntool_frames: [base, drone_link]\ndefault_joint_positions: {turn: 1, far: 0.2}\n",
            vec![
                ("xrdf-leader-gone", 8, 21),
                ("xrdf-base-set", 8, 21),
                ("xrdf-above-base", 10, 27),
                ("xrdf-above-base", 4, 17),
                ("xrdf-above-base", 4, 23),
                ("xrdf-above-base", 9, 15),
            ],
        ),
        (
            "modifiers:\n  - set_base_frame: still_link\n  - set_base_frame: turn_link\n",
            vec![("xrdf-two-bases", 9, 21), ("xrdf-base-set", 8, 21)],
        ),
        (
            "modifiers:\n  - set_base_frame: base\n  - set_base_frame: base\n",
            vec![("xrdf-repeated", 9, 21)],
        ),
        (
            &format!(
                "modifiers:\n{}  - set_base_frame: tip\n",
                frame("tip", "base", "j")
            ),
            vec![("xrdf-base-added", 9, 21), ("xrdf-frames-added", 8, 3)],
        ),
        (
            &format!(
                "modifiers:\n{}  - set_base_frame: still_link\n",
                frame("tip", "base", "j")
            ),
            vec![("xrdf-above-base", 8, 54), ("xrdf-base-set", 9, 21)],
        ),
        (
            "modifiers:\n  - {move_frame: 1}\n",
            vec![("xrdf-unknown-modifier", 8, 6)],
        ),
        (
            "modifiers:\n  - add_frame: {frame_name: a}\n",
            vec![("xrdf-missing", 8, 5); 3],
        ),
        (
            &format!("modifiers:\n{}", frame("base", "turn_link", "j")),
            vec![("xrdf-name-taken", 8, 30)],
        ),
        (
            &format!("modifiers:\n{}", frame("tip", "turn_link", "turn")),
            vec![("xrdf-name-taken", 8, 77)],
        ),
        (
            &format!("modifiers:\n{}", frame("tip", "tip", "j")),
            vec![("xrdf-circular-frames", 8, 54)],
        ),
        // A cycle once, a frame below it, and a frame below a missing one.
        (
            &format!(
                "modifiers:\n{}{}{}{}{}",
                frame("a", "b", "ja"),
                frame("b", "a", "jb"),
                frame("c", "b", "jc"),
                frame("d", "gone", "jd"),
                frame("e", "d", "je"),
            ),
            vec![
                ("xrdf-circular-frames", 8, 52),
                ("xrdf-unknown-frame", 10, 52),
                ("xrdf-unknown-frame", 11, 52),
                ("xrdf-unknown-frame", 12, 52),
            ],
        ),
        (
            &format!(
                "modifiers:\n{}",
                frame("tip", "base", "j").replace("w: 0.5", "w: 0.6")
            ),
            vec![("xrdf-not-unit", 8, 127), ("xrdf-frames-added", 8, 3)],
        ),
        (
            &format!(
                "modifiers:\n{}",
                frame("tip", "base", "j")
                    .replace("w: 0.5, xyz: [-0.5, 0.5, 0.5]", "w: 0, xyz: [0, 0, 0]")
            ),
            vec![("xrdf-bad-value", 8, 127)],
        ),
        (
            &format!(
                "modifiers:\n{}",
                frame("tip", "base", "j, joint_type: REVOLUTE")
            ),
            vec![("xrdf-bad-value", 8, 87), ("xrdf-frames-added", 8, 3)],
        ),
        (
            &format!(
                "modifiers:\n{}",
                frame("tip", "base", "j, joint_type: fixed")
            ),
            vec![("xrdf-joint-type-case", 8, 87), ("xrdf-frames-added", 8, 3)],
        ),
        (
            &format!(
                "modifiers:\n{}",
                frame("tip", "base", "j, joint_type: HINGE")
            ),
            vec![("xrdf-bad-value", 8, 87)],
        ),
        (
            "geometry: {a: {spheres: {}}, b: {spheres: {}}}\n",
            vec![("xrdf-several-geometries", 7, 30)],
        ),
        (
            "geometry: {g: {spheres: {base: &s [{center: [0, 0, 0], radius: 1}], drone_link: *s}}}\nself_collision: {geometry: g, buffer_distance: {base: -0.5}}\n",
            vec![("xrdf-self-collision", 8, 17)],
        ),
        (
            "geometry: {g: {spheres: {base: &s [{center: [0, 0, 0], radius: 1}], drone_link: *s}}}\nself_collision: {geometry: g, ignore: {base: [drone_link]}}\n",
            vec![],
        ),
        (
            "geometry: {g: {spheres: {base: &s [{center: [0, 0, 0], radius: 1}], drone_link: *s}}}\nself_collision: {geometry: g, buffer_distance: {base: -2}}\n",
            vec![("xrdf-no-sphere", 7, 36)],
        ),
    ] {
        assert_eq!(findings(&format!("{HEAD}{text}")), expected, "{text}");
    }
    let two = "world_collision: {geometry: a}\nself_collision: {geometry: b}\ngeometry: {a: {spheres: {}}, b: {spheres: {}}}\n";
    assert_eq!(
        findings(&format!("{}{two}", HEAD.replace("1.0", "2.0"))),
        []
    );
}

/// Names of links and numbers of spheres.
fn counts(robot: &Robot, group: &str) -> Vec<(String, usize)> {
    let group = robot
        .planning()
        .groups
        .iter()
        .find(|known| known.name == group)
        .unwrap();
    let mut counts: Vec<_> = group
        .spheres
        .iter()
        .map(|(link, spheres)| (robot.links()[*link].name().to_owned(), spheres.len()))
        .collect();
    counts.sort();
    counts
}

#[test]
fn a_group_contains_the_spheres_of_its_clones() {
    let head = HEAD.replace("1.0", "2.0");
    let sphere = "{center: [0, 0, 0], radius: 0.1}";
    let text = format!(
        "{head}world_collision: {{geometry: all}}\nself_collision: {{geometry: own}}\ngeometry:\n  all: {{clone: [more, own]}}\n  \
         own: {{spheres: {{base: [{sphere}, {sphere}]}}, clone: }}\n  more: {{spheres: {{base: [{sphere}], drone_link: [{sphere}]}}, clone: [own]}}\n"
    );
    let (robot, found) = applied(&text);
    assert_eq!(found, []);
    let of = |list: &[(&str, usize)]| {
        list.iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(&robot, "all"), of(&[("base", 3), ("drone_link", 1)]));
    assert_eq!(
        (counts(&robot, "own"), counts(&robot, "more")),
        (of(&[("base", 2)]), counts(&robot, "all"))
    );
    let (one, other) = (
        robot.planning().collision.as_ref().unwrap(),
        robot.planning().self_collision.as_ref().unwrap(),
    );
    assert_eq!((one.group, other.group), (0, 1));

    for (groups, expected) in [
        ("a: {clone: [b]}", vec![("xrdf-unknown-geometry", 7, 24)]),
        ("a: {clone: b}", vec![("xrdf-wrong-form", 7, 23)]),
        (
            "a: {clone: [b]}, b: {clone: [c]}, c: {clone: [b]}",
            vec![
                ("xrdf-circular-clone", 7, 58),
                ("xrdf-circular-clone", 7, 41),
            ],
        ),
        ("a: {}", vec![("xrdf-missing", 7, 15)]),
    ] {
        assert_eq!(
            findings(&format!("{head}geometry: {{{groups}}}\n")),
            expected,
            "{groups}"
        );
    }
    assert_eq!(
        findings(&format!(
            "{head}collision: {{geometry: a}}\ngeometry: {{a: {{spheres: {{}}}}}}\n"
        )),
        [("xrdf-other-version", 7, 1)]
    );

    // Each group contains all groups before it: transitive clones grow beyond any list.
    let nested: String = (1..200)
        .map(|k| {
            format!(
                "  g{k}: {{clone: [{}]}}\n",
                (0..k).map(|k| format!("g{k}, ")).collect::<String>()
            )
        })
        .collect();
    let (robot, found) = applied(&format!(
        "{head}geometry:\n  g0: {{spheres: {{base: [{sphere}]}}}}\n{nested}"
    ));
    assert!(
        found
            .iter()
            .all(|found| found.code == "xrdf-too-many-spheres")
            && !found.is_empty(),
        "{:?}",
        found.first()
    );
    assert_eq!(
        (counts(&robot, "g100"), robot.planning().groups.len()),
        (of(&[("base", 1)]), 200)
    );
}

#[test]
fn a_base_fixed_to_the_world_stays_fixed() {
    let robot = |kind: &str| {
        let joint = |name: &str, kind: &str, parent: &str, child: &str| {
            format!(
                "<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/><origin xyz='1 0 0'/>\
                 <limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
            )
        };
        let links: String = ["world", "table", "base", "arm"]
            .iter()
            .map(|name| format!("<link name='{name}'/>"))
            .collect();
        let joints = [
            ("t", "fixed", "world", "table"),
            ("b", kind, "table", "base"),
            ("turn", "revolute", "base", "arm"),
        ];
        let joints: String = joints
            .map(|(name, kind, parent, child)| joint(name, kind, parent, child))
            .concat();
        read(&format!("<robot name='r'>{links}{joints}</robot>"), None)
            .robot
            .unwrap()
    };
    let text = HEAD
        .replace("[turn, roll]", "[turn]")
        .replace("[1, 2.5]", "[1]")
        .replace("[500, 1e3]", "[5]");
    let text =
        format!("{text}modifiers: [{{set_base_frame: base}}]\ntool_frames: [world, arm, table]\n");
    let mut held = robot("fixed");
    let found: Vec<_> = apply(&text, &mut held)
        .iter()
        .map(|d| (d.code, d.place.line, d.place.column))
        .collect();
    // The world is not one of its frames.
    assert_eq!(
        found,
        [
            ("xrdf-base-set", 7, 30),
            ("xrdf-above-base", 8, 15),
            ("xrdf-above-base", 8, 27)
        ]
    );
    let names: Vec<&str> = held.links().values().map(|link| link.name()).collect();
    assert_eq!(
        (names, held.world_root()),
        (vec!["base", "arm", "world"], held.link_named("world"))
    );
    let [turn, hold] = held.joints().as_slice() else {
        panic!("{:?}", held.joints())
    };
    assert_eq!(
        (turn.name(), hold.name(), hold.kind()),
        ("turn", "b", JointKind::Fixed)
    );
    assert_eq!(
        (hold.parent(), hold.child()),
        (link(&held, "world"), link(&held, "base"))
    );
    // All poses are relative to the new base.
    assert_eq!(
        kinematics::Model::of(&held).poses(&[])[1]
            .translation
            .vector,
        nalgebra::Vector3::x()
    );
    let mut free = robot("prismatic");
    let found = apply(&text, &mut free);
    assert!(
        found
            .iter()
            .any(|found| found.code == "xrdf-base-set" && found.help.contains("--base fixed")),
        "{found:?}"
    );
    assert_eq!((free.links().len(), free.world_root()), (2, None));
}

#[test]
fn sizes_are_limited() {
    let frames: String = (0..1001)
        .map(|k| frame(&format!("f{k}"), "base", &format!("j{k}")))
        .collect();
    let (robot, found) = applied(&format!("{HEAD}modifiers:\n{frames}"));
    assert_eq!(robot.links().len(), 8 + 1000);
    assert_eq!(
        (found[0].code, found[0].place.line, found[0].place.column),
        ("xrdf-too-many-frames", 1008, 6)
    );

    let names: String = (0..1005).map(|k| format!("hand{k}, ")).collect();
    let (_, found) = applied(&format!("{HEAD}tool_frames: [{names}]"));
    let last = found.last().unwrap();
    assert_eq!(
        (found.len(), last.code, last.message.as_str()),
        (1001, "xrdf-more-findings", "5 more findings are not listed")
    );
}

/// Whatever is done to a text, reading ends and satisfies the model's invariants.
#[test]
fn damaged_texts_are_read_or_refused() {
    let text = format!(
        "{HEAD}modifiers:\n{}  - set_base_frame: base\ndefault_joint_positions: {{turn: 1}}\ntool_frames: [tip]\ncollision: {{geometry: g, buffer_distance: {{tip: 1}}}}\nself_collision:\n  geometry: g\n  ignore:\n    tip: [base]\ngeometry:\n  g:\n    spheres:\n      tip:\n      - center: [0, 0, 1]\n        radius: 1\n",
        frame("tip", "turn_link", "tip_joint")
    );
    let whole = robot();
    for at in 0..text.len() {
        let (head, tail) = text.split_at(at);
        for damaged in [
            head.to_owned(),
            format!("{head}{}", &tail[1..]),
            format!("{head}-{tail}"),
            format!("{head}[{tail}"),
            format!("{head}\n{tail}"),
        ] {
            let mut robot = whole.clone();
            apply(&damaged, &mut robot);
            assert_eq!(robot.tree().order().len(), robot.links().len());
            assert!(
                robot
                    .planning()
                    .coordinates
                    .iter()
                    .all(|coordinate| robot.joints().contains(coordinate.joint))
            );
            let planning = &robot.planning();
            let spheres = planning
                .groups
                .iter()
                .flat_map(|group| &group.spheres)
                .map(|(link, _)| link);
            assert!(
                planning
                    .tool_frames
                    .iter()
                    .chain(spheres)
                    .all(|link| robot.links().contains(*link))
            );
            for pose in robot.named_poses() {
                assert!(pose.positions.is_sorted_by(|a, b| a.0 < b.0), "{damaged}");
                assert!(pose.positions.iter().all(|(id, at)| at.len() == 1
                    && at[0].is_finite()
                    && robot.joints().contains(*id)));
            }
            assert!(
                robot
                    .disabled_collisions()
                    .iter()
                    .all(|(a, b)| a < b && robot.links().contains(b))
            );
        }
    }
}

#[test]
fn pairs_of_frames_are_reported_once() {
    let mut robot = robot();
    let name = "roll_link";
    let frame = link(&robot, name);
    robot.set_collisions(frame, Vec::new()).unwrap();
    let text = format!(
        "{HEAD}self_collision:\n  geometry: g\n  ignore:\n    base: [turn_link,\n     {name}]\n    {name}: [still_link]\n"
    );
    let found: Vec<_> = apply(&text, &mut robot)
        .into_iter()
        .filter(|d| d.code == "xrdf-frame-in-pair")
        .collect();
    let [finding] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (finding.place.line, finding.place.column),
        (11, 6),
        "{finding}"
    );
    assert!(finding.message.contains(name), "{finding}");
    assert_eq!(pairs(&robot), [("base", "turn_link")]);
}

/// A robot with other names of its first links.
fn renamed(robot: &Robot, names: &[&str]) -> Robot {
    let mut renamed = Robot::new(robot.name());
    for (id, link) in robot.links().iter() {
        let name = names.get(id.index()).copied().unwrap_or(link.name());
        let id = renamed.add_link(Link::new(name)).unwrap();
        renamed.link_mut(id).clone_from(link);
        renamed.set_visuals(id, link.visuals.clone()).unwrap();
        renamed.set_collisions(id, link.collisions.clone()).unwrap();
    }
    for joint in robot.joints().values() {
        renamed.add_joint(joint.clone()).unwrap();
    }
    let mimics = robot.joints().iter().map(|(id, joint)| (id, joint.mimic()));
    renamed.set_mimics(mimics).unwrap();
    renamed
}

/// Written text reads back equal, whatever the names are.
#[test]
fn what_is_written_is_read_again() {
    let names = ["a: b", "\"q\" \\ #", "é\u{1}", "yes", "1.5"];
    let plain = renamed(&robot(), &names);
    let link = |index| plain.links().handle(index).unwrap();
    let [turn, roll, far] = ["turn", "roll", "far"].map(|name| joint(&plain, name));
    let spheres = |radius: f64| {
        vec![Sphere {
            center: [1e-9, -0.0, 12345.0].into(),
            radius,
        }]
    };
    let group = |name: &str| SphereGroup {
        name: name.to_owned(),
        spheres: vec![(link(1), spheres(-0.01)), (link(0), spheres(1.0 / 3.0))],
    };
    let collision = |group| PlanningCollision {
        group,
        buffers: vec![(link(3), -0.5), (link(2), 1e-7)],
    };
    let planning = Planning {
        coordinates: vec![
            Coordinate {
                joint: roll,
                acceleration: Some(12.0),
                jerk: Some(0.1),
            },
            Coordinate {
                joint: turn,
                acceleration: None,
                jerk: Some(500.0),
            },
        ],
        tool_frames: vec![link(4), link(0)],
        groups: vec![group("g")],
        collision: Some(collision(0)),
        self_collision: Some(collision(0)),
        ignored: [(0, 1), (0, 2), (2, 3)]
            .map(|(a, b)| (link(a), link(b)))
            .into_iter()
            .collect(),
    };
    let pose = NamedPose {
        name: "default".to_owned(),
        group: None,
        chain: None,
        positions: vec![
            (turn, vec![0.1 + 0.2]),
            (roll, vec![-3.0]),
            (far, vec![0.25]),
        ],
        fixed: Vec::new(),
        place: Default::default(),
    };
    let mut several = planning.clone();
    several.groups.push(SphereGroup {
        name: "h: 1".to_owned(),
        spheres: Vec::new(),
    });
    several.self_collision = Some(collision(1));
    for planning in [planning, several] {
        let mut robot = plain.clone();
        robot.set_planning(planning).unwrap();
        robot.add_named_pose(pose.clone()).unwrap();
        let text = super::write(&robot, (7.0, 8.0), &Modifiers::default());
        let mut again = plain.clone();
        let found = apply(&text, &mut again);
        assert!(
            found
                .iter()
                .all(|d| ["xrdf-self-collision", "xrdf-no-sphere"].contains(&d.code)),
            "{found:?}\n{text}"
        );
        let mut expected = robot.planning().clone();
        expected.coordinates[1].acceleration = Some(7.0);
        assert_eq!(*again.planning(), expected, "{text}");
        assert_eq!(again.named_poses()[0].positions, pose.positions);
    }
}
