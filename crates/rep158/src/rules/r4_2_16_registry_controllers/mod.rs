//! Controllers of the schema registry have the relationships and lengths that their schemas require.

use std::collections::HashSet;

use urdf_usd_diagnostic::{did_you_mean, nearest};
use urdf_usd_stage::{Prim, PrimId};

use super::{Findings, Subject, rule};
use crate::control::is_ros_controller;
use crate::registry::{BASES, CONTROLLERS, Controller, Target, controllers_of};
use crate::ros::Kind;

rule! {
    severity: Error,
    meaning: "A controller of the schema registry (RosControl*API) lacks a ROS interface, a target \
              or a length, names a prim of another kind, or has an invalid value.",
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
        let is_optional = matches!(target, Target::OptionalPublisher(_));
        if targets.is_empty() && !is_optional {
            let message = format!("{} of {} has no {name}", controller.schema, prim.path);
            findings.prim(id, Some(&name), message, &help);
        } else if targets.len() > 1 && !target.is_list() {
            let message = format!("{name} of {} names {} prims", prim.path, targets.len());
            findings.prim(id, Some(&name), message, "name one prim");
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
    for (last, form) in controller.attributes {
        let name = format!("{}{last}", controller.prefix);
        if let Some(fault) = form.fault(prim, &name) {
            let message = format!("{} of {} {fault}", controller.schema, prim.path);
            findings.prim(id, Some(&name), message, form.help(&name));
        }
    }
    check_sides(prim, id, controller, findings);
}

/// Reports sides that differ in size or share a joint.
fn check_sides(prim: &Prim, id: PrimId, controller: &Controller, findings: &mut Findings<'_>) {
    let Some(names) = controller.sides else {
        return;
    };
    let names = names.map(|last| format!("{}{last}", controller.prefix));
    let [left, right] = [&names[0], &names[1]].map(|name| prim.targets(name));
    if left.is_empty() || right.is_empty() {
        return;
    }
    if left.len() != right.len() {
        let message = format!(
            "{} of {} has {} {} and {} {}",
            controller.schema,
            prim.path,
            left.len(),
            names[0],
            right.len(),
            names[1]
        );
        let help = "name as many joints on one side as on the other";
        findings.prim(id, Some(&names[1]), message, help);
    }
    let known: HashSet<&String> = left.iter().collect();
    for path in right.iter().filter(|path| known.contains(path)) {
        let message = format!(
            "{path} is in both {} and {} of {}",
            names[0], names[1], prim.path
        );
        findings.prim(id, Some(&names[1]), message, "name each joint on one side");
    }
}
