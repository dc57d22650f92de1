//! Joints: frames in the new frames of their bodies, limits, names and ends (REP-158 §1.3, §2.10).

use std::collections::HashSet;

use nalgebra::{Isometry3, Quaternion, UnitQuaternion, Vector3};
use openusd::gf;
use urdf_usd_robot::{ArenaMap, names};
use urdf_usd_stage::{Stage, Value, joint_frame, numbers};
use urdf_usd_usd_author::dialects::{LEADERS, Motion, Quantity, WORDS};

use super::frames::{Places, rotation, scale_numbers};
use super::notes::Notes;
use super::scene::{Node, NodeId, Scene};

/// Converts every joint to the new frames, and authors missing properties.
pub fn fix(scene: &mut Scene, stage: &Stage, places: &Places, notes: &mut Notes) {
    for index in scene.nodes.handles() {
        if !scene.nodes[index].is_joint() {
            continue;
        }
        fix_ends(scene, index, notes);
        for end in &ENDS {
            fix_frame(scene, index, end, stage, places);
        }
        convert_units(scene, index, places);
        fix_limits(scene, index, notes);
    }
    add_ros_names(scene, notes);
}

/// The names of the properties of an end of a joint.
struct End {
    body: &'static str,
    position: &'static str,
    rotation: &'static str,
}

const ENDS: [End; 2] = [
    End {
        body: "physics:body0",
        position: "physics:localPos0",
        rotation: "physics:localRot0",
    },
    End {
        body: "physics:body1",
        position: "physics:localPos1",
        rotation: "physics:localRot1",
    },
];

/// Removes the default prim as an end of a joint: UsdPhysics treats a target that is not a body as the
/// world, for which REP-158 wants no target.
fn fix_ends(scene: &mut Scene, index: NodeId, notes: &mut Notes) {
    let [first, second] = ["physics:body0", "physics:body1"]
        .map(|name| scene.nodes[index].targets(name).first().cloned());
    let is_body = |path: &Option<String>| {
        path.as_ref()
            .and_then(|path| scene.at(path))
            .is_some_and(|target| {
                scene
                    .upwards(target)
                    .any(|above| scene.nodes[above].is_body())
            })
    };
    let is_root =
        |path: &Option<String>| path.as_ref().and_then(|path| scene.at(path)) == Some(scene.root);
    let (is_first_body, is_second_body) = (is_body(&first), is_body(&second));
    let path = scene.nodes[index].path.clone();
    if is_root(&first) && !is_first_body && is_second_body {
        // The default prim does not move, so that its frame is a pose in the world.
        scene.nodes[index].relationships.remove("physics:body0");
        notes.changed(
            path,
            "removed the default prim from physics:body0 of the joint, which attaches its body to the world",
        );
        return;
    }
    for (end, is_body, relationship) in [
        (first, is_first_body, "physics:body0"),
        (second, is_second_body, "physics:body1"),
    ] {
        if let Some(target) = end.filter(|_| !is_body) {
            notes.left(
                &path,
                format!("{relationship} targets {target}, which is not a rigid body"),
                "target a prim with PhysicsRigidBodyAPI",
            );
        }
    }
}

