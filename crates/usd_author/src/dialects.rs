//! Dialects: the words in which engines say what UsdPhysics cannot, mimic relations and the passive behaviour of
//! joints (REP-158 §4.2.2).
//!
//! [`WORDS`] and [`LEADERS`] are the only lists of these words. Readers, writers and the fixer translate with them,
//! through SI units. A word is in the table only if it means the same as the others of its quantity.

use super::Attribute;

/// A set of schemas with words for the same quantities; the first ones take precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// `ext_physics:`, the neutral namespace of REP-158 until June 2026.
    ExtendedPhysics,
    /// `newton:` (newton-usd-schemas 0.6).
    Newton,
    /// `mjc:` (mujoco-usd 4.0). MuJoCo also reads `newton:`, which takes precedence there.
    Mujoco,
    /// `physx…:` (physx-usd-schemas 25.11).
    Physx,
}

impl Dialect {
    /// The dialects of engines.
    pub const ENGINES: [Self; 3] = [Self::Newton, Self::Mujoco, Self::Physx];

    /// Returns the name in options and of the layer.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExtendedPhysics => "ext_physics",
            Self::Newton => "newton",
            Self::Mujoco => "mujoco",
            Self::Physx => "physx",
        }
    }
}

/// A quantity of a joint for which dialects have words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// The factor of a mimic relation: position = multiplier · position of the leader + offset.
    Multiplier,
    /// The offset of a mimic relation, rad or m.
    Offset,
    /// The inertia of the rotor as seen by the joint, kg·m² or kg.
    Armature,
    /// N·m·s/rad or N·s/m.
    Damping,
    /// Dry friction, N·m or N.
    Friction,
    /// Maximum speed, rad/s or m/s.
    VelocityLimit,
}

impl Quantity {
    /// The quantities of the passive behaviour of joints.
    pub const PASSIVE: [Self; 4] = [
        Self::Armature,
        Self::Damping,
        Self::Friction,
        Self::VelocityLimit,
    ];

    /// Returns the name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Multiplier | Self::Offset => "mimic relation",
            Self::Armature => "armature",
            Self::Damping => "damping",
            Self::Friction => "friction",
            Self::VelocityLimit => "velocity limit",
        }
    }

    /// Returns the factor from a stage's units of length (in metres) and mass (in kilograms) to SI units.
    pub fn scale(self, motion: Motion, metre: f64, kilogram: f64) -> f64 {
        match (self, motion) {
            (Self::Multiplier, _) | (Self::Offset | Self::VelocityLimit, Motion::Angular) => 1.0,
            (Self::Offset | Self::VelocityLimit, Motion::Linear) => metre,
            (_, Motion::Angular) => kilogram * metre * metre,
            // N is kg·m/s², N·s/m is kg/s.
            (Self::Friction, Motion::Linear) => kilogram * metre,
            (Self::Armature | Self::Damping, Motion::Linear) => kilogram,
        }
    }
}

/// The motion of a joint with one degree of freedom, which determines the units of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// It turns.
    Angular,
    /// It slides.
    Linear,
}

impl Motion {
    /// Returns the motion of a type of joint; `None` if it does not have exactly one degree of freedom.
    pub fn of_type(type_name: &str) -> Option<Self> {
        match type_name {
            "PhysicsRevoluteJoint" => Some(Self::Angular),
            "PhysicsPrismaticJoint" => Some(Self::Linear),
            _ => None,
        }
    }

    /// Returns the instance name of its schemas.
    pub fn instance(self) -> &'static str {
        match self {
            Self::Angular => "angular",
            Self::Linear => "linear",
        }
    }

    /// Returns the instance names that schemas have for the degree of freedom. `axis`: `X`, `Y` or `Z`.
    pub fn instances(self, axis: &str) -> [String; 3] {
        let prefix = match self {
            Self::Angular => "rot",
            Self::Linear => "trans",
        };
        [
            self.instance().to_owned(),
            format!("{prefix}{axis}"),
            axis.to_owned(),
        ]
    }

    /// Returns USD's units of position in an SI unit.
    fn units(self) -> f64 {
        match self {
            Self::Angular => 1.0_f64.to_degrees(),
            Self::Linear => 1.0,
        }
    }
}

