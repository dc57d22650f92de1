//! `newton.usda`: the overlay for the Newton physics engine, prefix `newton:` (schemas of
//! newton-usd-schemas 0.6).
//!
//! Everything here comes from the robot: mimic relations, the joints' friction and damping, and
//! their velocity limits. Mass properties are not repeated: they are authored once, in
//! `physics.usda`.

use super::plan::{JointPlan, Plan};
use super::{Scene, codes};
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_robot::{ArenaMap, Joint, JointId, JointKind, Link, LinkId, Mimic, Robot};
use urdf_usd_usd_author::numbers::degrees;
use urdf_usd_usd_author::{Attribute, Layer, Prim, Relationship};

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        "What joints do that UsdPhysics cannot say, in the words of Newton",
    );
    layer.over(&root);
    for path in &scene.plan.articulation_roots {
        // URDF links collide with each other except for the pairs that `physics.usda` filters.
        let mut prim = layer.over(path);
        prim.apply(["NewtonArticulationRootAPI"])
            .attribute("newton:selfCollisionEnabled", Attribute::bool(true));
    }
    let bases = bases(scene.robot, &scene.plan);
    for (id, joint) in scene.robot.joints().iter() {
        if let Some(plan) = &scene.plan.joints[id] {
            passive(&mut layer, joint, plan);
        }
        match followed(scene, &bases, id) {
            None => {}
            Some(Ok(Following {
                plan,
                leader,
                mimic,
            })) => author_mimic(&mut layer.over(&plan.path), joint, leader, &mimic),
            Some(Err(reason)) => {
                let leader = joint
                    .mimic()
                    .map(|mimic| scene.robot.joints()[mimic.joint].name())
                    .unwrap_or_default();
                let message = format!(
                    "joint {:?} cannot follow {leader:?} in Newton: {reason}",
                    joint.name()
                );
                diagnostics.push(Diagnostic::new(&codes::NEWTON_MIMIC, joint.place.clone(), message).help(
                    "let a joint that turns follow one that turns, and one that slides one that slides, of the same tree",
                ));
            }
        }
    }
    layer
}

/// Authors NewtonJointAPI: friction in N·m or N, damping and speed per degree if the joint is
/// angular.
fn passive(layer: &mut Layer, joint: &Joint, plan: &JointPlan) {
    let Some(is_angular) = is_angular(joint.kind()) else {
        return;
    };
    let dynamics = joint.dynamics.unwrap_or_default();
    let in_range = |value: &f64| value.is_finite() && *value >= 0.0;
    let damping =
        dynamics.damping.filter(in_range).map(|damping| if is_angular { damping.to_radians() } else { damping } as f32);
    let friction = dynamics
        .friction
        .filter(in_range)
        .map(|friction| friction as f32);
    // Many URDFs write a velocity of 0 for "unknown"; Newton would lock the joint.
    let velocity = joint
        .limit
        .and_then(|limit| limit.velocity)
        .filter(|velocity| in_range(velocity) && *velocity > 0.0);
    let velocity = velocity.map(|velocity| {
        if is_angular {
            degrees(velocity)
        } else {
            velocity as f32
        }
    });
    let values = [
        ("newton:damping", damping),
        ("newton:friction", friction),
        ("newton:velocityLimit", velocity),
    ];
    if values.iter().all(|(_, value)| value.is_none()) {
        return;
    }
    let mut prim = layer.over(&plan.path);
    prim.apply(["NewtonJointAPI"]);
    for (name, value) in values {
        if let Some(value) = value {
            prim.attribute(name, Attribute::float(value));
        }
    }
}

/// Authors NewtonMimicAPI: position = coef0 + coef1 · position of the leader.
fn author_mimic(prim: &mut Prim<'_>, joint: &Joint, leader: &str, mimic: &Mimic) {
    let offset = if is_angular(joint.kind()) == Some(true) {
        degrees(mimic.offset)
    } else {
        mimic.offset as f32
    };
    prim.apply(["NewtonMimicAPI"])
        .attribute("newton:mimicCoef0", Attribute::float(offset))
        .attribute(
            "newton:mimicCoef1",
            Attribute::float(mimic.multiplier as f32),
        )
        .attribute("newton:mimicEnabled", Attribute::bool(true))
        .relationship("newton:mimicJoint", Relationship::to([leader]));
}

/// A mimic relation.
struct Following<'a> {
    /// The follower's plan.
    plan: &'a JointPlan,
    /// The path of the leader joint.
    leader: &'a str,
    mimic: Mimic,
}

/// Returns the leader of joint `id`, if it has one: the last joint of its mimic chain that can lead
/// it, because Newton does not support chained leaders.
fn followed<'a>(
    scene: &'a Scene<'_>,
    bases: &ArenaMap<Link, LinkId>,
    id: JointId,
) -> Option<Result<Following<'a>, &'static str>> {
    let joints = scene.robot.joints();
    let mut mimic = joints[id].mimic()?;
    // A leader whose own relation can't be expressed in Newton is independent there.
    let next = |leader: &Joint| {
        leader
            .mimic()
            .filter(|next| is_angular(joints[next.joint].kind()) == is_angular(leader.kind()))
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
    let kinds = (
        is_angular(joints[id].kind()),
        is_angular(joints[mimic.joint].kind()),
    );
    let base = |joint: &JointPlan| joint.body1.or(joint.body0).map(|body| bases[body]);
    Some(match kinds {
        (None, _) | (_, None) => Err("one of them has not exactly one degree of freedom"),
        (follower, leader) if follower != leader => Err("one of them turns and the other slides"),
        _ if base(follower) != base(leader) => Err("they are in different articulations"),
        _ if !(mimic.offset.is_finite() && mimic.multiplier.is_finite()) => {
            Err("the numbers of the chain are too large")
        }
        _ => Ok(Following {
            plan: follower,
            leader: &leader.path,
            mimic,
        }),
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

/// Returns whether positions are angles; `None` for joints without exactly one degree of freedom.
fn is_angular(kind: JointKind) -> Option<bool> {
    match kind {
        JointKind::Revolute | JointKind::Continuous => Some(true),
        JointKind::Prismatic => Some(false),
        JointKind::Fixed | JointKind::Planar | JointKind::Floating => None,
    }
}
