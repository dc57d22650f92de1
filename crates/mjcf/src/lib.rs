//! Writes a [`Robot`] as MJCF, the XML format of the physics engine MuJoCo.
//!
//! Bodies have the links' frames, so poses have the same meaning in both. Everything that MJCF can
//! express is written, with the robot's [`Simulation`](urdf_usd_robot::Simulation); no floor, no light.
//! The diagnostics report everything that it can't express (REP-158 §3.8).
//!
//! This crate knows nothing of URDF, USD or glTF, nor where files are.

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
use urdf_usd_robot::facts::{self, Fact};
use urdf_usd_robot::{Base, CacheEvicted, Pose, Robot, SelfCollision};
use urdf_usd_text::xml::{Attributes, Document, numbers};

/// Maximum number of findings with one code.
const FINDINGS_PER_CODE: usize = 20;
/// Maximum nesting of elements that MuJoCo's reader accepts.
const MAX_DEPTH: usize = 499;

/// Facts that MJCF has no word for ([`codes::NO_WORD`]).
pub const NO_WORD: &[Fact] = &[
    Fact::FixedJoints,
    Fact::VelocityLimits,
    Fact::SoftLimits,
    Fact::Calibration,
    Fact::AssumedMasses,
    Fact::StaticFriction,
    Fact::Restitution,
    Fact::Lights,
    Fact::Planning,
    Fact::Interfaces,
    Fact::Contexts,
    Fact::CustomElements,
    Fact::CustomAttributes,
];

/// An MJCF that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// MJCF text.
    pub text: String,
    /// Mesh files and images that the text refers to, by their names in the folder given.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Findings about everything that the text can't express.
    pub diagnostics: Vec<Diagnostic>,
}

/// Writes `robot` as MJCF. `base` decides whether the base is fixed to the world; the files are
/// expected in `folder` next to the text. The output is deterministic.
///
/// # Errors
/// Returns an error if a mesh was evicted from the cache.
pub fn write(robot: &Robot, base: Base, folder: &str) -> Result<Written, CacheEvicted> {
    let mut findings = Collector::new(Most::OfEachCode(FINDINGS_PER_CODE));
    let names = Names::new(robot, &mut findings);
    let bodies = Bodies::new(robot, base);
    let assets = Assets::new(robot, &mut findings)?;
    let mut to = Document::default();
    to.open("mujoco", vec![("model", robot.name().to_owned())]);
    to.leaf(
        "compiler",
        vec![
            // MJCF's default is degrees.
            ("angle", "radian".to_owned()),
            ("autolimits", "true".to_owned()),
            // By default, bodies without an inertial would get the mass of their geometry.
            ("inertiafromgeom", "false".to_owned()),
            ("fusestatic", "false".to_owned()),
            ("meshdir", folder.to_owned()),
            ("texturedir", folder.to_owned()),
        ],
    );
    // MuJoCo's default integrates the damping of actuators explicitly, which is unstable for stiff ones
    // on light links.
    if !robot.simulation().actuation.is_empty() {
        to.leaf("option", vec![("integrator", "implicitfast".to_owned())]);
    }
    let mut collision = vec![("group", "3".to_owned())];
    // Geoms collide if one's contype meets the other's conaffinity: those of other models have both.
    if robot.simulation().self_collision == SelfCollision::None {
        collision.push(("conaffinity", "0".to_owned()));
    }
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
        ("collision", collision),
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
        controls: Vec::new(),
    };
    writer.assets.define(&mut writer.to);
    writer.world();
    writer.constraints();
    writer.actuators();
    writer.sensors();
    writer.keyframes();
    writer.report_omissions();
    let Writer {
        assets,
        mut findings,
        to,
        ..
    } = writer;
    if to.depth() >= MAX_DEPTH {
        let message = format!("elements of the MJCF are nested {} levels deep", to.depth());
        findings.report(
            &codes::DEEP,
            &robot.place,
            message,
            "merge links that are fixed to each other",
        );
    }
    let (text, is_changed) = to.finish();
    if is_changed {
        let message = format!(
            "names of the robot \"{}\" contain control characters",
            robot.name()
        );
        findings.report(
            &codes::CHARACTERS,
            &robot.place,
            message,
            "remove the control characters",
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
    /// The target of each actuator.
    controls: Vec<f64>,
}

impl Writer<'_> {
    fn report_omissions(&mut self) {
        if let Some(omitted) = facts::list(self.robot, NO_WORD.iter().copied()) {
            let message = format!("MJCF can't express these parts of the robot: {omitted}");
            self.findings.report(
                &codes::NO_WORD,
                &self.robot.place,
                message,
                "keep the source of the robot if they are needed",
            );
        }
    }
}

/// Adds `pos` and `quat` of a pose, unless they are the identity.
fn push_pose(attributes: &mut Attributes, pose: &Pose) {
    if pose.translation.vector.iter().any(|&x| x != 0.0) {
        attributes.push(("pos", numbers(pose.translation.vector.iter().copied())));
    }
    if pose.rotation != UnitQuaternion::identity() {
        attributes.push(("quat", quaternion(&pose.rotation)));
    }
}

/// Formats a quaternion as w, x, y, z with w ≥ 0.
fn quaternion(rotation: &UnitQuaternion<f64>) -> String {
    let sign = if rotation.w < 0.0 { -1.0 } else { 1.0 };
    numbers([rotation.w, rotation.i, rotation.j, rotation.k].map(|part| part * sign))
}