/// The unit of angles of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Angles {
    Degrees,
    Radians,
}

/// An attribute for a quantity. `*` in its names is the instance of its schema.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The dialect.
    pub dialect: Dialect,
    /// The quantity.
    pub quantity: Quantity,
    /// The schema that has it.
    pub schema: &'static str,
    /// The name.
    pub name: &'static str,
    angles: Angles,
    /// The sign relative to the other dialects.
    sign: f64,
    /// Values from here on mean no limit.
    unlimited: f64,
}

impl Word {
    const fn new(
        dialect: Dialect,
        quantity: Quantity,
        schema: &'static str,
        name: &'static str,
    ) -> Self {
        Self {
            dialect,
            quantity,
            schema,
            name,
            // MuJoCo's attributes are those of its XML files.
            angles: if matches!(dialect, Dialect::Mujoco) {
                Angles::Radians
            } else {
                Angles::Degrees
            },
            sign: 1.0,
            unlimited: f64::INFINITY,
        }
    }

    /// Negates the sign: PhysX has position + gearing · position of the leader + offset = 0.
    const fn negated(mut self) -> Self {
        self.sign = -1.0;
        self
    }

    const fn unlimited_from(mut self, value: f64) -> Self {
        self.unlimited = value;
        self
    }

    /// Returns the factor from the word to SI units. `leader`: the motion of the leader of a mimic relation.
    fn to_si(self, motion: Motion, leader: Motion) -> f64 {
        let units = |motion: Motion| match self.angles {
            Angles::Degrees => motion.units(),
            Angles::Radians => 1.0,
        };
        self.sign
            * match self.quantity {
                Quantity::Multiplier => units(leader) / units(motion),
                Quantity::Offset | Quantity::VelocityLimit => 1.0 / units(motion),
                Quantity::Damping => units(motion),
                Quantity::Armature | Quantity::Friction => 1.0,
            }
    }

    /// Returns whether a value of the word says something: a finite number that does not mean "no limit".
    pub fn is_value(&self, value: f64) -> bool {
        value.is_finite() && value < self.unlimited
    }

    /// Returns its name with the instance.
    pub fn name_of(&self, instance: &str) -> String {
        self.name.replace('*', instance)
    }

    /// Returns whether `name` is this word, with any instance.
    pub fn is_named(&self, name: &str) -> bool {
        matches(self.name, name)
    }
}

/// Returns whether `name` is `pattern`, in which `*` is the instance of a schema.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => name
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(|instance| !instance.is_empty() && !instance.contains(':')),
    }
}

