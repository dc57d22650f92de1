//! Names of topics and actions: how a node's settings lead to them, and what is a valid one.

use std::fmt::Write as _;

use super::scope::{Scope, child, children, text_of};
use crate::codes;
use crate::xml::short;
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{Element, Interface, InterfaceKind};

/// The longest name that is given, in characters; middlewares allow 255 with the namespace.
const MAX_NAME: usize = 200;

/// The node that a plugin makes, which its topics' names depend on.
pub(super) struct Node<'a> {
    /// Without slashes at its ends.
    namespace: String,
    name: String,
    /// The robot's name: a namespace of that name is the robot's own, which the asset as a whole
    /// declares.
    robot: &'a str,
    remappings: Vec<(String, String)>,
}

impl<'a> Node<'a> {
    pub fn new(robot: &'a str, namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.trim().trim_matches('/').to_owned(),
            name: name.to_owned(),
            robot,
            remappings: Vec::new(),
        }
    }

    /// The node of a ROS 2 plugin: its `<ros>` element has namespace and remappings.
    pub fn of_plugin(robot: &'a str, plugin: &Element, name: &str) -> Self {
        let Some(ros) = child(plugin, "ros") else {
            return Self::new(robot, "", name);
        };
        let mut node = Self::new(
            robot,
            text_of(ros, &["namespace"]).unwrap_or_default(),
            name,
        );
        node.remappings = remappings(ros);
        node
    }

    /// The same with other remappings.
    pub fn remapped(mut self, remappings: &[(String, String)]) -> Self {
        self.remappings.extend_from_slice(remappings);
        self
    }

    /// The name of `topic` (relative, absolute, or private with `~/`), remapped, and relative to
    /// the robot's namespace unless it is absolute.
    pub fn resolve(&self, topic: &str) -> String {
        let full = self.full(topic);
        let target = self
            .remappings
            .iter()
            .find(|(from, _)| self.full(from) == full)
            .map_or(topic, |(_, to)| to);
        let namespace = if self.namespace == self.robot {
            ""
        } else {
            &self.namespace
        };
        match target.strip_prefix('~') {
            Some(private) => joined(&[namespace, &self.name, private]),
            None if target.starts_with('/') => target.to_owned(),
            None => joined(&[namespace, target]),
        }
    }

    fn full(&self, topic: &str) -> String {
        match topic.strip_prefix('~') {
            Some(private) => joined(&["/", &self.namespace, &self.name, private]),
            None if topic.starts_with('/') => joined(&["/", topic]),
            None => joined(&["/", &self.namespace, topic]),
        }
    }
}

/// The remappings in a `<ros>` element, as they are written: `a:=b`.
pub(super) fn remappings(ros: &Element) -> Vec<(String, String)> {
    let parse = |element: &Element| {
        let (from, to) = element.text.split_once(":=")?;
        let (from, to) = (from.trim(), to.trim());
        (!from.is_empty() && !to.is_empty()).then(|| (from.to_owned(), to.to_owned()))
    };
    children(ros, "remapping").filter_map(parse).collect()
}

/// Parts of a name, one slash between them. Where a part after the first begins with a slash it
/// counts as relative.
pub(super) fn joined(parts: &[&str]) -> String {
    let mut name = String::new();
    if parts.first().is_some_and(|part| part.starts_with('/')) {
        name.push('/');
    }
    for segment in parts
        .iter()
        .flat_map(|part| part.split('/'))
        .filter(|segment| !segment.is_empty())
    {
        if !name.is_empty() && !name.ends_with('/') {
            name.push('/');
        }
        name.push_str(segment);
    }
    name
}

/// `name` with every part made of letters, digits and underscores, none beginning with a digit;
/// `None` if nothing is left.
pub(super) fn valid_name(name: &str) -> Option<String> {
    let name = name.trim();
    let mut valid = if name.starts_with('/') {
        "/".to_owned()
    } else {
        String::new()
    };
    let relative = name.strip_prefix('~').unwrap_or(name);
    for segment in relative
        .split('/')
        .map(str::trim)
        .filter(|segment| !segment.is_empty())
    {
        if !valid.is_empty() && !valid.ends_with('/') {
            valid.push('/');
        }
        if segment.starts_with(|c: char| c.is_ascii_digit()) {
            valid.push('_');
        }
        for c in segment.chars().take(MAX_NAME) {
            let _ = valid.write_char(if c.is_ascii_alphanumeric() { c } else { '_' });
        }
        if valid.len() > MAX_NAME {
            break;
        }
    }
    valid.truncate(MAX_NAME);
    let valid = valid.trim_end_matches('/');
    valid
        .chars()
        .any(|c| c.is_ascii_alphanumeric())
        .then(|| valid.to_owned())
}

impl Scope<'_> {
    /// A valid name for `name`, reported if it is another; `None`, reported, if there is none.
    pub fn valid(&mut self, name: &str, place: &Place) -> Option<String> {
        let valid = valid_name(name);
        match &valid {
            Some(valid) if valid == name => {}
            Some(valid) => {
                let message = format!(
                    "\"{}\" is no valid ROS name; it becomes \"{valid}\"",
                    short(name)
                );
                let help = "use letters, digits and underscores, with slashes between; no part may begin with a digit";
                self.report(&codes::INVALID_TOPIC, place, message, help);
            }
            None => {
                let message = format!(
                    "\"{}\" can't be made a ROS name; there is no such interface",
                    short(name)
                );
                self.report(
                    &codes::INVALID_TOPIC,
                    place,
                    message,
                    "use letters, digits and underscores",
                );
            }
        }
        valid
    }

    /// An interface. None, reported, if its name can't be one, or if assets must not have it
    /// (REP-158 §2.9).
    pub fn interface(
        &mut self,
        name: &str,
        type_name: &str,
        kind: InterfaceKind,
        place: &Place,
    ) -> Option<Interface> {
        let name = self.valid(name, place)?;
        let simulators = ["rosgraph_msgs/msg/Clock", "simulation_interfaces/"];
        if name.trim_start_matches('/') == "clock"
            || simulators
                .iter()
                .any(|prefix| type_name.starts_with(prefix))
        {
            let message = format!(
                "{} would offer \"{name}\" ({type_name}), which belongs to the simulator",
                place.element
            );
            let help = "give the topic another name; REP-158 §2.9 keeps it for the simulator";
            self.report(&codes::PROHIBITED_INTERFACE, place, message, help);
            return None;
        }
        Some(Interface {
            name,
            type_name: type_name.to_owned(),
            kind,
            starts_enabled: true,
        })
    }
}
