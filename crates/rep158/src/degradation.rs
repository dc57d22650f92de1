//! Properties of an asset that engines drop or approximate (REP-158 §1.4, degradation reporting): [`degradations`] is
//! the entry point.
//!
//! [`FACTS`], [`find_unread_words`] and [`find_unread_mimic`] have all that is known about engines. It was measured: each engine loaded an
//! asset with and without a property, and the two models were compared (`test/engines/test_dropped.py`).

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use urdf_usd_diagnostic::{Code, Diagnostic};
use urdf_usd_stage::{Prim, PrimId, Stage};
use urdf_usd_usd_author::dialects::{self, Dialect, Motion, Quantity, WORDS};

use super::convex::is_convex;
use super::findings::Found;
use super::layers::vendor;
use super::mimic::JointPrim;
use super::physics::{is_body, is_collider, is_joint};

/// Codes of degradations.
pub mod codes {
    use urdf_usd_diagnostic::codes;

    codes! {
        REFUSED Error "engine-refuses": "An engine refuses assets with such a prim or property.", "It does not load the asset.";
        NO_OPENUSD Error "engine-no-openusd": "An engine does not read OpenUSD.", "It does not load the asset.";
        DRIVE Warning "engine-drive": "An engine drops or approximates the drive of a joint.", "In the engine the joint moves otherwise.";
        ACTUATOR Warning "engine-actuator": "An engine does not read an actuator, or the limit of its force.", "In the engine nothing drives the joint.";
        MIMIC Warning "engine-mimic": "An engine drops or approximates a mimic joint.", "In the engine the joint moves freely, or otherwise.";
        JOINT Warning "engine-joint-words":
            "An engine does not read the armature, damping, friction or speed limit of a joint, because only attributes of another engine have it, or \
             the engine has no such quantity.",
            "In the engine the joint is without it.";
        JOINT_TYPE Warning "engine-joint-type": "An engine does not know a type of joint.", "In the engine the bodies are rigidly connected.";
        LOOP Warning "engine-loop": "An engine does not close a loop of joints.", "In the engine the loop is open.";
        LIMIT Warning "engine-limit": "An engine drops the limits of a ball joint, or the softness of limits.",
            "In the engine the joint moves farther, or its limits are hard.";
        FILTER Warning "engine-collision-filter": "An engine drops what says which bodies collide with each other.",
            "In the engine other bodies collide.";
        CONTACT Warning "engine-contact": "An engine drops or approximates the friction or restitution of contacts.",
            "In the engine the contacts are other.";
        COLLIDER Warning "engine-collider": "An engine replaces the shape of a collider.", "In the engine another shape collides.";
        BREAK Warning "engine-break": "An engine drops the force or torque at which a joint breaks.", "In the engine the joint does not break.";
        STATE Warning "engine-state": "An engine drops the positions or velocities at the start.", "In the engine the robot starts otherwise.";
        FLAG Warning "engine-flag": "An engine drops that a joint is disabled, or that a body is kinematic or asleep.",
            "In the engine the joint acts, and the body moves as others do.";
        VENDOR Info "engine-vendor": "A prim has properties of another engine.", "The engine does not read them.";
    }
}

/// An engine, or a simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// MuJoCo with its reader of OpenUSD (mujoco-usd).
    Mujoco,
    /// Newton, by `ModelBuilder.add_usd` without further resolvers.
    Newton,
    /// PhysX.
    Physx,
    /// Isaac Sim, whose engine is PhysX.
    Isaac,
    /// Drake.
    Drake,
    /// Gazebo.
    Gazebo,
}

impl Engine {
    /// All engines.
    pub const ALL: [Self; 6] = [
        Self::Mujoco,
        Self::Newton,
        Self::Physx,
        Self::Isaac,
        Self::Drake,
        Self::Gazebo,
    ];