/// All words for quantities. Words of one dialect for one quantity have the same value.
///
/// PhysX 5.11 reads the armature and the speed limit of `physxJointAxis`, earlier versions those of `physxJoint`.
///
/// MuJoCo has no limit of velocities. `physxJoint:jointFriction` is a coefficient without unit, and
/// `newton:limitStiffness`, `physxLimit:*` and `mjc:solreflimit` are different models of soft limits.
pub static WORDS: [Word; 22] = {
    use Dialect::{ExtendedPhysics, Mujoco, Newton, Physx};
    use Quantity::{Armature, Damping, Friction, Multiplier, Offset, VelocityLimit};
    const EXTENDED: &str = "ExtendedPhysicsMimicAPI";
    const EQUALITY: &str = "MjcEqualityJointAPI";
    const OF_AXIS: &str = "PhysxJointAxisAPI:*";
    [
        Word::new(
            ExtendedPhysics,
            Multiplier,
            EXTENDED,
            "ext_physics:mimic:multiplier",
        ),
        Word::new(
            ExtendedPhysics,
            Offset,
            EXTENDED,
            "ext_physics:mimic:offset",
        ),
        Word::new(Newton, Offset, "NewtonMimicAPI", "newton:mimicCoef0"),
        Word::new(Newton, Multiplier, "NewtonMimicAPI", "newton:mimicCoef1"),
        Word::new(Newton, Armature, "NewtonJointAPI", "newton:armature"),
        Word::new(Newton, Damping, "NewtonJointAPI", "newton:damping"),
        Word::new(Newton, Friction, "NewtonJointAPI", "newton:friction"),
        Word::new(
            Newton,
            VelocityLimit,
            "NewtonJointAPI",
            "newton:velocityLimit",
        ),
        Word::new(Mujoco, Offset, EQUALITY, "mjc:coef0"),
        Word::new(Mujoco, Multiplier, EQUALITY, "mjc:coef1"),
        Word::new(Mujoco, Armature, "MjcJointAPI", "mjc:armature"),
        Word::new(Mujoco, Damping, "MjcJointAPI", "mjc:damping"),
        Word::new(Mujoco, Friction, "MjcJointAPI", "mjc:frictionloss"),
        Word::new(
            Physx,
            Multiplier,
            "PhysxMimicJointAPI:*",
            "physxMimicJoint:*:gearing",
        )
        .negated(),
        Word::new(
            Physx,
            Offset,
            "PhysxMimicJointAPI:*",
            "physxMimicJoint:*:offset",
        )
        .negated(),
        Word::new(Physx, Armature, "PhysxJointAPI", "physxJoint:armature"),
        Word::new(
            Physx,
            VelocityLimit,
            "PhysxJointAPI",
            "physxJoint:maxJointVelocity",
        )
        // The schema's fallback of 1e6 means no limit.
        .unlimited_from(1e6),
        Word::new(
            Physx,
            Friction,
            OF_AXIS,
            "physxJointAxis:*:staticFrictionEffort",
        ),
        Word::new(
            Physx,
            Friction,
            OF_AXIS,
            "physxJointAxis:*:dynamicFrictionEffort",
        ),
        Word::new(
            Physx,
            Damping,
            OF_AXIS,
            "physxJointAxis:*:viscousFrictionCoefficient",
        ),
        Word::new(Physx, Armature, OF_AXIS, "physxJointAxis:*:armature"),
        Word::new(
            Physx,
            VelocityLimit,
            OF_AXIS,
            "physxJointAxis:*:maxJointVelocity",
        ),
    ]
};

/// The relationship of a dialect that names the leader of a mimic relation. `*` is the instance of its schema.
#[derive(Clone, Copy, Debug)]
pub struct Leader {
    /// The dialect.
    pub dialect: Dialect,
    /// The schema that has it.
    pub schema: &'static str,
    /// The name of the relationship.
    pub relationship: &'static str,
}

/// The relationships that name leaders, one of each dialect.
pub static LEADERS: [Leader; 4] = [
    Leader {
        dialect: Dialect::ExtendedPhysics,
        schema: "ExtendedPhysicsMimicAPI",
        relationship: "ext_physics:mimic:joint",
    },
    Leader {
        dialect: Dialect::Newton,
        schema: "NewtonMimicAPI",
        relationship: "newton:mimicJoint",
    },
    Leader {
        dialect: Dialect::Mujoco,
        schema: "MjcEqualityJointAPI",
        relationship: "mjc:target",
    },
    Leader {
        dialect: Dialect::Physx,
        schema: "PhysxMimicJointAPI:*",
        relationship: "physxMimicJoint:*:referenceJoint",
    },
];

/// The opinions about a joint.
pub trait Opinions {
    /// Returns the applied schemas.
    fn schemas(&self) -> &[String];
    /// Returns the value of an attribute, if it is a number.
    fn number(&self, name: &str) -> Option<f64>;
    /// Returns the first target of a relationship.
    fn target(&self, name: &str) -> Option<String>;
    /// Returns whether an attribute is false.
    fn is_false(&self, name: &str) -> bool;
}

/// Attributes of a dialect for one quantity that have different values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The attributes.
    pub names: Vec<String>,
}

/// Relative difference below which two words are equal: that of single precision.
const SAME: f64 = 1e-6;

/// Returns the value of a quantity in the dialects of engines, and the first dialect that has it; as [`value_in`].
///
/// # Errors
/// As [`value_in`].
pub fn value(
    joint: &impl Opinions,
    quantity: Quantity,
    motion: Motion,
    instances: &[&str],
) -> Result<Option<(Dialect, f64)>, Contradiction> {
    for dialect in Dialect::ENGINES {
        if let Some(value) = value_in(dialect, joint, quantity, motion, instances)? {
            return Ok(Some((dialect, value)));
        }
    }
    Ok(None)
}

