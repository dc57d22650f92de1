//! Writes a [`Robot`] as URDF.
//!
//! Everything that URDF can express is written, and custom data that came from a URDF is put back
//! in its place. The diagnostics report everything else (REP-158 §3.8). [`crate::read`] returns the
//! same robot from the text, and writing that returns the same text.

pub mod codes;
mod materials;
mod xml;

use std::collections::HashSet;

use nalgebra::{UnitQuaternion, Vector3};

use self::materials::Materials;
use self::xml::{element, put_back};
use crate::custom;
use crate::references::References;
use crate::xml::short;
use urdf_usd_diagnostic::{Collector, Diagnostic, Most, Place};
use urdf_usd_robot::facts::{self, Fact};
use urdf_usd_robot::{
    ArenaMap, Element, Geometry, Inertial, Joint, JointId, JointKind, Link, LinkId, Material,
    MaterialId, Pose, Robot, Shape, decimal,
};
use urdf_usd_text::xml::{number, numbers};

/// Value of a limit that does not exist: URDF requires limits, and has no infinity. It is the
/// largest number in single precision.
pub(crate) const UNLIMITED: &str = "3.4028235e38";

/// Maximum number of findings with one code.
const FINDINGS_PER_CODE: usize = 20;
/// Maximum number of names that a message lists.
const MAX_NAMES: usize = 5;

/// Facts that URDF has no word for ([`codes::NO_WORD`]), unless custom elements state them.
pub const NO_WORD: &[Fact] = &[
    Fact::AssumedMasses,
    Fact::Sensors,
    Fact::Lights,
    Fact::Contact,
    Fact::Drives,
    Fact::InterfacesBesideSensors,
    Fact::Contexts,
    Fact::Planning,
];
/// Facts that SRDF can express ([`codes::SRDF`]).
pub const IN_SRDF: &[Fact] = &[Fact::NamedPoses, Fact::DisabledCollisions];

/// Names of the files next to the text: the references to write as `filename`.
#[derive(Clone, Debug, PartialEq)]
pub struct FileNames {
    /// Meshes of visuals; `None` if there is no file.
    pub visuals: ArenaMap<Link, Vec<Option<String>>>,
    /// Meshes of collisions; `None` if there is no file.
    pub collisions: ArenaMap<Link, Vec<Option<String>>>,
    /// Images of materials' colours.
    pub textures: ArenaMap<Material, Option<String>>,
}

impl FileNames {
    /// Returns the references in the URDF that `robot` was read from. Those of loaded meshes are in
    /// the robot ([`MeshSource::uri`](urdf_usd_robot::MeshSource::uri)).
    pub fn as_read(robot: &Robot, references: &References) -> Self {
        let shape_name = |shape: &Shape| match shape.geometry {
            Geometry::Mesh { mesh, .. } => Some(robot.meshes()[mesh].uri.clone()),
            _ => None,
        };
        let shape_names = |shapes: &[Shape]| shapes.iter().map(shape_name).collect();
        let mut names = Self {
            visuals: ArenaMap::new(robot.links(), |_, link| shape_names(&link.visuals)),
            collisions: ArenaMap::new(robot.links(), |_, link| shape_names(&link.collisions)),
            textures: ArenaMap::filled(robot.materials(), None),
        };
        for reference in &references.meshes {
            let users = [
                (&mut names.visuals, &reference.visuals),
                (&mut names.collisions, &reference.collisions),
            ];
            for (names, users) in users {
                for &(link, index) in users {
                    if let Some(name) = names[link].get_mut(index) {
                        name.get_or_insert_with(|| reference.uri.clone());
                    }
                }
            }
        }
        for (material, uri, _) in &references.textures {
            names.textures[*material] = Some(uri.clone());
        }
        names
    }
}

/// A URDF that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// URDF text.
    pub text: String,
    /// Findings about everything that the text can't express.
    pub diagnostics: Vec<Diagnostic>,
}

/// Writes `robot` as URDF that refers to meshes and images by `files`. The output is deterministic.
pub fn write(robot: &Robot, files: &FileNames) -> Written {
    let mut writer = Writer {
        robot,
        files,
        materials: Materials::new(robot),
        left_out: Vec::new(),
        findings: Collector::new(Most::OfEachCode(FINDINGS_PER_CODE)),
    };
    let root = writer.robot();
    let (text, is_changed) = xml::text(&root);
    if is_changed {
        let message = format!(
            "names or texts of the robot \"{}\" contain control characters",
            short(robot.name())
        );
        writer.report(
            &codes::CHARACTERS,
            &robot.place,
            message,
            "remove the control characters",
        );
    }
    writer.report_omissions();
    let (mut diagnostics, more) = writer.findings.finish();
    diagnostics.extend(more.into_iter().map(|more| {
        let message = format!("{} more findings of this kind", more.count);
        more.summary(robot.place.clone(), message)
    }));
    Written { text, diagnostics }
}

