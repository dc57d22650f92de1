//! Property tests: random trees of links and joints of every kind, with every base and nesting, are
//! complete when read back from OpenUSD and glTF.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use proptest::prelude::*;

use urdf_usd_gltf_write as gltf;
use urdf_usd_robot::{Base, Joint, JointKind, Link, LinkId, Robot, kinematics};
use urdf_usd_store::Store;
use urdf_usd_urdf as urdf;
use urdf_usd_usd_read as usd_read;
use urdf_usd_usd_read::{AssetFrames, FrameKind, Summary};
use urdf_usd_usd_write as usd_write;
use urdf_usd_usd_write::Bodies;

const MASS: &str = "<inertial><origin xyz='0.1 0 0.02' rpy='0.3 0 0.1'/><mass value='2'/>\
                    <inertia ixx='0.02' iyy='0.03' izz='0.04' ixy='0.001' ixz='0' iyz='0'/></inertial>";
const VISUAL: &str = "<visual><geometry><sphere radius='0.1'/></geometry></visual>";
const COLLISION: &str =
    "<collision><origin xyz='0 0 0.1'/><geometry><box size='0.1 0.1 0.1'/></geometry></collision>";
/// Name of the world in groups of rigid links.
const WORLD: &str = "(world)";
/// Contents of links; half of them are empty.
const INSIDES: [&[&str]; 8] = [
    &[],
    &[],
    &[],
    &[],
    &[MASS],
    &[VISUAL],
    &[COLLISION],
    &[MASS, VISUAL, COLLISION],
];

/// A link: its contents, its parent (none for a root), and the kind of its joint.
type Part = (usize, Option<prop::sample::Index>, usize);

/// A joint between any two links, which may close a loop: those links, and its kind.
type Loop = (prop::sample::Index, prop::sample::Index, usize);

/// Returns the URDF of a robot.
///
/// With `world`, the first link has that name. Every joint of one degree of freedom has a command
/// interface.
fn text(parts: &[Part], loops: &[Loop], world: bool) -> String {
    let name = |index: usize| {
        if world && index == 0 {
            "world".to_owned()
        } else {
            format!("l{index}")
        }
    };
    let mut text = "<robot name='r'>".to_owned();
    let mut driven = String::new();
    let mut joint = |index: usize, kind: usize, parent: usize, child: usize| {
        let (kind, turn) = (JointKind::ALL[kind], 0.3 * index as f64);
        if kinematics::position_count(kind) == 1 {
            driven +=
                &format!("<joint name='j{index}'><command_interface name='position'/></joint>");
        }
        format!(
            "<joint name='j{index}' type='{}'><parent link='{}'/><child link='{}'/><origin xyz='0.1 {turn} 0.2' rpy='{turn} 0.2 0'/>\
             <axis xyz='0 0.6 0.8'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint>",
            kind.as_str(),
            name(parent),
            name(child),
        )
    };
    for (index, (inside, parent, kind)) in parts.iter().enumerate() {
        text += &format!(
            "<link name='{}'>{}</link>",
            name(index),
            INSIDES[*inside].concat()
        );
        if let Some(parent) = parent.filter(|_| index > 0) {
            text += &joint(index, *kind, parent.index(index), index);
        }
    }
    for (index, (parent, child, kind)) in loops.iter().enumerate() {
        let (parent, child) = (parent.index(parts.len()), child.index(parts.len()));
        if parent != child {
            text += &joint(parts.len() + index, *kind, parent, child);
        }
    }
    text + &format!("<ros2_control name='all' type='system'>{driven}</ros2_control></robot>")
}

fn moves(joint: &&Joint) -> bool {
    !matches!(joint.kind(), JointKind::Fixed | JointKind::Floating)
}

/// The written asset of a robot, as any reader sees it.
struct Asset {
    summary: Summary,
    frames: AssetFrames,
    physics: String,
}

