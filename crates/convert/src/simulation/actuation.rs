//! Chooses the drives of joints whose source gives no gains.
//!
//! A joint moves the effective inertia `I` and bears at most the gravity load `G`, both as maxima over the
//! start and random configurations with the base held. A joint of a leg also bears the robot
//! ([`support`](super::support)) with the load `S`. Its stiffness is `max(I·ω², G / sag, S / sag)`, so that it
//! responds at the natural frequency and gives way by at most the sag; its damping is `2·ζ·√(stiffness·I)`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use urdf_usd_diagnostic::{Diagnostic, Place, did_you_mean, nearest};
use urdf_usd_kinematics::{GRAVITY, Mechanism, Random};
use urdf_usd_resolve::Files;
use urdf_usd_robot::{Actuation, Base, Command, Joint, JointId, JointKind, NamedPose, Robot};
use urdf_usd_text::yaml::{self, Yaml};

use crate::codes;
use crate::fixed::Pattern;
use crate::masses::read_yaml;

/// Number of random configurations that bound inertia and load.
const SAMPLES: usize = 16;
/// Inertia of a joint that moves no mass: that of the placeholder for a missing mass, kg·m² or kg.
const MIN_INERTIA: f64 = 1e-6;
/// Metres of a slide that count as one radian of a hinge, for the sag.
const METRES_PER_RADIAN: f64 = 0.1;
/// Maximum ratio of the frequency of a lifted leg to the natural frequency: a foot of a few grams must not
/// need shorter steps than 2 ms.
const MAX_RATIO: f64 = 8.0;
/// Help for a file of drives.
const HELP: &str = "write an entry for each pattern of joint names: \"wheel_.*: {mode: velocity, damping: 5}\"; \
    keys are mode, stiffness, damping, armature, friction, effort";

/// Drives of joints whose source gives no gains.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
pub enum DriveChoice {
    /// By the rule of this module.
    #[default]
    Auto,
    /// None: such joints move freely.
    None,
    /// These for all joints.
    Given {
        /// Commanded quantity.
        mode: Command,
        /// N·m/rad or N/m; `None`: by the rule.
        stiffness: Option<f64>,
        /// N·m·s/rad or N·s/m; `None`: by the rule.
        damping: Option<f64>,
    },
}

impl fmt::Display for DriveChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::Given {
                mode,
                stiffness,
                damping,
            } => {
                f.write_str(mode.as_str())?;
                let gains: Vec<String> = stiffness
                    .iter()
                    .chain(damping)
                    .map(f64::to_string)
                    .collect();
                if gains.is_empty() {
                    Ok(())
                } else {
                    write!(f, ":{}", gains.join(","))
                }
            }
        }
    }
}

impl FromStr for DriveChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || {
            format!(
                "{text:?} is none of auto, none, position, position:KP,KD, velocity, velocity:KD, effort"
            )
        };
        let (mode, gains) = match text {
            "auto" => return Ok(Self::Auto),
            "none" => return Ok(Self::None),
            _ => text
                .split_once(':')
                .map_or((text, None), |(mode, gains)| (mode, Some(gains))),
        };
        let mode = Command::named(mode).ok_or_else(fault)?;
        let gain = |text: &str| {
            text.trim()
                .parse()
                .ok()
                .filter(|gain: &f64| *gain >= 0.0 && gain.is_finite())
        };
        let gains: Vec<f64> = match gains {
            None => Vec::new(),
            Some(gains) => gains
                .split(',')
                .map(gain)
                .collect::<Option<_>>()
                .ok_or_else(fault)?,
        };
        let (stiffness, damping) = match (mode, &gains[..]) {
            (_, []) => (None, None),
            (Command::Position, [stiffness, damping]) => (Some(*stiffness), Some(*damping)),
            (Command::Velocity, [damping]) => (None, Some(*damping)),
            _ => return Err(fault()),
        };
        Ok(Self::Given {
            mode,
            stiffness,
            damping,
        })
    }
}

