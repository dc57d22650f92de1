//! Assigns names: links, joints and frames of a model share a namespace, and so do all elements in
//! a link.

use std::collections::HashSet;

use super::codes;
use urdf_usd_diagnostic::Collector;
use urdf_usd_robot::{ArenaMap, Joint, Link, Robot, names};

/// Unique names in one scope.
#[derive(Default)]
pub(super) struct Scope(HashSet<String>);

impl Scope {
    /// Returns the first of `names` that is free, or the last one with a numeric suffix.
    pub fn first<const N: usize>(&mut self, names: [&str; N]) -> String {
        // SDFormat separates scopes by `::`.
        let names = names.map(|name| name.replace("::", "__"));
        let [others @ .., last] = &names[..] else {
            return String::new();
        };
        let free = others.iter().find(|name| self.take(name)).cloned();
        free.unwrap_or_else(|| names::unique(last, |name| self.take(name)))
    }

    fn take(&mut self, name: &str) -> bool {
        // SDFormat reserves the name of the world, and names with two underscores at both ends
        // (`__model__`).
        let is_reserved = name.trim().is_empty()
            || name == "world"
            || name.starts_with("__") && name.ends_with("__");
        !is_reserved && self.0.insert(name.to_owned())
    }
}

/// Names of a robot's links and joints.
pub(super) struct Names {
    /// Name of each link, whether it becomes a link of the SDF or a frame.
    pub links: ArenaMap<Link, String>,
    /// Name of each joint.
    pub joints: ArenaMap<Joint, String>,
    /// All names in the model.
    pub model: Scope,
}

impl Names {
    pub fn new(robot: &Robot, findings: &mut Collector) -> Self {
        let mut model = Scope::default();
        let world = robot.world_root();
        let links = ArenaMap::new(robot.links(), |id, link| {
            let fallback = if link.name().trim().is_empty() {
                "link"
            } else {
                link.name()
            };
            let name = model.first([link.name(), fallback]);
            // The world's link becomes the world itself, whatever its name.
            if name != link.name() && world != Some(id) {
                let message = format!("link \"{}\" is named \"{name}\" in the SDF", link.name());
                findings.report(
                    &codes::RENAMED,
                    &link.place,
                    message,
                    "give the link a unique name",
                );
            }
            name
        });
        let joints = ArenaMap::new(robot.joints(), |_, joint| {
            let name = model.first([joint.name(), &format!("{}_joint", joint.name())]);
            if name != joint.name() {
                let message = format!("joint \"{}\" is named \"{name}\" in the SDF", joint.name());
                findings.report(
                    &codes::RENAMED,
                    &joint.place,
                    message,
                    "give the joint a name that no link and no other joint has",
                );
            }
            name
        });
        Self {
            links,
            joints,
            model,
        }
    }
}
