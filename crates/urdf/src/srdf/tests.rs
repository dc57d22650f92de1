use super::apply;
use crate::read;
use urdf_usd_robot::{JointId, LinkId, NamedPose, Robot, kinematics};

/// A robot of four links in a chain, the first three of which can collide.
fn robot() -> Robot {
    let link = |name: &str, inside: &str| format!("<link name=\"{name}\">{inside}</link>");
    let shape = "<collision><geometry><sphere radius=\"1\"/></geometry></collision>";
    let joint = |parent: &str, child: &str| {
        format!(
            "<joint name=\"{child}_joint\" type=\"fixed\"><parent link=\"{parent}\"/><child link=\"{child}\"/></joint>"
        )
    };
    let text = [
        link("base", shape),
        link("arm", shape),
        link("hand", shape),
        link("tool", ""),
        joint("base", "arm"),
        joint("arm", "hand"),
        joint("hand", "tool"),
    ];
    read(
        &format!("<robot name=\"r\">{}</robot>", text.concat()),
        None,
    )
    .robot
    .unwrap()
}

/// The names of the pairs that `text` results in, and the findings: code, line, message.
fn applied(text: &str) -> (Vec<String>, Vec<(&'static str, u32, String)>) {
    let mut robot = robot();
    let diagnostics = apply(text, None, &mut robot);
    let name = |link: LinkId| robot.links()[link].name();
    let pairs = robot
        .disabled_collisions()
        .iter()
        .map(|(a, b)| format!("{} {}", name(a), name(b)))
        .collect();
    (
        pairs,
        diagnostics
            .into_iter()
            .map(|d| (d.code, d.place.line, format!("{} ({})", d.message, d.help)))
            .collect(),
    )
}

#[test]
fn pairs_are_ordered_and_each_once() {
    let (pairs, findings) = applied(
        "<robot name='r'><group name='g'/>
         <disable_collisions link1='hand' link2='base' reason='Never'/>
         <disable_collisions link1='base' link2='hand'/>
         <disable_collisions link1='base' link2='arm' reason='Adjacent'/></robot>",
    );
    assert_eq!(pairs, ["base arm", "base hand"]);
    assert_eq!(findings, []);
}

#[test]
fn defaults_give_way_to_enabled_pairs_and_those_to_disabled_ones() {
    let defaults = "<robot name='r'><disable_default_collisions link='arm'/>";
    assert_eq!(
        applied(&format!("{defaults}</robot>")).0,
        ["base arm", "arm hand"]
    );
    let enabled = format!("{defaults}<enable_collisions link1='arm' link2='base'/>");
    assert_eq!(applied(&format!("{enabled}</robot>")).0, ["arm hand"]);
    assert_eq!(
        applied(&format!(
            "{enabled}<disable_collisions link1='arm' link2='base'/></robot>"
        ))
        .0,
        ["base arm", "arm hand"]
    );
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    let (pairs, findings) = applied(
        "<robot name='other'>
<disable_collisions link1='bass' link2='hand'/>
<disable_collisions link1='bass' link2='arm'/>
<disable_collisions link1='arm'/>
<disable_collisions link1='arm' link2='arm'/></robot>",
    );
    assert_eq!(pairs, [""; 0]);
    let short: Vec<_> = findings
        .iter()
        .map(|(code, line, _)| (*code, *line))
        .collect();
    let expected = [
        ("srdf-other-robot", 1),
        ("srdf-unknown-link", 2),
        ("srdf-no-link", 4),
        ("srdf-same-link", 5),
    ];
    assert_eq!(short, expected);
    assert!(
        findings[1].2.contains("did you mean \"base\"?"),
        "{findings:?}"
    );
}

#[test]
fn pairs_of_frames_are_reported_once() {
    let (pairs, findings) = applied(
        "<robot name='r'>
<enable_collisions link1='tool' link2='hand'/>
<disable_collisions link1='arm' link2='tool'/>
<disable_collisions link1='tool' link2='hand'/>
<disable_collisions link1='arm' link2='hand'/></robot>",
    );
    assert_eq!(pairs, ["arm hand"]);
    let (_, by_default) =
        applied("<robot name='r'>\n<disable_default_collisions link='tool'/></robot>");
    assert_eq!(
        by_default
            .iter()
            .map(|(code, line, _)| (*code, *line))
            .collect::<Vec<_>>(),
        [("srdf-frame-in-pair", 2)]
    );
    let [(code, line, message)] = &findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!((*code, *line), ("srdf-frame-in-pair", 2));
    assert!(message.starts_with("\"tool\" is a frame"), "{message}");
}

#[test]
fn texts_other_than_srdf_change_nothing() {
    for (text, code) in [
        ("<sdf/>", "urdf-not-urdf"),
        ("<robot", "urdf-malformed-xml"),
        ("", "urdf-malformed-xml"),
        (
            "<robot xmlns:xacro='http://www.ros.org/wiki/xacro'><xacro:arm/></robot>",
            "urdf-xacro",
        ),
    ] {
        let (pairs, findings) = applied(text);
        assert_eq!(
            (pairs.len(), findings.len(), findings[0].0),
            (0, 1, code),
            "{text}"
        );
    }
    assert!(
        applied("<robot xmlns:xacro='http://www.ros.org/wiki/xacro'><xacro:arm/></robot>").1[0]
            .2
            .contains("robot.srdf")
    );
    let (pairs, findings) = applied(
        "<robot name='r' xmlns:xacro='xacro'><xacro:arm/><disable_collisions link1='base' link2='arm'/></robot>",
    );
    assert_eq!(
        (pairs.len(), findings.len(), findings[0].0),
        (1, 1, "urdf-xacro-left")
    );
}

/// A robot with one joint of every kind. `finger` mimics `turn` with multiplier -2 and offset 0.5;
/// the planar joint's axis is z.
fn mover() -> Robot {
    let joint = |name: &str, kind: &str, inside: &str| {
        format!(
            "<link name=\"{name}_link\"/><joint name=\"{name}\" type=\"{kind}\"><parent link=\"base\"/><child link=\"{name}_link\"/>{inside}</joint>"
        )
    };
    let text = [
        joint("still", "fixed", ""),
        joint(
            "turn",
            "revolute",
            "<limit lower=\"-1\" upper=\"2\" effort=\"1\" velocity=\"1\"/>",
        ),
        joint("roll", "continuous", ""),
        joint(
            "slide",
            "prismatic",
            "<limit lower=\"0\" upper=\"0.1\" effort=\"1\" velocity=\"1\"/>",
        ),
        joint(
            "finger",
            "continuous",
            "<mimic joint=\"turn\" multiplier=\"-2\" offset=\"0.5\"/>",
        ),
        joint("plane", "planar", "<axis xyz=\"0 0 1\"/>"),
        joint("wall", "planar", "<axis xyz=\"1 0 0\"/>"),
        joint("drone", "floating", ""),
    ];
    read(
        &format!(
            "<robot name=\"r\"><link name=\"base\"/>{}</robot>",
            text.concat()
        ),
        None,
    )
    .robot
    .unwrap()
}

/// A joint of [`mover`].
fn joint(name: &str) -> JointId {
    mover().joint_named(name).unwrap()
}

/// The poses that `inside`, from line 2 on, results in, and the findings: code, line, column.
fn posed(inside: &str) -> (Vec<NamedPose>, Vec<(&'static str, u32, u32)>) {
    let mut robot = mover();
    let text =
        format!("<robot name='r'><group name='g'/><virtual_joint name='world'/>\n{inside}</robot>");
    let diagnostics = apply(&text, None, &mut robot);
    (
        robot.named_poses().to_vec(),
        diagnostics
            .into_iter()
            .map(|d| (d.code, d.place.line, d.place.column))
            .collect(),
    )
}

/// The positions of the only joint that the only pose of `joint` sets.
fn positions_of(joint: &str) -> Vec<f64> {
    let (poses, findings) = posed(&format!(
        "<group_state name='s' group='g'>{joint}</group_state>"
    ));
    assert_eq!(findings, [], "{joint}");
    let [pose] = &poses[..] else {
        panic!("{poses:?}")
    };
    let [(_, positions)] = &pose.positions[..] else {
        panic!("{pose:?}")
    };
    positions.clone()
}

#[test]
fn group_states_are_named_poses_in_the_robots_order() {
    let (poses, findings) = posed(
        "<group_state name='up ' group='g'>
<joint name='slide' value='0.05'/><joint name='turn' value=' 1.5e0 '/></group_state>
<group_state group='g' name='down'><joint name='roll' value='-7'/></group_state>",
    );
    assert_eq!(findings, []);
    let [up, down] = &poses[..] else {
        panic!("{poses:?}")
    };
    assert_eq!(
        (up.name.as_str(), up.group.as_deref(), up.place.line),
        ("up", Some("g"), 2)
    );
    assert_eq!(
        up.positions,
        [(joint("turn"), vec![1.5]), (joint("slide"), vec![0.05])]
    );
    assert_eq!(
        (down.name.as_str(), &down.positions[..]),
        ("down", &[(joint("roll"), vec![-7.0])][..])
    );
}

#[test]
fn planar_and_floating_joints_are_where_moveit_puts_them() {
    let robot = mover();
    let moved = |name: &str, at: &[f64]| kinematics::motion(&robot.joints()[joint(name)], at);
    // MoveIt's plane is xy, whatever the basis of the model's positions.
    let plane = positions_of("<joint name='plane' value='0.3 -0.4 0'/>");
    assert_eq!(plane.len(), 2);
    let at = moved("plane", &plane).translation.vector;
    assert!(
        (at - nalgebra::Vector3::new(0.3, -0.4, 0.0)).norm() < 1e-12,
        "{at}"
    );
    assert!(
        positions_of("<joint name='plane' value='0 0 0'/>")
            .iter()
            .all(|q| q.is_sign_positive())
    );
    // A quarter turn about y, not normalised.
    let drone = positions_of("<joint name='drone' value='1 2 3 0 1 0 1'/>");
    let pose = moved("drone", &drone);
    let turned = pose * nalgebra::Point3::new(1.0, 0.0, 0.0);
    assert!(
        (turned - nalgebra::Point3::new(1.0, 2.0, 2.0)).norm() < 1e-9,
        "{turned}"
    );
}

#[test]
fn what_is_wrong_with_a_state_is_reported_with_its_place() {
    let state = |inside: &str| {
        posed(&format!(
            "<group_state name='s' group='g'>\n<joint name='roll' value='1'/>{inside}</group_state>"
        ))
    };
    // The place is that of the faulty attribute, if any: columns count from <joint name='roll'
    // value='1'/>, 30 characters.
    for (joint, code, column) in [
        ("<joint value='1'/>", "srdf-incomplete-joint", 31),
        ("<joint name='turn'/>", "srdf-incomplete-joint", 31),
        ("<joint name='trun' value='1'/>", "srdf-unknown-joint", 38),
        (
            "<joint name='world' value='1 2 3'/>",
            "srdf-virtual-joint",
            38,
        ),
        ("<joint name='still' value='1'/>", "srdf-fixed-joint", 38),
        (
            "<joint name='finger' value='1'/>",
            "srdf-mimic-joint-apart",
            52,
        ),
        ("<joint name='roll' value='2'/>", "srdf-repeated-joint", 31),
        (
            "<joint name='turn' value='${pi/2}'/>",
            "urdf-bad-number",
            50,
        ),
        (
            "<joint name='turn' value='nan'/>",
            "urdf-non-finite-number",
            50,
        ),
        ("<joint name='turn' value=''/>", "srdf-value-count", 50),
        ("<joint name='turn' value='1 2'/>", "srdf-value-count", 50),
        ("<joint name='plane' value='1 2'/>", "srdf-value-count", 51),
        (
            "<joint name='drone' value='1 2 3 0 0 0'/>",
            "srdf-value-count",
            51,
        ),
        (
            "<joint name='drone' value='1 2 3 0 0 0 0'/>",
            "srdf-no-rotation",
            51,
        ),
    ] {
        let (poses, findings) = state(joint);
        assert_eq!(findings, [(code, 3, column)], "{joint}");
        assert_eq!(
            poses[0].positions,
            [(self::joint("roll"), vec![1.0])],
            "{joint}"
        );
    }
    let (poses, findings) = state("<joint name='turn' value='2.5'/>");
    assert_eq!(findings, [("srdf-outside-limits", 3, 50)]);
    assert_eq!(poses[0].positions[0], (joint("turn"), vec![2.5]));
    for (joint, at) in [
        ("plane' value='1 0 0.5", [0.0, -1.0]),
        ("wall' value='7 0 0", [0.0, 0.0]),
    ] {
        let (poses, findings) = state(&format!("<joint name='{joint}'/>"));
        assert_eq!(findings[0].0, "srdf-value-not-held", "{joint}");
        assert_eq!(poses[0].positions[1].1, at, "{joint}");
    }
}

#[test]
fn mimic_joints_are_left_out() {
    let state = |inside: &str| {
        posed(&format!(
            "<group_state name='s' group='g'>{inside}</group_state>"
        ))
    };
    let (poses, findings) =
        state("<joint name='turn' value='1'/><joint name='finger' value='-1.5'/>");
    assert_eq!(findings, [("srdf-mimic-joint", 2, 70)]);
    assert_eq!(poses[0].positions, [(joint("turn"), vec![1.0])]);
    let (_, findings) = state("<joint name='finger' value='-1'/><joint name='turn' value='1'/>");
    assert_eq!(findings, [("srdf-mimic-joint-apart", 2, 54)]);
}

#[test]
fn what_is_wrong_with_states_themselves_is_reported() {
    let joint = "<joint name='roll' value='1'/>";
    let (poses, findings) = posed(&format!("<group_state group='g'>{joint}</group_state>"));
    assert_eq!(
        (poses.len(), &findings[..]),
        (0, &[("srdf-unnamed-state", 2, 1)][..])
    );
    let (poses, findings) = posed("<group_state name='s' group='g'/>");
    assert_eq!(
        (poses.len(), &findings[..]),
        (0, &[("srdf-empty-state", 2, 1)][..])
    );
    let (poses, findings) = posed(&format!("<group_state name='s'>{joint}</group_state>"));
    assert_eq!(
        (poses[0].group.as_deref(), &findings[..]),
        (None, &[("srdf-state-without-group", 2, 1)][..])
    );
    let (poses, findings) = posed(&format!(
        "<group_state name='s' group='h'>{joint}</group_state>"
    ));
    assert_eq!(
        (poses[0].group.as_deref(), &findings[..]),
        (Some("h"), &[("srdf-unknown-group", 2, 23)][..])
    );

    let state = |value: u32| {
        format!(
            "<group_state name='s' group='g'><joint name='roll' value='{value}'/></group_state>\n"
        )
    };
    let (poses, findings) = posed(&format!("{}{}", state(1), state(2)));
    assert_eq!(findings, [("srdf-repeated-state", 3, 1)]);
    assert_eq!(
        (poses.len(), &poses[0].positions[..]),
        (1, &[(self::joint("roll"), vec![2.0])][..])
    );

    let many: String = (0..1001)
        .map(|k| format!("<group_state name='{k}' group='g'>{joint}</group_state>\n"))
        .collect();
    let (poses, findings) = posed(&many);
    assert_eq!(
        (poses.len(), &findings[..]),
        (1000, &[("srdf-too-many-states", 1002, 1)][..])
    );
}

#[test]
fn links_of_end_effectors_are_tool_frames() {
    let mut robot = robot();
    let text = "<robot name='r'>
        <end_effector name='gripper' parent_link='tool' group='g'/>
        <end_effector name='other' parent_link=' hand ' group='g'/>
        <end_effector name='again' parent_link='tool' group='g'/>
        <end_effector name='lost' parent_link='palm' group='g'/></robot>";
    let found: Vec<_> = apply(text, None, &mut robot)
        .iter()
        .map(|d| (d.code, d.place.line))
        .collect();
    let frames: Vec<&str> = robot
        .planning()
        .tool_frames
        .iter()
        .map(|&link| robot.links()[link].name())
        .collect();
    assert_eq!(
        (frames, found),
        (vec!["tool", "hand"], vec![("srdf-unknown-link", 5)])
    );
}
