//! [`Robot`] → SDFormat, the XML of Gazebo and Drake.
//!
//! Links, joints and frames have the robot's own frames, so that a pose means the same in both.
//! Everything of a robot that SDFormat has a word for is written, and nothing else: no plugins, no
//! options of a simulation. What it can't say is told in the diagnostics (REP-158 §3.8).
//!
//! This module must not know URDF, USD, glTF, or where files are.

pub mod codes;
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
use urdf_usd_robot::{ArenaMap, Base, Element, Link, LinkId, Material, Pose, Robot, decimal};
use urdf_usd_text::xml::{Attributes, Document, numbers};

/// Findings with one code beyond this many are counted only.
const FINDINGS_PER_CODE: usize = 20;
/// The oldest version of SDFormat that has all that is written, but for joints that follow others.
const VERSION: &str = "1.9";
/// The oldest version that has joints that follow others.
const VERSION_WITH_MIMIC: &str = "1.11";
/// The frame of the model.
const MODEL: &str = "__model__";

/// What the text calls the files beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct FileNames {
    /// Of the meshes of visuals; `None` where there is no file.
    pub visuals: ArenaMap<Link, Vec<Option<String>>>,
    /// The same of collisions.
    pub collisions: ArenaMap<Link, Vec<Option<String>>>,
    /// Of the images of materials' colours.
    pub textures: ArenaMap<Material, Option<String>>,
    /// Whether mesh files have the materials of what is made of them.
    pub have_materials: bool,
}

/// An SDF.
#[derive(Clone, Debug)]
pub struct Written {
    /// The text.
    pub text: String,
    /// What of the robot it can't say.
    pub diagnostics: Vec<Diagnostic>,
}

/// Writes `robot` as a model of SDFormat, whose base is held to the world as `base` says, and which
/// refers to meshes and images by `files`. The same robot gives the same text.
pub fn write(robot: &Robot, base: Base, files: &FileNames) -> Written {
    let mut findings = Collector::new(Most::OfEachCode(FINDINGS_PER_CODE));
    let names = Names::of(robot, &mut findings);
    let groups = Groups::of(robot, base);
    let mut to = Document::default();
    let follows = robot.joints().values().any(|joint| joint.mimic().is_some());
    to.open(
        "sdf",
        vec![(
            "version",
            if follows { VERSION_WITH_MIMIC } else { VERSION }.to_owned(),
        )],
    );
    to.open(
        "model",
        vec![(
            "name",
            names::Scope::default().first([robot.name(), "robot"]),
        )],
    );
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
    writer.tell_what_is_not_said();
    let Writer {
        mut findings, to, ..
    } = writer;
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
    Written { text, diagnostics }
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
    /// The frame of a link: its own name, whether it is a link of the SDF or a frame; that of the
    /// model for the world.
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

    /// An element that says where something is in a frame.
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

    /// Plugins of the model that a URDF has for Gazebo: it says itself what they are.
    fn plugins(&mut self) {
        for plugin in self
            .blocks(false)
            .flat_map(|block| &block.children)
            .filter(|child| child.name == "plugin")
        {
            foreign(&mut self.to, plugin);
        }
    }

    /// Elements of a URDF that are SDF, about a part of the robot or about all of it.
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
        let written = |element: &&Element| {
            element.name == "gazebo"
                && element
                    .children
                    .iter()
                    .all(|child| matches!(child.name.as_str(), "plugin" | "sensor"))
        };
        let custom = has_custom(&robot.custom)
            - robot.custom.elements.iter().filter(written).count()
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
        let sticks = |link: &&Link| {
            link.contact
                .is_some_and(|contact| contact.static_friction != contact.dynamic_friction)
        };
        let counts = [
            ("soft limits", joints(|joint| joint.safety.is_some())),
            ("calibration", joints(|joint| joint.calibration.is_some())),
            ("drives", joints(|joint| joint.drive().is_some())),
            ("named poses", robot.named_poses().len()),
            (
                "pairs of links that need no check for collision",
                robot.disabled_collisions().len(),
            ),
            (
                "static friction",
                robot.links().values().filter(sticks).count(),
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
            let message = format!("SDFormat has no word for what the robot has: {told}");
            self.findings.report(
                &codes::NO_WORD,
                &robot.place,
                message,
                "keep the source of the robot for them",
            );
        }
    }
}

/// Writes an element as it was. Readers keep none that is nested deeply.
fn foreign(to: &mut Document, element: &Element) {
    if element.children.is_empty() {
        return to.foreign(&element.name, &element.attributes, &element.text);
    }
    to.open_foreign(&element.name, &element.attributes, &element.text);
    element.children.iter().for_each(|child| foreign(to, child));
    to.close();
}

/// The shortest angles from which the same rotation is read.
fn roll_pitch_yaw(rotation: &UnitQuaternion<f64>) -> [f64; 3] {
    let same = rotation.coords;
    decimal::roll_pitch_yaw(rotation, |other| {
        other.coords == same || -other.coords == same
    })
}
