//! `mujoco.usda`: the overlay for the MuJoCo engine, prefix `mjc:` (schemas of mujoco-usd 4.0, which include
//! those of newton-usd-schemas).
//!
//! MuJoCo's reader prefers the attributes of Newton to `mjc:` attributes of the same meaning, which it calls
//! deprecated. Since July 2026, REP-158 wants the prefix of the engine in the layer of an engine: then the layer has
//! `mjc:` attributes, which MuJoCo and Newton read, too. The reader reads bodies, masses, colliders, limits and filtered pairs from UsdPhysics, but no drives.

use std::collections::BTreeMap;

use super::drives::Dof;
use super::plan::JointPlan;
use super::{Scene, codes, engine, newton, physics};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::kinematics::Model;
use urdf_usd_robot::{
    Actuator, ImageFormat, Joint, JointId, JointKind, LinkId, MIMIC_SOLIMP, MIMIC_SOLREF, MapRole,
    Pose, Role, SelfCollision, names,
};
use urdf_usd_usd_author::dialects::{self, Dialect};
use urdf_usd_usd_author::layout::DRIVE_ASSUMED;
use urdf_usd_usd_author::{Attribute, Layer, Prim, Relationship};

/// Name of the scope of the prims that only MuJoCo reads.
pub(super) const SCOPE: &str = "MuJoCo";
/// Group of colliders, as in MJCF: MuJoCo's viewer hides it.
const COLLIDERS: i32 = 3;
/// Number of gains and of biases of an actuator. Newton 1.8 requires all.
const PARAMETERS: usize = 10;

pub(super) fn layer(scene: &Scene<'_>, diagnostics: &mut Vec<Diagnostic>) -> Layer {
    let (mut layer, root) = super::layer(
        scene,
        "Actuators and what UsdPhysics cannot say, in the words of MuJoCo",
    );
    layer.over(&root);
    let tree = Tree::new(scene);
    move_articulation_roots(scene, &mut layer, &tree);
    for (id, joint) in scene.robot.joints().iter() {
        let Some(plan) = &scene.plan.joints[id] else {
            continue;
        };
        if let Some(reason) = missing_word(joint) {
            let message = format!("joint {:?} {reason}", joint.name());
            let help = "write the robot with --formats mjcf, too";
            diagnostics.push(left_out(&joint.place, message, help));
        } else {
            author_joint(scene, &mut layer, id, plan);
        }
    }
    for following in engine::mimics(scene, "MuJoCo", &codes::MUJOCO_MIMIC, diagnostics) {
        if scene.options.mimics_in_engines {
            engine::author_mimic(scene, &mut layer, &following, Dialect::Mujoco, None);
        } else {
            newton::author_mimic(scene, &mut layer, &following, "MjcEqualityJointAPI");
        }
        let mut prim = layer.over(&following.plan.path);
        for (name, values) in [
            ("mjc:solref", &MIMIC_SOLREF[..]),
            ("mjc:solimp", &MIMIC_SOLIMP),
        ] {
            let values = values.iter().copied();
            prim.attribute(name, Attribute::double_array(values).uniform());
        }
    }
    let scope = format!("{root}/{SCOPE}");
    let controls = author_actuators(scene, &mut layer, &scope, diagnostics);
    author_start(scene, &mut layer, &scope, &tree, &controls);
    author_colliders(scene, &mut layer);
    author_pairs(scene, &mut layer, diagnostics);
    replace_images(scene, &mut layer, &root, diagnostics);
    layer
}

fn left_out(place: &Place, message: String, help: &str) -> Diagnostic {
    Diagnostic::new(&codes::MUJOCO_LEFT_OUT, place.clone(), message).help(help)
}

/// Returns the reason why MuJoCo's reader does not express a joint that has a prim.
fn missing_word(joint: &Joint) -> Option<&'static str> {
    match (joint.kind(), joint.closes_loop()) {
        (JointKind::Fixed, _) => None,
        (_, true) => Some("closes a loop, which stays open in MuJoCo"),
        (JointKind::Planar, false) => Some("is planar, and fixed in MuJoCo"),
        (_, false) => None,
    }
}

/// The tree of bodies, as MuJoCo's reader builds it.
struct Tree {
    /// The bodies in the order of their joints in `qpos`, each with the joints that lead to it. A body
    /// without any has a free joint.
    order: Vec<(LinkId, Vec<JointId>)>,
    /// Bodies that no other body moves or holds.
    bases: Vec<LinkId>,
}

