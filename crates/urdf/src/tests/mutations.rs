//! No text makes reading panic, and every result satisfies the model's invariants.

use proptest::prelude::*;

use super::super::{Decoded, References, decode, read};
use urdf_usd_robot::{Geometry, Robot, Shape};

const SEED: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE robot [<!ENTITY e 'x'>]>
<robot name="é" version="1.0" xmlns:a="b">
  <material name="m"><color rgba="1 0 0 1"/><texture filename="package://p/t.png"/></material>
  <link name="a"><inertial><origin xyz="0 0 1" rpy="0 0 0"/><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual name="v"><geometry><mesh filename="m.stl" scale="1 1 1"/></geometry><material name="m"/></visual>
    <collision><geometry><box size="1 2 3"/></geometry></collision></link>
  <link name="b"/><link name="c"/>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="k"/></joint>
  <joint name="k" type="prismatic"><parent link="b"/><child link="c"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <gazebo reference="a"><a:x y="&e;">t</a:x><![CDATA[<]]></gazebo>
</robot>"#;

/// Fragments that are inserted, besides parts of the seed itself.
const PIECES: &[&str] = &[
    "<",
    ">",
    "\"",
    "/>",
    "</robot>",
    "<robot>",
    "<link/>",
    "&",
    "&e;",
    "]]>",
    "<!--",
    "-->",
    "<?xml ",
    "x:y",
    " x:y='z'",
    "nan",
    "-inf",
    "1e999",
    "0",
    "-1",
    "\u{0}",
    "\u{fffd}",
    "🤖",
    "<joint name=\"j\" type=\"fixed\"><parent link=\"b\"/><child link=\"a\"/></joint>",
    "xmlns:q='r'",
    "<mimic joint=\"j\"/>",
    "<geometry/>",
    "\u{feff}",
    "<!DOCTYPE a [",
    "'",
];

/// The invariants that every reader of the model relies on.
fn check(robot: &Robot, references: &References) {
    let links = robot.links();
    assert!(!robot.name().is_empty() && !links.is_empty() && !robot.tree().roots().is_empty());
    assert_eq!(robot.tree().order().len(), links.len());
    let names = |names: Vec<&str>| {
        let distinct: std::collections::HashSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len());
    };
    names(robot.links().values().map(|l| l.name()).collect());
    names(robot.joints().values().map(|j| j.name()).collect());
    for joint in robot.joints().values() {
        assert!(
            links.contains(joint.parent())
                && links.contains(joint.child())
                && joint.parent() != joint.child()
        );
        assert!(
            (joint.axis.norm() - 1.0).abs() < 1e-9
                && joint
                    .origin
                    .translation
                    .vector
                    .iter()
                    .all(|x| x.is_finite())
        );
        let mut leader = joint.mimic();
        for _ in robot.joints().handles() {
            leader = leader.and_then(|mimic| robot.joints()[mimic.joint].mimic());
        }
        assert_eq!(leader, None);
    }
    for shape in robot
        .links()
        .values()
        .flat_map(|link| link.visuals.iter().chain(&link.collisions))
    {
        assert!(
            shape
                .material
                .is_none_or(|id| robot.materials().contains(id))
        );
    }
    assert!(
        references
            .textures
            .iter()
            .all(|(id, ..)| robot.materials().contains(*id))
    );
    // Shapes without a mesh and uses of mesh files correspond one to one.
    let missing = |shapes: &[Shape]| {
        shapes
            .iter()
            .filter(|shape| matches!(shape.geometry, Geometry::Missing { .. }))
            .count()
    };
    let of_robot: usize = robot
        .links()
        .values()
        .map(|link| missing(&link.visuals) + missing(&link.collisions))
        .sum();
    let of_files: usize = references
        .meshes
        .iter()
        .map(|mesh| mesh.visuals.len() + mesh.collisions.len())
        .sum();
    assert_eq!(of_robot, of_files);
    for reference in &references.meshes {
        for &(link, index) in &reference.visuals {
            assert_eq!(missing(&robot.links()[link].visuals[index..=index]), 1);
        }
        for &(link, index) in &reference.collisions {
            assert_eq!(missing(&robot.links()[link].collisions[index..=index]), 1);
        }
    }
}

fn mutated(edits: &[(usize, usize, usize)]) -> Vec<u8> {
    let mut bytes = SEED.as_bytes().to_vec();
    for &(at, length, what) in edits {
        let at = at % (bytes.len() + 1);
        let end = (at + length).min(bytes.len());
        let piece: Vec<u8> = match PIECES.get(what) {
            Some(piece) => piece.as_bytes().to_vec(),
            None => SEED
                .as_bytes()
                .iter()
                .skip(what * 7 % SEED.len())
                .take(length * 3)
                .copied()
                .collect(),
        };
        bytes.splice(at..end, piece);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn damaged_texts_are_read_or_refused(edits in prop::collection::vec((0_usize..4000, 0_usize..40, 0_usize..60), 0..6)) {
        if let Ok(Decoded { text, .. }) = decode(&mutated(&edits)) {
            let outcome = read(&text, None);
            match &outcome.robot {
                Some(robot) => check(robot, &outcome.references),
                None => prop_assert!(outcome.diagnostics.iter().any(|d| d.severity == urdf_usd_diagnostic::Severity::Error)),
            }
            let lines = text.split('\n').count() as u32;
            prop_assert!(outcome.diagnostics.iter().all(|d| d.place.line <= lines && !d.message.is_empty() && !d.help.is_empty()));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(decoded) = decode(&bytes) {
            read(&decoded.text, None);
        }
    }
}

#[test]
fn hostile_sizes_take_no_time() {
    let started = std::time::Instant::now();
    let deep = format!("<robot>{}", "<a b='c'>".repeat(200_000));
    let wide = format!(
        "<robot><link name='a'/>{}</robot>",
        "<gazebo><a/></gazebo>".repeat(50_000)
    );
    let one_line = format!(
        "<robot><link name='a'/>{}</robot>",
        "<link name='b' x='1'/>".repeat(20_000)
    );
    let chain: String = (0..10_000).map(|n| format!("<link name='{n}'/><joint name='{n}' type='continuous'><parent link='{n}'/><child link='{}'/><mimic joint='{}'/></joint>", n + 1, n + 1)).collect();
    for text in [
        deep,
        wide,
        one_line,
        format!("<robot>{chain}</robot>"),
        format!("<robot {}", "a='".repeat(100_000)),
    ] {
        read(&text, None);
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
