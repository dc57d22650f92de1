//! Links, origins and degrees of freedom have nodes of their own.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{Findings, Subject, rule};
use crate::asset::node_title;

rule! {
    severity: Error,
    meaning: "One node has two parts, such as the origin and the degree of freedom of a joint, or \
              the frames of two links.",
    outcome: "Setting a joint overwrites a fixed transform, or moves what it should not.",
    demand: "Links, origins and degrees of freedom MUST each have a node of their own.",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let mut parts: HashMap<usize, String> = HashMap::new();
    let mut take = |node: Option<usize>, part: String, pointer: &dyn Fn() -> String| {
        let Some(node) = node else { return };
        match parts.entry(node) {
            Entry::Vacant(entry) => {
                entry.insert(part);
            }
            Entry::Occupied(entry) => {
                let message = format!(
                    "{} is {} and also {part}",
                    node_title(subject.asset.nodes, node),
                    entry.get()
                );
                let help = "use a node of its own for every link, for every joint's fixed origin and for every degree of freedom";
                findings.report(pointer(), message, help);
            }
        }
    };
    for model in &subject.asset.models {
        for link in &model.links {
            take(link.node, format!("the frame of {}", link.title()), &|| {
                link.read.node().at()
            });
        }
        for joint in &model.joints {
            let title = joint.title();
            take(joint.origin, format!("the origin of {title}"), &|| {
                joint.read.origin_node().at()
            });
            for (k, &node) in joint.dof_nodes.iter().enumerate() {
                let at = || format!("{}/{k}", joint.read.dof_nodes().at());
                take(node, format!("degree of freedom {k} of {title}"), &at);
            }
        }
    }
}
