//! Assigns names: MuJoCo requires unique ones for each kind of element.

use super::codes;
use urdf_usd_diagnostic::Collector;
use urdf_usd_robot::names::UniqueNames;
use urdf_usd_robot::{ArenaMap, Connector, Joint, JointKind, Link, Robot};

/// Names of a robot's links and joints, and the names in use for other kinds.
pub(super) struct Names {
    /// Name of the body or site of each link.
    pub links: ArenaMap<Link, String>,
    /// Names of the MuJoCo joints that each joint becomes.
    pub joints: ArenaMap<Joint, Vec<String>>,
    /// Name of the free joint of each link that gets one without a joint in the robot.
    pub free: ArenaMap<Link, String>,
    /// Name of the site of each sensor, once it is written.
    pub sensor_sites: Vec<String>,
    pub sites: UniqueNames,
    pub geoms: UniqueNames,
    pub sensors: UniqueNames,
    pub cameras: UniqueNames,
}

impl Names {
    pub fn new(robot: &Robot, findings: &mut Collector) -> Self {
        let mut taken = UniqueNames::default();
        // Reserved for the world itself, whose link may have this name.
        taken.insert("world");
        let world = robot.world_root();
        let links = ArenaMap::new(robot.links(), |id, link| {
            let name = if world == Some(id) {
                link.name().to_owned()
            } else {
                taken.unique_or(link.name(), "link")
            };
            if name != link.name() {
                let message = format!("link \"{}\" is named \"{name}\" in the MJCF", link.name());
                findings.report(
                    &codes::RENAMED,
                    &link.place,
                    message,
                    "give the link a unique name",
                );
            }
            name
        });
        let mut taken = UniqueNames::default();
        let joints = ArenaMap::new(robot.joints(), |_, joint| {
            let is_ball = |link| robot.links()[link].connector == Some(Connector::Ball);
            // MJCF has one joint in place of the three hinges of a ball joint: the first.
            let of_ball = ["_rotX", "_rotY", "_rotZ"]
                .iter()
                .filter(|_| is_ball(joint.child()) && !is_ball(joint.parent()))
                .find_map(|suffix| joint.name().strip_suffix(suffix));
            let base = of_ball.unwrap_or(joint.name());
            let parts: &[&str] = match joint.kind() {
                JointKind::Planar => &["_u", "_v"],
                JointKind::Floating => &["_x", "_y", "_z", ""],
                _ => &[""],
            };
            let names: Vec<String> = parts
                .iter()
                .map(|part| taken.unique_or(&format!("{base}{part}"), "joint"))
                .collect();
            if matches!(names.as_slice(), [name] if name != base) {
                let message = format!("another joint of the MJCF is named \"{base}\"");
                findings.report(
                    &codes::RENAMED,
                    &joint.place,
                    message,
                    "give the joint a unique name",
                );
            }
            names
        });
        // Free joints share the names of joints.
        let free = ArenaMap::new(robot.links(), |_, link| {
            taken.unique_or(&format!("{}_free", link.name()), "free")
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
