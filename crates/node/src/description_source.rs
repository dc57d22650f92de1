//! Where descriptions come from, and which robots belong together by it. Names only: no transport,
//! no files.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use urdf_usd_ros::names;

/// The topic and the parameter that hold a description.
pub(super) const DESCRIPTION: &str = "robot_description";

/// Which robots belong together: those of the node itself, or those of a namespace that was
/// discovered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum RobotNamespace {
    /// The node's own: from its own topic, its file, or a call.
    Own,
    /// A namespace, absolute: `/` or `/r1`.
    Named(Arc<str>),
}

impl RobotNamespace {
    /// The namespace of what is described on a topic: none of its own if the topic is no
    /// `…/robot_description`.
    pub(super) fn of_topic(topic: &str) -> Option<Self> {
        let namespace = topic.strip_suffix(DESCRIPTION)?.strip_suffix('/')?;
        Some(Self::Named(
            if namespace.is_empty() { "/" } else { namespace }.into(),
        ))
    }

    /// The namespace, if it is not the node's own and not the root.
    pub(super) fn namespace(&self) -> Option<&str> {
        match self {
            Self::Own => None,
            Self::Named(namespace) => {
                Some(namespace.trim_start_matches('/')).filter(|namespace| !namespace.is_empty())
            }
        }
    }

    /// The absolute name of a topic in a namespace; `None` for the node's own.
    pub(super) fn topic(&self, name: &str) -> Option<String> {
        match self {
            Self::Own => None,
            Self::Named(namespace) => Some(names::join(namespace, name)),
        }
    }
}

/// Where a robot's description comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was heard on a topic.
    Topic(Arc<str>),
    /// It was read from a parameter of the node of this name.
    Parameter(Arc<str>),
    /// It is the file that the parameter `asset_file` or `urdf_file` names.
    File(PathBuf),
    /// A call of `convert` gave it.
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
    fn a_topics_namespace_is_what_stands_before_its_last_part() {
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
            let robot_namespace = RobotNamespace::of_topic(topic);
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
    fn a_star_stands_for_anything() {
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