/// Renames materials so that names are unique, like [`write`], for writers of mesh files with these
/// materials.
pub fn rename_materials(robot: &mut Robot) -> Vec<Diagnostic> {
    let materials = Materials::new(robot);
    for (id, material) in robot.materials_mut() {
        materials.name(id).clone_into(&mut material.name);
    }
    materials.renamed()
}

struct Writer<'a> {
    robot: &'a Robot,
    files: &'a FileNames,
    materials: Materials,
    /// Elements of URDF in the custom data that could not be put back.
    left_out: Vec<&'a Element>,
    findings: Collector,
}

impl<'a> Writer<'a> {
    fn report(
        &mut self,
        code: &'static urdf_usd_diagnostic::Code,
        place: &Place,
        message: String,
        help: &str,
    ) {
        self.findings
            .push(Diagnostic::new(code, place.clone(), message).help(help));
    }

    fn robot(&mut self) -> Element {
        let robot = self.robot;
        let mut root = element("robot", [("name", robot.name().to_owned())]);
        for diagnostic in self.materials.renamed() {
            self.findings.push(diagnostic);
        }
        for (id, material) in robot.materials().iter() {
            let name = self.materials.name(id);
            if !name.is_empty() {
                let looks = self.looks(id, material);
                root.children.push(Element {
                    children: looks,
                    ..element("material", [("name", name.to_owned())])
                });
            }
        }
        for id in robot.links().handles() {
            let link = self.link(id);
            root.children.push(link);
        }
        for (id, joint) in robot.joints().iter() {
            if joint.closes_loop() {
                let [parent, child] =
                    [joint.parent(), joint.child()].map(|link| short(robot.links()[link].name()));
                let message = format!(
                    "joint \"{}\" from \"{parent}\" to \"{child}\" closes a loop, which URDF can't express",
                    short(joint.name())
                );
                self.report(
                    &codes::LOOP,
                    &joint.place,
                    message,
                    "use the OpenUSD or glTF asset, which keeps the loop",
                );
            } else {
                let joint = self.joint(Some(id), joint);
                root.children.push(joint);
            }
        }
        self.join_roots(&mut root);
        put_back(&mut root, &robot.custom, &custom::ROBOT, &mut self.left_out);
        root
    }

    /// Attaches all roots but one to that one, since a URDF has a single root.
    fn join_roots(&mut self, root: &mut Element) {
        let robot = self.robot;
        let [first, _, ..] = robot.tree().roots()[..] else {
            return;
        };
        let top = robot.world_root().unwrap_or(first);
        let mut taken: HashSet<String> = robot
            .joints()
            .values()
            .map(|joint| joint.name().to_owned())
            .collect();
        let mut names = Vec::new();
        for &other in robot.tree().roots().iter().filter(|root| **root != top) {
            let link = &robot.links()[other];
            let has_mass = |id: &LinkId| {
                robot.links()[*id]
                    .inertial
                    .as_ref()
                    .is_some_and(|inertial| inertial.mass > 0.0)
            };
            let floats = robot.tree().below(other).iter().any(has_mass);
            let kind = if floats {
                JointKind::Floating
            } else {
                JointKind::Fixed
            };
            let name = (1..).map(|number| {
                if number == 1 {
                    String::new()
                } else {
                    format!("_{number}")
                }
            });
            let mut name = name.map(|number| format!("{}_joint{number}", link.name()));
            let name = name.find(|name| taken.insert(name.clone()));
            let joint = self.joint(
                None,
                &Joint::new(name.unwrap_or_default(), kind, top, other),
            );
            // Insert it before the joints of later links: readers that order joints by their child
            // links then keep the order.
            let is_after = |joint: &&Joint| !joint.closes_loop() && joint.child() > other;
            let next = robot
                .joints()
                .values()
                .find(is_after)
                .map(|joint| joint.name());
            let is_next = |of: &Element| {
                of.name == "joint"
                    && of
                        .attributes
                        .iter()
                        .any(|(k, v)| k == "name" && Some(v.as_str()) == next)
            };
            let at = root
                .children
                .iter()
                .position(is_next)
                .unwrap_or(root.children.len());
            root.children.insert(at, joint);
            names.push(format!("\"{}\"", short(link.name())));
        }
        let more = if names.len() > MAX_NAMES { ", …" } else { "" };
        names.truncate(MAX_NAMES);
        let message = format!(
            "the robot has {} roots; {}{more} are attached to \"{}\" in the URDF",
            robot.tree().roots().len(),
            names.join(", "),
            short(robot.links()[top].name())
        );
        self.report(
            &codes::ROOTS,
            &robot.place,
            message,
            "add the missing joints, or make each root a separate robot",
        );
    }

