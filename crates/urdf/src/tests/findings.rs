//! Every code, with its line, column and element, and the recovery.

use std::collections::HashSet;
use std::path::Path;

use super::super::{codes, decode, read};
use super::{findings, text};
use urdf_usd_robot::{JointKind, Robot};

/// A robot with two links and, between them, the joint `joint`, which begins on line 2.
fn joined(joint: &str) -> String {
    text(&format!("{joint}<link name=\"a\"/><link name=\"b\"/>"))
}

/// A joint of the type `kind` with `inside` on line 3.
fn joint(kind: &str, inside: &str) -> String {
    joined(&format!(
        "<joint name=\"j\" type=\"{kind}\"><parent link=\"a\"/><child link=\"b\"/>\n{inside}</joint>"
    ))
}

/// A link with `inside` on line 3.
fn link(inside: &str) -> String {
    text(&format!("<link name=\"a\">\n{inside}</link>"))
}

/// A link with a visual whose geometry is `geometry`, on line 3, column 19.
fn shape(geometry: &str) -> String {
    link(&format!("<visual><geometry>{geometry}</geometry></visual>"))
}

/// Asserts that `text` has exactly one finding, and returns the robot.
#[track_caller]
fn one(text: &str, code: &str, line: u32, column: u32, element: &str) -> Option<Robot> {
    assert_eq!(
        findings(text),
        [(text_code(code), line, column, element.to_owned())],
        "{text}"
    );
    read(text, None).robot
}

fn text_code(id: &str) -> &'static str {
    codes::ALL
        .iter()
        .find(|code| code.id == id)
        .unwrap_or_else(|| panic!("{id} is no code"))
        .id
}

#[test]
fn texts_without_a_robot() {
    let stops = |text: &str, code: &str, line: u32, column: u32, element: &str| {
        assert!(one(text, code, line, column, element).is_none(), "{text}");
    };
    stops("", "urdf-malformed-xml", 1, 1, "");
    stops(
        "\n  <robot>\n <link name='a'>\n</robot>",
        "urdf-malformed-xml",
        3,
        2,
        "",
    );
    stops("<robot name='é' x=\"<\"/>", "urdf-malformed-xml", 1, 20, "");
    stops(
        "<robot>\n  <link name='a'/>\n\n",
        "urdf-malformed-xml",
        1,
        1,
        "",
    );
    stops(
        "<robot>\n<x:a>&nope;</x:a></robot>",
        "urdf-malformed-xml",
        2,
        6,
        "",
    );
    stops("robot:\n  name: r", "urdf-malformed-xml", 1, 1, "");
    stops(
        "<!-- a --><sdf version='1.7'/>",
        "urdf-not-urdf",
        1,
        11,
        "sdf",
    );
    stops("<mujoco/>", "urdf-not-urdf", 1, 1, "mujoco");
    stops("<x:robot xmlns:x='y'/>", "urdf-not-urdf", 1, 1, "x:robot");
    stops(
        "<robot name='r'>\n<material name='a'><color rgba='0 0 0 1'/></material></robot>",
        "urdf-no-links",
        1,
        1,
        "robot \"r\"",
    );
    let xacro = "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>\n <a/><xacro:b c='d'><link name='a'/></xacro:b></robot>";
    stops(xacro, "urdf-xacro", 2, 6, "xacro:b");
    let many = format!(
        "<robot {}/>",
        (0..3000).map(|n| format!("a{n}='' ")).collect::<String>()
    );
    stops(&many, "urdf-too-large", 1, 1, "");
    assert_eq!(
        decode(b"<?xml version='1.0' encoding='EUC-JP'?>")
            .unwrap_err()
            .code,
        "urdf-unsupported-encoding"
    );
}

#[test]
fn unexpanded_xacro_elements_do_not_stop_a_robot() {
    let text = "<robot name='r' xmlns='http://playerstage.sf.net' xmlns:x='http://www.ros.org/wiki/xacro'>
<x:include filename='a.xacro'><x:b/></x:include>
<link name='a'><visual> <x:property name='pi' value='3'/><geometry><sphere radius='1'/></geometry></visual></link>
 <x:if value='1'><link name='b'/></x:if></robot>";
    let found = [("x:include", 2, 1), ("x:property", 3, 25), ("x:if", 4, 2)];
    let outcome = read(text, None);
    for (diagnostic, (name, line, column)) in outcome.diagnostics.iter().zip(found) {
        assert_eq!(
            (
                diagnostic.code,
                diagnostic.place.line,
                diagnostic.place.column
            ),
            ("urdf-xacro-left", line, column)
        );
        assert!(
            diagnostic.message.starts_with(&format!("<{name}> "))
                && diagnostic.help.contains("run xacro"),
            "{diagnostic}"
        );
    }
    let robot = outcome.robot.unwrap();
    assert_eq!(
        (
            outcome.diagnostics.len(),
            robot.links().len(),
            robot.links().as_slice()[0].visuals.len()
        ),
        (3, 1, 1)
    );
    let kept: Vec<&str> = robot
        .custom
        .elements
        .iter()
        .map(|element| element.name.as_str())
        .collect();
    assert_eq!(kept, ["x:include", "x:if"]);
    // Elements without a prefix are not xacro's, whatever the default namespace.
    let plain = "<robot name='r' xmlns='http://www.ros.org/wiki/xacro'><link name='a'/></robot>";
    assert_eq!(
        (
            read(plain, None).diagnostics.len(),
            read(plain, None).robot.unwrap().links().len()
        ),
        (0, 1)
    );
    let many = format!(
        "<robot name='r' xmlns:xacro='xacro'><link name='a'/>{}</robot>",
        "<xacro:a/>".repeat(30)
    );
    let many = read(&many, None).diagnostics;
    assert!(
        many.len() == 20 && many[19].message.contains("as are 10 more"),
        "{}",
        many[19]
    );
}

