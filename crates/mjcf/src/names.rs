//! What things are called: MuJoCo wants a name of its own for everything of a kind.

use std::collections::HashSet;

use super::{Findings, codes};
use urdf_usd_robot::{ArenaMap, Joint, JointKind, Link, Robot};

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
    /// Name of the body or site of each link.
    pub links: ArenaMap<Link, String>,
    /// Names of the joints of MuJoCo that each joint becomes.
    pub joints: ArenaMap<Joint, Vec<String>>,
    /// Name of the free joint of each link, if it gets one that no joint of the robot stands for.
    pub free: ArenaMap<Link, String>,
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
        let world = robot.world_root();
        let links = ArenaMap::new(robot.links(), |id, link| {
            let name = if world == Some(id) {
                link.name().to_owned()
            } else {
                taken.name(link.name(), "link")
            };
            if name != link.name() {
                let message = format!("link \"{}\" is called \"{name}\" in the MJCF", link.name());
                findings.report(
                    &codes::RENAMED,
                    &link.place,
                    message,
                    "give the link a name of its own",
                );
            }
            name
        });
        let mut taken = Unique::default();
        let joints = ArenaMap::new(robot.joints(), |_, joint| {
            let parts: &[&str] = match joint.kind() {
                JointKind::Planar => &["_u", "_v"],
                JointKind::Floating => &["_x", "_y", "_z", ""],
                _ => &[""],
            };
            let names: Vec<String> = parts
                .iter()
                .map(|part| taken.name(&format!("{}{part}", joint.name()), "joint"))
                .collect();
            if matches!(names.as_slice(), [name] if name != joint.name()) {
                let message = format!("a joint of the MJCF is called \"{}\" already", joint.name());
                findings.report(
                    &codes::RENAMED,
                    &joint.place,
                    message,
                    "give the joint a name of its own",
                );
            }
            names
        });
        let free = ArenaMap::new(robot.links(), |_, link| {
            taken.name(&format!("{}_free", link.name()), "free")
        });
        let (sites, geoms, sensors, cameras) = Default::default();
        let sensor_sites = vec![String::new(); robot.sensors().len()];
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
