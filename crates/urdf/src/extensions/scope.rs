//! State shared by all readers of extensions: the robot's names, rest poses, and findings.

use std::cell::OnceCell;
use std::collections::HashSet;

use nalgebra::{Translation3, UnitQuaternion};

use super::ros_names::valid_name;
use crate::codes;
use crate::xml::short;
use urdf_usd_diagnostic::{Code, Diagnostic, Place, Suggestions, did_you_mean};
use urdf_usd_robot::{
    ArenaMap, Element, Joint, JointId, Link, LinkId, Pose, Robot, kinematics, names,
};

/// Maximum magnitude of a number. Larger ones count as infinite.
const MAX_MAGNITUDE: f64 = 1e30;

/// Pose of a link with all joints at zero.
#[derive(Clone, Copy)]
struct Rest {
    root: LinkId,
    /// Pose in the root's frame.
    pose: Pose,
}

/// A robot whose extensions are being read.
pub(super) struct Scope<'a> {
    pub robot: &'a Robot,
    rest: OnceCell<ArenaMap<Link, Rest>>,
    suggestions: Suggestions,
    /// Plugins that were reported as unknown.
    pub unknown_plugins: HashSet<String>,
    /// New frames that sensors name.
    pub sensor_frames: HashSet<String>,
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Scope<'a> {
    pub fn new(robot: &'a Robot) -> Self {
        Self {
            robot,
            rest: OnceCell::new(),
            suggestions: Suggestions::default(),
            unknown_plugins: HashSet::new(),
            sensor_frames: HashSet::new(),
            diagnostics: Vec::new(),
        }
    }

    /// Returns the robot's custom elements `name`.
    pub fn elements(&self, name: &'static str) -> impl Iterator<Item = &'a Element> + use<'a> {
        self.robot
            .custom
            .elements
            .iter()
            .filter(move |element| element.name == name)
    }

    pub fn link(&self, name: &str) -> Option<LinkId> {
        self.robot.link_named(name.trim())
    }

    /// Returns the link that the frame of a message is; `None` for one outside of the robot, among
    /// them the world.
    pub fn frame(&self, name: &str) -> Option<LinkId> {
        let world = self.robot.world_root();
        self.link(name).filter(|link| world != Some(*link))
    }

    /// Returns the link in whose frame the messages of a topic are, otherwise the name of a frame
    /// outside of the robot; neither for the frame of the robot as a whole, or for an invalid name,
    /// which is reported. `stated` is the setting, `default` applies if it is empty.
    ///
    /// A prefix does not make it another frame (`left/base` is the link `base`): namespaces add one
    /// to all frames of an asset, and REP-158 §2.4 prohibits those as overrides.
    pub fn message_frame(
        &mut self,
        stated: &str,
        default: &str,
        place: &Place,
    ) -> (Option<LinkId>, Option<String>) {
        // Frames of ROS 1's tf may begin with a slash, which tf2 does not allow.
        let name = stated.trim().trim_start_matches('/');
        let name = if name.is_empty() { default } else { name };
        let last = name.rsplit('/').next().unwrap_or(name);
        let link = self.frame(name).or_else(|| self.frame(last));
        if link.is_some() {
            return (link, None);
        }
        if valid_name(name).as_deref() != Some(name) {
            let message = format!(
                "the frame \"{}\" of the odometry is not a valid ROS name; the robot's own frame is used",
                short(name)
            );
            let help = "name a frame such as \"odom\" or \"map\"";
            self.report(&codes::SENSOR_FRAME, place, message, help);
            return (None, None);
        }
        // The default prim, which is a frame too.
        let own = names::identifiers(&[self.robot.name()], "robot", &[]);
        let is_own = own.iter().any(|own| own == last);
        (None, (!is_own).then(|| name.to_owned()))
    }

    pub fn joint(&self, name: &str) -> Option<JointId> {
        self.robot.joint_named(name.trim())
    }

    pub fn joint_of(&self, id: JointId) -> &'a Joint {
        &self.robot.joints()[id]
    }

    pub fn link_name(&self, id: LinkId) -> &'a str {
        self.robot.links()[id].name()
    }

    /// Returns the pose of `link` in `other` with all joints at zero; `None` if no joints connect
    /// them.
    pub fn rest_pose(&self, link: LinkId, other: LinkId) -> Option<Pose> {
        let rest = self.rest.get_or_init(|| rest(self.robot));
        let (link, other) = (rest[link], rest[other]);
        (link.root == other.root).then(|| other.pose.inverse() * link.pose)
    }

    pub fn report(
        &mut self,
        code: &'static Code,
        place: &Place,
        message: String,
        help: impl Into<String>,
    ) {
        self.diagnostics
            .push(Diagnostic::new(code, place.clone(), message).help(help));
    }

    /// Reports that the robot has no `what` (link or joint) named `name`.
    pub fn report_unknown(&mut self, what: &str, name: &str, place: &Place) {
        let message = format!(
            "{} names the {what} \"{}\", which the robot does not have",
            place.element,
            short(name)
        );
        let links = self
            .robot
            .links()
            .values()
            .map(Link::name)
            .filter(|_| what != "joint");
        let joints = self
            .robot
            .joints()
            .values()
            .map(Joint::name)
            .filter(|_| what != "link");
        let near = self.suggestions.nearest(name, links.chain(joints));
        let help = did_you_mean(near.iter().map(|name| short(name)))
            .unwrap_or_else(|| format!("correct the name, or add the {what}"));
        self.report(&codes::UNKNOWN_REFERENCE, place, message, help);
    }

    /// Returns the number in the child element `name`, from its text or its value attribute.
    /// Returns `None` if there is none, or if it is not a finite number, which is reported with
    /// `otherwise` as the consequence.
    pub fn number(&mut self, element: &Element, name: &str, otherwise: &str) -> Option<f64> {
        self.own_number(child(element, name)?, otherwise)
    }

    /// Returns the number in `element` itself, like [`Self::number`].
    pub fn own_number(&mut self, element: &Element, otherwise: &str) -> Option<f64> {
        self.parse(content(element)?, &element.name, &element.place, otherwise)
    }

    /// Returns the number in an attribute, like [`Self::number`].
    pub fn number_attribute(
        &mut self,
        element: &Element,
        name: &str,
        otherwise: &str,
    ) -> Option<f64> {
        self.parse(attribute(element, name)?, name, &element.place, otherwise)
    }

    /// Returns the number in `text`, the value of `name` at `place`, like [`Self::number`].
    pub fn parse(&mut self, text: &str, name: &str, place: &Place, otherwise: &str) -> Option<f64> {
        let number = text
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.abs() <= MAX_MAGNITUDE);
        if number.is_none() {
            self.report_setting(name, text, place, "not a finite number", otherwise);
        }
        number
    }

    /// Reports that the setting `name` has the value `text`, and what is `wrong` with it.
    pub fn report_setting(
        &mut self,
        name: &str,
        text: &str,
        place: &Place,
        wrong: &str,
        otherwise: &str,
    ) {
        let message = format!("{name} is \"{}\": {wrong}; {otherwise}", short(text.trim()));
        self.report(&codes::BAD_SETTING, place, message, "correct the value");
    }

    /// Returns the pose in the child element `pose`, as SDFormat defines it: x y z, then roll pitch
    /// yaw or a quaternion (x y z w).
    pub fn pose(&mut self, element: &Element, link: LinkId) -> Pose {
        let Some(node) = child(element, "pose").filter(|node| !node.text.is_empty()) else {
            return Pose::identity();
        };
        let numbers: Option<Vec<f64>> = node
            .text
            .split_whitespace()
            .map(|word| {
                word.parse::<f64>()
                    .ok()
                    .filter(|number| number.abs() <= MAX_MAGNITUDE)
            })
            .collect();
        let unit = if attribute(node, "degrees").is_some_and(is_true) {
            1_f64.to_radians()
        } else {
            1.0
        };
        let pose = match numbers.as_deref() {
            Some(&[x, y, z, roll, pitch, yaw]) => {
                let rotation =
                    UnitQuaternion::from_euler_angles(roll * unit, pitch * unit, yaw * unit);
                Pose::from_parts(Translation3::new(x, y, z), rotation)
            }
            Some(&[x, y, z, qx, qy, qz, qw])
                if [qx, qy, qz, qw].iter().any(|part| part.abs() > 1e-9) =>
            {
                let rotation =
                    UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(qw, qx, qy, qz));
                Pose::from_parts(Translation3::new(x, y, z), rotation)
            }
            _ => {
                self.report_setting(
                    "pose",
                    &node.text,
                    &node.place,
                    "not x y z roll pitch yaw",
                    "the link's own pose is used",
                );
                return Pose::identity();
            }
        };
        let relative = attribute(node, "relative_to")
            .or_else(|| attribute(node, "frame"))
            .map(str::trim)
            .unwrap_or_default();
        if relative.is_empty() || relative == self.link_name(link) {
            return pose;
        }
        match self
            .link(relative)
            .and_then(|other| self.rest_pose(other, link))
        {
            Some(base) => base * pose,
            None => {
                self.report_unknown("link", relative, &node.place);
                pose
            }
        }
    }
}