#[test]
fn texts_that_need_repair() {
    let robot = one(
        "<robot name='r'>\n <link name='a'/>\n <ignition:x ignition:y='z'/></robot>",
        "urdf-unbound-prefix",
        3,
        14,
        "",
    );
    let custom = robot.unwrap().custom;
    assert_eq!(
        (
            custom.elements[0].name.as_str(),
            custom.elements[0].place.line
        ),
        ("ignition:x", 3)
    );
    assert_eq!(
        custom.elements[0].attributes,
        [("ignition:y".to_owned(), "z".to_owned())]
    );
    assert_eq!(
        (custom.elements[0].place.column, custom.attributes.len()),
        (2, 0)
    );
    one(
        "<robot name='r'>\n<link name='a\u{fffd}'/></robot>",
        "urdf-broken-characters",
        2,
        14,
        "",
    );
    one(
        "\u{feff}<robot name='r' version='2'>\n<link name='a'/></robot>",
        "urdf-unknown-version",
        1,
        17,
        "robot \"r\"",
    );
    one(
        "<robot name='r'>\n<link name='a'/>words</robot>",
        "urdf-left-out",
        2,
        17,
        "robot \"r\"",
    );
    one(
        "<robot name='r'>\n<link name='a'/>\n\n  lost\n words</robot>",
        "urdf-left-out",
        4,
        3,
        "robot \"r\"",
    );
    one(
        "<robot name='r'>\n<link name='a'>\n<![CDATA[ä]]></link></robot>",
        "urdf-left-out",
        3,
        1,
        "link \"a\"",
    );
    one(
        "<robot name='r'>\n<link name='a'><?pi x?></link></robot>",
        "urdf-left-out",
        2,
        16,
        "link \"a\"",
    );
    let loose =
        "<robot name='r'>\n<!-- ---- a > b ---- -->\n<link name='a' x='1'/><!-- ü ---></robot>";
    let robot = one(loose, "urdf-loose-comment", 2, 1, "").unwrap();
    assert_eq!(
        (
            robot.links().as_slice()[0].place.line,
            robot.links().as_slice()[0].place.column
        ),
        (3, 1)
    );
    let deep = format!(
        "<robot name='r'>\n<link name='a'/>\n{}{}</robot>",
        "<x>".repeat(100_000),
        "</x>".repeat(100_000)
    );
    let found = findings(&deep);
    assert_eq!(
        found.iter().map(|f| (f.0, f.1, f.2)).collect::<Vec<_>>(),
        [("urdf-too-deep", 3, 190)]
    );
    let many = text(&"<link/>".repeat(1200));
    let found = read(&many, None).diagnostics;
    assert_eq!(
        (found.len(), found.last().map(|d| d.code)),
        (1001, Some("urdf-more-findings"))
    );
    // White space before the declaration is not reported.
    assert_eq!(
        findings(
            "\n<?xml version='1.1' encoding='UTF-16'?><robot name='r'><link name='a'/></robot>\0"
        ),
        []
    );
}

#[test]
fn names() {
    let nameless = "\n<robot><link name='a'/></robot>";
    assert_eq!(
        one(nameless, "urdf-nameless-robot", 2, 1, "robot")
            .unwrap()
            .name(),
        "robot"
    );
    assert_eq!(
        read(nameless, Some(Path::new("/x/arm.urdf")))
            .robot
            .unwrap()
            .name(),
        "arm"
    );
    let robot = one(
        &text("<link name=' '/>"),
        "urdf-unnamed-element",
        2,
        1,
        "link",
    );
    assert_eq!(
        robot.unwrap().links().as_slice()[0].name(),
        "unnamed_link_1"
    );
    let robot = one(
        &joined("<joint type='fixed'><parent link='a'/><child link='b'/></joint>"),
        "urdf-unnamed-element",
        2,
        1,
        "joint",
    );
    assert_eq!(
        robot.unwrap().joints().as_slice()[0].name(),
        "unnamed_joint_2"
    );
    let robot = one(
        &text("<link name='a'/>\n<link name='a'><x/></link>"),
        "urdf-duplicate-link",
        3,
        1,
        "link \"a\"",
    )
    .unwrap();
    assert_eq!(
        (
            robot.links().len(),
            robot.custom.elements[0].children[0].name.as_str()
        ),
        (1, "x")
    );
    let twice = |second: &str| {
        let joint = |link: &str| {
            format!(
                "<joint name='j' type='fixed'><parent link='a'/><child link='{link}'/></joint>\n"
            )
        };
        text(&format!(
            "{}{}<link name='a'/><link name='b'/><link name='c'/>",
            joint("b"),
            joint(second)
        ))
    };
    let robot = one(&twice("c"), "urdf-duplicate-joint", 3, 1, "joint \"j\"").unwrap();
    assert_eq!(
        robot
            .joints()
            .values()
            .map(|j| j.name())
            .collect::<Vec<_>>(),
        ["j", "j_2"]
    );
    let found = findings(&twice("b"));
    assert_eq!(
        found.iter().map(|f| f.0).collect::<Vec<_>>(),
        ["urdf-duplicate-joint", "urdf-several-roots"]
    );
}

