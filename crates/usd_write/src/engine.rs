//! Contents that the overlays of several engines share.

use std::collections::HashMap;

use super::drives::Dof;
use super::library::ColliderMeshKind;
use super::physics::author_approximation;
use super::plan::{JointPlan, Plan};
use super::{Scene, drives};
use urdf_usd_diagnostic::{Code, Diagnostic};
use urdf_usd_robot::{ArenaMap, Joint, JointId, Link, LinkId, Mimic, Robot};
use urdf_usd_usd_author::dialects::{self, AttributeOpinion, Dialect, MimicOpinions, Quantity};
use urdf_usd_usd_author::numbers::joint_axis;
use urdf_usd_usd_author::{Attribute, Layer, Relationship};

/// Returns the passive behaviour of a joint in SI units: that of the source, and what the user gives for its drive;
/// nothing that is negative or not finite.
pub(super) fn passive(scene: &Scene<'_>, id: JointId, joint: &Joint) -> Vec<(Quantity, f64)> {
    let dynamics = joint.dynamics.unwrap_or_default();
    let actuation = scene.robot.simulation().actuation.get(&id);
    let friction = actuation
        .and_then(|actuation| actuation.friction)
        .or(dynamics.friction);
    let armature = actuation
        .and_then(|actuation| actuation.armature)
        .or(joint.armature);
    // Many URDFs write a velocity of 0 for "unknown"; engines would lock the joint.
    let velocity = joint
        .limit
        .and_then(|limit| limit.velocity)
        .filter(|velocity| *velocity > 0.0);
    let values = [
        (Quantity::Armature, armature),
        (Quantity::Damping, dynamics.damping),
        (Quantity::Friction, friction),
        (Quantity::VelocityLimit, velocity),
    ];
    values
        .into_iter()
        .filter_map(|(quantity, value)| Some((quantity, value?)))
        .filter(|(_, value)| value.is_finite() && *value >= 0.0)
        .collect()
}

/// Authors attributes of an engine. `schema`: the schema that includes theirs, if another one is applied.
pub(super) fn author_words(
    layer: &mut Layer,
    path: &str,
    opinions: &[AttributeOpinion],
    schema: Option<&str>,
) {
    for opinion in opinions {
        layer
            .over(path)
            .apply([schema.unwrap_or(&opinion.schema)])
            .attribute(&opinion.name, opinion.attribute());
    }
}

/// Authors a mimic relation in the words of an engine. `schema`: as for [`author_words`].
pub(super) fn author_mimic(
    scene: &Scene<'_>,
    layer: &mut Layer,
    following: &Following<'_>,
    dialect: Dialect,
    schema: Option<&str>,
) {
    let joints = scene.robot.joints();
    let axes = [following.joint, following.mimic.joint].map(|id| {
        let (axis, _) = joint_axis(&joints[id].axis);
        format!("rot{axis}")
    });
    let relation = dialects::Mimic {
        motions: [following.dof.motion(); 2],
        axes: [&axes[0], &axes[1]],
        multiplier: following.mimic.multiplier,
        offset: following.mimic.offset,
    };
    author_relation(
        layer,
        &following.plan.path,
        following.leader,
        dialects::mimic(dialect, &relation),
        schema,
    );
}

/// Authors the opinions of a mimic relation.
pub(super) fn author_relation(
    layer: &mut Layer,
    path: &str,
    leader: &str,
    opinions: Option<MimicOpinions>,
    schema: Option<&str>,
) {
    let Some(opinions) = opinions else {
        return;
    };
    let schema = schema.unwrap_or(&opinions.schema);
    author_words(layer, path, &opinions.coefficients, Some(schema));
    let mut prim = layer.over(path);
    prim.relationship(&opinions.leader, Relationship::to([leader]));
    if let Some((name, axis)) = opinions.leader_axis {
        prim.attribute(&name, Attribute::token(axis).uniform());
    }
}

/// Authors the drives of all joints.
pub(super) fn author_drives(scene: &Scene<'_>, layer: &mut Layer) {
    for (id, actuation) in &scene.robot.simulation().actuation {
        if let Some(plan) = &scene.plan.joints[*id] {
            drives::author_actuation(
                &mut layer.over(&plan.path),
                &scene.robot.joints()[*id],
                actuation,
            );
        }
    }
}

/// Returns the colliders that are convex meshes in their variant, with the paths of their prims.
pub(super) fn convex_meshes(scene: &Scene<'_>) -> Vec<(String, ColliderMeshKind)> {
    let mut found = Vec::new();
    for (link, plan) in scene.plan.links.iter() {
        let scope = format!("{}/collision", plan.path);
        for collider in &scene.library.colliders[link] {
            let meshes = collider.meshes(scene.library.is_decomposed);
            let convex = meshes
                .iter()
                .filter(|mesh| mesh.kind != ColliderMeshKind::Source);
            found.extend(convex.map(|mesh| (mesh.path(&scope), mesh.kind)));
        }
    }
    found
}

/// Authors the approximation of convex hulls as `convexHull`, over `none` in the neutral layer.
///
/// Newton 1.8 takes a mesh with `none` for concave, and Isaac Sim reports an error for each on a body that
/// moves, before it computes the hull itself. Exact meshes keep `none`, convex parts have it already.
pub(super) fn author_hulls(scene: &Scene<'_>, layer: &mut Layer) {
    for (path, kind) in convex_meshes(scene) {
        if kind == ColliderMeshKind::Hull {
            author_approximation(&mut layer.over(&path), "convexHull");
        }
    }
}