/// Converts the frame of a joint in one of its bodies.
fn fix_frame(scene: &mut Scene, index: NodeId, end: &End, stage: &Stage, places: &Places) {
    let source = &stage[scene.nodes[index].source];
    // The frame was relative to the target in the source; it becomes relative to the current target,
    // or to the world.
    let target = |targets: &[String]| targets.first().and_then(|path| scene.at(path.as_str()));
    let old_target = target(source.targets(end.body));
    let to = target(scene.nodes[index].targets(end.body))
        .map_or_else(Isometry3::identity, |node| places.new[node].inverse());
    let in_metres =
        |node: Option<NodeId>| node.map_or(places.world, |node| places.world * places.old[node]);
    let body = old_target.and_then(|target| {
        scene
            .upwards(target)
            .find(|above| scene.nodes[*above].is_body())
    });
    let from = in_metres(old_target);
    if Places::is_identity(&(to.to_homogeneous() * from))
        && body.is_none_or(|body| Places::is_identity(&places.change(body)))
    {
        return;
    }
    let node = &scene.nodes[index];
    let position: [f64; 3] = node
        .value(end.position)
        .and_then(numbers)
        .unwrap_or_default();
    let [w, x, y, z] = node
        .value(end.rotation)
        .and_then(numbers)
        .unwrap_or([1.0, 0.0, 0.0, 0.0]);
    let local = Isometry3::from_parts(
        position.into(),
        UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)),
    );
    let other_target = Some(&from).filter(|_| old_target != body);
    let frame = to * joint_frame(&in_metres(body), other_target, &local);
    let p = frame.translation.vector;
    let node = &mut scene.nodes[index];
    node.set(
        end.position,
        "point3f",
        Value::Vec3f(gf::Vec3f {
            x: p.x as f32,
            y: p.y as f32,
            z: p.z as f32,
        }),
    );
    let (_, orientation) = rotation(&frame.rotation);
    // UsdPhysics types the rotations of joints as `quatf`, so that a more precise one has to be
    // rounded.
    let orientation = match orientation {
        Value::Quatd(q) => Value::Quatf(gf::Quatf {
            w: q.w as f32,
            x: q.x as f32,
            y: q.y as f32,
            z: q.z as f32,
        }),
        single => single,
    };
    node.set(end.rotation, "quatf", orientation);
}

/// Converts lengths, forces and torques to SI units.
fn convert_units(scene: &mut Scene, index: NodeId, places: &Places) {
    let (m, kg) = (places.meters, places.kilograms);
    let mut leaders = LEADERS
        .iter()
        .flat_map(|leader| scene.nodes[index].targets(leader.relationship));
    let leader = leaders.next().and_then(|leader| scene.at(leader));
    let of_leader = leader.and_then(|leader| Motion::of_type(&scene.nodes[leader].type_name));
    let node = &mut scene.nodes[index];
    if node.type_name == "PhysicsPrismaticJoint" {
        scale_numbers(node, &["physics:lowerLimit", "physics:upperLimit"], m);
    }
    if node.type_name == "PhysicsDistanceJoint" {
        for name in ["physics:minDistance", "physics:maxDistance"] {
            // Negative values mean no limit.
            if node.number(name).is_some_and(|distance| distance > 0.0) {
                scale_numbers(node, &[name], m);
            }
        }
    }
    if let Some(motion) = Motion::of_type(&node.type_name) {
        for word in &WORDS {
            let names: Vec<String> = node
                .attributes
                .keys()
                .filter(|name| word.is_named(name))
                .cloned()
                .collect();
            for name in names {
                let length = |motion| Quantity::Offset.scale(motion, m, kg);
                let factor = match word.quantity {
                    Quantity::Multiplier => length(motion) / length(of_leader.unwrap_or(motion)),
                    quantity => quantity.scale(motion, m, kg),
                };
                // Numbers that mean "no limit" stay.
                if node.number(&name).is_some_and(|value| word.is_value(value)) {
                    scale_numbers(node, &[&name], factor);
                }
            }
        }
    }
    scale_numbers(node, &["physics:breakForce"], kg * m);
    scale_numbers(node, &["physics:breakTorque"], kg * m * m);
    for axis in ["transX", "transY", "transZ", "distance", "linear"] {
        scale_numbers(
            node,
            &[
                &format!("limit:{axis}:physics:low"),
                &format!("limit:{axis}:physics:high"),
            ],
            m,
        );
        let drive = |what: &str| format!("drive:{axis}:physics:{what}");
        scale_numbers(
            node,
            &[&drive("targetPosition"), &drive("targetVelocity")],
            m,
        );
        scale_numbers(node, &[&drive("maxForce")], kg * m);
        // N/m is kg/s² and N·s/m is kg/s: lengths cancel out.
        scale_numbers(node, &[&drive("stiffness"), &drive("damping")], kg);
    }
    for axis in ["rotX", "rotY", "rotZ", "angular"] {
        let drive = |what: &str| format!("drive:{axis}:physics:{what}");
        scale_numbers(
            node,
            &[&drive("maxForce"), &drive("stiffness"), &drive("damping")],
            kg * m * m,
        );
    }
}

