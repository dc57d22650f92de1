//! ROS names as `rcl` handles them: validity, expansion of relative and private names, and
//! remapping.

use std::borrow::Cow;

use super::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// Maximum length of the name of a node or topic, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// Joins a namespace and a name with exactly one slash: `/` + `a` → `/a`, `/ns` + `a` → `/ns/a`.
pub fn join(namespace: &str, name: &str) -> String {
    format!("{}/{name}", namespace.trim_end_matches('/'))
}

fn invalid(kind: &str, name: &str, why: &str) -> Diagnostic {
    Diagnostic::new(&codes::INVALID_NAME, Place::default(), format!("`{name}` is not a {kind}: {why}"))
        .help("ROS names are letters, digits and `_`, in parts separated by single slashes, none beginning with a digit")
}

/// Returns the reason why `token` can't be a part of a name, if there is one.
fn token_fault(token: &str) -> Option<&'static str> {
    if token.is_empty() {
        return Some("a part between slashes is empty");
    }
    if token.starts_with(|c: char| c.is_ascii_digit()) {
        return Some("a part begins with a digit");
    }
    if !token.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Some("only letters, digits and `_` are allowed");
    }
    None
}

/// Checks the name of a node, without its namespace.
///
/// # Errors
/// [`codes::INVALID_NAME`].
pub fn check_node_name(name: &str) -> Result<(), Diagnostic> {
    match token_fault(name) {
        Some(why) => Err(invalid("node name", name, why)),
        None if name.len() > MAX_NAME_BYTES => Err(invalid(
            "node name",
            name,
            "it is longer than 255 characters",
        )),
        None => Ok(()),
    }
}

/// Checks a namespace, which is absolute: `/` or `/a/b`.
///
/// # Errors
/// [`codes::INVALID_NAME`].
pub fn check_namespace(namespace: &str) -> Result<(), Diagnostic> {
    if namespace == "/" {
        Ok(())
    } else {
        check_absolute("namespace", namespace)
    }
}

fn check_absolute(kind: &str, name: &str) -> Result<(), Diagnostic> {
    let Some(parts) = name.strip_prefix('/') else {
        return Err(invalid(kind, name, "it does not begin with a slash"));
    };
    if name.len() > MAX_NAME_BYTES {
        return Err(invalid(kind, name, "it is longer than 255 characters"));
    }
    parts
        .split('/')
        .find_map(token_fault)
        .map_or(Ok(()), |why| Err(invalid(kind, name, why)))
}

/// A node's name and namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName {
    /// The name alone: `urdf_usd`.
    pub name: String,
    /// Absolute: `/` or `/left_arm`.
    pub namespace: String,
}

impl NodeName {
    /// Returns the fully qualified name: `/left_arm/urdf_usd`.
    pub fn fully_qualified(&self) -> String {
        join(&self.namespace, &self.name)
    }
}

/// The subject of a remap rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemapKind {
    /// The node's name: `__node:=new`.
    Node,
    /// The node's namespace: `__ns:=/new`.
    Namespace,
    /// Topics: `rostopic://from:=to`.
    Topic,
    /// Services: `rosservice://from:=to`.
    Service,
    /// Topics and services: `from:=to`.
    Any,
}

/// One remap rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remap {
    /// The name of the only node that the rule applies to; `None` for every node.
    pub node: Option<String>,
    /// The subject of the rule.
    pub kind: RemapKind,
    /// The name to replace; empty for [`RemapKind::Node`] and [`RemapKind::Namespace`].
    pub from: String,
    /// The new name.
    pub to: String,
}

/// Resolves the names of one node.
#[derive(Clone, Debug)]
pub struct Names {
    /// The node's name and namespace, after remapping.
    pub node: NodeName,
    remaps: Vec<Remap>,
}

