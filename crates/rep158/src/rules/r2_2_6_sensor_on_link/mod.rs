//! Sensor topics are below a link.

use super::{Findings, Subject, rule};
use crate::physics::is_body;
use crate::ros::{self, Interface};

rule! {
    severity: Error,
    meaning: "A sensor topic is not in a link.",
    outcome: "Its frame is that of the whole robot, so the data appear in the wrong place.",
    demand: "Localized interfaces (e.g. Image, LaserScan) must be placed on a child Xform of the \
             physical link.",
    section: ("Interface Placement", "§2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for sensor in ros::interfaces(stage).filter(Interface::is_sensor) {
        let Some(robot) = ros::robot_of(stage, sensor.id).or(stage.default_prim) else {
            continue;
        };
        // An asset without joints, such as a room with a camera on the wall, has no links.
        let is_robot = subject
            .physics
            .joints
            .iter()
            .any(|joint| stage.ancestors(joint.prim).any(|id| id == robot));
        let has_frame = stage
            .ancestors(sensor.id)
            .any(|id| is_body(&stage[id]) || stage[id].has("RosFrameAPI"));
        if is_robot && !has_frame && !sensor.prim.has("RosFrameAPI") {
            let type_name = sensor.text("type").unwrap_or_default();
            let message = format!(
                "the topic {} of the type {type_name} is not in a link",
                sensor.prim.path
            );
            findings.prim(
                sensor.id,
                None,
                message,
                "move it into an Xform of the link that carries the sensor",
            );
        }
    }
}
