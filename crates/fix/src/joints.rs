//! Joints: their frames in the bodies' new ones, limits, names, and what they connect (REP-158
//! §1.3, §2.10).

use nalgebra::{Matrix4, Quaternion, UnitQuaternion, Vector3};
use openusd::gf;
use urdf_usd_stage::{Stage, Value, numbers};

use super::frames::{Places, rotation, scale_numbers};
use super::notes::Notes;
use super::scene::{NodeId, Scene};

/// Takes every joint to the new frames and authors what is missing.
pub fn settle(scene: &mut Scene, stage: &Stage, places: &Places, notes: &mut Notes) {
    for index in scene.nodes.handles() {
        if !scene.nodes[index].is_joint() {
            continue;
        }
        ends(scene, index, notes);
        for end in &ENDS {
            frame(scene, index, end, stage, places);
        }
        units(scene, index, places);
        limits(scene, index, notes);
        name(scene, index, notes);
    }
}

/// The names of the properties of one end of a joint.
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

/// A joint to what is no body is one to the world, as UsdPhysics means it; it says so.
fn ends(scene: &mut Scene, index: NodeId, notes: &mut Notes) {
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
        // The default prim does not move in the world, so its frame is a place in it.
        scene.nodes[index].relationships.remove("physics:body0");
        notes.changed(
            path,
            "the joint holds its body in the world: it has no physics:body0 now, where the default prim was named",
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
                format!("{relationship} leads to {target}, which is no rigid body"),
                "name a prim with PhysicsRigidBodyAPI",
            );
        }
    }
}

/// The joint's frame in one of its bodies.
fn frame(scene: &mut Scene, index: NodeId, end: &End, stage: &Stage, places: &Places) {
    let source = &stage[scene.nodes[index].source];
    // Where it was said: in the prim that the source names. Where it is said now: in the one that
    // is named now, or in the world.
    let named = source
        .targets(end.body)
        .first()
        .and_then(|path| scene.at(path));
    let named_now = scene.nodes[index]
        .targets(end.body)
        .first()
        .and_then(|path| scene.at(path));
    let was = named.map_or_else(Matrix4::identity, |node| places.was[node]);
    let now = named_now.map_or_else(Matrix4::identity, |node| {
        places.is[node].inverse().to_homogeneous()
    });
    let matrix = now * places.world * was;
    if Places::is_identity(&matrix) {
        return;
    }
    let turn = urdf_usd_stage::rigid(&matrix)
        .map_or_else(UnitQuaternion::identity, |(place, _)| place.rotation);
    let node = &mut scene.nodes[index];
    let position: [f64; 3] = node
        .value(end.position)
        .and_then(numbers)
        .unwrap_or_default();
    let p = matrix.transform_point(&position.into());
    node.set(
        end.position,
        "point3f",
        Value::Vec3f(gf::Vec3f {
            x: p.x as f32,
            y: p.y as f32,
            z: p.z as f32,
        }),
    );
    let [w, x, y, z] = node
        .value(end.rotation)
        .and_then(numbers)
        .unwrap_or([1.0, 0.0, 0.0, 0.0]);
    let (_, turned) =
        rotation(&(turn * UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z))));
    let turned = match turned {
        Value::Quatd(q) => Value::Quatf(gf::Quatf {
            w: q.w as f32,
            x: q.x as f32,
            y: q.y as f32,
            z: q.z as f32,
        }),
        single => single,
    };
    node.set(end.rotation, "quatf", turned);
}

/// Lengths, forces and torques.
fn units(scene: &mut Scene, index: NodeId, places: &Places) {
    let (m, kg) = (places.meters, places.kilograms);
    let node = &mut scene.nodes[index];
    if node.type_name == "PhysicsPrismaticJoint" {
        scale_numbers(node, &["physics:lowerLimit", "physics:upperLimit"], m);
    }
    if node.type_name == "PhysicsDistanceJoint" {
        for name in ["physics:minDistance", "physics:maxDistance"] {
            // Below zero means that there is no limit.
            if node.number(name).is_some_and(|distance| distance > 0.0) {
                scale_numbers(node, &[name], m);
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

/// A joint that has no limits says so.
fn limits(scene: &mut Scene, index: NodeId, notes: &mut Notes) {
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
            notes.changed(&node.path, "the joint says now that it has no limits");
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
            "swap them if that is not meant",
        );
    }
}

/// The joint's name in ROS.
fn name(scene: &mut Scene, index: NodeId, notes: &mut Notes) {
    let is_moving = scene.nodes[index].type_name != "PhysicsFixedJoint";
    let node = &mut scene.nodes[index];
    if node.attributes.contains_key("ros:joint:name") || !is_moving {
        return;
    }
    let name = node
        .metadata
        .get("displayName")
        .and_then(urdf_usd_stage::text)
        .unwrap_or(node.name())
        .to_owned();
    node.set("ros:joint:name", "string", Value::String(name));
    if let Some(attribute) = node.attributes.get_mut("ros:joint:name") {
        attribute.is_custom = true;
    }
    notes.changed(&node.path, "the joint has its name in ROS now");
}

/// A vector turned.
pub fn turned(turn: &UnitQuaternion<f64>, v: [f64; 3]) -> gf::Vec3f {
    let v = turn * Vector3::from(v);
    gf::Vec3f {
        x: v.x as f32,
        y: v.y as f32,
        z: v.z as f32,
    }
}