#[test]
fn references() {
    let codes = |joint: &str| {
        findings(&joined(joint))
            .into_iter()
            .map(|f| (f.0, f.1, f.2, f.3))
            .collect::<Vec<_>>()
    };
    let roots = ("urdf-several-roots", 1, 1, "robot \"r\"".to_owned());
    let missing = codes("<joint name='j' type='fixed'><parent link='a'/></joint>");
    assert_eq!(
        missing,
        [
            ("urdf-joint-without-link", 2, 1, "joint \"j\"".to_owned()),
            roots.clone()
        ]
    );
    let empty = codes("<joint name='j' type='fixed'><parent link='a'/>\n<child/></joint>");
    assert_eq!(
        empty,
        [
            (
                "urdf-joint-without-link",
                3,
                1,
                "joint \"j\" / child".to_owned()
            ),
            roots.clone()
        ]
    );
    let unknown =
        codes("<joint name='j' type='fixed'><parent link='a'/>\n<child link='B'/></joint>");
    assert_eq!(
        unknown,
        [
            ("urdf-unknown-link", 3, 8, "joint \"j\" / child".to_owned()),
            roots.clone()
        ]
    );
    let itself = codes("<joint name='j' type='fixed'><parent link='a'/><child link='a'/></joint>");
    assert_eq!(
        itself,
        [
            ("urdf-joint-to-itself", 2, 1, "joint \"j\"".to_owned()),
            roots
        ]
    );
    let outcome = read(
        &joined("<joint name='j' type='fixed'><parent link='a'/><child link='B'/></joint>"),
        None,
    );
    assert_eq!(outcome.diagnostics[0].help, "did you mean \"b\"?");
    let robot = outcome.robot.unwrap();
    assert_eq!((robot.joints().len(), robot.tree().roots().len()), (0, 2));
    // Elements that were left out are kept whole.
    assert_eq!(robot.custom.elements[0].children.len(), 2);
}

#[test]
fn loops_and_roots() {
    let joint = |name: &str, parent: &str, child: &str| {
        format!(
            "<joint name='{name}' type='fixed'><parent link='{parent}'/><child link='{child}'/></joint>\n"
        )
    };
    let inside = joint("ab", "a", "b") + &joint("bc", "b", "c") + &joint("ac", "a", "c");
    let three = "<link name='a'/><link name='b'/><link name='c'/>";
    let robot = one(&text(&(inside + three)), "urdf-loop", 4, 1, "joint \"ac\"").unwrap();
    assert_eq!(
        robot
            .joints()
            .values()
            .map(|j| j.closes_loop())
            .collect::<Vec<_>>(),
        [false, false, true]
    );
    let ring = joint("ab", "a", "b") + &joint("bc", "b", "c") + &joint("ca", "c", "a");
    let robot = one(&text(&(ring + three)), "urdf-loop", 4, 1, "joint \"ca\"").unwrap();
    assert_eq!(robot.tree().roots().len(), 1);
    let robot = one(
        &text(&(joint("ab", "a", "b") + three)),
        "urdf-several-roots",
        1,
        1,
        "robot \"r\"",
    )
    .unwrap();
    assert_eq!(robot.tree().roots().len(), 2);
    // The consequence is reported as well.
    let reported = |inside: &str| {
        read(&text(inside), None)
            .diagnostics
            .into_iter()
            .map(|d| d.message)
            .collect::<Vec<_>>()
    };
    let kept = "it is kept as a constraint outside the tree, in which";
    let diamond = joint("ab", "a", "b") + &joint("bc", "b", "c") + &joint("ac", "a", "c") + three;
    assert_eq!(
        reported(&diamond),
        [format!(
            "joint \"ac\" closes a loop; {kept} \"c\" is attached by the joint \"bc\""
        )]
    );
    let ring = joint("ab", "a", "b") + &joint("bc", "b", "c") + &joint("ca", "c", "a") + three;
    assert_eq!(
        reported(&ring),
        [format!(
            "joint \"ca\" makes the link \"a\" its own ancestor; {kept} \"a\" is the root"
        )]
    );
    let back = joint("ab", "a", "b") + &joint("bc", "b", "c") + &joint("cb", "c", "b") + three;
    assert_eq!(
        reported(&back),
        [format!(
            "joint \"cb\" makes the link \"b\" its own ancestor; {kept} \"b\" is attached by the joint \"ab\""
        )]
    );
    let roots = "the robot has 2 roots, but URDF allows one: \"a\", \"c\"; each is kept with its descendants, all at the origin";
    assert_eq!(reported(&(joint("ab", "a", "b") + three)), [roots]);
    assert_eq!(
        reported(""),
        ["robot \"r\" has no link, so there is nothing to convert"]
    );
}

