//! Applies a pose: places the bodies, and sets drives that hold them there.

use std::collections::{HashMap, HashSet};

use nalgebra::{Matrix4, Vector3};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::kinematics::{Model, position_count};
use urdf_usd_robot::{ArenaMap, JointId, JointKind, Link, NamedPose, Pose};
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
/// Moves the joints that the pose sets, and their followers. Bodies at all other joints keep their
/// place relative to each other, so that poses of an arm and of its gripper combine. Sets the targets
/// of drives (`drive:…:physics:targetPosition`), and the states of joints with
/// `PhysicsJointStateAPI`. The frames of joints do not change. `bodies` and `drives` are the strongest
/// layers of the stage.
pub fn apply(
    poses: &Poses<'_>,
    pose: &NamedPose,
    bodies: &mut Layer,
    drives: &mut Layer,
) -> Applied {
    let (stage, robot) = (poses.stage, &poses.robot);
    let mut applied = Applied::default();
    let mut findings = Findings::new(stage);
    let model = Model::of(robot);
    let positions = robot.positions(&model, Some(pose));
    let placed = Placed::of(poses, model.poses(&positions));
    let set: HashSet<JointId> = pose.positions.iter().map(|(joint, _)| *joint).collect();
    let is_set = |joint: JointId| {
        // The number of joints bounds chains of followers, which a robot checks for cycles.
        let leaders = std::iter::successors(Some(joint), |joint| {
            Some(robot.joints()[*joint].mimic()?.joint)
        });
        leaders
            .take(robot.joints().len())
            .any(|joint| set.contains(&joint))
    };
    let mut zero = vec![0.0; model.positions()];
    model.follow(&mut zero);
    let at_zero = Placed::of(poses, model.poses(&zero));
    let wanted = wanted(poses, &at_zero, &placed, is_set);
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
                author_transform(prim, &pose, &scale, local.resets, bodies);
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
        if !is_set(joint_id) {
            continue;
        }
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
        let targets = prim
            .instances_of("PhysicsDriveAPI")
            .map(|instance| format!("drive:{instance}:physics:targetPosition"));
        let states = prim
            .instances_of("PhysicsJointStateAPI")
            .map(|instance| format!("state:{instance}:physics:position"));
        let names: Vec<String> = targets
            .chain(states)
            .filter(|_| overlay::can_author(stage, id))
            .collect();
        if names.is_empty() {
            continue;
        }
        for name in names {
            drives
                .over(&prim.path)
                .attribute(&name, Attribute::float(at));
        }
        applied.joints.push(prim.path.clone());
    }
    applied.diagnostics = findings.finish();
    applied
}

/// Returns the frames of the bodies in the world of the stage, once the joints that `is_set` names are
/// as in `placed`. Links without a prim are where joints at zero have them.
fn wanted(
    poses: &Poses<'_>,
    at_zero: &Placed,
    placed: &Placed,
    is_set: impl Fn(JointId) -> bool,
) -> HashMap<PrimId, Pose> {
    let (stage, robot) = (poses.stage, &poses.robot);
    // Frames between the axes of a joint with several have no prim.
    let mut now = ArenaMap::new(robot.links(), |link, _| {
        let (pose, _) = rigid(&stage.world(poses.links[link]?))?;
        Some(pose)
    });
    let mut after: ArenaMap<Link, Pose> = ArenaMap::new(robot.links(), |_, _| Pose::identity());
    let mut wanted = HashMap::new();
    for &link in robot.tree().order() {
        let above = robot.tree().parent_joint(link);
        let parent = above.map(|joint| robot.joints()[joint].parent());
        let before = now[link].unwrap_or_else(|| match parent {
            Some(parent) => {
                now[parent].unwrap_or_else(Pose::identity) * at_zero.in_parent(parent, link)
            }
            None => at_zero.in_stage(poses, link),
        });
        now[link] = Some(before);
        after[link] = match (above, parent) {
            (Some(joint), Some(parent)) if is_set(joint) => {
                after[parent] * placed.in_parent(parent, link)
            }
            (_, Some(parent)) => {
                let apart = now[parent].unwrap_or_else(Pose::identity).inverse() * before;
                after[parent] * apart
            }
            (_, None) => before,
        };
        if poses.is_body[link]
            && let Some(prim) = poses.links[link]
        {
            wanted.insert(prim, after[link]);
        }
    }
    wanted
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
