//! Vendor-specific opinions: translated between the dialects of engines and of REP-158 (§4.2.2), and moved to vendor
//! layers (§1.4).

use urdf_usd_stage::Value;
use urdf_usd_usd_author::dialects::{
    self, AttributeOpinion, Dialect, Motion, Opinions, Quantity, Relation, WORDS,
};

use super::Options;
use super::notes::Notes;
use super::scene::{Node, NodeId, Scene};

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

impl Opinions for Node {
    fn schemas(&self) -> &[String] {
        &self.schemas
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.number(name)
    }

    fn target(&self, name: &str) -> Option<String> {
        self.targets(name).first().cloned()
    }

    fn is_false(&self, name: &str) -> bool {
        self.value(name) == Some(&Value::Bool(false))
    }
}

/// Translates between the dialects of engines and the neutral one: as the revision of REP-158 says, and to those of the
/// options.
pub fn translate(scene: &mut Scene, options: &Options, notes: &mut Notes) {
    for index in scene.nodes.handles() {
        if scene.nodes[index].is_joint() {
            translate_mimic(scene, index, options, notes);
            translate_passive(scene, index, options, notes);
            complete_mujoco(&mut scene.nodes[index], notes);
        }
        translate_inertia(scene, index, notes);
    }
}

/// Translates the mimic relation of a joint.
fn translate_mimic(scene: &mut Scene, index: NodeId, options: &Options, notes: &mut Notes) {
    let node = &scene.nodes[index];
    let path = node.path.clone();
    let relations = dialects::relations(node);
    let Some(relation) = relations.first().filter(|_| !node.has("MimicJointAPI")) else {
        return;
    };
    let is_neutral = |relation: &Relation| relation.dialect == Dialect::ExtendedPhysics;
    let mut targets = options.engines.clone();
    if options.revision.has_extended_physics() {
        targets.push(Dialect::ExtendedPhysics);
    } else if targets.is_empty() && relations.iter().all(is_neutral) {
        // The neutral relation goes: each engine keeps it in its own words.
        targets.extend(Dialect::ENGINES);
    }
    targets.retain(|target| relations.iter().all(|known| known.dialect != *target));
    let has_neutral = relations.iter().any(is_neutral);
    if relation.is_polynomial && !targets.is_empty() {
        let message = "the joint follows another by a polynomial, which only MuJoCo has";
        let help = "set mjc:coef2, mjc:coef3 and mjc:coef4 to 0, if other programs are to read it";
        notes.left(&path, message, help);
        return;
    }
    let leader = relation.leader.as_ref().and_then(|path| scene.at(path));
    let leader = leader.filter(|leader| scene.nodes[*leader].is_joint());
    let Some(leader) = leader else {
        let message = "the joint follows another joint that is not named or does not exist";
        notes.left(&path, message, "name the joint that it follows");
        return;
    };
    let [node, leader] = [index, leader].map(|index| &scene.nodes[index]);
    let leader_path = leader.path.clone();
    let motions = [node, leader].map(|node| Motion::of_type(&node.type_name));
    let axes = [node, leader].map(|node| format!("rot{}", axis_of(node)));
    let mut is_kept = relations.iter().any(|relation| !is_neutral(relation));
    if let [Some(follower), Some(of_leader)] = motions {
        let (multiplier, offset) = relation.in_si(follower, of_leader);
        let relation = dialects::Mimic {
            motions: [follower, of_leader],
            axes: [&axes[0], &axes[1]],
            multiplier,
            offset,
        };
        for target in targets {
            let Some(opinions) = dialects::mimic(target, &relation) else {
                let message = format!(
                    "{} cannot say that a joint that turns follows one that slides, or the reverse",
                    target.as_str()
                );
                let help = "let the joint follow one that moves as it does";
                notes.left(&path, message, help);
                continue;
            };
            is_kept = true;
            let base = opinions.schema.split(':').next().unwrap_or_default();
            let message = format!("translated the mimic joint to {base}");
            notes.changed(&path, message);
            let node = &mut scene.nodes[index];
            node.apply(&opinions.schema);
            node.set_target(&opinions.leader, leader_path.clone());
            if let Some((name, axis)) = opinions.leader_axis {
                node.set_uniform(&name, "token", Value::Token(axis.into()));
            }
            author(node, opinions.coefficients);
        }
    }
    if has_neutral && !options.revision.has_extended_physics() {
        let node = &mut scene.nodes[index];
        node.schemas
            .retain(|schema| schema != "ExtendedPhysicsMimicAPI");
        let is_other = |name: &str| !name.starts_with("ext_physics:mimic:");
        node.attributes.retain(|name, _| is_other(name));
        node.relationships.retain(|name, _| is_other(name));
        if !is_kept {
            let message = "the joint follows another in a way that no engine has attributes for, and REP-158 of July 2026 has no others";
            let help =
                "let the joint follow one that moves as it does, or keep the revision of June 2026";
            notes.lost(&path, message, help);
        }
    }
}

