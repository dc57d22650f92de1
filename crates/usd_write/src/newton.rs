//! `newton.usda`: the overlay for the Newton physics engine, prefix `newton:` (schemas of
//! newton-usd-schemas 0.6).
//!
//! Mimic relations, friction, damping and velocity limits of joints come from the robot, drives from
//! [`Simulation`](urdf_usd_robot::Simulation). Mass properties are not repeated: they are authored once,
//! in `physics.usda`.

use super::plan::{JointPlan, Plan};
use super::{Scene, codes, engine};
use urdf_usd_diagnostic::{Code, Diagnostic};
use urdf_usd_robot::{
    ArenaMap, Joint, JointId, JointKind, Link, LinkId, Mimic, Robot, SelfCollision,
};
use urdf_usd_usd_author::numbers::degrees;
use urdf_usd_usd_author::{Attribute, Layer, Prim, Relationship};

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        "Drives and what UsdPhysics cannot say, in the words of Newton",
    );
    layer.over(&root);
    // Links collide by default, and whoever imports the asset may say otherwise: the attribute would
    // override that.
    if scene.robot.simulation().self_collision == SelfCollision::None {
        for path in &scene.plan.articulation_roots {
            let mut prim = layer.over(path);
            prim.apply(["NewtonArticulationRootAPI"])
                .attribute("newton:selfCollisionEnabled", Attribute::bool(false));
        }
    }
    engine::author_drives(scene, &mut layer);
    let start = engine::start(scene);
    for (id, joint) in scene.robot.joints().iter() {
        if let Some(plan) = &scene.plan.joints[id] {
            passive(scene, &mut layer, id, joint, plan);
            if let Some(position) = start.get(&id).filter(|position| **position != 0.0) {
                author_start(&mut layer, joint, plan, *position);
            }
        }
    }
    for (joint, following) in followed_joints(scene, &codes::NEWTON_MIMIC, diagnostics) {
        let joint = &scene.robot.joints()[joint];
        let mut prim = layer.over(&following.plan.path);
        author_mimic(&mut prim, joint, following.leader, &following.mimic);
    }
    layer
}

/// Returns the mimic relations that engines with scalar relations can express; reports the others with
/// `code`.
pub(super) fn followed_joints<'a>(
    scene: &'a Scene<'_>,
    code: &'static Code,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(JointId, Following<'a>)> {
    let bases = bases(scene.robot, &scene.plan);
    let mut all = Vec::new();
    for (id, joint) in scene.robot.joints().iter() {
        match followed(scene, &bases, id) {
            None => {}
            Some(Ok(following)) => all.push((id, following)),
            Some(Err(reason)) => {
                let leader = joint
                    .mimic()
                    .map(|mimic| scene.robot.joints()[mimic.joint].name())
                    .unwrap_or_default();
                let message = format!(
                    "joint {:?} cannot follow {leader:?} in the engine: {reason}",
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

/// Authors NewtonJointAPI: friction in N·m or N, damping and speed per degree if the joint is
/// angular.
fn passive(scene: &Scene<'_>, layer: &mut Layer, id: JointId, joint: &Joint, plan: &JointPlan) {
    let Some(is_angular) = is_angular(joint.kind()) else {
        return;
    };
    let passive = engine::passive(scene, id, joint);
    let damping = passive.damping.map(|damping| if is_angular { damping.to_radians() } else { damping } as f32);
    let velocity = passive.velocity.map(|velocity| {
        if is_angular {
            degrees(velocity)
        } else {
            velocity as f32
        }
    });
    let values = [
        (
            "newton:armature",
            passive.armature.map(|armature| armature as f32),
        ),
        ("newton:damping", damping),
        (
            "newton:friction",
            passive.friction.map(|friction| friction as f32),
        ),
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

/// Authors the position of a joint at the start. Newton 1.8 reads it from these attributes only, which no
/// schema declares.
fn author_start(layer: &mut Layer, joint: &Joint, plan: &JointPlan, position: f64) {
    let (name, position) = match is_angular(joint.kind()) {
        None => return,
        Some(true) => ("newton:angular:position", degrees(position)),
        Some(false) => ("newton:linear:position", position as f32),
    };
    layer
        .over(&plan.path)
        .attribute(name, Attribute::float(position).custom());
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
pub(super) struct Following<'a> {
    /// The follower's plan.
    pub(super) plan: &'a JointPlan,
    /// The path of the leader joint.
    pub(super) leader: &'a str,
    pub(super) mimic: Mimic,
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
pub(super) fn is_angular(kind: JointKind) -> Option<bool> {
    match kind {
        JointKind::Revolute | JointKind::Continuous => Some(true),
        JointKind::Prismatic => Some(false),
        JointKind::Fixed | JointKind::Planar | JointKind::Floating => None,
    }
}
