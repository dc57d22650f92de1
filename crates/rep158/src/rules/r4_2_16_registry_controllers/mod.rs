//! Controllers of the schema registry have the relationships and lengths that their schemas require.

use urdf_usd_diagnostic::{did_you_mean, nearest};
use urdf_usd_stage::{Prim, PrimId};

use super::{Findings, Subject, rule};
use crate::control::is_ros_controller;
use crate::registry::{BASES, CONTROLLERS, Controller, Target, controllers_of};
use crate::ros::Kind;

rule! {
    severity: Error,
    meaning: "A controller of the schema registry (RosControl*API) lacks a ROS interface, a target \
              or a length, or names a prim of another kind.",
    outcome: "Simulators do not start the controller, and the robot does not move.",
    demand: "Extension schemas are submitted to and ratified in the registry. All prims that a \
             controller references for communication must have RosTopicAPI, RosServiceAPI or \
             RosActionAPI.",
    section: ("Schema Registry", "§4.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage.present() {
        for controller in controllers_of(prim) {
            check_controller(subject, id, controller, findings);
        }
        let others = prim.schemas.iter().filter(|schema| {
            let is_known = CONTROLLERS.iter().any(|known| known.schema == *schema);
            is_ros_controller(schema) && !is_known
        });
        for schema in others {
            if !BASES.contains(&schema.as_str()) {
                let known = CONTROLLERS.iter().map(|known| known.schema).chain(BASES);
                let help = did_you_mean(nearest(schema, known))
                    .unwrap_or_else(|| "ask the simulator that defines it".to_owned());
                let message = format!("{schema} of {} is not in the registry", prim.path);
                findings.remark(id, None, message, help);
            } else if schema == "RosControlIntegratedAPI"
                && controllers_of(prim).next().is_none()
                && !has_interface(subject, prim)
            {
                let message = format!(
                    "the controller {} names no topic, service or action",
                    prim.path
                );
                let help = "author a relationship to a prim with RosTopicAPI, RosServiceAPI or RosActionAPI";
                findings.prim(id, None, message, help);
            }
        }
    }
}

/// Returns whether a relationship of a prim targets a ROS interface.
fn has_interface(subject: &Subject<'_>, prim: &Prim) -> bool {
    let targets = prim
        .relationships
        .values()
        .flat_map(|relationship| &relationship.targets);
    targets
        .filter_map(|path| subject.stage.prim_at(path))
        .any(|target| Kind::ALL.iter().any(|kind| target.has(kind.schema())))
}

fn check_controller(
    subject: &Subject<'_>,
    id: PrimId,
    controller: &Controller,
    findings: &mut Findings<'_>,
) {
    let prim = &subject.stage[id];
    for (last, target) in controller.relationships {
        let name = format!("{}{last}", controller.prefix);
        let help = format!("target {} with `rel {name}`", target.name());
        let targets = prim.targets(&name);
        if targets.is_empty() && *target != Target::OptionalPublisher {
            let message = format!("{} of {} has no {name}", controller.schema, prim.path);
            findings.prim(id, Some(&name), message, &help);
        }
        for path in targets {
            // Targets that do not exist are left to REP158-0.2.
            let found = subject.stage.prim_at(path);
            if found.is_some_and(|found| !target.accepts(found)) {
                let message = format!(
                    "{name} of {} names {path}, which is not {}",
                    prim.path,
                    target.name()
                );
                findings.prim(id, Some(&name), message, &help);
            }
        }
    }
    for last in controller.lengths {
        let name = format!("{}{last}", controller.prefix);
        let is_length = |length: &f64| *length > 0.0 && length.is_finite();
        if prim.number(&name).filter(is_length).is_none() {
            let message = format!(
                "{} of {} has no positive {name}",
                controller.schema, prim.path
            );
            let help = format!("author `uniform double {name}`, in metres");
            findings.prim(id, Some(&name), message, help);
        }
    }
}