impl Names {
    /// Returns the names of the node that calls itself `default_name`, under `remaps`.
    ///
    /// If several rules match, the first one wins.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`] if the node's name or namespace is not allowed.
    pub fn new(default_name: &str, remaps: &[Remap]) -> Result<Self, Diagnostic> {
        let first = |kind, of: &str| {
            let applies = |rule: &&Remap| {
                rule.kind == kind && rule.node.as_deref().is_none_or(|node| node == of)
            };
            remaps.iter().find(applies).map(|rule| rule.to.as_str())
        };
        let name = first(RemapKind::Node, default_name).unwrap_or(default_name);
        // From here on, rules refer to the node by its new name, as in rcl.
        let namespace = first(RemapKind::Namespace, name).unwrap_or("/");
        let namespace = if namespace.starts_with('/') {
            namespace.to_owned()
        } else {
            format!("/{namespace}")
        };
        check_node_name(name)?;
        check_namespace(&namespace)?;
        let remaps = remaps
            .iter()
            .filter(|rule| rule.node.as_deref().is_none_or(|node| node == name))
            .cloned()
            .collect();
        Ok(Self {
            node: NodeName {
                name: name.to_owned(),
                namespace,
            },
            remaps,
        })
    }

    /// Returns the absolute topic of `name`.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`].
    pub fn topic(&self, name: &str) -> Result<String, Diagnostic> {
        self.resolve("topic name", RemapKind::Topic, name)
    }

    /// Returns the absolute service of `name`.
    ///
    /// # Errors
    /// [`codes::INVALID_NAME`].
    pub fn service(&self, name: &str) -> Result<String, Diagnostic> {
        self.resolve("service name", RemapKind::Service, name)
    }

    fn resolve(&self, kind: &str, wanted: RemapKind, name: &str) -> Result<String, Diagnostic> {
        let absolute = self.expand(kind, name)?;
        for rule in self
            .remaps
            .iter()
            .filter(|rule| rule.kind == wanted || rule.kind == RemapKind::Any)
        {
            // Compared as expanded names: `scan:=x` also renames `/ns/scan` of a node in `/ns`.
            if self.expand(kind, &rule.from)? == absolute {
                return self.expand(kind, &rule.to);
            }
        }
        Ok(absolute)
    }

    /// Makes a name absolute: `~` is the node, and `{node}`, `{ns}` and `{namespace}` are replaced.
    ///
    /// A relative name belongs to the node's namespace.
    fn expand(&self, kind: &str, name: &str) -> Result<String, Diagnostic> {
        let mut text = Cow::Borrowed(name);
        if name.contains('{') {
            let substitutions = [
                ("{node}", &self.node.name),
                ("{ns}", &self.node.namespace),
                ("{namespace}", &self.node.namespace),
            ];
            for (token, value) in substitutions {
                text = Cow::Owned(text.replace(token, value));
            }
        }
        let absolute = match text.strip_prefix('~') {
            Some("") => self.node.fully_qualified(),
            Some(rest) if rest.starts_with('/') => self.node.fully_qualified() + rest,
            Some(_) => return Err(invalid(kind, name, "`~` must be followed by a slash")),
            None if text.starts_with('/') => text.into_owned(),
            None => join(&self.node.namespace, &text),
        };
        check_absolute(kind, &absolute).map_err(|fault| {
            if absolute == name {
                fault
            } else {
                with_original(fault, name)
            }
        })?;
        Ok(absolute)
    }
}

/// Adds the name as it was written to the message of a fault.
fn with_original(mut fault: Diagnostic, name: &str) -> Diagnostic {
    fault.message = format!("{} (from `{name}`)", fault.message);
    fault
}

/// Returns the name of a type, or of a `half` of a service, in DDS and Zenoh: `std_msgs/msg/String`
/// → `std_msgs::msg::dds_::String_`.
pub(super) fn dds_type(kind: &str, half: &str) -> String {
    let (space, name) = kind.rsplit_once('/').unwrap_or(("", kind));
    format!("{}::dds_::{name}{half}_", space.replace('/', "::"))
}