/// Returns the value of a quantity in a dialect, in SI units of angles and the stage's units of length and mass.
/// `instances`: those of the schemas of the degree of freedom.
///
/// # Errors
/// If the dialect has several words for the quantity, with different values.
pub fn value_in(
    dialect: Dialect,
    joint: &impl Opinions,
    quantity: Quantity,
    motion: Motion,
    instances: &[&str],
) -> Result<Option<f64>, Contradiction> {
    let words = WORDS
        .iter()
        .filter(|word| (word.dialect, word.quantity) == (dialect, quantity));
    let names = words.flat_map(|word| {
        let has_instances = word.name.contains('*');
        let instances = if has_instances { instances } else { &[""] };
        instances
            .iter()
            .map(move |instance| (word, word.name_of(instance)))
    });
    let found: Vec<(String, f64)> = names
        .filter_map(|(word, name)| {
            let value = joint.number(&name).filter(|value| word.is_value(*value))?;
            Some((name, value * word.to_si(motion, motion)))
        })
        .collect();
    let Some((_, first)) = found.first() else {
        return Ok(None);
    };
    let is_same = |value: f64| (value - first).abs() <= SAME * first.abs();
    if found.iter().all(|(_, value)| is_same(*value)) {
        Ok(Some(*first))
    } else {
        Err(Contradiction {
            names: found.into_iter().map(|(name, _)| name).collect(),
        })
    }
}

/// A mimic relation as authored.
#[derive(Clone, Debug)]
pub struct Relation {
    /// The dialect.
    pub dialect: Dialect,
    /// The relationship that names the leader.
    pub relationship: String,
    /// The path of the leader, if one is named.
    pub leader: Option<String>,
    /// True if the relation has terms of a higher degree, which other dialects do not have.
    pub is_polynomial: bool,
    multiplier: (&'static Word, f64),
    offset: (&'static Word, f64),
}

impl Relation {
    /// Returns multiplier and offset in SI units of angles and the stage's units of length.
    pub fn in_si(&self, follower: Motion, leader: Motion) -> (f64, f64) {
        let value = |(word, value): (&Word, f64)| value * word.to_si(follower, leader);
        (value(self.multiplier), value(self.offset))
    }
}

/// Returns the mimic relations of a joint, one for each dialect that has it, in order of precedence.
///
/// The coefficients of MjcEqualityJointAPI are those of NewtonMimicAPI, which it includes; `mjc:coef0`, `mjc:coef1` and
/// `mjc:target` are their deprecated names. Without a leader it holds the joint, which is no mimic relation.
pub fn relations(joint: &impl Opinions) -> Vec<Relation> {
    let has = |schema: &str| joint.schemas().iter().any(|applied| applied == schema);
    let target = |name: &str| joint.target(name);
    let is_enabled = !joint.is_false("newton:mimicEnabled");
    let is_equality = has("MjcEqualityJointAPI");
    let mut found = Vec::new();
    for leader in &LEADERS {
        for instance in instances(joint.schemas(), leader.schema) {
            let relationship = leader.relationship.replace('*', &instance);
            let mut relation = (relationship.clone(), target(&relationship));
            let is_applied = leader.schema.contains('*') || has(leader.schema);
            let mut dialects = vec![leader.dialect];
            match leader.dialect {
                Dialect::ExtendedPhysics if !is_applied && relation.1.is_none() => continue,
                Dialect::Newton
                    if !is_enabled || !is_applied && (relation.1.is_none() || is_equality) =>
                {
                    continue;
                }
                Dialect::Mujoco => {
                    dialects.insert(0, Dialect::Newton);
                    let newton = "newton:mimicJoint";
                    if let Some(leader) = target(newton).filter(|_| is_equality) {
                        relation = (newton.to_owned(), Some(leader));
                    }
                    if !is_enabled || relation.1.is_none() {
                        continue;
                    }
                }
                _ => {}
            }
            let coefficient = |quantity: Quantity, fallback: f64| {
                let of_dialect = |dialect: &Dialect| {
                    WORDS
                        .iter()
                        .find(|word| (word.dialect, word.quantity) == (*dialect, quantity))
                };
                let words: Vec<&Word> = dialects.iter().filter_map(of_dialect).collect();
                let authored = words.iter().find_map(|word| {
                    let value = joint.number(&word.name_of(&instance))?;
                    value.is_finite().then_some((*word, value))
                });
                authored.or_else(|| Some((*words.last()?, fallback)))
            };
            let coefficients = (
                coefficient(Quantity::Multiplier, 1.0),
                coefficient(Quantity::Offset, 0.0),
            );
            let (Some(multiplier), Some(offset)) = coefficients else {
                continue;
            };
            let higher = ["mjc:coef2", "mjc:coef3", "mjc:coef4"];
            let has_term = |name: &str| joint.number(name).is_some_and(|value| value != 0.0);
            let (relationship, leader) = relation;
            found.push(Relation {
                dialect: dialects.last().copied().unwrap_or(Dialect::Newton),
                relationship,
                leader,
                is_polynomial: is_equality && higher.into_iter().any(has_term),
                multiplier,
                offset,
            });
        }
    }
    found
}

/// Returns the names of the applied instances of a schema; one empty name, applied or not, if the schema has no instances.
fn instances(applied: &[String], schema: &str) -> Vec<String> {
    let Some((start, _)) = schema.split_once('*') else {
        return vec![String::new()];
    };
    let names = applied
        .iter()
        .filter_map(|applied| applied.strip_prefix(start));
    names.map(str::to_owned).collect()
}

/// An attribute to author, with its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeOpinion {
    /// The schema that has it.
    pub schema: String,
    /// The name.
    pub name: String,
    /// The value.
    pub value: f64,
    /// True for a uniform double, false for a float.
    pub is_double: bool,
}

impl AttributeOpinion {
    fn new(word: &Word, instance: &str, value: f64) -> Self {
        Self {
            schema: word.schema.replace('*', instance),
            name: word.name_of(instance),
            // Adding 0.0 turns −0.0 into 0.0.
            value: value + 0.0,
            is_double: word.dialect == Dialect::Mujoco,
        }
    }