impl Tree {
    fn new(scene: &Scene<'_>) -> Self {
        let plan = &scene.plan;
        let mut joints: BTreeMap<LinkId, Vec<JointId>> = BTreeMap::new();
        let mut children: BTreeMap<LinkId, Vec<LinkId>> = BTreeMap::new();
        let mut bases = Vec::new();
        for (id, joint) in scene.robot.joints().iter() {
            let body = plan.joints[id].as_ref().and_then(|joint| joint.body1);
            if let Some(body) = body.filter(|_| !joint.closes_loop()) {
                joints.entry(body).or_default().push(id);
            }
        }
        let bodies = scene.robot.tree().order().iter().copied();
        for body in bodies.filter(|link| plan.links[*link].role == Role::Body) {
            let leading = joints.get(&body).into_iter().flatten();
            let mut above = leading.filter_map(|id| plan.joints[*id].as_ref()?.body0);
            match above.next() {
                Some(above) => children.entry(above).or_default().push(body),
                None => bases.push(body),
            }
        }
        let mut order = Vec::new();
        let mut open: Vec<LinkId> = bases.iter().rev().copied().collect();
        while let Some(body) = open.pop() {
            order.push((body, joints.remove(&body).unwrap_or_default()));
            open.extend(children.get(&body).into_iter().flatten().rev());
        }
        Self { order, bases }
    }
}

/// Moves the articulation roots to the bases: MuJoCo 4.0 takes each prim with one for a body, also the default
/// prim and joints.
fn move_articulation_roots(scene: &Scene<'_>, layer: &mut Layer, tree: &Tree) {
    const SCHEMA: &str = "PhysicsArticulationRootAPI";
    let bases: Vec<&str> = tree
        .bases
        .iter()
        .map(|base| &*scene.plan.links[*base].path)
        .collect();
    let roots = scene.plan.articulation_roots.iter().map(String::as_str);
    for root in roots.filter(|root| !bases.contains(root)) {
        layer.over(root).unapply([SCHEMA]);
    }
    for base in bases {
        layer.over(base).apply([SCHEMA]);
    }
}

/// Authors MjcJointAPI, and, for a joint whose limits leave one position, an equality in place of the limits,
/// which MuJoCo refuses.
fn author_joint(scene: &Scene<'_>, layer: &mut Layer, id: JointId, plan: &JointPlan) {
    let joint = &scene.robot.joints()[id];
    let Some(dof) = Dof::of(joint) else {
        return;
    };
    let mut prim = layer.over(&plan.path);
    prim.apply(["MjcJointAPI"]);
    let actuation = scene.robot.simulation().actuation.get(&id);
    let force = actuation.and_then(|actuation| actuation.max_force);
    if let Some(force) = force.or(joint.effort()) {
        author_range(&mut prim, "mjc:actuatorfrcrange", [-force, force]);
    }
    let dialect = if scene.options.mimics_in_engines {
        Dialect::Mujoco
    } else {
        Dialect::Newton
    };
    let passive = engine::passive(scene, id, joint);
    let words = dialects::passive(dialect, dof.motion(), &passive);
    engine::author_words(layer, &plan.path, &words, Some("MjcJointAPI"));
    let bounds = joint.bounds();
    if bounds.lower() == bounds.upper() {
        let relation = dialects::Mimic {
            motions: [dof.motion(); 2],
            axes: [""; 2],
            multiplier: 0.0,
            offset: bounds.lower(),
        };
        let opinions = dialects::mimic(dialect, &relation);
        let coefficients = opinions
            .map(|opinions| opinions.coefficients)
            .unwrap_or_default();
        engine::author_words(
            layer,
            &plan.path,
            &coefficients,
            Some("MjcEqualityJointAPI"),
        );
        layer
            .over(&plan.path)
            .attribute("physics:lowerLimit", Attribute::blocked("float"))
            .attribute("physics:upperLimit", Attribute::blocked("float"));
    }
}

fn author_range(prim: &mut Prim<'_>, name: &str, [min, max]: [f64; 2]) {
    for (side, value) in [("min", min), ("max", max)] {
        let value = Attribute::double(value).uniform();
        prim.attribute(&format!("{name}:{side}"), value);
    }
}