/// Writes a robot; `None` if it has no link beside the world.
fn written(robot: &Robot, base: Base, bodies: Bodies) -> Option<Asset> {
    let options = usd_write::Options {
        entry: "r".into(),
        base,
        bodies,
        ..Default::default()
    };
    let asset = usd_write::write(robot, &options, &Store::none()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in &asset.files {
        std::fs::write(folder.path().join(path), bytes.bytes().unwrap()).unwrap();
    }
    let entry = folder.path().join("r.usda");
    let physics = String::from_utf8(asset.files["physics.usda"].bytes().unwrap().into()).unwrap();
    let frames = usd_read::read_frames(&entry).unwrap();
    match usd_read::inspect(&entry, &Default::default()) {
        Ok((summary, _)) => Some(Asset {
            summary,
            frames,
            physics,
        }),
        Err(error) => {
            assert!(
                matches!(error, usd_read::ReadError::NoRobot { .. }),
                "{error}"
            );
            assert!(asset.written.bodies == 0 && frames.frames.is_empty());
            None
        }
    }
}

/// Checks an asset of `robot`; the error names the joint or link.
fn check(robot: &Robot, base: Base, bodies: Bodies) -> Result<(), TestCaseError> {
    let Some(Asset {
        summary,
        frames,
        physics,
    }) = written(robot, base, bodies)
    else {
        return Ok(());
    };
    let name = |link: LinkId| robot.links()[link].name();
    let world = robot.world_root();
    let joints: BTreeMap<&str, _> = summary
        .joints
        .iter()
        .map(|joint| (joint.name.as_str(), joint))
        .collect();
    let links: BTreeMap<&str, _> = summary
        .links
        .iter()
        .map(|link| (link.frame.as_str(), link))
        .collect();

    let above: HashMap<&str, &str> = frames
        .frames
        .iter()
        .filter_map(|frame| Some((frame.id.as_str(), frame.parent.as_deref()?)))
        .collect();
    // Returns the body that a link belongs to; none for the world.
    let body = |link: LinkId| {
        let mut at = Some(name(link)).filter(|_| Some(link) != world);
        while let Some(frame) = at.filter(|at| {
            links
                .get(at)
                .is_none_or(|link| link.kind == FrameKind::Frame)
        }) {
            at = above.get(frame).copied();
        }
        at
    };
    // A joint within a body can't move, and is not written.
    let wanted: Vec<&Joint> = robot
        .joints()
        .values()
        .filter(moves)
        .filter(|joint| body(joint.parent()) != body(joint.child()))
        .collect();
    prop_assert!(
        robot
            .joints()
            .values()
            .filter(moves)
            .all(|joint| joint.closes_loop() || wanted.iter().any(|w| w.name() == joint.name()))
    );

    // Joints: all movable ones, each with its drive, and no others.
    let kinds = |joints: &mut dyn Iterator<Item = (&str, &str)>| -> BTreeSet<String> {
        joints
            .map(|(name, kind)| format!("{name} {kind}"))
            .collect()
    };
    let still = ["fixed", "PhysicsFixedJoint"];
    let found = kinds(
        &mut joints
            .values()
            .map(|j| (j.name.as_str(), j.kind.as_str()))
            .filter(|(_, kind)| !still.contains(kind)),
    );
    let kinds_wanted = kinds(
        &mut wanted
            .iter()
            .map(|joint| (joint.name(), joint.kind().as_str())),
    );
    prop_assert_eq!(found, kinds_wanted);
    let driven = wanted
        .iter()
        .filter(|joint| joint.drive().is_some())
        .count();
    prop_assert_eq!(physics.matches("\"PhysicsDriveAPI:").count(), driven);
    for joint in &wanted {
        let ends = joints[joint.name()];
        prop_assert_eq!(
            (ends.parent.as_deref(), ends.child.as_deref()),
            (body(joint.parent()), body(joint.child()))
        );
    }

    // Each joint moves the same link as in the URDF, and no other joint moves that link.
    let closing: HashSet<&str> = robot
        .joints()
        .values()
        .filter(|j| j.closes_loop())
        .map(|j| j.name())
        .collect();
    let of_tree: Vec<_> = summary
        .joints
        .iter()
        .filter(|joint| !closing.contains(joint.name.as_str()))
        .collect();
    let held: HashSet<&str> = of_tree
        .iter()
        .filter_map(|joint| joint.child.as_deref())
        .collect();
    prop_assert_eq!(held.len(), of_tree.len(), "a body with two joints");
    for joint in robot.joints().values().filter(|joint| !joint.closes_loop()) {
        let child = name(joint.child());
        prop_assert!(
            !moves(&joint) || body(joint.child()) == Some(child),
            "{} moves, and is no body",
            child
        );
        let is_free = joint.kind() == JointKind::Floating;
        prop_assert!(
            !is_free || body(joint.child()) == Some(child),
            "{} floats, and is no body",
            child
        );
        prop_assert!(
            !is_free || base == Base::Fixed || !held.contains(child),
            "{} floats, and is held",
            child
        );
    }

    // Rigidly connected links are in one body, or in bodies connected by fixed joints; no others
    // are.
    let mut group: HashMap<&str, &str> = HashMap::new();
    for link in &summary.links {
        let joint = of_tree
            .iter()
            .find(|joint| joint.child.as_ref() == Some(&link.frame));
        let rigid = match (link.kind, joint) {
            (FrameKind::Frame, _) => above.get(link.frame.as_str()).map(|&frame| {
                if world.is_some() && frame == "world" {
                    WORLD
                } else {
                    frame
                }
            }),
            (FrameKind::Body, Some(joint)) if still.contains(&joint.kind.as_str()) => {
                Some(joint.parent.as_deref().unwrap_or(WORLD))
            }
            (FrameKind::Body, _) => None,
        };
        group.insert(&link.frame, rigid.unwrap_or(&link.frame));
    }
    let top = |link: &str| {
        let mut at = link.to_owned();
        while let Some(&above) = group.get(at.as_str()).filter(|above| **above != at) {
            at = above.to_owned();
        }
        at
    };
    for joint in robot
        .joints()
        .values()
        .filter(|joint| Some(joint.parent()) != world && !joint.closes_loop())
    {
        let is_one = top(name(joint.parent())) == top(name(joint.child()));
        // With `--base fixed`, all bases are fixed to the same world.
        let is_rigid = joint.kind() == JointKind::Fixed
            || base == Base::Fixed && is_one && joint.kind() == JointKind::Floating;
        prop_assert_eq!(is_one, is_rigid, "{}", joint.name());
    }

    // The mass of each body is the URDF's, except for substitutes: no mass is counted twice or
    // lost.
    let heavy = |(id, link): &(LinkId, &Link)| link.inertial.is_some() && Some(*id) != world;
    let weighed: f64 = summary
        .links
        .iter()
        .filter_map(|link| link.mass)
        .filter(|mass| *mass > 0.01)
        .sum();
    prop_assert_eq!(
        weighed,
        2.0 * robot.links().iter().filter(heavy).count() as f64
    );

    // TF: every edge is as in the URDF, and the child is in the right place for any position of the
    // joint.
    let model = frames.model().unwrap();
    let edges = robot
        .joints()
        .values()
        .filter(|joint| joint.kind() != JointKind::Floating && !joint.closes_loop());
    for joint in edges.filter(|_| bodies == Bodies::Nested) {
        let (parent, child) = (name(joint.parent()), name(joint.child()));
        let index = frames
            .frames
            .iter()
            .position(|frame| frame.id == child)
            .unwrap();
        let frame = &frames.frames[index];
        prop_assert_eq!(
            frame.parent.as_deref(),
            Some(parent),
            "the parent of {}",
            child
        );
        prop_assert!(
            frame.is_root && Some(joint.parent()) == world || frame.is_static != moves(&joint),
            "{}",
            child
        );
        let positions = &[0.4, -0.7][..kinematics::position_count(joint.kind())];
        // A planar joint of an asset has its own axes in its plane.
        let positions = if joint.kind() == JointKind::Planar {
            &[0.0, 0.0]
        } else {
            positions
        };
        let off = model.place(index, positions).inverse()
            * joint.origin
            * kinematics::motion(joint, positions);
        prop_assert!(
            off.translation.vector.norm() < 1e-5 && off.rotation.angle() < 1e-5,
            "{} is off by {}",
            child,
            off
        );
    }
    Ok(())
}

/// Returns a robot in glTF, with bodies for engines.
fn document(robot: &Robot, base: Base) -> serde_json::Value {
    let extent = gltf::Extent {
        physics: true,
        ..Default::default()
    };
    let options = gltf::Options {
        extent,
        base,
        ..Default::default()
    };
    serde_json::from_slice(
        &gltf::write(robot, &options, &Store::none())
            .unwrap()
            .gltf("r.bin")
            .0,
    )
    .unwrap()
}

/// Checks a glTF in the same way: it has all joints except those that close loops, which it can't
/// express.
fn check_gltf(robot: &Robot, base: Base) -> Result<(), TestCaseError> {
    let document = document(robot, base);
    let joints = document["extensions"]["EXT_robot_kinematics"]["models"][0]["joints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found: BTreeSet<String> = joints
        .iter()
        .map(|j| {
            format!(
                "{} {}",
                j["name"].as_str().unwrap(),
                j["type"].as_str().unwrap()
            )
        })
        .collect();
    let of_tree = robot.joints().values().filter(|joint| !joint.closes_loop());
    let wanted: BTreeSet<String> = of_tree
        .map(|j| format!("{} {}", j.name(), j.kind().as_str()))
        .collect();
    prop_assert_eq!(found, wanted);
    Ok(())
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let above = prop_oneof![1 => Just(None), 9 => any::<prop::sample::Index>().prop_map(Some)];
    prop::collection::vec((0..INSIDES.len(), above, 0..JointKind::ALL.len()), 1..9)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn every_tree_arrives_whole(
        parts in parts(),
        loops in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..JointKind::ALL.len()), 0..3),
        world in any::<bool>(),
    ) {
        let robot = urdf::read(&text(&parts, &loops, world), None).robot.unwrap();
        for base in [Base::Auto, Base::Fixed, Base::Floating] {
            check_gltf(&robot, base)?;
            for bodies in [Bodies::Nested, Bodies::Flat] {
                check(&robot, base, bodies)?;
            }
        }
    }
}