/// Returns the axis of a joint: `X`, `Y` or `Z`.
fn axis_of(node: &Node) -> &str {
    node.text("physics:axis").unwrap_or("X")
}

/// Translates the passive behaviour of a joint to the dialects of the options.
fn translate_passive(scene: &mut Scene, index: NodeId, options: &Options, notes: &mut Notes) {
    let node = &mut scene.nodes[index];
    let Some(motion) = Motion::of_type(&node.type_name).filter(|_| !options.engines.is_empty())
    else {
        return;
    };
    let instances = motion.instances(axis_of(node));
    let instances = instances.each_ref().map(String::as_str);
    for quantity in Quantity::PASSIVE {
        let value = match dialects::value(node, quantity, motion, &instances) {
            Ok(None) => continue,
            Ok(Some((_, value))) => value,
            Err(contradiction) => {
                let message = format!(
                    "{} differ, and other engines have one {}",
                    contradiction.names.join(" and "),
                    quantity.name()
                );
                notes.left(&node.path, message, "give them the same value");
                continue;
            }
        };
        for &engine in &options.engines {
            let known = dialects::value_in(engine, node, quantity, motion, &instances);
            if known != Ok(None) {
                continue;
            }
            let words = dialects::passive(engine, motion, &[(quantity, value)]);
            let (name, quantity) = (engine.as_str(), quantity.name());
            if words.is_empty() {
                let message = format!("{name} has no attribute for the {quantity}");
                notes.left(
                    &node.path,
                    message,
                    "nothing need be done where it does not matter",
                );
            } else {
                let message = format!("translated the {quantity} to the attributes of {name}");
                notes.changed(&node.path, message);
                author(node, words);
            }
        }
    }
}

/// Authors the `newton:` attributes of a joint with MuJoCo's schemas, which include them, as `mjc:` attributes, too: each
/// layer has the attributes of its engine.
fn complete_mujoco(node: &mut Node, notes: &mut Notes) {
    let Some(motion) = Motion::of_type(&node.type_name) else {
        return;
    };
    let mut words = Vec::new();
    let of_newton = WORDS.iter().filter(|word| word.dialect == Dialect::Newton);
    for word in of_newton {
        let value = |dialect| dialects::value_in(dialect, node, word.quantity, motion, &[]);
        let (Ok(Some(value)), Ok(None)) = (value(Dialect::Newton), value(Dialect::Mujoco)) else {
            continue;
        };
        let opinions = dialects::passive(Dialect::Mujoco, motion, &[(word.quantity, value)]);
        words.extend(
            opinions
                .into_iter()
                .filter(|opinion| node.has(&opinion.schema)),
        );
    }
    let leader = node.targets("newton:mimicJoint").first().cloned();
    let leader =
        leader.filter(|_| node.has("MjcEqualityJointAPI") && node.targets("mjc:target").is_empty());
    if words.is_empty() && leader.is_none() {
        return;
    }
    for (of_mujoco, of_newton) in [
        ("MjcEqualityJointAPI", "NewtonMimicAPI"),
        ("MjcJointAPI", "NewtonJointAPI"),
    ] {
        // An equality without a leader holds the joint, which Newton has no word for.
        let is_mimic =
            of_newton != "NewtonMimicAPI" || !node.targets("newton:mimicJoint").is_empty();
        if node.has(of_mujoco) && is_mimic {
            node.apply(of_newton);
        }
    }
    if let Some(leader) = leader {
        node.set_target("mjc:target", leader);
    }
    author(node, words);
    notes.changed(
        &node.path,
        "authored the `newton:` attributes as `mjc:` attributes, too",
    );
}

/// Authors attributes with their schemas.
fn author(node: &mut Node, opinions: Vec<AttributeOpinion>) {
    for opinion in opinions {
        node.apply(&opinion.schema);
        if opinion.is_double {
            node.set_uniform(&opinion.name, "double", Value::Double(opinion.value));
        } else {
            node.set(&opinion.name, "float", Value::Float(opinion.value as f32));
        }
    }
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
