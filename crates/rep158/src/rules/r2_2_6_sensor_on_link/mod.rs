//! Sensor topics are below a link.

use super::{Findings, Subject, rule};
use crate::physics::is_body;
use crate::ros::{self, Interface};

rule! {
    severity: Error,
    meaning: "A sensor's topic does not stand in a link.",
    outcome: "Its frame is that of the whole robot, so the data are shown at the wrong place.",
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
        let has_place = stage
            .ancestors(sensor.id)
            .any(|id| is_body(&stage[id]) || stage[id].has("RosFrameAPI"));
        if is_robot && !has_place && !sensor.prim.has("RosFrameAPI") {
            let of = sensor.text("type").unwrap_or_default();
            let message = format!("the topic {} of {of} stands in no link", sensor.prim.path);
            findings.prim(
                sensor.id,
                None,
                message,
                "move it into an Xform of the link that carries the sensor",
            );
        }
    }
}
