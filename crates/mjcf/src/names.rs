//! What things are called: MuJoCo wants a name of its own for everything of a kind.

use std::collections::HashSet;

use super::{Findings, codes};
use urdf_usd_robot::{JointKind, Robot};

/// Names of one kind of thing, each given once.
#[derive(Default)]
pub(super) struct Unique(HashSet<String>);

impl Unique {
    /// The nearest to `name` that is free.
    pub fn name(&mut self, name: &str, fallback: &str) -> String {
        let name = if name.trim().is_empty() {
            fallback
        } else {
            name
        };
        let numbered = (1..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names
            .find(|name| self.0.insert(name.clone()))
            .unwrap_or_default()
    }
}

/// The names of a robot's links and joints, and those of other kinds that are taken.
pub(super) struct Names {
    /// By link: of its body or site.
    pub links: Vec<String>,
    /// By joint: one for each of the joints of MuJoCo that it becomes.
    pub joints: Vec<Vec<String>>,
    /// By link: of the free joint, if it gets one that no joint of the robot stands for.
    pub free: Vec<String>,
    /// By sensor: of its site, once there is one.
    pub sensor_sites: Vec<String>,
    pub sites: Unique,
    pub geoms: Unique,
    pub sensors: Unique,
    pub cameras: Unique,
}

impl Names {
    pub fn of(robot: &Robot, findings: &mut Findings) -> Self {
        let mut taken = Unique::default();
        // That of the world itself, which its link may have.
        taken.0.insert("world".to_owned());
        let mut links = Vec::new();
        for (index, link) in robot.links.iter().enumerate() {
            let is_world = robot.world_root().is_some_and(|world| world.0 == index);
            let name = if is_world {
                link.name.clone()
            } else {
                taken.name(&link.name, "link")
            };
            if name != link.name {
                let message = format!("link \"{}\" is called \"{name}\" in the MJCF", link.name);
                findings.report(
                    &codes::RENAMED,
                    &link.place,
                    message,
                    "give the link a name of its own",
                );
            }
            links.push(name);
        }
        let mut taken = Unique::default();
        let mut joints = Vec::new();
        for joint in &robot.joints {
            let parts: &[&str] = match joint.kind {
                JointKind::Planar => &["_u", "_v"],
                JointKind::Floating => &["_x", "_y", "_z", ""],
                _ => &[""],
            };
            let names = parts
                .iter()
                .map(|part| taken.name(&format!("{}{part}", joint.name), "joint"));
            joints.push(names.collect::<Vec<_>>());
            if parts.len() == 1 && joints.last().is_some_and(|names| names[0] != joint.name) {
                let message = format!("a joint of the MJCF is called \"{}\" already", joint.name);
                findings.report(
                    &codes::RENAMED,
                    &joint.place,
                    message,
                    "give the joint a name of its own",
                );
            }
        }
        let free = robot
            .links
            .iter()
            .map(|link| taken.name(&format!("{}_free", link.name), "free"))
            .collect();
        let (sites, geoms, sensors, cameras) = Default::default();
        let sensor_sites = vec![String::new(); robot.sensors.len()];
        Self {
            links,
            joints,
            free,
            sensor_sites,
            sites,
            geoms,
            sensors,
            cameras,
        }
    }
}