    /// Returns the name in options and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mujoco => "mujoco",
            Self::Newton => "newton",
            Self::Physx => "physx",
            Self::Isaac => "isaac",
            Self::Drake => "drake",
            Self::Gazebo => "gazebo",
        }
    }

    /// Returns the name in sentences.
    fn title(self) -> &'static str {
        match self {
            Self::Mujoco => "MuJoCo",
            Self::Newton => "Newton",
            Self::Physx => "PhysX",
            Self::Isaac => "Isaac Sim",
            Self::Drake => "Drake",
            Self::Gazebo => "Gazebo",
        }
    }

    /// Returns the version that was measured; that of PhysX for Isaac Sim.
    pub fn version(self) -> Option<&'static str> {
        match self {
            Self::Mujoco => Some("4.0"),
            Self::Newton => Some("1.8"),
            Self::Physx | Self::Isaac => Some("PhysX 5.11"),
            Self::Drake | Self::Gazebo => None,
        }
    }

    /// Returns the dialects of passive behaviour that it reads.
    fn dialects(self) -> &'static [Dialect] {
        match self {
            Self::Mujoco => &[Dialect::Newton, Dialect::Mujoco],
            Self::Newton => &[Dialect::Newton],
            Self::Physx | Self::Isaac => &[Dialect::Newton, Dialect::Physx],
            Self::Drake | Self::Gazebo => &[],
        }
    }

    /// Returns whether it reads OpenUSD.
    fn reads_openusd(self) -> bool {
        !matches!(self, Self::Drake | Self::Gazebo)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|engine| engine.as_str() == text);
        known.ok_or_else(|| {
            format!(
                "{text:?} is none of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// The treatment of properties by an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The engine does not load the asset.
    Refused,
    /// The engine does not read them.
    Dropped,
    /// The engine reads them as something else.
    Approximated,
}

/// Properties of a prim that an engine does not read as authored.
#[derive(Clone, Debug, Serialize)]
pub struct Degradation {
    /// The engine.
    #[serde(skip)]
    pub engine: Engine,
    /// The code.
    #[serde(serialize_with = "serialize_id")]
    pub code: &'static Code,
    /// The treatment.
    pub effect: Effect,
    /// The path of the prim.
    pub prim: String,
    /// The attributes and relationships; empty for the prim itself.
    pub properties: Vec<String>,
    /// The behaviour of the engine instead, or the reason.
    pub reason: &'static str,
    /// The remedy.
    pub help: &'static str,
    #[serde(skip)]
    id: PrimId,
}

fn serialize_id<S: Serializer>(code: &&'static Code, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.id)
}

/// The properties of a prim that a fact is about; `None` if it is not about the prim.
type Find = fn(&Stage, PrimId, &Prim) -> Option<Vec<String>>;

/// The treatment of some properties by engines.
struct Fact {
    code: &'static Code,
    find: Find,
    engines: &'static [Engine],
    effect: Effect,
    reason: &'static str,
    help: &'static str,
}

const MUJOCO: &[Engine] = &[Engine::Mujoco];
const NEWTON: &[Engine] = &[Engine::Newton];
const PHYSX: &[Engine] = &[Engine::Physx, Engine::Isaac];
const MUJOCO_NEWTON: &[Engine] = &[Engine::Mujoco, Engine::Newton];
const NEWTON_PHYSX: &[Engine] = &[Engine::Newton, Engine::Physx, Engine::Isaac];

/// Properties that engines do not read, apart from mimic relations and the passive behaviour of joints.
const FACTS: &[Fact] = &[
    Fact {
        code: &codes::REFUSED,
        find: find_root_beside_body,
        engines: MUJOCO,
        effect: Effect::Refused,
        reason: "it takes each prim with PhysicsArticulationRootAPI for a body",
        help: "apply the schema to the base in the layer for MuJoCo: `convert --overlays mujoco` does that",
    },
    Fact {
        code: &codes::REFUSED,
        find: |_, _, prim| (prim.type_name == "Cone" && is_collider(prim)).then(Vec::new),
        engines: MUJOCO,
        effect: Effect::Refused,
        reason: "it has no cones",
        help: "replace the cone by a mesh",
    },
    Fact {
        code: &codes::REFUSED,
        find: |_, _, prim| {
            find_named(prim, &["newton:inertia"])
                .filter(|_| prim.value("physics:diagonalInertia").is_some())
        },
        engines: MUJOCO,
        effect: Effect::Refused,
        reason: "it accepts one inertia only, and the body has physics:diagonalInertia too",
        help: "remove newton:inertia",
    },
    Fact {
        code: &codes::REFUSED,
        find: find_moved_kinematic_body,
        engines: NEWTON,
        effect: Effect::Refused,
        reason: "a kinematic body is a base: no joint connects it to another body above",
        help: "make the body dynamic, or fix it to the world",
    },
    Fact {
        code: &codes::DRIVE,
        find: find_drives,
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "it reads no drives",
        help: "add actuators (MjcActuator): `convert --overlays mujoco` does that",
    },
    Fact {
        code: &codes::DRIVE,
        find: |_, _, prim| {
            let is_acceleration = |name: &String| {
                name.ends_with(":physics:type") && prim.text(name) == Some("acceleration")
            };
            non_empty(find_drive_attributes(prim).filter(is_acceleration))
        },
        engines: NEWTON,
        effect: Effect::Approximated,
        reason: "it takes the gains for those of a force",
        help: "let the drive have the type force",
    },
    Fact {
        code: &codes::ACTUATOR,
        find: |_, _, prim| (prim.type_name == "MjcActuator").then(|| find_prefixed(prim, "mjc:")),
        engines: NEWTON,
        effect: Effect::Dropped,
        reason: "it reads actuators of MuJoCo only after SolverMuJoCo.register_custom_attributes",
        help: "author a PhysicsDriveAPI for it: `convert --overlays newton` does that",
    },
    Fact {
        code: &codes::ACTUATOR,
        find: |_, _, prim| (prim.type_name == "MjcActuator").then(|| find_prefixed(prim, "mjc:")),
        engines: PHYSX,
        effect: Effect::Dropped,
        reason: "it reads no actuators of MuJoCo",
        help: "author a PhysicsDriveAPI for it: `convert --overlays physx` does that",
    },
    Fact {
        code: &codes::ACTUATOR,
        find: |_, _, prim| {
            find_named(
                prim,
                &["mjc:actuatorfrcrange:min", "mjc:actuatorfrcrange:max"],
            )
        },
        engines: NEWTON_PHYSX,
        effect: Effect::Dropped,
        reason: "it reads no limits of MuJoCo",
        help: "give the drive of the joint a maxForce",
    },
    Fact {
        code: &codes::JOINT_TYPE,
        find: |_, _, prim| {
            let types = [
                "PhysicsSphericalJoint",
                "PhysicsDistanceJoint",
                "PhysicsJoint",
            ];
            types.contains(&prim.type_name.as_str()).then(Vec::new)
        },
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "it knows revolute, prismatic and fixed joints only",
        help: "replace the joint by revolute and prismatic ones, or write the robot as MJCF",
    },
    Fact {
        code: &codes::JOINT_TYPE,
        find: find_mixed_axes,
        engines: PHYSX,
        effect: Effect::Approximated,
        reason: "joints of its articulations slide along one axis, or turn",
        help: "replace the joint by revolute and prismatic ones",
    },
    Fact {
        code: &codes::LOOP,
        find: |_, _, prim| {
            let is_loop = prim.flag("physics:excludeFromArticulation") == Some(true)
                && prim.type_name != "PhysicsFixedJoint"
                && is_joint(prim);
            is_loop.then(|| vec!["physics:excludeFromArticulation".to_owned()])
        },
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "it closes loops by fixed joints only",
        help: "write the robot as MJCF (`--formats mjcf`)",
    },
    Fact {
        code: &codes::LIMIT,
        find: |_, _, prim| {
            let names = ["physics:coneAngle0Limit", "physics:coneAngle1Limit"];
            let is_limited = |name: &&str| prim.number(name).is_some_and(|angle| angle >= 0.0);
            non_empty(names.into_iter().filter(is_limited).map(str::to_owned))
        },
        engines: NEWTON,
        effect: Effect::Dropped,
        reason: "its ball joints have no limits",
        help: "replace the joint by three revolute ones with limits",
    },
    Fact {
        code: &codes::LIMIT,
        find: |_, _, prim| find_named(prim, &["newton:limitStiffness", "newton:limitDamping"]),
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "it has the softness of limits in mjc:solreflimit",
        help: "author mjc:solreflimit in the layer for MuJoCo",
    },
    Fact {
        code: &codes::FILTER,
        find: |_, _, prim| {
            let name = "physics:filteredGroups";
            let is_group =
                prim.type_name == "PhysicsCollisionGroup" && !prim.targets(name).is_empty();
            is_group.then(|| vec![name.to_owned()])
        },
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "it reads no collision groups",
        help: "filter pairs of bodies (PhysicsFilteredPairsAPI)",
    },
    Fact {
        code: &codes::FILTER,
        find: |_, _, prim| find_false(prim, "newton:selfCollisionEnabled"),
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "it has no such switch",
        help: "filter pairs of bodies (PhysicsFilteredPairsAPI)",
    },
    Fact {
        code: &codes::FILTER,
        find: |_, _, prim| {
            find_false(prim, "physxArticulation:enabledSelfCollisions")
                .filter(|_| prim.value("newton:selfCollisionEnabled").is_none())
        },
        engines: MUJOCO_NEWTON,
        effect: Effect::Dropped,
        reason: "it reads no switches of PhysX",
        help: "filter pairs of bodies (PhysicsFilteredPairsAPI), or author newton:selfCollisionEnabled for Newton",
    },
    Fact {
        code: &codes::FILTER,
        find: |_, _, prim| find_true(prim, "physics:collisionEnabled").filter(|_| is_joint(prim)),
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "bodies that a joint connects never collide",
        help: "nothing need be done where they do not touch",
    },
    Fact {
        code: &codes::CONTACT,
        find: |_, _, prim| {
            let is_unread = is_collider(prim) && prim.targets("material:binding").is_empty();
            find_named(prim, &["material:binding:physics"]).filter(|_| is_unread)
        },
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "it reads friction of materials only by material:binding",
        help: "bind the material by material:binding too, in the layer for MuJoCo",
    },
    Fact {
        code: &codes::CONTACT,
        find: |_, _, prim| {
            let name = "physics:restitution";
            let bounces = prim.has("PhysicsMaterialAPI")
                && prim.number(name).is_some_and(|value| value > 0.0);
            bounces.then(|| vec![name.to_owned()])
        },
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "its contacts have no restitution",
        help: "author mjc:solref in the layer for MuJoCo",
    },
    Fact {
        code: &codes::CONTACT,
        find: |_, _, prim| {
            let names = ["physics:staticFriction", "physics:dynamicFriction"];
            let [fixed, moving] = names.map(|name| prim.number(name));
            let differ = fixed
                .zip(moving)
                .is_some_and(|(fixed, moving)| (fixed - moving).abs() > f64::EPSILON);
            differ.then(|| vec![names[0].to_owned()])
        },
        engines: MUJOCO_NEWTON,
        effect: Effect::Approximated,
        reason: "it has one coefficient of friction, the dynamic one",
        help: "give both coefficients the same value, if that is to be the same in all engines",
    },
    Fact {
        code: &codes::COLLIDER,
        find: |_, _, prim| {
            let is_mesh = prim.type_name == "Mesh" && is_collider(prim);
            let is_other = match prim.text("physics:approximation").unwrap_or("none") {
                "convexHull" => false,
                "none" => is_mesh && !is_convex(prim),
                _ => true,
            };
            (is_mesh && is_other).then(|| vec!["physics:approximation".to_owned()])
        },
        engines: MUJOCO,
        effect: Effect::Approximated,
        reason: "meshes collide as their convex hulls",
        help: "make the collider of convex parts (`convert --convex-parts`)",
    },
    Fact {
        code: &codes::BREAK,
        find: |_, _, prim| {
            let names = ["physics:breakForce", "physics:breakTorque"];
            let breaks = |name: &&str| prim.number(name).is_some_and(f64::is_finite);
            non_empty(names.into_iter().filter(breaks).map(str::to_owned))
        },
        engines: MUJOCO_NEWTON,
        effect: Effect::Dropped,
        reason: "its joints do not break",
        help: "nothing need be done where the forces are smaller",
    },
    Fact {
        code: &codes::STATE,
        find: |_, _, prim| {
            let names = ["physics:velocity", "physics:angularVelocity"];
            let moves = |name: &&str| {
                let value = prim.value(name).and_then(urdf_usd_stage::numbers::<3>);
                is_body(prim) && value.is_some_and(|value| value.iter().any(|speed| *speed != 0.0))
            };
            non_empty(names.into_iter().filter(moves).map(str::to_owned))
        },
        engines: &[Engine::Mujoco, Engine::Physx, Engine::Isaac],
        effect: Effect::Dropped,
        reason: "bodies of a robot start at rest",
        help: "set the velocity in the program that simulates",
    },
    Fact {
        code: &codes::STATE,
        find: |stage, _, prim| {
            let state = find_physx_state(prim)
                .into_iter()
                .chain(find_newton_state(prim));
            // First, since the search for a keyframe visits the whole stage.
            let state = non_empty(state.flatten())?;
            let has_keyframe = stage
                .present()
                .any(|(_, prim)| prim.type_name == "MjcKeyframe");
            (!has_keyframe).then_some(state)
        },
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "it starts in a keyframe",
        help: "author an MjcKeyframe: `convert --overlays mujoco` does that",
    },
    Fact {
        code: &codes::STATE,
        find: |_, _, prim| find_physx_state(prim).filter(|_| find_newton_state(prim).is_none()),
        engines: NEWTON,
        effect: Effect::Dropped,
        reason: "it reads the state of joints in its own attributes only",
        help: "author newton:angular:position or newton:linear:position: `convert --overlays newton` does that",
    },
    Fact {
        code: &codes::STATE,
        find: |_, _, prim| find_newton_state(prim).filter(|_| find_physx_state(prim).is_none()),
        engines: PHYSX,
        effect: Effect::Dropped,
        reason: "it reads the state of joints in PhysicsJointStateAPI only",
        help: "apply PhysicsJointStateAPI: `convert --overlays physx` does that",
    },
    Fact {
        code: &codes::FLAG,
        find: |_, _, prim| find_true(prim, "physics:kinematicEnabled"),
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "it has no kinematic bodies",
        help: "fix the body to the world, or move it by a joint",
    },
    Fact {
        code: &codes::FLAG,
        find: |_, _, prim| find_true(prim, "physics:startsAsleep"),
        engines: MUJOCO_NEWTON,
        effect: Effect::Dropped,
        reason: "its bodies start awake",
        help: "nothing need be done where the body rests",
    },
    Fact {
        code: &codes::FLAG,
        find: |_, _, prim| find_false(prim, "physics:jointEnabled"),
        engines: MUJOCO,
        effect: Effect::Dropped,
        reason: "it reads disabled joints, too",
        help: "deactivate the prim (active = false)",
    },
];

/// Returns what engines drop or approximate of the composed asset, by engine and prim.
pub fn degradations(stage: &Stage, engines: &[Engine]) -> Vec<Degradation> {
    let mut found = Vec::new();
    for &engine in engines {
        if !engine.reads_openusd() {
            let id = stage
                .default_prim
                .or_else(|| stage.iter().next().map(|(id, _)| id));
            found.extend(id.map(|id| Degradation {
                engine,
                code: &codes::NO_OPENUSD,
                effect: Effect::Refused,
                prim: stage[id].path.clone(),
                properties: Vec::new(),
                reason: "it reads no OpenUSD",
                help: "convert the asset with --formats sdf: the findings name what SDFormat cannot express",
                id,
            }));
            continue;
        }
        for (id, prim) in stage.present() {
            let mut unread = find_unread(engine, stage, id, prim);
            let reported: Vec<&String> = unread.iter().flat_map(|of| &of.properties).collect();
            let properties = find_others(engine, prim, &reported);
            if !properties.is_empty() {
                unread.push(Unread {
                    code: &codes::VENDOR,
                    effect: Effect::Dropped,
                    properties,
                    reason: "they are properties of another engine",
                    help: "nothing need be done where they matter to that engine only",
                });
            }
            found.extend(unread.into_iter().map(|of| Degradation {
                engine,
                code: of.code,
                effect: of.effect,
                prim: prim.path.clone(),
                properties: of.properties,
                reason: of.reason,
                help: of.help,
                id,
            }));
        }
    }
    found
}

/// Converts degradations to findings, each at its prim.
pub fn diagnostics(stage: &Stage, degradations: &[Degradation]) -> Vec<Diagnostic> {
    let mut found = Found::default();
    for degradation in degradations {
        let Degradation {
            engine,
            effect,
            prim,
            properties,
            reason,
            ..
        } = degradation;
        let verb = match effect {
            Effect::Refused => "refuses",
            Effect::Dropped => "drops",
            Effect::Approximated => "approximates",
        };
        let what = match &properties[..] {
            [] => prim.clone(),
            properties => format!("{} of {prim}", properties.join(", ")),
        };
        let message = format!("{} {verb} {what}: {reason}", engine.title());
        let property = properties.first().map(String::as_str);
        found.of_rule(degradation.code, stage).prim(
            degradation.id,
            property,
            message,
            degradation.help,
        );
    }
    found.into_diagnostics()
}

/// Properties that an engine does not read.
struct Unread {
    code: &'static Code,
    effect: Effect,
    properties: Vec<String>,
    reason: &'static str,
    help: &'static str,
}

/// Returns what is known that an engine does not read of a prim.
fn find_unread(engine: Engine, stage: &Stage, id: PrimId, prim: &Prim) -> Vec<Unread> {
    let facts = FACTS.iter().filter(|fact| fact.engines.contains(&engine));
    let of_fact = |fact: &Fact| {
        Some(Unread {
            code: fact.code,
            effect: fact.effect,
            properties: (fact.find)(stage, id, prim)?,
            reason: fact.reason,
            help: fact.help,
        })
    };
    facts
        .filter_map(of_fact)
        .chain(find_unread_mimic(engine, prim))
        .chain(find_unread_words(engine, prim))
        .collect()
}

/// Returns what an engine does not read of the mimic relation of a joint.
fn find_unread_mimic(engine: Engine, prim: &Prim) -> Option<Unread> {
    let relations = dialects::relations(&JointPrim(prim));
    let unread = |effect, properties, reason, help| Unread {
        code: &codes::MIMIC,
        effect,
        properties,
        reason,
        help,
    };
    let has = |dialect: Dialect| relations.iter().any(|relation| relation.dialect == dialect);
    let of_engine = |dialect: Dialect| match engine {
        Engine::Mujoco => matches!(dialect, Dialect::Newton | Dialect::Mujoco),
        Engine::Newton => dialect != Dialect::ExtendedPhysics,
        _ => matches!(dialect, Dialect::Newton | Dialect::Physx),
    };
    let is_read = relations.iter().any(|relation| of_engine(relation.dialect));
    if relations.is_empty() {
        // An equality without a leader.
        let is_hold = engine != Engine::Mujoco && prim.has("MjcEqualityJointAPI");
        let reason = "it does not read equalities without a leader";
        let help = "give the joint equal limits in the layer of the engine";
        return is_hold.then(|| {
            let names = [
                "mjc:coef0",
                "mjc:coef1",
                "newton:mimicCoef0",
                "newton:mimicCoef1",
            ];
            unread(
                Effect::Dropped,
                find_named(prim, &names).unwrap_or_default(),
                reason,
                help,
            )
        });
    }
    if !is_read {
        let properties = relations
            .iter()
            .map(|relation| relation.relationship.clone());
        let reason = "it does not read this schema of mimic joints";
        let help = "author the engine's attributes: `fix --rep158 2026-07 --overlays newton,mujoco,physx` does that";
        return Some(unread(Effect::Dropped, properties.collect(), reason, help));
    }
    if engine != Engine::Newton || has(Dialect::Newton) {
        return None;
    }
    if relations.iter().any(|relation| relation.is_polynomial) {
        let properties =
            find_named(prim, &["mjc:coef2", "mjc:coef3", "mjc:coef4"]).unwrap_or_default();
        let reason = "only its MuJoCo solver has terms of a higher degree";
        return Some(unread(
            Effect::Approximated,
            properties,
            reason,
            "use that solver",
        ));
    }
    let is_angular = Motion::of_type(&prim.type_name) == Some(Motion::Angular);
    let offsets = prim.attributes.keys().filter(|name| {
        let word = WORDS
            .iter()
            .find(|word| (word.dialect, word.quantity) == (Dialect::Physx, Quantity::Offset));
        word.is_some_and(|word| word.is_named(name))
            && prim.number(name).is_some_and(|offset| offset != 0.0)
    });
    let offsets: Vec<String> = offsets.cloned().collect();
    let is_wrong = is_angular && !has(Dialect::Mujoco) && !offsets.is_empty();
    let reason = "it takes the degrees of PhysX for radians";
    let help = "apply NewtonMimicAPI: `fix --overlays newton` does that";
    is_wrong.then(|| unread(Effect::Approximated, offsets, reason, help))
}

/// Returns what an engine does not read of the passive behaviour of a joint.
fn find_unread_words(engine: Engine, prim: &Prim) -> Vec<Unread> {
    let Some(motion) = Motion::of_type(&prim.type_name) else {
        return Vec::new();
    };
    let instances = motion.instances(prim.text("physics:axis").unwrap_or("X"));
    let mut found = Vec::new();
    for quantity in Quantity::PASSIVE {
        let of_quantity = || WORDS.iter().filter(move |word| word.quantity == quantity);
        let authored = |word: &dialects::Word| -> Vec<String> {
            let names = instances.iter().map(|instance| word.name_of(instance));
            let mut names: Vec<String> = names
                .filter(|name| {
                    prim.number(name)
                        .is_some_and(|value| word.is_value(value) && value != 0.0)
                })
                .collect();
            names.dedup();
            names
        };
        // PhysX 5.11 reads the words of axes only.
        let is_old = |word: &dialects::Word| {
            matches!(engine, Engine::Physx | Engine::Isaac) && word.schema == "PhysxJointAPI"
        };
        let is_known = |word: &&dialects::Word| {
            let has_quantity = (engine, quantity) != (Engine::Mujoco, Quantity::VelocityLimit);
            engine.dialects().contains(&word.dialect) && has_quantity && !is_old(word)
        };
        if of_quantity()
            .filter(is_known)
            .any(|word| !authored(word).is_empty())
        {
            continue;
        }
        let properties: Vec<String> = of_quantity().flat_map(authored).collect();
        if properties.is_empty() {
            continue;
        }
        let (reason, help) = if (engine, quantity) == (Engine::Mujoco, Quantity::VelocityLimit) {
            (
                "it has no limits of speed",
                "limit the speed in the controller",
            )
        } else {
            (
                "it reads this from other attributes",
                "author the engine's attributes: `fix --overlays newton,mujoco,physx` does that",
            )
        };
        found.push(Unread {
            code: &codes::JOINT,
            effect: Effect::Dropped,
            properties,
            reason,
            help,
        });
    }
    found
}

/// Returns the properties of a prim that are of another engine, without those that are `reported`, have words or a reader.
fn find_others(engine: Engine, prim: &Prim, reported: &[&String]) -> Vec<String> {
    let is_other = |name: &str| match vendor(name) {
        Some("physx") => matches!(engine, Engine::Mujoco | Engine::Newton),
        Some("mjc") => engine != Engine::Mujoco,
        _ => false,
    };
    let is_word = |name: &str| {
        WORDS.iter().any(|word| word.is_named(name))
            || name.starts_with("physxMimicJoint:")
            || name.starts_with("physxArticulation:enabledSelf")
            || name == "mjc:target"
    };
    let names = prim.attributes.keys().chain(prim.relationships.keys());
    names
        .filter(|name| is_other(name) && !is_word(name) && !reported.contains(name))
        .cloned()
        .collect()
}

fn find_root_beside_body(_: &Stage, _: PrimId, prim: &Prim) -> Option<Vec<String>> {
    (prim.has("PhysicsArticulationRootAPI") && !is_body(prim)).then(Vec::new)
}

fn find_moved_kinematic_body(stage: &Stage, _: PrimId, prim: &Prim) -> Option<Vec<String>> {
    let properties = find_true(prim, "physics:kinematicEnabled").filter(|_| is_body(prim))?;
    let is_moved = |joint: &Prim| {
        is_joint(joint)
            && joint.targets("physics:body1").first() == Some(&prim.path)
            && !joint.targets("physics:body0").is_empty()
    };
    let mut joints = stage.present();
    joints
        .any(|(_, joint)| is_moved(joint))
        .then_some(properties)
}

/// Returns the limits of a six-axis joint that slides and has another degree of freedom.
fn find_mixed_axes(_: &Stage, _: PrimId, prim: &Prim) -> Option<Vec<String>> {
    let is_free = |axis: &&str| {
        let side = |side: &str| prim.number(&format!("limit:{axis}:physics:{side}"));
        let is_locked = side("low")
            .zip(side("high"))
            .is_some_and(|(low, high)| low > high);
        !(prim.has(&format!("PhysicsLimitAPI:{axis}")) && is_locked)
    };
    let slides = ["transX", "transY", "transZ"]
        .iter()
        .filter(|axis| is_free(axis))
        .count();
    let turns = ["rotX", "rotY", "rotZ"]
        .iter()
        .filter(|axis| is_free(axis))
        .count();
    // All six axes are free in a joint that connects nothing.
    let is_mixed = slides > 0 && slides + turns > 1 && slides + turns < 6;
    (prim.type_name == "PhysicsJoint" && is_mixed).then(Vec::new)
}

fn find_drives(_: &Stage, _: PrimId, prim: &Prim) -> Option<Vec<String>> {
    non_empty(find_drive_attributes(prim))
}

/// Iterates over the attributes of the drives of a joint.
fn find_drive_attributes(prim: &Prim) -> impl Iterator<Item = String> {
    prim.instances_of("PhysicsDriveAPI")
        .flat_map(move |instance| {
            let start = format!("drive:{instance}:");
            let names = prim.attributes.keys();
            names.filter(move |name| name.starts_with(&start)).cloned()
        })
}

fn find_physx_state(prim: &Prim) -> Option<Vec<String>> {
    let names = prim.attributes.keys();
    non_empty(
        names
            .filter(|name| name.starts_with("state:") && name.contains(":physics:"))
            .cloned(),
    )
}

fn find_newton_state(prim: &Prim) -> Option<Vec<String>> {
    let is_state = |name: &&String| {
        name.starts_with("newton:") && (name.ends_with(":position") || name.ends_with(":velocity"))
    };
    non_empty(prim.attributes.keys().filter(is_state).cloned())
}

/// Returns the names, if there are any.
fn non_empty(names: impl Iterator<Item = String>) -> Option<Vec<String>> {
    Some(names.collect::<Vec<_>>()).filter(|names| !names.is_empty())
}

/// Returns those of the properties that the prim has.
fn find_named(prim: &Prim, names: &[&str]) -> Option<Vec<String>> {
    let has = |name: &&&str| prim.value(name).is_some() || !prim.targets(name).is_empty();
    non_empty(names.iter().filter(has).map(|name| (*name).to_owned()))
}

/// Returns all properties with a prefix.
fn find_prefixed(prim: &Prim, prefix: &str) -> Vec<String> {
    let names = prim.attributes.keys().chain(prim.relationships.keys());
    names
        .filter(|name| name.starts_with(prefix))
        .cloned()
        .collect()
}

fn find_true(prim: &Prim, name: &str) -> Option<Vec<String>> {
    (prim.flag(name) == Some(true)).then(|| vec![name.to_owned()])
}

fn find_false(prim: &Prim, name: &str) -> Option<Vec<String>> {
    (prim.flag(name) == Some(false)).then(|| vec![name.to_owned()])
}
