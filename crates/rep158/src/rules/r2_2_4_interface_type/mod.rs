//! ROS interfaces below a body are on Xforms.

use super::{Findings, Subject, rule};
use crate::physics::is_body;
use crate::ros;

rule! {
    severity: Error,
    meaning: "An interface below a body is not an Xform.",
    outcome: "Its measurements have no frame in TF.",
    demand: "Localized interfaces must be placed on a child UsdGeomXform of the physical link.",
    section: ("Interface Placement", "§2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for interface in ros::interfaces(stage) {
        let Some(body) = stage
            .ancestors(interface.id)
            .find(|&id| is_body(&stage[id]))
        else {
            continue;
        };
        // Cameras are left to REP158-2.8.1.
        if matches!(interface.prim.type_name.as_str(), "Xform" | "Camera") {
            continue;
        }
        let is = match interface.prim.type_name.as_str() {
            "" => "has no type".to_owned(),
            other => format!("is a {other}"),
        };
        let message = format!(
            "the {} {} in the link {} {is}",
            interface.kind.label(),
            interface.prim.path,
            stage[body].path
        );
        findings.prim(
            interface.id,
            None,
            message,
            "make it an Xform, where the sensor is",
        );
    }
}