/// Authors those of the attributes that have a value, with their schema.
pub(super) fn author_floats<const N: usize>(
    layer: &mut Layer,
    path: &str,
    schema: &str,
    values: [(&str, Option<f32>); N],
) {
    for (name, value) in values
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    {
        layer
            .over(path)
            .apply([schema])
            .attribute(name, Attribute::float(value));
    }
}

/// Returns the positions at the start of joints with one degree of freedom, radians or metres, followers
/// included; only those that are not zero.
pub(super) fn start(scene: &Scene<'_>) -> HashMap<JointId, f64> {
    let robot = scene.robot;
    let Some(home) = &robot.simulation().home else {
        return HashMap::new();
    };
    let model = urdf_usd_robot::kinematics::Model::of(robot);
    let positions = robot.positions(&model, Some(home));
    let joints = robot.joints().handles();
    joints
        .filter_map(|id| match positions.get(model.range(id.index()))? {
            [position] if *position != 0.0 => Some((id, *position)),
            _ => None,
        })
        .collect()
}

/// Returns the mimic relations that an engine can express, between joints with one degree of freedom each;
/// reports the others with `code`.
pub(super) fn mimics<'a>(
    scene: &'a Scene<'_>,
    engine: &str,
    code: &'static Code,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Following<'a>> {
    let mut all = Vec::new();
    for (id, following) in relations(scene) {
        let joint = &scene.robot.joints()[id];
        match following {
            Ok(following) => all.push(following),
            Err(reason) => {
                let leader = joint
                    .mimic()
                    .map(|mimic| scene.robot.joints()[mimic.joint].name())
                    .unwrap_or_default();
                let message = format!(
                    "joint {:?} cannot follow {leader:?} in {engine}: {reason}",
                    joint.name()
                );
                diagnostics.push(Diagnostic::new(code, joint.place.clone(), message).help(
                    "let a joint that turns follow one that turns, and one that slides one that slides, of the same tree",
                ));
            }
        }
    }
    all
}

/// Returns the mimic relations of all joints, or the reason why engines cannot express one.
pub(super) fn relations<'a>(
    scene: &'a Scene<'_>,
) -> Vec<(JointId, Result<Following<'a>, &'static str>)> {
    let bases = bases(scene.robot, &scene.plan);
    let joints = scene.robot.joints().handles();
    joints
        .filter_map(|id| Some((id, followed(scene, &bases, id)?)))
        .collect()
}

/// A mimic relation.
pub(super) struct Following<'a> {
    /// The follower.
    pub(super) joint: JointId,
    /// The follower's plan.
    pub(super) plan: &'a JointPlan,
    /// The path of the leader joint.
    pub(super) leader: &'a str,
    /// The degree of freedom of both.
    pub(super) dof: Dof,
    pub(super) mimic: Mimic,
}

/// Returns the leader of joint `id`, if it has one: the last joint of its mimic chain that can lead
/// it, because engines do not support chained leaders.
fn followed<'a>(
    scene: &'a Scene<'_>,
    bases: &ArenaMap<Link, LinkId>,
    id: JointId,
) -> Option<Result<Following<'a>, &'static str>> {
    let joints = scene.robot.joints();
    let mut mimic = joints[id].mimic()?;
    // A leader whose own relation can't be expressed is independent in the engine.
    let next = |leader: &Joint| {
        leader
            .mimic()
            .filter(|next| Dof::of(&joints[next.joint]) == Dof::of(leader))
    };
    // Composes the chain: m·(n·x + b) + a = (m·n)·x + (a + m·b).
    while let Some(next) = next(&joints[mimic.joint]) {
        mimic.offset += mimic.multiplier * next.offset;
        mimic.multiplier *= next.multiplier;
        mimic.joint = next.joint;
    }
    let (follower, leader) = (&scene.plan.joints[id], &scene.plan.joints[mimic.joint]);
    let (Some(follower), Some(leader)) = (follower, leader) else {
        return Some(Err("one of them is no joint between bodies"));
    };
    let dofs = (Dof::of(&joints[id]), Dof::of(&joints[mimic.joint]));
    let base = |joint: &JointPlan| joint.body1.or(joint.body0).map(|body| bases[body]);
    Some(match dofs {
        (Some(dof), Some(of_leader)) if dof == of_leader => {
            if base(follower) != base(leader) {
                Err("they are in different articulations")
            } else if !(mimic.offset.is_finite() && mimic.multiplier.is_finite()) {
                Err("the numbers of the chain are too large")
            } else {
                Ok(Following {
                    joint: id,
                    plan: follower,
                    leader: &leader.path,
                    dof,
                    mimic,
                })
            }
        }
        (Some(_), Some(_)) => Err("one of them turns and the other slides"),
        _ => Err("one of them has not exactly one degree of freedom"),
    })
}

/// Returns the base of each link's tree of bodies, if it is a body.
fn bases(robot: &Robot, plan: &Plan) -> ArenaMap<Link, LinkId> {
    let mut bases = ArenaMap::new(robot.links(), |link, _| link);
    // From the roots outwards, so that the parent's base is already known.
    for &link in robot.tree().order() {
        let joint = robot
            .tree()
            .parent_joint(link)
            .and_then(|joint| plan.joints[joint].as_ref());
        if let Some(JointPlan {
            body0: Some(body0),
            body1: Some(body1),
            ..
        }) = joint
        {
            bases[*body1] = bases[*body0];
        }
    }
    bases
}
