//! Reading arbitrary bytes never fails.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::no_files;
use urdf_usd_gltf_write::{Options, write};
use urdf_usd_robot::{Robot, kinematics};
use urdf_usd_store::Store;
use urdf_usd_urdf as urdf;

const URDF: &str = r#"<robot name="r"><material name="m"><color rgba="1 0 0 .5"/></material>
    <link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
      <visual name="v"><geometry><box size="1 2 3"/></geometry><material name="m"/></visual>
      <collision><geometry><sphere radius="1"/></geometry></collision></link>
    <link name="b"/><link name="c"/><link name="d"/>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="1 0 0" rpy="0 1 0"/><axis xyz="0 0 1"/>
      <limit lower="0" upper="1" effort="1" velocity="1"/><dynamics damping="1"/></joint>
    <joint name="k" type="prismatic"><parent link="b"/><child link="c"/><limit lower="0.5" upper="1" effort="1" velocity="1"/>
      <mimic joint="j"/></joint>
    <joint name="p" type="planar"><parent link="c"/><child link="d"/></joint><gazebo><a b="c"/></gazebo></robot>"#;

static GLB: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let robot = urdf::read(URDF, None).robot.unwrap();
    write(&robot, &Options::default(), &Store::none())
        .unwrap()
        .glb()
        .unwrap()
});

/// Checks the invariants of the model.
fn check(robot: &Robot) {
    assert!(!robot.links().is_empty() && !robot.name().is_empty());
    let model = kinematics::Model::of(robot);
    let mut positions = vec![0.1; model.positions()];
    model.follow(&mut positions);
    assert_eq!(model.poses(&positions).len(), robot.links().len());
    for link in robot.links().values() {
        for shape in link.visuals.iter().chain(&link.collisions) {
            assert!(
                shape
                    .origin
                    .translation
                    .vector
                    .iter()
                    .all(|x| x.is_finite())
            );
            assert!(
                shape
                    .material
                    .is_none_or(|material| robot.materials().contains(material))
            );
        }
    }
    for joint in robot.joints().values() {
        assert!(
            joint
                .origin
                .rotation
                .coords
                .iter()
                .chain(&joint.origin.translation.vector)
                .all(|x| x.is_finite())
        );
        assert!((joint.axis.norm() - 1.0).abs() < 1e-9);
    }
    for pose in robot.named_poses() {
        for (joint, positions) in &pose.positions {
            assert_eq!(
                positions.len(),
                kinematics::position_count(robot.joints()[*joint].kind())
            );
        }
    }
    robot
        .meshes()
        .values()
        .for_each(|source| urdf_usd_robot::invariants::check(&source.mesh.load().unwrap()));
}

/// Words and numbers with a meaning in glTF.
const PIECES: &[&str] = &[
    "0",
    "1",
    "-1",
    "7",
    "1e300",
    "null",
    "[]",
    "{}",
    "true",
    "\"x\"",
    "0.5",
    "4294967295",
    "[1,1,1]",
    "[0,0,0,0]",
    "\"fixed\"",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bytes_changed_anywhere(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in any::<prop::sample::Index>(), is_cut in any::<bool>()) {
        let mut glb = GLB.clone();
        for (at, byte) in changes {
            let at = at.index(glb.len());
            glb[at] = byte;
        }
        if is_cut {
            glb.truncate(cut.index(glb.len()));
        }
        super::read(&glb, None, &no_files()).models.iter().for_each(|model| check(&model.robot));
    }

    #[test]
    fn values_changed_anywhere(changes in prop::collection::vec((any::<prop::sample::Index>(), 0..PIECES.len()), 1..6)) {
        let glb = &GLB;
        let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
        let mut root: serde_json::Value = serde_json::from_slice(&glb[20..20 + length]).unwrap();
        for (at, piece) in changes {
            let mut places = Vec::new();
            pointers(&root, String::new(), &mut places);
            let place = &places[at.index(places.len())];
            *root.pointer_mut(place).unwrap() = serde_json::from_str(PIECES[piece]).unwrap();
        }
        let text = serde_json::to_vec(&root).unwrap();
        super::read(&text, None, &no_files()).models.iter().for_each(|model| check(&model.robot));
    }
}

/// Returns the JSON pointers to all values.
fn pointers(value: &serde_json::Value, at: String, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(n, item)| pointers(item, format!("{at}/{n}"), found));
        }
        serde_json::Value::Object(members) => {
            members
                .iter()
                .for_each(|(key, item)| pointers(item, format!("{at}/{key}"), found));
        }
        _ => {}
    }
    found.push(at);
}
