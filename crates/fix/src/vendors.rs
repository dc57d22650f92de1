//! Vendor-specific opinions: translated to ExtendedPhysics where possible (REP-158 §4.2.2), else moved
//! to vendor layers (§1.4).

use urdf_usd_stage::Value;

use super::notes::Notes;
use super::scene::{NodeId, Scene};

/// Returns the name of the vendor layer of a property or schema.
pub fn layer_name(name: &str) -> Option<&'static str> {
    // These have the prefixes of core physics, but UsdPhysics does not define them.
    if name.starts_with("PhysicsJointStateAPI")
        || name.starts_with("state:") && name.contains(":physics:")
    {
        return Some("physx");
    }
    if name == "physics:JointEquivalentInertia" {
        return Some("isaac");
    }
    Some(match urdf_usd_rep158::vendor(name)? {
        "mjc" => "mujoco",
        "omni" | "omnigraph" | "replicator" => "omniverse",
        vendor => vendor,
    })
}

/// Translates vendor-specific opinions to neutral ones.
pub fn translate(scene: &mut Scene, notes: &mut Notes) {
    for index in scene.nodes.handles() {
        translate_mimic(scene, index, notes);
        translate_inertia(scene, index, notes);
    }
}

/// Translates mimic joints of Newton and PhysX.
fn translate_mimic(scene: &mut Scene, index: NodeId, notes: &mut Notes) {
    let node = &scene.nodes[index];
    if node.has("ExtendedPhysicsMimicAPI") || node.has("MimicJointAPI") || !node.is_joint() {
        return;
    }
    let physx = node
        .schemas
        .iter()
        .find_map(|schema| schema.strip_prefix("PhysxMimicJointAPI:"))
        .map(str::to_owned);
    let (leader, multiplier, offset) = if node.has("NewtonMimicAPI") {
        if node.value("newton:mimicEnabled") == Some(&Value::Bool(false)) {
            return;
        }
        let number = |name: &str, default: f64| node.number(name).unwrap_or(default);
        // NewtonMimicAPI: q = coef0 + coef1 · q_leader, in degrees for angular joints.
        (
            node.targets("newton:mimicJoint").first().cloned(),
            number("newton:mimicCoef1", 1.0),
            number("newton:mimicCoef0", 0.0),
        )
    } else if let Some(axis) = physx {
        let property = |what: &str| format!("physxMimicJoint:{axis}:{what}");
        // PhysxMimicJointAPI: q + gearing · q_leader + offset = 0, in degrees for angular joints.
        let number = |what: &str| node.number(&property(what)).unwrap_or(0.0);
        (
            node.targets(&property("referenceJoint")).first().cloned(),
            -number("gearing"),
            -number("offset"),
        )
    } else {
        return;
    };
    let Some(leader) = leader.filter(|path| {
        scene
            .at(path)
            .is_some_and(|leader| scene.nodes[leader].is_joint())
    }) else {
        notes.left(
            &scene.nodes[index].path,
            "the joint follows another joint that is not named or does not exist",
            "name the joint that it follows",
        );
        return;
    };
    let node = &mut scene.nodes[index];
    node.apply("ExtendedPhysicsMimicAPI");
    node.set_target("ext_physics:mimic:joint", leader);
    node.set(
        "ext_physics:mimic:multiplier",
        "float",
        Value::Float(multiplier as f32),
    );
    node.set(
        "ext_physics:mimic:offset",
        "float",
        Value::Float(offset as f32),
    );
    notes.changed(
        &node.path,
        "translated the mimic joint to ExtendedPhysicsMimicAPI",
    );
}

/// Translates an inertia tensor of six numbers to the principal moments and axes of UsdPhysics.
fn translate_inertia(scene: &mut Scene, index: NodeId, notes: &mut Notes) {
    let node = &mut scene.nodes[index];
    let six = node
        .value("newton:inertia")
        .and_then(urdf_usd_stage::double_array);
    let Some(&[xx, yy, zz, xy, xz, yz]) = six.as_deref() else {
        return;
    };
    if node.value("physics:diagonalInertia").is_none() {
        let tensor = nalgebra::Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
        let (moments, axes) = urdf_usd_robot::principal_axes(&tensor);
        let q = axes.into_inner();
        let moments = openusd::gf::Vec3f {
            x: moments.x as f32,
            y: moments.y as f32,
            z: moments.z as f32,
        };
        let axes = openusd::gf::Quatf {
            w: q.w as f32,
            x: q.i as f32,
            y: q.j as f32,
            z: q.k as f32,
        };
        node.set("physics:diagonalInertia", "float3", Value::Vec3f(moments));
        node.set("physics:principalAxes", "quatf", Value::Quatf(axes));
    }
    node.attributes.remove("newton:inertia");
    notes.changed(
        &node.path,
        "converted the inertia from six numbers to principal moments and axes",
    );
}