    fn link(&mut self, id: LinkId) -> Element {
        let (robot, files) = (self.robot, self.files);
        let link = &robot.links()[id];
        let mut to = element("link", [("name", link.name().to_owned())]);
        to.children.extend(link.inertial.as_ref().map(inertial));
        for (name, shapes, files) in [
            ("visual", &link.visuals, &files.visuals[id]),
            ("collision", &link.collisions, &files.collisions[id]),
        ] {
            for (number, shape) in shapes.iter().enumerate() {
                let file = files.get(number).and_then(Option::as_deref);
                let shape = self.shape(name, shape, file);
                to.children.extend(shape);
            }
        }
        put_back(&mut to, &link.custom, &custom::LINK, &mut self.left_out);
        to
    }

    fn shape(&mut self, name: &str, shape: &'a Shape, file: Option<&str>) -> Option<Element> {
        let mut to = element(name, []);
        if let Some(name) = &shape.name {
            to.attributes.push(("name".to_owned(), name.clone()));
        }
        to.children.extend(origin(&shape.origin));
        let form = match shape.geometry {
            Geometry::Box { size } => element("box", [("size", numbers(size.iter().copied()))]),
            Geometry::Cylinder { radius, length } => element(
                "cylinder",
                [("radius", number(radius)), ("length", number(length))],
            ),
            Geometry::Sphere { radius } => element("sphere", [("radius", number(radius))]),
            Geometry::Capsule { radius, length } => element(
                "capsule",
                [("radius", number(radius)), ("length", number(length))],
            ),
            Geometry::Mesh { scale, .. } | Geometry::Missing { scale } => {
                let Some(file) = file else {
                    let message = format!(
                        "the mesh of a {name} was not read, so the {name} is missing from the URDF"
                    );
                    self.report(
                        &codes::SHAPE,
                        &shape.place,
                        message,
                        "provide the mesh file that the robot refers to",
                    );
                    return None;
                };
                let mut mesh = element("mesh", [("filename", file.to_owned())]);
                if scale != Vector3::repeat(1.0) {
                    mesh.attributes
                        .push(("scale".to_owned(), numbers(scale.iter().copied())));
                }
                mesh
            }
        };
        to.children.push(Element {
            children: vec![form],
            ..element("geometry", [])
        });
        let known = if name == "visual" {
            &custom::VISUAL
        } else {
            &custom::COLLISION
        };
        if let Some(id) = shape.material.filter(|_| name == "visual") {
            let material = &self.robot.materials()[id];
            let name = self.materials.name(id).to_owned();
            // A named material is defined in the robot element.
            let looks = if name.is_empty() {
                self.looks(id, material)
            } else {
                Vec::new()
            };
            to.children.push(Element {
                children: looks,
                ..element("material", [("name", name)])
            });
            let is_solid = !matches!(
                shape.geometry,
                Geometry::Mesh { .. } | Geometry::Missing { .. }
            );
            if is_solid
                && let Some(what) = materials::beyond_urdf(material)
                && self.materials.reported.insert(id)
            {
                let message = format!(
                    "the URDF has only the colour of the material \"{}\", without its {what}",
                    short(&material.name)
                );
                self.report(
                    &codes::LOOKS,
                    &shape.place,
                    message,
                    "use a mesh file instead of a primitive shape if it matters",
                );
            }
        }
        put_back(&mut to, &shape.custom, known, &mut self.left_out);
        Some(to)
    }

    /// Returns the child elements of a material element.
    fn looks(&self, id: MaterialId, material: &Material) -> Vec<Element> {
        let file = self.files.textures[id].as_ref();
        let mut looks = Vec::new();
        // White is the default of a URDF material with an image and no colour.
        if file.is_none() || material.base_color != [1.0; 4] {
            looks.push(element(
                "color",
                [("rgba", numbers(materials::srgb(material)))],
            ));
        }
        looks.extend(file.map(|file| element("texture", [("filename", file.clone())])));
        looks
    }