/// Authors missing limits explicitly as infinite.
fn fix_limits(scene: &mut Scene, index: NodeId, notes: &mut Notes) {
    let node = &mut scene.nodes[index];
    if !matches!(
        node.type_name.as_str(),
        "PhysicsRevoluteJoint" | "PhysicsPrismaticJoint"
    ) {
        return;
    }
    for (name, none) in [
        ("physics:lowerLimit", f32::NEG_INFINITY),
        ("physics:upperLimit", f32::INFINITY),
    ] {
        if node.value(name).is_none() {
            node.set(name, "float", Value::Float(none));
            notes.changed(
                &node.path,
                "authored infinite limits for the joint without limits",
            );
        }
    }
    let [lower, upper] = ["physics:lowerLimit", "physics:upperLimit"]
        .map(|name| node.number(name).unwrap_or_default());
    if lower > upper {
        notes.left(
            &node.path,
            format!(
                "the lower limit {lower} is above the upper one {upper}, so the joint is locked"
            ),
            "swap them if the joint is meant to move",
        );
    }
}

/// Authors the ROS names of joints that move, and of fixed joints whose name another joint has.
fn add_ros_names(scene: &mut Scene, notes: &mut Notes) {
    let is_authored = |node: &Node| node.attributes.contains_key("ros:joint:name");
    // Each context of ROS has its own joint states.
    let contexts = ArenaMap::new(&scene.nodes, |index, _| {
        scene
            .upwards(index)
            .find(|&above| scene.nodes[above].has("RosContextAPI"))
    });
    let mut taken: HashSet<(Option<NodeId>, String)> = scene
        .nodes
        .iter()
        .filter_map(|(index, node)| {
            Some((contexts[index], node.text("ros:joint:name")?.to_owned()))
        })
        .collect();
    let joints: Vec<NodeId> = scene
        .nodes
        .handles()
        .filter(|&index| scene.nodes[index].is_joint() && !is_authored(&scene.nodes[index]))
        .collect();
    // Joints that move first: their names are in joint states.
    let (fixed, moving): (Vec<NodeId>, Vec<NodeId>) = joints
        .into_iter()
        .partition(|&index| scene.nodes[index].type_name == "PhysicsFixedJoint");
    for (joints, is_moving) in [(moving, true), (fixed, false)] {
        for index in joints {
            let node = &mut scene.nodes[index];
            let wanted = node
                .metadata
                .get("displayName")
                .and_then(urdf_usd_stage::text)
                .unwrap_or(node.name())
                .to_owned();
            let name = names::unique(&wanted, |name| {
                taken.insert((contexts[index], name.to_owned()))
            });
            // Without the attribute, a joint has the name of its prim.
            if !is_moving && name == node.name() {
                continue;
            }
            node.set("ros:joint:name", "string", Value::String(name));
            if let Some(attribute) = node.attributes.get_mut("ros:joint:name") {
                attribute.is_custom = true;
            }
            notes.changed(&node.path, "authored ros:joint:name for the joint");
        }
    }
}

/// Rotates a vector.
pub fn rotated(rotation: &UnitQuaternion<f64>, v: [f64; 3]) -> gf::Vec3f {
    let v = rotation * Vector3::from(v);
    gf::Vec3f {
        x: v.x as f32,
        y: v.y as f32,
        z: v.z as f32,
    }
}