#[test]
fn structure() {
    let robot = one(&link("<inertial><origin/><origin xyz='1 2 3'/><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"),
        "urdf-repeated-element", 3, 20, "link \"a\" / inertial / origin 2").unwrap();
    assert_eq!(
        robot.links().as_slice()[0].custom.elements[0].children[0].attributes,
        [("xyz".to_owned(), "1 2 3".to_owned())]
    );
    let robot = one(
        &joint("rotary", ""),
        "urdf-unknown-joint-type",
        2,
        17,
        "joint \"j\"",
    )
    .unwrap();
    assert_eq!(robot.joints().as_slice()[0].kind(), JointKind::Fixed);
    assert_eq!(
        robot.joints().as_slice()[0].custom.attributes,
        [("type".to_owned(), "rotary".to_owned())]
    );
    let robot = one(
        &link("<visual name='v'><geometry/></visual>"),
        "urdf-no-geometry",
        3,
        1,
        "link \"a\" / visual \"v\"",
    )
    .unwrap();
    assert_eq!(
        (
            robot.links().as_slice()[0].visuals.len(),
            robot.links().as_slice()[0].custom.elements[0].name.as_str()
        ),
        (0, "visual")
    );
    one(
        &link("<collision/>"),
        "urdf-no-geometry",
        3,
        1,
        "link \"a\" / collision",
    );
    one(
        &shape("<cone/>"),
        "urdf-unknown-geometry",
        3,
        19,
        "link \"a\" / visual / geometry / cone",
    );
    one(
        &shape("<mesh scale='1 1 1'/>"),
        "urdf-no-mesh-file",
        3,
        19,
        "link \"a\" / visual / geometry / mesh",
    );
    let robot = one(
        &shape("<box size='1 1 1'/><sphere radius='1'/>"),
        "urdf-repeated-element",
        3,
        38,
        "link \"a\" / visual / geometry / sphere",
    )
    .unwrap();
    assert_eq!(
        robot.links().as_slice()[0].visuals[0].custom.elements[0].children[0].name,
        "sphere"
    );
}

#[test]
fn numbers() {
    let origin = |attribute: &str| joint("fixed", &format!("<origin {attribute}/>"));
    let element = "joint \"j\" / origin";
    for bad in [
        "xyz='1,0 2 3'",
        "xyz='1 2'",
        "xyz=''",
        "rpy='a b c'",
        "rpy='${x} 0 0'",
        "quat_xyzw='0 0 0 0'",
        "xyz='1 2 3 4'",
    ] {
        one(&origin(bad), "urdf-bad-number", 3, 9, element);
    }
    for bad in ["xyz='nan 0 0'", "rpy='0 0 -inf'", "xyz='0 0 1e39'"] {
        one(&origin(bad), "urdf-non-finite-number", 3, 9, element);
    }
    one(
        &origin("rpy='0 0 0' quat_xyzw='0 0 0 1'"),
        "urdf-two-rotations",
        3,
        1,
        element,
    );
    let comma = read(&origin("xyz='1,0 2 3'"), None).diagnostics;
    assert!(comma[0].help.contains("comma"), "{}", comma[0]);
    let xacro = read(&origin("xyz='${x} 2 3'"), None).diagnostics;
    assert!(xacro[0].help.contains("xacro"), "{}", xacro[0]);
}

#[test]
fn shapes() {
    let at = |form: &str| format!("link \"a\" / visual / geometry / {form}");
    let left = |robot: Option<Robot>| robot.unwrap().links().as_slice()[0].visuals.len();
    assert_eq!(
        left(one(
            &shape("<sphere/>"),
            "urdf-missing-number",
            3,
            19,
            &at("sphere")
        )),
        0
    );
    assert_eq!(
        left(one(
            &shape("<box size='1 1'/>"),
            "urdf-bad-number",
            3,
            24,
            &at("box")
        )),
        0
    );
    assert_eq!(
        left(one(
            &shape("<sphere radius='-1'/>"),
            "urdf-negative-dimension",
            3,
            27,
            &at("sphere")
        )),
        1
    );
    assert_eq!(
        left(one(
            &shape("<sphere radius='0'/>"),
            "urdf-empty-geometry",
            3,
            19,
            &at("sphere")
        )),
        0
    );
    assert_eq!(
        left(one(
            &shape("<box size='0 1 0'/>"),
            "urdf-empty-geometry",
            3,
            19,
            &at("box")
        )),
        0
    );
    assert_eq!(
        left(one(
            &shape("<box size='0 1 1'/>"),
            "urdf-flat-geometry",
            3,
            19,
            &at("box")
        )),
        1
    );
    assert_eq!(
        left(one(
            &shape("<cylinder radius='1' length='0'/>"),
            "urdf-flat-geometry",
            3,
            19,
            &at("cylinder")
        )),
        1
    );
    assert_eq!(
        left(one(
            &shape("<mesh filename='m' scale='1 0 1'/>"),
            "urdf-zero-scale",
            3,
            38,
            &at("mesh")
        )),
        1
    );
    assert_eq!(
        left(one(
            &shape("<mesh filename='m' scale='2'/>"),
            "urdf-uniform-scale",
            3,
            38,
            &at("mesh")
        )),
        1
    );
    assert_eq!(
        left(one(
            &shape("<mesh filename='m' scale='2 2'/>"),
            "urdf-bad-number",
            3,
            38,
            &at("mesh")
        )),
        1
    );
}

