//! Interfaces of the registry's controllers have the types of their schemas.

use super::{Findings, Subject, rule};
use crate::registry::controllers_of;

rule! {
    severity: Warning,
    meaning: "A controller of the schema registry names an interface of another type than its schema \
              defines.",
    outcome: "Simulators publish or accept another type, and nodes that expect the declared one \
              receive nothing.",
    demand: "Extension schemas are submitted to and ratified in the registry. Those of controllers \
             define the type of each interface: geometry_msgs/Twist, nav_msgs/Odometry, \
             sensor_msgs/JointState, control_msgs/FollowJointTrajectory.",
    section: ("Schema Registry", "§4.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage.present() {
        for controller in controllers_of(prim) {
            for (last, target) in controller.relationships {
                let Some((kind, expected)) = target.interface() else {
                    continue;
                };
                let name = format!("{}{last}", controller.prefix);
                let attribute = format!("ros:{}:type", kind.label());
                for path in prim.targets(&name) {
                    // Targets of other kinds are left to REP158-4.2.16, missing types to 2.4.3 and 2.6.1.
                    let found = stage.prim_at(path).filter(|found| target.accepts(found));
                    let written = found.and_then(|found| found.text(&attribute));
                    if let Some(other) = written.filter(|text| !["", expected].contains(text)) {
                        let message = format!(
                            "{name} of {} names {path}, whose type is {other} and not {expected}",
                            prim.path
                        );
                        let help = format!(
                            "author `uniform string {attribute} = \"{expected}\"` on {path}, or name another prim"
                        );
                        findings.prim(id, Some(&name), message, help);
                    }
                }
            }
        }
    }
}
