//! Whatever the tree of a robot is like, it reaches OpenUSD and glTF whole: random trees of links and joints of every kind, in every base and
//! nesting, read back from what was written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use proptest::prelude::*;

use crate::robot::{Joint, JointKind, Robot, kinematics};
use crate::store::Store;
use crate::usd::{AssetFrames, Base, Bodies, FrameKind, Summary};
use crate::{gltf, urdf, usd};

const KINDS: [JointKind; 6] = [
    JointKind::Fixed,
    JointKind::Revolute,
    JointKind::Continuous,
    JointKind::Prismatic,
    JointKind::Planar,
    JointKind::Floating,
];

const MASS: &str = "<inertial><origin xyz='0.1 0 0.02' rpy='0.3 0 0.1'/><mass value='2'/>\
                    <inertia ixx='0.02' iyy='0.03' izz='0.04' ixy='0.001' ixz='0' iyz='0'/></inertial>";
const VISUAL: &str = "<visual><geometry><sphere radius='0.1'/></geometry></visual>";
const COLLISION: &str = "<collision><origin xyz='0 0 0.1'/><geometry><box size='0.1 0.1 0.1'/></geometry></collision>";
/// What may be in a link; half of them are empty.
const INSIDES: [&[&str]; 8] = [&[], &[], &[], &[], &[MASS], &[VISUAL], &[COLLISION], &[MASS, VISUAL, COLLISION]];

/// A link: what is in it, the link that it hangs on (none: a root), and by which joint.
type Part = (usize, Option<prop::sample::Index>, usize);

/// The URDF of a robot. With `world` the first link is called so. Every joint of one degree of freedom is driven.
fn text(parts: &[Part], world: bool) -> String {
    let name = |index: usize| if world && index == 0 { "world".to_owned() } else { format!("l{index}") };
    let mut text = "<robot name='r'>".to_owned();
    let mut driven = String::new();
    for (index, (inside, parent, kind)) in parts.iter().enumerate() {
        text += &format!("<link name='{}'>{}</link>", name(index), INSIDES[*inside].concat());
        let Some(parent) = parent.filter(|_| index > 0) else { continue };
        let (kind, turn) = (KINDS[*kind], 0.3 * index as f64);
        text += &format!(
            "<joint name='j{index}' type='{}'><parent link='{}'/><child link='{}'/><origin xyz='0.1 {turn} 0.2' rpy='{turn} 0.2 0'/>\
             <axis xyz='0 0.6 0.8'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint>",
            kind.as_str(),
            name(parent.index(index)),
            name(index),
        );
        if kinematics::position_count(kind) == 1 {
            driven += &format!("<joint name='j{index}'><command_interface name='position'/></joint>");
        }
    }
    text + &format!("<ros2_control name='all' type='system'>{driven}</ros2_control></robot>")
}

fn moves(joint: &&Joint) -> bool {
    !matches!(joint.kind, JointKind::Fixed | JointKind::Floating)
}

/// What was written of a robot, as any reader finds it.
struct Asset {
    summary: Summary,
    frames: AssetFrames,
    physics: String,
}

fn written(robot: &Robot, base: Base, bodies: Bodies) -> Asset {
    let options = usd::Options { entry: "r".into(), base, bodies, ..Default::default() };
    let asset = usd::write(robot, &options, &Store::none());
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in &asset.files {
        std::fs::write(folder.path().join(path), bytes).unwrap();
    }
    let entry = folder.path().join("r.usda");
    let physics = String::from_utf8(asset.files["physics.usda"].clone()).unwrap();
    Asset { summary: usd::inspect(&entry).unwrap(), frames: usd::read_frames(&entry).unwrap(), physics }
}