/// Returns a robot of links with their contents, and joints: parent, kind and child.
fn robot(links: &[(&str, &str)], joints: &[(&str, &str, &str)]) -> Robot {
    let links = links
        .iter()
        .map(|(name, inside)| format!("<link name='{name}'>{inside}</link>"));
    let joints = joints.iter().map(|(parent, kind, child)| {
        format!(
            "<joint name='to_{child}' type='{kind}'><parent link='{parent}'/><child link='{child}'/><axis xyz='0 0 1'/></joint>"
        )
    });
    let text = format!(
        "<robot name='r'>{}{}</robot>",
        links.collect::<String>(),
        joints.collect::<String>()
    );
    urdf::read(&text, None).robot.unwrap()
}

/// Returns the masses of the bodies in OpenUSD, and of the movable nodes in glTF.
fn bodies(robot: &Robot, base: Base) -> [BTreeMap<String, f64>; 2] {
    let found = written(robot, base, Bodies::Nested)
        .unwrap()
        .summary
        .links
        .into_iter()
        .filter(|link| link.kind == FrameKind::Body);
    let document = document(robot, base);
    let mass = |node: &serde_json::Value| {
        node["extensions"]["KHR_physics_rigid_bodies"]["motion"]["mass"].as_f64()
    };
    let nodes = document["nodes"].as_array().unwrap().iter();
    [
        found.map(|link| (link.frame, link.mass.unwrap())).collect(),
        nodes
            .filter_map(|node| Some((node["name"].as_str()?.to_owned(), mass(node)?)))
            .collect(),
    ]
}