    /// Creates the element of `joint`; `id` is its handle if it belongs to the robot.
    fn joint(&mut self, id: Option<JointId>, joint: &Joint) -> Element {
        let robot = self.robot;
        let mut to = element(
            "joint",
            [
                ("name", joint.name().to_owned()),
                ("type", joint.kind().as_str().to_owned()),
            ],
        );
        to.children.extend(origin(&joint.origin));
        let end = |name: &str, link: LinkId| {
            element(name, [("link", robot.links()[link].name().to_owned())])
        };
        to.children
            .extend([end("parent", joint.parent()), end("child", joint.child())]);
        if !matches!(joint.kind(), JointKind::Fixed | JointKind::Floating) {
            to.children.push(element(
                "axis",
                [("xyz", numbers(joint.axis.iter().copied()))],
            ));
        }
        to.children.extend(limit(joint));
        let given = |pairs: &[(&str, Option<f64>)]| {
            let given = pairs
                .iter()
                .filter_map(|(name, value)| Some(((*name).to_owned(), number((*value)?))));
            given.collect::<Vec<_>>()
        };
        let mut add = |name: &str, attributes: Vec<(String, String)>| {
            if !attributes.is_empty() {
                to.children.push(Element {
                    attributes,
                    ..element(name, [])
                });
            }
        };
        if let Some(dynamics) = joint.dynamics {
            add(
                "dynamics",
                given(&[
                    ("damping", dynamics.damping),
                    ("friction", dynamics.friction),
                ]),
            );
        }
        if let Some(mimic) = joint
            .mimic()
            .filter(|mimic| !robot.joints()[mimic.joint].closes_loop())
        {
            let leader = (
                "joint".to_owned(),
                robot.joints()[mimic.joint].name().to_owned(),
            );
            let factor = (mimic.multiplier != 1.0).then_some(mimic.multiplier);
            let offset = (mimic.offset != 0.0).then_some(mimic.offset);
            add(
                "mimic",
                [
                    vec![leader],
                    given(&[("multiplier", factor), ("offset", offset)]),
                ]
                .concat(),
            );
        }
        if let Some(safety) = joint.safety {
            let (lower, upper) = (safety.soft_lower_limit, safety.soft_upper_limit);
            let soft = [
                ("soft_lower_limit", lower),
                ("soft_upper_limit", upper),
                ("k_position", safety.k_position),
            ];
            add(
                "safety_controller",
                given(
                    &[
                        &soft[..],
                        // URDF requires it; a missing one is reported below.
                        &[("k_velocity", Some(safety.k_velocity.unwrap_or(0.0)))],
                    ]
                    .concat(),
                ),
            );
        }
        if let Some(calibration) = joint.calibration {
            let (rising, falling) = (calibration.rising, calibration.falling);
            let reference = calibration.reference_position;
            add(
                "calibration",
                given(&[
                    ("rising", rising),
                    ("falling", falling),
                    ("reference_position", reference),
                ]),
            );
        }
        if joint
            .safety
            .is_some_and(|safety| safety.k_velocity.is_none())
        {
            let message = format!(
                "the safety controller of joint \"{}\" has no k_velocity; 0 is written",
                short(joint.name())
            );
            self.report(
                &codes::REQUIRED,
                &joint.place,
                message,
                "set its k_velocity",
            );
        }
        if let Some(leader) = joint
            .mimic()
            .map(|mimic| &robot.joints()[mimic.joint])
            .filter(|leader| leader.closes_loop())
        {
            let (follower, leader) = (short(joint.name()), short(leader.name()));
            let message = format!(
                "joint \"{follower}\" mimics \"{leader}\", which closes a loop; in the URDF it moves independently"
            );
            self.report(
                &codes::LOOP,
                &joint.place,
                message,
                "let it mimic a joint of the tree",
            );
        }
        if let Some(joint) = id.map(|id| &robot.joints()[id]) {
            put_back(&mut to, &joint.custom, &custom::JOINT, &mut self.left_out);
        }
        to
    }