    /// Returns the attribute.
    pub fn attribute(&self) -> Attribute {
        if self.is_double {
            Attribute::double(self.value).uniform()
        } else {
            Attribute::float(self.value as f32)
        }
    }
}

/// Returns the attributes of a dialect for quantities of a joint in SI units.
pub fn passive(
    dialect: Dialect,
    motion: Motion,
    values: &[(Quantity, f64)],
) -> Vec<AttributeOpinion> {
    let words = WORDS.iter().filter(|word| word.dialect == dialect);
    words
        .filter_map(|word| {
            let (_, value) = values
                .iter()
                .find(|(quantity, _)| *quantity == word.quantity)?;
            let value = value / word.to_si(motion, motion);
            Some(AttributeOpinion::new(word, motion.instance(), value))
        })
        .collect()
}

/// A mimic relation in SI units.
#[derive(Clone, Copy, Debug)]
pub struct Mimic<'a> {
    /// The motion of the follower and of the leader.
    pub motions: [Motion; 2],
    /// The axes of both in PhysX: `rotX`, `rotY` or `rotZ`.
    pub axes: [&'a str; 2],
    /// The factor.
    pub multiplier: f64,
    /// The offset.
    pub offset: f64,
}

/// The opinions by which a dialect expresses a mimic relation.
#[derive(Clone, Debug, PartialEq)]
pub struct MimicOpinions {
    /// The schema to apply.
    pub schema: String,
    /// The relationship that names the leader.
    pub leader: String,
    /// The coefficients.
    pub coefficients: Vec<AttributeOpinion>,
    /// The attribute that names the axis of the leader, and its token.
    pub leader_axis: Option<(String, String)>,
}

/// Returns the opinions by which a dialect expresses a mimic relation; `None` if it cannot: engines relate only joints of
/// the same motion.
pub fn mimic(dialect: Dialect, mimic: &Mimic<'_>) -> Option<MimicOpinions> {
    let [follower, of_leader] = mimic.motions;
    if dialect != Dialect::ExtendedPhysics && follower != of_leader {
        return None;
    }
    let leader = LEADERS.iter().find(|leader| leader.dialect == dialect)?;
    let [axis, leader_axis] = mimic.axes;
    let words = WORDS.iter().filter(|word| word.dialect == dialect);
    let coefficients = words.filter_map(|word| {
        let value = match word.quantity {
            Quantity::Multiplier => mimic.multiplier,
            Quantity::Offset => mimic.offset,
            _ => return None,
        };
        let value = value / word.to_si(follower, of_leader);
        Some(AttributeOpinion::new(word, axis, value))
    });
    let name = format!("physxMimicJoint:{axis}:referenceJointAxis");
    Some(MimicOpinions {
        schema: leader.schema.replace('*', axis),
        leader: leader.relationship.replace('*', axis),
        coefficients: coefficients.collect(),
        leader_axis: (dialect == Dialect::Physx).then(|| (name, leader_axis.to_owned())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// A joint in memory.
    #[derive(Default)]
    struct Joint {
        schemas: Vec<String>,
        numbers: HashMap<String, f64>,
        targets: HashMap<String, String>,
        off: Vec<&'static str>,
    }

    impl Opinions for Joint {
        fn schemas(&self) -> &[String] {
            &self.schemas
        }

        fn number(&self, name: &str) -> Option<f64> {
            self.numbers.get(name).copied()
        }

        fn target(&self, name: &str) -> Option<String> {
            self.targets.get(name).cloned()
        }

        fn is_false(&self, name: &str) -> bool {
            self.off.contains(&name)
        }
    }

    impl Joint {
        fn author(&mut self, opinions: Vec<AttributeOpinion>) {
            for opinion in opinions {
                if !self.schemas.contains(&opinion.schema) {
                    self.schemas.push(opinion.schema);
                }
                self.numbers.insert(opinion.name, opinion.value);
            }
        }

        fn follow(dialect: Dialect, relation: &Mimic<'_>) -> Self {
            let opinions = mimic(dialect, relation).unwrap();
            let mut joint = Self {
                schemas: vec![opinions.schema],
                ..Self::default()
            };
            joint
                .targets
                .insert(opinions.leader, "/r/leader".to_owned());
            joint.author(opinions.coefficients);
            joint
        }
    }

    const ALL: [Dialect; 4] = [
        Dialect::ExtendedPhysics,
        Dialect::Newton,
        Dialect::Mujoco,
        Dialect::Physx,
    ];

    fn assert_near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    #[test]
    fn every_dialect_says_the_same_mimic_relation() {
        for motion in [Motion::Angular, Motion::Linear] {
            let relation = Mimic {
                motions: [motion; 2],
                axes: ["rotY", "rotZ"],
                multiplier: -2.0,
                offset: 0.5,
            };
            for dialect in ALL {
                let joint = Joint::follow(dialect, &relation);
                let found = relations(&joint);
                let [found] = &found[..] else {
                    panic!("{found:?}")
                };
                assert_eq!(
                    (found.dialect, found.leader.as_deref()),
                    (dialect, Some("/r/leader"))
                );
                let (multiplier, offset) = found.in_si(motion, motion);
                assert_near(multiplier, -2.0);
                assert_near(offset, 0.5);
            }
        }
    }

    #[test]
    fn coefficients_have_the_units_and_signs_of_each_schema() {
        let relation = Mimic {
            motions: [Motion::Angular; 2],
            axes: ["rotX", "rotX"],
            multiplier: 3.0,
            offset: std::f64::consts::PI,
        };
        for (dialect, name, value) in [
            (Dialect::ExtendedPhysics, "ext_physics:mimic:offset", 180.0),
            (Dialect::Newton, "newton:mimicCoef0", 180.0),
            (Dialect::Mujoco, "mjc:coef0", std::f64::consts::PI),
            (Dialect::Physx, "physxMimicJoint:rotX:offset", -180.0),
            (Dialect::Physx, "physxMimicJoint:rotX:gearing", -3.0),
        ] {
            let joint = Joint::follow(dialect, &relation);
            assert_near(joint.number(name).unwrap(), value);
        }
    }

    #[test]
    fn only_the_neutral_dialect_relates_turning_to_sliding() {
        let relation = Mimic {
            motions: [Motion::Linear, Motion::Angular],
            axes: ["rotX", "rotX"],
            multiplier: 0.01,
            offset: 0.2,
        };
        for dialect in Dialect::ENGINES {
            assert_eq!(mimic(dialect, &relation), None);
        }
        let joint = Joint::follow(Dialect::ExtendedPhysics, &relation);
        // Metres per degree.
        assert_near(
            joint.number("ext_physics:mimic:multiplier").unwrap(),
            0.01_f64.to_radians(),
        );
        let (multiplier, offset) = relations(&joint)[0].in_si(Motion::Linear, Motion::Angular);
        assert_near(multiplier, 0.01);
        assert_near(offset, 0.2);
    }

    #[test]
    fn every_engine_says_the_same_passive_behaviour() {
        use Quantity::{Armature, Damping, Friction, VelocityLimit};
        let values = [
            (Armature, 0.25),
            (Damping, 0.75),
            (Friction, 0.5),
            (VelocityLimit, 2.0),
        ];
        for motion in [Motion::Angular, Motion::Linear] {
            for dialect in Dialect::ENGINES {
                let mut joint = Joint::default();
                joint.author(passive(dialect, motion, &values));
                for (quantity, expected) in values {
                    let found = value(&joint, quantity, motion, &[motion.instance()]).unwrap();
                    if (dialect, quantity) == (Dialect::Mujoco, VelocityLimit) {
                        assert_eq!(found, None, "MuJoCo has no such limit");
                        continue;
                    }
                    let (of, found) = found.unwrap();
                    assert_eq!(of, dialect);
                    assert_near(found, expected);
                }
            }
        }
    }

    #[test]
    fn values_that_contradict_each_other_are_none() {
        let mut joint = Joint::default();
        for (name, number) in [("static", 2.0), ("dynamic", 1.0)] {
            let name = format!("physxJointAxis:angular:{name}FrictionEffort");
            joint.numbers.insert(name, number);
        }
        let friction =
            |joint: &Joint| value(joint, Quantity::Friction, Motion::Angular, &["angular"]);
        assert_eq!(friction(&joint).unwrap_err().names.len(), 2);
        joint.numbers.insert("newton:friction".to_owned(), 3.0);
        assert_eq!(friction(&joint), Ok(Some((Dialect::Newton, 3.0))));
        // Fallbacks that mean no limit.
        joint
            .numbers
            .insert("newton:velocityLimit".to_owned(), f64::INFINITY);
        joint
            .numbers
            .insert("physxJoint:maxJointVelocity".to_owned(), 1e6);
        let limit = value(&joint, Quantity::VelocityLimit, Motion::Angular, &[]);
        assert_eq!(limit, Ok(None));
    }

    #[test]
    fn relations_that_are_off_or_polynomial_are_known() {
        let relation = Mimic {
            motions: [Motion::Angular; 2],
            axes: ["rotX", "rotX"],
            multiplier: 1.0,
            offset: 0.0,
        };
        let mut joint = Joint::follow(Dialect::Mujoco, &relation);
        joint.numbers.insert("mjc:coef2".to_owned(), 0.5);
        assert!(relations(&joint)[0].is_polynomial);
        // Without a leader, the equality holds the joint.
        joint.targets.clear();
        assert!(relations(&joint).is_empty());
        let mut joint = Joint::follow(Dialect::Newton, &relation);
        joint.off.push("newton:mimicEnabled");
        assert!(relations(&joint).is_empty());
        // Newton's words in MuJoCo's schema.
        let mut joint = Joint::follow(Dialect::Newton, &relation);
        joint.schemas = vec!["MjcEqualityJointAPI".to_owned()];
        let found = relations(&joint);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].dialect, Dialect::Mujoco);
    }
}