#[test]
fn masses() {
    let inertial = |mass: &str, ixx: &str| {
        link(&format!(
            "<inertial>{mass}<inertia ixx='{ixx}' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
        ))
    };
    let at = |part: &str| format!("link \"a\" / inertial{part}");
    one(&inertial("", "1"), "urdf-no-mass", 3, 1, &at(""));
    one(
        &inertial("<mass value='0'/>", "1"),
        "urdf-zero-mass",
        3,
        17,
        &at(" / mass"),
    );
    one(
        &inertial("<mass value='-1'/>", "1"),
        "urdf-negative-mass",
        3,
        17,
        &at(" / mass"),
    );
    for ixx in ["3", "-1", "0"] {
        one(
            &inertial("<mass value='1'/>", ixx),
            "urdf-non-physical-inertia",
            3,
            28,
            &at(" / inertia"),
        );
    }
    one(
        &link("<inertial><mass value='1'/></inertial>"),
        "urdf-no-inertia",
        3,
        1,
        &at(""),
    );
    one(
        &link("<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"),
        "urdf-no-inertia",
        3,
        28,
        &at(" / inertia"),
    );
}

#[test]
fn axes_and_limits() {
    let limit = "<limit lower='-1' upper='1' effort='1' velocity='1'/>";
    one(
        &joint("revolute", &format!("{limit}<axis xyz='0 0 0'/>")),
        "urdf-zero-axis",
        3,
        60,
        "joint \"j\" / axis",
    );
    one(
        &joint("continuous", "<axis xyz='0 2 0'/>"),
        "urdf-axis-not-unit",
        3,
        7,
        "joint \"j\" / axis",
    );
    assert_eq!(findings(&joint("fixed", "<axis xyz='0 0 0'/>")), []);
    one(&joint("revolute", ""), "urdf-no-limit", 2, 1, "joint \"j\"");
    one(
        &joint("prismatic", "<limit effort='1' velocity='1'/>"),
        "urdf-no-limit",
        3,
        1,
        "joint \"j\" / limit",
    );
    let limits = |attributes: &str, code: &str, column: u32| {
        let required = ["effort", "velocity"]
            .into_iter()
            .filter(|name| !attributes.contains(name));
        let required: String = required.map(|name| format!(" {name}='1'")).collect();
        let robot = one(
            &joint("revolute", &format!("<limit {attributes}{required}/>")),
            code,
            3,
            column,
            "joint \"j\" / limit",
        )
        .unwrap();
        robot.joints().as_slice()[0].limit.unwrap()
    };
    let half = limits("upper='2'", "urdf-half-limit", 1);
    assert_eq!(half.bounds.sides(), (Some(0.0), Some(2.0)));
    let open = limits("lower='-inf' upper='2'", "urdf-infinite-limit", 8);
    assert_eq!(open.bounds.sides(), (None, Some(2.0)));
    let swapped = limits("upper='-2' lower='1'", "urdf-limits-swapped", 19);
    assert_eq!(swapped.bounds.sides(), (Some(-2.0), Some(1.0)));
    let negative = limits("upper='2' lower='1' effort='-3'", "urdf-negative-limit", 28);
    assert_eq!(negative.effort, Some(3.0));
    let robot = one(
        &joint("continuous", "<dynamics damping='-0.5'/>"),
        "urdf-negative-limit",
        3,
        11,
        "joint \"j\" / dynamics",
    )
    .unwrap();
    assert_eq!(
        robot.joints().as_slice()[0].dynamics.unwrap().damping,
        Some(0.5)
    );
    limits("upper='2' lower='x'", "urdf-bad-number", 18);
    limits("upper='2' lower='nan'", "urdf-non-finite-number", 18);
}

