//! Values read from valid texts.

use nalgebra::{Point3, Vector3};

use super::super::read;
use super::{clean, text};
use urdf_usd_robot::{Bounds, Calibration, Dynamics, Geometry, JointKind, Limit, Safety};

#[test]
fn everything_that_urdf_defines_has_its_place() {
    let text = r#"<?xml version="1.0"?>
<robot name="arm" version="1.2">
  <link name="base">
    <inertial>
      <origin xyz="0.1 0.2 0.3" rpy="0 0 1.5707963267948966"/>
      <mass value="2"/>
      <inertia ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.2" iyz="0.03" izz="0.25"/>
    </inertial>
    <visual name="v"><geometry><capsule radius="0.1" length="0.5"/></geometry></visual>
    <visual><origin quat_xyzw="0 0 1 1"/><geometry><mesh filename="package://p/m.stl" scale="1 -1	2e-3"/></geometry></visual>
    <collision name="c"><geometry><mesh filename="package://p/m.stl"/></geometry></collision>
    <collision><geometry><cylinder radius="+.5" length="1."/></geometry></collision>
  </link>
  <link name="tip"/>
  <joint name="j" type="revolute">
    <parent link="base"/> <child link="tip"/>
    <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 0.6 0.8"/>
    <limit lower="-1" upper="2" effort="3" velocity="4"/>
    <dynamics damping="0.5" friction="0.25"/>
    <safety_controller soft_lower_limit="-0.9" soft_upper_limit="1.9" k_position="10" k_velocity="20"/>
    <calibration rising="0.1" falling="0.2" reference_position="0.3"/>
    <mimic joint="k" multiplier="-2" offset="0.5"/>
  </joint>
  <link name="end"/>
  <joint name="k" type="prismatic"><parent link="tip"/><child link="end"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>
</robot>"#;
    let (robot, references) = (clean(text), read(text, None).references);
    let first = robot.links().handle(0).unwrap();
    let link = &robot.links()[first];
    let inertial = link.inertial.as_ref().unwrap();
    assert_eq!(
        (
            inertial.mass,
            inertial.inertia[(1, 2)],
            inertial.inertia[(2, 1)],
            inertial.inertia[(2, 0)]
        ),
        (2.0, 0.03, 0.03, 0.02)
    );
    assert!(
        (inertial.origin * Point3::new(1.0, 0.0, 0.0) - Point3::new(0.1, 1.2, 0.3)).norm() < 1e-12
    );
    assert_eq!(
        link.visuals[0].geometry,
        Geometry::Capsule {
            radius: 0.1,
            length: 0.5
        }
    );
    assert_eq!(
        link.visuals[1].geometry,
        Geometry::Missing {
            scale: Vector3::new(1.0, -1.0, 2e-3)
        }
    );
    let [mesh] = &references.meshes[..] else {
        panic!("{references:?}")
    };
    assert_eq!(
        (mesh.uri.as_str(), mesh.place.line),
        ("package://p/m.stl", 10)
    );
    assert_eq!(
        (&mesh.visuals[..], &mesh.collisions[..]),
        (&[(first, 1)][..], &[(first, 0)][..])
    );
    assert!((link.visuals[1].origin.rotation.angle() - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
    assert_eq!(link.collisions[0].name.as_deref(), Some("c"));
    assert_eq!(
        link.collisions[1].geometry,
        Geometry::Cylinder {
            radius: 0.5,
            length: 1.0
        }
    );
    let joint = &robot.joints().as_slice()[0];
    assert_eq!(
        (joint.kind(), joint.parent().index(), joint.child().index()),
        (JointKind::Revolute, 0, 1)
    );
    // Fixed axes: roll about x first, yaw about z last.
    assert!(
        (joint.origin.rotation * Vector3::x()
            - Vector3::new(
                0.936_293_363_584_199_2,
                0.289_629_477_625_515_3,
                -0.198_669_330_795_061_22
            ))
        .norm()
            < 1e-15
    );
    assert!((joint.axis.into_inner() - Vector3::new(0.0, 0.6, 0.8)).norm() < 1e-15);
    assert_eq!(
        joint.limit,
        Some(Limit {
            bounds: Bounds::between(Some(-1.0), Some(2.0)),
            effort: Some(3.0),
            velocity: Some(4.0)
        })
    );
    assert_eq!(
        joint.dynamics,
        Some(Dynamics {
            damping: Some(0.5),
            friction: Some(0.25)
        })
    );
    let safety = Safety {
        soft_lower_limit: Some(-0.9),
        soft_upper_limit: Some(1.9),
        k_position: Some(10.0),
        k_velocity: Some(20.0),
    };
    assert_eq!(joint.safety, Some(safety));
    assert_eq!(
        joint.calibration,
        Some(Calibration {
            rising: Some(0.1),
            falling: Some(0.2),
            reference_position: Some(0.3)
        })
    );
    assert_eq!(
        joint
            .mimic()
            .map(|m| (m.joint.index(), m.multiplier, m.offset)),
        Some((1, -2.0, 0.5))
    );
    assert_eq!(
        (
            robot.joints().as_slice()[1].axis,
            robot.joints().as_slice()[1].dynamics
        ),
        (Vector3::x_axis(), None)
    );
    assert!(
        robot.links().values().all(|l| l.custom.is_empty())
            && robot.joints().values().all(|j| j.custom.is_empty())
    );
    // The version is custom data.
    assert_eq!(
        (robot.custom.attributes.len(), robot.custom.elements.len()),
        (1, 0)
    );
}

#[test]
fn equal_materials_are_shared() {
    let visual = |material: &str| {
        format!("<visual><geometry><sphere radius=\"1\"/></geometry>{material}</visual>")
    };
    let text = text(&format!(
        "<link name=\"a\">{}{}{}{}{}{}</link>\n<material name=\"grey\"><color rgba=\"0.5 0.5 0.5 0.25\"/></material>",
        visual("<material name=\"grey\"/>"),
        visual("<material name=\"later\"/>"),
        visual("<material name=\"later\"><texture filename=\"t.png\"/></material>"),
        visual("<material name=\"\"><color rgba=\"1 0 0 1\"/></material>"),
        visual("<material name=\"\"><color rgba=\"1 -0 0 1\"/></material>"),
        visual(""),
    ));
    let (robot, references) = (clean(&text), read(&text, None).references);
    let ids: Vec<_> = robot.links().as_slice()[0]
        .visuals
        .iter()
        .map(|v| v.material.map(|id| id.index()))
        .collect();
    assert_eq!(ids, [Some(0), Some(1), Some(1), Some(2), Some(2), None]);
    let [r, _, _, a] = robot.materials().as_slice()[0].base_color;
    assert!((r - 0.214_041_14).abs() < 1e-6 && a == 0.25);
    assert_eq!(robot.materials().as_slice()[1].base_color, [1.0; 4]);
    let [(id, uri, place)] = &references.textures[..] else {
        panic!("{references:?}")
    };
    assert_eq!((id.index(), uri.as_str(), place.line), (1, "t.png", 2));
    assert_eq!(
        place.element,
        "link \"a\" / visual 3 / material \"later\" / texture"
    );
}

#[test]
fn a_default_namespace_changes_nothing() {
    let robot = clean("<robot xmlns=\"http://www.ros.org\" name=\"r\"><link name=\"a\"/></robot>");
    assert_eq!(
        (robot.links().len(), robot.custom.attributes[0].0.as_str()),
        (1, "xmlns")
    );
}

#[test]
fn entities_are_expanded() {
    let outcome = read(
        "<!DOCTYPE robot [<!ENTITY l '<link name=\"b\"/>'><!ENTITY n 'x'>]>\n<robot name='r&n;&amp;'><link name='a'/>&l;</robot>",
        None,
    );
    let robot = outcome.robot.unwrap();
    assert_eq!(
        (robot.name(), robot.links().as_slice()[1].name()),
        ("rx&", "b")
    );
}
