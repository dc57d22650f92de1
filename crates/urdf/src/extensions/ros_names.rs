//! Names of topics and actions: resolution by a node's settings, and validity.

use std::fmt::Write as _;

use super::scope::{Scope, child, children, text_of};
use crate::codes;
use crate::xml::short;
use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{Element, Interface, InterfaceKind};

/// Maximum length of a name, in characters. Middlewares allow 255, including the namespace.
const MAX_NAME_LENGTH: usize = 200;

/// The node of a plugin, by which names of topics are resolved.
pub(super) struct Node<'a> {
    /// Namespace without leading and trailing slashes.
    namespace: String,
    name: String,
    /// Name of the robot. A namespace of the same name is the robot's own, which is declared for
    /// the asset as a whole.
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

    /// Returns the node of a ROS 2 plugin, with the namespace and remappings of its `<ros>`
    /// element.
    pub fn from_plugin(robot: &'a str, plugin: &Element, name: &str) -> Self {
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

    /// Adds remappings.
    pub fn with_remappings(mut self, remappings: &[(String, String)]) -> Self {
        self.remappings.extend_from_slice(remappings);
        self
    }

    /// Returns the name of `topic` (relative, absolute, or private with `~/`), remapped, and
    /// relative to the robot's namespace unless it is absolute.
    pub fn resolve(&self, topic: &str) -> String {
        // Both sides are expanded: a remapping may name the topic in any of these forms.
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
            Some(private) => join(&[namespace, &self.name, private]),
            None if target.starts_with('/') => target.to_owned(),
            None => join(&[namespace, target]),
        }
    }

    fn full(&self, topic: &str) -> String {
        match topic.strip_prefix('~') {
            Some(private) => join(&["/", &self.namespace, &self.name, private]),
            None if topic.starts_with('/') => join(&["/", topic]),
            None => join(&["/", &self.namespace, topic]),
        }
    }
}

/// Returns the remappings in a `<ros>` element, written as `a:=b`.
pub(super) fn remappings(ros: &Element) -> Vec<(String, String)> {
    let parse = |element: &Element| {
        let (from, to) = element.text.split_once(":=")?;
        let (from, to) = (from.trim(), to.trim());
        (!from.is_empty() && !to.is_empty()).then(|| (from.to_owned(), to.to_owned()))
    };
    children(ros, "remapping").filter_map(parse).collect()
}

/// Joins parts of a name by single slashes. Only the first part can make the name absolute.
pub(super) fn join(parts: &[&str]) -> String {
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

/// Replaces invalid characters of `name`: every component consists of letters, digits and
/// underscores and does not begin with a digit. `None` if nothing is left.
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
        for c in segment.chars().take(MAX_NAME_LENGTH) {
            let _ = valid.write_char(if c.is_ascii_alphanumeric() { c } else { '_' });
        }
        if valid.len() > MAX_NAME_LENGTH {
            break;
        }
    }
    // All characters are ASCII, so that any length is a boundary of characters.
    valid.truncate(MAX_NAME_LENGTH);
    let valid = valid.trim_end_matches('/');
    valid
        .chars()
        .any(|c| c.is_ascii_alphanumeric())
        .then(|| valid.to_owned())
}

impl Scope<'_> {
    /// Returns a valid form of `name`, and reports any change; reports and returns `None` if there
    /// is none.
    pub fn validate(&mut self, name: &str, place: &Place) -> Option<String> {
        let valid = valid_name(name);
        match &valid {
            Some(valid) if valid == name => {}
            Some(valid) => {
                let message = format!(
                    "\"{}\" is not a valid ROS name; \"{valid}\" is used",
                    short(name)
                );
                let help = "use letters, digits and underscores, separated by slashes; no component may begin with a digit";
                self.report(&codes::INVALID_TOPIC, place, message, help);
            }
            None => {
                let message = format!(
                    "\"{}\" can't be turned into a ROS name; the interface is left out",
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

    /// Creates an interface; reports and returns `None` if its name can't be made valid, or if
    /// assets must not have it (REP-158 §2.9).
    pub fn interface(
        &mut self,
        name: &str,
        type_name: &str,
        kind: InterfaceKind,
        place: &Place,
    ) -> Option<Interface> {
        let name = self.validate(name, place)?;
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
            let help = "rename the topic; REP-158 §2.9 reserves this one for the simulator";
            self.report(&codes::PROHIBITED_INTERFACE, place, message, help);
            return None;
        }
        Some(Interface::new(name, type_name, kind))
    }
}