    /// Reports the parts of the robot that are missing from the text.
    fn report_omissions(&mut self) {
        let robot = self.robot;
        for element in std::mem::take(&mut self.left_out) {
            let message = format!(
                "<{}> could not be read, so it is missing from the URDF",
                short(&element.name)
            );
            self.report(
                &codes::LEFT_OUT,
                &element.place,
                message,
                "correct or remove it in the source",
            );
        }
        // Extensions that were read from custom elements are in the text as those elements.
        let lost = NO_WORD
            .iter()
            .filter(|fact| !fact.is_in_custom_elements(robot));
        if let Some(omitted) = facts::list(robot, lost.copied()) {
            let message = format!("URDF can't express these parts of the robot: {omitted}");
            let help = "add <gazebo> or <ros2_control> elements for the simulator or controllers that need them";
            self.report(&codes::NO_WORD, &robot.place, message, help);
        }
        for joint in robot.joints().values() {
            let Some(words) = joint.gains().map(|gains| gains.to_words()) else {
                continue;
            };
            if !words.is_empty() {
                let message = format!(
                    "the URDF leaves out {words} of the drive of joint \"{}\"",
                    joint.name()
                );
                let help = "set them in the controller or simulator that drives the joint";
                self.report(&codes::DRIVE, &joint.place, message, help);
            }
        }
        if let Some(omitted) = facts::list(robot, IN_SRDF.iter().copied()) {
            let message =
                format!("URDF can't express these parts of the robot, but SRDF can: {omitted}");
            self.report(
                &codes::SRDF,
                &robot.place,
                message,
                "keep the robot's SRDF next to the URDF, or write one",
            );
        }
    }
}

/// Returns the `origin` element for `pose`; `None` for the identity.
fn origin(pose: &Pose) -> Option<Element> {
    let at = pose.translation.vector;
    let rpy = roll_pitch_yaw(&pose.rotation);
    let is_moved = at != Vector3::zeros();
    let is_turned = rpy != [0.0; 3];
    let mut origin = element("origin", []);
    if is_moved || is_turned {
        origin
            .attributes
            .push(("xyz".to_owned(), numbers(at.iter().copied())));
    }
    if is_turned {
        origin.attributes.push(("rpy".to_owned(), numbers(rpy)));
    }
    (is_moved || is_turned).then_some(origin)
}

/// Returns the shortest decimal angles that read back as the same rotation.
fn roll_pitch_yaw(rotation: &UnitQuaternion<f64>) -> [f64; 3] {
    let same = rotation.coords;
    decimal::roll_pitch_yaw(rotation, |other| {
        other.coords == same || -other.coords == same
    })
}

fn inertial(inertial: &Inertial) -> Element {
    let mut to = element("inertial", []);
    to.children.extend(origin(&inertial.origin));
    to.children
        .push(element("mass", [("value", number(inertial.mass))]));
    let i = &inertial.inertia;
    let moments = [
        ("ixx", i.m11),
        ("ixy", i.m12),
        ("ixz", i.m13),
        ("iyy", i.m22),
        ("iyz", i.m23),
        ("izz", i.m33),
    ];
    to.children.push(element(
        "inertia",
        moments.map(|(name, value)| (name, number(value))),
    ));
    to
}

/// Returns the limit element of a joint. [`UNLIMITED`] replaces limits that URDF requires and the
/// joint does not have.
fn limit(joint: &Joint) -> Option<Element> {
    let limit = joint.limit.unwrap_or_default();
    let (lower, upper) = limit.bounds.sides();
    let has_range = matches!(joint.kind(), JointKind::Revolute | JointKind::Prismatic);
    let is_bounded =
        !matches!(joint.kind(), JointKind::Continuous) && (lower.is_some() || upper.is_some());
    let [effort, velocity] =
        [limit.effort, limit.velocity].map(|max| max.filter(|max| max.is_finite()));
    if !has_range && !is_bounded && effort.is_none() && velocity.is_none() {
        return None;
    }
    let or_none = |value: Option<f64>, none: &str| value.map_or_else(|| none.to_owned(), number);
    let mut to = element("limit", []);
    if has_range || is_bounded {
        to.attributes
            .push(("lower".to_owned(), or_none(lower, &format!("-{UNLIMITED}"))));
        to.attributes
            .push(("upper".to_owned(), or_none(upper, UNLIMITED)));
    }
    to.attributes
        .push(("effort".to_owned(), or_none(effort, UNLIMITED)));
    to.attributes
        .push(("velocity".to_owned(), or_none(velocity, UNLIMITED)));
    Some(to)
}

#[cfg(test)]
mod tests;
