//! Writes the controller that holds the joints in Gazebo, which ignores the gains for Drake.
//!
//! Gazebo's JointTrajectoryController applies the same force as a drive, from the first step on, and moves
//! the joints when it gets a trajectory. It is in a second file, as Drake 1.51 warns of plugins.

use super::Writer;
use urdf_usd_robot::{Actuator, Command, Element, Joint};
use urdf_usd_text::xml::number;

/// Parts of file names of plugins that run controllers of ros2_control, which hold their joints themselves.
const ROS2_CONTROL: [&str; 2] = ["gz_ros2_control", "ign_ros2_control"];

impl Writer<'_> {
    /// Writes the controller of all joints with gains that no plugin of the source names. Returns whether
    /// there is such a joint.
    pub(super) fn controller(&mut self) -> bool {
        let robot = self.robot;
        let mut held = Vec::new();
        for (id, joint) in robot.joints().iter() {
            let actuator = Actuator::of(robot, id).filter(|_| self.moves(id));
            let gains = actuator.and_then(|actuator| Some((actuator, actuator.gain_and_bias()?)));
            let gains = gains.filter(|(_, (_, bias))| *bias != [0.0; 3]);
            if let Some((actuator, (gain, bias))) = gains.filter(|_| !self.is_controlled(joint)) {
                held.push((id, actuator, gain, bias));
            }
        }
        if held.is_empty() {
            return false;
        }
        self.to.open(
            "plugin",
            vec![
                (
                    "filename",
                    "gz-sim-joint-trajectory-controller-system".to_owned(),
                ),
                (
                    "name",
                    "gz::sim::systems::JointTrajectoryController".to_owned(),
                ),
            ],
        );
        for (id, actuator, gain, [constant, position, velocity]) in held {
            let name = self.names.joints[id].clone();
            self.leaf("joint_name", &name);
            // The n-th element of each name belongs to the n-th joint: all joints need all elements.
            let (start, offsets) = match actuator.command {
                Command::Position => (actuator.target, [constant, 0.0]),
                Command::Velocity | Command::Effort => {
                    (0.0, [0.0, constant + gain * actuator.target])
                }
            };
            // A maximum below the minimum is no limit.
            let [min, max] = actuator
                .max_force
                .map_or([0.0, -1.0], |force| [-force, force]);
            for (name, value) in [
                ("initial_position", start),
                ("position_p_gain", -position),
                ("position_cmd_min", min),
                ("position_cmd_max", max),
                ("position_cmd_offset", offsets[0]),
                ("velocity_p_gain", -velocity),
                ("velocity_cmd_min", min),
                ("velocity_cmd_max", max),
                ("velocity_cmd_offset", offsets[1]),
            ] {
                // Adding 0.0 turns −0.0 into 0.0.
                self.leaf(name, &number(value + 0.0));
            }
            let actuation = robot.simulation().actuation.get(&id);
            let is_assumed = actuation.is_some_and(|actuation| actuation.is_assumed);
            self.leaf("assumed", &is_assumed.to_string());
        }
        self.to.close();
        true
    }

    /// Returns whether a plugin of the source controls a joint: one that names it, or one that runs the
    /// controllers of ros2_control.
    fn is_controlled(&self, joint: &Joint) -> bool {
        let blocks = self.blocks(false).flat_map(|block| &block.children);
        let mut plugins = blocks.filter(|child| child.name == "plugin");
        plugins.any(|plugin| {
            let file = plugin
                .attributes
                .iter()
                .find(|(name, _)| name == "filename");
            let runs = |part: &&str| file.is_some_and(|(_, file)| file.contains(*part));
            joint.drive().is_some() && ROS2_CONTROL.iter().any(runs) || names(plugin, joint.name())
        })
    }
}

/// Returns whether an element contains another with the text `name`. Readers bound the nesting, and so the
/// recursion.
fn names(element: &Element, name: &str) -> bool {
    let mut children = element.children.iter();
    children.any(|child| child.text.trim() == name || names(child, name))
}