fn masses(masses: &[(&str, f64)]) -> BTreeMap<String, f64> {
    masses
        .iter()
        .map(|(name, mass)| ((*name).to_owned(), *mass))
        .collect()
}

#[test]
fn an_empty_base_has_the_mass_of_what_is_fixed_to_it() {
    let footprint = robot(
        &[("base_footprint", ""), ("base_link", MASS), ("turret", "")],
        &[
            ("base_footprint", "fixed", "base_link"),
            ("base_link", "revolute", "turret"),
        ],
    );
    let one = masses(&[("base_footprint", 2.0), ("turret", 0.001)]);
    for base in [Base::Auto, Base::Floating] {
        assert_eq!(
            bodies(&footprint, base),
            [one.clone(), one.clone()],
            "{base:?}"
        );
    }
    // A fixed base does not move in glTF; OpenUSD has a joint to the world.
    assert_eq!(
        bodies(&footprint, Base::Fixed),
        [one, masses(&[("turret", 0.001)])]
    );
    // With two candidates, neither mass is used: the choice would be ambiguous.
    let two = robot(
        &[("base", ""), ("left", MASS), ("right", MASS)],
        &[("base", "fixed", "left"), ("base", "fixed", "right")],
    );
    let [usd, gltf] = bodies(&two, Base::Auto);
    assert_eq!(
        usd,
        masses(&[("base", 0.001), ("left", 2.0), ("right", 2.0)])
    );
    assert_eq!(gltf, masses(&[("base", 4.0)]));
}

#[test]
fn an_empty_root_under_which_a_robot_floats_is_a_frame() {
    let odom = robot(
        &[("odom", ""), ("base_footprint", ""), ("base_link", MASS)],
        &[
            ("odom", "floating", "base_footprint"),
            ("base_footprint", "fixed", "base_link"),
        ],
    );
    let one = masses(&[("base_footprint", 2.0)]);
    assert_eq!(bodies(&odom, Base::Auto), [one.clone(), one.clone()]);
    assert_eq!(bodies(&odom, Base::Fixed), [one, masses(&[])]);
    assert_eq!(
        written(&odom, Base::Auto, Bodies::Nested)
            .unwrap()
            .physics
            .matches("PhysicsArticulationRootAPI")
            .count(),
        1
    );
}