#[test]
fn what_urdfdom_requires() {
    let missing = |kind: &str, inside: &str, element: &str, part: &str| {
        let text = joint(kind, inside);
        let robot = one(
            &text,
            "urdf-missing-attribute",
            3,
            1,
            &format!("joint \"j\" / {element}"),
        )
        .unwrap();
        let message = &read(&text, None).diagnostics[0].message;
        assert!(message.contains(part), "{message}");
        robot
    };
    let robot = missing(
        "revolute",
        "<limit lower='0' upper='1' velocity='2'/>",
        "limit",
        "has no effort,",
    );
    assert_eq!(
        robot.joints().as_slice()[0]
            .limit
            .map(|limit| (limit.effort, limit.velocity)),
        Some((None, Some(2.0)))
    );
    missing(
        "prismatic",
        "<limit lower='0' upper='1' effort='2'/>",
        "limit",
        "has no velocity,",
    );
    // Whatever the joint's type.
    missing(
        "continuous",
        "<limit/>",
        "limit",
        "no effort and no velocity,",
    );
    missing("fixed", "<limit effort='1'/>", "limit", "no velocity,");
    let robot = missing(
        "continuous",
        "<safety_controller k_position='3'/>",
        "safety_controller",
        "no k_velocity,",
    );
    assert_eq!(
        robot.joints().as_slice()[0]
            .safety
            .and_then(|safety| safety.k_position),
        Some(3.0)
    );
    missing(
        "continuous",
        "<dynamics/>",
        "dynamics",
        "neither damping nor friction",
    );
    assert_eq!(
        findings(&joint("continuous", "<dynamics friction='0'/>")),
        []
    );

    let version = |version: &str| {
        findings(&format!(
            "<robot name='r' version='{version}'><link name='a'/></robot>"
        ))
    };
    assert_eq!(
        version("1")[0],
        ("urdf-unknown-version", 1, 17, "robot \"r\"".to_owned())
    );
    for known in ["1.0", "1.1", "1.2"] {
        assert_eq!(version(known), [], "{known}");
    }
}

#[test]
fn all_errors_of_a_left_out_joint_are_reported() {
    let fine = "<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>";
    let bad = "<joint name='j' type='revolute'><parent link='a'/>\n<child link='nope'/>\n<origin xyz='1 2'/>\n<limit lower='x' upper='1' effort='1' velocity='1'/>\n<mimic joint='k'/></joint>";
    let codes = |text: &str| {
        let mut found: Vec<_> = findings(text).into_iter().map(|f| (f.0, f.1)).collect();
        found.sort_by_key(|&(_, line)| line);
        found
    };
    let expected = [
        ("urdf-duplicate-joint", 3),
        ("urdf-unknown-link", 4),
        ("urdf-bad-number", 5),
        ("urdf-bad-number", 6),
        ("urdf-dangling-mimic", 7),
    ];
    let text = joined(&format!("{fine}\n{bad}"));
    assert_eq!(codes(&text), expected);
    let robot = read(&text, None).robot.unwrap();
    assert_eq!(
        robot
            .joints()
            .values()
            .map(|joint| joint.name())
            .collect::<Vec<_>>(),
        ["j"]
    );
    // A joint that is left out claims no name; the repetition is reported all the same.
    let text = joined(&format!("{bad}\n{fine}"));
    let found = codes(&text);
    assert!(
        found.contains(&("urdf-duplicate-joint", 7)) && found.len() == 5,
        "{found:?}"
    );
    assert_eq!(
        read(&text, None).robot.unwrap().joints().as_slice()[0].name(),
        "j"
    );
    // The mimic of a left-out joint says why.
    let follower = "<joint name='f' type='continuous'><parent link='a'/><child link='b'/>\n<mimic joint='j'/></joint>";
    let found = read(&joined(&format!("{follower}{bad}")), None).diagnostics;
    assert!(
        found
            .iter()
            .any(|d| d.code == "urdf-dangling-mimic" && d.message.contains("is left out")),
        "{found:?}"
    );
    // The same joint twice, and the same link.
    let twice = "<joint name='j' type='fixed'><parent link='a'/><child link='b'/>\n<origin xyz='1'/></joint>";
    assert_eq!(
        codes(&joined(&format!("{fine}\n{twice}"))),
        [("urdf-duplicate-joint", 3), ("urdf-bad-number", 4)]
    );
    let links = "<link name='a'/>\n<link name='a'>\n<inertial><mass value='x'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>\n<visual><geometry>\n<mesh filename='m'/></geometry>\n<material name='m'/></visual></link>";
    let outcome = read(&super::text(links), None);
    let found: Vec<_> = outcome
        .diagnostics
        .iter()
        .map(|d| (d.code, d.place.line))
        .collect();
    assert_eq!(
        found,
        [
            ("urdf-duplicate-link", 3),
            ("urdf-bad-number", 4),
            ("urdf-unknown-material", 7)
        ]
    );
    assert_eq!(outcome.references.meshes.len(), 0);
    // An error in a shape does not hide others either.
    let two = shape("<cylinder radius='x'/>");
    assert_eq!(
        codes(&two),
        [("urdf-bad-number", 3), ("urdf-missing-number", 3)]
    );
    let two = shape("<mesh scale='0 1 1'/>");
    assert_eq!(
        codes(&two),
        [("urdf-zero-scale", 3), ("urdf-no-mesh-file", 3)]
    );
}

