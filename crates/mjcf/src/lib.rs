//! [`Robot`] → MJCF, the XML of the physics engine MuJoCo.
//!
//! Bodies have the links' frames, so that a pose means the same in both. Everything of a robot that
//! MJCF has a word for is written, and nothing else: no gains, no floor, no light. What it can't
//! say is told in the diagnostics (REP-158 §3.8).
//!
//! This module must not know URDF, USD, glTF, or where files are.

mod assets;
mod bodies;
pub mod codes;
mod constraints;
mod names;
mod sensors;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use nalgebra::UnitQuaternion;

use self::assets::Assets;
use self::bodies::Bodies;
use self::names::Names;
use urdf_usd_diagnostic::{Collector, Diagnostic, Most};
use urdf_usd_robot::{Base, CacheEvicted, Pose, Robot};
use urdf_usd_text::xml::{Attributes, Document, numbers};

/// Findings with one code beyond this many are counted only.
const FINDINGS_PER_CODE: usize = 20;
/// How deep elements may be in each other for MuJoCo's reader.
const DEEPEST: usize = 499;

/// An MJCF.
#[derive(Clone, Debug)]
pub struct Written {
    /// The text.
    pub text: String,
    /// The mesh files and images that it names, by their names in the folder that it was told.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What of the robot it can't say.
    pub diagnostics: Vec<Diagnostic>,
}

/// Writes `robot` as MJCF, whose base is held to the world as `base` says, and whose files will be
/// in `folder` beside it. The same robot gives the same text.
///
/// # Errors
/// If a mesh is no longer in the cache.
pub fn write(robot: &Robot, base: Base, folder: &str) -> Result<Written, CacheEvicted> {
    let mut findings = Collector::new(Most::OfEachCode(FINDINGS_PER_CODE));
    let names = Names::of(robot, &mut findings);
    let bodies = Bodies::of(robot, base);
    let assets = Assets::of(robot, &mut findings)?;
    let mut to = Document::default();
    to.open("mujoco", vec![("model", robot.name().to_owned())]);
    to.leaf(
        "compiler",
        vec![
            ("angle", "radian".to_owned()),
            ("autolimits", "true".to_owned()),
            ("inertiafromgeom", "false".to_owned()),
            ("fusestatic", "false".to_owned()),
            ("meshdir", folder.to_owned()),
            ("texturedir", folder.to_owned()),
        ],
    );
    to.open("default", Vec::new());
    for (class, geom) in [
        (
            "visual",
            vec![
                ("group", "2".to_owned()),
                ("contype", "0".to_owned()),
                ("conaffinity", "0".to_owned()),
            ],
        ),
        ("collision", vec![("group", "3".to_owned())]),
    ] {
        to.open("default", vec![("class", class.to_owned())]);
        to.leaf("geom", geom);
        to.close();
    }
    to.close();
    let mut writer = Writer {
        robot,
        names,
        bodies,
        assets,
        findings,
        to,
    };
    writer.assets.define(&mut writer.to);
    writer.world();
    writer.constraints();
    writer.actuators();
    writer.sensors();
    writer.keyframes();
    writer.tell_what_is_not_said();
    let Writer {
        assets,
        mut findings,
        to,
        ..
    } = writer;
    if to.depth() >= DEEPEST {
        let message = format!(
            "elements of the MJCF are in each other {} levels deep",
            to.depth()
        );
        findings.report(
            &codes::DEEP,
            &robot.place,
            message,
            "join links that are fixed to each other",
        );
    }
    let (text, is_changed) = to.finish();
    if is_changed {
        let message = format!(
            "names of robot \"{}\" have control characters",
            robot.name()
        );
        findings.report(
            &codes::CHARACTERS,
            &robot.place,
            message,
            "rename what has them",
        );
    }
    let diagnostics = findings.finish_at(&robot.place);
    Ok(Written {
        text,
        files: assets.files,
        diagnostics,
    })
}

struct Writer<'a> {
    robot: &'a Robot,
    names: Names,
    bodies: Bodies,
    assets: Assets,
    findings: Collector,
    to: Document,
}

impl Writer<'_> {
    fn tell_what_is_not_said(&mut self) {
        let robot = self.robot;
        let has_custom = |custom: &urdf_usd_robot::Custom| custom.elements.len();
        let joints = |is: fn(&urdf_usd_robot::Joint) -> bool| {
            robot.joints().values().filter(|joint| is(joint)).count()
        };
        let interfaces = robot.interfaces.len()
            + robot
                .sensors()
                .iter()
                .map(|sensor| sensor.interfaces.len())
                .sum::<usize>();
        let custom = has_custom(&robot.custom)
            + robot
                .links()
                .values()
                .map(|link| has_custom(&link.custom))
                .sum::<usize>()
            + robot
                .joints()
                .values()
                .map(|joint| has_custom(&joint.custom))
                .sum::<usize>();
        let bounces = |link: &&urdf_usd_robot::Link| {
            link.contact
                .and_then(|contact| contact.restitution)
                .is_some_and(|restitution| restitution > 0.0)
        };
        let counts = [
            (
                "limits of speed",
                joints(|joint| {
                    joint
                        .limit
                        .is_some_and(|limit| limit.velocity.is_some_and(|v| v > 0.0))
                }),
            ),
            ("soft limits", joints(|joint| joint.safety.is_some())),
            ("calibration", joints(|joint| joint.calibration.is_some())),
            (
                "restitution",
                robot.links().values().filter(bounces).count(),
            ),
            ("ROS interfaces", interfaces),
            ("custom elements", custom),
        ];
        let told = counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{what} ({count})"));
        let told = told.collect::<Vec<_>>().join(", ");
        if !told.is_empty() {
            let message = format!("MJCF has no word for what the robot has: {told}");
            self.findings.report(
                &codes::NO_WORD,
                &robot.place,
                message,
                "keep the source of the robot for them",
            );
        }
    }
}

/// Where something is: `pos` and `quat`, as far as it is moved and turned.
fn placed(attributes: &mut Attributes, pose: &Pose) {
    if pose.translation.vector.iter().any(|&x| x != 0.0) {
        attributes.push(("pos", numbers(pose.translation.vector.iter().copied())));
    }
    if pose.rotation != UnitQuaternion::identity() {
        attributes.push(("quat", quaternion(&pose.rotation)));
    }
}

/// w, x, y, z; w is not negative.
fn quaternion(rotation: &UnitQuaternion<f64>) -> String {
    let sign = if rotation.w < 0.0 { -1.0 } else { 1.0 };
    numbers([rotation.w, rotation.i, rotation.j, rotation.k].map(|part| part * sign))
}
