//! Writes a [`Robot`] as SDFormat, the XML format of Gazebo and Drake.
//!
//! Links, joints and frames have the robot's own frames, so poses have the same meaning in both.
//! Everything that SDFormat can express is written, with the robot's
//! [`Simulation`](urdf_usd_robot::Simulation); no world, no simulation options. The diagnostics report
//! everything that it can't express (REP-158 §3.8).
//!
//! This crate knows nothing of URDF, USD or glTF, nor where files are.

pub mod codes;
mod gazebo;
mod groups;
mod joints;
mod links;
mod names;
mod sensors;
#[cfg(test)]
mod tests;

use nalgebra::UnitQuaternion;

use self::groups::{Groups, Motion};
use self::names::Names;
use urdf_usd_diagnostic::{Collector, Diagnostic, Most};
use urdf_usd_robot::facts::{self, Fact};
use urdf_usd_robot::{
    ArenaMap, Base, Element, Link, LinkId, Material, Pose, Robot, SelfCollision, decimal,
};
use urdf_usd_text::xml::{Attributes, Document, numbers};

/// Maximum number of findings with one code.
const FINDINGS_PER_CODE: usize = 20;
/// Lowest version of SDFormat with everything that is written, except mimics.
const VERSION: &str = "1.9";
/// Lowest version of SDFormat with mimics.
const VERSION_WITH_MIMIC: &str = "1.11";
/// Name of the model's frame.
const MODEL: &str = "__model__";

/// Facts that SDFormat has no word for ([`codes::NO_WORD`]).
pub const NO_WORD: &[Fact] = &[
    Fact::FloatingJoints,
    Fact::SoftLimits,
    Fact::Calibration,
    Fact::AssumedMasses,
    Fact::DrivesWithoutGains,
    Fact::SolidMaterials,
    Fact::NamedPoses,
    Fact::DisabledCollisions,
    Fact::Planning,
    Fact::StaticFriction,
    Fact::Interfaces,
    Fact::Contexts,
    Fact::CustomElementsBesideSdf,
    Fact::CustomAttributes,
];

/// Names of the files next to the text.
#[derive(Clone, Debug, PartialEq)]
pub struct FileNames {
    /// Meshes of visuals; `None` if there is no file.
    pub visuals: ArenaMap<Link, Vec<Option<String>>>,
    /// Meshes of collisions; `None` if there is no file.
    pub collisions: ArenaMap<Link, Vec<Option<String>>>,
    /// Images of materials' colours.
    pub textures: ArenaMap<Material, Option<String>>,
    /// Whether mesh files contain materials.
    pub have_materials: bool,
}

/// An SDF that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// SDF text.
    pub text: String,
    /// The same text with a controller that holds the joints in Gazebo, if any joint has gains.
    pub gazebo: Option<String>,
    /// Findings about everything that the text can't express.
    pub diagnostics: Vec<Diagnostic>,
}

/// Writes `robot` as an SDFormat model that refers to meshes and images by `files`. `base` decides
/// whether the base is fixed to the world. The output is deterministic.
pub fn write(robot: &Robot, base: Base, files: &FileNames) -> Written {
    let mut findings = Collector::new(Most::OfEachCode(FINDINGS_PER_CODE));
    let names = Names::new(robot, &mut findings);
    let groups = Groups::new(robot, base);
    let mut to = Document::default();
    let has_mimics = robot.joints().values().any(|joint| joint.mimic().is_some());
    let version = if has_mimics {
        VERSION_WITH_MIMIC
    } else {
        VERSION
    };
    let mut attributes = vec![("version", version.to_owned())];
    let has_gains = robot.joints().values().any(|joint| joint.gains().is_some());
    if has_gains || has_mimics || !robot.simulation().actuation.is_empty() {
        attributes.push(("xmlns:drake", "http://drake.mit.edu".to_owned()));
    }
    to.open("sdf", attributes);
    to.open(
        "model",
        vec![(
            "name",
            names::Scope::default().first([robot.name(), "robot"]),
        )],
    );
    if robot.simulation().self_collision == SelfCollision::All {
        to.text("self_collide", Vec::new(), "true");
    }
    let mut writer = Writer {
        robot,
        files,
        names,
        groups,
        findings,
        to,
    };
    writer.links();
    writer.joints();
    writer.plugins();
    writer.report_omissions();
    let plain = writer.to.clone();
    let has_controller = writer.controller();
    let Writer {
        mut findings, to, ..
    } = writer;
    let (text, is_changed) = plain.finish();
    let gazebo = has_controller.then(|| to.finish().0);
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
    Written {
        text,
        gazebo,
        diagnostics,
    }
}

struct Writer<'a> {
    robot: &'a Robot,
    files: &'a FileNames,
    names: Names,
    groups: Groups,
    findings: Collector,
    to: Document,
}

impl<'a> Writer<'a> {
    /// Returns the frame of a link, which has the link's name, or the model's frame for the world.
    fn frame(&self, link: LinkId) -> &str {
        if self.is_world(link) {
            MODEL
        } else {
            &self.names.links[link]
        }
    }

    fn is_world(&self, link: LinkId) -> bool {
        self.robot.world_root() == Some(link)
    }

    /// Writes a pose, relative to a frame if given.
    fn pose(&mut self, frame: Option<&str>, pose: &Pose) {
        let at = pose.translation.vector;
        let text = numbers(at.iter().copied().chain(roll_pitch_yaw(&pose.rotation)));
        let frame: Attributes = frame
            .map(|frame| vec![("relative_to", frame.to_owned())])
            .unwrap_or_default();
        self.to.text("pose", frame, &text);
    }

    fn leaf(&mut self, name: &'static str, text: &str) {
        self.to.text(name, Vec::new(), text);
    }

    /// Writes the plugins of the model that a URDF contains for Gazebo, unchanged.
    fn plugins(&mut self) {
        for plugin in self
            .blocks(false)
            .flat_map(|block| &block.children)
            .filter(|child| child.name == "plugin")
        {
            foreign(&mut self.to, plugin);
        }
    }

    /// Returns the elements of a URDF that contain SDF, for a part of the robot or for the whole
    /// robot.
    fn blocks(&self, about_part: bool) -> impl Iterator<Item = &'a Element> + use<'a> {
        let has_reference =
            |block: &Element| block.attributes.iter().any(|(name, _)| name == "reference");
        let elements = self
            .robot
            .custom
            .elements
            .iter()
            .filter(|element| element.name == "gazebo");
        elements.filter(move |block| has_reference(block) == about_part)
    }

    fn report_omissions(&mut self) {
        if let Some(omitted) = facts::list(self.robot, NO_WORD.iter().copied()) {
            let message = format!("SDFormat can't express these parts of the robot: {omitted}");
            self.findings.report(
                &codes::NO_WORD,
                &self.robot.place,
                message,
                "keep the source of the robot if they are needed",
            );
        }
    }
}

/// Writes an element unchanged. Readers bound the nesting, and so the recursion.
fn foreign(to: &mut Document, element: &Element) {
    if element.children.is_empty() {
        return to.foreign(&element.name, &element.attributes, &element.text);
    }
    to.open_foreign(&element.name, &element.attributes, &element.text);
    element.children.iter().for_each(|child| foreign(to, child));
    to.close();
}

/// Returns the shortest decimal angles that read back as the same rotation.
fn roll_pitch_yaw(rotation: &UnitQuaternion<f64>) -> [f64; 3] {
    let same = rotation.coords;
    decimal::roll_pitch_yaw(rotation, |other| {
        other.coords == same || -other.coords == same
    })
}
