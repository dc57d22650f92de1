//! Applies a pose: places the bodies, and sets drives that hold them there.

use std::collections::HashMap;

use nalgebra::{Matrix4, Vector3};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::kinematics::{Model, position_count};
use urdf_usd_robot::{JointKind, NamedPose, Pose};
use urdf_usd_stage::{Prim, PrimId, Value, rigid};
use urdf_usd_usd_author::{Attribute, Layer};

use super::{Placed, Poses};
use crate::report::Findings;
use crate::{codes, overlay};

/// The opinions that were authored.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Applied {
    /// The paths of bodies that were moved.
    pub moved: Vec<String>,
    /// The paths of joints whose drive or state was set.
    pub joints: Vec<String>,
    /// The opinions that could not be authored.
    pub diagnostics: Vec<Diagnostic>,
}

/// Maximum deviation of a body that is not moved, in units of the stage and radians: the resolution of
/// single precision.
const TOLERANCE: f64 = 1e-6;

/// Replaces rounding errors of matrix products by zero.
fn clean(number: f64) -> f64 {
    if number.abs() < 1e-12 { 0.0 } else { number }
}

/// Applies a pose to an asset.
///
/// Places every body as in the pose; joints that the pose does not set are at zero or the nearest
/// limit. Sets the targets of drives (`drive:…:physics:targetPosition`), and the states of joints with
/// `PhysicsJointStateAPI`. The frames of joints do not change. `layer` is the strongest of the stage.
pub fn apply(poses: &Poses<'_>, pose: &NamedPose, layer: &mut Layer) -> Applied {
    let (stage, robot) = (poses.stage, &poses.robot);
    let mut applied = Applied::default();
    let mut findings = Findings::new(stage);
    let model = Model::of(robot);
    let positions = robot.positions(&model, Some(pose));
    let placed = Placed::of(poses, model.poses(&positions));
    let wanted: HashMap<PrimId, Pose> = robot
        .links()
        .handles()
        .filter(|&link| poses.is_body[link])
        .filter_map(|link| Some((poses.links[link]?, placed.in_stage(poses, link))))
        .collect();
    // The transform of a prim depends on its ancestors, which may be moved too.
    let before = stage.worlds();
    let mut after = stage.filled(Matrix4::identity());
    for (id, prim) in stage.iter() {
        let local = prim.local();
        let above = prim
            .parent
            .filter(|_| !local.resets)
            .map_or_else(Matrix4::identity, |parent| after[parent]);
        let unmoved = above * local.matrix;
        let goal = wanted.get(&id).and_then(|pose| {
            let (_, scale) = rigid(&before[id])?;
            Some(pose.to_homogeneous() * Matrix4::new_nonuniform_scaling(&scale))
        });
        after[id] = unmoved;
        let Some(goal) = goal.filter(|goal| (goal - unmoved).amax() > TOLERANCE) else {
            continue;
        };
        let within = above.try_inverse().and_then(|above| rigid(&(above * goal)));
        match within.filter(|_| overlay::can_author(stage, id)) {
            Some((pose, scale)) => {
                author_transform(prim, &pose, &scale, local.resets, layer);
                applied.moved.push(prim.path.clone());
                after[id] = goal;
            }
            None => {
                let message = format!(
                    "{} is not moved: it is below an instance, or its parent is sheared",
                    prim.path
                );
                findings.add(
                    &codes::INSTANCE,
                    id,
                    None,
                    message,
                    "author its transform in the asset",
                );
            }
        }
    }
    let meters_per_unit = stage.meters_per_unit();
    for (joint_id, joint) in robot.joints().iter() {
        let (Some(id), 1) = (poses.joints[joint_id], position_count(joint.kind())) else {
            continue;
        };
        let prim = &stage[id];
        let at = positions
            .get(model.range(joint_id.index()).start)
            .copied()
            .unwrap_or_default();
        let at = if joint.kind() == JointKind::Prismatic {
            (at / meters_per_unit) as f32
        } else {
            at.to_degrees() as f32
        };
        let drives = prim
            .instances_of("PhysicsDriveAPI")
            .map(|instance| format!("drive:{instance}:physics:targetPosition"));
        let states = prim
            .instances_of("PhysicsJointStateAPI")
            .map(|instance| format!("state:{instance}:physics:position"));
        let names: Vec<String> = drives
            .chain(states)
            .filter(|_| overlay::can_author(stage, id))
            .collect();
        if names.is_empty() {
            continue;
        }
        for name in names {
            layer
                .over(&prim.path)
                .attribute(&name, Attribute::float(at));
        }
        applied.joints.push(prim.path.clone());
    }
    applied.diagnostics = findings.finish();
    applied
}

/// Authors the transform of a prim as a translation, a rotation and, if it is not 1, a scale.
fn author_transform(
    prim: &Prim,
    pose: &Pose,
    scale: &Vector3<f64>,
    resets: bool,
    layer: &mut Layer,
) {
    let existing = |kind: &str| {
        prim.attributes
            .get(&format!("xformOp:{kind}"))
            .map(|attribute| attribute.type_name.as_str())
    };
    // Half precision is too coarse: such an operation is replaced in the order by another one.
    let name = |kind: &str, known: &[&str]| match existing(kind) {
        Some(type_name) if !known.contains(&type_name) => format!("xformOp:{kind}:pose"),
        _ => format!("xformOp:{kind}"),
    };
    let (translate, orient) = (
        name("translate", &["double3", "float3"]),
        name("orient", &["quatd", "quatf"]),
    );
    let scaled = name("scale", &["double3", "float3"]);
    let vector = |kind: &str, [x, y, z]: [f64; 3]| match existing(kind) {
        Some("float3") => Attribute::float3([x as f32, y as f32, z as f32]),
        _ => Attribute::new("double3", Value::Vec3d([x, y, z].into())),
    };
    let q = pose.rotation.quaternion();
    let q = [q.w, q.i, q.j, q.k].map(clean);
    let turn = match existing("orient") {
        Some("quatf") => Attribute::quatf(q.map(|c| c as f32)),
        _ => Attribute::quatd(q),
    };
    let mut order: Vec<String> = Vec::new();
    if resets {
        order.push("!resetXformStack!".to_owned());
    }
    order.extend([translate.clone(), orient.clone()]);
    let mut over = layer.over(&prim.path);
    over.attribute(
        &translate,
        vector(
            "translate",
            <[f64; 3]>::from(pose.translation.vector).map(clean),
        ),
    )
    .attribute(&orient, turn);
    if (scale - Vector3::repeat(1.0)).amax() > 1e-9 {
        over.attribute(&scaled, vector("scale", [scale.x, scale.y, scale.z]));
        order.push(scaled);
    }
    over.attribute("xformOpOrder", Attribute::token_array(order).uniform());
}