#[test]
fn the_world_fixes_its_robot_beside_other_roots() {
    let links = [
        ("world", COLLISION),
        ("base", MASS),
        ("arm", MASS),
        ("stray", MASS),
    ];
    let scene = robot(
        &links,
        &[("world", "fixed", "base"), ("base", "continuous", "arm")],
    );
    let all = masses(&[("base", 2.0), ("arm", 2.0), ("stray", 2.0)]);
    assert_eq!(
        bodies(&scene, Base::Auto),
        [all.clone(), masses(&[("arm", 2.0), ("stray", 2.0)])]
    );
    assert_eq!(
        bodies(&scene, Base::Fixed),
        [all.clone(), masses(&[("arm", 2.0)])]
    );
    assert_eq!(bodies(&scene, Base::Floating), [all.clone(), all]);
    let to_world = |base| {
        let joints = written(&scene, base, Bodies::Nested)
            .unwrap()
            .summary
            .joints;
        joints
            .into_iter()
            .filter(|joint| joint.parent.is_none())
            .filter_map(|joint| joint.child)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        [to_world(Base::Auto), to_world(Base::Floating)],
        [vec!["base".to_owned()], vec![]]
    );
    assert_eq!(to_world(Base::Fixed), ["base", "stray"]);
}

#[test]
fn a_loop_may_end_at_the_world_but_not_in_its_own_body() {
    let mut text = "<robot name='r'><link name='world'/><link name='ground'/>".to_owned();
    for name in ["a", "b", "c"] {
        text += &format!("<link name='{name}'>{MASS}</link>");
    }
    for (name, kind, parent, child) in [
        ("hold", "fixed", "world", "ground"),
        ("first", "continuous", "ground", "a"),
        ("second", "continuous", "a", "b"),
        ("back", "continuous", "b", "ground"),
        ("home", "continuous", "b", "world"),
        ("tip", "fixed", "b", "c_frame"),
        ("vain", "continuous", "c_frame", "b"),
        ("free", "floating", "world", "c"),
    ] {
        text += &format!(
            "<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/></joint>"
        );
    }
    let robot = urdf::read(&(text + "<link name='c_frame'/></robot>"), None)
        .robot
        .unwrap();
    let found = written(&robot, Base::Auto, Bodies::Nested).unwrap();
    let joint = |name: &str| {
        found
            .summary
            .joints
            .iter()
            .find(|joint| joint.name == name)
            .map(|j| (j.parent.as_deref(), j.child.as_deref()))
    };
    assert_eq!(joint("back"), Some((Some("b"), None)));
    assert_eq!(joint("home"), Some((Some("b"), None)));
    assert_eq!(joint("vain"), None);
    assert_eq!(
        found
            .physics
            .matches("physics:excludeFromArticulation = 1")
            .count(),
        2
    );
    let told = usd_write::write(
        &robot,
        &usd_write::Options {
            entry: "r".into(),
            ..Default::default()
        },
        &Store::none(),
    )
    .unwrap()
    .diagnostics;
    let told: Vec<&str> = told
        .iter()
        .filter(|d| d.code == "usd-loop-in-body")
        .map(|d| d.message.as_str())
        .collect();
    assert_eq!(
        told,
        ["joint \"vain\" closes a loop between links of one rigid body: it cannot move"]
    );
}

#[test]
fn a_loop_to_the_world_does_not_move_the_world() {
    // The base floats, and only the loop connects it to the world.
    let robot = robot(
        &[("world", ""), ("base", MASS)],
        &[("world", "fixed", "base"), ("base", "revolute", "world")],
    );
    for base in [Base::Auto, Base::Fixed, Base::Floating] {
        for bodies in Bodies::ALL {
            check(&robot, base, bodies).unwrap();
        }
    }
    let joints = written(&robot, Base::Floating, Bodies::Nested)
        .unwrap()
        .summary
        .joints;
    let found: Vec<_> = joints
        .iter()
        .map(|j| (j.parent.as_deref(), j.child.as_deref(), j.closes_loop))
        .collect();
    assert_eq!(found, [(Some("base"), None, true)]);
}
