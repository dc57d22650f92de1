//! Origins of descriptions, and the namespaces that robots belong to.
//!
//! Names only: no transport, no files.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use urdf_usd_ros::names;

/// Name of the topic and of the parameter that hold a description.
pub(super) const DESCRIPTION: &str = "robot_description";

/// The namespace that a robot belongs to: the node's own, or a discovered one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum RobotNamespace {
    /// The node's own: described by its own topic, its file, or a service call.
    Own,
    /// An absolute namespace: `/` or `/r1`.
    Named(Arc<str>),
}

impl RobotNamespace {
    /// Returns the namespace of a topic `…/robot_description`; `None` for any other name.
    pub(super) fn from_topic(topic: &str) -> Option<Self> {
        let namespace = topic.strip_suffix(DESCRIPTION)?.strip_suffix('/')?;
        Some(Self::Named(
            if namespace.is_empty() { "/" } else { namespace }.into(),
        ))
    }

    /// Returns the namespace without its leading slash, unless it is the node's own or the root.
    pub(super) fn namespace(&self) -> Option<&str> {
        match self {
            Self::Own => None,
            Self::Named(namespace) => {
                Some(namespace.trim_start_matches('/')).filter(|namespace| !namespace.is_empty())
            }
        }
    }

    /// Returns the absolute name of a topic in the namespace; `None` for the node's own.
    pub(super) fn topic(&self, name: &str) -> Option<String> {
        match self {
            Self::Own => None,
            Self::Named(namespace) => Some(names::join(namespace, name)),
        }
    }
}

/// The origin of a robot's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A topic.
    Topic(Arc<str>),
    /// A parameter of the node of this name.
    Parameter(Arc<str>),
    /// The file of the parameter `asset_file` or `urdf_file`.
    File(PathBuf),
    /// A call of the service `convert`.
    Call,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic(topic) => f.write_str(topic),
            Self::Parameter(node) => write!(f, "the parameter {DESCRIPTION} of {node}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Call => f.write_str("a call of convert"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topics_namespace_precedes_its_last_segment() {
        for (topic, namespace, below) in [
            ("/robot_description", Some("/"), None),
            ("/r1/robot_description", Some("/r1"), Some("r1")),
            (
                "/fleet/a/r1/robot_description",
                Some("/fleet/a/r1"),
                Some("fleet/a/r1"),
            ),
            (
                "/robot_description/robot_description",
                Some("/robot_description"),
                Some("robot_description"),
            ),
            ("/my_robot_description", None, None),
            ("/r1/robot_description_semantic", None, None),
            ("/robot_description/info", None, None),
            ("robot_description", None, None),
        ] {
            let robot_namespace = RobotNamespace::from_topic(topic);
            assert_eq!(
                robot_namespace,
                namespace.map(|namespace| RobotNamespace::Named(namespace.into())),
                "{topic}"
            );
            assert_eq!(
                robot_namespace.as_ref().and_then(RobotNamespace::namespace),
                below,
                "{topic}"
            );
        }
        assert_eq!(
            RobotNamespace::Named("/r1".into()).topic("tf").as_deref(),
            Some("/r1/tf")
        );
        assert_eq!(
            (
                RobotNamespace::Named("/".into()).topic("tf").as_deref(),
                RobotNamespace::Own.topic("tf")
            ),
            (Some("/tf"), None)
        );
    }

    #[test]
    fn a_star_matches_anything() {
        for (pattern, text, is_match) in [
            ("*", "/a", true),
            ("", "/a", false),
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("*/robot_state_publisher", "/r1/robot_state_publisher", true),
            ("*/robot_state_publisher", "/robot_state_publisher_2", false),
            ("/r*/rsp*", "/r1/x/rsp_2", true),
            ("/a*b*c", "/aXbXc", true),
            ("/a*b*c", "/aXcXb", false),
            ("/a*a", "/a", false),
        ] {
            assert_eq!(
                urdf_usd_tf_check::matches(pattern, text),
                is_match,
                "{pattern} {text}"
            );
        }
    }
}