#[test]
fn mimics() {
    let robot = |mimics: &[&str]| {
        let joints: String = mimics
            .iter()
            .enumerate()
            .map(|(index, mimic)| {
                format!("<joint name='j{index}' type='continuous'><parent link='l{index}'/><child link='l{}'/>{mimic}</joint>\n<link name='l{index}'/>", index + 1)
            })
            .collect();
        text(&format!("{joints}<link name='l{}'/>", mimics.len()))
    };
    let leaders = |robot: Option<Robot>| {
        robot
            .unwrap()
            .joints()
            .values()
            .map(|j| j.mimic().map(|m| m.joint.index()))
            .collect::<Vec<_>>()
    };
    let found = one(
        &robot(&["<mimic joint='none'/>"]),
        "urdf-dangling-mimic",
        2,
        80,
        "joint \"j0\" / mimic",
    )
    .unwrap();
    assert_eq!(
        found.joints().as_slice()[0].custom.elements[0].attributes,
        [("joint".to_owned(), "none".to_owned())]
    );
    assert_eq!(found.joints().as_slice()[0].mimic(), None);
    for (mimic, column) in [("<mimic/>", 73), ("<mimic joint=' '/>", 80)] {
        let unnamed = robot(&[mimic]);
        one(
            &unnamed,
            "urdf-dangling-mimic",
            2,
            column,
            "joint \"j0\" / mimic",
        );
        let message = &read(&unnamed, None).diagnostics[0].message;
        assert!(message.ends_with("names no joint"), "{message}");
    }
    one(
        &robot(&["<mimic joint='j0'/>"]),
        "urdf-mimic-cycle",
        2,
        80,
        "joint \"j0\" / mimic",
    );
    let ring = robot(&[
        "<mimic joint='j1'/>",
        "<mimic joint='j2'/>",
        "<mimic joint='j0'/>",
        "<mimic joint='j2'/>",
    ]);
    assert_eq!(
        leaders(one(
            &ring,
            "urdf-mimic-cycle",
            2,
            73,
            "joint \"j0\" / mimic"
        )),
        [None, Some(2), Some(0), Some(2)]
    );
    let still =
        robot(&["<mimic joint='j1'/>", ""]).replace("j1' type='continuous'", "j1' type='fixed'");
    one(
        &still,
        "urdf-mimic-without-position",
        2,
        73,
        "joint \"j0\" / mimic",
    );
}

#[test]
fn materials() {
    let visual = |material: &str| {
        format!(
            "<link name='a'>\n<visual><geometry><sphere radius='1'/></geometry>{material}</visual></link>"
        )
    };
    let at = "link \"a\" / visual / material \"m\"";
    let red = "<color rgba='1 0 0 1'/>";
    let twice = text(&format!(
        "<material name='m'>{red}</material>\n<material name='m'><color rgba='0 1 0 1'/></material>\n{}",
        visual("<material name='m'/>")
    ));
    let robot = one(&twice, "urdf-duplicate-material", 3, 1, "material \"m\"").unwrap();
    assert_eq!(
        (
            robot.materials().len(),
            robot.materials().as_slice()[0].base_color
        ),
        (1, [1.0, 0.0, 0.0, 1.0])
    );
    let same = text(&format!(
        "<material name='m'>{red}</material>\n<material name='m'>{red}</material>\n{}",
        visual("<material name='m'/>")
    ));
    let robot = one(&same, "urdf-duplicate-material", 3, 1, "material \"m\"").unwrap();
    assert!(robot.custom.elements.is_empty(), "nothing of it is lost");
    let nameless = text(&format!(
        "<material name=' '>{red}</material>{}",
        visual("")
    ));
    let robot = one(&nameless, "urdf-unnamed-element", 2, 1, "material").unwrap();
    assert_eq!(
        (
            robot.materials().len(),
            robot.custom.elements[0].name.as_str()
        ),
        (0, "material")
    );
    let nameless = text(&visual(&format!("<material>{red}</material>")));
    let robot = one(
        &nameless,
        "urdf-unnamed-element",
        3,
        50,
        "link \"a\" / visual / material",
    )
    .unwrap();
    assert_eq!(
        robot.links().as_slice()[0].visuals[0]
            .material
            .map(|id| robot.materials()[id].base_color),
        Some([1.0, 0.0, 0.0, 1.0])
    );
    let own = text(&format!(
        "<material name='m'>{red}</material>{}",
        visual("<material name='m'><color rgba='0 1 0 1'/></material>")
    ));
    let robot = one(&own, "urdf-material-redefined", 3, 50, at).unwrap();
    assert_eq!(
        robot.links().as_slice()[0].visuals[0]
            .material
            .map(|id| robot.materials()[id].base_color),
        Some([0.0, 1.0, 0.0, 1.0])
    );
    let robot = one(
        &text(&visual("<material name='m'/>")),
        "urdf-unknown-material",
        3,
        50,
        at,
    )
    .unwrap();
    assert_eq!(robot.materials().as_slice()[0].name, "m");
    one(
        &text(&visual("<material/>")),
        "urdf-empty-material",
        3,
        50,
        "link \"a\" / visual / material",
    );
    one(
        &text(&format!(
            "{}\n<material name='m'/>",
            visual("<material name='m'/>")
        )),
        "urdf-empty-material",
        4,
        1,
        "material \"m\"",
    );
    one(
        &text("<link name='a'/>\n<material name='m'><color rgba='1 0 0 1'/></material>"),
        "urdf-unused-material",
        3,
        1,
        "material \"m\"",
    );
    let inline = |inside: &str| text(&visual(&format!("<material name='m'>{inside}</material>")));
    let color = "link \"a\" / visual / material \"m\" / color";
    one(
        &inline(&format!("{red}<texture/>")),
        "urdf-no-texture-file",
        3,
        92,
        "link \"a\" / visual / material \"m\" / texture",
    );
    let robot = one(
        &inline("<color rgba='255 -1 0 1'/>"),
        "urdf-colour-range",
        3,
        76,
        color,
    )
    .unwrap();
    assert_eq!(
        robot.materials().as_slice()[0].base_color,
        [1.0, 0.0, 0.0, 1.0]
    );
    one(
        &inline("<color rgba='1 0 0'/>"),
        "urdf-no-alpha",
        3,
        76,
        color,
    );
    assert_eq!(
        findings(&inline("<color rgba='1 0'/>"))
            .iter()
            .map(|f| f.0)
            .collect::<Vec<_>>(),
        ["urdf-bad-number", "urdf-unknown-material"]
    );
}