/// Returns the ROS name of a type in DDS: `std_msgs::msg::dds_::String_` → `std_msgs/msg/String`.
///
/// For a half of a service, this is the service's type. Names of another form stay as they are.
pub(super) fn ros_type(mangled: &str, half: &str) -> String {
    let parts = mangled.rsplit_once("::dds_::");
    let named =
        parts.and_then(|(space, name)| Some((space, name.strip_suffix('_')?.strip_suffix(half)?)));
    named.map_or_else(
        || mangled.to_owned(),
        |(space, name)| format!("{}/{name}", space.replace("::", "/")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(kind: RemapKind, from: &str, to: &str) -> Remap {
        Remap {
            node: None,
            kind,
            from: from.into(),
            to: to.into(),
        }
    }

    fn names(remaps: &[Remap]) -> Names {
        Names::new("urdf_usd", remaps).expect("valid")
    }

    #[test]
    fn names_become_absolute() {
        let names = names(&[rule(RemapKind::Namespace, "", "/left")]);
        for (name, absolute) in [
            ("robot_description", "/left/robot_description"),
            ("/tf", "/tf"),
            ("~/asset", "/left/urdf_usd/asset"),
            ("~", "/left/urdf_usd"),
            ("a/b__c", "/left/a/b__c"),
            ("{node}/x", "/left/urdf_usd/x"),
            ("{ns}/x", "/left/x"),
        ] {
            assert_eq!(names.topic(name).as_deref(), Ok(absolute), "{name}");
        }
        for name in [
            "",
            "/",
            "a/",
            "a//b",
            "~a",
            "a b",
            "1a",
            "a/2b",
            "ü",
            "{nobody}/x",
            "a~",
            "-r",
        ] {
            let fault = names.topic(name).expect_err(name);
            assert_eq!(fault.code, codes::INVALID_NAME.id);
            assert!(fault.message.contains(name), "{}", fault.message);
        }
    }

    #[test]
    fn the_first_matching_remap_wins_and_both_sides_are_expanded() {
        let names = names(&[
            rule(
                RemapKind::Any,
                "robot_description",
                "/pr2/robot_description",
            ),
            rule(RemapKind::Any, "/robot_description", "/never"),
            rule(RemapKind::Service, "convert", "~/convert"),
            rule(RemapKind::Topic, "~/asset", "asset"),
            Remap {
                node: Some("other".into()),
                ..rule(RemapKind::Any, "/tf", "/other_tf")
            },
            Remap {
                node: Some("urdf_usd".into()),
                ..rule(RemapKind::Any, "/tf_static", "/mine")
            },
        ]);
        assert_eq!(
            names.topic("robot_description").as_deref(),
            Ok("/pr2/robot_description")
        );
        assert_eq!(names.service("convert").as_deref(), Ok("/urdf_usd/convert"));
        assert_eq!(names.topic("convert").as_deref(), Ok("/convert"));
        assert_eq!(names.topic("~/asset").as_deref(), Ok("/asset"));
        assert_eq!(names.service("~/asset").as_deref(), Ok("/urdf_usd/asset"));
        assert_eq!(names.topic("/tf").as_deref(), Ok("/tf"));
        assert_eq!(names.topic("/tf_static").as_deref(), Ok("/mine"));
    }

    #[test]
    fn the_node_itself_is_remapped() {
        let remaps = [
            Remap {
                node: Some("nobody".into()),
                ..rule(RemapKind::Node, "", "wrong")
            },
            Remap {
                node: Some("urdf_usd".into()),
                ..rule(RemapKind::Node, "", "twin")
            },
            rule(RemapKind::Namespace, "", "cell_1"),
        ];
        assert_eq!(names(&remaps).node.fully_qualified(), "/cell_1/twin");
        let of = |node: &str, kind, to| Remap {
            node: Some(node.into()),
            ..rule(kind, "", to)
        };
        let new = [
            of("urdf_usd", RemapKind::Node, "twin"),
            of("urdf_usd", RemapKind::Namespace, "/a"),
            of("twin", RemapKind::Namespace, "/b"),
        ];
        assert_eq!(names(&new).node.fully_qualified(), "/b/twin");
        assert!(Names::new("urdf_usd", &[rule(RemapKind::Node, "", "a b")]).is_err());
        assert!(Names::new("urdf_usd", &[rule(RemapKind::Namespace, "", "/a/")]).is_err());
    }
}
