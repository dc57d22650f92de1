//! Namespaces of robots are unique.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use urdf_usd_stage::{ArcKind, PrimId};

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "Two robots, or two copies of a part, have the same namespace.",
    outcome: "Commands for one move both, and their measurements are mixed.",
    demand: "Each robot instance must carry a unique ros:context:namespace; duplicate sub-assets \
             must carry distinct ones.",
    section: ("Hierarchical Namespace Concatenation", "§2.1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut known: HashMap<(String, Vec<String>), PrimId> = HashMap::new();
    for (id, prim) in ros::contexts(stage) {
        // Different parts of a robot may share a namespace; two copies of one part may not.
        let is_robot = ros::robot_of(stage, id) == Some(id);
        let arcs = prim
            .arcs
            .iter()
            .filter(|arc| arc.kind == ArcKind::Reference)
            .map(|arc| format!("{}{}", arc.asset, arc.prim));
        let part: Vec<String> = if is_robot { Vec::new() } else { arcs.collect() };
        if !is_robot && part.is_empty() {
            continue;
        }
        let namespace = ros::namespace(stage, id);
        match known.entry((namespace, part)) {
            Entry::Vacant(free) => {
                free.insert(id);
            }
            Entry::Occupied(taken) => {
                let other = &stage[*taken.get()].path;
                let message = match taken.key().0.as_str() {
                    "" => format!("{} and {other} both have no namespace", prim.path),
                    namespace => format!(
                        "{} has the same namespace as {other}: {namespace}",
                        prim.path
                    ),
                };
                let help = format!("give it a unique one, such as \"{}\"", prim.name());
                findings.prim(id, Some("ros:context:namespace"), message, help);
            }
        }
    }
}