#[test]
fn codes_are_distinct_and_all_of_them_are_tested() {
    let ids: HashSet<&str> = codes::ALL.iter().map(|code| code.id).collect();
    assert_eq!(ids.len(), codes::ALL.len());
    let tests = concat!(include_str!("findings.rs"), include_str!("extensions.rs"));
    for id in ids {
        assert!(
            id.starts_with("urdf-") && tests.contains(&format!("\"{id}\"")),
            "{id}"
        );
    }
}

#[test]
fn robots_beyond_the_limits_are_rejected_before_reading() {
    use super::super::{MAX_JOINTS, MAX_LINKS, MAX_NAME_BYTES, MAX_SHAPES};
    let links = |count: usize| {
        (0..count)
            .map(|n| format!("<link name='{n}'/>"))
            .collect::<String>()
    };
    let joint = "<joint name='j' type='fixed'><parent link='0'/><child link='1'/></joint>";
    let visual = "<visual><geometry><sphere radius='1'/></geometry></visual>";
    for (what, inside) in [
        ("links", links(MAX_LINKS + 1)),
        // Repetitions count: each would be a finding.
        ("links", "<link name='a'/>".repeat(MAX_LINKS + 1)),
        (
            "joints",
            format!("{}{}", links(2), joint.repeat(MAX_JOINTS + 1)),
        ),
        (
            "visuals",
            format!("<link name='a'>{}</link>", visual.repeat(MAX_SHAPES + 1)),
        ),
        (
            "bytes",
            format!("<link name='{}'/>", "a".repeat(MAX_NAME_BYTES + 1)),
        ),
    ] {
        let outcome = read(&text(&inside), None);
        let [finding] = &outcome.diagnostics[..] else {
            panic!("{what}: {:?}", outcome.diagnostics)
        };
        assert_eq!(
            (finding.code, outcome.robot.is_none()),
            ("urdf-too-many", true),
            "{what}"
        );
        assert!(finding.message.contains(what), "{}", finding.message);
    }
    assert_eq!(
        read(&text(&links(MAX_LINKS)), None)
            .robot
            .unwrap()
            .links()
            .len(),
        MAX_LINKS
    );
}

#[test]
fn custom_data_is_limited() {
    use super::super::custom::MAX_CUSTOM_ITEMS;
    // Each counts twice: the element and its attribute.
    let many = text(&format!(
        "<link name='a'/>{}",
        "<x y='z'/>".repeat(MAX_CUSTOM_ITEMS)
    ));
    let outcome = read(&many, None);
    assert_eq!(
        outcome.robot.unwrap().custom.elements.len(),
        MAX_CUSTOM_ITEMS / 2
    );
    assert_eq!(
        outcome
            .diagnostics
            .iter()
            .filter(|d| d.code == "urdf-too-many-elements")
            .count(),
        1
    );
    // It is reported even if the limit of findings is reached.
    let noisy = text(&format!(
        "{}{}",
        "<link/>".repeat(1200),
        "<x y='z'/>".repeat(MAX_CUSTOM_ITEMS)
    ));
    assert!(
        findings(&noisy)
            .iter()
            .any(|(code, ..)| *code == "urdf-too-many-elements")
    );
}

#[test]
fn long_chains_of_mimics_are_cut() {
    let joint = |n: usize| {
        let mimic = if n > 0 {
            format!("<mimic joint='{}'/>", n - 1)
        } else {
            String::new()
        };
        format!(
            "<joint name='{n}' type='continuous'><parent link='b'/><child link='{n}'/>{mimic}</joint><link name='{n}'/>\n"
        )
    };
    let chain = |order: &mut dyn Iterator<Item = usize>| {
        text(&format!(
            "<link name='b'/>{}",
            order.map(joint).collect::<String>()
        ))
    };
    for text in [chain(&mut (0..200)), chain(&mut (0..200).rev())] {
        let outcome = read(&text, None);
        let cut: Vec<_> = outcome
            .diagnostics
            .iter()
            .filter(|d| d.code == "urdf-mimic-too-long")
            .collect();
        assert_eq!(cut.len(), 3, "{cut:?}");
        let robot = outcome.robot.unwrap();
        for joint in robot.joints().values() {
            let (mut steps, mut at) = (0, joint);
            while let Some(mimic) = at.mimic() {
                (steps, at) = (steps + 1, &robot.joints()[mimic.joint]);
            }
            assert!(steps <= 64, "{} follows through {steps}", joint.name());
        }
    }
}