/// Returns the first child element `name`.
pub(super) fn child<'e>(element: &'e Element, name: &str) -> Option<&'e Element> {
    element.children.iter().find(|child| child.name == name)
}

/// Returns the child elements `name`.
pub(super) fn children<'e>(
    element: &'e Element,
    name: &'static str,
) -> impl Iterator<Item = &'e Element> {
    element
        .children
        .iter()
        .filter(move |child| child.name == name)
}

/// Returns the element at the end of a path of names.
pub(super) fn descend<'e>(element: &'e Element, path: &[&str]) -> Option<&'e Element> {
    path.iter()
        .try_fold(element, |element, name| child(element, name))
}

/// Returns an attribute, unless it is blank.
pub(super) fn attribute<'e>(element: &'e Element, name: &str) -> Option<&'e str> {
    let found = element
        .attributes
        .iter()
        .find(|(attribute, _)| attribute == name);
    found
        .map(|(_, value)| value.as_str())
        .filter(|value| !value.trim().is_empty())
}

/// Returns the text of an element, or its value attribute.
fn content(element: &Element) -> Option<&str> {
    if element.text.is_empty() {
        attribute(element, "value")
    } else {
        Some(&element.text)
    }
}

/// Returns the first text or value among the child elements `names`.
pub(super) fn text_of<'e>(element: &'e Element, names: &[&str]) -> Option<&'e str> {
    names
        .iter()
        .find_map(|name| content(child(element, name)?))
        .map(str::trim)
}

/// Returns whether a text is a true boolean.
pub(super) fn is_true(text: &str) -> bool {
    matches!(
        text.trim().to_ascii_lowercase().as_str(),
        "true" | "1" | "yes"
    )
}

fn rest(robot: &Robot) -> ArenaMap<Link, Rest> {
    let mut rest = ArenaMap::new(robot.links(), |root, _| Rest {
        root,
        pose: Pose::identity(),
    });
    // Parents come before their children in this order.
    for &link in robot.tree().order() {
        if let Some(joint) = robot.tree().parent_joint(link) {
            let joint = &robot.joints()[joint];
            let above = rest[joint.parent()];
            rest[link] = Rest {
                root: above.root,
                pose: above.pose * joint.origin * kinematics::motion(joint, &[]),
            };
        }
    }
    rest
}