/// Authors the actuators, and a scene with the integrator that they need; returns their controls at the start.
fn author_actuators(
    scene: &Scene<'_>,
    layer: &mut Layer,
    scope: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<f64> {
    let robot = scene.robot;
    let mut actuators = Vec::new();
    for (id, joint) in robot.joints().iter() {
        let is_moved = Dof::of(joint).is_some() && !joint.closes_loop();
        let plan = scene.plan.joints[id].as_ref().filter(|_| is_moved);
        let Some((plan, actuator)) = plan.zip(Actuator::of(robot, id)) else {
            continue;
        };
        match actuator.gain_and_bias() {
            Some(gain_and_bias) => actuators.push((id, plan, actuator, gain_and_bias)),
            None if actuator.gains.is_none() => {}
            None => {
                let message = format!(
                    "the drive of joint {:?} sets an acceleration: it has no actuator in MuJoCo",
                    joint.name()
                );
                diagnostics.push(left_out(
                    &joint.place,
                    message,
                    "let the drive have the type force",
                ));
            }
        }
    }
    if actuators.is_empty() {
        return Vec::new();
    }
    layer.scope(scope);
    // MuJoCo's default integrates the damping of actuators explicitly, which is unstable for stiff ones on
    // light links.
    layer
        .def(&format!("{scope}/scene"), "PhysicsScene")
        .apply(["MjcSceneAPI"])
        .attribute(
            "mjc:option:integrator",
            Attribute::token("implicitfast").uniform(),
        );
    let scope = format!("{scope}/actuators");
    layer.scope(&scope);
    let joints = robot.joints();
    let wanted: Vec<&str> = actuators
        .iter()
        .map(|(id, ..)| joints[*id].name())
        .collect();
    let identifiers = names::identifiers(&wanted, "actuator", &[]);
    let mut controls = Vec::new();
    for ((id, plan, actuator, (gain, bias)), identifier) in actuators.into_iter().zip(identifiers) {
        let joint = &joints[id];
        if let Some(dof) = Dof::of(joint).filter(|_| joint.drive().is_some()) {
            // Programs that read both, such as Newton, would apply both.
            let schema = format!("PhysicsDriveAPI:{}", dof.instance);
            layer.over(&plan.path).unapply([schema.as_str()]);
        }
        let path = format!("{scope}/{identifier}");
        let mut prim = layer.def(&path, "MjcActuator");
        prim.relationship("mjc:target", Relationship::to([&plan.path]));
        let bias_type = if bias == [0.0; 3] { "none" } else { "affine" };
        prim.attribute("mjc:gainType", Attribute::token("fixed").uniform())
            .attribute("mjc:biasType", Attribute::token(bias_type).uniform());
        for (name, values) in [("mjc:gainPrm", &[gain][..]), ("mjc:biasPrm", &bias)] {
            // Adding 0.0 turns −0.0 into 0.0.
            let values = values.iter().map(|value| value + 0.0);
            let values = values.chain(std::iter::repeat(0.0)).take(PARAMETERS);
            prim.attribute(name, Attribute::double_array(values).uniform());
        }
        let ranges = [
            ("mjc:ctrlRange", actuator.control_range),
            (
                "mjc:forceRange",
                actuator.max_force.map(|force| [-force, force]),
            ),
        ];
        for (name, range) in ranges {
            if let Some(range) = range {
                author_range(&mut prim, name, range);
            }
        }
        let actuation = robot.simulation().actuation.get(&id);
        if actuation.is_some_and(|actuation| actuation.is_assumed) {
            prim.attribute(DRIVE_ASSUMED, Attribute::bool(true).uniform().custom());
        }
        controls.push(actuator.target);
    }
    controls
}

/// Authors the keyframe of the start, unless it is zero for every joint.
fn author_start(scene: &Scene<'_>, layer: &mut Layer, scope: &str, tree: &Tree, controls: &[f64]) {
    let robot = scene.robot;
    let home = robot.simulation().home.as_ref();
    if home.is_none() && controls.iter().all(|target| *target == 0.0) {
        return;
    }
    let model = Model::of(robot);
    let positions = robot.positions(&model, home);
    let poses = model.poses(&positions);
    let mut qpos = Vec::new();
    for (body, joints) in &tree.order {
        let is_free =
            joints.is_empty() && !scene.plan.world_joints.iter().any(|(_, held)| held == body);
        if is_free {
            let pose = poses.get(body.index()).copied();
            let pose = pose.unwrap_or_else(Pose::identity);
            let (at, turn) = (pose.translation.vector, pose.rotation);
            qpos.extend([at.x, at.y, at.z, turn.w, turn.i, turn.j, turn.k]);
        }
        let single = joints
            .iter()
            .filter(|id| Dof::of(&robot.joints()[**id]).is_some());
        qpos.extend(single.map(|id| {
            let position = positions.get(model.range(id.index()));
            position
                .and_then(|position| position.first())
                .copied()
                .unwrap_or(0.0)
        }));
    }
    layer.scope(scope);
    let scope = format!("{scope}/keyframes");
    layer.scope(&scope);
    let wanted = home.map_or("start", |home| &home.name);
    for identifier in names::identifiers(&[wanted], "start", &[]) {
        let mut prim = layer.def(&format!("{scope}/{identifier}"), "MjcKeyframe");
        prim.attribute("mjc:qpos", Attribute::double_array(qpos.iter().copied()));
        if !controls.is_empty() {
            let controls = controls.iter().copied();
            prim.attribute("mjc:ctrl", Attribute::double_array(controls));
        }
    }
}

/// Authors MjcCollisionAPI.
fn author_colliders(scene: &Scene<'_>, layer: &mut Layer) {
    for (link, plan) in scene.plan.links.iter() {
        for collider in &scene.library.colliders[link] {
            layer
                .over(&format!("{}/collision/{}", plan.path, collider.name))
                .apply(["MjcCollisionAPI"])
                .attribute("mjc:group", Attribute::int(COLLIDERS).uniform());
        }
    }
}

/// Authors all pairs of bodies if none may collide: MuJoCo's reader ignores groups. Reports pairs with the
/// geometry of the link `world`, which it cannot filter.
fn author_pairs(scene: &Scene<'_>, layer: &mut Layer, diagnostics: &mut Vec<Diagnostic>) {
    let collides = |link: &LinkId| !physics::paths_that_touch(scene, *link).is_empty();
    let links = &scene.plan.links;
    for (first, others) in &scene.plan.filtered_pairs {
        let is_world = links[*first].role == Role::World;
        let others = others.iter().filter(|other| collides(other));
        let names: Vec<String> = others
            .map(|other| format!("{:?}", scene.robot.links()[*other].name()))
            .collect();
        if is_world && collides(first) && !names.is_empty() {
            let link = &scene.robot.links()[*first];
            let message = format!(
                "in MuJoCo, the geometry of link {:?} collides with {}",
                link.name(),
                super::list(&names)
            );
            let help = "move it to a link that is fixed to the world";
            diagnostics.push(left_out(&link.place, message, help));
        }
    }
    if scene.robot.simulation().self_collision != SelfCollision::None {
        return;
    }
    let order = scene.robot.tree().order().iter().copied();
    let bodies: Vec<LinkId> = order
        .filter(|link| links[*link].role == Role::Body && collides(link))
        .collect();
    let later = |index| bodies.get(index + 1..).unwrap_or_default().to_vec();
    let pairs: Vec<(LinkId, Vec<LinkId>)> = bodies
        .iter()
        .enumerate()
        .map(|(index, body)| (*body, later(index)))
        .collect();
    physics::author_filtered_pairs(scene, layer, &pairs, diagnostics);
}

/// Replaces images that MuJoCo cannot read by the numbers of their materials: MuJoCo 4.0 refuses robots that
/// refer to images in other formats than PNG.
fn replace_images(
    scene: &Scene<'_>,
    layer: &mut Layer,
    root: &str,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut replaced = Vec::new();
    for entry in scene.library.materials.values() {
        let material = &entry.material;
        let [red, green, blue, _] = material.base_color;
        let map = |role| material.maps.get(&role).map(|map| &map.texture);
        let inputs = [
            (
                "inputs:diffuseColor",
                material.base_color_texture.as_ref(),
                Attribute::color3f([red, green, blue]),
            ),
            (
                "inputs:metallic",
                map(MapRole::Metallic),
                Attribute::float(material.metallic),
            ),
            (
                "inputs:roughness",
                map(MapRole::Roughness),
                Attribute::float(material.roughness),
            ),
        ];
        for (name, texture, value) in inputs {
            if texture.is_some_and(|texture| texture.format != ImageFormat::Png) {
                let path = format!("{root}/Materials/{}/PreviewSurface", entry.name);
                layer.over(&path).attribute(name, value.disconnected());
                replaced.push(format!("{:?}", material.name));
            }
        }
    }
    replaced.dedup();
    if !replaced.is_empty() {
        let message = format!(
            "MuJoCo's reader of OpenUSD reads no JPEG: these materials have a colour in place of an image: {}",
            super::list(&replaced)
        );
        let help = "convert the images to PNG, or write the robot with --formats mjcf, too";
        diagnostics.push(
            Diagnostic::new(&codes::MUJOCO_IMAGE, scene.robot.place.clone(), message).help(help),
        );
    }
}