/// Rule for the drives of joints whose source gives no gains.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Rule {
    /// Drives of all joints.
    pub drive: DriveChoice,
    /// File with the drives of some joints, which takes precedence.
    pub file: Option<PathBuf>,
    /// Natural frequency of a joint with its effective inertia, Hz.
    pub frequency: f64,
    /// Damping ratio; 1 is critical damping.
    pub damping_ratio: f64,
    /// Maximum deflection of a hinge under gravity, rad; a slide gives way by a tenth of it in metres.
    pub sag: f64,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            drive: DriveChoice::Auto,
            file: None,
            frequency: 10.0,
            damping_ratio: 1.0,
            sag: 0.02,
        }
    }
}

/// Properties of a drive that a user gives; others follow from the rule.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    mode: Option<Command>,
    stiffness: Option<f64>,
    damping: Option<f64>,
    armature: Option<f64>,
    friction: Option<f64>,
    effort: Option<f64>,
}

/// A numeric property in the file of drives: its key and its field.
type Number = (&'static str, fn(&mut Wanted) -> &mut Option<f64>);

/// Numeric properties in the file of drives.
const NUMBERS: [Number; 5] = [
    ("stiffness", |wanted| &mut wanted.stiffness),
    ("damping", |wanted| &mut wanted.damping),
    ("armature", |wanted| &mut wanted.armature),
    ("friction", |wanted| &mut wanted.friction),
    ("effort", |wanted| &mut wanted.effort),
];
/// Key of the commanded quantity in the file of drives.
const MODE: &str = "mode";

/// Entry of the file of drives.
struct Entry {
    pattern: Pattern,
    wanted: Wanted,
}

/// Inertia and load of a coordinate.
#[derive(Clone, Copy)]
struct Carried {
    /// Effective inertia, kg·m² or kg.
    inertia: f64,
    /// Gravity load with the base held, N·m or N.
    load: f64,
    /// Load of the robot on a joint of its legs, N·m or N.
    support: f64,
}

/// Chooses the drive of each joint without gains in the source. Reports patterns of the file of drives that
/// match no joint.
///
/// Joints with one position that follow no other and close no loop have drives. If the source says which
/// joints are driven, others without limits (wheels, casters) move freely.
///
/// # Errors
/// If the file of drives can't be read.
pub(super) fn choose(
    robot: &Robot,
    mechanism: &Mechanism,
    home: Option<&NamedPose>,
    base: Base,
    rule: &Rule,
    files: &Files,
    found: &mut Vec<Diagnostic>,
) -> Result<BTreeMap<JointId, Actuation>, Diagnostic> {
    let entries = match &rule.file {
        Some(path) => read(path, robot, files, found)?,
        None => Vec::new(),
    };
    let says_drives = robot.joints().values().any(|joint| joint.drive().is_some());
    let carried = carried(mechanism, home, robot);
    let supports = super::support::loads(robot, mechanism, home, base);
    let mut chosen = BTreeMap::new();
    for (id, joint) in robot.joints().iter() {
        let is_single = matches!(
            joint.kind(),
            JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic
        );
        if !is_single || joint.closes_loop() || joint.mimic().is_some() {
            continue;
        }
        let Some(carried) = mechanism.first(id).and_then(|first| carried.get(first)) else {
            continue;
        };
        let carried = Carried {
            support: supports.get(&id).copied().unwrap_or(0.0),
            ..*carried
        };
        let of_file = entries
            .iter()
            .rev()
            .find(|entry| entry.pattern.is_match(joint.name()));
        let drive = joint.drive();
        let wanted = match (of_file, rule.drive) {
            (Some(entry), _) => entry.wanted,
            (None, DriveChoice::None) => continue,
            // Gains of the source are in the neutral layers, and are what MJCF and SDF have.
            (None, _) if drive.is_some_and(|drive| drive.gains.is_some()) => continue,
            (
                None,
                DriveChoice::Given {
                    mode,
                    stiffness,
                    damping,
                },
            ) => Wanted {
                mode: Some(mode),
                stiffness,
                damping,
                ..Wanted::default()
            },
            (None, DriveChoice::Auto)
                if says_drives && drive.is_none() && joint.kind() == JointKind::Continuous =>
            {
                continue;
            }
            (None, DriveChoice::Auto) => Wanted::default(),
        };
        let is_given = of_file.is_some() || matches!(rule.drive, DriveChoice::Given { .. });
        let home = home.and_then(|home| home.positions.iter().find(|(joint, _)| *joint == id));
        let home = home.and_then(|(_, at)| at.first().copied());
        let drive = Actuation {
            is_assumed: !is_given,
            ..drive_of(joint, wanted, &carried, rule, home)
        };
        chosen.insert(id, drive);
    }
    Ok(chosen)
}

/// Returns findings about the drives of a robot: those with assumed gains, and those that gravity overcomes.
pub(super) fn findings(robot: &Robot, rule: &Rule) -> Vec<Diagnostic> {
    let drives = &robot.simulation().actuation;
    let assumed = drives.values().filter(|drive| drive.is_assumed).count();
    let mut found = Vec::new();
    if assumed > 0 {
        let message = format!(
            "the gains of {assumed} {} are assumed for simulations: natural frequency {} Hz, damping ratio {}, sag {} rad",
            if assumed == 1 { "joint" } else { "joints" },
            rule.frequency,
            rule.damping_ratio,
            rule.sag
        );
        let help = "give gains with --drives or --drive; --drive none assumes none";
        found
            .push(Diagnostic::new(&codes::DRIVES_ASSUMED, robot.place.clone(), message).help(help));
    }
    let weak = drives.iter().filter_map(|(id, drive)| {
        let force = drive.max_force.filter(|force| *force < drive.load)?;
        let name = robot.joints()[*id].name();
        (drive.command == Command::Position)
            .then(|| format!("{name} ({force:.3} of {:.3})", drive.load))
    });
    let weak: Vec<String> = weak.collect();
    if !weak.is_empty() {
        let message = format!(
            "the effort limits of joints are below the load of gravity in some configuration, with the base held (N·m or N): {}",
            weak.join(", ")
        );
        let help = "correct the limits in the description, if they are wrong";
        found.push(Diagnostic::new(&codes::DRIVE_WEAK, robot.place.clone(), message).help(help));
    }
    found
}

/// Returns the drive of a joint.
fn drive_of(
    joint: &Joint,
    wanted: Wanted,
    carried: &Carried,
    rule: &Rule,
    home: Option<f64>,
) -> Actuation {
    let drive = joint.drive();
    // A joint that a controller moves by its effort or velocity must be held while none runs, unless it is
    // a wheel.
    let is_wheel = joint.kind() == JointKind::Continuous;
    let command = match (wanted.mode, drive.map(|drive| drive.command)) {
        (Some(mode), _) => mode,
        (None, Some(Command::Velocity)) if is_wheel => Command::Velocity,
        (None, _) => Command::Position,
    };
    let armature = wanted.armature.or(joint.armature);
    let inertia = carried.inertia.max(MIN_INERTIA) + armature.unwrap_or(0.0);
    let omega = std::f64::consts::TAU * rule.frequency;
    let sag = if joint.kind() == JointKind::Prismatic {
        rule.sag * METRES_PER_RADIAN
    } else {
        rule.sag
    };
    let natural = inertia * omega * omega;
    let support = (carried.support / sag).min(natural * MAX_RATIO * MAX_RATIO);
    let stiffness = natural.max(carried.load / sag).max(support);
    let damping = 2.0
        * rule.damping_ratio
        * (wanted.stiffness.unwrap_or(stiffness).max(0.0) * inertia).sqrt();
    let (stiffness, damping) = match command {
        Command::Position => (
            wanted.stiffness.unwrap_or(stiffness),
            wanted.damping.unwrap_or(damping),
        ),
        Command::Velocity => (0.0, wanted.damping.unwrap_or(damping)),
        Command::Effort => (0.0, 0.0),
    };
    Actuation {
        command,
        stiffness,
        damping,
        max_force: wanted.effort.or(joint.effort()),
        armature,
        friction: wanted.friction,
        load: carried.load,
        // The start includes the initial position of the source.
        target: home.unwrap_or(0.0),
        is_assumed: true,
    }
}

/// Returns the maxima of inertia and load of each coordinate over the start and random configurations.
fn carried(mechanism: &Mechanism, home: Option<&NamedPose>, robot: &Robot) -> Vec<Carried> {
    let count = mechanism.coordinates().len();
    let mut data = mechanism.data();
    let (mut q, mut inertia, mut load) = (mechanism.rest(), vec![0.0; count], vec![0.0; count]);
    super::set(
        mechanism,
        &mut q,
        home.into_iter().flat_map(|home| &home.positions),
    );
    let mut random = Random::new(robot.joints().len() as u64);
    let mut maxima = vec![
        Carried {
            inertia: 0.0,
            load: 0.0,
            support: 0.0
        };
        count
    ];
    for _ in 0..=SAMPLES {
        mechanism.effective_inertia(&q, &mut data, &mut inertia);
        mechanism.gravity_forces(&q, &GRAVITY, &mut data, &mut load);
        for (most, (inertia, load)) in maxima.iter_mut().zip(inertia.iter().zip(&load)) {
            most.inertia = most.inertia.max(*inertia);
            most.load = most.load.max(load.abs());
        }
        mechanism.random_configuration(&mut random, &mut q);
    }
    maxima
}

/// Reads the file of drives.
fn read(
    path: &Path,
    robot: &Robot,
    files: &Files,
    found: &mut Vec<Diagnostic>,
) -> Result<Vec<Entry>, Diagnostic> {
    let (documents, path) = read_yaml(path, files, &codes::DRIVES_FILE, HELP)?;
    let place = |at: yaml::Mark| Place {
        line: at.line,
        column: at.column,
        ..Place::file(path.clone())
    };
    let wrong = |at: yaml::Mark, message: String| {
        Diagnostic::new(&codes::DRIVES_FILE, place(at), message).help(HELP)
    };
    let is_map = |document: &&Yaml| matches!(document.content, yaml::Content::Map(_));
    if let Some(other) = documents.iter().find(|document| !is_map(document)) {
        return Err(wrong(
            other.at,
            "the file has no patterns of joint names".to_owned(),
        ));
    }
    let mut entries = Vec::new();
    for (key, value) in documents.iter().flat_map(Yaml::entries) {
        let pattern: Pattern = key.text.parse().map_err(|error| wrong(key.at, error))?;
        let mut wanted = Wanted::default();
        if value.entries().is_empty() {
            return Err(wrong(
                value.at,
                format!("the pattern \"{}\" has no properties", key.text),
            ));
        }
        for (name, value) in value.entries() {
            if name.text == MODE {
                let mode = value.text().and_then(Command::named);
                let fault = || {
                    let names = Command::ALL.map(Command::as_str).join(", ");
                    wrong(value.at, format!("{MODE} is none of {names}"))
                };
                wanted.mode = Some(mode.ok_or_else(fault)?);
                continue;
            }
            let Some((_, field)) = NUMBERS.iter().find(|(key, _)| *key == name.text) else {
                let keys = NUMBERS.iter().map(|(key, _)| *key).chain([MODE]);
                let meant = did_you_mean(nearest(&name.text, keys));
                let message = format!("\"{}\" is no property of a drive", name.text);
                return Err(wrong(name.at, message).help(meant.unwrap_or_else(|| HELP.to_owned())));
            };
            let number = value.text().and_then(|text| text.parse::<f64>().ok());
            let number = number.filter(|number| *number >= 0.0 && number.is_finite());
            let fault = || {
                let message = format!("\"{}\" is not a number of at least zero", name.text);
                wrong(value.at, message)
            };
            *field(&mut wanted) = Some(number.ok_or_else(fault)?);
        }
        let names = || robot.joints().values().map(Joint::name);
        if !names().any(|name| pattern.is_match(name)) {
            let message = format!("no joint of the robot matches \"{}\"", key.text);
            let meant = did_you_mean(nearest(&key.text, names()));
            let help =
                meant.unwrap_or_else(|| "correct the pattern, or remove the entry".to_owned());
            found.push(Diagnostic::new(&codes::DRIVE_UNUSED, place(key.at), message).help(help));
        }
        entries.push(Entry { pattern, wanted });
    }
    Ok(entries)
}