/// What holds of an asset of `robot`, or which joint or link it does not hold of.
fn check(robot: &Robot, base: Base, bodies: Bodies) -> Result<(), TestCaseError> {
    let Asset { summary, frames, physics } = written(robot, base, bodies);
    let name = |link: crate::robot::LinkId| robot.links[link.0].name.as_str();
    let joints: BTreeMap<&str, _> = summary.joints.iter().map(|joint| (joint.name.as_str(), joint)).collect();
    let links: BTreeMap<&str, _> = summary.links.iter().map(|link| (link.frame.as_str(), link)).collect();

    // Joints: all that move, each with its drive, and nothing else that moves.
    let kinds = |joints: &mut dyn Iterator<Item = (&str, &str)>| -> BTreeSet<String> {
        joints.map(|(name, kind)| format!("{name} {kind}")).collect()
    };
    let still = ["fixed", "PhysicsFixedJoint"];
    let found =
        kinds(&mut joints.values().map(|j| (j.name.as_str(), j.kind.as_str())).filter(|(_, kind)| !still.contains(kind)));
    let wanted = kinds(&mut robot.joints.iter().filter(moves).map(|joint| (joint.name.as_str(), joint.kind.as_str())));
    prop_assert_eq!(found, wanted);
    let driven = robot.joints.iter().filter(|joint| joint.drive.is_some()).count();
    prop_assert_eq!(physics.matches("\"PhysicsDriveAPI:").count(), driven);

    // Each moves the link that it moves in the URDF, and no other joint moves that.
    let world = robot.world_root();
    let in_world = |link: crate::robot::LinkId| Some(link) == world;
    let held: HashSet<&str> = summary.joints.iter().filter_map(|joint| joint.child.as_deref()).collect();
    prop_assert_eq!(held.len(), summary.joints.len(), "a body with two joints");
    for joint in &robot.joints {
        let child = name(joint.child);
        if moves(&joint) {
            prop_assert_eq!(joints[joint.name.as_str()].child.as_deref(), Some(child));
        }
        let is_free = joint.kind == JointKind::Floating;
        prop_assert!(!is_free || links[child].kind == FrameKind::Body, "{} floats, and is no body", child);
        prop_assert!(!is_free || base == Base::Fixed || !held.contains(child), "{} floats, and is held", child);
    }

    // What is rigid is in one body, or in bodies that fixed joints connect; nothing else is.
    let mut group: HashMap<&str, &str> = HashMap::new();
    for link in &summary.links {
        let above = frames.frames.iter().find(|frame| frame.id == link.frame).and_then(|frame| frame.parent.as_deref());
        let joint = summary.joints.iter().find(|joint| joint.child.as_ref() == Some(&link.frame));
        let rigid = match (link.kind, joint) {
            (FrameKind::Frame, _) => above,
            (FrameKind::Body, Some(joint)) if still.contains(&joint.kind.as_str()) => joint.parent.as_deref().or(Some("world")),
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
    for joint in robot.joints.iter().filter(|joint| !in_world(joint.parent)) {
        let is_one = top(name(joint.parent)) == top(name(joint.child));
        // With `--base fixed` all bases are held to one world.
        let is_rigid = joint.kind == JointKind::Fixed || base == Base::Fixed && is_one && joint.kind == JointKind::Floating;
        prop_assert_eq!(is_one, is_rigid, "{}", &joint.name);
    }

    // Of each body the mass is the URDF's, but for stand-ins: nothing is weighed twice or forgotten.
    let heavy = |link: &crate::robot::Link| link.inertial.is_some() && link.name != "world";
    let weighed: f64 = summary.links.iter().filter_map(|link| link.mass).filter(|mass| *mass > 0.01).sum();
    prop_assert_eq!(weighed, 2.0 * robot.links.iter().filter(|link| heavy(link)).count() as f64);

    // TF: every edge as in the URDF, and where the child is for any position of the joint.
    let model = frames.model().unwrap();
    for joint in robot.joints.iter().filter(|joint| joint.kind != JointKind::Floating && bodies == Bodies::Nested) {
        let (parent, child) = (name(joint.parent), name(joint.child));
        let index = frames.frames.iter().position(|frame| frame.id == child).unwrap();
        let frame = &frames.frames[index];
        prop_assert_eq!(frame.parent.as_deref(), Some(parent), "the parent of {}", child);
        prop_assert!(frame.is_root && in_world(joint.parent) || frame.is_static == !moves(&joint), "{}", child);
        let positions = &[0.4, -0.7][..kinematics::position_count(joint.kind)];
        // A planar joint of an asset has axes of its own in its plane.
        let positions = if joint.kind == JointKind::Planar { &[0.0, 0.0] } else { positions };
        let off = model.place(index, positions).inverse() * joint.origin * kinematics::motion(joint, positions);
        prop_assert!(off.translation.vector.norm() < 1e-5 && off.rotation.angle() < 1e-5, "{} is off by {}", child, off);
    }
    Ok(())
}

/// The same of glTF: the kinds of joints by name, and which links an engine moves.
fn check_gltf(robot: &Robot, base: Base) -> Result<(), TestCaseError> {
    let extent = gltf::Extent { physics: true, ..Default::default() };
    let options = gltf::Options { extent, base, ..Default::default() };
    let (document, _) = gltf::write(robot, &options, &Store::none()).gltf("r.bin");
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    let joints = document["extensions"]["EXT_robot_kinematics"]["models"][0]["joints"].as_array().cloned().unwrap_or_default();
    let found: BTreeSet<String> =
        joints.iter().map(|j| format!("{} {}", j["name"].as_str().unwrap(), j["type"].as_str().unwrap())).collect();
    let wanted: BTreeSet<String> = robot.joints.iter().map(|j| format!("{} {}", j.name, j.kind.as_str())).collect();
    prop_assert_eq!(found, wanted);
    Ok(())
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let above = prop_oneof![1 => Just(None), 9 => any::<prop::sample::Index>().prop_map(Some)];
    prop::collection::vec((0..INSIDES.len(), above, 0..KINDS.len()), 1..9)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn every_tree_arrives_whole(parts in parts(), world in any::<bool>()) {
        let robot = urdf::read(&text(&parts, world), None).robot.unwrap();
        for base in [Base::Auto, Base::Fixed, Base::Floating] {
            check_gltf(&robot, base)?;
            for bodies in [Bodies::Nested, Bodies::Flat] {
                check(&robot, base, bodies)?;
            }
        }
    }
}
